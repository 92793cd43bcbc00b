//! Researchers: their projection, their state and their findings.

use rusqlite::{Connection, Row, params};
use serde::Serialize;

use super::{ClaimFilter, Reader, StoreError, sessions};
use crate::domain::event::{Recorded, ResearcherSpawned};
use crate::domain::experiment::RunState;
use crate::domain::ids::{ClaimId, RunId, TaskId};
use crate::domain::plan::TaskStatus;

/// The most findings of a researcher that are counted and listed. `claims?task=` lists the others.
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

/// A researcher.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResearcherView {
    /// The run of the researcher.
    pub run_id: RunId,
    /// The session of the researcher.
    pub session: String,
    /// The session that started it.
    pub parent: String,
    /// The task of its findings.
    pub task_id: TaskId,
    /// Its question.
    pub prompt: String,
    /// The profile of the researcher.
    pub profile: String,
    /// The agent that it speaks as.
    pub agent: String,
    /// The agent that started it.
    pub spawned_by: String,
    /// The state of its run. None if the request of the run was erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<RunState>,
    /// The status of its task. None if the creation of the task was erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_status: Option<TaskStatus>,
    /// The last note on its task, such as the reason of a failed run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The claims of its task, newest first. At most 100.
    pub findings: Vec<Finding>,
    /// Whether it has more findings.
    pub has_more: bool,
    /// When it was started, epoch ms.
    pub spawned_at: i64,
    /// Ledger position.
    pub seq: u64,
}

/// A claim of a researcher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The claim.
    pub claim_id: ClaimId,
    /// The type.
    pub claim_type: String,
    /// The status.
    pub status: String,
    /// The statement.
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
    /// The researcher of a session, and the researchers that the session started, oldest first.
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
