//! Proofs that showed nothing, each found by a user who had only the tool: tests swapped during a run, a tool that comes from
//! the work tree, a test of something else, a prediction of an agent that has no say, and a claim about no file.

use hivemind::mcp::{Pane, ToolAnswer};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::false_proof::{FILE, GLOBS, contested, scene, settle, stands};
use crate::harness::wait_until;
use crate::proof::{EXPECTING, assert_rebuilds_to_the_same, committed, git, json_of, profile, run, shown};
use crate::shell::Shell;

const TEST: &str = "tests/t.rs";
/// Fails if the test file has a bug when `go` is there, and ends when `done` is there.
const SWAPPED: &str = "touch began; while ! test -e go; do sleep 0.05; done; ! grep -q bug tests/t.rs; code=$?; \
    touch tested; while ! test -e done; do sleep 0.05; done; exit $code";

/// One run of a test file that is overwritten before the test reads it, and is put back before the run ends.
async fn swapped(bench: &Bench, pane: &Pane, claim: Option<&str>, meanwhile: &str) -> String {
    for name in ["began", "go", "tested", "done"] {
        let _ = std::fs::remove_file(bench.root().join(name));
    }
    let mut given = json!({ "profile": "swapped" });
    if let Some(claim) = claim {
        (given["claim_id"], given["blocking"]) = (json!(claim), json!(true));
    }
    let run = bench.accepted(pane, "run_experiment", given).await.field("run_id").to_owned();
    wait_until("the test runs", || bench.root().join("began").exists());
    bench.write(TEST, meanwhile);
    bench.write("go", "");
    wait_until("the test looked", || bench.root().join("tested").exists());
    git(bench.root(), &["checkout", "-q", "--", "tests"]);
    bench.write("done", "");
    for _ in 0..600 {
        let state = json_of(pane, &format!("hivemind://experiments/{run}")).await["status"].clone();
        if state != "running" && state != "queued" {
            return run;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the run ends");
}

/// Red before: the run proved the claim, and its page spoke of no uncommitted changes.
#[tokio::test]
async fn a_test_that_is_swapped_during_a_run_proves_nothing() {
    let (bench, [owner, other, _]) = scene().await;
    profile(&bench, "swapped", SWAPPED, GLOBS, EXPECTING);
    bench.write(TEST, "a bug\n");
    committed(&bench);
    let id = contested(&bench, &owner, &other).await;
    let run = swapped(&bench, &owner, Some(&id), "fine\n").await;
    let (status, reason) = stands(&owner, &id).await;
    assert_eq!(status, "contested", "{reason}");
    assert!(reason.contains("`tests/t.rs` was written during the run: run it again"), "{reason}");
    assert_eq!(shown(&owner, &id).await["evidence_items"], json!([]));
    let page = owner.read(&format!("hivemind://experiments/{run}")).await.expect("a page");
    assert!(page.contains("`tests/t.rs` was written during the run"), "{page}");
    // A run about no claim is no evidence afterwards either.
    let run = swapped(&bench, &owner, None, "fine\n").await;
    bench.accepted(&owner, "attach_experiment", json!({ "run_id": run, "claim_id": id })).await;
    let claim = shown(&owner, &id).await;
    assert_eq!(claim["evidence_items"][0]["relation"], "mentions", "{claim}");
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: the claim was said to be unstable on the same content.
#[tokio::test]
async fn a_test_that_is_broken_during_a_run_is_no_failure_on_the_same_content() {
    let (bench, [owner, other, _]) = scene().await;
    profile(&bench, "swapped", SWAPPED, GLOBS, EXPECTING);
    bench.write(TEST, "fine\n");
    committed(&bench);
    let id = contested(&bench, &owner, &other).await;
    swapped(&bench, &owner, Some(&id), "a bug\n").await;
    let (status, reason) = stands(&owner, &id).await;
    assert!(status == "contested" && reason.contains("was written during the run"), "{reason}");
    // The run may hide a failure, so one run proves nothing, and three do.
    let once = settle(&owner, "swapped", &id, 1).await;
    let (_, reason) = stands(&owner, &id).await;
    for told in [&once.text, &reason] {
        assert!(!told.contains("passed, 1 failed") && !told.contains("settles nothing"), "{told}");
    }
    settle(&owner, "swapped", &id, 3).await;
    assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)");
    assert_rebuilds_to_the_same(&bench);
}

/// What a check writes by itself leaves its run as it was.
#[tokio::test]
async fn new_and_ignored_files_of_a_run_leave_it_as_it_was() {
    let (bench, [owner, other, _]) = scene().await;
    let script = "set -e; mkdir -p src/cache; date +%N >> src/cache/ignored.rs; date +%N >> src/new.rs; cat src/out.rs > src/o; \
        mv src/o src/out.rs";
    profile(&bench, "writes", script, GLOBS, EXPECTING);
    bench.write(".gitignore", ".hivemind/\ncache/\n");
    git(bench.root(), &["add", ".gitignore"]);
    bench.write("src/cache/ignored.rs", "0\n");
    // Git does not know this one: it is compared by what it holds.
    bench.write("src/out.rs", "the same each time\n");
    let id = contested(&bench, &owner, &other).await;
    settle(&owner, "writes", &id, 1).await;
    let (status, reason) = stands(&owner, &id).await;
    assert_eq!(status, "confirmed (proved)", "{reason}");
    // Red before: a test that git does not know yet, and that changes during the run.
    bench.write("src/new.rs", "a test\n");
    profile(&bench, "changes", "echo more >> src/new.rs", GLOBS, EXPECTING);
    let id = bench.claim(&owner, "a rounds", FILE).await;
    bench.accepted(&other, "challenge", json!({ "claim_id": id, "reason": "it does not" })).await;
    settle(&owner, "changes", &id, 1).await;
    let (status, reason) = stands(&owner, &id).await;
    assert!(status == "contested" && reason.contains("`src/new.rs` was written during the run"), "{reason}");
    assert!(reason.contains("run it again") && !reason.contains("if the check itself writes it"), "{reason}");
    // A check that writes its own files would be run again for ever.
    settle(&owner, "changes", &id, 1).await;
    let (status, reason) = stands(&owner, &id).await;
    assert!(
        status == "contested" && reason.contains("as during an earlier one; if the check itself writes it"),
        "{reason}"
    );
}

/// Red before: a file of the work tree ran in place of the tool that the profile names.
#[tokio::test]
async fn a_tool_that_comes_from_the_work_tree_is_not_run() {
    for (file, is_found) in [
        ("pytest.py", true),
        ("pytest/__init__.py", true),
        ("_pytest/__init__.py", true),
        ("pytest.cpython-312-x86_64-linux-gnu.so", true),
        ("pytest/notes.txt", false),
    ] {
        let bench = Bench::new();
        bench.write("calc.py", "1\n");
        bench.write(file, "import sys\nprint('1 passed in 0.01s')\nsys.exit(0)\n");
        let [owner, other] = bench.panes(["analyst", "devops"]).await;
        let id = bench.claim(&owner, "it adds", "calc.py").await;
        bench.accepted(&other, "challenge", json!({ "claim_id": id, "reason": "it does not" })).await;
        let answer = run(&owner, json!({ "profile": "pytest", "claim_id": id, "blocking": true })).await;
        assert_eq!(answer.body["run_state"], "aborted", "{file}: {}", answer.text);
        assert_eq!(stands(&owner, &id).await.0, "contested", "{file}");
        let page = owner.read(&format!("hivemind://experiments/{}", answer.field("run_id"))).await;
        let page = page.expect("a page");
        let told = "of the work tree would run in place of the module that the command names";
        assert_eq!(page.contains(told), is_found, "{file}: {page}");
    }
}

/// A profile that runs one test file.
fn one_file(bench: &Bench) {
    let rest = "timeout_ms = 20000\n[params.file]\nkind = 'path'\n[expect]\nexit = 0\nfails = [1]\n";
    bench.profile(
        "one",
        &format!(
            "description = 'a test'\nargv = ['sh', '{{file}}']\nscopes = ['**/*.py', '**/*.sh']\n{rest}"
        ),
    );
    profile(bench, "all", "exit 0", "'**/*.py'", EXPECTING);
}

async fn about(bench: &Bench, [owner, other]: &[Pane; 2], scopes: &[&str]) -> String {
    let statement = format!("{} holds", scopes.join(" with "));
    let claim = json!({ "statement": statement, "claim_type": "fact", "scopes": scopes });
    let id = bench.accepted(owner, "create_claim", claim).await.field("claim_id").to_owned();
    bench.accepted(other, "challenge", json!({ "claim_id": id, "reason": "it does not" })).await;
    id
}

async fn by_one(pane: &Pane, claim: Option<&str>, file: &str) -> ToolAnswer {
    let mut given = json!({ "profile": "one", "args": [format!("file={file}")] });
    if let Some(claim) = claim {
        (given["claim_id"], given["blocking"]) = (json!(claim), json!(true));
    }
    run(pane, given).await
}

/// Red before: the tests of the cart proved what is claimed of the pool.
#[tokio::test]
async fn a_test_file_settles_what_it_names() {
    let bench = Bench::new();
    one_file(&bench);
    for file in ["src/pool.py", "src/net/__init__.py", "src/cart.py"] {
        bench.write(file, "1\n");
    }
    bench.write("tests/cart.sh", "# src/cart.py, and spools\n");
    bench.write("tests/pool.sh", "# from src import pool\n");
    bench.write("tests/net.sh", "# import src.net\n");
    bench.write("src/pool.py", "def limit(): pass\n");
    bench.write("tests/limit.sh", "# limit()\n");
    bench.write("tests/total.sh", "# total()\n");
    let panes = bench.panes(["analyst", "devops"]).await;
    for (scopes, file, settles) in [
        (&["src/pool.py"][..], "tests/cart.sh", false),
        (&["src/pool.py"], "tests/pool.sh", true),
        (&["src/pool.py"], "tests", true),
        (&["src/pool.py", "src/cart.py"], "tests/pool.sh", false),
        (&["src/net/__init__.py"], "tests/cart.sh", false),
        (&["src/net/__init__.py"], "tests/net.sh", true),
        (&["src/pool.py", "tests/cart.sh"], "tests/cart.sh", true),
        (&["src/pool.py", "symbol:Pool::limit"], "tests/limit.sh", true),
        (&["src/pool.py", "symbol:Pool::limit"], "tests/cart.sh", false),
        // Red before: a pattern needed no name, and a symbol stood for every file.
        (&["src/p?ol.py"], "tests/cart.sh", false),
        (&["src/p?ol.py"], "tests/pool.sh", true),
        (&["src/pool.py", "symbol:total"], "tests/total.sh", false),
    ] {
        let id = about(&bench, &panes, scopes).await;
        let answer = by_one(&panes[0], Some(&id), file).await;
        let what = format!("{scopes:?} by {file}: {}", answer.text);
        if file == "tests" {
            // `sh` runs no directory; what counts is that the run is taken.
            assert!(!answer.refused, "{what}");
        } else if settles {
            assert_eq!(stands(&panes[0], &id).await.0, "confirmed (proved)", "{what}");
        } else {
            assert_eq!(answer.field("code"), "profile_cannot_settle", "{what}");
            assert!(answer.text.contains(&format!("`{file}` does not name")), "{what}");
            let way = ["use all or ", "tests that name the files of the claim, or leave out blocking"];
            assert!(way.iter().all(|way| answer.text.contains(way)), "{what}");
        }
        bench.accepted(&panes[1], "abstain", json!({ "claim_id": id })).await;
        bench.accepted(&panes[0], "deprecate_claim", json!({ "claim_id": id, "reason": "next" })).await;
    }
    // Without waiting it is evidence that mentions, and so is a run that was about no claim.
    let id = about(&bench, &panes, &["src/pool.py", "tag:limit"]).await;
    let given = json!({ "profile": "one", "args": ["file=tests/cart.sh"], "claim_id": id });
    let mentions = run(&panes[0], given).await;
    assert!(mentions.text.contains("does not name"), "{}", mentions.text);
    let untied = by_one(&panes[0], None, "tests/pool.sh").await;
    let tie = json!({ "run_id": untied.field("run_id"), "claim_id": id });
    bench.accepted(&panes[0], "attach_experiment", tie).await;
    let evidence = shown(&panes[0], &id).await["evidence_items"].clone();
    let relations: Vec<&Value> =
        evidence.as_array().into_iter().flatten().map(|it| &it["relation"]).collect();
    assert_eq!(relations, [&json!("mentions"), &json!("mentions")], "{evidence}");
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: a run by an agent that has no say in what the claim predicts contradicted it, and no later run proved it.
#[tokio::test]
async fn only_its_owner_says_that_a_claim_predicts_a_failure() {
    let (bench, [owner, other, _]) = scene().await;
    bench.write(FILE, "fine\n");
    let id = contested(&bench, &owner, &other).await;
    let given = json!({ "profile": "check", "claim_id": id, "prediction": "fails" });
    let wrong = run(&other, given.clone()).await;
    let why = "only its owner and the operator say that it predicts a failure";
    assert!(wrong.text.contains(why), "{}", wrong.text);
    let claim = shown(&owner, &id).await;
    assert_eq!(claim["evidence_items"][0]["relation"], "mentions", "{claim}");
    settle(&owner, "check", &id, 1).await;
    assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)");
    // The owner's own word counts, and the way out is another claim.
    bench.accepted(&owner, "deprecate_claim", json!({ "claim_id": id, "reason": "next" })).await;
    let id = contested(&bench, &owner, &other).await;
    run(&owner, given_about(&given, &id)).await;
    settle(&owner, "check", &id, 1).await;
    let (status, _) = stands(&owner, &id).await;
    assert_eq!(status, "contested");
    let attention = owner.read("hivemind://attention").await.expect("a page");
    assert!(!attention.contains("a run may decide instead"), "{attention}");
    assert!(attention.contains("so no run of an agent decides on this content"), "{attention}");
    let instead =
        json!({ "statement": "a divides evenly", "claim_type": "fact", "scopes": [FILE], "supersedes": id });
    let next = bench.accepted(&owner, "create_claim", instead).await.field("claim_id").to_owned();
    bench.accepted(&other, "challenge", json!({ "claim_id": next, "reason": "it rounds" })).await;
    settle(&owner, "check", &next, 1).await;
    assert_eq!(stands(&owner, &next).await.0, "confirmed (proved)");
    assert_rebuilds_to_the_same(&bench);
}

fn given_about(given: &Value, claim: &str) -> Value {
    let mut given = given.clone();
    given["claim_id"] = json!(claim);
    given
}

/// Red before: a claim about a file that is not there was proved.
#[tokio::test]
async fn a_claim_about_no_file_waits_for_no_run() {
    let (bench, [owner, other, _]) = scene().await;
    bench.write(FILE, "fine\n");
    for (scopes, is_refused) in [(json!(["src/gone.rs"]), true), (json!(["src/gone.rs", FILE]), false)] {
        let claim = json!({ "statement": format!("about {scopes}"), "claim_type": "fact", "scopes": scopes });
        let id = bench.accepted(&owner, "create_claim", claim).await.field("claim_id").to_owned();
        bench.accepted(&other, "challenge", json!({ "claim_id": id, "reason": "no" })).await;
        let answer = run(&owner, json!({ "profile": "check", "claim_id": id, "blocking": true })).await;
        assert_eq!(answer.refused, is_refused, "{}", answer.text);
        if is_refused {
            assert_eq!(answer.field("code"), "profile_cannot_settle", "{}", answer.text);
            assert!(answer.text.contains("`src/gone.rs` does not exist"), "{}", answer.text);
            assert!(answer.text.contains("supersedes"), "{}", answer.text);
            let mentions = run(&owner, json!({ "profile": "check", "claim_id": id })).await;
            assert!(!mentions.refused, "{}", mentions.text);
        }
    }
}

/// Red before: the refusal asked for a run that failed, and was given where one was cited.
#[tokio::test]
async fn a_run_about_the_claim_that_failed_after_its_proof_is_new_to_it() {
    let (bench, [owner, other, _]) = scene().await;
    bench.write(FILE, "fine\n");
    profile(&bench, "fails", "exit 1", GLOBS, EXPECTING);
    let id = contested(&bench, &owner, &other).await;
    settle(&owner, "check", &id, 1).await;
    assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)");
    let failed = run(&other, json!({ "profile": "fails", "claim_id": id })).await;
    assert!(failed.text.contains("contradicts"), "{}", failed.text);
    let cited = json!({ "claim_id": id, "reason": "it failed", "evidence_ref": failed.field("run_id") });
    bench.accepted(&other, "challenge", cited).await;
    assert_eq!(stands(&owner, &id).await.0, "contested");
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: the votes of agents confirmed the claim, though only the operator may.
#[tokio::test]
async fn a_run_without_an_outcome_confirms_nothing_under_human_only() {
    let (bench, [owner, other, third]) = scene().await;
    profile(&bench, "slow", "while true; do sleep 0.05; done", GLOBS, EXPECTING);
    let id = contested(&bench, &owner, &other).await;
    bench.accepted(&third, "support", json!({ "claim_id": id, "reason": "I saw it" })).await;
    std::fs::write(bench.workspace().config(), "[policy]\ntrust = \"human_only\"\n")
        .expect("a configuration");
    let asked = json!({ "profile": "slow", "claim_id": id, "blocking": true });
    let run = bench.accepted(&owner, "run_experiment", asked).await.field("run_id").to_owned();
    bench.accepted(&other, "abstain", json!({ "claim_id": id })).await;
    bench.accepted(&owner, "cancel_experiment", json!({ "run_id": run })).await;
    for _ in 0..200 {
        if shown(&owner, &id).await["status"] != "pending_proof" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let page = owner.read(&format!("hivemind://claims/{id}")).await.expect("a page");
    assert_eq!(shown(&owner, &id).await["status"], "proposed", "{page}");
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: the claim was contested again, and the printed way was the run that had just settled it.
#[tokio::test]
async fn a_challenge_that_a_proof_answered_needs_something_new() {
    let (bench, [owner, other, third]) = scene().await;
    bench.write(FILE, "fine\n");
    let id = contested(&bench, &owner, &other).await;
    settle(&owner, "check", &id, 1).await;
    let again = json!({ "claim_id": id, "reason": "it rounds" });
    let refused = other.call("challenge", again.clone()).await.expect("an answer");
    assert_eq!(refused.field("code"), "challenge_answered", "{}", refused.text);
    assert!(refused.text.contains("evidence_ref"), "{}", refused.text);
    assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)");
    // The run that proves it is nothing new; another one is.
    let proof = shown(&owner, &id).await["evidence_items"][0]["evidence_ref"].clone();
    let cited = json!({ "claim_id": id, "reason": "it rounds", "evidence_ref": proof });
    let refused = other.call("challenge", cited).await.expect("an answer");
    assert_eq!(refused.field("code"), "challenge_answered", "{}", refused.text);
    let seen = run(&other, json!({ "profile": "flaky" })).await;
    let cited = json!({ "claim_id": id, "reason": "see it", "evidence_ref": seen.field("run_id") });
    bench.accepted(&other, "challenge", cited).await;
    assert_eq!(stands(&owner, &id).await.0, "contested");
    bench.accepted(&other, "abstain", json!({ "claim_id": id })).await;
    // Another agent, and other content, need nothing.
    bench.accepted(&third, "challenge", again.clone()).await;
    bench.accepted(&third, "abstain", json!({ "claim_id": id })).await;
    bench.write(FILE, "fine too\n");
    bench.accepted(&other, "challenge", again).await;
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: the page of a profile with a test file did not say what the file has to name.
#[test]
fn the_page_of_a_profile_says_what_its_test_file_names() {
    let shell = Shell::new();
    let page = String::from_utf8(shell.run("hm profile show pytest-file").stdout).expect("UTF-8");
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        page.contains(
            "it settles a claim about a file only if the path is in the claim's scopes, or names the file"
        ),
        "{page}"
    );
    let page = String::from_utf8(shell.run("hm profile show pytest").stdout).expect("UTF-8");
    assert!(!page.contains("names the file"), "{page}");
}

/// A project whose `pytest` is a program that prints what `suite` wants.
fn with_pytest(bench: &Bench) {
    bench.profile(
        "suite",
        &format!(
            "description = 'all tests'\nargv = ['.venv/bin/pytest', '-q']\nscopes = ['**/*.py']\n{EXPECTING}"
        ),
    );
    for (file, text) in [
        ("src/pool.py", "def limit(): return 5\n"),
        ("src/cart.py", "def total(): return 0\n"),
        ("tests/test_pool.py", "from src import pool\n"),
        ("tests/test_cart.py", "from src import cart\n"),
        (".venv/bin/pytest", "#!/bin/sh\ncat out; exit 1\n"),
        (".gitignore", ".hivemind/\n.venv/\nout\n"),
    ] {
        bench.write(file, text);
    }
    let program = bench.root().join(".venv/bin/pytest");
    std::fs::set_permissions(program, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("a program");
}

/// Red before: the failure of the tests of the cart proved and contradicted what is claimed of the pool.
#[tokio::test]
async fn tests_that_do_not_reach_the_file_of_a_claim_say_nothing_about_it() {
    const OF_CART: &str = "FAILED tests/test_cart.py::test_total - assert 0 == 1\n";
    const OF_POOL: &str = "FAILED tests/test_pool.py::test_limit - assert 5 == 4\n";
    for (output, counts) in [
        (format!("{OF_CART}1 failed, 1 passed in 0.01s"), false),
        (format!("src/pool.py:3: DeprecationWarning: old\n{OF_CART}1 failed, 1 warning in 0.01s"), false),
        (format!("tests/test_pool.py::test_limit PASSED\n{OF_CART}1 failed, 1 passed in 0.01s"), false),
        (format!("{OF_POOL}1 failed, 1 passed in 0.01s"), true),
        (format!("{OF_CART}{OF_POOL}2 failed in 0.01s"), true),
        // Not all are listed.
        (format!("{OF_CART}2 failed in 0.01s"), true),
    ] {
        let bench = Bench::new();
        with_pytest(&bench);
        bench.write("out", &output);
        committed(&bench);
        let panes = bench.panes(["analyst", "devops"]).await;
        let [owner, other] = &panes;
        let id = about(&bench, &panes, &["src/pool.py"]).await;
        let given = json!({ "profile": "suite", "claim_id": id, "blocking": true, "prediction": "fails" });
        let answer = run(owner, given).await;
        assert!(
            answer.text.contains("a failure of tests that do not reach `src/pool.py` says nothing"),
            "{}",
            answer.text
        );
        let (status, reason) = stands(owner, &id).await;
        let what = format!("{output}: {status}, {reason}: {}", answer.text);
        assert_eq!(status, if counts { "confirmed (proved)" } else { "contested" }, "{what}");
        let why = "it failed in `tests/test_cart.py`, which has nothing to do with `src/pool.py`";
        assert_eq!(reason.contains(why), !counts, "{what}");
        // Nor does it contradict another claim.
        let id = about(&bench, &panes, &["src/pool.py", "tag:again"]).await;
        let against = run(other, json!({ "profile": "suite", "claim_id": id })).await;
        let relation = shown(owner, &id).await["evidence_items"][0]["relation"].clone();
        assert_eq!(relation, if counts { "contradicts" } else { "mentions" }, "{}", against.text);
        assert_rebuilds_to_the_same(&bench);
    }
}

/// Red before: a proof was in doubt after a failure of other tests, run for no claim.
#[tokio::test]
async fn tests_that_do_not_reach_a_proved_claim_put_it_in_no_doubt() {
    for (failed, is_in_doubt) in [("test_cart", false), ("test_pool", true)] {
        let bench = Bench::new();
        with_pytest(&bench);
        profile(&bench, "all", "exit 0", "'**/*.py'", EXPECTING);
        bench.write("out", "2 passed in 0.01s\n");
        bench.write(".venv/bin/pytest", "#!/bin/sh\ncat out; ! grep -q failed out\n");
        committed(&bench);
        let panes = bench.panes(["analyst", "devops"]).await;
        let id = about(&bench, &panes, &["src/pool.py"]).await;
        settle(&panes[0], "suite", &id, 1).await;
        assert_eq!(stands(&panes[0], &id).await.0, "confirmed (proved)");
        bench.write("src/cart.py", "def total(): return 1\n");
        bench.write("out", &format!("FAILED tests/{failed}.py::test_a - assert 0 == 1\n1 failed in 0.01s\n"));
        run(&panes[1], json!({ "profile": "suite" })).await;
        let claim = shown(&panes[0], &id).await;
        assert_eq!(!claim["failed_since"].is_null(), is_in_doubt, "{failed}: {claim}");
        assert_rebuilds_to_the_same(&bench);
    }
}

/// Red before: a request of several runs was judged by where the last one failed.
#[tokio::test]
async fn of_several_runs_each_has_to_reach_the_claim_that_predicts_their_failure() {
    for (prediction, relation) in [("fails", "mentions"), ("passes", "contradicts")] {
        let bench = Bench::new();
        with_pytest(&bench);
        let script = "#!/bin/sh\nif test -e second; then f=pool; else f=cart; fi; touch second\n\
            echo FAILED tests/test_$f.py::test_a; echo 1 failed in 0.01s; exit 1\n";
        bench.write(".venv/bin/pytest", script);
        bench.write(".gitignore", ".hivemind/\n.venv/\nsecond\n");
        committed(&bench);
        let panes = bench.panes(["analyst", "devops"]).await;
        let id = about(&bench, &panes, &["src/pool.py"]).await;
        let given = json!({ "profile": "suite", "claim_id": id, "blocking": true, "prediction": prediction, "repeat": 3 });
        let answer = run(&panes[0], given).await;
        let claim = shown(&panes[0], &id).await;
        assert_eq!(claim["status"], "contested", "{}", answer.text);
        assert_eq!(claim["evidence_items"][0]["relation"], relation, "{claim}");
    }
}

/// Red before: one check that passed proved a claim and its opposite on the same content, and both were exported as facts.
#[tokio::test]
async fn a_check_that_passes_for_two_opposites_proves_one_of_them_at_most() {
    let (bench, [owner, other, third]) = scene().await;
    bench.write(FILE, "fine\n");
    committed(&bench);
    let mut both = Vec::new();
    for (pane, statement) in
        [(&owner, "the pool blocks when it is full"), (&third, "the pool never blocks when it is full")]
    {
        let id = bench.claim(pane, statement, FILE).await;
        bench.accepted(&other, "challenge", json!({ "claim_id": id, "reason": "it does not" })).await;
        settle(pane, "check", &id, 1).await;
        both.push(id);
    }
    assert_eq!(stands(&owner, &both[0]).await.0, "confirmed (proved)");
    let (status, reason) = stands(&owner, &both[1]).await;
    assert_eq!(status, "contested", "{reason}");
    assert!(reason.contains("the check does not tell the two apart"), "{reason}");
    // Agreed, it stands beside the other, and is not exported beside what a run proved.
    bench.accepted(&other, "support", json!({ "claim_id": both[1] })).await;
    assert_eq!(stands(&owner, &both[1]).await.0, "confirmed (agreed)");
    assert!(bench.hm(&["export", "--to", "AGENTS.md"]).status.success());
    let notes = std::fs::read_to_string(bench.root().join("AGENTS.md")).expect("notes");
    assert!(notes.contains("fact C1: the pool blocks") && !notes.contains("never blocks"), "{notes}");
    assert!(notes.contains("Left out: 1 claim in doubt"), "{notes}");
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: one support put a claim of an agent in the place of what another had proved.
#[tokio::test]
async fn positions_do_not_take_the_place_of_a_proof() {
    for is_changed in [false, true] {
        let (bench, [owner, other, third]) = scene().await;
        bench.write(FILE, "fine\n");
        committed(&bench);
        let id = contested(&bench, &owner, &other).await;
        settle(&owner, "check", &id, 1).await;
        let instead =
            json!({ "statement": "a rounds", "claim_type": "fact", "scopes": [FILE], "supersedes": id });
        let made = bench.accepted(&other, "create_claim", instead).await;
        assert!(made.text.contains("it stays in force until this claim is proved"), "{}", made.text);
        let new = made.field("claim_id").to_owned();
        if is_changed {
            bench.write(FILE, "fine again\n");
        }
        let voted = bench.accepted(&third, "support", json!({ "claim_id": new })).await;
        let status = stands(&owner, &id).await.0;
        if is_changed {
            assert_eq!(status, "deprecated", "{}", voted.text);
        } else {
            assert_eq!(status, "confirmed (proved)", "{}", voted.text);
            assert!(voted.text.contains("which positions do not outvote"), "{}", voted.text);
            // Red before: its own owner was told the same, and nothing came of its support.
            bench.accepted(&owner, "support", json!({ "claim_id": new })).await;
            assert_eq!(stands(&owner, &id).await.0, "deprecated");
        }
        assert_rebuilds_to_the_same(&bench);
    }
}

/// Red before: what was printed settled nothing.
#[tokio::test]
async fn a_check_that_failed_under_both_predictions_leaves_it_to_the_agents() {
    let (bench, [owner, other, third]) = scene().await;
    let id = contested(&bench, &owner, &other).await;
    let by_default = run(&third, json!({ "profile": "check", "claim_id": id })).await;
    assert!(by_default.text.contains("contradicts"), "{}", by_default.text);
    let given = json!({ "profile": "check", "claim_id": id, "blocking": true, "prediction": "fails" });
    let answer = run(&owner, given).await;
    let (status, reason) = stands(&owner, &id).await;
    assert_eq!(status, "contested", "{reason}: {}", answer.text);
    let attention = owner.read("hivemind://attention").await.expect("a page");
    assert!(attention.contains("failed under both predictions"), "{attention}");
    bench.accepted(&other, "support", json!({ "claim_id": id })).await;
    assert_eq!(stands(&owner, &id).await.0, "confirmed (agreed)");
}

/// Red before: a claim that was to take the place of its opposite was proved by the check that had proved that one; and so was one
/// by a part of the check.
#[tokio::test]
async fn a_successor_is_not_proved_by_the_check_that_proved_its_opposite() {
    for (profile_name, args, supersedes) in [("all", "", true), ("one", "tests/test_pool.py", false)] {
        let bench = Bench::new();
        with_pytest(&bench);
        bench.write(".venv/bin/pytest", "#!/bin/sh\necho 2 passed in 0.01s\n");
        let rest = format!("scopes = ['**/*.py']\n{EXPECTING}");
        bench.profile("all", &format!("description = 'all'\nargv = ['.venv/bin/pytest', '-q']\n{rest}"));
        let one = format!(
            "description = 'one'\nargv = ['.venv/bin/pytest', '-q', '--', '{{file}}']\n{rest}[params.file]\nkind = 'path'\n"
        );
        bench.profile("one", &one);
        committed(&bench);
        let [owner, other, third] = bench.panes(["analyst", "devops", "reviewer"]).await;
        let file = "src/pool.py";
        let old = bench.claim(&owner, "the pool holds 20 connections", file).await;
        bench.accepted(&other, "challenge", json!({ "claim_id": old, "reason": "no" })).await;
        settle(&owner, "all", &old, 1).await;
        assert_eq!(stands(&owner, &old).await.0, "confirmed (proved)");
        let mut claim =
            json!({ "statement": "the pool holds 27 connections", "claim_type": "fact", "scopes": [file] });
        if supersedes {
            claim["supersedes"] = json!(old);
        }
        let new = bench.accepted(&third, "create_claim", claim).await.field("claim_id").to_owned();
        bench.accepted(&other, "challenge", json!({ "claim_id": new, "reason": "no" })).await;
        let mut given = json!({ "profile": profile_name, "claim_id": new, "blocking": true });
        if !args.is_empty() {
            given["args"] = json!([format!("file={args}")]);
        }
        let answer = run(&third, given).await;
        assert!(answer.text.contains("then it tells the two not apart"), "{}", answer.text);
        let (status, reason) = stands(&third, &new).await;
        assert_eq!(status, "contested", "{profile_name}: {reason}");
        assert!(reason.contains("the check does not tell the two apart"), "{reason}");
        assert_eq!(stands(&owner, &old).await.0, "confirmed (proved)");
        let attention = third.read("hivemind://attention").await.expect("a page");
        assert!(attention.contains("proved the opposite too"), "{attention}");
        assert_rebuilds_to_the_same(&bench);
    }
}

/// Red before: only words that contradict counted, and the owner's own challenge, which its attention printed, let the
/// run prove.
#[tokio::test]
async fn what_another_agent_puts_in_the_place_of_a_proof_is_not_proved_by_the_same_check() {
    let (bench, [owner, other, third]) = scene().await;
    bench.write(FILE, "fine\n");
    committed(&bench);
    let id = contested(&bench, &owner, &other).await;
    settle(&owner, "check", &id, 1).await;
    let put = async |pane: &Pane, statement: &str| {
        let claim =
            json!({ "statement": statement, "claim_type": "fact", "scopes": [FILE], "supersedes": id });
        bench.accepted(pane, "create_claim", claim).await.field("claim_id").to_owned()
    };
    let instead = put(&third, "that one is wrong").await;
    bench.accepted(&owner, "challenge", json!({ "claim_id": instead, "reason": "it is proved" })).await;
    let answer = settle(&third, "check", &instead, 1).await;
    assert!(answer.text.contains("whose place this one is to take: then it tells"), "{}", answer.text);
    let (status, reason) = stands(&third, &instead).await;
    assert!(status == "contested" && reason.contains("does not tell the two apart"), "{status}: {reason}");
    assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)");
    // The words of its own owner may be better ones.
    let better = put(&owner, "that one is right, and quick").await;
    assert_eq!(stands(&owner, &id).await.0, "deprecated");
    bench.accepted(&other, "challenge", json!({ "claim_id": better, "reason": "is it" })).await;
    settle(&owner, "check", &better, 1).await;
    assert_eq!(stands(&owner, &better).await.0, "confirmed (proved)");
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: a comment in another file, and the check proved the opposite too, or put it in the place of the proof.
#[tokio::test]
async fn an_edit_of_another_file_tells_no_opposites_apart() {
    for supersedes in [false, true] {
        let (bench, [owner, other, third]) = scene().await;
        bench.write(FILE, "fine\n");
        bench.write("src/b.rs", "one\n");
        committed(&bench);
        let id = bench.claim(&owner, "the pool opens 20 connections", FILE).await;
        bench.accepted(&other, "challenge", json!({ "claim_id": id, "reason": "is it" })).await;
        settle(&owner, "check", &id, 1).await;
        assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)");
        bench.write("src/b.rs", "two\n");
        committed(&bench);
        let mut claim =
            json!({ "statement": "the pool opens 40 connections", "claim_type": "fact", "scopes": [FILE] });
        if supersedes {
            claim["supersedes"] = json!(id);
        }
        let new = bench.accepted(&third, "create_claim", claim).await.field("claim_id").to_owned();
        bench.accepted(&other, "challenge", json!({ "claim_id": new, "reason": "no" })).await;
        settle(&third, "check", &new, 3).await;
        let (status, reason) = stands(&third, &new).await;
        assert!(
            status == "contested" && reason.contains("does not tell the two apart"),
            "{status}: {reason}"
        );
        assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)");
        assert_rebuilds_to_the_same(&bench);
    }
}

/// Red before: a comment in a file elsewhere, where both claims are about a directory; a word against the proof; or the word
/// that the new one mends it, and one check proved both.
#[tokio::test]
async fn no_word_and_no_edit_elsewhere_lets_a_check_prove_the_opposite() {
    for way in ["comment", "challenge", "mends"] {
        let (bench, [owner, other, third]) = scene().await;
        bench.write(FILE, "fine\n");
        committed(&bench);
        let place = if way == "comment" { "src" } else { FILE };
        let id = bench.claim(&owner, "the pool opens 20 connections", place).await;
        bench.accepted(&other, "challenge", json!({ "claim_id": id, "reason": "is it" })).await;
        settle(&owner, "check", &id, 1).await;
        if way == "comment" {
            bench.write("tests/t.rs", "one\n// a comment\n");
            committed(&bench);
        }
        let mut claim = json!({
            "statement": "the pool opens 40 connections", "claim_type": "fact", "scopes": [place],
        });
        if way == "mends" {
            (claim["supersedes"], claim["mends"]) = (json!(id), json!(true));
        }
        let new = bench.accepted(&third, "create_claim", claim).await.field("claim_id").to_owned();
        bench.accepted(&other, "challenge", json!({ "claim_id": new, "reason": "no" })).await;
        if way == "challenge" {
            bench.accepted(&third, "challenge", json!({ "claim_id": id, "reason": "I think not" })).await;
        }
        settle(&third, "check", &new, 3).await;
        let (status, reason) = stands(&third, &new).await;
        assert!(
            status == "contested" && reason.contains("does not tell the two apart"),
            "{way}: {status}: {reason}"
        );
        if way == "challenge" {
            bench.accepted(&third, "abstain", json!({ "claim_id": id })).await;
        }
        assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)", "{way}");
        if way == "comment" {
            bench.write("src/b.rs", "new content of the directory\n");
            committed(&bench);
            settle(&third, "check", &new, 3).await;
            assert_eq!(
                stands(&third, &new).await.0,
                "confirmed (proved)",
                "the directory holds something else"
            );
        }
        assert_rebuilds_to_the_same(&bench);
    }
}

/// Red before: the run of a challenger that refuted the claim only mentioned it, and the owner proved the claim by the failure
/// of the same check.
#[tokio::test]
async fn an_owner_proves_nothing_by_the_failure_of_the_check_that_refutes_its_claim() {
    let (bench, [owner, other, third]) = scene().await;
    let id = bench.claim(&owner, "src/a.rs has no bug", FILE).await;
    run(&owner, json!({ "profile": "check", "claim_id": id, "prediction": "fails" })).await;
    let challenge = json!({ "claim_id": id, "reason": "line 1 says bug" });
    let receipt = bench.accepted(&other, "challenge", challenge).await;
    assert!(!receipt.text.contains("run_experiment"), "it would be refused: {}", receipt.text);
    let refused = other
        .call("run_experiment", json!({ "profile": "check", "claim_id": id, "blocking": true }))
        .await
        .expect("an answer");
    assert!(refused.refused && refused.text.contains("leave out blocking"), "{}", refused.text);
    run(&other, json!({ "profile": "check", "claim_id": id })).await;
    let by_failure =
        json!({ "profile": "check", "claim_id": id, "blocking": true, "prediction": "fails", "repeat": 3 });
    run(&owner, by_failure.clone()).await;
    let (status, reason) = stands(&owner, &id).await;
    let neither = "neither decides, while devops challenges it; a run by the operator would";
    assert!(status == "contested" && reason.contains(neither), "{status}: {reason}");
    // A run of one who does not challenge the claim stands in nobody's way.
    bench.accepted(&other, "abstain", json!({ "claim_id": id })).await;
    run(&third, json!({ "profile": "check", "claim_id": id })).await;
    bench.accepted(&other, "challenge", json!({ "claim_id": id, "reason": "still" })).await;
    run(&owner, by_failure).await;
    assert_eq!(stands(&owner, &id).await.0, "contested");
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: a look of the owner by a profile that settles nothing turned what the claim predicts, and no run could prove it.
#[tokio::test]
async fn a_run_that_settles_nothing_says_not_what_a_claim_predicts() {
    let (bench, [owner, other, _]) = scene().await;
    profile(&bench, "look", "cat src/a.rs", "\"docs/**\"", EXPECTING);
    let id = bench.claim(&owner, "src/a.rs has the bug", FILE).await;
    run(&owner, json!({ "profile": "check", "claim_id": id, "prediction": "fails" })).await;
    run(&owner, json!({ "profile": "look", "claim_id": id })).await;
    bench.accepted(&other, "challenge", json!({ "claim_id": id, "reason": "where" })).await;
    let said = json!({ "profile": "check", "claim_id": id, "prediction": "fails", "blocking": true });
    run(&other, said).await;
    assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)");
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: a run for no claim was attached as a pass that the claim predicts, whatever its owner had said.
#[tokio::test]
async fn an_attached_run_says_nothing_of_a_claim_that_predicts_its_failure() {
    let (bench, [owner, other, _]) = scene().await;
    profile(&bench, "akin", "! grep -q bug ./src/a.rs", GLOBS, EXPECTING);
    for (statement, kind, first) in
        [("src has the bug", "fact", Some("fails")), ("leaving src as it is fails", "negative", None)]
    {
        let claim = json!({ "statement": statement, "claim_type": kind, "scopes": ["src"] });
        let id = bench.accepted(&owner, "create_claim", claim).await.field("claim_id").to_owned();
        if let Some(prediction) = first {
            run(&owner, json!({ "profile": "check", "claim_id": id, "prediction": prediction })).await;
        }
        let by = run(&other, json!({ "profile": "akin" })).await.field("run_id").to_owned();
        let attached = json!({ "run_id": by, "claim_id": id });
        let attached = bench.accepted(&other, "attach_experiment", attached).await;
        assert!(attached.text.contains("mentions"), "{}", attached.text);
        assert!(attached.text.contains("a run about the claim says what it predicts"), "{}", attached.text);
    }
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: a failure on other content, put back since, made the pass on the old content a proof of the opposite.
#[tokio::test]
async fn a_failure_in_between_tells_no_opposites_apart() {
    let (bench, [owner, other, third]) = scene().await;
    bench.write(FILE, "fine\n");
    committed(&bench);
    let id = bench.claim(&owner, "the pool opens 20 connections", FILE).await;
    bench.accepted(&other, "challenge", json!({ "claim_id": id, "reason": "is it" })).await;
    settle(&owner, "check", &id, 1).await;
    bench.write(FILE, "a bug\n");
    run(&third, json!({ "profile": "check" })).await;
    bench.write(FILE, "fine\n");
    let claim =
        json!({ "statement": "the pool opens 40 connections", "claim_type": "fact", "scopes": [FILE] });
    let new = bench.accepted(&third, "create_claim", claim).await.field("claim_id").to_owned();
    bench.accepted(&other, "challenge", json!({ "claim_id": new, "reason": "no" })).await;
    settle(&third, "check", &new, 3).await;
    let (status, reason) = stands(&third, &new).await;
    assert!(status == "contested" && reason.contains("does not tell the two apart"), "{status}: {reason}");
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: the support of one agent put both into the export, and the contradiction was on no list.
#[tokio::test]
async fn the_opposite_of_a_proof_that_is_to_take_its_place_contradicts_it() {
    let (bench, [owner, other, third]) = scene().await;
    bench.write(FILE, "fine\n");
    committed(&bench);
    let id = bench.claim(&owner, "the pool blocks when it is full", FILE).await;
    bench.accepted(&other, "challenge", json!({ "claim_id": id, "reason": "is it" })).await;
    settle(&owner, "check", &id, 1).await;
    let claim = json!({
        "statement": "the pool never blocks when it is full", "claim_type": "fact", "scopes": [FILE], "supersedes": id,
    });
    let new = bench.accepted(&third, "create_claim", claim).await.field("claim_id").to_owned();
    bench.accepted(&other, "support", json!({ "claim_id": new })).await;
    assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)");
    let found = json_of(&owner, "hivemind://contradictions").await;
    assert!(found.to_string().contains("polarity"), "{found}");
    assert!(bench.hm(&["export", "--to", "AGENTS.md"]).status.success());
    let notes = std::fs::read_to_string(bench.root().join("AGENTS.md")).expect("notes");
    assert!(notes.contains("the pool blocks") && !notes.contains("never blocks"), "{notes}");
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: after its owner had said that a failure shows it, the pass of a challenger proved it.
#[tokio::test]
async fn a_run_under_another_prediction_than_the_owners_settles_nothing() {
    let (bench, [owner, other, _]) = scene().await;
    let claim = json!({ "statement": "calling add fails", "claim_type": "negative", "scopes": [FILE] });
    let id = bench.accepted(&owner, "create_claim", claim).await.field("claim_id").to_owned();
    let by_owner = run(&owner, json!({ "profile": "check", "claim_id": id, "prediction": "fails" })).await;
    assert!(by_owner.text.contains("supports"), "{}", by_owner.text);
    bench.accepted(&other, "challenge", json!({ "claim_id": id, "reason": "it passes now" })).await;
    let given = json!({ "profile": "check", "claim_id": id, "blocking": true });
    let refused = other.call("run_experiment", given).await.expect("an answer");
    assert!(refused.refused && refused.text.contains("predicts that the run fails"), "{}", refused.text);
    let given = json!({ "profile": "check", "claim_id": id });
    let only_mentions = run(&other, given).await;
    assert!(only_mentions.text.contains("only mentions"), "{}", only_mentions.text);
    assert_eq!(stands(&owner, &id).await.0, "contested");
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: the challenger that ran what its receipt printed proved a dead end that a passing test refuted.
#[tokio::test]
async fn the_owner_of_a_dead_end_says_what_it_predicts() {
    let (bench, [owner, other, _]) = scene().await;
    bench.write(FILE, "fine\n");
    committed(&bench);
    let claim =
        json!({ "statement": "calling add with 1 and 2 fails", "claim_type": "negative", "scopes": [FILE] });
    let id = bench.accepted(&owner, "create_claim", claim).await.field("claim_id").to_owned();
    let challenge = json!({ "claim_id": id, "reason": "a test makes this call" });
    let receipt = bench.accepted(&other, "challenge", challenge).await;
    assert!(!receipt.text.contains("run_experiment"), "{}", receipt.text);
    let given = json!({ "profile": "check", "claim_id": id, "blocking": true });
    let refused = other.call("run_experiment", given).await.expect("an answer");
    assert!(refused.refused && refused.text.contains("says which by a run of its own"), "{}", refused.text);
    assert_eq!(stands(&owner, &id).await.0, "contested");
    run(&owner, json!({ "profile": "check", "claim_id": id, "blocking": true, "prediction": "fails" })).await;
    let (status, reason) = stands(&owner, &id).await;
    assert_eq!(status, "contested", "{reason}");
    let claim = shown(&owner, &id).await;
    let relations: Vec<&Value> =
        claim["evidence_items"].as_array().expect("items").iter().map(|item| &item["relation"]).collect();
    assert!(relations.contains(&&json!("contradicts")), "{claim}");
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: the receipt promised that a pass confirms.
#[tokio::test]
async fn a_receipt_says_that_another_decision_on_the_target_prevents_a_confirmation() {
    let (bench, [owner, other, third]) = scene().await;
    bench.write(FILE, "fine\n");
    committed(&bench);
    let mut made = Vec::new();
    for (pane, target) in [(&owner, "retry"), (&third, "backoff")] {
        let decision = json!({
            "statement": format!("{target} comes first"), "target": target, "scopes": [FILE],
            "rationale": "it was measured twice",
        });
        made.push(bench.accepted(pane, "record_decision", decision).await.field("claim_id").to_owned());
    }
    let joined = bench.hm(&["target", "alias", "backoff", "retry", "--agent", "operator"]);
    assert!(joined.status.success(), "{joined:?}");
    bench.accepted(&other, "challenge", json!({ "claim_id": made[1], "reason": "no" })).await;
    let answer = settle(&third, "check", &made[1], 1).await;
    assert!(answer.text.contains("is in force on its target too"), "{}", answer.text);
    assert_eq!(stands(&third, &made[1]).await.0, "contested");
}

/// Red before: the architect put an unsupported claim in the place of what a run had proved; and the challenger that the proof
/// answered challenged again with its own old challenge as evidence.
#[tokio::test]
async fn no_word_alone_ends_what_a_run_proved() {
    let (bench, [owner, other, _]) = scene().await;
    bench.write(FILE, "fine\n");
    committed(&bench);
    let id = contested(&bench, &owner, &other).await;
    settle(&owner, "check", &id, 1).await;
    let line = format!("claim create \"a rounds\" --scope {FILE} --supersedes {id} --agent architect");
    let made =
        bench.hm(&shell_words::split(&line).expect("words").iter().map(String::as_str).collect::<Vec<_>>());
    let told = String::from_utf8_lossy(&made.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(made.status.success() && told.contains("it stays in force until this claim is proved"), "{told}");
    assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)");
    let old = bench
        .events()
        .iter()
        .find(|event| event.kind == "position.taken")
        .expect("a challenge")
        .id
        .to_string();
    let again = json!({ "claim_id": id, "reason": "it still rounds", "evidence_ref": old });
    let refused = other.call("challenge", again).await.expect("an answer");
    assert_eq!(refused.field("code"), "challenge_answered", "{}", refused.text);
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: pytest without a test contradicted a claim, and nothing proved it on that content any more.
#[tokio::test]
async fn pytest_without_a_test_shows_nothing() {
    let bench = Bench::new();
    with_pytest(&bench);
    let profile = "description = 'all'\nargv = ['.venv/bin/pytest', '-q']\nscopes = ['**/*.py']\ntimeout_ms = 20000\n[expect]\nexit = 0\n";
    bench.profile("loose", profile);
    bench.write(".venv/bin/pytest", "#!/bin/sh\necho 2 deselected in 0.01s; exit 5\n");
    committed(&bench);
    let panes = bench.panes(["analyst", "devops"]).await;
    let id = about(&bench, &panes, &["src/pool.py"]).await;
    let answer = run(&panes[0], json!({ "profile": "loose", "claim_id": id })).await;
    assert_eq!(answer.body["run_state"], "aborted", "{}", answer.text);
    assert_eq!(shown(&panes[0], &id).await["evidence_items"], json!([]));
}
