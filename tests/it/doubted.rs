//! A status is never shown without the doubt that a list in the same work tree shows beside it.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::hook::claude;
use crate::proof::git;
use crate::shell::Shell;

/// `python3 -m pytest` runs this file. It fails while the file `flag` is there, which git ignores.
const PYTEST: &str = "import os, sys\n\
    if '--version' in sys.argv: sys.exit(print('pytest 8.0.0'))\n\
    failed = os.path.exists('flag')\n\
    print('1 failed in 0.01s' if failed else '1 passed in 0.01s')\n\
    sys.exit(1 if failed else 0)\n";

/// What a line prints in a directory.
fn printed(shell: &Shell, dir: &Path, line: &str) -> String {
    let output = shell.command(line).current_dir(dir).output().expect("hm can be run");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A repository with a proved claim about `calc.py`, and a linked work tree of it where that file says something else.
fn scene() -> (Shell, PathBuf, tempfile::TempDir) {
    let shell = Shell::new();
    let root = shell.workspace().root().to_owned();
    let write = |path: &str, text: &str| std::fs::write(root.join(path), text).expect("a file");
    write("pytest.py", PYTEST);
    write("calc.py", "def add(a, b): return a + b\n");
    write(".gitignore", "flag\n.hivemind\nAGENTS.md\n");
    git(&root, &["init", "-q"]);
    git(&root, &["add", "calc.py", "pytest.py", ".gitignore"]);
    git(&root, &["commit", "-qm", "first"]);
    let place = tempfile::tempdir().expect("a directory");
    let linked = place.path().join("linked");
    git(&root, &["worktree", "add", "-q", linked.to_str().expect("UTF-8")]);
    std::fs::write(linked.join("calc.py"), "def add(a, b): return a - b\n").expect("a file");
    for line in [
        "hm --agent devops claim create \"add works\" --scope calc.py",
        "hm --agent analyst claim challenge C1 \"it subtracts\"",
        "hm --agent devops experiment run pytest --claim C1 --blocking",
    ] {
        assert!(shell.run(line).status.success(), "{line}");
    }
    (shell, linked, place)
}

/// Every surface that shows the claim as confirmed has the doubt in its line.
fn assert_doubted(shell: &Shell, dir: &Path, doubt: &str, reader: &str) {
    let list = printed(shell, dir, "hm claim list");
    assert!(list.contains(doubt), "{list}");
    let attribute = match doubt {
        "changed since" => "changed=",
        _ => "failed_since=",
    };
    for line in [
        "--agent READER context",
        "--agent READER context --intent \"work on add\"",
        "--agent READER news",
        "memory list",
    ] {
        let text = printed(shell, dir, &format!("hm {}", line.replace("READER", reader)));
        let one_line = text.replace("\n    ", " ");
        let shown: Vec<&str> = one_line.lines().filter(|line| line.contains("add works")).collect();
        assert!(!shown.is_empty(), "{line}: {text}");
        for shown in shown {
            assert!(shown.contains(doubt) || shown.contains(attribute), "{line}: {text}");
        }
    }
}

/// Red before: a context read the files of the work tree where its session began, and news, exports and the items of the
/// memory read none.
#[test]
fn no_surface_shows_a_status_without_the_doubt_of_the_list() {
    let (shell, linked, _place) = scene();
    let root = shell.workspace().root().to_owned();
    let list = printed(&shell, &root, "hm claim list");
    assert!(list.contains("proved") && !list.contains("since"), "{list}");
    let export = |dir: &Path| {
        printed(&shell, dir, "hm export --to AGENTS.md");
        std::fs::read_to_string(dir.join("AGENTS.md")).expect("a file")
    };
    let plain = export(&root);
    assert!(plain.contains("- fact C1: add works (calc.py)\n"), "{plain}");
    // Another content in a linked work tree.
    assert_doubted(&shell, &linked, "changed since", "frontend");
    let there = export(&linked);
    assert!(there.contains("- fact C1: add works (calc.py; changed since)\n"), "{there}");
    let again = std::fs::metadata(linked.join("AGENTS.md")).and_then(|file| file.modified()).expect("a file");
    export(&linked);
    let after = std::fs::metadata(linked.join("AGENTS.md")).and_then(|file| file.modified()).expect("a file");
    assert_eq!(again, after, "a second run changes nothing");
    // The same in the main one.
    std::fs::write(root.join("calc.py"), "def add(a, b): return a * b\n").expect("a file");
    assert_doubted(&shell, &root, "changed since", "reviewer");
    git(&root, &["checkout", "-q", "calc.py"]);
    // A failure since, on other content.
    std::fs::write(root.join("other.py"), "1\n").expect("a file");
    std::fs::write(root.join("flag"), "").expect("a file");
    shell.run("hm --agent analyst experiment run pytest");
    assert_doubted(&shell, &root, "failed since", "architect");
    let doubted = export(&root);
    assert!(!doubted.contains("add works"), "{doubted}");
    let last = doubted.lines().rev().nth(1).expect("a line");
    assert_eq!(last, "Left out: 1 claim whose proof later runs doubt (`hm attention`).", "{doubted}");
}

/// Red before: a proved decision had no word of its doubt, and a context none of edits that a proof does not see.
#[test]
fn the_doubt_of_a_decision_and_of_a_pattern_is_said() {
    let (shell, linked, _place) = scene();
    let root = shell.workspace().root().to_owned();
    for line in [
        "hm --agent devops decision record \"add adds\" --target sums --scope calc.py --rationale \"sums are sums\"",
        "hm --agent analyst claim challenge C2 \"it subtracts\"",
        "hm --agent devops experiment run pytest --claim C2 --blocking",
        "hm --agent devops claim create \"the files add\" --scope \"*.py\"",
        "hm --agent analyst claim challenge C3 \"it subtracts\"",
        "hm --agent devops experiment run pytest --claim C3 --blocking",
    ] {
        let output = shell.run(line);
        assert!(output.status.success(), "{line}: {output:?}");
    }
    let plain = printed(&shell, &root, "hm decision list");
    assert!(plain.contains("(confirmed (proved), by devops"), "{plain}");
    let list = printed(&shell, &root, "hm claim list");
    assert!(list.contains("later edits unseen"), "{list}");
    let context = printed(&shell, &root, "hm --agent reviewer context");
    assert!(context.contains("later_edits=\"unseen\""), "{context}");
    std::fs::write(root.join("flag"), "").expect("a file");
    shell.run("hm --agent analyst experiment run pytest");
    for line in ["hm decision list", "hm --agent reviewer context", "hm claim list"] {
        let text = printed(&shell, &root, line).replace("\n    ", " ");
        let shown = text.lines().find(|line| line.contains("add adds")).expect("a line");
        assert!(
            ["unstable", "failed since", "failed_since"].iter().any(|word| shown.contains(word)),
            "{shown}"
        );
    }
    drop(linked);
}

/// Red before: what a hook told of a claim had no word of its doubt.
#[test]
fn a_hook_tells_the_doubt_of_a_claim() {
    let (shell, linked, _place) = scene();
    let root = shell.workspace().root().to_owned();
    let devops = claude(&shell, "s-1", "reviewer");
    devops.start();
    for line in [
        "hm --agent devops claim create \"sums are whole numbers\" --scope calc.py",
        "hm --agent analyst claim challenge C2 \"they are not\"",
        "hm --agent devops experiment run pytest --claim C2 --blocking",
    ] {
        assert!(shell.run(line).status.success(), "{line}");
    }
    std::fs::write(root.join("calc.py"), "def add(a, b): return a * b\n").expect("a file");
    let told = devops.told("UserPromptSubmit", json!({ "prompt": "work on sums in calc.py" }));
    let told = told.to_string();
    assert!(told.contains("sums are whole") && told.contains("changed"), "{told}");
    drop(linked);
}
