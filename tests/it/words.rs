//! Words that agents read most: help, the log, the end of a run, names in answers, and what a search by kind finds.

use std::io::Write;

use hivemind::domain::command::{Command, Observe, Seen};
use hivemind::domain::event::ToolUsed;
use hivemind::domain::ids::EventId;
use hivemind::mcp::Era;
use hivemind::system;
use hivemind::writer::Front;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::harness::{HM, block_on, request, wait_until};
use crate::hook::{claude, spool_is_empty};
use crate::proof::{EXPECTING, profile, run};
use crate::shell::Shell;

/// Columns of a terminal, and the rows of it that a page of help may take.
const COLUMNS: usize = 100;
const ROWS: usize = 25;

/// The verbs that agents use most. Red before: `hm --help` took 53 rows, `hm claim create --help` 54.
#[test]
fn the_help_of_the_verbs_that_agents_use_fits_25_rows_with_an_example() {
    let shell = Shell::without_writer();
    for verb in [
        "hm",
        "hm claim",
        "hm claim create",
        "hm claim support",
        "hm claim challenge",
        "hm claim deprecate",
        "hm claim evidence",
        "hm claim show",
        "hm claim list",
        "hm claim search",
        "hm task",
        "hm task add",
        "hm task claim",
        "hm task update",
        "hm decision record",
        "hm experiment run",
        "hm context",
        "hm attention",
        "hm intent",
        "hm log",
    ] {
        for asked in ["-h", "--help"] {
            let page = String::from_utf8(shell.run(&format!("{verb} {asked}")).stdout).expect("text");
            let rows: usize = page.lines().map(|line| line.chars().count().div_ceil(COLUMNS).max(1)).sum();
            assert!((5..=ROWS).contains(&rows), "{verb} {asked} takes {rows} rows:\n{page}");
            assert_eq!(page.matches("Example: hm ").count(), 1, "{verb} {asked}:\n{page}");
            assert_eq!(page.contains("hm help options"), verb == "hm", "{verb} {asked}:\n{page}");
            assert!(!page.contains("--operator-override"), "{verb} {asked}:\n{page}");
        }
    }
    for asked in ["hm help options", "hm options"] {
        let page = String::from_utf8(shell.run(asked).stdout).expect("text");
        for option in ["--dir", "--agent", "--operator-override", "--at", "--json", "HM_AGENT"] {
            assert!(page.contains(option), "{option}: {page}");
        }
    }
}

/// Red before: three agents read 6,000 to 8,000 characters of help each, and `-h` was as long as `--help`.
#[test]
fn the_short_help_of_a_verb_takes_900_characters_and_an_agent_needs_one_page() {
    let shell = Shell::without_writer();
    let page = |line: &str| String::from_utf8(shell.run(line).stdout).expect("text");
    let first = page("hm --help");
    assert!(first.chars().count() <= 2_500, "{first}");
    // The smallest terminal has 24 rows of 80 columns, and the prompt takes one. Red before: 36 rows.
    assert!(first.lines().count() <= 23, "{first}");
    assert!(first.lines().all(|line| line.chars().count() < 80), "{first}");
    assert!(first.find("hm help agent").expect("its page") < first.find("hm help options").expect("options"));
    let agent = page("hm help agent");
    assert!(agent.chars().count() <= 2_000 && agent.contains("hm claim support C47 C48"), "{agent}");
    for verb in [
        "claim",
        "claim create",
        "claim support",
        "claim challenge",
        "claim abstain",
        "claim still",
        "claim deprecate",
        "claim withdraw",
        "claim evidence",
        "claim list",
        "claim show",
        "claim search",
        "decision",
        "decision record",
        "decision list",
        "task",
        "task add",
        "task claim",
        "task update",
        "task done",
        "task list",
        "news",
        "context",
        "attention",
        "experiment",
        "experiment run",
        "intent",
        "lock",
    ] {
        let (short, long) = (page(&format!("hm {verb} -h")), page(&format!("hm {verb} --help")));
        assert!(short.chars().count() <= 900, "{verb}: {}: {short}", short.chars().count());
        assert!(long.chars().count() <= 2_000, "{verb}: {}: {long}", long.chars().count());
        let all_of_it = format!("All of it: hm {verb} --help\n");
        assert_eq!(
            short.ends_with(&all_of_it),
            short.trim_end_matches(&*all_of_it) != long,
            "{short}\n{long}"
        );
        assert_eq!(page(&format!("hm help {verb}")), long, "{verb}");
    }
    assert!(page("hm claim create --help").contains("--trigger-path"));
    assert!(page("hm claim help create").contains("--trigger-path"));
}

