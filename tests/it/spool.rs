//! The spool: what was queued is replayed once and in order, and what cannot be is set aside, never lost.

use std::io::Write;

use hivemind::config::Config;
use hivemind::domain::claim::Position;
use hivemind::domain::command::{Command, Submission};
use hivemind::domain::event::{Event, SpoolFlushed};
use hivemind::domain::receipt::Acceptance;
use hivemind::domain::rejection::Code;
use hivemind::ledger::Stored;
use hivemind::reads::Reads;
use hivemind::spool::Spool;
use hivemind::views::View;

use crate::harness::{
    self, TempWorkspace, aborted, block_on, body, claim_of, creation, position, wait_until, with_key,
};

fn queue(workspace: &TempWorkspace, submissions: &[Submission]) -> Spool {
    let spool = Spool::of(workspace);
    for submission in submissions {
        assert_eq!(spool.append(submission).expect("a writable spool"), None);
    }
    spool
}

fn append_raw(workspace: &TempWorkspace, bytes: &[u8]) {
    let mut file =
        std::fs::OpenOptions::new().create(true).append(true).open(workspace.spool()).expect("a spool");
    file.write_all(bytes).expect("a writable spool");
}

/// The flush an event reports.
fn flushed(stored: &Stored) -> SpoolFlushed {
    assert_eq!(stored.agent.as_str(), "system");
    let Event::SpoolFlushed(flushed) = body(stored) else { panic!("{stored:?}") };
    flushed
}

fn counts(committed: u32, duplicates: u32, rejected: u32) -> SpoolFlushed {
    SpoolFlushed { committed, duplicates, rejected }
}

/// The lines that were set aside, with the reason.
fn set_aside(workspace: &TempWorkspace) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(workspace.rejected_spool()).unwrap_or_default();
    let records = text.lines().map(|line| {
        let record: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let part = |name: &str| record[name].as_str().expect("a text").to_owned();
        (part("line"), part("reason"))
    });
    records.collect()
}

/// The kinds of the events a command has.
fn kinds_of(workspace: &TempWorkspace, submission: &Submission) -> Vec<String> {
    workspace.events_of(submission.command_id).into_iter().map(|event| event.kind).collect()
}

/// Five commands of which each needs the one before.
fn chain() -> Vec<Submission> {
    let first = creation("devops", "the pool holds 20");
    let mut second = creation("devops", "the pool holds 40");
    if let Command::CreateClaim(create) = &mut second.command {
        create.supersedes = Some(claim_of(&first));
        create.evidence_refs = vec![claim_of(&first).creation_event().into()];
    }
    let (one, two) = (claim_of(&first), claim_of(&second));
    let support = position("analyst", one, Position::Support);
    let challenge = position("reviewer", two, Position::Challenge);
    let relent = position("reviewer", two, Position::Support);
    vec![first, support, second, challenge, relent]
}

#[test]
fn what_was_queued_is_committed_in_order_and_counted() {
    let workspace = TempWorkspace::new();
    let chain = chain();
    let spool = queue(&workspace, &chain);
    assert_eq!(spool.waiting(), 5);
    let mut committer = workspace.committer(1);
    hivemind::writer::replay(&mut committer, &spool).expect("a replay");
    let events = workspace.events();
    let mut order: Vec<_> = events.iter().map(|event| event.causation).collect();
    order.dedup();
    let asked: Vec<_> = chain.iter().map(|submission| submission.command_id).collect();
    assert_eq!(order[..order.len() - 1], asked);
    assert_eq!(flushed(events.last().expect("events")), counts(5, 0, 0));
    assert_eq!((spool.waiting(), set_aside(&workspace)), (0, Vec::new()));

    let head = committer.head();
    hivemind::writer::replay(&mut committer, &spool).expect("a replay of nothing");
    assert_eq!(committer.head(), head, "an empty spool says nothing");
    workspace.assert_sound();
}

#[test]
fn a_line_in_the_ledger_already_is_skipped() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let (done, fresh) = (creation("devops", "done"), creation("devops", "fresh"));
    committer.commit(std::slice::from_ref(&done)).expect("a ledger")[0].as_ref().expect("a receipt");
    let spool = queue(&workspace, &[done.clone(), fresh.clone()]);
    hivemind::writer::replay(&mut committer, &spool).expect("a replay");
    let events = workspace.events();
    assert_eq!(events.len(), 3);
    assert_eq!((events[0].causation, events[1].causation), (done.command_id, fresh.command_id));
    assert_eq!(flushed(&events[2]), counts(1, 1, 0));
    workspace.assert_sound();
}

