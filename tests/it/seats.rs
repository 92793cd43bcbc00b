//! Panes that nothing pins: each is the agent of its seat, no two are the same, and none confirms what it said itself.

mod below;
mod beside;
mod hooks;
mod joined;
mod sent_out;
mod shells;
mod standing;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command as Process, Stdio};

use hivemind::client_session::ClientSession;
use hivemind::domain::agent::AgentId;
use hivemind::domain::checkout::Checkout;
use hivemind::domain::claim::{ClaimType, Position, Relation, Share, Status};
use hivemind::domain::command::{
    AddEvidence, AffirmClaim, Command, CreateClaim, DeprecateClaim, EndSession, RecordDecision, SplitSession,
    StartSession, Submission,
};
use hivemind::domain::decide::{self, Policy, Quorum};
use hivemind::domain::event::{Event, Recorded};
use hivemind::domain::ids::{ClaimId, EventId, SessionId};
use hivemind::domain::rejection::{Code, Rejection};
use hivemind::domain::seat::{self, Seat, SeatsOf, Unpinned};
use hivemind::domain::session::Source;
use hivemind::domain::state::State;
use hivemind::domain::time::Timestamp;
use hivemind::domain::versions::{Content, Versions, witnessed};
use hivemind::system;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::bench::Bench;
use crate::harness::{Dice, TempWorkspace, fact, folded, long, position, request, seed, wait_until};
use crate::http::{initialize, request as call};
use crate::shell::Shell;

// --- the rules alone ---------------------------------------------------------------------------------------------

/// Panes that are pinned, and the session of each.
const PINNED: [(&str, &str); 2] = [("operator", "pinned-1"), ("analyst", "pinned-2")];

/// One pane that tries everything it can call, among others that sit down, leave and disagree, and never support it.
struct Search {
    state: State,
    dice: Dice,
    now: i64,
    ids: u128,
    /// Sessions of the pane that is looked at; the first one is its own.
    mine: Vec<SessionId>,
    /// The session that the client of the pane is in, by its last hook.
    at: SessionId,
    /// Other sessions that the client was in by a hook.
    aside: Vec<SessionId>,
    others: Vec<SessionId>,
    my_claims: Vec<ClaimId>,
    their_claims: Vec<ClaimId>,
    /// Whether this machine knows the processes of the clients, and they run.
    running: Option<bool>,
    /// The sessions of the pane before its client was started anew: for the rules, it is another pane since.
    left: BTreeSet<SessionId>,
    /// Whether all are in one work tree.
    is_one_tree: bool,
    moved: usize,
    went_on: usize,
    confirmed_theirs: usize,
    took_over: usize,
    kept_out: usize,
    hooked: usize,
}

fn session(name: &str) -> SessionId {
    name.parse().expect("a session id")
}

fn seats_of(word: &str, first: Option<&str>) -> SeatsOf {
    let name = word.parse().expect("a short name");
    SeatsOf { name, word: word.to_owned(), first: first.map(AgentId::recorded) }
}

fn claude() -> SeatsOf {
    seats_of("claude", Some("architect"))
}

