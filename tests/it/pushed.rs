//! What is pushed to an agent says what it needs: whole questions, reasons, merges in one line, and what a decision names.

use serde_json::json;

use crate::hook::{Session, claude, spool_is_empty, within};
use crate::shell::Shell;

fn printed(shell: &Shell, session: &str, line: &str) -> String {
    let output = shell.command(line).env("HM_SESSION", session).output().expect("hm runs");
    String::from_utf8(output.stdout).expect("UTF-8") + &String::from_utf8_lossy(&output.stderr)
}

/// What a session is told after a command, without the breaks of long lines.
fn after(session: &Session<'_>, command: &str) -> String {
    let told = session.told(
        "PostToolUse",
        json!({ "tool_name": "Bash", "tool_input": { "command": command }, "tool_response": { "stdout": "" } }),
    );
    told.replace("\n    ", " ")
}

fn two(shell: &Shell) -> (Session<'_>, Session<'_>) {
    let (devops, analyst) = (claude(shell, "s-1", "devops"), claude(shell, "s-2", "analyst"));
    devops.start();
    analyst.start();
    spool_is_empty(shell);
    devops.prompt("build the pool");
    analyst.prompt("write the docs of src/pool.rs");
    spool_is_empty(shell);
    (devops, analyst)
}

/// Red before: a receipt that named the first words of a question made all later news of it stop after 60 characters.
#[test]
fn a_question_of_which_only_the_beginning_was_shown_is_told_whole() {
    let shell = Shell::new();
    let (_, analyst) = two(&shell);
    let asked = "which of the two formats do you read, the one with a length before each record or the one with a mark \
                 after it, and how do you find the next record behind a damaged one when the length itself is damaged?";
    within(
        &shell,
        "s-1",
        &format!("hm --json --agent devops claim create \"{asked}\" --scope src/format.rs --ask analyst"),
    );
    let line = "hm --agent analyst claim create \"the format has 24 bytes before each record\" --scope src/format.rs";
    let receipt = printed(&shell, "s-2", line);
    assert!(receipt.contains("which of the two formats"), "the receipt names it: {receipt}");
    spool_is_empty(&shell);
    let told = after(&analyst, "ls");
    assert!(told.contains(asked), "{told}");
}

/// Red before: the text ended within a word, and nothing led to the rest.
#[test]
fn a_long_decision_is_cut_after_a_sentence_and_its_command_shows_the_rest() {
    let shell = Shell::new();
    let (_, analyst) = two(&shell);
    let sentence = |at: usize| {
        format!("rule number {at} says that each slot is given back before the next one is taken.")
    };
    let text = (1..=9).map(sentence).collect::<Vec<_>>().join(" ");
    let line = format!(
        "hm --json --agent devops decision record \"{text}\" --rationale \"it is simple enough\" --scope src/pool.rs"
    );
    assert_eq!(within(&shell, "s-1", &line)["state"], "committed");
    spool_is_empty(&shell);
    let told = after(&analyst, "ls");
    assert!(told.contains("is taken. … (`hm claim show C1` shows the rest)"), "{told}");
    assert!(told.contains(&sentence(7)) && !told.contains("rule number 9"), "{told}");
}

/// Red before: a supporter heard with the next prompt only that the claim was deprecated.
#[test]
fn a_supporter_is_told_after_its_next_command_why_a_claim_ended() {
    let shell = Shell::new();
    let (_, analyst) = two(&shell);
    within(&shell, "s-1", "hm --json --agent devops claim create \"the pool is a heap\" --scope src/heap.rs");
    within(&shell, "s-2", "hm --json --agent analyst claim support C1 --reason \"seen\"");
    spool_is_empty(&shell);
    after(&analyst, "ls");
    within(
        &shell,
        "s-1",
        "hm --json --agent devops claim deprecate C1 --reason \"the architect chose a list\"",
    );
    spool_is_empty(&shell);
    let told = after(&analyst, "ls");
    assert!(
        told.contains("<touches_your_work") && told.contains("; why: the architect chose a list"),
        "{told}"
    );
}

/// Red before: open tasks stood only in the context of a session with a subject.
#[test]
fn a_new_session_without_a_subject_is_told_of_open_tasks_and_their_holders() {
    let shell = Shell::new();
    let (devops, _) = two(&shell);
    within(&shell, "s-1", "hm --json --agent devops task add \"measure the append\"");
    within(&shell, "s-1", "hm --json --agent devops task add \"write the index\"");
    within(&shell, "s-1", "hm --json --agent devops task claim T2");
    spool_is_empty(&shell);
    let _ = devops;
    let told = claude(&shell, "s-3", "reviewer").start();
    assert!(told.contains("status=\"open\">measure the append</task>"), "{told}");
    assert!(told.contains("by=\"devops\">write the index</task>"), "{told}");
}

