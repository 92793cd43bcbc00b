//! A text reaches its reader once: what a session was told, and what it needs no more, is not printed again.

use std::collections::BTreeSet;

use serde_json::json;

use crate::hook::{Session, claude, spool_is_empty, within};
use crate::shell::Shell;

/// What a line prints within a session.
fn printed(shell: &Shell, session: &str, line: &str) -> String {
    let output = shell.command(line).env("HM_SESSION", session).output().expect("hm runs");
    String::from_utf8(output.stdout).expect("UTF-8") + &String::from_utf8_lossy(&output.stderr)
}

fn edits(shell: &Shell, session: &Session<'_>, path: &str) {
    session.told("PostToolUse", json!({ "tool_name": "Edit", "tool_response": {}, "tool_input": { "file_path": path, "new_string": "x" } }));
    spool_is_empty(shell);
}

fn news(shell: &Shell, session: &str, agent: &str) -> String {
    printed(shell, session, &format!("hm --agent {agent} news"))
}

/// A statement of three hundred characters.
fn long(subject: &str) -> String {
    let rest = format!(" and so does {subject} whatever the driver does, as long as its caller waits");
    format!("{subject} holds 20 connections{}", rest.repeat(3))
}

/// Red before: the second context cut the same claims at the same place.
#[test]
fn a_context_goes_on_where_the_last_one_ended() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    spool_is_empty(&shell);
    for number in 0..27 {
        let subject = format!("part {number} of the pool");
        let more = [" ", "; again, "].map(|then| format!("{then}{}", long(&subject)));
        let (kind, more) = if number < 12 { ("decision", more.concat()) } else { ("fact", String::new()) };
        let line = format!(
            "hm --json --agent devops claim create \"{}{more}\" --scope src/db/p{number}.rs --type {kind}",
            long(&subject)
        );
        within(&shell, "s-1", &line);
    }
    let shown = |text: &str| -> BTreeSet<String> {
        let ids = text.match_indices("<claim id=\"").map(|(at, tag)| &text[at + tag.len()..]);
        ids.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect()
    };
    let analyst = claude(&shell, "s-2", "analyst");
    let start = analyst.start();
    spool_is_empty(&shell);
    let first = shown(&start);
    assert!((12..27).contains(&first.len()) && start.contains("…"), "some are shown, and cut: {start}");
    let second = printed(&shell, "s-2", "hm --agent analyst context");
    let (new, rest) = second.split_once("<told_in_part").expect(&second);
    let again: Vec<String> = shown(new).intersection(&first).cloned().collect();
    assert!(again.is_empty() && !shown(new).is_empty(), "{again:?} again: {second}");
    let (whole, _) = rest.split_once("</told_in_part").expect(&second);
    assert!(shown(whole).is_subset(&first) && !shown(whole).is_empty(), "{second}");
    assert!(!whole.contains('…') && whole.contains("hm claim show NAME"), "{second}");
    assert!(whole.contains("; again, part "), "what was decided comes whole before other facts: {second}");
    assert!(second.contains("<relevant_claims"), "{second}");
    let whole = printed(&shell, "s-2", "hm --agent analyst context --all");
    assert!(shown(&whole).intersection(&first).count() > 3, "{whole}");
}

#[test]
fn a_context_leaves_out_what_the_session_was_told() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    spool_is_empty(&shell);
    for subject in ["the pool", "the queue"] {
        let line = format!("hm --json --agent devops claim create \"{}\" --scope src/db", long(subject));
        within(&shell, "s-1", &line);
    }
    let analyst = claude(&shell, "s-2", "analyst");
    let start = analyst.start();
    assert!(start.contains(&long("the pool")) && start.contains(&long("the queue")), "{start}");
    spool_is_empty(&shell);

    let context = "hm --agent analyst context";
    let told = printed(&shell, "s-2", context);
    assert!(told.contains("already told: C2 C1 (unchanged); `hm context --all` prints them"), "{told}");
    assert!(!told.contains("20 connections"), "{told}");
    assert!(printed(&shell, "s-2", "hm --agent analyst context --all").contains(&long("the pool")));
    // A reader that was told nothing gets everything.
    assert!(printed(&shell, "s-9", "hm --agent architect context").contains(&long("the pool")));

    // What is new for an intent comes with it, and what changed is told again.
    within(
        &shell,
        "s-1",
        "hm --json --agent devops claim create \"the cache of pools is cold\" --scope src/db",
    );
    within(&shell, "s-2", "hm --json --agent analyst claim challenge C2 --reason \"I counted 40\"");
    let told = printed(&shell, "s-2", &format!("{context} --intent \"the cold cache of the pool\""));
    assert!(
        told.contains("already told: C1 (unchanged)") && told.contains("the cache of pools is cold"),
        "{told}"
    );
    assert!(told.contains("I counted 40") || told.contains("C2"), "{told}");
    assert!(!printed(&shell, "s-2", context).contains("the cache of pools is cold"), "it was told since");

    // A compaction forgets the texts.
    let start = analyst.told("SessionStart", json!({ "source": "compact" }));
    assert!(start.contains(&long("the pool")), "{start}");
    spool_is_empty(&shell);
    assert!(!printed(&shell, "s-2", context).contains(&long("the pool")));
}