#[test]
fn a_line_that_no_longer_passes_is_recorded_and_shown() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let claim = creation("devops", "the pool holds 20");
    committer.commit(std::slice::from_ref(&claim)).expect("a ledger")[0].as_ref().expect("a receipt");
    let twin = creation("analyst", "the pool holds 20");
    let own = position("devops", claim_of(&claim), Position::Challenge);
    let fine = creation("analyst", "the pool holds 40");
    // Submitted twice by a front that heard nothing: still one refusal.
    let spool = queue(&workspace, &[twin.clone(), own.clone(), own.clone(), fine.clone()]);
    hivemind::writer::replay(&mut committer, &spool).expect("a replay");

    assert_eq!(kinds_of(&workspace, &fine), ["claim.created", "contradiction.detected"]);
    for (refused, code, kind) in
        [(&twin, Code::DuplicateClaim, "create_claim"), (&own, Code::OwnClaim, "take_position")]
    {
        let events = workspace.events_of(refused.command_id);
        assert_eq!(events.len(), 1, "{kind}");
        assert_eq!(events[0].agent, refused.agent);
        let Event::CommandRejected(rejected) = body(&events[0]) else { panic!("{:?}", body(&events[0])) };
        assert_eq!(
            (rejected.command_id, rejected.code, rejected.kind.as_str()),
            (refused.command_id, code, kind)
        );
        // Asked again under the same id, the answer is the same.
        let again = committer.commit(std::slice::from_ref(refused)).expect("a ledger");
        assert_eq!(again[0].as_ref().expect_err("a refusal").code, code);
    }
    let aside: Vec<Submission> = set_aside(&workspace)
        .iter()
        .map(|(line, _)| serde_json::from_str(line).expect("the line as it was queued"))
        .collect();
    assert_eq!(aside, [twin.clone(), own.clone()]);
    assert_eq!(flushed(workspace.events().last().expect("events")), counts(1, 1, 2));

    let mut reads = Reads::of((*workspace).clone());
    let config = Config::load(&workspace.config()).expect("a configuration");
    let status = crate::answers::answer(&mut reads, &config, &View::Status, hivemind::system::now())
        .expect("a status");
    for refused in [&twin, &own] {
        let id = refused.command_id.to_string();
        let shown = status.json["rejected"].as_array().expect("a list");
        assert!(shown.iter().any(|command| command["command_id"] == id.as_str()), "{}", status.json);
    }
    assert!(status.text.contains("own_claim"), "{}", status.text);
    workspace.assert_sound();
}

#[test]
fn half_a_line_and_garbage_are_set_aside() {
    let workspace = TempWorkspace::new();
    let (first, second, third) = (creation("devops", "1"), creation("devops", "2"), creation("devops", "3"));
    queue(&workspace, std::slice::from_ref(&first));
    append_raw(&workspace, b"{\"no\":\"command\"}\n\xff\xfe\0garbage\n\n");
    queue(&workspace, std::slice::from_ref(&second));
    let half = &serde_json::to_vec(&third).expect("JSON")[..40];
    append_raw(&workspace, half);
    let mut committer = workspace.committer(1);
    let spool = Spool::of(&workspace);
    hivemind::writer::replay(&mut committer, &spool).expect("a replay");

    assert_eq!(kinds_of(&workspace, &first), ["claim.created"]);
    assert_eq!(kinds_of(&workspace, &second), ["claim.created"]);
    assert_eq!(flushed(workspace.events().last().expect("events")), counts(2, 0, 3));
    let aside = set_aside(&workspace);
    assert_eq!(aside.len(), 3, "{aside:?}");
    assert_eq!(aside[0].0, "{\"no\":\"command\"}");
    assert!(aside[1].0.ends_with("\0garbage"), "{aside:?}");
    assert_eq!(aside[2].0.as_bytes(), half);
    assert!(aside[2].1.starts_with("half a line"), "{aside:?}");
    assert_eq!(std::fs::metadata(workspace.spool()).expect("a spool").len(), 0);

    // A front that comes after half a line closes it first.
    append_raw(&workspace, half);
    queue(&workspace, std::slice::from_ref(&third));
    hivemind::writer::replay(&mut committer, &spool).expect("a replay");
    assert_eq!(kinds_of(&workspace, &third), ["claim.created"]);
    assert_eq!(set_aside(&workspace).len(), 4);
    workspace.assert_sound();
}

