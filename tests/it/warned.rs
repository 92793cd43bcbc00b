//! What an agent is warned of: in words, once a session over receipts and hooks, and never of its own or of what is over.

use std::io::Write;
use std::process::Stdio;

use hivemind::domain::claim::{ClaimType, Trigger};
use hivemind::domain::command::{Command, CreateClaim, Submission};
use hivemind::domain::receipt::{Receipt, WarningCode};
use hivemind::mcp::{Era, Pane};
use hivemind::writer::{Committer, Spool};
use serde_json::{Value, json};

use crate::harness::{TempWorkspace, block_on, claim_of, dump, fact, folded, request};
use crate::hook::{Session, claude, spool_is_empty, within};
use crate::shell::Shell;

const STATEMENT: &str = "the shared pool deadlocks when workers borrow its connections";
/// A claim that shares words and a place with the dead end of [`dead_end`].
const REPEAT: &str =
    "claim create \"the pool opens its connections for workers late\" --scope src/db/pool.rs";

/// A dead end of an agent, with the command that runs into it.
fn dead_end(shell: &Shell, agent: &str, statement: &str, command: &str) -> Value {
    shell.json(&format!(
        "hm --json --agent {agent} claim create \"{statement}\" --type negative --scope src/db --trigger-command \"{command}\""
    ))
}

/// The dead ends that a receipt warns of.
fn warned(receipt: &Value) -> Vec<&str> {
    let warnings = receipt["warnings"].as_array().expect("warnings").iter();
    let dead_ends = warnings.filter(|warning| warning["code"] == "negative_claim");
    dead_ends.map(|warning| warning["message"].as_str().expect("a sentence")).collect()
}

/// The kinds of the events of a session.
fn kinds(shell: &Shell, kind: &str) -> usize {
    shell.json(&format!("hm log --type {kind} --json"))["events"].as_array().expect("events").len()
}

fn committed(session: &Session<'_>, shell: &Shell, text: &str) {
    session.prompt(text);
    spool_is_empty(shell);
}

#[test]
fn a_dead_end_warns_once_a_session_over_all_turns() {
    let shell = Shell::new();
    dead_end(&shell, "analyst", STATEMENT, "make pool");
    let (one, other) = (claude(&shell, "s-1", "devops"), claude(&shell, "s-2", "architect"));
    one.start();
    committed(&one, &shell, "first");
    assert!(one.about_to_run("make pool").contains(STATEMENT));
    spool_is_empty(&shell);
    committed(&one, &shell, "second");
    assert_eq!(one.about_to_run("make pool"), "", "another turn is the same session");
    other.start();
    committed(&other, &shell, "first");
    assert!(other.about_to_run("make pool").contains(STATEMENT), "another session");
    spool_is_empty(&shell);
    assert_eq!(kinds(&shell, "guard.fired"), 2);
}

#[test]
fn what_a_receipt_warned_of_no_hook_says_again_and_the_other_way_round() {
    let shell = Shell::new();
    dead_end(&shell, "analyst", STATEMENT, "make pool");
    let (one, other) = (claude(&shell, "s-1", "devops"), claude(&shell, "s-2", "architect"));
    one.start();
    other.start();
    spool_is_empty(&shell);
    let receipt = within(&shell, "s-1", &format!("hm --json --agent devops {REPEAT}"));
    assert!(warned(&receipt)[0].contains(&format!("\"{STATEMENT}\"")), "{receipt}");
    committed(&one, &shell, "go on");
    assert_eq!(one.about_to_run("make pool"), "", "the receipt said it");
    let again = REPEAT.replace("late", "all too late");
    let receipt = within(&shell, "s-1", &format!("hm --json --agent devops {again}"));
    assert_eq!(warned(&receipt), [""; 0], "{receipt}");

    assert!(other.about_to_run("make pool").contains(STATEMENT));
    spool_is_empty(&shell);
    let again = REPEAT.replace("late", "some too late");
    let receipt = within(&shell, "s-2", &format!("hm --json --agent architect {again}"));
    assert_eq!(warned(&receipt), [""; 0], "the hook said it: {receipt}");
}

