//! Sessions: their rows and dialogue, anchors, hand-overs, beliefs and warnings.

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
use crate::domain::ids::{ClaimId, EventId, RunId, SessionId};
use crate::domain::scope::Scope;
use crate::domain::session::{
    Belief, EndCause, Role, SUMMARY_SEGMENT_CHARS, SUMMARY_SEGMENTS, Source, WHOLE_TURNS,
};
use crate::domain::text::UserName;

/// Keeps the name that a session had before its new agent, which is parameter 2.
const FORMERLY: &str = "CASE WHEN agent = ?2 OR instr(',' || coalesce(formerly, '') || ',', ',' || agent || ',') \
     THEN formerly ELSE coalesce(formerly || ',', '') || agent END";

pub(super) fn started(db: &Connection, at: &Recorded, body: &SessionStarted) -> Result<(), StoreError> {
    db.prepare_cached(&format!(
        "INSERT INTO session_states (session, agent, client, source, parent_session, started_at, last_seen_at, \
         started_seq, seq, told_seq, worktree, branch) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?7, ?7, ?8, ?9) \
         ON CONFLICT (session) DO UPDATE SET formerly = {FORMERLY}, agent = ?2, seat = iif(seat = ?2, seat, NULL), \
         speaks_as = NULL, client = coalesce(?3, client), source = ?4, parent_session = coalesce(?5, parent_session), \
         last_seen_at = ?6, ended_at = NULL, end_cause = NULL, seq = ?7, told_seq = ?7, worktree = ?8, branch = ?9",
    ))?
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

/// Adds a session that took a seat, even if its client reports no start.
pub(super) fn seated(db: &Connection, at: &Recorded, body: &AgentSeated) -> Result<(), StoreError> {
    db.prepare_cached(&format!(
        "INSERT INTO session_states (session, agent, client, source, started_at, last_seen_at, started_seq, seq, seat) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?6, ?2) ON CONFLICT (session) DO UPDATE SET formerly = {FORMERLY}, \
         agent = ?2, seat = ?2, speaks_as = NULL, client = coalesce(client, ?3), ended_at = NULL, end_cause = NULL",
    ))?
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

/// Adds the child of a hand-over, even if its client reports no start.
pub(super) fn split_off(
    db: &Connection,
    at: &Recorded,
    agent: &AgentId,
    (parent, child): (&SessionId, &SessionId),
) -> Result<(), StoreError> {
    db.prepare_cached(&format!(
        "INSERT INTO session_states (session, agent, source, parent_session, started_at, last_seen_at, started_seq, \
         seq) VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?6) ON CONFLICT (session) DO UPDATE SET formerly = {FORMERLY}, \
         agent = ?2, seat = NULL, speaks_as = NULL, source = ?3, parent_session = ?4, last_seen_at = ?5, \
         ended_at = NULL, end_cause = NULL, seq = ?6 WHERE ended_at IS NOT NULL",
    ))?
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
    // A session that only fell silent keeps its intent.
    if body.cause == EndCause::Ended { plan::look_away(db, &body.session) } else { Ok(()) }
}

/// Adds a message. The dialogue keeps the last six, and the summary keeps the beginning of each older one.
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
    sum_up(db, session, |segments| {
        segments.push((seq, segment(&role, &text)));
        let too_many = segments.len().saturating_sub(SUMMARY_SEGMENTS);
        segments.drain(..too_many);
    })
}

/// Takes a message out of the dialogue and out of its summary.
pub(super) fn take_out(db: &Connection, session: &str, seq: u64) -> Result<(), StoreError> {
    db.prepare_cached("DELETE FROM turns WHERE session = ?1 AND seq = ?2")?
        .execute(params![session, bound(seq)])?;
    sum_up(db, session, |segments| segments.retain(|(of, _)| *of != seq))
}

/// Changes the summary of a session: the ledger position of each message, and its beginning.
fn sum_up(
    db: &Connection,
    session: &str,
    change: impl FnOnce(&mut Vec<(u64, String)>),
) -> Result<(), StoreError> {
    let summary: Option<String> = db
        .prepare_cached("SELECT summary FROM session_states WHERE session = ?1")?
        .query_row([session], only)
        .optional()?;
    // A session that never started has no row for a summary.
    let Some(summary) = summary else { return Ok(()) };
    let mut segments =
        serde_json::from_str(&summary).map_err(|error| StoreError::Malformed(error.to_string()))?;
    change(&mut segments);
    db.prepare_cached("UPDATE session_states SET summary = ?2 WHERE session = ?1")?
        .execute(params![session, Json(&segments)])?;
    Ok(())
}

/// The summary of a message: its author and its beginning, on one line.
fn segment(role: &str, text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{role}: {line}").chars().take(SUMMARY_SEGMENT_CHARS).collect()
}

pub(super) fn anchor(db: &Connection, at: &Recorded, body: &AnchorSaved) -> Result<(), StoreError> {
    db.prepare_cached(
        "UPDATE anchors SET superseded_by = ?2 WHERE key = ?1 AND user IS ?3 AND superseded_by IS NULL",
    )?
    .execute(params![body.key, at.seq, body.user])?;
    db.prepare_cached(
        "INSERT INTO anchors (key, seq, value, agent, session, saved_at, user) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![body.key, at.seq, body.value, at.agent, at.session, at.at, body.user])?;
    Ok(())
}

/// The history keeps the earlier values. Contexts no longer show the anchor.
pub(super) fn anchor_retired(db: &Connection, at: &Recorded, body: &AnchorRetired) -> Result<(), StoreError> {
    db.prepare_cached(
        "UPDATE anchors SET superseded_by = ?2 WHERE key = ?1 AND user IS ?3 AND superseded_by IS NULL",
    )?
    .execute(params![body.key, at.seq, body.user])?;
    Ok(())
}

pub(super) fn split(db: &Connection, at: &Recorded, body: &SessionSplit) -> Result<(), StoreError> {
    // A hand-over never changes, so the first row stays.
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
        "INSERT INTO firings (session, guard, seq, matched, agent, fired_at, kind, did) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        session,
        body.guard.uuid().to_string(),
        at.seq,
        body.matched,
        at.agent,
        at.at,
        body.kind.map(crate::domain::action::Kind::as_str),
        body.did
    ])?;
    Ok(())
}

