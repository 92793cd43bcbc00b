//! Requests to change something, in the imperative, as a front hands them to the writer.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::claim::{ClaimType, Outcome, Position, Relation, ReportKind, Share, Trigger};
use crate::domain::event::{CommandRan, FileEdited, Guard, ToolUsed};
use crate::domain::evidence::EvidenceName;
use crate::domain::experiment::{Prediction, ProfileName, RunOutcome};
use crate::domain::ids::{
    ClaimId, CommandId, EventId, IdempotencyKey, PhaseId, PlanId, RunId, SessionId, TaskId,
};
use crate::domain::plan::{TaskStatus, Trajectory};
use crate::domain::scope::Scope;
use crate::domain::seat::Unpinned;
use crate::domain::session::{Role, Source};
use crate::domain::text::{
    AnchorKey, AnchorValue, CommandLine, Description, ErrorSignature, Label, MessageText, Prompt, Rationale,
    Reason, Recipient, Said, Statement, Summary, Title, ToolName, Turn0,
};
use crate::domain::time::{Hours, Timestamp};
use crate::domain::versions::Versions;

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

/// Take an alias of a target apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartTarget {
    /// The name that is to stand for itself again.
    pub alias: Scope,
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

/// Run a profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunExperiment {
    /// Minted by the front.
    pub run_id: RunId,
    /// Which one.
    pub profile: ProfileName,
    /// Values of its parameters, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub args: BTreeMap<String, String>,
    /// The claim it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_id: Option<ClaimId>,
    /// Whether the claim waits for it.
    #[serde(default)]
    pub blocking: bool,
    /// What the claim predicts; `passes` where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prediction: Option<Prediction>,
    /// How often to run it, to be judged together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u32>,
    /// The directory to run in, below the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The variables to pass on, a part of the profile's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env_pass: Option<BTreeSet<String>>,
    /// A shorter time, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// A smaller cap, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_cap_bytes: Option<u64>,
}

/// Tie a run that is over to a claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttachExperiment {
    /// Which run.
    pub run_id: RunId,
    /// Which claim.
    pub claim_id: ClaimId,
    /// In the agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Reason>,
}

/// Stop a run, or take it out of the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelExperiment {
    /// Which run.
    pub run_id: RunId,
}

/// Put a run that an operator started or saw elsewhere on record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordExperiment {
    /// Minted by the front.
    pub run_id: RunId,
    /// What ran, for people.
    pub command: CommandLine,
    /// How it ended and what it left.
    pub outcome: RunOutcome,
    /// Whether its caller overrode the check for a human: then it is that caller's word only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asserted: bool,
}

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

/// Add a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddPlan {
    /// Minted by the front.
    pub plan_id: PlanId,
    /// What it is called.
    pub title: Title,
    /// What the title does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Description>,
    /// The file that holds the plan itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sot_path: Option<Scope>,
}

/// Give a plan up, with its open tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbandonPlan {
    /// Which plan.
    pub plan_id: PlanId,
    /// Why.
    pub reason: Reason,
}

/// Give a plan another title.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenamePlan {
    /// Which plan.
    pub plan_id: PlanId,
    /// What it is to be called.
    pub title: Title,
}

/// Add a phase to a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddPhase {
    /// Minted by the front.
    pub phase_id: PhaseId,
    /// The plan it belongs to; none for the only one that goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<PlanId>,
    /// What it is called.
    pub title: Title,
    /// Its place in the plan; none for the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<u32>,
}

/// Add a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddTask {
    /// Minted by the front.
    pub task_id: TaskId,
    /// What is to be done.
    pub title: Title,
    /// What the title does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Description>,
    /// The phase it belongs to; none for where the team is looking, else the inbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase_id: Option<PhaseId>,
    /// The task it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_task_id: Option<TaskId>,
    /// What must be done before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<TaskId>,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<Scope>,
}

/// Take a task for oneself, or hold it for longer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimTask {
    /// Which task.
    pub task_id: TaskId,
    /// How long to hold it after each event of the session, in minutes; none for 15.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_minutes: Option<u32>,
    /// Files others should stay away from: paths, or globs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub file_locks: Vec<Scope>,
}

