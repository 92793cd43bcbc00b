//! A hot copy of a database: one state of it, while the writer goes on.

use std::path::Path;

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::Error;

/// The error that the storage below reported.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Failure(#[from] pub(crate) Error);

/// Why a copy could not be made.
#[derive(Debug, thiserror::Error)]
pub enum Uncopied {
    /// Writing the copy failed.
    #[error("cannot copy to {path}: {source}")]
    Copy {
        /// Path of the copy.
        path: String,
        /// The error of the storage.
        source: Failure,
    },
    /// The file of the copy cannot be created.
    #[error("cannot make {path}: {source}")]
    Create {
        /// Path of the copy.
        path: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The copy does not pass SQLite's check.
    #[error("the copy {path} is damaged: {problem}")]
    Damaged {
        /// Path of the copy.
        path: String,
        /// The first problem found.
        problem: String,
    },
}

/// How often the copy retries while the source is locked. Only an operator's shell locks it.
const RETRIES: u32 = 100;
/// The pause between two retries.
const RETRY_AFTER: std::time::Duration = std::time::Duration::from_millis(50);

/// Copies a database into a new file and checks every page of the copy. One read transaction covers all pages:
/// a copy in steps starts over at every commit of the writer and would never end under load. Writers go on
/// meanwhile; only their log grows until the copy ends.
pub(crate) fn copy(from: &Connection, to: &Path) -> Result<Connection, Uncopied> {
    let failed = |source| Uncopied::Copy { path: to.display().to_string(), source: Failure(source) };
    // Created before SQLite does it: the file, and the files that SQLite puts beside it, are readable by their
    // owner only.
    private(to).map_err(|error| Uncopied::Create { path: to.display().to_string(), source: error })?;
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
    match first_problem(&copy, "integrity_check").map_err(failed)? {
        None => Ok(copy),
        Some(problem) => Err(Uncopied::Damaged { path: to.display().to_string(), problem }),
    }
}

/// The first problem that SQLite's check of a whole file reports.
pub(crate) fn first_problem(db: &Connection, check: &str) -> Result<Option<String>, Error> {
    let mut problem = None;
    db.pragma_query(None, check, |row| {
        let line: String = row.get(0)?;
        if problem.is_none() && line != "ok" {
            problem = Some(line);
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

fn busy(to: &Path) -> Uncopied {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
    let source = Failure(Error::SqliteFailure(code, None));
    Uncopied::Copy { path: to.display().to_string(), source }
}
