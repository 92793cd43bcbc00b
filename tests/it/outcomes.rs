//! Which ends of a run are an outcome: a check that did not run, or ran elsewhere, shows nothing.

use hivemind::mcp::{Era, Pane, ToolAnswer};
use hivemind::runner::profile::Catalog;
use hivemind::trusted::TrustedProfiles;
use regex::Regex;
use serde_json::{Value, json};

use crate::bench::Bench;

/// A trusted profile that runs a line of shell.
fn profile(bench: &Bench, name: &str, script: &str, scopes: &str, expect: &str) {
    let text = format!(
        "description = \"a test\"\nargv = [\"sh\", \"-c\", \"{script}\"]\nscopes = [{scopes}]\ntimeout_ms = 20000\n[expect]\nexit = 0\n{expect}\n"
    );
    bench.profile(name, &text);
}

/// A claim by one agent, challenged by the other.
async fn contested(bench: &Bench, (owner, other): (&Pane, &Pane), scopes: &[&str]) -> String {
    let is_missing = |file: &&&str| file.contains('.') && !bench.root().join(file).exists();
    scopes.iter().filter(is_missing).for_each(|file| bench.write(file, "as it is\n"));
    let statement = format!("{} is as {} says", scopes.join(" and "), hivemind::system::new_id());
    let given = json!({ "statement": statement, "claim_type": "fact", "scopes": scopes });
    let id = bench.accepted(owner, "create_claim", given).await.field("claim_id").to_owned();
    let challenge = json!({ "claim_id": id, "reason": "I saw otherwise" });
    bench.accepted(other, "challenge", challenge).await;
    id
}

async fn run(pane: &Pane, id: &str, rest: Value) -> ToolAnswer {
    let mut given = json!({ "claim_id": id, "blocking": true, "wait": true });
    given.as_object_mut().expect("an object").extend(rest.as_object().cloned().expect("an object"));
    pane.call("run_experiment", given).await.expect("an answer")
}

async fn status(pane: &Pane, id: &str) -> (Value, Value) {
    let text = pane.read(&format!("hivemind://claims/{id}?format=json")).await.expect("an answer");
    let claim: Value = serde_json::from_str(&text).expect("JSON");
    (claim["status"].clone(), claim["evidence_items"].clone())
}

/// Red before: the exit code of a missing tool proved what was predicted to fail.
#[tokio::test]
async fn a_tool_that_is_missing_or_finds_no_test_shows_nothing() {
    let bench = Bench::new();
    bench.write("package.json", "{}");
    bench.write("pool.py", "SIZE = 20\n");
    bench.write("pool.js", "export const size = 20\n");
    bench.write(
        "Cargo.toml",
        "[package]\nname = \"pool\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
    );
    bench.write("src/lib.rs", "#[test]\nfn gives_back() {} // no zzz\n");
    let panes =
        (&bench.pane(Some("devops"), Era::Modern).await, &bench.pane(Some("reviewer"), Era::Legacy).await);
    for (scope, asked) in [
        // Either pytest is not there, or it finds no test.
        ("pool.py", json!({ "profile": "pytest", "prediction": "fails" })),
        // Either npm is not there, or the script is not.
        ("pool.js", json!({ "profile": "npm-test", "prediction": "fails" })),
        ("pool.js", json!({ "profile": "jest-file", "args": ["file=pool.js"], "prediction": "fails" })),
        // Cargo runs no test, and exits with 0.
        ("src/lib.rs", json!({ "profile": "cargo-test-one", "args": ["name=zzz"] })),
    ] {
        let id = contested(&bench, panes, &[scope]).await;
        let answer = run(panes.0, &id, asked.clone()).await;
        assert_eq!(answer.body["run_state"], "aborted", "{asked}: {}", answer.text);
        let (status, evidence) = status(panes.1, &id).await;
        assert_eq!((status, evidence), (json!("contested"), json!([])), "{asked}");
        let page = panes.1.read(&format!("hivemind://experiments/{}", answer.field("run_id"))).await;
        let page = page.expect("a page");
        assert!(page.contains("its check did not run") || page.contains("PATH"), "{page}");
    }
    bench.kill_writer();
    bench.assert_sound();
}

