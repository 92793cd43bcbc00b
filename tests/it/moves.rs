//! Directories and links on the way to a file that change while a run is under way.

use std::os::unix::fs::{PermissionsExt, symlink};

use hivemind::mcp::Pane;
use serde_json::json;

use crate::bench::Bench;
use crate::false_proof::{FILE, GLOBS, begin, contested, end, scene, settle, stands, step};
use crate::proof::{EXPECTING, assert_rebuilds_to_the_same, profile, shown};

/// A run under way during which the file was another one, and is back at the end.
async fn ends_without_saying(bench: &Bench, owner: &Pane, (id, run): (&str, &str), why: &str) {
    bench.write("src/log", "a run writes\n");
    end(bench, owner, run).await;
    let (status, reason) = stands(owner, id).await;
    assert_eq!(status, "contested", "{reason}");
    assert!(reason.contains(why), "{reason}");
    assert_eq!(shown(owner, id).await["evidence_items"], json!([]));
    let page = owner.read(&format!("hivemind://experiments/{run}")).await.expect("a page");
    assert!(page.contains(why) && !page.contains("mends"), "{page}");
    assert_rebuilds_to_the_same(bench);
}

/// Red before: an entry of the directory that changed afterwards hid that the directory had been away.
#[tokio::test]
async fn a_directory_that_was_away_during_a_run_leaves_it_undecided() {
    let (bench, [owner, other, _]) = scene().await;
    let id = contested(&bench, &owner, &other).await;
    let run = begin(&bench, &owner, &id).await;
    let [src, away, fine] = ["src", "away", "fine"].map(|name| bench.root().join(name));
    bench.write("fine/a.rs", "fine\n");
    std::fs::rename(&src, &away).expect("it moves");
    std::fs::rename(&fine, &src).expect("another takes its place");
    step(&bench);
    std::fs::rename(&src, &fine).expect("the other one goes");
    std::fs::rename(&away, &src).expect("it is back");
    let why = "the directory `src` was moved during the run: run it again";
    ends_without_saying(&bench, &owner, (&id, &run), why).await;
}

/// Red before: where a link leads was looked up before the run and after it.
#[tokio::test]
async fn a_link_that_led_elsewhere_during_a_run_leaves_it_undecided() {
    let (bench, [owner, other, _]) = scene().await;
    let file = bench.root().join(FILE);
    let link = |to: &str| {
        std::fs::remove_file(&file).expect("the file");
        symlink(to, &file).expect("a link");
    };
    bench.write("src/bad", "a bug\n");
    bench.write("src/good", "fine\n");
    link("bad");
    let id = contested(&bench, &owner, &other).await;
    let run = begin(&bench, &owner, &id).await;
    link("good");
    step(&bench);
    link("bad");
    let why = "`src/a.rs` was written during the run: run it again";
    ends_without_saying(&bench, &owner, (&id, &run), why).await;
}

/// Red before: only what was there at both ends was compared.
#[tokio::test]
async fn a_file_that_was_there_only_during_a_run_leaves_it_undecided() {
    for (scope, first) in [("src/b.rs", "src/b.rs"), ("gone/deep/b.rs", "gone")] {
        let (bench, [owner, other, _]) = scene().await;
        profile(
            &bench,
            "stepped",
            &format!(
                "touch began; while ! test -e go; do sleep 0.05; done; test -e {scope}; code=$?; touch tested; \
                 while ! test -e done; do sleep 0.05; done; exit $code"
            ),
            "\"src/**\", \"gone/**\"",
            EXPECTING,
        );
        // No run settles a claim about nothing that is there.
        let claim = json!({ "statement": "b is there", "claim_type": "fact", "scopes": [FILE, scope] });
        let id = bench.accepted(&owner, "create_claim", claim).await.field("claim_id").to_owned();
        bench.accepted(&other, "challenge", json!({ "claim_id": id, "reason": "it is not" })).await;
        let run = begin(&bench, &owner, &id).await;
        bench.write(scope, "fine\n");
        step(&bench);
        std::fs::remove_file(bench.root().join(scope)).expect("a file");
        if first == "gone" {
            std::fs::remove_dir_all(bench.root().join(first)).expect("a directory");
        }
        let why = format!("`{scope}` was written during the run: run it again");
        ends_without_saying(&bench, &owner, (&id, &run), &why).await;
    }
}

/// Red before: a file of which only the mode changed was said to be written.
#[tokio::test]
async fn a_file_that_was_touched_is_not_said_to_be_written() {
    let (bench, [owner, other, _]) = scene().await;
    let id = contested(&bench, &owner, &other).await;
    let run = begin(&bench, &owner, &id).await;
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(bench.root().join(FILE), mode).expect("a mode");
    bench.write("go", "");
    bench.write("done", "");
    for _ in 0..600 {
        if stands(&owner, &id).await.0 == "contested" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let (status, reason) = stands(&owner, &id).await;
    assert_eq!(status, "contested", "{run}");
    let why = "`src/a.rs` was touched during the run and may have been written: run it again";
    assert!(reason.contains(why), "{reason}");
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: the mode or the time of a directory that a test sets kept each of its runs from saying anything.
#[tokio::test]
async fn a_test_may_set_the_mode_and_the_time_of_a_directory() {
    for sets in ["chmod 700 src", "touch -d 2020-01-01 src", "chmod 700 src; touch log src/log"] {
        let (bench, [owner, other, _]) = scene().await;
        profile(&bench, "sets", &format!("{sets}; ! grep -q bug src/a.rs"), GLOBS, EXPECTING);
        bench.write(FILE, "fine\n");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(bench.root().join("src"), mode).expect("a mode");
        let id = contested(&bench, &owner, &other).await;
        settle(&owner, "sets", &id, 1).await;
        let (status, reason) = stands(&owner, &id).await;
        assert_eq!(status, "confirmed (proved)", "{sets}: {reason}");
        assert_rebuilds_to_the_same(&bench);
    }
}
