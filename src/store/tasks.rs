//! Tasks: their projection and their queries.

use rusqlite::{Connection, Row, params};
use serde::Serialize;

use super::rows::{Json, bound, json, only};
use super::{Reader, StoreError};
use crate::domain::agent::AgentId;
use crate::domain::event::{Recorded, TaskAdded, TaskClaimed, TaskReleased, TaskUpdated};
use crate::domain::ids::{PhaseId, PlanId, SessionId, TaskId};
use crate::domain::plan::TaskStatus;

/// Extends the leases of a session at each of its events. An expired lease stays expired. A pane with a seat is shown under
/// the name that it used last.
pub(super) fn heartbeat(db: &Connection, at: &Recorded) -> Result<(), StoreError> {
    let Some(session) = at.session.as_ref().map(SessionId::as_str) else { return Ok(()) };
    db.prepare_cached(
        "UPDATE tasks SET lease_until = ?2 + lease_ms WHERE session = ?1 AND lease_until >= ?2",
    )?
    .execute(params![session, at.at])?;
    let speaker = (!at.agent.is_reserved()).then_some(&at.agent);
    db.prepare_cached(
        "UPDATE session_states SET last_seen_at = ?2, speaks_as = iif(?3 IS NULL OR seat IS NULL, speaks_as, nullif(?3, agent)) \
         WHERE session = ?1 AND ended_at IS NULL",
    )?
    .execute(params![session, at.at, speaker])?;
    Ok(())
}

pub(super) fn task_added(db: &Connection, at: &Recorded, body: &TaskAdded) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO tasks (id, phase_id, parent_task_id, title, status, depends_on, scopes, added_by, \
         created_at, touched_at, created_seq, seq, description, meant_for) \
         VALUES (?1, ?2, ?3, ?4, 'open', ?5, ?6, ?7, ?8, ?8, ?9, ?9, ?10, ?11)",
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
        body.description,
        body.meant_for
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
        // A note on an earlier state is not the result of the task.
        "UPDATE tasks SET status = ?2, note = CASE ?2 WHEN 'done' THEN ?3 ELSE coalesce(?3, note) END, \
         touched_at = ?4, seq = ?5 WHERE id = ?1",
    )?
    .execute(params![id, body.to, body.note, at.at, at.seq])?;
    if body.to.is_over() {
        db.prepare_cached(&format!("UPDATE tasks SET {FREE}, ended_by = ?2 WHERE id = ?1"))?
            .execute(params![id, at.agent])?;
    }
    Ok(())
}

/// A task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskView {
    /// Id of the task.
    pub id: TaskId,
    /// Short name, such as `T7`.
    pub name: String,
    /// The title.
    pub title: String,
    /// Details beyond the title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The status.
    pub status: TaskStatus,
    /// The phase of the task. None for the inbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase_id: Option<PhaseId>,
    /// The short name of the phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The parent task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_task_id: Option<TaskId>,
    /// The tasks that must be done first.
    pub depends_on: Vec<String>,
    /// The names of those tasks that are still open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<String>,
    /// Those tasks that were invalidated. They block nothing, but the new holder must know of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub invalidated: Vec<String>,
    /// The names of the invalidated tasks.
    #[serde(skip)]
    pub dropped: Vec<String>,
    /// The scopes of the task.
    pub scopes: Vec<String>,
    /// The agent that added it.
    pub added_by: String,
    /// The agent that it is meant for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meant_for: Option<String>,
    /// The last note. Of a task that is done, the note of its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The holder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// The agent that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<String>,
    /// The session of the holder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The linked work tree of the holder. None for the main one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
    /// The number of the last hold.
    pub token: u64,
    /// When the lease ends without a further event of its session, epoch ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_until: Option<i64>,
    /// Scopes that others should leave alone.
    pub file_locks: Vec<String>,
    /// When it was added, epoch ms.
    pub created_at: i64,
    /// The time of its last change, epoch ms.
    pub touched_at: i64,
    /// Ledger position of its creation.
    pub created_seq: u64,
    /// Ledger position of its last change.
    pub seq: u64,
}

/// A filter for tasks. Every field that is set must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Statuses. Empty for any.
    pub status: Vec<TaskStatus>,
    /// The plan.
    pub plan: Option<PlanId>,
    /// The phase.
    pub phase: Option<PhaseId>,
    /// The holder.
    pub holder: Option<AgentId>,
    /// Maximum count.
    pub limit: usize,
}

