//! Evidence that cites lines of a file: readers tell what became of the lines, and other changes of the file do not count.

use hivemind::mcp::{Era, Pane};
use serde_json::{Value, json};

use crate::bench::Bench;

const FILE: &str = "src/a.rs";
const TEXT: &str = "use std::io;\n\nfn a() {\n    lock();\n    work();\n}\n";

/// The page of a claim as JSON and as text.
async fn page(pane: &Pane, claim: &str) -> (Value, String) {
    let json = pane.read(&format!("hivemind://claims/{claim}?format=json")).await.expect("a resource");
    let text = pane.read(&format!("hivemind://claims/{claim}")).await.expect("a resource");
    (serde_json::from_str(&json).expect("JSON"), text)
}

async fn claim(bench: &Bench, pane: &Pane, refs: Value) -> String {
    let claim = json!({ "statement": "a takes the lock first", "claim_type": "fact", "scopes": [FILE],
        "evidence_refs": refs });
    bench.accepted(pane, "create_claim", claim).await.field("claim_id").to_owned()
}

#[tokio::test]
async fn cited_lines_are_fresh_moved_drifted_or_orphaned_and_nothing_else_makes_the_claim_stale() {
    let bench = Bench::new();
    bench.write(FILE, TEXT);
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let architect = bench.pane(Some("architect"), Era::Legacy).await;
    let id = claim(&bench, &devops, json!(["src/a.rs:3-5"])).await;
    let edited = |text: &str| {
        bench.write(FILE, text);
        let edit = json!({ "kind": "file_edited", "summary": "an edit", "paths": [FILE] });
        let (bench, architect) = (&bench, &architect);
        async move { bench.accepted(architect, "report_event", edit).await }
    };
    let (json, text) = page(&devops, &id).await;
    assert_eq!(json["evidence_items"][0]["place"], json!({ "lines": "src/a.rs:3-5", "state": "fresh" }));
    assert!(text.contains("at `src/a.rs:3-5`, fresh"), "{text}");

    // An edit of a cited line, and then another one before the lines.
    edited(&TEXT.replace("work", "other_work")).await;
    let (json, text) = page(&devops, &id).await;
    assert_eq!(json["evidence_items"][0]["place"]["state"], "drifted", "{text}");
    edited(&TEXT.replace("use std::io;", "use std::io::Read;\n")).await;
    let (json, text) = page(&devops, &id).await;
    assert_eq!(
        json["evidence_items"][0]["place"],
        json!({ "lines": "src/a.rs:3-5", "state": "moved", "now_at": 4 }),
        "{text}"
    );
    assert_eq!((&json["stale"], &json["changed_since"]), (&json!(false), &Value::Null), "{text}");
    let list = architect.read("hivemind://claims").await.expect("a list");
    assert!(!list.contains("changed since"), "{list}");

    edited(&TEXT.replace("lock();", "try_lock();")).await;
    let (json, text) = page(&devops, &id).await;
    assert_eq!(json["stale"], true, "{text}");
    let changed = &json["changed_since"][0];
    assert_eq!(
        (&changed["path"], &changed["cited"], &changed["by"]),
        (&json!(FILE), &json!("src/a.rs:3-5 drifted"), &json!("architect"))
    );
    let list = architect.read("hivemind://claims").await.expect("a list");
    assert!(list.contains("changed since"), "{list}");
    let pack = String::from_utf8(bench.hm(&["--agent", "devops", "context"]).stdout).expect("text");
    assert!(pack.contains("src/a.rs:3-5 drifted"), "{pack}");
    let attention = bench.hm(&["--agent", "devops", "attention"]);
    assert!(!String::from_utf8_lossy(&attention.stdout).contains("is gone"), "{attention:?}");

    std::fs::remove_file(bench.root().join(FILE)).expect("the file");
    let (json, text) = page(&devops, &id).await;
    assert_eq!(json["evidence_items"][0]["place"]["state"], "orphaned", "{text}");
    let attention = String::from_utf8(bench.hm(&["--agent", "devops", "attention"]).stdout).expect("text");
    assert!(attention.contains("src/a.rs:3-5 is gone"), "{attention}");
    assert!(attention.contains("retract"), "the way out: {attention}");
    let event = json["evidence_items"][0]["evidence_ref"].as_str().expect("an event").to_owned();
    let retract = json!({ "claim_id": id, "evidence_ref": event, "reason": "the file is gone" });
    let all = Pane::offered(bench.binary(), bench.root(), Some("devops"), Era::Modern, "all").await;
    bench.accepted(&all.expect("a pane"), "retract_evidence", retract).await;
    let attention = String::from_utf8(bench.hm(&["--agent", "devops", "attention"]).stdout).expect("text");
    assert!(!attention.contains("is gone"), "{attention}");
    bench.kill_writer();
    bench.assert_sound();
}

