//! The fold: it keeps the read models at the head of the ledger, and rebuilds them.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::StoreError;
use super::index::{self, Entry, LastClaims};
use super::project::{Tally, project};
use super::rows::only;
use crate::domain::event::Recorded;
use crate::domain::vectors::MODEL;
use crate::ledger::{Cursor, Ledger, LedgerError, Stored};
use crate::sqlite::{self, Durability, Unmigrated, is_damage};

/// Number of events per read: enough to amortise the statement, few enough for memory.
const CHUNK: usize = 2_000;

/// What a fold of this binary writes for an event. Raised whenever that changes (new tokens, a new column):
/// read models of another version are folded anew. 1 had no number; 2 has the search index; 3 has
/// contradictions and targets, 4 what evidence is worth, 6 its tokens beside the claims and what completions
/// ask for in tables of its own (5 was never released), 7 who works on what, and the triggers of dead ends, 8
/// sessions from the moment they are split off and what they were told, and triggers that are globs, 11 seats, predictions, what
/// was seen of files, retracted evidence, which name an alias was joined to, proposals against the operator's word,
/// questions and silence, globs among scopes, short names and descriptions of tasks and plans, and stems that part
/// letters from digits, 12 what a pane answers for under its other names, the policy on record, positions that are
/// held no more, and short names of claims, runs, contradictions and sessions, 16 observations of hooks, playbooks
/// and reflections, 17 spaces, promotions, phases, the rules of `[policy]` that became looser, and vectors of statements,
/// 18 the messages of a summary, 19 the failed runs since a proof, terms of retention, who ended a
/// task, and proposals to merge claims, 20 whether the agreement to a claim is of older content alone, 21 the names that
/// panes had before, and the agents that tasks are meant for, 22 vectors in blocks of a page, observed commands whose line
/// hides their end as failed, and the commands of an observation as a list, 23 triggers on errors by their words, 24 the
/// targets of decisions among the scopes of their claims, failures by what they name, and proofs that no failure elsewhere doubts,
/// 25 failures by files that are named from the root, 27 failures by all that their lines say, and fixes that did not hold, 28 firings that stay open
/// where it is unclear whether the command ran, 29 of a task that is done the note of its end alone.
pub const FOLD_VERSION: u32 = 29;

/// Read models without any event, in memory.
pub(super) fn empty() -> Result<Connection, StoreError> {
    let mut db = Connection::open_in_memory()?;
    migrate(&mut db, Path::new(":memory:"))?;
    Ok(db)
}

fn migrate(db: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let path = || path.display().to_string();
    sqlite::migrate(db, migrations::migrations::runner()).map_err(|problem| match problem {
        Unmigrated::Newer(by) => StoreError::Newer { path: path(), by },
        Unmigrated::Failed(source) => StoreError::Open { path: path(), source },
    })
}

/// Chunks that may wait between the thread that reads and the one that writes.
const WAITING_CHUNKS: usize = 2;
/// The page cache of a fill from the beginning, in KiB. SQLite takes it as a negative number.
const FILL_CACHE_KIB: i64 = -32 * 1024;
/// The page cache otherwise: SQLite's default.
const USUAL_CACHE_KIB: i64 = -2_000;
/// Indexes that the fold does not read. A fill from the beginning creates them after all rows.
const MADE_LAST: [&str; 2] = ["claims_status", "claims_standing"];

mod migrations {
    refinery::embed_migrations!("migrations/team-memory");
}

/// The number of the last file in `migrations/team-memory`.
const LAST_MIGRATION: i64 = 52;

/// The writer's handle on the read models.
#[derive(Debug)]
pub struct Projection {
    path: PathBuf,
    pub(super) db: Connection,
    folded: Cursor,
    is_current: bool,
    last: LastClaims,
}

