//! Who accepts and silences guards, and which guards a write meets.

use serde_json::{Value, json};
use uuid::Uuid;

use super::{is_guard, wait_for_run};
use crate::domain::agent::AgentId;
use crate::domain::decide::{Accepted, Facts, PlannedRun, Policy, decide};
use crate::domain::event::{Event, Recorded};
use crate::domain::ids::{CommandId, EventId, SessionId};
use crate::domain::state::State;
use crate::domain::time::Timestamp;

const NOW: i64 = 1_000_000;
const RULE: u128 = 1;
const DEAD_END: u128 = 2;
const FACT: u128 = 3;

fn id(nth: u128) -> Uuid {
    Uuid::from_u128(1 << 100 | nth)
}

fn fold(state: &mut State, own: Uuid, session: Option<&SessionId>, event: Event) {
    state.evolve(&Recorded {
        seq: 1,
        id: EventId::from_uuid(own),
        agent: AgentId::recorded("devops"),
        session: session.cloned(),
        causation: CommandId::from_uuid(own),
        at: Timestamp::from_ms(1),
        event: Some(event),
        erased: None,
    });
}

/// A guard on claims about the pool that ends at a time, a dead end and a fact.
fn state(until: Option<i64>) -> State {
    let mut state = State::default();
    let mut rule = json!({ "guard_id": id(RULE), "action": "warn", "text": "ask the operator first",
        "condition": { "text_includes": "pool" } });
    if let Some(until) = until {
        rule["until"] = until.into();
    }
    let claim = |nth: u128, claim_type: &str| {
        json!({ "claim_id": id(nth), "statement": format!("claim {nth}"), "claim_type": claim_type,
            "scopes": ["src"], "confidence": 1.0 })
    };
    for (nth, kind, body) in [
        (RULE, "guard.accepted", rule),
        (DEAD_END, "claim.created", claim(DEAD_END, "negative")),
        (FACT, "claim.created", claim(FACT, "fact")),
    ] {
        let event = Event::decode(kind, &body.to_string()).expect("an event");
        fold(&mut state, id(nth), None, event);
    }
    state
}

/// The warnings that a command gets, or why it is refused.
fn decided(state: &State, agent: &str, command: Value) -> Result<Vec<String>, String> {
    let command = serde_json::from_value(command).expect("a command");
    let (agent, session) = (AgentId::recorded(agent), "s-1".parse().expect("a session"));
    let now = Timestamp::from_ms(NOW);
    let decision =
        decide(state, &agent, Some(&session), &Facts::default(), &command, now, &Policy::default());
    let warned = |decision: Accepted| decision.warnings.into_iter().map(|warning| warning.message).collect();
    decision.map(warned).map_err(|refused| refused.message)
}

#[test]
fn a_guard_is_accepted_with_what_it_needs() {
    for (agent, more, expected) in [
        ("architect", json!({}), ""),
        ("operator", json!({}), ""),
        ("devops", json!({}), "the architect and the operator"),
        ("architect", json!({ "guard_id": id(RULE) }), "is taken"),
        ("architect", json!({ "condition": {} }), "at least one field"),
        ("architect", json!({ "condition": { "scope": "." } }), "the whole workspace"),
        ("architect", json!({ "until": NOW + 1 }), ""),
        ("architect", json!({ "until": NOW }), "the time has passed"),
        ("architect", json!({ "source_claim": id(FACT) }), ""),
        ("architect", json!({ "source_claim": id(8) }), "claim"),
        ("architect", json!({ "profile": "cargo-test" }), "only a guard with the action block"),
        ("architect", json!({ "profile": "cargo-test", "action": "block" }), ""),
    ] {
        let mut args = json!({ "guard_id": id(9), "condition": { "commands": ["cargo publish"] },
            "action": "warn", "text": "ask first" });
        args.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let answer = decided(&state(None), agent, json!({ "name": "accept_guard", "args": args }));
        let refused = answer.err().unwrap_or_default();
        assert_eq!(refused.is_empty(), expected.is_empty(), "{agent} {more}: {refused}");
        assert!(refused.contains(expected), "{agent} {more}: {refused}");
    }
}

