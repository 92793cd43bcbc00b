//! Numbered migrations. All missing ones run in one transaction, so that a crash leaves none or all.

use refinery::Runner;
use refinery::error::Kind;
use rusqlite::{Connection, Error};

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Range of each part of a version number, so that three parts fit into one integer.
const PARTS: i32 = 1_000;

/// Records in a database the version of hm that writes it, for older versions that cannot read it. An older
/// version keeps the record of a newer one, because data of the newer one may still be there.
fn sign(db: &Connection) -> Result<(), Error> {
    let ours = number_of(VERSION);
    if signature(db)? < ours { db.pragma_update(None, "application_id", ours) } else { Ok(()) }
}

/// The newer version of hm that wrote a database, as a clause for people.
pub(crate) fn written_by(db: &Connection) -> String {
    match signature(db) {
        Ok(number) if number > number_of(VERSION) => {
            let (major, rest) = (number / PARTS / PARTS, number % (PARTS * PARTS));
            format!("hm {major}.{}.{} wrote it, this is hm {VERSION}", rest / PARTS, rest % PARTS)
        }
        _ => format!("its version is unknown, this is hm {VERSION}"),
    }
}

fn signature(db: &Connection) -> Result<i32, Error> {
    db.query_row("PRAGMA application_id", [], |row| row.get(0))
}

/// `1.2.3` as one number. A later version has a higher number.
fn number_of(version: &str) -> i32 {
    let parts = version.split(['.', '-', '+']).take(3);
    parts.fold(0, |number, part| number * PARTS + part.parse::<i32>().unwrap_or_default().clamp(0, PARTS - 1))
}

/// The number of the last migration in a database.
pub(crate) fn migrated(db: &Connection) -> Result<i64, Error> {
    db.query_row("SELECT coalesce(max(version), 0) FROM refinery_schema_history", [], |row| row.get(0))
}

/// The number of the last migration in a runner. Making a runner compiles a regular expression, which takes
/// longer than all the rest of opening a database for reading. Readers compare with a constant instead, and a
/// test compares the constant with this.
#[cfg(test)]
pub(crate) fn known(runner: &Runner) -> i64 {
    runner.get_migrations().iter().map(|migration| i64::from(migration.version())).max().unwrap_or_default()
}

/// Why a schema is not up to date.
pub(crate) enum Unmigrated {
    /// The file has migrations that this binary does not have, or has differently. The text names the versions.
    Newer(String),
    /// SQLite cannot read or write the file.
    Failed(Error),
}

/// The name of a migration in a file that [`leave_newer`] makes. An older version of hm shows it in its error.
const MOVED: &str = "the_memory_moved_update_hm";

/// Makes an empty file whose schema is newer than any version of hm. An older hm that opens it reports that it
/// is too old.
pub(crate) fn leave_newer(path: &std::path::Path, runner: Runner) -> Result<(), Error> {
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
/// [`Unmigrated`]; the schema is then unchanged.
pub(crate) fn migrate(db: &mut Connection, runner: Runner) -> Result<(), Unmigrated> {
    let Err(error) = runner.set_grouped(true).run(db) else { return sign(db).map_err(Unmigrated::Failed) };
    let source = if let Kind::Connection(_, source) = error.kind() { source.downcast_ref() } else { None };
    Err(match source {
        Some(Error::SqliteFailure(code, message)) => {
            Unmigrated::Failed(Error::SqliteFailure(*code, message.clone()))
        }
        Some(Error::SqlInputError { error, msg, .. }) => {
            Unmigrated::Failed(Error::SqliteFailure(*error, Some(msg.clone())))
        }
        _ => {
            tracing::debug!(%error, "the schema is of another version");
            Unmigrated::Newer(written_by(db))
        }
    })
}
