//! What a shell is told can be typed, and what an MCP client is told can be called: every hint of a story in which
//! most rules say something.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::bench::Bench;
use crate::shell::Shell;
use hivemind::mcp::Era;

/// What a placeholder stands for where only the parser looks.
const PLACEHOLDERS: [(&str, &str); 1] = [("PROFILE", "cargo-test")];

/// The options of a line that only the parser looks at: no workspace can be there.
pub(crate) const NOWHERE: [&str; 2] = ["--dir", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")];

/// Names of tools that are also words of English, or verbs of `hm`.
const WORDS: [&str; 4] = ["abstain", "challenge", "still", "support"];

fn tools() -> BTreeSet<String> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tool-schemas");
    let files = std::fs::read_dir(dir).expect("schemas").map(|file| file.expect("a file").path());
    let names = files.map(|file| file.file_stem().expect("a name").to_string_lossy().into_owned());
    names.filter(|name| name != "listings" && !WORDS.contains(&name.as_str())).collect()
}

/// A shell that looks at all it shows.
struct Story {
    shell: Shell,
    tools: BTreeSet<String>,
    /// The verbs that hints named.
    named: BTreeSet<String>,
}

impl Story {
    fn new() -> Self {
        Self { shell: Shell::new(), tools: tools(), named: BTreeSet::new() }
    }

    /// Runs a line, refused or not, and looks at what it shows to people and to programs.
    fn line(&mut self, line: &str) -> String {
        let Output { stdout, stderr, .. } = self.shell.run(line);
        let text = String::from_utf8(stdout).expect("text") + &String::from_utf8(stderr).expect("text");
        self.look(line, &text);
        text
    }

    /// What the line made.
    fn id_of(&mut self, line: &str) -> String {
        let text = self.line(&format!("{line} --json"));
        let made: Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{line}: {error}: {text}"));
        made["entity_id"].as_str().unwrap_or_else(|| panic!("{line}: {text}")).to_owned()
    }

    fn look(&mut self, line: &str, text: &str) {
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || "_.-/".contains(c)));
        for word in words {
            assert!(!self.tools.contains(word), "`{line}` names the tool {word}:\n{text}");
        }
        assert!(!text.contains("`hivemind://"), "`{line}` names an address where a verb is meant:\n{text}");
        for command in assert_typeable(&self.shell, line, text) {
            let words: Vec<&str> = command.split(' ').skip(1).take(2).collect();
            self.named.insert(words.join(" "));
        }
    }

    fn parsed(&self, command: &str) -> Result<(), String> {
        parsed(&self.shell, command)
    }
}

/// Types each command that `text` shows, as far as the parser. `line` is what showed it. Returns the commands.
pub(crate) fn assert_typeable(shell: &Shell, line: &str, text: &str) -> Vec<String> {
    // In JSON the quotes of a command are escaped.
    let texts = match serde_json::from_str::<Value>(text) {
        Ok(value) => sentences(&value),
        Err(_) => vec![text.to_owned()],
    };
    let commands: Vec<String> = texts.iter().flat_map(|text| commands(text)).collect();
    for command in &commands {
        if let Err(said) = parsed(shell, command) {
            panic!("`{line}` shows `{command}`, which is no command: {said}");
        }
    }
    commands
}

/// What the parser says of a command. What it takes goes no further: it names a workspace that cannot be one.
pub(crate) fn parsed(shell: &Shell, command: &str) -> Result<(), String> {
    let words = shell_words::split(command).map_err(|error| error.to_string())?;
    let mut typed = shell.command("hm");
    let typed = typed.args(NOWHERE).args(words.iter().skip(1).map(|word| {
        let known = PLACEHOLDERS.iter().find(|(name, _)| name == word);
        known.map_or(word.as_str(), |(_, stands_for)| stands_for)
    }));
    let said = typed.env("PATH", "").output().expect("hm can be run").stderr;
    let said = String::from_utf8_lossy(&said).into_owned();
    if said.starts_with("error:") || said.contains("Usage: ") { Err(said) } else { Ok(()) }
}