/// Red before: a decision in force named them, and their texts were nowhere in the context.
#[test]
fn a_decision_in_force_is_told_with_the_decisions_that_it_names_and_a_withdrawal_with_its_word() {
    let shell = Shell::new();
    two(&shell);
    let decide = |text: &str, more: &str| {
        let line = format!(
            "hm --json --agent devops decision record \"{text}\" --rationale \"measured under load\" \
             --scope src/pool.rs {more}"
        );
        assert_eq!(within(&shell, "s-1", &line)["state"], "committed", "{line}");
    };
    decide("a slot is given back before the next one is taken", "");
    decide("slots are given back at the end", "--supersedes C1");
    decide("design C1 as implemented, the end is too late", "--supersedes C2");
    within(
        &shell,
        "s-1",
        "hm --json --agent devops claim create \"I rename the API now\" --scope src/pool.rs",
    );
    within(&shell, "s-2", "hm --json --agent analyst claim challenge C4 --reason \"too late for the docs\"");
    within(
        &shell,
        "s-1",
        "hm --json --agent devops claim create \"C3 obeyed (C4 withdrawn: no rename)\" --scope src/b.rs",
    );
    spool_is_empty(&shell);
    let told =
        printed(&shell, "s-9", "hm --agent reviewer context --intent \"how the pool in src/pool.rs works\"");
    let line = told.lines().find(|line| line.contains("id=\"C1\"")).unwrap_or_default();
    assert!(line.contains("status=\"deprecated\"") && line.contains("named_by=\"C3\""), "{told}");
    assert!(told.contains("a slot is given back before the next one is taken"), "{told}");
    assert_eq!(told.matches("<claim id=\"C2\"").count(), 0, "its successor tells it: {told}");
    assert!(told.contains("withdrawn in C5"), "{told}");
}

/// Red before: no page said which agents were shown a decision.
#[test]
fn a_decision_says_which_peers_were_shown_it() {
    let shell = Shell::new();
    let (_, analyst) = two(&shell);
    claude(&shell, "s-3", "reviewer").start();
    spool_is_empty(&shell);
    let line = "hm --json --agent devops decision record \"slots are given back\" --rationale \"measured under load\" \
                --scope src/pool.rs";
    within(&shell, "s-1", line);
    spool_is_empty(&shell);
    let page = || printed(&shell, "s-1", "hm --agent devops claim show C1");
    assert!(page().contains("- told: analyst not yet (last seen "), "{}", page());
    assert!(after(&analyst, "ls").contains("slots are given back"));
    let page = page();
    assert!(
        page.contains("- told: analyst ") && page.contains(" ago, reviewer not yet (last seen "),
        "{page}"
    );
    assert!(!page.contains("analyst not yet"), "{page}");
}

/// Red before: each file of a merge was told as an edit, and the files became the work of the agent that merged.
#[test]
fn a_merge_is_told_in_one_line_and_an_edit_beside_it_as_an_edit() {
    let shell = Shell::new();
    let (devops, _) = two(&shell);
    let root = devops.cwd();
    let git = |arguments: &[&str]| {
        let done = std::process::Command::new("git")
            .current_dir(&root)
            .args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "core.hooksPath="])
            .args(arguments)
            .output()
            .expect("git runs");
        assert!(done.status.success(), "{arguments:?}: {done:?}");
    };
    let write = |name: &str, text: &str, second: u64| {
        let file = format!("{root}/{name}");
        std::fs::write(&file, text).expect("a file");
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(2_000_000_000 + second);
        std::fs::File::options().append(true).open(&file).expect("a file").set_modified(at).expect("a time");
    };
    git(&["init", "-q", "-b", "main"]);
    for name in ["one.py", "two.py", "own.py"] {
        write(name, "a", 0);
    }
    git(&["add", "one.py", "two.py", "own.py"]);
    git(&["commit", "-qm", "first"]);
    git(&["switch", "-qc", "other"]);
    write("one.py", "b", 1);
    write("two.py", "b", 2);
    git(&["commit", "-qam", "second"]);
    git(&["switch", "-q", "main"]);
    within(&shell, "s-2", "hm --json --agent analyst task add \"read it\"");
    within(
        &shell,
        "s-2",
        "hm --json --agent analyst task claim T1 --lock one.py --lock two.py --lock own.py",
    );
    spool_is_empty(&shell);

    let line = "git merge -q other && cat one.py two.py && python3 edit.py own.py";
    devops.about_to_run(line);
    git(&["merge", "-q", "other"]);
    write("one.py", "b", 11);
    write("two.py", "b", 12);
    write("own.py", "c", 13);
    after(&devops, line);
    spool_is_empty(&shell);
    let told = printed(&shell, "s-2", "hm --agent analyst news").replace("\n    ", " ");
    assert!(told.contains("<merged by=\"devops\">merged other (2 files)</merged>"), "{told}");
    assert!(told.contains("<edited by=\"devops\"") && told.contains(">own.py</edited>"), "{told}");
    assert!(!told.contains("one.py two.py"), "{told}");
}

