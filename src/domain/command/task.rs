//! Commands about plans, tasks, locks and intents.

use serde::{Deserialize, Serialize};

use crate::domain::agent::AgentId;
use crate::domain::ids::{PhaseId, PlanId, TaskId};
use crate::domain::plan::{TaskStatus, Trajectory};
use crate::domain::scope::Scope;
use crate::domain::text::{Description, Reason, Title};

/// Add a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddPlan {
    /// Minted by the front.
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

/// Abandon a plan, and invalidate its open tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbandonPlan {
    /// The plan.
    pub plan_id: PlanId,
    /// The reason.
    pub reason: Reason,
}

/// Rename a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenamePlan {
    /// The plan.
    pub plan_id: PlanId,
    /// The new title.
    pub title: Title,
}

/// Add a phase to a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddPhase {
    /// Minted by the front.
    pub phase_id: PhaseId,
    /// The plan of the phase. None for the only open plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<PlanId>,
    /// The title of the phase.
    pub title: Title,
    /// The position in the plan. None for the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<u32>,
}

/// Add a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddTask {
    /// Minted by the front.
    pub task_id: TaskId,
    /// The title of the task.
    pub title: Title,
    /// Details beyond the title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Description>,
    /// The phase of the task. None for the phase of the team's focus, or else the inbox.
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

/// Take a task, or extend its lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimTask {
    /// The task.
    pub task_id: TaskId,
    /// Length of the lease after each event of the session, in minutes. None for 15.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_minutes: Option<u32>,
    /// Paths and globs that others should leave alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub file_locks: Vec<Scope>,
}

/// Ask the others to leave scopes alone for a time, without a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockScopes {
    /// The scopes to lock.
    pub scopes: Vec<Scope>,
    /// Duration in minutes. None for 15.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u32>,
    /// The purpose.
    pub why: Reason,
}

/// Release locks before they end by themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleaseScopes {
    /// The scopes to release, with all below them. Empty for all locks of the session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<Scope>,
}

/// Set the status of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdateTask {
    /// The task.
    pub task_id: TaskId,
    /// The new status. `open` releases the task.
    pub status: TaskStatus,
    /// The progress, the obstacle or the result. Required for `blocked` and `invalidated`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Reason>,
    /// The number of the hold, from its receipt. An ended hold is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fencing_token: Option<u64>,
}

/// Declare the current intent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclareIntent {
    /// The intent, with its plan, phase and tasks.
    #[serde(flatten)]
    pub trajectory: Trajectory,
    /// Whether the agent speaks for the whole team. The operator always does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub team: bool,
}
