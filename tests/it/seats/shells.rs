//! The shell of a pane is that pane: neither a variable nor a run makes it another one.

use super::*;

/// A client in a workspace: a process with the name of a client, whose hook records its session. It starts a shell.
struct Client<'s> {
    shell: &'s Shell,
    dir: tempfile::TempDir,
    name: &'static str,
}

impl<'s> Client<'s> {
    fn new(shell: &'s Shell) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let script = "printf '{\"hook_event_name\":\"SessionStart\",\"session_id\":\"%s\",\"cwd\":\"%s\"}' \"$3\" \"$PWD\" | \
                      CLAUDE_PID=$$ \"$1\" hook claude >/dev/null\n(sh -c \"$2\" \"$1\"); :\n";
        std::fs::write(dir.path().join("claude"), script).expect("a client");
        Self { shell, dir, name: "claude" }
    }

    /// A client whose hooks are not configured.
    fn without_hooks(shell: &'s Shell, name: &'static str) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join(name), "(sh -c \"$2\" \"$1\"); :\n").expect("a client");
        Self { shell, dir, name }
    }

    /// What a line prints in the shell of the client that is in `session`. The client is started with `given`.
    fn types(&self, session: &str, given: &[(&str, &str)], line: &str) -> String {
        let mut client = in_shell(self.shell, "sh \"$1\" \"$0\" \"$2\" \"$3\"");
        client.arg(self.dir.path().join(self.name)).arg(line.replace("hm ", "\"$0\" ")).arg(session);
        client.env_remove("HM_AGENT").env_remove("HM_SESSION").envs(given.iter().copied());
        let output = client.output().expect("a shell");
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    }
}

fn positions(shell: &Shell, claim: &str) -> Value {
    shell.json(&format!("hm claim show {claim} --json"))["positions"].clone()
}

/// Red before: `HM_AGENT=NAME hm ...` in the shell of a pane spoke as that agent and confirmed the pane's own claim.
#[test]
#[cfg(target_os = "linux")]
fn a_name_counts_only_if_the_client_was_started_with_it() {
    let shell = Shell::new();
    let client = Client::new(&shell);
    let made =
        client.types("s-own", &[], "hm claim create 'the pool holds 20 connections' --scope src --json");
    assert!(made.contains("committed"), "{made}");
    let refused = client.types("s-own", &[], "HM_AGENT=analyst hm claim support C1");
    assert!(
        refused.contains("this shell belongs to the pane of architect, and HM_AGENT names analyst"),
        "{refused}"
    );
    assert!(refused.contains("drop HM_AGENT: you are architect here"), "{refused}");
    assert_eq!(status(&shell, "C1"), "proposed");
    // A pane that a human pinned stays what it is, too.
    let pinned = [("HM_AGENT", "devops")];
    let other = client.types("s-pinned", &pinned, "HM_AGENT=analyst hm claim support C1");
    assert!(other.contains("this shell belongs to the pane of devops"), "{other}");
    let unpinned =
        client.types("s-pinned", &pinned, "env -u HM_AGENT \"$0\" claim support C1 --agent analyst");
    assert!(unpinned.contains("this shell belongs to the pane of devops"), "{unpinned}");
    let own = client.types("s-pinned", &pinned, "hm claim support C1 --json");
    assert!(own.contains("committed"), "{own}");
    assert_eq!(positions(&shell, "C1")[0]["agent"], "devops");
}

/// Red before: until the first call of its server, the shell of a client without hooks spoke under any name, and confirmed
/// its own claim.
#[test]
#[cfg(target_os = "linux")]
fn the_first_write_names_the_shell_of_a_client_without_hooks() {
    let shell = Shell::new();
    let client = Client::without_hooks(&shell, "claude");
    let supports = call("tools/call", json!({ "name": "support", "arguments": { "claim_id": "C1" } }));
    let asks = [initialize(), json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }), supports];
    let asks: String = asks.iter().map(|ask| format!("{ask}\n")).collect();
    let file = client.dir.path().join("asks");
    std::fs::write(&file, asks).expect("questions");
    let create = "(hm claim create 'the pool holds 20 connections' --scope src --agent architect --json; :)";
    // Each command has a shell of its own, as in a client.
    let lines = [
        "(hm claim support C9 --agent devops; :)",
        create,
        "(HM_AGENT=analyst hm claim support C1; :)",
        "(hm claim support C1 --agent analyst; :)",
        "(env -i PATH=\"$PATH\" XDG_RUNTIME_DIR=\"$XDG_RUNTIME_DIR\" XDG_STATE_HOME=\"$XDG_STATE_HOME\" hm claim support C1 --agent analyst; :)",
        "(hm claim create 'the cache is cold' --scope src --json; :)",
        &format!("(cat {}; sleep 3) | hm serve", file.display()),
        &format!("(cat {}; sleep 3) | hm serve --agent analyst", file.display()),
    ];
    let said = client.types("none", &[], &lines.join("; "));
    let refused = "this shell belongs to the pane of architect, and";
    assert_eq!(said.matches(&format!("{refused} HM_AGENT names analyst")).count(), 1, "{said}");
    assert_eq!(said.matches(&format!("{refused} --agent names analyst")).count(), 2, "{said}");
    assert_eq!(shell.json("hm claim show C2 --json")["owner"], "architect", "{said}");
    assert_eq!(said.matches("\"own_claim\"").count(), 2, "its servers are that agent, too: {said}");
    assert_eq!(status(&shell, "C1"), "proposed");
    // Another process of the client is another pane.
    let beside = client.types("none", &[], "hm claim support C1 --agent analyst --json");
    assert!(beside.contains("committed"), "{beside}");
    assert_eq!(status(&shell, "C1"), "confirmed");
    // One process of Codex runs many panes, and a client that was started with a name keeps it.
    let codex = Client::without_hooks(&shell, "codex");
    let both = "(hm claim create 'the disk is full' --scope src --agent devops --json; :); \
                (hm claim support C3 --agent reviewer --json; :)";
    let both = codex.types("none", &[], both);
    assert_eq!(both.matches("committed").count(), 2, "{both}");
    let pinned =
        "(hm claim create 'the queue is long' --scope src --json; :); (hm claim support C2 --json; :)";
    let pinned = client.types("none", &[("HM_AGENT", "devops")], pinned);
    assert_eq!(pinned.matches("committed").count(), 2, "{pinned}");
}

