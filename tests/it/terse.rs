//! What an agent is told is short and leads to what holds: changes instead of whole texts, hints once, and the claim
//! that is in force now.

use std::fs;

use hivemind::mcp::Era;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::hook::{Session, claude, spool_is_empty};
use crate::shell::Shell;

fn said(shell: &Shell, line: &str) -> String {
    let output = shell.run(line);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn refused(shell: &Shell, session: &Session<'_>, line: &str) -> String {
    let line = line.replacen("hm ", &format!("hm --agent {} ", session.agent), 1);
    let output = shell.command(&line).env("HM_SESSION", session.id).output().expect("hm runs");
    assert!(!output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stdout));
    flat(&String::from_utf8_lossy(&output.stderr))
}

/// As an agent in the session of its client.
fn within(shell: &Shell, session: &Session<'_>, line: &str) -> String {
    let line = line.replacen("hm ", &format!("hm --agent {} ", session.agent), 1);
    let output = shell.command(&line).env("HM_SESSION", session.id).output().expect("hm runs");
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// A text on one line.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A command of a client, as its hook reports it.
fn ran(shell: &Shell, session: &Session<'_>, line: &str) {
    let response = json!({ "stdout": "294 passed", "stderr": "", "interrupted": false });
    let call = json!({ "tool_name": "Bash", "tool_input": { "command": line }, "tool_response": response });
    session.told("PostToolUse", call);
    spool_is_empty(shell);
}

const DESIGN: &str =
    "The pool holds 20 connections. A caller waits 5 s and then gets an error. The pool makes no retry.";

fn decide(shell: &Shell) {
    said(
        shell,
        &format!(
            "hm --agent devops decision record \"{DESIGN}\" --target pool --scope src/pool.rs \
             --rationale \"one place to look\" --ask analyst"
        ),
    );
}

fn amend(shell: &Shell, id: &str, old: &str, new: &str) {
    said(
        shell,
        &format!(
            "hm --agent devops decision amend {id} --replace \"{old}\" --with \"{new}\" \
             --rationale \"measured under load\" --ask analyst"
        ),
    );
}

/// Red before: who had read the decision and did not support it was told the whole text again, with each amendment.
#[test]
fn a_question_about_an_amended_decision_is_the_change_for_who_read_it() {
    let shell = Shell::new();
    let analyst = claude(&shell, "s-1", "analyst");
    analyst.start();
    decide(&shell);
    assert!(analyst.prompt("go on").contains("The pool holds 20"));
    within(&shell, &analyst, "hm claim challenge C1 \"5 s is too long for a page\"");
    amend(&shell, "C1", "5 s", "2 s");
    let told = flat(&analyst.prompt("go on"));
    assert!(
        told.contains("C1 amended: 'A caller waits 5 s and then gets an error.' -> 'A caller waits 2 s"),
        "{told}"
    );
    assert!(!told.contains("The pool holds 20"), "{told}");
    // The next one is the change to what was told last, also where that was a change.
    amend(&shell, "C2", "2 s", "5 s");
    let told = flat(&analyst.prompt("go on"));
    assert!(told.contains("C2 amended: 'A caller waits 2 s"), "{told}");
    assert!(!told.contains("The pool holds 20"), "{told}");
}

/// Red before: each receipt of a task had the same next step.
#[test]
fn the_next_step_of_a_task_is_told_once_a_session() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    assert!(within(&shell, &devops, "hm task add \"mend the pool\"").contains("next: before working on it"));
    let again = within(&shell, &devops, "hm task add \"write the manual\"");
    assert!(again.contains("task added T2") && !again.contains("next:"), "{again}");
    assert!(
        within(&shell, &devops, "hm task claim T1").contains("next: it is yours"),
        "another step is news"
    );
    assert!(!within(&shell, &devops, "hm task claim T2").contains("next:"));
    assert!(said(&shell, "hm --agent analyst task add \"measure it\"").contains("next: before working"));
}

