//! Clusters of contradictions: several open disputes in one area, or between the same two agents.

use std::collections::{BTreeMap, BTreeSet};

use super::{Book, Found, Subject, overlap};
use crate::domain::agent::AgentId;
use crate::domain::claim::{ContradictionKind, Status, Tier};
use crate::domain::event::{ContradictionDetected, Event, Recorded, StatusChanged};
use crate::domain::ids::ClaimId;
use crate::domain::pattern::{PatternEnd, PatternKind, Repeats};
use crate::domain::scope::Scope;
use crate::domain::state::State;
use crate::domain::time::Timestamp;

/// How many disputes make a cluster.
const DISPUTES: usize = 3;
/// The most open disputes that are kept.
const MAX_KEPT: usize = 512;

/// A dispute. All challenges of one claim are one dispute.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Dispute {
    Challenged(ClaimId),
    Between(ClaimId, ClaimId),
}

#[derive(Debug, Clone, PartialEq)]
struct Entry {
    scopes: Vec<Scope>,
    pairs: BTreeSet<(AgentId, AgentId)>,
    /// The contradictions of the dispute that are open.
    open: u32,
    /// Whether it is about a claim that its challenges contest no more, because the operator stands by the claim.
    is_outvoted: bool,
    at: Timestamp,
    seq: u64,
}

#[derive(Debug, Clone, PartialEq)]
enum Area {
    Scopes(Vec<Scope>),
    Pair(AgentId, AgentId),
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Cluster {
    disputes: BTreeMap<Dispute, Entry>,
    open: BTreeMap<Subject, Area>,
}

impl Dispute {
    fn of(kind: ContradictionKind, left: ClaimId, right: ClaimId) -> Self {
        if kind == ContradictionKind::Position || left == right {
            Self::Challenged(left)
        } else {
            Self::Between(left.min(right), left.max(right))
        }
    }
}

impl Area {
    fn has(&self, entry: &Entry) -> bool {
        if entry.is_outvoted {
            return false;
        }
        match self {
            Self::Scopes(scopes) => overlap(scopes, &entry.scopes),
            Self::Pair(one, other) => entry.pairs.contains(&(one.clone(), other.clone())),
        }
    }
}

impl Cluster {
    #[expect(clippy::wildcard_enum_match_arm, reason = "a detector reads a few kinds of events")]
    pub(super) fn evolve(&mut self, state: &State, recorded: &Recorded, event: &Event, book: &mut Book) {
        match event {
            Event::ContradictionDetected(detected) if detected.tier == Tier::Strong => {
                self.detected(state, recorded, detected, book);
            }
            Event::ContradictionResolved(resolved) => {
                let dispute = Dispute::of(resolved.kind, resolved.left.claim_id, resolved.right.claim_id);
                if let Some(entry) = self.disputes.get_mut(&dispute) {
                    entry.open = entry.open.saturating_sub(1);
                    if entry.open == 0 {
                        self.disputes.remove(&dispute);
                        self.settle(recorded, book);
                    }
                }
            }
            Event::StatusChanged(change) => self.moved(recorded, change, book),
            _ => {}
        }
    }

    /// Challenges that leave their claim proposed or confirmed are outvoted, until they contest it again.
    fn moved(&mut self, recorded: &Recorded, change: &StatusChanged, book: &mut Book) {
        let is_outvoted = match change.to {
            // Challenges made after the run was asked for contest its claim again at once.
            Status::Proposed | Status::Confirmed if change.leaves_open.is_empty() => true,
            Status::Contested => false,
            // What is open stays open until its run ends, and what is over has its own event.
            Status::Proposed | Status::Confirmed | Status::PendingProof | Status::Deprecated => return,
        };
        let dispute = Dispute::Challenged(change.claim_id);
        let Some(entry) = self.disputes.get_mut(&dispute).filter(|entry| entry.is_outvoted != is_outvoted)
        else {
            return;
        };
        entry.is_outvoted = is_outvoted;
        if is_outvoted {
            return self.settle(recorded, book);
        }
        let pairs: Vec<_> = entry.pairs.iter().cloned().collect();
        pairs.into_iter().for_each(|pair| self.raise(recorded, (&dispute, pair), book));
    }

