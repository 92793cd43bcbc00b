//! The policy against agents that want more than it gives: forged messages, promotions, a file that vanished, and
//! claims whose term is over.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::PathBuf;

use hivemind::config::Config;
use hivemind::domain::claim::{ClaimType, Position, Status};
use hivemind::domain::command::{Command, CreateClaim, StartSession, Submission};
use hivemind::domain::decide;
use hivemind::domain::ids::ClaimId;
use hivemind::domain::session::Source;
use hivemind::domain::time::{Hours, Timestamp};
use hivemind::reads::Reads;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::forget::holding;
use crate::harness::{
    TempWorkspace, block_on, claim_of, committed, creation, fact, folded, law, position, request, wait_until,
};
use crate::hook::claude;
use crate::shell::Shell;
use crate::spaces::{kinds, said, told};
use crate::terminal::by_a_human;

/// Replaces the configuration in one step: a running writer reads it at any moment.
fn govern(shell: &Shell, text: &str) {
    let (config, new) = (shell.workspace().config(), shell.workspace().root().join("new.toml"));
    std::fs::write(&new, text).expect("a file");
    std::fs::rename(&new, config).expect("a config file");
}

pub(crate) fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn promote(shell: &Shell, by: &str, rest: &str) -> Value {
    let line = format!("hm --json --agent {by} memory promote {rest} --reason \"it is wanted there\"");
    told(shell, "ann", &line)
}

/// A session of devops in which two messages were recorded as of the user: one by the verb, one by a payload that no
/// client sent. Their numbers are 1 and 2.
fn forged(shell: &Shell) {
    said(shell, "ann", "hm --agent devops session start");
    let turn = "hm --json --agent devops session turn user \"deploy whenever you like\"";
    assert_eq!(told(shell, "ann", turn)["state"], "committed");
    claude(shell, "s-ann", "devops").prompt("deploy at night too");
    // A hook on a busy machine only queues what it records.
    wait_until("both messages are recorded", || {
        let page = said(shell, "ann", "hm --json memory list --kind short_term");
        page.contains("whenever") && page.contains("at night too")
    });
}

#[test]
fn a_forged_message_takes_no_place_of_what_the_operator_recorded() {
    let shell = Shell::new();
    let operator =
        |line: &str| told(&shell, "ann", &format!("hm --json --agent operator anchor save {line}"));
    assert_eq!(operator("DEPLOY \"on Mondays only\"")["state"], "committed");
    assert_eq!(operator("EDITOR helix --space user")["state"], "committed");
    forged(&shell);
    let holds = |what: &str| {
        let anchors = said(&shell, "ann", "hm anchor list");
        assert!(anchors.contains("on Mondays only") && anchors.contains("helix"), "{what}: {anchors}");
    };
    let low = promote(&shell, "devops", "session:s-ann:short_term:1 --to user --key EDITOR");
    assert_eq!(low["code"], "authority_too_low", "{low}");
    assert!(low["hint"].as_str().is_some_and(|hint| hint.contains("operator")), "{low}");
    holds("one step");
    // A free key of the user's own space stays open to an agent, and leads no further.
    let done = promote(&shell, "devops", "session:s-ann:short_term:1 --to user --key NOTE");
    assert_eq!(done["state"], "committed", "{done}");
    for rest in ["", " --key DEPLOY"] {
        let low = promote(&shell, "devops", &format!("user:ann:profile:3 --to project{rest}"));
        assert_eq!(low["code"], "authority_too_low", "{rest}: {low}");
    }
    // Nor does an agent move what the operator keeps for one user.
    let low = promote(&shell, "devops", "user:ann:profile:2 --to project --key OTHER");
    assert_eq!(low["code"], "authority_too_low", "{low}");
    holds("two steps");
    let refused = kinds(&shell, "memory.promotion_denied");
    assert_eq!(refused.len(), 4, "{refused:?}");
    assert!(refused.iter().all(|event| event["reason"] == "authority_too_low"), "{refused:?}");

    // The operator does all of it, and the configuration can let agents do it.
    let done = promote(&shell, "operator", "user:ann:profile:3 --to project --key DEPLOY");
    assert_eq!(done["state"], "committed", "{done}");
    assert!(said(&shell, "bob", "hm anchor list").contains("deploy whenever you like"));
    shell.end_writer();
    govern(&shell, "[trust]\nagents_may_override_operator = true\n");
    shell.allow_rules();
    let done = promote(&shell, "devops", "session:s-ann:short_term:2 --to user --key EDITOR");
    assert_eq!(done["state"], "committed", "{done}");
}

