//! Profiles: what a file may say, what a request may ask, and the one argument each value becomes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use hivemind::domain::experiment::Prediction;
use hivemind::domain::scope::Scope;
use hivemind::runner::profile::{Catalog, Environment, Profile, Request};
use hivemind::trusted::TrustedProfiles;

use crate::shell::Shell;

/// A workspace with a few files in it.
struct Project {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl Project {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path().canonicalize().expect("its real path").join("shop");
        for (name, text) in [
            ("src/pool.rs", "fn main() {}"),
            ("ui/cart.test.js", "test"),
            ("ui/-x.js", "an option?"),
            (".hivemind/runtime/tokens.json", "{}"),
            ("../outside.txt", "not theirs"),
        ] {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a directory")).expect("its directory");
            fs::write(path, text).expect("a file");
        }
        std::os::unix::fs::symlink("../outside.txt", root.join("leads-out")).expect("a link");
        Self { _dir: dir, root }
    }

    fn profile(&self, name: &str, text: &str) {
        let dir = self.root.join(".hivemind/profiles");
        fs::create_dir_all(&dir).expect("a directory");
        fs::write(dir.join(name), text).expect("a profile");
    }

    fn catalog(&self) -> Catalog {
        Catalog::load(&self.root.join(".hivemind"), &self.trusted())
    }

    fn trusted(&self) -> TrustedProfiles {
        TrustedProfiles::of(&self.root.join("trusted"))
    }
}

fn parsed(text: &str) -> Result<Profile, String> {
    Profile::parse("p".parse().expect("a name"), text).map_err(|problem| problem.to_string())
}

fn profile(text: &str) -> Profile {
    parsed(&format!("description = 'a test'\ntimeout_ms = 1000\n{text}")).expect("a profile")
}

fn request(args: &[(&str, &str)]) -> Request {
    let args: BTreeMap<_, _> = args.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    Request { args, ..Request::default() }
}

