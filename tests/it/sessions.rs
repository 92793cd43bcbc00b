//! Under which session a write is filed: what the call names, what the client says of it, else one of its own.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use hivemind::client_session::ClientSession;
use serde_json::{Value, json};

use crate::http::{self, initialize, request};
use crate::shell::Shell;

/// `hm serve` as a client starts it; the client is this process.
struct Served {
    child: Child,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
    claims: usize,
}

impl Served {
    fn start(shell: &Shell, variables: &[(&str, &str)]) -> Self {
        let mut command = shell.command("hm serve --agent devops");
        command.envs(variables.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a server to start");
        let stdin = child.stdin.take().expect("its input");
        let stdout = BufReader::new(child.stdout.take().expect("its output")).lines();
        let mut served = Self { child, stdin, stdout, claims: 0 };
        served.ask(&initialize());
        served.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        served
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.stdin, "{message}").expect("the server listens");
    }

    fn ask(&mut self, question: &Value) -> Value {
        self.say(question);
        let line = self.stdout.next().expect("an answer").expect("text");
        serde_json::from_str::<Value>(&line).expect("JSON")["result"].clone()
    }

    /// What a new claim is answered.
    fn claims(&mut self, argument: Option<&str>, meta: &Value) -> Value {
        self.claims += 1;
        let mut arguments = json!({ "claim_type": "fact", "scopes": ["src"] });
        arguments["statement"] = json!(format!("port {} of {} is open", self.claims, self.child.id()));
        if let Some(session) = argument {
            arguments["session"] = json!(session);
        }
        let call = json!({ "name": "create_claim", "arguments": arguments, "_meta": meta });
        self.ask(&request("tools/call", call))
    }

    /// A server that its client put in a session speaks in no other.
    fn refuses_another_session(&mut self, meta: &Value) {
        let answer = self.claims(Some("named"), meta);
        assert_eq!(answer["structuredContent"]["code"], "agent_mismatch", "{answer}");
    }

