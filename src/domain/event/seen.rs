//! Events that say what was seen or done: by the report of an agent, by a hook, or by the mail of the team.

use serde::{Deserialize, Serialize};

use crate::domain::checkout::Checkout;
use crate::domain::claim::ReportKind;
use crate::domain::scope::Scope;
use crate::domain::text::{
    CommandLine, ErrorSignature, MessageText, OutputTail, Recipient, Summary, ToolName,
};
use crate::domain::time::Timestamp;

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

/// The operator put a message of the team's mail on record, under the name of its sender.
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
