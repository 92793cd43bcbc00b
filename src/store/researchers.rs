//! Researchers: what a fold writes of them, and how each is doing, with what it found.

use rusqlite::{Connection, Row, params};
use serde::Serialize;

use super::{ClaimFilter, Reader, StoreError, sessions};
use crate::domain::event::{Recorded, ResearcherSpawned};
use crate::domain::experiment::RunState;
use crate::domain::ids::{ClaimId, RunId, TaskId};
use crate::domain::plan::TaskStatus;

/// The most findings that are counted and listed of each researcher; more are read with `claims?task=`.
const MAX_FINDINGS: usize = 100;

pub(super) fn spawned(db: &Connection, at: &Recorded, body: &ResearcherSpawned) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO researchers (run_id, child, parent, task_id, prompt, profile, agent, spawned_by, spawned_at, seq) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?
    .execute(params![
        body.run_id,
        body.child,
        body.parent,
        body.task_id,
        body.prompt,
        body.profile,
        body.agent,
        at.agent,
        at.at,
        at.seq
    ])?;
    sessions::split_off(db, at, &body.agent, (&body.parent, &body.child))
}

/// An agent that was sent out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResearcherView {
    /// The run it lives in.
    pub run_id: RunId,
    /// Its session.
    pub session: String,
    /// The session that sent it out.
    pub parent: String,
    /// The task its findings come out of.
    pub task_id: TaskId,
    /// What it is asked.
    pub prompt: String,
    /// The agent's profile.
    pub profile: String,
    /// Whom it speaks as.
    pub agent: String,
    /// Who sent it out.
    pub spawned_by: String,
    /// Where its run is; none where what queued it was erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<RunState>,
    /// Where its task is; none where what added it was erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_status: Option<TaskStatus>,
    /// What was last said about its task, such as why the run failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The claims that came out of its task, newest first; at most 100.
    pub findings: Vec<Finding>,
    /// Whether there are more of them.
    pub has_more: bool,
    /// When it was sent out, epoch ms.
    pub spawned_at: i64,
    /// Where in the ledger.
    pub seq: u64,
}

/// A claim that a researcher made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The claim.
    pub claim_id: ClaimId,
    /// What kind of statement it is.
    pub claim_type: String,
    /// Where it is.
    pub status: String,
    /// What it says.
    pub statement: String,
}

pub(super) const RESEARCHER: &str = "SELECT r.run_id, r.child, r.parent, r.task_id, r.prompt, r.profile, r.agent, r.spawned_by, \
     r.spawned_at, r.seq, e.status AS run_status, t.status AS task_status, t.note FROM researchers r \
     LEFT JOIN experiments e ON e.id = r.run_id LEFT JOIN tasks t ON t.id = r.task_id";

pub(super) fn researcher(row: &Row<'_>) -> rusqlite::Result<ResearcherView> {
    Ok(ResearcherView {
        run_id: row.get("run_id")?,
        session: row.get("child")?,
        parent: row.get("parent")?,
        task_id: row.get("task_id")?,
        prompt: row.get("prompt")?,
        profile: row.get("profile")?,
        agent: row.get("agent")?,
        spawned_by: row.get("spawned_by")?,
        status: row.get("run_status")?,
        task_status: row.get("task_status")?,
        note: row.get("note")?,
        findings: Vec::new(),
        has_more: false,
        spawned_at: row.get("spawned_at")?,
        seq: row.get("seq")?,
    })
}

impl Reader {
    /// The researcher that a session is, and those it sent out, oldest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn researchers_of(&self, session: &str) -> Result<Vec<ResearcherView>, StoreError> {
        let mut found = Vec::new();
        for of_session in ["r.child = ?1", "r.parent = ?1"] {
            let mut rows =
                self.db.prepare_cached(&format!("{RESEARCHER} WHERE {of_session} ORDER BY r.seq"))?;
            for researcher in self.kept_of(rows.query([session])?, researcher)? {
                found.push(self.with_findings(researcher)?);
            }
        }
        Ok(found)
    }

    fn with_findings(&self, researcher: ResearcherView) -> Result<ResearcherView, StoreError> {
        let task = Some(researcher.task_id);
        let page = self.claims(&ClaimFilter { task, limit: MAX_FINDINGS, ..ClaimFilter::default() })?;
        let findings = page.claims.into_iter().map(|claim| Finding {
            status: claim.standing(),
            claim_id: claim.id,
            claim_type: claim.claim_type.to_string(),
            statement: claim.statement,
        });
        Ok(ResearcherView { findings: findings.collect(), has_more: page.next.is_some(), ..researcher })
    }
}
