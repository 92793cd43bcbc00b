//! The state that the rules read, folded from events by `evolve`.

mod deed;
mod recent;
mod seats;
mod silence;
mod stability;
mod targets;
mod told;
mod work;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::OnceLock;

use sha2::{Digest, Sha256};
use uuid::Uuid;

pub use deed::Deed;
pub use seats::{Pane, Seats};
pub(in crate::domain) use silence::Heard;
pub use stability::{COUNTS_FOR, Stability};
pub use work::Work;

use crate::domain::agent::AgentId;
use crate::domain::candidates::{Candidates, Words};
use crate::domain::claim::{
    ClaimType, ContradictionKind, Outcome, Override, Position, Relation, Resolution, Share, Status, Trigger,
};
use crate::domain::coverage::{self, Check};
use crate::domain::decide::Policy;
use crate::domain::event::{
    ClaimCreated, ContradictionDetected, Event, ExperimentCompleted, ExperimentQueued, OverrideProposed,
    Place, PositionTaken, Recorded, ResearcherSpawned, Side, StatusChanged,
};
use crate::domain::experiment::{Expect, Prediction, ProfileName, RunKey, RunState, Series, What};
use crate::domain::ids::{ClaimId, EventId, RunId, SessionId, TaskId};
use crate::domain::pairs::Reading;
use crate::domain::plan::Hold;
use crate::domain::scope::{Scope, ScopeMap};
use crate::domain::text::{self, CommandLine, Reason, Statement, Worktree};
use crate::domain::time::Timestamp;
use crate::domain::versions::{self, Change, Edit, Edits, Sight, Sights};

/// The part of a claim that the rules need.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The owner. It may challenge any claim except its own.
    pub owner: AgentId,
    /// The session in which the claim was made.
    pub session: Option<SessionId>,
    /// The type of the claim.
    pub claim_type: ClaimType,
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
    expires_at: Option<Timestamp>,
    /// The actions that a dead end warns about.
    trigger: Option<Box<Trigger>>,
    /// The original scopes, if a joined target replaced one of them.
    named: Option<Box<[Scope]>>,
    statement: Box<str>,
}

impl Claim {
    /// The statement in the owner's words.
    pub fn statement(&self) -> &str {
        &self.statement
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
        }
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
                let answered = answered.filter(|_| self.is_proven).cloned().collect();
                self.answered = answered;
            }
        } else if change.to == Status::Proposed {
            (self.is_proven, self.proof) = (false, None);
            // Events of older releases name no challengers here, so the answered ones stay answered.
            self.answered.retain(|agent| !change.leaves_open.contains(agent));
        }
        self.status = change.to;
    }

    /// Whether the operator recorded or supports the claim.
    pub fn is_the_operators(&self) -> bool {
        let operator = AgentId::operator();
        self.owner == operator || self.positions.get(&operator) == Some(&Position::Support)
    }

    /// Whether the claim has a time limit.
    pub const fn expires(&self) -> bool {
        self.expires_at.is_some()
    }

    /// Whether the claim is expired at `now`.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.statement, &self.scopes, self.claim_type)
    }
}

/// The part of a run that the rules need.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The agent that requested the run.
    pub requested_by: AgentId,
    /// The session that requested the run.
    pub session: Option<SessionId>,
    /// The profile. None for a run that a human typed or recorded.
    pub profile: Option<ProfileName>,
    /// The command, for display.
    pub command: CommandLine,
    /// What the run executes. Equal values mean equal runs.
    pub what: What,
    /// SHA-256 of the profile's file, hex.
    pub profile_sha256: Option<String>,
    /// The claim that the run tests.
    pub claim: Option<ClaimId>,
    /// The relation chosen by the caller, in releases before predictions.
    pub relation: Option<Relation>,
    /// The outcome that the claim predicts.
    pub prediction: Option<Prediction>,
    /// The other runs of the same request.
    pub series: Option<Series>,
    /// The exit code that meets the expectation.
    pub expects: Option<Expect>,
    /// The scopes that the profile can settle claims about.
    pub scopes: Vec<String>,
    /// Whether the run used another directory than its profile's own.
    pub elsewhere: bool,
    /// The unset variables of the profile.
    pub without: Vec<String>,
    /// The values of the profile's parameters, by name.
    pub args: BTreeMap<String, String>,
    /// The key for comparisons with other runs.
    pub key: Option<RunKey>,
    /// The state of the run.
    pub state: RunState,
    /// The event that ended the run.
    pub completed: Option<EventId>,
    /// Whether the word of the recorder is the only evidence of the run.
    pub asserted: bool,
    /// The commit on which an equal run can reproduce this one.
    pub reproducible_at: Option<String>,
    /// The researcher of the run, if it has one.
    pub researcher: Option<Researcher>,
    /// The observed versions of the claim's files when the run was queued.
    pub saw: Sight,
    /// The change between these versions and those of the claim at that time. Later positions on the claim do not
    /// affect it.
    pub differed: Option<Change>,
    /// The linked work tree of the run. None for the main one.
    pub worktree: Option<Worktree>,
    /// The reason why the run has no verdict on its claim although it ended normally.
    pub undecided: Option<Reason>,
    /// The position of its start in the ledger.
    pub started: Option<u64>,
    /// Whether its end was erased, so that its files must go.
    pub is_erased: bool,
}

