//! Who works on what: tasks are held by one session at a time, sessions end, and a rebuild says the same.

use hivemind::domain::agent::Roster;
use hivemind::domain::checkout::Checkout;
use hivemind::domain::command::{
    AbandonPlan, AddPhase, AddPlan, AddTask, CancelExperiment, ClaimTask, Command, DeclareIntent, EndSession,
    Forget, Observe, RecordFiring, RecordTurn, RenamePlan, RetireAnchor, SaveAnchor, Seen, SnapshotBeliefs,
    SpawnResearcher, SplitSession, StartSession, Submission, UpdateTask,
};
use hivemind::domain::decide::Policy;
use hivemind::domain::event::{CommandRan, Event, FileEdited, Guard, ToolUsed};
use hivemind::domain::ids::{ClaimId, CommandId, EventId, PhaseId, PlanId, RunId, TaskId};
use hivemind::domain::plan::{TaskStatus, Trajectory};
use hivemind::domain::receipt::{Receipt, WarningCode};
use hivemind::domain::rejection::{Code, Rejection};
use hivemind::domain::scope::Scope;
use hivemind::domain::session::{EndCause, Role, Source};
use hivemind::domain::text::Turn0;
use hivemind::domain::time::Timestamp;
use hivemind::domain::versions::Versions;
use hivemind::ledger::Ledger;
use hivemind::reads::Reads;
use hivemind::runner::profile::Catalog;
use hivemind::store::{Projection, Reader, TaskView};
use hivemind::system::Sources;
use hivemind::views::View;
use hivemind::writer::Committer;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use uuid::Uuid;

use crate::answers::answer;
use crate::context::config;
use crate::harness::{self, TempWorkspace, agent, dump, fact, fixed_sources, folded, ran, request, strings};

const MINUTE: i64 = 60_000;
/// Who may speak in a law: three sessions, and who is in none.
const SESSIONS: [&str; 4] = ["s-0", "s-1", "s-2", ""];

/// A writer whose clock the test moves.
pub(crate) struct Team {
    pub(crate) workspace: TempWorkspace,
    pub(crate) committer: Committer,
    pub(crate) now: Arc<AtomicI64>,
}

impl Team {
    pub(crate) fn new() -> Self {
        let workspace = TempWorkspace::new();
        let now = Arc::new(AtomicI64::new(1_000_000 * MINUTE));
        let clock = Arc::clone(&now);
        let sources = Sources {
            clock: Box::new(move || Timestamp::from_ms(clock.load(Ordering::Relaxed))),
            ..fixed_sources(1)
        };
        let committer = Committer::open(&workspace, Policy::default(), sources).expect("a workspace");
        let committer = planning(&workspace, committer);
        Self { workspace, committer, now }
    }

    pub(crate) fn after(&self, minutes: i64) {
        self.now.fetch_add(minutes * MINUTE, Ordering::Relaxed);
    }

    pub(crate) fn asks(&mut self, session: &str, command: Command) -> Result<Receipt, Rejection> {
        self.committer.commit(&[by(session, command)]).expect("a ledger that can be written").remove(0)
    }

    pub(crate) fn does(&mut self, session: &str, command: Command) -> Receipt {
        self.asks(session, command).expect("an accepted command")
    }

    pub(crate) fn refused(&mut self, session: &str, command: Command) -> Code {
        self.asks(session, command).expect_err("a refusal").code
    }

    pub(crate) fn task(&mut self, depends_on: &[TaskId]) -> TaskId {
        let task_id = TaskId::from_uuid(hivemind::system::new_id());
        self.does("s-0", Command::AddTask(add(task_id, depends_on)));
        task_id
    }

    pub(crate) fn reader(&self) -> Reader {
        Reader::open(&self.workspace.team_memory()).expect("readable").expect("read models")
    }

    fn shown(&self, task: TaskId) -> hivemind::store::TaskView {
        self.reader().task(task).expect("a query").expect("a task")
    }
}

/// A committer that plans researchers, from a trusted profile.
fn planning(workspace: &TempWorkspace, committer: Committer) -> Committer {
    let profile = workspace.marker_dir().join("profiles/agent.toml");
    std::fs::create_dir_all(profile.parent().expect("a directory")).expect("a directory for profiles");
    let text = "description = \"an agent\"\nargv = [\"agent\", \"{prompt}\"]\ntimeout_ms = 1000\n\n[agent]\nname = \"analyst\"\n";
    std::fs::write(&profile, text).expect("a profile");
    let trusted = workspace.trusted_profiles();
    let catalog = Catalog::load(&workspace.marker_dir(), &trusted);
    let known = catalog.find(&"agent".parse().expect("a name")).expect("the profile");
    trusted.trust(&known.profile.name, &known.sha256).expect("a trusted profile");
    committer.planning(workspace, &Roster::default())
}