pub(super) fn edited(db: &Connection, at: &Recorded, body: &FileEdited) -> Result<(), StoreError> {
    // A session does not work on files that it merged.
    if let Some(session) = at.session.as_ref().map(SessionId::as_str).filter(|_| body.merged.is_none()) {
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
    /// Id of the session.
    pub session: String,
    /// Short name, such as `S9`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The agent.
    pub agent: String,
    /// The client of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The cause of its last start.
    pub source: Source,
    /// The linked work tree in which it started. None for the main one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
    /// The branch on which it started. None outside git.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The researcher that was sent out in it. None for a session that a person or a client opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub researcher: Option<SentOut>,
    /// The session that it continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
    /// The reason of the hand-over from that session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it first started, epoch ms.
    pub started_at: i64,
    /// The time of its last event, epoch ms.
    pub last_seen_at: i64,
    /// When it ended, epoch ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<i64>,
    /// The cause of its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_cause: Option<EndCause>,
    /// Ledger position of its last prompt. 0 for none.
    pub prompt_seq: u64,
    /// Ledger position up to which it got news. 0 if it never got any.
    pub told_seq: u64,
    /// The summary of older messages, oldest first.
    pub summary: Vec<String>,
    /// Ledger positions of the messages in the summary.
    #[serde(skip)]
    pub summed: Vec<u64>,
    /// Whether its agent is a seat that its pane took.
    #[serde(skip)]
    pub is_seated: bool,
    /// Ledger position of its first start.
    pub started_seq: u64,
    /// Ledger position of its last start or end.
    pub seq: u64,
}

/// How a researcher was sent out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SentOut {
    /// Its profile.
    pub profile: String,
    /// Its run.
    pub run_id: RunId,
}

/// A message of a dialogue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TurnView {
    /// The author.
    pub role: Role,
    /// The text.
    pub text: String,
    /// When it was recorded, epoch ms.
    pub at: i64,
    /// Ledger position.
    pub seq: u64,
}

