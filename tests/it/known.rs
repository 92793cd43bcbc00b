//! What a session knows is not told again: its own claims, texts it was shown, peers, and how claims are confirmed.

use serde_json::json;

use crate::hook::{Session, claude, spool_is_empty, within};
use crate::shell::Shell;

/// What a line prints within a session.
fn printed(shell: &Shell, session: &str, line: &str) -> String {
    let output = shell.command(line).env("HM_SESSION", session).output().expect("hm runs");
    String::from_utf8(output.stdout).expect("UTF-8") + &String::from_utf8_lossy(&output.stderr)
}

fn after(session: &Session<'_>, command: &str) -> String {
    session.told(
        "PostToolUse",
        json!({ "tool_name": "Bash", "tool_input": { "command": command }, "tool_response": { "stdout": "" } }),
    )
}

/// Two sessions that were told nothing yet, and whose prompts are over.
fn two(shell: &Shell) -> (Session<'_>, Session<'_>) {
    let (devops, analyst) = (claude(shell, "s-1", "devops"), claude(shell, "s-2", "analyst"));
    devops.start();
    analyst.start();
    spool_is_empty(shell);
    devops.prompt("build the pool");
    analyst.prompt("measure the pool");
    spool_is_empty(shell);
    (devops, analyst)
}

const LONG: &str = "the pool holds 20 connections when n < 20 && m > 3, and each of them is given back before the next \
     one is taken, whatever the driver does";

#[test]
fn of_ones_own_claim_the_change_is_told_without_its_text() {
    let shell = Shell::new();
    let (devops, analyst) = two(&shell);
    within(&shell, "s-1", &format!("hm --json --agent devops claim create \"{LONG}\" --scope src/db"));
    let first = analyst.prompt("go on");
    let escaped = LONG[..88].replace('&', "&amp;").replace('<', "&lt;");
    assert!(first.contains(&escaped), "its formula, escaped no more than XML asks for: {first}");
    spool_is_empty(&shell);
    within(&shell, "s-2", "hm --json --agent analyst claim support C1");
    let told = printed(&shell, "s-1", "hm --agent devops news");
    assert!(told.contains("<claim id=\"C1\">your C1 is confirmed: supported by analyst</claim>\n"), "{told}");
    assert!(!told.contains("the pool holds"), "{told}");
    assert_eq!(devops.prompt("go on"), "", "once");
    spool_is_empty(&shell);

    // The analyst was shown the text: of its end the name, the beginning and the change are told.
    within(&shell, "s-1", "hm --json --agent devops claim deprecate C1 --reason \"it is 40\"");
    let told = analyst.prompt("and now");
    assert!(told.contains("id=\"C1\"") && told.contains("status=\"deprecated\""), "{told}");
    assert!(told.contains("the pool holds 20 connections") && !told.contains("given back"), "{told}");
}

#[test]
fn nothing_new_names_what_was_told_last() {
    let shell = Shell::new();
    let (devops, _) = two(&shell);
    assert!(printed(&shell, "s-2", "hm --agent analyst news").starts_with("nothing new\n"));
    within(&shell, "s-1", "hm --json --agent devops claim create \"the pool leaks\" --scope src/db");
    within(&shell, "s-2", "hm --json --agent analyst claim challenge C1 --reason \"I counted 20\"");
    spool_is_empty(&shell);
    assert!(after(&devops, "ls").contains("I counted 20"));
    let told = printed(&shell, "s-1", "hm --agent devops news");
    assert!(told.starts_with("nothing since what you were told last (X1)\n"), "{told}");
}

#[test]
fn a_question_and_a_claim_about_code_that_is_not_written_are_not_due_for_evidence() {
    let shell = Shell::new();
    let (devops, _) = two(&shell);
    std::fs::create_dir_all(format!("{}/src", devops.cwd())).expect("a directory");
    std::fs::write(format!("{}/src/pool.rs", devops.cwd()), "x").expect("a file");
    for more in [
        "\"is the pool bounded?\" --scope src/pool.rs --ask analyst",
        "\"the queue will be a heap\" --scope src/queue.rs",
        "\"the pool leaks\" --scope src/pool.rs",
    ] {
        within(&shell, "s-1", &format!("hm --json --agent devops claim create {more}"));
    }
    spool_is_empty(&shell);
    let told = devops.prompt("go on");
    let due = "hivemind: no evidence yet for your C3: if your last command or run shows it, hm claim evidence C3 --ref last\n";
    assert!(told.ends_with(due), "{told}");
    spool_is_empty(&shell);
    assert_eq!(devops.prompt("again"), "", "once");
    spool_is_empty(&shell);
    devops.told("SessionStart", json!({ "source": "compact" }));
    spool_is_empty(&shell);
    assert!(!devops.prompt("and again").contains("no evidence yet"), "once a session");
}

