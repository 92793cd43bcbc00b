//! What a proof is bound to: the bytes of files, the work tree of the challenge, the challenges that it answered, and the
//! check as its profile has it.

use std::process::Command;

use hivemind::mcp::{Era, Pane};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::false_proof::{FILE, GLOBS, begin, contested, scene, settle, stands};
use crate::proof::{EXPECTING, assert_rebuilds_to_the_same, git, json_of, profile, run, shown};

/// A run for which the claim waits, and which the claim predicts to fail.
async fn settle_by_failure(pane: &Pane, profile: &str, claim: &str) -> String {
    let given = json!({ "profile": profile, "claim_id": claim, "blocking": true, "prediction": "fails" });
    let answer = run(pane, given).await;
    assert!(!answer.refused, "{}", answer.text);
    answer.field("run_id").to_owned()
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

/// A claim of the analyst about a directory, challenged by devops: both panes, and the id.
async fn challenged(bench: &Bench) -> (Pane, Pane, String) {
    let owner = bench.pane(Some("analyst"), Era::Modern).await;
    let other = bench.pane(Some("devops"), Era::Modern).await;
    let id = bench.claim(&owner, "the pool is fair", "src").await;
    challenges(bench, &other, &id).await;
    (owner, other, id)
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
        let turned = settle_by_failure(&owner, "check", &id).await;
        let (status, reason) = stands(&owner, &id).await;
        assert_eq!(status, "contested", "the other prediction after {way}: {reason}");
        // A mend of the bytes is one.
        std::fs::remove_file(&file).expect("the file");
        bench.write(FILE, "fine\n");
        bench.accepted(&other, "still", json!({ "claim_id": id })).await;
        // While the failure supports the claim, a pass of the same check proves nothing.
        settle(&owner, "check", &id, 1).await;
        if way == "mode" {
            let (status, reason) = stands(&owner, &id).await;
            assert!(status == "contested" && reason.contains("until its agent retracts that"), "{reason}");
            let back = json!({ "claim_id": id, "evidence_ref": turned, "reason": "it predicts a pass" });
            bench.accepted(&owner, "retract_evidence", back).await;
            settle(&owner, "check", &id, 1).await;
        }
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
        // On other content the test that failed settles it, where it is stable there.
        bench.write("src/b.rs", "mended\n");
        settle(&owner, "yes", &id, 1).await;
        assert_eq!(stands(&owner, &id).await.0, "contested");
        settle(&owner, "flaky", &id, 5).await;
        let (status, reason) = stands(&owner, &id).await;
        assert_eq!(status, "confirmed (proved)", "{reason}");
        assert_rebuilds_to_the_same(&bench);
    }
}

