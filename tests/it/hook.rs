//! `hm hook` as clients run it: whole processes, real payloads, and silence wherever anything is in doubt.

use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{dump, long, wait_until};
use crate::shell::Shell;

/// A session of a client in a workspace.
pub(crate) struct Session<'s> {
    pub(crate) shell: &'s Shell,
    pub(crate) client: &'static str,
    pub(crate) id: &'static str,
    pub(crate) agent: &'static str,
}

impl Session<'_> {
    pub(crate) fn cwd(&self) -> String {
        self.shell.workspace().root().to_string_lossy().into_owned()
    }

    pub(crate) fn payload(&self, event: &str, more: Value) -> Value {
        let mut payload = json!({ "hook_event_name": event, "session_id": self.id, "cwd": self.cwd() });
        for (name, value) in more.as_object().expect("fields") {
            payload[name] = value.clone();
        }
        payload
    }

    fn raw(&self, stdin: &[u8]) -> Output {
        run(self.shell, &self.cwd(), self.client, self.agent, stdin)
    }

    /// What the agent is told at an event; empty for silence.
    pub(crate) fn told(&self, event: &str, more: Value) -> String {
        let output = self.raw(self.payload(event, more).to_string().as_bytes());
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        let said = String::from_utf8(output.stdout).expect("UTF-8");
        if said.is_empty() {
            return said;
        }
        let answer: Value = serde_json::from_str(&said).expect("one JSON object");
        answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
    }

    /// The whole answer at an event; null for silence.
    pub(crate) fn answer(&self, event: &str, more: Value) -> Value {
        let output = self.raw(self.payload(event, more).to_string().as_bytes());
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        if output.stdout.is_empty() {
            return Value::Null;
        }
        serde_json::from_slice(&output.stdout).expect("one JSON object")
    }

    pub(crate) fn start(&self) -> String {
        self.told("SessionStart", json!({ "source": "startup" }))
    }

    pub(crate) fn prompt(&self, text: &str) -> String {
        self.told("UserPromptSubmit", json!({ "prompt": text }))
    }

    pub(crate) fn about_to_run(&self, line: &str) -> String {
        self.told("PreToolUse", json!({ "tool_name": "Bash", "tool_input": { "command": line } }))
    }

    pub(crate) fn about_to_edit(&self, path: &str) -> String {
        let input =
            json!({ "file_path": format!("{}/{path}", self.cwd()), "old_string": "a", "new_string": "b" });
        self.told("PreToolUse", json!({ "tool_name": "Edit", "tool_input": input }))
    }
}

/// What the hook of a client does with the bytes of a payload.
pub(crate) fn run(shell: &Shell, cwd: &str, client: &str, agent: &str, stdin: &[u8]) -> Output {
    let mut hook = shell
        .command(&format!("hm hook {client}"))
        .current_dir(cwd)
        .env("HM_AGENT", agent)
        .env_remove("CLAUDE_PID")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("hm starts");
    // A hook may answer before it has read everything.
    let _ = hook.stdin.take().expect("a pipe").write_all(stdin);
    hook.wait_with_output().expect("hm ends")
}

/// What a line prints that an agent's shell runs within a session.
pub(crate) fn within(shell: &Shell, session: &str, line: &str) -> Value {
    let output = shell.command(line).env("HM_SESSION", session).output().expect("hm runs");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{line}: {error}: {output:?}"))
}

pub(crate) fn claude<'s>(shell: &'s Shell, id: &'static str, agent: &'static str) -> Session<'s> {
    Session { shell, client: "claude", id, agent }
}

pub(crate) fn spool_is_empty(shell: &Shell) {
    let spool = shell.workspace().spool();
    wait_until("the spool is read", || std::fs::metadata(&spool).map_or(0, |file| file.len()) == 0);
}

