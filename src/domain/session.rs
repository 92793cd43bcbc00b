//! The vocabulary of sessions: start, messages, end, and the beliefs of an agent.

use serde::{Deserialize, Serialize};

use crate::domain::agent::AgentId;
use crate::domain::claim::{Share, word};
use crate::domain::ids::ClaimId;
use crate::domain::time::Timestamp;

/// Minutes of silence after which the writer considers a session's client gone: longer than most builds.
pub const VANISHED_AFTER_MINUTES: i64 = 30;
/// The messages of a dialogue that are kept whole: the last three questions and answers.
pub const WHOLE_TURNS: usize = 6;
/// Segments in the summary of the older messages.
pub const SUMMARY_SEGMENTS: usize = 6;
/// Characters of each segment: one line of a terminal.
pub const SUMMARY_SEGMENT_CHARS: usize = 80;
/// The most beliefs in one snapshot; the most confident ones are kept.
pub const MAX_BELIEFS: usize = 500;

word!(
    /// How a session started.
    Source("source of a session") {
        /// As a new session.
        Startup = "startup",
        /// As the continuation of an old one.
        Resume = "resume",
        /// After its context was cleared.
        Clear = "clear",
        /// After its context was summarised.
        Compact = "compact",
        /// As a copy of another session.
        Fork = "fork",
    }
);

word!(
    /// Why a session ended.
    EndCause("cause of an end") {
        /// The client ended it.
        Ended = "ended",
        /// It was silent for too long.
        Vanished = "vanished",
    }
);

word!(
    /// The author of a message.
    Role("role") {
        /// The human, or a program that prompts the agent.
        User = "user",
        /// The agent.
        Assistant = "assistant",
    }
);

word!(
    /// An agent's stance on a claim.
    Stance("stance") {
        /// It owns or supports the claim.
        Believes = "+",
        /// It challenges the claim.
        Disbelieves = "-",
    }
);

/// One belief: the claim, its owner's confidence, and the agent's stance. It is serialised as a list, so that 500
/// beliefs fit into one event.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Belief(pub ClaimId, pub Share, pub Stance);

/// A session, as far as the rules need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The agent of the session.
    pub agent: AgentId,
    /// The time of its last event.
    pub last_seen: Timestamp,
}
