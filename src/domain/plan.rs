//! The plan graph's words: tasks, who holds them and for how long, and where the team is looking.

use serde::{Deserialize, Serialize};

use crate::domain::agent::AgentId;
use crate::domain::claim::word;
use crate::domain::ids::{PhaseId, PlanId, SessionId, TaskId};
use crate::domain::rejection::Rejection;
use crate::domain::scope::Scope;
use crate::domain::text::{Intent, Title, Worktree};
use crate::domain::time::Timestamp;

/// Minutes a task is held for unless its holder asks for another number (spec 04).
pub const LEASE_MINUTES: u32 = 15;
/// The longest lease: one day, so that a forgotten one is over the next morning.
pub const MAX_LEASE_MINUTES: u32 = 24 * 60;

word!(
    /// Where a task is.
    TaskStatus("task status") {
        /// Nobody works on it.
        Open = "open",
        /// Somebody does.
        Active = "active",
        /// Something is in the way.
        Blocked = "blocked",
        /// It is done, for good.
        Done = "done",
        /// It should not be done any more, for good.
        Invalidated = "invalidated",
    }
);

impl TaskStatus {
    /// Whether nothing more happens to it.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Invalidated)
    }
}

word!(
    /// Why a task is held no more while it is not over.
    ReleaseCause("cause of a release") {
        /// Its holder gave it back.
        GivenBack = "given_back",
        /// The lease ran out.
        Expired = "expired",
        /// The session that held it ended.
        SessionEnded = "session_ended",
    }
);

/// Who holds a task, and until when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// Who took it.
    pub agent: AgentId,
    /// The session that did: another of the same agent does not hold it.
    pub session: SessionId,
    /// The number of this hold, higher than that of every one before it.
    pub token: u64,
    /// How far each event of the session moves its end, in minutes.
    pub lease_minutes: u32,
    /// When it ends, if the session says nothing more.
    pub until: Timestamp,
    /// Files it asks others to stay away from: paths, or globs.
    pub file_locks: Vec<Scope>,
    /// The linked work tree those files are in; none for the main one.
    pub worktree: Option<Worktree>,
}

/// One task, as far as the rules look at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// What is to be done.
    pub title: Title,
    /// Where it is.
    pub status: TaskStatus,
    /// The phase it belongs to; none for the inbox.
    pub phase_id: Option<PhaseId>,
    /// What must be done before it.
    pub depends_on: Vec<TaskId>,
    /// The number of the last hold.
    pub last_token: u64,
    /// Who holds it.
    pub hold: Option<Hold>,
}

/// Where the team, or one session, is looking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trajectory {
    /// What is wanted now.
    pub intent: Intent,
    /// Of which plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<PlanId>,
    /// In which phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase_id: Option<PhaseId>,
    /// On which tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub task_ids: Vec<TaskId>,
}

/// Where a holder works, for a reader in another work tree.
pub fn in_work_tree(worktree: Option<&str>) -> String {
    worktree.map_or_else(|| "in the main work tree".to_owned(), |name| format!("in work tree `{name}`"))
}

/// The phase that work goes on in: the one that was named, or the next of its plan once all of its tasks are over.
/// `phases` are those of the plan in their order, each with whether that is so.
pub fn current_phase<Id: PartialEq>(named: Id, phases: impl IntoIterator<Item = (Id, bool)>) -> Id {
    let mut from_here = phases.into_iter().skip_while(|(id, _)| *id != named);
    let open = from_here.find(|(_, is_over)| !is_over);
    open.map_or(named, |(id, _)| id)
}

/// Refuses paths that look like globs and can be read as none: they would mean nothing, silently.
///
/// # Errors
/// `invalid` with what is wrong with the glob.
pub fn check_globs(argument: &str, paths: &[Scope]) -> Result<(), Rejection> {
    paths
        .iter()
        .try_for_each(|path| path.check_glob())
        .map_err(|problem| Rejection::invalid(argument, problem))
}
