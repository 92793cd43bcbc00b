//! Power loss: every write and sync of a real workload is recorded, and disks are rebuilt from the recording as
//! a power cut could have left them. Nothing that was acknowledged may be missing on any of them.
//!
//! What is on such a disk: all that was synced before the cut, and of the rest nothing, everything, or any
//! part of it in any order, writes torn at sectors of 512 bytes. A new file's name is there for sure only once
//! its directory was synced.
//!
//! ```text
//! cargo test --test it power                            # 60 disks of each kind
//! HM_LONG=1 cargo test --test it power -- --nocapture   # 3,000
//! ```
//!
//! Processes never work twice in the same order, so a campaign at fault keeps its recording and says where:
//! `HM_RECORDING=FILE HM_SEED=7` looks at the same disks again.
//!
//! The control takes the same recording with the syncs left out that `synchronous=NORMAL` would leave out,
//! and must lose acknowledged writes: if it does not, this campaign sees nothing.
#![cfg(target_os = "linux")]

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hivemind::checkpoints::Checkpoints;
use hivemind::domain::claim::{Position, ReportKind};
use hivemind::domain::command::{Command, ReportEvent, Submission};
use hivemind::domain::decide::Policy;

use hivemind::domain::ids::{CommandId, EventId};
use hivemind::domain::receipt::{Acceptance, Receipt};
use hivemind::ledger::{Cursor, Ledger, Reader};
use hivemind::spool::Spool;
use hivemind::store::Projection;
use hivemind::system;
use hivemind::workspace::Workspace;
use hivemind::writer::{Committer, Front};
use serde::{Deserialize, Serialize};

use crate::faults::{self, Call, Plan, Shim};
use crate::harness::{self, Dice, block_on, claim_of, creation, dump, long, position, request, with_key};
use crate::shell::environment;

/// The unit that a disk writes whole.
const SECTOR: usize = 512;
/// How many calls after a failed sync the power fails at the latest: before the log starts again.
const SOON_AFTER: usize = 200;
/// The ledger's files below the workspace.
const LEDGER: &str = ".hivemind/runtime/ledger.sqlite";
const LOG: &str = ".hivemind/runtime/ledger.sqlite-wal";

/// What a client was told, in the recording at the place where it heard it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Acknowledged {
    command_id: CommandId,
    committed: bool,
    seq: Option<u64>,
}

/// How many disks are rebuilt and looked at.
fn disks() -> usize {
    if long() { 3_000 } else { 60 }
}

/// Where a campaign keeps what it recorded, once something is at fault.
fn kept(seed: u64) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("power-{seed}.recording"))
}

/// A workload's calls, in order; the process that worked had the shim and `plan` around it.
fn recorded(plan: Option<Plan>, seed: u64) -> Vec<Call> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let shim = Shim::below(dir.path(), plan.clone());
    let recording = match harness::switch("HM_RECORDING") {
        Some(recording) => recording.into(),
        None => {
            let state_home = dir.path().join("state");
            let workspace = Workspace::init(dir.path(), &environment(&state_home)).expect("a workspace");
            let mut child = harness::child_process("power::child_that_works", 0, workspace.root());
            shim.around(&mut child, true);
            child.env("XDG_STATE_HOME", state_home);
            let output = child.output().expect("a child to run");
            let said = String::from_utf8_lossy(&output.stdout);
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && said.contains("1 passed"), "{said}\n{errors}");
            if let Some(plan) = plan {
                assert!(shim.fired().is_some(), "the fault never fired: {plan}");
            }
            std::fs::rename(shim.recording(), kept(seed)).expect("a directory to keep it in");
            kept(seed)
        }
    };
    let calls = faults::calls(&recording);
    let count = |is: fn(&Call) -> bool| calls.iter().filter(|call| is(call)).count();
    assert!(count(|call| call.note().is_some()) > 50, "hardly anything was acknowledged");
    assert!(count(|call| matches!(call, Call::Sync { .. })) > 50, "hardly anything was synced");
    calls
}

