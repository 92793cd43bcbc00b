//! What happened: the immutable facts of the ledger, in the past tense, and their wire form.
//!
//! Events are for ever. A new field is optional, a changed meaning is a new type, and every type has a
//! fixture in `tests/fixtures/events.jsonl` that must decode in every release.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::claim::{
    ClaimType, ContradictionKind, Grade, Outcome, Override, Position, Relation, ReportKind, Resolution,
    Share, Status, Tier, Trigger,
};
use crate::domain::decide::Quorum;
use crate::domain::experiment::{Plan, Prediction, ProfileName, RunKey, RunOutcome, Series, Tally};
use crate::domain::ids::{ClaimId, CommandId, EventId, PhaseId, PlanId, RunId, SessionId, TaskId};
use crate::domain::plan::{ReleaseCause, TaskStatus, Trajectory};
use crate::domain::rejection::Code;
use crate::domain::scope::Scope;
use crate::domain::session::{Belief, EndCause, Role, Source};
use crate::domain::text::{
    AnchorKey, AnchorValue, CommandLine, Description, ErrorSignature, Label, MessageText, OutputTail, Prompt,
    Rationale, Reason, Recipient, Said, Statement, Summary, Title, ToolName, Turn0, Worktree,
};
use crate::domain::time::{Hours, Timestamp};
use crate::domain::versions::Versions;

/// The newest event vocabulary this binary folds. An event whose `min_reader` is above it stops the
/// fold with a clear message; it is never skipped.
pub const READER: u32 = 1;

/// A claim was created, with status `proposed`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimCreated {
    /// Equal to the event's own id.
    pub claim_id: ClaimId,
    /// What it says.
    pub statement: Statement,
    /// What kind of statement it is.
    pub claim_type: ClaimType,
    /// What it is about.
    pub scopes: Vec<Scope>,
    /// The owner's own confidence, 0 to 1.
    pub confidence: Share,
    /// The claim it is meant to replace; in force only once a `claim.superseded` says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<ClaimId>,
    /// Hours until it expires; none lives until deprecated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_hours: Option<Hours>,
    /// When a negative claim should warn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Trigger>,
    /// The task it came out of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin_task_id: Option<TaskId>,
    /// Whether it mends what the superseded claim was about.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mends: bool,
    /// What the files of its scopes held then.
    #[serde(default, skip_serializing_if = "Versions::is_empty")]
    pub versions: Versions,
    /// The work tree in which a front looked at them; none where no front is known to have looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_in: Option<Checkout>,
    /// The agents that are asked for a position.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<AgentId>,
    /// The claim is agreed by silence when no objection was made until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objection_until: Option<Timestamp>,
}

/// A claim moved from one status to another, or stays proposed because something stood against it when silence would
/// have confirmed it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatusChanged {
    /// Which claim.
    pub claim_id: ClaimId,
    /// Where it was.
    pub from: Status,
    /// Where it is now.
    pub to: Status,
    /// What moved it, in a few words.
    pub reason: Reason,
    /// Whether no objection within the time that its owner gave moved it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_silence: bool,
    /// Whether an earlier proof stands after a run that came to no outcome.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_proof: bool,
    /// Challengers whom the run that proves the claim does not answer: they spoke after it was queued. Where the claim
    /// loses its proof, the challengers whom the run had answered: their challenges are open again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaves_open: Vec<AgentId>,
}

/// A claim took another's place: both links are set by this one event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimSuperseded {
    /// The claim that is replaced.
    pub claim_id: ClaimId,
    /// The claim that replaces it.
    pub superseded_by: ClaimId,
    /// Whether the replaced claim was right, and what it was about is mended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mends: bool,
    /// The agents that supported the old claim and are asked whether they support the new one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<AgentId>,
}

/// An agent took a position on a claim; it replaces any earlier one of the same agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PositionTaken {
    /// Which claim.
    pub claim_id: ClaimId,
    /// Support, challenge or abstain.
    pub position: Position,
    /// Why; always there for a challenge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The event it rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence_ref: Option<EventId>,
    /// Whether it says that the claim is still meant, and leaves the agent's position as it was.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub still: bool,
    /// What the files of the claim's scopes held then.
    #[serde(default, skip_serializing_if = "Versions::is_empty")]
    pub versions: Versions,
    /// The work tree in which a front looked at them; none where no front is known to have looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_in: Option<Checkout>,
    /// Names under which the same pane took a position before: this one replaces those too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instead_of: Vec<AgentId>,
    /// Other names that the same pane had: it answers for those too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub formerly: Vec<AgentId>,
    /// Whether a `still` is about the challenge alone: the challenger looked in another work tree than that of the claim.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aside: bool,
    /// Challengers of other content, who are asked whether their challenge is still meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<AgentId>,
}

impl PositionTaken {
    /// Every name for which it answers, taken by this agent.
    pub fn speaks_for<'a>(&'a self, agent: &'a AgentId) -> impl Iterator<Item = &'a AgentId> {
        self.instead_of.iter().chain(&self.formerly).chain([agent])
    }
}

