//! What attention prints under "to settle it" settles it: every kind of entry, made by the real binary, and every
//! printed command, typed into a shell by the agent whose move it is.

use std::process::{Command, Output, Stdio};

use hivemind::domain::claim::ContradictionKind;
use hivemind::domain::decide::Policy;
use hivemind::spool::Spool;
use hivemind::system::Sources;
use hivemind::views::AttentionKind;
use hivemind::writer::{Committer, Miner, propose};
use serde_json::{Value, json};

use crate::harness::{creation, wait_until};
use crate::hints::assert_typeable;
use crate::hook::{claude, spool_is_empty};
use crate::shell::Shell;
use crate::terminal::by_a_human;

/// Makes one entry of attention in a fresh workspace.
type Scene = fn(&Shell);

/// The scenes of a kind. A new kind does not compile until it has one.
fn scenes(kind: AttentionKind) -> Vec<Scene> {
    match kind {
        AttentionKind::Question => {
            vec![asked, asked_until, asked_about_a_successor, challenged_other_content]
        }
        AttentionKind::Contradiction => ContradictionKind::ALL
            .iter()
            .map(|kind| contradiction(*kind))
            .chain([
                two_challenges as Scene,
                of_one_agent,
                of_three_decisions,
                beside_the_operators,
                the_operator_supports_a_side,
            ])
            .chain([the_operator_supports_a_decision as Scene])
            .chain([a_decision_on_a_path as Scene, challenged_again, challenged_beside_another_decision])
            .collect(),
        AttentionKind::PendingProof => vec![pending_proof],
        // Each challenge opens a contradiction. A ledger of an older release may hold one that did not.
        AttentionKind::Contested => Vec::new(),
        AttentionKind::Task => vec![task_for_an_agent],
        AttentionKind::FailedSince => vec![failed_since_proof],
        AttentionKind::Unstable => vec![unstable_proof],
        AttentionKind::Proposal => {
            vec![
                would_deprecate,
                would_challenge,
                would_challenge_a_supported_one,
                would_challenge_a_decision,
                would_deprecate_a_decision,
                would_decide,
                would_decide_without_a_target,
                would_supersede,
            ]
        }
        AttentionKind::Guard => vec![guard_ignored, guard_proved_wrong],
        AttentionKind::Suggestion => vec![error_repeated, decision_failed],
        AttentionKind::Lease => vec![lease],
        AttentionKind::Pattern => vec![crate::patterns::a_loop, a_handoff_loop],
        AttentionKind::Rejected => vec![rejected],
        AttentionKind::Policy => vec![loosened, waiting_rules],
        AttentionKind::Fault => vec![unreadable_row],
        // No agent is named: `hints::silence_is_told_to_every_agent_but_the_owner`.
        AttentionKind::Silence => Vec::new(),
        AttentionKind::Orphaned => vec![orphaned],
        AttentionKind::Playbook => vec![playbook],
        AttentionKind::Hypothesis => vec![hypotheses],
        AttentionKind::Merge => vec![a_merge, a_merge_of_a_proven_one, a_merge_of_the_operators_word],
    }
}

fn playbook(shell: &Shell) {
    crate::playbooks::with_proposals(shell, false);
}

/// Two agents say the same.
fn a_merge(shell: &Shell) {
    said_twice(shell);
    merges_are_proposed(shell);
}

/// Red before: the proven claim of the analyst had less support, and went out of force.
fn a_merge_of_a_proven_one(shell: &Shell) {
    trusted(shell, "yes", "\"true\"");
    let [older, proven] = said_twice(shell);
    does(shell, &format!("hm claim challenge {proven} --reason \"it is 9000\" --agent reviewer"));
    does(shell, &format!("hm experiment run yes --claim {proven} --blocking --agent analyst"));
    does(shell, &format!("hm claim support {older} --agent frontend"));
    merges_are_proposed(shell);
}