impl Search {
    fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let running = *dice.pick(&[None, Some(false), Some(true)]);
        let is_one_tree = dice.below(2) == 0;
        Self {
            state: State::default(),
            dice,
            now: 1_800_000_000_000,
            ids: 0,
            mine: vec![session("mine")],
            at: session("mine"),
            aside: Vec::new(),
            others: vec![session("other-1"), session("other-2")],
            my_claims: Vec::new(),
            their_claims: Vec::new(),
            running,
            left: BTreeSet::new(),
            is_one_tree,
            moved: 0,
            went_on: 0,
            confirmed_theirs: 0,
            took_over: 0,
            kept_out: 0,
            hooked: 0,
        }
    }

    fn id(&mut self) -> Uuid {
        self.ids += 1;
        Uuid::from_u128((1 << 80) + self.ids)
    }

    /// Decides a command as the writer does, and folds what it does.
    fn submit(
        &mut self,
        (agent, unpinned): (&str, Option<Unpinned>),
        session: &SessionId,
        command: &Command,
    ) -> Result<(), Rejection> {
        let now = Timestamp::from_ms(self.now);
        let running = self.running;
        let is_other_tree = !self.is_one_tree && self.others.contains(session);
        let checkout = Checkout {
            worktree: is_other_tree.then(|| "beside".parse().expect("a name")),
            branch: "main".parse().ok(),
        };
        let ground = seat::Ground { is_running: &|_| running, is_on_roster: &|_| false, checkout: &checkout };
        let holds = Content::Sha256([u8::try_from(self.dice.below(2)).expect("0 or 1"); 32]);
        let versions = Versions::from([("src".parse().expect("a scope"), holds)]);
        let seat = match &unpinned {
            None => Seat { agent: AgentId::recorded(agent), events: Vec::new(), told: None, joins: false },
            Some(unpinned) => {
                let may_take = !matches!(command, Command::EndSession(_));
                let parent = if let Command::StartSession(start) = command {
                    start.parent_session.as_ref()
                } else {
                    None
                };
                seat::seat(&self.state, unpinned, (Some(session), parent), may_take, now, &ground)?
            }
        };
        let before = self.state.sit_down(&seat.events, now);
        let facts = decide::Facts { checkout, versions, ..decide::Facts::default() };
        let decided =
            decide::decide(&self.state, &seat.agent, Some(session), &facts, command, now, &Policy::default())
                .and_then(|decision| witnessed(&self.state, decision, &facts.versions, &facts.checkout));
        let decision = match decided {
            Ok(decision) => decision,
            Err(rejection) => {
                self.state.stand_up(before);
                self.kept_out += usize::from(rejection.message.contains("is another pane's"));
                return Err(rejection);
            }
        };
        let told = |what| seat.told.as_ref().is_some_and(|told| told.message.contains(what));
        self.moved += usize::from(told("another pane took"));
        self.took_over += usize::from(told("you take over from the pane before you"));
        let causation = hivemind::domain::ids::CommandId::from_uuid(self.id());
        for event in decision.events.into_iter().chain(seat.events) {
            let id =
                if let Event::ClaimCreated(created) = &event { created.claim_id.uuid() } else { self.id() };
            let seq = u64::try_from(self.ids).expect("a short search");
            let (agent, session) = (seat.agent.clone(), Some(session.clone()));
            let id = EventId::from_uuid(id);
            self.state.evolve(&Recorded {
                seq,
                id,
                agent,
                session,
                causation,
                at: now,
                event: Some(event),
                erased: None,
            });
        }
        Ok(())
    }

    fn command(&mut self) -> Command {
        let claims: Vec<ClaimId> = self.my_claims.iter().chain(&self.their_claims).copied().collect();
        let claim = |dice: &mut Dice| (!claims.is_empty()).then(|| *dice.pick(&claims));
        let take = |claim_id, position_| position("x", claim_id, position_).command;
        let new = ClaimId::from_uuid(self.id());
        let create = |kind, supersedes| {
            let statement = format!("what {new} says");
            Command::CreateClaim(hivemind::domain::command::CreateClaim {
                claim_id: new,
                claim_type: kind,
                supersedes,
                ..fact(&statement)
            })
        };
        let (choice, is_known) = (self.dice.below(13), self.dice.below(2) == 0);
        match (choice, claim(&mut self.dice)) {
            (0..=3, Some(claim)) => take(claim, Position::Support),
            (4, Some(claim)) => take(claim, Position::Challenge),
            (5, Some(claim)) => take(claim, Position::Abstain),
            (6, Some(claim_id)) => {
                let reason = "no longer".parse().expect("a reason");
                Command::DeprecateClaim(DeprecateClaim { claim_id, reason })
            }
            (7, Some(old)) => create(ClaimType::Fact, Some(old)),
            (8, Some(claim)) => Command::AddEvidence(AddEvidence {
                claim_id: claim,
                evidence_ref: self.dice.pick(&claims).creation_event().into(),
                relation: *self.dice.pick(&[Relation::Supports, Relation::Contradicts]),
                weight: Share::FULL,
                note: None,
            }),
            (9, old) => Command::RecordDecision(RecordDecision {
                claim_id: old.filter(|_| is_known).unwrap_or(new),
                statement: (!is_known || old.is_none())
                    .then(|| format!("decided {new}").parse().expect("a statement")),
                context: None,
                rationale: "because it is measured".parse().expect("a rationale"),
                target: None,
                scopes: vec!["src".parse().expect("a scope")],
                alternatives: Vec::new(),
                supersedes: Vec::new(),
                mends: false,
                evidence_refs: Vec::new(),
                decided_at: None,
                asks: Vec::new(),
                unless_objection_minutes: None,
            }),
            (10, _) => create(ClaimType::Decision, None),
            (11, Some(claim_id)) => Command::AffirmClaim(AffirmClaim { claim_id, reason: None }),
            _ => create(ClaimType::Fact, None),
        }
    }

    /// The start of a session, which may go on from any session that there is.
    fn start_of_mine(&mut self) -> Command {
        let source = *self.dice.pick(&[Source::Resume, Source::Compact, Source::Startup, Source::Fork]);
        let known = self.others.iter().cloned().chain(PINNED.map(|(_, name)| session(name)));
        let known: Vec<SessionId> = known.collect();
        let parent_session = (self.dice.below(4) != 0).then(|| self.dice.pick(&known).clone());
        Command::StartSession(StartSession { source, client: None, parent_session })
    }

    fn unpinned(pane: Option<SessionId>) -> Option<Unpinned> {
        Some(Unpinned { pane, client: Some(claude()), ..Unpinned::default() })
    }

    /// `/clear`: the client leaves its session for the next one.
    fn clear(&mut self) {
        let own = self.dice.pick(&self.mine).clone();
        let next = session(&format!("clear-{}", self.ids));
        let start =
            Command::StartSession(StartSession { source: Source::Clear, client: None, parent_session: None });
        if self.submit(("", Self::unpinned(Some(own.clone()))), &next, &start).is_ok() {
            self.mine.push(next.clone());
            self.at = next;
            let _ = self.submit(("", Self::unpinned(None)), &own, &Command::EndSession(EndSession {}));
        }
    }

    /// The client is started anew and tells of no session before.
    fn restart(&mut self) {
        let next = session(&format!("again-{}", self.ids));
        let before = std::mem::replace(&mut self.mine, vec![next]).into_iter();
        for own in before.chain(std::mem::take(&mut self.aside)) {
            // A client that is killed does not end its session. The machine knows that it does not run.
            if self.running != Some(false) || self.dice.below(2) == 0 {
                let _ = self.submit(("", Self::unpinned(None)), &own, &Command::EndSession(EndSession {}));
            }
            self.left.insert(own);
        }
        let (own, source) = (self.mine[0].clone(), Source::Startup);
        let start = Command::StartSession(StartSession { source, client: None, parent_session: None });
        self.submit(("", Self::unpinned(None)), &own, &start).expect("a session starts");
        self.at = own;
    }

    /// A line in the shell of the pane runs a hook of its client, under any name or none, in any session that is its own, new
    /// or an agent's of a pinned pane. Then the shell writes, in the session where the client is.
    fn hook_of_mine(&mut self) {
        let names = ["architect", "devops", "analyst", "frontend"];
        let pin = (self.dice.below(3) != 0).then(|| AgentId::recorded(*self.dice.pick(&names)));
        let next = match self.dice.below(4) {
            0 => self.dice.pick(&self.mine).clone(),
            1 => session(PINNED[1].1),
            _ => session(&format!("hook-{}", self.ids)),
        };
        let before = Some(self.at.clone()).filter(|before| *before != next);
        let pane = |session: &SessionId| self.state.seats().pane(session);
        let may_pin = |pin: &AgentId| {
            pane(&self.at).is_none_or(|pane| seat::may_pin(pin, (&pane.agent, pane.is_seated)))
        };
        let pin = pin.filter(may_pin);
        let (pane, came_from) = if pane(&next).is_some() { (None, before) } else { (before, None) };
        let unpinned = Unpinned { pane, came_from, client: Some(claude()), ..Unpinned::default() };
        let unpinned = pin.is_none().then_some(unpinned);
        let start = StartSession { source: Source::Startup, client: None, parent_session: None };
        let agent = pin.as_ref().map_or("", AgentId::as_str);
        if self.submit((agent, unpinned), &next, &Command::StartSession(start)).is_err() {
            return;
        }
        if !self.mine.contains(&next) {
            self.aside.push(next.clone());
        }
        self.at = next.clone();
        self.hooked += 1;
        let command = self.command();
        if self.submit(("", Some(Unpinned::default())), &next, &command).is_ok() {
            self.claimed(&command);
        }
    }

    /// Keeps the claim that an accepted command of the pane made.
    fn claimed(&mut self, command: &Command) {
        if let Command::CreateClaim(create) = command {
            self.my_claims.push(create.claim_id);
        } else if let Command::RecordDecision(RecordDecision { claim_id, statement: Some(_), .. }) = command {
            self.my_claims.push(*claim_id);
        }
    }

    /// The challenges by others of what the pane claimed, each with its session.
    fn challenges_of_mine(&self) -> BTreeSet<(ClaimId, AgentId, SessionId)> {
        let claims = self.my_claims.iter().map(|id| (*id, self.state.claim(*id).expect("a claim")));
        let all = claims.flat_map(|(id, claim)| {
            let there = |agent: &AgentId| claim.taken_in.get(agent).cloned();
            claim.challengers().filter_map(move |agent| Some((id, agent.clone(), there(agent)?)))
        });
        let is_mine = |there: &SessionId| self.mine.contains(there) || self.aside.contains(there);
        all.filter(|(_, _, there)| !is_mine(there) && !self.left.contains(there)).collect()
    }

    /// Something the pane does, in one of the ways there are to do it.
    fn step_of_mine(&mut self) {
        match self.dice.below(24) {
            0 => return self.restart(),
            1 => return self.clear(),
            2 => return self.hook_of_mine(),
            _ => {}
        }
        let own = self.dice.pick(&self.mine).clone();
        let moment = self.dice.below(10);
        let command = match moment {
            0 => self.start_of_mine(),
            1 => Command::EndSession(EndSession {}),
            2 => {
                let child = session(&format!("child-{}", self.ids));
                Command::SplitSession(SplitSession {
                    child,
                    reason: "full".parse().expect("a reason"),
                    used_tokens: None,
                    window_tokens: None,
                    turn0: "<hivemind_state/>".parse().expect("a text"),
                })
            }
            _ => self.command(),
        };
        let names = ["architect", "claude-2", "claude-3", "devops", "codex-2"];
        let named = (self.dice.below(4) == 0).then(|| AgentId::recorded(*self.dice.pick(&names)));
        // The session as an argument: its own, any other one, or one that was never heard of.
        let fresh = session(&format!("fresh-{}", self.ids));
        let any: Vec<SessionId> = self.mine.iter().chain(&self.others).cloned().chain([fresh]).collect();
        let filed = if self.dice.below(3) == 0 { self.dice.pick(&any).clone() } else { own.clone() };
        let pane = Some(own.clone()).filter(|own| *own != filed);
        let set = *self.dice.pick(&names);
        // In the shell of the pane any name may be set.
        let is_shell = self.dice.below(6) == 0;
        let done = match is_shell {
            true => self.submit((set, None), &own, &command),
            false => self.submit(
                ("", Some(Unpinned { pane, client: Some(claude()), named, ..Unpinned::default() })),
                &filed,
                &command,
            ),
        };
        if done.is_err() {
            return;
        }
        // In its shell it may go by the name of its former seat.
        if !is_shell {
            self.assert_its_own(&own);
        }
        self.claimed(&command);
        if let Command::SplitSession(split) = &command {
            self.mine.push(split.child.clone());
        }
        if !is_shell && !self.mine.contains(&filed) && !self.others.contains(&filed) {
            self.mine.push(filed);
        }
    }

    /// What others do: they come and go, claim and disagree. None of them supports what the pane claimed.
    fn step_of_others(&mut self) {
        let who = self.dice.pick(&self.others).clone();
        let client = if self.dice.below(4) == 0 { seats_of("codex", Some("devops")) } else { claude() };
        let command = match self.dice.below(5) {
            0 => Command::EndSession(EndSession {}),
            1 | 2 => Command::StartSession(StartSession {
                source: Source::Resume,
                client: None,
                parent_session: None,
            }),
            _ => self.command(),
        };
        if let Command::TakePosition(take) = &command
            && take.position == Position::Support
            && self.my_claims.contains(&take.claim_id)
        {
            return;
        }
        let done =
            self.submit(("", Some(Unpinned { client: Some(client), ..Unpinned::default() })), &who, &command);
        if let (Ok(()), Command::CreateClaim(create)) = (&done, &command) {
            self.their_claims.push(create.claim_id);
        }
    }

    /// The pane is no agent that another pane is.
    fn assert_its_own(&self, own: &SessionId) {
        let seats = self.state.seats();
        let pane = seats.pane(own).expect("a pane");
        assert!(PINNED.iter().all(|(agent, _)| pane.agent.as_str() != *agent), "it is {}", pane.agent);
        // Where the processes of all clients run, a seat is occupied as long as a session in it is open.
        let there =
            seats.panes().filter(|(first, other)| *first != seats.first(own) && !other.open.is_empty());
        for (first, other) in there.filter(|_| self.running == Some(true) && !pane.open.is_empty()) {
            assert_ne!(other.agent, pane.agent, "{first} and {own} are one agent");
        }
    }

    fn run(&mut self, steps: usize) {
        let start = Command::StartSession(StartSession {
            source: Source::Startup,
            client: None,
            parent_session: None,
        });
        let unpinned = |client| Some(Unpinned { client: Some(client), ..Unpinned::default() });
        for (agent, name) in PINNED {
            self.submit((agent, None), &session(name), &start).expect("a session starts");
        }
        let word = CreateClaim { claim_id: ClaimId::from_uuid(self.id()), ..fact("the operator says so") };
        let word_id = word.claim_id;
        let said = Command::CreateClaim(word);
        self.submit((PINNED[0].0, None), &session(PINNED[0].1), &said).expect("a claim");
        for (who, client) in self.others.clone().iter().zip([claude(), seats_of("codex", Some("devops"))]) {
            self.submit(("", unpinned(client.clone())), who, &start).expect("a session starts");
            if self.dice.below(3) == 0 {
                self.submit(("", unpinned(client)), who, &Command::EndSession(EndSession {}))
                    .expect("an end");
            }
        }
        let (own, first) = (self.mine[0].clone(), self.start_of_mine());
        self.submit(("", unpinned(claude())), &own, &first).expect("a session starts");
        self.assert_its_own(&own);
        self.went_on += usize::from(self.others.contains(self.state.seats().first(&own)));
        for _ in 0..steps {
            let minutes = *self.dice.pick(&[0, 1, 1, 5, 31, 25 * 60]);
            self.now += minutes * 60_000;
            if self.dice.below(3) == 0 {
                self.step_of_others()
            } else {
                let before = self.challenges_of_mine();
                self.step_of_mine();
                let (after, seats) = (self.challenges_of_mine(), self.state.seats());
                // A session that goes on from that of a challenger is the challenger.
                let is_mine =
                    |there: &SessionId| self.mine.iter().any(|own| seats.first(own) == seats.first(there));
                let gone = before.difference(&after).filter(|(_, _, there)| !is_mine(there));
                let gone: Vec<_> = gone.collect();
                assert!(gone.is_empty(), "an owner ended the challenges of others: {gone:?}");
            }
            // Its support after it was started anew is that of another pane.
            for claim in self.my_claims.iter().filter(|_| self.left.is_empty()) {
                let claim = self.state.claim(*claim).expect("a claim that was made");
                assert_ne!(claim.status, Status::Confirmed, "one pane confirmed its own: {claim:?}");
            }
            let word = self.state.claim(word_id).expect("the operator's claim");
            assert_ne!(word.status, Status::Deprecated, "the operator's word stands");
        }
        let confirmed = |claim: &&ClaimId| {
            self.state.claim(**claim).is_some_and(|claim| claim.status == Status::Confirmed)
        };
        self.confirmed_theirs += self.their_claims.iter().filter(confirmed).count();
    }
}

