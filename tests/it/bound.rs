//! What a proof is bound to: the bytes of files, the work tree of the challenge, the challenges that it answered, and the
//! check as its profile has it.

use std::process::Command;

use hivemind::mcp::{Era, Pane};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::false_proof::{FILE, GLOBS, begin, contested, scene, settle, stands};
use crate::proof::{EXPECTING, assert_rebuilds_to_the_same, git, json_of, profile, run, shown};

/// A run for which the claim waits, and which the claim predicts to fail.
async fn settle_by_failure(pane: &Pane, profile: &str, claim: &str) {
    let given = json!({ "profile": profile, "claim_id": claim, "blocking": true, "prediction": "fails" });
    let answer = run(pane, given).await;
    assert!(!answer.refused, "{}", answer.text);
}

/// The agents that the open contradictions of a claim name as challengers.
async fn open_challengers(pane: &Pane, claim: &str) -> Vec<String> {
    let open = json_of(pane, "hivemind://contradictions").await;
    let open = open["contradictions"].as_array().expect("a list").clone();
    let about = open.iter().filter(|each| each["kind"] == "position" && each.to_string().contains(claim));
    let mut agents: Vec<String> =
        about.map(|each| each["right"]["agent"].as_str().expect("an agent").to_owned()).collect();
    agents.sort();
    agents
}

async fn challenges(bench: &Bench, pane: &Pane, claim: &str) {
    bench.accepted(pane, "challenge", json!({ "claim_id": claim, "reason": "there is a bug now" })).await;
}

/// Red before: a mode, a link or the list of git made the failure one of other content.
#[tokio::test]
async fn a_file_with_the_same_bytes_is_the_same_content() {
    for way in ["mode", "link", "unlisted"] {
        let (bench, [owner, other, _]) = scene().await;
        profile(&bench, "yes", "exit 0", GLOBS, EXPECTING);
        let id = contested(&bench, &owner, &other).await;
        settle(&owner, "check", &id, 1).await;
        let file = bench.root().join(FILE);
        match way {
            "mode" => {
                let run = Command::new("chmod").arg("+x").arg(&file).status().expect("chmod runs");
                assert!(run.success());
            }
            "link" => {
                std::fs::rename(&file, bench.root().join("src/x.rs")).expect("a file");
                std::os::unix::fs::symlink("x.rs", &file).expect("a link");
            }
            _ => {
                git(bench.root(), &["rm", "-q", "--cached", FILE]);
                bench.write(".git/info/exclude", "src/a.rs\n");
            }
        }
        settle(&owner, "yes", &id, 1).await;
        let (status, reason) = stands(&owner, &id).await;
        assert_eq!(status, "contested", "another test after {way}: {reason}");
        settle_by_failure(&owner, "check", &id).await;
        let (status, reason) = stands(&owner, &id).await;
        assert_eq!(status, "contested", "the other prediction after {way}: {reason}");
        // A mend of the bytes is one.
        std::fs::remove_file(&file).expect("the file");
        bench.write(FILE, "fine\n");
        bench.accepted(&other, "still", json!({ "claim_id": id })).await;
        settle(&owner, "check", &id, 1).await;
        assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)", "{way}");
        assert_rebuilds_to_the_same(&bench);
    }
}