/// An event of the ledger was tied to a claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceAdded {
    /// Which claim.
    pub claim_id: ClaimId,
    /// The event that is the evidence.
    pub evidence_ref: EventId,
    /// What it says about the claim.
    pub relation: Relation,
    /// How much it says, 0 to 1.
    pub weight: Share,
    /// In the agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Reason>,
    /// How it came about, as judged when it was tied; none means asserted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<Grade>,
    /// The run behind it; none for other events, and before runs had predictions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunBehind>,
}

/// The run behind evidence, and by what it was judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunBehind {
    /// Which run.
    pub run_id: RunId,
    /// The profile that ran; none for what a human typed or recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileName>,
    /// SHA-256 of the profile's file, hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_sha256: Option<String>,
    /// What the claim predicted.
    pub prediction: Prediction,
    /// How often the same run came out which way, where it came out both ways.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unstable: Option<Tally>,
}

/// A link of an event to a claim was taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceRetracted {
    /// Which claim.
    pub claim_id: ClaimId,
    /// The event that is evidence no more.
    pub evidence_ref: EventId,
    /// What it had said about the claim.
    pub relation: Relation,
    /// Why it is taken back.
    pub reason: Reason,
    /// Whether the operator took it back: then a run that contradicted the claim hinders no proof any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_operator: bool,
}

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

/// An agent asked for something that only the operator may do to a claim that the operator stands by. Nothing else
/// happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverrideProposed {
    /// The claim that the operator stands by.
    pub claim_id: ClaimId,
    /// What the agent asked for.
    pub asks: Override,
    /// Why, in the agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The claim that would take its place, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successor: Option<ClaimId>,
    /// What the decision that would take its place says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<Statement>,
    /// What that decision is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Scope>,
    /// Other names that the pane of the agent had: it objects under those too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub formerly: Vec<AgentId>,
}

/// The operator keeps a claim: what agents proposed against it is settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverrideDismissed {
    /// Which claim.
    pub claim_id: ClaimId,
    /// Why, in the operator's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
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

/// An agent reported by hand what it saw or did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventReported {
    /// What kind of report.
    pub kind: ReportKind,
    /// What happened.
    pub summary: Summary,
    /// Files it concerns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<Scope>,
    /// The command that was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandLine>,
    /// What it exited with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The error it showed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_signature: Option<ErrorSignature>,
    /// Where its files lie, if it names any.
    #[serde(flatten)]
    pub checkout: Checkout,
}

/// A command accepted while the writer was away did not pass once it was back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandRejected {
    /// The command, as its receipt named it.
    pub command_id: CommandId,
    /// What kind of command it was, such as `create_claim`.
    pub kind: String,
    /// Why, as a stable code.
    pub code: Code,
    /// Why, as a sentence.
    pub message: String,
}

/// Commands accepted while the writer was away are now in the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpoolFlushed {
    /// Commands committed by this replay.
    pub committed: u32,
    /// Commands that were in the ledger already.
    pub duplicates: u32,
    /// Lines that did not pass, kept in `spool.rejected.jsonl`.
    pub rejected: u32,
}

/// A command was refused because a text of it held what looked like a secret; nothing of the text is here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryDenied {
    /// The rule that found it, such as `aws-key`.
    pub rule: Label,
    /// The field it stood in, such as `statement`.
    pub field: Label,
    /// The command it was part of, such as `create_claim`.
    pub command: Label,
}

/// A run was asked for; it waits for its turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentQueued {
    /// Equal to the event's own id.
    pub run_id: RunId,
    /// What will run, and nothing else.
    pub plan: Plan,
    /// The values its profile's parameters got, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub args: BTreeMap<String, String>,
    /// The claim it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_id: Option<ClaimId>,
    /// Read in events of older releases only, in which the caller chose what a run says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relation: Option<Relation>,
    /// What the claim predicts; none without a claim, and in events of older releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prediction: Option<Prediction>,
    /// The request's other runs, if it asked for several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
    /// Whether the claim waits for it.
    #[serde(default)]
    pub blocking: bool,
    /// Where it was asked for, and runs.
    #[serde(flatten)]
    pub checkout: Checkout,
    /// What the files of its claim's scopes held then.
    #[serde(default, skip_serializing_if = "Versions::is_empty")]
    pub versions: Versions,
}

/// A run has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExperimentStarted {
    /// Which run.
    pub run_id: RunId,
}

/// A run that is under way is to be stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExperimentCancelRequested {
    /// Which run.
    pub run_id: RunId,
}

/// A run is over, or one from elsewhere was put on record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentCompleted {
    /// Which run; equal to the event's own id for one that was never queued here.
    pub run_id: RunId,
    /// The profile; none for what a human typed or recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileName>,
    /// What ran, for people.
    pub command: CommandLine,
    /// How it ended and what it left.
    #[serde(flatten)]
    pub outcome: RunOutcome,
    /// Whether a caller who overrode the check for a human recorded it: then it is that caller's word only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asserted: bool,
    /// Why it says nothing about its claim although it came to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<Reason>,
    /// What it is compared by; none where the content it ran on is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<RunKey>,
    /// How runs of its key, or of its series, came out, where that was both ways.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unstable: Option<Tally>,
    /// Whether with it the same test has become stable again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stable_again: bool,
    /// Where the end was on record first, if it is said again because its first record was erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restates: Option<Place>,
}