/// The operator supports the claim that goes.
fn a_merge_of_the_operators_word(shell: &Shell) {
    let [older, theirs] = said_twice(shell);
    for agent in ["frontend", "reviewer"] {
        does(shell, &format!("hm claim support {older} --agent {agent}"));
    }
    does(shell, &format!("hm claim support {theirs} --agent operator"));
    merges_are_proposed(shell);
}

fn said_twice(shell: &Shell) -> [String; 2] {
    let older = claim(shell, "devops", "service alpha uses port 8000");
    [older, claim(shell, "analyst", "The service alpha uses the port 8000.")]
}

fn merges_are_proposed(shell: &Shell) {
    shell.end_writer();
    let mut committer =
        Committer::open(&shell.workspace(), Policy::default(), Sources::system()).expect("a workspace");
    // On a slow machine the writer has mined it already.
    propose(&mut committer, Miner::Merges).expect("mined");
    drop(committer);
    let needs = shell.json("hm --json attention")["needs"].clone();
    let merges = needs.as_array().expect("needs").iter().filter(|need| need["kind"] == "merge");
    assert_eq!(merges.count(), 1, "{needs}");
}

fn hypotheses(shell: &Shell) {
    crate::playbooks::with_proposals(shell, true);
}

fn contradiction(kind: ContradictionKind) -> Scene {
    match kind {
        ContradictionKind::Position => |shell| {
            let claim = claim(shell, "devops", "vendoring is slow");
            does(shell, &format!("hm claim challenge {claim} --reason \"it is fast\" --agent reviewer"));
        },
        ContradictionKind::Polarity => |shell| {
            claim(shell, "devops", "the pool gives connections back");
            claim(shell, "analyst", "the pool does not give connections back");
        },
        ContradictionKind::Value => |shell| {
            claim(shell, "devops", "the pool size is 20");
            claim(shell, "analyst", "the pool size is 50");
        },
        ContradictionKind::Target => |shell| {
            for (by, what, target) in
                [("devops", "we keep SQLite", "database"), ("analyst", "we take Postgres", "store")]
            {
                does(
                    shell,
                    &format!(
                        "hm decision record \"{what}\" --target {target} --rationale \"it is there already\" \
                         --agent {by}"
                    ),
                );
            }
            does(shell, "hm target alias database store --agent operator");
        },
        ContradictionKind::Explicit => |shell| {
            let one = claim(shell, "devops", "the cache is warm at noon");
            let other = claim(shell, "analyst", "no request meets the cache");
            does(
                shell,
                &format!("hm claim evidence {one} --ref {other} --relation contradicts --agent reviewer"),
            );
        },
        ContradictionKind::Supersession => |shell| {
            let old = claim(shell, "devops", "the pool holds 20 connections");
            does(shell, &format!("hm claim support {old} --agent analyst"));
            does(
                shell,
                &format!(
                    "hm claim create \"the pool is gone\" --scope src --supersedes {old} --agent architect"
                ),
            );
        },
    }
}

/// Another agent than the owner cited the lines of a file that is gone.
fn orphaned(shell: &Shell) {
    let claim = claim(shell, "devops", "vendoring is slow");
    let file = shell.workspace().root().join("gone.rs");
    std::fs::write(&file, "fn gone() {}\n").expect("a file");
    does(shell, &format!("hm claim evidence {claim} --ref gone.rs:1 --agent analyst"));
    std::fs::remove_file(file).expect("the file");
}

fn task_for_an_agent(shell: &Shell) {
    claim(shell, "analyst", "vendoring is slow");
    does(shell, "hm task add \"measure it\" --for analyst --agent devops");
}

fn two_challenges(shell: &Shell) {
    let claim = claim(shell, "devops", "vendoring is slow");
    for by in ["reviewer", "analyst"] {
        does(shell, &format!("hm claim challenge {claim} --reason \"it is fast\" --agent {by}"));
    }
}

fn of_one_agent(shell: &Shell) {
    claim(shell, "devops", "the pool size is 20");
    claim(shell, "devops", "the pool size is 50");
}

