//! The vocabulary of plans: tasks, leases, and trajectories.

use serde::{Deserialize, Serialize};

use crate::domain::agent::AgentId;
use crate::domain::claim::word;
use crate::domain::ids::{PhaseId, PlanId, SessionId, TaskId};
use crate::domain::rejection::Rejection;
use crate::domain::scope::Scope;
use crate::domain::text::{Intent, Title, Worktree};
use crate::domain::time::Timestamp;

/// Default length of a lease in minutes: enough for a change and its tests, and short enough to wait for.
pub const LEASE_MINUTES: u32 = 15;
/// The longest lease in minutes: one day, so that a forgotten lease is over the next morning.
pub const MAX_LEASE_MINUTES: u32 = 24 * 60;

word!(
    /// The state of a task.
    TaskStatus("task status") {
        /// No session works on it.
        Open = "open",
        /// A session works on it.
        Active = "active",
        /// Something blocks the work.
        Blocked = "blocked",
        /// It is done; final.
        Done = "done",
        /// It is not needed any more; final.
        Invalidated = "invalidated",
    }
);

impl TaskStatus {
    /// Whether the status is final.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Invalidated)
    }
}

word!(
    /// Why the lease of an unfinished task ended.
    ReleaseCause("cause of a release") {
        /// The holder gave the task back.
        GivenBack = "given_back",
        /// The lease expired.
        Expired = "expired",
        /// The session of the holder ended.
        SessionEnded = "session_ended",
    }
);

/// The lease of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// The agent that took the task.
    pub agent: AgentId,
    /// The session that took it. Other sessions of the same agent do not hold it.
    pub session: SessionId,
    /// The number of this lease; each later lease of the task has a higher one.
    pub token: u64,
    /// Minutes from each event of the session to the new end of the lease.
    pub lease_minutes: u32,
    /// When the lease ends if no further event of the session comes.
    pub until: Timestamp,
    /// Scopes that others should leave alone: paths or globs.
    pub file_locks: Vec<Scope>,
    /// The linked work tree of those files; `None` for the main one.
    pub worktree: Option<Worktree>,
}

/// A task, as far as the rules need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// What is to be done.
    pub title: Title,
    /// The state of the task.
    pub status: TaskStatus,
    /// The phase of the task; `None` for the inbox.
    pub phase_id: Option<PhaseId>,
    /// The tasks that must be done first.
    pub depends_on: Vec<TaskId>,
    /// The scopes of the task.
    pub scopes: Vec<Scope>,
    /// The agent that added it.
    pub added_by: AgentId,
    /// The number of the latest lease.
    pub last_token: u64,
    /// The current lease.
    pub hold: Option<Hold>,
}

/// The current goal of the team or of one session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trajectory {
    /// The goal as text.
    pub intent: Intent,
    /// The plan of the goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<PlanId>,
    /// The phase of the goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase_id: Option<PhaseId>,
    /// The tasks of the goal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub task_ids: Vec<TaskId>,
}

/// A phrase for the work tree of a holder, for a reader in another one.
pub fn in_work_tree(worktree: Option<&str>) -> String {
    worktree.map_or_else(|| "in the main work tree".to_owned(), |name| format!("in work tree `{name}`"))
}

/// The phase in which work continues: the named one, or the next of its plan once all its tasks are over. `phases`
/// lists the phases of the plan in order, each with whether its tasks are over.
pub fn current_phase<Id: PartialEq>(named: Id, phases: impl IntoIterator<Item = (Id, bool)>) -> Id {
    let mut from_here = phases.into_iter().skip_while(|(id, _)| *id != named);
    let open = from_here.find(|(_, is_over)| !is_over);
    open.map_or(named, |(id, _)| id)
}

/// Refuses paths that look like a glob and cannot be parsed as one: they would silently match nothing.
///
/// # Errors
/// `invalid_argument` with the problem of the glob.
pub fn check_globs(argument: &str, paths: &[Scope]) -> Result<(), Rejection> {
    paths
        .iter()
        .try_for_each(|path| path.check_glob())
        .map_err(|problem| Rejection::invalid(argument, problem))
}
