//! Moves a memory from the tree, where older versions of hm put it, into the git directory.

use std::io::{self, Write};
use std::path::Path;

use super::{LEDGER, WRITER_LOCK};
use crate::{ledger, private};

/// The file that stays at the old place and names the new one.
pub(super) const MOVED: &str = "MOVED";

/// Renames the directory of a memory while no writer can use it, and leaves a note for older versions of hm.
///
/// # Errors
/// `WouldBlock` while a writer serves the old place, `CrossesDevices` when the new place is on another disk, or
/// another error of the system. The memory is complete at one of the two places.
pub(super) fn move_memory(from: &Path, to: &Path) -> io::Result<()> {
    // The lock is created only beside a ledger: without one, another process has moved the memory.
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
    // The rename replaces an empty directory at the new place.
    std::fs::rename(from, to)?;
    for dir in [to.parent(), from.parent()].into_iter().flatten() {
        private::sync_dir(dir)?;
    }
    if let Err(error) = leave_word(from, to) {
        tracing::warn!(%error, "older versions of hm are not told that the memory moved");
    }
    Ok(())
}

/// Leaves files at the old place that stop older versions of hm.
fn leave_word(from: &Path, to: &Path) -> io::Result<()> {
    private::create_dir(from)?;
    let text = format!(
        "The memory moved to {}: one for all work trees of the repository.\nUpdate hm in clients that look for it here.\n",
        to.display()
    );
    private::options().create_new(true).write(true).open(from.join(MOVED))?.write_all(text.as_bytes())?;
    // An older hm would queue its writes in this file, and no writer would read them. It cannot append to a
    // directory, and reports that.
    private::create_dir(&from.join("spool.jsonl"))?;
    // An older hm would make an empty memory here. This file tells it that it is too old.
    ledger::leave_moved(&from.join(LEDGER)).map_err(io::Error::other)
}