impl ExperimentCompleted {
    /// What the run is compared by, with the hash of its tree wherever that is known.
    pub fn full_key(&self) -> Option<RunKey> {
        self.key.clone().map(|key| key.with_tree(self.outcome.git.as_deref()))
    }
}

/// A place in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Its position.
    pub seq: u64,
    /// When it was taken.
    pub at: Timestamp,
}

/// An operator had the payload of an event erased: why a gap in the ledger is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventRedacted {
    /// The event whose payload and salt are gone.
    pub event_id: EventId,
    /// Its place.
    pub seq: u64,
    /// Why, in the operator's words; never what was erased.
    pub reason: Reason,
}

/// The operator accepted a damage of the ledger or of its checkpoints: the ledger goes on after `from`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossAccepted {
    /// The last event the ledger held then.
    pub from: u64,
    /// The last event that it was seen to hold before. Not above `from` where only checkpoints were damaged.
    pub to: u64,
    /// What `hm verify` said was wrong.
    pub fault: Reason,
    /// Why the operator accepted it.
    pub reason: Reason,
}

/// A plan was added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanAdded {
    /// Equal to the event's own id.
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

/// A plan was given up. Its open tasks are invalidated by events beside this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanAbandoned {
    /// Which plan.
    pub plan_id: PlanId,
    /// Why.
    pub reason: Reason,
}

/// A plan was given another title.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanRenamed {
    /// Which plan.
    pub plan_id: PlanId,
    /// What it is called now.
    pub title: Title,
}

/// A phase was added to a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseAdded {
    /// Equal to the event's own id.
    pub phase_id: PhaseId,
    /// The plan it belongs to.
    pub plan_id: PlanId,
    /// What it is called.
    pub title: Title,
    /// Its place among the phases of the plan; equal places stand in the order of their making.
    pub order: u32,
}

/// A task was added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskAdded {
    /// Equal to the event's own id.
    pub task_id: TaskId,
    /// What is to be done.
    pub title: Title,
    /// What the title does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Description>,
    /// The phase it belongs to; none for the inbox.
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

/// A session took a task, or took it for longer; the task is active.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskClaimed {
    /// Which task.
    pub task_id: TaskId,
    /// The session that holds it.
    pub session: SessionId,
    /// The number of the hold, higher than that of every one before it.
    pub token: u64,
    /// How long it is held after each event of the session, in minutes.
    pub lease_minutes: u32,
    /// Files it asks others to stay away from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub file_locks: Vec<Scope>,
    /// The linked work tree its holder works in; none in the main one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Worktree>,
}

/// A task is held no more; it is open again if it was active.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskReleased {
    /// Which task.
    pub task_id: TaskId,
    /// The number of the hold that ended.
    pub token: u64,
    /// Why.
    pub cause: ReleaseCause,
}

/// A session asks the others to leave things alone until a time, without a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopesLocked {
    /// The session that holds them.
    pub session: SessionId,
    /// What it locks.
    pub scopes: Vec<Scope>,
    /// When the lock ends by itself.
    pub until: Timestamp,
    /// What for.
    pub why: Reason,
    /// The linked work tree its holder works in; none in the main one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Worktree>,
}

/// A session locks these things no more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopesReleased {
    /// The session that held them.
    pub session: SessionId,
    /// What is free again.
    pub scopes: Vec<Scope>,
}

/// A task moved on, or its holder said how it goes; one that is over is held no more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskUpdated {
    /// Which task.
    pub task_id: TaskId,
    /// Where it was.
    pub from: TaskStatus,
    /// Where it is now.
    pub to: TaskStatus,
    /// How it goes, what is in the way, what came of it, or why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Reason>,
}

/// Somebody said what is wanted now: for the session it came from, and for every session that never said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntentDeclared {
    /// Where to look from now on.
    #[serde(flatten)]
    pub trajectory: Trajectory,
    /// Whether it moves the session that said it, and the team stays where it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
}

/// A session started, or started again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionStarted {
    /// Which session.
    pub session: SessionId,
    /// How it came to.
    pub source: Source,
    /// The client it runs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ToolName>,
    /// The session it goes on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<SessionId>,
    /// Where it started.
    #[serde(flatten)]
    pub checkout: Checkout,
}

/// A session is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEnded {
    /// Which session.
    pub session: SessionId,
    /// Why.
    pub cause: EndCause,
}

/// Something was said in a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnRecorded {
    /// By whom.
    pub role: Role,
    /// What, cut to 2,000 characters.
    pub text: Said,
    /// The ledger position up to which the session was told what is new, with this message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<u64>,
}

/// A session took a seat: it is this agent until the seat is free and another one takes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSeated {
    /// Who it is.
    pub agent: AgentId,
    /// The client, by the name it gives itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ToolName>,
    /// Which session.
    pub session: SessionId,
    /// A session of the same pane; the two are one pane from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pane: Option<SessionId>,
    /// Challenges under its name, of panes that left: the pane takes them over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub takes_over: Vec<Challenged>,
}