#[test]
fn what_a_list_or_a_receipt_showed_is_not_told_again() {
    let shell = Shell::new();
    let (devops, analyst) = two(&shell);
    within(&shell, "s-1", "hm --json --agent devops claim create \"the pool leaks\" --scope src/db");
    assert!(printed(&shell, "s-2", "hm --agent analyst claim list").contains("the pool leaks"));
    spool_is_empty(&shell);
    assert!(!analyst.prompt("go on").contains("the pool leaks"));
    spool_is_empty(&shell);

    within(&shell, "s-1", "hm --json --agent devops claim create \"the cache is cold\" --scope src/cache");
    let named = printed(
        &shell,
        "s-2",
        "hm --agent analyst claim create \"entries live for an hour\" --scope src/cache",
    );
    assert!(named.contains("the cache is cold"), "{named}");
    spool_is_empty(&shell);
    assert!(!analyst.prompt("and now").contains("the cache is cold"));
    // And a receipt names no claim as recent that was told.
    spool_is_empty(&shell);
    assert!(devops.prompt("go on").contains("entries live for an hour"));
    let named =
        printed(&shell, "s-1", "hm --agent devops claim create \"an hour is too long\" --scope src/cache");
    assert!(!named.contains("entries live"), "{named}");
}

#[test]
fn an_agent_that_asks_sees_whether_its_question_was_read() {
    let shell = Shell::new();
    let (devops, _) = two(&shell);
    within(
        &shell,
        "s-2",
        "hm --json --agent analyst claim create \"is it bounded?\" --scope src/db --ask devops",
    );
    let attention = || printed(&shell, "s-2", "hm --agent analyst attention");
    assert!(attention().contains("your question `C1`: devops has not answered yet"), "{}", attention());
    spool_is_empty(&shell);
    assert!(after(&devops, "ls").contains("is it bounded?"));
    let read = attention();
    assert!(
        read.contains("your question `C1`: devops has read it ") && read.contains(" ago, no answer yet"),
        "{read}"
    );
    within(&shell, "s-1", "hm --json --agent devops claim support C1");
    assert!(!attention().contains("C1"), "{}", attention());
}

#[test]
fn a_peer_that_came_later_is_told_once_with_what_it_does() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    devops.prompt("build the pool");
    spool_is_empty(&shell);
    let analyst = claude(&shell, "s-2", "analyst");
    assert!(analyst.start().contains("1 peer: devops"));
    spool_is_empty(&shell);
    analyst.prompt("measure the pool");
    spool_is_empty(&shell);
    let told = devops.prompt("go on");
    assert!(told.contains("<peer name=\"analyst\">measure the pool</peer>\n"), "{told}");
    spool_is_empty(&shell);
    // The peer that was there first is no news, nor is one that goes on.
    analyst.told("SessionStart", json!({ "source": "compact" }));
    spool_is_empty(&shell);
    assert_eq!(devops.prompt("and on") + &analyst.prompt("go on"), "");
}

#[test]
fn how_a_claim_is_confirmed_is_said_on_the_first_receipt_alone() {
    let shell = Shell::new();
    two(&shell);
    let create = |session: &str, agent: &str, text: &str| {
        printed(&shell, session, &format!("hm --agent {agent} claim create \"{text}\" --scope src/{text}"))
    };
    let said = "next: confirmed once another agent supports it";
    assert!(create("s-1", "devops", "one").contains(said));
    let second = create("s-1", "devops", "two");
    assert!(!second.contains("next:") && second.chars().count() <= 160, "{second}");
    assert!(create("s-2", "analyst", "three").contains(said), "each session is told");
}

#[test]
fn a_file_that_a_shell_command_names_and_changes_is_an_edit() {
    let shell = Shell::new();
    let (devops, analyst) = two(&shell);
    let file = |name: &str| format!("{}/{name}", devops.cwd());
    for name in ["read.py", "kept.py", "other.py"] {
        std::fs::write(file(name), "a").expect("a file");
    }
    within(&shell, "s-2", "hm --json --agent analyst task add \"read it\"");
    within(&shell, "s-2", "hm --json --agent analyst task claim T1 --lock kept.py --lock new.py");
    let line = "python3 - <<'EOF'\nopen('kept.py', 'w').write(open('read.py').read())\nEOF\ncat > new.py";
    devops.about_to_run(line);
    for name in ["kept.py", "new.py", "other.py"] {
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(2_000_000_000);
        std::fs::File::create(file(name)).expect("a file").set_modified(at).expect("a time");
    }
    after(&devops, line);
    spool_is_empty(&shell);
    let told = analyst.prompt("go on");
    assert!(told.contains("<edited by=\"devops\"") && told.contains(">kept.py new.py</edited>"), "{told}");
    // A command that only reads edits nothing.
    devops.about_to_run("cat kept.py");
    after(&devops, "cat kept.py");
    spool_is_empty(&shell);
    assert_eq!(shell.json("hm --json log --type file.edited")["events"].as_array().map(Vec::len), Some(1));
}
