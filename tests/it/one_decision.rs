//! One decision of a target is in force: support, export, withdrawal and the proposals of agents beside it.

use std::process::Output;

use serde_json::Value;

use crate::governed::on_one_line;
use crate::settle::{does, id_of, typed};
use crate::shell::Shell;

fn decided(shell: &Shell, by: &str, what: &str, target: &str) -> String {
    let rationale = "--rationale \"it is there already\"";
    id_of(shell, &format!("hm decision record \"{what}\" --target {target} {rationale} --agent {by}"))
}

fn status(shell: &Shell, claim: &str) -> Value {
    shell.json(&format!("hm --json claim show {claim}"))["status"].clone()
}

fn told(output: &Output) -> String {
    on_one_line(&String::from_utf8_lossy(&[output.stdout.clone(), output.stderr.clone()].concat()))
}

/// The first command between back-quotes that begins like this, with the sentences of its reader.
fn printed(text: &str, begins: &str) -> String {
    let command = text.split('`').find(|part| part.starts_with(begins));
    let command = command.unwrap_or_else(|| panic!("no `{begins}` in {text}"));
    command.replace("'WHY, IN A SENTENCE'", "it-was-measured-so").replace(" STATEMENT ", " what-holds-now ")
}

/// Red before: both were confirmed, and an export listed both.
#[test]
fn support_confirms_no_decision_beside_another_one() {
    let shell = Shell::new();
    let one = decided(&shell, "devops", "we keep SQLite", "database");
    let other = decided(&shell, "analyst", "we take Postgres", "store");
    does(&shell, "hm target alias database store --agent operator");
    let receipt = told(&does(&shell, &format!("hm claim support {one} --agent reviewer")));
    assert!(receipt.contains("not confirmed"), "{receipt}");
    assert!(receipt.contains("the architect decides"), "{receipt}");
    does(&shell, &format!("hm claim support {other} --agent frontend"));
    assert_eq!([&one, &other].map(|id| status(&shell, id)), ["proposed", "proposed"]);
    does(&shell, "hm export --to AGENTS.md");
    let notes = std::fs::read_to_string(shell.workspace().root().join("AGENTS.md")).expect("notes");
    assert!(!notes.contains("SQLite") && !notes.contains("Postgres"), "{notes}");

    let way = printed(&receipt, "hm decision record");
    let done = typed(&shell, "architect", &way);
    assert!(done.status.success(), "{way}: {done:?}");
    assert_eq!([&one, &other].map(|id| status(&shell, id)), ["deprecated", "deprecated"]);
}

#[test]
fn what_was_supported_is_confirmed_once_it_is_alone_on_its_target() {
    let shell = Shell::new();
    let one = decided(&shell, "devops", "we keep SQLite", "database");
    let other = decided(&shell, "analyst", "we take Postgres", "store");
    does(&shell, "hm target alias database store --agent operator");
    does(&shell, &format!("hm claim support {one} --agent reviewer"));
    does(&shell, &format!("hm claim support {other} --agent frontend"));
    does(&shell, "hm target part store --agent operator");
    assert_eq!([&one, &other].map(|id| status(&shell, id)), ["confirmed", "confirmed"]);

    does(&shell, "hm target alias database store --agent operator");
    does(&shell, "hm export --to AGENTS.md");
    let notes = std::fs::read_to_string(shell.workspace().root().join("AGENTS.md")).expect("notes");
    let said = |what: &str| notes.lines().find(|line| line.contains(what)).unwrap_or_default().to_owned();
    assert!(said("SQLite").contains("contradicts C2 on target:database"), "{notes}");
    assert!(said("Postgres").contains("contradicts C1 on target:database"), "{notes}");

    // Red before: no list said so.
    let lists = ["hm decision list", "hm memory list", "hm claim list", "hm claim show C1"];
    for line in lists {
        let told = told(&does(&shell, line));
        assert!(told.contains("C2 on target:database"), "{line}: {told}");
    }
    does(&shell, "hm target part store --agent operator");
    assert!(!told(&does(&shell, "hm decision list")).contains("contradicts"));
}