/// Red before: each command named two of the three, and was refused with the third.
fn of_three_decisions(shell: &Shell) {
    contradiction(ContradictionKind::Target)(shell);
    does(
        shell,
        "hm decision record \"we write one file\" --target disk --rationale \"it is there already\" --agent frontend",
    );
    does(shell, "hm target alias database disk --agent operator");
}

/// Red before: the move was that of an agent, and its command only made a proposal to the operator.
fn beside_the_operators(shell: &Shell) {
    claim(shell, "operator", "the pool size is 20");
    claim(shell, "analyst", "the pool size is 50");
}

fn the_operator_supports_a_side(shell: &Shell) {
    let one = claim(shell, "devops", "the pool size is 20");
    claim(shell, "analyst", "the pool size is 50");
    does(shell, &format!("hm claim support {one} --agent operator"));
}

/// Red before: the owner's command superseded one of the two, and was refused with the other.
fn challenged_beside_another_decision(shell: &Shell) {
    let decided = |by: &str, what: &str, target: &str| {
        let rationale = "--rationale \"it is there already\"";
        id_of(shell, &format!("hm decision record \"{what}\" --target {target} {rationale} --agent {by}"))
    };
    decided("devops", "we keep SQLite", "database");
    let other = decided("analyst", "we take Postgres", "store");
    does(shell, &format!("hm claim challenge {other} --reason \"one is enough\" --agent frontend"));
    does(shell, "hm target alias database store --agent operator");
}

fn the_operator_supports_a_decision(shell: &Shell) {
    contradiction(ContradictionKind::Target)(shell);
    let decisions = shell.json("hm --json decision list");
    let one = decisions["decisions"][0]["claim_id"].as_str().expect("a decision").to_owned();
    does(shell, &format!("hm claim support {one} --agent operator"));
}

fn asked(shell: &Shell) {
    does(shell, "hm claim create \"I build it with a heap\" --scope src --ask analyst --agent devops");
}

fn asked_until(shell: &Shell) {
    does(
        shell,
        "hm decision record \"we keep SQLite\" --target database --rationale \"one file, no server\" \
         --ask analyst --ask reviewer --unless-objection-minutes 60 --agent devops",
    );
}

fn asked_about_a_successor(shell: &Shell) {
    let old = claim(shell, "devops", "the pool holds 20 connections");
    does(shell, &format!("hm claim support {old} --agent analyst"));
    does(
        shell,
        &format!("hm claim create \"the pool holds 30 now\" --scope src --supersedes {old} --agent devops"),
    );
}

/// Red before: the claim waited for the challenger, which was on no list.
fn challenged_other_content(shell: &Shell) {
    let root = shell.workspace().root().to_owned();
    std::fs::create_dir_all(root.join("src")).expect("a directory");
    std::fs::write(root.join("src/a.rs"), "one\n").expect("a file");
    let claim = id_of(shell, "hm claim create \"a divides\" --scope src/a.rs --agent devops");
    does(shell, &format!("hm claim challenge {claim} --reason \"it rounds\" --agent reviewer"));
    std::fs::write(root.join("src/a.rs"), "two\n").expect("a file");
    does(shell, &format!("hm claim still {claim} --agent devops"));
}

/// Writes a profile that a human trusts.
pub(crate) fn trusted(shell: &Shell, name: &str, argv: &str) {
    let profiles = shell.workspace().marker_dir().join("profiles");
    std::fs::create_dir_all(&profiles).expect("a directory");
    let profile = format!(
        "description = \"a test\"\nscopes = [\"**\"]\nargv = [{argv}]\ntimeout_ms = 60000\n[expect]\nexit = 0\nfails = [1]\n"
    );
    std::fs::write(profiles.join(format!("{name}.toml")), profile).expect("a profile");
    let trusted = by_a_human(&shell.command(&format!("hm profile trust {name} --yes")));
    assert!(trusted.status.success(), "{trusted:?}");
}