/// Ask the others to leave things alone for a time, without a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockScopes {
    /// What to lock.
    pub scopes: Vec<Scope>,
    /// For how many minutes; none for 15.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u32>,
    /// What for.
    pub why: Reason,
}

/// Give locks back before they end by themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleaseScopes {
    /// What to give back, with all that lies below; empty for all that the session locks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<Scope>,
}

/// Say how a task goes, or end it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdateTask {
    /// Which task.
    pub task_id: TaskId,
    /// Where it is now; `open` gives it back.
    pub status: TaskStatus,
    /// How it goes, what is in the way, what came of it; required to block or to invalidate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Reason>,
    /// The number of the hold, as its receipt said it: a hold that is over is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fencing_token: Option<u64>,
}

/// Say what is wanted now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclareIntent {
    /// Where to look from now on.
    #[serde(flatten)]
    pub trajectory: Trajectory,
    /// Whether an agent speaks for the whole team; the operator always does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub team: bool,
}

/// Say that the session starts, or starts again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartSession {
    /// How it came to.
    pub source: Source,
    /// The client it runs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ToolName>,
    /// The session it goes on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<SessionId>,
}

/// Say that the session is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndSession {}

/// Keep what was said in the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordTurn {
    /// By whom.
    pub role: Role,
    /// What.
    pub text: Said,
    /// The ledger position up to which the session is told what is new, with this message; none when nothing was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<u64>,
}

/// Put a fact where no compaction loses it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SaveAnchor {
    /// Its name.
    pub key: AnchorKey,
    /// What it holds.
    pub value: AnchorValue,
}

/// Let an anchor hold nothing any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetireAnchor {
    /// Its name.
    pub key: AnchorKey,
}

/// End the session here, and hand over to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitSession {
    /// The session that goes on; minted by the front.
    pub child: SessionId,
    /// Why.
    pub reason: Reason,
    /// Tokens used, as the client reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_tokens: Option<u64>,
    /// Tokens its window holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_tokens: Option<u64>,
    /// What the child starts with, packed by the front.
    pub turn0: Turn0,
}

/// Send an agent out to find something: its profile runs headless, in a session of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnResearcher {
    /// Minted by the front; its session is [`SessionId::of_researcher`].
    pub run_id: RunId,
    /// Minted by the front: the task its findings come out of.
    pub task_id: TaskId,
    /// What it is asked.
    pub prompt: Prompt,
    /// Which agent's profile.
    pub profile: ProfileName,
    /// The task that its own is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_task_id: Option<TaskId>,
    /// What it starts with, packed by the front.
    pub turn0: Turn0,
}

/// Put a message of the team's mail on record, as the one who sent it; made by the operator's backfill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordMessage {
    /// Minted by the front; the message is citable as evidence.
    pub event_id: EventId,
    /// To whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Recipient>,
    /// What it says.
    pub text: MessageText,
    /// When it was sent, where the mail says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<Timestamp>,
}

/// Write down what the agent holds to be right and wrong now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotBeliefs {}

/// Put on record that somebody was warned right before an action; made by hooks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordFiring {
    /// What warned.
    pub guard: Guard,
    /// What matched.
    pub matched: CommandLine,
}

/// Put on record what a hook saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observe {
    /// Minted by the front; what was seen is citable as evidence.
    pub event_id: EventId,
    /// What it saw.
    pub seen: Seen,
}

/// What a hook sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Seen {
    /// A tool was used.
    Tool(ToolUsed),
    /// A command ran.
    Command(CommandRan),
    /// Files were changed.
    Files(FileEdited),
}