/// Red before: a decision that became confirmed because it was alone again left the claim in force that it was to replace.
#[test]
fn a_decision_that_is_alone_again_takes_the_place_of_what_it_was_to_replace() {
    let shell = Shell::new();
    let old = id_of(&shell, "hm claim create \"rows lie in one file\" --scope src/db --agent analyst");
    let proposed = format!(
        "hm claim create \"we keep SQLite\" --type decision --scope src/db --supersedes {old} --agent devops"
    );
    let one = id_of(&shell, &proposed);
    let why = "--rationale \"it is there already\" --agent devops";
    does(&shell, &format!("hm decision record --claim {one} --target database {why}"));
    let other = decided(&shell, "analyst", "we take Postgres", "store");
    does(&shell, "hm target alias database store --agent operator");
    does(&shell, &format!("hm claim support {one} --agent reviewer"));
    assert_eq!([&old, &one, &other].map(|id| status(&shell, id)), ["proposed", "proposed", "proposed"]);
    does(&shell, "hm target part store --agent operator");
    assert_eq!([&old, &one].map(|id| status(&shell, id)), ["deprecated", "confirmed"]);
}

/// Red before: an owner was told to supersede one of the two, which is refused with the other.
#[test]
fn an_owner_of_one_of_two_decisions_is_told_who_decides() {
    let shell = Shell::new();
    let one = decided(&shell, "devops", "we keep SQLite", "database");
    decided(&shell, "analyst", "we take Postgres", "store");
    does(&shell, "hm target alias database store --agent operator");
    let again = "--rationale \"it was measured so\" --agent devops";
    for line in [
        format!("hm claim deprecate {one} --reason \"it is over\" --agent devops"),
        format!("hm claim challenge {one} --reason \"it is over\" --agent devops"),
        format!("hm decision record \"we keep a file\" --target database --supersedes {one} {again}"),
    ] {
        let refused = shell.run(&line);
        assert!(!refused.status.success(), "{line}: {refused:?}");
        assert!(told(&refused).contains("ask the architect to decide"), "{line}: {}", told(&refused));
    }
    let refused = shell.run(&format!("hm claim deprecate {one} --reason \"it is over\" --agent devops"));
    let way = printed(&told(&refused), "hm decision record");
    let done = typed(&shell, "architect", &way);
    assert!(done.status.success(), "{way}: {done:?}");
}

/// Red before: the operator's withdrawal left the target without a decision.
#[test]
fn the_operator_takes_no_decision_out_of_force_without_another_one() {
    let shell = Shell::new();
    let one = decided(&shell, "operator", "we keep SQLite", "database");
    let refused = shell.run(&format!("hm claim deprecate {one} --reason \"it is over\" --agent operator"));
    assert!(!refused.status.success(), "{refused:?}");
    let text = told(&refused);
    assert!(text.contains("only a decision with a rationale takes its place"), "{text}");
    does(&shell, &format!("hm claim challenge {one} --reason \"two are faster\" --agent devops"));
    let attention = told(&typed(&shell, "operator", "hm attention"));
    assert!(!attention.contains("hm claim deprecate"), "{attention}");
    let way = printed(&attention, "hm decision record");
    let done = typed(&shell, "operator", &way);
    assert!(done.status.success(), "{way}: {done:?}");
    assert_eq!(status(&shell, &one), "deprecated");
}

fn under_human_only(shell: &Shell) {
    shell.end_writer();
    std::fs::write(shell.workspace().config(), "[policy]\ntrust = \"human_only\"\n")
        .expect("a configuration");
}

