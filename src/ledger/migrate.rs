//! Numbered migrations: all that are missing in one transaction, so that no crash leaves half of them.

use refinery::Runner;
use refinery::error::Kind;
use rusqlite::{Connection, Error};

/// Why a schema is not up to date.
pub(crate) enum Unmigrated {
    /// The file has migrations that this binary does not know, or knows differently.
    Newer(String),
    /// The file cannot be read or written.
    Failed(Error),
}

/// What older versions of hm are told of a file that [`leave_moved`] made.
const MOVED: &str = "the_memory_moved_update_hm";

/// Makes an empty file of a schema that no version of hm has had: older ones say that they are too old for it.
///
/// # Errors
/// What SQLite said.
pub(crate) fn leave_moved(path: &std::path::Path, runner: Runner) -> Result<(), Error> {
    let mut db = Connection::open(path)?;
    // A failure shows in the next statement.
    let _ = runner.run(&mut db);
    let sql = "INSERT INTO refinery_schema_history (version, name, applied_on, checksum) \
               SELECT 9999, ?1, applied_on, checksum FROM refinery_schema_history LIMIT 1";
    db.execute(sql, [MOVED])?;
    Ok(())
}

/// Brings the schema up to date.
///
/// # Errors
/// [`Unmigrated`]; the schema is as it was.
pub(crate) fn migrate(db: &mut Connection, runner: Runner) -> Result<(), Unmigrated> {
    let Err(error) = runner.set_grouped(true).run(db) else { return Ok(()) };
    let source = if let Kind::Connection(_, source) = error.kind() { source.downcast_ref() } else { None };
    Err(match source {
        Some(Error::SqliteFailure(code, said)) => {
            Unmigrated::Failed(Error::SqliteFailure(*code, said.clone()))
        }
        Some(Error::SqlInputError { error, msg, .. }) => {
            Unmigrated::Failed(Error::SqliteFailure(*error, Some(msg.clone())))
        }
        _ => Unmigrated::Newer(error.to_string()),
    })
}
