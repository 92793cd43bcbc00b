//! What the rules know of spaces: the number of anchors, the promoted items, and the current phases.

use std::collections::BTreeMap;

use crate::domain::event::{AnchorSaved, Event, Recorded};
use crate::domain::memory::{MemoryId, Owner, Space};
use crate::domain::phase::PhaseNumber;

/// Spaces, folded from events.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spaces {
    /// The number of anchors ever saved, erased ones included.
    anchors: u64,
    /// Each promoted item, with its copy.
    promoted: BTreeMap<MemoryId, MemoryId>,
    /// The current phase of each space that had more than its first one.
    phases: BTreeMap<(Space, Owner), PhaseNumber>,
}

impl Spaces {
    /// The number of the next anchor among all of them.
    pub const fn next_anchor(&self) -> u64 {
        self.anchors + 1
    }

    /// The copy of a promoted item.
    pub fn copy_of(&self, item: &MemoryId) -> Option<&MemoryId> {
        self.promoted.get(item)
    }

    /// The current phase of a space.
    pub fn phase(&self, space: Space, owner: &Owner) -> PhaseNumber {
        self.phases.get(&(space, owner.clone())).copied().unwrap_or(PhaseNumber::FIRST)
    }

    /// Folds one event.
    pub(super) fn evolve(&mut self, recorded: &Recorded) {
        if recorded.erased.as_deref() == Some(AnchorSaved::KIND) {
            self.anchors += 1;
        }
        let Some(event) = &recorded.event else { return };
        if let Event::AnchorSaved(_) = event {
            self.anchors += 1;
        } else if let Event::MemoryPromoted(promoted) = event {
            self.promoted.insert(promoted.from_id.clone(), promoted.to_id.clone());
        } else if let Event::PhaseStarted(started) = event {
            self.phases.insert((started.space, started.owner.clone()), started.phase_id);
        }
    }
}
