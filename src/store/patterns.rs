//! Patterns in the work of the team: their projection and their queries.

use rusqlite::{Connection, Row, params};
use serde::Serialize;

use super::rows::{Json, bound, json};
use super::{Reader, StoreError};
use crate::domain::event::{PatternClosed, PatternDismissed, PatternOpened, Recorded};
use crate::domain::ids::PatternId;
use crate::domain::pattern::{PatternEnd, PatternKind, Repeats};

/// The most open patterns that an action is compared with.
const MAX_OPEN: usize = 200;

pub(super) const PATTERN: &str = "SELECT p.id, 'L' || n.number AS name, p.kind, p.about, p.episode, p.sessions, p.agents, \
     p.task_id, t.title AS task_title, 'T' || tn.number AS task, p.scopes, p.rests_on, p.repeats, p.opened_at, \
     p.task_id IS NOT NULL AND t.holder IS NULL AS task_is_free, \
     p.opened_seq, p.closed_at, p.why, p.dismissed_by, p.reason \
     FROM patterns p LEFT JOIN names n ON n.id = p.id LEFT JOIN tasks t ON t.id = p.task_id \
     LEFT JOIN names tn ON tn.id = p.task_id";

pub(super) fn opened(db: &Connection, at: &Recorded, body: &PatternOpened) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO patterns (id, kind, about, episode, sessions, agents, task_id, scopes, rests_on, repeats, \
         opened_at, opened_seq, seq) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12)",
    )?
    .execute(params![
        body.pattern_id,
        body.kind,
        body.about,
        body.episode,
        Json(&body.sessions),
        Json(&body.agents),
        body.task,
        Json(&body.scopes),
        Json(&body.rests_on),
        Json(&body.repeats),
        at.at,
        at.seq
    ])?;
    Ok(())
}

pub(super) fn closed(db: &Connection, at: &Recorded, body: &PatternClosed) -> Result<(), StoreError> {
    db.prepare_cached(
        "UPDATE patterns SET closed_at = ?2, why = ?3, seq = ?4 WHERE id = ?1 AND closed_at IS NULL",
    )?
    .execute(params![body.pattern_id, at.at, body.why, at.seq])?;
    Ok(())
}

pub(super) fn dismissed(db: &Connection, at: &Recorded, body: &PatternDismissed) -> Result<(), StoreError> {
    db.prepare_cached(
        "UPDATE patterns SET closed_at = ?2, dismissed_by = ?3, reason = ?4, seq = ?5 \
         WHERE id = ?1 AND closed_at IS NULL",
    )?
    .execute(params![body.pattern_id, at.at, at.agent, body.reason, at.seq])?;
    Ok(())
}

/// A pattern as its readers see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PatternView {
    /// The pattern.
    pub id: PatternId,
    /// The short name.
    pub name: Option<String>,
    /// The kind.
    pub kind: PatternKind,
    /// The subject.
    pub about: String,
    /// The number of the episode of this subject.
    pub episode: u32,
    /// The sessions.
    pub sessions: Vec<String>,
    /// The agents.
    pub agents: Vec<String>,
    /// The short name of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The title of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_title: Option<String>,
    /// Whether no session holds the task now.
    #[serde(skip)]
    pub task_is_free: bool,
    /// The scopes.
    pub scopes: Vec<String>,
    /// Ledger positions of the events that show the pattern.
    pub rests_on: Vec<u64>,
    /// What repeats.
    pub repeats: Repeats,
    /// When it opened, epoch ms.
    pub opened_at: i64,
    /// The position of its opening in the ledger.
    pub opened_seq: u64,
    /// When it ended, epoch ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<i64>,
    /// Why it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<PatternEnd>,
    /// The agent that dismissed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dismissed_by: Option<String>,
    /// The reason of the dismissal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl PatternView {
    fn from_row(row: &Row<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.get("id")?,
            name: row.get("name")?,
            kind: row.get("kind")?,
            about: row.get("about")?,
            episode: row.get("episode")?,
            sessions: json(row, "sessions")?,
            agents: json(row, "agents")?,
            task: row.get("task")?,
            task_title: row.get("task_title")?,
            task_is_free: row.get("task_is_free")?,
            scopes: json(row, "scopes")?,
            rests_on: json(row, "rests_on")?,
            repeats: json(row, "repeats")?,
            opened_at: row.get("opened_at")?,
            opened_seq: row.get("opened_seq")?,
            closed_at: row.get("closed_at")?,
            why: row.get("why")?,
            dismissed_by: row.get("dismissed_by")?,
            reason: row.get("reason")?,
        })
    }

    /// The short name, or the id of a pattern without one.
    pub fn called(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.id.to_string())
    }
}

impl Reader {
    /// The open patterns, the oldest first.
    pub fn open_patterns(&self, limit: usize) -> Result<Vec<PatternView>, StoreError> {
        let sql = format!(
            "{PATTERN} WHERE p.closed_at IS NULL AND p.opened_seq > 0 ORDER BY p.opened_seq LIMIT ?1"
        );
        let mut open = self.db.prepare_cached(&sql)?;
        self.kept_of(open.query([bound(limit)])?, PatternView::from_row)
    }

    /// The kinds of the patterns that are open in a session: they name it, or no session and its agent.
    pub fn open_kinds(&self, agent: &str, session: &str) -> Result<Vec<PatternKind>, StoreError> {
        let is_of = |names: &[String], name: &str| names.iter().any(|own| own == name);
        let open = self.open_patterns(MAX_OPEN)?.into_iter();
        let here = open.filter(|found| match found.sessions.as_slice() {
            [] => is_of(&found.agents, agent),
            sessions => is_of(sessions, session),
        });
        Ok(here.map(|found| found.kind).collect())
    }

    /// Patterns, open or over, the newest first, older than a ledger position.
    pub fn patterns(&self, before: Option<u64>, limit: usize) -> Result<Vec<PatternView>, StoreError> {
        let sql = format!("{PATTERN} WHERE p.opened_seq < ?1 ORDER BY p.opened_seq DESC LIMIT ?2");
        let mut all = self.db.prepare_cached(&sql)?;
        let before = before.and_then(|seq| i64::try_from(seq).ok()).unwrap_or(i64::MAX);
        self.kept_of(all.query(params![before, bound(limit)])?, PatternView::from_row)
    }

    /// One pattern.
    pub fn pattern(&self, id: PatternId) -> Result<Option<PatternView>, StoreError> {
        let sql = format!("{PATTERN} WHERE p.id = ?1");
        let mut one = self.db.prepare_cached(&sql)?;
        Ok(self.kept_of(one.query([id])?, PatternView::from_row)?.pop())
    }
}
