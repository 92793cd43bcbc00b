//! What holds of every verb and every tool: lists fit a narrow screen, a name stands wherever an id does, and a receipt
//! is short. The verbs come from the help pages and the tools from the server, so that a new one is looked at too.

use std::collections::{BTreeMap, BTreeSet};

use hivemind::mcp::{Era, Pane};
use regex::Regex;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::shell::Shell;
use crate::typed;

/// The width of a statement that a list shows at least, in characters.
const READABLE: usize = 60;
/// The longest receipt without warnings, in characters.
const RECEIPT_CHARS: usize = 160;
/// Statements longer than a line.
const RING: &str =
    "the pool keeps its slots in a ring, one for each thread that runs, and one for guests who come late";
const LIST: &str =
    "the queue is a list of pages that grows at both of its ends until the machine has no room any more";
/// Verbs that are no list: they write, ask, or speak to a program.
const NO_LISTS: [&str; 29] = [
    "hm backfill",
    "hm belief snapshot",
    "hm context",
    "hm demo",
    "hm doctor",
    "hm experiment run",
    "hm export",
    "hm forget",
    "hm init",
    "hm intent",
    "hm lock",
    "hm memory diff",
    "hm mirror",
    "hm mirror diff",
    "hm news",
    "hm rebuild",
    "hm repair",
    "hm serve",
    "hm session end",
    "hm session start",
    "hm statusline",
    "hm token add",
    "hm trust",
    "hm uninit",
    "hm verify",
    "hm watch",
    "hm web",
    "hm writer",
    "hm guard accept",
];
/// Lists of events and settings, which show no statement, or only a part of a payload.
const NO_STATEMENTS: [&str; 2] = ["hm log", "hm trace list"];

fn said(shell: &Shell, line: &str) -> String {
    let output = shell.run(line);
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {text}");
    text
}

/// A memory with an entry of each kind.
fn filled() -> Shell {
    let shell = Shell::new();
    for line in [
        format!("hm --agent devops claim create \"{RING}\" --scope src/db/pool.rs"),
        format!("hm --agent analyst claim challenge C1 --reason \"{LIST}\""),
        format!("hm --agent devops claim create \"{LIST}\" --type negative --scope src/queue"),
        format!("hm --agent devops decision record \"{RING} here\" --target pool --rationale \"{LIST}\""),
        format!("hm --agent devops plan add \"{RING}\""),
        format!("hm --agent devops phase add \"{RING}\" --plan P1"),
        format!("hm --agent devops task add \"{RING}\" --phase P2"),
        format!("hm --agent devops task add \"{LIST}\" --after T1"),
        format!("hm --agent devops anchor save BUILD \"{RING}\""),
        format!("hm --agent devops lock src/db --why \"{RING}\""),
        "hm --agent operator token add --agent devops --role agent".to_owned(),
        format!("hm --agent operator guard accept --includes ring --text \"{LIST}\""),
        format!("hm --agent operator experiment run -- echo \"{RING}\""),
    ] {
        said(&shell, &line);
    }
    shell
}

/// Red before: the lines of `hm log` and `hm token list` had up to 160 columns on every screen.
#[test]
fn every_list_fits_80_and_100_columns_with_its_statements_readable() {
    let shell = filled();
    let mut lists = 0;
    for (verb, page) in typed::pages(&shell) {
        let usage = page.lines().find(|line| line.starts_with("Usage: ")).unwrap_or_default();
        if NO_LISTS.contains(&&*verb) || usage.contains('<') {
            continue;
        }
        lists += 1;
        let line = verb.replacen("hm", "hm --agent devops", 1);
        for columns in [80, 100] {
            let output = shell.command(&line).env("COLUMNS", columns.to_string()).output().expect("hm runs");
            let text = String::from_utf8(output.stdout).expect("text");
            assert!(output.status.success() && !text.is_empty(), "{verb}: {text}");
            for line in text.lines() {
                assert!(textwrap::core::display_width(line) <= columns, "{columns}: {verb}: {line}");
            }
            let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
            for statement in [RING, LIST].into_iter().filter(|_| !NO_STATEMENTS.contains(&&*verb)) {
                let is_shown = flat.contains(&statement[..20]);
                assert!(!is_shown || flat.contains(&statement[..READABLE]), "{columns}: {verb}: {text}");
            }
        }
    }
    assert!(lists > 20, "{lists}");
}

