//! What becomes of positions: after a run without an outcome.

use hivemind::mcp::Era;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::harness::wait_until;
use crate::terminal::trust;

/// A profile of the workspace that runs until it is stopped.
fn waiting(bench: &Bench) {
    let dir = bench.workspace().marker_dir().join("profiles");
    std::fs::create_dir_all(&dir).expect("a directory");
    let text = "description = \"a test\"\nscopes = [\"src/**\"]\n\
                argv = [\"sh\", \"-c\", \"touch began; while ! test -e over; do sleep 0.05; done\"]\n\
                timeout_ms = 120000\n[expect]\nexit = 0\n";
    std::fs::write(dir.join("waits.toml"), text).expect("a profile");
    trust(bench.root(), "waits");
}

/// Red before: the claim stayed contested, although no agent challenged it.
#[tokio::test]
async fn after_a_cancelled_run_a_claim_is_what_the_positions_say() {
    let bench = Bench::new();
    waiting(&bench);
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let other = bench.pane(Some("reviewer"), Era::Legacy).await;
    let third = bench.pane(Some("analyst"), Era::Modern).await;
    let id = bench.claim(&owner, "the pool gives connections back", "src/pool").await;
    let doubt = json!({ "claim_id": id, "reason": "I saw otherwise" });
    bench.accepted(&other, "challenge", doubt).await;
    let given = json!({ "profile": "waits", "claim_id": id, "blocking": true });
    let run = bench.accepted(&owner, "run_experiment", given).await.field("run_id").to_owned();
    wait_until("the process runs", || bench.root().join("began").exists());
    bench.accepted(&other, "abstain", json!({ "claim_id": id })).await;
    bench.accepted(&third, "support", json!({ "claim_id": id })).await;
    let cancelled = bench.hm(&["experiment", "cancel", &run, "--agent", "devops"]);
    assert!(cancelled.status.success(), "{cancelled:?}");
    let shown = || {
        let shown = bench.hm(&["claim", "show", &id, "--json"]);
        serde_json::from_slice::<Value>(&shown.stdout).expect("JSON")
    };
    wait_until("the run is over", || shown()["status"] != "pending_proof");
    let claim = shown();
    assert_eq!((&claim["status"], &claim["basis"]), (&json!("confirmed"), &json!("agreed")), "{claim}");
    bench.kill_writer();
    bench.assert_sound();
}

/// Red before: a cancelled run took the earlier proof with it.
#[tokio::test]
async fn a_cancelled_run_leaves_an_earlier_proof() {
    let bench = Bench::new();
    waiting(&bench);
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let other = bench.pane(Some("reviewer"), Era::Legacy).await;
    let third = bench.pane(Some("analyst"), Era::Modern).await;
    let id = bench.claim(&owner, "the pool gives connections back", "src/pool").await;
    let doubt = json!({ "claim_id": id, "reason": "I saw otherwise" });
    let given = json!({ "profile": "waits", "claim_id": id, "blocking": true });
    let shown = || {
        let shown = bench.hm(&["claim", "show", &id, "--json"]);
        serde_json::from_slice::<Value>(&shown.stdout).expect("JSON")
    };
    bench.accepted(&other, "challenge", doubt.clone()).await;
    std::fs::write(bench.root().join("over"), "").expect("a file");
    bench.accepted(&owner, "run_experiment", given.clone()).await;
    wait_until("the run is over", || shown()["status"] != "pending_proof");
    assert_eq!(shown()["basis"], "proved");
    std::fs::remove_file(bench.root().join("over")).expect("the file");
    bench.accepted(&third, "challenge", doubt).await;
    let run = bench.accepted(&owner, "run_experiment", given).await.field("run_id").to_owned();
    bench.accepted(&third, "abstain", json!({ "claim_id": id })).await;
    let cancelled = bench.hm(&["experiment", "cancel", &run, "--agent", "devops"]);
    assert!(cancelled.status.success(), "{cancelled:?}");
    wait_until("the run is over", || shown()["status"] != "pending_proof");
    let claim = shown();
    assert_eq!((&claim["status"], &claim["basis"]), (&json!("confirmed"), &json!("proved")), "{claim}");
    bench.kill_writer();
    bench.assert_sound();
}