impl Run {
    /// The reason why the run cannot settle a claim with these scopes and this prediction. None if it can.
    pub fn cannot_settle(&self, scopes: &[Scope], prediction: Prediction) -> Option<String> {
        if self.asserted {
            return Some("only the word of its recorder stands for it".to_owned());
        }
        let Self { profile, expects, scopes: globs, elsewhere, without, .. } = self;
        let (profile, expect, elsewhere) = (profile.as_ref(), expects.as_ref(), *elsewhere);
        coverage::cannot_settle(Check { profile, expect, globs, elsewhere, without }, scopes, prediction)
    }
}

/// The part of a researcher that the rules need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Researcher {
    /// The agent that the researcher speaks as.
    pub agent: AgentId,
    /// The session of the researcher.
    pub session: SessionId,
    /// The task of its findings.
    pub task_id: TaskId,
}

/// The part of a decision that the rules need.
#[derive(Debug, Clone, PartialEq)]
pub struct DecisionInForce {
    /// The target of the decision.
    pub target: Option<Scope>,
    /// The last recorded outcome.
    pub outcome: Option<Outcome>,
    /// The name of the target in the record of the decision.
    named: Option<Scope>,
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
}

impl Proposal {
    /// The proposal in an event.
    pub fn of(agent: &AgentId, proposed: &OverrideProposed) -> Self {
        let OverrideProposed { asks, successor, statement, .. } = proposed.clone();
        Self { agent: agent.clone(), asks, successor, statement }
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

/// A value that the rest of the state determines, computed on first use. It does not count in comparisons of states.
#[derive(Debug, Clone, Default)]
struct Derived<T>(OnceLock<T>);

impl<T> PartialEq for Derived<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// The folded state of a workspace.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    claims: HashMap<ClaimId, Claim>,
    in_force: HashMap<Fingerprint, ClaimId>,
    dead_ends: ScopeMap<BTreeSet<ClaimId>>,
    decisions: BTreeMap<ClaimId, DecisionInForce>,
    by_target: BTreeMap<Scope, BTreeSet<ClaimId>>,
    /// Every known name of a target, with the canonical name.
    targets: BTreeMap<Scope, Scope>,
    /// Each alias, with the name to which it was joined.
    joined: BTreeMap<Scope, Scope>,
    /// Open proposals of agents against claims of the operator.
    proposals: BTreeMap<ClaimId, BTreeSet<Proposal>>,
    /// Open contradictions, by the ledger position of their detection.
    open: BTreeMap<u64, ContradictionDetected>,
    open_of: HashMap<ClaimId, BTreeSet<u64>>,
    reported: HashMap<(ContradictionKind, Side, Side), u64>,
    /// Built from the claims in force on first use, so that the writer starts without parsing statements.
    candidates: Derived<Candidates>,
    runs: BTreeMap<RunId, Run>,
    /// Queued and running runs with their plans, by the ledger position of their queueing.
    unfinished: BTreeMap<u64, ExperimentQueued>,
    run_of: HashMap<EventId, RunId>,
    series: HashMap<RunId, Vec<RunId>>,
    stability: Stability,
    to_cancel: BTreeSet<RunId>,
    expiries: BTreeSet<(Timestamp, ClaimId)>,
    /// Claims that silence may still confirm, by deadline.
    silences: BTreeSet<(Timestamp, ClaimId)>,
    /// The facts on each of these claims since it was made.
    heard: BTreeMap<ClaimId, silence::Heard>,
    events: BTreeMap<EventId, u64>,
    /// Observations of hooks.
    observed: BTreeMap<EventId, Deed>,
    /// The last command or run of each session, with its ledger position. A run counts under the event that queued it.
    last_done: BTreeMap<SessionId, (u64, EventId)>,
    /// Sessions that cited a command without a scope of the claim.
    cited_beside: BTreeSet<SessionId>,
    work: Work,
    seats: Seats,
    /// The recorded policy.
    policy: Policy,
    /// Unacknowledged notices of refusals and changed rules, each with the agent that it concerns.
    notices: BTreeMap<Uuid, AgentId>,
    /// Each erased event, with the ledger position of its erasure.
    redacted: BTreeMap<EventId, u64>,
    edits: Edits,
    /// Warnings, by session.
    told: told::Told,
    recent: recent::Recent,
    last_seen: BTreeMap<AgentId, Timestamp>,
}

impl State {
    /// The claim with this id.
    pub fn claim(&self, id: ClaimId) -> Option<&Claim> {
        self.claims.get(&id)
    }

