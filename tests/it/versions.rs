//! A claim is about a version: what the files of its scopes held when something was said about it, and what follows
//! when they hold something else.

use hivemind::mcp::{Era, Pane, ToolAnswer};
use serde_json::{Value, json};

use crate::bench::Bench;

/// A profile of the workspace that runs one line of shell, and expects 0.
fn profile(bench: &Bench, name: &str, command: &str) {
    let text = format!(
        "description = \"a test\"\nscopes = [\"**\"]\nargv = [\"sh\", \"-c\", \"{command}\"]\ntimeout_ms = 20000\n[expect]\nexit = 0\n"
    );
    bench.profile(name, &text);
}

async fn json_of(pane: &Pane, uri: &str) -> Value {
    let text = pane.read(&format!("{uri}?format=json")).await.expect("a resource");
    serde_json::from_str(&text).expect("JSON")
}

async fn run(pane: &Pane, profile: &str, claim: &str, blocking: bool) -> ToolAnswer {
    let given = json!({ "profile": profile, "claim_id": claim, "blocking": blocking, "wait": true });
    let answer = pane.call("run_experiment", given).await.expect("an answer");
    assert!(!answer.refused, "{}", answer.text);
    answer
}

async fn challenge(bench: &Bench, pane: &Pane, claim: &str) {
    bench.accepted(pane, "challenge", json!({ "claim_id": claim, "reason": "it scans the list" })).await;
}

async fn edited(bench: &Bench, pane: &Pane, path: &str, text: &str) {
    bench.write(path, text);
    let report = json!({ "kind": "file_edited", "summary": "a heap instead of the scan", "paths": [path] });
    bench.accepted(pane, "report_event", report).await;
}

/// A pane with every tool.
async fn keeper(bench: &Bench, agent: &str) -> Pane {
    Pane::offered(bench.binary(), bench.root(), Some(agent), Era::Modern, "all").await.expect("a pane")
}

const FILE: &str = "src/a.rs";

/// The false proof of the trial: between the challenge and the run another agent replaced what both were about.
#[tokio::test]
async fn a_run_on_other_content_than_the_challenge_saw_neither_confirms_nor_contradicts() {
    let bench = Bench::new();
    profile(&bench, "passes", "exit 0");
    profile(&bench, "fails", "exit 1");
    bench.write(FILE, "fn insert() { /* scan */ }\n");
    let analyst = bench.pane(Some("analyst"), Era::Modern).await;
    let architect = bench.pane(Some("architect"), Era::Legacy).await;
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let id = bench.claim(&architect, "insert is O(n)", FILE).await;
    challenge(&bench, &analyst, &id).await;
    edited(&bench, &devops, FILE, "fn insert() { /* heap */ }\n").await;

    for profile in ["passes", "fails"] {
        let answer = run(&architect, profile, &id, true).await;
        let why = "`src/a.rs` changed by devops since the challenge";
        assert!(answer.text.contains(why), "{profile}: {}", answer.text);
        assert!(answer.text.contains("mends"), "it offers the claim that supersedes: {}", answer.text);
        let mut warnings = answer.body["warnings"].as_array().expect("warnings").iter();
        let warned = warnings.find(|warning| warning["code"] == "changed_since");
        assert_eq!(warned.map(|warning| &warning["claim_id"]), Some(&json!(id)), "before it runs");
        let claim = json_of(&architect, &format!("hivemind://claims/{id}")).await;
        assert_eq!(claim["status"], "contested", "{profile}");
        assert_eq!(claim["grade"], "asserted", "{profile}");
        assert_eq!(claim["evidence_items"], json!([]), "{profile}");
        let last = claim["history"].as_array().and_then(|history| history.last()).expect("a change");
        assert!(last["reason"].as_str().is_some_and(|reason| reason.contains(why)), "{last}");
    }
    bench.kill_writer();
    bench.assert_sound();
}

/// The payloads of all events of a type, in ledger order.
fn payloads(bench: &Bench, kind: &str) -> Vec<Value> {
    let events = bench.events().into_iter().filter(|event| event.kind == kind);
    events.map(|event| serde_json::from_str(&event.payload.expect("a payload").0).expect("JSON")).collect()
}

