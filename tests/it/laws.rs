//! Laws that hold for any sequence of commands: the lifecycle, replay equals live, determinism.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use hivemind::domain::agent::AgentId;
use hivemind::domain::backfill;
use hivemind::domain::checkout::Checkout;
use hivemind::domain::claim::{
    ClaimType, ContradictionKind, Outcome, Position, Relation, ReportKind, Resolution, Share, Status,
};
use hivemind::domain::command::{
    AddEvidence, AffirmClaim, AliasTarget, Alternative, Command, CreateClaim, DeprecateClaim, Forget,
    KeepClaim, PartTarget, RecordDecision, RecordOutcome, ReportEvent, RetractEvidence, Submission,
    TakePosition,
};
use hivemind::domain::decide::{ACTIVE_WITHIN, Facts, Policy, Quorum, decide};
use hivemind::domain::event::{ContradictionDetected, Event, EventReported, MessageSent, Recorded, Side};
use hivemind::domain::evidence::EvidenceName;
use hivemind::domain::ids::{ClaimId, CommandId, EventId};
use hivemind::domain::receipt::Receipt;
use hivemind::domain::rejection::Rejection;
use hivemind::domain::scope::Scope;
use hivemind::domain::state::State;
use hivemind::domain::time::{Hours, Timestamp};
use hivemind::domain::versions::{Content, Versions};
use hivemind::integrity::Scan;
use hivemind::writer::Committer;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;
use uuid::Uuid;

use crate::harness::{self, TempWorkspace, agent, body, dump, fixed_sources, folded, request, strings};

use Status::{Confirmed, Contested, Deprecated, PendingProof, Proposed};

/// Few claims, agents and words, so that commands meet.
const CLAIMS: u8 = 8;
const REPORTS: u8 = 3;
const AGENTS: [&str; 4] = ["architect", "devops", "analyst", "operator"];
const STATEMENTS: [&str; 8] = [
    "the pool holds 20 connections",
    "the pool holds 30 connections",
    "the pool does not hold 20 connections",
    "The  pool holds 20 connections",
    "the pool leaks when a query is cancelled",
    "端口是 7001",
    "\u{1b}[31mred\u{1b}[0m ]]> \u{202e}",
    "retry with jitter",
];
const SCOPES: [&str; 4] = ["src/db", "src/db/pool.rs", "target:auth", "."];
const TARGETS: [&str; 3] = ["database", "auth", "db"];

/// One row of the lifecycle of claims: where from, where to, and when.
type Row = (&'static [Status], Status, fn(&Moved<'_>) -> bool);

/// The lifecycle of claims. The commands of this law queue no experiment, so nothing becomes `pending_proof`.
const LIFECYCLE: &[Row] = &[
    (&[Proposed], Confirmed, |moved| moved.quorum() && !moved.challenged() && !moved.has_rival),
    (&[Proposed, Confirmed], Contested, |moved| moved.challenged()),
    (&[Confirmed], Proposed, |moved| !moved.quorum() && !moved.challenged()),
    (&[Contested], Confirmed, |moved| moved.quorum() && !moved.challenged() && !moved.has_rival),
    (&[Contested], Proposed, |moved| (!moved.quorum() || moved.has_rival) && !moved.challenged()),
    (&[Proposed, Confirmed, Contested, PendingProof], Deprecated, |moved| {
        moved.by_right() || moved.superseded_in_batch
    }),
];

/// What the test itself knows about a claim that moves; nothing of it is asked of the state.
struct Moved<'a> {
    by: &'a AgentId,
    owner: &'a AgentId,
    positions: &'a BTreeMap<AgentId, Position>,
    active: BTreeSet<AgentId>,
    policy: Quorum,
    superseded_in_batch: bool,
    /// Whether another decision is in force on its target.
    has_rival: bool,
}

impl Moved<'_> {
    /// The operator's word is outvoted by nobody else.
    fn challenged(&self) -> bool {
        let is_the_operators = self.owner.as_str() == "operator"
            || self.positions.get(&agent("operator")) == Some(&Position::Support);
        !is_the_operators && self.positions.values().any(|held| *held == Position::Challenge)
    }

    fn quorum(&self) -> bool {
        let supporters: BTreeSet<&AgentId> = self
            .positions
            .iter()
            .filter(|(by, held)| {
                **held == Position::Support && (self.policy.owner_counts || *by != self.owner)
            })
            .map(|(by, _)| by)
            .collect();
        let missing = self.active.iter().any(|active| active != self.owner && !supporters.contains(active));
        supporters.len() >= self.policy.supports as usize && !(self.policy.all_active && missing)
    }

    fn by_right(&self) -> bool {
        self.by == self.owner || ["architect", "operator"].contains(&self.by.as_str())
    }
}

