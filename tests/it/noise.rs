//! What `hm` prints stays small: lists, logs, warnings and reminders say what their reader lacks and no more.

use serde_json::json;

use crate::hook::{claude, spool_is_empty, within};
use crate::shell::Shell;

fn said(shell: &Shell, line: &str) -> String {
    let output = shell.run(line);
    String::from_utf8(output.stdout).expect("UTF-8") + &String::from_utf8_lossy(&output.stderr)
}

fn long(first: &str) -> String {
    format!("{first} {} the end", "returns its connections late ".repeat(20).trim_end())
}

#[test]
fn a_list_cuts_a_statement_at_a_word_and_shows_all_of_it_on_request() {
    let shell = Shell::new();
    let pool = format!("the pool {} the end", "waits for one of its connections ".repeat(28).trim_end());
    shell.json(&format!("hm --json --agent devops claim create \"{pool}\" --scope src/db"));
    shell.json(&format!(
        "hm --json --agent devops decision record \"{pool}\" --target db --rationale \"it is simple enough\""
    ));
    // A list shows the decisions in force whole, and others as long as a row may be.
    shell.json(
        "hm --json --agent devops decision record \"two queues\" --target db --rationale \"one of them waits for nothing\" \
         --supersedes C2",
    );
    for list in ["claim list", "claim search pool connections", "decision list --all"] {
        // Only a table is not wrapped.
        let shown = |line: &str| {
            let text = said(&shell, line);
            if list.starts_with("claim") { text } else { text.replace("\n    ", " ") }
        };
        let listed = shown(&format!("hm {list}"));
        for line in listed.lines().filter(|line| line.contains("the pool")) {
            let (said, _) = line.rsplit_once(" (").expect("marks behind it");
            let statement = &said[said.find("the pool").expect("the statement")..];
            let room = if list.starts_with("claim") { 300..=400 } else { 600..=700 };
            assert!(room.contains(&statement.chars().count()), "{list}: {statement}");
            let words = statement.strip_suffix('…').expect("an ellipsis");
            let after = pool.strip_prefix(words).expect("the beginning of the statement");
            assert!(after.starts_with(' '), "{list} cuts at a word: {statement}");
        }
        assert!(listed.contains("the pool") && !listed.contains("the end"), "{list}: {listed}");
        let whole = shown(&format!("hm {list} --whole"));
        assert!(whole.contains(&pool), "{list}: {whole}");
    }
    assert!(said(&shell, "hm claim show C1").contains("the end"));
    assert!(said(&shell, "hm --json claim list").contains(&pool), "a program reads all of it");
}

#[test]
fn since_lists_what_changed_and_a_line_names_the_last_change() {
    let shell = Shell::new();
    for statement in ["the pool leaks", "the menu is slow", "the log is large"] {
        shell.json(&format!("hm --json --agent devops claim create \"{statement}\" --scope src/db"));
    }
    let before = shell.json("hm --json status")["ledger_seq"].as_u64().expect("a position");
    shell.json("hm --json --agent analyst claim challenge C1 --reason \"I counted 20\"");
    shell.json("hm --json --agent analyst claim support C2");
    let listed = said(&shell, &format!("hm claim list --since {}", before + 1));
    let line = |text: &str| listed.lines().find(|line| line.contains(text)).map(str::to_owned);
    assert!(line("the pool leaks").expect(&listed).contains(", challenged by analyst "), "{listed}");
    assert!(line("the menu is slow").expect(&listed).contains(", supported by analyst "), "{listed}");
    assert_eq!(line("the log is large"), None, "{listed}");
    let all = said(&shell, "hm claim list");
    let unchanged = all.lines().find(|line| line.contains("the log is large")).expect("a line");
    assert!(unchanged.ends_with(" the log is large (proposed, by devops)"), "{all}");
    assert!(said(&shell, "hm claim list --help").contains("Changed then or later"));
}

#[test]
fn the_log_shows_the_newest_twenty_events_in_short_lines() {
    let shell = Shell::new();
    for at in 0..24 {
        let statement = long(&format!("claim {at}"));
        shell.json(&format!("hm --json --agent devops claim create \"{statement}\" --scope src/a{at}"));
    }
    let log = said(&shell, "hm log");
    assert_eq!(log.lines().filter(|line| line.starts_with("- ")).count(), 20, "{log}");
    assert!(log.contains("#24") && !log.contains("`#4`"), "{log}");
    for line in log.lines() {
        assert!(line.chars().count() <= 160, "{line}");
    }
}

#[test]
fn a_reminder_of_evidence_leaves_out_what_needs_none() {
    let shell = Shell::new();
    let session = claude(&shell, "s-1", "devops");
    session.start();
    spool_is_empty(&shell);
    session.prompt("first");
    std::fs::create_dir_all(format!("{}/src/db", session.cwd())).expect("a directory");
    for more in [
        "\"the pool leaks\"",
        "\"we keep the pool\" --type decision",
        "\"the cache is cold\"",
        "\"the suite is green, see C1\"",
    ] {
        within(&shell, "s-1", &format!("hm --json --agent devops claim create {more} --scope src/db"));
    }
    shell.json("hm --json --agent analyst claim support C3");
    spool_is_empty(&shell);
    let told = session.prompt("second");
    let due = "hivemind: no evidence yet for your C1: if your last command or run shows it, hm claim evidence C1 --ref last\n";
    assert!(told.ends_with(due), "{told}");
}

