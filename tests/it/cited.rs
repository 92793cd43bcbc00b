//! Evidence as people cite it: by name, for what it says, and taken back where it was wrong.

use std::io::Write;
use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::time::Duration;

use expect_test::expect;
use hivemind::domain::checkout::Checkout;
use hivemind::domain::claim::{ClaimType, Grade, Position, Relation, Share, Trigger};
use hivemind::domain::command::{
    AddEvidence, Command, Forget, Observe, RecordExperiment, RetractEvidence, Seen, Submission,
};
use hivemind::domain::event::{CommandRan, FileEdited};
use hivemind::domain::experiment::{RunOutcome, RunState};
use hivemind::domain::ids::{ClaimId, CommandId, EventId, RunId};
use hivemind::domain::receipt::Receipt;
use hivemind::domain::rejection::{Code, Rejection};
use hivemind::mcp::{Era, Pane};
use hivemind::spool::Spool;
use hivemind::store::{ClaimView, Reader};
use hivemind::system;
use hivemind::writer::Committer;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::bench::Bench;
use crate::harness::{HM, TempWorkspace, claim_of, creation, position, request};
use crate::hook::{claude, within};
use crate::shell::Shell;

/// A command that a hook saw, in a session.
fn ran(session: &str, line: &str) -> (EventId, Submission) {
    let event_id = EventId::from_uuid(system::new_id());
    let runs = vec![line.parse().expect("a command")];
    let seen = Seen::Command(CommandRan { of_last: line.contains('|'), runs, ..crate::harness::ran(line) });
    (event_id, in_session(session, request("devops", Command::Observe(Observe { event_id, seen }))))
}

fn in_session(session: &str, submission: Submission) -> Submission {
    Submission { session: Some(session.parse().expect("a session")), ..submission }
}

fn cite(by: &str, claim_id: ClaimId, name: &str, relation: Relation) -> Submission {
    let evidence_ref = name.parse().expect("a name");
    let add = AddEvidence { claim_id, evidence_ref, relation, weight: Share::FULL, note: None };
    request(by, Command::AddEvidence(add))
}

fn retract(by: &str, claim_id: ClaimId, name: &str, relation: Option<Relation>) -> Submission {
    let (evidence_ref, reason) =
        (name.parse().expect("a name"), "the run before the fix".parse().expect("a reason"));
    request(by, Command::RetractEvidence(RetractEvidence { claim_id, evidence_ref, relation, reason }))
}

fn one(committer: &mut Committer, submission: &Submission) -> Result<Receipt, Rejection> {
    committer.commit(std::slice::from_ref(submission)).expect("a ledger").remove(0)
}

fn accepted(committer: &mut Committer, submission: &Submission) -> Receipt {
    one(committer, submission).expect("an accepted command")
}

fn refused(committer: &mut Committer, submission: &Submission) -> Rejection {
    one(committer, submission).expect_err("a refused command")
}

fn shown(workspace: &TempWorkspace, id: ClaimId) -> ClaimView {
    let reader = Reader::open(&workspace.team_memory()).expect("read models").expect("a file");
    reader.claim(id).expect("an answer").expect("a claim")
}

/// The event that a receipt cites.
fn cited(receipt: &Receipt) -> EventId {
    assert_eq!(receipt.cited.len(), 1, "{receipt:?}");
    receipt.cited[0].evidence_ref
}

