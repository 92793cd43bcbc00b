//! `hm demo` through the real binary: the whole story holds, fits a terminal, and leaves nothing behind.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Output};

use hivemind::workspace::Workspace;
use serde_json::Value;

use crate::shell::environment;

/// Columns a line of human output may have.
const WIDTH: usize = 100;

fn demo(temporary: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hm"))
        .arg("demo")
        .args(arguments)
        .env("TMPDIR", temporary)
        .env("XDG_STATE_HOME", temporary.join("state"))
        // What the shell of an agent says is not meant for the agents of the story.
        .env("HM_AGENT", "frontend")
        .env("HM_DIR", "/nowhere")
        .output()
        .expect("hm runs")
}

/// Processes that name a directory in their command line; none where the system does not tell.
fn processes_in(dir: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| std::fs::read(entry.ok()?.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(&*dir.to_string_lossy()))
        .collect()
}

#[test]
fn every_step_happens_in_order_and_nothing_is_left() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let output = demo(temporary.path(), &["--json"]);
    assert!(output.status.success(), "{output:?}");
    let told: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    let steps = told["steps"].as_array().expect("steps");
    let names: Vec<&str> = steps.iter().filter_map(|step| step["name"].as_str()).collect();
    assert_eq!(
        names,
        [
            "panes",
            "seats",
            "dead_end",
            "subscribe",
            "warned",
            "notified",
            "evidence",
            "challenge",
            "supersede",
            "support",
            "experiment",
            "mismatch",
            "duplicate",
            "killed_writer",
            "retry",
            "packs",
            "hand_off_loop",
            "loop",
            "stall",
            "playbook",
            "status",
            "verify",
        ]
    );
    for step in steps {
        assert!(step["agent"].is_string() && step["seen"].is_array(), "{step}");
        assert!(step.get("call").is_some() && step.get("receipt").is_some(), "{step}");
    }
    assert!(told["elapsed_ms"].as_u64().is_some_and(|ms| ms < 10_000), "{}", told["elapsed_ms"]);
    let entries = |dir: &Path| -> Vec<_> {
        let entries = std::fs::read_dir(dir).expect("a directory").flatten();
        entries.map(|entry| entry.file_name()).collect()
    };
    assert_eq!(entries(temporary.path()), ["state"]);
    let keys = entries(&temporary.path().join("state/hivemind"));
    assert!(keys.is_empty(), "keys of a workspace that is no more: {keys:?}");
    assert_eq!(processes_in(temporary.path()), Vec::<String>::new());
}

#[test]
fn the_story_fits_a_terminal_and_can_be_kept() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let output = demo(temporary.path(), &["--keep"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    for line in text.lines() {
        assert!(line.chars().count() <= WIDTH, "too wide: {line}");
        assert!(!line.contains(char::is_control), "{line:?}");
        assert_eq!(line.trim_end(), line, "blanks at the end of a line");
    }
    assert!(text.ends_with("walks the chain of every event\n"), "{text}");

    let kept: Vec<_> = std::fs::read_dir(temporary.path())
        .expect("the directory")
        .flatten()
        .filter(|entry| entry.file_name() != "state")
        .collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    let root = kept[0].path().join("shop");
    let unbroken = text.replace('\n', "");
    assert!(unbroken.contains(&*root.to_string_lossy()), "the text does not say where it is: {text}");
    let workspace = Workspace::find(Some(&root), &root, &environment(&temporary.path().join("state")))
        .expect("a workspace");
    let lock = File::options().write(true).open(workspace.writer_lock()).expect("a writer was there");
    lock.try_lock().expect("no writer is left");
    assert_eq!(processes_in(&root), Vec::<String>::new());
}

#[test]
fn a_demo_elsewhere_is_a_wrong_call() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let output = demo(temporary.path(), &["--agent", "devops"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let output = demo(&temporary.path().join("missing"), &[]);
    assert_eq!(output.status.code(), Some(70), "{output:?}");
}

/// The lines of the story without what differs between two runs: numbers, ids and paths.
fn told(temporary: &Path, search_path: &str) -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_hm"))
        .arg("demo")
        .env("TMPDIR", temporary)
        .env("XDG_STATE_HOME", temporary.join("state"))
        .env("PATH", search_path)
        .env_remove("HM_AGENT")
        .env_remove("HM_DIR")
        .output()
        .expect("hm runs");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    let masked = |word: &str| {
        let is_of_run = word.contains(|c: char| c.is_ascii_digit()) || word.contains("hivemind-demo-");
        if is_of_run { "N".to_owned() } else { word.to_owned() }
    };
    // Whether a command still waits in the spool is a matter of milliseconds.
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("spool:"));
    lines.flat_map(str::split_whitespace).map(masked).collect()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the search path of this process, for that of the demo")]
fn the_defaults_of_the_policy_spelled_out_tell_the_same_story() {
    use std::os::unix::fs::PermissionsExt;

    let tools = tempfile::tempdir().expect("a temporary directory");
    let section = tools.path().join("config.toml");
    std::fs::write(&section, crate::policy::spelled_out()).expect("a file");
    // The demo makes its own repository: this git writes the settings into it first.
    let git = tools.path().join("git");
    let marker = tools.path().join("was-there");
    let script = format!(
        "#!/bin/sh\nPATH=\"${{PATH#*:}}\"\nif [ \"$1\" = init ]; then mkdir -p .hivemind && cp {} .hivemind/config.toml && \
         touch {}; fi\nexec git \"$@\"\n",
        section.display(),
        marker.display()
    );
    std::fs::write(&git, script).expect("a file");
    std::fs::set_permissions(&git, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let path = std::env::var("PATH").expect("a search path");
    let [without, with] = [path.clone(), format!("{}:{path}", tools.path().display())].map(|path| {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        told(temporary.path(), &path)
    });
    assert!(marker.exists(), "the settings were there");
    assert!(without.len() > 100, "{without:?}");
    assert_eq!(without, with);
}
