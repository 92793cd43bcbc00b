//! Everything that `system` generates is a proposal: no generator accepts, confirms or replaces anything.

use std::collections::BTreeSet;

use hivemind::domain::action::Kind;
use hivemind::domain::agent::AgentId;
use hivemind::domain::claim::{ClaimType, Status};
use hivemind::domain::command::{Command, RecordFiring};
use hivemind::domain::event::{Event, Guard};
use hivemind::domain::ids::ClaimId;
use hivemind::domain::plan::TaskStatus;
use hivemind::domain::time::Timestamp;
use hivemind::store::Reader;
use hivemind::system;
use serde_json::json;

use crate::harness::{TempWorkspace, body};
use crate::playbooks::Team;

/// Whether an event of `system` only proposes.
fn is_proposal(event: &Event, of_system: &BTreeSet<ClaimId>) -> bool {
    if let Event::ClaimCreated(made) = event {
        made.claim_type == ClaimType::Hypothesis && made.supersedes.is_none()
    } else if let Event::StatusChanged(change) = event {
        // A later event contradicts a hypothesis of its own.
        of_system.contains(&change.claim_id)
            && (change.from, change.to) == (Status::Proposed, Status::Deprecated)
    } else {
        matches!(
            event,
            Event::PlaybookProposed(_)
                | Event::PlaybookFollowed(_)
                | Event::ErrorReflected(_)
                | Event::ErrorCounted(_)
                | Event::MergeProposed(_)
                | Event::PatternOpened(_)
                | Event::PatternClosed(_)
        )
    }
}

fn command(name: &str, args: serde_json::Value) -> Command {
    serde_json::from_value(json!({ "name": name, "args": args })).expect("a command")
}

#[test]
fn everything_that_is_generated_is_a_proposal() {
    let workspace = TempWorkspace::new();
    let mut team = Team::in_workspace(&workspace);
    // The miners: a playbook, hypotheses, and an event that contradicts one of them.
    team.three_tasks();
    for session in ["s-1", "s-2", "s-1"] {
        team.ran("devops", session, "cargo test pool", Some("deadlock in pool"));
    }
    team.mine();
    team.ran("devops", "s-1", "cargo test pool", None);
    team.mine();
    let playbook = team.playbooks()[0];
    team.does("analyst", "s-2", command("accept_playbook", json!({ "playbook_id": playbook })));
    team.task("devops", "s-4", "mend the pool once more", TaskStatus::Done);
    team.mine();
    // The pattern engine: a loop, and its end.
    for _ in 0..4 {
        team.ran_alike("analyst", "s-2", "cargo bench");
    }
    team.look_for_patterns();
    team.does("analyst", "s-2", command("create_claim", json!({
        "claim_id": system::new_id(), "statement": "the bench needs a quiet machine", "claim_type": "negative",
        "scopes": ["benches"], "confidence": 0.9,
    })));
    team.look_for_patterns();
    // Suggested guards: an error that came three times without a pass, and a decision that failed.
    for session in ["s-1", "s-2", "s-1"] {
        team.ran("devops", session, "cargo test store", Some("deadlock in store"));
    }
    let decision = ClaimId::from_uuid(system::new_id());
    team.does("devops", "s-1", command("record_decision", json!({
        "claim_id": decision, "statement": "one pool for all workers", "rationale": "it is the simplest",
        "scopes": ["src/db"],
    })));
    let failed = json!({ "decision_id": decision, "outcome": "failure", "notes": "it hangs" });
    team.does("devops", "s-1", command("record_outcome", failed));
    // A dead end that is proved wrong three times in a row: a challenge of it is proposed.
    let dead_end = ClaimId::from_uuid(system::new_id());
    team.does(
        "analyst",
        "s-2",
        command(
            "create_claim",
            json!({
                "claim_id": dead_end, "statement": "vendoring breaks the build", "claim_type": "negative",
                "scopes": ["tag:build"], "confidence": 0.9, "trigger": { "commands": ["make vendor"] },
            }),
        ),
    );
    for _ in 0..3 {
        let line = || "make vendor".parse().expect("a command");
        let (guard, kind) = (Guard::Claim(dead_end), Some(Kind::Command));
        let firing = RecordFiring { guard, matched: line(), kind, did: Some(line()) };
        team.does("devops", "s-1", Command::RecordFiring(firing));
        team.ran("devops", "s-1", "make vendor", None);
    }
    let before: Vec<(ClaimId, Status)> = team.statuses(|owner| *owner != AgentId::system());
    team.mine();
    team.look_for_patterns();

    let of_system: BTreeSet<ClaimId> =
        team.statuses(|owner| *owner == AgentId::system()).into_iter().map(|(id, _)| id).collect();
    let mut generated = BTreeSet::new();
    for stored in workspace.events().iter().filter(|stored| stored.agent == AgentId::system()) {
        let event = body(stored);
        assert!(is_proposal(&event, &of_system), "system did more than propose: {event:?}");
        generated.insert(event.kind());
    }
    let every = [
        "claim.created",
        "claim.status_changed",
        "error.counted",
        "error.reflected",
        "pattern.closed",
        "pattern.opened",
        "playbook.followed",
        "playbook.proposed",
    ];
    assert_eq!(generated.into_iter().collect::<Vec<_>>(), every, "each generator spoke");
    let reader = Reader::open(&workspace.team_memory()).expect("read models").expect("some");
    assert_eq!(reader.suggestions(0, 0, 100).expect("suggestions").len(), 2, "an error and a decision");
    let asking = reader.asking_guards(100).expect("guards");
    assert!(asking.iter().any(|one| one.guard.counts.is_doubted()), "{asking:?}");

    // What is in force is of agents.
    for (id, status) in team.statuses(|owner| *owner == AgentId::system()) {
        assert!(matches!(status, Status::Proposed | Status::Deprecated), "{id}: {status}");
        let claim = reader.claim(id).expect("read").expect("a claim");
        assert!(claim.positions.iter().all(|held| held.agent != "system"), "{claim:?}");
    }
    assert_eq!(team.statuses(|owner| *owner != AgentId::system()), before, "claims of agents stay");
    let guards = reader.guards(100).expect("guards");
    assert!(guards.iter().all(|guard| guard.by != "system"), "{guards:?}");
    let playbooks = reader.playbooks(Timestamp::from_ms(0)).expect("playbooks");
    let settled: Vec<_> = playbooks.iter().filter(|one| one.status != "proposed").collect();
    assert!(settled.iter().all(|one| one.settled_by.as_deref() == Some("analyst")), "{settled:?}");
    drop((reader, team));
    workspace.assert_sound();
}
