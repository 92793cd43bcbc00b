//! Locks on anything: no two sessions hold what overlaps, a lock ends by the clock and with its session, and who is at
//! what is said wherever it is shown.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use hivemind::domain::claim::{ClaimType, ReportKind};
use hivemind::domain::command::{
    AddTask, ClaimTask, Command, CreateClaim, EndSession, LockScopes, ReleaseScopes, ReportEvent,
    StartSession,
};
use hivemind::domain::ids::{EventId, TaskId};
use hivemind::domain::plan::TaskStatus;
use hivemind::domain::receipt::WarningCode;
use hivemind::domain::rejection::Code;
use hivemind::domain::scope::Scope;
use hivemind::domain::session::Source;
use hivemind::domain::time::Timestamp;
use hivemind::ledger::Ledger;
use hivemind::mcp::{Era, Pane};
use hivemind::reads::Reads;
use hivemind::store::{LockView, Projection};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::bench::Bench;
use crate::harness::{self, dump, fact, folded, request};
use crate::hook::{claude, within};
use crate::shell::Shell;
use crate::work::{Team, claim_with, split, start, turn, update};

/// What the law locks: some of it overlaps.
const SCOPES: [&str; 8] =
    ["src", "src/db", "src/db/*.rs", "src/ui", "tag:cpu", "tag:gpu", "target:pool", "."];
const SESSIONS: [&str; 4] = ["s-0", "s-1", "s-2", ""];

fn scopes(texts: &[&str]) -> Vec<Scope> {
    texts.iter().map(|text| Scope::parse(text, "").expect("a scope")).collect()
}

fn lock(texts: &[&str], minutes: Option<u32>) -> Command {
    let why = "benchmarks until the clock says so".parse().expect("a reason");
    Command::LockScopes(LockScopes { scopes: scopes(texts), minutes, why })
}

fn release(texts: &[&str]) -> Command {
    Command::ReleaseScopes(ReleaseScopes { scopes: scopes(texts) })
}

fn now(team: &Team) -> Timestamp {
    Timestamp::from_ms(team.now.load(std::sync::atomic::Ordering::Relaxed))
}

fn shown(team: &Team) -> Vec<LockView> {
    let (locks, _) =
        Reads::of((*team.workspace).clone()).ask(now(team), |store| store.locks()).expect("a query");
    locks.expect("read models")
}

fn locked(team: &Team) -> Vec<String> {
    shown(team).into_iter().map(|lock| format!("{} {}", lock.session, lock.scope)).collect()
}

#[test]
fn a_lock_is_held_once_and_ends_by_the_clock() {
    let mut team = Team::new();
    let taken = team.does("s-1", lock(&["tag:cpu", "src/db"], Some(5)));
    assert!(taken.next.expect("a way back").contains("\"release\":true"));
    let refused = team.asks("s-2", lock(&["TAG:CPU"], None)).expect_err("a refusal");
    assert_eq!(refused.code, Code::ScopeLocked);
    let told = format!("analyst holds tag:cpu for \"benchmarks until the clock says so\" until {}", {
        Timestamp::from_ms(now(&team).ms() + 5 * 60_000)
    });
    assert!(refused.message.starts_with(&told), "{}", refused.message);
    assert!(refused.message.ends_with("(5m left)"), "{}", refused.message);
    assert_eq!(
        (&refused.details["holder"], &refused.details["session"]),
        (&"analyst".to_owned(), &"s-1".to_owned())
    );
    // A file below a locked directory, and a glob that may mean one.
    for one in ["src/db/pool.rs", "src/**/*.rs", "."] {
        assert_eq!(team.asks("s-2", lock(&[one], None)).expect_err(one).code, Code::ScopeLocked);
    }
    team.does("s-2", lock(&["src/ui", "tag:gpu"], None));
    // The same session takes it again: for longer, and not twice.
    team.after(4);
    team.does("s-1", lock(&["tag:cpu"], Some(10)));
    assert_eq!(locked(&team), ["s-1 src/db", "s-1 tag:cpu", "s-2 src/ui", "s-2 tag:gpu"]);
    team.after(2);
    let before = team.workspace.events().len();
    assert_eq!(locked(&team), ["s-1 tag:cpu", "s-2 src/ui", "s-2 tag:gpu"]);
    assert_eq!(team.workspace.events().len(), before, "nothing is written when a lock ends");
    team.does("s-2", lock(&["src/db/pool.rs"], Some(1)));
    team.after(60);
    assert_eq!(locked(&team), Vec::<String>::new());
    team.does("s-2", lock(&["tag:cpu"], None));
}

