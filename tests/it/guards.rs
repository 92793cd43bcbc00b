//! Guards through the real binary: they warn at the action, their firings get outcomes, and a silence has a reason.

use hivemind::hooks::{Call, Client, Moment, ToolCall};
use hivemind::mcp::{Era, Pane};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::hook::{Session, claude, spool_is_empty, within};
use crate::shell::Shell;

const ADVICE: &str = "ask the operator before a release";

fn accept(shell: &Shell, condition: &str) -> Value {
    let made =
        shell.json(&format!("hm --json --agent architect guard accept {condition} --text \"{ADVICE}\""));
    assert_eq!(made["state"], "committed", "{made}");
    made
}

pub(crate) fn prompt(session: &Session<'_>, shell: &Shell) {
    session.prompt("go on");
    spool_is_empty(shell);
}

/// The client runs a command, from the warning before it to the observation after it.
pub(crate) fn runs(
    session: &Session<'_>,
    shell: &Shell,
    line: &str,
    failure: Option<&str>,
) -> (String, String) {
    let before = session.about_to_run(line);
    spool_is_empty(shell);
    let after = ran(session, shell, line, failure);
    (before, after)
}

/// The client reports the end of a command.
pub(crate) fn ran(session: &Session<'_>, shell: &Shell, line: &str, failure: Option<&str>) -> String {
    let mut payload = json!({ "tool_name": "Bash", "tool_input": { "command": line } });
    let told = match failure {
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
    told
}

fn guard(shell: &Shell, name: &str) -> Value {
    shell.json(&format!("hm --json guard show {name}"))
}

pub(crate) fn outcomes(shell: &Shell, name: &str) -> Vec<String> {
    let shown = guard(shell, name);
    let firings = shown["firings"].as_array().expect("firings").iter().rev();
    firings.map(|firing| firing["outcome"].as_str().unwrap_or("open").to_owned()).collect()
}

fn attention(shell: &Shell, kind: &str) -> Vec<Value> {
    let all = shell.json("hm --json attention");
    all["needs"].as_array().expect("needs").iter().filter(|need| need["kind"] == kind).cloned().collect()
}

pub(crate) fn started<'s>(shell: &'s Shell, id: &'static str, agent: &'static str) -> Session<'s> {
    let session = claude(shell, id, agent);
    session.start();
    prompt(&session, shell);
    session
}

#[test]
fn a_guard_warns_once_a_turn_and_each_firing_gets_its_outcome() {
    let shell = Shell::new();
    let made = accept(&shell, "--command \"cargo publish\"");
    assert_eq!(made["name"], "G1", "{made}");
    let session = started(&shell, "s-1", "devops");
    let (before, _) = runs(&session, &shell, "cargo publish --dry-run", None);
    assert!(before.contains("guard G1 warns") && before.contains(ADVICE), "{before}");
    assert_eq!(session.about_to_run("cargo publish"), "", "once a turn");
    prompt(&session, &shell);
    assert!(runs(&session, &shell, "cargo publish", Some("error: no token")).0.contains(ADVICE));
    prompt(&session, &shell);
    assert!(session.about_to_run("cargo publish").contains(ADVICE));
    spool_is_empty(&shell);
    ran(&session, &shell, "cargo build", None);
    // A plain text claims nothing that a success proves wrong.
    assert_eq!(outcomes(&shell, "G1"), ["unclear", "proved_right", "open"]);
    prompt(&session, &shell);
    assert_eq!(outcomes(&shell, "G1"), ["unclear", "proved_right", "followed"]);
    assert!(session.about_to_run("cargo publish").contains(ADVICE));
    spool_is_empty(&shell);
    // The pipe hides the end of the command.
    ran(&session, &shell, "cargo publish | tail", None);
    assert_eq!(outcomes(&shell, "G1")[3], "ignored");
    let listed = shell.run("hm guard list");
    let listed = String::from_utf8(listed.stdout).expect("text");
    let flat = listed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("G1 warn") && flat.contains("fired 4, followed 1, ignored 1, wrong 0, right 1"),
        "{listed}"
    );
    let status = String::from_utf8(shell.run("hm status").stdout).expect("text");
    assert!(status.contains("4 fired") && status.contains("0 % false"), "{status}");
}

#[test]
fn an_edit_against_a_guard_is_ignored_and_a_dead_end_is_a_guard_too() {
    let shell = Shell::new();
    accept(&shell, "--path \"vendor/**\"");
    shell.json(
        "hm --json --agent analyst claim create \"vendoring breaks the build\" --type negative --scope tag:build \
         --trigger-command \"make vendor\"",
    );
    let session = started(&shell, "s-1", "devops");
    assert!(session.about_to_edit("vendor/a/b.rs").contains(ADVICE));
    spool_is_empty(&shell);
    let input = json!({ "file_path": format!("{}/vendor/a/b.rs", session.cwd()), "old_string": "a", "new_string": "b" });
    session.told("PostToolUse", json!({ "tool_name": "Edit", "tool_input": input, "tool_response": {} }));
    spool_is_empty(&shell);
    assert_eq!(outcomes(&shell, "G1"), ["ignored"]);
    runs(&session, &shell, "make vendor", Some("make: *** no rule"));
    assert_eq!(outcomes(&shell, "C1"), ["proved_right"]);
    let listed = shell.json("hm --json guard list");
    let names: Vec<&Value> = listed["guards"].as_array().expect("guards").iter().collect();
    assert_eq!(names.len(), 2, "one list: {listed}");
}

