//! Questions to the ledger. A reader never waits for the writer.

use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::append::LAST_MIGRATION;
use super::{Cursor, File, Filter, Hash, LedgerError, Placed, Stored, erase, verify};
use crate::domain::agent::AgentId;
use crate::domain::event::{Event, ExperimentCompleted, MemoryPromoted, READER, TurnRecorded};
use crate::domain::forgetting::{self, Choice, Forgetting, Wanted};
use crate::domain::ids::{CommandId, EventId, IdempotencyKey};
use crate::domain::memory::Space;
use crate::domain::text::UserName;
use crate::domain::time::Timestamp;
use crate::sqlite::{self, Error, Unopened, bound};

/// Events read at a time for an erasure.
const FORGET_CHUNK: usize = 1_024;
const COLUMNS: &str = "e.seq, e.id, e.type, e.agent, e.session, e.trace_id, e.causation_id, e.at_ms, \
     e.idempotency_key, e.min_reader, e.payload_hash, e.prev_hash, e.hash, p.payload, p.salt \
     FROM events e LEFT JOIN payloads p ON p.seq = e.seq";

/// A read-only handle. Reads never wait for the writer.
#[derive(Debug)]
pub struct Reader {
    pub(super) db: Connection,
    pub(super) eyes: Eyes,
}

/// Whose events a reader sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Eyes {
    /// Everybody's, for the writer, for the fold and for checks.
    All,
    /// Those of the team, and those in the space of this person.
    Of(Option<UserName>),
}

/// The messages that were promoted into the spaces of other persons than the reader.
#[derive(Debug, Default)]
struct Promoted {
    seqs: BTreeSet<u64>,
    /// The beginnings of their texts, by which events that repeat them are found.
    starts: Vec<String>,
}

impl Promoted {
    /// Whether an event is such a message, or repeats one.
    fn holds(&self, event: &Stored) -> bool {
        if self.seqs.contains(&event.seq) {
            return true;
        }
        if self.starts.is_empty() || event.kind == TurnRecorded::KIND {
            return false;
        }
        // An event that this version cannot read may repeat anything.
        let Ok(recorded) = event.recorded() else { return true };
        recorded.event.is_some_and(|body| forgetting::repeats(&body, &self.starts))
    }
}

impl Eyes {
    fn see(&self, event: &Stored, promoted: &Promoted) -> bool {
        let Self::Of(user) = self else { return true };
        if Event::may_repeat_messages(&event.kind) {
            return !promoted.holds(event);
        }
        if !Event::may_be_private(&event.kind) {
            return true;
        }
        // An event that this version cannot read is shown to nobody.
        let Ok(recorded) = event.recorded() else { return false };
        recorded.event.as_ref().and_then(Event::user).is_none_or(|owner| user.as_ref() == Some(owner))
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
        let db = sqlite::open_readonly(path, "events").map_err(|problem| match problem {
            Unopened::Hidden(source) => LedgerError::Unreadable { path: shown(), source },
            Unopened::Failed(source) => LedgerError::opening(path, source),
        })?;
        let Some(db) = db else { return Ok(None) };
        if sqlite::migrated(&db)? > LAST_MIGRATION {
            return Err(LedgerError::Newer { path: shown(), by: sqlite::written_by(&db) });
        }
        Ok(Some(Self { db, eyes: Eyes::All }))
    }

    /// Like this reader, but blind for what is in the space of any other person than `user`. Such events keep their
    /// places and their hashes, and have no payload.
    #[must_use]
    pub fn seen_by(self, user: Option<UserName>) -> Self {
        Self { eyes: Eyes::Of(user), ..self }
    }

    fn select(&self, sql: &str, values: impl rusqlite::Params) -> Result<Vec<Stored>, LedgerError> {
        let mut events = select(&self.db, sql, values)?;
        self.withhold(&mut events)?;
        Ok(events)
    }

