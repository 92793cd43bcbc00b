//! `[policy]`: what may be written, by every way in; whose word decides; what is shown how long.

use std::path::PathBuf;

use expect_test::expect;
use hivemind::config::{Config, TEMPLATE};
use hivemind::domain::claim::{ClaimType, Position, ReportKind, Status};
use hivemind::domain::command::{
    AcceptGuard, AliasTarget, Command, CreateClaim, DeprecateClaim, RecordDecision, RecordTurn, ReportEvent,
    SaveAnchor, StartSession, Submission,
};
use hivemind::domain::event::Event;
use hivemind::domain::ids::{ClaimId, EventId, SessionId};
use hivemind::domain::memory::{MemoryEvent, MemoryKind};
use hivemind::domain::policy::{Length, MemoryPolicy, Retention, Term, TrustMode, WritePolicy};
use hivemind::domain::rejection::Code;
use hivemind::domain::scope::Scope;
use hivemind::domain::session::{Role, Source};
use hivemind::mcp::Era;
use hivemind::spool::Spool;
use hivemind::system;
use hivemind::workspace::Workspace;
use hivemind::writer::{self, Committer};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::bench::Bench;
use crate::harness::{
    HM, TempWorkspace, block_on, body, claim_of, creation, dump, fact, folded, position, request,
};
use crate::hook::{claude, spool_is_empty};
use crate::secrets::{Random, secret};
use crate::shell::Shell;

/// The three ways to say that nothing may be written, with the code of the refusals.
fn closed() -> [(MemoryPolicy, &'static str, &'static str); 3] {
    let open = MemoryPolicy::default;
    let all = MemoryEvent::ALL.iter().copied().collect();
    [
        (
            MemoryPolicy { write_policy: WritePolicy::Nothing, ..open() },
            "[policy]\nwrite_policy = \"none\"\n",
            "write_policy_none",
        ),
        (
            MemoryPolicy { allow_event_types: [].into(), ..open() },
            "[policy]\nallow_event_types = []\n",
            "event_type_denied",
        ),
        (
            MemoryPolicy { deny_event_types: all, allow_event_types: [].into(), ..open() },
            "[policy]\ndeny_event_types = [\"preference\", \"decision\", \"fact\", \"correction\", \"execution\", \
             \"context\"]\n",
            "event_type_denied",
        ),
    ]
}

fn govern(workspace: &Workspace, section: &str) {
    std::fs::write(workspace.config(), section).expect("a config file");
}

/// Commands that erase, stop or record a refusal.
const FREE: [&str; 5] = ["forget_many", "deny_record", "forget", "accept_loss", "cancel_experiment"];