fn sentences(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) if text.starts_with("hm ") => vec![format!("`{text}`")],
        Value::String(text) => vec![text.clone()],
        Value::Array(values) => values.iter().flat_map(sentences).collect(),
        Value::Object(members) => members.values().flat_map(sentences).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// The commands between back-quotes, each on one line as a terminal takes it.
fn commands(text: &str) -> Vec<String> {
    let starts = text.match_indices("`hm ").map(|(at, _)| &text[at + 1..]);
    starts.map(|rest| rest.split('`').next().unwrap_or(rest).to_owned()).collect()
}

#[test]
fn what_a_shell_shows_can_be_typed() {
    let mut told = Story::new();
    // The parser tells a command from what only looks like one.
    assert!(told.parsed("hm claim create --type negative, scopes src, statement no").is_err());
    assert!(told.parsed("hm claim create no --type negative --scope src").is_ok());
    // Claims, positions, and who may do what.
    let slow = told.id_of("hm claim create \"vendoring is slow\" --scope src/lib.rs --agent devops");
    let tagged =
        told.id_of("hm claim create \"the build is red on Mondays\" --scope tag:build --agent devops");
    for line in [
        "hm claim create \"vendoring is slow\" --scope src/lib.rs --agent analyst".to_owned(),
        format!("hm claim challenge {slow} --reason \"my own\" --agent devops"),
        format!("hm claim support {slow} --agent devops"),
        format!("hm claim still {slow} --agent analyst"),
        format!("hm claim deprecate {slow} --reason \"no\" --agent analyst"),
        format!("hm experiment run cargo-test --claim {slow} --blocking --no-wait --agent devops"),
        format!("hm experiment run cargo-test --claim {slow} --blocking --no-wait --agent analyst"),
        format!("hm claim challenge {slow} --reason \"it is fast\" --agent reviewer"),
        format!("hm claim challenge {tagged} --reason \"and on Tuesdays\" --agent reviewer"),
        "hm claim why ".to_owned() + &slow,
        "hm claim show ".to_owned() + &slow,
        "hm claim show 0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d47".to_owned(),
        format!("hm claim evidence {slow} --ref last --relation supports --agent devops"),
        format!(
            "hm claim evidence {slow} --ref 0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d47 --relation supports --agent devops"
        ),
        format!("hm claim retract-evidence {slow} {tagged} --reason \"no\" --agent devops"),
        "hm experiment run no-such --agent devops".to_owned(),
        "hm experiment show 0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d47".to_owned(),
        "hm experiment cancel 0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d47 --agent devops".to_owned(),
        "hm claim create \"who objects?\" --scope src --unless-objection-minutes 60 --agent devops"
            .to_owned(),
        "hm attention --agent reviewer".to_owned(),
    ] {
        told.line(&line);
    }
    let gone = told.id_of("hm claim create \"the log is kept\" --scope src --agent devops");
    told.line(&format!("hm claim deprecate {gone} --reason \"it is not\" --agent devops"));
    told.line(&format!("hm claim support {gone} --agent analyst"));
    told.line(&format!("hm claim deprecate {gone} --reason \"again\" --agent devops"));
    // Decisions.
    let because = "--rationale \"one file, and no server to run\"";
    let kept = told
        .id_of(&format!("hm decision record \"we keep SQLite\" --target database {because} --agent devops"));
    for line in [
        format!("hm decision record \"we take Postgres\" --target database {because} --agent analyst"),
        format!("hm decision record \"we take Postgres\" --target database {because} --agent devops"),
        format!("hm decision record \"we take Postgres\" --target databases {because} --agent analyst"),
        format!("hm claim create \"no\" --scope src --supersedes {kept} --agent devops"),
        format!("hm claim create \"no\" --scope src --supersedes {kept} --agent analyst"),
        "hm claim create \"we take it\" --type decision --scope target:queue --agent devops".to_owned(),
        format!("hm claim deprecate {kept} --reason \"no\" --agent devops"),
        format!("hm claim challenge {kept} --reason \"no\" --agent devops"),
        format!("hm claim challenge {kept} --reason \"slow\" --agent reviewer"),
        format!("hm decision outcome {kept} failure --notes \"it's slow\" --agent devops"),
        format!("hm decision outcome {slow} failure --agent devops"),
        "hm target alias database databases --agent architect".to_owned(),
        "hm target part no-such --agent architect".to_owned(),
    ] {
        told.line(&line);
    }
    // The operator's word.
    let word = told.id_of("hm claim create \"the pool size is 20\" --scope src/lib.rs --agent operator");
    for line in [
        format!("hm claim challenge {word} --reason \"it grew\" --agent analyst"),
        format!("hm claim deprecate {word} --reason \"it grew\" --agent analyst"),
        format!("hm claim keep {word} --agent analyst"),
        "hm attention".to_owned(),
        "hm --json attention".to_owned(),
        "hm contradictions".to_owned(),
    ] {
        told.line(&line);
    }
    // Plans, tasks, sessions.
    for line in [
        "hm task list",
        "hm task ready",
        "hm plan show",
        "hm plan add \"Ship 1.0\" --agent architect",
        "hm phase add \"Storage\" --plan P1 --agent architect",
        "hm task add \"mend the pool\" --agent devops",
        "hm task add \"measure it\" --after T1 --agent devops",
        "hm task claim T2 --agent devops",
        "hm task claim T9 --agent devops",
        "hm task update T1 active --agent devops",
        "hm task claim T1 --lease 5 --agent devops",
        "hm task claim T1 --agent analyst",
        "hm attention --agent devops",
        "hm task update T1 done --token 7 --agent devops",
        "hm task update T1 done --token 1 --agent devops",
        "hm task update T1 done --agent devops",
        "hm task update T2 invalidated --note \"no\" --agent devops",
        "hm intent \"ship it\" --agent devops",
        "hm anchor list",
        "hm anchor retire NONE --agent devops",
        "hm session list",
        "hm belief show analyst",
        "hm session show no-such",
        "hm session split \"the window is full\" --agent devops",
        "hm session spawn cargo-test \"what is slow?\" --agent devops",
        "hm attention --seen 0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d47 --agent devops",
        "hm profile list",
        "hm status",
        "hm context --agent reviewer",
        "hm context --agent devops",
        "hm log --limit 3",
    ] {
        told.line(line);
    }
    // The story is told: what it never named, it does not check.
    for verb in [
        "claim challenge",
        "claim deprecate",
        "decision record",
        "experiment run",
        "task update",
        "claim create",
    ] {
        assert!(told.named.contains(verb), "no hint named {verb}: {:?}", told.named);
    }
}

