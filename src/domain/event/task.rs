//! Events of plans, tasks, locks and intents.

use serde::{Deserialize, Serialize};

use crate::domain::agent::AgentId;
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
    /// The title of the plan.
    pub title: Title,
    /// Details beyond the title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Description>,
    /// The file that holds the plan itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sot_path: Option<Scope>,
}

/// A plan was abandoned. Further events invalidate its open tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanAbandoned {
    /// The plan.
    pub plan_id: PlanId,
    /// The reason.
    pub reason: Reason,
}

/// A plan was renamed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanRenamed {
    /// The plan.
    pub plan_id: PlanId,
    /// The new title.
    pub title: Title,
}

/// A phase was added to a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseAdded {
    /// Equal to the event's own id.
    pub phase_id: PhaseId,
    /// The plan of the phase.
    pub plan_id: PlanId,
    /// The title of the phase.
    pub title: Title,
    /// Its position in the plan. Phases with equal positions are in order of creation.
    pub order: u32,
}

/// A task was added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskAdded {
    /// Equal to the event's own id.
    pub task_id: TaskId,
    /// The title of the task.
    pub title: Title,
    /// Details beyond the title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Description>,
    /// The phase of the task. None for the inbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase_id: Option<PhaseId>,
    /// The parent task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_task_id: Option<TaskId>,
    /// The tasks that must be done first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<TaskId>,
    /// The scopes of the task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<Scope>,
    /// The agent that the task is meant for. Any agent may take it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meant_for: Option<AgentId>,
}

/// A session took a task, or extended its lease. The task is active.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskClaimed {
    /// The task.
    pub task_id: TaskId,
    /// The session that holds the task.
    pub session: SessionId,
    /// The number of the hold. It is higher than those of all earlier holds of the task.
    pub token: u64,
    /// Length of the lease after each event of the session, in minutes.
    pub lease_minutes: u32,
    /// Scopes that others should leave alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub file_locks: Vec<Scope>,
    /// The linked work tree of the holder. None for the main one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Worktree>,
}

/// The hold of a task ended. An active task is open again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskReleased {
    /// The task.
    pub task_id: TaskId,
    /// The number of the ended hold.
    pub token: u64,
    /// The reason.
    pub cause: ReleaseCause,
}

/// A session asks the others to leave things alone until a time, without a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopesLocked {
    /// The session that holds the lock.
    pub session: SessionId,
    /// The locked scopes.
    pub scopes: Vec<Scope>,
    /// When the lock ends by itself.
    pub until: Timestamp,
    /// The purpose of the lock.
    pub why: Reason,
    /// The linked work tree of the holder. None for the main one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Worktree>,
}

/// A session released locks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopesReleased {
    /// The session that held the locks.
    pub session: SessionId,
    /// The released scopes.
    pub scopes: Vec<Scope>,
}

/// The status of a task changed, or its holder added a note. A finished task loses its hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskUpdated {
    /// The task.
    pub task_id: TaskId,
    /// The old status.
    pub from: TaskStatus,
    /// The new status.
    pub to: TaskStatus,
    /// The progress, the obstacle, the result, or the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Reason>,
}

/// An agent or the operator declared an intent, for its own session and for every session without an intent of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntentDeclared {
    /// The intent, with its plan, phase and tasks.
    #[serde(flatten)]
    pub trajectory: Trajectory,
    /// Whether the intent applies to its own session only. The intent of the team then stays.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
}