/// A challenge, by its claim and the session in which it was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Challenged {
    /// The claim.
    pub claim_id: ClaimId,
    /// The session.
    pub session: SessionId,
}

/// A fact was put where no compaction loses it; it replaces what stood there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnchorSaved {
    /// Its name.
    pub key: AnchorKey,
    /// What it holds.
    pub value: AnchorValue,
}

/// An anchor was retired: it holds nothing any more, and its history stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnchorRetired {
    /// Its name.
    pub key: AnchorKey,
}

/// A session was split: another goes on from what it hands over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSplit {
    /// The session that is split.
    pub parent: SessionId,
    /// The session that goes on.
    pub child: SessionId,
    /// Why.
    pub reason: Reason,
    /// Tokens the parent had used, as its client reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_tokens: Option<u64>,
    /// Tokens its window holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_tokens: Option<u64>,
    /// What the child starts with, as it was at this moment; it never changes. What is too long for one event goes on
    /// in [`Turn0Continued`].
    pub turn0: Turn0,
}

/// What a session starts with was longer than one event: the next lines of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn0Continued {
    /// The session that goes on.
    pub child: SessionId,
    /// The lines that follow those before.
    pub turn0: Turn0,
}

/// What an agent held to be right and wrong at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BeliefsSnapshotted {
    /// Whose.
    pub agent: AgentId,
    /// In which session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The most confident first; at most 500.
    pub beliefs: Vec<Belief>,
}

/// What a session is warned of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Guard {
    /// A negative claim.
    Claim(ClaimId),
    /// A task: it asks others to stay away from its files, and its own session to settle it.
    Task(TaskId),
    /// A lock without a task, by the event that took it.
    Lock(EventId),
}

impl Guard {
    /// The id of whatever it is.
    pub const fn uuid(self) -> Uuid {
        match self {
            Self::Claim(id) => id.uuid(),
            Self::Task(id) => id.uuid(),
            Self::Lock(id) => id.uuid(),
        }
    }
}

/// An agent was warned of a dead end, by a hook or by the receipt of a write, or of a file that another agent holds; or it
/// was reminded at the end of a turn of a task that its session holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardFired {
    /// What warned.
    pub guard: Guard,
    /// What matched: the command, the path or the error; at the end of a turn `end of turn`, in a receipt `receipt`.
    pub matched: CommandLine,
}

/// An agent was sent out to find something, headless, in a session of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResearcherSpawned {
    /// The run it lives in.
    pub run_id: RunId,
    /// Its session.
    pub child: SessionId,
    /// The session that sent it out.
    pub parent: SessionId,
    /// The task its findings come out of.
    pub task_id: TaskId,
    /// What it is asked.
    pub prompt: Prompt,
    /// The agent's profile.
    pub profile: ProfileName,
    /// Whom it speaks as.
    pub agent: AgentId,
}

/// A caller spoke as the operator where no human at a terminal was seen, and said why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorOverridden {
    /// The verb or command that follows.
    pub verb: Label,
    /// Why, in the caller's words.
    pub reason: Reason,
}

/// The rules that decide differ from those of the writers before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyChanged {
    /// When a claim counts as confirmed from now on.
    pub quorum: Quorum,
    /// When it did until now.
    pub was: Quorum,
    /// Whether agents may override the operator from now on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub agents_may_override_operator: bool,
    /// Whether they might until now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub agents_might_override_operator: bool,
}

/// A message of the team's mail was put on record by the operator, under the name of whoever sent it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageSent {
    /// To whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Recipient>,
    /// What it says.
    pub text: MessageText,
    /// When it was sent, where the mail says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<Timestamp>,
}

/// A hook saw a tool of the client being used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUsed {
    /// Which tool, as the client calls it.
    pub tool: ToolName,
    /// Whether it failed.
    #[serde(default)]
    pub failed: bool,
}

/// A hook saw a command run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRan {
    /// What ran, cut and without secrets.
    pub command: CommandLine,
    /// What it exited with, where the client says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The error it showed, masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_signature: Option<ErrorSignature>,
    /// Whether it failed.
    #[serde(default)]
    pub failed: bool,
    /// Whether the line hides how one of its commands ended: exit code and failure are those of the last command of a
    /// pipe, or of the whole line.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_last: bool,
    /// Whether its end was not seen: it ran on in the background, or was interrupted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unseen: bool,
    /// The commands of the line in normal form, paths relative to the root; none where the line cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<CommandLine>,
    /// The end of its output, without secrets and terminal escapes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<OutputTail>,
    /// SHA-256 of its masked output, hex; of an output above 32 KiB the hash of what is masked of its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_sha256: Option<String>,
    /// Where.
    #[serde(flatten)]
    pub checkout: Checkout,
}

/// A hook saw files being changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEdited {
    /// Which ones.
    pub paths: Vec<Scope>,
    /// Where they lie.
    #[serde(flatten)]
    pub checkout: Checkout,
}

