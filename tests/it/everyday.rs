//! Ordinary days through the hooks: what is told, what is not, and whether it says what to do.

use serde_json::{Value, json};

use crate::harness::wait_until;
use crate::hook::{Session, claude, spool_is_empty};
use crate::shell::Shell;

fn started<'s>(shell: &'s Shell, id: &'static str) -> Session<'s> {
    let session = claude(shell, id, "devops");
    session.start();
    turn(&session, shell);
    session
}

/// Red before: a failed line that began with `hm` left no trace of its command nor of the file that it changed, and the first
/// argument behind `-` was taken for the script.
#[test]
fn a_line_keeps_its_command_and_the_files_that_it_changed() {
    let shell = Shell::new();
    let session = started(&shell, "s-1");
    let changes = |line: &str, file: &str, failure: Option<&str>| {
        let path = shell.workspace().root().join(file);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        std::fs::write(&path, "x = 1\n").expect("a file");
        runs_while(&session, &shell, line, failure, || std::fs::write(&path, "x = 2\n").expect("a file"));
        let files = shell.json("hm session show s-1 --json")["files"].clone();
        assert!(files.as_array().expect("a list").contains(&json!(file)), "{line}: {files}");
    };
    let failed = Some("AssertionError: the pool is 3");
    changes(
        "hm claim list && python3 - <<'EOF'\nopen('src/a.py', 'a')\nassert pool\nEOF",
        "src/a.py",
        failed,
    );
    changes("hm note 'it changed src/b.py", "src/b.py", failed);
    changes("python3 - src/c.py < gen.py", "src/c.py", None);
    changes("bash -s src/d.py < fix.sh", "src/d.py", None);
    changes("cat gen.py | python3 - src/e.py", "src/e.py", None);
    let log = shell.run("hm --json log --all");
    let log = String::from_utf8_lossy(&log.stdout);
    assert!(log.contains("assert pool") && !log.contains("it changed"), "{log}");
}

fn turn(session: &Session<'_>, shell: &Shell) {
    session.prompt("go on");
    spool_is_empty(shell);
}

/// The client runs a command. What the agent is told before and after it.
fn runs(session: &Session<'_>, shell: &Shell, line: &str, failure: Option<&str>) -> String {
    runs_while(session, shell, line, failure, || {})
}

/// Like [`runs`], and this happens meanwhile.
fn runs_while(
    session: &Session<'_>,
    shell: &Shell,
    line: &str,
    failure: Option<&str>,
    happens: impl FnOnce(),
) -> String {
    let before = session.about_to_run(line);
    spool_is_empty(shell);
    happens();
    let mut payload = json!({ "tool_name": "Bash", "tool_input": { "command": line } });
    let after = match failure {
        Some(error) => {
            payload["error"] = format!("Exit code 1\n{error}").into();
            session.told("PostToolUseFailure", payload)
        }
        None => {
            payload["tool_response"] = json!({ "stdout": "ok", "stderr": "", "interrupted": false });
            session.told("PostToolUse", payload)
        }
    };
    spool_is_empty(shell);
    before + &after
}

fn tool(session: &Session<'_>, shell: &Shell, name: &str, input: Value, more: Value) -> String {
    let mut payload = json!({ "tool_name": name, "tool_input": input, "tool_response": {} });
    payload.as_object_mut().expect("an object").extend(more.as_object().expect("fields").clone());
    let told = session.told("PostToolUse", payload);
    spool_is_empty(shell);
    told
}

fn accept(shell: &Shell, condition: &str) -> Value {
    shell.json(&format!("hm --json --agent architect guard accept {condition} --text \"ask the team first\""))
}

fn loops(shell: &Shell) -> Vec<Value> {
    let open = shell.json("hm --json pattern list");
    let open = open["patterns"].as_array().expect("patterns").iter();
    open.filter(|open| open["kind"] == "loop").cloned().collect()
}

fn outcomes(shell: &Shell, name: &str) -> Vec<String> {
    let shown = shell.json(&format!("hm --json guard show {name}"));
    let firings = shown["firings"].as_array().expect("firings").iter().rev();
    firings.map(|firing| firing["outcome"].as_str().unwrap_or("open").to_owned()).collect()
}

/// Red before: the first two were silent, and the readers were one loop named by a hash.
#[test]
fn searches_of_the_client_are_a_loop_of_one_actor_that_says_what_was_searched() {
    let shell = Shell::new();
    let session = started(&shell, "s-1");
    let read = json!({ "file_path": format!("{}/src/api.py", session.cwd()) });
    for subagent in ["a1", "a2", "a3", "a4"] {
        let answer = json!({ "agent_id": subagent, "tool_response": { "file": { "content": "x = 2" } } });
        tool(&session, &shell, "Read", read.clone(), answer);
    }
    shell.json("hm --json pattern list");
    assert_eq!(loops(&shell), Vec::<Value>::new(), "four readers");
    for _ in 0..3 {
        let answer =
            json!({ "tool_response": { "mode": "files_with_matches", "numFiles": 0, "filenames": [] } });
        tool(&session, &shell, "Grep", json!({ "pattern": "pool|redis", "path": "src" }), answer);
    }
    wait_until("the loop is found", || !loops(&shell).is_empty());
    assert_eq!(loops(&shell)[0]["repeats"]["commands"], json!(["Grep pool|redis src"]));
    let told = session.about_to_run("ls");
    assert!(told.contains("ran `Grep pool|redis src` 3 times") || told.is_empty(), "{told}");
}

