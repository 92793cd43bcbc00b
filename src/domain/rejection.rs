//! Refusals: a stable code, a sentence, and a way forward.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::claim::BadWord;

/// Why a command was refused. One list for MCP, the CLI and the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// An argument is missing or malformed.
    InvalidArgument,
    /// No such name on the roster.
    UnknownAgent,
    /// A pinned front was asked to speak for somebody else.
    AgentMismatch,
    /// Nobody says who is speaking.
    AgentRequired,
    /// No claim has this id.
    UnknownClaim,
    /// No event has this id.
    UnknownEvidence,
    /// Several events go by this name.
    AmbiguousEvidence,
    /// This event already stands in this relation to the claim.
    DuplicateEvidence,
    /// The same statement about the same scopes is already claimed.
    DuplicateClaim,
    /// The claim cannot go from where it is to where the command would take it.
    InvalidTransition,
    /// The claim is deprecated: no more positions.
    ClaimDeprecated,
    /// An owner cannot challenge their own claim.
    OwnClaim,
    /// The claim already has a successor.
    AlreadySuperseded,
    /// Another decision on the same target is in force.
    TargetConflict,
    /// Only a decision with a rationale may do this.
    RationaleRequired,
    /// The claim is no decision, or is one already.
    NoDecision,
    /// The decision has this outcome already.
    DuplicateOutcome,
    /// No profile has this name.
    UnknownProfile,
    /// The profile is an agent's where a command's is meant, or the other way round.
    WrongProfile,
    /// No human trusted the profile's file as it is.
    UntrustedProfile,
    /// No run has this id.
    UnknownRun,
    /// Nothing says what an exit of this profile means; in records of older releases only.
    NoExpectation,
    /// The profile says nothing about what the claim is about.
    ProfileCannotSettle,
    /// The run cannot be evidence.
    NotAttachable,
    /// It is on record already.
    Duplicate,
    /// Both names mean one target already.
    DuplicateAlias,
    /// The name is no alias of a target.
    NoAlias,
    /// No plan, phase or task has this id; only in ledgers of releases before names.
    UnknownNode,
    /// No task, or more than one, goes by this name.
    UnknownTask,
    /// No plan or phase, or more than one, goes by this name.
    UnknownPlan,
    /// No session goes by this name.
    UnknownSession,
    /// No work tree of this name has this memory.
    UnknownWorktree,
    /// Another session holds the task.
    TaskTaken,
    /// Another session holds a lock there.
    ScopeLocked,
    /// Something must be done before the task.
    TaskNotReady,
    /// The hold on the task is over.
    StaleToken,
    /// The agent has no right to do this.
    NotAllowed,
    /// What it is about was erased by an operator.
    Redacted,
    /// The idempotency key was used for another command.
    IdempotencyConflict,
    /// A text holds what looks like a secret; neither it nor the command was kept.
    PrivacyDenySensitive,
    /// More than one command may hold.
    TooLarge,
    /// The file holds another history than this ledger.
    Diverged,
    /// The front and the writer are of different versions.
    VersionMismatch,
    /// The store cannot take it now; nothing was written.
    Unavailable,
}

impl Code {
    /// The code as sent and stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidArgument => "invalid_argument",
            Self::UnknownAgent => "unknown_agent",
            Self::AgentMismatch => "agent_mismatch",
            Self::AgentRequired => "agent_required",
            Self::UnknownClaim => "unknown_claim",
            Self::UnknownEvidence => "unknown_evidence",
            Self::AmbiguousEvidence => "ambiguous_evidence",
            Self::DuplicateEvidence => "duplicate_evidence",
            Self::DuplicateClaim => "duplicate_claim",
            Self::InvalidTransition => "invalid_transition",
            Self::ClaimDeprecated => "claim_deprecated",
            Self::OwnClaim => "own_claim",
            Self::AlreadySuperseded => "already_superseded",
            Self::TargetConflict => "target_conflict",
            Self::RationaleRequired => "rationale_required",
            Self::NoAlias => "no_alias",
            Self::NoDecision => "no_decision",
            Self::DuplicateOutcome => "duplicate_outcome",
            Self::UnknownProfile => "unknown_profile",
            Self::WrongProfile => "wrong_profile",
            Self::UntrustedProfile => "untrusted_profile",
            Self::UnknownRun => "unknown_run",
            Self::NoExpectation => "no_expectation",
            Self::ProfileCannotSettle => "profile_cannot_settle",
            Self::NotAttachable => "not_attachable",
            Self::Duplicate => "duplicate",
            Self::DuplicateAlias => "duplicate_alias",
            Self::UnknownNode => "unknown_node",
            Self::UnknownTask => "unknown_task",
            Self::UnknownPlan => "unknown_plan",
            Self::UnknownSession => "unknown_session",
            Self::UnknownWorktree => "unknown_worktree",
            Self::ScopeLocked => "scope_locked",
            Self::TaskTaken => "task_taken",
            Self::TaskNotReady => "task_not_ready",
            Self::StaleToken => "stale_token",
            Self::NotAllowed => "not_allowed",
            Self::Redacted => "redacted",
            Self::IdempotencyConflict => "idempotency_conflict",
            Self::PrivacyDenySensitive => "privacy_deny_sensitive",
            Self::TooLarge => "too_large",
            Self::Diverged => "diverged",
            Self::VersionMismatch => "version_mismatch",
            Self::Unavailable => "unavailable",
        }
    }
}

/// An answer that says no. Nothing was written, and the idempotency key was not used up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}; {hint}")]
pub struct Rejection {
    /// Stable, for programs.
    pub code: Code,
    /// One sentence, lower case, without a period.
    pub message: String,
    /// What to do instead.
    pub hint: String,
    /// Named facts of this refusal, such as `from`, `to` or `duplicate_of`.
    #[serde(flatten)]
    pub details: BTreeMap<String, String>,
}

impl Rejection {
    /// A refusal without details.
    pub fn new(code: Code, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: hint.into(), details: BTreeMap::new() }
    }

    /// Adds one named fact.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.details.insert(name.to_owned(), value.to_string());
        self
    }

    /// An argument that does not parse; the parser's own text says how to write it.
    pub fn invalid(argument: &str, problem: impl ToString) -> Self {
        Self::new(Code::InvalidArgument, problem.to_string(), format!("correct `{argument}` and call again"))
            .with("argument", argument)
    }
}

impl From<BadWord> for Rejection {
    fn from(problem: BadWord) -> Self {
        Self::new(Code::InvalidArgument, problem.to_string(), "correct the word and call again")
    }
}
