//! Events of claims: creation, positions, evidence, and proposals to the operator.

use serde::{Deserialize, Serialize};

use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::claim::{ClaimType, Grade, Override, Position, Relation, Share, Status, Trigger};
use crate::domain::experiment::{Prediction, ProfileName, Tally};
use crate::domain::ids::{ClaimId, EventId, RunId, TaskId};
use crate::domain::memory::MemoryEvent;
use crate::domain::scope::Scope;
use crate::domain::text::{Reason, Statement};
use crate::domain::time::{Hours, Timestamp};
use crate::domain::versions::Versions;

/// A claim was created, with status `proposed`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimCreated {
    /// Equal to the event's own id.
    pub claim_id: ClaimId,
    /// The statement.
    pub statement: Statement,
    /// The type of the claim.
    pub claim_type: ClaimType,
    /// What the claim reports, in the word of its author. None: its type says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_type: Option<MemoryEvent>,
    /// The scopes of the claim.
    pub scopes: Vec<Scope>,
    /// The owner's own confidence, 0 to 1.
    pub confidence: Share,
    /// The claim that this one proposes to supersede. Only `claim.superseded` puts the proposal into force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<ClaimId>,
    /// Hours until the claim expires. None: it lives until it is deprecated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_hours: Option<Hours>,
    /// The actions that a negative claim warns about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Trigger>,
    /// The task in which the claim was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin_task_id: Option<TaskId>,
    /// Whether the claim says that the superseded claim was right, and its problem is now mended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mends: bool,
    /// Versions of the claim's files at that time.
    #[serde(default, skip_serializing_if = "Versions::is_empty")]
    pub versions: Versions,
    /// The work tree in which the front read the files. None if no front is known to have read them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_in: Option<Checkout>,
    /// The agents that the owner asks for a position.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<AgentId>,
    /// The agents that the owner tells of it. No answer is expected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tells: Vec<AgentId>,
    /// Silence confirms the claim at this time, if no agent objects before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objection_until: Option<Timestamp>,
}

/// The status of a claim changed. Or the claim stays proposed, because something prevented its confirmation by silence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatusChanged {
    /// The claim.
    pub claim_id: ClaimId,
    /// The old status.
    pub from: Status,
    /// The new status.
    pub to: Status,
    /// The reason of the change, in a few words.
    pub reason: Reason,
    /// Whether silence caused the change: no agent objected within the time that the owner set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_silence: bool,
    /// Whether an earlier proof stays valid after a run without an outcome.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_proof: bool,
    /// If a run proves the claim: challengers that it does not answer, because they spoke after it was queued. If the
    /// claim loses its proof: challengers that the proof had answered. Their challenges are open again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaves_open: Vec<AgentId>,
}

/// A claim superseded another one. This event sets both links.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimSuperseded {
    /// The superseded claim.
    pub claim_id: ClaimId,
    /// The claim that supersedes it.
    pub superseded_by: ClaimId,
    /// Whether the superseded claim was right, and its problem is now mended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mends: bool,
    /// Supporters and challengers of the old claim who are asked for a position on the new one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<AgentId>,
}

/// An agent took a position on a claim. It replaces the agent's earlier positions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PositionTaken {
    /// The claim.
    pub claim_id: ClaimId,
    /// Support, challenge or abstain.
    pub position: Position,
    /// The reason. A challenge always has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The event that the position cites.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence_ref: Option<EventId>,
    /// Whether the position says that the claim is still meant. The agent's earlier position then stays.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub still: bool,
    /// Versions of the claim's files at that time.
    #[serde(default, skip_serializing_if = "Versions::is_empty")]
    pub versions: Versions,
    /// The work tree in which the front read the files. None if no front is known to have read them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_in: Option<Checkout>,
    /// Names of earlier positions of the same pane. This position replaces those too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instead_of: Vec<AgentId>,
    /// Other names that the pane has had. The position counts for those too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub formerly: Vec<AgentId>,
    /// Whether `still` concerns the challenge alone: the challenger read the files in another work tree than the
    /// claim's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aside: bool,
    /// Challengers of other content, who are asked whether they still mean their challenge.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<AgentId>,
}

impl PositionTaken {
    /// All names that the position counts for. `agent` is the agent that took it.
    pub fn speaks_for<'a>(&'a self, agent: &'a AgentId) -> impl Iterator<Item = &'a AgentId> {
        self.instead_of.iter().chain(&self.formerly).chain([agent])
    }
}

/// An event of the ledger was linked to a claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceAdded {
    /// The claim.
    pub claim_id: ClaimId,
    /// The event that is the evidence.
    pub evidence_ref: EventId,
    /// The relation of the event to the claim.
    pub relation: Relation,
    /// The weight of the evidence, 0 to 1.
    pub weight: Share,
    /// The agent's comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Reason>,
    /// The grade at the time of the link. None means asserted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<Grade>,
    /// The run behind the evidence. None for other events, and for runs of releases before predictions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunBehind>,
}

/// The run behind evidence, and the basis of its verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunBehind {
    /// The run.
    pub run_id: RunId,
    /// The profile of the run. None for a run that a human typed or recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileName>,
    /// SHA-256 of the profile's file, hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_sha256: Option<String>,
    /// The outcome that the claim predicted.
    pub prediction: Prediction,
    /// The count of both outcomes, if equal runs passed and failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unstable: Option<Tally>,
}

/// A link of an event to a claim was retracted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceRetracted {
    /// The claim.
    pub claim_id: ClaimId,
    /// The event that is no longer evidence.
    pub evidence_ref: EventId,
    /// The relation of the retracted link.
    pub relation: Relation,
    /// The reason.
    pub reason: Reason,
    /// Whether the operator retracted the link. If so, a contradicting run no longer prevents a proof.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_operator: bool,
}

/// An agent asked for a change to a claim of the operator that only the operator may make. The claim did not change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverrideProposed {
    /// The claim of the operator.
    pub claim_id: ClaimId,
    /// The requested change.
    pub asks: Override,
    /// The reason, in the agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The proposed successor, if it exists as a claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successor: Option<ClaimId>,
    /// The statement of the proposed decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<Statement>,
    /// The target of the proposed decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Scope>,
    /// Other names that the agent's pane has had. It objects under those too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub formerly: Vec<AgentId>,
}

/// The operator keeps a claim, which settles the proposals against it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverrideDismissed {
    /// The claim.
    pub claim_id: ClaimId,
    /// The reason, in the operator's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}
