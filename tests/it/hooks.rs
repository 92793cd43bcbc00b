//! Hook payloads of every client in their recorded shapes: what is read of them, and what is answered.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use hivemind::domain::privacy::Secrets;
use hivemind::hooks::{Answer, Call, Client, Moment};
use serde_json::{Value, json};

/// The recorded payloads of every client, each with its name.
pub(crate) fn fixtures() -> Vec<(Client, String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hooks");
    let mut found = Vec::new();
    for client in Client::ALL {
        let dir = std::fs::read_dir(root.join(client.as_str())).expect("fixtures of every client");
        let mut files: Vec<PathBuf> = dir.map(|entry| entry.expect("an entry").path()).collect();
        files.sort();
        for file in files {
            let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
            found.push((*client, name, std::fs::read_to_string(&file).expect("a fixture")));
        }
    }
    found
}

#[test]
fn every_payload_is_read_and_answered() {
    let said = Answer::Context("this was tried before".to_owned());
    let mut told = String::new();
    for (client, name, payload) in fixtures() {
        let call = Call::parse(client, false, &payload);
        assert!(name.starts_with(&call.event), "{name} is about {}", call.event);
        let mut line = |what: &str, text: String| writeln!(told, "    {what}: {text}").expect("room");
        line("call", format!("{client} {name}, session {:?}, in {:?}", call.session, call.cwd));
        line("moment", format!("{:?}", call.moment));
        let shown = |answer: Option<String>| answer.unwrap_or_else(|| "(nothing)".to_owned());
        line("said", shown(call.answer(&said)));
        if let Moment::BeforeTool(_) | Moment::AfterTool(..) = call.moment {
            line("warned", shown(call.answer(&Answer::Warning("this was tried before".to_owned()))));
        }
        line("silent", shown(call.answer(&Answer::Silence)));
        told.push('\n');
    }
    expect_file!["../fixtures/hooks/golden.txt"].assert_eq(&told);
}

/// How a client reads that a tool must not run, and why.
pub(crate) fn refusal_of(client: Client, event: &str, why: &str) -> Value {
    match client {
        Client::Claude | Client::Codex | Client::VsCode | Client::Qwen => json!({ "hookSpecificOutput": {
            "hookEventName": event, "permissionDecision": "deny", "permissionDecisionReason": why
        } }),
        Client::Gemini => json!({ "decision": "deny", "reason": why }),
        Client::Cursor => json!({ "permission": "deny", "user_message": why, "agent_message": why }),
        Client::Copilot => json!({ "permissionDecision": "deny", "permissionDecisionReason": why }),
        // The plugin throws this text, and opencode shows it in place of the output.
        Client::Opencode => json!({ "deny": why }),
    }
}

#[test]
fn a_refusal_has_the_form_that_its_client_reads_and_stops_nothing_but_a_tool() {
    let mut clients = BTreeSet::new();
    for (client, name, payload) in fixtures() {
        let call = Call::parse(client, false, &payload);
        let answer = call.answer(&Answer::Deny("ask first".to_owned()));
        if !matches!(call.moment, Moment::BeforeTool(_)) {
            let said = answer.unwrap_or_default();
            assert!(!said.contains("deny") && !said.contains("ask first"), "{name}: {said}");
            continue;
        }
        let answer: Value = serde_json::from_str(&answer.expect("a refusal")).expect("JSON");
        assert_eq!(answer, refusal_of(call.client, &call.event, "ask first"), "{client} {name}");
        clients.insert(call.client.as_str());
    }
    assert_eq!(clients.len(), Client::ALL.len(), "{clients:?}");
}