/// Red before: each call of `hm` was a `command.ran`, and `last` named it.
#[test]
fn a_call_of_hm_is_no_observation_and_still_meets_a_dead_end() {
    let shell = Shell::new();
    let session = claude(&shell, "s-1", "devops");
    session.start();
    shell.json(
        "hm --json --agent analyst claim create \"hm export floods the disk\" --type negative --scope tag:disk \
         --trigger-command \"hm export dump.jsonl\"",
    );
    session.prompt("look around");
    let after = |line: &str| {
        let said = session.told(
            "PostToolUse",
            json!({ "tool_name": "Bash", "tool_input": { "command": line },
                    "tool_response": { "stdout": "ok", "stderr": "", "interrupted": false } }),
        );
        spool_is_empty(&shell);
        said
    };
    for line in [
        "hm claim list",
        "cd src && HM_AGENT=devops hm claim show C1 | head -3",
        "echo '--- tasks'; hm task list; hm claim search \"cargo test; make\"",
    ] {
        after(line);
    }
    assert!(session.about_to_run("hm export dump.jsonl").contains("C1"), "a dead end is met before the call");
    spool_is_empty(&shell);
    assert!(!after("hm export dump.jsonl").contains("C1"), "once a session");
    after("hm claim list; wc -l src/pool.rs");
    let log = shell.json("hm log --json --all --limit 100");
    let ran: Vec<&str> = log["events"]
        .as_array()
        .expect("events")
        .iter()
        .filter(|event| ["command.ran", "tool.used"].contains(&event["type"].as_str().expect("a type")))
        .filter_map(|event| event["payload"]["command"].as_str())
        .collect();
    assert_eq!(ran, ["hm claim list; wc -l src/pool.rs"], "{log}");
    let fired = shell.json("hm log --json --type guard.fired");
    assert_eq!(fired["events"].as_array().map(Vec::len), Some(1), "{fired}");
}

/// Red before: `hm log` had no `--all`, and its last lines were calls of `hm` that hooks of older releases had seen.
#[test]
fn the_log_leaves_out_calls_of_hm_and_says_how_many() {
    let shell = Shell::new();
    let front = Front::new(shell.workspace(), HM.into());
    let see = |seen: Seen| {
        let event_id = EventId::from_uuid(system::new_id());
        let submission = request("devops", Command::Observe(Observe { event_id, seen }));
        block_on(front.submit(submission)).expect("a receipt");
    };
    let ran = |line: &str| Seen::Command(crate::harness::ran(line));
    for _ in 0..3 {
        see(ran("cargo test"));
        see(ran("cd src && hm claim list"));
        see(Seen::Tool(ToolUsed {
            tool: "Read".parse().expect("a name"),
            failed: false,
            input_sha256: None,
            answer_sha256: None,
            target: None,
            subagent: None,
        }));
    }
    see(Seen::Tool(ToolUsed {
        tool: "Fetch".parse().expect("a name"),
        failed: true,
        input_sha256: None,
        answer_sha256: None,
        target: None,
        subagent: None,
    }));
    let shown = |line: &str| {
        let log = shell.json(line);
        let places: Vec<u64> = log["events"]
            .as_array()
            .expect("events")
            .iter()
            .filter_map(|event| event["seq"].as_u64())
            .collect();
        (places, log["left_out"].as_u64(), log["next"].as_u64())
    };
    assert_eq!(shown("hm --json log"), (vec![1, 4, 7, 10], Some(6), None));
    assert_eq!(shown("hm --json log --limit 2"), (vec![7, 10], Some(2), None));
    assert_eq!(shown("hm --json log --after 1 --limit 2"), (vec![4, 7], Some(6), Some(7)));
    assert_eq!(shown("hm --json log --all").0.len(), 10);
    assert_eq!(shown("hm --json log --type tool.used"), (vec![3, 6, 9, 10], None, None));
    let text = String::from_utf8(shell.run("hm log").stdout).expect("text");
    assert!(text.ends_with("left out: 6 calls of hm or tools; with them: the same with --all\n"), "{text}");
}

