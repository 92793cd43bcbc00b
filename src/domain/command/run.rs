//! Commands about runs.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::domain::agent::AgentId;
use crate::domain::experiment::{Plan, Prediction, ProfileName, RunOutcome};
use crate::domain::ids::{ClaimId, RunId, TaskId};
use crate::domain::text::{CommandLine, Prompt, Reason, Statement, Turn0};

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
    /// What the writer makes of it; it never comes from a front.
    #[serde(skip)]
    pub plan: Option<Plan>,
    /// What the claim says, for the receipt; from the writer, like the plan.
    #[serde(skip)]
    pub statement: Option<Statement>,
    /// The ids of its further runs; from the writer, like the plan.
    #[serde(skip)]
    pub further_runs: Vec<RunId>,
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

/// Send an agent out to find something: its profile runs headless, in a session of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnResearcher {
    /// Minted by the front; its session is [`crate::domain::ids::SessionId::of_researcher`].
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
    /// What the writer makes of it; it never comes from a front.
    #[serde(skip)]
    pub mission: Option<Mission>,
}

/// Who is sent out, and what runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mission {
    /// Whom it speaks as.
    pub agent: AgentId,
    /// What runs, with what it finds its way back by in its environment.
    pub plan: Plan,
}
