//! Events of plans, tasks and locks, and of what the team works towards.

use serde::{Deserialize, Serialize};

use crate::domain::ids::{PhaseId, PlanId, SessionId, TaskId};
use crate::domain::plan::{ReleaseCause, TaskStatus, Trajectory};
use crate::domain::scope::Scope;
use crate::domain::text::{Description, Reason, Title, Worktree};
use crate::domain::time::Timestamp;

/// A plan was added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanAdded {
    /// Equal to the event's own id.
    pub plan_id: PlanId,
    /// What it is called.
    pub title: Title,
    /// What the title does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Description>,
    /// The file that holds the plan itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sot_path: Option<Scope>,
}

/// A plan was given up. Its open tasks are invalidated by events beside this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanAbandoned {
    /// Which plan.
    pub plan_id: PlanId,
    /// Why.
    pub reason: Reason,
}

/// A plan was given another title.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanRenamed {
    /// Which plan.
    pub plan_id: PlanId,
    /// What it is called now.
    pub title: Title,
}

/// A phase was added to a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseAdded {
    /// Equal to the event's own id.
    pub phase_id: PhaseId,
    /// The plan it belongs to.
    pub plan_id: PlanId,
    /// What it is called.
    pub title: Title,
    /// Its place among the phases of the plan; equal places stand in the order of their making.
    pub order: u32,
}

/// A task was added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskAdded {
    /// Equal to the event's own id.
    pub task_id: TaskId,
    /// What is to be done.
    pub title: Title,
    /// What the title does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Description>,
    /// The phase it belongs to; none for the inbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase_id: Option<PhaseId>,
    /// The task it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_task_id: Option<TaskId>,
    /// What must be done before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<TaskId>,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<Scope>,
}

/// A session took a task, or took it for longer; the task is active.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskClaimed {
    /// Which task.
    pub task_id: TaskId,
    /// The session that holds it.
    pub session: SessionId,
    /// The number of the hold, higher than that of every one before it.
    pub token: u64,
    /// How long it is held after each event of the session, in minutes.
    pub lease_minutes: u32,
    /// Files it asks others to stay away from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub file_locks: Vec<Scope>,
    /// The linked work tree its holder works in; none in the main one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Worktree>,
}

/// A task is held no more; it is open again if it was active.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskReleased {
    /// Which task.
    pub task_id: TaskId,
    /// The number of the hold that ended.
    pub token: u64,
    /// Why.
    pub cause: ReleaseCause,
}

/// A session asks the others to leave things alone until a time, without a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopesLocked {
    /// The session that holds them.
    pub session: SessionId,
    /// What it locks.
    pub scopes: Vec<Scope>,
    /// When the lock ends by itself.
    pub until: Timestamp,
    /// What for.
    pub why: Reason,
    /// The linked work tree its holder works in; none in the main one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Worktree>,
}

/// A session locks these things no more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopesReleased {
    /// The session that held them.
    pub session: SessionId,
    /// What is free again.
    pub scopes: Vec<Scope>,
}

/// A task moved on, or its holder said how it goes; one that is over is held no more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskUpdated {
    /// Which task.
    pub task_id: TaskId,
    /// Where it was.
    pub from: TaskStatus,
    /// Where it is now.
    pub to: TaskStatus,
    /// How it goes, what is in the way, what came of it, or why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Reason>,
}

/// An agent or the operator said what is wanted now: for its own session, and for every session that never said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntentDeclared {
    /// Where to look from now on.
    #[serde(flatten)]
    pub trajectory: Trajectory,
    /// Whether it moves the session that said it, and the team stays where it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
}