/// Red before: any exit code but the expected one was a failure of the check.
#[tokio::test]
async fn a_failure_proves_where_the_profile_says_how_one_looks() {
    let bench = Bench::new();
    profile(&bench, "mute", "exit 1", "\"src/**\"", "");
    profile(&bench, "coded", "exit $(cat code)", "\"src/**\"", "fails = [1]");
    profile(&bench, "said", "cat said; exit $(cat code)", "\"src/**\"", "ran = '(?m)^checked [1-9]'");
    profile(&bench, "plain", "exit $(cat code)", "\"src/**\"", "");
    let panes =
        (&bench.pane(Some("devops"), Era::Modern).await, &bench.pane(Some("reviewer"), Era::Legacy).await);
    let id = contested(&bench, panes, &["src/a.rs"]).await;
    let refused = run(panes.0, &id, json!({ "profile": "mute", "prediction": "fails" })).await;
    assert_eq!(refused.field("code"), "profile_cannot_settle", "{}", refused.text);
    assert!(
        refused.text.contains("does not tell a check that failed from a tool that is missing"),
        "{}",
        refused.text
    );
    assert!(refused.text.contains("coded or said"), "names who could: {}", refused.text);
    profile(
        &bench,
        "told",
        "cat said; exit $(cat code)",
        "\"src/**\"",
        "failed = '[1-9] failed'\nfails = [1]",
    );
    for (profile, said, code, prediction, outcome, comes_to) in [
        ("plain", "", "127", "passes", "aborted", "contested"),
        ("plain", "", "126", "passes", "aborted", "contested"),
        ("coded", "", "2", "fails", "aborted", "contested"),
        ("coded", "", "127", "fails", "aborted", "contested"),
        ("said", "checked 0\n", "1", "fails", "aborted", "contested"),
        ("said", "checked 0\n", "0", "passes", "aborted", "contested"),
        ("coded", "", "1", "fails", "failed", "confirmed"),
        ("said", "checked 2\n", "1", "fails", "failed", "confirmed"),
        ("said", "checked 2\n", "0", "passes", "succeeded", "confirmed"),
        // Red before: the exit code alone told what came of the check.
        ("told", "1 passed, 1 error\n", "1", "fails", "aborted", "contested"),
        ("told", "1 failed\n", "0", "passes", "aborted", "contested"),
        ("told", "1 failed\n", "1", "fails", "failed", "confirmed"),
        ("told", "1 passed\n", "0", "passes", "succeeded", "confirmed"),
    ] {
        bench.write("code", code);
        bench.write("said", said);
        let id = contested(&bench, panes, &["src/a.rs"]).await;
        let answer = run(panes.0, &id, json!({ "profile": profile, "prediction": prediction })).await;
        let what = format!("{profile} {said:?} {code} {prediction}");
        assert_eq!(answer.body["run_state"], outcome, "{what}: {}", answer.text);
        assert_eq!(status(panes.1, &id).await.0, comes_to, "{what}");
    }
    bench.kill_writer();
    bench.assert_sound();
}

/// Red before: an agent made a directory with the files that the check wants to see.
#[tokio::test]
async fn a_run_in_a_directory_of_the_callers_choice_settles_nothing() {
    let bench = Bench::new();
    bench.write("src/db/pool.rs", "7\n");
    bench.write("fake/src/db/pool.rs", "20\n");
    profile(&bench, "pool20", "grep -qx 20 src/db/pool.rs", "\"src/db/**\"", "");
    let panes =
        (&bench.pane(Some("devops"), Era::Modern).await, &bench.pane(Some("reviewer"), Era::Legacy).await);
    let id = contested(&bench, panes, &["src/db/pool.rs"]).await;
    let refused = run(panes.0, &id, json!({ "profile": "pool20", "cwd": "fake" })).await;
    assert_eq!(refused.field("code"), "profile_cannot_settle", "{}", refused.text);
    assert!(refused.text.contains("another directory"), "{}", refused.text);
    let cli =
        ["experiment", "run", "pool20", "--claim", &id, "--blocking", "--cwd", "fake", "--agent", "devops"];
    assert_eq!(bench.hm(&cli).status.code(), Some(1));
    // It may run there; then it only mentions the claim, and stays a mention for a claim that it is tied to later.
    let given = json!({ "profile": "pool20", "cwd": "fake", "claim_id": id, "wait": true });
    let answer = bench.accepted(panes.0, "run_experiment", given).await;
    assert_eq!(answer.body["run_state"], "succeeded", "{}", answer.text);
    assert_eq!(status(panes.1, &id).await.1[0]["relation"], "mentions");
    let other = contested(&bench, panes, &["src/db"]).await;
    let attach = json!({ "run_id": answer.field("run_id"), "claim_id": other });
    bench.accepted(panes.0, "attach_experiment", attach).await;
    assert_eq!(status(panes.1, &other).await.1[0]["relation"], "mentions");
    // The profile's own directory by another name is its own.
    let answer = run(panes.0, &id, json!({ "profile": "pool20", "cwd": "./fake/.." })).await;
    assert_eq!(answer.body["run_state"], "failed", "{}", answer.text);
    assert_eq!(status(panes.1, &id).await.0, "contested");
    bench.kill_writer();
    bench.assert_sound();
}