/// What the test keeps beside the state, from the events alone.
#[derive(Default)]
struct Observed {
    owner: BTreeMap<ClaimId, AgentId>,
    status: BTreeMap<ClaimId, Status>,
    positions: BTreeMap<ClaimId, BTreeMap<AgentId, Position>>,
    successor: BTreeMap<ClaimId, ClaimId>,
    types: BTreeMap<ClaimId, ClaimType>,
    /// Decisions on record, and how long their rationale is.
    decided: BTreeMap<ClaimId, usize>,
    /// The target of each decision as it was named, of a claim of type decision too.
    targets: BTreeMap<ClaimId, String>,
    /// What each alias was joined to.
    joined: BTreeMap<String, String>,
    outcomes: BTreeMap<ClaimId, Outcome>,
    last_seen: BTreeMap<AgentId, Timestamp>,
    reported: HashSet<ContradictionDetected>,
    ended: HashSet<(ContradictionKind, Side, Side)>,
    moves: BTreeSet<(Option<Status>, Status)>,
    /// Proposals against the operator's word.
    proposed: u32,
}

impl Observed {
    /// Checks a batch against the table, event by event.
    fn batch(&mut self, by: &AgentId, now: Timestamp, policy: Quorum, events: &[Event]) {
        assert!(!events.is_empty(), "an accepted command has events");
        let superseded: BTreeSet<ClaimId> = events
            .iter()
            .filter_map(|event| {
                let Event::ClaimSuperseded(link) = event else { return None };
                Some(link.claim_id)
            })
            .collect();
        let word: Vec<ClaimId> = self
            .status
            .keys()
            .copied()
            .filter(|id| by.as_str() != "operator" && self.is_the_operators(*id))
            .collect();
        let before = self.status.clone();
        let active: BTreeSet<AgentId> = self
            .last_seen
            .iter()
            .filter(|(agent, at)| at.is_within(ACTIVE_WITHIN, now) && agent.as_str() != "operator")
            .map(|(agent, _)| agent.clone())
            .collect();
        for event in events {
            #[expect(
                clippy::wildcard_enum_match_arm,
                reason = "the laws here are about claims and decisions"
            )]
            match event {
                Event::ClaimCreated(created) => {
                    let id = created.claim_id;
                    assert_eq!(self.status.insert(id, Proposed), None, "claim {id} was created twice");
                    self.owner.insert(id, by.clone());
                    self.types.insert(id, created.claim_type);
                    let target = created.scopes.iter().find(|scope| scope.is_target());
                    if let Some(target) = target.filter(|_| created.claim_type == ClaimType::Decision) {
                        self.targets.insert(id, target.to_string());
                    }
                    self.positions.insert(id, BTreeMap::new());
                    self.moves.insert((None, Proposed));
                }
                Event::PositionTaken(taken) => {
                    assert_ne!(self.status[&taken.claim_id], Deprecated, "a position on a deprecated claim");
                    let positions = self.positions.get_mut(&taken.claim_id).expect("a known claim");
                    if !taken.still {
                        positions.insert(by.clone(), taken.position);
                    }
                }
                Event::StatusChanged(change) => {
                    let id = change.claim_id;
                    let before = self.status.insert(id, change.to).expect("a known claim");
                    assert_eq!(before, change.from, "the event says where the claim was");
                    let moved = self.moved(id, by, &active, policy, superseded.contains(&id));
                    let listed = LIFECYCLE.iter().any(|(from, to, when)| {
                        from.contains(&change.from) && *to == change.to && when(&moved)
                    });
                    assert!(listed, "{} -> {} is not in the table", change.from, change.to);
                    self.moves.insert((Some(change.from), change.to));
                }
                Event::ClaimSuperseded(link) => {
                    let before = self.successor.insert(link.claim_id, link.superseded_by);
                    assert_eq!(before, None, "claim {} was superseded twice", link.claim_id);
                }
                Event::DecisionRecorded(decision) => {
                    let id = decision.claim_id;
                    let length = decision.rationale.as_str().chars().count();
                    assert_eq!(self.decided.insert(id, length), None, "decision {id} was recorded twice");
                    if let Some(target) = &decision.target {
                        self.targets.insert(id, target.to_string());
                    }
                }
                Event::OutcomeRecorded(recorded) => {
                    let before = self.outcomes.insert(recorded.claim_id, recorded.outcome);
                    assert_ne!(before, Some(recorded.outcome), "an outcome is recorded when it changes");
                    assert!(self.decided.contains_key(&recorded.claim_id), "only a decision has an outcome");
                }
                Event::ContradictionDetected(found) => {
                    assert!(self.reported.insert(found.clone()), "reported twice: {found:?}");
                }
                Event::ContradictionResolved(ended) => {
                    // What an alias brought together and was parted may come together again, and an agent may challenge again.
                    if ended.cause == Resolution::Parted || ended.kind == ContradictionKind::Position {
                        self.reported.retain(|found| {
                            (found.kind, &found.left, &found.right) != (ended.kind, &ended.left, &ended.right)
                        });
                        continue;
                    }
                    let ended = (ended.kind, ended.left.clone(), ended.right.clone());
                    assert!(self.ended.insert(ended.clone()), "ended twice: {ended:?}");
                }
                Event::TargetAliased(joined) => {
                    let (target, alias) = (joined.target.to_string(), joined.alias.to_string());
                    assert_ne!(target, alias, "a target is joined to another");
                    assert_eq!(self.joined.insert(alias, target), None, "an alias is joined once");
                }
                Event::TargetParted(parted) => {
                    let (target, alias) = (parted.target.to_string(), parted.alias.to_string());
                    assert_eq!(self.joined.remove(&alias), Some(target), "an alias is taken apart");
                }
                Event::OverrideProposed(proposed) => {
                    assert_ne!(by.as_str(), "operator", "the operator does, and proposes nothing");
                    assert!(self.is_the_operators(proposed.claim_id), "only the operator's word is guarded");
                    self.proposed += 1;
                }
                Event::OverrideDismissed(_) => assert_eq!(by.as_str(), "operator"),
                _ => {}
            }
        }
        for event in events {
            if let Event::PositionTaken(taken) = event {
                let id = taken.claim_id;
                let moved = self.moved(id, by, &active, policy, false);
                let is_held = moved.has_rival && before.get(&id) != Some(&Confirmed);
                let due = match (moved.challenged(), moved.quorum()) {
                    (true, _) => Contested,
                    (false, true) if !is_held => Confirmed,
                    (false, _) => Proposed,
                };
                assert_eq!(self.status[&id], due, "the status is recomputed in the batch of a position");
            }
        }
        assert!(superseded.iter().all(|id| self.status[id] == Deprecated), "superseded is deprecated");
        self.decisions_stand(&before);
        self.word_stands(&word, &before);
        self.last_seen.insert(by.clone(), now);
    }

    /// No decision left force without a decision and a rationale, by whomever.
    fn decisions_stand(&self, before: &BTreeMap<ClaimId, Status>) {
        for (id, was) in before {
            if *was == Deprecated || self.status[id] != Deprecated || self.types[id] != ClaimType::Decision {
                continue;
            }
            let rationale = self.successor.get(id).and_then(|successor| self.decided.get(successor));
            let is_decided = rationale.is_some_and(|length| *length >= 15);
            assert!(is_decided, "decision {id} left force");
        }
    }

    /// What the operator stood by is neither out of force nor contested, unless the operator supports its successor.
    fn word_stands(&self, word: &[ClaimId], before: &BTreeMap<ClaimId, Status>) {
        for id in word {
            let (was, is) = (before[id], self.status[id]);
            assert!(is != Contested || was == Contested, "{id} of the operator is contested");
            let replaced = self.successor.get(id).and_then(|successor| self.positions.get(successor));
            let agreed = replaced.and_then(|held| held.get(&agent("operator"))) == Some(&Position::Support);
            assert!(is != Deprecated || agreed, "{id} of the operator left force");
        }
    }

    /// Whether the operator recorded or supports a claim in force.
    fn is_the_operators(&self, id: ClaimId) -> bool {
        let supports = self.positions[&id].get(&agent("operator")) == Some(&Position::Support);
        self.status[&id] != Deprecated && (supports || self.owner[&id].as_str() == "operator")
    }

    /// The target that a name stands for now.
    fn target(&self, decision: ClaimId) -> Option<&String> {
        let named = self.targets.get(&decision)?;
        std::iter::successors(Some(named), |name| self.joined.get(*name)).last()
    }

    fn moved<'a>(
        &'a self,
        id: ClaimId,
        by: &'a AgentId,
        active: &BTreeSet<AgentId>,
        policy: Quorum,
        superseded_in_batch: bool,
    ) -> Moved<'a> {
        let (owner, positions) = (&self.owner[&id], &self.positions[&id]);
        let has_rival = self.has_rival(id);
        Moved { by, owner, positions, active: active.clone(), policy, superseded_in_batch, has_rival }
    }

    /// Whether another decision on record is in force on the target of a decision.
    fn has_rival(&self, id: ClaimId) -> bool {
        let Some(target) = self.target(id) else { return false };
        let mut others = self.decided.keys().filter(|other| **other != id);
        others.any(|other| self.status[other] != Deprecated && self.target(*other) == Some(target))
    }

    /// Checks that the state says the same and that no claim follows itself.
    fn agrees_with(&self, state: &State) {
        assert_eq!(state.claims().count(), self.status.len());
        for (id, claim) in state.claims() {
            assert_eq!(claim.status, self.status[&id]);
            assert_eq!(claim.superseded_by, self.successor.get(&id).copied());
            let successors = std::iter::successors(Some(id), |at| state.claim(*at)?.superseded_by);
            assert!(successors.take(self.status.len() + 1).count() <= self.status.len(), "a cycle at {id}");
            let proposals = std::iter::successors(Some(id), |at| state.claim(*at)?.proposes_to_supersede);
            assert!(proposals.take(self.status.len() + 1).count() <= self.status.len(), "a cycle at {id}");
            for (_, open) in state.contradictions_of(id) {
                let key = (open.kind, open.left.clone(), open.right.clone());
                assert!(!self.ended.contains(&key), "{open:?} is over");
                let in_force = |side: &Side| self.status[&side.claim_id] != Deprecated;
                assert!(in_force(&open.right), "{open:?}");
                match open.kind {
                    // Whoever supported the old claim is asked about the new one.
                    ContradictionKind::Supersession => assert!(!in_force(&open.left), "{open:?}"),
                    ContradictionKind::Position => {
                        assert_eq!(claim.positions[&open.right.agent], Position::Challenge, "{open:?}");
                    }
                    ContradictionKind::Target => {
                        assert!(in_force(&open.left), "{open:?}");
                        let [left, right] = [&open.left, &open.right].map(|side| self.target(side.claim_id));
                        assert_eq!(left, right, "{open:?} of two targets");
                    }
                    ContradictionKind::Polarity | ContradictionKind::Value | ContradictionKind::Explicit => {
                        assert!(in_force(&open.left), "{open:?}")
                    }
                }
            }
            self.shares_no_target_unsaid(state, id);
        }
    }

    /// One decision is in force for each target, or the two that an alias brought together contradict.
    fn shares_no_target_unsaid(&self, state: &State, id: ClaimId) {
        let in_force = |id: &ClaimId| self.status[id] != Deprecated;
        let Some(target) = self.target(id).filter(|_| in_force(&id)) else { return };
        for other in self.targets.keys() {
            if *other == id || self.target(*other) != Some(target) || !in_force(other) {
                continue;
            }
            let said = state.contradictions_of(id).any(|(_, open)| {
                let sides = [open.left.claim_id, open.right.claim_id];
                open.kind == ContradictionKind::Target && sides.contains(other)
            });
            assert!(said, "{id} and {other} are both in force on {target}");
        }
    }
}

