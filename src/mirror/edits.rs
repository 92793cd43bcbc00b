//! The files of a mirror in a directory, and what people edited in a mirror.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Serialize;
use similar::{ChangeTag, TextDiff};

use super::git::{Import, Tree};
use super::{ASIDE, HEADS, Mirror, MirrorError, Place, SHOWN, at, ledger_of};
use crate::domain::ids::ClaimId;
use crate::domain::mirror::edited_statement;
use crate::private;
use crate::system;
use crate::workspace::Workspace;

/// The directories of a mirror.
const DIRS: [&str; 3] = ["claims", "decisions", "scopes"];
/// How the names of files begin that a killed run left, and the length of these names.
const LEFT: (&str, usize) = (".new-", 11);
/// The most that is read of an edited file, in bytes: many times the longest page.
const MAX_BYTES: u64 = 4 << 20;
/// The longest page whose changed lines are named, in bytes, and the most of these lines.
const MAX_COMPARED: usize = 64 << 10;
const MAX_LINES: usize = 20;

/// How a file was edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Edited {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// Its statement is another one.
    Statement,
    /// Something else in it is.
    Other,
}

/// A file that differs from what hm wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Edit {
    /// Its path in the mirror.
    pub path: String,
    /// How it was edited.
    pub edited: Edited,
    /// The claim of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim_id: Option<ClaimId>,
    /// The statement that hm wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
    /// The edited statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is: Option<String>,
    /// The changed lines beside the statement, each after `-` or `+`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
}

/// The files in the directory of a mirror. Empty for a branch, which has none.
#[derive(Debug, Default)]
pub(super) struct Work {
    dir: Option<PathBuf>,
    /// The files of the newest commit.
    tip: Tree,
    /// Those of the commit that was shown completely. A killed run leaves files of both.
    shown: Tree,
    /// The object of each known path in the directory. None if it is missing, or no file.
    here: BTreeMap<String, Option<String>>,
}

impl Work {
    pub(super) fn of(mirror: &Mirror) -> Result<Self, MirrorError> {
        let tree = |commit: Option<&str>| commit.map(|commit| mirror.repository.tree(commit)).transpose();
        let tip = tree(mirror.tip.as_deref())?.unwrap_or_default();
        let Place::Dir(dir) = &mirror.place else { return Ok(Self { tip, ..Self::default() }) };
        let dir = std::path::absolute(dir).map_err(at(dir))?;
        let shown = tree(mirror.repository.commit_of(SHOWN)?.as_deref())?.unwrap_or_default();
        let paths: BTreeSet<&String> = tip.keys().chain(shown.keys()).collect();
        let mut here: BTreeMap<String, Option<String>> =
            paths.iter().map(|path| ((*path).clone(), None)).collect();
        let is_file = |path: &&&String| is_file_below(&dir, path);
        let files: Vec<&String> = paths.iter().filter(is_file).copied().collect();
        let absolute: Vec<PathBuf> = files.iter().map(|path| dir.join(path)).collect();
        for (path, sha) in files.iter().zip(mirror.repository.hashed(&absolute)?) {
            here.insert((*path).clone(), Some(sha));
        }
        Ok(Self { dir: Some(dir), tip, shown, here })
    }

    /// The known paths in the directory that hold neither what the newest commit holds nor what was shown before.
    fn changed(&self) -> impl Iterator<Item = &String> {
        let is_ours = |(path, sha): &(&String, &Option<String>)| {
            [&self.tip, &self.shown].iter().any(|tree| tree.get(*path) == sha.as_ref())
        };
        self.here.iter().filter(move |file| !is_ours(file)).map(|(path, _)| path)
    }

    /// The paths that people edited: in commits of theirs, and in the directory.
    pub(super) fn edited(&self, mirror: &Mirror) -> Result<BTreeSet<String>, MirrorError> {
        let mut edited: BTreeSet<String> = self.changed().cloned().collect();
        if let Some((last, tip)) = mirror.last.as_ref().zip(mirror.tip.as_ref())
            && last.sha != *tip
        {
            let base = mirror.repository.tree(&last.sha)?;
            let paths: BTreeSet<&String> = base.keys().chain(self.tip.keys()).collect();
            edited.extend(paths.into_iter().filter(|path| base.get(*path) != self.tip.get(*path)).cloned());
            // Commits without a change are edits too: a person made them.
            if edited.is_empty() {
                edited.insert(tip.clone());
            }
        }
        Ok(edited)
    }

