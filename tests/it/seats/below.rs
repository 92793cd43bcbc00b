//! A client that a pane starts acts for that pane: it has a seat and a name of its own, and both count as one agent.

use super::*;

/// A client as its npm package holds it. No name of its process is that of a client.
const PACKAGE: &str = "node_modules/@google/gemini-cli/dist/index.js";

/// Programs with the names of clients. Each is a shell script: its hook records its session, then it runs a line.
struct Clients<'s> {
    shell: &'s Shell,
    dir: tempfile::TempDir,
}

impl<'s> Clients<'s> {
    fn new(shell: &'s Shell) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let package = dir.path().join("node_modules/@google/gemini-cli/dist");
        std::fs::create_dir_all(package).expect("a package");
        for (client, file) in
            [("claude", "claude"), ("codex", "codex"), ("gemini", "gemini"), ("gemini", PACKAGE)]
        {
            let script = format!(
                "printf '{{\"hook_event_name\":\"SessionStart\",\"session_id\":\"%s\",\"cwd\":\"%s\"}}' \"$3\" \"$PWD\" | \
                 env -u CLAUDE_PID \"$1\" hook {client} >/dev/null\n(sh -c \"$2\" \"$1\"); :\n"
            );
            std::fs::write(dir.path().join(file), script).expect("a client");
        }
        // A program with the name of a client that runs any line.
        std::fs::create_dir(dir.path().join("named")).expect("a directory");
        std::fs::write(dir.path().join("named/claude"), "(sh -c \"$2\" \"$1\"); :\n").expect("a program");
        Self { shell, dir }
    }

    /// The line that starts a client in a session, which runs `line` in its shell.
    fn starting(&self, client: &str, session: &str, line: &str) -> String {
        format!("sh {}/{client} \"$0\" '{line}' {session}", self.dir.path().display())
    }

    /// What a client prints that the launcher of the team starts. The launcher is this process, and no client.
    fn types(&self, client: &str, session: &str, line: &str) -> String {
        let start = self.starting(client, session, "").replace("''", "\"$1\"");
        let mut typed = in_shell(self.shell, &start);
        typed.arg(line.replace("hm ", "\"$0\" ")).env_remove("HM_AGENT").env_remove("HM_SESSION");
        let output = typed.output().expect("a shell");
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    }

    /// A workspace in which the pane `s-one` has made claim C1.
    fn with_a_claim(shell: &'s Shell) -> Self {
        let clients = Self::new(shell);
        let made = clients.types(
            "claude",
            "s-one",
            "hm claim create 'the pool holds 20 connections' --scope src --json",
        );
        assert!(made.contains("committed"), "{made}");
        clients
    }
}

/// Red before: a server for many agents that a pane started took its calls for the word of others; later still in a shell
/// of Codex, and of a client that runs from its package.
#[test]
#[cfg(target_os = "linux")]
fn a_pane_starts_no_server_for_many_agents() {
    let shell = Shell::new();
    let clients = Clients::with_a_claim(&shell);
    for (client, session) in [("claude", "s-one"), ("codex", "s-codex"), (PACKAGE, "s-package")] {
        for how in ["--any-agent", "--http 127.0.0.1:0"] {
            let line = format!("timeout 20 hm serve {how} --json </dev/null");
            let said = clients.types(client, session, &line);
            assert!(said.contains("\"not_allowed\"") && said.contains(session), "{client} {how}: {said}");
            // One command in a shell of the client takes the place of that shell.
            let said = clients.types(client, session, &format!("exec {line}"));
            assert!(said.contains("\"not_allowed\""), "{client} {how}: {said}");
        }
    }
}

/// Red before: the shell of a client that runs from its npm package spoke under the name of another agent.
#[test]
#[cfg(target_os = "linux")]
fn a_client_that_runs_from_its_package_speaks_for_no_other() {
    let shell = Shell::new();
    let clients = Clients::new(&shell);
    let made = "hm claim create 'the pool holds 20 connections' --scope src --json";
    assert!(clients.types(PACKAGE, "s-package", made).contains("committed"));
    let said = clients.types(PACKAGE, "s-package", "hm claim support C1 --agent reviewer");
    assert!(said.contains("this shell belongs to the pane of "), "{said}");
    assert_eq!(status(&shell, "C1"), "proposed");
}

/// Red before: the client that a pane started was another agent, and confirmed the claim of the pane.
#[test]
#[cfg(target_os = "linux")]
fn a_client_that_a_pane_starts_confirms_nothing_of_the_pane() {
    let shell = Shell::new();
    let clients = Clients::with_a_claim(&shell);
    for (client, session) in
        [("claude", "s-below-claude"), ("codex", "s-below-codex"), ("gemini", "s-below-gemini")]
    {
        let said = clients.types(
            "claude",
            "s-one",
            &clients.starting(client, session, "hm claim support C1 --json"),
        );
        assert!(said.contains("\"own_claim\""), "{client}: {said}");
    }
    assert_eq!(status(&shell, "C1"), "proposed");
    // It has a name of its own, and the pane confirms nothing that it says either.
    let made = clients.starting(
        "codex",
        "s-below-codex",
        "hm claim create \"the cache is cold\" --scope src --json",
    );
    let made = clients.types("claude", "s-one", &made);
    assert!(made.contains("committed"), "{made}");
    assert_eq!(shell.json("hm claim show C2 --json")["owner"], "devops");
    let said = clients.types("claude", "s-one", "hm claim support C2 --json");
    assert!(said.contains("\"own_claim\""), "{said}");
    // A pane beside them is another agent, and so is what it starts.
    let beside = clients.types("claude", "s-two", "hm claim support C1 --json");
    assert!(beside.contains("committed"), "{beside}");
    assert_eq!(status(&shell, "C1"), "confirmed");
    let below = clients.starting("gemini", "s-below-two", "hm claim support C2 --json");
    let below = clients.types("claude", "s-two", &below);
    assert!(below.contains("committed"), "{below}");
    assert_eq!(status(&shell, "C2"), "confirmed");
}