#[test]
fn a_context_leaves_out_the_claims_that_its_session_made() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    spool_is_empty(&shell);
    let line = format!("hm --json --agent devops claim create \"{}\" --scope src/db", long("the pool"));
    within(&shell, "s-1", &line);
    let told = printed(&shell, "s-1", "hm --agent devops context");
    assert!(told.contains("yours: C1") && !told.contains("20 connections"), "{told}");
    within(&shell, "s-2", "hm --json --agent analyst claim support C1");
    let told = printed(&shell, "s-1", "hm --agent devops context");
    assert!(told.contains("yours: C1 (confirmed)") && !told.contains("20 connections"), "{told}");
}

#[test]
fn what_a_running_task_requires_stays_in_its_context() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    spool_is_empty(&shell);
    within(&shell, "s-1", "hm --json --agent devops task add \"Mend the pool\" --scope src/db");
    within(&shell, "s-1", "hm --json --agent devops task claim T1");
    let required = long("the suite");
    let line = format!("hm --json --agent devops claim create \"{required}\" --task T1 --scope tests");
    within(&shell, "s-1", &line);
    for number in 0..12 {
        let line = format!(
            "hm --json --agent analyst claim create \"{} {number}\" --scope src/db/{number}.rs",
            long("Mend the pool")
        );
        within(&shell, "s-2", &line);
    }
    let told = printed(&shell, "s-1", "hm --agent devops context --budget 1500");
    assert!(told.contains(&required), "{told}");
}

#[test]
fn an_edit_is_told_once_until_the_reader_has_a_stake_in_it_again() {
    let shell = Shell::new();
    let (devops, analyst) = (claude(&shell, "s-1", "devops"), claude(&shell, "s-2", "analyst"));
    devops.start();
    analyst.start();
    spool_is_empty(&shell);
    std::fs::create_dir_all(format!("{}/src", devops.cwd())).expect("a directory");
    let path = format!("{}/src/pool.rs", devops.cwd());
    std::fs::write(&path, "x").expect("a file");
    edits(&shell, &devops, &path);
    edits(&shell, &analyst, &path);
    let told = news(&shell, "s-1", "devops");
    assert!(told.contains("<edited by=\"analyst\"") && told.contains(">src/pool.rs</edited>"), "{told}");
    edits(&shell, &analyst, &path);
    let told = news(&shell, "s-1", "devops");
    assert!(!told.contains("<edited"), "told once: {told}");
    // The reader works on the file again.
    edits(&shell, &devops, &path);
    edits(&shell, &analyst, &path);
    let told = news(&shell, "s-1", "devops");
    assert!(told.contains("<edited by=\"analyst\""), "{told}");
    edits(&shell, &analyst, &path);
    assert!(!news(&shell, "s-1", "devops").contains("<edited"));
    // The reader claims something about it.
    within(&shell, "s-1", "hm --json --agent devops claim create \"the pool leaks\" --scope src/pool.rs");
    edits(&shell, &analyst, &path);
    assert!(news(&shell, "s-1", "devops").contains("<edited by=\"analyst\""));
}

#[test]
fn a_directory_without_a_version_is_told_where_a_proof_could_miss_it() {
    let shell = Shell::new();
    for directory in ["src", "tests"] {
        std::fs::create_dir_all(shell.workspace().root().join(directory)).expect("a directory");
    }
    let told = |line: &str| printed(&shell, "s-1", &format!("hm --agent devops {line}"));
    let both = told("claim create \"the suite needs 9 s\" --scope src --scope tests");
    assert_eq!(both.matches("no version").count(), 1, "{both}");
    for line in [
        "claim create \"I write the tests, please leave them to me\" --scope tests --ask analyst",
        "claim create \"the plan is to merge at noon\"",
        "decision record \"tests run in one process\" --scope tests --rationale \"one build is enough\"",
        "task add \"Mend the tests\" --scope tests",
        "claim support C1 --agent analyst",
    ] {
        let told = told(line);
        assert!(!told.contains("no version"), "{line}: {told}");
    }
}

