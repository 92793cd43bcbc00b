//! Earlier failures that count against a proof, whatever they were about, and what a list says of a proof since.

use hivemind::mcp::Pane;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::false_proof::{FILE, GLOBS, contested, scene, settle, stands};
use crate::harness::wait_until;
use crate::hook::{claude, within};
use crate::proof::{assert_rebuilds_to_the_same, git, profile, run, shown};
use crate::shell::Shell;

const TOLD: &str = "had the other outcome, on content that may be the same";

/// The check passes from now on, and a file that no claim is about is another one.
fn flipped(bench: &Bench) {
    bench.write("flip", "");
    bench.write("src/zz.rs", "");
}

fn row(bench: &Bench, name: &str) -> String {
    let list = bench.hm(&["claim", "list"]);
    let list = String::from_utf8(list.stdout).expect("UTF-8");
    list.lines().find(|line| line.contains(&format!("{name} "))).expect("a row").to_owned()
}

async fn fails(pane: &Pane, given: Value) -> String {
    let failed = run(pane, given).await;
    assert_eq!(failed.body["run_state"], "failed", "{}", failed.text);
    failed.field("run_id").to_owned()
}

/// Red before: a failure about no claim, about another one or about a deprecated one was one of other content as soon as
/// any file changed, and one run proved the claim.
#[tokio::test]
async fn a_failure_counts_until_a_file_of_the_claim_changes_whatever_it_was_about() {
    for about in ["nothing", "another", "deprecated"] {
        let (bench, [owner, other, _]) = scene().await;
        bench.write("src/b.rs", "b\n");
        let mut given = json!({ "profile": "flaky" });
        if about != "nothing" {
            let scope = if about == "another" { "src/b.rs" } else { FILE };
            given["claim_id"] = json!(bench.claim(&owner, "vendoring is slow here", scope).await);
        }
        let failed = fails(&other, given.clone()).await;
        if about == "deprecated" {
            let end = json!({ "claim_id": given["claim_id"], "reason": "never mind" });
            bench.accepted(&owner, "deprecate_claim", end).await;
        }
        flipped(&bench);
        let id = contested(&bench, &owner, &other).await;
        let once = settle(&owner, "flaky", &id, 1).await;
        let (status, reason) = stands(&owner, &id).await;
        assert_eq!(status, "contested", "{about}: {reason}");
        assert!(reason.contains(TOLD) && once.text.contains(TOLD), "{about}: {reason}: {}", once.text);
        assert!(
            once.text.contains("which had the other outcome, had the same content"),
            "it is said before: {}",
            once.text
        );
        settle(&owner, "flaky", &id, 3).await;
        assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)", "{about}");
        let notes = shown(&owner, &id).await["evidence_items"].to_string();
        assert!(notes.contains(TOLD) && notes.contains(&failed), "the proof says so: {notes}");
        // Three runs on this content also speak for the next claim.
        let next = bench.claim(&owner, "the menu opens at once", FILE).await;
        bench.accepted(&other, "challenge", json!({ "claim_id": next, "reason": "it does not" })).await;
        settle(&owner, "flaky", &next, 1).await;
        assert_eq!(stands(&owner, &next).await.0, "confirmed (proved)", "{about}");
        assert_rebuilds_to_the_same(&bench);
    }
}

/// The mend of a file of the claim makes the failure one of other content, below a directory as well.
#[tokio::test]
async fn a_failure_is_over_once_a_file_of_the_claim_changed() {
    for scope in [FILE, "src", "src/**"] {
        let (bench, [owner, other, _]) = scene().await;
        fails(&other, json!({ "profile": "flaky" })).await;
        flipped(&bench);
        bench.write(FILE, "fine\n");
        let id = bench.claim(&owner, "a divides", scope).await;
        bench.accepted(&other, "challenge", json!({ "claim_id": id, "reason": "it rounds" })).await;
        settle(&owner, "flaky", &id, 1).await;
        assert_eq!(
            stands(&owner, &id).await.0,
            "confirmed (proved)",
            "{scope}: {:?}",
            stands(&owner, &id).await
        );
    }
}

