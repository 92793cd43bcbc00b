//! Events of patterns. The writer opens and closes them as `system`.

use serde::{Deserialize, Serialize};

use crate::domain::agent::AgentId;
use crate::domain::ids::{PatternId, SessionId, TaskId};
use crate::domain::pattern::{PatternEnd, PatternKind, Repeats};
use crate::domain::scope::Scope;
use crate::domain::text::{CommandLine, Reason};

/// A pattern was found in the work of the team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatternOpened {
    /// Equal to the event's own id.
    pub pattern_id: PatternId,
    /// The kind of the pattern.
    pub kind: PatternKind,
    /// The subject: the commands of a loop, the id of a task, a session, a scope, two agents, or a test.
    pub about: CommandLine,
    /// The number of this episode among those of the same subject, from 1.
    pub episode: u32,
    /// The sessions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<SessionId>,
    /// The agents, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentId>,
    /// The task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The scopes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<Scope>,
    /// Ledger positions of the events that show the pattern, at most 32, the oldest first.
    pub rests_on: Vec<u64>,
    /// What repeats.
    pub repeats: Repeats,
}

/// A pattern ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatternClosed {
    /// The pattern.
    pub pattern_id: PatternId,
    /// The reason.
    pub why: PatternEnd,
}

/// An agent or the operator judged that the pattern is none. The same subject is not raised again for a day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatternDismissed {
    /// The pattern.
    pub pattern_id: PatternId,
    /// The reason.
    pub reason: Reason,
}