/// Each session has an agent of its own; the empty one is none.
pub(crate) fn by(session: &str, command: Command) -> Submission {
    let agents = ["devops", "analyst", "frontend", "reviewer"];
    let number: usize = session.trim_start_matches("s-").parse().unwrap_or(0);
    Submission {
        command_id: CommandId::from_uuid(hivemind::system::new_id()),
        agent: agent(agents[number % agents.len()]),
        session: (!session.is_empty()).then(|| session.parse().expect("a session id")),
        unpinned: None,
        trace_id: None,
        idempotency_key: None,
        checkout: Checkout::default(),
        versions: Versions::new(),
        command,
    }
}

fn add(task_id: TaskId, depends_on: &[TaskId]) -> AddTask {
    AddTask {
        meant_for: None,
        task_id,
        title: "mend the pool".parse().expect("a title"),
        description: None,
        phase_id: None,
        parent_task_id: None,
        depends_on: depends_on.to_vec(),
        scopes: Vec::new(),
    }
}

pub(crate) fn split(child: &str) -> Command {
    split_with(child, "what was")
}

fn split_with(child: &str, turn0: &str) -> Command {
    Command::SplitSession(SplitSession {
        child: child.parse().expect("a session id"),
        reason: "the window is full".parse().expect("a reason"),
        used_tokens: Some(900),
        window_tokens: Some(1_000),
        turn0: turn0.parse::<Turn0>().expect("a hand-over"),
    })
}

/// What fits no event: two elements, each longer than the part of a hand-over that one event takes.
fn long_turn0() -> String {
    format!("<before>{}</before>\n<after>{}</after>", "x".repeat(17 * 1024), "y".repeat(17 * 1024))
}

fn researcher(at: u8, task_id: TaskId, parent_task_id: Option<TaskId>) -> Command {
    Command::SpawnResearcher(SpawnResearcher {
        run_id: RunId::from_uuid(id(0x4a00, at)),
        task_id,
        prompt: "who waits for whom?".parse().expect("a prompt"),
        profile: "agent".parse().expect("a name"),
        parent_task_id,
        turn0: "what was".parse().expect("a hand-over"),
    })
}

fn claim(task_id: TaskId) -> Command {
    claim_with(task_id, &[])
}

pub(crate) fn claim_with(task_id: TaskId, locks: &[&str]) -> Command {
    let file_locks = locks.iter().map(|lock| Scope::parse(lock, "").expect("a path")).collect();
    Command::ClaimTask(ClaimTask { task_id, lease_minutes: None, file_locks })
}

pub(crate) fn update(task_id: TaskId, status: TaskStatus, token: Option<u64>) -> Command {
    let note = Some("so it went".parse().expect("a note"));
    Command::UpdateTask(UpdateTask { task_id, status, note, fencing_token: token })
}

pub(crate) fn start() -> Command {
    Command::StartSession(StartSession { source: Source::Startup, client: None, parent_session: None })
}

pub(crate) fn turn(text: &str) -> Command {
    Command::RecordTurn(RecordTurn {
        role: Role::User,
        text: text.parse().expect("something said"),
        told: None,
    })
}

#[test]
fn of_fifty_sessions_one_gets_the_task() {
    let mut team = Team::new();
    let task = team.task(&[]);
    let requests: Vec<Submission> = (1..=50).map(|at| by(&format!("s-{at}"), claim(task))).collect();
    let answers = team.committer.commit(&requests).expect("a ledger that can be written");
    let winners: Vec<&Receipt> = answers.iter().flatten().collect();
    assert_eq!(winners.len(), 1);
    assert_eq!(winners[0].lease.map(|lease| (lease.fencing_token, lease.minutes)), Some((1, 15)));
    let losers: Vec<&Rejection> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
    assert_eq!(losers.len(), 49);
    for refusal in losers {
        assert_eq!(refusal.code, Code::TaskTaken);
        assert_eq!(refusal.details["session"], "s-1");
        assert_eq!(refusal.details["until"], (1_000_015 * MINUTE).to_string());
    }
    assert_eq!(team.shown(task).session.as_deref(), Some("s-1"));
}

#[test]
fn a_lease_lives_while_its_session_does_and_a_late_writer_is_refused() {
    let mut team = Team::new();
    let task = team.task(&[]);
    let token = team.does("s-1", claim(task)).lease.expect("a lease").fencing_token;
    team.after(14);
    team.does("s-1", turn("still at it"));
    team.after(14);
    assert_eq!(team.refused("s-2", claim(task)), Code::TaskTaken, "the turn moved the end of the lease");
    team.after(2);
    // Nothing was heard for 16 minutes: free for who asks, before the writer's schedule has looked.
    assert_eq!(team.refused("s-1", update(task, TaskStatus::Done, Some(token))), Code::StaleToken);
    let second = team.does("s-2", claim(task)).lease.expect("a lease").fencing_token;
    assert!(second > token);
    assert_eq!(team.refused("s-1", update(task, TaskStatus::Done, Some(token))), Code::StaleToken);
    assert_eq!(team.refused("s-1", update(task, TaskStatus::Done, None)), Code::TaskTaken);
    team.does("s-2", update(task, TaskStatus::Done, Some(second)));
    assert_eq!(team.refused("s-2", claim(task)), Code::InvalidTransition);
    let shown = team.shown(task);
    assert_eq!(
        (shown.status, shown.holder, shown.note.as_deref()),
        (TaskStatus::Done, None, Some("so it went"))
    );
}

