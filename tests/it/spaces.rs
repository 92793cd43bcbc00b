//! Spaces, their borders, and phases: what is one person's reaches nobody else, an item crosses a border by its promotion
//! alone, and a diff tells what changed from one phase to another.

use std::process::Output;

use expect_test::expect;
use serde_json::{Value, json};

use crate::shell::Shell;
use crate::terminal::by_a_human;

fn by_user(shell: &Shell, user: &str, line: &str) -> Output {
    let mut command = shell.command(line);
    command.env("HM_USER", user).env("HM_SESSION", format!("s-{user}"));
    if line.contains("--agent operator") {
        command.env_remove("HM_SESSION");
        return by_a_human(&command);
    }
    command.output().expect("hm runs")
}

fn said(shell: &Shell, user: &str, line: &str) -> String {
    let output = by_user(shell, user, line);
    String::from_utf8(output.stdout).expect("text") + &String::from_utf8_lossy(&output.stderr)
}

fn told(shell: &Shell, user: &str, line: &str) -> Value {
    let output = by_user(shell, user, line);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{line}: {error}: {output:?}"))
}

fn kinds(shell: &Shell, kind: &str) -> Vec<Value> {
    let page = told(shell, "ann", &format!("hm --json log --type {kind}"));
    page["events"].as_array().expect("events").iter().map(|event| event["payload"].clone()).collect()
}

#[test]
fn a_user_keeps_a_fact_that_no_other_user_reads() {
    let shell = Shell::new();
    said(&shell, "ann", "hm --agent devops anchor save EDITOR helix-of-ann --space user");
    said(&shell, "ann", "hm --agent devops anchor save EDITOR vim-of-all");
    let lines = [
        "hm anchor list",
        "hm memory list",
        "hm memory list --space user",
        "hm memory list --space user --owner ann",
        "hm memory show user:ann:profile:1",
        "hm context --agent devops",
        "hm log",
        "hm log --json",
        "hm export",
        "hm claim search helix-of-ann",
        "hm session show s-ann",
    ];
    let mine: String = lines.map(|line| said(&shell, "ann", line)).concat();
    assert!(mine.contains("helix-of-ann") && mine.contains("space=\"user\""), "{mine}");
    for line in lines {
        let seen = said(&shell, "bob", line);
        assert!(
            !seen.replace(line, "").contains("helix-of-ann") || line.contains("search"),
            "{line}: {seen}"
        );
    }
    let anchors = said(&shell, "ann", "hm anchor list");
    let (own, teams) = (anchors.find("helix-of-ann"), anchors.find("vim-of-all"));
    assert!(own.is_some() && own < teams, "the space of the user is read first: {anchors}");
    let context = said(&shell, "bob", "hm context --agent devops");
    assert!(context.contains("vim-of-all"), "{context}");
    let missing = told(&shell, "bob", "hm --json memory show user:ann:profile:1");
    assert_eq!(missing["code"], "unknown_memory", "{missing}");
    // An export leaves it out, and says so when it is taken in.
    let export = said(&shell, "bob", "hm export");
    std::fs::write(shell.workspace().root().join("bob.jsonl"), export).expect("a file");
    let other = Shell::new();
    let file = shell.workspace().root().join("bob.jsonl").display().to_string();
    let refused = said(&other, "bob", &format!("hm import {file}"));
    assert!(refused.contains("in the space of another user"), "{refused}");
    // A hand-over is recorded for everybody.
    let split = said(&shell, "ann", "hm --agent devops session split --reason \"the window is full\"");
    assert!(split.contains("split"), "{split}");
    assert!(!said(&shell, "bob", "hm log --type session.split --json").contains("helix-of-ann"));
    said(&shell, "ann", "hm --agent devops anchor retire EDITOR --space user");
    let anchors = said(&shell, "ann", "hm anchor list");
    assert!(!anchors.contains("helix-of-ann") && anchors.contains("vim-of-all"), "{anchors}");
}

#[test]
fn keys_of_a_users_space_are_those_of_the_policy() {
    let shell = Shell::new();
    std::fs::write(shell.workspace().config(), "[policy.spaces]\nuser_keys = [\"LANG*\"]\n").expect("a file");
    let refused = told(&shell, "ann", "hm --json --agent devops anchor save EDITOR helix --space user");
    assert_eq!(refused["code"], "user_key_denied", "{refused}");
    assert!(refused["hint"].as_str().is_some_and(|hint| hint.contains("anchor save")), "{refused}");
    let denied = kinds(&shell, "memory.denied");
    assert_eq!(denied[0]["reason"], "user_key_denied", "{denied:?}");
    assert!(!denied[0].to_string().contains("helix"), "{denied:?}");
    let kept = told(&shell, "ann", "hm --json --agent devops anchor save LANG_SPOKEN en --space user");
    assert_eq!(kept["state"], "committed", "{kept}");
    let shared = told(&shell, "ann", "hm --json --agent devops anchor save EDITOR helix");
    assert_eq!(shared["state"], "committed", "{shared}");
    let nowhere = told(&shell, "ann", "hm --json --agent devops anchor save EDITOR helix --space session");
    assert_eq!(nowhere["code"], "invalid_argument", "{nowhere}");
}

