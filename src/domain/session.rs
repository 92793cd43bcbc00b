//! Words of a session: how it began, who said what, how it ended, and what its agent held to be right.

use serde::{Deserialize, Serialize};

use crate::domain::agent::AgentId;
use crate::domain::claim::{Share, word};
use crate::domain::ids::ClaimId;
use crate::domain::time::Timestamp;

/// Minutes without an event after which the writer takes a session's client for gone: longer than the longest build most teams wait for.
pub const VANISHED_AFTER_MINUTES: i64 = 30;
/// Messages of a dialogue that are kept whole: the last three questions and answers.
pub const WHOLE_TURNS: usize = 6;
/// Segments of the summary of what fell out of a dialogue.
pub const SUMMARY_SEGMENTS: usize = 6;
/// Characters of each segment: one line of a terminal.
pub const SUMMARY_SEGMENT_CHARS: usize = 80;
/// Beliefs of one snapshot, the most confident ones.
pub const MAX_BELIEFS: usize = 500;

word!(
    /// How a session came to start.
    Source("source of a session") {
        /// A new one.
        Startup = "startup",
        /// An old one goes on.
        Resume = "resume",
        /// Its context was emptied.
        Clear = "clear",
        /// Its context was summarised.
        Compact = "compact",
        /// It goes on from a copy of another.
        Fork = "fork",
    }
);

word!(
    /// Why a session is over.
    EndCause("cause of an end") {
        /// Its client said so.
        Ended = "ended",
        /// Nothing was heard of it for too long.
        Vanished = "vanished",
    }
);

word!(
    /// Who said something.
    Role("role") {
        /// The human, or whoever prompts.
        User = "user",
        /// The agent.
        Assistant = "assistant",
    }
);

word!(
    /// How an agent stands to a claim.
    Stance("stance") {
        /// Owns or supports it.
        Believes = "+",
        /// Challenges it.
        Disbelieves = "-",
    }
);

/// One belief: the claim, the confidence its owner gave it, and how the agent stands to it. A list on the wire:
/// 500 of them are to fit into one event.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Belief(pub ClaimId, pub Share, pub Stance);

/// One session, as far as the rules look at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Whose it is.
    pub agent: AgentId,
    /// When it last did anything.
    pub last_seen: Timestamp,
}