#[test]
fn what_was_over_is_not_revived_by_a_late_word() {
    let mut team = Team::new();
    let task = team.task(&[]);
    team.does("s-1", claim(task));
    team.after(16);
    team.does("s-1", turn("I was asleep"));
    assert_eq!(hivemind::writer::close_overdue(&mut team.committer).expect("a sweep"), 1);
    let shown = team.shown(task);
    assert_eq!((shown.status, shown.session), (TaskStatus::Open, None));
    assert_eq!(hivemind::writer::close_overdue(&mut team.committer).expect("a sweep"), 0, "once is enough");
    // Nor may who lost it end it without having claimed it again.
    assert_eq!(team.refused("s-1", update(task, TaskStatus::Done, None)), Code::StaleToken);
    team.does("s-1", claim(task));
    team.does("s-1", update(task, TaskStatus::Done, None));
}

#[test]
fn a_vanished_session_is_closed_and_gives_back_what_it_held() {
    let mut team = Team::new();
    let task = team.task(&[]);
    team.does("s-1", start());
    let lease_minutes = Some(120);
    team.does("s-1", Command::ClaimTask(ClaimTask { task_id: task, lease_minutes, file_locks: Vec::new() }));
    team.after(30);
    assert_eq!(hivemind::writer::close_overdue(&mut team.committer).expect("a sweep"), 0);
    team.after(1);
    assert_eq!(hivemind::writer::close_overdue(&mut team.committer).expect("a sweep"), 1);
    assert_eq!(team.shown(task).status, TaskStatus::Open);
    let session = team.reader().session("s-1").expect("a query").expect("a session");
    assert_eq!(session.end_cause.map(|cause| cause.as_str()), Some("vanished"));
    assert_eq!(team.refused("s-1", Command::EndSession(EndSession {})), Code::UnknownSession);
}

/// Red before: a context called the agent silent for 31m, and the list its session vanished a moment ago.
#[test]
fn a_silent_session_is_called_so_in_lists_as_in_contexts() {
    let mut team = Team::new();
    team.does("s-1", start());
    let list = |team: &Team| {
        let now = Timestamp::from_ms(team.now.load(Ordering::Relaxed));
        let mut reads = Reads::of(team.workspace.clone());
        answer(&mut reads, &config(), &View::Sessions(None, 10), now).expect("a list").text
    };
    team.after(2);
    assert!(list(&team).contains("seen 2m ago"), "{}", list(&team));
    team.after(28);
    assert!(list(&team).contains("silent for 30m\n"), "{}", list(&team));
    team.after(1);
    assert_eq!(hivemind::writer::close_overdue(&mut team.committer).expect("a sweep"), 1);
    assert!(list(&team).contains("silent for 31m, closed"), "{}", list(&team));
}

#[test]
fn the_end_of_a_session_keeps_what_its_agent_believed() {
    let mut team = Team::new();
    let task = team.task(&[]);
    team.does("s-1", start());
    let created = by("s-1", Command::CreateClaim(fact("the pool holds 20 connections")));
    team.committer.commit(std::slice::from_ref(&created)).expect("a commit").remove(0).expect("a claim");
    team.does("s-1", claim(task));
    team.does("s-1", Command::EndSession(EndSession {}));
    assert_eq!(team.shown(task).session, None);
    let snapshot = team.reader().last_beliefs("analyst", Some("s-1")).expect("a query").expect("beliefs");
    assert_eq!(snapshot.beliefs.len(), 1);
    assert_eq!(Some(snapshot.beliefs[0].0.uuid()), created.command.minted());
    // Whoever believes nothing has nothing to write down.
    assert_eq!(team.refused("s-2", Command::SnapshotBeliefs(SnapshotBeliefs {})), Code::Duplicate);
}

#[test]
fn a_task_waits_for_what_it_depends_on() {
    let mut team = Team::new();
    let first = team.task(&[]);
    let second = team.task(&[first]);
    let ready = |team: &Team| -> Vec<String> {
        let ready = team.reader().ready_tasks(10).expect("a query");
        ready.into_iter().map(|task| task.id.to_string()).collect()
    };
    assert_eq!(ready(&team), [first.to_string()]);
    assert_eq!(team.refused("s-1", claim(second)), Code::TaskNotReady);
    team.does("s-1", claim(first));
    assert_eq!(ready(&team), Vec::<String>::new());
    team.does("s-1", update(first, TaskStatus::Done, None));
    assert_eq!(ready(&team), [second.to_string()]);
    let circle = TaskId::from_uuid(hivemind::system::new_id());
    assert_eq!(team.refused("s-1", Command::AddTask(add(circle, &[circle]))), Code::InvalidArgument);
    let unknown = TaskId::from_uuid(hivemind::system::new_id());
    let orphan = add(TaskId::from_uuid(hivemind::system::new_id()), &[unknown]);
    assert_eq!(team.refused("s-1", Command::AddTask(orphan)), Code::UnknownTask);
}

