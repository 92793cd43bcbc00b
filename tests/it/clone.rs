//! A repository of a hostile author, cloned and unpacked, opened by every hook, verb and server: nothing of it runs,
//! nothing outside of it changes, and nothing it says is shown.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use hivemind::workspace::Workspace;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::HM;
use crate::shell::{end_writer, environment};

/// What every statement of the author begins with; the word alone may be asked for.
const PLANTED: &str = "PLANTED:";
/// Long enough for a run that was let through to leave its mark.
const A_RUN: Duration = Duration::from_millis(600);

struct Reader {
    dir: TempDir,
    state: PathBuf,
    victim: PathBuf,
}

impl Reader {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path().canonicalize().expect("a directory");
        let victim = root.join("home");
        fs::create_dir(&victim).expect("a directory");
        fs::write(victim.join("bashrc"), "alias ll='ls -l'\n").expect("a file");
        let made = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile-clone.sh"))
            .args([Path::new(HM), &root.join("origin"), &victim])
            .output()
            .expect("the script runs");
        assert!(made.status.success(), "{made:?}");
        Self { state: root.join("state"), victim, dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().expect("a directory").join(name)
    }

    fn sh(&self, line: &str) {
        let done =
            Command::new("sh").args(["-c", line]).current_dir(self.dir.path()).output().expect("sh runs");
        assert!(done.status.success(), "{line}: {done:?}");
    }

    fn command(&self, at: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(HM);
        command.args(arguments).current_dir(at).stdin(Stdio::null()).env("XDG_STATE_HOME", &self.state);
        for name in ["HM_DIR", "HM_AGENT", "HM_SESSION"] {
            command.env_remove(name);
        }
        command
    }

