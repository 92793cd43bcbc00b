//! Where a run ran: the repository, the program, the environment, the machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::artifacts::hash_file;
use crate::domain::checkout::MARKER;
use crate::domain::coverage::glob;
use crate::domain::experiment::Files;
use crate::domain::scope::Scope;
use crate::private;

/// The most lines of `git status` that are kept; more are counted.
const MAX_STATUS_LINES: usize = 200;
/// The largest program that is hashed, in bytes: hashing must not outlast the run.
const MAX_PROGRAM_BYTES: u64 = 64 << 20;
/// The most that is read of what differs from a commit, in bytes.
const MAX_CONTENT_BYTES: u64 = 64 << 20;
/// The most files that are read of what a profile covers.
const MAX_COVERED_FILES: usize = 20_000;
/// How git lists a submodule: by its mode.
const SUBMODULE_MODE: &[u8] = b"160000 ";
/// How long a tool may take to say its version; `npx` takes a second.
const VERSION_WITHIN: Duration = Duration::from_secs(5);
/// The most that is read of a version.
const MAX_VERSION_BYTES: u64 = 4_096;

/// A repository before a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Git {
    /// The commit; none before the first one.
    pub sha: Option<String>,
    /// The branch; none when detached.
    pub branch: Option<String>,
    /// Whether anything differs from the commit, files git does not know included.
    pub dirty: bool,
    /// What `git status --porcelain` says, at most 200 lines.
    pub status_porcelain: Vec<String>,
    /// Lines left out of it.
    pub status_omitted: usize,
    /// The tree of the commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// HMAC-SHA-256 under the workspace's key of what differs from the commit, hex; none where that is too much to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The directory below the top of the work tree, with a slash at its end; none for the top itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// HMAC-SHA-256 under the workspace's key of the files that the profile covers, hex; none where they are too many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covered: Option<String>,
    /// The same of the files at and below the scopes of the claim; none where no scope is a path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<String>,
    /// Those of the covered files that could be read, one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Files>,
    /// The same of the files at and below the scopes of the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_files: Option<Files>,
}

impl Git {
    /// What git says of a directory; nothing outside a repository or without git.
    pub fn of(dir: &Path, environment: &BTreeMap<String, String>) -> Option<Self> {
        let status = ["status", "--porcelain=v2", "--branch"];
        let output = git(dir, environment, &status).output().ok().filter(|output| output.status.success())?;
        Some(Self::parse(&String::from_utf8_lossy(&output.stdout)))
    }

    /// Adds on which content the run runs: the tree of the commit, and a digest of what differs from it.
    #[must_use]
    pub(super) fn with_content(
        mut self,
        dir: &Path,
        environment: &BTreeMap<String, String>,
        key: &[u8; 32],
    ) -> Self {
        // Before the first commit git says where it is, and fails at the tree.
        let place = ["rev-parse", "--show-toplevel", "--show-prefix", "--verify", "--quiet", "HEAD^{tree}"];
        let Ok(output) = git(dir, environment, &place).output() else { return self };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut lines = text.lines();
        let top = lines.next();
        self.prefix = lines.next().filter(|prefix| !prefix.is_empty()).map(str::to_owned);
        if let (Some(top), Some(tree), true) = (top, lines.next(), output.status.success()) {
            let top = Path::new(top);
            // Git says nothing about what lies in the directory of a submodule that has no repository.
            let is_hidden = |path: &PathBuf| is_hidden(&top.join(path)).unwrap_or(true);
            if submodules(top, environment).is_none_or(|paths| paths.iter().any(is_hidden)) {
                return self;
            }
            self.tree = Some(tree.to_owned());
            self.diff = self.dirty.then(|| uncommitted(top, environment, key).ok().flatten()).flatten();
        }
        self
    }

