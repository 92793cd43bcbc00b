//! Researchers: an agent sent out through the real runner, which finds its way back by its environment alone.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use hivemind::domain::ids::SessionId;
use hivemind::ledger::Stored;
use hivemind::mcp::{Era, Pane, ToolAnswer};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::harness::{block_on, switch, wait_until};

/// The agent of the tests: this binary, as a client of `hm serve`.
fn agent_profile(bench: &Bench, name: &str, agent: &str) {
    let binary = std::env::current_exe().expect("the test binary");
    let argv =
        [binary.to_str().expect("text"), "--exact", "researchers::is_the_agent", "--ignored", "{prompt}"];
    let text = format!(
        "description = 'a test'\nargv = {argv:?}\ntimeout_ms = 60000\nenv.pass = ['XDG_STATE_HOME']\n[agent]\n{agent}\n"
    );
    bench.profile(name, &text);
}

/// Does what the first word of its prompt says, with nothing but its environment to know who it is.
#[test]
#[ignore = "run as an agent by the tests below"]
fn is_the_agent() {
    let Some(session) = switch("HM_SESSION") else { return };
    let root = switch("HM_DIR").expect("a workspace");
    // Cargo sets it for the tests, and the writer they start inherits it.
    assert_eq!(switch("CARGO_MANIFEST_DIR"), None, "the rest of the environment is what the profile says");
    let prompt = std::env::args().next_back().expect("a prompt");
    block_on(async {
        let pane = Pane::offered(Path::new(crate::harness::HM), Path::new(&root), None, Era::Modern, "all");
        let pane = pane.await.expect("a pane");
        let turn0 = pane.read(&format!("hivemind://sessions/{session}/turn0")).await.expect("a turn 0");
        assert!(turn0.contains("<hivemind_state agent=\"analyst\""), "{turn0}");
        assert!(prompt.contains(&format!("hivemind://sessions/{session}/turn0")), "{prompt}");
        let does = async |tool: &str, arguments: Value| {
            let answer = pane.call(tool, arguments).await.expect("an answer");
            assert!(!answer.refused, "{}", answer.text);
        };
        if prompt.starts_with("find") {
            does("start_session", json!({ "source": "startup", "client": "test" })).await;
        }
        let found = json!({ "statement": "the pool leaks", "claim_type": "fact", "scopes": ["src/db"] });
        does("create_claim", found).await;
        match prompt.split_whitespace().next() {
            Some("find") => {
                let tried = json!({
                    "statement": "a larger pool does not help", "claim_type": "negative", "scopes": ["src/db"]
                });
                does("create_claim", tried).await;
            }
            Some("judge") => {
                let mut claims = prompt.split_whitespace().skip(1);
                let mut claim = || json!({ "claim_id": claims.next().expect("a claim") });
                let own = pane.call("support", claim()).await.expect("an answer");
                assert_eq!(own.body["code"], "own_claim", "{}", own.text);
                does("support", claim()).await;
            }
            Some("wait") => tokio::time::sleep(Duration::from_secs(60)).await,
            _ => panic!("this one was told to fail"),
        }
    });
}

async fn spawn(pane: &Pane, profile: &str, prompt: &str) -> ToolAnswer {
    let given = json!({ "profile": profile, "prompt": prompt, "session": "parent" });
    pane.call("spawn_researcher", given).await.expect("an answer")
}

async fn architect(bench: &Bench) -> Pane {
    Pane::offered(bench.binary(), bench.root(), Some("architect"), Era::Modern, "all").await.expect("a pane")
}

async fn told(pane: &Pane, address: &str) -> Value {
    let text = pane.read(&format!("{address}?format=json")).await.expect("an answer");
    serde_json::from_str(&text).expect("JSON")
}

