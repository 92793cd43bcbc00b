//! `hm news`: what is new for a session, told once by it or by the hooks, and waited for.

use serde_json::{Value, json};

use crate::hook::{Session, claude, spool_is_empty, within};
use crate::settle::trusted;
use crate::shell::Shell;
use crate::terminal::on_screen;

/// What a line prints in a session.
fn said(shell: &Shell, session: &str, line: &str) -> String {
    let output = shell.command(line).env("HM_SESSION", session).output().expect("hm runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// What a session is told after a command.
fn after(session: &Session<'_>) -> String {
    let ls =
        json!({ "tool_name": "Bash", "tool_input": { "command": "ls" }, "tool_response": { "stdout": "" } });
    let told = session.told("PostToolUse", ls);
    assert!(told.chars().count() <= 1_600, "{told}");
    told
}

/// A session edits a file.
fn edit(shell: &Shell, session: &Session<'_>, file: &str) {
    let edit = json!({ "file_path": format!("{}/{file}", session.cwd()), "new_string": "x" });
    session.told("PostToolUse", json!({ "tool_name": "Edit", "tool_input": edit, "tool_response": {} }));
    spool_is_empty(shell);
}

fn claim(shell: &Shell, session: &str, agent: &str, text: &str, scope: &str) -> String {
    let create = format!("hm --json --agent {agent} claim create \"{text}\" --scope {scope}");
    within(shell, session, &create)["claim_id"].as_str().expect("an id").to_owned()
}

/// A statement whose last word is the essential one.
fn long(first: &str, chars: usize) -> String {
    let filler = "and so it is wherever one looks ".repeat(chars / 32);
    format!("{first}: {filler}ESSENTIAL-{}", first.replace(' ', "-"))
}

#[test]
fn news_is_told_once_by_the_verb_or_by_a_hook_and_never_what_the_reader_made_or_opened() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    let mine = claim(&shell, "s-1", "devops", "the pool holds 20 connections", "src/db");
    devops.prompt("go");
    spool_is_empty(&shell);
    let news = || said(&shell, "s-1", "hm --agent devops news");
    assert!(news().starts_with("nothing new\n"), "its own claim");

    let reason = long("config.toml says 40", 380);
    let challenge = format!("hm --json --agent analyst claim challenge {mine} --reason \"{reason}\"");
    within(&shell, "s-2", &challenge);
    let menu = long("the menu opens at once", 560);
    claim(&shell, "s-2", "analyst", &menu, "src/ui");
    let opened = claim(&shell, "s-2", "analyst", "nightly builds need clang", "ci");
    within(&shell, "s-1", &format!("hm --json --agent devops claim show {opened}"));
    assert!(!shell.run("hm --agent devops --at 1s news").status.success(), "the past has no news");
    let told = news();
    let flat = told.replace("\n    ", " ");
    assert!(flat.contains("<asks_you n=\"1\">") && flat.contains(&reason), "{told}");
    assert!(flat.contains(&menu) && !told.contains("nightly") && !told.contains("<waiting"), "{told}");
    assert!(news().starts_with("nothing since what you were told last (C"), "once");
    assert_eq!(after(&devops) + &devops.prompt("go on"), "", "the verb told it");

    // And the other way round.
    spool_is_empty(&shell);
    claim(&shell, "s-2", "analyst", "the index is sorted", "src/index");
    assert!(devops.prompt("and?").contains("the index is sorted"));
    spool_is_empty(&shell);
    assert!(news().starts_with("nothing since what you were told last ("), "the hook told it");
    claim(&shell, "s-2", "analyst", "the log is large", "src/log");
    let json = within(&shell, "s-1", "hm --json --agent devops news");
    assert_eq!(json["news"].as_array().map(Vec::len), Some(1), "{json}");
    assert_eq!(json["news"][0]["text"], "the log is large", "{json}");
    assert_eq!(json["session"], "s-1", "{json}");
}

#[test]
fn a_wait_ends_with_the_first_news_or_says_that_there_was_none() {
    let shell = Shell::new();
    claude(&shell, "s-1", "devops").start();
    spool_is_empty(&shell);
    assert!(said(&shell, "s-1", "hm --agent devops news --wait 1s").starts_with("nothing new in 1s\n"));
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| said(&shell, "s-1", "hm --agent devops news --wait 5m"));
        // What the reader does itself ends no wait.
        claim(&shell, "s-1", "devops", "the queue is bounded", "src/queue");
        claim(&shell, "s-2", "analyst", "the menu opens at once", "src/ui");
        let told = waits.join().expect("hm ends");
        assert!(told.contains("the menu opens at once") && !told.contains("the queue"), "{told}");
    });
    assert!(said(&shell, "s-1", "hm --agent devops news --wait 1s").starts_with("nothing new in 1s\n"));
    for wait in ["11m", "0s", "soon"] {
        let refused = shell.run(&format!("hm --agent devops news --wait {wait}"));
        let text = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && text.contains("write 30s, 5m, or 10m"), "{wait}: {text}");
    }
}

