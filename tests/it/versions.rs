//! A claim is about a version: what the files of its scopes held when something was said about it, and what follows
//! when they hold something else.

use hivemind::mcp::{Era, Pane, ToolAnswer};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::terminal::trust;

/// A profile of the workspace that runs one line of shell, and expects 0.
fn profile(bench: &Bench, name: &str, command: &str) {
    let dir = bench.workspace().marker_dir().join("profiles");
    std::fs::create_dir_all(&dir).expect("a directory");
    let text = format!(
        "description = \"a test\"\nargv = [\"sh\", \"-c\", \"{command}\"]\ntimeout_ms = 20000\n[expect]\nexit = 0\n"
    );
    std::fs::write(dir.join(format!("{name}.toml")), text).expect("a profile");
    trust(bench.root(), name);
}

fn write(bench: &Bench, path: &str, text: &str) {
    let path = bench.root().join(path);
    std::fs::create_dir_all(path.parent().expect("below the root")).expect("a directory");
    std::fs::write(path, text).expect("a file");
}

async fn json_of(pane: &Pane, uri: &str) -> Value {
    let text = pane.read(&format!("{uri}?format=json")).await.expect("a resource");
    serde_json::from_str(&text).expect("JSON")
}

async fn run(pane: &Pane, profile: &str, claim: &str, blocking: bool) -> ToolAnswer {
    let given = json!({ "profile": profile, "claim_id": claim, "blocking": blocking, "wait": true });
    let answer = pane.call("run_experiment", given).await.expect("an answer");
    assert!(!answer.refused, "{}", answer.text);
    answer
}

async fn challenge(bench: &Bench, pane: &Pane, claim: &str) {
    bench.accepted(pane, "challenge", json!({ "claim_id": claim, "reason": "it scans the list" })).await;
}

async fn edited(bench: &Bench, pane: &Pane, path: &str, text: &str) {
    write(bench, path, text);
    let report = json!({ "kind": "file_edited", "summary": "a heap instead of the scan", "paths": [path] });
    bench.accepted(pane, "report_event", report).await;
}

const FILE: &str = "src/a.rs";

/// The false proof of the trial: between the challenge and the run another agent replaced what both were about.
#[tokio::test]
async fn a_run_on_other_content_than_the_challenge_saw_neither_confirms_nor_contradicts() {
    let bench = Bench::new();
    profile(&bench, "passes", "exit 0");
    profile(&bench, "fails", "exit 1");
    write(&bench, FILE, "fn insert() { /* scan */ }\n");
    let analyst = bench.pane(Some("analyst"), Era::Modern).await;
    let architect = bench.pane(Some("architect"), Era::Legacy).await;
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let id = bench.claim(&architect, "insert is O(n)", FILE).await;
    challenge(&bench, &analyst, &id).await;
    edited(&bench, &devops, FILE, "fn insert() { /* heap */ }\n").await;

    for profile in ["passes", "fails"] {
        let answer = run(&architect, profile, &id, true).await;
        let why = "`src/a.rs` changed by devops since the challenge";
        assert!(answer.text.contains(why), "{profile}: {}", answer.text);
        assert!(answer.text.contains("mends"), "it offers the claim that supersedes: {}", answer.text);
        let claim = json_of(&architect, &format!("hivemind://claims/{id}")).await;
        assert_eq!(claim["status"], "contested", "{profile}");
        assert_eq!(claim["grade"], "asserted", "{profile}");
        assert_eq!(claim["evidence_items"], json!([]), "{profile}");
        let last = claim["history"].as_array().and_then(|history| history.last()).expect("a change");
        assert!(last["reason"].as_str().is_some_and(|reason| reason.contains(why)), "{last}");
    }
    bench.kill_writer();
    bench.assert_sound();
}