/// Red before: a claim's page said the challenge and the support twice, in its history and its contradictions.
#[test]
fn the_page_of_a_claim_says_a_position_once() {
    let shell = Shell::new();
    said(
        &shell,
        "hm --agent devops claim create \"the pool holds 20\" --type hypothesis --scope src/pool.rs",
    );
    said(&shell, "hm --agent analyst claim support C1 \"counted\"");
    said(&shell, "hm --agent reviewer claim challenge C1 \"it holds 30\"");
    let page = said(&shell, "hm claim show C1");
    assert_eq!(page.matches("reviewer").count(), 1, "{page}");
    assert_eq!(page.matches("analyst").count(), 1, "{page}");
    assert!(!page.contains("expires"), "a term of a week is no news: {page}");
    let soon = "hm --agent devops claim create \"the pool is warm\" --type hypothesis --ttl-hours 5";
    said(&shell, soon);
    assert!(
        said(&shell, "hm claim show C2").contains("- expires: in 4h"),
        "{}",
        said(&shell, "hm claim show C2")
    );
}

/// Red before: the owner's list named its question as unanswered, though its claim was confirmed.
#[test]
fn a_question_about_a_confirmed_claim_waits_for_nobody() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    within(&shell, &devops, "hm claim create \"the pool holds 20\" --ask analyst --ask reviewer");
    assert!(
        within(&shell, &devops, "hm attention").contains("your question `C1`: reviewer has not answered yet")
    );
    said(&shell, "hm --agent analyst claim support C1");
    assert_eq!(within(&shell, &devops, "hm attention"), "Nothing needs devops now.\n");
}

/// Red before: a confirmed claim against a decision stood in lists and contexts without a word of the decision's end.
#[test]
fn a_claim_that_names_what_ended_says_what_holds_now() {
    let shell = Shell::new();
    decide(&shell);
    said(&shell, "hm --agent analyst claim create \"callers wait 9 s (against C1)\" --scope src/pool.rs");
    said(&shell, "hm --agent reviewer claim support C2");
    assert!(!said(&shell, "hm claim list").contains("names"));
    amend(&shell, "C1", "5 s", "2 s");
    amend(&shell, "C3", "2 s", "9 s");
    said(&shell, "hm --agent analyst claim create \"C1 and C4 agree on retries\" --scope src/pool.rs");
    let list = said(&shell, "hm claim list");
    let rows: Vec<&str> = list.lines().filter(|row| row.contains("names C1, which is C4 now")).collect();
    assert!(rows.len() == 1 && rows[0].starts_with("C2 "), "a later claim knows the end: {list}");
    assert!(said(&shell, "hm claim show C2").contains("- it names: C1, which is C4 now"));
    let context = flat(&said(&shell, "hm --agent frontend context --intent \"how long do callers wait\""));
    assert!(context.contains("names=\"C1, which is C4 now\""), "{context}");
}

/// Red before: a decision that was over led to a successor that was over too, with the beginning that all share.
#[test]
fn what_is_no_longer_true_leads_to_the_claim_in_force_and_says_what_differs() {
    let shell = Shell::new();
    decide(&shell);
    amend(&shell, "C1", "5 s", "2 s");
    amend(&shell, "C2", "2 s", "9 s");
    let newcomer = claude(&shell, "s-1", "frontend");
    let told = flat(&newcomer.start());
    assert!(
        told.contains("<over id=\"C1\" by=\"devops\" now=\"C3\">was: \"A caller waits 5 s and then gets an error.\"</over>"),
        "{told}"
    );
    // Of a decision whose words hold again nothing is over.
    amend(&shell, "C3", "9 s", "5 s");
    let told = flat(&claude(&shell, "s-2", "reviewer").start());
    assert!(!told.contains("<over id=\"C1\"") && told.contains("<over id=\"C2\""), "{told}");
}