/// The name of what a placeholder of a help page stands for, where that has names.
fn letter(verb: &str, placeholder: &str) -> Option<&'static str> {
    let of_verb = match verb.split(' ').nth(1) {
        Some("claim" | "decision" | "attention") => "C",
        Some("contradictions") => "X",
        Some("task") => "T",
        Some("plan") => "P",
        Some("pattern") => "N",
        _ => "",
    };
    match placeholder {
        "CLAIM" | "DECISION" | "ITEM" => Some("C"),
        "TASK" => Some("T"),
        "RUN" => Some("R"),
        "PLAYBOOK" => Some("B"),
        "GUARD" => Some("G"),
        "EVENT" | "EVIDENCE" => Some("#"),
        "PLAN" => Some("P"),
        "PHASE" if verb != "hm memory diff" => Some("P"),
        "ID" => Some(of_verb).filter(|letter| !letter.is_empty()),
        _ => None,
    }
}

/// What stands for another placeholder.
fn word(placeholder: &str) -> &'static str {
    match placeholder {
        "STATUS" => "done",
        "OUTCOME" => "success",
        "PROFILE" | "NAME" => "git-grep",
        "SPACE" => "project",
        _ => "\"because it is so at night\"",
    }
}

/// What a verb needs although its usage does not say so, beside the option that is tried.
fn needed(verb: &str, option: &str) -> &'static str {
    match verb {
        "hm decision record" if option == "--claim " => "",
        "hm claim deprecate" | "hm claim retract-evidence" | "hm plan abandon" | "hm forget" => {
            " --reason \"it is so\""
        }
        "hm decision amend" => " --replace night --with day",
        "hm decision record" => " \"we keep the ring\"",
        "hm experiment run" => " git-grep --arg pattern=x",
        _ => "",
    }
}

/// The lines of a verb, each with a name that nothing has in the place of one id.
fn lines(verb: &str, page: &str) -> Vec<(String, String)> {
    let part = Regex::new(r"(--[a-z-]+ )?<([A-Z_]+)>").expect("a pattern");
    let parts = |text: &str| -> Vec<(String, String)> {
        part.captures_iter(text)
            .map(|found| (found.get(1).map_or("", |option| option.as_str()).to_owned(), found[2].to_owned()))
            .collect()
    };
    let usage = page.lines().find(|line| line.starts_with("Usage: ")).unwrap_or_default();
    let places = parts(&Regex::new(r"\[[^\]]*\]").expect("a pattern").replace_all(usage, ""));
    let options = page.lines().skip_while(|line| *line != "Options:");
    let options = options.filter(|line| line.starts_with("      --")).flat_map(parts);
    let options: Vec<(String, String)> = options.filter(|option| !places.contains(option)).collect();
    let line = |changed: Option<usize>| {
        places.iter().enumerate().fold(verb.to_owned(), |line, (at, (option, placeholder))| {
            let value = match (letter(verb, placeholder), changed == Some(at)) {
                (Some(letter), true) => format!("{letter}999"),
                (Some(letter), false) => format!("{letter}1"),
                (None, _) => word(placeholder).to_owned(),
            };
            format!("{line} {option}{value}")
        })
    };
    let mut lines = Vec::new();
    for (at, (option, placeholder)) in places.iter().enumerate() {
        if let Some(letter) = letter(verb, placeholder).filter(|_| !option.ends_with("-id ")) {
            lines.push((line(Some(at)) + needed(verb, ""), format!("{letter}999")));
        }
    }
    for (option, placeholder) in options.iter().filter(|(option, _)| !option.ends_with("-id ")) {
        if let Some(letter) = letter(verb, placeholder) {
            lines.push((
                format!("{}{} {option}{letter}999", line(None), needed(verb, option)),
                format!("{letter}999"),
            ));
        }
    }
    lines
}

#[test]
fn every_argument_of_a_verb_that_takes_an_id_takes_a_name() {
    let shell = filled();
    let mut arguments = 0;
    for (verb, page) in typed::pages(&shell) {
        for (line, name) in lines(&verb, &page) {
            arguments += 1;
            let output = shell.run(&line.replacen("hm", "hm --agent operator", 1));
            let text = String::from_utf8_lossy(&output.stdout).into_owned()
                + &String::from_utf8_lossy(&output.stderr);
            let is_looked_up = text.contains(&format!("is called `{name}`"))
                || text.contains(&format!("`{name}` names no event"));
            assert!(!output.status.success() && is_looked_up, "{line}: {text}");
        }
    }
    assert!(arguments > 55, "{arguments}");
}

