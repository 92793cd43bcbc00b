//! Events of sessions: their start and end, seats, anchors, hand-overs and warnings.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::ids::{ClaimId, EventId, SessionId, TaskId};
use crate::domain::session::{Belief, EndCause, Role, Source};
use crate::domain::text::{AnchorKey, AnchorValue, CommandLine, Reason, Said, ToolName, Turn0};

/// A session started, or started again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionStarted {
    /// Which session.
    pub session: SessionId,
    /// How it came to.
    pub source: Source,
    /// The client it runs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ToolName>,
    /// The session it goes on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<SessionId>,
    /// Where it started.
    #[serde(flatten)]
    pub checkout: Checkout,
}

/// A session is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEnded {
    /// Which session.
    pub session: SessionId,
    /// Why.
    pub cause: EndCause,
}

/// Something was said in a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnRecorded {
    /// By whom.
    pub role: Role,
    /// What, cut to 2,000 characters.
    pub text: Said,
    /// The ledger position up to which the session was told what is new, with this message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<u64>,
}

/// A session took a seat: it is this agent until the seat is free and another one takes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSeated {
    /// Who it is.
    pub agent: AgentId,
    /// The client, by the name it gives itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ToolName>,
    /// Which session.
    pub session: SessionId,
    /// A session of the same pane; the two are one pane from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pane: Option<SessionId>,
    /// Challenges under its name, of panes that left: the pane takes them over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub takes_over: Vec<Challenged>,
}

/// A challenge, by its claim and the session in which it was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Challenged {
    /// The claim.
    pub claim_id: ClaimId,
    /// The session.
    pub session: SessionId,
}

/// A fact was put where no compaction loses it; it replaces what stood there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnchorSaved {
    /// Its name.
    pub key: AnchorKey,
    /// What it holds.
    pub value: AnchorValue,
}

/// An anchor was retired: it holds nothing any more, and its history stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnchorRetired {
    /// Its name.
    pub key: AnchorKey,
}

/// A session was split: another goes on from what it hands over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSplit {
    /// The session that is split.
    pub parent: SessionId,
    /// The session that goes on.
    pub child: SessionId,
    /// Why.
    pub reason: Reason,
    /// Tokens the parent had used, as its client reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_tokens: Option<u64>,
    /// Tokens its window holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_tokens: Option<u64>,
    /// What the child starts with, as it was at this moment; it never changes. What is too long for one event goes on
    /// in [`Turn0Continued`].
    pub turn0: Turn0,
}

/// What a session starts with was longer than one event: the next lines of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn0Continued {
    /// The session that goes on.
    pub child: SessionId,
    /// The lines that follow those before.
    pub turn0: Turn0,
}

/// What an agent held to be right and wrong at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BeliefsSnapshotted {
    /// Whose.
    pub agent: AgentId,
    /// In which session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The most confident first; at most 500.
    pub beliefs: Vec<Belief>,
}

/// What a session is warned of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Guard {
    /// A negative claim.
    Claim(ClaimId),
    /// A task: it asks others to stay away from its files, and its own session to settle it.
    Task(TaskId),
    /// A lock without a task, by the event that took it.
    Lock(EventId),
}

impl Guard {
    /// The id of whatever it is.
    pub const fn uuid(self) -> Uuid {
        match self {
            Self::Claim(id) => id.uuid(),
            Self::Task(id) => id.uuid(),
            Self::Lock(id) => id.uuid(),
        }
    }
}

/// An agent was warned of a dead end, by a hook or by the receipt of a write, or of a file that another agent holds; or it
/// was reminded at the end of a turn of a task that its session holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardFired {
    /// What warned.
    pub guard: Guard,
    /// What matched: the command, the path or the error; at the end of a turn `end of turn`, in a receipt `receipt`.
    pub matched: CommandLine,
}
