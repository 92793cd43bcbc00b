//! The experiment result as a file: `experiment_result_v0.1`, what a run or a record says, as JSON.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::capture::Captured;
use super::provenance::{Git, Host};
use super::report::{Exit, Meta, State};
use crate::domain::time::Timestamp;

/// The form of the file; its readers look here first.
pub const SCHEMA_VERSION: &str = "experiment_result_v0.1";
/// The exit code of a run that was stopped and left none, as the `timeout` command gives it.
const TIMED_OUT_EXIT: i32 = 124;
/// The exit code of a run that never started, as shells give it.
const NOT_STARTED_EXIT: i32 = 127;
/// What shells add to the number of the signal that ended a process.
const SIGNAL_EXIT: i32 = 128;
/// The longest name made of an id, so that with its date it fits any file system.
const MAX_SAFE_CHARS: usize = 100;

/// How the result was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaptureMode {
    /// The command was run.
    Run,
    /// A past run was recorded.
    Record,
}

/// What the result says of the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It exited as expected.
    Passed,
    /// It did not.
    Failed,
    /// It never came to an end of its own: timeout, cancel, no start.
    Blocked,
}

/// The repository of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitState {
    /// The commit.
    pub sha: Option<String>,
    /// Whether anything differs from it.
    pub dirty: bool,
    /// What `git status --porcelain` says.
    pub status_porcelain: Vec<String>,
}

/// The machine of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runtime {
    /// The operating system.
    pub platform: String,
    /// The processor.
    pub arch: String,
    /// What made this file.
    pub hivemind_version: String,
}

/// What of a stream is not in the file, so that nobody takes a part for the whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamTruncation {
    /// Bytes the program wrote.
    pub total_bytes: u64,
    /// Bytes in this file.
    pub stored_bytes: u64,
    /// Whether something was left out.
    pub truncated: bool,
    /// Secrets replaced.
    pub redacted: u64,
}

/// What of each stream is not in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Truncation {
    /// Of standard output.
    pub stdout: StreamTruncation,
    /// Of standard error.
    pub stderr: StreamTruncation,
}

/// One result. What is unknown of a recorded run is null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExperimentResult {
    /// [`SCHEMA_VERSION`].
    pub schema_version: String,
    /// The run; of a record, its own id.
    pub result_id: Uuid,
    /// How it was made.
    pub capture_mode: CaptureMode,
    /// The thread it belongs to; a run of a claim has none.
    pub thread_id: Option<String>,
    /// The test it answers.
    pub test_id: Option<String>,
    /// When this was written, RFC 3339 in UTC with milliseconds.
    pub created_at: String,
    /// Where it ran.
    pub cwd: PathBuf,
    /// The command.
    pub argv: Option<Vec<String>>,
    /// How long it might take, in seconds, rounded up.
    pub timeout_seconds: Option<u64>,
    /// Whether it took too long.
    pub timed_out: bool,
    /// What it exited with; 124 where it was stopped and left none.
    pub exit_code: i32,
    /// What that says.
    pub status: Status,
    /// When it started.
    pub started_at: Option<String>,
    /// When it ended.
    pub finished_at: Option<String>,
    /// How long it took, in milliseconds.
    pub duration_ms: Option<u64>,
    /// Its standard output, cleaned and redacted.
    pub stdout: String,
    /// Its standard error, cleaned and redacted.
    pub stderr: String,
    /// The repository; left out when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<GitState>,
    /// The machine.
    pub runtime: Runtime,
    /// What is not in `stdout` and `stderr`.
    pub truncation: Truncation,
}

/// Which experiment an operator means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// `--thread-id`.
    pub thread_id: String,
    /// `--test-id`.
    pub test_id: String,
}

/// A past run, as an operator reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its id.
    pub result_id: Uuid,
    /// Which experiment it was.
    pub subject: Subject,
    /// When it is recorded.
    pub created_at: Timestamp,
    /// Where it ran.
    pub cwd: PathBuf,
    /// Its command, if known.
    pub argv: Option<Vec<String>>,
    /// What it exited with.
    pub exit_code: i32,
    /// Its standard output, cleaned and redacted, and what was left out.
    pub stdout: (String, Captured),
    /// Its standard error, likewise.
    pub stderr: (String, Captured),
    /// The repository now.
    pub git: Option<Git>,
    /// The machine now.
    pub host: Host,
}

impl ExperimentResult {
    /// The result of a run, from what is known of it and what was stored of its streams.
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

    /// The result of a past run.
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

    /// Where it goes unless told otherwise, below the root of the project.
    pub fn path(root: &Path, subject: &Subject, created_at: Timestamp, result_id: Uuid) -> PathBuf {
        let name = format!("{}_{result_id}.json", formatted(created_at, "%Y%m%dT%H%M%SZ"));
        let thread = root.join("artifacts").join(safe_name(&subject.thread_id));
        thread.join("experiments").join(safe_name(&subject.test_id)).join(name)
    }
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

/// One number for how a run left.
fn exit_code(state: State, exit: Exit) -> i32 {
    match (exit.code, state, exit.signal) {
        (Some(code), ..) => code,
        (None, State::TimedOut | State::Canceled, _) => TIMED_OUT_EXIT,
        (None, _, Some(signal)) => SIGNAL_EXIT + signal,
        (None, State::Succeeded | State::Failed | State::Aborted, None) => NOT_STARTED_EXIT,
    }
}

/// A name that is one component of a path on any system, made of an id: what does not belong becomes `_`.
pub fn safe_name(id: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
    let name: String = id.chars().map(safe).take(MAX_SAFE_CHARS).collect();
    // Neither hidden nor a way up.
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
    fn a_result_goes_where_the_seed_says() {
        let subject = Subject { thread_id: "RS-2025/../x".to_owned(), test_id: "T1 again".to_owned() };
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