#[test]
fn a_lock_on_the_machine_is_told_before_a_command_and_not_spent_after_one() {
    let shell = Shell::new();
    let session = claude(&shell, "s-1", "devops");
    session.start();
    session.prompt("measure it");
    spool_is_empty(&shell);
    assert_eq!(session.about_to_run("python3 bench.py"), "");
    // The lock is taken while the command runs, and what is told after a command can be heeded no more.
    within(&shell, "other", "hm --json --agent analyst lock tag:cpu --for 20m --why benchmarks");
    let ran = json!({ "tool_name": "Bash", "tool_input": { "command": "python3 bench.py" },
        "tool_response": { "stdout": "ok", "stderr": "", "interrupted": false } });
    assert_eq!(session.told("PostToolUse", ran), "");
    spool_is_empty(&shell);
    assert_eq!(session.about_to_run("hm claim list"), "", "a call of hm loads no machine");
    let told = session.about_to_run("cd src && python3 bench.py 2>&1 | tail -3");
    assert!(told.contains("analyst holds tag:cpu for \"benchmarks\" until "), "{told}");
}

#[test]
fn a_lock_above_a_claim_and_ones_own_work_are_no_news_in_a_list() {
    let shell = Shell::new();
    within(&shell, "one", "hm --json --agent analyst task add \"tune the pool\" --scope src/db");
    within(&shell, "one", "hm --json --agent analyst task claim T1 --lock src/db");
    let made = within(
        &shell,
        "two",
        "hm --json --agent devops claim create \"the pool leaks\" --scope src/db/pool.rs",
    );
    assert_eq!(made["warnings"], json!([]), "a claim disturbs no edit: {made}");
    within(&shell, "two", "hm --json --agent devops claim create \"the folder is large\" --scope src/db");
    let listed = |agent: &str| said(&shell, &format!("hm --agent {agent} claim list"));
    let of =
        |list: &str, text: &str| list.lines().find(|line| line.contains(text)).expect("the claim").to_owned();
    let others = listed("devops");
    assert!(!of(&others, "the pool leaks").contains("holds"), "{others}");
    assert!(!of(&others, "the folder is large").contains("T1"), "{others}");
    assert!(of(&others, "held: ").starts_with("held: src/db by analyst for T1, "), "once: {others}");
    assert!(!listed("analyst").contains("held: "), "{}", listed("analyst"));
    // A decision about the file is still warned of.
    let decided = within(
        &shell,
        "two",
        "hm --json --agent devops decision record \"one pool\" --scope src/db/pool.rs --rationale \"it is simple enough\"",
    );
    assert_eq!(decided["warnings"][0]["code"], "file_leased", "{decided}");
}

#[test]
fn attention_shows_a_challenge_whole_and_only_ones_own_moves() {
    let shell = Shell::new();
    let reason = format!("{} not decided", "the counter of the pool runs backwards ".repeat(8).trim_end());
    shell.json("hm --json --agent devops claim create \"the pool leaks\" --scope src/db");
    shell.json(&format!("hm --json --agent analyst claim challenge C1 --reason \"{reason}\""));
    let flat = |line: &str| said(&shell, line).split_whitespace().collect::<Vec<_>>().join(" ");
    let own = flat("hm --agent devops attention");
    assert!(own.contains(reason.trim()), "{own}");
    assert_eq!(own.matches("the pool leaks").count(), 1, "{own}");
    assert!(!flat("hm --agent analyst attention").contains("devops's move"));
    assert!(flat("hm --agent analyst attention --all").contains("devops's move"));
    let architect = flat("hm --agent architect attention");
    assert!(architect.contains("devops's move") && !architect.contains("deprecate"), "{architect}");
}

#[test]
fn list_after_a_noun_is_its_list_and_a_long_title_is_told_where_to_go() {
    let shell = Shell::new();
    for noun in ["lock", "contradictions", "attention"] {
        let output = shell.run(&format!("hm {noun} list"));
        assert!(output.status.success(), "{noun}: {output:?}");
    }
    assert_eq!(said(&shell, "hm lock list"), said(&shell, "hm lock --list"));
    let refused = said(&shell, &format!("hm --agent devops task add \"{}\"", "long ".repeat(60)));
    assert!(refused.contains("--description"), "{refused}");
}

#[test]
fn a_new_target_is_compared_by_its_spelling() {
    let shell = Shell::new();
    let decide = |target: &str| {
        let line = format!(
            "hm --agent devops decision record \"we keep {target}\" --target {target} --rationale \"it is simple enough\""
        );
        said(&shell, &line).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for name in ["stream.lexing", "stream.api", "stream.parsing", "db.pool"] {
        let told = decide(name);
        assert!(!told.contains("is a new target"), "{name}: {told}");
    }
    for (name, meant) in [
        ("stream.lexin", "stream.lexing"),
        ("stream.parsings", "stream.parsing"),
        ("stream_lexing", "stream.lexing"),
        ("db.pools", "db.pool"),
    ] {
        let told = decide(name);
        assert!(told.contains(&format!("if target:{meant} is meant")), "{name}: {told}");
    }
}

#[test]
fn what_a_list_calls_confirmed_is_what_its_filter_takes() {
    let shell = Shell::new();
    shell.json("hm --json --agent devops claim create \"the pool leaks\" --scope src/db");
    shell.json("hm --json --agent analyst claim support C1");
    let listed = said(&shell, "hm claim list");
    assert!(listed.contains("confirmed, agreed"), "{listed}");
    assert_eq!(said(&shell, "hm claim list --status confirmed"), listed);
    for basis in ["agreed", "proved"] {
        let refused = said(&shell, &format!("hm claim list --status {basis}"));
        assert!(refused.contains("use --status confirmed"), "{refused}");
    }
}
