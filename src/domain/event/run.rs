//! Events of runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::claim::Relation;
use crate::domain::experiment::{Plan, Prediction, ProfileName, RunKey, RunOutcome, Series, Tally};
use crate::domain::ids::{ClaimId, RunId, SessionId, TaskId};
use crate::domain::text::{CommandLine, Prompt, Reason};
use crate::domain::time::Timestamp;
use crate::domain::versions::Versions;

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