#[test]
fn what_a_tool_warned_of_no_hook_says_again() {
    let shell = Shell::new();
    dead_end(&shell, "analyst", STATEMENT, "make pool");
    let session = claude(&shell, "s-1", "devops");
    session.start();
    spool_is_empty(&shell);
    let mut serve = shell.command("hm serve");
    serve.env("HM_SESSION", "s-1").env("HM_AGENT", "devops");
    let create = json!({
        "statement": "the pool opens its connections for workers late", "claim_type": "fact",
        "scopes": ["src/db/pool.rs"],
    });
    let answer = block_on(async {
        let pane = Pane::run(serve.into(), Era::Modern).await.expect("a pane");
        pane.call("create_claim", create).await.expect("an answer")
    });
    assert!(
        answer.text.contains(&format!("warning: a failed approach is on record here: \"{STATEMENT}\"")),
        "{}",
        answer.text
    );
    committed(&session, &shell, "go on");
    assert_eq!(session.about_to_run("make pool"), "");
}

#[test]
fn no_agent_is_warned_of_its_own_dead_end() {
    let shell = Shell::new();
    dead_end(&shell, "devops", STATEMENT, "make pool");
    let (own, other) = (claude(&shell, "s-1", "devops"), claude(&shell, "s-2", "analyst"));
    own.start();
    other.start();
    spool_is_empty(&shell);
    assert_eq!(own.about_to_run("make pool"), "");
    assert!(other.about_to_run("make pool").contains(STATEMENT));
    let receipt = within(&shell, "s-1", &format!("hm --json --agent devops {REPEAT}"));
    assert_eq!(warned(&receipt), [""; 0], "{receipt}");
}

#[test]
fn what_is_mended_superseded_or_deprecated_warns_no_more() {
    let shell = Shell::new();
    let session = claude(&shell, "s-1", "devops");
    session.start();
    let words = ["fork", "heap", "lock"];
    let ends: Vec<Value> = words
        .iter()
        .map(|word| {
            let statement =
                format!("the {word} of the shared pool deadlocks when workers borrow connections");
            dead_end(&shell, "analyst", &statement, &format!("make {word}"))
        })
        .collect();
    let name = |at: usize| ends[at]["name"].as_str().expect("a name");
    for line in [
        format!(
            "claim create \"the fork of the shared pool is guarded\" --scope src/db --supersedes {} --mends",
            name(0)
        ),
        format!("claim create \"the heap is bounded\" --scope src/db --supersedes {}", name(1)),
        format!("claim deprecate {} --reason \"it works now\"", name(2)),
    ] {
        let receipt = shell.json(&format!("hm --json --agent analyst {line}"));
        assert_eq!(receipt["state"], "committed", "{line}: {receipt}");
    }
    spool_is_empty(&shell);
    for word in words {
        assert_eq!(session.about_to_run(&format!("make {word}")), "", "{word}");
    }
    let receipt = within(&shell, "s-1", &format!("hm --json --agent devops {REPEAT}"));
    assert_eq!(warned(&receipt), [""; 0], "{receipt}");
}

