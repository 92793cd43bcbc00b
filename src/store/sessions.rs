//! Sessions: their dialogue, what they keep and hand over, what their agents believed, what they were warned of.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;

use super::plan;
use super::rows::{Json, bound, json, only};
use super::{Myself, Reader, StoreError, files, locks};
use crate::domain::agent::AgentId;
use crate::domain::event::{
    AgentSeated, AnchorRetired, AnchorSaved, BeliefsSnapshotted, FileEdited, GuardFired, Recorded,
    SessionEnded, SessionSplit, SessionStarted, Turn0Continued, TurnRecorded,
};
use crate::domain::ids::{ClaimId, EventId, SessionId};
use crate::domain::session::{
    Belief, EndCause, Role, SUMMARY_SEGMENT_CHARS, SUMMARY_SEGMENTS, Source, WHOLE_TURNS,
};

pub(super) fn started(db: &Connection, at: &Recorded, body: &SessionStarted) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO session_states (session, agent, client, source, parent_session, started_at, last_seen_at, \
         started_seq, seq, told_seq, worktree, branch) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?7, ?7, ?8, ?9) \
         ON CONFLICT (session) DO UPDATE SET agent = ?2, client = coalesce(?3, client), source = ?4, \
         parent_session = coalesce(?5, parent_session), last_seen_at = ?6, ended_at = NULL, end_cause = NULL, \
         seq = ?7, told_seq = ?7, worktree = ?8, branch = ?9",
    )?
    .execute(params![
        body.session,
        at.agent,
        body.client,
        body.source,
        body.parent_session,
        at.at,
        at.seq,
        body.checkout.worktree,
        body.checkout.branch
    ])?;
    Ok(())
}

/// A session that took a seat is known from then on, whether its client says that it starts or not.
pub(super) fn seated(db: &Connection, at: &Recorded, body: &AgentSeated) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO session_states (session, agent, client, source, started_at, last_seen_at, started_seq, seq) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?6) ON CONFLICT (session) DO UPDATE SET agent = ?2, \
         client = coalesce(client, ?3), ended_at = NULL, end_cause = NULL",
    )?
    .execute(params![
        body.session,
        body.agent,
        body.client,
        Source::Startup,
        at.at,
        at.seq
    ])?;
    Ok(())
}

/// A session that another one hands over to: it is known from then on, whether its client says that it starts or not.
pub(super) fn split_off(
    db: &Connection,
    at: &Recorded,
    agent: &AgentId,
    (parent, child): (&SessionId, &SessionId),
) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO session_states (session, agent, source, parent_session, started_at, last_seen_at, started_seq, \
         seq) VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?6) ON CONFLICT (session) DO UPDATE SET agent = ?2, source = ?3, \
         parent_session = ?4, last_seen_at = ?5, ended_at = NULL, end_cause = NULL, seq = ?6 \
         WHERE ended_at IS NOT NULL",
    )?
    .execute(params![
        child,
        agent,
        Source::Fork,
        parent,
        at.at,
        at.seq
    ])?;
    Ok(())
}

pub(super) fn ended(db: &Connection, at: &Recorded, body: &SessionEnded) -> Result<(), StoreError> {
    db.prepare_cached(
        "UPDATE session_states SET ended_at = ?2, end_cause = ?3, seq = ?4 WHERE session = ?1",
    )?
    .execute(params![body.session, at.at, body.cause, at.seq])?;
    locks::session_ended(db, &body.session)?;
    // One that only fell silent goes on looking where it did.
    if body.cause == EndCause::Ended { plan::look_away(db, &body.session) } else { Ok(()) }
}

