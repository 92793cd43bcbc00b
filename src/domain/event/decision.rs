//! Events of decisions, of the targets that they decide about, and of contradictions between claims.

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
    /// Who stands for it or, where both sides are about one claim, against it.
    pub agent: AgentId,
}

/// Two sides were found to contradict each other: once for each kind and pair of sides.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ContradictionDetected {
    /// How they contradict each other.
    pub kind: ContradictionKind,
    /// How sure that is.
    pub tier: Tier,
    /// The side that was there first.
    pub left: Side,
    /// The side that brought it about.
    pub right: Side,
}

/// A contradiction is no more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContradictionResolved {
    /// How the sides contradicted each other.
    pub kind: ContradictionKind,
    /// The side that was there first.
    pub left: Side,
    /// The side that brought it about.
    pub right: Side,
    /// What ended it.
    pub cause: Resolution,
}

/// A name of a target was joined to another: both mean the same from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetAliased {
    /// The name that stays.
    pub target: Scope,
    /// The other name.
    pub alias: Scope,
}

/// A name of a target was separated from the one it was joined to: what was said under it is about it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetParted {
    /// The name it was joined to.
    pub target: Scope,
    /// The name that stands for itself again, with the names joined to it.
    pub alias: Scope,
}

/// An alternative that was not chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RejectedAlternative {
    /// The claim that states it.
    pub claim_id: ClaimId,
    /// Why it was not chosen.
    pub rejection_reason: Reason,
}

/// A claim was recorded as a decision: what it settles and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecisionRecorded {
    /// The claim of type decision; a decision goes by its id.
    pub claim_id: ClaimId,
    /// Why this was chosen.
    pub rationale: Rationale,
    /// The problem it settles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Reason>,
    /// What it decides about; one decision in force for each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Scope>,
    /// What was not chosen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<RejectedAlternative>,
    /// When it was taken, if that was before it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Timestamp>,
}

/// What became of a decision was recorded, or recorded anew.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutcomeRecorded {
    /// Which decision.
    pub claim_id: ClaimId,
    /// What became of it.
    pub outcome: Outcome,
    /// In the agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<Reason>,
}
