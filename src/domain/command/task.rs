//! Commands about plans, tasks and locks, and about what the team works towards.

use serde::{Deserialize, Serialize};

use crate::domain::ids::{PhaseId, PlanId, TaskId};
use crate::domain::plan::{TaskStatus, Trajectory};
use crate::domain::scope::Scope;
use crate::domain::text::{Description, Reason, Title};

/// Add a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddPlan {
    /// Minted by the front.
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

/// Give a plan up, with its open tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbandonPlan {
    /// Which plan.
    pub plan_id: PlanId,
    /// Why.
    pub reason: Reason,
}

/// Give a plan another title.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenamePlan {
    /// Which plan.
    pub plan_id: PlanId,
    /// What it is to be called.
    pub title: Title,
}

/// Add a phase to a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddPhase {
    /// Minted by the front.
    pub phase_id: PhaseId,
    /// The plan it belongs to; none for the only one that goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<PlanId>,
    /// What it is called.
    pub title: Title,
    /// Its place in the plan; none for the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<u32>,
}

/// Add a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddTask {
    /// Minted by the front.
    pub task_id: TaskId,
    /// What is to be done.
    pub title: Title,
    /// What the title does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Description>,
    /// The phase it belongs to; none for where the team is looking, else the inbox.
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

/// Take a task for oneself, or hold it for longer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimTask {
    /// Which task.
    pub task_id: TaskId,
    /// How long to hold it after each event of the session, in minutes; none for 15.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_minutes: Option<u32>,
    /// Files others should stay away from: paths, or globs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub file_locks: Vec<Scope>,
}

/// Ask the others to leave things alone for a time, without a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockScopes {
    /// What to lock.
    pub scopes: Vec<Scope>,
    /// For how many minutes; none for 15.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u32>,
    /// What for.
    pub why: Reason,
}

/// Give locks back before they end by themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleaseScopes {
    /// What to give back, with all that lies below; empty for all that the session locks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<Scope>,
}

/// Say how a task goes, or end it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdateTask {
    /// Which task.
    pub task_id: TaskId,
    /// Where it is now; `open` gives it back.
    pub status: TaskStatus,
    /// How it goes, what is in the way, what came of it; required to block or to invalidate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Reason>,
    /// The number of the hold, as its receipt said it: a hold that is over is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fencing_token: Option<u64>,
}

/// Say what is wanted now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclareIntent {
    /// Where to look from now on.
    #[serde(flatten)]
    pub trajectory: Trajectory,
    /// Whether an agent speaks for the whole team; the operator always does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub team: bool,
}