/// Red before: 36 records of this circle were silent.
#[test]
fn an_edit_that_comes_back_after_each_checkout_is_a_loop() {
    let shell = Shell::new();
    let session = started(&shell, "s-1");
    let file = shell.workspace().root().join("api.py");
    let path = file.display().to_string();
    for _ in 0..3 {
        std::fs::write(&file, "x = 3\n").expect("a file");
        tool(
            &session,
            &shell,
            "Edit",
            json!({ "file_path": path, "old_string": "2", "new_string": "3" }),
            json!({}),
        );
        runs(&session, &shell, "make check", Some("make: *** [check] Error 2"));
        std::fs::write(&file, "x = 2\n").expect("a file");
        runs(&session, &shell, "git checkout .", None);
        runs(&session, &shell, "make check", None);
    }
    wait_until("the loop is found", || !loops(&shell).is_empty());
    let found = loops(&shell).remove(0);
    assert_eq!(
        found["repeats"]["commands"],
        json!(["edit api.py", "git checkout .", "make check"]),
        "{found}"
    );
    assert!(found["settle"][0].to_string().contains("--trigger-path api.py"), "{found}");
}

/// Red before: the command had no trigger, so that the dead end warned of nothing.
#[test]
fn the_dead_end_of_a_loop_has_its_trigger() {
    let shell = Shell::new();
    let session = started(&shell, "s-1");
    let line = "make pool NAME='a b'";
    let mut told = String::new();
    for _ in 0..3 {
        told += &runs(&session, &shell, line, Some("error: the pool has no worker"));
    }
    wait_until("the loop is found", || !loops(&shell).is_empty());
    told += &session.about_to_run("ls");
    let option = "--trigger-command 'make pool '\\''NAME=a b'\\'''";
    assert!(told.contains("--type negative") && told.contains(option), "{told}");
    let listed = String::from_utf8(shell.run("hm pattern list").stdout).expect("text");
    assert!(listed.contains("--trigger-command"), "{listed}");
}

/// Red before: one word matched only without arguments, and `why` said that nothing was near.
#[test]
fn one_word_is_a_command_with_any_arguments_unless_the_first_argument_is_the_command() {
    let shell = Shell::new();
    accept(&shell, "--command terraform");
    accept(&shell, "--command ./deploy.sh");
    let refused = accept(&shell, "--command git");
    assert!(refused["message"].to_string().contains("`git COMMAND`"), "{refused}");
    let refused = shell.json(
        "hm --json --agent analyst claim create \"docker hangs\" --type negative --scope tag:ops --trigger-command docker",
    );
    assert!(refused["message"].to_string().contains("`docker COMMAND`"), "{refused}");
    let session = started(&shell, "s-1");
    let why =
        String::from_utf8(shell.run("hm guard why --session s-1 -- terraform apply").stdout).expect("text");
    assert!(why.contains("- G1: it speaks"), "{why}");
    assert!(session.about_to_run("terraform apply -auto-approve").contains("guard G1"));
    spool_is_empty(&shell);
    assert!(session.about_to_run("./deploy.sh prod").contains("guard G2"));
}

/// Red before: a directory in a variable hid the command, and the refusal said that the guard warns.
#[test]
fn a_block_without_a_place_fires_wherever_a_variable_leads() {
    let shell = Shell::new();
    accept(&shell, "--action block --command \"terraform apply\"");
    accept(&shell, "--command \"terraform plan\"");
    shell.end_writer();
    shell.allow_block();
    let session = started(&shell, "s-1");
    for line in ["terraform apply", "cd \"$X\" && terraform apply -auto-approve"] {
        let payload = json!({ "tool_name": "Bash", "tool_input": { "command": line } });
        let answer = session.answer("PreToolUse", payload);
        let why = answer["hookSpecificOutput"]["permissionDecisionReason"].to_string();
        assert!(why.contains("blocked by guard G1") && why.contains("Ask the operator"), "{line}: {answer}");
    }
    assert_eq!(session.about_to_run("cd \"$X\" && terraform plan"), "", "only a block is sure");
}