/// Red before: each of two refusals printed the other command, and the operator saw nothing.
#[test]
fn under_human_only_a_decision_on_a_target_is_proposed_to_the_operator() {
    let shell = Shell::new();
    under_human_only(&shell);
    let record =
        "hm decision record \"we keep SQLite\" --target database --rationale \"one file, no server\"";
    let refused = shell.run(&format!("{record} --agent devops"));
    assert!(!refused.status.success(), "{refused:?}");
    let proposes = printed(&told(&refused), "hm claim create");
    assert!(proposes.contains("one file, no server") && proposes.contains("target:database"), "{proposes}");
    let done = typed(&shell, "devops", &proposes);
    assert!(done.status.success(), "{proposes}: {done:?}");
    assert!(told(&done).contains("the operator decides"), "{done:?}");

    let review = on_one_line(&shell.json("hm --json review").to_string());
    assert!(review.contains("one file, no server"), "{review}");
    let attention = told(&typed(&shell, "operator", "hm attention"));
    assert!(attention.contains("devops would decide on target:database"), "{attention}");
    let accepts = printed(&attention, "hm decision record");
    assert!(accepts.contains("one file, no server") && accepts.contains("--target database"), "{accepts}");
    let done = typed(&shell, "operator", &accepts);
    assert!(done.status.success(), "{accepts}: {done:?}");
    let attention = told(&typed(&shell, "operator", "hm attention"));
    assert!(!attention.contains("would decide"), "{attention}");
    let decided = shell.json("hm --json decision list");
    assert_eq!(decided["decisions"][0]["target"], "target:database", "{decided}");
    assert_eq!(decided["decisions"][0]["decided_by"], "operator", "{decided}");
}

#[test]
fn a_proposed_decision_is_declined_or_taken_back() {
    let shell = Shell::new();
    under_human_only(&shell);
    let creates = |what: &str| {
        id_of(
            &shell,
            &format!("hm claim create \"{what}\" --type decision --scope target:database --agent devops"),
        )
    };
    let own = creates("we keep SQLite");
    does(&shell, &format!("hm claim deprecate {own} --reason \"it is over\" --agent devops"));
    let other = creates("we take Postgres");
    let attention = told(&typed(&shell, "operator", "hm attention"));
    let declines = printed(&attention, "hm claim deprecate").replace("REASON", "it-is-over");
    let done = typed(&shell, "operator", &declines);
    assert!(done.status.success(), "{declines}: {done:?}");
    assert_eq!([&own, &other].map(|id| status(&shell, id)), ["deprecated", "deprecated"]);
    let attention = told(&typed(&shell, "operator", "hm attention"));
    assert!(!attention.contains("would decide"), "{attention}");
}

/// Red before: once the policy was another one, only a decision with a rationale ended what was a proposal.
#[test]
fn a_proposed_decision_is_taken_back_under_a_later_policy() {
    let shell = Shell::new();
    under_human_only(&shell);
    let own = id_of(&shell, "hm claim create \"we keep SQLite\" --type decision --scope src --agent devops");
    shell.end_writer();
    std::fs::write(shell.workspace().config(), "[policy]\ntrust = \"agent_with_intent\"\n")
        .expect("a configuration");
    does(&shell, "hm claim create \"the pool is fine\" --scope src --agent operator");
    let takes_back = format!("hm claim deprecate {own} --reason \"it is over\"");
    let refused = shell.run(&format!("{takes_back} --agent analyst"));
    assert!(!refused.status.success(), "{refused:?}");
    does(&shell, &format!("{takes_back} --agent devops"));
    assert_eq!(status(&shell, &own), "deprecated");
}

/// A decision that was confirmed before the targets were joined does not become confirmed again after a challenge. Red
/// before: the receipt of the abstention said only that it is proposed.
#[test]
fn the_end_of_a_challenge_beside_another_decision_says_what_keeps_it_proposed() {
    let shell = Shell::new();
    let one = decided(&shell, "devops", "we keep SQLite", "database");
    decided(&shell, "analyst", "we take Postgres", "store");
    does(&shell, &format!("hm claim support {one} --agent reviewer"));
    does(&shell, "hm target alias database store --agent operator");
    assert_eq!(status(&shell, &one), "confirmed");
    does(&shell, &format!("hm claim challenge {one} --reason \"it was too slow\" --agent frontend"));
    let receipt = told(&does(&shell, &format!("hm claim abstain {one} --agent frontend")));
    assert_eq!(status(&shell, &one), "proposed");
    assert!(receipt.contains("C2 of analyst is in force on its target too"), "{receipt}");
    let way = printed(&receipt, "hm decision record");
    let done = typed(&shell, "architect", &way);
    assert!(done.status.success(), "{way}: {done:?}");
}

