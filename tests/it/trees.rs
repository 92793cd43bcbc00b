//! One repository, two work trees, one memory: what each says of the other, and what runs where.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use expect_test::expect;
use hivemind::domain::decide::Policy;
use hivemind::ledger::{Cursor, Reader};
use hivemind::mcp::{Era, Pane, ToolAnswer};
use hivemind::system::{SESSION_VARIABLES, Sources};
use hivemind::workspace::Workspace;
use hivemind::writer::Committer;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::bench::Bench;
use crate::harness::{self, HM, dump, kill_writer, wait_until};
use crate::terminal::trust;

/// A repository with the main work tree `main` and the linked one `wt` on a branch of its own.
struct Trees {
    dir: TempDir,
    workspace: Workspace,
}

impl Trees {
    fn new() -> Self {
        harness::assert_keys_stay_here();
        let dir = tempfile::tempdir().expect("a temporary directory");
        let main = dir.path().join("main");
        std::fs::create_dir(&main).expect("a directory");
        git(&main, &["init", "-q", "-b", "main"]);
        git(&main, &["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "one", "--allow-empty"]);
        let workspace = harness::at(&main);
        git(&main, &["worktree", "add", "-q", "-b", "feature/pool", "../wt"]);
        let trees = Self { dir, workspace };
        wait_until("the writer is up", || trees.hm("main", "s-0", &["rebuild"]).status.success());
        trees
    }

    fn root(&self, tree: &str) -> PathBuf {
        self.dir.path().canonicalize().expect("a directory").join(tree)
    }

    /// The session of this name: no other test has one of the same id, whose home would be in the way.
    fn id(&self, session: &str) -> String {
        let unique = self.dir.path().file_name().expect("a name").to_string_lossy();
        format!("{session}-{}", unique.trim_start_matches('.'))
    }

    async fn pane(&self, tree: &str, agent: &str) -> Pane {
        let mut command = self.command(tree, &["serve", "--agent", agent]);
        // The hooks here have the same parent: without a session of its own it would be in theirs.
        command.env("HM_SESSION", format!("pane-{agent}"));
        Pane::run(command.into(), Era::Modern).await.expect("a pane")
    }

    fn command(&self, tree: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(HM);
        command.args(arguments).current_dir(self.root(tree)).stdin(Stdio::null());
        for variable in
            ["HM_DIR", "HM_AGENT", "HM_LOG", "HM_SESSION", "CLAUDE_PID"].iter().chain(&SESSION_VARIABLES)
        {
            command.env_remove(variable);
        }
        command
    }

    fn hm(&self, tree: &str, session: &str, arguments: &[&str]) -> Output {
        self.command(tree, arguments).env("HM_SESSION", self.id(session)).output().expect("hm runs")
    }

    fn shown(&self, tree: &str, arguments: &[&str]) -> String {
        let output = self.hm(tree, "s-0", arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// What the agent of a session in a work tree is told at an event; empty for silence.
    fn told(&self, tree: &str, session: &str, event: &str, more: Value) -> String {
        let mut payload =
            json!({ "hook_event_name": event, "session_id": self.id(session), "cwd": self.root(tree) });
        for (name, value) in more.as_object().expect("fields") {
            payload[name] = value.clone();
        }
        let mut hook = self.command(tree, &["hook", "claude"]);
        hook.env("HM_AGENT", if tree == "main" { "analyst" } else { "devops" });
        hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut hook = hook.spawn().expect("hm starts");
        let _ = hook.stdin.take().expect("a pipe").write_all(payload.to_string().as_bytes());
        let output = hook.wait_with_output().expect("hm ends");
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        self.settle();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
    }

    fn starts(&self, tree: &str, session: &str) -> String {
        self.told(tree, session, "SessionStart", json!({ "source": "startup" }))
    }

    fn edit(&self, tree: &str, path: &str) -> Value {
        let file = self.root(tree).join(path);
        json!({ "tool_name": "Edit", "tool_input": { "file_path": file, "old_string": "a", "new_string": "b" } })
    }

    fn edits(&self, tree: &str, session: &str, path: &str) {
        let mut edit = self.edit(tree, path);
        edit["tool_response"] = json!({ "filePath": path });
        let before = self.payloads(&["file.edited"]).len();
        // On a busy machine a hook gives up before it has said anything.
        wait_until("the edit is on record", || {
            self.told(tree, session, "PostToolUse", edit.clone());
            self.payloads(&["file.edited"]).len() > before
        });
    }

    /// Until all that was queued is committed.
    fn settle(&self) {
        let spool = self.workspace.spool();
        wait_until("the spool is read", || std::fs::metadata(&spool).map_or(0, |file| file.len()) == 0);
    }

    /// What events of these types say of themselves.
    fn payloads(&self, kinds: &[&str]) -> Vec<(String, Value)> {
        let reader = Reader::open(&self.workspace.ledger()).expect("a ledger").expect("a file");
        let events = reader.read_from(Cursor::GENESIS, usize::MAX >> 1).expect("events").into_iter();
        let of_them = events.filter(|event| kinds.contains(&&*event.kind));
        let payload = |text: &str| serde_json::from_str(text).expect("JSON");
        of_them
            .map(|event| (event.kind.clone(), payload(&event.payload.as_ref().expect("a payload").0)))
            .collect()
    }

    /// The read models are what a rebuild makes of the ledger.
    fn assert_sound(&self) {
        kill_writer(&self.workspace);
        let live = dump(&self.workspace.team_memory());
        let committer = Committer::open(&self.workspace, Policy::default(), Sources::system());
        committer.expect("a workspace that opens").rebuild(|_| ()).expect("a rebuild");
        assert_eq!(dump(&self.workspace.team_memory()), live, "rebuild equals live");
    }
}

impl Drop for Trees {
    fn drop(&mut self) {
        kill_writer(&self.workspace);
    }
}

fn git(dir: &Path, arguments: &[&str]) {
    let done = Command::new("git").args(arguments).current_dir(dir).output().expect("git");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

async fn accepted(pane: &Pane, tool: &str, arguments: Value) -> ToolAnswer {
    let answer = pane.call(tool, arguments).await.expect("an answer");
    assert!(!answer.refused && answer.field("state") == "committed", "{tool}: {answer:?}");
    answer
}

async fn json_of(pane: &Pane, address: &str) -> Value {
    let text = pane.read(&format!("{address}?format=json")).await.expect("an answer");
    serde_json::from_str(&text).expect("JSON")
}

/// A task that this pane holds, with locks.
async fn holds(pane: &Pane, title: &str, locks: &[&str]) -> (String, ToolAnswer) {
    let task = accepted(pane, "add_task", json!({ "title": title })).await.field("task_id").to_owned();
    let claimed = accepted(pane, "claim_task", json!({ "task_id": task, "file_locks": locks })).await;
    (task, claimed)
}

/// Red before: the first pane of the client was `architect` in whatever work tree it was, and the others had numbers.
#[tokio::test]
async fn a_pane_in_a_work_tree_named_after_an_agent_is_that_agent() {
    let trees = Trees::new();
    git(&trees.root("main"), &["worktree", "add", "-q", "../analyst"]);
    git(&trees.root("main"), &["worktree", "add", "-q", "../devops"]);
    let mut owners = Vec::new();
    let mut panes = Vec::new();
    git(&trees.root("main"), &["worktree", "add", "-q", "../repo-reviewer"]);
    let all = ["analyst", "devops", "devops", "wt", "repo-reviewer"];
    for (number, tree) in all.into_iter().enumerate() {
        let mut command = trees.command(tree, &["serve"]);
        command.env("HM_SESSION", trees.id(&format!("s-{number}")));
        let pane = Pane::run(command.into(), Era::Modern).await.expect("a pane");
        let claim =
            json!({ "statement": format!("pane {number} is here"), "claim_type": "fact", "scopes": ["src"] });
        let made = accepted(&pane, "create_claim", claim).await.field("claim_id").to_owned();
        let owner = json_of(&pane, &format!("hivemind://claims/{made}")).await["owner"].clone();
        owners.push(owner.as_str().unwrap_or_default().to_owned());
        panes.push(pane);
    }
    let [analyst, devops, second, other, within] = &owners[..] else { panic!("{owners:?}") };
    assert_eq!((analyst.as_str(), devops.as_str()), ("analyst", "devops"));
    assert!(second.ends_with("-2"), "the seat is taken: {owners:?}");
    assert!(other.contains('-') && other != second, "`wt` is no agent: {owners:?}");
    // Red before: `repo-reviewer` was no name of an agent.
    assert_eq!(within, "reviewer", "{owners:?}");
}

/// Red before: a file in the root of a work tree had the name of the work tree, and below `/tmp/` none at all.
#[test]
fn a_mend_is_told_where_the_same_file_fails_in_another_work_tree() {
    let trees = Trees::new();
    let ran = |tree: &str, session: &str, failed: Option<&str>| {
        let mut call = json!({ "tool_name": "Bash", "tool_input": { "command": "make pool" } });
        let Some(file) = failed else {
            call["tool_response"] = json!({ "stdout": "ok", "stderr": "", "interrupted": false });
            return trees.told(tree, session, "PostToolUse", call);
        };
        let file = trees.root(tree).join(file);
        call["error"] = format!("Exit code 2\nE   ValueError: cannot read '{}'", file.display()).into();
        trees.told(tree, session, "PostToolUseFailure", call)
    };
    for (tree, session) in [("main", "s-1"), ("wt", "s-2")] {
        trees.starts(tree, session);
    }
    ran("main", "s-1", Some("pool.toml"));
    ran("main", "s-1", None);
    let told = ran("wt", "s-2", Some("cart.toml"));
    assert!(!told.contains("succeeded"), "another file: {told}");
    let told = ran("wt", "s-2", Some("pool.toml"));
    assert!(told.contains("then `make pool` succeeded"), "{told}");
}

/// Red before: the reviewer was told of each commit that it had just merged.
#[test]
fn a_commit_that_the_reader_merged_itself_is_no_news() {
    let trees = Trees::new();
    trees.starts("main", "s-1");
    trees.starts("wt", "s-2");
    trees.hm(
        "main",
        "s-1",
        &["--agent", "analyst", "task", "add", "review the pool", "--scope", "src/pool.rs"],
    );
    trees.hm("main", "s-1", &["--agent", "analyst", "task", "claim", "T1"]);
    let news = || {
        let output = trees.hm("main", "s-1", &["--agent", "analyst", "news"]);
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let ran = |tree: &str, session: &str, line: &str| {
        let response = json!({ "stdout": "ok", "stderr": "", "interrupted": false });
        let input = json!({ "command": line });
        let call = json!({ "tool_name": "Bash", "tool_input": input, "tool_response": response });
        trees.told(tree, session, "PostToolUse", call);
    };
    let (wt, main) = (trees.root("wt"), trees.root("main"));
    std::fs::create_dir_all(wt.join("src")).expect("a directory");
    let commits = |subject: &str| {
        std::fs::write(wt.join("src/pool.rs"), subject).expect("a file");
        ran("wt", "s-2", &format!("python - <<'EOF'\nedit()\nEOF\ngit add -A && git commit -qm '{subject}'"));
        git(&wt, &["add", "src"]);
        git(&wt, &["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", subject]);
    };
    let found_in = |subject: &str| {
        let seen = trees.payloads(&["commit.seen"]);
        let seen = seen.into_iter().find(|(_, seen)| seen["subject"] == subject);
        seen.map(|(_, seen)| seen["worktree"].clone())
    };
    commits("a pool that counts");
    let mut told = String::new();
    wait_until("the commit is told", || {
        told.push_str(&news());
        told.contains("a pool that counts")
    });
    assert!(told.contains("by=\"devops\" files=\"src/pool.rs\">a pool that counts</commit>"), "{told}");
    git(&main, &["merge", "-q", "feature/pool"]);
    // The writer may look between the commit and the merge.
    let merged = (0..5).map(|nth| format!("count {nth}")).find(|subject| {
        commits(subject);
        git(&main, &["merge", "-q", "feature/pool"]);
        ran("main", "s-1", "git merge -q feature/pool");
        wait_until("the commit is on record", || found_in(subject).is_some());
        found_in(subject).is_some_and(|tree| tree.is_null())
    });
    let merged = merged.expect("a commit that was found where it was merged");
    let told = news();
    assert!(!told.contains(&merged), "{told}");
}

/// Red before: a tester who tried an old version of a file and put the new one back had edited it, to everybody.
#[test]
fn a_file_that_a_line_puts_back_is_not_edited() {
    let trees = Trees::new();
    trees.starts("wt", "s-2");
    let wt = trees.root("wt");
    std::fs::create_dir_all(wt.join("src")).expect("a directory");
    let write = |text: &str| std::fs::write(wt.join("src/pool.rs"), text).expect("a file");
    let commit = |subject: &str| {
        git(&wt, &["add", "src"]);
        git(&wt, &["-c", "user.name=t", "-c", "user.email=t@t", "commit", "--allow-empty", "-qm", subject]);
    };
    let runs = |line: &str, does: &dyn Fn()| {
        let input = json!({ "command": line });
        trees.told("wt", "s-2", "PreToolUse", json!({ "tool_name": "Bash", "tool_input": input }));
        does();
        let response = json!({ "stdout": "ok", "stderr": "", "interrupted": false });
        let call = json!({ "tool_name": "Bash", "tool_input": input, "tool_response": response });
        trees.told("wt", "s-2", "PostToolUse", call);
    };
    write("20");
    commit("a pool");
    let put_back = || {
        write("10");
        git(&wt, &["checkout", "-q", "src/pool.rs"]);
    };
    let line = "git show HEAD~1:src/pool.rs > src/pool.rs; pytest -q | tail -4; git checkout -q src/pool.rs";
    runs(line, &put_back);
    runs(&format!("{line}; git commit -qm tests"), &|| {
        put_back();
        commit("tests");
    });
    runs("echo 30 > src/pool.rs; git checkout -q main; git commit -qam more", &|| {
        write("30");
        commit("more");
    });
    // What is edited after it was put back, and committed by two commits, is edited.
    runs(
        "git checkout -q src/pool.rs; echo 40 > src/pool.rs; git commit -qam one; git commit -qm two",
        &|| {
            write("40");
            commit("one");
            commit("two");
        },
    );
    wait_until("the last command is on record", || trees.payloads(&["command.ran"]).len() == 4);
    wait_until("the edits are on record", || trees.payloads(&["file.edited"]).len() == 2);
    for (_, edited) in trees.payloads(&["file.edited"]) {
        assert_eq!(edited["paths"], json!(["src/pool.rs"]));
        assert!(edited.get("merged").is_none(), "{edited:?}");
    }
}

/// Red before: the name was asked as it is, and nothing said that no agent answers to it.
#[tokio::test]
async fn the_name_of_a_work_tree_asks_its_agent_and_one_without_a_session_is_told() {
    let trees = Trees::new();
    for (tree, session, agent) in [("main", "s-main", "claude-1"), ("wt", "s-wt", "claude-2")] {
        let started = trees.hm(tree, session, &["--agent", agent, "session", "start"]);
        assert!(started.status.success(), "{started:?}");
    }
    let says = |arguments: &[&str]| {
        let output = trees.hm("main", "s-main", &[&["--agent", "claude-1"], arguments].concat());
        let text =
            String::from_utf8(output.stdout).expect("UTF-8") + &String::from_utf8_lossy(&output.stderr);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let create = |text: &str, asked: &str| says(&["claim", "create", text, "--scope", "src", "--ask", asked]);
    for (text, place) in [("the pool holds 20", "wt"), ("the queue is bounded", "feature/pool")] {
        let told = create(text, place);
        let wanted = format!("note: no session of {place} is here: claude-2 (work tree `wt`) is asked");
        assert!(told.contains(&wanted), "{told}");
        assert!(told.contains("claude-2 is asked for a position"), "{told}");
    }
    let told = create("the cache is cold", "devops");
    let wanted =
        "warning: no session of devops has been here yet; here are: claude-2 (work tree `wt`): name them";
    assert!(told.contains(wanted) && told.contains("devops is asked for a position"), "{told}");
    let again = create("the index is wide", "devops");
    assert!(!again.contains("no session") && again.contains("devops is asked for a position"), "{again}");
    assert!(!create("the log is long", "claude-2").contains("is here"), "an agent that is there");
    let told = create("the menu is slow", "nobody");
    let wanted =
        "no agent is called `nobody`; here are: claude-2 (work tree `wt`); the roster is: architect, ";
    assert!(told.contains(wanted), "red before: nothing named who is there: {told}");
    // Its own place is no other agent.
    assert!(create("the disk is full", "main").contains("no agent is called `main`"));

    // A decision and a call of a tool say the same.
    let told = says(&[
        "decision",
        "record",
        "we keep the pool",
        "--rationale",
        "it is measured",
        "--scope",
        "src",
        "--ask",
        "analyst",
    ]);
    assert!(told.contains("no session of analyst has been here yet; here are: claude-2"), "{told}");
    let pane = trees.pane("main", "claude-1").await;
    let ask = |text: &str, asked: &str| json!({ "statement": text, "claim_type": "fact", "scopes": ["src"], "asks": [asked] });
    let answer = accepted(&pane, "create_claim", ask("the tree is deep", "wt")).await;
    assert_eq!(answer.body["warnings"][0]["code"], "asked_as", "{answer:?}");
    assert!(answer.body["next"].as_str().expect("next").starts_with("claude-2 is asked"), "{answer:?}");
    let answer = accepted(&pane, "create_claim", ask("the heap is small", "reviewer")).await;
    assert_eq!(answer.body["warnings"][0]["code"], "not_here", "{answer:?}");

    // A filter takes the name too.
    let theirs =
        trees.hm("wt", "s-wt", &["--agent", "claude-2", "claim", "create", "it is theirs", "--scope", "src"]);
    assert!(theirs.status.success(), "{theirs:?}");
    let listed = says(&["claim", "list", "--owner", "wt"]);
    assert!(listed.contains("it is theirs") && !listed.contains("the pool"), "{listed}");
    assert!(listed.contains("`wt` is claude-2 in work tree `wt`"), "{listed}");
    trees.assert_sound();
}

/// Red before: each decision about a file that another work tree holds was warned of a conflict at merge.
#[tokio::test]
async fn a_decision_is_told_once_of_a_lock_elsewhere_and_a_run_never() {
    let trees = Trees::new();
    let (here, there) = (trees.pane("main", "analyst").await, trees.pane("wt", "devops").await);
    holds(&there, "mend the pool", &["src/a.rs"]).await;
    let told = async |tool: &str, arguments: Value| {
        let answer = accepted(&here, tool, arguments).await;
        let warnings = answer.body["warnings"].as_array().cloned().unwrap_or_default();
        warnings.iter().filter(|warning| warning["code"] == "file_leased").count()
    };
    let decide =
        |text: &str| json!({ "statement": text, "rationale": "measured twice", "scopes": ["src/a.rs"] });
    let claim =
        |text: &str, kind: &str| json!({ "statement": text, "claim_type": kind, "scopes": ["src/a.rs"] });
    assert_eq!(told("create_claim", claim("the pool holds 20", "fact")).await, 0, "a claim edits nothing");
    assert_eq!(told("record_decision", decide("one lock for all")).await, 1);
    assert_eq!(told("record_decision", decide("no retries")).await, 0, "once");
    assert_eq!(told("create_claim", claim("headers stay as they are", "decision")).await, 0);
    // An edit is told each time.
    let edit = json!({ "kind": "file_edited", "paths": ["src/a.rs"], "summary": "mended" });
    for _ in 0..2 {
        assert_eq!(told("report_event", edit.clone()).await, 1);
    }
}

const WHERE: [&str; 6] =
    ["session.started", "file.edited", "command.ran", "event.reported", "task.claimed", "experiment.queued"];

#[tokio::test]
async fn events_say_in_which_work_tree_and_on_which_branch_they_happened() {
    let trees = Trees::new();
    let (here, there) = (trees.pane("main", "analyst").await, trees.pane("wt", "devops").await);
    for (tree, session, pane) in [("main", "s-main", &here), ("wt", "s-wt", &there)] {
        trees.starts(tree, session);
        trees.edits(tree, session, "src/a.rs");
        let bash = json!({ "tool_name": "Bash", "tool_input": { "command": "true" }, "tool_response": {} });
        trees.told(tree, session, "PostToolUse", bash);
        // What a caller says about it is no argument.
        let seen = json!({ "kind": "finding", "summary": "seen", "paths": ["src/a.rs"], "worktree": "mine" });
        accepted(pane, "report_event", seen).await;
        accepted(pane, "report_event", json!({ "kind": "note", "summary": "no file" })).await;
        holds(pane, tree, &["src/a.rs"]).await;
    }
    let lines: Vec<String> = trees
        .payloads(&WHERE)
        .iter()
        .map(|(kind, said)| format!("{kind} {} {} {}", said["worktree"], said["branch"], said["paths"]))
        .collect();
    expect![[r#"
        session.started null "main" null
        file.edited null "main" ["src/a.rs"]
        command.ran null "main" null
        event.reported null "main" ["src/a.rs"]
        event.reported null null null
        task.claimed null null null
        session.started "wt" "feature/pool" null
        file.edited "wt" "feature/pool" ["src/a.rs"]
        command.ran "wt" "feature/pool" null
        event.reported "wt" "feature/pool" ["src/a.rs"]
        event.reported null null null
        task.claimed "wt" null null"#]]
    .assert_eq(&lines.join("\n"));
    git(&trees.root("wt"), &["checkout", "-q", "--detach"]);
    trees.edits("wt", "s-wt", "src/b.rs");
    let last = trees.payloads(&["file.edited"]).pop().expect("an edit").1;
    assert_eq!(
        last,
        json!({
            "paths": ["src/b.rs"], "worktree": "wt", "versions": { "src/b.rs": "absent" },
            "command_hash": last["command_hash"],
        })
    );
    trees.assert_sound();
}

#[tokio::test]
async fn outside_git_events_are_as_they_were() {
    let bench = Bench::new();
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let seen = json!({ "kind": "finding", "summary": "seen", "paths": ["src/a.rs"] });
    bench.accepted(&devops, "report_event", seen).await;
    holds(&devops, "mend the pool", &["src/a.rs"]).await;
    assert!(bench.hm(&["session", "start", "--agent", "devops"]).status.success());
    let payloads: Vec<String> = bench
        .events()
        .iter()
        .filter(|event| WHERE.contains(&&*event.kind))
        .map(|event| {
            let mut said: Value =
                serde_json::from_str(&event.payload.as_ref().expect("a payload").0).expect("JSON");
            let fields = said.as_object_mut().expect("fields");
            for differs in ["command_hash", "session", "task_id"] {
                fields.remove(differs);
            }
            format!("{} {said}", event.kind)
        })
        .collect();
    expect![[r#"
        event.reported {"kind":"finding","paths":["src/a.rs"],"summary":"seen"}
        task.claimed {"file_locks":["src/a.rs"],"lease_minutes":15,"token":1}
        session.started {"client":"hm","source":"startup"}"#]]
    .assert_eq(&payloads.join("\n"));
}

#[tokio::test]
async fn an_edit_makes_stale_only_what_was_seen_in_its_own_work_tree() {
    let trees = Trees::new();
    let (here, there) = (trees.pane("main", "analyst").await, trees.pane("wt", "devops").await);
    let mut claims = Vec::new();
    let mut seen = Vec::new();
    for (pane, statement) in [(&here, "the pool holds 10"), (&there, "the queue holds 20")] {
        let finding = json!({ "kind": "finding", "summary": "counted", "paths": ["src/a.rs"] });
        let event = accepted(pane, "report_event", finding).await.field("event_id").to_owned();
        // A path of the work tree one stands in means the same in each.
        let root = trees.root(if claims.is_empty() { "main" } else { "wt" });
        let claim = json!({
            "statement": statement, "claim_type": "fact", "scopes": [root.join("src/a.rs")], "evidence_refs": [event],
        });
        claims.push(accepted(pane, "create_claim", claim).await.field("claim_id").to_owned());
        seen.push(event);
    }
    let stale = async || {
        let mut stale = Vec::new();
        for claim in &claims {
            let claim = json_of(&here, &format!("hivemind://claims/{claim}")).await;
            assert_eq!(claim["scopes"], json!(["src/a.rs"]));
            stale.push(claim["stale"] == true);
        }
        stale
    };
    assert_eq!(stale().await, [false, false]);
    trees.starts("wt", "s-wt");
    trees.edits("wt", "s-wt", "src/a.rs");
    assert_eq!(stale().await, [false, true]);
    // Tied late, each event is judged by the edits of its own work tree.
    for (event, of) in [(&seen[1], &claims[0]), (&seen[0], &claims[1])] {
        let late = json!({ "claim_id": of, "evidence_ref": event, "relation": "supports" });
        accepted(&here, "add_evidence", late).await;
    }
    let claim = json_of(&here, &format!("hivemind://claims/{}", claims[0])).await;
    let stale_since: Vec<bool> = claim["evidence_items"]
        .as_array()
        .expect("evidence")
        .iter()
        .map(|item| item["stale_since"].is_u64())
        .collect();
    assert_eq!(stale_since, [false, true], "{claim}");
    assert_eq!(stale().await, [false, false], "each has something fresh");
    trees.starts("main", "s-main");
    trees.edits("main", "s-main", "src/a.rs");
    assert_eq!(stale().await, [true, true]);
    trees.assert_sound();
}

#[tokio::test]
async fn a_lock_of_another_work_tree_is_told_as_a_conflict_to_come() {
    let trees = Trees::new();
    let (here, there) = (trees.pane("main", "analyst").await, trees.pane("wt", "devops").await);
    holds(&there, "mend the pool", &["src/a.rs"]).await;
    for (tree, session) in [("main", "s-main"), ("wt", "s-wt")] {
        trees.starts(tree, session);
        trees.told(tree, session, "UserPromptSubmit", json!({ "prompt": "go on" }));
    }
    let about_to_edit = |tree: &str, session: &str, path: &str| {
        trees.told(tree, session, "PreToolUse", trees.edit(tree, path))
    };
    let told = about_to_edit("main", "s-main", "src/a.rs");
    let wanted = "hivemind: devops edits src/a.rs in work tree `wt` for task T1 (mend the pool) until ";
    assert!(told.starts_with(wanted), "{told}");
    assert!(told.ends_with(" left): it will conflict when merged; agree first."), "{told}");
    assert_eq!(about_to_edit("main", "s-main", "src/a.rs"), "", "once a turn");
    let told = about_to_edit("wt", "s-wt", "src/a.rs");
    assert!(told.starts_with("hivemind: devops holds src/a.rs for task T1 (mend the pool) until "), "{told}");
    assert!(told.ends_with(" left): agree first, or work elsewhere."), "{told}");
    // Who takes a task with the same file is warned, and gets it.
    let (_, claimed) = holds(&here, "measure it", &["src/*.rs"]).await;
    let warnings = claimed.body["warnings"].as_array().expect("warnings");
    let warned = warnings[0]["message"].as_str().expect("a message");
    assert!(warned.starts_with("devops edits src/a.rs in work tree `wt` for task T1 until "), "{warned}");
    assert!(warned.ends_with(" left): it will conflict when merged; agree first"), "{warned}");
    // And the other way round.
    trees.told("wt", "s-wt", "UserPromptSubmit", json!({ "prompt": "go on" }));
    let told = about_to_edit("wt", "s-wt", "src/b.rs");
    let wanted = "hivemind: analyst edits src/b.rs in the main work tree for task T2 (measure it) until ";
    assert!(told.starts_with(wanted), "{told}");
    // Lists and packs name a work tree that is another one than the reader's.
    let plan = trees.shown("main", &["plan", "show"]);
    let of = |agent: &str| plan.lines().find(|line| line.contains(agent)).expect("a task").to_owned();
    assert!(of("devops").contains("min left in work tree `wt`: mend the pool"), "{plan}");
    assert!(of("analyst").contains("min left: measure it"), "{plan}");
    let element = |text: &str| {
        let line = text.lines().find(|line| line.contains("<task id=\"T1\"")).expect("the task").to_owned();
        line.contains("worktree=\"wt\"")
    };
    let pack = |tree: &str, session: &str, agent: &str| {
        let output = trees.hm(tree, session, &["context", "--agent", agent]);
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    assert!(element(&pack("main", "s-main", "analyst")));
    assert!(!element(&pack("wt", "s-wt", "devops")));
    trees.assert_sound();
}

#[tokio::test]
async fn sessions_and_banners_name_a_linked_work_tree() {
    let trees = Trees::new();
    let first = |text: String| text.lines().next().unwrap_or_default().to_owned();
    assert!(!first(trees.starts("main", "s-main")).contains("work tree"));
    let greeted = first(trees.starts("wt", "s-wt"));
    assert!(
        greeted.starts_with("hivemind: you are devops")
            && greeted.ends_with(" · work tree wt on branch feature/pool"),
        "{greeted}"
    );
    for (tree, says) in [("main", false), ("wt", true)] {
        let status = trees.shown(tree, &["status", "--agent", "devops"]);
        assert_eq!(status.contains(" · work tree wt on branch feature/pool\n"), says, "{status}");
        let list = trees.shown(tree, &["session", "list"]);
        let list = list.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = |session: &str| {
            list.split("- `S").find(|line| line.contains(&trees.id(session))).expect("a session").to_owned()
        };
        assert!(
            line("s-wt").contains("in claude, startup, in work tree `wt` on branch `feature/pool`, seen"),
            "{list}"
        );
        assert!(line("s-main").contains("in claude, startup, seen"), "{list}");
    }
    let shown = trees.shown("main", &["session", "show", &trees.id("s-wt")]);
    assert!(shown.contains("in work tree `wt` on branch `feature/pool`"), "{shown}");
    let here = trees.pane("main", "analyst").await;
    let sessions = json_of(&here, "hivemind://sessions").await;
    let of = |id: &str| {
        let all = sessions["sessions"].as_array().expect("sessions");
        all.iter().find(|session| session["session"] == trees.id(id)).expect("a session").clone()
    };
    assert_eq!((&of("s-wt")["worktree"], &of("s-wt")["branch"]), (&json!("wt"), &json!("feature/pool")));
    assert_eq!((&of("s-main")["worktree"], &of("s-main")["branch"]), (&Value::Null, &json!("main")));
}

/// Writes a profile below a work tree and has a human trust it there.
fn profile(trees: &Trees, tree: &str, name: &str, command: &str) {
    let dir = trees.root(tree).join(".hivemind/profiles");
    std::fs::create_dir_all(&dir).expect("a directory");
    let text = format!(
        "description = \"a test\"\nscopes = [\"**\"]\nargv = [\"sh\", \"-c\", \"{command}\"]\ntimeout_ms = 60000\n[expect]\nexit = 0\n"
    );
    std::fs::write(dir.join(format!("{name}.toml")), text).expect("a profile");
    trust(&trees.root(tree), name);
}

#[tokio::test]
async fn a_run_asked_for_in_a_work_tree_runs_there() {
    let trees = Trees::new();
    profile(&trees, "main", "where", "pwd");
    profile(&trees, "main", "sleeps", "sleep 60");
    let (here, there) = (trees.pane("main", "analyst").await, trees.pane("wt", "devops").await);
    let run = async |pane: &Pane, profile: &str| {
        pane.call("run_experiment", json!({ "profile": profile, "wait": true })).await.expect("an answer")
    };
    let stdout = async |pane: &Pane, run: &ToolAnswer| {
        assert_eq!(run.body["run_state"], "succeeded", "{run:?}");
        let run = run.field("run_id").parse().expect("a run");
        assert!(!pane.read("hivemind://experiments").await.expect("a page").is_empty());
        let text = std::fs::read_to_string(trees.workspace.artifacts(run).join("stdout.log"));
        PathBuf::from(text.expect("what it printed").trim())
    };
    assert_eq!(stdout(&here, &run(&here, "where").await).await, trees.root("main"));
    assert_eq!(stdout(&there, &run(&there, "where").await).await, trees.root("wt"));
    let queued = trees.payloads(&["experiment.queued"]);
    let places: Vec<Value> =
        queued.iter().map(|(_, said)| json!([said["worktree"], said["branch"]])).collect();
    assert_eq!(places, [json!([null, "main"]), json!(["wt", "feature/pool"])]);

    // A work tree with profiles of its own runs those, and no other does.
    profile(&trees, "wt", "only-here", "basename $PWD");
    assert_eq!(stdout(&there, &run(&there, "only-here").await).await, PathBuf::from("wt"));
    assert_eq!(run(&here, "only-here").await.field("code"), "unknown_profile");

    // One that goes away ends what waits for it, and takes nothing else along.
    let asked = async |pane: &Pane, profile: &str| {
        accepted(pane, "run_experiment", json!({ "profile": profile })).await.field("run_id").to_owned()
    };
    let (slow, waits) = (asked(&here, "sleeps").await, asked(&there, "only-here").await);
    git(&trees.root("main"), &["worktree", "remove", "--force", "../wt"]);
    let refused = run(&there, "only-here").await;
    assert_eq!(refused.field("code"), "unknown_worktree", "{refused:?}");
    trees.shown("main", &["experiment", "cancel", &slow, "--agent", "analyst"]);
    let mut ended = Value::Null;
    for _ in 0..400 {
        ended = json_of(&here, &format!("hivemind://experiments/{waits}")).await;
        if ended["status"] != "queued" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(ended["status"], "aborted", "{ended}");
    assert!(
        ended.to_string().contains("it was not begun: work tree `wt` is not there, or has another memory"),
        "{ended}"
    );
    assert_eq!(stdout(&here, &run(&here, "where").await).await, trees.root("main"));
    trees.assert_sound();
}

/// Red before: a challenge from another work tree bound the claim to the content there, and a run there proved it.
#[tokio::test]
async fn a_challenge_in_another_work_tree_does_not_bind_a_claim_to_the_content_there() {
    let trees = Trees::new();
    profile(&trees, "main", "passes", "exit 0");
    std::fs::write(trees.root("main").join("size"), "7\n").expect("a file");
    std::fs::write(trees.root("wt").join("size"), "20\n").expect("a file");
    let (here, there) = (trees.pane("main", "analyst").await, trees.pane("wt", "devops").await);
    let given = json!({ "statement": "the size fits", "claim_type": "fact", "scopes": ["size"] });
    let id = accepted(&here, "create_claim", given).await.field("claim_id").to_owned();
    accepted(&there, "challenge", json!({ "claim_id": id, "reason": "I saw otherwise" })).await;
    let status = async || json_of(&here, &format!("hivemind://claims/{id}")).await["status"].clone();
    let given = json!({ "profile": "passes", "claim_id": id, "blocking": true, "wait": true });
    let claim = "the claim saw other content of `size` in another work tree";
    let whys = [claim, "the challenge by devops saw other content of `size`"];
    for (pane, why) in [&there, &here].into_iter().zip(whys) {
        let answer = accepted(pane, "run_experiment", given.clone()).await;
        assert!(answer.text.contains(why), "{}", answer.text);
        assert_eq!(status().await, "contested");
    }
    trees.assert_sound();
}

/// What another work tree holds says nothing about the content that a run proved a claim of.
#[tokio::test]
async fn a_vote_from_another_work_tree_takes_no_place_of_a_proof() {
    let trees = Trees::new();
    profile(&trees, "main", "passes", "exit 0");
    std::fs::write(trees.root("main").join("size"), "7\n").expect("a file");
    std::fs::write(trees.root("wt").join("size"), "20\n").expect("a file");
    let (owner, other) = (trees.pane("main", "analyst").await, trees.pane("main", "devops").await);
    let there = trees.pane("wt", "reviewer").await;
    let given = json!({ "statement": "the size fits", "claim_type": "fact", "scopes": ["size"] });
    let id = accepted(&owner, "create_claim", given).await.field("claim_id").to_owned();
    accepted(&other, "challenge", json!({ "claim_id": id, "reason": "I saw otherwise" })).await;
    let given = json!({ "profile": "passes", "claim_id": id, "blocking": true, "wait": true });
    accepted(&owner, "run_experiment", given).await;
    let status = async || json_of(&owner, &format!("hivemind://claims/{id}")).await["status"].clone();
    assert_eq!(status().await, "confirmed");
    let given = json!({ "statement": "a pool of one is enough", "claim_type": "fact", "scopes": ["size"], "supersedes": id });
    let new = accepted(&other, "create_claim", given).await.field("claim_id").to_owned();
    let voted = accepted(&there, "support", json!({ "claim_id": new })).await;
    assert!(voted.text.contains("which positions do not outvote"), "{}", voted.text);
    assert_eq!(status().await, "confirmed");
    trees.assert_sound();
}

#[tokio::test]
async fn a_researcher_works_in_the_work_tree_it_was_sent_out_from() {
    let trees = Trees::new();
    let dir = trees.root("main").join(".hivemind/profiles");
    std::fs::create_dir_all(&dir).expect("a directory");
    let text = "description = 'a test'\nargv = ['sh', '-c', 'pwd; echo $HM_DIR', '{prompt}']\ntimeout_ms = 60000\n[agent]\n";
    std::fs::write(dir.join("scout.toml"), text).expect("a profile");
    trust(&trees.root("main"), "scout");
    for tree in ["wt", "main"] {
        let sent = ["--json", "session", "spawn", "scout", "look around", "--agent", "analyst"];
        let sent: Value = serde_json::from_str(&trees.shown(tree, &sent)).expect("JSON");
        let run = sent["entity_id"].as_str().expect("a run").to_owned();
        let log = trees.workspace.artifacts(run.parse().expect("a run")).join("stdout.log");
        wait_until("the researcher is over", || {
            trees.shown("main", &["experiment", "show", &run]).contains("succeeded")
        });
        let root = trees.root(tree).display().to_string();
        assert_eq!(std::fs::read_to_string(log).expect("what it printed"), format!("{root}\n{root}\n"));
    }
    let claimed = trees.payloads(&["task.claimed"]);
    let places: Vec<&Value> = claimed.iter().map(|(_, said)| &said["worktree"]).collect();
    assert_eq!(places, [&json!("wt"), &Value::Null]);
    trees.assert_sound();
}

#[tokio::test]
async fn a_name_that_looks_like_a_secret_is_not_kept_and_stops_nothing() {
    const KEY: &str = "AKIAQ3EGT4PLKXYWZB7M";
    let trees = Trees::new();
    git(&trees.root("main"), &["worktree", "add", "-q", "-b", &format!("fix/{KEY}"), &format!("../{KEY}")]);
    let pane = trees.pane(KEY, "devops").await;
    let finding = json!({ "kind": "finding", "summary": "seen", "paths": ["src/a.rs"] });
    accepted(&pane, "report_event", finding).await;
    let said = trees.payloads(&["event.reported"]).pop().expect("a report").1;
    assert_eq!((&said["worktree"], &said["branch"]), (&json!("(withheld)"), &Value::Null));
    // The record of a finished run is refused by no name either.
    git(&trees.root("main"), &["switch", "-q", "-c", &format!("run/{KEY}")]);
    let typed = "--operator-override test experiment run --thread-id t --test-id t -- true";
    trees.shown("main", &[&["--agent", "operator"][..], &typed.split(' ').collect::<Vec<_>>()].concat());
    let said = trees.payloads(&["experiment.completed"]).pop().expect("a run").1;
    assert_eq!(said["git"]["branch"], "run/[redacted:aws-key]");
}

#[tokio::test]
async fn a_claim_is_compared_with_the_files_of_the_work_tree_that_asks_or_runs() {
    let trees = Trees::new();
    profile(&trees, "main", "passes", "exit 0");
    for (tree, text) in [("main", "scan"), ("wt", "heap")] {
        std::fs::create_dir_all(trees.root(tree).join("src")).expect("a directory");
        std::fs::write(trees.root(tree).join("src/a.rs"), text).expect("a file");
    }
    let (here, there) = (trees.pane("main", "analyst").await, trees.pane("wt", "devops").await);
    let given = json!({ "statement": "insert is O(n)", "claim_type": "fact", "scopes": ["src/a.rs"] });
    let id = accepted(&here, "create_claim", given).await.field("claim_id").to_owned();
    let shown = |tree: &str| trees.shown(tree, &["claim", "show", &id]);
    assert!(!shown("main").contains("changed since"), "{}", shown("main"));
    assert!(shown("wt").contains("changed since: `src/a.rs`"), "{}", shown("wt"));

    // The challenge is about the file of the other work tree, and the claim about this one: no run settles it.
    accepted(&there, "challenge", json!({ "claim_id": id, "reason": "it is a heap" })).await;
    let run = json!({ "profile": "passes", "claim_id": id, "blocking": true, "wait": true });
    let answer = accepted(&here, "run_experiment", run.clone()).await;
    // Red before: the file of this work tree was said to have changed.
    let why = "the challenge by devops saw other content of `src/a.rs`";
    assert!(answer.text.contains(why) && !answer.text.contains("changed since"), "{}", answer.text);
    assert!(shown("main").contains("contested"), "{}", shown("main"));
    let answer = accepted(&there, "run_experiment", run).await;
    assert!(!answer.text.contains("it supports claim"), "{}", answer.text);
    assert!(shown("main").contains("contested"), "{}", shown("main"));
}