/// Red before: a claim that asked no agent by name was on no list.
#[test]
fn silence_is_told_to_every_agent_but_the_owner() {
    let shell = Shell::new();
    let made = shell.json(
        "hm claim create \"we squash on merge\" --scope src --unless-objection-minutes 60 --agent devops --json",
    );
    let id = made["entity_id"].as_str().expect("an id");
    let needs = |agent: &str| {
        let told = shell.json(&format!("hm --json attention --agent {agent}"));
        told["needs"].as_array().expect("needs").clone()
    };
    shell.run("hm claim create \"is it so?\" --scope src --ask reviewer --agent devops");
    let told = needs("reviewer");
    let last = told.last().expect("an entry");
    assert_eq!((told.len(), &last["kind"]), (2, &"silence".into()), "{told:?}");
    assert!(last["until"].as_i64() > last["since"].as_i64(), "a deadline: {last}");
    assert_eq!(last["settle"][0], format!("hm claim challenge {id} --reason REASON"));
    let context = |agent: &str| {
        let shown = shell.run(&format!("hm context --agent {agent}")).stdout;
        String::from_utf8(shown).expect("text").contains("<silence claim=\"C1\"")
    };
    assert!(context("reviewer"));
    assert!(!context("devops"));
    assert!(needs("devops").is_empty(), "{:?}", needs("devops"));
    let text = String::from_utf8(shell.run("hm attention --agent analyst").stdout).expect("text");
    assert!(text.contains("agreed by silence in"), "{text}");
    let done =
        shell.run(&format!("hm claim challenge {id} --reason \"it hides who did what\" --agent reviewer"));
    assert!(done.status.success(), "{done:?}");
    assert!(needs("analyst").is_empty(), "an objection ends the silence: {:?}", needs("analyst"));
}

