//! Experiments: what is run, how it ended, and what the ledger keeps of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::domain::coverage::{self, Check};
use crate::domain::ids::RunId;
use crate::domain::scope::Scope;
use crate::domain::text::{CommandLine, Reason};
use crate::domain::time::Timestamp;

/// A profile's name: 1 to 64 of `a-z 0-9 _ -`, the stem of its file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ProfileName(String);

/// Text that is no profile's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a profile's name has 1 to 64 of a-z, 0-9, _ and -: rename the file")]
pub struct BadName;

impl ProfileName {
    /// The name.
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

/// What turns an exit code into support or contradiction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// The exit code that supports.
    pub exit: i32,
    /// The exit codes that contradict. A run with any other code has no outcome. Empty: every other code contradicts.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub fails: BTreeSet<i32>,
    /// A regular expression that the output matches where the check ran. A run without a match has no outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran: Option<String>,
}

impl Expect {
    /// The exit codes of shells and of `env` for a program that cannot be run, or is not there.
    pub const NOT_RUN: [i32; 2] = [126, 127];
    /// The signals by which others end a process, or the system at a limit: HUP, INT, KILL, PIPE, ALRM, TERM and XCPU.
    const FROM_OUTSIDE: [i32; 7] = [1, 2, 9, 13, 14, 15, 24];

    /// Whether a failure shows that the check ran, and not that its tool is missing.
    pub fn tells_failures(&self) -> bool {
        !self.fails.is_empty() || self.ran.is_some()
    }

    /// Whether a run with this exit code or signal has an outcome, as far as they say. A shell tells a signal as an exit
    /// code above 128.
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
        match &self.ran {
            Some(ran) => write!(f, "; output without `{ran}` shows nothing"),
            None => Ok(()),
        }
    }
}

/// What a run may use; one more byte, file or second and the system refuses or ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// What is stored of each stream, in bytes (seed 000, section 12.6: 1 MB); the whole of it is hashed.
    pub output_cap_bytes: u64,
    /// Open files of one process (spec 03).
    pub open_files: u64,
    /// The largest file a process may write, in bytes (spec 03).
    pub file_bytes: u64,
    /// Processor time of one process in seconds; 0 for (timeout + 5 s) on every core (spec 03).
    pub cpu_seconds: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { output_cap_bytes: 1 << 20, open_files: 1_024, file_bytes: 4 << 30, cpu_seconds: 0 }
    }
}

/// Which variables a run gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Environment {
    /// [`Environment::BASE`] and these.
    Only(BTreeSet<String>),
    /// All of the caller's: what the human at a terminal typed runs as if typed there.
    Inherited,
}

impl Environment {
    /// What every run gets, where it is set (spec 03).
    pub const BASE: [&'static str; 5] = ["PATH", "HOME", "LANG", "TERM", "TMPDIR"];

    /// Whether a run gets this variable. Our own are for us alone.
    pub fn has(&self, name: &str) -> bool {
        match self {
            Self::Only(names) => Self::BASE.contains(&name) || names.contains(name),
            Self::Inherited => !name.starts_with("HM_"),
        }
    }
}

/// What will run, and nothing else: no part of it is looked at again as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The profile; none for what a human typed.
    pub profile: Option<ProfileName>,
    /// SHA-256 of the profile's file as it was read for this plan, hex; none in plans of older releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_sha256: Option<String>,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The directory, canonical.
    pub cwd: PathBuf,
    /// Whether the caller chose another directory than the profile's own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub elsewhere: bool,
    /// The variables that the profile passes and the caller took away.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// Which variables it gets.
    pub env: Environment,
    /// Variables it gets besides, with their values: those of our own by which an agent finds its way back.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    /// How long it may run, in milliseconds.
    pub timeout_ms: u64,
    /// What it may use.
    pub limits: Limits,
    /// Whether everything is stored, without a cap: only a human may ask for it.
    pub uncapped: bool,
    /// Whether stdin and stdout are a terminal.
    pub pty: bool,
    /// What the exit code means.
    pub expect: Option<Expect>,
    /// Globs of paths, or scopes such as `tag:auth`, that the profile can settle claims about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// The command that says the version of the tool; empty where the profile names none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub version: Vec<String>,
}

