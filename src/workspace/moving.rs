//! Moving a memory out of the tree, where it lay before, into the git directory.

use std::io::{self, Write};
use std::path::Path;

use super::{LEDGER, WRITER_LOCK};
use crate::{ledger, private};

/// Left in the old place, with the new one in it.
pub(super) const MOVED: &str = "MOVED";

/// Renames the directory of a memory while no writer can be in it, and leaves word for older versions of hm.
///
/// # Errors
/// `WouldBlock` while a writer serves the old place, `CrossesDevices` when a rename cannot lead there, or what
/// else the system said; the memory lies whole in the one place or the other then.
pub(super) fn move_memory(from: &Path, to: &Path) -> io::Result<()> {
    // Never made here: where it is missing, another process moved the memory.
    let lock = match private::options().write(true).open(from.join(WRITER_LOCK)) {
        Err(error)
            if error.kind() == io::ErrorKind::NotFound
                && from.join(LEDGER).is_file()
                && !from.join(MOVED).exists() =>
        {
            private::options().create(true).truncate(false).write(true).open(from.join(WRITER_LOCK))?
        }
        lock => lock?,
    };
    lock.try_lock().map_err(io::Error::from)?;
    if let Some(parent) = to.parent() {
        private::create_dir_all(parent)?;
    }
    // An empty directory at the new place gives way.
    std::fs::rename(from, to)?;
    for dir in [to.parent(), from.parent()].into_iter().flatten() {
        private::sync_dir(dir)?;
    }
    if let Err(error) = leave_word(from, to) {
        tracing::warn!(%error, "older versions of hm are not told that the memory moved");
    }
    Ok(())
}

/// Tells older versions of hm where the memory went.
fn leave_word(from: &Path, to: &Path) -> io::Result<()> {
    private::create_dir(from)?;
    let text = format!(
        "The memory moved to {}: one for all work trees of the repository.\nUpdate hm in clients that look for it here.\n",
        to.display()
    );
    private::options().create_new(true).write(true).open(from.join(MOVED))?.write_all(text.as_bytes())?;
    // An older hm would queue its writes here, for nobody: it cannot append to a directory, and says so.
    private::create_dir(&from.join("spool.jsonl"))?;
    // It would start an empty memory here; this file tells it that it is too old.
    ledger::leave_moved(&from.join(LEDGER)).map_err(io::Error::other)
}
