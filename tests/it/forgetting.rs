//! Erasure by session, scope, agent and age: the list that is shown is what goes, and no file holds it afterwards.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Output;

use hivemind::domain::claim::{Position, Relation, ReportKind, Share};
use hivemind::domain::command::{
    AddEvidence, Command, ForgetMany, Observe, ReportEvent, Seen, Submission, TakePosition,
};
use hivemind::domain::event::{Event, FileEdited};
use hivemind::domain::forgetting::{Chosen, Wanted, Which, Why};
use hivemind::domain::ids::{ClaimId, EventId};
use hivemind::domain::rejection::Code;
use hivemind::domain::time::Timestamp;
use hivemind::ledger::Stored;
use hivemind::system;
use hivemind::writer::{Committer, CrashPoint, Front};
use serde_json::Value;

use crate::forget::{PLANTED, holding, planted, reason, rich};
use crate::harness::{
    HM, TempWorkspace, aborted, agent, block_on, body, claim_of, committed, creation, dump, fact, folded,
    position, ran, request, wait_until,
};
use crate::shell::Shell;
use crate::terminal::{Screen, by_a_human, on_screen};

/// A statement that is long enough to be recognised as a quote.
const QUOTED: &str = "the pool of the vqzkjxwb cluster holds 20 connections";
const QUOTED_WORD: &str = "vqzkjxwb";

fn forget_many(which: Which, until: u64) -> Submission {
    request("operator", Command::ForgetMany(ForgetMany { which, until, reason: reason("asked to") }))
}

fn by(name: &str) -> Which {
    Which { agent: Some(agent(name)), ..Which::default() }
}

/// Types a line at a terminal. Its `--agent` names whose words go.
fn typed(shell: &Shell, line: &str) -> Output {
    by_a_human(&shell.command(line))
}

fn json_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// The positions in a list.
fn listed(list: &Value) -> BTreeSet<u64> {
    let events = list["events"].as_array().unwrap_or_else(|| panic!("{list}"));
    events.iter().map(|event| event["seq"].as_u64().expect("a position")).collect()
}

/// The positions of the events without a payload.
fn erased(events: &[Stored]) -> BTreeSet<u64> {
    events.iter().filter(|event| event.payload.is_none()).map(|event| event.seq).collect()
}

#[test]
fn a_dry_run_lists_exactly_what_is_erased_then() {
    let shell = Shell::new();
    let workspace = shell.workspace();
    let front = Front::new(workspace.clone(), PathBuf::from(HM));
    for nth in 0..50 {
        block_on(committed(&front, &creation("frontend", &format!("fact number {nth}")))).expect("a receipt");
    }
    let (made, _) = planted(&front);
    let quoted = creation("devops", QUOTED);
    let quote = ReportEvent {
        event_id: EventId::from_uuid(system::new_id()),
        kind: ReportKind::Note,
        summary: format!("devops said: {QUOTED}").parse().expect("a summary"),
        paths: Vec::new(),
        command: None,
        exit_code: None,
        error_signature: None,
    };
    let quoting = request("analyst", Command::ReportEvent(quote));
    let hooked = Seen::Command(ran(&format!("hm claim create \"{QUOTED}\"")));
    let hooked = Observe { event_id: EventId::from_uuid(system::new_id()), seen: hooked };
    let hooked = request("analyst", Command::Observe(hooked));
    for submission in [&quoted, &quoting, &hooked] {
        block_on(committed(&front, submission)).expect("a receipt");
    }

    let line = "hm --json --agent devops forget --dry-run";
    let dry = typed(&shell, line);
    assert!(dry.status.success(), "{dry:?}");
    let dry = json_of(&dry);
    assert_eq!(dry["dry_run"], true);
    let whys: BTreeSet<&str> =
        dry["events"].as_array().expect("events").iter().filter_map(|event| event["why"].as_str()).collect();
    assert_eq!(whys, BTreeSet::from(["asked", "quotes", "related"]), "{dry}");
    assert!(!holding(workspace.memory(), PLANTED[0]).is_empty(), "a dry run erases nothing");
    let done = typed(&shell, "hm --json --agent devops forget --yes --reason \"asked to\"");
    assert!(done.status.success(), "{done:?}");
    let done = json_of(&done);
    assert_eq!(done["state"], "committed", "{done}");
    assert_eq!(done["warnings"].as_array().map_or(0, Vec::len), 0, "{done}");
    assert_eq!(listed(&done["list"]), listed(&dry));

    shell.end_writer();
    let events = workspace.ledger_of_events();
    assert_eq!(erased(&events), listed(&dry));
    let redactions = events.iter().filter(|event| event.kind == "events.redacted").count();
    assert_eq!(redactions, 1, "one redaction for all");
    // The words of devops, and those of others about its claims. The note of the analyst is about none of them.
    let [statement, challenge, note, report, rationale, support] = PLANTED;
    for word in [statement, challenge, note, rationale, support, QUOTED_WORD] {
        assert_eq!(holding(workspace.memory(), word), Vec::<PathBuf>::new(), "{word}");
    }
    assert!(!holding(workspace.memory(), report).is_empty(), "the words of others about other things stay");

    let verified = shell.json("hm --json verify");
    assert_eq!(
        (&verified["ok"], &verified["erased"]),
        (&true.into(), &listed(&dry).len().into()),
        "{verified}"
    );
    let told = shell.json(&format!("hm --json claim show {}", claim_of(&made)));
    assert_eq!(told["code"].as_str(), Some("unknown_claim"), "{told}");
    shell.end_writer();
    let live = dump(&workspace.team_memory());
    assert!(shell.run("hm rebuild").status.success());
    shell.end_writer();
    assert_eq!(dump(&workspace.team_memory()), live);

    // Nothing is left to forget, and the gaps are explained elsewhere, too.
    let again = json_of(&typed(&shell, line));
    assert_eq!(listed(&again), BTreeSet::new(), "{again}");
    assert!(shell.run("hm export out.jsonl").status.success());
    let other = Shell::new();
    let file = workspace.root().join("out.jsonl");
    let imported = other.json(&format!("hm --json import {}", file.display()));
    assert!(imported["added"].as_u64().is_some_and(|added| added > 50), "{imported}");
    other.end_writer();
    assert!(dump(&other.workspace().ledger()) == dump(&workspace.ledger()));
    assert_eq!(other.json("hm --json verify")["erased"], listed(&dry).len());
}

