//! The state that the rules read, folded from events by `evolve`.

mod claim;
mod contradictions;
mod deed;
mod evolve;
mod guards;
mod mined;
mod recent;
mod run;
mod seats;
mod silence;
mod spaces;
mod stability;
mod targets;
mod told;
mod work;

pub use claim::{Claim, DecisionInForce, Fingerprint, Proposal};
pub use deed::Deed;
pub use guards::Guards;
pub use mined::{Mined, Playbook, PlaybookStatus, Reflection};
pub use run::{Researcher, Run};
pub use seats::{Pane, Seats};
pub(in crate::domain) use silence::Heard;
pub use spaces::Spaces;
pub use stability::{COUNTS_FOR, EQUAL_RUNS, Stability};
pub use work::Work;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::OnceLock;

use uuid::Uuid;

use crate::domain::agent::AgentId;
use crate::domain::candidates::{Candidates, Words};
use crate::domain::claim::ContradictionKind;
use crate::domain::decide::Policy;
use crate::domain::event::{ContradictionDetected, Event, ExperimentQueued, MemoryRules, Side};
use crate::domain::experiment::HeldThen;
use crate::domain::ids::{ClaimId, EventId, RunId, SessionId};
use crate::domain::pairs::Reading;
use crate::domain::patterns::Patterns;
use crate::domain::plan::Hold;
use crate::domain::scope::{Scope, ScopeMap};
use crate::domain::text::CommandLine;
use crate::domain::time::Timestamp;
use crate::domain::versions::{Edit, Edits};

/// A value that the rest of the state determines, computed on first use. It does not count in comparisons of states.
#[derive(Debug, Clone, Default)]
struct Derived<T>(OnceLock<T>);

impl<T> PartialEq for Derived<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// The newest disputed claims of a scope that a new claim is compared with.
const MAX_DISPUTED: usize = 32;

/// The folded state of a workspace.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    claims: HashMap<ClaimId, Claim>,
    in_force: HashMap<Fingerprint, ClaimId>,
    /// Claims that ended while somebody challenged them, and whose place none took, by their scopes.
    ended_in_dispute: BTreeMap<Scope, BTreeSet<ClaimId>>,
    /// The claims whose place each claim took.
    replaced: BTreeMap<ClaimId, BTreeSet<ClaimId>>,
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
    /// What the files held at the failed checks of the last days, and when they ended.
    failures: BTreeMap<RunId, (Timestamp, HeldThen)>,
    to_cancel: BTreeSet<RunId>,
    expiries: BTreeSet<(Timestamp, ClaimId)>,
    /// Claims that silence may still confirm, by deadline.
    silences: BTreeSet<(Timestamp, ClaimId)>,
    /// The facts on each of these claims since it was made.
    heard: BTreeMap<ClaimId, silence::Heard>,
    /// The number of claims made so far, which is the number in the last one's short name.
    claims_made: u64,
    events: BTreeMap<EventId, u64>,
    /// Observations of hooks.
    observed: BTreeMap<EventId, Deed>,
    /// The last command or run of each session, with its ledger position. A run counts under the event that queued it.
    last_done: BTreeMap<SessionId, (u64, EventId)>,
    /// The last commands of each session that can be evidence, oldest first.
    commands: BTreeMap<SessionId, VecDeque<EventId>>,
    /// Ledger position of the last command that made a commit.
    committed_seq: u64,
    /// Sessions that cited a command without a scope of the claim.
    cited_beside: BTreeSet<SessionId>,
    work: Work,
    spaces: Spaces,
    seats: Seats,
    guards: Guards,
    /// The recorded policy.
    policy: Policy,
    /// The recorded policy of the memory. None: the default.
    memory_rules: Option<MemoryRules>,
    /// Unacknowledged notices of refusals and changed rules, each with the agent that it concerns.
    notices: BTreeMap<Uuid, AgentId>,
    /// Each erased event, with the ledger position of its erasure.
    redacted: BTreeMap<EventId, u64>,
    edits: Edits,
    /// Warnings, by session.
    told: told::Told,
    recent: recent::Recent,
    mined: Mined,
    last_seen: BTreeMap<AgentId, Timestamp>,
    patterns: Patterns,
}

impl State {
    /// The claim with this id.
    pub fn claim(&self, id: ClaimId) -> Option<&Claim> {
        self.claims.get(&id)
    }

    /// The claims whose place a claim took, in the order of their ids.
    pub(in crate::domain) fn replaced_by(&self, id: ClaimId) -> impl Iterator<Item = (ClaimId, &Claim)> {
        let replaced = self.replaced.get(&id).into_iter().flatten();
        replaced.filter_map(|old| Some((*old, self.claims.get(old)?)))
    }