#[test]
fn all_fields_of_a_condition_must_be_met_and_two_guards_speak_in_a_turn() {
    let shell = Shell::new();
    accept(&shell, "--command \"cargo publish\" --includes \"--no-verify\"");
    accept(&shell, "--includes frobnicate --event command.ran");
    accept(&shell, "--command \"cargo doc\" --scope src/db");
    let session = started(&shell, "s-1", "devops");
    assert_eq!(session.about_to_run("cargo publish"), "", "the phrase is missing");
    assert_eq!(session.about_to_run("cargo doc src/web/a.md"), "", "another place");
    assert!(session.about_to_run("cargo publish --no-verify").contains("G1"));
    spool_is_empty(&shell);
    assert!(session.about_to_run("cargo doc src/db/a.md").contains("G3"));
    spool_is_empty(&shell);
    assert_eq!(session.about_to_run("frobnicate now"), "", "two guards spoke in this turn");
    let why = within(&shell, "s-1", "hm --json --agent devops guard why -- frobnicate now");
    assert_eq!(why["guards"][0]["why"], "2 guards spoke in this turn already", "{why}");
    prompt(&session, &shell);
    assert!(session.about_to_run("frobnicate now").contains("G2"));
    spool_is_empty(&shell);
}

#[test]
fn a_guard_of_a_pattern_speaks_while_such_a_pattern_is_open_in_the_session() {
    let shell = Shell::new();
    accept(&shell, "--pattern loop");
    accept(&shell, "--pattern stall --command \"cargo test\"");
    let other = started(&shell, "s-other", "analyst");
    let why = || {
        let why = within(&shell, "s-loop", "hm --json --agent devops guard why -- cargo test pool");
        let all = why["guards"].as_array().expect("guards").clone();
        let of = |at: usize| all[at]["why"].clone();
        // The newest comes first.
        (of(1), of(0))
    };
    let unmet = Value::from("its condition is not met: pattern_type");
    crate::patterns::a_loop(&shell);
    prompt(&claude(&shell, "s-loop", "devops"), &shell);
    assert_eq!(why(), ("it speaks".into(), unmet.clone()), "the other guard is for stalls");
    let session = claude(&shell, "s-loop", "devops");
    let told = session.about_to_run("cargo test pool");
    assert!(told.contains("guard G1 warns") && told.contains(ADVICE) && !told.contains("G2"), "{told}");
    spool_is_empty(&shell);
    assert_eq!(other.about_to_run("cargo test pool"), "", "a loop is its session's");
    // A write of the session meets it too, in the next turn.
    prompt(&session, &shell);
    let line = "hm --json --agent devops decision record \"retry it once\" --scope src/db --rationale \"it may pass\"";
    let written = within(&shell, "s-loop", line);
    let warned = written["warnings"].to_string();
    assert!(warned.contains(ADVICE), "{written}");
    shell.json("hm --json --agent devops pattern dismiss L1 --reason \"the test is meant to fail\"");
    prompt(&session, &shell);
    assert_eq!(why(), (unmet.clone(), unmet), "the loop is over");
    assert!(!session.about_to_run("cargo test pool").contains("G1"));
    let refused =
        shell.json(&format!("hm --json --agent architect guard accept --pattern lop --text \"{ADVICE}\""));
    assert_eq!(refused["code"], "invalid_argument", "{refused}");
}