/// Red before: whatever ran below a program with the name of a client was another agent.
#[test]
#[cfg(target_os = "linux")]
fn a_program_with_the_name_of_a_client_makes_no_other_agent() {
    let shell = Shell::new();
    let clients = Clients::with_a_claim(&shell);
    let hook = "printf \"%s\" \"{\\\"hook_event_name\\\":\\\"SessionStart\\\",\\\"session_id\\\":\\\"s-made-up\\\",\\\"cwd\\\":\\\"$PWD\\\"}\" | ";
    for (what, line) in [
        ("a hook", format!("{hook} hm hook claude >/dev/null; hm claim support C1 --json")),
        (
            "a hook with the id of another process",
            format!(
                "{hook} CLAUDE_PID=1 hm hook claude >/dev/null; CLAUDE_CODE_SESSION_ID=s-made-up hm claim support C1 --json"
            ),
        ),
    ] {
        let line = clients.starting("named/claude", "none", &line);
        let said = clients.types("claude", "s-one", &line);
        assert!(said.contains("\"own_claim\"") || said.contains("\"agent_mismatch\""), "{what}: {said}");
    }
    assert_eq!(status(&shell, "C1"), "proposed");
}

/// Red before: a name that the pane itself gave to the client or the server that it started counted as the word of a human.
#[test]
#[cfg(target_os = "linux")]
fn a_name_that_a_pane_gives_to_what_it_starts_makes_no_other_agent() {
    let shell = Shell::new();
    let clients = Clients::with_a_claim(&shell);
    let supports = call("tools/call", json!({ "name": "support", "arguments": { "claim_id": "C1" } }));
    let asks = [initialize(), json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }), supports];
    let asks: String = asks.iter().map(|ask| format!("{ask}\n")).collect();
    let file = clients.dir.path().join("asks");
    std::fs::write(&file, asks).expect("questions");
    let served = format!("(cat {}; sleep 3) | hm serve", file.display());
    for (what, line) in [
        (
            "a client",
            format!("HM_AGENT=analyst {}", clients.starting("codex", "s-x", "hm claim support C1 --json")),
        ),
        (
            "a program",
            format!(
                "HM_AGENT=analyst {}",
                clients.starting("named/claude", "s-y", "hm claim support C1 --json")
            ),
        ),
        ("a server", format!("{served} --agent analyst")),
        ("a server of a client", clients.starting("gemini", "s-z", &format!("{served} --agent analyst"))),
        ("an unpinned server", served.clone()),
    ] {
        let said = clients.types("claude", "s-one", &line);
        assert!(said.contains("own_claim") || said.contains("agent_mismatch"), "{what}: {said}");
        assert_eq!(status(&shell, "C1"), "proposed", "{what}: {said}");
    }
}

/// Red before: a variable of the shell with the session of another pane made the pane that one.
#[test]
#[cfg(target_os = "linux")]
fn a_variable_with_the_session_of_another_pane_lends_the_shell_nothing() {
    let shell = Shell::new();
    let clients = Clients::with_a_claim(&shell);
    clients.types("claude", "s-two", "hm claim create 'the cache is cold' --scope src");
    for variable in ["CLAUDE_CODE_SESSION_ID", "GEMINI_SESSION_ID", "HM_SESSION"] {
        let said = clients.types("claude", "s-one", &format!("{variable}=s-two hm claim support C1 --json"));
        assert!(said.contains("\"agent_mismatch\""), "{variable}: {said}");
        assert!(said.contains(&format!("unset {variable}")), "{said}");
    }
    assert_eq!(status(&shell, "C1"), "proposed");
}

/// A client that starts when the client whose shell it was is gone has no pane above it.
#[test]
#[cfg(target_os = "linux")]
fn a_client_in_the_shell_of_one_that_is_gone_is_a_pane_of_its_own() {
    let shell = Shell::new();
    let clients = Clients::with_a_claim(&shell);
    let told = clients.dir.path().join("told");
    let next = clients.starting("claude", "s-next", "hm claim support C1 --json");
    // The parent of the shell is the client. The shell lives on without it.
    let line = format!(
        "client=$PPID; (while kill -0 $client 2>/dev/null; do sleep 0.1; done; {next}) >{} 2>&1 &",
        told.display()
    );
    clients.types("claude", "s-one", &line);
    wait_until("the next client has spoken", || {
        std::fs::read_to_string(&told).is_ok_and(|told| told.ends_with('\n'))
    });
    let told = std::fs::read_to_string(&told).expect("what it said");
    assert!(told.contains("committed"), "{told}");
    assert_eq!(status(&shell, "C1"), "confirmed");
}