/// An agent took note of a refusal or of a change of the rules that concerned it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttentionSeen {
    /// The command that was refused, or the event that changed the rules.
    pub id: Uuid,
}

macro_rules! events {
    ($($variant:ident($body:ty) = $kind:literal, min_reader $min:literal;)+) => {
        /// One event of the ledger.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Event { $(#[allow(missing_docs)] $variant($body)),+ }

        /// An event that cannot be read by this binary.
        #[derive(Debug, thiserror::Error)]
        pub enum Undecodable {
            /// A type this binary does not know.
            #[error("event type `{0}` is unknown to this version of hm: update hm, then run `hm rebuild`")]
            UnknownKind(String),
            /// A known type with a body that does not fit.
            #[error("the payload of a `{kind}` event does not fit: {source}")]
            Body {
                /// The type.
                kind: String,
                /// What does not fit.
                source: serde_json::Error,
            },
        }

        impl Event {
            /// Every type, as stored.
            pub const KINDS: &'static [&'static str] = &[$($kind),+];

            /// The type as stored: `concept.past_tense`.
            pub const fn kind(&self) -> &'static str {
                match self { $(Self::$variant(_) => $kind),+ }
            }

            /// The vocabulary a reader must know to fold this event.
            pub const fn min_reader(&self) -> u32 {
                match self { $(Self::$variant(_) => $min),+ }
            }

            /// The body as JSON.
            pub fn to_body(&self) -> serde_json::Value {
                match self {
                    $(Self::$variant(body) => serde_json::to_value(body)),+
                }
                .expect("event bodies are plain data with string keys")
            }

            /// Reads an event back from its type and body; unknown fields are ignored.
            ///
            /// # Errors
            /// [`Undecodable`]; the caller stops there, it does not skip.
            pub fn decode(kind: &str, body: &str) -> Result<Self, Undecodable> {
                match kind {
                    $($kind => serde_json::from_str(body).map(Self::$variant)
                        .map_err(|source| Undecodable::Body { kind: kind.to_owned(), source }),)+
                    _ => Err(Undecodable::UnknownKind(kind.to_owned())),
                }
            }
        }

        $(impl From<$body> for Event {
            fn from(body: $body) -> Self {
                Self::$variant(body)
            }
        })+
    };
}

events! {
    ClaimCreated(ClaimCreated) = "claim.created", min_reader 1;
    StatusChanged(StatusChanged) = "claim.status_changed", min_reader 1;
    ClaimSuperseded(ClaimSuperseded) = "claim.superseded", min_reader 1;
    PositionTaken(PositionTaken) = "position.taken", min_reader 1;
    EvidenceAdded(EvidenceAdded) = "evidence.added", min_reader 1;
    EvidenceRetracted(EvidenceRetracted) = "evidence.retracted", min_reader 1;
    EventReported(EventReported) = "event.reported", min_reader 1;
    DecisionRecorded(DecisionRecorded) = "decision.recorded", min_reader 1;
    OutcomeRecorded(OutcomeRecorded) = "outcome.recorded", min_reader 1;
    CommandRejected(CommandRejected) = "command.rejected", min_reader 1;
    SpoolFlushed(SpoolFlushed) = "spool.flushed", min_reader 1;
    MemoryDenied(MemoryDenied) = "memory.denied", min_reader 1;
    ContradictionDetected(ContradictionDetected) = "contradiction.detected", min_reader 1;
    ContradictionResolved(ContradictionResolved) = "contradiction.resolved", min_reader 1;
    TargetAliased(TargetAliased) = "target.aliased", min_reader 1;
    ExperimentQueued(ExperimentQueued) = "experiment.queued", min_reader 1;
    ExperimentStarted(ExperimentStarted) = "experiment.started", min_reader 1;
    ExperimentCancelRequested(ExperimentCancelRequested) = "experiment.cancel_requested", min_reader 1;
    ExperimentCompleted(ExperimentCompleted) = "experiment.completed", min_reader 1;
    EventRedacted(EventRedacted) = "event.redacted", min_reader 1;
    LossAccepted(LossAccepted) = "ledger.loss_accepted", min_reader 1;
    PlanAdded(PlanAdded) = "plan.added", min_reader 1;
    PhaseAdded(PhaseAdded) = "phase.added", min_reader 1;
    TaskAdded(TaskAdded) = "task.added", min_reader 1;
    TaskClaimed(TaskClaimed) = "task.claimed", min_reader 1;
    TaskReleased(TaskReleased) = "task.released", min_reader 1;
    TaskUpdated(TaskUpdated) = "task.updated", min_reader 1;
    ScopesLocked(ScopesLocked) = "scopes.locked", min_reader 1;
    ScopesReleased(ScopesReleased) = "scopes.released", min_reader 1;
    IntentDeclared(IntentDeclared) = "intent.declared", min_reader 1;
    SessionStarted(SessionStarted) = "session.started", min_reader 1;
    SessionEnded(SessionEnded) = "session.ended", min_reader 1;
    AgentSeated(AgentSeated) = "agent.seated", min_reader 1;
    TurnRecorded(TurnRecorded) = "turn.recorded", min_reader 1;
    AnchorSaved(AnchorSaved) = "anchor.saved", min_reader 1;
    SessionSplit(SessionSplit) = "session.split", min_reader 1;
    Turn0Continued(Turn0Continued) = "turn0.continued", min_reader 1;
    BeliefsSnapshotted(BeliefsSnapshotted) = "beliefs.snapshotted", min_reader 1;
    GuardFired(GuardFired) = "guard.fired", min_reader 1;
    ToolUsed(ToolUsed) = "tool.used", min_reader 1;
    CommandRan(CommandRan) = "command.ran", min_reader 1;
    FileEdited(FileEdited) = "file.edited", min_reader 1;
    ResearcherSpawned(ResearcherSpawned) = "researcher.spawned", min_reader 1;
    MessageSent(MessageSent) = "message.sent", min_reader 1;
    OperatorOverridden(OperatorOverridden) = "operator.overridden", min_reader 1;
    PolicyChanged(PolicyChanged) = "policy.changed", min_reader 1;
    TargetParted(TargetParted) = "target.parted", min_reader 1;
    OverrideProposed(OverrideProposed) = "override.proposed", min_reader 1;
    OverrideDismissed(OverrideDismissed) = "override.dismissed", min_reader 1;
    PlanAbandoned(PlanAbandoned) = "plan.abandoned", min_reader 1;
    PlanRenamed(PlanRenamed) = "plan.renamed", min_reader 1;
    AnchorRetired(AnchorRetired) = "anchor.retired", min_reader 1;
    AttentionSeen(AttentionSeen) = "attention.seen", min_reader 1;
}

