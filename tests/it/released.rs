//! Databases of released versions open for ever, and those of a version to come are refused politely.
//!
//! `tests/fixtures/released/VERSION/` holds the two files as that version wrote them; they are never edited. A
//! release adds its own: `cargo test --test it released::write -- --ignored` makes them.

use std::path::{Path, PathBuf};

use hivemind::domain::claim::{Outcome, Position, Relation, ReportKind};
use hivemind::domain::command::{
    AddEvidence, Command, DeprecateClaim, RecordDecision, RecordOutcome, ReportEvent, Submission,
};
use hivemind::domain::decide::Policy;
use hivemind::domain::ids::{ClaimId, EventId};
use hivemind::ledger::{Ledger, LedgerError};
use hivemind::store::{Projection, StoreError};
use hivemind::system;
use hivemind::writer::Committer;

use crate::harness::{
    self, TempWorkspace, claim_of, creation, fixed_sources, folded, position, request, with_key,
};
use crate::shell::Shell;

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/released")
}

/// A command of every kind that agents can give.
fn everything() -> Vec<Submission> {
    let fact = with_key(creation("devops", "the pool holds 20"), "pool");
    let other = creation("analyst", "プールの上限は四十");
    let gone = creation("frontend", "the button is red");
    let (at, event_id) = (claim_of(&fact), EventId::from_uuid(system::new_id()));
    let report = ReportEvent {
        event_id,
        kind: ReportKind::Note,
        summary: "load test, 40 clients".parse().expect("a summary"),
        paths: Vec::new(),
        command: None,
        exit_code: None,
        error_signature: None,
    };
    let evidence = AddEvidence {
        claim_id: at,
        evidence_ref: event_id.into(),
        relation: Relation::Supports,
        weight: 0.5.try_into().expect("a share"),
        note: None,
    };
    let decision = RecordDecision {
        mends: false,
        evidence_refs: Vec::new(),
        decided_at: None,
        claim_id: ClaimId::from_uuid(system::new_id()),
        statement: Some("one pool for all".parse().expect("a statement")),
        rationale: "fewer connections".parse().expect("a rationale"),
        context: None,
        target: Some("tag:db".to_owned().try_into().expect("a scope")),
        scopes: vec!["src/db".to_owned().try_into().expect("a scope")],
        alternatives: Vec::new(),
        supersedes: Vec::new(),
        asks: Vec::new(),
        unless_objection_minutes: None,
    };
    let outcome = RecordOutcome { decision_id: decision.claim_id, outcome: Outcome::ALL[0], notes: None };
    let deprecate =
        DeprecateClaim { claim_id: claim_of(&gone), reason: "repainted".parse().expect("a reason") };
    vec![
        position("analyst", at, Position::Support),
        position("reviewer", at, Position::Challenge),
        position("reviewer", at, Position::Abstain),
        request("frontend", Command::ReportEvent(report)),
        request("frontend", Command::AddEvidence(evidence)),
        request("architect", Command::RecordDecision(decision)),
        request("architect", Command::RecordOutcome(outcome)),
        request("frontend", Command::DeprecateClaim(deprecate)),
    ]
    .into_iter()
    .fold(vec![fact, other, gone], |mut all, next| {
        all.push(next);
        all
    })
}

#[test]
#[ignore = "makes the fixture of this version, once for each release"]
fn write() {
    let workspace = TempWorkspace::new();
    let mut committer =
        Committer::open(&workspace, Policy::default(), fixed_sources(1)).expect("a workspace");
    for outcome in committer.commit(&everything()).expect("a ledger") {
        outcome.expect("an accepted command");
    }
    drop(committer);
    let dir = fixtures().join(env!("CARGO_PKG_VERSION"));
    std::fs::create_dir_all(&dir).expect("a directory");
    for file in [workspace.ledger(), workspace.team_memory()] {
        let db = rusqlite::Connection::open(&file).expect("a database");
        db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("a checkpoint");
        std::fs::copy(&file, dir.join(file.file_name().expect("a name"))).expect("a copy");
    }
}

#[test]
fn every_released_database_opens_and_goes_on() {
    let mut seen = 0;
    for entry in std::fs::read_dir(fixtures()).expect("fixtures") {
        let dir = entry.expect("an entry").path();
        let workspace = TempWorkspace::new();
        for file in [workspace.ledger(), workspace.team_memory()] {
            std::fs::copy(dir.join(file.file_name().expect("a name")), &file).expect("a copy");
        }
        let mut committer = workspace.committer(2);
        let before = committer.head();
        assert!(before.seq > 10, "{}: hardly anything in it", dir.display());
        // Old events are folded and decided against: the key is known, the claim can be taken a stand on.
        let again = with_key(creation("devops", "the pool holds 20"), "pool");
        let again = committer.commit(&[again]).expect("a ledger").remove(0).expect("the first receipt");
        assert!(again.duplicate, "{}: {again:?}", dir.display());
        let claim = EventId::from_uuid(again.entity_id.expect("a claim")).as_claim();
        let stand = position("frontend", claim, Position::Support);
        committer.commit(&[stand]).expect("a ledger").remove(0).expect("an accepted command");
        assert!(committer.head().seq > before.seq);
        drop(committer);
        assert!(folded(&workspace.events()).claim(claim).is_some());
        workspace.assert_sound();
        seen += 1;
    }
    assert!(seen > 0, "no fixture was found");
}

/// Adds a migration that only a later version knows.
pub(crate) fn from_the_future(file: &Path) {
    let db = rusqlite::Connection::open(file).expect("a database");
    let add = "INSERT INTO refinery_schema_history (version, name, applied_on, checksum) \
               SELECT 999, 'of_a_later_release', applied_on, '7' FROM refinery_schema_history LIMIT 1";
    db.execute(add, []).expect("a row");
}

#[test]
fn a_newer_ledger_is_refused_and_left_alone() {
    let shell = Shell::new();
    assert!(shell.run(r#"hm --agent devops claim create "the pool holds 20" --scope src"#).status.success());
    shell.end_writer();
    let workspace = shell.workspace();
    from_the_future(&workspace.ledger());
    let before = harness::dump(&workspace.ledger());
    let error = Ledger::open(&workspace.ledger()).expect_err("a newer ledger");
    assert!(matches!(error, LedgerError::Newer { .. }) && error.to_string().contains("update hm"), "{error}");
    let written = shell.run(r#"hm --agent devops claim create "one more" --scope src"#);
    let said = String::from_utf8_lossy(&written.stdout).into_owned();
    assert!(said.contains("queued, not yet committed"), "{said}");
    let log = std::fs::read_to_string(workspace.writer_log()).expect("a log");
    assert!(log.contains("written by a newer version of hm: update hm"), "{log}");
    assert_eq!(harness::dump(&workspace.ledger()), before);
}

#[test]
fn newer_read_models_are_refused_and_left_alone() {
    let workspace = TempWorkspace::new();
    drop(workspace.committer(1));
    from_the_future(&workspace.team_memory());
    let before = std::fs::read(workspace.team_memory()).expect("a file");
    let error = Projection::open(&workspace.team_memory()).expect_err("newer read models");
    assert!(matches!(error, StoreError::Newer { .. }) && error.to_string().contains("update hm"), "{error}");
    assert_eq!(std::fs::read(workspace.team_memory()).expect("a file"), before);
}
