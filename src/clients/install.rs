//! Writes to the files of clients and undoes it. The earlier text of each file is kept, so that it can be
//! restored byte for byte.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use similar::{ChangeTag, TextDiff};

use super::edit::{self, Problem, Standing};
use super::entry::{Entry, SERVER};
use super::{Client, ConfigFile, Level, Places, text_of};
use crate::workspace::MARKER;

/// A planned change of one file.
#[derive(Debug)]
pub struct Change {
    /// The client of the file.
    pub client: &'static Client,
    /// Path of the file.
    pub path: PathBuf,
    /// The text now; `None` when the file is missing or is not text.
    pub before: Option<String>,
    /// The planned result.
    pub edit: Edit,
    /// Whether a server of the user has our name in the file.
    pub is_taken: bool,
}

/// The result of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// The file gets this text.
    Write(String),
    /// The file is deleted: only `hm init` wrote to it.
    Delete,
    /// The file stays as it is, because it is right.
    Nothing,
    /// The file stays as it is, because it cannot be edited; the text is the reason.
    Refused(String),
}

/// Why a change was not made, or only some changes.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The environment names no home directory.
    #[error("there is no home directory: set HOME, or configure the project only")]
    NoHome,
    /// A file operation failed.
    #[error("cannot use {path}: {source}")]
    Io {
        /// Path of the file.
        path: String,
        /// The error of the system.
        source: io::Error,
    },
    /// Another program changed the file after the change was planned.
    #[error("{0} was changed in the meantime and is left alone: run the command again")]
    Changed(String),
    /// The record of earlier texts does not parse.
    #[error(
        "{path} does not parse ({source}): it holds the files as they were before `hm init`; move it away to go on without"
    )]
    Record {
        /// Path of the record.
        path: String,
        /// The error of the parser.
        source: serde_json::Error,
    },
}

/// The work of `hm init` at one level: the earlier text of every file it changed.
#[derive(Debug)]
pub struct Installed {
    level: Level,
    /// The record keeps paths of a project relative to this directory, so that the project can move.
    base: PathBuf,
    dir: PathBuf,
    record: Record,
}

/// The record of a level.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    files: BTreeMap<PathBuf, Kept>,
    /// The directories that `hm init` made for the files.
    made: BTreeSet<PathBuf>,
}

/// The record of one file.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Kept {
    /// The text before; `None` when the file did not exist.
    before: Option<String>,
    /// SHA-256 of the text after. A difference shows that another program changed the file.
    after: String,
}

impl Installed {
    /// Reads the record of a level. The record of a project is in `.hivemind/init/`, which git ignores; that of
    /// a user is in `hivemind/init/` below the state directory.
    ///
    /// # Errors
    /// [`InstallError::NoHome`], [`InstallError::Io`] and [`InstallError::Record`].
    pub fn load(level: Level, places: &Places, state_home: Option<&Path>) -> Result<Self, InstallError> {
        let root = places.root().to_owned();
        let root = root.canonicalize().unwrap_or(root);
        let (base, dir) = match (level, &places.home, state_home) {
            (Level::Project, ..) => (root.clone(), root.join(MARKER).join("init")),
            (Level::User, Some(_), Some(state)) => (PathBuf::new(), state.join("hivemind").join("init")),
            (Level::User, ..) => return Err(InstallError::NoHome),
        };
        let mut installed = Self { level, base, dir, record: Record::default() };
        let path = installed.file();
        if let Some(text) = read(&path)? {
            installed.record = serde_json::from_str(&text)
                .map_err(|source| InstallError::Record { path: path.display().to_string(), source })?;
        }
        Ok(installed)
    }

    /// Plans to add our entries to a file.
    pub fn plan_add(&self, client: &'static Client, file: &ConfigFile) -> Change {
        let mut change = self.look(client, file);
        if change.edit == Edit::Nothing {
            change.edit = match edit::add(file, change.before.as_deref()) {
                Ok(Some(text)) => Edit::Write(text),
                Ok(None) => Edit::Nothing,
                Err(problem) => Edit::Refused(problem.to_string()),
            };
        }
        change
    }

    /// Plans to remove our entries from a file: to restore a file that is as `hm init` left it, else to remove
    /// our entries and keep the rest.
    pub fn plan_remove(&self, client: &'static Client, file: &ConfigFile) -> Change {
        let mut change = self.look(client, file);
        if let (Some(text), Edit::Nothing) = (&change.before, &change.edit) {
            change.edit = match self.before(file, text) {
                Ok(Some(before)) if before == *text => Edit::Nothing,
                Ok(Some(before)) => Edit::Write(before),
                Ok(None) => Edit::Delete,
                Err(problem) => Edit::Refused(problem.to_string()),
            };
        }
        let may_be_ours = change.before.as_deref().is_some_and(mentions_us)
            || self.record.files.contains_key(self.key(&file.path));
        if matches!(change.edit, Edit::Refused(_)) && !may_be_ours {
            change.edit = Edit::Nothing;
        }
        change
    }