#[test]
#[ignore = "run by the campaigns of power loss as a process of its own"]
fn child_that_works() {
    let Some((_, root)) = harness::child() else { return };
    let workspace = harness::at(&root);
    let recording = PathBuf::from(harness::switch("HM_SHIM_RECORD").expect("a recording"));
    let heard = move |receipt: &Receipt| {
        let committed = receipt.state == Acceptance::Committed;
        let told = Acknowledged { command_id: receipt.command_id, committed, seq: receipt.seq };
        faults::note(&recording, &serde_json::to_string(&told).expect("plain data"));
    };
    block_on(async {
        let mut number = 0;
        for _ in 0..2 {
            let front = Front::new(workspace.clone(), harness::HM.into());
            for round in 0..8 {
                // One client alone, then some at once: groups of one and of several.
                let clients = (0..[1, 3][round % 2]).map(|_| {
                    let (front, work, heard) = (front.clone(), work(&mut number), heard.clone());
                    tokio::spawn(async move {
                        for submission in work {
                            heard(&front.submit(submission).await.expect("a receipt"));
                        }
                    })
                });
                for client in clients.collect::<Vec<_>>() {
                    client.await.expect("a client that does not panic");
                }
            }
            // Idle: both logs go back into their files, a checkpoint is sealed, the log starts again.
            tokio::time::sleep(Duration::from_millis(400)).await;
            for submission in work(&mut number) {
                heard(&front.submit(submission).await.expect("a receipt"));
            }
            harness::kill_writer(&workspace);
            let alone = Front::new(workspace.clone(), root.join("no-such-binary"));
            for submission in (0..3).flat_map(|_| work(&mut number)) {
                heard(&alone.submit(submission).await.expect("a receipt"));
            }
            // Starts the next writer, which replays the spool first.
            let next = Front::new(workspace.clone(), harness::HM.into());
            heard(
                &next
                    .submit(creation("devops", &format!("round {number} is over")))
                    .await
                    .expect("a receipt"),
            );
        }
    });
    harness::kill_writer(&workspace);
}

/// Three commands: a claim, what another agent thinks of it, and a report that fills some pages.
fn work(number: &mut u64) -> Vec<Submission> {
    *number += 1;
    let claim = with_key(creation("devops", &format!("fact {number} holds")), &format!("key-{number}"));
    let support = position("analyst", claim_of(&claim), Position::Support);
    let report = ReportEvent {
        event_id: EventId::from_uuid(system::new_id()),
        kind: ReportKind::Note,
        summary: format!("note {number} {}", "of the pool ".repeat(80)).parse().expect("a summary"),
        paths: Vec::new(),
        command: None,
        exit_code: None,
        error_signature: None,
    };
    vec![claim, support, request("frontend", Command::ReportEvent(report))]
}

/// How a power cut treats what was not synced.
#[derive(Debug, Clone, Copy)]
enum Cut {
    /// Nothing of it arrived.
    Dropped,
    /// Each write arrived or did not.
    Reordered,
    /// Each sector arrived or did not.
    Torn,
    /// Everything arrived.
    Kept,
}

impl Cut {
    const ALL: [Self; 4] = [Self::Dropped, Self::Reordered, Self::Torn, Self::Kept];
}

/// A change of a file that is not synced yet.
#[derive(Debug)]
enum Change<'a> {
    Write { offset: usize, data: &'a [u8] },
    Truncate { len: usize },
}

/// What a file is on the disk, and what waits to be.
#[derive(Debug, Default)]
struct Inode<'a> {
    durable: Vec<u8>,
    waiting: Vec<Change<'a>>,
}

/// A change of a directory that is not synced yet.
#[derive(Debug)]
enum Renaming {
    Put(String, usize),
    Remove(String),
}

impl Renaming {
    fn apply(self, names: &mut BTreeMap<String, usize>) {
        match self {
            Self::Put(name, inode) => drop(names.insert(name, inode)),
            Self::Remove(name) => drop(names.remove(&name)),
        }
    }
}

/// A disk under a file system that promises what POSIX does, and no more.
#[derive(Debug, Default)]
struct Disk<'a> {
    inodes: Vec<Inode<'a>>,
    /// As processes see them.
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    waiting_names: Vec<Renaming>,
}

impl<'a> Disk<'a> {
    /// The disk after some calls, what was not synced still waiting.
    fn after(calls: &'a [Call], dice: &mut Dice) -> Self {
        let mut disk = Self::default();
        for call in calls {
            disk.take(call, dice);
        }
        disk
    }

