//! Erasure: what an operator had forgotten is in no file any more, and the ledger still verifies.

use std::path::{Path, PathBuf};

use expect_test::expect;
use hivemind::domain::claim::{Outcome, Position, Relation, ReportKind};
use hivemind::domain::command::{
    AddEvidence, Command, DeprecateClaim, Forget, Observe, RecordDecision, RecordOutcome, ReportEvent, Seen,
    Submission, TakePosition,
};
use hivemind::domain::event::CommandRan;
use hivemind::domain::ids::{ClaimId, EventId};
use hivemind::domain::rejection::Code;
use hivemind::domain::text::Reason;
use hivemind::ledger::Fault;
use hivemind::system;
use hivemind::writer::{CrashPoint, Front};
use rusqlite::Connection;
use serde_json::Value;

use crate::harness::{
    HM, TempWorkspace, aborted, block_on, claim_of, committed, creation, dump, fact, folded, position, ran,
    request, wait_until, with_key,
};
use crate::shell::Shell;

/// Words that no stemmer changes.
pub(crate) const PLANTED: [&str; 6] =
    ["zqxjvkwb", "wbzqxjvk", "kvjxqzbw", "bwkvjxqz", "xqjzkvwb", "jzkqxvwb"];

pub(crate) fn reason(text: &str) -> Reason {
    text.parse().expect("a reason")
}

fn forget(event_id: EventId) -> Submission {
    request("operator", Command::Forget(Forget { event_id, reason: reason("asked to"), with_quotes: false }))
}

/// Every file below a directory that holds some bytes. The first letter is left out: an index may keep it apart.
pub(crate) fn holding(dir: &Path, word: &str) -> Vec<PathBuf> {
    let wanted = &word.as_bytes()[1..];
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(holding(&path, word));
        } else if path.is_file() {
            let bytes = std::fs::read(&path).expect("a readable file").to_ascii_lowercase();
            if bytes.windows(wanted.len()).any(|window| window == wanted) {
                found.push(path);
            }
        }
    }
    found
}

/// A claim and everything that can be said about it, each with a planted word of its own.
pub(crate) fn planted(front: &Front) -> (Submission, Vec<Submission>) {
    let [statement, challenge, note, report, rationale, support] = PLANTED;
    let mut made = with_key(creation("devops", &format!("the {statement} holds 20")), "the key");
    let Command::CreateClaim(create) = &mut made.command else { panic!("{made:?}") };
    create.claim_type = hivemind::domain::claim::ClaimType::Decision;
    let claim_id = claim_of(&made);
    let seen = EventId::from_uuid(system::new_id());
    let said = vec![
        request(
            "analyst",
            Command::ReportEvent(ReportEvent {
                event_id: seen,
                kind: ReportKind::Note,
                summary: format!("saw {report}").parse().expect("a summary"),
                paths: Vec::new(),
                command: None,
                exit_code: None,
                error_signature: None,
            }),
        ),
        request(
            "reviewer",
            Command::TakePosition(TakePosition {
                claim_id,
                position: Position::Challenge,
                reason: Some(reason(&format!("because of {challenge}"))),
                evidence_ref: None,
            }),
        ),
        request(
            "analyst",
            Command::AddEvidence(AddEvidence {
                claim_id,
                evidence_ref: seen.into(),
                relation: Relation::Supports,
                weight: hivemind::domain::claim::Share::FULL,
                note: Some(reason(&format!("see {note}"))),
            }),
        ),
        request(
            "devops",
            Command::RecordDecision(RecordDecision {
                mends: false,
                evidence_refs: Vec::new(),
                decided_at: None,
                claim_id,
                statement: None,
                rationale: format!("chosen for {rationale}").parse().expect("a rationale"),
                context: None,
                target: None,
                scopes: Vec::new(),
                alternatives: Vec::new(),
                supersedes: Vec::new(),
                asks: Vec::new(),
                unless_objection_minutes: None,
            }),
        ),
        request(
            "operator",
            Command::TakePosition(TakePosition {
                claim_id,
                position: Position::Support,
                reason: Some(reason(&format!("{support} says so"))),
                evidence_ref: None,
            }),
        ),
    ];
    block_on(async {
        for submission in std::iter::once(&made).chain(&said) {
            committed(front, submission).await.expect("an accepted command");
        }
    });
    (made, said)
}

