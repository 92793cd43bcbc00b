//! Experiments: the plan of a run, its outcome, and the facts about it that the ledger keeps.

mod check;
mod doubt;
mod held;
mod key;
mod reach;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use self::key::hash;
use crate::domain::coverage::{self, Check};
use crate::domain::ids::RunId;
use crate::domain::scope::Scope;
use crate::domain::text::{CommandLine, Reason};
use crate::domain::time::Timestamp;

pub use self::check::{CheckKey, are_one_command, process};
pub use self::doubt::{Against, Finished, Word};
pub use self::held::{Disturbed, Files, Held, HeldThen};
pub use self::key::{RunKey, What};
pub use self::reach::{Kinship, Reach};

/// The name of a profile: 1 to 64 of `a-z 0-9 _ -`, the stem of its file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ProfileName(String);

/// A text that is no valid profile name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a profile's name has 1 to 64 of a-z, 0-9, _ and -: rename the file")]
pub struct BadName;

impl ProfileName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ProfileName {
    type Error = BadName;

    fn try_from(text: String) -> Result<Self, BadName> {
        let has = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '_' | '-');
        let fits = (1..=64).contains(&text.len()) && text.chars().all(has);
        if fits { Ok(Self(text)) } else { Err(BadName) }
    }
}

impl std::str::FromStr for ProfileName {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        text.to_owned().try_into()
    }
}

impl From<ProfileName> for String {
    fn from(name: ProfileName) -> Self {
        name.0
    }
}

impl fmt::Display for ProfileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The rule that turns an exit code into support or contradiction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// The exit code that supports.
    pub exit: i32,
    /// The exit codes that contradict. A run with any other code has no outcome. If empty, every other code
    /// contradicts.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub fails: BTreeSet<i32>,
    /// A regular expression that the output matches if the check ran. A run without a match has no outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran: Option<String>,
    /// A regular expression that the output matches if and only if the check failed. A run whose exit code says something
    /// else has no outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

impl Expect {
    /// Exit codes of shells and `env` for a program that cannot run or does not exist.
    pub const NOT_RUN: [i32; 2] = [126, 127];
    /// Signals with which another process or a system limit ends a process: HUP, INT, KILL, PIPE, ALRM, TERM and
    /// XCPU.
    const FROM_OUTSIDE: [i32; 7] = [1, 2, 9, 13, 14, 15, 24];

    /// Whether a failure shows that the check ran, rather than that its tool is missing.
    pub fn tells_failures(&self) -> bool {
        !self.fails.is_empty() || self.ran.is_some()
    }

    /// Whether a run with this exit code or signal can have an outcome. A shell reports a signal as an exit code
    /// above 128.
    pub fn is_outcome(&self, code: Option<i32>, signal: Option<i32>) -> bool {
        let not_run = code.is_some_and(|code| Self::NOT_RUN.contains(&code));
        let declared = code.is_some_and(|code| code == self.exit || self.fails.contains(&code));
        let signal = signal.or_else(|| code.map(|code| code - 128));
        let was_ended = signal.is_some_and(|signal| Self::FROM_OUTSIDE.contains(&signal));
        !not_run && (declared || self.fails.is_empty() && !was_ended)
    }
}

impl fmt::Display for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit {} passes, ", self.exit)?;
        if self.fails.is_empty() {
            f.write_str("any other fails")?;
        } else {
            let codes: Vec<String> = self.fails.iter().map(i32::to_string).collect();
            write!(f, "exit {} fails, any other shows nothing", codes.join(" or "))?;
        }
        if let Some(ran) = &self.ran {
            write!(f, "; output without `{ran}` shows nothing")?;
        }
        match &self.failed {
            Some(failed) => write!(f, "; a failure without `{failed}`, or a pass with it, shows nothing"),
            None => Ok(()),
        }
    }
}