#[test]
fn a_muted_guard_is_silent_and_why_says_so() {
    let shell = Shell::new();
    accept(&shell, "--command \"cargo publish\"");
    accept(&shell, "--command \"cargo doc\"");
    shell.json(
        "hm --json --agent devops claim create \"the pool deadlocks\" --type negative --scope src/db \
         --trigger-command \"cargo bench\"",
    );
    for (agent, code) in [("architect", "not_allowed"), ("devops", "not_allowed")] {
        let refused = shell.json(&format!("hm --json --agent {agent} guard mute G1"));
        assert_eq!(refused["code"], code, "{refused}");
    }
    assert!(shell.run("hm guard mute G1 --agent operator").status.success());
    assert!(shell.run("hm guard mute G2 --scope src/db --until 2h --agent operator").status.success());
    let session = started(&shell, "s-1", "devops");
    assert_eq!(session.about_to_run("cargo publish"), "");
    assert_eq!(session.about_to_run("cargo doc src/db/a.md"), "", "muted there");
    assert!(session.about_to_run("cargo doc src/web/a.md").contains("G2"), "and nowhere else");
    spool_is_empty(&shell);
    let why = |line: &str| {
        let why = within(&shell, "s-1", &format!("hm --json --agent devops guard why {line}"));
        why["guards"][0]["why"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(why("-- cargo publish"), "it is muted here");
    assert_eq!(why("-- cargo doc src/web/a.md"), "it spoke in this turn already");
    assert_eq!(why("-- cargo bench"), "it is your own");
    ran(&session, &shell, "cargo publish", None);
    assert_eq!(why(""), "it is muted here", "the last action");
    let claim = shell.json("hm --json claim show C1")["id"].as_str().expect("an id").to_owned();
    shell.json(&format!("hm --json --agent devops claim deprecate {claim} --reason \"it was mended\""));
    assert_eq!(why("-- cargo bench"), "it is deprecated");
}

#[test]
fn a_guard_is_accepted_by_the_architect_with_a_condition_that_is_known() {
    let shell = Shell::new();
    let refusal = |line: &str| shell.json(line)["code"].as_str().unwrap_or_default().to_owned();
    assert_eq!(refusal("hm --json --agent devops guard accept --command x --text y"), "not_allowed");
    assert_eq!(refusal("hm --json --agent architect guard accept --text y"), "invalid_argument");
    assert_eq!(refusal("hm --json --agent architect guard accept --scope . --text y"), "invalid_argument");
    assert_eq!(refusal("hm --json --agent architect guard show G7"), "unknown_guard");
    let condition = json!({ "commands": ["x"], "comands": ["y"] });
    let unknown = serde_json::from_value::<hivemind::domain::guard::Condition>(condition);
    assert!(unknown.is_err_and(|error| error.to_string().contains("comands")));
}

#[test]
fn a_session_that_ignores_a_guard_three_times_escalates_it_once() {
    let shell = Shell::new();
    accept(&shell, "--command \"cargo publish\"");
    let session = started(&shell, "s-1", "devops");
    for turn in 0..3 {
        assert!(attention(&shell, "guard").is_empty(), "turn {turn}");
        runs(&session, &shell, "cargo publish", Some("error: no token"));
        prompt(&session, &shell);
    }
    let asked = attention(&shell, "guard");
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(asked[0]["moves"]["architect"].is_array(), "{asked:?}");
    assert!(shell.run("hm attention --seen G1 --agent architect").status.success());
    runs(&session, &shell, "cargo publish", Some("error: no token"));
    assert!(attention(&shell, "guard").is_empty(), "once");
}

#[test]
fn a_guard_that_is_wrong_three_times_in_a_row_proposes_a_challenge() {
    let shell = Shell::new();
    shell.json(
        "hm --json --agent analyst claim create \"vendoring breaks the build\" --type negative --scope tag:build \
         --trigger-command \"make vendor\"",
    );
    let session = started(&shell, "s-1", "devops");
    for turn in 0..3 {
        assert!(attention(&shell, "guard").is_empty(), "turn {turn}");
        runs(&session, &shell, "make vendor", None);
        prompt(&session, &shell);
    }
    let asked = attention(&shell, "guard");
    let moves = asked[0]["moves"]["architect"].to_string();
    assert!(moves.contains("hm claim challenge") || moves.contains("challenge"), "{asked:?}");
}

#[test]
fn a_refusal_holds_only_where_the_configuration_allows_it() {
    let shell = Shell::new();
    accept(&shell, "--action block --command \"cargo publish\"");
    let session = started(&shell, "s-1", "devops");
    assert!(session.about_to_run("cargo publish").contains(ADVICE), "it only warns");
    spool_is_empty(&shell);
    shell.end_writer();
    // Red before: the file, which may come with an archive, was enough.
    std::fs::write(shell.workspace().config(), "[guards]\nallow_block = true\n").expect("a configuration");
    prompt(&session, &shell);
    assert!(session.about_to_run("cargo publish").contains(ADVICE), "it still only warns");
    spool_is_empty(&shell);
    for line in ["hm attention", "hm status", "hm doctor"] {
        let told = String::from_utf8(shell.run(line).stdout).expect("UTF-8");
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains("allow_block = true") && told.contains("hm trust --rules"), "{line}: {told}");
    }
    assert!(!shell.run("hm trust --rules").status.success(), "a pane allows nothing");
    shell.allow_rules();
    let told = String::from_utf8(shell.run("hm doctor").stdout).expect("UTF-8");
    assert!(!told.contains("hm trust --rules"), "{told}");
    let payload = json!({ "tool_name": "Bash", "tool_input": { "command": "cargo publish" } });
    for attempt in 0..2 {
        let answer = session.answer("PreToolUse", payload.clone());
        let output = &answer["hookSpecificOutput"];
        assert_eq!(output["permissionDecision"], "deny", "attempt {attempt}: {answer}");
        assert!(output["permissionDecisionReason"].to_string().contains(ADVICE), "{answer}");
    }
    assert_eq!(
        session.answer("PreToolUse", json!({ "tool_name": "Bash", "tool_input": { "command": "make" } })),
        Value::Null
    );
}

/// Red before: where the record of a firing was refused, the answer was lost with it.
#[test]
fn a_hook_answers_though_the_memory_takes_no_record_of_it() {
    let shell = Shell::new();
    accept(&shell, "--action block --command \"cargo publish\"");
    accept(&shell, "--command \"cargo bench\"");
    accept(&shell, "--error \"error: the certificate has expired\"");
    let session = started(&shell, "s-1", "devops");
    shell.end_writer();
    let config = "[guards]\nallow_block = true\n[policy]\nwrite_policy = \"none\"\n";
    std::fs::write(shell.workspace().config(), config).expect("a configuration");
    shell.allow_rules();
    // A writer runs, so that no record waits for one.
    let refused = shell.json("hm --json --agent devops claim create \"the disk is slow\" --scope src");
    assert_eq!(refused["code"], "write_policy_none", "{refused}");
    let payload = json!({ "tool_name": "Bash", "tool_input": { "command": "cargo publish" } });
    for attempt in 0..2 {
        let answer = session.answer("PreToolUse", payload.clone());
        assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny", "attempt {attempt}: {answer}");
    }
    assert!(session.about_to_run("cargo bench").contains("G2"));
    let failed = json!({
        "tool_name": "Bash", "tool_input": { "command": "make" },
        "error": "Exit code 1\nerror: the certificate has expired"
    });
    assert!(session.told("PostToolUseFailure", failed).contains("G3"));
}

#[test]
fn a_command_is_refused_in_the_words_of_each_client() {
    let shell = Shell::new();
    accept(&shell, "--action block --event command.ran");
    shell.allow_block();
    let cwd = shell.workspace().root().to_string_lossy().into_owned();
    let mut refused = std::collections::BTreeSet::new();
    for (client, name, payload) in crate::hooks::fixtures() {
        let call = Call::parse(client, false, &payload);
        let Moment::BeforeTool(ToolCall { command: Some(_), .. }) = &call.moment else { continue };
        let payload = payload.replace(call.cwd.as_deref().expect("a directory"), &cwd);
        let output = crate::hook::run(&shell, &cwd, client.as_str(), "devops", payload.as_bytes());
        let answer: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{name}: {error}: {output:?}"));
        let said = answer.to_string();
        let why = said.split('"').find(|text| text.contains(ADVICE)).expect("the advice of the guard");
        assert_eq!(answer, crate::hooks::refusal_of(call.client, &call.event, why), "{name}");
        refused.insert(call.client.as_str());
    }
    assert_eq!(refused.len(), Client::ALL.len(), "{refused:?}");
}

/// Red before: one place in the scope of a silence silenced the whole action.
#[test]
fn a_silence_at_a_place_leaves_the_other_places_of_an_action() {
    let shell = Shell::new();
    shell.allow_block();
    accept(&shell, "--action block --path \"**/*.rs\" --path \"**/*.md\"");
    accept(&shell, "--action block --command \"terraform apply\"");
    let session = started(&shell, "s-1", "devops");
    for name in ["G1", "G2"] {
        assert!(shell.run(&format!("hm guard mute {name} --scope docs --agent operator")).status.success());
    }
    for (line, is_denied) in [
        ("sed -i s/a/b/ docs/x.md", false),
        ("sed -i s/a/b/ src/x.rs", true),
        ("sed -i s/a/b/ src/x.rs docs/x.md", true),
        ("cat docs/x.md; sed -i s/a/b/ src/x.rs", true),
        ("terraform apply docs/main.tf", false),
        ("terraform apply infra/main.tf", true),
        ("terraform apply infra/main.tf > docs/log.txt", true),
    ] {
        let payload = json!({ "tool_name": "Bash", "tool_input": { "command": line } });
        let answer = session.answer("PreToolUse", payload);
        let is_deny = answer["hookSpecificOutput"]["permissionDecision"] == "deny";
        assert_eq!(is_deny, is_denied, "{line}: {answer}");
    }
}

#[test]
fn a_write_that_meets_a_guard_is_warned_in_its_receipt() {
    let shell = Shell::new();
    accept(&shell, "--scope src/db --event claim.created");
    accept(&shell, "--claim-type decision");
    let session = started(&shell, "s-1", "devops");
    let create =
        "hm --json --agent devops claim create \"the pool holds 20 connections\" --scope src/db/pool.rs";
    let receipt = within(&shell, "s-1", create);
    let told: Vec<&Value> =
        receipt["warnings"].as_array().expect("warnings").iter().filter(|it| it["code"] == "guard").collect();
    assert_eq!(told.len(), 1, "{receipt}");
    assert!(told[0]["message"].to_string().contains(ADVICE), "{receipt}");
    let again = within(&shell, "s-1", &create.replace("20", "twenty-one"));
    assert!(!again.to_string().contains(ADVICE), "once a turn: {again}");
    let decide = "hm --json --agent devops decision record \"we use sqlite\" --rationale \"it is one file\" --target db";
    assert!(within(&shell, "s-1", decide).to_string().contains(ADVICE));
    prompt(&session, &shell);
    assert_eq!(outcomes(&shell, "G1"), ["ignored"], "the claim stands at the end of the turn");
}

const ERROR: &str = "error[E0433]: failed to resolve: use of undeclared crate `foo`";

#[test]
fn after_a_failure_the_session_is_told_what_mended_the_same_error() {
    let shell = Shell::new();
    let (one, other) = (started(&shell, "s-1", "devops"), started(&shell, "s-2", "analyst"));
    ran(&one, &shell, "cargo test --test pool", Some(ERROR));
    assert!(!ran(&one, &shell, "cargo test --test pool", Some(ERROR)).contains("same error"), "no fix yet");
    ran(&one, &shell, "cargo test --test pool", None);
    let told = ran(&other, &shell, "cargo test --test pool", Some(ERROR));
    assert!(told.contains("cargo test --test pool") && told.contains("succeeded"), "{told}");
    assert!(told.chars().count() <= 600, "{told}");
    assert!(
        !ran(&other, &shell, "cargo test --test pool", Some(ERROR)).contains("succeeded"),
        "once a session"
    );
    assert!(!ran(&one, &shell, "cargo test --test pool", Some(ERROR)).contains("succeeded"), "its own fix");
}

/// Red before: any error with the same masked text was the same one, and the command that mended it was left out.
#[test]
fn a_mend_is_told_of_the_same_error_only_and_with_the_command_that_mended_it() {
    let shell = Shell::new();
    let (one, other) = (started(&shell, "s-1", "devops"), started(&shell, "s-2", "analyst"));
    let test = |name: &str, what: &str| {
        format!(
            "E       AssertionError: assert {what}\n\ntests/test_{name}.py:3: AssertionError\n\
             FAILED tests/test_{name}.py::test_{name} - AssertionError: assert {what}"
        )
    };
    for (line, error) in [
        ("pytest -q", test("pool", "2 == 1")),
        (
            "npx tsc --noEmit",
            "src/a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.".to_owned(),
        ),
        ("pytest tests", "E   KeyError: 'user'".to_owned()),
    ] {
        ran(&one, &shell, line, Some(&error));
        ran(&one, &shell, line, None);
    }
    for (line, error) in [
        ("pytest -q", test("auth", "401 == 200")),
        (
            "npx tsc --noEmit",
            "src/z.ts(9,1): error TS2322: Type 'Foo' is not assignable to type 'Bar'.".to_owned(),
        ),
        ("pytest tests", "E   KeyError: 'price'".to_owned()),
    ] {
        let told = ran(&other, &shell, line, Some(&error));
        assert!(!told.contains("succeeded"), "{told}");
    }
    assert!(
        ran(&other, &shell, "pytest -q", Some(&test("pool", "7 == 1"))).contains("succeeded"),
        "the same test"
    );

    let missing = "Error: Cannot find module 'left-pad'";
    ran(&one, &shell, "npm test", Some(missing));
    for line in ["npm ci", "ls node_modules", "npm test"] {
        ran(&one, &shell, line, None);
    }
    let told = ran(&other, &shell, "npm test", Some(missing));
    assert!(told.contains("then `npm test` succeeded after `npm ci` ("), "{told}");
}

/// Red before: an agent that ignored the advice had followed it, and one that did what it said had ignored it.
#[test]
fn advice_about_an_error_is_followed_by_what_it_names_and_by_nothing_else() {
    let shell = Shell::new();
    let line = "hm guard accept --agent architect --error \"connection refused\" --text \"start postgres: docker compose up -d db\"";
    assert!(shell.run(line).status.success());
    let refused = "E  psycopg2.OperationalError: connection refused";
    let (one, other) = (started(&shell, "s-1", "devops"), started(&shell, "s-2", "analyst"));
    assert!(ran(&one, &shell, "pytest", Some(refused)).contains("start postgres"));
    ran(&one, &shell, "ls", None);
    prompt(&one, &shell);
    one.told("SessionEnd", json!({ "reason": "exit" }));
    spool_is_empty(&shell);
    assert_eq!(outcomes(&shell, "G1"), ["open"], "nothing shows whether it was followed");
    for turn in 0..2 {
        assert!(ran(&other, &shell, "pytest", Some(refused)).contains("start postgres"), "{turn}");
        ran(&other, &shell, "docker compose up -d db", None);
        ran(&other, &shell, "pytest", None);
        prompt(&other, &shell);
    }
    assert_eq!(outcomes(&shell, "G1"), ["open", "followed", "followed"]);
    ran(&other, &shell, "pytest", Some(refused));
    ran(&other, &shell, "pytest", Some(refused));
    assert_eq!(outcomes(&shell, "G1"), ["open", "followed", "followed", "ignored"]);
    ran(&other, &shell, "pytest", None);
    assert_eq!(outcomes(&shell, "G1").len(), 4);
}

/// Codex reports no exit code. Red before: its model was told nothing.
#[test]
fn what_is_known_of_an_error_is_told_where_the_client_reports_no_exit_code() {
    let shell = Shell::new();
    let made = shell.run(
        "hm claim create \"the certificate is renewed by hand\" --type negative --scope tag:release \
         --trigger-error \"error: the certificate has expired\" --agent analyst",
    );
    assert!(made.status.success(), "{made:?}");
    let session = Session { shell: &shell, client: "codex", id: "s-1", agent: "devops" };
    session.start();
    prompt(&session, &shell);
    let behind = |line: &str| {
        let ran = json!({
            "tool_name": "Bash", "tool_input": { "command": line },
            "tool_response": "error: the certificate has expired\n"
        });
        session.told("PostToolUse", ran)
    };
    assert!(!behind("cat release.log").contains("renewed by hand"), "a file is shown");
    assert!(behind("./release.sh").contains("renewed by hand"));
    spool_is_empty(&shell);
    let ran = shell.json("hm --json log --type command.ran");
    let ran = ran["events"].as_array().expect("events");
    assert!(
        ran.iter().all(|ran| ran["payload"].get("error_signature").is_none()),
        "nothing says that it failed: {ran:?}"
    );
}

/// Red before: the end that Codex does not report counted as a success.
#[test]
fn a_command_whose_end_the_client_does_not_report_proves_nothing_and_mends_nothing() {
    let shell = Shell::new();
    accept(&shell, "--command \"cargo build\"");
    let codex = Session { shell: &shell, client: "codex", id: "x-1", agent: "devops" };
    codex.start();
    prompt(&codex, &shell);
    let ends = |line: &str| {
        let output = format!("   Compiling shop\n{ERROR}\n");
        let ran = json!({ "tool_name": "Bash", "tool_input": { "command": line }, "tool_response": output });
        codex.told("PostToolUse", ran);
        spool_is_empty(&shell);
    };
    assert!(codex.about_to_run("cargo build").contains(ADVICE));
    spool_is_empty(&shell);
    ends("cargo build");
    assert_eq!(outcomes(&shell, "G1"), ["ignored"]);

    let (one, other) = (started(&shell, "s-1", "frontend"), started(&shell, "s-2", "reviewer"));
    ran(&one, &shell, "cargo test --test pool", Some(ERROR));
    ends("cargo test --test pool");
    let told = ran(&other, &shell, "cargo test --test pool", Some(ERROR));
    assert!(!told.contains("succeeded"), "{told}");

    ends("pytest tests/pool.py");
    let create = "hm --json --agent devops claim create \"the pool is safe to share\" --scope tests/pool.py \
                  --evidence last";
    let made = within(&shell, "x-1", create);
    assert_eq!(made["cited"][0]["grade"], "asserted", "{made}");
    assert!(made["cited"][0]["why"].to_string().contains("the client reports no exit code"), "{made}");
    let shown = String::from_utf8(shell.run("hm claim why C1").stdout).expect("UTF-8");
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("`pytest tests/pool.py` no exit code"), "{shown}");
}