#[test]
fn what_was_invalidated_blocks_nothing_and_is_named() {
    let mut team = Team::new();
    let (dead, alive) = (team.task(&[]), team.task(&[]));
    let waiting = team.task(&[dead, alive]);
    team.does("s-1", update(dead, TaskStatus::Invalidated, None));
    assert_eq!(team.refused("s-1", claim(waiting)), Code::TaskNotReady, "the other is still to be done");
    team.does("s-1", claim(alive));
    team.does("s-1", update(alive, TaskStatus::Done, None));
    let ready = team.reader().ready_tasks(10).expect("a query");
    assert_eq!(ready.iter().map(|task| task.id).collect::<Vec<_>>(), [waiting]);
    assert_eq!(ready[0].invalidated, [dead.to_string()], "whoever looks for work is told before taking it");
    let title = "write the manual".parse().expect("a title");
    let task_id = TaskId::from_uuid(hivemind::system::new_id());
    let late = AddTask { task_id, title, ..add(waiting, &[dead]) };
    for told in [team.does("s-1", claim(waiting)), team.does("s-1", Command::AddTask(late))] {
        assert_eq!(told.warnings.len(), 1);
        assert_eq!(told.warnings[0].code, WarningCode::DependencyInvalidated);
        assert!(told.warnings[0].message.contains("task T1,"), "{told:?}");
    }
}

#[test]
fn a_task_claimed_again_keeps_its_locks_and_its_lease() {
    let mut team = Team::new();
    let task_id = team.task(&[]);
    let claim = |lease_minutes, locks: &[&str]| {
        let file_locks = locks.iter().map(|lock| Scope::as_written(lock, "").expect("a path")).collect();
        Command::ClaimTask(ClaimTask { task_id, lease_minutes, file_locks })
    };
    team.does("s-1", claim(Some(60), &["src/db"]));
    let lease = team.does("s-1", claim(None, &["src/ui", "src/db"])).lease.expect("a lease");
    assert_eq!((lease.fencing_token, lease.minutes), (1, 60));
    assert_eq!(team.shown(task_id).file_locks, ["src/ui", "src/db"]);
    assert_eq!(team.does("s-1", claim(Some(30), &[])).lease.expect("a lease").minutes, 30);
    assert_eq!(team.shown(task_id).file_locks, ["src/ui", "src/db"]);
    assert_eq!(team.refused("s-1", claim(None, &["src/["])), Code::InvalidArgument);
    // Given back, they are gone.
    team.does("s-1", update(task_id, TaskStatus::Open, None));
    team.does("s-1", claim(None, &[]));
    assert_eq!(team.shown(task_id).file_locks, Vec::<String>::new());
}

#[test]
fn a_part_of_a_task_is_in_its_phase() {
    let mut team = Team::new();
    let [plan_id] = [PlanId::from_uuid(hivemind::system::new_id())];
    let [here, elsewhere] = [0, 1].map(|_| PhaseId::from_uuid(hivemind::system::new_id()));
    let title = || "Ship it".parse().expect("a title");
    team.does(
        "s-1",
        Command::AddPlan(AddPlan { plan_id, title: title(), description: None, sot_path: None }),
    );
    for phase_id in [here, elsewhere] {
        team.does(
            "s-1",
            Command::AddPhase(AddPhase { phase_id, plan_id: Some(plan_id), title: title(), order: None }),
        );
    }
    let trajectory = Trajectory {
        intent: "the other one".parse().expect("an intent"),
        plan_id: None,
        phase_id: Some(elsewhere),
        task_ids: Vec::new(),
    };
    team.does("s-1", Command::DeclareIntent(DeclareIntent { trajectory, team: false }));
    let [whole, part, told] = [0, 1, 2].map(|_| TaskId::from_uuid(hivemind::system::new_id()));
    team.does("s-1", Command::AddTask(AddTask { phase_id: Some(here), ..add(whole, &[]) }));
    team.does("s-1", Command::AddTask(AddTask { parent_task_id: Some(whole), ..add(part, &[]) }));
    let told_so = AddTask { parent_task_id: Some(whole), phase_id: Some(elsewhere), ..add(told, &[]) };
    team.does("s-1", Command::AddTask(told_so));
    let phase = |task| team.shown(task).phase_id;
    assert_eq!([phase(part), phase(told)], [Some(here), Some(elsewhere)]);
}

#[test]
fn a_session_goes_on_from_one_that_there_was() {
    let mut team = Team::new();
    let start = |parent: &str| {
        let parent_session = Some(parent.parse().expect("a session id"));
        Command::StartSession(StartSession { source: Source::Fork, client: None, parent_session })
    };
    assert_eq!(team.refused("s-2", start("s-1")), Code::UnknownSession);
    team.does("s-1", self::start());
    team.does("s-1", Command::EndSession(EndSession {}));
    team.does("s-2", start("s-1"));
}

