//! A status is never shown without the doubt that a list in the same work tree shows beside it.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::akin::shell_with_pytest;
use crate::hook::claude;
use crate::proof::git;
use crate::settle::{does, id_of, trusted};
use crate::shell::Shell;

/// `python3 -m pytest` runs this file. It fails while the file `flag` is there, which git ignores.
const PYTEST: &str = "import os, sys\n\
    if '--version' in sys.argv: sys.exit(print('pytest 8.0.0'))\n\
    failed = os.path.exists('flag')\n\
    print('1 failed in 0.01s' if failed else '1 passed in 0.01s')\n\
    sys.exit(1 if failed else 0)\n";

/// What a line prints in a directory.
pub(crate) fn printed(shell: &Shell, dir: &Path, line: &str) -> String {
    let output = shell.command(line).current_dir(dir).output().expect("hm can be run");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A repository with a proved claim about `calc.py`, and a linked work tree of it where that file says something else.
pub(crate) fn scene() -> (Shell, PathBuf, tempfile::TempDir) {
    let shell = Shell::new();
    let root = shell.workspace().root().to_owned();
    let write = |path: &str, text: &str| std::fs::write(root.join(path), text).expect("a file");
    shell_with_pytest(&shell, PYTEST);
    write("calc.py", "def add(a, b): return a + b\n");
    write(".gitignore", "flag\n.hivemind\nAGENTS.md\n");
    git(&root, &["init", "-q"]);
    git(&root, &["add", "calc.py", ".gitignore"]);
    git(&root, &["commit", "-qm", "first"]);
    let place = tempfile::tempdir().expect("a directory");
    let linked = place.path().join("linked");
    git(&root, &["worktree", "add", "-q", linked.to_str().expect("UTF-8")]);
    std::fs::write(linked.join("calc.py"), "def add(a, b): return a - b\n").expect("a file");
    for line in [
        "hm --agent devops claim create \"add works\" --scope calc.py",
        "hm --agent analyst claim challenge C1 \"it subtracts\"",
        "hm --agent devops experiment run suite --claim C1 --blocking",
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
    shell.run("hm --agent analyst experiment run suite");
    assert_doubted(&shell, &root, "failed since", "architect");
    let doubted = export(&root);
    assert!(!doubted.contains("add works"), "{doubted}");
    let last = doubted.lines().rev().nth(1).expect("a line");
    assert_eq!(last, "Left out: 1 claim in doubt (`hm attention`).", "{doubted}");
}

/// Red before: a proved decision had no word of its doubt, and a context none of edits that a proof does not see.
#[test]
fn the_doubt_of_a_decision_and_of_a_pattern_is_said() {
    let (shell, linked, _place) = scene();
    let root = shell.workspace().root().to_owned();
    for line in [
        "hm --agent devops decision record \"add adds\" --target sums --scope calc.py --rationale \"sums are sums\"",
        "hm --agent analyst claim challenge C2 \"it subtracts\"",
        "hm --agent devops experiment run suite --claim C2 --blocking",
        "hm --agent devops claim create \"the files add\" --scope \"*.py\"",
        "hm --agent analyst claim challenge C3 \"it subtracts\"",
        "hm --agent devops experiment run suite --claim C3 --blocking",
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
    shell.run("hm --agent analyst experiment run suite");
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
        "hm --agent devops experiment run suite --claim C2 --blocking",
    ] {
        assert!(shell.run(line).status.success(), "{line}");
    }
    std::fs::write(root.join("calc.py"), "def add(a, b): return a * b\n").expect("a file");
    let told = devops.told("UserPromptSubmit", json!({ "prompt": "work on sums in calc.py" }));
    let told = told.to_string();
    assert!(told.contains("sums are whole") && told.contains("changed"), "{told}");
    drop(linked);
}

/// The line of an output in which a text stands, with its breaks taken out.
pub(crate) fn line_with(text: &str, said: &str) -> String {
    let flat = text.replace("\n    ", " ");
    flat.lines().find(|line| line.contains(said)).unwrap_or_else(|| panic!("no {said}: {text}")).to_owned()
}

/// Red before: one pass on the content of the failure took the failure back, and a failure of the claim's own run on other
/// content was no doubt.
#[test]
fn a_failure_is_said_until_its_test_is_stable_again() {
    let (shell, _linked, _place) = scene();
    let root = shell.workspace().root().to_owned();
    let row = || printed(&shell, &root, "hm claim list").lines().next().expect("a row").to_owned();
    let write = |path: &str, text: &str| std::fs::write(root.join(path), text).expect("a file");
    let run = |line: &str, run: &str| {
        printed(&shell, &root, &format!("hm --agent analyst experiment run suite {line}"));
        printed(&shell, &root, &format!("hm experiment show --wait {run}"));
    };
    write("other.py", "1\n");
    write("flag", "");
    run("", "R2");
    assert!(row().contains("failed since (R2)"), "{}", row());
    std::fs::remove_file(root.join("flag")).expect("a file");
    for (line, name) in [("--claim C1", "R3"), ("", "R4")] {
        run(line, name);
        assert!(row().contains("failed since (R2)"), "{line}: {}", row());
    }
    let attention = printed(&shell, &root, "hm attention");
    let one_line = attention.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        one_line.contains(
            "or 5 equal runs once the content is another: `hm experiment run suite --claim C1 --repeat 5`"
        ),
        "{attention}"
    );
    write("other.py", "2\n");
    run("--claim C1 --repeat 5", "R9");
    assert!(!row().contains("since"), "{}", row());
    // The claim's own file changed: the run decides nothing, and it did fail.
    write("calc.py", "def add(a, b): return a - b\n");
    write("flag", "");
    run("--claim C1", "R10");
    assert!(row().contains("failed since (R10)"), "{}", row());
}

/// Red before: an agreed claim that a run contradicted was shown as if nobody had looked.
#[test]
fn a_run_against_an_agreed_claim_is_said_until_one_comes_out_right() {
    let (shell, _linked, _place) = scene();
    let root = shell.workspace().root().to_owned();
    let make = "hm --agent devops claim create \"sub subtracts\" --scope calc.py";
    for line in [make, "hm --agent analyst claim support C2"] {
        assert!(shell.run(line).status.success(), "{line}");
    }
    let row = || {
        let list = printed(&shell, &root, "hm claim list");
        list.lines().find(|line| line.contains("C2")).expect("a row").to_owned()
    };
    assert!(row().contains("agreed") && !row().contains("since"), "{}", row());
    let run = |claim: &str, run: &str, other: &str| {
        std::fs::write(root.join("other.py"), other).expect("a file");
        printed(&shell, &root, &format!("hm --agent analyst experiment run suite --claim {claim}"));
        printed(&shell, &root, &format!("hm experiment show --wait {run}"));
    };
    std::fs::write(root.join("flag"), "").expect("a file");
    run("C2", "R2", "1\n");
    assert!(row().contains("failed since (R2)"), "{}", row());
    let context = printed(&shell, &root, "hm context --agent reviewer");
    let told = context.lines().find(|line| line.contains("sub subtracts")).expect("the claim");
    assert!(told.contains("failed_since=\"R2\""), "{context}");
    let export = printed(&shell, &root, "hm export --to AGENTS.md");
    let notes = std::fs::read_to_string(root.join("AGENTS.md")).expect("a file");
    assert!(!notes.contains("sub subtracts"), "{export}: {notes}");
    let mirror = || {
        let place = tempfile::tempdir().expect("a directory");
        printed(&shell, &root, &format!("hm mirror --to {}", place.path().display()));
        let mut files = std::fs::read_dir(place.path().join("claims")).expect("claims").flatten();
        let file = files.find(|file| file.file_name().to_string_lossy().starts_with("C2-")).expect("a file");
        std::fs::read_to_string(file.path()).expect("a file")
    };
    assert!(mirror().contains("# C2 fact, confirmed, agreed, failed since (R2)"), "{}", mirror());
    let attention = printed(&shell, &root, "hm attention");
    assert!(attention.contains("failed since"), "{attention}");
    std::fs::remove_file(root.join("flag")).expect("a file");
    run("C2", "R3", "2\n");
    assert!(!row().contains("since"), "{}", row());
    assert!(!mirror().contains("failed since"), "{}", mirror());
    assert!(!printed(&shell, &root, "hm attention").contains("failed since"));
    // A failure that the team had seen when it agreed is no news.
    std::fs::write(root.join("flag"), "").expect("a file");
    shell.run("hm --agent devops claim create \"mul multiplies\" --scope calc.py");
    run("C3", "R4", "3\n");
    shell.run("hm --agent analyst claim support C3");
    let list = printed(&shell, &root, "hm claim list");
    let row = list.lines().find(|line| line.contains("C3")).expect("a row");
    assert!(row.contains("confirmed") && !row.contains("since"), "{row}");
}

/// Red before: a claim whose supporters had seen older content than its owner meant was agreed, without a word.
#[test]
fn agreement_to_older_content_is_said_until_it_is_renewed() {
    let (shell, linked, _place) = scene();
    let root = shell.workspace().root().to_owned();
    let does = |line: &str| assert!(shell.run(line).status.success(), "{line}");
    does("hm --agent devops claim create \"sums are whole\" --scope calc.py");
    does("hm --agent reviewer claim support C2");
    let shown = || {
        let surfaces = [
            "hm claim list",
            "hm claim search sums whole",
            "hm claim show C2",
            "hm claim why C2",
            "hm --agent frontend context",
            "hm --agent frontend context --intent \"work on sums\"",
            "hm memory list",
        ];
        let mut shown: Vec<(&str, String)> =
            surfaces.into_iter().map(|line| (line, printed(&shell, &root, line))).collect();
        printed(&shell, &root, "hm export --to AGENTS.md");
        let section = std::fs::read_to_string(root.join("AGENTS.md")).expect("a file");
        shown.push(("hm export", section));
        shown
    };
    let is_said = |(line, text): &(&str, String)| match *line {
        "hm claim show C2" => line_with(text, "# confirmed").contains("before the change"),
        "hm export" => line_with(text, "sums are whole").contains("(calc.py; agreed before the change)"),
        _ => line_with(text, "sums are whole").contains("before the change"),
    };
    // Unchanged content is no older content.
    does("hm --agent devops claim still C2");
    assert!(!shown().iter().any(is_said), "{:?}", shown());
    std::fs::write(root.join("calc.py"), "def add(a, b): return int(a + b)\n").expect("a file");
    does("hm --agent devops claim still C2");
    for surface in shown() {
        assert!(is_said(&surface), "{surface:?}");
    }
    let page = shell.json("hm --json claim show C2");
    assert_eq!(page["agreed_before_change"], json!(true), "{page}");
    // One support of what is meant is enough.
    does("hm --agent architect claim support C2");
    assert!(!shown().iter().any(is_said), "{:?}", shown());
    does("hm --agent architect claim abstain C2");
    assert!(shown().iter().all(is_said), "{:?}", shown());
    // The old content is what they agreed to.
    git(&root, &["checkout", "-q", "calc.py"]);
    does("hm --agent devops claim still C2");
    assert!(!shown().iter().any(is_said), "{:?}", shown());
    drop(linked);
}

/// Red before: the warning of a hook named a proved dead end and no run that had come out otherwise since.
#[test]
fn the_warning_of_a_dead_end_says_the_doubt_of_its_proof() {
    let (shell, linked, _place) = scene();
    let root = shell.workspace().root().to_owned();
    for line in [
        "hm --agent devops claim create \"int sums lose cents\" --type negative --scope calc.py --trigger-command \"make sums\"",
        "hm --agent analyst claim challenge C2 \"they do not\"",
        "hm --agent devops experiment run suite --claim C2 --blocking --prediction passes",
    ] {
        assert!(shell.run(line).status.success(), "{line}");
    }
    let one = claude(&shell, "s-1", "reviewer");
    one.start();
    let told = one.about_to_run("make sums");
    assert!(told.contains("int sums lose cents") && !told.contains("in doubt"), "{told}");
    std::fs::write(root.join("other.py"), "1\n").expect("a file");
    std::fs::write(root.join("flag"), "").expect("a file");
    shell.run("hm --agent analyst experiment run suite");
    let other = claude(&shell, "s-2", "architect");
    other.start();
    let told = other.about_to_run("make sums");
    assert!(told.contains("C2, in doubt: failed since (R"), "{told}");
    drop(linked);
}

/// Red before: only a run after the agreement stood beside it; one before it, about the same content, stood nowhere.
#[test]
fn what_the_team_agreed_to_after_a_run_contradicted_it_says_so() {
    let shell = Shell::new();
    let root = shell.workspace().root().to_owned();
    let place = tempfile::tempdir().expect("a directory");
    let to = place.path().join("mirror").display().to_string();
    std::fs::create_dir_all(root.join("src")).expect("a directory");
    std::fs::write(root.join("src/a.py"), "bug\n").expect("a file");
    let argv = r#""sh", "-c", "! grep -q bug src/a.py""#;
    trusted(&shell, "check", argv);
    id_of(&shell, "hm claim create \"a divides\" --scope src/a.py --agent devops");
    does(&shell, "hm experiment run check --claim C1 --agent devops");
    does(&shell, "hm claim support C1 --agent analyst");
    let text = |line: &str| printed(&shell, &root, line);
    let page = || {
        text(&format!("hm mirror --to {to}"));
        let mut claims = std::fs::read_dir(place.path().join("mirror/claims")).expect("a directory");
        let page = claims.next().expect("a page").expect("a page");
        std::fs::read_to_string(page.path()).expect("a page")
    };
    let listed = |line: &str| line_with(&text(line), "a divides");
    for _ in 0..2 {
        let list = listed("hm claim list");
        assert!(list.contains("agreed, failed before (R1)"), "{list}");
        assert!(text("hm context --agent reviewer").contains("failed_before=\"R1\""));
        assert!(page().contains("# C1 fact, confirmed, agreed, failed before (R1)\n"), "{}", page());
        assert!(text("hm attention --agent devops").contains("failed before (R1)"));
        // The word of the owner about the same content takes nothing back.
        does(&shell, "hm claim still C1 --agent devops");
    }
    std::fs::write(root.join("src/a.py"), "mended\n").expect("a file");
    does(&shell, "hm claim still C1 --agent devops");
    does(&shell, "hm claim support C1 --agent analyst");
    let list = listed("hm claim list");
    assert!(list.contains("agreed") && !list.contains("failed"), "of other content: {list}");
    assert!(!page().contains("failed before"), "{}", page());
    assert!(!text("hm attention --agent devops").contains("failed before"));
}

/// Red before: a mirror folded no runs, so its pages said `proved` of what later runs doubt.
#[test]
fn a_mirror_says_what_later_runs_doubt() {
    let (shell, linked, place) = scene();
    let root = shell.workspace().root().to_owned();
    let mirror = place.path().join("mirror");
    let to = mirror.display().to_string();
    let page = || {
        printed(&shell, &root, &format!("hm mirror --to {to}"));
        let dir = std::fs::read_dir(mirror.join("claims")).expect("a directory");
        let files: Vec<PathBuf> = dir.flatten().map(|entry| entry.path()).collect();
        let file = files.iter().find(|path| path.to_string_lossy().contains("C1-")).expect("a page");
        let lists = std::fs::read_dir(mirror.join("scopes")).expect("a directory");
        let list = lists.flatten().map(|entry| std::fs::read_to_string(entry.path()).expect("a list"));
        let list: String = list.collect();
        (std::fs::read_to_string(file).expect("a page"), list)
    };
    let (plain, list) = page();
    assert!(
        plain.contains("# C1 fact, confirmed, proved\n") && list.contains("confirmed, proved]"),
        "{plain}"
    );
    std::fs::write(root.join("other.py"), "1\n").expect("a file");
    std::fs::write(root.join("flag"), "").expect("a file");
    shell.run("hm --agent analyst experiment run suite");
    let (failed, list) = page();
    assert!(failed.contains("# C1 fact, confirmed, proved, failed since (R2)\n"), "{failed}");
    assert!(
        failed.contains("failed_since: \"R2\"\n") && list.contains("failed since (R2)"),
        "{failed}{list}"
    );
    // The same run passes: the doubt is of one content then.
    std::fs::remove_file(root.join("flag")).expect("a file");
    shell.run("hm --agent analyst experiment run suite");
    let listed = line_with(&printed(&shell, &root, "hm claim list"), "add works");
    let (steady, _) = page();
    assert_eq!(steady.contains("failed since"), listed.contains("failed since"), "{listed} {steady}");
    std::fs::remove_file(root.join("other.py")).expect("a file");
    std::fs::write(root.join("flag"), "").expect("a file");
    shell.run("hm --agent analyst experiment run suite");
    let listed = line_with(&printed(&shell, &root, "hm claim list"), "add works");
    assert!(listed.contains("unstable"), "{listed}");
    let (unstable, list) = page();
    assert!(
        unstable.contains("confirmed, proved, unstable") && unstable.contains("unstable_at: \""),
        "{unstable}"
    );
    assert!(list.contains("unstable"), "{list}");
    // A mirror that is made anew has the same pages.
    let again = place.path().join("again");
    printed(&shell, &root, &format!("hm mirror --to {}", again.display()));
    let head = |dir: &Path| {
        let output =
            std::process::Command::new("git").arg("-C").arg(dir).args(["rev-parse", "HEAD"]).output();
        String::from_utf8_lossy(&output.expect("git runs").stdout).into_owned()
    };
    assert_eq!(head(&mirror), head(&again));
    drop(linked);
}
