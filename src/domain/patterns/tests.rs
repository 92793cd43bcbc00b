//! Detectors over single events: what no trace of a team shows.

use serde_json::{Value, json};
use uuid::Uuid;

use super::PatternPolicy;
use crate::domain::agent::AgentId;
use crate::domain::event::{Event, Recorded};
use crate::domain::ids::{CommandId, EventId, SessionId};
use crate::domain::pattern::PatternKind;
use crate::domain::state::State;
use crate::domain::time::Timestamp;

mod records;
mod spirals;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

fn id(nth: u128) -> Uuid {
    Uuid::from_u128(1 << 100 | nth)
}

/// A team whose events are recorded as they come. Each agent has one session, `s-` and its name.
#[derive(Default)]
struct Team {
    state: State,
    seq: u64,
    now: i64,
    policy: PatternPolicy,
}

impl Team {
    fn record(&mut self, agent: &str, event: Event) {
        self.seq += 1;
        self.now += 1_000;
        let own = event.about().own_id(None).unwrap_or_else(|| id(u128::from(self.seq) << 32));
        let session: Option<SessionId> = format!("s-{agent}").parse().ok().filter(|_| agent != "system");
        self.state.evolve(&Recorded {
            seq: self.seq,
            id: EventId::from_uuid(own),
            agent: AgentId::recorded(agent),
            session,
            causation: CommandId::from_uuid(own),
            at: Timestamp::from_ms(self.now),
            event: Some(event),
            erased: None,
        });
    }

    fn says(&mut self, agent: &str, kind: &str, body: Value) -> &mut Self {
        self.record(agent, Event::decode(kind, &body.to_string()).expect("an event"));
        self
    }

    /// A command of an agent, with the exit code and the last lines of its output.
    fn runs(&mut self, agent: &str, line: &str, exit: i32, tail: &str) -> &mut Self {
        let body = json!({ "command": line, "runs": [line], "exit_code": exit, "failed": exit != 0, "tail": tail,
            "answer_sha256": format!("{exit}{tail}") });
        self.says(agent, "command.ran", body)
    }

    fn holds_a_task(&mut self, agent: &str, nth: u128) -> &mut Self {
        self.says(agent, "task.added", json!({ "task_id": id(nth), "title": format!("task {nth}") }));
        let claimed =
            json!({ "task_id": id(nth), "session": format!("s-{agent}"), "lease_minutes": 15, "token": 1 });
        self.says(agent, "task.claimed", claimed)
    }

    fn disputes(&mut self, kind: &str, (left, one): (u128, &str), (right, other): (u128, &str)) -> &mut Self {
        self.contradiction(
            "contradiction.detected",
            json!({ "tier": "strong" }),
            kind,
            (left, one),
            (right, other),
        )
    }

    fn settles(&mut self, kind: &str, (left, one): (u128, &str), (right, other): (u128, &str)) -> &mut Self {
        let why = json!({ "cause": "position_changed" });
        self.contradiction("contradiction.resolved", why, kind, (left, one), (right, other))
    }

    fn contradiction(
        &mut self,
        event: &str,
        mut body: Value,
        kind: &str,
        (left, one): (u128, &str),
        (right, other): (u128, &str),
    ) -> &mut Self {
        body["kind"] = kind.into();
        body["left"] = json!({ "agent": one, "claim_id": id(left) });
        body["right"] = json!({ "agent": other, "claim_id": id(right) });
        self.says("system", event, body)
    }

    fn waits(&mut self, ms: i64) -> &mut Self {
        self.now += ms;
        self
    }

    fn has_news(&self) -> bool {
        self.state.patterns().has_news(&self.policy)
    }

    /// Records what is due, and says it: the kind of what opens, the reason of what closes.
    fn mine(&mut self) -> Vec<String> {
        let mut minted = u128::from(self.seq) << 64;
        let mut new_id = || {
            minted += 1;
            id(minted)
        };
        let now = Timestamp::from_ms(self.now);
        let due = self.state.patterns().due(&self.state, now, &self.policy, &|_| false, &mut new_id);
        let said = due.iter().filter_map(|event| {
            if let Event::PatternOpened(opened) = event {
                Some(format!("{} {}", opened.kind, opened.about))
            } else if let Event::PatternClosed(closed) = event {
                Some(closed.why.to_string())
            } else {
                None
            }
        });
        let said = said.collect();
        due.into_iter().for_each(|event| self.record("system", event));
        said
    }
}

