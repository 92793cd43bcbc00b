//! Read-only handles on both databases, opened when first needed and again when a file was replaced.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::domain::time::Moment;
use crate::imports::Imports;
use crate::ledger;
use crate::store::{self, StoreError};
use crate::workspace::Workspace;

/// What a front reads from. Reading never writes and never waits for the writer.
#[derive(Debug)]
pub struct Reads {
    workspace: Workspace,
    ledger: Option<(FileId, ledger::Reader)>,
    store: Option<(FileId, store::Reader)>,
    past: Option<Past>,
}

/// Read models folded up to a place in the past, in a directory that goes with them.
#[derive(Debug)]
struct Past {
    dir: TempDir,
    seq: u64,
}

/// Why there is no going back.
#[derive(Debug, thiserror::Error)]
pub enum TravelError {
    /// The ledger cannot be read.
    #[error(transparent)]
    Ledger(#[from] ledger::LedgerError),
    /// The past cannot be folded.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no room for it.
    #[error("cannot fold the past in a temporary directory: {0}")]
    Io(#[from] std::io::Error),
}

/// The file, and whether it has a log: a handle opened where none could be looked into would never see one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId(u64, u64, bool);

impl Reads {
    /// Nothing is opened yet.
    pub fn of(workspace: Workspace) -> Self {
        Self { workspace, ledger: None, store: None, past: None }
    }

    /// The same workspace as it was then: the ledger is folded up to there into a temporary database.
    ///
    /// # Errors
    /// [`TravelError`].
    pub fn at(&mut self, moment: Moment) -> Result<Self, TravelError> {
        let dir = tempfile::tempdir()?;
        let mut seq = 0;
        if let Some(ledger) = self.ledger()? {
            seq = match moment {
                Moment::Seq(seq) => seq.min(ledger.head()?.seq),
                Moment::Time(at) => ledger.seq_at(at)?,
            };
            store::Projection::open(&past_store(&dir))?.fold_until(ledger, seq)?;
        }
        Ok(Self {
            workspace: self.workspace.clone(),
            ledger: None,
            store: None,
            past: Some(Past { dir, seq }),
        })
    }

    /// The last event these reads may show; `None` for the present.
    pub fn horizon(&self) -> Option<u64> {
        self.past.as_ref().map(|past| past.seq)
    }

    /// The workspace read from.
    pub const fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// The ledger; `None` while nothing was ever written.
    ///
    /// # Errors
    /// [`ledger::LedgerError`] when the file is there and cannot be read.
    pub fn ledger(&mut self) -> Result<Option<&ledger::Reader>, ledger::LedgerError> {
        let path = self.workspace.ledger();
        let id = file_id(&path);
        if self.ledger.as_ref().map(|(opened, _)| *opened) != id {
            self.ledger = id.zip(ledger::Reader::open(&path)?);
        }
        Ok(self.ledger.as_ref().map(|(_, reader)| reader))
    }

    /// The read models; `None` while nothing was ever folded.
    ///
    /// # Errors
    /// [`StoreError`] when the file is there and cannot be read.
    pub fn store(&mut self) -> Result<Option<&store::Reader>, StoreError> {
        let path = match &self.past {
            Some(past) => past_store(&past.dir),
            None => self.workspace.team_memory(),
        };
        let id = file_id(&path);
        if self.store.as_ref().map(|(opened, _)| *opened) != id {
            self.store = id.zip(store::Reader::open(&path)?);
        }
        if let Some((_, reader)) = &self.store {
            reader.mark(Imports::load(&self.workspace.imports()));
        }
        Ok(self.store.as_ref().map(|(_, reader)| reader))
    }
}

fn past_store(dir: &TempDir) -> PathBuf {
    dir.path().join("team-memory.sqlite")
}

/// Tells a file from another one put in its place.
fn file_id(path: &Path) -> Option<FileId> {
    let metadata = std::fs::metadata(path).ok()?;
    let has_log = ledger::has_log(path);
    #[cfg(unix)]
    return {
        use std::os::unix::fs::MetadataExt;
        Some(FileId(metadata.dev(), metadata.ino(), has_log))
    };
    #[cfg(not(unix))]
    return Some(FileId(0, metadata.created().ok()?.elapsed().map_or(0, |age| age.as_secs()), has_log));
}