    fn take(&mut self, call: &'a Call, dice: &mut Dice) {
        match call {
            Call::Write { path, offset, data } => {
                self.change(path, Change::Write { offset: *offset, data });
            }
            Call::Truncate { path, len } => self.change(path, Change::Truncate { len: *len }),
            Call::Create { path } => {
                self.inodes.push(Inode::default());
                self.put(path, self.inodes.len() - 1);
            }
            Call::Link { from, to } => self.put(to, self.names[from]),
            Call::Rename { from, to } => {
                self.put(to, self.names[from]);
                self.remove(from);
            }
            Call::Unlink { path } => self.remove(path),
            Call::Sync { path, failed } => match self.names.get(path) {
                // The kernel drops what it could not write, and does not try again: what waited is clean
                // in memory now, and on the disk or not.
                Some(inode) => {
                    let cut = if *failed { Cut::Torn } else { Cut::Kept };
                    self.inodes[*inode].settle(cut, dice);
                }
                None if *failed => {}
                None => {
                    let within = |name: &str| Path::new(name).parent() == Some(Path::new(path));
                    for renaming in std::mem::take(&mut self.waiting_names) {
                        let (Renaming::Put(name, _) | Renaming::Remove(name)) = &renaming;
                        if within(name) {
                            renaming.apply(&mut self.durable_names);
                        } else {
                            self.waiting_names.push(renaming);
                        }
                    }
                }
            },
            Call::Note(_) => {}
        }
    }

    fn change(&mut self, path: &str, change: Change<'a>) {
        // A socket or a file that was there before is none of those looked at.
        if let Some(inode) = self.names.get(path) {
            self.inodes[*inode].waiting.push(change);
        }
    }

    fn put(&mut self, path: &str, inode: usize) {
        self.names.insert(path.to_owned(), inode);
        self.waiting_names.push(Renaming::Put(path.to_owned(), inode));
    }

    fn remove(&mut self, path: &str) {
        self.names.remove(path);
        self.waiting_names.push(Renaming::Remove(path.to_owned()));
    }

    /// The power fails: what is on the disk, file by file.
    fn cut(mut self, cut: Cut, dice: &mut Dice) -> BTreeMap<String, Vec<u8>> {
        let arrived = match cut {
            Cut::Dropped => 0,
            Cut::Kept => self.waiting_names.len(),
            // A journal keeps the order of names.
            Cut::Reordered | Cut::Torn => dice.below(self.waiting_names.len() + 1),
        };
        for renaming in self.waiting_names.drain(..arrived) {
            renaming.apply(&mut self.durable_names);
        }
        for inode in &mut self.inodes {
            inode.settle(cut, dice);
        }
        let inodes = &self.inodes;
        self.durable_names
            .iter()
            .map(|(name, inode)| (name.clone(), inodes[*inode].durable.clone()))
            .collect()
    }
}

impl Inode<'_> {
    /// What waits arrives on the disk, as far as `cut` lets it; nothing waits any more.
    fn settle(&mut self, cut: Cut, dice: &mut Dice) {
        for change in std::mem::take(&mut self.waiting) {
            match change {
                Change::Truncate { len } if arrives(cut, dice) => self.durable.resize(len, 0),
                Change::Truncate { .. } => {}
                Change::Write { offset, data } if matches!(cut, Cut::Torn) => {
                    // Sectors lie where the file says, not where the write begins.
                    let first = SECTOR - offset % SECTOR;
                    let mut at = 0;
                    while at < data.len() {
                        let end = data.len().min(if at == 0 { first } else { at + SECTOR });
                        if arrives(cut, dice) {
                            self.put(offset + at, &data[at..end]);
                        }
                        at = end;
                    }
                }
                Change::Write { offset, data } if arrives(cut, dice) => self.put(offset, data),
                Change::Write { .. } => {}
            }
        }
    }

    fn put(&mut self, offset: usize, data: &[u8]) {
        let end = offset + data.len();
        if self.durable.len() < end {
            self.durable.resize(end, 0);
        }
        self.durable[offset..end].copy_from_slice(data);
    }
}