#[test]
fn files_that_another_session_holds_are_not_held_twice() {
    let mut team = Team::new();
    let (one, other) = (team.task(&[]), team.task(&[]));
    team.does("s-1", claim_with(one, &["src/db/**/*.rs"]));
    let refused = team.asks("s-2", claim_with(other, &["src/db/pool.rs"])).expect_err("a refusal");
    assert_eq!(refused.code, Code::ScopeLocked);
    assert!(refused.message.starts_with("analyst holds src/db/**/*.rs for task T1 until "), "{refused:?}");
    // The task itself is free, and so are other files.
    team.does("s-2", claim_with(other, &["src/ui"]));
}

#[test]
fn an_intent_moves_its_session_alone_unless_it_is_the_teams() {
    let mut team = Team::new();
    let plan_id = PlanId::from_uuid(hivemind::system::new_id());
    let phase_id = PhaseId::from_uuid(hivemind::system::new_id());
    let title = "Ship it".parse().expect("a title");
    team.does("s-1", Command::AddPlan(AddPlan { plan_id, title, description: None, sot_path: None }));
    let title = "UI".parse().expect("a title");
    team.does("s-1", Command::AddPhase(AddPhase { phase_id, plan_id: Some(plan_id), title, order: None }));
    let declare = |intent: &str, phase_id| {
        let intent = intent.parse().expect("an intent");
        let trajectory = Trajectory { intent, plan_id: None, phase_id, task_ids: Vec::new() };
        Command::DeclareIntent(DeclareIntent { trajectory, team: false })
    };
    let for_team = |command: Command| {
        let Command::DeclareIntent(declare) = command else { panic!("no intent: {command:?}") };
        Command::DeclareIntent(DeclareIntent { team: true, ..declare })
    };
    team.does("s-1", declare("tune the pool", None));
    assert_eq!(team.reader().trajectory(Some("s-3")).expect("a query"), None, "it is the session's own");
    team.does("s-2", for_team(declare("wait, fix the UI first", Some(phase_id))));
    let looks = |team: &Team, session: &str| {
        let trajectory = team.reader().trajectory(Some(session)).expect("a query").expect("a trajectory");
        (trajectory.intent, trajectory.plan_id)
    };
    assert_eq!(looks(&team, "s-1").0, "tune the pool");
    assert_eq!(looks(&team, "s-2"), ("wait, fix the UI first".to_owned(), Some(plan_id)));
    assert_eq!(looks(&team, "s-3").0, "wait, fix the UI first");
    // A task goes where its session looks.
    let task_id = TaskId::from_uuid(hivemind::system::new_id());
    team.does("s-2", Command::AddTask(add(task_id, &[])));
    assert_eq!(team.shown(task_id).phase_id, Some(phase_id));
    // What is said in no session is said to all, also to those that said otherwise before; until they say again.
    team.does("", declare("ship what there is", None));
    for session in ["s-1", "s-2", "s-3"] {
        assert_eq!(looks(&team, session), ("ship what there is".to_owned(), None), "{session}");
    }
    let task_id = TaskId::from_uuid(hivemind::system::new_id());
    team.does("s-2", Command::AddTask(add(task_id, &[])));
    assert_eq!(team.shown(task_id).phase_id, Some(phase_id), "the only open phase");
    team.does("s-2", declare("the UI all the same", Some(phase_id)));
    let now: Vec<String> = ["s-1", "s-2", "s-3"].iter().map(|session| looks(&team, session).0).collect();
    assert_eq!(now, ["ship what there is", "the UI all the same", "ship what there is"]);
}

#[test]
fn a_dialogue_keeps_six_messages_whole_and_the_beginnings_of_six_before() {
    let mut team = Team::new();
    team.does("s-1", start());
    for at in 1..=14 {
        team.does("s-1", turn(&format!("message {at} {}", "x".repeat(300))));
    }
    let dialogue = team.reader().dialogue("s-1").expect("a query");
    assert_eq!(dialogue.len(), 6);
    assert!(dialogue[0].text.starts_with("message 9 ") && dialogue[0].text.len() > 300);
    let summary = team.reader().session("s-1").expect("a query").expect("a session").summary;
    assert_eq!(summary.len(), 6);
    assert!(summary[0].starts_with("user: message 3 ") && summary[0].chars().count() == 80, "{summary:?}");
}

