//! The files a writer stands on: it acknowledges nothing once they are not the ones at its path any more.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::private;
use crate::workspace::Workspace;

/// Ledger, log and lock as they were opened. Closing a handle on a file of SQLite's drops the locks of the whole
/// process on it, so this outlives every connection to the ledger.
#[derive(Debug)]
pub(super) struct Ground(Vec<(PathBuf, File)>);

/// Names a file as long as it is open somewhere: device and inode.
pub(super) type FileName = (u64, u64);

impl Ground {
    /// Takes hold of the files at the paths of a workspace; the ledger is open already.
    pub(super) fn of(workspace: &Workspace) -> io::Result<Self> {
        let mut log = workspace.ledger().into_os_string();
        log.push("-wal");
        let paths = [workspace.ledger(), PathBuf::from(log), workspace.writer_lock()];
        let held = paths.into_iter().map(|path| {
            let file = private::options().read(true).open(&path)?;
            Ok((path, file))
        });
        held.collect::<io::Result<_>>().map(Self)
    }

    /// The first file that is not at its path any more.
    pub(super) fn lost(&self) -> Option<&Path> {
        let is_lost = |(path, file): &&(PathBuf, File)| {
            let held = file.metadata().ok().map(|metadata| name(&metadata));
            held.is_none() || held != name_of(path)
        };
        self.0.iter().find(is_lost).map(|(path, _)| &**path)
    }
}

/// The file at a path; none where there is none.
pub(super) fn name_of(path: &Path) -> Option<FileName> {
    std::fs::symlink_metadata(path).ok().map(|metadata| name(&metadata))
}

#[cfg(unix)]
fn name(metadata: &std::fs::Metadata) -> FileName {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

/// An open file cannot be taken away here.
#[cfg(not(unix))]
fn name(_: &std::fs::Metadata) -> FileName {
    (0, 0)
}
