//! What keeps a team from working, found where it happens: each check looks at the real thing, and each fault
//! comes with what to do about it.

mod clients;
mod ground;

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};

use crate::clients::{CLIENTS, Places};
use crate::config::{Config, ConfigError};
use crate::workspace::Workspace;
use crate::writer::Front;

/// How one check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// Worth knowing, or not to be known; no fault.
    Note,
    /// A dialog of a client waits for a person's answer; no fault.
    Waiting,
    /// Something has to be mended.
    Fault,
}

/// One look at one thing.
#[derive(Debug, Clone, Serialize)]
pub struct Check {
    /// What was looked at: `writer`, `claude hooks`.
    pub about: String,
    /// How it came out.
    pub verdict: Verdict,
    /// What was seen; may quote what a program printed.
    pub message: String,
    /// What to do, for a fault; sometimes for a note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// The same as numbers, for programs.
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

/// What is examined.
#[derive(Debug)]
pub struct Doctor<'a> {
    /// The workspace.
    pub workspace: &'a Workspace,
    /// Its settings; the defaults where there is a fault in them.
    pub config: &'a Config,
    /// Why its own settings cannot be used.
    pub config_fault: Option<&'a ConfigError>,
    /// The directory of the user's state, where checkpoints are sealed.
    pub state_home: Option<&'a Path>,
    /// Where clients keep theirs.
    pub places: Places,
    /// The way to the writer.
    pub front: Front,
    /// What `HM_AGENT` says, which every server and hook started from this shell is told.
    pub agent: Option<String>,
    /// This program.
    pub binary: PathBuf,
}

impl Doctor<'_> {
    /// Looks at everything, the ground before what stands on it. Starts a writer when none is running, as the
    /// next write would, and each server and hook that a client is configured to run.
    pub async fn examine(&self) -> Vec<Check> {
        let mut checks = vec![self.program()];
        checks.extend(self.config_fault.map(|fault| {
            Check::fault(
                "settings",
                fault.to_string(),
                "mend the file: until then no server, no hook and no writer starts here",
            )
        }));
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
