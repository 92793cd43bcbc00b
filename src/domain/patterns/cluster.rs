//! Clusters of contradictions: several open disputes in one area, or between the same two agents.

use std::collections::{BTreeMap, BTreeSet};

use super::{Book, Found, Subject, overlap};
use crate::domain::agent::AgentId;
use crate::domain::claim::{ContradictionKind, Tier};
use crate::domain::event::{ContradictionDetected, Event, Recorded};
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
        match self {
            Self::Scopes(scopes) => overlap(scopes, &entry.scopes),
            Self::Pair(one, other) => entry.pairs.contains(&(one.clone(), other.clone())),
        }
    }
}

impl Cluster {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the rule reads a few events of all")]
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
            _ => {}
        }
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
        let entry = self.disputes.entry(dispute).or_insert_with(|| Entry {
            scopes: scopes.clone(),
            pairs: BTreeSet::new(),
            open: 0,
            at: recorded.at,
            seq: recorded.seq,
        });
        entry.open += 1;
        entry.pairs.insert(pair.clone());
        let last = entry.clone();
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
