//! The cost of the detectors: `cargo bench --bench patterns -- [--events 100000]`.
//!
//! Prints how long the fold of one event takes with the detectors in it, how long a fold of all events takes, and how
//! long a look for what is due takes.

use std::time::Duration;

use clap::Parser;
use hivemind::domain::agent::AgentId;
use hivemind::domain::event::{Event, Recorded};
use hivemind::domain::ids::{CommandId, EventId};
use hivemind::domain::patterns::PatternPolicy;
use hivemind::domain::state::State;
use hivemind::domain::time::Timestamp;
use hivemind::system;
use serde_json::json;
use uuid::Uuid;

/// The cost of the detectors.
#[derive(Debug, Parser)]
struct Options {
    /// Events in the history
    #[arg(long, default_value_t = 100_000)]
    events: u64,
    /// Passed by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

#[expect(clippy::print_stdout, reason = "a program that prints its figures")]
fn main() {
    let options = Options::parse();
    if !options.bench {
        return;
    }
    let events: Vec<Recorded> = (1..=options.events).map(event).collect();
    let mut state = State::default();
    let mut each: Vec<Duration> = Vec::with_capacity(events.len());
    let all = system::instant();
    for event in &events {
        let one = system::instant();
        state.evolve(event);
        each.push(one.elapsed());
    }
    let all = all.elapsed();
    each.sort_unstable();
    let look = system::instant();
    let now = Timestamp::from_ms(options.events as i64 * 1_000);
    let mut ids = 0;
    let mut new_id = || {
        ids += 1;
        Uuid::from_u128(1 << 100 | ids)
    };
    let due = state.patterns().due(&state, now, &PatternPolicy::default(), &|_| false, &mut new_id);
    let look = look.elapsed();
    let p99 = each[each.len() * 99 / 100];
    println!(
        "{} events folded in {all:?}; one event: p99 {p99:?}, worst {:?}",
        events.len(),
        each[each.len() - 1]
    );
    println!("a look finds {} changes in {look:?}", due.len());
}

/// An event of one of twenty sessions: commands with few and many answers, edits, tasks, claims and challenges.
fn event(seq: u64) -> Recorded {
    let session = seq % 20;
    let (kind, body) = match seq % 40 {
        0 => (
            "task.added",
            json!({ "task_id": Uuid::from_u128(u128::from(seq)), "title": "work", "scopes": ["src"] }),
        ),
        1 => {
            let of = Uuid::from_u128(u128::from(seq - 1));
            (
                "task.claimed",
                json!({ "task_id": of, "session": format!("s-{session}"), "token": 1, "lease_minutes": 15 }),
            )
        }
        2 => {
            let of = Uuid::from_u128(u128::from(seq - 2));
            ("task.updated", json!({ "task_id": of, "from": "active", "to": "done" }))
        }
        3..=12 => ("file.edited", json!({ "paths": [format!("src/m{}.rs", seq % 90)] })),
        _ => {
            let failed = seq.is_multiple_of(3);
            let answer = format!("{:064x}", seq % 7);
            (
                "command.ran",
                json!({
                    "command": format!("cargo test m{}", seq % 11), "exit_code": if failed { 101 } else { 0 },
                    "failed": failed, "runs": [format!("cargo test m{}", seq % 11)], "answer_sha256": answer,
                    "tail": format!("error[E0308]: mismatched types\n  --> src/m{}.rs:3:5\n{} errors", seq % 5, seq % 4)
                }),
            )
        }
    };
    let id = Uuid::from_u128(u128::from(seq));
    Recorded {
        seq,
        id: EventId::from_uuid(id),
        agent: AgentId::recorded(format!("dev-{session}")),
        session: Some(format!("s-{session}").parse().expect("a session")),
        causation: CommandId::from_uuid(id),
        at: Timestamp::from_ms(seq as i64 * 1_000),
        event: Some(Event::decode(kind, &body.to_string()).expect("an event")),
        erased: None,
    }
}