fn arrives(cut: Cut, dice: &mut Dice) -> bool {
    match cut {
        Cut::Dropped => false,
        Cut::Kept => true,
        Cut::Reordered | Cut::Torn => dice.below(2) == 0,
    }
}

/// The recording as `synchronous=NORMAL` would have made it: the log is synced before it is copied back into
/// the ledger, and at no commit.
fn without_commit_syncs(calls: &[Call]) -> Vec<Call> {
    let before_copying = |at: usize| {
        let mut next = calls[at + 1..].iter();
        next.find(|call| [LEDGER, LOG].contains(&call.touches())).is_some_and(|call| call.touches() == LEDGER)
    };
    let dropped = |at: usize, call: &Call| {
        matches!(call, Call::Sync { path, .. } if path == LOG) && !before_copying(at)
    };
    calls.iter().enumerate().filter(|(at, call)| !dropped(*at, call)).map(|(_, call)| call.clone()).collect()
}

/// Opens what a power cut left, as the next writer does, and says what is wrong with it.
fn fault(files: &BTreeMap<String, Vec<u8>>, told: &[Acknowledged], rebuilds: bool) -> Option<String> {
    // Memory if there is such a file system: nothing here outlives the test.
    let memory = Path::new("/dev/shm");
    let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let dir = dir.expect("a temporary directory");
    let workspace = harness::at(dir.path());
    for (name, bytes) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a file lies somewhere")).expect("a directory");
        std::fs::write(path, bytes).expect("a file");
    }
    let state = dir.path().join("state");
    let opened =
        Committer::open_sealed(&workspace, Policy::default(), harness::fixed_sources(1), Some(&state));
    let mut committer = match opened {
        Ok(committer) => committer,
        Err(error) => return Some(format!("it does not open: {error}")),
    };
    // Before the spool is replayed: what was said to be committed needs no spool.
    let reader = Reader::open(&workspace.ledger()).expect("a readable ledger").expect("a ledger");
    let report = reader.verify(|_| ()).expect("a readable ledger");
    if let Some(fault) = report.fault {
        return Some(format!("the chain is broken: {fault}"));
    }
    let last_seqs = || -> BTreeMap<CommandId, u64> {
        let events = reader.read_from(Cursor::GENESIS, usize::MAX >> 1).expect("readable events");
        events.iter().map(|event| (event.causation, event.seq)).collect()
    };
    let seqs = last_seqs();
    let lost = |told: &&Acknowledged| told.committed && seqs.get(&told.command_id).copied() != told.seq;
    if let Some(lost) = told.iter().find(lost) {
        return Some(format!("committed and lost: {lost:?}"));
    }
    let checkpoints = Checkpoints::of(workspace.memory(), Some(&state));
    let loaded = checkpoints.load(Some(&reader)).expect("a readable ledger");
    let checked = loaded.check(Some(&reader), report.head).expect("a readable ledger");
    if let Some(fault) = checked.fault {
        return Some(format!("a checkpoint does not hold: {fault}"));
    }
    if let Some(damage) = committer.damage() {
        return Some(format!("an honest power cut is taken for a damage: {damage:?}"));
    }
    if let Err(error) = hivemind::writer::replay(&mut committer, &Spool::of(&workspace)) {
        return Some(format!("the spool is not replayed: {error}"));
    }
    let seqs = last_seqs();
    if let Some(lost) = told.iter().find(|told| !seqs.contains_key(&told.command_id)) {
        return Some(format!("queued and lost: {lost:?}"));
    }
    if !rebuilds {
        return None;
    }
    let rebuilt = dir.path().join("rebuilt.sqlite");
    let of = Ledger::open(&workspace.ledger()).expect("the ledger");
    Projection::open(&rebuilt).expect("new read models").rebuild(&of, |_| ()).expect("a rebuild");
    (dump(&workspace.team_memory()) != dump(&rebuilt))
        .then(|| "the read models differ from a rebuild".to_owned())
}

/// What became of the disks of a campaign.
struct Outcome {
    faults: Vec<String>,
    looked_at: usize,
    acknowledged: usize,
    calls: usize,
}