#[test]
fn a_lock_is_given_back_by_its_holder_and_by_who_may_end_any() {
    let mut team = Team::new();
    team.does("s-1", lock(&["src/db/a.rs", "src/db/b.rs", "tag:cpu"], Some(24 * 60)));
    let refused = team.asks("s-2", release(&["tag:cpu"])).expect_err("a refusal");
    assert_eq!(refused.code, Code::NotAllowed);
    assert!(refused.message.contains("analyst holds tag:cpu for \"benchmarks"), "{}", refused.message);
    // All that lies below, and no more.
    team.does("s-1", release(&["src/db"]));
    assert_eq!(locked(&team), ["s-1 tag:cpu"]);
    assert_eq!(team.refused("s-1", release(&["src/db"])), Code::Duplicate);
    let end = request("architect", release(&["tag:cpu"]));
    team.committer.commit(&[end]).expect("a ledger").remove(0).expect("the architect ends any lock");
    assert_eq!(locked(&team), Vec::<String>::new());
    team.does("s-1", lock(&["tag:cpu"], None));
    team.does("s-1", lock(&["tag:gpu"], None));
    team.does("s-1", release(&[]));
    assert_eq!(locked(&team), Vec::<String>::new());
    for (wrong, minutes) in [(vec![], None), (vec!["src"], Some(0)), (vec!["src"], Some(24 * 60 + 1))] {
        assert_eq!(
            team.refused("s-1", lock(&wrong, minutes)),
            Code::InvalidArgument,
            "{wrong:?} {minutes:?}"
        );
    }
    assert_eq!(team.refused("", lock(&["src"], None)), Code::InvalidArgument, "a lock is a session's");
}

#[test]
fn a_lock_goes_with_its_session_and_keeps_a_silent_one() {
    let mut team = Team::new();
    for session in ["s-1", "s-2"] {
        team.does(session, start());
    }
    team.does("s-1", lock(&["tag:cpu"], Some(90)));
    // A run under a lock may be silent for longer than a session that vanished.
    team.after(60);
    hivemind::writer::close_overdue(&mut team.committer).expect("a sweep");
    assert_eq!(locked(&team), ["s-1 tag:cpu"]);
    assert!(team.reader().session("s-2").expect("a query").expect("a session").ended_at.is_some());
    team.does("s-1", split("s-5"));
    assert_eq!(locked(&team), ["s-5 tag:cpu"]);
    assert_eq!(team.asks("s-1", lock(&["tag:cpu"], None)).expect_err("it moved on").code, Code::ScopeLocked);
    team.does("s-5", Command::EndSession(EndSession {}));
    assert_eq!(locked(&team), Vec::<String>::new());
    team.does("s-2", lock(&["tag:cpu"], Some(1)));
    team.after(60);
    hivemind::writer::close_overdue(&mut team.committer).expect("a sweep");
    assert!(team.reader().session("s-1").expect("a query").expect("a session").ended_at.is_some());
}

