//! Decisions by every way in, the operator's word, and the way back of every verb.

use hivemind::mcp::{Era, Pane};
use serde_json::{Value, json};

use crate::bench::Bench;

async fn says(pane: &Pane, tool: &str, arguments: Value) -> String {
    pane.call(tool, arguments).await.expect("an answer").text
}

/// Records a decision on a target and returns its id.
async fn decided(bench: &Bench, pane: &Pane, statement: &str, target: &str) -> String {
    let arguments =
        json!({ "statement": statement, "rationale": "one file, nothing to run", "target": target });
    bench.accepted(pane, "record_decision", arguments).await.field("claim_id").to_owned()
}

async fn status(pane: &Pane, claim: &str) -> String {
    let page = pane.read(&format!("hivemind://claims/{claim}?format=json")).await.expect("the claim");
    let page: Value = serde_json::from_str(&page).expect("JSON");
    page["status"].as_str().expect("a status").to_owned()
}

#[tokio::test]
async fn a_claim_of_type_decision_on_a_target_is_no_way_past_the_rule() {
    let bench = Bench::new();
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let first = decided(&bench, &devops, "we keep SQLite", "database").await;
    let create = json!({
        "statement": "we move to Postgres", "claim_type": "decision", "scopes": ["target:database"],
    });
    let refused = devops.call("create_claim", create).await.expect("an answer");
    assert!(refused.refused, "{}", refused.text);
    assert!(refused.text.starts_with("rationale_required: "), "{}", refused.text);
    assert!(refused.text.contains("record_decision"), "{}", refused.text);
    // Nor is a target among the scopes of a decision that names none.
    let aside = json!({
        "statement": "we move to Postgres", "rationale": "several machines write", "scopes": ["target:database"],
    });
    let refused = says(&devops, "record_decision", aside).await;
    assert!(refused.starts_with("target_conflict: "), "{refused}");
    assert_eq!(status(&devops, &first).await, "proposed");
}

#[tokio::test]
async fn only_a_decision_with_a_rationale_takes_a_decision_out_of_force() {
    let bench = Bench::new();
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let architect = bench.pane(Some("architect"), Era::Modern).await;
    let first = decided(&bench, &devops, "we keep SQLite", "database").await;
    for (pane, claim_type) in [(&devops, "fact"), (&architect, "fact"), (&devops, "decision")] {
        let create = json!({
            "statement": format!("the {claim_type} of somebody"), "claim_type": claim_type,
            "scopes": ["src/db"], "supersedes": first,
        });
        let refused = says(pane, "create_claim", create).await;
        assert!(refused.starts_with("rationale_required: "), "{refused}");
    }
    for pane in [&devops, &architect] {
        let refused =
            says(pane, "deprecate_claim", json!({ "claim_id": first, "reason": "it was wrong all along" }))
                .await;
        assert!(refused.starts_with("rationale_required: "), "{refused}");
    }
    let brief = json!({
        "statement": "we keep it for a day", "claim_type": "decision", "scopes": ["src/db"], "ttl_hours": 24,
    });
    let refused = says(&devops, "create_claim", brief).await;
    assert!(refused.starts_with("invalid_argument: "), "{refused}");
    assert_eq!(status(&devops, &first).await, "proposed");

    // The operator may, with a reason, and need not decide anew.
    let put_down = ["claim", "deprecate", &first, "--reason", "asked to", "--agent", "operator"];
    let output = bench.hm(&put_down);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(status(&devops, &first).await, "deprecated");
}

fn text(output: &std::process::Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

#[tokio::test]
async fn a_tagged_decision_is_a_decision_of_its_day() {
    let bench = Bench::new();
    let tagged = "DECISION: we use WAL\nFINDING: the pool leaks\nFINDING: the pool leaks";
    let lines = [
        json!({ "from": "devops", "text": tagged, "at": "2020-03-04T10:00:00Z" }),
        json!({ "from": "analyst", "text": "FINDING: the pool  leaks", "at": "2020-03-05T10:00:00Z" }),
    ];
    let file = bench.root().join("mail.jsonl");
    std::fs::write(&file, lines.map(|line| line.to_string()).join("\n")).expect("a file");
    let backfill = |more: &[&str]| -> Value {
        let file = file.display().to_string();
        let arguments = [&["backfill", "--messages", &file, "--agent", "operator", "--json"], more].concat();
        serde_json::from_slice(&bench.hm(&arguments).stdout).expect("JSON")
    };
    let dry = backfill(&["--dry-run"]);
    let made = backfill(&[]);
    assert_eq!(made["claims"]["inserted"], json!(2), "{made}");
    assert_eq!(made["claims"]["refused"], json!({ "duplicate_claim": 2 }));
    for what in ["messages", "claims", "tasks", "skipped"] {
        assert_eq!(dry[what], made[what], "a dry run says what a run makes of {what}");
    }
    let listed = text(&bench.hm(&["decision", "list", "--json"]));
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    let decision = &listed["decisions"][0];
    assert_eq!(decision["statement"], "we use WAL", "{listed}");
    assert_eq!(decision["decided_by"], "devops");
    assert_eq!(decision["created_at"], json!(1_583_316_000_000_i64), "{decision}");
    let rationale = decision["rationale"].as_str().expect("a rationale");
    assert!(rationale.starts_with("backfilled from message.sent "), "{rationale}");
    bench.kill_writer();
    bench.assert_sound();
}

#[tokio::test]
async fn no_agent_takes_the_operators_word_back() {
    let bench = Bench::new();
    let by_operator = |arguments: &[&str]| {
        let output = bench.hm(&[arguments, &["--agent", "operator"]].concat());
        assert!(output.status.success(), "{output:?}");
        text(&output)
    };
    by_operator(&[
        "decision",
        "record",
        "we keep SQLite",
        "--target",
        "database",
        "--rationale",
        "one file, nothing to run",
    ]);
    let architect = bench.pane(Some("architect"), Era::Modern).await;
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let listed = architect.read("hivemind://decisions?format=json").await.expect("decisions");
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    let sqlite = listed["decisions"][0]["claim_id"].as_str().expect("an id").to_owned();
    let postgres = json!({
        "statement": "we move to Postgres", "rationale": "several machines write now", "target": "database",
        "supersedes": [sqlite],
    });
    let proposed = says(&architect, "record_decision", postgres).await;
    assert!(proposed.contains("proposed to the operator"), "{proposed}");
    assert_eq!(status(&devops, &sqlite).await, "proposed", "it stands");

    let leaks = bench.claim(&devops, "the pool leaks", "src/db").await;
    by_operator(&["claim", "support", &leaks]);
    for (pane, tool, arguments) in [
        (&architect, "challenge", json!({ "claim_id": leaks, "reason": "I see no leak" })),
        (&architect, "deprecate_claim", json!({ "claim_id": leaks, "reason": "I see no leak" })),
        (&devops, "deprecate_claim", json!({ "claim_id": leaks, "reason": "I was wrong" })),
    ] {
        let proposed = says(pane, tool, arguments).await;
        assert!(proposed.contains("proposed to the operator"), "{proposed}");
        assert_eq!(status(&devops, &leaks).await, "confirmed");
    }
}
