//! Plans, phases and tasks: what a fold writes of them, and the questions about them.

use rusqlite::{Connection, Row, params};
use serde::Serialize;

use super::rows::{Json, bound, json, only};
use super::{LockView, Reader, StoreError};
use crate::domain::agent::AgentId;
use crate::domain::event::{
    IntentDeclared, PhaseAdded, PlanAbandoned, PlanAdded, PlanRenamed, Recorded, TaskAdded, TaskClaimed,
    TaskReleased, TaskUpdated,
};
use crate::domain::ids::{PhaseId, PlanId, SessionId, TaskId};
use crate::domain::plan::{TaskStatus, current_phase};

/// The session under which the trajectory of the team stands: where a session looks that declared none.
const TEAM: &str = "";

/// An event of a session moves the end of what it holds, unless that was over before.
pub(super) fn heartbeat(db: &Connection, at: &Recorded) -> Result<(), StoreError> {
    let Some(session) = at.session.as_ref().map(SessionId::as_str) else { return Ok(()) };
    db.prepare_cached(
        "UPDATE tasks SET lease_until = ?2 + lease_ms WHERE session = ?1 AND lease_until >= ?2",
    )?
    .execute(params![session, at.at])?;
    db.prepare_cached("UPDATE session_states SET last_seen_at = ?2 WHERE session = ?1 AND ended_at IS NULL")?
        .execute(params![session, at.at])?;
    Ok(())
}

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

pub(super) fn task_added(db: &Connection, at: &Recorded, body: &TaskAdded) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO tasks (id, phase_id, parent_task_id, title, status, depends_on, scopes, added_by, \
         created_at, touched_at, created_seq, seq, description) \
         VALUES (?1, ?2, ?3, ?4, 'open', ?5, ?6, ?7, ?8, ?8, ?9, ?9, ?10)",
    )?
    .execute(params![
        body.task_id,
        body.phase_id,
        body.parent_task_id,
        body.title,
        Json(&body.depends_on),
        Json(&body.scopes),
        at.agent,
        at.at,
        at.seq,
        body.description
    ])?;
    Ok(())
}

pub(super) fn task_claimed(db: &Connection, at: &Recorded, body: &TaskClaimed) -> Result<(), StoreError> {
    let lease_ms = i64::from(body.lease_minutes) * 60_000;
    db.prepare_cached(
        "UPDATE tasks SET status = 'active', holder = ?2, session = ?3, token = ?4, lease_ms = ?5, \
         lease_until = ?6 + ?5, file_locks = ?7, touched_at = ?6, seq = ?8, worktree = ?9 WHERE id = ?1",
    )?
    .execute(params![
        body.task_id,
        at.agent,
        body.session,
        bound(body.token),
        lease_ms,
        at.at,
        Json(&body.file_locks),
        at.seq,
        body.worktree
    ])?;
    Ok(())
}

const FREE: &str = "holder = NULL, session = NULL, lease_ms = NULL, lease_until = NULL, file_locks = '[]', \
     worktree = NULL";

pub(super) fn task_released(db: &Connection, at: &Recorded, body: &TaskReleased) -> Result<(), StoreError> {
    db.prepare_cached(&format!(
        "UPDATE tasks SET {FREE}, status = CASE status WHEN 'active' THEN 'open' ELSE status END, \
         touched_at = ?2, seq = ?3 WHERE id = ?1"
    ))?
    .execute(params![body.task_id, at.at, at.seq])?;
    Ok(())
}

