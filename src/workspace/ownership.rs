//! Whose a memory is. This user's state directory knows ids and places of the memories that this user's `hm` made.
//!
//! A repository may come from strangers, and so may every file in its tree. A memory therefore holds random
//! ids, one for each state directory that knows it. The state directory holds the same id together with the
//! place of the memory; no repository can carry the state directory.
//!
//! A clone cannot carry the git directory either. An unknown memory there comes from another home or an
//! unpacked archive, or is a copy. hm opens it, but first sets aside every file that could act for this user:
//! the spools, the tokens, the marks of hooks. hm does not open an unknown memory at any other place.

use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::WorkspaceError;
use crate::checkpoints;
use crate::private;
use crate::system::{self, Environment};

/// The file with the ids of a memory.
pub(super) const ID: &str = "id";
/// Characters of an id: 128 random bits.
const ID_CHARS: usize = 32;
/// The most state directories that know one memory: those of a host and of the containers that mount it.
const MAX_IDS: usize = 32;
/// The file with the place of a memory, in the state about it.
const PLACE: &str = "place";
/// The files of an adopted memory that hm keeps, besides its ids: records, which cannot act for this user.
/// Another process may hold the lock. The list of imports can only reduce trust.
const RECORDS: [&str; 15] = [
    "ledger.sqlite",
    "ledger.sqlite-wal",
    "ledger.sqlite-shm",
    "ledger.pair",
    "team-memory.sqlite",
    "team-memory.sqlite-wal",
    "team-memory.sqlite-shm",
    "checkpoints",
    "imports.json",
    "writer.lock",
    "writer.log",
    "integrity.log",
    "schedule.json",
    ID,
    super::STAYS,
];
/// The artifacts of runs. hm keeps the directory when it contains only files and directories.
const ARTIFACTS: &str = "experiments";
/// A file in a memory that was just adopted. It stays until the writer has ended the runs that wait in the memory.
const ADOPTED: &str = "adopted";

/// The state directory of a user, and hm's part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StateDir {
    home: PathBuf,
    ours: PathBuf,
}

/// The kind of place that a memory is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    /// In the git directory.
    Git,
    /// In `.hivemind/`, or in a directory that a file of the tree names.
    Tree,
    /// In a directory that the user's environment names. This is enough for trust.
    Named,
}

/// The result of asking whose a memory is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ownership {
    /// No memory is there yet.
    Absent,
    /// This user's `hm` made it, or the user trusted it.
    Known,
    /// It is older than ids of memories, and a key of this user sealed it.
    Sealed,
    /// This state directory does not know it. hm may open it with care.
    Unseen,
    /// hm does not open it; the text is the reason.
    Foreign(String),
}

impl StateDir {
    /// The state directory of the user who runs this process.
    ///
    /// # Errors
    /// [`WorkspaceError::NoStateHome`] when the environment names none.
    pub(super) fn of_user(environment: &Environment) -> Result<Self, WorkspaceError> {
        let home = environment.state_home.clone().ok_or(WorkspaceError::NoStateHome)?;
        Ok(Self { ours: home.join("hivemind"), home })
    }

    /// The directory with the state of all programs of the user.
    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    /// The directory with this user's state about a memory.
    pub(super) fn of_memory(&self, id: &str) -> PathBuf {
        self.ours.join("memories").join(id)
    }

