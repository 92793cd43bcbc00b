//! The mirror: a fold of the ledger into one Markdown file for each claim, and a sentence for each change. The same
//! events give the same bytes.

mod doubt;
mod page;
mod sentence;

use std::collections::{BTreeMap, BTreeSet};

use doubt::Run;
pub use page::{README, edited_statement};

use crate::domain::agent::AgentId;
use crate::domain::claim::{Basis, ContradictionKind, Grade, Position, Relation, Status, Tier};
use crate::domain::event::{
    ClaimCreated, ClaimSuperseded, ContradictionDetected, ContradictionResolved, DecisionRecorded, Event,
    EvidenceAdded, EvidenceRetracted, ExperimentCompleted, OutcomeRecorded, PositionTaken, Recorded,
    RunBehind, Side, StatusChanged,
};
use crate::domain::ids::{ClaimId, EventId, RunId};
use crate::domain::names::{self, Named};
use crate::domain::scope::Scope;
use crate::domain::text::Reason;
use crate::domain::time::Timestamp;
use crate::domain::versions::{Sights, Versions, differ};

/// The types of the events that change a file of the mirror.
pub const KINDS: [&str; 11] = [
    ClaimCreated::KIND,
    StatusChanged::KIND,
    ClaimSuperseded::KIND,
    PositionTaken::KIND,
    EvidenceAdded::KIND,
    EvidenceRetracted::KIND,
    DecisionRecorded::KIND,
    OutcomeRecorded::KIND,
    ContradictionDetected::KIND,
    ContradictionResolved::KIND,
    ExperimentCompleted::KIND,
];

/// A file of the mirror.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its path in the mirror, with `/`.
    pub path: String,
    /// Its content.
    pub text: String,
}

/// A change of the ledger that changes files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What happened, on one line.
    pub sentence: String,
    claims: Vec<ClaimId>,
    /// Whether the lists by scope change too.
    is_listed: bool,
}

/// The position of an agent.
#[derive(Debug, Clone, PartialEq)]
struct Held {
    position: Position,
    reason: Option<Reason>,
    evidence_ref: Option<EventId>,
    at: Timestamp,
}

/// An event that is linked to a claim.
#[derive(Debug, Clone, PartialEq)]
struct Link {
    event: EventId,
    relation: Relation,
    grade: Grade,
    weight: f64,
    by: AgentId,
    note: Option<Reason>,
    at: Timestamp,
    seq: u64,
    /// The run that the event is the end of.
    run: Option<RunBehind>,
    /// Whether equal runs passed and failed.
    is_unstable: bool,
}

impl Link {
    fn run_id(&self) -> Option<RunId> {
        self.run.as_ref().map(|run| run.run_id)
    }
}

/// A claim with everything that its file shows.
#[derive(Debug, Clone, PartialEq)]
struct Page {
    name: String,
    owner: AgentId,
    created_at: Timestamp,
    created: ClaimCreated,
    /// Its owner and statement in lists. They never change, and many commits write a list anew.
    listed: String,
    state: Status,
    basis: Option<Basis>,
    is_proven: bool,
    /// The place in the ledger at which it was confirmed.
    confirmed_at: Option<u64>,
    /// The place in the ledger since which it is about what its files hold.
    content_at: u64,
    /// The run that proves it.
    proof: Option<RunId>,
    /// The run of another claim that speaks against the proof.
    failed: Option<RunId>,
    /// When equal runs as the proof were last seen to pass and fail.
    unstable_at: Option<Timestamp>,
    /// What is doubted about its status, in words.
    doubted: String,
    /// What the agents saw of its files.
    sights: Sights,
    /// What its files held when silence confirmed it.
    silent_of: Option<Versions>,
    supersedes: Vec<ClaimId>,
    superseded_by: Option<ClaimId>,
    is_mended: bool,
    positions: BTreeMap<AgentId, Held>,
    still_meant: Option<(AgentId, Timestamp)>,
    evidence: Vec<Link>,
    /// The claims that contradict it.
    against: BTreeSet<(ClaimId, ContradictionKind)>,
    decision: Option<DecisionRecorded>,
    outcome: Option<OutcomeRecorded>,
}

/// All files of the mirror as of an event.
#[derive(Debug, Default)]
pub struct Pages {
    claims: BTreeMap<ClaimId, Page>,
    /// The claims about each scope, in the order of the ledger.
    scopes: BTreeMap<Scope, Vec<ClaimId>>,
    /// The short names of claims by their ids.
    names: BTreeMap<String, String>,
    counted: u64,
    runs: BTreeMap<RunId, Run>,
    counted_runs: u64,
}

