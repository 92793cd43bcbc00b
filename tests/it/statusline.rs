//! The status line and the completions of shells, through the real binary.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::hook::{claude, within};
use crate::init::Machine;
use crate::shell::Shell;

/// What `hm statusline` prints for the status of a client.
fn line(shell: &Shell, status: &[u8]) -> Output {
    let mut command = shell.command("hm statusline");
    command.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("hm starts");
    // The pipe stays open: a client may write the next status into it.
    let mut stdin = child.stdin.take().expect("a pipe");
    let _ = stdin.write_all(status);
    if !status.starts_with(b"{\"") {
        drop(stdin);
    }
    child.wait_with_output().expect("it ends")
}

fn said(output: Output) -> String {
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn status(root: &Path, session: &str) -> Vec<u8> {
    let workspace = json!({ "current_dir": root.join("src"), "project_dir": root });
    let status =
        json!({ "session_id": session, "cwd": root.join("src"), "workspace": workspace, "model": {} });
    status.to_string().into_bytes()
}

#[test]
fn a_pane_sees_its_name_its_peers_and_what_is_open() {
    let shell = Shell::new();
    let root = shell.workspace().root().to_owned();
    assert_eq!(said(line(&shell, &status(&root, "s-1"))), "", "nothing was written yet");
    for (id, agent) in [("s-1", "architect"), ("s-2", "devops"), ("s-3", "analyst")] {
        claude(&shell, id, agent).start();
    }
    assert_eq!(said(line(&shell, &status(&root, "s-1"))), "architect · 2 peers\n");
    shell.run("hm --agent devops claim create \"the pool holds 20\" --scope src/db");
    shell.run("hm --agent analyst claim challenge C1 --reason \"it is 50\"");
    shell.run("hm --agent devops task add \"mend the pool\"");
    within(&shell, "s-1", "hm --json --agent architect task claim T1");
    let now = said(line(&shell, &status(&root, "s-1")));
    let left = now.trim_end().strip_prefix("architect · 2 peers · 1 contested · task T1 ");
    let left = left.and_then(|left| left.strip_suffix('m')).expect(&now);
    assert!((1..=15).contains(&left.parse::<u32>().expect("minutes")), "{now}");
    // Another pane holds no task, and a shell has no name.
    assert_eq!(said(line(&shell, &status(&root, "s-2"))), "devops · 2 peers · 1 contested\n");
    assert_eq!(said(line(&shell, &status(&root, "unknown"))), "3 agents · 1 contested\n");
    assert_eq!(said(shell.run("hm status --line")), "3 agents · 1 contested\n");
    assert_eq!(said(shell.run("hm --agent devops status --line")), "devops · 2 peers · 1 contested\n");
    let json: Value = shell.json("hm --json --agent devops status --line");
    assert_eq!((&json["glance"]["peers"], &json["glance"]["contested"]), (&json!(2), &json!(1)));
    // It starts no writer and writes nothing.
    shell.end_writer();
    let before = std::fs::read(shell.workspace().ledger()).expect("a ledger");
    assert!(said(line(&shell, &status(&root, "s-2"))).starts_with("devops"));
    assert!(shell.workspace().writer_lock().metadata().is_ok());
    assert_eq!(std::fs::read(shell.workspace().ledger()).expect("a ledger"), before);
}

/// Red before: it printed nothing, as over a memory in which nothing is open.
#[test]
fn a_damaged_ledger_is_said() {
    let shell = Shell::new();
    let root = shell.workspace().root().to_owned();
    claude(&shell, "s-1", "architect").start();
    shell.end_writer();
    let ledger = shell.workspace().ledger();
    let whole = std::fs::read(&ledger).expect("a ledger");
    let damaged = "hivemind: the ledger is damaged or cannot be read: hm status\n";
    std::fs::remove_file(&ledger).expect("a file");
    assert_eq!(said(shell.run("hm status --line")), damaged);
    assert_eq!(said(line(&shell, &status(&root, "s-1"))), damaged);
    std::fs::write(&ledger, whole).expect("a file");
    assert_eq!(said(line(&shell, &status(&root, "s-1"))), "architect\n");
    let _ = std::fs::remove_file(ledger.with_extension("sqlite-wal"));
    std::fs::write(&ledger, "no database").expect("a file");
    assert_eq!(said(shell.run("hm status --line")), damaged);
}

#[test]
fn whatever_is_unsure_shows_nothing_and_succeeds() {
    let shell = Shell::new();
    let root = shell.workspace().root().to_owned();
    claude(&shell, "s-1", "architect").start();
    let elsewhere = tempfile::tempdir().expect("a temporary directory");
    assert_eq!(said(line(&shell, &status(elsewhere.path(), "s-1"))), "", "outside of a workspace");
    assert_eq!(said(line(&shell, &status(Path::new("/nowhere/at/all"), "s-1"))), "");
    for odd in [&b""[..], b"no JSON", b"[1]", b"{", b"{\"session_id\": 7}\n"] {
        assert_eq!(said(line(&shell, odd)), "", "{}", String::from_utf8_lossy(odd));
    }
    let mut outside = shell.command("hm status --line");
    assert_eq!(said(outside.current_dir(elsewhere.path()).output().expect("hm runs")), "");
    let mut mistyped = shell.command("hm statusline --what");
    assert!(mistyped.output().expect("hm runs").status.success());
    std::fs::write(shell.workspace().team_memory(), "no database").expect("a file");
    assert_eq!(said(line(&shell, &status(&root, "s-1"))), "", "read models that cannot be read");
    std::fs::write(shell.workspace().config(), "no settings").expect("a file");
    assert_eq!(said(line(&shell, &status(&root, "s-1"))), "", "settings that cannot be read");
}

#[test]
fn init_offers_the_line_of_claude_code_and_uninit_takes_it_back() {
    let ours = json!({ "type": "command", "command": "hm statusline" });
    let settings = |machine: &Machine| -> Value {
        serde_json::from_str(&machine.read("project/.claude/settings.json")).expect("JSON")
    };
    let machine = Machine::new();
    let text = machine.hm(&["init", "--clients", "claude", "--yes"]);
    assert_eq!(text.matches("hm init --statusline").count(), 1, "{text}");
    assert_eq!(settings(&machine).get("statusLine"), None, "only offered");
    let text = machine.hm(&["init", "--clients", "claude", "--statusline", "--yes"]);
    assert!(!text.contains("hm init --statusline"), "{text}");
    assert_eq!(settings(&machine)["statusLine"], ours);
    let text = machine.hm(&["init", "--clients", "claude", "--statusline", "--yes"]);
    assert!(text.contains("nothing to do"), "{text}");
    // Somebody edits the file, so that it cannot be put back as a whole.
    let edited = machine.read("project/.claude/settings.json").replacen('{', "{\n  \"mine\": 1,", 1);
    machine.write("project/.claude/settings.json", &edited);
    machine.hm(&["uninit", "--yes"]);
    assert_eq!(settings(&machine), json!({ "mine": 1 }));
    // A line that is there stays, through init and uninit.
    let theirs = "{\n  \"statusLine\": { \"type\": \"command\", \"command\": \"~/bin/line.sh\" }\n}\n";
    machine.write("project/.claude/settings.json", theirs);
    let text = machine.hm(&["init", "--clients", "claude", "--statusline", "--yes"]);
    assert!(text.contains(".claude/settings.json has a status line already"), "{text}");
    assert_eq!(settings(&machine)["statusLine"]["command"], "~/bin/line.sh");
    assert!(settings(&machine)["hooks"].is_object());
    machine.hm(&["uninit", "--yes"]);
    assert_eq!(machine.read("project/.claude/settings.json"), theirs);
}

#[test]
fn bash_accepts_the_script_and_completes_a_verb() {
    let shell = Shell::without_writer();
    let script = said(shell.run("hm completions bash"));
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("hm.bash");
    std::fs::write(&file, script).expect("a file");
    let parsed = Command::new("bash").arg("-n").arg(&file).output().expect("bash runs");
    assert!(parsed.status.success() && parsed.stderr.is_empty(), "{parsed:?}");
    let completed = |words: &str, typed: &str| {
        let count = words.split(' ').count();
        let ask = format!(
            "source '{}'; COMP_WORDS=({words}); COMP_CWORD={}; _hm hm '{typed}' x; echo \"${{COMPREPLY[@]}}\"",
            file.display(),
            count - 1
        );
        said(Command::new("bash").args(["-c", &ask]).output().expect("bash runs"))
    };
    assert_eq!(completed("hm contr", "contr"), "contradictions\n");
    assert_eq!(completed("hm claim chall", "chall"), "challenge\n");
    for other in ["zsh", "fish"] {
        let script = said(shell.run(&format!("hm completions {other}")));
        assert!(script.contains("contradictions"), "{other}");
    }
    assert_eq!(shell.run("hm completions tcsh").status.code(), Some(2));
}
