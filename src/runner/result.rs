//! The experiment result file `experiment_result_v0.1`: a run or a recorded run as JSON.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::capture::Captured;
use super::provenance::{Git, Host};
use super::report::{Exit, Meta, State};
use crate::domain::ids::RunId;
use crate::domain::time::Timestamp;

/// The version of the format; readers check it first.
pub const SCHEMA_VERSION: &str = "experiment_result_v0.1";
/// The exit code of a run that was stopped without one, as the `timeout` command has it.
const TIMED_OUT_EXIT: i32 = 124;
/// The exit code of a run that never started, as shells have it.
const NOT_STARTED_EXIT: i32 = 127;
/// The number that shells add to the signal that ended a process.
const SIGNAL_EXIT: i32 = 128;
/// The longest name made of an id. With its date it still fits any file system.
const MAX_SAFE_CHARS: usize = 100;

/// The origin of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaptureMode {
    /// hm ran the command.
    Run,
    /// A person recorded a past run.
    Record,
}

/// The result of the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The program exited as expected.
    Passed,
    /// The program exited otherwise.
    Failed,
    /// The program did not end by itself: timeout, cancellation, or no start.
    Blocked,
}

/// The repository at the time of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitState {
    /// The commit; null before the first one.
    pub sha: Option<String>,
    /// Whether the work tree differs from the commit.
    pub dirty: bool,
    /// The lines of `git status --porcelain`.
    pub status_porcelain: Vec<String>,
}

/// The machine of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runtime {
    /// Name of the operating system.
    pub platform: String,
    /// Name of the processor architecture.
    pub arch: String,
    /// The version of hm that made this file.
    pub hivemind_version: String,
}

/// The difference between a stream and its text in the file, so that no reader takes a part for the whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamTruncation {
    /// Number of bytes that the program wrote.
    pub total_bytes: u64,
    /// Number of bytes in this file.
    pub stored_bytes: u64,
    /// Whether a part of the stream is missing.
    pub truncated: bool,
    /// Number of secrets that were replaced.
    pub redacted: u64,
}

/// The differences of both streams.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Truncation {
    /// Of standard output.
    pub stdout: StreamTruncation,
    /// Of standard error.
    pub stderr: StreamTruncation,
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// The name, without white space around it.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(name: &str) -> Self {
                Self(name.trim().to_owned())
            }
        }
    };
}

name!(
    /// The operator's name for a thread of experiments.
    ThreadId
);
name!(
    /// The operator's name for a test of a thread.
    TestId
);

/// One result. A fact that is unknown about a recorded run is null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExperimentResult {
    /// Always [`SCHEMA_VERSION`].
    pub schema_version: String,
    /// The id of the run, or of the record.
    pub result_id: Uuid,
    /// The origin of the result.
    pub capture_mode: CaptureMode,
    /// The thread of the experiment; null for a run of a claim.
    pub thread_id: Option<ThreadId>,
    /// The test that it answers; null for a run of a claim.
    pub test_id: Option<TestId>,
    /// Time of writing, RFC 3339 in UTC with milliseconds.
    pub created_at: String,
    /// The directory of the run.
    pub cwd: PathBuf,
    /// The program and its arguments.
    pub argv: Option<Vec<String>>,
    /// The timeout in seconds, rounded up.
    pub timeout_seconds: Option<u64>,
    /// Whether the run exceeded its timeout.
    pub timed_out: bool,
    /// The exit code; 124 for a run that was stopped without one.
    pub exit_code: i32,
    /// The meaning of the exit.
    pub status: Status,
    /// Time of the start.
    pub started_at: Option<String>,
    /// Time of the end.
    pub finished_at: Option<String>,
    /// The duration, in milliseconds.
    pub duration_ms: Option<u64>,
    /// Standard output, cleaned and redacted.
    pub stdout: String,
    /// Standard error, cleaned and redacted.
    pub stderr: String,
    /// The repository; left out when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<GitState>,
    /// The machine of the run.
    pub runtime: Runtime,
    /// The parts that `stdout` and `stderr` do not contain.
    pub truncation: Truncation,
}