/// One pane alone confirms nothing of its own, whatever it calls: 10,000 sequences of calls, and 200,000 with `HM_LONG=1`.
#[test]
fn one_pane_is_no_quorum() {
    let seed = seed("seats");
    let (mut moved, mut confirmed, mut went_on, mut took_over, mut kept_out) = (0, 0, 0, 0, 0);
    let mut hooked = 0;
    let sequences = if long() { 200_000 } else { 10_000 };
    for sequence in (0_u64..).take(sequences) {
        let mut search = Search::new(seed.wrapping_mul(1_000_003).wrapping_add(sequence));
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| search.run(24)));
        assert!(outcome.is_ok(), "sequence {sequence} of HM_SEED={seed}");
        moved += search.moved;
        confirmed += search.confirmed_theirs;
        went_on += search.went_on;
        took_over += search.took_over;
        kept_out += search.kept_out;
        hooked += search.hooked;
    }
    // The search goes where it could fail: panes lose their seats, what they support of others is confirmed, and they
    // go on from panes that left.
    let reached = format!(
        "{moved} seats were lost, {confirmed} claims confirmed, {went_on} panes went on, {took_over} took over a \
         challenge, {kept_out} were refused one, {hooked} hooks ran"
    );
    let [tenth, hundredth, few] = [10, 100, 500].map(|part| sequences / part);
    let seats = moved > tenth && confirmed > tenth && went_on > hundredth;
    assert!(seats && took_over > few && kept_out > few && hooked > tenth, "{reached}");
}

// --- the writer --------------------------------------------------------------------------------------------------

fn unpinned(session: &str, command: Command) -> Submission {
    let session = session.parse().ok();
    let unpinned = Some(Unpinned { client: Some(claude()), ..Unpinned::default() });
    Submission { session, unpinned, ..request("architect", command) }
}

fn starts(session: &str) -> Submission {
    let start = StartSession { source: Source::Startup, client: None, parent_session: None };
    unpinned(session, Command::StartSession(start))
}

/// Who said what, by the ledger: the agent of each session's last event.
fn agents(workspace: &TempWorkspace) -> BTreeMap<String, String> {
    let said = |event: hivemind::ledger::Stored| Some((event.session?.to_string(), event.agent.to_string()));
    workspace.events().into_iter().filter_map(said).collect()
}

/// Sources whose clock the test moves.
fn sources(clock: &std::sync::Arc<std::sync::atomic::AtomicI64>) -> system::Sources {
    let clock = std::sync::Arc::clone(clock);
    system::Sources {
        clock: Box::new(move || Timestamp::from_ms(clock.fetch_add(1, std::sync::atomic::Ordering::Relaxed))),
        ..system::Sources::system()
    }
}

#[test]
fn panes_that_open_at_once_get_a_seat_each() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let names: Vec<String> = (1..=20).map(|pane| format!("pane-{pane}")).collect();
    let group: Vec<Submission> = names.iter().map(|name| starts(name)).collect();
    assert!(committer.commit(&group).expect("a ledger").iter().all(Result::is_ok));
    let seats: BTreeSet<String> = agents(&workspace).into_values().collect();
    let expected = (2..=20).map(|number| format!("claude-{number}")).chain(["architect".to_owned()]);
    assert_eq!(seats, expected.collect());
    // A client that `[clients]` does not name counts from 1.
    let mut other = starts("other");
    other.unpinned.as_mut().expect("a pane").client = Some(seats_of("codex", None));
    committer.commit(&[other]).expect("a ledger").remove(0).expect("accepted");
    assert_eq!(agents(&workspace)["other"], "codex-1");
    drop(committer);
    workspace.assert_sound();
}