#[test]
fn under_human_only_an_agent_promotes_nothing() {
    let shell = Shell::new();
    forged(&shell);
    govern(&shell, "[policy]\ntrust = \"human_only\"\n");
    let refused = promote(&shell, "devops", "session:s-ann:short_term:1 --to user --key NOTE");
    assert_eq!(refused["code"], "trust_human_only", "{refused}");
    assert!(refused["hint"].as_str().is_some_and(|hint| hint.contains("memory promote")), "{refused}");
    assert_eq!(kinds(&shell, "memory.denied").len(), 1);
    let done = promote(&shell, "operator", "session:s-ann:short_term:1 --to user --key NOTE");
    assert_eq!(done["state"], "committed", "{done}");
}

#[test]
fn a_message_does_not_reach_the_project_by_a_way_round_a_closed_border() {
    let shell = Shell::new();
    forged(&shell);
    let closed = "[policy.promotion]\nsession_to_project = \"never\"\ndecision_to_project = \"never\"\n\
                  [trust]\nagents_may_override_operator = true\n";
    shell.end_writer();
    govern(&shell, closed);
    shell.allow_rules();
    let done = promote(&shell, "devops", "session:s-ann:short_term:1 --to user --key NOTE");
    assert_eq!(done["state"], "committed", "{done}");
    for by in ["devops", "operator"] {
        let refused = promote(&shell, by, "user:ann:profile:1 --to project");
        assert_eq!(refused["code"], "border_closed", "{by}: {refused}");
        assert!(
            refused["message"].as_str().is_some_and(|text| text.contains("session to project")),
            "{refused}"
        );
    }
    let own = "hm --json --agent operator anchor save EDITOR helix --space user";
    assert_eq!(told(&shell, "ann", own)["state"], "committed");
    let done = promote(&shell, "operator", "user:ann:profile:2 --to project");
    assert_eq!(done["state"], "committed", "what was written there may cross: {done}");
}

#[test]
fn a_promoted_copy_is_a_write_of_its_kind() {
    let shell = Shell::new();
    forged(&shell);
    let to_user = "session:s-ann:short_term:1 --to user --key NOTE";
    for (section, code) in [
        ("deny_event_types = [\"context\"]", "event_type_denied"),
        ("allow_event_types = [\"decision\"]", "event_type_denied"),
        ("write_policy = \"minimal\"", "write_policy_minimal"),
    ] {
        govern(&shell, &format!("[policy]\n{section}\n"));
        for by in ["devops", "operator"] {
            let refused = promote(&shell, by, to_user);
            assert_eq!(refused["code"], code, "{section}: {refused}");
        }
    }
    let denied = kinds(&shell, "memory.denied");
    assert_eq!(denied.len(), 6, "{denied:?}");
    assert_eq!(denied[0]["attempted"]["event_type"], "context", "{denied:?}");
    assert!(!json!(denied).to_string().contains("whenever"), "no word of it is kept: {denied:?}");
    govern(&shell, "[policy]\ndeny_event_types = [\"context\"]\n");
    let done =
        promote(&shell, "operator", "session:s-ann:short_term:1 --to project --key NOTE --as decision");
    assert_eq!(done["state"], "committed", "{done}");
}

/// The position of the event with this payload field.
fn position_of(shell: &Shell, kind: &str, field: &str, text: &str) -> u64 {
    let page = told(shell, "ann", &format!("hm --json log --type {kind}"));
    let events = page["events"].as_array().expect("events").clone();
    let found = events
        .iter()
        .find(|event| event["payload"][field].as_str().is_some_and(|found| found.contains(text)));
    found.unwrap_or_else(|| panic!("{text}: {page}"))["seq"].as_u64().expect("a position")
}