#[test]
fn a_repeat_is_warned_of_right_before_it_and_nothing_else_is() {
    let shell = Shell::new();
    let session = claude(&shell, "s-1", "devops");
    session.start();
    let made = shell.json(
        "hm --json --agent analyst claim create \"cargo test --all deadlocks on the shared pool\" --type negative \
         --scope src/db --trigger-command \"cargo test --all --target-dir /tmp/one-4711\"",
    );
    assert_eq!(made["name"], "C1", "{made}");
    session.prompt("run the tests");
    let elsewhere = format!(
        "cd {}/src && cd .. && RUST_LOG=debug cargo test --all --target-dir /tmp/another-99 2>&1 | tail -5",
        session.cwd()
    );
    let warned = session.about_to_run(&elsewhere);
    assert!(warned.contains("claim C1;") && warned.contains("deadlocks on the shared pool"), "{warned:?}");
    assert!(warned.contains("analyst"), "to whom it happened: {warned}");
    spool_is_empty(&shell);
    assert_eq!(session.about_to_run(&elsewhere), "", "once");

    let unrelated = include_str!("../corpora/commands/unrelated.jsonl").lines();
    let unrelated = unrelated.map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let lines: Vec<String> =
        unrelated.map(|entry| entry["line"].as_str().expect("a line").to_owned()).collect();
    assert!(lines.len() >= 200, "{}", lines.len());
    // Each is a process of its own: some of them by default.
    for line in lines.iter().step_by(if long() { 1 } else { 8 }) {
        assert_eq!(session.about_to_run(line), "", "{line}");
    }
    let log = shell.run("hm log --type guard.fired --json");
    let log: Value = serde_json::from_slice(&log.stdout).expect("JSON");
    assert_eq!(log["events"].as_array().map(Vec::len), Some(1), "{log}");
}

#[test]
fn a_warning_is_for_the_human_too_where_the_client_shows_it() {
    let shell = Shell::new();
    shell.json(
        "hm --json --agent analyst claim create \"vendoring breaks the build\" --type negative --scope tag:build \
         --trigger-command \"make vendor\"",
    );
    let bash = |event: &str, session: &Session<'_>| {
        let input = json!({ "command": "make vendor" });
        let payload = session.payload(event, json!({ "tool_name": "Bash", "tool_input": input }));
        let output = session.raw(payload.to_string().as_bytes());
        serde_json::from_slice::<Value>(&output.stdout).unwrap_or_default()
    };
    for (client, id, event, is_shown) in [
        ("claude", "s-1", "PreToolUse", true),
        ("codex", "s-2", "PreToolUse", true),
        ("vscode", "s-3", "PreToolUse", true),
        ("gemini", "s-4", "AfterTool", true),
        ("qwen", "s-5", "PostToolUse", true),
        ("cursor", "s-6", "postToolUse", false),
        ("opencode", "s-7", "tool.execute.before", false),
    ] {
        let session = Session { shell: &shell, client, id, agent: "devops" };
        let start = if client == "opencode" { "session.start" } else { "SessionStart" };
        let started = bash(start, &session);
        assert_eq!(started["systemMessage"], Value::Null, "{client}: only warnings are shown");
        spool_is_empty(&shell);
        let warned = bash(event, &session);
        let nested = &warned["hookSpecificOutput"]["additionalContext"];
        let text = [nested, &warned["additionalContext"], &warned["additional_context"]];
        let text = text.into_iter().find_map(Value::as_str).unwrap_or_default();
        assert!(text.contains("vendoring breaks the build"), "{client}: {warned}");
        assert_eq!(warned["systemMessage"].as_str(), is_shown.then_some(text), "{client}");
    }
}

#[test]
fn whoever_edits_files_that_are_held_is_told_by_whom() {
    let shell = Shell::new();
    let (holder, other) = (claude(&shell, "s-1", "devops"), claude(&shell, "s-2", "analyst"));
    holder.start();
    other.start();
    let task = shell.json("hm --json --agent devops task add \"tune the pool\"")["task_id"].clone();
    let task = task.as_str().expect("an id").to_owned();
    let hold = format!("hm --json --agent devops task claim {task} --lock \"src/**/*.rs\"");
    within(&shell, "s-1", &hold);
    other.prompt("go");
    spool_is_empty(&shell);
    let told = other.about_to_edit("src/db/pool.rs");
    assert!(told.contains("devops holds src/db/pool.rs for task T1 "), "{told:?}");
    assert_eq!(holder.about_to_edit("src/db/pool.rs"), "", "the holder may");
    assert_eq!(other.about_to_edit("docs/pool.md"), "");
}