/// The experiment that the operator names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// `--thread-id`.
    pub thread_id: ThreadId,
    /// `--test-id`.
    pub test_id: TestId,
}

/// A past run, as the operator reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// A new id for the result.
    pub result_id: Uuid,
    /// The experiment it belongs to.
    pub subject: Subject,
    /// Time of recording.
    pub created_at: Timestamp,
    /// The directory of the run.
    pub cwd: PathBuf,
    /// Its command; `None` when unknown.
    pub argv: Option<Vec<String>>,
    /// Its exit code.
    pub exit_code: i32,
    /// Its standard output, cleaned and redacted, and the facts about it.
    pub stdout: (String, Captured),
    /// Its standard error, in the same form.
    pub stderr: (String, Captured),
    /// The repository at the time of recording; `None` outside a repository.
    pub git: Option<Git>,
    /// The machine at the time of recording.
    pub host: Host,
}

impl ExperimentResult {
    /// The result of a run, from its metadata and its stored streams.
    pub fn of_run(
        meta: &Meta,
        subject: Option<&Subject>,
        created_at: Timestamp,
        stdout: String,
        stderr: String,
    ) -> Self {
        Self {
            schema_version: SCHEMA_VERSION.to_owned(),
            result_id: meta.run_id,
            capture_mode: CaptureMode::Run,
            thread_id: subject.map(|subject| subject.thread_id.clone()),
            test_id: subject.map(|subject| subject.test_id.clone()),
            created_at: to_the_millisecond(created_at),
            cwd: meta.plan.cwd.clone(),
            argv: Some(meta.plan.argv.clone()),
            timeout_seconds: Some(meta.plan.timeout_ms.div_ceil(1_000)),
            timed_out: meta.state == State::TimedOut,
            exit_code: exit_code(meta.state, meta.exit),
            status: match meta.state {
                State::Succeeded => Status::Passed,
                State::Failed => Status::Failed,
                State::TimedOut | State::Canceled | State::Aborted => Status::Blocked,
            },
            started_at: Some(to_the_millisecond(meta.started_at)),
            finished_at: Some(to_the_millisecond(meta.finished_at)),
            duration_ms: Some(meta.duration_ms),
            stdout,
            stderr,
            git: meta.git.as_ref().map(GitState::of),
            runtime: Runtime::of(&meta.host),
            truncation: Truncation {
                stdout: StreamTruncation::of(&meta.stdout),
                stderr: StreamTruncation::of(&meta.stderr),
            },
        }
    }

    /// The result of a recorded run.
    pub fn of_record(record: Record) -> Self {
        let Record { result_id, subject, created_at, cwd, argv, exit_code, stdout, stderr, git, host } =
            record;
        Self {
            schema_version: SCHEMA_VERSION.to_owned(),
            result_id,
            capture_mode: CaptureMode::Record,
            thread_id: Some(subject.thread_id),
            test_id: Some(subject.test_id),
            created_at: to_the_millisecond(created_at),
            cwd,
            argv,
            timeout_seconds: None,
            timed_out: false,
            exit_code,
            status: if exit_code == 0 { Status::Passed } else { Status::Failed },
            started_at: None,
            finished_at: None,
            duration_ms: None,
            truncation: Truncation {
                stdout: StreamTruncation::of(&stdout.1),
                stderr: StreamTruncation::of(&stderr.1),
            },
            stdout: stdout.0,
            stderr: stderr.0,
            git: git.as_ref().map(GitState::of),
            runtime: Runtime::of(&host),
        }
    }

    /// The default path of a result, below the root of the project.
    pub fn path(root: &Path, subject: &Subject, created_at: Timestamp, result_id: Uuid) -> PathBuf {
        let name = format!("{}_{result_id}.json", formatted(created_at, "%Y%m%dT%H%M%SZ"));
        let thread = root.join("artifacts").join(safe_name(subject.thread_id.as_str()));
        thread.join("experiments").join(safe_name(subject.test_id.as_str())).join(name)
    }
}

/// The directories above a result below the root of its project: `artifacts/THREAD/experiments/TEST`.
pub const RESULT_DIRS: usize = 4;

