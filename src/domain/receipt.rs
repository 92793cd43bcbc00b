//! The receipt: the answer to an accepted command, the same for all fronts.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::claim::Grade;
use crate::domain::ids::{ClaimId, CommandId, EventId};

/// Whether the events of a command are in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Acceptance {
    /// Durable in the ledger and visible to readers.
    Committed,
    /// Durable in the spool. The writer commits it when it is back, if the rules still accept it.
    Queued,
}

/// A notice for the caller of an accepted command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// The stable code, for programs.
    pub code: WarningCode,
    /// One sentence, for readers.
    pub message: String,
    /// The claim of the notice, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_id: Option<ClaimId>,
}

/// The subject of a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarningCode {
    /// A dead end exists for the scopes of this claim.
    NegativeClaim,
    /// Another agent made a claim about the same scope minutes ago.
    RecentClaim,
    /// The claim replaces another one only after it is confirmed.
    SupersessionProposed,
    /// The claim that it would have replaced has another successor now.
    SupersessionLapsed,
    /// The operator stands by the claim: the command became a proposal and had no other effect.
    ProposedToOperator,
    /// A claim in force contradicts it.
    Contradiction,
    /// The target is new, and its name resembles that of another one.
    SimilarTarget,
    /// The decision that it replaces was on another target, which has no decision now.
    TargetLeftOpen,
    /// Erased data could not be removed from every file yet.
    ErasureUnfinished,
    /// Events are missing from the ledger: nothing is appended until the operator decides how to continue.
    LedgerDamaged,
    /// Another session has locked these scopes.
    FileLeased,
    /// A task that had to be done first was invalidated.
    DependencyInvalidated,
    /// An open task says much the same as the new one.
    SimilarTask,
    /// No session is there of an agent that is asked.
    NotHere,
    /// The name of a work tree or branch was taken for its agent.
    AskedAs,
    /// Another agent edited a file of the caller's claim after the claim was made.
    EditedSince,
    /// A file of the claim has another content than at the time of the challenge or the claim.
    ChangedSince,
    /// No file of the claim that it mends changed since a run contradicted that claim.
    NothingChanged,
    /// The content of a file of the claim is unknown: it is too large, no regular file, or outside the work tree.
    Unversioned,
    /// A file of the claim does not exist in the tree of the run, or a locked word is no file.
    ScopeMissing,
    /// The session took a seat and has its agent from now on.
    Seated,
    /// The session got another seat than before, because another pane took that one meanwhile.
    SeatTaken,
    /// The command meets a guard.
    Guard,
    /// The caller sent an argument that the tool does not know.
    UnknownArgument,
}

impl WarningCode {
    /// The label before the sentence in a text receipt. It distinguishes information from warnings.
    pub const fn label(self) -> &'static str {
        if matches!(self, Self::RecentClaim | Self::SimilarTask | Self::AskedAs) { "note" } else { "warning" }
    }

    /// Whether the sentence quotes the claim of another agent.
    pub(in crate::domain) const fn quotes_a_claim(self) -> bool {
        matches!(self, Self::NegativeClaim | Self::Contradiction | Self::RecentClaim)
    }
}

/// The lease of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Pass it to `update_task`. It is refused once the lease is over.
    pub fencing_token: u64,
    /// The minutes from each event of the session to the end of the lease.
    pub minutes: u32,
}

/// The current work on a claim that a receipt names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtClaim {
    /// The claim.
    pub claim_id: ClaimId,
    /// The agents and their work, on one line.
    pub by_now: String,
}

/// An event that the command cites as evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cited {
    /// The whole id of the event.
    pub evidence_ref: EventId,
    /// Its grade; `None` where a position cites it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<Grade>,
    /// The reason for the grade.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// How a command that was cited as support failed: `failed with exit 2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// The answer to an accepted command. It can be derived from the ledger, except for warnings, `cited`, `similar`,
/// `at_now`, `meaning` and `next`: those are missing when the same command comes again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The id of the command, created by its front.
    pub command_id: CommandId,
    /// Committed or queued.
    pub state: Acceptance,
    /// The entity that the command created: a claim, an event and so on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity_id: Option<Uuid>,
    /// The short name of the entity, once committed and if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Ledger position of the command's last event; `None` unless committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// Whether this command was accepted before; then nothing new was written.
    pub duplicate: bool,
    /// Whether the only effect is a proposal to the operator.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub proposed: bool,
    /// The lease of the task that was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
    /// Notices for the caller.
    pub warnings: Vec<Warning>,
    /// The events that the command cites as evidence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cited: Vec<Cited>,
    /// Claims that are nearly the same. They are never merged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub similar: Vec<ClaimId>,
    /// Claims that are nearly the same and differ in a value, a name, an order or an exception: the caller should
    /// compare them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alike: Vec<ClaimId>,
    /// The current work on the named claims, read by the front after the command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at_now: Vec<AtClaim>,
    /// What the outcome of a run means for its claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meaning: Option<String>,
    /// The suggested next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl Receipt {
    /// The receipt of a command whose last event has the position `seq` in the ledger.
    pub fn committed(command_id: CommandId, entity_id: Option<Uuid>, seq: u64) -> Self {
        Self { state: Acceptance::Committed, seq: Some(seq), ..Self::queued(command_id, entity_id) }
    }

    /// The receipt of a command that is durable in the spool.
    pub const fn queued(command_id: CommandId, entity_id: Option<Uuid>) -> Self {
        Self {
            command_id,
            state: Acceptance::Queued,
            entity_id,
            name: None,
            seq: None,
            duplicate: false,
            proposed: false,
            lease: None,
            warnings: Vec::new(),
            cited: Vec::new(),
            similar: Vec::new(),
            alike: Vec::new(),
            at_now: Vec::new(),
            meaning: None,
            next: None,
        }
    }

    /// The claims that the receipt mentions.
    pub fn told_of(&self) -> impl Iterator<Item = ClaimId> {
        let warned = self.warnings.iter().filter_map(|warning| warning.claim_id);
        warned.chain(self.similar.iter().copied()).chain(self.alike.iter().copied())
    }

    /// The current work on a claim, as a suffix: ` (now: devops tests it, R11 queued)`; empty without work.
    pub fn by_now(&self, claim: Option<ClaimId>) -> String {
        let at_it = self.at_now.iter().find(|at_it| Some(at_it.claim_id) == claim);
        at_it.map_or_else(String::new, |at_it| format!(" (now: {})", at_it.by_now))
    }
}
