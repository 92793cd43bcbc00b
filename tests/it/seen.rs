//! What a reader sees of a claim: a challenge after the last one ended, files that changed without a hook, and the run that
//! proved it.

use hivemind::mcp::{Era, Pane};
use hivemind::reads::Reads;
use hivemind::views::{ContextOf, Known, delta};
use serde_json::{Value, json};

use crate::bench::Bench;

const FILE: &str = "src/calc.py";

async fn json_of(pane: &Pane, uri: &str) -> Value {
    let text = pane.read(uri).await.expect("a resource");
    serde_json::from_str(&text).expect("JSON")
}

/// A profile that fails, with an argument.
fn failing_profile(bench: &Bench) {
    let text = "description = \"one test\"\nscopes = [\"**\"]\nargv = [\"sh\", \"-c\", \"exit 1\", \"{name}\"]\n\
                timeout_ms = 20000\n[params.name]\nkind = \"regex\"\ndescription = \"the test to run\"\npattern = \"[a-z_.]+\"\n[expect]\nexit = 0\nfails = [1]\n";
    bench.profile("one", text);
}

async fn challenge(bench: &Bench, pane: &Pane, claim: &str, reason: &str) {
    bench.accepted(pane, "challenge", json!({ "claim_id": claim, "reason": reason })).await;
}

/// The reasons of the contradictions that are open.
async fn open(pane: &Pane) -> Vec<String> {
    let page = json_of(pane, "hivemind://contradictions?format=json").await;
    let found = page["contradictions"].as_array().expect("a list").clone();
    found.iter().filter_map(|found| Some(found["right"]["challenge"].as_str()?.to_owned())).collect()
}

/// Red before: the second challenge opened no contradiction, and no view showed its agent or its reason.
#[tokio::test]
async fn a_challenge_after_the_end_of_the_last_one_opens_a_contradiction_of_its_own() {
    let bench = Bench::new();
    failing_profile(&bench);
    bench.write(FILE, "def add(): pass\n");
    let analyst = bench.pane(Some("analyst"), Era::Modern).await;
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let id = bench.claim(&analyst, "add returns nothing", FILE).await;
    challenge(&bench, &devops, &id, "the first reason").await;
    bench.accepted(&devops, "abstain", json!({ "claim_id": id })).await;
    assert_eq!(open(&analyst).await, Vec::<String>::new());
    challenge(&bench, &devops, &id, "the second reason").await;
    assert_eq!(open(&analyst).await, ["the second reason"]);
    let pack = analyst.read("hivemind://context").await.expect("a pack");
    assert!(pack.contains("the second reason"), "{pack}");

    let run = json!({ "profile": "one", "args": ["name=tests.test_calc"], "claim_id": id, "blocking": true,
                      "prediction": "fails", "wait": true });
    bench.accepted(&analyst, "run_experiment", run).await;
    assert_eq!(open(&analyst).await, Vec::<String>::new(), "a run answered it");
    let third = bench.pane(Some("reviewer"), Era::Modern).await;
    challenge(&bench, &third, &id, "the third reason").await;
    assert_eq!(open(&analyst).await, ["the third reason"]);

    // Each keeps its own reason.
    let page = json_of(&analyst, "hivemind://contradictions?format=json&status=resolved").await;
    let over = page["contradictions"].as_array().expect("a list").clone();
    let over: Vec<&str> = over.iter().filter_map(|found| found["right"]["challenge"].as_str()).collect();
    assert_eq!(over, ["the second reason", "the first reason"]);
    bench.kill_writer();
    bench.assert_sound();
}

