//! Claims as the rules see them, and how events change them.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use super::{Deed, State};
use crate::domain::agent::AgentId;
use crate::domain::candidates::Candidates;
use crate::domain::claim::{ClaimType, Outcome, Override, Position, Relation, Share, Status, Trigger};
use crate::domain::digest::says_failure;
use crate::domain::event::{
    ClaimCreated, ClaimSuperseded, EvidenceAdded, EvidenceRetracted, OverrideProposed, PositionTaken,
    Recorded, StatusChanged,
};
use crate::domain::ids::{ClaimId, EventId, RunId, SessionId};
use crate::domain::memory::MemoryEvent;
use crate::domain::notes;
use crate::domain::pairs::Reading;
use crate::domain::policy::Tick;
use crate::domain::scope::Scope;
use crate::domain::text;
use crate::domain::text::Statement;
use crate::domain::time::Timestamp;
use crate::domain::versions::Sights;

/// The part of a claim that the rules need.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The owner. It may challenge any claim except its own.
    pub owner: AgentId,
    /// The session in which the claim was made.
    pub session: Option<SessionId>,
    /// The type of the claim.
    pub claim_type: ClaimType,
    /// What the claim reports: the word of its author, or else what its type says.
    pub event_type: MemoryEvent,
    /// The status of the claim.
    pub status: Status,
    /// The owner's confidence.
    pub confidence: Share,
    /// The scopes of the claim.
    pub scopes: Vec<Scope>,
    /// The latest position of each agent.
    pub positions: BTreeMap<AgentId, Position>,
    /// The session of each of these positions.
    pub taken_in: BTreeMap<AgentId, SessionId>,
    /// The linked events.
    pub evidence: BTreeSet<(EventId, Relation)>,
    /// The agent and the session that made each link.
    pub tied_by: BTreeMap<(EventId, Relation), (AgentId, Option<SessionId>)>,
    /// The events that open and answered challenges cite.
    pub cited: BTreeMap<AgentId, EventId>,
    /// Contradicting events that an agent other than the operator retracted.
    pub taken_back: BTreeSet<EventId>,
    /// The claim that this one proposes to supersede.
    pub proposes_to_supersede: Option<ClaimId>,
    /// The claim that superseded this one.
    pub superseded_by: Option<ClaimId>,
    /// The run that decides the pending proof.
    pub pending_run: Option<RunId>,
    /// Whether a run proves the claim.
    pub is_proven: bool,
    /// The run that proves it.
    pub proof: Option<RunId>,
    /// Challengers that the proof answers, until they speak again or the claim loses the proof.
    pub answered: BTreeSet<AgentId>,
    /// Agents whose challenge the proof answered, whatever they said since. Empty without a proof.
    pub overruled: BTreeSet<AgentId>,
    /// Whether the claim mends the one that it proposes to supersede.
    pub mends: bool,
    /// The observed versions of the claim's files.
    pub sights: Sights,
    /// The agents that the owner asked for a position.
    pub asks: BTreeSet<AgentId>,
    /// When silence confirms the claim. None if something else decided it.
    pub silent_at: Option<Timestamp>,
    /// Whether silence confirmed the claim, without a challenge since.
    pub by_silence: bool,
    /// When the claim was made.
    pub made: Tick,
    /// When an event last concerned the claim.
    pub touched: Tick,
    expires_at: Option<Timestamp>,
    /// The actions that a dead end warns about.
    trigger: Option<Box<Trigger>>,
    /// The original scopes, if a joined target replaced one of them.
    pub(super) named: Option<Box<[Scope]>>,
    statement: Box<str>,
}

impl Claim {
    /// The statement in the owner's words.
    pub fn statement(&self) -> &str {
        &self.statement
    }

    /// Whether only its owner knows which outcome of a check shows it: a dead end, or a claim that something fails.
    pub fn is_of_failure(&self) -> bool {
        self.claim_type == ClaimType::Negative || says_failure(&self.statement)
    }

    /// The actions that a dead end warns about. None for other claims.
    pub fn trigger(&self) -> Option<&Trigger> {
        self.trigger.as_deref()
    }

    /// The parsed statement, for comparisons.
    pub fn reading(&self) -> Reading {
        Reading::of(&self.statement)
    }

