//! A context says why it shows what it shows, and why one claim is not in it: the same over MCP and on the command line.

use hivemind::mcp::Era;
use serde_json::{Value, json};

use crate::bench::Bench;

#[tokio::test]
async fn a_context_says_why_each_claim_is_in_it_and_why_one_is_not() {
    let bench = Bench::new();
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let pool = bench.claim(&devops, "the pool holds 20 connections", "src/db").await;
    let beside = bench.claim(&devops, "one writer at a time", "src/db").await;
    let menu = bench.claim(&devops, "the menu opens at once", "src/ui").await;
    let read = async |uri: &str| devops.read(uri).await.expect("an answer");

    // Nothing says what it is about.
    let explained = read("hivemind://context?explain=true").await;
    assert!(explained.contains("No intent, task, prompt or file says"), "{explained}");

    bench.accepted(&devops, "declare_intent", json!({ "intent": "a larger pool of connections" })).await;
    let explained = read("hivemind://context?explain=true").await;
    assert!(explained.contains("- about: a larger pool of connections"), "{explained}");
    assert!(explained.contains("## Claims: 3 of 3 shown"), "{explained}");
    let line = |id: &str| {
        let id = bench.name(id);
        let found = explained.lines().find(|line| line.ends_with(&format!("(`{id}`)")));
        found.unwrap_or_else(|| panic!("no {id} in {explained}")).to_owned()
    };
    assert!(line(&pool).contains("= search 1.00 (by its words 1.00)"), "{}", line(&pool));
    let beside_it = line(&beside);
    assert!(beside_it.contains("(by its words 0.00)") && !beside_it.contains("search 0.00"), "{beside_it}");
    assert!(line(&menu).contains("= search 0.00 + confidence 0.05 + recent 0.10"), "{}", line(&menu));
    let place = |id: &str| explained.find(&format!("`{}`", bench.name(id))).expect("it");
    assert!(place(&pool) < place(&beside) && place(&beside) < place(&menu), "{explained}");
    let json: Value =
        serde_json::from_str(&read("hivemind://context?explain=true&format=json").await).expect("JSON");
    let items = json["items"].as_array().expect("items");
    let ids: Vec<&str> = items.iter().filter_map(|item| item["id"].as_str()).collect();
    assert_eq!(ids, [pool.as_str(), beside.as_str(), menu.as_str()], "{json}");
    assert_eq!((items[0]["shown"].as_bool(), items[0]["parts"]["search"].as_f64()), (Some(true), Some(1.0)));

    // One that has no room, one that is gone, and one that never was.
    let why = read(&format!("hivemind://context?why={menu}&budget=620")).await;
    assert!(why.contains("it is not shown: it stands at place 3 of 3 claims and takes "), "{why}");
    assert!(why.contains("no room for in 620; a larger budget or a narrower intent brings it in"), "{why}");
    let why = read(&format!("hivemind://context?why={pool}&budget=620")).await;
    assert!(why.contains("it is shown, at place 1 of 3 claims"), "{why}");
    bench
        .accepted(&devops, "deprecate_claim", json!({ "claim_id": menu, "reason": "it was measured anew" }))
        .await;
    let why = read(&format!("hivemind://context?why={menu}")).await;
    assert!(why.contains("it is not shown: it is deprecated"), "{why}");
    let unknown = "0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d47";
    let refused = devops.read(&format!("hivemind://context?why={unknown}")).await.expect_err("no such claim");
    assert!(refused.to_string().contains(&format!("no claim has the id {unknown}")), "{refused}");

    let hm = |arguments: &[&str]| {
        let root = bench.root().to_str().expect("a printable path");
        let mut hm = std::process::Command::new(bench.binary());
        let run = hm.args(arguments).args(["--dir", root, "--agent", "devops"]).output().expect("hm runs");
        (run.status.code(), String::from_utf8_lossy(&[run.stdout, run.stderr].concat()).into_owned())
    };
    let (code, said) = hm(&["context", "--explain"]);
    assert!(code == Some(0) && said.contains("# Why the context of devops shows what it shows"), "{said}");
    let (code, said) = hm(&["context", "--why", &pool]);
    assert!(code == Some(0) && said.contains("it is shown, at place "), "{said}");
    let (code, said) = hm(&["context", "--why", "pool"]);
    assert!(
        code == Some(1)
            && said.contains("no claim is called `pool`; did you mean C1 (the pool holds 20 connections)?"),
        "{said}"
    );
}
