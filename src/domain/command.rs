//! Requests to change something, in the imperative, as a front hands them to the writer.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, Outcome, Position, Relation, ReportKind, Share, Trigger};
use crate::domain::ids::{ClaimId, CommandId, EventId, IdempotencyKey, SessionId};
use crate::domain::scope::Scope;
use crate::domain::text::{CommandLine, ErrorSignature, Label, Rationale, Reason, Statement, Summary};
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

/// Say that two names mean one target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AliasTarget {
    /// The name that stays.
    pub target: Scope,
    /// The other name.
    pub alias: Scope,
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
    /// See [`AliasTarget`].
    AliasTarget(AliasTarget),
    /// See [`DenyRecord`].
    DenyRecord(DenyRecord),
    /// See [`Forget`].
    Forget(Forget),
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
            Self::AliasTarget(_) => "alias_target",
            Self::DenyRecord(_) => "deny_record",
            Self::Forget(_) => "forget",
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
            | Self::RecordOutcome(_)
            | Self::AliasTarget(_)
            | Self::DenyRecord(_)
            | Self::Forget(_) => None,
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
            Self::Forget(forget) => Some(forget.event_id.uuid()),
            Self::AliasTarget(_) | Self::DenyRecord(_) => None,
        }
    }

    /// Every text of the command, with the name of its field.
    pub fn texts(&self) -> Vec<(&'static str, &str)> {
        let mut texts = Vec::new();
        match self {
            Self::CreateClaim(create) => {
                texts.push(("statement", create.statement.as_str()));
                texts.extend(create.scopes.iter().map(|scope| ("scopes", scope.as_str())));
                if let Some(Trigger { paths, commands, symbols, error_signature }) = &create.trigger {
                    texts.extend(paths.iter().map(|path| ("trigger.paths", path.as_str())));
                    texts.extend(commands.iter().map(|command| ("trigger.commands", command.as_str())));
                    texts.extend(symbols.iter().map(|symbol| ("trigger.symbols", symbol.as_str())));
                    texts.extend(
                        error_signature.iter().map(|error| ("trigger.error_signature", error.as_str())),
                    );
                }
            }
            Self::TakePosition(take) => {
                texts.extend(take.reason.iter().map(|reason| ("reason", reason.as_str())));
            }
            Self::AddEvidence(add) => texts.extend(add.note.iter().map(|note| ("note", note.as_str()))),
            Self::DeprecateClaim(deprecate) => texts.push(("reason", deprecate.reason.as_str())),
            Self::ReportEvent(report) => {
                texts.push(("summary", report.summary.as_str()));
                texts.extend(report.paths.iter().map(|path| ("paths", path.as_str())));
                texts.extend(report.command.iter().map(|command| ("command", command.as_str())));
                texts.extend(report.error_signature.iter().map(|error| ("error_signature", error.as_str())));
            }
            Self::RecordDecision(record) => {
                texts.extend(record.statement.iter().map(|statement| ("statement", statement.as_str())));
                texts.push(("rationale", record.rationale.as_str()));
                texts.extend(record.context.iter().map(|context| ("context", context.as_str())));
                texts.extend(record.target.iter().map(|target| ("target", target.as_str())));
                texts.extend(record.scopes.iter().map(|scope| ("scopes", scope.as_str())));
                for alternative in &record.alternatives {
                    texts.extend(alternative.statement.iter().map(|text| ("alternatives", text.as_str())));
                    texts.push(("alternatives", alternative.rejection_reason.as_str()));
                }
            }
            Self::RecordOutcome(record) => {
                texts.extend(record.notes.iter().map(|notes| ("notes", notes.as_str())));
            }
            Self::AliasTarget(AliasTarget { target, alias }) => {
                texts.extend([("target", target.as_str()), ("alias", alias.as_str())]);
            }
            Self::DenyRecord(DenyRecord { rule, field, command }) => texts.extend([
                ("rule", rule.as_str()),
                ("field", field.as_str()),
                ("command", command.as_str()),
            ]),
            Self::Forget(forget) => texts.push(("reason", forget.reason.as_str())),
        }
        texts
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
            | Self::RecordOutcome(_)
            | Self::AliasTarget(_)
            | Self::DenyRecord(_)
            | Self::Forget(_) => {}
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

impl Submission {
    /// Every text of the submission, with the name of its field.
    pub fn texts(&self) -> Vec<(&'static str, &str)> {
        let mut texts = self.command.texts();
        texts.push(("agent", self.agent.as_str()));
        texts.extend(self.session.iter().map(|session| ("session", session.as_str())));
        texts.extend(self.trace_id.iter().map(|trace| ("trace_id", trace.as_str())));
        texts.extend(self.idempotency_key.iter().map(|key| ("idempotency_key", key.as_str())));
        texts
    }
}