/// Red before: attention printed `STATEMENT` for the words that the agent proposed.
#[test]
fn attention_prints_the_proposed_words() {
    let shell = Shell::new();
    let one = decided(&shell, "operator", "we keep SQLite", "database");
    does(
        &shell,
        &format!(
            "hm decision record \"we take Postgres\" --target database --supersedes {one} \
             --rationale \"several machines write now\" --agent architect"
        ),
    );
    let attention = told(&typed(&shell, "operator", "hm attention"));
    assert!(attention.contains("hm decision record 'we take Postgres' --target database"), "{attention}");
}

/// Red before: the target of a claim recorded as a decision was lost with the next decision, so that the opposite was
/// confirmed beside it.
#[test]
fn a_decision_keeps_the_target_of_the_one_that_it_replaces() {
    let why = "--rationale \"it was measured so\" --agent devops";
    for again in [
        "hm decision amend C1 --replace \"5 s\" --with \"9 s\"",
        "hm decision record \"a caller of the pool waits 9 s\" --supersedes C1",
        "hm decision record \"a caller of the pool waits 9 s\" --scope src/pool.rs --supersedes C1",
    ] {
        let shell = Shell::new();
        let line = "hm claim create \"a caller of the pool waits 5 s\" --type decision --scope src/pool.rs --agent devops";
        does(&shell, line);
        does(&shell, &format!("hm decision record --claim C1 --target pool {why}"));
        let listed = told(&does(&shell, "hm claim list --scope target:pool"));
        assert!(listed.contains("waits 5 s"), "{listed}");
        let receipt = told(&does(&shell, &format!("{again} {why}")));
        assert!(!receipt.contains("warning"), "{again}: {receipt}");
        let opposite = "hm decision record \"a caller never waits\" --target pool";
        let refused = shell.run(&format!("{opposite} {why}"));
        let text = told(&refused);
        assert!(
            !refused.status.success() && text.contains("decision C2 on target:pool is in force"),
            "{text}"
        );
        let listed = told(&does(&shell, "hm claim list --scope target:pool"));
        assert!(listed.contains("waits 9 s"), "{again}: {listed}");
        shell.assert_rebuilds_to_the_same();
    }
}

/// Decisions on two targets leave open which one the new decision is about.
#[test]
fn a_decision_that_replaces_two_on_two_targets_names_its_own() {
    let shell = Shell::new();
    let [one, other] = [("we keep SQLite", "database"), ("it is blue", "colour")]
        .map(|(what, target)| decided(&shell, "devops", what, target));
    let why = "--rationale \"it was measured so\" --agent devops";
    let line = format!(
        "hm decision record \"we keep nothing\" --supersedes {one} --supersedes {other} --scope src/db {why}"
    );
    let receipt = told(&does(&shell, &line));
    assert_eq!(receipt.matches("no decision is in force on target:").count(), 2, "{receipt}");
}

/// Red before: it stayed proposed until somebody supported it again.
#[test]
fn a_supported_decision_is_confirmed_once_the_other_one_was_erased() {
    let shell = Shell::new();
    let one = decided(&shell, "devops", "we keep SQLite", "database");
    let other = decided(&shell, "analyst", "we take Postgres", "store");
    does(&shell, "hm target alias database store --agent operator");
    does(&shell, &format!("hm claim support {one} --agent reviewer"));
    assert_eq!(status(&shell, &one), "proposed");
    does(&shell, &format!("hm forget {other} --reason \"not ours\" --yes --agent operator"));
    // The sweep of a writer that starts.
    shell.end_writer();
    does(&shell, "hm rebuild");
    crate::harness::wait_until("the sweep", || status(&shell, &one) == "confirmed");
    shell.assert_rebuilds_to_the_same();
}

