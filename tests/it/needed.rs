//! What an agent reads is what it needs: no text twice, no fact under two names, and no state that no longer holds.

use serde_json::json;

use crate::hook::{Session, claude, spool_is_empty};
use crate::shell::Shell;

fn said(shell: &Shell, line: &str) -> String {
    let output = shell.run(line);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// As an agent in the session of its client.
fn within(shell: &Shell, session: &Session<'_>, line: &str) -> String {
    let line = line.replacen("hm ", &format!("hm --agent {} ", session.agent), 1);
    let output = shell.command(&line).env("HM_SESSION", session.id).output().expect("hm runs");
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// A text on one line.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Red before: only what a start or a question showed counted as told, and news and a new status were repeated whole.
#[test]
fn a_context_names_what_news_showed_whole_and_says_its_new_status() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    let (pool, queue) = ("the pool in src/pool.rs holds 20 slots", "the queue in src/pool.rs is bounded");
    said(&shell, &format!("hm --agent analyst claim create \"{pool}\" --scope src/pool.rs"));
    said(&shell, &format!("hm --agent analyst claim create \"{queue}\" --scope src/pool.rs"));
    let long = "each slot of src/pool.rs is measured under load and takes longer than the one before it, "
        .repeat(20);
    said(&shell, &format!("hm --agent analyst claim create \"{long}\" --scope src/pool.rs"));
    spool_is_empty(&shell);
    let news = within(&shell, &devops, "hm news");
    assert!(news.contains(pool) && news.contains(queue), "{news}");
    said(&shell, "hm --agent architect claim support C2");
    let context = within(&shell, &devops, "hm context --intent \"slots of src/pool.rs\"");
    assert!(!context.contains(pool) && !context.contains(queue), "{context}");
    assert!(context.contains("already told: C1 (unchanged); known, now: C2 (confirmed)"), "{context}");
    assert!(within(&shell, &devops, "hm context --all").contains(pool));
    // What the news cut is not known.
    assert!(context.contains("id=\"C3\""), "{context}");
}

/// Red before: `Nothing needs reviewer now.`, and no word of the question that was open.
#[test]
fn an_empty_attention_says_which_questions_wait_for_others() {
    let shell = Shell::new();
    assert_eq!(said(&shell, "hm --agent reviewer attention"), "Nothing needs reviewer now.\n");
    said(&shell, "hm --agent architect claim create \"devops: may a cancelled call count?\" --ask devops");
    let empty = said(&shell, "hm --agent reviewer attention");
    assert_eq!(flat(&empty), "Nothing needs reviewer now. Open: 1 question to devops (`C1`).");
    said(&shell, "hm --agent devops claim support C1");
    assert_eq!(said(&shell, "hm --agent reviewer attention"), "Nothing needs reviewer now.\n");
}

/// Red before: a row and a context showed the claim like one that its evidence shows.
#[test]
fn a_claim_whose_evidence_shows_nothing_says_so_in_lists_and_contexts() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    let ran = |line: &str, stdout: &str| {
        let response = json!({ "stdout": stdout, "stderr": "", "interrupted": false });
        let call =
            json!({ "tool_name": "Bash", "tool_input": { "command": line }, "tool_response": response });
        devops.told("PostToolUse", call);
        spool_is_empty(&shell);
    };
    ran("pytest tests 2>&1 | tail -3", "294 passed");
    within(&shell, &devops, "hm claim create \"all 294 tests are green\" --scope tests --evidence last");
    ran("pytest tests", "294 passed");
    within(&shell, &devops, "hm claim create \"the suite of tests passes\" --scope tests --evidence last");
    // Red before: what a measurement printed showed nothing, because its line ended with a pipe.
    ran("python bench.py 2>&1 | tail -3", "one lock: median 1.06 M hits/s");
    within(
        &shell,
        &devops,
        "hm claim create \"one lock takes 1.06 M hits/s\" --scope bench.py --evidence last",
    );
    said(&shell, "hm --agent devops claim create \"the tests are fast\" --scope tests");
    let list = said(&shell, "hm claim list");
    let rows: Vec<&str> = list.lines().filter(|row| row.contains("evidence shows nothing")).collect();
    assert!(rows.len() == 1 && rows[0].starts_with("C1 "), "{list}");
    let context = said(&shell, "hm --agent reviewer context --intent \"are all tests green?\"");
    let marked: Vec<&str> =
        context.lines().filter(|line| line.contains("evidence=\"shows nothing\"")).collect();
    assert!(marked.len() == 1 && marked[0].contains("id=\"C1\""), "{context}");
}

