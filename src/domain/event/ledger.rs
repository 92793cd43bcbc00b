//! Events of the memory itself: refusals, replays, erasures, losses and changes of the rules.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::decide::Quorum;
use crate::domain::ids::{ClaimId, CommandId, EventId};
use crate::domain::memory::{MemoryEvent, MemoryKind, Source};
use crate::domain::policy::Term;
use crate::domain::rejection::Code;
use crate::domain::text::{Label, Reason};

/// A command that was queued without a writer was refused at its replay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandRejected {
    /// The id of the command, as in its receipt.
    pub command_id: CommandId,
    /// The kind of the command, such as `create_claim`.
    pub kind: String,
    /// The stable code of the refusal.
    pub code: Code,
    /// The refusal as a sentence.
    pub message: String,
}

/// The writer committed the commands that were queued without it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpoolFlushed {
    /// Commands committed by this replay.
    pub committed: u32,
    /// Commands that were in the ledger already.
    pub duplicates: u32,
    /// Refused lines, kept in `spool.rejected.jsonl`.
    pub rejected: u32,
}

/// A command was refused because one of its texts looked like a secret, or because the policy of the memory does not let
/// it through. The event contains nothing of the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryDenied {
    /// The rule that refused it, such as `aws-key` or `write_policy_none`.
    pub rule: Label,
    /// The field of the text, such as `statement`.
    pub field: Label,
    /// The kind of the command, such as `create_claim`.
    pub command: Label,
    /// The code of the refusal. None for a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Code>,
    /// The SHA-256 of the policy. None for a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The refused item. None for a secret, and for a command that makes no item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempted: Option<Attempted>,
}

/// An item that the policy refused, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempted {
    /// The kind of the item. None for an observation or a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MemoryKind>,
    /// The event type of the item.
    pub event_type: MemoryEvent,
    /// The author of the item.
    pub source: Source,
    /// The importance of the item.
    pub importance: u8,
    /// The length of its text, in words of ours.
    pub text: String,
}

/// The time of a claim is over by the policy of the memory. It is out of force from then on, and stays in the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryForgotten {
    /// The claim.
    pub claim_id: ClaimId,
    /// The kind of the item.
    pub kind: MemoryKind,
    /// The event type of the item.
    pub event_type: MemoryEvent,
    /// `ttl_expired` or `decay`.
    pub reason: Label,
    /// The term that is over.
    pub term: Term,
    /// The SHA-256 of the policy.
    pub policy: String,
}

/// An operator had the payload of an event erased. This event explains the gap in the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventRedacted {
    /// The event without payload and salt.
    pub event_id: EventId,
    /// Its position in the ledger.
    pub seq: u64,
    /// The reason, in the operator's words. It must not repeat the erased text.
    pub reason: Reason,
}

/// An operator had the payloads of many events erased at once. This event explains the gaps in the ledger. It repeats no
/// filter, because a scope may be what is to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventsRedacted {
    /// Ranges of positions in the ledger, first and last inclusive, sorted. The events there have no payload and no salt.
    pub spans: Vec<(u64, u64)>,
    /// The reason, in the operator's words. It must not repeat the erased texts.
    pub reason: Reason,
}

impl EventsRedacted {
    /// Whether the event at a position is erased. The ranges are sorted.
    pub fn holds(&self, seq: u64) -> bool {
        let after = self.spans.partition_point(|(first, _)| *first <= seq);
        after.checked_sub(1).is_some_and(|at| seq <= self.spans[at].1)
    }

    /// The positions of the erased events.
    pub fn seqs(&self) -> impl Iterator<Item = u64> + '_ {
        self.spans.iter().flat_map(|(first, last)| *first..=*last)
    }
}

/// The operator accepted a damage of the ledger or of its checkpoints. The ledger continues after `from`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossAccepted {
    /// The last event in the ledger at that time.
    pub from: u64,
    /// The last event that the ledger is known to have had. Not above `from` if only checkpoints were damaged.
    pub to: u64,
    /// The fault that `hm verify` reported.
    pub fault: Reason,
    /// The operator's reason.
    pub reason: Reason,
}

/// A caller acted as the operator without a human at a terminal, and gave a reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorOverridden {
    /// The verb or command that follows.
    pub verb: Label,
    /// The reason, in the caller's words.
    pub reason: Reason,
}

/// The rules differ from those of the last writer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyChanged {
    /// The new quorum for confirmed claims.
    pub quorum: Quorum,
    /// The old quorum.
    pub was: Quorum,
    /// Whether agents may override the operator now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub agents_may_override_operator: bool,
    /// Whether they could before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub agents_might_override_operator: bool,
    /// The policy of the memory, if that is what changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryRules>,
}

/// The policy of the memory since an event. Later events name it by its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryRules {
    /// The SHA-256 of the text.
    pub hash: String,
    /// The policy as canonical JSON. A later release may write the same policy in another way.
    pub policy: String,
    /// The SHA-256 of the policy before.
    pub was: String,
    /// The rules that differ, in the order of `config.toml`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<RuleChange>,
}

/// One rule that differs from the policy before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleChange {
    /// Its key, such as `write_policy`.
    pub rule: String,
    /// Its new value, in the words of `config.toml`.
    pub now: String,
    /// Its old value.
    pub was: String,
    /// Whether more may be written than before, or agents may decide more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub looser: bool,
}

/// An agent acknowledged a refusal or a change of the rules, or declined a suggestion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttentionSeen {
    /// The refused command, the event that changed the rules, or the event behind the suggestion.
    pub id: Uuid,
    /// Why the suggestion was declined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}
