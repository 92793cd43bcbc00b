//! Events of runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::claim::Relation;
use crate::domain::experiment::{
    ERASED_COMMAND, Plan, Prediction, ProfileName, RunKey, RunOutcome, Series, Tally,
};
use crate::domain::ids::{ClaimId, IdempotencyKey, RunId, SessionId, TaskId};
use crate::domain::text::{CommandLine, Prompt, Reason};
use crate::domain::time::Timestamp;
use crate::domain::versions::Versions;

/// A run was queued.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentQueued {
    /// Equal to the event's own id.
    pub run_id: RunId,
    /// The plan. The runner executes nothing else.
    pub plan: Plan,
    /// The values of the profile's parameters, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub args: BTreeMap<String, String>,
    /// The claim that the run tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_id: Option<ClaimId>,
    /// The relation chosen by the caller. Only events of older releases have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relation: Option<Relation>,
    /// The outcome that the claim predicts. None without a claim, and in events of older releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prediction: Option<Prediction>,
    /// The other runs of the same request, if it asked for several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
    /// Whether the claim waits for the run.
    #[serde(default)]
    pub blocking: bool,
    /// The work tree and branch of the request and of the run.
    #[serde(flatten)]
    pub checkout: Checkout,
    /// Versions of the claim's files at that time.
    #[serde(default, skip_serializing_if = "Versions::is_empty")]
    pub versions: Versions,
    /// Why it settles nothing about its claim, whatever its profile covers: its tests do not name the claim's files. None in
    /// events of older releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfit: Option<Reason>,
    /// Why it only mentions its claim: the agent has no say in what the claim predicts. None in events of older releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsaid: Option<Reason>,
    /// `guard-block:GUARD:CLAIM:SESSION` of a run that a guard asked for. A guard asks once for each key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard_key: Option<IdempotencyKey>,
}

/// A run began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExperimentStarted {
    /// The run.
    pub run_id: RunId,
}

/// A cancellation of a run in progress was requested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExperimentCancelRequested {
    /// The run.
    pub run_id: RunId,
}

/// A run ended, or a run from elsewhere was recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentCompleted {
    /// The run. Equal to the event's own id for a run that was never queued.
    pub run_id: RunId,
    /// The profile. None for a run that a human typed or recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileName>,
    /// The command, for display.
    pub command: CommandLine,
    /// The outcome and the files of the run.
    #[serde(flatten)]
    pub outcome: RunOutcome,
    /// Whether the caller overrode the check for a human. Then the caller's word is the only evidence of the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asserted: bool,
    /// The reason why the run has no verdict on its claim although it ended normally.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<Reason>,
    /// The key for comparisons with other runs. None if the content of the run is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<RunKey>,
    /// The count of both outcomes, if runs of the same key or series passed and failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unstable: Option<Tally>,
    /// Whether the test became stable again with this run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stable_again: bool,
    /// The place of the first record of this end, if that record was erased and this one repeats it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restates: Option<Place>,
    /// Whether the first record of this end was erased, and the files of the run with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub erased: bool,
}

impl ExperimentCompleted {
    /// Whether the files of the run must go. A release before the flag marked such an end by its command, and it had
    /// no outcome but its state.
    pub fn is_erased(&self) -> bool {
        let is_marked = || {
            self.command.as_str() == ERASED_COMMAND
                && self.outcome == RunOutcome::without_files(self.outcome.state, None)
        };
        self.erased || is_marked()
    }

    /// The key of the run, with the hash of its tree if that is known.
    pub fn full_key(&self) -> Option<RunKey> {
        self.key.clone().map(|key| key.with_tree(self.outcome.git.as_deref()))
    }
}

/// A place in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The position.
    pub seq: u64,
    /// When the writer took the event.
    pub at: Timestamp,
}

/// A researcher was started: a headless agent with a session of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResearcherSpawned {
    /// The run of the researcher.
    pub run_id: RunId,
    /// The session of the researcher.
    pub child: SessionId,
    /// The session that started it.
    pub parent: SessionId,
    /// The task of its findings.
    pub task_id: TaskId,
    /// Its question.
    pub prompt: Prompt,
    /// The profile of the researcher.
    pub profile: ProfileName,
    /// The agent that the researcher speaks as.
    pub agent: AgentId,
}
