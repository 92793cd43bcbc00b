//! Commands that put on record what was seen or done.

use serde::{Deserialize, Serialize};

use crate::domain::claim::ReportKind;
use crate::domain::event::{CommandRan, FileEdited, ToolUsed};
use crate::domain::ids::EventId;
use crate::domain::scope::Scope;
use crate::domain::text::{CommandLine, ErrorSignature, MessageText, Recipient, Summary};
use crate::domain::time::Timestamp;

/// Report what was seen or done, to be cited as evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportEvent {
    /// Minted by the front.
    pub event_id: EventId,
    /// What kind of report.
    pub kind: ReportKind,
    /// What happened.
    pub summary: Summary,
    /// Files it concerns; required for `file_edited`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<Scope>,
    /// The command; required for `command_ran`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandLine>,
    /// What it exited with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The error it showed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_signature: Option<ErrorSignature>,
}

/// Put a message of the team's mail on record, as the one who sent it; made by the operator's backfill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordMessage {
    /// Minted by the front; the message is citable as evidence.
    pub event_id: EventId,
    /// To whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Recipient>,
    /// What it says.
    pub text: MessageText,
    /// When it was sent, where the mail says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<Timestamp>,
}

/// Put on record what a hook saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observe {
    /// Minted by the front; what was seen is citable as evidence.
    pub event_id: EventId,
    /// What it saw.
    pub seen: Seen,
}

/// What a hook sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Seen {
    /// A tool was used.
    Tool(ToolUsed),
    /// A command ran.
    Command(CommandRan),
    /// Files were changed.
    Files(FileEdited),
}