/// The ledger of a workspace in which no writer runs.
trait Events {
    fn ledger_of_events(&self) -> Vec<Stored>;
}

impl Events for hivemind::workspace::Workspace {
    fn ledger_of_events(&self) -> Vec<Stored> {
        let reader = hivemind::ledger::Reader::open(&self.ledger()).expect("a ledger").expect("a ledger");
        reader.read_from(hivemind::ledger::Cursor::GENESIS, usize::MAX >> 1).expect("events")
    }
}

/// Red before: the files of a run below `artifacts/` stayed, and the receipt asked the operator to delete them.
#[test]
fn the_files_of_runs_go_with_their_session_or_their_agent() {
    for is_by_agent in [false, true] {
        let shell = Shell::new();
        let workspace = shell.workspace();
        let run = "hm --agent operator experiment run --thread-id thread-1 --test-id test-1 -- echo zqxjvkwb";
        let ran = by_a_human(&shell.command(run));
        assert!(ran.status.success(), "{ran:?}");
        let log = shell.json("hm --json log");
        let session = log["events"][0]["session"].as_str().expect("a session").to_owned();
        let which = if is_by_agent { "--agent operator".to_owned() } else { format!("--session {session}") };
        let artifacts = workspace.root().join("artifacts");
        assert!(
            !holding(&artifacts, PLANTED[0]).is_empty()
                && !holding(workspace.memory(), PLANTED[0]).is_empty()
        );
        let dry = json_of(&typed(&shell, &format!("hm --json forget {which} --dry-run")));
        let files = dry["files"].to_string();
        assert!(files.contains("artifacts/") && files.contains("experiments/"), "{dry}");
        let beyond = dry["beyond"].to_string();
        for place in ["--out-file", "backup", "export", "other machines"] {
            assert!(beyond.contains(place), "{place}: {dry}");
        }
        let done = typed(&shell, &format!("hm --json forget {which} --yes --reason \"asked to\""));
        assert!(done.status.success(), "{done:?}");
        assert_eq!(listed(&json_of(&done)["list"]), listed(&dry));
        assert!(!artifacts.exists(), "the directories carry the names of the run");
        assert_eq!(holding(workspace.memory(), PLANTED[0]), Vec::<PathBuf>::new());
        assert_eq!(holding(workspace.root(), PLANTED[0]), Vec::<PathBuf>::new());
        shell.end_writer();
        assert_eq!(erased(&workspace.ledger_of_events()), listed(&dry));
        assert!(shell.run("hm verify").status.success());
    }
}

