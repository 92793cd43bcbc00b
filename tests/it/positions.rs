//! What becomes of positions: of a claim that the operator turned down, after a run without an outcome, after a change
//! of the files, and of a hold that a second name asks for.

use hivemind::domain::claim::{ClaimType, Position, Status};
use hivemind::domain::command::{
    AddTask, AffirmClaim, ClaimTask, Command, CreateClaim, KeepClaim, RecordDecision, Submission, UpdateTask,
};
use hivemind::domain::ids::{ClaimId, TaskId};
use hivemind::domain::plan::TaskStatus;
use hivemind::domain::receipt::Receipt;
use hivemind::domain::rejection::{Code, Rejection};
use hivemind::domain::versions::{Content, Versions};
use hivemind::mcp::Era;
use hivemind::system;
use hivemind::writer::Committer;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::harness::{TempWorkspace, claim_of, fact, folded, position, request, wait_until};
use crate::shell::Shell;
use crate::terminal::trust;

fn hands_in(committer: &mut Committer, submission: Submission) -> Result<Receipt, Rejection> {
    committer.commit(&[submission]).expect("a ledger").remove(0)
}

fn claims(committer: &mut Committer, by: &str, create: CreateClaim) -> ClaimId {
    let made = request(by, Command::CreateClaim(create));
    hands_in(committer, made.clone()).expect("a claim");
    claim_of(&made)
}

fn holds(committer: &mut Committer, by: &str, claim_id: ClaimId, held: Position) -> Receipt {
    hands_in(committer, position(by, claim_id, held)).expect("a position")
}

fn status(committer: &Committer, claim_id: ClaimId) -> Status {
    committer.state().claim(claim_id).expect("a claim").status
}

/// A claim of the operator, and a decision of an agent that is to take its place and is agreed.
fn rivals(committer: &mut Committer) -> (ClaimId, ClaimId) {
    let kept = claims(committer, "operator", fact("one file holds it all"));
    let create = CreateClaim {
        claim_type: ClaimType::Decision,
        supersedes: Some(kept),
        ..fact("each tenant gets a database")
    };
    let rival = claims(committer, "analyst", create);
    holds(committer, "devops", rival, Position::Support);
    assert_eq!((status(committer, rival), status(committer, kept)), (Status::Confirmed, Status::Proposed));
    assert_eq!(committer.state().proposals(kept).count(), 1);
    (kept, rival)
}

/// A claim that the operator turned down is out of force, and asks the operator nothing any more.
fn assert_turned_down(workspace: &TempWorkspace, committer: &mut Committer, [kept, rival]: [ClaimId; 2]) {
    let turned_down = committer.state().claim(rival).expect("a claim");
    assert_eq!((turned_down.status, turned_down.superseded_by), (Status::Deprecated, Some(kept)));
    let again = hands_in(committer, position("devops", rival, Position::Support)).expect_err("out of force");
    assert_eq!(again.code, Code::ClaimDeprecated);
    assert!(again.hint.contains(&kept.to_string()), "{again}");
    assert_eq!(status(committer, kept), Status::Proposed);
    assert_eq!(committer.state().proposals(kept).count(), 0);
    assert_eq!(folded(&workspace.events()), *committer.state());
}

/// Red before: the rival stayed confirmed, and each support of it asked the operator again.
#[test]
fn a_claim_that_is_kept_turns_down_what_was_to_take_its_place() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let (kept, rival) = rivals(&mut committer);
    let keep = KeepClaim { claim_id: kept, reason: Some("one machine is enough".parse().expect("a reason")) };
    let receipt =
        hands_in(&mut committer, request("operator", Command::KeepClaim(keep))).expect("it is kept");
    assert!(receipt.next.expect("what became of it").contains(&rival.to_string()));
    assert_turned_down(&workspace, &mut committer, [kept, rival]);
}

/// Red before: the operator's support dropped the proposal, and the next support of the rival brought it back.
#[test]
fn the_operators_support_turns_down_what_was_to_take_its_place() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let kept = claims(&mut committer, "reviewer", fact("one file holds it all"));
    holds(&mut committer, "operator", kept, Position::Support);
    let create = CreateClaim { supersedes: Some(kept), ..fact("each tenant gets a database") };
    let rival = claims(&mut committer, "analyst", create);
    holds(&mut committer, "devops", rival, Position::Support);
    assert_eq!(committer.state().proposals(kept).count(), 1);
    holds(&mut committer, "operator", kept, Position::Support);
    let turned_down = committer.state().claim(rival).expect("a claim");
    assert_eq!((turned_down.status, turned_down.superseded_by), (Status::Deprecated, Some(kept)));
    assert_eq!(status(&committer, kept), Status::Confirmed);
    assert_eq!(folded(&workspace.events()), *committer.state());
}