/// Red before: one claim stood there twice, as both sides of its contradiction, and only its end was named.
#[test]
fn a_challenge_is_shown_once_with_both_ways_to_end_it() {
    let shell = Shell::new();
    said(&shell, "hm --agent devops claim create \"the pool holds 20\" --scope src/pool.rs");
    said(&shell, "hm --agent analyst claim challenge C1 \"it holds 30\"");
    let shown = flat(&said(&shell, "hm contradictions show X1"));
    assert_eq!(shown.matches("the pool holds 20").count(), 1, "{shown}");
    assert_eq!(shown.matches("it holds 30").count(), 1, "{shown}");
    assert!(shown.contains("analyst challenges `C1`, found"), "{shown}");
    assert!(shown.contains("devops's move: `hm claim deprecate C1"), "{shown}");
    assert!(shown.contains("analyst ends it by `hm claim support C1` or `hm claim abstain C1`"), "{shown}");
}

/// Red before: only the last command had a word, and another one was found by reading the log for its number.
#[test]
fn a_command_is_cited_by_a_word_of_its_line() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    ran(&shell, &devops, "python -X faulthandler tests/hang.py");
    ran(&shell, &devops, "pytest tests");
    let receipt = within(
        &shell,
        &devops,
        "hm claim create \"the import hangs\" --scope tests/hang.py --evidence last:faulthandler",
    );
    assert!(receipt.contains("`python -X faulthandler tests/hang.py`"), "{receipt}");
    let none = refused(&shell, &devops, "hm claim create \"it is slow\" --evidence last:cargo");
    assert!(
        none.contains("no command of this session that can show something contains `cargo`")
            && none.contains("its last ones: pytest tests, python -X faulthandler tests/hang.py"),
        "{none}"
    );
    // Red before: a program in a here-document behind a command of git was none, and the end of a long line had no words, so
    // that an older command was cited.
    ran(&shell, &devops, "python tests/stress.py");
    let long = "x = 1\n".repeat(400);
    ran(&shell, &devops, &format!("python - <<'E'\n{long}E\npython tests/stress.py --all"));
    ran(&shell, &devops, "git merge -q two && python - <<'E'\nimport sys; print(sys.maxsize)\nE");
    for (word, cited) in [("maxsize", "`git merge -q two && python"), ("stress", "`python - <<'E' x = 1")] {
        let create = format!("hm claim create \"it holds with {word}\" --scope tests --evidence last:{word}");
        let receipt = within(&shell, &devops, &create);
        assert!(flat(&receipt).contains(cited), "{receipt}");
    }
}

/// Red before: two agents added a task about one file, and no receipt said so.
#[test]
fn a_task_about_the_scope_of_another_agents_task_is_noted() {
    let shell = Shell::new();
    said(&shell, "hm --agent devops task add \"README section on the cache\" --scope README.rst");
    let receipt =
        flat(&said(&shell, "hm --agent architect task add \"document the loader\" --scope README.rst"));
    assert!(
        receipt.contains(
            "note: T1 (\"README section on the cache\") is about README.rst too; no session holds it"
        ),
        "{receipt}"
    );
    let own = said(&shell, "hm --agent architect task add \"index the manual\" --scope docs");
    assert!(!own.contains("is about"), "{own}");
    let own = said(&shell, "hm --agent architect task add \"translate all chapters\" --scope docs");
    assert!(!own.contains("is about"), "an agent knows its own tasks: {own}");
}

/// Red before: the word was locked as a path without a word of that.
#[test]
fn a_locked_word_that_is_no_file_is_said_to_be_a_path() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    let locked = flat(&within(&shell, &devops, "hm lock machine --why benchmarks"));
    assert!(
        locked
            .contains("warning: `machine` is locked as a path, and no file or directory here has that name")
            && locked.contains("`tag:machine`"),
        "{locked}"
    );
    fs::create_dir(shell.workspace().root().join("engine")).expect("a directory");
    assert!(
        !within(&shell, &devops, "hm lock engine tag:cpu src/new.rs --why benchmarks").contains("warning")
    );
}