/// Red before: C1 stood there as confirmed, with the old value and no word of C2.
#[test]
fn a_value_that_a_later_decision_changes_is_said_with_the_earlier_claim() {
    let shell = Shell::new();
    let decide = |statement: &str, scope: &str| {
        said(
            &shell,
            &format!(
                "hm --agent architect decision record \"{statement}\" --rationale \"measured under load\" --scope {scope}"
            ),
        );
    };
    said(
        &shell,
        "hm --agent devops claim create \"errors: compact_ratio=0.5 is a keyword\" --scope src/ring.py",
    );
    said(
        &shell,
        "hm --agent devops claim create \"slots: compact_ratio=0.5 holds there too\" --scope src/slots.py",
    );
    said(&shell, "hm --agent devops claim create \"the default is compact_ratio=0.25\" --scope src/ring.py");
    decide("the ring compacts later: compact_ratio=0.25", "src/ring.py");
    let unsure = "two of them: compact_ratio=0.5, in tests compact_ratio=0.1";
    said(&shell, &format!("hm --agent devops claim create \"{unsure}\" --scope src/ring.py"));
    for claim in ["C1", "C2", "C3", "C4", "C5"] {
        said(&shell, &format!("hm --agent analyst claim support {claim}"));
    }
    let list = said(&shell, "hm claim list");
    let rows: Vec<&str> = list.lines().filter(|row| row.contains("changed by")).collect();
    assert!(rows.len() == 1 && rows[0].starts_with("C1 ") && rows[0].contains("changed by C4"), "{list}");
    assert!(said(&shell, "hm claim show C1").contains("changed by `C4`"));
    let context = said(&shell, "hm --agent reviewer context --intent \"compact_ratio of the ring\"");
    assert!(context.contains("changed_by=\"C4\"") && context.matches("changed_by").count() == 1, "{context}");
    // A proposal changes what its own author stated.
    said(&shell, "hm --agent architect claim create \"limits: max_slots=20\" --scope src/ring.py");
    decide("fewer of them: max_slots=16, and a queue", "src/ring.py");
    let list = said(&shell, "hm claim list");
    assert!(list.lines().any(|row| row.starts_with("C6 ") && row.contains("changed by C7")), "{list}");
    // What is over changes nothing.
    said(
        &shell,
        "hm --agent architect decision record \"the ring never compacts\" --rationale \"measured under load\" \
         --scope src/ring.py --supersedes C4",
    );
    let list = said(&shell, "hm claim list");
    assert!(!list.contains("changed by C4"), "{list}");
}

/// Red before: an unexpected argument.
#[test]
fn several_tasks_are_shown_at_once() {
    let shell = Shell::new();
    for title in ["build it", "test it", "review it"] {
        said(&shell, &format!("hm --agent architect task add \"{title}\""));
    }
    let pages = said(&shell, "hm task show T1 T3");
    assert!(
        pages.contains("build it") && pages.contains("review it") && !pages.contains("test it"),
        "{pages}"
    );
}

/// Red before: the list of all decisions left out why, what was not chosen, and the supporters.
#[test]
fn the_list_of_all_decisions_says_no_less_of_those_in_force() {
    let shell = Shell::new();
    said(
        &shell,
        "hm --agent architect decision record \"a ring of 20\" --target breaker --rationale \"it is bounded\" \
         --not-chosen \"a deque: it grows\"",
    );
    said(&shell, "hm --agent devops claim support C1");
    let (in_force, all) = (said(&shell, "hm decision list"), said(&shell, "hm decision list --all"));
    assert_eq!(in_force, all);
    assert!(all.contains("supported by devops") && all.contains("not chosen: a deque: it grows"), "{all}");
}

/// Red before: a line of the same three commands below each question.
#[test]
fn how_a_question_is_answered_is_said_once() {
    let shell = Shell::new();
    for text in ["may it wait?", "may it fail?", "may it repeat?"] {
        said(&shell, &format!("hm --agent architect claim create \"devops: {text}\" --ask devops"));
    }
    let list = flat(&said(&shell, "hm --agent devops attention"));
    assert_eq!(list.matches("hm claim abstain C1`").count(), 1, "{list}");
    assert_eq!(list.matches("hm claim abstain").count(), 1, "{list}");
    let json = shell.json("hm --json --agent devops attention");
    assert!(json["needs"][2]["settle"][0].is_string(), "{json}");
}

/// Red before: the same goal stood behind each peer.
#[test]
fn a_goal_that_all_share_is_told_once() {
    let shell = Shell::new();
    let goal = "build a retry module in src/retry.py";
    let team = [("s-1", "devops"), ("s-2", "analyst"), ("s-3", "architect")];
    for (id, agent) in team {
        let session = claude(&shell, id, agent);
        session.start();
        session.prompt(goal);
    }
    spool_is_empty(&shell);
    let context = said(&shell, "hm --agent reviewer context");
    assert_eq!(context.matches("<peer ").count(), 3, "{context}");
    assert_eq!(context.matches(goal).count(), 1, "{context}");
}
