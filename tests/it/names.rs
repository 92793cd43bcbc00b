//! Short names of tasks, plans and phases: given out by the fold, taken wherever an id is.

use expect_test::expect;
use hivemind::mcp::{Era, Pane};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::shell::Shell;

#[test]
fn a_name_is_taken_wherever_an_id_is() {
    let mut shell = Shell::new();
    shell.check(
        &[
            "hm task ready",
            "hm --agent devops plan add \"Ship 1.0\" --description \"what the release needs\"",
            "hm --agent devops phase add Build --plan P1",
            "hm --agent devops task add tables --phase p2 --description \"all seven of them\"",
            "hm --agent devops task add indexes --after T1",
            "hm --agent devops task add docs --after T1 --after hivemind://tasks/T2",
            "hm --agent devops task claim T2",
            "hm --agent devops task claim t1 --lock src/db",
            "hm task list",
            "hm task list --status open --plan P1",
            "hm task show T1",
            "hm --agent devops task update T1 done --note \"42 tests\"",
            "hm task ready",
            "hm task show T3",
            "hm plan show",
            "hm --agent devops intent \"ship it\" --plan P1 --task T2",
        ],
        expect![[r#"
            $ hm task ready
            No task yet: `hm task add TITLE`
            $ hm --agent devops plan add "Ship 1.0" --description "what the release needs"
            plan added P1: committed at seq 1
            next: `hm phase add TITLE --plan P1`, or look at it: `hm intent INTENT --plan P1`
            $ hm --agent devops phase add Build --plan P1
            phase added P2: committed at seq 2
            next: `hm task add TITLE --phase P2`
            $ hm --agent devops task add tables --phase p2 --description "all seven of them"
            task added T1: committed at seq 3
            next: before working on it: `hm task claim T1`
            $ hm --agent devops task add indexes --after T1
            task added T2: committed at seq 4
            next: before working on it: `hm task claim T2`
            $ hm --agent devops task add docs --after T1 --after hivemind://tasks/T2
            task added T3: committed at seq 5
            next: before working on it: `hm task claim T3`
            $ hm --agent devops task claim T2
            hm: task T2 waits for T1; take one of those, or one of `hm task ready`
            [exit 1]
            $ hm --agent devops task claim t1 --lock src/db
            task claimed T1: committed at seq 6
            next: it is yours while you write something every 15 min; at its end: `hm task done T1`
            $ hm task list
            - `T1` active, devops, lease: 15 min left: tables
            - `T2` open: indexes (waits for T1)
            - `T3` open: docs (waits for T1, T2)
            $ hm task list --status open --plan P1
            - `T2` open: indexes (waits for T1)
            - `T3` open: docs (waits for T1, T2)
            $ hm task show T1
            - `T1` active, devops, lease: 15 min left: tables

            all seven of them

            - in phase P2
            - at src/db
            - no claim came out of it
            $ hm --agent devops task update T1 done --note "42 tests"
            task updated T1: committed at seq 7
            next: if it taught something others need:
                `hm claim create STATEMENT --type fact --scope SCOPE --task T1`
            $ hm task ready
            - `T2` open: indexes
            $ hm task show T3
            - `T3` open: docs (waits for T2)
            - in phase P2
            - no claim came out of it
            $ hm plan show

            ## `P1` Ship 1.0 (active)

            what the release needs

            ### `P2` Build (active)

            - `T1` done by devops: tables
              42 tests
            - `T2` open: indexes
            - `T3` open: docs (waits for T2)
            $ hm --agent devops intent "ship it" --plan P1 --task T2
            intent declared: committed at seq 8
            next: your next context follows, the team's stays; to move the team: `hm intent 'ship it' --team`
        "#]],
    );
    let whole = shell.json("hm task list --json")["tasks"][0]["id"].as_str().expect("an id").to_owned();
    let end = &whole[whole.len() - 6..];
    for text in [whole.as_str(), end, &end.to_uppercase(), &format!("hivemind://tasks/{whole}")] {
        let shown = shell.json(&format!("hm --json task show {text}"));
        assert_eq!((&shown["task"]["id"], &shown["task"]["name"]), (&json!(whole), &json!("T1")), "{text}");
    }
    let claim = "hm --agent devops --json claim create \"seven tables hold it\" --scope src --task T1";
    assert_eq!(shell.json(claim)["state"], "committed");
    let of_it = shell.json("hm --json claim list --task T1");
    assert_eq!(of_it["claims"][0]["origin_task_id"], json!(whole), "{of_it}");
    let mut at_work =
        shell.command("hm --agent devops --json claim create \"it came out of T2\" --scope src");
    let made = at_work.env("HM_TASK", "T2").output().expect("hm runs");
    assert!(made.status.success(), "{made:?}");
    assert_eq!(shell.json("hm --json claim list --task T2")["claims"].as_array().map(Vec::len), Some(1));
}

/// Red before: claims and runs had no names, and every argument of theirs took a whole id only.
#[test]
fn claims_and_runs_have_names_that_every_verb_takes() {
    let shell = Shell::new();
    let said = |line: &str| {
        let output = shell.run(line);
        let text =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {text}");
        text
    };
    said("hm --agent devops claim create \"the pool holds 20\" --scope src/db");
    said(
        "hm --agent devops decision record \"we keep the pool\" --target pool --rationale \"it is fast enough\"",
    );
    let run = shell.json(
        "hm --json --agent operator experiment run --thread-id RS-1 --test-id T1 --out-file out.json -- true",
    );
    assert_eq!(run["receipt"]["name"], "R1", "{run}");
    let whole = shell.json("hm --json claim list")["claims"][1]["id"].as_str().expect("an id").to_owned();
    let end = whole[whole.len() - 8..].to_owned();
    for name in ["C1", "c1", &whole, &end, "hivemind://claims/C1", &format!("hivemind://claims/{whole}")] {
        assert_eq!(shell.json(&format!("hm --json claim show {name}"))["id"], json!(whole), "{name}");
    }
    for line in [
        "hm --agent qa claim support C1 --evidence R1",
        "hm --agent qa claim challenge C1 --reason \"it holds 30\" --evidence #1",
        "hm --agent qa claim evidence C1 --ref R1 --relation mentions",
        "hm --agent qa claim evidence C1 --ref hivemind://claims/C2 --relation mentions",
        "hm --agent qa claim retract-evidence C1 C2 --reason \"a slip\"",
        "hm --agent qa claim abstain C1",
        "hm --agent devops decision outcome C2 success",
        "hm --agent devops claim still C1",
        "hm experiment show R1 --stdout",
        "hm experiment list --claim C1",
        "hm --agent devops claim create \"the pool holds 30\" --scope src/db --supersedes C1 --evidence R1",
        "hm claim why C3",
    ] {
        let text = said(line);
        assert!(!text.contains("-7"), "no id is shown: {line}: {text}");
    }
    assert!(said("hm experiment show R1").contains("`R1`"));
    assert!(said("hm claim show C1").contains("superseded by: C3"), "{}", said("hm claim show C1"));
    let refused = shell.run("hm claim show C9");
    assert_eq!(
        String::from_utf8_lossy(&refused.stderr),
        "hm: no claim is called `C9`; `hm claim list` shows all\n"
    );
    // Red before: whatever was typed, the newest ones were suggested.
    for (typed, near) in [
        ("C5", "did you mean C3 (the pool holds 30), C2 (we keep the pool)? "),
        ("1", "did you mean C1 (the pool holds 20)? "),
        ("keep", "did you mean C2 (we keep the pool)? "),
        ("KEEP THE", "did you mean C2 (we keep the pool)? "),
        ("foo", ""),
        ("12", ""),
    ] {
        let refused = shell.command("hm claim show").arg(typed).output().expect("hm runs");
        let refused = String::from_utf8_lossy(&refused.stderr).into_owned();
        let expected = format!("hm: no claim is called `{typed}`; {near}`hm claim list` shows all\n");
        assert_eq!(refused, expected);
    }
    let refused = shell.run("hm claim show R1");
    let refused = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.starts_with("hm: `R1` is no claim but a run; `hm experiment show "), "{refused}");
    let refused = shell.run("hm --agent qa claim support C1 --evidence R9");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("`R9` names no event"), "{refused:?}");
}

