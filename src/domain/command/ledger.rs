//! Commands about the memory itself: refusals, erasures, losses and notices.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::ids::EventId;
use crate::domain::text::{Label, Reason};

/// Take note of a refusal or of a change of the rules, so that it needs no one any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeeAttention {
    /// The id under which attention shows it.
    pub id: Uuid,
}

/// Put on record that a caller speaks as the operator where no human at a terminal is seen; made by fronts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordOverride {
    /// The verb or command that follows.
    pub verb: Label,
    /// Why, in the caller's words.
    pub reason: Reason,
}

/// Put on record that a front refused a command which held a secret; made by fronts, not by agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DenyRecord {
    /// The rule that found it.
    pub rule: Label,
    /// The field it stood in.
    pub field: Label,
    /// The command it was part of.
    pub command: Label,
}

/// Erase what an event says, for good; the operator's alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forget {
    /// Which event.
    pub event_id: EventId,
    /// Why; it stays on record.
    pub reason: Reason,
}

/// Accept that the ledger or its checkpoints are damaged, and go on from what is left; the operator's alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptLoss {
    /// Why; it stays on record.
    pub reason: Reason,
}
