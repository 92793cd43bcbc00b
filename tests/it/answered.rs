//! A question leaves the list of the asked agent once it is answered: by a name, or by a claim that its asker supports.

use crate::shell::Shell;

fn said(shell: &Shell, line: &str) -> String {
    let output = shell.run(line);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn asked(shell: &Shell) -> bool {
    said(shell, "hm --agent analyst attention").contains("how long does a lock live")
}

const ASK: &str =
    "hm --agent devops claim create \"how long does a lock live?\" --scope src/lock.rs --ask analyst";

/// Red before: the question stayed until the analyst named it or took a position on it.
#[test]
fn a_claim_on_the_same_place_that_the_asker_supports_answers_its_question() {
    let shell = Shell::new();
    said(&shell, ASK);
    said(&shell, "hm --agent analyst claim create \"a pool holds 20\" --scope src/pool.rs");
    said(&shell, "hm --agent devops claim support C2");
    assert!(asked(&shell), "another place");
    said(&shell, "hm --agent analyst claim create \"a lock lives 15 minutes\" --scope src/lock.rs");
    assert!(asked(&shell), "its asker has not said so");
    said(&shell, "hm --agent reviewer claim support C3");
    assert!(asked(&shell), "another agent did");
    said(&shell, "hm --agent devops claim support C3");
    assert!(!asked(&shell));
    let page = said(&shell, "hm claim show C1").replace('`', "");
    assert!(page.contains("analyst, answered by C3"), "{page}");
    // A support that is taken back asks again.
    said(&shell, "hm --agent devops claim abstain C3");
    assert!(asked(&shell));
}

#[test]
fn a_claim_that_was_there_before_or_is_about_everything_answers_no_question() {
    let shell = Shell::new();
    said(&shell, "hm --agent analyst claim create \"a lock lives 15 minutes\" --scope src/lock.rs");
    said(&shell, &ASK.replace("--scope src/lock.rs", "--scope src/lock.rs --scope ."));
    said(&shell, "hm --agent devops claim support C1");
    said(&shell, "hm --agent analyst claim create \"the build is slow\"");
    said(&shell, "hm --agent devops claim support C3");
    assert!(asked(&shell));
}

#[test]
fn a_decision_asks_for_a_position_whatever_its_asker_supports() {
    let shell = Shell::new();
    said(
        &shell,
        "hm --agent devops decision record \"how long does a lock live: 15 minutes\" --scope src/lock.rs \
         --rationale \"most tasks end by then\" --ask analyst",
    );
    said(&shell, "hm --agent analyst claim create \"a lock is a row\" --scope src/lock.rs");
    said(&shell, "hm --agent devops claim support C2");
    assert!(asked(&shell));
}

/// Red before: of these only the name in a text answered.
#[test]
fn a_deed_of_the_asked_agent_answers_a_question() {
    for deed in [
        "claim create \"as C1 asks, I looked: 15 minutes\" --scope src/other.rs",
        "decision record \"a lock lives 15 minutes, see C1\" --scope src/other.rs --rationale \"most tasks end by then\"",
        "claim create \"a lock lives 15 minutes\" --scope src/other.rs --supersedes C1",
    ] {
        let shell = Shell::new();
        said(&shell, ASK);
        assert!(asked(&shell), "{deed}");
        said(&shell, &format!("hm --agent analyst {deed}"));
        assert!(!asked(&shell), "{deed}");
    }
}

/// Red before: there was no such option, and the name had to be written into the statement.
#[test]
fn an_answer_names_its_question_by_an_option() {
    let shell = Shell::new();
    said(&shell, ASK);
    said(&shell, "hm --agent analyst claim create \"15 minutes\" --scope src/pool.rs --answers C1");
    assert!(!asked(&shell));
    assert_eq!(shell.json("hm --json claim show C2")["statement"], "15 minutes (answers C1)");
    said(&shell, "hm --agent analyst claim create \"C1: 20 minutes at most\" --answers C1");
    assert_eq!(shell.json("hm --json claim show C3")["statement"], "C1: 20 minutes at most");
    assert!(!shell.run("hm --agent analyst claim create x --answers C99").status.success());
}
