//! The operator is a human at a terminal, a profile runs when one said so, and changed rules are on record.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use expect_test::expect;
use hivemind::domain::agent::Roster;
use hivemind::domain::command::RunExperiment;
use hivemind::domain::ids::RunId;
use hivemind::mcp::{Era, Pane};
use hivemind::system::{CLIENT_VARIABLES, SESSION_VARIABLES};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::harness::{TempWorkspace, request};
use crate::shell::Shell;
use crate::terminal::{AS_OPERATOR, by_a_human, on_screen, trust};

/// A line of every verb that is the operator's, and some in which the operator merely speaks.
const OPERATORS_LINES: [&str; 20] = [
    "hm --agent operator claim create \"the pool holds 20\" --scope src",
    "hm --agent operator intent \"stop everything\"",
    "hm --agent operator forget 00000000-0000-7000-8000-000000000000 --reason inconvenient",
    "hm --agent operator backfill",
    "hm --agent operator target alias database db",
    "hm --agent operator experiment run --thread-id T --test-id T -- touch ran",
    "hm --agent operator experiment record --thread-id T --test-id T --exit-code 0 --stdout \"42 passed\"",
    "hm token add --agent devops --role admin",
    "hm --agent operator token remove devops",
    "hm --agent operator profile trust smoke --yes",
    "hm --agent operator profile untrust smoke",
    "hm --agent operator serve",
    "hm --agent operator serve --http 127.0.0.1:0",
    "hm --agent operator claim keep 00000000-0000-7000-8000-000000000000",
    "hm --agent operator guard mute 00000000-0000-7000-8000-000000000000",
    "hm --agent operator repair --accept-loss --reason inconvenient",
    "hm --agent operator target part db",
    "hm --agent operator mirror diff --propose --to elsewhere",
    "hm trust",
    "hm trust --rules",
];

/// The verbs that the table gives to the operator alone are those that are tried below, and an import as it is.
#[test]
fn every_verb_of_the_operator_is_tried() {
    let shell = Shell::without_writer();
    let table = shell.json("hm --json roles");
    let verbs = table["verbs"].as_array().expect("verbs");
    let of_operator = verbs.iter().filter(|verb| verb["who"] == "operator");
    for verb in of_operator.map(|verb| verb["verb"].as_str().expect("a verb")) {
        let tried = |line: &&str| line.replace("--agent operator ", "").starts_with(&format!("hm {verb}"));
        let is_elsewhere = ["import --as-is", "import", "serve --agent operator"].contains(&verb);
        assert!(is_elsewhere || OPERATORS_LINES.iter().any(tried), "{verb}");
    }
    let page = String::from_utf8_lossy(&shell.run("hm help roles").stdout).into_owned();
    for role in ["viewer", "agent", "admin", "operator", "anyone"] {
        assert!(page.contains(&format!("  {role}")), "{page}");
    }
}

fn smoke(root: &Path, command: &str) {
    let dir = root.join(".hivemind/profiles");
    fs::create_dir_all(&dir).expect("a directory");
    let text = format!(
        "description = 'a smoke test'\nargv = ['sh', '-c', '{command}']\ntimeout_ms = 10000\n[expect]\nexit = 0\n"
    );
    fs::write(dir.join("smoke.toml"), text).expect("a profile");
}

fn kinds(bench: &Bench) -> Vec<String> {
    bench.events().into_iter().map(|event| event.kind).collect()
}

/// What is refused, in few words; the rest as it came.
fn refused(output: &std::process::Output) -> String {
    let said =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    let because = said.split("the operator, and ").nth(1).and_then(|rest| rest.split(';').next());
    because.map_or(said.clone(), str::to_owned)
}