#[test]
fn the_output_of_each_clients_commands_is_kept_without_its_secrets() {
    let shell = Shell::new();
    let root = shell.workspace().root().to_string_lossy().into_owned();
    let secret = "AKIAQ3EGT4PLKXYWZB7M";
    let mut told = String::new();
    for (client, name) in [
        ("claude", "PostToolUse.Bash"),
        ("claude", "PostToolUseFailure.Bash"),
        ("codex", "PostToolUse.Bash"),
        ("codex", "PostToolUse.told"),
        ("codex", "PostToolUse.object"),
        ("gemini", "AfterTool.run_shell_command"),
        ("gemini", "AfterTool.run_shell_command.failed"),
        ("cursor", "postToolUse.Shell"),
        ("cursor", "postToolUseFailure.Shell"),
    ] {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/hooks/{client}/{name}.json"));
        let payload =
            std::fs::read_to_string(path).expect("a recorded payload").replace("/home/ana/shop", &root);
        // Each output ends with a key, in the colours of a terminal.
        let mut payload: Value = serde_json::from_str(&payload).expect("JSON");
        for field in ["tool_response", "tool_output", "error", "error_message"] {
            if let Some(value) = payload.get_mut(field) {
                blot(value, &format!("\u{1b}[31mkey {}\u{1b}[0m{}\u{1b}[0m", &secret[..9], &secret[9..]));
            }
        }
        until_more(
            || commands(&shell).len(),
            || hook(shell.command(&format!("hm hook {client}")), &root, "devops", &payload),
        );
        let payload = commands(&shell).pop().expect("a command")["payload"].clone();
        let hash = payload["output_sha256"].as_str().expect("a hash");
        assert_eq!(hash.len(), 64, "{payload}");
        assert!(!payload.to_string().contains(&secret[..8]), "{payload}");
        told.push_str(&format!("{client} {}: {}\n", payload["command"], payload["tail"]));
    }
    expect![[r#"
        claude "cargo build": "Compiling shop v0.1.0\n    Finished\nkey [redacted:aws-key]"
        claude "cargo vendor --locked": "Exit code 101\nerror: failed to sync\n\nCaused by: the lock file needs to be updated\nkey [redacted:aws-key]"
        codex "cargo build": "Compiling shop\nerror[E0308]: mismatched types\n --> src/a.rs:3:5\nkey [redacted:aws-key]"
        codex "cargo test pool": "Exit code: 101\nWall time: 3.2 seconds\nOutput:\nrunning 1 test\nthread 'pool' panicked at src/db/pool.rs:4:5:\npool timed out after 30s\nkey [redacted:aws-key]"
        codex "ls 'a b'": "ls: cannot access 'a b': No such file or directory\nkey [redacted:aws-key]"
        gemini "cat build.log": "npm run build\nkey [redacted:aws-key]\nExit Code: 2\nthe run before"
        gemini "npm run build": "src/app.ts(12,7): error TS2304: Cannot find name 'foo'.\nkey [redacted:aws-key]"
        cursor "npm test": "212 passed\nkey [redacted:aws-key]"
        cursor "npm test": "FAIL src/pool.test.ts\n  waits: expected 3 to be 4\nkey [redacted:aws-key]"
    "#]]
    .assert_eq(&told);
}

/// Red before: the numbers in a line were masked first, and what was left of a secret was none any more; where one was
/// left whole, nothing was recorded.
#[test]
fn the_signature_of_an_error_holds_no_part_of_a_secret() {
    let shell = Shell::new();
    let root = shell.workspace().root().to_string_lossy().into_owned();
    let mut signatures = String::new();
    for (line, said, part) in [
        ("make a", "xoxb-248271839405-2482718394051-kJ8sQ2xPz7LmVn4RtYb6WcDe bad", "kj8s"),
        ("make b", "unauthorized bot 812345679:AAHk3jT9sQ2xPz7LmVn4RtYb6WcDeFgHiJk rejected", "aahk"),
        ("make c", "access denied for AKIAQ3EGT4PLKXYWZB7M", "akia"),
        ("make d", "access denied for AKIAQ3\u{1b}[31mEGT4PLKXYWZB7M", "akia"),
        ("notify xoxb-248271839405-2482718394051-kJ8sQ2xPz7LmVn4RtYb6WcDe", "no route", "kj8s"),
        ("login --password sup3rS3cretPw99x", "denied for sup3rS3cretPw99x", "sup3rs"),
    ] {
        let payload = json!({
            "hook_event_name": "PostToolUseFailure", "session_id": "s-1", "cwd": root, "tool_name": "Bash",
            "tool_input": { "command": line }, "error": format!("Exit code 1\nstarting\nerror: {said}"),
        });
        until_more(
            || commands(&shell).len(),
            || hook(shell.command("hm hook claude"), &root, "devops", &payload),
        );
        let payload = commands(&shell).pop().expect("a command")["payload"].clone();
        assert!(!payload.to_string().to_lowercase().contains(part), "{payload}");
        signatures.push_str(&format!("{}\n", payload["error_signature"].as_str().unwrap_or_default()));
    }
    expect![[r#"
        [redacted:slack-token] bad
        unauthorized bot [redacted:telegram-token] rejected
        access denied for [redacted:aws-key]
        access denied for [redacted:aws-key]
        no route
        denied for [redacted:secret-of-command]
    "#]]
    .assert_eq(&signatures);
}

/// Adds a line to the output in a payload, wherever the client has it.
fn blot(value: &mut Value, line: &str) {
    if let Some(fields) = value.as_object_mut() {
        for name in ["stdout", "output", "llmContent", "error"] {
            if let Some(inner) = fields.get_mut(name) {
                blot(inner, line);
            }
        }
    } else if let Some(text) = value.as_str() {
        *value = match serde_json::from_str::<Value>(text) {
            Ok(mut inner) if inner.is_object() => {
                blot(&mut inner, line);
                inner.to_string().into()
            }
            _ => match text.split_once("\nExit Code: ") {
                Some((output, below)) if text.starts_with("<untrusted_context>") => {
                    format!("{output}\n{line}\nExit Code: {below}").into()
                }
                _ => format!("{}\n{line}\n", text.trim_end()).into(),
            },
        };
    }
}

fn commands(shell: &Shell) -> Vec<Value> {
    let log = shell.json("hm log --json --limit 200 --type command.ran");
    log["events"].as_array().expect("events").clone()
}

/// Runs a hook until there is more of what it leaves: on a busy machine a hook gives up rather than hold its client.
fn until_more(count: impl Fn() -> usize, run: impl Fn()) {
    let before = count();
    for _ in 0..10 {
        run();
        for _ in 0..20 {
            if count() > before {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    panic!("no hook left anything on record");
}

/// Runs a hook of a client to its end.
fn hook(mut process: Process, cwd: &str, agent: &str, payload: &Value) {
    let process =
        process.current_dir(cwd).env("HM_AGENT", agent).env_remove("CLAUDE_PID").stdin(Stdio::piped());
    let mut hook = process.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("hm starts");
    let _ = hook.stdin.take().expect("a pipe").write_all(payload.to_string().as_bytes());
    let output = hook.wait_with_output().expect("hm ends");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn the_success_of_a_pipe_is_that_of_its_last_command_and_proves_nothing() {
    let shell = Shell::new();
    let session = claude(&shell, "s-1", "devops");
    session.start();
    let create = "hm --json --agent devops claim create \"pop is O(1)\" --scope tests/test_ttl.py";
    let claim = within(&shell, "s-1", create)["claim_id"].as_str().expect("an id").to_owned();
    let failing = "collected 5 items\nFAILED tests/test_ttl.py::test_pop\nno time is left\n";
    let run = |line: &str| {
        let response = json!({ "stdout": failing, "stderr": "", "interrupted": false });
        let input = json!({ "command": line });
        let payload = json!({ "tool_name": "Bash", "tool_input": input, "tool_response": response });
        until_more(|| commands(&shell).len(), || drop(session.told("PostToolUse", payload.clone())));
    };
    let cite = || {
        let line = format!("hm --json --agent devops claim evidence {claim} --ref last --relation supports");
        within(&shell, "s-1", &line)
    };
    let grade = || shell.json(&format!("hm --json claim show {claim}"))["grade"].clone();
    run(&format!("cd {} && pytest tests/test_ttl.py 2>&1 | tail -5", session.cwd()));
    let tied = cite();
    assert_eq!(tied["cited"][0]["grade"], "asserted", "{tied}");
    assert!(tied["cited"][0]["why"].as_str().expect("why").contains("the end of a pipe"), "{tied}");
    assert_eq!(grade(), "asserted");
    for verb in ["show", "why"] {
        let text = String::from_utf8(shell.run(&format!("hm claim {verb} {claim}")).stdout).expect("UTF-8");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = "success of `tail -5`, the last of a pipe: says nothing about `pytest tests/test_ttl.py`";
        assert!(text.contains(said), "{verb}: {text}");
        assert!(text.contains("| FAILED tests/test_ttl.py::test_pop | no time is left"), "{verb}: {text}");
    }

    run("pytest tests/test_ttl.py -q");
    let tied = cite();
    let why = tied["cited"][0]["why"].as_str().expect("why");
    assert!(why.starts_with("`pytest tests/test_ttl.py -q`, "), "{tied}");
    assert!(why.ends_with("s ago: the command names tests/test_ttl.py"), "{tied}");
    assert_eq!(grade(), "observed");
    run("set -o pipefail; pytest tests/test_ttl.py | tail -5");
    assert_eq!(cite()["cited"][0]["grade"], "observed");
}

/// Red before: only a pipe was seen through.
#[test]
fn what_a_line_hides_of_its_commands_proves_nothing() {
    let shell = Shell::new();
    let session = claude(&shell, "s-1", "devops");
    session.start();
    let create = "hm --json --agent devops claim create \"pop is O(1)\" --scope tests/test_ttl.py";
    let claim = within(&shell, "s-1", create)["claim_id"].as_str().expect("an id").to_owned();
    let run = |input: Value, interrupted: bool| {
        let response = json!({ "stdout": "a failure", "stderr": "", "interrupted": interrupted });
        let payload = json!({ "tool_name": "Bash", "tool_input": input, "tool_response": response });
        until_more(|| commands(&shell).len(), || drop(session.told("PostToolUse", payload.clone())));
        let line = format!("hm --json --agent devops claim evidence {claim} --ref last --relation supports");
        within(&shell, "s-1", &line)["cited"][0]["grade"].clone()
    };
    for line in ["pytest tests/test_ttl.py || true", "pytest tests/test_ttl.py; exit 0"] {
        assert_eq!(run(json!({ "command": line }), false), "asserted", "{line}");
    }
    let line = "pytest tests/test_ttl.py";
    assert_eq!(run(json!({ "command": line, "run_in_background": true }), false), "asserted");
    assert_eq!(run(json!({ "command": line }), true), "asserted");
    assert_eq!(run(json!({ "command": line }), false), "observed");
    let told = String::from_utf8(shell.run(&format!("hm claim why {claim}")).stdout).expect("UTF-8");
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("of the whole line: says nothing about `pytest tests/test_ttl.py`"), "{told}");
    assert!(told.contains("no outcome"), "{told}");
}

#[test]
fn an_event_is_worth_what_it_names_of_the_claim() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let mut made = creation("devops", "vendoring breaks the build");
    if let Command::CreateClaim(create) = &mut made.command {
        create.claim_type = ClaimType::Negative;
        create.scopes = vec!["src/db".parse().expect("a scope"), "tag:build".parse().expect("a scope")];
        let commands = vec!["cargo vendor".parse().expect("a command")];
        create.trigger = Some(Trigger { commands, ..Trigger::default() });
    }
    let id = claim_of(&made);
    accepted(&mut committer, &made);
    let edit = |path: &str| {
        let event_id = EventId::from_uuid(system::new_id());
        let paths = vec![path.parse().expect("a path")];
        let seen = Seen::Files(FileEdited {
            paths,
            merged: None,
            versions: Default::default(),
            checkout: Checkout::default(),
        });
        (event_id, request("devops", Command::Observe(Observe { event_id, seen })))
    };
    let mut told = String::new();
    for (what, (event, seen)) in [
        ("cargo test", ran("s-1", "cargo test")),
        ("wc -l src/dbx/a.rs", ran("s-1", "wc -l src/dbx/a.rs")),
        ("wc -l src/db/a.rs", ran("s-1", "wc -l src/db/a.rs")),
        ("cargo vendor --locked", ran("s-1", "cargo vendor --locked")),
        ("cargo vendor | tail", ran("s-1", "cargo vendor | tail")),
        ("an edit of src/api.rs", edit("src/api.rs")),
        ("an edit of src/db/a.rs", edit("src/db/a.rs")),
    ] {
        accepted(&mut committer, &seen);
        let receipt = accepted(&mut committer, &cite("devops", id, &event.to_string(), Relation::Supports));
        let cited = &receipt.cited[0];
        told.push_str(&format!("{what}: {} ({})\n", cited.grade.expect("a grade"), cited.why));
    }
    expect![[r#"
        cargo test: asserted (stays asserted: the command names no scope of the claim; one that names src/db is observed, the run of a profile proves: `run_experiment {"claim_id":"ID","profile":"PROFILE"}`)
        wc -l src/dbx/a.rs: asserted ()
        wc -l src/db/a.rs: observed (the command names src/db)
        cargo vendor --locked: observed (the command is that of its trigger)
        cargo vendor | tail: asserted (stays asserted: its exit code is that of the end of a pipe or line; run it alone, or as `bash -o pipefail -c '…'`)
        an edit of src/api.rs: asserted (stays asserted: the edit is outside of the claim's scopes)
        an edit of src/db/a.rs: observed (a hook saw an edit in src/db)
    "#]]
    .assert_eq(&told.replace(&id.to_string(), "ID"));
    let grades: Vec<String> =
        shown(&workspace, id).evidence_items.iter().map(|item| item.grade.to_string()).collect();
    assert_eq!(grades.iter().filter(|grade| *grade == "observed").count(), 3, "{grades:?}");
    // A claim that is made with its evidence is judged by the same rule.
    let (event, seen) = ran("s-1", "pytest tests/a.py");
    accepted(&mut committer, &seen);
    for (scope, grade) in [("tests/a.py", "observed"), ("tests/b.py", "asserted")] {
        let mut made = creation("devops", &format!("it holds in {scope}"));
        if let Command::CreateClaim(create) = &mut made.command {
            create.scopes = vec![scope.parse().expect("a scope")];
            create.evidence_refs = vec![event.into()];
        }
        accepted(&mut committer, &made);
        assert_eq!(shown(&workspace, claim_of(&made)).summary.grade.as_str(), grade, "{scope}");
    }
    workspace.assert_sound();
}

#[test]
fn evidence_goes_by_last_by_a_run_by_an_end_and_by_its_id() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let made = creation("devops", "the pool holds 20");
    let id = claim_of(&made);
    accepted(&mut committer, &made);
    let say = |committer: &mut Committer, session: &str, name: &str, relation| {
        one(committer, &in_session(session, cite("devops", id, name, relation)))
    };
    let nothing = say(&mut committer, "s-1", "last", Relation::Supports).expect_err("nothing was done");
    assert_eq!(nothing.code, Code::UnknownEvidence, "{nothing}");

    // Each session has its own last command; looking at the memory is none.
    let (one_ran, seen) = ran("s-1", "cargo test one");
    accepted(&mut committer, &seen);
    let (two_ran, seen) = ran("s-2", "cargo test two");
    accepted(&mut committer, &seen);
    accepted(&mut committer, &ran("s-1", "hm claim list").1);
    accepted(&mut committer, &ran("s-1", "cd src && /usr/bin/hm claim show x").1);
    for (session, event) in [("s-1", one_ran), ("s-2", two_ran)] {
        let receipt = say(&mut committer, session, "last", Relation::Supports).expect("a receipt");
        assert_eq!(cited(&receipt), event, "{session}");
    }
    // A run that was recorded goes by its id, and is what its session did last.
    let run_id = RunId::from_uuid(system::new_id());
    let outcome = RunOutcome { exit_code: Some(0), ..RunOutcome::without_files(RunState::Succeeded, None) };
    let command = "pytest -q".parse().expect("a command");
    let record = RecordExperiment { run_id, command, outcome, asserted: false };
    accepted(&mut committer, &in_session("s-3", request("operator", Command::RecordExperiment(record))));
    for (session, name, relation) in
        [("s-1", run_id.to_string(), Relation::Supports), ("s-3", "last".to_owned(), Relation::CausedBy)]
    {
        let receipt = say(&mut committer, session, &name, relation).expect("a receipt");
        assert_eq!(cited(&receipt), run_id.first_event());
    }

    // An end is enough where one event has it.
    let observe = |number: u128| {
        let (_, mut seen) = ran("s-1", "make");
        if let Command::Observe(observe) = &mut seen.command {
            observe.event_id = EventId::from_uuid(Uuid::from_u128(number));
        }
        seen
    };
    let (left, right) =
        (0x0190_0000_0000_7000_8001_00aa_dead_beef, 0x0190_0000_0000_7000_8001_00bb_dead_beef);
    accepted(&mut committer, &observe(left));
    accepted(&mut committer, &observe(right));
    let receipt = say(&mut committer, "s-1", "00aadeadbeef", Relation::Supports).expect("a receipt");
    assert_eq!(cited(&receipt).uuid().as_u128(), left);
    let ambiguous = say(&mut committer, "s-1", "adbeef", Relation::Supports).expect_err("two have it");
    assert_eq!(ambiguous.code, Code::AmbiguousEvidence);
    for id in [left, right] {
        assert!(ambiguous.hint.contains(&Uuid::from_u128(id).to_string()), "{ambiguous}");
    }
    let unknown = say(&mut committer, "s-1", "badbad00", Relation::Supports).expect_err("none has it");
    assert_eq!(unknown.code, Code::UnknownEvidence, "{unknown}");
    workspace.assert_sound();
}

#[test]
fn last_means_what_was_last_when_it_was_said() {
    let workspace = TempWorkspace::new();
    let made = creation("devops", "the pool holds 20");
    let id = claim_of(&made);
    let mut committer = workspace.committer(1);
    accepted(&mut committer, &made);
    let (first, seen) = ran("s-1", "cargo test one");
    let said = cite("devops", id, "last", Relation::Supports);
    // Both wait in the queue; in its order `last` is exact.
    let spool = Spool::of(&workspace);
    for submission in [&seen, &said] {
        assert_eq!(spool.append(submission).expect("a spool"), None);
    }
    hivemind::writer::replay(&mut committer, &spool).expect("a replay");
    let tied: Vec<String> =
        shown(&workspace, id).evidence_items.into_iter().map(|item| item.evidence_ref).collect();
    assert_eq!(tied, [first.to_string()]);

    // The command waited while another one of the session came through.
    let said = cite("devops", id, "last", Relation::Contradicts);
    std::thread::sleep(Duration::from_millis(3));
    let (second, seen) = ran("s-1", "cargo test two");
    accepted(&mut committer, &seen);
    let rejection = refused(&mut committer, &said);
    assert_eq!(rejection.code, Code::UnknownEvidence);
    assert!(rejection.hint.contains(&second.to_string()), "{rejection}");
    std::thread::sleep(Duration::from_millis(3));
    let again = Submission { command_id: CommandId::from_uuid(system::new_id()), ..said };
    assert_eq!(cited(&accepted(&mut committer, &again)), second);
    workspace.assert_sound();
}

#[test]
fn evidence_is_taken_back_by_who_tied_it_and_stays_in_the_history() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let made = creation("devops", "the pool holds 20");
    let other = creation("analyst", "the pool leaks");
    let id = claim_of(&made);
    for submission in [&made, &other] {
        accepted(&mut committer, submission);
    }
    let (event, seen) = ran("s-1", "pytest ./a.py");
    accepted(&mut committer, &seen);
    let name = event.to_string();
    let tie = in_session("s-7", cite("reviewer", id, &name, Relation::Supports));
    accepted(&mut committer, &tie);
    assert_eq!(shown(&workspace, id).summary.grade.as_str(), "observed");

    let stranger = in_session("s-8", retract("devops", id, &name, None));
    let rejection = refused(&mut committer, &stranger);
    assert_eq!(rejection.code, Code::NotAllowed);
    assert!(rejection.message.contains("reviewer"), "{rejection}");
    let wrong = in_session("s-7", retract("reviewer", id, &name, Some(Relation::Contradicts)));
    assert_eq!(refused(&mut committer, &wrong).code, Code::UnknownEvidence);

    // The session that tied it may, under whatever name; an end that is unique within the claim is enough.
    let end = name[name.len() - 8..].to_owned();
    accepted(&mut committer, &in_session("s-7", retract("analyst", id, &end, None)));
    let view = shown(&workspace, id);
    assert_eq!((view.summary.grade.as_str(), view.summary.evidence), ("asserted", 0));
    let retracted = &view.retracted[0];
    assert_eq!(
        (retracted.evidence_ref.as_str(), retracted.added_by.as_str(), retracted.reason.as_str()),
        (name.as_str(), "reviewer", "the run before the fix")
    );
    assert_eq!(refused(&mut committer, &stranger).code, Code::UnknownEvidence, "it is taken back already");
    // It may come again, and the operator may take back what others tied.
    let tie = Submission { command_id: CommandId::from_uuid(system::new_id()), ..tie };
    accepted(&mut committer, &tie);
    assert_eq!(shown(&workspace, id).summary.grade.as_str(), "observed");
    accepted(&mut committer, &in_session("s-9", retract("operator", id, &name, None)));
    assert_eq!(shown(&workspace, id).retracted.len(), 2);

    // The contradiction that a link opened ends with the link.
    let link = claim_of(&other).to_string();
    accepted(&mut committer, &cite("reviewer", id, &link, Relation::Contradicts));
    assert_eq!(shown(&workspace, id).contradictions[0].cause, None);
    accepted(&mut committer, &retract("reviewer", id, &link, None));
    let ended = shown(&workspace, id).contradictions[0].cause;
    assert_eq!(ended.map(|cause| cause.to_string()).as_deref(), Some("retracted"));
    assert_eq!(committer.state().contradictions_of(id).count(), 0);
    workspace.assert_sound();
}

fn profile(bench: &Bench, name: &str, argv: &str) {
    let text = format!(
        "description = \"a test\"\nscopes = [\"**\"]\nargv = {argv}\ntimeout_ms = 60000\n[expect]\nexit = 0\n"
    );
    bench.profile(name, &text);
}

async fn call(pane: &Pane, tool: &str, arguments: Value) -> Value {
    let answer = pane.call(tool, arguments).await.expect("an answer");
    let mut body = answer.body;
    body["text"] = answer.text.into();
    body
}

#[tokio::test]
async fn over_mcp_a_session_cites_its_own_last_command_and_a_run_by_its_id() {
    let bench = Bench::new();
    profile(&bench, "passes", "[\"true\"]");
    profile(&bench, "sleeps", "[\"sleep\", \"60\"]");
    let all = Pane::offered(bench.binary(), bench.root(), Some("devops"), Era::Modern, "all").await;
    let devops = all.expect("a pane with every tool");
    let analyst = bench.pane(Some("analyst"), Era::Modern).await;
    let claim = bench.claim(&devops, "the pool holds 20", "src/pool.rs").await;
    let root = bench.workspace().root().to_string_lossy().into_owned();
    // Where a session began is kept from one run of the tests to the next.
    let [one, two] = ["one", "two"].map(|name| format!("{name}-{}", system::new_id()));
    let (s1, s2) = (one.as_str(), two.as_str());
    for (session, agent, line) in
        [(s1, "devops", "rustfmt --check src/pool.rs"), (s2, "analyst", "wc -l src/other.rs")]
    {
        let payload = json!({
            "hook_event_name": "PostToolUse", "session_id": session, "cwd": root, "tool_name": "Bash",
            "tool_input": { "command": line }, "tool_response": { "stdout": "ok", "stderr": "" },
        });
        let seen = || bench.events().iter().filter(|event| event.kind == "command.ran").count();
        until_more(seen, || {
            let mut process = Process::new(HM);
            process.args(["hook", "claude"]);
            hook(process, &root, agent, &payload);
        });
    }
    let cite = |session: &str, name: &str, relation: &str| json!({ "claim_id": claim, "evidence_ref": name, "relation": relation, "session": session });
    let tied = call(&devops, "add_evidence", cite(s1, "last", "supports")).await;
    assert_eq!(tied["cited"][0]["grade"], "observed", "{tied}");
    let text = tied["text"].as_str().expect("text");
    assert!(text.contains("observed, `rustfmt --check src/pool.rs`, "), "{tied}");
    assert!(text.contains("s ago: the command names src/pool.rs"), "{tied}");
    let tied = call(&analyst, "add_evidence", cite(s2, "last", "contradicts")).await;
    let why = tied["cited"][0]["why"].as_str().expect("why");
    assert!(why.starts_with("`wc -l src/other.rs`, "), "{tied}");
    assert!(
        why.contains(
            "s ago: stays asserted: the command names no scope of the claim; one that names src/pool.rs"
        ),
        "{tied}"
    );
    let second = tied["cited"][0]["evidence_ref"].as_str().expect("an id").to_owned();
    let support = json!({ "claim_id": claim, "evidence_ref": "last", "session": s2 });
    let supported = call(&analyst, "support", support).await;
    assert_eq!(supported["cited"][0]["evidence_ref"], second, "{supported}");

    // A run that is not over is refused with the way; once it is over its id stands for its end.
    let queued = call(&devops, "run_experiment", json!({ "profile": "sleeps", "session": s1 })).await;
    let run = queued["run_id"].as_str().expect("a run").to_owned();
    for name in [run.as_str(), "last"] {
        let refused = call(&devops, "add_evidence", cite(s1, name, "supports")).await;
        assert_eq!(refused["code"], "not_attachable", "{refused}");
        assert!(refused["hint"].as_str().expect("a hint").contains("hivemind://experiments/R1"), "{refused}");
    }
    call(&devops, "cancel_experiment", json!({ "run_id": run })).await;
    let passed =
        call(&devops, "run_experiment", json!({ "profile": "passes", "session": s1, "wait": true })).await;
    let run = passed["run_id"].as_str().expect("a run").to_owned();
    let end = &run[run.len() - 12..];
    let tied = call(&devops, "add_evidence", cite(s1, end, "supports")).await;
    let ended = passed["experiment"]["evidence_event_id"].clone();
    assert_eq!((&tied["cited"][0]["evidence_ref"], &tied["cited"][0]["grade"]), (&ended, &json!("asserted")));
    let why =
        "the run passed, and only mentions it: what `src/pool.rs` held when it was queued is not on record";
    assert!(tied["cited"][0]["why"].as_str().expect("a reason").contains(why), "{tied}");
    let again = call(&devops, "add_evidence", cite(s1, &run, "supports")).await;
    assert_eq!(again["code"], "duplicate_evidence", "{again}");

    // The agent that tied it takes it back; another one is refused.
    let back =
        json!({ "claim_id": claim, "evidence_ref": run, "reason": "the wrong profile", "session": s1 });
    let retracted = call(&devops, "retract_evidence", back).await;
    assert_eq!(retracted["state"], "committed", "{retracted}");
    let other = json!({ "claim_id": claim, "evidence_ref": second, "reason": "not mine", "session": s1 });
    assert_eq!(call(&devops, "retract_evidence", other).await["code"], "not_allowed");
    let page = devops.read(&format!("hivemind://claims/{claim}")).await.expect("a page");
    assert!(page.contains("taken back by devops") && page.contains("the wrong profile"), "{page}");
    bench.kill_writer();
    bench.assert_sound();
}

#[tokio::test]
async fn the_run_that_proved_a_claim_is_not_taken_back() {
    let bench = Bench::new();
    profile(&bench, "passes", "[\"true\"]");
    let (owner, other) =
        (bench.pane(Some("devops"), Era::Modern).await, bench.pane(Some("reviewer"), Era::Modern).await);
    let claim = bench.claim(&owner, "the pool gives connections back", "src/pool").await;
    bench.accepted(&other, "challenge", json!({ "claim_id": claim, "reason": "I saw otherwise" })).await;
    let run = json!({ "profile": "passes", "claim_id": claim, "blocking": true, "wait": true });
    let run = call(&owner, "run_experiment", run).await;
    assert_eq!(run["run_state"], "succeeded", "{run}");
    for agent in ["devops", "operator"] {
        let line = [
            "--agent",
            agent,
            "--json",
            "claim",
            "retract-evidence",
            claim.as_str(),
            run["run_id"].as_str().expect("a run"),
            "--reason",
            "I do not like it",
        ];
        let output = bench.hm(&line);
        let said =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("not_allowed") && said.contains("proved claim"), "{agent}: {said}");
    }
    bench.kill_writer();
    bench.assert_sound();
}

#[test]
fn a_name_that_names_nothing_is_refused_on_the_command_line() {
    let shell = Shell::new();
    let made = shell.json("hm --json --agent devops claim create \"the pool holds 20\" --scope src/db");
    let claim = made["claim_id"].as_str().expect("an id").to_owned();
    let other = shell.json("hm --json --agent devops claim create \"a burst needs 30\" --scope src/api");
    let event = other["claim_id"].as_str().expect("an id");
    let cite = |name: &str| {
        shell.json(&format!(
            "hm --json --agent devops claim evidence {claim} --ref {name} --relation supports"
        ))
    };
    assert_eq!(cite("abc")["code"], "invalid_argument");
    assert_eq!(cite("last")["code"], "unknown_evidence");
    assert_eq!(cite("00000000")["code"], "unknown_evidence");
    let tied = cite(&event[24..]);
    assert_eq!((&tied["state"], &tied["cited"][0]["evidence_ref"]), (&json!("committed"), &json!(event)));
    let back = format!(
        "hm --json --agent devops claim retract-evidence {claim} {} --reason \"a typo\"",
        &event[24..]
    );
    assert_eq!(shell.json(&back)["state"], "committed");
    let why = String::from_utf8(shell.run(&format!("hm claim why {claim}")).stdout).expect("UTF-8");
    assert!(why.contains("retracted by devops") && why.contains("a typo"), "{why}");
    assert!(why.contains("rests on no evidence"), "{why}");
}

#[test]
fn erasing_the_words_of_a_retraction_brings_no_evidence_back() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let made = creation("devops", "the pool holds 20");
    let id = claim_of(&made);
    accepted(&mut committer, &made);
    let (event, seen) = ran("s-1", "wc -l ./src/pool.rs");
    accepted(&mut committer, &seen);
    let name = event.to_string();
    let forget_last_retraction = |committer: &mut Committer| {
        let stored = workspace.events();
        let last = stored.iter().rfind(|event| event.kind == "evidence.retracted").expect("a retraction");
        let reason = "a customer's name".parse().expect("a reason");
        let forget = Command::Forget(Forget { event_id: last.id, reason, with_quotes: false });
        accepted(committer, &request("operator", forget));
    };
    accepted(&mut committer, &cite("devops", id, &name, Relation::Supports));
    accepted(&mut committer, &retract("devops", id, &name, None));
    forget_last_retraction(&mut committer);
    let view = shown(&workspace, id);
    assert_eq!((view.summary.grade.as_str(), view.evidence_items.len()), ("asserted", 0));
    assert!(view.retracted[0].reason.contains("was erased"), "{:?}", view.retracted);
    workspace.assert_sound();

    // What was tied again in the meantime stays tied.
    accepted(&mut committer, &cite("devops", id, &name, Relation::Supports));
    accepted(&mut committer, &retract("devops", id, &name, None));
    accepted(&mut committer, &cite("devops", id, &name, Relation::Supports));
    forget_last_retraction(&mut committer);
    let view = shown(&workspace, id);
    assert_eq!((view.summary.grade.as_str(), view.evidence_items.len()), ("observed", 1));
    workspace.assert_sound();
}

/// [`ran`], where the command failed.
fn failed(session: &str, line: &str, exit_code: i32) -> (EventId, Submission) {
    let (event, mut submission) = ran(session, line);
    if let Command::Observe(Observe { seen: Seen::Command(ran), .. }) = &mut submission.command {
        (ran.failed, ran.exit_code) = (true, Some(exit_code));
    }
    (event, submission)
}

/// Red before: whatever ran last was bound, also a line that only lists.
#[test]
fn last_is_the_last_command_that_can_show_something() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let made = creation("devops", "the pool holds 20");
    let id = claim_of(&made);
    accepted(&mut committer, &made);
    let only_looked = ["ls -la", "git log --oneline | head", "sed -n 1,20p src/a.rs", "cat a | grep b"];
    let last = |relation| in_session("s-1", cite("devops", id, "last", relation));
    for line in only_looked {
        accepted(&mut committer, &ran("s-1", line).1);
        let refused = refused(&mut committer, &last(Relation::Supports));
        assert_eq!(refused.code, Code::UnknownEvidence, "{line}: {refused}");
        assert!(refused.message.contains("only reads or lists"), "{line}: {refused}");
    }
    let (tested, seen) = ran("s-1", "pytest -q");
    accepted(&mut committer, &seen);
    for line in only_looked {
        accepted(&mut committer, &ran("s-1", line).1);
    }
    let receipt = accepted(&mut committer, &last(Relation::Supports));
    assert_eq!(cited(&receipt), tested);
    assert!(receipt.cited[0].why.starts_with("`pytest -q`, "), "it says which: {receipt:?}");
    workspace.assert_sound();
}

/// Red before: a command that failed with exit 2 was tied as support without a word.
#[test]
fn a_command_that_failed_does_not_support_and_the_receipt_says_so() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let (broken, seen) = failed("s-1", "pytest tests/a.py", 2);
    accepted(&mut committer, &seen);
    let made = creation("devops", "the pool holds 20");
    let id = claim_of(&made);
    accepted(&mut committer, &made);
    let by_name = cite("devops", id, "last", Relation::Supports);
    let refusal = refused(&mut committer, &in_session("s-1", by_name));
    assert_eq!(refusal.code, Code::NotAttachable, "{refusal}");
    let said = "it failed with exit 2: it does not support claim ";
    assert!(
        refusal.message.starts_with(said) && refusal.message.contains("`pytest tests/a.py`"),
        "{refusal}"
    );
    assert!(refusal.hint.contains("contradicts") && refusal.hint.contains(&broken.to_string()), "{refusal}");
    // A vote is no way around it.
    let mut support = position("analyst", id, Position::Support);
    if let Command::TakePosition(take) = &mut support.command {
        take.evidence_ref = Some(broken.into());
    }
    assert_eq!(refused(&mut committer, &support).code, Code::NotAttachable);
    accepted(&mut committer, &cite("analyst", id, &broken.to_string(), Relation::Contradicts));

    // A new claim is made all the same, mentions the command, and says so first. A dead end is what failed.
    for (claim_type, relation) in
        [(ClaimType::Fact, Relation::Mentions), (ClaimType::Negative, Relation::Supports)]
    {
        let mut made = creation("devops", &format!("a {claim_type} about tests"));
        if let Command::CreateClaim(create) = &mut made.command {
            (create.claim_type, create.evidence_refs) = (claim_type, vec![broken.into()]);
        }
        let receipt = accepted(&mut committer, &made);
        let first = hivemind::views::receipt_line(&receipt, "claim created");
        let says = first.ends_with("; its evidence failed with exit 2: it does not support the claim");
        assert_eq!(says, relation == Relation::Mentions, "{first}");
        let shown = shown(&workspace, claim_of(&made));
        assert_eq!(shown.evidence_items[0].relation, relation.as_str(), "{claim_type}");
    }
    workspace.assert_sound();
}

/// Red before: a run of tests behind `| tail`, with two failures in its last line, supported that all pass.
#[test]
fn a_pipe_that_counts_failures_does_not_support() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let made = creation("devops", "the pool holds 20");
    let id = claim_of(&made);
    accepted(&mut committer, &made);
    let mut piped = |tail: &str| {
        let (event, mut submission) = ran("s-1", "pytest tests/a.py | tail -3");
        if let Command::Observe(Observe { seen: Seen::Command(ran), .. }) = &mut submission.command {
            ran.tail = Some(tail.parse().expect("an output"));
        }
        accepted(&mut committer, &submission);
        event
    };
    let (red, green) = (piped("FAILED a.py::b\n2 failed, 46 passed in 3s"), piped("48 passed in 3s"));
    let by_name = |event: EventId| cite("devops", id, &event.to_string(), Relation::Supports);
    let refusal = refused(&mut committer, &by_name(red));
    assert_eq!(refusal.code, Code::NotAttachable, "{refusal}");
    assert!(refusal.message.starts_with("it says `2 failed`: it does not support claim "), "{refusal}");
    accepted(&mut committer, &by_name(green));
    let mut made = creation("devops", "all tests of the pool pass");
    if let Command::CreateClaim(create) = &mut made.command {
        create.evidence_refs = vec![red.into()];
    }
    let receipt = accepted(&mut committer, &made);
    let first = hivemind::views::receipt_line(&receipt, "claim created");
    assert!(first.ends_with("; its evidence says `2 failed`: it does not support the claim"), "{first}");
    workspace.assert_sound();
}

/// Red before: each claim was told the same sentence, which named no way to raise it.
#[test]
fn what_would_raise_a_run_of_the_whole_suite_is_told_once_a_session() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let mut why = |session: &str, text: &str| {
        accepted(&mut committer, &ran(session, "pytest").1);
        let mut made = creation("devops", text);
        if let Command::CreateClaim(create) = &mut made.command {
            create.scopes = vec!["tests/a.py".parse().expect("a scope")];
            create.evidence_refs = vec!["last".parse().expect("a name")];
        }
        let receipt = accepted(&mut committer, &in_session(session, made));
        assert_eq!(receipt.cited[0].grade, Some(Grade::Asserted), "{receipt:?}");
        receipt.cited[0].why.clone()
    };
    let first = why("s-1", "the pool holds 20");
    assert!(first.contains("one that names tests/a.py is observed"), "{first}");
    assert!(first.contains("run_experiment"), "{first}");
    let again = why("s-1", "the queue is bounded");
    assert!(
        again.starts_with("`pytest`, ") && again.ends_with(" ago"),
        "it still says which command that is: {again}"
    );
    assert!(why("s-2", "the cache is cold").contains("is observed"), "another session is told too");
    workspace.assert_sound();
}