#[test]
fn an_item_crosses_a_border_with_its_authority_and_says_so() {
    let shell = Shell::new();
    for line in [
        "hm --agent devops session start",
        "hm --agent devops session turn user \"I always edit with helix\"",
        "hm --agent devops session turn assistant \"the pool holds 20 connections\"",
        "hm --agent devops session turn user \"we deploy on Mondays only\"",
        "hm --agent devops anchor save NOTE \"an agent wrote this\" --space user",
    ] {
        said(&shell, "ann", line);
    }
    let promote = |by: &str, rest: &str| {
        told(
            &shell,
            "ann",
            &format!("hm --json --agent {by} memory promote {rest} --reason \"it is wanted there\""),
        )
    };
    let low = promote("devops", "session:s-ann:short_term:2 --to user --key POOL");
    assert_eq!(low["code"], "authority_too_low", "{low}");
    assert!(low["hint"].as_str().is_some_and(|hint| hint.contains("operator")), "{low}");
    let low = promote("devops", "session:s-ann:short_term:3 --to project --key DEPLOY");
    assert_eq!(low["code"], "authority_too_low", "{low}");
    let low = promote("devops", "user:ann:profile:1 --to project");
    assert_eq!(low["code"], "authority_too_low", "{low}");
    for (item, to) in
        [("C1", "session"), ("user:ann:profile:1", "system"), ("session:s-ann:short_term:1", "system")]
    {
        said(&shell, "ann", "hm --agent devops claim create \"the queue is bounded\" --scope src/queue");
        let closed = promote("operator", &format!("{item} --to {to}"));
        assert_eq!(closed["code"], "border_closed", "{item}: {closed}");
    }
    let others = told(
        &shell,
        "bob",
        "hm --json --agent devops memory promote user:ann:profile:1 --to project --reason \"I want it\"",
    );
    assert_eq!(others["code"], "unknown_memory", "{others}");
    let keyless = promote("devops", "session:s-ann:short_term:1 --to user");
    assert_eq!(keyless["code"], "invalid_argument", "{keyless}");
    let typed = promote("devops", "session:s-ann:short_term:3 --to project --key DEPLOY --as decision");
    assert_eq!(typed["code"], "not_allowed", "{typed}");
    let checks = kinds(&shell, "memory.border_check");
    assert_eq!(checks.len(), 6, "{checks:?}");
    assert!(checks.iter().all(|check| check["allowed"] == false), "{checks:?}");
    assert_eq!(kinds(&shell, "memory.promotion_denied").len(), 6);

    let done = promote("devops", "session:s-ann:short_term:1 --to user --key EDITOR");
    assert_eq!(done["state"], "committed", "{done}");
    let done = promote("operator", "session:s-ann:short_term:3 --to project --key DEPLOY --as decision");
    assert_eq!(done["state"], "committed", "{done}");
    let again = promote("operator", "session:s-ann:short_term:3 --to project --key DEPLOY --as decision");
    assert_eq!(again["code"], "duplicate", "{again}");
    let done = promote("operator", "user:ann:profile:1 --to project");
    assert_eq!(done["state"], "committed", "{done}");

    let copy = told(&shell, "ann", "hm --json memory show user:ann:profile:2");
    assert_eq!(copy["text"], "I always edit with helix");
    assert_eq!(copy["meta"]["promoted_from"], "session:s-ann:short_term:1");
    assert_eq!(copy["meta"]["promotion_reason"], "authority_enough");
    assert_eq!(copy["meta"]["authority"], "user_asserted");
    assert_eq!(
        (&copy["promoted"]["by"], &copy["promoted"]["why"]),
        (&json!("devops"), &json!("it is wanted there"))
    );
    let source = told(&shell, "ann", "hm --json memory show session:s-ann:short_term:1");
    assert_eq!(source["shown_to"]["because"], "promoted to user:ann:profile:2", "{source}");
    let source = told(&shell, "bob", "hm --json memory show session:s-ann:short_term:1");
    assert_eq!(source["shown_to"]["because"], "promoted to the space of another user", "{source}");
    let project = shell.workspace().project();
    let copy = told(&shell, "bob", &format!("hm --json memory show project:{project}:profile:3"));
    assert_eq!((&copy["meta"]["event_type"], &copy["importance"]), (&json!("decision"), &json!(4)));
    assert_eq!(copy["meta"]["promotion_reason"], "decision_of_user");
    let context = said(&shell, "bob", "hm context --agent analyst");
    assert!(context.contains("we deploy on Mondays only"), "{context}");
    let page = said(&shell, "ann", "hm memory list --kind profile");
    assert!(page.contains("promoted from session:s-ann:short_term:3 by operator"), "{page}");
    let dialogue = said(&shell, "ann", "hm --json session show s-ann");
    assert!(dialogue.contains("20 connections") && !dialogue.contains("Mondays"), "{dialogue}");
}