    fn withhold(&self, events: &mut [Stored]) -> Result<(), LedgerError> {
        let promoted = self.promoted_elsewhere(events)?;
        for event in events.iter_mut().filter(|event| !self.eyes.see(event, &promoted)) {
            event.payload = None;
            event.is_withheld = true;
        }
        Ok(())
    }

    /// The messages that the reader may not read any more, if one of these events may repeat a message.
    fn promoted_elsewhere(&self, events: &[Stored]) -> Result<Promoted, LedgerError> {
        if events.iter().any(|event| Event::may_repeat_messages(&event.kind)) {
            self.promoted()
        } else {
            Ok(Promoted::default())
        }
    }

    /// Whether a text repeats a message that the reader may not read any more.
    ///
    /// # Errors
    /// [`LedgerError`] if the ledger cannot be read.
    pub fn withholds(&self, text: &str) -> Result<bool, LedgerError> {
        Ok(forgetting::repeats_in(text, &self.promoted()?.starts))
    }

    /// The messages that were promoted into the spaces of other persons than the reader, by their positions, each with the
    /// position of its promotion.
    pub fn withheld(&self) -> Result<Vec<(u64, u64)>, LedgerError> {
        let Eyes::Of(user) = &self.eyes else { return Ok(Vec::new()) };
        let of_kind = format!("SELECT {COLUMNS} WHERE e.type = ?1 ORDER BY e.seq");
        let mut withheld = Vec::new();
        for stored in select(&self.db, &of_kind, [MemoryPromoted::KIND])? {
            let event = stored.recorded().ok().and_then(|recorded| recorded.event);
            let Some(Event::MemoryPromoted(of)) = event else { continue };
            if of.to_space == Space::User && of.user != *user {
                withheld.push((of.source_seq, stored.seq));
            }
        }
        Ok(withheld)
    }

    fn promoted(&self) -> Result<Promoted, LedgerError> {
        let mut promoted = Promoted::default();
        let at = format!("SELECT {COLUMNS} WHERE e.seq = ?1");
        for (source_seq, _) in self.withheld()? {
            if !promoted.seqs.insert(source_seq) {
                continue;
            }
            for source in select(&self.db, &at, [bound(source_seq)])? {
                let event = source.recorded().ok().and_then(|recorded| recorded.event);
                let Some(Event::TurnRecorded(turn)) = event else { continue };
                promoted.starts.push(forgetting::start(turn.text.as_str()));
            }
        }
        Ok(promoted)
    }