/// Red before: a check proved the claim on the tree on which a wider, or a narrower, one had failed.
#[tokio::test]
async fn a_failure_of_a_wider_or_narrower_check_counts() {
    let rest = "timeout_ms = 20000\n[expect]\nexit = 0\nfails = [1]\n";
    let of = |argv: &str, params: &str| {
        format!(
            "description = 'a test'\nargv = ['sh', 'tests/t.sh'{argv}]\nscopes = [{GLOBS}]\n{rest}{params}"
        )
    };
    let (all, part) = (json!({ "profile": "all" }), json!({ "profile": "part", "args": ["name=divides"] }));
    for (failing, passing, which) in [(&all, &part, "wider"), (&part, &all, "narrower")] {
        let (bench, [owner, other, _]) = scene().await;
        bench.profile("all", &of("", ""));
        bench.profile("part", &of(", '{name}'", "[params.name]\nkind = 'regex'\npattern = '[a-z]+'\n"));
        bench.write("tests/t.sh", "test -e flip || exit 1\n");
        fails(&other, failing.clone()).await;
        bench.write("flip", "");
        let id = contested(&bench, &owner, &other).await;
        let mut given = passing.clone();
        (given["claim_id"], given["blocking"]) = (json!(id), json!(true));
        run(&owner, given.clone()).await;
        let (status, reason) = stands(&owner, &id).await;
        assert_eq!(status, "contested", "{which}: {reason}");
        assert!(reason.contains(&format!("of a {which} check had the other outcome")), "{reason}");
        given["repeat"] = json!(3);
        run(&owner, given.clone()).await;
        assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)", "{which}");
        // They do not say what failed in the other check, so they do not speak for another claim.
        let next = bench.claim(&owner, "the menu opens at once", FILE).await;
        bench.accepted(&other, "challenge", json!({ "claim_id": next, "reason": "it does not" })).await;
        (given["claim_id"], given["repeat"]) = (json!(next), json!(1));
        run(&owner, given).await;
        let (status, reason) = stands(&owner, &next).await;
        assert_eq!(status, "contested", "{which}: {reason}");
        assert_rebuilds_to_the_same(&bench);
    }
}

/// Red before: a failure about no claim left no mark on a claim that the same check had proved.
#[tokio::test]
async fn a_failure_after_a_proof_is_marked_until_the_check_is_stable() {
    let (bench, [owner, other, _]) = scene().await;
    flipped(&bench);
    let id = contested(&bench, &owner, &other).await;
    settle(&owner, "flaky", &id, 1).await;
    let name = bench.name(&id);
    assert!(!row(&bench, &name).contains("failed since"));
    std::fs::remove_file(bench.root().join("flip")).expect("a file");
    bench.write("src/zz.rs", "other\n");
    let failed = fails(&other, json!({ "profile": "flaky" })).await;
    let mark = format!("failed since ({})", bench.name(&failed));
    assert!(row(&bench, &name).contains(&mark), "{}", row(&bench, &name));
    let page = owner.read(&format!("hivemind://claims/{id}")).await.expect("a page");
    assert!(page.contains("failed since"), "{page}");
    bench.write("flip", "");
    run(&other, json!({ "profile": "flaky" })).await;
    assert!(row(&bench, &name).contains(&mark), "one content, two outcomes: {}", row(&bench, &name));
    bench.write("src/zz.rs", "another\n");
    run(&other, json!({ "profile": "flaky", "repeat": 5 })).await;
    assert!(!row(&bench, &name).contains("failed since"), "{}", row(&bench, &name));
    // Another work tree has other content.
    let dir = tempfile::tempdir().expect("a directory");
    let there = dir.path().join("wt");
    git(bench.root(), &["add", "-A"]);
    git(bench.root(), &["commit", "-qm", "two"]);
    git(bench.root(), &["worktree", "add", "-q", there.to_str().expect("UTF-8"), "-b", "other"]);
    let beside =
        Pane::offered(bench.binary(), &there, Some("devops"), hivemind::mcp::Era::Modern, "all").await;
    fails(&beside.expect("a pane"), json!({ "profile": "flaky" })).await;
    assert!(!row(&bench, &name).contains("failed since"), "{}", row(&bench, &name));
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: a failure that was on record counted as predicted.
#[tokio::test]
async fn a_known_failure_is_no_prediction() {
    for known in [true, false] {
        let (bench, [owner, other, _]) = scene().await;
        if known {
            fails(&other, json!({ "profile": "flaky" })).await;
            bench.write("src/zz.rs", "");
        }
        let id = contested(&bench, &owner, &other).await;
        let given = json!({ "profile": "flaky", "claim_id": id, "blocking": true, "prediction": "fails" });
        run(&owner, given).await;
        let (status, reason) = stands(&owner, &id).await;
        assert_eq!(status, if known { "contested" } else { "confirmed (proved)" }, "{reason}");
        assert_eq!(reason.contains("its failure was no prediction"), known, "{reason}");
        assert_rebuilds_to_the_same(&bench);
    }
}

/// Red before: a run whose check did not start left no trace on the proof after it.
#[tokio::test]
async fn a_proof_after_a_run_without_an_outcome_says_so() {
    let (bench, [owner, other, _]) = scene().await;
    profile(&bench, "starts", "test -e flip || exit 2", GLOBS, EXPECTS_ONE);
    let id = contested(&bench, &owner, &other).await;
    settle(&owner, "starts", &id, 1).await;
    bench.write("flip", "");
    let proof = settle(&owner, "starts", &id, 1).await;
    assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)");
    let page = owner.read(&format!("hivemind://claims/{id}")).await.expect("a page");
    for told in [&page, &proof.text] {
        assert!(told.contains("of the same check came to no outcome before, with exit code 2"), "{told}");
    }
}

