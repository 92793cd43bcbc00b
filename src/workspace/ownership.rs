//! Whose a memory is: this user's state directory knows the ids of the memories that this user's `hm` made.
//!
//! A repository is written by strangers, and so may be everything in its tree. A memory bears a random id, and the
//! state directory, which no repository can carry, holds the same id. In a git directory, which a clone cannot
//! bring along either, an unknown memory is one of another home or of an unpacked archive: it is opened, but what
//! would act in this user's name (the spool, the tokens) is set aside first. Anywhere else it is not opened.

use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::checkpoints;
use crate::private;
use crate::system;

/// Bears the id of a memory.
pub(super) const ID: &str = "id";
/// Characters of an id: 128 random bits.
const ID_CHARS: usize = 32;
/// What acts in the name of whoever opens a memory.
const ACTS: [&str; 2] = ["spool.jsonl", "tokens.json"];
/// Stands in a memory that was just adopted, until its writer has ended the runs that wait in it.
const ADOPTED: &str = "adopted";

/// The part of a user's state directory that is ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StateDir(PathBuf);

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
    pub(super) fn of(state_home: &Path) -> Self {
        Self(state_home.join("hivemind"))
    }

    /// What this user's state holds about a memory.
    pub(super) fn of_memory(&self, id: &str) -> PathBuf {
        self.0.join("memories").join(id)
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
        if id(memory)?.is_some_and(|id| self.of_memory(&id).is_dir()) {
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

    /// Whether the last checkpoint of a memory was sealed with a key of this state directory.
    fn has_sealed(&self, memory: &Path) -> bool {
        checkpoints::is_sealed_by(&memory.join(super::CHECKPOINTS), &self.0)
    }

    /// Makes the directory of a memory, with its id in it from the first moment; one that is there stays.
    pub(super) fn create(&self, memory: &Path) -> io::Result<()> {
        let dir = memory.parent().ok_or(io::ErrorKind::NotFound)?;
        let made = tempfile::Builder::new().prefix("hivemind-new-").tempdir_in(dir)?;
        let id = new_id();
        private::replace(&made.path().join(ID), format!("{id}\n").as_bytes())?;
        self.register(&id, memory)?;
        match std::fs::rename(made.path(), memory) {
            Ok(()) => {
                // It is where it belongs; there is nothing left to remove.
                let _ = made.keep();
                private::sync_dir(dir)
            }
            Err(error) => {
                std::fs::remove_dir_all(self.of_memory(&id))?;
                let is_there =
                    matches!(error.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists);
                // Another process was faster.
                if is_there { Ok(()) } else { Err(error) }
            }
        }
    }

    /// Makes a memory that is there this user's. Of one that this user's state has not seen, what acts is set aside;
    /// returns the names of those files.
    pub(super) fn adopt(&self, memory: &Path, is_ours: bool) -> io::Result<Vec<PathBuf>> {
        private::create_dir_all(&self.0)?;
        let lock =
            private::options().create(true).truncate(false).write(true).open(self.0.join("memories.lock"))?;
        lock.lock()?;
        let known = id(memory)?;
        if known.as_deref().is_some_and(|id| self.of_memory(id).is_dir()) {
            return Ok(Vec::new());
        }
        let mut aside = Vec::new();
        for name in ACTS.into_iter().filter(|_| !is_ours) {
            let file = memory.join(name);
            if std::fs::symlink_metadata(&file).is_ok() {
                let to = memory.join(format!("{name}{}{}", super::SET_ASIDE, short_id()));
                std::fs::rename(&file, &to)?;
                aside.push(to);
            }
        }
        if !is_ours {
            // Before the id is known: a crash here must not leave runs that begin by themselves.
            private::replace(&memory.join(ADOPTED), b"")?;
        }
        let id = match known {
            Some(id) => id,
            None => {
                let id = new_id();
                private::replace(&memory.join(ID), format!("{id}\n").as_bytes())?;
                id
            }
        };
        self.register(&id, memory)?;
        Ok(aside)
    }

    /// Whether a human let a workspace use a memory that a file of its tree names.
    pub(super) fn is_allowed(&self, memory: &Path, root: &Path) -> bool {
        id(memory).ok().flatten().is_some_and(|id| self.use_of(&id, root).exists())
    }

    /// Lets a workspace use a memory that a file of its tree names.
    pub(super) fn allow(&self, memory: &Path, root: &Path) -> io::Result<()> {
        let id = id(memory)?.ok_or(io::ErrorKind::NotFound)?;
        private::replace(&self.use_of(&id, root), root.as_os_str().as_encoded_bytes())
    }

    fn use_of(&self, id: &str, root: &Path) -> PathBuf {
        let root = hex::encode(&Sha256::digest(root.as_os_str().as_encoded_bytes())[..8]);
        self.of_memory(id).join(format!("used-by-{root}"))
    }

    fn register(&self, id: &str, memory: &Path) -> io::Result<()> {
        let dir = self.of_memory(id);
        private::create_dir_all(&dir)?;
        private::replace(&dir.join("place"), memory.as_os_str().as_encoded_bytes())
    }
}

/// The id that a memory bears.
///
/// # Errors
/// What the system said, but not that there is none.
pub(super) fn id(memory: &Path) -> io::Result<Option<String>> {
    match private::read_to_string(&memory.join(ID)) {
        Ok(text) => {
            let id = text.lines().next().unwrap_or_default();
            let is_id = id.len() == ID_CHARS && id.bytes().all(|byte| byte.is_ascii_hexdigit());
            Ok(is_id.then(|| id.to_owned()))
        }
        Err(error) if is_no_file(&error) => Ok(None),
        Err(error) => Err(error),
    }
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
    match std::fs::remove_file(memory.join(ADOPTED)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
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
