//! What counts as the same record: the whole line, by one actor, and the content of an edit.

use serde_json::{Value, json};

use super::Team;

/// A line as a hook records it: with its commands in normal form.
fn ran(line: &str, runs: &[&str], exit: i32, tail: &str) -> Value {
    json!({ "command": line, "runs": runs, "exit_code": exit, "failed": exit != 0, "tail": tail,
        "of_last": line.contains('|'), "answer_sha256": format!("{exit}{tail}") })
}

/// A search without a hit, whose output is empty.
fn found_nothing(line: &str, runs: &[&str]) -> Value {
    json!({ "command": line, "runs": runs, "exit_code": 1, "failed": true, "of_last": true })
}

#[test]
fn lines_that_differ_in_a_pipe_or_a_variable_are_no_loop() {
    let mut team = Team::default();
    for what in ["redis", "postgres", "rabbit", "kafka"] {
        team.says(
            "ana",
            "command.ran",
            found_nothing(&format!("cat compose.yml | grep {what}"), &["cat compose.yml"]),
        );
    }
    assert_eq!(team.mine(), [""; 0], "four searches");
    for what in ["web", "api", "db"] {
        let line = format!("git ls-files | grep {what}");
        team.says("ana", "command.ran", ran(&line, &["git ls-files"], 0, "src/a.rs"));
    }
    assert_eq!(team.mine(), [""; 0], "three searches that find the same file");
    for stage in ["dev", "stage", "prod"] {
        team.says(
            "ana",
            "command.ran",
            ran(&format!("STAGE={stage} ./smoke.sh"), &["smoke.sh"], 1, "no route"),
        );
    }
    assert_eq!(team.mine(), [""; 0], "three stages");
    for _ in 0..3 {
        team.says("ana", "command.ran", ran("STAGE=dev ./smoke.sh | tail -3", &["smoke.sh"], 1, "no route"));
    }
    assert_eq!(team.mine(), ["loop STAGE=dev smoke.sh"]);
}

#[test]
fn the_same_search_in_a_pipe_is_a_loop() {
    let mut team = Team::default();
    for _ in 0..3 {
        team.says("ana", "command.ran", found_nothing("cat a.yml | grep redis", &["cat a.yml"]));
    }
    // An output that the client did not report is no answer.
    assert_eq!(team.mine(), [""; 0]);
    for _ in 0..3 {
        team.says("ana", "command.ran", ran("cat a.yml | grep redis", &["cat a.yml"], 0, "redis: 1"));
    }
    assert_eq!(team.mine(), ["loop cat a.yml | grep redis"]);
}

/// Red before: only a tool that edits was a change, and three equal failures after one by a command were told.
#[test]
fn a_command_that_changes_files_is_a_try() {
    for (change, runs) in [
        ("sed -i s/a/b/ src/net.rs", "sed -i s/a/b/ src/net.rs"),
        ("cp /tmp/net.rs src/net.rs", "cp {tmp}.rs src/net.rs"),
        ("git pull --rebase", "git pull --rebase"),
        ("patch -p1 < fix.diff", "patch -p1"),
        ("cargo add serde", "cargo add serde"),
    ] {
        let mut team = Team::default();
        for round in 1..=6 {
            team.says("ana", "command.ran", ran(change, &[runs], 0, &format!("change {round}")));
            team.says("ana", "command.ran", ran("cargo test", &["cargo test"], 101, "error: timed out"));
            let wanted = if round == 6 { 1 } else { 0 };
            assert_eq!(team.mine().len(), wanted, "{change}, round {round}");
        }
    }
}

#[test]
fn steps_of_a_bisection_are_no_loop() {
    let mut team = Team::default();
    for _ in 0..6 {
        team.says("ana", "command.ran", ran("git bisect bad", &["git bisect bad"], 0, "Bisecting"));
        team.says("ana", "command.ran", ran("./t.sh", &["t.sh"], 1, "FAIL"));
    }
    assert_eq!(team.mine(), [""; 0]);
}

fn used(tool: &str, target: &str, subagent: Option<&str>) -> Value {
    let mut body = json!({ "tool": tool, "failed": false, "input_sha256": "84d4a6b0".repeat(8),
        "answer_sha256": "cd".repeat(32), "target": target });
    if let Some(subagent) = subagent {
        body["subagent"] = subagent.into();
    }
    body
}

#[test]
fn each_subagent_of_a_session_has_its_own_loops() {
    let mut team = Team::default();
    for subagent in ["a1", "a2", "a3", "a4"] {
        team.says("ana", "tool.used", used("Read", "src/api.py", Some(subagent)));
        let mut body = ran("cargo test", &["cargo test"], 101, "error: pool timed out");
        body["subagent"] = subagent.into();
        team.says("ana", "command.ran", body);
    }
    assert_eq!(team.mine(), [""; 0], "each did it once");
    for _ in 0..3 {
        team.says("ana", "tool.used", used("Read", "src/api.py", None));
    }
    assert_eq!(team.mine(), ["loop Read src/api.py"]);
}

