//! SQLite under the ledger and the read models: how a file is opened, hardened, copied and made durable.

mod copy;
mod migrate;
mod values;

pub use copy::{Failure, Uncopied};
pub(crate) use copy::{copy, first_problem};
#[cfg(test)]
pub(crate) use migrate::known;
pub(crate) use migrate::{Unmigrated, leave_newer, migrate, migrated, written_by};
pub(crate) use values::bound;

use std::io::Write;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

pub(crate) type Error = rusqlite::Error;

/// The way forward in an error about a file of the memory that this process cannot read.
pub(crate) const CURE: &str = "mend its permissions, or run hm as the user it belongs to";

/// Size of the write-ahead log, in pages, after which a commit copies it back (8 MiB). Syncing a log that is
/// overwritten is twice as fast as syncing one that grows, and fewer than 1 commit in 100 pays for the copy.
const AUTOCHECKPOINT_PAGES: i64 = 2_000;
/// How long a connection waits for a lock. Only a backup or an operator's shell takes one.
const BUSY_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(5);
/// Memory for a reader's page cache: a negative number is KiB in SQLite. A search reads some hundred claims and
/// the length of every text that contains a word; with SQLite's default of 2 MB it reads most pages repeatedly.
/// A front then holds up to 20 MB in all, so that the fronts of four panes fit a small machine.
const READER_CACHE_KIB: i64 = -8_000;

/// When a commit reaches the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Before the commit returns.
    EveryCommit,
    /// At the next checkpoint: a power cut may take the last commits.
    Checkpoints,
    /// Never: the file is temporary, and one process uses it.
    Never,
}

/// Opens or creates a database for its only writer.
pub(crate) fn open(path: &Path, durability: Durability) -> Result<Connection, Error> {
    refuse_links(path)?;
    let db = Connection::open(path)?;
    db.busy_timeout(BUSY_TIMEOUT)?;
    // A log would hold each page of a temporary file a second time.
    let journal = if durability == Durability::Never { "MEMORY" } else { "WAL" };
    db.pragma_update(None, "journal_mode", journal)?;
    match durability {
        Durability::EveryCommit => {
            db.pragma_update(None, "synchronous", "FULL")?;
            db.pragma_update(None, "fullfsync", cfg!(target_os = "macos"))?;
        }
        Durability::Checkpoints => db.pragma_update(None, "synchronous", "NORMAL")?,
        Durability::Never => db.pragma_update(None, "synchronous", "OFF")?,
    }
    db.pragma_update(None, "wal_autocheckpoint", AUTOCHECKPOINT_PAGES)?;
    harden(&db)?;
    Ok(db)
}

/// Why a database could not be opened for reading.
pub(crate) enum Unopened {
    /// The system does not tell whether the file exists.
    Hidden(std::io::Error),
    /// SQLite cannot open or read the file.
    Failed(Error),
}

/// Opens a database that another process writes. `None` when the file does not exist, or when its tables are
/// not made yet; `table` is one of them.
pub(crate) fn open_readonly(path: &Path, table: &str) -> Result<Option<Connection>, Unopened> {
    refuse_links(path).map_err(Unopened::Failed)?;
    match readable(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Unopened::Hidden(error)),
        Ok(()) => {}
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let attempt = |name: &Path, flags| {
        let db = Connection::open_with_flags(name, flags)?;
        configure_reader(&db)?;
        let is_made = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1)";
        let is_made: bool = db.query_row(is_made, [table], |row| row.get(0))?;
        Ok(is_made.then_some(db))
    };
    let blocked = |error: &Error| {
        use rusqlite::ErrorCode::{CannotOpen, DiskFull, ReadOnly, SystemIoFailure};
        matches!(error.sqlite_error_code(), Some(CannotOpen | DiskFull | ReadOnly | SystemIoFailure))
    };
    match attempt(path, flags) {
        // The directory does not permit a -shm file. With an empty log, the file alone holds all data.
        Err(error) if blocked(&error) && !has_log(path) => {
            let name = path.display().to_string();
            let name = name.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
            let uri = format!("file:{name}?immutable=1");
            attempt(uri.as_ref(), flags | OpenFlags::SQLITE_OPEN_URI)
        }
        other => other,
    }
    .map_err(Unopened::Failed)
}

