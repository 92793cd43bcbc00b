//! One run, from its order to its report: starts it, watches it, ends all its processes, and writes its files.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use regex::Regex;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::artifacts::{self, META, RESULT, STDERR, STDOUT};
use super::capture::{Captured, Seen, Stream};
use super::disturbed::{Covered, stand_in};
use super::failed_in::failed_in;
use super::order::{About, Order, Progress};
use super::profile::{Expect, Plan};
use super::provenance::{self, Git, Host, Program, fingerprint};
use super::report::{Exit, Meta, Report, State};
use super::result::{ExperimentResult, Subject};
use super::spawn::{self, SpawnError, Started};
use super::tree::{RUN_VARIABLE, Tree, adopt_orphans};
use crate::domain::experiment::Reach;
use crate::domain::privacy::{BadPattern, Known, Own, Secrets, redacted};
use crate::domain::scope::Scope;
use crate::system;
use crate::versions::{self, Marks};

/// The time between two progress messages.
const TICK: Duration = Duration::from_millis(250);
/// How long to wait for a silent, open stream after all processes of the run ended.
const DRAIN: Duration = Duration::from_secs(2);
/// The exit codes of pytest besides 0 and 1: interrupted, an internal error, a wrong call, no test collected.
const OF_PYTEST: std::ops::RangeInclusive<i32> = 2..=5;
/// Number of bytes read at a time: the size of an ordinary pipe.
const READ_BYTES: usize = 64 << 10;

