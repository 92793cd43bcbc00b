//! Why the writer cannot start or must stop.

use crate::ledger::{AppendError, LedgerError};
use crate::spool::SpoolError;
use crate::store::StoreError;
use crate::workspace::WorkspaceError;

/// Why the writer cannot start or must stop. Acknowledged writes are safe in every case.
#[derive(Debug, thiserror::Error)]
pub enum WriterError {
    /// Another writer serves this workspace.
    #[error("another writer already serves this workspace")]
    Locked,
    /// A file of the memory was replaced: a write to the open file would be lost.
    #[error("{0} is not the file that this writer opened: it leaves, and the next one serves what is there")]
    Replaced(String),
    /// The workspace's files cannot be used.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The ledger cannot be used.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The read models cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An append failed; only a restart can recover.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The spool cannot be read or emptied.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// This binary cannot fold an event.
    #[error("event {seq} cannot be folded: {problem}")]
    Fold {
        /// The position of the event.
        seq: u64,
        /// Why it cannot be folded.
        problem: String,
    },
    /// The socket or the lock file cannot be used.
    #[error("cannot listen for clients: {0}")]
    Io(#[from] std::io::Error),
}