/// Red before: each support of a claim that asked nobody ended a wait, and the next support the next one.
#[test]
fn a_support_without_a_question_ends_no_wait() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    within(&shell, &devops, "hm claim create \"the pool holds 20\" --scope src/pool.rs");
    within(&shell, &devops, "hm claim create \"the queue is bounded\" --scope src/queue.rs --ask analyst");
    within(&shell, &devops, "hm news");
    said(&shell, "hm --agent reviewer claim support C1");
    let told = std::thread::scope(|scope| {
        let waits = scope.spawn(|| within(&shell, &devops, "hm news --wait 5m"));
        std::thread::sleep(std::time::Duration::from_secs(1));
        assert!(!waits.is_finished(), "{}", waits.join().expect("hm ends"));
        said(&shell, "hm --agent analyst claim support C2");
        waits.join().expect("hm ends")
    });
    assert!(told.contains("your C1 is confirmed") && told.contains("your C2 is confirmed"), "{told}");
}

/// Red before: the title of a task that the reader had added itself came back whole with each of its moves.
#[test]
fn news_of_a_known_task_has_the_begin_of_its_title() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    let title = "measure one lock beside four and sixteen shards at one, two, four and eight threads";
    within(&shell, &devops, &format!("hm task add \"{title}\""));
    said(&shell, &format!("hm --agent analyst task add \"{title} again\""));
    let taken = claude(&shell, "s-2", "analyst");
    taken.start();
    within(&shell, &taken, "hm task claim T1");
    let told = within(&shell, &devops, "hm news");
    assert!(
        told.contains("status=\"active\" to=\"analyst\">measure one lock beside four and sixteen"),
        "{told}"
    );
    assert!(!told.contains(&format!("{title}<")) && told.contains(&format!("{title} again<")), "{told}");
}

/// Red before: a commit of another agent to a file that the reader works on was never told.
#[test]
fn a_commit_of_another_agent_to_a_file_at_hand_is_news() {
    // The memory of a repository, whose commits its writer reads.
    let shell = Shell::without_writer();
    let root = shell.workspace().root().to_owned();
    let git = |arguments: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.arg("-C").arg(&root).args(["-c", "user.name=team", "-c", "user.email=team@example.org"]);
        assert!(command.args(arguments).output().expect("git runs").status.success(), "{arguments:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    fs::create_dir_all(root.join("src")).expect("a directory");
    fs::write(root.join("src/pool.rs"), "fn pool() {}\n").expect("a file");
    git(&["add", "src"]);
    git(&["commit", "-qm", "the pool"]);
    assert!(shell.run("hm rebuild").status.success());
    let (devops, analyst) = (claude(&shell, "s-1", "devops"), claude(&shell, "s-2", "analyst"));
    devops.start();
    analyst.start();
    within(&shell, &analyst, "hm task add \"review the pool\" --scope src/pool.rs");
    within(&shell, &analyst, "hm task claim T1");
    within(&shell, &analyst, "hm news");
    fs::write(root.join("src/pool.rs"), "fn pool() { 1 }\n").expect("a file");
    git(&["commit", "-qam", "a pool that counts"]);
    ran(&shell, &devops, "git commit -qam 'a pool that counts'");
    let told = (0..200).find_map(|_| {
        let told = within(&shell, &analyst, "hm news");
        std::thread::sleep(std::time::Duration::from_millis(50));
        told.contains("a pool that counts").then_some(told)
    });
    let told = told.expect("the commit is told");
    assert!(told.contains("by=\"devops\" files=\"src/pool.rs\">a pool that counts</commit>"), "{told}");
    // Its own commit is no news to devops.
    assert!(!within(&shell, &devops, "hm news").contains("a pool that counts"));
}

/// Red before: a list printed 400 characters of a statement that the same session had just been told whole.
#[test]
fn a_list_has_the_begin_of_what_its_session_was_told_whole() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    let long =
        "each slot of the pool is measured under load and takes longer than the one before it, ".repeat(4);
    said(&shell, &format!("hm --agent analyst claim create \"{long}so says the last figure\" --ask devops"));
    assert!(devops.prompt("go on").contains("so says the last figure"));
    let list = within(&shell, &devops, "hm claim list");
    assert!(list.starts_with("C1 each slot of the pool") && !list.contains("so says the last"), "{list}");
    assert!(!list.contains("whole:"), "{list}");
    assert!(within(&shell, &devops, "hm claim search slot").starts_with("C1 each slot"));
    // A reader that was not told it reads all of it.
    assert!(said(&shell, "hm --agent reviewer claim list").contains("so says the last figure"));
    assert!(within(&shell, &devops, "hm claim list --whole").contains("so says the last figure"));
}