    /// Determines whose the memory at a path is.
    ///
    /// # Errors
    /// The error of the system when that cannot be determined, as for a directory that may not be entered.
    pub(super) fn ownership(&self, memory: &Path, place: Where) -> io::Result<Ownership> {
        let metadata = match std::fs::symlink_metadata(memory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Ownership::Absent),
            other => other?,
        };
        if !metadata.is_dir() {
            return Ok(Ownership::Foreign("it is a link or a file, and no directory".to_owned()));
        }
        if place != Where::Named
            && let Some(owner) = foreign_owner(&metadata)
        {
            return Ok(Ownership::Foreign(owner));
        }
        if self.known(memory)?.is_some() {
            return Ok(Ownership::Known);
        }
        if std::fs::read_dir(memory)?.next().is_none() {
            return Ok(Ownership::Absent);
        }
        if self.has_sealed(memory) {
            return Ok(Ownership::Sealed);
        }
        Ok(match place {
            Where::Git | Where::Named => Ownership::Unseen,
            Where::Tree => Ownership::Foreign("hm of this user did not make it".to_owned()),
        })
    }

    /// The id under which this user's state knows the memory at a path. A memory that moved is known at its new
    /// place. A copy is another memory while the original is still at its place.
    pub(super) fn known(&self, memory: &Path) -> io::Result<Option<String>> {
        Ok(self.known_with_place(memory)?.map(|(id, _)| id))
    }

    /// Like [`StateDir::known`], with the recorded place.
    fn known_with_place(&self, memory: &Path) -> io::Result<Option<(String, Vec<u8>)>> {
        for id in ids(memory)? {
            let place = match private::read(&self.of_memory(&id).join(PLACE)) {
                Err(error) if is_no_file(&error) => continue,
                place => place?,
            };
            let moved = || {
                let before = private::path_of(&place);
                !before.is_some_and(|before| {
                    !is_same(&before, memory) && ids(&before).is_ok_and(|ids| ids.contains(&id))
                })
            };
            if place == memory.as_os_str().as_encoded_bytes() || moved() {
                return Ok(Some((id, place)));
            }
        }
        Ok(None)
    }

    /// Records the place of a known memory. Returns the previous place if the memory moved.
    pub(super) fn keep_place(&self, memory: &Path) -> io::Result<Option<PathBuf>> {
        let Some((id, before)) = self.known_with_place(memory)? else { return Ok(None) };
        if before == memory.as_os_str().as_encoded_bytes() {
            return Ok(None);
        }
        private::replace(&self.of_memory(&id).join(PLACE), memory.as_os_str().as_encoded_bytes())?;
        Ok(private::path_of(&before))
    }

    /// Whether a key in this state directory sealed the last checkpoint of a memory.
    fn has_sealed(&self, memory: &Path) -> bool {
        checkpoints::is_sealed_by(&memory.join(checkpoints::FILE), &self.ours)
    }

    /// Makes the directory of a memory together with its id, in one step. False when another process made a
    /// memory there first: that one stays.
    pub(super) fn create(&self, memory: &Path) -> io::Result<bool> {
        let dir = memory.parent().ok_or(io::ErrorKind::NotFound)?;
        let made = tempfile::Builder::new().prefix("hivemind-new-").tempdir_in(dir)?;
        let id = new_id();
        private::replace(&made.path().join(ID), format!("{id}\n").as_bytes())?;
        self.register(&id, memory)?;
        match std::fs::rename(made.path(), memory) {
            Ok(()) => {
                // The directory is at its place now, so the temporary one must not be removed.
                let _ = made.keep();
                private::sync_dir(dir)?;
                Ok(true)
            }
            Err(error) => {
                std::fs::remove_dir_all(self.of_memory(&id))?;
                let is_there =
                    matches!(error.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists);
                if is_there { Ok(false) } else { Err(error) }
            }
        }
    }

    /// Makes an existing memory this user's, under a new id that no other state directory has. When this state
    /// directory does not know it, every file that is not a record is set aside; the result is the list of
    /// them. A memory that a writer serves stays unchanged: a lock cannot come out of an archive, so the writer
    /// is this user's.
    pub(super) fn adopt(&self, memory: &Path, is_ours: bool) -> io::Result<Vec<PathBuf>> {
        private::create_dir_all(&self.ours)?;
        let lock = private::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.ours.join("memories.lock"))?;
        lock.lock()?;
        if self.known(memory)?.is_some() {
            return Ok(Vec::new());
        }
        let mut aside = Vec::new();
        if !is_ours {
            if is_served(memory) {
                return Ok(Vec::new());
            }
            for entry in std::fs::read_dir(memory)? {
                let entry = entry?;
                if !is_kept(&entry)? {
                    let name = entry.file_name().to_string_lossy().into_owned();
                    let to = memory.join(format!("{name}{}{}", super::SET_ASIDE, short_id()));
                    std::fs::rename(entry.path(), &to)?;
                    aside.push(to);
                }
            }
            // Written before the id: after a crash here, runs in the memory still cannot start by themselves.
            private::replace(&memory.join(ADOPTED), b"")?;
        }
        let id = new_id();
        self.register(&id, memory)?;
        let mut lines = vec![id];
        lines.extend(ids(memory)?);
        lines.truncate(MAX_IDS);
        private::replace(&memory.join(ID), (lines.join("\n") + "\n").as_bytes())?;
        Ok(aside)
    }

    /// Whether the user allowed a workspace to use a memory that a file of its tree names.
    pub(super) fn is_allowed(&self, memory: &Path, root: &Path) -> bool {
        self.known(memory).ok().flatten().is_some_and(|id| self.use_of(&id, root).exists())
    }

    /// Allows a workspace to use a memory that a file of its tree names.
    pub(super) fn allow(&self, memory: &Path, root: &Path) -> io::Result<()> {
        let id = self.known(memory)?.ok_or(io::ErrorKind::NotFound)?;
        private::replace(&self.use_of(&id, root), root.as_os_str().as_encoded_bytes())
    }

    fn use_of(&self, id: &str, root: &Path) -> PathBuf {
        let root = hex::encode(&Sha256::digest(root.as_os_str().as_encoded_bytes())[..8]);
        self.of_memory(id).join(format!("used-by-{root}"))
    }

    fn register(&self, id: &str, memory: &Path) -> io::Result<()> {
        let dir = self.of_memory(id);
        private::create_dir_all(&dir)?;
        private::replace(&dir.join(PLACE), memory.as_os_str().as_encoded_bytes())
    }
}

