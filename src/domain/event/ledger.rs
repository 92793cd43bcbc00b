//! Events of the memory itself: refusals, replays, erasures, losses and changes of the rules.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::decide::Quorum;
use crate::domain::ids::{CommandId, EventId};
use crate::domain::rejection::Code;
use crate::domain::text::{Label, Reason};

/// A command accepted while the writer was away did not pass once it was back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandRejected {
    /// The command, as its receipt named it.
    pub command_id: CommandId,
    /// What kind of command it was, such as `create_claim`.
    pub kind: String,
    /// Why, as a stable code.
    pub code: Code,
    /// Why, as a sentence.
    pub message: String,
}

/// Commands accepted while the writer was away are now in the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpoolFlushed {
    /// Commands committed by this replay.
    pub committed: u32,
    /// Commands that were in the ledger already.
    pub duplicates: u32,
    /// Lines that did not pass, kept in `spool.rejected.jsonl`.
    pub rejected: u32,
}

/// A command was refused because a text of it held what looked like a secret; nothing of the text is here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryDenied {
    /// The rule that found it, such as `aws-key`.
    pub rule: Label,
    /// The field it stood in, such as `statement`.
    pub field: Label,
    /// The command it was part of, such as `create_claim`.
    pub command: Label,
}

/// An operator had the payload of an event erased: why a gap in the ledger is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventRedacted {
    /// The event whose payload and salt are gone.
    pub event_id: EventId,
    /// Its place.
    pub seq: u64,
    /// Why, in the operator's words; never what was erased.
    pub reason: Reason,
}

/// The operator accepted a damage of the ledger or of its checkpoints: the ledger goes on after `from`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossAccepted {
    /// The last event the ledger held then.
    pub from: u64,
    /// The last event that it was seen to hold before. Not above `from` where only checkpoints were damaged.
    pub to: u64,
    /// What `hm verify` said was wrong.
    pub fault: Reason,
    /// Why the operator accepted it.
    pub reason: Reason,
}

/// A caller spoke as the operator where no human at a terminal was seen, and said why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorOverridden {
    /// The verb or command that follows.
    pub verb: Label,
    /// Why, in the caller's words.
    pub reason: Reason,
}

/// The rules that decide differ from those of the writers before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyChanged {
    /// When a claim counts as confirmed from now on.
    pub quorum: Quorum,
    /// When it did until now.
    pub was: Quorum,
    /// Whether agents may override the operator from now on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub agents_may_override_operator: bool,
    /// Whether they might until now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub agents_might_override_operator: bool,
}

/// An agent took note of a refusal or of a change of the rules that concerned it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttentionSeen {
    /// The command that was refused, or the event that changed the rules.
    pub id: Uuid,
}
