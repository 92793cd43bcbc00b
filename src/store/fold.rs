//! Keeping the read models at the ledger's head: catch up, apply, rebuild.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::{StoreError, project};
use crate::domain::event::Recorded;
use crate::ledger::{Cursor, Ledger, Unmigrated, is_damage, migrate};

/// Events folded per read; large enough to amortise the statement, small enough for memory.
const CHUNK: usize = 2_000;

/// What a fold of this binary writes for an event. Raised whenever that changes (new tokens, a new column):
/// read models of another version are folded anew. 1 had no number; 2 has the search index; 3 has
/// contradictions and targets, 4 what evidence is worth.
pub const FOLD_VERSION: u32 = 4;

mod migrations {
    refinery::embed_migrations!("migrations/team-memory");
}

/// The writer's handle on the read models.
#[derive(Debug)]
pub struct Projection {
    path: PathBuf,
    db: Connection,
    folded: Cursor,
    is_current: bool,
}

impl Projection {
    /// Opens or creates the read models. A file that is no database any more is dropped: it holds
    /// nothing that the ledger does not.
    ///
    /// # Errors
    /// [`StoreError::Open`] or [`StoreError::Newer`].
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        match Self::open_as_is(path) {
            Err(StoreError::Open { source, .. } | StoreError::Query(source)) if is_damage(&source) => {
                tracing::warn!(path = %path.display(), %source, "dropping damaged read models");
                drop_files(path);
                Self::open_as_is(path)
            }
            other => other,
        }
    }

    fn open_as_is(path: &Path) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Open { path: path.display().to_string(), source };
        let mut db = Connection::open(path).map_err(failed)?;
        configure(&db).map_err(failed)?;
        migrate(&mut db, migrations::migrations::runner()).map_err(|problem| match problem {
            Unmigrated::Newer(detail) => StoreError::Newer { path: path.display().to_string(), detail },
            Unmigrated::Failed(source) => failed(source),
        })?;
        let mut folded = folded(&db)?;
        if folded == Cursor::GENESIS {
            set_fold_version(&db)?;
        }
        let is_current = is_current(&db)?;
        if !is_current {
            // Nothing in it can be built on.
            folded = Cursor::GENESIS;
        }
        Ok(Self { path: path.to_owned(), db, folded, is_current })
    }

    /// Makes the file anew from its rows: no free page and no log holds what was dropped. False while a reader
    /// stands in the log.
    ///
    /// # Errors
    /// [`StoreError::Query`], such as for a full disk.
    pub fn rewrite(&self) -> Result<bool, StoreError> {
        Ok(crate::ledger::rewrite(&self.db)?)
    }

    /// Drops the files and starts with nothing folded: what cannot be folded must not keep what was erased.
    ///
    /// # Errors
    /// [`StoreError`] when no new file can be made.
    pub fn start_over(&mut self) -> Result<(), StoreError> {
        let path = self.db.path().map(std::path::PathBuf::from).unwrap_or_default();
        drop_files(&path);
        *self = Self::open_as_is(&path)?;
        Ok(())
    }

    /// Copies the write-ahead log back into the file; see [`Ledger::checkpoint`].
    pub fn checkpoint(&self) {
        crate::ledger::checkpoint(&self.db);
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
        let transaction = self.db.transaction()?;
        for event in events {
            project::project(&transaction, event)?;
        }
        set_folded(&transaction, head)?;
        transaction.commit()?;
        self.folded = head;
        Ok(())
    }

    /// Folds what the ledger has and these read models do not. Read models of another history, folded by
    /// another version, or with damaged pages are dropped first.
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
        if ledger.read_from(self.folded, 0).is_err() {
            tracing::warn!(seq = self.folded.seq, "read models belong to another history: rebuilding");
            return self.rebuild(ledger, |_| ());
        }
        while self.folded.seq < ledger.head().seq {
            let stored = ledger.read_from(self.folded, CHUNK)?;
            let Some(last) = stored.last().map(crate::ledger::Stored::cursor) else {
                break;
            };
            let events = recorded(&stored)?;
            self.apply(&events, last)?;
        }
        Ok(())
    }

    /// Folds the ledger up to an event, and no further: how things stood then.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn fold_until(&mut self, ledger: &crate::ledger::Reader, seq: u64) -> Result<(), StoreError> {
        while self.folded.seq < seq {
            let wanted = CHUNK.min(usize::try_from(seq - self.folded.seq).unwrap_or(CHUNK));
            let stored = ledger.read_from(self.folded, wanted)?;
            let Some(last) = stored.last().map(crate::ledger::Stored::cursor) else { break };
            let events = recorded(&stored)?;
            self.apply(&events, last)?;
        }
        Ok(())
    }

    /// Drops every projection and folds the ledger again, in one transaction: readers see the old
    /// state until the new one is complete. A file with damaged pages is made anew.
    ///
    /// # Errors
    /// [`StoreError`]; the old state stays, unless it was damaged.
    pub fn rebuild(&mut self, ledger: &Ledger, mut progress: impl FnMut(u64)) -> Result<(), StoreError> {
        match self.refold(ledger, &mut progress) {
            Err(StoreError::Query(source)) if is_damage(&source) => {
                tracing::warn!(path = %self.path.display(), %source, "dropping damaged read models");
                // Closed before its files go.
                self.db = Connection::open_in_memory()?;
                drop_files(&self.path);
                *self = Self::open_as_is(&self.path)?;
                self.refold(ledger, &mut progress)
            }
            other => other,
        }
    }

    fn refold(&mut self, ledger: &Ledger, progress: &mut impl FnMut(u64)) -> Result<(), StoreError> {
        let transaction = self.db.transaction()?;
        for (table, kind) in tables(&transaction)? {
            let sql = match kind {
                Kind::Plain => format!("DELETE FROM \"{table}\""),
                Kind::Index => format!("INSERT INTO \"{table}\" (\"{table}\") VALUES ('delete-all')"),
            };
            transaction.execute(&sql, [])?;
        }
        let mut at = Cursor::GENESIS;
        loop {
            let stored = ledger.read_from(at, CHUNK)?;
            let Some(last) = stored.last().map(crate::ledger::Stored::cursor) else {
                break;
            };
            for event in recorded(&stored)? {
                project::project(&transaction, &event)?;
            }
            at = last;
            progress(at.seq);
        }
        set_folded(&transaction, at)?;
        set_fold_version(&transaction)?;
        transaction.commit()?;
        self.folded = at;
        self.is_current = true;
        Ok(())
    }
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