/// Red before: the contradiction of the two stayed open for ever, because only the end of a claim ended it.
#[test]
fn the_contradiction_of_two_decisions_ends_once_the_record_of_one_was_erased() {
    let shell = Shell::new();
    let one = decided(&shell, "devops", "we keep SQLite", "database");
    decided(&shell, "analyst", "we take Postgres", "store");
    does(&shell, "hm target alias database store --agent operator");
    does(&shell, &format!("hm claim support {one} --agent reviewer"));
    let open = || shell.json("hm contradictions --json")["contradictions"].as_array().map_or(0, Vec::len);
    assert_eq!((open(), status(&shell, &one)), (1, "proposed".into()));
    let recorded = shell.json("hm log --type decision.recorded --json");
    let mut events = recorded["events"].as_array().expect("events").iter();
    let event = events.find(|event| event["agent"] == "analyst").expect("the decision of analyst");
    let event = event["id"].as_str().expect("an id");
    does(&shell, &format!("hm forget {event} --reason \"not ours\" --yes --agent operator"));
    // The sweep of a writer that starts.
    shell.end_writer();
    does(&shell, "hm rebuild");
    crate::harness::wait_until("the sweep", || status(&shell, &one) == "confirmed" && open() == 0);
    shell.assert_rebuilds_to_the_same();
}

/// Red before: the page of the amended decision said nothing of who had agreed to what stood before.
#[test]
fn an_amended_decision_says_who_agreed_to_what_stood_before() {
    let shell = Shell::new();
    let one = decided(&shell, "devops", "we keep SQLite", "database");
    does(&shell, &format!("hm claim support {one} --agent reviewer"));
    let why = "--rationale \"it was measured so\" --agent devops";
    does(&shell, &format!("hm decision amend {one} --append \"Only here.\" {why}"));
    let page = || told(&shell.run("hm claim show C2"));
    let line = "agreed before: reviewer supported C1 as it stood, and took no position on this change";
    assert!(page().contains(line), "{}", page());
    does(&shell, "hm claim support C2 --agent reviewer");
    assert!(!page().contains("agreed before"), "{}", page());
}

/// Red before: the target counted as one scope too many.
#[test]
fn a_decision_with_as_many_scopes_as_a_claim_may_have_is_amended() {
    let shell = Shell::new();
    let scopes: String = (0..16).map(|number| format!(" --scope src/a{number}.rs")).collect();
    let line = format!("hm claim create \"a caller waits 5 s\" --type decision{scopes} --agent devops");
    does(&shell, &line);
    let why = "--rationale \"it was measured so\" --agent devops";
    does(&shell, &format!("hm decision record --claim C1 --target pool {why}"));
    does(&shell, &format!("hm decision amend C1 --replace \"5 s\" --with \"9 s\" {why}"));
    assert!(told(&does(&shell, "hm claim list --scope target:pool")).contains("waits 9 s"));
}

/// Red before: two supports of the operator put two decisions in force, and the list of decisions was empty.
#[test]
fn a_support_makes_no_proposal_on_a_target_a_decision() {
    let shell = Shell::new();
    std::fs::write(shell.workspace().config(), "[policy]\ntrust = \"human_only\"\n")
        .expect("a configuration");
    for (agent, what) in [("architect", "redis"), ("devops", "memory")] {
        does(
            &shell,
            &format!(
                "hm claim create \"cache in {what}\" --type decision --scope target:cache --agent {agent}"
            ),
        );
    }
    let refused = shell.run("hm claim support C1 --agent operator");
    let said = String::from_utf8_lossy(&refused.stderr).replace("\n    ", " ");
    assert!(!refused.status.success(), "{refused:?}");
    assert!(
        said.contains("a support does not decide it") && said.contains("hm decision record --claim C1"),
        "{said}"
    );
    does(
        &shell,
        "hm decision record --claim C1 --target cache --rationale \"it is shared by all\" --agent operator",
    );
    let refused = shell.run("hm claim support C2 --agent operator");
    let said = String::from_utf8_lossy(&refused.stderr).replace("\n    ", " ");
    assert!(!refused.status.success() && said.contains("--supersedes C1"), "{said}");
}
