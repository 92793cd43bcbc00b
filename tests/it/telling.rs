//! What one agent tells another without a question, locks that end, and the help in a client's shell.

use serde_json::json;

use crate::hook::{Session, claude, spool_is_empty, within};
use crate::shell::Shell;

fn printed(shell: &Shell, session: &str, line: &str) -> String {
    let output = shell.command(line).env("HM_SESSION", session).output().expect("hm runs");
    String::from_utf8(output.stdout).expect("UTF-8") + &String::from_utf8_lossy(&output.stderr)
}

/// What a session is told after a command, without the breaks of long lines.
fn after(session: &Session<'_>) -> String {
    let ls =
        json!({ "tool_name": "Bash", "tool_input": { "command": "ls" }, "tool_response": { "stdout": "" } });
    session.told("PostToolUse", ls).replace("\n    ", " ")
}

/// Red before: agents asked for positions on "ready to merge", and each of these took an answer.
#[test]
fn an_agent_that_is_told_reads_it_whole_after_its_next_command_and_owes_no_answer() {
    let shell = Shell::new();
    let (devops, analyst) = (claude(&shell, "s-1", "devops"), claude(&shell, "s-2", "analyst"));
    let reviewer = claude(&shell, "s-3", "reviewer");
    devops.start();
    analyst.start();
    reviewer.start();
    spool_is_empty(&shell);
    let said = "branch one is ready: 42 tests pass on it and nothing is left to do, so take it from there and measure \
                it with the benchmark of the pool";
    let line = format!("hm --agent devops claim create \"{said}\" --scope src/pool.rs --tell analyst");
    let receipt = printed(&shell, "s-1", &line);
    assert!(receipt.contains("next: analyst is told"), "{receipt}");
    spool_is_empty(&shell);
    let told = after(&analyst);
    assert!(told.contains("<touches_your_work n=\"1\">") && told.contains(said), "{told}");
    assert!(!told.contains("<question"), "{told}");
    assert_eq!(after(&analyst), "", "once");
    assert_eq!(after(&reviewer), "", "it was not told");
    assert!(!printed(&shell, "s-2", "hm --agent analyst attention").contains("question"));
    let own = "hm --agent devops claim create \"a note\" --scope src --tell devops";
    let refused = printed(&shell, "s-1", own);
    assert!(refused.contains("a claim tells others, not its owner"), "{refused}");
    // Who is asked as well is asked.
    let both = "hm --agent devops claim create \"is 20 enough\" --scope src --ask reviewer --tell reviewer";
    let receipt = printed(&shell, "s-1", both);
    assert!(receipt.contains("next: reviewer is asked for a position"), "{receipt}");
    spool_is_empty(&shell);
    let asked = after(&reviewer);
    assert!(asked.contains("<asks_you n=\"1\">") && !asked.contains("touches_your_work"), "{asked}");
}

/// Red before: a claim that said "no answer needed" asked the supporters of the one before it, in news and in attention.
#[test]
fn a_successor_that_tells_a_supporter_does_not_ask_it() {
    let shell = Shell::new();
    let (devops, analyst) = (claude(&shell, "s-1", "devops"), claude(&shell, "s-2", "analyst"));
    devops.start();
    analyst.start();
    spool_is_empty(&shell);
    printed(&shell, "s-1", "hm --agent devops claim create \"a test is flaky\" --scope tests --ask analyst");
    printed(&shell, "s-2", "hm --agent analyst claim support C1 \"seen twice\"");
    printed(&shell, "s-3", "hm --agent reviewer claim challenge C1 \"not here\"");
    let again = "hm --agent devops claim create \"the flaky test is mended\" --scope tests --supersedes C1";
    printed(&shell, "s-1", &format!("{again} --tell analyst --tell reviewer"));
    spool_is_empty(&shell);
    let told = after(&analyst);
    assert!(told.contains("the flaky test is mended") && !told.contains("<question"), "{told}");
    // Whose challenge ended with the old claim is asked all the same.
    let asked = printed(&shell, "s-3", "hm --agent reviewer attention");
    assert!(asked.contains("C2") && asked.contains("hm claim support C2"), "{asked}");
    // Red before: a name of the news was refused by the verb that shows all others.
    let shown = printed(&shell, "s-1", "hm --agent devops claim show X1");
    assert!(shown.contains("not here") && !shown.contains("is no claim"), "{shown}");
}