/// A message more: what is older than the last six falls out, and leaves the beginning of itself.
pub(super) fn turn(db: &Connection, at: &Recorded, body: &TurnRecorded) -> Result<(), StoreError> {
    let Some(session) = at.session.as_ref().map(SessionId::as_str) else { return Ok(()) };
    db.prepare_cached("INSERT INTO turns (session, seq, role, text, at) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![session, at.seq, body.role, body.text, at.at])?;
    if body.role == Role::User {
        let told = body.told.map(|told| told.min(at.seq));
        db.prepare_cached(
            "UPDATE session_states SET prompt_seq = ?2, told_seq = coalesce(?3, told_seq) WHERE session = ?1",
        )?
        .execute(params![session, at.seq, told])?;
    }
    let fallen: Option<(u64, String, String)> = db
        .prepare_cached(
            "SELECT seq, role, text FROM turns WHERE session = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2",
        )?
        .query_row(params![session, WHOLE_TURNS], |row| {
            Ok((row.get("seq")?, row.get("role")?, row.get("text")?))
        })
        .optional()?;
    let Some((seq, role, text)) = fallen else { return Ok(()) };
    db.prepare_cached("DELETE FROM turns WHERE session = ?1 AND seq <= ?2")?
        .execute(params![session, seq])?;
    let summary: Option<String> = db
        .prepare_cached("SELECT summary FROM session_states WHERE session = ?1")?
        .query_row([session], only)
        .optional()?;
    // A session that was never started has no row to keep a summary in.
    let Some(summary) = summary else { return Ok(()) };
    let mut segments: Vec<String> =
        serde_json::from_str(&summary).map_err(|error| StoreError::Malformed(error.to_string()))?;
    segments.push(segment(&role, &text));
    let too_many = segments.len().saturating_sub(SUMMARY_SEGMENTS);
    segments.drain(..too_many);
    db.prepare_cached("UPDATE session_states SET summary = ?2 WHERE session = ?1")?
        .execute(params![session, Json(&segments)])?;
    Ok(())
}

/// What is left of a message: who said it and how it begins, on one line.
fn segment(role: &str, text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{role}: {line}").chars().take(SUMMARY_SEGMENT_CHARS).collect()
}

pub(super) fn anchor(db: &Connection, at: &Recorded, body: &AnchorSaved) -> Result<(), StoreError> {
    db.prepare_cached("UPDATE anchors SET superseded_by = ?2 WHERE key = ?1 AND superseded_by IS NULL")?
        .execute(params![body.key, at.seq])?;
    db.prepare_cached(
        "INSERT INTO anchors (key, seq, value, agent, session, saved_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![body.key, at.seq, body.value, at.agent, at.session, at.at])?;
    Ok(())
}

/// What it held stays in its history, and takes no place in a context.
pub(super) fn anchor_retired(db: &Connection, at: &Recorded, body: &AnchorRetired) -> Result<(), StoreError> {
    db.prepare_cached("UPDATE anchors SET superseded_by = ?2 WHERE key = ?1 AND superseded_by IS NULL")?
        .execute(params![body.key, at.seq])?;
    Ok(())
}

pub(super) fn split(db: &Connection, at: &Recorded, body: &SessionSplit) -> Result<(), StoreError> {
    // The first stands: what was handed over never changes.
    db.prepare_cached(
        "INSERT OR IGNORE INTO splits (child, parent, reason, agent, used_tokens, window_tokens, turn0, at, seq) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute(params![
        body.child,
        body.parent,
        body.reason,
        at.agent,
        body.used_tokens,
        body.window_tokens,
        body.turn0,
        at.at,
        at.seq
    ])?;
    split_off(db, at, &at.agent, (&body.parent, &body.child))?;
    plan::hand_over(db, &body.parent, &body.child)
}

pub(super) fn continued(db: &Connection, body: &Turn0Continued) -> Result<(), StoreError> {
    db.prepare_cached("UPDATE splits SET turn0 = turn0 || char(10) || ?2 WHERE child = ?1")?
        .execute(params![body.child, body.turn0])?;
    Ok(())
}

pub(super) fn beliefs(db: &Connection, at: &Recorded, body: &BeliefsSnapshotted) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO belief_snapshots (seq, id, agent, session, beliefs, taken_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![
        at.seq,
        at.id,
        body.agent,
        body.session,
        Json(&body.beliefs),
        at.at
    ])?;
    Ok(())
}