/// Red before: a profile that compiles or lints proved what the code does.
#[tokio::test]
async fn a_profile_that_runs_no_test_settles_nothing() {
    let bench = Bench::new();
    let panes =
        (&bench.pane(Some("devops"), Era::Modern).await, &bench.pane(Some("reviewer"), Era::Legacy).await);
    bench.write("src/a.js", "");
    let id = contested(&bench, panes, &["src/a.rs", "src/a.js"]).await;
    for (profile, args) in
        [("cargo-check", json!([])), ("cargo-clippy", json!([])), ("eslint-file", json!(["file=src/a.js"]))]
    {
        let refused = run(panes.0, &id, json!({ "profile": profile, "args": args })).await;
        assert_eq!(refused.field("code"), "profile_cannot_settle", "{profile}: {}", refused.text);
    }
}

/// Red before: one scope that the author added for it let a profile for other files settle the claim.
#[tokio::test]
async fn a_decoy_among_the_scopes_settles_nothing() {
    let bench = Bench::new();
    profile(&bench, "texts", "true", "\"src/*.txt\"", "");
    profile(&bench, "python", "true", "\"**/*.py\"", "");
    profile(&bench, "both", "true", "\"src/*.txt\", \"src/*.rs\"", "");
    let panes =
        (&bench.pane(Some("devops"), Era::Modern).await, &bench.pane(Some("reviewer"), Era::Legacy).await);
    let id = contested(&bench, panes, &["src/g.rs", "src/decoy.txt"]).await;
    let refused = run(panes.0, &id, json!({ "profile": "texts" })).await;
    assert_eq!(refused.field("code"), "profile_cannot_settle", "{}", refused.text);
    assert!(refused.text.contains("does not cover src/g.rs"), "{}", refused.text);
    let answer = run(panes.0, &id, json!({ "profile": "both" })).await;
    assert_eq!(answer.body["run_state"], "succeeded", "{}", answer.text);
    assert_eq!(status(panes.1, &id).await.0, "confirmed");
    for scope in ["Makefile", "docs/readme", "src/net"] {
        let id = contested(&bench, panes, &[scope]).await;
        let refused = run(panes.0, &id, json!({ "profile": "python" })).await;
        assert_eq!(refused.field("code"), "profile_cannot_settle", "{scope}: {}", refused.text);
    }
}