/// Red before: a list, a search and a pack knew only of edits that a hook saw.
#[tokio::test]
async fn lists_searches_and_packs_look_at_the_files_of_what_they_show() {
    let bench = Bench::new();
    bench.write(FILE, "def add(): pass\n");
    let analyst = bench.pane(Some("analyst"), Era::Modern).await;
    let id = bench.claim(&analyst, "add returns nothing", FILE).await;
    // A claim that another agent supports is a finding, of which a change of its file says something.
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    bench.accepted(&devops, "support", json!({ "claim_id": id })).await;
    let before = bench.events().last().expect("an event").seq;
    let views = ["hivemind://claims", "hivemind://search?q=add%20returns", "hivemind://context"];
    let marked = |text: &str| text.contains("changed since") || text.contains("changed=");
    bench.write(FILE, "def add(): pass\n");
    for view in views {
        let text = analyst.read(view).await.expect("a view");
        assert!(text.contains("add returns nothing") && !marked(&text), "the same content: {text}");
    }
    // As a pull does it: no hook sees it.
    bench.write(FILE, "def add(): return 1\n");
    for view in views {
        let text = analyst.read(view).await.expect("a view");
        assert!(marked(&text), "{view}: {text}");
        let past =
            if view.contains('?') { format!("{view}&at={before}") } else { format!("{view}?at={before}") };
        let text = analyst.read(&past).await.expect("a view of the past");
        assert!(!marked(&text), "what the file held then is not known: {text}");
    }
    std::fs::remove_file(bench.root().join(FILE)).expect("the file");
    let text = analyst.read("hivemind://claims").await.expect("a view");
    assert!(marked(&text), "a file that is gone changed: {text}");
    let listed = bench.hm(&["claim", "list"]);
    assert!(String::from_utf8_lossy(&listed.stdout).contains("changed since"), "{listed:?}");
}

/// A user found: the evidence named the profile and not what it was given, and lists and packs named no run.
#[tokio::test]
async fn what_proved_a_claim_is_shown_with_its_arguments_and_its_outcome() {
    let bench = Bench::new();
    failing_profile(&bench);
    bench.write(FILE, "def add(): pass\n");
    let analyst = bench.pane(Some("analyst"), Era::Modern).await;
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let id = bench.claim(&analyst, "add returns nothing", FILE).await;
    challenge(&bench, &devops, &id, "it returns a sum").await;
    let run = json!({ "profile": "one", "args": ["name=tests.test_calc"], "claim_id": id, "blocking": true,
                      "prediction": "fails", "wait": true });
    // Only the owner chooses that its claim predicts a failure.
    let refused = devops.call("run_experiment", run.clone()).await.expect("an answer");
    assert_eq!(refused.field("code"), "not_allowed", "{}", refused.text);
    assert!(refused.text.contains("analyst"), "it says who may: {}", refused.text);
    let answer = bench.accepted(&analyst, "run_experiment", run).await;
    let name = bench.name(answer.field("run_id"));

    let shown = analyst.read(&format!("hivemind://claims/{id}")).await.expect("a claim");
    assert!(shown.contains("of profile one name=tests.test_calc"), "{shown}");
    assert!(shown.contains("by a failing run (predicted: fails)"), "{shown}");
    let list = analyst.read("hivemind://claims").await.expect("a list");
    assert!(list.contains(&format!("proved, {name}: one name=tests.test_calc")), "{list}");
    let pack = devops.read("hivemind://context").await.expect("a pack");
    assert!(pack.contains(&format!("proved_by=\"{name}: one name=tests.test_calc")), "{pack}");
}

/// Red before: a support of what another file made of it drew no warning.
#[tokio::test]
async fn a_support_of_a_claim_whose_file_changed_says_so() {
    let bench = Bench::new();
    bench.write(FILE, "def add(): pass\n");
    let analyst = bench.pane(Some("analyst"), Era::Modern).await;
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let id = bench.claim(&analyst, "add returns nothing", FILE).await;
    bench.write(FILE, "def add(): return 1\n");
    let answer = bench.accepted(&devops, "support", json!({ "claim_id": id })).await;
    let said = format!("`{FILE}` changed since the claim: your support is about the file as it is now");
    assert!(answer.text.contains(&said), "{}", answer.text);
}

/// A user found: a hint that was pasted with its placeholder was taken as the reason.
#[tokio::test]
async fn what_stands_in_a_hint_for_a_sentence_is_no_sentence() {
    let bench = Bench::new();
    let analyst = bench.pane(Some("analyst"), Era::Modern).await;
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let id = bench.claim(&analyst, "add returns nothing", "src").await;
    for (tool, given, argument) in [
        ("challenge", json!({ "claim_id": id, "reason": "WHY, IN A SENTENCE" }), "reason"),
        ("challenge", json!({ "claim_id": id, "reason": "REASON" }), "reason"),
        ("record_decision", json!({ "statement": "STATEMENT", "rationale": "it is short" }), "statement"),
        ("record_decision", json!({ "statement": "use it", "rationale": "WHY, IN A SENTENCE" }), "rationale"),
    ] {
        let answer = devops.call(tool, given).await.expect("an answer");
        assert_eq!(answer.field("code"), "invalid_argument", "{}", answer.text);
        assert!(answer.text.contains("write that instead"), "{argument}: {}", answer.text);
    }
    challenge(&bench, &devops, &id, "the reason: it returns a sum").await;
}