pub(super) fn fired(db: &Connection, at: &Recorded, body: &GuardFired) -> Result<(), StoreError> {
    let Some(session) = at.session.as_ref().map(SessionId::as_str) else { return Ok(()) };
    db.prepare_cached(
        "INSERT INTO firings (session, guard, seq, matched, agent, fired_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![session, body.guard.uuid().to_string(), at.seq, body.matched, at.agent, at.at])?;
    Ok(())
}

pub(super) fn edited(db: &Connection, at: &Recorded, body: &FileEdited) -> Result<(), StoreError> {
    if let Some(session) = at.session.as_ref().map(SessionId::as_str) {
        for path in &body.paths {
            db.prepare_cached(
                "INSERT OR REPLACE INTO session_files (session, path, seq) VALUES (?1, ?2, ?3)",
            )?
            .execute(params![session, path, at.seq])?;
        }
    }
    files::named(db, at, (&body.checkout, &body.paths), true)
}

/// A session that started.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionView {
    /// Which one.
    pub session: String,
    /// Its short name, such as `S9`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whose.
    pub agent: String,
    /// The client it runs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// How it last came to start.
    pub source: Source,
    /// The linked work tree it started in; none in the main one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
    /// The branch it started on; none outside git.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The session it goes on from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
    /// Why that one handed over to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it first started, epoch ms.
    pub started_at: i64,
    /// Its last event, epoch ms.
    pub last_seen_at: i64,
    /// When it ended, epoch ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<i64>,
    /// Why it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_cause: Option<EndCause>,
    /// Ledger position of its last prompt; 0 for none.
    pub prompt_seq: u64,
    /// Ledger position up to which it was told what is new; 0 when it was never told anything.
    pub told_seq: u64,
    /// What fell out of its dialogue, oldest first.
    pub summary: Vec<String>,
    /// Ledger position of its first start.
    pub started_seq: u64,
    /// Ledger position of its last start or end.
    pub seq: u64,
}

/// One message of a dialogue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TurnView {
    /// Who said it.
    pub role: Role,
    /// What.
    pub text: String,
    /// When, epoch ms.
    pub at: i64,
    /// Where in the ledger.
    pub seq: u64,
}

/// A fact no compaction loses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AnchorView {
    /// Its name.
    pub key: String,
    /// What it holds.
    pub value: String,
    /// Who saved it.
    pub agent: String,
    /// When, epoch ms.
    pub saved_at: i64,
    /// Where in the ledger.
    pub seq: u64,
}

/// What one session handed to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SplitView {
    /// The session that goes on.
    pub child: String,
    /// The session that was split.
    pub parent: String,
    /// Why.
    pub reason: String,
    /// By whom.
    pub agent: String,
    /// Tokens the parent had used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_tokens: Option<u64>,
    /// Tokens its window holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_tokens: Option<u64>,
    /// What was handed over.
    #[serde(skip_serializing)]
    pub turn0: String,
    /// When, epoch ms.
    pub at: i64,
    /// Where in the ledger.
    pub seq: u64,
}

/// What an agent held to be right and wrong.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BeliefSnapshot {
    /// The event.
    pub id: EventId,
    /// Whose.
    pub agent: String,
    /// In which session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The most confident first.
    pub beliefs: Vec<Belief>,
    /// When, epoch ms.
    pub taken_at: i64,
    /// Where in the ledger.
    pub seq: u64,
}

pub(super) const SESSION: &str = "SELECT session, agent, client, source, parent_session, started_at, last_seen_at, ended_at, \
     end_cause, prompt_seq, told_seq, summary, started_seq, seq, worktree, branch, \
     (SELECT reason FROM splits WHERE child = session) AS reason, \
     (SELECT letter || number FROM names WHERE names.id = session) AS name FROM session_states";
pub(super) const TURN: &str = "SELECT role, text, at, seq, session FROM turns";
pub(super) const ANCHOR: &str = "SELECT key, value, agent, saved_at, seq FROM anchors";
const SPLIT: &str =
    "SELECT child, parent, reason, agent, used_tokens, window_tokens, turn0, at, seq FROM splits";

