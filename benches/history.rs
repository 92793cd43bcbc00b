//! A history of ordinary work for the benchmarks: tasks with what hooks see between their ends, and claims.

use hivemind::domain::agent::AgentId;
use hivemind::domain::checkout::Checkout;
use hivemind::domain::claim::{ClaimType, Share};
use hivemind::domain::command::{
    AddTask, ClaimTask, Command, CreateClaim, Observe, Seen, Submission, UpdateTask,
};
use hivemind::domain::event::{CommandRan, FileEdited};
use hivemind::domain::ids::{ClaimId, CommandId, EventId, TaskId};
use hivemind::domain::plan::TaskStatus;
use hivemind::domain::time::Timestamp;
use hivemind::domain::versions::Versions;
use hivemind::system::{self, Sources};
use hivemind::writer::Committer;

/// Commands of a task: its claim, its end, and what hooks see between.
const OF_TASK: usize = 45;
/// Commands of a group.
const GROUP: usize = 256;
/// The history lies in days that end so long before now.
const BEFORE_MS: i64 = 20 * 24 * 3_600_000;
/// The days of the history.
const DAYS_MS: i64 = 15 * 24 * 3_600_000;

/// The sources of a committer whose clock passes through the days of so many events.
pub(crate) fn sources(events: usize) -> Sources {
    let mut at = system::now().ms() - BEFORE_MS;
    let apart = DAYS_MS / events.max(1) as i64;
    let clock = Box::new(move || {
        at += apart;
        Timestamp::from_ms(at)
    });
    Sources { clock, ..Sources::system() }
}

/// Commits about so many events, with so many claims among them. Returns the number of tasks.
pub(crate) fn fill(committer: &mut Committer, events: usize, claims: usize) -> usize {
    let tasks = events.saturating_sub(claims) / OF_TASK;
    let work: Vec<Submission> = (0..tasks).flat_map(of_task).chain((0..claims).map(claim)).collect();
    for group in work.chunks(GROUP) {
        for outcome in committer.commit(group).expect("a group") {
            outcome.expect("nothing is refused");
        }
    }
    tasks
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
    let add = AddTask {
        task_id,
        title,
        description,
        phase_id,
        parent_task_id,
        depends_on,
        scopes,
        meant_for: None,
    };
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

/// A command that a hook saw.
pub(crate) fn ran(session: &str, line: &str, error: Option<&str>) -> Submission {
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
        files_sha256: None,
        took_ms: None,
        subagent: None,
        checkout: Checkout::default(),
    };
    seen(session, Seen::Command(run))
}

/// A claim about one of three hundred files.
pub(crate) fn claim(nth: usize) -> Submission {
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
