//! Failures of a check that is the same as another one, or a part of it, under another command line or for other scopes.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use hivemind::mcp::Pane;
use hivemind::workspace::Workspace;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::false_proof::stands;
use crate::hook::{claude, within};
use crate::proof::{assert_rebuilds_to_the_same, committed, git, run};
use crate::shell::Shell;
use crate::terminal::{by_a_human, trust};

/// `python3 -m pytest` runs this file. It fails while the file `flag` is there, which git ignores.
const PYTEST: &str = "import os, sys\n\
    if '--version' in sys.argv: sys.exit(print('pytest 8.0.0'))\n\
    failed = os.path.exists('flag') or os.path.exists('../flag')\n\
    print('1 failed in 0.01s' if failed else '1 passed in 0.01s')\n\
    sys.exit(1 if failed else 0)\n";
const REST: &str = "scopes = ['**/*.py']\ntimeout_ms = 20000\n[expect]\nexit = 0\nfails = [1]\n";

/// The shipped profiles of `pytest` under the names `suite` and `suite-file`, which run a script in its place. It lies
/// where no check of the work tree looks for a file in place of the tool. A human has to trust the profiles.
pub(crate) fn with_pytest(workspace: &Workspace, script: &str) -> [&'static str; 2] {
    let write = |path: &Path, text: &str| {
        std::fs::create_dir_all(path.parent().expect("below a directory")).expect("a directory");
        std::fs::write(path, text).expect("a file");
    };
    let dir = workspace.marker_dir();
    write(&dir.join("fake/pytest.py"), script);
    let own = own_path(workspace);
    let shipped = [
        ("suite", include_str!("../../profiles/pytest.toml")),
        ("suite-file", include_str!("../../profiles/pytest-file.toml")),
    ];
    shipped.map(|(name, text)| {
        assert!(text.contains("[env.set]"), "it is the last table");
        write(&dir.join(format!("profiles/{name}.toml")), &format!("{text}{own}"));
        name
    })
}

/// The line of `[env.set]` by which a profile finds that script.
fn own_path(workspace: &Workspace) -> String {
    format!("PYTHONPATH = '{}'\n", workspace.marker_dir().join("fake").display())
}

/// The same for a shell.
pub(crate) fn shell_with_pytest(shell: &Shell, script: &str) {
    for name in with_pytest(&shell.workspace(), script) {
        let trusted = by_a_human(&shell.command(&format!("hm profile trust {name} --yes")));
        assert!(trusted.status.success(), "{trusted:?}");
    }
}

async fn scene() -> (Bench, [Pane; 2]) {
    let bench = Bench::new();
    for name in with_pytest(bench.workspace(), PYTEST) {
        trust(bench.root(), name);
    }
    bench.write(".gitignore", "flag\n");
    bench.write("calc.py", "def add(a, b): return a + b\n");
    bench.write("test_calc.py", "def test_add(): pass\n");
    committed(&bench);
    let panes = bench.panes(["analyst", "devops"]).await;
    (bench, panes)
}

/// The test fails until [`passes`].
fn fails(bench: &Bench) {
    bench.write("flag", "");
}

fn passes(bench: &Bench) {
    std::fs::remove_file(bench.root().join("flag")).expect("a file");
}

async fn contested(bench: &Bench, [owner, other]: &[Pane; 2], scopes: &[&str]) -> String {
    let claim = json!({ "statement": "addition works", "claim_type": "fact", "scopes": scopes });
    let id = bench.accepted(owner, "create_claim", claim).await.field("claim_id").to_owned();
    bench.accepted(other, "challenge", json!({ "claim_id": id, "reason": "it does not" })).await;
    id
}

fn file(name: &str) -> Value {
    json!({ "profile": "suite-file", "args": [format!("file={name}")] })
}

async fn ends(pane: &Pane, given: Value, state: &str) -> String {
    let ended = run(pane, given).await;
    assert_eq!(ended.body["run_state"], state, "{}", ended.text);
    ended.field("run_id").to_owned()
}

fn row(bench: &Bench, id: &str) -> String {
    let list = bench.hm(&["claim", "list"]);
    let list = String::from_utf8(list.stdout).expect("UTF-8");
    let name = format!("{} ", bench.name(id));
    list.lines().find(|line| line.contains(&name)).expect("a row").to_owned()
}