#[test]
fn a_diff_tells_what_changed_between_phases() {
    let shell = Shell::new();
    for line in [
        "hm --agent devops anchor save PORT 7001",
        "hm --agent devops anchor save HOST db-1",
        "hm --agent devops claim create \"the pool holds 20 connections\" --scope src/pool",
        "hm --agent devops session start",
        "hm --agent devops session turn user \"begin with the pool\"",
        "hm --agent devops memory phase start \"second try\" --reason \"the first design failed\"",
        "hm --agent devops memory phase start \"second try\" --space session --reason \"the first design failed\"",
        "hm --agent devops session turn user \"now the cache\"",
        "hm --agent devops anchor save PORT 7002",
        "hm --agent devops anchor retire HOST",
        "hm --agent devops claim create \"the cache is warm\" --scope src/cache",
    ] {
        let output = by_user(&shell, "ann", line);
        assert!(output.status.success(), "{line}: {output:?}");
    }
    let project = shell.workspace().project();
    let masked = |text: String| text.replace(project.as_str(), "PROJECT");
    let diff = masked(said(&shell, "ann", "hm --json memory diff --from phase-1 --to phase-2"));
    let diff: Value = serde_json::from_str(&diff).expect("JSON");
    expect![[r#"
        {
          "added_count": 1,
          "ai_profile": "devops",
          "deleted_count": 1,
          "from_phase_id": "phase-1",
          "owner": "PROJECT",
          "replaced_count": 1,
          "session": "s-ann",
          "space": "project",
          "to_phase_id": "phase-2",
          "top_changes": [
            {
              "change": "replaced",
              "memory_id": "project:PROJECT:profile:3",
              "replaced_id": "project:PROJECT:profile:1",
              "replaced_text": "7001",
              "text": "7002"
            },
            {
              "change": "deleted",
              "memory_id": "project:PROJECT:profile:2",
              "text": "db-1"
            },
            {
              "change": "added",
              "memory_id": "project:PROJECT:semantic:2",
              "text": "the cache is warm"
            }
          ],
          "type": "memory_phase_diff"
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&diff).expect("JSON"));
    let text = masked(said(&shell, "ann", "hm memory diff --space session"));
    expect![[r#"
        session s-ann, from phase-1 to phase-2 (second try): 0 replaced, 1 deleted, 1 added
        - deleted `session:s-ann:short_term:1` begin with the pool
        - added `session:s-ann:short_term:2` now the cache
    "#]]
    .assert_eq(&text);
    let missing = told(&shell, "ann", "hm --json memory diff --to phase-3");
    assert_eq!(missing["code"], "unknown_memory", "{missing}");
    let item = told(&shell, "ann", "hm --json memory show C2");
    assert_eq!(
        (&item["meta"]["phase_id"], &item["meta"]["phase_name"]),
        (&json!("phase-2"), &json!("second try"))
    );
    let context = said(&shell, "ann", "hm context --agent devops");
    assert!(context.contains("the pool holds 20 connections"), "claims outlive phases: {context}");
    let dialogue = said(&shell, "ann", "hm --json session show s-ann");
    assert!(dialogue.contains("now the cache") && !dialogue.contains("begin with the pool"), "{dialogue}");
}

#[test]
fn another_plan_begins_a_phase_of_the_session() {
    for (section, phases) in [("", 1), ("[policy.phase]\nby_plan = false\n", 0)] {
        let shell = Shell::new();
        std::fs::write(shell.workspace().config(), section).expect("a file");
        for line in [
            "hm --agent devops plan add \"the pool\"",
            "hm --agent devops plan add \"the cache\"",
            "hm --agent devops session start",
            "hm --agent devops intent \"mend the pool\" --plan P1",
            "hm --agent devops intent \"mend the pool well\" --plan P1",
            "hm --agent devops intent \"warm the cache\" --plan P2",
        ] {
            let output = by_user(&shell, "ann", line);
            assert!(output.status.success(), "{line}: {output:?}");
        }
        let started = kinds(&shell, "memory.phase_started");
        assert_eq!(started.len(), phases, "{section}: {started:?}");
        for phase in started {
            assert_eq!(
                (&phase["space"], &phase["owner"], &phase["phase_id"], &phase["reason"]),
                (&json!("session"), &json!("s-ann"), &json!("phase-2"), &json!("plan_changed"))
            );
        }
    }
}
