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
    bench.kill_writer();
    bench.assert_sound();
}
