//! Whose a memory is: this user's state directory knows the ids of the memories that this user's `hm` made, and where.
//!
//! A repository is written by strangers, and so may be everything in its tree. A memory bears random ids, one for each
//! state directory that knows it, and the state directory, which no repository can carry, holds the same id with the
//! place. In a git directory, which a clone cannot bring along either, an unknown memory is one of another home, of an
//! unpacked archive, or a copy: it is opened, but everything that is no record (the spools, the tokens, what the hooks
//! leave) is set aside first. Anywhere else it is not opened.

use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::WorkspaceError;
use crate::checkpoints;
use crate::private;
use crate::system::{self, Environment};

/// Bears the id of a memory.
pub(super) const ID: &str = "id";
/// Characters of an id: 128 random bits.
const ID_CHARS: usize = 32;
/// How many state directories may know a memory: a host, and the containers that mount it.
const MAX_IDS: usize = 32;
/// Holds where a memory lies, beside what else the state knows of it.
const PLACE: &str = "place";
/// What is kept of a memory that is adopted, besides its ids: the records, which act in nobody's name. The lock may be
/// held, and the marks of imports only ever take trust away.
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
/// What the runs of a memory left: kept when it holds nothing but files and directories.
const ARTIFACTS: &str = "experiments";
/// Stands in a memory that was just adopted, until its writer has ended the runs that wait in it.
const ADOPTED: &str = "adopted";

/// The part of a user's state directory that is ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StateDir {
    home: PathBuf,
    ours: PathBuf,
}

/// Why a memory lies where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    /// In the git directory.
    Git,
    /// Below the tree, in `.hivemind/`, or where a file of the tree says.
    Tree,
    /// Where the user's environment says: that is trust enough.
    Named,
}

/// Whose a memory is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ownership {
    /// There is none yet.
    Absent,
    /// This user's `hm` made it, or was told that it is this user's.
    Known,
    /// Made before memories had ids, and sealed with a key of this user's.
    Sealed,
    /// This state directory has not seen it, and it may be opened with care.
    Unseen,
    /// It is not opened; the reason says why.
    Foreign(String),
}

impl StateDir {
    /// # Errors
    /// [`WorkspaceError::NoStateHome`].
    pub(super) fn of_user(environment: &Environment) -> Result<Self, WorkspaceError> {
        let home = environment.state_home.clone().ok_or(WorkspaceError::NoStateHome)?;
        Ok(Self { ours: home.join("hivemind"), home })
    }

    /// The directory that holds the state of every program of the user.
    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    /// What this user's state holds about a memory.
    pub(super) fn of_memory(&self, id: &str) -> PathBuf {
        self.ours.join("memories").join(id)
    }

    /// Whose the memory at a path is.
    ///
    /// # Errors
    /// What the system said when nobody can tell, as for a directory that may not be entered.
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

    /// The id under which this user's state knows a memory at its place. A memory that moved is known where it went; a
    /// copy of one that is still where it was is another memory.
    pub(super) fn known(&self, memory: &Path) -> io::Result<Option<String>> {
        Ok(self.known_with_place(memory)?.map(|(id, _)| id))
    }

    /// [`StateDir::known`], and the place that is put down for it.
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

    /// Puts down where a memory lies that is known, and returns where it lay before if it moved.
    pub(super) fn keep_place(&self, memory: &Path) -> io::Result<Option<PathBuf>> {
        let Some((id, before)) = self.known_with_place(memory)? else { return Ok(None) };
        if before == memory.as_os_str().as_encoded_bytes() {
            return Ok(None);
        }
        private::replace(&self.of_memory(&id).join(PLACE), memory.as_os_str().as_encoded_bytes())?;
        Ok(private::path_of(&before))
    }

    /// Whether the last checkpoint of a memory was sealed with a key of this state directory.
    fn has_sealed(&self, memory: &Path) -> bool {
        checkpoints::is_sealed_by(&memory.join(super::CHECKPOINTS), &self.ours)
    }

    /// Makes the directory of a memory, with its id in it from the first moment. False where another process was
    /// faster: its memory stays.
    pub(super) fn create(&self, memory: &Path) -> io::Result<bool> {
        let dir = memory.parent().ok_or(io::ErrorKind::NotFound)?;
        let made = tempfile::Builder::new().prefix("hivemind-new-").tempdir_in(dir)?;
        let id = new_id();
        private::replace(&made.path().join(ID), format!("{id}\n").as_bytes())?;
        self.register(&id, memory)?;
        match std::fs::rename(made.path(), memory) {
            Ok(()) => {
                // It is where it belongs; there is nothing left to remove.
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

    /// Makes a memory that is there this user's, under an id that nobody else knows. Of one that this user's state has
    /// not seen, everything that is no record is set aside; returns where it went. A memory that a writer serves stays
    /// as it is: that writer is this user's, for its lock cannot be in an archive.
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
            // Before the id is known: a crash here must not leave runs that begin by themselves.
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

    /// Whether a human let a workspace use a memory that a file of its tree names.
    pub(super) fn is_allowed(&self, memory: &Path, root: &Path) -> bool {
        self.known(memory).ok().flatten().is_some_and(|id| self.use_of(&id, root).exists())
    }

    /// Lets a workspace use a memory that a file of its tree names.
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

/// The ids that a memory bears, the newest first.
///
/// # Errors
/// What the system said, but not that there is none.
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

/// Whether two paths lead to one directory, as where it is mounted twice.
#[cfg(unix)]
fn is_same(one: &Path, other: &Path) -> bool {
    private::name_of(one).is_some_and(|name| private::name_of(other) == Some(name))
}

#[cfg(not(unix))]
fn is_same(one: &Path, other: &Path) -> bool {
    one == other
}

/// Whether an entry of a memory may stay in one that is adopted.
fn is_kept(entry: &std::fs::DirEntry) -> io::Result<bool> {
    let (name, kind) = (entry.file_name(), entry.file_type()?);
    let is_record = kind.is_file() && RECORDS.iter().any(|record| name == *record);
    // A socket is an address, and its other end is asked whose it is.
    let is_address = name == "writer.sock" && !kind.is_file() && !kind.is_dir() && !kind.is_symlink();
    let is_artifacts = name == ARTIFACTS && kind.is_dir() && is_plain(&entry.path())?;
    let is_set_aside = name.to_string_lossy().contains(super::SET_ASIDE);
    Ok(is_record || is_address || is_artifacts || is_set_aside)
}

/// Whether a directory holds nothing but files and directories.
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

/// Says that no run that came with the memory waits any more.
///
/// # Errors
/// What the system said.
pub(super) fn settle_adoption(memory: &Path) -> io::Result<()> {
    private::gone(std::fs::remove_file(memory.join(ADOPTED)))
}

/// Whether there is nothing of this name that could be read: no file, a link, or no text.
fn is_no_file(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, IsADirectory, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | IsADirectory | InvalidData) || private::is_link(error)
}

/// Enough of an id to tell files apart.
pub(super) fn short_id() -> String {
    new_id()[..8].to_owned()
}

fn new_id() -> String {
    hex::encode(&system::entropy()[..ID_CHARS / 2])
}

/// Who owns a directory that is not this user's, in words.
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
