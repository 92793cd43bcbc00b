//! Requests to change something, in the imperative, as a front hands them to the writer.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, Outcome, Position, Relation, ReportKind, Share, Trigger};
use crate::domain::ids::{ClaimId, CommandId, EventId, IdempotencyKey, SessionId};
use crate::domain::scope::Scope;
use crate::domain::text::{CommandLine, ErrorSignature, Rationale, Reason, Statement, Summary};
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
    pub evidence_refs: Vec<EventId>,
    /// When a negative claim should warn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Trigger>,
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
    pub evidence_ref: Option<EventId>,
}

/// Tie an event of the ledger to a claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AddEvidence {
    /// Which claim.
    pub claim_id: ClaimId,
    /// The event.
    pub evidence_ref: EventId,
    /// What it says about the claim.
    pub relation: Relation,
    /// How much it says.
    #[serde(default)]
    pub weight: Share,
    /// In the agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Reason>,
}

/// Put a claim out of force, for good.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeprecateClaim {
    /// Which claim.
    pub claim_id: ClaimId,
    /// Why.
    pub reason: Reason,
}

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

/// Report what was seen or done, to be cited as evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportEvent {
    /// Minted by the front.
    pub event_id: EventId,
    /// What kind of report.
    pub kind: ReportKind,
    /// What happened.
    pub summary: Summary,
    /// Files it concerns; required for `file_edited`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<Scope>,
    /// The command; required for `command_ran`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandLine>,
    /// What it exited with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The error it showed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_signature: Option<ErrorSignature>,
}

/// Everything an agent can ask for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", content = "args", rename_all = "snake_case")]
pub enum Command {
    /// See [`CreateClaim`].
    CreateClaim(CreateClaim),
    /// See [`TakePosition`].
    TakePosition(TakePosition),
    /// See [`AddEvidence`].
    AddEvidence(AddEvidence),
    /// See [`DeprecateClaim`].
    DeprecateClaim(DeprecateClaim),
    /// See [`ReportEvent`].
    ReportEvent(ReportEvent),
    /// See [`RecordDecision`].
    RecordDecision(RecordDecision),
    /// See [`RecordOutcome`].
    RecordOutcome(RecordOutcome),
}

impl Command {
    /// The command's name, as in its wire form.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::CreateClaim(_) => "create_claim",
            Self::TakePosition(_) => "take_position",
            Self::AddEvidence(_) => "add_evidence",
            Self::DeprecateClaim(_) => "deprecate_claim",
            Self::ReportEvent(_) => "report_event",
            Self::RecordDecision(_) => "record_decision",
            Self::RecordOutcome(_) => "record_outcome",
        }
    }

    /// The id of what the command makes; its first event carries the same one.
    pub const fn minted(&self) -> Option<Uuid> {
        match self {
            Self::CreateClaim(create) => Some(create.claim_id.uuid()),
            Self::ReportEvent(report) => Some(report.event_id.uuid()),
            Self::RecordDecision(decision) if decision.statement.is_some() => Some(decision.claim_id.uuid()),
            Self::TakePosition(_)
            | Self::AddEvidence(_)
            | Self::DeprecateClaim(_)
            | Self::RecordDecision(_)
            | Self::RecordOutcome(_) => None,
        }
    }

    /// What the command makes or changes: a claim, or the event it reports.
    pub const fn entity(&self) -> Option<Uuid> {
        match self {
            Self::CreateClaim(create) => Some(create.claim_id.uuid()),
            Self::TakePosition(take) => Some(take.claim_id.uuid()),
            Self::AddEvidence(add) => Some(add.claim_id.uuid()),
            Self::DeprecateClaim(deprecate) => Some(deprecate.claim_id.uuid()),
            Self::ReportEvent(report) => Some(report.event_id.uuid()),
            Self::RecordDecision(decision) => Some(decision.claim_id.uuid()),
            Self::RecordOutcome(outcome) => Some(outcome.decision_id.uuid()),
        }
    }

    /// The command as its caller meant it: without the ids a front minted, which differ between retries.
    pub fn intent(&self) -> Self {
        let mut intent = self.clone();
        match &mut intent {
            Self::CreateClaim(create) => create.claim_id = ClaimId::from_uuid(Uuid::nil()),
            Self::ReportEvent(report) => report.event_id = EventId::from_uuid(Uuid::nil()),
            Self::RecordDecision(decision) => {
                if decision.statement.is_some() {
                    decision.claim_id = ClaimId::from_uuid(Uuid::nil());
                }
                for alternative in decision.alternatives.iter_mut().filter(|new| new.statement.is_some()) {
                    alternative.claim_id = ClaimId::from_uuid(Uuid::nil());
                }
            }
            Self::TakePosition(_)
            | Self::AddEvidence(_)
            | Self::DeprecateClaim(_)
            | Self::RecordOutcome(_) => {}
        }
        intent
    }
}

/// A command on its way to the writer, with who asks and under which names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    /// Minted by the front; a retry of the same request carries the same one.
    pub command_id: CommandId,
    /// Who asks, canonical.
    pub agent: AgentId,
    /// In which session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The trace the call belongs to, as the client names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// The caller's own name for the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<IdempotencyKey>,
    /// What is asked.
    pub command: Command,
}
