//! What the rules need to know, folded from events: `evolve`.

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
use crate::domain::experiment::{
    ERASED_COMMAND, Expect, Plan, Prediction, ProfileName, RunKey, RunState, Series,
};
use crate::domain::ids::{ClaimId, EventId, RunId, SessionId, TaskId};
use crate::domain::pairs::Reading;
use crate::domain::plan::Hold;
use crate::domain::scope::{Scope, ScopeMap};
use crate::domain::text::{self, CommandLine, Reason, Statement, Worktree};
use crate::domain::time::Timestamp;
use crate::domain::versions::{self, Change, Edit, Edits, Sight, Sights};

/// One claim, as far as the rules look at it.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// Who may challenge everything but this.
    pub owner: AgentId,
    /// The session it was made in.
    pub session: Option<SessionId>,
    /// What kind of statement it is.
    pub claim_type: ClaimType,
    /// Where it is in its life.
    pub status: Status,
    /// How sure its owner is.
    pub confidence: Share,
    /// What it is about.
    pub scopes: Vec<Scope>,
    /// The latest position of each agent that took one.
    pub positions: BTreeMap<AgentId, Position>,
    /// The session in which each of these agents last took one.
    pub taken_in: BTreeMap<AgentId, SessionId>,
    /// What is tied to it.
    pub evidence: BTreeSet<(EventId, Relation)>,
    /// The agent and the session that tied each of these.
    pub tied_by: BTreeMap<(EventId, Relation), (AgentId, Option<SessionId>)>,
    /// Events that contradicted it until an agent other than the operator took them back.
    pub taken_back: BTreeSet<EventId>,
    /// The claim it would replace once confirmed.
    pub proposes_to_supersede: Option<ClaimId>,
    /// The claim that took its place.
    pub superseded_by: Option<ClaimId>,
    /// The run it waits for.
    pub pending_run: Option<RunId>,
    /// Whether a run it waited for supports it.
    pub is_proven: bool,
    /// The run that did.
    pub proof: Option<RunId>,
    /// Challengers whom that run answered, until they speak again or the run counts no more.
    pub answered: BTreeSet<AgentId>,
    /// Whether it mends the claim it would replace.
    pub mends: bool,
    /// What was seen of the files it is about.
    pub sights: Sights,
    /// The agents that its owner asked for a position.
    pub asks: BTreeSet<AgentId>,
    /// When silence confirms it, while nothing else decided it.
    pub silent_at: Option<Timestamp>,
    /// Whether silence confirmed it, and no challenge came since.
    pub by_silence: bool,
    expires_at: Option<Timestamp>,
    /// What action a dead end warns of.
    trigger: Option<Box<Trigger>>,
    /// Its scopes as they were named when it was made, once a joined target goes by another name.
    named: Option<Box<[Scope]>>,
    statement: Box<str>,
}

impl Claim {
    /// What it says, as its owner wrote it.
    pub fn statement(&self) -> &str {
        &self.statement
    }

    /// What action it warns of, where it is a dead end.
    pub fn trigger(&self) -> Option<&Trigger> {
        self.trigger.as_deref()
    }

    /// What it says, cut into what is compared.
    pub fn reading(&self) -> Reading {
        Reading::of(&self.statement)
    }

    /// Who holds it to be wrong, answered or not.
    pub fn challengers(&self) -> impl Iterator<Item = &AgentId> {
        self.positions.iter().filter(|(_, held)| **held == Position::Challenge).map(|(agent, _)| agent)
    }

    /// Who challenges it and was answered by the run that proves it.
    pub fn answered_challengers(&self) -> impl Iterator<Item = &AgentId> {
        self.challengers().filter(|agent| self.answered.contains(*agent))
    }

    /// Puts a position in the place of what the same pane held before.
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

    /// Puts it where a move says.
    pub(in crate::domain) fn go(&mut self, change: &StatusChanged) {
        if change.from == Status::PendingProof {
            // A move that is said again after an erasure finds no run to wait for.
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
            // An event of an older release names none, and leaves them answered.
            self.answered.retain(|agent| !change.leaves_open.contains(agent));
        }
        self.status = change.to;
    }

