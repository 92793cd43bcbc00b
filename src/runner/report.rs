//! What is known of a run: its state, its outcome, its streams, and the place it ran in.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::capture::Captured;
use super::profile::{Expect, Plan};
use super::provenance::{Git, Host, Program};
use crate::domain::time::Timestamp;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It exited as expected; with 0 where nothing is declared.
    Succeeded,
    /// It ran to its end otherwise.
    Failed,
    /// It took too long.
    TimedOut,
    /// Somebody stopped it.
    Canceled,
    /// It never started, its check did not run, or the process that ran it is gone.
    Aborted,
}

impl State {
    /// The state as sent and stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Canceled => "canceled",
            Self::Aborted => "aborted",
        }
    }

    /// Whether the run says something about what it tested.
    pub const fn is_conclusive(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

/// What a run says about a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// The declared expectation is met.
    Supports,
    /// It is not.
    Contradicts,
}

/// How the process left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// Its exit code, if it exited.
    pub code: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
}

impl Exit {
    /// The state of a process that ran to its end.
    pub fn judged(self, expect: Option<&Expect>) -> State {
        let wanted = expect.map_or(0, |expect| expect.exit);
        if self.code == Some(wanted) { State::Succeeded } else { State::Failed }
    }
}

/// Everything known of a run: `meta.json`. No value of the environment is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// The form of this file.
    pub schema_version: String,
    /// Which run.
    pub run_id: Uuid,
    /// What ran. Secrets in arguments are redacted.
    pub plan: Plan,
    /// How it ended.
    pub state: State,
    /// How the process left.
    pub exit: Exit,
    /// Why it never started, or what went wrong beside it.
    pub problem: Option<String>,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended and nothing of it was left.
    pub finished_at: Timestamp,
    /// How long it ran, in milliseconds.
    pub duration_ms: u64,
    /// Processes that could not be ended in time.
    pub left_behind: u32,
    /// The program that `argv[0]` stood for.
    pub program: Option<Program>,
    /// The first line of the tool's version, where the profile says how to ask for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The repository before the run; none outside one.
    pub git: Option<Git>,
    /// The machine.
    pub host: Host,
    /// HMAC-SHA-256 of the environment under the workspace's key, hex: one value for one environment.
    pub env_fingerprint: String,
    /// The names of the variables it got.
    pub env_names: Vec<String>,
    /// What it wrote to standard output; with a terminal, all it wrote there.
    pub stdout: Captured,
    /// What it wrote to standard error.
    pub stderr: Captured,
    /// SHA-256 of each file beside this one, hex.
    pub files: BTreeMap<String, String>,
}

impl Meta {
    /// The form written now.
    pub const SCHEMA_VERSION: &'static str = "experiment_meta_v1";

    /// What the run says about a claim it is linked to: nothing without a declared expectation, nothing when it
    /// is inconclusive.
    pub fn relation(&self) -> Option<Relation> {
        self.plan.expect.as_ref()?;
        match self.state {
            State::Succeeded => Some(Relation::Supports),
            State::Failed => Some(Relation::Contradicts),
            State::TimedOut | State::Canceled | State::Aborted => None,
        }
    }

    /// Whether another run with the same outcome can reproduce this one: the code it ran on has a name.
    pub fn is_reproducible(&self) -> bool {
        self.state.is_conclusive() && self.git.as_ref().is_some_and(|git| git.sha.is_some() && !git.dirty)
    }
}

/// A run that is over, as the event that ends it needs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Where its files lie.
    pub artifacts: PathBuf,
    /// What stands in `meta.json`.
    pub meta: Meta,
    /// SHA-256 of `meta.json`, hex: through it, every file of the run is in the ledger.
    pub meta_sha256: String,
}
