//! Search as people and agents meet it: `hm claim search`, the resource, and its subscription.

use std::time::Duration;

use expect_test::expect;
use hivemind::mcp::Era;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::shell::Shell;

/// How long a test waits for what should come at once; only a broken build takes so long.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long silence is listened to: longer than updates are held back.
const SILENCE: Duration = Duration::from_millis(600);

#[test]
fn the_command_line_finds_claims() {
    let mut shell = Shell::new();
    shell.check(
        &[
            "hm claim search pool",
            r#"hm --agent devops claim create "OrderedExecution replays commands by sequence number" --scope src/exec"#,
            r#"hm --agent analyst claim create "the pool holds 20 connections" --scope src/db/pool.rs"#,
            r#"hm --agent analyst claim create "the pool of connections was raised to 50" --scope src/db/pool.rs --supersedes C2"#,
            r#"hm --agent ana claim create "a pool for threads was slower" --type negative --scope src/exec"#,
            "hm claim search ordered_execution",
            "hm claim search how many connections does the pool hold",
            "hm claim search pool holds 20 --mode audit",
            "hm claim search pool --mode strict --type negative --scope src/exec/queue.rs --owner ana",
            "hm claim search pool --limit 1",
            "hm claim search pool --session other",
            r#"hm claim search "\\ ( OR * ^""#,
            "hm claim search pool --mode all",
            "hm claim search pool --status done",
            "hm claim search pool --status replaced",
        ],
        expect![[r#"
            $ hm claim search pool
            no claims match
            $ hm --agent devops claim create "OrderedExecution replays commands by sequence number" --scope src/exec
            claim created C1: committed at seq 1
            next: confirmed once another agent supports it
            $ hm --agent analyst claim create "the pool holds 20 connections" --scope src/db/pool.rs
            claim created C2: committed at seq 2
            next: confirmed once another agent supports it
            $ hm --agent analyst claim create "the pool of connections was raised to 50" --scope src/db/pool.rs --supersedes C2
            claim created C3: committed at seq 5
            $ hm --agent ana claim create "a pool for threads was slower" --type negative --scope src/exec
            claim created C4: committed at seq 6
            note: devops claimed here AGE ago: "OrderedExecution replays commands by sequence number" (C1)
            $ hm claim search ordered_execution
            C1 OrderedExecution replays commands by sequence number (proposed, by devops)
            $ hm claim search how many connections does the pool hold
            C3 the pool of connections was raised to 50 (proposed, by analyst)
            C4 a pool for threads was slower (negative, proposed, by analyst)
            C3 took the place of C2, which was found
            $ hm claim search pool holds 20 --mode audit
            C3 the pool of connections was raised to 50 (proposed, by analyst)
            C2 the pool holds 20 connections (replaced, by analyst, superseded by C3)
            C4 a pool for threads was slower (negative, proposed, by analyst)
            C3 took the place of C2, which was found
            $ hm claim search pool --mode strict --type negative --scope src/exec/queue.rs --owner ana
            C4 a pool for threads was slower (negative, proposed, by analyst)
            $ hm claim search pool --limit 1
            C4 a pool for threads was slower (negative, proposed, by analyst)
            more: the same with --cursor 6
            $ hm claim search pool --session other
            no claims match
            $ hm claim search "\\ ( OR * ^"
            no claims match
            $ hm claim search pool --mode all
            hm: `all` is no search mode: use one of strict, balanced, audit; correct `mode` and run it again
            [exit 2]
            $ hm claim search pool --status done
            hm: `done` is no status: use one of proposed, confirmed, contested, pending_proof, deprecated; correct `status` and run it again
            [exit 2]
            $ hm claim search pool --status replaced
            hm: `replaced` says how a claim ended, and is no status; use --status deprecated: it lists all that ended
            [exit 2]
        "#]],
    );
    let answer = shell.json("hm --json claim search pool connections");
    let keys: Vec<&str> = answer["hits"][0].as_object().expect("a hit").keys().map(String::as_str).collect();
    expect!["challenges confidence created_at created_seq effective_confidence evidence found_through grade id name owner reproduced scopes score seq stale statement status supports touched_at type"].assert_eq(&keys.join(" "));
}

#[test]
fn a_search_says_why_and_compares_words_only_where_the_team_wants_it() {
    let mut shell = Shell::new();
    let config = shell.workspace().config();
    std::fs::write(&config, "[search]\nvectors = \"static\"\n").expect("a configuration");
    shell.check(
        &[
            r#"hm --agent devops claim create "the picture is too big for the browser" --scope src/ui"#,
            r#"hm --agent devops claim create "uploads are compressed by a job" --scope src/ui/upload.rs --supersedes C1"#,
            r#"hm --agent ana claim create "a photograph of such size is refused" --scope src/net"#,
            "hm claim search large photo size --explain",
            "hm claim search photo size --scope src/net --explain",
            "hm claim search zebra crossing --explain",
        ],
        expect![[r#"
            $ hm --agent devops claim create "the picture is too big for the browser" --scope src/ui
            claim created C1: committed at seq 1
            next: confirmed once another agent supports it
            $ hm --agent devops claim create "uploads are compressed by a job" --scope src/ui/upload.rs --supersedes C1
            claim created C2: committed at seq 4
            $ hm --agent ana claim create "a photograph of such size is refused" --scope src/net
            claim created C3: committed at seq 5
            next: confirmed once another agent supports it
            $ hm claim search large photo size --explain
            C3 a photograph of such size is refused (proposed, by analyst)
            C2 uploads are compressed by a job (proposed, by devops)
            C3 1.000; size 1.00; meaning 0.65; confidence 1.00
            C2 0.490; by C1, which it superseded; no word; meaning 0.48; confidence 1.00
            C2 took the place of C1, which was found
            $ hm claim search photo size --scope src/net --explain
            C3 a photograph of such size is refused (proposed, by analyst)
            C3 1.000; size 1.00; meaning 0.70; src/net; confidence 1.00
            $ hm claim search zebra crossing --explain
            no claims match
        "#]],
    );
    let explained = shell.json("hm --json claim search photo size --explain");
    let why = explained["hits"][0]["why"].as_object().expect("grounds");
    let keys: Vec<&str> = why.keys().map(String::as_str).collect();
    expect!["by_words compared confidence cosine evidence fate identifiers neighbours words"]
        .assert_eq(&keys.join(" "));
    std::fs::write(&config, "").expect("a configuration");
    shell.check(
        &["hm claim search photo size --explain"],
        expect![[r#"
        $ hm claim search photo size --explain
        C3 a photograph of such size is refused (proposed, by analyst)
        C3 1.000; size 1.00; confidence 1.00
    "#]],
    );
}

#[tokio::test]
async fn a_search_is_a_resource_that_can_be_followed() {
    let bench = Bench::new();
    let mut reader = bench.pane(Some("devops"), Era::Legacy).await;
    let writer = bench.pane(Some("analyst"), Era::Modern).await;
    let address = "hivemind://search?q=pool%20connections&scope=src%2Fdb";
    assert!(reader.read(address).await.expect("an answer").starts_with("No claims match."));
    reader.subscribe(&[address]).await.expect("a subscription");

    let old = bench.claim(&writer, "the pool holds 20 connections", "src/db/pool.rs").await;
    assert_eq!(reader.updated(PATIENCE).await.as_deref(), Some(address));
    // Neither a claim elsewhere nor one without a word of the question changes the answer.
    bench.claim(&writer, "the pool of threads is small", "src/exec").await;
    bench.claim(&writer, "queries are logged", "src/db").await;
    assert_eq!(reader.updated(SILENCE).await, None);

    let raised = json!({
        "statement": "fifty since v2", "claim_type": "fact", "scopes": ["src/db/pool.rs"], "supersedes": old,
    });
    let new = bench.accepted(&writer, "create_claim", raised).await.field("claim_id").to_owned();
    assert_eq!(reader.updated(PATIENCE).await.as_deref(), Some(address));
    let answer: Value =
        serde_json::from_str(&reader.read(&format!("{address}&format=json")).await.expect("an answer"))
            .expect("JSON");
    assert_eq!(answer["hits"][0]["id"], *new);
    assert_eq!(answer["hits"][0]["found_through"], json!([old]));
    // Its words are not those of the question, and yet it is what the answer shows.
    tokio::time::sleep(SILENCE).await;
    while reader.updated(SILENCE).await.is_some() {}
    bench.accepted(&writer, "deprecate_claim", json!({ "claim_id": new, "reason": "gone" })).await;
    assert_eq!(reader.updated(PATIENCE).await.as_deref(), Some(address));
    assert!(reader.read("hivemind://search?q=pool&mode=all").await.is_err());
    assert!(reader.read("hivemind://search").await.is_err());
}