#[test]
fn the_operator_silences_what_is_a_guard() {
    for (agent, args, expected) in [
        ("operator", json!({ "guard": { "rule": id(RULE) } }), ""),
        ("operator", json!({ "guard": { "claim": id(DEAD_END) } }), ""),
        ("operator", json!({ "guard": { "rule": id(RULE) }, "until": NOW + 1 }), ""),
        ("operator", json!({ "guard": { "rule": id(RULE) }, "until": NOW }), "the time has passed"),
        ("architect", json!({ "guard": { "rule": id(RULE) } }), "only the operator"),
        ("operator", json!({ "guard": { "claim": id(FACT) } }), "no dead end"),
        ("operator", json!({ "guard": { "claim": id(8) } }), "claim"),
        ("operator", json!({ "guard": { "rule": id(8) } }), "no guard"),
        ("operator", json!({ "guard": { "task": id(RULE) } }), "a guard or a dead end"),
    ] {
        let answer = decided(&state(None), agent, json!({ "name": "mute_guard", "args": args }));
        let refused = answer.err().unwrap_or_default();
        assert_eq!(refused.is_empty(), expected.is_empty(), "{agent} {args}: {refused}");
        assert!(refused.contains(expected), "{agent} {args}: {refused}");
    }
    let state = state(None);
    assert_eq!([RULE, DEAD_END, FACT, 8].map(|nth| is_guard(&state, id(nth))), [true, true, false, false]);
}

#[test]
fn a_write_meets_a_guard_once_a_turn_until_the_guard_ends_or_is_silenced() {
    let claim = |statement: &str| {
        let args = json!({ "claim_id": id(7), "statement": statement, "claim_type": "fact", "scopes": ["src/db"],
            "confidence": 1.0 });
        json!({ "name": "create_claim", "args": args })
    };
    let warnings =
        |state: &State, statement: &str| decided(state, "qa", claim(statement)).expect("a claim").len();
    assert_eq!(warnings(&state(None), "the pool holds 40"), 1);
    assert_eq!(warnings(&state(None), "the queue holds 40"), 0);
    assert_eq!(warnings(&state(Some(NOW + 1)), "the pool holds 40"), 1);
    assert_eq!(warnings(&state(Some(NOW)), "the pool holds 40"), 0, "it is over");

    let rule = |nth: u128| {
        let rule = json!({ "guard_id": id(nth), "action": "warn", "text": "ask first",
            "condition": { "text_includes": "pool" } });
        ("guard.accepted", rule)
    };
    let with = |events: &[(&str, Value)]| {
        let mut state = state(None);
        let session: SessionId = "s-1".parse().expect("a session");
        for ((kind, body), nth) in events.iter().zip(20..) {
            let event = Event::decode(kind, &body.to_string()).expect("an event");
            let own = event.about().own_id(None).unwrap_or_else(|| id(nth));
            fold(&mut state, own, Some(&session), event);
        }
        warnings(&state, "the pool holds 40")
    };
    let fired = ("guard.fired", json!({ "guard": { "rule": id(RULE) }, "matched": "pool" }));
    let fact = ("guard.fired", json!({ "guard": { "claim": id(DEAD_END) }, "matched": "pool" }));
    let turn = |role: &str| ("turn.recorded", json!({ "role": role, "text": "go on" }));
    let muted = |scope: &str| ("guard.muted", json!({ "guard": { "rule": id(RULE) }, "scope": scope }));
    let ended = ("session.ended", json!({ "cause": "ended", "session": "s-1" }));
    for (events, expected) in [
        (vec![fired.clone()], 0),
        (vec![fired.clone(), turn("assistant")], 0),
        (vec![fired.clone(), turn("user")], 1),
        (vec![fired.clone(), ended], 1),
        (vec![fact], 1),
        (vec![rule(11), rule(12)], 2),
        (vec![rule(11), rule(12), fired.clone()], 1),
        (vec![muted("src")], 0),
        (vec![muted("web")], 1),
    ] {
        assert_eq!(with(&events), expected, "{events:?}");
    }
}