/// The status of a claim, and the last reason for it.
async fn stands(pane: &Pane, claim: &str) -> (String, String) {
    let claim = json_of(pane, &format!("hivemind://claims/{claim}")).await;
    let last = claim["history"].as_array().and_then(|history| history.last()).cloned().expect("a change");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&claim["status"]), text(&last["reason"]))
}

#[tokio::test]
async fn after_still_the_same_run_binds() {
    let bench = Bench::new();
    profile(&bench, "passes", "exit 0");
    profile(&bench, "fails", "exit 1");
    bench.write(FILE, "fn insert() { /* scan */ }\n");
    let analyst = keeper(&bench, "analyst").await;
    let architect = keeper(&bench, "architect").await;
    let devops = keeper(&bench, "devops").await;
    let owned = bench.claim(&architect, "insert keeps the order", FILE).await;
    let doubted = bench.claim(&architect, "insert takes a lock", FILE).await;
    for id in [&owned, &doubted] {
        challenge(&bench, &analyst, id).await;
    }
    edited(&bench, &devops, FILE, "fn insert() { /* heap */ }\n").await;

    let refused = devops.call("still", json!({ "claim_id": owned })).await.expect("an answer");
    assert_eq!(refused.field("code"), "not_allowed", "{}", refused.text);
    let tagged = json!({ "statement": "we ship", "claim_type": "fact", "scopes": ["tag:release", "src"] });
    let tagged = bench.accepted(&architect, "create_claim", tagged).await.field("claim_id").to_owned();
    let nothing = architect.call("still", json!({ "claim_id": tagged })).await.expect("an answer");
    assert_eq!(nothing.field("code"), "invalid_argument", "{}", nothing.text);

    // The owner of one and the challenger of the other.
    bench
        .accepted(&architect, "still", json!({ "claim_id": owned, "reason": "the heap keeps it too" }))
        .await;
    bench.accepted(&analyst, "still", json!({ "claim_id": doubted })).await;
    let claim = json_of(&devops, &format!("hivemind://claims/{doubted}")).await;
    assert_eq!(claim["positions"].as_array().map(Vec::len), Some(1), "stances stay: {}", claim["positions"]);
    assert_eq!((&claim["status"], &claim["challenges"]), (&json!("contested"), &json!(1)));
    assert_eq!(claim["changed_since"], Value::Null, "it is about the files as they are now");

    // The owner does not move the challenge of another agent to other content.
    run(&architect, "passes", &owned, true).await;
    let (status, reason) = stands(&architect, &owned).await;
    let why = "`src/a.rs` changed by devops since the challenge";
    assert!(status == "contested" && reason.contains(why), "{status} {reason}");
    bench.accepted(&analyst, "still", json!({ "claim_id": owned })).await;
    run(&architect, "passes", &owned, true).await;
    let (status, reason) = stands(&architect, &owned).await;
    assert!(status == "confirmed" && reason.starts_with("proof:"), "{status} {reason}");
    run(&architect, "fails", &doubted, true).await;
    let (status, reason) = stands(&architect, &doubted).await;
    assert!(status == "contested" && reason.ends_with("contradicts it"), "{status} {reason}");

    // Another edit: what was still meant then is not meant now.
    edited(&bench, &devops, FILE, "fn insert() { /* tree */ }\n").await;
    let answer = run(&architect, "passes", &doubted, true).await;
    let why = "`src/a.rs` changed by devops since the claim was said to be still meant";
    assert!(answer.text.contains(why), "{}", answer.text);
    bench.kill_writer();
    bench.assert_sound();
}

