//! Disputes that get sharper.

use serde_json::json;

use super::{Team, id};

/// What an agent does in a dispute about the pool.
fn sharpen(team: &mut Team, agent: &str, act: &str) {
    let reported = |kind: &str| json!({ "kind": kind, "summary": "it holds us up", "paths": ["src/pool"] });
    let task = |to: &str| json!({ "task_id": id(9), "from": "open", "to": to });
    let moved = |to: &str| json!({ "claim_id": id(1), "from": "proposed", "to": to, "reason": "it is so" });
    let challenge = json!({ "claim_id": id(1), "position": "challenge", "reason": "it holds 10" });
    match act {
        "challenge" => team.says(agent, "position.taken", challenge),
        "challenge of another" => {
            let other = json!({ "claim_id": id(3), "position": "challenge", "reason": "it holds 10" });
            team.says(agent, "position.taken", other)
        }
        "challenge still" => {
            let still =
                json!({ "claim_id": id(1), "position": "challenge", "reason": "it holds 10", "still": true });
            team.says(agent, "position.taken", still)
        }
        "told" => {
            team.says(agent, "guard.fired", json!({ "guard": { "claim": id(2) }, "matched": "receipt" }))
        }
        "ignore once" | "ignore rule" | "obey" | "pass" => {
            let guard =
                if act == "ignore rule" { json!({ "rule": id(4) }) } else { json!({ "claim": id(2) }) };
            let fired = json!({ "guard": guard, "matched": "make restart", "kind": "command", "did": "make restart" });
            team.says(agent, "guard.fired", fired);
            // A warning of a command that passes was wrong.
            let (line, exit) = match act {
                "obey" => ("make test", 0),
                "pass" => ("make restart", 0),
                _ => ("make restart", 2),
            };
            team.runs(agent, line, exit, "done");
            team.says(agent, "turn.recorded", json!({ "role": "user", "text": "go on" }))
        }
        "ignore" | "ignore a rule" => {
            let once = if act == "ignore" { "ignore once" } else { "ignore rule" };
            (0..3).for_each(|_| sharpen(team, agent, once));
            team
        }
        "end" => {
            team.says(agent, "session.ended", json!({ "session": format!("s-{agent}"), "cause": "ended" }))
        }
        "blocker" | "note" => team.says(agent, "event.reported", reported(act)),
        "blocked" | "active" | "done" | "invalidated" => team.says(agent, "task.updated", task(act)),
        "contested" | "confirmed" | "deprecated" => team.says(agent, "claim.status_changed", moved(act)),
        "settle" => team.settles("position", (1, "ana"), (1, "qa")),
        other => panic!("{other}"),
    };
}

#[test]
fn a_dispute_escalates_in_three_levels_by_two_agents_unless_something_settles_it() {
    for (acts, expected) in [
        ("qa challenge, ana ignore, qa blocker", "escalation_spiral src/pool"),
        ("qa challenge, ana ignore, qa note", ""),
        ("qa challenge, qa ignore, qa blocker", ""),
        ("qa challenge still, ana ignore, qa blocker", ""),
        ("ana ignore, qa challenge, qa blocker", ""),
        ("qa challenge, ana ignore, qa blocked", "escalation_spiral src/pool"),
        ("qa challenge, ana ignore, qa active", ""),
        // A guard escalates when one session has ignored it three times.
        ("qa challenge, ana ignore a rule, qa blocker", "escalation_spiral src/pool"),
        ("qa challenge, ana ignore once, ana ignore once, ana end, ana ignore once, qa blocker", ""),
        ("qa challenge, ana ignore once, ana ignore once, dev ignore once, qa blocker", ""),
        ("qa challenge, ana ignore once, ana ignore once, ana obey, qa blocker", ""),
        ("qa challenge, ana obey, ana obey, ana obey, qa blocker", ""),
        ("qa challenge, ana pass, ana pass, ana pass, qa blocker", ""),
        ("qa challenge, ana told, ana told, ana told, qa blocker", ""),
        // What settles the dispute.
        ("qa challenge, ana ignore, ana contested, qa blocker", "escalation_spiral src/pool"),
        ("qa challenge, ana ignore, ana confirmed, qa blocker", ""),
        ("qa challenge, ana ignore, ana deprecated, qa blocker", ""),
        ("qa challenge, ana ignore, ana settle, qa blocker", ""),
        ("qa challenge of another, ana ignore, qa blocker", "escalation_spiral src/pool"),
        ("qa challenge of another, ana ignore, ana confirmed, qa blocker", ""),
        ("qa challenge, ana ignore, ana done, qa blocker", ""),
        ("qa challenge, ana ignore, ana invalidated, qa blocker", "escalation_spiral src/pool"),
        ("qa challenge, ana ignore, qa blocker, ana confirmed", "escalation_spiral src/pool, resolved"),
        (
            "qa challenge, ana ignore, qa blocker, ana confirmed, qa challenge, dev ignore, qa blocker",
            "escalation_spiral src/pool, resolved, escalation_spiral src/pool",
        ),
        ("qa challenge, ana ignore, qa blocker, ana contested", "escalation_spiral src/pool"),
        // A blocker that is gone does not count.
        ("qa challenge, ana blocked, ana active, ana ignore, qa blocker", "escalation_spiral src/pool"),
        ("qa challenge, ana blocked, ana ignore, qa blocker", ""),
    ] {
        let mut team = Team::default();
        for (nth, claim_type) in [(1, "fact"), (2, "negative"), (3, "fact")] {
            let claim = json!({ "claim_id": id(nth), "statement": format!("claim {nth}"), "claim_type": claim_type,
                "scopes": ["src/pool"], "confidence": 1.0 });
            team.says("ana", "claim.created", claim);
        }
        let rule = json!({ "guard_id": id(4), "action": "warn", "text": "ask first",
            "condition": { "commands": ["make restart"], "scope": "src/pool" } });
        team.says("architect", "guard.accepted", rule);
        let task = json!({ "task_id": id(9), "title": "mend the pool", "scopes": ["src/pool"] });
        team.says("ana", "task.added", task);
        let mut said = Vec::new();
        for act in acts.split(", ") {
            let (agent, act) = act.split_once(' ').expect("an agent and its act");
            sharpen(&mut team, agent, act);
            said.extend(team.mine());
        }
        assert_eq!(said.join(", "), expected, "{acts}");
    }
}