#[test]
fn what_was_forgotten_is_in_no_file() {
    let shell = Shell::new();
    let workspace = shell.workspace();
    let runtime = workspace.memory();
    let front = Front::new(workspace.clone(), PathBuf::from(HM));
    for nth in 0..200 {
        // Neighbours, so that pages split and the index merges.
        block_on(committed(&front, &creation("frontend", &format!("fact number {nth}")))).expect("a receipt");
    }
    let (made, said) = planted(&front);
    // A front that died in the middle of queueing the same command: the writer sets half a line aside.
    let line = serde_json::to_string(&made).expect("JSON");
    std::fs::write(workspace.spool(), &line[..line.len() - 9]).expect("a spool");
    wait_until("the half line is set aside", || workspace.rejected_spool().exists());
    let aside = holding(runtime, PLANTED[0]);
    assert!(aside.contains(&workspace.rejected_spool()), "{aside:?}");
    for word in PLANTED {
        let files = holding(runtime, word);
        assert!(files.contains(&workspace.ledger()) || files.len() > 1, "{word} was planted: {files:?}");
    }
    let backup = shell.json("hm --json backup kept");
    assert!(backup["events"].as_u64().is_some(), "{backup}");

    // The receipt of one names the others.
    let log = shell.json("hm --json log --limit 500");
    let event_of = |submission: &Submission| -> String {
        let causation = submission.command_id.to_string();
        let events = log["events"].as_array().expect("events");
        let event = events.iter().find(|event| event["causation_id"] == causation.as_str());
        event.expect("the first event of a command")["id"].as_str().expect("an id").to_owned()
    };
    let erase = |event: &str| {
        let told = shell.json(&format!("hm --json --agent operator forget {event} --reason \"asked to\""));
        assert_eq!(
            (&told["state"], &told["warnings"]),
            (&"committed".into(), &Value::Array(vec![])),
            "{told}"
        );
        told
    };
    let told = erase(&event_of(&made));
    assert_eq!(told["event_id"].as_str(), Some(event_of(&made).as_str()), "{told}");
    let next = told["next"].as_str().expect("what else there is to forget");
    for other in said.iter().skip(1) {
        assert!(next.contains(&event_of(other)), "{next}");
    }
    assert_eq!(holding(runtime, PLANTED[0]), Vec::<PathBuf>::new(), "the statement");
    assert!(!holding(runtime, PLANTED[1]).is_empty(), "nothing else was erased");
    for (submission, word) in said.iter().zip([3, 1, 2, 4, 5]) {
        erase(&event_of(submission));
        assert_eq!(holding(runtime, PLANTED[word]), Vec::<PathBuf>::new(), "{}", PLANTED[word]);
    }
    assert!(!holding(&workspace.root().join("kept"), PLANTED[0]).is_empty(), "a backup is not touched");

    // The chain stands, the live read models are a rebuild's, and the claim shows as nothing.
    let verified = shell.json("hm --json verify");
    assert_eq!((&verified["ok"], &verified["erased"]), (&true.into(), &6.into()), "{verified}");
    let told = shell.json(&format!("hm --json claim show {}", claim_of(&made)));
    assert_eq!(told["code"].as_str(), Some("unknown_claim"), "{told}");
    shell.end_writer();
    let live = dump(&workspace.team_memory());
    assert!(shell.run("hm rebuild").status.success());
    shell.end_writer();
    assert_eq!(dump(&workspace.team_memory()), live);

    // And what is exported now comes back the same, gaps and all.
    assert!(shell.run("hm export out.jsonl").status.success());
    assert_eq!(holding(workspace.root().join(".hivemind").as_path(), PLANTED[0]), Vec::<PathBuf>::new());
    let other = Shell::new();
    let file = workspace.root().join("out.jsonl");
    let imported = other.json(&format!("hm --json import {}", file.display()));
    assert!(imported["added"].as_u64().is_some_and(|added| added > 200), "{imported}");
    other.end_writer();
    assert!(dump(&other.workspace().ledger()) == dump(&workspace.ledger()));
    assert!(dump(&other.workspace().team_memory()) == live);
    assert_eq!(other.json("hm --json verify")["erased"], 6);
}

