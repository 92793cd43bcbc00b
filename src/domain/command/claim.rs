//! Commands about claims: creation, positions and evidence.

use serde::{Deserialize, Serialize};

use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, Position, Relation, Share, Trigger};
use crate::domain::evidence::EvidenceName;
use crate::domain::ids::{ClaimId, TaskId};
use crate::domain::memory::MemoryEvent;
use crate::domain::scope::Scope;
use crate::domain::text::{Reason, Statement};
use crate::domain::time::Hours;

/// Create a claim: a fact, a decision, a hypothesis or a dead end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CreateClaim {
    /// Minted by the front, so that the caller of a queued command knows it too.
    pub claim_id: ClaimId,
    /// The statement.
    pub statement: Statement,
    /// The type of the claim.
    pub claim_type: ClaimType,
    /// What the claim reports, unless its type says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_type: Option<MemoryEvent>,
    /// The scopes of the claim, 1 to 16.
    pub scopes: Vec<Scope>,
    /// The owner's confidence.
    #[serde(default)]
    pub confidence: Share,
    /// The claim that the new one proposes to supersede.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<ClaimId>,
    /// Hours until the claim expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_hours: Option<Hours>,
    /// Events that support the claim.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence_refs: Vec<EvidenceName>,
    /// The actions that a negative claim warns about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Trigger>,
    /// The task in which the claim is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin_task_id: Option<TaskId>,
    /// Whether the superseded claim was right, and its problem is now mended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mends: bool,
    /// The agents that are asked for a position, at most 8.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<AgentId>,
    /// The agents that are told of it at once, at most 8. No answer is expected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tells: Vec<AgentId>,
    /// Minutes without an objection until silence confirms the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unless_objection_minutes: Option<u32>,
}

/// Support, challenge, or abstain from a claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TakePosition {
    /// The claim.
    pub claim_id: ClaimId,
    /// The position.
    pub position: Position,
    /// The reason. A challenge requires one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The event that the position cites.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence_ref: Option<EvidenceName>,
}

/// State that a claim is still meant, about the present content of its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AffirmClaim {
    /// The claim.
    pub claim_id: ClaimId,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

/// Link an event of the ledger to a claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AddEvidence {
    /// The claim.
    pub claim_id: ClaimId,
    /// The event.
    pub evidence_ref: EvidenceName,
    /// The relation of the event to the claim.
    pub relation: Relation,
    /// The weight of the evidence.
    #[serde(default)]
    pub weight: Share,
    /// The agent's comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Reason>,
}

/// Retract the link of an event to a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetractEvidence {
    /// The claim.
    pub claim_id: ClaimId,
    /// The event.
    pub evidence_ref: EvidenceName,
    /// The relation of the link, if the event has several links to the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relation: Option<Relation>,
    /// The reason, kept on record.
    pub reason: Reason,
}

/// Deprecate a claim for good.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeprecateClaim {
    /// The claim.
    pub claim_id: ClaimId,
    /// The reason.
    pub reason: Reason,
}

/// Keep a claim against the proposals of agents. Only the operator may do so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeepClaim {
    /// The claim.
    pub claim_id: ClaimId,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}
