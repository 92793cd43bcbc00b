//! What a finding of the miners gives, beside what the ledger has.

use serde_json::{Value, json};
use uuid::Uuid;

use super::{Mined, mined};
use crate::domain::agent::AgentId;
use crate::domain::event::{Event, Recorded};
use crate::domain::ids::{CommandId, EventId};
use crate::domain::playbook::{Found, Step, Tried};
use crate::domain::reflection::Cluster;
use crate::domain::state::State;
use crate::domain::time::Timestamp;

const ERROR: &str = "deadlock in pool";

fn id(nth: u128) -> Uuid {
    Uuid::from_u128(1 << 100 | nth)
}

fn state(events: &[(&str, Value)]) -> State {
    let mut state = State::default();
    for (seq, (kind, body)) in (1..).zip(events) {
        let event = Event::decode(kind, &body.to_string()).expect("an event");
        let own = event.about().own_id(None).unwrap_or_else(|| id(1_000 + u128::from(seq)));
        state.evolve(&Recorded {
            seq,
            id: EventId::from_uuid(own),
            agent: AgentId::recorded("devops"),
            session: None,
            causation: CommandId::from_uuid(own),
            at: Timestamp::from_ms(1),
            event: Some(event),
            erased: None,
        });
    }
    state
}

/// The events that a finding gives: their types, and of a transition the claim.
fn given(state: &State, finding: &Mined) -> Vec<String> {
    let mut nth = 500;
    let events = mined(state, finding, &mut || {
        nth += 1;
        id(nth)
    });
    let said = events.iter().map(|event| {
        if let Event::StatusChanged(change) = event {
            format!("{} to {}", change.claim_id, change.to)
        } else if let Event::PlaybookFollowed(followed) = event {
            format!("helpful: {}", followed.helpful)
        } else {
            event.kind().to_owned()
        }
    });
    said.collect()
}

fn claim(nth: u128, statement: &str, more: Value) -> (&'static str, Value) {
    let mut body = json!({ "claim_id": id(nth), "statement": statement, "claim_type": "negative",
        "scopes": ["src"], "confidence": 1.0 });
    body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    ("claim.created", body)
}

fn moved(nth: u128, to: &str) -> (&'static str, Value) {
    (
        "claim.status_changed",
        json!({ "claim_id": id(nth), "from": "proposed", "reason": "it is so", "to": to }),
    )
}

fn cluster() -> Cluster {
    Cluster {
        error: ERROR.to_owned(),
        command: "cargo test".to_owned(),
        failures: vec![3, 4, 9],
        sessions: ["a".to_owned(), "b".to_owned()].into(),
        ..Cluster::default()
    }
}

#[test]
fn an_error_is_reflected_on_where_it_came_often_and_no_claim_in_force_covers_it() {
    let other = json!({ "trigger": { "error_signature": "another one" } });
    let same = json!({ "trigger": { "error_signature": ERROR } });
    for (events, is_new) in [
        (vec![], true),
        (vec![claim(1, "it fails", other)], true),
        (vec![claim(1, "it fails", same.clone())], false),
        (vec![claim(1, "a deadlock in pool comes of two writers", json!({}))], false),
        (vec![claim(1, "it fails", same), moved(1, "deprecated")], true),
    ] {
        let kinds = given(&state(&events), &Mined::Error(cluster()));
        let expected: &[&str] =
            if is_new { &["claim.created", "claim.created", "error.reflected"] } else { &[] };
        assert_eq!(kinds, expected, "{events:?}");
    }
    let seldom = Cluster { failures: vec![3, 4], ..cluster() };
    assert_eq!(given(&state(&[]), &Mined::Error(seldom)), [""; 0]);
}