/// Everything an agent can ask for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", content = "args", rename_all = "snake_case")]
pub enum Command {
    /// See [`CreateClaim`].
    CreateClaim(CreateClaim),
    /// See [`TakePosition`].
    TakePosition(TakePosition),
    /// See [`AffirmClaim`].
    AffirmClaim(AffirmClaim),
    /// See [`AddEvidence`].
    AddEvidence(AddEvidence),
    /// See [`RetractEvidence`].
    RetractEvidence(RetractEvidence),
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
    /// See [`RunExperiment`].
    RunExperiment(RunExperiment),
    /// See [`AttachExperiment`].
    AttachExperiment(AttachExperiment),
    /// See [`CancelExperiment`].
    CancelExperiment(CancelExperiment),
    /// See [`RecordExperiment`].
    RecordExperiment(RecordExperiment),
    /// See [`DenyRecord`].
    DenyRecord(DenyRecord),
    /// See [`Forget`].
    Forget(Forget),
    /// See [`AcceptLoss`].
    AcceptLoss(AcceptLoss),
    /// See [`AddPlan`].
    AddPlan(AddPlan),
    /// See [`AddPhase`].
    AddPhase(AddPhase),
    /// See [`AddTask`].
    AddTask(AddTask),
    /// See [`ClaimTask`].
    ClaimTask(ClaimTask),
    /// See [`LockScopes`].
    LockScopes(LockScopes),
    /// See [`ReleaseScopes`].
    ReleaseScopes(ReleaseScopes),
    /// See [`UpdateTask`].
    UpdateTask(UpdateTask),
    /// See [`DeclareIntent`].
    DeclareIntent(DeclareIntent),
    /// See [`StartSession`].
    StartSession(StartSession),
    /// See [`EndSession`].
    EndSession(EndSession),
    /// See [`RecordTurn`].
    RecordTurn(RecordTurn),
    /// See [`SaveAnchor`].
    SaveAnchor(SaveAnchor),
    /// See [`SplitSession`].
    SplitSession(SplitSession),
    /// See [`SnapshotBeliefs`].
    SnapshotBeliefs(SnapshotBeliefs),
    /// See [`RecordFiring`].
    RecordFiring(RecordFiring),
    /// See [`Observe`].
    Observe(Observe),
    /// See [`SpawnResearcher`].
    SpawnResearcher(SpawnResearcher),
    /// See [`RecordMessage`].
    RecordMessage(RecordMessage),
    /// See [`RecordOverride`].
    RecordOverride(RecordOverride),
    /// See [`PartTarget`].
    PartTarget(PartTarget),
    /// See [`KeepClaim`].
    KeepClaim(KeepClaim),
    /// See [`AbandonPlan`].
    AbandonPlan(AbandonPlan),
    /// See [`RenamePlan`].
    RenamePlan(RenamePlan),
    /// See [`RetireAnchor`].
    RetireAnchor(RetireAnchor),
    /// See [`SeeAttention`].
    SeeAttention(SeeAttention),
}