/// Red before: an agent that was alone waited for the others, and asked one that had never been there.
#[test]
fn an_agent_that_is_alone_is_told_so() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    let told = devops.start();
    assert!(told.starts_with("hivemind: you are devops · no other agent has been here yet"), "{told}");
    let waited = within(&shell, &devops, "hm news --wait 1s");
    assert!(waited.contains("nothing new in 1s\nno other agent has been here yet\n"), "{waited}");
    let asked = "hm claim create \"the pool holds 20\" --scope src/pool.rs --ask architect";
    let receipt = flat(&within(&shell, &devops, asked));
    assert!(receipt.contains("no session of architect has been here yet"), "{receipt}");

    let analyst = claude(&shell, "s-2", "analyst");
    assert!(analyst.start().contains("you are analyst · 1 peer: devops"));
    let news: Value =
        serde_json::from_str(&within(&shell, &devops, "hm news --wait 1s --json")).expect("JSON");
    assert_eq!(news["alone"], Value::Null, "{news}");
    analyst.told("SessionEnd", json!({ "reason": "exit" }));
    spool_is_empty(&shell);
    let waited = within(&shell, &devops, "hm news --wait 1s");
    assert!(waited.contains("no other agent is here now; analyst was, "), "{waited}");
    let news: Value = serde_json::from_str(&within(&shell, &devops, "hm news --json")).expect("JSON");
    assert!(waited.contains(news["alone"].as_str().expect("a line")), "{news}");
}

/// Red before: the receipt had no age, and a command that a late hook had not told yet was taken for the last one.
#[test]
fn evidence_by_the_word_last_has_its_command_and_its_age() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    ran(&shell, &devops, "pytest tests/test_pool.py");
    let claim = "hm claim create \"the pool is tested\" --scope tests/test_pool.py --evidence last";
    let receipt = within(&shell, &devops, claim);
    let seconds =
        receipt.split("`pytest tests/test_pool.py`, ").nth(1).and_then(|rest| rest.split("s ago").next());
    assert!(seconds.is_some_and(|seconds| seconds.parse::<u32>().is_ok()), "{receipt}");
    ran(&shell, &devops, "pytest tests/test_queue.py");
    let support = "hm --agent analyst claim create \"the queue is tested\" --scope tests/test_queue.py";
    said(&shell, support);
    let receipt = within(&shell, &devops, "hm claim support C2 \"ran it\" --evidence last");
    assert!(receipt.contains("`pytest tests/test_queue.py`, "), "{receipt}");
}

/// Red before: a task was for whom its title named, and nobody was told.
#[test]
fn a_task_for_an_agent_is_news_to_it() {
    let shell = Shell::new();
    let (devops, analyst) = (claude(&shell, "s-1", "devops"), claude(&shell, "s-2", "analyst"));
    devops.start();
    analyst.start();
    within(&shell, &analyst, "hm news");
    let receipt = flat(&within(&shell, &devops, "hm task add \"measure the pool\" --for ana"));
    assert!(receipt.contains("meant for analyst: "), "{receipt}");
    assert!(said(&shell, "hm task list").contains("open, for analyst: measure the pool"));
    let told = analyst.prompt("go on");
    assert!(told.contains("for=\"analyst\">measure the pool"), "{told}");
    let first = told.find("<asks_you").map(|at| &told[at..]);
    assert!(first.is_some_and(|asks| asks.contains("measure the pool")), "{told}");
    // Red before: it was in the news, and not in the attention.
    let attention = || said(&shell, "hm --agent analyst attention");
    assert!(
        attention().contains("task, analyst's move") && attention().contains("`hm task claim T1`"),
        "{}",
        attention()
    );
    assert!(!said(&shell, "hm --agent devops attention").contains("T1"));
    within(&shell, &analyst, "hm task claim T1");
    assert!(!attention().contains("task, analyst's move"), "{}", attention());
    assert!(!said(&shell, "hm task list").contains("for analyst"));
    let unknown = refused(&shell, &devops, "hm task add \"measure the queue\" --for nobody");
    assert!(unknown.contains("no agent is called `nobody`"), "{unknown}");
}

