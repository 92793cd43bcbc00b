//! Finds what keeps a team from working. Each check tests the real thing, and each fault comes with its cure.

mod clients;
mod ground;

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};

use crate::clients::{CLIENTS, Places};
use crate::config::{Config, ConfigError, Silence};
use crate::domain::policy::MemoryPolicy;
use crate::meanings::{self, ALLOW_IT, Problem, Unavailable};
use crate::workspace::{WaitingRules, Workspace};
use crate::writer::Front;

/// The minutes between two looks of the writer for patterns.
const LEAST_STALL_MINUTES: u32 = 5;

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It works.
    Ok,
    /// Information, or something that cannot be found out; not a fault.
    Note,
    /// A client waits for a person to answer its dialog; not a fault.
    Waiting,
    /// It must be repaired.
    Fault,
}

/// One check of one thing.
#[derive(Debug, Clone, Serialize)]
pub struct Check {
    /// The thing, such as `writer` or `claude hooks`.
    pub about: String,
    /// The result.
    pub verdict: Verdict,
    /// The observation; it may quote output of a program.
    pub message: String,
    /// The way forward: always for a fault, sometimes for a note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// The observation as data, for programs.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub data: Value,
}

impl Check {
    fn ok(about: impl Into<String>, message: impl Into<String>) -> Self {
        let (about, message) = (about.into(), message.into());
        Self { about, verdict: Verdict::Ok, message, fix: None, data: json!(null) }
    }

    fn note(about: impl Into<String>, message: impl Into<String>) -> Self {
        Self { verdict: Verdict::Note, ..Self::ok(about, message) }
    }

    fn fault(about: impl Into<String>, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { verdict: Verdict::Fault, ..Self::ok(about, message) }.fixed_by(fix)
    }

    fn waiting(about: impl Into<String>, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { verdict: Verdict::Waiting, ..Self::ok(about, message) }.fixed_by(fix)
    }

    fn fixed_by(self, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..self }
    }

    fn with(self, data: Value) -> Self {
        Self { data, ..self }
    }
}

/// The input of all checks.
#[derive(Debug)]
pub struct Doctor<'a> {
    /// The workspace to check.
    pub workspace: &'a Workspace,
    /// The settings of the workspace; the defaults when its own cannot be used.
    pub config: &'a Config,
    /// Why the workspace's own settings cannot be used.
    pub config_fault: Option<&'a ConfigError>,
    /// The rules of the configuration that wait for a person.
    pub waiting_rules: Option<WaitingRules>,
    /// The user's state directory, which holds the keys of checkpoints.
    pub state_home: Option<&'a Path>,
    /// The directories of the clients' files.
    pub places: Places,
    /// The connection to the writer.
    pub front: Front,
    /// The value of `HM_AGENT`, which every server and hook started from this shell inherits.
    pub agent: Option<String>,
    /// The path of this program.
    pub binary: PathBuf,
}

impl Doctor<'_> {
    /// A policy that differs from the default.
    fn policy(&self) -> Option<Check> {
        let policy = &self.config.memory;
        let MemoryPolicy { write_policy, trust, .. } = policy;
        let closed = if policy.closed().is_some() { ", and nothing is written" } else { "" };
        let is_default = *policy == MemoryPolicy::default();
        if let Some(file) = self.workspace.idle_config(policy) {
            let message = format!(
                "the policy of {} has no effect; in force is that of the main work tree: write_policy = {write_policy}, \
                 trust = {trust}{closed}; `hm policy show` shows all of it",
                file.display()
            );
            return Some(Check::note("policy", message));
        }
        if let Some(silence) = self.config.silence
            && (!is_default || !self.config.secret_patterns.is_empty())
        {
            let own = self.config.secret_patterns.len();
            let message = format!(
                "config.toml is {silence}, so the last policy that was read stays in force: write_policy = \
                 {write_policy}, trust = {trust}{closed}, own secret patterns: {own}; `hm policy show` shows all of it"
            );
            return Some(Check::note("policy", message).fixed_by(Silence::WAY_OUT));
        }
        (!is_default).then(|| {
            let message = format!(
                "[policy] differs from the default: write_policy = {write_policy}, trust = {trust}{closed}; \
                 `hm policy show` shows all of it"
            );
            Check::note("policy", message)
        })
    }

    /// A time without activity that is shorter than the time between two looks of the writer.
    fn patterns(&self) -> Option<Check> {
        let minutes = self.config.patterns.stall_minutes;
        (minutes < LEAST_STALL_MINUTES).then(|| {
            let message = format!(
                "[patterns] stall_minutes = {minutes} is like {LEAST_STALL_MINUTES}: the writer looks every {LEAST_STALL_MINUTES} minutes"
            );
            let way = format!("write {LEAST_STALL_MINUTES} or more");
            Check::note("patterns", message).fixed_by(way)
        })
    }

    /// Rules of the configuration that wait for a person.
    fn rules(&self) -> Option<Check> {
        let waiting = self.waiting_rules?;
        let way = format!("a person allows them with `{}`", WaitingRules::ALLOW);
        Some(Check::note("rules", waiting.to_string()).fixed_by(way))
    }

    /// The model for search, if the configuration names one.
    fn model(&self) -> Option<Check> {
        let named = self.config.model.as_ref()?;
        Some(match meanings::model(self.workspace, self.config) {
            Ok(None) => return None,
            Ok(Some(model)) => match model.meaning("hivemind") {
                Ok(meaning) => {
                    let numbers = meaning.dimensions();
                    Check::ok("search", format!("{named} answers as {} with {numbers} numbers", model.id))
                }
                Err(problem) => self.unusable(&problem),
            },
            Err(problem @ Unavailable::Untrusted(_)) => {
                Check::note("search", format!("{problem}, so the static table is compared"))
                    .fixed_by(ALLOW_IT)
            }
            Err(problem) => self.unusable(&problem),
        })
    }

    fn unusable(&self, problem: &Unavailable) -> Check {
        let is_keyless = self.config.model.as_ref().is_some_and(|named| !self.workspace.allows_key(named));
        let is_refused = matches!(problem, Unavailable::Endpoint { problem: Problem::Status(401 | 403), .. });
        let way = if is_refused && is_keyless {
            "a person lets it have the key of the environment with `hm trust --vectors --key`"
        } else {
            "mend the model, or write another value at [search] vectors"
        };
        Check::fault("search", format!("{problem}; the static table is compared"), way)
    }

    /// Runs all checks, each after those it depends on. It starts a missing writer, as the next write would,
    /// and every server and hook that a client is configured to run.
    pub async fn examine(&self) -> Vec<Check> {
        let mut checks = vec![self.program()];
        checks.extend(self.config_fault.map(|fault| {
            Check::fault(
                "settings",
                fault.to_string(),
                "mend the file: until then no server, no hook and no writer starts here",
            )
        }));
        checks.extend(self.policy());
        checks.extend(self.rules());
        checks.extend(self.patterns());
        checks.extend(self.model());
        checks.push(self.writer().await);
        checks.extend(self.memory());
        checks.extend([self.store(), self.standing(), self.pack()]);
        checks.extend(self.agent());
        let mut servers = clients::Servers::default();
        for client in CLIENTS {
            checks.extend(self.client(client, &mut servers).await);
        }
        if !self.is_anybody_configured() {
            checks.push(Check::fault(
                "clients",
                "none is configured, so no agent reaches this memory",
                "run `hm init`, or `hm init --clients NAME` for one that is not found",
            ));
        }
        checks
    }
}