/// Red before: the decision that was proposed by its id stayed confirmed.
#[test]
fn a_decision_that_was_proposed_by_its_id_is_turned_down_too() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let kept = claims(&mut committer, "operator", fact("one file holds it all"));
    let create = CreateClaim { claim_type: ClaimType::Decision, ..fact("each tenant gets a database") };
    let rival = claims(&mut committer, "analyst", create);
    holds(&mut committer, "devops", rival, Position::Support);
    let record = RecordDecision {
        mends: false,
        evidence_refs: Vec::new(),
        decided_at: None,
        claim_id: rival,
        statement: None,
        rationale: "several machines write now".parse().expect("a rationale"),
        context: None,
        target: None,
        scopes: Vec::new(),
        alternatives: Vec::new(),
        supersedes: vec![kept],
        asks: Vec::new(),
        unless_objection_minutes: None,
    };
    hands_in(&mut committer, request("analyst", Command::RecordDecision(record))).expect("a proposal");
    let keep = KeepClaim { claim_id: kept, reason: None };
    hands_in(&mut committer, request("operator", Command::KeepClaim(keep))).expect("it is kept");
    assert_turned_down(&workspace, &mut committer, [kept, rival]);
}

fn done(shell: &Shell, line: &str) -> String {
    let output = shell.run(line);
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn made(shell: &Shell, line: &str) -> String {
    let made: Value = serde_json::from_str(&done(shell, &format!("{line} --json"))).expect("JSON");
    made["entity_id"].as_str().expect("an id").to_owned()
}

/// Red before: the context told the decision that the operator had turned down as one in force.
#[test]
fn people_and_agents_see_that_a_decision_was_turned_down() {
    let shell = Shell::new();
    let kept = made(&shell, "hm claim create \"one file holds it all\" --scope src --agent operator");
    let rival = format!(
        "hm claim create \"each tenant gets a database\" --type decision --scope src --supersedes {kept} \
         --agent analyst"
    );
    let rival = made(&shell, &rival);
    done(&shell, &format!("hm claim support {rival} --agent devops"));
    let context = done(&shell, "hm context --agent reviewer");
    assert!(context.contains("each tenant gets a database"), "{context}");
    let keep = format!("hm claim keep {kept} --reason \"one machine is enough\" --agent operator");
    let said = done(&shell, &keep);
    assert!(said.contains("turned down and out of force: C2"), "{said}");

    let context = done(&shell, "hm context --agent reviewer");
    let was = "one file holds it all; instead of C2 (was: \"each tenant gets a database\")";
    assert!(context.contains(was), "{context}");
    assert_eq!(context.matches("C2").count(), 1, "it is no entry of its own: {context}");
    let page = done(&shell, &format!("hm claim show {rival}"));
    for words in [
        "# replaced decision",
        "superseded by: C1",
        "turned down: the operator keeps C1: one machine is enough",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let page = done(&shell, &format!("hm claim show {kept}"));
    assert!(page.contains("supersedes: C2"), "{page}");
    let refused = shell.run(&format!("hm claim support {rival} --agent devops"));
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(!done(&shell, "hm attention --agent operator").contains("C2"));
}

/// A profile of the workspace that runs until it is stopped.
fn waiting(bench: &Bench) {
    let dir = bench.workspace().marker_dir().join("profiles");
    std::fs::create_dir_all(&dir).expect("a directory");
    let text = "description = \"a test\"\nscopes = [\"src/**\"]\n\
                argv = [\"sh\", \"-c\", \"touch began; while ! test -e over; do sleep 0.05; done\"]\n\
                timeout_ms = 120000\n[expect]\nexit = 0\n";
    std::fs::write(dir.join("waits.toml"), text).expect("a profile");
    trust(bench.root(), "waits");
}

/// Red before: the claim stayed contested, although no agent challenged it.
#[tokio::test]
async fn after_a_cancelled_run_a_claim_is_what_the_positions_say() {
    let bench = Bench::new();
    waiting(&bench);
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let other = bench.pane(Some("reviewer"), Era::Legacy).await;
    let third = bench.pane(Some("analyst"), Era::Modern).await;
    let id = bench.claim(&owner, "the pool gives connections back", "src/pool").await;
    let doubt = json!({ "claim_id": id, "reason": "I saw otherwise" });
    bench.accepted(&other, "challenge", doubt).await;
    let given = json!({ "profile": "waits", "claim_id": id, "blocking": true });
    let run = bench.accepted(&owner, "run_experiment", given).await.field("run_id").to_owned();
    wait_until("the process runs", || bench.root().join("began").exists());
    bench.accepted(&other, "abstain", json!({ "claim_id": id })).await;
    bench.accepted(&third, "support", json!({ "claim_id": id })).await;
    let cancelled = bench.hm(&["experiment", "cancel", &run, "--agent", "devops"]);
    assert!(cancelled.status.success(), "{cancelled:?}");
    let shown = || {
        let shown = bench.hm(&["claim", "show", &id, "--json"]);
        serde_json::from_slice::<Value>(&shown.stdout).expect("JSON")
    };
    wait_until("the run is over", || shown()["status"] != "pending_proof");
    let claim = shown();
    assert_eq!((&claim["status"], &claim["basis"]), (&json!("confirmed"), &json!("agreed")), "{claim}");
    bench.kill_writer();
    bench.assert_sound();
}

/// Red before: a cancelled run took the earlier proof with it.
#[tokio::test]
async fn a_cancelled_run_leaves_an_earlier_proof() {
    let bench = Bench::new();
    waiting(&bench);
    let owner = bench.pane(Some("devops"), Era::Modern).await;
    let other = bench.pane(Some("reviewer"), Era::Legacy).await;
    let third = bench.pane(Some("analyst"), Era::Modern).await;
    let id = bench.claim(&owner, "the pool gives connections back", "src/pool").await;
    let doubt = json!({ "claim_id": id, "reason": "I saw otherwise" });
    let given = json!({ "profile": "waits", "claim_id": id, "blocking": true });
    let shown = || {
        let shown = bench.hm(&["claim", "show", &id, "--json"]);
        serde_json::from_slice::<Value>(&shown.stdout).expect("JSON")
    };
    bench.accepted(&other, "challenge", doubt.clone()).await;
    std::fs::write(bench.root().join("over"), "").expect("a file");
    bench.accepted(&owner, "run_experiment", given.clone()).await;
    wait_until("the run is over", || shown()["status"] != "pending_proof");
    assert_eq!(shown()["basis"], "proved");
    std::fs::remove_file(bench.root().join("over")).expect("the file");
    bench.accepted(&third, "challenge", doubt).await;
    let run = bench.accepted(&owner, "run_experiment", given).await.field("run_id").to_owned();
    bench.accepted(&third, "abstain", json!({ "claim_id": id })).await;
    let cancelled = bench.hm(&["experiment", "cancel", &run, "--agent", "devops"]);
    assert!(cancelled.status.success(), "{cancelled:?}");
    wait_until("the run is over", || shown()["status"] != "pending_proof");
    let claim = shown();
    assert_eq!((&claim["status"], &claim["basis"]), (&json!("confirmed"), &json!("proved")), "{claim}");
    bench.kill_writer();
    bench.assert_sound();
}

/// What the file of a claim holds.
fn versions(byte: u8) -> Versions {
    [("log.txt".parse().expect("a scope"), Content::Sha256([byte; 32]))].into()
}

/// Hands in a position of an agent that sees this content.
fn sees(committer: &mut Committer, by: &str, claim_id: ClaimId, held: Position, byte: u8) -> Receipt {
    let seen = Submission { versions: versions(byte), ..position(by, claim_id, held) };
    hands_in(committer, seen).expect("a position")
}

/// A claim about a file that was supported, and is still meant about other content.
fn affirmed(committer: &mut Committer) -> (ClaimId, Receipt) {
    let create = CreateClaim { scopes: vec!["log.txt".parse().expect("a scope")], ..fact("the log stays") };
    let made = Submission { versions: versions(1), ..request("devops", Command::CreateClaim(create)) };
    hands_in(committer, made.clone()).expect("a claim");
    let claim_id = claim_of(&made);
    sees(committer, "analyst", claim_id, Position::Support, 1);
    let still = Command::AffirmClaim(AffirmClaim { claim_id, reason: None });
    let still = Submission { versions: versions(2), ..request("devops", still) };
    let receipt = hands_in(committer, still).expect("it is affirmed");
    (claim_id, receipt)
}

/// Red before: a support of other content confirmed the claim once the challenge of the new content was withdrawn.
#[test]
fn a_support_of_other_content_confirms_nothing_anew() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let (claim_id, receipt) = affirmed(&mut committer);
    assert_eq!(status(&committer, claim_id), Status::Confirmed, "flagged, and not taken back");
    let next = receipt.next.expect("what is to be done");
    assert!(next.contains("analyst supported other content"), "{next}");
    sees(&mut committer, "architect", claim_id, Position::Abstain, 2);
    assert_eq!(status(&committer, claim_id), Status::Confirmed, "no support was taken back");
    sees(&mut committer, "reviewer", claim_id, Position::Challenge, 2);
    let said = sees(&mut committer, "reviewer", claim_id, Position::Abstain, 2);
    assert_eq!(status(&committer, claim_id), Status::Proposed, "{said:?}");
    sees(&mut committer, "analyst", claim_id, Position::Support, 2);
    assert_eq!(status(&committer, claim_id), Status::Confirmed);
    assert_eq!(folded(&workspace.events()), *committer.state());
}

#[test]
fn a_support_of_the_same_content_counts_after_still() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let (claim_id, _) = affirmed(&mut committer);
    // Meant about what the supporter saw, too.
    let still = Command::AffirmClaim(AffirmClaim { claim_id, reason: None });
    let still = Submission { versions: versions(1), ..request("devops", still) };
    assert_eq!(hands_in(&mut committer, still).expect("it is affirmed").next, None);
    sees(&mut committer, "reviewer", claim_id, Position::Challenge, 1);
    sees(&mut committer, "reviewer", claim_id, Position::Abstain, 1);
    assert_eq!(status(&committer, claim_id), Status::Confirmed);
}

