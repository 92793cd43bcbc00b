//! Lists are read page by page to their end, by the addresses that the answers give, while others write.

use std::collections::BTreeSet;

use hivemind::mcp::{Era, Pane};
use serde_json::{Value, json};

use crate::bench::Bench;

/// More pages than any list here has.
const MANY: usize = 60;

/// Reads a list to its end and returns the ids it named, in their order. Between two pages `disturb` writes.
async fn ids_of(pane: &Pane, address: &str, list: &str, mut disturb: impl AsyncFnMut(usize)) -> Vec<String> {
    let mut ids = Vec::new();
    let mut next = Some(address.to_owned());
    for page in 0..MANY {
        let Some(address) = next else { return ids };
        let json = pane.read(&address).await.expect("a page");
        let json: Value = serde_json::from_str(&json).expect("JSON");
        let entries = json[list].as_array().unwrap_or_else(|| panic!("no {list} in {json}"));
        let id = |entry: &Value| entry.get("id").or_else(|| entry.get("claim_id")).cloned();
        ids.extend(entries.iter().filter_map(id).map(|id| id.as_str().expect("an id").to_owned()));
        next = json["next_page"].as_str().map(str::to_owned);
        // People and models are told the same.
        let text = pane.read(&address.replace("format=json", "format=markdown")).await.expect("a page");
        let told = text.lines().find_map(|line| line.strip_prefix("Next page: "));
        assert_eq!(told.map(|next| next.replace("format=markdown", "format=json")), next, "{text}");
        disturb(page).await;
    }
    panic!("{address} has no end");
}

#[tokio::test]
async fn every_list_is_read_to_its_end_while_others_write() {
    let bench = Bench::new();
    let reader = bench.pane(Some("reviewer"), Era::Modern).await;
    let writer = bench.pane(Some("devops"), Era::Legacy).await;
    let write = async |statement: String, kind: &str| {
        let made = match kind {
            "decision" => {
                json!({ "statement": statement, "rationale": "it is the better one here", "scopes": ["src/pool"] })
            }
            _ => json!({ "statement": statement, "claim_type": kind, "scopes": ["src/pool"] }),
        };
        let tool = if kind == "decision" { "record_decision" } else { "create_claim" };
        bench.accepted(&writer, tool, made).await.field("claim_id").to_owned()
    };
    let mut made = Vec::new();
    for number in 0..12 {
        for kind in ["fact", "negative", "decision"] {
            made.push((kind, write(format!("the pool of connections, {kind} {number}"), kind).await));
        }
    }
    let of = |kinds: &[&str]| -> BTreeSet<&str> {
        made.iter().filter(|(kind, _)| kinds.contains(kind)).map(|(_, id)| id.as_str()).collect()
    };
    let all = ["fact", "negative", "decision"];
    for (address, list, kinds) in [
        ("hivemind://claims?limit=7&format=json", "claims", &all[..]),
        ("hivemind://claims?scope=src%2Fpool&type=fact&limit=5&format=json", "claims", &all[..1]),
        ("hivemind://decisions?limit=5&format=json", "decisions", &all[2..]),
        ("hivemind://search?q=connections%20pool&limit=4&format=json", "hits", &all[..]),
        (
            "hivemind://search?q=pool%20connections&type=fact&mode=strict&limit=4&format=json",
            "hits",
            &all[..1],
        ),
    ] {
        let seen = ids_of(&reader, address, list, async |page| {
            let kind = all[page % 3];
            // New ones, and one that is moved to another place in every order.
            write(format!("connections of the pool while {address} is read, {page}"), kind).await;
            bench.accepted(&reader, "support", json!({ "claim_id": made[page].1 })).await;
        })
        .await;
        let different: BTreeSet<&str> = seen.iter().map(String::as_str).collect();
        assert_eq!(different.len(), seen.len(), "{address} shows one twice");
        let missing: Vec<_> = of(kinds).difference(&different).copied().collect::<Vec<_>>();
        assert_eq!(missing, [""; 0], "{address} leaves some out");
    }

    // Events by ledger position: what is written meanwhile comes too, so the reader stops writing at last.
    let seqs = async |address: &str| -> Vec<u64> {
        let page: Value = serde_json::from_str(&reader.read(address).await.expect("a page")).expect("JSON");
        page["events"].as_array().expect("events").iter().filter_map(|event| event["seq"].as_u64()).collect()
    };
    let events = ids_of(&reader, "hivemind://events?after=0&limit=9&format=json", "events", async |page| {
        if page < 5 {
            write(format!("another one, {page}"), "fact").await;
        }
    })
    .await;
    let different: BTreeSet<&String> = events.iter().collect();
    let latest = seqs("hivemind://events?limit=1&format=json").await[0];
    assert_eq!((different.len(), events.len() as u64), (events.len(), latest));

    // Dead ends come fifty to a page.
    for number in 0..50 {
        write(format!("dead end {number}"), "negative").await;
    }
    let dead_ends =
        ids_of(&reader, "hivemind://negative?scope=src%2Fpool&format=json", "claims", async |_| {}).await;
    let claims =
        ids_of(&reader, "hivemind://claims?type=negative&limit=500&format=json", "claims", async |_| {})
            .await;
    assert_eq!(dead_ends, claims);
    assert!(claims.len() > 60);
}

#[tokio::test]
async fn a_cursor_nobody_gave_is_refused() {
    let bench = Bench::new();
    let pane = bench.pane(Some("reviewer"), Era::Modern).await;
    for address in [
        "hivemind://claims?cursor=newest",
        "hivemind://decisions?cursor=-1",
        "hivemind://negative?cursor=x",
        "hivemind://search?q=pool&cursor=7.x",
        "hivemind://events?after=x",
        "hivemind://agents?cursor=1",
    ] {
        let refused = pane.read(address).await.expect_err("a refusal").to_string();
        assert!(refused.contains("-32602"), "{address}: {refused}");
    }
}