/// Cuts the power at random places of a recording, within a part of it.
fn campaign(calls: &[Call], within: Range<usize>, disks: usize, seed: u64) -> Outcome {
    let told: Vec<(usize, Acknowledged)> = calls
        .iter()
        .enumerate()
        .filter_map(|(at, call)| {
            Some((at, serde_json::from_str(call.note()?).expect("what the child noted")))
        })
        .collect();
    let answers: Vec<usize> = told.iter().map(|(at, _)| *at).filter(|at| within.contains(at)).collect();
    let commands: BTreeSet<CommandId> = told.iter().map(|(_, told)| told.command_id).collect();
    let one = |disk: usize| -> Option<String> {
        let mut dice = Dice::new(seed.wrapping_add(disk as u64));
        let cut = Cut::ALL[disk % Cut::ALL.len()];
        // Half of them just after somebody was told something: that is where a lie shows.
        // A sync that fails early leaves no answer to cut after.
        let at = match dice.below(2) {
            _ if answers.is_empty() => within.start + dice.below(within.len() + 1),
            0 => within.start + dice.below(within.len() + 1),
            _ => answers[dice.below(answers.len())] + 1,
        };
        let files = Disk::after(&calls[..at], &mut dice).cut(cut, &mut dice);
        let told: Vec<Acknowledged> =
            told.iter().take_while(|(when, _)| *when < at).map(|(_, told)| told.clone()).collect();
        // Folding anew takes as long as all the rest: a short run does it for some disks of each kind.
        fault(&files, &told, long() || disk.is_multiple_of(5))
            .map(|fault| format!("disk {disk}, {cut:?} after call {at}: {fault}"))
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let faults = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|first| {
                scope.spawn(move || (first..disks).step_by(threads).filter_map(one).collect::<Vec<_>>())
            })
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().expect("a campaign that does not panic"))
            .collect()
    });
    Outcome { faults, looked_at: disks, acknowledged: commands.len(), calls: calls.len() }
}

/// Fails when a disk was at fault, and says how to see it again.
fn assert_faultless(outcome: &Outcome, seed: u64) {
    let Outcome { faults, looked_at, acknowledged, calls } = outcome;
    let found = faults.len();
    eprintln!("{calls} calls, {acknowledged} acknowledged, {looked_at} disks: {found} at fault");
    let recording = kept(seed);
    assert!(
        faults.is_empty(),
        "HM_RECORDING={} HM_SEED={seed}: {found} of {looked_at}\n{}",
        recording.display(),
        faults.join("\n")
    );
    // Kept for those who look into a fault; a replayed one is somebody else's.
    let _ = std::fs::remove_file(recording);
}

#[test]
fn a_power_cut_loses_nothing_that_was_acknowledged() {
    let seed = harness::seed("power loss");
    let calls = recorded(None, seed);
    let control = without_commit_syncs(&calls);
    let control = campaign(&control, 0..control.len(), disks() / 2, seed);
    assert_faultless(&campaign(&calls, 0..calls.len(), disks(), seed), seed);

    let lost = control.faults.iter().filter(|fault| fault.contains("committed and lost")).count();
    eprintln!(
        "without the syncs of commits: {lost} of {} disks lost what was acknowledged",
        control.looked_at
    );
    // Two disks in three lose something, in the long run. A short one may meet fewer.
    assert!(lost * 4 > control.looked_at, "HM_SEED={seed}: the campaign does not see a missing sync");
}

/// A disk that fails one sync of the ledger's log and then says nothing of it any more, as disks do: what it
/// lost looks written until the power is cut.
#[test]
fn what_a_failed_sync_lost_is_never_taken_for_written() {
    let seed = harness::seed("power loss after a failed sync");
    let mut dice = Dice::new(seed);
    for _ in 0..if long() { 20 } else { 1 } {
        let nth = 2 + dice.below(10) as u32;
        let plan = Plan {
            call: "sync".to_owned(),
            error: rustix::io::Errno::IO.raw_os_error(),
            nth,
            forever: false,
            file: "ledger.sqlite-wal".to_owned(),
        };
        let calls = recorded(Some(plan), seed);
        let failed = calls.iter().position(|call| matches!(call, Call::Sync { failed: true, .. }));
        let failed = failed.expect("the recording holds the failed sync");
        let after = failed..calls.len().min(failed + SOON_AFTER);
        assert_faultless(&campaign(&calls, after, disks() / 3, seed), seed);
    }
}