/// The resource limits of a run. The system refuses or ends what exceeds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Stored bytes of each stream (1 MB by default); the hash covers the whole stream.
    pub output_cap_bytes: u64,
    /// The most open files of one process.
    pub open_files: u64,
    /// The size limit of a file that a process writes, in bytes.
    pub file_bytes: u64,
    /// Processor time of one process in seconds; 0 means (timeout + 5 s) on every core.
    pub cpu_seconds: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { output_cap_bytes: 1 << 20, open_files: 1_024, file_bytes: 4 << 30, cpu_seconds: 0 }
    }
}

/// The environment variables that a run gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Environment {
    /// [`Environment::BASE`] and these names.
    Only(BTreeSet<String>),
    /// All variables of the caller: a command that a human typed runs as in their shell.
    Inherited,
}

impl Environment {
    /// The variables for every run, where they are set. A program needs them to start, and none is a secret.
    pub const BASE: [&'static str; 5] = ["PATH", "HOME", "LANG", "TERM", "TMPDIR"];

    /// Whether a run gets this variable. Variables of hivemind itself are never passed on.
    pub fn has(&self, name: &str) -> bool {
        match self {
            Self::Only(names) => Self::BASE.contains(&name) || names.contains(name),
            Self::Inherited => !name.starts_with("HM_"),
        }
    }
}

/// The exact plan of a run. No part of it is parsed or expanded again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The profile; `None` for a command that a human typed.
    pub profile: Option<ProfileName>,
    /// SHA-256 of the profile's file at planning time, in hex; `None` in plans of older releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_sha256: Option<String>,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The same command with the bare name of its program, and with the paths to which links lead. Only where it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<Vec<String>>,
    /// The working directory, canonical.
    pub cwd: PathBuf,
    /// Whether the caller chose another directory than the profile's own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub elsewhere: bool,
    /// The variables that the profile passes and the caller took away.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// The environment variables that it gets.
    pub env: Environment,
    /// Additional variables with their values: those that lead a researcher back to its session and task.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    /// The time limit in milliseconds.
    pub timeout_ms: u64,
    /// The resource limits.
    pub limits: Limits,
    /// Whether the whole output is stored. Only a human may set it.
    pub uncapped: bool,
    /// Whether stdin and stdout are a terminal.
    pub pty: bool,
    /// The meaning of the exit code.
    pub expect: Option<Expect>,
    /// The scopes of claims that the profile can settle: globs of paths, or scopes such as `tag:auth`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// The command that prints the version of the tool; empty if the profile names none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub version: Vec<String>,
    /// The paths that select the tests: the values of parameters of the kind `path`, without the whole workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<Scope>,
}

impl Plan {
    /// Why a run of this plan settles nothing about a claim with these scopes and this prediction; `None` if it
    /// can.
    pub fn cannot_settle(&self, scopes: &[Scope], prediction: Prediction) -> Option<String> {
        let Self { profile, expect, scopes: globs, elsewhere, without, argv, .. } = self;
        let (profile, expect, elsewhere) = (profile.as_ref(), expect.as_ref(), *elsewhere);
        let check = Check { profile, expect, globs, elsewhere, without, argv };
        coverage::cannot_settle(check, scopes, prediction)
    }

    /// The command as a person would type it. For display only; this text is never executed.
    pub fn preview(&self) -> String {
        let plain = |text: &&String| {
            !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./:=@,+%".contains(c))
        };
        let quoted = |text: &String| match Some(text).filter(plain) {
            Some(text) => text.clone(),
            None => format!("'{}'", text.replace('\'', r"'\''")),
        };
        self.argv.iter().map(quoted).collect::<Vec<_>>().join(" ")
    }

    /// [`Plan::preview`], cut to the limit of [`CommandLine`].
    pub fn command_line(&self) -> CommandLine {
        let cut: String = self.preview().chars().take(CommandLine::MAX_CHARS).collect();
        cut.parse().expect("cut to its bounds, and a command has a first word")
    }
}

/// The command shown for a run whose end was erased together with its files.
pub const ERASED_COMMAND: &str = "(erased)";

