//! What conditions are met by, and the outcomes of firings.

use super::{
    Condition, Counts, Effect, Firing, Moment, Mute, Outcome, RETIRES_AFTER, Rule, Subject, decides,
    has_path, outcome,
};
use crate::domain::action::{Action, Attempt, Kind};
use crate::domain::claim::Status;
use crate::domain::event::Event;
use crate::domain::ids::GuardId;
use crate::domain::pattern::PatternKind;
use crate::domain::time::Timestamp;

fn subject(line: &str) -> Subject {
    let attempt = Attempt { command: Some(line), ..Attempt::default() };
    Subject::of_action(&Action::of(attempt, "/w", "/w"), line)
}

#[test]
fn rows_of_outcomes_ask_and_another_outcome_ends_them() {
    let mut counts = Counts::default();
    assert_eq!(counts.false_share(), None);
    for _ in 1..RETIRES_AFTER {
        counts.add(Outcome::Ignored);
    }
    assert!(!counts.is_spent());
    counts.add(Outcome::Ignored);
    assert!(counts.is_spent());
    counts.add(Outcome::Followed);
    assert!(!counts.is_spent());
    for expected in [false, false, true] {
        counts.add(Outcome::ProvedWrong);
        assert_eq!(counts.is_doubted(), expected);
    }
    counts.add(Outcome::ProvedRight);
    assert!(!counts.is_doubted());
    let share = counts.false_share().expect("outcomes");
    assert!((share - 3.0 / 55.0).abs() < 1e-9, "{share}");
}

/// A firing, about an error of `pytest -q` whose advice names a command and a file.
fn firing(kind: Kind, did: &str) -> Firing {
    Firing {
        kind,
        did: did.parse().expect("a line"),
        advice: "start postgres: docker compose up -d db, or set the host in conf/db.toml".to_owned(),
        places: vec!["pytest -q".to_owned()],
    }
}

/// The outcome that an event gives to a firing of a kind. Each event that gives one also decides.
fn outcome_of(kind: Kind, did: &str, event: (&str, serde_json::Value)) -> Option<Outcome> {
    let event = Event::decode(event.0, &event.1.to_string()).expect("an event");
    let outcome = outcome(&firing(kind, did), &event);
    assert!(outcome.is_none() || decides(&event), "{event:?}");
    outcome
}

#[test]
fn a_command_gives_the_outcome_of_the_firing_it_repeats() {
    let ran = |more: serde_json::Value| {
        let mut body = serde_json::json!({ "command": "cargo publish --force", "failed": false });
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        ("command.ran", body)
    };
    let no_more = serde_json::json!({});
    let failed = serde_json::json!({ "failed": true, "error_signature": "pool timed out" });
    for (kind, did, more, expected) in [
        (Kind::Command, "cargo publish", no_more.clone(), Some(Outcome::ProvedWrong)),
        (Kind::Command, "cargo publish", failed.clone(), Some(Outcome::ProvedRight)),
        (Kind::Command, "cargo publish", serde_json::json!({ "unseen": true }), Some(Outcome::Ignored)),
        (Kind::Command, "cargo publish", serde_json::json!({ "of_last": true }), Some(Outcome::Ignored)),
        (Kind::Command, "cargo publish", serde_json::json!({ "runs": ["cargo doc"] }), None),
        (
            Kind::Command,
            "cargo doc",
            serde_json::json!({ "runs": ["cargo doc"] }),
            Some(Outcome::ProvedWrong),
        ),
        (Kind::Command, "cargo bench", no_more.clone(), None),
        (Kind::Error, "pool timed out", failed.clone(), Some(Outcome::Ignored)),
        (Kind::Error, "pool is full", failed, None),
        (Kind::Error, "pool timed out", no_more.clone(), None),
        (Kind::Path, "src/db", no_more.clone(), None),
        (Kind::Write, "cargo publish", no_more, None),
    ] {
        assert_eq!(outcome_of(kind, did, ran(more.clone())), expected, "{kind:?} {did} {more}");
    }
}