/// Red before: `HM_SESSION=SESSION hm ...` in the shell of a pane spoke as the pane of that session.
#[test]
#[cfg(target_os = "linux")]
fn a_session_of_another_pane_lends_the_shell_nothing() {
    let shell = Shell::new();
    let client = Client::new(&shell);
    client.types("s-one", &[], "hm claim create 'the pool holds 20 connections' --scope src");
    let challenged = client.types("s-two", &[], "hm claim challenge C1 --reason 'it holds two'");
    assert!(challenged.contains("committed"), "{challenged}");
    let lines = [
        "HM_SESSION=s-two hm claim abstain C1",
        "HM_SESSION=s-two hm claim support C1",
        "HM_SESSION=s-two hm session end",
        "HM_SESSION=s-two hm session end --agent architect",
    ];
    for line in lines {
        let refused = client.types("s-one", &[], line);
        let sentence =
            "session s-two is claude-2's, and this shell belongs to the pane of architect (session s-one)";
        assert!(refused.contains(sentence), "{line}: {refused}");
        assert!(refused.contains("unset HM_SESSION"), "{line}: {refused}");
    }
    let refused = client.types("s-one", &[], "HM_SESSION=s-two hm claim abstain C1 --json");
    assert!(refused.contains("\"agent_mismatch\""), "{refused}");
    let held = positions(&shell, "C1");
    assert_eq!(
        (&held[0]["agent"], &held[0]["position"]),
        (&json!("claude-2"), &json!("challenge")),
        "{held}"
    );
    let sessions = shell.json("hm session list --json");
    let sessions = sessions["sessions"].as_array().expect("sessions").clone();
    let two = sessions.iter().find(|session| session["session"] == "s-two" || session["id"] == "s-two");
    assert!(two.expect("the session")["ended_at"].is_null(), "{two:?}");
    // Its own session, and one with which the client was started, are no other pane's.
    let own =
        client.types("s-one", &[], "HM_SESSION=s-one hm claim create 'the cache is cold' --scope src --json");
    assert!(own.contains("committed"), "{own}");
    let told = client.types("s-two", &[("HM_SESSION", "s-two")], "hm claim still C1 --json");
    assert!(told.contains("committed"), "{told}");
}

/// Red before: the code of a run supported the claim that the run was about.
#[test]
#[cfg(target_os = "linux")]
fn a_run_writes_nothing_into_its_own_memory() {
    let shell = Shell::new();
    let hm = shell.command("hm status");
    let (hm, dir) =
        (hm.get_program().to_str().expect("text"), shell.workspace().marker_dir().join("profiles"));
    shell.run("hm claim create \"the pool holds 20 connections\" --scope src --agent architect");
    let other = Shell::new();
    let elsewhere = other.workspace();
    let (elsewhere, state) = (elsewhere.root().display(), other.state_home().display());
    let script = format!(
        "{hm} claim support C1 --agent analyst 2>&1; env -u HM_RUN_ID {hm} claim support C1 --agent analyst 2>&1; \
         {hm} claim list; cd {elsewhere}; XDG_RUNTIME_DIR={elsewhere} XDG_STATE_HOME={state} {hm} claim create 'it is cold' --scope src \
         --agent analyst 2>&1"
    );
    let profile = format!(
        "description = 'a test'\nargv = ['sh', '-c', \"{script}\"]\nscopes = ['src/**']\ntimeout_ms = 60000\n\
         env.pass = ['XDG_STATE_HOME', 'XDG_RUNTIME_DIR']\n[expect]\nexit = 0\n"
    );
    std::fs::create_dir_all(&dir).expect("a directory");
    std::fs::write(dir.join("washes.toml"), profile).expect("a profile");
    assert!(shell.run("hm profile trust washes --yes --agent operator").status.success());
    let ran = shell.run("hm experiment run washes --agent architect");
    assert!(ran.status.success(), "{ran:?}");
    let printed = shell.run("hm experiment show R1 --stdout");
    let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
    let sentence = "this process is part of run R1, and a run does not write into the memory that started it";
    assert_eq!(printed.matches(sentence).count(), 2, "{printed}");
    assert!(printed.contains("print what it finds"), "{printed}");
    // A run reads its memory, and writes into another one.
    assert!(printed.contains("the pool holds 20 connections (proposed, by architect)"), "{printed}");
    assert_eq!(positions(&shell, "C1"), json!([]));
    assert!(printed.contains("claim created"), "{printed}");
}