    /// Reads a file. A link of a project that leads outside is refused: its target does not belong to the
    /// project. A dangling link is refused, because the new file would replace it.
    fn look(&self, client: &'static Client, file: &ConfigFile) -> Change {
        let change = Change::of(client, file);
        if change.edit != Edit::Nothing {
            return change;
        }
        let there = file.path.ancestors().find_map(|path| path.canonicalize().ok());
        let is_bound = self.level == Level::Project && self.base.exists();
        let why = if let Some(link) = dangling(&file.path) {
            format!("{} is a link to a missing file", link.display())
        } else if let Some(there) = there.filter(|there| is_bound && !there.starts_with(&self.base)) {
            format!("it is a link to {}, outside the project", there.display())
        } else {
            return change;
        };
        Change { edit: Edit::Refused(why), ..change }
    }

    /// The text of a file without our entries; `None` when the file should be deleted.
    fn before(&self, file: &ConfigFile, text: &str) -> Result<Option<String>, Problem> {
        match self.record.files.get(self.key(&file.path)) {
            Some(kept) if kept.after == hash(text) => Ok(kept.before.clone()),
            Some(kept) => edit::remove(file, text, kept.before.as_deref()),
            // The record is lost, or a colleague ran `hm init`.
            None => edit::remove(file, text, None),
        }
    }

    /// Makes a change of [`Installed::plan_add`]. The earlier text is on the disk before the file changes.
    ///
    /// # Errors
    /// [`InstallError`]; the file is then unchanged.
    pub fn add(&mut self, change: &Change, file: &ConfigFile) -> Result<(), InstallError> {
        let Edit::Write(text) = &change.edit else { return Ok(()) };
        change.still_holds()?;
        let key = self.key(&change.path).to_owned();
        let before = match &change.before {
            // Text of an earlier `hm init` does not count as the user's.
            Some(now) if self.record.files.contains_key(&key) => {
                self.before(file, now).unwrap_or(Some(now.clone()))
            }
            now => now.clone(),
        };
        let missing = |dir: &&Path| !dir.exists();
        let made = change.path.ancestors().skip(1).take_while(missing);
        let made: Vec<_> = made.map(|dir| self.key(dir).to_owned()).collect();
        self.record.made.extend(made);
        self.record.files.insert(key, Kept { before, after: hash(text) });
        self.save()?;
        self.write(&change.path, text)
    }

    /// Makes a change of [`Installed::plan_remove`].
    ///
    /// # Errors
    /// [`InstallError`]; the file is then unchanged.
    pub fn remove(&mut self, change: &Change) -> Result<(), InstallError> {
        let key = self.key(&change.path).to_owned();
        match &change.edit {
            Edit::Write(text) => {
                change.still_holds()?;
                self.write(&change.path, text)?;
            }
            Edit::Delete => {
                change.still_holds()?;
                std::fs::remove_file(&change.path).map_err(|source| io_error(&change.path, source))?;
            }
            Edit::Nothing => {}
            Edit::Refused(_) => return Ok(()),
        }
        if self.record.files.remove(&key).is_none() {
            return Ok(());
        }
        // Reverse order takes inner directories first. A directory with other files in it is not empty, and stays.
        for dir in self.record.made.iter().rev() {
            let _ = std::fs::remove_dir(self.base.join(dir));
        }
        if !self.record.files.is_empty() {
            return self.save();
        }
        std::fs::remove_dir_all(&self.dir).map_err(|source| io_error(&self.dir, source))
    }

    fn key<'p>(&self, path: &'p Path) -> &'p Path {
        path.strip_prefix(&self.base).unwrap_or(path)
    }

    fn file(&self) -> PathBuf {
        self.dir.join("before.json")
    }

    fn save(&self) -> Result<(), InstallError> {
        let fails = |source| io_error(&self.dir, source);
        let mut dir = std::fs::DirBuilder::new();
        dir.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut dir, 0o700);
        dir.create(&self.dir).map_err(fails)?;
        let ignore = self.dir.join(".gitignore");
        if self.level == Level::Project && !ignore.exists() {
            std::fs::write(&ignore, "*\n").map_err(fails)?;
        }
        let text = serde_json::to_string_pretty(&self.record).expect("paths of text files are text");
        // Files of the user may contain tokens of other servers.
        replace(&self.file(), &text, 0o600)
    }

    fn write(&self, path: &Path, text: &str) -> Result<(), InstallError> {
        // Writes to the target of a link, such as one into a repository of settings, so that the link stays.
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if let Some(dir) = target.parent() {
            std::fs::create_dir_all(dir).map_err(|source| io_error(dir, source))?;
        }
        replace(&target, text, if self.level == Level::Project { 0o666 } else { 0o600 })
    }
}

