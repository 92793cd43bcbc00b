//! Plans and phases: their projection and their queries.

use rusqlite::{Connection, Row, params};
use serde::Serialize;
use uuid::Uuid;

use super::rows::{Json, bound, json, only};
use super::{LockView, Reader, StoreError, TaskView};
use crate::domain::event::{IntentDeclared, PhaseAdded, PlanAbandoned, PlanAdded, PlanRenamed, Recorded};
use crate::domain::ids::{PhaseId, PlanId, SessionId, TaskId};
use crate::domain::plan::{TaskStatus, current_phase};

/// The session of the row that holds the team's intent. Sessions without an intent of their own use it.
const TEAM: &str = "";

pub(super) fn plan_added(db: &Connection, at: &Recorded, body: &PlanAdded) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO plans (id, title, sot_path, added_by, created_at, seq, description) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![
        body.plan_id,
        body.title,
        body.sot_path,
        at.agent,
        at.at,
        at.seq,
        body.description
    ])?;
    Ok(())
}

pub(super) fn plan_abandoned(db: &Connection, at: &Recorded, body: &PlanAbandoned) -> Result<(), StoreError> {
    db.prepare_cached("UPDATE plans SET abandoned_at = ?2, abandoned_for = ?3, seq = ?4 WHERE id = ?1")?
        .execute(params![body.plan_id, at.at, body.reason, at.seq])?;
    Ok(())
}

pub(super) fn plan_renamed(db: &Connection, at: &Recorded, body: &PlanRenamed) -> Result<(), StoreError> {
    db.prepare_cached("UPDATE plans SET title = ?2, seq = ?3 WHERE id = ?1")?.execute(params![
        body.plan_id,
        body.title,
        at.seq
    ])?;
    Ok(())
}

pub(super) fn phase_added(db: &Connection, at: &Recorded, body: &PhaseAdded) -> Result<(), StoreError> {
    db.prepare_cached("INSERT INTO phases (id, plan_id, title, place, seq) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![body.phase_id, body.plan_id, body.title, body.order, at.seq])?;
    Ok(())
}

pub(super) fn intent_declared(
    db: &Connection,
    at: &Recorded,
    body: &IntentDeclared,
) -> Result<(), StoreError> {
    let looking = &body.trajectory;
    let mut moved = db.prepare_cached(
        "INSERT OR REPLACE INTO trajectories (session, intent, plan_id, phase_id, task_ids, agent, shifted_at, seq) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    let own = at.session.as_ref().map(SessionId::as_str);
    let team = (!body.own).then_some(TEAM);
    for session in team.into_iter().chain(own) {
        moved.execute(params![
            session,
            looking.intent,
            looking.plan_id,
            looking.phase_id,
            Json(&looking.task_ids),
            at.agent,
            at.at,
            at.seq
        ])?;
    }
    // An intent without a session replaces the intent of every session.
    if own.is_none() {
        db.prepare_cached(
            "UPDATE trajectories SET (intent, plan_id, phase_id, task_ids, agent, shifted_at, seq) = \
             (SELECT intent, plan_id, phase_id, task_ids, agent, shifted_at, seq FROM trajectories WHERE session = ?1) \
             WHERE session > ?1",
        )?
        .execute([TEAM])?;
    }
    Ok(())
}

/// The child of a split starts with the intent of its parent.
pub(super) fn hand_over(db: &Connection, parent: &SessionId, child: &SessionId) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT OR REPLACE INTO trajectories (session, intent, plan_id, phase_id, task_ids, agent, shifted_at, seq) \
         SELECT ?2, intent, plan_id, phase_id, task_ids, agent, shifted_at, seq FROM trajectories WHERE session = ?1",
    )?
    .execute(params![parent, child])?;
    Ok(())
}

/// Removes the intent of an ended session.
pub(super) fn look_away(db: &Connection, session: &SessionId) -> Result<(), StoreError> {
    db.prepare_cached("DELETE FROM trajectories WHERE session = ?1")?.execute([session])?;
    Ok(())
}

