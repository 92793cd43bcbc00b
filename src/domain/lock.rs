//! Locks: what a session asks the others to leave alone for a time, by a lock of its own or through a task.

use crate::domain::action::quoted;
use crate::domain::agent::AgentId;
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::plan::in_work_tree;
use crate::domain::scope::Scope;
use crate::domain::text::{Reason, Worktree};
use crate::domain::time::Timestamp;

/// The machine that the team shares: a lock on it asks for quiet, so that every run is against it.
pub const MACHINE: &str = "tag:cpu";
/// How much of a holder's reason, or of a task's title, a sentence quotes, in characters.
const MAX_QUOTED_CHARS: usize = 120;

/// A lock that a session took without a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    /// Who took it.
    pub agent: AgentId,
    /// What for.
    pub why: Reason,
    /// When it ends by itself; no event of its session moves that.
    pub until: Timestamp,
    /// The linked work tree its holder works in; none for the main one.
    pub worktree: Option<Worktree>,
}

/// What a lock is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose<'a> {
    /// It is held through a task.
    Task(TaskId),
    /// It was taken for this reason.
    Why(&'a Reason),
}

/// One scope that a session locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Locked<'a> {
    /// What is locked.
    pub scope: &'a Scope,
    /// Who holds it.
    pub agent: &'a AgentId,
    /// The session that does.
    pub session: &'a SessionId,
    /// When it ends, if nothing moves that.
    pub until: Timestamp,
    /// The linked work tree its holder works in; none for the main one.
    pub worktree: Option<&'a Worktree>,
    /// What for.
    pub purpose: Purpose<'a>,
}

/// Whether a scope means the same thing in two work trees. A file, and a symbol in it, is another one in each; a tag or a
/// target is one thing for all.
pub fn is_same_thing(scope: &Scope, here: Option<&str>, there: Option<&str>) -> bool {
    here == there || !(scope.is_path() || scope.as_str().starts_with("symbol:"))
}

/// What an agent is told of another agent's lock, the same in a receipt, a refusal and before a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice<'a> {
    /// Who holds it.
    pub holder: &'a str,
    /// What is locked.
    pub what: &'a str,
    /// What for: [`for_task`] or [`because`].
    pub purpose: String,
    /// When it ends.
    pub until: Timestamp,
    /// The work tree it is in, where that makes it another thing than the reader's: none for the main one.
    pub elsewhere: Option<Option<&'a str>>,
}

/// A lock that is held through a task, with the title where it is known.
pub fn for_task(name: &str, title: Option<&str>) -> String {
    let title = title.map_or_else(String::new, |title| format!(" ({})", quoted(title, MAX_QUOTED_CHARS)));
    format!("for task {name}{title}")
}

/// A lock that was taken for a reason.
pub fn because(why: &str) -> String {
    format!("for \"{}\"", quoted(why, MAX_QUOTED_CHARS))
}

impl Notice<'_> {
    /// Who holds what, what for and for how long still, and what to do about it.
    pub fn sentence(&self, now: Timestamp) -> String {
        let Self { holder, what, purpose, until, elsewhere } = self;
        let end = format!("until {until} ({} left)", now.age(*until));
        match elsewhere {
            None => format!("{holder} holds {what} {purpose} {end}: agree first, or work elsewhere"),
            Some(there) => format!(
                "{holder} edits {what} {} {purpose} {end}: it will conflict when merged; agree first",
                in_work_tree(*there)
            ),
        }
    }
}
