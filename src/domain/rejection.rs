//! Refusals: a stable code, a sentence, and a way forward.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::claim::BadWord;
use crate::domain::ids::IdempotencyKey;

/// Why a command was refused. MCP, the CLI and the ledger share this list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// An argument is missing or malformed.
    InvalidArgument,
    /// The roster has no such name.
    UnknownAgent,
    /// A pinned front got a command for another agent.
    AgentMismatch,
    /// The caller does not name its agent.
    AgentRequired,
    /// No claim has this id.
    UnknownClaim,
    /// No event has this id.
    UnknownEvidence,
    /// Several events match this name.
    AmbiguousEvidence,
    /// The event already has this relation to the claim.
    DuplicateEvidence,
    /// The same statement about the same scopes exists.
    DuplicateClaim,
    /// The status of the claim does not allow the command.
    InvalidTransition,
    /// The claim is deprecated and takes no more positions.
    ClaimDeprecated,
    /// An owner cannot challenge their own claim.
    OwnClaim,
    /// A proof answered the challenge of this agent, and nothing new is there.
    ChallengeAnswered,
    /// The claim already has a successor.
    AlreadySuperseded,
    /// Another decision on the same target is in force.
    TargetConflict,
    /// Only a decision with a rationale may do this.
    RationaleRequired,
    /// The claim is no decision, or already is one.
    NoDecision,
    /// The decision already has this outcome.
    DuplicateOutcome,
    /// No profile has this name.
    UnknownProfile,
    /// The profile is an agent's and the command needs a program's, or the reverse.
    WrongProfile,
    /// No human trusted the current content of the profile's file.
    UntrustedProfile,
    /// No run has this id.
    UnknownRun,
    /// The profile does not define the meaning of its exit code; only in records of older releases.
    NoExpectation,
    /// The profile cannot settle a claim about these scopes.
    ProfileCannotSettle,
    /// The run cannot be evidence.
    NotAttachable,
    /// The ledger already has it.
    Duplicate,
    /// The two names already are one target.
    DuplicateAlias,
    /// The name is no alias of a target.
    NoAlias,
    /// No plan, phase or task has this id; only in ledgers older than short names.
    UnknownNode,
    /// No task, or more than one, matches this name.
    UnknownTask,
    /// No plan or phase, or more than one, matches this name.
    UnknownPlan,
    /// No open pattern matches this name.
    UnknownPattern,
    /// No playbook matches this name.
    UnknownPlaybook,
    /// No session matches this name.
    UnknownSession,
    /// The memory has no work tree of this name.
    UnknownWorktree,
    /// No guard, or more than one, matches this name.
    UnknownGuard,
    /// The memory keeps no item with this id, or has no such owner.
    UnknownMemory,
    /// Another session holds the task.
    TaskTaken,
    /// Another session has locked a scope.
    ScopeLocked,
    /// Another task must be done first.
    TaskNotReady,
    /// The lease of the task is over.
    StaleToken,
    /// The agent has no right to do this.
    NotAllowed,
    /// An operator erased the entity.
    Redacted,
    /// The idempotency key was used for another command.
    IdempotencyConflict,
    /// A text seems to hold a secret; neither the text nor the command was stored.
    PrivacyDenySensitive,
    /// The policy lets nothing be written.
    WritePolicyNone,
    /// The item is not important enough for the write policy `minimal`.
    WritePolicyMinimal,
    /// The item is not important enough for the write policy `normal`.
    WritePolicyNormal,
    /// The policy does not let items of this event type be written.
    EventTypeDenied,
    /// The space of a person does not take facts under this key.
    UserKeyDenied,
    /// No item is promoted from the one space to the other.
    BorderClosed,
    /// The authority of the item is too low to cross into the other space.
    AuthorityTooLow,
    /// Only the operator decides and confirms.
    TrustHumanOnly,
    /// The command exceeds a size limit.
    TooLarge,
    /// The file holds another history than this ledger.
    Diverged,
    /// The front and the writer have different versions.
    VersionMismatch,
    /// The store cannot accept it now; nothing was written.
    Unavailable,
}

impl Code {
    /// Whether the policy of the memory refused it.
    pub const fn is_of_policy(self) -> bool {
        matches!(
            self,
            Self::WritePolicyNone
                | Self::WritePolicyMinimal
                | Self::WritePolicyNormal
                | Self::EventTypeDenied
                | Self::UserKeyDenied
                | Self::BorderClosed
                | Self::AuthorityTooLow
                | Self::TrustHumanOnly
        )
    }

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
            Self::ChallengeAnswered => "challenge_answered",
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
            Self::UnknownPattern => "unknown_pattern",
            Self::UnknownPlaybook => "unknown_playbook",
            Self::UnknownSession => "unknown_session",
            Self::UnknownWorktree => "unknown_worktree",
            Self::UnknownGuard => "unknown_guard",
            Self::UnknownMemory => "unknown_memory",
            Self::ScopeLocked => "scope_locked",
            Self::TaskTaken => "task_taken",
            Self::TaskNotReady => "task_not_ready",
            Self::StaleToken => "stale_token",
            Self::NotAllowed => "not_allowed",
            Self::Redacted => "redacted",
            Self::IdempotencyConflict => "idempotency_conflict",
            Self::PrivacyDenySensitive => "privacy_deny_sensitive",
            Self::WritePolicyNone => "write_policy_none",
            Self::WritePolicyMinimal => "write_policy_minimal",
            Self::WritePolicyNormal => "write_policy_normal",
            Self::EventTypeDenied => "event_type_denied",
            Self::UserKeyDenied => "user_key_denied",
            Self::BorderClosed => "border_closed",
            Self::AuthorityTooLow => "authority_too_low",
            Self::TrustHumanOnly => "trust_human_only",
            Self::TooLarge => "too_large",
            Self::Diverged => "diverged",
            Self::VersionMismatch => "version_mismatch",
            Self::Unavailable => "unavailable",
        }
    }
}

/// A refusal. Nothing was written, and the idempotency key can be used again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}; {hint}")]
pub struct Rejection {
    /// The stable code, for programs.
    pub code: Code,
    /// One sentence in lower case, without a period.
    pub message: String,
    /// The way forward.
    pub hint: String,
    /// Named facts of the refusal, such as `from`, `to` or `duplicate_of`.
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

    /// The refusal of an argument that does not parse; the parser's text tells how to write it.
    pub fn invalid(argument: &str, problem: impl ToString) -> Self {
        Self::new(Code::InvalidArgument, problem.to_string(), format!("correct `{argument}` and call again"))
            .with("argument", argument)
    }

    /// The refusal of a key that was used for another request.
    pub fn idempotency_conflict(key: Option<&IdempotencyKey>) -> Self {
        let key = key.map_or("", IdempotencyKey::as_str);
        Self::new(
            Code::IdempotencyConflict,
            format!("the idempotency key `{key}` was used for another command"),
            "use a fresh key for a new command; repeat a key only to retry the same one",
        )
    }
}

impl From<BadWord> for Rejection {
    fn from(problem: BadWord) -> Self {
        Self::new(Code::InvalidArgument, problem.to_string(), "correct the word and call again")
    }
}