impl Command {
    /// The command's name, as in its wire form.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::CreateClaim(_) => "create_claim",
            Self::TakePosition(_) => "take_position",
            Self::AffirmClaim(_) => "affirm_claim",
            Self::AddEvidence(_) => "add_evidence",
            Self::RetractEvidence(_) => "retract_evidence",
            Self::DeprecateClaim(_) => "deprecate_claim",
            Self::ReportEvent(_) => "report_event",
            Self::RecordDecision(_) => "record_decision",
            Self::RecordOutcome(_) => "record_outcome",
            Self::AliasTarget(_) => "alias_target",
            Self::RunExperiment(_) => "run_experiment",
            Self::AttachExperiment(_) => "attach_experiment",
            Self::CancelExperiment(_) => "cancel_experiment",
            Self::RecordExperiment(_) => "record_experiment",
            Self::DenyRecord(_) => "deny_record",
            Self::Forget(_) => "forget",
            Self::AcceptLoss(_) => "accept_loss",
            Self::AddPlan(_) => "add_plan",
            Self::AddPhase(_) => "add_phase",
            Self::AddTask(_) => "add_task",
            Self::ClaimTask(_) => "claim_task",
            Self::LockScopes(_) => "lock",
            Self::ReleaseScopes(_) => "release_locks",
            Self::UpdateTask(_) => "update_task",
            Self::DeclareIntent(_) => "declare_intent",
            Self::StartSession(_) => "start_session",
            Self::EndSession(_) => "end_session",
            Self::RecordTurn(_) => "record_turn",
            Self::SaveAnchor(_) => "save_anchor",
            Self::SplitSession(_) => "split_session",
            Self::SnapshotBeliefs(_) => "snapshot_beliefs",
            Self::RecordFiring(_) => "record_firing",
            Self::Observe(_) => "observe",
            Self::SpawnResearcher(_) => "spawn_researcher",
            Self::RecordMessage(_) => "record_message",
            Self::RecordOverride(_) => "record_override",
            Self::PartTarget(_) => "part_target",
            Self::KeepClaim(_) => "keep_claim",
            Self::AbandonPlan(_) => "abandon_plan",
            Self::RenamePlan(_) => "rename_plan",
            Self::RetireAnchor(_) => "retire_anchor",
            Self::SeeAttention(_) => "see_attention",
        }
    }

    /// The id of what the command makes; its first event carries the same one.
    pub const fn minted(&self) -> Option<Uuid> {
        match self {
            Self::CreateClaim(create) => Some(create.claim_id.uuid()),
            Self::ReportEvent(report) => Some(report.event_id.uuid()),
            Self::RecordDecision(decision) if decision.statement.is_some() => Some(decision.claim_id.uuid()),
            Self::RunExperiment(run) => Some(run.run_id.uuid()),
            Self::RecordExperiment(record) => Some(record.run_id.uuid()),
            Self::AddPlan(made) => Some(made.plan_id.uuid()),
            Self::AddPhase(made) => Some(made.phase_id.uuid()),
            Self::AddTask(made) => Some(made.task_id.uuid()),
            Self::Observe(made) => Some(made.event_id.uuid()),
            Self::SpawnResearcher(made) => Some(made.run_id.uuid()),
            Self::RecordMessage(made) => Some(made.event_id.uuid()),
            Self::TakePosition(_)
            | Self::AffirmClaim(_)
            | Self::AddEvidence(_)
            | Self::RetractEvidence(_)
            | Self::DeprecateClaim(_)
            | Self::RecordDecision(_)
            | Self::RecordOutcome(_)
            | Self::AliasTarget(_)
            | Self::AttachExperiment(_)
            | Self::CancelExperiment(_)
            | Self::DenyRecord(_)
            | Self::Forget(_)
            | Self::AcceptLoss(_)
            | Self::ClaimTask(_)
            | Self::LockScopes(_)
            | Self::ReleaseScopes(_)
            | Self::UpdateTask(_)
            | Self::DeclareIntent(_)
            | Self::StartSession(_)
            | Self::EndSession(_)
            | Self::RecordTurn(_)
            | Self::SaveAnchor(_)
            | Self::SplitSession(_)
            | Self::SnapshotBeliefs(_)
            | Self::RecordFiring(_)
            | Self::RecordOverride(_)
            | Self::PartTarget(_)
            | Self::KeepClaim(_)
            | Self::AbandonPlan(_)
            | Self::RenamePlan(_)
            | Self::RetireAnchor(_)
            | Self::SeeAttention(_) => None,
        }
    }

    /// What the command makes or changes: a claim, or the event it reports; of a split, the session that goes on.
    pub const fn entity(&self) -> Option<Uuid> {
        match self {
            Self::CreateClaim(create) => Some(create.claim_id.uuid()),
            Self::TakePosition(take) => Some(take.claim_id.uuid()),
            Self::AffirmClaim(affirm) => Some(affirm.claim_id.uuid()),
            Self::AddEvidence(add) => Some(add.claim_id.uuid()),
            Self::RetractEvidence(retract) => Some(retract.claim_id.uuid()),
            Self::DeprecateClaim(deprecate) => Some(deprecate.claim_id.uuid()),
            Self::ReportEvent(report) => Some(report.event_id.uuid()),
            Self::RecordDecision(decision) => Some(decision.claim_id.uuid()),
            Self::RecordOutcome(outcome) => Some(outcome.decision_id.uuid()),
            Self::RunExperiment(run) => Some(run.run_id.uuid()),
            Self::AttachExperiment(attach) => Some(attach.claim_id.uuid()),
            Self::CancelExperiment(cancel) => Some(cancel.run_id.uuid()),
            Self::RecordExperiment(record) => Some(record.run_id.uuid()),
            Self::Forget(forget) => Some(forget.event_id.uuid()),
            Self::AddPlan(of) => Some(of.plan_id.uuid()),
            Self::AddPhase(of) => Some(of.phase_id.uuid()),
            Self::AddTask(of) => Some(of.task_id.uuid()),
            Self::Observe(of) => Some(of.event_id.uuid()),
            Self::SpawnResearcher(of) => Some(of.run_id.uuid()),
            Self::RecordMessage(of) => Some(of.event_id.uuid()),
            Self::ClaimTask(of) => Some(of.task_id.uuid()),
            Self::UpdateTask(of) => Some(of.task_id.uuid()),
            Self::RecordFiring(of) => Some(of.guard.uuid()),
            Self::KeepClaim(keep) => Some(keep.claim_id.uuid()),
            Self::AbandonPlan(of) => Some(of.plan_id.uuid()),
            Self::RenamePlan(of) => Some(of.plan_id.uuid()),
            Self::AliasTarget(_)
            | Self::PartTarget(_)
            | Self::RetireAnchor(_)
            | Self::AcceptLoss(_)
            | Self::DenyRecord(_)
            | Self::LockScopes(_)
            | Self::ReleaseScopes(_)
            | Self::DeclareIntent(_)
            | Self::StartSession(_)
            | Self::EndSession(_)
            | Self::RecordTurn(_)
            | Self::SaveAnchor(_)
            | Self::SplitSession(_)
            | Self::SnapshotBeliefs(_)
            | Self::RecordOverride(_)
            | Self::SeeAttention(_) => None,
        }
    }

    /// Every text of the command, with the name of its field.
    pub fn texts(&self) -> Vec<(&'static str, &str)> {
        let mut texts = Vec::new();
        match self {
            Self::CreateClaim(create) => {
                texts.push(("statement", create.statement.as_str()));
                texts.extend(create.asks.iter().map(|agent| ("asks", agent.as_str())));
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
            Self::AffirmClaim(affirm) => {
                texts.extend(affirm.reason.iter().map(|reason| ("reason", reason.as_str())));
            }
            Self::AddEvidence(add) => texts.extend(add.note.iter().map(|note| ("note", note.as_str()))),
            Self::RetractEvidence(retract) => texts.push(("reason", retract.reason.as_str())),
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
                texts.extend(record.asks.iter().map(|agent| ("asks", agent.as_str())));
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
            Self::PartTarget(part) => texts.push(("alias", part.alias.as_str())),
            Self::KeepClaim(keep) => {
                texts.extend(keep.reason.iter().map(|reason| ("reason", reason.as_str())))
            }
            Self::AbandonPlan(plan) => texts.push(("reason", plan.reason.as_str())),
            Self::RenamePlan(plan) => texts.push(("title", plan.title.as_str())),
            Self::RetireAnchor(anchor) => texts.push(("key", anchor.key.as_str())),
            Self::RunExperiment(run) => {
                for (name, value) in &run.args {
                    texts.extend([("args", name.as_str()), ("args", value.as_str())]);
                }
                texts.extend(run.cwd.iter().map(|cwd| ("cwd", cwd.as_str())));
                texts.extend(run.env_pass.iter().flatten().map(|name| ("env_pass", name.as_str())));
            }
            Self::AttachExperiment(attach) => {
                texts.extend(attach.summary.iter().map(|summary| ("summary", summary.as_str())));
            }
            Self::CancelExperiment(_) => {}
            Self::RecordExperiment(record) => {
                texts.push(("command", record.command.as_str()));
                texts.extend(record.outcome.problem.iter().map(|problem| ("problem", problem.as_str())));
            }
            Self::DenyRecord(DenyRecord { rule, field, command }) => texts.extend([
                ("rule", rule.as_str()),
                ("field", field.as_str()),
                ("command", command.as_str()),
            ]),
            Self::Forget(forget) => texts.push(("reason", forget.reason.as_str())),
            Self::RecordOverride(of) => {
                texts.extend([("verb", of.verb.as_str()), ("reason", of.reason.as_str())]);
            }
            Self::AcceptLoss(accept) => texts.push(("reason", accept.reason.as_str())),
            Self::AddPlan(plan) => {
                texts.push(("title", plan.title.as_str()));
                texts.extend(plan.description.iter().map(|more| ("description", more.as_str())));
                texts.extend(plan.sot_path.iter().map(|path| ("sot_path", path.as_str())));
            }
            Self::AddPhase(phase) => texts.push(("title", phase.title.as_str())),
            Self::AddTask(task) => {
                texts.push(("title", task.title.as_str()));
                texts.extend(task.description.iter().map(|more| ("description", more.as_str())));
                texts.extend(task.scopes.iter().map(|scope| ("scopes", scope.as_str())));
            }
            Self::ClaimTask(claim) => {
                texts.extend(claim.file_locks.iter().map(|lock| ("file_locks", lock.as_str())));
            }
            Self::LockScopes(lock) => {
                texts.extend(lock.scopes.iter().map(|scope| ("scopes", scope.as_str())));
                texts.push(("why", lock.why.as_str()));
            }
            Self::ReleaseScopes(release) => {
                texts.extend(release.scopes.iter().map(|scope| ("scopes", scope.as_str())));
            }
            Self::UpdateTask(update) => texts.extend(update.note.iter().map(|note| ("note", note.as_str()))),
            Self::DeclareIntent(declare) => texts.push(("intent", declare.trajectory.intent.as_str())),
            Self::StartSession(start) => {
                texts.extend(start.client.iter().map(|client| ("client", client.as_str())));
                texts.extend(start.parent_session.iter().map(|parent| ("parent_session", parent.as_str())));
            }
            Self::EndSession(_) | Self::SnapshotBeliefs(_) | Self::SeeAttention(_) => {}
            Self::RecordTurn(turn) => texts.push(("text", turn.text.as_str())),
            Self::SaveAnchor(anchor) => {
                texts.extend([("key", anchor.key.as_str()), ("value", anchor.value.as_str())]);
            }
            Self::SplitSession(split) => texts.extend([
                ("child", split.child.as_str()),
                ("reason", split.reason.as_str()),
                ("turn0", split.turn0.as_str()),
            ]),
            Self::RecordFiring(firing) => texts.push(("matched", firing.matched.as_str())),
            Self::RecordMessage(message) => {
                texts.extend(message.to.iter().map(|to| ("to", to.as_str())));
                texts.push(("text", message.text.as_str()));
            }
            Self::SpawnResearcher(spawn) => {
                texts.extend([("prompt", spawn.prompt.as_str()), ("turn0", spawn.turn0.as_str())]);
            }
            Self::Observe(observed) => match &observed.seen {
                Seen::Tool(used) => texts.push(("tool", used.tool.as_str())),
                Seen::Command(ran) => {
                    texts.push(("command", ran.command.as_str()));
                    texts.extend(ran.error_signature.iter().map(|error| ("error_signature", error.as_str())));
                    texts.extend(ran.runs.iter().map(|run| ("runs", run.as_str())));
                    texts.extend(ran.tail.iter().map(|tail| ("tail", tail.as_str())));
                    texts.extend(ran.output_sha256.iter().map(|hash| ("output_sha256", hash.as_str())));
                }
                Seen::Files(edited) => texts.extend(edited.paths.iter().map(|path| ("paths", path.as_str()))),
            },
        }
        texts
    }

    /// The names by which the command cites events as evidence.
    pub fn evidence_names(&self) -> Vec<&EvidenceName> {
        if let Self::CreateClaim(create) = self {
            create.evidence_refs.iter().collect()
        } else if let Self::TakePosition(take) = self {
            take.evidence_ref.iter().collect()
        } else if let Self::AddEvidence(add) = self {
            vec![&add.evidence_ref]
        } else if let Self::RetractEvidence(retract) = self {
            vec![&retract.evidence_ref]
        } else {
            Vec::new()
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
            Self::RunExperiment(run) => {
                run.run_id = RunId::from_uuid(Uuid::nil());
            }
            Self::RecordExperiment(record) => record.run_id = RunId::from_uuid(Uuid::nil()),
            Self::AddPlan(plan) => plan.plan_id = PlanId::from_uuid(Uuid::nil()),
            Self::AddPhase(phase) => phase.phase_id = PhaseId::from_uuid(Uuid::nil()),
            Self::AddTask(task) => task.task_id = TaskId::from_uuid(Uuid::nil()),
            Self::Observe(observed) => observed.event_id = EventId::from_uuid(Uuid::nil()),
            Self::RecordMessage(message) => message.event_id = EventId::from_uuid(Uuid::nil()),
            Self::SpawnResearcher(spawn) => {
                spawn.run_id = RunId::from_uuid(Uuid::nil());
                spawn.task_id = TaskId::from_uuid(Uuid::nil());
                spawn.turn0 = "-".parse().expect("one character");
            }
            Self::RecordTurn(turn) => turn.told = None,
            // Another child is minted for each try, and what is handed over is packed anew.
            Self::SplitSession(split) => {
                split.child = "-".parse().expect("one printable character");
                split.turn0 = "-".parse().expect("one character");
            }
            Self::TakePosition(_)
            | Self::AffirmClaim(_)
            | Self::AddEvidence(_)
            | Self::RetractEvidence(_)
            | Self::DeprecateClaim(_)
            | Self::RecordOutcome(_)
            | Self::AliasTarget(_)
            | Self::AttachExperiment(_)
            | Self::CancelExperiment(_)
            | Self::DenyRecord(_)
            | Self::Forget(_)
            | Self::AcceptLoss(_)
            | Self::ClaimTask(_)
            | Self::LockScopes(_)
            | Self::ReleaseScopes(_)
            | Self::UpdateTask(_)
            | Self::DeclareIntent(_)
            | Self::StartSession(_)
            | Self::EndSession(_)
            | Self::SaveAnchor(_)
            | Self::SnapshotBeliefs(_)
            | Self::RecordFiring(_)
            | Self::RecordOverride(_)
            | Self::PartTarget(_)
            | Self::KeepClaim(_)
            | Self::AbandonPlan(_)
            | Self::RenamePlan(_)
            | Self::RetireAnchor(_)
            | Self::SeeAttention(_) => {}
        }
        intent
    }
}