fn check(profile: &Profile, root: &Path, values: &[&str], expected: Expect) {
    let name = profile.params.keys().next().expect("a parameter").clone();
    let lines: Vec<String> = values
        .iter()
        .map(|value| match profile.plan(&request(&[(&name, value)]), root) {
            Ok(plan) => format!("{value:?} -> {:?}", plan.argv),
            Err(no) => format!("{value:?} -> {no}"),
        })
        .collect();
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

#[test]
fn what_ships_parses_and_says_what_it_does() {
    let project = Project::new();
    let lines: Vec<String> = project
        .catalog()
        .profiles()
        .map(|known| format!("{}: {}\n", known.profile.name, known.profile.template().join(" ")))
        .collect();
    expect![[r#"
        cargo-check: cargo check --workspace --all-targets
        cargo-clippy: cargo clippy --workspace --all-targets -- -D warnings
        cargo-test: cargo test --workspace --no-fail-fast
        cargo-test-one: cargo test --workspace --no-fail-fast -- {name}
        eslint-file: npx --no-install eslint -- {file}
        git-grep: git grep --no-color --line-number --fixed-strings -e {text} -- {path}
        git-grep-count: git grep --no-color --count --fixed-strings -e {text} -- {path}
        go-test: go test ./...
        jest-file: npx --no-install jest --no-coverage --testNamePattern={test} -- {file}
        make-target: make -- {target}
        npm-test: npm test
        pytest: python3 -m pytest -q
        pytest-file: python3 -m pytest -q -- {file}
        researcher-claude: claude -p {prompt} --strict-mcp-config --mcp-config {"mcpServers":{"hivemind":{"type":"stdio","command":"hm","args":["serve"]}}} --allowedTools mcp__hivemind,ListMcpResourcesTool,ReadMcpResourceTool,Read,Grep,Glob
        researcher-codex: codex exec --sandbox read-only --skip-git-repo-check -c approval_policy="never" -c mcp_servers.hivemind.command="hm" -c mcp_servers.hivemind.args=["serve"] -c mcp_servers.hivemind.env_vars=["HM_AGENT","HM_DIR","HM_SESSION","HM_TASK","XDG_RUNTIME_DIR","XDG_STATE_HOME"] -c mcp_servers.hivemind.default_tools_approval_mode="approve" {prompt}
    "#]]
    .assert_eq(&lines.concat());
    let shipped = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("profiles")).expect("profiles");
    assert_eq!(shipped.count(), lines.len(), "a profile in profiles/ is not in the binary");
}

#[test]
fn mistakes_in_a_file_are_named() {
    let head = "description = 'x'\ntimeout_ms = 1000\n";
    let files = [
        "argv = []".to_owned(),
        "argv = 'cargo test'".to_owned(),
        "argv = ['{tool}', 'x']\n[params.tool]\nkind = 'regex'\npattern = '.*'".to_owned(),
        "argv = ['cat', '{file}']".to_owned(),
        "argv = ['cat']\n[params.file]\nkind = 'path'".to_owned(),
        "argv = ['cat', '{n}']\n[params.n]\nkind = 'int'\nmin = 5\nmax = 4".to_owned(),
        "argv = ['cat', '{n}']\n[params.n]\nkind = 'int'\nmin = -5".to_owned(),
        "argv = ['cat', '{n}']\n[params.n]\nkind = 'enum'\nvalues = ['a', '-b']".to_owned(),
        "argv = ['cat', '{n}']\n[params.n]\nkind = 'regex'\npattern = '(a'".to_owned(),
        "argv = ['cat', '{n}']\n[params.n]\nkind = 'path'\nmin = 1".to_owned(),
        "argv = ['cat']\nscopes = ['src/[a']".to_owned(),
        "argv = ['cat']\ncwd = '../other'".to_owned(),
        "argv = ['cat']\n[env]\npass = ['LD_PRELOAD']".to_owned(),
        "argv = ['cat']\n[limits]\noutput_cap_bytes = 10".to_owned(),
        "argv = ['cat']\nshell = true".to_owned(),
        "argv = ['cat']\n[expect]\nexit = 0\nfails = [0, 1]".to_owned(),
        "argv = ['cat']\n[expect]\nexit = 0\nfails = [127]".to_owned(),
        "argv = ['cat']\n[expect]\nexit = 0\nran = '(a'".to_owned(),
        "argv = ['cat']\n[expect]\nexit = 0\nran = 'a*'".to_owned(),
        "argv = ['agent', '-p']\n[agent]".to_owned(),
        "argv = ['agent', '{prompt}']\n[expect]\nexit = 0\n[agent]".to_owned(),
        "argv = ['agent', '{model}', '{prompt}']\n[agent]\n[params.model]\nkind = 'enum'\nvalues = ['m']"
            .to_owned(),
        "argv = ['agent', '{prompt}']\n[agent]\n[params.prompt]\nkind = 'path'\ndefault = '.'".to_owned(),
        "argv = ['cat', '{prompt}']\n[params.prompt]\nkind = 'prompt'".to_owned(),
        "argv = ['agent', '{prompt}']\n[agent]\nsession = 's'".to_owned(),
    ];
    let told: Vec<String> = files
        .iter()
        .map(|file| {
            parsed(&format!("{head}{file}")).expect_err(file).lines().last().unwrap_or_default().to_owned()
        })
        .collect();
    expect![[r#"
        argv has 1 to 64 elements: write the program and its arguments, each its own string
        invalid type: string "cargo test", expected a sequence
        argv[0] is `{tool}`: a parameter never chooses the program
        argv names {file}: add [params.file] with its kind
        [params.file] is not in argv: add {file} to an element, or remove it
        [params.n]: min 5 is more than max 4
        invalid value: integer `-5`, expected u64
        [params.n]: values are printable, not empty, and never start with `-`
        [params.n]: unclosed group
        [params.n]: enum takes `values`, regex takes `pattern`, int takes `min` and `max` (0 or more), path at most `pattern`
        scopes: error parsing glob 'src/[a': unclosed character class; missing ']'
        cwd `../other` leaves the workspace: give a directory relative to its root
        [env] pass: `LD_PRELOAD` is no name of a variable, or one that loads code into every program
        `limits.output_cap_bytes` is 10: write 4096 to 8388608
        unknown field `shell`, expected one of `description`, `argv`, `scopes`, `timeout_ms`, `cwd`, `needs`, `version`, `params`, `expect`, `limits`, `env`, `terminal`, `agent`
        [expect]: `fails` holds the code of `exit`: remove it
        [expect]: 126 and 127 say that a program did not run: name other codes
        [expect]: `ran`: unclosed group
        [expect]: `ran` matches no output at all: write what only a check that ran prints
        [agent]: argv has no {prompt}: add it where the agent's command takes the prompt
        [agent]: an agent's exit code shows nothing about a claim: remove [expect]
        [agent]: no call gives a value for [params.model]: add a default, or remove it; {prompt} needs no entry
        [agent]: no call gives a value for [params.prompt]: add a default, or remove it; {prompt} needs no entry
        unknown variant `prompt`, expected one of `path`, `enum`, `regex`, `int`
        unknown field `session`, expected `name`
    "#]].assert_eq(&(told.join("\n") + "\n"));
}

#[cfg(unix)]
#[test]
fn a_path_stays_in_the_workspace() {
    let project = Project::new();
    let cat = profile("argv = ['cat', '--', '{file}']\n[params.file]\nkind = 'path'");
    check(
        &cat,
        &project.root,
        &[
            "src/pool.rs",
            "./src/../src//pool.rs",
            "src",
            "../outside.txt",
            "src/../../outside.txt",
            "/etc/passwd",
            "leads-out",
            ".hivemind/runtime/tokens.json",
            "ui/../.hivemind",
            "src/none.rs",
            "tag:auth",
            "src/pool.rs\0",
            "",
        ],
        expect![[r#"
            "src/pool.rs" -> ["cat", "--", "src/pool.rs"]
            "./src/../src//pool.rs" -> ["cat", "--", "src/pool.rs"]
            "src" -> ["cat", "--", "src"]
            "../outside.txt" -> parameter `file`: it leaves the workspace or names .hivemind: give a path relative to the workspace root
            "src/../../outside.txt" -> parameter `file`: it leaves the workspace or names .hivemind: give a path relative to the workspace root
            "/etc/passwd" -> parameter `file`: it leaves the workspace or names .hivemind: give a path relative to the workspace root
            "leads-out" -> parameter `file`: it leaves the workspace or names .hivemind: give a path relative to the workspace root
            ".hivemind/runtime/tokens.json" -> parameter `file`: it leaves the workspace or names .hivemind: give a path relative to the workspace root
            "ui/../.hivemind" -> parameter `file`: it leaves the workspace or names .hivemind: give a path relative to the workspace root
            "src/none.rs" -> parameter `file`: no such file or directory in the workspace: correct the path
            "tag:auth" -> parameter `file`: no such file or directory in the workspace: correct the path
            "src/pool.rs\0" -> parameter `file`: it holds a control character: use printable characters on one line
            "" -> parameter `file`: it is empty: give a value
        "#]],
    );
    let inside = project.root.join("src/pool.rs");
    let plan = cat.plan(&request(&[("file", inside.to_str().expect("text"))]), &project.root);
    assert_eq!(plan.expect("an absolute path inside").argv[2], "src/pool.rs");
    let below = Request { cwd: Some("ui".to_owned()), ..request(&[("file", "ui/-x.js")]) };
    let no = cat.plan(&below, &project.root).expect_err("an option, seen from ui/");
    assert!(no.to_string().contains("option"), "{no}");
    let from_ui = Request { cwd: Some("ui".to_owned()), ..request(&[("file", "ui/cart.test.js")]) };
    let plan = cat.plan(&from_ui, &project.root).expect("a plan");
    assert_eq!((plan.argv[2].as_str(), plan.cwd), ("cart.test.js", project.root.join("ui")));
}

#[test]
fn other_kinds_take_what_they_say() {
    let project = Project::new();
    let kinds = [
        "argv = ['t', '--level={v}']\n[params.v]\nkind = 'enum'\nvalues = ['low', 'high']",
        "argv = ['t', '{v}']\n[params.v]\nkind = 'regex'\npattern = '[a-z]+|x y'",
        "argv = ['t', '{v}']\n[params.v]\nkind = 'int'\nmin = 1\nmax = 20",
    ];
    let values =
        ["low", "x y", "x y; rm -rf .", "low\n", "007", "0", "21", "+5", "-5", "99999999999999999999"];
    check(
        &profile(kinds[0]),
        &project.root,
        &values,
        expect![[r#"
        "low" -> ["t", "--level=low"]
        "x y" -> parameter `v`: it is none of low, high: choose one
        "x y; rm -rf ." -> parameter `v`: it is none of low, high: choose one
        "low\n" -> parameter `v`: it holds a control character: use printable characters on one line
        "007" -> parameter `v`: it is none of low, high: choose one
        "0" -> parameter `v`: it is none of low, high: choose one
        "21" -> parameter `v`: it is none of low, high: choose one
        "+5" -> parameter `v`: it is none of low, high: choose one
        "-5" -> parameter `v`: it is none of low, high: choose one
        "99999999999999999999" -> parameter `v`: it is none of low, high: choose one
    "#]],
    );
    check(
        &profile(kinds[1]),
        &project.root,
        &values,
        expect![[r#"
        "low" -> ["t", "low"]
        "x y" -> ["t", "x y"]
        "x y; rm -rf ." -> parameter `v`: it does not match [a-z]+|x y from beginning to end
        "low\n" -> parameter `v`: it holds a control character: use printable characters on one line
        "007" -> parameter `v`: it does not match [a-z]+|x y from beginning to end
        "0" -> parameter `v`: it does not match [a-z]+|x y from beginning to end
        "21" -> parameter `v`: it does not match [a-z]+|x y from beginning to end
        "+5" -> parameter `v`: it does not match [a-z]+|x y from beginning to end
        "-5" -> parameter `v`: it does not match [a-z]+|x y from beginning to end
        "99999999999999999999" -> parameter `v`: it does not match [a-z]+|x y from beginning to end
    "#]],
    );
    check(
        &profile(kinds[2]),
        &project.root,
        &values,
        expect![[r#"
        "low" -> parameter `v`: it is no whole number from 1 to 20
        "x y" -> parameter `v`: it is no whole number from 1 to 20
        "x y; rm -rf ." -> parameter `v`: it is no whole number from 1 to 20
        "low\n" -> parameter `v`: it holds a control character: use printable characters on one line
        "007" -> ["t", "7"]
        "0" -> parameter `v`: it is no whole number from 1 to 20
        "21" -> parameter `v`: it is no whole number from 1 to 20
        "+5" -> parameter `v`: it is no whole number from 1 to 20
        "-5" -> parameter `v`: it is no whole number from 1 to 20
        "99999999999999999999" -> parameter `v`: it is no whole number from 1 to 20
    "#]],
    );
}

#[test]
fn one_test_of_a_file_is_one_argument() {
    let project = Project::new();
    let catalog = project.catalog();
    let shipped = &catalog.find(&"pytest-file".parse().expect("a name")).expect("it ships").profile;
    check(
        shipped,
        &project.root,
        &[
            "src/pool.rs",
            "src/pool.rs::test_holds",
            "src/pool.rs::TestPool::test_holds[20-a b]",
            "src/none.rs::test_holds",
            "../pool.rs::test_holds",
            "src/pool.rs::",
            "src/pool.rs::test --collect-only",
            "-p::test_holds",
        ],
        expect![[r#"
            "src/pool.rs" -> ["python3", "-m", "pytest", "-q", "--", "src/pool.rs"]
            "src/pool.rs::test_holds" -> ["python3", "-m", "pytest", "-q", "--", "src/pool.rs::test_holds"]
            "src/pool.rs::TestPool::test_holds[20-a b]" -> ["python3", "-m", "pytest", "-q", "--", "src/pool.rs::TestPool::test_holds[20-a b]"]
            "src/none.rs::test_holds" -> parameter `file`: no such file or directory in the workspace: correct the path
            "../pool.rs::test_holds" -> parameter `file`: it leaves the workspace or names .hivemind: give a path relative to the workspace root
            "src/pool.rs::" -> parameter `file`: it does not match (::[A-Za-z_][A-Za-z0-9_]{0,199}){1,4}(\[[^\[\]]{1,200}\])? from beginning to end
            "src/pool.rs::test --collect-only" -> parameter `file`: it does not match (::[A-Za-z_][A-Za-z0-9_]{0,199}){1,4}(\[[^\[\]]{1,200}\])? from beginning to end
            "-p::test_holds" -> parameter `file`: no such file or directory in the workspace: correct the path
        "#]],
    );
    let jest = &catalog.find(&"jest-file".parse().expect("a name")).expect("it ships").profile;
    let one = request(&[("file", "src/pool.rs"), ("test", "holds 20")]);
    let argv = jest.plan(&one, &project.root).expect("a plan").argv;
    assert!(argv.contains(&"--testNamePattern=holds 20".to_owned()), "{argv:?}");
}

#[test]
fn a_request_only_narrows() {
    let project = Project::new();
    let text =
        "argv = ['t', '{n}']\n[params.n]\nkind = 'int'\ndefault = '4'\n[env]\npass = ['CI', 'NODE_ENV']";
    let own = profile(text);
    let plan = own.plan(&Request::default(), &project.root).expect("defaults are enough");
    assert_eq!(plan.argv, ["t", "4"]);
    assert!(plan.env.has("PATH") && plan.env.has("CI") && !plan.env.has("AWS_SECRET_ACCESS_KEY"));
    let only = |name: &str| Some([name.to_owned()].into());
    let narrower = Request { timeout_ms: Some(500), env_pass: only("CI"), ..Request::default() };
    let plan = own.plan(&narrower, &project.root).expect("less than allowed");
    assert_eq!((plan.timeout_ms, plan.env), (500, Environment::Only(["CI".to_owned()].into())));
    let wider = [
        Request { timeout_ms: Some(2_000), ..Request::default() },
        Request { output_cap_bytes: Some(2 << 20), ..Request::default() },
        Request { env_pass: only("SSH_AUTH_SOCK"), ..Request::default() },
        Request { cwd: Some("..".to_owned()), ..Request::default() },
        Request { cwd: Some("src/pool.rs".to_owned()), ..Request::default() },
        request(&[("n", "1"), ("m", "2")]),
    ];
    let told: Vec<String> = wider
        .iter()
        .map(|request| own.plan(request, &project.root).expect_err("wider").to_string() + "\n")
        .collect();
    expect![[r#"
        `timeout_ms` can only narrow what the profile allows: 100 to 1000
        `output_cap_bytes` can only narrow what the profile allows: 4096 to 1048576
        `env_pass` can only narrow what the profile allows: CI, NODE_ENV
        cwd `..` is no directory inside the workspace: give one relative to its root
        cwd `src/pool.rs` is no directory inside the workspace: give one relative to its root
        profile `p` has no parameter `m`; it takes n
    "#]]
    .assert_eq(&told.concat());
}

#[test]
fn scopes_choose_profiles() {
    let project = Project::new();
    project.profile(
        "auth.toml",
        "description = 'auth'\nargv = ['true']\ntimeout_ms = 1000\nscopes = ['tag:auth', 'api/**/*.py']\n[expect]\nexit = 0",
    );
    let known = project.catalog();
    let tagged = ["tag:auth".parse::<Scope>().expect("a scope")];
    let fitting = |catalog: &Catalog, scopes: &[Scope], settles: bool| -> Vec<String> {
        let fits = |profile: &&Profile| {
            if settles {
                profile.cannot_settle(scopes, Prediction::Passes).is_none()
            } else {
                profile.speaks_to(scopes)
            }
        };
        catalog.trusted().filter(fits).map(|fit| fit.name.to_string()).collect()
    };
    assert!(!fitting(&known, &tagged, false).contains(&"auth".to_owned()), "it is untrusted");
    let auth = known.find(&"auth".parse().expect("a name")).expect("the profile");
    project.trusted().trust(&auth.profile.name, &auth.sha256).expect("a place to keep it");
    let catalog = project.catalog();
    let shown = |scope: &str| {
        let scopes = [scope.parse::<Scope>().expect("a scope")];
        let [speak, settle] = [false, true].map(|settles| fitting(&catalog, &scopes, settles).join(" "));
        format!("{scope}: {speak}\n    settle it: {settle}\n")
    };
    let told: Vec<String> =
        ["src/pool.rs", "src/**/*.rs", "src", "docs/a.md", "tag:auth", "symbol:Pool", "."]
            .map(shown)
            .to_vec();
    expect![[r#"
        src/pool.rs: cargo-check cargo-clippy cargo-test cargo-test-one git-grep git-grep-count make-target
            settle it: cargo-test cargo-test-one
        src/**/*.rs: cargo-check cargo-clippy cargo-test cargo-test-one git-grep git-grep-count make-target
            settle it: cargo-test cargo-test-one
        src: git-grep git-grep-count make-target
            settle it: 
        docs/a.md: git-grep git-grep-count make-target
            settle it: 
        tag:auth: auth git-grep git-grep-count make-target
            settle it: auth
        symbol:Pool: git-grep git-grep-count make-target
            settle it: 
        .: git-grep git-grep-count make-target
            settle it: 
    "#]]
    .assert_eq(&told.concat());
}

/// Red before: a run settled claims by the exit code of `tail`.
#[test]
fn the_exit_code_of_a_filter_settles_nothing() {
    let scopes = ["src/pool.rs".parse::<Scope>().expect("a scope")];
    let why_not = |argv: &str, more: &str| {
        let text = format!("argv = {argv}\nscopes = ['src/**']\n[expect]\nexit = 0\n{more}");
        profile(&text).cannot_settle(&scopes, Prediction::Passes)
    };
    let filtered = "['sh', '-c', 'cargo test 2>&1 | tail -1']";
    let why = why_not(filtered, "").expect("a reason");
    assert!(why.contains("of `tail -1`, the last of a pipe: says nothing about `cargo test`"), "{why}");
    assert!(why.contains("pipefail") && why.contains("add to [expect] `failed`"), "{why}");
    // Red before: that it ran was taken for how it ended.
    assert!(why_not(filtered, "ran = '[0-9] (passed|failed)'").is_some());
    assert!(why_not("['timeout', '9', 'bash', '-c', 'set -e; make | sort | tee log']", "").is_some());
    // Red before: the last turn of a loop decided alone.
    let looped = "['sh', '-c', 'for t in a b; do pytest $t; done']";
    let why = why_not(looped, "").expect("a reason");
    assert!(why.contains("of `for`, and may be 0 though a command in it failed"), "{why}");
    assert!(why.contains("`set -e;`") && why_not(looped, "failed = 'FAILED'").is_none(), "{why}");
    for (argv, more) in [
        (filtered, "failed = 'FAILED'"),
        ("['bash', '-o', 'pipefail', '-c', 'cargo test | tail -1']", ""),
        ("['bash', '-c', 'set -o pipefail; cargo test | tail -1']", ""),
        ("['sh', '-c', 'cargo metadata | grep -q pool']", ""),
        ("['sh', '-c', 'test \"$(cat a | wc -l)\" = 3']", ""),
        ("['grep', '-q', 'a | tail', 'src/pool.rs']", ""),
    ] {
        assert_eq!(why_not(argv, more), None, "{argv} {more}");
    }
}

/// Red before: nothing told the human who trusts a profile that its exit code is that of `tail`.
#[test]
fn a_profile_whose_exit_code_is_that_of_a_filter_is_told_before_it_is_trusted() {
    let shell = Shell::new();
    let dir = shell.workspace().marker_dir().join("profiles");
    fs::create_dir_all(&dir).expect("a directory");
    let text = "description = 'tests'\nargv = ['sh', '-c', 'cargo test | tail -1']\ntimeout_ms = 1000\n\
                scopes = ['src/**']\n[expect]\nexit = 0\n";
    fs::write(dir.join("piped.toml"), text).expect("a profile");
    for line in ["hm profile check", "hm profile trust piped --yes --agent operator", "hm profile show piped"]
    {
        let output = shell.run(line);
        assert!(output.status.success(), "{line}: {output:?}");
        let said = crate::governed::on_one_line(&String::from_utf8_lossy(&output.stdout));
        assert!(said.contains("of `tail -1`, the last of a pipe"), "{line}: {said}");
        assert!(said.contains("pipefail"), "{line}: {said}");
    }
}

#[test]
fn the_project_adds_profiles_and_its_mistakes_are_named() {
    let mut shell = Shell::without_writer();
    let dir = shell.workspace().root().join(".hivemind/profiles");
    fs::create_dir_all(&dir).expect("a directory");
    let write = |text: &str| fs::write(dir.join("tox.toml"), text).expect("a profile");
    assert!(shell.transcript("hm profile check").ends_with("no profiles of the project's own\n"));
    write("description = 'ours'\nargv = ['tox']\ntimeout_ms = 1000\n");
    let listed = shell.transcript("hm profile list");
    assert!(listed.contains("tox (project, untrusted): ours\n    tox\n"), "{listed}");
    write("description = 'ours'\nargv = 'tox'\ntimeout_ms = 1000\n");
    let listed = shell.transcript("hm profile list");
    assert!(
        !listed.contains("tox (") && listed.contains("broken: DIR/.hivemind/profiles/tox.toml"),
        "{listed}"
    );
    expect![[r#"
        $ hm profile check
        broken  DIR/.hivemind/profiles/tox.toml: TOML parse error at line 2, column 8
          |
        2 | argv = 'tox'
          |        ^^^^^
        invalid type: string "tox", expected a sequence
        [exit 1]
    "#]]
    .assert_eq(&shell.transcript("hm profile check"));
    let listed = shell.run("hm profile list --scope src/a.go --json").stdout;
    let json: serde_json::Value = serde_json::from_slice(&listed).expect("JSON");
    let names: Vec<_> = json["profiles"].as_array().expect("a list").iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["git-grep", "git-grep-count", "go-test", "make-target"]);
    assert_eq!(json["profiles"][2]["expect"]["exit"], 0);
}
