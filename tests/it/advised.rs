//! What a session is told after a failed command: of the same error only, of fixes that held, in the words of people.

use serde_json::json;

use crate::guards::{outcomes, prompt, ran, started};
use crate::hook::spool_is_empty;
use crate::shell::Shell;

/// An error by a word of its own.
fn error(of: &str) -> String {
    format!("error: the {of} service refused the request")
}

/// Red before: only the first line of an error counted, without what it names.
#[test]
fn a_fix_of_another_error_is_not_told() {
    let shell = Shell::new();
    let (one, other) = (started(&shell, "s-1", "devops"), started(&shell, "s-2", "analyst"));
    let third = started(&shell, "s-3", "reviewer");
    let linked = |library: &str| {
        format!(
            "error: linking with `cc` failed: exit status: 1\n  = note: /usr/bin/ld: cannot find -l{library}: No such file or \
             directory\n          collect2: error: ld returned 1 exit status"
        )
    };
    let status = |code: u32| format!("Error: request failed with status code {code}");
    for (line, fix, error) in [
        ("cargo build", "apt-get install -y libpq-dev", linked("pq")),
        ("./fetch.sh", "./scripts/renew.sh", status(401)),
    ] {
        ran(&one, &shell, line, Some(&error));
        ran(&one, &shell, fix, None);
        ran(&one, &shell, line, None);
    }
    assert!(!ran(&other, &shell, "cargo build", Some(&linked("ssl"))).contains("succeeded"));
    assert!(!ran(&other, &shell, "./fetch.sh", Some(&status(404))).contains("succeeded"));
    assert!(
        ran(&third, &shell, "cargo build", Some(&linked("pq")))
            .contains("after `apt-get install -y libpq-dev`")
    );
    assert!(ran(&third, &shell, "./fetch.sh", Some(&status(401))).contains("after `./scripts/renew.sh`"));
}

/// Red before: secrets of ordinary words were told, and what sets files in place or variables was not.
#[test]
fn a_fix_is_told_as_it_was_typed_if_it_held_and_holds_no_secret() {
    let shell = Shell::new();
    let (one, other) = (started(&shell, "s-1", "devops"), started(&shell, "s-2", "analyst"));
    for (of, fix, told) in [
        ("alpha", "./fix.sh", Some("after `./fix.sh`")),
        ("bravo", "cp .env.example .env", Some("after `cp .env.example .env`")),
        ("charlie", "git pull --rebase", Some("after `git pull --rebase`")),
        ("delta", "export NET_HOST=db1", Some("after `export NET_HOST=db1`")),
        // Red before: the process of that number is another one by then.
        ("echo", "kill 4711", None),
        ("foxtrot", "rm -rf data", None),
        ("golf", "ls -la", None),
        ("hotel", "echo sunshine | sudo -S systemctl restart x", None),
        ("india", "unzip -P sunshine a.zip", None),
        ("juliet", "curl -u me:sunshine https://x.io/reset", None),
        ("kilo", "./login.sh me sunshine", None),
        ("lima", "docker compose down -v", None),
        ("november", "make gen <<EOF\nx\nEOF\nrm -rf data", None),
        ("oscar", "cp \"$HOME/.env.example\" .env", Some("after `cp \"$HOME/.env.example\" .env`")),
    ] {
        let line = format!("make step-{of}");
        ran(&one, &shell, &line, Some(&error(of)));
        ran(&one, &shell, fix, None);
        ran(&one, &shell, &line, None);
        let said = ran(&other, &shell, &line, Some(&error(of)));
        match told {
            Some(told) => assert!(said.contains(told), "{fix}: {said}"),
            None => assert!(!said.contains(" after "), "{fix}: {said}"),
        }
        assert!(!said.contains("sunshine"), "{said}");
    }
    let line = "make step-mike";
    ran(&one, &shell, line, Some(&error("mike")));
    ran(&one, &shell, "./nofix.sh", None);
    ran(&one, &shell, line, None);
    ran(&one, &shell, line, Some(&error("mike")));
    let said = ran(&other, &shell, line, Some(&error("mike")));
    assert!(!said.contains("succeeded"), "it did not hold: {said}");
    shell.assert_rebuilds_to_the_same();
}

/// Red before: without the step that helped, the sentence invited to run the command again.
#[test]
fn a_success_after_steps_that_are_not_told_is_told_only_if_it_came_at_once() {
    let shell = Shell::new();
    let (one, other) = (started(&shell, "s-1", "devops"), started(&shell, "s-2", "analyst"));
    for (of, steps, is_told) in [
        ("alpha", &[][..], true),
        ("bravo", &["find . -name '*.lock' -delete"], false),
        ("charlie", &["git push --force"], false),
        ("delta", &["git commit -m \"mend it\""], false),
        ("echo", &["npm ci", "ls"], true),
    ] {
        let line = format!("make step-{of}");
        ran(&one, &shell, &line, Some(&error(of)));
        for step in steps {
            ran(&one, &shell, step, None);
        }
        ran(&one, &shell, &line, None);
        let said = ran(&other, &shell, &line, Some(&error(of)));
        assert_eq!(said.contains("succeeded"), is_told, "{steps:?}: {said}");
    }
    // Another command that deletes is no fix of what failed at the same file.
    ran(&one, &shell, "pytest tests/a.py", Some(&error("golf")));
    ran(&one, &shell, "rm tests/a.py", None);
    let said = ran(&other, &shell, "pytest tests/a.py", Some(&error("golf")));
    assert!(!said.contains("succeeded"), "{said}");
}