    /// The session a new claim is filed under.
    fn session(&mut self, shell: &Shell, meta: &Value) -> String {
        let answer = self.claims(None, meta);
        assert_eq!(answer["structuredContent"]["state"], "committed", "{answer}");
        let log = shell.json("hm log --json --type claim.created");
        let last = log["events"].as_array().and_then(|events| events.last()).expect("an event");
        last["session"].as_str().expect("a session").to_owned()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_server_follows_the_session_of_its_client() {
    let shell = Shell::new();
    // What Claude Code tells its server at the start, and does not correct.
    let mut served = Served::start(&shell, &[("CLAUDE_CODE_SESSION_ID", "told-at-start")]);
    assert_eq!(served.session(&shell, &json!({})), "told-at-start");

    // What its hooks leave word of, as often as it changes.
    let client = ClientSession::of(&shell.workspace(), std::process::id());
    for session in ["resumed", "cleared"] {
        client.enter(&session.parse().expect("a session id")).expect("word is left");
        assert_eq!(served.session(&shell, &json!({})), session);
    }
    served.refuses_another_session(&json!({}));

    // What Codex says with each call. Red before: any client that said so was believed.
    let mut codex =
        json!({ "x-codex-turn-metadata": { "session_id": "of-codex", "thread_id": "of-a-subagent" } });
    assert_eq!(served.session(&shell, &codex), "cleared", "another client is not believed");
    let name = json!({ "name": "codex-mcp-client", "version": "1" });
    codex["io.modelcontextprotocol/clientInfo"] = name.clone();
    assert_eq!(served.session(&shell, &codex), "of-codex");
    served.refuses_another_session(&codex);

    let session = |name: &str| name.parse().expect("a session id");
    client.leave(&session("resumed")).expect("what is no news");
    assert_eq!(served.session(&shell, &json!({})), "cleared", "the end of the session before came late");
    client.leave(&session("cleared")).expect("word is taken back");
    client.leave(&session("cleared")).expect("twice is once");
    assert_eq!(served.session(&shell, &json!({})), "told-at-start");

    // Whoever starts a pane in a session knows better, as with an agent that is sent out.
    client.enter(&"resumed".parse().expect("a session id")).expect("word is left");
    let mut sent_out = Served::start(&shell, &[("HM_SESSION", "told")]);
    let codex = json!({
        "x-codex-turn-metadata": { "session_id": "of-codex" }, "io.modelcontextprotocol/clientInfo": name,
    });
    assert_eq!(sent_out.session(&shell, &codex), "told");
    sent_out.refuses_another_session(&codex);
}

#[test]
fn a_session_is_read_from_the_variables_of_each_client() {
    let shell = Shell::new();
    let variables = ["GEMINI_SESSION_ID", "CODEX_THREAD_ID", "CODEX_SESSION_ID", "CLAUDE_CODE_SESSION_ID"];
    let mut set = Vec::new();
    for variable in variables {
        // Each goes before those that were set already.
        set.push((variable, variable));
        let served = Served::start(&shell, &set).session(&shell, &json!({}));
        assert_eq!(served, variable);
    }
    let own = Served::start(&shell, &[]).session(&shell, &json!({}));
    assert!(own.starts_with("hm-"), "{own}");
}

#[test]
fn a_server_of_many_is_in_the_session_of_none_of_them() {
    let shell = Shell::new();
    let starter = ClientSession::of(&shell.workspace(), std::process::id());
    starter.enter(&"of-who-started-it".parse().expect("a session id")).expect("word is left");
    let served = http::Served::start_by(shell.command("hm"), &[]);
    let arguments = json!({ "statement": "it is asked over HTTP", "claim_type": "fact", "scopes": ["src"] });
    let call = json!({ "name": "create_claim", "arguments": arguments });
    assert_eq!(http::modern(&served, None, "tools/call", call).outcome(), "committed");
    let log = shell.json("hm log --json");
    let session = log["events"][0]["session"].as_str().expect("a session");
    assert!(session.starts_with("hm-"), "{session}");
}

#[test]
fn an_agent_declares_its_sessions_intent_and_the_operator_the_teams() {
    let shell = Shell::new();
    let within = |session: &str, line: &str| {
        let mut command = shell.command(line);
        let output = command.env("HM_SESSION", session).stdin(Stdio::null()).output().expect("hm runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let looks = |session: &str| {
        let context = within(session, "hm context --agent devops");
        let intent = context.split("intent=\"").nth(1).and_then(|rest| rest.split('"').next());
        intent.unwrap_or_else(|| panic!("no intent: {context}")).to_owned()
    };
    shell.json("hm intent \"ship 1.0\" --agent operator --json");
    within("said", "hm intent \"tune the pool\" --agent devops");
    // The shell of a client that names no session there is a session of its own.
    shell.json("hm intent \"measure the menu\" --agent architect --json");
    assert_eq!([looks("said"), looks("silent")], ["tune the pool", "ship 1.0"]);
    within("other", "hm intent \"the docs first\" --team --agent analyst");
    assert_eq!(
        [looks("said"), looks("silent"), looks("other")],
        ["tune the pool", "the docs first", "the docs first"]
    );
    for (agent, intent) in [("architect", "ship what there is"), ("operator", "stop, and talk to me")] {
        shell.json(&format!("hm intent \"{intent}\" --team --agent {agent} --json"));
        assert_eq!([looks("said"), looks("silent")], [intent, intent]);
    }
}

/// What a hook answers.
fn hooked(shell: &Shell, client: &str, payload: Value) -> String {
    let mut payload = payload;
    payload["cwd"] = json!(shell.workspace().root());
    let mut command = shell.command(&format!("hm hook {client}"));
    command.env("HM_AGENT", "devops").env("CLAUDE_PID", std::process::id().to_string());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a hook");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(payload.to_string().as_bytes()).expect("a payload");
    drop(stdin);
    let output = child.wait_with_output().expect("an end");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// What it answers for the agent to read; nothing when it is silent.
fn context(answer: &str) -> String {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn hooks_know_the_session_from_its_first_moment_to_its_last() {
    let shell = Shell::new();
    let event = |session: &str, event: &str| json!({ "session_id": session, "hook_event_name": event });
    let client = ClientSession::of(&shell.workspace(), std::process::id());
    let current = || client.current().map(|session| session.to_string());
    let told = hooked(&shell, "claude", event("before", "SessionStart"));
    assert!(context(&told).starts_with("hivemind: you are devops"), "{told}");
    assert_eq!(current().as_deref(), Some("before"));
    // `/clear`: the end of the session before may come after the start of the next.
    hooked(&shell, "claude", event("after", "SessionStart"));
    hooked(&shell, "claude", event("before", "SessionEnd"));
    assert_eq!(current().as_deref(), Some("after"));
    hooked(&shell, "claude", event("after", "SessionEnd"));
    assert_eq!(current(), None);
    // On a busy machine a hook leaves what it says in the spool.
    crate::harness::wait_until("both sessions ended", || {
        let list = shell.json("hm session list --json");
        let ended = list["sessions"].as_array().expect("sessions");
        ended.len() == 2 && ended.iter().all(|session| session["ended_at"].is_number())
    });
}

#[test]
fn codex_is_told_no_more_bytes_than_it_lets_through() {
    let shell = Shell::new();
    let start = json!({ "session_id": "s", "hook_event_name": "SessionStart" });
    let prompt = json!({ "session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "next" });
    hooked(&shell, "codex", start.clone());
    for number in 0..60 {
        let statement = format!("{} {number}", "接続の数は二十を超えない".repeat(10));
        shell.json(&format!("hm claim create \"{statement}\" --scope src/n{number} --agent analyst --json"));
    }
    for (payload, at_least) in [(prompt, 3_000), (start, 8_000)] {
        let told = context(&hooked(&shell, "codex", payload));
        assert!((at_least..=10_000).contains(&told.len()), "{} bytes: {told}", told.len());
    }
}

#[test]
fn word_of_a_dead_client_is_forgotten() {
    let shell = Shell::without_writer();
    let workspace = shell.workspace();
    let dead = {
        let mut child = shell.command("hm status").stdout(Stdio::null()).spawn().expect("a process");
        child.wait().expect("its end");
        ClientSession::of(&workspace, child.id())
    };
    let alive = ClientSession::of(&workspace, std::process::id());
    let session = |name: &str| name.parse().expect("a session id");
    dead.enter(&session("of-the-dead")).expect("word is left");
    assert_eq!(dead.current(), Some(session("of-the-dead")));
    alive.enter(&session("of-the-living")).expect("word is left");
    assert_eq!((dead.current(), alive.current()), (None, Some(session("of-the-living"))));

    std::fs::write(workspace.client_sessions().join(std::process::id().to_string()), "two\nlines")
        .expect("a file");
    assert_eq!(alive.current(), None, "what is no session id is none");
}
