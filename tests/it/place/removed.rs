//! A memory that was removed: it is missed, what waits for it is kept, and only the operator goes on without it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Output, Stdio};

use serde_json::{Value, json};

use super::{Land, copy, git};
use crate::harness::{holds_soon, wait_until};
use crate::shell::end_writer;
use crate::terminal::by_a_human;

const GONE: &str = "the ledger that lay here is gone";

impl Land {
    /// Ends the writer and removes the memory.
    fn remove_memory(&self, root: &Path) {
        end_writer(&self.workspace(root));
        fs::remove_dir_all(root.join(".git/hivemind")).expect("the memory");
    }

    /// What an agent's claim is told.
    fn told(&self, root: &Path, statement: &str) -> Value {
        self.json(root, &["--agent", "qa", "claim", "create", statement, "--scope", "src"])
    }

    /// What a human is told who types it; it must succeed.
    fn by_a_human(&self, root: &Path, arguments: &[&str]) -> String {
        let output = by_a_human(&self.command(root, arguments));
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        unwrapped(&output)
    }

    /// The statements of all claims.
    fn said(&self, root: &Path) -> Vec<String> {
        self.claims(root).into_iter().map(|claim| claim.replace(" [\"src\"]", "")).collect()
    }
}

/// What was printed, whatever the width of its lines.
fn unwrapped(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Red before: the backup replaced the directory, and the queued claim with it.
#[test]
fn what_waits_for_a_removed_memory_outlives_the_directory() {
    let land = Land::new();
    let root = land.repository("project");
    let (memory, kept) = (root.join(".git/hivemind"), land.path("kept"));
    land.claim(&root, "said before", "src");
    end_writer(&land.workspace(&root));
    copy(&memory, &kept);
    // Removed twice: what waited in the first memory in its place is not lost with that.
    for statement in ["queued first", "queued second"] {
        land.remove_memory(&root);
        assert_eq!(land.told(&root, statement)["state"], "queued");
    }
    land.remove_memory(&root);
    copy(&kept, &memory);
    assert_eq!(land.json(&root, &["status"])["spooled"], 2);
    land.claim(&root, "said after", "src");
    assert_eq!(land.said(&root), ["queued first", "queued second", "said after", "said before"]);
    // In the order in which it was queued, and once.
    end_writer(&land.workspace(&root));
    land.claim(&root, "said last", "src");
    let log = String::from_utf8(land.run(&root, &["log", "--all"]).stdout).expect("text");
    let at = |statement: &str| log.find(statement).unwrap_or_else(|| panic!("{statement}: {log}"));
    assert!(at("queued first") < at("queued second") && at("queued second") < at("said after"), "{log}");
    assert_eq!(land.said(&root).len(), 5);
    assert_eq!(land.json(&root, &["status"])["spooled"], 0);

    // What the operator goes on without comes along, from wherever it waited.
    for statement in ["waits first", "waits second"] {
        land.remove_memory(&root);
        assert_eq!(land.told(&root, statement)["state"], "queued");
    }
    let accept = ["--agent", "operator", "repair", "--accept-loss", "--reason", "there is no backup"];
    land.by_a_human(&root, &accept);
    wait_until("what waited is committed", || land.said(&root) == ["waits first", "waits second"]);
}

/// Red before: the writer that had the empty ledger open went on queuing, and an acceptance killed it.
#[test]
fn a_writer_leaves_when_a_backup_is_copied_over_its_files() {
    let land = Land::new();
    let root = land.repository("project");
    let (memory, kept) = (root.join(".git/hivemind"), land.path("kept"));
    land.claim(&root, "said before", "src");
    end_writer(&land.workspace(&root));
    copy(&memory, &kept);
    fs::remove_dir_all(&memory).expect("the memory");
    assert_eq!(land.told(&root, "it waits")["state"], "queued");
    copy(&kept.join("."), &memory);
    assert_eq!(land.json(&root, &["status"])["damage"], Value::Null);
    let receipt = land.told(&root, "said after");
    assert_eq!(receipt["state"], "committed", "{receipt}");
    assert_eq!(land.said(&root), ["it waits", "said after", "said before"]);

    land.remove_memory(&root);
    assert_eq!(land.told(&root, "it waits too")["state"], "queued");
    copy(&kept.join("."), &memory);
    let status = land.json(&root, &["status"]);
    assert!(status["damage"].as_str().is_some_and(|damage| damage.contains("ends at event")), "{status}");
    // The backup is older: what it lacks is accepted on top of it.
    wait_until("the writer has left", || {
        fs::read_to_string(memory.join("writer.log")).is_ok_and(|log| log.contains("is not the file"))
    });
    let accept = ["--json", "--agent", "operator", "repair", "--accept-loss", "--reason", "an older backup"];
    let accepted = land.by_a_human(&root, &accept);
    assert!(accepted.contains("committed"), "{accepted}");
    holds_soon(|| land.said(&root).len() == 2);
    assert_eq!(land.said(&root), ["it waits too", "said before"], "{}", land.json(&root, &["status"]));
    end_writer(&land.workspace(&root));
    assert!(land.run(&root, &["verify"]).status.success());
}

/// Red before: an agent removed the settings too, and all began anew.
#[test]
fn only_the_operator_begins_anew_where_a_memory_was_removed() {
    let land = Land::new();
    let root = land.repository("project");
    land.claim(&root, "said before", "src");
    let init = ["init", "--yes", "--clients", "cursor"];
    let by_an_agent = |at: &Path| {
        let output = land.command(at, &init).env("HM_AGENT", "devops").output().expect("hm runs");
        assert!(output.status.success(), "{output:?}");
        unwrapped(&output)
    };
    land.remove_memory(&root);
    fs::remove_file(root.join(".hivemind/config.toml")).expect("the settings");
    let told = by_an_agent(&root);
    assert!(told.contains(GONE) && told.contains("hm repair --accept-loss"), "{told}");
    assert!(!land.run(&root, &["verify"]).status.success());
    assert_eq!(land.told(&root, "it waits")["state"], "queued");
    // A human in the pane of an agent is none.
    fs::remove_file(root.join(".hivemind/config.toml")).expect("the settings");
    assert!(by_a_human(land.command(&root, &init).env("HM_AGENT", "devops")).status.success());
    assert!(!land.run(&root, &["verify"]).status.success());
    // The operator begins anew, and what waited goes on.
    fs::remove_file(root.join(".hivemind/config.toml")).expect("the settings");
    let told = land.by_a_human(&root, &init);
    assert!(told.contains("a new one begins"), "{told}");
    land.claim(&root, "said anew", "src");
    assert_eq!(land.said(&root), ["it waits", "said anew"]);
    end_writer(&land.workspace(&root));
    assert!(land.run(&root, &["verify"]).status.success());
}

/// Red before: settings that git does not track are missing in each new work tree, and an `hm init` there began anew.
#[test]
fn a_set_up_in_another_work_tree_does_not_end_the_loss() {
    let land = Land::new();
    let root = land.path("project");
    fs::create_dir_all(&root).expect("a directory");
    git(&root, &["init", "-q", "-b", "main"]);
    git(&root, &["commit", "-qm", "one", "--allow-empty"]);
    let init = ["init", "--yes", "--clients", "cursor"];
    land.json(&root, &init);
    land.claim(&root, "said before", "src");
    git(&root, &["worktree", "add", "-q", "../tree", "-b", "tree"]);
    land.remove_memory(&root);
    let tree = land.path("tree");
    let told = land.by_a_human(&tree, &init);
    assert!(told.contains(GONE), "{told}");
    assert_eq!(land.told(&root, "it waits")["state"], "queued");
}

/// Red before: an agent removed the memory, and imported what it liked into the empty one. After the import of the right
/// export the memory was called broken for good.
#[test]
fn only_the_operator_imports_into_a_memory_that_was_removed() {
    let land = Land::new();
    let root = land.repository("project");
    let export = land.path("export.jsonl").display().to_string();
    land.claim(&root, "said before", "src");
    land.claim(&root, "said next", "src");
    assert!(land.run(&root, &["export", &export]).status.success());
    land.remove_memory(&root);
    let refused = land.refusal(&root, &["--agent", "qa", "import", &export]);
    assert!(refused.contains("only the operator"), "{refused}");
    assert!(land.refusal(&root, &["import", &export]).contains("only a human"));
    assert_eq!(land.told(&root, "it waits")["state"], "queued");
    land.by_a_human(&root, &["import", &export]);
    for _ in 0..2 {
        assert!(land.run(&root, &["verify"]).status.success(), "{:?}", land.run(&root, &["verify"]));
        assert_eq!(land.json(&root, &["status"])["damage"], Value::Null);
        wait_until("what waited is committed", || {
            land.said(&root) == ["it waits", "said before", "said next"]
        });
        end_writer(&land.workspace(&root));
    }
    assert!(land.json(&root, &["verify"])["checkpoints"].as_u64() > Some(1));
    assert_eq!(land.told(&root, "said after")["state"], "committed");
}

/// The server of a pane, driven line by line.
struct Pane {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Pane {
    fn start(land: &Land, root: &Path) -> Self {
        let mut command = land.command(root, &["serve", "--agent", "devops"]);
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("hm serve starts");
        let input = process.stdin.take().expect("its input");
        let output = BufReader::new(process.stdout.take().expect("its output"));
        let mut pane = Self { process, input, output };
        let client = json!({ "name": "test", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        pane.ask("initialize", &hello);
        writeln!(pane.input, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#)
            .expect("it listens");
        pane
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        writeln!(self.input, "{request}").expect("it listens");
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).expect("it answers") > 0, "it has gone");
            let answer: Value = serde_json::from_str(&line).expect("JSON");
            if answer["id"] == 1 {
                return answer;
            }
        }
    }

    fn claim(&mut self, statement: &str) -> String {
        let claim = json!({ "statement": statement, "claim_type": "fact", "scopes": ["src"] });
        self.ask("tools/call", &json!({ "name": "create_claim", "arguments": claim })).to_string()
    }
}

impl Drop for Pane {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Red before: a pane that had connected while the ledger was empty knew no ledger, and wrote into the next one.
#[test]
fn the_first_pane_of_a_memory_does_not_write_into_another_one() {
    let land = Land::new();
    let root = land.repository("project");
    let mut pane = Pane::start(&land, &root);
    let answer = pane.claim("said by the first pane");
    assert!(answer.contains("committed"), "{answer}");
    git(&root, &["clone", "-q", "--bare", ".", "../origin"]);
    end_writer(&land.workspace(&root));
    fs::remove_dir_all(&root).expect("the project");
    git(&land.path(""), &["clone", "-q", "origin", "project"]);
    land.claim(&root, "said in the clone", "src");
    let answer = pane.claim("said by the first pane in the clone");
    assert!(answer.contains("another one than this pane wrote to before"), "{answer}");
    assert_eq!(land.said(&root), ["said in the clone"]);
}

/// Red before: that a ledger lay here was recorded once the writer was idle.
#[test]
fn a_memory_that_is_removed_in_the_middle_of_the_work_is_missed() {
    let land = Land::new();
    let root = land.repository("project");
    assert_eq!(land.told(&root, "said first")["state"], "committed");
    // Its writer lives and may make a file meanwhile.
    let memory = root.join(".git/hivemind");
    wait_until("it is removed", || fs::remove_dir_all(&memory).is_ok() || !memory.exists());
    let receipt = land.told(&root, "it waits");
    assert_eq!(receipt["state"], "queued", "{receipt}");
}

/// Red before: a memory that moved into the git directory was recorded on the ground of its old place.
#[test]
fn a_memory_that_moved_out_of_the_tree_is_missed_at_its_new_place() {
    let land = Land::new();
    let root = land.path("project");
    fs::create_dir_all(&root).expect("a directory");
    land.json(&root, &["init", "--yes", "--clients", "cursor"]);
    land.claim(&root, "said before there was git", "src");
    end_writer(&land.workspace(&root));
    git(&root, &["init", "-q", "-b", "main"]);
    assert_eq!(land.memory(&root), root.join(".git/hivemind"));
    // A writer that has nothing to seal takes the records along.
    assert!(land.run(&root, &["rebuild"]).status.success());
    land.remove_memory(&root);
    let receipt = land.told(&root, "it waits");
    assert_eq!(receipt["state"], "queued", "{receipt}");
}

/// Red before: the next write, or the start of a session, began an empty memory, and from then on all was said to be well.
#[test]
fn a_memory_that_was_removed_is_not_begun_anew_by_itself() {
    let land = Land::new();
    let root = land.repository("project");
    let memory = root.join(".git/hivemind");
    land.claim(&root, "said before", "src");
    end_writer(&land.workspace(&root));
    let kept = land.path("kept");
    copy(&memory, &kept);
    fs::remove_dir_all(&memory).expect("the memory");
    let gone = "the ledger that lay here is gone";
    let start =
        json!({ "hook_event_name": "SessionStart", "session_id": "s", "source": "startup", "cwd": root });
    let told = land.hook(&root, &start);
    assert!(told.contains(gone) && told.contains("writes wait in the spool"), "{told}");
    for round in 0..2 {
        let line = format!("it goes on {round}");
        let receipt = land.json(&root, &["--agent", "analyst", "claim", "create", &line, "--scope", "src"]);
        assert_eq!(receipt["state"], "queued", "{receipt}");
        assert_eq!(receipt["warnings"][0]["code"], "ledger_damaged", "{receipt}");
        let damage = land.json(&root, &["status"])["damage"].clone();
        assert!(damage.as_str().is_some_and(|damage| damage.contains(gone)), "{damage}");
        assert!(!land.run(&root, &["verify"]).status.success());
        assert!(!land.run(&root, &["doctor"]).status.success());
        end_writer(&land.workspace(&root));
    }
    // An agent does not accept it, and neither does the set-up of a workspace whose settings are there.
    assert!(
        land.refusal(&root, &["--agent", "devops", "repair", "--accept-loss", "--reason", "x"])
            .contains("only the operator")
    );
    land.command(&root, &["init", "--yes"]).env("PATH", "").output().expect("hm runs");
    assert!(!land.run(&root, &["verify"]).status.success());

    // A backup that is put back goes on, and commits what waited in the memory that it replaces.
    let waiting = land.path("waiting");
    fs::rename(&memory, &waiting).expect("the new memory");
    copy(&kept, &memory);
    let status = land.json(&root, &["status"]);
    assert_eq!(status["damage"], Value::Null, "{status}");
    assert!(status["spooled"].as_u64() >= Some(2), "{status}");
    land.claim(&root, "said after", "src");
    let expected = ["it goes on 0", "it goes on 1", "said after", "said before"];
    assert_eq!(land.claims(&root), expected.map(|said| format!("{said} [\"src\"]")));
    assert_eq!(land.json(&root, &["status"])["spooled"], 0);
    end_writer(&land.workspace(&root));

    // The operator may go on without it, and then what waited is committed.
    fs::remove_dir_all(&memory).expect("the memory");
    let receipt = land.json(&root, &["--agent", "analyst", "claim", "create", "it waits", "--scope", "src"]);
    assert_eq!(receipt["state"], "queued", "{receipt}");
    let accept = ["--agent", "operator", "repair", "--accept-loss", "--reason", "there is no backup"];
    let accepted = by_a_human(&land.command(&root, &accept));
    assert!(accepted.status.success(), "{accepted:?}");
    wait_until("what waited is committed", || land.claims(&root).len() == 1);
    end_writer(&land.workspace(&root));
    let verified = land.json(&root, &["verify"]);
    assert_eq!(verified["accepted"][0]["reason"], "there is no backup", "{verified}");
    assert_eq!(land.json(&root, &["status"])["damage"], Value::Null);
}

/// The other side: on a ground that never had a memory one begins without a human.
#[test]
fn a_memory_begins_by_itself_where_none_was_removed() {
    let land = Land::new();
    let root = land.repository("project");
    let begins = |root: &Path, statement: &str| {
        assert_eq!(land.json(root, &["status"])["damage"], Value::Null, "{statement}");
        land.claim(root, statement, "src");
        assert_eq!(land.claims(root).len(), 1, "{statement}");
        end_writer(&land.workspace(root));
        assert!(land.run(root, &["verify"]).status.success(), "{statement}");
    };
    begins(&root, "said first");
    // A repository of its own again, and then a clone, at the same path.
    let origin = land.path("origin");
    git(&root, &["clone", "-q", "--bare", ".", "../origin"]);
    fs::remove_dir_all(root.join(".git")).expect("the repository");
    git(&root, &["init", "-q", "-b", "main"]);
    begins(&root, "said in the repository that was made again");
    fs::remove_dir_all(&root).expect("the project");
    git(origin.parent().expect("a directory"), &["clone", "-q", "origin", "project"]);
    begins(&root, "said in the clone");
    // What `hm uninit` says to delete, and the set-up after it.
    assert!(land.run(&root, &["uninit", "--yes"]).status.success());
    fs::remove_dir_all(root.join(".git/hivemind")).expect("the memory");
    fs::remove_dir_all(root.join(".hivemind")).expect("the settings");
    let set_up = land.by_a_human(&root, &["init", "--yes", "--clients", "cursor"]);
    assert!(set_up.contains("a new one begins"), "{set_up}");
    begins(&root, "said after the set-up");
    // The project moves, and another one takes its place.
    fs::rename(&root, land.path("moved")).expect("it moves");
    let root = land.repository("project");
    begins(&root, "said by another");
    land.claim(&land.path("moved"), "said after the move", "src");
    end_writer(&land.workspace(&land.path("moved")));
    // Removed after the move, it is missed there.
    fs::remove_dir_all(land.path("moved").join(".git/hivemind")).expect("the memory");
    let receipt =
        land.json(&land.path("moved"), &["--agent", "qa", "claim", "create", "it waits", "--scope", "src"]);
    assert_eq!(receipt["state"], "queued", "{receipt}");
}