crate::domain::claim::word!(
    /// The outcome that a claim predicts for a run. It is recorded before the run starts.
    Prediction("prediction") {
        /// The claim holds if the run meets the profile's expectation.
        Passes = "passes",
        /// The claim holds if the run misses it, as for "the build is broken".
        Fails = "fails",
    }
);

/// The place of a run in a series from one request. The series is judged when its last run is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// The first run, which identifies the series.
    pub first: RunId,
    /// The number of this run, from 1.
    pub number: u32,
    /// The number of runs in the series.
    pub of: u32,
}

/// The next step after both outcomes on earlier content.
pub const CLEARS_NOW: &str = "5 equal runs on the content of now clear the test (repeat: 5)";

/// How many runs had each outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Runs that met the expectation.
    pub passed: u32,
    /// Runs that missed it.
    pub failed: u32,
    /// Whether they ran on an earlier content than the run in question.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub earlier: bool,
}

impl Tally {
    /// A sentence about the outcomes and the content, with the next step if there is one.
    pub fn on_content(self) -> String {
        if self.earlier {
            format!("{self} on earlier content; {CLEARS_NOW}")
        } else {
            format!("{self} on the same content")
        }
    }

    /// Adds one run.
    pub fn add(&mut self, passed: bool) {
        *if passed { &mut self.passed } else { &mut self.failed } += 1;
    }

    /// Whether both outcomes occurred.
    pub const fn is_mixed(self) -> bool {
        self.passed > 0 && self.failed > 0
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

crate::domain::claim::word!(
    /// The state of a run.
    RunState("run state") {
        /// It waits in the queue.
        Queued = "queued",
        /// It is in progress.
        Running = "running",
        /// It exited as expected; without an expectation, with 0.
        Succeeded = "succeeded",
        /// It exited in another way.
        Failed = "failed",
        /// It exceeded its time limit.
        TimedOut = "timed_out",
        /// It was cancelled.
        Canceled = "canceled",
        /// It never started, its check did not run, or its helper process is gone.
        Aborted = "aborted",
    }
);

impl RunState {
    /// Whether the run has ended.
    pub const fn is_over(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }

    /// Whether the outcome says something about the tested content.
    pub const fn is_conclusive(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

/// The state of the git repository of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunGit {
    /// The commit hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha: Option<String>,
    /// The branch; `None` on a detached head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Whether the work tree differed from the commit.
    pub dirty: bool,
    /// The hash of the commit's tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// A keyed digest of all uncommitted changes; `None` without changes, or if they are too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The directory of the run below the top of the work tree, with a trailing slash; `None` for the top.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// A keyed digest of the files that the profile's scopes cover; `None` if they are too many or too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covered: Option<String>,
    /// A keyed digest of the files at and below the scopes of the claim; `None` without such a scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<String>,
    /// Of a failed check, the covered files one by one, as the last release wrote them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Held>,
    /// Of a failed check, the covered files one by one. `None` in events of older releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Files>,
    /// The files at and below the scopes of the claim, one by one. The ledger does not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_files: Option<Files>,
}

impl RunGit {
    /// The directory of the run below the top of the work tree, with a trailing slash; empty for the top.
    fn dir(&self) -> &str {
        self.prefix.as_deref().unwrap_or_default()
    }

    /// What the check saw, for a key: content of its own where the covered files were written during the run, which is then
    /// named by the hash of its files.
    fn as_seen(&self, disturbed: Option<&str>) -> Self {
        let own = disturbed.map(|run| hash(&["disturbed", run]));
        if own.is_none() {
            return self.clone();
        }
        Self { dirty: true, diff: own.clone(), covered: own, ..self.clone() }
    }

    /// The tree of the commit and the digest of the changes; `None` if either is unknown.
    fn content(&self) -> Option<(&str, &str)> {
        let diff = if self.dirty { self.diff.as_deref()? } else { "clean" };
        Some((self.tree.as_deref()?, diff))
    }
}

/// The facts about one output stream that the ledger guarantees.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStream {
    /// Bytes that the program wrote.
    pub total_bytes: u64,
    /// Bytes in the stored file.
    pub stored_bytes: u64,
    /// Whether the file holds only the beginning and the end.
    pub truncated: bool,
    /// The number of secrets that were masked in the file.
    pub redacted: u64,
    /// SHA-256 of the stored file, in hex.
    pub sha256: String,
}

/// The outcome of a run and the facts about its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOutcome {
    /// The final state.
    pub state: RunState,
    /// The exit code, if the process exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended the process, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Why the run never started, or another problem of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Reason>,
    /// The start time; `None` for a run that never started or was only recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// The duration in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The repository before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<Box<RunGit>>,
    /// The first line of the tool's version if the profile names a version command; else the SHA-256 of the
    /// program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The file of the program that ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<PathBuf>,
    /// Standard output.
    #[serde(default)]
    pub stdout: RunStream,
    /// Standard error.
    #[serde(default)]
    pub stderr: RunStream,
    /// SHA-256 of `meta.json` in hex; `meta.json` holds the hashes of all other files of the run. `None` without
    /// files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta_sha256: Option<String>,
    /// Files of the claim that were replaced or written during the run, or were there only meanwhile.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub written: BTreeSet<Scope>,
    /// Directories above files of the claim that were moved during the run. They may be back.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub moved: BTreeSet<Scope>,
    /// Directories above files of the claim that changed during the run and may have been moved, and files of the claim
    /// that changed and may have been written.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub touched: BTreeSet<Scope>,
    /// The files that the profile covers and that were written during the run, restored or not. `None` without one, and
    /// in events of older releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<Disturbed>,
    /// The files whose tests failed, the first one first, and those that these reach. Empty if that is not known, and in events
    /// of older releases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_in: Vec<Scope>,
    /// Whether a process of the run started, and something else than the check ended it: the run may hide a failure.
    /// The end of a run in the ledger has it, and older releases did not record it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
}

/// The first file whose tests failed, if neither these files nor what they reach is one of these scopes. None if the failure
/// may say something about the scopes, or if it is not known where the tests failed.
pub fn failed_elsewhere<'f>(failed_in: &'f [Scope], scopes: &[Scope]) -> Option<&'f Scope> {
    let is_theirs = |file: &Scope| scopes.iter().any(|scope| scope.is_path() && scope.covers(file));
    let is_about_files = scopes.iter().any(Scope::is_path);
    failed_in.first().filter(|_| is_about_files && !failed_in.iter().any(is_theirs))
}