fn failed_since_proof(shell: &Shell) {
    trusted(shell, "yes", "\"true\"");
    trusted(shell, "no", "\"false\"");
    let claim = claim(shell, "devops", "the cache is cold");
    does(shell, &format!("hm claim challenge {claim} --reason \"it is warm\" --agent reviewer"));
    does(shell, &format!("hm experiment run yes --claim {claim} --blocking --agent devops"));
    does(shell, &format!("hm experiment run no --claim {claim} --agent reviewer"));
}

/// Red before: a proof whose test failed on the same content was on no list.
fn unstable_proof(shell: &Shell) {
    let root = shell.workspace().root().to_owned();
    std::fs::create_dir_all(root.join("src")).expect("a directory");
    std::fs::write(root.join("src/a.rs"), "fine\n").expect("a file");
    crate::proof::git(&root, &["init", "-q"]);
    crate::proof::git(&root, &["add", "src"]);
    crate::proof::git(&root, &["commit", "-qm", "one"]);
    // It passes where the file is, which lies outside of the repository.
    let there = shell.state_home().join("there");
    std::fs::write(&there, "").expect("a file");
    trusted(shell, "check", &format!("\"test\", \"-e\", \"{}\"", there.display()));
    let claim = id_of(shell, "hm claim create \"a divides\" --scope src/a.rs --agent devops");
    does(shell, &format!("hm claim challenge {claim} --reason \"it rounds\" --agent reviewer"));
    does(shell, &format!("hm experiment run check --claim {claim} --blocking --agent devops"));
    std::fs::remove_file(there).expect("a file");
    does(shell, &format!("hm experiment run check --claim {claim} --agent reviewer"));
}

fn pending_proof(shell: &Shell) {
    let waits = format!("until test -e {}; do sleep 0.1; done", go(shell).display());
    trusted(shell, "check", &format!("\"sh\", \"-c\", \"{waits}\""));
    let claim = claim(shell, "devops", "the cache is cold");
    does(shell, &format!("hm claim challenge {claim} --reason \"it is warm\" --agent reviewer"));
    does(shell, &format!("hm experiment run check --claim {claim} --blocking --no-wait --agent devops"));
}

/// The file that lets the run of [`pending_proof`] end, however slow the machine is.
fn go(shell: &Shell) -> std::path::PathBuf {
    shell.state_home().join("go")
}

/// Red before: a dispute that was opened again said `hm experiment cancel` or nothing that helps.
fn challenged_again(shell: &Shell) {
    let claim = claim(shell, "devops", "vendoring is slow");
    let challenge = format!("hm claim challenge {claim} --reason \"it is fast\" --agent reviewer");
    does(shell, &challenge);
    does(shell, &format!("hm claim abstain {claim} --agent reviewer"));
    does(shell, &challenge);
}

fn would_deprecate(shell: &Shell) {
    let claim = claim(shell, "operator", "the pool size is 20");
    does(shell, &format!("hm claim deprecate {claim} --reason \"it grew\" --agent architect"));
}

fn would_challenge(shell: &Shell) {
    let claim = claim(shell, "operator", "the pool size is 20");
    does(shell, &format!("hm claim challenge {claim} --reason \"it grew\" --agent analyst"));
}

fn would_challenge_a_supported_one(shell: &Shell) {
    let claim = claim(shell, "devops", "the pool size is 20");
    does(shell, &format!("hm claim support {claim} --agent operator"));
    does(shell, &format!("hm claim challenge {claim} --reason \"it grew\" --agent analyst"));
}

fn would_challenge_a_decision(shell: &Shell) {
    let decided = operators_decision(shell);
    does(shell, &format!("hm claim support {decided} --agent analyst"));
    does(shell, &format!("hm claim challenge {decided} --reason \"two are faster\" --agent devops"));
}

fn would_deprecate_a_decision(shell: &Shell) {
    let decided = operators_decision(shell);
    does(shell, &format!("hm claim deprecate {decided} --reason \"it is over\" --agent architect"));
}

