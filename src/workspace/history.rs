//! The history of a work tree, asked of git in a child process that runs no program of the repository's choosing.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::system;

/// How long git may take. A log of 2,000 commits takes a second in a large repository.
const WITHIN: Duration = Duration::from_secs(20);
/// How often a stop is looked for while git works.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The most that is read of a log, in bytes. The last commit of a longer log is dropped.
const MAX_BYTES: u64 = 16 << 20;
/// The fields of a commit before its files.
const FIELDS: usize = 5;

/// A commit as git tells it. Its texts may hold anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its hash.
    pub sha: String,
    /// The number of its parents.
    pub parents: usize,
    /// The author's name.
    pub author: String,
    /// When it was committed, in seconds since the epoch.
    pub at_s: i64,
    /// The first line of its message.
    pub subject: String,
    /// Its files, relative to the root of the workspace; those of a merge differ from its first parent.
    pub files: Vec<Vec<u8>>,
}

/// The commits to list.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The most commits, the newest.
    pub most: usize,
    /// Leaves out these commits and all before them. A commit that is gone leaves out nothing.
    pub after: &'a [String],
    /// Whether merges are listed.
    pub merges: bool,
}

/// Why a history cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum NoHistory {
    /// Git cannot be started.
    #[error("cannot run git: {0}")]
    Git(#[from] std::io::Error),
    /// Git failed.
    #[error("git cannot read the history: {0}")]
    Failed(String),
    /// Git took too long, or the writer ends.
    #[error("git was stopped before it had read the history")]
    Stopped,
}

/// The commits of the work tree at `root`, the newest first. None before the first commit, and outside a repository.
///
/// # Errors
/// [`NoHistory`].
pub fn log(root: &Path, wanted: Wanted<'_>, is_stopped: impl Fn() -> bool) -> Result<Vec<Commit>, NoHistory> {
    // Nothing in a repository can contain it: it is new for each call.
    let mark = system::new_id().simple().to_string();
    let format = format!("--format=tformat:{mark}%H%x00%P%x00%an%x00%ct%x00%s");
    let mut command = git(root);
    command.args(["log", "-z", "--no-show-signature", "--no-notes", "--no-color", "--no-decorate"]);
    command.args(["--no-ext-diff", "--no-textconv", "--no-renames", "--name-only", "--relative"]);
    command.args(["--ignore-submodules=all", "--encoding=UTF-8", "--topo-order"]);
    command.args([&format, &format!("--max-count={}", wanted.most)]);
    command.arg(if wanted.merges { "--diff-merges=first-parent" } else { "--no-merges" });
    command.args(["--ignore-missing", "--stdin"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        let after = wanted.after.iter().map(|sha| format!("^{sha}\n"));
        let asked: String = ["HEAD\n".to_owned()].into_iter().chain(after).collect();
        // Git may have failed already, and then says why.
        let _ = stdin.write_all(asked.as_bytes());
    }
    let (listed, said) = within(&mut child, is_stopped)?;
    if !child.wait()?.success() && listed.is_empty() {
        // A branch without a commit has no head, and a directory outside a repository has no history.
        if has_no_commit(root) {
            return Ok(Vec::new());
        }
        let said = String::from_utf8_lossy(&said).lines().next().unwrap_or_default().to_owned();
        return Err(NoHistory::Failed(said.chars().take(200).collect()));
    }
    Ok(parsed(&listed, &mark))
}

/// The oldest commit without parents that the head of the work tree at `root` comes from. None before the first commit,
/// outside a repository, and where git cannot tell in time.
pub fn root_commit(root: &Path) -> Option<String> {
    let mut command = git(root);
    command.args(["rev-list", "--max-parents=0", "--timestamp", "HEAD", "--"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().ok()?;
    let (listed, _) = within(&mut child, || false).ok()?;
    if !child.wait().ok()?.success() {
        return None;
    }
    let listed = String::from_utf8(listed).ok()?;
    let roots = listed.lines().filter_map(|line| {
        let (at, sha) = line.split_once(' ')?;
        Some((at.parse::<i64>().ok()?, sha.to_owned()))
    });
    roots.min().map(|(_, sha)| sha)
}

/// Whether git finds no commit at the head.
fn has_no_commit(root: &Path) -> bool {
    let head = git(root)
        .args(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    head.is_ok_and(|head| !head.success())
}

/// Git in a directory, without the variables of this process that lead it elsewhere, and without what the settings of a
/// repository can make it start or fetch.
fn git(root: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .args(["--no-pager", "--no-optional-locks", "--no-replace-objects", "--literal-pathspecs"])
        .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=", "-c", "log.showSignature=false"])
        .args(["-c", "protocol.allow=never", "-c", "core.quotePath=false", "-c", "log.follow=false"])
        .current_dir(root)
        .env_clear()
        .envs(system::variables().filter(|(name, _)| ["PATH", "HOME"].contains(&name.as_str())))
        .envs([("GIT_TERMINAL_PROMPT", "0"), ("GIT_NO_LAZY_FETCH", "1"), ("LC_ALL", "C")])
        .stdin(Stdio::null());
    command
}

/// The output of a child and what it says of errors, both with a limit, if it ends in time; it is killed otherwise.
fn within(child: &mut Child, is_stopped: impl Fn() -> bool) -> Result<(Vec<u8>, Vec<u8>), NoHistory> {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (read_tx, read_rx) = channel();
    std::thread::spawn(move || {
        let errors = std::thread::spawn(move || read(stderr, 4_096));
        let listed = read(stdout, MAX_BYTES);
        let _ = read_tx.send((listed, errors.join().unwrap_or_default()));
    });
    for _ in 0..WITHIN.as_millis() / LOOK_EVERY.as_millis() {
        match read_rx.recv_timeout(LOOK_EVERY) {
            Ok(read) => return Ok(read),
            Err(RecvTimeoutError::Timeout) if !is_stopped() => {}
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    // It may have ended by itself.
    let _ = child.kill();
    child.wait()?;
    Err(NoHistory::Stopped)
}

/// What a pipe gives, up to a limit. The pipe is closed then, which ends its writer.
fn read(pipe: Option<impl Read>, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe
        && pipe.take(most).read_to_end(&mut bytes).is_err()
    {
        bytes.clear();
    }
    bytes
}

/// The commits of a log whose records begin with `mark`.
fn parsed(listed: &[u8], mark: &str) -> Vec<Commit> {
    let is_cut = listed.len() as u64 == MAX_BYTES;
    let mut tokens = listed.split(|byte| *byte == 0).peekable();
    let mut commits = Vec::new();
    let begins = |token: &[u8]| token.starts_with(mark.as_bytes());
    while let Some(first) = tokens.next() {
        let Some(sha) = first.strip_prefix(mark.as_bytes()) else { continue };
        let fields: Vec<&[u8]> = tokens.by_ref().take(FIELDS - 1).collect();
        let [parents, author, at, subject] = fields[..] else { break };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut files = Vec::new();
        while let Some(file) = tokens.next_if(|token| !begins(token)) {
            // A line break parts the header from the first file.
            let is_first = files.is_empty();
            let file = file.strip_prefix(b"\n").filter(|_| is_first).unwrap_or(file);
            if !file.is_empty() {
                files.push(file.to_owned());
            }
        }
        commits.push(Commit {
            sha: text(sha),
            parents: parents.split(|byte| *byte == b' ').filter(|parent| !parent.is_empty()).count(),
            author: text(author),
            at_s: text(at).parse().unwrap_or_default(),
            subject: text(subject),
            files,
        });
    }
    if is_cut {
        commits.pop();
    }
    commits
}
