//! Disks that fail: calls of real fronts and writers are made to fail, one by one, once and for ever.
//!
//! Whatever fails, nobody is told of a write that is not there afterwards, what was there stays readable, and
//! once the disk works again every retry gets one receipt. Each case asserts that its fault fired.
//!
//! ```text
//! cargo test --test it disk                             # a few cases of each kind
//! HM_LONG=1 cargo test --test it disk -- --nocapture    # every Nth call until none is left
//! HM_FAULT="sync 5 3 once *" cargo test --test it disk::every   # one case: CALL ERRNO NTH TIMES FILE
//! ```
#![cfg(target_os = "linux")]

use std::iter;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use expect_test::expect;
use hivemind::domain::command::Submission;
use hivemind::domain::decide::Policy;
use hivemind::domain::receipt::{Acceptance, Receipt};
use hivemind::domain::rejection::{Code, Rejection};
use hivemind::ledger::Reader;
use hivemind::writer::{Committer, Front};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::faults::{self, Plan, Shim};
use crate::harness::{self, Dice, TempWorkspace, block_on, committed, creation, dump, long, with_key};
use crate::shell::Shell;

/// What the working process asked, and what it was told.
#[derive(Debug, Serialize, Deserialize)]
struct Asked {
    submission: Submission,
    answer: Result<Receipt, Rejection>,
}

#[test]
#[ignore = "run by the campaigns of failing disks as a process of its own"]
fn child_that_works() {
    let Some((_, root)) = harness::child() else { return };
    let workspace = harness::at(&root);
    let answers = PathBuf::from(harness::switch(ANSWERS).expect("a file for the answers"));
    let mut number = 0;
    let mut ask = async |front: &Front| {
        number += 1;
        let submission = with_key(creation("devops", &format!("fact {number} holds")), &format!("{number}"));
        let answer = front.submit(submission.clone()).await;
        let asked = Asked { submission, answer };
        faults::note(&answers, &serde_json::to_string(&asked).expect("plain data"));
    };
    block_on(async {
        let front = Front::new(workspace.clone(), harness::HM.into());
        for _ in 0..4 {
            ask(&front).await;
        }
        // Idle: logs go back into their files, and a checkpoint is sealed.
        tokio::time::sleep(Duration::from_millis(300)).await;
        harness::kill_writer(&workspace);
        let alone = Front::new(workspace.clone(), root.join("no-such-binary"));
        for _ in 0..3 {
            ask(&alone).await;
        }
        // Starts a writer, which replays the spool.
        let next = Front::new(workspace.clone(), harness::HM.into());
        for _ in 0..3 {
            ask(&next).await;
        }
    });
}

/// Where the working process writes what it was told.
const ANSWERS: &str = "HM_TEST_ANSWERS";

/// Works on a disk that fails as planned; false when the fault never fired.
fn works_through(plan: &Plan) -> bool {
    let workspace = TempWorkspace::new();
    let shim = Shim::below(workspace.memory(), Some(plan.clone()));
    let answers = shim.recording();
    std::fs::write(&answers, "").expect("a file for the answers");
    let mut child = harness::child_process("disk::child_that_works", 0, workspace.root());
    shim.around(&mut child, false);
    let output = child.env(ANSWERS, &answers).output().expect("a child to run");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{plan}: {said}");

    // While the disk still fails: reads go on.
    if let Some(ledger) = Reader::open(&workspace.ledger()).unwrap_or_else(|error| panic!("{plan}: {error}"))
    {
        let report = ledger.verify(|_| ());
        // Without a table there was never an event.
        assert!(
            report.as_ref().is_ok_and(|report| report.fault.is_none()) || is_empty(&workspace),
            "{plan}: {report:?}"
        );
    }

    shim.lift();
    harness::kill_writer(&workspace);
    let asked: Vec<Asked> = faults::calls(&answers)
        .iter()
        .map(|call| serde_json::from_str(call.note().expect("only notes")).expect("what the child noted"))
        .collect();
    assert_eq!(asked.len(), 10, "{plan}");
    let front = workspace.front();
    for Asked { submission, answer } in &asked {
        let again = block_on(committed(&front, submission));
        let again = again.unwrap_or_else(|refused| panic!("{plan}: {refused}"));
        match answer {
            Ok(first) => {
                assert!(again.duplicate, "{plan}: {first:?} was not there");
                assert_eq!(
                    (again.command_id, again.entity_id),
                    (first.command_id, first.entity_id),
                    "{plan}"
                );
                assert!(
                    first.state == Acceptance::Queued || first.seq == again.seq,
                    "{plan}: {first:?} {again:?}"
                );
            }
            Err(refused) => assert_eq!(refused.code, Code::Unavailable, "{plan}: {refused}"),
        }
    }
    workspace.end_writer();
    for Asked { submission, .. } in &asked {
        assert_eq!(workspace.events_of(submission.command_id).len(), 1, "{plan}: once, no more and no less");
    }
    workspace.assert_sound();
    shim.fired().is_some()
}