#[test]
fn one_event_is_shown_with_what_goes_with_it_and_erased_after_a_yes() {
    let shell = Shell::new();
    for line in [
        "hm --agent devops claim create \"the pool holds twenty connections at most\" --scope src",
        "hm --agent devops claim create \"because the pool holds twenty connections at most\" --scope src",
        "hm --agent devops claim create \"retry deadlocks\" --scope src",
    ] {
        assert!(shell.run(line).status.success());
    }
    let typed = "hm forget C1 --reason \"a slip\"";
    let (code, shown) = on_screen(&shell.command(typed), "n\n");
    assert_eq!(code, Some(2), "{shown}");
    for part in
        ["#1 claim.created by devops: the pool holds", "(quotes it)", "Erase these 2 events for good?"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(shell.json("hm --json verify")["erased"], 0);
    let (code, shown) = on_screen(&shell.command(typed), "y\n");
    assert!(code == Some(0) && shown.contains("erased C1"), "{shown}");
    assert_eq!(shell.json("hm --json verify")["erased"], 2);
    // What is erased already is refused without a question, and --yes asks none.
    let (code, shown) = on_screen(&shell.command(typed), "");
    assert!(code == Some(1) && shown.contains("was erased already"), "{shown}");
    let (code, shown) = on_screen(&shell.command("hm forget C3 --yes --reason \"a slip\""), "");
    assert!(code == Some(0) && !shown.contains("for good?"), "{shown}");
}

#[test]
fn an_erasure_whose_list_grew_before_the_answer_erases_nothing() {
    let shell = Shell::new();
    let twice = |statement: &str| {
        let line = format!("hm --agent devops claim create \"{statement}\" --scope src");
        assert!(shell.run(&line).status.success(), "{line}");
    };
    twice("the pool holds twenty connections at most");
    let mut screen = Screen::open(&shell.command("hm forget C1 --reason \"a slip\""), (40, 120));
    screen.wait_for("Erase this event for good?");
    twice("because the pool holds twenty connections at most");
    screen.press("y\n");
    screen.wait_for("nothing was erased: something that quotes it was written meanwhile");
    assert_eq!(screen.ended(), Some(2));
    assert_eq!(shell.json("hm --json verify")["erased"], 0);
}

#[test]
fn only_a_human_forgets_many_and_only_after_a_yes() {
    let shell = Shell::new();
    let front = Front::new(shell.workspace(), PathBuf::from(HM));
    block_on(committed(&front, &creation("devops", "the pool holds 20"))).expect("a receipt");
    let refused = |output: Output, code: i32, why: &str| {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(code) && said.contains(why), "{output:?}");
    };
    refused(shell.run("hm --agent devops forget --yes --reason \"mine\""), 1, "only a human at a terminal");
    let mut pane = shell.command("hm forget --session s-1 --yes --reason \"mine\"");
    refused(by_a_human(pane.env("HM_AGENT", "devops")), 1, "only the operator may do this");
    refused(typed(&shell, "hm forget --yes --reason \"everything\""), 2, "--session, --scope, --agent");
    refused(typed(&shell, "hm --agent devops forget --reason \"no question can be asked\""), 2, "pass --yes");
    refused(typed(&shell, "hm --agent devops forget --older-than yesterdayish --dry-run"), 2, "older-than");
    let (code, shown) = on_screen(&shell.command("hm --agent devops forget --reason asked"), "n\n");
    assert_eq!(code, Some(2), "{shown}");
    assert!(shown.contains("claim.created by devops: the pool holds 20"), "{shown}");
    assert!(shown.contains("1 event: 1 claim.created") && shown.contains("not reached: backups"), "{shown}");
    assert_eq!(shell.json("hm --json verify")["erased"], 0);
    let (code, shown) = on_screen(&shell.command("hm --agent devops forget --reason asked"), "y\n");
    assert_eq!(code, Some(0), "{shown}");
    assert_eq!(shell.json("hm --json verify")["erased"], 1);
    let empty = typed(&shell, "hm --agent devops forget --yes --reason asked");
    assert!(String::from_utf8_lossy(&empty.stdout).contains("no event with words is left"), "{empty:?}");

    // The writer itself refuses what a front does not.
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let outcome = |committer: &mut Committer, asked: Submission| {
        committer.commit(&[asked]).expect("a ledger").remove(0).expect_err("a refusal").code
    };
    committer.commit(&[creation("devops", "the pool holds 20")]).expect("a ledger");
    let mine = request("devops", forget_many(by("devops"), 9).command);
    assert_eq!(outcome(&mut committer, mine), Code::NotAllowed);
    assert_eq!(outcome(&mut committer, forget_many(Which::default(), 9)), Code::InvalidArgument);
    assert_eq!(outcome(&mut committer, forget_many(by("analyst"), 9)), Code::InvalidArgument);
    assert_eq!(outcome(&mut committer, forget_many(by("devops"), 0)), Code::InvalidArgument);
}