    /// What a run says, on both streams.
    fn said(&self, at: &Path, arguments: &[&str]) -> String {
        let output = self.command(at, arguments).output().expect("hm runs");
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    fn hook(&self, at: &Path, client: &str, payload: &str) -> String {
        let mut hook = self.command(at, &["hook", client]);
        hook.env("HM_AGENT", "devops").env("CLAUDE_PID", std::process::id().to_string());
        let mut child = hook.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a hook");
        let mut stdin = child.stdin.take().expect("its input");
        std::io::Write::write_all(&mut stdin, payload.as_bytes()).expect("it listens");
        drop(stdin);
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Every file of the reader's own with its content.
    fn own_files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let entries = fs::read_dir(&self.victim).expect("a directory");
        entries
            .map(|entry| {
                let path = entry.expect("an entry").path();
                let bytes = fs::read(&path).expect("a file");
                (path, bytes)
            })
            .collect()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        for name in ["clone", "own"] {
            if let Ok(workspace) = Workspace::find(None, &self.path(name), &environment(&self.state)) {
                end_writer(&workspace);
            }
        }
    }
}

/// Every payload of every client that was recorded, as sent from a directory, in a session.
fn payloads(cwd: &Path, session: &str) -> Vec<(String, String)> {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hooks");
    let mut payloads = Vec::new();
    for client in ["claude", "codex", "cursor", "gemini"] {
        for entry in fs::read_dir(recorded.join(client)).expect("fixtures") {
            let path = entry.expect("an entry").path();
            let text = fs::read_to_string(&path).expect("a payload");
            let mut payload: Value =
                serde_json::from_str(&text.replace("/home/ana/shop", &cwd.display().to_string()))
                    .expect("JSON");
            for name in ["session_id", "conversation_id"] {
                if payload.get(name).is_some() {
                    payload[name] = json!(session);
                }
            }
            payloads.push((client.to_owned(), payload.to_string()));
        }
    }
    // The start of a session comes first, as in life.
    payloads.sort_by_key(|(_, payload)| !payload.to_lowercase().contains("sessionstart"));
    payloads
}

/// Verbs that read, that write, and that look after the place.
const LINES: [&str; 16] = [
    "status",
    "context --agent devops",
    "attention",
    "claim list",
    "claim search PLANTED",
    "decision list",
    "plan show",
    "session list",
    "profile list",
    "experiment list",
    "log",
    "doctor",
    "verify",
    "rebuild",
    "token list",
    "--agent devops claim create mine --scope src",
];

fn assert_nothing_planted(said: &str, by: &str) {
    assert!(!said.contains(PLANTED), "{by}: {said}");
}

#[test]
fn a_cloned_repository_does_nothing() {
    let reader = Reader::new();
    let before = reader.own_files();
    reader.sh("git clone -q origin clone && mkdir own && cd own && git init -q");
    let (clone, own) = (reader.path("clone"), reader.path("own"));
    assert!(
        reader.command(&own, &["init", "--yes"]).env("PATH", "").output().expect("hm runs").status.success()
    );
    for (client, payload) in payloads(&clone, "in-the-clone") {
        assert_nothing_planted(&reader.hook(&clone, &client, &payload), &payload);
    }
    for line in LINES {
        let words: Vec<&str> = line.split(' ').collect();
        assert_nothing_planted(&reader.said(&clone, &words), line);
    }
    // Its profiles are there to be looked at, and run for nobody.
    for profile in ["own", "cargo-check", "agent"] {
        let said = reader.said(&clone, &["--agent", "devops", "experiment", "run", profile]);
        assert!(!said.contains("succeeded"), "{said}");
    }
    let listed = reader.said(&clone, &["profile", "list"]);
    assert!(listed.contains("untrusted"), "{listed}");

    // A server of its own over MCP, and one over HTTP that would believe its tokens.
    let mut serve = reader.command(&clone, &["serve", "--agent", "devops"]);
    let mut pane = serve.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a server");
    let mut ask = pane.stdin.take().expect("its input");
    let mut answers = BufReader::new(pane.stdout.take().expect("its output")).lines();
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "0" } } });
    let mut heard = |message: &Value| {
        std::io::Write::write_all(&mut ask, format!("{message}\n").as_bytes()).expect("it listens");
        answers.next().expect("an answer").expect("text")
    };
    assert!(heard(&hello).contains("hivemind"));
    for (id, uri) in ["context", "claims", "decisions", "search?q=PLANTED", "attention", "events", "status"]
        .iter()
        .enumerate()
    {
        let read = json!({ "jsonrpc": "2.0", "id": id + 1, "method": "resources/read", "params": { "uri": format!("hivemind://{uri}") } });
        assert_nothing_planted(&heard(&read), uri);
    }
    let run = json!({ "jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": {
        "name": "run_experiment", "arguments": { "profile": "own", "relation": "supports" } } });
    let refused = heard(&run);
    assert!(refused.contains("untrusted_profile") || refused.contains("isError\":true"), "{refused}");
    drop(ask);
    pane.wait().expect("it ends");
    let open = reader.said(&clone, &["serve", "--http", "0.0.0.0:0"]);
    assert!(open.contains("there is no token"), "{open}");

    // As the directory that another session's agent went to.
    for (client, payload) in payloads(&own, "at-home") {
        reader.hook(&own, &client, &payload);
    }
    let start = |cwd: &Path, event: &str| json!({ "hook_event_name": event, "session_id": "at-home-again", "cwd": cwd, "source": "startup", "prompt": "go on" });
    reader.hook(&own, "claude", &start(&own, "SessionStart").to_string());
    let events = |at: &Path| -> u64 {
        let status = reader.said(at, &["--json", "status"]);
        let status: Value = serde_json::from_str(&status).expect("JSON");
        status["ledger_seq"].as_u64().expect("a number") + status["spooled"].as_u64().expect("a number")
    };
    let (in_clone, at_home) = (events(&clone), events(&own));
    assert_nothing_planted(
        &reader.hook(&clone, "claude", &start(&clone, "UserPromptSubmit").to_string()),
        "prompt",
    );
    assert_eq!(events(&clone), in_clone, "the session is not the clone's");
    assert!(events(&own) > at_home, "it stays where it began");

    std::thread::sleep(A_RUN);
    assert_eq!(reader.own_files(), before, "files of the reader");
    let changed =
        Command::new("git").args(["status", "--porcelain"]).current_dir(&clone).output().expect("git");
    assert_eq!(String::from_utf8_lossy(&changed.stdout), "", "files of the clone");
}

/// A line that asks for a run of the Makefile's only target, by a profile that ships and needs no trust.
fn planted_run(number: u32) -> String {
    let id = |last: u32| format!("0190b2c4-7d1e-7c3a-9f00-{last:012}");
    let args = json!({ "run_id": id(number + 1), "profile": "make-target", "args": { "target": "all" }, "claim_id": null,
        "relation": null, "blocking": false, "cwd": null, "env_pass": [], "timeout_ms": null, "output_cap_bytes": null });
    let submission = json!({ "command_id": id(number), "agent": "operator", "session": null, "trace_id": null,
        "idempotency_key": null, "command": { "name": "run_experiment", "args": args } });
    format!("{submission}\n")
}