#[tokio::test]
async fn what_was_seen_is_on_record_before_the_process_starts_and_no_caller_chooses_it() {
    let bench = Bench::new();
    profile(&bench, "passes", "exit 0");
    bench.write(FILE, "fn a() {}\n");
    let hash = "509a0a5b5ce4e59f5039e30a39324342d7a161296bb8eba761983faaeebf6efd";
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let other = bench.pane(Some("reviewer"), Era::Modern).await;
    let given = json!({
        "statement": "a does nothing", "claim_type": "fact", "scopes": [FILE, "src", "src/b.rs", "tag:a"],
        "versions": { FILE: "absent" }, "checkout": { "worktree": "wt" },
    });
    let answer = bench.accepted(&owner, "create_claim", given).await;
    assert!(answer.text.contains("does not take it: checkout, versions"), "{}", answer.text);
    let id = answer.field("claim_id").to_owned();
    challenge(&bench, &other, &id).await;
    run(&owner, "passes", &id, true).await;
    let seen = json!({ FILE: hash, "src/b.rs": "absent" });
    for kind in ["claim.created", "position.taken", "experiment.queued"] {
        assert_eq!(payloads(&bench, kind)[0]["versions"], seen, "{kind}");
    }
    let place = |kind: &str| bench.events().iter().position(|event| event.kind == kind).expect("an event");
    assert!(place("experiment.queued") < place("experiment.started"));
    assert_eq!(stands(&owner, &id).await.0, "confirmed");
}

#[tokio::test]
async fn a_file_that_changes_during_the_run_leaves_it_undecided() {
    let bench = Bench::new();
    profile(&bench, "mutates", "echo more >> src/a.rs");
    profile(&bench, "passes", "exit 0");
    bench.write(FILE, "fn a() {}\n");
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let other = bench.pane(Some("reviewer"), Era::Modern).await;
    let id = bench.claim(&owner, "a does nothing", FILE).await;
    challenge(&bench, &other, &id).await;
    let answer = run(&owner, "mutates", &id, true).await;
    let why = "`src/a.rs` changed during the run";
    assert!(answer.text.contains(why), "{}", answer.text);
    let (status, reason) = stands(&owner, &id).await;
    assert!(status == "contested" && reason.contains(why), "{status} {reason}");

    // Nor is it evidence when it is tied by hand, and its page says why.
    let run_id = answer.field("run_id");
    let attach = json!({ "run_id": run_id, "claim_id": id });
    let tied = owner.call("attach_experiment", attach).await.expect("an answer");
    assert!(tied.text.contains("only mentions it") && tied.text.contains(why), "{}", tied.text);
    let event = answer.body["experiment"]["evidence_event_id"].clone();
    let add = json!({ "claim_id": id, "evidence_ref": event, "relation": "supports" });
    let refused = owner.call("add_evidence", add).await.expect("an answer");
    assert_eq!(refused.field("code"), "duplicate_evidence", "it is mentioned already: {}", refused.text);
    let page = owner.read(&format!("hivemind://experiments/{run_id}")).await.expect("a page");
    assert!(page.contains("- undecided: it neither confirms nor contradicts"), "{page}");

    // A run nobody waits for is compared with the claim itself.
    let answer = run(&owner, "passes", &id, false).await;
    assert!(answer.text.contains("`src/a.rs` changed since the claim"), "{}", answer.text);
    bench.write(FILE, "fn a() {}\n");
    let answer = run(&owner, "passes", &id, false).await;
    assert!(
        answer.text.contains("it supports claim"),
        "the same content is the same version: {}",
        answer.text
    );

    // Tied to another claim it is evidence where that is about what the run saw.
    let attach = |claim: &str| {
        let (run_id, claim) = (answer.field("run_id").to_owned(), claim.to_owned());
        json!({ "run_id": run_id, "claim_id": claim })
    };
    let same = bench.claim(&owner, "a returns at once", FILE).await;
    bench.accepted(&owner, "attach_experiment", attach(&same)).await;
    bench.write(FILE, "fn a() { c() }\n");
    let newer = bench.claim(&owner, "a calls c", FILE).await;
    let tied = owner.call("attach_experiment", attach(&newer)).await.expect("an answer");
    assert!(tied.text.contains("only mentions it"), "{}", tied.text);
    assert!(tied.text.contains("`src/a.rs` held something else when it was queued"), "{}", tied.text);
    bench.kill_writer();
    bench.assert_sound();
}