/// Red before: after `still` the page told nothing of what the supporters had seen.
#[test]
fn a_page_tells_which_supports_are_about_other_content() {
    let shell = Shell::new();
    let file = shell.workspace().root().join("log.txt");
    std::fs::write(&file, "one").expect("a file");
    let id = made(&shell, "hm claim create \"the log stays\" --scope log.txt --agent devops");
    done(&shell, &format!("hm claim support {id} --agent analyst"));
    std::fs::write(&file, "two").expect("a file");
    done(&shell, &format!("hm claim support {id} --agent reviewer"));
    let said = done(&shell, &format!("hm claim still {id} --agent devops"));
    assert!(said.contains("analyst supported other content"), "{said}");
    let page = || done(&shell, &format!("hm claim show {id}"));
    assert!(page().contains("- analyst support (before the change)"), "{}", page());
    assert!(!page().contains("- reviewer support (before the change)"), "{}", page());
    let why = done(&shell, &format!("hm claim why {id}"));
    assert!(why.contains("analyst support (before the change)"), "{why}");
    let json = shell.json(&format!("hm claim show {id} --json"));
    assert_eq!(json["positions"][0]["before_change"], json!(true), "{json}");
    assert_eq!(json["positions"][1].get("before_change"), None, "{json}");
    done(&shell, &format!("hm claim support {id} --agent analyst"));
    assert!(!page().contains("before the change"), "{}", page());
}

