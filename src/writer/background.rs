//! The writer's schedule: a table of jobs, the thread for jobs that only read, and the results of the last runs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use super::commit::Committer;
use super::erasure::erase;
use super::error::WriterError;
use super::patterns::mine;
use super::{commits, meaning, mining, mirroring, sweeps};
use crate::integrity::{Scan, ScanError};
use crate::schedule::{JobOutcome, JobRun, JobRuns, Schedule};
use crate::system;
use crate::workspace::Workspace;

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;

/// Jobs that also run when a session starts, and the least time between two such runs, since many panes start
/// together.
const AT_SESSION_START: [(&str, i64); 4] =
    [("ttl_sweep", 0), ("patterns", MINUTE_MS), ("integrity", 10 * MINUTE_MS), ("git", 10_000)];

/// The jobs of the writer. Each runs at the writer's start and then at its interval.
const JOBS: [Job; 13] = [
    Job { name: "ttl_sweep", every_ms: MINUTE_MS, lane: Lane::Writes(sweep) },
    Job { name: "sessions", every_ms: MINUTE_MS, lane: Lane::Writes(sessions) },
    Job { name: "silence", every_ms: MINUTE_MS, lane: Lane::Writes(silence) },
    Job { name: "patterns", every_ms: 5 * MINUTE_MS, lane: Lane::Writes(patterns) },
    Job { name: "erasure", every_ms: 5 * MINUTE_MS, lane: Lane::Writes(erasure) },
    Job { name: "health", every_ms: 5 * MINUTE_MS, lane: Lane::Reads(health) },
    Job { name: "git", every_ms: 5 * MINUTE_MS, lane: Lane::Finds(git) },
    Job { name: "integrity", every_ms: 24 * HOUR_MS, lane: Lane::Reads(integrity) },
    Job { name: "mirror", every_ms: 5 * MINUTE_MS, lane: Lane::Reads(mirroring::look) },
    Job { name: "playbooks", every_ms: 5 * MINUTE_MS, lane: Lane::Finds(mining::playbooks) },
    Job { name: "reflection", every_ms: 4 * HOUR_MS, lane: Lane::Finds(mining::reflection) },
    Job { name: "merges", every_ms: 5 * MINUTE_MS, lane: Lane::Finds(mining::merges) },
    Job { name: "meanings", every_ms: MINUTE_MS, lane: Lane::Finds(meaning::look) },
];

/// What a job that records says where the policy of the memory lets nothing be written.
pub(super) const CLOSED: &str = "off: [policy] lets nothing be written";

struct Job {
    name: &'static str,
    every_ms: i64,
    lane: Lane,
}

/// Where a job runs. A job that may take longer than a moment must only read.
#[derive(Clone, Copy)]
enum Lane {
    /// On the committing thread, between two groups.
    Writes(fn(&mut Committer) -> Result<Ended, WriterError>),
    /// On the background thread, with read handles of its own.
    Reads(Look),
    /// On the background thread too, from the cursor of the last run. The committing thread records the findings.
    Finds(Find),
}

type Look = fn(&Workspace, &AtomicBool) -> Result<Ended, ScanError>;
/// The cursor is the one of the last run, or 0. A job that starts again from 0 finds the same, and the ledger has it
/// already. So the cursor only saves work, and the writer keeps it in memory.
type Find = fn(&Workspace, u64, &AtomicBool) -> Result<Found, ScanError>;
/// Records findings of a job, on the committing thread between two groups. Clients wait meanwhile, so it must be
/// short: it returns whether more of them wait for the next time.
pub(super) type Recording = Box<dyn FnMut(&mut Committer) -> Result<bool, WriterError> + Send>;

/// How a job ended, and a sentence about it.
pub(super) type Ended = (JobOutcome, String);

/// What a job found.
pub(super) struct Found {
    pub(super) ended: Ended,
    pub(super) recording: Option<Recording>,
    /// Where the next run goes on.
    pub(super) cursor: u64,
    /// Whether the job runs again as soon as its findings are recorded.
    pub(super) has_more: bool,
}