#[test]
fn without_a_terminal_there_is_no_operator() {
    let shell = Shell::without_writer();
    smoke(shell.workspace().root(), "true");
    for line in OPERATORS_LINES {
        let output = shell.command(line).output().expect("hm can be run");
        assert_eq!((output.status.code(), &*refused(&output)), (Some(1), "there is no terminal"), "{line}");
    }
    assert!(!shell.workspace().root().join("ran").exists());
    assert!(!shell.workspace().ledger().exists(), "nothing of it is on record");
}

/// At a terminal too: clients give their shells one.
#[test]
fn a_clients_shell_is_no_human() {
    let shell = Shell::without_writer();
    smoke(shell.workspace().root(), "true");
    for line in OPERATORS_LINES {
        let output = by_a_human(shell.command(line).env("CLAUDECODE", "1"));
        assert_eq!((output.status.code(), &*refused(&output)), (Some(1), "CLAUDECODE is set"), "{line}");
    }
    for variable in SESSION_VARIABLES.iter().chain(&CLIENT_VARIABLES) {
        let output = by_a_human(shell.command(OPERATORS_LINES[0]).env(variable, "1"));
        assert_eq!(refused(&output), format!("{variable} is set"));
        // Nor is it the operator by default.
        let unnamed = on_screen(shell.command("hm claim create \"x\" --scope src").env(variable, "1"), "");
        assert!(unnamed.0 == Some(2) && unnamed.1.contains("nobody says who is speaking"), "{unnamed:?}");
    }
    assert!(!shell.workspace().ledger().exists(), "nothing of it is on record");
    for harmless in ["CODEX_HOME", "GEMINI_API_KEY", "CURSOR_TRACE_ID", "CLAUDE_CONFIG_DIR"] {
        let output = by_a_human(shell.command(OPERATORS_LINES[0]).env(harmless, "/somewhere"));
        assert!(
            output.status.success() || refused(&output).contains("already claim"),
            "{harmless}: {output:?}"
        );
    }
}

/// What happens in a client's session is its agent's, whatever name its environment gives the pane.
#[test]
fn a_hook_does_not_speak_as_the_operator() {
    use std::io::Write;
    let shell = Shell::new();
    for agent in ["operator", "devops"] {
        let mut hook = shell.command("hm hook claude");
        hook.env("HM_AGENT", agent).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null());
        let mut child = hook.spawn().expect("a hook");
        let prompt = json!({ "hook_event_name": "UserPromptSubmit", "session_id": agent, "prompt": "deploy it",
            "cwd": shell.workspace().root() });
        child.stdin.take().expect("a pipe").write_all(prompt.to_string().as_bytes()).expect("a payload");
        assert!(child.wait().expect("an end").success());
    }
    crate::harness::wait_until("what was said is on record", || {
        shell.json("hm --json log --type turn.recorded")["events"] != json!([])
    });
    let turns = shell.json("hm --json log --type turn.recorded");
    let agents: Vec<&Value> =
        turns["events"].as_array().expect("events").iter().map(|turn| &turn["agent"]).collect();
    assert_eq!(agents, ["devops"]);
}