#[test]
fn claims_move_only_as_the_table_says() {
    let moves = RefCell::new(BTreeSet::new());
    let proposed = RefCell::new(0);
    let steps = vec((submission(), 1..400i64), 1..80);
    check(256, 10_000, &(quorum(), steps), |(quorum, steps)| {
        let mut state = State::default();
        let mut observed = Observed::default();
        let (mut minutes, mut seq) = (0, 0);
        for (submission, passed) in steps {
            minutes += passed;
            let now = Timestamp::from_ms(minutes * 60_000);
            let Submission { agent, command, .. } = &submission;
            let facts = Facts { checkout: submission.checkout.clone(), ..Facts::default() };
            let Ok(decision) = decide(
                &state,
                agent,
                submission.session.as_ref(),
                &facts,
                command,
                now,
                &Policy { quorum, ..Policy::default() },
            ) else {
                continue;
            };
            observed.batch(agent, now, quorum, &decision.events);
            for (index, event) in decision.events.into_iter().enumerate() {
                seq += 1;
                let minted = command.minted().filter(|_| index == 0);
                state.evolve(&Recorded {
                    seq,
                    id: EventId::from_uuid(minted.unwrap_or_else(|| Uuid::from_u128(u128::from(seq)))),
                    agent: agent.clone(),
                    session: None,
                    causation: submission.command_id,
                    at: now,
                    event: Some(event),
                    erased: None,
                });
            }
            observed.agrees_with(&state);
            let brief = |id: &ClaimId| observed.types[id] == ClaimType::Decision;
            assert!(
                !state.expired(Timestamp::from_ms(i64::MAX)).iter().any(brief),
                "a decision ends by itself"
            );
        }
        *proposed.borrow_mut() += observed.proposed;
        moves.borrow_mut().append(&mut observed.moves);
    });
    // The law would be empty if the commands never got there.
    let reachable = LIFECYCLE.iter().flat_map(|(from, to, _)| from.iter().map(|from| (Some(*from), *to)));
    let reachable = reachable.filter(|(from, _)| *from != Some(PendingProof));
    let proposed = proposed.into_inner();
    assert!(proposed > 20, "{proposed} commands against the operator's word are hardly any");
    assert_eq!(moves.into_inner(), reachable.chain([(None, Proposed)]).collect());
}

