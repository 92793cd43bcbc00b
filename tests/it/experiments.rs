//! Experiments from the request to the evidence: through panes, the writer, its helper, and the command line.

use std::path::Path;
use std::time::Duration;

use hivemind::mcp::{Era, Pane, ToolAnswer};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::harness::{self, wait_until};

const EXPECTING: &str = "scopes = [\"src/**\"]\ntimeout_ms = 20000\n[expect]\nexit = 0\n";

/// Profiles that come out as they are named.
fn profiles(bench: &Bench) {
    let argv = |command: &str| format!("description = \"a test\"\nargv = [\"sh\", \"-c\", \"{command}\"]\n");
    bench.profile("passes", &(argv("echo it holds") + EXPECTING));
    bench.profile("fails", &(argv("echo it does not >&2; exit 3") + EXPECTING));
    bench.profile("sleeps", &(argv("sleep 60") + EXPECTING));
    bench.profile("says-nothing", &(argv("exit 1") + "timeout_ms = 20000\n"));
    bench.profile(
        "too-long",
        "description = \"a test\"\nargv = [\"sleep\", \"60\"]\nscopes = [\"src/**\"]\ntimeout_ms = 300\n[expect]\nexit = 0\n",
    );
    bench.profile(
        "not-there",
        &("description = \"a test\"\nargv = [\"no-such-program\"]\n".to_owned() + EXPECTING),
    );
}

async fn contested(owner: &Pane, challenger: &Pane, bench: &Bench, statement: &str) -> String {
    let id = bench.claim(owner, statement, "src/pool").await;
    let challenge = json!({ "claim_id": id, "reason": "I saw otherwise" });
    let answer = bench.accepted(challenger, "challenge", challenge).await;
    assert!(
        answer.text.contains("or settle it by a run: `run_experiment {"),
        "what settles it: {}",
        answer.text
    );
    id
}

async fn run(pane: &Pane, profile: &str, claim: &str, blocking: bool) -> ToolAnswer {
    let given = json!({ "profile": profile, "claim_id": claim, "blocking": blocking, "wait": true });
    pane.call("run_experiment", given).await.expect("an answer")
}

async fn json_of(pane: &Pane, address: &str) -> Value {
    let separator = if address.contains('?') { '&' } else { '?' };
    let text = pane.read(&format!("{address}{separator}format=json")).await.expect("an answer");
    serde_json::from_str(&text).expect("JSON")
}

#[tokio::test]
async fn a_run_settles_a_contested_claim() {
    let bench = Bench::new();
    profiles(&bench);
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let other = bench.pane(Some("reviewer"), Era::Legacy).await;

    let id = contested(&owner, &other, &bench, "the pool gives connections back").await;
    let answer = run(&owner, "passes", &id, true).await;
    assert!(!answer.refused, "{}", answer.text);
    assert_eq!(answer.body["run_state"], "succeeded");
    let run_id = answer.field("run_id").to_owned();
    let claim = json_of(&other, &format!("hivemind://claims/{id}")).await;
    assert_eq!((&claim["status"], &claim["grade"]), (&json!("confirmed"), &json!("observed")));
    let history: Vec<(&Value, &Value)> = claim["history"]
        .as_array()
        .expect("history")
        .iter()
        .map(|change| (&change["to"], &change["reason"]))
        .collect();
    assert_eq!(history[2], (&json!("pending_proof"), &json!(format!("waits for run {run_id}"))));
    assert_eq!(history[3], (&json!("confirmed"), &json!(format!("proof:{run_id}"))));
    // Queued and waiting are one batch; so are the end, what it says and what that does.
    let batches: Vec<Vec<String>> = batches_of(&bench, &run_id);
    assert_eq!(
        batches,
        [
            vec!["experiment.queued", "claim.status_changed"],
            vec!["experiment.started"],
            vec!["experiment.completed", "evidence.added", "claim.status_changed", "contradiction.resolved"],
        ]
    );
    // The challenge that was there is answered; a later one counts.
    bench.accepted(&owner, "report_event", json!({ "kind": "note", "summary": "still here" })).await;
    let third = bench.pane(Some("analyst"), Era::Modern).await;
    bench.accepted(&third, "challenge", json!({ "claim_id": id, "reason": "not on my machine" })).await;
    assert_eq!(json_of(&other, &format!("hivemind://claims/{id}")).await["status"], "contested");

    for (profile, state, reason) in [
        ("fails", "failed", "contradicts it"),
        ("too-long", "timed_out", "inconclusive: timed_out"),
        ("not-there", "aborted", "inconclusive: aborted"),
    ] {
        let id = contested(&owner, &other, &bench, &format!("it holds ({})", state.len())).await;
        let answer = run(&owner, profile, &id, true).await;
        assert_eq!(answer.body["run_state"], state, "{}", answer.text);
        let claim = json_of(&other, &format!("hivemind://claims/{id}")).await;
        assert_eq!(claim["status"], "contested", "{profile}");
        let last = claim["history"].as_array().and_then(|history| history.last()).expect("a change");
        let said = last["reason"].as_str().expect("a reason");
        let (said, doubt) = said.split_once("; it did not end by itself").unwrap_or((said, ""));
        assert!(said.ends_with(reason), "{last}");
        assert_eq!(doubt.contains("\"repeat\":3"), state == "timed_out", "{last}");
        let evidence = claim["evidence_items"].as_array().expect("evidence").len();
        assert_eq!(evidence, usize::from(state == "failed"), "inconclusive runs are no evidence");
        // Nobody contested it again.
        let listed = json_of(&other, "hivemind://claims?status=contested").await;
        let listed = listed["claims"].as_array().and_then(|claims| claims.iter().find(|it| it["id"] == id));
        let changed = if state == "failed" { "given evidence" } else { "given a run without a result" };
        assert_eq!(listed.expect("a line")["last_change"]["what"], changed, "{profile}");
    }
    bench.kill_writer();
    bench.assert_sound();
}

