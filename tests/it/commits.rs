//! The commits of the repository: each is on record once, and one that changes a file counts as an edit.

use std::path::Path;
use std::process::Command;

use hivemind::mcp::{Era, Pane};
use hivemind::schedule::{JobOutcome, JobRun, JobRuns};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::harness::wait_until;

const KEY: &str = "AKIAQ3EGT4PLKXYWZB7M";

/// Runs git as a human of this name.
fn git(dir: &Path, author: &str, arguments: &[&str]) -> String {
    let name = format!("user.name={author}");
    let mut command = Command::new("git");
    command.args(["-c", &name, "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"]);
    let output = command.args(arguments).current_dir(dir).output().expect("git runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Commits all files of a directory, and returns the hash.
fn commit(dir: &Path, author: &str, subject: &str) -> String {
    git(dir, author, &["add", "."]);
    git(dir, author, &["commit", "-q", "--allow-empty", "-m", subject]);
    git(dir, author, &["rev-parse", "HEAD"])
}

/// A new writer, which has looked for commits.
fn look(bench: &Bench) -> JobRun {
    bench.kill_writer();
    // Of the writer before.
    let _ = std::fs::remove_file(bench.workspace().schedule());
    wait_until("a writer is up", || bench.hm(&["rebuild"]).status.success());
    let mut run = None;
    wait_until("it has looked for commits", || {
        run = JobRuns::load(&bench.workspace().schedule()).0.remove("git");
        run.is_some()
    });
    run.expect("a run")
}

/// The recorded commits, in ledger order.
fn recorded(bench: &Bench) -> Vec<Value> {
    let events = bench.events().into_iter().filter(|event| event.kind == "commit.seen");
    let payloads = events.filter_map(|event| event.payload);
    payloads.map(|(payload, _)| serde_json::from_str(&payload).expect("JSON")).collect()
}

fn shas(bench: &Bench) -> Vec<String> {
    recorded(bench).iter().map(|commit| commit["sha"].as_str().expect("a hash").to_owned()).collect()
}

async fn page(pane: &Pane, claim: &str) -> (Value, String) {
    let json = pane.read(&format!("hivemind://claims/{claim}?format=json")).await.expect("a resource");
    let text = pane.read(&format!("hivemind://claims/{claim}")).await.expect("a resource");
    (serde_json::from_str(&json).expect("JSON"), text)
}

#[test]
fn a_commit_is_recorded_once_whatever_happens_to_it() {
    let bench = Bench::in_git();
    let root = bench.root().to_owned();
    assert_eq!(look(&bench).outcome, JobOutcome::Ok, "a repository without commits");
    assert_eq!(recorded(&bench), Vec::<Value>::new());

    bench.write("src/a.rs", "fn a() {}\n");
    bench.write("src/ü b.rs", "fn b() {}\n");
    let first = commit(&root, "Ada", "feat(auth): log in");
    let second = commit(&root, "ada@example.org", &format!("the key is {KEY}"));
    look(&bench);
    let commits = recorded(&bench);
    assert_eq!(shas(&bench), [first.clone(), second], "the oldest first");
    assert_eq!(
        (&commits[0]["author"], &commits[0]["subject"], &commits[0]["target"], &commits[0]["parents"]),
        (&json!("Ada"), &json!("feat(auth): log in"), &json!("target:auth"), &json!(0))
    );
    let files = commits[0]["files"].as_array().expect("files");
    assert!(files.contains(&json!("src/a.rs")) && files.contains(&json!("src/ü b.rs")), "{files:?}");
    assert_eq!(commits[0]["branch"], "main");
    assert_eq!(commits[1]["subject"], "the key is [redacted:aws-key]");
    assert_eq!((&commits[1]["author"], &commits[1]["parents"]), (&Value::Null, &json!(1)), "no mail address");
    let events = bench.events();
    let of_commits = events.iter().filter(|event| event.kind == "commit.seen");
    assert!(of_commits.clone().all(|event| event.agent.as_str() == "system"));
    let texts: String = of_commits.filter_map(|event| Some(event.payload.as_ref()?.0.clone())).collect();
    assert!(!texts.contains(KEY) && !texts.contains("example.org"), "{texts}");

    // Another work tree, a merge into this one, and a commit that is amended.
    let tree = tempfile::tempdir().expect("a directory");
    let tree = tree.path().join("wt");
    git(&root, "Ada", &["worktree", "add", "-q", "-b", "side", tree.to_str().expect("UTF-8")]);
    std::fs::write(tree.join("src/c.rs"), "fn c() {}\n").expect("a file");
    let third = commit(&tree, "Bob", "fix: c");
    look(&bench);
    let seen = recorded(&bench).pop().expect("a commit");
    assert_eq!(
        (&seen["sha"], &seen["worktree"], &seen["branch"]),
        (&json!(third), &json!("wt"), &json!("side"))
    );
    bench.write("src/d.rs", "fn d() {}\n");
    let fourth = commit(&root, "Ada", "d");
    git(&root, "Ada", &["merge", "-q", "--no-ff", "-m", "merge side", "side"]);
    let merge = git(&root, "Ada", &["rev-parse", "HEAD"]);
    look(&bench);
    assert_eq!(shas(&bench)[3..], [fourth, merge]);
    let merged = recorded(&bench).pop().expect("a commit");
    assert_eq!((&merged["parents"], &merged["files"]), (&json!(2), &json!(["src/c.rs"])), "{merged}");
    git(&root, "Ada", &["commit", "-q", "--amend", "-m", "merge it"]);
    git(&root, "Ada", &["reflog", "expire", "--expire=now", "--all"]);
    git(&root, "Ada", &["gc", "-q", "--prune=now"]);
    assert_eq!(look(&bench).outcome, JobOutcome::Ok, "a known commit is gone");
    assert_eq!(shas(&bench).len(), 6, "the old hash stays on record");

    // What is erased stays erased, and nothing is recorded again.
    let event = bench.events().into_iter().rfind(|event| event.kind == "commit.seen").expect("an event");
    let forgotten = bench.hm(&["--agent", "operator", "forget", &event.id.to_string(), "--reason", "words"]);
    assert!(forgotten.status.success(), "{}", String::from_utf8_lossy(&forgotten.stderr));
    look(&bench);
    look(&bench);
    assert_eq!(recorded(&bench).len(), 5);
    bench.kill_writer();
    bench.assert_sound();
}

#[tokio::test]
async fn a_commit_of_a_human_is_an_edit_and_an_agents_own_commit_tells_nothing_new() {
    let bench = Bench::in_git();
    let root = bench.root().to_owned();
    bench.write("src/a.rs", "fn a() { 1 }\n");
    commit(&root, "Ada", "one");
    look(&bench);
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    bench.write("src/a.rs", "fn a() { 2 }\n");
    let edit = json!({ "kind": "file_edited", "summary": "two", "paths": ["src/a.rs"] });
    bench.accepted(&devops, "report_event", edit).await;
    let finding = json!({ "kind": "finding", "summary": "a is two", "paths": ["src/a.rs"] });
    let finding = bench.accepted(&devops, "report_event", finding).await.field("event_id").to_owned();
    // About the directory, so that no content of a file is compared for it.
    let claim = json!({ "statement": "a gives two", "claim_type": "fact", "scopes": ["src/a.rs"],
        "evidence_refs": [finding] });
    let claim = bench.accepted(&devops, "create_claim", claim).await.field("claim_id").to_owned();

    commit(&root, "devops", "two");
    look(&bench);
    assert_eq!(recorded(&bench).pop().expect("a commit")["changed"], Value::Null);
    let (json, text) = page(&devops, &claim).await;
    assert_eq!((&json["stale"], &json["changed_since"]), (&json!(false), &Value::Null), "{text}");

    bench.write("src/a.rs", "fn a() { 3 }\n");
    let third = commit(&root, "Ada", "fix(a): three");
    // Nothing that the reader sees yet tells who it was.
    let (json, _) = page(&devops, &claim).await;
    assert_eq!((&json["stale"], &json["changed_since"][0]["by"]), (&json!(false), &Value::Null));
    look(&bench);
    assert_eq!(recorded(&bench).pop().expect("a commit")["changed"], json!(["src/a.rs"]));
    let (json, text) = page(&devops, &claim).await;
    let changed = &json["changed_since"][0];
    assert_eq!((&json["stale"], &changed["path"]), (&json!(true), &json!("src/a.rs")), "{text}");
    assert_eq!(
        changed["commit"],
        json!({ "sha": third, "author": "Ada", "subject": "fix(a): three" }),
        "{json}"
    );
    assert!(text.contains(&format!("by commit {} of Ada (fix(a): three)", &third[..10])), "{text}");
    bench.kill_writer();
    bench.assert_sound();
}

#[test]
fn the_settings_of_a_hostile_repository_start_nothing_and_can_turn_the_index_off() {
    let bench = Bench::in_git();
    let root = bench.root().to_owned();
    let started = root.join("started");
    let trap = format!("touch {}", started.display());
    for (key, value) in [
        ("core.fsmonitor", trap.as_str()),
        ("core.pager", trap.as_str()),
        ("pager.log", "true"),
        ("diff.external", trap.as_str()),
        ("gpg.program", trap.as_str()),
        ("log.showSignature", "true"),
        ("diff.evil.textconv", trap.as_str()),
        ("core.sshCommand", trap.as_str()),
        ("log.diffMerges", "off"),
        ("diff.noprefix", "true"),
        ("diff.relative", "false"),
        ("color.ui", "always"),
    ] {
        git(&root, "Ada", &["config", key, value]);
    }
    bench.write(".gitattributes", "* diff=evil\n");
    bench.write("a", "1\n");
    // No commit makes another one by its subject or its file names.
    bench.write("\u{1}b", "2\n");
    commit(&root, "Ada\u{1b}[31m", "one\u{1}two");
    // The git of this test obeys the settings.
    let _ = std::fs::remove_file(&started);
    let run = look(&bench);
    assert_eq!(run.outcome, JobOutcome::Ok, "{run:?}");
    let commits = recorded(&bench);
    assert_eq!(commits.len(), 1, "{commits:?}");
    assert_eq!(commits[0]["subject"], "one two");
    assert!(!started.exists(), "a program of the repository's choosing ran");

    let config = bench.workspace().config();
    std::fs::write(config, "[git]\nindex = false\n").expect("a configuration");
    commit(&root, "Ada", "another");
    assert!(look(&bench).detail.starts_with("off"));
    assert_eq!(recorded(&bench).len(), 1);
}

#[test]
fn a_shallow_clone_and_a_workspace_below_the_top_have_a_history() {
    let origin = tempfile::tempdir().expect("a directory");
    git(origin.path(), "Ada", &["init", "-q", "-b", "main"]);
    std::fs::create_dir(origin.path().join("part")).expect("a directory");
    for number in 0..5 {
        std::fs::write(origin.path().join("part/a"), number.to_string()).expect("a file");
        std::fs::write(origin.path().join("beside"), number.to_string()).expect("a file");
        commit(origin.path(), "Ada", &format!("number {number}"));
    }
    let clone = tempfile::tempdir().expect("a directory");
    let from = format!("file://{}", origin.path().display());
    git(clone.path(), "Ada", &["clone", "-q", "--depth=2", &from, "c"]);
    let bench = Bench::at(&clone.path().join("c/part"), clone);
    assert_eq!(look(&bench).outcome, JobOutcome::Ok);
    let commits = recorded(&bench);
    assert_eq!(commits.len(), 2);
    assert!(commits.iter().all(|commit| commit["files"] == json!(["a"])), "{commits:?}");
}

#[tokio::test]
async fn files_that_change_together_are_named_on_the_page_of_a_claim() {
    let bench = Bench::in_git();
    let root = bench.root().to_owned();
    for number in 0..8 {
        bench.write("src/a.rs", &format!("fn a() {{ {number} }}\n"));
        bench.write("src/b.rs", &format!("fn b() {{ {number} }}\n"));
        bench.write(&format!("src/other_{number}.rs"), "\n");
        commit(&root, "Ada", "both");
    }
    for number in 0..2 {
        bench.write("src/a.rs", &format!("fn a() {{ -{number} }}\n"));
        commit(&root, "Ada", "one");
    }
    look(&bench);
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let about_a = bench.claim(&devops, "a counts down", "src/a.rs").await;
    let about_b = bench.claim(&devops, "b keeps a log of its own", "src/b.rs").await;
    let (json, text) = page(&devops, &about_a).await;
    let pair = "src/b.rs changed with src/a.rs in 8 of 10 commits";
    assert_eq!(json["changes_with"], json!([pair]), "{text}");
    assert!(text.contains(pair), "{text}");
    let (json, text) = page(&devops, &about_b).await;
    assert_eq!(json["changes_with"], json!(["src/a.rs changed with src/b.rs in 8 of 8 commits"]), "{text}");
    // It is a file beside the read models, and a missing one is counted again.
    let file = bench.workspace().memory().join("cochange.json");
    assert!(file.exists());
    std::fs::remove_file(&file).expect("a file");
    let (json, _) = page(&devops, &about_a).await;
    assert_eq!(json["changes_with"], Value::Null);
    look(&bench);
    assert!(file.exists(), "it is counted again");
}
