//! What users of the product tripped over, each once more through the real binary.

use std::fs;
use std::process::Stdio;

use hivemind::mcp::Era;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::hook::claude;
use crate::proof::{EXPECTING, profile, run, shown};
use crate::shell::Shell;
use crate::terminal::on_screen;

fn said(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn made(shell: &Shell, line: &str) -> String {
    let made = shell.json(&format!("{line} --json"));
    made["entity_id"].as_str().unwrap_or_else(|| panic!("{line}: {made}")).to_owned()
}

/// The lines that follow each other are one.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Red before: hooks were silent, so that a pane lost its memory without a word, and `hm doctor` died.
#[test]
fn a_configuration_that_does_not_parse_is_told_and_diagnosed() {
    let shell = Shell::new();
    let config = shell.workspace().config();
    let sound = fs::read_to_string(&config).expect("the settings");
    fs::write(&config, format!("{sound}\nobey_this = [\n")).expect("the settings");
    let session = claude(&shell, "s-1", "devops");
    let told = session.start();
    assert!(told.contains("this session has no shared memory"), "{told}");
    assert!(told.contains("config.toml") && told.contains("hm doctor"), "{told}");
    assert!(!told.contains("obey_this"), "what the file says is no word of ours: {told}");
    assert_eq!(session.prompt("go"), "", "said once");
    let mut doctor = shell.command("hm doctor --json");
    let doctor = doctor.env("HOME", shell.state_home()).stdin(Stdio::null()).output().expect("hm can be run");
    let report: Value = serde_json::from_slice(&doctor.stdout).unwrap_or_else(|_| panic!("{doctor:?}"));
    let checks = report["checks"].as_array().expect("checks");
    let settings = checks.iter().find(|check| check["about"] == "settings").expect("a check of the settings");
    assert_eq!(settings["verdict"], "fault", "{settings}");
    assert!(settings["message"].as_str().expect("a text").contains("line "), "{settings}");
    assert!(checks.len() > 3, "what can be examined is examined: {report}");
    assert_eq!(doctor.status.code(), Some(1));
    fs::write(&config, sound).expect("the settings");
    let mut doctor = shell.command("hm doctor --json");
    let doctor = doctor.env("HOME", shell.state_home()).output().expect("hm can be run");
    let report: Value = serde_json::from_slice(&doctor.stdout).expect("JSON");
    let checks = report["checks"].as_array().expect("checks");
    assert!(checks.iter().all(|check| check["about"] != "settings" || check["verdict"] == "ok"), "{report}");
}

/// Red before: every other verb took the directory's own `.hivemind` for the directory, and `hm init` made a workspace in it.
#[test]
fn init_takes_the_marker_of_a_directory_for_the_directory() {
    let shell = Shell::without_writer();
    let project = tempfile::tempdir().expect("a temporary directory");
    let marker = project.path().join(".hivemind");
    for _ in 0..2 {
        let mut init = shell.command("hm init --yes");
        let init = init.env("HM_DIR", &marker).env("HOME", shell.state_home()).env("PATH", "");
        let init = init.output().expect("hm can be run");
        assert!(init.status.success(), "{init:?}");
        assert!(marker.join("config.toml").is_file() && !marker.join(".hivemind").exists(), "{init:?}");
    }
}

/// Red before: a human was asked below hundreds of lines of diff, was told no next step, and then `hm doctor` called the
/// dialogs that no person had answered yet faults.
#[test]
fn init_at_a_terminal_is_short_and_says_what_the_clients_will_ask() {
    let shell = Shell::without_writer();
    let at_home = |line: &str| {
        let mut command = shell.command(line);
        command.env("HOME", shell.state_home()).env_remove("GEMINI_CLI_HOME");
        command
    };
    fs::create_dir(shell.state_home().join(".gemini")).expect("a directory");
    fs::write(shell.state_home().join(".gemini/settings.json"), "{}")
        .expect("what shows that Gemini CLI is here");
    let (code, screen) = on_screen(&at_home("hm init --clients gemini"), "d\ny\n");
    assert_eq!(code, Some(0), "{screen}");
    let (table, lines) = screen.split_once("[y/N/d").expect("a question");
    assert!(table.contains("Gemini CLI  .gemini/settings.json  server, hooks"), "{screen}");
    assert!(!table.contains("+++") && lines.contains("+++"), "{screen}");
    let next = flat(&screen);
    assert!(next.contains("1 of 1 files changed"), "{screen}");
    assert!(next.contains("- Gemini CLI: Gemini CLI does not trust this folder: start `gemini`"), "{screen}");
    let doctor = at_home("hm doctor --json").output().expect("hm can be run");
    let report: Value = serde_json::from_slice(&doctor.stdout).expect("JSON");
    let of = |about: &str| {
        let checks = report["checks"].as_array().expect("checks").iter();
        checks.filter(|check| check["about"] == about).cloned().collect::<Vec<_>>()
    };
    let trust = of("gemini trust");
    assert!(trust.len() == 1 && trust[0]["verdict"] == "waiting", "{report}");
    assert_eq!(
        (&report["waiting"], &of("gemini last fired")[0]["message"]),
        (&json!(1), &json!("not used here yet"))
    );
    let dry = said(&at_home("hm init --clients cursor --dry-run").output().expect("hm can be run"));
    assert!(dry.contains("+++"), "{dry}");
}

/// Red before: the file beside the memory kept what was erased.
#[test]
fn forgetting_a_run_removes_its_file() {
    let shell = Shell::new();
    let line = "hm experiment run --thread-id RS-1 --test-id T1 --agent operator -- echo hello";
    let output = shell.run(line);
    assert!(output.status.success(), "{output:?}");
    let page = shell.json("hm experiment list --json");
    let id = page["experiments"][0]["run_id"].as_str().expect("a run").to_owned();
    let output = shell.run(&format!("hm forget {id} --reason \"a name\" --agent operator"));
    assert!(output.status.success(), "{output:?}");
    let left = shell.workspace().root().join("artifacts/RS-1/experiments/T1");
    assert_eq!(fs::read_dir(left).map_or(0, Iterator::count), 0, "{output:?}");
}

/// Red before: `correct `type` and call again` in a shell, in which nothing is called.
#[test]
fn a_refused_argument_is_told_in_the_words_of_the_shell() {
    let shell = Shell::new();
    for line in [
        "hm claim create \"a b\" --scope src --type wrong --agent devops",
        "hm claim create \"a b\" --scope src --confidence 7 --agent devops",
    ] {
        let output = shell.run(line);
        assert_eq!(output.status.code(), Some(2));
        let said = said(&output);
        assert!(said.contains("and run it again") && !said.contains("call again"), "{said}");
    }
}

/// Red before: a script that reads needed an agent's name.
#[test]
fn a_script_reads_the_context_without_a_name() {
    let shell = Shell::new();
    made(&shell, "hm claim create \"the pool holds 20 connections\" --scope src --agent devops");
    let output = shell.run("hm context");
    assert!(output.status.success(), "{output:?}");
    assert!(said(&output).contains("the pool holds 20 connections"), "{output:?}");
}

/// Red before: a claim without a scope was refused, although it is typed somewhere.
#[test]
fn a_claim_without_a_scope_is_about_the_directory_it_is_typed_in() {
    let shell = Shell::new();
    fs::create_dir_all(shell.workspace().root().join("src/db")).expect("a directory");
    for (directory, scope) in [("src/db", "src/db"), (".", ".")] {
        let mut create =
            shell.command(&format!("hm claim create \"it is so in {directory}\" --agent devops --json"));
        let create = create.current_dir(shell.workspace().root().join(directory)).output();
        let create = create.expect("hm can be run");
        let made: Value = serde_json::from_slice(&create.stdout).unwrap_or_else(|_| panic!("{create:?}"));
        let id = made["entity_id"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
        assert_eq!(shell.json(&format!("hm claim show {id} --json"))["scopes"], json!([scope]));
    }
    let reason =
        "hm decision record \"Use SQLite\" --target storage --reason \"one file, no server\" --agent devops";
    assert!(shell.run(reason).status.success());
}

/// Red before: the question stayed, as if its asker had named the agent.
#[test]
fn the_question_to_an_owner_ends_with_the_claim_that_was_to_be_replaced() {
    let shell = Shell::new();
    let old = made(&shell, "hm claim create \"the pool holds 20 connections\" --scope src --agent devops");
    assert!(shell.run(&format!("hm claim support {old} --agent analyst")).status.success());
    let named =
        made(&shell, "hm claim create \"the queue is fair\" --scope src --ask devops --agent frontend");
    let new = "hm claim create \"the pool holds 30 connections\" --scope src --agent frontend";
    made(&shell, &format!("{new} --supersedes {old}"));
    let asked = || {
        let needs = shell.json("hm --json attention --agent devops")["needs"].clone();
        let needs = needs.as_array().expect("needs").iter().filter(|need| need["kind"] == "question");
        needs.map(|need| need["ids"][0].as_str().expect("an id").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(asked().len(), 2);
    let end = format!("hm claim deprecate {old} --reason \"the pool is gone\" --agent devops");
    assert!(shell.run(&end).status.success());
    assert_eq!(asked(), [named], "only what devops was asked by name is open");
}

/// Red before: a run that failed after the proof stood on the claim's own page and nowhere else.
#[tokio::test]
async fn a_proved_claim_says_that_a_run_failed_since_wherever_it_is_shown() {
    let bench = Bench::new();
    profile(&bench, "yes", "exit 0", "\"src/**\"", EXPECTING);
    profile(&bench, "check", "! grep -q bug src/a.rs", "\"src/**\"", EXPECTING);
    bench.write("src/a.rs", "a bug\n");
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let other = bench.pane(Some("reviewer"), Era::Legacy).await;
    let id = bench.claim(&owner, "the pool gives connections back", "src/a.rs").await;
    bench.accepted(&other, "challenge", json!({ "claim_id": id, "reason": "I saw otherwise" })).await;
    run(&owner, json!({ "profile": "yes", "claim_id": id, "blocking": true })).await;
    assert_eq!(shown(&owner, &id).await["basis"], "proved");
    let failing = run(&other, json!({ "profile": "check", "claim_id": id })).await;
    let name = bench.name(failing.field("run_id"));
    let since = format!("failed since ({name})");
    let of_claim = |needs: &Value| -> Vec<Value> {
        let needs = needs["needs"].as_array().expect("needs").iter();
        needs.filter(|need| need["kind"] == "failed_since").cloned().collect()
    };
    let attention = |agent: &str| {
        let output = bench.hm(&["--json", "attention", "--agent", agent]);
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")
    };
    for claim in [shown(&owner, &id).await, shown(&other, &id).await] {
        assert_eq!(claim["status"], "confirmed");
        assert_eq!(claim["failed_since"], failing.field("run_id"), "{claim}");
    }
    let list = said(&bench.hm(&["claim", "list"]));
    assert!(list.contains(&format!("proved, {since}")), "{list}");
    let list = other.read("hivemind://claims").await.expect("a page");
    assert!(list.contains(&since), "{list}");
    let pack = other.read("hivemind://context").await.expect("a pack");
    assert!(pack.contains(&format!("failed_since=\"{name}\"")), "{pack}");
    let open = of_claim(&attention("devops"));
    assert_eq!(open.len(), 1);
    assert_eq!(open[0]["ids"], json!([id, failing.field("run_id")]));
    assert_eq!(open[0]["asked"], json!(["devops"]));
    let told = flat(&said(&bench.hm(&["attention", "--agent", "devops"])));
    assert!(told.contains(&since), "{told}");
    assert!(of_claim(&attention("analyst")).is_empty(), "it is the owner's move");
    // `still` takes no proof along to other content, where the challenge that it answered is open again. The same test
    // comes out right about the file as it is now.
    bench.write("src/a.rs", "mended\n");
    assert!(bench.hm(&["claim", "still", &id, "--agent", "devops"]).status.success());
    run(&owner, json!({ "profile": "check", "claim_id": id })).await;
    let claim = shown(&owner, &id).await;
    assert_eq!((&claim["status"], claim.get("failed_since")), (&json!("contested"), None), "{claim}");
    assert!(of_claim(&attention("devops")).is_empty());
    bench.kill_writer();
    bench.assert_sound();
}

/// Red before: the run proved the claim, and nothing said why the older claim stayed.
#[tokio::test]
async fn a_proof_says_why_it_replaces_nothing() {
    let bench = Bench::new();
    profile(&bench, "yes", "exit 0", "\"src/**\"", EXPECTING);
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let other = bench.pane(Some("reviewer"), Era::Legacy).await;
    let analyst = bench.pane(Some("analyst"), Era::Modern).await;
    let old = bench.claim(&analyst, "the pool holds 20 connections", "src/pool").await;
    let supersede = |statement: &str| json!({ "statement": statement, "claim_type": "fact", "scopes": ["src/pool"], "supersedes": old });
    let waiting = bench.accepted(&owner, "create_claim", supersede("vendoring is slow here")).await;
    let waiting = waiting.field("claim_id").to_owned();
    bench.accepted(&analyst, "create_claim", supersede("the pool holds 30 connections")).await;
    bench.accepted(&other, "challenge", json!({ "claim_id": waiting, "reason": "I saw otherwise" })).await;
    let proof = run(&owner, json!({ "profile": "yes", "claim_id": waiting, "blocking": true })).await;
    let claim = shown(&owner, &waiting).await;
    assert_eq!(claim["basis"], "proved", "{claim}");
    let note = claim["evidence_items"][0]["note"].as_str().unwrap_or_default();
    assert!(note.contains("was superseded by"), "{claim}");
    assert!(proof.text.contains("was superseded by"), "{}", proof.text);
    bench.kill_writer();
    bench.assert_sound();
}