#[test]
fn replay_equals_live_whatever_the_grouping() {
    let seen = RefCell::new(BTreeSet::new());
    check(20, 1_000, &(vec((submission(), again()), 1..60), 2..9usize), |(steps, size)| {
        let steps = with_retries(steps);
        let one = TempWorkspace::new();
        let mut live = one.committer(1);
        let answers = run(&mut live, &steps, 1);
        assert_eq!(
            &folded(&one.events()),
            live.state(),
            "the ledger folds to another state than the live one"
        );
        one.assert_sound();
        assert_history(&one);
        for (at, answer) in answers.iter().enumerate() {
            assert_eq!(answer.seq_before == answer.seq_after, !answer.is_new(), "command {at}: {answer:?}");
            seen.borrow_mut().insert(match &answer.outcome {
                Ok(receipt) if receipt.duplicate => "duplicate",
                Ok(_) => "new",
                Err(rejection) => rejection.code.as_str(),
            });
        }

        for size in [size, 256] {
            let other = TempWorkspace::new();
            let mut grouped = other.committer(1);
            let grouped_answers = run(&mut grouped, &steps, size);
            for (at, (one, other)) in answers.iter().zip(&grouped_answers).enumerate() {
                assert_eq!(one.outcome, other.outcome, "command {at} in groups of {size}");
            }
            assert_eq!(dump(&one.ledger()), dump(&other.ledger()), "the ledger depends on the grouping");
            assert_eq!(live.head(), grouped.head());
            assert_eq!(dump(&one.team_memory()), dump(&other.team_memory()));
            assert_eq!(live.state(), grouped.state());
        }

        let reopened = Committer::open(&one, Policy::default(), fixed_sources(2)).expect("a workspace");
        assert_eq!(reopened.state(), live.state());
    });
    // The law would say little if no request ever came twice.
    let seen = seen.into_inner();
    for answer in ["new", "duplicate", "idempotency_conflict", "duplicate_claim", "claim_deprecated"] {
        assert!(seen.contains(answer), "no command was answered {answer}: {seen:?}");
    }
}

