//! The answer to an accepted command, the same everywhere.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::claim::Grade;
use crate::domain::ids::{ClaimId, CommandId, EventId};

/// Whether the events of a command stand in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Acceptance {
    /// Durable in the ledger and visible to readers.
    Committed,
    /// Durable in the spool; the writer will commit it when it is back, if it still passes.
    Queued,
}

/// Something the caller should know; the command was accepted all the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Stable, for programs.
    pub code: WarningCode,
    /// One sentence.
    pub message: String,
    /// The claim it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_id: Option<ClaimId>,
}

/// What a warning is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarningCode {
    /// A dead end is on record where this claim points.
    NegativeClaim,
    /// Another agent said something about the same place minutes ago.
    RecentClaim,
    /// The claim replaces another only once it is confirmed.
    SupersessionProposed,
    /// The claim it would have replaced has another successor by now.
    SupersessionLapsed,
    /// The operator stands by the claim: what was asked is a proposal, and nothing else happened to it.
    ProposedToOperator,
    /// A claim in force says otherwise.
    Contradiction,
    /// The target is new, and its name is much like that of another.
    SimilarTarget,
    /// What was erased could not be removed from every file yet.
    ErasureUnfinished,
    /// Events are missing from the ledger: nothing is appended until the operator says how to go on.
    LedgerDamaged,
    /// Another session asks others to leave these files or things alone.
    FileLeased,
    /// A task that should have been done before was invalidated.
    DependencyInvalidated,
    /// An open task says much the same as the new one.
    SimilarTask,
    /// No session is there of an agent that is asked.
    NotHere,
    /// The name of a work tree or branch was taken for its agent.
    AskedAs,
    /// Another agent edited a file of the caller's claim since the claim was made.
    EditedSince,
    /// A file of the claim holds something else than the challenge, or the claim, was about.
    ChangedSince,
    /// What a file of the claim holds is not known: it is too large, no regular file, or not in the work tree.
    Unversioned,
    /// The session took a seat: the agent it is from now on.
    Seated,
    /// The session took another seat than it had: a pane took that while it was away.
    SeatTaken,
    /// The caller sent an argument the tool does not have.
    UnknownArgument,
}

impl WarningCode {
    /// What stands before the sentence where a receipt is text: not all that is worth knowing is in the way.
    pub const fn label(self) -> &'static str {
        if matches!(self, Self::RecentClaim | Self::SimilarTask | Self::AskedAs) { "note" } else { "warning" }
    }

    /// Whether the sentence says in words what another agent claims.
    pub(in crate::domain) const fn quotes_a_claim(self) -> bool {
        matches!(self, Self::NegativeClaim | Self::Contradiction | Self::RecentClaim)
    }
}

/// A hold on a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Pass it to `update_task`: once the hold is over, it is refused.
    pub fencing_token: u64,
    /// How long the task is held after each event of the session, in minutes.
    pub minutes: u32,
}

/// Who is at a claim that a receipt names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtClaim {
    /// The claim.
    pub claim_id: ClaimId,
    /// Who does what, on one line.
    pub by_now: String,
}

/// An event that the command cites as evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cited {
    /// The event, by its whole id.
    pub evidence_ref: EventId,
    /// What it is worth; none where a position cites it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<Grade>,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// How a command that was cited as support failed: `failed with exit 2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// The answer to an accepted command. It is derivable from the ledger: only warnings, `cited`, `similar`, `at_now`,
/// `meaning` and `next` are not repeated when the same command comes again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The command, as named by the front that took it.
    pub command_id: CommandId,
    /// Committed or queued.
    pub state: Acceptance,
    /// The claim or event the command made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity_id: Option<Uuid>,
    /// Its short name, once it is committed and where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Ledger position of the command's last event; only when committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// Whether this command was accepted before and nothing new was written.
    pub duplicate: bool,
    /// Whether nothing but a proposal to the operator came of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub proposed: bool,
    /// How long the task that was taken is held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
    /// What the command cites as evidence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cited: Vec<Cited>,
    /// Claims that say much the same; nothing merges them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub similar: Vec<ClaimId>,
    /// Claims that are much alike and differ in a value, a name, an order or an exception: to be compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alike: Vec<ClaimId>,
    /// Who is at the claims it names, as its front reads it after the command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at_now: Vec<AtClaim>,
    /// What the outcome of a run will mean, or means, for its claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meaning: Option<String>,
    /// What would move things on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl Receipt {
    /// The claims that it tells of.
    pub fn told_of(&self) -> impl Iterator<Item = ClaimId> {
        let warned = self.warnings.iter().filter_map(|warning| warning.claim_id);
        warned.chain(self.similar.iter().copied()).chain(self.alike.iter().copied())
    }

    /// Who is at one of these now, to be said behind it: ` (now: devops tests it, R11 queued)`; empty where no agent is.
    pub fn by_now(&self, claim: Option<ClaimId>) -> String {
        let at_it = self.at_now.iter().find(|at_it| Some(at_it.claim_id) == claim);
        at_it.map_or_else(String::new, |at_it| format!(" (now: {})", at_it.by_now))
    }
}