#[test]
fn a_pane_in_a_seat_that_another_had_is_warned_of_what_that_one_found() {
    let shell = Shell::new();
    let root = shell.workspace().root().to_string_lossy().into_owned();
    let hook = |id: &str, event: &str, line: &str| {
        let payload = json!({ "hook_event_name": event, "session_id": id, "cwd": root, "source": "startup",
                              "tool_name": "Bash", "tool_input": { "command": line } });
        let mut hook = shell.command("hm hook claude");
        hook.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut hook = hook.spawn().expect("hm starts");
        let _ = hook.stdin.take().expect("a pipe").write_all(payload.to_string().as_bytes());
        let output = hook.wait_with_output().expect("hm ends");
        spool_is_empty(&shell);
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let create = format!(
        "hm --json claim create \"{STATEMENT}\" --type negative --scope src/db --trigger-command \"make pool\""
    );
    let seat =
        |said: &str| said.split("you are ").nth(1).and_then(|rest| rest.split(' ').next()).map(str::to_owned);
    let first = seat(&hook("s-1", "SessionStart", "")).expect("a seat");
    let made = within(&shell, "s-1", &create);
    assert_eq!(made["state"], "committed", "{made}");
    assert_eq!(hook("s-1", "PreToolUse", "make pool"), "", "its own");
    hook("s-1", "SessionEnd", "");
    let again = seat(&hook("s-2", "SessionStart", "")).expect("a seat");
    assert_eq!(again, first, "the seat was empty");
    assert!(hook("s-2", "PreToolUse", "make pool").contains(STATEMENT), "it knows nothing of it");
}

/// The dead ends of a receipt, in words.
fn told(receipt: &Receipt) -> Vec<&str> {
    let dead_ends = receipt.warnings.iter().filter(|warning| warning.code == WarningCode::NegativeClaim);
    dead_ends.map(|warning| warning.message.as_str()).collect()
}

fn accepted(committer: &mut Committer, submission: &Submission) -> Receipt {
    committer
        .commit(std::slice::from_ref(submission))
        .expect("a ledger")
        .remove(0)
        .expect("an accepted command")
}

/// A claim at a place, by an agent in a session.
fn at(by: &str, session: Option<&str>, create: CreateClaim, scope: &str) -> Submission {
    let create = CreateClaim { scopes: vec![scope.parse().expect("a scope")], ..create };
    let session = session.map(|session| session.parse().expect("a session"));
    Submission { session, ..request(by, Command::CreateClaim(create)) }
}

#[test]
fn a_receipt_quotes_a_dead_end_whole_and_tells_of_it_once() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let said = "a pool of connections that every worker borrows from and returns to late makes all workers wait for \
                each other until the database ends the oldest one";
    assert!(said.chars().count() > 140 && said.chars().count() < 160);
    let trigger = Trigger { commands: vec!["make pool".parse().expect("a command")], ..Trigger::default() };
    let end = CreateClaim { claim_type: ClaimType::Negative, trigger: Some(trigger), ..fact(said) };
    let end = at(
        "analyst",
        Some("s-1"),
        CreateClaim { statement: format!("{said}\nand more").parse().expect("two lines"), ..end },
        "src/db",
    );
    accepted(&mut committer, &end);
    let mut repeats = |by: &str, session: Option<&str>, words: &str| {
        let receipt = accepted(&mut committer, &at(by, session, fact(words), "src/db/pool.rs"));
        told(&receipt).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let first = repeats("devops", Some("s-2"), "each worker returns connections at once");
    assert!(first[0].contains(&format!("\"{said}\"")), "the first line, whole: {first:?}");
    assert_eq!(repeats("devops", Some("s-2"), "each worker keeps its own connections"), [""; 0]);
    assert_eq!(
        repeats("devops", Some("s-3"), "no worker returns connections early").len(),
        1,
        "another session"
    );
    assert_eq!(
        repeats("architect", Some("s-2"), "each worker opens two connections").len(),
        1,
        "another agent"
    );
    assert_eq!(repeats("analyst", Some("s-9"), "each worker opens three connections"), [""; 0], "its own");
    for words in ["each worker checks its connections", "each worker counts its connections"] {
        assert_eq!(repeats("devops", None, words).len(), 1, "no session to remember it for");
    }
    assert_eq!(folded(&workspace.events()), *committer.state());
    let before = dump(&workspace.team_memory());
    committer.rebuild(|_| ()).expect("a rebuild");
    assert_eq!(dump(&workspace.team_memory()), before);
}

#[test]
fn what_waited_in_the_spool_told_no_agent_anything() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let end = CreateClaim { claim_type: ClaimType::Negative, ..fact(STATEMENT) };
    accepted(&mut committer, &at("analyst", Some("s-1"), end, "src/db"));
    let queued = at("devops", Some("s-2"), fact("the pool opens its connections late"), "src/db/pool.rs");
    let spool = Spool::of(&workspace);
    spool.append(&queued).expect("a writable spool");
    committer.replay(&spool).expect("a replay");
    assert!(committer.state().claim(claim_of(&queued)).is_some());
    let direct = at("devops", Some("s-2"), fact("the pool opens its connections twice"), "src/db/pool.rs");
    assert_eq!(told(&accepted(&mut committer, &direct)).len(), 1);
}