/// Red before: a wait ended with a new status of a claim of others, and with a lease.
#[test]
fn a_wait_goes_on_over_a_status_and_a_lease_and_shows_them_at_its_end() {
    let shell = Shell::new();
    claude(&shell, "s-1", "devops").start();
    let theirs = claim(&shell, "s-2", "analyst", "the menu opens at once", "src/ui");
    within(&shell, "s-2", "hm --json --agent analyst task add \"draw the menu\"");
    said(&shell, "s-1", "hm --agent devops news");
    spool_is_empty(&shell);
    within(&shell, "s-3", &format!("hm --json --agent reviewer claim support {theirs}"));
    within(&shell, "s-2", "hm --json --agent analyst task claim T1");
    let told = std::thread::scope(|scope| {
        let waits = scope.spawn(|| said(&shell, "s-1", "hm --agent devops news --wait 5m"));
        std::thread::sleep(std::time::Duration::from_secs(1));
        assert!(!waits.is_finished(), "{}", waits.join().expect("hm ends"));
        claim(&shell, "s-2", "analyst", "the log is large", "src/log");
        waits.join().expect("hm ends")
    });
    assert!(told.contains("the log is large") && told.contains("status=\"confirmed\""), "{told}");
    // Without other news they are shown at the end.
    within(&shell, "s-2", "hm --json --agent analyst task update T1 open");
    within(&shell, "s-2", "hm --json --agent analyst task claim T1");
    let told = said(&shell, "s-1", "hm --agent devops news --wait 1s");
    assert!(told.contains("<task id=\"T1\""), "{told}");
}

#[test]
fn what_has_no_room_is_named_and_comes_with_the_next_call() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    devops.prompt("go");
    spool_is_empty(&shell);
    let texts: Vec<String> = (0..14).map(|at| long(&format!("part {at} of it"), 540)).collect();
    for (at, text) in texts.iter().enumerate() {
        claim(&shell, "s-2", "analyst", text, &format!("src/part{at}"));
    }
    let mut all = String::new();
    for call in 0..4 {
        let told = said(&shell, "s-1", "hm --agent devops news").replace("\n    ", " ");
        assert!(told.chars().count() <= 6_000, "{told}");
        if call == 0 {
            assert!(
                told.contains("<waiting n=\"") && told.contains(" C14: `hm news` again shows them"),
                "{told}"
            );
        }
        all.push_str(&told);
    }
    let last = all.lines().last().expect("a line");
    assert!(last.starts_with("nothing since what you were told last (C"), "{all}");
    for text in &texts {
        assert_eq!(all.matches(text).count(), 1, "{text}: {all}");
    }
    spool_is_empty(&shell);
    assert_eq!(devops.prompt("go on"), "");
}