    /// All claims, in arbitrary order.
    pub fn claims(&self) -> impl Iterator<Item = (ClaimId, &Claim)> {
        self.claims.iter().map(|(id, claim)| (*id, claim))
    }

    /// The policy that was last recorded in the ledger, or else the default.
    pub const fn policy(&self) -> Policy {
        self.policy
    }

    /// Open proposals of agents against a claim of the operator.
    pub fn proposals(&self, claim: ClaimId) -> impl Iterator<Item = &Proposal> {
        self.proposals.get(&claim).into_iter().flatten()
    }

    /// The current work of the team.
    pub const fn work(&self) -> &Work {
        &self.work
    }

    /// The last edit of each file.
    pub(super) const fn edits(&self) -> &Edits {
        &self.edits
    }

    /// The observation of a hook in this event. None for any other event.
    pub fn deed(&self, id: EventId) -> Option<&Deed> {
        self.observed.get(&id)
    }

    /// The last event of a session that can be evidence: a command seen by a hook, or a run. Commands that only look
    /// and calls of `hm` do not count.
    pub fn last_done(&self, session: &SessionId) -> Option<EventId> {
        self.last_done.get(session).map(|(_, id)| *id)
    }

    /// Whether the session cited a command without a scope of the claim. If so, it has seen the hint on a better grade.
    pub(super) fn has_cited_beside(&self, session: &SessionId) -> bool {
        self.cited_beside.contains(session)
    }

    /// The ids of all events, in their order.
    pub fn event_ids(&self) -> impl Iterator<Item = EventId> {
        self.events.keys().copied()
    }

    /// The panes and their agents.
    pub const fn seats(&self) -> &Seats {
        &self.seats
    }

    /// Seats a pane before its command is decided. Returns the earlier seats for [`State::stand_up`].
    pub fn sit_down(&mut self, events: &[Event], at: Timestamp) -> Seats {
        let before = self.seats.clone();
        for event in events {
            if let Event::AgentSeated(seated) = event {
                self.seats.sit(seated, at);
            }
        }
        before
    }

    /// Reverts [`State::sit_down`] after a refused command.
    pub fn stand_up(&mut self, before: Seats) {
        self.seats = before;
    }

    /// Whether the claim is the caller's own: made under the caller's name, or by the same pane under another name. The
    /// caller's support of its own claim does not count.
    pub fn is_own(&self, agent: &AgentId, session: Option<&SessionId>, claim: &Claim) -> bool {
        claim.owner == *agent || self.seats.are_one_pane(session, claim.session.as_ref())
    }

    /// Whether the caller has the rights of the claim's owner. The caller chooses the session that it names. So it has
    /// the rights of that session's pane only if it speaks under a name of the pane.
    pub fn owns(&self, agent: &AgentId, session: Option<&SessionId>, claim: &Claim) -> bool {
        let is_panes = || self.seats.names(session).any(|name| name == agent);
        let is_own = self.is_own(agent, session, claim);
        is_own && (claim.owner == *agent || (!claim.owner.is_reserved() && is_panes()))
    }

    /// Whether the caller's pane holds the position under `name`: it took the position, or took it over with the seat.
    pub fn is_own_position(
        &self,
        session: Option<&SessionId>,
        (id, claim): (ClaimId, &Claim),
        name: &AgentId,
    ) -> bool {
        let there = claim.taken_in.get(name);
        self.seats.are_one_pane(session, there) || self.seats.took_over(session, (name, id, there))
    }