/// Red before: tools and addresses took whole ids of claims and runs only.
#[tokio::test]
async fn every_tool_and_every_address_takes_a_name() {
    let bench = Bench::new();
    let pane = bench.pane(Some("devops"), Era::Modern).await;
    let other = bench.pane(Some("analyst"), Era::Legacy).await;
    let claim = bench.claim(&pane, "the pool holds 20", "src/db").await;
    let seen = bench.accepted(&pane, "report_event", json!({ "kind": "finding", "summary": "seen" })).await;
    bench.claim(&other, "the pool holds 30", "src/db").await;
    for (tool, arguments) in [
        ("support", json!({ "claim_id": "C1", "evidence_ref": "#2" })),
        ("challenge", json!({ "claim_id": "c1", "reason": "no" })),
        (
            "add_evidence",
            json!({ "claim_id": "hivemind://claims/C1", "evidence_ref": "C2", "relation": "mentions" }),
        ),
        ("abstain", json!({ "claim_id": &claim[28..] })),
        (
            "record_decision",
            json!({ "statement": "we raise it", "rationale": "it is full at noon", "scopes": ["src"], "alternatives":
            [{ "claim_id": "C2", "rejection_reason": "too many" }], "supersedes": [] }),
        ),
        (
            "create_claim",
            json!({ "statement": "the pool holds 40", "claim_type": "fact", "scopes": ["src"],
            "supersedes": "C2", "evidence_refs": ["C1", "#2", seen.field("event_id")] }),
        ),
    ] {
        let answer = other.call(tool, arguments.clone()).await.expect("an answer");
        assert!(!answer.refused, "{tool} {arguments}: {}", answer.text);
    }
    let read = async |address: &str| pane.read(address).await.expect(address);
    let whole = read(&format!("hivemind://claims/{claim}")).await;
    assert_eq!(read("hivemind://claims/C1").await, whole);
    assert_eq!(
        read("hivemind://claims/c1?format=json").await,
        read(&format!("hivemind://claims/{claim}?format=json")).await
    );
    assert!(read("hivemind://events/2").await.contains("event.reported"));
    assert!(read("hivemind://events/C1").await.contains("claim.created"));
    assert!(read("hivemind://contradictions/X1").await.contains("the pool holds 30"));
    assert!(
        pane.prompt("review-claim", &[("claim", "C1")])
            .await
            .expect("a prompt")
            .contains("the pool holds 20")
    );
    let refused = pane.read("hivemind://claims/C99").await.expect_err("a refusal").to_string();
    assert!(refused.contains("no claim is called `C99`; `hivemind://claims` shows all"), "{refused}");
    let refused = pane.call("support", json!({ "claim_id": "C99" })).await.expect("an answer");
    assert_eq!((refused.refused, refused.field("code")), (true, "unknown_claim"));
}