impl Pages {
    /// Folds one event. None if it changes no file: it is about no claim, was erased, or is in the space of a person.
    pub fn evolve(&mut self, recorded: &Recorded) -> Option<Change> {
        if Named::of(recorded) == Some(Named::Claim) {
            self.counted += 1;
            let name = format!("{}{}", Named::Claim.letter(), self.counted);
            self.names.insert(recorded.id.to_string(), name);
        }
        self.counted_runs += u64::from(Named::of(recorded) == Some(Named::Run));
        let event = recorded.event.as_ref().filter(|event| event.user().is_none())?;
        let claims = self.apply(recorded, event)?;
        let is_listed =
            matches!(event, Event::ClaimCreated(_) | Event::StatusChanged(_) | Event::ClaimSuperseded(_));
        let is_listed = self.doubt(&claims) || is_listed;
        Some(Change { sentence: self.sentence(&recorded.agent, event, &claims), claims, is_listed })
    }

    /// The claims that an event changes.
    #[expect(clippy::wildcard_enum_match_arm, reason = "few events are about a claim")]
    fn apply(&mut self, recorded: &Recorded, event: &Event) -> Option<Vec<ClaimId>> {
        match event {
            Event::ClaimCreated(created) => self.create(recorded, created),
            Event::StatusChanged(change) => {
                self.claims.get_mut(&change.claim_id)?.go(recorded.seq, change);
                Some(vec![change.claim_id])
            }
            Event::ClaimSuperseded(link) => self.supersede(link),
            Event::PositionTaken(taken) => {
                self.claims.get_mut(&taken.claim_id)?.take(recorded, taken);
                Some(vec![taken.claim_id])
            }
            Event::EvidenceAdded(added) => {
                self.claims.get_mut(&added.claim_id)?.tie(recorded, added);
                Some(vec![added.claim_id])
            }
            Event::EvidenceRetracted(retracted) => {
                let page = self.claims.get_mut(&retracted.claim_id)?;
                let is_it =
                    |link: &Link| (link.event, link.relation) == (retracted.evidence_ref, retracted.relation);
                page.evidence.retain(|link| !is_it(link));
                Some(vec![retracted.claim_id])
            }
            Event::DecisionRecorded(decision) => {
                self.claims.get_mut(&decision.claim_id)?.decision = Some(decision.clone());
                Some(vec![decision.claim_id])
            }
            Event::OutcomeRecorded(outcome) => {
                self.claims.get_mut(&outcome.claim_id)?.outcome = Some(outcome.clone());
                Some(vec![outcome.claim_id])
            }
            Event::ExperimentQueued(queued) => {
                self.queue(self.last_run(), queued);
                None
            }
            Event::ExperimentCompleted(ended) => {
                Some(self.end(self.last_run(), recorded, ended)).filter(|doubted| !doubted.is_empty())
            }
            Event::ContradictionDetected(found) if found.tier == Tier::Strong => self
                .sides((&found.left, &found.right), |page, other| page.against.insert((other, found.kind))),
            Event::ContradictionResolved(ended) => self
                .sides((&ended.left, &ended.right), |page, other| page.against.remove(&(other, ended.kind))),
            _ => None,
        }
    }

    fn create(&mut self, recorded: &Recorded, created: &ClaimCreated) -> Option<Vec<ClaimId>> {
        let id = created.claim_id;
        let name = self.names.get(&id.to_string())?.clone();
        for scope in &created.scopes {
            let about = self.scopes.entry(scope.clone()).or_default();
            if !about.contains(&id) {
                about.push(id);
            }
        }
        let page = Page {
            name,
            owner: recorded.agent.clone(),
            created_at: recorded.at,
            created: created.clone(),
            listed: self.listed(&recorded.agent, created.statement.as_str()),
            state: Status::Proposed,
            basis: None,
            is_proven: false,
            confirmed_at: None,
            content_at: recorded.seq,
            proof: None,
            failed: None,
            unstable_at: None,
            doubted: String::new(),
            sights: Sights::of(recorded.seq, created),
            silent_of: None,
            supersedes: Vec::new(),
            superseded_by: None,
            is_mended: false,
            positions: BTreeMap::new(),
            still_meant: None,
            evidence: Vec::new(),
            against: BTreeSet::new(),
            decision: None,
            outcome: None,
        };
        self.claims.insert(id, page);
        Some(vec![id])
    }