    /// Whether the caller knows the claim because it made it. A seat may have belonged to another pane, so only the
    /// pane's own sessions count for a seated pane.
    pub fn said(&self, agent: &AgentId, session: Option<&SessionId>, claim: &Claim) -> bool {
        if self.seats.is_seated(session) {
            self.seats.are_one_pane(session, claim.session.as_ref())
        } else {
            claim.owner == *agent
        }
    }

    /// Whether a session of the agent was warned of the claim.
    pub fn was_told(&self, agent: &AgentId, session: Option<&SessionId>, id: ClaimId) -> bool {
        self.told.of(agent, session, id).next().is_some()
    }

    /// Whether a session of the agent was told of this edit of a claim's file.
    pub(super) fn was_told_of_edit(
        &self,
        agent: &AgentId,
        session: Option<&SessionId>,
        id: ClaimId,
        (path, edit): (&Scope, &Edit),
    ) -> bool {
        let mut told = self.told.of(agent, session, id);
        told.any(|(matched, seq)| matched.as_str() == path.as_str() && seq > edit.seq)
    }

    /// Whether the caller holds the task: in its session, under its name or another name of its pane.
    pub fn is_own_hold(&self, agent: &AgentId, session: Option<&SessionId>, hold: &Hold) -> bool {
        self.holds((agent, session), (&hold.agent, &hold.session))
    }

    /// Like [`State::is_own_hold`], for any holder and session.
    pub fn holds(
        &self,
        (agent, session): (&AgentId, Option<&SessionId>),
        (holder, there): (&AgentId, &SessionId),
    ) -> bool {
        let is_one_voice = || holder == agent || self.seats.names(session).any(|name| name == agent);
        session == Some(there) && is_one_voice()
    }

    /// The claim in force with the same statement, scopes and type.
    pub fn same_statement(&self, fingerprint: &Fingerprint) -> Option<ClaimId> {
        self.in_force.get(fingerprint).copied()
    }

    /// The decision recorded for this claim, in force or not.
    pub fn decision(&self, id: ClaimId) -> Option<&DecisionInForce> {
        self.decisions.get(&id)
    }

    /// The decisions in force on a target. There is more than one only after two targets were joined.
    pub fn decisions_on(&self, target: &Scope) -> impl Iterator<Item = ClaimId> + '_ {
        self.by_target.get(target).into_iter().flatten().copied()
    }

    /// The canonical name of a target. Any other scope is returned unchanged.
    pub fn canonical<'a>(&'a self, scope: &'a Scope) -> &'a Scope {
        self.targets.get(scope).unwrap_or(scope)
    }

    /// Whether the target is known.
    pub fn knows_target(&self, target: &Scope) -> bool {
        self.targets.contains_key(target)
    }

    /// All names of targets, sorted.
    pub fn targets(&self) -> impl Iterator<Item = &Scope> {
        self.targets.keys()
    }

    /// The claims of the last ten minutes with their times, the newest first. Some may be out of force.
    pub fn recent(&self, now: Timestamp) -> impl Iterator<Item = (Timestamp, ClaimId, &Claim)> {
        self.recent.before(now).filter_map(|(at, id)| Some((at, id, self.claims.get(&id)?)))
    }

    /// A bounded number of claims in force in overlapping scopes with similar words. The most similar come first.
    pub fn like(&self, reading: &Reading, scopes: &[Scope]) -> impl Iterator<Item = (ClaimId, &Claim)> {
        let near = self.candidates.0.get_or_init(|| self.read_claims()).near(reading, scopes).into_iter();
        near.filter_map(|id| Some((id, self.claims.get(&id)?)))
    }

