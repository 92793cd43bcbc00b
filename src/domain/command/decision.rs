//! Commands about decisions and the targets that they decide about.

use serde::{Deserialize, Serialize};

use crate::domain::agent::AgentId;
use crate::domain::claim::Outcome;
use crate::domain::ids::{ClaimId, EventId};
use crate::domain::scope::Scope;
use crate::domain::text::{Rationale, Reason, Statement};
use crate::domain::time::Timestamp;

/// An alternative to a decision, as it is named in the command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    /// A known claim, or the id minted for a new one.
    pub claim_id: ClaimId,
    /// What the new one says; none for a known claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<Statement>,
    /// Why it was not chosen.
    pub rejection_reason: Reason,
}

/// Record a decision: a new claim, or one that is there already.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordDecision {
    /// A known claim of type decision, or the id minted for a new one.
    pub claim_id: ClaimId,
    /// What the new claim says; none for a known one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<Statement>,
    /// Why this was chosen.
    pub rationale: Rationale,
    /// The problem it settles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Reason>,
    /// What it decides about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Scope>,
    /// What the new claim is about, besides the target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<Scope>,
    /// What was not chosen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<Alternative>,
    /// The decisions it replaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<ClaimId>,
    /// Whether it mends what those are about: they were right, and are no more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mends: bool,
    /// Events that support the new claim.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence_refs: Vec<EventId>,
    /// When it was taken, if that was before; only a backfill knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Timestamp>,
    /// The agents that are asked for a position on the new claim: up to 8.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<AgentId>,
    /// After so many minutes without an objection the new claim is agreed by silence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unless_objection_minutes: Option<u32>,
}

/// Record what became of a decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordOutcome {
    /// The decision's claim.
    pub decision_id: ClaimId,
    /// What became of it.
    pub outcome: Outcome,
    /// In the agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<Reason>,
}

/// Say that two names mean one target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AliasTarget {
    /// The name that stays.
    pub target: Scope,
    /// The other name.
    pub alias: Scope,
}

/// Take an alias of a target apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartTarget {
    /// The name that is to stand for itself again.
    pub alias: Scope,
}