/// Red before: the text had to be the whole line, and what it named in quotes or as a host was wiped.
#[test]
fn a_text_in_an_error_warns_of_it_and_of_no_other_module_or_host() {
    let shell = Shell::new();
    for (error, word) in [
        ("Cannot find module", "any"),
        ("Cannot find module './foo'", "foo"),
        ("connect ECONNREFUSED 127.0.0.1:5432", "db"),
    ] {
        let line = format!(
            "hm --json --agent analyst claim create \"{word} module or host is missing\" --type negative --scope tag:{word} --trigger-error \"{error}\""
        );
        assert_eq!(shell.json(&line)["state"], "committed");
    }
    let refused = accept(&shell, "--error failed");
    assert!(refused["message"].to_string().contains("give two words"), "{refused}");
    let session = started(&shell, "s-1");
    let told = runs(
        &session,
        &shell,
        "node a.js",
        Some("node:internal\nError: Cannot find module 'left-pad'\nat x"),
    );
    assert!(told.contains("any module") && !told.contains("foo module"), "{told}");
    turn(&session, &shell);
    let told =
        runs(&session, &shell, "node a.js", Some("node:internal\nError: Cannot find module './foo'\nat x"));
    assert!(told.contains("foo module"), "{told}");
    turn(&session, &shell);
    let told =
        runs(&session, &shell, "node b.js", Some("a\nError: connect ECONNREFUSED 10.0.0.7:6379\nat x"));
    assert!(!told.contains("db module"), "{told}");
    let told =
        runs(&session, &shell, "node b.js", Some("a\nError: connect ECONNREFUSED 127.0.0.1:5432\nat x"));
    assert!(told.contains("db module"), "{told}");
}

/// Red before: a guard was suggested on `test failed, to rerun pass {quoted}`, and on tests that passed between.
#[test]
fn a_day_of_red_and_green_suggests_no_guard() {
    let shell = Shell::new();
    let session = started(&shell, "s-1");
    for _ in 0..4 {
        runs(&session, &shell, "cargo test", Some("running\nerror: test failed, to rerun pass `--lib`"));
        runs(&session, &shell, "pytest", Some("a\nValueError: the cart has no owner"));
        runs(&session, &shell, "pytest", None);
    }
    let suggested =
        |shell: &Shell| shell.json("hm --json attention")["needs"].to_string().contains("suggestion");
    assert!(!suggested(&shell));
    for _ in 0..3 {
        runs(&session, &shell, "pytest", Some("a\nValueError: the cart has no owner"));
    }
    assert!(suggested(&shell));
}

/// Red before: a plain advice was proved wrong, and a deletion of the guarded file followed it.
#[test]
fn an_advice_that_is_passed_over_is_ignored() {
    let shell = Shell::new();
    accept(&shell, "--command \"cargo publish\"");
    accept(&shell, "--path src/api.py");
    accept(&shell, "--error \"pool timed out\"");
    let session = started(&shell, "s-1");
    runs(&session, &shell, "cargo publish", None);
    assert_eq!(outcomes(&shell, "G1"), ["ignored"]);
    for line in ["rm src/api.py", "sed -i s/a/b/ src/api.py", "git restore src/api.py"] {
        turn(&session, &shell);
        let told = runs(&session, &shell, line, None);
        assert!(told.contains("guard G2"), "{line}: {told}");
    }
    assert_eq!(outcomes(&shell, "G2"), ["ignored"; 3]);
    for _ in 0..2 {
        turn(&session, &shell);
        runs(&session, &shell, "make pool", Some("a\nerror: pool timed out after 3s"));
    }
    assert_eq!(outcomes(&shell, "G3"), ["ignored", "open"]);
}

/// Red before: with several names, each error began with the name as it was typed.
#[test]
fn an_error_about_a_secret_does_not_repeat_it() {
    let shell = Shell::new();
    let token = format!("ghp_{}", "x7Kd93LmQp2VbN4sTz8RfYw1CgHj6AeUo5Zi");
    assert!(shell.run("hm claim create \"the pool is slow\" --scope src --agent devops").status.success());
    for line in ["claim show", "claim still --agent devops", "task show", "--json claim show"] {
        let output = shell.run(&format!("hm {line} {token} C1"));
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("secret"), "{line}: {said}");
        assert!(!said.contains("ghp_x7"), "{line}: {said}");
    }
}

/// A target that is cut before it is masked holds half a token, which no rule knows.
#[test]
fn a_secret_that_stands_where_a_search_is_cut_is_in_no_record() {
    let shell = Shell::new();
    let session = started(&shell, "s-1");
    let token = format!("ghp_{}", "x7Kd93LmQp2VbN4sTz8RfYw1CgHj6AeUo5Zi");
    let pattern = format!("{} {token}", "pool ".repeat(44));
    tool(
        &session,
        &shell,
        "Grep",
        json!({ "pattern": pattern, "path": "src" }),
        json!({ "tool_response": { "mode": "files_with_matches", "numFiles": 0, "filenames": [] } }),
    );
    let log = shell.run("hm --json log --all");
    let log = String::from_utf8_lossy(&log.stdout);
    assert!(log.contains("pool pool"), "{log}");
    assert!(!log.contains("ghp_x7"), "{log}");
}
