//! What an agent is warned of: in words, once a session over receipts and hooks, and never of its own or of what is over.

use std::io::Write;
use std::process::Stdio;

use hivemind::domain::claim::{ClaimType, Position, Trigger};
use hivemind::domain::command::{Command, CreateClaim, DeprecateClaim, RecordDecision, Submission};
use hivemind::domain::receipt::{Receipt, WarningCode};
use hivemind::mcp::{Era, Pane};
use hivemind::spool::Spool;
use hivemind::writer::Committer;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::harness::{TempWorkspace, block_on, claim_of, dump, fact, folded, position, request};
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
fn a_dead_end_warns_once_a_turn() {
    let shell = Shell::new();
    dead_end(&shell, "analyst", STATEMENT, "make pool");
    let (one, other) = (claude(&shell, "s-1", "devops"), claude(&shell, "s-2", "architect"));
    one.start();
    committed(&one, &shell, "first");
    assert!(one.about_to_run("make pool").contains(STATEMENT));
    spool_is_empty(&shell);
    assert_eq!(one.about_to_run("make pool"), "", "the same turn");
    committed(&one, &shell, "second");
    assert!(one.about_to_run("make pool").contains(STATEMENT), "another turn");
    spool_is_empty(&shell);
    other.start();
    committed(&other, &shell, "first");
    assert!(other.about_to_run("make pool").contains(STATEMENT), "another session");
    spool_is_empty(&shell);
    assert_eq!(kinds(&shell, "guard.fired"), 3);
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

/// Red before: a claim that said that bugs are mended was warned of each of them, up to five times.
#[test]
fn a_receipt_warns_of_no_dead_end_that_its_author_knows_and_of_two_at_most() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let mut ends = Vec::new();
    for number in 1..=5 {
        let said = format!("bug {number}: the pool keeps the connections of its workers, case {number}");
        let end = CreateClaim { claim_type: ClaimType::Negative, ..fact(&said) };
        let made = at("analyst", Some("s-1"), end, "src/pool.rs");
        accepted(&mut committer, &made);
        ends.push(claim_of(&made));
    }
    let mut says = |session: &str, create: CreateClaim| {
        let receipt = accepted(&mut committer, &at("devops", Some(session), create, "src/pool.rs"));
        told(&receipt).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let named = "the pool ends the connections of its workers: C1, C2 and C3-C5 are mended";
    assert_eq!(says("s-2", fact(named)), [""; 0], "named");
    let asks = vec![hivemind::domain::agent::AgentId::recorded("analyst")];
    let asking = CreateClaim { asks, ..fact("may the pool lend the connections of its workers?") };
    assert_eq!(says("s-3", asking), [""; 0], "their owner is asked");
    let two = says("s-4", fact("the pool shares the connections of its workers"));
    assert_eq!(two.len(), 2, "{two:?}");
    assert!(two[1].ends_with("; 3 more: `hivemind://negative`"), "{two:?}");
    for end in ends {
        accepted(&mut committer, &position("devops", end, Position::Support));
    }
    let mut says = |session: &str, create: CreateClaim| {
        let receipt = accepted(&mut committer, &at("devops", Some(session), create, "src/pool.rs"));
        told(&receipt).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(says("s-5", fact("the pool counts the connections of its workers")), [""; 0], "supported");
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
    hivemind::writer::replay(&mut committer, &spool).expect("a replay");
    assert!(committer.state().claim(claim_of(&queued)).is_some());
    let direct = at("devops", Some("s-2"), fact("the pool opens its connections twice"), "src/db/pool.rs");
    assert_eq!(told(&accepted(&mut committer, &direct)).len(), 1);
}

// --- what another agent said minutes ago ---------------------------------------------------------------------------

/// The notes of a receipt on what other agents said minutes ago.
fn notes(receipt: &Receipt) -> Vec<String> {
    let notes = receipt.warnings.iter().filter(|warning| warning.code == WarningCode::RecentClaim);
    notes.map(|note| note.message.replace(&note.claim_id.expect("a claim").to_string(), "ID")).collect()
}

fn decides(by: &str, statement: &str, scope: &str) -> Submission {
    let CreateClaim { claim_id, statement, .. } = fact(statement);
    let record = RecordDecision {
        claim_id,
        statement: Some(statement),
        scopes: vec![scope.parse().expect("a scope")],
        target: None,
        rationale: "it was measured".parse().expect("a rationale"),
        context: None,
        decided_at: None,
        alternatives: Vec::new(),
        supersedes: Vec::new(),
        evidence_refs: Vec::new(),
        mends: false,
        asks: Vec::new(),
        unless_objection_minutes: None,
    };
    request(by, Command::RecordDecision(record))
}

#[test]
fn what_another_agent_said_minutes_ago_about_the_same_place_is_told_in_words() {
    let workspace = TempWorkspace::new();
    // Its clock ticks a minute for each command.
    let mut committer = workspace.committer(1);
    let mut says = |submission: &Submission| notes(&accepted(&mut committer, submission));
    assert_eq!(says(&decides("architect", "we use a heap", "src/ttl.py")), [""; 0], "it is the first");
    let second = says(&decides("devops", "expiry is checked on read", "src/ttl.py"));
    assert_eq!(second, ["architect decided here 1 minute ago: \"we use a heap\" (ID)"]);
    let third = at("devops", Some("s-1"), fact("len() counts expired keys"), "src/ttl.py");
    assert_eq!(says(&third), [""; 0], "told once, and its own decision is no news");
    let fourth = at("analyst", Some("s-4"), fact("the lock is not reentrant"), "src");
    let told = [
        "devops claimed here 1 minute ago: \"len() counts expired keys\" (ID)",
        "devops decided here 2 minutes ago: \"expiry is checked on read\" (ID)",
    ];
    assert_eq!(says(&fourth), told, "the newest two, and a directory holds its files");
    let sweep = at("analyst", Some("s-4"), fact("a sweep runs at night"), "src/ttl.py");
    assert_eq!(says(&sweep), [""; 0], "of what was there before, the receipt before told");
    says(&at("devops", Some("s-1"), fact("a sweep takes the lock"), "src/ttl.py"));
    let again = at("analyst", Some("s-4"), fact("an empty sweep is free"), "src/ttl.py");
    assert_eq!(
        says(&again),
        ["devops claimed here 1 minute ago: \"a sweep takes the lock\" (ID)"],
        "what came since"
    );
    for (scope, why) in [("docs/ttl.md", "another file"), (".", "everywhere"), ("tag:ttl", "no path")] {
        assert_eq!(
            says(&at("reviewer", Some("s-5"), fact(&format!("{scope} is long")), scope)),
            [""; 0],
            "{why}"
        );
    }
    for number in 0..10 {
        says(&at("operator", Some("s-6"), fact(&format!("wording {number} of the guide")), "docs/guide.md"));
    }
    assert_eq!(
        says(&at("reviewer", Some("s-7"), fact("a view copies"), "src/ttl.py")),
        [""; 0],
        "too long ago"
    );
    assert_eq!(folded(&workspace.events()), *committer.state());
}

#[test]
fn nothing_that_is_over_known_or_in_the_same_receipt_is_a_note() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let over = at("architect", Some("s-1"), fact("the cache is written through"), "src/cache.rs");
    let supported = at("architect", Some("s-1"), fact("eviction is random"), "src/cache.rs");
    let similar = at("architect", Some("s-1"), fact("the shard count is a power of two"), "src/cache.rs");
    let opposed = at("architect", Some("s-1"), fact("the cache holds 20 entries"), "src/cache.rs");
    for submission in [&over, &supported, &similar, &opposed] {
        accepted(&mut committer, submission);
    }
    let reason = "it is not".parse().expect("a reason");
    let claim_id = claim_of(&over);
    accepted(
        &mut committer,
        &request("architect", Command::DeprecateClaim(DeprecateClaim { claim_id, reason })),
    );
    accepted(&mut committer, &position("devops", claim_of(&supported), Position::Support));
    let mut repeat = fact("the shard count is a power of 2");
    repeat.evidence_refs = vec![claim_of(&opposed).creation_event().into()];
    let receipt = accepted(&mut committer, &at("devops", Some("s-2"), repeat, "src/cache.rs"));
    assert!(
        receipt.similar.contains(&claim_of(&similar)) || receipt.alike.contains(&claim_of(&similar)),
        "{receipt:?}"
    );
    assert_eq!(notes(&receipt), [""; 0], "{receipt:?}");
    let receipt = accepted(
        &mut committer,
        &at("reviewer", Some("s-3"), fact("the cache holds 30 entries"), "src/cache.rs"),
    );
    let named: Vec<_> =
        receipt.warnings.iter().filter(|warning| warning.claim_id == Some(claim_of(&opposed))).collect();
    assert_eq!(named.len(), 1, "the contradiction names it: {receipt:?}");
}

#[test]
fn a_competing_decision_is_told_of_the_first_by_verb_and_tool() {
    let shell = Shell::new();
    let decide = |agent: &str, session: &str, says: &str| {
        let line = format!(
            "hm --agent {agent} decision record \"{says}\" --scope src/ttl.py --rationale \"it was measured\""
        );
        let output = shell.command(&line).env("HM_SESSION", session).output().expect("hm runs");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    assert!(!decide("architect", "s-1", "we use a heap").contains("note:"));
    let told = decide("devops", "s-2", "expiry is checked on read");
    let line = told.lines().find(|line| line.starts_with("note: ")).unwrap_or_default();
    assert!(
        line.starts_with("note: architect decided here ") && line.ends_with("\"we use a heap\" (C1)"),
        "{told}"
    );
    let mut serve = shell.command("hm serve");
    serve.env("HM_SESSION", "s-3").env("HM_AGENT", "analyst");
    let create =
        json!({ "statement": "a sweep runs at night", "claim_type": "fact", "scopes": ["src/ttl.py"] });
    let answer = block_on(async {
        let pane = Pane::run(serve.into(), Era::Modern).await.expect("a pane");
        pane.call("create_claim", create).await.expect("an answer")
    });
    assert!(answer.text.contains("; note: devops decided here "), "{}", answer.text);
    assert!(answer.text.contains("\"we use a heap\" (C1)"), "{}", answer.text);
    assert_eq!(answer.body["warnings"][0]["code"], "recent_claim");
}

// --- edits of a file after a claim about it ------------------------------------------------------------------------

/// A client's session edited a file.
fn edited(session: &Session<'_>, shell: &Shell, path: &str) {
    let input =
        json!({ "file_path": format!("{}/{path}", session.cwd()), "old_string": "a", "new_string": "b" });
    let edit = json!({ "tool_name": "Edit", "tool_input": input, "tool_response": {} });
    let before = kinds(shell, "file.edited");
    session.told("PostToolUse", edit);
    spool_is_empty(shell);
    assert_eq!(kinds(shell, "file.edited"), before + 1);
}

#[test]
fn before_an_edit_its_author_is_told_who_edited_the_file_since_its_claim() {
    let shell = Shell::new();
    let (author, editor) = (claude(&shell, "s-1", "devops"), claude(&shell, "s-2", "analyst"));
    author.start();
    editor.start();
    let claim = |session: &str, agent: &str, says: &str, scope: &str| {
        let made = within(
            &shell,
            session,
            &format!("hm --json --agent {agent} claim create \"{says}\" --scope {scope}"),
        );
        assert_eq!(made["state"], "committed", "{made}");
    };
    edited(&editor, &shell, "src/lib.rs");
    claim("s-1", "devops", "insert is O(n)", "src/lib.rs");
    assert_eq!(author.about_to_edit("src/lib.rs"), "", "the edit came before the claim");
    claim("s-2", "analyst", "len() takes the lock", "src/lib.rs");
    claim("s-1", "devops", "the whole crate is small", "src");
    edited(&editor, &shell, "src/lib.rs");
    assert_eq!(author.about_to_edit("src/main.rs"), "", "another file");
    assert_eq!(editor.about_to_edit("src/lib.rs"), "", "its own edit");
    let told = author.about_to_edit("src/lib.rs");
    assert!(told.starts_with("hivemind: src/lib.rs was edited by analyst "), "{told:?}");
    assert!(
        told.contains(" ago, after your C1 (\"insert is O(n)\"): ")
            || told.contains("just now, after your C1 (\"insert is O(n)\"): "),
        "{told}"
    );
    assert!(!told.contains("C3"), "a directory is no file: {told}");
    spool_is_empty(&shell);
    assert_eq!(author.about_to_edit("src/lib.rs"), "", "once for this edit");
    edited(&editor, &shell, "src/lib.rs");
    assert!(author.about_to_edit("src/lib.rs").contains("after your C1"), "another edit");
    spool_is_empty(&shell);
    edited(&editor, &shell, "src/lib.rs");
    edited(&author, &shell, "src/lib.rs");
    assert_eq!(author.about_to_edit("src/lib.rs"), "", "it has seen the file since");
    edited(&editor, &shell, "src/lib.rs");
    within(&shell, "s-1", "hm --json --agent devops claim deprecate C1 --reason \"it has a heap\"");
    assert_eq!(author.about_to_edit("src/lib.rs"), "", "the claim is over");
}

#[tokio::test]
async fn before_a_run_its_author_is_told_who_edited_the_file_since_its_claim() {
    let bench = Bench::new();
    bench.profile("passes", "description = \"a test\"\nargv = [\"true\"]\ntimeout_ms = 20000\n");
    let architect = bench.pane(Some("architect"), Era::Modern).await;
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let id = bench.claim(&architect, "insert is O(n)", "src/a.rs").await;
    let edit = async |pane: &Pane| {
        let report = json!({ "kind": "file_edited", "summary": "a heap", "paths": ["src/a.rs"] });
        bench.accepted(pane, "report_event", report).await;
    };
    let run = async |pane: &Pane| {
        let given = json!({ "profile": "passes", "claim_id": id, "wait": true });
        let answer = pane.call("run_experiment", given).await.expect("an answer");
        assert!(!answer.refused, "{}", answer.text);
        let warnings = answer.body["warnings"].as_array().cloned().unwrap_or_default();
        let told = warnings.into_iter().find(|warning| warning["code"] == "edited_since");
        told.map(|warning| warning["message"].as_str().expect("a sentence").to_owned())
    };
    assert_eq!(run(&architect).await, None, "no edit");
    edit(&devops).await;
    let told = run(&architect).await.expect("a warning");
    assert!(told.starts_with("src/a.rs was edited by devops "), "{told}");
    assert!(told.ends_with(", after your C1 (\"insert is O(n)\")"), "{told}");
    assert_eq!(run(&architect).await, None, "once for this edit");
    assert_eq!(run(&devops).await, None, "it is not its claim");
    edit(&architect).await;
    assert_eq!(run(&architect).await, None, "its own edit is the last");
    edit(&devops).await;
    let output = bench.hm(&["--agent", "architect", "experiment", "run", "passes", "--claim", "C1"]);
    let output = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(
        output.contains("warning: src/a.rs was edited by devops ") && output.contains("after your C1 ("),
        "{output}"
    );
}