/// Whether a file exists and this process may read it. It does not open the file: closing it would drop the
/// locks that this process holds on it through SQLite.
fn readable(path: &Path) -> std::io::Result<()> {
    if std::fs::metadata(path)?.is_dir() {
        return Err(std::io::ErrorKind::IsADirectory.into());
    }
    #[cfg(unix)]
    rustix::fs::access(path, rustix::fs::Access::READ_OK)?;
    Ok(())
}

fn configure_reader(db: &Connection) -> Result<(), Error> {
    db.busy_timeout(BUSY_TIMEOUT)?;
    db.pragma_update(None, "query_only", true)?;
    db.pragma_update(None, "cache_size", READER_CACHE_KIB)?;
    // Room for the statements of every read model.
    db.set_prepared_statement_cache_capacity(64);
    harden(db)
}

/// Settings of every connection: SQLite treats the file as data, never as code.
fn harden(db: &Connection) -> Result<(), Error> {
    db.pragma_update(None, "foreign_keys", true)?;
    db.pragma_update(None, "trusted_schema", false)?;
    db.pragma_update(None, "cell_size_check", true)?;
    // The last connection leaves -wal and -shm behind when it closes: a reader in a read-only directory could
    // not create them.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // Keeps query plans independent of bound values. Without this, SQLite plans a cached statement anew at every use.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// Fails when a database or a file beside it is a symbolic link: it may lead to any file of the user.
pub(crate) fn refuse_links(path: &Path) -> Result<(), Error> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let file = sibling(path, suffix);
        if std::fs::symlink_metadata(&file).is_ok_and(|metadata| metadata.is_symlink()) {
            let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
            let problem = format!("{} is a symbolic link: hm made none, remove it", file.display());
            return Err(Error::SqliteFailure(code, Some(problem)));
        }
    }
    Ok(())
}

/// A file that SQLite keeps beside a database, such as `-wal`.
pub(crate) fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Whether the write-ahead log of a database holds anything.
pub(crate) fn has_log(path: &Path) -> bool {
    std::fs::metadata(sibling(path, "-wal")).is_ok_and(|log| log.len() > 0)
}

/// Overwrites the log with its own bytes and syncs it. After a failed sync, a system may show bytes that it
/// never wrote to the disk, and the next sync succeeds without them (Rebello et al., "Can Applications Recover
/// from fsync Failures?", USENIX ATC 2020). The next writer takes the bytes in the log for committed, so they
/// must be on the disk.
pub(crate) fn sync_log_anew(log: &Path) -> std::io::Result<()> {
    let bytes = match std::fs::read(log) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    if bytes.is_empty() {
        return Ok(());
    }
    let mut file = std::fs::OpenOptions::new().write(true).open(log)?;
    file.write_all(&bytes)?;
    file.sync_data()
}

/// Copies the write-ahead log back into the file, as far as readers permit. A failure is harmless: the log
/// is as durable as the file.
pub(crate) fn checkpoint(db: &Connection) {
    if let Err(error) = db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())) {
        tracing::warn!(%error, "cannot checkpoint the write-ahead log");
    }
}

/// Like [`checkpoint`], and empties the log. False while a reader still uses it.
pub(crate) fn truncate_log(db: &Connection) -> Result<bool, Error> {
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0)).map(|busy| busy == 0)
}

/// Writes the database anew from its rows, so that no free page and no log holds deleted bytes. False while a
/// reader still uses the log.
pub(crate) fn rewrite(db: &Connection) -> Result<bool, Error> {
    db.execute_batch("VACUUM")?;
    let is_empty = truncate_log(db)?;
    // The sync keeps a power cut from bringing the old log back.
    if let Some(path) = db.path().filter(|_| is_empty) {
        std::fs::File::open(format!("{path}-wal"))
            .and_then(|log| log.sync_all())
            .map_err(|error| Error::ToSqlConversionFailure(error.into()))?;
    }
    Ok(is_empty)
}

/// Whether the file itself is at fault: it holds pages that SQLite did not write.
pub(crate) fn is_damage(error: &Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
}

/// Whether one value of one row is at fault, so that other rows can be read.
pub(crate) const fn is_of_one_row(error: &Error) -> bool {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error};
    matches!(
        error,
        FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) | Utf8Error(..)
    )
}