/// Red before: nobody was told that a lock had ended, and agents waited for its time or asked.
#[test]
fn the_end_of_a_lock_is_told_to_those_who_heard_of_the_lock() {
    let shell = Shell::new();
    let (devops, analyst) = (claude(&shell, "s-1", "devops"), claude(&shell, "s-2", "analyst"));
    devops.start();
    analyst.start();
    spool_is_empty(&shell);
    let news = || printed(&shell, "s-2", "hm --agent analyst news");
    let lock = || printed(&shell, "s-1", "hm --agent devops lock tag:cpu docs --for 10m --why benchmarks");
    let release = || printed(&shell, "s-1", "hm --agent devops lock --release tag:cpu docs");
    lock();
    let told = news();
    assert!(told.contains("<lock scope=\"tag:cpu\" by=\"devops\""), "{told}");
    release();
    let told = news();
    // The reader does nothing in docs.
    assert!(told.contains("<unlocked by=\"devops\">tag:cpu</unlocked>"), "{told}");
    // A lock between two looks came and went, and one that was taken again is held.
    lock();
    release();
    assert!(news().starts_with("nothing since"));
    lock();
    news();
    release();
    lock();
    let told = news();
    assert!(told.contains("<lock scope=\"tag:cpu\"") && !told.contains("<unlocked"), "{told}");
    // Red before: another lock of the session hid the end of the first one.
    printed(&shell, "s-1", "hm --agent devops lock tag:gpu --for 10m --why training");
    release();
    let told = news();
    assert!(told.contains(">tag:cpu</unlocked>") && told.contains("<lock scope=\"tag:gpu\""), "{told}");
    // Red before: one that was released, taken again and released was never told to be free.
    lock();
    news();
    release();
    lock();
    release();
    assert!(news().contains(">tag:cpu</unlocked>"));
    // A scope that another one holds since is not free.
    lock();
    news();
    release();
    printed(&shell, "s-2", "hm --agent analyst lock tag:cpu --for 10m --why tests");
    assert!(!news().contains("<unlocked"));
    devops.told("SessionEnd", json!({ "reason": "exit" }));
    spool_is_empty(&shell);
    let told = news();
    assert!(told.contains(">tag:gpu</unlocked>"), "the end of a session ends its locks: {told}");
}

/// Red before: a claim that was challenged before its reader looked was no longer told after a command.
#[test]
fn what_an_agent_is_told_is_urgent_also_if_it_is_challenged() {
    let shell = Shell::new();
    let (devops, analyst) = (claude(&shell, "s-1", "devops"), claude(&shell, "s-2", "analyst"));
    devops.start();
    analyst.start();
    spool_is_empty(&shell);
    let said = "branch one is merged and all tests pass";
    let receipt = printed(
        &shell,
        "s-1",
        &format!("hm --agent devops claim create \"{said}\" --scope src --tell analyst --ask frontend"),
    );
    assert!(receipt.contains("frontend is asked for a position") && receipt.contains("; analyst is told"));
    printed(&shell, "s-3", "hm --agent reviewer claim challenge C1 \"two tests fail on it\"");
    spool_is_empty(&shell);
    let told = after(&analyst);
    assert!(told.contains(said), "{told}");
    let refused =
        printed(&shell, "s-1", "hm --agent devops claim create \"a note\" --scope src --tell system");
    assert!(refused.contains("`system` reads nothing"), "{refused}");
}

/// Red before: an agent read the page of all verbs, and then that for agents.
#[test]
fn help_in_the_shell_of_a_client_is_the_page_for_agents() {
    let shell = Shell::without_writer();
    let page = |line: &str, in_client: bool| {
        let mut command = shell.command(line);
        command.env_remove("CLAUDE_CODE_SESSION_ID");
        if in_client {
            command.env("CLAUDE_CODE_SESSION_ID", "s-1");
        }
        String::from_utf8(command.output().expect("hm runs").stdout).expect("UTF-8")
    };
    let for_agents = page("hm help agent", true);
    assert_eq!(
        page("hm --help", true),
        format!("This is `hm help agent`; verbs for people: hm help verbs\n{for_agents}")
    );
    let verbs = page("hm --help", false);
    assert!(verbs.contains("Look after") && verbs == page("hm help verbs", true), "{verbs}");
    assert_eq!(page("hm help agent", false), for_agents);
    assert!(page("hm claim -h", true).contains("Usage: hm claim"));
}

#[test]
fn decisions_are_listed_by_scope() {
    let shell = Shell::new();
    let record = |what: &str, scope: &str, target: &str| {
        let rationale = "it was measured on both machines";
        within(
            &shell,
            "s-1",
            &format!(
                "hm --json --agent devops decision record \"{what}\" --scope {scope} --target {target} --rationale \"{rationale}\""
            ),
        );
    };
    record("the pool holds 20", "src/pool.rs", "pool");
    record("pages have 50 rows", "web/list.ts", "pages");
    let listed =
        |scope: &str| printed(&shell, "s-1", &format!("hm --agent devops decision list --scope {scope}"));
    assert!(
        listed("src").contains("the pool holds 20") && !listed("src").contains("50 rows"),
        "{}",
        listed("src")
    );
    assert!(listed("web/list.ts").contains("50 rows"));
    assert_eq!(listed("docs"), "No decisions match.\n");
}