/// Red before: a failure before the command, or after it, proved the guard right.
#[test]
fn a_line_that_may_not_have_run_the_command_gives_no_outcome() {
    for (line, failed, tail, expected) in [
        (
            "cd nowhere && make migrate",
            true,
            "bash: cd: nowhere: No such file or directory",
            Outcome::Unclear,
        ),
        ("make lint && make migrate", true, "make: *** [lint] Error 1", Outcome::Unclear),
        ("make migrate && pytest", true, "1 failed", Outcome::Ignored),
        ("cd db && make migrate", true, "make: *** [migrate] Error 1", Outcome::ProvedRight),
        ("make migrate && pytest", false, "1 passed", Outcome::ProvedWrong),
    ] {
        let body = serde_json::json!({
            "command": line, "failed": failed, "tail": tail, "runs": line.split(" && ").collect::<Vec<_>>()
        });
        assert_eq!(
            outcome_of(Kind::Command, "make migrate", ("command.ran", body)),
            Some(expected),
            "{line}"
        );
    }
    // Red before: a dry run proved the guard wrong, and what did not begin proved it right.
    for (line, failed, tail, expected) in [
        ("make migrate --dry-run", false, "done", Outcome::Unclear),
        ("make migrate", true, "make: *** No rule to make target 'migrate'.  Stop.", Outcome::Unclear),
        ("sudo make migrate", true, "sudo: a password is required", Outcome::Unclear),
        ("make migrate", true, "ERROR: relation exists", Outcome::ProvedRight),
        ("make migrate", false, "a password is required", Outcome::ProvedWrong),
        ("make migrate --dry-run && make migrate", true, "ERROR: relation exists", Outcome::Ignored),
    ] {
        let code = i32::from(failed);
        let body = serde_json::json!({ "command": line, "runs": line.trim_start_matches("sudo ").split(" && ").collect::<Vec<_>>(), "exit_code": code, "failed": failed, "tail": tail });
        assert_eq!(
            outcome_of(Kind::Command, "make migrate", ("command.ran", body)),
            Some(expected),
            "{line} {tail}"
        );
    }
    for (exit, expected) in [(127, Outcome::Unclear), (130, Outcome::Unclear), (2, Outcome::ProvedRight)] {
        let body = serde_json::json!({ "command": "make migrate", "failed": true, "exit_code": exit, "runs": ["make migrate"] });
        let outcome = outcome_of(Kind::Command, "make migrate", ("command.ran", body));
        assert_eq!(outcome, Some(expected), "{exit}");
    }
    let mut counts = Counts::default();
    counts.add(Outcome::Unclear);
    assert_eq!(counts, Counts::default());
}

/// Red before: an agent that ignored the advice had followed it, and one that did what it said had ignored it.
#[test]
fn advice_about_an_error_is_followed_by_what_it_names_and_by_the_pass_of_the_failed_command() {
    let ran = |command: &str, error: Option<&str>| {
        let body =
            serde_json::json!({ "command": command, "failed": error.is_some(), "error_signature": error });
        outcome_of(Kind::Error, "pool timed out", ("command.ran", body))
    };
    assert_eq!(ran("ls docker", None), None);
    assert_eq!(ran("docker ps", None), None);
    assert_eq!(ran("docker compose up -d db", None), Some(Outcome::Followed));
    assert_eq!(ran("docker compose up db", Some("no such service")), Some(Outcome::Followed));
    assert_eq!(ran("pytest -q", None), Some(Outcome::Followed), "the failed command passes");
    assert_eq!(ran("pytest -q", Some("keyerror")), None, "another error");
    assert_eq!(ran("pytest -q", Some("pool timed out")), Some(Outcome::Ignored));
    let edited = |path: &str| ("file.edited", serde_json::json!({ "paths": [path] }));
    assert_eq!(outcome_of(Kind::Error, "pool timed out", edited("conf/db.toml")), Some(Outcome::Followed));
    assert_eq!(outcome_of(Kind::Error, "pool timed out", edited("src/db.py")), None);
    let ended = ("session.ended", serde_json::json!({ "cause": "ended", "session": "s-1" }));
    assert_eq!(outcome_of(Kind::Error, "pool timed out", ended), None, "it shows nothing");
}