#[test]
fn without_a_session_the_last_hour_is_shown_and_told_to_no_session() {
    let shell = Shell::new();
    claim(&shell, "s-2", "analyst", "the menu opens at once", "src/ui");
    for _ in 0..2 {
        let shown = shell.run("hm news");
        let text = String::from_utf8_lossy(&shown.stdout).into_owned();
        assert!(shown.status.success() && text.contains("the menu opens at once"), "{shown:?}");
    }
    // A pinned agent without a session hears it once.
    let told = |line: &str| String::from_utf8(shell.run(line).stdout).expect("UTF-8");
    assert!(told("hm --agent reviewer news").contains("the menu opens at once"));
    assert_eq!(told("hm --agent reviewer news"), "nothing since what you were told last (C1)\n");
    assert!(told("hm --agent analyst news").starts_with("nothing new\n"), "it made it");
}

/// Red before: a decision on the file that the first prompt names was told with the next prompt, as one line of many.
#[test]
fn a_decision_on_what_a_prompt_or_intent_names_is_told_after_the_next_command_and_first() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    devops.prompt("Write the tests of the limiter in boltons/limitutils.py, the analyst writes the docs.");
    spool_is_empty(&shell);
    claim(&shell, "s-2", "analyst", "iterutils has no limiter", "boltons/iterutils.py");
    claim(&shell, "s-2", "analyst", "a lock is held while it sleeps", "boltons/limitutils.py");
    let decision = long("one lock for each limiter", 330);
    let record = |text: &str, more: &str| {
        let line = format!(
            "hm --json --agent analyst decision record \"{text}\" --rationale \"it is simple enough\" {more}"
        );
        assert_eq!(within(&shell, "s-2", &line)["state"], "committed", "{line}");
    };
    record(&decision, "--target locking --scope boltons/limitutils.py --not-chosen \"a global lock: slow\"");
    spool_is_empty(&shell);
    let told = after(&devops).replace("\n    ", " ");
    let first = told.lines().nth(2).unwrap_or_default();
    assert!(first.contains(&decision), "first and whole: {told}");
    assert!(first.contains("; rejected: a global lock (slow)"), "{told}");
    assert_eq!(told.matches("a global lock").count(), 1, "an option that was not chosen is no news: {told}");
    assert!(told.contains("a lock is held while it sleeps") && !told.contains("iterutils"), "{told}");
    assert_eq!(after(&devops), "", "once");

    // A target and a tag are named by an intent.
    within(&shell, "s-1", "hm --json --agent devops intent \"measure the cache backend on tag:cpu\"");
    record("the cache backend is sqlite", "--target \"cache backend\"");
    claim(&shell, "s-2", "analyst", "the machine is loaded until noon", "tag:cpu");
    record("the frontend is plain HTML", "--target frontend");
    let told = after(&devops);
    assert!(told.contains("the cache backend is sqlite") && told.contains("loaded until noon"), "{told}");
    assert!(!told.contains("plain HTML"), "{told}");
}

/// Red before: after a command a reason was cut at 90 characters, and what waited had no name.
#[test]
fn after_a_command_what_asks_is_told_whole_and_what_waits_is_named() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    let mine: Vec<String> = (0..6)
        .map(|at| {
            claim(&shell, "s-1", "devops", &format!("part {at} is bounded by {at}"), &format!("src/p{at}"))
        })
        .collect();
    devops.prompt("go");
    let reason = |at: usize| long(&format!("reason {at}"), 340);
    for (at, claim) in mine.iter().enumerate() {
        let challenge =
            format!("hm --json --agent analyst claim challenge {claim} --reason \"{}\"", reason(at));
        within(&shell, "s-2", &challenge);
    }
    spool_is_empty(&shell);
    let mut all = String::new();
    for call in 0..6 {
        let told = after(&devops).replace("\n    ", " ");
        if call == 0 {
            let names = told.split("<waiting n=\"").nth(1).unwrap_or_default();
            let names: Vec<&str> =
                names.split([' ', '>', ':']).filter(|word| word.starts_with('X')).collect();
            assert!(names.len() >= 2 && told.contains(": `hm news` shows them"), "{told}");
        }
        all.push_str(&told);
    }
    for at in 0..6 {
        assert_eq!(all.matches(&reason(at)).count(), 1, "whole, and once: {all}");
    }
    assert!(!all.contains('…'), "{all}");
}