/// Red before: only the command that waited printed them, and nothing did where a run passed against its prediction.
#[tokio::test]
async fn a_run_that_did_not_end_as_expected_shows_its_last_lines() {
    let bench = Bench::new();
    let script = "for n in 1 2 3 4 5 6 7 8 9 10 11 12 13; do echo line $n; done; printf %0200d 7; exit";
    for (name, code) in [("fails", 3), ("passes", 0)] {
        profile(&bench, name, &format!("{script} {code}"), "\"src/**\"", EXPECTING);
    }
    let pane = bench.pane(Some("devops"), Era::Modern).await;
    let claim = bench.claim(&pane, "the pool holds 20", "src/pool").await;
    // One outcome under both predictions decides nothing, so that this needs a claim of its own.
    let other = bench.claim(&pane, "the cache is warm", "src/cache").await;
    let shows =
        |text: &str| text.contains("    line 13\n") && !text.contains("line 3\n") && text.contains("…\n");
    for (given, is_expected) in [
        (json!({ "profile": "passes", "claim_id": claim }), true),
        (json!({ "profile": "fails", "claim_id": claim }), false),
        (json!({ "profile": "passes", "claim_id": other, "prediction": "fails" }), false),
        (json!({ "profile": "fails" }), false),
    ] {
        let answer = run(&pane, given.clone()).await;
        assert_eq!(shows(&answer.text), !is_expected, "{given}: {}", answer.text);
        let run_id = answer.field("run_id");
        let page = pane.read(&format!("hivemind://experiments/{run_id}")).await.expect("a page");
        let typed = bench.hm(&["experiment", "show", run_id]).stdout;
        for page in [page, String::from_utf8(typed).expect("text")] {
            assert_eq!(shows(&page), !is_expected, "{given}: {page}");
            let mut end = page.lines().filter(|line| line.starts_with("    "));
            assert!(end.all(|line| line.chars().count() <= COLUMNS), "{page}");
        }
    }
}

/// Red before: sentences of structured content quoted whole ids, and the JSON of a claim had no name.
#[tokio::test]
async fn json_has_names_beside_ids_and_its_sentences_say_them() {
    let bench = Bench::new();
    let pane = bench.pane(Some("devops"), Era::Modern).await;
    let other = bench.pane(Some("analyst"), Era::Legacy).await;
    let made =
        json!({ "statement": "the pool holds 20 connections", "claim_type": "fact", "scopes": ["src/pool"] });
    let made = bench.accepted(&pane, "create_claim", made).await;
    assert!(made.text.chars().count() <= 160, "{}", made.text);
    assert_eq!(made.text.matches("C1").count(), 1, "each thing once: {}", made.text);
    let claim = made.field("claim_id").to_owned();
    let reason = json!({ "claim_id": claim, "reason": "it holds 10" });
    let challenged = bench.accepted(&other, "challenge", reason).await;
    assert_eq!(challenged.field("claim_id"), claim, "fields stay whole");
    let next = challenged.body["next"].as_str().expect("a step");
    assert!(next.contains("C1") && !next.contains(&claim), "{next}");
    let again = json!({ "claim_id": claim, "reason": "no" });
    let refused = other.call("deprecate_claim", again).await.expect("an answer");
    let message = refused.body["message"].as_str().expect("a sentence");
    assert!(refused.refused && message.contains("C1") && !message.contains(&claim), "{message}");

    profile(&bench, "passes", "echo ok", "\"src/**\"", EXPECTING);
    run(&pane, json!({ "profile": "passes" })).await;
    let json_of = async |address: &str| -> Value {
        let text = pane.read(&format!("hivemind://{address}?format=json")).await.expect("an answer");
        serde_json::from_str(&text).expect("JSON")
    };
    assert_eq!(json_of(&format!("claims/{claim}")).await["name"], "C1");
    assert_eq!(json_of("claims").await["claims"][0]["name"], "C1");
    assert_eq!(json_of("experiments").await["experiments"][0]["name"], "R1");
    assert_eq!(json_of("contradictions").await["contradictions"][0]["name"], "X1");
    assert_eq!(json_of("experiments/R1").await["name"], "R1");
    let typed = bench.hm(&["--json", "claim", "search", "connections"]).stdout;
    let typed: Value = serde_json::from_slice(&typed).expect("JSON");
    assert_eq!(typed["hits"][0]["name"], "C1", "{typed}");
}

#[test]
fn the_json_of_a_session_has_its_name() {
    let shell = Shell::new();
    claude(&shell, "s-1", "devops").start();
    let sessions = shell.json("hm --json session list");
    assert_eq!(sessions["sessions"][0]["name"], "S1", "{sessions}");
}