/// Reads tasks. A malformed list makes only its own row unreadable, not the whole query.
pub(super) const TASK: &str = "SELECT id, phase_id, parent_task_id, title, status, depends_on, scopes, added_by, note, holder, ended_by, \
     session, worktree, token, lease_until, file_locks, created_at, touched_at, created_seq, seq, \
     description, meant_for, coalesce((SELECT letter || number FROM names WHERE names.id = tasks.id), tasks.id) AS name, \
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
        meant_for: row.get("meant_for")?,
        note: row.get("note")?,
        holder: row.get("holder")?,
        ended_by: row.get("ended_by")?,
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

impl Reader {
    /// The task with this id.
    pub fn task(&self, id: TaskId) -> Result<Option<TaskView>, StoreError> {
        let mut one = self.db.prepare_cached(&format!("{TASK} WHERE id = ?1"))?;
        self.kept_one(one.query([id])?, |row| self.task_of(row))
    }

    /// Open tasks without a holder whose dependencies are done or invalidated, oldest first.
    pub fn ready_tasks(&self, limit: usize) -> Result<Vec<TaskView>, StoreError> {
        let is_next = "NOT EXISTS \
             (SELECT 1 FROM json_each(iif(json_valid(tasks.depends_on), tasks.depends_on, '[]')) LEFT JOIN tasks t ON t.id = json_each.value \
              WHERE t.status NOT IN ('done', 'invalidated'))";
        // An expired lease frees its task, even if the writer has not recorded that yet.
        let mut freed = self.held_rows()?;
        freed.retain(|task| task.session.is_none() && task.status == TaskStatus::Open);
        let freed = serde_json::json!(freed.into_iter().map(|task| task.id).collect::<Vec<_>>()).to_string();
        let mut free = self.db.prepare_cached(&format!(
            "{TASK} WHERE (status = 'open' AND session IS NULL OR id IN (SELECT value FROM json_each(?2))) \
             AND {is_next} ORDER BY created_seq LIMIT ?1"
        ))?;
        self.kept_of(free.query(params![bound(limit), freed])?, |row| self.task_of(row))
    }

    /// The tasks that match a filter, oldest first.
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

    /// The tasks of a phase, or those without a phase, oldest first.
    pub(super) fn tasks_of(&self, phase: Option<PhaseId>, limit: usize) -> Result<Vec<TaskView>, StoreError> {
        let mut found =
            self.db.prepare_cached(&format!("{TASK} WHERE phase_id IS ?1 ORDER BY created_seq LIMIT ?2"))?;
        self.kept_of(found.query(params![phase, bound(limit)])?, |row| self.task_of(row))
    }

    /// Whether there is any task.
    pub fn has_tasks(&self) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM tasks WHERE id > '')";
        Ok(self.db.prepare_cached(sql)?.query_row([], only)?)
    }

    /// The tasks in a status, oldest first.
    pub fn tasks_in(&self, status: TaskStatus, limit: usize) -> Result<Vec<TaskView>, StoreError> {
        let mut found =
            self.db.prepare_cached(&format!("{TASK} WHERE status = ?1 ORDER BY created_seq LIMIT ?2"))?;
        let rows = found.query(params![status, bound(limit)])?;
        let mut tasks = self.kept_of(rows, |row| self.task_of(row))?;
        tasks.retain(|task| task.status == status);
        Ok(tasks)
    }

    /// The tasks that were done last, newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn done_last(&self, limit: usize) -> Result<Vec<TaskView>, StoreError> {
        let mut done =
            self.db.prepare_cached(&format!("{TASK} WHERE status = 'done' ORDER BY seq DESC LIMIT ?1"))?;
        self.kept_of(done.query([bound(limit)])?, |row| self.task_of(row))
    }

    /// Held tasks, in the order of their sessions.
    pub fn held_tasks(&self) -> Result<Vec<TaskView>, StoreError> {
        let mut held = self.held_rows()?;
        held.retain(|task| task.session.is_some());
        Ok(held)
    }

    /// Tasks with a holder in their row. Expired leases are included.
    fn held_rows(&self) -> Result<Vec<TaskView>, StoreError> {
        let mut found =
            self.db.prepare_cached(&format!("{TASK} WHERE session IS NOT NULL ORDER BY session, id"))?;
        self.kept_of(found.query([])?, |row| self.task_of(row))
    }

    /// The tasks that a session holds.
    pub fn held_by(&self, session: &str) -> Result<Vec<TaskView>, StoreError> {
        let mut found = self.db.prepare_cached(&format!("{TASK} WHERE session = ?1 ORDER BY id"))?;
        let mut held = self.kept_of(found.query([session])?, |row| self.task_of(row))?;
        held.retain(|task| task.session.is_some());
        Ok(held)
    }

    /// Reads a task from its row. After the end of the lease it has no holder.
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
}
