//! Reads the git repository around a directory from its files, and asks git only which files it tracks.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use crate::private;

/// The entry at the top of every work tree: the git directory itself, or a file that names it.
const DOT_GIT: &str = ".git";
/// The most that is read of `.git`, `commondir` or `HEAD`, in bytes; a path is shorter.
const MAX_BYTES: u64 = 16 * 1024;
/// The most linked work trees that are visited: many times those of a team.
const MAX_LINKED: usize = 64;

/// A work tree and the directories of its repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WorkTree {
    /// Its top directory.
    pub top: PathBuf,
    /// The files of this work tree alone: `HEAD`, the index.
    git_dir: PathBuf,
    /// The files that all work trees of the repository share.
    pub common_dir: PathBuf,
}

/// A `.git` file that names a missing directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dangling {
    /// Path of the `.git` file.
    pub file: PathBuf,
    /// The directory that it names.
    pub names: PathBuf,
}

impl WorkTree {
    /// The work tree whose top is `dir`; `None` when `dir` is not a top.
    ///
    /// # Errors
    /// [`Dangling`], as in a container that mounts a linked work tree without its repository.
    pub(super) fn at(dir: &Path) -> Result<Option<Self>, Dangling> {
        let file = dir.join(DOT_GIT);
        let Ok(metadata) = std::fs::symlink_metadata(&file) else { return Ok(None) };
        let git_dir = if metadata.is_file() {
            let text = content(&file).unwrap_or_default();
            let Some(named) =
                text.strip_prefix(b"gitdir:").and_then(|named| private::path_of(named.trim_ascii_start()))
            else {
                return Ok(None);
            };
            let names = dir.join(named);
            match names.canonicalize() {
                Ok(git_dir) if is_git_dir(&git_dir) => git_dir,
                _ => return Err(Dangling { file, names }),
            }
        } else {
            match file.canonicalize() {
                Ok(git_dir) if is_git_dir(&git_dir) => git_dir,
                // Like git, hm does not take an empty `.git` directory for a repository.
                _ => return Ok(None),
            }
        };
        let common_dir = match content(&git_dir.join("commondir")) {
            Ok(named) => {
                let names = git_dir.join(private::path_of(&named).unwrap_or_default());
                names.canonicalize().map_err(|_| Dangling { file, names })?
            }
            Err(_) => git_dir.clone(),
        };
        Ok(Some(Self { top: dir.to_owned(), git_dir, common_dir }))
    }

    /// The name that git gave a linked work tree; `None` for the main one.
    pub(super) fn name(&self) -> Option<&str> {
        (self.git_dir != self.common_dir).then(|| self.git_dir.file_name()?.to_str()).flatten()
    }

    /// The top of the main work tree; `None` for a bare repository and for one with an unusual layout.
    pub(super) fn main_top(&self) -> Option<PathBuf> {
        if self.name().is_none() {
            return Some(self.top.clone());
        }
        let is_usual = self.common_dir.file_name().is_some_and(|name| name == DOT_GIT);
        self.common_dir.parent().filter(|_| is_usual).map(Path::to_owned)
    }

    /// The top of another work tree by the name that git gave it, or of the main one for `None`.
    pub(super) fn sibling(&self, name: Option<&str>) -> Option<PathBuf> {
        let Some(name) = name else { return self.main_top() };
        // Accepts only the name of a directory, so that a name cannot lead elsewhere.
        let is_name = Path::new(name).file_name().is_some_and(|file| file == name);
        let about = self.common_dir.join("worktrees").join(is_name.then_some(name)?);
        let dot_git = about.join(private::path_of(&content(&about.join("gitdir")).ok()?)?);
        dot_git.parent()?.canonicalize().ok()
    }

    /// The names of the linked work trees of the repository, in their order.
    pub(super) fn linked(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.common_dir.join("worktrees")).into_iter().flatten().flatten();
        let names = entries.take(MAX_LINKED).filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.collect();
        names.sort_unstable();
        names
    }

    /// Whether the clone left out old commits.
    pub(super) fn is_shallow(&self) -> bool {
        self.common_dir.join("shallow").exists()
    }

    /// The branch that is checked out; `None` on a detached head.
    pub(super) fn branch(&self) -> Option<String> {
        let head = String::from_utf8(content(&self.git_dir.join("HEAD")).ok()?).ok()?;
        Some(head.strip_prefix("ref: refs/heads/")?.trim().to_owned())
    }
}

/// Whether a directory is a git directory. One without its `HEAD`, as after a crash, still counts.
fn is_git_dir(dir: &Path) -> bool {
    ["HEAD", "objects", super::IN_GIT].iter().any(|name| dir.join(name).exists())
}

/// The bytes of a file of git, without the last line break only: a path may contain others.
fn content(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(std::fs::File::open(path)?, MAX_BYTES), &mut bytes)?;
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    Ok(bytes)
}

/// Git in a directory, kept from starting the programs that settings of the repository name.
fn git(dir: &Path) -> std::process::Command {
    let mut git = std::process::Command::new("git");
    git.arg("-C").arg(dir).stdin(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    git.args(["--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath="]);
    git
}

/// Whether git tracks any file below a path of a work tree; `None` when git cannot be run or fails.
pub(super) fn tracks(top: &Path, below: &Path) -> Option<bool> {
    let listed = git(top).args(["ls-files", "-z", "--cached", "--"]).arg(below).output().ok()?;
    listed.status.success().then_some(!listed.stdout.is_empty())
}

/// The files below a directory that contain a text, except those that git ignores, relative to the directory. `names` are
/// patterns of their names. Empty when git cannot be run or fails.
pub(super) fn containing(root: &Path, text: &str, names: &[&str]) -> Vec<String> {
    let listed = git(root)
        .args(["grep", "--no-index", "--exclude-standard", "--no-textconv", "--files-with-matches", "-z"])
        .args(["--fixed-strings", "-e", text, "--"])
        .args(names)
        .output();
    let Ok(listed) = listed else { return Vec::new() };
    let files = listed.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    files.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

/// Those of these files of a work tree whose content is not that of a commit. None when git cannot be run or fails.
pub(super) fn differing<'f>(
    root: &Path,
    commit: &str,
    files: impl Iterator<Item = &'f str>,
) -> Option<BTreeSet<String>> {
    let listed = git(root)
        .args(["--literal-pathspecs", "diff", "--no-ext-diff", "--no-textconv", "--name-only", "-z"])
        .args(["--relative", "--end-of-options", commit, "--"])
        .args(files)
        .output()
        .ok()?;
    let names = listed.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let names = names.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    listed.status.success().then_some(names)
}