#[test]
fn an_archive_that_brings_a_git_directory_acts_no_more_than_a_clone() {
    for known_before in [false, true] {
        let reader = Reader::new();
        fs::write(reader.victim.join("2023.pdf"), "an invoice").expect("a file");
        let archive = reader.path("archive");
        reader.sh(
            "mkdir archive && cd archive && git init -q && mkdir .hivemind && touch .hivemind/config.toml",
        );
        fs::write(archive.join("Makefile"), format!("all:\n\ttouch {}/ran-make\n", reader.victim.display()))
            .expect("a file");
        let memory = archive.join(".git/hivemind");
        fs::create_dir(&memory).expect("a directory");
        // The memory itself, with a run that waits in it.
        let stranger = environment(&reader.path("stranger"));
        let workspace = Workspace::served(&archive, &memory, &stranger).expect("a workspace");
        {
            let sources = hivemind::system::Sources::system();
            let mut committer = hivemind::writer::Committer::open(
                &workspace,
                hivemind::domain::decide::Policy::default(),
                sources,
            )
            .expect("a memory")
            .planning(&workspace, &hivemind::domain::agent::Roster::default());
            let run: hivemind::domain::command::Submission =
                serde_json::from_str(&planted_run(10)).expect("a submission");
            committer.commit(&[run]).expect("a ledger").remove(0).expect("accepted");
        }
        fs::write(memory.join("spool.jsonl"), planted_run(20)).expect("a file");
        fs::write(memory.join("spool.later.jsonl"), planted_run(30)).expect("a file");
        fs::write(memory.join("tokens.json"), "{}").expect("a file");
        for name in ["clients", "hooks", "experiments"] {
            std::os::unix::fs::symlink(&reader.victim, memory.join(name)).expect("a link");
        }
        for name in ["imports.json", "schedule.json", "writer.addr"] {
            reader.sh(&format!("rm -f archive/.git/hivemind/{name} && mkfifo archive/.git/hivemind/{name}"));
        }
        let before = reader.own_files();
        if known_before {
            // The reader took an earlier archive of the same author, and removed it again.
            reader.sh("mkdir -p clone && tar -c -C archive . | tar -x -C clone");
            let start =
                json!({ "hook_event_name": "SessionStart", "session_id": "s", "cwd": reader.path("clone") });
            reader.hook(&reader.path("clone"), "claude", &start.to_string());
            end_writer(
                &Workspace::find(None, &reader.path("clone"), &environment(&reader.state))
                    .expect("a workspace"),
            );
            reader.sh("rm -r clone");
        }
        reader.sh("mkdir -p clone && tar -c -C archive . | tar -x -C clone");
        let clone = reader.path("clone");
        for (client, payload) in payloads(&clone, "in-the-archive") {
            reader.hook(&clone, &client, &payload);
        }
        for line in LINES {
            let words: Vec<&str> = line.split(' ').collect();
            reader.said(&clone, &words);
        }
        let open = reader.said(&clone, &["serve", "--http", "0.0.0.0:0"]);
        assert!(open.contains("were set aside"), "{open}");
        std::thread::sleep(A_RUN);
        assert_eq!(reader.own_files(), before, "files of the reader, {known_before}");
        let runs = reader.command(&clone, &["--json", "experiment", "list"]).output().expect("hm runs");
        let runs: Value = serde_json::from_slice(&runs.stdout).expect("JSON");
        let states: Vec<&str> = runs["experiments"]
            .as_array()
            .expect("runs")
            .iter()
            .filter_map(|run| run["status"].as_str())
            .collect();
        // The second one ends before what was sealed of the first, so nothing is appended to it.
        assert_eq!(states, [if known_before { "queued" } else { "aborted" }], "{runs}");
    }
}

#[test]
fn an_unpacked_archive_does_nothing() {
    let reader = Reader::new();
    let before = reader.own_files();
    reader.sh("mkdir clone && git -C origin archive HEAD | tar -x -C clone");
    let clone = reader.path("clone");
    for (client, payload) in payloads(&clone, "in-the-archive") {
        assert_nothing_planted(&reader.hook(&clone, &client, &payload), &payload);
    }
    for line in LINES {
        let words: Vec<&str> = line.split(' ').collect();
        let said = reader.said(&clone, &words);
        assert_nothing_planted(&said, line);
        assert!(said.contains("is not opened"), "{line}: {said}");
    }
    std::thread::sleep(A_RUN);
    assert_eq!(reader.own_files(), before, "files of the reader");
    reader.sh("mkdir again && git -C origin archive HEAD | tar -x -C again && diff -r clone again");
}
