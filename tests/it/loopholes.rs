//! Ways around the rules that a user finds who only runs `hm`.

use hivemind::config::Config;
use hivemind::domain::claim::Position;
use hivemind::mcp::{Era, Pane};
use hivemind::reads::Reads;
use hivemind::views::View;
use serde_json::{Value, json};

use crate::answers::answer;
use crate::bench::Bench;
use crate::harness::{TempWorkspace, agent, claim_of, creation, position};
use crate::shell::Shell;

fn text(shell: &Shell, line: &str) -> String {
    let output = shell.run(line);
    let told = [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("UTF-8")).concat();
    told.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn made(shell: &Shell, line: &str) -> String {
    let made = shell.json(&format!("{line} --json"));
    made["entity_id"].as_str().unwrap_or_else(|| panic!("{line}: {made}")).to_owned()
}

/// Red before: only `hm log` had the reason of a position that another one replaced.
#[test]
fn the_reason_of_a_former_position_is_not_lost() {
    let shell = Shell::new();
    let claim = made(&shell, "hm claim create \"vendoring is slow\" --scope src --agent devops");
    for line in [
        "hm claim challenge CLAIM --reason \"because ZEBRA\" --agent reviewer",
        "hm claim abstain CLAIM --agent reviewer",
        "hm claim support CLAIM --reason \"because OKAPI\" --agent analyst",
        "hm claim challenge CLAIM --reason \"because LLAMA\" --agent analyst",
    ] {
        let line = line.replace("CLAIM", &claim);
        assert!(shell.run(&line).status.success(), "{line}");
    }
    for line in [format!("hm claim show {claim}"), format!("hm claim why {claim}")] {
        let told = text(&shell, &line);
        for reason in ["because ZEBRA", "because OKAPI", "because LLAMA"] {
            assert!(told.contains(reason), "{line}: {reason} is not in {told}");
        }
    }
    for line in [format!("hm --json claim show {claim}"), format!("hm --json claim why {claim}")] {
        let former = shell.json(&line)["former_positions"].clone();
        let reasons: Vec<&str> =
            former.as_array().expect("a list").iter().filter_map(|held| held["reason"].as_str()).collect();
        assert_eq!(reasons, ["because ZEBRA", "because OKAPI"], "{line}: {former}");
    }
    let over = text(&shell, "hm contradictions --resolved");
    assert!(over.contains("because ZEBRA"), "{over}");
    // The last few are shown, and how many more there are.
    for turn in 0..12 {
        let line = format!("hm claim support {claim} --reason \"turn {turn}\" --agent frontend");
        assert!(shell.run(&line).status.success(), "{line}");
    }
    let told = text(&shell, &format!("hm claim show {claim}"));
    assert!(told.contains("turn 10") && !told.contains("because ZEBRA"), "{told}");
    assert!(told.contains("5 more"), "{told}");
}

/// Red before: a name with a character that nobody sees was another target.
#[test]
fn a_target_that_looks_the_same_is_the_same() {
    let shell = Shell::new();
    let record = |what: &str, target: &str| {
        let line = format!(
            "hm decision record \"{what}\" --target \"{target}\" --rationale \"it is there already\" --agent devops"
        );
        text(&shell, &line)
    };
    record("we log to files", "logging");
    for twin in ["log\u{200b}ging", "Logging/", "./logging", "ｌogging.", "log\u{ad}ging"] {
        let told = record(&format!("we log to syslog, says {}", twin.len()), twin);
        assert!(told.contains("on target:logging is in force"), "{twin:?}: {told}");
    }
    // Letters of another script that look alike: said to be.
    let told = record("we log nowhere", "l\u{43e}gging");
    assert!(told.contains("looks like target:logging"), "{told}");
    // As the scope of a claim.
    let claim =
        made(&shell, "hm claim create \"it is fast\" --scope \"target:LOG\u{200b}ging.\" --agent devops");
    assert_eq!(shell.json(&format!("hm --json claim show {claim}"))["scopes"], json!(["target:logging"]));
}

/// Red before: twenty entries of others came first, and the reader's own move was cut off.
#[test]
fn what_is_the_readers_own_move_is_never_cut_off() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let mut commit = |submission: &hivemind::domain::command::Submission| {
        let done = committer.commit(std::slice::from_ref(submission)).expect("a commit").remove(0);
        done.expect("it passes");
    };
    for number in 0..25 {
        let claim = creation("architect", &format!("what part {number}{number} does is its own affair"));
        commit(&claim);
        commit(&position("reviewer", claim_of(&claim), Position::Challenge));
    }
    let own = creation("operator", "the pool size is 20");
    commit(&own);
    commit(&creation("analyst", "the pool size is 50"));
    let config = Config::load(&workspace.config()).expect("a configuration");
    let view = View::Attention(Some(agent("operator")));
    let now = workspace.events().last().expect("events").at;
    let shown = answer(&mut Reads::of((*workspace).clone()), &config, &view, now).expect("an answer");
    let first = &shown.json["needs"][0];
    assert!(first["ids"].as_array().expect("ids").contains(&json!(claim_of(&own))), "{}", shown.text);
    assert!(shown.text.contains("6 more of contradiction"), "{}", shown.text);
}

