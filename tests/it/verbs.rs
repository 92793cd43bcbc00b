//! Verbs by the words of their siblings, and what is taken for what is left out.

use expect_test::expect;

use crate::shell::Shell;

/// Red before: each of these words belongs to a sibling and was refused.
#[test]
fn a_verb_and_an_option_go_by_the_words_of_their_siblings() {
    let shell = Shell::new();
    for line in [
        "hm --agent devops claim add \"the pool holds 20\" --scope src/db",
        "hm --agent analyst claim support C1 --note \"I counted\"",
        "hm --agent analyst claim challenge C1 --note \"it is 40 now\"",
        "hm --agent analyst claim abstain C1 --why \"I misread\"",
        "hm --agent devops claim still C1 --note \"looked again\"",
        "hm --agent devops claim deprecate C1 --note \"the pool is gone\"",
        "hm --agent devops decision add \"we keep SQLite\" --note \"one file, no server\" --target db",
        "hm --agent devops decision show C2",
        "hm --agent devops decision outcome C2 success --note \"no incident\"",
        "hm --agent devops plan create Storage",
        "hm --agent devops phase create Schema",
        "hm --agent devops task create tables",
        "hm --agent devops task claim T1",
        "hm --agent devops task update T1 blocked --reason \"waits for the schema\"",
        "hm --agent devops tasks list --owner devops",
        "hm --agent devops plans list",
        "hm --agent devops anchor add DB \"v7\"",
        "hm --agent devops lock src/db --for 5m --reason \"a migration\"",
        "hm --agent devops contradiction list",
        "hm --agent devops plan abandon P1 --note \"1.1 comes first\"",
    ] {
        let output = shell.run(line);
        assert!(output.status.success(), "{line}: {output:?}");
    }
    let shown = String::from_utf8(shell.run("hm claim show C1").stdout).expect("UTF-8");
    assert!(shown.contains("the pool is gone") && shown.contains("I misread"), "{shown}");
    // They are no lines of help.
    for page in ["claim", "claim create", "claim support", "decision", "task update"] {
        let help = String::from_utf8(shell.run(&format!("hm {page} --help")).stdout).expect("UTF-8");
        for word in ["--note <", "aliases", "claim add", "  show"] {
            let is_its_own =
                page == "task update" && word == "--note <" || page == "claim" && word == "  show";
            assert!(is_its_own || !help.contains(word), "{page}: {word}: {help}");
        }
    }
}

/// Red before: a phase needed its plan, a task without a phase went to the inbox, and the same task again passed without a
/// word.
#[test]
fn the_only_plan_and_phase_are_taken_and_a_task_like_another_is_named() {
    let mut shell = Shell::new();
    shell.check(
        &[
            "hm --agent devops phase add Schema",
            "hm --agent devops plan add Storage",
            "hm --agent devops phase add Schema",
            "hm --agent devops task add \"Implement the limiter in limit.py\"",
            "hm --agent devops task claim T1",
            "hm --agent analyst task add \"implement the limiter in limit.py\"",
            "hm --agent analyst task add \"Implement the limiter of limit.py now\"",
            "hm --agent analyst task add \"write the manual\"",
            "hm --agent devops plan add Views",
            "hm --agent devops phase add Pages",
            "hm --agent devops phase add Pages --plan P3",
            "hm --agent devops task add \"draw the menu\"",
        ],
        expect![[r#"
            $ hm --agent devops phase add Schema
            hm: there is no open plan to add a phase to; `hm plan add TITLE`
            [exit 1]
            $ hm --agent devops plan add Storage
            plan added P1: committed at seq 1
            next: `hm phase add TITLE --plan P1`, or look at it: `hm intent INTENT --plan P1`
            $ hm --agent devops phase add Schema
            phase added P2: committed at seq 2
            next: `hm task add TITLE --phase P2`
            $ hm --agent devops task add "Implement the limiter in limit.py"
            task added T1: committed at seq 3
            next: before working on it: `hm task claim T1`
            $ hm --agent devops task claim T1
            task claimed T1: committed at seq 4
            next: it is yours while you write something every 15 min; at its end:
                `hm task update T1 done --token 1`
            $ hm --agent analyst task add "implement the limiter in limit.py"
            task added T2: committed at seq 5
            note: T1 ("Implement the limiter in limit.py") says the same; devops holds it
            next: before working on it: `hm task claim T2`
            $ hm --agent analyst task add "Implement the limiter of limit.py now"
            task added T3: committed at seq 6
            note: T1 ("Implement the limiter in limit.py") says nearly the same; devops holds it
            note: T2 ("implement the limiter in limit.py") says nearly the same; no session holds it:
                `hm task claim T2`
            next: before working on it: `hm task claim T3`
            $ hm --agent analyst task add "write the manual"
            task added T4: committed at seq 7
            next: before working on it: `hm task claim T4`
            $ hm --agent devops plan add Views
            plan added P3: committed at seq 8
            next: `hm phase add TITLE --plan P3`, or look at it: `hm intent INTENT --plan P3`
            $ hm --agent devops phase add Pages
            hm: 2 plans are open (P1, P3): say which one; correct `plan_id` and run it again
            [exit 2]
            $ hm --agent devops phase add Pages --plan P3
            phase added P4: committed at seq 9
            next: `hm task add TITLE --phase P4`
            $ hm --agent devops task add "draw the menu"
            task added T5: committed at seq 10
            next: it is in the inbox, as 2 phases are open (P2, P4) and none was named; before working on it:
                `hm task claim T5`
        "#]],
    );
}