    /// The care of the file that is read.
    pub const fn file(&self) -> File<'_> {
        File { db: &self.db }
    }

    /// Checks the event that follows a position.
    ///
    /// # Errors
    /// [`LedgerError::Newer`] when only a newer version of hm can fold that event.
    pub fn check_known(&self, after: u64) -> Result<(), LedgerError> {
        let mut next = self.db.prepare_cached("SELECT min_reader FROM events WHERE seq = ?1")?;
        let needed: Option<u32> = next.query_row([bound(after + 1)], |row| row.get(0)).optional()?;
        if needed.is_some_and(|needed| needed > READER) {
            let path = self.db.path().unwrap_or_default().to_owned();
            return Err(LedgerError::Newer { path, by: sqlite::written_by(&self.db) });
        }
        Ok(())
    }

    /// The position of the last event.
    pub fn head(&self) -> Result<Cursor, LedgerError> {
        Ok(last_event(&self.db)?)
    }

    /// Up to `max` events after `cursor`, in order.
    ///
    /// # Errors
    /// [`LedgerError::Diverged`] when the ledger has another event at the cursor.
    pub fn read_from(&self, cursor: Cursor, max: usize) -> Result<Vec<Stored>, LedgerError> {
        if !self.holds(cursor)? {
            return Err(LedgerError::Diverged { seq: cursor.seq });
        }
        let mut events = self.chunk(cursor, max)?;
        self.withhold(&mut events)?;
        Ok(events)
    }

    /// Events after a position, with everybody's payloads.
    fn chunk(&self, cursor: Cursor, max: usize) -> Result<Vec<Stored>, LedgerError> {
        let sql = format!("SELECT {COLUMNS} WHERE e.seq > ?1 ORDER BY e.seq LIMIT ?2");
        select(&self.db, &sql, params![bound(cursor.seq), bound(max)])
    }

    /// The events that a command caused; empty when it caused none.
    pub fn find_command(&self, command: CommandId) -> Result<Vec<Stored>, LedgerError> {
        let sql = format!("SELECT {COLUMNS} WHERE e.causation_id = ?1 ORDER BY e.seq");
        self.select(&sql, [command])
    }

    /// The events of the command that used this key.
    pub fn find_key(&self, agent: &AgentId, key: &IdempotencyKey) -> Result<Vec<Stored>, LedgerError> {
        let sql = "SELECT causation_id FROM events WHERE agent = ?1 AND idempotency_key = ?2";
        let mut caused = self.db.prepare_cached(sql)?;
        let command: Option<String> = caused.query_row(params![agent, key], |row| row.get(0)).optional()?;
        match command.and_then(|id| id.parse().ok()) {
            Some(command) => self.find_command(command),
            None => Ok(Vec::new()),
        }
    }

    /// The event with this id.
    pub fn event(&self, id: EventId) -> Result<Option<Stored>, LedgerError> {
        Ok(self.select(&format!("SELECT {COLUMNS} WHERE e.id = ?1"), [id])?.pop())
    }

    /// The event at a position; `None` when the ledger has no such position.
    pub fn event_at(&self, seq: u64) -> Result<Option<Stored>, LedgerError> {
        Ok(self.select(&format!("SELECT {COLUMNS} WHERE e.seq = ?1"), [bound(seq)])?.pop())
    }

    /// Whether the ledger has an event with this id.
    pub fn has_event(&self, id: EventId) -> Result<bool, LedgerError> {
        Ok(self.db.prepare_cached("SELECT 1 FROM events WHERE id = ?1")?.exists([id])?)
    }

    /// Events whose payload contains a text, in order. Reads every payload.
    pub fn mentioning(&self, text: &str) -> Result<Vec<Stored>, LedgerError> {
        let sql = format!("SELECT {COLUMNS} WHERE instr(p.payload, ?1) > 0 ORDER BY e.seq");
        let mut found = self.select(&sql, [text])?;
        found.retain(|event| !event.is_withheld);
        Ok(found)
    }

    /// The events that an erasure takes, up to and including event `until`, in order. Reads every payload. An erasure is
    /// the operator's, so it takes what is in the space of another person too, without its words.
    pub fn to_forget(&self, wanted: Wanted<'_>, until: u64) -> Result<Choice, LedgerError> {
        let mut forgetting = Forgetting::new(wanted);
        let mut at = Cursor::GENESIS;
        let mut withheld = BTreeSet::new();
        while at.seq < until {
            let chunk = self.chunk(at, FORGET_CHUNK)?;
            let Some(last) = chunk.last().map(Stored::cursor) else { break };
            let promoted = self.promoted_elsewhere(&chunk)?;
            for event in chunk.iter().filter(|event| event.seq <= until) {
                if !self.eyes.see(event, &promoted) {
                    withheld.insert(event.seq);
                }
                // The fold of the writer refuses an event that this version cannot read.
                if let Ok(recorded) = event.recorded() {
                    forgetting.see(recorded);
                }
            }
            at = last;
        }
        let mut choice = forgetting.choice();
        let all = choice.goes.iter_mut().chain(&mut choice.stays);
        for chosen in all.filter(|chosen| withheld.contains(&chosen.event.seq)) {
            chosen.event.event.iter_mut().for_each(Event::withhold);
        }
        Ok(choice)
    }

    /// The redacted events in their current form: without payload once the erasure is done.
    pub fn redacted(&self) -> Result<Vec<Stored>, LedgerError> {
        let sql = format!("SELECT {COLUMNS} WHERE e.seq = ?1");
        let mut events = Vec::new();
        for redaction in erase::redactions(&self.db)? {
            let found = self.select(&sql, [bound(redaction.seq)])?.pop();
            events.extend(found.filter(|event| redaction.event_id.is_none_or(|id| event.id == id)));
        }
        Ok(events)
    }

    /// The erased events by their positions, each with the position of the event that records its erasure.
    pub fn erasures(&self) -> Result<Vec<(u64, u64)>, LedgerError> {
        let all = erase::redactions(&self.db)?;
        Ok(all.into_iter().map(|redaction| (redaction.seq, redaction.redacted_at)).collect())
    }

    /// The number of events that were not erased, and the time of the oldest of them; `None` when there are none.
    pub fn kept(&self) -> Result<Option<(u64, Timestamp)>, LedgerError> {
        let erased: BTreeSet<u64> =
            erase::redactions(&self.db)?.into_iter().map(|redaction| redaction.seq).collect();
        let head = self.head()?.seq;
        let Some(oldest) = (1..=head).find(|seq| !erased.contains(seq)) else { return Ok(None) };
        let kept = head.saturating_sub(erased.len() as u64);
        Ok(self.at(oldest)?.map(|at| (kept, at)))
    }

    /// Up to `limit` event ids with this beginning, newest first, and the number of all of them. Ids are UUIDs
    /// that begin with their time.
    pub fn ids(&self, beginning: &str, limit: usize) -> Result<(Vec<String>, u64), LedgerError> {
        let end = format!("{beginning}{}", char::MAX);
        let among = "FROM events WHERE id >= ?1 AND id < ?2";
        let mut count = self.db.prepare_cached(&format!("SELECT count(*) {among}"))?;
        let total = count.query_row([beginning, &end], |row| row.get(0))?;
        let mut newest = self.db.prepare_cached(&format!("SELECT id {among} ORDER BY id DESC LIMIT ?3"))?;
        let ids = newest.query_map(params![beginning, end, bound(limit)], |row| row.get(0))?;
        Ok((ids.collect::<Result<_, _>>()?, total))
    }

    /// Up to five event ids with this end, oldest first. Reads every id: a person typed the end of one.
    pub fn ids_ending(&self, end: &str) -> Result<Vec<EventId>, LedgerError> {
        let sql = "SELECT id FROM events WHERE substr(id, -length(?1)) = ?1 ORDER BY id LIMIT 5";
        let mut ending = self.db.prepare_cached(sql)?;
        let ids = ending.query_map([end], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
        Ok(ids.iter().filter_map(|id| id.parse().ok()).collect())
    }

    /// The sequence number of an event; `None` when the ledger has no such event.
    pub fn seq_of(&self, id: EventId) -> Result<Option<u64>, LedgerError> {
        let mut one = self.db.prepare_cached("SELECT seq FROM events WHERE id = ?1")?;
        Ok(one.query_row([id], |row| row.get(0)).optional()?)
    }

    /// Whether a command caused any event.
    pub fn has_command(&self, command: CommandId) -> Result<bool, LedgerError> {
        Ok(self.db.prepare_cached("SELECT 1 FROM events WHERE causation_id = ?1")?.exists([command])?)
    }

    /// The sequence number of the last event at or before a time; 0 when there is none. The search begins at
    /// the end of the ledger, so it is fast for the recent past.
    pub fn seq_at(&self, at: Timestamp) -> Result<u64, LedgerError> {
        let sql = "SELECT seq FROM events WHERE at_ms <= ?1 ORDER BY seq DESC LIMIT 1";
        let seq = self.db.prepare_cached(sql)?.query_row([at], |row| row.get(0)).optional()?;
        Ok(seq.unwrap_or(0))
    }

    /// The time of an event; `None` when the ledger has no such event.
    pub fn at(&self, seq: u64) -> Result<Option<Timestamp>, LedgerError> {
        let mut one = self.db.prepare_cached("SELECT at_ms FROM events WHERE seq = ?1")?;
        Ok(one.query_row([bound(seq)], |row| row.get(0)).optional()?)
    }

    /// The last event of the batch that an event belongs to. A batch is the events that one command caused at one time.
    pub fn end_of_batch(&self, seq: u64) -> Result<u64, LedgerError> {
        let next = "SELECT 1 FROM events e JOIN events n ON n.seq = e.seq + 1 AND n.causation_id = e.causation_id \
                    AND n.at_ms = e.at_ms AND n.idempotency_key IS NULL WHERE e.seq = ?1";
        let mut statement = self.db.prepare_cached(next)?;
        let mut last = seq;
        while statement.exists([bound(last)])? {
            last += 1;
        }
        Ok(last)
    }

    /// Events that pass a filter, in ledger order.
    pub fn list(&self, filter: &Filter) -> Result<Vec<Stored>, LedgerError> {
        let direction = if filter.newest { "DESC" } else { "ASC" };
        let mut conditions = String::from("e.seq > ?1");
        let mut values: Vec<Box<dyn rusqlite::ToSql>> = vec![Box::new(bound(filter.after))];
        if let Some(until) = filter.until {
            values.push(Box::new(bound(until)));
            conditions.push_str(" AND e.seq <= ?2");
        }
        for (column, value) in [
            ("e.type", filter.kind.as_deref()),
            ("e.agent", filter.agent.as_ref().map(AgentId::as_str)),
            ("e.session", filter.session.as_deref()),
        ] {
            let Some(value) = value else { continue };
            values.push(Box::new(value.to_owned()));
            conditions.push_str(&format!(" AND {column} = ?{}", values.len()));
        }
        let sql =
            format!("SELECT {COLUMNS} WHERE {conditions} ORDER BY e.seq {direction} LIMIT {}", filter.limit);
        let mut events = self.select(&sql, rusqlite::params_from_iter(values))?;
        if filter.newest {
            events.reverse();
        }
        Ok(events)
    }

    /// The events of a type, in ledger order, erased ones included: the session and the position of each, and whether
    /// it still has its payload. With `sessions` only those of these sessions.
    pub fn places(&self, kind: &str, sessions: Option<&[String]>) -> Result<Vec<Placed>, LedgerError> {
        let sessions = sessions.map(|sessions| serde_json::json!(sessions).to_string());
        let among = sessions.as_ref().map_or("", |_| " AND e.session IN (SELECT value FROM json_each(?2))");
        let sql = format!(
            "SELECT e.session, e.seq, EXISTS (SELECT 1 FROM payloads p WHERE p.seq = e.seq) FROM events e \
             WHERE e.type = ?1{among} ORDER BY e.seq"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let values = [Some(kind), sessions.as_deref()].into_iter().flatten();
        let placed = statement.query_map(rusqlite::params_from_iter(values), |row| {
            Ok(Placed { session: row.get(0)?, seq: row.get(1)?, is_kept: row.get(2)? })
        })?;
        Ok(placed.collect::<Result<_, _>>()?)
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
             AND (session IS NOT ?3 OR type = '{}') AND type IN ({}))",
            ExperimentCompleted::KIND,
            vec!["?"; kinds.len()].join(", ")
        );
        let mut values: Vec<Box<dyn rusqlite::ToSql>> =
            vec![Box::new(bound(after)), Box::new(bound(until)), Box::new(session.map(str::to_owned))];
        values.extend(kinds.iter().map(|kind| Box::new((*kind).to_owned()) as Box<dyn rusqlite::ToSql>));
        let mut query = self.db.prepare_cached(&sql)?;
        Ok(query.query_row(rusqlite::params_from_iter(values), |row| row.get(0))?)
    }

    /// Number of events of a type, up to and including an event.
    pub fn count(&self, kind: &str, until: Option<u64>) -> Result<u64, LedgerError> {
        let sql = "SELECT count(*) FROM events WHERE type = ?1 AND seq <= ?2";
        let mut query = self.db.prepare_cached(sql)?;
        Ok(query.query_row(params![kind, bound(until.unwrap_or(u64::MAX))], |row| row.get(0))?)
    }

    /// Up to `max` event hashes after `seq`, in order, unchecked.
    pub fn hashes_after(&self, seq: u64, max: usize) -> Result<Vec<Hash>, LedgerError> {
        let sql = "SELECT hash FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2";
        let mut statement = self.db.prepare_cached(sql)?;
        let hashes = statement.query_map([bound(seq), bound(max)], |row| row.get(0))?;
        Ok(hashes.collect::<Result<_, _>>()?)
    }

    /// Whether the ledger has the event at this position; true for the position before the first event.
    pub fn holds(&self, at: Cursor) -> Result<bool, LedgerError> {
        Ok(at.seq == 0 || hash_of(&self.db, at.seq)? == Some(at.hash))
    }

    /// Verifies the chain after an event that is taken as sound; 0 for the whole chain. A broken chain is in
    /// the report.
    pub fn verify_after(&self, seq: u64) -> Result<verify::Report, LedgerError> {
        verify::walk_after(&self.db, seq, |_| ())
    }

    /// Verifies the whole chain. `progress` gets the sequence number every few thousand events. A broken chain
    /// is in the report.
    pub fn verify(&self, progress: impl FnMut(u64)) -> Result<verify::Report, LedgerError> {
        verify::verify_chain(&self.db, progress)
    }
}

