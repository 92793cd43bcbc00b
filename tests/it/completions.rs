//! Completions through real clients of both eras: what an argument can become, and what nobody can ask.

use expect_test::expect;
use hivemind::mcp::Era;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::harness::{TempWorkspace, creation};

const CLAIMS: &str = "hivemind://claims{?status,type,scope,owner,session,task,since,until,limit,cursor}";
const EVENTS: &str = "hivemind://events{?after,type,agent,limit}";

fn values(completion: &Value) -> Vec<&str> {
    let values = completion["values"].as_array().expect("values");
    values.iter().filter_map(Value::as_str).collect()
}

#[tokio::test]
async fn arguments_are_completed_in_both_eras() {
    let bench = Bench::new();
    for (era, name) in [(Era::Legacy, "legacy"), (Era::Modern, "modern")] {
        let pane = bench.pane(Some("devops"), era).await;
        let claim = bench.claim(&pane, &format!("the {name} pool"), &format!("src/{name}/pool.rs")).await;
        let decided = bench
            .accepted(
                &pane,
                "record_decision",
                json!({ "statement": format!("{name} it is"), "rationale": "it is faster here", "target": format!("Base {name}") }),
            )
            .await;
        let complete = async |of: &str, argument: &str, typed: &str| {
            pane.complete(of, argument, typed).await.expect("a completion")
        };

        // A decision goes by the id and the name of its claim; the newest is first.
        let found = complete("hivemind://claims/{id}", "id", &claim.to_uppercase()[..4]).await;
        let id = decided.field("claim_id");
        assert_eq!(&values(&found)[..2], [id, claim.as_str()], "{found}");
        let found = complete("hivemind://claims/{id}", "id", "c").await;
        let (called, claims) = (decided.field("name"), if era == Era::Legacy { 2 } else { 4 });
        assert_eq!((values(&found)[0], &found["total"]), (called, &json!(claims)));
        assert_eq!(called, format!("C{claims}"));
        let found = complete("hivemind://claims/{id}", "id", &claim).await;
        assert_eq!(found, json!({ "values": [claim], "total": 1, "hasMore": false }));
        let event = complete("hivemind://events/{id}", "id", &claim).await;
        assert_eq!(values(&event), [claim.as_str()], "a claim goes by the id of the event that made it");

        let found = complete("hivemind://negative{?scope,cursor}", "scope", &format!("src/{name}")).await;
        assert_eq!(values(&found), [format!("src/{name}/pool.rs")]);
        for typed in [format!("base {name}"), format!("target:base {name}")] {
            let found = complete("hivemind://decisions{?target,scope,limit,cursor}", "target", &typed).await;
            assert_eq!(values(&found), [format!("target:base {name}")]);
        }
        assert_eq!(
            values(&complete(CLAIMS, "session", "hm-").await).len(),
            if name == "legacy" { 1 } else { 2 }
        );
    }
}

