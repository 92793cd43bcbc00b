//! Which triggers meet which actions: a corpus of failed commands in other spellings, and of commands beside them.

use std::collections::BTreeSet;
use std::path::Path;

use hivemind::domain::action::{self, Action, Attempt, Kind};
use hivemind::domain::claim::Trigger;
use serde::Deserialize;
use serde::de::DeserializeOwned;

const ROOT: &str = "/home/ana/shop";

#[derive(Deserialize)]
struct Failed {
    trigger: String,
    spellings: Vec<Typed>,
}

/// A line, and where it was typed below the root.
#[derive(Deserialize)]
struct Typed {
    #[serde(default)]
    cwd: String,
    line: String,
}

impl Typed {
    fn action(&self) -> Action {
        let attempt = Attempt { command: Some(&self.line), ..Attempt::default() };
        Action::of(attempt, &format!("{ROOT}/{}", self.cwd), ROOT)
    }
}

fn corpus<T: DeserializeOwned>(name: &str) -> Vec<T> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpora/commands").join(name);
    let text = std::fs::read_to_string(path).expect("a committed corpus");
    text.lines().map(|line| serde_json::from_str(line).expect("a line of the corpus")).collect()
}

fn on_command(line: &str) -> Trigger {
    Trigger { commands: vec![line.parse().expect("a command line")], ..Trigger::default() }
}

fn on_paths(paths: &[&str]) -> Trigger {
    Trigger { paths: paths.iter().map(|path| path.parse().expect("a scope")).collect(), ..Trigger::default() }
}

/// Whether the index finds the trigger for the action.
fn is_found(trigger: &Trigger, action: &Action) -> bool {
    let asked: BTreeSet<_> = action.keys().into_iter().collect();
    action::keys(trigger).iter().any(|key| asked.contains(key))
}

#[test]
fn a_failed_command_is_recognised_in_every_spelling() {
    let failed: Vec<Failed> = corpus("failed.jsonl");
    let mut missed = Vec::new();
    for Failed { trigger: line, spellings } in &failed {
        let trigger = on_command(line);
        for typed in spellings {
            let action = typed.action();
            match action::met(&trigger, &action) {
                Some(met) if met == (Kind::Command, line.clone()) && is_found(&trigger, &action) => {}
                other => missed.push(format!("{line} / {} ({:?}): {other:?}", typed.line, action.commands)),
            }
        }
    }
    assert_eq!(missed, Vec::<String>::new());
    assert_eq!(failed.iter().map(|failed| failed.spellings.len()).sum::<usize>(), 122);
}

#[test]
fn a_command_beside_a_failed_one_is_let_alone() {
    let failed: Vec<Failed> = corpus("failed.jsonl");
    let unrelated: Vec<Typed> = corpus("unrelated.jsonl");
    let mut fired = Vec::new();
    for typed in &unrelated {
        let action = typed.action();
        for Failed { trigger, .. } in &failed {
            if action::met(&on_command(trigger), &action).is_some() {
                fired.push(format!("{trigger} / {} ({})", typed.line, typed.cwd));
            }
        }
    }
    assert_eq!(fired, Vec::<String>::new());
    assert_eq!(unrelated.len(), 200);
}

#[test]
fn failed_commands_are_told_apart() {
    let failed: Vec<Failed> = corpus("failed.jsonl");
    for (index, Failed { spellings, .. }) in failed.iter().enumerate() {
        for typed in spellings {
            let action = typed.action();
            let met = failed.iter().map(|other| action::met(&on_command(&other.trigger), &action).is_some());
            let met: Vec<usize> = met.enumerate().filter(|(_, met)| *met).map(|(other, _)| other).collect();
            assert_eq!(met, [index], "{}", typed.line);
        }
    }
}