#[test]
fn a_project_reached_through_a_link_is_the_same_project() {
    let shell = Shell::new();
    let beside = tempfile::tempdir().expect("a temporary directory");
    let link = beside.path().join("project");
    std::os::unix::fs::symlink(shell.workspace().root(), &link).expect("a link");
    let link = link.display().to_string();
    let claimed = shell.json(&format!(
        "hm claim create \"foo hangs\" --type negative --scope {link}/src/x --trigger-command \"make foo\" \
         --trigger-path {link}/src/x --agent analyst --json"
    ));
    assert_eq!(claimed["state"], "committed", "{claimed}");

    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    let sessions = std::cell::Cell::new(1);
    let before = |cwd: &str, tool: &str, input: Value| {
        // A dead end warns once a turn.
        sessions.set(sessions.get() + 1);
        let id = format!("s-{}", sessions.get());
        let call = json!({ "session_id": id, "cwd": cwd, "tool_name": tool, "tool_input": input });
        devops.told("PreToolUse", call)
    };
    let real = devops.cwd();
    assert!(before(&link, "Bash", json!({ "command": "make foo" })).contains("foo hangs"));
    let there = json!({ "command": format!("cd {link} && make foo") });
    assert!(before(&real, "Bash", there).contains("foo hangs"));
    let spaced = beside.path().join("my link");
    std::os::unix::fs::symlink(beside.path(), &spaced).expect("a link");
    let spaced = spaced.join("project").display().to_string();
    for there in [format!("\"{spaced}\""), format!("'{spaced}'"), spaced.replace(' ', "\\ ")] {
        let line = json!({ "command": format!("cd {there} && make foo") });
        assert!(before(&real, "Bash", line).contains("foo hangs"), "{there}");
    }
    let edit = json!({ "file_path": format!("{link}/src/x/a.rs"), "new_string": "fn a() {}" });
    for cwd in [&link, &real] {
        assert!(before(cwd, "Edit", edit.clone()).contains("foo hangs"), "{cwd}");
    }
    let wrote = json!({ "cwd": link, "tool_name": "Edit", "tool_input": edit, "tool_response": {} });
    devops.told("PostToolUse", wrote);
    wait_until("the edit is on record", || {
        shell.json("hm session show s-1 --json")["files"] == json!(["src/x/a.rs"])
    });
}

#[test]
fn a_session_is_told_what_changed_and_nothing_when_nothing_did() {
    let shell = Shell::new();
    let (one, other) = (claude(&shell, "s-1", "devops"), claude(&shell, "s-2", "analyst"));
    let start = one.start();
    assert!(start.starts_with("hivemind: you are devops") && start.contains("</hivemind_state>"), "{start}");
    other.start();
    spool_is_empty(&shell);
    one.prompt("first");
    spool_is_empty(&shell);
    assert_eq!(one.prompt("second"), "", "nothing happened since");
    spool_is_empty(&shell);
    shell.json("hm --json --agent analyst claim create \"the pool holds 20 connections\" --scope src/db");
    shell.json("hm --json --agent analyst task add \"measure the pool\"");
    shell.json("hm --json --agent analyst anchor save DB_SCHEMA v7");
    within(&shell, "s-2", "hm --json --agent analyst intent --team \"wait, fix the UI first\"");
    let told = one.prompt("third");
    assert!(told.contains("<hivemind_delta") && told.contains("the pool holds 20 connections"), "{told:?}");
    assert!(told.contains("wait, fix the UI first"), "{told}");
    assert!(
        told.contains("status=\"open\">measure the pool</task>")
            && told.contains("<anchor key=\"DB_SCHEMA\""),
        "{told}"
    );
    assert!(told.chars().count() <= 2_000);
    spool_is_empty(&shell);
    assert_eq!(one.prompt("fourth"), "");

    // A session that said what it wants follows no other session, but what is said to all.
    within(&shell, "s-1", "hm --json --agent devops intent \"tune the pool\"");
    spool_is_empty(&shell);
    one.prompt("fifth");
    spool_is_empty(&shell);
    shell.json("hm --json --agent architect intent --team \"ship what there is\"");
    within(&shell, "s-2", "hm --json --agent analyst intent \"measure the menu\"");
    let told = one.prompt("sixth");
    assert!(told.contains("intent=\"ship what there is\"") && !told.contains("menu"), "{told:?}");
    let compacted = one.told("SessionStart", json!({ "source": "compact" }));
    assert!(compacted.contains("intent=\"ship what there is\""), "{compacted}");

    // Who was taken for gone hears everything when it comes back.
    spool_is_empty(&shell);
    within(&shell, "s-1", "hm --json --agent devops session end");
    shell.json("hm --json --agent analyst claim create \"the pool leaks\" --scope src/db");
    let told = one.prompt("I am back");
    assert!(told.contains("<hivemind_state") && told.contains("the pool leaks"), "{told:?}");
}

