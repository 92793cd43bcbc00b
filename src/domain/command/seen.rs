//! Commands that record observations.

use serde::{Deserialize, Serialize};

use crate::domain::claim::ReportKind;
use crate::domain::event::{CommandRan, FileEdited, ToolUsed};
use crate::domain::ids::EventId;
use crate::domain::place::Span;
use crate::domain::scope::Scope;
use crate::domain::text::{CommandLine, ErrorSignature, MessageText, Recipient, Summary};
use crate::domain::time::Timestamp;

/// Report an observation or an action, as evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportEvent {
    /// Minted by the front.
    pub event_id: EventId,
    /// The kind of the report.
    pub kind: ReportKind,
    /// The text of the report.
    pub summary: Summary,
    /// The files of the report. `file_edited` requires them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<Scope>,
    /// The command. `command_ran` requires it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandLine>,
    /// Its exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Its error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_signature: Option<ErrorSignature>,
}

/// Record a message of the team's mail under the name of its sender. The operator's backfill sends it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordMessage {
    /// Minted by the front. The message can be cited as evidence.
    pub event_id: EventId,
    /// The recipient.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Recipient>,
    /// The text of the message.
    pub text: MessageText,
    /// When the message was sent, if the mail contains that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<Timestamp>,
}

/// Cite lines of a file. A front sends it before the command that cites them as evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CitePlace {
    /// The front derives it from the lines and the caller. The lines are cited as evidence by it.
    pub event_id: EventId,
    /// The lines.
    pub span: Span,
}

/// Record an observation of a hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observe {
    /// Minted by the front. The observation can be cited as evidence.
    pub event_id: EventId,
    /// The observation.
    pub seen: Seen,
}

/// An observation of a hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Seen {
    /// A tool call.
    Tool(ToolUsed),
    /// A command.
    Command(CommandRan),
    /// Changes of files.
    Files(FileEdited),
}
