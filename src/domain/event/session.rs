//! Events of sessions: start and end, seats, anchors, hand-overs and warnings.

use serde::{Deserialize, Serialize};

use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::ids::{ClaimId, SessionId};
use crate::domain::session::{Belief, EndCause, Role, Source};
use crate::domain::text::{AnchorKey, AnchorValue, Reason, Said, ToolName, Turn0, UserName};

/// A session started, or started again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionStarted {
    /// The session.
    pub session: SessionId,
    /// The cause of the start.
    pub source: Source,
    /// The client of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ToolName>,
    /// The session that this one continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<SessionId>,
    /// The work tree and branch of the start.
    #[serde(flatten)]
    pub checkout: Checkout,
}

/// A session ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEnded {
    /// The session.
    pub session: SessionId,
    /// The cause of the end.
    pub cause: EndCause,
}

/// A message was recorded in a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnRecorded {
    /// The author of the message.
    pub role: Role,
    /// The text, cut to 2,000 characters.
    pub text: Said,
    /// The ledger position up to which the session got news with this message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<u64>,
}

/// A session took a seat. It keeps the seat's agent until the seat is free and another session takes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSeated {
    /// The agent.
    pub agent: AgentId,
    /// The client, by the name that it sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ToolName>,
    /// The session.
    pub session: SessionId,
    /// Another session of the same pane. The two sessions are one pane from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pane: Option<SessionId>,
    /// A session of another pane, in which the client was before, or whose client started this one's. Both panes keep their
    /// seats and count as one agent from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joins: Option<SessionId>,
    /// Challenges under this name from panes that left. The pane takes them over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub takes_over: Vec<Challenged>,
}

/// A challenge, by its claim and its session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Challenged {
    /// The claim.
    pub claim_id: ClaimId,
    /// The session.
    pub session: SessionId,
}

/// A fact was kept under a key where no compaction loses it. It replaces the earlier fact of the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnchorSaved {
    /// The key.
    pub key: AnchorKey,
    /// The fact.
    pub value: AnchorValue,
    /// The person in whose space it is. None: the space of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserName>,
}

/// An anchor was retired. It has no value any more, and its history stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnchorRetired {
    /// The key.
    pub key: AnchorKey,
    /// The person in whose space it was. None: the space of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserName>,
}

/// A session was split. The child continues with the hand-over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSplit {
    /// The session that was split.
    pub parent: SessionId,
    /// The session that continues.
    pub child: SessionId,
    /// The reason.
    pub reason: Reason,
    /// Tokens that the parent had used, as its client reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_tokens: Option<u64>,
    /// Size of the parent's context window, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_tokens: Option<u64>,
    /// The text with which the child starts. It never changes. [`Turn0Continued`] holds the rest of a text that is too
    /// long for one event.
    pub turn0: Turn0,
}

/// The text at the start of a session was too long for one event. This event holds its next lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn0Continued {
    /// The session that continues.
    pub child: SessionId,
    /// The next lines.
    pub turn0: Turn0,
}

/// The beliefs of an agent were recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BeliefsSnapshotted {
    /// The agent.
    pub agent: AgentId,
    /// The session at whose end this happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The most confident beliefs first, at most 500.
    pub beliefs: Vec<Belief>,
}