#[test]
fn a_write_against_a_lock_is_warned_of_and_passes() {
    let mut team = Team::new();
    team.does("s-1", lock(&["src/db", "tag:cpu"], Some(20)));
    let claim = |statement: &str, texts: &[&str]| {
        Command::CreateClaim(CreateClaim {
            claim_type: ClaimType::Decision,
            scopes: scopes(texts),
            ..fact(statement)
        })
    };
    let told = |team: &mut Team, session: &str, command: Command| -> Vec<String> {
        let warnings = team.does(session, command).warnings.into_iter();
        let of_locks = warnings.filter(|warning| warning.code == WarningCode::FileLeased);
        of_locks.map(|warning| warning.message).collect()
    };
    let warned = told(&mut team, "s-2", claim("the pool leaks", &["src/db/pool.rs"]));
    let [warned] = warned.as_slice() else { panic!("{warned:?}") };
    assert!(
        warned.starts_with("analyst holds src/db for \"benchmarks until the clock says so\" until "),
        "{warned}"
    );
    assert!(warned.ends_with(" (20m left): agree first, or work elsewhere"), "{warned}");
    let edited = Command::ReportEvent(ReportEvent {
        event_id: EventId::from_uuid(Uuid::from_u128(0xed17)),
        kind: ReportKind::FileEdited,
        summary: "the pool is mended".parse().expect("a summary"),
        paths: scopes(&["src/db/pool.rs"]),
        command: None,
        exit_code: None,
        error_signature: None,
    });
    assert_eq!(told(&mut team, "s-2", edited).len(), 1);
    // Neither what is elsewhere or everywhere, nor the holder's own.
    assert_eq!(told(&mut team, "s-2", claim("the button is blue", &["src/ui"])), Vec::<String>::new());
    assert_eq!(told(&mut team, "s-2", claim("the build is slow", &["."])), Vec::<String>::new());
    assert_eq!(told(&mut team, "s-1", claim("the pool holds 20", &["src/db"])), Vec::<String>::new());
    team.after(21);
    assert_eq!(told(&mut team, "s-2", claim("the pool is slow", &["src/db"])), Vec::<String>::new());
}