/// A call of each tool, most of them accepted, with names in the place of ids.
fn calls() -> Vec<(usize, &'static str, Value)> {
    let (architect, devops, analyst) = (0, 1, 2);
    let pool =
        |statement: &str| json!({ "statement": statement, "claim_type": "fact", "scopes": ["src/db"] });
    vec![
        (architect, "start_session", json!({ "source": "startup" })),
        (devops, "start_session", json!({ "source": "startup", "parent_session": "S1" })),
        (devops, "create_claim", pool(RING)),
        (
            analyst,
            "create_claim",
            json!({ "statement": LIST, "claim_type": "negative", "scopes": ["src/queue"],
            "trigger": { "commands": ["make queue"] }, "evidence_refs": ["C1"] }),
        ),
        (analyst, "report_event", json!({ "kind": "finding", "summary": RING })),
        (analyst, "support", json!({ "claim_id": "C1", "evidence_ref": "#6", "reason": LIST })),
        (architect, "challenge", json!({ "claim_id": "c1", "evidence_ref": "C2", "reason": LIST })),
        (devops, "still", json!({ "claim_id": "C1" })),
        (architect, "abstain", json!({ "claim_id": "C1", "evidence_ref": "C2", "reason": LIST })),
        (
            devops,
            "record_decision",
            json!({ "statement": format!("we keep the ring: {RING}"), "target": "pool",
            "rationale": LIST }),
        ),
        (devops, "record_outcome", json!({ "decision_id": "C3", "outcome": "success", "notes": LIST })),
        (
            devops,
            "record_decision",
            json!({ "statement": format!("we drop the ring: {LIST}"), "target": "pool",
            "rationale": LIST, "supersedes": ["C3"] }),
        ),
        (
            analyst,
            "add_evidence",
            json!({ "claim_id": "C4", "evidence_ref": "#6", "relation": "mentions", "note": LIST }),
        ),
        (analyst, "retract_evidence", json!({ "claim_id": "C4", "evidence_ref": "#6", "reason": LIST })),
        (
            devops,
            "create_claim",
            json!({ "statement": "we give the ring 40", "claim_type": "decision", "scopes": ["src/ring"] }),
        ),
        (devops, "record_decision", json!({ "claim_id": "C5", "rationale": LIST })),
        (architect, "add_plan", json!({ "title": RING })),
        (architect, "add_phase", json!({ "title": RING, "plan_id": "P1" })),
        (architect, "start_phase", json!({ "space": "project", "name": "two", "reason": LIST })),
        (architect, "add_task", json!({ "title": RING, "phase_id": "P2" })),
        (architect, "add_task", json!({ "title": LIST, "depends_on": ["T1"], "parent_task_id": "T1" })),
        (devops, "claim_task", json!({ "task_id": "T1", "file_locks": ["src/db"] })),
        (
            devops,
            "create_claim",
            json!({ "statement": "the ring is one page", "claim_type": "fact", "scopes": ["src/page"],
            "origin_task_id": "T1" }),
        ),
        (
            devops,
            "create_claim",
            json!({ "statement": "the ring is two pages", "claim_type": "fact", "scopes": ["src/page"],
            "supersedes": "C6" }),
        ),
        (analyst, "lock", json!({ "scopes": ["tests"], "why": LIST, "minutes": 10 })),
        (devops, "update_task", json!({ "task_id": "T1", "status": "done", "note": LIST })),
        (
            devops,
            "declare_intent",
            json!({ "intent": RING, "plan_id": "P1", "phase_id": "P2", "task_ids": ["T2"] }),
        ),
        (architect, "rename_plan", json!({ "plan_id": "P1", "title": "Ring" })),
        (architect, "abandon_plan", json!({ "plan_id": "P1", "reason": LIST })),
        (devops, "save_anchor", json!({ "key": "BUILD", "value": RING })),
        (devops, "retire_anchor", json!({ "key": "BUILD" })),
        (
            architect,
            "accept_guard",
            json!({ "condition": { "commands": ["cargo publish"] }, "action": "warn", "text": LIST,
            "source_claim": "C2" }),
        ),
        (devops, "promote_item", json!({ "item": "C1", "to": "project", "reason": LIST })),
        (devops, "run_experiment", json!({ "profile": "passes", "claim_id": "C1", "wait": true })),
        (devops, "attach_experiment", json!({ "run_id": "R1", "claim_id": "C2", "summary": LIST })),
        (devops, "cancel_experiment", json!({ "run_id": "R1" })),
        (
            architect,
            "spawn_researcher",
            json!({ "prompt": RING, "profile": "passes", "parent_task_id": "T2" }),
        ),
        (architect, "accept_playbook", json!({ "playbook_id": "B9" })),
        (architect, "dismiss_playbook", json!({ "playbook_id": "B9", "reason": LIST })),
        (architect, "alias_target", json!({ "target": "pool", "alias": "ring" })),
        (architect, "part_target", json!({ "alias": "ring" })),
        (analyst, "snapshot_beliefs", json!({})),
        (devops, "record_turn", json!({ "role": "assistant", "text": RING })),
        (devops, "deprecate_claim", json!({ "claim_id": "C1", "reason": LIST })),
        (devops, "split_session", json!({ "reason": LIST })),
        (architect, "end_session", json!({})),
    ]
}