#[test]
fn a_crash_before_the_truncation_replays_to_the_same_ledger() {
    let chain = chain();
    let told = |workspace: &TempWorkspace| -> Vec<_> {
        let events = workspace.events();
        let told = events
            .iter()
            .filter(|event| event.kind != "spool.flushed")
            .map(|event| (event.seq, event.kind.clone(), event.agent.clone(), event.causation, body(event)));
        told.collect()
    };
    let calm = TempWorkspace::new();
    hivemind::writer::replay(&mut calm.committer(1), &queue(&calm, &chain)).expect("a replay");

    let crashed = TempWorkspace::new();
    let spool = queue(&crashed, &chain);
    let mut writer = crashed.writer(&["--crash-at", "replayed"]);
    assert!(aborted(writer.ended()), "the writer was to abort");
    assert_eq!(spool.waiting(), 5, "the spool is not truncated before the crash");
    assert_eq!(told(&crashed), told(&calm), "everything was committed before the crash");
    let _writer = crashed.writer(&[]);
    wait_until("the spool is empty", || spool.waiting() == 0);
    wait_until("the flush is told", || crashed.events().iter().any(|event| event.kind == "spool.flushed"));
    assert_eq!(told(&crashed), told(&calm));
    assert_eq!(flushed(crashed.events().last().expect("events")), counts(0, 5, 0));
    crashed.end_writer();
    crashed.assert_sound();
}

#[test]
fn one_key_is_one_line() {
    let workspace = TempWorkspace::new();
    let front = workspace.front_without_writer();
    let submit = |submission: Submission| block_on(front.submit(submission));
    let first = with_key(creation("devops", "the pool holds 20"), "key");
    let receipt = submit(first.clone()).expect("a receipt");
    assert_eq!((receipt.state, receipt.seq, receipt.duplicate), (Acceptance::Queued, None, false));
    assert_eq!((receipt.command_id, receipt.entity_id), (first.command_id, first.command.entity()));

    let again = submit(with_key(creation("devops", "the pool holds 20"), "key")).expect("a receipt");
    assert!(again.duplicate);
    assert_eq!((again.command_id, again.entity_id), (first.command_id, first.command.entity()));
    let other =
        submit(with_key(creation("devops", "the pool holds 40"), "key")).expect_err("another command");
    assert_eq!(other.code, Code::IdempotencyConflict);
    submit(with_key(creation("analyst", "mine"), "key")).expect("the key of another agent is another key");
    assert_eq!(Spool::of(&workspace).waiting(), 2);

    hivemind::writer::replay(&mut workspace.committer(1), &Spool::of(&workspace)).expect("a replay");
    assert_eq!(kinds_of(&workspace, &first), ["claim.created"]);
    // In the ledger now: the receipt is final even for a front that reaches no writer.
    let known = submit(with_key(creation("devops", "the pool holds 20"), "key")).expect("a receipt");
    assert_eq!((known.state, known.seq, known.duplicate), (Acceptance::Committed, Some(1), true));
    assert_eq!(known.command_id, first.command_id);
    assert_eq!(Spool::of(&workspace).waiting(), 0);
    workspace.assert_sound();
}

/// Lines each process appends, long enough to take several pages.
const LINES: usize = 60;

#[test]
fn processes_that_append_at_once_never_interleave() {
    let workspace = TempWorkspace::new();
    let processes = 4;
    harness::run_children("spool::child_that_appends", processes, workspace.root());
    let text = std::fs::read_to_string(workspace.spool()).expect("a spool of text");
    let mut next = vec![0; processes];
    for line in text.lines() {
        let submission: Submission = serde_json::from_str(line).expect("a whole line");
        let Command::CreateClaim(create) = submission.command else { panic!("{line}") };
        let mut words = create.statement.as_str().split(' ');
        let mut number = || words.next().and_then(|word| word.parse::<usize>().ok()).expect("a number");
        let (process, index) = (number(), number());
        assert_eq!(next[process], index, "the lines of one process stand in its order");
        next[process] += 1;
    }
    assert_eq!(next, vec![LINES; processes]);
}

#[test]
#[ignore = "run by processes_that_append_at_once_never_interleave as a process of its own"]
fn child_that_appends() {
    let Some((process, root)) = harness::child() else { return };
    let spool = Spool::of(&harness::at(&root));
    for index in 0..LINES {
        let filler = "x".repeat(1_900);
        spool.append(&creation("devops", &format!("{process} {index} {filler}"))).expect("a writable spool");
    }
}
