//! Events of observations: reports of agents, observations of hooks, and messages of the team.

use serde::{Deserialize, Serialize};

use crate::domain::checkout::Checkout;
use crate::domain::claim::ReportKind;
use crate::domain::scope::Scope;
use crate::domain::text::{
    Branch, CommandLine, ErrorSignature, MessageText, OutputTail, Recipient, Subagent, Summary, ToolName,
};
use crate::domain::time::Timestamp;
use crate::domain::versions::Versions;

/// An agent reported an observation or an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventReported {
    /// The kind of the report.
    pub kind: ReportKind,
    /// The text of the report.
    pub summary: Summary,
    /// The files of the report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<Scope>,
    /// The command that was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandLine>,
    /// Its exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Its error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_signature: Option<ErrorSignature>,
    /// What the files of an edit held afterwards, where the front read them.
    #[serde(default, skip_serializing_if = "Versions::is_empty")]
    pub versions: Versions,
    /// The work tree and branch of the files, if the report names files.
    #[serde(flatten)]
    pub checkout: Checkout,
}

/// The operator recorded a message of the team's mail under the name of its sender.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageSent {
    /// The recipient.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Recipient>,
    /// The text of the message.
    pub text: MessageText,
    /// When the message was sent, if the mail contains that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<Timestamp>,
}

/// A hook saw a tool call of the client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUsed {
    /// The name of the tool in the client.
    pub tool: ToolName,
    /// Whether it failed.
    #[serde(default)]
    pub failed: bool,
    /// SHA-256 of the input, hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_sha256: Option<String>,
    /// SHA-256 of the steady part of the output, hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_sha256: Option<String>,
    /// What a reading tool was asked for: the file, or the pattern and where it is looked for. Without secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<CommandLine>,
    /// The subagent of the client that did it. None for the session itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<Subagent>,
}

/// A hook saw a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRan {
    /// The command line, shortened and without secrets.
    pub command: CommandLine,
    /// The exit code, if the client reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The error, masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_signature: Option<ErrorSignature>,
    /// Whether it failed.
    #[serde(default)]
    pub failed: bool,
    /// Whether the line hides the end of one of its commands, or the client that of the line. Exit code and failure, where
    /// there are any, are those of the last command of a pipe or of the whole line.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_last: bool,
    /// Whether the hook missed the end: the command continued in the background, or was interrupted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unseen: bool,
    /// The commands of the line in normal form, with paths relative to the root. Empty if the line does not parse.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<CommandLine>,
    /// The end of its output, without secrets and terminal escapes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<OutputTail>,
    /// SHA-256 of its masked output, hex. Above 32 KiB of output, the hash covers its masked end only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_sha256: Option<String>,
    /// SHA-256 of the steady part of that output, hex. Two runs with the same answer have the same hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_sha256: Option<String>,
    /// SHA-256, hex, of when the files were saved that the output of a failed command names: another one tells that somebody
    /// changed such a file. None where it names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_sha256: Option<String>,
    /// The duration in milliseconds, if the client reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
    /// The subagent of the client that did it. None for the session itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<Subagent>,
    /// The work tree and branch of the command.
    #[serde(flatten)]
    pub checkout: Checkout,
}

impl CommandRan {
    /// Whether it succeeded, and nothing hides that.
    pub const fn passed(&self) -> bool {
        !self.failed && !self.of_last && !self.unseen
    }
}

/// A hook saw changes of files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEdited {
    /// The changed files.
    pub paths: Vec<Scope>,
    /// What they held afterwards, where the front read them.
    #[serde(default, skip_serializing_if = "Versions::is_empty")]
    pub versions: Versions,
    /// The commit or branch from which git brought them, as the command named it. None for files that were written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<Branch>,
    /// The work tree and branch of the files.
    #[serde(flatten)]
    pub checkout: Checkout,
}