#[test]
fn an_edit_a_withdrawal_and_the_end_of_a_turn_give_outcomes() {
    const CLAIM: &str = "0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d47";
    const OTHER: &str = "0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d48";
    let edited = ("file.edited", serde_json::json!({ "paths": ["src/db/a.rs"] }));
    let moved = |to: &str| {
        let body =
            serde_json::json!({ "claim_id": CLAIM, "from": "contested", "reason": "it is old", "to": to });
        ("claim.status_changed", body)
    };
    let canceled = ("experiment.cancel_requested", serde_json::json!({ "run_id": CLAIM }));
    let turn = |role: &str| ("turn.recorded", serde_json::json!({ "role": role, "text": "go on" }));
    let ended = ("session.ended", serde_json::json!({ "cause": "ended", "session": "s-1" }));
    for (kind, did, event, expected) in [
        (Kind::Path, "src/db", edited.clone(), Some(Outcome::Ignored)),
        (Kind::Symbol, "src/db/a.rs", edited.clone(), Some(Outcome::Ignored)),
        (Kind::Path, "src/web", edited.clone(), None),
        (Kind::Command, "src/db", edited.clone(), None),
        (Kind::Write, "src/db", edited, None),
        (Kind::Write, CLAIM, moved("deprecated"), Some(Outcome::Followed)),
        (Kind::Write, CLAIM, moved("confirmed"), None),
        (Kind::Write, OTHER, moved("deprecated"), None),
        (Kind::Command, CLAIM, moved("deprecated"), None),
        (Kind::Write, CLAIM, canceled.clone(), Some(Outcome::Followed)),
        (Kind::Write, OTHER, canceled.clone(), None),
        (Kind::Command, CLAIM, canceled, None),
        (Kind::Command, "cargo publish", turn("user"), Some(Outcome::Followed)),
        (Kind::Command, "cargo publish", turn("assistant"), Some(Outcome::Followed)),
        (Kind::Write, CLAIM, turn("user"), Some(Outcome::Ignored)),
        (Kind::Path, "src/db", ended.clone(), Some(Outcome::Followed)),
        (Kind::Write, CLAIM, ended, Some(Outcome::Ignored)),
    ] {
        let name = event.0;
        assert_eq!(outcome_of(kind, did, event), expected, "{kind:?} {did} at {name}");
    }
}

#[test]
fn an_event_that_says_nothing_of_an_action_decides_nothing() {
    let muted = serde_json::json!({ "guard": { "rule": "0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d47" } });
    assert!(!decides(&Event::decode("guard.muted", &muted.to_string()).expect("an event")));
}

#[test]
fn an_outcome_escalates_where_the_session_did_what_the_guard_warned_of() {
    let escalate = [Outcome::Followed, Outcome::Ignored, Outcome::ProvedWrong, Outcome::ProvedRight];
    assert_eq!(escalate.map(Outcome::escalates), [false, true, false, true]);
}

#[test]
fn each_field_of_a_condition_excludes() {
    let condition =
        |json: serde_json::Value| -> Condition { serde_json::from_value(json).expect("a condition") };
    let unmet = |json: serde_json::Value, line: &str| {
        condition(json).met(&subject(line)).map_or_else(|unmet| unmet.0, |_| "met")
    };
    let publish = "cargo publish src/db/a.rs --force";
    for (json, expected) in [
        (serde_json::json!({ "commands": ["cargo publish"] }), "met"),
        (serde_json::json!({ "commands": ["cargo bench"] }), "commands"),
        (serde_json::json!({ "commands": ["cargo publish"], "scope": "src/db" }), "met"),
        (serde_json::json!({ "commands": ["cargo publish"], "scope": "src/web" }), "scope"),
        (serde_json::json!({ "commands": ["cargo publish"], "paths": ["src/db"] }), "paths"),
        (serde_json::json!({ "text_includes": "--FORCE" }), "met"),
        (serde_json::json!({ "text_includes": "--dry-run" }), "text_includes"),
        (serde_json::json!({ "event_types": ["command.ran"] }), "met"),
        (serde_json::json!({ "event_types": ["file.edited"] }), "event_types"),
        (serde_json::json!({ "claim_type": "fact" }), "claim_type"),
        (serde_json::json!({ "status": "contested" }), "status"),
        (serde_json::json!({ "pattern_type": "loop" }), "pattern_type"),
        (serde_json::json!({ "error_signature": "pool timed out" }), "error_signature"),
    ] {
        assert_eq!(unmet(json.clone(), publish), expected, "{json}");
    }
}