pub(super) fn task_updated(db: &Connection, at: &Recorded, body: &TaskUpdated) -> Result<(), StoreError> {
    let id = body.task_id.to_string();
    db.prepare_cached(
        "UPDATE tasks SET status = ?2, note = coalesce(?3, note), touched_at = ?4, seq = ?5 WHERE id = ?1",
    )?
    .execute(params![id, body.to, body.note, at.at, at.seq])?;
    if body.to.is_over() {
        db.prepare_cached(&format!("UPDATE tasks SET {FREE} WHERE id = ?1"))?.execute([id])?;
    }
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
    // What nobody's session said is said to all of them: each looks there until it says otherwise.
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

/// A child of a split looks where its parent looked.
pub(super) fn hand_over(db: &Connection, parent: &SessionId, child: &SessionId) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT OR REPLACE INTO trajectories (session, intent, plan_id, phase_id, task_ids, agent, shifted_at, seq) \
         SELECT ?2, intent, plan_id, phase_id, task_ids, agent, shifted_at, seq FROM trajectories WHERE session = ?1",
    )?
    .execute(params![parent, child])?;
    Ok(())
}

/// A session that ended looks nowhere.
pub(super) fn look_away(db: &Connection, session: &SessionId) -> Result<(), StoreError> {
    db.prepare_cached("DELETE FROM trajectories WHERE session = ?1")?.execute([session])?;
    Ok(())
}

/// A task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskView {
    /// Its id.
    pub id: String,
    /// Its short name, such as `T7`.
    pub name: String,
    /// What is to be done.
    pub title: String,
    /// What the title does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where it is.
    pub status: TaskStatus,
    /// The phase it belongs to; none for the inbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase_id: Option<String>,
    /// The short name of that phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The task it is a part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_task_id: Option<String>,
    /// What must be done before it.
    pub depends_on: Vec<String>,
    /// The names of those that are still open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<String>,
    /// Those that were invalidated: they hold nothing up, and who takes the task is to know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub invalidated: Vec<String>,
    /// The names of those.
    #[serde(skip)]
    pub dropped: Vec<String>,
    /// What it is about.
    pub scopes: Vec<String>,
    /// Who added it.
    pub added_by: String,
    /// What was last said about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Who holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// The session that does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The linked work tree its holder works in; none for the main one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
    /// The number of the last hold.
    pub token: u64,
    /// When the hold ends unless its session says something, epoch ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_until: Option<i64>,
    /// Files its holder asks others to stay away from.
    pub file_locks: Vec<String>,
    /// When it was added, epoch ms.
    pub created_at: i64,
    /// When it last changed, epoch ms.
    pub touched_at: i64,
    /// Ledger position of its making.
    pub created_seq: u64,
    /// Ledger position of its last change.
    pub seq: u64,
}

/// A phase with its tasks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseView {
    /// Its id; none for the inbox, where tasks without a phase are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its short name, such as `P2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is called.
    pub title: String,
    /// `open`, `active` or `done`, by its tasks.
    pub status: &'static str,
    /// Its tasks, oldest first.
    pub tasks: Vec<TaskView>,
}

/// A plan with its phases.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanView {
    /// Its id.
    pub id: String,
    /// Its short name, such as `P1`.
    pub name: String,
    /// What it is called.
    pub title: String,
    /// What the title does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `draft`, `active` or `done`, by its tasks, or `abandoned`.
    pub status: &'static str,
    /// Why it was given up, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub abandoned_for: Option<String>,
    /// The file that holds the plan itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sot_path: Option<String>,
    /// Its phases, in their order.
    pub phases: Vec<PhaseView>,
}

/// Where the team, or a session, is looking.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrajectoryView {
    /// What is wanted now.
    pub intent: String,
    /// Of which plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<String>,
    /// In which phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase_id: Option<String>,
    /// On which tasks.
    pub task_ids: Vec<String>,
    /// Who said so.
    pub agent: String,
    /// When, epoch ms.
    pub shifted_at: i64,
    /// Where in the ledger.
    pub seq: u64,
}

/// Which tasks to list: every field that is set must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Where they are; empty for any.
    pub status: Vec<TaskStatus>,
    /// Of this plan.
    pub plan: Option<PlanId>,
    /// Of this phase.
    pub phase: Option<PhaseId>,
    /// Held by this agent.
    pub holder: Option<AgentId>,
    /// At most so many.
    pub limit: usize,
}