    /// Counts the subject words of `reading` that another claim in force contains.
    pub fn shared_subjects<'a>(&'a self, reading: &Reading) -> impl Fn(ClaimId) -> usize + 'a {
        let words = Words::of(reading.subjects());
        let candidates = self.candidates.0.get_or_init(|| self.read_claims());
        move |id| candidates.shared_with(&words, id)
    }

    /// The open contradictions of a claim with the ledger positions of their detection, oldest first.
    pub fn contradictions_of(&self, claim: ClaimId) -> impl Iterator<Item = (u64, &ContradictionDetected)> {
        let positions = self.open_of.get(&claim).into_iter().flatten();
        positions.filter_map(|seq| Some((*seq, self.open.get(seq)?)))
    }

    /// Whether a contradiction of this kind was reported for this pair. An ended challenge does not count.
    pub fn was_reported(&self, contradiction: &ContradictionDetected) -> bool {
        let ContradictionDetected { kind, left, right, .. } = contradiction.clone();
        self.reported.contains_key(&(kind, left, right))
    }

    /// The run with this id.
    pub fn run(&self, id: RunId) -> Option<&Run> {
        self.runs.get(&id)
    }

    /// The run that an event ended or recorded.
    pub fn run_that_ended_with(&self, event: EventId) -> Option<(RunId, &Run)> {
        self.run_of.get(&event).and_then(|id| Some((*id, self.runs.get(id)?)))
    }

    /// Whether two ids mean the same event, or the end of the same run. After an erasure the end is recorded again.
    pub fn are_one_event(&self, one: EventId, other: EventId) -> bool {
        let run = |id: EventId| self.run_of.get(&id);
        one == other || run(one).is_some_and(|of| run(other) == Some(of))
    }

    /// The runs of a series, by its first run, in their order.
    pub fn series(&self, first: RunId) -> impl Iterator<Item = (RunId, &Run)> {
        let runs = self.series.get(&first).into_iter().flatten();
        runs.filter_map(|id| Some((*id, self.runs.get(id)?)))
    }

    /// The tests that passed and failed on the same content.
    pub const fn stability(&self) -> &Stability {
        &self.stability
    }

    /// Runs that have not ended, in the order of their requests, with the events that queued them.
    pub fn unfinished_runs(&self) -> impl Iterator<Item = (&ExperimentQueued, &Run)> {
        self.unfinished.values().filter_map(|queued| Some((queued, self.runs.get(&queued.run_id)?)))
    }

    /// Runs whose end was erased. Their files must be erased too.
    pub fn erased_runs(&self) -> impl Iterator<Item = RunId> {
        self.runs.iter().filter(|(_, run)| run.is_erased).map(|(id, _)| *id)
    }

    /// Whether a run in progress must be cancelled.
    pub fn is_to_be_cancelled(&self, id: RunId) -> bool {
        self.to_cancel.contains(&id)
    }

    /// Expired claims that are not deprecated yet. The oldest expiry comes first.
    pub fn expired(&self, now: Timestamp) -> Vec<ClaimId> {
        self.expiries.iter().take_while(|(at, _)| *at <= now).map(|(_, id)| *id).collect()
    }

    /// Whether the ledger has an event with this id.
    pub fn knows_event(&self, id: EventId) -> bool {
        self.events.contains_key(&id)
    }

    /// The agent that an open notice concerns. `id` is that of a refused command, or of an event that changed the
    /// rules.
    pub fn notice(&self, id: Uuid) -> Option<&AgentId> {
        self.notices.get(&id)
    }

    /// Whether the payload of this event was erased.
    pub fn is_redacted(&self, id: EventId) -> bool {
        self.redacted.contains_key(&id)
    }

    /// Up to three known events with ids near `id`, as suggestions for a mistyped id.
    pub fn nearest_events(&self, id: EventId) -> Vec<EventId> {
        let after = self.events.range(id..).map(|(known, _)| *known).take(2);
        let before = self.events.range(..id).rev().map(|(known, _)| *known).take(2);
        before.chain(after).take(3).collect()
    }

    /// Dead ends in force whose scope or trigger path overlaps `scope`, oldest first.
    pub fn dead_ends_at(&self, scope: &Scope) -> BTreeSet<ClaimId> {
        self.dead_ends.at(scope).flatten().copied().collect()
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

    /// Folds one event. An erased event has no payload: its id becomes known, and nothing else changes.
    pub fn evolve(&mut self, recorded: &Recorded) {
        self.events.insert(recorded.id, recorded.seq);
        self.last_seen.insert(recorded.agent.clone(), recorded.at);
        self.work.evolve(recorded);
        self.edits.evolve(recorded);
        self.seats.evolve(recorded);
        self.hear(recorded);
        let Some(event) = &recorded.event else { return };
        match event {
            Event::ClaimCreated(created) => self.add_claim(recorded, created),
            Event::StatusChanged(change) => {
                self.hear_of_move(change, recorded.at);
                if let Some(claim) = self.claims.get_mut(&change.claim_id) {
                    claim.go(change);
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
            Event::EvidenceAdded(added) => {
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
            Event::EvidenceRetracted(retracted) => {
                if let Some(claim) = self.claims.get_mut(&retracted.claim_id) {
                    let link = (retracted.evidence_ref, retracted.relation);
                    claim.evidence.remove(&link);
                    claim.tied_by.remove(&link);
                    if retracted.relation == Relation::Contradicts && !retracted.by_operator {
                        claim.taken_back.insert(retracted.evidence_ref);
                    }
                }
            }
            // Without its claim, a decision could never be replaced. So it is not in force.
            Event::DecisionRecorded(decision) if !self.claims.contains_key(&decision.claim_id) => {}
            Event::DecisionRecorded(decision) => {
                if let Some(target) = &decision.target {
                    self.targets.entry(target.clone()).or_insert_with(|| target.clone());
                    self.by_target.entry(target.clone()).or_default().insert(decision.claim_id);
                }
                let (target, named) = (decision.target.clone(), decision.target.clone());
                self.decisions.insert(decision.claim_id, DecisionInForce { target, outcome: None, named });
            }
            Event::OutcomeRecorded(recorded) => {
                if let Some(decision) = self.decisions.get_mut(&recorded.claim_id) {
                    decision.outcome = Some(recorded.outcome);
                }
            }
            // Without the claim of a side, a contradiction could never end. So it is not opened.
            Event::ContradictionDetected(detected)
                if [&detected.left, &detected.right]
                    .iter()
                    .any(|side| !self.claims.contains_key(&side.claim_id)) => {}
            Event::ContradictionDetected(detected) => {
                for side in [&detected.left, &detected.right] {
                    self.open_of.entry(side.claim_id).or_default().insert(recorded.seq);
                }
                let ContradictionDetected { kind, left, right, .. } = detected.clone();
                self.reported.insert((kind, left, right), recorded.seq);
                self.open.insert(recorded.seq, detected.clone());
            }
            Event::ContradictionResolved(resolved) => {
                let key = (resolved.kind, resolved.left.clone(), resolved.right.clone());
                let Some(seq) = self.reported.get(&key).copied() else { return };
                let seq = &seq;
                // After these resolutions the same contradiction may open again: when the targets are joined again, the
                // claims are linked again, or the agent challenges again.
                if matches!(resolved.cause, Resolution::Parted | Resolution::Retracted)
                    || resolved.kind == ContradictionKind::Position
                {
                    self.reported.remove(&key);
                }
                self.open.remove(seq);
                for side in [&resolved.left, &resolved.right] {
                    if let Some(open) = self.open_of.get_mut(&side.claim_id) {
                        open.remove(seq);
                        if open.is_empty() {
                            self.open_of.remove(&side.claim_id);
                        }
                    }
                }
            }
            Event::TargetAliased(joined) => self.join(joined),
            Event::TargetParted(parted) => self.part(parted),
            Event::OverrideProposed(proposed) => {
                if self.claims.contains_key(&proposed.claim_id) {
                    self.hear_of_proposal(&recorded.agent, proposed);
                    let proposal = Proposal::of(&recorded.agent, proposed);
                    self.proposals.entry(proposed.claim_id).or_default().insert(proposal);
                }
            }
            Event::OverrideDismissed(dismissed) => {
                self.proposals.remove(&dismissed.claim_id);
            }
            Event::ExperimentQueued(queued) => self.queue(recorded, queued),
            Event::ExperimentStarted(started) => {
                if let Some(run) = self.runs.get_mut(&started.run_id) {
                    run.state = RunState::Running;
                    run.started = Some(recorded.seq);
                }
            }
            Event::ExperimentCancelRequested(cancel) => {
                self.to_cancel.insert(cancel.run_id);
            }
            Event::ExperimentCompleted(completed) => self.complete(recorded, completed),
            Event::ResearcherSpawned(spawned) => {
                if let Some(run) = self.runs.get_mut(&spawned.run_id) {
                    let ResearcherSpawned { agent, child, task_id, .. } = spawned.clone();
                    run.researcher = Some(Researcher { agent, session: child, task_id });
                }
            }
            Event::EventRedacted(redaction) => {
                self.redacted.insert(redaction.event_id, recorded.seq);
            }
            Event::ToolUsed(_) => {
                self.observed.insert(recorded.id, Deed::Tool);
            }
            Event::FileEdited(edited) => {
                self.observed.insert(recorded.id, Deed::Files(edited.paths.clone()));
            }
            Event::CommandRan(ran) => {
                let deed = Deed::of(ran);
                if let Some(session) = recorded.session.as_ref().filter(|_| deed.shows_something()) {
                    self.last_done.insert(session.clone(), (recorded.seq, recorded.id));
                }
                self.observed.insert(recorded.id, deed);
            }
            // `work` has folded these events.
            Event::LossAccepted(_)
            | Event::PlanAdded(_)
            | Event::PhaseAdded(_)
            | Event::TaskAdded(_)
            | Event::TaskClaimed(_)
            | Event::TaskReleased(_)
            | Event::ScopesLocked(_)
            | Event::ScopesReleased(_)
            | Event::TaskUpdated(_)
            | Event::IntentDeclared(_)
            | Event::SessionStarted(_)
            | Event::SessionEnded(_)
            | Event::AgentSeated(_)
            | Event::SessionSplit(_)
            | Event::Turn0Continued(_)
            | Event::AnchorSaved(_)
            | Event::AnchorRetired(_)
            | Event::PlanAbandoned(_)
            | Event::PlanRenamed(_) => {}
            Event::PolicyChanged(changed) => {
                let agents_may_override_operator = changed.agents_may_override_operator;
                self.policy = Policy { quorum: changed.quorum, agents_may_override_operator };
                self.notices.insert(recorded.id.uuid(), AgentId::operator());
            }
            Event::CommandRejected(rejected) => {
                self.notices.insert(rejected.command_id.uuid(), recorded.agent.clone());
            }
            Event::AttentionSeen(seen) => {
                self.notices.remove(&seen.id);
            }
            Event::GuardFired(fired) => self.told.evolve(recorded, fired),
            Event::EventReported(_)
            | Event::SpoolFlushed(_)
            | Event::MemoryDenied(_)
            | Event::TurnRecorded(_)
            | Event::BeliefsSnapshotted(_)
            | Event::MessageSent(_)
            | Event::OperatorOverridden(_) => {}
        }
    }

    fn queue(&mut self, recorded: &Recorded, queued: &ExperimentQueued) {
        let claim = queued.claim_id.and_then(|id| self.claims.get(&id));
        let differed = claim.and_then(|claim| {
            let (saw, worktree) = (&queued.versions, queued.checkout.worktree.as_ref());
            versions::changed_since(self, claim, queued.blocking.then_some(recorded.seq), saw, worktree)
        });
        let run = Run {
            requested_by: recorded.agent.clone(),
            session: recorded.session.clone(),
            profile: queued.plan.profile.clone(),
            command: queued.plan.command_line(),
            what: What::of(&queued.plan, &queued.args),
            profile_sha256: queued.plan.profile_sha256.clone(),
            claim: queued.claim_id,
            relation: queued.relation,
            prediction: queued.prediction,
            series: queued.series,
            expects: queued.plan.expect.clone(),
            scopes: queued.plan.scopes.clone(),
            elsewhere: queued.plan.elsewhere,
            without: queued.plan.without.clone(),
            args: queued.args.clone(),
            key: None,
            state: RunState::Queued,
            completed: None,
            asserted: false,
            reproducible_at: None,
            researcher: None,
            saw: Sight { seq: recorded.seq, versions: queued.versions.clone(), seen_in: None },
            differed,
            worktree: queued.checkout.worktree.clone(),
            undecided: None,
            started: None,
            is_erased: false,
        };
        if let Some(session) = &recorded.session {
            self.last_done.insert(session.clone(), (recorded.seq, queued.run_id.first_event()));
        }
        if queued.blocking
            && let Some(claim) = queued.claim_id.and_then(|id| self.claims.get_mut(&id))
        {
            claim.pending_run = Some(queued.run_id);
        }
        if let Some(series) = queued.series {
            self.series.entry(series.first).or_default().push(queued.run_id);
        }
        self.runs.insert(queued.run_id, run);
        self.unfinished.insert(recorded.seq, queued.clone());
    }

    fn complete(&mut self, recorded: &Recorded, completed: &ExperimentCompleted) {
        let run = self.runs.entry(completed.run_id).or_insert_with(|| Run {
            requested_by: recorded.agent.clone(),
            session: recorded.session.clone(),
            profile: completed.profile.clone(),
            command: completed.command.clone(),
            what: What::Typed(completed.command.clone()),
            profile_sha256: None,
            claim: None,
            relation: None,
            prediction: None,
            series: None,
            expects: None,
            scopes: Vec::new(),
            elsewhere: false,
            without: Vec::new(),
            args: BTreeMap::new(),
            key: None,
            state: RunState::Queued,
            completed: None,
            asserted: false,
            reproducible_at: None,
            researcher: None,
            saw: Sight::default(),
            differed: None,
            worktree: None,
            undecided: None,
            started: None,
            is_erased: false,
        });
        run.command = completed.command.clone();
        run.state = completed.outcome.state;
        run.asserted = completed.asserted;
        run.is_erased = completed.is_erased();
        run.undecided.clone_from(&completed.undecided);
        run.reproducible_at = completed.outcome.reproducible_at().map(str::to_owned);
        // A repeated end has the place of the first one.
        let place = completed.restates.unwrap_or(Place { seq: recorded.seq, at: recorded.at });
        // The end of a run counts as the last event of the session that requested it.
        if let Some(session) = &run.session
            && self.last_done.get(session).is_none_or(|(seq, _)| *seq < place.seq)
        {
            self.last_done.insert(session.clone(), (place.seq, completed.run_id.first_event()));
        }
        run.key = completed.full_key();
        // After an erasure, the end is recorded again. It counts once.
        if let Some(key) = completed.key.as_ref().filter(|_| run.completed.is_none()) {
            self.stability.add(key, run.state == RunState::Succeeded, place, completed.stable_again);
        }
        run.completed = Some(recorded.id);
        self.run_of.insert(recorded.id, completed.run_id);
        // Evidence keeps the id of the erased end. The repeated end follows its erasure directly.
        let (first, mut again) = (place.seq, recorded.seq);
        while again > first
            && let Some((erased, _)) = self.redacted.iter().find(|(_, at)| **at + 1 == again)
            && let Some(seq) = self.events.get(erased)
        {
            self.run_of.insert(*erased, completed.run_id);
            again = *seq;
        }
        self.to_cancel.remove(&completed.run_id);
        self.unfinished.retain(|_, queued| queued.run_id != completed.run_id);
    }

    fn add_claim(&mut self, recorded: &Recorded, created: &ClaimCreated) {
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
            status: Status::Proposed,
            confidence: created.confidence,
            scopes: created.scopes.clone(),
            positions: BTreeMap::new(),
            taken_in: BTreeMap::new(),
            evidence: BTreeSet::new(),
            tied_by: BTreeMap::new(),
            taken_back: BTreeSet::new(),
            proposes_to_supersede: created.supersedes,
            superseded_by: None,
            pending_run: None,
            is_proven: false,
            proof: None,
            answered: BTreeSet::new(),
            mends: created.mends,
            sights: Sights::of(recorded.seq, created),
            asks: created.asks.iter().cloned().collect(),
            silent_at: created.objection_until,
            by_silence: false,
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
    fn read_claims(&self) -> Candidates {
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

    fn retire(&mut self, id: ClaimId) {
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
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::State;
    use crate::domain::agent::AgentId;
    use crate::domain::claim::{ClaimType, Share};
    use crate::domain::event::{ClaimCreated, Recorded};
    use crate::domain::ids::{ClaimId, CommandId, EventId};
    use crate::domain::scope::Scope;
    use crate::domain::time::Timestamp;

    fn scope(text: &str) -> Scope {
        text.parse().expect("a valid scope")
    }

    #[test]
    fn dead_ends_are_found_at_above_and_below_a_scope() {
        let mut state = State::default();
        for (number, at) in [(1, "src/db"), (2, "src/db/pool.rs"), (3, "src/dbx"), (4, "tag:db"), (5, ".")] {
            let id = uuid::Uuid::from_u128(number);
            let created = ClaimCreated {
                origin_task_id: None,
                claim_id: ClaimId::from_uuid(id),
                statement: format!("dead end {number}").parse().expect("a statement"),
                claim_type: ClaimType::Negative,
                scopes: vec![scope(at)],
                confidence: Share::FULL,
                supersedes: None,
                ttl_hours: None,
                trigger: None,
                mends: false,
                versions: BTreeMap::new(),
                seen_in: None,
                asks: Vec::new(),
                objection_until: None,
            };
            state.evolve(&Recorded {
                seq: number as u64,
                id: EventId::from_uuid(id),
                agent: AgentId::architect(),
                session: None,
                causation: CommandId::from_uuid(id),
                at: Timestamp::from_ms(0),
                event: Some(created.into()),
                erased: None,
            });
        }
        let found = |at: &str| -> Vec<u128> {
            state.dead_ends_at(&scope(at)).into_iter().map(|id| id.uuid().as_u128()).collect()
        };
        assert_eq!(found("src/db"), [1, 2, 5]);
        assert_eq!(found("src/db/pool.rs"), [1, 2, 5]);
        assert_eq!(found("src/db/other.rs"), [1, 5]);
        assert_eq!(found("src/dbx"), [3, 5]);
        assert_eq!(found("."), [1, 2, 3, 5]);
        assert_eq!(found("tag:db"), [4]);
        assert_eq!(found("docs"), [5]);
    }
}