/// The schedule, owned by the committing thread.
pub(super) struct Background {
    schedule: Schedule,
    request_tx: Option<Sender<Request>>,
    result_rx: Receiver<Done>,
    cursors: BTreeMap<&'static str, u64>,
    recordings: VecDeque<Recording>,
    /// Ledger position of the last command that made a commit and was followed by a look at the commits.
    committed_seq: u64,
    /// Jobs that run again once nothing waits to be recorded.
    unfinished: BTreeSet<&'static str>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

enum Request {
    /// With the cursor of its last run.
    Run(&'static str, Lane, u64),
    Save(JobRuns),
}

/// A job that ran on the background thread.
struct Done {
    name: &'static str,
    run: JobRun,
    recording: Option<Recording>,
    cursor: u64,
    has_more: bool,
}

impl Background {
    /// Starts the background thread. The jobs begin with the first [`Background::tick`].
    pub(super) fn start(workspace: &Workspace) -> io::Result<Self> {
        let (request_tx, request_rx) = channel();
        let (result_tx, result_rx) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let (workspace, stopped) = (workspace.clone(), Arc::clone(&stop));
        let thread = std::thread::Builder::new().name("background".to_owned()).spawn(move || {
            system::go_last();
            for request in request_rx {
                match request {
                    Request::Run(..) if stopped.load(Ordering::Relaxed) => {}
                    // The receiver is gone when the writer exits.
                    Request::Run(name, lane, mut cursor) => {
                        let (mut recording, mut has_more) = (None, false);
                        let run = run(|| match lane {
                            Lane::Reads(look) => look(&workspace, &stopped),
                            Lane::Finds(find) => {
                                let found = find(&workspace, cursor, &stopped)?;
                                (recording, cursor, has_more) =
                                    (found.recording, found.cursor, found.has_more);
                                Ok(found.ended)
                            }
                            Lane::Writes(_) => Ok((JobOutcome::Failed, "it needs the committer".to_owned())),
                        });
                        drop(result_tx.send(Done { name, run, recording, cursor, has_more }));
                    }
                    Request::Save(runs) => {
                        if let Err(error) = runs.save(&workspace.schedule()) {
                            tracing::warn!(%error, "cannot write down what the background jobs did");
                        }
                    }
                }
            }
        })?;
        let schedule = Schedule::new(JOBS.iter().map(|job| (job.name, job.every_ms)));
        Ok(Self {
            schedule,
            request_tx: Some(request_tx),
            result_rx,
            cursors: BTreeMap::new(),
            recordings: VecDeque::new(),
            committed_seq: 0,
            unfinished: BTreeSet::new(),
            stop,
            thread: Some(thread),
        })
    }

    /// Starts due jobs and records finished ones; when there are none it only reads the clock.
    ///
    /// # Errors
    /// [`WriterError`] of a job that writes: the state of the disk is then unknown.
    pub(super) fn tick(&mut self, committer: &mut Committer) -> Result<(), WriterError> {
        let mut news = false;
        while let Ok(Done { name, run, recording, cursor, has_more }) = self.result_rx.try_recv() {
            self.schedule.finished(name, run);
            self.cursors.insert(name, cursor);
            self.recordings.extend(recording);
            self.unfinished.extend(has_more.then_some(name));
            news = true;
        }
        // The jobs read config.toml, and the policy in force may be another one.
        if let Some(mut record) = self.recordings.pop_front()
            && committer.memory_policy.closed().is_none()
            && record(committer)?
        {
            self.recordings.push_back(record);
        }
        if self.recordings.is_empty() {
            for name in std::mem::take(&mut self.unfinished) {
                self.schedule.ask_for(name, 0, system::now());
            }
        }
        // The team hears of a commit at once, and not at the next look some minutes later.
        let committed_seq = committer.state().committed_seq();
        if committed_seq > std::mem::replace(&mut self.committed_seq, committed_seq) {
            self.schedule.ask_for("git", 0, system::now());
        }
        for name in self.schedule.due(system::now()) {
            let Some(job) = JOBS.iter().find(|job| job.name == name) else { continue };
            self.schedule.started(name);
            match job.lane {
                Lane::Reads(_) | Lane::Finds(_) => {
                    let cursor = self.cursors.get(name).copied().unwrap_or(0);
                    self.request(Request::Run(name, job.lane, cursor));
                }
                Lane::Writes(write) => {
                    let (last_run_at, began) = (system::now(), system::instant());
                    let (outcome, detail) = write(committer)?;
                    let took_ms = began.elapsed().as_millis() as u64;
                    self.schedule.finished(name, JobRun { last_run_at, took_ms, outcome, detail });
                    news = true;
                }
            }
        }
        if news {
            self.request(Request::Save(self.schedule.runs().clone()));
        }
        Ok(())
    }

    /// Makes the jobs of [`AT_SESSION_START`] due, because a session has started.
    pub(super) fn session_started(&mut self) {
        for (name, apart_ms) in AT_SESSION_START {
            self.schedule.ask_for(name, apart_ms, system::now());
        }
    }

    /// The read models were rebuilt: makes the jobs due that look into them, because the rebuild may
    /// have fixed their findings.
    pub(super) fn rebuilt(&mut self) {
        for name in ["health", "integrity"] {
            self.schedule.ask_for(name, 0, system::now());
        }
    }