    /// Adds what the files hold that the profile covers, and those of the claim.
    #[must_use]
    pub(super) fn with_files(
        mut self,
        (root, environment): (&Path, &BTreeMap<String, String>),
        key: &[u8; 32],
        globs: &[String],
        claim: &[Scope],
    ) -> Self {
        let Some(mut files) = files(root, environment) else { return self };
        // Git lists no file that it ignores, and a claim may be about one.
        let is_file =
            |scope: &&Scope| scope.is_path() && !scope.is_glob() && root.join(scope.as_str()).is_file();
        files.extend(claim.iter().filter(is_file).cloned());
        // Or about a directory that git ignores.
        let is_ignored = |scope: &&Scope| {
            let is_dir = scope.is_path() && !scope.is_glob() && root.join(scope.as_str()).is_dir();
            is_dir && !files.iter().any(|file| scope.covers(file))
        };
        let ignored: Vec<Scope> =
            claim.iter().filter(is_ignored).flat_map(|dir| unlisted(root, dir)).collect();
        files.extend(ignored);
        let globs: Vec<_> = globs.iter().filter(|text| !text.contains(':')).collect();
        let globs: Vec<_> = globs.into_iter().filter_map(|text| glob(text).ok()).collect();
        // A profile for symbols or tags says nothing about where they lie.
        let covered =
            |path: &Scope| globs.is_empty() || globs.iter().any(|glob| glob.is_match(path.as_str()));
        let own = |path: &Scope| claim.iter().any(|scope| scope.is_path() && scope.covers(path));
        let digest = |counts: Counts, holds: &dyn Fn(&Scope) -> bool| {
            digest((root, environment), key, counts, files.iter().filter(|path| holds(path))).unzip()
        };
        (self.covered, self.files) = digest(Counts::BytesAndMode, &covered);
        self.files.get_or_insert_default();
        if claim.iter().any(Scope::is_path) {
            (self.own, self.own_files) = digest(Counts::Bytes, &own);
        }
        self
    }

    /// Reads the second form of `git status`, and writes its lines in the first, which people know.
    fn parse(text: &str) -> Self {
        let mut git = Self::default();
        for line in text.lines() {
            let mut words = line.splitn(3, ' ');
            match (words.next(), words.next(), words.next()) {
                (Some("#"), Some("branch.oid"), Some(sha)) if sha != "(initial)" => {
                    git.sha = Some(sha.to_owned())
                }
                (Some("#"), Some("branch.head"), Some(head)) if head != "(detached)" => {
                    git.branch = Some(head.to_owned());
                }
                (Some("#"), ..) => {}
                (Some("?"), ..) => git.changed(format!("?? {}", line.get(2..).unwrap_or_default())),
                // What follows the state: 6 fields, 7 of a rename, 8 of a conflict, then the path.
                (Some(kind @ ("1" | "2" | "u")), Some(state), Some(rest)) => {
                    let fields = match kind {
                        "1" => 7,
                        "2" => 8,
                        _ => 9,
                    };
                    let path = rest.splitn(fields, ' ').last().unwrap_or_default();
                    git.changed(format!("{} {}", state.replace('.', " "), path.replace('\t', " <- ")));
                }
                _ => {}
            }
        }
        git
    }

    fn changed(&mut self, line: String) {
        self.dirty = true;
        if self.status_porcelain.len() < MAX_STATUS_LINES {
            self.status_porcelain.push(line);
        } else {
            self.status_omitted += 1;
        }
    }
}