pub(super) fn last_event(db: &Connection) -> Result<Cursor, Error> {
    let last = db
        .prepare_cached("SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1")?
        .query_row([], |row| Ok(Cursor { seq: row.get("seq")?, hash: row.get("hash")? }))
        .optional()?;
    Ok(last.unwrap_or(Cursor::GENESIS))
}

pub(super) fn hash_of(db: &Connection, seq: u64) -> Result<Option<Hash>, LedgerError> {
    let mut find = db.prepare_cached("SELECT hash FROM events WHERE seq = ?1")?;
    Ok(find.query_row([bound(seq)], |row| row.get(0)).optional()?)
}

fn select(db: &Connection, sql: &str, values: impl rusqlite::Params) -> Result<Vec<Stored>, LedgerError> {
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        let seq = row.get(0)?;
        events.push(stored(row, seq).map_err(|error| malformed(seq, error))?);
    }
    Ok(events)
}

/// Reads a row of [`COLUMNS`], by position: a rebuild reads every event of the ledger.
fn stored(row: &Row<'_>, seq: u64) -> Result<Stored, Error> {
    let payload: Option<String> = row.get(13)?;
    let salt: Option<Vec<u8>> = row.get(14)?;
    Ok(Stored {
        seq,
        id: row.get(1)?,
        kind: row.get(2)?,
        agent: row.get(3)?,
        session: row.get(4)?,
        trace_id: row.get(5)?,
        causation: row.get(6)?,
        at: row.get(7)?,
        idempotency_key: row.get(8)?,
        min_reader: row.get(9)?,
        payload_hash: row.get(10)?,
        prev_hash: row.get(11)?,
        hash: row.get(12)?,
        payload: payload.zip(salt),
        is_withheld: false,
    })
}

fn malformed(seq: u64, error: Error) -> LedgerError {
    if let Error::FromSqlConversionFailure(_, _, source) = error {
        LedgerError::Malformed { seq, problem: source.to_string() }
    } else if sqlite::is_of_one_row(&error) {
        LedgerError::Malformed { seq, problem: error.to_string() }
    } else {
        error.into()
    }
}
