//! Playbooks and reflections: what the miners proposed, and what they read.

use std::collections::{BTreeSet, HashMap};

use rusqlite::{Connection, Row, params};
use serde::Serialize;

use super::observations::ObservedKind;
use super::rows::{Json, bound, json};
use super::{Observation, Reader, StoreError};
use crate::domain::event::{
    ErrorCounted, ErrorReflected, PlaybookAccepted, PlaybookDismissed, PlaybookFollowed, PlaybookProposed,
    Recorded,
};
use crate::domain::ids::{ClaimId, PlaybookId, TaskId};
use crate::domain::plan::TaskStatus;
use crate::domain::playbook::{Step, Tried, hidden, slug};
use crate::domain::reflection::{Cause, Counts};
use crate::domain::time::Timestamp;

/// The most observations of one task that a miner reads.
const MAX_OF_TASK: usize = 1_000;

pub(super) fn proposed(db: &Connection, at: &Recorded, body: &PlaybookProposed) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT OR REPLACE INTO playbooks (id, title, status, steps, evidence, tasks, of_tasks, sessions, days, \
         proposed_at, changed_at, used_at, created_seq, seq) \
         VALUES (?1, ?2, 'proposed', ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, ?9, ?10, ?10)",
    )?
    .execute(params![
        body.playbook_id,
        slug(&body.steps),
        Json(&body.steps),
        Json(&body.evidence),
        Json(&body.tasks),
        bound(body.of),
        bound(body.sessions),
        bound(body.days),
        at.at,
        bound(at.seq)
    ])?;
    Ok(())
}

pub(super) fn accepted(db: &Connection, at: &Recorded, body: &PlaybookAccepted) -> Result<(), StoreError> {
    settle(db, at, body.playbook_id, ("accepted", None))
}

pub(super) fn dismissed(db: &Connection, at: &Recorded, body: &PlaybookDismissed) -> Result<(), StoreError> {
    settle(db, at, body.playbook_id, ("dismissed", Some(body.reason.as_str())))
}

fn settle(
    db: &Connection,
    at: &Recorded,
    id: PlaybookId,
    (status, reason): (&str, Option<&str>),
) -> Result<(), StoreError> {
    db.prepare_cached(
        "UPDATE playbooks SET status = ?2, reason = ?3, settled_by = ?4, changed_at = ?5, used_at = ?5, seq = ?6 \
         WHERE id = ?1",
    )?
    .execute(params![id, status, reason, at.agent, at.at, bound(at.seq)])?;
    Ok(())
}

pub(super) fn followed(db: &Connection, at: &Recorded, body: &PlaybookFollowed) -> Result<(), StoreError> {
    db.prepare_cached(
        "UPDATE playbooks SET helpful = helpful + ?2, harmful = harmful + ?3, used_at = ?4, seq = ?5 WHERE id = ?1",
    )?
    .execute(params![body.playbook_id, body.helpful, !body.helpful, at.at, bound(at.seq)])?;
    Ok(())
}

pub(super) fn reflected(db: &Connection, at: &Recorded, body: &ErrorReflected) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT OR REPLACE INTO reflections (error, structural, environmental, evidence, changed_at, seq) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![
        body.error.as_str(),
        body.structural,
        body.environmental,
        Json(&body.evidence),
        at.at,
        bound(at.seq)
    ])?;
    Ok(())
}

pub(super) fn counted(db: &Connection, at: &Recorded, body: &ErrorCounted) -> Result<(), StoreError> {
    let (error, counts) = (body.error.as_str(), body.counts);
    db.prepare_cached(
        "UPDATE reflections SET failures = ?2, passes = ?3, passes_after_edit = ?4, changed_at = ?5, seq = ?6 \
         WHERE error = ?1",
    )?
    .execute(params![
        error,
        bound(counts.failures),
        bound(counts.passes),
        bound(counts.passes_after_edit),
        at.at,
        bound(at.seq)
    ])?;
    for (cause, column) in [(Cause::Structural, "structural"), (Cause::Environmental, "environmental")] {
        db.prepare_cached(&format!(
            "UPDATE claims SET confidence = ?2, seq = ?3 \
             WHERE id = (SELECT {column} FROM reflections WHERE error = ?1)"
        ))?
        .execute(params![error, counts.confidence(cause), bound(at.seq)])?;
    }
    Ok(())
}

