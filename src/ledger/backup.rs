//! A hot copy of a database: one state of it, whatever its writer does meanwhile.

use std::path::Path;

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::{Failure, LedgerError};

/// How often a locked source is tried again; only an operator's shell locks it.
const RETRIES: u32 = 100;
/// How long apart.
const RETRY_AFTER: std::time::Duration = std::time::Duration::from_millis(50);

/// Copies a database into a new file and checks every page of the copy. All pages are copied in one read
/// transaction: a copy in steps starts over whenever the writer commits, and would never end under load.
/// Writers go on meanwhile; only their log cannot be copied back until this ends.
///
/// # Errors
/// [`LedgerError::Create`], [`LedgerError::Copy`], [`LedgerError::Damaged`].
pub(crate) fn copy(from: &Connection, to: &Path) -> Result<Connection, LedgerError> {
    let failed = |source| LedgerError::Copy { path: to.display().to_string(), source: Failure(source) };
    // Made before SQLite makes it: the copy is its owner's alone, and so are the files beside it.
    private(to).map_err(|error| LedgerError::Create { path: to.display().to_string(), source: error })?;
    let mut copy = Connection::open(to).map_err(failed)?;
    {
        let backup = Backup::new(from, &mut copy).map_err(failed)?;
        let mut tries = 0;
        loop {
            match backup.step(-1).map_err(failed)? {
                StepResult::Done => break,
                StepResult::More => {}
                StepResult::Busy | StepResult::Locked => {
                    tries += 1;
                    if tries == RETRIES {
                        return Err(busy(to));
                    }
                    std::thread::sleep(RETRY_AFTER);
                }
                _ => return Err(busy(to)),
            }
        }
    }
    match problem(&copy, "integrity_check").map_err(failed)? {
        None => Ok(copy),
        Some(problem) => Err(LedgerError::Damaged { path: to.display().to_string(), problem }),
    }
}

/// The first thing that a check of a whole file finds.
pub(super) fn problem(db: &Connection, check: &str) -> Result<Option<String>, rusqlite::Error> {
    let mut problem = None;
    db.pragma_query(None, check, |row| {
        let said: String = row.get(0)?;
        if problem.is_none() && said != "ok" {
            problem = Some(said);
        }
        Ok(())
    })?;
    Ok(problem)
}

fn private(path: &Path) -> std::io::Result<()> {
    let options = &mut std::fs::OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.write(true).create_new(true).open(path).map(drop)
}

fn busy(to: &Path) -> LedgerError {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
    let source = Failure(rusqlite::Error::SqliteFailure(code, None));
    LedgerError::Copy { path: to.display().to_string(), source }
}