/// What tools print, as they print it, and whether a test ran.
#[test]
fn the_shipped_profiles_know_a_test_that_ran() {
    let dir = tempfile::tempdir().expect("a directory");
    let catalog = Catalog::load(dir.path(), &TrustedProfiles::of(&dir.path().join("trusted")));
    for (profile, output, ran) in [
        (
            "cargo-test",
            "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out",
            false,
        ),
        (
            "cargo-test",
            "test result: ok. 0 passed; 0 failed; 0 ignored\ntest result: ok. 12 passed; 0 failed;",
            true,
        ),
        ("cargo-test-one", "test result: FAILED. 0 passed; 1 failed; 0 ignored", true),
        ("cargo-test", "error: could not compile `pool` (lib test) due to 1 previous error", false),
        ("pytest", "/usr/bin/python3: No module named pytest", false),
        ("pytest", "no tests ran in 0.01s", false),
        ("pytest", "5 deselected in 0.12s", false),
        ("pytest", "1 error in 0.07s", false),
        ("pytest", "..F   [100%]\n1 failed, 2 passed, 1 warning in 0.12s", true),
        ("pytest-file", "=== 3 passed in 61.20s (0:01:01) ===", true),
        ("pytest", "..        [100%]", true),
        ("go-test", "?   \tshop/a\t[no test files]", false),
        ("go-test", "ok  \tshop/a\t0.003s [no tests to run]", false),
        ("go-test", "FAIL\tshop/a [build failed]", false),
        ("go-test", "ok  \tshop/a\t0.003s", true),
        ("go-test", "ok  \tshop/a\t(cached)\tcoverage: 71.2% of statements", true),
        ("go-test", "--- FAIL: TestPool (0.00s)", true),
        ("jest-file", "npm error npx canceled due to missing packages", false),
        ("jest-file", "Test Suites: 1 failed, 1 total\nTests:       0 total", false),
        ("jest-file", "Tests:       1 failed, 2 passed, 3 total", true),
        ("jest-file", "Tests:       3 skipped, 3 total", false),
        ("npm-test", "npm error Missing script: \"test\"", false),
        ("npm-test", "Error: no test specified", false),
        ("npm-test", "Test Suites: 1 failed, 1 total\nTests:       0 total", false),
        ("npm-test", "Test Files  1 failed (1)\n     Tests  no tests", false),
        ("npm-test", "     Tests  2 passed (2)", true),
        ("npm-test", "  0 passing (1ms)", false),
        ("npm-test", "  10 passing (4ms)", true),
        ("npm-test", "1 spec, 0 failures", true),
        ("npm-test", "TAP version 13\nok 1 - adds # SKIP\n1..1\n# pass 0", false),
        ("npm-test", "TAP version 13\nnot ok 1 - adds\nok 2 - waits # TODO", false),
        ("npm-test", "TAP version 13\nok 1 - adds # time=5ms\n1..1", true),
        ("npm-test", "# tests 1\n# pass 0\n# fail 1", false),
        ("npm-test", "\u{2139} pass 1", true),
    ] {
        let known = catalog.find(&profile.parse().expect("a name")).expect("it ships");
        let pattern = known.profile.expect.as_ref().and_then(|expect| expect.ran.as_ref()).expect(profile);
        let pattern = Regex::new(pattern).expect("a pattern");
        assert_eq!(pattern.is_match(output), ran, "{profile}: {output}");
    }
    for (output, failed) in [
        ("..F   [100%]\n1 failed, 2 passed, 1 warning in 0.12s", true),
        (".F    [100%]", true),
        (".E    [100%]\n1 passed, 1 error in 0.07s", false),
        ("..    [100%]\n2 passed in 0.07s", false),
    ] {
        for profile in ["pytest", "pytest-file"] {
            let known = catalog.find(&profile.parse().expect("a name")).expect("it ships");
            let pattern = known.profile.expect.as_ref().and_then(|expect| expect.failed.as_ref());
            let pattern = Regex::new(pattern.expect(profile)).expect("a pattern");
            assert_eq!(pattern.is_match(output), failed, "{profile}: {output}");
        }
    }
}