/// Arguments of tools that hold the id of something with a name.
const IDS: [&str; 16] = [
    "claim_id",
    "decision_id",
    "supersedes",
    "source_claim",
    "task_id",
    "origin_task_id",
    "parent_task_id",
    "task_ids",
    "depends_on",
    "plan_id",
    "phase_id",
    "run_id",
    "playbook_id",
    "parent_session",
    "evidence_ref",
    "evidence_refs",
];

/// Red before: the receipts of a challenge, a finished task and an intent repeated what the call had said, or the schema of
/// another tool.
#[tokio::test]
async fn every_tool_takes_names_and_its_receipt_is_short() {
    let bench = Bench::new();
    bench.profile(
        "passes",
        "description = \"a test\"\nargv = [\"true\"]\nscopes = [\"src/**\"]\ntimeout_ms = 20000\n",
    );
    let mut panes = Vec::new();
    for agent in ["architect", "devops", "analyst"] {
        let pane = Pane::offered(bench.binary(), bench.root(), Some(agent), Era::Modern, "all").await;
        panes.push(pane.expect("a pane"));
    }
    let mut unnamed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for tool in panes[0].tools().await.expect("tools").into_iter().filter(|tool| tool.name != "read_memory") {
        let properties =
            tool.input_schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        let ids = properties.keys().filter(|name| IDS.contains(&name.as_str())).cloned().collect();
        unnamed.insert(tool.name.to_string(), ids);
    }
    let mut accepted = 0;
    let mut uncalled: BTreeSet<String> = unnamed.keys().cloned().collect();
    for (pane, tool, arguments) in calls() {
        uncalled.remove(tool);
        let given = arguments.as_object().expect("arguments");
        unnamed.get_mut(tool).expect("a tool").retain(|name| !given.contains_key(name));
        let answer = panes[pane].call(tool, arguments.clone()).await.expect("an answer");
        if answer.refused {
            // A name that nothing has, and what only the operator may, are refused as such.
            let why = [
                "is called `B9`",
                "for the operator only",
                "it is over",
                "starts no agent",
                "nothing is promoted",
                "has ever started",
            ];
            assert!(why.iter().any(|why| answer.text.contains(why)), "{tool} {arguments}: {}", answer.text);
            continue;
        }
        accepted += 1;
        // A warning and the meaning of a run are as long as what they are about, and no name stands for a session that
        // has not begun.
        let is_plain =
            answer.body["warnings"].as_array().is_none_or(Vec::is_empty) && answer.body["meaning"].is_null();
        let is_bound = is_plain && tool != "split_session";
        let receipt = answer.text.lines().next().unwrap_or_default();
        let chars = receipt.chars().count();
        assert!(!is_bound || chars <= RECEIPT_CHARS, "{chars}: {receipt}");
    }
    assert!(uncalled.is_empty(), "{uncalled:?}");
    unnamed.retain(|_, ids| !ids.is_empty());
    assert!(unnamed.is_empty(), "{unnamed:?}");
    assert!(accepted > 30, "{accepted}");
}