/// Git in a directory. A monitor is a program of the repository's choosing, and nothing here may write: `git status` and
/// `git diff` would write the index anew, and `git diff` does not ask whether it may lock.
fn git(dir: &Path, environment: &BTreeMap<String, String>, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command
        .args(["--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "diff.autoRefreshIndex=false"])
        .args(arguments)
        .current_dir(dir)
        .env_clear()
        .envs(environment.iter().filter(|(name, _)| ["PATH", "HOME"].contains(&name.as_str())))
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// The digest of all that differs from the commit, files that git does not know included; none where that is more than
/// [`MAX_CONTENT_BYTES`] or something changes while it is read.
fn uncommitted(
    top: &Path,
    environment: &BTreeMap<String, String>,
    key: &[u8; 32],
) -> io::Result<Option<String>> {
    let mut content = Content::new(key);
    let fits = content.take_uncommitted(top, environment)?;
    Ok(fits.then(|| content.digest()))
}

/// The directories of the submodules of a work tree, below its top; none where git does not say.
fn submodules(top: &Path, environment: &BTreeMap<String, String>) -> Option<Vec<PathBuf>> {
    let listed = git(top, environment, &["ls-files", "--stage", "-z"]).output();
    let listed = listed.ok().filter(|listed| listed.status.success())?;
    let entries = listed.stdout.split(|byte| *byte == 0);
    let entries = entries.filter(|entry| entry.starts_with(SUBMODULE_MODE));
    // The mode, the commit and the stage, then the path.
    let paths = entries.filter_map(|entry| entry.splitn(2, |byte| *byte == b'\t').nth(1));
    paths.map(private::path_of).collect()
}

/// Whether a directory holds something that no repository of its own tells about. One that is not there holds nothing.
fn is_hidden(dir: &Path) -> io::Result<bool> {
    if !dir.is_dir() || dir.join(".git").exists() {
        return Ok(false);
    }
    Ok(std::fs::read_dir(dir)?.next().is_some())
}

/// The files that git knows below some scopes.
pub(super) fn tracked(root: &Path, environment: &BTreeMap<String, String>, scopes: &[Scope]) -> Vec<Scope> {
    if scopes.is_empty() {
        return Vec::new();
    }
    let files = listed(root, environment, &["--cached"]).unwrap_or_default().into_iter();
    let below = files.filter(|file| scopes.iter().any(|scope| scope.covers(file)));
    below.take(MAX_COVERED_FILES).collect()
}

/// The files that the globs of a profile cover: those that git knows, and those that it would know. At most
/// [`MAX_COVERED_FILES`] of each; empty where git does not say.
pub(super) fn covered(
    root: &Path,
    environment: &BTreeMap<String, String>,
    globs: &[String],
) -> [BTreeSet<Scope>; 2] {
    let globs: Vec<_> = globs.iter().filter(|text| !text.contains(':')).collect();
    let globs: Vec<_> = globs.into_iter().filter_map(|text| glob(text).ok()).collect();
    [&["--cached"][..], &["--others", "--exclude-standard"]].map(|which| {
        let files = listed(root, environment, which).unwrap_or_default().into_iter();
        let covered = files.filter(|file| globs.iter().any(|glob| glob.is_match(file.as_str())));
        covered.take(MAX_COVERED_FILES).collect()
    })
}

/// The files of a work tree that git knows or would know, in their order; none where git does not say.
fn files(root: &Path, environment: &BTreeMap<String, String>) -> Option<BTreeSet<Scope>> {
    listed(root, environment, &["--cached", "--others", "--exclude-standard"])
}

/// The files of a directory that git does not list, some more than [`MAX_COVERED_FILES`] at most.
fn unlisted(root: &Path, dir: &Scope) -> Vec<Scope> {
    let mut found = Vec::new();
    let mut open = vec![root.join(dir.as_str())];
    while let Some(dir) = open.pop().filter(|_| found.len() <= MAX_COVERED_FILES) {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && name != MARKER && name != ".git" => open.push(path),
                Ok(kind) if kind.is_dir() => {}
                _ => {
                    let inside = path.strip_prefix(root).ok().and_then(Path::to_str);
                    found.extend(inside.and_then(|inside| Scope::as_written(inside, "").ok()));
                }
            }
        }
    }
    found
}

fn listed(root: &Path, environment: &BTreeMap<String, String>, which: &[&str]) -> Option<BTreeSet<Scope>> {
    let listed = git(root, environment, &[&["ls-files", "-z"], which].concat()).output();
    let listed = listed.ok().filter(|listed| listed.status.success())?;
    let names = listed.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let mut files = BTreeSet::new();
    for name in names.filter(|name| private::path_of(name).is_none_or(|path| !path.starts_with(MARKER))) {
        // A name that is no scope cannot be compared with any.
        if let Some(path) = std::str::from_utf8(name).ok().and_then(|name| Scope::as_written(name, "").ok()) {
            files.insert(path);
        }
    }
    Some(files)
}

/// What of a file is part of a digest.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counts {
    /// What the file holds.
    Bytes,
    /// Also whether it can be executed: a test may depend on it.
    BytesAndMode,
}