#[test]
fn a_crash_leaves_all_of_it_forgotten_or_none() {
    for (name, point) in CrashPoint::ALL {
        if point == CrashPoint::Replayed {
            continue;
        }
        let workspace = TempWorkspace::new();
        let front = workspace.front();
        for word in &PLANTED[..3] {
            let made = creation("devops", &format!("the {word} holds 20"));
            block_on(committed(&front, &made)).expect("a receipt");
        }
        workspace.end_writer();
        let mut writer = workspace.writer(&["--crash-at", name]);
        wait_until("the writer listens", || block_on(front.writer_is_up()));
        let asked = forget_many(by("devops"), 3);
        let answer = block_on(front.submit_unqueued(asked.clone()));
        assert!(aborted(writer.ended()), "{name}: the writer was to abort");
        let _next = workspace.writer(&[]);
        wait_until("the writer listens", || block_on(front.writer_is_up()));
        let left = || PLANTED[..3].iter().map(|word| holding(workspace.memory(), word).len()).sum::<usize>();
        let report = workspace.ledger_reader().verify(|_| ()).expect("a readable ledger");
        assert_eq!(report.fault, None, "{name}");
        let expected = if point == CrashPoint::Decided { (false, 0) } else { (true, 3) };
        assert_eq!((left() == 0, report.erased), expected, "{name}");
        assert!(answer.is_err() || point == CrashPoint::Answered, "{name}: {answer:?}");
        // The same request again ends in the same place.
        let receipt = block_on(front.submit_unqueued(asked)).expect("a receipt");
        assert_eq!((receipt.seq, receipt.duplicate), (Some(4), point != CrashPoint::Decided), "{name}");
        assert_eq!(left(), 0, "{name}");
        workspace.end_writer();
        workspace.assert_sound();
    }
}

#[test]
fn what_was_forgotten_at_once_leaves_a_sound_memory() {
    let all = |which: &Which| {
        let workspace = TempWorkspace::new();
        let mut committer = workspace.committer(7);
        rich(&mut committer);
        let until = committer.head().seq;
        let chosen: Vec<Chosen> =
            workspace.ledger_reader().to_forget(Wanted::Many(which), until).expect("a list").goes;
        let list: BTreeSet<u64> = chosen.iter().map(|chosen| chosen.event.seq).collect();
        let done = committer.commit(&[forget_many(which.clone(), until)]).expect("a ledger").remove(0);
        done.expect("an erasure");
        assert_eq!(erased(&workspace.events()), list, "{which:?}");
        assert_eq!(*committer.state(), folded(&workspace.events()), "{which:?}");
        // The memory goes on, and so does forgetting.
        committer.commit(&[creation("devops", "the pool holds 20")]).expect("a ledger")[0]
            .as_ref()
            .expect("a claim");
        let head = committer.head().seq;
        let rest = Which { before: Some(Timestamp::from_ms(i64::MAX)), ..Which::default() };
        let left = workspace.ledger_reader().to_forget(Wanted::Many(&rest), head).expect("a list").goes;
        assert!(left.iter().all(|left| !list.contains(&left.event.seq)));
        committer.commit(&[forget_many(rest, head)]).expect("a ledger").remove(0).expect("an erasure");
        assert_eq!(*committer.state(), folded(&workspace.events()), "{which:?}");
        drop(committer);
        workspace.assert_sound();
        let scan = hivemind::integrity::Scan::of(&workspace, &std::sync::atomic::AtomicBool::new(false));
        assert_eq!(scan.expect("a scan").findings, [], "what was erased is explained");
        list
    };
    let lists = ["devops", "reviewer", "architect", "operator"].map(|name| all(&by(name)));
    assert!(lists.iter().all(|list| !list.is_empty()));
    // Both filters at once take what passes both, and what goes with it.
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(7);
    rich(&mut committer);
    let asked = |which: &Which| -> BTreeSet<u64> {
        let chosen = workspace.ledger_reader().to_forget(Wanted::Many(which), u64::MAX).expect("a list").goes;
        chosen.iter().filter(|chosen| chosen.why == Why::Asked).map(|chosen| chosen.event.seq).collect()
    };
    let of_architect = asked(&by("architect"));
    let second = workspace.events().into_iter().filter(|event| event.kind == "decision.recorded").nth(1);
    let early = Which { before: second.map(|event| event.at), ..by("architect") };
    let early = asked(&early);
    assert!(
        !early.is_empty() && early.is_subset(&of_architect) && early.len() < of_architect.len(),
        "{early:?}"
    );
}