const EXPECTS_ONE: &str = "timeout_ms = 20000\n[expect]\nexit = 0\nfails = [1]\n";

/// Red before: a failed command that a hook saw, and a challenge cites, did not count as the failure it is.
#[test]
fn a_failed_command_that_a_challenge_cites_counts() {
    let shell = Shell::new();
    let root = shell.workspace().root().to_owned();
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().expect("below the root")).expect("a directory");
        std::fs::write(path, text).expect("a file");
    };
    let profile =
        format!("description = 'a test'\nargv = ['sh', 't.sh']\nscopes = ['src/**']\n{EXPECTS_ONE}");
    write(".hivemind/profiles/all.toml", &profile);
    assert!(shell.run("hm profile trust all --yes --agent operator").status.success());
    write("t.sh", "exit 0\n");
    write(FILE, "one\n");
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    let made = shell.json("hm --json --agent analyst claim create \"a divides\" --scope src/a.rs");
    let name = made["name"].as_str().expect("a name").to_owned();
    let failed = json!({ "tool_name": "Bash", "tool_input": { "command": "sh t.sh" }, "error": "Exit code 1\n1 failed" });
    devops.told("PostToolUseFailure", failed);
    let challenge = format!("hm --json --agent devops claim challenge {name} \"it rounds\" --evidence last");
    within(&shell, "s-1", &challenge);
    let once = shell.run(&format!("hm experiment run all --claim {name} --blocking --agent analyst"));
    let told = String::from_utf8_lossy(&once.stdout).replace("\n    ", " ");
    assert!(told.contains("a challenge cites that `sh t.sh` failed"), "{told}");
    shell.run(&format!("hm experiment run all --claim {name} --blocking --repeat 3 --agent analyst"));
    let list = shell.run("hm claim list");
    assert!(String::from_utf8_lossy(&list.stdout).contains("confirmed, proved"), "{list:?}");
}

/// Red before: the files were older than the claim, so the list did not read them.
#[tokio::test]
async fn a_list_marks_a_directory_that_was_moved_in_place() {
    let (bench, [owner, other, _]) = scene().await;
    bench.write("old/a.rs", "something else\n");
    bench.write("flip", "");
    std::thread::sleep(std::time::Duration::from_millis(2_100));
    let id = contested(&bench, &owner, &other).await;
    settle(&owner, "flaky", &id, 1).await;
    let name = bench.name(&id);
    assert!(!row(&bench, &name).contains("changed since"));
    std::thread::sleep(std::time::Duration::from_millis(2_100));
    for (from, to) in [("src", "new"), ("old", "src")] {
        std::fs::rename(bench.root().join(from), bench.root().join(to)).expect("a move");
    }
    assert!(row(&bench, &name).contains("changed since"), "{}", row(&bench, &name));
}

