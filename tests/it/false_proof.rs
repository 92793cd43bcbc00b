//! Ways to a proof of what is false, each found by a hostile user from outside.

use hivemind::mcp::{Era, Pane, ToolAnswer};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::harness::wait_until;
use crate::proof::{EXPECTING, assert_rebuilds_to_the_same, committed, git, json_of, profile, run, shown};

pub(crate) const FILE: &str = "src/a.rs";
pub(crate) const GLOBS: &str = "\"src/**\", \"tests/**\"";
/// The test looks at the file when `go` is there, and ends when `done` is there.
const STEPPED: &str = "touch began; while ! test -e go; do sleep 0.05; done; ! grep -q bug src/a.rs; code=$?; \
    touch tested; while ! test -e done; do sleep 0.05; done; exit $code";

/// A repository with a file, its owner, a challenger and a third agent.
pub(crate) async fn scene() -> (Bench, [Pane; 3]) {
    let bench = Bench::new();
    profile(&bench, "stepped", STEPPED, GLOBS, EXPECTING);
    profile(&bench, "check", "! grep -q bug src/a.rs", GLOBS, EXPECTING);
    profile(&bench, "flaky", "test -e flip", GLOBS, EXPECTING);
    bench.write(FILE, "a bug\n");
    bench.write("tests/t.rs", "one\n");
    committed(&bench);
    let panes = bench.panes(["analyst", "devops", "reviewer"]).await;
    (bench, panes)
}

pub(crate) async fn contested(bench: &Bench, owner: &Pane, challenger: &Pane) -> String {
    let id = bench.claim(owner, "a divides", FILE).await;
    bench.accepted(challenger, "challenge", json!({ "claim_id": id, "reason": "it rounds" })).await;
    id
}

pub(crate) async fn settle(pane: &Pane, profile: &str, claim: &str, repeat: u32) -> ToolAnswer {
    let mut given = json!({ "profile": profile, "claim_id": claim, "blocking": true });
    if repeat > 1 {
        given["repeat"] = json!(repeat);
    }
    let answer = run(pane, given).await;
    assert!(!answer.refused, "{}", answer.text);
    answer
}

/// The status of a claim with what confirmed it, and the reason of its last move.
pub(crate) async fn stands(pane: &Pane, claim: &str) -> (String, String) {
    let claim = shown(pane, claim).await;
    let last = claim["history"].as_array().and_then(|moves| moves.last()).expect("a move").clone();
    let basis = claim["basis"].as_str().map(|basis| format!(" ({basis})")).unwrap_or_default();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    (text(&claim["status"]) + &basis, text(&last["reason"]))
}

/// Asks for the stepped run and returns its id once it runs.
pub(crate) async fn begin(bench: &Bench, pane: &Pane, claim: &str) -> String {
    let given = json!({ "profile": "stepped", "claim_id": claim, "blocking": true });
    let run = bench.accepted(pane, "run_experiment", given).await.field("run_id").to_owned();
    wait_until("the test runs", || bench.root().join("began").exists());
    run
}

/// Lets the test of the stepped run look at the file.
pub(crate) fn step(bench: &Bench) {
    bench.write("go", "");
    wait_until("the test looked", || bench.root().join("tested").exists());
}

