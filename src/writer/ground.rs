//! The open files of a writer. The writer acknowledges nothing once one of them is not at its path any more.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use crate::checkpoints::Checkpoints;
use crate::private;
use crate::workspace::Workspace;

/// The ledger, its log and the lock, as they were opened. Closing any handle on a file of SQLite drops the locks of
/// the whole process on that file, so this value must outlive every connection to the ledger.
#[derive(Debug)]
pub(super) struct Ground(Vec<(PathBuf, File)>);

impl Ground {
    /// Opens the files of a workspace. The ledger must be open already.
    pub(super) fn of(workspace: &Workspace) -> io::Result<Self> {
        let paths = [workspace.ledger(), workspace.ledger_log(), workspace.writer_lock()];
        let held = paths.into_iter().map(|path| {
            let file = private::options().read(true).open(&path)?;
            Ok((path, file))
        });
        held.collect::<io::Result<_>>().map(Self)
    }

    /// The first file that is not at its path any more.
    pub(super) fn lost(&self) -> Option<&Path> {
        self.0.iter().find(|(path, file)| !is_at(file, path)).map(|(path, _)| &**path)
    }

    /// Records which log belongs to which ledger. The next writer's [`set_aside_log`] reads it.
    pub(super) fn record_log(&self, workspace: &Workspace) -> io::Result<()> {
        let pair = pair_of(workspace);
        match private::read_to_string(&workspace.ledger_pair()) {
            Ok(recorded) if recorded == pair => Ok(()),
            _ => private::replace(&workspace.ledger_pair(), pair.as_bytes()),
        }
    }
}

/// When a file was written last, and its length. None if it is not there.
pub(super) type Stamp = Option<(Duration, u64)>;

/// The stamp of a file. Each write of another process changes it.
pub(super) fn stamp(path: &Path) -> Stamp {
    let metadata = std::fs::metadata(path).ok()?;
    let changed = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some((changed, metadata.len()))
}

/// The stamps of the ledger, of its log, and of the record that a ledger lies at this place.
pub(super) fn stamps(workspace: &Workspace, state_home: Option<&Path>) -> [Stamp; 3] {
    let place = Checkpoints::of(workspace.memory(), state_home).place_path();
    [Some(workspace.ledger()), Some(workspace.ledger_log()), place].map(|file| stamp(&file?))
}

/// Whether an open file is the one at a path.
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    let held = file.metadata().ok().map(|metadata| private::name(&metadata));
    held.is_some() && held == private::name_of(path)
}

/// Moves a log aside that belongs to another ledger than the one beside it. A killed writer leaves its log behind;
/// SQLite would apply it to a backup that was renamed into the ledger's place. A copy of both files is a valid
/// pair: there, neither is the recorded file. Only the holder of the writer's lock may call this.
pub(super) fn set_aside_log(workspace: &Workspace) -> io::Result<()> {
    let log = workspace.ledger_log();
    if !log.exists() {
        // The next log may reuse the inode of the missing one.
        return private::gone(std::fs::remove_file(workspace.ledger_pair()));
    }
    let recorded = private::read_to_string(&workspace.ledger_pair()).unwrap_or_default();
    let here = pair_of(workspace);
    let (Some(recorded), Some(here)) = (recorded.split_once('\n'), here.split_once('\n')) else {
        return Ok(());
    };
    let (is_same_ledger, is_same_log) = (recorded.0 == here.0, recorded.1 == here.1);
    if is_same_ledger || !is_same_log {
        return Ok(());
    }
    let aside = workspace.aside(&log);
    tracing::warn!(file = %aside.display(), "the ledger was replaced: the log of the one before it is set aside");
    // The index of the log is removed first, because it is useless without the log.
    private::gone(std::fs::remove_file(workspace.ledger_index()))?;
    std::fs::rename(&log, aside)?;
    private::sync_dir(workspace.memory())
}

/// The identities of ledger and log, one per line. File systems reuse inodes, so an identity includes the birth
/// time where the system provides it.
fn pair_of(workspace: &Workspace) -> String {
    let named = |path: &Path| {
        let metadata = std::fs::symlink_metadata(path).ok()?;
        let (device, inode) = private::name(&metadata);
        let made = metadata.created().ok().and_then(|made| made.duration_since(UNIX_EPOCH).ok());
        Some(format!("{device} {inode} {}", made.unwrap_or_default().as_nanos()))
    };
    let [ledger, log] =
        [workspace.ledger(), workspace.ledger_log()].map(|path| named(&path).unwrap_or_default());
    format!("{ledger}\n{log}")
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{pair_of, set_aside_log};
    use crate::system::Environment;
    use crate::workspace::Workspace;

    /// Ledger and log were removed and created again, and the new log reused the inode of the old one.
    #[test]
    fn a_log_that_was_given_the_inode_of_another_is_left_alone() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let state_home = Some(dir.path().join("state"));
        let environment = Environment { dir: None, state_home, ..Environment::read() };
        let workspace = Workspace::init(dir.path(), &environment).expect("a workspace");
        for path in [workspace.ledger(), workspace.ledger_log()] {
            std::fs::write(path, "pages").expect("a file");
        }
        let pair = pair_of(&workspace);
        let (_, log) = pair.split_once('\n').expect("two names");
        let (inode, made) = log.rsplit_once(' ').expect("an inode and when it was made");
        assert_ne!(made, "0", "this system tells when a file was made");
        for (made, is_left) in [("1", true), (made, false)] {
            std::fs::write(workspace.ledger_pair(), format!("0 0 0\n{inode} {made}")).expect("a record");
            set_aside_log(&workspace).expect("a file to move");
            assert_eq!(workspace.ledger_log().exists(), is_left, "{made}");
        }
    }
}