#[test]
fn whatever_is_forgotten_replay_equals_live() {
    let erased = RefCell::new(0);
    let steps = vec((submission(), option::weighted(0.2, any::<Index>())), 1..40);
    // Each erasure makes both files anew: fewer cases than the other laws.
    check(12, 300, &(steps, 2..9usize), |(steps, size)| {
        let one = TempWorkspace::new();
        let mut live = one.committer(1);
        let mut asked = Vec::new();
        let mut commit = |mut step: Submission| {
            step.command_id = CommandId::from_uuid(Uuid::from_u128(0xc000 + asked.len() as u128));
            asked.push(step.clone());
            live.commit(&[step]).expect("a ledger that takes commands").remove(0).is_ok()
        };
        for (step, forgotten) in steps {
            commit(step);
            let events = one.events();
            let Some(event) = forgotten.filter(|_| !events.is_empty()).map(|index| index.get(&events).id)
            else {
                continue;
            };
            let forget =
                Forget { event_id: event, reason: "asked to".parse().expect("a reason"), with_quotes: false };
            *erased.borrow_mut() += u32::from(commit(request("operator", Command::Forget(forget))));
        }
        assert_eq!(&folded(&one.events()), live.state());
        one.assert_sound();
        let scan = Scan::of(&one, &std::sync::atomic::AtomicBool::new(false)).expect("a scan");
        assert_eq!(scan.findings, [], "what was erased is explained");

        let other = TempWorkspace::new();
        let mut grouped = other.committer(1);
        run(&mut grouped, &asked, size);
        assert_eq!(dump(&one.ledger()), dump(&other.ledger()), "the ledger depends on the grouping");
        assert_eq!(dump(&one.team_memory()), dump(&other.team_memory()));
        assert_eq!(live.state(), grouped.state());
    });
    let erased = erased.into_inner();
    assert!(erased > 8, "the law says little about {erased} erasures");
}

#[test]
fn a_command_id_comes_before_a_key_in_one_group_as_over_several() {
    use crate::harness::{creation, with_key};
    let first = creation("devops", "first");
    let second = with_key(creation("devops", "second"), "key");
    let first_under_the_key = with_key(first.clone(), "key");
    let answers = |groups: &[&[Submission]]| {
        let workspace = TempWorkspace::new();
        let mut committer = workspace.committer(1);
        let outcomes = groups.iter().flat_map(|group| committer.commit(group).expect("a ledger"));
        outcomes.collect::<Vec<_>>()
    };
    let steps = [first.clone(), second.clone(), first_under_the_key.clone()];
    let one_by_one = answers(&[&steps[..1], &steps[1..2], &steps[2..]]);
    assert_eq!(answers(&[&steps[..1], &steps[1..]]), one_by_one);
    assert_eq!(answers(&[&steps]), one_by_one);
    let again = one_by_one[2].as_ref().expect("the receipt of the first");
    assert_eq!((again.command_id, again.duplicate), (first.command_id, true));
}

