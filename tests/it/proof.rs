//! What a run may say about a claim: fixed before it starts, computed after it ends, and chosen by no caller.

use std::path::Path;
use std::process::Command;

use hivemind::domain::agent::AgentId;
use hivemind::domain::claim::{Basis, Position, Status};
use hivemind::domain::ids::{CommandId, EventId};
use hivemind::ledger::{Batch, Ledger, NewEvent};
use hivemind::mcp::{Era, Pane, ToolAnswer};
use hivemind::store::Reader;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::harness::{self, TempWorkspace, claim_of, creation, dump, position, wait_until};

pub(crate) const EXPECTING: &str = "timeout_ms = 20000\n[expect]\nexit = 0\nfails = [1, 3, 7]\n";

/// A trusted profile that runs a line of shell.
pub(crate) fn profile(bench: &Bench, name: &str, script: &str, scopes: &str, rest: &str) {
    let text = format!(
        "description = \"a test\"\nargv = [\"sh\", \"-c\", \"{script}\"]\nscopes = [{scopes}]\n{rest}"
    );
    bench.profile(name, &text);
}

/// A claim about `src/pool` by one agent, challenged by the other.
async fn contested(bench: &Bench, owner: &Pane, challenger: &Pane, statement: &str) -> String {
    let id = bench.claim(owner, statement, "src/pool").await;
    let challenge = json!({ "claim_id": id, "reason": "I saw otherwise" });
    bench.accepted(challenger, "challenge", challenge).await;
    id
}

pub(crate) async fn run(pane: &Pane, given: Value) -> ToolAnswer {
    let mut given = given;
    given["wait"] = json!(true);
    pane.call("run_experiment", given).await.expect("an answer")
}

pub(crate) async fn json_of(pane: &Pane, address: &str) -> Value {
    let separator = if address.contains('?') { '&' } else { '?' };
    let text = pane.read(&format!("{address}{separator}format=json")).await.expect("an answer");
    serde_json::from_str(&text).expect("JSON")
}

pub(crate) async fn shown(pane: &Pane, id: &str) -> Value {
    json_of(pane, &format!("hivemind://claims/{id}")).await
}

#[tokio::test]
async fn a_failed_run_supports_nothing_whatever_its_caller_says() {
    let bench = Bench::new();
    profile(&bench, "fails", "exit 3", "\"src/**\"", EXPECTING);
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let other = bench.pane(Some("reviewer"), Era::Legacy).await;
    let id = contested(&bench, &owner, &other, "the pool gives connections back").await;
    let given = json!({ "profile": "fails", "claim_id": id, "blocking": true, "relation": "supports" });
    let answer = run(&owner, given).await;
    assert_eq!(answer.body["run_state"], "failed", "{}", answer.text);
    let claim = shown(&other, &id).await;
    assert_eq!(claim["status"], "contested");
    assert_eq!(claim["evidence_items"][0]["relation"], "contradicts");
    // Neither of the two ways round it helps.
    let second = bench.claim(&owner, "the queue drains at shutdown", "src/pool").await;
    let attach = json!({ "run_id": answer.field("run_id"), "claim_id": second, "relation": "supports" });
    bench.accepted(&owner, "attach_experiment", attach).await;
    assert_eq!(shown(&other, &second).await["evidence_items"][0]["relation"], "contradicts");
    let third = bench.claim(&owner, "the pool is fair", "src/pool").await;
    let event = &answer.body["experiment"]["evidence_event_id"];
    let tie = json!({ "claim_id": third, "evidence_ref": event, "relation": "supports" });
    let refused = owner.call("add_evidence", tie).await.expect("an answer");
    assert_eq!(refused.field("code"), "not_attachable", "{}", refused.text);
    let caused = json!({ "claim_id": third, "evidence_ref": event, "relation": "caused_by" });
    bench.accepted(&owner, "add_evidence", caused).await;
    bench.kill_writer();
    bench.assert_sound();
}

