//! Locks: their projection, and the locked scopes, those of tasks included.

use rusqlite::{Connection, params};
use serde::Serialize;

use super::{Reader, StoreError, TaskView};
use crate::domain::event::{Guard, Recorded, ScopesLocked, ScopesReleased};
use crate::domain::ids::SessionId;
use crate::domain::lock::{because, for_task};
use crate::domain::scope::Scope;

/// A scope that a session locks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LockView {
    /// The event that took the lock, or the task.
    #[serde(rename = "id", serialize_with = "bare_id")]
    pub guard: Guard,
    /// The locked scope.
    pub scope: String,
    /// The holder.
    pub agent: String,
    /// The session of the holder.
    pub session: String,
    /// The linked work tree of the holder. None for the main one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
    /// When the lock ends unless it is extended, epoch ms.
    pub until: i64,
    /// The reason. None for a lock through a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The name of the task, for a lock through a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The title of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

fn bare_id<S: serde::Serializer>(guard: &Guard, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&guard.uuid())
}

impl LockView {
    /// The purpose of the lock, as a part of a sentence.
    pub fn purpose(&self) -> String {
        match &self.why {
            Some(why) => because(why),
            None => self.task(),
        }
    }

    /// The reason of the lock, or its task.
    pub fn reason(&self) -> String {
        self.why.clone().unwrap_or_else(|| self.task())
    }

    fn task(&self) -> String {
        for_task(self.task.as_deref().unwrap_or("unknown"), self.title.as_deref())
    }
}

pub(super) fn locked(db: &Connection, at: &Recorded, body: &ScopesLocked) -> Result<(), StoreError> {
    db.prepare_cached("DELETE FROM locks WHERE lock_until < ?1")?.execute([at.at])?;
    let mut lock = db.prepare_cached(
        "INSERT OR REPLACE INTO locks (session, scope, agent, why, lock_until, worktree, id, seq) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    let ScopesLocked { session, why, until, worktree, .. } = body;
    for scope in &body.scopes {
        lock.execute(params![session, scope, at.agent, why, until, worktree, at.id, at.seq])?;
    }
    Ok(())
}

pub(super) fn released(db: &Connection, body: &ScopesReleased) -> Result<(), StoreError> {
    let mut free = db.prepare_cached("DELETE FROM locks WHERE session = ?1 AND scope = ?2")?;
    for scope in &body.scopes {
        free.execute(params![body.session, scope])?;
    }
    Ok(())
}

/// Removes the locks of an ended session.
pub(super) fn session_ended(db: &Connection, session: &SessionId) -> Result<(), StoreError> {
    db.prepare_cached("DELETE FROM locks WHERE session = ?1")?.execute([session])?;
    Ok(())
}

impl Reader {
    /// All locked scopes: locks first, then those of tasks.
    pub fn locks(&self) -> Result<Vec<LockView>, StoreError> {
        self.locks_beside(&self.held_tasks()?)
    }

    /// [`Reader::locks`] with known held tasks.
    pub(super) fn locks_beside(&self, held: &[TaskView]) -> Result<Vec<LockView>, StoreError> {
        let now = self.now().map_or(0, |now| now.ms());
        let mut own = self.db.prepare_cached(
            "SELECT scope, agent, session, worktree, lock_until, why, id FROM locks WHERE lock_until >= ?1 \
             ORDER BY lock_until, session, scope",
        )?;
        let mut locks = self.kept_of(own.query([now])?, |row| {
            Ok::<_, rusqlite::Error>(LockView {
                guard: Guard::Lock(row.get("id")?),
                scope: row.get("scope")?,
                agent: row.get("agent")?,
                session: row.get("session")?,
                worktree: row.get("worktree")?,
                until: row.get("lock_until")?,
                why: row.get("why")?,
                task: None,
                title: None,
            })
        })?;
        for task in held {
            let (Some(agent), Some(session), Some(until)) = (&task.holder, &task.session, task.lease_until)
            else {
                continue;
            };
            locks.extend(task.file_locks.iter().map(|scope| LockView {
                guard: Guard::Task(task.id),
                scope: scope.clone(),
                agent: agent.clone(),
                session: session.clone(),
                worktree: task.worktree.clone(),
                until,
                why: None,
                task: Some(task.name.clone()),
                title: Some(task.title.clone()),
            }));
        }
        Ok(locks)
    }
}

/// The scopes of a row without the whole workspace, which names no place.
pub(super) fn places(scopes: &[String]) -> Vec<Scope> {
    let scopes = scopes.iter().filter_map(|scope| scope.parse::<Scope>().ok());
    scopes.filter(|scope| !scope.is_whole()).collect()
}