#[tokio::test]
async fn a_run_that_a_new_claim_cites_supports_what_the_run_saw() {
    let bench = Bench::new();
    profile(&bench, "mutates", "echo more >> src/a.rs");
    profile(&bench, "passes", "exit 0");
    bench.write(FILE, "fn a() {}\n");
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let first = bench.claim(&owner, "a does nothing", FILE).await;
    let passed = run(&owner, "passes", &first, false).await;
    let undecided = run(&owner, "mutates", &first, false).await;
    let said = async |statement: &str, run: &ToolAnswer| {
        let given = json!({
            "statement": statement, "claim_type": "fact", "scopes": [FILE], "evidence_refs": [run.field("run_id")],
        });
        let id = bench.accepted(&owner, "create_claim", given).await.field("claim_id").to_owned();
        let claim = json_of(&owner, &format!("hivemind://claims/{id}")).await;
        (claim["evidence_items"][0]["relation"].clone(), claim["grade"].clone())
    };
    assert_eq!(said("a says more now", &passed).await, (json!("mentions"), json!("asserted")));
    bench.write(FILE, "fn a() {}\n");
    assert_eq!(said("a returns at once", &passed).await, (json!("supports"), json!("observed")));
    assert_eq!(said("a never waits", &undecided).await, (json!("mentions"), json!("asserted")));
    bench.kill_writer();
    bench.assert_sound();
}

/// Red before: a run that was queued for no claim had seen no version, so that none differed.
#[tokio::test]
async fn a_run_that_looked_at_no_file_is_no_evidence_of_what_a_file_holds() {
    let bench = Bench::new();
    profile(&bench, "passes", "exit 0");
    bench.write(FILE, "fn a() {}\n");
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let answer = owner.call("run_experiment", json!({ "profile": "passes", "wait": true })).await;
    let run_id = answer.expect("an answer").field("run_id").to_owned();
    bench.write(FILE, "fn a() { c() }\n");
    let given = json!({ "statement": "a calls c", "claim_type": "fact", "scopes": [FILE], "evidence_refs": [run_id] });
    let made = bench.accepted(&owner, "create_claim", given).await;
    let why = "what `src/a.rs` held when it was queued is not on record; run it about the claim";
    assert!(made.text.contains(why), "{}", made.text);
    let later = bench.claim(&owner, "a returns at once", FILE).await;
    let attach = json!({ "run_id": run_id, "claim_id": later });
    let tied = bench.accepted(&owner, "attach_experiment", attach).await;
    assert!(tied.text.contains(why) && tied.text.contains("run_experiment {"), "{}", tied.text);
    for id in [made.field("claim_id"), &later] {
        let claim = json_of(&owner, &format!("hivemind://claims/{id}")).await;
        let tied = (&claim["evidence_items"][0]["relation"], &claim["grade"]);
        assert_eq!(tied, (&json!("mentions"), &json!("asserted")), "{claim}");
    }
    // Where the scope has no version the run is evidence, as one about the claim is.
    let given = json!({ "statement": "it all holds", "claim_type": "fact", "scopes": ["src"], "evidence_refs": [run_id] });
    let id = bench.accepted(&owner, "create_claim", given).await.field("claim_id").to_owned();
    let claim = json_of(&owner, &format!("hivemind://claims/{id}")).await;
    assert_eq!(
        (&claim["evidence_items"][0]["relation"], &claim["grade"]),
        (&json!("supports"), &json!("observed"))
    );
    bench.kill_writer();
    bench.assert_sound();
}