impl Projection {
    /// Opens or creates the read models. A file that is no longer a database is dropped: the ledger has all its
    /// content.
    ///
    /// # Errors
    /// [`StoreError::Open`] or [`StoreError::Newer`].
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        match Self::open_as_is(path, Durability::Checkpoints) {
            Err(StoreError::Open { source, .. } | StoreError::Query(source)) if is_damage(&source) => {
                tracing::warn!(path = %path.display(), %source, "dropping damaged read models");
                drop_files(path);
                Self::open_as_is(path, Durability::Checkpoints)
            }
            other => other,
        }
    }

    /// Opens or creates temporary read models, for [`Self::fold_until`].
    ///
    /// # Errors
    /// [`StoreError::Open`].
    pub fn temporary(path: &Path) -> Result<Self, StoreError> {
        Self::open_as_is(path, Durability::Never)
    }

    fn open_as_is(path: &Path, durability: Durability) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Open { path: path.display().to_string(), source };
        // A power cut may lose the last folds. The next open folds those events again.
        let mut db = sqlite::open(path, durability).map_err(failed)?;
        db.set_prepared_statement_cache_capacity(64);
        migrate(&mut db, path)?;
        let mut folded = folded(&db)?;
        if folded == Cursor::GENESIS {
            set_fold_version(&db)?;
        }
        if fold_version(&db)? > FOLD_VERSION {
            let by = sqlite::written_by(&db);
            return Err(StoreError::Newer { path: path.display().to_string(), by });
        }
        let is_current = is_current(&db)?;
        if !is_current {
            // Rows of another version cannot be extended.
            folded = Cursor::GENESIS;
        }
        Ok(Self { path: path.to_owned(), db, folded, is_current, last: LastClaims::default() })
    }

    /// Writes the file again from its rows, so that neither free pages nor the log keep deleted content. False if a
    /// reader uses the log.
    ///
    /// # Errors
    /// [`StoreError::Query`], such as for a full disk.
    pub fn rewrite(&self) -> Result<bool, StoreError> {
        Ok(sqlite::rewrite(&self.db)?)
    }

    /// Drops the files and starts without any event. Read models that cannot fold an erasure must not keep the erased
    /// text.
    ///
    /// # Errors
    /// [`StoreError`] when no new file can be made.
    pub fn start_over(&mut self) -> Result<(), StoreError> {
        let path = self.db.path().map(std::path::PathBuf::from).unwrap_or_default();
        drop_files(&path);
        *self = Self::open_as_is(&path, Durability::Checkpoints)?;
        Ok(())
    }

    /// Copies the write-ahead log back into the file; see [`Ledger::checkpoint`].
    pub fn checkpoint(&self) {
        sqlite::checkpoint(&self.db);
    }

    /// The ledger position folded so far.
    pub const fn folded(&self) -> Cursor {
        self.folded
    }

    /// Folds events that directly follow the folded position, in one transaction.
    ///
    /// # Errors
    /// [`StoreError`]; nothing of these events is visible then.
    pub fn apply(&mut self, events: &[Recorded], head: Cursor) -> Result<(), StoreError> {
        // Taken, so that a failure forgets it.
        let mut last = std::mem::take(&mut self.last);
        let transaction = self.db.transaction()?;
        let mut tally = Tally::default();
        for event in events {
            project(&transaction, &mut tally, &mut last, event, Entry::of(event).as_ref())?;
        }
        tally.write(&transaction)?;
        set_folded(&transaction, head, tally.texts)?;
        transaction.commit()?;
        self.folded = head;
        self.last = last;
        Ok(())
    }

    /// Folds the events that the read models lack. Read models with another history, of another version, or with
    /// damaged pages are dropped first.
    ///
    /// # Errors
    /// [`StoreError`]; what was folded before stays.
    pub fn catch_up(&mut self, ledger: &Ledger) -> Result<(), StoreError> {
        match self.follow(ledger) {
            Err(StoreError::Query(source)) if is_damage(&source) => self.rebuild(ledger, |_| ()),
            other => other,
        }
    }

    fn follow(&mut self, ledger: &Ledger) -> Result<(), StoreError> {
        if !self.is_current {
            tracing::info!(version = FOLD_VERSION, "read models were folded by another version: rebuilding");
            return self.rebuild(ledger, |_| ());
        }
        if self.folded == Cursor::GENESIS && ledger.head() != Cursor::GENESIS {
            return self.rebuild(ledger, |_| ());
        }
        if ledger.read_from(self.folded, 0).is_err() {
            tracing::warn!(seq = self.folded.seq, "read models belong to another history: rebuilding");
            return self.rebuild(ledger, |_| ());
        }
        self.extend(|at| ledger.read_from(at, CHUNK))
    }

    /// Folds the ledger up to an event: the state at that time. What is folded before that event stays.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn fold_until(&mut self, ledger: &crate::ledger::Reader, seq: u64) -> Result<(), StoreError> {
        let read = |at: Cursor| {
            let left = seq.saturating_sub(at.seq);
            ledger.read_from(at, CHUNK.min(usize::try_from(left).unwrap_or(CHUNK)))
        };
        if self.folded == Cursor::GENESIS { self.fill(read, |_| ()) } else { self.extend(read) }
    }

    /// Folds all events of `read` behind those that are folded.
    fn extend(
        &mut self,
        read: impl Fn(Cursor) -> Result<Vec<Stored>, LedgerError>,
    ) -> Result<(), StoreError> {
        loop {
            let stored = read(self.folded)?;
            let Some(last) = stored.last().map(Stored::cursor) else { return Ok(()) };
            self.apply(&recorded(&stored)?, last)?;
        }
    }

    /// Drops every projection and folds the ledger again, in one transaction: readers see the old
    /// state until the new one is complete. A file with damaged pages is made anew.
    ///
    /// # Errors
    /// [`StoreError`]; the old state stays, unless it was damaged.
    pub fn rebuild(&mut self, ledger: &Ledger, mut progress: impl FnMut(u64)) -> Result<(), StoreError> {
        match self.fill(|at| ledger.read_from(at, CHUNK), &mut progress) {
            Err(StoreError::Query(source)) if is_damage(&source) => {
                tracing::warn!(path = %self.path.display(), %source, "dropping damaged read models");
                // Closed before its files go.
                self.db = Connection::open_in_memory()?;
                drop_files(&self.path);
                *self = Self::open_as_is(&self.path, Durability::Checkpoints)?;
                self.fill(|at| ledger.read_from(at, CHUNK), &mut progress)
            }
            other => other,
        }
    }

    /// Folds all events of `read`, from the beginning. This thread reads, decodes and tokenises while another thread
    /// writes.
    fn fill(
        &mut self,
        mut read: impl FnMut(Cursor) -> Result<Vec<Stored>, LedgerError>,
        mut progress: impl FnMut(u64),
    ) -> Result<(), StoreError> {
        self.last = LastClaims::default();
        self.db.pragma_update(None, "cache_size", FILL_CACHE_KIB)?;
        let (chunk_tx, chunk_rx) = std::sync::mpsc::sync_channel(WAITING_CHUNKS);
        let db = &mut self.db;
        let filled = std::thread::scope(|scope| {
            let writing = scope.spawn(move || write_all(db, chunk_rx));
            let mut at = Cursor::GENESIS;
            loop {
                let chunk = read(at).map_err(StoreError::from).and_then(|stored| Chunk::of(&stored));
                let next = chunk.as_ref().ok().map(|chunk| chunk.end);
                let is_last = matches!(next, None | Some(None));
                // The writing thread stops receiving after an error, and returns the error from `join`.
                if (!matches!(next, Some(None)) && chunk_tx.send(chunk).is_err()) || is_last {
                    break;
                }
                at = next.flatten().unwrap_or(at);
                progress(at.seq);
            }
            drop(chunk_tx);
            writing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        self.db.pragma_update(None, "cache_size", USUAL_CACHE_KIB)?;
        (self.folded, self.last) = filled?;
        self.is_current = true;
        // The transaction was as long as the file. Without this, the log would keep that length.
        if let Err(error) = sqlite::truncate_log(&self.db) {
            tracing::warn!(%error, "cannot truncate the write-ahead log of the read models");
        }
        Ok(())
    }
}

/// Events between the reading and the writing thread.
struct Chunk {
    events: Vec<(Recorded, Option<Entry>)>,
    /// The last of them.
    end: Option<Cursor>,
}

impl Chunk {
    fn of(stored: &[Stored]) -> Result<Self, StoreError> {
        let events = recorded(stored)?.into_iter().map(|event| {
            let entry = Entry::of(&event);
            (event, entry)
        });
        Ok(Self { events: events.collect(), end: stored.last().map(Stored::cursor) })
    }
}

/// Drops every projection and folds the received chunks, in one transaction.
fn write_all(
    db: &mut Connection,
    chunks: Receiver<Result<Chunk, StoreError>>,
) -> Result<(Cursor, LastClaims), StoreError> {
    let transaction = db.transaction()?;
    for table in tables(&transaction)? {
        transaction.execute(&format!("DELETE FROM \"{table}\""), [])?;
    }
    let mut made_last = Vec::new();
    for index in MADE_LAST {
        let sql: String = transaction.query_row(
            "SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = ?1",
            [index],
            only,
        )?;
        transaction.execute(&format!("DROP INDEX {index}"), [])?;
        made_last.push(sql);
    }
    index::begin_fill(&transaction)?;
    let (mut at, mut tally, mut last) = (Cursor::GENESIS, Tally::default(), LastClaims::from_the_beginning());
    for chunk in chunks {
        let chunk = chunk?;
        for (event, entry) in &chunk.events {
            project(&transaction, &mut tally, &mut last, event, entry.as_ref())?;
        }
        at = chunk.end.unwrap_or(at);
    }
    tally.write(&transaction)?;
    index::end_fill(&transaction)?;
    for sql in made_last {
        transaction.execute(&sql, [])?;
    }
    set_folded(&transaction, at, tally.texts)?;
    set_fold_version(&transaction)?;
    transaction.commit()?;
    Ok((at, last))
}

fn recorded(stored: &[crate::ledger::Stored]) -> Result<Vec<Recorded>, StoreError> {
    stored
        .iter()
        .map(|event| {
            event
                .recorded()
                .map_err(|problem| StoreError::Fold { seq: event.seq, problem: problem.to_string() })
        })
        .collect()
}

fn drop_files(path: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let file = sqlite::sibling(path, suffix);
        if let Err(error) = std::fs::remove_file(&file)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(path = %file.display(), %error, "cannot drop it");
        }
    }
}