#[test]
fn only_a_guard_that_blocks_everywhere_meets_a_command_whose_place_the_shell_knows() {
    let is_met = |effect, condition: serde_json::Value, line: &str| {
        let rule = Rule {
            id: GuardId::from_uuid(uuid::Uuid::from_u128(1)),
            condition: serde_json::from_value(condition).expect("a condition"),
            effect,
            text: "not by hand".parse().expect("a text"),
            claim_id: None,
            until: None,
            profile: None,
        };
        rule.met(&subject(line)).is_ok()
    };
    let anywhere = serde_json::json!({ "commands": ["make deploy"] });
    let somewhere = "cd \"$DIR\" && make deploy";
    assert!(is_met(Effect::Block, anywhere.clone(), somewhere));
    assert!(!is_met(Effect::Warn, anywhere.clone(), somewhere));
    assert!(!is_met(
        Effect::Block,
        serde_json::json!({ "commands": ["make deploy"], "scope": "src" }),
        somewhere
    ));
    assert!(
        is_met(Effect::Warn, anywhere.clone(), "make deploy")
            && is_met(Effect::Block, anywhere, "make deploy")
    );
}

#[test]
fn advice_names_a_path_as_a_whole_only() {
    for text in ["see db.toml", "(db.toml)", "edit `db.toml`, then go on", "db.toml."] {
        assert!(has_path(text, "db.toml"), "{text}");
    }
    for text in [
        "see conf/db.toml",
        "mydb.toml",
        "my-db.toml",
        ".db.toml",
        "db.toml2",
        "db.toml/x",
        "db.toml_old",
        "db",
    ] {
        assert!(!has_path(text, "db.toml"), "{text}");
    }
}

#[test]
fn a_condition_on_a_claim_or_a_pattern_is_met_by_an_equal_one_only() {
    let fields = serde_json::json!({ "claim_type": "fact", "status": "contested", "pattern_type": "loop" });
    let condition: Condition = serde_json::from_value(fields).expect("a condition");
    let equal = Subject {
        claim_type: Some("fact".parse().expect("a type")),
        status: Some(Status::Contested),
        patterns: vec![PatternKind::Stall, PatternKind::Loop],
        ..subject("cargo doc")
    };
    assert!(condition.met(&equal).is_ok());
    let other = Subject { status: Some(Status::Confirmed), ..equal.clone() };
    assert_eq!(condition.met(&other).map_err(|unmet| unmet.0), Err("status"));
    let other = Subject { patterns: vec![PatternKind::Stall], ..equal };
    assert_eq!(condition.met(&other).map_err(|unmet| unmet.0), Err("pattern_type"));
}

#[test]
fn a_condition_names_a_part_of_the_workspace_in_short_lists() {
    let most = vec!["cargo publish"; Condition::MAX_ENTRIES];
    let more = vec!["cargo publish"; Condition::MAX_ENTRIES + 1];
    for (json, expected) in [
        (serde_json::json!({ "scope": "src/db", "paths": ["src/db"], "commands": most }), None),
        (serde_json::json!({ "scope": "." }), Some("condition.scope")),
        (serde_json::json!({ "scope": "**" }), Some("condition.scope")),
        (serde_json::json!({ "paths": ["src/db", "."] }), Some("condition.paths")),
        (serde_json::json!({ "paths": ["symbol:Pool"] }), Some("condition.paths")),
        (serde_json::json!({ "commands": more }), Some("condition")),
    ] {
        let condition: Condition = serde_json::from_value(json.clone()).expect("a condition");
        assert!(!condition.is_empty());
        assert_eq!(condition.fault().map(|(field, _)| field), expected, "{json}");
    }
    assert!(Condition::default().is_empty());
}

