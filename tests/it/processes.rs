//! Many processes at once: everything is there, once, and nobody sees an error.

use std::collections::BTreeMap;

use hivemind::domain::command::Submission;
use hivemind::domain::event::Event;
use hivemind::domain::rejection::Code;
use hivemind::spool::Spool;

use crate::harness::{self, TempWorkspace, block_on, body, committed, creation, long, wait_until, with_key};

/// How many processes, and how many claims each creates.
fn load() -> (usize, usize) {
    if long() { (16, 1_000) } else { (4, 50) }
}

#[test]
fn what_many_processes_write_is_there_exactly_once() {
    let workspace = TempWorkspace::new();
    let (processes, writes) = load();
    harness::run_children("processes::child_that_submits", processes, workspace.root());
    wait_until("the spool is empty", || Spool::of(&workspace).waiting() == 0);
    workspace.end_writer();

    let mut found: BTreeMap<String, u32> = BTreeMap::new();
    for event in workspace.events() {
        // A machine too slow to start a writer in time has queued some of them.
        if event.kind != "spool.flushed" {
            let Event::ClaimCreated(created) = body(&event) else { panic!("{event:?}") };
            *found.entry(created.statement.into()).or_default() += 1;
        }
    }
    let expected: BTreeMap<String, u32> = (0..processes)
        .flat_map(|process| (0..writes).map(move |index| (statement(process, index), 1)))
        .collect();
    assert_eq!(found, expected);
    workspace.assert_sound();
}

fn statement(process: usize, index: usize) -> String {
    format!("claim {index} of process {process}")
}

#[test]
#[ignore = "run by what_many_processes_write_is_there_exactly_once as a process of its own"]
fn child_that_submits() {
    let Some((process, root)) = harness::child() else { return };
    let front = hivemind::writer::Front::new(harness::at(&root), harness::HM.into());
    block_on(async {
        for index in 0..load().1 {
            let submission = creation(["devops", "analyst"][process % 2], &statement(process, index));
            let receipt = front.submit(submission.clone()).await.expect("a receipt");
            assert_eq!((receipt.command_id, receipt.duplicate), (submission.command_id, false));
        }
    });
}

#[test]
fn a_hundred_retries_of_one_key_are_one_batch() {
    let workspace = TempWorkspace::new();
    let retry = || with_key(creation("devops", "the pool holds 20"), "key");
    let receipts = block_on(async {
        let fronts: Vec<_> = (0..5).map(|_| workspace.front()).collect();
        let retries: Vec<_> = (0..100)
            .map(|at| {
                let (front, submission) = (fronts[at % 5].clone(), retry());
                tokio::spawn(async move { committed(&front, &submission).await.expect("a receipt") })
            })
            .collect();
        let mut receipts = Vec::new();
        for retry in retries {
            receipts.push(retry.await.expect("a retry that ends"));
        }
        let other: Submission = with_key(creation("devops", "the pool holds 40"), "key");
        let refused = fronts[1].submit(other).await.expect_err("another command under the same key");
        assert_eq!(refused.code, Code::IdempotencyConflict);
        receipts
    });
    let first = &receipts[0];
    for receipt in &receipts {
        assert_eq!(
            (receipt.command_id, receipt.entity_id, receipt.seq, receipt.state),
            (first.command_id, first.entity_id, first.seq, first.state)
        );
    }
    assert!(receipts.iter().filter(|receipt| !receipt.duplicate).count() <= 1);
    wait_until("the spool is empty", || Spool::of(&workspace).waiting() == 0);
    workspace.end_writer();
    let created = workspace.events().into_iter().filter(|event| event.kind == "claim.created");
    let created: Vec<_> = created.map(|event| (event.causation, Some(event.seq))).collect();
    assert_eq!(created, [(first.command_id, first.seq)]);
    workspace.assert_sound();
}

#[test]
fn a_second_writer_leaves_and_harms_nobody() {
    let workspace = TempWorkspace::new();
    let front = workspace.front();
    let _serving = workspace.writer(&[]);
    wait_until("the writer listens", || block_on(front.writer_is_up()));
    assert!(!workspace.writer(&[]).ended().success(), "by hand, that is an error");
    assert!(workspace.writer(&["--detached"]).ended().success(), "for a front, the other one is as good");
    let receipt = block_on(front.submit(creation("devops", "still there"))).expect("a receipt");
    assert_eq!(receipt.seq, Some(1));
}