/// A workspace with claims, edits and evidence at two places.
fn two_places(committer: &mut Committer) -> [ClaimId; 2] {
    let [one, other] = ["src/db", "src/ui"].map(|scope| {
        let mut made = fact(&format!("there is something to know at {scope}"));
        made.scopes = vec![scope.parse().expect("a scope")];
        let id = made.claim_id;
        let edit = FileEdited {
            paths: vec![format!("{scope}/mod.rs").parse().expect("a scope")],
            versions: Default::default(),
            merged: None,
            checkout: Default::default(),
        };
        let seen = EventId::from_uuid(system::new_id());
        let edit = Observe { event_id: seen, seen: Seen::Files(edit) };
        let group = [
            request("devops", Command::CreateClaim(made)),
            position("analyst", id, Position::Challenge),
            request("reviewer", Command::Observe(edit)),
            request(
                "frontend",
                Command::AddEvidence(AddEvidence {
                    claim_id: id,
                    evidence_ref: seen.into(),
                    relation: Relation::Supports,
                    weight: Share::FULL,
                    note: Some(reason("the edit shows it")),
                }),
            ),
        ];
        for outcome in committer.commit(&group).expect("a ledger") {
            outcome.expect("an accepted command");
        }
        id
    });
    [one, other]
}

#[test]
fn a_scope_takes_claims_edits_and_what_is_about_them() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let [gone, stays] = two_places(&mut committer);
    let head = committer.head().seq;
    let at_place = Which { scope: Some("src/db".parse().expect("a scope")), ..Which::default() };
    // One agent's words about a claim of another one, and nothing of the claim.
    let of_analyst = Which { agent: Some(agent("analyst")), ..at_place.clone() };
    let listed = |which: &Which| -> Vec<(String, String)> {
        let chosen = workspace.ledger_reader().to_forget(Wanted::Many(which), head).expect("a list").goes;
        let line = |chosen: &Chosen| {
            let kind = chosen.event.event.as_ref().map_or("", Event::kind);
            (kind.to_owned(), chosen.event.agent.to_string())
        };
        chosen.iter().map(line).collect()
    };
    let line = |kind: &str, by: &str| (kind.to_owned(), by.to_owned());
    assert_eq!(listed(&of_analyst), [line("position.taken", "analyst")]);
    assert_eq!(
        listed(&at_place),
        [
            line("claim.created", "devops"),
            line("position.taken", "analyst"),
            line("file.edited", "reviewer"),
            line("evidence.added", "frontend"),
        ]
    );
    committer.commit(&[forget_many(at_place, head)]).expect("a ledger").remove(0).expect("an erasure");
    assert!(committer.state().claim(gone).is_none() && committer.state().claim(stays).is_some());
    let db = "src/db";
    assert_eq!(holding(workspace.memory(), db), Vec::<PathBuf>::new(), "the redaction repeats no filter");
    let redaction = workspace.events().into_iter().find(|event| event.kind == "events.redacted");
    assert!(matches!(body(&redaction.expect("a redaction")), Event::EventsRedacted(_)));
    let again =
        TakePosition { claim_id: stays, position: Position::Support, reason: None, evidence_ref: None };
    committer.commit(&[request("reviewer", Command::TakePosition(again))]).expect("a ledger")[0]
        .as_ref()
        .expect("a position");
    drop(committer);
    workspace.assert_sound();
}