/// Red before: each of these searches answered that no claims match.
#[test]
fn a_search_finds_bugs_rejected_options_and_what_was_said_in_a_review() {
    let shell = Shell::new();
    for line in [
        "hm --json --agent devops task add \"concurrency audit of the cache\"",
        "hm --json --agent devops claim create \"the lock deadlocks when a callback deletes\" --type negative --scope src/a.rs --task T1",
        "hm --json --agent devops claim create \"the lock is an RLock now\" --scope src/a.rs --supersedes C1 --mends",
        "hm --json --agent devops decision record \"we keep a heap\" --target structure \
         --rationale \"logarithmic expiry\" --not-chosen \"sorted list: 58 ms scans\"",
        "hm --json --agent devops claim create \"len counts live entries\" --scope src/b.rs",
        "hm --json --agent analyst claim challenge C5 --reason \"purging happens lazily\"",
        "hm --json --agent analyst claim abstain C5",
        "hm --json --agent devops claim create \"timeouts are monotonic\" --scope src/c.rs",
    ] {
        assert_eq!(shell.json(line)["state"], "committed", "{line}");
    }
    let found = |question: &str| {
        let page = shell.json(&format!("hm --json claim search {question}"));
        let hits = page["hits"].as_array().expect("hits");
        hits.iter().map(|hit| hit["name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(found("bug"), "C2", "the claim that mends it");
    assert_eq!(found("bugs --mode audit"), "C2 C1");
    assert_eq!(found("bug --scope src/b.rs"), "");
    assert_eq!(found("rejected"), "C4");
    assert_eq!(found("rejected --mode strict"), "");
    assert_eq!(found("review"), "C5");
    assert_eq!(found("purging"), "C5", "the reason of a position that was withdrawn");
    assert_eq!(found("scans"), "C3", "why the decision rejected an option");
    assert_eq!(found("logarithmic expiry"), "C3", "the rationale of a decision");
    assert_eq!(found("concurrency audit"), "C2", "the task it came out of");
    assert_eq!(found("lock bug"), "C2");
    assert_eq!(found("resize"), "");
    let listed =
        |which: &str| String::from_utf8(shell.run(&format!("hm claim list {which}")).stdout).expect("text");
    let (all, ended) = (listed("--all"), listed("--status deprecated"));
    assert!(all.contains("(negative, mended, ") && !all.contains("(hypothesis, rejected, "), "{all}");
    assert!(ended.contains("(hypothesis, rejected, "), "its state at a glance: {ended}");
    for verb in ["show", "why"] {
        let page = String::from_utf8(shell.run(&format!("hm claim {verb} C5")).stdout).expect("text");
        assert!(page.contains("purging happens lazily"), "{verb}: {page}");
    }
}

/// Red before: `hivemind://agents` did not say who is there, and an address named a verb of the shell.
#[tokio::test]
async fn who_is_in_a_session_counts_as_a_peer_everywhere() {
    let bench = Bench::new();
    let pane = bench.pane(Some("devops"), Era::Modern).await;
    bench.claim(&pane, "the pool holds 20", "src").await;
    for (agent, session) in [("analyst", "s-1"), ("analyst", "s-2"), ("reviewer", "s-3"), ("devops", "s-4")] {
        let start = json!({ "hook_event_name": "SessionStart", "source": "startup", "session_id": session, "cwd": bench.root() });
        let said = hook(&bench, agent, &start);
        assert!(said.contains(agent), "{said}");
    }
    let live = async || -> Vec<String> {
        let text = pane.read("hivemind://agents?format=json").await.expect("an answer");
        let page: Value = serde_json::from_str(&text).expect("JSON");
        let agents = page["agents"].as_array().expect("agents").iter();
        agents.filter(|agent| agent["live"] == true).map(|agent| agent["agent"].to_string()).collect()
    };
    let mut here = live().await;
    here.sort();
    assert_eq!(here, ["\"analyst\"", "\"devops\"", "\"reviewer\""]);
    let status = String::from_utf8(bench.hm(&["--agent", "devops", "status"]).stdout).expect("text");
    assert!(status.contains("you are devops \u{b7} 2 peers"), "{status}");
    let end = json!({ "hook_event_name": "SessionEnd", "reason": "exit", "session_id": "s-3", "cwd": bench.root() });
    hook(&bench, "reviewer", &end);
    wait_until("the session ends", || {
        let status = bench.hm(&["--agent", "devops", "status"]).stdout;
        String::from_utf8(status).expect("text").contains("you are devops \u{b7} 1 peer")
    });
    assert_eq!(live().await.len(), 2);

    let anchors = pane.read("hivemind://anchors").await.expect("a page");
    assert!(anchors.contains("`save_anchor {") && !anchors.contains("hm anchor"), "{anchors}");
    let typed = String::from_utf8(bench.hm(&["anchor", "list"]).stdout).expect("text");
    assert!(typed.contains("`hm anchor save KEY VALUE`"), "{typed}");
}

fn hook(bench: &Bench, agent: &str, payload: &Value) -> String {
    let mut process = std::process::Command::new(HM);
    process.args(["hook", "claude"]).current_dir(bench.root()).env("HM_AGENT", agent);
    process.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = process.spawn().expect("hm");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(payload.to_string().as_bytes()).expect("a payload");
    drop(stdin);
    String::from_utf8(child.wait_with_output().expect("its end").stdout).expect("text")
}