/// What a command got, and where the ledger stood around its group.
#[derive(Debug)]
struct Answered {
    outcome: Result<Receipt, Rejection>,
    seq_before: u64,
    seq_after: u64,
}

impl Answered {
    fn is_new(&self) -> bool {
        self.outcome.as_ref().is_ok_and(|receipt| !receipt.duplicate)
    }
}

fn run(committer: &mut Committer, steps: &[Submission], size: usize) -> Vec<Answered> {
    let mut answers = Vec::new();
    for group in steps.chunks(size) {
        let seq_before = committer.head().seq;
        let outcomes = committer.commit(group).expect("a ledger that takes commands");
        let seq_after = committer.head().seq;
        answers.extend(outcomes.into_iter().map(|outcome| Answered { outcome, seq_before, seq_after }));
    }
    answers
}

/// Every move has exactly one row of history, creation included, and links are mutual.
fn assert_history(workspace: &TempWorkspace) {
    let mut moves: Vec<String> = Vec::new();
    for stored in workspace.events() {
        let (seq, by) = (stored.seq, &stored.agent);
        let event = body(&stored);
        if let Event::ClaimCreated(created) = &event {
            moves.push(format!("{seq} {} - proposed {by}", created.claim_id));
        } else if let Event::StatusChanged(change) = &event {
            moves.push(format!("{seq} {} {} {} {by}", change.claim_id, change.from, change.to));
        }
    }
    moves.sort();
    let db = rusqlite::Connection::open(workspace.team_memory()).expect("read models");
    let history = strings(
        &db,
        "SELECT seq || ' ' || claim_id || ' ' || ifnull(old_status, '-') || ' ' || new_status || ' ' \
         || changed_by AS move FROM claim_status_history ORDER BY move",
    );
    assert_eq!(history, moves);
    let torn = "SELECT id FROM claims c WHERE status IS NOT (SELECT new_status FROM claim_status_history \
                WHERE claim_id = c.id ORDER BY seq DESC LIMIT 1)";
    assert_eq!(strings(&db, torn), Vec::<String>::new(), "the last row of history is the status");
    let one_sided = "SELECT id FROM claims a WHERE superseded_by IS NOT NULL AND NOT EXISTS \
                     (SELECT 1 FROM claims b WHERE b.id = a.superseded_by AND a.status = 'deprecated')";
    assert_eq!(
        strings(&db, one_sided),
        Vec::<String>::new(),
        "a successor is a claim, and what it replaced is out of force"
    );
}