#[test]
fn a_subagent_that_gets_out_of_a_loop_does_not_end_that_of_another() {
    let mut team = Team::default();
    let says = |team: &mut Team, subagent: &str, exit, tail: &str| {
        let mut body = ran("cargo test", &["cargo test"], exit, tail);
        body["subagent"] = subagent.into();
        team.says("ana", "command.ran", body);
    };
    for subagent in ["a1", "a2"] {
        for _ in 0..3 {
            says(&mut team, subagent, 101, "error: pool timed out");
        }
    }
    assert_eq!(team.mine(), ["loop cargo test"], "one subject");
    says(&mut team, "a1", 0, "ok");
    assert_eq!(team.mine(), ["progress"], "the first is out of it");
    says(&mut team, "a2", 101, "error: pool timed out");
    assert_eq!(team.mine(), ["loop cargo test"], "the second is not");
}

#[test]
fn a_failure_that_is_piped_into_a_search_is_a_loop_by_what_it_shows() {
    let mut team = Team::default();
    let mut body = ran("cargo test | grep FAILED", &["cargo test"], 0, "test a::b ... FAILED");
    body["error_signature"] = "test a::b ... FAILED".into();
    for _ in 0..2 {
        team.says("ana", "command.ran", body.clone());
    }
    team.says("ana", "command.ran", ran("cargo build", &["cargo build"], 0, "ok"));
    assert_eq!(team.mine(), [""; 0]);
    team.says("ana", "command.ran", body);
    assert_eq!(
        team.mine(),
        ["loop cargo test | grep FAILED"],
        "a failure, though something else ran between"
    );
}

/// A change and its way back: an edit, a failure, a checkout, a pass.
fn circle(team: &mut Team, content: &str) {
    let versions = json!({ "src/api.py": content.repeat(64) });
    team.says("ana", "file.edited", json!({ "paths": ["src/api.py"], "versions": versions }));
    team.runs("ana", "make check", 2, "error: x");
    team.runs("ana", "git checkout src/api.py", 0, "Updated 1 path");
    let merged =
        json!({ "paths": ["src/api.py"], "merged": "HEAD", "versions": { "src/api.py": "0".repeat(64) } });
    team.says("ana", "file.edited", merged);
    team.runs("ana", "make check", 0, "ok");
}

#[test]
fn an_edit_that_is_made_and_taken_back_again_and_again_is_a_loop() {
    let mut team = Team::default();
    circle(&mut team, "a");
    circle(&mut team, "a");
    assert_eq!(team.mine(), [""; 0], "two rounds");
    circle(&mut team, "a");
    assert_eq!(team.mine(), ["loop git checkout src/api.py\nmake check"]);
    circle(&mut team, "a");
    assert_eq!(team.mine(), [""; 0], "it goes on");
    let mut other = Team::default();
    for content in ["a", "b", "c", "d"] {
        circle(&mut other, content);
    }
    assert_eq!(other.mine(), [""; 0], "another edit each time");
}

/// Red before: only changes by the agent itself were changes, and the third failure after the edits of others was told.
#[test]
fn a_change_by_others_is_a_change() {
    let edited = |worktree: Option<&str>| json!({ "paths": ["src/net.rs"], "worktree": worktree });
    let fails = |files: Option<String>| {
        let mut body = ran("cargo test", &["cargo test"], 101, "error: timed out");
        body["files_sha256"] = files.into();
        body
    };
    for (what, expected) in
        [("an edit", 6), ("a command", 6), ("a file that was saved", 6), ("elsewhere", 3), ("nothing", 3)]
    {
        let mut team = Team::default();
        let mut told = None;
        for round in 1..=6 {
            let files = (what == "a file that was saved").then(|| format!("{round}"));
            team.says("ana", "command.ran", fails(files));
            match what {
                "an edit" => team.says("bo", "file.edited", edited(None)),
                "elsewhere" => team.says("bo", "file.edited", edited(Some("../other"))),
                "a command" => {
                    team.says("bo", "command.ran", ran("git pull", &["git pull"], 0, &format!("ok {round}")))
                }
                _ => &mut team,
            };
            if told.is_none() && !team.mine().is_empty() {
                told = Some(round);
            }
        }
        assert_eq!(told, Some(expected), "{what}");
    }
}

/// Red before: a round of a command and a failing test was told although the command brought other files each time.
#[test]
fn a_round_after_which_files_differ_is_no_round() {
    for (what, expected) in [("files", None), ("others", None), ("nothing", Some(3))] {
        let mut team = Team::default();
        let mut told = None;
        for round in 1..=4 {
            team.says("ana", "command.ran", ran("make generate", &["make generate"], 0, "ok"));
            let mut fails = ran("cargo test", &["cargo test"], 101, "error: timed out");
            if what == "files" {
                fails["files_sha256"] = format!("{round}").into();
            }
            team.says("ana", "command.ran", fails);
            if what == "others" {
                team.says("bo", "file.edited", json!({ "paths": ["src/net.rs"] }));
            }
            if told.is_none() && !team.mine().is_empty() {
                told = Some(round);
            }
        }
        assert_eq!(told, expected, "{what}");
    }
}