pub(super) fn session(row: &Row<'_>) -> rusqlite::Result<SessionView> {
    let has_ended = row.get::<_, Option<i64>>("ended_at")?.is_some();
    Ok(SessionView {
        session: row.get("session")?,
        name: row.get("name")?,
        agent: row.get("agent")?,
        client: row.get("client")?,
        source: row.get("source")?,
        worktree: row.get("worktree")?,
        branch: row.get("branch")?,
        parent_session: row.get("parent_session")?,
        reason: row.get("reason")?,
        started_at: row.get("started_at")?,
        last_seen_at: row.get("last_seen_at")?,
        ended_at: row.get("ended_at")?,
        end_cause: has_ended.then(|| row.get("end_cause")).transpose()?,
        prompt_seq: row.get("prompt_seq")?,
        told_seq: row.get("told_seq")?,
        summary: json(row, "summary")?,
        started_seq: row.get("started_seq")?,
        seq: row.get("seq")?,
    })
}

fn split_view(row: &Row<'_>) -> rusqlite::Result<SplitView> {
    Ok(SplitView {
        child: row.get("child")?,
        parent: row.get("parent")?,
        reason: row.get("reason")?,
        agent: row.get("agent")?,
        used_tokens: row.get("used_tokens")?,
        window_tokens: row.get("window_tokens")?,
        turn0: row.get("turn0")?,
        at: row.get("at")?,
        seq: row.get("seq")?,
    })
}

/// Sessions that are looked at for who is there; a team has some dozens.
pub(super) const MAX_LIVE: usize = 500;