impl Change {
    fn of(client: &'static Client, file: &ConfigFile) -> Self {
        let path = file.path.clone();
        let (before, edit) = match text_of(&path) {
            Ok(before) => (before, Edit::Nothing),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                (None, Edit::Refused("it is no UTF-8 text".to_owned()))
            }
            Err(error) => (None, Edit::Refused(format!("it cannot be read: {error}"))),
        };
        let standings = before.as_deref().and_then(|text| edit::standings(file, text).ok());
        let is_taken = standings.is_some_and(|standings| {
            let mut all = file.entries.iter().zip(standings);
            all.any(|(entry, standing)| matches!(entry, Entry::Server(_)) && standing == Standing::Foreign)
        });
        Self { client, path, before, edit, is_taken }
    }

    /// Whether the plan changes the file.
    pub fn is_wanted(&self) -> bool {
        matches!(self.edit, Edit::Write(_) | Edit::Delete)
    }

    /// The change as a unified diff; empty when nothing changes.
    pub fn diff(&self, shown: &str) -> String {
        self.changed(|diff| {
            let before = self.before.as_deref();
            let name = |is_there: bool| if is_there { shown } else { "/dev/null" };
            let header = (name(before.is_some()), name(!matches!(self.edit, Edit::Delete)));
            diff.unified_diff().header(header.0, header.1).to_string()
        })
    }

    /// The numbers of added and removed lines, in words.
    pub fn lines(&self) -> String {
        self.changed(|diff| {
            let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
            let (added, removed) = (count(ChangeTag::Insert), count(ChangeTag::Delete));
            match removed {
                0 => format!("{added} lines added"),
                _ => format!("{added} lines added, {removed} removed"),
            }
        })
    }

    fn changed(&self, show: impl Fn(&TextDiff<'_, '_, str>) -> String) -> String {
        let after = match &self.edit {
            Edit::Write(text) => Some(text.as_str()),
            Edit::Delete => None,
            Edit::Nothing | Edit::Refused(_) => return String::new(),
        };
        let before = self.before.as_deref();
        show(&TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default()))
    }

    fn still_holds(&self) -> Result<(), InstallError> {
        if read(&self.path)? == self.before {
            return Ok(());
        }
        Err(InstallError::Changed(self.path.display().to_string()))
    }
}

/// The dangling link on the way to a path.
fn dangling(path: &Path) -> Option<&Path> {
    let there = path.ancestors().find(|path| path.symlink_metadata().is_ok())?;
    (!there.exists()).then_some(there)
}

/// Whether a file that cannot be edited may contain an entry of ours.
fn mentions_us(text: &str) -> bool {
    text.contains(SERVER) || text.contains("hm hook")
}

fn hash(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}

fn read(path: &Path) -> Result<Option<String>, InstallError> {
    text_of(path).map_err(|source| io_error(path, source))
}

/// Replaces a file in one step. It keeps its permissions; a new file gets `mode`, less the user's umask.
fn replace(path: &Path, text: &str, mode: u32) -> Result<(), InstallError> {
    let fails = |source| io_error(path, source);
    let dir = path.parent().ok_or_else(|| fails(io::ErrorKind::InvalidInput.into()))?;
    let mut fresh = tempfile::Builder::new();
    fresh.prefix(".hm-");
    #[cfg(unix)]
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
    #[cfg(unix)]
    fresh.permissions(permissions);
    #[cfg(not(unix))]
    let _ = mode;
    let mut fresh = fresh.tempfile_in(dir).map_err(fails)?;
    fresh.write_all(text.as_bytes()).map_err(fails)?;
    if let Ok(old) = std::fs::metadata(path) {
        fresh.as_file().set_permissions(old.permissions()).map_err(fails)?;
    }
    fresh.as_file().sync_all().map_err(fails)?;
    fresh.persist(path).map_err(|error| fails(error.error))?;
    #[cfg(unix)]
    std::fs::File::open(dir).and_then(|dir| dir.sync_all()).map_err(fails)?;
    Ok(())
}

fn io_error(path: &Path, source: io::Error) -> InstallError {
    InstallError::Io { path: path.display().to_string(), source }
}