/// Red before: an agent that had the decisions from its news read them all again in the list that a task named.
#[test]
fn a_list_of_decisions_cuts_those_that_the_session_was_told_whole() {
    let shell = Shell::new();
    let (devops, analyst) = (claude(&shell, "s-1", "devops"), claude(&shell, "s-2", "analyst"));
    devops.start();
    analyst.start();
    spool_is_empty(&shell);
    let end =
        "and whoever takes one and does not give it back within a minute loses it to the next one in line";
    let what = format!("the pool holds 20 connections for all parts of the program together, {end}");
    within(
        &shell,
        "s-1",
        &format!(
            "hm --json --agent devops decision record \"{what}\" --scope src/pool.rs --target pool --rationale \"it was measured\" --ask analyst"
        ),
    );
    let list = |session: &str, more: &str| {
        let agent = if session == "s-1" { "devops" } else { "analyst" };
        printed(&shell, session, &format!("hm --agent {agent} decision list{more}")).replace("\n    ", " ")
    };
    printed(&shell, "s-2", "hm --agent analyst news");
    let known = list("s-2", "");
    assert!(known.contains("- `C1` the pool holds 20 connections") && !known.contains(end), "{known}");
    assert!(known.contains("proposed, by devops") && known.contains("why: it was measured"), "{known}");
    assert!(known.contains("with `--whole` they are not"), "{known}");
    let whole = list("s-2", " --whole");
    assert!(whole.contains(end) && !whole.contains("--whole"), "{whole}");
    // Red before: who wrote the decisions read them all again.
    assert!(!list("s-1", "").contains(end) && list("s-1", " --whole").contains(end));
    // A list tells nothing: a pipe may have cut it.
    let more = "pages have 50 rows each, and who wants more of them than one asks for the next one, however many there are";
    within(
        &shell,
        "s-1",
        &format!(
            "hm --json --agent devops decision record \"{more}\" --target pages --rationale \"it was measured\""
        ),
    );
    assert!(list("s-2", "").contains(more) && list("s-2", "").contains(more));
}

/// Red before: a support with one reason for several claims was told with each, and what the reader had just read of others
/// was named claim by claim.
#[test]
fn what_others_confirmed_is_one_line_and_a_reason_is_told_once() {
    let shell = Shell::new();
    let (devops, analyst) = (claude(&shell, "s-1", "devops"), claude(&shell, "s-2", "analyst"));
    devops.start();
    analyst.start();
    spool_is_empty(&shell);
    for what in ["the pool holds 20", "the queue holds 50", "a page has 30 rows"] {
        within(
            &shell,
            "s-1",
            &format!("hm --json --agent devops claim create \"{what}\" --scope src/pool.rs --tell analyst"),
        );
    }
    let news = |session: &str, agent: &str| printed(&shell, session, &format!("hm --agent {agent} news"));
    news("s-2", "analyst");
    printed(&shell, "s-3", "hm --agent reviewer claim support C1 C2 C3 \"I counted them twice\"");
    printed(&shell, "s-4", "hm --agent frontend claim support C2 \"so the page says\"");
    let own = news("s-1", "devops");
    assert_eq!(own.matches("I counted them twice").count(), 1, "{own}");
    assert!(own.contains("frontend (\"so the page says\")"), "{own}");
    let known = news("s-2", "analyst");
    assert!(known.contains("<confirmed n=\"3\">C1, C2, C3 of devops</confirmed>"), "{known}");
}

/// Red before: the refusal of a challenge named a support.
#[test]
fn a_challenge_of_what_was_replaced_leads_to_a_challenge_of_its_successor() {
    let shell = Shell::new();
    let old = within(&shell, "s-1", "hm --json --agent devops claim create \"20 are enough\" --scope src");
    let old = old["claim_id"].as_str().expect("an id").to_owned();
    within(
        &shell,
        "s-1",
        &format!("hm --json --agent devops claim create \"30 are enough\" --scope src --supersedes {old}"),
    );
    let refused =
        printed(&shell, "s-2", &format!("hm --agent analyst claim challenge {old} \"it takes 50\""));
    assert!(refused.contains("take a position on its successor: `hm claim challenge C2"), "{refused}");
    let refused = printed(&shell, "s-2", &format!("hm --agent analyst claim support {old}"));
    assert!(refused.contains("take a position on its successor: `hm claim support C2`"), "{refused}");
}