#[test]
fn three_disputes_of_two_agents_are_a_cluster_until_one_is_settled() {
    let mut team = Team::default();
    team.disputes("value", (1, "ana"), (2, "qa")).disputes("value", (3, "qa"), (4, "ana"));
    assert_eq!(team.mine(), [""; 0]);
    // The same two claims once more, the other way round.
    team.disputes("value", (2, "qa"), (1, "ana"));
    assert_eq!(team.mine(), [""; 0], "two disputes");
    team.disputes("value", (5, "ana"), (6, "dev")).disputes("position", (7, "ana"), (7, "qa"));
    assert_eq!(team.mine(), ["contradiction_cluster ana and qa"]);
    team.disputes("position", (8, "qa"), (8, "ana"));
    assert_eq!(team.mine(), [""; 0], "it is open");
    team.settles("value", (1, "ana"), (2, "qa")).settles("position", (8, "qa"), (8, "ana"));
    assert_eq!(team.mine(), [""; 0], "one of the two findings of the first dispute is open");
    team.settles("value", (1, "ana"), (2, "qa"));
    assert_eq!(team.mine(), ["resolved"]);
}

#[test]
fn all_challenges_of_a_claim_are_one_dispute() {
    let mut team = Team::default();
    team.disputes("value", (1, "ana"), (2, "qa"));
    team.disputes("position", (3, "ana"), (11, "qa")).disputes("position", (3, "ana"), (12, "qa"));
    assert_eq!(team.mine(), [""; 0], "two disputes");
    team.disputes("value", (4, "qa"), (5, "ana"));
    assert_eq!(team.mine(), ["contradiction_cluster ana and qa"]);
    team.settles("position", (3, "ana"), (11, "qa"));
    assert_eq!(team.mine(), [""; 0], "a challenge of the claim is open");
    team.settles("position", (3, "ana"), (12, "qa"));
    assert_eq!(team.mine(), ["resolved"]);
}

/// Red before: challenges that the operator had outvoted counted as open, and a cluster of them never ended.
#[test]
fn a_challenge_that_is_outvoted_is_no_open_dispute_until_it_contests_its_claim_again() {
    let moved =
        |from: &str, to: &str| json!({ "claim_id": id(1), "from": from, "to": to, "reason": "it is so" });
    let mut team = Team::default();
    team.disputes("position", (1, "ana"), (1, "qa")).disputes("position", (2, "ana"), (2, "qa"));
    team.says("operator", "claim.status_changed", moved("contested", "confirmed"));
    team.disputes("position", (3, "ana"), (3, "qa"));
    assert_eq!(team.mine(), [""; 0], "two are open");
    team.says("operator", "claim.status_changed", moved("confirmed", "contested"));
    assert_eq!(team.mine(), ["contradiction_cluster ana and qa"]);
    team.says("operator", "claim.status_changed", moved("contested", "proposed"));
    assert_eq!(team.mine(), ["resolved"]);
    // A run answers the other challenge, and one that came after the run was asked for stays.
    team.disputes("position", (4, "ana"), (4, "qa"));
    assert_eq!(team.mine(), ["contradiction_cluster ana and qa"]);
    let mut proven = json!({ "claim_id": id(4), "from": "pending_proof", "to": "confirmed", "reason": "it passed",
        "leaves_open": ["qa"] });
    team.says("system", "claim.status_changed", proven.clone());
    assert_eq!(team.mine(), [""; 0], "the late challenge contests it at once");
    proven["leaves_open"] = json!([]);
    team.says("system", "claim.status_changed", proven);
    assert_eq!(team.mine(), ["resolved"]);
}

#[test]
fn a_weak_contradiction_is_no_dispute() {
    let mut team = Team::default();
    for (left, right) in [(1, 2), (3, 4), (5, 6)] {
        let weak = json!({ "tier": "weak" });
        team.contradiction("contradiction.detected", weak, "value", (left, "ana"), (right, "qa"));
    }
    assert_eq!(team.mine(), [""; 0]);
}