/// Every table that the fold fills, except the search index with its own tables.
fn tables(transaction: &Transaction<'_>) -> Result<Vec<String>, rusqlite::Error> {
    let sql = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' \
               AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'refinery_%' ORDER BY name";
    transaction.prepare(sql)?.query_map([], only)?.collect()
}

/// Whether this binary would write the same rows.
fn is_current(db: &Connection) -> Result<bool, rusqlite::Error> {
    Ok(fold_version(db)? == FOLD_VERSION && has_our_vectors(db))
}

/// Whether the vectors were made with the table of this binary. A name that cannot be read is no other name.
fn has_our_vectors(db: &Connection) -> bool {
    let model =
        db.query_row("SELECT model FROM projection WHERE id = 1", [], only::<Option<String>>).optional();
    !matches!(model, Ok(Some(model)) if model.as_deref() != Some(MODEL))
}

fn fold_version(db: &Connection) -> Result<u32, rusqlite::Error> {
    db.query_row("PRAGMA user_version", [], only)
}

/// The version of rows and tables compared with this binary: older, equal or newer.
pub(super) fn age(db: &Connection) -> Result<Ordering, rusqlite::Error> {
    let tables = sqlite::migrated(db)?.cmp(&LAST_MIGRATION);
    Ok(match (tables, fold_version(db)?.cmp(&FOLD_VERSION)) {
        (Ordering::Greater, _) | (_, Ordering::Greater) => Ordering::Greater,
        (Ordering::Less, _) | (_, Ordering::Less) => Ordering::Less,
        (Ordering::Equal, Ordering::Equal) if has_our_vectors(db) => Ordering::Equal,
        (Ordering::Equal, Ordering::Equal) => Ordering::Less,
    })
}

