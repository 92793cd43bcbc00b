//! Commands about claims: statements, positions and evidence.

use serde::{Deserialize, Serialize};

use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, Position, Relation, Share, Trigger};
use crate::domain::evidence::EvidenceName;
use crate::domain::ids::{ClaimId, TaskId};
use crate::domain::scope::Scope;
use crate::domain::text::{Reason, Statement};
use crate::domain::time::Hours;

/// State a fact, a decision, a hypothesis or a dead end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CreateClaim {
    /// Minted by the front, so that it is known even when the command is only queued.
    pub claim_id: ClaimId,
    /// What it says.
    pub statement: Statement,
    /// What kind of statement it is.
    pub claim_type: ClaimType,
    /// What it is about: 1 to 16.
    pub scopes: Vec<Scope>,
    /// The owner's confidence.
    #[serde(default)]
    pub confidence: Share,
    /// The claim it is to replace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<ClaimId>,
    /// Hours until it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_hours: Option<Hours>,
    /// Events that support it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence_refs: Vec<EvidenceName>,
    /// When a negative claim should warn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Trigger>,
    /// The task it comes out of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin_task_id: Option<TaskId>,
    /// Whether it mends what the claim it is to replace is about: that one was right, and is no more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mends: bool,
    /// The agents that are asked for a position: up to 8.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<AgentId>,
    /// After so many minutes without an objection it is agreed by silence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unless_objection_minutes: Option<u32>,
}

/// Support, challenge, or abstain from a claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TakePosition {
    /// Which claim.
    pub claim_id: ClaimId,
    /// Which position.
    pub position: Position,
    /// Why; required for a challenge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The event it rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence_ref: Option<EvidenceName>,
}

/// Say that a claim is still meant, about its files as they are now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AffirmClaim {
    /// Which claim.
    pub claim_id: ClaimId,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

/// Tie an event of the ledger to a claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AddEvidence {
    /// Which claim.
    pub claim_id: ClaimId,
    /// The event.
    pub evidence_ref: EvidenceName,
    /// What it says about the claim.
    pub relation: Relation,
    /// How much it says.
    #[serde(default)]
    pub weight: Share,
    /// In the agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Reason>,
}

/// Take the link of an event to a claim back: it was the wrong event, or says something else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetractEvidence {
    /// Which claim.
    pub claim_id: ClaimId,
    /// The event.
    pub evidence_ref: EvidenceName,
    /// Which link, where the event stands in several relations to the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relation: Option<Relation>,
    /// Why; it stays on record.
    pub reason: Reason,
}

/// Put a claim out of force, for good.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeprecateClaim {
    /// Which claim.
    pub claim_id: ClaimId,
    /// Why.
    pub reason: Reason,
}

/// Keep a claim against what agents proposed; the operator's alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeepClaim {
    /// Which claim.
    pub claim_id: ClaimId,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}