/// The types of the events of each command that mentions a run, in ledger order.
fn batches_of(bench: &Bench, run: &str) -> Vec<Vec<String>> {
    let events = bench.events();
    let about = |event: &&hivemind::ledger::Stored| {
        event.payload.as_ref().is_some_and(|(payload, _)| payload.contains(run))
            && event.kind.starts_with("experiment.")
    };
    let commands: Vec<_> = events.iter().filter(about).map(|event| event.causation).collect();
    commands
        .iter()
        .map(|command| {
            events
                .iter()
                .filter(|event| event.causation == *command)
                .map(|event| event.kind.clone())
                .collect()
        })
        .collect()
}

#[tokio::test]
async fn what_cannot_run_is_refused_and_queues_nothing() {
    let bench = Bench::new();
    profiles(&bench);
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let id = bench.claim(&owner, "nobody doubts it", "src/pool").await;
    let code = async |given: Value| {
        let answer = owner.call("run_experiment", given).await.expect("an answer");
        assert!(answer.refused, "{}", answer.text);
        answer.field("code").to_owned()
    };
    assert_eq!(code(json!({ "profile": "nope" })).await, "unknown_profile");
    assert_eq!(code(json!({ "profile": "../passes" })).await, "invalid_argument");
    assert_eq!(code(json!({ "profile": "passes", "args": ["file=x"] })).await, "invalid_argument");
    assert_eq!(code(json!({ "profile": "passes", "timeout_ms": 99_000_000 })).await, "invalid_argument");
    assert_eq!(code(json!({ "profile": "passes", "blocking": true })).await, "invalid_argument");
    assert_eq!(
        code(json!({ "profile": "says-nothing", "claim_id": id, "blocking": true })).await,
        "profile_cannot_settle"
    );
    assert_eq!(
        code(json!({ "profile": "passes", "claim_id": id, "blocking": true })).await,
        "invalid_transition"
    );
    assert!(bench.events().iter().all(|event| !event.kind.starts_with("experiment.")));
}

