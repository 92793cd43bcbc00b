//! The gate sees every text: a secret planted into any text of any command is refused.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use expect_test::expect;
use hivemind::domain::agent::AgentId;
use hivemind::domain::checkout::Checkout;
use hivemind::domain::command::{Command, Submission};
use hivemind::domain::ids::CommandId;
use hivemind::domain::privacy::{Secrets, deny, deny_texts};
use hivemind::domain::versions::Versions;
use hivemind::system;
use serde_json::Value;

use crate::secrets::{Random, secret};

/// A command of each name with all of its fields; of one that holds an enum of structs, one for each struct.
fn commands() -> Vec<Value> {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/commands.jsonl");
    let lines = fs::read_to_string(file).expect("a committed fixture");
    lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn submission(command: Command) -> Submission {
    Submission {
        command_id: CommandId::from_uuid(system::new_id()),
        agent: AgentId::recorded("devops"),
        unpinned: None,
        session: None,
        trace_id: None,
        idempotency_key: None,
        checkout: Checkout::default(),
        versions: Versions::new(),
        command,
    }
}

/// The JSON pointers of all texts in a value.
fn texts(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(at.to_owned()),
        Value::Array(values) => {
            values
                .iter()
                .enumerate()
                .for_each(|(index, value)| texts(value, &format!("{at}/{index}"), found));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| texts(value, &format!("{at}/{name}"), found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The commands that a secret makes of one: it takes the place of the text, or of the name of its field, or stands in
/// the text. What the types refuse is left out, and what they drop.
fn planted(command: &Value, pointer: &str, secret: &str) -> Vec<Command> {
    let spelled =
        [secret.to_owned(), format!("tag:{secret}"), format!("target:{secret}"), format!("src/{secret}")];
    let mut made: Vec<Value> = Vec::new();
    for text in spelled {
        let mut with = command.clone();
        *with.pointer_mut(pointer).expect("a text") = text.into();
        made.push(with);
    }
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
    let mut renamed = command.clone();
    if let Some(Value::Object(fields)) = renamed.pointer_mut(parent) {
        let value = fields.remove(name).expect("a field");
        fields.insert(secret.to_owned(), value);
        made.push(renamed);
    }
    let parsed = made.into_iter().filter_map(|made| serde_json::from_value::<Command>(made).ok());
    parsed.filter(|command| serde_json::to_string(command).expect("plain data").contains(secret)).collect()
}

#[test]
fn there_is_a_full_command_of_each_name() {
    let mut names = BTreeSet::new();
    for line in commands() {
        let command: Command =
            serde_json::from_value(line.clone()).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(serde_json::to_value(&command).expect("plain data"), line, "the form on the wire changed");
        // What the writer alone fills stays empty.
        let debug = format!("{command:?}").replace("plan: None, statement: None, further_runs: []", "");
        let debug = debug.replace("mission: None", "");
        for empty in ["None", "[]", "{}", "\"\""] {
            assert!(!debug.contains(empty), "every field is filled: {debug}");
        }
        names.insert(command.name());
    }
    assert_eq!(
        names,
        Command::NAMES.iter().copied().collect(),
        "tests/fixtures/commands.jsonl has every command"
    );
}

/// Red before: the refusal named the list, and not which of its entries.
#[test]
fn a_refusal_says_which_of_several_entries_holds_the_secret() {
    let secret = secret("shopify-token", &mut Random(7)).value;
    let denied = |scopes: &[&str]| {
        let json = serde_json::json!({ "name": "create_claim", "args": {
            "claim_id": "0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d49", "statement": "a", "claim_type": "fact", "scopes": scopes } });
        let command = serde_json::from_value(json).expect("a command");
        let denial = deny(&submission(command), &Secrets::default()).expect("a denial");
        hivemind::domain::rejection::Rejection::from(denial).message
    };
    assert!(
        denied(&["src", &secret]).starts_with("`scopes.2` (counted from 1) holds what looks like a secret")
    );
    let named = deny_texts("call", std::iter::once(("ÄÖÜ", secret.as_str())), &Secrets::default());
    assert_eq!(named.expect("a denial").field.as_str(), "arguments");
    assert!(denied(&[&secret]).starts_with("`scopes` holds what looks like a secret"));
}

#[test]
fn a_secret_in_any_text_of_any_command_is_refused() {
    let secrets = Secrets::default();
    // Lower case and short: it fits where only names fit.
    let secret = secret("shopify-token", &mut Random(5)).value;
    let mut closed = BTreeSet::new();
    let mut open = 0;
    for line in commands() {
        let clean: Command = serde_json::from_value(line.clone()).expect("a command");
        assert_eq!(deny(&submission(clean), &secrets), None, "{line}");
        let mut pointers = Vec::new();
        texts(&line["args"], "/args", &mut pointers);
        for pointer in pointers {
            let planted = planted(&line, &pointer, &secret);
            if planted.is_empty() {
                let place = pointer.trim_start_matches("/args/").replace('/', ".");
                closed.insert(format!("{}: {place}", line["name"].as_str().expect("a name")));
            }
            for command in planted {
                open += 1;
                let denial = deny(&submission(command), &secrets);
                let denial = denial.unwrap_or_else(|| panic!("{pointer} of {line} is not scanned"));
                assert_eq!(denial.rule.as_str(), "shopify-token");
                assert!(!denial.field.as_str().is_empty(), "{pointer} of {line} has no name");
            }
        }
    }
    assert!(open > 100, "{open} were planted");
    // Ids and words of a list: no secret fits into their types.
    let closed: Vec<String> = closed.into_iter().collect();
    expect![[r#"
        abandon_plan: plan_id
        accept_guard: action
        accept_guard: condition.claim_type
        accept_guard: condition.event_types.0
        accept_guard: condition.pattern_type
        accept_guard: condition.status
        accept_guard: guard_id
        accept_guard: source_claim
        accept_guard: source_pattern
        accept_merge: claim_id
        accept_merge: other
        accept_playbook: playbook_id
        add_evidence: claim_id
        add_evidence: evidence_ref
        add_evidence: relation
        add_phase: phase_id
        add_phase: plan_id
        add_plan: plan_id
        add_task: depends_on.0
        add_task: parent_task_id
        add_task: phase_id
        add_task: task_id
        affirm_claim: claim_id
        attach_experiment: claim_id
        attach_experiment: run_id
        cancel_experiment: run_id
        cite_place: event_id
        cite_place: span.sha256
        claim_task: task_id
        create_claim: claim_id
        create_claim: claim_type
        create_claim: event_type
        create_claim: evidence_refs.0
        create_claim: evidence_refs.1
        create_claim: evidence_refs.2
        create_claim: origin_task_id
        create_claim: supersedes
        declare_intent: phase_id
        declare_intent: plan_id
        declare_intent: task_ids.0
        decline_merge: claim_id
        decline_merge: other
        deprecate_claim: claim_id
        dismiss_pattern: pattern_id
        dismiss_playbook: playbook_id
        forget: event_id
        keep_claim: claim_id
        mute_guard: guard.rule
        observe: event_id
        observe: seen.what
        promote_item: event_type
        promote_item: item
        promote_item: to
        record_decision: alternatives.0.claim_id
        record_decision: claim_id
        record_decision: evidence_refs.0
        record_decision: supersedes.0
        record_experiment: outcome.state
        record_experiment: run_id
        record_firing: guard.claim
        record_firing: kind
        record_message: event_id
        record_outcome: decision_id
        record_outcome: outcome
        record_recall: recalled.0.because.0
        record_recall: recalled.0.because.1
        record_recall: recalled.0.because.2
        record_recall: recalled.0.because.3
        record_turn: role
        rename_plan: plan_id
        report_event: event_id
        report_event: kind
        retract_evidence: claim_id
        retract_evidence: evidence_ref
        retract_evidence: relation
        run_experiment: claim_id
        run_experiment: prediction
        run_experiment: run_id
        see_attention: id
        spawn_researcher: parent_task_id
        spawn_researcher: run_id
        spawn_researcher: task_id
        start_phase: space
        start_session: source
        take_position: claim_id
        take_position: evidence_ref
        take_position: position
        update_task: status
        update_task: task_id"#]]
    .assert_eq(&closed.join("\n"));
}

#[test]
fn a_secret_in_a_name_of_the_caller_is_refused() {
    let secrets = Secrets::default();
    let secret = secret("shopify-token", &mut Random(6)).value;
    let plain = || submission(serde_json::from_value(commands()[0].clone()).expect("a command"));
    let named = |json: Value| {
        let mut whole = serde_json::to_value(plain()).expect("plain data");
        whole.as_object_mut().expect("an object").extend(json.as_object().expect("an object").clone());
        let submission: Submission = serde_json::from_value(whole).expect("a submission");
        deny(&submission, &secrets).map(|denial| denial.field.to_string())
    };
    assert_eq!(named(serde_json::json!({})), None);
    assert_eq!(
        named(serde_json::json!({ "agent": AgentId::recorded(secret.as_str()) })).as_deref(),
        Some("agent")
    );
    for (field, json) in [
        ("session", serde_json::json!({ "session": secret })),
        ("session", serde_json::json!({ "unpinned": { "pane": secret } })),
        ("agent", serde_json::json!({ "unpinned": { "named": secret } })),
        ("client", serde_json::json!({ "unpinned": { "client": { "name": secret, "word": "claude" } } })),
        ("client", serde_json::json!({ "unpinned": { "client": { "name": "claude", "word": secret } } })),
        (
            "client",
            serde_json::json!({ "unpinned": { "client": { "name": "claude", "word": "c", "first": secret } } }),
        ),
        ("trace_id", serde_json::json!({ "trace_id": secret })),
        ("idempotency_key", serde_json::json!({ "idempotency_key": secret })),
    ] {
        assert_eq!(named(json.clone()).as_deref(), Some(field), "{json}");
    }
}