#[test]
fn only_the_operator_forgets_and_only_what_is_there() {
    let mut shell = Shell::new();
    shell.check(
        &[
            "hm --agent devops claim create \"the pool holds 20\" --scope src",
            "hm --agent analyst claim support C1",
            "hm --agent devops forget C1 --reason \"mine\"",
            "hm forget C1 --reason \"nobody at a terminal\"",
            "hm --agent operator forget 00000000-0000-7000-8000-000000000000 --reason \"a slip\"",
            "hm --agent operator forget C1 --reason \"a customer's name\"",
            "hm --agent operator forget C1 --reason \"again\"",
            "hm verify",
        ],
        expect![[r#"
            $ hm --agent devops claim create "the pool holds 20" --scope src
            claim created C1: committed at seq 1
            next: confirmed once another agent supports it
            $ hm --agent analyst claim support C1
            supported C1: committed at seq 3
            next: confirmed: agreed by analyst
            $ hm --agent devops forget C1 --reason "mine"
            hm: only the operator erases, and you are devops; ask the human, or deprecate the claim: it stays readable and is out of force
            [exit 1]
            $ hm forget C1 --reason "nobody at a terminal"
            hm: nobody says who is speaking; pass --agent NAME or set HM_AGENT; without either a human at a terminal is the operator, and in the shell of a client the agent of its session speaks
            [exit 2]
            $ hm --agent operator forget ID1 --reason "a slip"
            hm: no event in the ledger has the id ID1; take the id from `hm log`; the nearest are C1, #2
            [exit 1]
            $ hm --agent operator forget C1 --reason "a customer's name"
            erased C1: committed at seq 4
            next: forget these too if they repeat it: #2 (position.taken by analyst)
            $ hm --agent operator forget C1 --reason "again"
            hm: event C1 was erased already; nothing to do: its payload is gone
            [exit 1]
            $ hm verify
            ok: 4 events, 1 of them erased, head HASH
        "#]],
    );
}

#[test]
fn a_gap_that_nobody_explains_is_a_fault() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let made: Vec<Submission> = ["one", "two", "three"].iter().map(|text| creation("devops", text)).collect();
    committer.commit(&made).expect("a ledger");
    let target = claim_of(&made[1]).creation_event();
    committer.commit(&[forget(target)]).expect("a ledger")[0].as_ref().expect("an erasure");
    drop(committer);
    let report = workspace.ledger_reader().verify(|_| ()).expect("a readable ledger");
    assert_eq!((report.fault, report.erased), (None, 1));
    // Another payload, taken away by hand.
    let db = Connection::open(workspace.ledger()).expect("the file");
    assert_eq!(db.execute("DELETE FROM payloads WHERE seq = 3", []).expect("a row"), 1);
    let fault = || workspace.ledger_reader().verify(|_| ()).expect("a readable ledger").fault;
    assert_eq!(fault(), Some(Fault::PayloadMissing(3)));
    // And so is the one that was explained, once what explains it is gone.
    assert_eq!(db.execute("DELETE FROM payloads WHERE seq = 4", []).expect("a row"), 1);
    assert_eq!(fault(), Some(Fault::PayloadMissing(2)));
}

#[test]
fn a_retry_of_what_was_forgotten_does_nothing_again() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let made = with_key(creation("devops", "the pool holds 20"), "key");
    let first =
        committer.commit(std::slice::from_ref(&made)).expect("a ledger")[0].clone().expect("a receipt");
    committer.commit(&[forget(claim_of(&made).creation_event())]).expect("a ledger")[0]
        .as_ref()
        .expect("done");
    let events = workspace.events().len();
    let again =
        committer.commit(std::slice::from_ref(&made)).expect("a ledger")[0].clone().expect("a receipt");
    assert_eq!(
        (again.command_id, again.entity_id, again.seq),
        (first.command_id, first.entity_id, first.seq)
    );
    assert!(again.duplicate);
    // Under the key alone nobody can say any more whether it is the same request.
    for text in ["the pool holds 20", "something else"] {
        let called_again = with_key(creation("devops", text), "key");
        let refused = committer.commit(&[called_again]).expect("a ledger")[0].clone().expect_err("erased");
        assert_eq!(
            (refused.code, &refused.details["command_id"]),
            (Code::Redacted, &made.command_id.to_string())
        );
    }
    // The words may be said again, as another claim.
    let anew = creation("analyst", "the pool holds 20");
    committer.commit(&[anew]).expect("a ledger")[0].as_ref().expect("a claim");
    assert_eq!(workspace.events().len(), events + 1);
    drop(committer);
    workspace.assert_sound();
}

