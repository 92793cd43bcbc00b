//! Verbs by the words of their siblings, and what is taken for what is left out.

use expect_test::expect;
use serde_json::Value;

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
        "hm --agent devops claim new \"the pool is new\" --scope src/db",
        "hm --agent devops decision new \"we keep one pool\" --rationale \"one place to look\" --target pool",
        "hm --agent devops decision propose \"we keep one ring\" --why \"one place to look\" --target ring",
        "hm --agent devops plan new Views",
        "hm --agent devops phase new Pages --plan P3",
        "hm --agent devops task new menu",
        "hm --agent devops task take T2",
        "hm --agent devops task done T2 \"42 tests\"",
        "hm --agent devops decision ls",
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
            next: it is yours while you write something every 15 min; at its end: `hm task done T1`
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

/// Red before: clap refused the second claim, and a reason by its place.
#[test]
fn several_claims_get_a_position_each_and_a_refusal_names_its_claim() {
    let mut shell = Shell::new();
    shell.check(
        &[
            "hm --agent devops claim create \"the pool holds 20\" --scope src/a",
            "hm --agent devops claim create \"a slot leaks\" --scope src/b",
            "hm --agent devops claim create \"the ring is one file\" --scope src/c",
            "hm --agent devops claim withdraw C2 \"it was the test\"",
            "hm --agent analyst claim support C1 C2 C3 \"I counted\"",
            "hm --agent analyst claim still C1 C9",
            "hm --agent devops claim still C1 C3",
            "hm --agent reviewer claim challenge C1 \"it holds 10\"",
            "hm --agent reviewer claim withdraw C1 \"I misread\"",
            "hm --agent analyst claim abstain C1 C3",
        ],
        expect![[r#"
            $ hm --agent devops claim create "the pool holds 20" --scope src/a
            claim created C1: committed at seq 1
            next: confirmed once another agent supports it
            $ hm --agent devops claim create "a slot leaks" --scope src/b
            claim created C2: committed at seq 2
            $ hm --agent devops claim create "the ring is one file" --scope src/c
            claim created C3: committed at seq 3
            $ hm --agent devops claim withdraw C2 "it was the test"
            withdrawn C2: committed at seq 4
            $ hm --agent analyst claim support C1 C2 C3 "I counted"
            supported C1: committed at seq 6
            next: confirmed: agreed by analyst
            supported C3: committed at seq 8
            next: confirmed: agreed by analyst
            hm: claim C2 is deprecated and takes no more positions; make a new claim: `hm claim create STATEMENT --type fact --scope src/b --supersedes C2`
            [exit 1]
            $ hm --agent analyst claim still C1 C9
            hm: claim C1 is neither owned nor challenged by analyst; ask devops or a challenger; or say what you hold of its files as they are now: `hm claim support C1`, or `hm claim challenge C1 --reason 'WHY, IN A SENTENCE'`
            hm: no claim is called `C9`; `hm claim list` shows all
            [exit 1]
            $ hm --agent devops claim still C1 C3
            still meant: C1: committed at seq 9
            still meant: C3: committed at seq 10
            $ hm --agent reviewer claim challenge C1 "it holds 10"
            challenged C1: committed at seq 13
            next: settled when devops deprecates it, or every challenger supports or abstains; cite what you
                saw: `hm claim evidence C1 --ref EVENT --relation contradicts`
            $ hm --agent reviewer claim withdraw C1 "I misread"
            withdrawn from C1: committed at seq 16
            next: the challenge by reviewer is over; the claim is confirmed
            $ hm --agent analyst claim abstain C1 C3
            abstained C1: committed at seq 18
            next: the claim was agreed and is proposed now; it waits for 1 more support
            abstained C3: committed at seq 20
            next: the claim was agreed and is proposed now; it waits for 1 more support
        "#]],
    );
    let shown = String::from_utf8(shell.run("hm claim show C1").stdout).expect("UTF-8");
    for reason in ["I counted", "it holds 10", "I misread"] {
        assert!(shown.contains(reason), "{shown}");
    }
    let both = shell.json("hm --json --agent qa claim support C1 C2");
    let codes = &both["receipts"];
    assert!(codes[0]["state"] == "committed" && codes[1]["code"] == "claim_deprecated", "{both}");
}

/// Red before: of several claims the second one was taken for the reason, and a third was refused.
#[test]
fn several_claims_are_taken_back_or_ended_with_one_reason() {
    let mut shell = Shell::new();
    for (number, name) in ["one", "two", "three", "four", "five"].into_iter().enumerate() {
        let line = format!("hm --agent devops claim create \"{name} is a word\" --scope src/{number}");
        assert!(shell.run(&line).status.success());
    }
    shell.check(
        &[
            "hm --agent devops claim withdraw C1 C3",
            "hm --agent devops claim withdraw C1 C3 \"I misread\"",
            "hm --agent architect claim deprecate C2 C4 --reason \"it is gone\"",
            "hm --agent devops claim deprecate C5 obsolete",
        ],
        expect![[r#"
            $ hm --agent devops claim withdraw C1 C3
            hm: reason is missing; fill in the word in capitals: hm claim withdraw C1 C3 --reason WHY
            [exit 2]
            $ hm --agent devops claim withdraw C1 C3 "I misread"
            withdrawn C1: committed at seq 6
            withdrawn C3: committed at seq 7
            $ hm --agent architect claim deprecate C2 C4 --reason "it is gone"
            deprecated C2: committed at seq 8
            deprecated C4: committed at seq 9
            $ hm --agent devops claim deprecate C5 obsolete
            deprecated C5: committed at seq 10
        "#]],
    );
}

/// Red before: the error quoted the surplus word, and named no line that works.
#[test]
fn an_error_of_usage_names_a_line_that_works() {
    let mut shell = Shell::without_writer();
    shell.check(
        &[
            "hm claim deprecate C11",
            "hm claim create the pool holds 20 --scope src",
            "hm decision record \"one file\" \"no server to run\"",
            "hm say \"hello you\" --ask devops",
            "hm done T7",
            "hm task clame T7",
            "hm claim support C1 --resaon right",
            "hm claim evidence C1 last",
            "hm claim challenge C1 wrong --reason wrong",
            "hm task done T3 \"42 tests\" --evidence last:pytest",
            "hm task frob -x",
            "hm plan show P1 P2",
            "hm export --to ../AGENTS.md",
            "hm belief show devops",
        ],
        expect![[r#"
            $ hm claim deprecate C11
            hm: reason is missing; fill in the word in capitals: hm claim deprecate C11 --reason WHY
            [exit 2]
            $ hm claim create the pool holds 20 --scope src
            error: unexpected argument 'pool' found

              tip: this works: hm claim create 'the pool holds 20' --scope src

            Usage: hm claim create [OPTIONS] <STATEMENT>

            For more information, try '--help'.
            [exit 2]
            $ hm decision record "one file" "no server to run"
            error: unexpected argument 'no server to run' found

              tip: fill in the words in capitals: hm decision record 'one file' --reason 'no server to run' --target TARGET

            Usage: hm decision record [OPTIONS] --rationale <TEXT> [STATEMENT]

            For more information, try '--help'.
            [exit 2]
            $ hm say "hello you" --ask devops
            error: unrecognized subcommand 'say'

              tip: this works: hm claim create 'hello you' --ask devops

            Usage: hm <COMMAND>

            For more information, try '--help'.
            [exit 2]
            $ hm done T7
            error: unrecognized subcommand 'done'

              tip: this works: hm task done T7

            Usage: hm <COMMAND>

            For more information, try '--help'.
            [exit 2]
            $ hm task clame T7
            error: unrecognized subcommand 'clame'

              tip: this works: hm task claim T7

            Usage: hm task <COMMAND>

            For more information, try '--help'.
            [exit 2]
            $ hm claim support C1 --resaon right
            error: unexpected argument '--resaon' found

              tip: a similar argument exists: '--reason'
              tip: this works: hm claim support C1 --reason right

            Usage: hm claim support <CLAIM>...

            For more information, try '--help'.
            [exit 2]
            $ hm claim evidence C1 last
            error: unexpected argument 'last' found

              tip: this works: hm claim evidence C1 --ref last

            Usage: hm claim evidence [OPTIONS] --ref <EVENT> <ID>

            For more information, try '--help'.
            [exit 2]
            $ hm claim challenge C1 wrong --reason wrong
            error: the argument '[REASON]' cannot be used with '--reason <TEXT>'

            Usage: hm claim challenge <ID> <REASON>

            For more information, try '--help'.
            [exit 2]
            $ hm task done T3 "42 tests" --evidence last:pytest
            error: unexpected argument '--evidence' found

              tip: hm task done takes: TASK, --note TEXT, --token N

            Usage: hm task done <TASK>...

            For more information, try '--help'.
            [exit 2]
            $ hm task frob -x
            error: unrecognized subcommand 'frob'

            Usage: hm task <COMMAND>

            For more information, try '--help'.
            [exit 2]
            $ hm plan show P1 P2
            error: unexpected argument 'P2' found

              tip: hm plan show takes: PLAN

            Usage: hm plan show [PLAN]

            For more information, try '--help'.
            [exit 2]
            $ hm export --to ../AGENTS.md
            hm: ../AGENTS.md lies outside of the workspace: nothing was written; name a file of this project, which no link leads out of
            [exit 1]
            $ hm belief show devops
            hm: no beliefs of devops are written down; the end of a session writes them down, and so does `hm belief snapshot`
            [exit 1]
        "#]],
    );
}

/// Red before: several answers were several documents, help was no JSON, and a line that does not parse was text.
#[test]
fn an_answer_for_programs_is_one_document() {
    let shell = Shell::new();
    for line in [
        "hm --agent devops claim create \"the pool holds 20\" --scope src/db",
        "hm --agent devops claim create \"the ring holds 40\" --scope src/ui",
        "hm --agent devops decision record \"we keep SQLite\" --target db --rationale \"one file, no server\"",
        "hm --agent devops task add tables",
    ] {
        assert!(shell.run(line).status.success(), "{line}");
    }
    let both = shell.json("hm claim show C1 C2 --json");
    let names: Vec<_> =
        both["claims"].as_array().expect("claims").iter().map(|claim| &claim["name"]).collect();
    assert_eq!(names, ["C1", "C2"], "{both}");
    let output = shell.run("hm claim show C1 C99 C2 --json");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let mixed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(mixed["claims"][1]["code"], "unknown_claim", "{mixed}");
    assert_eq!(mixed["claims"][2]["name"], "C2", "{mixed}");
    // One claim is an object as before.
    assert_eq!(shell.json("hm claim show C1 --json")["name"], "C1");
    let tasks = shell.json("hm task show T1 T9 --json");
    assert_eq!(tasks["tasks"][0]["task"]["name"], "T1", "{tasks}");
    assert_eq!(tasks["tasks"][1]["code"], "unknown_task", "{tasks}");
    let receipts = shell.json("hm --agent qa claim support C1 C2 --json");
    assert_eq!(receipts["receipts"].as_array().map(Vec::len), Some(2), "{receipts}");
    assert_eq!(shell.json("hm decision list --json")["decisions"][0]["name"], "C3");
    for line in [
        "hm help agent --json",
        "hm --json help roles",
        "hm help claim --json",
        "hm help --json",
        "hm claim -h --json",
    ] {
        let output = shell.run(line);
        assert!(output.status.success(), "{line}: {output:?}");
        assert!(!shell.json(line).is_null(), "{line}");
    }
    for (line, says) in [
        ("hm claim create --json", "the following required arguments were not provided: <STATEMENT>"),
        ("hm claim frob --json", "unrecognized subcommand 'frob'"),
        ("hm --json task done T1 --evidence last", "unexpected argument '--evidence' found"),
        (
            "hm claim list --limit many --json",
            "invalid value 'many' for '--limit <N>': invalid digit found in string",
        ),
    ] {
        let output = shell.run(line);
        assert_eq!(output.status.code(), Some(2), "{line}: {output:?}");
        let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!((&answer["code"], &answer["message"]), (&"usage".into(), &says.into()), "{answer}");
    }
    let lacking = shell.json("hm claim --json");
    assert_eq!(lacking["message"], "'hm claim' requires a subcommand but one was not provided", "{lacking}");
    let lacking = shell.json("hm --json claim");
    assert!(lacking["help"].as_str().is_some_and(|help| help.contains("create")), "{lacking}");
    let hinted = shell.json("hm task clame T7 --json");
    assert_eq!(hinted["hint"], "this works: hm task claim T7 --json", "{hinted}");
}