#[test]
fn a_session_whose_child_is_alive_is_not_stalled() {
    let mut team = Team::default();
    let split = json!({ "child": "s-kid", "parent": "s-ana", "reason": "the window is full", "turn0": "<state/>",
        "used_tokens": 900, "window_tokens": 1000 });
    team.holds_a_task("ana", 1).says("ana", "session.split", split).waits(29 * MINUTE);
    team.runs("kid", "cargo build", 0, "done").waits(5 * MINUTE);
    assert_eq!(team.mine(), [""; 0]);
    team.waits(25 * MINUTE);
    assert_eq!(team.mine(), ["stall s-ana"], "the child is silent too");
    team.runs("ana", "cargo build", 0, "done");
    assert_eq!(team.mine(), ["heard"]);
}

#[test]
fn after_a_day_of_silence_a_stall_is_no_news() {
    let mut team = Team::default();
    team.holds_a_task("ana", 1).waits(24 * HOUR + MINUTE);
    assert_eq!(team.mine(), [""; 0]);
}

#[test]
fn a_dismissed_loop_is_raised_again_a_day_later_only() {
    let looping = |team: &mut Team| {
        for _ in 0..3 {
            team.runs("ana", "cargo test", 101, "error: pool timed out");
        }
        team.mine()
    };
    let mut team = Team::default();
    let opened = looping(&mut team);
    assert_eq!(opened, ["loop cargo test"]);
    let pattern = *team.state.patterns().book.recorded.keys().next().expect("a pattern");
    let dismissed = json!({ "pattern_id": pattern, "reason": "on purpose" });
    team.says("ana", "pattern.dismissed", dismissed);
    let done = json!({ "task_id": id(9), "from": "active", "to": "done" });
    for (wait, expected) in [(HOUR, 0), (20 * HOUR, 0), (4 * HOUR, 1)] {
        team.waits(wait).says("ana", "task.updated", done.clone());
        assert_eq!(looping(&mut team).len(), expected, "after {wait} more");
    }
}

#[test]
fn a_dismissal_leaves_the_changes_of_other_patterns() {
    let mut team = Team::default();
    let fails = |team: &mut Team, agent: &str| {
        for _ in 0..3 {
            team.runs(agent, "cargo test", 101, "error: pool timed out");
        }
    };
    fails(&mut team, "ana");
    assert_eq!(team.mine(), ["loop cargo test"]);
    let pattern = *team.state.patterns().book.recorded.keys().next().expect("a pattern");
    team.says("ana", "task.updated", json!({ "task_id": id(9), "from": "active", "to": "done" }));
    fails(&mut team, "qa");
    team.says("ana", "pattern.dismissed", json!({ "pattern_id": pattern, "reason": "on purpose" }));
    assert_eq!(team.mine(), ["loop cargo test"], "that of the other session");
    assert_eq!(team.mine(), [""; 0]);
}

#[test]
fn a_change_that_nobody_recorded_for_a_day_is_forgotten() {
    let mut team = Team::default();
    assert!(!team.has_news());
    for _ in 0..3 {
        team.runs("ana", "cargo test", 101, "error: pool timed out");
    }
    assert!(team.has_news());
    team.waits(25 * HOUR).runs("qa", "cargo build", 0, "done");
    assert!(!team.has_news());
}

#[test]
fn a_loop_that_the_team_does_not_want_is_no_news_and_neither_is_its_end() {
    let all = PatternPolicy::default;
    let off = PatternPolicy { off: [PatternKind::Loop].into(), ..all() };
    let polls = PatternPolicy { polls: vec!["test".to_owned()], ..all() };
    for (policy, is_news) in
        [(all(), true), (off, false), (polls, false), (PatternPolicy { loop_repeats: 4, ..all() }, false)]
    {
        let mut team = Team { policy, ..Team::default() };
        for _ in 0..3 {
            team.runs("ana", "cargo test", 101, "error: pool timed out");
        }
        assert_eq!(team.has_news(), is_news, "{:?}", team.policy);
        assert_eq!(team.mine().len(), usize::from(is_news), "{:?}", team.policy);
        team.says("ana", "task.updated", json!({ "task_id": id(9), "from": "active", "to": "done" }));
        assert_eq!(team.has_news(), is_news, "its end: {:?}", team.policy);
        team.mine();
        assert!(!team.has_news(), "{:?}", team.policy);
    }
}

