//! Locks: scopes that a session asks the others to leave alone for a time, by a lock or through a task.

use crate::domain::action::quoted;
use crate::domain::agent::AgentId;
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::plan::in_work_tree;
use crate::domain::scope::Scope;
use crate::domain::text::{Reason, Worktree};
use crate::domain::time::Timestamp;

/// The scope of the team's machine: a lock on it asks for quiet, so that every run conflicts with it.
pub const MACHINE: &str = "tag:cpu";
/// Characters of a reason, or of a task's title, that a sentence quotes.
const MAX_QUOTED_CHARS: usize = 120;

/// A lock that a session took without a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    /// The agent that took it.
    pub agent: AgentId,
    /// The stated purpose.
    pub why: Reason,
    /// When it ends by itself. Events of its session do not extend it.
    pub until: Timestamp,
    /// The linked work tree of the holder; `None` for the main one.
    pub worktree: Option<Worktree>,
}

/// The purpose of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose<'a> {
    /// The lock belongs to a task.
    Task(TaskId),
    /// The lock has a reason of its own.
    Why(&'a Reason),
}

/// One scope that a session locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Locked<'a> {
    /// The locked scope.
    pub scope: &'a Scope,
    /// The agent that holds the lock.
    pub agent: &'a AgentId,
    /// The session that holds the lock.
    pub session: &'a SessionId,
    /// When the lock ends unless it is extended.
    pub until: Timestamp,
    /// The linked work tree of the holder; `None` for the main one.
    pub worktree: Option<&'a Worktree>,
    /// The purpose of the lock.
    pub purpose: Purpose<'a>,
}

/// Whether a scope means the same thing in two work trees. Each work tree has its own files, and its own symbols in
/// them. Tags and targets are shared.
pub fn is_same_thing(scope: &Scope, here: Option<&str>, there: Option<&str>) -> bool {
    here == there || !(scope.is_path() || scope.as_str().starts_with("symbol:"))
}

/// The facts for the sentence about another agent's lock. The sentence is the same in a receipt, in a refusal and
/// before a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice<'a> {
    /// The agent that holds the lock.
    pub holder: &'a str,
    /// The locked scope.
    pub what: &'a str,
    /// The purpose: [`for_task`] or [`because`].
    pub purpose: String,
    /// When the lock ends.
    pub until: Timestamp,
    /// The holder's work tree, if the scope means another thing there than for the reader; the inner `None` is the
    /// main work tree.
    pub elsewhere: Option<Option<&'a str>>,
}

/// The purpose of a lock through a task, with the title if it is known.
pub fn for_task(name: &str, title: Option<&str>) -> String {
    let title = title.map_or_else(String::new, |title| format!(" ({})", quoted(title, MAX_QUOTED_CHARS)));
    format!("for task {name}{title}")
}

/// The purpose of a lock with a reason.
pub fn because(why: &str) -> String {
    format!("for \"{}\"", quoted(why, MAX_QUOTED_CHARS))
}

impl Notice<'_> {
    /// The sentence: holder, scope, purpose, remaining time, and the next step.
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