impl Plan {
    /// Why a run of it settles nothing about a claim with these scopes and this prediction; none where it can.
    pub fn cannot_settle(&self, scopes: &[Scope], prediction: Prediction) -> Option<String> {
        let Self { profile, expect, scopes: globs, elsewhere, without, .. } = self;
        let (profile, expect, elsewhere) = (profile.as_ref(), expect.as_ref(), *elsewhere);
        coverage::cannot_settle(Check { profile, expect, globs, elsewhere, without }, scopes, prediction)
    }

    /// The command as a person would type it, for display only: nothing ever runs this text.
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

    /// [`Plan::preview`], cut to what a command line may hold.
    pub fn command_line(&self) -> CommandLine {
        let cut: String = self.preview().chars().take(CommandLine::MAX_CHARS).collect();
        cut.parse().expect("cut to its bounds, and a command has a first word")
    }
}

/// What stands for the command of a run whose end was erased, and its files with it.
pub const ERASED_COMMAND: &str = "(erased)";

crate::domain::claim::word!(
    /// What a claim predicts of a run about it, on record before the run starts.
    Prediction("prediction") {
        /// The claim holds if the profile's expectation is met.
        Passes = "passes",
        /// The claim holds if it is not met, such as "the build is broken".
        Fails = "fails",
    }
);

/// One of several runs of one request, which speak together when the last of them is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// The first of them, by which they go.
    pub first: RunId,
    /// Which one this is, from 1.
    pub number: u32,
    /// How many there are.
    pub of: u32,
}

/// How many runs came out which way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Runs that met the expectation.
    pub passed: u32,
    /// Runs that did not.
    pub failed: u32,
    /// Whether they ran on earlier content than the run that is spoken of.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub earlier: bool,
}

impl Tally {
    /// How many came out which way, and on what: with the way out, where there is one.
    pub fn on_content(self) -> String {
        if self.earlier {
            format!(
                "{self} on earlier content; 5 equal runs on the content of now clear the test (repeat: 5)"
            )
        } else {
            format!("{self} on the same content")
        }
    }

    /// One more run.
    pub fn add(&mut self, passed: bool) {
        *if passed { &mut self.passed } else { &mut self.failed } += 1;
    }

    /// Whether both outcomes were seen.
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
    /// Where a run is.
    RunState("run state") {
        /// It waits for its turn.
        Queued = "queued",
        /// It is under way.
        Running = "running",
        /// It exited as expected; with 0 where nothing is declared.
        Succeeded = "succeeded",
        /// It ran to its end otherwise.
        Failed = "failed",
        /// It took too long.
        TimedOut = "timed_out",
        /// Somebody stopped it.
        Canceled = "canceled",
        /// It never started, its check did not run, or the process that ran it is gone.
        Aborted = "aborted",
    }
);

impl RunState {
    /// Whether nothing more comes.
    pub const fn is_over(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }

    /// Whether the run says something about what it tested.
    pub const fn is_conclusive(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

/// The repository a run ran in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunGit {
    /// The commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha: Option<String>,
    /// The branch; none when detached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Whether anything differed from the commit.
    pub dirty: bool,
    /// The tree of the commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// A keyed digest of everything that differed from it; none where nothing did, or where it is too much to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The directory of the run below the top of the work tree, with a slash at its end; none for the top itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// A keyed digest of the files that the profile's scopes cover; none where they are too many or too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covered: Option<String>,
    /// A keyed digest of the files at and below the scopes of the claim; none where it has no such scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<String>,
}

impl RunGit {
    /// The tree of the commit and the digest of what differs from it; none where either is not known.
    fn content(&self) -> Option<(&str, &str)> {
        let diff = if self.dirty { self.diff.as_deref()? } else { "clean" };
        Some((self.tree.as_deref()?, diff))
    }
}

/// One stream of a run, as far as the ledger vouches for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStream {
    /// Bytes the program wrote.
    pub total_bytes: u64,
    /// Bytes in the file.
    pub stored_bytes: u64,
    /// Whether the file holds only the beginning and the end.
    pub truncated: bool,
    /// Secrets replaced in what was stored.
    pub redacted: u64,
    /// SHA-256 of the file, hex.
    pub sha256: String,
}