/// Lets the stepped run end.
pub(crate) async fn end(bench: &Bench, pane: &Pane, run: &str) {
    bench.write("done", "");
    for _ in 0..600 {
        let status = json_of(pane, &format!("hivemind://experiments/{run}")).await["status"].clone();
        if status != "running" && status != "queued" {
            assert_eq!(status, "succeeded");
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the run ends");
}

/// Red before: only what the file held when the run was asked for and at its end was compared.
#[tokio::test]
async fn a_file_that_is_changed_and_put_back_during_a_run_is_not_proved_by_it() {
    for told in [false, true] {
        let (bench, [owner, other, third]) = scene().await;
        bench.write(FILE, if told { "fine\n" } else { "a bug\n" });
        let id = contested(&bench, &owner, &other).await;
        let run = begin(&bench, &owner, &id).await;
        if told {
            let report = json!({ "kind": "file_edited", "summary": "tried it", "paths": [FILE] });
            bench.accepted(&third, "report_event", report).await;
        } else {
            bench.write(FILE, "fine\n");
        }
        step(&bench);
        if !told {
            bench.write(FILE, "a bug\n");
        }
        end(&bench, &owner, &run).await;
        let (status, reason) = stands(&owner, &id).await;
        assert_eq!(status, "contested", "{reason}");
        let by = if told { " by reviewer" } else { "" };
        assert!(reason.contains(&format!("`src/a.rs` was written{by} during the run")), "{reason}");
        assert_eq!(shown(&owner, &id).await["evidence_items"], json!([]));
        let page = owner.read(&format!("hivemind://experiments/{run}")).await.expect("a page");
        assert!(page.contains("during the run"), "{page}");
        assert_rebuilds_to_the_same(&bench);
    }
}

/// Red before: any change of the tree made the earlier failure one of other content.
#[tokio::test]
async fn what_lies_outside_of_the_profile_makes_no_other_content() {
    let (bench, [owner, other, _]) = scene().await;
    let id = contested(&bench, &owner, &other).await;
    settle(&owner, "flaky", &id, 1).await;
    bench.write("flip", "");
    bench.write("junk.log", "junk\n");
    settle(&owner, "flaky", &id, 1).await;
    let (status, reason) = stands(&owner, &id).await;
    assert!(status == "contested" && reason.contains("1 passed, 1 failed on the same content"), "{reason}");
    // Another test with the same globs does not get rid of it either.
    profile(&bench, "yes", "exit 0", GLOBS, EXPECTING);
    settle(&owner, "yes", &id, 3).await;
    let (status, reason) = stands(&owner, &id).await;
    assert!(status == "contested" && reason.contains("contradicts it on the same content"), "{reason}");
    // What was unstable stays so, whatever else is committed.
    git(bench.root(), &["add", "-A"]);
    git(bench.root(), &["commit", "-qm", "two"]);
    settle(&owner, "flaky", &id, 6).await;
    let (status, reason) = stands(&owner, &id).await;
    assert!(status == "contested" && reason.contains("on the same content"), "{reason}");
    // The file of the claim is mended: nothing stands against it, and five equal runs clear the test.
    bench.write(FILE, "fine\n");
    bench.accepted(&other, "still", json!({ "claim_id": id })).await;
    settle(&owner, "flaky", &id, 5).await;
    assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)");
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: a comment in a test file, and one run that passed by chance.
#[tokio::test]
async fn after_a_change_of_the_test_alone_three_runs_prove_and_one_does_not() {
    let (bench, [owner, other, _]) = scene().await;
    let id = contested(&bench, &owner, &other).await;
    settle(&owner, "flaky", &id, 1).await;
    bench.write("flip", "");
    bench.write("tests/t.rs", "two\n");
    for repeat in [1, 2] {
        let answer = settle(&owner, "flaky", &id, repeat).await;
        let (status, reason) = stands(&owner, &id).await;
        assert_eq!(status, "contested", "{reason}");
        for told in [&reason, &answer.text] {
            assert!(told.contains("contradicted it on the same `src/a.rs`"), "{told}");
            assert!(told.contains("repeat") && told.contains("flaky"), "it says how: {told}");
        }
    }
    let claim = shown(&owner, &id).await;
    assert_eq!(claim["evidence_items"][1]["relation"], "supports", "{claim}");
    settle(&owner, "flaky", &id, 3).await;
    assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)");
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: the claim stayed proved, and nothing said that the proof is of other content. Later: the challenge that the
/// proof had answered stayed over without it.
#[tokio::test]
async fn still_takes_no_proof_along_to_other_content() {
    let (bench, [owner, other, third]) = scene().await;
    bench.write(FILE, "fine\n");
    for supported in [false, true] {
        bench.write(FILE, "fine\n");
        let statement = if supported { "a divides" } else { "vendoring is slow here" };
        let id = bench.claim(&owner, statement, FILE).await;
        bench.accepted(&other, "challenge", json!({ "claim_id": id, "reason": "it rounds" })).await;
        settle(&owner, "check", &id, 1).await;
        assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)");
        let same = bench.accepted(&owner, "still", json!({ "claim_id": id })).await;
        assert!(!same.text.contains("other content"), "{}", same.text);
        assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)");
        bench.write(FILE, "a bug\n");
        let answer = bench.accepted(&owner, "still", json!({ "claim_id": id })).await;
        assert!(answer.text.contains("is of other content"), "{}", answer.text);
        assert!(answer.text.contains("contested now"), "{}", answer.text);
        assert_eq!(stands(&owner, &id).await.0, "contested");
        if supported {
            bench.accepted(&third, "support", json!({ "claim_id": id })).await;
            assert_eq!(stands(&owner, &id).await.0, "contested");
        }
        bench.accepted(&other, "abstain", json!({ "claim_id": id })).await;
        let becomes = if supported { "confirmed (agreed)" } else { "proposed" };
        assert_eq!(stands(&owner, &id).await.0, becomes);
    }
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: the run overruled it, although it was on record before the objection.
#[tokio::test]
async fn a_run_answers_no_challenge_that_came_after_it_was_asked_for() {
    let (bench, [owner, other, third]) = scene().await;
    bench.write(FILE, "fine\n");
    let id = contested(&bench, &owner, &other).await;
    let run = begin(&bench, &owner, &id).await;
    let late = json!({ "claim_id": id, "reason": "it overflows" });
    let receipt = bench.accepted(&third, "challenge", late).await;
    assert!(receipt.text.contains("does not answer this challenge"), "{}", receipt.text);
    assert!(receipt.text.contains(&bench.name(&run)) || receipt.text.contains(&run), "{}", receipt.text);
    step(&bench);
    end(&bench, &owner, &run).await;
    let (status, reason) = stands(&owner, &id).await;
    assert!(status == "contested" && reason.contains("reviewer"), "{status}: {reason}");
    let open = json_of(&owner, "hivemind://contradictions").await.to_string();
    assert!(open.contains(&id), "the late challenge is an open contradiction: {open}");
    // What the run showed stands once the late challenge is gone.
    bench.accepted(&third, "abstain", json!({ "claim_id": id })).await;
    assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)");
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: the owner mended the file, said `still`, and the challenge that was right was overruled.
#[tokio::test]
async fn the_owner_does_not_move_the_challenge_of_another_to_other_content() {
    let (bench, [owner, other, _]) = scene().await;
    let id = contested(&bench, &owner, &other).await;
    bench.write(FILE, "fine\n");
    bench.accepted(&owner, "still", json!({ "claim_id": id })).await;
    let answer = settle(&owner, "check", &id, 1).await;
    let (status, reason) = stands(&owner, &id).await;
    assert_eq!(status, "contested", "{reason}");
    let why = "`src/a.rs` changed since the challenge";
    assert!(reason.contains(why) && answer.text.contains(why), "{reason}: {}", answer.text);
    assert!(answer.text.contains("mends") && answer.text.contains("abstain"), "{}", answer.text);
    // The challenger itself moves it.
    bench.accepted(&other, "still", json!({ "claim_id": id })).await;
    settle(&owner, "check", &id, 1).await;
    assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)");
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: what was said to be unstable on the same content came of other content.
#[tokio::test]
async fn what_was_unstable_on_other_content_is_said_to_be() {
    let (bench, [owner, other, _]) = scene().await;
    run(&owner, json!({ "profile": "flaky" })).await;
    bench.write("flip", "");
    run(&owner, json!({ "profile": "flaky" })).await;
    bench.write("tests/t.rs", "two\n");
    let id = contested(&bench, &owner, &other).await;
    let answer = settle(&owner, "flaky", &id, 1).await;
    let (_, reason) = stands(&owner, &id).await;
    for told in [&reason, &answer.text] {
        assert!(told.contains("1 passed, 1 failed on earlier content"), "{told}");
        assert!(told.contains("5 equal runs"), "{told}");
        assert!(!told.contains("on the same content"), "{told}");
    }
    settle(&owner, "flaky", &id, 4).await;
    assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)", "{:?}", stands(&owner, &id).await);
}