#[test]
fn who_goes_on_from_a_session_goes_on_with_its_work() {
    let mut team = Team::new();
    let (held, blocked, over) = (team.task(&[]), team.task(&[]), team.task(&[]));
    let for_a_minute = ClaimTask { task_id: over, lease_minutes: Some(1), file_locks: Vec::new() };
    team.does("s-1", Command::ClaimTask(for_a_minute));
    team.after(2);
    team.does("s-1", claim_with(held, &["src/db"]));
    team.does("s-1", claim(blocked));
    let why = "no network".parse().expect("a note");
    let update = |task_id, status, note| {
        Command::UpdateTask(UpdateTask { task_id, status, note, fencing_token: None })
    };
    team.does("s-1", update(blocked, TaskStatus::Blocked, Some(why)));
    let told = team.does("s-1", split("s-5")).next.expect("what to do next");
    let named = ["T1", "T2", "T3"].map(|task| told.contains(task));
    assert_eq!(named, [true, true, false], "the receipt names what went over: {told}");

    let at = |team: &Team, task| {
        let TaskView { session, status, token, file_locks, .. } = team.shown(task);
        (session, status, token, file_locks)
    };
    let child = || Some("s-5".to_owned());
    assert_eq!(at(&team, held), (child(), TaskStatus::Active, 2, vec!["src/db".to_owned()]));
    assert_eq!(at(&team, blocked), (child(), TaskStatus::Blocked, 2, vec![]));
    assert_ne!(at(&team, over).0, child(), "what had run out is nobody's to hand over");
    // The child needs no number, and the parent holds nothing any more.
    assert_eq!(team.refused("s-1", update(held, TaskStatus::Done, None)), Code::TaskTaken);
    team.does("s-5", update(held, TaskStatus::Done, None));
    let found = team.reader().session("s-5").expect("a query").expect("a session from its split on");
    let said = (found.agent.as_str(), found.source, found.parent_session.as_deref(), found.reason.as_deref());
    assert_eq!(said, ("analyst", Source::Fork, Some("s-1"), Some("the window is full")));
    // One whose client never came is closed like any other that fell silent.
    team.after(31);
    hivemind::writer::close_overdue(&mut team.committer).expect("a sweep");
    let found = team.reader().session("s-5").expect("a query").expect("a session");
    assert_eq!(found.end_cause, Some(EndCause::Vanished));
}

#[test]
fn whoever_has_a_lock_forgotten_is_told_of_its_copies() {
    let mut team = Team::new();
    let (task, other) = (team.task(&[]), team.task(&[]));
    team.does("s-1", claim_with(task, &["people/jane-doe"]));
    team.does("s-1", claim_with(task, &["src/db"]));
    team.does("s-2", claim_with(other, &["src/ui"]));
    team.does("s-1", split("s-5"));
    let events = team.workspace.events();
    let claims: Vec<(TaskId, EventId)> = events
        .iter()
        .filter_map(|stored| {
            let recorded = stored.recorded().expect("a known event");
            let Some(Event::TaskClaimed(claimed)) = recorded.event else { return None };
            Some((claimed.task_id, recorded.id))
        })
        .collect();
    let event_id = claims[0].1;
    let reason = "asked to".parse().expect("a reason");
    let forget = request("operator", Command::Forget(Forget { event_id, reason, with_quotes: false }));
    let answer = team.committer.commit(&[forget]).expect("a ledger that can be written").remove(0);
    let told = answer.expect("an erasure").next.expect("what else there is");
    let named: Vec<bool> = claims.iter().map(|(_, id)| told.contains(&id.to_string())).collect();
    // The second claim of the task and the one of the split; not the one of the other task.
    assert_eq!(claims.iter().map(|(of, _)| *of == task).collect::<Vec<_>>(), [true, true, false, true]);
    assert_eq!(named, [false, true, false, true], "{told}");
}

#[test]
fn what_a_session_starts_from_is_said_once() {
    let mut team = Team::new();
    let long = long_turn0();
    for session in ["s-1", "s-2", "s-3"] {
        team.does(session, start());
    }
    team.does("s-1", split_with("s-5", &long));
    // Neither who was handed something already nor who began with nothing is handed something else.
    for (parent, child) in [("s-1", "s-5"), ("s-2", "s-5"), ("s-1", "s-3")] {
        let refusal = team.asks(parent, split_with(child, &long)).expect_err("a refusal");
        assert_eq!((refusal.code, &refusal.details["argument"]), (Code::InvalidArgument, &"child".into()));
    }
    let handed = |child| team.reader().split_into(child).expect("a query").map(|split| split.turn0);
    assert_eq!((handed("s-5"), handed("s-3")), (Some(long), None));
}

#[test]
fn a_researcher_takes_nothing_from_who_sent_it_out() {
    let mut team = Team::new();
    let (held, its_own) = (team.task(&[]), TaskId::from_uuid(hivemind::system::new_id()));
    team.does("s-1", claim_with(held, &["src/db"]));
    team.does("s-1", researcher(0, its_own, Some(held)));
    assert_eq!((team.shown(held).session.as_deref(), team.shown(held).token), (Some("s-1"), 1));
    let child = team.shown(its_own).session.expect("it holds its task");
    let shown = |team: &Team| team.reader().session(&child).expect("a query").expect("a session");
    let found = shown(&team);
    assert_eq!((found.agent.as_str(), found.parent_session.as_deref()), ("analyst", Some("s-1")));
    // Its run waits its turn: that is not having vanished.
    team.after(40);
    hivemind::writer::close_overdue(&mut team.committer).expect("a sweep");
    assert_eq!(shown(&team).ended_at, None);
    assert_eq!(team.shown(its_own).session.as_deref(), Some(&*child));
    let run_id = RunId::from_uuid(id(0x4a00, 0));
    team.does("s-1", Command::CancelExperiment(CancelExperiment { run_id }));
    assert_eq!(shown(&team).end_cause, Some(EndCause::Ended));
}