/// The digest of what files hold, of all and of each; none where they are more than [`MAX_COVERED_FILES`] or
/// [`MAX_CONTENT_BYTES`], or one of them cannot be read.
fn digest<'f>(
    (root, environment): (&Path, &BTreeMap<String, String>),
    key: &[u8; 32],
    counts: Counts,
    files: impl Iterator<Item = &'f Scope>,
) -> Option<(String, Files)> {
    let mut content = Content::new(key);
    let mut held = Files::default();
    for (number, path) in files.enumerate() {
        if number >= MAX_COVERED_FILES {
            return None;
        }
        let file = root.join(path.as_str());
        content.mac.update(path.as_str().as_bytes());
        let mut one = keyed(key);
        one.update(path.as_str().as_bytes());
        let name = one.clone();
        content.one = Some(one);
        let Ok(metadata) = file.symlink_metadata() else {
            content.mac.update(b"\0absent");
            continue;
        };
        content.mac.update(&[0]);
        #[cfg(unix)]
        if counts == Counts::BytesAndMode {
            let mode = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions());
            content.mac.update(&[u8::from(mode & 0o111 != 0)]);
        }
        if !content.take_entry(&file, &metadata, environment).ok()? {
            return None;
        }
        if let Some(one) = content.one.take() {
            held.add(name.finalize().into_bytes().into(), one.finalize().into_bytes().into());
        }
    }
    Some((content.digest(), held.up_to_most()))
}

/// Content as it is hashed.
struct Content {
    mac: Hmac<Sha256>,
    /// The file that is read, by itself: its path and its bytes.
    one: Option<Hmac<Sha256>>,
    /// Bytes that may still come.
    left: u64,
}

impl Content {
    fn new(key: &[u8; 32]) -> Self {
        Self { mac: keyed(key), one: None, left: MAX_CONTENT_BYTES }
    }

    fn digest(self) -> String {
        hex::encode(self.mac.finalize().into_bytes())
    }

    /// Takes in all that differs from the commit of a repository, files that git does not know included; whether all of
    /// it fits.
    fn take_uncommitted(&mut self, top: &Path, environment: &BTreeMap<String, String>) -> io::Result<bool> {
        let diff =
            ["diff", "HEAD", "--binary", "--full-index", "--no-ext-diff", "--no-textconv", "--no-color"];
        let mut child = git(top, environment, &diff).stdout(Stdio::piped()).spawn()?;
        let fits = match child.stdout.take() {
            Some(stdout) => self.take(stdout)?,
            None => false,
        };
        // A pipe without a reader ends the child.
        if !child.wait()?.success() || !fits {
            return Ok(false);
        }
        let unknown =
            git(top, environment, &["ls-files", "--others", "--exclude-standard", "-z"]).output()?;
        if !unknown.status.success() {
            return Ok(false);
        }
        for name in unknown.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            let Some(path) = private::path_of(name) else { return Ok(false) };
            if path.starts_with(MARKER) {
                continue;
            }
            let file = top.join(path);
            self.mac.update(name);
            if !self.take_entry(&file, &file.symlink_metadata()?, environment)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes in what git lists as one entry; whether all of it fits.
    fn take_entry(
        &mut self,
        file: &Path,
        metadata: &Metadata,
        environment: &BTreeMap<String, String>,
    ) -> io::Result<bool> {
        match metadata.file_type() {
            kind if kind.is_symlink() => self.take(std::fs::read_link(file)?.as_os_str().as_encoded_bytes()),
            kind if kind.is_file() => self.take(File::open(file)?),
            // A repository within, or another work tree: its commit, and what differs from it.
            kind if kind.is_dir() && file.join(".git").exists() => {
                let head = git(file, environment, &["rev-parse", "HEAD"]).output()?;
                Ok(self.take(&*head.stdout)? && self.take_uncommitted(file, environment)?)
            }
            // An empty directory stands for a repository that was not fetched. What another one holds is not known.
            kind if kind.is_dir() => Ok(!is_hidden(file)?),
            // A pipe would wait for its other end.
            _ => Ok(false),
        }
    }

    /// Takes in one piece; whether all of it fits.
    fn take(&mut self, from: impl Read) -> io::Result<bool> {
        let mut bytes = Vec::new();
        let read = from.take(self.left + 1).read_to_end(&mut bytes)? as u64;
        self.mac.update(&read.to_le_bytes());
        self.mac.update(&bytes);
        if let Some(one) = &mut self.one {
            one.update(&read.to_le_bytes());
            one.update(&bytes);
        }
        let fits = read <= self.left;
        self.left = self.left.saturating_sub(read);
        Ok(fits)
    }
}

fn keyed(key: &[u8; 32]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes keys of any length")
}

/// The first line that the tool of a run says about its version; none where it says nothing in time.
pub(super) fn version(argv: &[String], dir: &Path, environment: &BTreeMap<String, String>) -> Option<String> {
    let (program, arguments) = argv.split_first()?;
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(dir)
        .env_clear()
        .envs(environment)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let stdout = child.stdout.take()?;
    let (line_tx, line_rx) = channel();
    // What it left behind may hold the pipe open: this thread is waited for no longer than the tool.
    thread::spawn(move || {
        let mut text = String::new();
        let read = BufReader::new(stdout.take(MAX_VERSION_BYTES)).read_line(&mut text);
        let _ = line_tx.send(read.ok().map(|_| text.trim().to_owned()));
    });
    let first = line_rx.recv_timeout(VERSION_WITHIN).ok().flatten();
    let _ = child.kill();
    let _ = child.wait();
    first.filter(|line| !line.is_empty())
}

/// A program as it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Where it lies.
    pub path: PathBuf,
    /// SHA-256 of the file, hex; none of a very large one.
    pub sha256: Option<String>,
}

