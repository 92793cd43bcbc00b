//! A writer that is not there, is there twice or says nothing: first writes at once, hung and killed writers, sockets.
//!
//! ```text
//! cargo test --test it stalls                             # short
//! HM_LONG=1 cargo test --test it stalls -- --nocapture    # 1,000 kills, figures shown
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use hivemind::domain::claim::ReportKind;
use hivemind::domain::command::{Command as Asked, ReportEvent, Submission};
use hivemind::domain::ids::EventId;
use hivemind::domain::receipt::Acceptance;
use hivemind::ledger::{Cursor, Reader};
use hivemind::mcp::Era;
use hivemind::spool::Spool;
use hivemind::system;
use hivemind::workspace::Workspace;
use hivemind::writer::Front;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::harness::{
    self, Dice, HM, TempWorkspace, committed, kill_writer, long, request, seed, wait_until,
};
use crate::storm::{end_processes_of, processes_of};
use crate::terminal::AS_OPERATOR;

/// The process that holds the writer's lock.
fn writer_of(workspace: &Workspace) -> Pid {
    let mut found = None;
    wait_until("a writer serves", || {
        let text = std::fs::read_to_string(workspace.writer_lock()).unwrap_or_default();
        found = text.trim().parse().ok().and_then(Pid::from_raw);
        found.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
    });
    found.expect("a process id")
}

/// Goes on when dropped: no test leaves a stopped writer behind.
struct Stopped(Pid);

impl Stopped {
    fn new(pid: Pid) -> Self {
        kill_process(pid, Signal::STOP).expect("a process to stop");
        Self(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::CONT);
    }
}

/// Ends every process that serves something below a directory when dropped.
struct Below(PathBuf);

impl Drop for Below {
    fn drop(&mut self) {
        // A writer that is asked to removes the directory of its socket.
        for (pid, _) in processes_of(&self.0) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let deadline = system::instant() + Duration::from_secs(5);
        while !processes_of(&self.0).is_empty() && system::instant() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        end_processes_of(&self.0);
    }
}

/// The files of this name below a directory.
fn named(dir: &Path, name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_name() == name {
            found.push(entry.path());
        } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(named(&entry.path(), name));
        }
    }
    found
}

/// How often each text of a claim or report stands in a ledger.
fn texts(ledger: &Path) -> BTreeMap<String, u32> {
    let reader = Reader::open(ledger).expect("a readable ledger").expect("a ledger");
    assert_eq!(reader.verify(|_| ()).expect("a readable ledger").fault, None);
    let mut texts = BTreeMap::new();
    for event in reader.read_from(Cursor::GENESIS, usize::MAX >> 1).expect("events") {
        let Some((payload, _)) = event.payload else { continue };
        let payload: Value = serde_json::from_str(&payload).expect("JSON");
        if let Some(text) = payload["statement"].as_str().or_else(|| payload["summary"].as_str()) {
            *texts.entry(text.to_owned()).or_default() += 1;
        }
    }
    texts
}

/// Each of these once.
fn once(all: impl IntoIterator<Item = String>) -> BTreeMap<String, u32> {
    all.into_iter().map(|text| (text, 1)).collect()
}

fn git(dir: &Path, words: &[&str]) {
    let author = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
    let done = Command::new("git").arg("-C").arg(dir).args(author).args(words).output().expect("git runs");
    assert!(done.status.success(), "{done:?}");
}