    fn request(&self, request: Request) {
        if let Some(request_tx) = &self.request_tx {
            // The thread reports its own end, so this error is ignored.
            let _ = request_tx.send(request);
        }
    }

    /// Stops the running job at its next step and waits for it.
    pub(super) fn finish(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.request_tx = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the background thread panicked");
        }
    }
}

/// Runs a job that only reads. A panic counts as a failure.
fn run(look: impl FnOnce() -> Result<Ended, ScanError>) -> JobRun {
    let (last_run_at, began) = (system::now(), system::instant());
    let (outcome, detail) = match catch_unwind(AssertUnwindSafe(look)) {
        Ok(Ok(ended)) => ended,
        Ok(Err(error)) => (JobOutcome::Failed, error.to_string()),
        Err(_) => (JobOutcome::Failed, "it panicked: see writer.log in the memory".to_owned()),
    };
    JobRun { last_run_at, took_ms: began.elapsed().as_millis() as u64, outcome, detail }
}

fn sweep(committer: &mut Committer) -> Result<Ended, WriterError> {
    let swept = sweeps::sweep(committer)? + sweeps::forget(committer)?;
    // An import may bring names of targets as an earlier release wrote them.
    sweeps::join_respelled(committer)?;
    sweeps::confirm_alone(committer)?;
    let left = committer.state().expired(system::now()).len();
    Ok(match left {
        0 => (JobOutcome::Ok, format!("{swept} claims expired")),
        left => (JobOutcome::Failed, format!("{left} claims are over and could not be ended")),
    })
}

fn sessions(committer: &mut Committer) -> Result<Ended, WriterError> {
    let closed = sweeps::close_overdue(committer)?;
    Ok((JobOutcome::Ok, format!("{closed} leases and sessions closed")))
}

fn silence(committer: &mut Committer) -> Result<Ended, WriterError> {
    let agreed = sweeps::agree(committer)?;
    Ok((JobOutcome::Ok, format!("{agreed} claims agreed by silence")))
}

fn patterns(committer: &mut Committer) -> Result<Ended, WriterError> {
    let changed = mine(committer)?;
    Ok((JobOutcome::Ok, format!("{changed} patterns opened or closed")))
}

/// Retries an erasure that was incomplete because a reader held a log or the disk was full.
fn erasure(committer: &mut Committer) -> Result<Ended, WriterError> {
    Ok(match committer.owes_erasure()? && !erase(committer)? {
        false => (JobOutcome::Ok, "nothing waits to be erased".to_owned()),
        true => (JobOutcome::Failed, "an erasure is not finished: see writer.log in the memory".to_owned()),
    })
}

fn health(workspace: &Workspace, stop: &AtomicBool) -> Result<Ended, ScanError> {
    let scan = Scan::quick(workspace, stop)?;
    let problems: Vec<&str> = scan.findings.iter().map(|finding| finding.message.as_str()).collect();
    Ok(match problems.is_empty() {
        true => (JobOutcome::Ok, "both databases can be read and follow each other".to_owned()),
        false => (JobOutcome::Attention, problems.join("; ")),
    })
}

/// New commits of the repository.
fn git(workspace: &Workspace, cursor: u64, stop: &AtomicBool) -> Result<Found, ScanError> {
    Ok(match commits::look(workspace, stop) {
        Ok((outcome, detail, found)) => {
            let record: Recording = Box::new(move |committer| {
                commits::record(committer, &found)?;
                Ok(false)
            });
            Found { ended: (outcome, detail), recording: Some(record), cursor, has_more: false }
        }
        Err(problem) => {
            let ended = (JobOutcome::Failed, problem.to_string());
            Found { ended, recording: None, cursor, has_more: false }
        }
    })
}

fn integrity(workspace: &Workspace, stop: &AtomicBool) -> Result<Ended, ScanError> {
    let (at, began) = (system::now(), system::instant());
    let scan = Scan::of(workspace, stop)?;
    scan.log(&workspace.integrity_log(), at, began.elapsed().as_millis() as u64)?;
    Ok(match scan.found() {
        0 => (JobOutcome::Ok, format!("{} events and {} rows fit", scan.events, scan.claims)),
        1 => (JobOutcome::Attention, "1 finding: see integrity.log in the memory".to_owned()),
        found => (JobOutcome::Attention, format!("{found} findings: see integrity.log in the memory")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_panics_has_failed() {
        let run = run(|| panic!("on purpose"));
        assert_eq!(run.outcome, JobOutcome::Failed);
    }
}