/// Red before: a global option before the subcommand passed every guard.
#[test]
fn a_guard_on_a_subcommand_speaks_after_global_options_too() {
    let shell = Shell::new();
    accept(&shell, "--command \"git push\"");
    accept(&shell, "--command \"kubectl delete\"");
    let session = started(&shell, "s-1", "devops");
    for line in [
        "git -C . push --force",
        "git --no-pager push",
        "git -c push.default=current push",
        "kubectl -n prod delete pod x",
        "kubectl --context prod delete pod x",
    ] {
        assert!(session.about_to_run(line).contains(ADVICE), "{line}");
        spool_is_empty(&shell);
        prompt(&session, &shell);
    }
    assert!(!session.about_to_run("git -C push status").contains(ADVICE));
}

#[test]
fn an_error_that_repeats_and_a_decision_that_failed_suggest_a_guard() {
    let shell = Shell::new();
    let session = started(&shell, "s-1", "devops");
    for _ in 0..2 {
        ran(&session, &shell, "cargo test --test pool", Some(ERROR));
    }
    assert!(attention(&shell, "suggestion").is_empty());
    ran(&session, &shell, "cargo test --test pool", Some(ERROR));
    let suggested = attention(&shell, "suggestion");
    assert_eq!(suggested.len(), 1, "{suggested:?}");
    assert!(
        suggested[0]["moves"]["architect"][0].to_string().contains("hm guard accept --error"),
        "{suggested:?}"
    );
    let made = shell.json(
        "hm --json --agent architect decision record \"we vendor openssl\" --rationale \"it builds anywhere\" --scope vendor",
    );
    let id = made["entity_id"].as_str().expect("an id");
    assert!(shell.run(&format!("hm --agent architect decision outcome {id} failure")).status.success());
    let suggested = attention(&shell, "suggestion");
    assert!(suggested.iter().any(|it| it["moves"].to_string().contains("--path vendor")), "{suggested:?}");
}

