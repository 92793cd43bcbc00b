//! Events of spaces: checks at their borders, promotions, and phases.

use serde::{Deserialize, Serialize};

use crate::domain::memory::{Authority, MemoryEvent, MemoryId, Owner, Source, Space};
use crate::domain::phase::{PhaseNumber, PhaseReason};
use crate::domain::spaces::{BorderAction, BorderReason};
use crate::domain::text::{Reason, Title, UserName};

/// A border was checked before an item crossed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BorderChecked {
    /// What was to be done.
    pub action: BorderAction,
    /// The space of the item.
    pub from_space: Space,
    /// The space to which it was to go.
    pub to_space: Space,
    /// The item.
    pub memory_id: MemoryId,
    /// Whether it may cross.
    pub allowed: bool,
    /// The reason.
    pub reason: BorderReason,
    /// The SHA-256 of the policy.
    pub policy: String,
    /// The person whose space is concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserName>,
}

/// An item was copied into another space. It is shown there from now on, and no more where it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryPromoted {
    /// The space of the item.
    pub from_space: Space,
    /// The space of the copy.
    pub to_space: Space,
    /// The item.
    pub from_id: MemoryId,
    /// The copy. The event after this one makes it.
    pub to_id: MemoryId,
    /// Ledger position of the item.
    pub source_seq: u64,
    /// The author of the item.
    pub source: Source,
    /// The event type of the copy.
    pub event_type: MemoryEvent,
    /// The authority with which it crossed.
    pub authority_used: Authority,
    /// The reason why it may cross.
    pub reason: BorderReason,
    /// The reason for the promotion, in the caller's words.
    pub why: Reason,
    /// The SHA-256 of the policy.
    pub policy: String,
    /// The person in whose space the copy is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserName>,
}

/// A promotion was refused. The item stays where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromotionDenied {
    /// The space of the item.
    pub from_space: Space,
    /// The space to which it was to go.
    pub to_space: Space,
    /// The item.
    pub memory_id: MemoryId,
    /// The reason.
    pub reason: BorderReason,
    /// The SHA-256 of the policy.
    pub policy: String,
    /// The person whose space is concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserName>,
}

/// A phase of a space began, and the one before it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseStarted {
    /// The space.
    pub space: Space,
    /// The owner of the space.
    pub owner: Owner,
    /// The phase.
    pub phase_id: PhaseNumber,
    /// Its label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Title>,
    /// Why it began.
    pub reason: PhaseReason,
    /// The reason in the caller's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Reason>,
    /// The SHA-256 of the policy.
    pub policy: String,
    /// The person whose space it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserName>,
}