#[test]
fn a_message_is_forgotten_with_its_promoted_copies() {
    for line in ["SEQ", "--session s-ann"] {
        let shell = Shell::new();
        let memory = shell.workspace().memory().to_owned();
        said(&shell, "ann", "hm --agent devops session start");
        // Too short to be taken for a quote elsewhere.
        said(&shell, "ann", "hm --agent devops session turn user qzvault7");
        said(&shell, "ann", "hm --agent devops session turn user \"something else\"");
        let done = promote(&shell, "operator", "session:s-ann:short_term:1 --to user --key PASS");
        assert_eq!(done["state"], "committed", "{done}");
        let done = promote(&shell, "operator", "user:ann:profile:1 --to project --key CODE");
        assert_eq!(done["state"], "committed", "{done}");
        assert!(!holding(&memory, "qzvault7").is_empty());
        let turn = position_of(&shell, "turn.recorded", "text", "qzvault7");
        let line = line.replace("SEQ", &turn.to_string());
        let dry = told(&shell, "ann", &format!("hm --json forget {line} --dry-run --operator-override test"));
        let listed: Vec<(u64, &str)> = dry["events"]
            .as_array()
            .unwrap_or_else(|| panic!("{dry}"))
            .iter()
            .map(|event| {
                (event["seq"].as_u64().expect("a position"), event["type"].as_str().expect("a type"))
            })
            .collect();
        assert!(listed.contains(&(turn, "turn.recorded")), "{dry}");
        for kind in ["anchor.saved", "memory.promoted"] {
            assert_eq!(listed.iter().filter(|(_, found)| *found == kind).count(), 2, "{kind}: {dry}");
        }
        let yes = if line.starts_with('-') { " --yes" } else { "" };
        let forget = format!("hm --json forget {line}{yes} --reason \"asked to\" --operator-override test");
        let done = told(&shell, "ann", &forget);
        assert_eq!(done["state"], "committed", "{done}");
        assert_eq!(holding(&memory, "qzvault7"), Vec::<PathBuf>::new(), "{line}");
        let anchors = said(&shell, "ann", "hm anchor list");
        assert!(!anchors.contains("CODE") && !anchors.contains("PASS"), "{anchors}");
        assert_eq!(shell.json("hm --json verify")["ok"], true);
        shell.assert_rebuilds_to_the_same();
    }
}

#[test]
fn a_policy_whose_file_vanished_stays_in_force_and_is_told() {
    let shell = Shell::new();
    let claim = |what: &str| {
        shell.json(&format!("hm --json --agent devops claim create \"{what}\" --scope src"))["code"].clone()
    };
    assert_eq!(claim("the pool leaks"), Value::Null);
    govern(&shell, "[policy]\nwrite_policy = \"none\"\n");
    assert_eq!(claim("the disk is slow"), "write_policy_none");
    for (how, text) in [("missing", None), ("empty", Some("")), ("empty", Some("# nothing here\n\n"))] {
        match text {
            None => std::fs::remove_file(shell.workspace().config()).expect("a file"),
            Some(text) => govern(&shell, text),
        }
        for round in ["a running writer", "the next writer"] {
            assert_eq!(claim("the disk is slow"), "write_policy_none", "{text:?}: {round}");
            let shown = on_one_line(&String::from_utf8_lossy(&shell.run("hm policy show").stdout));
            assert!(shown.contains("write_policy none (on record)"), "{text:?}: {shown}");
            let checked = on_one_line(&String::from_utf8_lossy(&shell.run("hm policy check").stdout));
            let doctor = on_one_line(&String::from_utf8_lossy(&shell.run("hm doctor").stdout));
            for page in [&shown, &checked, &doctor] {
                assert!(page.contains(&format!("is {how}")), "{text:?}: {page}");
                assert!(page.contains("write a line `[policy]` into it"), "{text:?}: {page}");
            }
            assert!(doctor.contains("write_policy = none"), "{text:?}: {doctor}");
            assert_eq!(shell.json("hm --json policy check")["on_record"], true);
            assert_eq!(shell.json("hm --json policy show")["on_record"], true);
            shell.end_writer();
        }
    }
    govern(&shell, "[policy]\n");
    assert_eq!(claim("the disk is slow"), Value::Null, "the operator accepted the defaults");
    assert_eq!(shell.json("hm --json policy show")["on_record"], false);
}