#[tokio::test]
async fn runs_are_tied_to_claims_through_the_ledger_and_once() {
    let bench = Bench::new();
    profiles(&bench);
    git(bench.workspace().root(), &["init", "-q"]);
    std::fs::write(bench.workspace().root().join(".gitignore"), ".hivemind/\n").expect("a file");
    git(bench.workspace().root(), &["add", "-A"]);
    git(bench.workspace().root(), &["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "one"]);
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let other = bench.pane(Some("reviewer"), Era::Legacy).await;
    let first = bench.claim(&owner, "the pool gives connections back", "src/pool").await;
    let second = bench.claim(&owner, "the queue drains at shutdown", "src/queue").await;
    let attach = async |pane: &Pane, run: &str, claim: &str| {
        let given = json!({ "run_id": run, "claim_id": claim });
        pane.call("attach_experiment", given).await.expect("an answer")
    };
    let answer = run(&owner, "passes", &first, false).await;
    let mine = answer.field("run_id").to_owned();
    assert_eq!(answer.body["experiment"]["attached"][0]["grade"], "observed", "{}", answer.body);
    assert_eq!(attach(&other, &mine, &first).await.field("code"), "duplicate");
    let second_time = attach(&other, &mine, &second).await;
    assert!(!second_time.refused, "{}", second_time.text);

    // The same on the same commit by another agent, with the same outcome: reproduced.
    let theirs = run(&other, "passes", &first, false).await;
    assert_eq!(theirs.body["experiment"]["attached"][0]["grade"], "reproduced", "{}", theirs.body);
    let claim = json_of(&owner, &format!("hivemind://claims/{first}")).await;
    assert_eq!((&claim["grade"], &claim["reproduced"]), (&json!("reproduced"), &json!(1)));
    // On a dirty tree it only is observed.
    std::fs::write(bench.workspace().root().join("new.rs"), "").expect("a file");
    let dirty = run(&other, "passes", &second, false).await;
    assert_eq!(dirty.body["experiment"]["attached"][0]["grade"], "observed", "{}", dirty.body);

    let nothing = run(&owner, "too-long", &first, false).await;
    let refused = attach(&owner, nothing.field("run_id"), &second).await;
    assert_eq!(refused.field("code"), "not_attachable");
    let event = nothing.body["experiment"]["evidence_event_id"].clone();
    let given = json!({ "claim_id": first, "evidence_ref": event, "relation": "supports" });
    let refused = owner.call("add_evidence", given).await.expect("an answer");
    assert_eq!(refused.field("code"), "not_attachable", "the way round is closed too");

    let page = json_of(&owner, &format!("hivemind://experiments?claim={first}&status=succeeded")).await;
    assert_eq!(page["experiments"].as_array().expect("runs").len(), 2);
    let shown = owner.read(&format!("hivemind://experiments/{mine}")).await.expect("a page");
    assert!(shown.contains("succeeded") && shown.contains("cite it as"), "{shown}");
    let stdout = owner.read(&format!("hivemind://experiments/{mine}/stdout")).await.expect("a page");
    assert!(stdout.contains("    it holds"), "{stdout}");
    let prompt = owner.prompt("design-experiment", &[("claim", &first)]).await.expect("a prompt");
    assert!(prompt.contains("> # proposed fact") && prompt.contains("- passes"), "{prompt}");

    // The ledger vouches for the files, a backup has them, and what an operator erases is gone.
    let verify = || bench.hm(&["verify"]);
    assert!(verify().status.success());
    let elsewhere = tempfile::tempdir().expect("a temporary directory");
    let copy = elsewhere.path().join("copy");
    let path = copy.to_str().expect("text");
    assert!(bench.hm(&["backup", path]).status.success());
    assert!(copy.join(".hivemind/runtime/experiments").join(&mine).join("stdout.log").exists());
    assert!(bench.hm(&["verify", "--dir", path]).status.success());
    let theirs = theirs.field("run_id");
    // It is a repository now, and its memory lies in the git directory.
    let workspace = harness::at(bench.workspace().root());
    let dir = workspace.artifacts(theirs.parse().expect("a run"));
    let ended = json_of(&owner, &format!("hivemind://experiments/{theirs}")).await;
    let ended = ended["evidence_event_id"].as_str().expect("an event").to_owned();
    assert!(dir.exists());
    let forget = bench.hm(&["--agent", "operator", "forget", &ended, "--reason", "a customer's name"]);
    assert!(forget.status.success(), "{}", String::from_utf8_lossy(&forget.stderr));
    assert!(!dir.exists() && verify().status.success());
    assert_eq!(json_of(&owner, &format!("hivemind://experiments/{theirs}")).await["status"], "succeeded");
    let log = workspace.artifacts(mine.parse().expect("a run")).join("stdout.log");
    std::fs::write(&log, "it does not hold\n").expect("a file");
    let broken = verify();
    let said = String::from_utf8_lossy(&broken.stdout).into_owned();
    assert!(!broken.status.success() && said.contains("run R1:") && said.contains("stdout.log"), "{said}");
}

fn git(dir: &Path, arguments: &[&str]) {
    let done = std::process::Command::new("git").args(arguments).current_dir(dir).output().expect("git");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[tokio::test]
async fn a_run_waits_its_turn_and_can_be_stopped() {
    let bench = Bench::new();
    profiles(&bench);
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let queue = async |profile: &str| {
        let answer = bench.accepted(&owner, "run_experiment", json!({ "profile": profile })).await;
        answer.field("run_id").to_owned()
    };
    let state = async |run: &str| {
        let run = json_of(&owner, &format!("hivemind://experiments/{run}")).await;
        run["status"].as_str().expect("a state").to_owned()
    };
    let (slow, waiting, last) = (queue("sleeps").await, queue("sleeps").await, queue("passes").await);
    until("the first one runs", async || state(&slow).await == "running").await;
    assert_eq!((state(&waiting).await.as_str(), state(&last).await.as_str()), ("queued", "queued"));
    let refused = bench.hm(&["--agent", "reviewer", "experiment", "cancel", &waiting]);
    assert_eq!(refused.status.code(), Some(1), "it is somebody else's");
    assert!(bench.hm(&["--agent", "devops", "experiment", "cancel", &waiting]).status.success());
    assert_eq!(state(&waiting).await, "canceled");
    assert!(bench.hm(&["--agent", "architect", "experiment", "cancel", &slow]).status.success());
    until("it is stopped", async || state(&slow).await == "canceled").await;
    until("the next one has its turn", async || state(&last).await == "succeeded").await;
    let again = bench.hm(&["--agent", "devops", "experiment", "cancel", &slow]);
    assert_eq!(again.status.code(), Some(1));
}

async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    for _ in 0..400 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{what}");
}

#[tokio::test]
async fn a_writer_killed_in_the_middle_leaves_an_aborted_run_and_a_contested_claim() {
    let bench = Bench::new();
    let mark = bench.workspace().root().join("alive");
    let script = format!("while :; do touch {}; sleep 0.05; done; exit 1", mark.display());
    bench.profile(
        "lives",
        &format!("description = \"a test\"\nargv = [\"sh\", \"-c\", \"{script}\"]\n{EXPECTING}"),
    );
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let other = bench.pane(Some("reviewer"), Era::Legacy).await;
    let id = contested(&owner, &other, &bench, "the pool gives connections back").await;
    let given = json!({ "profile": "lives", "claim_id": id, "blocking": true });
    let run = bench.accepted(&owner, "run_experiment", given).await.field("run_id").to_owned();
    wait_until("it runs", || mark.exists());
    bench.kill_writer();
    // The next write starts the next writer, and that one puts things right.
    bench.claim(&owner, "something else", "src/other").await;
    let found = json_of(&owner, &format!("hivemind://experiments/{run}")).await;
    assert_eq!(found["status"], "aborted", "{found}");
    assert_eq!(json_of(&owner, &format!("hivemind://claims/{id}")).await["status"], "contested");
    std::fs::remove_file(&mark).expect("the mark");
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!mark.exists(), "nothing of the run is left");
    bench.kill_writer();
    bench.assert_sound();
}

/// Processes whose command line holds a text.
fn alive(text: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").expect("a list of processes").flatten();
    let commands = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let commands = commands.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    commands.filter(|command| command.contains(text)).collect()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_run_that_stops_or_kills_its_helper_is_over_and_nothing_of_it_lives() {
    let bench = Bench::new();
    profiles(&bench);
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let mark = format!("34{:09}", hivemind::system::now().ms() % 1_000_000_000);
    // One child keeps the mark of the run, one drops it with its environment, and a crowd keeps starting more.
    let left = format!("(setsid sleep {mark} &); (setsid env -i sleep {mark} &)");
    let crowd = format!("(setsid sh -c 'while :; do setsid sleep {mark} & sleep 0.02; done' &)");
    for (name, end) in [
        ("stops", "kill -STOP $PPID".to_owned()),
        ("kills", "sleep 0.2; kill -KILL $PPID".to_owned()),
        ("kills-in-a-crowd", format!("{crowd}; sleep 0.2; kill -KILL $PPID")),
    ] {
        let text = format!(
            "description = \"a test\"\nargv = [\"sh\", \"-c\", \"{left}; {end}; sleep {mark}\"]\ntimeout_ms = 1000\n"
        );
        bench.profile(name, &text);
        let answer = bench.accepted(&owner, "run_experiment", json!({ "profile": name })).await;
        let run = answer.field("run_id").to_owned();
        let state = async |run: &str| {
            let run = json_of(&owner, &format!("hivemind://experiments/{run}")).await;
            run["status"].as_str().expect("a state").to_owned()
        };
        until(&format!("{name}: the run is over"), async || state(&run).await == "aborted").await;
        assert_eq!(alive(&mark), [""; 0], "{name}");
        let next = bench.accepted(&owner, "run_experiment", json!({ "profile": "passes" })).await;
        let next = next.field("run_id").to_owned();
        until("the next one has its turn", async || state(&next).await == "succeeded").await;
    }
    bench.kill_writer();
    bench.assert_sound();
}

#[test]
fn the_operator_runs_and_records_anything_and_agents_do_not() {
    let bench = Bench::new();
    let hm = |arguments: &[&str]| {
        let output = bench.hm(arguments);
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let typed = ["experiment", "run", "--thread-id", "RS/1 x", "--test-id", "T1", "--"];
    let with = |agent: &'static str, rest: &[&'static str]| -> Vec<&'static str> {
        ["--json", "--agent", agent].iter().chain(&typed).chain(rest).copied().collect()
    };
    let (code, _) = hm(&with("devops", &["true"]));
    assert_eq!(code, Some(1), "an agent may not");
    let (code, said) = hm(&with("operator", &["sh", "-c", "echo out; echo err >&2; exit 7"]));
    assert_eq!(code, Some(0), "captured, whatever it exited with: {said}");
    let summary: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(summary["exit_code"], 7);
    let file = summary["out_file"].as_str().expect("a file").to_owned();
    assert!(file.contains("/artifacts/") && file.contains("/experiments/T1/"), "{file}");
    let result: Value = serde_json::from_slice(&std::fs::read(&file).expect("the result")).expect("JSON");
    crate::runner::assert_valid(&result);
    assert_eq!((&result["exit_code"], &result["stdout"]), (&json!(7), &json!("out\n")));
    assert_eq!((&result["thread_id"], &result["capture_mode"]), (&json!("RS/1 x"), &json!("run")));

    let (code, said) = hm(&[
        "--json",
        "--agent",
        "operator",
        "experiment",
        "record",
        "--thread-id",
        "RS-2",
        "--test-id",
        "T2",
        "--exit-code",
        "0",
        "--stdout",
        "it passed",
        "--command",
        "python -m pytest",
    ]);
    assert_eq!(code, Some(0), "{said}");
    let summary: Value = serde_json::from_str(&said).expect("JSON");
    let file = summary["out_file"].as_str().expect("a file");
    let result: Value = serde_json::from_slice(&std::fs::read(file).expect("the result")).expect("JSON");
    crate::runner::assert_valid(&result);
    assert_eq!((&result["started_at"], &result["timeout_seconds"]), (&Value::Null, &Value::Null));
    let completed = bench.events().iter().filter(|event| event.kind == "experiment.completed").count();
    assert_eq!(completed, 2);
    let (code, _) = hm(&with("operator", &["no-such-program"]));
    assert_eq!(code, Some(127), "what never ran is the wrapper's failure");
    bench.kill_writer();
    bench.assert_sound();
}

/// Red before: the bar of a run stood at 0/0, for several runs too.
#[test]
fn the_wait_for_a_run_shows_the_time_and_counts_several_runs() {
    let shell = crate::shell::Shell::new();
    let profiles = shell.workspace().marker_dir().join("profiles");
    std::fs::create_dir_all(&profiles).expect("a directory");
    let profile =
        "description = 'a test'\nargv = ['/bin/sleep', '2']\ntimeout_ms = 60000\n[expect]\nexit = 0\n";
    std::fs::write(profiles.join("slow.toml"), profile).expect("a profile");
    let trusted = shell.run("hm --agent operator profile trust slow --yes");
    assert!(trusted.status.success(), "{trusted:?}");
    let once = crate::terminal::Screen::open(&shell.command("hm experiment run slow"), (24, 80));
    once.wait_for("running 1s");
    assert_eq!(once.ended(), Some(0));
    assert!(!once.sent().contains("0/0"), "{:?}", once.sent());
    let twice = crate::terminal::Screen::open(&shell.command("hm experiment run slow --repeat 2"), (24, 80));
    assert_eq!(twice.ended(), Some(0));
    let sent = twice.sent();
    assert!(sent.contains("running 0/2 ") && sent.contains(" 1/2 "), "{sent:?}");
}