/// Red before: a name in a statement was a word like any other.
#[test]
fn a_claim_that_names_another_is_found_from_both_sides() {
    let shell = Shell::new();
    let create = |statement: &str| {
        let made = shell.json(&format!("hm --json --agent devops claim create \"{statement}\" --scope src"));
        (made["name"].as_str().expect("a name").to_owned(), made["claim_id"].clone())
    };
    // What is named before it is there is no name.
    let early = create("see C2 for the sizes");
    let pool = create("the pool holds 20");
    let refuting = create("measured at noon: refutes C2, not c1");
    create("C20 and xC2 are other things");
    let shown = |name: &str| shell.json(&format!("hm --json claim show {name}"));
    assert_eq!(shown(&refuting.0)["mentions"], json!([pool.1]));
    assert_eq!(shown(&pool.0)["mentioned_by"], json!([refuting.1]));
    assert_eq!((shown(&early.0).get("mentions"), shown(&early.0).get("mentioned_by")), (None, None));
    let text = |name: &str| {
        let output = shell.run(&format!("hm claim show {name}"));
        String::from_utf8(output.stdout).expect("text")
    };
    assert!(text("C3").contains("- mentions: C2\n"), "{}", text("C3"));
    assert!(text("C2").contains("- mentioned by: C3\n"), "{}", text("C2"));
}

