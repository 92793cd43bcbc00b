//! `hm doctor`: a sound machine has no faults, and each thing that is broken is named with its fix.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use expect_test::{Expect, expect};
use hivemind::workspace::Workspace;
use serde_json::{Value, json};

use crate::harness::{HM, wait_until};
use crate::init::Machine;
use crate::shell::environment;

/// A machine with a workspace that is configured for every client and trusted by those that say so.
struct Patient {
    machine: Machine,
}

impl Patient {
    fn sound() -> Self {
        let patient = Self { machine: Machine::new() };
        patient.install("exit 0");
        for client in ["claude", "codex", "gemini", "agy", "opencode", "code", "cursor", "copilot", "qwen"] {
            let program = patient.machine.bin().join(client);
            fs::write(&program, "#!/bin/sh\n").expect("a program");
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("permissions");
        }
        patient.machine.hm(&["init", "--all", "--yes"]);
        let root = patient.machine.project();
        let claude = json!({ "projects": { root.to_str().expect("a path"): {
            "hasTrustDialogAccepted": true, "enabledMcpjsonServers": ["hivemind"] } } });
        patient.machine.write("home/.claude.json", &claude.to_string());
        patient.trust_codex(&[
            "session_start",
            "user_prompt_submit",
            "pre_tool_use",
            "post_tool_use",
            "stop",
            "session_end",
        ]);
        let gemini = json!({ root.to_str().expect("a path"): "TRUST_FOLDER" });
        patient.machine.write("home/.gemini/trustedFolders.json", &gemini.to_string());
        let copilot = json!({ "trustedFolders": [root] });
        patient.machine.write("home/.copilot/config.json", &format!("// kept\n{copilot}\n"));
        patient
    }

    /// Puts an `hm` on the PATH whose hooks run this line, whatever the hook verb of this version does.
    fn install(&self, hook: &str) {
        let script =
            format!("#!/bin/sh\nif [ \"$1\" = hook ]; then cat > /dev/null; {hook}; fi\nexec {HM} \"$@\"\n");
        // Whoever runs the old one keeps it.
        let program = self.machine.bin().join("hm");
        let fresh = program.with_extension("new");
        fs::write(&fresh, script).expect("a script");
        fs::set_permissions(&fresh, fs::Permissions::from_mode(0o755)).expect("permissions");
        fs::rename(&fresh, &program).expect("a program");
    }

    fn trust_codex(&self, events: &[&str]) {
        let root = self.machine.project();
        let mut text = format!("[projects.\"{}\"]\ntrust_level = \"trusted\"\n", root.display());
        for event in events {
            let key = format!("{}:{event}:0:0", root.join(".codex/hooks.json").display());
            text.push_str(&format!("[hooks.state.\"{key}\"]\ntrusted_hash = \"sha256:00\"\n"));
        }
        self.machine.write("home/.codex/config.toml", &text);
    }

    fn workspace(&self) -> Workspace {
        let root = self.machine.project();
        Workspace::find(Some(&root), &root, &environment(&self.machine.state_home())).expect("the workspace")
    }

    /// Exit code and answer.
    fn examined(&self) -> (i32, Value) {
        let output = self.machine.run(&["doctor", "--json"]);
        let answer =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
        (output.status.code().expect("an exit code"), answer)
    }

    /// The faults and the dialogs that wait, with their fixes; what differs between runs gets a name.
    fn check_faults(&self, expected: Expect) {
        let (code, answer) = self.examined();
        let mut text = String::new();
        let all = answer["checks"].as_array().expect("checks").iter();
        for check in all.filter(|check| check["verdict"] == "fault" || check["verdict"] == "waiting") {
            let field = |name: &str| check[name].as_str().unwrap_or_else(|| panic!("no {name}: {check}"));
            text.push_str(&format!("{}: {}\n  fix: {}\n", field("about"), field("message"), field("fix")));
        }
        assert_eq!(code, i32::from(answer["faults"] != 0), "{answer}");
        let dir = self.machine.project();
        let dir = dir.parent().expect("a parent").to_str().expect("a path");
        let target = Path::new(HM).parent().expect("a directory").to_str().expect("a path");
        expected.assert_eq(&text.replace(dir, "DIR").replace(target, "TARGET"));
    }
}

