//! Read-only handles on both databases, opened when first needed and again when a file was replaced.

use std::path::Path;

use crate::ledger;
use crate::store::{self, StoreError};
use crate::workspace::Workspace;

/// What a front reads from. Reading never writes and never waits for the writer.
#[derive(Debug)]
pub struct Reads {
    workspace: Workspace,
    ledger: Option<(FileId, ledger::Reader)>,
    store: Option<(FileId, store::Reader)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId(u64, u64);

impl Reads {
    /// Nothing is opened yet.
    pub const fn of(workspace: Workspace) -> Self {
        Self { workspace, ledger: None, store: None }
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
        let path = self.workspace.team_memory();
        let id = file_id(&path);
        if self.store.as_ref().map(|(opened, _)| *opened) != id {
            self.store = id.zip(store::Reader::open(&path)?);
        }
        Ok(self.store.as_ref().map(|(_, reader)| reader))
    }
}

/// Tells a file from another one put in its place.
fn file_id(path: &Path) -> Option<FileId> {
    let metadata = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    return {
        use std::os::unix::fs::MetadataExt;
        Some(FileId(metadata.dev(), metadata.ino()))
    };
    #[cfg(not(unix))]
    return Some(FileId(0, metadata.created().ok()?.elapsed().map_or(0, |age| age.as_secs())));
}