/// A phase with its tasks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseView {
    /// Id of the phase. None for the inbox, which holds the tasks without a phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<PhaseId>,
    /// Short name, such as `P2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The title.
    pub title: String,
    /// `open`, `active` or `done`, derived from its tasks.
    pub status: &'static str,
    /// The tasks, oldest first.
    pub tasks: Vec<TaskView>,
}

/// A plan with its phases.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanView {
    /// Id of the plan.
    pub id: PlanId,
    /// Short name, such as `P1`.
    pub name: String,
    /// The title.
    pub title: String,
    /// Details beyond the title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `draft`, `active` or `done`, derived from its tasks, or `abandoned`.
    pub status: &'static str,
    /// The reason of its abandonment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub abandoned_for: Option<String>,
    /// The file that holds the plan itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sot_path: Option<String>,
    /// The phases, in their order.
    pub phases: Vec<PhaseView>,
}

/// The intent of the team or of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrajectoryView {
    /// The text of the intent.
    pub intent: String,
    /// The plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<PlanId>,
    /// The phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase_id: Option<PhaseId>,
    /// The tasks.
    pub task_ids: Vec<TaskId>,
    /// The agent that declared it.
    pub agent: String,
    /// When it was declared, epoch ms.
    pub shifted_at: i64,
    /// Ledger position.
    pub seq: u64,
}

/// All plans with their phases and tasks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanGraph {
    /// The current intent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trajectory: Option<TrajectoryView>,
    /// The plans, newest first.
    pub plans: Vec<PlanView>,
    /// Tasks without a phase.
    pub inbox: PhaseView,
    /// The locked scopes, those of tasks included.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<LockView>,
}

/// The titles of a task's plan and phase.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Titles {
    /// The title of the plan.
    pub plan: Option<String>,
    /// The title of the phase.
    pub phase: Option<String>,
}