/// The researcher of a session once its run is over.
async fn over(pane: &Pane, session: &str) -> Value {
    for _ in 0..600 {
        let found = told(pane, &format!("hivemind://sessions/{session}")).await["researchers"][0].clone();
        if !["queued", "running"].map(|state| json!(state)).contains(&found["status"]) {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the researcher does not end");
}

fn kinds(events: &[Stored], like: &Stored) -> Vec<String> {
    let of_batch = events.iter().filter(|event| event.causation == like.causation);
    of_batch.map(|event| event.kind.clone()).collect()
}

fn payload(event: &Stored) -> Value {
    let (payload, _) = event.payload.as_ref().expect("a payload");
    serde_json::from_str(payload).expect("JSON")
}

#[tokio::test]
async fn a_researcher_finds_its_way_back_and_its_findings_are_its_tasks() {
    let bench = Bench::new();
    agent_profile(&bench, "scout", "name = 'Ana'");
    let pane = architect(&bench).await;
    let parent_task = bench.accepted(&pane, "add_task", json!({ "title": "mend the pool" })).await;
    let parent_task = parent_task.field("task_id").to_owned();
    let given = json!({
        "profile": "scout", "prompt": "find who\nholds a connection", "session": "parent",
        "parent_task_id": parent_task, "idempotency_key": "once",
    });
    let spawned = bench.accepted(&pane, "spawn_researcher", given.clone()).await;
    let again = bench.accepted(&pane, "spawn_researcher", given).await;
    assert_eq!((spawned.field("run_id"), &again.body["duplicate"]), (again.field("run_id"), &json!(true)));
    let child = spawned.field("session").to_owned();
    assert_eq!(child, SessionId::of_researcher(spawned.field("run_id").parse().expect("a run")).as_str());
    // Its task is nobody else's, not even its sender's.
    assert_eq!(spawned.body.get("lease"), None);
    let ready = told(&pane, "hivemind://tasks/ready").await;
    assert_eq!(ready["tasks"].as_array().map(Vec::len), Some(1), "{ready}");
    assert_eq!(ready["tasks"][0]["id"], parent_task);

    let done = over(&pane, &child).await;
    assert_eq!((&done["status"], &done["task_status"]), (&json!("succeeded"), &json!("done")), "{done}");
    let task = done["task_id"].as_str().expect("a task");
    assert_eq!((&done["agent"], &done["spawned_by"]), (&json!("analyst"), &json!("architect")));
    assert_eq!(done["prompt"], "find who\nholds a connection");
    let findings: Vec<&Value> = done["findings"].as_array().expect("findings").iter().collect();
    let says: Vec<&Value> = findings.iter().map(|finding| &finding["statement"]).collect();
    assert_eq!(says, ["a larger pool does not help", "the pool leaks"]);
    // The parent's page shows the same, though nobody said that either session started.
    assert_eq!(told(&pane, "hivemind://sessions/parent").await["researchers"][0], done);
    let page = pane.read("hivemind://sessions/parent").await.expect("a page");
    assert!(page.contains("findings: 2") && page.contains("succeeded"), "{page}");

    let events = bench.events();
    let claims: Vec<&Stored> = events.iter().filter(|event| event.kind == "claim.created").collect();
    assert_eq!(claims.len(), 2);
    for claim in claims {
        assert_eq!(
            (claim.agent.as_str(), claim.session.as_ref().map(SessionId::as_str)),
            ("analyst", Some(&*child))
        );
        assert_eq!(payload(claim)["origin_task_id"], task);
    }
    let first = events.iter().find(|event| event.kind == "experiment.queued").expect("a run");
    assert_eq!(
        kinds(&events, first),
        ["experiment.queued", "task.added", "task.claimed", "researcher.spawned", "session.split"]
    );
    let added = events.iter().rfind(|event| event.kind == "task.added").map(payload).expect("a task");
    assert_eq!((&added["task_id"], &added["parent_task_id"]), (&json!(task), &json!(parent_task)));
    assert_eq!(added["title"], "research: find who holds a connection");
    let split = events.iter().find(|event| event.kind == "session.split").map(payload).expect("a split");
    assert_eq!((&split["parent"], &split["child"]), (&json!("parent"), &json!(child)));
    let last = events.iter().find(|event| event.kind == "experiment.completed").expect("an end");
    assert_eq!(
        kinds(&events, last),
        ["experiment.completed", "task.updated", "beliefs.snapshotted", "session.ended"]
    );
    bench.kill_writer();
    bench.assert_sound();
}

#[tokio::test]
async fn a_researcher_that_fails_invalidates_its_task_and_says_why() {
    let bench = Bench::new();
    agent_profile(&bench, "scout", "name = 'analyst'");
    bench.profile(
        "absent",
        "description = 'a test'\nargv = ['no-such-agent', '{prompt}']\ntimeout_ms = 1000\n[agent]",
    );
    let pane = architect(&bench).await;
    let failed = spawn(&pane, "scout", "fail at it").await;
    let failed = over(&pane, failed.field("session")).await;
    assert_eq!((&failed["status"], &failed["task_status"]), (&json!("failed"), &json!("invalidated")));
    let note = failed["note"].as_str().expect("a note");
    assert!(note.ends_with("failed: exit code 101"), "{note}");
    assert_eq!(failed["findings"].as_array().map(Vec::len), Some(1), "what it found before stands");

    let absent = spawn(&pane, "absent", "find it").await;
    let absent = over(&pane, absent.field("session")).await;
    assert_eq!((&absent["status"], &absent["task_status"]), (&json!("aborted"), &json!("invalidated")));
    let note = absent["note"].as_str().expect("a note");
    assert!(note.contains("no-such-agent"), "{note}");
    bench.kill_writer();
    bench.assert_sound();
}

#[tokio::test]
async fn one_that_waits_its_turn_or_loses_its_writer_gives_its_task_up() {
    let bench = Bench::new();
    agent_profile(&bench, "scout", "name = 'analyst'");
    let pane = architect(&bench).await;
    let (slow, waiting) = (spawn(&pane, "scout", "wait").await, spawn(&pane, "scout", "wait").await);
    let cancelled = bench.hm(&["--agent", "architect", "experiment", "cancel", waiting.field("run_id")]);
    assert!(cancelled.status.success(), "{cancelled:?}");
    let waiting = over(&pane, waiting.field("session")).await;
    assert_eq!((&waiting["status"], &waiting["task_status"]), (&json!("canceled"), &json!("invalidated")));

    wait_until("it has found something", || bench.events().iter().any(|event| event.kind == "claim.created"));
    bench.kill_writer();
    // The next writer puts things right, and may be one that a front below the run has started: it bears its mark.
    let mut below = Command::new(bench.binary());
    below.args(["writer", "--dir"]).arg(bench.root()).env("HM_RUN_ID", slow.field("run_id"));
    let mut below = below.stderr(std::process::Stdio::null()).spawn().expect("a writer");
    bench.claim(&pane, "something else", "src/other").await;
    let slow = over(&pane, slow.field("session")).await;
    assert_eq!((&slow["status"], &slow["task_status"]), (&json!("aborted"), &json!("invalidated")), "{slow}");
    let note = slow["note"].as_str().expect("a note");
    assert!(note.contains("the writer that ran it is gone"), "{note}");
    below.kill().expect("a writer to kill");
    below.wait().expect("its end");
    bench.kill_writer();
    bench.assert_sound();
}

#[tokio::test]
async fn who_cannot_be_sent_out_is_not() {
    let bench = Bench::new();
    agent_profile(&bench, "scout", "");
    agent_profile(&bench, "stranger", "name = 'nobody'");
    agent_profile(&bench, "human", "name = 'me'");
    bench.profile("command", "description = 'a test'\nargv = ['true']\ntimeout_ms = 1000");
    let pane = architect(&bench).await;
    for (profile, prompt, code) in [
        ("command", "find it", "wrong_profile"),
        ("stranger", "find it", "unknown_agent"),
        ("human", "find it", "not_allowed"),
        ("nope", "find it", "unknown_profile"),
        ("scout", "--dangerously", "invalid_argument"),
        ("scout", " ", "invalid_argument"),
        ("scout", "a bell \u{7}", "invalid_argument"),
    ] {
        let answer = spawn(&pane, profile, prompt).await;
        assert_eq!((answer.refused, answer.field("code")), (true, code), "{}", answer.text);
        assert!(!answer.field("hint").is_empty());
    }
    let orphan = json!({
        "profile": "scout", "prompt": "find it", "parent_task_id": "0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d47"
    });
    let orphan = pane.call("spawn_researcher", orphan).await.expect("an answer");
    assert_eq!(orphan.field("code"), "unknown_task");
    let run = pane.call("run_experiment", json!({ "profile": "scout" })).await.expect("an answer");
    assert_eq!(run.field("code"), "wrong_profile", "{}", run.text);
    let spawned = bench.hm(&["--agent", "operator", "session", "spawn", "scout", "find it"]);
    let said = String::from_utf8_lossy(&spawned.stderr).into_owned();
    assert!(!spawned.status.success() && said.contains("does not speak as operator"), "{said}");
    assert!(bench.events().iter().all(|event| event.kind == "memory.denied"), "nothing was queued");
    let profiles = pane.read("hivemind://profiles").await.expect("profiles");
    assert!(
        profiles.contains("- scout (of the project): a test; an agent: `spawn_researcher {"),
        "{profiles}"
    );
}

#[tokio::test]
async fn a_claim_made_on_the_command_line_belongs_to_the_task_of_its_environment() {
    let bench = Bench::new();
    let pane = architect(&bench).await;
    let task = bench.accepted(&pane, "add_task", json!({ "title": "mend the pool" })).await;
    let task = task.field("task_id").to_owned();
    let create = |statement: &str, task: &str| {
        let mut command = Command::new(bench.binary());
        command.args(["claim", "create", statement, "--scope", "src", "--agent", "devops", "--json"]);
        command.current_dir(bench.root()).env("HM_TASK", task).output().expect("hm runs")
    };
    assert!(create("the pool leaks", &task).status.success());
    let created = bench.events().iter().rfind(|event| event.kind == "claim.created").map(payload);
    assert_eq!(created.expect("a claim")["origin_task_id"], task);
    let wrong = create("the pool leaks more", "7");
    assert_eq!(wrong.status.code(), Some(1), "{wrong:?}");
    assert!(String::from_utf8_lossy(&wrong.stdout).contains("unknown_task"), "{wrong:?}");
}

/// Red before: a researcher confirmed the claim of the session that started it, under the name of its profile.
#[tokio::test]
async fn a_researcher_is_one_agent_with_the_session_that_started_it() {
    let bench = Bench::new();
    agent_profile(&bench, "scout", "name = 'Ana'");
    let pane = architect(&bench).await;
    let devops = Pane::offered(bench.binary(), bench.root(), Some("devops"), Era::Modern, "all");
    let devops = devops.await.expect("a pane");
    let own =
        json!({ "statement": "a is red", "claim_type": "fact", "scopes": ["src/a"], "session": "parent" });
    let own = bench.accepted(&pane, "create_claim", own).await.field("claim_id").to_owned();
    let others = bench.claim(&devops, "b is green", "src/b").await;
    let spawned = spawn(&pane, "scout", &format!("judge {own} {others}")).await;
    assert!(!spawned.refused, "{}", spawned.text);
    assert_eq!(over(&pane, "parent").await["status"], "succeeded");
    for (claim, status) in [(own, "proposed"), (others, "confirmed")] {
        assert_eq!(told(&pane, &format!("hivemind://claims/{claim}")).await["status"], status);
    }
}