#[test]
fn an_answer_never_decides_about_a_tool() {
    for (client, name, payload) in fixtures() {
        let call = Call::parse(client, false, &payload);
        let text = || "x".to_owned();
        let silent = [Answer::Silence, Answer::Context(String::new()), Answer::Warning(String::new())];
        for answer in silent.into_iter().chain([Answer::Context(text()), Answer::Warning(text())]) {
            let Some(line) = call.answer(&answer) else { continue };
            let json: Value = serde_json::from_str(&line).expect("an answer is JSON");
            assert!(json.is_object() && !line.contains("permission"), "{name}: {line}");
            let is_end = matches!(call.moment, Moment::Stop { .. });
            assert!(json.get("decision").is_none() || is_end, "{name}: {line}");
            let is_said = answer == Answer::Context(text()) || answer == Answer::Warning(text());
            assert_eq!(line.contains(r#""x""#), call.is_heard() && is_said);
        }
    }
}

#[test]
fn the_client_that_runs_a_hook_is_recognised_and_answered_in_its_own_shape() {
    let said = Answer::Context("x".to_owned());
    let own = |client: &str, name: &str| {
        let path = format!("{}/tests/fixtures/hooks/{client}/{name}.json", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).expect("a fixture")
    };
    // As Copilot CLI 1.0.102 runs what stands in `.claude/settings.json`.
    let of_copilot = |event: &str, more: Value| {
        let mut payload = json!({
            "hook_event_name": event, "session_id": "235ab6cf-19dc-465a-87ed-144a204113de",
            "timestamp": "2026-11-22T12:47:22.417Z", "cwd": "/home/ana/shop",
        });
        let fields = more.as_object().expect("fields").clone();
        payload.as_object_mut().expect("an object").extend(fields);
        payload.to_string()
    };
    let bash =
        json!({ "tool_name": "Bash", "tool_input": { "command": "cargo vendor", "description": "x" } });
    let stop = json!({ "stop_reason": "end_turn", "stop_hook_active": false });
    let cases = [
        ("claude", true, of_copilot("SessionStart", json!({ "source": "new", "initial_prompt": "x" }))),
        ("claude", true, of_copilot("PreToolUse", bash)),
        ("claude", true, of_copilot("Stop", stop)),
        // Claude Code in a shell of Copilot CLI.
        ("claude", true, own("claude", "SessionStart")),
        ("claude", true, own("claude", "PreToolUse.Bash")),
        ("claude", false, own("cursor", "sessionStart")),
        ("claude", false, own("cursor", "preToolUse.Shell")),
        ("claude", false, own("vscode", "PreToolUse.run_in_terminal")),
        ("copilot", false, own("vscode", "SessionStart")),
        ("copilot", false, own("vscode", "Stop")),
        ("copilot", true, own("copilot", "preToolUse.bash")),
        ("codex", true, own("codex", "PreToolUse.Bash")),
    ];
    let mut seen = String::new();
    for (named, in_copilot, payload) in cases {
        let call = Call::parse(named.parse().expect("a client"), in_copilot, &payload);
        let answer = call.answer(&said).unwrap_or_default();
        let (client, event) = (call.client, call.configured_event());
        writeln!(seen, "hm hook {named}, in Copilot {in_copilot}: {client} {event}: {answer}").expect("room");
    }
    expect_test::expect![[r#"
        hm hook claude, in Copilot true: copilot SessionStart: {"additionalContext":"x"}
        hm hook claude, in Copilot true: copilot PreToolUse: {"additionalContext":"x"}
        hm hook claude, in Copilot true: copilot Stop: {"decision":"block","reason":"x"}
        hm hook claude, in Copilot true: claude SessionStart: {"hookSpecificOutput":{"additionalContext":"x","hookEventName":"SessionStart"}}
        hm hook claude, in Copilot true: claude PreToolUse: {"hookSpecificOutput":{"additionalContext":"x","hookEventName":"PreToolUse"}}
        hm hook claude, in Copilot false: cursor sessionStart: {"additional_context":"x"}
        hm hook claude, in Copilot false: cursor preToolUse: {}
        hm hook claude, in Copilot false: vscode preToolUse: {"hookSpecificOutput":{"additionalContext":"x","hookEventName":"PreToolUse"}}
        hm hook copilot, in Copilot false: vscode sessionStart: {"hookSpecificOutput":{"additionalContext":"x","hookEventName":"SessionStart"}}
        hm hook copilot, in Copilot false: vscode agentStop: {"hookSpecificOutput":{"decision":"block","hookEventName":"Stop","reason":"x"}}
        hm hook copilot, in Copilot true: copilot preToolUse: {"additionalContext":"x"}
        hm hook codex, in Copilot true: codex PreToolUse: {"hookSpecificOutput":{"additionalContext":"x","hookEventName":"PreToolUse"}}
    "#]].assert_eq(&seen);
}

/// The payload with one of its fields, at any depth, replaced.
fn with_each_field_replaced(payload: &Value, by: &Value) -> Vec<Value> {
    let Some(fields) = payload.as_object() else { return Vec::new() };
    let mut variants = Vec::new();
    for (name, value) in fields {
        let mut with = |value: Value| {
            let mut variant = fields.clone();
            variant.insert(name.clone(), value);
            variants.push(Value::Object(variant));
        };
        with(by.clone());
        with_each_field_replaced(value, by).into_iter().for_each(with);
    }
    variants
}

#[test]
fn a_field_that_is_missing_or_of_another_type_is_no_error() {
    let mut read = 0;
    for (client, name, payload) in fixtures() {
        let payload: Value = serde_json::from_str(&payload).expect("a fixture is JSON");
        // Copilot CLI names no event.
        let event_of =
            |payload: &Value| ["hook_event_name", "hookEventName"].map(|name| payload[name].clone());
        let event = event_of(&payload);
        for by in [json!(null), json!(7), json!("text"), json!([]), json!([1, "a"]), json!({}), json!(true)] {
            for variant in with_each_field_replaced(&payload, &by) {
                let call = Call::parse(client, false, &variant.to_string());
                let same_event = event_of(&variant) == event;
                let original = Call::parse(client, false, &payload.to_string());
                let kind = std::mem::discriminant::<Moment>;
                assert_eq!(
                    kind(&call.moment) == kind(&original.moment),
                    same_event || original.moment == Moment::Other,
                    "{name}: {variant}"
                );
                read += 1;
            }
        }
    }
    assert!(read > 3_000, "only {read} variants were read");
    for nothing in ["", "null", "[]", "7", "{", "{}", "\u{feff}{}"] {
        let call = Call::parse(Client::Claude, false, nothing);
        assert_eq!((call.moment.clone(), call.answer(&Answer::Silence)), (Moment::Other, None), "{nothing}");
    }
}

#[test]
fn paths_in_a_command_are_spelled_in_another_way_quoted_or_not() {
    let payload = |line: &str| {
        let input = json!({ "command": line });
        json!({ "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": input }).to_string()
    };
    let told = |link: &str, root: &str, line: &str| {
        let spelled = |path: &str| match path.strip_prefix(link) {
            Some(below) if below.is_empty() || below.starts_with('/') => format!("{root}{below}"),
            _ => path.to_owned(),
        };
        let call = Call::parse(Client::Claude, false, &payload(line)).spelled(spelled);
        let Moment::BeforeTool(tool) = call.moment else { panic!("{call:?}") };
        tool.command.expect("a command")
    };
    let cases = [
        ("/l", "/root", "cd /l && make -C/l --dir=/l/a,/l/b; ls /left /usr/l <(cat /l/c)"),
        ("/l", "/root", "cd '/l/a b' \"/l/c d\"/e \"$X/l\" \"it's /l/f\""),
        ("/l", "/root", "bash -c \"cd '/l/a b' && /l/run\"; bash -c '/l/run x && cd /l/y'"),
        ("/l", "/root", "cd /l/a\\ b; echo don't /l/c \"/l/d"),
        ("/my link", "/root", "cd '/my link' && cat \"/my link/a\" /my\\ link/b"),
        ("/my link", "/root", "bash -c \"cd '/my link/a b' && /my\\ link/run\" || cat /my link/a"),
        ("/l", "/my root", "cd /l && ls \"/l/a\" '/l/b' --dir=/l/c"),
        ("/l", "/my root", "bash -c \"cd /l && make\""),
    ];
    let seen: Vec<String> = cases.iter().map(|(link, root, line)| told(link, root, line)).collect();
    expect_test::expect![[r#"
        cd /root && make -C/l --dir=/root/a,/root/b; ls /left /usr/l <(cat /root/c)
        cd '/root/a b' "/root/c d"/e "$X/l" "it's /root/f"
        bash -c "cd '/root/a b' && /root/run"; bash -c '/root/run x && cd /root/y'
        cd '/root/a b'; echo don't /root/c "/root/d
        cd '/root' && cat "/root/a" /root/b
        bash -c "cd '/root/a b' && /root/run" || cat /my link/a
        cd '/my root' && ls "/my root/a" '/my root/b' --dir='/my root/c'
        bash -c "cd '/my root' && make""#]]
    .assert_eq(&seen.join("\n"));
}

/// Red before: the end of a long output was cut within a secret.
#[test]
fn the_cut_of_an_output_leaves_no_half_of_a_secret_in_its_error() {
    const SAID: &str = "error: access denied for ";
    for kept in 1..=20 {
        let lines = "y".repeat(16 * 1024 - 1 - SAID.len() - kept);
        let payload = json!({
            "hook_event_name": "PostToolUseFailure", "session_id": "s-1", "cwd": "/w", "tool_name": "Bash",
            "tool_input": { "command": "make" }, "error": format!("{lines}\n{SAID}AKIAQ3EGT4PLKXYWZB7M now"),
        });
        let call = Call::parse(Client::Claude, false, &payload.to_string());
        let error = call.action("/w", &Secrets::default()).and_then(|action| action.error);
        assert!(error.as_ref().is_none_or(|error| !error.as_str().contains('q')), "{kept}: {error:?}");
    }
}

#[test]
fn what_clients_call_is_an_action() {
    let mut seen = BTreeSet::new();
    for (client, name, payload) in fixtures() {
        let call = Call::parse(client, false, &payload);
        let Some(action) = call.action("/home/ana/shop", &Secrets::default()) else { continue };
        // What a tool of a server does is not known, and no edit.
        let is_known = !name.contains("ead") && !name.contains("mcp");
        assert!(is_known != action.is_empty() || action.error.is_some(), "{client} {name}: {action:?}");
        seen.extend(action.paths.iter().map(|path| format!("{client} {path}")));
        seen.extend(action.commands.iter().map(|command| format!("{client} $ {command}")));
        seen.extend(action.error.iter().map(|error| format!("{client} ! {error}")));
    }
    let seen: Vec<String> = seen.into_iter().collect();
    expect_test::expect![[r#"
        claude ! duplicate_claim: the same statement about the same scopes is already claim {hex}; support {hex} if you agree, or challenge it if you do not
        claude ! failed to sync
        claude $ cargo bench
        claude $ cargo build
        claude $ cargo vendor --locked
        claude $ cd web && npm test
        claude notes/load.ipynb
        claude src/db/new.rs
        claude src/db/pool.rs
        codex ! ls: cannot access {quoted}: no such file or directory
        codex ! mismatched types
        codex ! pool timed out after {n}
        codex $ cargo build
        codex $ cargo test pool
        codex $ cargo vendor --locked
        codex $ cd crates/store && cargo build
        codex $ cd crates/store && cargo vendor
        codex $ ls 'a b'
        codex src/a.rs
        codex src/b.rs
        codex src/db/old.rs
        codex src/db/pool.rs
        codex src/db/wait.rs
        copilot ! parent directory does not exist
        copilot ! path does not exist
        copilot ! {path}: line {n}: cargo: command not found
        copilot $ cargo vendor --locked
        copilot $ cd web && npm test
        copilot src/db/new.rs
        copilot src/db/pool.rs
        cursor ! fail {path}
        cursor $ cargo vendor
        cursor $ cd web && npm test
        cursor $ npm test
        cursor src/db/pool.rs
        gemini ! eacces: permission denied, open {quoted}
        gemini ! error ts2304: cannot find name {quoted}
        gemini ! error ts2307: cannot find module {quoted}
        gemini $ cat build.log
        gemini $ cd web && npm run build
        gemini $ npm run build
        gemini $ npm run lint
        gemini src/db/pool.rs
        gemini src/x.rs
        opencode ! {n} failing
        opencode $ cargo vendor --locked
        opencode $ cd web && npm test
        opencode src/db/new.rs
        opencode src/db/pool.rs
        qwen ! bash: line {n}: cargo: command not found
        qwen ! file not found: {path}
        qwen $ cargo vendor --locked
        qwen $ ls
        qwen src/x.rs
        vscode $ cargo vendor --locked
        vscode src/a.rs
        vscode src/b.rs
        vscode src/db/new.rs
        vscode src/db/pool.rs"#]]
    .assert_eq(&seen.join("\n"));
}
