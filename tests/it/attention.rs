//! `hivemind://attention`: what needs whom, once and in one order, and that everybody hears of a change.

use std::collections::BTreeMap;
use std::time::Duration;

use expect_test::expect;
use hivemind::config::Config;
use hivemind::domain::claim::Position;
use hivemind::domain::command::{
    AddTask, ClaimTask, Command, RecordTurn, RunExperiment, StartSession, Submission,
};
use hivemind::domain::ids::{RunId, TaskId};
use hivemind::domain::session::{Role, Source};
use hivemind::domain::time::Timestamp;
use hivemind::mcp::Era;
use hivemind::reads::Reads;
use hivemind::schedule::{JobOutcome, JobRun, JobRuns};
use hivemind::spool::Spool;
use hivemind::system;
use hivemind::views::View;
use serde_json::{Value, json};

use crate::answers::{Answer, answer};
use crate::bench::Bench;
use crate::harness::{TempWorkspace, agent, claim_of, creation, position, request};
use crate::terminal::trust;

/// Ids in the order in which they came up, under names that are the same in every run.
struct Names(Vec<(String, String)>);

impl Names {
    fn mask(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (id, name)| text.replace(id, name))
    }
}

/// A workspace with one of each thing that needs somebody; some of them twice.
fn trouble() -> (TempWorkspace, Timestamp, Names) {
    let workspace = TempWorkspace::new();
    let profiles = workspace.marker_dir().join("profiles");
    std::fs::create_dir_all(&profiles).expect("a directory");
    let profile = "description = \"a test\"\nargv = [\"true\"]\nscopes = [\"**\"]\ntimeout_ms = 1000\n[expect]\nexit = 0\n";
    std::fs::write(profiles.join("check.toml"), profile).expect("a profile");
    trust(workspace.root(), "check");
    let mut committer =
        workspace.committer(1).planning(&workspace, &hivemind::domain::agent::Roster::default());
    let mut commit = |submission: &Submission| {
        let outcome = committer.commit(std::slice::from_ref(submission)).expect("a commit").remove(0);
        outcome.expect("it passes");
    };
    let mut names = Vec::new();
    let mut name = |id: String, name: &str| names.push((id, name.to_owned()));

    // Two statements that cannot both hold.
    let (twenty, fifty) =
        (creation("devops", "the pool size is 20"), creation("analyst", "the pool size is 50"));
    // One claim that two challenge, one that a run is to settle.
    let (disputed, waiting) =
        (creation("devops", "vendoring is | slow"), creation("analyst", "the cache is cold"));
    for (made, called) in
        [(&twenty, "TWENTY"), (&fifty, "FIFTY"), (&disputed, "DISPUTED"), (&waiting, "WAITING")]
    {
        commit(made);
        name(claim_of(made).to_string(), called);
    }
    commit(&position("reviewer", claim_of(&disputed), Position::Challenge));
    commit(&position("analyst", claim_of(&disputed), Position::Challenge));
    commit(&position("reviewer", claim_of(&waiting), Position::Challenge));
    let run_id = RunId::from_uuid(system::new_id());
    name(run_id.to_string(), "RUN");
    commit(&request(
        "frontend",
        Command::RunExperiment(RunExperiment {
            run_id,
            claim_id: Some(claim_of(&waiting)),
            blocking: true,
            ..RunExperiment::of("check".parse().expect("a name"))
        }),
    ));
    // Taken for five minutes, and for an hour.
    for (minutes, title, called) in [(5, "mend the pool", "SOON"), (60, "write it down", "LATER")] {
        let task_id = TaskId::from_uuid(system::new_id());
        name(task_id.to_string(), called);
        let title = title.parse().expect("a title");
        let (depends_on, scopes) = (Vec::new(), Vec::new());
        let add = AddTask {
            meant_for: None,
            task_id,
            title,
            description: None,
            phase_id: None,
            parent_task_id: None,
            depends_on,
            scopes,
        };
        commit(&request("frontend", Command::AddTask(add)));
        let lease_minutes = Some(minutes);
        let hold = ClaimTask { task_id, lease_minutes, file_locks: Vec::new() };
        let session = called.parse().expect("a session");
        let hold = request("frontend", Command::ClaimTask(hold));
        commit(&Submission { session: Some(session), ..hold });
    }
    // Queued, and no longer right when its turn came.
    let own = creation("analyst", "the pool size is 50");
    name(own.command_id.to_string(), "COMMAND");
    name(own.command.minted().expect("a claim").to_string(), "MADE");
    let spool = Spool::of(&workspace);
    assert_eq!(spool.append(&own).expect("a spool"), None);
    hivemind::writer::replay(&mut committer, &spool).expect("a replay");
    drop(committer);

    let now = workspace.events().last().expect("events").at;
    let detail = "1 finding: see integrity.log in the memory".to_owned();
    let run = |outcome, detail| JobRun { last_run_at: now, took_ms: 1, outcome, detail };
    let runs = JobRuns(BTreeMap::from([
        ("health".to_owned(), run(JobOutcome::Ok, "all is well".to_owned())),
        ("integrity".to_owned(), run(JobOutcome::Attention, detail)),
    ]));
    runs.save(&workspace.schedule()).expect("a schedule");
    for (number, event) in
        workspace.events().iter().filter(|event| event.kind.starts_with("contr")).enumerate()
    {
        names.push((event.id.to_string(), format!("X{number}")));
    }
    (workspace, now, Names(names))
}