/// What a challenger is told whose challenge a run answered. A user found: the claim came among the other news, without a word
/// of the run or of the challenge.
#[tokio::test]
async fn a_challenger_whose_challenge_a_run_answered_is_told_so() {
    let bench = Bench::new();
    failing_profile(&bench);
    bench.write(FILE, "def add(): pass\n");
    let analyst = bench.pane(Some("analyst"), Era::Modern).await;
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let id = bench.claim(&analyst, "add returns nothing", FILE).await;
    challenge(&bench, &devops, &id, "it returns a sum").await;
    let since = bench.events().last().expect("an event").seq;
    let run = json!({ "profile": "one", "args": ["name=tests.test_calc"], "claim_id": id, "blocking": true,
                      "prediction": "fails", "wait": true });
    bench.accepted(&analyst, "run_experiment", run).await;
    let of = ContextOf::new(hivemind::domain::agent::AgentId::recorded("devops"), None);
    let mut reads = Reads::of(bench.workspace().clone());
    let now = hivemind::system::now();
    let (told, _) = delta(&mut reads, &of, &Known::up_to(since), now).expect("a delta");
    let asks = told.split_once("<asks").expect("something asks it").1;
    assert!(asks.contains("name=tests.test_calc") && asks.contains("your_challenge=\"over:"), "{told}");
}

/// A user found: a pane with the core tools was told to call `still`, which it is not offered.
#[tokio::test]
async fn a_hint_names_a_tool_only_to_a_pane_that_is_offered_it() {
    let bench = Bench::new();
    failing_profile(&bench);
    bench.write(FILE, "def add(): pass\n");
    let analyst = bench.pane(Some("analyst"), Era::Modern).await;
    let keeper = Pane::offered(bench.binary(), bench.root(), Some("reviewer"), Era::Modern, "all");
    let keeper = keeper.await.expect("a pane");
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let id = bench.claim(&analyst, "add returns nothing", FILE).await;
    challenge(&bench, &devops, &id, "it returns a sum").await;
    bench.write(FILE, "def add(): return 1\n");
    let run = json!({ "profile": "one", "args": ["name=tests.test_calc"], "claim_id": id, "wait": true });
    let told = bench.accepted(&devops, "run_experiment", run.clone()).await;
    assert!(told.text.contains("in a shell: `hm claim still C1`"), "{}", told.text);
    assert!(told.text.contains("`create_claim {"), "a tool that it is offered stays: {}", told.text);
    let warned = told.body["warnings"][0]["message"].as_str().expect("a warning");
    assert!(warned.contains("in a shell: `hm claim still"), "{warned}");
    let told = bench.accepted(&keeper, "run_experiment", run).await;
    assert!(told.text.contains("`still {"), "{}", told.text);
}

/// The suggested run can be pasted: a profile that takes no argument comes first, and one that takes some says which. Red
/// before: the first profile of the project was named without its argument.
#[tokio::test]
async fn the_run_that_a_challenge_is_told_of_can_be_pasted() {
    let bench = Bench::new();
    failing_profile(&bench);
    bench.write("docs/calc.txt", "add: nothing\n");
    let analyst = bench.pane(Some("analyst"), Era::Modern).await;
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let id = bench.claim(&analyst, "add returns nothing", "docs/calc.txt").await;
    let given = json!({ "claim_id": id, "reason": "it returns a sum" });
    let told = bench.accepted(&devops, "challenge", given.clone()).await;
    assert!(told.text.contains(r#""args":["name=the test to run"]"#), "{}", told.text);
    let plain = "description = \"all tests\"\nscopes = [\"**\"]\nargv = [\"sh\", \"-c\", \"exit 1\"]\n\
                 timeout_ms = 20000\n[expect]\nexit = 0\nfails = [1]\n";
    bench.profile("zero", plain);
    let told = bench.accepted(&devops, "challenge", given).await;
    assert!(told.text.contains(r#""profile":"zero""#), "{}", told.text);
}