    /// Whether the operator recorded or supports it.
    pub fn is_the_operators(&self) -> bool {
        let operator = AgentId::operator();
        self.owner == operator || self.positions.get(&operator) == Some(&Position::Support)
    }

    /// Whether its time ends by itself.
    pub const fn expires(&self) -> bool {
        self.expires_at.is_some()
    }

    /// Whether its time is over at `now`.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.statement, &self.scopes, self.claim_type)
    }
}

/// One run, as far as the rules look at it.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Who asked for it.
    pub requested_by: AgentId,
    /// The session that asked for it.
    pub session: Option<SessionId>,
    /// The profile; none for what a human typed or recorded.
    pub profile: Option<ProfileName>,
    /// What runs, for people.
    pub command: CommandLine,
    /// Profile and arguments: equal for runs of the same.
    pub what: String,
    /// SHA-256 of the profile's file, hex.
    pub profile_sha256: Option<String>,
    /// The claim it is about.
    pub claim: Option<ClaimId>,
    /// What the caller made it say, in a release before predictions.
    pub relation: Option<Relation>,
    /// What the claim predicts of it.
    pub prediction: Option<Prediction>,
    /// The other runs of its request.
    pub series: Option<Series>,
    /// The exit code that meets the expectation.
    pub expects: Option<Expect>,
    /// What its profile can settle claims about.
    pub scopes: Vec<String>,
    /// Whether it ran in another directory than its profile's own.
    pub elsewhere: bool,
    /// The variables of its profile that it ran without.
    pub without: Vec<String>,
    /// The values of its profile's parameters, by name.
    pub args: BTreeMap<String, String>,
    /// What it is compared by.
    pub key: Option<RunKey>,
    /// Where it is.
    pub state: RunState,
    /// The event that ended it.
    pub completed: Option<EventId>,
    /// Whether the only evidence that it ran is the word of its recorder.
    pub asserted: bool,
    /// The commit on which another run of the same may reproduce it.
    pub reproducible_at: Option<String>,
    /// The agent it is, if it is one.
    pub researcher: Option<Researcher>,
    /// What was seen of its claim's files when it was queued.
    pub saw: Sight,
    /// How that differed from what the claim was about then. What is said of the claim later makes it no other run.
    pub differed: Option<Change>,
    /// The linked work tree it runs in; none in the main one.
    pub worktree: Option<Worktree>,
    /// Why it says nothing about its claim although it came to its end.
    pub undecided: Option<Reason>,
    /// The position of the ledger at which it began.
    pub started: Option<u64>,
}

impl Run {
    /// Why it settles nothing about a claim with these scopes and this prediction; none where it can.
    pub fn cannot_settle(&self, scopes: &[Scope], prediction: Prediction) -> Option<String> {
        if self.asserted {
            return Some("only the word of its recorder stands for it".to_owned());
        }
        let Self { profile, expects, scopes: globs, elsewhere, without, .. } = self;
        let (profile, expect, elsewhere) = (profile.as_ref(), expects.as_ref(), *elsewhere);
        coverage::cannot_settle(Check { profile, expect, globs, elsewhere, without }, scopes, prediction)
    }
}

/// An agent that was sent out, as far as the rules look at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Researcher {
    /// Whom it speaks as.
    pub agent: AgentId,
    /// Its session.
    pub session: SessionId,
    /// The task its findings come out of.
    pub task_id: TaskId,
}

/// One decision, as far as the rules look at it.
#[derive(Debug, Clone, PartialEq)]
pub struct DecisionInForce {
    /// What it decides about.
    pub target: Option<Scope>,
    /// What became of it, as last recorded.
    pub outcome: Option<Outcome>,
    /// The target as it was named when it was recorded.
    named: Option<Scope>,
}

/// What an agent asked for against the operator's word.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Proposal {
    /// Who asked.
    pub agent: AgentId,
    /// What for.
    pub asks: Override,
    /// The claim that would take the place.
    pub successor: Option<ClaimId>,
    /// What the decision in its place would say.
    pub statement: Option<Statement>,
}