#[test]
fn a_reminder_of_evidence_comes_once_a_session_and_never_for_a_plan() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    spool_is_empty(&shell);
    devops.prompt("build the pool");
    spool_is_empty(&shell);
    let claims = |statement: &str| {
        within(&shell, "s-1", &format!("hm --json --agent devops claim create \"{statement}\""));
        spool_is_empty(&shell);
    };
    claims("PLAN by devops. analyst: commit the tests by noon. architect: merge them.");
    claims("architect: please merge the branch of devops now");
    assert_eq!(devops.prompt("go on"), "");
    spool_is_empty(&shell);
    claims("the pool leaks");
    assert!(devops.prompt("go on").contains("no evidence yet for your C3"));
    spool_is_empty(&shell);
    claims("the cache is cold");
    assert_eq!(devops.prompt("go on"), "", "once a session");
}

#[test]
fn a_request_is_met_by_a_claim_of_the_asked_agent_that_names_it() {
    let shell = Shell::new();
    within(&shell, "s-1", "hm --json --agent devops claim create \"merge the branch\" --ask analyst");
    within(&shell, "s-1", "hm --json --agent devops claim create \"is the pool bounded?\" --ask analyst");
    let asked = printed(&shell, "s-2", "hm --agent analyst context");
    assert!(asked.contains("a position, or a claim that names C1"), "{asked}");
    let done = "hm --json --agent analyst claim create \"C1 is done: the branch is merged\"";
    within(&shell, "s-2", done);
    let asked = printed(&shell, "s-2", "hm --agent analyst attention");
    assert!(!asked.contains("merge the branch") && asked.contains("is the pool bounded?"), "{asked}");
    let asked = printed(&shell, "s-2", "hm --agent analyst context --all");
    assert!(!asked.contains("<question claim=\"C1\""), "{asked}");
    let shown = printed(&shell, "s-1", "hm --agent devops claim show C1");
    assert!(shown.contains("asked: analyst, answered by `C3`"), "{shown}");
    let shown = printed(&shell, "s-1", "hm --agent devops claim show C2");
    assert!(shown.contains("asks: analyst"), "{shown}");
}

#[test]
fn a_decision_that_takes_the_place_of_another_says_so() {
    let shell = Shell::new();
    let told = |line: &str| printed(&shell, "s-1", &format!("hm --agent devops {line}"));
    told("decision record \"errors are copied\" --target errors --rationale \"one instance grows\"");
    let replaced = told(
        "decision record \"one error is shared by all callers\" --target errors \
         --supersedes C1 --rationale \"a copy may change its text\"",
    );
    assert!(replaced.contains("C1 is out of force as a whole"), "{replaced}");
    assert!(replaced.contains("what still holds of it"), "{replaced}");
    let pack = printed(&shell, "s-2", "hm --agent analyst context");
    let was = "; instead of C1 (was: \"errors are copied\")<";
    assert!(pack.contains(was) && !pack.contains("<claim id=\"C1\""), "{pack}");
}

#[test]
fn a_text_that_is_too_long_is_refused_with_its_length_and_a_way_to_pass_it() {
    let shell = Shell::new();
    let text = "why it is so ".repeat(200);
    let line = format!("hm --agent devops decision record \"errors are copied\" --rationale \"{text}\"");
    let refused = printed(&shell, "s-1", &line);
    assert!(refused.contains("2599 characters, 599 more than the 2000 that fit"), "{refused}");
    assert!(refused.contains("nothing is recorded"), "{refused}");
    assert!(refused.contains("the rest into a file or a second claim"), "{refused}");
}

#[test]
fn peers_are_listed_with_what_they_do_now() {
    let shell = Shell::new();
    let (devops, analyst) = (claude(&shell, "s-1", "devops"), claude(&shell, "s-2", "analyst"));
    devops.start();
    std::fs::create_dir_all(format!("{}/src", devops.cwd())).expect("a directory");
    let path = format!("{}/src/pool.rs", devops.cwd());
    std::fs::write(&path, "x").expect("a file");
    spool_is_empty(&shell);
    edits(&shell, &devops, &path);
    let start = analyst.start();
    assert!(start.contains("last_edit=\"src/pool.rs\""), "{start}");
    spool_is_empty(&shell);
    let status = printed(&shell, "s-2", "hm --agent analyst status");
    assert!(status.contains("devops: last seen ") && status.contains("last edited src/pool.rs"), "{status}");
    // Red before: the time of the edit was missing, and news said nothing of agents that work.
    let second = format!("{}/src/ring.rs", devops.cwd());
    std::fs::write(&second, "x").expect("a file");
    edits(&shell, &devops, &second);
    spool_is_empty(&shell);
    printed(&shell, "s-2", "hm --agent analyst news");
    let news = printed(&shell, "s-2", "hm --agent analyst news");
    let line = news.lines().nth(1).unwrap_or_default();
    assert!(line.starts_with("devops: last seen ") && line.contains(" ago, 2 files in "), "{news}");
    assert!(line.contains("last edited src/ring.rs ") && !news.contains("analyst:"), "{news}");
    assert!(printed(&shell, "s-2", "hm --agent analyst who").contains(" ago, 2 files in "));
}