fn commands() -> Vec<Value> {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/commands.jsonl");
    let lines = std::fs::read_to_string(file).expect("a committed fixture");
    lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn texts<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(values) => values.iter().for_each(|value| texts(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| texts(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn refused(committer: &mut Committer, said: &Submission) -> Option<Code> {
    let mut outcomes = committer.commit(std::slice::from_ref(said)).expect("a group");
    outcomes.remove(0).err().map(|rejection| rejection.code)
}

#[test]
fn a_closed_policy_refuses_every_command_of_everyone_and_keeps_no_word_of_it() {
    for (policy, _, code) in closed() {
        let workspace = TempWorkspace::new();
        let hash = policy.hash();
        let mut committer = workspace.committer(1).governed(policy);
        let mut asked = 0;
        for line in commands() {
            let name = line["name"].as_str().expect("a name");
            if FREE.contains(&name) {
                continue;
            }
            let command: Command = serde_json::from_value(line.clone()).expect("a command");
            for by in ["devops", "architect", "operator"] {
                let found = refused(&mut committer, &request(by, command.clone()));
                assert_eq!(found.map(Code::as_str), Some(code), "{name} of {by}");
                asked += 1;
            }
            let events = workspace.events();
            assert_eq!(events.len(), asked, "{name}: each refusal is one event");
            let denied = events.last().expect("an event");
            let (payload, _) = denied.payload.as_ref().expect("a payload");
            let told: Value = serde_json::from_str(payload).expect("JSON");
            assert_eq!((denied.kind.as_str(), &told["reason"]), ("memory.denied", &json!(code)));
            assert_eq!((&told["policy"], denied.agent.as_str()), (&json!(hash), "operator"));
            let mut words = Vec::new();
            texts(&line["args"], &mut words);
            for text in words.into_iter().filter(|text| text.contains(' ')) {
                assert!(!payload.contains(text), "{name}: {payload} holds {text}");
            }
        }
        assert!(asked > 100, "the fixture has every command");
        workspace.assert_sound();
    }
}

/// The kinds of events that a memory may have in which nothing may be written.
fn assert_only_refusals(workspace: &Workspace) {
    let reader = hivemind::ledger::Reader::open(&workspace.ledger()).expect("a ledger").expect("a file");
    let events = reader.read_from(hivemind::ledger::Cursor::GENESIS, 10_000).expect("events");
    assert!(events.iter().any(|event| event.kind == "memory.denied"), "each refusal is on record");
    for event in &events {
        let kinds = ["memory.denied", "command.rejected", "spool.flushed", "policy.changed"];
        assert!(kinds.contains(&event.kind.as_str()), "{}: {:?}", event.kind, event.payload);
    }
    let models = dump(&workspace.team_memory());
    assert!(!models.contains("forbidden"), "{models}");
}

#[test]
fn a_closed_policy_closes_the_command_line_and_the_hooks() {
    for (_, section, code) in closed() {
        // The writer runs already, and follows the file.
        let shell = Shell::new();
        govern(&shell.workspace(), section);
        let lines = [
            "hm --json --agent devops claim create \"the pool leaks: forbidden\" --scope src/db",
            "hm --json --agent architect decision record \"we use WAL: forbidden\" --target database --rationale \"it is forbidden to block\"",
            "hm --json --agent devops task add \"mend it: forbidden\"",
            "hm --json --agent devops anchor save key \"a value: forbidden\"",
            "hm --json --agent operator claim create \"the pool leaks: forbidden\" --scope src/db",
        ];
        for line in lines {
            let told = shell.json(line);
            assert_eq!(told["code"], code, "{line}: {told}");
            assert!(told["hint"].as_str().is_some_and(|hint| hint.contains("hm policy show")), "{told}");
        }
        // A hook stays silent: it never fails, and its answer is no verdict on the tool.
        let session = claude(&shell, "s-1", "devops");
        session.start();
        session.prompt("a prompt that is forbidden");
        session.told(
            "PostToolUse",
            json!({ "tool_name": "Bash", "tool_input": { "command": "cargo test forbidden" },
                "tool_response": { "stdout": "forbidden", "stderr": "", "interrupted": false } }),
        );
        session.told("SessionEnd", json!({ "reason": "exit" }));
        spool_is_empty(&shell);
        assert_only_refusals(&shell.workspace());
    }
}

#[test]
fn a_closed_policy_closes_mcp_and_the_backfill() {
    for (_, section, code) in closed() {
        let bench = Bench::new();
        govern(bench.workspace(), section);
        block_on(async {
            let pane = bench.pane(Some("devops"), Era::Modern).await;
            let calls = [
                (
                    "create_claim",
                    json!({ "statement": "it leaks: forbidden", "claim_type": "fact", "scopes": ["src"] }),
                ),
                (
                    "record_decision",
                    json!({ "statement": "use WAL: forbidden", "target": "db", "rationale": "forbidden to wait for locks" }),
                ),
                ("report_event", json!({ "kind": "finding", "summary": "it leaks: forbidden" })),
            ];
            for (tool, arguments) in calls {
                let answer = pane.call(tool, arguments).await.expect("an answer");
                assert!(answer.refused, "{tool}: {answer:?}");
                assert_eq!(answer.field("code"), code, "{tool}");
            }
        });
        let mail = bench.root().join("mail.jsonl");
        std::fs::write(&mail, "").expect("a file");
        bench.hm(&["backfill", "--agent", "operator", "--json"]);
        bench.kill_writer();
        assert_only_refusals(bench.workspace());
    }
}

#[test]
fn a_backfill_of_older_events_makes_no_claim_under_a_closed_policy() {
    let bench = Bench::new();
    let finding = ReportEvent {
        event_id: EventId::from_uuid(system::new_id()),
        kind: ReportKind::Finding,
        summary: "the pool leaks".parse().expect("a summary"),
        paths: vec!["src/db".to_owned().try_into().expect("a path")],
        command: None,
        exit_code: None,
        error_signature: None,
    };
    let reported = request("devops", Command::ReportEvent(finding));
    let front = hivemind::writer::Front::new(bench.workspace().clone(), bench.binary().to_owned());
    block_on(async { crate::harness::committed(&front, &reported).await.expect("a report") });
    drop(front);
    let (_, section, _) = &closed()[0];
    govern(bench.workspace(), section);
    let output = bench.hm(&["backfill", "--agent", "operator", "--json"]);
    let kinds: Vec<String> = bench.events().into_iter().map(|event| event.kind).collect();
    assert!(!kinds.contains(&"claim.created".to_owned()), "{kinds:?} {output:?}");
    assert!(kinds.contains(&"memory.denied".to_owned()), "{kinds:?} {output:?}");
    // With an open policy the same run makes the claim.
    govern(bench.workspace(), "[policy]\n");
    let output = bench.hm(&["backfill", "--agent", "operator", "--json"]);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    assert_eq!(told["claims"]["inserted"], 1, "{output:?}");
}

#[test]
fn a_closed_policy_closes_the_spool() {
    for (policy, _, code) in closed() {
        let workspace = TempWorkspace::new();
        let front = workspace.front_without_writer();
        let turn = RecordTurn { role: Role::User, text: "a prompt".parse().expect("a text"), told: None };
        block_on(async {
            for said in
                [creation("devops", "it leaks: forbidden"), request("devops", Command::RecordTurn(turn))]
            {
                front.submit(said).await.expect("a queued command");
            }
        });
        let mut committer = workspace.committer(1).governed(policy);
        let done = writer::replay(&mut committer, &Spool::of(&workspace)).expect("a replay");
        assert_eq!((done.committed, done.rejected), (0, 2));
        let events = workspace.events();
        let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
        assert_eq!(kinds, ["memory.denied", "memory.denied", "command.rejected", "spool.flushed"]);
        // The author of a claim finds it again. No author asks for what a hook recorded.
        let files = std::fs::read_dir(workspace.memory()).expect("a directory").flatten();
        let kept: String = files.filter_map(|file| std::fs::read_to_string(file.path()).ok()).collect();
        assert!(kept.contains("it leaks: forbidden") && !kept.contains("a prompt"), "{kept}");
        let Event::CommandRejected(rejected) = body(&events[2]) else { panic!("a refusal") };
        assert_eq!(rejected.code.as_str(), code);
        assert_only_refusals(&workspace);
    }
}

#[test]
fn a_closed_policy_closes_the_import() {
    let there = Shell::new();
    there.json("hm --json --agent devops claim create \"the pool leaks\" --scope src/db");
    let exported = String::from_utf8(there.run("hm export").stdout).expect("UTF-8");
    let import = |section: &str| -> (Value, bool) {
        let here = Shell::new();
        govern(&here.workspace(), section);
        std::fs::write(here.workspace().root().join("in.jsonl"), &exported).expect("a file");
        let told = here.json("hm --json import in.jsonl");
        (told, here.json("hm --json claim list")["claims"] == json!([]))
    };
    for (_, section, code) in closed() {
        let (told, is_empty) = import(section);
        assert_eq!((&told["code"], is_empty), (&json!(code), true), "{told}");
    }
    let (told, is_empty) = import("[policy]\ndeny_event_types = [\"fact\"]\n");
    assert_eq!((&told["code"], is_empty), (&json!("event_type_denied"), true), "{told}");
    assert!(
        told["message"].as_str().is_some_and(|told| told.contains("line ") && told.contains("fact")),
        "{told}"
    );
    let (told, is_empty) = import("[policy]\ndeny_event_types = [\"decision\"]\n");
    assert_eq!((told["added"].as_u64().is_some(), is_empty), (true, false), "{told}");
    // A file may hold decisions, so under `human_only` an agent imports none.
    let (told, is_empty) = import("[policy]\ntrust = \"human_only\"\n");
    assert_eq!((&told["code"], is_empty), (&json!("not_allowed"), true), "{told}");
}

/// Red before: an import took facts into the space of a user, and promotions, that no command may make here.
#[test]
fn the_borders_of_spaces_hold_for_imports() {
    let there = Shell::new();
    let of_ann = |shell: &Shell, line: &str| {
        let mut command = shell.command(line);
        let output = command.env("HM_USER", "ann").env("HM_SESSION", "s-ann").output().expect("hm runs");
        assert!(output.status.success(), "{line}: {output:?}");
        output.stdout
    };
    for line in [
        "hm --agent devops anchor save THEME dark --space user",
        "hm --agent devops session turn user \"I edit with helix\"",
        "hm --agent devops memory promote session:s-ann:short_term:1 --to user --key EDITOR --reason \"for good\"",
    ] {
        of_ann(&there, line);
    }
    let exported = of_ann(&there, "hm export");
    let import = |section: &str| -> Value {
        let here = Shell::new();
        govern(&here.workspace(), section);
        std::fs::write(here.workspace().root().join("in.jsonl"), &exported).expect("a file");
        here.json("hm --json import in.jsonl")
    };
    for (section, code) in [
        ("[policy.spaces]\nuser_keys = [\"EDITOR\"]\n", "user_key_denied"),
        ("[policy.promotion]\nsession_to_user = \"never\"\n", "border_closed"),
        ("[policy.promotion]\nsession_to_user = \"tool_verified\"\n", "authority_too_low"),
    ] {
        let told = import(section);
        assert_eq!(told["code"], code, "{section}: {told}");
        assert!(told["message"].as_str().is_some_and(|told| told.contains("line ")), "{told}");
    }
    assert!(import("")["added"].as_u64().is_some_and(|added| added > 3));
}

/// A hook asks the policy at each call: the file is read and the question answered in no time that anybody notices.
#[test]
fn the_policy_costs_a_hook_next_to_nothing() {
    let workspace = TempWorkspace::new();
    govern(&workspace, &spelled_out());
    let began = system::instant();
    for _ in 0..100 {
        let config = Config::load(&workspace.config()).expect("a configuration");
        assert_eq!(config.memory.closed(), None);
    }
    let each = began.elapsed() / 100;
    println!("{each:?} for reading the policy and asking it");
    assert!(each < std::time::Duration::from_millis(20), "{each:?}, and a hook has 900 ms");
}

/// A command of each event type and author that the policy tells apart.
fn samples() -> Vec<(&'static str, Submission)> {
    let claim = |by, claim_type, what: &str| {
        let name = what.to_owned();
        request(by, Command::CreateClaim(CreateClaim { claim_type, ..fact(&name) }))
    };
    let decide = |by, what| request(by, Command::RecordDecision(decision(what)));
    let turn = |role, text: &str| {
        request(
            "devops",
            Command::RecordTurn(RecordTurn { role, text: text.parse().expect("a text"), told: None }),
        )
    };
    let report = |kind, summary: &str| {
        let report = ReportEvent {
            event_id: EventId::from_uuid(system::new_id()),
            kind,
            summary: summary.parse().expect("a summary"),
            paths: Vec::new(),
            command: (kind == ReportKind::CommandRan).then(|| "cargo test".parse().expect("a command")),
            exit_code: None,
            error_signature: None,
        };
        request("devops", Command::ReportEvent(report))
    };
    let anchor = SaveAnchor {
        key: "port".parse().expect("a key"),
        value: "8080".parse().expect("a value"),
        user: None,
    };
    vec![
        ("fact of an agent", claim("devops", ClaimType::Fact, "the pool leaks")),
        ("dead end of an agent", claim("devops", ClaimType::Negative, "vendoring breaks it")),
        ("hypothesis of an agent", claim("devops", ClaimType::Hypothesis, "it may be the lock")),
        ("hypothesis of the operator", claim("operator", ClaimType::Hypothesis, "it may be the disk")),
        ("decision of an agent", decide("architect", "we use WAL")),
        ("decision of the operator", decide("operator", "backups run at night")),
        ("command", report(ReportKind::CommandRan, "ran the tests")),
        ("finding", report(ReportKind::Finding, "the tests hang")),
        ("note", report(ReportKind::Note, "looked around")),
        ("prompt", turn(Role::User, "mend it")),
        ("answer", turn(Role::Assistant, "done")),
        ("anchor", request("devops", Command::SaveAnchor(anchor))),
        ("session", request("devops", start())),
    ]
}

fn start() -> Command {
    Command::StartSession(StartSession { source: Source::Startup, client: None, parent_session: None })
}

fn decision(statement: &str) -> RecordDecision {
    RecordDecision {
        claim_id: ClaimId::from_uuid(system::new_id()),
        statement: Some(statement.parse().expect("a statement")),
        rationale: "readers must not block the writer".parse().expect("a rationale"),
        context: None,
        target: None,
        scopes: vec!["src/db".to_owned().try_into().expect("a scope")],
        alternatives: Vec::new(),
        supersedes: Vec::new(),
        mends: false,
        evidence_refs: Vec::new(),
        decided_at: None,
        asks: Vec::new(),
        unless_objection_minutes: None,
    }
}

#[test]
fn the_write_policies_differ_by_importance() {
    let mut table = String::new();
    for policy in WritePolicy::ALL {
        let workspace = TempWorkspace::new();
        let memory = MemoryPolicy { write_policy: *policy, ..MemoryPolicy::default() };
        let mut committer = workspace.committer(1).governed(memory);
        for (what, said) in samples() {
            if let Some(code) = refused(&mut committer, &said) {
                table += &format!("{policy}: no {what}, {}\n", code.as_str());
            }
        }
    }
    expect![[r#"
        none: no fact of an agent, write_policy_none
        none: no dead end of an agent, write_policy_none
        none: no hypothesis of an agent, write_policy_none
        none: no hypothesis of the operator, write_policy_none
        none: no decision of an agent, write_policy_none
        none: no decision of the operator, write_policy_none
        none: no command, write_policy_none
        none: no finding, write_policy_none
        none: no note, write_policy_none
        none: no prompt, write_policy_none
        none: no answer, write_policy_none
        none: no anchor, write_policy_none
        none: no session, write_policy_none
        minimal: no hypothesis of an agent, write_policy_minimal
        minimal: no hypothesis of the operator, write_policy_minimal
        minimal: no decision of an agent, write_policy_minimal
        minimal: no command, write_policy_minimal
        minimal: no note, write_policy_minimal
        minimal: no prompt, write_policy_minimal
        minimal: no answer, write_policy_minimal
        normal: no hypothesis of an agent, write_policy_normal
        normal: no note, write_policy_normal
        normal: no answer, write_policy_normal
    "#]]
    .assert_eq(&table);
}

#[test]
fn an_event_type_is_denied_alone() {
    let mut table = String::new();
    for event in MemoryEvent::ALL {
        let denied = MemoryPolicy { deny_event_types: [*event].into(), ..MemoryPolicy::default() };
        let workspace = TempWorkspace::new();
        let mut committer = workspace.committer(1).governed(denied);
        for (what, said) in samples() {
            if let Some(code) = refused(&mut committer, &said) {
                table += &format!("{event}: no {what}, {}\n", code.as_str());
            }
        }
    }
    expect![[r#"
        decision: no decision of an agent, event_type_denied
        decision: no decision of the operator, event_type_denied
        fact: no fact of an agent, event_type_denied
        fact: no dead end of an agent, event_type_denied
        fact: no finding, event_type_denied
        fact: no anchor, event_type_denied
        execution: no command, event_type_denied
        context: no hypothesis of an agent, event_type_denied
        context: no hypothesis of the operator, event_type_denied
        context: no note, event_type_denied
        context: no prompt, event_type_denied
        context: no answer, event_type_denied
    "#]]
    .assert_eq(&table);
}

#[test]
fn the_gate_asks_in_a_fixed_order_before_the_rules() {
    let key = secret("aws-key", &mut Random(4)).value;
    let strict = MemoryPolicy {
        write_policy: WritePolicy::Minimal,
        deny_event_types: [MemoryEvent::Fact, MemoryEvent::Context].into(),
        trust: TrustMode::HumanOnly,
        ..MemoryPolicy::default()
    };
    let workspace = TempWorkspace::new();
    let known = creation("devops", "the pool leaks");
    assert_eq!(refused(&mut workspace.committer(1), &known), None);
    let mut committer = workspace.committer(2).governed(strict);
    let with_secret = RecordDecision {
        rationale: format!("the key is {key} here").parse().expect("a rationale"),
        ..decision("we use WAL")
    };
    let hypothesis = CreateClaim { claim_type: ClaimType::Hypothesis, ..fact("it may be the lock") };
    let said = [
        request("devops", Command::RecordDecision(with_secret)),
        request("devops", Command::RecordDecision(decision("we use WAL"))),
        request("devops", Command::CreateClaim(hypothesis)),
        // The same statement as a known claim: the rules would call it a duplicate.
        creation("analyst", "the pool leaks"),
    ];
    let codes: Vec<&str> =
        said.iter().filter_map(|said| refused(&mut committer, said)).map(Code::as_str).collect();
    assert_eq!(
        codes,
        ["privacy_deny_sensitive", "trust_human_only", "write_policy_minimal", "event_type_denied"]
    );
    let records: Vec<String> = workspace.events()[1..]
        .iter()
        .map(|event| {
            let Event::MemoryDenied(denied) = body(event) else { panic!("{}", event.kind) };
            let attempted = denied.attempted.map_or_else(String::new, |attempted| {
                let kind = attempted.kind.map_or("", MemoryKind::as_str);
                format!(": {kind} {} {} {}", attempted.event_type, attempted.importance, attempted.text)
            });
            format!(
                "{} {} {}{attempted}\n",
                denied.command.as_str(),
                denied.rule.as_str(),
                denied.field.as_str()
            )
        })
        .collect();
    expect![[r#"
        record_decision aws-key rationale
        record_decision trust_human_only statement: semantic decision 3 [redacted: 10 characters]
        create_claim write_policy_minimal statement: semantic context 1 [redacted: 18 characters]
        create_claim event_type_denied statement: semantic fact 4 [redacted: 14 characters]
    "#]]
    .assert_eq(&records.concat());
    workspace.assert_sound();
}

#[test]
fn a_refused_command_may_be_sent_again_under_its_key() {
    let workspace = TempWorkspace::new();
    let said = crate::harness::with_key(creation("devops", "the pool leaks"), "once");
    let none = MemoryPolicy { write_policy: WritePolicy::Nothing, ..MemoryPolicy::default() };
    let mut committer = workspace.committer(1).governed(none);
    assert_eq!(refused(&mut committer, &said), Some(Code::WritePolicyNone));
    let mut committer = committer.governed(MemoryPolicy::default());
    assert_eq!(refused(&mut committer, &said), None);
    let claims = workspace.events().iter().filter(|event| event.kind == "claim.created").count();
    assert_eq!(claims, 1);
}

#[test]
fn under_human_only_agents_propose_and_the_operator_decides() {
    let human = MemoryPolicy { trust: TrustMode::HumanOnly, ..MemoryPolicy::default() };
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1).governed(human);
    let (own, other) = (creation("devops", "the pool leaks"), creation("analyst", "the disk is slow"));
    assert_eq!([&own, &other].map(|said| refused(&mut committer, said)), [None, None]);
    let deprecate = |by, claim_id| {
        request(
            by,
            Command::DeprecateClaim(DeprecateClaim {
                claim_id,
                reason: "it is gone".parse().expect("a reason"),
            }),
        )
    };
    let silent = CreateClaim { unless_objection_minutes: Some(60), ..fact("nobody minds") };
    let guard = AcceptGuard {
        guard_id: hivemind::domain::ids::GuardId::from_uuid(system::new_id()),
        condition: serde_json::from_value(json!({ "commands": ["git push --force"] })).expect("a condition"),
        action: serde_json::from_value(json!("warn")).expect("an action"),
        text: "ask first".parse().expect("a text"),
        source_claim: None,
        source_pattern: None,
        profile: None,
        until: None,
    };
    let asked = [
        ("support", position("devops", claim_of(&other), Position::Support)),
        ("support by the architect", position("architect", claim_of(&other), Position::Support)),
        ("challenge", position("devops", claim_of(&other), Position::Challenge)),
        ("decision", request("devops", Command::RecordDecision(decision("we use WAL")))),
        ("decision of the architect", request("architect", Command::RecordDecision(decision("we use WAL")))),
        ("end of a claim of another", deprecate("architect", claim_of(&other))),
        ("claim by silence", request("devops", Command::CreateClaim(silent))),
        ("guard", request("architect", Command::AcceptGuard(guard))),
        ("end of an own claim", deprecate("devops", claim_of(&own))),
        ("decision of the operator", request("operator", Command::RecordDecision(decision("we use WAL")))),
        ("support of the operator", position("operator", claim_of(&other), Position::Support)),
    ];
    let mut table = String::new();
    for (what, said) in &asked {
        let code = refused(&mut committer, said).map_or("ok", Code::as_str);
        table += &format!("{what}: {code}\n");
        let state = committer.state();
        let is_confirmed = state.claims().any(|(_, claim)| claim.status == Status::Confirmed);
        assert!(!is_confirmed || *what == "support of the operator", "{what} confirmed a claim");
    }
    expect![[r#"
        support: trust_human_only
        support by the architect: trust_human_only
        challenge: ok
        decision: trust_human_only
        decision of the architect: trust_human_only
        end of a claim of another: trust_human_only
        claim by silence: trust_human_only
        guard: trust_human_only
        end of an own claim: ok
        decision of the operator: ok
        support of the operator: ok
    "#]]
    .assert_eq(&table);
    workspace.assert_sound();
}

#[test]
fn under_human_only_silence_confirms_no_claim_of_an_agent() {
    let workspace = TempWorkspace::new();
    let by_silence = |by, statement: &str| {
        request(
            by,
            Command::CreateClaim(CreateClaim { unless_objection_minutes: Some(5), ..fact(statement) }),
        )
    };
    let agents = by_silence("devops", "the pool leaks");
    let operators = by_silence("operator", "the disk is slow");
    let mut committer = workspace.committer(1);
    // The silence began before the policy changed.
    assert_eq!([&agents, &operators].map(|said| refused(&mut committer, said)), [None, None]);
    for _ in 0..10 {
        assert_eq!(refused(&mut committer, &creation("analyst", &system::new_id().to_string())), None);
    }
    let human = MemoryPolicy { trust: TrustMode::HumanOnly, ..MemoryPolicy::default() };
    let mut committer = committer.governed(human);
    writer::agree(&mut committer).expect("a sweep");
    let status = |committer: &Committer, of: &Submission| {
        committer.state().claim(claim_of(of)).map(|claim| claim.status)
    };
    assert_eq!(status(&committer, &agents), Some(Status::Proposed));
    assert_eq!(status(&committer, &operators), Some(Status::Confirmed));
    let mut committer = committer.governed(MemoryPolicy::default());
    writer::agree(&mut committer).expect("a sweep");
    assert_eq!(status(&committer, &agents), Some(Status::Confirmed));
}

pub(crate) fn session(number: usize) -> Submission {
    let id: SessionId = format!("s-{number}").parse().expect("a session id");
    Submission { session: Some(id), ..request("frontend", start()) }
}

/// A memory with a claim that was made and then supported, and the number of sessions after which it ends.
fn sessions_until_forgotten(term: Term) -> usize {
    let workspace = TempWorkspace::new();
    let policy =
        MemoryPolicy { retention: Retention::of([(MemoryEvent::Fact, term)]), ..MemoryPolicy::default() };
    let mut committer = workspace.committer(1).governed(policy);
    let (made, kept) = (creation("devops", "the pool leaks"), {
        let hypothesis = CreateClaim { claim_type: ClaimType::Hypothesis, ..fact("it may be the lock") };
        request("devops", Command::CreateClaim(hypothesis))
    });
    assert_eq!([&made, &kept].map(|said| refused(&mut committer, said)), [None, None]);
    assert_eq!([101, 102].map(|number| refused(&mut committer, &session(number))), [None, None]);
    let touched = position("analyst", claim_of(&made), Position::Support);
    assert_eq!(refused(&mut committer, &touched), None);
    for number in 0..10 {
        if writer::forget(&mut committer).expect("a sweep") > 0 {
            let state = committer.state();
            assert_eq!(state.claim(claim_of(&made)).map(|claim| claim.status), Some(Status::Deprecated));
            assert_eq!(state.claim(claim_of(&kept)).map(|claim| claim.status), Some(Status::Proposed));
            assert_eq!(writer::forget(&mut committer).expect("a sweep"), 0, "once is enough");
            // Replay equals the live state, and the claim is still there.
            assert_eq!(
                folded(&workspace.events()).claim(claim_of(&made)),
                committer.state().claim(claim_of(&made))
            );
            let events = workspace.events();
            let told = events.iter().find(|event| event.kind == "memory.forgotten").expect("a record");
            let Event::MemoryForgotten(forgotten) = body(told) else { panic!("a record") };
            assert_eq!((forgotten.term, forgotten.claim_id), (term, claim_of(&made)));
            workspace.assert_sound();
            return number;
        }
        assert_eq!(refused(&mut committer, &session(number)), None);
    }
    usize::MAX
}

#[test]
fn a_claim_is_forgotten_after_so_many_sessions() {
    // Two sessions started between the claim and its support.
    let found = [
        Term::Ttl(Length::Sessions(4)),
        Term::Ttl(Length::Sessions(5)),
        Term::Decay(Length::Sessions(4)),
        Term::Decay(Length::Sessions(5)),
        Term::Never,
    ]
    .map(sessions_until_forgotten);
    assert_eq!(found, [2, 3, 5, 6, usize::MAX]);
}

/// Red before: a supported decision stayed proposed when the term of the other one on its target was over.
#[test]
fn a_decision_is_confirmed_once_the_term_of_the_other_one_on_its_target_is_over() {
    let workspace = TempWorkspace::new();
    let retention = Retention::of([(MemoryEvent::Decision, Term::Decay(Length::Sessions(2)))]);
    let mut committer =
        workspace.committer(1).governed(MemoryPolicy { retention, ..MemoryPolicy::default() });
    let on = |statement: &str, target: &str| {
        let target = Some(Scope::target(target).expect("a target"));
        RecordDecision { target, ..decision(statement) }
    };
    let (one, other) = (on("we keep one file", "database"), on("we take a server", "store"));
    let [one_id, other_id] = [one.claim_id, other.claim_id];
    let [target, alias] = ["database", "store"].map(|name| Scope::target(name).expect("a target"));
    for said in [
        request("devops", Command::RecordDecision(one)),
        request("analyst", Command::RecordDecision(other)),
        request("operator", Command::AliasTarget(AliasTarget { target, alias })),
        session(101),
        position("reviewer", other_id, Position::Support),
    ] {
        assert_eq!(refused(&mut committer, &said), None);
    }
    let mut sessions = 102..110;
    while writer::forget(&mut committer).expect("a sweep") == 0 {
        let next = sessions.next().expect("a term of two sessions");
        assert_eq!(refused(&mut committer, &session(next)), None);
    }
    let status = |id| committer.state().claim(id).map(|claim| claim.status);
    assert_eq!([one_id, other_id].map(status), [Some(Status::Deprecated), Some(Status::Confirmed)]);
    assert_eq!(folded(&workspace.events()), *committer.state());
    workspace.assert_sound();
}

/// Red before: the term of the claim's own type counted, whatever its author said that it reports.
#[test]
fn a_claim_is_forgotten_by_the_event_type_that_its_author_gave() {
    let workspace = TempWorkspace::new();
    let term = Term::Ttl(Length::Sessions(1));
    let retention = Retention::of([(MemoryEvent::Preference, term)]);
    let mut committer =
        workspace.committer(1).governed(MemoryPolicy { retention, ..MemoryPolicy::default() });
    let preference = CreateClaim { event_type: Some(MemoryEvent::Preference), ..fact("tabs, not spaces") };
    let given = request("devops", Command::CreateClaim(preference));
    let derived = creation("devops", "the pool leaks");
    assert_eq!([&given, &derived, &session(1)].map(|said| refused(&mut committer, said)), [None; 3]);
    assert_eq!(writer::forget(&mut committer).expect("a sweep"), 1);
    let state = committer.state();
    let status = [&given, &derived].map(|said| state.claim(claim_of(said)).map(|claim| claim.status));
    assert_eq!(status, [Some(Status::Deprecated), Some(Status::Proposed)]);
    let told =
        workspace.events().into_iter().find(|event| event.kind == "memory.forgotten").expect("a record");
    let Event::MemoryForgotten(forgotten) = body(&told) else { panic!("a record") };
    assert_eq!((forgotten.event_type, forgotten.claim_id), (MemoryEvent::Preference, claim_of(&given)));
    workspace.assert_sound();
}

#[test]
fn a_forgotten_claim_is_out_of_packs_and_in_audits() {
    let mut shell = Shell::new();
    shell.json("hm --json --agent devops claim create \"the pool leaks at night\" --scope src/db");
    assert!(shell.json("hm --json claim search pool")["hits"][0].is_object());
    govern(&shell.workspace(), "[policy.retention.semantic]\nfact = \"ttl 1 session\"\n");
    // The sweep runs at the start of the writer, and of a session.
    claude(&shell, "s-1", "analyst").start();
    spool_is_empty(&shell);
    shell.end_writer();
    shell.json("hm --json --agent analyst anchor save port 8080");
    crate::harness::wait_until("the claim is over", || {
        shell.json("hm --json claim list --status deprecated")["claims"][0].is_object()
    });
    let pack = String::from_utf8(shell.run("hm context --agent analyst").stdout).expect("UTF-8");
    assert!(!pack.contains("leaks at night"), "{pack}");
    let log = String::from_utf8(shell.run("hm log --type memory.forgotten").stdout).expect("UTF-8");
    assert!(log.contains("memory.forgotten"), "{log}");
    let shown = shell.transcript("hm claim show C1");
    assert!(shown.contains("leaks at night"), "{shown}");
}

/// Red before: a change of `[policy]` was recorded nowhere, and the hash in a refusal named no text.
#[test]
fn a_change_of_the_policy_is_recorded_once_and_looser_rules_ask_the_operator() {
    let shell = Shell::new();
    let changes = |under: &str, statement: &str| {
        // At once: a running writer reads the file at any moment.
        let (config, new) = (shell.workspace().config(), shell.workspace().root().join("new.toml"));
        std::fs::write(&new, under).expect("a file");
        std::fs::rename(&new, config).expect("a config file");
        let line = format!("hm --json --agent operator claim create \"{statement}\" --scope src");
        assert!(shell.run(&line).status.success(), "{line}");
        let log = shell.json("hm --json log --type policy.changed");
        log["events"].as_array().expect("a list").clone()
    };
    let asked = || {
        let shown = shell.run("hm attention");
        let text = String::from_utf8(shown.stdout).expect("UTF-8");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        text.split_once("the rules are looser: ").map_or_else(String::new, |(_, rest)| rest.to_owned())
    };
    assert!(changes("", "one").is_empty(), "the defaults are what an empty ledger says");
    let tight = "[policy]\nwrite_policy = \"minimal\"\ntrust = \"human_only\"\n";
    let told = changes(tight, "two");
    assert_eq!(told.len(), 1, "{told:?}");
    let memory = &told[0]["payload"]["memory"];
    let rules = json!([
        { "rule": "write_policy", "was": "aggressive", "now": "minimal" },
        { "rule": "trust", "was": "agent_with_intent", "now": "human_only" },
    ]);
    assert_eq!((&memory["changes"], told[0]["agent"].as_str()), (&rules, Some("system")));
    assert_eq!(changes(&format!("{tight}# still\n"), "three").len(), 1, "once for each change");
    assert_eq!(asked(), "", "nothing is looser");

    // A refusal names the policy by the hash of its record.
    assert!(!shell.run("hm --agent devops claim support C1").status.success());
    let denied = shell.json("hm --json log --type memory.denied");
    assert_eq!(denied["events"][0]["payload"]["policy"], memory["hash"]);
    let digest = sha2::Sha256::digest(memory["policy"].as_str().expect("a text"));
    assert_eq!(json!(hex::encode(digest)), memory["hash"]);

    assert_eq!(changes("[policy]\nwrite_policy = \"normal\"\n", "four").len(), 2);
    assert!(asked().contains("trust = agent_with_intent; write_policy = normal; before: trust = human_only"));
    // Who tightens one rule settles that rule.
    assert_eq!(changes("[policy]\nwrite_policy = \"minimal\"\n", "five").len(), 3);
    assert!(asked().starts_with("trust = agent_with_intent; before: trust = human_only"), "{}", asked());
    assert!(!asked().contains("write_policy"), "{}", asked());
    let seen = told_of(&shell);
    assert!(shell.run(&format!("hm --agent operator attention --seen {seen}")).status.success());
    assert_eq!(asked(), "");
}

/// Red before: an empty file loosened the rules to the defaults, in a running writer and in the next one.
#[test]
fn a_file_without_content_changes_no_rule_and_says_so() {
    let mut shell = Shell::new();
    let closed = "[policy]\nwrite_policy = \"none\"\n";
    let asked = |shell: &Shell| {
        shell.json("hm --json --agent devops claim create \"the pool leaks\" --scope src")["code"].clone()
    };
    assert_eq!(asked(&shell), Value::Null);
    govern(&shell.workspace(), closed);
    assert_eq!(asked(&shell), "write_policy_none");
    for text in ["", " \n\n"] {
        govern(&shell.workspace(), text);
        assert_eq!(asked(&shell), "write_policy_none", "{text:?}");
    }
    std::fs::remove_file(shell.workspace().config()).expect("a file");
    assert_eq!(asked(&shell), "write_policy_none", "without the file");
    govern(&shell.workspace(), "");
    shell.end_writer();
    assert_eq!(asked(&shell), "write_policy_none", "a writer that starts over an empty file");
    let shown = shell.transcript("hm policy show").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("write_policy none (on record)"), "{shown}");
    assert!(shown.contains("The file is empty, so the last policy that was read stays in force"), "{shown}");
    assert_eq!(shell.json("hm --json policy show")["on_record"], true);
    let doctor = shell.transcript("hm doctor").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(doctor.contains("config.toml is empty"), "{doctor}");
    govern(&shell.workspace(), "[policy]\n");
    let other = shell.json("hm --json --agent devops claim create \"the disk is slow\" --scope src");
    assert_eq!(other["state"], "committed", "{other}");
    assert!(shell.transcript("hm policy show").contains("aggressive (default)"));
    let log = shell.json("hm --json log --type policy.changed");
    assert_eq!(log["events"].as_array().map(Vec::len), Some(2), "{log}");
}

/// Red before: a writer that read the file between two writes of a program took the defaults of what was missing yet.
#[test]
fn a_file_that_is_being_written_changes_no_rule() {
    let workspace = TempWorkspace::new();
    govern(&workspace, "[policy]\nwrite_policy = \"none\"\n");
    let _writer = workspace.writer(&[]);
    let front = workspace.front();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for round in 0..12 {
                let mut file = std::fs::File::create(workspace.config()).expect("a file");
                let mut write =
                    |text: &str| std::io::Write::write_all(&mut file, text.as_bytes()).expect("a file");
                write("[policy]\n");
                std::thread::sleep(std::time::Duration::from_millis(3));
                write(&format!("write_policy = \"none\" # {round}\n"));
                std::thread::sleep(std::time::Duration::from_millis(150));
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        let mut asked = 0;
        while !stop.load(std::sync::atomic::Ordering::Relaxed) {
            let said = creation("devops", &format!("claim {asked}"));
            let refused = block_on(front.submit(said)).expect_err("nothing may be written");
            assert!(format!("{refused:?}").contains("WritePolicyNone"), "{asked}: {refused:?}");
            asked += 1;
        }
        assert!(asked > 3, "the writer was asked all the time: {asked}");
    });
}

/// The position of the second change of the policy.
fn told_of(shell: &Shell) -> u64 {
    let log = shell.json("hm --json log --type policy.changed");
    log["events"][1]["seq"].as_u64().expect("a position")
}

/// `[policy]` with every default spelled out.
pub(crate) fn spelled_out() -> String {
    let from = TEMPLATE.find("[policy]").expect("the section");
    let to = TEMPLATE.find("[stale_after_hours]").expect("the next section");
    let lines = TEMPLATE[from..to].lines();
    lines
        .map(|line| line.strip_prefix("# ").filter(|rest| rest.contains(" = ")).unwrap_or(line))
        .flat_map(|line| [line, "\n"])
        .collect()
}

/// What `hm` prints for a workspace.
fn printed(workspace: &TempWorkspace, line: &[&str]) -> String {
    let mut hm = std::process::Command::new(HM);
    hm.arg("--dir").arg(workspace.root()).args(line).current_dir(workspace.root());
    for variable in ["HM_DIR", "HM_AGENT", "HM_SESSION"].iter().chain(&system::SESSION_VARIABLES) {
        hm.env_remove(variable);
    }
    let output = hm.output().expect("hm runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn the_defaults_spelled_out_change_nothing() {
    // The hash of the defaults is on record in ledgers of older releases.
    let older = "{\"allow_event_types\":[\"context\",\"correction\",\"decision\",\"execution\",\"fact\",\"preference\"],\
                 \"deny_event_types\":[],\"retention\":{},\"trust\":\"agent_with_intent\",\"write_policy\":\"aggressive\"}";
    let mut words: Value = serde_json::from_str(older).expect("JSON");
    words["allow_event_types"] = json!(MemoryPolicy::default().allow_event_types);
    let older = serde_json_canonicalizer::to_string(&words).expect("plain data");
    assert_eq!(MemoryPolicy::default().hash(), hex::encode(Sha256::digest(older)));
    for key in ["write_policy", "user_keys", "session_to_project", "by_plan"] {
        assert!(spelled_out().contains(&format!("\n{key} = ")), "{}", spelled_out());
    }
    let said: Vec<Submission> = samples().into_iter().map(|(_, said)| said).collect();
    let [without, with] = [String::new(), spelled_out()].map(|section| {
        let workspace = TempWorkspace::new();
        govern(&workspace, &section);
        let config = Config::load(&workspace.config()).expect("a configuration");
        // Only that a file says nothing tells the two apart.
        assert_eq!(Config { silence: None, ..config.clone() }, Config::defaults());
        let mut committer = workspace.committer(1).governed(config.memory);
        for said in &said {
            assert_eq!(refused(&mut committer, said), None);
        }
        writer::forget(&mut committer).expect("a sweep");
        // The clock of the committer is fixed, and a past state has the time of its last event.
        let (head, at) = (committer.head(), format!("#{}", committer.head().seq));
        drop(committer);
        let packs = ["devops", "analyst"]
            .map(|agent| printed(&workspace, &["context", "--agent", agent, "--at", &at]));
        (head, dump(&workspace.team_memory()), packs)
    });
    assert!(without.2.concat().contains("the pool leaks"), "{}", without.2[1]);
    assert_eq!(without, with);
}

#[test]
fn a_fault_is_named_by_check_doctor_and_hooks() {
    let mut shell = Shell::new();
    govern(
        &shell.workspace(),
        "[policy]\nwrite_policy = \"normal\"\n\n[policy.retention.semantic]\nfact = \"decay 60 sessions\"\n",
    );
    let shown = shell.transcript("hm policy show");
    let checked = shell.transcript("hm policy check");
    assert!(checked.contains("is valid") && !checked.contains("[exit"), "{checked}");
    govern(&shell.workspace(), "[policy]\n\nwrite_policy = \"some\"\n");
    let fault = shell.transcript("hm policy check");
    assert!(
        fault.contains("line 3") && fault.contains("use one of none, minimal, normal, aggressive"),
        "{fault}"
    );
    assert!(fault.ends_with("[exit 1]\n"), "{fault}");
    assert!(shell.transcript("hm policy show").contains("line 3"));
    // Where its lines are broken depends on the length of the path.
    let doctor = shell.transcript("hm doctor").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(doctor.contains("line 3"), "{doctor}");
    let session = claude(&shell, "s-1", "devops");
    assert!(session.start().contains("line 3"), "the agent is told once");
    assert_eq!(session.prompt("go on"), "");
    let root = shell.workspace().root().display().to_string();
    let hash = hivemind::domain::policy::MemoryPolicy {
        write_policy: WritePolicy::Normal,
        retention: Retention::of([(MemoryEvent::Fact, Term::Decay(Length::Sessions(60)))]),
        ..MemoryPolicy::default()
    }
    .hash();
    expect![[r#"
        $ hm policy show
        write_policy                   normal (line 2)
        allow_event_types              preference, decision, fact, correction, execution, context (default)
        deny_event_types               (empty) (default)
        trust                          agent_with_intent (default)
        retention.semantic.preference  never (default)
        retention.semantic.decision    never (default)
        retention.semantic.fact        decay 60 sessions (line 5)
        retention.semantic.correction  never (default)
        retention.semantic.execution   never (default)
        retention.semantic.context     never (default)
        spaces.user_keys               * (default)
        promotion.session_to_user      user_asserted (default)
        promotion.session_to_project   tool_verified (default)
        promotion.decision_to_project  user_asserted (default)
        promotion.user_to_project      user_asserted (default)
        phase.by_plan                  true (default)
        secrets are refused before all this: the built-in rules and 0 of your own ([privacy]). The lines are
        those of DIR/.hivemind/config.toml. The policy has the hash
        HASH.
    "#]]
    .assert_eq(&shown.replace(&root, "ROOT").replace(&hash, "HASH"));
}