    /// Agents that challenge the claim, answered or not.
    pub fn challengers(&self) -> impl Iterator<Item = &AgentId> {
        self.positions.iter().filter(|(_, held)| **held == Position::Challenge).map(|(agent, _)| agent)
    }

    /// Agents that challenge the claim and are answered by its proof.
    pub fn answered_challengers(&self) -> impl Iterator<Item = &AgentId> {
        self.challengers().filter(|agent| self.answered.contains(*agent))
    }

    /// Replaces the former positions of the same pane by the new one.
    pub(in crate::domain) fn take(
        &mut self,
        agent: &AgentId,
        session: Option<&SessionId>,
        taken: &PositionTaken,
    ) {
        for name in taken.instead_of.iter().chain([agent]) {
            self.positions.remove(name);
            self.taken_in.remove(name);
            self.answered.remove(name);
            self.sights.forget(name);
            self.cited.remove(name);
        }
        let cited = taken.evidence_ref.filter(|_| taken.position == Position::Challenge);
        self.cited.extend(cited.map(|event| (agent.clone(), event)));
        self.positions.insert(agent.clone(), taken.position);
        self.taken_in.extend(session.map(|session| (agent.clone(), session.clone())));
    }

    /// Applies a change of status.
    pub(in crate::domain) fn go(&mut self, change: &StatusChanged) {
        if change.from == Status::PendingProof {
            // After an erasure, a repeated change finds no pending run.
            let run = self.pending_run.take().or(self.proof);
            if !change.keeps_proof {
                self.is_proven = change.to == Status::Confirmed;
                self.proof = run.filter(|_| self.is_proven);
                let answered = self.challengers().filter(|agent| !change.leaves_open.contains(agent));
                self.answered = answered.filter(|_| self.is_proven).cloned().collect();
                self.overruled.retain(|_| self.is_proven);
                self.overruled.extend(self.answered.iter().cloned());
            }
        } else if change.to == Status::Proposed {
            (self.is_proven, self.proof) = (false, None);
            self.overruled.clear();
            // Events of older releases name no challengers here, so the answered ones stay answered.
            self.answered.retain(|agent| !change.leaves_open.contains(agent));
        }
        self.status = change.to;
    }

    /// Whether the operator recorded or supports the claim. Notes that the operator imported are the words of a file.
    pub fn is_the_operators(&self) -> bool {
        let operator = AgentId::operator();
        let is_imported = || self.scopes.iter().any(|scope| notes::is_tag(scope.as_str()));
        (self.owner == operator && !is_imported())
            || self.positions.get(&operator) == Some(&Position::Support)
    }

    /// Whether the claim has a time limit.
    pub const fn expires(&self) -> bool {
        self.expires_at.is_some()
    }

    /// Whether the claim is expired at `now`.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    pub(super) fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.statement, &self.scopes, self.claim_type)
    }
}

/// The part of a decision that the rules need.
#[derive(Debug, Clone, PartialEq)]
pub struct DecisionInForce {
    /// The target of the decision.
    pub target: Option<Scope>,
    /// The last recorded outcome.
    pub outcome: Option<Outcome>,
    /// The name of the target in the record of the decision.
    pub(super) named: Option<Scope>,
}

/// A proposal of an agent to change a claim of the operator.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Proposal {
    /// The agent that proposes.
    pub agent: AgentId,
    /// The proposed change.
    pub asks: Override,
    /// The proposed successor.
    pub successor: Option<ClaimId>,
    /// The statement of the proposed decision.
    pub statement: Option<Statement>,
    /// The target of the proposed decision.
    pub target: Option<Scope>,
}

impl Proposal {
    /// The proposal in an event.
    pub fn of(agent: &AgentId, proposed: &OverrideProposed) -> Self {
        let OverrideProposed { asks, successor, statement, target, .. } = proposed.clone();
        Self { agent: agent.clone(), asks, successor, statement, target }
    }
}