#[test]
fn own_secret_patterns_outlive_their_file() {
    let shell = Shell::new();
    let claim = |what: &str| {
        shell.json(&format!("hm --json --agent devops claim create \"{what}\" --scope src"))["code"].clone()
    };
    govern(&shell, "[privacy]\npatterns = [\"ACME-[0-9]{6}\"]\n");
    assert_eq!(claim("the pool leaks"), Value::Null);
    assert_eq!(claim("the customer is ACME-123456"), "privacy_deny_sensitive");
    for text in [None, Some("")] {
        match text {
            None => std::fs::remove_file(shell.workspace().config()).expect("a file"),
            Some(text) => govern(&shell, text),
        }
        for round in ["a running writer", "the next writer"] {
            assert_eq!(claim("the customer is ACME-123456"), "privacy_deny_sensitive", "{text:?}: {round}");
            assert_eq!(shell.json("hm --json policy show")["own_secret_patterns"], 1);
            shell.end_writer();
        }
    }
    assert_eq!(
        holding(shell.workspace().memory(), "ACME-"),
        Vec::<PathBuf>::new(),
        "no pattern leaves in an export"
    );
    govern(&shell, "[policy]\n");
    assert_eq!(claim("the customer is ACME-123456"), Value::Null, "the operator accepted the defaults");
    std::fs::remove_file(shell.workspace().config()).expect("a file");
    assert_eq!(claim("the customer is ACME-654321"), Value::Null, "and they stay accepted");
}

/// The statements that a list and a context show.
fn shown(shell: &Shell) -> String {
    said(shell, "ann", "hm claim list") + &said(shell, "bob", "hm context --agent analyst --all")
}

#[test]
fn a_claim_whose_term_is_over_goes_without_a_restart() {
    let shell = Shell::new();
    govern(
        &shell,
        "[policy.retention.semantic]\nfact = \"ttl 1 sessions\"\ndecision = \"decay 1 sessions\"\n",
    );
    said(&shell, "ann", "hm --agent devops claim create \"the pool leaks\" --scope src");
    let decide = "hm --agent devops decision record \"we use WAL\" --rationale \"it is faster\" --scope src";
    said(&shell, "ann", decide);
    assert!(shown(&shell).contains("the pool leaks"));
    // The next reads of the session itself must not wait for the writer.
    said(&shell, "ann", "hm --agent devops session start");
    let page = shown(&shell);
    assert!(!page.contains("the pool leaks") && page.contains("we use WAL"), "{page}");
    wait_until("the writer records it", || kinds(&shell, "memory.forgotten").len() == 1);
    said(&shell, "bob", "hm --agent analyst session start");
    let page = shown(&shell);
    assert!(!page.contains("we use WAL"), "{page}");
    wait_until("the writer records it", || kinds(&shell, "memory.forgotten").len() == 2);
}

/// One step of a random history.
#[derive(Debug, Clone, Copy)]
enum Step {
    Claim(ClaimType),
    Support(usize),
    Session,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => Just(Step::Claim(ClaimType::Fact)),
        1 => Just(Step::Claim(ClaimType::Hypothesis)),
        2 => (0..8_usize).prop_map(Step::Support),
        2 => Just(Step::Session),
    ];
    prop::collection::vec(step, 1..16)
}

/// Terms of facts and of hypotheses.
const TERMS: [(&str, &str); 5] = [
    ("ttl 2 hours", "decay 1 hours"),
    ("ttl 2 sessions", "decay 1 sessions"),
    ("decay 1 hours", "ttl 1 sessions"),
    ("decay 2 sessions", "never"),
    ("never", "ttl 1 hours"),
];

