//! What a hook costs its client: `cargo bench --bench hooks -- [--claims 10000] [--observations N] [--guards N]
//! [--calls N] [--json]`.
//!
//! Measures whole `hm hook claude` processes, from spawn to end, beside `hm --version` in the same run: before a tool
//! that meets nothing and one that meets a dead end, after a tool, at a prompt, and at the start of a session. It runs a
//! copy of the binary, as an installation makes it: a linker writes its file in small pieces, from which a process starts
//! a tenth slower.

mod support;

use std::io::Write;
use std::process::{Command as Process, Stdio};
use std::time::Duration;

use clap::Parser;
use hivemind::domain::checkout::Checkout;
use hivemind::domain::claim::{ClaimType, Trigger};
use hivemind::domain::command::{AcceptGuard, Command, Observe, Seen, Submission};
use hivemind::domain::decide::Policy;
use hivemind::domain::event::CommandRan;
use hivemind::domain::guard::{Condition, Effect};
use hivemind::domain::ids::{EventId, GuardId};
use hivemind::schedule::JobRuns;
use hivemind::system::{self, Sources};
use hivemind::writer::Committer;
use serde_json::{Value, json};
use support::{HM, Space, Table, percentile_us};

/// What a hook costs its client.
#[derive(Debug, Parser)]
struct Options {
    /// Workspaces of so many claims
    #[arg(long, value_delimiter = ',', default_values_t = [10_000])]
    claims: Vec<usize>,
    /// Commands that hooks saw before
    #[arg(long, default_value_t = 0)]
    observations: usize,
    /// Guards in force
    #[arg(long, default_value_t = 0)]
    guards: usize,
    /// Calls of each kind
    #[arg(long, default_value_t = 100)]
    calls: usize,
    #[command(flatten)]
    shared: support::Shared,
}

/// Jobs of the writer that read all of a new memory, and how long they may take.
const JOBS: [&str; 5] = ["patterns", "integrity", "playbooks", "reflection", "merges"];
const JOBS_WITHIN: Duration = Duration::from_secs(60);
/// The name of the installed binary.
const INSTALLED: &str = "hm";
/// Dead ends with triggers, besides the claims.
const DEAD_ENDS: usize = 500;

fn main() {
    let options = Options::parse();
    if !options.shared.asked() {
        return;
    }
    let load = support::load();
    let mut tables = Vec::new();
    for claims in &options.claims {
        support::say(&format!("filling {claims} claims"));
        let mut space = Space::new(&options.shared.on);
        space.fill(*claims);
        commit(&space, (0..DEAD_ENDS).map(dead_end));
        commit(&space, (0..options.guards).map(guard));
        commit(&space, (0..options.observations).map(observation));
        space.start_writer();
        is_at_rest(&space);
        std::fs::copy(HM, space.root().join(INSTALLED)).expect("an installed binary");
        tables.push(calls(&space, *claims, options.calls));
    }
    support::print("hooks", &options.shared, load, &tables);
}