fn operators_decision(shell: &Shell) -> String {
    let line = "hm decision record \"we keep SQLite\" --target database --rationale \"one file, no server\" --agent operator";
    id_of(shell, line)
}

fn would_decide(shell: &Shell) {
    let decided = id_of(
        shell,
        "hm decision record \"we keep SQLite\" --target database --rationale \"one file, no server\" --agent operator",
    );
    does(
        shell,
        &format!(
            "hm decision record \"we take Postgres\" --target database --supersedes {decided} \
             --rationale \"several machines write now\" --agent architect"
        ),
    );
}

/// Red before: what was printed named no scope, and was refused.
fn would_decide_without_a_target(shell: &Shell) {
    let record = "hm decision record --scope src --scope docs";
    let line = format!("{record} \"we keep one file\" --rationale \"one file, no server\" --agent operator");
    let decided = id_of(shell, &line);
    let instead = "\"we keep two files\" --rationale \"two are faster to read\"";
    does(shell, &format!("{record} {instead} --supersedes {decided} --agent architect"));
}

fn would_supersede(shell: &Shell) {
    let old = claim(shell, "operator", "the pool size is 20");
    does(
        shell,
        &format!("hm claim create \"the pool grew to 50\" --scope src --supersedes {old} --agent architect"),
    );
}

/// Red before: what was printed named no scope, and was refused.
fn a_decision_on_a_path(shell: &Shell) {
    let line = "hm decision record \"we keep one file\" --scope src --rationale \"one file, no server\" --agent devops";
    let decided = id_of(shell, line);
    let challenge = format!("hm claim challenge {decided} --reason \"two are faster\" --agent reviewer");
    does(shell, &challenge);
    does(shell, &format!("hm claim abstain {decided} --agent reviewer"));
    does(shell, &challenge);
}

fn lease(shell: &Shell) {
    let task = id_of(shell, "hm task add \"mend the pool\" --agent devops");
    does(shell, &format!("hm task claim {task} --lease 5 --agent devops"));
}

fn a_handoff_loop(shell: &Shell) {
    let task = id_of(shell, "hm task add \"mend the pool\" --agent devops");
    for by in ["devops", "analyst", "devops", "analyst"] {
        does(shell, &format!("hm task claim {task} --agent {by}"));
        does(shell, &format!("hm task update {task} open --agent {by}"));
    }
    wait_until("the hand-off loop is found", || {
        let open = shell.json("hm --json pattern list");
        open["patterns"].as_array().is_some_and(|open| !open.is_empty())
    });
}

fn rejected(shell: &Shell) {
    claim(shell, "devops", "the pool size is 20");
    let mut twin = creation("analyst", "the pool size is 20");
    if let hivemind::domain::command::Command::CreateClaim(create) = &mut twin.command {
        create.scopes = vec!["src".parse().expect("a scope")];
    }
    assert_eq!(Spool::of(&shell.workspace()).append(&twin).expect("a spool"), None);
    wait_until("it is refused", || {
        shell.json("hm --json log --type command.rejected")["events"]
            .as_array()
            .is_some_and(|events| !events.is_empty())
    });
}

/// A guard that escalates each time it fires.
fn guard_ignored(shell: &Shell) {
    does(
        shell,
        "hm guard accept --command \"cargo doc\" --action escalate --text \"ask first\" --agent architect",
    );
    let session = claude(shell, "s-1", "devops");
    session.start();
    spool_is_empty(shell);
    assert!(session.about_to_run("cargo doc --all").contains("ask first"));
    spool_is_empty(shell);
}

fn guard_proved_wrong(shell: &Shell) {
    does(
        shell,
        "hm claim create \"cargo doc is broken\" --type negative --scope src --trigger-command \"cargo doc\" --agent analyst",
    );
    let session = claude(shell, "s-1", "devops");
    session.start();
    for _ in 0..3 {
        session.prompt("go on");
        spool_is_empty(shell);
        assert!(session.about_to_run("cargo doc --all").contains("broken"));
        spool_is_empty(shell);
        let done = json!({ "tool_name": "Bash", "tool_input": { "command": "cargo doc --all" }, "tool_response": {} });
        session.told("PostToolUse", done);
        spool_is_empty(shell);
    }
}

