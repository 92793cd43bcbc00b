//! Time travel: a question answered as of then, by folding the ledger up to there and no further.

use hivemind::mcp::Era;
use serde_json::{Value, json};

use crate::bench::Bench;

#[tokio::test]
async fn the_past_is_shown_as_it_was() {
    let bench = Bench::new();
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let analyst = bench.pane(Some("analyst"), Era::Legacy).await;
    let first = bench.claim(&devops, "the pool holds 20 connections", "src/db").await;
    let report = bench.accepted(&analyst, "report_event", json!({ "kind": "note", "summary": "seen" })).await;
    let read = async |uri: &str| devops.read(uri).await.expect("an answer");
    let page: Value =
        serde_json::from_str(&read("hivemind://events/?after=1&format=json").await).expect("JSON");
    let noted_at = page["events"][0]["at"].as_i64().expect("a time");
    while hivemind::system::now().ms() / 1_000 == noted_at / 1_000 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    bench.accepted(&analyst, "support", json!({ "claim_id": first })).await;
    let second = bench.claim(&analyst, "the pool leaks", "src/db").await;

    // By position: proposed, alone, and nothing after it is known.
    assert!(read(&format!("hivemind://claims/{first}?at=2")).await.starts_with("# proposed fact"));
    assert!(read(&format!("hivemind://claims/{first}")).await.starts_with("# confirmed fact"));
    assert!(!read("hivemind://claims?at=2").await.contains(&second));
    assert!(devops.read(&format!("hivemind://claims/{second}?at=4")).await.is_err(), "not made yet");
    let events = read("hivemind://events?at=2").await;
    assert!(events.contains(report.field("event_id")) && events.lines().count() == 2, "{events}");
    assert!(read("hivemind://status?at=1").await.contains("ledger:    1 event by 1 agent\n"));
    assert!(read("hivemind://context?at=0").await.contains("seq=\"0\""));
    assert!(read("hivemind://claims?at=999999").await.contains(&second), "the future is now");

    // By time: the end of the second in which the report came.
    let then = hivemind::domain::time::Timestamp::from_ms(noted_at / 1_000 * 1_000 + 999);
    let then = then.to_string().replace('Z', ".999Z");
    assert!(read(&format!("hivemind://claims/{first}?at={then}")).await.starts_with("# proposed fact"));
    assert!(devops.read("hivemind://claims?at=yesterday").await.is_err());

    // On the command line, where the past cannot be written.
    let hm = |arguments: &[&str]| {
        let root = bench.root().to_str().expect("a printable path");
        std::process::Command::new(bench.binary())
            .args(arguments)
            .args(["--dir", root, "--agent", "devops"])
            .output()
            .expect("hm runs")
    };
    let shown = String::from_utf8(hm(&["claim", "show", &first, "--at", "2"]).stdout).expect("text");
    assert!(shown.starts_with("# proposed fact"), "{shown}");
    let listed = String::from_utf8(hm(&["claim", "list", "--at", "2", "--json"]).stdout).expect("text");
    assert!(listed.contains(&first) && !listed.contains(&second), "{listed}");
    assert_eq!(hm(&["claim", "support", &second, "--at", "2"]).status.code(), Some(2));
    assert_eq!(hm(&["verify", "--at", "2"]).status.code(), Some(2));
}
