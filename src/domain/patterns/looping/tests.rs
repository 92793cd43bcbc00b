//! What the end and the output of a command say.

use super::bisects;
use super::ran::{Ran, file};
use crate::domain::time::Timestamp;

fn ran(line: &str, exit: Option<i32>, tail: &str) -> Ran {
    Ran {
        seq: 1,
        at: Timestamp::from_ms(1),
        line: line.to_owned(),
        command: line.to_owned(),
        base: line.to_owned(),
        shown: line.to_owned(),
        is_tool: false,
        exit,
        failed: exit.is_some_and(|exit| exit != 0),
        of_last: false,
        answer: Some(tail.to_owned()),
        tail: Some(tail.to_owned()),
        error: None,
        changes: false,
        files_sha256: None,
        after_other: false,
    }
}

#[test]
fn a_command_whose_exit_code_is_hidden_fails_by_what_it_says() {
    for (line, exit, tail, expected) in [
        ("cargo test", Some(101), "", true),
        ("cargo test", Some(0), "error: pool timed out", false),
        ("cargo test", None, "error: pool timed out", true),
        ("cargo test", None, "all is well", false),
        ("cargo test", None, "test result: 3 passed; 2 failed", true),
        ("cargo test", None, "error: noted\ntest result: 3 passed; 0 failed", false),
        ("cargo test", None, "error: noted\ntest result: 3 passed", false),
        ("cargo test", None, "0 errors, 20 failed", true),
        ("cat build.txt", None, "error: pool timed out", false),
        ("grep pool src/a.rs", Some(1), "", false),
    ] {
        assert_eq!(ran(line, exit, tail).fails(), expected, "{line} {exit:?} {tail}");
    }
    let piped = Ran { of_last: true, ..ran("cargo test | tail -3", Some(0), "error: pool timed out") };
    assert!(piped.fails());
}

#[test]
fn a_step_of_a_bisection_is_told_from_other_commands() {
    for line in ["git bisect good", "cd src && git bisect run make", "ls ; git bisect skip"] {
        assert!(bisects(line), "{line}");
    }
    for line in ["git bisect log", "git bisect", "npm test run", "git checkout good"] {
        assert!(!bisects(line), "{line}");
    }
}

#[test]
fn runs_answer_alike_where_their_ends_and_their_outputs_are_alike() {
    let one = || ran("cargo test", None, "w\nx\ny");
    let piped = |tail: &str| Ran { of_last: true, ..ran("cargo test | tail", Some(0), tail) };
    for (other, expected) in [
        (one(), Some(true)),
        (Ran { failed: true, ..one() }, Some(false)),
        (ran("cargo test", None, "w\nx\nz"), Some(false)),
        (ran("cargo test 2>&1", None, "more\nw\nx\ny"), Some(true)),
        (ran("cargo test 2>&1", None, "more\nw\nx\nz"), None),
        (Ran { answer: None, tail: None, ..ran("cargo test 2>&1", None, "") }, None),
        (Ran { failed: true, ..piped("w\nx\ny") }, Some(true)),
    ] {
        assert_eq!(one().answers_like(&other), expected, "{other:?}");
    }
    let exits = |exit| Ran { failed: true, ..ran("cargo test", exit, "a") };
    assert_eq!(exits(Some(1)).answers_like(&exits(Some(2))), Some(false));
    assert_eq!(exits(Some(1)).answers_like(&exits(None)), Some(true));
}

#[test]
fn an_output_ends_in_its_last_whole_lines() {
    for (tail, expected) in [
        ("w\nx\ny\nz", Some(vec!["z", "y", "x"])),
        ("w\nx\n\ny\n", Some(vec!["y", "x", "w"])),
        ("w\nx", Some(vec!["x"])),
        ("w", Some(vec!["w"])),
        ("\n", None),
    ] {
        let ending = ran("make", None, tail).ending();
        let ending = ending.as_ref().map(|lines| lines.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(ending, expected, "{tail:?}");
    }
}

#[test]
fn a_word_names_a_file_of_the_work() {
    for (word, expected) in [
        ("src/a.rs:10:4", Some("a.rs")),
        ("./src/b.py", Some("b.py")),
        ("tests/c.py::test_one", Some("c.py")),
        ("src/a_.rs", Some("a_.rs")),
        ("src/a-.rs", Some("a-.rs")),
        ("src/a4.h", Some("a4.h")),
        ("src/a.mp3", Some("a.mp3")),
        ("src/a+.rs", None),
        ("src/.rs", None),
        ("1.rs", None),
        ("v1.24", None),
        ("a.RS", None),
        ("a.longest", None),
        ("a.", None),
        ("src//a.rs", None),
        ("/usr/include/a.h", None),
        ("node_modules/a/b.js", None),
    ] {
        assert_eq!(file(word).as_deref(), expected, "{word}");
    }
}