/// A fact that no compaction loses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AnchorView {
    /// The key.
    pub key: String,
    /// The fact.
    pub value: String,
    /// The agent that saved it.
    pub agent: String,
    /// When it was saved, epoch ms.
    pub saved_at: i64,
    /// Ledger position.
    pub seq: u64,
    /// The person in whose space it is. None: the space of the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

/// A hand-over from one session to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SplitView {
    /// The session that continues.
    pub child: String,
    /// The session that was split.
    pub parent: String,
    /// The reason.
    pub reason: String,
    /// The agent of the split.
    pub agent: String,
    /// Tokens that the parent had used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_tokens: Option<u64>,
    /// Size of the parent's context window, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_tokens: Option<u64>,
    /// The text of the hand-over.
    #[serde(skip_serializing)]
    pub turn0: String,
    /// The time of the split, epoch ms.
    pub at: i64,
    /// Ledger position.
    pub seq: u64,
}

/// The recorded beliefs of an agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BeliefSnapshot {
    /// Id of the event.
    pub id: EventId,
    /// The agent.
    pub agent: String,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The beliefs, the most confident first.
    pub beliefs: Vec<Belief>,
    /// When they were recorded, epoch ms.
    pub taken_at: i64,
    /// Ledger position.
    pub seq: u64,
}

pub(super) const SESSION: &str = "SELECT session, agent, client, source, parent_session, started_at, last_seen_at, ended_at, \
     end_cause, prompt_seq, told_seq, summary, started_seq, seq, worktree, branch, seat IS NOT NULL AS is_seated, \
     (SELECT reason FROM splits WHERE child = session) AS reason, \
     (SELECT profile FROM researchers WHERE child = session ORDER BY seq LIMIT 1) AS research_profile, \
     (SELECT run_id FROM researchers WHERE child = session ORDER BY seq LIMIT 1) AS research_run, \
     (SELECT letter || number FROM names WHERE names.id = session) AS name FROM session_states";
pub(super) const TURN: &str = "SELECT role, text, at, seq, session FROM turns";
pub(super) const ANCHOR: &str = "SELECT key, value, agent, saved_at, seq, user FROM anchors";
const SPLIT: &str =
    "SELECT child, parent, reason, agent, used_tokens, window_tokens, turn0, at, seq FROM splits";