/// Red before: "C5 deprecated" had room in the delta in which a question had none.
#[test]
fn what_is_replaced_or_taken_back_while_it_waits_takes_no_room() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    devops.prompt("work on src/db.rs");
    let seen: Vec<String> = ["the pool leaks", "the pool is slow"]
        .iter()
        .map(|text| claim(&shell, "s-2", "analyst", text, "src/db.rs"))
        .collect();
    spool_is_empty(&shell);
    assert!(after(&devops).contains("the pool leaks"));
    let waiting = claim(&shell, "s-2", "analyst", "the pool is empty", "src/db.rs");
    let supersede = |claim: &str, text: &str| {
        let line = format!(
            "hm --json --agent analyst claim create \"{text}\" --scope src/db.rs --supersedes {claim}"
        );
        within(&shell, "s-2", &line)
    };
    supersede(&waiting, "the pool is full");
    supersede(&seen[0], "the pool leaks two connections");
    let back = format!("hm --json --agent analyst claim deprecate {} --reason \"measured again\"", seen[1]);
    within(&shell, "s-2", &back);
    spool_is_empty(&shell);
    let told = after(&devops);
    assert!(told.contains("the pool is full; instead of C3 (was: \"the pool is empty\")"), "{told}");
    assert!(
        told.contains("the pool leaks two connections; instead of C1 (was: \"the pool leaks\")<"),
        "{told}"
    );
    assert!(told.contains("<touches_your_work n=\"2\">") && !told.contains("deprecated"), "{told}");
    assert_eq!(after(&devops) + &devops.prompt("go on"), "");
}

/// Red before: the start said "2 peers".
#[test]
fn the_start_names_the_peers_with_where_they_work_and_what_they_want() {
    let shell = Shell::new();
    let (devops, analyst) = (claude(&shell, "s-1", "devops"), claude(&shell, "s-2", "analyst"));
    let architect = claude(&shell, "s-3", "architect");
    devops.start();
    devops.prompt("mend the heap of the expiry");
    analyst.start();
    spool_is_empty(&shell);
    within(&shell, "s-2", "hm --json --agent analyst intent \"write the docs of the limiter\"");
    let told = architect.start();
    let banner = told.lines().next().unwrap_or_default();
    assert!(banner.contains("2 peers: analyst, devops"), "{told}");
    assert!(told.lines().nth(1).unwrap_or_default().contains("`hm news --wait 5m`"), "{told}");
    assert!(told.contains("<peer name=\"analyst\" client=\"claude\" seen=\""), "{told}");
    assert!(told.contains("s\">write the docs of the limiter</peer>"), "{told}");
    assert!(
        told.contains("<peer name=\"devops\" client=\"claude\" seen=\"")
            && told.contains("s\">mend the heap of the expiry</peer>"),
        "{told}"
    );
    let help = String::from_utf8(shell.run("hm --help").stdout).expect("UTF-8");
    assert!(help.contains("  news  "), "{help}");
    let context: Value = shell.json("hm --json --agent architect context");
    assert_eq!(context["peers"].as_array().map(Vec::len), Some(2), "{context}");
}