/// An agent that cleans the environment of its command is still below its client.
#[cfg(target_os = "linux")]
#[test]
fn a_client_is_seen_among_the_processes_above() {
    let shell = Shell::new();
    let create = shell.command(OPERATORS_LINES[0]);
    let root = shell.workspace().root().to_owned();
    let below = |program: &Path, script: &str| {
        let mut command = Command::new(program);
        command.args(["-c", &format!("{script} \"$0\" \"$@\"; exit $?")]).arg(create.get_program());
        command.args(create.get_args()).current_dir(&root);
        for (name, value) in create.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        by_a_human(&command)
    };
    let without_number = |text: String| text.replace(|c: char| c.is_ascii_digit(), "").replace("  ", " ");
    let sh = Path::new("/bin/sh");
    let claude = root.join("claude");
    fs::copy(sh.canonicalize().expect("a shell"), &claude).expect("a client");
    let told = [
        below(&claude, ""),
        below(
            &claude,
            "env -i PATH=\"$PATH\" XDG_STATE_HOME=\"$XDG_STATE_HOME\" sh -c 'true; \"$0\" \"$@\"; exit $?'",
        ),
        below(sh, "CODEX_SANDBOX=seatbelt sh -c 'unset CODEX_SANDBOX; \"$0\" \"$@\"; exit $?'"),
    ];
    let told: Vec<String> = told.iter().map(|output| without_number(refused(output)) + "\n").collect();
    expect![[r#"
        process above this one is claude
        process above this one is claude
        process above this one was started with CODEX_SANDBOX
    "#]]
    .assert_eq(&told.concat());
    // A directory or an argument that is called like one is none.
    let named = root.join("codex");
    fs::create_dir(&named).expect("a directory");
    assert!(below(sh, &format!("cd {} && HM_DIR={}", named.display(), root.display())).status.success());
}

/// A human at a terminal names nobody and runs what no profile names.
#[test]
fn a_human_runs_a_command_of_their_own() {
    let shell = Shell::new();
    let typed = shell.command("hm experiment run --thread-id RS-1 --test-id T1 -- true");
    let (code, screen) = on_screen(&typed, "");
    assert!(code == Some(0) && screen.contains("succeeded"), "{screen}");
    let run = shell.json("hm experiment list --json")["experiments"][0].clone();
    assert_eq!((&run["status"], &run["requested_by"]), (&json!("succeeded"), &json!("operator")), "{run}");
    // A thread and a test have names only where the human wants them.
    let (code, screen) = on_screen(&shell.command("hm experiment run -- true"), "");
    assert!(code == Some(0) && screen.contains("succeeded"), "{screen}");
    let refused = shell.command("hm --agent devops experiment run -- true").output().expect("hm runs");
    let refused = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.contains("run a profile: `hm experiment run PROFILE`"), "{refused}");
}

#[test]
fn an_agent_is_who_its_pane_says() {
    let shell = Shell::new();
    let mut told = String::new();
    for line in [
        "hm --agent analyst claim support 00000000-0000-7000-8000-000000000000",
        "hm --agent operator claim create \"x\" --scope src",
        "hm --agent infra claim create \"the cache is cold\" --scope src",
        "hm forget 00000000-0000-7000-8000-000000000000 --reason inconvenient",
        "hm token add --agent devops",
        "hm profile trust smoke --yes",
        "hm claim create \"y\" --scope src --operator-override \"let me\"",
    ] {
        // Both a human's terminal and the word of a script change nothing.
        let output = by_a_human(shell.command(line).env("HM_AGENT", "devops"));
        told.push_str(&format!("{line}\n  {}", String::from_utf8_lossy(&output.stderr)));
        if output.status.success() {
            told.push_str("done\n");
        }
    }
    expect![[r#"
        hm --agent analyst claim support 00000000-0000-7000-8000-000000000000
          hm: HM_AGENT says that this is the pane of devops, and --agent names analyst; drop --agent: you are devops here; in a shell of your own, unset HM_AGENT instead
        hm --agent operator claim create "x" --scope src
          hm: HM_AGENT says that this is the pane of devops, and --agent names operator; drop --agent: you are devops here; in a shell of your own, unset HM_AGENT instead
        hm --agent infra claim create "the cache is cold" --scope src
          done
        hm forget 00000000-0000-7000-8000-000000000000 --reason inconvenient
          hm: only the operator erases, and you are devops; ask the human, or deprecate the claim: it stays readable and is out of force
        hm token add --agent devops
          hm: only the operator may do this, and you are devops; ask the human to type it at a terminal
        hm profile trust smoke --yes
          hm: only the operator may do this, and you are devops; ask the human to type it at a terminal
        hm claim create "y" --scope src --operator-override "let me"
          hm: --operator-override is for the operator, and you are devops: drop one of the two
    "#]]
    .assert_eq(&told);
}

/// What cannot sit at a terminal says why, and that is on record before anything else is.
#[test]
fn an_override_goes_on_record() {
    let bench = Bench::new();
    let hm = |arguments: &[&str]| {
        let mut command = Command::new(bench.binary());
        command
            .args(arguments)
            .args(AS_OPERATOR)
            .current_dir(bench.root())
            .stdin(std::process::Stdio::null());
        let output = command.output().expect("hm runs");
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")
    };
    hm(&["--json", "claim", "create", "the pool holds 20", "--scope", "src"]);
    hm(&["--json", "token", "add", "--agent", "devops"]);
    let typed = ["--json", "experiment", "record", "--thread-id", "T", "--test-id", "T", "--exit-code", "0"];
    let recorded = hm(&typed);
    assert_eq!(
        kinds(&bench),
        [
            "operator.overridden",
            "claim.created",
            "operator.overridden",
            "operator.overridden",
            "experiment.completed"
        ]
    );
    let events = bench.events();
    let payload = |at: usize| -> Value {
        serde_json::from_str(&events[at].payload.as_ref().expect("a payload").0).expect("JSON")
    };
    assert_eq!((&payload(0)["verb"], &payload(0)["reason"]), (&json!("create_claim"), &json!("a test")));
    assert_eq!(
        (&payload(2)["verb"], &payload(3)["verb"]),
        (&json!("token-add"), &json!("experiment-record"))
    );
    assert_eq!(events[0].agent.as_str(), "operator");

    // A run that is only recorded under an override is its recorder's word, and no more.
    let (claim, run) = (events[1].id.to_string(), recorded["result_id"].as_str().expect("an id"));
    hm(&["--json", "experiment", "attach", run, &claim]);
    let shown = hm(&["--json", "claim", "show", &claim]);
    assert_eq!(shown["evidence_items"][0]["grade"], "asserted", "{shown}");
    bench.kill_writer();
    bench.assert_sound();
}

#[tokio::test]
async fn a_profile_runs_when_a_human_said_so() {
    let bench = Bench::new();
    let (marker, dir) = (bench.root().join("ran"), bench.workspace().marker_dir());
    smoke(bench.root(), "echo once >> ran");
    let pane = bench.pane(Some("devops"), Era::Modern).await;
    let run = || async {
        let answer = pane.call("run_experiment", json!({ "profile": "smoke", "wait": true })).await;
        let answer = answer.expect("an answer");
        if answer.refused { answer.text } else { answer.field("run_state").to_owned() }
    };
    let listed = || String::from_utf8(bench.hm(&["profile", "list"]).stdout).expect("text");
    let mut told = vec![run().await];
    assert!(listed().contains("smoke (project, untrusted)"), "{}", listed());
    let shown = pane.read("hivemind://profiles").await.expect("profiles");
    assert!(shown.contains("smoke (of the project): untrusted") && !shown.contains("echo once"), "{shown}");
    let claim = bench.claim(&pane, "the pool holds 20", "src").await;
    let other = bench.pane(Some("analyst"), Era::Modern).await;
    let doubted = json!({ "claim_id": claim, "reason": "it does not" });
    let doubted = bench.accepted(&other, "challenge", doubted).await;
    assert!(!doubted.text.contains("smoke"), "it is suggested: {}", doubted.text);
    assert!(!marker.exists());

    trust(bench.root(), "smoke");
    told.push(run().await);
    assert!(listed().contains("smoke (project): a smoke test"), "{}", listed());
    smoke(bench.root(), "echo twice >> ran");
    assert!(listed().contains("smoke (project, changed)"), "{}", listed());
    told.push(run().await);
    trust(bench.root(), "smoke");
    told.push(run().await);
    let mut untrust = Command::new(bench.binary());
    assert!(
        by_a_human(untrust.args(["profile", "untrust", "smoke", "--dir"]).arg(bench.root())).status.success()
    );
    told.push(run().await);
    expect![[r#"
        untrusted_profile: profile `smoke` is a file of the project that no human has trusted here; ask the human to look at it and to type, at a terminal: `hm profile trust smoke`
        succeeded
        untrusted_profile: profile `smoke` was changed since a human trusted it; ask the human to look at it and to type, at a terminal: `hm profile trust smoke`
        succeeded
        untrusted_profile: profile `smoke` is a file of the project that no human has trusted here; ask the human to look at it and to type, at a terminal: `hm profile trust smoke`"#]]
    .assert_eq(&told.join("\n"));
    assert_eq!(fs::read_to_string(&marker).expect("a mark"), "once\ntwice\n");

    // The hash of what ran is in the ledger, and a hash says nothing in another memory.
    let queued = bench.events().into_iter().filter(|event| event.kind == "experiment.queued");
    let queued: Vec<Value> = queued
        .map(|event| serde_json::from_str(&event.payload.expect("a payload").0).expect("JSON"))
        .collect();
    let hash = hex::encode(<sha2::Sha256 as sha2::Digest>::digest(
        fs::read(dir.join("profiles/smoke.toml")).expect("a profile"),
    ));
    assert_eq!(queued[1]["plan"]["profile_sha256"], json!(hash));
    assert_ne!(queued[0]["plan"]["profile_sha256"], json!(hash));
    trust(bench.root(), "smoke");
    let elsewhere = Bench::new();
    smoke(elsewhere.root(), "echo twice >> ran");
    let there = elsewhere.pane(Some("devops"), Era::Modern).await;
    let answer = there.call("run_experiment", json!({ "profile": "smoke" })).await.expect("an answer");
    assert!(answer.refused && answer.text.starts_with("untrusted_profile"), "{}", answer.text);
}

#[tokio::test]
async fn an_agent_of_the_project_is_sent_out_when_a_human_said_so() {
    let bench = Bench::new();
    let dir = bench.workspace().marker_dir().join("profiles");
    fs::create_dir_all(&dir).expect("a directory");
    let text = "description = 'a scout'\nargv = ['touch', 'ran', '{prompt}']\ntimeout_ms = 10000\n[agent]\n";
    fs::write(dir.join("scout.toml"), text).expect("a profile");
    let pane = Pane::offered(bench.binary(), bench.root(), Some("architect"), Era::Modern, "all").await;
    let pane = pane.expect("a pane");
    let given = json!({ "profile": "scout", "prompt": "look", "session": "parent" });
    let answer = pane.call("spawn_researcher", given).await.expect("an answer");
    assert!(answer.refused && answer.text.starts_with("untrusted_profile"), "{}", answer.text);
    assert!(!kinds(&bench).contains(&"experiment.queued".to_owned()));
}

/// A built-in profile is what it says, whatever a file of the project is called.
#[tokio::test]
async fn no_file_takes_the_name_of_a_built_in_profile() {
    let bench = Bench::new();
    let dir = bench.workspace().marker_dir().join("profiles");
    fs::create_dir_all(&dir).expect("a directory");
    let text = "description = 'ours'\nargv = ['true']\ntimeout_ms = 1000\n[expect]\nexit = 0\n";
    fs::write(dir.join("cargo-check.toml"), text).expect("a profile");
    let mut command = Command::new(bench.binary());
    let output =
        by_a_human(command.args(["profile", "trust", "cargo-check", "--yes", "--dir"]).arg(bench.root()));
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let listed = String::from_utf8(bench.hm(&["profile", "list", "--all"]).stdout).expect("text");
    assert!(listed.contains("takes the name of a built-in profile"), "{listed}");
    assert!(listed.contains("cargo-check: "), "{listed}");
    let checked = bench.hm(&["profile", "check"]);
    assert_eq!(checked.status.code(), Some(1), "{checked:?}");
    let pane = bench.pane(Some("devops"), Era::Modern).await;
    bench.accepted(&pane, "run_experiment", json!({ "profile": "cargo-check" })).await;
    let queued = bench.events().into_iter().find(|event| event.kind == "experiment.queued").expect("a run");
    let queued: Value = serde_json::from_str(&queued.payload.expect("a payload").0).expect("JSON");
    assert_eq!(queued["plan"]["argv"][0], "cargo", "{queued}");
}

/// What waits in a ledger from elsewhere was planned by another writer, from profiles that are not trusted here.
#[test]
fn a_run_that_was_imported_does_not_begin() {
    let there = TempWorkspace::new();
    smoke(there.root(), "touch ran");
    trust(there.root(), "smoke");
    let mut committer = there.committer(1).planning(&there, &Roster::default());
    let run = RunExperiment {
        run_id: RunId::from_uuid(hivemind::system::new_id()),
        ..RunExperiment::of("smoke".parse().expect("a name"))
    };
    let queued =
        committer.commit(&[request("devops", hivemind::domain::command::Command::RunExperiment(run))]);
    queued.expect("a ledger").remove(0).expect("it is queued");
    drop(committer);
    let here = Bench::new();
    smoke(here.root(), "touch ran");
    trust(here.root(), "smoke");
    let file = here.root().join("theirs.jsonl");
    let exported =
        Command::new(here.binary()).args(["export", "--dir"]).arg(there.root()).arg(&file).output();
    assert!(exported.expect("hm runs").status.success());
    let imported = here.hm(&["import", "theirs.jsonl"]);
    assert!(imported.status.success(), "{imported:?}");
    let run = || -> Value {
        let listed = here.hm(&["--json", "experiment", "list"]);
        serde_json::from_slice::<Value>(&listed.stdout).expect("JSON")["experiments"][0].clone()
    };
    crate::harness::wait_until("it is over", || run()["completed_at"].is_number());
    assert_eq!(run()["status"], "aborted", "{}", run());
    assert!(!there.root().join("ran").exists() && !here.root().join("ran").exists());
}

#[test]
fn a_human_sees_the_whole_file_before_trusting_it() {
    let mut shell = Shell::without_writer();
    let dir = shell.workspace().root().join(".hivemind/profiles");
    fs::create_dir_all(&dir).expect("a directory");
    // A right-to-left override would show another command than the one that runs.
    let text = "description = 'a \u{202e}test'\nargv = ['sh', '-c', \"echo \\u001b[2K\"]\ntimeout_ms = 1000 # \u{202e}\n";
    fs::write(dir.join("smoke.toml"), text).expect("a profile");
    let typed = shell.command("hm profile trust smoke");
    for (answer, said) in [("n\n", "not trusted"), ("y\n", "trusted, as long as the file stays as it is")] {
        let (code, screen) = on_screen(&typed, answer);
        assert_eq!(code, Some(0), "{screen}");
        let hash = hex::encode(<sha2::Sha256 as sha2::Digest>::digest(text));
        for shown in [said, "timeout_ms = 1000 #", "[\"sh\",\"-c\",\"echo ", &hash, "May agents run it"] {
            assert!(screen.contains(shown), "{shown}: {screen}");
        }
        assert!(!screen.contains(['\u{202e}', '\x1b']), "{screen:?}");
    }
    let unasked = by_a_human(&shell.command("hm profile trust smoke"));
    assert_eq!(unasked.status.code(), Some(2), "no human was asked: {unasked:?}");
    let told = shell.transcript("hm --agent operator profile untrust nothing");
    assert!(told.contains("no profile `nothing` is trusted here") && told.ends_with("[exit 1]\n"), "{told}");
}

#[test]
fn changed_rules_are_on_record() {
    let bench = Bench::new();
    let config = bench.workspace().config();
    let with = |text: &str| {
        bench.kill_writer();
        fs::write(&config, text).expect("a configuration");
        let allowed = bench.hm(&[&["trust", "--rules"][..], &AS_OPERATOR].concat());
        assert!(allowed.status.success(), "{allowed:?}");
        let create = [
            "claim",
            "create",
            &format!("about {} bytes", text.len()),
            "--scope",
            "src",
            "--agent",
            "devops",
        ];
        assert!(bench.hm(&create).status.success());
        let attention = bench.hm(&["attention"]);
        String::from_utf8(attention.stdout).expect("text").contains("owner_counts = true")
    };
    let changes = || kinds(&bench).iter().filter(|kind| *kind == "policy.changed").count();
    assert!(!with("") && changes() == 0, "the defaults are what an empty ledger says");
    assert!(with("[quorum]\nowner_counts = true\n") && changes() == 1);
    let change = bench.events().into_iter().find(|event| event.kind == "policy.changed").expect("a change");
    let payload: Value = serde_json::from_str(&change.payload.expect("a payload").0).expect("JSON");
    assert_eq!(
        payload,
        json!({
            "quorum": { "supports": 1, "owner_counts": true, "all_active": false },
            "was": { "supports": 1, "owner_counts": false, "all_active": false },
        })
    );
    assert_eq!(change.agent.as_str(), "system");
    assert!(with("[quorum]\nowner_counts = true # still\n") && changes() == 1, "once for each change");
    let agents = bench.hm(&["attention", "--agent", "devops"]);
    assert!(!String::from_utf8_lossy(&agents.stdout).contains("owner_counts"), "it asks the operator");
    let log = bench.hm(&["log", "--type", "policy.changed"]);
    assert!(String::from_utf8_lossy(&log.stdout).contains("policy.changed"), "{log:?}");
    assert!(!with("[quorum]\nsupports = 2\n") && changes() == 2, "who tightens the rules settles it");
    bench.kill_writer();
    bench.assert_sound();
}

/// Red before: rules that an agent wrote into the configuration let it confirm its own claim.
#[test]
fn looser_rules_wait_for_a_human() {
    let mut shell = Shell::without_writer();
    let file = shell.workspace().config();
    let config = |text: &str| fs::write(&file, text).expect("a configuration");
    let created = |what: &str, shell: &Shell| {
        let done = shell.json(&format!("hm --json claim create \"{what}\" --scope src --agent devops"));
        assert_eq!(done["state"], "committed", "{done}");
    };
    let status =
        |claim: &str, shell: &Shell| shell.json(&format!("hm --json claim show {claim}"))["status"].clone();
    config("[quorum]\nowner_counts = true\n[trust]\nagents_may_override_operator = true\n");
    created("the pool holds 20 connections", &shell);
    let own = shell.json("hm --json claim support C1 --agent devops");
    assert_eq!(own["code"], "own_claim", "{own}");
    assert_eq!(status("C1", &shell), "proposed");
    let wanted = "owner_counts = true, all_active = false, agents_may_override_operator = true";
    for line in ["hm attention", "hm status", "hm doctor"] {
        let told = shell.transcript(line).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(wanted) && told.contains("hm trust --rules"), "{line}: {told}");
    }
    let pane = shell.run("hm trust --rules");
    assert!(!pane.status.success(), "{pane:?}");
    assert_eq!(shell.json("hm --json claim support C1 --agent devops")["code"], "own_claim");

    shell.allow_rules();
    assert_eq!(shell.json("hm --json claim support C1 --agent devops")["state"], "committed");
    assert_eq!(status("C1", &shell), "confirmed");
    assert!(!shell.transcript("hm doctor").contains("hm trust --rules"));
    // Stricter rules hold at once, and those before them are looser now.
    config("[quorum]\nsupports = 2\n");
    created("the cache is cold", &shell);
    assert_eq!(shell.json("hm --json claim support C2 --agent devops")["code"], "own_claim");
    config("[quorum]\nsupports = 1\n");
    assert_eq!(shell.json("hm --json claim support C2 --agent analyst")["state"], "committed");
    assert_eq!(status("C2", &shell), "proposed");
    let told = shell.transcript("hm attention");
    assert!(told.contains("hm trust --rules"), "{told}");
    shell.allow_rules();
    created("the queue is long", &shell);
    assert_eq!(shell.json("hm --json claim support C3 --agent analyst")["state"], "committed");
    assert_eq!(status("C3", &shell), "confirmed");
}

/// Red before: a line of a file outside of the repository stood in lists that agents read.
#[test]
fn no_line_of_a_file_outside_of_the_work_tree_is_shown() {
    let mut shell = Shell::new();
    let outside = tempfile::tempdir().expect("a directory");
    let netrc = outside.path().join("netrc");
    fs::write(&netrc, "machine github.com login me password hunter2horse\n").expect("a file");
    let (marker, root) = (shell.workspace().marker_dir(), shell.workspace().root().to_owned());
    fs::create_dir_all(marker.join("profiles")).expect("a directory");
    std::os::unix::fs::symlink(&netrc, marker.join("profiles/evil.toml")).expect("a link");
    let lines = [
        "hm profile list",
        "hm profile check",
        "hm experiment run evil --agent devops",
        "hm --agent operator profile trust evil",
    ];
    for line in lines {
        let told = shell.transcript(line);
        assert!(told.contains("leads out of the work tree"), "{line}: {told}");
        assert!(!told.contains("hunter2horse") && !told.contains("github.com"), "{line}: {told}");
    }
    // A link within the work tree stays a profile, and its broken lines are shown without secrets.
    let token = format!("ghp_{}", "x7Kd93LmQp2VbN4sTz8RfYw1CgHj6AeUo5Zi");
    let tools = root.join("tools.toml");
    fs::write(&tools, format!("description = {token}\n")).expect("a file");
    std::os::unix::fs::symlink("../../tools.toml", marker.join("profiles/tools.toml")).expect("a link");
    let told = shell.transcript("hm profile list");
    assert!(told.contains("description = [redacted"), "{told}");
    fs::remove_file(shell.workspace().config()).expect("a configuration");
    std::os::unix::fs::symlink(&netrc, shell.workspace().config()).expect("a link");
    for line in ["hm status", "hm policy check", "hm policy show", "hm doctor", "hm claim list"] {
        let told = shell.transcript(line).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains("leads out of the work tree"), "{line}: {told}");
        assert!(!told.contains("hunter2horse") && !told.contains("github.com"), "{line}: {told}");
    }
    // Nor is a line shown where the whole directory is a link.
    fs::remove_file(shell.workspace().config()).expect("a link");
    let elsewhere = outside.path().join("hivemind");
    fs::rename(&marker, &elsewhere).expect("a directory");
    std::os::unix::fs::symlink(&elsewhere, root.join(".hivemind")).expect("a link");
    fs::write(elsewhere.join("config.toml"), "machine github.com login me password hunter2horse\n")
        .expect("a file");
    let told = shell.transcript("hm status");
    assert!(told.contains("does not parse") && !told.contains("github.com"), "{told}");
}

/// A path need not be text: else the write lands in the workspace of the current directory.
#[cfg(target_os = "linux")]
#[test]
fn a_workspace_is_named_by_bytes() {
    let here = Shell::new();
    let dir = tempfile::tempdir().expect("a temporary directory");
    let named = dir.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&named).expect("a directory");
    let workspace = crate::harness::at(&named);
    let mut create = here.command("hm --agent devops claim create \"it is there\" --scope src");
    let output = create.env("HM_DIR", &named).output().expect("hm can be run");
    assert!(output.status.success(), "{output:?}");
    let claims = here.json("hm --json claim list");
    assert_eq!(claims["claims"], json!([]), "it landed here");
    assert!(workspace.ledger().exists() || workspace.spool().exists());
    crate::harness::kill_writer(&workspace);
}