#[test]
fn a_seat_stays_until_it_is_free_and_someone_takes_it() {
    let workspace = TempWorkspace::new();
    let clock = std::sync::Arc::new(std::sync::atomic::AtomicI64::new(1_800_000_000_000));
    let open = || {
        hivemind::writer::Committer::open(&workspace, Policy::default(), sources(&clock))
            .expect("a workspace")
    };
    let mut committer = open();
    let hours = |hours: i64| {
        clock.fetch_add(hours * 3_600_000, std::sync::atomic::Ordering::Relaxed);
    };
    let said = |committer: &mut hivemind::writer::Committer, submission: Submission| {
        let session = submission.session.clone().expect("a session").to_string();
        let receipt = committer.commit(&[submission]).expect("a ledger").remove(0).expect("accepted");
        let told =
            receipt.warnings.iter().map(|warning| format!("; {}", warning.message)).collect::<String>();
        format!("{session} is {}{told}", agents(&workspace)[&session])
    };
    let claim = |statement: &str| Command::CreateClaim(fact(statement));
    let mut lines = vec![
        said(&mut committer, starts("one")),
        said(&mut committer, starts("two")),
        said(&mut committer, unpinned("one", claim("the pool holds 20"))),
        said(&mut committer, unpinned("two", Command::EndSession(EndSession {}))),
        said(&mut committer, starts("three")),
        said(&mut committer, starts("two")),
    ];
    // A day of silence, where the process of the client is not known.
    hours(23);
    lines.push(said(&mut committer, starts("four")));
    hours(2);
    lines.push(said(&mut committer, starts("five")));
    // It comes back, through another writer.
    drop(committer);
    let mut committer = open();
    let back = unpinned("one", claim("the cache is cold"));
    lines.push(said(&mut committer, back));
    lines.push(said(&mut committer, unpinned("one", claim("the queue is short"))));
    expect_test::expect![[r#"
        one is architect; you are architect here (seat of this session)
        two is claude-2; you are claude-2 here (seat of this session)
        one is architect
        two is claude-2
        three is claude-2; you are claude-2 here (seat of this session)
        two is claude-3; another pane took the seat claude-2 while you were away: you are claude-3 from now on, and what you said as claude-2 stays yours
        four is claude-4; you are claude-4 here (seat of this session)
        five is architect; you are architect here (seat of this session)
        one is claude-2; another pane took the seat architect while you were away: you are claude-2 from now on, and what you said as architect stays yours
        one is claude-2"#]]
    .assert_eq(&lines.join("\n"));
    drop(committer);
    workspace.assert_sound();
}

/// Where this machine knows the process of a client, that says when its seat is free.
#[test]
fn a_seat_is_free_once_its_client_is_gone() {
    let workspace = TempWorkspace::new();
    let clock = std::sync::Arc::new(std::sync::atomic::AtomicI64::new(1_800_000_000_000));
    let mut committer = hivemind::writer::Committer::open(&workspace, Policy::default(), sources(&clock))
        .expect("a workspace");
    let mut seat_of = |name: &str| {
        committer.commit(&[starts(name)]).expect("a ledger").remove(0).expect("accepted");
        agents(&workspace)[name].clone()
    };
    let minutes = |minutes: i64| clock.fetch_add(minutes * 60_000, std::sync::atomic::Ordering::Relaxed);
    let client = |process: u32| ClientSession::of(&workspace, process);
    let mut gone = Process::new("true").spawn().expect("a process");
    gone.wait().expect("its end");
    client(gone.id()).enter(&session("gone")).expect("word is left");
    // A client that leaves word takes the place of those that are gone, and it stays known that they are.
    client(std::process::id()).enter(&session("there")).expect("word is left");
    assert_eq!([seat_of("there"), seat_of("gone")], ["architect", "claude-2"]);
    minutes(29);
    assert_eq!(seat_of("early"), "claude-3");
    minutes(2);
    assert_eq!(seat_of("late"), "claude-2", "the process is gone, and its session silent for half an hour");
    minutes(10 * 24 * 60);
    assert_eq!(seat_of("next"), "claude-2", "a client that runs keeps its seat, however silent it is");
}

/// What a pane said under its former name stays its own: to take back, and not to confirm.
#[test]
fn rights_go_by_pane_as_well_as_by_name() {
    let workspace = TempWorkspace::new();
    let clock = std::sync::Arc::new(std::sync::atomic::AtomicI64::new(1_800_000_000_000));
    let mut committer = hivemind::writer::Committer::open(&workspace, Policy::default(), sources(&clock))
        .expect("a workspace");
    let mut commit = |submission: Submission| committer.commit(&[submission]).expect("a ledger").remove(0);
    let (mine, theirs) = (fact("the pool holds 20"), fact("the cache is cold"));
    let (my_claim, their_claim) = (mine.claim_id, theirs.claim_id);
    let takes = |session: &str, claim, held| unpinned(session, position("x", claim, held).command);
    commit(unpinned("one", Command::CreateClaim(mine))).expect("a claim");
    commit(unpinned("two", Command::CreateClaim(theirs))).expect("a claim");
    commit(takes("one", their_claim, Position::Challenge)).expect("a challenge");
    clock.fetch_add(25 * 3_600_000, std::sync::atomic::Ordering::Relaxed);
    commit(starts("two")).expect("it is there again");
    commit(starts("three")).expect("the first seat is taken");
    let refused = |outcome: Result<_, Rejection>| outcome.expect_err("a refusal").code;
    assert_eq!(refused(commit(takes("one", my_claim, Position::Support))), Code::OwnClaim);
    assert_eq!(refused(commit(takes("one", my_claim, Position::Challenge))), Code::OwnClaim);
    // Under the name of the owner, too: what architect said is architect's.
    assert_eq!(refused(commit(takes("three", my_claim, Position::Support))), Code::OwnClaim);
    // In the pane's own shell, whatever name is set there.
    let named =
        Submission { session: "one".parse().ok(), ..position("reviewer", my_claim, Position::Support) };
    assert_eq!(refused(commit(named)), Code::OwnClaim);
    commit(takes("one", their_claim, Position::Support)).expect("it takes back what it said as architect");
    commit(takes("two", my_claim, Position::Support)).expect("another pane");
    let deprecate = DeprecateClaim { claim_id: my_claim, reason: "measured anew".parse().expect("a reason") };
    commit(unpinned("one", Command::DeprecateClaim(deprecate))).expect("its own claim");
    let state = committer.state();
    let status = |claim| state.claim(claim).expect("a claim").status;
    assert_eq!((status(my_claim), status(their_claim)), (Status::Deprecated, Status::Confirmed));
    drop(committer);
    workspace.assert_sound();
}

/// Red before: the pane that took the free seat moved and withdrew the challenge of the pane that had left it.
#[test]
fn a_seat_with_an_open_challenge_goes_to_no_other_pane() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let claim = fact("the pool holds 20");
    let id = claim.claim_id;
    let ends = |session| unpinned(session, Command::EndSession(EndSession {}));
    let challenge = takes("two", id, Position::Challenge);
    let create = unpinned("one", Command::CreateClaim(claim));
    let group =
        vec![starts("one"), create, starts("two"), challenge, ends("two"), starts("three"), starts("two")];
    for outcome in committer.commit(&group).expect("a ledger") {
        outcome.expect("it passes");
    }
    let seats = |panes: [&str; 3]| panes.map(|pane| agents(&workspace)[pane].clone());
    assert_eq!(seats(["one", "two", "three"]), ["architect", "claude-2", "claude-3"]);
    // Without the challenge it is free.
    let group = [takes("two", id, Position::Abstain), ends("two"), starts("four"), starts("two")];
    for outcome in committer.commit(&group).expect("a ledger") {
        outcome.expect("it passes");
    }
    assert_eq!(seats(["one", "two", "four"]), ["architect", "claude-4", "claude-2"]);
    drop(committer);
    workspace.assert_sound();
}

/// Red before: the pane was told that what it said stays its own, and then that it challenges nothing.
#[test]
fn a_pane_says_of_the_challenge_under_its_former_name_that_it_is_still_meant() {
    let claim =
        CreateClaim { scopes: vec!["src/a.rs".parse().expect("a scope")], ..fact("the pool holds 20") };
    let id = claim.claim_id;
    let said = [unpinned("two", Command::CreateClaim(claim)), takes("one", id, Position::Challenge)];
    let (workspace, mut committer) = moved_on(Policy::default(), &said);
    let holds = Content::Sha256([1; 32]);
    let versions = Versions::from([("src/a.rs".parse().expect("a scope"), holds)]);
    let still = |session| {
        let command = Command::AffirmClaim(AffirmClaim { claim_id: id, reason: None });
        Submission { versions: versions.clone(), ..unpinned(session, command) }
    };
    committer.commit(&[still("one")]).expect("a ledger").remove(0).expect("its own challenge");
    let claim = committer.state().claim(id).expect("a claim");
    let sights = format!("{:?}", claim.sights);
    assert_eq!(sights.matches("Sha256([1, 1").count(), 2, "the challenge and what is meant: {sights}");
    assert_eq!(claim.positions.len(), 1, "{:?}", claim.positions);
    drop(committer);
    workspace.assert_sound();
}

/// A pane that loses its seat: session `one` was architect and is claude-3, `two` is claude-2, `three` is architect.
fn moved_on(policy: Policy, said_before: &[Submission]) -> (TempWorkspace, hivemind::writer::Committer) {
    let workspace = TempWorkspace::new();
    let clock = std::sync::Arc::new(std::sync::atomic::AtomicI64::new(1_800_000_000_000));
    let mut committer =
        hivemind::writer::Committer::open(&workspace, policy, sources(&clock)).expect("a workspace");
    let mut group = vec![starts("one"), starts("two")];
    group.extend(said_before.iter().cloned());
    group.extend([unpinned("one", Command::EndSession(EndSession {})), starts("three"), starts("one")]);
    for outcome in committer.commit(&group).expect("a ledger") {
        outcome.expect("it passes");
    }
    let last = agents(&workspace);
    assert_eq!(
        ["one", "two", "three"].map(|pane| last[pane].as_str()),
        ["claude-3", "claude-2", "architect"]
    );
    (workspace, committer)
}

fn takes(session: &str, claim: ClaimId, held: Position) -> Submission {
    unpinned(session, position("x", claim, held).command)
}

/// Red before: a pane that was asked under its former name objected, and silence agreed.
#[test]
fn a_pane_that_moved_objects_as_what_it_was() {
    let asks = CreateClaim {
        asks: vec![AgentId::architect()],
        unless_objection_minutes: Some(30),
        ..fact("the pool holds 20")
    };
    let asked = asks.claim_id;
    let said = [unpinned("two", Command::CreateClaim(asks)), takes("one", asked, Position::Abstain)];
    let (workspace, mut committer) = moved_on(Policy::default(), &said);
    assert!(committer.state().claim(asked).expect("a claim").silent_at.is_some());
    committer.commit(&[takes("one", asked, Position::Challenge)]).expect("a ledger").remove(0).expect("it");
    assert_eq!(committer.state().claim(asked).expect("a claim").silent_at, None);
    let shown =
        hivemind::store::Reader::open(&workspace.team_memory()).expect("read models").expect("a memory");
    let shown = shown.claim(asked).expect("an answer").expect("a claim");
    assert_eq!(shown.objection_until, None);
    drop(committer);
    workspace.assert_sound();
}

/// Red before: a pane that lost its seat had to ask the pane that took it about its own claim.
#[test]
fn what_a_pane_said_under_another_name_is_its_own_to_replace() {
    let old = fact("the pool holds 20");
    let supersedes = Some(old.claim_id);
    let (_workspace, mut committer) =
        moved_on(Policy::default(), &[unpinned("one", Command::CreateClaim(old))]);
    let new = CreateClaim {
        supersedes,
        asks: vec![AgentId::recorded("reviewer")],
        unless_objection_minutes: Some(30),
        ..fact("the pool holds 30")
    };
    let outcome =
        committer.commit(&[unpinned("one", Command::CreateClaim(new))]).expect("a ledger").remove(0);
    outcome.expect("its own claim");
}

/// Red before: the name that the owner's pane goes by now, and a seat whose session ended, had to support.
#[test]
fn a_seat_without_a_pane_of_its_own_blocks_no_quorum() {
    let policy = Policy { quorum: Quorum { all_active: true, ..Quorum::default() }, ..Policy::default() };
    let (first, second) = (fact("the pool holds 20"), fact("the cache is cold"));
    let (mine, theirs) = (first.claim_id, second.claim_id);
    let said = [unpinned("one", Command::CreateClaim(first)), unpinned("two", Command::CreateClaim(second))];
    let (workspace, mut committer) = moved_on(policy, &said);
    let mut commit = |submission| {
        let outcome = committer.commit(&[submission]).expect("a ledger").remove(0);
        outcome.expect("it passes");
        [mine, theirs].map(|claim| committer.state().claim(claim).expect("a claim").status)
    };
    assert_eq!(commit(takes("two", mine, Position::Support))[0], Status::Confirmed);
    // The pane that is architect now is asked for its support as long as it is there.
    assert_eq!(commit(takes("one", theirs, Position::Support))[1], Status::Proposed);
    commit(unpinned("three", Command::EndSession(EndSession {})));
    assert_eq!(commit(takes("one", theirs, Position::Support))[1], Status::Confirmed);
    drop(committer);
    workspace.assert_sound();
}

fn pinned(agent: &str, session: &str, command: Command) -> Submission {
    Submission { session: session.parse().ok(), ..request(agent, command) }
}

fn begins(parent: Option<&str>) -> Command {
    let source = if parent.is_some() { Source::Resume } else { Source::Startup };
    Command::StartSession(StartSession { source, client: None, parent_session: parent.map(session) })
}

fn ends() -> Command {
    Command::EndSession(EndSession {})
}

fn of_codex(submission: Submission) -> Submission {
    let client = Some(seats_of("codex", Some("devops")));
    let unpinned = submission.unpinned.map(|unpinned| Unpinned { client, ..unpinned });
    Submission { unpinned, ..submission }
}

fn is_deprecated(claim_id: ClaimId) -> Command {
    Command::DeprecateClaim(DeprecateClaim { claim_id, reason: "no longer".parse().expect("a reason") })
}

/// Red before: the first call of a pane named any session that was listed, and the pane was the operator, a pinned
/// agent, a pane at work, or one of another client.
#[test]
fn a_session_goes_on_only_from_a_pane_of_its_client_that_left() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let mut hands_in = |submission: Submission| committer.commit(&[submission]).expect("a ledger").remove(0);
    let (word, at_work, left) = (fact("the log stays"), fact("the pool holds 20"), fact("the cache is cold"));
    let ids = [word.claim_id, at_work.claim_id, left.claim_id];
    for passes in [
        pinned("operator", "s-oper", begins(None)),
        pinned("operator", "s-oper", Command::CreateClaim(word)),
        pinned("analyst", "s-ana", begins(None)),
        starts("one"),
        unpinned("one", Command::CreateClaim(at_work)),
        starts("gone"),
        unpinned("gone", Command::CreateClaim(left)),
        unpinned("gone", ends()),
        of_codex(starts("cx")),
        of_codex(unpinned("cx", ends())),
        unpinned("back", begins(Some("gone"))),
        unpinned("from-oper", begins(Some("s-oper"))),
        unpinned("from-ana", begins(Some("s-ana"))),
        unpinned("from-one", begins(Some("one"))),
        unpinned("from-cx", begins(Some("cx"))),
    ] {
        hands_in(passes).expect("it passes");
    }
    let refused = ["from-oper", "from-one", "back"].into_iter().zip(ids).map(|(pane, claim)| {
        let command = if pane == "back" {
            position("x", claim, Position::Support).command
        } else {
            is_deprecated(claim)
        };
        hands_in(unpinned(pane, command)).expect_err("a refusal").code
    });
    assert_eq!(refused.collect::<Vec<_>>(), [Code::NotAllowed, Code::NotAllowed, Code::OwnClaim]);
    let last = agents(&workspace);
    assert_eq!(
        ["one", "back", "from-oper", "from-ana", "from-one", "from-cx"].map(|name| last[name].as_str()),
        ["architect", "claude-2", "claude-3", "claude-4", "claude-5", "claude-6"]
    );
    drop(committer);
    workspace.assert_sound();
}