/// Red before: one more file in the directory turned the prediction around.
#[tokio::test]
async fn a_change_in_a_directory_of_the_claim_does_not_turn_the_prediction_about_its_file() {
    let (bench, [owner, other, _]) = scene().await;
    let given = json!({ "statement": "a divides", "claim_type": "fact", "scopes": [FILE, "src"] });
    let id = bench.accepted(&owner, "create_claim", given).await.field("claim_id").to_owned();
    challenges(&bench, &other, &id).await;
    settle(&owner, "check", &id, 1).await;
    bench.write("src/junk", "1\n");
    settle_by_failure(&owner, "check", &id).await;
    let (status, reason) = stands(&owner, &id).await;
    assert_eq!(status, "contested", "{reason}");
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: the challenge stayed over, although the run that had answered it counts no more.
#[tokio::test]
async fn a_challenge_is_open_again_without_the_proof_that_answered_it() {
    for lost_by in ["the challenger", "a failure"] {
        let (bench, [owner, other, third]) = scene().await;
        bench.write(FILE, "fine\n");
        let id = contested(&bench, &owner, &other).await;
        settle(&owner, "check", &id, 1).await;
        assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)");
        assert_eq!(open_challengers(&owner, &id).await, [""; 0]);
        if lost_by == "the challenger" {
            bench.write(FILE, "a bug\n");
            bench.accepted(&other, "still", json!({ "claim_id": id })).await;
            assert_eq!(stands(&owner, &id).await.0, "contested");
            assert_eq!(open_challengers(&owner, &id).await, ["devops"]);
            bench.accepted(&third, "support", json!({ "claim_id": id })).await;
        } else {
            challenges(&bench, &third, &id).await;
            profile(&bench, "no", "exit 1", GLOBS, EXPECTING);
            settle(&owner, "no", &id, 1).await;
            assert_eq!(open_challengers(&owner, &id).await, ["devops", "reviewer"]);
        }
        assert_eq!(stands(&owner, &id).await.0, "contested", "{lost_by}");
        let listed = owner.read("hivemind://attention").await.expect("a page");
        assert!(listed.contains("a divides"), "{lost_by}: {listed}");
        // It is over again with the agent that made it.
        bench.accepted(&other, "abstain", json!({ "claim_id": id })).await;
        assert!(!open_challengers(&owner, &id).await.contains(&"devops".to_owned()), "{lost_by}");
        assert_rebuilds_to_the_same(&bench);
    }
}

/// Red before: the proof of other content confirmed the claim as soon as the challenger withdrew.
#[tokio::test]
async fn still_about_a_contested_claim_takes_no_proof_along_to_other_content() {
    for changed in [true, false] {
        let (bench, [owner, other, third]) = scene().await;
        bench.write(FILE, "fine\n");
        let id = contested(&bench, &owner, &other).await;
        settle(&owner, "check", &id, 1).await;
        if changed {
            bench.write(FILE, "a bug\n");
        }
        challenges(&bench, &third, &id).await;
        let answer = bench.accepted(&owner, "still", json!({ "claim_id": id })).await;
        assert_eq!(answer.text.contains("is of other content"), changed, "{}", answer.text);
        assert_eq!(stands(&owner, &id).await.0, "contested");
        bench.accepted(&third, "abstain", json!({ "claim_id": id })).await;
        // Where nothing changed, the run shows what it showed.
        let becomes = if changed { "contested" } else { "confirmed (proved)" };
        assert_eq!(stands(&owner, &id).await.0, becomes);
        if changed {
            bench.accepted(&other, "abstain", json!({ "claim_id": id })).await;
            assert_eq!(stands(&owner, &id).await.0, "proposed");
        }
        assert_rebuilds_to_the_same(&bench);
    }
}