/// Red before: a repository without a commit below the scope hides the content, and one lucky run proved the claim.
#[tokio::test]
async fn where_the_content_is_hidden_one_lucky_run_proves_nothing() {
    let bench = Bench::new();
    profile(&bench, "flaky", "test -e flip", "\"src/**\"", EXPECTING);
    bench.write(FILE, "fine\n");
    crate::proof::committed(&bench);
    let nested = bench.root().join("src/nested");
    std::fs::create_dir(&nested).expect("a directory");
    git(&nested, &["init", "-q"]);
    bench.write("src/nested/z", "z");
    let (owner, _other, id) = challenged(&bench).await;
    settle(&owner, "flaky", &id, 1).await;
    bench.write("flip", "");
    settle(&owner, "flaky", &id, 1).await;
    let (status, reason) = stands(&owner, &id).await;
    assert!(status == "contested" && reason.contains("it is not known that the content changed"), "{reason}");
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: the directory of a submodule without its repository stood for no content, whatever it held.
#[tokio::test]
async fn what_lies_in_a_submodule_without_its_repository_is_not_known() {
    let bench = Bench::new();
    profile(&bench, "check", "! grep -rq bug src", "\"src/**\"", EXPECTING);
    bench.write(FILE, "fine\n");
    crate::proof::committed(&bench);
    let commit = "1".repeat(40);
    let module = format!("160000,{commit},src/module");
    git(bench.root(), &["update-index", "--add", "--cacheinfo", &module]);
    git(bench.root(), &["commit", "-qm", "a submodule"]);
    bench.write("src/module/pool.rs", "a bug\n");
    let (owner, _other, id) = challenged(&bench).await;
    settle(&owner, "check", &id, 1).await;
    bench.write("src/module/pool.rs", "fine\n");
    settle(&owner, "check", &id, 1).await;
    let (status, reason) = stands(&owner, &id).await;
    assert_eq!(status, "contested", "{reason}");
    assert!(!reason.contains("on the same"), "{reason}");
    settle(&owner, "check", &id, 3).await;
    assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)", "{:?}", stands(&owner, &id).await);
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: `git diff` in a repository within the work tree wrote the index of that repository anew.
#[tokio::test]
async fn a_run_writes_no_index_of_git() {
    let bench = Bench::new();
    profile(&bench, "yes", "exit 0", "\"src/**\"", EXPECTING);
    bench.write(FILE, "fine\n");
    crate::proof::committed(&bench);
    let nested = bench.root().join("src/nested");
    std::fs::create_dir(&nested).expect("a directory");
    let own = ["-c", "user.name=t", "-c", "user.email=t@t"];
    bench.write("src/nested/a", "a\n");
    git(&nested, &["init", "-q"]);
    git(&nested, &["add", "a"]);
    git(&nested, &[&own[..], &["commit", "-qm", "one"]].concat());
    let repositories = [bench.root(), nested.as_path()];
    let indexes =
        || repositories.map(|repository| std::fs::read(repository.join(".git/index")).expect("an index"));
    // The same bytes at another time: git would note that it looked.
    for file in [FILE, "src/nested/a"] {
        let file = std::fs::File::options().write(true).open(bench.root().join(file)).expect("a file");
        file.set_modified(std::time::UNIX_EPOCH).expect("a time");
    }
    let before = indexes();
    let owner = bench.pane(Some("analyst"), Era::Modern).await;
    let id = bench.claim(&owner, "the pool is fair", "src").await;
    let answer = run(&owner, json!({ "profile": "yes", "claim_id": id })).await;
    assert_eq!(answer.body["run_state"], "succeeded", "{}", answer.text);
    assert!(before == indexes(), "the index is as it was");
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
    let (owner, _other, id) = challenged(&bench).await;
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
    settle(&owner, "flaky", &id, 5).await;
    assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)", "{:?}", stands(&owner, &id).await);
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: the run proved the claim in a work tree that the challenger did not see.
#[tokio::test]
async fn a_directory_is_proved_in_the_work_tree_of_the_challenge() {
    let (bench, [_, other, third]) = scene().await;
    profile(&bench, "any", "! grep -rq bug src", GLOBS, EXPECTING);
    let dir = tempfile::tempdir().expect("a directory");
    let there = dir.path().join("wt");
    git(bench.root(), &["worktree", "add", "-q", there.to_str().expect("UTF-8"), "-b", "other"]);
    let owner = Pane::offered(bench.binary(), &there, Some("analyst"), Era::Modern, "all").await;
    let owner = owner.expect("a pane");
    std::fs::write(there.join(FILE), "fine\n").expect("a file");
    let given = json!({ "statement": "it divides", "claim_type": "fact", "scopes": ["src"] });
    let id = bench.accepted(&owner, "create_claim", given).await.field("claim_id").to_owned();
    challenges(&bench, &other, &id).await;
    let answer = settle(&owner, "any", &id, 1).await;
    let (status, reason) = stands(&owner, &id).await;
    assert_eq!(status, "contested", "{reason}");
    for told in [&reason, &answer.text] {
        assert!(told.contains("the challenge by devops saw `src` in another work tree"), "{told}");
    }
    // The mend reaches the work tree of the challenger, and a run there settles it.
    bench.write(FILE, "fine\n");
    settle(&third, "any", &id, 1).await;
    assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)", "{:?}", stands(&owner, &id).await);
    // So does a run in the owner's work tree for a challenge that was made there.
    let id = bench.claim(&owner, "vendoring is slow here", "src").await;
    let beside = Pane::offered(bench.binary(), &there, Some("frontend"), Era::Modern, "all").await;
    challenges(&bench, &beside.expect("a pane"), &id).await;
    settle(&owner, "any", &id, 1).await;
    assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)");
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: `src/a.rs` was said to have changed since the claim, which was made in another work tree.
#[tokio::test]
async fn a_claim_of_another_work_tree_did_not_change() {
    let (bench, [_, other, _]) = scene().await;
    let dir = tempfile::tempdir().expect("a directory");
    let there = dir.path().join("wt");
    git(bench.root(), &["worktree", "add", "-q", there.to_str().expect("UTF-8"), "-b", "other"]);
    std::fs::write(there.join(FILE), "another\n").expect("a file");
    let owner = Pane::offered(bench.binary(), &there, Some("analyst"), Era::Modern, "all").await;
    let id = bench.claim(&owner.expect("a pane"), "a divides", FILE).await;
    challenges(&bench, &other, &id).await;
    let answer = settle(&other, "check", &id, 1).await;
    let (_, reason) = stands(&other, &id).await;
    for told in [&reason, &answer.text] {
        assert!(told.contains("the claim saw other content of `src/a.rs` in another work tree"), "{told}");
        assert!(!told.contains("changed since the claim"), "{told}");
    }
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: without the variable the test skipped itself, and that was a proof.
#[tokio::test]
async fn a_check_without_its_environment_settles_nothing() {
    let (bench, [owner, other, _]) = scene().await;
    let rest = format!("{EXPECTING}[env]\npass = ['CI', 'HOME_OF_TESTS']\n");
    profile(&bench, "skips", "! grep -q bug src/a.rs", GLOBS, &rest);
    let id = contested(&bench, &owner, &other).await;
    let given = |env: Value| json!({ "profile": "skips", "claim_id": id, "blocking": true, "env_pass": env, "wait": true });
    let refused = owner.call("run_experiment", given(json!([]))).await.expect("an answer");
    assert_eq!(refused.field("code"), "profile_cannot_settle", "{}", refused.text);
    assert!(refused.text.contains("env_pass") && refused.text.contains("CI"), "{}", refused.text);
    // It may run about the claim; then it only mentions it.
    let mentions = json!({ "profile": "skips", "claim_id": id, "env_pass": ["CI"] });
    let answer = run(&owner, mentions).await;
    assert_eq!(answer.body["experiment"]["attached"][0]["relation"], "mentions", "{}", answer.text);
    // Tied to it later, it does no more.
    let beside = run(&owner, json!({ "profile": "skips", "env_pass": [] })).await;
    let attach = json!({ "run_id": beside.field("run_id"), "claim_id": id });
    bench.accepted(&owner, "attach_experiment", attach).await;
    let items = shown(&owner, &id).await["evidence_items"].clone();
    let items = items.as_array().expect("a list");
    assert!(items.iter().all(|item| item["relation"] == "mentions"), "{items:?}");
    // All that the profile passes is no less.
    bench.write(FILE, "fine\n");
    bench.accepted(&other, "still", json!({ "claim_id": id })).await;
    bench.accepted(&owner, "run_experiment", given(json!(["HOME_OF_TESTS", "CI"]))).await;
    assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)");
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: only what had a version at the challenge was compared.
#[tokio::test]
async fn a_file_that_was_too_large_for_a_version_and_has_one_now_changed() {
    let (bench, [owner, other, _]) = scene().await;
    bench.write(FILE, &format!("a bug\n{}", "x".repeat(1_200_000)));
    let id = contested(&bench, &owner, &other).await;
    bench.write(FILE, "fine\n");
    let answer = settle(&owner, "check", &id, 1).await;
    let (status, reason) = stands(&owner, &id).await;
    assert_eq!(status, "contested", "{reason}");
    for told in [&reason, &answer.text] {
        assert!(told.contains("`src/a.rs` changed since the challenge"), "{told}");
    }
    // Said again about the file as it is, the claim and the challenge are settled by a run.
    bench.accepted(&other, "still", json!({ "claim_id": id })).await;
    settle(&owner, "check", &id, 1).await;
    assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)", "{:?}", stands(&owner, &id).await);
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: the receipt promised that passing confirms the claim.
#[tokio::test]
async fn a_receipt_names_the_run_that_speaks_against_the_claim() {
    let (bench, [owner, other, _]) = scene().await;
    profile(&bench, "yes", "exit 0", GLOBS, EXPECTING);
    let id = contested(&bench, &owner, &other).await;
    let against = run(&other, json!({ "profile": "check", "claim_id": id })).await;
    let against = against.field("run_id").to_owned();
    let given = json!({ "profile": "yes", "claim_id": id, "blocking": true });
    let answer = bench.accepted(&owner, "run_experiment", given).await;
    let names = [bench.name(&against), against];
    assert!(answer.text.contains("passing supports and confirms claim"), "{}", answer.text);
    let named = names.iter().any(|run| answer.text.contains(&format!("unless run {run} ")));
    assert!(named, "{}", answer.text);
}

/// Red before: the command that the receipt printed was refused, because it lacked what the profile needs.
#[tokio::test]
async fn the_command_that_follows_a_lost_proof_runs_as_it_is_printed() {
    let (bench, [owner, other, _]) = scene().await;
    let rest = "timeout_ms = 20000\n[params.file]\nkind = 'path'\n[expect]\nexit = 0\nfails = [1]\n";
    bench.profile(
        "one",
        &format!("description = 'a test'\nargv = ['sh', '{{file}}']\nscopes = [{GLOBS}]\n{rest}"),
    );
    bench.write("tests/t.sh", "! grep -q bug src/a.rs\n");
    bench.write(FILE, "fine\n");
    let id = contested(&bench, &owner, &other).await;
    let given = json!({ "profile": "one", "claim_id": id, "blocking": true, "args": ["file=tests/t.sh"] });
    run(&owner, given).await;
    assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)");
    bench.write(FILE, "fine too\n");
    let told = bench.accepted(&owner, "still", json!({ "claim_id": id })).await.text;
    let (_, call) = told.split_once("run_experiment ").expect("a call");
    let (call, _) = call.split_once('`').expect("its end");
    let given: Value = serde_json::from_str(call).expect("JSON");
    bench.accepted(&other, "still", json!({ "claim_id": id })).await;
    let answer = run(&owner, given).await;
    assert!(!answer.refused, "{}", answer.text);
    assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)", "{told}");
}
