//! What the miners proposed, folded from events.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::event::{Event, Recorded};
use crate::domain::ids::{ClaimId, PlaybookId, TaskId};
use crate::domain::playbook::{self, Step};
use crate::domain::reflection::{Cause, Counts};
use crate::domain::time::Timestamp;

/// Where a playbook stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaybookStatus {
    /// No agent accepted it.
    Proposed,
    /// An agent or the operator accepted it, with the event at this position.
    Accepted(u64),
    /// An agent or the operator dismissed it.
    Dismissed,
}

/// A playbook, as far as the rules need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Playbook {
    /// The steps.
    pub steps: Vec<Step>,
    /// Where it stands.
    pub status: PlaybookStatus,
    helpful: u64,
    harmful: u64,
    /// When it was settled or followed for the last time.
    used_at: Timestamp,
}

impl Playbook {
    /// How many more later tasks it helped than harmed.
    pub const fn gain(&self) -> i64 {
        self.helpful.cast_signed() - self.harmful.cast_signed()
    }

    /// Whether it is accepted, and contexts show it.
    pub fn is_in_use(&self, now: Timestamp) -> bool {
        let unused_ms = now.ms() - self.used_at.ms();
        matches!(self.status, PlaybookStatus::Accepted(_))
            && playbook::hidden(self.helpful, self.harmful, unused_ms).is_none()
    }
}

/// The two hypotheses about an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reflection {
    structural: ClaimId,
    environmental: ClaimId,
    /// The events counted so far.
    pub counts: Counts,
    /// The ledger position up to which events are counted.
    pub upto: u64,
}

impl Reflection {
    /// The claim that names a cause.
    pub const fn of(&self, cause: Cause) -> ClaimId {
        match cause {
            Cause::Structural => self.structural,
            Cause::Environmental => self.environmental,
        }
    }
}

/// The proposals of the miners.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mined {
    playbooks: BTreeMap<PlaybookId, Playbook>,
    followed: BTreeSet<(PlaybookId, TaskId)>,
    reflections: BTreeMap<String, Reflection>,
    /// Pairs of claims, the older one first, and whether the proposal is open.
    merges: BTreeMap<(ClaimId, ClaimId), bool>,
}

impl Mined {
    /// The playbook with this id.
    pub fn playbook(&self, id: PlaybookId) -> Option<&Playbook> {
        self.playbooks.get(&id)
    }

    /// All playbooks.
    pub fn playbooks(&self) -> impl Iterator<Item = (PlaybookId, &Playbook)> {
        self.playbooks.iter().map(|(id, playbook)| (*id, playbook))
    }

    /// Whether the end of this task was counted for this playbook.
    pub fn has_counted(&self, id: PlaybookId, task: TaskId) -> bool {
        self.followed.contains(&(id, task))
    }

    /// The hypotheses about an error.
    pub fn reflection(&self, error: &str) -> Option<&Reflection> {
        self.reflections.get(error)
    }

    /// Whether a merge of two claims was proposed, and if so, whether it is open.
    pub fn merge(&self, one: ClaimId, other: ClaimId) -> Option<bool> {
        self.merges.get(&(one.min(other), one.max(other))).copied()
    }

    pub(super) fn evolve(&mut self, recorded: &Recorded, event: &Event) {
        if let Event::PlaybookProposed(new) = event {
            let playbook = Playbook {
                steps: new.steps.clone(),
                status: PlaybookStatus::Proposed,
                helpful: 0,
                harmful: 0,
                used_at: recorded.at,
            };
            self.playbooks.insert(new.playbook_id, playbook);
        } else if let Event::PlaybookAccepted(of) = event {
            self.move_to(of.playbook_id, PlaybookStatus::Accepted(recorded.seq), recorded.at);
        } else if let Event::PlaybookDismissed(of) = event {
            self.move_to(of.playbook_id, PlaybookStatus::Dismissed, recorded.at);
        } else if let Event::PlaybookFollowed(of) = event {
            self.followed.insert((of.playbook_id, of.task_id));
            if let Some(playbook) = self.playbooks.get_mut(&of.playbook_id) {
                let counter = if of.helpful { &mut playbook.helpful } else { &mut playbook.harmful };
                *counter += 1;
                playbook.used_at = recorded.at;
            }
        } else if let Event::ErrorReflected(new) = event {
            let reflection = Reflection {
                structural: new.structural,
                environmental: new.environmental,
                counts: Counts::default(),
                upto: new.upto,
            };
            self.reflections.insert(new.error.as_str().to_owned(), reflection);
        } else if let Event::ErrorCounted(counted) = event
            && let Some(known) = self.reflections.get_mut(counted.error.as_str())
        {
            (known.counts, known.upto) = (counted.counts, counted.upto);
        } else if let Event::MergeProposed(new) = event {
            self.settle_merge(new.left, new.right, true);
        } else if let Event::MergeAccepted(of) = event {
            self.settle_merge(of.kept, of.merged, false);
        } else if let Event::MergeDeclined(of) = event {
            self.settle_merge(of.left, of.right, false);
        }
    }

    fn settle_merge(&mut self, one: ClaimId, other: ClaimId, is_open: bool) {
        self.merges.insert((one.min(other), one.max(other)), is_open);
    }

    fn move_to(&mut self, id: PlaybookId, status: PlaybookStatus, at: Timestamp) {
        if let Some(playbook) = self.playbooks.get_mut(&id) {
            (playbook.status, playbook.used_at) = (status, at);
        }
    }
}