/// What tools print when a test fails, and what looks like it in a run that passes. Red before: a script such as
/// `node --test | cat` has the exit code of its last command, and a failure in its output was not read.
#[test]
fn the_shipped_profiles_know_a_test_that_failed() {
    let dir = tempfile::tempdir().expect("a directory");
    let catalog = Catalog::load(dir.path(), &TrustedProfiles::of(&dir.path().join("trusted")));
    for (profile, output, failed) in [
        ("cargo-test", "test result: FAILED. 1 passed; 1 failed; 0 ignored", true),
        (
            "cargo-test",
            "test result: ok. 2 passed; 0 failed; 0 ignored\nerror: test failed, to rerun pass `--lib`",
            true,
        ),
        ("cargo-test", "error: 1 target failed:\n    `--test it`", true),
        ("cargo-test-one", "test result: ok. 2 passed; 0 failed; 0 ignored", false),
        ("cargo-test", "test failed_logins_are_counted ... ok\ntest result: ok. 1 passed; 0 failed", false),
        ("go-test", "--- FAIL: TestPool (0.00s)\nFAIL\nFAIL\tshop/a\t0.003s", true),
        ("go-test", "ok  \tshop/b\t0.003s\nFAIL\tshop/a [build failed]", true),
        ("go-test", "    --- FAIL: TestPool/one (0.00s)", true),
        ("go-test", "ok  \tshop/FAIL\t0.003s", false),
        ("jest-file", "Tests:       1 failed, 2 passed, 3 total", true),
        ("jest-file", "Test Suites: 1 failed, 1 passed, 2 total\nTests:       2 passed, 2 total", true),
        ("jest-file", "Test Suites: 1 passed, 1 total\nTests:       2 passed, 2 total", false),
        ("npm-test", "TAP version 13\nnot ok 1 - limit\n# tests 1\n# pass 0\n# fail 1", true),
        ("npm-test", "ok 1 - adds\nnot ok 2 - limit\n1..2", true),
        ("npm-test", "not ok 2 - limit # time=5ms", true),
        ("npm-test", "not ok 2 - limit # TODO later\nnot ok 3 # SKIP\n# fail 0", false),
        ("npm-test", "\u{2139} tests 2\n\u{2139} pass 1\n\u{2139} fail 1\n\u{2139} cancelled 0", true),
        ("npm-test", "\u{2139} pass 2\n\u{2139} fail 0\n\u{2139} cancelled 0", false),
        ("npm-test", "# pass 1\n# fail 0\n# cancelled 1", true),
        ("npm-test", "Tests:       1 failed, 2 passed, 3 total", true),
        ("npm-test", " Test Files  1 failed (1)\n      Tests  1 failed | 2 passed (3)", true),
        ("npm-test", "      Tests  3 passed (3)\n     Errors  1 error", true),
        ("npm-test", " Test Files  1 passed (1)\n      Tests  3 passed (3)", false),
        ("npm-test", "  1 passing (4ms)\n  2 failing\n", true),
        (
            "npm-test",
            "  failed logins\n    \u{2714} 3 failed attempts lock the account\n  3 failed attempts\n  3 passing (4ms)",
            false,
        ),
        ("npm-test", "  1 failed\n    a.spec.ts:3:1 adds\n  2 passed (1.2s)", true),
        ("npm-test", "  2 tests failed", true),
        ("npm-test", " 1 pass\n 1 fail\nRan 2 tests", true),
        ("npm-test", " 2 pass\n 0 fail\nRan 2 tests", false),
        ("npm-test", "3 specs, 1 failure", true),
        ("npm-test", "13 specs, 0 failures", false),
        ("make-target", "1 failed in 0.01s\nmake: *** [Makefile:2: test] Error 1", true),
        ("make-target", "not ok 1 - limit\n# fail 1", true),
        ("make-target", "test result: FAILED. 1 passed; 1 failed", true),
        ("make-target", "make: [Makefile:2: clean] Error 1 (ignored)\nmake[1]: *** [all] Error 1", false),
    ] {
        let known = catalog.find(&profile.parse().expect("a name")).expect("it ships");
        let pattern = known.profile.expect.as_ref().and_then(|expect| expect.failed.as_ref());
        let pattern = Regex::new(pattern.expect(profile)).expect("a pattern");
        assert_eq!(pattern.is_match(output), failed, "{profile}: {output}");
    }
}

/// Red before: a check that was killed after its first test had failed, and so proved what was predicted to fail.
#[tokio::test]
async fn a_check_that_was_killed_shows_nothing() {
    let bench = Bench::new();
    let panes =
        (&bench.pane(Some("devops"), Era::Modern).await, &bench.pane(Some("reviewer"), Era::Legacy).await);
    let said = "ran = '(?m)^checked [1-9]'";
    for (profile_name, script) in [
        ("kill", "echo checked 2; kill -KILL $$"),
        ("term", "echo checked 2; kill -TERM $$"),
        ("below", "echo checked 2; sh -c 'kill -KILL $PPID'"),
        // As a shell tells the end of what it started.
        ("told", "echo checked 2; exit 137"),
    ] {
        profile(&bench, profile_name, script, "\"src/**\"", said);
        let id = contested(&bench, panes, &["src/a.rs"]).await;
        let answer = run(panes.0, &id, json!({ "profile": profile_name, "prediction": "fails" })).await;
        assert_eq!(answer.body["run_state"], "aborted", "{profile_name}: {}", answer.text);
        assert_eq!(status(panes.1, &id).await, (json!("contested"), json!([])), "{profile_name}");
    }
    // A crash is the check's own end.
    profile(&bench, "crash", "echo checked 2; kill -SEGV $$", "\"src/**\"", said);
    let id = contested(&bench, panes, &["src/a.rs"]).await;
    let answer = run(panes.0, &id, json!({ "profile": "crash", "prediction": "fails" })).await;
    assert_eq!(answer.body["run_state"], "failed", "{}", answer.text);
    // So is an exit code that the profile declares.
    profile(&bench, "declared", "echo checked 2; exit 137", "\"src/**\"", "fails = [137]");
    let answer = run(panes.0, &id, json!({ "profile": "declared", "blocking": false })).await;
    assert_eq!(answer.body["run_state"], "failed", "{}", answer.text);
    bench.kill_writer();
    bench.assert_sound();
}