#[tokio::test]
async fn the_way_forward_from_a_decision_whose_files_changed_is_another_decision() {
    let bench = Bench::new();
    profile(&bench, "passes", "exit 0");
    bench.write(FILE, "fn a() {}\n");
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let given =
        json!({ "statement": "a does nothing", "rationale": "its callers rely on that", "scopes": [FILE] });
    let id = bench.accepted(&owner, "record_decision", given).await.field("claim_id").to_owned();
    let seen = run(&owner, "passes", &id, false).await;
    bench.write(FILE, "fn a() { b() }\n");
    let answer = run(&owner, "passes", &id, false).await;
    let warned = answer.body["warnings"][0]["message"].as_str().expect("a warning").to_owned();
    let page =
        owner.read(&format!("hivemind://experiments/{}", answer.field("run_id"))).await.expect("a page");
    let later = bench.accepted(&owner, "record_decision", json!({
        "statement": "a calls b", "rationale": "a needs what b makes of it", "scopes": [FILE], "supersedes": [id], "mends": true,
    })).await.field("claim_id").to_owned();
    let attach = json!({ "run_id": seen.field("run_id"), "claim_id": later });
    let tied = owner.call("attach_experiment", attach).await.expect("an answer").text;
    for text in [warned, page, tied] {
        assert!(text.contains("`record_decision {") && !text.contains("create_claim"), "{text}");
        assert!(text.contains("\"supersedes\":[\"") && text.contains("\"scopes\":[\""), "{text}");
    }
}

#[tokio::test]
async fn what_is_no_small_file_of_the_tree_is_not_hashed_and_said_to_be_without_a_version() {
    let bench = Bench::new();
    profile(&bench, "passes", "exit 0");
    let big = |size: u64| {
        let file = std::fs::File::create(bench.root().join("src/big.bin")).expect("a file");
        file.set_len(size).expect("a size");
    };
    bench.write("src/e41.rs", "fn e() {}\n");
    big(80_000_000);
    std::os::unix::fs::symlink("/etc/passwd", bench.root().join("passwd")).expect("a link");
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let other = bench.pane(Some("reviewer"), Era::Modern).await;
    let scopes = json!(["passwd", "src/big.bin", "src", "src/e4*", "tag:build"]);
    let given = json!({ "statement": "it is all there", "claim_type": "fact", "scopes": scopes });
    let made = bench.accepted(&owner, "create_claim", given).await;
    let unversioned = |answer: &ToolAnswer| -> Vec<String> {
        let warnings = answer.body["warnings"].as_array().cloned().unwrap_or_default();
        let warnings = warnings.iter().filter(|warning| warning["code"] == "unversioned");
        warnings.map(|warning| warning["message"].as_str().expect("a sentence").to_owned()).collect()
    };
    // Red before: the receipt said nothing.
    let told = [
        "`passwd` has no version, because it leads out of the work tree: no run can tell whether it changed",
        "`src` has no version, because it is a directory: only a reported edit tells that something there changed",
        "`src/big.bin` has no version, because it has 80 MB: no run can tell whether it changed",
        "`src/e4*` has no version, because it is a pattern for files: only a reported edit tells that something there changed",
    ];
    // A receipt names the first; the page of the claim names all.
    assert_eq!(unversioned(&made), told[..1], "{}", made.text);
    let id = made.field("claim_id").to_owned();
    challenge(&bench, &other, &id).await;
    for kind in ["claim.created", "position.taken"] {
        assert_eq!(payloads(&bench, kind)[0].get("versions"), None, "{kind}");
    }
    let page = owner.read(&format!("hivemind://claims/{id}")).await.expect("a page");
    for line in [
        "- without a version: `passwd` leads out of the work tree",
        "- without a version: `src/big.bin` has 80 MB",
        "- without a version: `src` is a directory",
        // Red before: its version was that of a file which is not there.
        "- without a version: `src/e4*` is a pattern for files",
        "- without a version: `tag:build` is no file",
    ] {
        assert!(page.contains(line), "{line} in {page}");
    }
    big(79_500_000);
    let answer = run(&owner, "passes", &id, true).await;
    assert_eq!(unversioned(&answer), told[..1], "{}", answer.text);
    assert_eq!(stands(&owner, &id).await.0, "confirmed", "where nothing was seen nothing has changed");
}