impl Drop for Patient {
    fn drop(&mut self) {
        crate::shell::end_writer(&self.workspace());
    }
}

fn find<'a>(answer: &'a Value, about: &str) -> &'a Value {
    let checks = answer["checks"].as_array().expect("checks");
    checks.iter().find(|check| check["about"] == about).unwrap_or_else(|| panic!("no {about}: {answer}"))
}

#[test]
fn a_sound_machine_has_no_faults() {
    let patient = Patient::sound();
    let (code, answer) = patient.examined();
    assert_eq!((code, &answer["faults"]), (0, &json!(0)), "{answer:#}");
    let mut seen = String::new();
    for check in answer["checks"].as_array().expect("checks") {
        seen.push_str(&format!(
            "{} {}\n",
            check["verdict"].as_str().expect("a word"),
            check["about"].as_str().expect("a name")
        ));
    }
    expect![[r#"
        note hm
        ok writer
        ok memory
        ok store
        ok ledger
        ok pack
        ok claude config
        ok claude server
        ok claude hooks
        note claude last fired
        ok claude trust
        ok claude trust
        ok codex config
        ok codex server
        ok codex hooks
        note codex last fired
        ok codex trust
        ok codex trust
        ok gemini config
        ok gemini server
        ok gemini hooks
        note gemini last fired
        ok gemini trust
        ok antigravity config
        ok antigravity server
        note antigravity trust
        ok opencode config
        ok opencode server
        ok opencode hooks
        note opencode last fired
        note opencode trust
        ok vscode config
        ok vscode server
        ok vscode hooks
        note vscode last fired
        note vscode trust
        ok cursor config
        ok cursor server
        ok cursor hooks
        note cursor last fired
        note cursor trust
        ok copilot config
        ok copilot server
        ok copilot hooks
        note copilot last fired
        ok copilot trust
        ok qwen config
        ok qwen server
        ok qwen hooks
        note qwen last fired
        note qwen trust
    "#]]
    .assert_eq(&seen);
    assert!(find(&answer, "codex server")["data"]["tools"].as_u64().expect("a number") >= 10, "{answer:#}");
    assert!(find(&answer, "pack")["data"]["chars"].as_u64().expect("a number") <= 10_000);
    let text = patient.machine.hm(&["doctor"]);
    assert!(text.ends_with("no faults\n"), "{text}");
    assert!(
        text.lines().any(|line| line.starts_with("ok     writer ") && line.contains(" running, process ")),
        "{text}"
    );
}

#[test]
fn a_missing_program_is_named() {
    let patient = Patient::sound();
    fs::remove_file(patient.machine.bin().join("hm")).expect("a program");
    let (code, answer) = patient.examined();
    assert_eq!(code, 1, "{answer:#}");
    // What the shell says of it differs between systems.
    for (about, told) in [
        ("hm", "hm is not on the PATH, so no client can run it; this is"),
        ("claude server", "`hm serve` cannot start: no `hm` on the PATH"),
        ("opencode server", "`hm serve` cannot start: no `hm` on the PATH"),
        ("gemini hooks", "`hm hook gemini` (every event) fails (exit status: 127): "),
    ] {
        let check = find(&answer, about);
        assert!(
            check["verdict"] == "fault" && check["message"].as_str().expect("a text").starts_with(told),
            "{check}"
        );
        assert!(!check["fix"].as_str().expect("a fix").is_empty());
    }
}

#[test]
fn another_program_of_the_name_is_named() {
    let patient = Patient::sound();
    let program = patient.machine.bin().join("hm");
    fs::write(&program, "#!/bin/sh\necho hm 0.0.1\n").expect("a script");
    let (code, answer) = patient.examined();
    assert_eq!(code, 1);
    let check = find(&answer, "hm");
    assert!(check["message"].as_str().expect("a text").starts_with("clients run 0.0.1 at "), "{check}");
    assert_eq!(find(&answer, "vscode server")["verdict"], "fault", "{answer:#}");
}

#[test]
fn a_broken_hook_is_named_whichever_way_it_breaks() {
    let patient = Patient::sound();
    for client in [".codex", ".gemini", ".cursor", ".opencode", ".github", ".vscode", ".qwen"] {
        fs::remove_dir_all(patient.machine.project().join(client)).expect("a directory");
    }
    fs::remove_file(patient.machine.project().join("opencode.json")).expect("a file");
    // Copilot CLI reads the server of Claude Code: that alone does not mean that it was configured.
    let (_, answer) = patient.examined();
    assert_eq!(find(&answer, "copilot config")["message"], "Copilot CLI is here and not configured");
    patient.install("echo 'no such verb' >&2; exit 2");
    patient.check_faults(expect![[r#"
        claude hooks: `hm hook claude` (every event) fails (exit status: 2): no such verb
          fix: run `echo '{}' | hm hook claude`: it should print nothing or JSON, and end with 0
    "#]]);
    patient.install("echo welcome; exit 0");
    patient.check_faults(expect![[r#"
        claude hooks: `hm hook claude` (every event) prints something other than JSON
          fix: run `echo '{}' | hm hook claude`: it should print nothing or JSON, and end with 0
    "#]]);
    patient.install("echo '{\"continue\": true}'; exit 0");
    patient.check_faults(expect![[""]]);
}

#[test]
fn a_hook_that_is_missing_or_another_is_named_with_its_event() {
    let patient = Patient::sound();
    let change = |path: &str, from: &str, to: &str, times: usize| {
        let text = patient.machine.read(path);
        assert!(text.contains(from), "{text}");
        patient.machine.write(path, &text.replacen(from, to, times));
    };
    change("project/.claude/settings.json", "hm hook claude", "hm hok claude", 1);
    change("project/.codex/hooks.json", "hm hook codex", "/usr/bin/false", 99);
    change("project/.cursor/hooks.json", "hm hook cursor", "hm  hook cursor --agent devops", 99);
    patient.check_faults(expect![[r#"
        claude hooks: nothing runs `hm hook claude` at SessionStart
          fix: `hm init --clients claude` adds it; if another command is in its place, remove that first
        codex hooks: nothing runs `hm hook codex` at SessionStart, UserPromptSubmit, PreToolUse, PostToolUse, Stop, SessionEnd
          fix: `hm init --clients codex` adds it; if another command is in its place, remove that first
    "#]]);
    for client in ["claude", "codex"] {
        patient.machine.hm(&["init", "--clients", client, "--yes"]);
    }
    change("project/.gemini/settings.json", "hm hook gemini", "/nowhere/hm hook gemini", 1);
    let (_, answer) = patient.examined();
    let all = answer["checks"].as_array().expect("checks").iter();
    let faults = all.filter(|check| check["verdict"] == "fault" || check["verdict"] == "waiting");
    let faults: Vec<_> = faults.map(|check| check["message"].as_str().expect("a text")).collect();
    let told = "`/nowhere/hm hook gemini` (SessionStart) fails (exit status: 127): ";
    // Codex has not been asked to trust them yet.
    assert!(
        faults.len() == 2 && faults[0].starts_with("Codex skips") && faults[1].starts_with(told),
        "{faults:?}"
    );
}

#[test]
fn an_agent_of_the_environment_that_is_nobody_is_named() {
    let patient = Patient::sound();
    let examined = |name: &str| {
        let output = patient.machine.command(&["doctor", "--json"]).env("HM_AGENT", name).output();
        let output = output.expect("hm can be run");
        let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        (output.status.code(), find(&answer, "agent").clone())
    };
    let (code, check) = examined("nobody");
    assert_eq!((code, &check["verdict"]), (Some(1), &json!("fault")));
    let told = check["message"].as_str().expect("a text");
    assert!(told.starts_with("HM_AGENT: no agent is called `nobody`; the roster is: architect, "), "{told}");
    let (code, check) = examined("infra");
    assert_eq!((code, &check["verdict"]), (Some(0), &json!("ok")));
}

#[test]
fn a_project_nobody_is_configured_for_is_named() {
    let patient = Patient::sound();
    patient.machine.hm(&["uninit", "--yes"]);
    patient.check_faults(expect![[r#"
        clients: none is configured, so no agent reaches this memory
          fix: run `hm init`, or `hm init --clients NAME` for one that is not found
    "#]]);
}

#[test]
fn what_a_client_does_not_trust_is_named() {
    let patient = Patient::sound();
    let root = patient.machine.project();
    let project = root.to_str().expect("a path");
    let claude = |project_state: Value| {
        let state = json!({ "projects": { project: project_state } });
        patient.machine.write("home/.claude.json", &state.to_string());
    };
    claude(json!({}));
    patient.machine.write("home/.codex/config.toml", "");
    patient
        .machine
        .write("home/.gemini/trustedFolders.json", &json!({ project: "DO_NOT_TRUST" }).to_string());
    patient.check_faults(expect![[r#"
        claude trust: Claude Code does not trust this folder
          fix: start `claude` in it and answer `Yes, I trust this folder`; Enter alone says no
        claude trust: the server `hivemind` of .mcp.json is not approved yet
          fix: start `claude` in this folder and answer `Use this MCP server`; Enter alone says no
        codex trust: Codex does not trust this project, and so ignores .codex/
          fix: start `codex` in it and accept, at `Hooks need review` with `Trust all and continue`; or write `[projects."DIR/project"] trust_level = "trusted"` to config.toml of your Codex
        gemini trust: Gemini CLI was told not to trust DIR/project
          fix: change it with `/permissions` in Gemini CLI
    "#]]);

    claude(json!({ "hasTrustDialogAccepted": true, "disabledMcpjsonServers": ["hivemind"] }));
    patient.trust_codex(&["session_start", "stop"]);
    // A parent that is trusted through its child trusts what lies below.
    patient.machine.write(
        "home/.gemini/trustedFolders.json",
        &json!({ format!("{project}-b"): "TRUST_PARENT" }).to_string(),
    );
    patient.check_faults(expect![[r#"
        claude trust: the server `hivemind` of .mcp.json was rejected
          fix: allow it with `/mcp` in Claude Code
        codex trust: Codex skips hooks that no person has reviewed: UserPromptSubmit, PreToolUse, PostToolUse, SessionEnd
          fix: run `/hooks` in Codex and trust them
    "#]]);

    // Hooks that are turned off, and those of the user's own Codex, which want a review of their own.
    claude(json!({ "hasTrustDialogAccepted": true, "enabledMcpjsonServers": ["hivemind"] }));
    patient.machine.write("project/.claude/settings.local.json", "{\"disableAllHooks\": true}");
    fs::remove_dir_all(patient.machine.project().join(".codex")).expect("a directory");
    patient.machine.write("home/.codex/config.toml", "[features]\nhooks = false\n");
    patient.machine.hm(&["init", "--user", "--clients", "codex", "--yes"]);
    let gemini = patient.machine.read("project/.gemini/settings.json");
    let gemini = gemini.replacen('{', "{ \"hooksConfig\": { \"enabled\": false },", 1);
    patient.machine.write("project/.gemini/settings.json", &gemini);
    patient.check_faults(expect![[r#"
        claude trust: hooks are turned off in Claude Code
          fix: remove `disableAllHooks` from its settings
        codex trust: hooks are turned off in Codex
          fix: remove `hooks = false` from [features]
        codex trust: Codex skips hooks that no person has reviewed: SessionStart, UserPromptSubmit, PreToolUse, PostToolUse, Stop, SessionEnd
          fix: run `/hooks` in Codex and trust them
        gemini trust: hooks are turned off in Gemini CLI
          fix: remove `hooksConfig.enabled` from its settings
    "#]]);
    fs::remove_file(patient.machine.project().join(".claude/settings.local.json")).expect("a file");

    // What a client has not written down yet is not guessed.
    fs::remove_file(patient.machine.home().join(".claude.json")).expect("a file");
    let (_, answer) = patient.examined();
    assert_eq!(find(&answer, "claude trust")["verdict"], "note");
    patient.machine.write("home/.claude.json", "{}");
    patient.machine.write("project/.claude/settings.local.json", "{\"enableAllProjectMcpServers\": true}");
    let (_, answer) = patient.examined();
    let texts = answer.to_string();
    assert!(
        texts.contains("the server is approved") && texts.contains("does not trust this folder"),
        "{answer:#}"
    );
}

/// Gemini CLI 0.61 asks unless its user turned that off, and headless it refuses to start.
#[test]
fn a_folder_gemini_knows_nothing_of_is_not_trusted() {
    let patient = Patient::sound();
    fs::remove_file(patient.machine.home().join(".gemini/trustedFolders.json")).expect("a file");
    patient.check_faults(expect![[r#"
        gemini trust: Gemini CLI does not trust this folder
          fix: start `gemini` in it and answer `Trust folder`
    "#]]);
    let off = json!({ "security": { "folderTrust": { "enabled": false } } });
    patient.machine.write("home/.gemini/settings.json", &off.to_string());
    patient.check_faults(expect![""]);
}

#[test]
fn settings_that_do_not_parse_or_are_the_users_own_are_told_apart() {
    let patient = Patient::sound();
    patient.machine.write("project/.gemini/settings.json", "{ oops");
    patient.machine.write(
        "project/.vscode/mcp.json",
        "{\"servers\": {\"hivemind\": {\"type\": \"http\", \"url\": \"x\"}}}",
    );
    let cursor = "{\"mcpServers\": {\"hivemind\": {\"command\": \"hm\", \"args\": [\"serve\", \"--agent\", \"devops\"]}}}";
    patient.machine.write("project/.cursor/mcp.json", cursor);
    fs::remove_file(patient.machine.project().join(".codex/hooks.json")).expect("a file");
    patient.check_faults(expect![[r#"
        codex hooks: nothing runs `hm hook codex` at SessionStart, UserPromptSubmit, PreToolUse, PostToolUse, Stop, SessionEnd
          fix: `hm init --clients codex` adds it; if another command is in its place, remove that first
        gemini config: DIR/project/.gemini/settings.json: it does not parse: expected string for object property on line 1 column 3
          fix: mend the file: the client does not read it, and hm init leaves it alone
    "#]]);
    let (_, answer) = patient.examined();
    let shown = |about: &str| find(&answer, about)["message"].as_str().expect("a text").to_owned();
    assert_eq!(
        shown("vscode config"),
        ".vscode/mcp.json (a server of your own), .github/hooks/hivemind.json"
    );
    assert_eq!(shown("cursor config"), ".cursor/mcp.json (customised), .cursor/hooks.json");
    assert_eq!(shown("codex config"), ".codex/config.toml");
    assert!(shown("cursor server").starts_with("`hm serve --agent devops` answers"), "{answer:#}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_dead_writer_and_a_stuck_one_are_named() {
    use rustix::process::{Pid, Signal, kill_process};
    let patient = Patient::sound();
    assert_eq!(patient.examined().0, 0);
    crate::harness::kill_writer(&patient.workspace());
    let (code, answer) = patient.examined();
    let check = find(&answer, "writer");
    assert_eq!((code, &check["verdict"]), (1, &json!("fault")), "{check}");
    let message = check["message"].as_str().expect("a text");
    assert!(
        message.contains("died and left a stale socket, ") && message.ends_with("writer.sock"),
        "{message}"
    );
    // It has started another, which is no news any more.
    assert_eq!(patient.examined().0, 0);

    let pid = || {
        fs::read_to_string(patient.workspace().writer_lock())
            .expect("a lock")
            .trim()
            .parse()
            .ok()
            .and_then(Pid::from_raw)
    };
    let stuck = pid().expect("a process id");
    kill_process(stuck, Signal::STOP).expect("a writer to stop");
    let (code, answer) = patient.examined();
    kill_process(stuck, Signal::CONT).expect("a writer to go on");
    let message = find(&answer, "writer")["message"].as_str().expect("a text").to_owned();
    assert!(code == 1 && message.contains("holds the writer's lock and does not answer"), "{message}");
    wait_until("the writer answers again", || patient.examined().0 == 0);
}

#[test]
fn what_a_colleague_configured_for_a_client_that_is_not_here_is_no_fault() {
    let patient = Patient::sound();
    let project = patient.machine.project().display().to_string();
    patient
        .machine
        .write("home/.gemini/trustedFolders.json", &json!({ project: "DO_NOT_TRUST" }).to_string());
    assert_eq!(patient.examined().0, 1);
    fs::remove_file(patient.machine.bin().join("gemini")).expect("a program");
    patient.check_faults(expect![[""]]);
    let (_, answer) = patient.examined();
    let told = find(&answer, "gemini config")["message"].as_str().expect("a text");
    assert_eq!(told, ".gemini/settings.json; Gemini CLI is not on this machine");
}

#[test]
fn a_fresh_clone_is_ready() {
    let patient = Patient::sound();
    fs::remove_dir_all(patient.workspace().memory()).expect("a directory");
    patient.check_faults(expect![[""]]);
}

#[test]
fn a_store_that_cannot_be_read_is_named() {
    let patient = Patient::sound();
    assert_eq!(patient.examined().0, 0);
    crate::shell::end_writer(&patient.workspace());
    // What is in the log would be read instead.
    let log = patient.workspace().ledger().with_extension("sqlite-wal");
    assert!(!log.exists() || fs::remove_file(log).is_ok());
    fs::write(patient.workspace().ledger(), vec![7; 8_192]).expect("a file");
    let (code, answer) = patient.examined();
    assert_eq!(code, 1);
    for about in ["writer", "store"] {
        assert_eq!(find(&answer, about)["verdict"], "fault", "{answer:#}");
    }
    let message = find(&answer, "writer")["message"].as_str().expect("a text");
    assert!(message.starts_with("none is running, and none can be started"), "{message}");
}

#[test]
fn read_models_that_cannot_be_read_have_one_cure() {
    let patient = Patient::sound();
    patient.machine.hm(&["--agent", "devops", "claim", "create", "the pool holds 20", "--scope", "src/db"]);
    // Under a writer that runs: one that starts would make them anew.
    let store = patient.workspace().team_memory();
    for kind in ["sqlite-wal", "sqlite-shm"] {
        fs::remove_file(store.with_extension(kind)).expect("a file");
    }
    fs::write(&store, vec![7; 8_192]).expect("a file");
    let (code, answer) = patient.examined();
    assert_eq!(code, 1);
    for about in ["store", "pack"] {
        assert_eq!(find(&answer, about)["fix"], "run `hm rebuild`: nothing is lost", "{answer:#}");
    }
}

#[test]
fn it_says_when_hooks_last_fired_and_a_rehearsal_is_no_event() {
    let patient = Patient::sound();
    // As the hook verb leaves it, rehearsed or not.
    patient.install("mkdir -p .hivemind/runtime/hooks; touch .hivemind/runtime/hooks/$2.PreToolUse; exit 0");
    let (_, answer) = patient.examined();
    assert!(find(&answer, "codex last fired")["message"] == "not used here yet", "{answer:#}");
    assert_eq!(find(&answer, "claude last fired")["data"]["PreToolUse"], Value::Null);

    let mark = patient.workspace().hook_marks().join("claude.PreToolUse");
    #[expect(clippy::disallowed_methods, reason = "the file is as old as the test says")]
    let then = SystemTime::now() - Duration::from_secs(7_300);
    fs::File::create(&mark).and_then(|mark| mark.set_modified(then)).expect("a mark");
    for _ in 0..2 {
        let (code, answer) = patient.examined();
        assert_eq!(code, 0, "{answer:#}");
        let check = find(&answer, "claude last fired");
        assert!(
            check["message"].as_str().expect("a text").contains("PreToolUse 2 h ago, PostToolUse never"),
            "{check}"
        );
    }
}