/// A playbook.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlaybookView {
    /// Id of the playbook.
    pub id: PlaybookId,
    /// Short name, such as `B2`.
    pub name: String,
    /// Its short name in words.
    pub title: String,
    /// `proposed`, `accepted` or `dismissed`.
    pub status: String,
    /// The steps.
    pub steps: Vec<Step>,
    /// Ledger positions of events with the steps.
    pub evidence: Vec<u64>,
    /// The tasks that ended well with the steps.
    pub tasks: Vec<TaskId>,
    /// The number of tasks with the steps, whatever their end.
    pub of: u64,
    /// The number of sessions of these tasks.
    pub sessions: u64,
    /// The number of days on which they ended.
    pub days: u64,
    /// The agent that accepted or dismissed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled_by: Option<String>,
    /// The reason of its dismissal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Later tasks that followed it and were done.
    pub helpful: u64,
    /// Later tasks that followed it and were given up.
    pub harmful: u64,
    /// When it was proposed, epoch ms.
    pub proposed_at: i64,
    /// When it was proposed, accepted or dismissed, epoch ms.
    pub changed_at: i64,
    /// Why no agent is shown it, although it was accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<&'static str>,
    /// Ledger position of the proposal.
    pub created_seq: u64,
    #[serde(skip)]
    used_at: i64,
}

impl PlaybookView {
    /// Whether agents are shown it.
    pub fn is_in_use(&self) -> bool {
        self.status == "accepted" && self.hidden.is_none()
    }

    fn hidden_at(&self, now: Timestamp) -> Option<&'static str> {
        hidden(self.helpful, self.harmful, now.ms() - self.used_at)
    }
}

const PLAYBOOK: &str = "SELECT id, title, status, steps, evidence, tasks, of_tasks, sessions, days, settled_by, reason, \
     helpful, harmful, proposed_at, changed_at, used_at, created_seq, \
     coalesce((SELECT letter || number FROM names WHERE names.id = playbooks.id), playbooks.id) AS name FROM playbooks";

fn playbook(row: &Row<'_>) -> rusqlite::Result<PlaybookView> {
    Ok(PlaybookView {
        id: row.get("id")?,
        name: row.get("name")?,
        title: row.get("title")?,
        status: row.get("status")?,
        steps: json(row, "steps")?,
        evidence: json(row, "evidence")?,
        tasks: json(row, "tasks")?,
        of: row.get("of_tasks")?,
        sessions: row.get("sessions")?,
        days: row.get("days")?,
        settled_by: row.get("settled_by")?,
        reason: row.get("reason")?,
        helpful: row.get("helpful")?,
        harmful: row.get("harmful")?,
        proposed_at: row.get("proposed_at")?,
        changed_at: row.get("changed_at")?,
        hidden: None,
        created_seq: row.get("created_seq")?,
        used_at: row.get("used_at")?,
    })
}

/// Two hypotheses about an error.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReflectionView {
    /// The error signature.
    pub error: String,
    /// The claim that the code is the cause.
    pub structural: ClaimId,
    /// The claim that the environment is the cause.
    pub environmental: ClaimId,
    /// Ledger positions of the first failures.
    pub evidence: Vec<u64>,
    /// The later events.
    #[serde(flatten)]
    pub counts: Counts,
    /// When it last changed, epoch ms.
    pub changed_at: i64,
    /// Ledger position of its last change.
    pub seq: u64,
}

/// A task that ended, for the miners.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedTask {
    /// Id of the task.
    pub id: TaskId,
    /// Whether it was done.
    pub is_done: bool,
    /// When it ended, epoch ms.
    pub ended_at: i64,
    /// Ledger position of its end.
    pub seq: u64,
}

impl Reader {
    /// All playbooks, the oldest first. `hidden` is as of `now`.
    pub fn playbooks(&self, now: Timestamp) -> Result<Vec<PlaybookView>, StoreError> {
        let mut found =
            self.db.prepare_cached(&format!("{PLAYBOOK} WHERE created_seq > 0 ORDER BY created_seq"))?;
        let mut all = self.kept_of(found.query([])?, playbook)?;
        all.iter_mut().for_each(|one| one.hidden = one.hidden_at(now));
        Ok(all)
    }

    /// The playbook with this id.
    pub fn playbook(&self, id: PlaybookId, now: Timestamp) -> Result<Option<PlaybookView>, StoreError> {
        let mut one = self.db.prepare_cached(&format!("{PLAYBOOK} WHERE id = ?1"))?;
        let found = self.kept_one(one.query([id])?, playbook)?;
        Ok(found.map(|one| PlaybookView { hidden: one.hidden_at(now), ..one }))
    }

