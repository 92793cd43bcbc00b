//! The claims of the last minutes, so that agents who decide the same at the same time hear of each other.

use std::collections::VecDeque;

use crate::domain::ids::ClaimId;
use crate::domain::time::Timestamp;

/// How long a claim is recent, in minutes. An agent that speaks later was told of it by a delta.
const MINUTES: u32 = 10;
/// The most claims that are kept: a burst of more, as an import makes, is no conversation.
const MAX_KEPT: usize = 512;

/// Claims in the order in which they were made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Recent(VecDeque<(Timestamp, ClaimId)>);

impl Recent {
    /// A new claim.
    pub(super) fn add(&mut self, at: Timestamp, id: ClaimId) {
        self.0.push_back((at, id));
        while self
            .0
            .front()
            .is_some_and(|(made, _)| self.0.len() > MAX_KEPT || made.plus_minutes(MINUTES) < at)
        {
            self.0.pop_front();
        }
    }

    /// The claims of the last minutes before `now`, the newest first.
    pub(super) fn before(&self, now: Timestamp) -> impl Iterator<Item = (Timestamp, ClaimId)> {
        self.0
            .iter()
            .rev()
            .copied()
            .filter(move |(made, _)| *made <= now && now <= made.plus_minutes(MINUTES))
    }
}
