//! Ways by which a dispute, a failed run or a support for something else was lost sight of, each found by a user who had only
//! the tool.

use crate::doubted::{line_with, printed};
use crate::proof::git;
use crate::settle::{does, id_of, trusted};
use crate::shell::Shell;

/// What a line prints at the root of the workspace, in one line.
fn told(shell: &Shell, line: &str) -> String {
    printed(shell, shell.workspace().root(), line).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn write(shell: &Shell, path: &str, text: &str) {
    let path = shell.workspace().root().join(path);
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    std::fs::write(path, text).expect("a file");
}

/// A claim of devops about `src/a.py`, challenged by reviewer, that a run of `check` proved: C1.
fn proved(shell: &Shell, statement: &str) {
    write(shell, "src/a.py", "fine\n");
    trusted(shell, "check", "\"sh\", \"-c\", \"! grep -q bug src/a.py\"");
    does(shell, &format!("hm claim create \"{statement}\" --scope src/a.py --agent devops"));
    does(shell, "hm claim challenge C1 --reason \"is it\" --agent reviewer");
    does(shell, "hm experiment run check --claim C1 --blocking --agent devops");
}

/// Red before: the same words, made anew, were agreed to, or agreed by silence, and the challenger heard nothing.
#[test]
fn a_claim_that_ended_in_dispute_is_not_made_anew_without_its_challenger() {
    let shell = Shell::new();
    does(&shell, "hm claim create \"the queue is fifo\" --scope src --agent devops");
    does(&shell, "hm claim challenge C1 \"it is not\" --agent analyst");
    does(&shell, "hm claim deprecate C1 --reason \"a typo\" --agent devops");
    for (by, statement, more) in [
        ("devops", "the queue is fifo", ""),
        ("devops", "The queue is FIFO.", " --unless-objection-minutes 1"),
        ("frontend", "The queue is fifo", ""),
    ] {
        let refused =
            told(&shell, &format!("hm claim create \"{statement}\" --scope src --agent {by}{more}"));
        assert!(refused.contains("said the same and ended while analyst challenged it"), "{refused}");
    }
    does(&shell, "hm claim create \"The queue is fifo.\" --scope src --supersedes C1 --agent devops");
    assert!(told(&shell, "hm attention --agent analyst").contains("question"), "its challenger is asked");
    let receipt = told(&shell, "hm claim support C2 --agent frontend");
    assert!(receipt.contains("not answered: analyst challenged C1, whose place it took"), "{receipt}");
    told(&shell, "hm export --to AGENTS.md");
    let exported = std::fs::read_to_string(shell.workspace().root().join("AGENTS.md")).expect("a file");
    assert!(!exported.contains("fifo"), "in dispute: {exported}");
    does(&shell, "hm claim support C2 --agent analyst");
    told(&shell, "hm export --to AGENTS.md");
    let exported = std::fs::read_to_string(shell.workspace().root().join("AGENTS.md")).expect("a file");
    assert!(exported.contains("fifo"), "{exported}");
    // The challenger itself may say it, and other words are another claim, down to a sign.
    does(&shell, "hm claim create \"limit is < 5\" --scope src --agent devops");
    does(&shell, "hm claim challenge C3 \"it is not\" --agent analyst");
    does(&shell, "hm claim deprecate C3 --reason \"the other way round\" --agent devops");
    does(&shell, "hm claim create \"limit is > 5\" --scope src --agent devops");
    does(&shell, "hm claim create \"the stack is lifo\" --scope src --agent devops");
    does(&shell, "hm claim challenge C5 \"it is not\" --agent analyst");
    does(&shell, "hm claim deprecate C5 --reason \"a typo\" --agent devops");
    does(&shell, "hm claim create \"the stack is lifo\" --scope src --agent analyst");
    shell.assert_rebuilds_to_the_same();
}

/// Red before: a challenge that a proof had answered kept better words out of the export for good.
#[test]
fn a_challenge_that_a_proof_answered_is_answered_for_better_words_too() {
    let shell = Shell::new();
    proved(&shell, "a divides");
    does(&shell, "hm claim create \"a divides exactly\" --scope src/a.py --supersedes C1 --agent devops");
    let receipt = told(&shell, "hm claim support C2 --agent analyst");
    assert!(!receipt.contains("not answered"), "{receipt}");
    told(&shell, "hm export --to AGENTS.md");
    let exported = std::fs::read_to_string(shell.workspace().root().join("AGENTS.md")).expect("a file");
    assert!(exported.contains("divides exactly"), "{exported}");
}

/// Red before: its owner retracted the failure of its own run, and the claim was proved without a doubt again.
#[test]
fn an_owner_takes_back_no_result_of_its_own_run() {
    let shell = Shell::new();
    proved(&shell, "a divides");
    trusted(&shell, "other", "\"sh\", \"-c\", \"test -e flag\"");
    does(&shell, "hm experiment run other --claim C1 --agent devops");
    let refused = told(&shell, "hm claim retract-evidence C1 R2 \"a typo\" --agent devops");
    assert!(refused.contains("its result is not taken back"), "{refused}");
    assert!(line_with(&told(&shell, "hm claim list"), "a divides").contains("failed since (R2)"));
    // One who has no say in what the claim predicts may have been wrong about that.
    does(&shell, "hm experiment run other --claim C1 --agent reviewer");
    does(&shell, "hm claim retract-evidence C1 R3 \"not what it predicts\" --agent reviewer");
}

/// Red before: a support of a claim without a target was one of a decision on the database.
#[test]
fn a_support_without_a_target_makes_no_decision_on_one() {
    let shell = Shell::new();
    does(&shell, "hm claim create \"we use files\" --type decision --scope src/fixtures --agent devops");
    does(&shell, "hm claim support C1 \"yes, for the fixtures\" --agent analyst");
    let refused = told(
        &shell,
        "hm decision record --claim C1 --target database --rationale \"files are all that we need\" --agent devops",
    );
    assert!(refused.contains("analyst supported claim C1, which names no target"), "{refused}");
    assert!(!told(&shell, "hm decision list").contains("database"));
    does(&shell, "hm decision record --claim C1 --rationale \"files are all that we need\" --agent devops");
}

/// Red before: both stood in the export as facts, and no list named one beside the other.
#[test]
fn a_claim_beside_the_one_that_it_was_to_replace_says_so() {
    let shell = Shell::new();
    proved(&shell, "the pool is twenty");
    does(&shell, "hm claim create \"the pool is thirty\" --scope src/a.py --supersedes C1 --agent analyst");
    does(&shell, "hm claim support C2 --agent frontend");
    let list = line_with(&printed(&shell, shell.workspace().root(), "hm claim list"), "pool is thirty");
    assert!(list.contains("contradicts C1, whose place it was to take"), "{list}");
    told(&shell, "hm export --to AGENTS.md");
    let exported = std::fs::read_to_string(shell.workspace().root().join("AGENTS.md")).expect("a file");
    assert!(exported.contains("twenty") && !exported.contains("thirty"), "{exported}");
}

/// Red before: the run that was printed for it decided nothing on the new content, and was printed again.
#[test]
fn what_is_printed_for_a_failure_on_other_content_ends_it() {
    let shell = Shell::new();
    write(&shell, "src/a.py", "fine\n");
    trusted(&shell, "check", "\"sh\", \"-c\", \"! grep -q bug src/a.py\"");
    id_of(&shell, "hm claim create \"a divides\" --scope src/a.py --agent devops");
    does(&shell, "hm claim support C1 --agent analyst");
    write(&shell, "src/a.py", "bug\n");
    does(&shell, "hm claim still C1 --agent devops");
    does(&shell, "hm experiment run check --claim C1 --agent devops");
    write(&shell, "src/a.py", "mended\n");
    let told_now = told(&shell, "hm attention --agent devops");
    assert!(told_now.contains("claim against a run") && !told_now.contains("proved claim"), "{told_now}");
    assert!(told_now.contains("its files changed since: or `hm claim still C1`, and then"), "{told_now}");
    does(&shell, "hm claim still C1 --agent devops");
    does(&shell, "hm experiment run check --claim C1 --agent devops");
    assert!(!told(&shell, "hm attention --agent devops").contains("against a run"));
}

/// Red before: a run was printed that decides nothing until the challenger has spoken; and one for a file that is not there.
#[test]
fn no_run_is_printed_that_the_next_line_says_decides_nothing() {
    let shell = Shell::new();
    git(shell.workspace().root(), &["init", "-q"]);
    proved(&shell, "a divides");
    write(&shell, "src/a.py", "faster\n");
    does(&shell, "hm claim still C1 --agent devops");
    let attention = told(&shell, "hm attention --agent devops");
    assert!(attention.contains("so a run decides nothing now"), "{attention}");
    std::fs::rename(shell.workspace().root().join("src/a.py"), shell.workspace().root().join("src/b.py"))
        .expect("a file");
    let still = told(&shell, "hm claim still C1 --agent devops");
    assert!(still.contains("`src/a.py` does not exist") && !still.contains("settles it"), "{still}");
    let typed = told(&shell, "hm experiment run --claim C1 -- true");
    assert!(typed.contains("cannot be used with"), "{typed}");
}
