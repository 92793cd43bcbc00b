//! The writer's handle on the ledger: it appends events. An append is one transaction and one fsync.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, TransactionBehavior, params};

use super::chain::{self, Column};
use super::reader::{Eyes, hash_of, last_event};
use super::{
    Against, AppendError, Batch, Cursor, Failure, ImportError, Imported, LedgerError, MAX_BATCH_BYTES,
    MAX_PAYLOAD_BYTES, Reader, Stored, erase, import,
};
use crate::domain::ids::{IdempotencyKey, SessionId, TraceId};
use crate::sqlite::{self, Durability, Error, Unmigrated, bound};

/// The first version with the fix for the WAL-reset bug, which could lose commits.
const OLDEST_ENGINE: (i32, &str) = (3_051_003, "3.51.3");

/// Number of events between two progress reports.
const PROGRESS_EVERY: u64 = 4_096;

mod migrations {
    refinery::embed_migrations!("migrations/ledger");
}

/// The number of the last file in `migrations/ledger`; a test compares them.
pub(super) const LAST_MIGRATION: i64 = 1;

/// The writer's handle. A workspace has one, guarded by the writer's lock.
#[derive(Debug)]
pub struct Ledger {
    reader: Reader,
    head: Cursor,
}

/// The writer asks through its own connection what every reader may ask.
impl Deref for Ledger {
    type Target = Reader;

    fn deref(&self) -> &Reader {
        &self.reader
    }
}

impl Ledger {
    /// Opens or creates the ledger file and brings its schema up to date.
    ///
    /// # Errors
    /// [`LedgerError::OldEngine`] before the file is touched, [`LedgerError::Open`] or [`LedgerError::Corrupt`]
    /// when SQLite cannot open it, [`LedgerError::Log`] when its log cannot be made durable,
    /// [`LedgerError::Newer`] when a newer hm wrote it.
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        if rusqlite::version_number() < OLDEST_ENGINE.0 {
            return Err(LedgerError::OldEngine {
                found: rusqlite::version().to_owned(),
                needed: OLDEST_ENGINE.1,
            });
        }
        let failed = |source| LedgerError::opening(path, source);
        // Before the log is written: a link would lead that write astray.
        sqlite::refuse_links(path).map_err(failed)?;
        let log = sqlite::sibling(path, "-wal");
        sqlite::sync_log_anew(&log)
            .map_err(|source| LedgerError::Log { path: log.display().to_string(), source })?;
        let mut db = sqlite::open(path, Durability::EveryCommit).map_err(failed)?;
        configure(&db).map_err(failed)?;
        sqlite::migrate(&mut db, migrations::migrations::runner()).map_err(|problem| match problem {
            Unmigrated::Newer(by) => LedgerError::Newer { path: path.display().to_string(), by },
            Unmigrated::Failed(source) => failed(source),
        })?;
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true).map_err(failed)?;
        let head = last_event(&db)?;
        Ok(Self { reader: Reader { db, eyes: Eyes::All }, head })
    }

    /// The position of the last event.
    pub const fn head(&self) -> Cursor {
        self.head
    }

    /// Appends a group of batches in one transaction and one fsync. The events are durable when this returns.
    ///
    /// # Errors
    /// [`AppendError`]. Only after [`AppendError::Unknown`] may the disk hold some of the events.
    pub fn append(&mut self, expect: Cursor, group: &[Batch]) -> Result<Cursor, AppendError> {
        check_sizes(group)?;
        let unavailable = |source: Error| AppendError::Unavailable(Failure(source));
        let transaction =
            self.reader.db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(unavailable)?;
        let actual = last_event(&transaction).map_err(unavailable)?;
        if actual.seq != expect.seq {
            return Err(AppendError::Conflict { expected: expect.seq, actual: actual.seq });
        }
        if actual.hash != expect.hash {
            return Err(AppendError::Diverged { seq: expect.seq });
        }
        let head = insert(&transaction, expect, group).map_err(unavailable)?;
        if group.iter().flat_map(|batch| &batch.events).any(|event| erase::REDACTED.contains(&event.kind)) {
            erase::owe(&transaction, true).map_err(unavailable)?;
        }
        transaction.commit().map_err(|source| match source.sqlite_error_code() {
            // SQLite refused these before anything reached the disk. Any other failure of a commit may be
            // half-written.
            Some(rusqlite::ErrorCode::DiskFull | rusqlite::ErrorCode::DatabaseBusy) => {
                AppendError::Unavailable(Failure(source))
            }
            _ => AppendError::Unknown(Failure(source)),
        })?;
        self.head = head;
        Ok(head)
    }

    /// Appends the events of an export that this ledger does not have, unchanged, in one transaction. Events
    /// that both have must be equal, and the export must contain every event in `missing`. `judge` returns
    /// what speaks against a new event. `keep` gets the result just before the commit; its error stops the
    /// import. `progress` gets the sequence number every few thousand events.
    ///
    /// # Errors
    /// [`ImportError`]. The ledger is unchanged, except maybe after [`ImportError::Write`].
    pub fn import(
        &mut self,
        from: impl std::io::BufRead,
        missing: &[Cursor],
        mut judge: impl FnMut(&Stored) -> Option<Against>,
        keep: impl FnOnce(&Imported) -> std::io::Result<()>,
        mut progress: impl FnMut(u64),
    ) -> Result<Imported, ImportError> {
        let failed = |source: Error| ImportError::Write(Failure(source));
        let transaction =
            self.reader.db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let before = last_event(&transaction).map_err(failed)?;
        let mut authors = BTreeSet::new();
        let last = import::verify_export(from, |event| {
            if event.seq.is_multiple_of(PROGRESS_EVERY) {
                progress(event.seq);
            }
            if event.seq > before.seq {
                import::credible(event).map_err(|problem| ImportError::Line { line: event.seq, problem })?;
                if let Some(against) = judge(event) {
                    return Err(against.at(event.seq));
                }
                authors.insert(event.agent.clone());
                if erase::REDACTED.contains(&event.kind.as_str()) {
                    erase::owe(&transaction, true).map_err(failed)?;
                }
                return insert_as_it_was(&transaction, event).map_err(|error| ImportError::Line {
                    line: event.seq,
                    problem: format!("cannot be appended: {error}"),
                });
            }
            let here = hash_of(&transaction, event.seq)?;
            if here == Some(event.hash) { Ok(()) } else { Err(ImportError::Diverged { seq: event.seq }) }
        })?;
        for lost in missing {
            if hash_of(&transaction, lost.seq)? != Some(lost.hash) {
                return Err(ImportError::Incomplete { seq: lost.seq });
            }
        }
        let added = last.seq.saturating_sub(before.seq);
        let head = if added > 0 { last } else { before };
        let imported =
            Imported { added, present: last.seq - added, head, authors: authors.into_iter().collect() };
        keep(&imported)?;
        transaction.commit().map_err(failed)?;
        if added > 0 {
            self.head = last;
            // The log now has the length of the whole file and would keep it for ever.
            if !sqlite::truncate_log(&self.db).unwrap_or(false) {
                tracing::warn!("cannot truncate the write-ahead log");
            }
        }
        Ok(imported)
    }
}