#[test]
fn reads_hide_what_is_over_at_their_time_as_the_writer_ends_it() {
    let over = Cell::new(0);
    TestRunner::new(law(file!(), 10, 200))
        .run(&(prop::sample::select(&TERMS[..]), steps()), |((fact_term, context_term), steps)| {
            let workspace = TempWorkspace::new();
            let section = format!("fact = \"{fact_term}\"\ncontext = \"{context_term}\"\n");
            let text = format!("[policy.retention.semantic]\n{section}");
            std::fs::write(workspace.config(), &text).expect("a config file");
            let policy = Config::load(&workspace.config()).expect("a configuration").memory;
            let writer = workspace.writer(&[]);
            let first = creation("devops", "the first claim");
            block_on(committed(&workspace.front(), &first)).expect("a receipt");
            let is_recorded = || workspace.events().iter().any(|event| event.kind == "policy.changed");
            wait_until("the policy is recorded", is_recorded);
            drop(writer);
            workspace.end_writer();
            let mut committer = workspace.committer(1);
            let mut made = vec![claim_of(&first)];
            for (at, step) in steps.iter().enumerate() {
                let submission = match step {
                    Step::Claim(claim_type) => {
                        let create = CreateClaim { claim_type: *claim_type, ..fact(&format!("claim {at}")) };
                        made.push(create.claim_id);
                        request("devops", Command::CreateClaim(create))
                    }
                    Step::Support(claim) => position("analyst", made[claim % made.len()], Position::Support),
                    Step::Session => {
                        let start =
                            StartSession { source: Source::Startup, client: None, parent_session: None };
                        let session = Some(format!("s-{at}").parse().expect("a session"));
                        Submission { session, ..request("frontend", Command::StartSession(start)) }
                    }
                };
                // Some positions are refused.
                let _ = committer.commit(&[submission]).expect("a group").remove(0);
            }
            drop(committer);
            let events = workspace.events();
            let state = folded(&events);
            let mut reads = Reads::of((*workspace).clone());
            for event in &events {
                for (hours, off_ms) in [(0, 0), (1, -1), (1, 0), (1, 1), (2, -1), (2, 0), (2, 1)] {
                    let now = Timestamp::from_ms(event.at.plus(Hours(hours)).ms() + off_ms);
                    let forgotten: BTreeSet<ClaimId> = decide::forgotten(&state, &policy, now)
                        .iter()
                        .filter_map(|events| events[0].claims().first().copied())
                        .collect();
                    over.set(over.get() + forgotten.len());
                    for (id, claim) in state.claims() {
                        let is_over = forgotten.contains(&id) || claim.is_over(now);
                        let (read, _) = reads.ask(now, |store| store.claim(id)).expect("an answer");
                        let read = read.flatten().expect("a claim");
                        prop_assert_eq!(
                            read.summary.status == Status::Deprecated,
                            is_over,
                            "{} at {:?}",
                            read.summary.statement,
                            now
                        );
                    }
                }
            }
            Ok(())
        })
        .expect("the law holds");
    assert!(over.get() > 20, "terms end: {over:?}");
}

#[test]
fn receipts_under_human_only_promise_nothing_that_is_refused() {
    let shell = Shell::new();
    govern(&shell, "[policy]\ntrust = \"human_only\"\n[quorum]\nsupports = 2\n");
    said(&shell, "ann", "hm --agent devops session start");
    let made = told(&shell, "ann", "hm --json --agent devops claim create \"the pool leaks\" --scope src");
    assert_eq!(made["next"], "confirmed once the operator supports it", "{made}");
    let asked = "hm --json --agent devops claim create \"the disk is slow\" --scope src --ask analyst";
    let asked = told(&shell, "bob", asked);
    assert!(!asked["next"].to_string().contains("another agent"), "{asked}");
    let done = told(&shell, "ann", "hm --json --agent operator claim support C1");
    assert_eq!(done["next"], "confirmed: agreed by operator", "one word of the operator is enough: {done}");
    let again = "hm --json --agent reviewer claim create \"the disk is slow\" --scope src";
    let again = told(&shell, "eve", again);
    assert_eq!(again["code"], "duplicate_claim", "{again}");
    assert!(!again["hint"].to_string().contains("support"), "{again}");
    let challenge = "hm --json --agent reviewer claim challenge C2 --reason \"I saw no leak\"";
    let challenge = told(&shell, "eve", challenge);
    assert!(
        challenge["next"].as_str().is_some_and(|next| next.contains("every challenger abstains")),
        "{challenge}"
    );
    let own =
        told(&shell, "ann", "hm --json --agent operator claim create \"the cache is cold\" --scope src");
    assert!(own["next"].as_str().is_some_and(|next| next.contains("no agent confirms it")), "{own}");
}

