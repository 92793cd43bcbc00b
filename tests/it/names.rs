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
            next: it is yours while you write something every 15 min; at its end:
                `hm task update T1 done --token 1`
            $ hm task list
            - `T1` active, devops, lease: 15 min left: tables
            - `T2` open: indexes (waits for T1)
            - `T3` open: docs (waits for T1, T2)
            $ hm task list --status open --plan P1
            No task matches: `hm task add TITLE`
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
            - no claim came out of it
            $ hm plan show

            ## `P1` Ship 1.0 (done)

            what the release needs

            ### `P2` Build (done)

            - `T1` done: tables
              42 tests

            ## Without a phase: inbox (open)

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
            hm: no task is called `T7`; did you mean T2 (indexes), T1 (tables)? `hm task list` shows all
            [exit 1]
            $ hm --agent devops task claim indexes
            hm: no task is called `indexes`; did you mean T2 (indexes), T1 (tables)? `hm task list` shows all
            [exit 1]
            $ hm --agent devops task add more --after T2 --phase P1
            hm: no phase is called `P1`; there is none yet: `hm plan show` shows all
            [exit 1]
            $ hm --agent devops phase add Build --plan P9
            hm: no plan is called `P9`; did you mean P1 (Ship 1.0)? `hm plan show` shows all
            [exit 1]
            $ hm --agent devops task claim ID1
            hm: no task has the id ID1; `hm task list` shows all
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
