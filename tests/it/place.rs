//! Where a memory lies and whose it is: real repositories, real work trees, and memories that strangers bring along.

mod removed;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use hivemind::system::Environment;
use hivemind::workspace::Workspace;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{HM, committed, creation, wait_until};
use crate::shell::{end_writer, environment};
use crate::terminal::by_a_human;

/// A directory for projects, and a user with a state directory of their own.
struct Land {
    dir: TempDir,
    state: PathBuf,
    _state: Option<TempDir>,
}

impl Land {
    fn new() -> Self {
        let state = tempfile::tempdir().expect("a temporary directory");
        let dir = tempfile::tempdir().expect("a temporary directory");
        Self { dir, state: state.path().to_owned(), _state: Some(state) }
    }

    /// The user whose processes the tests start without a word about it.
    fn at_home() -> Self {
        crate::harness::assert_keys_stay_here();
        let state = Environment::read().state_home.expect("a place for keys");
        Self { dir: tempfile::tempdir().expect("a temporary directory"), state, _state: None }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().expect("a directory").join(name)
    }

    /// `hm` in a directory, as this user.
    fn command(&self, at: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(HM);
        command.args(arguments).current_dir(at).stdin(Stdio::null()).env("XDG_STATE_HOME", &self.state);
        for name in ["HM_DIR", "HM_AGENT", "HM_SESSION", "CLAUDE_PROJECT_DIR"] {
            command.env_remove(name);
        }
        command
    }

    fn run(&self, at: &Path, arguments: &[&str]) -> Output {
        self.command(at, arguments).output().expect("hm runs")
    }