/// Runs a law on random values.
fn check<S: Strategy>(cases: u32, long_cases: u32, values: &S, law: impl Fn(S::Value)) {
    let config = harness::law(file!(), cases, long_cases);
    let outcome = TestRunner::new(config).run(values, |value| {
        law(value);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

/// How a request comes again.
#[derive(Debug, Clone, Copy)]
enum Again {
    /// As it was, ids and key and all: a front that lost the answer.
    Whole,
    /// Under the same key with fresh ids: an agent that calls once more.
    UnderItsKey,
    /// Under the same command id with a key of its own.
    UnderItsId,
}

fn again() -> BoxedStrategy<Option<(Index, Again)>> {
    let again = proptest::sample::select(&[Again::Whole, Again::UnderItsKey, Again::UnderItsId][..]);
    option::weighted(0.3, (any::<Index>(), again)).boxed()
}

/// Gives each step a command id of its own, and makes some of them come again.
fn with_retries(steps: Vec<(Submission, Option<(Index, Again)>)>) -> Vec<Submission> {
    let mut done: Vec<Submission> = Vec::new();
    for (at, (mut step, again)) in steps.into_iter().enumerate() {
        step.command_id = CommandId::from_uuid(Uuid::from_u128(0xc000 + at as u128));
        if let Some((earlier, again)) = again.filter(|_| !done.is_empty()) {
            let earlier = earlier.get(&done);
            step = match again {
                Again::Whole => earlier.clone(),
                Again::UnderItsKey => Submission { command_id: step.command_id, ..earlier.clone() },
                Again::UnderItsId => Submission { idempotency_key: step.idempotency_key, ..earlier.clone() },
            };
            if let (Again::UnderItsKey, Command::CreateClaim(create)) = (again, &mut step.command) {
                create.claim_id = ClaimId::from_uuid(Uuid::from_u128(0xf000 + at as u128));
            }
        }
        done.push(step);
    }
    done
}

fn quorum() -> impl Strategy<Value = Quorum> {
    let quorum = |(supports, owner_counts, all_active)| Quorum { supports, owner_counts, all_active };
    prop_oneof![3 => Just(Quorum::default()), 2 => (1..3u32, any::<bool>(), any::<bool>()).prop_map(quorum)]
}

fn submission() -> BoxedStrategy<Submission> {
    let key = option::weighted(0.4, (0..2u8).prop_map(|key| format!("key-{key}")));
    let session = option::of(Just("s-1"));
    let worktree = option::of(Just("wt"));
    let parts = (one_of(&AGENTS), session, key, worktree, versions(), command());
    let submission = parts.prop_map(|(by, session, key, worktree, versions, command)| Submission {
        command_id: CommandId::from_uuid(Uuid::nil()),
        agent: agent(by),
        session: session.map(|session| session.parse().expect("a session id")),
        unpinned: None,
        trace_id: None,
        idempotency_key: key.map(|key| key.parse().expect("a key")),
        checkout: Checkout { worktree: worktree.map(|name| name.parse().expect("a name")), branch: None },
        versions,
        command,
    });
    submission.boxed()
}

/// What a front may see of the files of any claim.
fn versions() -> impl Strategy<Value = Versions> {
    let content = prop_oneof![Just(Content::Absent), (0..2u8).prop_map(|byte| Content::Sha256([byte; 32]))];
    proptest::collection::btree_map(
        one_of(&SCOPES).prop_map(|scope| scope.to_owned().try_into().expect("a scope")),
        content,
        0..3,
    )
}

fn one_of(words: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    proptest::sample::select(words)
}

fn claim() -> impl Strategy<Value = ClaimId> {
    (0..CLAIMS).prop_map(|at| ClaimId::from_uuid(Uuid::from_u128(0xa000 + u128::from(at))))
}

/// A report, a claim's creation, or nothing there is.
fn event() -> impl Strategy<Value = EventId> {
    let report = (0..=REPORTS).prop_map(|at| EventId::from_uuid(Uuid::from_u128(0xe000 + u128::from(at))));
    prop_oneof![report, claim().prop_map(ClaimId::creation_event)]
}

fn command() -> BoxedStrategy<Command> {
    let command = prop_oneof![
        4 => creation().prop_map(Command::CreateClaim),
        8 => taking().prop_map(Command::TakePosition),
        1 => claim().prop_map(|claim_id| Command::AffirmClaim(AffirmClaim { claim_id, reason: None })),
        2 => evidence().prop_map(Command::AddEvidence),
        1 => (evidence(), any::<bool>()).prop_map(|(link, says)| {
            let AddEvidence { claim_id, evidence_ref, relation, .. } = link;
            let (relation, reason) = (says.then_some(relation), "a mistake".parse().expect("a reason"));
            Command::RetractEvidence(RetractEvidence { claim_id, evidence_ref, relation, reason })
        }),
        1 => claim().prop_map(|claim_id| {
            Command::DeprecateClaim(DeprecateClaim { claim_id, reason: "over".parse().expect("a reason") })
        }),
        1 => report().prop_map(Command::ReportEvent),
        3 => decision().prop_map(Command::RecordDecision),
        1 => (one_of(&TARGETS), one_of(&TARGETS)).prop_map(|(target, alias)| {
            let name = |name| Scope::target(name).expect("a target");
            Command::AliasTarget(AliasTarget { target: name(target), alias: name(alias) })
        }),
        1 => one_of(&TARGETS).prop_map(|alias| {
            Command::PartTarget(PartTarget { alias: Scope::target(alias).expect("a target") })
        }),
        1 => claim().prop_map(|claim_id| Command::KeepClaim(KeepClaim { claim_id, reason: None })),
        2 => backfilled(),
        1 => (claim(), proptest::sample::select(Outcome::ALL)).prop_map(|(decision_id, outcome)| {
            Command::RecordOutcome(RecordOutcome { decision_id, outcome, notes: None })
        }),
    ];
    command.boxed()
}

/// What a backfill makes of a report or of a tagged message.
fn backfilled() -> impl Strategy<Value = Command> {
    let scopes = vec(one_of(&SCOPES), 0..3);
    (claim(), one_of(&STATEMENTS), scopes, any::<bool>()).prop_map(|(claim_id, statement, scopes, tagged)| {
        let paths = scopes.into_iter().map(|scope| scope.to_owned().try_into().expect("a scope")).collect();
        let said: Event = if tagged {
            let text = format!("DECISION: {statement}").parse().expect("a message");
            MessageSent { to: None, text, sent_at: None }.into()
        } else {
            let (kind, summary) = (ReportKind::Decision, statement.parse().expect("a summary"));
            let (command, exit_code, error_signature) = (None, None, None);
            let checkout = Checkout::default();
            let versions = Default::default();
            EventReported { kind, summary, paths, command, exit_code, error_signature, versions, checkout }
                .into()
        };
        let recorded = Recorded {
            seq: 1,
            id: EventId::from_uuid(Uuid::from_u128(0xe000)),
            agent: agent("devops"),
            session: None,
            causation: CommandId::from_uuid(Uuid::nil()),
            at: Timestamp::from_ms(0),
            event: Some(said),
            erased: None,
        };
        let mut made = backfill::commands(&recorded, || claim_id.uuid());
        let (_, _, command) = made.remove(0);
        command.expect("a command of short texts")
    })
}

fn creation() -> impl Strategy<Value = CreateClaim> {
    let types = proptest::sample::select(ClaimType::ALL);
    let scopes = vec(one_of(&SCOPES), 0..4);
    let evidence_refs = prop_oneof![3 => Just(Vec::new()), 1 => vec(event(), 1..4)];
    let supersedes = option::weighted(0.4, claim());
    let ttl_hours = option::weighted(0.1, Just(Hours(1)));
    (claim(), one_of(&STATEMENTS), types, scopes, 0.0..=1.0f64, supersedes, evidence_refs, ttl_hours)
        .prop_map(
            |(claim_id, statement, claim_type, scopes, confidence, supersedes, evidence_refs, ttl_hours)| {
                CreateClaim {
                    event_type: None,
                    mends: supersedes.is_some() && confidence > 0.5,
                    claim_id,
                    statement: statement.parse().expect("a statement"),
                    claim_type,
                    scopes: scopes
                        .into_iter()
                        .map(|scope| scope.to_owned().try_into().expect("a scope"))
                        .collect(),
                    confidence: Share::try_from(confidence).expect("a share"),
                    supersedes,
                    ttl_hours,
                    evidence_refs: evidence_refs.into_iter().map(EvidenceName::from).collect(),
                    origin_task_id: None,
                    trigger: None,
                    asks: Vec::new(),
                    tells: Vec::new(),
                    unless_objection_minutes: None,
                }
            },
        )
}

fn decision() -> impl Strategy<Value = RecordDecision> {
    let target = option::weighted(0.8, one_of(&TARGETS));
    let alternative = (claim(), option::of(one_of(&STATEMENTS)));
    let supersedes = vec(claim(), 0..3);
    (claim(), option::weighted(0.8, one_of(&STATEMENTS)), target, vec(alternative, 0..3), supersedes)
        .prop_map(|(claim_id, statement, target, alternatives, supersedes)| RecordDecision {
            mends: supersedes.len() == 1,
            evidence_refs: Vec::new(),
            decided_at: None,
            claim_id,
            statement: statement.map(|statement| statement.parse().expect("a statement")),
            rationale: "long enough to say why".parse().expect("a rationale"),
            context: None,
            target: target.map(|name| Scope::target(name).expect("a target")),
            scopes: Vec::new(),
            alternatives: alternatives
                .into_iter()
                .map(|(claim_id, statement)| Alternative {
                    claim_id,
                    statement: statement.map(|statement| statement.parse().expect("a statement")),
                    rejection_reason: "not this one".parse().expect("a reason"),
                })
                .collect(),
            supersedes,
            asks: Vec::new(),
            unless_objection_minutes: None,
        })
}

fn taking() -> impl Strategy<Value = TakePosition> {
    let reason = option::weighted(0.9, Just("seen it"));
    (claim(), proptest::sample::select(Position::ALL), reason, option::weighted(0.1, event())).prop_map(
        |(claim_id, position, reason, evidence_ref)| TakePosition {
            claim_id,
            position,
            reason: reason.map(|reason| reason.parse().expect("a reason")),
            evidence_ref: evidence_ref.map(EvidenceName::from),
        },
    )
}

fn evidence() -> impl Strategy<Value = AddEvidence> {
    (claim(), event(), proptest::sample::select(Relation::ALL)).prop_map(
        |(claim_id, evidence_ref, relation)| AddEvidence {
            claim_id,
            evidence_ref: evidence_ref.into(),
            relation,
            weight: Share::FULL,
            note: None,
        },
    )
}

fn report() -> impl Strategy<Value = ReportEvent> {
    let kinds = proptest::sample::select(ReportKind::ALL);
    ((0..REPORTS), kinds, one_of(&STATEMENTS)).prop_map(|(at, kind, summary)| ReportEvent {
        event_id: EventId::from_uuid(Uuid::from_u128(0xe000 + u128::from(at))),
        kind,
        summary: summary.parse().expect("a summary"),
        paths: Vec::new(),
        command: None,
        exit_code: None,
        error_signature: None,
    })
}