/// Red before: nineteen of twenty failed, and it supported the claim.
#[tokio::test]
async fn a_series_says_what_most_of_its_runs_say() {
    let bench = Bench::new();
    profile(&bench, "last", "echo x >> count; test $(wc -l < count) = 4 || exit 1", "\"src/**\"", EXPECTING);
    bench.write(FILE, "a bug\n");
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let other = bench.pane(Some("reviewer"), Era::Modern).await;
    let id = contested(&bench, &owner, &other).await;
    let answer = settle(&owner, "last", &id, 4).await;
    assert!(answer.text.contains("3 of 4 failed"), "{}", answer.text);
    assert!(answer.text.contains("it contradicts claim"), "{}", answer.text);
    assert!(!answer.text.contains("it supports"), "{}", answer.text);
    bench.kill_writer();
    bench.assert_sound();
}

/// Red before: nothing said that a directory has no version, and an edit below it went unseen.
#[tokio::test]
async fn a_claim_about_a_directory_says_so_and_counts_the_edits_below_it() {
    let (bench, [owner, other, third]) = scene().await;
    bench.write(FILE, "fine\n");
    let given = json!({ "statement": "it divides", "claim_type": "fact", "scopes": ["src"] });
    let made = bench.accepted(&owner, "create_claim", given).await;
    let id = made.field("claim_id").to_owned();
    let doubt = bench.accepted(&other, "challenge", json!({ "claim_id": id, "reason": "it rounds" })).await;
    let report = json!({ "kind": "file_edited", "summary": "tried it", "paths": ["src/b.rs"] });
    bench.accepted(&third, "report_event", report).await;
    let ran = settle(&owner, "check", &id, 1).await;
    for answer in [&made, &doubt, &ran] {
        assert!(answer.text.contains("`src` has no version, because it is a directory"), "{}", answer.text);
    }
    let page = owner.read(&format!("hivemind://claims/{id}")).await.expect("a page");
    assert!(page.contains("- without a version: `src` is a directory"), "{page}");
    let (status, reason) = stands(&owner, &id).await;
    let why = "`src` changed by reviewer since the challenge";
    assert!(status == "contested" && reason.contains(why), "{status}: {reason}");
    // Without an edit since, the run settles it.
    bench.accepted(&other, "challenge", json!({ "claim_id": id, "reason": "it rounds" })).await;
    settle(&owner, "check", &id, 1).await;
    assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)");
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: two supports by opposite outcomes stood there without a word.
#[tokio::test]
async fn supports_by_opposite_predictions_are_told_apart() {
    let (bench, [owner, ..]) = scene().await;
    bench.write(FILE, "fine\n");
    let id = bench.claim(&owner, "a divides", FILE).await;
    let told = "one run supports it because a test passed, and another because a test failed";
    for (profile, prediction) in [("check", "passes"), ("flaky", "fails")] {
        let page = owner.read(&format!("hivemind://claims/{id}")).await.expect("a page");
        assert!(!page.contains(told), "{page}");
        run(&owner, json!({ "profile": profile, "claim_id": id, "prediction": prediction })).await;
    }
    let page = owner.read(&format!("hivemind://claims/{id}")).await.expect("a page");
    assert!(page.contains(told), "{page}");
}