/// The whole plan graph.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanGraph {
    /// Where the team is looking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trajectory: Option<TrajectoryView>,
    /// The plans, newest first.
    pub plans: Vec<PlanView>,
    /// Tasks without a phase.
    pub inbox: PhaseView,
    /// What is locked, by locks and through tasks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<LockView>,
}

/// Where a task's phase and plan are called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Titles {
    /// The plan.
    pub plan: Option<String>,
    /// The phase.
    pub phase: Option<String>,
}

/// Reads tasks. A malformed list fails its own row, where it is parsed, and not the whole statement.
pub(super) const TASK: &str = "SELECT id, phase_id, parent_task_id, title, status, depends_on, scopes, added_by, note, holder, \
     session, worktree, token, lease_until, file_locks, created_at, touched_at, created_seq, seq, \
     description, coalesce((SELECT letter || number FROM names WHERE names.id = tasks.id), tasks.id) AS name, \
     (SELECT letter || number FROM names WHERE names.id = tasks.phase_id) AS phase, \
     (SELECT json_group_array(n.letter || n.number) FROM json_each(iif(json_valid(tasks.depends_on), tasks.depends_on, '[]')) \
      JOIN tasks t ON t.id = json_each.value JOIN names n ON n.id = t.id \
      WHERE t.status NOT IN ('done', 'invalidated')) AS waits_for, \
     (SELECT json_group_array(n.letter || n.number) FROM json_each(iif(json_valid(tasks.depends_on), tasks.depends_on, '[]')) \
      JOIN tasks t ON t.id = json_each.value JOIN names n ON n.id = t.id \
      WHERE t.status = 'invalidated') AS dropped, \
     (SELECT json_group_array(t.id) FROM json_each(iif(json_valid(tasks.depends_on), tasks.depends_on, '[]')) JOIN tasks t ON t.id = json_each.value \
      WHERE t.status = 'invalidated') AS invalidated FROM tasks";