#[tokio::test]
async fn words_come_from_their_vocabularies() {
    let bench = Bench::new();
    let pinned = bench.pane(Some("devops"), Era::Modern).await;
    let unpinned = bench.pane(None, Era::Legacy).await;
    let mut lines = Vec::new();
    for (of, argument, typed) in [
        (CLAIMS, "status", ""),
        (CLAIMS, "status", "Con"),
        (CLAIMS, "status", "confirmed,con"),
        (CLAIMS, "type", "f"),
        (CLAIMS, "owner", "inf"),
        (CLAIMS, "scope", "src"),
        (CLAIMS, "limit", "1"),
        (CLAIMS, "status", "x"),
        ("hivemind://search{?q,scope,type,status,mode,since,until,limit,cursor}", "mode", ""),
        (
            "hivemind://context/{agent}{?session,intent,budget,context_window,used_tokens,all,explain,why}",
            "agent",
            "a",
        ),
        (EVENTS, "type", "claim.s"),
        (EVENTS, "agent", "sys"),
        ("session-start", "agent", ""),
        ("session-start", "agent", "an"),
    ] {
        for (name, pane) in [("pinned", &pinned), ("unpinned", &unpinned)] {
            let found = pane.complete(of, argument, typed).await.expect("a completion");
            let total = found["total"].as_u64().expect("a total") as usize;
            assert_eq!((total, &found["hasMore"]), (values(&found).len(), &json!(false)));
            lines.push(format!("{name} {argument}={typed} {}", values(&found).join(" ")));
        }
    }
    // Who is pinned matters to the prompt only.
    let shared = |line: &String| line.replace("unpinned ", "").replace("pinned ", "");
    lines.dedup_by(|one, other| shared(one) == shared(other));
    expect![[r#"
        pinned status= proposed confirmed contested pending_proof deprecated
        pinned status=Con confirmed contested
        pinned status=confirmed,con confirmed,contested
        pinned type=f fact
        pinned owner=inf infra
        pinned scope=src 
        pinned limit=1 
        pinned status=x 
        pinned mode= strict balanced audit
        pinned agent=a architect analyst arch ana
        pinned type=claim.s claim.status_changed claim.superseded
        pinned agent=sys system
        pinned agent= devops
        unpinned agent= architect devops analyst frontend reviewer
        pinned agent=an 
        unpinned agent=an analyst ana"#]]
    .assert_eq(&lines.join("\n"));
}

#[tokio::test]
async fn what_is_not_listed_is_refused() {
    let bench = Bench::new();
    let pane = bench.pane(Some("devops"), Era::Modern).await;
    for (of, argument) in [
        ("hivemind://nothing/{id}", "id"),
        ("hivemind://claims/{id}", "colour"),
        ("hivemind://claims", "status"),
        ("no-such-prompt", "agent"),
        ("session-start", "id"),
    ] {
        let refused = pane.complete(of, argument, "").await.expect_err("a refusal").to_string();
        assert!(refused.contains("-32602") && refused.contains("is listed"), "{of} {argument}: {refused}");
    }
    // Whatever is typed is text, and what comes after it in the order does not begin with it.
    bench.claim(&pane, "there is something", "src").await;
    for typed in ["%", "_", "'", "\"; DROP TABLE claims; --", "\u{10ffff}", "0190\u{0}", "../.."] {
        for (of, argument) in [("hivemind://claims/{id}", "id"), (CLAIMS, "scope"), (CLAIMS, "session")] {
            let found = pane.complete(of, argument, typed).await.expect("a completion");
            assert_eq!(found, json!({ "values": [], "total": 0, "hasMore": false }), "{typed:?}");
        }
    }
}

#[tokio::test]
async fn at_most_a_hundred_are_named_and_all_are_counted() {
    let workspace = TempWorkspace::new();
    let mut newest = String::new();
    {
        let mut committer = workspace.committer(1);
        for number in 0..130 {
            let made = creation("devops", &format!("claim {number}"));
            newest = crate::harness::claim_of(&made).to_string();
            committer.commit(&[made]).expect("a commit").remove(0).expect("a receipt");
        }
    }
    let pane = hivemind::mcp::Pane::start(crate::harness::HM.as_ref(), workspace.root(), None, Era::Modern);
    let pane = pane.await.expect("a pane");
    let found = pane.complete("hivemind://claims/{id}", "id", "").await.expect("a completion");
    let names = values(&found);
    assert_eq!(
        (names.len(), names[0], names[99], &found["total"], &found["hasMore"]),
        (100, "C130", "C31", &json!(130), &json!(true))
    );
    let found = pane.complete("hivemind://claims/{id}", "id", "c1").await.expect("a completion");
    let names = values(&found);
    assert_eq!((names[0], names[31], names[41], &found["total"]), ("C130", "C19", "C1", &json!(42)));
    let found = pane.complete("hivemind://claims/{id}", "id", &newest[..4]).await.expect("a completion");
    assert_eq!((values(&found)[0], &found["total"]), (newest.as_str(), &json!(130)), "ids can be typed, too");
    let scopes = pane.complete(CLAIMS, "scope", "").await.expect("a completion");
    assert_eq!(scopes, json!({ "values": ["."], "total": 1, "hasMore": false }), "130 rows are one scope");
}