fn error_repeated(shell: &Shell) {
    let session = claude(shell, "s-1", "devops");
    session.start();
    for _ in 0..3 {
        let failed = json!({
            "tool_name": "Bash", "tool_input": { "command": "cargo build" },
            "error": "Exit code 101\nerror[E0433]: failed to resolve: use of undeclared crate `foo`"
        });
        session.told("PostToolUseFailure", failed);
        spool_is_empty(shell);
    }
}

fn decision_failed(shell: &Shell) {
    let decision = id_of(
        shell,
        "hm decision record \"we vendor openssl\" --rationale \"it builds anywhere\" --scope vendor --agent architect",
    );
    does(shell, &format!("hm decision outcome {decision} failure --agent architect"));
}

fn loosened(shell: &Shell) {
    waiting_rules(shell);
    shell.allow_rules();
    claim(shell, "devops", "the log is short");
}

fn waiting_rules(shell: &Shell) {
    claim(shell, "devops", "the pool size is 20");
    shell.end_writer();
    std::fs::write(shell.workspace().config(), "[quorum]\nowner_counts = true\n").expect("a configuration");
    claim(shell, "devops", "the log stays");
}

fn unreadable_row(shell: &Shell) {
    let claim = claim(shell, "devops", "the pool size is 20");
    does(shell, &format!("hm claim challenge {claim} --reason \"it is 50\" --agent reviewer"));
    let db = rusqlite::Connection::open(shell.workspace().team_memory()).expect("read models");
    db.execute("UPDATE claims SET scopes = 'not json' WHERE id = ?1", [claim]).expect("a change");
}

pub(crate) fn does(shell: &Shell, line: &str) -> Output {
    let output = shell.run(line);
    assert!(output.status.success(), "{line}: {output:?}");
    assert_all_typeable(shell, line, &output);
    output
}

/// Each command that a line shows, in a receipt or a refusal, is one that the parser takes.
fn assert_all_typeable(shell: &Shell, line: &str, output: &Output) {
    for stream in [&output.stdout, &output.stderr] {
        assert_typeable(shell, line, &String::from_utf8_lossy(stream));
    }
}

pub(crate) fn id_of(shell: &Shell, line: &str) -> String {
    let made: Value = serde_json::from_slice(&does(shell, &format!("{line} --json")).stdout).expect("JSON");
    made["entity_id"].as_str().expect("an id").to_owned()
}

fn claim(shell: &Shell, by: &str, statement: &str) -> String {
    id_of(shell, &format!("hm claim create \"{statement}\" --scope src --agent {by}"))
}

/// Types a command as it was printed into a shell of an agent.
pub(crate) fn typed(shell: &Shell, by: &str, command: &str) -> Output {
    let mut typed = Command::new("sh");
    typed.args(["-c", command]).current_dir(shell.workspace().root()).stdin(Stdio::null());
    for (name, value) in shell.command("hm status").get_envs() {
        match value {
            Some(value) => typed.env(name, value),
            None => typed.env_remove(name),
        };
    }
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_hm")).parent().expect("a directory");
    typed.env("PATH", format!("{}:/usr/bin:/bin", bin.display())).env("HM_AGENT", by);
    let output = if by == "operator" { by_a_human(&typed) } else { typed.output().expect("a shell") };
    assert_all_typeable(shell, command, &output);
    output
}

/// The entries of a kind.
fn needs(shell: &Shell, kind: AttentionKind) -> Vec<Value> {
    let all = shell.json("hm --json attention");
    let all = all["needs"].as_array().expect("needs");
    all.iter().filter(|need| need["kind"] == kind.as_str()).cloned().collect()
}

