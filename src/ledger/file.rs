//! The care of the ledger's file: its pages, its copies, its log, and the payloads that it must no longer hold.

use std::path::Path;

use rusqlite::Connection;

use super::{Failure, LedgerError, Report, erase, verify};
use crate::sqlite::{self, Error};

/// The file under a [`super::Reader`] or a [`super::Ledger`]. SQLite refuses what writes through a reader.
#[derive(Debug, Clone, Copy)]
pub struct File<'l> {
    pub(super) db: &'l Connection,
}

impl File<'_> {
    /// Copies the ledger into a new file and verifies the chain of the copy. A broken chain is in the report.
    ///
    /// # Errors
    /// [`LedgerError`] when the copy cannot be made.
    pub fn back_up(self, to: &Path, progress: impl FnMut(u64)) -> Result<Report, LedgerError> {
        verify::verify_chain(&sqlite::copy(self.db, to)?, progress)
    }

    /// Checks every page of the file, pages of indexes included: [`super::Reader::verify`] never reads those.
    ///
    /// # Errors
    /// [`LedgerError::Corrupt`] with the first problem found.
    pub fn check_pages(self) -> Result<(), LedgerError> {
        sqlite::first_problem(self.db, "quick_check")?.map_or(Ok(()), |problem| {
            let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
            Err(LedgerError::Corrupt(Failure(Error::SqliteFailure(code, Some(problem)))))
        })
    }

    /// Copies the write-ahead log back into the file, as far as readers permit. A failure is harmless: the log
    /// is as durable as the file.
    pub fn checkpoint(self) {
        sqlite::checkpoint(self.db);
    }

    /// Whether the file may still hold the payload of a redacted event.
    pub fn owes_erasure(self) -> Result<bool, LedgerError> {
        Ok(erase::is_owed(self.db)?)
    }

    /// Deletes payload and salt of every redacted event, and rewrites file and log without them. A second call
    /// changes nothing. Returns false while a reader still uses the log: the bytes are then still in it.
    ///
    /// # Errors
    /// [`LedgerError::Read`] with the cause, such as a full disk. [`File::owes_erasure`] then stays true.
    pub fn erase(self) -> Result<bool, LedgerError> {
        erase::erase(self.db)
    }

    /// Records that no file holds an erased payload any more.
    pub fn settle_erasure(self) -> Result<(), LedgerError> {
        Ok(erase::owe(self.db, false)?)
    }
}
