//! What receipts and pages say in a dispute: the agent that moved a claim, the run that shows nothing, and what settles it.

use std::path::PathBuf;

use hivemind::domain::claim::Position;
use hivemind::writer::Front;

use crate::doubted::{line_with, printed, scene};
use crate::harness::{HM, block_on, claim_of, committed, creation, position};

/// Runs a line, which must succeed, and returns what it prints on one line.
fn said(shell: &crate::shell::Shell, line: &str) -> String {
    let text = printed(shell, shell.workspace().root(), line);
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

/// Red before: the page said that the agent which had asked for a run contested its own claim when the run timed out.
#[test]
fn a_claim_that_a_run_gives_back_is_contested_by_no_agent() {
    let (shell, _linked, _place) = scene();
    let root = shell.workspace().root().to_owned();
    let proved = printed(&shell, &root, "hm claim show C1");
    assert!(line_with(&proved, "proof:").contains("confirmed by a run"), "{proved}");
    said(&shell, "hm --agent devops claim create \"sums are slow\" --scope calc.py");
    said(&shell, "hm --agent analyst claim challenge C2 \"they are not\"");
    let slow =
        "import sys, time\nif '--version' in sys.argv: sys.exit(print('pytest 8.0.0'))\ntime.sleep(60)\n";
    std::fs::write(shell.workspace().marker_dir().join("fake/pytest.py"), slow).expect("a file");
    said(&shell, "hm --agent devops experiment run suite --claim C2 --blocking --timeout 1");
    let page = printed(&shell, &root, "hm claim show C2");
    assert!(page.contains("contested by analyst"), "{page}");
    assert!(line_with(&page, "was inconclusive").contains("contested by a run"), "{page}");
    assert!(!page.contains("contested by devops"), "{page}");
    let page = shell.json("hm --json claim show C2");
    let last = page["history"].as_array().and_then(|history| history.last()).expect("a step").clone();
    assert_eq!((&last["by"], &last["by_run"]), (&"devops".into(), &true.into()), "{last}");
}

/// Red before: the receipt of a support by a run said that the run had failed, and nothing of what that means.
#[test]
fn a_support_by_a_failed_run_says_that_the_run_does_not_support() {
    let (shell, _linked, _place) = scene();
    let root = shell.workspace().root().to_owned();
    said(&shell, "hm --agent devops claim create \"sums are fast\" --scope calc.py");
    let passed = said(&shell, "hm --agent analyst experiment run suite");
    assert!(passed.contains("R2"), "{passed}");
    let supported = said(&shell, "hm --agent analyst claim support C2 --evidence R2");
    assert!(supported.contains("run R2 passed") && !supported.contains("does not support"), "{supported}");
    std::fs::write(root.join("flag"), "").expect("a file");
    said(&shell, "hm --agent reviewer experiment run suite");
    let supported = said(&shell, "hm --agent reviewer claim support C2 --evidence R3");
    assert!(
        supported.contains("run R3 failed with exit code 1, and a failed run does not support"),
        "{supported}"
    );
    // A dead end is that something fails.
    said(&shell, "hm --agent devops claim create \"sums fail at noon\" --type negative --scope calc.py");
    let supported = said(&shell, "hm --agent reviewer claim support C3 --evidence R3");
    assert!(supported.contains("run R3 failed") && !supported.contains("does not support"), "{supported}");
}

/// Red before: attention offered one more run of a test that had just passed and failed on the same content.
#[test]
fn after_an_unstable_run_attention_offers_no_single_run() {
    let (shell, _linked, _place) = scene();
    let root = shell.workspace().root().to_owned();
    said(&shell, "hm --agent reviewer claim challenge C1 \"it overflows\"");
    std::fs::write(root.join("flag"), "").expect("a file");
    said(&shell, "hm --agent devops experiment run suite --claim C1 --blocking");
    let asked = said(&shell, "hm attention");
    assert!(!asked.contains("a run may decide instead"), "{asked}");
    assert!(
        asked.contains("run R2 settles nothing: it is unstable, 1 passed, 1 failed on the same content"),
        "{asked}"
    );
    assert!(asked.contains("5 equal runs do (repeat: 5) once the content is another"), "{asked}");
    // That is true.
    std::fs::remove_file(root.join("flag")).expect("a file");
    std::fs::write(root.join("calc.py"), "def add(a, b): return int(a + b)\n").expect("a file");
    for agent in ["devops", "analyst", "reviewer"] {
        said(&shell, &format!("hm --agent {agent} claim still C1"));
    }
    said(&shell, "hm --agent devops experiment run suite --claim C1 --blocking --repeat 5");
    assert!(
        said(&shell, "hm claim show C1").contains("# confirmed (proved"),
        "{}",
        said(&shell, "hm claim show C1")
    );
}

/// Red before: the agent whose support let a claim take the place of another was asked for a position on it at once.
#[test]
fn a_support_that_replaces_a_claim_answers_the_question_about_it() {
    let (shell, _linked, _place) = scene();
    said(&shell, "hm --agent devops claim create \"sums are whole\" --scope calc.py");
    said(&shell, "hm --agent reviewer claim challenge C2 \"they are not\"");
    said(&shell, "hm --agent frontend claim create \"sums are parts\" --scope calc.py --supersedes C2");
    let receipt = said(&shell, "hm --agent reviewer claim support C3");
    assert!(receipt.contains("confirmed: agreed by reviewer"), "{receipt}");
    assert!(said(&shell, "hm claim show C2").contains("superseded by: C3"));
    let asked = said(&shell, "hm attention");
    assert!(!asked.contains("question, reviewer's move"), "{asked}");
    // The same for a supporter of the old claim: it contradicts nothing that it supports.
    said(&shell, "hm --agent devops claim create \"sums are cached\" --scope calc.py");
    said(&shell, "hm --agent reviewer claim support C4");
    said(
        &shell,
        "hm --agent frontend claim create \"sums are kept a minute\" --scope calc.py --supersedes C4",
    );
    said(&shell, "hm --agent reviewer claim support C5");
    let asked = said(&shell, "hm attention");
    assert!(!asked.contains("C4"), "{asked}");
}

/// Red before: the receipt of a challenge after an edit offered a run that decides nothing.
#[test]
fn a_challenge_after_an_edit_is_told_what_settles_it() {
    let (shell, _linked, _place) = scene();
    let root = shell.workspace().root().to_owned();
    said(&shell, "hm --agent devops claim create \"sums are whole\" --scope calc.py");
    let receipt = said(&shell, "hm --agent analyst claim challenge C2 \"they are not\"");
    assert!(receipt.contains("settle it by a run: `hm experiment run suite"), "{receipt}");
    std::fs::write(root.join("calc.py"), "def add(a, b): return int(a + b)\n").expect("a file");
    let receipt = said(&shell, "hm --agent reviewer claim challenge C2 \"they are not at all\"");
    assert!(receipt.contains("`calc.py` changed since the c"), "{receipt}");
    assert!(
        receipt.contains("so a run decides nothing now") && receipt.contains("hm claim still C2"),
        "{receipt}"
    );
    assert!(!receipt.contains("settle it by a run"), "{receipt}");
    // What the receipt says does settle it.
    said(&shell, "hm --agent devops claim still C2");
    said(&shell, "hm --agent analyst claim still C2");
    let receipt = said(&shell, "hm --agent reviewer claim challenge C2 \"they are not at all\"");
    assert!(receipt.contains("settle it by a run: `hm experiment run suite"), "{receipt}");
    said(&shell, "hm --agent devops experiment run suite --claim C2 --blocking");
    assert!(said(&shell, "hm claim show C2").contains("# confirmed (proved"));
}

/// Red before: attention asked the operator to deprecate the claim that the operator had just supported.
#[test]
fn a_challenge_that_the_operator_outvotes_needs_no_move_until_the_operator_takes_that_back() {
    let shell = crate::shell::Shell::new();
    said(&shell, "hm --agent architect claim create \"the cache is small\" --scope src/cache.py");
    said(&shell, "hm --agent devops claim challenge C1 \"I saw 4 GB\"");
    let asked = said(&shell, "hm attention");
    assert!(asked.contains("contradiction, architect's move"), "{asked}");
    let receipt = said(&shell, "hm --operator-override \"a test\" --agent operator claim support C1");
    assert!(receipt.contains("confirmed: agreed by operator"), "{receipt}");
    let asked = said(&shell, "hm attention");
    assert!(asked.contains("Nothing needs anybody now."), "{asked}");
    let listed = said(&shell, "hm contradictions");
    assert!(listed.contains("the operator stands by `C1`, so that no move is needed"), "{listed}");
    assert!(!listed.contains("'s move"), "{listed}");
    assert!(listed.contains("devops ends it by `hm claim support C1` or `hm claim abstain C1`"), "{listed}");
    let context = said(&shell, "hm --agent architect context");
    assert!(!context.contains("<contradiction"), "{context}");
    said(&shell, "hm --operator-override \"a test\" --agent operator claim abstain C1");
    let asked = said(&shell, "hm attention");
    assert!(asked.contains("contradiction, architect's move"), "{asked}");
}

/// A context reads 40 contradictions at a time, the newest first.
#[test]
fn a_context_finds_a_contradiction_behind_many_outvoted_challenges() {
    let shell = crate::shell::Shell::new();
    let front = Front::new(shell.workspace(), PathBuf::from(HM));
    for number in 0..=45 {
        let made = creation("devops", &format!("table t{number} has {} rows", number * 7));
        block_on(committed(&front, &made)).expect("a receipt");
        let against = position("analyst", claim_of(&made), Position::Challenge);
        block_on(committed(&front, &against)).expect("a receipt");
        if number > 0 {
            let stands = position("operator", claim_of(&made), Position::Support);
            block_on(committed(&front, &stands)).expect("a receipt");
        }
    }
    let context = said(&shell, "hm --agent devops context");
    assert_eq!(context.matches("<contradiction").count(), 1, "{context}");
    assert!(context.contains("table t0 has 0 rows"), "{context}");
}

/// The rest of the questions has no list of its own.
#[test]
fn questions_beyond_those_shown_come_once_some_are_settled() {
    let shell = crate::shell::Shell::new();
    for number in 1..=23 {
        said(
            &shell,
            &format!(
                "hm --agent devops claim create \"table t{number} has {} rows\" --scope src/t{number} --ask analyst",
                number * 7
            ),
        );
    }
    let rest = "3 more of question, once some of these are settled";
    let listed = said(&shell, "hm attention");
    assert!(listed.contains(rest), "{listed}");
    let screen = crate::terminal::Screen::open(&shell.command("hm watch"), (200, 160)).wait_for("q end");
    assert!(screen.contains(rest), "{screen}");
    let pages =
        crate::web::Pages::start(shell.command("hm --operator-override \"a test\" web --no-open")).opened();
    let page = pages.page("/");
    assert!(page.contains("3 more of ") && page.contains(", once some of these are settled"), "{page}");
}

/// Red before: receipt and attention printed a run that was refused as printed, as no file of the claim was there, or one of
/// pytest without any test.
#[test]
fn a_run_that_is_known_to_be_refused_is_not_advised() {
    let shell = crate::shell::Shell::new();
    let root = shell.workspace().root().to_owned();
    let mut number = 0;
    let mut advised = || {
        number += 1;
        said(
            &shell,
            &format!("hm --agent analyst claim create \"case {number} restarts\" --scope src/main.py"),
        );
        let receipt =
            said(&shell, &format!("hm --agent architect claim challenge C{number} \"I saw the opposite\""));
        let attention = said(&shell, "hm attention --all");
        let in_attention = attention.contains(&format!("pytest --claim C{number} "));
        let in_receipt = receipt.contains("settle it by a run: `hm experiment run pytest");
        assert_eq!(in_receipt, in_attention, "{receipt}\n{attention}");
        in_receipt
    };
    std::fs::create_dir_all(root.join("tests")).expect("a directory");
    std::fs::write(root.join("tests/test_main.py"), "").expect("a file");
    assert!(!advised(), "its file is not there");
    std::fs::create_dir_all(root.join("src")).expect("a directory");
    std::fs::write(root.join("src/main.py"), "").expect("a file");
    assert!(advised());
    std::fs::remove_file(root.join("tests/test_main.py")).expect("a file");
    assert!(!advised(), "there is no test");
}