impl Proposal {
    /// What an event proposes.
    pub fn of(agent: &AgentId, proposed: &OverrideProposed) -> Self {
        let OverrideProposed { asks, successor, statement, .. } = proposed.clone();
        Self { agent: agent.clone(), asks, successor, statement }
    }
}

/// Equal for statements of one type that say the same about the same scopes: half of a SHA-256 over all three.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    /// The fingerprint of a statement about some scopes.
    pub fn of(statement: &str, scopes: &[Scope], claim_type: ClaimType) -> Self {
        let scopes: BTreeSet<&Scope> = scopes.iter().collect();
        let mut hash = Sha256::new_with_prefix(text::folded(statement));
        hash.update("\n");
        hash.update(claim_type.as_str());
        for scope in scopes {
            // Neither a folded statement nor a scope holds a line break.
            hash.update("\n");
            hash.update(scope.as_str());
        }
        let mut half = [0; 16];
        half.copy_from_slice(&hash.finalize()[..16]);
        Self(half)
    }
}

/// What follows from the rest of the state and is made when it is asked for: it makes no two states differ.
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
    /// Every target ever named, with the name that stands for it.
    targets: BTreeMap<Scope, Scope>,
    /// Each alias with the name it was joined to.
    joined: BTreeMap<Scope, Scope>,
    /// What agents proposed against claims that the operator stands by, until the operator settles it.
    proposals: BTreeMap<ClaimId, BTreeSet<Proposal>>,
    /// Contradictions that are open, by the ledger position of their detection.
    open: BTreeMap<u64, ContradictionDetected>,
    open_of: HashMap<ClaimId, BTreeSet<u64>>,
    reported: HashMap<(ContradictionKind, Side, Side), u64>,
    /// Made of the claims in force when first asked for: a writer that starts reads no statement.
    candidates: Derived<Candidates>,
    runs: BTreeMap<RunId, Run>,
    /// What waits for its turn or is under way, by the ledger position that queued it, with its plan.
    unfinished: BTreeMap<u64, ExperimentQueued>,
    run_of: HashMap<EventId, RunId>,
    series: HashMap<RunId, Vec<RunId>>,
    stability: Stability,
    to_cancel: BTreeSet<RunId>,
    expiries: BTreeSet<(Timestamp, ClaimId)>,
    /// Claims that silence may still confirm, by when.
    silences: BTreeSet<(Timestamp, ClaimId)>,
    /// What was heard of those.
    heard: BTreeMap<ClaimId, silence::Heard>,
    events: BTreeMap<EventId, u64>,
    /// Events in which a hook says what it saw, with what they name.
    observed: BTreeMap<EventId, Deed>,
    /// The last command or run of each session, with its place in the ledger. A run goes by the event that queued it.
    last_done: BTreeMap<SessionId, (u64, EventId)>,
    /// Sessions that cited a command which names nothing of the claim's scopes.
    cited_beside: BTreeSet<SessionId>,
    work: Work,
    seats: Seats,
    /// The policy on record.
    policy: Policy,
    /// Refusals and changes of the rules of which no agent took note, and whom each concerns.
    notices: BTreeMap<Uuid, AgentId>,
    /// Each event whose payload was erased, with the position of the event that says so.
    redacted: BTreeMap<EventId, u64>,
    edits: Edits,
    /// Warnings by session.
    told: told::Told,
    recent: recent::Recent,
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

    /// The policy that the ledger last recorded; before the first record the default one.
    pub const fn policy(&self) -> Policy {
        self.policy
    }

    /// What agents proposed against a claim that the operator stands by.
    pub fn proposals(&self, claim: ClaimId) -> impl Iterator<Item = &Proposal> {
        self.proposals.get(&claim).into_iter().flatten()
    }

    /// Who works on what.
    pub const fn work(&self) -> &Work {
        &self.work
    }

    /// Who last edited each file.
    pub(super) const fn edits(&self) -> &Edits {
        &self.edits
    }

    /// What a hook saw, as this event says; none for any other event.
    pub fn deed(&self, id: EventId) -> Option<&Deed> {
        self.observed.get(&id)
    }

    /// The last thing a session did that can be evidence: a command that a hook saw, or a run. Commands that only look
    /// do not count, nor do those of our own program.
    pub fn last_done(&self, session: &SessionId) -> Option<EventId> {
        self.last_done.get(session).map(|(_, id)| *id)
    }

    /// Whether a session cited a command that names nothing of a claim's scopes: it was told then what would raise it.
    pub(super) fn has_cited_beside(&self, session: &SessionId) -> bool {
        self.cited_beside.contains(session)
    }

    /// The ids of all events, in their order.
    pub fn event_ids(&self) -> impl Iterator<Item = EventId> {
        self.events.keys().copied()
    }

    /// Which pane is which agent.
    pub const fn seats(&self) -> &Seats {
        &self.seats
    }

    /// Seats a pane before its command is decided; returns the seats as they were, for [`State::stand_up`].
    pub fn sit_down(&mut self, events: &[Event], at: Timestamp) -> Seats {
        let before = self.seats.clone();
        for event in events {
            if let Event::AgentSeated(seated) = event {
                self.seats.sit(seated, at);
            }
        }
        before
    }

    /// Takes back what [`State::sit_down`] did, when the command is refused.
    pub fn stand_up(&mut self, before: Seats) {
        self.seats = before;
    }

    /// Whether a claim is the caller's own: made under the caller's name, or by the same pane under another one. Its
    /// support of it counts for nothing.
    pub fn is_own(&self, agent: &AgentId, session: Option<&SessionId>, claim: &Claim) -> bool {
        claim.owner == *agent || self.seats.are_one_pane(session, claim.session.as_ref())
    }

    /// Whether the caller has an owner's rights over a claim. A session is named by its caller, so only a caller that
    /// speaks under a name of the session's pane has the rights of the pane.
    pub fn owns(&self, agent: &AgentId, session: Option<&SessionId>, claim: &Claim) -> bool {
        let is_panes = || self.seats.names(session).any(|name| name == agent);
        let is_own = self.is_own(agent, session, claim);
        is_own && (claim.owner == *agent || (!claim.owner.is_reserved() && is_panes()))
    }

    /// Whether the position under a name on a claim is that of the caller's pane: taken there, or taken over with its
    /// seat.
    pub fn is_own_position(
        &self,
        session: Option<&SessionId>,
        (id, claim): (ClaimId, &Claim),
        name: &AgentId,
    ) -> bool {
        let there = claim.taken_in.get(name);
        self.seats.are_one_pane(session, there) || self.seats.took_over(session, (name, id, there))
    }

    /// Whether the caller knows what a claim says because it said it. A seat may have been another pane's before, so a
    /// pane that took one remembers what was said in its own sessions.
    pub fn said(&self, agent: &AgentId, session: Option<&SessionId>, claim: &Claim) -> bool {
        if self.seats.is_seated(session) {
            self.seats.are_one_pane(session, claim.session.as_ref())
        } else {
            claim.owner == *agent
        }
    }

    /// Whether an agent was warned of a claim in a session.
    pub fn was_told(&self, agent: &AgentId, session: Option<&SessionId>, id: ClaimId) -> bool {
        self.told.of(agent, session, id).next().is_some()
    }

    /// Whether an agent was told in a session of an edit that came after a claim.
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

    /// Whether a hold on a task is the caller's own: taken in the caller's session, under the caller's name or by the
    /// same pane under another one.
    pub fn is_own_hold(&self, agent: &AgentId, session: Option<&SessionId>, hold: &Hold) -> bool {
        self.holds((agent, session), (&hold.agent, &hold.session))
    }

    /// Whether what one agent took in a session is the caller's, as [`State::is_own_hold`] says it.
    pub fn holds(
        &self,
        (agent, session): (&AgentId, Option<&SessionId>),
        (holder, there): (&AgentId, &SessionId),
    ) -> bool {
        let is_one_voice = || holder == agent || self.seats.names(session).any(|name| name == agent);
        session == Some(there) && is_one_voice()
    }

    /// The claim of this type, not deprecated, that already says this about these scopes.
    pub fn same_statement(&self, fingerprint: &Fingerprint) -> Option<ClaimId> {
        self.in_force.get(fingerprint).copied()
    }

    /// The decision recorded for this claim, in force or not.
    pub fn decision(&self, id: ClaimId) -> Option<&DecisionInForce> {
        self.decisions.get(&id)
    }

    /// The decisions in force on a target; more than one only after two targets were joined.
    pub fn decisions_on(&self, target: &Scope) -> impl Iterator<Item = ClaimId> + '_ {
        self.by_target.get(target).into_iter().flatten().copied()
    }

    /// The name that stands for a target, once two were joined; any other scope stands for itself.
    pub fn canonical<'a>(&'a self, scope: &'a Scope) -> &'a Scope {
        self.targets.get(scope).unwrap_or(scope)
    }

    /// Whether a target was named before.
    pub fn knows_target(&self, target: &Scope) -> bool {
        self.targets.contains_key(target)
    }

    /// Every name of a target, sorted.
    pub fn targets(&self) -> impl Iterator<Item = &Scope> {
        self.targets.keys()
    }

    /// Claims that were made in the last ten minutes, the newest first, each with its time. Some may be out of force.
    pub fn recent(&self, now: Timestamp) -> impl Iterator<Item = (Timestamp, ClaimId, &Claim)> {
        self.recent.before(now).filter_map(|(at, id)| Some((at, id, self.claims.get(&id)?)))
    }

    /// Claims in force in overlapping scopes that read much like a text, the likest first; a bounded number of them.
    pub fn like(&self, reading: &Reading, scopes: &[Scope]) -> impl Iterator<Item = (ClaimId, &Claim)> {
        let near = self.candidates.0.get_or_init(|| self.read_claims()).near(reading, scopes).into_iter();
        near.filter_map(|id| Some((id, self.claims.get(&id)?)))
    }

    /// How many words that say what a text is about another claim in force holds.
    pub fn shared_subjects<'a>(&'a self, reading: &Reading) -> impl Fn(ClaimId) -> usize + 'a {
        let words = Words::of(reading.subjects());
        let candidates = self.candidates.0.get_or_init(|| self.read_claims());
        move |id| candidates.shared_with(&words, id)
    }

    /// The open contradictions a claim is part of, with the ledger position of their detection, oldest first.
    pub fn contradictions_of(&self, claim: ClaimId) -> impl Iterator<Item = (u64, &ContradictionDetected)> {
        let positions = self.open_of.get(&claim).into_iter().flatten();
        positions.filter_map(|seq| Some((*seq, self.open.get(seq)?)))
    }

    /// Whether this pair was reported as this kind: ended or not, but for a challenge that ended.
    pub fn was_reported(&self, contradiction: &ContradictionDetected) -> bool {
        let ContradictionDetected { kind, left, right, .. } = contradiction.clone();
        self.reported.contains_key(&(kind, left, right))
    }

    /// The run with this id.
    pub fn run(&self, id: RunId) -> Option<&Run> {
        self.runs.get(&id)
    }

    /// The run that an event ended or recorded, and its id.
    pub fn run_that_ended_with(&self, event: EventId) -> Option<(RunId, &Run)> {
        self.run_of.get(&event).and_then(|id| Some((*id, self.runs.get(id)?)))
    }

    /// Whether two ids mean one event, or the end of one run, which is said again when its record is erased.
    pub fn are_one_event(&self, one: EventId, other: EventId) -> bool {
        let run = |id: EventId| self.run_of.get(&id);
        one == other || run(one).is_some_and(|of| run(other) == Some(of))
    }

    /// The runs of a request that asked for several, by the first of them, in their order.
    pub fn series(&self, first: RunId) -> impl Iterator<Item = (RunId, &Run)> {
        let runs = self.series.get(&first).into_iter().flatten();
        runs.filter_map(|id| Some((*id, self.runs.get(id)?)))
    }

    /// Which tests came out both ways.
    pub const fn stability(&self) -> &Stability {
        &self.stability
    }

    /// Runs that are not over, with what queued them, in the order they were asked for.
    pub fn unfinished_runs(&self) -> impl Iterator<Item = (&ExperimentQueued, &Run)> {
        self.unfinished.values().filter_map(|queued| Some((queued, self.runs.get(&queued.run_id)?)))
    }

    /// Runs whose end was erased: their files are to go too.
    pub fn erased_runs(&self) -> impl Iterator<Item = RunId> {
        self.runs.iter().filter(|(_, run)| run.command.as_str() == ERASED_COMMAND).map(|(id, _)| *id)
    }

    /// Whether a run under way is to be stopped.
    pub fn is_to_be_cancelled(&self, id: RunId) -> bool {
        self.to_cancel.contains(&id)
    }

    /// Claims whose time is over at `now` and that are not deprecated yet, the oldest expiry first.
    pub fn expired(&self, now: Timestamp) -> Vec<ClaimId> {
        self.expiries.iter().take_while(|(at, _)| *at <= now).map(|(_, id)| *id).collect()
    }

    /// Whether an event with this id stands in the ledger.
    pub fn knows_event(&self, id: EventId) -> bool {
        self.events.contains_key(&id)
    }

    /// Whom an open notice concerns: a command that was refused, or an event that changed the rules.
    pub fn notice(&self, id: Uuid) -> Option<&AgentId> {
        self.notices.get(&id)
    }

    /// Whether an operator had this event's payload erased.
    pub fn is_redacted(&self, id: EventId) -> bool {
        self.redacted.contains_key(&id)
    }

    /// Up to three known events whose ids sort next to `id`: what a mistyped one was likely meant to be.
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

    /// Folds one event. An event without payload (erased by an operator) counts as known and changes
    /// nothing else.
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
                // The operator has spoken on it again.
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
            // A decision whose claim was erased is in force nowhere: nobody could replace it.
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
            // Nobody could end one whose side was erased.
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
                // Joined again, the two targets contradict each other anew. So do two claims that are linked again, and an
                // agent that challenges again.
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
            // The work has folded them.
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
            what: what_runs(queued),
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
            what: completed.command.to_string(),
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
        });
        run.command = completed.command.clone();
        run.state = completed.outcome.state;
        run.asserted = completed.asserted;
        run.undecided.clone_from(&completed.undecided);
        run.reproducible_at = completed.outcome.reproducible_at().map(str::to_owned);
        // An end that is said again happened where it was said first.
        let place = completed.restates.unwrap_or(Place { seq: recorded.seq, at: recorded.at });
        // The end of a run is the latest news of the session that asked for it.
        if let Some(session) = &run.session
            && self.last_done.get(session).is_none_or(|(seq, _)| *seq < place.seq)
        {
            self.last_done.insert(session.clone(), (place.seq, completed.run_id.first_event()));
        }
        run.key = completed.full_key();
        // The end of a run is said again when its first record is erased.
        if let Some(key) = completed.key.as_ref().filter(|_| run.completed.is_none()) {
            self.stability.add(key, run.state == RunState::Succeeded, place, completed.stable_again);
        }
        run.completed = Some(recorded.id);
        self.run_of.insert(recorded.id, completed.run_id);
        // Evidence keeps the id of an end that was erased. Each erasure stands right before the end that is said again.
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
        // A rejected alternative may say what a claim in force says: that claim stays the one to support.
        self.in_force.entry(claim.fingerprint()).or_insert(created.claim_id);
        if let Some(candidates) = self.candidates.0.get_mut() {
            candidates.add(created.claim_id, &claim.reading(), &claim.scopes);
        }
        self.claims.insert(created.claim_id, claim);
        self.recent.add(recorded.at, created.claim_id);
    }

    /// The claims in force as candidates, in the order in which they were made, as they would have come in.
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

/// Profile, its content and arguments as one text: equal for runs of the same.
fn what_runs(queued: &ExperimentQueued) -> String {
    let Plan { profile, profile_sha256, elsewhere, cwd, without, .. } = &queued.plan;
    let sha256 = profile_sha256.as_deref().unwrap_or_default();
    let place = if *elsewhere { format!(" in {}", cwd.display()) } else { String::new() };
    let without = if without.is_empty() { String::new() } else { format!(" without {without:?}") };
    format!("{profile:?} {sha256} {:?}{place}{without}", queued.args)
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