    fn settle(&mut self, recorded: &Recorded, book: &mut Book) {
        let disputes = &self.disputes;
        self.open.retain(|subject, area| {
            let is_left = disputes.values().filter(|entry| area.has(entry)).count() >= DISPUTES;
            if !is_left {
                book.close(subject, PatternEnd::Resolved, recorded.at);
            }
            is_left
        });
    }

    fn detected(&mut self, state: &State, recorded: &Recorded, of: &ContradictionDetected, book: &mut Book) {
        let (left, right) = (&of.left, &of.right);
        let mut scopes: Vec<Scope> = [left, right]
            .into_iter()
            .filter_map(|side| state.claim(side.claim_id))
            .flat_map(|claim| claim.scopes.iter().cloned())
            .collect();
        scopes.sort();
        scopes.dedup();
        let pair = if left.agent <= right.agent {
            (left.agent.clone(), right.agent.clone())
        } else {
            (right.agent.clone(), left.agent.clone())
        };
        if self.disputes.len() >= MAX_KEPT {
            let oldest =
                self.disputes.iter().min_by_key(|(_, entry)| entry.seq).map(|(dispute, _)| dispute.clone());
            oldest.into_iter().for_each(|oldest| drop(self.disputes.remove(&oldest)));
        }
        let dispute = Dispute::of(of.kind, left.claim_id, right.claim_id);
        let entry = self.disputes.entry(dispute.clone()).or_insert_with(|| Entry {
            scopes,
            pairs: BTreeSet::new(),
            open: 0,
            is_outvoted: false,
            at: recorded.at,
            seq: recorded.seq,
        });
        entry.open += 1;
        // The challenge contests the claim, whatever was outvoted before.
        entry.is_outvoted = false;
        entry.pairs.insert(pair.clone());
        self.raise(recorded, (&dispute, pair), book);
    }

    /// Opens the pattern of the area of a dispute, or of two of its agents, if that has enough disputes.
    fn raise(
        &mut self,
        recorded: &Recorded,
        (dispute, pair): (&Dispute, (AgentId, AgentId)),
        book: &mut Book,
    ) {
        let Some(last) = self.disputes.get(dispute).cloned() else { return };
        let scopes = &last.scopes;
        let is_known = self.open.values().any(|area| area.has(&last));
        if is_known {
            return;
        }
        for area in [Area::Scopes(scopes.clone()), Area::Pair(pair.0, pair.1)] {
            let of_area: Vec<&Entry> = self.disputes.values().filter(|entry| area.has(entry)).collect();
            if of_area.len() < DISPUTES {
                continue;
            }
            let about = match &area {
                Area::Scopes(_) => {
                    let common = |scope: &&Scope| {
                        of_area.iter().all(|entry| overlap(std::slice::from_ref(*scope), &entry.scopes))
                    };
                    let common = scopes.iter().find(common).or(scopes.first());
                    common.map_or_else(String::new, |scope| scope.as_str().to_owned())
                }
                Area::Pair(one, other) => format!("{one} and {other}"),
            };
            let subject = Subject::new(PatternKind::ContradictionCluster, None, &about);
            let agents = of_area.iter().flat_map(|entry| &entry.pairs).flat_map(|(one, other)| [one, other]);
            let mut places: Vec<Scope> =
                of_area.iter().flat_map(|entry| entry.scopes.iter().cloned()).collect();
            places.sort();
            places.dedup();
            let since = of_area.iter().map(|entry| entry.at).min().unwrap_or(recorded.at);
            book.open(Found {
                subject: subject.clone(),
                agents: agents.cloned().collect(),
                task: None,
                scopes: places,
                rests_on: of_area.iter().map(|entry| entry.seq).collect(),
                repeats: Repeats::of(of_area.len() as u32, since),
                at: recorded.at,
            });
            self.open.insert(subject, area);
            return;
        }
    }
}
