//! The word that a claim or a challenge is still meant: what it moves, which agents it asks, and where it is no way.

use hivemind::mcp::{Era, Pane};
use serde_json::json;

use crate::bench::Bench;
use crate::false_proof::{FILE, GLOBS, contested, scene, settle, stands};
use crate::proof::{EXPECTING, assert_rebuilds_to_the_same, git, profile};

/// Another work tree of the repository, and a pane of the agent in it.
async fn beside(bench: &Bench, agent: &str, holds: &str) -> (tempfile::TempDir, Pane) {
    let dir = tempfile::tempdir().expect("a directory");
    let there = dir.path().join("wt");
    git(bench.root(), &["worktree", "add", "-q", there.to_str().expect("UTF-8"), "-b", "other"]);
    std::fs::write(there.join(FILE), holds).expect("a file");
    let pane = Pane::offered(bench.binary(), &there, Some(agent), Era::Modern, "all").await;
    (dir, pane.expect("a pane"))
}

/// Red before: the challenger took the proof away from another work tree, and no agent got it back from its own.
#[tokio::test]
async fn a_challenger_elsewhere_moves_its_challenge_and_not_the_claim() {
    let (bench, [owner, other, third]) = scene().await;
    bench.write(FILE, "fine\n");
    let (_dir, other_there) = beside(&bench, "devops", "a bug\n").await;
    let id = contested(&bench, &owner, &other).await;
    settle(&owner, "check", &id, 1).await;
    let said = bench.accepted(&other_there, "still", json!({ "claim_id": id })).await;
    assert!(said.text.contains("a run answered it there, and the claim stays confirmed"), "{}", said.text);
    assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)");
    // An open challenge is moved alone, too. The files of the owner did not change, and no text says so.
    let open = bench.claim(&third, "a divides twice", FILE).await;
    bench.accepted(&other, "challenge", json!({ "claim_id": open, "reason": "it rounds" })).await;
    let said = bench.accepted(&other_there, "still", json!({ "claim_id": open })).await;
    assert!(said.text.contains("this moves your challenge alone"), "{}", said.text);
    let answer = settle(&third, "check", &open, 1).await;
    let (status, reason) = stands(&owner, &open).await;
    assert_eq!(status, "contested", "{reason}");
    for told in [&reason, &answer.text] {
        assert!(told.contains("the challenge by devops saw other content of `src/a.rs`"), "{told}");
        assert!(!told.contains("changed since"), "{told}");
    }
    bench.accepted(&other, "still", json!({ "claim_id": open })).await;
    settle(&third, "check", &open, 1).await;
    assert_eq!(stands(&owner, &open).await.0, "confirmed (proved)");
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: the file was said to have changed since the claim was said to be still meant, in another work tree.
#[tokio::test]
async fn a_claim_that_is_still_meant_elsewhere_did_not_change_here() {
    let (bench, [owner, other, _]) = scene().await;
    let id = contested(&bench, &owner, &other).await;
    let (_dir, owner_there) = beside(&bench, "analyst", "fine\n").await;
    bench.accepted(&owner_there, "still", json!({ "claim_id": id })).await;
    let answer = settle(&owner, "check", &id, 1).await;
    let (_, reason) = stands(&owner, &id).await;
    let why = "the claim was said to be still meant of other content of `src/a.rs` in another work tree";
    for told in [&reason, &answer.text] {
        assert!(told.contains(why) && !told.contains("changed since"), "{told}");
    }
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: the receipt said that a run settles it, and that it waits for the challengers; attention asked none of them.
#[tokio::test]
async fn still_asks_the_challengers_of_other_content() {
    for is_proved in [true, false] {
        let (bench, [owner, other, third]) = scene().await;
        bench.write(FILE, if is_proved { "fine\n" } else { "a bug\n" });
        let id = contested(&bench, &owner, &other).await;
        if is_proved {
            settle(&owner, "check", &id, 1).await;
        }
        bench.write(FILE, "fine too\n");
        bench.accepted(&third, "challenge", json!({ "claim_id": id, "reason": "it rounds" })).await;
        let said = bench.accepted(&owner, "still", json!({ "claim_id": id })).await;
        let waits = "devops challenges other content and is asked: once devops says that the challenge is still meant";
        assert!(said.text.contains(waits), "{}", said.text);
        assert_eq!(said.text.matches("settles it").count(), 1, "{}", said.text);
        assert_eq!(said.text.contains("blocking\":true"), is_proved, "{}", said.text);
        // The move is that of devops alone: the other challenger saw what the files hold now.
        let mut settled = Vec::new();
        for pane in [&other, &third] {
            let asked = pane.read("hivemind://attention").await.expect("a page");
            settled.push(asked.contains("- question") && asked.contains("`still {"));
        }
        assert_eq!(settled, [true, false]);
        settle(&owner, "check", &id, 1).await;
        assert_eq!(stands(&owner, &id).await.0, "contested");
        let said = bench.accepted(&other, "still", json!({ "claim_id": id })).await;
        assert!(said.text.contains("settles it") && !said.text.contains("is asked"), "{}", said.text);
        let asked = other.read("hivemind://attention").await.expect("a page");
        assert!(!asked.contains("- question"), "{asked}");
        settle(&owner, "check", &id, 1).await;
        assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)");
        assert_rebuilds_to_the_same(&bench);
    }
}

/// Red before: the way forward was `still`, which was refused.
#[tokio::test]
async fn a_claim_without_a_version_is_challenged_again_and_not_said_to_be_still_meant() {
    let (bench, [owner, other, third]) = scene().await;
    profile(&bench, "any", "! grep -rq bug src", GLOBS, EXPECTING);
    let id = bench.claim(&owner, "it divides", "src").await;
    bench.accepted(&other, "challenge", json!({ "claim_id": id, "reason": "it rounds" })).await;
    bench.write(FILE, "fine\n");
    let edited = json!({ "kind": "file_edited", "summary": "mended", "paths": [FILE] });
    bench.accepted(&third, "report_event", edited).await;
    let answer = settle(&owner, "any", &id, 1).await;
    let run = answer.field("run_id").to_owned();
    let page = owner.read(&format!("hivemind://experiments/{run}")).await.expect("a page");
    for told in [&answer.text, &page] {
        assert!(told.contains("each challenger challenges what is there now: `challenge {"), "{told}");
        assert!(!told.contains("still"), "{told}");
    }
    let refused = other.call("still", json!({ "claim_id": id })).await.expect("an answer");
    assert!(refused.refused && refused.text.contains("`challenge {"), "{}", refused.text);
    // The way leads on.
    bench.accepted(&other, "challenge", json!({ "claim_id": id, "reason": "it rounds still" })).await;
    settle(&owner, "any", &id, 1).await;
    assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)", "{:?}", stands(&owner, &id).await);
    assert_rebuilds_to_the_same(&bench);
}
