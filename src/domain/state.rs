//! What the rules need to know, folded from events: `evolve`.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, Position, Relation, Status};
use crate::domain::event::{ClaimCreated, Event, Recorded};
use crate::domain::ids::{ClaimId, EventId};
use crate::domain::scope::Scope;
use crate::domain::text;
use crate::domain::time::Timestamp;

/// One claim, as far as the rules look at it.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// Who may challenge everything but this.
    pub owner: AgentId,
    /// What kind of statement it is.
    pub claim_type: ClaimType,
    /// Where it is in its life.
    pub status: Status,
    /// What it is about.
    pub scopes: Vec<Scope>,
    /// The latest position of each agent that took one.
    pub positions: BTreeMap<AgentId, Position>,
    /// What is tied to it.
    pub evidence: BTreeSet<(EventId, Relation)>,
    /// The claim it would replace once confirmed.
    pub proposes_to_supersede: Option<ClaimId>,
    /// The claim that took its place.
    pub superseded_by: Option<ClaimId>,
    fingerprint: Fingerprint,
}

/// Equal for statements that say the same about the same scopes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    statement: String,
    scopes: BTreeSet<Scope>,
}

impl Fingerprint {
    /// The fingerprint of a statement about some scopes.
    pub fn of(statement: &str, scopes: &[Scope]) -> Self {
        Self { statement: text::folded(statement), scopes: scopes.iter().cloned().collect() }
    }
}

/// The folded state of a workspace.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    claims: HashMap<ClaimId, Claim>,
    in_force: HashMap<Fingerprint, ClaimId>,
    dead_ends: BTreeMap<Scope, BTreeSet<ClaimId>>,
    events: BTreeMap<EventId, u64>,
    last_seen: BTreeMap<AgentId, Timestamp>,
}

impl State {
    /// The claim with this id.
    pub fn claim(&self, id: ClaimId) -> Option<&Claim> {
        self.claims.get(&id)
    }

    /// Every claim, in no particular order.
    pub fn claims(&self) -> impl Iterator<Item = (ClaimId, &Claim)> {
        self.claims.iter().map(|(id, claim)| (*id, claim))
    }

    /// The claim, not deprecated, that already says this about these scopes.
    pub fn same_statement(&self, fingerprint: &Fingerprint) -> Option<ClaimId> {
        self.in_force.get(fingerprint).copied()
    }

    /// Whether an event with this id stands in the ledger.
    pub fn knows_event(&self, id: EventId) -> bool {
        self.events.contains_key(&id)
    }

    /// Up to three known events whose ids sort next to `id`: what a mistyped one was likely meant to be.
    pub fn nearest_events(&self, id: EventId) -> Vec<EventId> {
        let after = self.events.range(id..).map(|(known, _)| *known).take(2);
        let before = self.events.range(..id).rev().map(|(known, _)| *known).take(2);
        before.chain(after).take(3).collect()
    }

    /// Dead ends in force whose scope or trigger path overlaps `scope`, oldest first.
    pub fn dead_ends_at(&self, scope: &Scope) -> BTreeSet<ClaimId> {
        let at_or_above = scope.and_ancestors().filter_map(|above| {
            // Ancestors of a normal scope are normal.
            self.dead_ends.get(&Scope::try_from(above.to_owned()).ok()?)
        });
        let below = self
            .dead_ends
            .range(scope.clone()..)
            .take_while(|(known, _)| known.as_str().starts_with(scope.as_str()))
            .filter(|(known, _)| scope.covers(known))
            .map(|(_, ids)| ids);
        at_or_above.chain(below).flatten().copied().collect()
    }

    /// Agents other than `operator` and `system` with an event within `hours` before `now`.
    pub fn active_agents(&self, hours: crate::domain::time::Hours, now: Timestamp) -> BTreeSet<&AgentId> {
        let background = [AgentId::operator(), AgentId::system()];
        self.last_seen
            .iter()
            .filter(|(agent, at)| at.is_within(hours, now) && !background.contains(agent))
            .map(|(agent, _)| agent)
            .collect()
    }

    /// Folds one event. An event without payload (erased by an operator) counts as known and changes
    /// nothing else.
    pub fn evolve(&mut self, recorded: &Recorded) {
        self.events.insert(recorded.id, recorded.seq);
        self.last_seen.insert(recorded.agent.clone(), recorded.at);
        let Some(event) = &recorded.event else { return };
        match event {
            Event::ClaimCreated(created) => self.add_claim(&recorded.agent, created),
            Event::StatusChanged(change) => {
                if let Some(claim) = self.claims.get_mut(&change.claim_id) {
                    claim.status = change.to;
                    if change.to == Status::Deprecated {
                        self.retire(change.claim_id);
                    }
                }
            }
            Event::ClaimSuperseded(link) => {
                if let Some(old) = self.claims.get_mut(&link.claim_id) {
                    old.superseded_by = Some(link.superseded_by);
                }
                if let Some(new) = self.claims.get_mut(&link.superseded_by) {
                    new.proposes_to_supersede = None;
                }
            }
            Event::PositionTaken(taken) => {
                if let Some(claim) = self.claims.get_mut(&taken.claim_id) {
                    claim.positions.insert(recorded.agent.clone(), taken.position);
                }
            }
            Event::EvidenceAdded(added) => {
                if let Some(claim) = self.claims.get_mut(&added.claim_id) {
                    claim.evidence.insert((added.evidence_ref, added.relation));
                }
            }
            Event::EventReported(_)
            | Event::CommandRejected(_)
            | Event::SpoolFlushed(_)
            | Event::MemoryDenied(_) => {}
        }
    }

    fn add_claim(&mut self, owner: &AgentId, created: &ClaimCreated) {
        let fingerprint = Fingerprint::of(created.statement.as_str(), &created.scopes);
        self.in_force.insert(fingerprint.clone(), created.claim_id);
        if created.claim_type == ClaimType::Negative {
            let trigger_paths = created.trigger.iter().flat_map(|trigger| &trigger.paths);
            for scope in created.scopes.iter().chain(trigger_paths) {
                self.dead_ends.entry(scope.clone()).or_default().insert(created.claim_id);
            }
        }
        let claim = Claim {
            owner: owner.clone(),
            claim_type: created.claim_type,
            status: Status::Proposed,
            scopes: created.scopes.clone(),
            positions: BTreeMap::new(),
            evidence: BTreeSet::new(),
            proposes_to_supersede: created.supersedes,
            superseded_by: None,
            fingerprint,
        };
        self.claims.insert(created.claim_id, claim);
    }

    fn retire(&mut self, id: ClaimId) {
        let Some(claim) = self.claims.get(&id) else { return };
        if self.in_force.get(&claim.fingerprint) == Some(&id) {
            self.in_force.remove(&claim.fingerprint);
        }
        if claim.claim_type == ClaimType::Negative {
            self.dead_ends.retain(|_, ids| {
                ids.remove(&id);
                !ids.is_empty()
            });
        }
    }
}