/// Red before: the challenge of other content made that content the claim's.
#[tokio::test]
async fn a_challenge_that_saw_other_content_does_not_make_it_the_claims() {
    let bench = Bench::new();
    profile(&bench, "passes", "exit 0");
    bench.write(FILE, "fn a() {}\n");
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let other = bench.pane(Some("reviewer"), Era::Modern).await;
    let id = bench.claim(&owner, "a does nothing", FILE).await;
    bench.write(FILE, "fn a() { b() }\n");
    challenge(&bench, &other, &id).await;
    let answer = run(&owner, "passes", &id, true).await;
    let why = "`src/a.rs` changed since the claim";
    assert!(
        answer.text.contains(&format!("{why}: this run will neither confirm nor contradict")),
        "{}",
        answer.text
    );
    let (status, reason) = stands(&owner, &id).await;
    assert!(status == "contested" && reason.contains(why), "{status} {reason}");
    // Whose claim or challenge it is may say that it is still meant.
    let still = bench.hm(&["claim", "still", &id, "--agent", "reviewer"]);
    assert!(still.status.success(), "{still:?}");
    run(&owner, "passes", &id, true).await;
    assert_eq!(stands(&owner, &id).await.0, "confirmed");
    bench.kill_writer();
    bench.assert_sound();
}

#[tokio::test]
async fn what_is_queued_keeps_what_was_seen_when_it_was_said() {
    let bench = Bench::new();
    profile(&bench, "passes", "exit 0");
    bench.write(FILE, "fn a() {}\n");
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    bench.claim(&owner, "written while all was well", "tag:a").await;
    // Each of their calls waits for a writer that cannot come.
    let (hasty, other) = (bench.pane_of_a_user("devops").await, bench.pane_of_a_user("reviewer").await);
    bench.kill_writer();
    let lock = bench.hold_writer_lock();
    let given = json!({ "statement": "a does nothing", "claim_type": "fact", "scopes": [FILE] });
    let answer = hasty.call("create_claim", given).await.expect("an answer");
    assert_eq!(answer.field("state"), "queued", "{}", answer.text);
    let id = answer.field("claim_id").to_owned();
    let doubt = json!({ "claim_id": id, "reason": "it may do more" });
    assert_eq!(other.call("challenge", doubt).await.expect("an answer").field("state"), "queued");
    bench.write(FILE, "fn a() { b() }\n");
    drop(lock);
    let waited = bench.hm(&["rebuild"]);
    assert!(waited.status.success(), "{waited:?}");
    let seen = json!({ FILE: "509a0a5b5ce4e59f5039e30a39324342d7a161296bb8eba761983faaeebf6efd" });
    assert_eq!(payloads(&bench, "claim.created")[1]["versions"], seen);
    assert_eq!(payloads(&bench, "position.taken")[0]["versions"], seen);
    let answer = run(&owner, "passes", &id, true).await;
    assert!(answer.text.contains("`src/a.rs` changed since the challenge"), "{}", answer.text);
    bench.kill_writer();
    bench.assert_sound();
}