impl RunOutcome {
    /// The directory of the run, as in [`RunGit::dir`]. None if git did not tell it.
    pub fn dir(&self) -> Option<String> {
        self.git.as_ref().map(|git| git.dir().to_owned())
    }

    /// The outcome of a run that left no files.
    pub fn without_files(state: RunState, problem: Option<Reason>) -> Self {
        Self {
            state,
            exit_code: None,
            signal: None,
            problem,
            started_at: None,
            duration_ms: None,
            git: None,
            tool: None,
            program: None,
            stdout: RunStream::default(),
            stderr: RunStream::default(),
            meta_sha256: None,
            written: BTreeSet::new(),
            moved: BTreeSet::new(),
            touched: BTreeSet::new(),
            disturbed: None,
            failed_in: Vec::new(),
            interrupted: false,
        }
    }

    /// Without what only the decision about the run needs.
    #[must_use]
    pub fn for_the_ledger(mut self) -> Self {
        if let Some(git) = &mut self.git {
            git.own_files = None;
        }
        self
    }

    /// The commit on which another run can reproduce this one; `None` if the tree was dirty.
    pub fn reproducible_at(&self) -> Option<&str> {
        let is_of_commit = self.disturbed.is_none() && self.state.is_conclusive();
        let git = self.git.as_ref().filter(|git| !git.dirty && is_of_commit)?;
        git.sha.as_deref()
    }