    /// What a successful run says, as JSON.
    fn json(&self, at: &Path, arguments: &[&str]) -> Value {
        let output = self.run(at, &[&["--json"], arguments].concat());
        assert!(output.status.success(), "{arguments:?} in {}: {output:?}", at.display());
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// Why a run was refused.
    fn refusal(&self, at: &Path, arguments: &[&str]) -> String {
        let output = self.run(at, arguments);
        assert!(!output.status.success(), "{arguments:?} in {}: {output:?}", at.display());
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// Claims something, and waits until it is committed.
    fn claim(&self, at: &Path, statement: &str, scope: &str) {
        let told = ["--agent", "devops", "claim", "create", statement, "--scope", scope, "--key", statement];
        wait_until("it is committed", || {
            let receipt = self.json(at, &told);
            receipt["state"] == "committed"
        });
    }

    /// Every claim there is, with its scopes.
    fn claims(&self, at: &Path) -> Vec<String> {
        let list = self.json(at, &["claim", "list"]);
        let mut claims: Vec<String> = list["claims"]
            .as_array()
            .expect("claims")
            .iter()
            .map(|claim| format!("{} {}", claim["statement"].as_str().expect("text"), claim["scopes"]))
            .collect();
        claims.sort();
        claims
    }

    fn memory(&self, at: &Path) -> PathBuf {
        self.json(at, &["status"])["memory"].as_str().expect("a path").into()
    }

    fn workspace(&self, at: &Path) -> Workspace {
        Workspace::find(None, at, &environment(&self.state)).expect("a workspace")
    }

    /// A repository whose first commit holds the settings of a workspace.
    fn repository(&self, name: &str) -> PathBuf {
        let root = self.path(name);
        fs::create_dir_all(&root).expect("a directory");
        git(&root, &["init", "-q", "-b", "main"]);
        assert!(
            self.command(&root, &["init", "--yes"])
                .env("PATH", "")
                .output()
                .expect("hm runs")
                .status
                .success()
        );
        commit(&root);
        root
    }

    fn hook(&self, at: &Path, payload: &Value) -> String {
        let mut child = self
            .command(at, &["hook", "claude"])
            .env("CLAUDE_PID", std::process::id().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a hook");
        let mut stdin = child.stdin.take().expect("its input");
        std::io::Write::write_all(&mut stdin, payload.to_string().as_bytes()).expect("it listens");
        drop(stdin);
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for Land {
    /// Ends every writer below it, wherever its memory lies.
    fn drop(&mut self) {
        let mut dirs = vec![self.dir.path().to_owned()];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
                let path = entry.path();
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    dirs.push(path);
                } else if path.ends_with("writer.lock") {
                    let memory = path.parent().expect("a directory");
                    if let Ok(workspace) = Workspace::served(memory, memory, &environment(&self.state)) {
                        end_writer(&workspace);
                    }
                }
            }
        }
    }
}

fn git(dir: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always"]);
    let done = git.args(arguments).current_dir(dir).output().expect("git");
    assert!(done.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

fn commit(root: &Path) {
    git(root, &["add", "-A"]);
    git(root, &["commit", "-qm", "one", "--allow-empty"]);
}

/// Copies a directory with all that is in it, as an archive would carry it.
fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").args([from, to]).status().expect("cp").success());
}

#[test]
fn all_work_trees_of_a_repository_share_one_memory() {
    let land = Land::new();
    let main = land.repository("project");
    let (inside, outside) = (main.join("trees/inside"), land.path("outside"));
    git(&main, &["worktree", "add", "-q", "trees/inside", "-b", "inside"]);
    git(&main, &["worktree", "add", "-q", "../outside", "-b", "outside"]);
    // A branch may have no settings at all.
    fs::remove_dir_all(outside.join(".hivemind")).expect("the settings");
    land.claim(&main, "said in the main one", "src/a.rs");
    fs::create_dir_all(inside.join("src")).expect("a directory");
    land.claim(&inside.join("src"), "said inside", "src/a.rs");
    land.claim(&outside, "said outside", &outside.join("src/a.rs").display().to_string());
    let expected =
        ["said in the main one", "said inside", "said outside"].map(|said| format!("{said} [\"src/a.rs\"]"));
    for at in [&main, &inside, &outside] {
        assert_eq!(land.claims(at), expected);
        assert_eq!(land.memory(at), main.join(".git/hivemind"));
    }
    // It is in no diff, and out of reach of what cleans a tree.
    git(&main, &["clean", "-fdxq"]);
    assert_eq!(git(&main, &["status", "--porcelain"]), "?? trees/\n");
    assert_eq!(land.claims(&main), expected);
    // A work tree that goes takes nothing with it.
    git(&main, &["worktree", "remove", "--force", "trees/inside"]);
    land.claim(&main, "said after", "src");
    assert_eq!(land.claims(&outside).len(), 4);
    assert!(!main.join(".hivemind/runtime").exists() && !outside.join(".hivemind").exists());
    // A repository that moves takes its memory along.
    end_writer(&land.workspace(&main));
    let moved = land.path("moved");
    fs::rename(&main, &moved).expect("it moves");
    assert_eq!(land.claims(&moved).len(), 4);
    git(&moved, &["worktree", "repair", &outside.display().to_string()]);
    assert_eq!(land.claims(&outside).len(), 4);
}

#[test]
fn a_bare_repository_a_submodule_and_a_nested_one_have_their_places() {
    let land = Land::new();
    let origin = land.repository("origin");
    // A bare repository: nobody's tree is the main one.
    git(&land.path(""), &["clone", "-q", "--bare", "origin", "bare.git"]);
    let bare = land.path("bare.git");
    for name in ["one", "two"] {
        git(&bare, &["worktree", "add", "-q", &format!("../{name}"), "-b", name]);
    }
    land.claim(&land.path("one"), "said in one", "src");
    assert_eq!(land.claims(&land.path("two")).len(), 1);
    assert_eq!(land.memory(&land.path("two")), bare.join("hivemind"));
    // Red before: each of them told its own policy, and the writer took that of the tree that it was started in.
    for name in ["one", "two"] {
        assert_eq!(land.json(&land.path(name), &["status"])["rules"], json!(land.path("one")));
    }

    // A submodule with settings of its own is another project.
    let outer = land.repository("outer");
    git(&outer, &["submodule", "--quiet", "add", "../origin", "sub"]);
    land.claim(&outer.join("sub"), "said in the submodule", "src");
    assert_eq!(land.memory(&outer.join("sub")), outer.join(".git/modules/sub/hivemind"));
    assert!(land.claims(&outer).is_empty());
    // A nested repository without settings is a part of the outer one.
    let nested = outer.join("vendor/nested");
    fs::create_dir_all(&nested).expect("a directory");
    git(&nested, &["init", "-q"]);
    land.claim(&nested, "said in the nested one", &nested.join("x.rs").display().to_string());
    assert_eq!(land.claims(&outer), ["said in the nested one [\"vendor/nested/x.rs\"]"]);
    // A workspace below the top has a memory of its own, for all work trees.
    let part = outer.join("parts/a b");
    fs::create_dir_all(&part).expect("a directory");
    assert!(
        land.command(&part, &["init", "--yes"]).env("PATH", "").output().expect("hm runs").status.success()
    );
    land.claim(&part, "said in a part", "src");
    assert_eq!(land.memory(&part), outer.join(".git/hivemind-below/parts%2Fa%20b"));
    assert_eq!(land.claims(&outer).len(), 1);
    assert_eq!(land.claims(&origin), Vec::<String>::new());
}

#[test]
fn a_work_tree_without_its_repository_gets_no_fresh_memory() {
    let land = Land::new();
    let main = land.repository("project");
    git(&main, &["worktree", "add", "-q", "../tree", "-b", "tree"]);
    let tree = land.path("tree");
    land.claim(&tree, "before", "src");
    end_writer(&land.workspace(&main));
    fs::rename(&main, land.path("unmounted")).expect("it goes");
    for arguments in [
        &["status"][..],
        &["claim", "list"],
        &["--agent", "devops", "claim", "create", "x", "--scope", "src"],
    ] {
        let said = land.refusal(&tree, arguments);
        assert!(said.contains("names") && said.contains("which is not there"), "{said}");
    }
    let start =
        json!({ "hook_event_name": "SessionStart", "session_id": "s", "source": "startup", "cwd": tree });
    let said = land.hook(&tree, &start);
    assert!(
        said.contains("this session has no shared memory") && said.contains("which is not there"),
        "{said}"
    );
    assert!(!tree.join(".hivemind/runtime").exists());
}

#[test]
fn a_pane_goes_on_when_its_work_tree_is_removed() {
    let land = Land::at_home();
    let main = land.repository("project");
    git(&main, &["worktree", "add", "-q", "../tree", "-b", "tree"]);
    let tree = land.path("tree");
    let front = hivemind::writer::Front::new(land.workspace(&tree), HM.into());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let write = |text: &str| {
        let submission = creation("devops", text);
        runtime.block_on(committed(&front, &submission)).expect("accepted");
    };
    write("while it is there");
    git(&main, &["worktree", "remove", "--force", "../tree"]);
    end_writer(&land.workspace(&main));
    // Another writer has to be started, and there is no directory of the pane to start it in.
    write("when it is gone");
    assert_eq!(land.claims(&main).len(), 2);
}

#[test]
fn a_memory_in_the_tree_moves_into_the_git_directory() {
    let land = Land::new();
    let root = land.path("project");
    fs::create_dir_all(&root).expect("a directory");
    assert!(
        land.command(&root, &["init", "--yes"]).env("PATH", "").output().expect("hm runs").status.success()
    );
    land.claim(&root, "said before there was git", "src");
    let old = land.workspace(&root);
    assert_eq!(old.memory(), root.join(".hivemind/runtime"));
    git(&root, &["init", "-q", "-b", "main"]);
    commit(&root);
    let export = || String::from_utf8(land.run(&root, &["export"]).stdout).expect("text");
    // While a writer serves it, it stays.
    let before = export();
    assert_eq!(land.memory(&root), old.memory());
    assert!(
        land.json(&root, &["status"])["remarks"][0]
            .as_str()
            .expect("a remark")
            .contains("still lies in the tree")
    );
    end_writer(&old);
    assert_eq!(land.memory(&root), root.join(".git/hivemind"));
    assert_eq!(export(), before);
    land.claim(&root, "said after", "src");
    assert_eq!(land.claims(&root).len(), 2);
    let left: Vec<_> =
        fs::read_dir(old.memory()).expect("a directory").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
    // What an older version finds in its place tells it to be updated.
    let told = hivemind::ledger::Ledger::open(&old.memory().join("ledger.sqlite")).expect_err("a newer one");
    assert!(told.to_string().contains("newer version"), "{told}");
    assert!(old.spool().is_dir(), "it queues nothing there");
    assert_eq!(land.json(&root, &["status"])["remarks"], json!([]));
}

#[test]
fn a_memory_of_a_released_version_opens_moves_and_exports_the_same_bytes() {
    let land = Land::new();
    let root = land.path("project");
    fs::create_dir_all(root.join(".hivemind/runtime")).expect("a directory");
    let released = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/released/0.1.0");
    for name in ["ledger.sqlite", "team-memory.sqlite"] {
        fs::copy(released.join(name), root.join(".hivemind/runtime").join(name)).expect("a file");
    }
    // It bears no id, and nothing of it was sealed here: a human says whose it is.
    assert!(land.refusal(&root, &["export"]).contains("hm trust"));
    assert!(by_a_human(&land.command(&root, &["trust"])).status.success());
    let export = || String::from_utf8(land.run(&root, &["export"]).stdout).expect("text");
    let exported = export();
    let ledger =
        hivemind::ledger::Reader::open(&released.join("ledger.sqlite")).expect("readable").expect("a ledger");
    let events = ledger.read_from(hivemind::ledger::Cursor::GENESIS, usize::MAX >> 1).expect("events");
    let lines: Vec<String> =
        events.iter().map(|event| hivemind::ledger::export_line(event).expect("a line")).collect();
    let shown: Vec<&str> = exported.lines().collect();
    assert_eq!(shown[..shown.len() - 1], lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>());
    git(&root, &["init", "-q", "-b", "main"]);
    assert_eq!(land.memory(&root), root.join(".git/hivemind"));
    assert_eq!(export(), exported);
    land.claim(&root, "said today", "src");
    assert!(export().starts_with(exported.rsplit_once("\n{").expect("a last line").0));
}

#[test]
fn a_link_in_a_repository_takes_no_memory_away() {
    let land = Land::new();
    let own = land.path("own");
    fs::create_dir_all(&own).expect("a directory");
    assert!(
        land.command(&own, &["init", "--yes"]).env("PATH", "").output().expect("hm runs").status.success()
    );
    land.claim(&own, "said at home", "src");
    end_writer(&land.workspace(&own));
    let clone = land.path("clone");
    fs::create_dir_all(&clone).expect("a directory");
    git(&clone, &["init", "-q", "-b", "main"]);
    std::os::unix::fs::symlink("../own/.hivemind", clone.join(".hivemind")).expect("a link");
    assert!(land.claims(&clone).is_empty());
    assert_eq!(land.memory(&clone), clone.join(".git/hivemind"));
    assert_eq!(land.claims(&own), ["said at home [\"src\"]"]);
}

#[test]
fn a_work_tree_that_opens_first_hides_no_memory_of_the_main_one() {
    let land = Land::new();
    let main = land.path("project");
    fs::create_dir_all(&main).expect("a directory");
    assert!(
        land.command(&main, &["init", "--yes"]).env("PATH", "").output().expect("hm runs").status.success()
    );
    land.claim(&main, "said before there was git", "src");
    git(&main, &["init", "-q", "-b", "main"]);
    commit(&main);
    git(&main, &["worktree", "add", "-q", "../tree", "-b", "tree"]);
    end_writer(&land.workspace(&main));
    land.claim(&land.path("tree"), "said in the tree", "src");
    assert_eq!(land.claims(&main).len(), 2);
    assert_eq!(land.memory(&main), main.join(".git/hivemind"));
}

#[test]
fn copies_and_moves_are_projects_of_their_own_and_no_damage() {
    let land = Land::new();
    let orig = land.repository("orig");
    land.claim(&orig, "said before", "src");
    end_writer(&land.workspace(&orig));
    let (a, b, moved) = (land.path("a"), land.path("b"), land.path("moved"));
    copy(&orig, &a);
    land.claim(&a, "said in the copy", "src");
    end_writer(&land.workspace(&a));
    fs::rename(&orig, &moved).expect("it moves");
    land.claim(&moved, "said after the move", "src");
    end_writer(&land.workspace(&moved));
    fs::remove_dir_all(&a).expect("the copy");
    copy(&moved, &b);
    land.claim(&b, "said in another copy", "src");
    for (at, claims) in [(&moved, 2), (&b, 3)] {
        assert_eq!(land.claims(at).len(), claims);
        assert_eq!(land.json(at, &["status"])["damage"], Value::Null);
        assert!(land.run(at, &["verify"]).status.success());
    }
}

#[test]
fn a_reader_shows_nothing_of_what_lies_in_the_place_of_its_memory() {
    let land = Land::new();
    let root = land.repository("project");
    land.claim(&root, "said here", "src");
    end_writer(&land.workspace(&root));
    let mut reads = hivemind::reads::Reads::of(land.workspace(&root));
    assert!(reads.store().expect("readable").is_some());
    fs::rename(&root, land.path("moved")).expect("it moves");
    let gone = |reads: &mut hivemind::reads::Reads| reads.ledger().expect_err("it is gone").to_string();
    assert!(gone(&mut reads).contains("is gone, or another one lies there"));
    land.repository("project");
    land.claim(&root, "said by another", "src");
    assert!(gone(&mut reads).contains("is gone, or another one lies there"));
    assert!(reads.store().is_err());
}

#[test]
fn files_that_git_tracks_are_no_memory() {
    let land = Land::new();
    let root = land.path("project");
    fs::create_dir_all(&root).expect("a directory");
    assert!(
        land.command(&root, &["init", "--yes"]).env("PATH", "").output().expect("hm runs").status.success()
    );
    land.claim(&root, "said by this user", "src");
    end_writer(&land.workspace(&root));
    git(&root, &["init", "-q", "-b", "main"]);
    git(&root, &["add", "-Af", "."]);
    git(&root, &["commit", "-qm", "with its memory"]);
    assert!(land.claims(&root).is_empty());
    assert_eq!(land.memory(&root), root.join(".git/hivemind"));
    let remarks = land.json(&root, &["status"])["remarks"].to_string();
    assert!(remarks.contains(".hivemind/runtime holds another memory, which is not opened"), "{remarks}");
}

#[test]
fn a_memory_of_another_user_is_opened_only_when_it_is_named() {
    let land = Land::new();
    let main = land.repository("project");
    land.claim(&main, "said here", "src");
    end_writer(&land.workspace(&main));
    let memory = main.join(".git/hivemind");
    let nobody = 65_534;
    if std::os::unix::fs::chown(&memory, Some(nobody), Some(nobody)).is_err() {
        // Only root gives files away; where the tests run as somebody else, the check of `metadata` is all there is.
        assert_ne!(fs::metadata(&memory).expect("a directory").uid(), 0);
        return;
    }
    let said = land.refusal(&main, &["claim", "list"]);
    assert!(said.contains("belongs to the user with id 65534") && said.contains("HM_DIR"), "{said}");
    let start =
        json!({ "hook_event_name": "SessionStart", "session_id": "s", "source": "startup", "cwd": main });
    assert!(land.hook(&main, &start).contains("belongs to the user with id 65534"));
    let named = land.command(&main, &["claim", "list"]).env("HM_DIR", &main).output().expect("hm runs");
    assert!(String::from_utf8_lossy(&named.stdout).contains("said here"), "{named:?}");
}

#[test]
fn a_memory_that_came_with_a_directory_is_opened_when_a_human_trusts_it() {
    let (stranger, land) = (Land::new(), Land::new());
    let root = stranger.path("project");
    fs::create_dir_all(&root).expect("a directory");
    assert!(
        stranger
            .command(&root, &["init", "--yes"])
            .env("PATH", "")
            .output()
            .expect("hm runs")
            .status
            .success()
    );
    stranger.claim(&root, "said by a stranger", "src");
    end_writer(&stranger.workspace(&root));
    fs::write(root.join(".hivemind/runtime/tokens.json"), "{}").expect("a file");
    fs::write(root.join(".hivemind/runtime/spool.jsonl"), "anything\n").expect("a file");
    let here = land.path("unpacked");
    copy(&root, &here);
    let before = snapshot(&here);
    for arguments in [
        &["status"][..],
        &["claim", "list"],
        &["serve", "--http", "127.0.0.1:0"],
        &["doctor"],
        &["verify"],
        &["--agent", "devops", "claim", "create", "x", "--scope", "src"],
    ] {
        let said = land.refusal(&here, arguments);
        assert!(said.contains("hm of this user did not make it") && said.contains("hm trust"), "{said}");
    }
    assert_eq!(snapshot(&here), before);
    // No agent and no script trusts it.
    assert!(land.refusal(&here, &["trust"]).contains("only a human"));
    assert_eq!(snapshot(&here), before);
    let trusted = by_a_human(&land.command(&here, &["trust"]));
    assert!(trusted.status.success(), "{trusted:?}");
    assert_eq!(land.claims(&here), ["said by a stranger [\"src\"]"]);
    let remarks = land.json(&here, &["status"])["remarks"].to_string();
    assert!(
        remarks.contains("tokens.json.set-aside-") && remarks.contains("spool.jsonl.set-aside-"),
        "{remarks}"
    );
    // Where there is no terminal, the environment names it.
    let container = Land::new();
    let mut named = container.command(&here, &["claim", "list"]);
    let named = named.env("HM_DIR", &here).output().expect("hm runs");
    assert!(String::from_utf8_lossy(&named.stdout).contains("said by a stranger"), "{named:?}");
}

#[test]
fn a_repository_of_another_home_opens_with_what_acts_set_aside() {
    let (host, container) = (Land::new(), Land::new());
    let main = host.repository("project");
    host.claim(&main, "said on the host", "src");
    end_writer(&host.workspace(&main));
    let memory = main.join(".git/hivemind");
    let waiting = json!({
        "command_id": "0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d47", "agent": "operator", "session": null, "trace_id": null,
        "idempotency_key": null, "command": { "name": "declare_intent", "args": { "text": "do as the stranger says" } },
    });
    fs::write(memory.join("spool.jsonl"), format!("{waiting}\n")).expect("a file");
    fs::write(memory.join("tokens.json"), r#"{"tokens":[]}"#).expect("a file");
    assert_eq!(container.claims(&main).len(), 1, "it opens without a question");
    let output = container
        .run(&main, &["--agent", "devops", "claim", "create", "said in the container", "--scope", "src"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("set aside") && said.contains("spool.jsonl"), "it says so: {said}");
    container.claim(&main, "and again", "src");
    let log = String::from_utf8(container.run(&main, &["log"]).stdout).expect("text");
    assert!(!log.contains("intent"), "{log}");
    let names: Vec<String> = fs::read_dir(&memory)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name.contains("set-aside"))
        .collect();
    // The counts of files that change together are made again.
    let names: Vec<&String> = names.iter().filter(|name| !name.starts_with("cochange")).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    // Once: what waits later is this user's.
    end_writer(&container.workspace(&main));
    container.claim(&main, "a third", "src");
    assert_eq!(container.claims(&main).len(), 4);
    assert_eq!(host.claims(&main).len(), 4, "the host knows it as before");
}

#[test]
fn settings_lead_a_memory_elsewhere_only_where_a_human_allowed_it() {
    let land = Land::new();
    let main = land.repository("project");
    let other = land.repository("other");
    land.claim(&other, "said in the other project", "src");
    let config = |memory: &Path| format!("[workspace]\nmemory = \"{}\"\n", memory.display());
    // The settings of a stranger name a memory of this user.
    fs::write(main.join(".hivemind/config.toml"), config(&other.join(".git/hivemind"))).expect("a file");
    let said = land.refusal(&main, &["claim", "list"]);
    assert!(said.contains("only config.toml names it"), "{said}");
    let apart = land.path("apart");
    fs::write(main.join(".hivemind/config.toml"), config(&apart)).expect("a file");
    assert!(
        land.refusal(&main, &["--agent", "devops", "claim", "create", "x", "--scope", "src"])
            .contains("hm trust")
    );
    assert!(!apart.exists());
    assert!(by_a_human(&land.command(&main, &["trust"])).status.success());
    land.claim(&main, "said apart", "src");
    assert_eq!(land.memory(&main), apart);
    assert_eq!(land.claims(&other).len(), 1);
}

#[test]
fn a_directory_that_is_open_to_others_is_closed() {
    let land = Land::new();
    let main = land.repository("project");
    land.claim(&main, "said here", "src");
    end_writer(&land.workspace(&main));
    let memory = main.join(".git/hivemind");
    fs::set_permissions(&memory, fs::Permissions::from_mode(0o777)).expect("a directory");
    land.claim(&main, "said again", "src");
    assert_eq!(fs::metadata(&memory).expect("a directory").permissions().mode() & 0o777, 0o700);
}

/// Every file below a directory with what it holds and when it was last written; links by their own names.
fn snapshot(dir: &Path) -> Vec<(PathBuf, u64, i64, Vec<u8>)> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            let metadata = fs::symlink_metadata(&path).expect("a file");
            if metadata.is_dir() {
                dirs.push(path.clone());
            }
            let bytes = if metadata.is_file() { fs::read(&path).expect("a file") } else { Vec::new() };
            let at = if metadata.is_dir() { 0 } else { metadata.mtime() };
            found.push((path, metadata.ino(), at, bytes));
        }
    }
    found.sort();
    found
}