/// Red before: only a failure of the same command marked a proof.
#[tokio::test]
async fn a_failure_of_a_part_of_the_check_marks_a_proof_until_it_passes() {
    let (bench, panes) = scene().await;
    let id = contested(&bench, &panes, &["calc.py"]).await;
    run(&panes[0], json!({ "profile": "suite", "claim_id": id, "blocking": true })).await;
    assert!(row(&bench, &id).contains("proved") && !row(&bench, &id).contains("failed since"));
    for name in ["test_calc.py", "test_calc.py::test_add", "."] {
        fails(&bench);
        let failed = ends(&panes[1], file(name), "failed").await;
        let mark = format!("failed since ({})", bench.name(&failed));
        assert!(row(&bench, &id).contains(&mark), "{name}: {}", row(&bench, &id));
        let attention = panes[0].read("hivemind://attention").await.expect("a page");
        assert!(attention.contains(&bench.name(&failed)), "{attention}");
        assert_rebuilds_to_the_same(&bench);
        passes(&bench);
        ends(&panes[1], file("calc.py"), "succeeded").await;
        assert!(row(&bench, &id).contains(&mark), "a pass of another file takes nothing back");
        ends(&panes[1], json!({ "profile": "suite" }), "succeeded").await;
        assert!(!row(&bench, &id).contains("failed since"), "{}", row(&bench, &id));
    }
    // A file that the proof did not look at says nothing about it.
    bench.write("test_calc.py", "def test_more(): pass\n");
    let id = contested(&bench, &panes, &["test_calc.py"]).await;
    let mut given = file("test_calc.py");
    (given["claim_id"], given["blocking"]) = (json!(id), json!(true));
    let told = run(&panes[0], given).await;
    assert_eq!(stands(&panes[0], &id).await.0, "confirmed (proved)", "{}", told.text);
    fails(&bench);
    ends(&panes[1], file("calc.py"), "failed").await;
    assert!(!row(&bench, &id).contains("failed since"), "{}", row(&bench, &id));
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: a claim with one more scope was about other files, and one run proved it.
#[tokio::test]
async fn a_new_name_in_the_scopes_drops_no_failure() {
    type Change = fn(&Bench);
    let cases: [(&str, Change, &[&str]); 6] = [
        ("a new file", |bench| bench.write("more.py", ""), &["calc.py", "more.py"]),
        ("a pattern", |bench| bench.write("src/more.py", ""), &["calc.py", "src/*.py"]),
        (
            "a link",
            |bench| std::os::unix::fs::symlink("calc.py", bench.root().join("link.py")).expect("a link"),
            &["link.py"],
        ),
        ("a new name", |bench| git(bench.root(), &["mv", "calc.py", "sums.py"]), &["sums.py"]),
        ("a file of git", |_| {}, &["calc.py", ".gitignore"]),
        ("a mend", |bench| bench.write("calc.py", "def add(a, b): return b + a\n"), &["calc.py"]),
    ];
    for (what, change, scopes) in cases {
        let (bench, panes) = scene().await;
        bench.profile(
            "all",
            &format!(
                "description = 'all'\nargv = ['python3', '-m', 'pytest']\n{}[env.set]\n{}",
                REST.replace("**/*.py", "**"),
                own_path(bench.workspace())
            ),
        );
        fails(&bench);
        ends(&panes[1], json!({ "profile": "all" }), "failed").await;
        passes(&bench);
        change(&bench);
        let id = contested(&bench, &panes, scopes).await;
        let told = run(&panes[0], json!({ "profile": "all", "claim_id": id, "blocking": true })).await;
        let (status, reason) = stands(&panes[0], &id).await;
        let expected = if what == "a mend" { "confirmed (proved)" } else { "contested" };
        assert_eq!(status, expected, "{what}: {reason}: {}", told.text);
        assert_rebuilds_to_the_same(&bench);
    }
}

/// Red before: another spelling of a command, or more and fewer flags, was another check; later still a command in the line
/// of a shell.
#[tokio::test]
async fn a_failure_of_the_same_check_by_another_command_counts() {
    let spelled = [
        ("'python3', '-m', 'pytest', '-q'", "the same"),
        ("'python3', '-m', 'pytest'", "the same"),
        ("'python3', '-B', '-m', 'pytest', '-vv'", "the same"),
        ("'venv/bin/pytest', '-q'", "the same"),
        ("'sh', '-c', 'python3 -m pytest -q'", "the same"),
        ("'bash', '-lc', 'set -e; exec python3 -m pytest'", "the same"),
        ("'python3', '-m', 'pytest', '-p', 'no:cacheprovider'", "a narrower"),
        ("'python3', '-m', 'pytest', 'test_calc.py::test_add'", "a narrower"),
    ];
    let (bench, panes) = scene().await;
    bench.write("venv/bin/pytest", "#!/bin/sh\nexec python3 -m pytest\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(bench.root().join("venv/bin/pytest"), mode).expect("a mode");
    for (number, (argv, which)) in spelled.into_iter().enumerate() {
        for is_shipped_first in [true, false] {
            bench.write("calc.py", &format!("content = {number}, {is_shipped_first}\n"));
            let own = own_path(bench.workspace());
            bench.profile("own", &format!("description = 'own'\nargv = [{argv}]\n{REST}[env.set]\n{own}"));
            let (first, then) = if is_shipped_first { ("suite", "own") } else { ("own", "suite") };
            fails(&bench);
            ends(&panes[1], json!({ "profile": first }), "failed").await;
            passes(&bench);
            let id = contested(&bench, &panes, &["calc.py"]).await;
            let told = run(&panes[0], json!({ "profile": then, "claim_id": id, "blocking": true })).await;
            let (status, reason) = stands(&panes[0], &id).await;
            assert_eq!(status, "contested", "{first}, {argv}: {reason}: {}", told.text);
            assert!(told.text.contains("unless run"), "it is said before: {}", told.text);
            if !is_shipped_first && reason.contains("check") {
                assert!(reason.contains(&format!("of {which} check")), "{argv}: {reason}");
            }
            bench.accepted(&panes[1], "abstain", json!({ "claim_id": id })).await;
            bench.accepted(&panes[0], "deprecate_claim", json!({ "claim_id": id, "reason": "next" })).await;
        }
    }
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: a failure with `cwd` was no word about the claim, because such a run settles nothing.
#[tokio::test]
async fn a_failure_in_another_directory_counts_by_what_it_reaches() {
    let (bench, panes) = scene().await;
    bench.write("docs/a.md", "");
    let test_of = |name: &str| json!({ "profile": "suite-file", "args": [format!("file={name}")] });
    for (number, (mut failing, given, counts)) in [
        (json!({ "profile": "suite", "cwd": "tests" }), json!({ "profile": "suite" }), true),
        (json!({ "profile": "suite", "cwd": "tests" }), test_of("tests/test_a.py"), true),
        (test_of("tests/test_a.py"), json!({ "profile": "suite" }), true),
        (json!({ "profile": "suite", "cwd": "docs" }), test_of("tests/test_a.py"), false),
    ]
    .into_iter()
    .enumerate()
    {
        bench.write("calc.py", &format!("content = {number}\n"));
        bench.write("tests/test_a.py", "import calc\ndef test_add(): pass\n");
        if number == 2 {
            failing["cwd"] = json!("tests");
        }
        fails(&bench);
        let failed = ends(&panes[1], failing.clone(), "failed").await;
        passes(&bench);
        let claim = json!({ "statement": "addition works", "claim_type": "fact", "scopes": ["calc.py"] });
        let id = bench.accepted(&panes[0], "create_claim", claim).await.field("claim_id").to_owned();
        let cited = json!({ "claim_id": id, "reason": "it fails", "evidence_ref": failed });
        bench.accepted(&panes[1], "challenge", cited).await;
        let mut once = given.clone();
        (once["claim_id"], once["blocking"]) = (json!(id), json!(true));
        let told = run(&panes[0], once.clone()).await;
        let (status, reason) = stands(&panes[0], &id).await;
        let expected = if counts { "contested" } else { "confirmed (proved)" };
        assert_eq!(status, expected, "{failing}, {given}: {reason}: {}", told.text);
        if counts {
            assert!(told.text.contains("unless run"), "it is said before: {}", told.text);
            assert!(reason.contains("check had the other outcome"), "{reason}");
        }
        if number == 0 {
            once["repeat"] = json!(3);
            run(&panes[0], once).await;
            assert_eq!(stands(&panes[0], &id).await.0, "confirmed (proved)", "three equal runs outweigh it");
        }
        if counts && number > 0 {
            bench.accepted(&panes[1], "abstain", json!({ "claim_id": id })).await;
            bench.accepted(&panes[0], "deprecate_claim", json!({ "claim_id": id, "reason": "next" })).await;
            continue;
        }
        // After the proof, it marks it.
        fails(&bench);
        let failed = ends(&panes[1], failing, "failed").await;
        let mark = format!("failed since ({})", bench.name(&failed));
        assert_eq!(row(&bench, &id).contains(&mark), counts, "{}", row(&bench, &id));
        bench.accepted(&panes[1], "abstain", json!({ "claim_id": id })).await;
        bench.accepted(&panes[0], "deprecate_claim", json!({ "claim_id": id, "reason": "next" })).await;
        passes(&bench);
    }
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: a failed command that a challenge cites counted only as the very words of the profile.
#[test]
fn a_failed_part_of_the_check_that_a_challenge_cites_counts() {
    let shell = Shell::new();
    let root = shell.workspace().root().to_owned();
    let write = |path: &str, text: &str| std::fs::write(root.join(path), text).expect("a file");
    shell_with_pytest(&shell, PYTEST);
    write("calc.py", "1\n");
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    for line in [
        "pytest -q test_calc.py::test_add",
        ".venv/bin/pytest",
        "uv run pytest -q",
        "cd . && python3 -m pytest -q test_calc.py",
        "make test",
    ] {
        let made = shell.json("hm --json --agent analyst claim create \"addition works\" --scope calc.py");
        let name = made["name"].as_str().expect("a name").to_owned();
        let failed = json!({ "tool_name": "Bash", "tool_input": { "command": line }, "error": "Exit code 1\n1 failed" });
        devops.told("PostToolUseFailure", failed);
        within(
            &shell,
            "s-1",
            &format!("hm --json --agent devops claim challenge {name} \"it fails\" --evidence last"),
        );
        let once = shell.run(&format!("hm experiment run suite --claim {name} --blocking --agent analyst"));
        let told = String::from_utf8_lossy(&once.stdout).replace("\n    ", " ");
        assert!(told.contains("a challenge cites that"), "{line}: {told}");
        let page = shell.json(&format!("hm --json claim show {name}"));
        assert_eq!(page["status"], "contested", "{line}");
        shell.run(&format!("hm --agent devops claim abstain {name}"));
        shell.run(&format!("hm --agent analyst claim withdraw {name} next"));
    }
}

/// Red before: the failed run of the operator counted for nothing, and one later run proved both claims.
#[test]
fn a_failed_run_that_the_operator_typed_and_a_challenge_cites_counts() {
    let shell = Shell::new();
    let root = shell.workspace().root().to_owned();
    let write = |path: &str, text: &str| std::fs::write(root.join(path), text).expect("a file");
    shell_with_pytest(&shell, PYTEST);
    let fake = shell.workspace().marker_dir().join("fake");
    write("calc.py", "def add(a, b): return a + b\n");
    write("lint.py", "import sys\nsys.exit(1)\n");
    write("flag", "");
    let text = |output: std::process::Output| {
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).replace("\n    ", " ")
    };
    let typed = "hm experiment run --thread-id RS-1 --test-id T1";
    let over = "--operator-override testing";
    let by_fake = |line: &str| shell.command(line).env("PYTHONPATH", &fake).output().expect("hm can be run");
    text(by_fake(&format!("{typed} {over} --agent operator -- python3 -m pytest -q -x")));
    // Few machines have the program itself.
    let bin = tempfile::tempdir().expect("a directory");
    let program = bin.path().join("pytest");
    std::fs::write(&program, "#!/bin/sh\nexec python3 -m pytest \"$@\"\n").expect("a file");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    #[expect(clippy::disallowed_methods, reason = "the rest of the programs")]
    let path = std::env::var("PATH").expect("a path");
    let mut line = shell.command(&format!("{typed} --agent operator -- pytest -v"));
    line.env("PATH", format!("{}:{path}", bin.path().display())).env("PYTHONPATH", &fake);
    text(by_a_human(&line));
    text(shell.run(&format!(
        "hm experiment record --thread-id RS-1 --test-id T1 --exit-code 1 {over} --agent operator \
         --command \"python3 -m pytest calc.py\""
    )));
    text(by_fake(&format!("{typed} {over} --agent operator -- python3 -m pytest --version")));
    std::fs::remove_file(root.join("flag")).expect("a file");
    for (run, counts) in [("R1", true), ("R2", true), ("R3", true), ("R4", false)] {
        let made =
            shell.json(&format!("hm --json --agent devops claim create \"{run} adds\" --scope calc.py"));
        let name = made["name"].as_str().expect("a name");
        text(shell.run(&format!("hm --agent analyst claim challenge {name} \"see it\" --evidence {run}")));
        let settle = format!("hm --agent devops experiment run suite --claim {name} --blocking");
        let once = text(shell.run(&settle));
        let shown = text(shell.run("hm claim list"));
        let row = shown.lines().find(|line| line.contains(&format!("{name} "))).expect("a row");
        assert_eq!(row.contains("contested"), counts, "{run}: {row}: {once}");
        if counts {
            assert!(once.contains("one run proves nothing, because a challenge cites that"), "{run}: {once}");
            text(shell.run(&format!("{settle} --repeat 3")));
            let shown = text(shell.run(&format!("hm claim show {name}")));
            assert!(shown.contains("proved"), "{run}: {shown}");
        }
    }
    shell.assert_rebuilds_to_the_same();
}
