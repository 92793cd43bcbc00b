//! Events of claims: statements, positions, evidence, and what was proposed against them.

use serde::{Deserialize, Serialize};

use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::claim::{ClaimType, Grade, Override, Position, Relation, Share, Status, Trigger};
use crate::domain::experiment::{Prediction, ProfileName, Tally};
use crate::domain::ids::{ClaimId, EventId, RunId, TaskId};
use crate::domain::scope::Scope;
use crate::domain::text::{Reason, Statement};
use crate::domain::time::{Hours, Timestamp};
use crate::domain::versions::Versions;

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