/// Red before: each of these was told a way that is not open to it, or that something was done.
#[test]
fn each_agent_is_told_a_way_that_is_open_to_it() {
    let shell = Shell::new();
    let said = |line: &str| {
        let Output { stdout, stderr, .. } = shell.run(line);
        let text = String::from_utf8(stdout).expect("text") + &String::from_utf8(stderr).expect("text");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let id_of = |line: &str| {
        let made = shell.json(&format!("{line} --json"));
        shell.name(made["entity_id"].as_str().expect("an id"))
    };
    let filed = id_of("hm claim create \"the pool holds 20\" --scope src/lib.rs --agent devops");
    let own =
        said(&format!("hm experiment run cargo-test --claim {filed} --blocking --no-wait --agent devops"));
    assert!(own.contains(&format!("leave out blocking, and what it shows is evidence: `hm experiment run cargo-test --claim {filed}`")), "{own}");
    assert!(!own.contains("challenge"), "no agent challenges its own claim: {own}");
    let other =
        said(&format!("hm experiment run cargo-test --claim {filed} --blocking --no-wait --agent analyst"));
    assert!(other.contains(&format!("`hm claim challenge {filed} ")), "{other}");

    // A run decides about files.
    let tagged = id_of("hm claim create \"Mondays are slow\" --scope tag:build --agent devops");
    for claim in [&filed, &tagged] {
        said(&format!("hm claim challenge {claim} --reason \"not so\" --agent reviewer"));
    }
    let told = said("hm attention --agent devops");
    assert!(!told.contains("a run may decide instead"), "no profile can run here: {told}");
    assert!(!told.contains(&format!("--claim {tagged}")), "{told}");

    // Nothing was done to what the operator stands by.
    let word = id_of("hm claim create \"the log stays\" --scope src/lib.rs --agent operator");
    let decided = id_of(
        "hm decision record \"we keep SQLite\" --target database --rationale \"one file, no server\" --agent operator",
    );
    let anew = "--rationale \"several machines write now\"";
    for line in [
        format!("hm claim challenge {word} --reason \"it grew\" --agent analyst"),
        format!("hm claim deprecate {word} --reason \"it grew\" --agent architect"),
        format!(
            "hm decision record \"we take Postgres\" --target database --supersedes {decided} {anew} --agent architect"
        ),
    ] {
        let told = said(&line);
        assert!(told.starts_with("proposed to the operator and not done, at seq "), "{line}: {told}");
        assert!(!told.contains("experiment run"), "no run settles it: {told}");
    }
    // The operator's support of a contested claim ends its dispute: no run is waited for any more.
    said(&format!("hm claim support {filed} --agent operator"));
    let told = said("hm attention");
    assert!(!told.contains("a run may decide instead"), "{told}");
}

/// What an MCP client is told: each call names a tool and arguments that the tool has, and no verb stands for a tool.
#[tokio::test]
async fn what_a_client_is_told_can_be_called() {
    let bench = Bench::new();
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let analyst = bench.pane(Some("analyst"), Era::Modern).await;
    let given = json!({ "statement": "vendoring is slow", "claim_type": "fact", "scopes": ["src/lib.rs"] });
    let claim = bench.accepted(&devops, "create_claim", given.clone()).await.field("claim_id").to_owned();
    let why = "one file, and no server to run";
    let decision = json!({ "statement": "we keep SQLite", "target": "database", "rationale": why });
    let mut told = Vec::new();
    for (pane, tool, arguments) in [
        (&analyst, "create_claim", given),
        (&devops, "challenge", json!({ "claim_id": claim, "reason": "mine" })),
        (&devops, "support", json!({ "claim_id": claim })),
        (&analyst, "deprecate_claim", json!({ "claim_id": claim, "reason": "no" })),
        (&analyst, "run_experiment", json!({ "profile": "cargo-test", "claim_id": claim, "blocking": true })),
        (&analyst, "challenge", json!({ "claim_id": claim, "reason": "it is fast" })),
        (&devops, "record_decision", decision.clone()),
        (&analyst, "record_decision", decision.clone()),
        (
            &devops,
            "record_decision",
            json!({ "statement": "we shard", "target": "database", "rationale": why }),
        ),
        (
            &devops,
            "record_decision",
            json!({ "statement": "we shard", "target": "databases", "rationale": why }),
        ),
        (&devops, "record_outcome", json!({ "decision_id": claim, "outcome": "failure" })),
        (&devops, "report_event", json!({ "kind": "note", "summary": "it is so" })),
        (
            &devops,
            "add_evidence",
            json!({ "claim_id": claim, "evidence_ref": "last", "relation": "supports" }),
        ),
        (&devops, "add_task", json!({ "title": "mend the pool" })),
        (&devops, "claim_task", json!({ "task_id": "T9" })),
        (&devops, "update_task", json!({ "task_id": "T1", "status": "active" })),
        (&devops, "claim_task", json!({ "task_id": "T1", "lease_minutes": 5 })),
        (&analyst, "claim_task", json!({ "task_id": "T1" })),
        (&devops, "declare_intent", json!({ "intent": "ship it" })),
        (&devops, "update_task", json!({ "task_id": "T1", "status": "done", "fencing_token": 7 })),
        (&devops, "update_task", json!({ "task_id": "T1", "status": "done" })),
    ] {
        told.push(pane.call(tool, arguments).await.expect("an answer").text);
        told.push(devops.read("hivemind://attention").await.expect("attention"));
    }
    for address in ["contradictions", "tasks", "profiles", "context", "status", "anchors"] {
        told.push(devops.read(&format!("hivemind://{address}")).await.expect("a resource"));
    }
    told.push(devops.read(&format!("hivemind://claims/{claim}")).await.expect("a claim"));
    let mut called = BTreeSet::new();
    for text in &told {
        // A tool that the client is not offered is named by its verb, and said to be.
        let text = &text.replace("in a shell: `hm ", "in a shell: `");
        for verb in ["claim", "decision", "experiment", "intent", "log", "phase", "plan", "target", "task"] {
            assert!(!text.contains(&format!("hm {verb} ")), "a verb where a tool is meant: {text}");
        }
        for (at, _) in text.match_indices(" {\"") {
            let before = &text[..at];
            let Some(tool) = before.rsplit('`').next().filter(|tool| !tool.contains(' ')) else { continue };
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tool-schemas/{tool}.json"));
            let schema =
                std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{tool}: {error}: {text}"));
            let schema: Value = serde_json::from_str(&schema).expect("JSON");
            let mut arguments = serde_json::Deserializer::from_str(&text[at + 1..]).into_iter::<Value>();
            let arguments =
                arguments.next().expect("arguments").unwrap_or_else(|error| panic!("{error}: {text}"));
            for name in arguments.as_object().expect("an object").keys() {
                let known = &schema["inputSchema"]["properties"][name];
                assert!(known.is_object(), "{tool} takes no {name}: {text}");
            }
            for name in schema["inputSchema"]["required"].as_array().into_iter().flatten() {
                assert!(
                    arguments.get(name.as_str().expect("a name")).is_some(),
                    "{tool} needs {name}: {text}"
                );
            }
            called.insert(tool.to_owned());
        }
    }
    for tool in
        ["add_evidence", "challenge", "claim_task", "create_claim", "deprecate_claim", "record_decision"]
    {
        assert!(called.contains(tool), "no hint named {tool}: {called:?}");
    }
}

/// Red before: a support that was not enough said how many were lacking of how many, and not what it waits for.
#[test]
fn a_support_says_what_the_claim_waits_for() {
    let shell = Shell::new();
    shell.end_writer();
    std::fs::write(shell.workspace().config(), "[quorum]\nsupports = 2\n").expect("a configuration");
    let made = shell.json("hm claim create \"the pool holds 20\" --scope src --agent devops --json");
    // Red before: the receipt spoke of one.
    assert_eq!(made["next"], "confirmed once 2 other agents support it");
    let id = made["entity_id"].as_str().expect("an id");
    for (by, says) in [
        ("analyst", "not confirmed yet: it waits for 1 more support"),
        ("reviewer", "confirmed: agreed by analyst, reviewer"),
    ] {
        let told = shell.json(&format!("hm claim support {id} --agent {by} --json"));
        assert_eq!(told["next"], says);
    }
}