/// Red before: the tool took no `for`, and the first context of who came later did not say for whom a task is.
#[tokio::test]
async fn a_task_for_an_agent_that_comes_later_is_the_first_in_its_context() {
    let bench = Bench::new();
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    bench.accepted(&devops, "add_task", json!({ "title": "paint the button" })).await;
    bench.accepted(&devops, "add_task", json!({ "title": "measure the pool", "for": "analyst" })).await;
    let unknown = devops.call("add_task", json!({ "title": "x", "for": "nobody" })).await.expect("an answer");
    assert!(unknown.refused && unknown.text.contains("no agent is called `nobody`"), "{}", unknown.text);
    let analyst = bench.pane(Some("analyst"), Era::Modern).await;
    let pack = analyst.read("hivemind://context").await.expect("a context");
    let tasks: Vec<&str> = pack.lines().filter(|line| line.contains("<task ")).collect();
    assert_eq!(tasks.len(), 2, "{pack}");
    assert!(tasks[0].contains("for=\"analyst\">measure the pool"), "{pack}");
    assert!(!tasks[1].contains("for="), "{pack}");
    bench.accepted(&analyst, "claim_task", json!({ "task_id": "T2" })).await;
    let pack = analyst.read("hivemind://context").await.expect("a context");
    assert!(!pack.contains("for=\"analyst\""), "who holds it is said instead: {pack}");
}

/// Red before: the support that put a successor in force said nothing of the claim that it ended.
#[test]
fn a_support_that_ends_another_claim_names_it() {
    let shell = Shell::new();
    said(&shell, "hm --agent devops claim create \"the pool holds 20\" --scope src/pool.rs");
    said(&shell, "hm --agent analyst claim create \"the pool holds 30\" --scope src/pool.rs --supersedes C1");
    let receipt = flat(&said(&shell, "hm --agent reviewer claim support C2"));
    assert!(receipt.contains("confirmed: agreed by reviewer; claim C1 is superseded by it"), "{receipt}");
}

/// Red before: the verb ended nothing and said `withdrawn from C1`, and the other verb did not name the way.
#[test]
fn the_claim_of_another_agent_is_ended_by_the_command_that_the_refusal_names() {
    let shell = Shell::new();
    said(&shell, "hm --agent devops claim create \"devops works on the queue\" --scope src/queue.rs");
    let analyst = claude(&shell, "s-2", "analyst");
    analyst.start();
    for verb in ["withdraw", "deprecate"] {
        let refused = refused(&shell, &analyst, &format!("hm claim {verb} C1 \"it is finished\""));
        assert!(refused.contains("devops") && refused.contains("`hm claim create "), "{refused}");
        let named = refused.split("`hm claim create ").nth(1).and_then(|rest| rest.split('`').next());
        let named = format!("hm claim create {}", named.expect("a command"));
        if verb == "deprecate" {
            within(&shell, &analyst, &named.replace("STATEMENT", "\"the queue is finished\""));
        }
    }
    said(&shell, "hm --agent reviewer claim support C2");
    assert_eq!(shell.json("hm claim show C1 --json")["status"], "deprecated");
    // A position of its own is taken back as before.
    within(&shell, &analyst, "hm claim create \"the pool holds 20\" --scope src/pool.rs");
    said(&shell, "hm --agent reviewer claim challenge C3 \"it holds 30\"");
    assert!(
        said(&shell, "hm --agent reviewer claim withdraw C3 \"I misread it\"").contains("withdrawn from C3")
    );
}