/// Red before: so did a run that was cancelled, where the owner said `still` meanwhile.
#[tokio::test]
async fn a_cancelled_run_leaves_no_proof_of_other_content() {
    for changed in [true, false] {
        let (bench, [owner, other, third]) = scene().await;
        bench.write(FILE, "fine\n");
        let id = contested(&bench, &owner, &other).await;
        settle(&owner, "check", &id, 1).await;
        challenges(&bench, &third, &id).await;
        let run = begin(&bench, &owner, &id).await;
        if changed {
            bench.write(FILE, "a bug\n");
        }
        bench.accepted(&owner, "still", json!({ "claim_id": id })).await;
        bench.accepted(&third, "abstain", json!({ "claim_id": id })).await;
        bench.accepted(&owner, "cancel_experiment", json!({ "run_id": run })).await;
        for _ in 0..600 {
            if shown(&owner, &id).await["status"] != "pending_proof" {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        let becomes = if changed { "contested" } else { "confirmed (proved)" };
        assert_eq!(stands(&owner, &id).await.0, becomes);
        if changed {
            assert_eq!(open_challengers(&owner, &id).await, ["devops"]);
            bench.accepted(&other, "abstain", json!({ "claim_id": id })).await;
            assert_eq!(stands(&owner, &id).await.0, "proposed");
        }
        assert_rebuilds_to_the_same(&bench);
    }
}

/// Red before: a repository within the work tree, or one without a commit, hid that the content was the same.
#[tokio::test]
async fn the_same_content_is_known_beside_a_nested_repository_and_before_the_first_commit() {
    for with_commit in [true, false] {
        let bench = Bench::new();
        profile(&bench, "flaky", "test -e flip", "\"src/**\"", EXPECTING);
        bench.write(FILE, "fine\n");
        if with_commit {
            crate::proof::committed(&bench);
            git(bench.root(), &["worktree", "add", "-q", ".worktrees/one", "-b", "one"]);
        } else {
            git(bench.root(), &["init", "-q"]);
        }
        let owner = bench.pane(Some("analyst"), Era::Modern).await;
        let other = bench.pane(Some("devops"), Era::Modern).await;
        let id = bench.claim(&owner, "the pool is fair", "src").await;
        challenges(&bench, &other, &id).await;
        settle(&owner, "flaky", &id, 1).await;
        bench.write("flip", "");
        settle(&owner, "flaky", &id, 1).await;
        let (status, reason) = stands(&owner, &id).await;
        assert_eq!(status, "contested", "{reason}");
        assert!(reason.contains("1 passed, 1 failed on the same content"), "{reason}");
        // Nor does another test on this content prove it.
        profile(&bench, "yes", "exit 0", "\"src/**\"", EXPECTING);
        settle(&owner, "yes", &id, 1).await;
        assert_eq!(stands(&owner, &id).await.0, "contested");
        // Other content is other content.
        bench.write("src/b.rs", "mended\n");
        settle(&owner, "yes", &id, 1).await;
        let (status, reason) = stands(&owner, &id).await;
        assert_eq!(status, "confirmed (proved)", "{reason}");
        assert_rebuilds_to_the_same(&bench);
    }
}

/// Red before: the digest of what the profile covers gave up at a repository within it.
#[tokio::test]
async fn a_repository_below_the_scope_is_part_of_the_content() {
    let bench = Bench::new();
    profile(&bench, "flaky", "test -e flip", "\"src/**\"", EXPECTING);
    profile(&bench, "yes", "exit 0", "\"src/**\"", EXPECTING);
    bench.write(FILE, "fine\n");
    crate::proof::committed(&bench);
    let nested = bench.root().join("src/nested");
    std::fs::create_dir(&nested).expect("a directory");
    let own = ["-c", "user.name=t", "-c", "user.email=t@t"];
    git(&nested, &["init", "-q"]);
    git(&nested, &[&own[..], &["commit", "-qm", "one", "--allow-empty"]].concat());
    let owner = bench.pane(Some("analyst"), Era::Modern).await;
    let other = bench.pane(Some("devops"), Era::Modern).await;
    let id = bench.claim(&owner, "the pool is fair", "src").await;
    challenges(&bench, &other, &id).await;
    settle(&owner, "flaky", &id, 1).await;
    settle(&owner, "yes", &id, 1).await;
    let (status, reason) = stands(&owner, &id).await;
    assert!(status == "contested" && reason.contains("on the same content"), "{status}: {reason}");
    bench.write("flip", "");
    settle(&owner, "flaky", &id, 1).await;
    let (_, reason) = stands(&owner, &id).await;
    assert!(reason.contains("1 passed, 1 failed on the same content"), "{reason}");
    // A mend within it counts.
    bench.write("src/nested/pool.rs", "mended\n");
    settle(&owner, "yes", &id, 1).await;
    assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)");
    assert_rebuilds_to_the_same(&bench);
}

