//! Which earlier run keeps a claim from being proved: no agent gets rid of an outcome, and no honest proof is hindered.

use hivemind::mcp::{Era, Pane, ToolAnswer};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::proof::{EXPECTING, assert_rebuilds_to_the_same, committed, git, json_of, profile, run, shown};

const FILE: &str = "src/a.rs";

/// A workspace with a file, and with profiles that pass, that fail, and that fail while `src/a.rs` holds a bug.
fn with_profiles() -> Bench {
    let bench = Bench::new();
    profile(&bench, "yes", "exit 0", "\"src/**\"", EXPECTING);
    profile(&bench, "no", "exit 1", "\"src/**\"", EXPECTING);
    profile(&bench, "check", "! grep -q bug src/a.rs", "\"src/**\"", EXPECTING);
    bench.write(FILE, "a bug\n");
    bench
}

async fn panes(bench: &Bench) -> (Pane, Pane) {
    (bench.pane(Some("devops"), Era::Modern).await, bench.pane(Some("reviewer"), Era::Legacy).await)
}

/// A claim of the owner that the other agent challenged.
async fn contested(bench: &Bench, (owner, other): (&Pane, &Pane), statement: &str, scope: &str) -> String {
    let id = bench.claim(owner, statement, scope).await;
    bench.accepted(other, "challenge", json!({ "claim_id": id, "reason": "I saw otherwise" })).await;
    id
}

/// A run for which the claim waits.
async fn settle(pane: &Pane, profile: &str, claim: &str) -> ToolAnswer {
    let answer = run(pane, json!({ "profile": profile, "claim_id": claim, "blocking": true })).await;
    assert!(!answer.refused, "{}", answer.text);
    answer
}

/// The status of a claim, and the reason of its last move.
async fn stands(pane: &Pane, claim: &str) -> (String, String) {
    let claim = shown(pane, claim).await;
    let last = claim["history"].as_array().and_then(|moves| moves.last()).expect("a move").clone();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    (text(&claim["status"]), text(&last["reason"]))
}

async fn is_kept_open(pane: &Pane, claim: &str, because: &str) {
    let (status, reason) = stands(pane, claim).await;
    assert!(status == "contested" && reason.contains(because), "{status}: {reason}");
}

async fn is_proved(pane: &Pane, claim: &str) {
    let (status, reason) = stands(pane, claim).await;
    assert!(status == "confirmed" && reason.starts_with("proof:"), "{status}: {reason}");
}

fn event_of(answer: &ToolAnswer) -> String {
    answer.body["experiment"]["evidence_event_id"].as_str().expect("an event").to_owned()
}

const SAME: &str = "contradicts it on the same content";