    fn supersede(&mut self, link: &ClaimSuperseded) -> Option<Vec<ClaimId>> {
        let ClaimSuperseded { claim_id: old, superseded_by: new, mends, .. } = *link;
        let mut changed = Vec::new();
        if let Some(page) = self.claims.get_mut(&old) {
            (page.superseded_by, page.is_mended) = (Some(new), mends);
            changed.push(old);
        }
        if let Some(page) = self.claims.get_mut(&new) {
            page.supersedes.push(old);
            changed.push(new);
        }
        Some(changed).filter(|changed| !changed.is_empty())
    }

    /// Changes both sides of a contradiction. None if nothing changes, as for two positions on one claim, which its file
    /// shows anyway.
    fn sides(
        &mut self,
        (left, right): (&Side, &Side),
        mut change: impl FnMut(&mut Page, ClaimId) -> bool,
    ) -> Option<Vec<ClaimId>> {
        if left.claim_id == right.claim_id {
            return None;
        }
        let sides = [(left.claim_id, right.claim_id), (right.claim_id, left.claim_id)];
        let changed = sides
            .into_iter()
            .filter(|(side, other)| self.claims.get_mut(side).is_some_and(|page| change(page, *other)));
        let changed: Vec<ClaimId> = changed.map(|(side, _)| side).collect();
        Some(changed).filter(|changed| !changed.is_empty())
    }

    /// The files that a change changes, as they are after it.
    pub fn files(&self, change: &Change) -> Vec<File> {
        let mut files = BTreeMap::new();
        for id in &change.claims {
            let Some(page) = self.claims.get(id) else { continue };
            files.insert(page.path(), self.page(page));
            for scope in page.created.scopes.iter().filter(|_| change.is_listed) {
                let (path, text) = self.list(scope, *id);
                files.insert(path, text);
            }
        }
        files.into_iter().map(|(path, text)| File { path, text }).collect()
    }

    /// The short name of the run that was counted last.
    fn last_run(&self) -> String {
        format!("{}{}", Named::Run.letter(), self.counted_runs)
    }

    /// The short name of a claim, or its id.
    fn name(&self, id: ClaimId) -> String {
        let id = id.to_string();
        self.names.get(&id).cloned().unwrap_or(id)
    }

    /// A text in which short names stand for the ids of claims.
    fn named(&self, text: &str) -> String {
        names::shortened(text, |word, _| self.names.get(word).cloned()).into_owned()
    }
}

impl Page {
    fn go(&mut self, seq: u64, change: &StatusChanged) {
        self.confirmed_at = (change.to == Status::Confirmed).then_some(seq);
        if change.from == Status::PendingProof && !change.keeps_proof {
            self.is_proven = change.to == Status::Confirmed;
            let run = change.reason.as_str().strip_prefix("proof:").and_then(|run| run.parse().ok());
            self.proof = run.filter(|_| self.is_proven);
            (self.failed, self.unstable_at) = (None, None);
        } else if change.to == Status::Proposed {
            self.is_proven = false;
            (self.proof, self.unstable_at) = (None, None);
        }
        self.silent_of = change.by_silence.then(|| self.sights.last_versions().clone());
        self.state = change.to;
        self.basis = (change.to == Status::Confirmed).then_some(match (self.is_proven, change.by_silence) {
            (true, _) => Basis::Proved,
            (false, true) => Basis::Silence,
            (false, false) => Basis::Agreed,
        });
    }

    fn take(&mut self, recorded: &Recorded, taken: &PositionTaken) {
        if taken.still {
            if !taken.aside && differ(self.sights.last_versions(), &taken.versions) {
                self.content_at = recorded.seq;
            }
            self.sights.took(recorded.seq, &recorded.agent, taken);
            self.still_meant = Some((recorded.agent.clone(), recorded.at));
            return;
        }
        for former in &taken.instead_of {
            self.positions.remove(former);
            self.sights.forget(former);
        }
        self.sights.forget(&recorded.agent);
        self.sights.took(recorded.seq, &recorded.agent, taken);
        let PositionTaken { position, reason, evidence_ref, .. } = taken.clone();
        let held = Held { position, reason, evidence_ref, at: recorded.at };
        self.positions.insert(recorded.agent.clone(), held);
    }

    fn tie(&mut self, recorded: &Recorded, added: &EvidenceAdded) {
        let link = Link {
            event: added.evidence_ref,
            relation: added.relation,
            grade: added.grade.unwrap_or(Grade::Asserted),
            weight: added.weight.get(),
            by: recorded.agent.clone(),
            note: added.note.clone(),
            at: recorded.at,
            seq: recorded.seq,
            is_unstable: added.run.as_ref().is_some_and(|run| run.unstable.is_some()),
            run: added.run.clone(),
        };
        self.evidence.retain(|known| (known.event, known.relation) != (link.event, link.relation));
        self.evidence.push(link);
    }
}