/// How a run ended and what it left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOutcome {
    /// How it ended.
    pub state: RunState,
    /// Its exit code, if it exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Why it never started, or what went wrong beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Reason>,
    /// When it started; none for one that never did, or was only recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// How long it ran, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The repository before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<Box<RunGit>>,
    /// The first line of the tool's version, where the profile says how to ask for it; else the program's SHA-256.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Standard output.
    #[serde(default)]
    pub stdout: RunStream,
    /// Standard error.
    #[serde(default)]
    pub stderr: RunStream,
    /// SHA-256 of `meta.json`, hex: through it every file of the run is in the ledger. None when there are no
    /// files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta_sha256: Option<String>,
    /// Files of its claim that were replaced or written while it ran.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub written: BTreeSet<Scope>,
}

impl RunOutcome {
    /// A run that ended without leaving anything.
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
            stdout: RunStream::default(),
            stderr: RunStream::default(),
            meta_sha256: None,
            written: BTreeSet::new(),
        }
    }

    /// The commit another run must be on to reproduce this one; none on a dirty tree.
    pub fn reproducible_at(&self) -> Option<&str> {
        let git = self.git.as_ref().filter(|git| !git.dirty && self.state.is_conclusive())?;
        git.sha.as_deref()
    }

    /// What the run was a run of, and on which content: equal keys should come out alike. `what` is the profile and
    /// its parameters. None where the content is not known, such as outside a repository.
    pub fn key(&self, what: &str) -> Option<RunKey> {
        let git = self.git.as_ref().filter(|_| self.state.is_conclusive())?;
        let tree = git.content().map(|(tree, diff)| hash(&[tree, diff]));
        let test = hash(&[what, git.prefix.as_deref().unwrap_or_default()]);
        let tool = self.tool.as_deref().unwrap_or_default();
        // What lies outside of the profile's scopes makes no other content.
        let content = match (&git.covered, git.content()) {
            (Some(covered), _) => hash(&[&test, "covered", covered, tool]),
            (None, Some((tree, diff))) => hash(&[&test, tree, diff, tool]),
            (None, None) => return None,
        };
        let (covered, own) = (git.covered.clone(), git.own.clone());
        Some(RunKey { test, content, tree, covered, own })
    }
}

/// SHA-256 of some texts in their order, in hex.
fn hash(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    hex::encode(hash.finalize())
}

/// What runs are compared by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunKey {
    /// Equal for runs of the same profile with the same parameters in the same directory, SHA-256 in hex.
    pub test: String,
    /// Equal where the files that the profile covers and the tool's version are the same too, SHA-256 in hex. Where those
    /// files are not known, the tree and the uncommitted changes stand for them.
    pub content: String,
    /// Equal where the tree and the uncommitted changes are the same, for runs of any test, SHA-256 in hex. None where they
    /// are not known, and in events of older releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// The digest of the files that the profile covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covered: Option<String>,
    /// The digest of the files of the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<String>,
}

impl RunKey {
    /// The key with the hash of the tree, which events of older releases leave out.
    #[must_use]
    pub fn with_tree(mut self, git: Option<&RunGit>) -> Self {
        let known = git.and_then(RunGit::content).map(|(tree, diff)| hash(&[tree, diff]));
        self.tree = self.tree.or(known);
        self
    }
}