pub(super) fn task(row: &Row<'_>) -> rusqlite::Result<TaskView> {
    Ok(TaskView {
        id: row.get("id")?,
        name: row.get("name")?,
        title: row.get("title")?,
        description: row.get("description")?,
        status: row.get("status")?,
        phase_id: row.get("phase_id")?,
        phase: row.get("phase")?,
        parent_task_id: row.get("parent_task_id")?,
        depends_on: json(row, "depends_on")?,
        waits_for: json(row, "waits_for")?,
        invalidated: json(row, "invalidated")?,
        dropped: json(row, "dropped")?,
        scopes: json(row, "scopes")?,
        added_by: row.get("added_by")?,
        note: row.get("note")?,
        holder: row.get("holder")?,
        session: row.get("session")?,
        worktree: row.get("worktree")?,
        token: row.get("token")?,
        lease_until: row.get("lease_until")?,
        file_locks: json(row, "file_locks")?,
        created_at: row.get("created_at")?,
        touched_at: row.get("touched_at")?,
        created_seq: row.get("created_seq")?,
        seq: row.get("seq")?,
    })
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

impl Reader {
    /// One task.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn task(&self, id: TaskId) -> Result<Option<TaskView>, StoreError> {
        let mut one = self.db.prepare_cached(&format!("{TASK} WHERE id = ?1"))?;
        self.kept_one(one.query([id])?, |row| self.task_of(row))
    }

    /// Tasks that can be taken: open, held by nobody, everything before them done or invalidated; oldest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn ready_tasks(&self, limit: usize) -> Result<Vec<TaskView>, StoreError> {
        let is_next = "NOT EXISTS \
             (SELECT 1 FROM json_each(iif(json_valid(tasks.depends_on), tasks.depends_on, '[]')) LEFT JOIN tasks t ON t.id = json_each.value \
              WHERE t.status NOT IN ('done', 'invalidated'))";
        // A task whose lease is over is open again, and the writer may not have put that down yet.
        let mut freed = self.held_rows()?;
        freed.retain(|task| task.session.is_none() && task.status == TaskStatus::Open);
        let freed = serde_json::json!(freed.into_iter().map(|task| task.id).collect::<Vec<_>>()).to_string();
        let mut free = self.db.prepare_cached(&format!(
            "{TASK} WHERE (status = 'open' AND session IS NULL OR id IN (SELECT value FROM json_each(?2))) \
             AND {is_next} ORDER BY created_seq LIMIT ?1"
        ))?;
        self.kept_of(free.query(params![bound(limit), freed])?, |row| self.task_of(row))
    }

    /// Tasks that match, oldest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn tasks(&self, filter: &TaskFilter) -> Result<Vec<TaskView>, StoreError> {
        let mut found = self.db.prepare_cached(&format!(
            "{TASK} WHERE created_seq > ?1 AND (?2 IS NULL OR phase_id = ?2) \
             AND (?3 IS NULL OR phase_id IN (SELECT id FROM phases WHERE plan_id = ?3)) ORDER BY created_seq"
        ))?;
        let (phase, plan) = (filter.phase.map(|id| id.to_string()), filter.plan.map(|id| id.to_string()));
        let mut tasks = self.kept_of(found.query(params![0, phase, plan])?, |row| self.task_of(row))?;
        tasks.retain(|task| {
            (filter.status.is_empty() || filter.status.contains(&task.status))
                && filter.holder.as_ref().is_none_or(|holder| task.holder.as_deref() == Some(holder.as_str()))
        });
        tasks.truncate(filter.limit);
        Ok(tasks)
    }

    /// Whether there is any task.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn has_tasks(&self) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM tasks WHERE id > '')";
        Ok(self.db.prepare_cached(sql)?.query_row([], only)?)
    }

    /// Tasks in a status, oldest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn tasks_in(&self, status: TaskStatus, limit: usize) -> Result<Vec<TaskView>, StoreError> {
        let mut found =
            self.db.prepare_cached(&format!("{TASK} WHERE status = ?1 ORDER BY created_seq LIMIT ?2"))?;
        let rows = found.query(params![status, bound(limit)])?;
        let mut tasks = self.kept_of(rows, |row| self.task_of(row))?;
        tasks.retain(|task| task.status == status);
        Ok(tasks)
    }

    /// Tasks somebody holds, in the order of the sessions that do.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn held_tasks(&self) -> Result<Vec<TaskView>, StoreError> {
        let mut held = self.held_rows()?;
        held.retain(|task| task.session.is_some());
        Ok(held)
    }

    /// Tasks that the rows give to a session, also those whose lease is over.
    fn held_rows(&self) -> Result<Vec<TaskView>, StoreError> {
        let mut found =
            self.db.prepare_cached(&format!("{TASK} WHERE session IS NOT NULL ORDER BY session, id"))?;
        self.kept_of(found.query([])?, |row| self.task_of(row))
    }

    /// Tasks a session holds.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn held_by(&self, session: &str) -> Result<Vec<TaskView>, StoreError> {
        let mut found = self.db.prepare_cached(&format!("{TASK} WHERE session = ?1 ORDER BY id"))?;
        let mut held = self.kept_of(found.query([session])?, |row| self.task_of(row))?;
        held.retain(|task| task.session.is_some());
        Ok(held)
    }

    /// A task from its row: nobody holds it once the lease is over.
    fn task_of(&self, row: &Row<'_>) -> rusqlite::Result<TaskView> {
        let mut task = task(row)?;
        if task.lease_until.is_some_and(|until| self.is_over(until)) {
            (task.holder, task.session, task.lease_until) = (None, None, None);
            task.worktree = None;
            task.file_locks.clear();
            if task.status == TaskStatus::Active {
                task.status = TaskStatus::Open;
            }
        }
        Ok(task)
    }

    /// Where a session is looking: where it said or the whole team was told since, else where the team does.
    ///
    /// # Errors
    /// [`StoreError`].
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

    /// The phase that work goes on in: this one, or the next of its plan once all of its tasks are over.
    fn current_phase(&self, from: String) -> Result<String, StoreError> {
        let sql = "SELECT p.id, EXISTS (SELECT 1 FROM tasks t WHERE t.phase_id = p.id) AS has_tasks, \
                   EXISTS (SELECT 1 FROM tasks t WHERE t.phase_id = p.id AND t.status NOT IN ('done', 'invalidated')) AS has_open \
                   FROM phases p WHERE p.plan_id = (SELECT plan_id FROM phases WHERE id = ?1) ORDER BY p.place, p.seq";
        let mut statement = self.db.prepare_cached(sql)?;
        let phases = self.kept_of(statement.query([&from])?, |row| {
            Ok::<_, rusqlite::Error>((
                row.get::<_, String>("id")?,
                row.get::<_, bool>("has_tasks")? && !row.get::<_, bool>("has_open")?,
            ))
        })?;
        Ok(current_phase(from, phases))
    }

    /// What a plan and a phase are called.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn titles(&self, plan: Option<&str>, phase: Option<&str>) -> Result<Titles, StoreError> {
        let title = |table: &str, id: Option<&str>| -> Result<Option<String>, StoreError> {
            let Some(id) = id else { return Ok(None) };
            let mut one = self.db.prepare_cached(&format!("SELECT title FROM {table} WHERE id = ?1"))?;
            self.kept_one(one.query([id])?, only)
        };
        Ok(Titles { plan: title("plans", plan)?, phase: title("phases", phase)? })
    }

    /// The plans with their phases and tasks, the newest plan first; at most `limit` plans, and as many
    /// tasks of each phase.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn plan_graph(&self, session: Option<&str>, limit: usize) -> Result<PlanGraph, StoreError> {
        let mut plans = Vec::new();
        let mut found = self.db.prepare_cached(
            "SELECT id, title, sot_path, description, abandoned_for FROM plans ORDER BY id DESC LIMIT ?1",
        )?;
        let rows = self.kept_of(found.query([bound(limit)])?, |row| {
            Ok::<_, rusqlite::Error>(PlanView {
                id: row.get("id")?,
                name: String::new(),
                title: row.get("title")?,
                description: row.get("description")?,
                status: "draft",
                abandoned_for: row.get("abandoned_for")?,
                sot_path: row.get("sot_path")?,
                phases: Vec::new(),
            })
        })?;
        for plan in rows {
            let phases = self.phases_of(&plan.id, limit)?;
            let tasks: Vec<TaskView> = phases.iter().flat_map(|phase| phase.tasks.clone()).collect();
            let status = if plan.abandoned_for.is_some() { "abandoned" } else { status_of(&tasks, "draft") };
            let name = self.name_of(&plan.id)?;
            plans.push(PlanView { status, name, phases, ..plan });
        }
        let inbox = self.phase(None, "inbox".to_owned(), limit)?;
        Ok(PlanGraph { trajectory: self.trajectory(session)?, plans, inbox, locks: self.locks()? })
    }

    fn phases_of(&self, plan: &str, limit: usize) -> Result<Vec<PhaseView>, StoreError> {
        let mut found =
            self.db.prepare_cached("SELECT id, title FROM phases WHERE plan_id = ?1 ORDER BY place, seq")?;
        let rows = self.kept_of(found.query([plan])?, |row| {
            Ok::<(String, String), rusqlite::Error>((row.get("id")?, row.get("title")?))
        })?;
        rows.into_iter().map(|(id, title)| self.phase(Some(id), title, limit)).collect()
    }

    fn phase(&self, id: Option<String>, title: String, limit: usize) -> Result<PhaseView, StoreError> {
        let mut found =
            self.db.prepare_cached(&format!("{TASK} WHERE phase_id IS ?1 ORDER BY created_seq LIMIT ?2"))?;
        let tasks = self.kept_of(found.query(params![id, bound(limit)])?, |row| self.task_of(row))?;
        let name = id.as_deref().map(|id| self.name_of(id)).transpose()?;
        Ok(PhaseView { status: status_of(&tasks, "open"), id, name, title, tasks })
    }
}