    /// The newest claims at one of these scopes that ended while somebody challenged them, and whose place none took.
    pub fn ended_in_dispute(&self, scopes: &[Scope]) -> impl Iterator<Item = (ClaimId, &Claim)> {
        let at = scopes.iter().filter_map(|scope| self.ended_in_dispute.get(scope));
        let ids: BTreeSet<ClaimId> =
            at.flat_map(|ids| ids.iter().rev().take(MAX_DISPUTED)).copied().collect();
        ids.into_iter().rev().filter_map(|id| Some((id, self.claims.get(&id)?)))
    }

    /// All claims, in arbitrary order.
    pub fn claims(&self) -> impl Iterator<Item = (ClaimId, &Claim)> {
        self.claims.iter().map(|(id, claim)| (*id, claim))
    }

    /// The promoted items and the phases of spaces.
    pub const fn spaces(&self) -> &Spaces {
        &self.spaces
    }

    /// The policy that was last recorded in the ledger, or else the default.
    pub const fn policy(&self) -> Policy {
        self.policy
    }

    /// The policy of the memory that was last recorded in the ledger. None: the default.
    pub const fn memory_rules(&self) -> Option<&MemoryRules> {
        self.memory_rules.as_ref()
    }

    /// Open proposals of agents against a claim of the operator.
    pub fn proposals(&self, claim: ClaimId) -> impl Iterator<Item = &Proposal> {
        self.proposals.get(&claim).into_iter().flatten()
    }

    /// The state without what the detectors remember. The writer folds again after an erasure, and only then they forget.
    #[cfg(test)]
    pub(super) fn without_patterns(mut self) -> Self {
        self.patterns = Patterns::default();
        self
    }

    /// The accepted guards.
    pub const fn guards(&self) -> &Guards {
        &self.guards
    }

    /// The current work of the team.
    pub const fn work(&self) -> &Work {
        &self.work
    }

    /// The proposals of the miners.
    pub const fn mined(&self) -> &Mined {
        &self.mined
    }

    /// The last edit of each file.
    pub(super) const fn edits(&self) -> &Edits {
        &self.edits
    }

    /// The observation of a hook in this event. None for any other event.
    pub fn deed(&self, id: EventId) -> Option<&Deed> {
        self.observed.get(&id)
    }

    /// Ledger position of the last command that made a commit. 0 without one.
    pub const fn committed_seq(&self) -> u64 {
        self.committed_seq
    }

    /// The last event of a session that can be evidence: a command seen by a hook, or a run. Commands that only look
    /// and calls of `hm` do not count.
    pub fn last_done(&self, session: &SessionId) -> Option<EventId> {
        self.last_done.get(session).map(|(_, id)| *id)
    }

    /// The last commands of a session that can be evidence, newest first, with their lines.
    pub(super) fn commands(&self, session: &SessionId) -> Vec<(EventId, &CommandLine, &[CommandLine])> {
        let done = self.commands.get(session).into_iter().flatten().rev();
        let line = |id: &EventId| match self.observed.get(id) {
            Some(Deed::Command { line, lines, .. }) => Some((*id, line, lines.as_slice())),
            Some(Deed::Tool | Deed::Files(_)) | None => None,
        };
        done.filter_map(line).collect()
    }

    /// Whether the session cited a command without a scope of the claim. If so, it has seen the hint on a better grade.
    pub(super) fn has_cited_beside(&self, session: &SessionId) -> bool {
        self.cited_beside.contains(session)
    }

    /// The ids of all events, in their order.
    pub fn event_ids(&self) -> impl Iterator<Item = EventId> {
        self.events.keys().copied()
    }

    /// The patterns in the work of the team.
    pub const fn patterns(&self) -> &Patterns {
        &self.patterns
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

    /// Whether the claim is the caller's own: made under the caller's name, or by the same pane under another name, or
    /// by a pane that counts as one agent with it. The caller's support of its own claim does not count.
    pub fn is_own(&self, agent: &AgentId, session: Option<&SessionId>, claim: &Claim) -> bool {
        let owner = (&claim.owner, claim.session.as_ref());
        claim.owner == *agent || self.seats.are_one_party((agent, session), owner)
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

    /// All open contradictions, oldest first.
    pub(in crate::domain) fn contradictions(&self) -> impl Iterator<Item = &ContradictionDetected> {
        self.open.values()
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

    /// All runs.
    pub(in crate::domain) fn runs(&self) -> impl Iterator<Item = (RunId, &Run)> {
        self.runs.iter().map(|(id, run)| (*id, run))
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

    /// What the files held when a check failed in the last days. `None` for any other run.
    pub fn held_at_failure(&self, run: RunId) -> Option<&HeldThen> {
        self.failures.get(&run).map(|(_, held)| held)
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

    /// The position of an event in the ledger.
    pub fn seq_of(&self, id: EventId) -> Option<u64> {
        self.events.get(&id).copied()
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
                event_type: None,
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
                tells: Vec::new(),
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
