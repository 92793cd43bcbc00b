//! Decisions by every way in, the operator's word, and the way back of every verb.

use hivemind::mcp::{Era, Pane};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::terminal::AS_OPERATOR;

async fn says(pane: &Pane, tool: &str, arguments: Value) -> String {
    pane.call(tool, arguments).await.expect("an answer").text
}

/// Records a decision on a target and returns its id.
async fn decided(bench: &Bench, pane: &Pane, statement: &str, target: &str) -> String {
    let arguments =
        json!({ "statement": statement, "rationale": "one file, nothing to run", "target": target });
    bench.accepted(pane, "record_decision", arguments).await.field("claim_id").to_owned()
}

async fn status(pane: &Pane, claim: &str) -> String {
    let page = pane.read(&format!("hivemind://claims/{claim}?format=json")).await.expect("the claim");
    let page: Value = serde_json::from_str(&page).expect("JSON");
    page["status"].as_str().expect("a status").to_owned()
}

#[tokio::test]
async fn a_claim_of_type_decision_on_a_target_is_no_way_past_the_rule() {
    let bench = Bench::new();
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let first = decided(&bench, &devops, "we keep SQLite", "database").await;
    let create = json!({
        "statement": "we move to Postgres", "claim_type": "decision", "scopes": ["target:database"],
    });
    let refused = devops.call("create_claim", create).await.expect("an answer");
    assert!(refused.refused, "{}", refused.text);
    assert!(refused.text.starts_with("rationale_required: "), "{}", refused.text);
    assert!(refused.text.contains("record_decision"), "{}", refused.text);
    // Nor is a target among the scopes of a decision that names none.
    let aside = json!({
        "statement": "we move to Postgres", "rationale": "several machines write", "scopes": ["target:database"],
    });
    let refused = says(&devops, "record_decision", aside).await;
    assert!(refused.starts_with("target_conflict: "), "{refused}");
    assert_eq!(status(&devops, &first).await, "proposed");
}

#[tokio::test]
async fn only_a_decision_with_a_rationale_takes_a_decision_out_of_force() {
    let bench = Bench::new();
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let architect = bench.pane(Some("architect"), Era::Modern).await;
    let first = decided(&bench, &devops, "we keep SQLite", "database").await;
    for (pane, claim_type) in [(&devops, "fact"), (&architect, "fact"), (&devops, "decision")] {
        let create = json!({
            "statement": format!("the {claim_type} of somebody"), "claim_type": claim_type,
            "scopes": ["src/db"], "supersedes": first,
        });
        let refused = says(pane, "create_claim", create).await;
        assert!(refused.starts_with("rationale_required: "), "{refused}");
    }
    for pane in [&devops, &architect] {
        let refused =
            says(pane, "deprecate_claim", json!({ "claim_id": first, "reason": "it was wrong all along" }))
                .await;
        assert!(refused.starts_with("rationale_required: "), "{refused}");
    }
    let brief = json!({
        "statement": "we keep it for a day", "claim_type": "decision", "scopes": ["src/db"], "ttl_hours": 24,
    });
    let refused = says(&devops, "create_claim", brief).await;
    assert!(refused.starts_with("invalid_argument: "), "{refused}");
    assert_eq!(status(&devops, &first).await, "proposed");

    // The operator decides anew too: red before, a reason was enough, and the target had no decision.
    let put_down = ["claim", "deprecate", &first, "--reason", "asked to", "--agent", "operator"];
    let output = bench.hm(&put_down);
    assert!(!output.status.success(), "{output:?}");
    assert_eq!(status(&devops, &first).await, "proposed");
}

