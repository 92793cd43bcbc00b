//! The embedded ledger: one connection appends, any number of connections read.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, TransactionBehavior, params};

use super::chain::{self, Column};
use super::migrate::{Unmigrated, migrate, migrated, written_by};
use super::{
    AppendError, Batch, Cursor, Failure, Filter, Hash, ImportError, Imported, LedgerError, MAX_BATCH_BYTES,
    MAX_PAYLOAD_BYTES, Stored, erase, import, verify,
};
use crate::domain::agent::AgentId;
use crate::domain::event::READER;
use crate::domain::ids::{CommandId, EventId, IdempotencyKey, SessionId};
use crate::domain::privacy::Denial;
use crate::domain::time::Timestamp;

pub(crate) type Error = rusqlite::Error;

/// The first version with the fix for the WAL-reset bug, which could lose commits.
const OLDEST_ENGINE: (i32, &str) = (3_051_003, "3.51.3");
/// Size of the write-ahead log, in pages, after which a commit copies it back (8 MiB). Syncing a log that is
/// overwritten is twice as fast as syncing one that grows, and fewer than 1 commit in 100 pays for the copy.
pub(crate) const AUTOCHECKPOINT_PAGES: i64 = 2_000;
/// How long a connection waits for a lock. Only a backup or an operator's shell takes one.
const BUSY_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(5);

/// Memory for a reader's page cache: a negative number is KiB in SQLite. A search reads some hundred claims and
/// the length of every text that contains a word; with SQLite's default of 2 MB it reads most pages repeatedly.
/// A front then holds up to 20 MB in all, so that the fronts of four panes fit a small machine.
const READER_CACHE_KIB: i64 = -8_000;

/// Number of events between two progress reports.
const PROGRESS_EVERY: u64 = 4_096;

mod migrations {
    refinery::embed_migrations!("migrations/ledger");
}

/// The number of the last file in `migrations/ledger`; a test compares them.
const LAST_MIGRATION: i64 = 1;

const COLUMNS: &str = "e.seq, e.id, e.type, e.agent, e.session, e.trace_id, e.causation_id, e.at_ms, \
     e.idempotency_key, e.min_reader, e.payload_hash, e.prev_hash, e.hash, p.payload, p.salt \
     FROM events e LEFT JOIN payloads p ON p.seq = e.seq";

/// The writer's handle. A workspace has one, guarded by the writer's lock.
#[derive(Debug)]
pub struct Ledger {
    db: Connection,
    head: Cursor,
}