/// Why a run has no report.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Its files cannot be written.
    #[error("cannot write the artifacts in {}: {source}", .dir.display())]
    Artifacts {
        /// The directory of the files.
        dir: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A secret pattern of the team cannot be used.
    #[error(transparent)]
    Pattern(#[from] BadPattern),
    /// The system does not let the helper control the processes of the run.
    #[error("cannot follow the processes of a run: {0}")]
    System(#[from] rustix::io::Errno),
}

/// An event that a run waits for.
#[derive(Debug)]
pub(super) enum Wake {
    Exited,
    Ended,
    Cancel,
}

/// Cancels a run from another thread.
#[derive(Debug, Clone)]
pub struct Canceller(Sender<Wake>);

impl Canceller {
    /// Cancels the run. It has no effect on a run that is over.
    pub fn cancel(&self) {
        let _ = self.0.send(Wake::Cancel);
    }
}

/// Receives the events that a run waits for.
#[derive(Debug)]
pub struct Wakes {
    sender: Sender<Wake>,
    receiver: Receiver<Wake>,
}

/// A pair: the canceller of a run, and the receiver that the run waits on.
pub fn control() -> (Canceller, Wakes) {
    let (sender, receiver) = channel();
    (Canceller(sender.clone()), Wakes { sender, receiver })
}

/// Runs an order to its end. Only the helper may call it, in a process of its own: the process becomes the
/// parent of all orphans of the run and reaps every child. The calling thread must live as long as the run.
///
/// # Errors
/// [`RunError`] when no report can be made. A program that does not start is not an error: its run is aborted.
pub fn run(
    order: Order,
    variables: impl Iterator<Item = (String, String)>,
    wakes: Wakes,
    mut progress: impl FnMut(Progress),
) -> Result<Report, RunError> {
    adopt_orphans()?;
    // Compiling the rules takes longer than many runs, so another thread does it beside the first steps.
    std::thread::spawn(|| redacted("any word", &Secrets::default()));
    let variables: Vec<(String, String)> = variables.collect();
    let secrets = Secrets {
        own: Own::new(&order.secret_patterns)?,
        known: Known::from_variables(variables.iter().cloned()),
        ..Secrets::default()
    };
    let mut environment: BTreeMap<String, String> =
        variables.into_iter().filter(|(name, _)| order.plan.env.has(name)).collect();
    let dir = order.artifacts.clone();
    let failed = |source| RunError::Artifacts { dir: dir.clone(), source };
    artifacts::create_dir(&dir).map_err(failed)?;
    let without_set = environment.clone();
    environment.extend(order.plan.variables.clone());
    let env_fingerprint = fingerprint(&environment, order.key.bytes());
    let env_names: Vec<String> = environment.keys().cloned().collect();
    // Before what the files hold is read, so that nothing is written in between.
    let covered = order.about.as_ref().filter(|_| order.plan.expect.is_some());
    let covered = covered.map(|about| Covered::of(about, &environment, &order.plan.scopes));
    let git = Git::of(&order.plan.cwd, &environment)
        .map(|git| git.with_content(&order.plan.cwd, &environment, order.key.bytes()))
        .map(|git| match &order.about {
            Some(about) => git.with_files(
                (&about.root, &environment),
                order.key.bytes(),
                &order.plan.scopes,
                &about.claim,
            ),
            None => git,
        });
    let stand_in = stand_in(&order.plan);
    let version = || provenance::version(&order.plan.version, &order.plan.cwd, &without_set);
    let tool = if stand_in.is_none() { version() } else { None };
    environment.insert(RUN_VARIABLE.to_owned(), order.run_id.to_string());

    let below = order.about.as_ref().map(|about| Below::of(about, &environment));
    let streams = [STDOUT, STDERR].map(|name| Capture::create(&dir, name, &order, &secrets));
    let [stdout, stderr] = streams;
    let (stdout, stderr) = (stdout.map_err(failed)?, stderr.map_err(failed)?);
    let found =
        spawn::find(&order.plan.argv[0], &order.plan.cwd, environment.get("PATH").map(String::as_str));
    let program = match &found {
        Ok(path) | Err(SpawnError::NotRunnable { path, .. }) => Some(Program::at(path.clone())),
        Err(_) => None,
    };
    let started_at = system::now();
    let clock = system::instant();
    let mut send = |at: At| progress(at.shown(&stdout.seen, &stderr.seen, &secrets));
    // The watchdog of the process that sent the order counts the timeout from here.
    send(At { clock, over: false });
    let found = stand_in.map_or(found, |file| Err(SpawnError::StandIn(file)));
    let mut watched = match found.and_then(|path| spawn::start(&path, &order.plan, &environment)) {
        Ok(started) => {
            let watch = Watch { started, stdout: &stdout, stderr: &stderr, clock, wakes };
            watch.until_over(&order.plan, send)
        }
        Err(problem) => {
            // No process writes to the streams, so they are complete.
            [&stdout, &stderr].iter().for_each(|capture| capture.ended.store(true, Ordering::Release));
            Watched::never_started(&problem)
        }
    };
    let [written, touched] = below.map(|below| below.written()).unwrap_or_default();
    let disturbed = covered.and_then(|covered| covered.disturbed());
    let disturbed = disturbed.map(|disturbed| disturbed.named(|file| redacted(file, &secrets)));
    let finished_at = system::now();
    let duration_ms = u64::try_from(clock.elapsed().as_millis()).unwrap_or(u64::MAX);
    let stdout = stdout.finish(&dir, STDOUT).map_err(failed)?;
    let stderr = stderr.finish(&dir, STDERR).map_err(failed)?;
    let said = said(&dir).map_err(failed)?;
    if watched.state.is_conclusive()
        && let Some(expect) = &order.plan.expect
        && let Some(why) = match no_test(&order.plan, watched.exit) {
            Some(why) => Some(why),
            None => without_check(expect, watched.exit, &said).map_err(failed)?,
        }
    {
        watched.state = State::Aborted;
        watched.problem = Some(why);
    }
    let is_whole = [&stdout, &stderr].iter().all(|stream| !stream.truncated && !stream.cut_off);
    let failed_in = match &order.about {
        Some(about) if watched.state == State::Failed && order.plan.expect.is_some() && is_whole => {
            let files = failed_in(&about.root, &order.plan, &environment, &said);
            let is_shown = files.iter().all(|file| redacted(file.as_str(), &secrets) == file.as_str());
            if is_shown { files } else { Vec::new() }
        }
        _ => Vec::new(),
    };
    let hidden =
        |texts: &[String]| -> Vec<String> { texts.iter().map(|text| redacted(text, &secrets)).collect() };
    // The gate refuses a record with a secret. Names in the repository must not cost the record of a finished run.
    let hidden_name = |name: Option<String>| name.map(|name| redacted(&name, &secrets));
    let mut meta = Meta {
        schema_version: Meta::SCHEMA_VERSION.to_owned(),
        run_id: order.run_id,
        plan: Plan {
            argv: hidden(&order.plan.argv),
            same_as: order.plan.same_as.as_deref().map(hidden),
            ..order.plan
        },
        state: watched.state,
        exit: watched.exit,
        problem: watched.problem.map(|problem| redacted(&problem, &secrets)),
        started_at,
        finished_at,
        duration_ms,
        left_behind: watched.left_behind,
        program: program.map(|program| {
            let path = redacted(&program.path.to_string_lossy(), &secrets).into();
            Program { path, ..program }
        }),
        tool: tool.map(|tool| redacted(&tool, &secrets)),
        git: git.map(|git| Git {
            branch: hidden_name(git.branch),
            prefix: hidden_name(git.prefix),
            status_porcelain: hidden(&git.status_porcelain),
            ..git
        }),
        host: Host::here(),
        env_fingerprint,
        env_names,
        files: [(STDOUT, &stdout), (STDERR, &stderr)]
            .map(|(name, stream)| (name.to_owned(), stream.stored_sha256.clone()))
            .into(),
        stdout,
        stderr,
    };
    let meta_sha256 = write_down(&dir, &mut meta, order.subject.as_ref(), said).map_err(failed)?;
    Ok(Report { artifacts: dir, meta, meta_sha256, written, touched, disturbed, failed_in })
}

/// The files that git knows below the directories and patterns of a claim, as they were before a run.
struct Below {
    root: PathBuf,
    scopes: Vec<Scope>,
    marks: Marks,
}

impl Below {
    fn of(about: &About, environment: &BTreeMap<String, String>) -> Self {
        let root = about.root.clone();
        let is_file = |scope: &Scope| root.join(scope.as_str()).is_file();
        let scopes = about.claim.iter().filter(|scope| scope.is_path() && !is_file(scope));
        let scopes: Vec<Scope> = scopes.cloned().collect();
        let files = provenance::tracked(&root, environment, &scopes);
        Self { marks: versions::marks(&root, files.iter()), root, scopes }
    }

    /// The scopes below which a file was written since, and those below which one was touched.
    fn written(&self) -> [BTreeSet<Scope>; 2] {
        let now = versions::marks(&self.root, self.marks.keys());
        [versions::written(&self.marks, &now), versions::touched(&self.marks, &now)].map(|files| {
            let is_above = |scope: &&Scope| files.iter().any(|file| scope.covers(file));
            self.scopes.iter().filter(is_above).cloned().collect()
        })
    }
}

/// Why a run of pytest has no outcome: it ended by one of its own exit codes for no test, a wrong call or an interruption, and
/// the profile does not say that this is a failure.
fn no_test(plan: &Plan, exit: Exit) -> Option<String> {
    let declared = plan.expect.as_ref().is_some_and(|expect| {
        exit.code.is_none_or(|code| code == expect.exit || expect.fails.contains(&code))
    });
    let code = exit.code.filter(|code| OF_PYTEST.contains(code) && !declared)?;
    let is_pytest = Reach::of(&plan.words(), "").is_some_and(|reach| reach.is_pytest());
    is_pytest.then(|| {
        format!("its check did not run: pytest ends with exit code {code} where it ran no test to its end")
    })
}

/// What a run printed on its two streams, as it is kept.
fn said(dir: &Path) -> io::Result<[String; 2]> {
    let [stdout, stderr] = [STDOUT, STDERR].map(|name| std::fs::read_to_string(dir.join(name)));
    Ok([stdout?, stderr?])
}

/// Why a run that ended by itself has no outcome: nothing shows that its check ran. `None` when the check ran.
fn without_check(expect: &Expect, exit: Exit, said: &[String; 2]) -> io::Result<Option<String>> {
    if !expect.is_outcome(exit.code, exit.signal) {
        let signal =
            || exit.signal.map_or_else(|| "a signal".to_owned(), |signal| format!("signal {signal}"));
        let code = exit.code.map_or_else(signal, |code| format!("exit code {code}"));
        return Ok(Some(format!("its check did not run to its end: {code} is no outcome of this profile")));
    }
    let says = |pattern: &str| -> io::Result<bool> {
        let pattern =
            Regex::new(pattern).map_err(|problem| io::Error::new(io::ErrorKind::InvalidData, problem))?;
        Ok(said.iter().any(|stream| pattern.is_match(stream)))
    };
    if let Some(ran) = &expect.ran
        && !says(ran)?
    {
        return Ok(Some(format!("its check did not run, or ran no test: the output matches no `{ran}`")));
    }
    let Some(failed) = &expect.failed else { return Ok(None) };
    Ok(match (exit.code == Some(expect.exit), says(failed)?) {
        (true, true) => Some(format!("its exit code says that it passed, and its output matches `{failed}`")),
        (false, false) => Some(format!("it failed, and not by a test: the output matches no `{failed}`")),
        (true, false) | (false, true) => None,
    })
}

/// Writes the result, then the metadata: `meta.json` shows that the other files are complete.
fn write_down(
    dir: &Path,
    meta: &mut Meta,
    subject: Option<&Subject>,
    [stdout, stderr]: [String; 2],
) -> io::Result<String> {
    let result = ExperimentResult::of_run(meta, subject, meta.finished_at, stdout, stderr);
    let hash = artifacts::write(dir, RESULT, &serde_json::to_vec_pretty(&result)?)?;
    meta.files.insert(RESULT.to_owned(), hash);
    let hash = artifacts::write(dir, META, &serde_json::to_vec_pretty(meta)?)?;
    artifacts::sync_dir(dir)?;
    Ok(hash)
}

/// One stream, shared by the thread that reads it and the thread that ends it.
#[derive(Debug, Clone)]
struct Capture {
    stream: Arc<Mutex<io::Result<Option<Stream>>>>,
    seen: Arc<Seen>,
    /// Whether the reader waits for more bytes; false while it works on the last ones.
    waits: Arc<AtomicBool>,
    ended: Arc<AtomicBool>,
}

impl Capture {
    fn create(dir: &Path, name: &str, order: &Order, secrets: &Secrets) -> io::Result<Self> {
        let cap = (!order.plan.uncapped).then_some(order.plan.limits.output_cap_bytes);
        let stream = Stream::create(&artifacts::part(dir, name), cap, order.key.bytes(), secrets.clone())?;
        Ok(Self {
            stream: Arc::new(Mutex::new(Ok(Some(stream)))),
            seen: Arc::default(),
            waits: Arc::default(),
            ended: Arc::default(),
        })
    }

    /// Reads to the end. It goes on when the disk is full, because the program would wait for a reader for ever.
    fn read(&self, mut from: Box<dyn Read + Send>) {
        let mut buffer = vec![0; READ_BYTES];
        loop {
            self.waits.store(true, Ordering::Release);
            let read = from.read(&mut buffer);
            self.waits.store(false, Ordering::Release);
            let bytes = match read {
                // A terminal returns EIO after its last program ended.
                Ok(0) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => break,
                Ok(read) => &buffer[..read],
            };
            self.seen.note(bytes);
            let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
            let written = match &mut *stream {
                Ok(Some(stream)) => stream.write(bytes),
                // The run is over.
                Ok(None) => return,
                Err(_) => Ok(()),
            };
            if let Err(error) = written {
                *stream = Err(error);
            }
        }
        self.ended.store(true, Ordering::Release);
    }

    fn waits(&self) -> bool {
        self.waits.load(Ordering::Acquire)
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    fn finish(&self, dir: &Path, name: &str) -> io::Result<Captured> {
        let cut_off = !self.has_ended();
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        let stream = std::mem::replace(&mut *stream, Ok(None))?;
        let captured = stream.map_or_else(|| Ok(Captured::default()), |stream| stream.finish(cut_off))?;
        artifacts::complete(dir, name)?;
        Ok(captured)
    }
}

/// A running program and its streams.
struct Watch<'s> {
    started: Started,
    stdout: &'s Capture,
    stderr: &'s Capture,
    clock: Instant,
    wakes: Wakes,
}

/// How a run ended.
struct Watched {
    state: State,
    exit: Exit,
    problem: Option<String>,
    left_behind: u32,
}

impl Watched {
    fn never_started(problem: &SpawnError) -> Self {
        let problem = Some(problem.to_string());
        Self { state: State::Aborted, exit: Exit::default(), problem, left_behind: 0 }
    }
}

/// The time of a progress message.
struct At {
    clock: Instant,
    over: bool,
}

impl At {
    fn shown(&self, stdout: &Seen, stderr: &Seen, secrets: &Secrets) -> Progress {
        Progress {
            elapsed_ms: u64::try_from(self.clock.elapsed().as_millis()).unwrap_or(u64::MAX),
            stdout_bytes: stdout.bytes(),
            stderr_bytes: stderr.bytes(),
            last_line: stdout.last_line(secrets).or_else(|| stderr.last_line(secrets)),
            over: self.over,
        }
    }
}

impl Watch<'_> {
    fn until_over(self, plan: &Plan, mut tick: impl FnMut(At)) -> Watched {
        let Self { started, stdout, stderr, clock, wakes } = self;
        let Started { leader, stdout: from_stdout, stderr: from_stderr, .. } = started;
        for (capture, from) in [(stdout.clone(), from_stdout), (stderr.clone(), from_stderr)] {
            let done = wakes.sender.clone();
            thread::spawn(move || {
                capture.read(from);
                let _ = done.send(Wake::Ended);
            });
        }
        let exited = wakes.sender.clone();
        thread::spawn(move || {
            wait_for(leader);
            let _ = exited.send(Wake::Exited);
        });
        let deadline = clock + Duration::from_millis(plan.timeout_ms);
        let mut tree = Tree::of(leader);
        let mut next_tick = clock + TICK;
        let stopped = loop {
            let wait = deadline.min(next_tick).saturating_duration_since(system::instant());
            match wakes.receiver.recv_timeout(wait) {
                Ok(Wake::Exited) => break None,
                Ok(Wake::Cancel) => break Some(State::Canceled),
                Ok(Wake::Ended) => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    if system::instant() >= deadline {
                        break Some(State::TimedOut);
                    }
                    next_tick = system::instant() + TICK;
                    tick(At { clock, over: false });
                }
            }
        };
        let left_behind = if stopped.is_some() { tree.terminate() } else { tree.sweep() };
        if left_behind == 0 {
            tick(At { clock, over: true });
        }
        drain(&wakes.receiver, [stdout, stderr]);
        let exit = tree.exit().unwrap_or_default();
        let problem = (left_behind > 0)
            .then(|| format!("{left_behind} processes of the run could not be ended in time"));
        Watched {
            state: stopped.unwrap_or_else(|| exit.judged(plan.expect.as_ref())),
            exit,
            problem,
            left_behind,
        }
    }
}

/// Waits until a child has ended, and does not reap it.
fn wait_for(leader: Pid) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while matches!(waitid(WaitId::Pid(leader), options), Err(rustix::io::Errno::INTR)) {}
}

/// Waits for the ends of the streams. All processes of the run have ended, so the rest of their output is in
/// the pipes. A process that inherited a pipe and outlives the run does not delay its end.
fn drain(wakes: &Receiver<Wake>, captures: [&Capture; 2]) {
    let read = || captures.map(|capture| capture.seen.bytes()).iter().sum::<u64>();
    let most = read() + 2 * (spawn::PIPE_BYTES + READ_BYTES) as u64;
    let mut before = read();
    let mut deadline = system::instant() + DRAIN;
    while !captures.iter().all(|capture| capture.has_ended()) {
        let now = system::instant();
        let at = read();
        let at_work = captures.iter().any(|capture| !capture.has_ended() && !capture.waits());
        if at > before || at_work {
            (before, deadline) = (at, now + DRAIN);
        }
        if now >= deadline || at > most {
            return;
        }
        let _ = wakes.recv_timeout(TICK.min(deadline - now));
    }
}
