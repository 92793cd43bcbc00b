//! The integrity scan: what does not fit is reported, and nothing is touched.

use std::sync::atomic::AtomicBool;

use hivemind::domain::claim::{Position, Relation, Share};
use hivemind::domain::command::{AddEvidence, Command};
use hivemind::domain::time::Timestamp;
use hivemind::integrity::{NEWEST, Scan};
use hivemind::workspace::Workspace;
use rusqlite::Connection;
use serde_json::Value;

use crate::harness::{TempWorkspace, claim_of, creation, dump, position, request, wait_until};

/// A workspace with a claim that has rows in several tables.
fn prepared() -> TempWorkspace {
    let workspace = TempWorkspace::new();
    let (made, other) = (creation("devops", "the pool holds 20"), creation("analyst", "it leaks"));
    let evidence = AddEvidence {
        claim_id: claim_of(&made),
        evidence_ref: claim_of(&other).creation_event().into(),
        relation: Relation::Supports,
        weight: Share::FULL,
        note: None,
    };
    let group = [
        position("reviewer", claim_of(&made), Position::Support),
        request("analyst", Command::AddEvidence(evidence)),
    ];
    let mut committer = workspace.committer(1);
    committer.commit(&[made, other]).expect("a ledger");
    for outcome in committer.commit(&group).expect("a ledger") {
        outcome.expect("an accepted command");
    }
    workspace
}

fn scan(workspace: &Workspace) -> Scan {
    Scan::of(workspace, &AtomicBool::new(false)).expect("a scan")
}

fn codes(workspace: &Workspace) -> Vec<&'static str> {
    scan(workspace).findings.iter().map(|finding| finding.code).collect()
}

#[test]
fn what_does_not_fit_is_found_and_left_as_it_is() {
    let planted: [(&str, &str, &[&str]); 8] = [
        // Its evidence, its move and its position are left.
        ("read models", "DELETE FROM claims WHERE statement = 'the pool holds 20'", &["orphan_row"; 3]),
        ("read models", "UPDATE claim_evidence SET evidence_ref = 'nothing'", &["unresolved_evidence"]),
        ("read models", "UPDATE projection SET folded_seq = folded_seq - 1", &["read_models_behind"]),
        (
            "read models",
            "INSERT INTO consensus (claim_id, agent, position, reason, evidence_ref, created_at, seq) \
             VALUES ('0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d47', 'a', 'support', NULL, NULL, 1, 1)",
            &["orphan_row"],
        ),
        (
            "read models",
            "INSERT INTO merges VALUES ('0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d47', \
             '0190b2c4-7d1e-7c3a-9f00-3b1f5a3e8d47', 'proposed', 1, 1)",
            &["orphan_row"; 2],
        ),
        ("ledger", "DELETE FROM payloads WHERE seq = 2", &["broken_chain"]),
        (
            "ledger",
            "DROP TRIGGER payloads_are_never_updated; UPDATE payloads SET payload = '{}' WHERE seq = 3",
            &["broken_chain"],
        ),
        ("ledger", "PRAGMA user_version = 1", &["erasure_unfinished"]),
    ];
    for (which, sql, expected) in planted {
        let workspace = prepared();
        assert_eq!(codes(&workspace), [""; 0], "nothing is wrong before");
        let file = if which == "ledger" { workspace.ledger() } else { workspace.team_memory() };
        Connection::open(&file).expect("a database").execute_batch(sql).expect("a change");
        let before = dump(&workspace.ledger()) + &dump(&workspace.team_memory());
        assert_eq!(codes(&workspace), expected, "{sql}");
        assert_eq!(dump(&workspace.ledger()) + &dump(&workspace.team_memory()), before, "{sql}");
    }
}