#[tokio::test]
async fn a_claim_that_mends_closes_the_old_one_without_a_quarrel() {
    let bench = Bench::new();
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let other = bench.pane(Some("reviewer"), Era::Modern).await;
    let shares = bench.claim(&owner, "copy shares storage", FILE).await;
    bench.accepted(&other, "support", json!({ "claim_id": shares })).await;
    let dead_end = json!({
        "statement": "a linked list never shrinks", "claim_type": "negative", "scopes": [FILE],
        "trigger": { "commands": ["cargo bench list"] },
    });
    let dead_end = bench.accepted(&owner, "create_claim", dead_end).await.field("claim_id").to_owned();

    let alone = json!({ "statement": "x", "claim_type": "fact", "scopes": [FILE], "mends": true });
    let refused = owner.call("create_claim", alone).await.expect("an answer");
    assert_eq!(refused.field("code"), "invalid_argument", "{}", refused.text);

    let mended = json!({
        "statement": "copy has storage of its own", "claim_type": "fact", "scopes": [FILE],
        "supersedes": shares, "mends": true,
    });
    let successor = bench.accepted(&owner, "create_claim", mended).await.field("claim_id").to_owned();
    let status = ["claim", "create", "a list shrinks", "--scope", FILE, "--supersedes", &dead_end, "--mends"];
    let status = bench.hm(&[&status[..], &["--agent", "devops"]].concat());
    assert!(status.status.success(), "{status:?}");
    assert_eq!(payloads(&bench, "contradiction.detected"), Vec::<Value>::new(), "nobody was wrong");
    assert!(payloads(&bench, "claim.superseded").iter().all(|link| link["mends"] == true));

    let page = owner.read(&format!("hivemind://claims/{shares}")).await.expect("a page");
    assert!(page.contains(&format!("- mended by: {}", bench.name(&successor))), "{page}");
    let (status, reason) = stands(&owner, &shares).await;
    assert_eq!((status.as_str(), reason), ("deprecated", format!("mended by {successor}")));
    let json = json_of(&owner, &format!("hivemind://claims/{shares}")).await;
    assert_eq!((&json["mended"], &json["superseded_by"]), (&json!(true), &json!(successor)));
    let why = bench.hm(&["claim", "why", &shares]);
    assert!(String::from_utf8_lossy(&why.stdout).contains("- mended by"), "{why:?}");

    // A dead end that was mended warns no more.
    let again = json!({ "statement": "the list is short", "claim_type": "fact", "scopes": [FILE] });
    let again = bench.accepted(&other, "create_claim", again).await;
    assert!(!again.text.contains(&bench.name(&dead_end)), "{}", again.text);

    // A decision may mend another one, and another agent's claim is mended once the new one is confirmed.
    let scan = json!({ "statement": "we scan", "rationale": "it is simple enough", "target": "lookup" });
    let scan = bench.accepted(&owner, "record_decision", scan).await.field("claim_id").to_owned();
    let heap = json!({
        "statement": "we use a heap", "rationale": "the lists grew beyond a scan", "target": "lookup",
        "supersedes": [scan], "mends": true,
    });
    bench.accepted(&owner, "record_decision", heap).await;
    assert!(stands(&owner, &scan).await.1.starts_with("mended by"));
    let theirs = json!({
        "statement": "copy is lazy", "claim_type": "fact", "scopes": [FILE], "supersedes": successor, "mends": true,
    });
    let theirs = bench.accepted(&other, "create_claim", theirs).await.field("claim_id").to_owned();
    bench.accepted(&owner, "support", json!({ "claim_id": theirs })).await;
    assert_eq!(stands(&owner, &successor).await.1, format!("mended by {theirs}"));
    bench.kill_writer();
    bench.assert_sound();
}

#[tokio::test]
async fn readers_see_what_changed_since_and_write_nothing() {
    let bench = Bench::new();
    bench.write(FILE, "fn a() {}\n");
    bench.write("src/b.rs", "fn b() {}\n");
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let other = bench.pane(Some("reviewer"), Era::Modern).await;
    let id = bench.claim(&owner, "a does nothing", FILE).await;
    let own = bench.claim(&owner, "b does nothing", "src/b.rs").await;
    // Lists tell it of findings.
    for claim in [&id, &own] {
        bench.accepted(&other, "support", json!({ "claim_id": claim })).await;
    }
    let page = async |id: &str| owner.read(&format!("hivemind://claims/{id}")).await.expect("a page");
    assert!(!page(&id).await.contains("changed since"));

    // An edit on record, and one that is not.
    edited(&bench, &other, FILE, "fn a() { b() }\n").await;
    bench.write("src/b.rs", "fn b() { a() }\n");
    let events = bench.events().len();
    assert!(page(&id).await.contains("- changed since: `src/a.rs` by reviewer\n"), "{}", page(&id).await);
    assert!(page(&own).await.contains("- changed since: `src/b.rs`\n"), "{}", page(&own).await);
    let json = json_of(&owner, &format!("hivemind://claims/{id}")).await;
    assert_eq!(json["changed_since"], json!([{ "path": FILE, "by": "reviewer" }]));
    let why = bench.hm(&["claim", "why", &id]);
    let why = String::from_utf8_lossy(&why.stdout).into_owned();
    assert!(why.contains("- changed since: `src/a.rs` by reviewer"), "{why}");
    let show = bench.hm(&["claim", "show", &own]);
    assert!(String::from_utf8_lossy(&show.stdout).contains("changed since: `src/b.rs`"), "{show:?}");

    // A list looks at the files, and knows from hooks and reports which agent edited them.
    let list = json_of(&owner, "hivemind://claims").await;
    let marks = |list: &Value| -> Vec<Value> {
        let claims = list["claims"].as_array().expect("claims");
        claims.iter().map(|claim| claim["changed_since"].clone()).collect()
    };
    assert_eq!(marks(&list), [json!([{ "path": "src/b.rs" }]), json!([{ "path": FILE, "by": "reviewer" }])]);
    let text = owner.read("hivemind://claims").await.expect("a list");
    assert_eq!(text.matches(", changed since").count(), 2, "{text}");
    for verb in [&["claim", "list"][..], &["claim", "search", "nothing"]] {
        let shown = bench.hm(verb);
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        assert_eq!(shown.matches("changed since").count(), 2, "{shown}");
    }
    let pack = owner.read("hivemind://context").await.expect("a pack");
    assert_eq!(pack.matches("changed=\"`src/a.rs` by reviewer\"").count(), 1, "{pack}");
    assert_eq!(bench.events().len(), events, "reads write nothing");

    let still = bench.hm(&["claim", "still", &id, "--agent", "devops"]);
    assert!(still.status.success(), "{still:?}");
    let shown = page(&id).await;
    assert!(
        !shown.contains("changed since") && shown.contains("- still meant: said by devops, as of event"),
        "{shown}"
    );
    // What was shown then is not compared with the files of now.
    let past = bench.hm(&["claim", "show", &own, "--at", "2"]);
    assert!(past.status.success(), "{past:?}");
    assert!(!String::from_utf8_lossy(&past.stdout).contains("changed since"), "{past:?}");
    bench.kill_writer();
    bench.assert_sound();
}