#[tokio::test]
async fn a_profile_for_other_files_settles_nothing() {
    let bench = Bench::new();
    profile(&bench, "docs", "true", "\"docs/**\"", EXPECTING);
    profile(&bench, "anything", "true", "", EXPECTING);
    profile(&bench, "mute", "true", "\"src/**\"", "timeout_ms = 20000\n");
    profile(&bench, "pool", "true", "\"src/pool/**\"", EXPECTING);
    // A directory has no version: a run that was queued for no claim is evidence too.
    std::fs::create_dir_all(bench.root().join("src/pool")).expect("a directory");
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let other = bench.pane(Some("reviewer"), Era::Legacy).await;
    let id = contested(&bench, &owner, &other, "the pool gives connections back").await;
    for profile in ["docs", "anything", "mute"] {
        let refused = run(&owner, json!({ "profile": profile, "claim_id": id, "blocking": true })).await;
        assert!(refused.refused, "{profile}: {}", refused.text);
        assert_eq!(refused.field("code"), "profile_cannot_settle", "{profile}");
        assert!(refused.text.contains("pool"), "names who could: {}", refused.text);
        // It may run about the claim; then it only mentions it.
        let answer = run(&owner, json!({ "profile": profile, "claim_id": id })).await;
        let attached = &answer.body["experiment"]["attached"][0];
        assert_eq!((&attached["relation"], &attached["grade"]), (&json!("mentions"), &json!("asserted")));
    }
    let claim = shown(&other, &id).await;
    assert_eq!((&claim["status"], &claim["grade"]), (&json!("contested"), &json!("asserted")));
    // A finished run that is tied to it supports it, and confirms nothing.
    let old = run(&owner, json!({ "profile": "pool" })).await;
    let attach = json!({ "run_id": old.field("run_id"), "claim_id": id });
    bench.accepted(&owner, "attach_experiment", attach).await;
    let claim = shown(&other, &id).await;
    let attached = claim["evidence_items"].as_array().and_then(|all| all.last()).expect("evidence");
    assert_eq!((&claim["status"], &attached["relation"]), (&json!("contested"), &json!("supports")));
    let settled = run(&owner, json!({ "profile": "pool", "claim_id": id, "blocking": true })).await;
    assert!(!settled.refused, "{}", settled.text);
    let claim = shown(&other, &id).await;
    assert_eq!((&claim["status"], &claim["basis"]), (&json!("confirmed"), &json!("proved")));
    let proof = claim["evidence_items"].as_array().and_then(|all| all.last()).expect("evidence");
    assert_eq!((&proof["profile"], &proof["prediction"]), (&json!("pool"), &json!("passes")));
    assert_eq!(proof["profile_sha256"].as_str().map(str::len), Some(64), "{proof}");
    bench.kill_writer();
    bench.assert_sound();
}

#[tokio::test]
async fn a_run_about_a_deprecated_claim_is_refused() {
    let bench = Bench::new();
    profile(&bench, "pool", "true", "\"src/pool/**\"", EXPECTING);
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let id = bench.claim(&owner, "the pool gives connections back", "src/pool").await;
    bench.accepted(&owner, "deprecate_claim", json!({ "claim_id": id, "reason": "it is gone" })).await;
    let refused = run(&owner, json!({ "profile": "pool", "claim_id": id })).await;
    assert!(refused.refused, "{}", refused.text);
    assert_eq!(refused.field("code"), "claim_deprecated");
}