#[test]
fn a_session_that_does_twenty_other_things_has_moved_on() {
    for by_edits in [true, false] {
        let mut team = Team::default();
        for _ in 0..3 {
            team.runs("ana", "cargo test", 101, "error: pool timed out");
        }
        assert_eq!(team.mine(), ["loop cargo test"]);
        for nth in 1..=20 {
            assert_eq!(team.mine(), [""; 0], "after {} others, by edits: {by_edits}", nth - 1);
            if by_edits {
                team.says("ana", "file.edited", json!({ "paths": [format!("src/a{nth}.rs")] }));
            } else {
                team.runs("ana", &format!("make part{nth}"), 0, "done");
            }
        }
        assert_eq!(team.mine(), ["moved_on"]);
        for _ in 0..3 {
            team.runs("ana", "cargo test", 101, "error: pool timed out");
        }
        assert_eq!(team.mine(), ["loop cargo test"], "the next episode");
    }
}

#[test]
fn failures_among_the_last_twenty_actions_are_compared() {
    for (others, is_loop) in [(17, true), (18, false)] {
        let mut team = Team::default();
        for nth in 0..=others {
            if [0, 9].contains(&nth) {
                team.runs("ana", "cargo test", 101, "error: pool timed out");
            }
            if nth < others {
                team.runs("ana", &format!("make part{nth}"), 0, "done");
            }
        }
        team.runs("ana", "cargo test", 101, "error: pool timed out");
        assert_eq!(!team.mine().is_empty(), is_loop, "{others} others");
    }
}

/// Red before: who waited by hand for a server was in a loop.
#[test]
fn a_failure_that_may_pass_by_itself_is_a_loop_after_ten_times() {
    let refused = "ssh: connect to host build01 port 22: Connection refused";
    for (times, is_loop) in [(9, false), (10, true)] {
        let mut team = Team::default();
        for _ in 0..times {
            team.runs("ana", "ssh build01 true", 255, refused);
        }
        assert_eq!(!team.mine().is_empty(), is_loop, "{times}");
    }
    let mut team = Team::default();
    for nth in 0..9 {
        team.runs("ana", &format!("ssh build0{nth} make -C src/a.c"), 255, refused);
    }
    assert!(team.mine().is_empty(), "other hosts are no loop of one error either");
}

/// Red before: their normal form was the same.
#[test]
fn commands_that_differ_in_a_commit_or_a_port_are_no_loop() {
    for (lines, is_loop) in [
        (["git show a1b2c3d4e5 --stat"; 3], true),
        (["git show a1b2c3d4e5 --stat", "git show b1b2c3d4e5 --stat", "git show c1b2c3d4e5 --stat"], false),
        (["curl -f http://localhost:8001/x"; 3], true),
        (
            [
                "curl -f http://localhost:8001/x",
                "curl -f http://localhost:8002/x",
                "curl -f http://localhost:8003/x",
            ],
            false,
        ),
        (["./v --port 8001", "./v --port 8002", "./v --port 8003"], false),
    ] {
        let mut team = Team::default();
        for line in lines {
            team.runs("ana", line, 1, "error: pool said no");
        }
        assert_eq!(!team.mine().is_empty(), is_loop, "{lines:?}");
    }
}

#[test]
fn looks_in_a_row_are_a_loop_if_they_are_near_and_show_the_same() {
    let same = ["cat a.rs"; 3];
    for (lines, tails, apart_s, is_loop) in [
        (same, ["one"; 3], 1, true),
        (same, ["one", "two", "one"], 1, false),
        (["cat a.rs", "ls", "cat a.rs"], ["one"; 3], 1, false),
        (same, ["one"; 3], 300, true),
        (same, ["one"; 3], 301, false),
        // It may bring something each time.
        (["git pull"; 3], ["one"; 3], 1, false),
    ] {
        let mut team = Team::default();
        for (line, tail) in lines.iter().zip(tails) {
            team.waits(apart_s * 1_000 - 1_000).runs("ana", line, 0, tail);
        }
        assert_eq!(!team.mine().is_empty(), is_loop, "{lines:?} {tails:?} {apart_s}");
    }
}

#[test]
fn a_round_of_looks_is_a_loop_if_nothing_is_between() {
    for (nth, between, is_loop) in [
        (3, None, true),
        (3, Some(("tool.used", json!({ "tool": "WebFetch", "failed": false }))), false),
        (3, Some(("file.edited", json!({ "paths": ["src/a.rs"] }))), false),
        (0, Some(("tool.used", json!({ "tool": "WebFetch", "failed": false }))), true),
    ] {
        let mut team = Team::default();
        for at in 0..6 {
            if let Some((kind, body)) = between.clone().filter(|_| at == nth) {
                team.says("ana", kind, body);
            }
            team.runs("ana", ["cat a.rs", "cat b.rs"][at % 2], 0, "the same");
        }
        assert_eq!(!team.mine().is_empty(), is_loop, "{between:?} before {nth}");
    }
}