/// Red before: a human read XML.
#[test]
fn a_human_at_a_terminal_reads_news_as_lines() {
    let shell = Shell::new();
    for line in [
        "hm --agent architect claim create \"the pool opens at most 20 connections\" --scope src/db",
        "hm --agent devops task add \"mend <header>\"",
        "hm --agent devops anchor save SCHEMA v7",
        "hm --agent devops lock tag:cpu --for 20m --why benchmarks",
    ] {
        assert!(shell.run(line).status.success(), "{line}");
    }
    for _ in 0..2 {
        let (code, screen) = on_screen(&shell.command("hm news"), "");
        assert_eq!(code, Some(0), "{screen}");
        assert!(
            screen.contains("New:\n- `C1` the pool opens at most 20 connections (proposed, by architect)"),
            "{screen}"
        );
        assert!(screen.contains("- `T1` open: mend <header>"), "{screen}");
        // Red before: each said its name twice.
        assert!(screen.contains("- SCHEMA: v7") && screen.contains("- devops locks tag:cpu: "), "{screen}");
        assert!(screen.contains("told to nobody; all:") && !screen.contains("<hivemind"), "{screen}");
    }
    let mut named = shell.command("hm news");
    let (_, screen) = on_screen(named.env("HM_AGENT", "devops"), "");
    assert!(screen.contains("<hivemind_delta"), "{screen}");
    // An agent in a shell reads XML, and is told each once.
    let told = shell.run("hm --agent analyst news");
    assert!(String::from_utf8_lossy(&told.stdout).contains("<hivemind_delta"), "{told:?}");
}

#[test]
fn claims_that_were_confirmed_alike_share_a_line_and_a_reason_reaches_the_owner() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    for (text, scope) in
        [("the pool holds 20", "src/db"), ("the log is large", "src/log"), ("the index is sorted", "src/ix")]
    {
        claim(&shell, "s-1", "devops", text, scope);
    }
    devops.prompt("go");
    spool_is_empty(&shell);
    said(&shell, "s-2", "hm --agent analyst claim support C1 C2");
    within(
        &shell,
        "s-2",
        "hm --json --agent analyst claim support C3 \"yes, but 300 to 600 is nearer the truth\"",
    );
    let told = said(&shell, "s-1", "hm --agent devops news");
    let flat = told.replace("\n    ", " ");
    assert!(flat.contains(">your C1, C2 are confirmed: supported by analyst<"), "{told}");
    assert!(
        flat.contains(
            "your C3 is confirmed: supported by analyst (\"yes, but 300 to 600 is nearer the truth\")"
        ),
        "{told}"
    );
}

#[test]
fn the_first_edit_of_a_file_that_ones_claims_are_about_is_told_and_ends_a_wait() {
    let shell = Shell::new();
    let architect = claude(&shell, "s-1", "architect");
    architect.start();
    let devops = claude(&shell, "s-2", "devops");
    devops.start();
    claim(&shell, "s-1", "architect", "the parser keeps comments", "src/parser.rs");
    architect.prompt("go");
    spool_is_empty(&shell);
    assert!(said(&shell, "s-1", "hm --agent architect news --wait 1s").starts_with("nothing new in 1s\n"));
    edit(&shell, &devops, "src/other.rs");
    assert!(said(&shell, "s-1", "hm --agent architect news --wait 1s").starts_with("nothing new in 1s\n"));
    edit(&shell, &devops, "src/parser.rs");
    let told = said(&shell, "s-1", "hm --agent architect news --wait 20s");
    assert!(told.contains("<edited by=\"devops\"") && told.contains(">src/parser.rs</edited>"), "{told}");
    edit(&shell, &devops, "src/parser.rs");
    let told = said(&shell, "s-1", "hm --agent architect news");
    assert!(!told.contains("<edited"), "once, until the reader does something about it: {told}");
}

#[test]
fn who_ended_a_claim_and_why_is_told_beside_its_run() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    let mine = claim(&shell, "s-1", "devops", "the shell is there", "src/db");
    devops.prompt("go");
    spool_is_empty(&shell);
    trusted(&shell, "yes", "\"true\"");
    within(&shell, "s-2", &format!("hm --json --agent analyst claim challenge {mine} --reason \"is it\""));
    within(&shell, "s-2", &format!("hm --json --agent analyst experiment run yes --claim {mine}"));
    within(
        &shell,
        "s-3",
        &format!("hm --json --agent architect claim deprecate {mine} --reason \"out of scope for us\""),
    );
    let told = said(&shell, "s-1", "hm --agent devops news");
    assert!(told.contains("<run "), "{told}");
    assert!(told.replace("\n    ", " ").contains("your C1 is deprecated: out of scope for us"), "{told}");
}