#[test]
fn a_guard_that_blocks_only_warns_of_a_write_that_nobody_contests() {
    let mut state = state(None);
    let blocks = json!({ "guard_id": id(11), "action": "block", "text": "run it first",
        "condition": { "event_types": ["decision.recorded"] } });
    fold(&mut state, id(11), None, Event::decode("guard.accepted", &blocks.to_string()).expect("an event"));
    let args = json!({ "claim_id": id(7), "statement": "the queue holds 40", "rationale": "it is enough",
        "scopes": ["src/db"] });
    let warned =
        decided(&state, "qa", json!({ "name": "record_decision", "args": args })).expect("a decision");
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(!warned[0].contains("contested"), "{warned:?}");
}

#[test]
fn a_guard_that_blocks_holds_for_each_contested_claim_and_advises_once_a_turn() {
    let mut state = state(None);
    let session: SessionId = "s-1".parse().expect("a session");
    for (nth, action) in [(11, "warn"), (12, "warn"), (13, "block")] {
        let rule = json!({ "guard_id": id(nth), "action": action, "text": "run it first",
            "condition": { "scope": "src" } });
        fold(
            &mut state,
            id(nth),
            None,
            Event::decode("guard.accepted", &rule.to_string()).expect("an event"),
        );
        let fired = json!({ "guard": { "rule": id(nth) }, "matched": "src" });
        let fired = Event::decode("guard.fired", &fired.to_string()).expect("an event");
        fold(&mut state, id(nth + 100), Some(&session), fired);
    }
    let challenge = json!({ "claim_id": id(FACT), "position": "challenge", "reason": "it holds 10" });
    let warned = decided(&state, "qa", json!({ "name": "take_position", "args": challenge }));
    let warned = warned.expect("a challenge");
    let blocks = |warned: &[String]| warned.iter().filter(|said| said.contains("(block)")).count();
    assert_eq!(blocks(&warned), 1, "the claim is contested: {warned:?}");
    let args = json!({ "claim_id": id(7), "statement": "the queue holds 40", "claim_type": "fact",
        "scopes": ["src/db"], "confidence": 1.0 });
    let warned = decided(&state, "qa", json!({ "name": "create_claim", "args": args })).expect("a claim");
    assert_eq!(warned, [""; 0], "it stops nothing, so it is advice");
}

#[test]
fn a_contested_claim_waits_for_a_run_that_can_settle_it() {
    for (status, scopes, prediction, blocking, expected) in [
        ("contested", "src/**", "passes", false, true),
        ("contested", "src/**", "passes", true, false),
        ("contested", "src/**", "fails", false, false),
        ("contested", "web/**", "passes", false, false),
        ("confirmed", "src/**", "passes", false, false),
    ] {
        let mut state = state(None);
        let claim = json!({ "claim_id": id(4), "statement": "the pool holds 40", "claim_type": "fact",
            "scopes": ["src/pool"], "confidence": 1.0 });
        let moved = json!({ "claim_id": id(4), "from": "proposed", "to": status, "reason": "it is so" });
        for (nth, kind, body) in [(4, "claim.created", claim), (5, "claim.status_changed", moved)] {
            fold(&mut state, id(nth), None, Event::decode(kind, &body.to_string()).expect("an event"));
        }
        let plan = json!({ "profile": "check", "profile_sha256": "00", "argv": ["true"], "cwd": "/",
            "env": { "only": [] }, "timeout_ms": 1000, "limits": {}, "uncapped": false, "pty": false,
            "expect": { "exit": 0 }, "scopes": [scopes] });
        let planned = PlannedRun {
            plan: serde_json::from_value(plan).expect("a plan"),
            statement: None,
            further_runs: Vec::new(),
            dirs: Vec::new(),
            unfit: None,
        };
        let facts = Facts { run: Some(planned), ..Facts::default() };
        let args = json!({ "run_id": id(6), "claim_id": id(4), "profile": "check", "args": {},
            "blocking": blocking, "prediction": prediction });
        let run =
            serde_json::from_value(json!({ "name": "run_experiment", "args": args })).expect("a command");
        let waits = wait_for_run(&state, &run, &facts, &mut Accepted::default());
        assert_eq!(waits, expected, "{status} {scopes} {prediction} {blocking}");
    }
}
