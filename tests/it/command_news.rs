//! What a session is told after its commands: what touches or asks it, once, whichever hook tells it.

use hivemind::session_news::SessionNews;
use serde_json::{Value, json};

use crate::hook::{Session, claude, spool_is_empty, within};
use crate::shell::Shell;

/// What a session is told after a command.
fn after(session: &Session<'_>) -> String {
    let told = session.told("PostToolUse", ls());
    assert!(told.chars().count() <= 1_600, "{told}");
    told
}

fn ls() -> Value {
    json!({ "tool_name": "Bash", "tool_input": { "command": "ls" }, "tool_response": { "stdout": "" } })
}

fn claim(shell: &Shell, session: &str, agent: &str, text: &str, scope: &str) -> String {
    let create = format!("hm --json --agent {agent} claim create \"{text}\" --scope {scope}");
    within(shell, session, &create)["claim_id"].as_str().expect("an id").to_owned()
}

fn challenge(shell: &Shell, claim: &str, reason: &str) {
    let line = format!("hm --json --agent analyst claim challenge {claim} --reason \"{reason}\"");
    within(shell, "s-2", &line);
}

/// Red before: news came with prompts alone, and an agent at work gets none.
#[test]
fn a_challenge_is_told_after_the_next_command_and_other_news_with_the_next_prompt() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    let mine = claim(&shell, "s-1", "devops", "the pool holds 20 connections", "src/db");
    spool_is_empty(&shell);
    assert_eq!(after(&devops), "", "its own claim is no news");
    claim(&shell, "s-2", "analyst", "the menu opens at once", "src/ui");
    challenge(&shell, &mine, "config.toml says 40");
    spool_is_empty(&shell);

    let told = after(&devops);
    assert!(told.contains("<asks_you n=\"1\">") && told.contains("config.toml says 40"), "{told}");
    assert!(!told.contains("the menu"), "{told}");
    assert_eq!(after(&devops), "", "once");
    let told = devops.prompt("go on");
    assert!(told.contains("the menu opens at once") && !told.contains("config.toml"), "{told}");
    spool_is_empty(&shell);
    assert_eq!(after(&devops) + &devops.prompt("and on"), "", "nothing changed");

    // What a prompt told is told by no command. A failed command and a tool of ours tell like any other.
    for (at, event, tool) in [(0, "PostToolUseFailure", "Bash"), (1, "PostToolUse", "mcp__hivemind__search")]
    {
        let other = claim(&shell, "s-1", "devops", &format!("the queue {at} is bounded"), "src/queue");
        challenge(&shell, &other, &format!("it grew to {at} thousand"));
        spool_is_empty(&shell);
        let call = json!({ "tool_name": tool, "tool_input": { "command": "ls" }, "error": "exit code 1" });
        let told = devops.told(event, call);
        assert!(told.contains(&format!("it grew to {at} thousand")), "{event} {tool}: {told}");
    }
    let third = claim(&shell, "s-1", "devops", "the index is sorted", "src/index");
    challenge(&shell, &third, "only by name");
    spool_is_empty(&shell);
    assert!(devops.prompt("and?").contains("only by name"));
    assert_eq!(after(&devops), "", "the prompt told it");
}

#[test]
fn what_has_no_room_after_a_command_waits_for_the_next_and_each_is_told_once() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    let name = |at: usize| format!("part number {at} of the pool holds 20 connections at the very most");
    let mine: Vec<String> =
        (0..12).map(|at| claim(&shell, "s-1", "devops", &name(at), &format!("src/db{at}"))).collect();
    devops.prompt("go");
    for (at, claim) in mine.iter().enumerate() {
        challenge(&shell, claim, &format!("reason number {at}: the file says 40"));
    }
    spool_is_empty(&shell);
    // Two commands that end at the same time tell nothing twice.
    let both = std::thread::scope(|scope| {
        let two = [scope.spawn(|| after(&devops)), scope.spawn(|| after(&devops))];
        two.map(|told| told.join().expect("a hook")).concat()
    });
    assert!(both.contains(": `hm news` shows them, as do your next commands or prompts"), "{both}");
    let mut all = both;
    loop {
        let told = after(&devops);
        if told.is_empty() {
            break;
        }
        all.push_str(&told);
    }
    for at in 0..12 {
        let reason = format!("reason number {at}:");
        assert_eq!(all.matches(&reason).count(), 1, "{reason}: {all}");
    }
    spool_is_empty(&shell);
    assert_eq!(devops.prompt("go on").matches("reason number").count(), 0);
}

#[test]
fn an_edit_of_a_file_one_holds_is_told_after_the_next_command_and_one_elsewhere_is_looked_at_once() {
    let shell = Shell::new();
    let (devops, analyst) = (claude(&shell, "s-1", "devops"), claude(&shell, "s-2", "analyst"));
    devops.start();
    analyst.start();
    shell.json("hm --json --agent devops task add \"a heap for the expiry\"");
    within(&shell, "s-1", "hm --json --agent devops task claim T1 --lock src/ttl.rs");
    devops.prompt("go");
    std::fs::create_dir_all(format!("{}/src/heap.rs", devops.cwd())).expect("a place");
    claim(&shell, "s-1", "devops", "the heap is empty at first", "src/heap.rs");
    spool_is_empty(&shell);
    let edit = |path: &str| {
        let file = format!("{}/{path}", analyst.cwd());
        analyst.told(
            "PostToolUse",
            json!({ "tool_name": "Edit", "tool_input": { "file_path": file, "new_string": "x" }, "tool_response": {} }),
        );
        spool_is_empty(&shell);
    };
    edit("docs/menu.md");
    let before = told_up_to(&shell);
    assert_eq!(after(&devops), "");
    assert!(told_up_to(&shell) > before, "it is not looked at again");
    edit("src/ttl.rs");
    let told = after(&devops);
    assert!(told.contains("<touches_your_work n=\"1\">") && told.contains("src/ttl.rs</edited>"), "{told}");
    assert_eq!(after(&devops), "", "once");
    spool_is_empty(&shell);
    let told = devops.prompt("go on");
    assert!(told.contains("no evidence yet for your C1") && !told.contains("src/ttl.rs"), "{told}");
}

/// Up to where the session was told.
fn told_up_to(shell: &Shell) -> u64 {
    let session = "s-1".parse().expect("a session");
    let news = SessionNews::of(shell.state_home(), &shell.workspace(), &session);
    news.told().expect("it was told").seq
}

/// Red before: "asks_you" listed the reader's own deprecation, because a challenge of the claim came before it.
#[test]
fn what_an_agent_does_to_its_own_claim_is_no_news_to_it() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    let mine = claim(&shell, "s-1", "devops", "the pool holds 20 connections", "src/db");
    let other = claim(&shell, "s-1", "devops", "the queue is bounded by 64 entries", "src/queue");
    devops.prompt("go");
    spool_is_empty(&shell);
    for agent in ["analyst", "reviewer"] {
        within(&shell, "s-2", &format!("hm --json --agent {agent} claim support {mine}"));
    }
    within(&shell, "s-1", &format!("hm --json --agent devops claim deprecate {mine} --reason \"it is 40\""));
    // Its server may have a session of its own.
    within(&shell, "s-9", &format!("hm --json --agent devops claim deprecate {other} --reason \"it grows\""));
    spool_is_empty(&shell);
    assert_eq!(after(&devops) + &devops.prompt("go on"), "");
}