impl Event {
    /// The claim this event changes, if it changes one. A supersession and a contradiction change two: the
    /// one that was there first stands here, the other in its body.
    pub const fn claim_id(&self) -> Option<ClaimId> {
        match self {
            Self::ClaimCreated(body) => Some(body.claim_id),
            Self::StatusChanged(body) => Some(body.claim_id),
            Self::ClaimSuperseded(body) => Some(body.claim_id),
            Self::PositionTaken(body) => Some(body.claim_id),
            Self::EvidenceAdded(body) => Some(body.claim_id),
            Self::EvidenceRetracted(body) => Some(body.claim_id),
            Self::DecisionRecorded(body) => Some(body.claim_id),
            Self::OutcomeRecorded(body) => Some(body.claim_id),
            Self::OverrideProposed(body) => Some(body.claim_id),
            Self::OverrideDismissed(body) => Some(body.claim_id),
            Self::ContradictionDetected(found) => Some(found.left.claim_id),
            Self::ExperimentQueued(queued) => queued.claim_id,
            Self::ContradictionResolved(closed) => Some(closed.left.claim_id),
            Self::EventReported(_)
            | Self::CommandRejected(_)
            | Self::SpoolFlushed(_)
            | Self::MemoryDenied(_)
            | Self::TargetAliased(_)
            | Self::ExperimentStarted(_)
            | Self::ExperimentCancelRequested(_)
            | Self::ExperimentCompleted(_)
            | Self::EventRedacted(_)
            | Self::LossAccepted(_)
            | Self::PlanAdded(_)
            | Self::PhaseAdded(_)
            | Self::TaskAdded(_)
            | Self::TaskClaimed(_)
            | Self::TaskReleased(_)
            | Self::ScopesLocked(_)
            | Self::ScopesReleased(_)
            | Self::TaskUpdated(_)
            | Self::IntentDeclared(_)
            | Self::SessionStarted(_)
            | Self::SessionEnded(_)
            | Self::AgentSeated(_)
            | Self::TurnRecorded(_)
            | Self::AnchorSaved(_)
            | Self::SessionSplit(_)
            | Self::Turn0Continued(_)
            | Self::BeliefsSnapshotted(_)
            | Self::GuardFired(_)
            | Self::ToolUsed(_)
            | Self::CommandRan(_)
            | Self::FileEdited(_)
            | Self::ResearcherSpawned(_)
            | Self::MessageSent(_)
            | Self::OperatorOverridden(_)
            | Self::PolicyChanged(_)
            | Self::TargetParted(_)
            | Self::PlanAbandoned(_)
            | Self::PlanRenamed(_)
            | Self::AnchorRetired(_)
            | Self::AttentionSeen(_) => None,
        }
    }
}