#[test]
fn a_glob_that_cannot_be_matched_with_meets_nothing() {
    let deep = "{".repeat(251) + "x" + &"}".repeat(251);
    let paths = ["x".to_owned()];
    let action = Action::of(Attempt { paths: &paths, ..Attempt::default() }, ROOT, ROOT);
    assert!(is_found(&on_paths(&[&deep]), &action), "it begins anywhere");
    assert_eq!(action::met(&on_paths(&[&deep]), &action), None);
    assert_eq!(action::met(&on_paths(&[&deep, "x"]), &action), Some((Kind::Path, "x".to_owned())));
}

#[test]
fn all_of_a_trigger_line_must_be_run() {
    let met = |trigger: &str, line: &str| {
        let typed = Typed { cwd: String::new(), line: line.to_owned() };
        action::met(&on_command(trigger), &typed.action()).is_some()
    };
    assert!(met("npm ci && npm test | tail", "npm ci --silent; npm test"));
    assert!(!met("npm ci && npm test", "npm test"));
    // A word alone is met by itself alone, and what cannot be told by nothing.
    assert!(met("make", "make 2>&1"));
    assert!(!met("make", "make install"));
    assert!(!met("$CMD", "$CMD"));
    assert!(!met("cargo 'vendor", "cargo vendor"));
    // Written down with its whole path in a workspace below /tmp, where the index cannot know the workspace.
    let trigger = on_command("/tmp/ws/gradlew build /tmp/ws/app");
    let attempt = Attempt { command: Some("../gradlew build ."), ..Attempt::default() };
    let action = Action::of(attempt, "/tmp/ws/app", "/tmp/ws");
    assert!(is_found(&trigger, &action) && action::met(&trigger, &action).is_some());
}

#[test]
fn a_path_covers_what_lies_below_it_and_a_scope_is_no_trigger() {
    let met = |trigger: &Trigger, path: &str| {
        let attempt = Attempt { paths: &[path.to_owned()], ..Attempt::default() };
        let action = Action::of(attempt, &format!("{ROOT}/src"), ROOT);
        let met = action::met(trigger, &action).map(|(kind, met)| {
            assert_eq!(kind, Kind::Path);
            met
        });
        assert_eq!(met.is_some(), is_found(trigger, &action), "{path}");
        met
    };
    let trigger = on_paths(&["src/db", "Makefile"]);
    assert_eq!(met(&trigger, "db/pool.rs").as_deref(), Some("src/db"));
    assert_eq!(met(&trigger, "/home/ana/shop/src/db/pool.rs").as_deref(), Some("src/db"));
    assert_eq!(met(&trigger, "../Makefile").as_deref(), Some("Makefile"));
    for beside in ["dbx/pool.rs", "main.rs", "../../other/src/db/pool.rs", "/src/db/pool.rs", ""] {
        assert_eq!(met(&trigger, beside), None, "{beside}");
    }
    // The whole workspace would warn of every edit; targets and tags are no paths.
    assert_eq!(met(&on_paths(&[".", "tag:src", "target:main"]), "db/pool.rs"), None);
}

#[test]
fn symbols_and_errors_are_met_by_what_is_written_and_put_out() {
    let trigger = Trigger {
        symbols: vec!["Pool::get()".parse().expect("a symbol"), "get".parse().expect("a symbol")],
        error_signature: Some("error[E0308]: mismatched types".parse().expect("an error")),
        ..on_paths(&["symbol:retry_all"])
    };
    let met = |text: &str, output: &str| {
        let attempt = Attempt { text: Some(text), output: Some(output), ..Attempt::default() };
        let action = Action::of(attempt, ROOT, ROOT);
        let met = action::met(&trigger, &action);
        assert_eq!(met.is_some(), is_found(&trigger, &action));
        met
    };
    assert_eq!(met("let a = db::Pool::get().await;", ""), Some((Kind::Symbol, "Pool::get".to_owned())));
    assert_eq!(met("self.retry_all()", ""), Some((Kind::Symbol, "retry_all".to_owned())));
    assert_eq!(met("map.get(x); Pool::get_or(); Spool::get()", "all is well"), None);
    assert_eq!(
        met("", "Compiling\nerror[E0308]: mismatched types\n --> src/a.rs:1:2"),
        Some((Kind::Error, "mismatched types".to_owned()))
    );
}