fn status_of(tasks: &[TaskView], open: &'static str) -> &'static str {
    if tasks.iter().any(|task| matches!(task.status, TaskStatus::Active | TaskStatus::Blocked)) {
        "active"
    } else if !tasks.is_empty() && tasks.iter().all(|task| task.status.is_over()) {
        "done"
    } else if tasks.iter().any(|task| task.status.is_over()) {
        "active"
    } else {
        open
    }
}

const PLAN: &str = "SELECT id, title, sot_path, description, abandoned_for FROM plans";

/// A plan without its name and its phases.
fn plan_row(row: &Row<'_>) -> rusqlite::Result<PlanView> {
    Ok(PlanView {
        id: row.get("id")?,
        name: String::new(),
        title: row.get("title")?,
        description: row.get("description")?,
        status: "draft",
        abandoned_for: row.get("abandoned_for")?,
        sot_path: row.get("sot_path")?,
        phases: Vec::new(),
    })
}

impl Reader {
    /// The intent of a session: the last one set by the session or for the whole team.
    pub fn trajectory(&self, session: Option<&str>) -> Result<Option<TrajectoryView>, StoreError> {
        let mut at = self.db.prepare_cached(
            "SELECT intent, plan_id, phase_id, task_ids, agent, shifted_at, seq FROM trajectories WHERE session = ?1",
        )?;
        for session in session.into_iter().chain([TEAM]) {
            let found = self.kept_one(at.query([session])?, |row| {
                Ok::<_, rusqlite::Error>(TrajectoryView {
                    intent: row.get("intent")?,
                    plan_id: row.get("plan_id")?,
                    phase_id: row.get("phase_id")?,
                    task_ids: json(row, "task_ids")?,
                    agent: row.get("agent")?,
                    shifted_at: row.get("shifted_at")?,
                    seq: row.get("seq")?,
                })
            })?;
            if let Some(mut looking) = found {
                if let Some(phase) = looking.phase_id.take() {
                    looking.phase_id = Some(self.current_phase(phase)?);
                }
                return Ok(Some(looking));
            }
        }
        Ok(None)
    }

    /// The phase in which work continues: this one, or the next of its plan if all of its tasks are over.
    fn current_phase(&self, from: PhaseId) -> Result<PhaseId, StoreError> {
        let sql = "SELECT p.id, EXISTS (SELECT 1 FROM tasks t WHERE t.phase_id = p.id) AS has_tasks, \
                   EXISTS (SELECT 1 FROM tasks t WHERE t.phase_id = p.id AND t.status NOT IN ('done', 'invalidated')) AS has_open \
                   FROM phases p WHERE p.plan_id = (SELECT plan_id FROM phases WHERE id = ?1) ORDER BY p.place, p.seq";
        let mut statement = self.db.prepare_cached(sql)?;
        let phases = self.kept_of(statement.query([&from])?, |row| {
            Ok::<_, rusqlite::Error>((
                row.get("id")?,
                row.get::<_, bool>("has_tasks")? && !row.get::<_, bool>("has_open")?,
            ))
        })?;
        Ok(current_phase(from, phases))
    }

    /// The titles of a plan and a phase.
    pub fn titles(&self, plan: Option<PlanId>, phase: Option<PhaseId>) -> Result<Titles, StoreError> {
        let title = |table: &str, id: Option<Uuid>| -> Result<Option<String>, StoreError> {
            let Some(id) = id else { return Ok(None) };
            let mut one = self.db.prepare_cached(&format!("SELECT title FROM {table} WHERE id = ?1"))?;
            self.kept_one(one.query([id.to_string()])?, only)
        };
        Ok(Titles {
            plan: title("plans", plan.map(PlanId::uuid))?,
            phase: title("phases", phase.map(PhaseId::uuid))?,
        })
    }

    /// The plans with their phases and tasks, the newest plan first. At most `limit` plans, and `limit` tasks of each
    /// phase.
    pub fn plan_graph(&self, session: Option<&str>, limit: usize) -> Result<PlanGraph, StoreError> {
        let mut found = self.db.prepare_cached(&format!("{PLAN} ORDER BY id DESC LIMIT ?1"))?;
        let rows = self.kept_of(found.query([bound(limit)])?, plan_row)?;
        let plans = rows.into_iter().map(|plan| self.filled(plan, limit)).collect::<Result<_, _>>()?;
        let inbox = self.phase(None, "inbox".to_owned(), limit)?;
        Ok(PlanGraph { trajectory: self.trajectory(session)?, plans, inbox, locks: self.locks()? })
    }

    /// One plan with its phases and at most `limit` tasks of each.
    pub fn plan(&self, id: PlanId, limit: usize) -> Result<Option<PlanView>, StoreError> {
        let mut found = self.db.prepare_cached(&format!("{PLAN} WHERE id = ?1"))?;
        let plan = self.kept_one(found.query([id])?, plan_row)?;
        plan.map(|plan| self.filled(plan, limit)).transpose()
    }

    /// A plan with its name, its phases and the status that follows from their tasks.
    fn filled(&self, plan: PlanView, limit: usize) -> Result<PlanView, StoreError> {
        let phases = self.phases_of(plan.id, limit)?;
        let tasks: Vec<TaskView> = phases.iter().flat_map(|phase| phase.tasks.clone()).collect();
        let status = if plan.abandoned_for.is_some() { "abandoned" } else { status_of(&tasks, "draft") };
        Ok(PlanView { status, name: self.name_of(plan.id)?, phases, ..plan })
    }

    fn phases_of(&self, plan: PlanId, limit: usize) -> Result<Vec<PhaseView>, StoreError> {
        let mut found =
            self.db.prepare_cached("SELECT id, title FROM phases WHERE plan_id = ?1 ORDER BY place, seq")?;
        let rows = self.kept_of(found.query([plan])?, |row| {
            Ok::<(PhaseId, String), rusqlite::Error>((row.get("id")?, row.get("title")?))
        })?;
        rows.into_iter().map(|(id, title)| self.phase(Some(id), title, limit)).collect()
    }

    fn phase(&self, id: Option<PhaseId>, title: String, limit: usize) -> Result<PhaseView, StoreError> {
        let tasks = self.tasks_of(id, limit)?;
        let name = id.map(|id| self.name_of(id)).transpose()?;
        Ok(PhaseView { status: status_of(&tasks, "open"), id, name, title, tasks })
    }
}