fn configure(db: &Connection) -> Result<(), rusqlite::Error> {
    db.busy_timeout(std::time::Duration::from_secs(5))?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    // Losing the last folds in a power cut costs a catch-up, nothing else.
    db.pragma_update(None, "synchronous", "NORMAL")?;
    db.pragma_update(None, "wal_autocheckpoint", crate::ledger::AUTOCHECKPOINT_PAGES)?;
    db.set_prepared_statement_cache_capacity(64);
    crate::ledger::harden(db)
}

fn drop_files(path: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        if let Err(error) = std::fs::remove_file(&name)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(path = %Path::new(&name).display(), %error, "cannot drop it");
        }
    }
}

/// How a table is emptied.
enum Kind {
    Plain,
    Index,
}

/// Every table that a fold fills. What an index keeps in tables of its own is emptied with it.
fn tables(transaction: &Transaction<'_>) -> Result<Vec<(String, Kind)>, rusqlite::Error> {
    let sql = "SELECT t.name, t.type = 'virtual' FROM pragma_table_list t \
               JOIN sqlite_schema s ON s.name = t.name \
               WHERE t.schema = 'main' AND (t.type = 'table' OR s.sql LIKE '%USING fts5(%') \
               AND t.name NOT LIKE 'sqlite_%' AND t.name NOT LIKE 'refinery_%' ORDER BY t.name";
    transaction
        .prepare(sql)?
        .query_map([], |row| Ok((row.get(0)?, if row.get(1)? { Kind::Index } else { Kind::Plain })))?
        .collect()
}

/// Whether the rows are those this binary would write.
pub(super) fn is_current(db: &Connection) -> Result<bool, rusqlite::Error> {
    let version: u32 = db.prepare_cached("PRAGMA user_version")?.query_row([], |row| row.get(0))?;
    Ok(version == FOLD_VERSION)
}

fn set_fold_version(db: &Connection) -> Result<(), rusqlite::Error> {
    db.pragma_update(None, "user_version", FOLD_VERSION)
}

pub(super) fn folded(db: &Connection) -> Result<Cursor, StoreError> {
    let cursor = db
        .prepare_cached("SELECT folded_seq, folded_hash FROM projection WHERE id = 1")?
        .query_row([], |row| Ok(Cursor { seq: row.get::<_, i64>(0)? as u64, hash: row.get(1)? }))
        .optional()?;
    Ok(cursor.unwrap_or(Cursor::GENESIS))
}

fn set_folded(db: &Connection, at: Cursor) -> Result<(), rusqlite::Error> {
    db.prepare_cached(
        "INSERT INTO projection (id, folded_seq, folded_hash) VALUES (1, ?1, ?2) \
         ON CONFLICT (id) DO UPDATE SET folded_seq = ?1, folded_hash = ?2",
    )?
    .execute(params![at.seq as i64, at.hash])?;
    Ok(())
}