fn set_fold_version(db: &Connection) -> Result<(), rusqlite::Error> {
    db.pragma_update(None, "user_version", FOLD_VERSION)
}

pub(super) fn folded(db: &Connection) -> Result<Cursor, StoreError> {
    let cursor = db
        .prepare_cached("SELECT folded_seq, folded_hash FROM projection WHERE id = 1")?
        .query_row([], |row| {
            // An unreadable position counts as the highest one, which no ledger has.
            Ok(Cursor { seq: row.get("folded_seq").unwrap_or(u64::MAX), hash: row.get("folded_hash")? })
        })
        .optional()?;
    Ok(cursor.unwrap_or(Cursor::GENESIS))
}

/// Stores the folded position, and adds the numbers of new texts and tokens.
fn set_folded(db: &Connection, at: Cursor, (texts, tokens): (i64, i64)) -> Result<(), rusqlite::Error> {
    db.prepare_cached(
        "INSERT INTO projection (id, folded_seq, folded_hash, claims, tokens, model) VALUES (1, ?1, ?2, ?3, ?4, ?5) \
         ON CONFLICT (id) DO UPDATE SET folded_seq = ?1, folded_hash = ?2, \
         claims = claims + ?3, tokens = tokens + ?4",
    )?
    .execute(params![at.seq, at.hash, texts, tokens, MODEL])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_last_migration_is_the_last_file() {
        assert_eq!(super::LAST_MIGRATION, crate::sqlite::known(&super::migrations::migrations::runner()));
    }
}