/// Red before: a refused command and one behind a failed `cd` gave the guard an outcome.
#[test]
fn a_command_that_did_not_run_for_sure_gives_no_outcome() {
    let shell = Shell::new();
    let claim = "hm claim create \"make migrate drops the staging tables\" --agent devops --type negative --scope tag:db \
                 --trigger-command \"make migrate\"";
    assert!(shell.run(claim).status.success());
    let session = started(&shell, "s-1", "analyst");
    let refused = "The user doesn't want to proceed with this tool use. The tool use was rejected.";
    let input = json!({ "command": "make migrate" });
    assert!(session.about_to_run("make migrate").contains("staging tables"));
    let payload = json!({ "tool_name": "Bash", "tool_input": input, "error": refused, "is_interrupt": true });
    session.told("PostToolUseFailure", payload);
    prompt(&session, &shell);
    assert_eq!(outcomes(&shell, "C1"), ["followed"], "it did not happen");
    for (line, failure, expected) in [
        ("cd nowhere && make migrate", "bash: cd: nowhere: No such file or directory", "unclear"),
        ("make migrate && pytest", "1 failed", "ignored"),
    ] {
        assert!(session.about_to_run(line).contains("staging tables"), "{line}");
        spool_is_empty(&shell);
        ran(&session, &shell, line, Some(failure));
        prompt(&session, &shell);
        assert_eq!(outcomes(&shell, "C1").last().map(String::as_str), Some(expected), "{line}");
    }
    // Red before: the unclear line ended the firing, and the run after it counted for nothing.
    assert!(session.about_to_run("cd nowhere && make migrate").contains("staging tables"));
    spool_is_empty(&shell);
    ran(&session, &shell, "cd nowhere && make migrate", Some("bash: cd: nowhere: No such file or directory"));
    ran(&session, &shell, "make migrate", Some("make: *** [migrate] Error 1"));
    assert_eq!(outcomes(&shell, "C1").last().map(String::as_str), Some("proved_right"));
    shell.assert_rebuilds_to_the_same();
}

/// Red before: people read `{quoted}` and `{n}`.
#[test]
fn people_read_the_line_of_an_error_and_no_masks() {
    let shell = Shell::new();
    let error = "error: cannot read '/srv/conf/a.toml' after 30 ms";
    let accept = "hm guard accept --agent architect --error \"cannot read {quoted} after {n} ms\" --text \"mount the disk\"";
    let (one, other) = (started(&shell, "s-1", "devops"), started(&shell, "s-2", "analyst"));
    for _ in 0..3 {
        ran(&one, &shell, "make conf", Some(error));
    }
    let waits = String::from_utf8(shell.run("hm attention --agent architect").stdout).expect("a text");
    assert!(waits.contains("cannot read … after … ms"), "{waits}");
    assert!(waits.contains("the last one: error: cannot read '/srv/conf/a.toml' after 30 ms"), "{waits}");
    assert!(shell.run(accept).status.success());
    let said = ran(&other, &shell, "make conf", Some(error));
    assert!(
        said.contains("mount the disk (it is about `error: cannot read '/srv/conf/a.toml' after 30 ms`)"),
        "{said}"
    );
    let list = String::from_utf8(shell.run("hm guard show G1").stdout).expect("a text");
    assert!(list.contains("cannot read … after …") && !list.contains("{n}"), "{list}");
}

/// Red before: a running writer went on as it had started.
#[test]
fn patterns_that_are_switched_off_are_off_at_once() {
    let shell = Shell::new();
    let session = started(&shell, "s-1", "devops");
    let fails = |test: &str| {
        for _ in 0..4 {
            ran(&session, &shell, &format!("cargo test {test}"), Some(&error(test)));
        }
    };
    let patterns = || shell.json("hm --json pattern list --all")["patterns"].as_array().map_or(0, Vec::len);
    fails("alpha");
    assert_eq!(patterns(), 1);
    std::fs::write(shell.workspace().config(), "[patterns]\noff = [\"loop\"]\n").expect("a config");
    fails("bravo");
    assert_eq!(patterns(), 1);
}

/// Red before: a file that a human saved between two failures was no change.
#[test]
fn a_file_that_a_human_saved_is_a_change_for_a_loop() {
    let shell = Shell::new();
    let session = started(&shell, "s-1", "devops");
    let file = shell.workspace().root().join("src/net.rs");
    std::fs::create_dir_all(file.parent().expect("a directory")).expect("made");
    let fails = |round: u64| {
        let text = "thread 'a' panicked at src/net.rs:7:5:\nthe pool is empty";
        let said = ran(&session, &shell, "cargo test a", Some(text));
        (said + &session.about_to_run("cargo test a")).contains("same answer").then_some(round)
    };
    let saved = |round: u64| {
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000 + round);
        std::fs::write(&file, "// x").expect("written");
        let opened = std::fs::File::options().write(true).open(&file).expect("the file");
        opened.set_modified(at).expect("a time");
    };
    let told = (1..=6).find_map(|round| {
        saved(round);
        fails(round)
    });
    assert_eq!(told, Some(6), "as after six edits");
}

/// Red before: the report of each failure was a change by others, and nothing told of the loop.
#[test]
fn a_report_that_the_command_writes_itself_is_no_change_for_a_loop() {
    let shell = Shell::new();
    let session = started(&shell, "s-1", "devops");
    let report = shell.workspace().root().join("report.xml");
    let told = (1..=5).find(|round| {
        let line = "pytest --junitxml=report.xml tests/b";
        let before = session.about_to_run(line);
        std::fs::write(&report, round.to_string()).expect("written");
        let error = "E   AssertionError: the pool is empty\ngenerated xml file: report.xml";
        (before + &ran(&session, &shell, line, Some(error))).contains("same answer")
    });
    assert!(told.is_some_and(|round| round <= 4), "{told:?}");
}