/// Red before: an `ls` suggested a guard, a declined suggestion came back with the next failure, and one was made beside a
/// guard in force.
#[test]
fn a_guard_is_suggested_for_what_does_something_until_it_is_declined_or_in_force() {
    let shell = Shell::new();
    let session = started(&shell, "s-1", "devops");
    for dir in ["lib", "packages", "docs", "src"] {
        ran(
            &session,
            &shell,
            &format!("ls {dir}"),
            Some(&format!("ls: cannot access '{dir}': No such file or directory")),
        );
    }
    assert!(attention(&shell, "suggestion").is_empty(), "a look");

    let failed = "make: *** [Makefile:3: wheel] deadlock in the linker";
    for _ in 0..3 {
        ran(&session, &shell, "make wheel", Some(failed));
    }
    let suggested = attention(&shell, "suggestion");
    assert!(
        suggested[0]["moves"].to_string().contains("find its cause before the next run"),
        "{suggested:?}"
    );
    let id = suggested[0]["ids"][0].as_str().expect("an id");
    let declined = shell.run(&format!("hm attention --seen {id} --reason \"we know\" --agent architect"));
    assert!(declined.status.success(), "{declined:?}");
    for (line, failure) in [("make wheel", Some(failed)), ("make wheel", None), ("make wheel", Some(failed))]
    {
        ran(&session, &shell, line, failure);
        assert!(attention(&shell, "suggestion").is_empty(), "it stays declined: {failure:?}");
    }
    for _ in 0..3 {
        ran(&session, &shell, "make wheel", Some(failed));
    }
    assert!(attention(&shell, "suggestion").is_empty(), "it stays declined after a pass");

    accept(&shell, "--error \"connection refused\"");
    for _ in 0..4 {
        ran(&session, &shell, "pytest", Some("E  psycopg2.OperationalError: connection refused"));
    }
    assert!(attention(&shell, "suggestion").is_empty(), "a guard is in force for it");
}