#[test]
fn a_guard_is_stored_under_its_commands_or_its_error_or_its_paths() {
    for (json, expected) in [
        (serde_json::json!({ "commands": ["cargo publish"], "paths": ["src/db"] }), Some(Kind::Command)),
        (serde_json::json!({ "error_signature": "pool timed out", "paths": ["src/db"] }), Some(Kind::Error)),
        (serde_json::json!({ "paths": ["src/db"] }), Some(Kind::Path)),
        (serde_json::json!({ "text_includes": "--force" }), None),
    ] {
        let condition: Condition = serde_json::from_value(json.clone()).expect("a condition");
        let mut kinds: Vec<Kind> = condition.keys().into_iter().map(|(kind, _)| kind).collect();
        // An error has a key of its own and one by its longest word.
        kinds.dedup();
        assert_eq!(kinds, Vec::from_iter(expected), "{json}");
    }
}

#[test]
fn a_subject_is_a_command_or_an_edit_or_a_write() {
    let path = |path: &str| path.parse().expect("a path");
    let edit = Action { paths: vec![path("src/db/a.rs")], ..Action::default() };
    let edited = Subject::of_action(&edit, "pool");
    assert_eq!(edited.moments, [Moment::FileEdited]);
    assert_eq!(edited.names(None), (Kind::Path, "src/db/a.rs".to_owned()));
    assert!(Subject::of_action(&Action::default(), "").moments.is_empty());
    let ran = subject("cargo doc");
    assert_eq!(ran.moments, [Moment::CommandRan]);
    assert_eq!(ran.names(None).0, Kind::Command);
    let written = Subject { scopes: vec![path("src/db")], ..edited };
    assert_eq!(written.names(None), (Kind::Write, "pool".to_owned()));
    let placed = Subject::default();
    assert_eq!(placed.names(Some(path("src/web"))), (Kind::Path, "src/web".to_owned()));
    assert_eq!(placed.names(None).0, Kind::Write);
}

#[test]
fn a_silence_has_a_place_and_an_end() {
    let now = Timestamp::from_ms(1_000);
    let mute = |scope: Option<&str>, until: Option<i64>| Mute {
        scope: scope.map(|scope| scope.parse().expect("a scope")),
        until: until.map(Timestamp::from_ms),
    };
    let at = subject("rustfmt --check src/db/a.rs");
    assert!(mute(None, None).silences(Kind::Command, &at, now));
    assert!(mute(Some("src/db"), Some(1_001)).silences(Kind::Command, &at, now));
    assert!(!mute(Some("src/web"), None).silences(Kind::Command, &at, now));
    assert!(!mute(None, Some(1_000)).silences(Kind::Command, &at, now));
}

/// Red before: what a program that ran printed of another one counted as a command that could not begin.
#[test]
fn what_could_not_begin_says_so_first_or_last() {
    let begins_not = |tail: &str| super::did_not_begin(Some(tail));
    for tail in [
        "sh: 1: foo: command not found",
        "usage: a.py [-h]\na.py: error: unrecognized arguments: --x",
        "error: unexpected argument '--x' found\n\nUsage: a [OPTIONS]\n\nFor more information, try '--help'.",
        "npm error Missing script: \"gen\"\nnpm error\nnpm error To see a list of scripts, run: npm run",
        "Usage: a unknown command x\n\nCommands:\n  run",
        "make: *** No rule to make target 'x'.  Stop.",
    ] {
        assert!(begins_not(tail), "{tail}");
    }
    for tail in [
        "sqlite3: unrecognized option '--json'\nmake: *** [Makefile:3: migrate] Error 1",
        "error TS2307: Cannot find module './gen'",
        "deploy.sh: line 3: DEPLOY_TOKEN: unbound variable",
        "foo: command not found\nbuild failed",
        "",
    ] {
        assert!(!begins_not(tail), "{tail}");
    }
}
