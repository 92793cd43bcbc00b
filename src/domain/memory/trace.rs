//! Traces of the memory contract: each is a view of an event of the ledger, under the name that the contract gives it.

use super::Space;
use crate::domain::claim::{Status, word};
use crate::domain::event::{
    AnchorRetired, AnchorSaved, BorderChecked, ClaimCreated, ClaimSuperseded, Event, MemoryDenied,
    MemoryForgotten, MemoryPromoted, MemoryRecalled, PhaseStarted, PromotionDenied, StatusChanged,
    TurnRecorded,
};
use crate::domain::rejection::Code;

word!(
    /// A trace, by the name that the contract gives it.
    Trace("trace") {
        /// A context brought items to a session.
        Recall = "memory_recall",
        /// An item was written.
        Write = "memory_write",
        /// The policy or a secret kept an item out.
        Denied = "memory_denied",
        /// Of two items about the same thing, one holds.
        Conflict = "memory_conflict",
        /// The term of an item is over.
        Forget = "memory_forget",
        /// An item was to cross the border of its space.
        BorderCheck = "memory_border_check",
        /// An item was promoted to another space.
        Promoted = "memory_promoted",
        /// A promotion was refused.
        PromotionDenied = "memory_promotion_denied",
        /// A phase of a space began.
        PhaseStarted = "memory_phase_started",
        /// An item is no longer shown.
        Deleted = "memory_deleted",
        /// Two phases were compared.
        PhaseDiff = "memory_phase_diff",
    }
);

impl Trace {
    /// The types of events behind the trace. Phases are compared by a read, which records nothing: `hm memory diff` shows
    /// the keys of that trace.
    pub const fn kinds(self) -> &'static [&'static str] {
        match self {
            Self::Recall => &[MemoryRecalled::KIND],
            Self::Write => &[ClaimCreated::KIND, TurnRecorded::KIND, AnchorSaved::KIND],
            Self::Denied => &[MemoryDenied::KIND],
            Self::Conflict => &[ClaimSuperseded::KIND, AnchorSaved::KIND],
            Self::Forget => &[MemoryForgotten::KIND, TurnRecorded::KIND],
            Self::Deleted => &[
                StatusChanged::KIND,
                AnchorSaved::KIND,
                AnchorRetired::KIND,
                TurnRecorded::KIND,
                MemoryPromoted::KIND,
            ],
            // Writes and recalls pass the border of a space too. Their own events say so, and no other one is recorded.
            Self::BorderCheck => &[
                BorderChecked::KIND,
                ClaimCreated::KIND,
                TurnRecorded::KIND,
                AnchorSaved::KIND,
                MemoryRecalled::KIND,
                MemoryDenied::KIND,
            ],
            Self::Promoted => &[MemoryPromoted::KIND],
            Self::PromotionDenied => &[PromotionDenied::KIND],
            Self::PhaseStarted => &[PhaseStarted::KIND],
            Self::PhaseDiff => &[],
        }
    }

    /// The traces of an event. `replaces` says whether an anchor or a message took the place of another one.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "few types of events are behind a trace at times only"
    )]
    pub fn of(event: &Event, replaces: bool) -> Vec<Self> {
        let kind = event.kind();
        let holds = |trace: &Self| match event {
            Event::StatusChanged(change) => change.to == Status::Deprecated,
            Event::AnchorSaved(_) | Event::TurnRecorded(_) => {
                matches!(trace, Self::Write | Self::BorderCheck) || replaces
            }
            Event::MemoryDenied(denied) => {
                *trace == Self::Denied || denied.reason == Some(Code::UserKeyDenied)
            }
            Event::MemoryPromoted(of) => *trace == Self::Promoted || of.from_space == Space::Session,
            _ => true,
        };
        Self::ALL.iter().copied().filter(|trace| trace.kinds().contains(&kind) && holds(trace)).collect()
    }
}