impl Event {
    /// The task this event is about.
    pub const fn task_id(&self) -> Option<TaskId> {
        match self {
            Self::TaskAdded(body) => Some(body.task_id),
            Self::TaskClaimed(body) => Some(body.task_id),
            Self::TaskReleased(body) => Some(body.task_id),
            Self::TaskUpdated(body) => Some(body.task_id),
            Self::ResearcherSpawned(body) => Some(body.task_id),
            Self::ClaimCreated(body) => body.origin_task_id,
            Self::ScopesLocked(_)
            | Self::ScopesReleased(_)
            | Self::StatusChanged(_)
            | Self::ClaimSuperseded(_)
            | Self::PositionTaken(_)
            | Self::EvidenceAdded(_)
            | Self::EvidenceRetracted(_)
            | Self::EventReported(_)
            | Self::DecisionRecorded(_)
            | Self::OutcomeRecorded(_)
            | Self::CommandRejected(_)
            | Self::SpoolFlushed(_)
            | Self::MemoryDenied(_)
            | Self::ContradictionDetected(_)
            | Self::ContradictionResolved(_)
            | Self::TargetAliased(_)
            | Self::ExperimentQueued(_)
            | Self::ExperimentStarted(_)
            | Self::ExperimentCancelRequested(_)
            | Self::ExperimentCompleted(_)
            | Self::EventRedacted(_)
            | Self::LossAccepted(_)
            | Self::PlanAdded(_)
            | Self::PhaseAdded(_)
            | Self::IntentDeclared(_)
            | Self::SessionStarted(_)
            | Self::SessionEnded(_)
            | Self::AgentSeated(_)
            | Self::TurnRecorded(_)
            | Self::AnchorSaved(_)
            | Self::SessionSplit(_)
            | Self::Turn0Continued(_)
            | Self::BeliefsSnapshotted(_)
            | Self::GuardFired(_)
            | Self::ToolUsed(_)
            | Self::CommandRan(_)
            | Self::FileEdited(_)
            | Self::MessageSent(_)
            | Self::OperatorOverridden(_)
            | Self::PolicyChanged(_)
            | Self::TargetParted(_)
            | Self::PlanAbandoned(_)
            | Self::PlanRenamed(_)
            | Self::AnchorRetired(_)
            | Self::OverrideProposed(_)
            | Self::OverrideDismissed(_)
            | Self::AttentionSeen(_) => None,
        }
    }

    /// The run this event is about.
    pub const fn run_id(&self) -> Option<RunId> {
        match self {
            Self::ExperimentQueued(body) => Some(body.run_id),
            Self::ExperimentStarted(body) => Some(body.run_id),
            Self::ExperimentCancelRequested(body) => Some(body.run_id),
            Self::ExperimentCompleted(body) => Some(body.run_id),
            Self::ResearcherSpawned(body) => Some(body.run_id),
            Self::ClaimCreated(_)
            | Self::StatusChanged(_)
            | Self::ClaimSuperseded(_)
            | Self::PositionTaken(_)
            | Self::EvidenceAdded(_)
            | Self::EvidenceRetracted(_)
            | Self::EventReported(_)
            | Self::DecisionRecorded(_)
            | Self::OutcomeRecorded(_)
            | Self::CommandRejected(_)
            | Self::SpoolFlushed(_)
            | Self::MemoryDenied(_)
            | Self::ContradictionDetected(_)
            | Self::ContradictionResolved(_)
            | Self::TargetAliased(_)
            | Self::EventRedacted(_)
            | Self::LossAccepted(_)
            | Self::PlanAdded(_)
            | Self::PhaseAdded(_)
            | Self::TaskAdded(_)
            | Self::TaskClaimed(_)
            | Self::TaskReleased(_)
            | Self::ScopesLocked(_)
            | Self::ScopesReleased(_)
            | Self::TaskUpdated(_)
            | Self::IntentDeclared(_)
            | Self::SessionStarted(_)
            | Self::SessionEnded(_)
            | Self::AgentSeated(_)
            | Self::TurnRecorded(_)
            | Self::AnchorSaved(_)
            | Self::SessionSplit(_)
            | Self::Turn0Continued(_)
            | Self::BeliefsSnapshotted(_)
            | Self::GuardFired(_)
            | Self::ToolUsed(_)
            | Self::CommandRan(_)
            | Self::FileEdited(_)
            | Self::MessageSent(_)
            | Self::OperatorOverridden(_)
            | Self::PolicyChanged(_)
            | Self::TargetParted(_)
            | Self::PlanAbandoned(_)
            | Self::PlanRenamed(_)
            | Self::AnchorRetired(_)
            | Self::OverrideProposed(_)
            | Self::OverrideDismissed(_)
            | Self::AttentionSeen(_) => None,
        }
    }

    /// Says where it happened, if it is an event that says so by more than its task.
    pub(in crate::domain) fn happened_in(&mut self, here: &Checkout) {
        if let Self::SessionStarted(SessionStarted { checkout, .. })
        | Self::CommandRan(CommandRan { checkout, .. })
        | Self::FileEdited(FileEdited { checkout, .. })
        | Self::ExperimentQueued(ExperimentQueued { checkout, .. }) = self
        {
            checkout.clone_from(here);
        } else if let Self::EventReported(reported) = self
            && !reported.paths.is_empty()
        {
            reported.checkout.clone_from(here);
        }
    }