/// Red before: a length in seconds had passed.
#[test]
fn the_end_of_a_guard_is_a_length_from_now_in_seconds_too() {
    let shell = Shell::new();
    accept(&shell, "--command lsx --until 90s");
    let muted = shell.run("hm guard mute G1 --until 90s --agent operator");
    assert!(muted.status.success(), "{muted:?}");
    let until = guard(&shell, "G1")["until"].as_i64().expect("an end");
    let left = until - hivemind::system::now().ms();
    assert!((30_000..=90_000).contains(&left), "{left}");
}

/// Red before: an outcome went by the command of the condition alone, so that obeying a guard proved it wrong.
#[test]
fn an_outcome_is_that_of_the_run_which_met_the_whole_condition() {
    let shell = Shell::new();
    accept(&shell, "--command \"cargo test\" --includes \"--release\"");
    accept(&shell, "--command \"cargo doc\" --scope src/db");
    let session = started(&shell, "s-1", "devops");
    for (line, obeys, same) in [
        ("cargo test; cargo test --Release; cargo test -q", "cargo test", "cargo test --Release --lib"),
        (
            "cargo doc src/db/a.md && cargo doc src/web/a.md",
            "cargo doc src/web/a.md",
            "cargo doc src/db/a.md",
        ),
    ] {
        let name = if line.starts_with("cargo test") { "G1" } else { "G2" };
        for ran_then in [obeys, same] {
            assert!(session.about_to_run(line).contains(ADVICE), "{line}");
            spool_is_empty(&shell);
            ran(&session, &shell, ran_then, None);
            prompt(&session, &shell);
        }
        assert_eq!(outcomes(&shell, name), ["followed", "ignored"], "{line}");
    }
}