/// The results of some runs at their default places below the root of a project.
pub fn results_of(root: &Path, runs: &BTreeSet<RunId>) -> Vec<PathBuf> {
    let below = |dir: PathBuf| {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let threads = below(root.join("artifacts")).into_iter();
    let tests = threads.flat_map(|thread| below(thread.join("experiments")));
    let run_of = |path: &PathBuf| -> Option<RunId> {
        path.file_stem()
            .and_then(|name| name.to_str()?.rsplit_once('_'))
            .and_then(|(_, run)| run.parse().ok())
    };
    tests.flat_map(below).filter(|path| run_of(path).is_some_and(|run| runs.contains(&run))).collect()
}

impl GitState {
    fn of(git: &Git) -> Self {
        Self { sha: git.sha.clone(), dirty: git.dirty, status_porcelain: git.status_porcelain.clone() }
    }
}

impl Runtime {
    fn of(host: &Host) -> Self {
        Self {
            platform: host.platform.clone(),
            arch: host.arch.clone(),
            hivemind_version: host.hivemind.clone(),
        }
    }
}

impl StreamTruncation {
    const fn of(stream: &Captured) -> Self {
        Self {
            total_bytes: stream.total_bytes,
            stored_bytes: stream.stored_bytes,
            truncated: stream.truncated || stream.cut_off,
            redacted: stream.redacted,
        }
    }
}

/// One exit code for every way a run can end.
fn exit_code(state: State, exit: Exit) -> i32 {
    match (exit.code, state, exit.signal) {
        (Some(code), ..) => code,
        (None, State::TimedOut | State::Canceled, _) => TIMED_OUT_EXIT,
        (None, _, Some(signal)) => SIGNAL_EXIT + signal,
        (None, State::Succeeded | State::Failed | State::Aborted, None) => NOT_STARTED_EXIT,
    }
}

/// A path component made of an id, valid on any system. Every other character becomes `_`.
pub fn safe_name(id: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
    let name: String = id.chars().map(safe).take(MAX_SAFE_CHARS).collect();
    // Keeps a name from being hidden or leading upwards.
    match name.strip_prefix('.') {
        Some(rest) => format!("_{rest}"),
        None if name.is_empty() => "_".to_owned(),
        None => name,
    }
}

fn to_the_millisecond(at: Timestamp) -> String {
    formatted(at, "%Y-%m-%dT%H:%M:%S%.3fZ")
}

fn formatted(at: Timestamp, form: &str) -> String {
    jiff::Timestamp::from_millisecond(at.ms()).unwrap_or_default().strftime(form).to_string()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{Exit, ExperimentResult, State, Subject, exit_code, safe_name, to_the_millisecond};
    use crate::domain::time::Timestamp;

    #[test]
    fn a_result_has_its_place_by_thread_test_and_time() {
        let subject = Subject { thread_id: "RS-2025/../x".into(), test_id: "T1 again".into() };
        let at = Timestamp::from_ms(1_767_150_005_120);
        let path = ExperimentResult::path("/p".as_ref(), &subject, at, uuid::Uuid::nil());
        expect!["/p/artifacts/RS-2025_.._x/experiments/T1_again/20251231T030005Z_00000000-0000-0000-0000-000000000000.json"]
            .assert_eq(&path.display().to_string());
        assert_eq!(to_the_millisecond(at), "2025-12-31T03:00:05.120Z");
        assert_eq!(["", "..", "../..", "a\0b", "é"].map(safe_name), ["_", "_.", "_._..", "a_b", "_"]);
    }

    #[test]
    fn every_end_has_an_exit_code() {
        let ends = [
            (State::Failed, Some(3), None),
            (State::Failed, None, Some(11)),
            (State::TimedOut, None, Some(15)),
            (State::TimedOut, Some(9), None),
            (State::Canceled, None, Some(9)),
            (State::Aborted, None, None),
        ];
        let codes = ends.map(|(state, code, signal)| exit_code(state, Exit { code, signal }));
        assert_eq!(codes, [3, 139, 124, 9, 124, 127]);
    }
}
