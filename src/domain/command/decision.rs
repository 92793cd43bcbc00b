//! Commands about decisions and their targets.

use serde::{Deserialize, Serialize};

use crate::domain::agent::AgentId;
use crate::domain::claim::Outcome;
use crate::domain::ids::{ClaimId, EventId};
use crate::domain::scope::Scope;
use crate::domain::text::{Rationale, Reason, Statement};
use crate::domain::time::Timestamp;

/// A rejected alternative in a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    /// A known claim, or the id minted for a new one.
    pub claim_id: ClaimId,
    /// The statement of a new claim. None for a known claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<Statement>,
    /// The reason of the rejection.
    pub rejection_reason: Reason,
}

/// Record a decision, as a new claim or for an existing one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordDecision {
    /// A known claim of type decision, or the id minted for a new one.
    pub claim_id: ClaimId,
    /// The statement of a new claim. None for a known claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<Statement>,
    /// The reason of the choice.
    pub rationale: Rationale,
    /// The problem that the decision settles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Reason>,
    /// The target of the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Scope>,
    /// The scopes of a new claim, besides the target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<Scope>,
    /// The rejected alternatives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<Alternative>,
    /// The decisions that this one supersedes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<ClaimId>,
    /// Whether the superseded decisions were right, and their problem is now mended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mends: bool,
    /// Events that support a new claim.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence_refs: Vec<EventId>,
    /// When the decision was taken, if earlier than now. Only a backfill knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Timestamp>,
    /// The agents that are asked for a position on a new claim, at most 8.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<AgentId>,
    /// Minutes without an objection until silence confirms a new claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unless_objection_minutes: Option<u32>,
}

/// Record the outcome of a decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordOutcome {
    /// The claim of the decision.
    pub decision_id: ClaimId,
    /// The outcome.
    pub outcome: Outcome,
    /// The agent's comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<Reason>,
}

/// Join two names of one target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AliasTarget {
    /// The name that stays.
    pub target: Scope,
    /// The name that becomes an alias.
    pub alias: Scope,
}

/// Separate an alias from its target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartTarget {
    /// The alias.
    pub alias: Scope,
}