/// Whether no table was ever made.
fn is_empty(workspace: &TempWorkspace) -> bool {
    let db = rusqlite::Connection::open(workspace.ledger()).expect("the file");
    harness::strings(&db, "SELECT name FROM sqlite_schema WHERE name = 'events'").is_empty()
}

/// The kinds of calls that fail, how they do, and how many of them a short run takes as given to happen.
const KINDS: [(&str, Errno, usize); 6] = [
    ("sync", Errno::IO, 12),
    ("write", Errno::NOSPC, 300),
    ("write", Errno::IO, 300),
    ("truncate", Errno::IO, 2),
    ("unlink", Errno::IO, 2),
    ("open", Errno::ROFS, 12),
];

#[test]
fn every_call_may_fail() {
    if let Some(one) = harness::switch("HM_FAULT") {
        assert!(works_through(&one.parse().expect("a plan")), "the fault never fired: {one}");
        return;
    }
    let seed = harness::seed("failing disks");
    let (next, fired) = (AtomicUsize::new(0), AtomicU32::new(0));
    let works = |plan: &Plan| works_through(plan) && fired.fetch_add(1, Ordering::Relaxed) < u32::MAX;
    let work = || {
        while let Some((call, error, certain)) = KINDS.get(next.fetch_add(1, Ordering::Relaxed)) {
            let plan = |nth, forever| Plan {
                call: (*call).to_owned(),
                error: error.raw_os_error(),
                nth,
                forever,
                file: "*".to_owned(),
            };
            for forever in [false, true] {
                if long() {
                    let last = (1..).take_while(|nth| works(&plan(*nth, forever))).count();
                    eprintln!("{}: {last} cases", plan(0, forever));
                    assert!(last >= *certain, "{}: only {last} fired", plan(0, forever));
                    continue;
                }
                let mut dice = Dice::new(seed ^ call.len() as u64 ^ error.raw_os_error() as u64);
                if forever == (dice.below(2) == 0) {
                    let plan = plan(1 + dice.below(*certain) as u32, forever);
                    assert!(works(&plan), "HM_SEED={seed}: the fault never fired: {plan}");
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    eprintln!("{} faults fired", fired.load(Ordering::Relaxed));
}

/// A ledger of some pages, read models of some more, all of it in the two files, and no writer.
fn library() -> Shell {
    let shell = Shell::new();
    let workspace = shell.workspace();
    let front = Front::new(workspace.clone(), harness::HM.into());
    for number in 0..30 {
        let statement = format!("fact {number} holds {}", "in the pool of twenty ".repeat(20));
        block_on(committed(&front, &creation("devops", &statement))).expect("a receipt");
    }
    shell.end_writer();
    for file in [workspace.ledger(), workspace.team_memory()] {
        let db = rusqlite::Connection::open(file).expect("a database");
        db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("a checkpoint");
    }
    shell
}

/// The size of a page of SQLite, unless it is told otherwise.
const PAGE: usize = 4096;

/// Nothing where the file ends before it.
fn page(file: &Path, number: usize) -> Vec<u8> {
    let bytes = std::fs::read(file).expect("a file");
    bytes.get(number * PAGE..(number + 1) * PAGE).unwrap_or_default().to_vec()
}

fn put_page(file: &Path, number: usize, bytes: &[u8]) {
    let mut options = std::fs::File::options();
    let file = options.write(true).open(file).expect("a file");
    std::os::unix::fs::FileExt::write_all_at(&file, bytes, (number * PAGE) as u64).expect("a page");
}

/// Makes a database what it was, its log empty.
fn restore(file: &Path, whole: &[u8]) {
    for suffix in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", file.display()));
    }
    std::fs::write(file, whole).expect("a file");
}

/// Which pages of a file are damaged in turn: all of them in a long run, else the first one and three more.
fn pages(file: &Path, dice: &mut Dice) -> Vec<usize> {
    let all = std::fs::metadata(file).expect("a file").len() as usize / PAGE;
    if long() { (0..all).collect() } else { iter::once(0).chain((0..3).map(|_| dice.below(all))).collect() }
}

#[test]
fn damaged_read_models_are_made_anew_from_the_ledger() {
    let seed = harness::seed("damaged read models");
    let shell = library();
    let workspace = shell.workspace();
    let models = workspace.team_memory();
    let (whole, rows) = (std::fs::read(&models).expect("a file"), dump(&models));
    let mut noticed = 0;
    for number in pages(&models, &mut Dice::new(seed)) {
        put_page(&models, number, &[0xa5; PAGE]);
        let open = || Committer::open(&workspace, Policy::default(), harness::fixed_sources(1));
        let mut committer = open().unwrap_or_else(|error| panic!("HM_SEED={seed} page {number}: {error}"));
        let behind = committer.rebuild(|_| ());
        assert_eq!(behind.ok(), Some(30), "HM_SEED={seed} page {number}");
        drop(committer);
        assert_eq!(dump(&models), rows, "HM_SEED={seed} page {number}");
        noticed += usize::from(page(&models, number) != [0xa5; PAGE]);
        restore(&models, &whole);
    }
    assert!(noticed > 0, "no damage was ever in the way");
}

/// What the state home holds of the last checkpoint: a claim committed beside the damage moves it forward.
fn seals_beside_the_key(shell: &Shell) -> Vec<(PathBuf, Vec<u8>)> {
    let origins = std::fs::read_dir(shell.state_home().join("hivemind")).expect("the state").flatten();
    let files = origins.flat_map(|origin| std::fs::read_dir(origin.path()).into_iter().flatten().flatten());
    let seals = files.filter(|file| file.file_name().to_string_lossy().starts_with("sealed-"));
    seals.map(|file| (file.path(), std::fs::read(file.path()).expect("a file"))).collect()
}

#[test]
fn a_damaged_ledger_is_named_and_never_repaired() {
    let seed = harness::seed("damaged ledger");
    let shell = library();
    let ledger = shell.workspace().ledger();
    let [whole, models, sealed] =
        [ledger.clone(), shell.workspace().team_memory(), shell.workspace().checkpoints()]
            .map(|file| std::fs::read(file).expect("a file"));
    let seen = seals_beside_the_key(&shell);
    for number in pages(&ledger, &mut Dice::new(seed)) {
        put_page(&ledger, number, &[0xa5; PAGE]);
        let what = format!("HM_SEED={seed} page {number}");
        let verified = shell.run("hm verify");
        let said = String::from_utf8_lossy(&verified.stdout).into_owned();
        assert_eq!(verified.status.code(), Some(1), "{what}: {said}");
        assert!(said.contains("ledger.sqlite is damaged") && said.contains("hm backup"), "{what}: {said}");
        for read in ["hm claim list", "hm claim show C1", "hm context", "hm claim search timeout"] {
            assert!(shell.run(read).status.success(), "{what}: `{read}` goes on");
        }
        // Refused, queued, or committed beside the damage; whatever it is, it mends nothing.
        shell.run(r#"hm --agent devops claim create "one more" --scope ."#);
        shell.run("hm rebuild");
        assert!(page(&ledger, number) == [0xa5; PAGE], "{what}: somebody repaired the ledger");
        shell.end_writer();
        let _ = std::fs::remove_file(shell.workspace().spool());
        std::fs::write(shell.workspace().checkpoints(), &sealed).expect("a file");
        for (file, content) in &seen {
            std::fs::write(file, content).expect("a file");
        }
        restore(&shell.workspace().team_memory(), &models);
        restore(&ledger, &whole);
    }
    assert!(shell.run("hm verify").status.success(), "everything was put back");
}

/// What the operator sees of a disk that takes nothing: one line, after a claim was written before.
fn told_by(plan: &str) -> String {
    let mut shell = library();
    let plan: Plan = plan.parse().expect("a plan");
    let shim = Shim::below(shell.workspace().memory(), Some(plan));
    let run = |line: &str| {
        let mut command = shell.command(line);
        shim.around(&mut command, false);
        let output = command.output().expect("hm can be run");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        format!("$ {line}\n{said}[exit {:?}]\n", output.status.code())
    };
    let told = run(r#"hm --agent devops claim create "one more" --scope . --key k"#);
    let listed = run("hm claim list --json --limit 1");
    assert!(listed.contains("fact 29") && listed.contains("[exit Some(0)]"), "reads go on: {listed}");
    assert!(shim.fired().is_some(), "the fault never fired");
    shim.lift();
    shell.end_writer();
    let after = shell.transcript(r#"hm --agent devops claim create "one more" --scope . --key k"#);
    assert!(after.contains("committed at seq 31"), "{after}");
    told.replace(&shell.workspace().memory().display().to_string(), "RUNTIME")
}

#[test]
fn a_disk_that_takes_nothing_is_told_in_a_sentence() {
    // No space left for anything; a file system that turned read-only; a directory somebody took away.
    expect![[r#"
        $ hm --agent devops claim create "one more" --scope . --key k
        hm: no writer answers, and cannot spool to RUNTIME/spool.jsonl: No space left on device (os error 28); nothing was written: free disk space or mend the permissions, then retry with the same key
        [exit Some(75)]
    "#]].assert_eq(&told_by("write 28 1 forever *"));
    expect![[r#"
        $ hm --agent devops claim create "one more" --scope . --key k
        hm: no writer answers, and cannot spool to RUNTIME/spool.jsonl: Read-only file system (os error 30); nothing was written: this place may only be read, so write where the client itself runs, outside of its sandbox
        [exit Some(75)]
    "#]].assert_eq(&told_by("open 30 1 forever *"));
    expect![[r#"
        $ hm --agent devops claim create "one more" --scope . --key k
        hm: no writer answers, and cannot spool to RUNTIME/spool.jsonl: Permission denied (os error 13); nothing was written: free disk space or mend the permissions, then retry with the same key
        [exit Some(75)]
    "#]].assert_eq(&told_by("open 13 1 forever *"));
}

#[test]
fn a_locked_ledger_is_told_and_costs_nothing() {
    if !long() {
        // It takes as long as the writer waits for a lock: five seconds.
        return;
    }
    let shell = library().with_the_patience_of_a_user();
    let db = rusqlite::Connection::open(shell.workspace().ledger()).expect("the ledger");
    db.execute_batch("BEGIN IMMEDIATE").expect("nobody else holds it");
    let line = r#"hm --agent devops claim create "one more" --scope . --key k"#;
    // The writer waits for the lock; a front does not wait that long for the writer.
    let waiting = shell.run(line);
    let said = String::from_utf8_lossy(&waiting.stdout).into_owned();
    assert!(waiting.status.success() && said.contains("queued"), "{waiting:?}");
    assert!(shell.run("hm claim list").status.success(), "reads go on");
    db.execute_batch("ROLLBACK").expect("a transaction");
    harness::wait_until("it is committed once", || {
        let after = shell.run(line);
        String::from_utf8_lossy(&after.stdout).contains("committed at seq 31")
    });
}

/// Kills writers at one call after the other, on workspaces that `prepare` made; each time the next one finds
/// everything whole. Without a file the calls on all files count.
fn killed_at_each_write(what: &str, least: u32, prepare: impl Fn(&TempWorkspace)) {
    let seed = harness::seed(what);
    let mut dice = Dice::new(seed);
    let mut nth = 1;
    loop {
        let workspace = TempWorkspace::new();
        prepare(&workspace);
        let before = if workspace.ledger().exists() { workspace.events().len() } else { 0 };
        let plan: Plan = format!("write 0 {nth} once *").parse().expect("a plan");
        let shim = Shim::below(workspace.memory(), Some(plan));
        let mut writer = std::process::Command::new(harness::HM);
        writer.args(["writer", "--dir"]).arg(workspace.root()).stdin(std::process::Stdio::null());
        shim.around(&mut writer, false);
        let mut writer = writer.stderr(std::process::Stdio::null()).spawn().expect("a writer to start");
        let mut ended = false;
        harness::wait_until("the writer was killed, or is ready", || {
            ended = writer.try_wait().expect("a child to ask for").is_some();
            ended || workspace.socket().is_ok_and(|socket| socket.exists())
        });
        let _ = writer.kill();
        let _ = writer.wait();
        if shim.fired().is_none() {
            assert!(nth > least, "HM_SEED={seed}: only {nth} writes until {what} was done");
            eprintln!("{what}: done after {nth} writes");
            return;
        }
        let mut committer = workspace.committer(u64::from(nth));
        let one_more = committer.commit(&[creation("devops", "one more")]).expect("a ledger");
        assert!(one_more[0].is_ok(), "HM_SEED={seed} write {nth}: {one_more:?}");
        drop(committer);
        assert_eq!(workspace.events().len(), before + 1, "HM_SEED={seed} write {nth}");
        workspace.assert_sound();
        nth += if long() { 1 } else { 1 + dice.below(60) as u32 };
    }
}

#[test]
fn a_writer_killed_while_it_migrates_leaves_what_the_next_one_finishes() {
    killed_at_each_write("migration", 60, |_| {});
}

#[test]
fn a_writer_killed_while_it_folds_anew_leaves_what_the_next_one_finishes() {
    killed_at_each_write("new fold", 20, |workspace| {
        let mut committer = workspace.committer(9);
        let group: Vec<_> = (0..100).map(|at| creation("devops", &format!("fact {at} holds"))).collect();
        committer.commit(&group).expect("a ledger that takes commands");
        let models = rusqlite::Connection::open(workspace.team_memory()).expect("read models");
        models.execute_batch("PRAGMA user_version = 1").expect("read models of an older fold");
    });
}