#[test]
fn a_claim_put_out_of_force_stays_so() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let made = creation("devops", "the pool holds 20");
    let claim_id = claim_of(&made);
    let end = DeprecateClaim { claim_id, reason: reason("it never did") };
    let end = request("devops", Command::DeprecateClaim(end));
    committer.commit(&[made, end.clone()]).expect("a ledger");
    let ended = workspace.events_of(end.command_id)[0].id;
    committer.commit(&[forget(ended)]).expect("a ledger")[0].as_ref().expect("done");
    let status = |state: &hivemind::domain::state::State| state.claim(claim_id).expect("the claim").status;
    assert_eq!(status(committer.state()).as_str(), "deprecated");
    assert_eq!(status(&folded(&workspace.events())).as_str(), "deprecated");
    drop(committer);
    workspace.assert_sound();
}

/// Claims that replace and cite each other, decisions with outcomes and alternatives, positions of every kind.
pub(crate) fn rich(committer: &mut hivemind::writer::Committer) {
    let mut group = Vec::new();
    let mut last: Option<ClaimId> = None;
    for statement in ["the pool holds 20", "it leaks", "retry with jitter"] {
        let mut made = fact(statement);
        made.supersedes = last;
        made.evidence_refs = last.iter().map(|last| last.creation_event().into()).collect();
        last = Some(made.claim_id);
        group.push(request("devops", Command::CreateClaim(made.clone())));
        for (by, stance) in [
            ("analyst", Position::Support),
            ("reviewer", Position::Challenge),
            ("reviewer", Position::Abstain),
            ("analyst", Position::Support),
        ] {
            group.push(position(by, made.claim_id, stance));
        }
        let decided = ClaimId::from_uuid(system::new_id());
        let alternative = hivemind::domain::command::Alternative {
            claim_id: ClaimId::from_uuid(system::new_id()),
            statement: Some(format!("not {statement}").parse().expect("a statement")),
            rejection_reason: reason("worse"),
        };
        group.push(request(
            "architect",
            Command::RecordDecision(RecordDecision {
                mends: false,
                evidence_refs: Vec::new(),
                decided_at: None,
                claim_id: decided,
                statement: Some(format!("we decide: {statement}").parse().expect("a statement")),
                rationale: "because it is the better one of the two".parse().expect("a rationale"),
                context: Some(reason("an outage")),
                target: Some(format!("target:{}", statement.replace(' ', "-")).parse().expect("a scope")),
                scopes: Vec::new(),
                alternatives: vec![alternative],
                supersedes: Vec::new(),
                asks: Vec::new(),
                unless_objection_minutes: None,
            }),
        ));
        for outcome in [Outcome::Partial, Outcome::Failure] {
            let notes = Some(reason("seen in production"));
            let outcome = RecordOutcome { decision_id: decided, outcome, notes };
            group.push(request("devops", Command::RecordOutcome(outcome)));
        }
        let end = DeprecateClaim { claim_id: made.claim_id, reason: reason("it did not hold") };
        group.push(request("operator", Command::DeprecateClaim(end)));
    }
    for outcome in committer.commit(&group).expect("a ledger") {
        outcome.expect("an accepted command");
    }
}

