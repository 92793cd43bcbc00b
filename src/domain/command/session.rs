//! Commands about sessions: their start and end, anchors, hand-overs and warnings.

use serde::{Deserialize, Serialize};

use crate::domain::event::Guard;
use crate::domain::ids::SessionId;
use crate::domain::session::{Role, Source};
use crate::domain::text::{AnchorKey, AnchorValue, CommandLine, Reason, Said, ToolName, Turn0};

/// Say that the session starts, or starts again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartSession {
    /// How it came to.
    pub source: Source,
    /// The client it runs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ToolName>,
    /// The session it goes on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<SessionId>,
}

/// Say that the session is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndSession {}

/// Keep what was said in the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordTurn {
    /// By whom.
    pub role: Role,
    /// What.
    pub text: Said,
    /// The ledger position up to which the session is told what is new, with this message; none when nothing was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<u64>,
}

/// Put a fact where no compaction loses it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SaveAnchor {
    /// Its name.
    pub key: AnchorKey,
    /// What it holds.
    pub value: AnchorValue,
}

/// Let an anchor hold nothing any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetireAnchor {
    /// Its name.
    pub key: AnchorKey,
}

/// End the session here, and hand over to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitSession {
    /// The session that goes on; minted by the front.
    pub child: SessionId,
    /// Why.
    pub reason: Reason,
    /// Tokens used, as the client reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_tokens: Option<u64>,
    /// Tokens its window holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_tokens: Option<u64>,
    /// What the child starts with, packed by the front.
    pub turn0: Turn0,
}

/// Write down what the agent holds to be right and wrong now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotBeliefs {}

/// Put on record that somebody was warned right before an action; made by hooks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordFiring {
    /// What warned.
    pub guard: Guard,
    /// What matched.
    pub matched: CommandLine,
}