#[test]
fn later_events_count_once_and_end_the_proposal_that_they_contradict() {
    let reflected = (
        "error.reflected",
        json!({ "error": ERROR, "structural": id(1), "environmental": id(2),
        "evidence": [3, 4, 9], "upto": 9 }),
    );
    let hypothesis = |nth| claim(nth, &format!("why {nth}"), json!({ "claim_type": "hypothesis" }));
    let known = [hypothesis(1), hypothesis(2), reflected];
    let with = |more: &[(&'static str, Value)]| state(&[&known[..], more].concat());
    let ended = |nth| format!("{} to deprecated", id(nth));

    assert_eq!(given(&with(&[]), &Mined::Error(cluster())), [""; 0], "nothing later");
    let again = Cluster { failures: vec![3, 4, 9, 11], ..cluster() };
    assert_eq!(given(&with(&[]), &Mined::Error(again)), ["error.counted"]);
    let passed = Cluster { passes: vec![12], ..cluster() };
    assert_eq!(given(&with(&[]), &Mined::Error(passed.clone())), ["error.counted".to_owned(), ended(1)]);
    let mended = Cluster { passes_after_edit: vec![12], ..cluster() };
    assert_eq!(given(&with(&[]), &Mined::Error(mended)), ["error.counted".to_owned(), ended(2)]);
    let confirmed = with(&[moved(1, "confirmed")]);
    assert_eq!(given(&confirmed, &Mined::Error(passed)), ["error.counted"], "agents confirmed it");
}

fn steps() -> Vec<Step> {
    let edit = Step::edit("src/db/pool.rs").expect("a step");
    let runs = ["cargo fmt", "cargo test"].map(|line| Step::run(line).expect("a step"));
    std::iter::once(edit).chain(runs).collect()
}

#[test]
fn a_playbook_is_proposed_once_and_counts_each_task_after_its_acceptance_once() {
    let found = Mined::Playbook(Found {
        steps: steps(),
        evidence: vec![3, 4],
        tasks: Vec::new(),
        of: 3,
        sessions: 2,
        days: 2,
    });
    let task = |nth| serde_json::from_value(json!(id(nth))).expect("a task");
    let ended = |ended_seq, is_done, steps: Vec<Step>| {
        Mined::Ended(Tried {
            task: task(7),
            sessions: ["a".to_owned()].into(),
            ended_at: 1,
            ended_seq,
            is_done,
            steps: steps.into_iter().zip(10..).collect(),
        })
    };
    let proposed = (
        "playbook.proposed",
        json!({ "playbook_id": id(1), "steps": steps(), "evidence": [3],
        "tasks": [id(6)], "of": 3, "sessions": 2, "days": 2 }),
    );
    let accepted = ("playbook.accepted", json!({ "playbook_id": id(1) }));
    let dismissed = ("playbook.dismissed", json!({ "playbook_id": id(1), "reason": "the script does it" }));
    let followed = (
        "playbook.followed",
        json!({ "playbook_id": id(1), "task_id": id(7), "helpful": true,
        "evidence": [10] }),
    );
    assert_eq!(given(&state(&[]), &found), ["playbook.proposed"]);
    let known = state(std::slice::from_ref(&proposed));
    assert_eq!(given(&known, &found), [""; 0], "it is known");
    assert_eq!(given(&known, &ended(5, true, steps())), [""; 0], "nobody accepted it");
    let in_force = [proposed.clone(), accepted.clone()];
    let known = state(&in_force);
    assert_eq!(given(&known, &ended(3, true, steps())), ["helpful: true"]);
    assert_eq!(given(&known, &ended(3, false, steps())), ["helpful: false"]);
    assert_eq!(given(&known, &ended(2, true, steps())), [""; 0], "it ended before the acceptance");
    assert_eq!(given(&known, &ended(3, true, steps().split_off(1))), [""; 0], "it went another way");
    let counted = state(&[proposed.clone(), accepted.clone(), followed]);
    assert_eq!(given(&counted, &ended(4, true, steps())), [""; 0], "it is counted");
    let gone = state(&[proposed, accepted, dismissed]);
    assert_eq!(given(&gone, &ended(9, true, steps())), [""; 0], "it was dismissed");
}