impl Program {
    pub(super) fn at(path: PathBuf) -> Self {
        let small = std::fs::metadata(&path).is_ok_and(|meta| meta.len() <= MAX_PROGRAM_BYTES);
        let sha256 = small.then(|| hash_file(&path).ok()).flatten();
        Self { path, sha256 }
    }
}

/// The machine and what ran the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// The operating system, such as `linux`.
    pub platform: String,
    /// The processor, in the names of Node's `process.arch`: `x64`, `arm64`.
    pub arch: String,
    /// The version of the kernel.
    pub kernel: String,
    /// How many processors a run may use.
    pub cores: usize,
    /// The version of Hivemind.
    pub hivemind: String,
}

impl Host {
    /// This machine.
    pub fn here() -> Self {
        let arch = match std::env::consts::ARCH {
            "x86_64" => "x64",
            "aarch64" => "arm64",
            other => other,
        };
        #[cfg(unix)]
        let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
        #[cfg(not(unix))]
        let kernel = String::new();
        Self {
            platform: std::env::consts::OS.to_owned(),
            arch: arch.to_owned(),
            kernel,
            cores: cores(),
            hivemind: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// How many processors there are to run on, at least 1.
pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// One value for one environment: HMAC-SHA-256 of its sorted `NAME=value` lines. Keyed, because a plain hash of
/// few unknown values can be guessed at.
pub(super) fn fingerprint(environment: &BTreeMap<String, String>, key: &[u8; 32]) -> String {
    let mut mac = keyed(key);
    for (name, value) in environment {
        for part in [name.as_bytes(), b"=", value.as_bytes(), b"\0"] {
            mac.update(part);
        }
    }
    hex::encode(mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::Git;

    #[test]
    fn a_status_is_read() {
        let status = "# branch.oid 5f3c1e\n# branch.head main\n# branch.upstream origin/main\n\
            1 .M N... 100644 100644 100644 aaaa bbbb src/a file.rs\n\
            2 R. N... 100644 100644 100644 aaaa bbbb R100 new.rs\told.rs\n\
            u UU N... 100644 100644 100644 100644 aaaa bbbb cccc both.rs\n? notes.txt\n";
        expect![[r#"
            Git {
                sha: Some(
                    "5f3c1e",
                ),
                branch: Some(
                    "main",
                ),
                dirty: true,
                status_porcelain: [
                    " M src/a file.rs",
                    "R  new.rs <- old.rs",
                    "UU both.rs",
                    "?? notes.txt",
                ],
                status_omitted: 0,
                tree: None,
                diff: None,
                prefix: None,
                covered: None,
                own: None,
                files: None,
                own_files: None,
            }
        "#]]
        .assert_debug_eq(&Git::parse(status));
        let empty = Git::parse("# branch.oid (initial)\n# branch.head (detached)\n");
        assert_eq!(empty, Git::default());
    }
}