#[test]
fn a_ledger_that_lost_everything_is_found() {
    let quick = |workspace: &Workspace| -> Vec<&'static str> {
        let scan = Scan::quick(workspace, &AtomicBool::new(false)).expect("a scan");
        // How full the disk is, is not asked here.
        scan.findings.iter().map(|finding| finding.code).filter(|code| *code != "disk_low").collect()
    };
    let fresh = TempWorkspace::new();
    assert_eq!((codes(&fresh), quick(&fresh)), (vec![], vec![]));
    drop(fresh.committer(1));
    std::fs::write(fresh.ledger(), "").expect("a file");
    assert_eq!((codes(&fresh), quick(&fresh)), (vec![], vec![]), "there was nothing to lose");

    let workspace = prepared();
    assert_eq!(quick(&workspace), [""; 0]);
    for log in ["sqlite-wal", "sqlite-shm"] {
        let _ = std::fs::remove_file(workspace.ledger().with_extension(log));
    }
    std::fs::write(workspace.ledger(), "").expect("a file");
    assert_eq!((codes(&workspace), quick(&workspace)), (vec!["ledger_missing"], vec!["ledger_missing"]));
    std::fs::remove_file(workspace.ledger()).expect("a file");
    assert_eq!((codes(&workspace), quick(&workspace)), (vec!["ledger_missing"], vec!["ledger_missing"]));

    // A database without tables, in a directory that takes no -shm.
    let db = Connection::open(workspace.ledger()).expect("a database");
    db.pragma_update(None, "journal_mode", "WAL").expect("a header");
    drop(db);
    std::fs::create_dir(workspace.ledger().with_extension("sqlite-shm")).expect("a directory");
    assert_eq!((codes(&workspace), quick(&workspace)), (vec!["ledger_missing"], vec!["ledger_missing"]));
}

#[test]
fn a_checkpoint_that_saw_something_else_is_found() {
    let workspace = prepared();
    let _writer = workspace.writer(&[]);
    wait_until("a checkpoint is sealed", || workspace.checkpoints().exists());
    workspace.end_writer();
    assert_eq!(codes(&workspace), [""; 0]);
    let text = std::fs::read_to_string(workspace.checkpoints()).expect("checkpoints");
    let mut line: Value = serde_json::from_str(text.lines().last().expect("one")).expect("JSON");
    line["head_hash"] = "00".repeat(32).into();
    std::fs::write(workspace.checkpoints(), line.to_string() + "\n").expect("a file");
    assert_eq!(codes(&workspace), ["checkpoint_mismatch"]);
}

#[test]
fn a_scan_does_no_more_than_it_says() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let made: Vec<_> = (0..NEWEST + 300).map(|nth| creation("devops", &format!("fact {nth}"))).collect();
    for group in made.chunks(256) {
        committer.commit(group).expect("a ledger");
    }
    drop(committer);
    let db = Connection::open(workspace.ledger()).expect("a database");
    assert_eq!(scan(&workspace).events, NEWEST);
    // What lies before is for `hm verify`; what lies within is seen.
    db.execute("DELETE FROM payloads WHERE seq = 5", []).expect("a row");
    assert_eq!(codes(&workspace), [""; 0]);
    db.execute("DELETE FROM payloads WHERE seq = 305", []).expect("a row");
    assert_eq!(codes(&workspace), ["broken_chain"]);
    // Many findings of one kind are counted and not all listed.
    let db = Connection::open(workspace.team_memory()).expect("a database");
    let orphans = "INSERT INTO consensus (claim_id, agent, position, reason, evidence_ref, created_at, seq) \
                   SELECT 'not-' || id, owner, 'support', NULL, NULL, 1, 1 FROM claims";
    db.execute(orphans, []).expect("rows");
    let scan = scan(&workspace);
    assert!(scan.findings.len() < 300 && scan.unlisted > 10_000, "{} {}", scan.findings.len(), scan.unlisted);
}

#[test]
fn the_log_is_bounded_and_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let workspace = prepared();
    let log = workspace.integrity_log();
    let older = log.with_extension("log.1");
    Connection::open(workspace.team_memory())
        .and_then(|db| db.execute_batch("UPDATE claim_evidence SET evidence_ref = 'nothing'"))
        .expect("a change");
    let scan = scan(&workspace);
    let mut rotated = 0;
    let mut longest = 0;
    for nth in 0..12_000 {
        scan.log(&log, Timestamp::from_ms(nth), 3).expect("a log");
        let bytes = std::fs::metadata(&log).expect("a log").len();
        rotated += u64::from(bytes < longest);
        longest = if bytes < longest { bytes } else { bytes.max(longest) };
        assert!(bytes <= 1024 * 1024 + 1_000, "{bytes}");
    }
    assert!(rotated >= 1 && older.exists());
    let lines = std::fs::read_to_string(&log).expect("a log");
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines[lines.len() - 2]["code"], "unresolved_evidence");
    assert_eq!(
        (&lines[lines.len() - 1]["findings"], &lines[lines.len() - 1]["took_ms"]),
        (&1.into(), &3.into())
    );
    for file in [&log, &older] {
        assert_eq!(std::fs::metadata(file).expect("a log").permissions().mode() & 0o777, 0o600);
    }
}