#[test]
fn an_anchor_is_replaced_and_its_past_is_kept() {
    let mut team = Team::new();
    let save = |value: &str| {
        let key = "DB_SCHEMA".parse().expect("a key");
        Command::SaveAnchor(SaveAnchor { key, value: value.parse().expect("a value"), user: None })
    };
    team.does("s-1", save("v1"));
    assert_eq!(team.refused("s-2", save("v1")), Code::Duplicate);
    team.does("s-2", save("v2"));
    let anchors = team.reader().anchors(10).expect("a query");
    assert_eq!(anchors.iter().map(|anchor| anchor.value.as_str()).collect::<Vec<_>>(), ["v2"]);
    assert_eq!(team.reader().anchor_history("DB_SCHEMA").expect("a query").len(), 2);
}

/// Replay equals live, a rebuild equals both, and so does any grouping, whatever the work.
#[test]
fn whatever_the_work_replay_and_rebuild_say_the_same() {
    let continued = std::cell::Cell::new(0);
    // A plan names the directory of its profile, so all ledgers use the same one.
    let project = TempWorkspace::new();
    let law = |steps: Vec<(usize, Command)>| {
        let requests: Vec<Submission> =
            steps.into_iter().map(|(session, command)| by(SESSIONS[session], command)).collect();
        let run = |size: usize| {
            let workspace = TempWorkspace::new();
            let mut committer = planning(&project, workspace.committer(1));
            let mut accepted = 0;
            for group in requests.chunks(size) {
                let answers = committer.commit(group).expect("a ledger that can be written");
                accepted += answers.iter().filter(|answer| answer.is_ok()).count();
            }
            assert_eq!(&folded(&workspace.events()), committer.state());
            (workspace, accepted)
        };
        let ((one, accepted), (other, _)) = (run(1), run(256));
        let (ledger, models) = (dump(&one.ledger()), dump(&one.team_memory()));
        assert_eq!(ledger, dump(&other.ledger()));
        assert_eq!(models, dump(&other.team_memory()));
        let ledger = Ledger::open(&one.ledger()).expect("a ledger");
        let mut projection = Projection::open(&one.team_memory()).expect("read models");
        projection.rebuild(&ledger, |_| ()).expect("a rebuild");
        drop(projection);
        assert_eq!(models, dump(&one.team_memory()), "a rebuild makes other read models");
        // No task is held and over, and none is active and held by nobody without somebody having said so.
        let db = rusqlite::Connection::open(one.team_memory()).expect("read models");
        let odd = "SELECT id FROM tasks WHERE (session IS NULL) <> (lease_until IS NULL) \
                   OR (status IN ('done', 'invalidated', 'open') AND session IS NOT NULL)";
        assert_eq!(strings(&db, odd), Vec::<String>::new());
        // Nothing is left to do in a plan that was given up.
        let left = "SELECT t.id FROM tasks t JOIN phases p ON p.id = t.phase_id JOIN plans ON plans.id = p.plan_id \
                    WHERE plans.abandoned_at IS NOT NULL AND t.status NOT IN ('done', 'invalidated')";
        assert_eq!(strings(&db, left), Vec::<String>::new());
        // What was handed over is what was said, in however many events.
        let whole = strings(&db, "SELECT turn0 FROM splits WHERE length(turn0) > 16 * 1024");
        assert!(whole.iter().all(|turn0| *turn0 == long_turn0()));
        continued.set(continued.get() + whole.len());
        accepted
    };
    let total = std::cell::Cell::new(0);
    let steps = vec((0..SESSIONS.len(), work()), 1..40);
    TestRunner::new(harness::law(file!(), 60, 1_000))
        .run(&steps, |steps| {
            total.set(total.get() + law(steps));
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(total.get() > 100, "too few commands got through for the law to say much: {}", total.get());
    assert!(continued.get() > 0, "no hand-over went on in a second event");
}

fn id(base: u128, at: u8) -> Uuid {
    Uuid::from_u128(base + u128::from(at))
}

fn a_task() -> impl Strategy<Value = TaskId> {
    (0..5u8).prop_map(|at| TaskId::from_uuid(id(0x7a00, at)))
}

fn work() -> BoxedStrategy<Command> {
    let plan = || (0..2u8).prop_map(|at| PlanId::from_uuid(id(0x9a00, at)));
    let phase = || (0..2u8).prop_map(|at| PhaseId::from_uuid(id(0x8a00, at)));
    let status = proptest::sample::select(TaskStatus::ALL);
    let observed = (0..3u8, 0..3u8).prop_map(|(at, what)| {
        let seen = match what {
            0 => Seen::Tool(ToolUsed {
                tool: "Bash".parse().expect("a tool"),
                failed: false,
                input_sha256: None,
                answer_sha256: None,
                target: None,
                subagent: None,
            }),
            1 => Seen::Command(CommandRan { exit_code: Some(1), failed: true, ..ran("cargo test") }),
            _ => Seen::Files(FileEdited {
                merged: None,
                paths: vec![Scope::parse("src/db", "").expect("a path")],
                versions: Default::default(),
                checkout: Checkout::default(),
            }),
        };
        Command::Observe(Observe { event_id: EventId::from_uuid(id(0xe00, at)), seen })
    });
    prop_oneof![
        1 => plan().prop_map(|plan_id| Command::AddPlan(AddPlan {
            plan_id,
            title: "a plan".parse().expect("a title"),
            description: None,
            sot_path: None,
        })),
        1 => (plan(), any::<bool>()).prop_map(|(plan_id, is_over)| if is_over {
            let reason = "another comes first".parse().expect("a reason");
            Command::AbandonPlan(AbandonPlan { plan_id, reason })
        } else {
            Command::RenamePlan(RenamePlan { plan_id, title: "another".parse().expect("a title") })
        }),
        1 => (0..2u8).prop_map(|key| {
            Command::RetireAnchor(RetireAnchor { key: format!("K{key}").parse().expect("a key"), user: None })
        }),
        1 => (phase(), plan(), option::of(0..3u32)).prop_map(|(phase_id, plan_id, order)| {
            let title = "a phase".parse().expect("a title");
            Command::AddPhase(AddPhase { phase_id, plan_id: Some(plan_id), title, order })
        }),
        3 => (a_task(), option::of(phase()), option::of(a_task()), vec(a_task(), 0..2)).prop_map(
            |(task_id, phase_id, parent_task_id, depends_on)| {
                let add = AddTask { phase_id, parent_task_id, ..add(task_id, &depends_on) };
                Command::AddTask(add)
            }
        ),
        4 => (a_task(), option::of(1..3u32)).prop_map(|(task_id, lease_minutes)| {
            Command::ClaimTask(ClaimTask { task_id, lease_minutes, file_locks: Vec::new() })
        }),
        4 => (a_task(), status, option::of(1..3u64)).prop_map(|(task, status, token)| {
            update(task, status, token)
        }),
        1 => (option::of(plan()), option::of(phase()), vec(a_task(), 0..2)).prop_map(
            |(plan_id, phase_id, task_ids)| {
                let intent = "look here".parse().expect("an intent");
                let trajectory = Trajectory { intent, plan_id, phase_id, task_ids };
                Command::DeclareIntent(DeclareIntent { trajectory, team: false })
            }
        ),
        2 => proptest::sample::select(Source::ALL).prop_map(|source| {
            Command::StartSession(StartSession { source, client: None, parent_session: None })
        }),
        1 => Just(Command::EndSession(EndSession {})),
        3 => "[a-z ]{1,20}x".prop_map(|text| turn(&text)),
        1 => (0..2u8, 0..2u8).prop_map(|(key, value)| Command::SaveAnchor(SaveAnchor {
            key: format!("K{key}").parse().expect("a key"),
            value: format!("v{value}").parse().expect("a value"),
            user: None,
        })),
        // One of them is a session that others speak in, too.
        2 => (1..4u8, any::<bool>()).prop_map(|(child, is_long)| {
            let turn0 = if is_long { long_turn0() } else { "what was".to_owned() };
            split_with(&format!("s-{child}"), &turn0)
        }),
        1 => Just(Command::SnapshotBeliefs(SnapshotBeliefs {})),
        1 => (0..3u8, option::of(a_task())).prop_map(|(at, parent_task_id)| {
            // Some of its tasks are those that others take, too.
            researcher(at, TaskId::from_uuid(id(0x7a04, at)), parent_task_id)
        }),
        1 => (0..3u8).prop_map(|at| {
            Command::CancelExperiment(CancelExperiment { run_id: RunId::from_uuid(id(0x4a00, at)) })
        }),
        1 => (0..3u8).prop_map(|at| Command::RecordFiring(RecordFiring {
            guard: Guard::Claim(ClaimId::from_uuid(id(0xa00, at))),
            matched: "cargo test".parse().expect("a command"),
            kind: Some(hivemind::domain::action::Kind::Command),
            did: Some("cargo test".parse().expect("a command")),
        })),
        1 => (0..3u8).prop_map(|at| {
            let mut fact = fact(&format!("fact {at}"));
            fact.claim_id = ClaimId::from_uuid(id(0xa00, at));
            fact.claim_type = hivemind::domain::claim::ClaimType::Negative;
            fact.origin_task_id = Some(TaskId::from_uuid(id(0x7a00, at)));
            Command::CreateClaim(fact)
        }),
        2 => observed,
    ]
    .boxed()
}
