//! The metadata of a run: its state, its outcome, its streams, and its environment.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::capture::Captured;
use super::profile::{Expect, Plan};
use super::provenance::{Git, Host, Program};
use crate::domain::experiment::{Disturbed, RunGit, RunOutcome};
use crate::domain::scope::Scope;
use crate::domain::text::Reason;
use crate::domain::time::Timestamp;

/// The state in which a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The program exited with the expected code; 0 when the profile declares none.
    Succeeded,
    /// The program ended in another way.
    Failed,
    /// The run exceeded its timeout.
    TimedOut,
    /// A person, an agent or the writer cancelled it.
    Canceled,
    /// It never started, its check did not run, or its helper is gone.
    Aborted,
}

impl State {
    /// The state as it is sent and stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Canceled => "canceled",
            Self::Aborted => "aborted",
        }
    }

    /// Whether the run shows anything about the claim it tested.
    pub const fn is_conclusive(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

/// The relation of a run to a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// The result agrees with the declared expectation.
    Supports,
    /// The result differs from the declared expectation.
    Contradicts,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it; `None` when it exited.
    pub signal: Option<i32>,
}

impl Exit {
    /// The state of a run whose program ended by itself.
    pub fn judged(self, expect: Option<&Expect>) -> State {
        let wanted = expect.map_or(0, |expect| expect.exit);
        if self.code == Some(wanted) { State::Succeeded } else { State::Failed }
    }
}

/// The content of `meta.json`. It holds no values of environment variables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// The version of this format.
    pub schema_version: String,
    /// The run.
    pub run_id: Uuid,
    /// The plan that ran. Secrets in arguments are redacted.
    pub plan: Plan,
    /// The state in which the run ended.
    pub state: State,
    /// How its first process ended.
    pub exit: Exit,
    /// Why it never started, or another problem.
    pub problem: Option<String>,
    /// Time of its start.
    pub started_at: Timestamp,
    /// Time when its last process had ended.
    pub finished_at: Timestamp,
    /// Its duration, in milliseconds.
    pub duration_ms: u64,
    /// Number of processes that could not be ended in time.
    pub left_behind: u32,
    /// The program file of `argv[0]`.
    pub program: Option<Program>,
    /// The first line of the tool's version; `None` when the profile has no command for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The repository before the run; `None` outside a repository.
    pub git: Option<Git>,
    /// The machine of the run.
    pub host: Host,
    /// HMAC-SHA-256 of the environment, in hex, under the workspace's key. Equal environments have equal values.
    pub env_fingerprint: String,
    /// The names of its environment variables.
    pub env_names: Vec<String>,
    /// The facts about its standard output; with a terminal, about all its output.
    pub stdout: Captured,
    /// The facts about its standard error.
    pub stderr: Captured,
    /// SHA-256 of each file beside this one, in hex.
    pub files: BTreeMap<String, String>,
}

impl Meta {
    /// The version that this binary writes.
    pub const SCHEMA_VERSION: &'static str = "experiment_meta_v1";

    /// The relation of the run to the claim it is linked to. `None` without a declared expectation and for an
    /// inconclusive run.
    pub fn relation(&self) -> Option<Relation> {
        self.plan.expect.as_ref()?;
        match self.state {
            State::Succeeded => Some(Relation::Supports),
            State::Failed => Some(Relation::Contradicts),
            State::TimedOut | State::Canceled | State::Aborted => None,
        }
    }

    /// Whether another run can reproduce this one: it ran on a commit without local changes.
    pub fn is_reproducible(&self) -> bool {
        self.state.is_conclusive() && self.git.as_ref().is_some_and(|git| git.sha.is_some() && !git.dirty)
    }
}

/// A finished run, as the event that ends it needs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The directory of its files.
    pub artifacts: PathBuf,
    /// The content of `meta.json`.
    pub meta: Meta,
    /// SHA-256 of `meta.json`, in hex. Through it, the ledger covers every file of the run.
    pub meta_sha256: String,
    /// The directories and patterns of the claim below which a file that git knows was written during the run.
    #[serde(default)]
    pub written: BTreeSet<Scope>,
    /// The same of files that changed and may have been written.
    #[serde(default)]
    pub touched: BTreeSet<Scope>,
    /// The files that the profile covers and that were written during the run.
    #[serde(default)]
    pub disturbed: Option<Disturbed>,
    /// The files whose tests failed, and those that these reach. Empty if that is not known.
    #[serde(default)]
    pub failed_in: Vec<Scope>,
}

impl Report {
    /// Whether it is a failure of a check, which later runs are compared with.
    fn may_count_against(&self) -> bool {
        self.meta.state == State::Failed && self.meta.plan.expect.is_some()
    }

    /// The part that goes into the ledger.
    pub fn outcome(&self) -> RunOutcome {
        let meta = &self.meta;
        RunOutcome {
            state: meta.state.as_str().parse().expect("every state of a report is one of a run"),
            exit_code: meta.exit.code,
            signal: meta.exit.signal,
            problem: meta.problem.as_deref().and_then(Reason::cut),
            started_at: Some(meta.started_at),
            duration_ms: Some(meta.duration_ms),
            git: meta.git.as_ref().map(|git| {
                Box::new(RunGit {
                    sha: git.sha.clone(),
                    branch: git.branch.clone(),
                    dirty: git.dirty,
                    tree: git.tree.clone(),
                    diff: git.diff.clone(),
                    prefix: git.prefix.clone(),
                    covered: git.covered.clone(),
                    own: git.own.clone(),
                    held: None,
                    files: git.files.clone().filter(|_| self.may_count_against()),
                    own_files: git.own_files.clone(),
                })
            }),
            tool: meta.tool.clone().or_else(|| meta.program.as_ref()?.sha256.clone()),
            program: meta.program.as_ref().map(|program| program.path.clone()),
            stdout: meta.stdout.facts(),
            stderr: meta.stderr.facts(),
            meta_sha256: Some(self.meta_sha256.clone()),
            written: self.written.clone(),
            moved: BTreeSet::new(),
            touched: self.touched.clone(),
            disturbed: self.disturbed.clone(),
            failed_in: self.failed_in.clone(),
            interrupted: false,
        }
    }
}
