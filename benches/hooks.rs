//! What a hook costs its client: `cargo bench --bench hooks -- [--claims 10000] [--calls N] [--json]`.
//!
//! Measures whole `hm hook claude` processes, from spawn to end, beside `hm --version` in the same run: before a tool
//! that meets nothing and one that meets a dead end, after a tool, at a prompt, and at the start of a session.

mod support;

use std::io::Write;
use std::process::{Command as Process, Stdio};
use std::time::Duration;

use clap::Parser;
use hivemind::domain::claim::{ClaimType, Trigger};
use hivemind::domain::command::{Command, Submission};
use hivemind::domain::decide::Policy;
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
    /// Calls of each kind
    #[arg(long, default_value_t = 100)]
    calls: usize,
    #[command(flatten)]
    shared: support::Shared,
}

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
        dead_ends(&space);
        space.start_writer();
        tables.push(calls(&space, *claims, options.calls));
    }
    support::print("hooks", &options.shared, load, &tables);
}

/// Dead ends that tell of commands, so that there is something to look through.
fn dead_ends(space: &Space) {
    let sources = Sources::system();
    let mut committer =
        Committer::open(space.workspace(), Policy::default(), sources).expect("a workspace to write in");
    let made: Vec<Submission> = (0..DEAD_ENDS)
        .map(|number| {
            let mut create = support::claim(number, ClaimType::Negative);
            create.statement = format!("building part{number} with make hangs").parse().expect("a statement");
            let commands = vec![format!("make part{number}").parse().expect("a command")];
            create.trigger = Some(Trigger { commands, ..Trigger::default() });
            support::submission("analyst", Command::CreateClaim(create))
        })
        .collect();
    for group in made.chunks(support::GROUP) {
        committer.commit(group).expect("a group");
    }
}

fn calls(space: &Space, claims: usize, number: usize) -> Table {
    let bash = |line: String| json!({ "tool_name": "Bash", "tool_input": { "command": line } });
    type Payload<'a> = Box<dyn Fn(usize) -> Value + 'a>;
    let kinds: [(&str, &str, Payload<'_>); 6] = [
        ("session start", "SessionStart", Box::new(|_| json!({ "source": "startup" }))),
        ("prompt", "UserPromptSubmit", Box::new(|at| json!({ "prompt": format!("go on with step {at}") }))),
        (
            "before a tool: nothing known",
            "PreToolUse",
            Box::new(move |at| bash(format!("cargo test part{at}"))),
        ),
        (
            "before a tool: a dead end",
            "PreToolUse",
            Box::new(move |at| bash(format!("make part{}", at % DEAD_ENDS))),
        ),
        (
            "after a tool",
            "PostToolUse",
            Box::new(move |at| {
                let mut payload = bash(format!("cargo test part{at}"));
                payload["tool_response"] = json!({ "stdout": "ok", "stderr": "" });
                payload
            }),
        ),
        ("stop", "Stop", Box::new(|_| json!({ "stop_hook_active": false }))),
    ];
    let mut table = Table::new(
        format!("hm hook at {claims} claims, whole process, in milliseconds over {number} calls"),
        &["moment", "p50", "p95", "p50 of hm --version", "budget of p95"],
    );
    let version: Vec<Duration> = (0..number).map(|_| timed(space, &["--version"], "")).collect();
    let ms = |samples: &[Duration], percent| Value::from(percentile_us(samples, percent) / 1e3);
    for (name, event, payload) in &kinds {
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
        table.row([(*name).into(), p50, p95, ms(&version, 50), "15".into()]);
    }
    table
}

/// How long a process takes, from its spawn to its end.
fn timed(space: &Space, arguments: &[&str], stdin: &str) -> Duration {
    let began = system::instant();
    let mut hook = Process::new(HM)
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
