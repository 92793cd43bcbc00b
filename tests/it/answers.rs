//! Answers of the read side: text and JSON of one question at once, and the same JSON for a verb and its resource.

use hivemind::config::Config;
use hivemind::domain::time::{Moment, Timestamp};
use hivemind::mcp::Era;
use hivemind::reads::Reads;
use hivemind::views::{self, Body, Format, View, ViewError};
use serde_json::{Value, json};

use crate::bench::Bench;

/// One question in both formats.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) seq: u64,
    pub(crate) json: Value,
    pub(crate) text: String,
    pub(crate) left_out: u64,
}

/// What the view answers now.
pub(crate) fn answer(
    reads: &mut Reads,
    config: &Config,
    view: &View,
    now: Timestamp,
) -> Result<Answer, ViewError> {
    answer_at(reads, config, view, now, None)
}

/// What the view answered then.
pub(crate) fn answer_at(
    reads: &mut Reads,
    config: &Config,
    view: &View,
    now: Timestamp,
    moment: Option<Moment>,
) -> Result<Answer, ViewError> {
    let text = views::answer_at(reads, config, view, (now, moment), Format::Text)?;
    let json = views::answer_at(reads, config, view, (now, moment), Format::Json)?;
    let seq = text.seq;
    assert_eq!((seq, text.left_out, &text.opened), (json.seq, json.left_out, &json.opened), "{view:?}");
    let left_out = text.left_out;
    let Body::Json(json) = json.body else { panic!("no JSON: {json:?}") };
    Ok(Answer { seq, json, text: text.into_text(), left_out })
}

/// Members that name the next step: in a shell as a line for it, to a client as a tool.
const STEPS: [&str; 6] = ["hint", "meaning", "message", "moves", "next", "settle"];

/// An answer without its steps, and without what tells how much time is left.
fn compared(value: &Value) -> Value {
    match value {
        Value::Array(values) => values.iter().map(compared).collect(),
        Value::Object(members) => {
            let members = members.iter().filter(|(name, value)| {
                let is_step = STEPS.contains(&name.as_str()) && !value.is_number();
                !is_step && name.as_str() != "does"
            });
            members.map(|(name, value)| (name.clone(), compared(value))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[tokio::test]
async fn a_verb_and_its_resource_give_programs_the_same() {
    let bench = Bench::new();
    let (devops, reviewer) =
        (bench.pane(Some("devops"), Era::Modern).await, bench.pane(Some("reviewer"), Era::Legacy).await);
    let pool = bench.claim(&devops, "the pool holds 20 connections", "src/db").await;
    bench.claim(&devops, "the pool never holds 20 connections", "src/db").await;
    bench.accepted(&reviewer, "support", json!({ "claim_id": pool })).await;
    bench.claim(&reviewer, "retries go through the queue", "src/net").await;
    for (tool, arguments) in [
        (
            "record_decision",
            json!({ "statement": "we keep SQLite", "target": "database", "scopes": ["src"],
            "rationale": "one file, no server to run", "alternatives": [] }),
        ),
        (
            "create_claim",
            json!({ "statement": "a pool per thread was slower", "claim_type": "negative",
            "scopes": ["src/exec"] }),
        ),
    ] {
        bench.accepted(&devops, tool, arguments).await;
    }
    for verb in [
        "plan add Ship",
        "task add Mend --scope src/db",
        "task claim T1 --lock src/db",
        "anchor save DB v7",
        "belief snapshot",
    ] {
        let words: Vec<&str> = ["--agent", "devops"].into_iter().chain(verb.split(' ')).collect();
        let done = bench.hm(&words);
        assert!(done.status.success(), "{verb}: {done:?}");
    }
    for (verb, address) in [
        ("claim list --limit 50", "claims"),
        ("claim list --limit 2", "claims?limit=2"),
        ("claim list --all --limit 50", "claims?limit=50"),
        ("claim show C1", "claims/C1"),
        ("claim search pool connections", "search?q=pool%20connections"),
        ("decision list", "decisions?limit=20"),
        ("contradictions", "contradictions"),
        ("contradictions show X1", "contradictions/X1"),
        ("target list", "targets"),
        ("experiment list", "experiments"),
        ("log --after 0 --all --limit 50", "events"),
        ("plan show", "plan"),
        ("task list", "tasks"),
        ("task ready", "tasks/ready"),
        ("task show T1", "tasks/T1"),
        ("session list", "sessions"),
        ("anchor list", "anchors"),
        ("belief show devops", "beliefs/devops"),
        ("context --agent devops", "context/devops"),
        ("attention --agent devops", "attention?agent=devops"),
    ] {
        let mut words = vec!["--json"];
        words.extend(verb.split(' '));
        let said = bench.hm(&words);
        let said: Value =
            serde_json::from_slice(&said.stdout).unwrap_or_else(|error| panic!("{verb}: {error}: {said:?}"));
        let separator = if address.contains('?') { '&' } else { '?' };
        let read = devops.read(&format!("hivemind://{address}{separator}format=json")).await;
        let read = read.unwrap_or_else(|error| panic!("{address}: {error}"));
        let mut read: Value = serde_json::from_str(&read).expect("JSON");
        // A client pages by address, a shell by cursor.
        read.as_object_mut().expect("an object").remove("next_page");
        assert_eq!(compared(&said), compared(&read), "{verb}: {address}");
    }
    // A miss has the code of what was looked for.
    for (verb, code) in [
        ("session show nope", "unknown_session"),
        ("session turn0 nope", "unknown_session"),
        ("belief show frontend", "unknown_session"),
        ("experiment show 019f0000-0000-7000-8000-000000000000", "unknown_run"),
        ("experiment show 019f0000-0000-7000-8000-000000000000 --stdout", "unknown_run"),
        ("task show 019f0000-0000-7000-8000-000000000000", "unknown_task"),
        ("claim show 019f0000-0000-7000-8000-000000000000", "unknown_claim"),
    ] {
        let mut words = vec!["--json"];
        words.extend(verb.split(' '));
        let said = bench.hm(&words);
        let refused: Value = serde_json::from_slice(&said.stdout).expect("JSON");
        assert_eq!(refused["code"], code, "{verb}");
    }
}