pub(super) fn session(row: &Row<'_>) -> rusqlite::Result<SessionView> {
    let has_ended = row.get::<_, Option<i64>>("ended_at")?.is_some();
    let (summed, summary) = json::<Vec<(u64, String)>>(row, "summary")?.into_iter().unzip();
    let research: (Option<String>, Option<RunId>) = (row.get("research_profile")?, row.get("research_run")?);
    Ok(SessionView {
        session: row.get("session")?,
        researcher: research.0.zip(research.1).map(|(profile, run_id)| SentOut { profile, run_id }),
        name: row.get("name")?,
        agent: row.get("agent")?,
        client: row.get("client")?,
        is_seated: row.get("is_seated")?,
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
        summary,
        summed,
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

/// The most running sessions that are read. A team has some dozens.
pub(super) const MAX_LIVE: usize = 500;

impl Reader {
    /// The session with this id, if it started.
    pub fn session(&self, id: &str) -> Result<Option<SessionView>, StoreError> {
        let mut one = self.db.prepare_cached(&format!("{SESSION} WHERE session = ?1"))?;
        self.kept_one(one.query([id])?, session)
    }

    /// Running sessions, newest first. Each has the name that its pane used last.
    pub fn alive_sessions(&self, limit: usize) -> Result<Vec<SessionView>, StoreError> {
        let alive = SESSION.replacen("agent", "coalesce(speaks_as, agent) AS agent", 1);
        let mut found = self
            .db
            .prepare_cached(&format!("{alive} WHERE ended_at IS NULL ORDER BY started_seq DESC LIMIT ?1"))?;
        self.kept_of(found.query([bound(limit)])?, session)
    }

    /// The agents with a running session.
    pub fn live_agents(&self) -> Result<BTreeSet<String>, StoreError> {
        Ok(self.alive_sessions(MAX_LIVE)?.into_iter().map(|session| session.agent).collect())
    }

    /// A page of sessions before a position, newest first, and the cursor of the next page.
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

    /// The last messages of a session, oldest first. At most six.
    pub fn dialogue(&self, session: &str) -> Result<Vec<TurnView>, StoreError> {
        let mut found = self.db.prepare_cached(&format!("{TURN} WHERE session = ?1 ORDER BY seq"))?;
        self.kept_of(found.query([session])?, turn_view)
    }

    /// The values of the anchors: those in the reader's own space first, then those of the project, each the newest
    /// first.
    pub fn anchors(&self, limit: usize) -> Result<Vec<AnchorView>, StoreError> {
        let held = format!("{ANCHOR} WHERE user IS ?1 AND superseded_by IS NULL ORDER BY seq DESC LIMIT ?2");
        let mut found = self.db.prepare_cached(&held)?;
        let mut of = |user: Option<&UserName>, limit: usize| {
            self.kept_of(found.query(params![user, bound(limit)])?, anchor_view)
        };
        let mut anchors = if self.user.is_some() { of(self.user.as_ref(), limit)? } else { Vec::new() };
        anchors.extend(of(None, limit.saturating_sub(anchors.len()))?);
        Ok(anchors)
    }

    /// All values that an anchor has had in the project's space and in the reader's own, the newest first.
    pub fn anchor_history(&self, key: &str) -> Result<Vec<AnchorView>, StoreError> {
        let mut found = self.db.prepare_cached(&format!(
            "{ANCHOR} WHERE key = ?1 AND (user IS NULL OR user = ?2) ORDER BY seq DESC"
        ))?;
        self.kept_of(found.query(params![key, self.user])?, anchor_view)
    }

    /// The hand-over with which a session started.
    pub fn split_into(&self, child: &str) -> Result<Option<SplitView>, StoreError> {
        let mut one = self.db.prepare_cached(&format!("{SPLIT} WHERE child = ?1"))?;
        self.kept_one(one.query([child])?, split_view)
    }

    /// The hand-overs of a session to others, oldest first.
    pub fn splits_of(&self, parent: &str) -> Result<Vec<SplitView>, StoreError> {
        let mut found = self.db.prepare_cached(&format!("{SPLIT} WHERE parent = ?1 ORDER BY seq"))?;
        self.kept_of(found.query([parent])?, split_view)
    }

    /// The last recorded beliefs of an agent. If `session` is given, those of that session.
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

    /// Whether the session got a warning about a dead end or a lease, or a reminder of a task, after a ledger position.
    pub fn has_fired(&self, session: &str, guard: &str, since: u64) -> Result<bool, StoreError> {
        let mut one = self.db.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM firings WHERE session = ?1 AND guard = ?2 AND seq > ?3)",
        )?;
        Ok(one.query_row(params![session, guard, bound(since)], only)?)
    }

    /// Whether a receipt or a hook ever showed the claim to the reader.
    pub fn was_told(&self, me: Myself<'_>, claim: ClaimId) -> Result<bool, StoreError> {
        let mut one = self.db.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM firings WHERE session = ?1 AND guard = ?2 AND agent = ?3)",
        )?;
        Ok(one.query_row(params![me.session, claim, me.agent], only)?)
    }

    /// Ledger position of the last edit of a file by a session.
    pub fn touched_at(&self, session: &str, path: &Scope) -> Result<Option<u64>, StoreError> {
        let mut touched =
            self.db.prepare_cached("SELECT seq FROM session_files WHERE session = ?1 AND path = ?2")?;
        Ok(touched.query_row(params![session, path], only).optional()?)
    }

    /// Files that a session touched, the last one first. At most 200, which is enough to know its place of work.
    pub fn files_of(&self, session: &str) -> Result<Vec<String>, StoreError> {
        Ok(self.edits_of(session)?.into_iter().map(|(path, _)| path).collect())
    }

    /// [`Reader::files_of`], each with the ledger position of its last edit.
    pub(super) fn edits_of(&self, session: &str) -> Result<Vec<(String, u64)>, StoreError> {
        let mut found = self.db.prepare_cached(
            "SELECT path, seq FROM session_files WHERE session = ?1 ORDER BY seq DESC, path LIMIT 200",
        )?;
        self.kept_of(found.query([session])?, |row| {
            Ok::<_, rusqlite::Error>((row.get("path")?, row.get("seq")?))
        })
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
        user: row.get("user")?,
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