/// Red before: a pane filed under a session in which a pinned agent had spoken, and owned what was said there; and
/// what was the operator's session made a pane the operator.
#[test]
fn no_session_of_another_agent_lends_a_pane_its_rights() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let mut told = |submission: Submission, pane: Option<&str>| {
        let mut submission = submission;
        if let Some(unpinned) = &mut submission.unpinned {
            unpinned.pane = pane.map(session);
        }
        let code = |outcome: Result<_, Rejection>| outcome.map_or_else(|no| no.code.as_str(), |_| "done");
        code(committer.commit(&[submission]).expect("a ledger").remove(0))
    };
    let (quiet, own) = (fact("the log stays"), fact("the pool holds 20"));
    let (quiet_id, own_id) = (quiet.claim_id, own.claim_id);
    let claim = |number: u32| Command::CreateClaim(fact(&format!("port {number} is open")));
    let split = Command::SplitSession(SplitSession {
        child: session("handed"),
        reason: "full".parse().expect("a reason"),
        used_tokens: None,
        window_tokens: None,
        turn0: "<hivemind_state/>".parse().expect("a text"),
    });
    let lines = [
        told(pinned("devops", "quiet", Command::CreateClaim(quiet)), None),
        told(starts("one"), None),
        told(starts("two"), None),
        told(unpinned("two", Command::CreateClaim(own)), None),
        told(unpinned("quiet", claim(1)), Some("two")),
        told(unpinned("two", is_deprecated(quiet_id)), None),
        told(pinned("reviewer", "two", is_deprecated(own_id)), None),
        told(pinned("operator", "s-oper", begins(None)), None),
        told(unpinned("s-oper", claim(2)), None),
        told(pinned("operator", "s-oper", split), None),
        told(unpinned("handed", claim(3)), None),
    ];
    expect_test::expect![[r#"
        done
        done
        done
        done
        agent_mismatch
        not_allowed
        not_allowed
        done
        agent_mismatch
        done
        done"#]]
    .assert_eq(&lines.join("\n"));
    assert_eq!(agents(&workspace)["handed"], "claude-3");
    drop(committer);
    workspace.assert_sound();
}

/// Red before: what a human said in the session of a pane was replaced by what the pane said there.
#[test]
fn the_operators_position_is_no_panes_to_replace() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let create = fact("the pool holds 20");
    let claim = create.claim_id;
    let held = |held| position("x", claim, held).command;
    for submission in [
        starts("one"),
        starts("two"),
        unpinned("two", Command::CreateClaim(create)),
        pinned("operator", "one", held(Position::Support)),
        unpinned("one", held(Position::Abstain)),
    ] {
        committer.commit(&[submission]).expect("a ledger").remove(0).expect("it passes");
    }
    let positions = &committer.state().claim(claim).expect("a claim").positions;
    assert_eq!(positions.get(&AgentId::operator()), Some(&Position::Support));
    drop(committer);
    workspace.assert_sound();
}

/// Red before: a seat that its pane left was empty, although a pinned pane went by that name and worked.
#[test]
fn a_name_that_a_pinned_pane_goes_by_is_no_empty_seat() {
    let policy = Policy { quorum: Quorum { all_active: true, ..Quorum::default() }, ..Policy::default() };
    let seated_then_pinned = |after: [Submission; 2]| {
        let workspace = TempWorkspace::new();
        let mut committer = hivemind::writer::Committer::open(&workspace, policy, system::Sources::system())
            .expect("a workspace");
        let create = fact("the pool holds 20");
        let claim = create.claim_id;
        let group = [of_codex(starts("cx")), of_codex(unpinned("cx", ends()))];
        let group = match &after[0].unpinned {
            // The pinned pane is there before the other one leaves.
            None if matches!(after[0].command, Command::StartSession(_)) => {
                let [starts, ends] = group;
                vec![starts, after[0].clone(), after[1].clone(), ends]
            }
            _ => group.into_iter().chain(after).collect(),
        };
        let support =
            |by: &str, session: &str| pinned(by, session, position("x", claim, Position::Support).command);
        let more =
            [starts("one"), unpinned("one", Command::CreateClaim(create)), support("reviewer", "s-rev")];
        let mut status = Vec::new();
        for submission in group.into_iter().chain(more).chain([support("devops", "s-dev")]) {
            committer.commit(&[submission]).expect("a ledger").remove(0).expect("it passes");
            status.extend(committer.state().claim(claim).map(|claim| claim.status));
        }
        drop(committer);
        workspace.assert_sound();
        status
    };
    let says = |text: &str| pinned("devops", "s-dev", Command::CreateClaim(fact(text)));
    let expected = [Status::Proposed, Status::Proposed, Status::Confirmed];
    assert_eq!(seated_then_pinned([says("the cache is cold"), says("the queue is short")]), expected);
    let began = pinned("devops", "s-dev", begins(None));
    assert_eq!(seated_then_pinned([began, says("the queue is short")]), expected);
}