/// Red before: a run on other content than the challenge saw was told that it would settle nothing, and proved the claim
/// when its owner said `still` while it ran.
#[tokio::test]
async fn still_said_while_a_run_is_under_way_does_not_make_it_binding() {
    let bench = Bench::new();
    profile(&bench, "waits", "until [ -e go ]; do sleep 0.1; done");
    profile(&bench, "passes", "exit 0");
    bench.write(FILE, "fn insert() { /* scan */ }\n");
    let owner = keeper(&bench, "architect").await;
    let other = keeper(&bench, "analyst").await;
    let id = bench.claim(&owner, "insert keeps the order", FILE).await;
    challenge(&bench, &other, &id).await;
    edited(&bench, &owner, FILE, "fn insert() { /* heap */ }\n").await;
    let queued = bench.accepted(&owner, "run_experiment", given_waiting(&id)).await;
    assert!(queued.text.contains("will neither confirm nor contradict"), "{}", queued.text);
    bench.accepted(&owner, "still", json!({ "claim_id": id })).await;
    bench.write("go", "");
    let run_id = queued.field("run_id").to_owned();
    let shown = bench.hm(&["experiment", "show", "--wait", &run_id]);
    assert!(shown.status.success(), "{shown:?}");
    let (status, reason) = stands(&owner, &id).await;
    let why = "`src/a.rs` changed by architect since the challenge";
    assert!(status == "contested" && reason.contains(why), "{status} {reason}");
    // A run that is queued after both said it binds, also where `still` is said again of the same content.
    bench.accepted(&other, "still", json!({ "claim_id": id })).await;
    std::fs::remove_file(bench.root().join("go")).expect("the file");
    let queued = bench.accepted(&owner, "run_experiment", given_waiting(&id)).await;
    assert!(queued.text.contains("confirms"), "{}", queued.text);
    bench.accepted(&owner, "still", json!({ "claim_id": id })).await;
    bench.write("go", "");
    assert!(bench.hm(&["experiment", "show", "--wait", queued.field("run_id")]).status.success());
    let (status, reason) = stands(&owner, &id).await;
    assert!(status == "confirmed" && reason.starts_with("proof:"), "{status} {reason}");
    bench.kill_writer();
    bench.assert_sound();
}

fn given_waiting(claim: &str) -> Value {
    json!({ "profile": "waits", "claim_id": claim, "blocking": true })
}