#[test]
fn of_many_sessions_the_one_silent_longest_is_forgotten() {
    let mut team = Team::default();
    let fails = |team: &mut Team, agent: &str| {
        team.runs(agent, "cargo test", 101, "error: pool timed out");
    };
    for agent in ["ana", "qa", "ana", "qa"] {
        fails(&mut team, agent);
    }
    for nth in 0..254 {
        team.runs(&format!("a{nth}"), "make", 0, "done");
    }
    team.runs("ana", "make", 0, "done").runs("one-more", "make", 0, "done");
    fails(&mut team, "ana");
    assert_eq!(team.mine(), ["loop cargo test"], "it was heard of since");
    fails(&mut team, "qa");
    assert_eq!(team.mine(), [""; 0]);
}

#[test]
fn the_loop_of_a_session_that_is_forgotten_is_over() {
    let mut team = Team::default();
    for _ in 0..3 {
        team.runs("ana", "cargo test", 101, "error: pool timed out");
    }
    assert_eq!(team.mine(), ["loop cargo test"]);
    for nth in 0..255 {
        team.runs(&format!("a{nth}"), "make", 0, "done");
    }
    assert_eq!(team.mine(), [""; 0], "256 sessions");
    team.runs("one-more", "make", 0, "done");
    assert_eq!(team.mine(), ["over"]);
}

#[test]
fn only_the_human_and_the_end_of_a_task_end_a_round_of_failures() {
    let turn = |role: &str| ("turn.recorded", json!({ "role": role, "text": "go on" }));
    let moved = |to: &str| ("task.updated", json!({ "task_id": id(9), "from": "active", "to": to }));
    for ((kind, body), is_loop) in [
        (turn("assistant"), true),
        (turn("user"), false),
        (moved("blocked"), true),
        (moved("done"), false),
        (
            (
                "claim.created",
                json!({ "claim_id": id(8), "statement": "it fails", "claim_type": "negative",
            "scopes": ["src"], "confidence": 1.0 }),
            ),
            false,
        ),
    ] {
        let mut team = Team::default();
        team.runs("ana", "cargo test", 101, "error: pool timed out");
        team.runs("ana", "cargo test", 101, "error: pool timed out");
        team.says("ana", kind, body.clone()).runs("ana", "cargo test", 101, "error: pool timed out");
        assert_eq!(!team.mine().is_empty(), is_loop, "{kind} {body}");
    }
}

#[test]
fn a_handed_loop_ends_with_its_task() {
    for (to, expected) in [("done", "progress"), ("invalidated", "over"), ("active", "")] {
        let mut team = Team::default();
        team.holds_a_task("ana", 1);
        for agent in ["qa", "ana", "qa"] {
            let claimed =
                json!({ "task_id": id(1), "session": format!("s-{agent}"), "lease_minutes": 15, "token": 1 });
            team.says(agent, "task.claimed", claimed);
        }
        assert_eq!(team.mine(), [format!("handoff_loop {}", id(1))]);
        team.says("qa", "task.updated", json!({ "task_id": id(1), "from": "active", "to": to }));
        assert_eq!(team.mine().concat(), expected);
    }
}

#[test]
fn a_check_that_passes_after_an_edit_is_progress_of_a_handed_task() {
    let edit = ("file.edited", json!({ "paths": ["src/pool.rs"] }));
    let ran = |more: Value| {
        let mut body = json!({ "command": "cargo test", "exit_code": 0, "failed": false });
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        ("command.ran", body)
    };
    for (acts, is_loop) in [
        (vec![edit.clone(), ran(json!({}))], false),
        (vec![edit.clone(), ran(json!({ "exit_code": null }))], false),
        (vec![ran(json!({}))], true),
        (vec![edit.clone()], true),
        (vec![edit.clone(), ran(json!({ "command": "ls src" }))], true),
        (vec![edit.clone(), ran(json!({ "failed": true }))], true),
        (vec![edit.clone(), ran(json!({ "exit_code": 1 }))], true),
        (vec![edit.clone(), ran(json!({ "of_last": true }))], true),
        (vec![edit, ran(json!({ "unseen": true }))], true),
    ] {
        let mut team = Team::default();
        team.holds_a_task("ana", 1);
        for agent in ["qa", "ana", "qa"] {
            if agent == "ana" {
                for (kind, body) in &acts {
                    team.says("qa", kind, body.clone());
                }
            }
            let claimed =
                json!({ "task_id": id(1), "session": format!("s-{agent}"), "lease_minutes": 15, "token": 1 });
            team.says(agent, "task.claimed", claimed);
        }
        assert_eq!(!team.mine().is_empty(), is_loop, "{acts:?}");
    }
}