/// Red before: what was printed named two of three, and was refused with the third.
#[test]
fn a_refusal_names_every_decision_in_force() {
    let shell = Shell::new();
    let decisions: Vec<String> = ["database", "store", "disk"]
        .iter()
        .map(|target| {
            made(
                &shell,
                &format!(
                    "hm decision record \"we keep {target} as it is\" --target {target} --rationale \"it is there already\" --agent devops"
                ),
            )
        })
        .collect();
    for alias in ["store", "disk"] {
        assert!(shell.run(&format!("hm target alias database {alias} --agent operator")).status.success());
    }
    let refused = shell.run(&format!(
        "hm --json decision record \"we take one\" --target database --supersedes {} --rationale \"one is enough for all\" --agent architect",
        decisions[0]
    ));
    let refused: Value = serde_json::from_slice(&refused.stdout).expect("JSON");
    let message = refused["message"].as_str().expect("a message");
    assert!(decisions[1..].iter().all(|id| message.contains(id.as_str())), "{message}");
    let needs = shell.json("hm --json attention --agent architect")["needs"].clone();
    for need in needs.as_array().expect("needs").iter().filter(|need| need["kind"] != "pattern") {
        let settle = need["settle"][0].as_str().expect("a command");
        assert!(decisions.iter().all(|id| settle.contains(id.as_str())), "{settle}");
    }
}

/// Red before: a successor of another agent's claim was told to no agent.
#[test]
fn an_owner_hears_of_a_successor_that_waits() {
    let shell = Shell::new();
    let old = made(&shell, "hm claim create \"the pool holds 20 connections\" --scope src --agent devops");
    assert!(shell.run(&format!("hm claim support {old} --agent analyst")).status.success());
    let new = made(
        &shell,
        &format!(
            "hm claim create \"the pool holds 30 connections\" --scope src --supersedes {old} --agent frontend"
        ),
    );
    let needs = shell.json("hm --json attention --agent devops")["needs"].clone();
    let need = &needs[0];
    assert_eq!(need["ids"], json!([new, old]), "{needs}");
    let told = text(&shell, "hm attention --agent devops");
    assert!(told.contains("frontend would put this in the place of your claim"), "{told}");
    assert!(
        shell.run(&format!("hm claim challenge {new} --reason \"it is 20\" --agent devops")).status.success()
    );
    let needs = shell.json("hm --json attention --agent devops")["needs"].clone();
    assert!(needs.as_array().expect("needs").iter().all(|need| need["kind"] != "question"), "{needs}");
}

/// Red before: an agent that supported both sides of a contradiction heard nothing.
#[test]
fn a_support_of_both_sides_is_told() {
    let shell = Shell::new();
    let one = made(&shell, "hm claim create \"the pool size is 20\" --scope src --agent devops");
    let other = made(&shell, "hm claim create \"the pool size is 50\" --scope src --agent frontend");
    let first = text(&shell, &format!("hm claim support {one} --agent analyst"));
    assert!(!first.contains("contradicts this"), "{first}");
    let second = text(&shell, &format!("hm claim support {other} --agent analyst"));
    assert!(
        second.contains("you support") && second.contains("contradicts this") && second.contains("C1"),
        "{second}"
    );
    let owner = text(&shell, &format!("hm claim support {other} --agent devops"));
    assert!(owner.contains("you own") && owner.contains("C1"), "{owner}");
}

async fn server(bench: &Bench, session: &str, options: &[&str]) -> Pane {
    let mut command = tokio::process::Command::new(bench.binary());
    command.args(["serve", "--dir"]).arg(bench.root()).args(options).current_dir(bench.root());
    command.env("HM_SESSION", session);
    Pane::run(command, Era::Modern).await.expect("a pane")
}

/// Red before: an invented `session` argument made another speaker of the same session.
#[tokio::test]
async fn a_server_with_a_session_speaks_in_no_other() {
    let bench = Bench::new();
    let first = server(&bench, "s-told", &[]).await;
    let claim = bench.claim(&first, "the pool holds 20", "src").await;
    let second = server(&bench, "s-told", &["--agent", "devops"]).await;
    let own = second.call("support", json!({ "claim_id": claim })).await.expect("an answer");
    assert_eq!(own.field("code"), "own_claim", "{}", own.text);
    let elsewhere = json!({ "claim_id": claim, "session": "anything" });
    let refused = second.call("support", elsewhere.clone()).await.expect("an answer");
    assert_eq!(refused.field("code"), "agent_mismatch", "{}", refused.text);
    let same =
        json!({ "statement": "the log stays", "claim_type": "fact", "scopes": ["src"], "session": "s-told" });
    bench.accepted(&second, "create_claim", same).await;
    // A host of many agents names what it likes.
    let host = server(&bench, "s-host", &["--any-agent"]).await;
    let as_analyst = json!({ "claim_id": claim, "session": "anything", "agent": "analyst" });
    bench.accepted(&host, "support", as_analyst).await;
}