/// A read-only handle. Reads never wait for the writer.
#[derive(Debug)]
pub struct Reader {
    db: Connection,
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
        refuse_links(path).map_err(|source| cannot_open(path, source))?;
        let log = sibling(path, "-wal");
        settle(&log).map_err(|source| LedgerError::Log { path: log.display().to_string(), source })?;
        let mut db = Connection::open(path).map_err(|source| cannot_open(path, source))?;
        configure_writer(&db).map_err(|source| cannot_open(path, source))?;
        migrate(&mut db, migrations::migrations::runner()).map_err(|problem| match problem {
            Unmigrated::Newer(by) => LedgerError::Newer { path: path.display().to_string(), by },
            Unmigrated::Failed(source) => cannot_open(path, source),
        })?;
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)
            .map_err(|source| cannot_open(path, source))?;
        let head = head(&db)?;
        Ok(Self { db, head })
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
            self.db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(unavailable)?;
        let actual = last_event(&transaction).map_err(unavailable)?;
        if actual.seq != expect.seq {
            return Err(AppendError::Conflict { expected: expect.seq, actual: actual.seq });
        }
        if actual.hash != expect.hash {
            return Err(AppendError::Diverged { seq: expect.seq });
        }
        let head = insert(&transaction, expect, group).map_err(unavailable)?;
        if group.iter().flat_map(|batch| &batch.events).any(|event| event.kind == erase::REDACTED) {
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
    /// that both have must be equal, and the export must contain every event in `missing`. `judge` returns the
    /// secret that it finds in a new event. `keep` gets the result just before the commit; its error stops the
    /// import. `progress` gets the sequence number every few thousand events.
    ///
    /// # Errors
    /// [`ImportError`]. The ledger is unchanged, except maybe after [`ImportError::Write`].
    pub fn import(
        &mut self,
        from: impl std::io::BufRead,
        missing: &[Cursor],
        mut judge: impl FnMut(&Stored) -> Option<Denial>,
        keep: impl FnOnce(&Imported) -> std::io::Result<()>,
        mut progress: impl FnMut(u64),
    ) -> Result<Imported, ImportError> {
        let failed = |source: Error| ImportError::Write(Failure(source));
        let transaction =
            self.db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let before = last_event(&transaction).map_err(failed)?;
        let mut authors = BTreeSet::new();
        let last = import::walk(from, |event| {
            if event.seq.is_multiple_of(PROGRESS_EVERY) {
                progress(event.seq);
            }
            if event.seq > before.seq {
                import::credible(event).map_err(|problem| ImportError::Line { line: event.seq, problem })?;
                if let Some(denial) = judge(event) {
                    return Err(ImportError::Secret { line: event.seq, denial });
                }
                authors.insert(event.agent.clone());
                if event.kind == erase::REDACTED {
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
            if !truncate_log(&self.db).unwrap_or(false) {
                tracing::warn!("cannot truncate the write-ahead log");
            }
        }
        Ok(imported)
    }

    /// Whether the event at this position has this hash.
    pub fn holds(&self, at: Cursor) -> Result<bool, LedgerError> {
        self.db
            .prepare_cached("SELECT 1 FROM events WHERE seq = ?1 AND hash = ?2")
            .and_then(|mut find| find.exists(params![sql_seq(at.seq), at.hash]))
            .map_err(read_failed)
    }

    /// Whether a file may still hold the payload of a redacted event.
    pub fn owes_erasure(&self) -> Result<bool, LedgerError> {
        erase::is_owed(&self.db).map_err(read_failed)
    }

    /// Deletes payload and salt of every redacted event, and rewrites file and log without them. A second call
    /// changes nothing. Returns false while a reader still uses the log: the bytes are then still in it.
    ///
    /// # Errors
    /// [`LedgerError::Read`] with the cause, such as a full disk. [`Ledger::owes_erasure`] then stays true.
    pub fn erase(&mut self) -> Result<bool, LedgerError> {
        erase::erase(&mut self.db)
    }

    /// Records that no file holds an erased payload any more.
    pub fn settle_erasure(&self) -> Result<(), LedgerError> {
        erase::owe(&self.db, false).map_err(read_failed)
    }

    /// The redacted events in their current form: without payload once the erasure is done.
    pub fn redacted(&self) -> Result<Vec<Stored>, LedgerError> {
        let redactions = erase::redactions(&self.db)?;
        let events = redactions.iter().map(|redaction| event(&self.db, redaction.event_id));
        Ok(events.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// The event with this id.
    pub fn event(&self, id: EventId) -> Result<Option<Stored>, LedgerError> {
        event(&self.db, id)
    }

    /// Events whose payload contains a text, in order. Reads every payload.
    pub fn mentioning(&self, text: &str) -> Result<Vec<Stored>, LedgerError> {
        let sql = format!("SELECT {COLUMNS} WHERE instr(p.payload, ?1) > 0 ORDER BY e.seq");
        select(&self.db, &sql, params![text])
    }

    /// Copies the write-ahead log back into the file, as far as readers permit. A failure is harmless: the log
    /// is as durable as the file.
    pub fn checkpoint(&self) {
        checkpoint(&self.db);
    }

    /// The events that a command caused; empty when it caused none.
    pub fn find_command(&self, command: CommandId) -> Result<Vec<Stored>, LedgerError> {
        find_command(&self.db, command)
    }

    /// The events of the command that used this key.
    pub fn find_key(&self, agent: &AgentId, key: &IdempotencyKey) -> Result<Vec<Stored>, LedgerError> {
        find_key(&self.db, agent, key)
    }

    /// Up to `max` events after `cursor`, in order.
    ///
    /// # Errors
    /// [`LedgerError::Diverged`] when the ledger has another event at the cursor.
    pub fn read_from(&self, cursor: Cursor, max: usize) -> Result<Vec<Stored>, LedgerError> {
        read_from(&self.db, cursor, max)
    }
}

impl Reader {
    /// Opens an existing ledger for reading; `None` when there is no ledger yet.
    ///
    /// # Errors
    /// [`LedgerError::Unreadable`] when the system hides the file, [`LedgerError::Newer`] when a newer hm wrote
    /// it, [`LedgerError::Open`] or [`LedgerError::Corrupt`] when SQLite cannot open it.
    pub fn open(path: &Path) -> Result<Option<Self>, LedgerError> {
        let shown = || path.display().to_string();
        let db = open_readonly(path, "events").map_err(|problem| match problem {
            Unopened::Hidden(source) => LedgerError::Unreadable { path: shown(), source },
            Unopened::Failed(source) => cannot_open(path, source),
        })?;
        let Some(db) = db else { return Ok(None) };
        if migrated(&db).map_err(read_failed)? > LAST_MIGRATION {
            return Err(LedgerError::Newer { path: shown(), by: written_by(&db) });
        }
        Ok(Some(Self { db }))
    }

    /// Checks the event that follows a position.
    ///
    /// # Errors
    /// [`LedgerError::Newer`] when only a newer version of hm can fold that event.
    pub fn check_known(&self, after: u64) -> Result<(), LedgerError> {
        let next = "SELECT min_reader FROM events WHERE seq = ?1";
        let needed: Option<u32> = self
            .db
            .prepare_cached(next)
            .and_then(|mut next| next.query_row([sql_seq(after + 1)], |row| row.get(0)).optional())
            .map_err(read_failed)?;
        if needed.is_some_and(|needed| needed > READER) {
            let path = self.db.path().unwrap_or_default().to_owned();
            return Err(LedgerError::Newer { path, by: written_by(&self.db) });
        }
        Ok(())
    }

    /// The position of the last event.
    pub fn head(&self) -> Result<Cursor, LedgerError> {
        head(&self.db)
    }

    /// Up to `max` events after `cursor`, in order.
    ///
    /// # Errors
    /// [`LedgerError::Diverged`] when the ledger has another event at the cursor.
    pub fn read_from(&self, cursor: Cursor, max: usize) -> Result<Vec<Stored>, LedgerError> {
        read_from(&self.db, cursor, max)
    }

    /// The events of the command that used this key.
    pub fn find_key(&self, agent: &AgentId, key: &IdempotencyKey) -> Result<Vec<Stored>, LedgerError> {
        find_key(&self.db, agent, key)
    }

    /// The event with this id.
    pub fn event(&self, id: EventId) -> Result<Option<Stored>, LedgerError> {
        event(&self.db, id)
    }

    /// Whether the ledger has an event with this id.
    pub fn has_event(&self, id: EventId) -> Result<bool, LedgerError> {
        self.db
            .prepare_cached("SELECT 1 FROM events WHERE id = ?1")
            .and_then(|mut statement| statement.exists([id.to_string()]))
            .map_err(read_failed)
    }

    /// See [`Ledger::owes_erasure`].
    pub fn owes_erasure(&self) -> Result<bool, LedgerError> {
        erase::is_owed(&self.db).map_err(read_failed)
    }

    /// Up to `limit` event ids with this beginning, newest first, and the number of all of them. Ids are UUIDs
    /// that begin with their time.
    pub fn ids(&self, beginning: &str, limit: usize) -> Result<(Vec<String>, u64), LedgerError> {
        let end = format!("{beginning}{}", char::MAX);
        let among = "FROM events WHERE id >= ?1 AND id < ?2";
        let ask = || {
            let total: i64 = self
                .db
                .prepare_cached(&format!("SELECT count(*) {among}"))?
                .query_row([beginning, &end], |row| row.get(0))?;
            let mut newest =
                self.db.prepare_cached(&format!("SELECT id {among} ORDER BY id DESC LIMIT ?3"))?;
            let ids = newest.query_map(params![beginning, end, limit as i64], |row| row.get(0))?;
            Ok((ids.collect::<Result<_, _>>()?, total as u64))
        };
        ask().map_err(read_failed)
    }

    /// Up to five event ids with this end, oldest first. Reads every id: a person typed the end of one.
    pub fn ids_ending(&self, end: &str) -> Result<Vec<EventId>, LedgerError> {
        let ask = || {
            let mut ending = self.db.prepare_cached(
                "SELECT id FROM events WHERE substr(id, -length(?1)) = ?1 ORDER BY id LIMIT 5",
            )?;
            let ids = ending.query_map([end], |row| row.get::<_, String>(0))?;
            ids.collect::<Result<Vec<String>, _>>()
        };
        let ids = ask().map_err(read_failed)?;
        Ok(ids.iter().filter_map(|id| id.parse().ok()).collect())
    }

    /// The sequence number of an event; `None` when the ledger has no such event.
    pub fn seq_of(&self, id: EventId) -> Result<Option<u64>, LedgerError> {
        let ask = || {
            let mut one = self.db.prepare_cached("SELECT seq FROM events WHERE id = ?1")?;
            one.query_row([id.to_string()], |row| row.get::<_, i64>(0)).optional()
        };
        Ok(ask().map_err(read_failed)?.map(|seq| seq as u64))
    }

    /// Whether a command caused any event.
    pub fn has_command(&self, command: CommandId) -> Result<bool, LedgerError> {
        self.db
            .prepare_cached("SELECT 1 FROM events WHERE causation_id = ?1")
            .and_then(|mut statement| statement.exists([command.to_string()]))
            .map_err(read_failed)
    }

    /// The sequence number of the last event at or before a time; 0 when there is none. The search begins at
    /// the end of the ledger, so it is fast for the recent past.
    pub fn seq_at(&self, at: Timestamp) -> Result<u64, LedgerError> {
        let seq: Option<i64> = self
            .db
            .prepare_cached("SELECT seq FROM events WHERE at_ms <= ?1 ORDER BY seq DESC LIMIT 1")
            .and_then(|mut statement| statement.query_row([at.ms()], |row| row.get(0)).optional())
            .map_err(read_failed)?;
        Ok(seq.map_or(0, |seq| seq as u64))
    }

    /// The time of an event; `None` when the ledger has no such event.
    pub fn at(&self, seq: u64) -> Result<Option<Timestamp>, LedgerError> {
        self.db
            .prepare_cached("SELECT at_ms FROM events WHERE seq = ?1")
            .and_then(|mut statement| statement.query_row([sql_seq(seq)], |row| row.get(0)).optional())
            .map(|at| at.map(Timestamp::from_ms))
            .map_err(read_failed)
    }

    /// The last event of the batch that an event belongs to. A batch is the events that one command caused at one time.
    pub fn end_of_batch(&self, seq: u64) -> Result<u64, LedgerError> {
        let next = "SELECT 1 FROM events e JOIN events n ON n.seq = e.seq + 1 AND n.causation_id = e.causation_id \
                    AND n.at_ms = e.at_ms AND n.idempotency_key IS NULL WHERE e.seq = ?1";
        let mut statement = self.db.prepare_cached(next).map_err(read_failed)?;
        let mut last = seq;
        while statement.exists([sql_seq(last)]).map_err(read_failed)? {
            last += 1;
        }
        Ok(last)
    }

    /// Events that pass a filter, in ledger order.
    pub fn list(&self, filter: &Filter) -> Result<Vec<Stored>, LedgerError> {
        let direction = if filter.newest { "DESC" } else { "ASC" };
        let mut conditions = String::from("e.seq > ?1");
        let mut values: Vec<Box<dyn rusqlite::ToSql>> = vec![Box::new(sql_seq(filter.after))];
        if let Some(until) = filter.until {
            values.push(Box::new(sql_seq(until)));
            conditions.push_str(" AND e.seq <= ?2");
        }
        for (column, value) in
            [("e.type", filter.kind.as_deref()), ("e.agent", filter.agent.as_ref().map(AgentId::as_str))]
        {
            let Some(value) = value else { continue };
            values.push(Box::new(value.to_owned()));
            conditions.push_str(&format!(" AND {column} = ?{}", values.len()));
        }
        let sql =
            format!("SELECT {COLUMNS} WHERE {conditions} ORDER BY e.seq {direction} LIMIT {}", filter.limit);
        let mut events = select(&self.db, &sql, rusqlite::params_from_iter(values))?;
        if filter.newest {
            events.reverse();
        }
        Ok(events)
    }

    /// Whether the range after `after` and up to `until` holds an event of these types that is news for a
    /// session: an event of another session, or the end of a run.
    pub fn has_news_for(
        &self,
        session: Option<&str>,
        kinds: &[&str],
        after: u64,
        until: u64,
    ) -> Result<bool, LedgerError> {
        let sql = format!(
            "SELECT EXISTS (SELECT 1 FROM events WHERE seq > ?1 AND seq <= ?2 \
             AND (session IS NOT ?3 OR type = 'experiment.completed') AND type IN ({}))",
            vec!["?"; kinds.len()].join(", ")
        );
        let mut values: Vec<Box<dyn rusqlite::ToSql>> =
            vec![Box::new(sql_seq(after)), Box::new(sql_seq(until)), Box::new(session.map(str::to_owned))];
        values.extend(kinds.iter().map(|kind| Box::new((*kind).to_owned()) as Box<dyn rusqlite::ToSql>));
        let mut query = self.db.prepare_cached(&sql).map_err(read_failed)?;
        query.query_row(rusqlite::params_from_iter(values), |row| row.get(0)).map_err(read_failed)
    }

    /// Number of events of a type, up to and including an event.
    pub fn count(&self, kind: &str, until: Option<u64>) -> Result<u64, LedgerError> {
        let sql = "SELECT count(*) FROM events WHERE type = ?1 AND seq <= ?2";
        let counted = params![kind, sql_seq(until.unwrap_or(u64::MAX))];
        let count =
            self.db.prepare_cached(sql).and_then(|mut query| query.query_row(counted, |row| row.get(0)));
        count.map(|count: i64| count as u64).map_err(read_failed)
    }

    /// Up to `max` event hashes after `seq`, in order, unchecked.
    pub fn hashes_after(&self, seq: u64, max: usize) -> Result<Vec<Hash>, LedgerError> {
        self.db
            .prepare_cached("SELECT hash FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2")
            .and_then(|mut statement| {
                statement.query_map(params![sql_seq(seq), max as i64], |row| row.get(0))?.collect()
            })
            .map_err(read_failed)
    }

    /// Whether the ledger has the event at this position; true for the position before the first event.
    pub fn holds(&self, at: Cursor) -> Result<bool, LedgerError> {
        Ok(at.seq == 0 || hash_of(&self.db, at.seq)? == Some(at.hash))
    }

    /// Copies the ledger into a new file and verifies the chain of the copy. A broken chain is in the report.
    ///
    /// # Errors
    /// [`LedgerError`] when the copy cannot be made.
    pub fn back_up(&self, to: &Path, progress: impl FnMut(u64)) -> Result<verify::Report, LedgerError> {
        verify::walk(&super::copy(&self.db, to)?, progress)
    }

    /// Checks every page of the file, pages of indexes included: [`Reader::verify`] never reads those.
    ///
    /// # Errors
    /// [`LedgerError::Corrupt`] with the first problem found.
    pub fn check_pages(&self) -> Result<(), LedgerError> {
        let problem = super::backup::problem(&self.db, "quick_check").map_err(read_failed)?;
        problem.map_or(Ok(()), |problem| {
            let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
            Err(LedgerError::Corrupt(Failure(Error::SqliteFailure(code, Some(problem)))))
        })
    }

    /// Verifies the chain after an event that is taken as sound; 0 for the whole chain. A broken chain is in
    /// the report.
    pub fn verify_after(&self, seq: u64) -> Result<verify::Report, LedgerError> {
        verify::walk_after(&self.db, seq, |_| ())
    }

    /// Verifies the whole chain. `progress` gets the sequence number every few thousand events. A broken chain
    /// is in the report.
    pub fn verify(&self, progress: impl FnMut(u64)) -> Result<verify::Report, LedgerError> {
        verify::walk(&self.db, progress)
    }
}

fn cannot_open(path: &Path, source: Error) -> LedgerError {
    if is_damage(&source) {
        return LedgerError::Corrupt(Failure(source));
    }
    LedgerError::Open { path: path.display().to_string(), source: Failure(source) }
}

pub(super) fn read_failed(source: Error) -> LedgerError {
    if is_damage(&source) {
        LedgerError::Corrupt(Failure(source))
    } else {
        LedgerError::Read(Failure(source))
    }
}

/// Leaves a file in the place of a ledger that moved. It tells older versions of hm to be updated.
pub(crate) fn leave_moved(path: &Path) -> Result<(), LedgerError> {
    super::migrate::leave_moved(path, migrations::migrations::runner())
        .map_err(|source| cannot_open(path, source))
}

/// Whether the file itself is at fault: it holds pages that SQLite did not write.
pub(crate) fn is_damage(error: &Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
}

/// Overwrites the log with its own bytes and syncs it. After a failed sync, a system may show bytes that it
/// never wrote to the disk, and the next sync succeeds without them (Rebello et al., "Can Applications Recover
/// from fsync Failures?", USENIX ATC 2020). The next writer takes the bytes in the log for committed, so they
/// must be on the disk.
fn settle(log: &Path) -> std::io::Result<()> {
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

/// Settings of a connection that writes the ledger: every commit reaches the disk.
fn configure_writer(db: &Connection) -> Result<(), Error> {
    db.busy_timeout(BUSY_TIMEOUT)?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update(None, "fullfsync", cfg!(target_os = "macos"))?;
    db.pragma_update(None, "recursive_triggers", true)?;
    // Overwrites erased payloads. It costs nothing else, because nothing else is ever deleted here.
    db.pragma_update(None, "secure_delete", true)?;
    db.pragma_update(None, "wal_autocheckpoint", AUTOCHECKPOINT_PAGES)?;
    harden(db)
}

/// See [`Ledger::checkpoint`].
pub(crate) fn checkpoint(db: &Connection) {
    if let Err(error) = db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())) {
        tracing::warn!(%error, "cannot checkpoint the write-ahead log");
    }
}

/// Like [`checkpoint`], and empties the log. False while a reader still uses it.
pub(crate) fn truncate_log(db: &Connection) -> Result<bool, Error> {
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0)).map(|busy| busy == 0)
}

/// Settings of every connection: SQLite treats the file as data, never as code.
pub(crate) fn harden(db: &Connection) -> Result<(), Error> {
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

/// Why a database could not be opened for reading.
pub(crate) enum Unopened {
    /// The system does not tell whether the file exists.
    Hidden(std::io::Error),
    /// SQLite cannot open or read the file.
    Failed(Error),
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

/// Whether the write-ahead log of a database holds anything.
pub(crate) fn has_log(path: &Path) -> bool {
    std::fs::metadata(sibling(path, "-wal")).is_ok_and(|log| log.len() > 0)
}

fn configure_reader(db: &Connection) -> Result<(), Error> {
    db.busy_timeout(BUSY_TIMEOUT)?;
    db.pragma_update(None, "query_only", true)?;
    db.pragma_update(None, "cache_size", READER_CACHE_KIB)?;
    // Room for the statements of every read model.
    db.set_prepared_statement_cache_capacity(64);
    harden(db)
}

fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn head(db: &Connection) -> Result<Cursor, LedgerError> {
    last_event(db).map_err(read_failed)
}

fn last_event(db: &Connection) -> Result<Cursor, Error> {
    let last = db
        .prepare_cached("SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1")?
        .query_row([], |row| Ok(Cursor { seq: row.get::<_, i64>(0)? as u64, hash: row.get(1)? }))
        .optional()?;
    Ok(last.unwrap_or(Cursor::GENESIS))
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
    let seq = sql_seq(event.seq);
    db.prepare_cached(INSERT_EVENT)?.execute(params![
        seq,
        event.id.to_string(),
        event.kind,
        event.agent.as_str(),
        event.session.as_ref().map(SessionId::as_str),
        event.trace_id,
        event.causation.to_string(),
        event.at.ms(),
        event.idempotency_key.as_ref().map(IdempotencyKey::as_str),
        event.min_reader,
        event.payload_hash,
        event.prev_hash,
        event.hash
    ])?;
    if let Some((payload, salt)) = &event.payload {
        db.prepare_cached(INSERT_PAYLOAD)?.execute(params![seq, salt, payload])?;
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
            let seq = sql_seq(cursor.seq + 1);
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
                    optional_text(batch.trace_id.as_deref()),
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

fn sql_seq(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}

fn find_command(db: &Connection, command: CommandId) -> Result<Vec<Stored>, LedgerError> {
    let sql = format!("SELECT {COLUMNS} WHERE e.causation_id = ?1 ORDER BY e.seq");
    select(db, &sql, params![command.to_string()])
}

fn find_key(db: &Connection, agent: &AgentId, key: &IdempotencyKey) -> Result<Vec<Stored>, LedgerError> {
    let sql = "SELECT causation_id FROM events WHERE agent = ?1 AND idempotency_key = ?2";
    let command: Option<String> = db
        .prepare_cached(sql)
        .and_then(|mut statement| {
            statement.query_row(params![agent.as_str(), key.as_str()], |row| row.get(0)).optional()
        })
        .map_err(read_failed)?;
    match command.and_then(|id| id.parse().ok()) {
        Some(command) => find_command(db, command),
        None => Ok(Vec::new()),
    }
}

fn event(db: &Connection, id: EventId) -> Result<Option<Stored>, LedgerError> {
    Ok(select(db, &format!("SELECT {COLUMNS} WHERE e.id = ?1"), params![id.to_string()])?.pop())
}

fn read_from(db: &Connection, cursor: Cursor, max: usize) -> Result<Vec<Stored>, LedgerError> {
    if cursor.seq > 0 && hash_of(db, cursor.seq)? != Some(cursor.hash) {
        return Err(LedgerError::Diverged { seq: cursor.seq });
    }
    let sql = format!("SELECT {COLUMNS} WHERE e.seq > ?1 ORDER BY e.seq LIMIT ?2");
    select(db, &sql, params![sql_seq(cursor.seq), max as i64])
}

fn hash_of(db: &Connection, seq: u64) -> Result<Option<Hash>, LedgerError> {
    db.prepare_cached("SELECT hash FROM events WHERE seq = ?1")
        .and_then(|mut find| find.query_row([sql_seq(seq)], |row| row.get(0)).optional())
        .map_err(read_failed)
}

fn select(db: &Connection, sql: &str, values: impl rusqlite::Params) -> Result<Vec<Stored>, LedgerError> {
    let mut statement = db.prepare_cached(sql).map_err(read_failed)?;
    let mut rows = statement.query(values).map_err(read_failed)?;
    let mut events = Vec::new();
    while let Some(row) = rows.next().map_err(read_failed)? {
        events.push(stored(row)?);
    }
    Ok(events)
}

fn stored(row: &Row<'_>) -> Result<Stored, LedgerError> {
    let seq: i64 = row.get(0).map_err(read_failed)?;
    let malformed = |problem: String| LedgerError::Malformed { seq: seq as u64, problem };
    let text = |column: usize| -> Result<String, LedgerError> {
        row.get(column).map_err(|error| malformed(error.to_string()))
    };
    let optional = |column: usize| -> Result<Option<String>, LedgerError> {
        row.get(column).map_err(|error| malformed(error.to_string()))
    };
    let hash = |column: usize| -> Result<Hash, LedgerError> {
        row.get(column).map_err(|error| malformed(error.to_string()))
    };
    let payload = match (optional(13)?, row.get::<_, Option<Vec<u8>>>(14).map_err(read_failed)?) {
        (Some(payload), Some(salt)) => Some((payload, salt)),
        _ => None,
    };
    Ok(Stored {
        seq: seq as u64,
        id: text(1)?.parse().map_err(|error| malformed(format!("{error}")))?,
        kind: text(2)?,
        agent: AgentId::recorded(text(3)?),
        session: optional(4)?
            .map(SessionId::try_from)
            .transpose()
            .map_err(|error| malformed(error.to_string()))?,
        trace_id: optional(5)?,
        causation: text(6)?.parse().map_err(|error| malformed(format!("{error}")))?,
        at: Timestamp::from_ms(row.get(7).map_err(read_failed)?),
        idempotency_key: optional(8)?
            .map(IdempotencyKey::try_from)
            .transpose()
            .map_err(|error| malformed(error.to_string()))?,
        min_reader: row.get(9).map_err(read_failed)?,
        payload_hash: hash(10)?,
        prev_hash: hash(11)?,
        hash: hash(12)?,
        payload,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_last_migration_is_the_last_file() {
        assert_eq!(
            super::LAST_MIGRATION,
            crate::ledger::migrate::known(&super::migrations::migrations::runner())
        );
    }
}