/// The ids in a memory, newest first; empty when it has none.
///
/// # Errors
/// The error of the system, except that the file is missing.
pub(super) fn ids(memory: &Path) -> io::Result<Vec<String>> {
    match private::read_to_string(&memory.join(ID)) {
        Ok(text) => {
            let is_id = |id: &&str| id.len() == ID_CHARS && id.bytes().all(|byte| byte.is_ascii_hexdigit());
            Ok(text.lines().filter(is_id).take(MAX_IDS).map(str::to_owned).collect())
        }
        Err(error) if is_no_file(&error) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Whether two paths lead to one directory, as with two mounts of it.
#[cfg(unix)]
fn is_same(one: &Path, other: &Path) -> bool {
    private::name_of(one).is_some_and(|name| private::name_of(other) == Some(name))
}

#[cfg(not(unix))]
fn is_same(one: &Path, other: &Path) -> bool {
    one == other
}

/// Whether an entry of a memory may stay when the memory is adopted.
fn is_kept(entry: &std::fs::DirEntry) -> io::Result<bool> {
    let (name, kind) = (entry.file_name(), entry.file_type()?);
    let is_record = kind.is_file() && RECORDS.iter().any(|record| name == *record);
    // A socket is only an address: hm checks the owner of the process at its other end.
    let is_address = name == "writer.sock" && !kind.is_file() && !kind.is_dir() && !kind.is_symlink();
    let is_artifacts = name == ARTIFACTS && kind.is_dir() && is_plain(&entry.path())?;
    let is_set_aside = name.to_string_lossy().contains(super::SET_ASIDE);
    Ok(is_record || is_address || is_artifacts || is_set_aside)
}

/// Whether a directory contains only files and directories, at every depth.
fn is_plain(dir: &Path) -> io::Result<bool> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let is_allowed = kind.is_file() || (kind.is_dir() && is_plain(&entry.path())?);
        if !is_allowed {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a writer holds the lock of a memory.
fn is_served(memory: &Path) -> bool {
    let lock = private::options().write(true).open(memory.join(super::WRITER_LOCK));
    lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(std::fs::TryLockError::WouldBlock)))
}

/// Whether a memory was adopted and its writer has not yet ended the runs that came with it.
pub(super) fn is_just_adopted(memory: &Path) -> bool {
    memory.join(ADOPTED).exists()
}

/// Records that the runs that came with the memory are ended.
pub(super) fn settle_adoption(memory: &Path) -> io::Result<()> {
    private::gone(std::fs::remove_file(memory.join(ADOPTED)))
}

/// Whether the error means that no readable text has this name: the file is missing, a link, or binary.
fn is_no_file(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, IsADirectory, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | IsADirectory | InvalidData) || private::is_link(error)
}

/// A part of a new id, long enough to tell files apart.
pub(super) fn short_id() -> String {
    new_id()[..8].to_owned()
}

fn new_id() -> String {
    hex::encode(&system::entropy()[..ID_CHARS / 2])
}

/// A sentence about the owner of a directory; `None` when this user owns it.
#[cfg(unix)]
fn foreign_owner(metadata: &std::fs::Metadata) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let (owner, own) = (metadata.uid(), rustix::process::geteuid().as_raw());
    (owner != own).then(|| format!("it belongs to the user with id {owner}, and this is {own}"))
}

#[cfg(not(unix))]
fn foreign_owner(_: &std::fs::Metadata) -> Option<String> {
    None
}

impl super::Workspace {
    /// Whether the memory came from elsewhere with waiting runs. Its writer then ends them.
    pub(crate) fn is_just_adopted(&self) -> bool {
        is_just_adopted(&self.memory)
    }

    /// Records that no such run waits any more.
    pub(crate) fn settle_adoption(&self) -> io::Result<()> {
        settle_adoption(&self.memory)
    }
}