/// Red before: the run of an agent confirmed its own claim, by a test that it wrote itself.
#[test]
fn under_human_only_a_run_of_an_agent_confirms_nothing() {
    let shell = Shell::new();
    govern(&shell, "[policy]\ntrust = \"human_only\"\n");
    let write = |path: &str, text: &str| {
        std::fs::write(shell.workspace().root().join(path), text).expect("a file");
    };
    crate::akin::shell_with_pytest(&shell, "print('pytest 8.0.0, 1 passed in 0.01s')\n");
    write("calc.py", "def add(a, b): return a - b\n");
    told(&shell, "ann", "hm --json --agent devops claim create \"add works\" --scope calc.py");
    told(&shell, "bob", "hm --json --agent analyst claim challenge C1 \"it subtracts\"");
    let run = "experiment run suite --claim C1 --blocking";
    let receipt = on_one_line(&said(&shell, "ann", &format!("hm --agent devops {run}")));
    assert!(!receipt.contains("confirms claim"), "{receipt}");
    assert!(receipt.contains("passing supports claim C1"), "{receipt}");
    let why = "only the operator confirms a claim, by a run of its own: `hm experiment run suite --claim C1 --blocking`";
    assert!(receipt.contains("only the operator confirms a claim (trust = human_only)"), "{receipt}");
    assert!(receipt.contains(why), "{receipt}");
    let page = shell.json("hm --json claim show C1");
    assert_eq!(page["status"], "contested", "{page}");
    assert_eq!(page["evidence_items"][0]["relation"], "supports", "{page}");
    let attention = on_one_line(&said(&shell, "ann", "hm --agent operator attention"));
    assert!(attention.contains(why), "{attention}");
    said(&shell, "ann", &format!("hm --agent operator {run}"));
    let page = shell.json("hm --json claim show C1");
    assert_eq!((&page["status"], &page["basis"]), (&"confirmed".into(), &"proved".into()), "{page}");
    // A run of an agent that supports the claim takes no proof of the operator from it.
    told(&shell, "bob", "hm --json --agent reviewer claim challenge C1 \"it still subtracts\"");
    said(&shell, "ann", &format!("hm --agent devops {run}"));
    assert_eq!(shell.json("hm --json claim show C1")["status"], "contested");
    told(&shell, "bob", "hm --json --agent reviewer claim withdraw C1 \"I misread it\"");
    let page = shell.json("hm --json claim show C1");
    assert_eq!((&page["status"], &page["basis"]), (&"confirmed".into(), &"proved".into()), "{page}");
    shell.assert_rebuilds_to_the_same();
}

/// A git repository with the workspace of a shell, and a linked work tree of it with a `config.toml` of its own.
fn with_a_linked_tree(shell: &Shell, main: &str, linked: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let root = shell.workspace().root().to_path_buf();
    let git = |words: &[&str]| crate::proof::git(&root, words);
    git(&["init", "-q", "."]);
    std::fs::write(root.join(".hivemind/config.toml"), linked).expect("a config");
    git(&["add", "-f", ".hivemind/config.toml"]);
    git(&["commit", "-qm", "settings"]);
    let beside = tempfile::tempdir().expect("a directory");
    let tree = beside.path().join("linked");
    git(&["worktree", "add", "-q", &tree.display().to_string()]);
    std::fs::write(root.join(".hivemind/config.toml"), main).expect("a config");
    (beside, tree)
}