#[test]
fn an_unstable_proof_is_over_when_no_run_confirms_it_any_more() {
    let mut team = Team::default();
    let stream =
        json!({ "sha256": "e3b0", "redacted": 0, "stored_bytes": 0, "total_bytes": 0, "truncated": false });
    let ended = |more: Value| {
        let mut body = json!({ "run_id": id(3), "command": "cargo test pool", "exit_code": 1, "state": "failed",
            "profile": "unit", "stdout": stream, "stderr": stream, "key": { "test": "pool", "content": "a" } });
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        body
    };
    let unstable = ended(json!({ "unstable": { "passed": 1, "failed": 1 } }));
    team.says("system", "experiment.completed", ended(json!({})));
    assert_eq!(team.mine(), [""; 0]);
    team.says("system", "experiment.completed", unstable.clone());
    assert_eq!(team.mine(), ["unstable_proof pool"]);
    let kept = i64::from(crate::domain::state::COUNTS_FOR.0) * HOUR;
    team.waits(kept - MINUTE);
    assert_eq!(team.mine(), [""; 0]);
    team.waits(2 * MINUTE);
    assert_eq!(team.mine(), ["expired"]);
    team.says("system", "experiment.completed", unstable);
    assert_eq!(team.mine(), ["unstable_proof pool"], "the next episode");
    team.says("system", "experiment.completed", ended(json!({ "stable_again": true })));
    assert_eq!(team.mine(), ["progress"]);
}

#[test]
fn edits_that_take_each_other_back_are_a_loop_unless_the_test_passes_between() {
    for (exit, tail, is_loop) in [(101, "error: pool is full", true), (0, "ok", false)] {
        let mut team = Team::default();
        for nth in 0..3 {
            if nth > 0 {
                team.says("ana", "file.edited", json!({ "paths": ["src/pool.rs"] }));
                team.runs("ana", "cargo test", exit, tail);
                team.says("ana", "file.edited", json!({ "paths": ["src/pool.rs"] }));
            }
            team.runs("ana", "cargo test", 101, "error: pool timed out");
        }
        assert_eq!(!team.mine().is_empty(), is_loop, "{tail}");
    }
}

#[test]
fn a_session_that_holds_a_task_is_stalled_unless_it_waits_for_its_human() {
    let task = |to: &str| json!({ "task_id": id(1), "from": "active", "to": to });
    let released = |cause: &str| json!({ "task_id": id(1), "token": 1, "cause": cause });
    let turn = |role: &str| json!({ "role": role, "text": "go on" });
    let end = |cause: &str| json!({ "session": "s-ana", "cause": cause });
    for (kind, body, is_stalled) in [
        ("turn.recorded", turn("user"), true),
        ("turn.recorded", turn("assistant"), false),
        ("task.updated", task("blocked"), true),
        ("task.updated", task("done"), false),
        ("task.released", released("given_back"), false),
        ("task.released", released("expired"), true),
        ("session.ended", end("ended"), false),
        ("session.ended", end("vanished"), true),
        (
            "task.claimed",
            json!({ "task_id": id(1), "session": "s-qa", "lease_minutes": 15, "token": 2 }),
            false,
        ),
    ] {
        let mut team = Team::default();
        team.holds_a_task("ana", 1).says("ana", kind, body.clone()).waits(29 * MINUTE);
        assert_eq!(team.mine(), [""; 0], "{kind} {body}");
        team.waits(2 * MINUTE);
        assert_eq!(!team.mine().is_empty(), is_stalled, "{kind} {body}");
    }
}

#[test]
fn a_session_that_another_started_is_its_child() {
    let mut team = Team::default();
    let started = json!({ "session": "s-kid", "parent_session": "s-ana", "source": "startup" });
    team.holds_a_task("ana", 1).waits(20 * MINUTE).says("kid", "session.started", started);
    team.waits(20 * MINUTE);
    assert_eq!(team.mine(), [""; 0]);
    team.waits(11 * MINUTE);
    assert_eq!(team.mine(), ["stall s-ana"]);
}