    /// Shows a commit in the directory.
    pub(super) fn show(&mut self, mirror: &Mirror, commit: &str) -> Result<(), MirrorError> {
        let Some(dir) = self.dir.clone() else { return Ok(()) };
        let is_shown = mirror.repository.commit_of(SHOWN)?.as_deref() == Some(commit);
        let tree = mirror.repository.tree(commit)?;
        let news: Vec<(&String, &String)> = tree
            .iter()
            .filter(|(path, sha)| self.here.get(*path).and_then(Option::as_ref) != Some(sha))
            .collect();
        let gone: Vec<&String> = self.here.keys().filter(|path| !tree.contains_key(*path)).collect();
        if is_shown && news.is_empty() && gone.is_empty() {
            return Ok(());
        }
        clear_left(&dir)?;
        let shas: Vec<&str> = news.iter().map(|(_, sha)| sha.as_str()).collect();
        for ((path, _), content) in news.iter().zip(mirror.repository.objects(&shas)?) {
            let file = dir.join(path);
            if let Some(above) = Path::new(path).parent().filter(|above| *above != Path::new("")) {
                private::create_dir_in(&dir.join(above)).map_err(at(&file))?;
            }
            private::swap(&file, &content).map_err(at(&file))?;
        }
        for path in gone {
            let file = dir.join(path);
            private::gone(std::fs::remove_file(&file)).map_err(at(&file))?;
        }
        mirror.repository.index(commit)?;
        mirror.repository.point(SHOWN, commit, None)
    }
}

/// Whether a path of the mirror is a file, and below a real directory.
fn is_file_below(dir: &Path, path: &str) -> bool {
    let real = |path: PathBuf| std::fs::symlink_metadata(path).ok();
    let above = Path::new(path).parent().unwrap_or(Path::new(""));
    let is_below = above == Path::new("") || real(dir.join(above)).is_some_and(|found| found.is_dir());
    is_below && real(dir.join(path)).is_some_and(|found| found.is_file())
}

/// Removes what a killed run left beside the files.
fn clear_left(dir: &Path) -> Result<(), MirrorError> {
    let dirs = DIRS.iter().map(|below| dir.join(below)).chain([dir.to_owned()]);
    for dir in dirs.filter(|dir| std::fs::symlink_metadata(dir).is_ok_and(|found| found.is_dir())) {
        for entry in std::fs::read_dir(&dir).map_err(at(&dir))?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(LEFT.0) && name.len() == LEFT.1 {
                private::gone(std::fs::remove_file(entry.path())).map_err(at(&entry.path()))?;
            }
        }
    }
    Ok(())
}

/// Keeps all edits on a branch of their own, and takes them off the mirror. The name of the branch.
pub(super) fn set_aside(mirror: &mut Mirror, work: &Work) -> Result<Option<String>, MirrorError> {
    let (Some(tip), Some(last)) = (mirror.tip.clone(), mirror.last.as_ref()) else { return Ok(None) };
    let now = system::now();
    let stamp: String = now.to_string().chars().filter(char::is_ascii_alphanumeric).collect();
    let mut branch = format!("{ASIDE}-{stamp}");
    for number in 2.. {
        if mirror.repository.commit_of(&branch)?.is_none() {
            break;
        }
        branch = format!("{ASIDE}-{stamp}-{number}");
    }
    let mut files = Vec::new();
    for path in work.changed() {
        let file = work.dir.as_deref().unwrap_or(Path::new("")).join(path);
        let content = match private::read(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            // Of a link, what it leads to is kept, as git does.
            read => match std::fs::read_link(&file) {
                Ok(target) => Some(target.into_os_string().into_encoded_bytes()),
                Err(_) => Some(read.map_err(at(&file))?),
            },
        };
        files.push((path.clone(), content));
    }
    if files.is_empty() {
        mirror.repository.point(&branch, &tip, Some(""))?;
    } else {
        let mut import =
            Import::start(&mirror.repository, (&branch, Some(tip.clone())), &last.ledger, false)?;
        import.edits(now.ms().div_euclid(1_000), &files)?;
        import.finish()?;
    }
    if last.sha != tip {
        mirror.repository.point(&mirror.branch, &last.sha, Some(&tip))?;
        mirror.tip = Some(last.sha.clone());
    }
    Ok(branch.strip_prefix(HEADS).map(ToOwned::to_owned))
}