/// Every id of 36 characters in a text.
fn whole_ids(text: &str) -> Vec<&str> {
    let is_id = |at: usize| text.get(at..at + 36).filter(|id| uuid::Uuid::try_parse(id).is_ok());
    (0..text.len()).filter_map(is_id).collect()
}

/// Red before: a quarter of what models read were ids.
#[tokio::test]
async fn nothing_that_a_model_reads_shows_a_whole_id() {
    let bench = Bench::new();
    let pane = bench.pane(Some("devops"), Era::Modern).await;
    let other = bench.pane(Some("analyst"), Era::Legacy).await;
    let foreign = "550e8400-e29b-41d4-a716-446655440000";
    let claim = bench.claim(&pane, &format!("tenant {foreign} holds 20 connections"), "src/db").await;
    let mut said = Vec::new();
    for (tool, arguments) in [
        (
            "create_claim",
            json!({ "statement": "the pool holds 30", "claim_type": "fact", "scopes": ["src/db"] }),
        ),
        (
            "create_claim",
            json!({ "statement": "the pool holds 40", "claim_type": "fact", "scopes": ["src/db"] }),
        ),
        (
            "create_claim",
            json!({ "statement": "sharing one deadlocks", "claim_type": "negative", "scopes": ["src/db"],
            "trigger": { "paths": ["src/db"] } }),
        ),
        ("report_event", json!({ "kind": "finding", "summary": format!("claim {claim} is wrong") })),
        ("challenge", json!({ "claim_id": "C1", "reason": format!("see {claim}"), "evidence_ref": "last" })),
        ("challenge", json!({ "claim_id": "C1", "reason": format!("see {claim}"), "evidence_ref": "C2" })),
        ("add_task", json!({ "title": "mend it", "scopes": ["src/db"] })),
        ("claim_task", json!({ "task_id": "T1" })),
        (
            "record_decision",
            json!({ "statement": "we raise it", "rationale": "it is full at noon", "target": "pool" }),
        ),
        ("support", json!({ "claim_id": "C9" })),
    ] {
        said.push(other.call(tool, arguments).await.expect("an answer").text);
    }
    for address in [
        "context",
        "attention",
        "claims",
        "claims/C1",
        "claims/C2",
        "search?q=pool",
        "negative",
        "decisions",
        "contradictions",
        "contradictions/X1",
        "targets",
        "experiments",
        "agents",
        "events",
        "events/3",
        "status",
        "plan",
        "tasks",
        "tasks/T1",
        "tasks/ready",
        "sessions",
        "claims?session=S1",
        "anchors",
    ] {
        said.push(other.read(&format!("hivemind://{address}")).await.expect(address));
    }
    for (prompt, arguments) in [
        ("session-start", vec![]),
        ("pre-stop-gate", vec![]),
        ("review-claim", vec![("claim", "C1")]),
        ("resolve-contradiction", vec![("id", "X1")]),
        ("post-mortem", vec![("task", "T1")]),
    ] {
        said.push(other.prompt(prompt, &arguments).await.expect(prompt));
    }
    for text in &said {
        let mut shown = whole_ids(text);
        // What is no id of ours stays as it was said; an event's own page names the command that caused it.
        shown.retain(|id| *id != foreign);
        assert!(shown.is_empty(), "{shown:?} in\n{text}");
    }
    assert!(said.iter().any(|text| text.contains(foreign)), "data of the team is left alone");
    let pack = other.read("hivemind://context").await.expect("a context");
    assert!(pack.contains("<contested id=\"C1\"") || pack.contains("claim=\"C1\""), "{pack}");
    let used = pack.split("used=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a number");
    assert_eq!(used.parse(), Ok(pack.chars().count()), "the room that names win is used");
    let whole = other.read("hivemind://claims?format=json").await.expect("claims");
    assert!(whole.contains(&claim), "programs get ids");
    let answer = pane.call("support", json!({ "claim_id": "C2" })).await.expect("an answer");
    assert_eq!((answer.field("name"), answer.field("claim_id").len()), ("C2", 36), "{answer:?}");
}

