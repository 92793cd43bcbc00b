//! Events of decisions, of their targets, and of contradictions between claims.

use serde::{Deserialize, Serialize};

use crate::domain::agent::AgentId;
use crate::domain::claim::{ContradictionKind, Outcome, Resolution, Tier};
use crate::domain::ids::ClaimId;
use crate::domain::scope::Scope;
use crate::domain::text::{Rationale, Reason};
use crate::domain::time::Timestamp;

/// One side of a contradiction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Side {
    /// The claim.
    pub claim_id: ClaimId,
    /// The agent that stands by the claim. If both sides have the same claim, one of the agents challenges it.
    pub agent: AgentId,
}

/// Two sides contradict each other. The event occurs once for each kind and pair of sides.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ContradictionDetected {
    /// The kind of the contradiction.
    pub kind: ContradictionKind,
    /// The certainty of the contradiction.
    pub tier: Tier,
    /// The older side.
    pub left: Side,
    /// The side that caused the contradiction.
    pub right: Side,
}

/// A contradiction ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContradictionResolved {
    /// The kind of the contradiction.
    pub kind: ContradictionKind,
    /// The older side.
    pub left: Side,
    /// The side that caused the contradiction.
    pub right: Side,
    /// The reason of its end.
    pub cause: Resolution,
}

/// A name of a target was joined to another one. Both mean the same target from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetAliased {
    /// The name that stays.
    pub target: Scope,
    /// The name that becomes an alias.
    pub alias: Scope,
}

/// An alias was separated from its target. Records under the alias belong to it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetParted {
    /// The name to which it was joined.
    pub target: Scope,
    /// The name that is separate again, together with the names joined to it.
    pub alias: Scope,
}

/// A rejected alternative of a decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RejectedAlternative {
    /// The claim that states the alternative.
    pub claim_id: ClaimId,
    /// The reason of the rejection.
    pub rejection_reason: Reason,
}

/// A claim was recorded as a decision, with its rationale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecisionRecorded {
    /// The claim of type decision. Its id is also the id of the decision.
    pub claim_id: ClaimId,
    /// The reason of the choice.
    pub rationale: Rationale,
    /// The problem that the decision settles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Reason>,
    /// The target. Each target has one decision in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Scope>,
    /// The rejected alternatives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<RejectedAlternative>,
    /// When the decision was taken, if earlier than its record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Timestamp>,
}

/// The outcome of a decision was recorded, or recorded again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutcomeRecorded {
    /// The decision.
    pub claim_id: ClaimId,
    /// The outcome.
    pub outcome: Outcome,
    /// The agent's comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<Reason>,
}