/// What people edited in a mirror, by path: in commits of theirs, and in the files of its directory. Writes nothing.
///
/// # Errors
/// [`MirrorError`].
pub fn edits(workspace: &Workspace, place: &Place) -> Result<Vec<Edit>, MirrorError> {
    let (_, name) = ledger_of(workspace)?;
    let no_mirror = || MirrorError::NoMirror(place.clone());
    let mirror = Mirror::open(workspace, place, &name)?.ok_or_else(no_mirror)?;
    let last = mirror.last.as_ref().ok_or_else(no_mirror)?;
    let work = Work::of(&mirror)?;
    let base = mirror.repository.tree(&last.sha)?;
    let in_dir: BTreeSet<&String> = work.changed().collect();
    let mut edits = Vec::new();
    for path in work.edited(&mirror)? {
        let text = |sha: Option<&String>| -> Result<Option<String>, MirrorError> {
            let Some(sha) = sha else { return Ok(None) };
            let content = mirror.repository.objects(&[sha.as_str()])?.pop();
            Ok(content.map(|content| String::from_utf8_lossy(&content).into_owned()))
        };
        let was = text(base.get(&path))?;
        let is = match work.dir.as_deref().filter(|_| in_dir.contains(&path)) {
            Some(dir) => content(&dir.join(&path))?,
            None => text(work.tip.get(&path))?,
        };
        if was.is_some() || is.is_some() {
            edits.push(edit(path, was.as_deref(), is.as_deref()));
        }
    }
    for path in work.dir.iter().flat_map(|dir| beside(dir, &work.here)) {
        edits.push(edit(path, None, Some("")));
    }
    Ok(edits)
}

/// The content of an edited file. None if it is no file any more.
fn content(file: &Path) -> Result<Option<String>, MirrorError> {
    let is_readable =
        std::fs::symlink_metadata(file).is_ok_and(|found| found.is_file() && found.len() <= MAX_BYTES);
    if !is_readable {
        return Ok(None);
    }
    let bytes = private::read(file).map_err(at(file))?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// The Markdown files of people in the directories of the mirror.
fn beside(dir: &Path, known: &BTreeMap<String, Option<String>>) -> Vec<String> {
    let entries = DIRS.iter().flat_map(|below| {
        let entries = std::fs::read_dir(dir.join(below)).into_iter().flatten().flatten();
        entries.map(move |entry| format!("{below}/{}", entry.file_name().to_string_lossy()))
    });
    let is_theirs = |path: &String| !known.contains_key(path) && path.ends_with(".md");
    let mut found: Vec<String> = entries.filter(is_theirs).collect();
    found.sort_unstable();
    found
}

fn edit(path: String, was: Option<&str>, is: Option<&str>) -> Edit {
    let claim_id = claim_of(&path);
    let (edited, said) = match (was, is) {
        (None, _) => (Edited::Added, None),
        (Some(_), None) => (Edited::Removed, None),
        (Some(was), Some(is)) => match claim_id.and_then(|_| edited_statement(was, is)) {
            Some(said) => (Edited::Statement, Some(said)),
            None => (Edited::Other, None),
        },
    };
    let lines = match (edited, was.zip(is)) {
        (Edited::Other, Some((was, is))) => changed_lines(was, is),
        (Edited::Added | Edited::Removed | Edited::Statement | Edited::Other, _) => Vec::new(),
    };
    let (was, is) = said.unzip();
    Edit { path, edited, claim_id, was, is, lines }
}

/// The lines in which two short pages differ, the first ones.
fn changed_lines(was: &str, is: &str) -> Vec<String> {
    if was.len().max(is.len()) > MAX_COMPARED {
        return Vec::new();
    }
    let diff = TextDiff::from_lines(was, is);
    let changes = diff.iter_all_changes().filter_map(|change| {
        let sign = match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => return None,
        };
        Some(format!("{sign} {}", change.value().trim_end()))
    });
    changes.take(MAX_LINES).collect()
}

/// The claim that a path names: `claims/C47-ID.md`.
fn claim_of(path: &str) -> Option<ClaimId> {
    let (dir, file) = path.split_once('/')?;
    let (_, id) = file.strip_suffix(".md")?.split_once('-')?;
    if dir == "scopes" { None } else { id.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::claim_of;

    #[test]
    fn a_path_names_its_claim() {
        let id = "01900000-0000-7000-8000-000000000001";
        let found = claim_of(&format!("claims/C47-{id}.md")).map(|id| id.to_string());
        assert_eq!(found.as_deref(), Some(id));
        assert_eq!(claim_of(&format!("scopes/C47-{id}.md")), None);
        assert_eq!(claim_of("claims/../x.md"), None);
    }
}