fn ask(workspace: &TempWorkspace, whom: Option<&str>, now: Timestamp) -> Answer {
    let config = Config::load(&workspace.config()).expect("a configuration");
    let view = View::Attention(whom.map(agent));
    answer(&mut Reads::of((**workspace).clone()), &config, &view, now).expect("an answer")
}

#[test]
fn one_list_says_what_needs_whom_and_what_settles_it() {
    let (workspace, now, names) = trouble();
    let all = ask(&workspace, Some("architect"), now);
    expect![[r#"
        - contradiction, analyst's or devops's move since 13m: `X0` of `TWENTY` and `FIFTY` devops: the pool size is 20 | analyst: the pool size is 50
        - contradiction, devops's move since 10m: `X2`, `X1` of `DISPUTED` devops: vendoring is ¦ slow | analyst challenges it: seen otherwise | reviewer challenges it: seen otherwise
        - pending proof, frontend's move since 7m: `WAITING` `RUN` the cache is cold
        - lease, frontend's move, ends in 0s unless its session writes: `SOON` mend the pool
        - rejected, analyst's move since 1m: `COMMAND` create_claim MADE was queued and did not pass (duplicate_claim): the same statement about the same scopes is already claim FIFTY; it said: the pool size is 50
        - fault, operator's move since 0s: `integrity` 1 finding: see integrity.log in the memory
    "#]].assert_eq(&names.mask(&all.text));
    let whole = ask(&workspace, None, now);
    assert_eq!(ask(&workspace, Some("operator"), now).text, whole.text);
    // The architect reads the first line of what others settle.
    let first = whole.text.lines().filter(|line| !line.starts_with("  to settle it"));
    assert!(first.eq(all.text.lines()), "{}", whole.text);
    // Others see what is their move, in the same order and the same words.
    for (whom, kinds) in [
        ("devops", vec!["contradiction", "contradiction"]),
        ("analyst", vec!["contradiction", "rejected"]),
        ("frontend", vec!["pending_proof", "lease"]),
    ] {
        let own = ask(&workspace, Some(whom), now);
        let seen: Vec<&Value> =
            own.json["needs"].as_array().expect("needs").iter().map(|need| &need["kind"]).collect();
        assert_eq!(
            seen,
            kinds.iter().map(|kind| json!(kind)).collect::<Vec<_>>().iter().collect::<Vec<_>>(),
            "{whom}"
        );
        let mut rest = whole.text.as_str();
        for line in own.text.lines().filter(|line| line.starts_with("- ")) {
            rest = rest.split_once(line).expect("a line of the whole list, in its order").1;
        }
    }
    // The challengers have moved.
    assert_eq!(ask(&workspace, Some("reviewer"), now).text, "Nothing needs reviewer now.\n");
    // Ten minutes on nobody holds the task any more, two days on the refusal is history, and what is open stays.
    let later = |minutes: i64| Timestamp::from_ms(now.ms() + minutes * 60_000);
    let held = |minutes: i64| ask(&workspace, Some("frontend"), later(minutes)).text.contains("- lease, ");
    assert!(held(0) && !held(10), "what is over asks nobody");
    let then = ask(&workspace, Some("analyst"), later(2 * 24 * 60)).json;
    assert_eq!(then["needs"].as_array().map(Vec::len), Some(1), "{then}");
}

#[test]
fn what_an_agent_was_told_of_sinks_until_it_changes() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let mut commit = |submission: &Submission| {
        let outcome = committer.commit(std::slice::from_ref(submission)).expect("a commit").remove(0);
        outcome.expect("it passes");
    };
    let in_session = |command| Submission { session: "s-1".parse().ok(), ..request("devops", command) };
    let disputes = |statement: &str| {
        let made = creation("devops", statement);
        let doubt = position("reviewer", claim_of(&made), Position::Challenge);
        (made, doubt)
    };
    let order = |workspace: &TempWorkspace, whom| -> Vec<(String, bool)> {
        let now = workspace.events().last().expect("events").at;
        let needs = ask(workspace, whom, now).json["needs"].as_array().expect("needs").clone();
        let what = |need: &Value| need["what"][0].as_str().expect("a text").to_owned();
        needs.iter().map(|need| (what(need), need["seen"] == true)).collect()
    };
    let start = StartSession { source: Source::Startup, client: None, parent_session: None };
    commit(&in_session(Command::StartSession(start)));
    let (made, doubt) = disputes("the old one");
    commit(&made);
    commit(&doubt);
    let told = |text: &str| {
        let text = text.parse().expect("something said");
        in_session(Command::RecordTurn(RecordTurn { role: Role::User, text, told: None }))
    };
    assert_eq!(order(&workspace, Some("devops")), [("devops: the old one".to_owned(), false)]);
    commit(&told("go on"));
    let (newer, doubt) = disputes("the new one");
    commit(&newer);
    commit(&doubt);
    let [old, new] = ["devops: the old one", "devops: the new one"].map(str::to_owned);
    assert_eq!(order(&workspace, Some("devops")), [(new.clone(), false), (old.clone(), true)]);
    assert_eq!(order(&workspace, None), [(old.clone(), false), (new.clone(), false)], "nobody was told");
    // Another doubt makes it news again.
    commit(&position("analyst", claim_of(&made), Position::Challenge));
    assert_eq!(order(&workspace, Some("devops")), [(old, false), (new, false)]);
}

#[test]
fn many_of_one_kind_hide_none_of_another() {
    let (workspace, _, _) = trouble();
    {
        let mut committer = workspace.committer(2);
        for number in 0..40 {
            let made = creation("devops", &format!("{number} is a number"));
            let doubt = position("reviewer", claim_of(&made), Position::Challenge);
            for outcome in committer.commit(&[made, doubt]).expect("a commit") {
                outcome.expect("it passes");
            }
        }
    }
    let now = workspace.events().last().expect("events").at;
    let all = ask(&workspace, None, now);
    let count = |kind: &str| {
        let needs = all.json["needs"].as_array().expect("needs");
        needs.iter().filter(|need| need["kind"] == kind).count()
    };
    assert_eq!((count("contradiction"), count("pending_proof"), count("fault")), (20, 1, 1));
    assert_eq!(all.json["more"], json!({ "contradiction": 22 }));
    assert!(all.text.ends_with("22 more of contradiction: `hivemind://contradictions`\n"), "{}", all.text);
}

#[tokio::test]
async fn panes_of_both_eras_read_it_and_hear_of_changes() {
    let bench = Bench::new();
    let mut devops = bench.pane(Some("devops"), Era::Legacy).await;
    let mut reviewer = bench.pane(Some("reviewer"), Era::Modern).await;
    let unpinned = bench.host(Era::Legacy).await;
    assert_eq!(unpinned.read("hivemind://attention").await.expect("it"), "Nothing needs anybody now.\n");
    let claim = bench.claim(&devops, "the pool gives connections back", "src/db").await;
    for pane in [&mut devops, &mut reviewer] {
        pane.subscribe(&["hivemind://attention"]).await.expect("a subscription");
    }
    let doubt = json!({ "claim_id": claim, "reason": "not here" });
    bench
        .accepted(
            &unpinned,
            "challenge",
            json!({ "agent": "analyst", "claim_id": claim, "reason": "not here" }),
        )
        .await;
    for pane in [&mut devops, &mut reviewer] {
        let heard = pane.updated(Duration::from_secs(10)).await;
        assert_eq!(heard.as_deref(), Some("hivemind://attention"));
    }
    let told = devops.read("hivemind://attention").await.expect("it");
    assert!(
        told.contains("contradiction, devops's move since")
            && told
                .contains(&format!("`deprecate_claim {}`", json!({ "claim_id": "C1", "reason": "REASON" }))),
        "{told}"
    );
    assert_eq!(reviewer.read("hivemind://attention").await.expect("it"), "Nothing needs reviewer now.\n");
    bench.accepted(&reviewer, "challenge", doubt).await;
    let json = devops.read("hivemind://attention?format=json").await.expect("it");
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&json["agent"], &json["needs"][0]["asked"]), (&json!("devops"), &json!(["devops"])));
    assert_eq!(json["needs"][0]["what"].as_array().map(Vec::len), Some(3), "both challenges: {json}");
    // The past is asked like everything else, and the command line says the same.
    assert_eq!(devops.read("hivemind://attention?at=1").await.expect("it"), "Nothing needs devops now.\n");
    let shown = bench.hm(&["attention", "--agent", "devops", "--json"]);
    let shown: Value = serde_json::from_slice(&shown.stdout).expect("JSON");
    let settle = format!("hm claim deprecate {claim} --reason REASON");
    assert_eq!(shown["needs"][0]["settle"], json!([settle]), "in words of its own");
    for member in ["asked", "ids", "since", "what"] {
        assert_eq!(shown["needs"][0][member], json["needs"][0][member]);
    }
    // What it says settles it, run by whom it asks, with a reason of its own.
    let task = bench.accepted(&devops, "add_task", json!({ "title": "mend it" })).await;
    let hold = json!({ "task_id": task.field("task_id"), "lease_minutes": 5 });
    bench.accepted(&devops, "claim_task", hold).await;
    let told = devops.read("hivemind://attention?format=json").await.expect("it");
    let told: Value = serde_json::from_str(&told).expect("JSON");
    for at in [0, 1] {
        let command = told["needs"][at]["settle"][0].as_str().expect("a command");
        let command = command.replace("\"REASON\"", "\"it was wrong\"");
        let (tool, arguments) = command.split_once(' ').expect("a tool and its arguments");
        bench.accepted(&devops, tool, serde_json::from_str(arguments).expect("JSON")).await;
    }
    assert_eq!(unpinned.read("hivemind://attention").await.expect("it"), "Nothing needs anybody now.\n");
}