#[test]
fn a_session_leaves_its_trace_and_is_asked_to_settle_what_is_open() {
    let shell = Shell::new();
    let session = claude(&shell, "s-1", "devops");
    session.start();
    session.prompt("mend the pool, the key is AKIAQ3EGT4PLKXYWZB7M");
    let failed = json!({
        "tool_name": "Bash", "tool_input": { "command": "cargo test" },
        "error": "Exit code 101\nerror[E0308]: mismatched types at /tmp/x/1.rs:7"
    });
    session.told("PostToolUseFailure", failed);
    let edit = json!({
        "tool_name": "Edit", "tool_input": { "file_path": format!("{}/src/db/pool.rs", session.cwd()), "new_string": "x" },
        "tool_response": {}
    });
    session.told("PostToolUse", edit);
    session.told(
        "PostToolUse",
        json!({ "tool_name": "mcp__hivemind__support", "tool_input": {}, "tool_response": "" }),
    );
    spool_is_empty(&shell);
    let task = shell.json("hm --json --agent devops task add \"tune the pool\"")["task_id"].clone();
    let task = task.as_str().expect("an id").to_owned();
    within(&shell, "s-1", &format!("hm --json --agent devops task claim {task}"));
    let create = "hm --json --agent devops claim create \"the pool leaks\" --scope src/db";
    let made = within(&shell, "s-1", create);
    assert_eq!(made["name"], "C1");
    let claim = &made["claim_id"];
    let gate = session.told("Stop", json!({ "stop_hook_active": false, "last_assistant_message": "mended" }));
    assert_eq!(
        gate,
        "Before you stop, settle what is open:\n- 1 active task: T1 (update_task: done, blocked or invalidated)\n"
    );
    assert_eq!(session.told("Stop", json!({ "stop_hook_active": true })), "", "a reminder is given once");
    session.told("SessionEnd", json!({ "reason": "exit" }));
    spool_is_empty(&shell);

    let log: Value = serde_json::from_slice(&shell.run("hm log --json --limit 100").stdout).expect("JSON");
    let events = log["events"].as_array().expect("events");
    let kinds: Vec<&str> = events
        .iter()
        .filter(|event| event["session"] == "s-1")
        .map(|event| event["type"].as_str().expect("a type"))
        .collect();
    let wanted = [
        "session.started",
        "turn.recorded",
        "command.ran",
        "file.edited",
        "task.claimed",
        "claim.created",
        "guard.fired",
        "turn.recorded",
        "beliefs.snapshotted",
        "task.released",
        "session.ended",
    ];
    assert_eq!(kinds, wanted);
    let text = log.to_string();
    assert!(!text.contains("AKIAQ3EGT4PLKXYWZB7M") && text.contains("[redacted:aws-key]"), "{text}");
    let ran = events.iter().find(|event| event["type"] == "command.ran").expect("the command");
    assert_eq!((&ran["payload"]["exit_code"], &ran["payload"]["failed"]), (&json!(101), &json!(true)));
    assert!(!ran["payload"]["error_signature"].as_str().expect("masked").contains("/tmp/x"), "{ran}");
    // What a hook saw is more than what an agent says, where it is about what the claim is about.
    let claim = claim.as_str().expect("an id");
    let edited = events.iter().find(|event| event["type"] == "file.edited").expect("the edit");
    // The command failed, and what failed supports nothing.
    for (event, grade, relation) in [(ran, "asserted", "mentions"), (edited, "observed", "supports")] {
        let id = event["id"].as_str().expect("an id");
        let tied = shell.json(&format!(
            "hm --json --agent devops claim evidence {claim} --ref {id} --relation {relation}"
        ));
        assert_eq!(tied["cited"][0]["grade"], grade, "{tied}");
        let shown = shell.json(&format!("hm --json claim show {claim}"));
        assert_eq!(shown["grade"], grade, "{shown}");
    }
}