#[tokio::test]
async fn a_guard_that_blocks_makes_a_contested_claim_wait_for_the_run() {
    let bench = Bench::new();
    let passes = "description = \"a test\"\nargv = [\"true\"]\nscopes = [\"src/**\"]\ntimeout_ms = 20000\n[expect]\nexit = 0\n";
    bench.profile("passes", passes);
    let offered = Pane::offered(bench.binary(), bench.root(), Some("architect"), Era::Modern, "core,guard");
    let architect = offered.await.expect("a pane");
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let misspelt = json!({ "condition": { "comands": ["x"] }, "action": "warn", "text": ADVICE });
    let refused = architect.call("accept_guard", misspelt).await.expect("an answer");
    assert!(refused.refused && refused.text.contains("comands"), "{}", refused.text);
    let condition = json!({ "event_types": ["experiment.queued"], "status": "contested" });
    let given = json!({ "condition": condition, "action": "block", "text": ADVICE });
    bench.accepted(&architect, "accept_guard", given).await;
    let id = bench.claim(&owner, "the pool gives connections back", "src/pool").await;
    let run = json!({ "profile": "passes", "claim_id": id, "wait": true });
    let beside = owner.call("run_experiment", run.clone()).await.expect("an answer");
    assert!(!beside.text.contains(ADVICE), "the claim is not contested: {}", beside.text);
    bench.accepted(&architect, "challenge", json!({ "claim_id": id, "reason": "I saw otherwise" })).await;
    let answer = owner.call("run_experiment", run).await.expect("an answer");
    assert!(answer.text.contains("the claim waits for this run"), "{}", answer.text);
    let claim = owner.read(&format!("hivemind://claims/{id}?format=json")).await.expect("an answer");
    let claim: Value = serde_json::from_str(&claim).expect("JSON");
    assert_eq!(claim["status"], "confirmed", "{claim}");
    assert_eq!(claim["history"][2]["to"], "pending_proof", "{claim}");
    let listed = owner.read("hivemind://guards").await.expect("an answer");
    assert!(listed.contains("G1 block") && listed.contains(ADVICE), "{listed}");
    let one = owner.read("hivemind://guards/G1").await.expect("an answer");
    assert!(one.contains("experiment.queued"), "{one}");
}

/// A profile that settles claims about files there.
fn settles(scopes: &str, program: &str) -> String {
    format!(
        "description = \"a test\"\nargv = [\"{program}\"]\nscopes = [\"{scopes}\"]\ntimeout_ms = 20000\n[expect]\nexit = 0\n"
    )
}

/// A guard that blocks a challenge below a directory, by the run of a profile or without one.
async fn blocks(bench: &Bench, architect: &Pane, below: &str, profile: Option<&str>) {
    let condition = json!({ "event_types": ["position.taken"], "scope": below });
    let mut given = json!({ "condition": condition, "action": "block", "text": ADVICE });
    given["profile"] = profile.map_or(Value::Null, Value::from);
    bench.accepted(architect, "accept_guard", given).await;
}

/// Challenges a claim, and returns what the receipt says.
async fn challenged(challenger: &Pane, id: &str) -> String {
    let reason = json!({ "claim_id": id, "reason": "I saw otherwise" });
    let answer = challenger.call("challenge", reason).await.expect("an answer");
    assert!(!answer.refused, "{}", answer.text);
    answer.text
}

async fn status(pane: &Pane, id: &str) -> String {
    let claim = pane.read(&format!("hivemind://claims/{id}?format=json")).await.expect("an answer");
    let claim: Value = serde_json::from_str(&claim).expect("JSON");
    claim["status"].as_str().unwrap_or_default().to_owned()
}

