//! `hm backfill`: history becomes claims once, in the names of those who said it, whatever comes between.

use std::collections::BTreeSet;
use std::process::Stdio;

use hivemind::domain::claim::ReportKind;
use hivemind::domain::command::{Command, Observe, RecordTurn, ReportEvent, Seen};
use hivemind::domain::event::ToolUsed;
use hivemind::domain::ids::EventId;
use hivemind::domain::scope::Scope;
use hivemind::domain::session::Role;
use hivemind::ledger::Stored;
use hivemind::system;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::harness::{block_on, committed, fact, request, wait_until, with_key};
use crate::terminal::AS_OPERATOR;

/// Puts a history on record.
fn write(bench: &Bench, history: impl IntoIterator<Item = (&'static str, Command)>) {
    let front = hivemind::writer::Front::new(bench.workspace().clone(), bench.binary().to_owned());
    block_on(async {
        for (agent, command) in history {
            committed(&front, &request(agent, command)).await.expect("an accepted command");
        }
    });
}

fn report(kind: ReportKind, summary: &str, paths: &[&str]) -> Command {
    Command::ReportEvent(ReportEvent {
        event_id: EventId::from_uuid(system::new_id()),
        kind,
        summary: summary.parse().expect("a summary"),
        paths: paths.iter().map(|path| Scope::parse(path, "").expect("a path")).collect(),
        command: (kind == ReportKind::CommandRan).then(|| "cargo test".parse().expect("a command")),
        exit_code: None,
        error_signature: None,
    })
}

fn backfill(bench: &Bench, arguments: &[&str]) -> Value {
    let arguments = [&["backfill", "--agent", "operator", "--json"], arguments].concat();
    let output = bench.hm(&arguments);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn payload(event: &Stored) -> Value {
    let (payload, _) = event.payload.as_ref().expect("a payload");
    serde_json::from_str(payload).expect("JSON")
}

/// What the claims and tasks say, whose they are, what they cite; in any order.
fn made(bench: &Bench) -> BTreeSet<String> {
    let events = bench.events();
    let cited = |claim: &str| {
        let evidence = events.iter().filter(|event| event.kind == "evidence.added").map(payload);
        evidence
            .filter(|added| added["claim_id"] == claim)
            .map(|added| added["evidence_ref"].to_string())
            .collect()
    };
    let made = events.iter().filter_map(|event| {
        let body = payload(event);
        match event.kind.as_str() {
            "claim.created" => {
                let evidence: Vec<String> = cited(body["claim_id"].as_str().expect("an id"));
                let what = [&body["claim_type"], &body["statement"], &body["scopes"]];
                Some(format!("{} {what:?} cites {evidence:?}", event.agent))
            }
            "task.added" => Some(format!("{} task {}", event.agent, body["title"])),
            _ => None,
        }
    });
    made.collect()
}

fn history() -> Vec<(&'static str, Command)> {
    let seen = Seen::Tool(ToolUsed {
        tool: "Bash".parse().expect("a tool"),
        failed: false,
        input_sha256: None,
        answer_sha256: None,
        target: None,
        subagent: None,
    });
    let turn = RecordTurn {
        role: Role::User,
        text: "FINDING: said in passing".parse().expect("a text"),
        told: None,
    };
    vec![
        ("devops", report(ReportKind::Finding, "the pool leaks", &["src/db", "src/pool"])),
        ("analyst", report(ReportKind::Decision, "we use WAL", &[])),
        ("frontend", report(ReportKind::Blocker, "vendoring breaks the build", &["vendor"])),
        ("devops", report(ReportKind::Note, "FINDING: a note is a note", &[])),
        ("devops", report(ReportKind::CommandRan, "ran the tests", &[])),
        ("devops", report(ReportKind::FileEdited, "edited", &["src/db"])),
        ("devops", Command::Observe(Observe { event_id: EventId::from_uuid(system::new_id()), seen })),
        ("devops", Command::RecordTurn(turn)),
    ]
}

#[test]
fn history_becomes_claims_once_and_telemetry_does_not() {
    let bench = Bench::new();
    write(&bench, history());
    let before = bench.events().len();
    let dry = backfill(&bench, &["--dry-run"]);
    assert_eq!((&dry["claims"]["inserted"], &dry["skipped"]), (&json!(3), &json!(5)), "{dry}");
    assert_eq!(bench.events().len(), before, "a dry run writes nothing");

    let first = backfill(&bench, &[]);
    assert_eq!(first["claims"], json!({ "inserted": 3, "already_there": 0, "queued": 0 }));
    let claims = bench.events();
    let claims: Vec<&Stored> = claims.iter().filter(|event| event.kind == "claim.created").collect();
    let shown: Vec<String> = claims
        .iter()
        .map(|claim| {
            let body = payload(claim);
            format!("{} {} {} {}", claim.agent, body["claim_type"], body["statement"], body["scopes"])
        })
        .collect();
    assert_eq!(
        shown,
        [
            r#"devops "fact" "the pool leaks" ["src/db","src/pool"]"#,
            r#"analyst "decision" "we use WAL" ["tag:decision"]"#,
            r#"frontend "negative" "vendoring breaks the build" ["vendor"]"#,
        ]
    );
    let keys: Vec<String> = claims.iter().map(|claim| format!("{:?}", claim.idempotency_key)).collect();
    let reported = bench.events()[0].id;
    assert!(keys[0].contains(&format!("backfill:event.reported:{reported}")), "{}", keys[0]);
    let evidence =
        bench.events().into_iter().find(|event| event.kind == "evidence.added").map(|e| payload(&e));
    assert_eq!(evidence.expect("evidence")["evidence_ref"], json!(reported));

    let after = bench.events().len();
    let second = backfill(&bench, &[]);
    assert_eq!(second["claims"], json!({ "inserted": 0, "already_there": 3, "queued": 0 }));
    let dry = backfill(&bench, &["--dry-run"]);
    assert_eq!((&dry["claims"]["inserted"], &dry["claims"]["already_there"]), (&json!(0), &json!(3)));
    assert_eq!(bench.events().len(), after, "twice is once");

    // What somebody claims already is refused, and no failure.
    write(&bench, [("reviewer", report(ReportKind::Finding, "The pool  leaks", &["src/pool", "src/db"]))]);
    let third = backfill(&bench, &[]);
    assert_eq!(third["claims"]["refused"], json!({ "duplicate_claim": 1 }));
    assert!(third["refusals"][0].as_str().is_some_and(|said| said.contains("duplicate_claim")), "{third}");
    for agent in ["devops", "architect"] {
        let refused = bench.hm(&["backfill", "--agent", agent]);
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    }
    bench.kill_writer();
    bench.assert_sound();
}

#[test]
fn what_an_older_release_made_with_another_scope_is_there_already() {
    let bench = Bench::new();
    write(&bench, [("reviewer", report(ReportKind::Blocker, "no VPN", &[]))]);
    let reported = bench.events().last().expect("a report").id;
    let key = format!("backfill:event.reported:{reported}");
    let old = with_key(request("reviewer", Command::CreateClaim(fact("no VPN"))), &key);
    let front = hivemind::writer::Front::new(bench.workspace().clone(), bench.binary().to_owned());
    block_on(committed(&front, &old)).expect("an accepted claim");
    let run = backfill(&bench, &[]);
    assert_eq!(run["claims"], json!({ "inserted": 0, "already_there": 1, "queued": 0 }), "{run}");
}

fn mail(bench: &Bench, lines: &[String]) -> String {
    let file = bench.root().join("mail.jsonl");
    std::fs::write(&file, lines.join("\r\n")).expect("a file");
    file.display().to_string()
}

#[test]
fn messages_are_put_on_record_once_and_their_tags_become_claims_and_tasks() {
    let bench = Bench::new();
    // No token of anybody's, in the form of one.
    let secret = ["gh", "p_", "Zk3vQ9xT7mB2wL5nR8cF1hJ4dS6gA0pY3uEo"].concat();
    let tagged = "hello\r\nDECISION: we use WAL\r\nFINDING: the pool leaks\r\n> FINDING: quoted\r\nTASK: mend the pool\r\nBLOCKER: no musl build";
    let lines = [
        json!({ "from": "Ana", "to": "devops", "text": tagged, "at": "2026-11-20T22:10:00Z" }).to_string(),
        json!({ "from": "devops", "text": "thanks" }).to_string(),
        String::new(),
        json!({ "from": "devops", "text": format!("FINDING: the token is {secret}") }).to_string(),
        json!({ "from": "grok", "text": "FINDING: I am new here" }).to_string(),
        json!({ "from": "devops", "text": "TASK: early", "at": "yesterday" }).to_string(),
        "not json".to_owned(),
        json!({ "from": "devops", "text": format!("TASK: {}", "x".repeat(300)), "at": 1_795_212_600_000_i64 }).to_string(),
    ];
    let file = mail(&bench, &lines);
    let dry = backfill(&bench, &["--dry-run", "--messages", &file]);
    let first = backfill(&bench, &["--messages", &file]);
    for what in ["messages", "claims", "tasks"] {
        assert_eq!(dry[what], first[what], "a dry run says what a run makes: {dry}");
    }
    let refused = json!({ "invalid_argument": 2, "privacy_deny_sensitive": 1, "unknown_agent": 1 });
    assert_eq!(
        (&first["messages"]["inserted"], &first["messages"]["refused"]),
        (&json!(3), &refused),
        "{first}"
    );
    assert_eq!(
        (&first["claims"]["inserted"], &first["tasks"]["inserted"]),
        (&json!(3), &json!(1)),
        "{first}"
    );
    assert_eq!(first["tasks"]["refused"], json!({ "invalid_argument": 1 }), "a title is short");
    assert!(!first.to_string().contains(&secret), "{first}");

    let events = bench.events();
    let sent: Vec<&Stored> = events.iter().filter(|event| event.kind == "message.sent").collect();
    let message = payload(sent[0]);
    assert_eq!((sent[0].agent.as_str(), &message["to"]), ("analyst", &json!("devops")));
    assert_eq!(message["sent_at"], json!(1_795_212_600_000_i64));
    let cites = format!("cites {:?}", [json!(sent[0].id).to_string()]);
    let said: Vec<String> = made(&bench).into_iter().collect();
    assert_eq!(said.len(), 4);
    assert!(
        said[0..3].iter().all(|claim| claim.starts_with("analyst") && claim.ends_with(&cites)),
        "{said:?}"
    );
    assert_eq!(said[3], "analyst task \"mend the pool\"");
    for (claim_type, statement) in
        [("decision", "we use WAL"), ("fact", "the pool leaks"), ("negative", "no musl build")]
    {
        assert!(said.iter().any(|claim| claim.contains(claim_type) && claim.contains(statement)), "{said:?}");
    }

    let second = backfill(&bench, &["--messages", &file]);
    assert_eq!(
        (&second["messages"]["inserted"], &second["messages"]["already_there"]),
        (&json!(0), &json!(3))
    );
    assert_eq!((&second["claims"]["inserted"], &second["claims"]["already_there"]), (&json!(0), &json!(3)));
    assert_eq!((&second["tasks"]["inserted"], &second["tasks"]["already_there"]), (&json!(0), &json!(1)));
    assert_eq!(made(&bench).into_iter().collect::<Vec<_>>(), said, "twice is once");
    let ledger = std::fs::read(bench.workspace().ledger()).expect("the ledger");
    assert!(!ledger.windows(secret.len()).any(|bytes| bytes == secret.as_bytes()));
    // What names no path is about what it is, not about the whole repository: it warns nobody at every turn.
    let shown = bench.hm(&["--json", "claim", "list", "--type", "negative"]);
    let shown: Value = serde_json::from_slice(&shown.stdout).expect("JSON");
    assert_eq!(shown["claims"][0]["scopes"], json!(["tag:blocker"]), "{shown}");
    let explained = bench.hm(&["--agent", "frontend", "context", "--explain"]);
    let explained = String::from_utf8_lossy(&explained.stdout).into_owned();
    let (_, dead_ends) = explained.split_once("## Dead ends").expect("the dead ends");
    let told: Vec<&str> = dead_ends.lines().filter(|line| line.starts_with("- ")).collect();
    assert!(
        !told.is_empty() && told.iter().all(|line| line.contains("only fills spare room")),
        "{explained}"
    );
    let missing = bench.hm(&["backfill", "--agent", "operator", "--messages", "no-such-file"]);
    assert_eq!(missing.status.code(), Some(2), "{missing:?}");
    bench.kill_writer();
    bench.assert_sound();
}

#[test]
fn a_backfill_killed_in_the_middle_and_run_again_makes_what_one_run_makes() {
    let bench = Bench::new();
    let topics = ["pool", "cache", "queue", "index"];
    let lines: Vec<String> = (0..120)
        .map(|at| {
            let text =
                format!("FINDING: {} {at} holds {} entries\nTASK: look at part {at}", topics[at % 4], at * 7);
            json!({ "from": "devops", "text": text }).to_string()
        })
        .collect();
    let file = mail(&bench, &lines);
    let count = |kind: &str| bench.events().iter().filter(|event| event.kind == kind).count();
    write(&bench, history());
    for (kind, stop) in [("message.sent", 30), ("claim.created", 40)] {
        let mut command = std::process::Command::new(bench.binary());
        command.args(["backfill", "--messages", &file]).args(AS_OPERATOR).current_dir(bench.root());
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a backfill to start");
        wait_until("it is in the middle", || count(kind) >= stop);
        child.kill().expect("a child to kill");
        child.wait().expect("its end");
        // The writer goes with it, and whatever it was about.
        bench.kill_writer();
    }
    assert!(count("claim.created") < 123, "it was killed in the middle");
    let last = backfill(&bench, &["--messages", &file]);
    assert_eq!(last["claims"]["refused"], Value::Null, "{last}");
    let interrupted = made(&bench);
    assert_eq!((count("message.sent"), count("claim.created"), count("task.added")), (120, 123, 120));
    assert_eq!(interrupted.len(), 243, "none twice");
    let again = backfill(&bench, &["--messages", &file]);
    assert_eq!(
        (&again["claims"]["inserted"], &again["tasks"]["inserted"]),
        (&json!(0), &json!(0)),
        "{again}"
    );

    // The same in one go, elsewhere.
    let other = Bench::new();
    write(&other, history());
    let file = mail(&other, &lines);
    backfill(&other, &["--messages", &file]);
    let without_ids = |made: BTreeSet<String>| -> BTreeSet<String> {
        made.into_iter().map(|line| line.split(" cites ").next().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(without_ids(interrupted), without_ids(made(&other)));
    bench.kill_writer();
    bench.assert_sound();
}