/// Red before: a pane that had changed its seat and held no position yet objected, and silence agreed.
#[test]
fn a_pane_that_moved_answers_for_what_it_was_asked_as() {
    let asking = |statement: &str| CreateClaim {
        asks: vec![AgentId::architect()],
        unless_objection_minutes: Some(30),
        ..fact(statement)
    };
    let (asked, word) = (asking("the pool holds 20"), asking("the log stays"));
    let ids = [asked.claim_id, word.claim_id];
    let said = [
        unpinned("two", Command::CreateClaim(asked)),
        pinned("operator", "s-oper", Command::CreateClaim(word)),
    ];
    let (workspace, mut committer) = moved_on(Policy::default(), &said);
    for claim in ids {
        assert!(committer.state().claim(claim).expect("a claim").silent_at.is_some());
        committer
            .commit(&[takes("one", claim, Position::Challenge)])
            .expect("a ledger")
            .remove(0)
            .expect("it");
        assert_eq!(committer.state().claim(claim).expect("a claim").silent_at, None);
        let shown =
            hivemind::store::Reader::open(&workspace.team_memory()).expect("read models").expect("a memory");
        assert_eq!(shown.claim(claim).expect("an answer").expect("a claim").objection_until, None);
        let open = shown.questions(Some("architect"), 9).expect("questions");
        // Against the operator's word an objection is a proposal, and no position.
        let open: Vec<_> = open.into_iter().map(|question| question.claim.id.to_string()).collect();
        assert!(!open.contains(&ids[0].to_string()), "{open:?}");
    }
    drop(committer);
    workspace.assert_sound();
}

#[test]
fn a_name_and_a_session_of_another_pane_are_checked() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let mut told = |mut submission: Submission, pane: Option<&str>, named: Option<&str>| {
        let unpinned = submission.unpinned.as_mut().expect("a pane that is not pinned");
        unpinned.pane = pane.map(session);
        unpinned.named = named.map(AgentId::recorded);
        match committer.commit(&[submission]).expect("a ledger").remove(0) {
            Ok(_) => "done".to_owned(),
            Err(rejection) => format!("{}: {}", rejection.code.as_str(), rejection.message),
        }
    };
    let claim = |number: u32| Command::CreateClaim(fact(&format!("port {number} is open")));
    let split = Command::SplitSession(SplitSession {
        child: session("child"),
        reason: "full".parse().expect("a reason"),
        used_tokens: None,
        window_tokens: None,
        turn0: "<hivemind_state/>".parse().expect("a text"),
    });
    let lines = [
        told(starts("one"), None, None),
        told(starts("two"), None, None),
        told(unpinned("one", claim(1)), None, Some("architect")),
        told(unpinned("one", claim(2)), None, Some("devops")),
        told(unpinned("two", claim(3)), Some("one"), None),
        told(unpinned("notes", claim(4)), Some("one"), None),
        told(unpinned("notes", claim(5)), Some("two"), None),
        told(unpinned("one", split), None, None),
        told(unpinned("child", claim(6)), None, Some("architect")),
        told(unpinned("child", claim(7)), Some("two"), None),
    ];
    expect_test::expect![[r#"
        done
        done
        done
        agent_mismatch: this pane is architect and cannot speak for devops
        agent_mismatch: session two is claude-2's, and this pane is architect
        done
        agent_mismatch: session notes is architect's, and this pane is claude-2
        done
        done
        agent_mismatch: session child is architect's, and this pane is claude-2"#]]
    .assert_eq(&lines.join("\n"));
    drop(committer);
    workspace.assert_sound();
}

/// The same search through the writer, its ledger and its read models.
#[test]
fn one_pane_is_no_quorum_at_the_writer_either() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let mut dice = Dice::new(seed("seats at the writer"));
    let mut mine: Vec<ClaimId> = Vec::new();
    for round in 0..if long() { 400 } else { 40 } {
        let mut group = Vec::new();
        for step in 0..24 {
            let who = *dice.pick(&["one", "one", "one", "two", "three"]);
            let held =
                *dice.pick(&[Position::Support, Position::Support, Position::Challenge, Position::Abstain]);
            let command = match (dice.below(6), mine.is_empty()) {
                (0, _) => Command::EndSession(EndSession {}),
                (1, _) => starts(who).command,
                (2, _) | (_, true) => {
                    Command::CreateClaim(fact(&format!("what {round}.{step} of {who} says")))
                }
                // Only the owner's pane supports what it claimed.
                _ if who != "one" => continue,
                _ => position("x", *dice.pick(&mine), held).command,
            };
            if let (Command::CreateClaim(create), "one") = (&command, who) {
                mine.push(create.claim_id);
            }
            group.push(unpinned(who, command));
        }
        committer.commit(&group).expect("a ledger");
        for claim in mine.iter().filter_map(|claim| committer.state().claim(*claim)) {
            assert_ne!(claim.status, Status::Confirmed, "round {round}: {claim:?}");
        }
    }
    assert_eq!(
        folded(&workspace.events()),
        *committer.state(),
        "what a restart folds is what was decided against"
    );
    drop(committer);
    workspace.assert_sound();
}

// --- whole processes ---------------------------------------------------------------------------------------------

/// A client as far as hm sees it: a process that starts `hm serve` and, where it has hooks, `hm hook claude`.
struct Pane<'s> {
    shell: &'s Shell,
    child: Child,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
    session: &'s str,
}