/// Red before: sessions went by the ids that their clients gave them.
#[test]
fn a_session_goes_by_a_name_too() {
    let shell = Shell::new();
    let id = "0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d47";
    let within = |session: &str, line: &str| {
        let mut command = shell.command(line);
        let output = command.env("HM_SESSION", session).output().expect("hm runs");
        assert!(output.status.success(), "{output:?}");
    };
    within("night-run", "hm session start --agent devops");
    within(id, "hm session start --agent analyst --parent S1");
    within(id, "hm --agent analyst claim create \"the pool leaks\" --scope src");
    let said = |line: &str| String::from_utf8(shell.run(line).stdout).expect("text");
    let listed = said("hm session list");
    assert!(listed.contains("`S2`") && !listed.contains(id), "{listed}");
    assert!(listed.contains("- `S1` (`night-run`) devops in hm"), "{listed}");
    for named in ["S2", "s2", id, &id[24..]] {
        let shown = shell.json(&format!("hm --json session show {named}"));
        assert_eq!(
            (&shown["session"]["session"], &shown["session"]["parent_session"]),
            (&json!(id), &json!("night-run")),
            "{named}"
        );
        let of_it = shell.json(&format!("hm --json claim list --session {named}"));
        assert_eq!(of_it["claims"].as_array().map(Vec::len), Some(1), "{named}");
    }
    assert!(!said("hm claim show C1").contains("session"), "it says nothing about the claim");
    assert_eq!(shell.json("hm --json session show S1")["session"]["session"], "night-run");
    // A session that no client opened has a name and a page too.
    let plain = |line: &str| assert!(shell.run(line).status.success(), "{line}");
    plain("hm --agent devops task add \"mend the pool\"");
    plain("hm --agent devops task claim T1");
    let shown = said("hm session show S3");
    assert!(shown.starts_with("- `S3` (`") && shown.contains("was opened by no client"), "{shown}");
    assert!(shown.contains("- `T1` active, devops"), "{shown}");
    assert!(!shell.run("hm session show S4").status.success());
}