#[test]
fn everything_can_be_forgotten_in_any_order() {
    for backwards in [false, true] {
        let workspace = TempWorkspace::new();
        let mut committer = workspace.committer(7);
        rich(&mut committer);
        let mut events: Vec<EventId> = workspace.events().iter().map(|event| event.id).collect();
        if backwards {
            events.reverse();
        }
        let mut erased = 0;
        for event in events {
            match &committer.commit(&[forget(event)]).expect("a ledger")[0] {
                Ok(_) => erased += 1,
                Err(refused) => {
                    // An event that quotes an earlier one went with it.
                    assert!([Code::InvalidArgument, Code::Redacted].contains(&refused.code), "{refused}");
                    continue;
                }
            }
            assert_eq!(*committer.state(), folded(&workspace.events()));
            let counts = Connection::open(workspace.team_memory()).expect("read models");
            let negative = "SELECT count(*) FROM claim_counts WHERE claims < 0";
            assert_eq!(counts.query_row(negative, [], |row| row.get::<_, i64>(0)).expect("a count"), 0);
        }
        assert!(erased > 20, "{erased}");
        // And life goes on.
        committer.commit(&[creation("devops", "the pool holds 20")]).expect("a ledger")[0]
            .as_ref()
            .expect("done");
        drop(committer);
        workspace.assert_sound();
        let report = workspace.ledger_reader().verify(|_| ()).expect("a readable ledger");
        assert!(report.erased >= erased, "{} of {erased}", report.erased);
        let scan = hivemind::integrity::Scan::of(&workspace, &std::sync::atomic::AtomicBool::new(false));
        assert_eq!(scan.expect("a scan").findings, [], "what was erased is explained");
    }
}

#[test]
fn a_crash_leaves_it_forgotten_and_explained() {
    for (name, point) in CrashPoint::ALL {
        if point == CrashPoint::Replayed {
            continue;
        }
        let workspace = TempWorkspace::new();
        let front = workspace.front();
        let made = creation("devops", &format!("the {} holds 20", PLANTED[0]));
        block_on(committed(&front, &made)).expect("a receipt");
        workspace.end_writer();
        let mut writer = workspace.writer(&["--crash-at", name]);
        wait_until("the writer listens", || block_on(front.writer_is_up()));
        let asked = forget(claim_of(&made).creation_event());
        let answer = block_on(front.submit_unqueued(asked.clone()));
        assert!(aborted(writer.ended()), "{name}: the writer was to abort");
        let mut left = holding(workspace.memory(), PLANTED[0]).len();
        assert_eq!(left == 0, point == CrashPoint::Answered, "{name}: {left} files");
        let _next = workspace.writer(&[]);
        wait_until("the writer listens", || block_on(front.writer_is_up()));
        let redactions = workspace.events().iter().filter(|event| event.kind == "event.redacted").count();
        left = holding(workspace.memory(), PLANTED[0]).len();
        let report = workspace.ledger_reader().verify(|_| ()).expect("a readable ledger");
        assert_eq!(report.fault, None, "{name}");
        let expected = if point == CrashPoint::Decided { (0, false, 0) } else { (1, true, 1) };
        assert_eq!((redactions, left == 0, report.erased), expected, "{name}");
        // An answer that was given may be lost with its writer; one that was not is none.
        assert!(answer.is_err() || point == CrashPoint::Answered, "{name}: {answer:?}");
        // The same request again ends in the same place.
        let receipt = block_on(front.submit_unqueued(asked)).expect("a receipt");
        assert_eq!((receipt.seq, receipt.duplicate), (Some(2), point != CrashPoint::Decided), "{name}");
        assert_eq!(holding(workspace.memory(), PLANTED[0]), Vec::<PathBuf>::new(), "{name}");
        workspace.end_writer();
        workspace.assert_sound();
    }
}