impl<'s> Pane<'s> {
    fn start(shell: &'s Shell, session: &'s str, options: &str) -> Self {
        let serve = shell.command(&format!("hm serve {options}"));
        let mut client = Process::new("sh");
        // The shell stays: it is the client, with a process of its own.
        client.args(["-c", "\"$0\" \"$@\"; :"]).arg(serve.get_program()).args(serve.get_args());
        client.current_dir(shell.workspace().root());
        for (name, value) in serve.get_envs() {
            match value {
                Some(value) => client.env(name, value),
                None => client.env_remove(name),
            };
        }
        let mut child = client.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a client");
        let stdin = child.stdin.take().expect("its input");
        let stdout = BufReader::new(child.stdout.take().expect("its output")).lines();
        let mut pane = Self { shell, child, stdin, stdout, session };
        pane.ask(&initialize());
        writeln!(pane.stdin, "{}", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
            .expect("the server listens");
        pane
    }

    fn ask(&mut self, question: &Value) -> Value {
        writeln!(self.stdin, "{question}").expect("the server listens");
        let line = self.stdout.next().expect("an answer").expect("text");
        serde_json::from_str::<Value>(&line).expect("JSON")
    }

    fn tool(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask(&call("tools/call", json!({ "name": tool, "arguments": arguments })))["result"].clone()
    }

    fn creates(&mut self, statement: &str) -> String {
        let arguments = json!({ "statement": statement, "claim_type": "fact", "scopes": ["src"] });
        let answer = self.tool("create_claim", arguments);
        let id = answer["structuredContent"]["claim_id"].as_str();
        id.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    fn supports(&mut self, claim: &str) -> String {
        let answer = self.tool("support", json!({ "claim_id": claim }));
        answer["structuredContent"]["code"].as_str().unwrap_or("done").to_owned()
    }

    fn reads(&mut self, uri: &str) -> String {
        let answer = self.ask(&call("resources/read", json!({ "uri": uri })));
        answer["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// What a hook of this client says.
    fn hook(&self, event: &str, more: Value) -> String {
        self.hook_of("claude", event, more)
    }

    fn hook_of(&self, client: &str, event: &str, more: Value) -> String {
        let mut payload = json!({ "hook_event_name": event, "session_id": self.session, "cwd": self.shell.workspace().root() });
        more.as_object().expect("fields").iter().for_each(|(name, value)| payload[name] = value.clone());
        let mut hook = self.shell.command(&format!("hm hook {client}"));
        hook.env("CLAUDE_PID", self.child.id().to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut hook = hook.spawn().expect("a hook");
        hook.stdin.take().expect("a pipe").write_all(payload.to_string().as_bytes()).expect("a payload");
        let output = hook.wait_with_output().expect("an end");
        assert!(output.status.success(), "{output:?}");
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
    }

    fn starts(&self, source: &str) -> String {
        self.hook("SessionStart", json!({ "source": source }))
    }

    /// Who a hook says that the pane is.
    fn is(&self, source: &str) -> String {
        let told = self.starts(source);
        let name =
            told.strip_prefix("hivemind: you are ").and_then(|rest| rest.split([' ', ';', ',']).next());
        name.unwrap_or_else(|| panic!("{told}")).to_owned()
    }

    /// What an agent's shell in this pane prints.
    fn shell_runs(&self, line: &str) -> std::process::Output {
        let mut command = self.shell.command(line);
        command.env("CLAUDECODE", "1").env("CLAUDE_CODE_SESSION_ID", self.session);
        command.output().expect("hm runs")
    }

    fn leaves(mut self) {
        drop(self.stdin);
        self.child.wait().expect("an end");
    }
}

fn status(shell: &Shell, claim: &str) -> String {
    shell.json(&format!("hm claim show {claim} --json"))["status"].as_str().expect("a status").to_owned()
}

/// Red before: the name of the seat stayed as a peer that was silent, and as one who had read a question.
#[test]
fn a_pane_that_goes_on_under_another_name_leaves_its_seat() {
    let shell = Shell::new();
    let pane = Pane::start(&shell, "s-one", "");
    assert_eq!(pane.is("startup"), "architect");
    let flat = |output: std::process::Output| {
        let text =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let analyst = |line: &str| {
        let mut command = shell.command(&line.replacen("hm ", "hm --agent analyst ", 1));
        flat(command.env("HM_SESSION", "s-two").output().expect("hm runs"))
    };
    analyst("hm session start");
    analyst("hm claim create \"the pool holds 20 connections\" --scope src --ask architect");
    crate::hook::spool_is_empty(&shell);
    let told = pane.hook("UserPromptSubmit", json!({ "prompt": "go on" }));
    assert!(told.contains("the pool holds 20"), "{told}");
    assert!(analyst("hm attention").contains("architect has read it"), "{}", analyst("hm attention"));
    assert!(analyst("hm status").contains("peer: architect"), "{}", analyst("hm status"));

    let goes_on = |agent: &str, line: &str| {
        let mut command = shell.command(line);
        command.env("HM_SESSION", "s-one").env("HM_AGENT", agent);
        assert!(command.output().expect("hm runs").status.success(), "{line}");
    };
    goes_on("devops", "hm claim create \"the queue is bounded\" --scope src");

    let attention = analyst("hm attention");
    assert!(
        attention.contains("architect is devops now") && !attention.contains("has read it"),
        "{attention}"
    );
    let status = analyst("hm status");
    assert!(status.contains("1 peer: devops") && !status.contains("architect"), "{status}");
    assert!(!analyst("hm claim show C1").contains("architect 0s ago"), "{}", analyst("hm claim show C1"));
    let asked = analyst("hm claim create \"the cache is cold\" --scope src --ask frontend --ask architect");
    assert!(asked.contains("no session of frontend has been here yet; here are: devops"), "{asked}");
    assert!(asked.contains("architect is devops now; here are: devops"), "{asked}");
    // The name counts again once the pane speaks under it.
    pane.hook("UserPromptSubmit", json!({ "prompt": "go on" }));
    crate::hook::spool_is_empty(&shell);
    assert!(analyst("hm status").contains("1 peer: architect"), "{}", analyst("hm status"));
}

/// Red before: the server of the pane that came back was another agent, which could support the pane's own claims.
#[test]
fn a_pane_that_comes_back_with_a_prompt_alone_is_who_it_was() {
    let shell = Shell::new();
    let mut pane = Pane::start(&shell, "s-one", "");
    assert_eq!(pane.is("startup"), "architect");
    let claim = pane.creates("the pool holds 20 connections");
    // It is killed: its session does not end.
    pane.leaves();
    let mut again = Pane::start(&shell, "s-one", "");
    again.hook("UserPromptSubmit", json!({ "prompt": "go on" }));
    assert_eq!(again.supports(&claim), "own_claim");
    assert_eq!(status(&shell, &claim), "proposed");
}

#[test]
fn two_panes_of_one_client_are_two_agents_and_confirm_each_other() {
    let shell = Shell::new();
    let (mut one, mut two) = (Pane::start(&shell, "s-one", ""), Pane::start(&shell, "s-two", ""));
    let told = one.starts("startup");
    assert!(
        told.starts_with("hivemind: you are architect") && told.contains("(seat of this session)"),
        "{told}"
    );
    assert_eq!(two.is("startup"), "claude-2");
    assert!(two.reads("hivemind://context").contains("agent=\"claude-2\""), "the pack says who reads it");
    let claim = one.creates("the pool holds 20 connections");
    assert_eq!(one.supports(&claim), "own_claim");
    assert_eq!(status(&shell, &claim), "proposed");
    // Nor under another name, in another session, or from its shell.
    let as_devops = one.tool("support", json!({ "claim_id": claim, "agent": "devops" }));
    assert_eq!(as_devops["structuredContent"]["code"], "agent_mismatch", "{as_devops}");
    let as_two = one.tool("support", json!({ "claim_id": claim, "session": "s-two" }));
    assert_eq!(as_two["structuredContent"]["code"], "agent_mismatch", "{as_two}");
    for (line, code) in
        [("hm claim support", "own_claim"), ("hm --agent analyst claim support", "agent_mismatch")]
    {
        let typed = one.shell_runs(&format!("{line} {claim} --json"));
        assert!(String::from_utf8_lossy(&typed.stdout).contains(code), "{typed:?}");
    }
    assert_eq!(two.supports(&claim), "done");
    assert_eq!(status(&shell, &claim), "confirmed");
    let shown = shell.json(&format!("hm claim show {claim} --json"));
    assert_eq!((&shown["owner"], &shown["positions"][0]["agent"]), (&json!("architect"), &json!("claude-2")));

    // Resumption and compaction keep the seat; its end frees it.
    assert_eq!([one.is("resume"), two.is("compact")], ["architect", "claude-2"]);
    one.hook("SessionEnd", json!({ "reason": "exit" }));
    let mut three = Pane::start(&shell, "s-three", "");
    assert_eq!(three.is("startup"), "architect");
    assert_eq!(one.is("resume"), "claude-3");
    assert!(one.starts("resume").lines().all(|line| !line.contains("another pane took")), "told once");
    assert_eq!(three.supports(&claim), "own_claim", "what architect said is architect's");
    // An agent's shell is its session's agent.
    let typed = two.shell_runs("hm claim create \"the cache is cold\" --scope src --json");
    let typed: Value = serde_json::from_slice(&typed.stdout).expect("JSON");
    let typed = shell.json(&format!("hm claim show {} --json", typed["claim_id"].as_str().expect("an id")));
    assert_eq!((&typed["owner"], &typed["session"]), (&json!("claude-2"), &json!("s-two")));
    let context = two.shell_runs("hm context");
    assert!(String::from_utf8_lossy(&context.stdout).contains("agent=\"claude-2\""), "{context:?}");
    for pane in [one, two, three] {
        pane.leaves();
    }
}

#[test]
fn a_server_that_hears_of_no_session_is_one() {
    let shell = Shell::new();
    let (mut one, mut two) = (Pane::start(&shell, "", ""), Pane::start(&shell, "", ""));
    let claim = one.creates("the pool holds 20 connections");
    let said = two.tool("support", json!({ "claim_id": claim }));
    assert_eq!(said["structuredContent"]["warnings"][0]["code"], "seated", "{said}");
    assert_eq!(status(&shell, &claim), "confirmed");
    let shown = shell.json(&format!("hm claim show {claim} --json"));
    assert_eq!((&shown["owner"], &shown["positions"][0]["agent"]), (&json!("pane-1"), &json!("pane-2")));
    assert!(one.reads("hivemind://context").contains("agent=\"pane-1\""));
    one.leaves();
    wait_until("its session has ended", || {
        let sessions = shell.json("hm session list --json");
        let sessions = sessions["sessions"].as_array().expect("sessions").clone();
        sessions.iter().any(|session| session["agent"] == "pane-1" && session["ended_at"].is_number())
    });
    let mut three = Pane::start(&shell, "", "");
    let again = three.creates("the cache is cold");
    assert_eq!(shell.json(&format!("hm claim show {again} --json"))["owner"], "pane-1");
    // A host of many agents names one in each call.
    let mut host = Pane::start(&shell, "", "--any-agent");
    let named = host.tool("support", json!({ "claim_id": again, "agent": "analyst" }));
    assert_eq!(named["isError"], json!(false), "{named}");
    assert_eq!(status(&shell, &again), "confirmed");
    for pane in [two, three, host] {
        pane.leaves();
    }
}

/// Twenty clients at once, each with its hook and its server.
#[test]
fn twenty_panes_are_twenty_agents() {
    let shell = Shell::new();
    let names: Vec<String> = (1..=20).map(|pane| format!("s-{pane}")).collect();
    let opened = |name: &str| {
        let mut pane = Pane::start(&shell, name, "");
        pane.starts("startup");
        let claim = pane.creates(&format!("what {name} says"));
        pane.leaves();
        let shown = shell.json(&format!("hm claim show {claim} --json"));
        shown["owner"].as_str().expect("an owner").to_owned()
    };
    let seats: BTreeSet<String> = std::thread::scope(|scope| {
        let panes: Vec<_> = names.iter().map(|name| scope.spawn(|| opened(name))).collect();
        panes.into_iter().map(|pane| pane.join().expect("a pane")).collect()
    });
    let expected = (2..=20).map(|number| format!("claude-{number}")).chain(["architect".to_owned()]);
    assert_eq!(seats, expected.collect());
}

/// Red before: a session that went on from another one was a new pane, and confirmed what it had said itself.
#[tokio::test]
async fn a_session_that_goes_on_from_another_is_its_pane() {
    let bench = Bench::new();
    let server = async |session: &str| {
        let mut command = tokio::process::Command::new(bench.binary());
        command
            .args(["serve", "--toolsets", "all", "--dir"])
            .arg(bench.root())
            .current_dir(bench.root())
            .env("HM_SESSION", session);
        hivemind::mcp::Pane::run(command, hivemind::mcp::Era::Legacy).await.expect("a pane")
    };
    let first = server("cx-1").await;
    let claim = bench.claim(&first, "the pool holds 20", "src").await;
    bench.accepted(&first, "start_session", json!({ "source": "startup" })).await;
    let resumed = json!({ "source": "resume", "parent_session": "cx-1" });
    // Red before: while that pane was at work, a first call made another one the same agent.
    let thief = server("cx-9").await;
    let told = bench.accepted(&thief, "start_session", resumed.clone()).await;
    assert!(told.text.contains("you are pane-2 here"), "{}", told.text);
    let refused = thief.call("deprecate_claim", json!({ "claim_id": claim, "reason": "I say so" })).await;
    assert_eq!(refused.expect("an answer").field("code"), "not_allowed");
    // Red before: a pinned pane that named the session had the rights of its pane.
    let reviewer = bench.pane(Some("reviewer"), hivemind::mcp::Era::Modern).await;
    let aside = json!({ "claim_id": claim, "reason": "I say so", "session": "cx-1" });
    let refused = reviewer.call("deprecate_claim", aside).await.expect("an answer");
    assert_eq!(refused.field("code"), "agent_mismatch", "{}", refused.text);
    bench.accepted(&first, "end_session", json!({})).await;
    drop(first);
    let second = server("cx-2").await;
    bench.accepted(&second, "start_session", resumed).await;
    let own = second.call("support", json!({ "claim_id": claim })).await.expect("an answer");
    assert_eq!(own.field("code"), "own_claim", "{}", own.text);
    bench.kill_writer();
    bench.assert_sound();
}

#[test]
fn a_session_that_never_was_is_not_split() {
    let shell = Shell::new();
    for line in ["hm session split full --agent devops", "hm session split full"] {
        let mut command = shell.command(line);
        let output = command.env("HM_SESSION", "never").stdin(Stdio::null()).output().expect("hm runs");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success()
                && (told.contains("nothing was ever heard") || told.contains("nobody says")),
            "{told}"
        );
    }
    assert!(shell.json("hm log --json")["events"].as_array().expect("events").is_empty());
}

/// Red before: after `/clear` the pane was the next agent, and confirmed what it had said itself.
#[test]
fn a_client_in_its_next_session_is_the_pane_that_it_was() {
    let shell = Shell::new();
    let (mut one, mut two) = (Pane::start(&shell, "s-one", ""), Pane::start(&shell, "s-two", ""));
    assert_eq!([one.is("startup"), two.is("startup")], ["architect", "claude-2"]);
    let claim = one.creates("the pool holds 20 connections");
    // The end of the session before may come after the start of the next.
    one.session = "s-after";
    assert_eq!(one.is("clear"), "architect");
    assert_eq!(one.supports(&claim), "own_claim");
    // Or before it, and what says that it starts may be any hook of ours.
    one.hook("SessionEnd", json!({ "reason": "clear" }));
    one.session = "s-third";
    one.hook_of("codex", "SessionStart", json!({ "source": "startup" }));
    assert_eq!(one.supports(&claim), "own_claim");
    assert_eq!(status(&shell, &claim), "proposed");
    // A session that another client is in is not this one's, and both clients count as one agent since.
    one.session = "s-two";
    one.starts("resume");
    assert_eq!(one.supports(&claim), "own_claim");
    assert_eq!(two.supports(&claim), "own_claim");
    one.leaves();
    two.leaves();
}

/// The environment of the shells of a pane, without the variable that names the session.
fn in_shell(shell: &Shell, script: &str) -> Process {
    let hm = shell.command("hm status");
    let mut typed = Process::new("sh");
    typed.args(["-c", script]).arg(hm.get_program()).current_dir(shell.workspace().root());
    for (name, value) in hm.get_envs() {
        match value {
            Some(value) => typed.env(name, value),
            None => typed.env_remove(name),
        };
    }
    typed
}

/// Red before: in a shell without the variable of the session, `--agent` made another agent of the pane, which confirmed
/// its own claim.
#[test]
fn the_shell_of_a_pane_speaks_under_no_other_name() {
    let shell = Shell::new();
    let claim =
        shell.json("hm claim create \"the pool holds 20 connections\" --scope src --agent architect --json");
    let claim = claim["claim_id"].as_str().expect("a claim").to_owned();
    // A client is known by the name of its program. Its hook records the session, and what it starts is its own shell.
    let dir = tempfile::tempdir().expect("a directory");
    let client = dir.path().join("claude");
    let payload =
        json!({ "hook_event_name": "SessionStart", "session_id": "s-own", "cwd": shell.workspace().root() });
    let script = format!(
        "printf '%s' '{payload}' | CLAUDE_PID=$$ \"$1\" hook claude >/dev/null\n(sh -c \"$2\" \"$1\"); :\n"
    );
    std::fs::write(&client, script).expect("a client");
    let run = |typed: &str| {
        let mut output = in_shell(&shell, "sh \"$1\" \"$0\" \"$2\"");
        output.arg(&client).arg(typed.replace("hm", "\"$0\"")).env_remove("HM_AGENT");
        let output = output.output().expect("a shell");
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    let refused = run(&format!("hm claim support {claim} --agent analyst"));
    assert!(refused.contains("this shell belongs to the pane of architect"), "{refused}");
    assert!(refused.contains("drop --agent: you are architect here"), "{refused}");
    assert_eq!(status(&shell, &claim), "proposed");
    // Its own name is no other one.
    let own = run(&format!("hm claim support {claim} --agent architect --json"));
    assert!(own.contains("own_claim"), "{own}");
    assert_eq!(status(&shell, &claim), "proposed");
}

/// Red before: without hooks, too.
#[test]
#[cfg(target_os = "linux")]
fn the_shell_beside_a_server_speaks_under_no_other_name() {
    let shell = Shell::new();
    let dir = tempfile::tempdir().expect("a directory");
    // A client is known by the name of its program.
    let client = dir.path().join("claude");
    let create = json!({ "statement": "one", "claim_type": "fact", "scopes": ["src"] });
    let asks = [
        initialize(),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        call("tools/call", json!({ "name": "create_claim", "arguments": create })),
    ];
    let asks: String = asks.iter().map(|ask| format!("{ask}\n")).collect();
    std::fs::write(dir.path().join("asks"), asks).expect("questions");
    let script = "cd \"$2\"; mkfifo \"$1/in\"; \"$3\" serve <\"$1/in\" >\"$1/out\" & \n\
         exec 3>\"$1/in\"; cat \"$1/asks\" >&3; \n\
         until grep -q claim_id \"$1/out\"; do sleep 0.1; done\n\
         (sh -c '\"$1\" claim support C1 --agent analyst' sh \"$3\"); exec 3>&-; wait\n";
    std::fs::write(&client, script).expect("a client");
    let mut typed = in_shell(&shell, "sh \"$1\" \"$2\" \"$3\" \"$0\"");
    let output = typed.arg(&client).arg(dir.path()).arg(shell.workspace().root()).output().expect("a client");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("this shell belongs to the pane of"), "{output:?}");
}

/// Red before: a server that the agent started in its shell was another agent.
#[test]
fn what_the_shell_of_a_pane_starts_is_the_pane() {
    let shell = Shell::new();
    // This process is the client, and the shells of the servers are its own.
    let start = |session: &str| {
        let payload = json!({ "hook_event_name": "SessionStart", "session_id": session, "cwd": shell.workspace().root() });
        let mut hook = shell.command("hm hook gemini");
        hook.env("CLAUDE_PID", std::process::id().to_string()).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut hook = hook.spawn().expect("a hook");
        hook.stdin.take().expect("a pipe").write_all(payload.to_string().as_bytes()).expect("a payload");
        assert!(hook.wait().expect("an end").success());
    };
    start("s-own");
    let made = shell.json("hm claim create \"the pool holds 20 connections\" --scope src --json");
    let claim = made["claim_id"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
    let mut below = Pane::start(&shell, "s-own", "");
    assert_eq!(below.supports(&claim), "own_claim");
    // A hook that its shell runs makes no other pane of it either.
    let payload = json!({ "hook_event_name": "SessionStart", "session_id": "s-made-up", "cwd": shell.workspace().root() });
    let line = format!("printf '%s' '{payload}' | \"$0\" hook claude; \"$0\" claim support {claim} --json");
    let hm = shell.command("hm status");
    let mut typed = Process::new("sh");
    typed.args(["-c", &line]).arg(hm.get_program()).current_dir(shell.workspace().root());
    for (name, value) in hm.get_envs() {
        match value {
            Some(value) => typed.env(name, value),
            None => typed.env_remove(name),
        };
    }
    let typed = typed.env_remove("CLAUDE_PID").output().expect("a shell");
    assert!(String::from_utf8_lossy(&typed.stdout).contains("own_claim"), "{typed:?}");
    assert_eq!(status(&shell, &claim), "proposed");
    below.leaves();
}
