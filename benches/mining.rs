//! One pass of each miner: `cargo bench --bench mining -- [--events N] [--claims N]`.
//!
//! Fills a workspace with the observations of many tasks and with claims, and measures a pass over all of it, a second
//! pass that finds nothing new, and the cost of one command while nothing is mined.

use std::time::Duration;

use clap::Parser;
use hivemind::domain::agent::AgentId;
use hivemind::domain::checkout::Checkout;
use hivemind::domain::claim::{ClaimType, Share};
use hivemind::domain::command::{
    AddTask, ClaimTask, Command, CreateClaim, Observe, Seen, Submission, UpdateTask,
};
use hivemind::domain::decide::Policy;
use hivemind::domain::event::{CommandRan, FileEdited};
use hivemind::domain::ids::{ClaimId, CommandId, EventId, TaskId};
use hivemind::domain::plan::TaskStatus;
use hivemind::domain::time::Timestamp;
use hivemind::domain::versions::Versions;
use hivemind::system::{self, Environment, Sources};
use hivemind::workspace::Workspace;
use hivemind::writer::{Committer, Miner, propose};

/// Commands of a task: its claim, its end, and what hooks see between.
const OF_TASK: usize = 45;
/// Commands of a group.
const GROUP: usize = 256;

/// One pass of each miner.
#[derive(Debug, Parser)]
struct Options {
    /// Events of the ledger, about
    #[arg(long, default_value_t = 100_000)]
    events: usize,
    /// Claims among them
    #[arg(long, default_value_t = 10_000)]
    claims: usize,
    /// Passed by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

#[expect(clippy::print_stdout, reason = "a program that prints its figures")]
fn main() {
    let options = Options::parse();
    let dir = tempfile::tempdir().expect("a temporary directory");
    let workspace = Workspace::init(dir.path(), &Environment::read()).expect("a workspace");
    // The events lie within the last twenty days.
    let mut at = system::now().ms() - 20 * 24 * 3_600_000;
    let apart = 15 * 24 * 3_600_000 / options.events.max(1) as i64;
    let clock = Box::new(move || {
        at += apart;
        Timestamp::from_ms(at)
    });
    let sources = Sources { clock, ..Sources::system() };
    let mut committer = Committer::open(&workspace, Policy::default(), sources).expect("a committer");
    let tasks = options.events.saturating_sub(options.claims) / OF_TASK;
    let work = (0..tasks).flat_map(of_task).chain((0..options.claims).map(claim));
    let work: Vec<Submission> = work.collect();
    for group in work.chunks(GROUP) {
        for outcome in committer.commit(group).expect("a group") {
            outcome.expect("nothing is refused");
        }
    }
    println!("{} events, {tasks} tasks, {} claims", committer.head().seq, options.claims);
    for pass in ["first", "second"] {
        for miner in Miner::ALL {
            let began = system::instant();
            let recorded = propose(&mut committer, miner).expect("mined");
            println!("{pass} pass, {miner:?}: {} ms, {recorded} recorded", shown(began.elapsed()));
        }
    }
}

fn shown(time: Duration) -> u128 {
    time.as_millis()
}

fn submission(session: &str, command: Command) -> Submission {
    Submission {
        command_id: CommandId::from_uuid(system::new_id()),
        agent: AgentId::recorded("devops"),
        unpinned: None,
        session: Some(session.parse().expect("a session")),
        trace_id: None,
        idempotency_key: None,
        checkout: Checkout::default(),
        versions: Versions::new(),
        command,
    }
}

fn seen(session: &str, seen: Seen) -> Submission {
    submission(session, Command::Observe(Observe { event_id: EventId::from_uuid(system::new_id()), seen }))
}

/// A task of one of fifty kinds, with failures and steps that differ.
fn of_task(nth: usize) -> Vec<Submission> {
    let (session, kind) = (format!("s-{}", nth % 400), nth % 50);
    let task_id = TaskId::from_uuid(system::new_id());
    let title = format!("task {nth} of kind {kind}").parse().expect("a title");
    let (description, phase_id, parent_task_id) = (None, None, None);
    let (depends_on, scopes) = (Vec::new(), Vec::new());
    let add = AddTask { task_id, title, description, phase_id, parent_task_id, depends_on, scopes };
    let claim = ClaimTask { task_id, lease_minutes: Some(24 * 60), file_locks: Vec::new() };
    let end = UpdateTask {
        task_id,
        status: if nth.is_multiple_of(9) { TaskStatus::Invalidated } else { TaskStatus::Done },
        note: Some("it is over".parse().expect("a note")),
        fencing_token: None,
    };
    let mut all =
        vec![submission(&session, Command::AddTask(add)), submission(&session, Command::ClaimTask(claim))];
    for step in 0..OF_TASK - 3 {
        all.push(match step % 6 {
            0 => {
                let path = format!("src/k{kind}/f{}.rs", (nth + step) % 7).parse().expect("a path");
                seen(
                    &session,
                    Seen::Files(FileEdited {
                        paths: vec![path],
                        merged: None,
                        versions: Versions::default(),
                        checkout: Checkout::default(),
                    }),
                )
            }
            1 => ran(&session, &format!("cargo test k{kind}"), Some(&format!("E{} in k{kind}", step % 3))),
            2 => ran(&session, &format!("tool{} --of {kind}", step / 6), None),
            3 => ran(&session, "cargo fmt", None),
            4 => ran(&session, &format!("cargo test k{kind}"), None),
            _ => ran(&session, &format!("cargo run --bin b{}", (nth * 7 + step) % 90), None),
        });
    }
    all.push(submission(&session, Command::UpdateTask(end)));
    all
}

fn ran(session: &str, line: &str, error: Option<&str>) -> Submission {
    let run = CommandRan {
        command: line.parse().expect("a command"),
        exit_code: Some(i32::from(error.is_some())),
        error_signature: error.map(|error| error.parse().expect("a signature")),
        failed: error.is_some(),
        of_last: false,
        unseen: false,
        runs: vec![line.parse().expect("a command")],
        tail: None,
        output_sha256: None,
        answer_sha256: None,
        took_ms: None,
        checkout: Checkout::default(),
    };
    seen(session, Seen::Command(run))
}

fn claim(nth: usize) -> Submission {
    let statement = format!("part {nth} of the system waits for queue {}", nth * 31 % 977);
    let create = CreateClaim {
        claim_id: ClaimId::from_uuid(system::new_id()),
        statement: statement.parse().expect("a statement"),
        claim_type: ClaimType::Fact,
        scopes: vec![format!("src/a{}", nth % 300).parse().expect("a scope")],
        confidence: Share::FULL,
        ..serde_json::from_value(serde_json::json!({
            "claim_id": system::new_id(), "statement": "-", "claim_type": "fact", "scopes": [], "confidence": 1.0
        }))
        .expect("a claim")
    };
    submission("s-claims", Command::CreateClaim(create))
}