/// The first half of a SHA-256 over statement, scopes and type. Equal claims have equal fingerprints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    /// The fingerprint of a statement with its scopes and type.
    pub fn of(statement: &str, scopes: &[Scope], claim_type: ClaimType) -> Self {
        let scopes: BTreeSet<&Scope> = scopes.iter().collect();
        let mut hash = Sha256::new_with_prefix(text::folded(statement));
        hash.update("\n");
        hash.update(claim_type.as_str());
        for scope in scopes {
            // A folded statement and a scope contain no line break, so it separates them.
            hash.update("\n");
            hash.update(scope.as_str());
        }
        let mut half = [0; 16];
        half.copy_from_slice(&hash.finalize()[..16]);
        Self(half)
    }
}

impl State {
    /// The time of an event, and the number of sessions that had started.
    fn tick(&self, recorded: &Recorded) -> Tick {
        Tick { sessions: self.work.sessions_started(), at: recorded.at }
    }

    /// Records that an event concerned its claims.
    pub(super) fn touch(&mut self, recorded: &Recorded) {
        let Some(event) = &recorded.event else { return };
        let touched = self.tick(recorded);
        for id in event.touched_claims() {
            if let Some(claim) = self.claims.get_mut(&id) {
                claim.touched = touched;
            }
        }
    }

    pub(super) fn add_claim(&mut self, recorded: &Recorded, created: &ClaimCreated) {
        for target in created.scopes.iter().filter(|scope| scope.is_target()) {
            self.targets.entry(target.clone()).or_insert_with(|| target.clone());
        }
        let expires_at = created.ttl_hours.map(|ttl| recorded.at.plus(ttl));
        self.expiries.extend(expires_at.map(|at| (at, created.claim_id)));
        self.silences.extend(created.objection_until.map(|at| (at, created.claim_id)));
        self.ask_for_objections(recorded, created);
        if created.claim_type == ClaimType::Negative {
            let trigger_paths = created.trigger.iter().flat_map(|trigger| &trigger.paths);
            for scope in created.scopes.iter().chain(trigger_paths) {
                self.dead_ends.get_or_insert_with(scope, BTreeSet::new).insert(created.claim_id);
            }
        }
        let claim = Claim {
            owner: recorded.agent.clone(),
            session: recorded.session.clone(),
            claim_type: created.claim_type,
            event_type: MemoryEvent::of_created(created, &recorded.agent),
            status: Status::Proposed,
            confidence: created.confidence,
            scopes: created.scopes.clone(),
            positions: BTreeMap::new(),
            taken_in: BTreeMap::new(),
            evidence: BTreeSet::new(),
            tied_by: BTreeMap::new(),
            cited: BTreeMap::new(),
            taken_back: BTreeSet::new(),
            proposes_to_supersede: created.supersedes,
            superseded_by: None,
            pending_run: None,
            is_proven: false,
            proof: None,
            answered: BTreeSet::new(),
            overruled: BTreeSet::new(),
            mends: created.mends,
            sights: Sights::of(recorded.seq, created),
            asks: created.asks.iter().cloned().collect(),
            silent_at: created.objection_until,
            by_silence: false,
            made: self.tick(recorded),
            touched: self.tick(recorded),
            expires_at,
            trigger: created.trigger.clone().map(Box::new),
            named: None,
            statement: created.statement.as_str().into(),
        };
        // A rejected alternative may be equal to a claim in force. That claim stays the one to support.
        self.in_force.entry(claim.fingerprint()).or_insert(created.claim_id);
        if let Some(candidates) = self.candidates.0.get_mut() {
            candidates.add(created.claim_id, &claim.reading(), &claim.scopes);
        }
        self.claims.insert(created.claim_id, claim);
        self.recent.add(recorded.at, created.claim_id);
    }

    /// The claims in force as candidates, in order of creation.
    pub(super) fn read_claims(&self) -> Candidates {
        let in_force = self.claims.iter().filter(|(_, claim)| claim.status != Status::Deprecated);
        let mut in_force: Vec<(Option<&u64>, ClaimId, &Claim)> =
            in_force.map(|(id, claim)| (self.events.get(&id.creation_event()), *id, claim)).collect();
        in_force.sort_unstable_by_key(|(seq, id, _)| (*seq, *id));
        let mut candidates = Candidates::default();
        for (_, id, claim) in in_force {
            candidates.add(id, &claim.reading(), &claim.scopes);
        }
        candidates
    }