/// Red before: the version command and a filter of git were no part of the run, and confirmed a claim.
#[tokio::test]
async fn what_a_run_starts_before_its_check_confirms_nothing() {
    use std::os::unix::fs::PermissionsExt;
    let (bench, [owner, ..]) = scene().await;
    let id = bench.claim(&owner, "a divides", FILE).await;
    let hm = bench.binary().display();
    let root = bench.root().display();
    let script = format!(
        "#!/bin/sh\nunset HM_RUN_ID\ntouch {root}/started\n\
         {hm} --dir {root} --agent reviewer claim support {id} --reason 'I read it' >/dev/null 2>&1\ncat\n"
    );
    bench.write("filter.sh", &script);
    let filter = bench.root().join("filter.sh");
    std::fs::set_permissions(&filter, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let filter = filter.to_str().expect("UTF-8");
    let rest = "timeout_ms = 20000\n[expect]\nexit = 0\n";
    let text = |version: &str| {
        format!("description = 'a test'\nargv = ['true']\nscopes = ['src/**']\n{version}{rest}")
    };
    bench.profile("version", &text(&format!("version = ['{filter}']\n")));
    bench.profile("filter", &text(""));
    for way in ["version", "filter"] {
        if way == "filter" {
            git(bench.root(), &["config", "filter.x.clean", filter]);
            bench.write(".gitattributes", "*.rs filter=x\n");
            bench.write(FILE, "a bug, too\n");
        }
        let _ = std::fs::remove_file(bench.root().join("started"));
        let ran = run(&owner, json!({ "profile": way })).await;
        assert_eq!(ran.body["run_state"], "succeeded", "{}", ran.text);
        assert!(bench.root().join("started").exists(), "{way}");
        let claim = shown(&owner, &id).await;
        assert_eq!(claim["status"], "proposed", "{way}: {claim}");
    }
}

/// Red before: the name of the directory was taken for the name of a file.
#[tokio::test]
async fn a_directory_is_covered_by_what_is_below_it() {
    let (bench, [owner, other, _]) = scene().await;
    bench.write("src/lib.js/a.rs", "one\n");
    profile(&bench, "scripts", "exit 0", "\"**/*.js\"", EXPECTS_ONE);
    let id = bench.claim(&owner, "a divides", "src/lib.js").await;
    bench.accepted(&other, "challenge", json!({ "claim_id": id, "reason": "it rounds" })).await;
    let given = json!({ "profile": "scripts", "claim_id": id, "blocking": true });
    let refused = owner.call("run_experiment", given).await.expect("an answer");
    assert_eq!(refused.field("code"), "profile_cannot_settle", "{}", refused.text);
    assert!(refused.text.contains("does not cover src/lib.js/**"), "{}", refused.text);
    std::os::unix::fs::symlink("nowhere.rs", bench.root().join("src/gone.rs")).expect("a link");
    let given = json!({ "statement": "gone is there", "claim_type": "fact", "scopes": ["src/gone.rs"] });
    let made = bench.accepted(&owner, "create_claim", given).await;
    bench.accepted(&other, "challenge", json!({ "claim_id": made.field("claim_id"), "reason": "no" })).await;
    let page = owner.read(&format!("hivemind://claims/{}", made.field("claim_id"))).await.expect("a page");
    assert!(page.contains("`src/gone.rs` is a link to a file that is not there"), "{page}");
}

/// Red before: it waited for ever.
#[test]
fn the_wait_for_a_run_ends_without_its_writer() {
    let bench = Bench::in_git();
    profile(&bench, "slow", "sleep 60", GLOBS, EXPECTS_ONE);
    bench.write(FILE, "one\n");
    let queued = bench.hm(&["--json", "--agent", "devops", "experiment", "run", "slow", "--no-wait"]);
    let queued: Value = serde_json::from_slice(&queued.stdout).expect("JSON");
    let run = queued["name"].as_str().expect("a name").to_owned();
    let is_running = || {
        let shown = bench.hm(&["experiment", "show", &run]);
        String::from_utf8_lossy(&shown.stdout).contains("running")
    };
    wait_until("the run begins", is_running);
    bench.kill_writer();
    let waited = bench.hm(&["experiment", "show", "--wait", &run]);
    let told = String::from_utf8_lossy(&waited.stderr).into_owned();
    assert_eq!(waited.status.code(), Some(75), "{told}");
    assert!(told.contains("no writer answers, and without one run R1 does not go on"), "{told}");
}

/// Red before: the page of the amended decision did not name the challenge that the amendment ended.
#[test]
fn a_claim_names_the_open_challenges_of_what_it_replaced() {
    let shell = Shell::new();
    let typed = |line: &str| {
        let done = shell.run(line);
        assert!(done.status.success(), "{line}: {done:?}");
        String::from_utf8(done.stdout).expect("UTF-8")
    };
    typed(
        "hm --agent devops decision record \"we use a queue\" --target bus --rationale \"it is simple enough\"",
    );
    typed("hm --agent frontend claim challenge C1 \"a queue loses messages\"");
    typed(
        "hm --agent devops decision amend C1 --append \"It is fast.\" --rationale \"because we can measure it\"",
    );
    let told = "not answered: frontend challenged `C1`: a queue loses messages";
    assert!(typed("hm claim show C2").contains(told), "{}", typed("hm claim show C2"));
    typed("hm --agent frontend claim support C2 \"it is measured\"");
    assert!(!typed("hm claim show C2").contains(told));
}

/// Red before: the system's words alone.
#[test]
fn a_deleted_directory_and_output_that_cannot_be_written_are_told_in_words() {
    let shell = Shell::new();
    let gone = tempfile::tempdir().expect("a directory");
    let line = format!("cd {0} && rmdir {0} && exec {1} status", gone.path().display(), crate::harness::HM);
    let done = std::process::Command::new("sh").args(["-c", &line]).output().expect("a shell");
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(told.contains("the directory in which you are was deleted"), "{told}");
    assert_eq!(done.status.code(), Some(2));
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
    let mut create = shell.command("hm --agent devops claim create \"a divides\"");
    let done = create.stdout(full).output().expect("hm runs");
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(told.contains("the command may have been committed"), "{told}");
}