/// Over random commands and time no two sessions hold what overlaps, what is locked is what a plain count of the commands
/// says, and a rebuild says the same.
#[test]
fn no_two_sessions_hold_what_overlaps() {
    let (taken, refused) = (Cell::new(0), Cell::new(0));
    let law = |steps: Vec<(usize, u32, Command)>| {
        let mut team = Team::new();
        let mut counted: BTreeMap<(String, String), i64> = BTreeMap::new();
        for (session, minutes, command) in steps {
            let session = SESSIONS[session];
            team.after(i64::from(minutes));
            let at = now(&team);
            let answer = team.asks(session, command.clone());
            let of_others = |wanted: &[Scope]| {
                let state = team.committer.state();
                let mut others = state.work().locked(at).filter(|locked| locked.session.as_str() != session);
                others.any(|locked| locked.scope.is_at(wanted))
            };
            match (&command, answer) {
                (Command::LockScopes(lock), Ok(_)) => {
                    taken.set(taken.get() + 1);
                    let until = at.plus_minutes(lock.minutes.unwrap_or(15)).ms();
                    let keys = lock.scopes.iter().map(|scope| (session.to_owned(), scope.to_string()));
                    counted.extend(keys.map(|key| (key, until)));
                }
                (Command::LockScopes(LockScopes { scopes: wanted, .. }), Err(refusal))
                | (Command::ClaimTask(ClaimTask { file_locks: wanted, .. }), Err(refusal))
                    if refusal.code == Code::ScopeLocked =>
                {
                    refused.set(refused.get() + 1);
                    assert!(of_others(wanted), "no other session holds it: {refusal:?}");
                }
                (Command::ReleaseScopes(ReleaseScopes { scopes }), Ok(_)) => {
                    // The agent of the first session also speaks in none, and gives back what it locked.
                    let session = if session.is_empty() { SESSIONS[0] } else { session };
                    counted.retain(|(of, scope), _| {
                        let scope: Scope = scope.parse().expect("a scope");
                        of != session || !(scopes.is_empty() || scopes.iter().any(|one| one.covers(&scope)))
                    });
                }
                (Command::EndSession(_), Ok(_)) => counted.retain(|(of, _), _| of != session),
                _ => {}
            }
            hivemind::writer::close_overdue(&mut team.committer).expect("a sweep");
            let state = team.committer.state();
            let held: Vec<_> = state.work().locked(at).collect();
            for (number, one) in held.iter().enumerate() {
                for other in &held[number + 1..] {
                    assert!(
                        one.session == other.session || !one.scope.overlaps(other.scope),
                        "{one:?} and {other:?}"
                    );
                }
            }
            let locks: BTreeSet<(String, String)> = state
                .work()
                .locks()
                .iter()
                .flat_map(|(session, locks)| locks.iter().map(move |(scope, lock)| (session, scope, lock)))
                .filter(|(_, _, lock)| lock.until >= at)
                .map(|(session, scope, _)| (session.to_string(), scope.to_string()))
                .collect();
            let wanted = counted.iter().filter(|(_, until)| **until >= at.ms()).map(|(key, _)| key.clone());
            assert_eq!(locks, wanted.collect::<BTreeSet<_>>());
        }
        // The read models say what the state says, live and rebuilt.
        let at = now(&team);
        let state = team.committer.state();
        let held = state.work().locked(at);
        let held: BTreeSet<_> =
            held.map(|held| (held.session.to_string(), held.scope.to_string(), held.until.ms())).collect();
        let read: BTreeSet<_> =
            shown(&team).into_iter().map(|lock| (lock.session, lock.scope, lock.until)).collect();
        assert_eq!(held, read);
        assert_eq!(&folded(&team.workspace.events()), state);
        let models = dump(&team.workspace.team_memory());
        let ledger = Ledger::open(&team.workspace.ledger()).expect("a ledger");
        let mut projection = Projection::open(&team.workspace.team_memory()).expect("read models");
        projection.rebuild(&ledger, |_| ()).expect("a rebuild");
        drop(projection);
        assert_eq!(models, dump(&team.workspace.team_memory()), "a rebuild makes other read models");
        team.after(24 * 60 + 1);
        assert_eq!(locked(&team), Vec::<String>::new());
    };
    let step = (0..SESSIONS.len(), 0..12u32, command());
    TestRunner::new(harness::law(file!(), 60, 1_000))
        .run(&vec(step, 1..30), |steps| {
            law(steps);
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(taken.get() > 50 && refused.get() > 20, "{} taken, {} refused", taken.get(), refused.get());
}

fn command() -> BoxedStrategy<Command> {
    let some = || vec(proptest::sample::select(&SCOPES[..]), 1..3);
    let task = || (0..3u8).prop_map(|at| TaskId::from_uuid(Uuid::from_u128(0x7a00 + u128::from(at))));
    prop_oneof![
        6 => (some(), option::of(1..40u32)).prop_map(|(scopes, minutes)| lock(&scopes, minutes)),
        2 => some().prop_map(|scopes| release(&scopes)),
        1 => Just(release(&[])),
        1 => Just(Command::EndSession(EndSession {})),
        1 => Just(Command::StartSession(StartSession {
            source: Source::Startup,
            client: None,
            parent_session: None,
        })),
        1 => Just(turn("go on")),
        2 => task().prop_map(|task_id| Command::AddTask(AddTask {
            meant_for: None,
            task_id,
            title: "mend the pool".parse().expect("a title"),
            description: None,
            phase_id: None,
            parent_task_id: None,
            depends_on: Vec::new(),
            scopes: Vec::new(),
        })),
        3 => (task(), some()).prop_map(|(task, scopes)| claim_with(task, &scopes)),
        1 => task().prop_map(|task| update(task, TaskStatus::Open, None)),
    ]
    .boxed()
}

async fn offered(bench: &Bench, agent: &str) -> Pane {
    let pane = Pane::offered(bench.binary(), bench.root(), Some(agent), Era::Modern, "core,plan");
    pane.await.expect("a pane")
}

async fn read(pane: &Pane, uri: &str) -> String {
    pane.read(uri).await.expect("a resource")
}

#[tokio::test]
async fn who_is_at_what_is_said_wherever_it_is_shown() {
    let bench = Bench::new();
    bench.profile(
        "slow",
        "description = \"a test\"\nscopes = [\"**\"]\nargv = [\"sleep\", \"60\"]\ntimeout_ms = 90000\n[expect]\nexit = 0\n",
    );
    let (devops, analyst) = (offered(&bench, "devops").await, offered(&bench, "analyst").await);
    let pool = bench.claim(&devops, "the pool holds 20 connections", "src/db").await;
    let run = bench.accepted(&devops, "run_experiment", json!({ "profile": "slow", "claim_id": pool })).await;
    let run = bench.name(run.field("run_id"));
    let of_run = format!("devops tests it, {run} ");
    // On its own page, in lists, and for programs.
    assert!(read(&analyst, &format!("hivemind://claims/{pool}")).await.contains(&format!("- now: {of_run}")));
    let listed = read(&analyst, "hivemind://claims").await;
    assert!(listed.contains(&format!(", {run} ")) && listed.contains("(devops)"), "a short mark: {listed}");
    let page = read(&analyst, &format!("hivemind://claims/{pool}?format=json")).await;
    let page: Value = serde_json::from_str(&page).expect("JSON");
    assert_eq!(page["by_now"][0]["agent"], "devops", "{page}");
    let hm = |arguments: &[&str]| String::from_utf8(bench.hm(arguments).stdout).expect("UTF-8");
    assert!(hm(&["claim", "show", "C1"]).contains(&of_run));
    let listed = hm(&["claim", "list"]);
    assert!(listed.contains(&format!(", {run} ")) && listed.contains("(devops)"), "a short mark: {listed}");
    // In the receipt of a claim that says otherwise, and in the other agents' packs.
    let other =
        json!({ "statement": "the pool holds 40 connections", "claim_type": "fact", "scopes": ["src/db"] });
    let told = bench.accepted(&analyst, "create_claim", other).await;
    assert!(told.text.contains(&format!("(now: {of_run}")), "{}", told.text);
    assert_eq!(told.body["at_now"][0]["claim_id"], json!(pool), "{}", told.body);
    let ui = bench.claim(&devops, "the button is blue", "src/ui").await;
    let task =
        bench.accepted(&devops, "add_task", json!({ "title": "paint it", "scopes": ["src/ui"] })).await;
    bench.accepted(&devops, "claim_task", json!({ "task_id": task.field("task_id") })).await;
    let pack = read(&analyst, "hivemind://context").await;
    let element = |id: &str, pack: &str| {
        let name = format!("id=\"{}\"", bench.name(id));
        pack.lines().find(|line| line.contains(&name) && line.contains("<claim ")).map(str::to_owned)
    };
    // Of a place the pack says once who works there, and on each claim only which run tests it.
    assert!(!element(&ui, &pack).expect("the claim").contains("by_now"), "{pack}");
    assert!(pack.contains("<task id=\"T1\"") && pack.contains("by=\"devops\""), "{pack}");

    // A lock stands on what it locks, in the plan and in packs.
    let quiet = json!({ "scopes": ["tag:cpu", "src/ui/*.rs"], "minutes": 20, "why": "benchmarks" });
    bench.accepted(&devops, "lock", quiet).await;
    let refused =
        analyst.call("lock", json!({ "scopes": ["tag:cpu"], "why": "mine" })).await.expect("an answer");
    assert_eq!((refused.refused, refused.field("code")), (true, "scope_locked"));
    assert!(refused.text.contains("devops holds tag:cpu for \"benchmarks\" until "), "{}", refused.text);
    let shown = read(&analyst, &format!("hivemind://claims/{ui}")).await;
    assert!(shown.contains("devops holds src/ui/*.rs, ") && shown.contains(" left: benchmarks"), "{shown}");
    let plan = read(&analyst, "hivemind://plan").await;
    assert!(plan.contains("## Locked") && plan.contains("- tag:cpu by devops until "), "{plan}");
    let pack = read(&analyst, "hivemind://context").await;
    let of_lock = pack.lines().find(|line| line.contains("<lock scope=\"tag:cpu\" by=\"devops\""));
    assert!(of_lock.is_some_and(|line| line.ends_with(">benchmarks</lock>")), "{pack}");
    assert!(!pack.contains("<lock scope=\"src/ui"), "no place of the analyst's: {pack}");
    // A run is against a lock on the machine.
    let told = bench.accepted(&analyst, "run_experiment", json!({ "profile": "slow" })).await;
    assert_eq!(told.body["warnings"][0]["code"], "file_leased", "{}", told.body);
    assert!(told.text.contains("devops holds tag:cpu for \"benchmarks\""), "{}", told.text);
    for run in ["R1", "R2"] {
        bench.hm(&["--agent", "operator", "experiment", "cancel", run]);
        // The end of a run comes after the receipt of its cancellation.
        crate::harness::wait_until("the run is over", || {
            hm(&["experiment", "show", run, "--json"]).contains("\"canceled\"")
        });
    }
    bench.accepted(&devops, "lock", json!({ "release": true })).await;
    assert!(!read(&analyst, "hivemind://plan").await.contains("## Locked"));
    bench.assert_sound();
}

#[test]
fn a_lock_is_taken_listed_and_given_back_on_the_command_line() {
    let bench = Bench::new();
    let hm = |session: &str, agent: &str, arguments: &[&str]| {
        let mut command = std::process::Command::new(bench.binary());
        command.args(["--agent", agent]).args(arguments).current_dir(bench.root());
        let output = command.env("HM_SESSION", session).output().expect("hm runs");
        let text =
            String::from_utf8(output.stdout).expect("UTF-8") + &String::from_utf8_lossy(&output.stderr);
        (output.status.code(), text)
    };
    let (code, told) = hm("one", "devops", &["lock", "tag:cpu", "--for", "2h", "--why", "benchmarks"]);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("hm lock --release tag:cpu"), "{told}");
    let (code, told) = hm("two", "analyst", &["lock", "TAG:cpu", "--why", "mine"]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("devops holds tag:cpu for \"benchmarks\" until "), "{told}");
    let task = hm("two", "analyst", &["task", "add", "measure it"]);
    assert_eq!(task.0, Some(0), "{}", task.1);
    let (code, told) = hm("two", "analyst", &["task", "claim", "T1", "--lock", "tag:cpu"]);
    assert_eq!(code, Some(1), "{told}");
    assert_eq!(hm("two", "analyst", &["task", "claim", "T1", "--lock", "target:pool"]).0, Some(0));
    let (_, listed) = hm("two", "analyst", &["lock", "--list"]);
    let lines: Vec<&str> = listed.lines().collect();
    let [machine, pool] = lines.as_slice() else { panic!("{listed}") };
    assert!(
        machine.starts_with("- tag:cpu by devops until ") && machine.ends_with("for \"benchmarks\""),
        "{listed}"
    );
    assert!(pool.starts_with("- target:pool by analyst until ") && pool.contains("for task T1 (measure it)"));
    assert_eq!(hm("one", "devops", &["lock", "src", "--for", "soon", "--why", "x"]).0, Some(2));
    // Red before: seconds were refused, and the list of locks was said to be that of the plan.
    let (code, told) = hm("one", "devops", &["lock", "src", "--for", "90s", "--why", "x"]);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("a lock lasts whole minutes: 90s is 2m"), "{told}");
    assert_eq!(hm("one", "devops", &["lock", "--release", "src"]).0, Some(0));
    let (code, told) = hm("one", "devops", &["lock", "--release", "src"]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("`hm lock --list` lists what is locked"), "{told}");
    assert_eq!(hm("one", "devops", &["lock", "src"]).0, Some(2), "a lock says what it is for");
    assert_eq!(hm("one", "devops", &["lock", "--release", "tag:cpu"]).0, Some(0));
    assert_eq!(hm("one", "devops", &["lock", "--list"]).1.lines().count(), 1);
}