    /// The reflections, the last changed first, at most `limit`.
    pub fn reflections(&self, limit: usize) -> Result<Vec<ReflectionView>, StoreError> {
        let mut found = self.db.prepare_cached(
            "SELECT error, structural, environmental, evidence, failures, passes, passes_after_edit, changed_at, seq \
             FROM reflections WHERE seq > 0 ORDER BY seq DESC LIMIT ?1",
        )?;
        self.kept_of(found.query([bound(limit)])?, |row| {
            let counts = Counts {
                failures: row.get("failures")?,
                passes: row.get("passes")?,
                passes_after_edit: row.get("passes_after_edit")?,
            };
            Ok::<_, rusqlite::Error>(ReflectionView {
                error: row.get("error")?,
                structural: row.get("structural")?,
                environmental: row.get("environmental")?,
                evidence: json(row, "evidence")?,
                counts,
                changed_at: row.get("changed_at")?,
                seq: row.get("seq")?,
            })
        })
    }

    /// The ledger positions of the failures behind a hypothesis of reflection. Empty for any other claim.
    pub fn failures_behind(&self, claim: ClaimId) -> Result<Vec<u64>, StoreError> {
        let mut behind = self.db.prepare_cached(
            "SELECT evidence FROM reflections WHERE seq > 0 AND (structural = ?1 OR environmental = ?1)",
        )?;
        Ok(self
            .kept_one(behind.query([claim])?, |row| json::<Vec<u64>>(row, "evidence"))?
            .unwrap_or_default())
    }

    /// The tasks that are over, in the order of their creation.
    pub fn ended_tasks(&self) -> Result<Vec<EndedTask>, StoreError> {
        let mut ended = Vec::new();
        for status in [TaskStatus::Done, TaskStatus::Invalidated] {
            let mut found = self.db.prepare_cached(
                "SELECT id, touched_at, seq FROM tasks WHERE status = ?1 ORDER BY created_seq",
            )?;
            ended.extend(self.kept_of(found.query([status])?, |row| {
                Ok::<_, rusqlite::Error>(EndedTask {
                    id: row.get("id")?,
                    is_done: status == TaskStatus::Done,
                    ended_at: row.get("touched_at")?,
                    seq: row.get("seq")?,
                })
            })?);
        }
        ended.sort_by_key(|task| task.seq);
        Ok(ended)
    }

    /// What was done for a task. `parsed` is for all tasks of one pass.
    pub fn tried(&self, task: &EndedTask, parsed: &mut ParsedSteps) -> Result<Tried, StoreError> {
        let seen = self.observations_of(task.id, MAX_OF_TASK)?;
        let sessions: BTreeSet<String> = seen.iter().filter_map(|one| one.session.clone()).collect();
        let mut steps: Vec<(Step, u64)> = Vec::new();
        for one in seen.iter().filter(|one| !one.failed) {
            for step in parsed.of(one) {
                // The same step again is one step.
                if steps.last().is_none_or(|(last, _)| *last != step) {
                    steps.push((step, one.seq));
                }
            }
        }
        Ok(Tried {
            task: task.id,
            sessions,
            ended_at: task.ended_at,
            ended_seq: task.seq,
            is_done: task.is_done,
            steps,
        })
    }
}

/// The steps of the actions that a pass has read. A team repeats its commands, and parsing one costs more than reading it.
#[derive(Debug, Default)]
pub struct ParsedSteps {
    commands: HashMap<String, Option<Step>>,
    edits: HashMap<String, Option<Step>>,
}

impl ParsedSteps {
    fn of(&mut self, seen: &Observation) -> Vec<Step> {
        let (known, parse): (_, fn(&str) -> Option<Step>) = match seen.kind {
            ObservedKind::Command => (&mut self.commands, Step::run),
            ObservedKind::Edit => (&mut self.edits, Step::edit),
            ObservedKind::Tool => return Vec::new(),
        };
        let mut steps = Vec::with_capacity(seen.action.len());
        for action in &seen.action {
            let step = match known.get(action) {
                Some(step) => step.clone(),
                None => known.entry(action.clone()).or_insert_with(|| parse(action)).clone(),
            };
            steps.extend(step);
        }
        steps.dedup();
        steps
    }
}
