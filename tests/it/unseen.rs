//! What a proof does not see is said, and what it could see counts: the same check behind a wrapper, edits of a path without
//! a version, a challenge from another work tree, and targets that are one.

use hivemind::domain::command::{Command, RecordDecision};
use hivemind::domain::scope::Scope;
use hivemind::mcp::{Era, Pane};
use serde_json::json;

use crate::false_proof::{FILE, stands};
use crate::harness::{TempWorkspace, dump, folded, request};
use crate::proof::{assert_rebuilds_to_the_same, git, run};
use crate::shell::Shell;
use crate::suspect::{contested, running, scene};
use crate::verdicts::{decides, hands_in};

/// Red before: a failure behind a wrapper that only starts the check did not count against a later proof.
#[tokio::test]
async fn a_failure_behind_a_wrapper_counts_against_a_proof() {
    let wrappers = [
        "'env', 'sh'",
        "'env', 'A=1', 'sh'",
        "'timeout', '9', 'sh'",
        "'nice', '-n', '1', 'sh'",
        "'nohup', 'stdbuf', '-o0', 'sh'",
        "'sh', '-e'",
    ];
    let (bench, panes) = scene("test -e flip\n").await;
    for (number, argv) in wrappers.into_iter().enumerate() {
        bench.write(FILE, &format!("content {number}\n"));
        let id = contested(&bench, &panes, FILE).await;
        running(&bench, "two", argv);
        let given = json!({ "profile": "two", "args": ["file=tests/t.sh"] });
        let failed = run(&panes[1], given).await;
        assert_eq!(failed.body["run_state"], "failed", "{argv}: {}", failed.text);
        bench.write("flip", "");
        let given =
            json!({ "profile": "one", "args": ["file=tests/t.sh"], "claim_id": id, "blocking": true });
        let proof = run(&panes[0], given).await;
        std::fs::remove_file(bench.root().join("flip")).expect("a file");
        let (status, reason) = stands(&panes[0], &id).await;
        assert_eq!(status, "contested", "{argv}: {reason}");
        assert!(proof.text.contains("of the same command ended with exit code 1"), "{argv}: {}", proof.text);
        assert!(proof.text.contains("unless run"), "{argv}: {}", proof.text);
        bench.accepted(&panes[1], "abstain", json!({ "claim_id": id })).await;
        bench.accepted(&panes[0], "deprecate_claim", json!({ "claim_id": id, "reason": "next" })).await;
    }
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: the operator's run of the same line behind a wrapper did not count.
#[tokio::test]
async fn a_typed_run_behind_a_wrapper_counts() {
    let (bench, panes) = scene("test -e flip\n").await;
    let id = contested(&bench, &panes, FILE).await;
    let typed = ["experiment", "run", "--agent", "operator", "--thread-id", "RS-1", "--test-id", "T1", "--"];
    bench.hm(&[&typed[..], &["env", "sh", "-e", "tests/t.sh"]].concat());
    bench.write("flip", "");
    let given = json!({ "profile": "one", "args": ["file=tests/t.sh"], "claim_id": id, "blocking": true });
    let proof = run(&panes[0], given).await;
    assert_eq!(stands(&panes[0], &id).await.0, "contested", "{}", proof.text);
    assert!(proof.text.contains("of the same check had the other outcome"), "{}", proof.text);
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: an edit below the directory of a proved claim left `proved` without a word beside it.
#[tokio::test]
async fn a_proof_that_sees_no_later_edits_says_so_beside_its_status() {
    let (bench, panes) = scene("test -e flip\n").await;
    bench.write("flip", "");
    for (scope, is_unseen) in [("src", true), (FILE, false)] {
        let id = contested(&bench, &panes, scope).await;
        let given =
            json!({ "profile": "one", "args": ["file=tests/t.sh"], "claim_id": id, "blocking": true });
        let proof = run(&panes[0], given).await;
        assert_eq!(stands(&panes[0], &id).await.0, "confirmed (proved)", "{}", proof.text);
        let name = bench.name(&id);
        let receipt =
            format!("the proof of claim {name} does not see later edits of `src`, which has no version");
        assert_eq!(proof.text.contains(&receipt), is_unseen, "{}", proof.text);
        let page = panes[0].read(&format!("hivemind://claims/{id}")).await.expect("a page");
        let head = page.lines().next().expect("a head").to_owned();
        let list = bench.hm(&["claim", "list"]);
        let list = String::from_utf8(list.stdout).expect("UTF-8");
        let row = list.lines().find(|line| line.contains(&format!("{name} "))).expect("a row").to_owned();
        for line in [head, row] {
            assert!(line.contains("proved"), "{line}");
            assert_eq!(line.contains("later edits unseen"), is_unseen, "{line}");
        }
        bench.accepted(&panes[0], "deprecate_claim", json!({ "claim_id": id, "reason": "next" })).await;
    }
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: attention named a run that would decide nothing.
#[tokio::test]
async fn attention_names_no_run_against_a_challenge_of_another_work_tree() {
    let (bench, [owner, other]) = scene("test -e flip\n").await;
    let id = bench.claim(&owner, "a divides", FILE).await;
    let dir = tempfile::tempdir().expect("a directory");
    let there = dir.path().join("wt");
    git(bench.root(), &["worktree", "add", "-q", there.to_str().expect("UTF-8"), "-b", "other"]);
    std::fs::write(there.join(FILE), "something else\n").expect("a file");
    let beside =
        Pane::offered(bench.binary(), &there, Some("devops"), Era::Modern, "all").await.expect("a pane");
    bench.accepted(&beside, "challenge", json!({ "claim_id": id, "reason": "it rounds" })).await;
    let needs = owner.read("hivemind://attention").await.expect("a page");
    assert!(!needs.contains("a run may decide"), "{needs}");
    let why = "devops challenges other content of its files in another work tree, so a run here decides nothing now";
    assert!(needs.contains(why) && needs.contains("still"), "{needs}");
    // What is offered leads on.
    bench.accepted(&other, "still", json!({ "claim_id": id })).await;
    let needs = owner.read("hivemind://attention").await.expect("a page");
    assert!(needs.contains("a run may decide"), "{needs}");
    bench.write("flip", "");
    let given = json!({ "profile": "one", "args": ["file=tests/t.sh"], "claim_id": id, "blocking": true });
    let proof = run(&owner, given).await;
    assert_eq!(stands(&owner, &id).await.0, "confirmed (proved)", "{}", proof.text);
}

/// Red before: a run was offered that would decide nothing, and equal runs of an unstable proof without the word that comes
/// before them.
#[tokio::test]
async fn attention_names_no_run_against_a_challenge_of_older_content() {
    let (bench, [owner, other]) = scene("test -e flip\n").await;
    let id = bench.claim(&owner, "a divides", FILE).await;
    bench.accepted(&other, "challenge", json!({ "claim_id": id, "reason": "it rounds" })).await;
    bench.write(FILE, "something else\n");
    bench.accepted(&owner, "still", json!({ "claim_id": id })).await;
    let needs = owner.read("hivemind://attention").await.expect("a page");
    assert!(!needs.contains("a run may decide"), "{needs}");
    let why = "devops challenges other content of its files, so a run decides nothing now";
    assert!(needs.replace("\n ", "").contains(why), "{needs}");
    bench.accepted(&other, "still", json!({ "claim_id": id })).await;
    let needs = owner.read("hivemind://attention").await.expect("a page");
    assert!(needs.contains("a run may decide"), "{needs}");
}

/// Red before: each spelling was a target of its own, with a decision in force.
#[test]
fn spellings_of_one_target_are_one() {
    let shell = Shell::new();
    let decides = |target: &str| {
        shell.run(&format!(
            "hm decision record \"use {target}\" --target \"{target}\" --rationale \"it is the best choice\" --agent devops"
        ))
    };
    for (first, others) in
        [("p/q", ["p//q", "P/q/"]), ("straße", ["STRASSE", "Strasse"]), ("a/b", ["a/./b", "./a/b"])]
    {
        let made = decides(first);
        assert!(made.status.success(), "{first}: {made:?}");
        for other in others {
            let refused = decides(other);
            let told = String::from_utf8_lossy(&refused.stderr).into_owned();
            assert!(!refused.status.success() && told.contains("is in force"), "{other}: {refused:?}");
        }
    }
    assert!(decides("/p/q").status.success(), "a path from the root is another one");
}

/// Red before: two decisions of an older ledger stood side by side, and the one under the old spelling had no name any more.
#[test]
fn decisions_of_an_older_ledger_on_one_target_contradict_each_other() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    // As earlier releases wrote them.
    for target in ["target:p//q", "target:p/q", "target:straße"] {
        let statement = format!("{} is best", &target["target:".len()..]);
        let target = Some(target.parse().expect("a scope"));
        let record = RecordDecision { target, ..decides(&statement, "x", Vec::new()) };
        hands_in(&mut committer, request("devops", Command::RecordDecision(record))).expect("a decision");
    }
    drop(committer);
    let before = workspace.events();
    drop(workspace.committer(2));
    let after = workspace.events();
    let kinds: Vec<&str> = after[before.len()..].iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["target.aliased", "contradiction.detected", "target.aliased"]);
    let state = folded(&after);
    let named = |name: &str| Scope::target(name).expect("a target");
    let on = |name: &str| state.decisions_on(state.canonical(&named(name))).count();
    assert_eq!([on("p/q"), on("P//Q"), on("STRASSE")], [2, 2, 1]);
    let live = dump(&workspace.team_memory());
    // A second start joins nothing, and a fold from the beginning shows the same.
    let mut again = workspace.committer(3);
    assert_eq!(workspace.events().len(), before.len() + kinds.len());
    again.rebuild(|_| {}).expect("a fold");
    drop(again);
    assert_eq!(dump(&workspace.team_memory()), live);
    workspace.assert_sound();
}
