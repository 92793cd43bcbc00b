//! The claims of the last minutes. Agents that decide the same thing at the same time learn of each other through them.

use std::collections::VecDeque;

use crate::domain::ids::ClaimId;
use crate::domain::time::Timestamp;

/// How long a claim is recent, in minutes. A later agent learned of it from a delta.
const MINUTES: u32 = 10;
/// The most claims that are kept. A larger burst comes from an import, not from a conversation.
const MAX_KEPT: usize = 512;

/// Recent claims in order of creation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Recent(VecDeque<(Timestamp, ClaimId)>);

impl Recent {
    /// Adds a new claim.
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

    /// The recent claims at `now`, the newest first.
    pub(super) fn before(&self, now: Timestamp) -> impl Iterator<Item = (Timestamp, ClaimId)> {
        self.0
            .iter()
            .rev()
            .copied()
            .filter(move |(made, _)| *made <= now && now <= made.plus_minutes(MINUTES))
    }
}
