//! All that is kept can be seen: items of the memory contract, each with its author, its weight and its readers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use hivemind::domain::memory::{MemoryItem, Owner};
use hivemind::mcp::{Era, Pane};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::proof::{EXPECTING, json_of, profile, run};
use crate::shell::Shell;

/// As the session of an agent.
fn within(shell: &Shell, session: &str, line: &str) {
    let output = shell.command(line).env("HM_SESSION", session).output().expect("hm runs");
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

fn said(shell: &Shell, line: &str) -> String {
    let output = shell.run(line);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// All items of a list, read page by page.
fn kept(shell: &Shell, options: &str, limit: usize) -> Vec<Value> {
    let (mut items, mut cursor) = (Vec::new(), String::new());
    for _ in 0..100 {
        let page = shell.json(&format!("hm --json memory list {options} --limit {limit}{cursor}"));
        items.extend(page["items"].as_array().unwrap_or_else(|| panic!("{page}")).iter().cloned());
        match page["next"].as_u64() {
            Some(next) => cursor = format!(" --cursor {next}"),
            None => return items,
        }
    }
    panic!("the list has no end");
}

fn ids(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| item["id"].as_str().expect("an id")).collect()
}

/// The items by the end of their ids: their kind and number.
fn by_number(items: &[Value]) -> BTreeMap<String, &Value> {
    let short = |item: &Value| {
        let id = item["id"].as_str().expect("an id");
        id.rsplitn(3, ':').take(2).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join(":")
    };
    items.iter().map(|item| (short(item), item)).collect()
}

/// A memory with items of every kind.
fn filled() -> Shell {
    let shell = Shell::new();
    for line in [
        "hm --agent devops claim create \"the pool holds 20 connections\" --scope src/pool",
        "hm --agent analyst claim support C1",
        "hm --agent devops claim create \"the cache is warm at start\" --type hypothesis --scope src/cache",
        "hm --agent operator claim create \"we deploy on Mondays only\" --type decision --scope ops",
        "hm --agent analyst claim create \"retries make it worse\" --type negative --scope src/pool",
        "hm --agent devops claim create \"the queue is bounded\" --scope src/queue",
        "hm --agent devops claim deprecate C5 --reason \"the queue is gone\"",
        "hm --agent devops anchor save region eu-west",
        "hm --agent devops anchor save region eu-north",
        "hm --agent analyst anchor save port 7001",
        "hm --agent analyst anchor retire port",
    ] {
        said(&shell, line);
    }
    within(&shell, "night-run", "hm --agent devops session start");
    for number in 1..=14 {
        let role = if number % 2 == 1 { "user" } else { "assistant" };
        within(&shell, "night-run", &format!("hm --agent devops session turn {role} \"message {number}\""));
    }
    shell
}

#[test]
fn all_that_is_kept_is_listed_to_the_end_with_who_sees_it() {
    let shell = filled();
    let all = kept(&shell, "", 500);
    let paged = kept(&shell, "", 3);
    assert_eq!(ids(&all), ids(&paged), "pages are the list");
    let different: BTreeSet<&str> = ids(&all).into_iter().collect();
    assert_eq!(different.len(), all.len(), "no item is listed twice");
    let places: Vec<u64> = all.iter().filter_map(|item| item["created_at"].as_u64()).collect();
    assert!(places.is_sorted_by(|one, other| one > other), "newest first: {places:?}");
    let count = |kind: &str| all.iter().filter(|item| item["kind"] == kind).count();
    // The summary is an item too.
    assert_eq!((count("semantic"), count("profile"), count("short_term")), (5, 3, 15));

    let items = by_number(&all);
    let shown = |item: &str| items[item]["shown_to"].clone();
    for seen in ["semantic:1", "semantic:2", "semantic:3", "semantic:4", "profile:2"] {
        assert_eq!(shown(seen), json!({ "to": "everyone" }), "{seen}");
    }
    let seq_of = |kind: &str| {
        let page = shell.json(&format!("hm --json log --type {kind}"));
        page["events"].as_array().expect("events").iter().filter_map(|event| event["seq"].as_u64()).max()
    };
    let over = json!({ "to": "nobody", "since": seq_of("claim.status_changed"), "because": "deprecated" });
    assert_eq!(shown("semantic:5"), over);
    let newer = items["profile:2"]["created_at"].clone();
    let replaced = json!({ "to": "nobody", "since": newer, "because": "replaced by a newer value" });
    assert_eq!(shown("profile:1"), replaced);
    let retired = json!({ "to": "nobody", "since": seq_of("anchor.retired"), "because": "retired" });
    assert_eq!(shown("profile:3"), retired);
    // The dialogue has six messages, the summary the beginnings of the six before.
    for number in 9..=14 {
        assert_eq!(shown(&format!("short_term:{number}"))["to"], "session");
    }
    let of_seven_later = items["short_term:14"]["created_at"].clone();
    assert_eq!(shown("short_term:8")["since"], of_seven_later);
    assert_eq!(shown("short_term:8")["because"], "the summary has its beginning");
    assert_eq!(shown("short_term:2")["because"], "newer messages took its place");
    let summary = items["short_term:0"];
    let summed: Vec<String> = (3..=8).map(|n| format!("session:night-run:short_term:{n}")).collect();
    assert_eq!(summary["meta"]["summary_of"], json!(summed));
    let text = summary["text"].as_str().expect("a text");
    assert!(text.starts_with("user: message 3\n") && text.ends_with("assistant: message 8"), "{text}");
}

#[test]
fn an_item_has_the_fields_of_the_contract() {
    let shell = filled();
    let project = shell.workspace().project();
    let show = |item: &str| shell.json(&format!("hm --json memory show {item}"));
    let operators = show("C3");
    let expected = json!({
        "id": format!("project:{project}:semantic:3"),
        "kind": "semantic",
        "text": "we deploy on Mondays only",
        "source": "user",
        "created_at": operators["created_at"],
        "importance": 4,
        "scope": "session",
        "meta": {
            "event_type": "decision",
            "importance_reason": ["event_type:decision:3", "source:user:+1"],
            "space": "project",
            "owner": project.as_str(),
            "dedup_key": "decision we deploy on mondays only",
            "authority": "user_asserted",
            "authority_reason": "the operator said it",
        },
        "name": "C3",
        "agent": "operator",
        "session": operators["session"],
        "at": operators["at"],
        "scopes": ["ops"],
        "standing": "proposed",
        "shown_to": { "to": "everyone" },
    });
    assert_eq!(operators, expected);
    let agents = show("C1");
    assert_eq!((&agents["source"], &agents["importance"]), (&json!("ai"), &json!(4)));
    assert_eq!(agents["meta"]["authority"], "ai_inferred");
    assert_eq!(agents["standing"], "confirmed, agreed");
    // A hypothesis has a week.
    let hypothesis = show("C2");
    let ends = hypothesis["at"].as_i64().map(|at| at + 168 * 3_600_000);
    assert_eq!(hypothesis["meta"]["expires_at"].as_i64(), ends);
    assert_eq!(hypothesis["meta"]["event_type"], "context");
    let anchor = show(&format!("project:{project}:profile:2"));
    assert_eq!((&anchor["text"], &anchor["meta"]["key"]), (&json!("eu-north"), &json!("region")));
    assert_eq!(anchor["meta"]["dedup_key"], "fact:region");
    let turn = show("session:night-run:short_term:13");
    assert_eq!((&turn["source"], &turn["meta"]["authority"]), (&json!("user"), &json!("user_asserted")));

    // The author may say what it is.
    said(
        &shell,
        "hm --agent operator claim create \"the pool holds 30 connections\" --event-type correction --supersedes C1",
    );
    let corrected = show("C6");
    assert_eq!(
        (&corrected["meta"]["event_type"], &corrected["importance"]),
        (&json!("correction"), &json!(6))
    );
    let reasons = json!(["event_type:correction:4", "source:user:+1", "correction:+1"]);
    assert_eq!(corrected["meta"]["importance_reason"], reasons);
    assert_eq!(corrected["meta"]["dedup_key"], "correction the pool holds 30 connections");
    // For people, a field on each line.
    let plain = said(&shell, "hm memory show C3");
    assert!(
        plain.contains("\nmeta.importance_reason.count: 2\nmeta.importance_reason.1: event_type:"),
        "{plain}"
    );
    assert!(plain.contains("\nshown_to.to: everyone\n"), "{plain}");
}

/// Red before: an item named only the term that its author gave, and no rule of the policy.
#[test]
fn an_item_says_which_rule_keeps_it_and_when_a_ttl_ends_it() {
    let shell = filled();
    let terms = "[policy.retention.semantic]\nfact = \"ttl 24 hours\"\ncontext = \"ttl 24 hours\"\n\
                 decision = \"decay 40 sessions\"\n";
    std::fs::write(shell.workspace().config(), terms).expect("a file");
    let show = |item: &str| shell.json(&format!("hm --json memory show {item}"));
    for (item, hours) in [("C1", Some(24)), ("C2", Some(24)), ("C3", None)] {
        let found = show(item);
        let ends = hours.and_then(|hours| Some(found["at"].as_i64()? + hours * 3_600_000));
        // The hypothesis has a week by itself, and the policy ends it earlier.
        assert_eq!(found["meta"]["expires_at"].as_i64(), ends, "{found}");
        assert_eq!(found["meta"]["policy_tags"], json!(["kept_by:retention_rule"]), "{found}");
    }
    std::fs::write(shell.workspace().config(), "[policy]\n").expect("a file");
    let found = show("C1");
    assert_eq!((&found["meta"]["expires_at"], &found["meta"]["policy_tags"]), (&Value::Null, &Value::Null));
}

#[test]
fn a_filter_leaves_what_it_names() {
    let shell = filled();
    let project = shell.workspace().project();
    let texts = |options: &str| -> Vec<String> {
        let items = kept(&shell, options, 500);
        items.iter().map(|item| item["text"].as_str().expect("a text").to_owned()).collect()
    };
    let count = |options: &str| texts(options).len();
    assert_eq!(count("--kind semantic"), 5);
    assert_eq!((count("--space session"), count("--space project"), count("--space user")), (15, 8, 0));
    assert_eq!(count(&format!("--owner {project}")), 8);
    assert_eq!((count("--owner night-run"), count("--session night-run")), (15, 15));
    assert_eq!(texts("--agent analyst"), ["7001", "retries make it worse"]);
    assert_eq!(texts("--agent-is operator"), ["we deploy on Mondays only"]);
    assert_eq!(texts("--scope src/pool"), ["retries make it worse", "the pool holds 20 connections"]);
    // The analyst supported the first.
    assert_eq!(
        texts("--never-used --scope src"),
        ["the queue is bounded", "retries make it worse", "the cache is warm at start"]
    );
    assert_eq!((count("--older-than 1h"), count("--older-than 0s")), (0, 23));
    let first = kept(&shell, "--kind semantic", 500).last().and_then(|item| item["created_at"].as_u64());
    assert_eq!(
        texts(&format!("--older-than #{}", first.expect("a claim"))),
        ["the pool holds 20 connections"]
    );
    let refused = |options: &str| {
        let refused = shell.json(&format!("hm --json memory list {options}"));
        (refused["code"].clone(), refused["message"].as_str().unwrap_or_default().to_owned())
    };
    let (code, message) = refused("--space project --owner 0123456789ab");
    assert_eq!(code, "unknown_memory");
    assert!(message.contains(project.as_str()), "{message}");
    assert_eq!(refused("--space session --owner nobodys").0, "unknown_memory");
    assert_eq!(refused("--kind claims").0, "invalid_argument");
    let missing = shell.json(&format!("hm --json memory show project:{project}:semantic:99"));
    assert_eq!(missing["code"], "unknown_memory", "{missing}");
}

#[test]
fn a_list_fits_a_screen_and_marks_the_authors() {
    let shell = filled();
    let list = said(&shell, "hm memory list --space project");
    assert!(list.lines().all(|line| line.chars().count() <= 100), "{list}");
    let flat = list.split_whitespace().collect::<Vec<_>>().join(" ");
    let project = shell.workspace().project();
    for row in [
        format!(
            "- `project:{project}:semantic:1` the pool holds 20 connections (C1, fact 4, ai_inferred, by devops, \
             confirmed, agreed; shown to everyone)"
        ),
        format!(
            "- `project:{project}:semantic:3` we deploy on Mondays only (C3, decision 4, user_asserted, by \
             operator, proposed; shown to everyone)"
        ),
        format!(
            "- `project:{project}:profile:2` region = eu-north (fact 4, ai_inferred, by devops; shown to everyone)"
        ),
    ] {
        assert!(flat.contains(&row), "{row}\n{list}");
    }
    assert!(flat.contains("deprecated; shown to nobody since #"), "{list}");
    assert_eq!(said(&shell, "hm memory list --space user").trim(), "Nothing is kept that matches.");
}

#[test]
fn ids_are_those_of_the_ledger_whatever_is_folded_or_erased() {
    let shell = filled();
    let before = kept(&shell, "", 500);
    said(&shell, "hm rebuild");
    assert_eq!(kept(&shell, "", 500), before, "a rebuild changes nothing");
    // One of each kind is erased. All others keep their ids.
    let of = |kind: &str, text: &str| -> Value {
        let page = shell.json(&format!("hm --json log --type {kind} --limit 500"));
        let events = page["events"].as_array().expect("events");
        let found = events.iter().find(|event| event["payload"].to_string().contains(text));
        found.unwrap_or_else(|| panic!("no {text} in {page}"))["seq"].clone()
    };
    for (kind, text) in [
        ("claim.created", "the pool holds 20"),
        ("anchor.saved", "eu-west"),
        ("turn.recorded", "message 10\""),
    ] {
        let seq = of(kind, text);
        said(&shell, &format!("hm --agent operator forget #{seq} --reason \"asked to\""));
    }
    let after = kept(&shell, "", 4);
    let gone = ["semantic:1", "profile:1", "short_term:10"];
    let (before, after) = (by_number(&before), by_number(&after));
    for (id, item) in &before {
        let still = after.get(id).map(|item| (&item["id"], &item["text"]));
        let expected = (!gone.contains(&id.as_str())).then(|| (&item["id"], &item["text"]));
        // The summary sums up other messages now.
        if id != "short_term:0" {
            assert_eq!(still, expected, "{id}");
        }
    }
    let summary = after["short_term:0"];
    assert_eq!(summary["meta"]["summary_of"][5], "session:night-run:short_term:7");
    let missing = shell.json("hm --json memory show session:night-run:short_term:10");
    assert_eq!(missing["code"], "unknown_memory", "{missing}");
}

#[tokio::test]
async fn a_verb_says_what_its_resource_says() {
    let bench = Bench::new();
    let pane = Pane::offered(bench.binary(), bench.root(), Some("devops"), Era::Modern, "all");
    let pane = pane.await.expect("a pane");
    let other = bench.pane(Some("analyst"), Era::Legacy).await;
    for number in 0..5 {
        let id =
            bench.claim(&pane, &format!("the pool holds {number} connections, by count"), "src/pool").await;
        if number == 2 {
            bench.accepted(&other, "support", json!({ "claim_id": id })).await;
        }
        for words in [
            ["--agent", "analyst", "anchor", "save", &format!("k{number}"), "v"],
            ["--agent", "devops", "session", "turn", "user", &format!("say {number}")],
        ] {
            let output = bench.hm(&words);
            assert!(output.status.success(), "{output:?}");
        }
    }
    let project = bench.workspace().project();
    let resource = async |address: &str| {
        let mut json = json_of(&pane, address).await;
        json.as_object_mut().expect("an object").remove("next_page");
        json
    };
    let verb = |words: &[&str]| -> Value {
        let output = bench.hm(&[&["--json", "memory"], words].concat());
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    };
    let pairs: [(String, Vec<&str>); 6] = [
        ("hivemind://memory".to_owned(), vec!["list"]),
        (
            "hivemind://memory?kind=profile&agent=analyst&limit=2".to_owned(),
            vec!["list", "--kind", "profile", "--agent-is", "analyst", "--limit", "2"],
        ),
        (
            format!("hivemind://memory/project/{project}?never_used=true&scope=src%2Fpool"),
            vec![
                "list",
                "--space",
                "project",
                "--owner",
                project.as_str(),
                "--never-used",
                "--scope",
                "src/pool",
            ],
        ),
        ("hivemind://memory/session".to_owned(), vec!["list", "--space", "session"]),
        (format!("hivemind://memory/project/{project}/semantic/3"), vec!["show", "C3"]),
        (
            "hivemind://memory/user/operator".to_owned(),
            vec!["list", "--space", "user", "--owner", "operator"],
        ),
    ];
    for (address, words) in pairs {
        let (read, shown) = (resource(&address).await, verb(&words));
        assert_eq!(read, shown, "{address} and {words:?}");
        assert!(read.get("items").is_some() || read.get("id").is_some(), "{address}: {read}");
    }
    let page = json_of(&pane, "hivemind://memory?kind=profile&limit=2").await;
    let next = page["next_page"].as_str().expect("a next page");
    let rest = pane.read(next).await.expect("the next page");
    let rest: Value = serde_json::from_str(&rest).expect("JSON");
    assert_eq!(
        (rest["items"][0]["meta"]["key"].clone(), rest["items"].as_array().map(Vec::len)),
        (json!("k2"), Some(2))
    );
    for (address, word) in [
        ("hivemind://memory/team", "space"),
        ("hivemind://memory/project/x/claims/1", "kind"),
        ("hivemind://memory?older_than=soon", "moment"),
    ] {
        let refused = pane.read(address).await.expect_err("no such items").to_string();
        assert!(refused.contains(word), "{address}: {refused}");
    }
}

/// The fields of a memory item, as contract v1 lists them.
const FIELDS: [&str; 8] = ["id", "kind", "text", "source", "created_at", "importance", "scope", "meta"];
/// The fields of its `meta`, as contract v1 lists them.
const META: [&str; 20] = [
    "event_type",
    "importance_reason",
    "recall_reason",
    "space",
    "owner",
    "summary_of",
    "dedup_key",
    "score",
    "key",
    "source_turn_ids",
    "authority",
    "authority_reason",
    "promoted_from",
    "promotion_reason",
    "policy_tags",
    "expires_at",
    "phase_id",
    "phase_name",
    "phase_started_at",
    "phase_reason",
];

#[test]
fn an_item_is_written_as_the_contract_has_it() {
    let fixture = include_str!("../fixtures/memory_item.json");
    let item: MemoryItem = serde_json::from_str(fixture).expect("an item");
    assert_eq!(serde_json::to_string_pretty(&item).expect("JSON"), fixture.trim_end());
    let json: Value = serde_json::from_str(fixture).expect("JSON");
    let names =
        |json: &Value| -> BTreeSet<String> { json.as_object().expect("an object").keys().cloned().collect() };
    let listed =
        |fields: &[&str]| -> BTreeSet<String> { fields.iter().map(|name| (*name).to_owned()).collect() };
    assert_eq!((names(&json), names(&json["meta"])), (listed(&FIELDS), listed(&META)));
    // `meta` defaults to nothing.
    let bare = r#"{"id":"session:s:short_term:1","kind":"short_term","text":"hi","source":"user","created_at":1,"importance":2,"scope":"session"}"#;
    let item: MemoryItem = serde_json::from_str(bare).expect("an item");
    assert_eq!(serde_json::to_value(&item).expect("JSON")["meta"], json!({}));
}

async fn authority(pane: &Pane, claim: &str) -> (Value, Value) {
    let item = json_of(pane, "hivemind://memory?scope=src%2Fpool").await;
    let items = item["items"].as_array().expect("items");
    let it = items.iter().find(|item| item["name"] == claim).expect("the claim");
    (it["meta"]["authority"].clone(), it["meta"]["authority_reason"].clone())
}

#[tokio::test]
async fn a_proof_gives_a_claim_the_authority_of_a_tool() {
    let bench = Bench::new();
    bench.write("src/pool/a.rs", "fn pool() {}");
    profile(&bench, "passes", "exit 0", "\"src/**\"", EXPECTING);
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let other = bench.pane(Some("reviewer"), Era::Legacy).await;
    let id = bench.claim(&owner, "the pool gives connections back", "src/pool").await;
    let (agents, reason) = authority(&owner, "C1").await;
    assert_eq!(agents, "ai_inferred");
    assert_eq!(reason, "devops said it, and no experiment proved it");
    bench.accepted(&other, "challenge", json!({ "claim_id": id, "reason": "I saw otherwise" })).await;
    let answer = run(&owner, json!({ "profile": "passes", "claim_id": id, "blocking": true })).await;
    assert_eq!(answer.body["run_state"], "succeeded", "{}", answer.text);
    let (proved, reason) = authority(&owner, "C1").await;
    assert_eq!(proved, "tool_verified", "{reason}");
    assert!(reason.as_str().is_some_and(|reason| reason.starts_with("experiment ")), "{reason}");
}

fn git(dir: &Path, arguments: &[&str]) -> String {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"];
    let output =
        Command::new("git").args(identity).args(arguments).current_dir(dir).output().expect("git runs");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

#[test]
fn a_project_is_its_root_commit_in_every_work_tree() {
    let bench = Bench::in_git();
    let root = bench.root();
    let path = root.canonicalize().expect("the root").display().to_string();
    assert_eq!(bench.workspace().project(), Owner::project(&path), "no commit yet");
    git(root, &["commit", "-q", "--allow-empty", "-m", "one"]);
    let first = git(root, &["rev-parse", "HEAD"]);
    assert_eq!(bench.workspace().project(), Owner::project(&first));
    git(root, &["commit", "-q", "--allow-empty", "-m", "two"]);
    git(root, &["worktree", "add", "-q", "-b", "side", "side"]);
    assert_eq!(bench.workspace().project(), Owner::project(&first));
    let side = bench.workspace().work_trees().into_iter().find(|tree| tree.worktree().is_some());
    assert_eq!(side.expect("the other work tree").project(), Owner::project(&first));
}