/// Red before: in a linked work tree the policy of that tree's own file was shown as the one in force.
#[test]
fn a_linked_work_tree_shows_the_policy_in_force() {
    let shell = Shell::new();
    let strict = "[policy]\ntrust = \"human_only\"\n";
    let (_beside, tree) = with_a_linked_tree(&shell, strict, "[policy]\nwrite_policy = \"minimal\"\n");
    let run = |line: &str| {
        let output = shell.command(line).current_dir(&tree).output().expect("hm runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let shown = run("hm policy show");
    assert!(shown.contains("human_only (line 2)") && !shown.contains("minimal"), "{shown}");
    for line in ["hm policy show", "hm policy check", "hm doctor", "hm status"] {
        assert!(run(line).replace("\n", " ").contains("has no effect"), "{line}: {}", run(line));
    }
    let here = shell.run("hm policy check");
    assert!(!String::from_utf8_lossy(&here.stdout).contains("no effect"), "{here:?}");
}

/// Red before: an export without the words of another user said nothing about it.
#[test]
fn an_export_says_what_it_leaves_out() {
    let shell = Shell::new();
    let as_user =
        |user: &str, line: &str| shell.command(line).env("HM_USER", user).output().expect("hm runs");
    for (user, value) in [("ann", "helix"), ("bob", "vim")] {
        let line = format!("hm --agent devops anchor save EDITOR {value} --space user");
        assert!(as_user(user, &line).status.success());
    }
    let done = as_user("ann", "hm --json export out.jsonl");
    let told: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert_eq!(told["withheld"], 1, "{told}");
    let done = as_user("ann", "hm export");
    let told = String::from_utf8_lossy(&done.stderr).replace('\n', " ");
    assert!(told.contains("1 events are in the space of another user"), "{told}");
}

/// Red before: the printed command lacked the space, and found nothing.
#[test]
fn the_hint_to_retire_an_anchor_of_a_user_works_as_printed() {
    let shell = Shell::new();
    let within = |line: &str| {
        let mut command = shell.command(line);
        command.env("HM_USER", "ann").env("HM_SESSION", "s-1");
        command
    };
    for line in [
        "hm --agent devops session start",
        "hm --agent devops session turn user \"I like helix\"",
        "hm --agent devops memory promote session:s-1:short_term:1 --to user --key EDITOR --reason \"for good\"",
    ] {
        assert!(within(line).output().expect("hm runs").status.success(), "{line}");
    }
    let refused = within("hm --agent devops anchor retire EDITOR --space user").output().expect("hm runs");
    let told = String::from_utf8_lossy(&refused.stderr).replace('\n', " ");
    let printed = "hm anchor retire EDITOR --space user";
    assert!(told.contains(&format!("`{printed}`")), "{told}");
    let typed = printed.replace("hm ", "hm --agent operator ");
    let done = by_a_human(shell.command(&typed).env("HM_USER", "ann"));
    assert!(done.status.success(), "{done:?}");
}

/// Red before: the refusal printed a proposal, which the policy refuses from every agent.
#[test]
fn a_refused_decision_names_no_command_that_is_refused_too() {
    let shell = Shell::new();
    let decision = "hm --agent analyst decision record \"a bus\" --target bus --rationale \"it is simple enough\" --scope a.py";
    govern(&shell, "[policy]\ntrust = \"human_only\"\n");
    let refused = shell.run(decision);
    let told = on_one_line(&String::from_utf8_lossy(&refused.stderr));
    assert!(told.contains("propose it, and the operator decides: `hm claim create"), "{told}");
    govern(&shell, "[policy]\ntrust = \"human_only\"\ndeny_event_types = [\"decision\"]\n");
    let refused = shell.run(decision);
    let told = on_one_line(&String::from_utf8_lossy(&refused.stderr));
    assert!(told.contains("with trust = human_only only the operator records a decision"), "{told}");
    assert!(told.contains("its event type is decision, which is in deny_event_types"), "{told}");
    assert!(!told.contains("hm claim create"), "{told}");
}

/// Red before: the record of the override was the first event of the memory, which was then not empty.
#[test]
fn an_empty_memory_under_human_only_takes_an_import() {
    let there = Shell::new();
    assert!(there.run("hm --agent devops claim create \"the pool is fair\" --scope a.py").status.success());
    let file = there.workspace().root().join("all.jsonl");
    assert!(there.run(&format!("hm export {}", file.display())).status.success());
    let shell = Shell::new();
    govern(&shell, "[policy]\ntrust = \"human_only\"\n");
    let import = format!("hm import {} --operator-override testing", file.display());
    let by_agent = shell.run(&format!("hm --agent devops import {} --operator-override x", file.display()));
    assert!(!by_agent.status.success(), "{by_agent:?}");
    let done = shell.run(&import);
    assert!(done.status.success(), "{done:?}");
    let log = String::from_utf8(shell.run("hm log --all").stdout).expect("UTF-8");
    assert!(log.contains("the pool is fair") && log.contains("operator.overridden"), "{log}");
    // A memory that has events takes its own past alone, and the override is on record behind it.
    assert!(shell.run(&import).status.success());
}

/// Red before: the refusal said that the key holds nothing, and named no space.
#[test]
fn an_anchor_of_another_space_is_told_how_to_be_retired() {
    let shell = Shell::new();
    said(&shell, "ann", "hm --agent devops anchor save EDITOR vim --space user");
    let mut retire = shell.command("hm --agent devops anchor retire EDITOR");
    let refused = retire.env("HM_USER", "ann").output().expect("hm runs");
    let told = on_one_line(&String::from_utf8_lossy(&refused.stderr));
    assert!(told.contains("no anchor EDITOR holds anything in the space of the project"), "{told}");
    let way = "`hm anchor retire EDITOR --space user`";
    assert!(told.contains(way), "{told}");
    said(&shell, "ann", "hm --agent devops anchor retire EDITOR --space user");
}
