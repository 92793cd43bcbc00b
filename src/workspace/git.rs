//! The git repository around a directory, read from its files: no program of it runs.

use std::io;
use std::path::{Path, PathBuf};

use crate::private;

/// What every work tree has at its top: the git directory itself, or a file that names it.
const DOT_GIT: &str = ".git";
/// The longest `.git` file, `commondir` or `HEAD` that is read; a path is shorter.
const MAX_BYTES: u64 = 16 * 1024;

/// A work tree and the directories of its repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WorkTree {
    /// Its top directory.
    pub top: PathBuf,
    /// What belongs to this work tree alone: `HEAD`, the index.
    git_dir: PathBuf,
    /// What all work trees of the repository share.
    pub common_dir: PathBuf,
}

/// A `.git` file that names a directory which is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dangling {
    /// The file.
    pub file: PathBuf,
    /// What it names.
    pub names: PathBuf,
}

impl WorkTree {
    /// The work tree whose top is `dir`; none when `dir` is no top.
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
                // An empty directory of this name is no repository, as for git itself.
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

    /// The name git gave a linked work tree; none for the main one.
    pub(super) fn name(&self) -> Option<&str> {
        (self.git_dir != self.common_dir).then(|| self.git_dir.file_name()?.to_str()).flatten()
    }

    /// The top of the main work tree; none where the repository is bare or does not say.
    pub(super) fn main_top(&self) -> Option<PathBuf> {
        if self.name().is_none() {
            return Some(self.top.clone());
        }
        let is_usual = self.common_dir.file_name().is_some_and(|name| name == DOT_GIT);
        self.common_dir.parent().filter(|_| is_usual).map(Path::to_owned)
    }

    /// The top of another work tree of the repository, by the name git gave it; of the main one without a name.
    pub(super) fn sibling(&self, name: Option<&str>) -> Option<PathBuf> {
        let Some(name) = name else { return self.main_top() };
        // A name is that of a directory, and leads nowhere else.
        let is_name = Path::new(name).file_name().is_some_and(|file| file == name);
        let about = self.common_dir.join("worktrees").join(is_name.then_some(name)?);
        let dot_git = about.join(private::path_of(&content(&about.join("gitdir")).ok()?)?);
        dot_git.parent()?.canonicalize().ok()
    }

    /// The branch that is checked out; none on a detached head.
    pub(super) fn branch(&self) -> Option<String> {
        let head = String::from_utf8(content(&self.git_dir.join("HEAD")).ok()?).ok()?;
        Some(head.strip_prefix("ref: refs/heads/")?.trim().to_owned())
    }
}

/// Whether a directory is a git directory; one that lost its head, as in a crash, still is.
fn is_git_dir(dir: &Path) -> bool {
    ["HEAD", "objects", super::IN_GIT].iter().any(|name| dir.join(name).exists())
}

/// What a file of git's holds, without the line break at its end: a path may hold others.
fn content(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(std::fs::File::open(path)?, MAX_BYTES), &mut bytes)?;
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    Ok(bytes)
}

/// Whether git tracks anything below a path of a work tree; none where no git can be asked.
pub(super) fn tracks(top: &Path, below: &Path) -> Option<bool> {
    let asked = std::process::Command::new("git")
        .arg("-C")
        .arg(top)
        // A repository's own settings start no program here.
        .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=", "ls-files", "-z", "--cached", "--"])
        .arg(below)
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .output()
        .ok()?;
    asked.status.success().then_some(!asked.stdout.is_empty())
}