    pub(super) fn retire(&mut self, id: ClaimId) {
        self.proposals.remove(&id);
        let Some(claim) = self.claims.get(&id) else { return };
        if let Some(at) = claim.expires_at {
            self.expiries.remove(&(at, id));
        }
        if let Some(target) = self.decisions.get(&id).and_then(|decision| decision.target.as_ref())
            && let Some(decisions) = self.by_target.get_mut(target)
        {
            decisions.remove(&id);
        }
        if let Some(candidates) = self.candidates.0.get_mut() {
            candidates.remove(id);
        }
        if claim.superseded_by.is_none() && claim.challengers().any(|agent| !claim.answered.contains(agent)) {
            for scope in &claim.scopes {
                self.ended_in_dispute.entry(scope.clone()).or_default().insert(id);
            }
        }
        let fingerprint = claim.fingerprint();
        if self.in_force.get(&fingerprint) == Some(&id) {
            self.in_force.remove(&fingerprint);
        }
        if claim.claim_type == ClaimType::Negative {
            self.dead_ends.retain(|ids| {
                ids.remove(&id);
                !ids.is_empty()
            });
        }
    }

    /// A claim moved from one status to another.
    pub(super) fn move_claim(&mut self, recorded: &Recorded, change: &StatusChanged) {
        self.hear_of_move(change, recorded.at);
        if let Some(claim) = self.claims.get_mut(&change.claim_id) {
            claim.go(change);
            if change.to == Status::Deprecated {
                self.retire(change.claim_id);
            }
        }
    }

    /// A claim took the place of another.
    pub(super) fn supersede(&mut self, link: &ClaimSuperseded) {
        if let Some(old) = self.claims.get_mut(&link.claim_id) {
            let before = old.superseded_by.replace(link.superseded_by);
            if let Some(replaced) = before.and_then(|before| self.replaced.get_mut(&before)) {
                replaced.remove(&link.claim_id);
            }
            self.replaced.entry(link.superseded_by).or_default().insert(link.claim_id);
            for scope in &old.scopes {
                if let Some(disputed) = self.ended_in_dispute.get_mut(scope) {
                    disputed.remove(&link.claim_id);
                }
            }
        }
        if let Some(new) = self.claims.get_mut(&link.superseded_by) {
            new.proposes_to_supersede = None;
        }
    }

    /// An agent took a position on a claim.
    pub(super) fn take_position(&mut self, recorded: &Recorded, taken: &PositionTaken) {
        // A new position of the operator settles the proposals.
        if recorded.agent == AgentId::operator() && !taken.still {
            self.proposals.remove(&taken.claim_id);
        }
        self.hear_of_position(&recorded.agent, taken);
        if let Some(claim) = self.claims.get_mut(&taken.claim_id) {
            if !taken.still {
                claim.take(&recorded.agent, recorded.session.as_ref(), taken);
            }
            claim.sights.took(recorded.seq, &recorded.agent, taken);
        }
    }

    /// An event was tied to a claim.
    pub(super) fn tie(&mut self, recorded: &Recorded, added: &EvidenceAdded) {
        if let Some(claim) = self.claims.get_mut(&added.claim_id) {
            let link = (added.evidence_ref, added.relation);
            claim.evidence.insert(link);
            if added.relation == Relation::Contradicts {
                claim.taken_back.remove(&added.evidence_ref);
            }
            claim.tied_by.insert(link, (recorded.agent.clone(), recorded.session.clone()));
        }
        if let (Some(session), None) = (&recorded.session, added.grade)
            && self.observed.get(&added.evidence_ref).is_some_and(Deed::tells_its_end)
        {
            self.cited_beside.insert(session.clone());
        }
    }

    /// The link of an event to a claim was taken back.
    pub(super) fn untie(&mut self, retracted: &EvidenceRetracted) {
        if let Some(claim) = self.claims.get_mut(&retracted.claim_id) {
            let link = (retracted.evidence_ref, retracted.relation);
            claim.evidence.remove(&link);
            claim.tied_by.remove(&link);
            if retracted.relation == Relation::Contradicts && !retracted.by_operator {
                claim.taken_back.insert(retracted.evidence_ref);
            }
        }
    }
}
