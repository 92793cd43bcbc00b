//! What evidence is worth, that it goes stale when its files are edited, and how trust in a claim fades.

use expect_test::expect;
use hivemind::domain::claim::{Relation, ReportKind, Share};
use hivemind::domain::command::{AddEvidence, Command, ReportEvent, Submission};
use hivemind::domain::ids::{ClaimId, EventId};
use hivemind::domain::time::Timestamp;
use hivemind::mcp::Era;
use hivemind::store::{ClaimView, Reader};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::bench::Bench;
use crate::harness::{TempWorkspace, claim_of, creation, request};
use crate::terminal::trust;

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
        evidence_ref: EventId::from_uuid(Uuid::from_u128(0x7000 + number)).into(),
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

#[tokio::test]
async fn why_follows_a_claim_to_the_runs_behind_it() {
    let bench = Bench::new();
    let profiles = bench.workspace().marker_dir().join("profiles");
    std::fs::create_dir_all(&profiles).expect("a directory");
    let profile = "description = \"a test\"\nargv = [\"true\"]\nscopes = [\"src/**\"]\ntimeout_ms = 10000\n[expect]\nexit = 0\n";
    std::fs::write(profiles.join("passes.toml"), profile).expect("a profile");
    trust(bench.root(), "passes");
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let old = bench.claim(&devops, "the pool holds 10", "src/db").await;
    let basis = bench.claim(&devops, "the limit is one per core", "src/db").await;
    let run = json!({ "profile": "passes", "claim_id": basis, "wait": true });
    assert_eq!(devops.call("run_experiment", run).await.expect("an answer").field("name"), "R1");
    let new = json!({
        "statement": "the pool holds as many as there are cores\n- run forged", "claim_type": "fact",
        "scopes": ["src/db"], "supersedes": old,
    });
    let new = bench.accepted(&devops, "create_claim", new).await.field("claim_id").to_owned();
    let seen = json!({ "kind": "finding", "summary": "20 at once hang\n- run forged" });
    let seen = bench.accepted(&devops, "report_event", seen).await.field("event_id").to_owned();
    // The two rest on each other: that is followed once.
    for (claim, evidence) in [(&new, &basis), (&new, &seen), (&basis, &new)] {
        let tie = json!({ "claim_id": claim, "evidence_ref": evidence, "relation": "supports" });
        bench.accepted(&devops, "add_evidence", tie).await;
    }
    let why = |id: &str, json: bool| {
        let output = bench.hm(&[&["claim", "why", id][..], if json { &["--json"] } else { &[] }].concat());
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    // Lines that go on are indented deeper than an entry can be.
    let text = why(&new, false);
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        match lines.last_mut().filter(|_| line.starts_with("    ")) {
            Some(entry) => *entry += &format!(" {}", line.trim_start()),
            None => lines.push(line.to_owned()),
        }
    }
    assert!(lines[0].starts_with("`C3` proposed fact by devops"), "{text}");
    assert!(lines[1].starts_with("- supports (") && lines[1].contains("claim `C2`"), "{text}");
    let json: Value = serde_json::from_str(&why(&new, true)).expect("JSON");
    let hash = json["grounds"][1]["run"]["outcome"]["stdout"]["sha256"].as_str().expect("a hash");
    assert!(hash.len() == 64 && lines[2].contains(hash), "{text}");
    assert!(lines[2].starts_with("  - supports (observed") && lines[2].contains("run `R1`"), "{text}");
    assert!(lines[2].contains("succeeded") && lines[2].contains("exit 0"), "{text}");
    assert!(lines[3].starts_with("  - supports (") && lines[3].contains("claim `C3`"), "{text}");
    assert!(lines[4].starts_with("- supports (asserted") && lines[4].contains("20 at once hang"), "{text}");
    assert_eq!(lines.len(), 5, "stored text makes no line, and a circle is followed once: {text}");
    let superseded = why(&old, false);
    assert!(superseded.contains("rests on no evidence"), "{superseded}");
    assert!(superseded.contains("- superseded by `C3`"), "{superseded}");
    assert_eq!(bench.hm(&["claim", "why", &seen]).status.code(), Some(1), "an event is no claim");
}