#[test]
fn what_names_nothing_is_refused_with_the_nearest() {
    let mut shell = Shell::new();
    shell.check(
        &[
            "hm task show T1",
            "hm --agent devops task add tables",
            "hm --agent devops task add indexes",
            "hm --agent devops plan add \"Ship 1.0\"",
            "hm --agent devops task claim T7",
            "hm --agent devops task claim indexes",
            "hm --agent devops task add more --after T2 --phase P1",
            "hm --agent devops phase add Build --plan P9",
            "hm --agent devops task claim 0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d47",
            "hm task show X4",
            "hm claim show P1",
            "hm task show q7",
        ],
        expect![[r#"
            $ hm task show T1
            hm: no task is called `T1`; there is none yet: `hm task list` shows all
            [exit 1]
            $ hm --agent devops task add tables
            task added T1: committed at seq 1
            next: before working on it: `hm task claim T1`
            $ hm --agent devops task add indexes
            task added T2: committed at seq 2
            next: before working on it: `hm task claim T2`
            $ hm --agent devops plan add "Ship 1.0"
            plan added P1: committed at seq 3
            next: `hm phase add TITLE --plan P1`, or look at it: `hm intent INTENT --plan P1`
            $ hm --agent devops task claim T7
            hm: no task is called `T7`; `hm task list` shows all
            [exit 1]
            $ hm --agent devops task claim indexes
            hm: no task is called `indexes`; did you mean T2 (indexes)? `hm task list` shows all
            [exit 1]
            $ hm --agent devops task add more --after T2 --phase P1
            hm: no phase is called `P1`; there is none yet: `hm plan show` shows all
            [exit 1]
            $ hm --agent devops phase add Build --plan P9
            hm: no plan is called `P9`; `hm plan show` shows all
            [exit 1]
            $ hm --agent devops task claim ID1
            hm: no task has the id ID1; `hm task list` shows all
            [exit 1]
            $ hm task show X4
            hm: no task is called `X4` (X is for contradictions, and T for tasks); `hm task list` shows all
            [exit 1]
            $ hm claim show P1
            hm: `P1` is no claim but a plan or a phase; `hm plan show` shows it
            [exit 1]
            $ hm task show q7
            hm: no task is called `q7` (no name begins with Q; names begin with C for claims, T for tasks, P for plans and phases, R for runs, X for contradictions, S for sessions, L for patterns, G for guards, B for playbooks); `hm task list` shows all
            [exit 1]
        "#]],
    );
}

#[tokio::test]
async fn names_stay_as_they_are_over_a_rebuild_and_an_erasure() {
    let bench = Bench::new();
    let pane = Pane::offered(bench.binary(), bench.root(), Some("devops"), Era::Modern, "all")
        .await
        .expect("a pane");
    let mut ids = Vec::new();
    for title in ["one", "two", "three"] {
        let added = bench.accepted(&pane, "add_task", json!({ "title": title })).await;
        ids.push(added.field("task_id").to_owned());
        assert_eq!(added.field("name"), format!("T{}", ids.len()));
        assert!(added.text.contains(&format!("T{}: committed", ids.len())), "{}", added.text);
    }
    let plan =
        bench.accepted(&pane, "add_plan", json!({ "title": "Ship", "description": "all of it" })).await;
    let phase = bench.accepted(&pane, "add_phase", json!({ "title": "Build", "plan_id": "P1" })).await;
    assert_eq!((plan.field("name"), phase.field("name")), ("P1", "P2"));
    let described =
        json!({ "title": "four", "phase_id": "P2", "depends_on": ["T1", "T3"], "description": "the last" });
    bench.accepted(&pane, "add_task", described).await;
    let shown = pane.read("hivemind://tasks/T4").await.expect("a task");
    assert!(shown.contains("`T4` open: four (waits for T1, T3)") && shown.contains("the last"), "{shown}");
    let intent = json!({ "intent": "build", "phase_id": "P2", "task_ids": ["T4"] });
    bench.accepted(&pane, "declare_intent", intent).await;
    let claim = json!({ "statement": "two is the hardest", "claim_type": "fact", "scopes": ["src"], "origin_task_id": "T2" });
    bench.accepted(&pane, "create_claim", claim).await;
    let of_it = pane.read("hivemind://claims?task=T2").await.expect("claims");
    assert!(of_it.contains("two is the hardest"), "{of_it}");
    let refused = pane.call("claim_task", json!({ "task_id": "T9" })).await.expect("an answer");
    assert_eq!((refused.refused, refused.field("code")), (true, "unknown_task"));
    let refused = pane.call("add_task", json!({ "title": "x", "phase_id": "P1" })).await.expect("an answer");
    assert_eq!((refused.refused, refused.field("code")), (true, "unknown_plan"));

    let erased = bench.hm(&["--agent", "operator", "forget", &ids[0], "--reason", "a name of a customer"]);
    assert!(erased.status.success(), "{erased:?}");
    let names = || {
        let listed = bench.hm(&["--json", "task", "list"]);
        let listed: Value = serde_json::from_slice(&listed.stdout).expect("JSON");
        let tasks = listed["tasks"].as_array().expect("tasks").clone();
        tasks.iter().map(|task| format!("{} {}", task["name"], task["title"])).collect::<Vec<_>>()
    };
    let expected = [r#""T2" "two""#, r#""T3" "three""#, r#""T4" "four""#];
    assert_eq!(names(), expected);
    bench.kill_writer();
    bench.assert_sound();
    assert_eq!(names(), expected, "a rebuild counts what was erased");
    let added = bench.hm(&["--agent", "devops", "--json", "task", "add", "five"]);
    let added: Value = serde_json::from_slice(&added.stdout).expect("JSON");
    assert_eq!(added["name"], "T5", "{added}");
}

#[test]
fn the_phase_moves_on_when_its_tasks_are_done() {
    let shell = Shell::new();
    for line in [
        "plan add Ship",
        "phase add Build --plan P1",
        "phase add Test --plan P1",
        "task add tables --phase P2",
        "task add measure --phase P3",
        "intent --team \"ship it\" --phase P2",
    ] {
        let done = shell.run(&format!("hm --agent devops {line}"));
        assert!(done.status.success(), "{done:?}");
    }
    let phase = || {
        let context = shell.run("hm --agent analyst context");
        let context = String::from_utf8(context.stdout).expect("text");
        context.split("phase=\"").nth(1).and_then(|rest| rest.split('"').next()).map(str::to_owned)
    };
    assert_eq!(phase().as_deref(), Some("Build"));
    assert!(shell.run("hm --agent devops task claim T1").status.success());
    assert!(shell.run("hm --agent devops task update T1 done").status.success());
    assert_eq!(phase().as_deref(), Some("Test"));
    // A new task goes where the work goes on.
    let added = shell.json("hm --agent analyst --json task add \"read the figures\"");
    let shown = shell.json(&format!("hm --json task show {}", added["task_id"].as_str().expect("an id")));
    assert_eq!(shown["task"]["phase"], "P3", "{shown}");
}

/// Red before: a plan and a session were no names at all there, a guard was denied that was listed, a session had no list,
/// and a trace had an invalid digit.
#[test]
fn a_name_of_something_else_is_refused_with_the_verb_that_takes_it() {
    let mut shell = Shell::new();
    shell.check(
        &[
            "hm --agent devops claim create \"it holds 20\" --scope src/db",
            "hm --agent devops plan add \"Ship 1.0\"",
            "hm --agent architect guard accept --command \"cargo publish\" --text \"ask first\"",
            "hm claim show P1",
            "hm task show S1",
            "hm guard show C1",
            "hm session show C1",
            "hm session show elsewhere",
            "hm session turn0 S1",
            "hm session turn0 elsewhere",
            "hm plan show P1",
            "hm plan show P9",
            "hm trace show C1",
            "hm trace show 99",
            "hm profile show C1",
        ],
        expect![[r#"
            $ hm --agent devops claim create "it holds 20" --scope src/db
            claim created C1: committed at seq 1
            next: confirmed once another agent supports it
            $ hm --agent devops plan add "Ship 1.0"
            plan added P1: committed at seq 2
            next: `hm phase add TITLE --plan P1`, or look at it: `hm intent INTENT --plan P1`
            $ hm --agent architect guard accept --command "cargo publish" --text "ask first"
            guard accepted G1: committed at seq 3
            $ hm claim show P1
            hm: `P1` is no claim but a plan or a phase; `hm plan show` shows it
            [exit 1]
            $ hm task show S1
            hm: `S1` is no task but a session; `hm session show S1` shows it
            [exit 1]
            $ hm guard show C1
            hm: no guard and no dead end with a trigger is called C1; `hm guard list` shows all
            [exit 1]
            $ hm session show C1
            hm: no session is called C1 (C is for claims, and S for sessions); `hm session list` shows all
            [exit 1]
            $ hm session show elsewhere
            hm: no session is called elsewhere; `hm session list` shows all
            [exit 1]
            $ hm session turn0 S1
            hm: session S1 started without a hand-over, and the context that a hook gives is not kept; `hm trace list --type memory_recall --session S1` lists what was named in it
            [exit 1]
            $ hm session turn0 elsewhere
            hm: no session is called elsewhere; `hm session list` shows all
            [exit 1]
            $ hm plan show P1
            ## `P1` Ship 1.0 (draft)
            $ hm plan show P9
            hm: no plan is called `P9`; `hm plan show` shows all
            [exit 1]
            $ hm trace show C1
            hm: a trace is named by a position in the ledger, such as 57 or #57, and `C1` is none: `hm trace list` lists them
            [exit 2]
            $ hm trace show 99
            hm: event #99 has no trace; `hm trace list` shows all
            [exit 1]
            $ hm profile show C1
            hm: no profile is called `C1`; `hm profile list` shows those there are, `hm profile check` what is wrong with others
            [exit 1]
        "#]],
    );
}