/// Red without the list of commands that only read: the reader was named as the editor.
#[test]
fn a_command_that_only_reads_a_file_that_another_pane_edits_is_no_edit() {
    let shell = Shell::new();
    let (devops, _) = two(&shell);
    let file = format!("{}/pool.py", devops.cwd());
    let write = |text: &str, second: u64| {
        std::fs::write(&file, text).expect("a file");
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(2_000_000_000 + second);
        std::fs::File::options().append(true).open(&file).expect("a file").set_modified(at).expect("a time");
    };
    write("a", 0);
    within(&shell, "s-2", "hm --json --agent analyst task add \"read it\"");
    within(&shell, "s-2", "hm --json --agent analyst task claim T1 --lock pool.py");
    spool_is_empty(&shell);
    let told_after = |line: &str, second: u64| {
        devops.about_to_run(line);
        // It changes while the command runs.
        write(&format!("text {second}"), second);
        after(&devops, line);
        spool_is_empty(&shell);
        printed(&shell, "s-2", "hm --agent analyst news").replace("\n    ", " ")
    };
    let told = told_after("sha1sum pool.py", 11);
    assert!(!told.contains("<edited by=\"devops\""), "{told}");
    let told = told_after("sed -i s/a/b/ pool.py", 12);
    assert!(told.contains("<edited by=\"devops\"") && told.contains(">pool.py</edited>"), "{told}");
}

#[test]
fn several_bugs_are_said_to_be_mended_in_one_line() {
    let shell = Shell::new();
    for number in 1..=2 {
        let line = format!(
            "hm --json --agent analyst claim create \"bug {number} of the pool\" --type negative --scope pool{number}.py"
        );
        within(&shell, "s-2", &line);
    }
    let supported = printed(&shell, "s-1", "hm --agent devops claim support C1");
    assert!(supported.contains("if it is mended now, say so:"), "{supported}");
    assert!(
        supported.replace("\n    ", " ").contains("claim create STATEMENT --supersedes C1 --mends"),
        "{supported}"
    );
    let told = printed(&shell, "s-1", "hm --agent devops claim mended C1 C2 \"in commit 8af13c2\"");
    assert!(told.contains("claim created C3") && told.contains("claim created C4"), "{told}");
    let shown = printed(&shell, "s-1", "hm --agent devops claim show C4");
    assert!(shown.contains("C2 is mended: in commit 8af13c2") && shown.contains("pool2.py"), "{shown}");
    // The owner agrees.
    let agreed = printed(&shell, "s-2", "hm --agent analyst claim support C3 C4");
    assert!(agreed.contains("confirmed"), "{agreed}");
    let shown = printed(&shell, "s-1", "hm --agent devops claim show C1");
    assert!(shown.contains("mended"), "{shown}");
}

#[test]
fn a_support_of_several_claims_tells_of_changed_files_once() {
    let shell = Shell::new();
    let analyst = claude(&shell, "s-2", "analyst");
    analyst.start();
    spool_is_empty(&shell);
    for number in 1..=3 {
        let path = format!("{}/pool{number}.py", analyst.cwd());
        std::fs::write(&path, "x").expect("a file");
        let line =
            format!("hm --json --agent analyst claim create \"pool {number} holds\" --scope pool{number}.py");
        within(&shell, "s-2", &line);
        std::fs::write(&path, format!("other {number}")).expect("a file");
    }
    let told = printed(&shell, "s-1", "hm --agent devops claim support C1 C2 C3");
    assert_eq!(told.matches("your support is about").count(), 1, "{told}");
    assert!(told.contains("files changed since C1, C2, C3:"), "{told}");
}