fn text(output: &std::process::Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// What needs an agent, without its line breaks.
fn attention(bench: &Bench, agent: &str) -> String {
    let shown = text(&bench.hm(&["attention", "--agent", agent]));
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn a_tagged_decision_is_a_decision_of_its_day() {
    let bench = Bench::new();
    let tagged = "DECISION: we use WAL\nFINDING: the pool leaks\nFINDING: the pool leaks";
    let lines = [
        json!({ "from": "devops", "text": tagged, "at": "2020-03-04T10:00:00Z" }),
        json!({ "from": "analyst", "text": "FINDING: the pool  leaks", "at": "2020-03-05T10:00:00Z" }),
    ];
    let file = bench.root().join("mail.jsonl");
    std::fs::write(&file, lines.map(|line| line.to_string()).join("\n")).expect("a file");
    let backfill = |more: &[&str]| -> Value {
        let file = file.display().to_string();
        let arguments = [&["backfill", "--messages", &file, "--agent", "operator", "--json"], more].concat();
        serde_json::from_slice(&bench.hm(&arguments).stdout).expect("JSON")
    };
    let dry = backfill(&["--dry-run"]);
    let made = backfill(&[]);
    assert_eq!(made["claims"]["inserted"], json!(2), "{made}");
    assert_eq!(made["claims"]["refused"], json!({ "duplicate_claim": 2 }));
    for what in ["messages", "claims", "tasks", "skipped"] {
        assert_eq!(dry[what], made[what], "a dry run says what a run makes of {what}");
    }
    let listed = text(&bench.hm(&["decision", "list", "--json"]));
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    let decision = &listed["decisions"][0];
    assert_eq!(decision["statement"], "we use WAL", "{listed}");
    assert_eq!(decision["decided_by"], "devops");
    assert_eq!(decision["created_at"], json!(1_583_316_000_000_i64), "{decision}");
    let rationale = decision["rationale"].as_str().expect("a rationale");
    assert!(rationale.starts_with("backfilled from message.sent "), "{rationale}");
    bench.kill_writer();
    bench.assert_sound();
}

#[tokio::test]
async fn no_agent_takes_the_operators_word_back() {
    let bench = Bench::new();
    let by_operator = |arguments: &[&str]| {
        let output = bench.hm(&[arguments, &["--agent", "operator"]].concat());
        assert!(output.status.success(), "{output:?}");
        text(&output)
    };
    by_operator(&[
        "decision",
        "record",
        "we keep SQLite",
        "--target",
        "database",
        "--rationale",
        "one file, nothing to run",
    ]);
    let architect = bench.pane(Some("architect"), Era::Modern).await;
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let listed = architect.read("hivemind://decisions?format=json").await.expect("decisions");
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    let sqlite = listed["decisions"][0]["claim_id"].as_str().expect("an id").to_owned();
    let postgres = json!({
        "statement": "we move to Postgres", "rationale": "several machines write now", "target": "database",
        "supersedes": [sqlite],
    });
    let proposed = says(&architect, "record_decision", postgres).await;
    assert!(proposed.contains("proposed to the operator"), "{proposed}");
    assert_eq!(status(&devops, &sqlite).await, "proposed", "it stands");
    let needed = attention(&bench, "operator");
    assert!(needed.contains("architect would decide otherwise: several machines write now"), "{needed}");
    assert!(needed.contains("on target:database: we move to Postgres"), "{needed}");
    // The operator does it, and nothing is proposed any more.
    by_operator(&[
        "decision",
        "record",
        "we move to Postgres",
        "--target",
        "database",
        "--supersedes",
        &sqlite,
        "--rationale",
        "several machines write now",
    ]);
    assert_eq!(status(&devops, &sqlite).await, "deprecated");
    assert!(!attention(&bench, "operator").contains("would decide"));

    let leaks = bench.claim(&devops, "the pool leaks", "src/db").await;
    by_operator(&["claim", "support", &leaks]);
    for (pane, tool, arguments) in [
        (&architect, "challenge", json!({ "claim_id": leaks, "reason": "I see no leak" })),
        (&architect, "deprecate_claim", json!({ "claim_id": leaks, "reason": "I see no leak" })),
        (&devops, "deprecate_claim", json!({ "claim_id": leaks, "reason": "I was wrong" })),
    ] {
        let proposed = says(pane, tool, arguments).await;
        assert!(proposed.contains("proposed to the operator"), "{proposed}");
        assert_eq!(status(&devops, &leaks).await, "confirmed");
    }
}

#[tokio::test]
async fn what_was_proposed_waits_for_the_operator_who_keeps_the_claim_or_does_it() {
    let bench = Bench::new();
    let by_operator = |arguments: &[&str]| {
        let output = bench.hm(&[arguments, &["--agent", "operator"]].concat());
        assert!(output.status.success(), "{output:?}");
        text(&output)
    };
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let analyst = bench.pane(Some("analyst"), Era::Modern).await;
    let leaks = bench.claim(&devops, "the pool leaks", "src/db").await;
    by_operator(&["claim", "support", &leaks]);
    let challenge = json!({ "claim_id": leaks, "reason": "I see no leak" });
    let proposed = says(&analyst, "challenge", challenge.clone()).await;
    assert!(proposed.contains("proposed to the operator and not done"), "{proposed}");
    let again = says(&analyst, "challenge", challenge.clone()).await;
    assert!(again.starts_with("duplicate: "), "{again}");

    let needed = attention(&bench, "operator");
    assert!(needed.contains("analyst would challenge it: I see no leak"), "{needed}");
    assert!(needed.contains("hm claim keep C1"), "{needed}");
    let mine = attention(&bench, "devops");
    assert!(!mine.contains("would challenge"), "only the operator is asked: {mine}");

    // An agent does not dismiss what another proposed.
    let refused = bench.hm(&["claim", "keep", &leaks, "--agent", "devops"]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    by_operator(&["claim", "keep", &leaks, "--reason", "I measured it"]);
    let needed = attention(&bench, "operator");
    assert!(!needed.contains("would challenge"), "{needed}");
    let twice = bench.hm(&["claim", "keep", &leaks, "--agent", "operator"]);
    assert_eq!(twice.status.code(), Some(1), "{twice:?}");

    // A claim in its place is made, and takes it once the operator supports it, whatever agents do.
    let better = json!({
        "statement": "the cache leaks and not the pool", "claim_type": "fact", "scopes": ["src/cache"],
        "supersedes": leaks,
    });
    let better = bench.accepted(&devops, "create_claim", better).await.field("claim_id").to_owned();
    bench.accepted(&analyst, "support", json!({ "claim_id": better })).await;
    assert_eq!(
        (status(&devops, &better).await, status(&devops, &leaks).await),
        ("confirmed".into(), "confirmed".into())
    );
    let needed = attention(&bench, "operator");
    assert!(needed.contains("hm claim support C2"), "{needed}");
    by_operator(&["claim", "support", &better]);
    assert_eq!(status(&devops, &leaks).await, "deprecated");
    let needed = attention(&bench, "operator");
    assert!(!needed.contains("would supersede"), "{needed}");
    bench.kill_writer();
    bench.assert_sound();
}

#[tokio::test]
async fn a_team_may_let_agents_override_the_operator_and_that_goes_on_record() {
    let bench = Bench::new();
    let config = bench.workspace().config();
    std::fs::write(config, "[trust]\nagents_may_override_operator = true\n").expect("a configuration");
    let allow_rules = || {
        let allowed = bench.hm(&[&["trust", "--rules"][..], &AS_OPERATOR].concat());
        assert!(allowed.status.success(), "{allowed:?}");
    };
    allow_rules();
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let leaks = bench.claim(&devops, "the pool leaks", "src/db").await;
    let supported = bench.hm(&["claim", "support", &leaks, "--agent", "operator"]);
    assert!(supported.status.success(), "{supported:?}");
    let architect = bench.pane(Some("architect"), Era::Modern).await;
    bench.accepted(&architect, "challenge", json!({ "claim_id": leaks, "reason": "I see no leak" })).await;
    assert_eq!(status(&devops, &leaks).await, "contested");
    let needed = attention(&bench, "operator");
    assert!(needed.contains("agents_may_override_operator = true"), "{needed}");
    // Red before: the move was the operator's, who needs not be asked here.
    let needed = attention(&bench, "devops");
    assert!(needed.contains("- contradiction, devops's move"), "{needed}");
    // Another change of the rules leaves that one in force.
    bench.kill_writer();
    let tighter = "[quorum]\nsupports = 2\n[trust]\nagents_may_override_operator = true\n";
    std::fs::write(bench.workspace().config(), tighter).expect("a configuration");
    allow_rules();
    bench.claim(&devops, "the queue is short", "src/queue").await;
    let needed = attention(&bench, "devops");
    assert!(needed.contains("- contradiction, devops's move"), "{needed}");
    assert!(!attention(&bench, "operator").contains("the rules are looser"), "they are tighter");
}

/// Red before: the architect gave the operator's decision a rationale and a target.
#[tokio::test]
async fn only_the_operator_says_why_the_operators_decision_was_made() {
    let bench = Bench::new();
    let create = ["claim", "create", "we keep SQLite", "--type", "decision", "--scope", "src/db", "--json"];
    let made = text(&bench.hm(&[&create[..], &["--agent", "operator"]].concat()));
    let made: Value = serde_json::from_str(&made).expect("JSON");
    let claim = made["claim_id"].as_str().expect("an id");
    let architect = bench.pane(Some("architect"), Era::Modern).await;
    let why = json!({ "claim_id": claim, "rationale": "the architect knows why", "target": "database" });
    let refused = says(&architect, "record_decision", why).await;
    assert!(refused.starts_with("not_allowed: ") && refused.contains("operator"), "{refused}");
    let listed: Value =
        serde_json::from_str(&text(&bench.hm(&["decision", "list", "--json"]))).expect("JSON");
    assert_eq!(listed["decisions"], json!([]));
    let record = ["decision", "record", "--claim", claim, "--rationale", "one file, nothing to run"];
    let recorded = bench.hm(&[&record[..], &["--agent", "operator"]].concat());
    assert!(recorded.status.success(), "{recorded:?}");
}

/// Red before: no line joined a target whose name begins with a dash.
#[tokio::test]
async fn a_target_may_begin_with_a_dash() {
    let bench = Bench::new();
    let why = ["--rationale", "one file, nothing to run"];
    let records = [&["decision", "record", "we keep SQLite", "--target", "-storage"], &why[..]].concat();
    for line in [&["target", "alias", "-storage", "-x"][..], &["target", "part", "-x"], &records] {
        let done = bench.hm(&[line, &["--agent", "operator"]].concat());
        assert!(done.status.success(), "{line:?}: {done:?}");
    }
    let listed = text(&bench.hm(&["decision", "list", "--target", "-storage"]));
    assert!(listed.contains("we keep SQLite"), "{listed}");
}

#[tokio::test]
async fn an_alias_is_taken_apart() {
    let bench = Bench::new();
    let by_operator = |arguments: &[&str]| text(&bench.hm(&[arguments, &["--agent", "operator"]].concat()));
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let sqlite = decided(&bench, &devops, "we keep SQLite", "database").await;
    let wal = decided(&bench, &devops, "we write ahead", "db").await;
    by_operator(&["target", "alias", "database", "db"]);
    let [sqlite, wal] = [sqlite, wal].map(|id| bench.name(&id));
    let open = |text: &str| text.contains(&format!("`{sqlite}`")) && text.contains(&format!("`{wal}`"));
    assert!(open(&devops.read("hivemind://contradictions").await.expect("contradictions")));
    by_operator(&["target", "part", "database"]);
    let refused = bench.hm(&["target", "part", "database", "--agent", "operator"]);
    assert_eq!(refused.status.code(), Some(1), "the name that stays is no alias: {refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("name the alias: db"), "{refused:?}");

    for _ in 0..2 {
        let parted = by_operator(&["target", "part", "db"]);
        assert!(parted.contains("committed"), "{parted}");
        assert!(!open(&devops.read("hivemind://contradictions").await.expect("contradictions")));
        let of_db = devops.read("hivemind://decisions?target=db").await.expect("decisions");
        assert!(of_db.contains("we write ahead") && !of_db.contains("we keep SQLite"), "{of_db}");
        // Both stand, and each guards its own target.
        for (target, other) in [("db", &wal), ("database", &sqlite)] {
            let third =
                json!({ "statement": "something else", "rationale": "long enough", "target": target });
            let refused = says(&devops, "record_decision", third).await;
            assert!(
                refused.starts_with("target_conflict: ") && refused.contains(other.as_str()),
                "{refused}"
            );
        }
        // Joined again, they contradict each other again.
        by_operator(&["target", "alias", "database", "db"]);
        assert!(open(&devops.read("hivemind://contradictions").await.expect("contradictions")));
    }
    bench.kill_writer();
    bench.assert_sound();
}

#[tokio::test]
async fn an_anchor_is_retired_and_a_plan_renamed_and_abandoned() {
    let bench = Bench::new();
    let hm = |arguments: &[&str]| {
        let output = bench.hm(&[arguments, &["--agent", "devops"]].concat());
        (output.status.success(), text(&output) + &String::from_utf8_lossy(&output.stderr))
    };
    hm(&["anchor", "save", "DB", "v7"]);
    assert!(hm(&["anchor", "list"]).1.contains("v7"));
    assert!(hm(&["anchor", "retire", "DB"]).0);
    assert!(!hm(&["anchor", "list"]).1.contains("v7"));
    assert!(!hm(&["anchor", "retire", "DB"]).0, "it holds nothing");
    assert!(hm(&["anchor", "save", "DB", "v7"]).0, "and can again");

    for line in [
        &["plan", "add", "Ship 1.0"][..],
        &["phase", "add", "Storage", "--plan", "P1"],
        &["task", "add", "Mend the pool", "--phase", "P2"],
    ] {
        assert!(hm(line).0, "{line:?}");
    }
    let (plan, phase, task) = ("P1", "P2", "T1");
    assert!(hm(&["plan", "rename", plan, "Ship 1.1"]).0);
    let keeper = Pane::offered(bench.binary(), bench.root(), Some("devops"), Era::Modern, "all");
    let keeper = keeper.await.expect("a pane");
    bench.accepted(&keeper, "rename_plan", json!({ "plan_id": plan, "title": "Ship 1.1 well" })).await;
    bench.accepted(&keeper, "rename_plan", json!({ "plan_id": plan, "title": "Ship 1.1" })).await;
    let analyst = bench.pane(Some("analyst"), Era::Modern).await;
    let session = |mut arguments: Value| {
        arguments["session"] = json!("s-analyst");
        arguments
    };
    bench.accepted(&analyst, "claim_task", session(json!({ "task_id": task }))).await;
    let (done, why) = hm(&["plan", "abandon", plan, "--reason", "1.2 comes first"]);
    assert!(!done && why.contains("analyst holds task"), "{why}");
    bench.accepted(&analyst, "update_task", session(json!({ "task_id": task, "status": "open" }))).await;
    bench.accepted(&keeper, "abandon_plan", json!({ "plan_id": plan, "reason": "1.2 comes first" })).await;
    let shown = hm(&["plan", "show"]).1;
    assert!(shown.contains("Ship 1.1 (abandoned)") && shown.contains("1.2 comes first"), "{shown}");
    assert!(shown.contains("invalidated by devops: Mend the pool"), "{shown}");
    let (added, why) = hm(&["task", "add", "Another", "--phase", phase]);
    assert!(!added && why.contains("was abandoned"), "{why}");
    assert!(!hm(&["plan", "rename", plan, "Ship 1.2"]).0);
    bench.kill_writer();
    bench.assert_sound();
}

#[tokio::test]
async fn a_backfilled_decision_is_refused_where_another_is_in_force() {
    let bench = Bench::new();
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let report =
        json!({ "kind": "decision", "summary": "we move to Postgres", "paths": ["target:database"] });
    bench.accepted(&devops, "report_event", report).await;
    let sqlite = decided(&bench, &devops, "we keep SQLite", "database").await;
    let backfilled = bench.hm(&["backfill", "--agent", "operator", "--json"]);
    let backfilled: Value = serde_json::from_str(&text(&backfilled)).expect("JSON");
    assert_eq!(backfilled["claims"]["refused"], json!({ "target_conflict": 1 }), "{backfilled}");
    let why = backfilled["refusals"][0].as_str().expect("why");
    assert!(why.contains(&sqlite), "{why}");
}

/// Red before: the operator kept one decision, and that ended another one, in force on another target.
#[tokio::test]
async fn a_kept_decision_ends_no_decision_that_came_into_force_on_another_target() {
    let bench = Bench::new();
    let by_operator = |arguments: &[&str]| {
        let output = bench.hm(&[arguments, &["--agent", "operator"]].concat());
        assert!(output.status.success(), "{output:?}");
        text(&output)
    };
    let why = ["--rationale", "it is what we run already", "--target", "db"];
    by_operator(&[&["decision", "record", "we use postgres"], &why[..]].concat());
    let analyst = bench.pane(Some("analyst"), Era::Modern).await;
    let listed = async || {
        let listed = analyst.read("hivemind://decisions?format=json").await.expect("decisions");
        serde_json::from_str::<Value>(&listed).expect("JSON")["decisions"].clone()
    };
    let postgres = listed().await[0]["claim_id"].as_str().expect("an id").to_owned();
    let create =
        json!({ "statement": "queues go through redis", "claim_type": "decision", "scopes": ["src"] });
    let redis = bench.accepted(&analyst, "create_claim", create).await.field("claim_id").to_owned();
    let instead = json!({
        "claim_id": redis, "target": "db", "supersedes": [postgres], "rationale": "postgres is too slow for it all",
    });
    let proposed = says(&analyst, "record_decision", instead).await;
    assert!(proposed.contains("proposed to the operator"), "{proposed}");
    let decide =
        json!({ "claim_id": redis, "target": "queue", "rationale": "redis is there already, so use it" });
    bench.accepted(&analyst, "record_decision", decide).await;
    assert_eq!(listed().await.as_array().map(Vec::len), Some(2));
    let told = by_operator(&["claim", "keep", &postgres]);
    assert!(!told.contains("out of force"), "{told}");
    assert_eq!(status(&analyst, &redis).await, "proposed");
    assert_eq!(listed().await.as_array().map(Vec::len), Some(2), "both are in force: {}", listed().await);
    let twice = bench.hm(&["claim", "keep", &postgres, "--agent", "operator"]);
    assert_eq!(twice.status.code(), Some(1), "nothing is proposed any more: {twice:?}");
}