#[test]
fn an_agent_is_told_of_a_lock_before_a_tool_and_with_its_next_prompt() {
    let shell = Shell::new();
    let session = claude(&shell, "s-1", "devops");
    session.start();
    session.prompt("mend the pool");
    crate::hook::spool_is_empty(&shell);
    assert_eq!(session.about_to_edit("src/db/pool.rs"), "");
    within(&shell, "other", "hm --json --agent analyst lock src/db --for 20m --why \"I move files\"");
    within(&shell, "other", "hm --json --agent analyst lock tag:cpu --for 20m --why benchmarks");
    let told = session.about_to_edit("src/db/pool.rs");
    assert!(told.starts_with("hivemind: analyst holds src/db/pool.rs for \"I move files\" until "), "{told}");
    assert!(told.ends_with(" left): agree first, or work elsewhere."), "{told}");
    crate::hook::spool_is_empty(&shell);
    assert_eq!(session.about_to_edit("src/db/pool.rs"), "", "once a turn");
    // A quiet machine is asked for: what runs there is against it.
    let told = session.about_to_run("cargo bench");
    assert!(told.contains("analyst holds tag:cpu for \"benchmarks\" until "), "{told}");
    let news = session.prompt("go on");
    assert!(news.contains("<lock scope=\"tag:cpu\" by=\"analyst\""), "{news}");
    crate::hook::spool_is_empty(&shell);
    assert_eq!(session.about_to_edit("src/ui.rs"), "", "another file");
    within(&shell, "other", "hm --json --agent analyst lock --release");
    assert_eq!(session.about_to_edit("src/db/pool.rs"), "");
}