fn task(committer: &mut Committer) -> TaskId {
    let task_id = TaskId::from_uuid(system::new_id());
    let add = AddTask {
        meant_for: None,
        task_id,
        title: "mend the pool".parse().expect("a title"),
        description: None,
        phase_id: None,
        parent_task_id: None,
        depends_on: Vec::new(),
        scopes: Vec::new(),
    };
    hands_in(committer, request("devops", Command::AddTask(add))).expect("a task");
    task_id
}

/// Red before: the second name got the hold, and the first was told nothing.
#[test]
fn two_names_in_one_session_do_not_hold_one_task() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let task_id = task(&mut committer);
    let claim = |by: &str| {
        let claim = ClaimTask { task_id, lease_minutes: None, file_locks: Vec::new() };
        request(by, Command::ClaimTask(claim))
    };
    let update = |by: &str, fencing_token: Option<u64>| {
        let note = Some("it works".parse().expect("a note"));
        let update = UpdateTask { task_id, status: TaskStatus::Done, note, fencing_token };
        request(by, Command::UpdateTask(update))
    };
    hands_in(&mut committer, claim("devops")).expect("a hold");
    let refused = hands_in(&mut committer, claim("analyst")).expect_err("devops holds it");
    assert_eq!(refused.code, Code::TaskTaken);
    assert!(refused.message.starts_with("devops holds task T1 until"), "{refused}");
    let refused = hands_in(&mut committer, update("analyst", None)).expect_err("devops holds it");
    assert_eq!(refused.code, Code::TaskTaken);
    hands_in(&mut committer, claim("devops")).expect("its own hold");
    // The number of the hold is the right to end it, as for an agent in another session.
    hands_in(&mut committer, update("analyst", Some(1))).expect("handed over with its number");
}

/// Red before: the second name took the hold over without a word.
#[test]
fn a_second_name_in_a_shell_is_told_who_holds_the_task() {
    let shell = Shell::new();
    made(&shell, "hm task add \"mend the pool\" --agent devops");
    let claims = |by: &str| {
        let mut line = shell.command(&format!("hm task claim T1 --agent {by}"));
        line.env("HM_SESSION", "night-run").output().expect("hm runs")
    };
    let held = claims("devops");
    assert!(held.status.success(), "{held:?}");
    let refused = claims("analyst");
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("devops holds task T1 until"), "{said}");
    assert!(claims("devops").status.success());
}