/// Red before: the agent that had run the one took it back, and the other proved.
#[tokio::test]
async fn a_contradiction_that_its_agent_took_back_still_counts_against_a_proof() {
    let bench = with_profiles();
    let (owner, other) = panes(&bench).await;
    let statements = ["a does nothing", "the queue drains at shutdown"];
    for (by, statement) in ["reviewer", "operator"].into_iter().zip(statements) {
        let id = contested(&bench, (&owner, &other), statement, FILE).await;
        let against = settle(&other, "no", &id).await;
        let run_id = against.field("run_id").to_owned();
        let retract = ["claim", "retract-evidence", &id, &run_id, "--reason", "a slip", "--agent", by];
        let retracted = bench.hm(&retract);
        assert!(retracted.status.success(), "{retracted:?}");
        assert_eq!(shown(&owner, &id).await["evidence_items"], json!([]));
        settle(&owner, "yes", &id).await;
        match by {
            "reviewer" => is_kept_open(&owner, &id, SAME).await,
            _ => is_proved(&owner, &id).await,
        }
        let told =
            String::from_utf8_lossy(&retracted.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(told.contains("still keeps another run from proving"), by == "reviewer", "{told}");
    }
    bench.kill_writer();
    bench.assert_sound();
}

/// Red before: the key of one test was never that of another, so that a claim about a directory had no content.
#[tokio::test]
async fn another_test_on_one_tree_proves_nothing_about_a_directory() {
    let bench = with_profiles();
    committed(&bench);
    let (owner, other) = panes(&bench).await;
    let id = contested(&bench, (&owner, &other), "the pool gives connections back", "src").await;
    settle(&owner, "check", &id).await;
    settle(&owner, "yes", &id).await;
    is_kept_open(&owner, &id, SAME).await;
    // Nor does it where a challenger tied the run that contradicts.
    let tied = contested(&bench, (&owner, &other), "vendoring is slow here", "src").await;
    let against = run(&other, json!({ "profile": "check" })).await;
    let attach = json!({ "run_id": against.field("run_id"), "claim_id": tied });
    bench.accepted(&other, "attach_experiment", attach).await;
    settle(&owner, "yes", &tied).await;
    is_kept_open(&owner, &tied, SAME).await;
    // In another tree the test that failed settles it, where it passes more than once.
    bench.write(FILE, "mended\n");
    for claim in [&id, &tied] {
        for test in ["yes", "check"] {
            settle(&owner, test, claim).await;
            is_kept_open(&owner, claim, "`src` has no version that shows whether the cause is mended").await;
        }
        run(&owner, json!({ "profile": "check", "claim_id": claim, "blocking": true, "repeat": 3 })).await;
        is_proved(&owner, claim).await;
    }
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: the file of the claim was as it had been, and the file that made the test fail did not count.
#[tokio::test]
async fn what_was_mended_in_another_file_proves_the_claim() {
    let bench = with_profiles();
    bench.write("src/b.rs", "fn b() {}\n");
    committed(&bench);
    let (owner, other) = panes(&bench).await;
    let id = contested(&bench, (&owner, &other), "b returns at once", "src/b.rs").await;
    settle(&owner, "check", &id).await;
    is_kept_open(&owner, &id, "contradicts it").await;
    bench.write(FILE, "mended\n");
    git(bench.root(), &["add", "-A"]);
    git(bench.root(), &["commit", "-qm", "two"]);
    settle(&owner, "check", &id).await;
    is_kept_open(&owner, &id, "contradicted it on the same `src/b.rs`").await;
    run(&owner, json!({ "profile": "check", "claim_id": id, "blocking": true, "repeat": 3 })).await;
    is_proved(&owner, &id).await;
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: outside of git one failed run kept a claim about a directory contested for ever.
#[tokio::test]
async fn where_the_content_is_not_known_the_same_test_speaks_again_and_no_other_does() {
    let bench = with_profiles();
    let (owner, other) = panes(&bench).await;
    let id = contested(&bench, (&owner, &other), "the pool gives connections back", "src").await;
    settle(&owner, "check", &id).await;
    bench.write(FILE, "mended\n");
    settle(&owner, "yes", &id).await;
    is_kept_open(&owner, &id, "it is not known that the content changed since").await;
    let flipped = json!({ "profile": "no", "claim_id": id, "blocking": true, "prediction": "fails" });
    run(&owner, flipped).await;
    is_kept_open(&owner, &id, "it is not known that the content changed since").await;
    // One run may pass by chance, where nothing shows that the content changed.
    settle(&owner, "check", &id).await;
    is_kept_open(&owner, &id, "it is not known that the content changed since").await;
    run(&owner, json!({ "profile": "check", "claim_id": id, "blocking": true, "repeat": 3 })).await;
    is_proved(&owner, &id).await;
    bench.kill_writer();
    bench.assert_sound();
}

/// Red before: a run that failed as the claim says was tied to it by another agent, and so contradicted it.
#[tokio::test]
async fn the_outcome_that_a_claim_predicts_does_not_hinder_its_proof() {
    for in_git in [true, false] {
        let bench = with_profiles();
        if in_git {
            committed(&bench);
        }
        let (owner, other) = panes(&bench).await;
        let id = contested(&bench, (&owner, &other), "the build is broken on main", "src").await;
        let seen = run(&other, json!({ "profile": "no" })).await;
        let attach = json!({ "run_id": seen.field("run_id"), "claim_id": id });
        bench.accepted(&other, "attach_experiment", attach).await;
        // Nobody said yet which outcome shows it.
        assert_eq!(shown(&owner, &id).await["evidence_items"][0]["relation"], "mentions");
        let proof = json!({ "profile": "no", "claim_id": id, "blocking": true, "prediction": "fails" });
        run(&owner, proof).await;
        is_proved(&owner, &id).await;
    }
}

/// Red before: a writer that started after the erasure did not know of which run the evidence is.
#[tokio::test]
async fn the_erasure_of_the_end_of_a_run_lifts_nothing() {
    let bench = with_profiles();
    committed(&bench);
    let (owner, other) = panes(&bench).await;
    let open = contested(&bench, (&owner, &other), "the pool gives connections back", "src").await;
    let against = settle(&owner, "no", &open).await;
    let proved = contested(&bench, (&owner, &other), "vendoring is slow here", "src").await;
    let proof = settle(&owner, "yes", &proved).await;
    is_proved(&owner, &proved).await;
    for (answer, claim) in [(&against, &open), (&proof, &proved)] {
        // Once for the end, and once for what says it again.
        for _ in 0..2 {
            let page = json_of(&owner, &format!("hivemind://experiments/{}", answer.field("run_id"))).await;
            let end = page["evidence_event_id"].as_str().expect("an event").to_owned();
            let forgot = bench.hm(&["--agent", "operator", "forget", &end, "--reason", "a name"]);
            assert!(forgot.status.success(), "{forgot:?}");
        }
        // A writer that starts folds what is left.
        bench.kill_writer();
        let attach = json!({ "run_id": answer.field("run_id"), "claim_id": claim });
        let again = owner.call("attach_experiment", attach).await.expect("an answer");
        assert_eq!(again.field("code"), "duplicate", "{}", again.text);
    }
    for name in [proof.field("run_id").to_owned(), event_of(&proof)] {
        let retract =
            ["claim", "retract-evidence", &proved, &name, "--reason", "a slip", "--agent", "devops"];
        let refused = bench.hm(&retract);
        assert!(!refused.status.success(), "{refused:?}");
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(told.contains("its result is not taken back"), "{told}");
    }
    settle(&owner, "yes", &open).await;
    is_kept_open(&owner, &open, SAME).await;
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: one more file in the tree made the content another one, so that the next test or prediction proved the
/// claim about a file that had not changed.
#[tokio::test]
async fn a_change_beside_the_file_of_the_claim_opens_no_choice_among_tests() {
    let bench = with_profiles();
    committed(&bench);
    let (owner, other) = panes(&bench).await;
    let id = contested(&bench, (&owner, &other), "a does nothing", FILE).await;
    settle(&owner, "check", &id).await;
    is_kept_open(&owner, &id, "contradicts it").await;
    bench.write("junk", "1\n");
    settle(&owner, "yes", &id).await;
    is_kept_open(&owner, &id, SAME).await;
    let flipped = json!({ "profile": "check", "claim_id": id, "blocking": true, "prediction": "fails" });
    run(&owner, flipped).await;
    is_kept_open(&owner, &id, SAME).await;
    // Nor does it turn the prediction about a directory around, which has no version: no profile covers the junk.
    let id = contested(&bench, (&owner, &other), "the pool gives connections back", "src").await;
    settle(&owner, "no", &id).await;
    bench.write("junk", "2\n");
    let flipped = json!({ "profile": "no", "claim_id": id, "blocking": true, "prediction": "fails" });
    run(&owner, flipped).await;
    is_kept_open(&owner, &id, SAME).await;
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: a mode, or one more file in a directory, made the failure one of other content, and any test that passed
/// proved the claim.
#[tokio::test]
async fn a_touch_in_a_directory_of_the_claim_wipes_no_failure() {
    const ANOTHER: &str = "of another test or prediction contradicts it";
    for (scopes, touch, told) in [
        (&["src"][..], "mode", "on the same `src`"),
        (&["src"], "file", "`src` has no version that shows whether the cause is mended"),
        (&["src/**"], "file", "`src/**` has no version that shows whether the cause is mended"),
        (&[FILE, "tests"], "file", "on the same `src/a.rs`"),
    ] {
        let bench = with_profiles();
        for (name, script) in [("yes", "exit 0"), ("flaky", "test -e flip")] {
            profile(&bench, name, script, "\"src/**\", \"tests/**\"", EXPECTING);
        }
        bench.write("tests/t.rs", "a test\n");
        committed(&bench);
        let (owner, other) = panes(&bench).await;
        let given = json!({ "statement": "the pool is fair", "claim_type": "fact", "scopes": scopes });
        let id = bench.accepted(&owner, "create_claim", given).await.field("claim_id").to_owned();
        let doubt = json!({ "claim_id": id, "reason": "I saw otherwise" });
        bench.accepted(&other, "challenge", doubt).await;
        settle(&owner, "flaky", &id).await;
        bench.write("flip", "");
        if touch == "mode" {
            let run = std::process::Command::new("chmod").arg("+x").arg(bench.root().join(FILE)).status();
            assert!(run.expect("chmod runs").success());
        } else {
            bench.write("src/new", "unrelated\n");
            bench.write("tests/new", "unrelated\n");
        }
        settle(&owner, "yes", &id).await;
        is_kept_open(&owner, &id, ANOTHER).await;
        is_kept_open(&owner, &id, told).await;
        // It says how: the failed test again, and more than once.
        is_kept_open(&owner, &id, "\"profile\":\"flaky\",\"repeat\":3").await;
        settle(&owner, "flaky", &id).await;
        assert_eq!(stands(&owner, &id).await.0, "contested");
        run(&owner, json!({ "profile": "flaky", "claim_id": id, "blocking": true, "repeat": 3 })).await;
        is_proved(&owner, &id).await;
        assert_rebuilds_to_the_same(&bench);
    }
}