#[test]
fn an_erasure_that_a_reader_delays_says_so_and_is_finished_later() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let made = creation("devops", &format!("the {} holds 20", PLANTED[0]));
    committer.commit(&[made.clone(), creation("devops", "another")]).expect("a ledger");
    let reader = Connection::open(workspace.ledger()).expect("a ledger");
    reader.execute_batch("BEGIN; SELECT count(*) FROM payloads;").expect("a reader that stays");
    let asked = forget(claim_of(&made).creation_event());
    let receipt = committer.commit(&[asked]).expect("a ledger")[0].clone().expect("a receipt");
    let warned: Vec<_> = receipt.warnings.iter().map(|warning| warning.code).collect();
    assert_eq!(warned, [hivemind::domain::receipt::WarningCode::ErasureUnfinished]);
    assert!(!holding(workspace.memory(), PLANTED[0]).is_empty());
    assert!(committer.owes_erasure().expect("a ledger"));
    drop(reader);
    drop(committer);
    // Nobody asks: a writer makes up for it by itself.
    let _writer = workspace.writer(&[]);
    wait_until("it is in no file", || holding(workspace.memory(), PLANTED[0]).is_empty());
    workspace.end_writer();
    workspace.assert_sound();
}

#[test]
fn an_import_erases_what_its_file_says_was_erased() {
    let (origin, copy) = (TempWorkspace::new(), TempWorkspace::new());
    let mut committer = origin.committer(1);
    let made = creation("devops", &format!("the {} holds 20", PLANTED[0]));
    committer.commit(&[made.clone(), creation("devops", "another")]).expect("a ledger");
    let export = |name: &str| {
        let file = origin.root().join(name);
        let events = origin.events();
        let mut text: String =
            events.iter().map(|event| hivemind::ledger::export_line(event).expect("JSON") + "\n").collect();
        let trailer = hivemind::ledger::ExportTrailer::at(events.last().expect("events").cursor());
        text.push_str(&serde_json::to_string(&trailer).expect("plain data"));
        std::fs::write(&file, text + "\n").expect("a file");
        file
    };
    let before = export("before.jsonl");
    committer.commit(&[forget(claim_of(&made).creation_event())]).expect("a ledger")[0]
        .as_ref()
        .expect("done");
    let after = export("after.jsonl");
    let front = copy.front();
    wait_until("a writer comes up", || block_on(front.rebuild(|_, _| ())).is_ok());
    assert_eq!(
        block_on(front.import(before, false, |_| ())).map(|(added, present, _)| (added, present)),
        Ok((2, 0))
    );
    assert!(!holding(copy.memory(), PLANTED[0]).is_empty());
    assert_eq!(
        block_on(front.import(after, false, |_| ())).map(|(added, present, _)| (added, present)),
        Ok((1, 2))
    );
    assert_eq!(holding(copy.memory(), PLANTED[0]), Vec::<PathBuf>::new());
    copy.end_writer();
    copy.assert_sound();
    assert_eq!(dump(&copy.ledger()), dump(&origin.ledger()));
}

/// Red before: a pattern names the command that repeats, and the receipt of an erasure did not name the pattern.
#[test]
fn an_erasure_names_the_patterns_that_repeat_the_command() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let mut first = None;
    for _ in 0..3 {
        let event_id = EventId::from_uuid(system::new_id());
        let failed = CommandRan { exit_code: Some(101), failed: true, ..ran("cargo test of_ana") };
        let seen = Seen::Command(failed);
        let session = Some("loops".parse().expect("a session"));
        let observe = request("devops", Command::Observe(Observe { event_id, seen }));
        committer.commit(&[Submission { session, ..observe }]).expect("a group").remove(0).expect("an event");
        first.get_or_insert(event_id);
    }
    assert_eq!(hivemind::writer::mine(&mut committer).expect("a look"), 1);
    let pattern = workspace.events().into_iter().find(|event| event.kind == "pattern.opened");
    let pattern = pattern.expect("a pattern").id;
    let forgotten = committer.commit(&[forget(first.expect("an event"))]).expect("a group").remove(0);
    let next = forgotten.expect("an erasure").next.expect("what else to forget");
    assert!(next.contains(&format!("{pattern} (pattern.opened by system)")), "{next}");
    let forgotten = committer.commit(&[forget(pattern)]).expect("a group").remove(0);
    forgotten.expect("an erasure");
}
