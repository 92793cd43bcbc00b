//! Locks: what a fold writes of them, and what is locked now, by locks and through tasks.

use rusqlite::{Connection, params};
use serde::Serialize;

use super::{Reader, StoreError, TaskView};
use crate::domain::event::{Guard, Recorded, ScopesLocked, ScopesReleased};
use crate::domain::ids::SessionId;
use crate::domain::lock::{because, for_task};
use crate::domain::scope::Scope;

/// One scope that a session locks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LockView {
    /// The event that took it, or the task it is held through.
    #[serde(rename = "id", serialize_with = "bare_id")]
    pub guard: Guard,
    /// What is locked.
    pub scope: String,
    /// Who holds it.
    pub agent: String,
    /// The session that does.
    pub session: String,
    /// The linked work tree its holder works in; none for the main one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
    /// When it ends, if nothing moves that, epoch ms.
    pub until: i64,
    /// What for; none of a lock that is held through a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The name of the task it is held through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

fn bare_id<S: serde::Serializer>(guard: &Guard, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&guard.uuid())
}

impl LockView {
    /// What the lock is for, as sentences about it say it.
    pub fn purpose(&self) -> String {
        match &self.why {
            Some(why) => because(why),
            None => self.task(),
        }
    }

    /// The reason it was taken for, or the task it is held through.
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

/// A session that is over locks nothing.
pub(super) fn session_ended(db: &Connection, session: &SessionId) -> Result<(), StoreError> {
    db.prepare_cached("DELETE FROM locks WHERE session = ?1")?.execute([session])?;
    Ok(())
}

impl Reader {
    /// Everything that is locked, by locks first, then through tasks.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn locks(&self) -> Result<Vec<LockView>, StoreError> {
        self.locks_beside(&self.held_tasks()?)
    }

    /// [`Reader::locks`], where the tasks that are held are known.
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

/// The scopes of a row, without the whole workspace: that is about everything, and so about nothing.
pub(super) fn places(scopes: &[String]) -> Vec<Scope> {
    let scopes = scopes.iter().filter_map(|scope| scope.parse::<Scope>().ok());
    scopes.filter(|scope| !scope.is_whole()).collect()
}