/// Waits until no run is to decide about a claim.
async fn decided(pane: &Pane, id: &str) -> String {
    for _ in 0..600 {
        let status = status(pane, id).await;
        if status != "pending_proof" {
            return status;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("the run never ended");
}

#[tokio::test]
async fn a_challenge_that_meets_a_guard_that_blocks_queues_the_run_of_its_profile_in_one_batch() {
    let bench = Bench::new();
    bench.allow_block();
    bench.profile("passes", &settles("src/**", "true"));
    bench.profile("fails", &settles("lib/**", "false"));
    let [architect, owner, challenger] = bench.panes(["architect", "devops", "analyst"]).await;
    blocks(&bench, &architect, "src", Some("passes")).await;
    blocks(&bench, &architect, "lib", Some("fails")).await;
    blocks(&bench, &architect, "doc", Some("passes")).await;

    let held = bench.claim(&owner, "the pool gives connections back", "src/pool").await;
    let told = challenged(&challenger, &held).await;
    assert!(told.contains("the claim waits for run R1"), "{told}");
    assert!(
        told.contains("passing supports and confirms") && told.contains("hivemind://experiments/R1"),
        "{told}"
    );
    assert!(!told.contains("or settle it by a run"), "the run is queued: {told}");
    assert_eq!(decided(&owner, &held).await, "confirmed");

    let refuted = bench.claim(&owner, "the cache never grows", "lib/cache").await;
    assert!(challenged(&challenger, &refuted).await.contains("the claim waits for run R2"));
    assert_eq!(decided(&owner, &refuted).await, "contested", "the run failed");
    // The guard spoke in this turn already.
    bench.accepted(&challenger, "abstain", json!({ "claim_id": refuted })).await;
    let again = challenged(&challenger, &refuted).await;
    assert!(!again.contains("waits for run"), "{again}");
    assert_eq!(status(&owner, &refuted).await, "contested");

    let beside = bench.claim(&owner, "the guide names every flag", "doc/guide").await;
    let told = challenged(&architect, &beside).await;
    assert!(told.contains("the claim stays contested: profile `passes` is about src/**"), "{told}");
    assert_eq!(status(&owner, &beside).await, "contested");

    let events = bench.events();
    let queued = events.iter().find(|event| event.kind == "experiment.queued").expect("a run");
    let batch: Vec<&str> = events
        .iter()
        .filter(|event| event.causation == queued.causation)
        .map(|event| event.kind.as_str())
        .collect();
    assert_eq!(
        batch.iter().filter(|kind| **kind == "claim.status_changed").count(),
        2,
        "contested, then waiting: {batch:?}"
    );
    assert_eq!(batch[0], "position.taken", "{batch:?}");
    assert!(batch.contains(&"guard.fired"), "{batch:?}");
    let (payload, _) = queued.payload.as_ref().expect("nothing was erased");
    assert!(payload.contains(&format!(":{held}:")) && payload.contains("\"guard-block:"), "{payload}");
    bench.kill_writer();
    bench.assert_sound();
}

#[test]
fn a_guard_asks_for_one_run_about_a_claim_in_a_session() {
    let shell = Shell::new();
    shell.allow_block();
    accept(&shell, "--action block --event position.taken --scope src --profile cargo-test");
    let session = started(&shell, "s-1", "analyst");
    std::fs::create_dir(shell.workspace().root().join("src")).expect("a directory");
    std::fs::write(shell.workspace().root().join("src/pool.rs"), "").expect("a file");
    shell.json("hm --json --agent devops claim create \"the pool is safe to share\" --scope src/pool.rs");
    let challenge = "hm --json --agent analyst claim challenge C1 --reason \"I saw otherwise\"";
    let told = within(&shell, "s-1", challenge).to_string();
    assert!(told.contains("the claim waits for run"), "{told}");
    // There is nothing to test here, so the run has no outcome.
    let is_contested = || shell.json("hm --json claim show C1")["status"] == "contested";
    crate::harness::wait_until("the run is over", is_contested);
    prompt(&session, &shell);
    within(&shell, "s-1", "hm --json --agent analyst claim abstain C1");
    let told = within(&shell, "s-1", challenge).to_string();
    assert!(told.contains("of this guard was about it in this session already"), "{told}");
    assert!(is_contested());
}

/// Red before: the answer said that a run which passes confirms the claim.
#[test]
fn the_run_of_a_guard_confirms_nothing_under_human_only() {
    let shell = Shell::new();
    shell.allow_block();
    accept(&shell, "--action block --event position.taken --scope src --profile cargo-test");
    started(&shell, "s-1", "analyst");
    std::fs::create_dir(shell.workspace().root().join("src")).expect("a directory");
    std::fs::write(shell.workspace().root().join("src/pool.rs"), "").expect("a file");
    shell.json("hm --json --agent devops claim create \"the pool is safe to share\" --scope src/pool.rs");
    let config = "[guards]\nallow_block = true\n[policy]\ntrust = \"human_only\"\n";
    std::fs::write(shell.workspace().config(), config).expect("a configuration");
    let challenge = "hm --json --agent analyst claim challenge C1 --reason \"I saw otherwise\"";
    let told = within(&shell, "s-1", challenge).to_string();
    assert!(told.contains("the claim waits for run"), "{told}");
    assert!(told.contains("(trust = human_only)"), "{told}");
    assert!(!told.contains("supports and confirms"), "{told}");
}

#[tokio::test]
async fn a_guard_that_blocks_leaves_a_claim_contested_where_it_cannot_ask_for_a_run() {
    let bench = Bench::new();
    bench.profile("passes", &settles("src/**", "true"));
    let [architect, owner, challenger] = bench.panes(["architect", "devops", "analyst"]).await;
    blocks(&bench, &architect, "lib", None).await;
    blocks(&bench, &architect, "src", Some("passes")).await;
    let warns =
        json!({ "condition": { "scope": "src" }, "action": "warn", "text": "no advice about a challenge" });
    bench.accepted(&architect, "accept_guard", warns).await;
    for (profile, action, code) in [
        ("passes", "warn", "invalid_argument"),
        ("no-such", "block", "unknown_profile"),
        ("cargo-test-one", "block", "invalid_argument"),
    ] {
        let given =
            json!({ "condition": { "scope": "src" }, "action": action, "text": ADVICE, "profile": profile });
        let refused = architect.call("accept_guard", given).await.expect("an answer");
        assert!(refused.refused && refused.text.contains(code), "{profile}: {}", refused.text);
    }
    for (scope, why) in [
        ("lib/cache", "the claim stays contested: the guard names no profile to run"),
        (
            "src/pool",
            "the claim stays contested: profile `passes` runs only with `[guards] allow_block = true`",
        ),
    ] {
        let id = bench.claim(&owner, &format!("{scope} is safe to share"), scope).await;
        let told = challenged(&challenger, &id).await;
        assert!(told.contains(why) && told.contains(ADVICE), "{told}");
        assert!(!told.contains("no advice about"), "{told}");
        assert_eq!(status(&owner, &id).await, "contested");
    }
    assert!(!bench.events().iter().any(|event| event.kind == "experiment.queued"));
    let listed = owner.read("hivemind://guards").await.expect("an answer");
    assert!(listed.contains("runs profile `passes`"), "{listed}");
    bench.kill_writer();
    bench.assert_sound();
}