/// Whose move it is, and the commands of each.
fn moves(need: &Value) -> Vec<(String, String)> {
    let moves = need["moves"].as_object().expect("moves");
    assert!(!moves.is_empty(), "no agent's move: {need}");
    let of = |(agent, commands): (&String, &Value)| -> Vec<(String, String)> {
        let commands = commands.as_array().expect("commands").iter();
        commands.map(|command| (agent.clone(), command.as_str().expect("a command").to_owned())).collect()
    };
    moves.iter().flat_map(of).collect()
}

/// The statement that an amendment begins from, as one word of a shell.
fn old_words(shell: &Shell, command: &str) -> String {
    let Some(name) = command.strip_prefix("hm decision amend ").and_then(|rest| rest.split(' ').next())
    else {
        return String::new();
    };
    let decision = shell.json(&format!("hm --json claim show {name}"));
    format!("'{}'", decision["statement"].as_str().expect("a statement"))
}

fn check(kind: AttentionKind, scene: Scene) {
    let mut at = 0;
    loop {
        let shell = Shell::new();
        scene(&shell);
        let before = needs(&shell, kind);
        let need = before.first().unwrap_or_else(|| panic!("{kind}: the scene makes none"));
        assert!(need["since"].as_i64().is_some_and(|since| since > 0), "since when: {need}");
        let moves = moves(need);
        let Some((by, command)) = moves.get(at) else {
            assert!(at > 0);
            return;
        };
        // What people read says the same, to the agent whose move it is, with names for ids: that is typed.
        let mut reads = hivemind::reads::Reads::of(shell.workspace());
        let command = &*hivemind::views::shortened(&mut reads, command);
        let text = String::from_utf8(typed(&shell, by, "hm attention").stdout).expect("text");
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat(&text).contains(&format!("`{command}`")), "{kind}, {by}: {command} is not in\n{text}");
        assert!(flat(&text).contains(&format!("{by}'s")), "whose move it is: {text}");
        // The reader says the sentences.
        let command = &*command
            .replace("'WHY, IN A SENTENCE'", "it-was-measured-so")
            .replace("--reason REASON", "--reason it-was-measured-so")
            .replace(" STATEMENT ", " what-holds-now ")
            .replace("'NEW WORDS'", "what-holds-now")
            .replace("'OLD WORDS'", &old_words(&shell, command));
        std::fs::write(go(&shell), "").expect("a file");
        let done = typed(&shell, by, command);
        assert!(done.status.success(), "{kind}, {by}: {command}: {done:?}");
        let is_it = |other: &Value| other["ids"] == need["ids"];
        let mut left = needs(&shell, kind);
        // Both agents were asked by one claim: the other one still is.
        left.retain(|other| is_it(other) && other["asked"] == need["asked"]);
        assert!(left.is_empty(), "{kind}, {by}: {command} settles nothing: {left:?}");
        at += 1;
    }
}

/// Red before: the agreed claim stayed, and the proof was lost.
#[test]
fn a_proven_claim_stays_in_a_merge() {
    let shell = Shell::new();
    a_merge_of_a_proven_one(&shell);
    does(&shell, "hm claim merge C1 C2 --agent architect");
    let status = |name: &str| shell.json(&format!("hm --json claim show {name}"))["status"].clone();
    assert_eq!((status("C1"), status("C2")), ("deprecated".into(), "confirmed".into()));
}

#[test]
fn what_is_printed_settles_it() {
    // What each scene needs is a writer and a dozen commands: two at a time keep the machine busy.
    let scenes: Vec<(AttentionKind, Scene)> = AttentionKind::ALL
        .iter()
        .flat_map(|kind| scenes(*kind).into_iter().map(move |scene| (*kind, scene)))
        .collect();
    std::thread::scope(|scope| {
        for half in scenes.chunks(scenes.len().div_ceil(2)) {
            scope.spawn(move || half.iter().for_each(|(kind, scene)| check(*kind, *scene)));
        }
    });
}