/// A process that writes one claim.
fn creating(root: &Path, text: &str) -> Command {
    let mut command = Command::new(HM);
    command
        .args(["--json", "--agent", "devops", "claim", "create", text, "--scope", "src", "--dir"])
        .arg(root);
    for variable in ["HM_AGENT", "HM_SESSION", "HM_TASK", "HM_DIR"] {
        command.env_remove(variable);
    }
    command.current_dir(root).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What it was told.
fn state_of(child: Child) -> String {
    let output = child.wait_with_output().expect("a process that ends");
    assert!(output.status.success(), "{output:?}");
    let receipt: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    receipt["state"].as_str().expect("a state").to_owned()
}

fn created(mut command: Command) -> String {
    state_of(command.spawn().expect("hm starts"))
}

#[test]
fn fifty_first_writes_from_five_work_trees_have_one_writer() {
    harness::assert_keys_stay_here();
    for round in 0..4 {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let _below = Below(dir.path().to_owned());
        let main = dir.path().join("main");
        std::fs::create_dir(&main).expect("a directory");
        git(&main, &["init", "--quiet"]);
        std::fs::create_dir(main.join(".hivemind")).expect("a directory");
        std::fs::write(main.join(".hivemind/config.toml"), "").expect("a file");
        git(&main, &["add", "--all"]);
        git(&main, &["commit", "--quiet", "-m", "a project"]);
        let mut trees = vec![main.clone()];
        for number in 1..5 {
            let tree = dir.path().join(format!("tree-{number}"));
            git(&main, &["worktree", "add", "--quiet", "--detach", tree.to_str().expect("a path")]);
            trees.push(tree);
        }
        let since = system::instant();
        let children: Vec<Child> = (0..50)
            .map(|index| {
                let text = format!("round {round} writes {index}");
                creating(&trees[index % trees.len()], &text).spawn().expect("hm starts")
            })
            .collect();
        let states: Vec<String> = children.into_iter().map(state_of).collect();
        let queued = states.iter().filter(|state| *state == "queued").count();
        eprintln!("round {round}: 50 first writes in {:?}, {queued} queued", since.elapsed());
        let memory = main.join(".git/hivemind");
        assert_eq!(named(dir.path(), "ledger.sqlite"), [memory.join("ledger.sqlite")], "one memory");
        // A machine too slow to start a writer in time has queued some of them.
        wait_until("the spool is empty", || {
            std::fs::metadata(memory.join("spool.jsonl")).map_or(0, |metadata| metadata.len()) == 0
        });
        let expected = once((0..50).map(|index| format!("round {round} writes {index}")));
        assert_eq!(texts(&memory.join("ledger.sqlite")), expected);
        wait_until("the writers that came too late have left", || {
            processes_of(dir.path()).into_iter().filter(|(_, is_writer)| *is_writer).count() == 1
        });
    }
}

fn percentiles(times: &mut [Duration]) -> String {
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    format!("p50 {:?}, p90 {:?}, max {:?}", at(50), at(90), at(100))
}

/// Sixteen calls of one front while the writer hangs; whether the front has talked to it before.
async fn hung(is_connected: bool) {
    let bench = Bench::new();
    let other = bench.pane(Some("analyst"), Era::Modern).await;
    bench.accepted(&other, "report_event", json!({ "kind": "note", "summary": "before" })).await;
    let pane = bench.pane_of_a_user("devops").await;
    if is_connected {
        bench.accepted(&pane, "report_event", json!({ "kind": "note", "summary": "connected" })).await;
    }
    let stopped = Stopped::new(writer_of(bench.workspace()));
    let pane = Arc::new(pane);
    let since = system::instant();
    let mut calls = Vec::new();
    for index in 0..16 {
        let pane = Arc::clone(&pane);
        calls.push(tokio::spawn(async move {
            let arguments = json!({ "kind": "note", "summary": format!("call {index}") });
            let answer = pane.call("report_event", arguments).await.expect("an answer");
            (answer.field("state").to_owned(), since.elapsed())
        }));
    }
    let mut reads = Vec::new();
    for _ in 0..10 {
        let asked = system::instant();
        let status = pane.read("hivemind://status").await.expect("a status");
        assert!(status.contains("ledger:"), "{status}");
        reads.push(asked.elapsed());
    }
    let read_in = since.elapsed();
    let mut times = Vec::new();
    for call in calls {
        let (state, took) = call.await.expect("a call that ends");
        assert_eq!(state, "queued");
        times.push(took);
    }
    let after = system::instant();
    let late =
        pane.call("report_event", json!({ "kind": "note", "summary": "call 16" })).await.expect("an answer");
    assert_eq!(late.field("state"), "queued");
    let late = after.elapsed();
    eprintln!(
        "hung, connected before: {is_connected}: 16 calls {}; 10 reads {}; the next call {late:?}",
        percentiles(&mut times),
        percentiles(&mut reads)
    );
    // No timed bound of the product: one after the other they would take a multiple of it.
    assert!(
        times[15] < Duration::from_secs(5) && read_in < Duration::from_secs(5),
        "{times:?}, reads {read_in:?}"
    );
    drop(stopped);
    wait_until("the spool is empty", || Spool::of(bench.workspace()).waiting() == 0);
    let mut expected = vec!["before".to_owned()];
    expected.extend(is_connected.then(|| "connected".to_owned()));
    expected.extend((0..17).map(|index| format!("call {index}")));
    wait_until("everything is committed", || texts(&bench.workspace().ledger()).len() == expected.len());
    assert_eq!(texts(&bench.workspace().ledger()), once(expected));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_that_hangs_before_the_first_connection_delays_nobody_twice() {
    hung(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_that_hangs_on_an_open_connection_delays_nobody_twice() {
    hung(true).await;
}

/// A slow disk, as the environment says it is one, is waited for longer than a second.
#[test]
fn a_write_waits_as_long_as_its_environment_says() {
    harness::assert_keys_stay_here();
    let dir = tempfile::tempdir().expect("a temporary directory");
    let _below = Below(dir.path().to_owned());
    let workspace = harness::at(dir.path());
    assert_eq!(created(creating(dir.path(), "before")), "committed");
    let with = |patience: &str| {
        let mut writing = creating(dir.path(), &format!("with {patience} ms"));
        writing.env("HM_PATIENCE_MS", patience).spawn().expect("hm starts")
    };
    // The writer goes on only after this one has answered.
    let stopped = Stopped::new(writer_of(&workspace));
    assert_eq!(state_of(with("100")), "queued");
    drop(stopped);
    let stopped = Stopped::new(writer_of(&workspace));
    let writing = with("60000");
    std::thread::sleep(Duration::from_millis(2_500));
    drop(stopped);
    assert_eq!(state_of(writing), "committed");
    wait_until("the spool is empty", || Spool::of(&workspace).waiting() == 0);
    let all = ["before", "with 100 ms", "with 60000 ms"].map(str::to_owned);
    assert_eq!(texts(&workspace.ledger()), once(all));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_spool_that_another_process_locks_is_told_and_stops_no_read() {
    let bench = Bench::new();
    let pane = Arc::new(bench.pane_of_a_user("devops").await);
    bench.accepted(&pane, "report_event", json!({ "kind": "note", "summary": "before" })).await;
    let spool =
        std::fs::File::options().create(true).append(true).open(bench.workspace().spool()).expect("a file");
    spool.lock().expect("a free lock");
    let stopped = Stopped::new(writer_of(bench.workspace()));
    let asked = Arc::clone(&pane);
    let since = system::instant();
    let call = tokio::spawn(async move {
        let arguments = json!({ "kind": "note", "summary": "nobody takes it", "idempotency_key": "k" });
        let answer = asked.call("report_event", arguments).await.expect("an answer");
        (answer, since.elapsed())
    });
    let mut reads = 0;
    while !call.is_finished() {
        assert!(pane.read("hivemind://status").await.expect("a status").contains("ledger:"));
        reads += 1;
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(since.elapsed() < Duration::from_secs(30), "the call waits for ever");
    }
    let (answer, took) = call.await.expect("a call that ends");
    eprintln!("a locked spool: refused after {took:?}, {reads} reads meanwhile");
    assert!(answer.refused && answer.field("code") == "unavailable", "{answer:?}");
    assert!(answer.text.contains("another process holds its lock"), "{}", answer.text);
    assert!(reads > 5, "only {reads} reads went on");
    drop((spool, stopped));
    let again = json!({ "kind": "note", "summary": "nobody takes it", "idempotency_key": "k" });
    let mut state = String::new();
    let deadline = system::instant() + Duration::from_secs(30);
    while state != "committed" {
        assert!(system::instant() < deadline, "it is never committed");
        state = pane.call("report_event", again.clone()).await.expect("an answer").field("state").to_owned();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(texts(&bench.workspace().ledger()), once(["before".to_owned(), "nobody takes it".to_owned()]));
}

fn report(text: &str) -> Submission {
    let event_id = EventId::from_uuid(system::new_id());
    request(
        "devops",
        Asked::ReportEvent(ReportEvent {
            event_id,
            kind: ReportKind::Note,
            summary: text.parse().expect("a summary"),
            paths: Vec::new(),
            command: None,
            exit_code: None,
            error_signature: None,
        }),
    )
}

/// What one front was told, in order.
type Answers = Vec<(String, Acceptance)>;

async fn writing(front: Front, number: usize, stop: Arc<AtomicBool>, commits: Arc<AtomicU64>) -> Answers {
    let mut told = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let text = format!("front {number} writes {}", told.len());
        let receipt = front.submit(report(&text)).await.expect("a receipt");
        if receipt.state == Acceptance::Committed {
            commits.fetch_add(1, Ordering::Relaxed);
        }
        told.push((text, receipt.state));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    told
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_writer_comes_back_at_once() {
    let kills = if long() { 1_000 } else { 25 };
    let mut dice = Dice::new(seed("kill -9 of the writer under 16 fronts"));
    let workspace = TempWorkspace::new();
    let (stop, commits) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let fronts: Vec<_> = (0..16)
        .map(|number| {
            tokio::spawn(writing(workspace.front(), number, Arc::clone(&stop), Arc::clone(&commits)))
        })
        .collect();
    let mut back = Vec::new();
    for _ in 0..kills {
        let deadline = system::instant() + Duration::from_secs(60);
        let (since, before) = (system::instant(), commits.load(Ordering::Relaxed));
        while commits.load(Ordering::Relaxed) == before {
            assert!(system::instant() < deadline, "no front commits again");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        back.push(since.elapsed());
        tokio::time::sleep(Duration::from_millis(20 + dice.below(150) as u64)).await;
        let text = std::fs::read_to_string(workspace.writer_lock()).unwrap_or_default();
        if let Some(pid) = text.trim().parse().ok().and_then(Pid::from_raw) {
            // It may be gone by now.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    stop.store(true, Ordering::Relaxed);
    let (mut expected, mut queued, mut longest) = (Vec::new(), 0, 0);
    for front in fronts {
        let mut run = 0;
        for (text, state) in front.await.expect("a front that never fails") {
            run = if state == Acceptance::Queued { run + 1 } else { 0 };
            queued += usize::from(state == Acceptance::Queued);
            longest = longest.max(run);
            expected.push(text);
        }
    }
    let share = 100.0 * queued as f64 / expected.len() as f64;
    eprintln!(
        "{kills} kills: {queued} of {} writes queued ({share:.2} %), at most {longest} in a row; back after {}",
        expected.len(),
        percentiles(&mut back)
    );
    expected.push("the last one".to_owned());
    let last = report("the last one");
    committed(&workspace.front(), &last).await.expect("a receipt");
    wait_until("the spool is empty", || Spool::of(&workspace).waiting() == 0);
    wait_until("what was queued is committed", || texts(&workspace.ledger()).len() >= expected.len());
    assert_eq!(texts(&workspace.ledger()), once(expected));
    workspace.end_writer();
}

/// A directory whose memory has a longer path than a socket may have.
fn long_root(dir: &Path) -> PathBuf {
    let root = dir.join("a-directory-with-a-long-name-".repeat(4));
    std::fs::create_dir(&root).expect("a directory");
    root
}

/// A process that writes one claim with directories for temporary files of its own.
fn elsewhere(root: &Path, temporary: &Path, text: &str) -> Command {
    let mut command = creating(root, text);
    command.env("TMPDIR", temporary).env("XDG_RUNTIME_DIR", temporary);
    command
}

/// The directories of sockets in a directory for temporary files.
fn socket_dirs(temporary: &Path) -> BTreeSet<PathBuf> {
    let entries = std::fs::read_dir(temporary).expect("a directory").flatten();
    entries.map(|entry| entry.path()).filter(|path| path.to_string_lossy().contains("hivemind-")).collect()
}

#[test]
fn a_long_path_has_one_writer_whatever_the_environment_says() {
    harness::assert_keys_stay_here();
    let [dir, one, two] = [(); 3].map(|()| tempfile::tempdir().expect("a temporary directory"));
    let _below = Below(dir.path().to_owned());
    let workspace = harness::at(&long_root(dir.path()));
    assert!(workspace.memory().as_os_str().len() > 100);
    assert_eq!(created(elsewhere(workspace.root(), one.path(), "of the first")), "committed");
    assert_eq!(created(elsewhere(workspace.root(), two.path(), "of the second")), "committed");
    assert_eq!((socket_dirs(one.path()).len(), socket_dirs(two.path()).len()), (1, 0), "one socket");
    assert_eq!(processes_of(dir.path()).len(), 1, "one writer");

    kill_writer(&workspace);
    assert_eq!(created(elsewhere(workspace.root(), two.path(), "after the kill")), "committed");
    assert_eq!(
        (socket_dirs(one.path()).len(), socket_dirs(two.path()).len()),
        (0, 1),
        "what was left is removed"
    );

    kill_process(writer_of(&workspace), Signal::TERM).expect("a writer to end");
    wait_until("the writer is gone", || processes_of(dir.path()).is_empty());
    assert_eq!(
        (socket_dirs(one.path()).len(), socket_dirs(two.path()).len()),
        (0, 0),
        "a normal end leaves none"
    );
    let all = ["of the first", "of the second", "after the kill"].map(str::to_owned);
    assert_eq!(texts(&workspace.ledger()), once(all));
}

#[test]
fn a_directory_that_others_may_enter_is_no_address() {
    harness::assert_keys_stay_here();
    let [dir, temporary] = [(); 2].map(|()| tempfile::tempdir().expect("a temporary directory"));
    let _below = Below(dir.path().to_owned());
    let workspace = harness::at(&long_root(dir.path()));
    assert_eq!(created(elsewhere(workspace.root(), temporary.path(), "before")), "committed");
    kill_writer(&workspace);

    // Somebody puts a directory that is open to all where the note leads, and listens there.
    let squatted = temporary.path().join("squatted");
    std::fs::create_dir(&squatted).expect("a directory");
    std::fs::set_permissions(&squatted, PermissionsExt::from_mode(0o777)).expect("our own directory");
    let listener = std::os::unix::net::UnixListener::bind(squatted.join("writer.sock")).expect("a socket");
    listener.set_nonblocking(true).expect("a socket");
    let note = workspace.memory().join("writer.addr");
    let noted = std::fs::read_to_string(&note).expect("the note");
    let whose = noted.split_once('\n').expect("an address and whose it is").1;
    std::fs::write(&note, format!("{}\n{whose}", squatted.join("writer.sock").display())).expect("the note");
    assert_eq!(created(elsewhere(workspace.root(), temporary.path(), "not for strangers")), "committed");
    assert!(listener.accept().is_err(), "nobody called the stranger");

    // The same with the directory of a living writer.
    let socket = std::fs::read_to_string(&note).expect("the note");
    let open =
        Path::new(socket.lines().next().expect("an address")).parent().expect("a directory").to_owned();
    std::fs::set_permissions(&open, PermissionsExt::from_mode(0o777)).expect("our own directory");
    let mut not_over_there = elsewhere(workspace.root(), temporary.path(), "not over there");
    not_over_there.env_remove("HM_PATIENCE_MS");
    assert_eq!(created(not_over_there), "queued");
    std::fs::set_permissions(&open, PermissionsExt::from_mode(0o700)).expect("our own directory");
    assert_eq!(created(elsewhere(workspace.root(), temporary.path(), "closed again")), "committed");
    wait_until("the spool is empty", || Spool::of(&workspace).waiting() == 0);
    let all = ["before", "not for strangers", "not over there", "closed again"].map(str::to_owned);
    assert_eq!(texts(&workspace.ledger()), once(all));
}

#[test]
fn the_writer_of_a_copy_leaves_the_socket_of_the_original_alone() {
    harness::assert_keys_stay_here();
    let dir = tempfile::tempdir().expect("a temporary directory");
    let _below = Below(dir.path().to_owned());
    let root = long_root(dir.path());
    let workspace = harness::at(&root);
    assert_eq!(created(creating(&root, "before the copy")), "committed");
    let copy = dir.path().join(format!("{}-copied", root.file_name().expect("a name").to_string_lossy()));
    // The writer may remove a file between its listing and its copy: `cp` tells of it, and the next copy is whole.
    let copied = || {
        let _ = std::fs::remove_dir_all(&copy);
        Command::new("cp").arg("-a").arg(&root).arg(&copy).status().expect("cp runs").success()
    };
    assert!((0..5).any(|_| copied()), "a directory that is left alone for a moment is copied");
    // Nobody's hm made the copy: its user names it.
    let mut in_copy = creating(&copy, "in the copy");
    in_copy.env("HM_DIR", &copy);
    assert_eq!(created(in_copy), "committed");
    assert_eq!(created(creating(&root, "in the original")), "committed");
    assert_eq!(processes_of(dir.path()).len(), 2, "a writer each");
    let texts_of = |root: &Path| texts(&root.join(".hivemind/runtime/ledger.sqlite"));
    assert_eq!(texts_of(&copy), once(["before the copy", "in the copy"].map(str::to_owned)));
    assert_eq!(texts(&workspace.ledger()), once(["before the copy", "in the original"].map(str::to_owned)));
}

/// A writer whose memory was removed ends after another one came up at the same path.
fn replaced(root: &Path) {
    let workspace = harness::at(root);
    assert_eq!(created(creating(root, "of the old memory")), "committed");
    let old = writer_of(&workspace);
    let stopped = Stopped::new(old);
    std::fs::rename(workspace.memory(), root.join("trash")).expect("a memory to remove");
    // The memory is missed, and the operator goes on without it.
    assert_eq!(created(creating(root, "of the new memory")), "queued");
    accept_loss(root);
    drop(stopped);
    wait_until("the old writer leaves", || !processes_of(root).iter().any(|(pid, _)| *pid == old));
    assert_eq!(created(creating(root, "after the old writer")), "committed");
    let new = ["of the new memory", "after the old writer"].map(str::to_owned);
    assert_eq!(texts(&workspace.ledger()), once(new));
    assert_eq!(texts(&root.join("trash/ledger.sqlite")), once(["of the old memory".to_owned()]));
}

#[test]
fn a_writer_that_leaves_takes_the_socket_of_no_other_with_it() {
    harness::assert_keys_stay_here();
    let dir = tempfile::tempdir().expect("a temporary directory");
    let _below = Below(dir.path().to_owned());
    let short = dir.path().join("short");
    std::fs::create_dir(&short).expect("a directory");
    replaced(&short);
    replaced(&long_root(dir.path()));
}

/// What the operator says to go on without the events that are missing.
fn accept_loss(root: &Path) {
    let mut command = Command::new(HM);
    command.args(["--agent", "operator"]).args(AS_OPERATOR);
    command.args(["repair", "--accept-loss", "--reason", "restored", "--dir"]).arg(root).current_dir(root);
    let done = command.output().expect("hm runs");
    assert!(done.status.success(), "{done:?}");
}

/// A backup put over the ledger is what is there from then on, without the log that the one before it left.
fn restored(is_writer_killed: bool) {
    harness::assert_keys_stay_here();
    let dir = tempfile::tempdir().expect("a temporary directory");
    let _below = Below(dir.path().to_owned());
    let root = dir.path().join("project");
    std::fs::create_dir(&root).expect("a directory");
    let workspace = harness::at(&root);
    let backup = dir.path().join("backup");
    let before: Vec<String> = (0..20).map(|number| format!("before the backup {number}")).collect();
    let after: Vec<String> = (0..20).map(|number| format!("after the backup {number}")).collect();
    for text in &before {
        assert_eq!(created(creating(&root, text)), "committed");
    }
    let words = ["backup", backup.to_str().expect("a path"), "--dir", root.to_str().expect("a path")];
    assert!(Command::new(HM).args(words).status().expect("hm runs").success());
    for text in &after {
        assert_eq!(created(creating(&root, text)), "committed");
    }
    let old = writer_of(&workspace);
    if is_writer_killed {
        kill_writer(&workspace);
    }
    std::fs::rename(backup.join(".hivemind/runtime/ledger.sqlite"), workspace.ledger())
        .expect("a restored ledger");
    wait_until("the old writer leaves", || !processes_of(&root).iter().any(|(pid, _)| *pid == old));
    assert_eq!(
        created(creating(&root, "after the restore")),
        "queued",
        "the ledger lacks what was seen of it"
    );
    accept_loss(&root);
    wait_until("what waited is committed", || Spool::of(&workspace).waiting() == 0);
    assert_eq!(created(creating(&root, "and on")), "committed");
    kill_writer(&workspace);
    let mut expected = before;
    expected.extend(["after the restore", "and on"].map(str::to_owned));
    assert_eq!(texts(&workspace.ledger()), once(expected));
    let verified = Command::new(HM).arg("verify").arg("--dir").arg(&root).output().expect("hm runs");
    assert!(verified.status.success(), "{verified:?}");
}

#[test]
fn a_backup_put_over_the_ledger_of_a_killed_writer_is_whole() {
    restored(true);
}

#[test]
fn a_backup_put_over_the_ledger_of_a_living_writer_is_whole() {
    restored(false);
}
