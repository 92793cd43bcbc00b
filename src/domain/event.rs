//! What happened: the immutable facts of the ledger, in the past tense, and their wire form.
//!
//! Events are for ever. A new field is optional, a changed meaning is a new type, and every type has a
//! fixture in `tests/fixtures/events.jsonl` that must decode in every release.

mod about;
mod claim;
mod decision;
mod ledger;
mod run;
mod seen;
mod session;
mod task;

pub use about::{About, OwnId};
pub use claim::*;
pub use decision::*;
pub use ledger::*;
pub use run::*;
pub use seen::*;
pub use session::*;
pub use task::*;

use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::ids::{CommandId, EventId, SessionId};
use crate::domain::time::Timestamp;

/// The newest event vocabulary this binary folds. An event whose `min_reader` is above it stops the
/// fold with a clear message; it is never skipped.
pub const READER: u32 = 1;

macro_rules! events {
    ($($variant:ident = $kind:literal, min_reader $min:literal;)+) => {
        /// One event of the ledger.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Event { $(#[allow(missing_docs)] $variant($variant)),+ }

        /// An event that cannot be read by this binary.
        #[derive(Debug, thiserror::Error)]
        pub enum Undecodable {
            /// A type this binary does not know.
            #[error("event type `{0}` is unknown to this version of hm: update hm, then run `hm rebuild`")]
            UnknownKind(String),
            /// A known type with a body that does not fit.
            #[error("the payload of a `{kind}` event does not fit: {source}")]
            Body {
                /// The type.
                kind: String,
                /// What does not fit.
                source: serde_json::Error,
            },
        }

        impl Event {
            /// Every type, as stored.
            pub const KINDS: &'static [&'static str] = &[$($variant::KIND),+];

            /// The type as stored: `concept.past_tense`.
            pub const fn kind(&self) -> &'static str {
                match self { $(Self::$variant(_) => $variant::KIND),+ }
            }

            /// The vocabulary a reader must know to fold this event.
            pub const fn min_reader(&self) -> u32 {
                match self { $(Self::$variant(_) => $min),+ }
            }

            /// The body as JSON.
            pub fn to_body(&self) -> serde_json::Value {
                match self {
                    $(Self::$variant(body) => serde_json::to_value(body)),+
                }
                .expect("event bodies are plain data with string keys")
            }

            /// Reads an event back from its type and body; unknown fields are ignored.
            ///
            /// # Errors
            /// [`Undecodable`]; the caller stops there, it does not skip.
            pub fn decode(kind: &str, body: &str) -> Result<Self, Undecodable> {
                match kind {
                    $($variant::KIND => serde_json::from_str(body).map(Self::$variant)
                        .map_err(|source| Undecodable::Body { kind: kind.to_owned(), source }),)+
                    _ => Err(Undecodable::UnknownKind(kind.to_owned())),
                }
            }
        }

        $(impl $variant {
            /// The type of this event, as stored.
            pub const KIND: &'static str = $kind;
        }

        impl From<$variant> for Event {
            fn from(body: $variant) -> Self {
                Self::$variant(body)
            }
        })+
    };
}

events! {
    ClaimCreated = "claim.created", min_reader 1;
    StatusChanged = "claim.status_changed", min_reader 1;
    ClaimSuperseded = "claim.superseded", min_reader 1;
    PositionTaken = "position.taken", min_reader 1;
    EvidenceAdded = "evidence.added", min_reader 1;
    EvidenceRetracted = "evidence.retracted", min_reader 1;
    EventReported = "event.reported", min_reader 1;
    DecisionRecorded = "decision.recorded", min_reader 1;
    OutcomeRecorded = "outcome.recorded", min_reader 1;
    CommandRejected = "command.rejected", min_reader 1;
    SpoolFlushed = "spool.flushed", min_reader 1;
    MemoryDenied = "memory.denied", min_reader 1;
    ContradictionDetected = "contradiction.detected", min_reader 1;
    ContradictionResolved = "contradiction.resolved", min_reader 1;
    TargetAliased = "target.aliased", min_reader 1;
    ExperimentQueued = "experiment.queued", min_reader 1;
    ExperimentStarted = "experiment.started", min_reader 1;
    ExperimentCancelRequested = "experiment.cancel_requested", min_reader 1;
    ExperimentCompleted = "experiment.completed", min_reader 1;
    EventRedacted = "event.redacted", min_reader 1;
    LossAccepted = "ledger.loss_accepted", min_reader 1;
    PlanAdded = "plan.added", min_reader 1;
    PhaseAdded = "phase.added", min_reader 1;
    TaskAdded = "task.added", min_reader 1;
    TaskClaimed = "task.claimed", min_reader 1;
    TaskReleased = "task.released", min_reader 1;
    TaskUpdated = "task.updated", min_reader 1;
    ScopesLocked = "scopes.locked", min_reader 1;
    ScopesReleased = "scopes.released", min_reader 1;
    IntentDeclared = "intent.declared", min_reader 1;
    SessionStarted = "session.started", min_reader 1;
    SessionEnded = "session.ended", min_reader 1;
    AgentSeated = "agent.seated", min_reader 1;
    TurnRecorded = "turn.recorded", min_reader 1;
    AnchorSaved = "anchor.saved", min_reader 1;
    SessionSplit = "session.split", min_reader 1;
    Turn0Continued = "turn0.continued", min_reader 1;
    BeliefsSnapshotted = "beliefs.snapshotted", min_reader 1;
    GuardFired = "guard.fired", min_reader 1;
    ToolUsed = "tool.used", min_reader 1;
    CommandRan = "command.ran", min_reader 1;
    FileEdited = "file.edited", min_reader 1;
    ResearcherSpawned = "researcher.spawned", min_reader 1;
    MessageSent = "message.sent", min_reader 1;
    OperatorOverridden = "operator.overridden", min_reader 1;
    PolicyChanged = "policy.changed", min_reader 1;
    TargetParted = "target.parted", min_reader 1;
    OverrideProposed = "override.proposed", min_reader 1;
    OverrideDismissed = "override.dismissed", min_reader 1;
    PlanAbandoned = "plan.abandoned", min_reader 1;
    PlanRenamed = "plan.renamed", min_reader 1;
    AnchorRetired = "anchor.retired", min_reader 1;
    AttentionSeen = "attention.seen", min_reader 1;
}

impl Event {
    /// Adds where it happened, to an event that says so by more than its task.
    pub(in crate::domain) fn happened_in(&mut self, here: &Checkout) {
        if let Self::SessionStarted(SessionStarted { checkout, .. })
        | Self::CommandRan(CommandRan { checkout, .. })
        | Self::FileEdited(FileEdited { checkout, .. })
        | Self::ExperimentQueued(ExperimentQueued { checkout, .. }) = self
        {
            checkout.clone_from(here);
        } else if let Self::EventReported(reported) = self
            && !reported.paths.is_empty()
        {
            reported.checkout.clone_from(here);
        }
    }
}

/// An event with its place and origin, as every fold sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// Place in the total order, from 1 without gaps.
    pub seq: u64,
    /// The event's id.
    pub id: EventId,
    /// Whose command caused it.
    pub agent: AgentId,
    /// In which session.
    pub session: Option<SessionId>,
    /// The command that caused it.
    pub causation: CommandId,
    /// When the writer took the command.
    pub at: Timestamp,
    /// What happened; `None` where an operator erased the payload.
    pub event: Option<Event>,
    /// The type of the event, where the payload is erased.
    pub erased: Option<String>,
}