/// Leaves a file in the place of a ledger that moved. It tells older versions of hm to be updated.
pub(crate) fn leave_moved(path: &Path) -> Result<(), LedgerError> {
    sqlite::leave_newer(path, migrations::migrations::runner())
        .map_err(|source| LedgerError::opening(path, source))
}

/// Settings of the connection that appends.
fn configure(db: &Connection) -> Result<(), Error> {
    db.pragma_update(None, "recursive_triggers", true)?;
    // Overwrites erased payloads. It costs nothing else, because nothing else is ever deleted here.
    db.pragma_update(None, "secure_delete", true)
}

fn check_sizes(group: &[Batch]) -> Result<(), AppendError> {
    for batch in group {
        let sizes = batch.events.iter().map(|event| event.payload.len());
        let (largest, bytes) = (sizes.clone().max().unwrap_or(0), sizes.sum());
        if largest > MAX_PAYLOAD_BYTES || bytes > MAX_BATCH_BYTES {
            return Err(AppendError::TooLarge { bytes });
        }
    }
    Ok(())
}

const INSERT_EVENT: &str = "INSERT INTO events (seq, id, type, agent, session, trace_id, causation_id, at_ms, \
     idempotency_key, min_reader, payload_hash, prev_hash, hash) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13)";
const INSERT_PAYLOAD: &str = "INSERT INTO payloads (seq, salt, payload) VALUES (?1, ?2, ?3)";

/// Inserts an event of another ledger unchanged, with its hashes and salt.
fn insert_as_it_was(db: &Connection, event: &Stored) -> Result<(), Error> {
    db.prepare_cached(INSERT_EVENT)?.execute(params![
        event.seq,
        event.id,
        event.kind,
        event.agent,
        event.session,
        event.trace_id,
        event.causation,
        event.at,
        event.idempotency_key,
        event.min_reader,
        event.payload_hash,
        event.prev_hash,
        event.hash
    ])?;
    if let Some((payload, salt)) = &event.payload {
        db.prepare_cached(INSERT_PAYLOAD)?.execute(params![event.seq, salt, payload])?;
    }
    Ok(())
}

fn insert(db: &Connection, mut cursor: Cursor, group: &[Batch]) -> Result<Cursor, Error> {
    let mut events = db.prepare_cached(INSERT_EVENT)?;
    let mut payloads = db.prepare_cached(INSERT_PAYLOAD)?;
    for batch in group {
        let causation = batch.command_id.to_string();
        let session = batch.session.as_ref().map(SessionId::as_str);
        for (index, event) in batch.events.iter().enumerate() {
            let seq = bound(cursor.seq + 1);
            let id = event.id.to_string();
            let key = batch.idempotency_key.as_ref().filter(|_| index == 0).map(IdempotencyKey::as_str);
            let payload_hash = chain::payload_hash(&event.salt, event.payload.as_bytes());
            let hash = chain::event_hash(
                &cursor.hash,
                [
                    Column::Integer(seq),
                    Column::Text(id.as_bytes()),
                    Column::Text(event.kind.as_bytes()),
                    Column::Text(batch.agent.as_str().as_bytes()),
                    optional_text(session),
                    optional_text(batch.trace_id.as_ref().map(TraceId::as_str)),
                    Column::Text(causation.as_bytes()),
                    Column::Integer(batch.at.ms()),
                    optional_text(key),
                    Column::Integer(i64::from(event.min_reader)),
                    Column::Blob(&payload_hash),
                ],
            );
            events.execute(params![
                seq,
                id,
                event.kind,
                batch.agent.as_str(),
                session,
                batch.trace_id,
                causation,
                batch.at.ms(),
                key,
                event.min_reader,
                payload_hash,
                cursor.hash,
                hash
            ])?;
            payloads.execute(params![seq, event.salt, event.payload])?;
            cursor = Cursor { seq: cursor.seq + 1, hash };
        }
    }
    Ok(cursor)
}

fn optional_text(text: Option<&str>) -> Column<'_> {
    text.map_or(Column::Null, |text| Column::Text(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_last_migration_is_the_last_file() {
        assert_eq!(super::LAST_MIGRATION, crate::sqlite::known(&super::migrations::migrations::runner()));
    }
}
