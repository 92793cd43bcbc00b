//! A writer that dies at any named place of the write path loses nothing and repeats nothing.

use hivemind::domain::claim::Position;
use hivemind::domain::command::{Command, Submission};
use hivemind::domain::ids::CommandId;
use hivemind::domain::receipt::{Acceptance, Receipt};
use hivemind::spool::Spool;
use hivemind::writer::CrashPoint;

use crate::harness::{
    TempWorkspace, aborted, block_on, claim_of, committed, creation, fact, position, request, wait_until,
    with_key,
};

/// What a retry may not change.
fn promised(receipt: &Receipt) -> (CommandId, Option<uuid::Uuid>, Option<u64>, Acceptance) {
    (receipt.command_id, receipt.entity_id, receipt.seq, receipt.state)
}

/// A workspace with a confirmed claim, and a request of several events that replaces it.
fn prepared() -> (TempWorkspace, Submission) {
    let workspace = TempWorkspace::new();
    let old = creation("devops", "the pool holds 20");
    let support = position("analyst", claim_of(&old), Position::Support);
    for outcome in workspace.committer(1).commit(&[old.clone(), support]).expect("a ledger") {
        outcome.expect("an accepted command");
    }
    (workspace, with_key(replacement(claim_of(&old)), "key"))
}

fn replacement(old: hivemind::domain::ids::ClaimId) -> Submission {
    let mut new = fact("the pool holds 40");
    new.supersedes = Some(old);
    new.evidence_refs = vec![old.creation_event().into()];
    // Another owner's claim: the supporter is left behind with it.
    request("architect", Command::CreateClaim(new))
}

/// The same request as an agent makes it again: the key and the words, no id.
fn called_again(submission: &Submission) -> Submission {
    let Command::CreateClaim(create) = &submission.command else { panic!("{submission:?}") };
    with_key(replacement(create.supersedes.expect("a claim to replace")), "key")
}

fn survives(name: &str, point: CrashPoint) {
    let (workspace, submission) = prepared();
    let before = workspace.events().len();
    let front = workspace.front();
    if point == CrashPoint::Replayed {
        // Only what was queued is replayed.
        let queued = block_on(workspace.front_without_writer().submit(submission.clone()));
        assert_eq!(queued.expect("a receipt").state, Acceptance::Queued, "{name}");
    }
    let mut writer = workspace.writer(&["--crash-at", name]);
    if point == CrashPoint::Replayed {
        assert!(aborted(writer.ended()), "{name}: the writer was to abort");
        assert_eq!(Spool::of(&workspace).waiting(), 1, "{name}: nothing is truncated yet");
    } else {
        wait_until("the writer listens", || block_on(front.writer_is_up()));
    }
    // One runtime for both calls: the second finds what the first left of its connection.
    let (first, second) = block_on(async {
        let first = committed(&front, &submission).await.expect("a receipt");
        let second = committed(&front, &called_again(&submission)).await.expect("a receipt");
        (first, second)
    });
    if point != CrashPoint::Replayed {
        assert!(aborted(writer.ended()), "{name}: the writer was to abort");
    }
    assert_eq!(promised(&second), promised(&first), "{name}");
    assert!(second.duplicate, "{name}");
    assert_eq!((first.command_id, first.entity_id), (submission.command_id, submission.command.entity()));

    // The ledger answers a retry without a writer, so there may be none; one more, and nothing waits.
    let _next = workspace.writer(&[]);
    wait_until("the spool is empty", || Spool::of(&workspace).waiting() == 0);
    workspace.end_writer();
    let batch = workspace.events_of(submission.command_id);
    let kinds: Vec<&str> = batch.iter().map(|event| event.kind.as_str()).collect();
    let expected = [
        "claim.created",
        "evidence.added",
        "claim.superseded",
        "claim.status_changed",
        "contradiction.detected",
    ];
    assert_eq!(kinds, expected, "{name}: one batch of events");
    assert_eq!(first.seq, batch.last().map(|event| event.seq), "{name}");
    let others = workspace.events().into_iter().skip(before);
    let others: Vec<_> = others
        .filter(|event| event.causation != submission.command_id && event.kind != "spool.flushed")
        .collect();
    assert_eq!(others, [], "{name}: nothing else was written");
    workspace.assert_sound();
}

#[test]
fn a_crash_at_any_named_place_keeps_the_receipt_and_writes_once() {
    for (name, point) in CrashPoint::ALL {
        // What an erasure survives is in forget.rs.
        if point != CrashPoint::Erased {
            survives(name, point);
        }
    }
}

#[test]
fn a_killed_writer_is_replaced_within_the_call() {
    let (workspace, submission) = prepared();
    let front = workspace.front();
    let mut writer = workspace.writer(&[]);
    wait_until("the writer listens", || block_on(front.writer_is_up()));
    block_on(async {
        committed(&front, &creation("devops", "before")).await.expect("a receipt");
        writer.kill();
        let receipt = committed(&front, &submission).await.expect("a receipt");
        assert_eq!((receipt.command_id, receipt.duplicate), (submission.command_id, false));
    });
    workspace.end_writer();
    assert_eq!(workspace.events_of(submission.command_id).len(), 5);
    workspace.assert_sound();
}