/// Waits until the first runs of the writer's jobs are over. They take seconds on a memory that was just filled, at a lower
/// priority, and no team begins a session with ten thousand new claims.
fn is_at_rest(space: &Space) {
    let began = system::instant();
    let is_over = || {
        let runs = JobRuns::load(&space.workspace().schedule());
        JOBS.iter().all(|job| runs.0.contains_key(*job))
    };
    while !is_over() && began.elapsed() < JOBS_WITHIN {
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn commit(space: &Space, submissions: impl Iterator<Item = Submission>) {
    let sources = Sources::system();
    let mut committer =
        Committer::open(space.workspace(), Policy::default(), sources).expect("a workspace to write in");
    let submissions: Vec<Submission> = submissions.collect();
    for group in submissions.chunks(support::GROUP) {
        for outcome in committer.commit(group).expect("a group") {
            outcome.expect("a command that is accepted");
        }
    }
}

/// A dead end that tells of a command, so that there is something to look through.
fn dead_end(number: usize) -> Submission {
    let mut create = support::claim(number, ClaimType::Negative);
    create.statement = format!("building part{number} with make hangs").parse().expect("a statement");
    let commands = vec![format!("make part{number}").parse().expect("a command")];
    create.trigger = Some(Trigger { commands, ..Trigger::default() });
    support::submission("analyst", Command::CreateClaim(create))
}

/// A guard of a command that is not run, so that each hook looks at all of them in vain.
fn guard(number: usize) -> Submission {
    let commands = vec![format!("deploy stage{number}").parse().expect("a command line")];
    let accept = AcceptGuard {
        guard_id: GuardId::from_uuid(system::new_id()),
        condition: Condition { commands, ..Condition::default() },
        action: Effect::Warn,
        text: "ask first".parse().expect("an advice"),
        source_claim: None,
        source_pattern: None,
        profile: None,
        until: None,
    };
    support::submission("architect", Command::AcceptGuard(accept))
}

/// A command of one of fifty sessions.
fn observation(number: usize) -> Submission {
    let command = format!("cargo test part{}", number % 997);
    let seen = Seen::Command(CommandRan {
        command: command.parse().expect("a command"),
        exit_code: Some(0),
        error_signature: None,
        failed: false,
        of_last: false,
        unseen: false,
        runs: vec![command.parse().expect("a command")],
        tail: None,
        output_sha256: None,
        answer_sha256: None,
        files_sha256: None,
        took_ms: None,
        subagent: None,
        checkout: Checkout::default(),
    });
    let observe = Observe { event_id: EventId::from_uuid(system::new_id()), seen };
    let session = Some(format!("s-{}", number / 20 % 50).parse().expect("a session"));
    Submission { session, ..support::submission("analyst", Command::Observe(observe)) }
}

fn calls(space: &Space, claims: usize, number: usize) -> Table {
    let bash = |line: String| json!({ "tool_name": "Bash", "tool_input": { "command": line } });
    type Payload<'a> = Box<dyn Fn(usize) -> Value + 'a>;
    // The budgets of p95 are those of the specification. It has none for a stop, which looks at less than a prompt.
    let kinds: [(&str, &str, u64, Payload<'_>); 6] = [
        ("session start", "SessionStart", 25, Box::new(|_| json!({ "source": "startup" }))),
        (
            "prompt",
            "UserPromptSubmit",
            15,
            Box::new(|at| json!({ "prompt": format!("go on with step {at}") })),
        ),
        (
            "before a tool: nothing known",
            "PreToolUse",
            12,
            Box::new(move |at| bash(format!("cargo test part{at}"))),
        ),
        (
            "before a tool: a dead end",
            "PreToolUse",
            12,
            Box::new(move |at| bash(format!("make part{}", at % DEAD_ENDS))),
        ),
        (
            "after a tool",
            "PostToolUse",
            15,
            Box::new(move |at| {
                let mut payload = bash(format!("cargo test part{at}"));
                payload["tool_response"] = json!({ "stdout": "ok", "stderr": "" });
                payload
            }),
        ),
        ("stop", "Stop", 15, Box::new(|_| json!({ "stop_hook_active": false }))),
    ];
    let mut table = Table::new(
        format!("hm hook at {claims} claims, whole process, in milliseconds over {number} calls"),
        &["moment", "p50", "p95", "p50 of hm --version", "budget of p95"],
    );
    let version: Vec<Duration> = (0..number).map(|_| timed(space, &["--version"], "")).collect();
    let ms = |samples: &[Duration], percent| Value::from(percentile_us(samples, percent) / 1e3);
    for (name, event, budget, payload) in &kinds {
        let samples: Vec<Duration> = (0..=number)
            .map(|at| {
                let mut payload = payload(at);
                payload["hook_event_name"] = json!(event);
                payload["session_id"] = json!("bench");
                payload["cwd"] = json!(space.root());
                timed(space, &["hook", "claude"], &payload.to_string())
            })
            // The first of each comes from a cold page cache.
            .skip(1)
            .collect();
        let (p50, p95) = (ms(&samples, 50), ms(&samples, 95));
        table.row([(*name).into(), p50, p95, ms(&version, 50), (*budget).into()]);
    }
    table
}

/// How long a process takes, from its spawn to its end.
fn timed(space: &Space, arguments: &[&str], stdin: &str) -> Duration {
    let began = system::instant();
    let mut hook = Process::new(space.root().join(INSTALLED))
        .args(arguments)
        .current_dir(space.root())
        .env("HM_AGENT", "devops")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("hm starts");
    // One that reads nothing has closed its end.
    let _ = hook.stdin.take().expect("a pipe").write_all(stdin.as_bytes());
    let output = hook.wait_with_output().expect("hm ends");
    assert!(output.status.success(), "{output:?}");
    began.elapsed()
}