    /// Every claim this event changes.
    pub fn claims(&self) -> Vec<ClaimId> {
        let other = match self {
            Self::ClaimSuperseded(link) => Some(link.superseded_by),
            Self::ContradictionDetected(found) => Some(found.right.claim_id),
            Self::ContradictionResolved(closed) => Some(closed.right.claim_id),
            Self::ClaimCreated(_)
            | Self::StatusChanged(_)
            | Self::PositionTaken(_)
            | Self::EvidenceAdded(_)
            | Self::EvidenceRetracted(_)
            | Self::DecisionRecorded(_)
            | Self::OutcomeRecorded(_)
            | Self::EventReported(_)
            | Self::CommandRejected(_)
            | Self::SpoolFlushed(_)
            | Self::MemoryDenied(_)
            | Self::TargetAliased(_)
            | Self::ExperimentQueued(_)
            | Self::ExperimentStarted(_)
            | Self::ExperimentCancelRequested(_)
            | Self::ExperimentCompleted(_)
            | Self::EventRedacted(_)
            | Self::LossAccepted(_)
            | Self::PlanAdded(_)
            | Self::PhaseAdded(_)
            | Self::TaskAdded(_)
            | Self::TaskClaimed(_)
            | Self::TaskReleased(_)
            | Self::ScopesLocked(_)
            | Self::ScopesReleased(_)
            | Self::TaskUpdated(_)
            | Self::IntentDeclared(_)
            | Self::SessionStarted(_)
            | Self::SessionEnded(_)
            | Self::AgentSeated(_)
            | Self::TurnRecorded(_)
            | Self::AnchorSaved(_)
            | Self::SessionSplit(_)
            | Self::Turn0Continued(_)
            | Self::BeliefsSnapshotted(_)
            | Self::GuardFired(_)
            | Self::ToolUsed(_)
            | Self::CommandRan(_)
            | Self::FileEdited(_)
            | Self::ResearcherSpawned(_)
            | Self::MessageSent(_)
            | Self::OperatorOverridden(_)
            | Self::PolicyChanged(_)
            | Self::TargetParted(_)
            | Self::PlanAbandoned(_)
            | Self::PlanRenamed(_)
            | Self::AnchorRetired(_)
            | Self::OverrideProposed(_)
            | Self::OverrideDismissed(_)
            | Self::AttentionSeen(_) => None,
        };
        self.claim_id().into_iter().chain(other).collect()
    }

    /// Whether somebody's own words may stand in it: what there is to erase.
    pub fn holds_words(&self) -> bool {
        match self {
            Self::ClaimCreated(_)
            | Self::DecisionRecorded(_)
            | Self::EventReported(_)
            | Self::TargetAliased(_)
            | Self::ExperimentQueued(_)
            | Self::ExperimentCompleted(_)
            | Self::CommandRejected(_)
            | Self::PlanAdded(_)
            | Self::PhaseAdded(_)
            | Self::TaskAdded(_)
            | Self::IntentDeclared(_)
            | Self::TurnRecorded(_)
            | Self::AnchorSaved(_)
            | Self::SessionSplit(_)
            | Self::Turn0Continued(_)
            | Self::GuardFired(_)
            | Self::ToolUsed(_)
            | Self::CommandRan(_)
            | Self::FileEdited(_)
            | Self::ResearcherSpawned(_)
            | Self::MessageSent(_)
            | Self::OperatorOverridden(_)
            | Self::EvidenceRetracted(_)
            | Self::TargetParted(_)
            | Self::OverrideProposed(_)
            | Self::PlanAbandoned(_)
            | Self::PlanRenamed(_)
            | Self::AnchorRetired(_)
            | Self::ScopesLocked(_)
            | Self::ScopesReleased(_) => true,
            Self::OverrideDismissed(dismissed) => dismissed.reason.is_some(),
            Self::TaskUpdated(updated) => updated.note.is_some(),
            Self::TaskClaimed(claimed) => !claimed.file_locks.is_empty() || claimed.worktree.is_some(),
            Self::SessionStarted(started) => !started.checkout.is_empty(),
            // An agent that deprecates says why. The end of a run may name a file. Every other reason is ours.
            Self::StatusChanged(change) => {
                matches!(change.to, Status::Deprecated) || matches!(change.from, Status::PendingProof)
            }
            Self::PositionTaken(taken) => taken.reason.is_some() || !taken.versions.is_empty(),
            Self::EvidenceAdded(added) => added.note.is_some(),
            Self::OutcomeRecorded(recorded) => recorded.notes.is_some(),
            Self::ClaimSuperseded(_)
            | Self::ContradictionDetected(_)
            | Self::ContradictionResolved(_)
            | Self::ExperimentStarted(_)
            | Self::ExperimentCancelRequested(_)
            | Self::SpoolFlushed(_)
            | Self::MemoryDenied(_)
            | Self::EventRedacted(_)
            | Self::LossAccepted(_)
            | Self::TaskReleased(_)
            | Self::SessionEnded(_)
            | Self::AgentSeated(_)
            | Self::BeliefsSnapshotted(_)
            | Self::PolicyChanged(_)
            | Self::AttentionSeen(_) => false,
        }
    }
}

/// An event with its place and origin, as every fold sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// Place in the total order, from 1 without gaps.
    pub seq: u64,
    /// The event's id.
    pub id: EventId,
    /// Whose command caused it.
    pub agent: AgentId,
    /// In which session.
    pub session: Option<SessionId>,
    /// The command that caused it.
    pub causation: CommandId,
    /// When the writer took the command.
    pub at: Timestamp,
    /// What happened; `None` where an operator erased the payload.
    pub event: Option<Event>,
    /// The type of the event, where the payload is erased.
    pub erased: Option<String>,
}
