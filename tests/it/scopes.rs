//! Scopes as people and agents type them: where a path is taken from, what a glob finds, and what is refused.

use std::collections::BTreeSet;
use std::process::Output;

use expect_test::expect;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::shell::Shell;

/// Runs a line in a directory of the workspace.
fn run_in(shell: &Shell, dir: &str, line: &str) -> Output {
    let there = shell.workspace().root().join(dir);
    shell.command(line).current_dir(there).output().expect("hm can be run")
}

/// The scopes a claim gets that is made in a directory.
fn scopes_in(shell: &Shell, dir: &str, number: usize, scope: &str) -> Value {
    let line = format!("hm --agent devops --json claim create \"claim number {number}\" --scope {scope}");
    let made = run_in(shell, dir, &line);
    let made: Value = serde_json::from_slice(&made.stdout).unwrap_or_else(|_| panic!("{made:?}"));
    let id = made["claim_id"].as_str().unwrap_or_else(|| panic!("{scope}: {made}"));
    shell.json(&format!("hm --json claim show {id}"))["scopes"].clone()
}

/// The statements that a query finds.
fn found(shell: &Shell, line: &str) -> BTreeSet<String> {
    let key = if line.contains(" search ") { "hits" } else { "claims" };
    let page = shell.json(line);
    let claims = page[key].as_array().unwrap_or_else(|| panic!("{line}: {page}"));
    claims.iter().map(|claim| claim["statement"].as_str().expect("a statement").to_owned()).collect()
}

#[test]
fn a_path_typed_in_a_directory_is_that_directorys() {
    let shell = Shell::new();
    let root = shell.workspace().root().to_owned();
    std::fs::create_dir_all(root.join("src/db")).expect("a directory");
    std::fs::create_dir_all(root.join("src/ui")).expect("a directory");
    std::fs::write(root.join("src/db/pool.rs"), "").expect("a file");
    #[cfg(unix)]
    std::os::unix::fs::symlink("src/db", root.join("storage")).expect("a link");
    let absolute = root.join("src/db/pool.rs").display().to_string();
    let typed = [
        ("src/db", "pool.rs", "src/db/pool.rs"),
        ("src/db", "./pool.rs:42", "src/db/pool.rs"),
        ("src/db", "../ui/app.ts:3-9", "src/ui/app.ts"),
        ("src/db", ".", "src/db"),
        ("src/db", "*.rs", "src/db/*.rs"),
        ("src/db", "src/ui/app.ts", "src/ui/app.ts"),
        ("src/db", "new/mod.rs", "src/db/new/mod.rs"),
        ("src/db", "tag:Build", "tag:build"),
        ("src/db", absolute.as_str(), "src/db/pool.rs"),
        ("", "pool.rs", "pool.rs"),
        #[cfg(unix)]
        ("storage", "pool.rs", "src/db/pool.rs"),
    ];
    for (number, (dir, scope, expected)) in typed.into_iter().enumerate() {
        assert_eq!(scopes_in(&shell, dir, number, scope), json!([expected]), "{scope} in {dir:?}");
    }
    // A claim is also about the link that it names: where it leads may change.
    #[cfg(unix)]
    assert_eq!(scopes_in(&shell, "", 100, "storage/pool.rs"), json!(["src/db/pool.rs", "storage/pool.rs"]));
    // A query typed there asks for the same.
    let listed = run_in(&shell, "src/ui", "hm --json claim list --scope app.ts");
    let listed: Value = serde_json::from_slice(&listed.stdout).expect("JSON");
    assert_eq!(listed["claims"].as_array().map(Vec::len), Some(2), "{listed}");
    let outside = run_in(&shell, "src/db", "hm --agent devops claim create x --scope ../../../etc/passwd");
    assert_eq!(outside.status.code(), Some(2), "{outside:?}");
}

#[test]
fn a_glob_is_found_by_the_paths_it_matches_and_finds_them() {
    let shell = Shell::new();
    for (number, scope) in
        ["src/**", "src/*.rs", "**/*.md", "src/db/pool.rs", "docs/a.md", "src/{db,ui}/*.ts", "tag:a"]
            .into_iter()
            .enumerate()
    {
        let line = format!("hm --agent devops claim create \"{scope} is number {number}\" --scope {scope}");
        assert!(shell.run(&line).status.success(), "{line}");
    }
    let scopes = |query: &str| -> Vec<String> {
        let listed = found(&shell, &format!("hm --json claim list --scope {query}"));
        let searched = found(&shell, &format!("hm --json claim search number --scope {query}"));
        assert_eq!(listed, searched, "{query}");
        let first = |statement: String| statement.split(' ').next().unwrap_or_default().to_owned();
        listed.into_iter().map(first).collect()
    };
    assert_eq!(scopes("src/db/pool.rs"), ["src/**", "src/db/pool.rs"]);
    assert_eq!(scopes("src/lib.rs"), ["src/**", "src/*.rs"]);
    assert_eq!(scopes("src/ui/app.ts"), ["src/**", "src/{db,ui}/*.ts"]);
    assert_eq!(scopes("docs/a.md"), ["**/*.md", "docs/a.md"]);
    assert_eq!(scopes("src/db"), ["**/*.md", "src/**", "src/db/pool.rs", "src/{db,ui}/*.ts"]);
    assert_eq!(
        scopes("src/db/*.rs"),
        ["**/*.md", "src/**", "src/*.rs", "src/db/pool.rs", "src/{db,ui}/*.ts"]
    );
    assert_eq!(scopes("docs/**"), ["**/*.md", "docs/a.md"]);
    assert_eq!(scopes("**/*.md"), scopes("**/*.md:12"));
    assert_eq!(scopes("tag:a"), ["tag:a"]);
}

