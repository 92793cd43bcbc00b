//! The plan graph's words: tasks, who holds them and for how long, and where the team is looking.

use globset::{ErrorKind, GlobBuilder, GlobSet};
use serde::{Deserialize, Serialize};

use crate::domain::agent::AgentId;
use crate::domain::claim::word;
use crate::domain::ids::{PhaseId, PlanId, SessionId, TaskId};
use crate::domain::rejection::Rejection;
use crate::domain::scope::Scope;
use crate::domain::text::{Intent, Worktree};
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

/// What makes a path a glob.
const WILD: [char; 4] = ['*', '?', '[', '{'];

/// The part of a path or glob that names a directory or file for certain: what lies there is meant.
pub fn certain(lock: &Scope) -> Option<Scope> {
    let text = lock.as_str();
    let Some(wild) = text.find(WILD) else { return Some(lock.clone()) };
    let directory = text[..wild].rfind('/').map_or(".", |at| &text[..at]);
    Scope::try_from(directory.to_owned()).ok()
}

/// Whether two locks may mean the same file. Globs are compared by the directory they begin with: a needless
/// warning costs less than a lost edit.
pub fn may_collide(one: &Scope, other: &Scope) -> bool {
    match (certain(one), certain(other)) {
        (Some(one), Some(other)) => one.overlaps(&other),
        _ => false,
    }
}

/// Whether a path of a lock or trigger means this very file: a path and all below it, or a glob. Either is tried, for
/// directories are called `[id]`, too.
pub fn means(path: &Scope, file: &Scope) -> bool {
    means_any(path, std::slice::from_ref(file))
}

/// Whether a path of a lock or trigger [`means`] one of these files. A glob is read once for all of them, which costs
/// far more than to match with it.
pub fn means_any(path: &Scope, files: &[Scope]) -> bool {
    let files = || files.iter().filter(|file| file.is_path());
    path.is_path()
        && (files().any(|file| path.covers(file))
            || (path.as_str().contains(WILD)
                && matcher(path).is_ok_and(|glob| files().any(|file| glob.is_match(file.as_str())))))
}

/// Refuses paths that look like globs and can be read as none: they would mean nothing, silently.
///
/// # Errors
/// `invalid` with what is wrong with the glob.
pub fn check_globs(argument: &str, paths: &[Scope]) -> Result<(), Rejection> {
    for path in paths.iter().filter(|path| path.is_path() && path.as_str().contains(WILD)) {
        matcher(path).map_err(|problem| {
            // Such a problem quotes pages of a regex that nobody wrote.
            let is_of_regex = matches!(problem.kind(), ErrorKind::Regex(_));
            let why = if is_of_regex {
                "it has too many parts, or too many within each other".to_owned()
            } else {
                problem.kind().to_string()
            };
            Rejection::invalid(
                argument,
                format!("`{path}` is no glob: {why}; write src/*.rs, or src/** for all below"),
            )
        })?;
    }
    Ok(())
}

/// As a set of one: a glob alone panics where its regex cannot be made.
fn matcher(path: &Scope) -> Result<GlobSet, globset::Error> {
    GlobSet::new([GlobBuilder::new(path.as_str()).literal_separator(true).build()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_collide_where_they_may_mean_one_file() {
        let scope = |text: &str| Scope::parse(text, "").expect("a path");
        let collide = |one: &str, other: &str| may_collide(&scope(one), &scope(other));
        assert!(collide("src/db", "src/db/pool.rs"));
        assert!(collide("src/**/*.rs", "src/db/pool.rs"));
        assert!(collide("*.md", "src"));
        assert!(!collide("src/db/*.rs", "src/ui/app.ts"));
        assert!(!collide("src/db", "src/dbx"));
        let locked = |lock: &str, file: &str| means(&scope(lock), &scope(file));
        assert!(locked("src/db", "src/db/pool.rs") && locked("src/**/*.rs", "src/db/pool.rs"));
        assert!(locked("app/[id]", "app/[id]/page.tsx"), "some directories are called so");
        assert!(
            !locked("src/*.rs", "src/db/pool.rs") && !locked("src/[", "src/a") && !locked("src/db", "src")
        );
    }
}