pub(crate) fn git(dir: &Path, arguments: &[&str]) {
    let with_name = ["-c", "user.name=t", "-c", "user.email=t@t"];
    let done = Command::new("git").args(with_name).args(arguments).current_dir(dir).output().expect("git");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Makes the workspace a repository with one commit.
pub(crate) fn committed(bench: &Bench) {
    let root = bench.workspace().root();
    git(root, &["init", "-q"]);
    std::fs::write(root.join(".gitignore"), ".hivemind/\nflip\n").expect("a file");
    git(root, &["add", "-A"]);
    git(root, &["commit", "-qm", "one"]);
}

#[tokio::test]
async fn a_run_that_comes_out_both_ways_on_one_tree_confirms_nothing() {
    let bench = Bench::new();
    profile(&bench, "flaky", "test -e flip", "\"src/**\"", EXPECTING);
    committed(&bench);
    let flip = bench.workspace().root().join("flip");
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let other = bench.pane(Some("reviewer"), Era::Legacy).await;
    // It fails, then passes, and the tree is the same.
    let first = contested(&bench, &owner, &other, "the pool gives connections back").await;
    let failed = run(&owner, json!({ "profile": "flaky", "claim_id": first, "blocking": true })).await;
    assert_eq!(failed.body["run_state"], "failed");
    std::fs::write(&flip, "").expect("a file");
    let passed = run(&owner, json!({ "profile": "flaky", "claim_id": first, "blocking": true })).await;
    assert_eq!(passed.body["run_state"], "succeeded");
    let claim = shown(&other, &first).await;
    assert_eq!(claim["status"], "contested", "{claim}");
    let last = &claim["evidence_items"][1];
    assert_eq!(last["unstable"], json!({ "passed": 1, "failed": 1 }), "{claim}");
    assert_eq!(claim["grade"], "asserted", "what is unstable shows nothing: {claim}");
    let page = other.read(&format!("hivemind://claims/{first}")).await.expect("a page");
    assert!(page.contains("unstable: 1 passed, 1 failed on the same content"), "{page}");
    // Nor does it as evidence of another claim.
    let second = bench.claim(&owner, "the queue drains at shutdown", "src/pool").await;
    let attach = json!({ "run_id": passed.field("run_id"), "claim_id": second });
    let attached = bench.accepted(&owner, "attach_experiment", attach).await;
    assert!(attached.field("meaning").contains("unstable"), "{}", attached.text);
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: the owner ran the same test with the other prediction, or another test, until one came out right.
#[tokio::test]
async fn a_choice_among_outcomes_is_no_proof() {
    let bench = Bench::new();
    profile(&bench, "fails", "exit 1", "\"src/**\"", EXPECTING);
    profile(&bench, "passes", "exit 0", "\"src/**\"", EXPECTING);
    committed(&bench);
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let other = bench.pane(Some("reviewer"), Era::Legacy).await;
    let id = contested(&bench, &owner, &other, "the pool gives connections back").await;
    let asked = |profile: &str, prediction: &str| json!({ "profile": profile, "claim_id": id, "blocking": true, "prediction": prediction });
    let against = run(&owner, asked("fails", "passes")).await;
    assert_eq!(against.body["run_state"], "failed");
    for (profile, prediction) in [("fails", "fails"), ("passes", "passes")] {
        run(&owner, asked(profile, prediction)).await;
        let claim = shown(&other, &id).await;
        assert_eq!(claim["status"], "contested", "{profile} {prediction}: {claim}");
        let reason =
            claim["history"].as_array().and_then(|moves| moves.last()).expect("moves")["reason"].clone();
        let reason = reason.as_str().expect("a reason");
        assert!(reason.contains("contradicts it on the same content"), "{reason}");
    }
    assert_rebuilds_to_the_same(&bench);
}

/// The read models of a workspace that has become a repository are what a rebuild makes.
pub(crate) fn assert_rebuilds_to_the_same(bench: &Bench) {
    let models = || dump(&harness::at(bench.workspace().root()).team_memory());
    let live = models();
    assert!(bench.hm(&["rebuild"]).status.success());
    assert_eq!(models(), live, "rebuild equals live");
}

#[tokio::test]
async fn a_proof_that_later_comes_out_otherwise_is_flagged_and_cleared_by_equal_runs() {
    let bench = Bench::new();
    profile(&bench, "flaky", "test -e flip", "\"src/**\"", EXPECTING);
    committed(&bench);
    let root = bench.workspace().root().to_owned();
    let flip = root.join("flip");
    std::fs::write(&flip, "").expect("a file");
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let other = bench.pane(Some("reviewer"), Era::Legacy).await;
    let id = contested(&bench, &owner, &other, "the pool gives connections back").await;
    run(&owner, json!({ "profile": "flaky", "claim_id": id, "blocking": true })).await;
    let claim = shown(&other, &id).await;
    assert_eq!((&claim["status"], &claim["basis"]), (&json!("confirmed"), &json!("proved")));
    assert_eq!(claim.get("unstable"), None);
    // A run that is not even about the claim comes out the other way on the same tree.
    std::fs::remove_file(&flip).expect("the file");
    let answer = run(&other, json!({ "profile": "flaky" })).await;
    assert_eq!(answer.body["experiment"]["unstable"], json!({ "passed": 1, "failed": 1 }), "{}", answer.text);
    let claim = shown(&other, &id).await;
    assert_eq!((&claim["status"], &claim["unstable"]), (&json!("confirmed"), &json!(true)), "{claim}");
    let list = other.read("hivemind://claims").await.expect("a page");
    assert!(list.contains("(confirmed, proved, unstable, R1: flaky, by devops)"), "{list}");
    // Other content of what the profile covers, and five equal runs of it.
    std::fs::write(&flip, "").expect("a file");
    bench.write("src/mended.rs", "");
    git(&root, &["add", "-A"]);
    git(&root, &["commit", "-qm", "two"]);
    for nth in 1..=5 {
        let answer = run(&other, json!({ "profile": "flaky" })).await;
        let unstable = answer.body["experiment"].get("unstable").is_some();
        assert_eq!(unstable, nth < 5, "run {nth}: {}", answer.text);
    }
    assert_eq!(shown(&other, &id).await.get("unstable"), None, "the test is stable again");
    assert_rebuilds_to_the_same(&bench);
}

#[tokio::test]
async fn several_runs_of_one_request_are_judged_together() {
    let bench = Bench::new();
    let versioned = format!("version = [\"sh\", \"-c\", \"echo steady 1.2; echo more\"]\n{EXPECTING}");
    profile(&bench, "steady", "true", "\"src/**\"", &versioned);
    // The third run fails.
    profile(&bench, "rare", "echo x >> count; test $(wc -l < count) != 3 || exit 7", "\"src/**\"", EXPECTING);
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let other = bench.pane(Some("reviewer"), Era::Legacy).await;
    let id = contested(&bench, &owner, &other, "the pool gives connections back").await;
    let given = json!({ "profile": "rare", "claim_id": id, "blocking": true, "repeat": 4 });
    let answer = run(&owner, given).await;
    let series = &answer.body["experiment"]["series"];
    assert_eq!(
        (&series["failed"], &series["report"]),
        (&json!(1), &json!("1 of 4 failed")),
        "{}",
        answer.text
    );
    let claim = shown(&other, &id).await;
    assert_eq!(claim["status"], "contested", "{claim}");
    assert_eq!(claim["evidence_items"].as_array().map(Vec::len), Some(1), "they speak once: {claim}");
    assert_eq!(claim["evidence_items"][0]["unstable"], json!({ "passed": 3, "failed": 1 }));
    let given = json!({ "profile": "steady", "claim_id": id, "blocking": true, "repeat": 3 });
    let answer = run(&owner, given).await;
    let report = &answer.body["experiment"]["series"]["report"];
    assert_eq!(report, "0 of 3 failed", "{}", answer.text);
    assert_eq!(answer.body["experiment"]["outcome"]["tool"], "steady 1.2", "the first line of its version");
    assert_eq!(shown(&other, &id).await["basis"], "proved");
    let refused = run(&owner, json!({ "profile": "steady", "repeat": 21 })).await;
    assert_eq!(refused.field("code"), "invalid_argument", "{}", refused.text);
    bench.kill_writer();
    bench.assert_sound();
}

#[tokio::test]
async fn the_prediction_stands_in_the_ledger_before_the_process_starts() {
    let bench = Bench::new();
    // The process waits until this test has read the ledger.
    profile(
        &bench,
        "waits",
        "touch began; while ! test -e flip; do sleep 0.05; done",
        "\"src/**\"",
        EXPECTING,
    );
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let id = bench.claim(&owner, "the build is broken on main", "src/pool").await;
    let given = json!({ "profile": "waits", "claim_id": id, "prediction": "fails" });
    let receipt = bench.accepted(&owner, "run_experiment", given).await;
    let meaning = receipt.field("meaning");
    assert!(meaning.contains("failing supports") && meaning.contains("passing contradicts"), "{meaning}");
    assert!(meaning.contains("the build is broken on main"), "{meaning}");
    wait_until("the process runs", || bench.workspace().root().join("began").exists());
    let kinds: Vec<String> = bench.events().iter().map(|event| event.kind.clone()).collect();
    assert_eq!(kinds.last().map(String::as_str), Some("experiment.started"), "{kinds:?}");
    let queued = bench.events().into_iter().find(|event| event.kind == "experiment.queued").expect("queued");
    let (payload, _) = queued.payload.expect("a payload");
    let queued: Value = serde_json::from_str(&payload).expect("JSON");
    assert_eq!((&queued["prediction"], &queued["claim_id"]), (&json!("fails"), &json!(id)));
    std::fs::write(bench.workspace().root().join("flip"), "").expect("a file");
    let run = receipt.field("run_id").to_owned();
    for _ in 0..400 {
        if json_of(&owner, &format!("hivemind://experiments/{run}")).await["status"] == "succeeded" {
            let attached = &json_of(&owner, &format!("hivemind://experiments/{run}")).await["attached"][0];
            assert_eq!(attached["relation"], "contradicts", "it passed, and was predicted to fail");
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the run ends");
}

#[test]
fn the_command_line_says_what_a_run_will_mean_and_how_it_failed() {
    let bench = Bench::new();
    let script =
        "for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18; do echo line $n; done; echo hung >&2; exit 3";
    profile(&bench, "fails", script, "\"src/**\"", EXPECTING);
    let hm = |arguments: &[&str]| {
        let output = bench.hm(arguments);
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        (output.status.code(), text.concat())
    };
    let created =
        hm(&["--json", "--agent", "devops", "claim", "create", "the pool holds 20", "--scope", "src"]).1;
    let created: Value = serde_json::from_str(&created).expect("JSON");
    let id = created["claim_id"].as_str().expect("an id");
    let (code, said) = hm(&["--agent", "devops", "experiment", "run", "fails", "--claim", id]);
    assert_eq!(code, Some(0), "{said}");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let meaning = "passing supports claim C1: \"the pool holds 20\"; failing contradicts it";
    let [meant, ended] = [meaning, "failed, exit code 3"].map(|words| said.find(words));
    assert!(meant.is_some() && meant < ended, "before it runs: {said}");
    assert!(
        said.contains("line 18") && said.contains("hung") && !said.contains("line 3 "),
        "its end: {said}"
    );
    assert!(said.contains("it contradicts claim C1 (observed)"), "{said}");
    // Nobody chooses what it says.
    let relation =
        ["--agent", "devops", "experiment", "run", "fails", "--claim", id, "--relation", "supports"];
    assert_eq!(hm(&relation).0, Some(2));

    let (code, said) = hm(&["profile", "show", "fails", "--claim", id]);
    assert_eq!(code, Some(0), "{said}");
    for words in ["exit 0 passes", "src/**", "a run can settle it, by its scopes src", "sha256", "(trusted)"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    let (_, said) = hm(&["--json", "profile", "show", "go-test", "--claim", id]);
    let printed: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!((&printed["origin"], &printed["argv"][0]), (&json!("built_in"), &json!("go")));
    assert_eq!(hm(&["profile", "show", "nope"]).0, Some(1));
}

#[test]
fn a_typed_command_that_does_not_start_exits_as_in_a_shell() {
    let bench = Bench::new();
    std::fs::write(bench.root().join("plain"), "text").expect("a file");
    let typed = |command: &str| {
        let arguments =
            ["--agent", "operator", "experiment", "run", "--thread-id", "T", "--test-id", "T", "--"];
        bench.hm(&[&arguments[..], &[command]].concat())
    };
    assert_eq!(typed("no-such-program").status.code(), Some(127));
    assert_eq!(typed("./plain").status.code(), Some(126));
    let completed = bench.events().into_iter().filter(|event| event.kind == "experiment.completed");
    for event in completed {
        let ended: Value = serde_json::from_str(&event.payload.expect("a payload").0).expect("JSON");
        let stdout = &ended["stdout"];
        assert_eq!((&stdout["total_bytes"], &stdout["truncated"]), (&json!(0), &json!(false)), "{ended}");
    }
    let mut results = Vec::new();
    files(&bench.root().join("artifacts"), &mut results);
    assert_eq!(results.len(), 2);
    for result in results {
        let result: Value = serde_json::from_slice(&std::fs::read(result).expect("a file")).expect("JSON");
        assert!(!result.to_string().contains("\"truncated\":true"), "{result}");
    }
}

fn files(dir: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("a directory").flatten() {
        if entry.path().is_dir() { files(&entry.path(), found) } else { found.push(entry.path()) }
    }
}

#[tokio::test]
async fn an_argument_of_the_wrong_type_is_named() {
    let bench = Bench::new();
    let pane = bench.pane(Some("devops"), Era::Modern).await;
    let given = json!({ "profile": "cargo-test", "args": { "name": "pool" } });
    let refused = pane.call("run_experiment", given).await.expect("an answer");
    assert_eq!((refused.field("code"), refused.field("argument")), ("invalid_argument", "args"));
    assert!(refused.text.contains("correct `args`"), "{}", refused.text);
}

#[tokio::test]
async fn a_challenge_names_profiles_that_can_run_here_and_are_about_the_claim() {
    let bench = Bench::new();
    let root = bench.workspace().root();
    for (file, text) in [("Cargo.toml", "[package]\nname = \"x\"\n"), ("src/lib.rs", "")] {
        let file = root.join(file);
        std::fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
        std::fs::write(file, text).expect("a file");
    }
    profile(&bench, "away", "true", "\"src/**\"", &format!("needs = [\"no-such-file\"]\n{EXPECTING}"));
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let other = bench.pane(Some("reviewer"), Era::Legacy).await;
    let id = bench.claim(&owner, "the pool gives connections back", "src/lib.rs").await;
    let challenge = json!({ "claim_id": id, "reason": "I saw otherwise" });
    let answer = bench.accepted(&other, "challenge", challenge).await;
    let hint = answer.text.split("settle it by a run:").nth(1).expect("a hint");
    assert!(hint.contains("cargo-test"), "{hint}");
    for other in ["eslint", "pytest", "| go-test", "npm", "away", "make-target"] {
        assert!(!hint.contains(other), "{other}: {hint}");
    }
}

#[tokio::test]
async fn to_cancel_one_of_several_runs_ends_them_all() {
    let bench = Bench::new();
    profile(&bench, "slow", "sleep 60", "\"src/**\"", EXPECTING);
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let other = bench.pane(Some("reviewer"), Era::Legacy).await;
    let id = contested(&bench, &owner, &other, "the pool gives connections back").await;
    let given = json!({ "profile": "slow", "claim_id": id, "blocking": true, "repeat": 3 });
    let run = bench.accepted(&owner, "run_experiment", given).await.field("run_id").to_owned();
    assert_eq!(shown(&other, &id).await["status"], "pending_proof");
    assert!(bench.hm(&["--agent", "devops", "experiment", "cancel", &run]).status.success());
    for _ in 0..400 {
        let found = json_of(&owner, &format!("hivemind://experiments/{run}")).await;
        if found["series"]["inconclusive"] == 3 {
            assert_eq!(shown(&other, &id).await["status"], "contested");
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("they end");
}

/// What a release before predictions wrote: the caller chose what the run says.
#[test]
fn an_old_proof_is_shown_as_unchecked_and_stays() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let made = creation("devops", "the pool holds 20");
    let challenge = position("reviewer", claim_of(&made), Position::Challenge);
    for outcome in committer.commit(&[made.clone(), challenge]).expect("a ledger") {
        outcome.expect("an accepted command");
    }
    drop(committer);
    let (claim, run) = (claim_of(&made), uuid::Uuid::from_u128(0x9000));
    let plan = json!({
        "profile": "own", "argv": ["false"], "cwd": "/work", "env": { "only": [] }, "timeout_ms": 1000,
        "limits": {}, "uncapped": false, "pty": false, "expect": { "exit": 0 },
    });
    let moved = |from: &str, to: &str, reason: String| {
        ("claim.status_changed", json!({ "claim_id": claim, "from": from, "to": to, "reason": reason }))
    };
    let events = [
        (
            "experiment.queued",
            json!({ "run_id": run, "plan": plan, "claim_id": claim, "relation": "supports", "blocking": true }),
        ),
        moved("contested", "pending_proof", format!("waits for run {run}")),
        ("experiment.started", json!({ "run_id": run })),
        (
            "experiment.completed",
            json!({ "run_id": run, "profile": "own", "command": "false", "state": "failed", "exit_code": 1 }),
        ),
        (
            "evidence.added",
            json!({ "claim_id": claim, "evidence_ref": uuid::Uuid::from_u128(0x9003), "relation": "supports", "weight": 1.0, "grade": "observed" }),
        ),
        moved("pending_proof", "confirmed", format!("proof:{run}")),
    ];
    let events = events.into_iter().enumerate().map(|(nth, (kind, payload))| NewEvent {
        id: EventId::from_uuid(uuid::Uuid::from_u128(0x9000 + nth as u128)),
        kind,
        min_reader: 1,
        payload: payload.to_string(),
        salt: [7; 32],
    });
    let mut ledger = Ledger::open(&workspace.ledger()).expect("a ledger");
    let batch = Batch {
        command_id: CommandId::from_uuid(uuid::Uuid::from_u128(0x8fff)),
        agent: AgentId::architect(),
        session: None,
        trace_id: None,
        idempotency_key: None,
        at: hivemind::system::now(),
        events: events.collect(),
    };
    ledger.append(ledger.head(), &[batch]).expect("a ledger that takes them");
    drop(ledger);
    drop(workspace.committer(2));
    let reader = Reader::open(&workspace.team_memory()).expect("read models").expect("a file");
    let found = reader.claim(claim).expect("an answer").expect("a claim");
    assert_eq!((found.summary.status, found.summary.basis), (Status::Confirmed, Some(Basis::Unchecked)));
    assert_eq!(found.summary.standing(), "confirmed by proof (unchecked)");
    assert_eq!(found.evidence_items[0].relation, "supports", "what it said then stays");
    drop(reader);
    workspace.assert_sound();
}

/// Red before: a claim that a run proved left the claim in force that it was to replace.
#[tokio::test]
async fn a_proved_claim_takes_the_place_of_the_one_it_supersedes() {
    let bench = Bench::new();
    profile(&bench, "passes", "exit 0", "\"src/**\"", EXPECTING);
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let other = bench.pane(Some("reviewer"), Era::Legacy).await;
    let analyst = bench.pane(Some("analyst"), Era::Modern).await;
    let by_operator = ["claim", "create", "the queue is fair", "--scope", "src/pool", "--agent", "operator"];
    let by_operator = bench.hm(&[&by_operator[..], &["--json"]].concat());
    let by_operator: Value = serde_json::from_slice(&by_operator.stdout).expect("JSON");
    let kept = by_operator["claim_id"].as_str().expect("an id").to_owned();
    let replaced = bench.claim(&analyst, "the pool holds 20 connections", "src/pool").await;
    for (old, statement, becomes) in [
        (&replaced, "vendoring is slow here", "deprecated"),
        (&kept, "the lock is held for long", "proposed"),
    ] {
        let create = json!({
            "statement": statement, "claim_type": "fact", "scopes": ["src/pool"], "supersedes": old,
        });
        let new = bench.accepted(&owner, "create_claim", create).await.field("claim_id").to_owned();
        let challenge = json!({ "claim_id": new, "reason": "I saw otherwise" });
        bench.accepted(&other, "challenge", challenge).await;
        run(&owner, json!({ "profile": "passes", "claim_id": new, "blocking": true })).await;
        assert_eq!(shown(&other, &new).await["status"], "confirmed");
        let old = shown(&other, old).await;
        assert_eq!(old["status"], becomes, "{old}");
        if becomes == "deprecated" {
            assert_eq!(old["superseded_by"], json!(new), "{old}");
        }
    }
    bench.kill_writer();
    bench.assert_sound();
}