impl Reader {
    /// One session that started.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn session(&self, id: &str) -> Result<Option<SessionView>, StoreError> {
        let mut one = self.db.prepare_cached(&format!("{SESSION} WHERE session = ?1"))?;
        self.kept_one(one.query([id])?, session)
    }

    /// Sessions that have not ended, newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn alive_sessions(&self, limit: usize) -> Result<Vec<SessionView>, StoreError> {
        let mut found = self.db.prepare_cached(&format!(
            "{SESSION} WHERE ended_at IS NULL ORDER BY started_seq DESC LIMIT ?1"
        ))?;
        self.kept_of(found.query([bound(limit)])?, session)
    }

    /// The agents with a session that has not ended.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn live_agents(&self) -> Result<BTreeSet<String>, StoreError> {
        Ok(self.alive_sessions(MAX_LIVE)?.into_iter().map(|session| session.agent).collect())
    }

    /// A page of sessions older than a position, newest first, and where the next one starts.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn sessions_before(
        &self,
        before: Option<u64>,
        limit: usize,
    ) -> Result<(Vec<SessionView>, Option<u64>), StoreError> {
        let mut found = self.db.prepare_cached(&format!(
            "{SESSION} WHERE started_seq < ?1 ORDER BY started_seq DESC LIMIT ?2"
        ))?;
        let rows = found.query(params![bound(before.unwrap_or(u64::MAX)), bound(limit.saturating_add(1))])?;
        self.page_of(rows, limit, "started_seq", session)
    }

    /// The last messages of a session, oldest first; at most six.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn dialogue(&self, session: &str) -> Result<Vec<TurnView>, StoreError> {
        let mut found = self.db.prepare_cached(&format!("{TURN} WHERE session = ?1 ORDER BY seq"))?;
        self.kept_of(found.query([session])?, turn_view)
    }

    /// What the anchors hold, the newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn anchors(&self, limit: usize) -> Result<Vec<AnchorView>, StoreError> {
        let held = format!("{ANCHOR} WHERE superseded_by IS NULL ORDER BY seq DESC LIMIT ?1");
        let mut found = self.db.prepare_cached(&held)?;
        self.kept_of(found.query([bound(limit)])?, anchor_view)
    }

    /// Everything an anchor ever held, the newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn anchor_history(&self, key: &str) -> Result<Vec<AnchorView>, StoreError> {
        let mut found = self.db.prepare_cached(&format!("{ANCHOR} WHERE key = ?1 ORDER BY seq DESC"))?;
        self.kept_of(found.query([key])?, anchor_view)
    }

    /// What a session was handed at its start.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn split_into(&self, child: &str) -> Result<Option<SplitView>, StoreError> {
        let mut one = self.db.prepare_cached(&format!("{SPLIT} WHERE child = ?1"))?;
        self.kept_one(one.query([child])?, split_view)
    }

    /// What a session handed to others, oldest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn splits_of(&self, parent: &str) -> Result<Vec<SplitView>, StoreError> {
        let mut found = self.db.prepare_cached(&format!("{SPLIT} WHERE parent = ?1 ORDER BY seq"))?;
        self.kept_of(found.query([parent])?, split_view)
    }

    /// The last snapshot of an agent's beliefs, of one session if it is named.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn last_beliefs(
        &self,
        agent: &str,
        session: Option<&str>,
    ) -> Result<Option<BeliefSnapshot>, StoreError> {
        let columns = "SELECT seq, id, agent, session, beliefs, taken_at FROM belief_snapshots";
        let of_session = format!("{columns} WHERE agent = ?1 AND session = ?2 ORDER BY seq DESC LIMIT 1");
        let of_agent = format!("{columns} WHERE agent = ?1 AND ?2 IS NULL ORDER BY seq DESC LIMIT 1");
        let statement = if session.is_some() { of_session } else { of_agent };
        let mut one = self.db.prepare_cached(&statement)?;
        self.kept_one(one.query(params![agent, session])?, |row| {
            Ok::<_, rusqlite::Error>(BeliefSnapshot {
                id: row.get("id")?,
                agent: row.get("agent")?,
                session: row.get("session")?,
                beliefs: json(row, "beliefs")?,
                taken_at: row.get("taken_at")?,
                seq: row.get("seq")?,
            })
        })
    }

    /// Whether a session was warned of a dead end or a lease, or reminded of a task, since a ledger position.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn has_fired(&self, session: &str, guard: &str, since: u64) -> Result<bool, StoreError> {
        let mut one = self.db.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM firings WHERE session = ?1 AND guard = ?2 AND seq > ?3)",
        )?;
        Ok(one.query_row(params![session, guard, bound(since)], only)?)
    }

    /// Whether the reader was ever told of a claim, by a receipt or by a hook.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn was_told(&self, me: Myself<'_>, claim: ClaimId) -> Result<bool, StoreError> {
        let mut one = self.db.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM firings WHERE session = ?1 AND guard = ?2 AND agent = ?3)",
        )?;
        Ok(one.query_row(params![me.session, claim, me.agent], only)?)
    }

    /// Files a session touched, the last first; at most 200, which says well enough where it works.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn files_of(&self, session: &str) -> Result<Vec<String>, StoreError> {
        let mut found = self.db.prepare_cached(
            "SELECT path FROM session_files WHERE session = ?1 ORDER BY seq DESC, path LIMIT 200",
        )?;
        self.kept_of(found.query([session])?, only)
    }
}

pub(super) fn turn_view(row: &Row<'_>) -> rusqlite::Result<TurnView> {
    Ok(TurnView { role: row.get("role")?, text: row.get("text")?, at: row.get("at")?, seq: row.get("seq")? })
}

pub(super) fn anchor_view(row: &Row<'_>) -> rusqlite::Result<AnchorView> {
    Ok(AnchorView {
        key: row.get("key")?,
        value: row.get("value")?,
        agent: row.get("agent")?,
        saved_at: row.get("saved_at")?,
        seq: row.get("seq")?,
    })
}

#[cfg(test)]
mod tests {
    use super::segment;

    #[test]
    fn what_is_left_of_a_message_is_its_beginning_on_one_line() {
        assert_eq!(segment("user", "fix\n  the pool"), "user: fix the pool");
        assert_eq!(segment("assistant", &"x".repeat(500)).chars().count(), 80);
    }
}