#[test]
fn what_cannot_be_a_path_is_refused_with_the_way() {
    Shell::new().check(
        &[
            "hm --agent devops claim create x --scope $HOME/x",
            "hm --agent devops claim create x --scope ~/x",
            "hm --agent devops claim create x --scope src/[",
            "hm --agent devops task add x --scope ${SRC}/a",
            "hm claim list --scope $HOME/x",
        ],
        expect![[r#"
            $ hm --agent devops claim create x --scope $HOME/x
            hm: scope `$HOME/x` holds a variable, an address or a drive: write the path itself, relative to the workspace root; correct `scope` and run it again
            [exit 2]
            $ hm --agent devops claim create x --scope ~/x
            hm: scope `~/x` holds a variable, an address or a drive: write the path itself, relative to the workspace root; correct `scope` and run it again
            [exit 2]
            $ hm --agent devops claim create x --scope src/[
            hm: `src/[` is no glob: unclosed character class; missing ']'; write src/*.rs, or src/** for all below; correct `scope` and run it again
            [exit 2]
            $ hm --agent devops task add x --scope ${SRC}/a
            hm: scope `${SRC}/a` holds a variable, an address or a drive: write the path itself, relative to the workspace root; correct `scope` and run it again
            [exit 2]
            $ hm claim list --scope $HOME/x
            hm: scope `$HOME/x` holds a variable, an address or a drive: write the path itself, relative to the workspace root; correct `scope` and run it again
            [exit 2]
        "#]],
    );
}

#[test]
fn a_dead_end_on_a_glob_warns_at_the_paths_it_matches() {
    let shell = Shell::new();
    let made = shell.run(
        "hm --agent devops claim create \"vendored openssl breaks the musl target\" --type negative --scope src/**/*.rs",
    );
    assert!(made.status.success(), "{made:?}");
    let warned = |statement: &str, scope: &str| {
        let line = format!("hm --agent analyst --json claim create \"{statement}\" --scope {scope}");
        !shell.json(&line)["warnings"].as_array().expect("warnings").is_empty()
    };
    assert!(warned("the musl target needs openssl", "src/db/pool.rs"));
    assert!(!warned("the musl target needs openssl", "src/ui/app.ts"));
}

#[test]
fn a_lock_on_a_glob_holds_the_files_it_matches() {
    let bench = Bench::new();
    let hm = |session: &str, agent: &str, arguments: &[&str]| {
        let mut command = std::process::Command::new(bench.binary());
        command.args(["--agent", agent, "--json"]).args(arguments).current_dir(bench.root());
        let output = command.env("HM_SESSION", session).output().expect("hm runs");
        serde_json::from_slice::<Value>(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    };
    let task = |title: &str| {
        hm("one", "devops", &["task", "add", title])["task_id"].as_str().expect("an id").to_owned()
    };
    let (one, other, third) = (task("one"), task("other"), task("third"));
    hm("one", "devops", &["task", "claim", &one, "--lock", "src/db/*.rs"]);
    let claimed = hm("two", "analyst", &["task", "claim", &other, "--lock", "src/db/pool.rs"]);
    assert_eq!(claimed["code"], "scope_locked", "{claimed}");
    let claimed = hm("two", "analyst", &["task", "claim", &third, "--lock", "src/db/schema.sql"]);
    assert_eq!(claimed["warnings"], json!([]), "{claimed}");
}

/// Red before: a printed command named its scope from the root, and meant another file in the directory of its reader.
#[test]
fn a_printed_command_means_the_same_file_wherever_it_is_pasted() {
    let shell = Shell::new();
    let root = shell.workspace().root().to_owned();
    std::fs::create_dir_all(root.join("src/sub/src")).expect("a directory");
    for file in ["calc.py", "src/calc.py", "src/sub/calc.py", "src/sub/src/calc.py"] {
        std::fs::write(root.join(file), "1").expect("a file");
    }
    let said = |dir: &str, line: &str| {
        let output = run_in(&shell, dir, line);
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    };
    let claims = [("C1", "calc.py"), ("C2", "src/calc.py")];
    for (what, scope) in [("one", "calc.py"), ("other", "src/calc.py"), ("third", "tag:sums")] {
        said("", &format!("hm --agent devops claim create \"the {what} adds\" --scope {scope}"));
    }
    let mut number = 100;
    for (name, scope) in claims {
        for dir in ["", "src", "src/sub"] {
            let refused = said(dir, &format!("hm --agent devops claim challenge {name} \"it is wrong\""));
            let printed = refused.split_once("--scope ").unwrap_or_else(|| panic!("{refused}")).1;
            let printed = printed.split([' ', '`']).next().expect("a word");
            // At the root a plain path is right, and anywhere below it the printed one.
            let pasted: &[&str] = if dir.is_empty() { &[""] } else { &["", "src", "src/sub"] };
            for there in pasted {
                number += 1;
                let meant = scopes_in(&shell, there, number, printed);
                assert_eq!(meant, json!([scope]), "{printed} of {dir:?} in {there:?}");
            }
        }
    }
    // A name and a placeholder are the same anywhere.
    let refused = said("src", "hm --agent devops claim challenge C3 \"it is wrong\"");
    assert!(refused.contains("tag:sums") && !refused.contains(":/"), "{refused}");
}