#[tokio::test]
async fn lines_are_cited_by_path_and_number_in_a_shell_and_over_mcp() {
    let bench = Bench::new();
    bench.write(FILE, TEXT);
    bench.write("src/key.rs", "const K: &str = \"AKIAQ3EGT4PLKXYWZB7M\";\n");
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let id = claim(&bench, &devops, json!([])).await;
    let add = |place: &str| {
        let given = json!({ "claim_id": id, "evidence_ref": place, "relation": "supports" });
        let devops = &devops;
        async move { devops.call("add_evidence", given).await.expect("an answer") }
    };
    for (bad, why) in [
        ("src/a.rs:7", "the file has 6 lines"),
        ("src/a.rs:2", "these lines are empty"),
        ("src/a.rs:5-3", "lines are counted from 1"),
        ("src/none.rs:1", "there is no such file"),
        ("src:1", "it is a directory"),
        ("src/key.rs:1", "the lines hold a secret"),
        ("/etc/passwd:1", "cannot be cited"),
        ("../../../../../../etc/passwd:1", "cannot be cited"),
    ] {
        let refused = add(bad).await;
        assert!(refused.refused && refused.text.contains(why), "{bad}: {}", refused.text);
        assert_eq!(refused.field("code"), "unknown_evidence", "{bad}");
    }
    let whole = bench.root().canonicalize().expect("a root").join("src/a.rs:4");
    let answer = add(whole.to_str().expect("UTF-8")).await;
    assert!(!answer.refused, "{}", answer.text);
    let again = add("src/a.rs:4").await;
    assert_eq!(
        again.field("code"),
        "duplicate_evidence",
        "the same lines are the same event: {}",
        again.text
    );

    // In a shell a path is relative to the directory.
    let mut command = std::process::Command::new(bench.binary());
    command.args([
        "--agent",
        "devops",
        "claim",
        "evidence",
        &id,
        "--ref",
        "a.rs:1",
        "--relation",
        "mentions",
    ]);
    let output = command.current_dir(bench.root().join("src")).output().expect("hm runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (json, text) = page(&devops, &id).await;
    let lines: Vec<&Value> = json["evidence_items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|item| &item["place"]["lines"])
        .collect();
    assert_eq!(lines, [&json!("src/a.rs:4"), &json!("src/a.rs:1")], "{text}");
    let cited = bench.events().into_iter().filter(|event| event.kind == "place.cited");
    let cited: Vec<String> = cited.map(|event| event.payload.expect("a payload").0).collect();
    assert!(cited.len() == 2 && !cited.concat().contains("lock()"), "only the hash is kept: {cited:?}");

    // What only mentions the lines makes nothing stale.
    bench.write(FILE, &TEXT.replace("use std::io;", "use std::fs;"));
    let (json, text) = page(&devops, &id).await;
    assert_eq!(
        (&json["stale"], &json["changed_since"][0]["cited"]),
        (&json!(false), &json!("src/a.rs:1 drifted")),
        "{text}"
    );
    bench.kill_writer();
    bench.assert_sound();
}

/// A retry with the same key is the same request, although it cites anew.
#[tokio::test]
async fn a_retry_cites_the_same_event() {
    let bench = Bench::new();
    bench.write(FILE, TEXT);
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let claim = json!({ "statement": "a takes the lock first", "claim_type": "fact", "scopes": [FILE],
        "evidence_refs": ["src/a.rs:4", "src/a.rs:5"], "idempotency_key": "once" });
    let first = bench.accepted(&devops, "create_claim", claim.clone()).await.field("claim_id").to_owned();
    let again = bench.accepted(&devops, "create_claim", claim).await.field("claim_id").to_owned();
    assert_eq!(first, again);
    assert_eq!(bench.events().iter().filter(|event| event.kind == "place.cited").count(), 2);
}