#[test]
fn a_word_that_the_team_names_makes_a_command_a_poll() {
    for (word, is_loop) in [("reach", false), ("other", true)] {
        let policy =
            PatternPolicy { polls: vec!["none".to_owned(), word.to_owned()], ..PatternPolicy::default() };
        let mut team = Team { policy, ..Team::default() };
        for _ in 0..3 {
            team.runs("ana", "make reach", 2, "error: pool timed out");
        }
        assert_eq!(!team.mine().is_empty(), is_loop, "{word}");
    }
}

#[test]
fn one_failure_of_six_commands_is_a_loop_unless_one_of_them_answered_otherwise() {
    for (between, is_loop) in [(None, true), (Some("make a"), false), (Some("make other"), true)] {
        let mut team = Team::default();
        for nth in 0..6 {
            if let Some(line) = between.filter(|_| nth == 3) {
                team.runs("ana", line, 2, "error: pool is full");
            }
            team.runs("ana", ["make a", "make b", "make c"][nth % 3], 2, "error: pool timed out");
        }
        assert_eq!(!team.mine().is_empty(), is_loop, "{between:?}");
    }
}

#[test]
fn a_confirmed_claim_is_progress_of_a_task_in_its_place_or_of_its_owner() {
    for (of_task, of_claim, owner, expected) in [
        (json!([]), json!(["src/pool"]), "ana", "progress"),
        (json!([]), json!(["src/pool"]), "dev", ""),
        (json!(["src/pool"]), json!(["src/pool/a.rs"]), "dev", "progress"),
        (json!(["src/pool"]), json!(["src/web"]), "ana", ""),
        (json!(["src/pool"]), json!([]), "ana", "progress"),
        (json!(["src/pool"]), json!([]), "dev", ""),
    ] {
        let mut team = Team::default();
        team.says("ana", "task.added", json!({ "task_id": id(1), "title": "mend it", "scopes": of_task }));
        for agent in ["ana", "qa", "ana", "qa"] {
            let claimed =
                json!({ "task_id": id(1), "session": format!("s-{agent}"), "lease_minutes": 15, "token": 1 });
            team.says(agent, "task.claimed", claimed);
        }
        let claim = json!({ "claim_id": id(2), "statement": "it holds 10", "claim_type": "fact", "scopes": of_claim,
            "confidence": 1.0 });
        team.says(owner, "claim.created", claim);
        assert_eq!(team.mine(), [format!("handoff_loop {}", id(1))]);
        let moved = json!({ "claim_id": id(2), "from": "proposed", "reason": "it is so" });
        for (to, said) in [("contested", ""), ("confirmed", expected)] {
            let mut moved = moved.clone();
            moved["to"] = to.into();
            team.says("lead", "claim.status_changed", moved);
            assert_eq!(team.mine().concat(), said, "{of_task} {of_claim} {owner} {to}");
        }
    }
}

#[test]
fn a_stall_is_over_when_the_last_of_the_tasks_is() {
    let mut team = Team::default();
    team.holds_a_task("ana", 1).holds_a_task("ana", 2).waits(31 * MINUTE);
    assert_eq!(team.mine(), ["stall s-ana"]);
    for (nth, expected) in [(1, ""), (2, "over")] {
        team.says("lead", "task.updated", json!({ "task_id": id(nth), "from": "active", "to": "done" }));
        assert_eq!(team.mine().concat(), expected);
    }
}

#[test]
fn a_stall_of_a_session_that_is_silent_for_a_day_ends_with_its_task() {
    for (kind, body) in [
        ("task.updated", json!({ "task_id": id(1), "from": "active", "to": "done" })),
        ("task.claimed", json!({ "task_id": id(1), "session": "s-qa", "lease_minutes": 15, "token": 2 })),
    ] {
        let mut team = Team::default();
        team.holds_a_task("ana", 1).waits(31 * MINUTE);
        assert_eq!(team.mine(), ["stall s-ana"]);
        team.waits(25 * HOUR);
        // The sessions that are silent for a day are dropped from time to time.
        for nth in 0..1_024 {
            team.runs("qa", &format!("make part{nth}"), 0, "done");
        }
        assert_eq!(team.mine(), [""; 0]);
        team.says("qa", kind, body);
        assert_eq!(team.mine(), ["over"], "{kind}");
    }
}