/// A command on its way to the writer, with who asks and under which names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    /// Minted by the front; a retry of the same request carries the same one.
    pub command_id: CommandId,
    /// Who asks, canonical; of a caller that is not pinned, who it likely is.
    pub agent: AgentId,
    /// What there is to know of a caller that is not pinned: the writer says who it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpinned: Option<Unpinned>,
    /// In which session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The trace the call belongs to, as the client names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// The caller's own name for the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<IdempotencyKey>,
    /// Where the caller works, as its front sees it; never what a caller says.
    #[serde(default, skip_serializing_if = "Checkout::is_empty")]
    pub checkout: Checkout,
    /// What the files that the command is about hold, as its front sees them; never what a caller says.
    #[serde(default, skip_serializing_if = "Versions::is_empty")]
    pub versions: Versions,
    /// What is asked.
    pub command: Command,
}

impl Submission {
    /// Every text of the submission, with the name of its field.
    pub fn texts(&self) -> Vec<(&'static str, &str)> {
        let mut texts = self.command.texts();
        texts.push(("agent", self.agent.as_str()));
        let pane = self.unpinned.iter().flat_map(|unpinned| &unpinned.pane);
        texts.extend(self.session.iter().chain(pane).map(|session| ("session", session.as_str())));
        let client = self.unpinned.iter().flat_map(|unpinned| &unpinned.client);
        texts.extend(client.flat_map(|client| [("client", client.name.as_str()), ("client", &*client.word)]));
        texts.extend(self.trace_id.iter().map(|trace| ("trace_id", trace.as_str())));
        texts.extend(self.idempotency_key.iter().map(|key| ("idempotency_key", key.as_str())));
        texts
    }
}