    /// Whether a process of the run started, and something else than the check ended it.
    pub fn is_interrupted(&self) -> bool {
        match self.state {
            RunState::TimedOut | RunState::Canceled => self.started_at.is_some(),
            // A shell reports a signal as an exit code above 128.
            RunState::Aborted => {
                self.signal.is_some() || self.exit_code.is_some_and(|code| (129..160).contains(&code))
            }
            RunState::Queued | RunState::Running | RunState::Succeeded | RunState::Failed => false,
        }
    }

    /// The key by which runs are compared: runs with equal keys should have the same outcome. `None` when the content is
    /// unknown, as outside a repository, and for a run that shows nothing. `check` is the [`Plan::check`] of the run.
    /// `scopes` are those of its profile.
    pub fn key(&self, what: &What, check: Option<&str>, scopes: &[String]) -> Option<RunKey> {
        let shows = self.state.is_conclusive() || self.is_interrupted();
        let git = &self
            .git
            .as_ref()
            .filter(|_| shows)?
            .as_seen(self.disturbed.as_ref().and(self.meta_sha256.as_deref()));
        let tree = git.content().map(|(tree, diff)| hash(&[tree, diff]));
        let test = hash(&[&what.text(), git.dir()]);
        let tool = self.tool.as_deref().unwrap_or_default();
        // Files outside the profile's scopes do not change the content.
        let content = match (&git.covered, git.content()) {
            (Some(covered), _) => hash(&[&test, "covered", covered, tool]),
            (None, Some((tree, diff))) => hash(&[&test, tree, diff, tool]),
            (None, None) => return None,
        };
        let check = check.and_then(|check| CheckKey::of((check, scopes), git, tool));
        let (covered, own) = (git.covered.clone(), git.own.clone());
        Some(RunKey { test, content, tree, covered, own, check })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A run that ended by itself, or of which no process started, hides no failure.
    #[test]
    fn a_run_is_interrupted_if_something_else_than_its_check_ended_it() {
        let at = Timestamp::from_ms(1);
        for (state, started_at, exit_code, signal, is) in [
            (RunState::Canceled, Some(at), None, Some(15), true),
            (RunState::Canceled, None, None, None, false),
            (RunState::TimedOut, Some(at), Some(1), None, true),
            (RunState::TimedOut, None, None, None, false),
            (RunState::Aborted, Some(at), None, Some(9), true),
            (RunState::Aborted, Some(at), Some(137), None, true),
            (RunState::Aborted, Some(at), Some(127), None, false),
            (RunState::Aborted, Some(at), Some(200), None, false),
            (RunState::Aborted, Some(at), None, None, false),
            (RunState::Failed, Some(at), None, Some(11), false),
            (RunState::Succeeded, Some(at), Some(0), None, false),
        ] {
            let outcome =
                RunOutcome { started_at, exit_code, signal, ..RunOutcome::without_files(state, None) };
            assert_eq!(outcome.is_interrupted(), is, "{state} {exit_code:?} {signal:?}");
        }
    }

    /// The text of a release that keyed runs by it: another text would make every stored key incomparable.
    #[test]
    fn the_text_behind_a_key_never_changes() {
        let what = |elsewhere: Option<&str>, without: &[&str]| What::Profile {
            name: Some("cargo-test-one".parse().expect("a name")),
            sha256: Some("ab12".to_owned()),
            args: BTreeMap::from([("test".to_owned(), "a \"b\"".to_owned())]),
            elsewhere: elsewhere.map(PathBuf::from),
            without: without.iter().map(|name| (*name).to_owned()).collect(),
        };
        let plain = "Some(ProfileName(\"cargo-test-one\")) ab12 {\"test\": \"a \\\"b\\\"\"}";
        assert_eq!(what(None, &[]).text(), plain);
        assert_eq!(what(Some("/x"), &["A", "B"]).text(), format!("{plain} in /x without [\"A\", \"B\"]"));
        assert_eq!(What::Typed("wc -l".parse().expect("a command")).text(), "wc -l");
        let What::Profile { name, .. } = what(None, &[]) else { panic!("a profile") };
        assert!(plain.starts_with(&format!("{name:?}")), "as it was derived");
    }
}
