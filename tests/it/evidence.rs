//! What evidence is worth, that it goes stale when its files are edited, and how trust in a claim fades.

use expect_test::expect;
use hivemind::domain::claim::{Relation, ReportKind, Share};
use hivemind::domain::command::{AddEvidence, Command, ReportEvent, Submission};
use hivemind::domain::ids::{ClaimId, EventId};
use hivemind::domain::time::Timestamp;
use hivemind::store::{ClaimView, Reader};
use uuid::Uuid;

use crate::harness::{TempWorkspace, claim_of, creation, request};

const DAY_MS: i64 = 24 * 3_600_000;

/// A report of something about a file; its id is made of `number`.
fn report(number: u128, kind: ReportKind, path: &str) -> Submission {
    let report = ReportEvent {
        event_id: EventId::from_uuid(Uuid::from_u128(0x7000 + number)),
        kind,
        summary: "what was seen".parse().expect("a summary"),
        paths: vec![path.parse().expect("a path")],
        command: None,
        exit_code: None,
        error_signature: None,
    };
    request("analyst", Command::ReportEvent(report))
}

fn supports(claim_id: ClaimId, number: u128) -> Submission {
    let add = AddEvidence {
        claim_id,
        evidence_ref: EventId::from_uuid(Uuid::from_u128(0x7000 + number)),
        relation: Relation::Supports,
        weight: Share::FULL,
        note: None,
    };
    request("devops", Command::AddEvidence(add))
}

fn claim(workspace: &TempWorkspace, id: ClaimId) -> ClaimView {
    let reader = Reader::open(&workspace.team_memory()).expect("read models").expect("a file");
    reader.claim(id).expect("an answer").expect("a claim")
}

#[test]
fn evidence_goes_stale_with_an_edit_of_its_files_and_fresh_evidence_helps() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let made = creation("devops", "the pool holds 20");
    let id = claim_of(&made);
    let edit = |number, path| report(number, ReportKind::FileEdited, path);
    let finding = |number, path| report(number, ReportKind::Finding, path);
    let mut lines = Vec::new();
    let mut step = |what: &str, group: &[Submission]| {
        for outcome in committer.commit(group).expect("a ledger") {
            outcome.expect("an accepted command");
        }
        let claim = claim(&workspace, id);
        let stale: Vec<Option<u64>> = claim.evidence_items.iter().map(|item| item.stale_since).collect();
        lines.push(format!("{what}: stale {}, {stale:?}", claim.summary.stale));
    };
    step("a finding about the file", &[made.clone(), finding(1, "src/db/pool.rs"), supports(id, 1)]);
    step("an edit beside it", &[edit(2, "src/db/other.rs")]);
    step("an edit of something with the same start", &[edit(3, "src/db/pool.rs.orig")]);
    step("an edit of the file", &[edit(4, "src/db/pool.rs")]);
    step("one more", &[edit(5, "src/db/pool.rs")]);
    step("a finding after it", &[finding(6, "src/db"), supports(id, 6)]);
    step("an edit below what it names", &[edit(7, "src/db/new.rs")]);
    step("old evidence, tied late", &[supports(id, 4)]);
    step("an edit of the whole workspace", &[finding(8, "docs"), supports(id, 8), edit(9, ".")]);
    expect![[r#"
        a finding about the file: stale false, [None]
        an edit beside it: stale false, [None]
        an edit of something with the same start: stale false, [None]
        an edit of the file: stale true, [Some(6)]
        one more: stale true, [Some(6)]
        a finding after it: stale false, [Some(6), None]
        an edit below what it names: stale true, [Some(6), Some(10)]
        old evidence, tied late: stale true, [Some(6), Some(10), Some(7)]
        an edit of the whole workspace: stale true, [Some(6), Some(10), Some(7), Some(14)]"#]]
    .assert_eq(&lines.join("\n"));
    workspace.assert_sound();
}

#[test]
fn trust_fades_with_time_and_not_with_reading() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let made = creation("devops", "the pool holds 20");
    committer.commit(std::slice::from_ref(&made)).expect("a ledger")[0].as_ref().expect("a receipt");
    let before = claim(&workspace, claim_of(&made)).summary;
    let after =
        |days: i64| before.effective_confidence(Timestamp::from_ms(before.touched_at + days * DAY_MS));
    assert_eq!([after(0), after(90), after(180)], [1.0, 0.5, 0.25]);
    assert_eq!(claim(&workspace, claim_of(&made)).summary, before);
}