/// Red before: the note of a receipt, which cuts the statement, counted as told.
#[test]
fn a_claim_that_a_receipt_cuts_is_told_whole_afterwards() {
    let shell = Shell::new();
    let architect = claude(&shell, "s-1", "architect");
    architect.start();
    claim(&shell, "s-1", "architect", "the parser keeps comments", "src/parser.rs");
    architect.prompt("go");
    spool_is_empty(&shell);
    let review = long("the parser loses the last comment", 380);
    claim(&shell, "s-2", "analyst", &review, "src/parser.rs");
    let decision = "hm --json --agent architect decision record \"comments stay\" --scope src/parser.rs --target comments \
        --rationale \"people read them\"";
    let receipt = within(&shell, "s-1", decision);
    assert!(receipt["warnings"].to_string().contains("the parser loses"), "{receipt}");
    let told = said(&shell, "s-1", "hm --agent architect news");
    assert!(told.replace("\n    ", " ").contains(&review), "{told}");
}

#[test]
fn of_several_edited_files_each_is_told() {
    let shell = Shell::new();
    let architect = claude(&shell, "s-1", "architect");
    architect.start();
    let devops = claude(&shell, "s-2", "devops");
    devops.start();
    claim(&shell, "s-1", "architect", "the parser keeps comments", "src/parser.rs");
    edit(&shell, &architect, "src/held.rs");
    architect.prompt("go");
    spool_is_empty(&shell);
    edit(&shell, &devops, "src/held.rs");
    edit(&shell, &devops, "src/parser.rs");
    let told = said(&shell, "s-1", "hm --agent architect news");
    assert!(told.contains("src/held.rs") && told.contains("src/parser.rs"), "{told}");
}

/// Red before: what was confirmed before the reader supported it too came after that, where a hook had spoken between.
#[test]
fn what_the_reader_supported_is_no_news_after_a_command() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    devops.prompt("go");
    let theirs = claim(&shell, "s-2", "analyst", "the menu opens at once", "src/ui");
    said(&shell, "s-1", "hm --agent devops news");
    within(&shell, "s-3", &format!("hm --json --agent reviewer claim support {theirs}"));
    spool_is_empty(&shell);
    assert_eq!(after(&devops), "", "a status waits");
    within(&shell, "s-1", &format!("hm --json --agent devops claim support {theirs}"));
    assert_eq!(after(&devops), "");
    spool_is_empty(&shell);
    let told = said(&shell, "s-1", "hm --agent devops news");
    assert!(!told.contains("<claim"), "{told}");
}

/// Red before: once the owner had read that its claim was replaced, nothing said that the new one was withdrawn.
#[test]
fn the_owner_of_a_replaced_claim_hears_that_the_new_one_is_out_of_force() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    let mine = claim(&shell, "s-1", "devops", "the pool holds 20 connections", "src/db");
    devops.prompt("go");
    spool_is_empty(&shell);
    let instead = format!(
        "hm --json --agent architect claim create \"the pool holds 30 connections\" --scope src/db --supersedes {mine}"
    );
    let new = within(&shell, "s-2", &instead)["claim_id"].as_str().expect("an id").to_owned();
    assert!(said(&shell, "s-1", "hm --agent devops news").contains("your C1 is deprecated"), "told");
    let withdraw =
        format!("hm --json --agent architect claim deprecate {new} --reason \"I misread the file\"");
    within(&shell, "s-2", &withdraw);
    let told = said(&shell, "s-1", "hm --agent devops news").replace("\n    ", " ");
    assert!(
        told.contains("C2 took its place and is out of force by now: say it again if it still holds"),
        "{told}"
    );
}