/// Red before: the supporter of a bug that it had mended read that its support was about the mended file.
#[test]
fn a_support_of_bugs_whose_files_changed_names_the_way_of_who_mended_them() {
    let shell = Shell::new();
    let analyst = claude(&shell, "s-2", "analyst");
    analyst.start();
    spool_is_empty(&shell);
    for number in 1..=2 {
        let path = format!("{}/pool{number}.py", analyst.cwd());
        std::fs::write(&path, "x").expect("a file");
        let line = format!(
            "hm --json --agent analyst claim create \"pool {number} leaks\" --type negative --scope pool{number}.py"
        );
        within(&shell, "s-2", &line);
        std::fs::write(&path, format!("other {number}")).expect("a file");
    }
    let flat = |told: String| told.replace("\n    ", " ");
    let told = flat(printed(&shell, "s-1", "hm --agent devops claim support C1 C2"));
    let said = "files changed since C1, C2: your support says that they still hold; if a change mended one, say so: \
                `hm claim mended C1 C2`";
    assert!(told.contains(said), "{told}");
    assert_eq!(told.matches("mended one").count() + told.matches("is mended now").count(), 1, "{told}");
    let told = flat(printed(&shell, "s-3", "hm --agent reviewer claim support C1"));
    assert!(told.contains("your support says that the claim still holds"), "{told}");
    assert!(
        told.contains("if it is mended now, say so: `hm claim create STATEMENT --supersedes C1"),
        "{told}"
    );
}

/// Red before: `--supersedes` was refused the second time.
#[test]
fn one_claim_mends_several_bugs() {
    let shell = Shell::new();
    for number in 1..=2 {
        let line = format!(
            "hm --json --agent devops claim create \"bug {number} of the pool\" --type negative --scope pool{number}.py"
        );
        within(&shell, "s-1", &line);
    }
    let create = "hm --agent devops claim create \"a lock is held now\" --scope pool1.py --supersedes C1 --supersedes C2";
    let refused = shell.command(create).env("HM_SESSION", "s-1").output().expect("hm runs");
    let text = String::from_utf8_lossy(&refused.stderr).replace("\n    ", " ");
    assert!(!refused.status.success() && text.contains("say --mends if all of these are mended"), "{text}");
    let told = printed(&shell, "s-1", &format!("{create} --mends"));
    assert!(told.contains("claim created C3") && told.contains("claim created C4"), "{told}");
    let shown = printed(&shell, "s-1", "hm --agent devops claim show C4");
    assert!(shown.contains("C2 is mended: a lock is held now") && shown.contains("pool2.py"), "{shown}");
    for claim in ["C1", "C2"] {
        let shown = within(&shell, "s-1", &format!("hm --json --agent devops claim show {claim}"));
        assert_eq!((&shown["status"], &shown["mended"]), (&json!("deprecated"), &json!(true)), "{shown}");
    }
}

/// Red before: the tasks after the first one were refused.
#[test]
fn one_line_takes_and_ends_several_tasks() {
    let shell = Shell::new();
    for number in 1..=2 {
        within(&shell, "s-1", &format!("hm --json --agent devops task add \"mend part {number}\""));
    }
    let told = printed(&shell, "s-1", "hm --agent devops task claim T1 T2");
    assert!(told.contains("task claimed T1") && told.contains("task claimed T2"), "{told}");
    let told = printed(&shell, "s-1", "hm --agent devops task done T1 T2 \"42 tests\"");
    assert!(told.contains("task updated T1") && told.contains("task updated T2"), "{told}");
    let told = printed(&shell, "s-1", "hm --agent devops task show T1 T2");
    assert_eq!(told.matches("42 tests").count(), 2, "{told}");
    let line = "hm --agent devops task done T1 all 42 --note x";
    let refused = shell.command(line).env("HM_SESSION", "s-1").output().expect("hm runs");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("two notes"), "{refused:?}");
}

/// Red before: the way was cut, and so stayed the call of a tool.
#[test]
fn the_way_from_asserted_evidence_is_a_whole_line_of_the_shell() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    let line = format!("python bench.py {}", "--rounds 20 --threads 8 ".repeat(12));
    after(&devops, &line);
    spool_is_empty(&shell);
    let scope = format!("src/{}/pool.py", "deep/".repeat(40));
    let create = format!(
        "hm --agent devops claim create \"the pool holds 20\" --scope {scope} --evidence last:bench.py"
    );
    let told = printed(&shell, "s-1", &create).replace("\n    ", " ");
    assert!(told.contains("the run of a profile proves: `hm experiment run PROFILE --claim C1`"), "{told}");
}

/// Red before: who had cited its run was told to cite what it saw.
#[test]
fn a_challenge_with_evidence_is_not_told_to_cite_any() {
    let shell = Shell::new();
    for text in ["the pool holds 20", "the pool is gone"] {
        within(&shell, "s-1", &format!("hm --json --agent devops claim create \"{text}\" --scope src"));
    }
    let flat = |told: String| told.replace("\n    ", " ");
    let told =
        flat(printed(&shell, "s-2", "hm --agent analyst claim challenge C1 \"it is gone\" --evidence C2"));
    assert!(told.contains("settled when") && !told.contains("cite what you saw"), "{told}");
    let told = flat(printed(&shell, "s-3", "hm --agent reviewer claim challenge C1 \"it holds 30\""));
    assert!(told.contains("cite what you saw"), "{told}");
}