#[test]
fn each_session_is_served_once_and_as_what_it_is() {
    let shell = Shell::new();
    let root = shell.workspace().root().to_owned();
    // Each session is in a client process of its own.
    let process_of = |payload: &Value| {
        let named = ["session_id", "sessionId"].into_iter().find_map(|name| payload[name].as_str());
        5_000_000 + named.expect("a session").bytes().map(u32::from).sum::<u32>()
    };
    let call = |line: &str, payload: &Value| {
        let mut hook = shell.command(line);
        hook.current_dir(&root)
            .env("HOME", shell.state_home())
            .env("COPILOT_CLI", "1")
            .env("CLAUDE_PID", process_of(payload).to_string())
            .env_remove("HM_AGENT");
        hook.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut hook = hook.spawn().expect("hm starts");
        let _ = hook.stdin.take().expect("a pipe").write_all(payload.to_string().as_bytes());
        let output = hook.wait_with_output().expect("hm ends");
        spool_is_empty(&shell);
        serde_json::from_slice::<Value>(&output.stdout).unwrap_or_default()
    };
    let marks = || {
        let found = std::fs::read_dir(shell.workspace().hook_marks());
        let mut names: Vec<String> = found
            .into_iter()
            .flatten()
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    // What Copilot CLI tells a hook of `.claude/settings.json`, and one of its own.
    let start = |id: &str| {
        json!({ "hook_event_name": "SessionStart", "session_id": id, "timestamp": "2026-11-22T12:47:22.114Z",
                "cwd": root, "source": "new" })
    };
    let own = |id: &str| json!({ "sessionId": id, "timestamp": 1_795_351_642_114_u64, "cwd": root, "source": "new" });
    let told = call("hm hook claude", &start("c-1"));
    let text = told["additionalContext"].as_str().unwrap_or_default();
    assert!(text.starts_with("hivemind: you are copilot-1"), "{told}");
    assert_eq!(marks(), ["copilot.SessionStart"]);

    let init = |clients: &str| {
        let mut init = shell.command(&format!("hm init --clients {clients} --yes"));
        let output = init.env("HOME", shell.state_home()).env("PATH", "").output().expect("hm runs");
        assert!(output.status.success(), "{output:?}");
    };
    init("claude,copilot,cursor");
    assert_eq!(call("hm hook claude", &start("c-2")), Value::Null, "its own file is ours");
    let told = call("hm hook copilot", &own("c-2"));
    assert!(
        told["additionalContext"].as_str().unwrap_or_default().starts_with("hivemind: you are copilot-2"),
        "{told}"
    );
    let cursor = json!({ "hook_event_name": "sessionStart", "session_id": "u-1", "conversation_id": "u-1",
                         "cursor_version": "2026.09", "workspace_roots": [root] });
    assert_eq!(call("hm hook claude", &cursor), Value::Null);
    let told = call("hm hook cursor", &cursor);
    assert!(told["additional_context"].as_str().unwrap_or_default().contains("you are frontend"), "{told}");
    // VS Code runs what both files have.
    let vscode = json!({ "hookEventName": "SessionStart", "sessionId": "v-1", "cwd": root, "source": "new" });
    assert_eq!(call("hm hook claude", &vscode), Value::Null);
    let told = call("hm hook copilot", &vscode);
    let text = &told["hookSpecificOutput"]["additionalContext"];
    assert!(text.as_str().unwrap_or_default().contains("you are vscode-1"), "{told}");
    // Claude Code in a shell of Copilot CLI is Claude Code.
    let claude =
        json!({ "hook_event_name": "SessionStart", "session_id": "a-1", "cwd": root, "source": "startup" });
    let told = call("hm hook claude", &claude);
    assert!(
        told["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().contains("architect"),
        "{told}"
    );
    let sessions = shell.json("hm session list --json");
    let mut clients: Vec<String> = sessions["sessions"]
        .as_array()
        .expect("sessions")
        .iter()
        .map(|session| format!("{} {}", session["session"].as_str().expect("an id"), session["client"]))
        .collect();
    clients.sort();
    assert_eq!(
        clients,
        ["a-1 \"claude\"", "c-1 \"copilot\"", "c-2 \"copilot\"", "u-1 \"cursor\"", "v-1 \"vscode\""]
    );
    assert_eq!(
        marks(),
        [
            "claude.SessionStart",
            "copilot.SessionStart",
            "copilot.sessionStart",
            "cursor.sessionStart",
            "vscode.sessionStart"
        ]
    );
}

#[test]
fn turns_with_nothing_new_cost_one_request_each() {
    let shell = Shell::new();
    for (client, id) in
        [("claude", "s-1"), ("codex", "s-2"), ("gemini", "s-3"), ("cursor", "s-4"), ("qwen", "s-5")]
    {
        let session = Session { shell: &shell, client, id, agent: "devops" };
        let (prompt, end) = match client {
            "gemini" => ("BeforeAgent", "AfterAgent"),
            "cursor" => ("beforeSubmitPrompt", "stop"),
            _ => ("UserPromptSubmit", "Stop"),
        };
        // The client asks its model once for the prompt, and once more for each answer at the end of the turn.
        let requests = || {
            session.raw(session.payload(prompt, json!({ "prompt": "hello" })).to_string().as_bytes());
            spool_is_empty(&shell);
            let mut requests = 1;
            for again in [false, true] {
                let more = json!({ "stop_hook_active": again, "loop_count": i32::from(again), "prompt_response": "hi" });
                let answer = session.raw(session.payload(end, more).to_string().as_bytes());
                spool_is_empty(&shell);
                if answer.stdout.trim_ascii().is_empty() {
                    break;
                }
                requests += 1;
            }
            requests
        };
        session.raw(
            session
                .payload(if client == "cursor" { "sessionStart" } else { "SessionStart" }, json!({}))
                .to_string()
                .as_bytes(),
        );
        spool_is_empty(&shell);
        let create =
            format!("hm --json --agent devops claim create \"the pool of {client} leaks\" --scope src/db");
        within(&shell, id, &create);
        assert_eq!(
            [requests(), requests(), requests(), requests()],
            [1, 1, 1, 1],
            "{client}: a claim holds no turn"
        );
        // Of two tasks each is told once; what is held by another session is not told.
        for title in ["tune the pool", "measure the pool"] {
            let task = shell.json(&format!("hm --json --agent devops task add \"{title} of {client}\""));
            let task = task["task_id"].as_str().expect("an id");
            within(&shell, id, &format!("hm --json --agent devops task claim {task}"));
            assert_eq!([requests(), requests(), requests()], [2, 1, 1], "{client}: {title}");
        }
    }
}

#[test]
fn a_claim_without_evidence_is_told_with_the_next_prompt_and_once() {
    let shell = Shell::new();
    let session = claude(&shell, "s-1", "devops");
    session.start();
    spool_is_empty(&shell);
    session.prompt("first");
    std::fs::create_dir_all(format!("{}/src/db", session.cwd())).expect("a directory");
    let create = |more: &str| {
        within(&shell, "s-1", &format!("hm --json --agent devops claim create {more} --scope src/db"))
    };
    create("\"the pool leaks\"");
    create("\"the cache is cold\"");
    create("\"the pool may be too small\" --type hypothesis");
    shell.json("hm --json --agent analyst claim create \"the menu is slow\" --scope src/ui");
    assert_eq!(session.told("Stop", json!({ "stop_hook_active": false })), "");
    spool_is_empty(&shell);
    let told = session.prompt("second");
    let due = "hivemind: no evidence yet for your C1, C2: if your last command or run shows it, hm claim evidence C1 --ref last\n";
    assert!(told.ends_with(due), "{told}");
    spool_is_empty(&shell);
    assert_eq!(session.prompt("third"), "");
}

#[test]
fn whatever_is_wrong_a_hook_ends_well_and_says_nothing() {
    let shell = Shell::new();
    let session = claude(&shell, "s-1", "devops");
    session.start();
    spool_is_empty(&shell);
    let prompt = session.payload("UserPromptSubmit", json!({ "prompt": "x" })).to_string();
    let silent = |output: Output, what: &str| {
        assert!(output.status.success() && output.stdout.is_empty(), "{what}: {output:?}");
    };
    let unknown = shell.command("hm hook nobody").output().expect("hm runs");
    assert!(unknown.status.success() && unknown.stdout.is_empty(), "a code would be a verdict: {unknown:?}");
    silent(session.raw(b""), "no payload");
    silent(session.raw(b"{\"hook_event_name\": \"PreTool"), "a torn payload");
    silent(session.raw(&[0xff; 100_000]), "no text");
    silent(
        session.raw(br#"{"hook_event_name":"PreToolUse","session_id":7,"cwd":[],"tool_input":"x"}"#),
        "odd types",
    );
    silent(run(&shell, &session.cwd(), "claude", "sage", prompt.as_bytes()), "nobody of the team");
    let nowhere = tempfile::tempdir().expect("a directory");
    let elsewhere = json!({ "hook_event_name": "SessionStart", "session_id": "s", "cwd": nowhere.path() });
    let nowhere = nowhere.path().to_string_lossy().into_owned();
    silent(run(&shell, &nowhere, "claude", "devops", elsewhere.to_string().as_bytes()), "no workspace");
    assert!(!Path::new(&nowhere).join(".hivemind").exists(), "a hook makes no workspace");
    // Cursor waits for an answer.
    let output = run(&shell, &session.cwd(), "cursor", "devops", b"{\"hook_event_name\":\"preToolUse\"}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "{}");

    // The read models are no database: the turn is kept all the same.
    crate::shell::end_writer(&shell.workspace());
    let models = shell.workspace().team_memory();
    for file in [models.clone(), models.with_extension("sqlite-wal"), models.with_extension("sqlite-shm")] {
        let _ = std::fs::remove_file(file);
    }
    std::fs::write(&models, vec![7; 8192]).expect("a file");
    let tool = json!({ "tool_name": "Bash", "tool_input": { "command": "ls" } });
    silent(session.raw(session.payload("PreToolUse", tool).to_string().as_bytes()), "damaged read models");
    silent(session.raw(prompt.as_bytes()), "damaged read models");
    // The turn is kept all the same, and has a writer come that makes them anew.
    let log = || String::from_utf8(shell.run("hm log --type turn.recorded").stdout).expect("text");
    wait_until("the turn is on record", || log().contains("turn.recorded"));
    assert!(session.start().contains("</hivemind_state>"));
}

#[test]
fn the_first_sessions_of_a_workspace_all_get_their_context() {
    for _ in 0..if long() { 20 } else { 3 } {
        let shell = Shell::new();
        shell.end_writer();
        let told: Vec<(String, Duration)> = std::thread::scope(|scope| {
            let sessions = ["s-1", "s-2", "s-3", "s-4", "s-5", "s-6"];
            let shell = &shell;
            let start = |id| {
                scope.spawn(move || {
                    let began = hivemind::system::instant();
                    (claude(shell, id, "devops").start(), began.elapsed())
                })
            };
            let starting = sessions.map(start);
            starting.map(|session| session.join().expect("a session")).into()
        });
        for (told, took) in told {
            // Silence is honest where a machine is so slow that the client would not have waited.
            let gave_up = told.is_empty() && took > Duration::from_millis(850);
            let says_why = told.contains("cannot be read at this moment");
            assert!(gave_up || says_why || told.contains("</hivemind_state>"), "{took:?}: {told:?}");
        }
    }
}

#[test]
fn who_goes_on_from_a_split_is_told_all_even_by_its_first_prompt() {
    let shell = Shell::new();
    let parent = claude(&shell, "s-1", "devops");
    parent.start();
    spool_is_empty(&shell);
    let split = within(&shell, "s-1", "hm --json --agent devops session split \"the window is full\"");
    let child: &'static str = split["entity_id"].as_str().expect("the child").to_owned().leak();
    // Its client runs no hook at the start of a session.
    let child = claude(&shell, child, "devops");
    assert!(child.prompt("go on").contains("</hivemind_state>"));
    spool_is_empty(&shell);
    assert_eq!(child.prompt("and on"), "", "it knows everything now");
}

#[test]
fn what_cannot_be_read_silences_no_start_of_a_session() {
    let shell = Shell::new();
    let session = claude(&shell, "s-1", "devops");
    shell.json("hm --json --agent devops task add \"tune the pool\"");
    let models = shell.workspace().team_memory();
    let spoil = || {
        let db = rusqlite::Connection::open(&models).expect("read models");
        db.execute("UPDATE tasks SET scopes = 'not json'", []).expect("a task");
    };
    spoil();
    let told = session.start();
    assert!(told.starts_with("hivemind: you are devops") && told.contains("quarantined=\"1\""), "{told}");
    assert!(shell.run("hm status --agent devops").status.success());

    // Nobody is there who could make read models: that is said, not that nothing is known.
    let shell = Shell::new();
    let session = claude(&shell, "s-1", "devops");
    shell.json("hm --json --agent devops claim create \"the pool holds 20 connections\" --scope src/db");
    shell.end_writer();
    let lock = std::fs::File::create(shell.workspace().writer_lock()).expect("the lock");
    lock.lock().expect("nobody holds it");
    let models = shell.workspace().team_memory();
    for file in [models.with_extension("sqlite-wal"), models.with_extension("sqlite-shm")] {
        let _ = std::fs::remove_file(file);
    }
    // As a writer leaves them that has only just begun.
    std::fs::write(&models, []).expect("a file");
    let told = session.start();
    assert!(told.contains("cannot be read at this moment") && !told.contains("hivemind_state"), "{told}");
}

#[test]
fn a_context_fits_what_each_client_lets_through() {
    let shell = Shell::new();
    for number in 0..60 {
        let text = format!("第{number}条：连接池在压力之下会泄漏连接，需要在取消查询时归还它。").repeat(3);
        shell.json(&format!("hm --json --agent devops claim create \"{text}\" --scope src/db"));
    }
    // A session without anything to ask about gets a whole context, too.
    let unasked = claude(&shell, "s-0", "devops").start().chars().count();
    assert!(unasked > 5_000 && unasked <= 9_500, "{unasked} characters");
    shell.json("hm --json --agent devops intent \"return connections to the pool\" --team");
    let claude = claude(&shell, "s-1", "devops").start();
    assert!(claude.chars().count() <= 9_500 && claude.len() > 9_500, "{} bytes", claude.len());
    let codex = Session { shell: &shell, client: "codex", id: "s-2", agent: "devops" }.start();
    assert!(codex.len() <= 9_500 && codex.len() > 7_000, "{} bytes", codex.len());
    for told in [claude, codex] {
        assert!(told.trim_end().ends_with("</hivemind_state>"), "the whole pack");
    }
}

#[test]
fn looking_before_an_action_changes_nothing() {
    let shell = Shell::new();
    let session = claude(&shell, "s-1", "devops");
    session.start();
    shell.json("hm --json --agent analyst claim create \"x\" --type negative --scope . --trigger-command \"cargo vendor\"");
    session.prompt("go");
    spool_is_empty(&shell);
    let workspace = shell.workspace();
    let state = || {
        let wal = |path: &Path| std::fs::read(path.with_extension("sqlite-wal")).unwrap_or_default();
        let (ledger, models) = (workspace.ledger(), workspace.team_memory());
        let main = |path: &Path| std::fs::read(path).expect("a database");
        (main(&ledger), wal(&ledger), main(&models), wal(&models))
    };
    crate::shell::end_writer(&workspace);
    // Whoever lets go of the lock may still be closing its files.
    wait_until("the writer has closed its files", || {
        let before = state();
        std::thread::sleep(std::time::Duration::from_millis(100));
        before == state()
    });
    // Before the bytes are looked at: whoever closes a database last copies its log back.
    let rows = dump(&workspace.team_memory());
    let before = state();
    for line in ["ls -la", "cargo build", "git status"] {
        assert_eq!(session.about_to_run(line), "");
    }
    let after = state();
    let same = (before.0 == after.0, before.1 == after.1, before.2 == after.2, before.3 == after.3);
    assert_eq!(same, (true, true, true, true), "a look wrote: ledger, its log, read models, their log");
    assert_eq!(rows, dump(&workspace.team_memory()));
}

#[test]
fn an_error_that_is_known_and_a_path_that_is_known_are_told_too() {
    let shell = Shell::new();
    let session = claude(&shell, "s-1", "devops");
    session.start();
    let known = |trigger: &str, statement: &str| {
        let create = format!(
            "hm --json --agent analyst claim create \"{statement}\" --type negative --scope tag:build"
        );
        let made = shell.json(&format!("{create} {trigger}"));
        made["name"].as_str().expect("a name").to_owned()
    };
    let error = known(
        "--trigger-error \"error[E0433]: failed to resolve: use of undeclared crate `foo` at /a/b.rs:12\"",
        "the crate foo was renamed to bar",
    );
    let path = known("--trigger-path vendor", "files below vendor are made by a script");
    session.prompt("go");
    spool_is_empty(&shell);
    let failed = json!({
        "tool_name": "Bash", "tool_input": { "command": "cargo build" },
        "error": "Exit code 101\nerror[E0433]: failed to resolve: use of undeclared crate `foo` at /x/y/z.rs:99"
    });
    assert!(session.told("PostToolUseFailure", failed).contains(&error));
    assert!(session.about_to_edit("vendor/openssl/build.rs").contains(&path));
    assert_eq!(session.about_to_edit("src/vendor.rs"), "");
    // A shell line that writes there is told as well, once a turn, and one that reads there is not.
    for line in
        ["rm -r vendor/openssl", "sed -i s/a/b/ vendor/x.rs", "cd vendor && cat > y.rs <<'EOF'\nx\nEOF"]
    {
        session.prompt("go on");
        assert_eq!(session.about_to_run("sed -n 1,9p vendor/x.rs | tee /tmp/x"), "");
        assert!(session.about_to_run(line).contains(&path), "{line}");
        assert_eq!(session.about_to_run(line), "", "{line}");
    }
}
