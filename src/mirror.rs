//! The Git mirror: a copy of claims and decisions that people read and review with Git. It follows the ledger, off the
//! write path.

mod edits;
mod git;

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File as LockFile;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use self::edits::{Edit, Edited, edits};
use self::edits::{Work, set_aside};
use self::git::{Import, Ours, Repository};
use crate::config::Config;
use crate::domain::event::Undecodable;
use crate::domain::mirror::{File, KINDS, Pages, README};
use crate::ledger::{Filter, LedgerError, Origin, Reader};
use crate::private;
use crate::system;
use crate::workspace::Workspace;

/// Events in one read.
const CHUNK: usize = 500;
/// How long a run waits for another one. A child that is just starting may hold the lock of a run that has ended.
const LOCK_WITHIN: Duration = Duration::from_secs(2);
/// Time between two looks at the lock.
const LOCK_POLL: Duration = Duration::from_millis(10);
/// The branch of a mirror in a directory of its own.
const MAIN: &str = "refs/heads/main";
/// The commit that the files of a directory show completely.
const SHOWN: &str = "refs/hivemind/shown";
/// The branch that keeps edits, with the time after it.
const ASIDE: &str = "refs/heads/mirror-edits";
/// Where branches are.
const HEADS: &str = "refs/heads/";

/// The place of a mirror.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Place {
    /// A directory of its own, with the files and their history.
    #[serde(rename = "to")]
    Dir(PathBuf),
    /// A branch of the project's repository.
    #[serde(rename = "branch")]
    Branch(String),
}

impl Place {
    /// A directory, by the same path wherever it is named from.
    pub fn dir(path: &Path) -> Self {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let below = || Some(absolute.parent()?.canonicalize().ok()?.join(absolute.file_name()?));
        Self::Dir(absolute.canonicalize().ok().or_else(below).unwrap_or(absolute))
    }

    /// The options of `hm mirror` for it.
    pub fn option(&self) -> String {
        match self {
            Self::Dir(dir) => format!("--to {}", shell_words::quote(&dir.display().to_string())),
            Self::Branch(branch) => format!("--branch {}", shell_words::quote(branch)),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dir(dir) => write!(f, "{}", dir.display()),
            Self::Branch(branch) => write!(f, "branch {branch}"),
        }
    }
}

/// What a run may do besides going on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wish {
    /// Writes the history anew, without what was erased.
    pub rewrite: bool,
    /// Moves edits of people to a branch of their own.
    pub set_aside: bool,
}

/// What a run did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ran {
    /// Number of new commits.
    pub commits: u64,
    /// The ledger position that the mirror shows.
    pub seq: u64,
    /// The newest commit.
    pub head: String,
    /// The branch that keeps the edits of people, if they were moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aside: Option<String>,
}

/// Why there is no mirror, or no more of it. No text of any claim is in it.
#[derive(Debug, thiserror::Error)]
pub enum MirrorError {
    /// Git cannot be started.
    #[error("cannot run git: {0}")]
    NoGit(#[source] io::Error),
    /// Git failed.
    #[error("git cannot write the mirror: {0}")]
    Git(String),
    /// A file cannot be read or written.
    #[error("cannot use {path}: {source}")]
    Io {
        /// Its path.
        path: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The ledger cannot be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The ledger has an event of a newer version.
    #[error(transparent)]
    Undecodable(#[from] Undecodable),
    /// Nothing was ever written.
    #[error("nothing was ever written here: there is nothing to mirror")]
    Nothing,
    /// The directory holds something else.
    #[error("{0} is not empty and is no mirror of this memory")]
    NotEmpty(Place),
    /// There is no mirror to compare with.
    #[error("{0} is no mirror of this memory")]
    NoMirror(Place),
    /// It shows another ledger.
    #[error("{0} is the mirror of another memory")]
    OtherLedger(Place),
    /// It shows more than the ledger has.
    #[error("{place} shows event {shown}, and the ledger ends at event {head}")]
    Ahead {
        /// The mirror.
        place: Place,
        /// The ledger position that it shows.
        shown: u64,
        /// The last event of the ledger.
        head: u64,
    },
    /// The branch is checked out in a work tree.
    #[error("{0} is checked out: a mirror never changes files that somebody works on")]
    CheckedOut(Place),
    /// The directory of the mirror is on another branch.
    #[error("{0} is not on its branch main")]
    OffMain(Place),
    /// The workspace is outside any repository.
    #[error("this workspace is in no git repository, so it has no branches")]
    NoRepository,
    /// The name can be no branch.
    #[error("`{0}` cannot be the name of a branch")]
    BadBranch(String),
    /// People edited it.
    #[error("{place} was edited: {count} {} from what hm wrote", if *count == 1 { "file differs" } else { "files differ" })]
    Edited {
        /// The mirror.
        place: Place,
        /// Number of files.
        count: usize,
        /// Whether its history has to be written anew too.
        is_anew: bool,
    },
    /// An erasure came after the commits of what was erased.
    #[error("{place} shows text that was erased from the memory")]
    Erased {
        /// The mirror.
        place: Place,
        /// Whether people edited it too.
        is_edited: bool,
    },
    /// Another run works.
    #[error("another run of hm mirror is at work")]
    Busy,
    /// The writer ends.
    #[error("it was stopped before its end: nothing was written")]
    Stopped,
}

impl MirrorError {
    /// The way forward.
    pub fn way(&self) -> String {
        match self {
            Self::NoGit(_) => "install git, and run it again".to_owned(),
            Self::Git(_) | Self::Io { .. } => {
                "mend that, and run it again: it goes on where it was".to_owned()
            }
            Self::Ledger(_) | Self::Undecodable(_) => "see hm verify".to_owned(),
            Self::Nothing => "state a claim first: hm claim create".to_owned(),
            Self::NotEmpty(Place::Dir(_)) | Self::OtherLedger(Place::Dir(_)) => {
                "name a directory that does not exist yet".to_owned()
            }
            Self::NotEmpty(Place::Branch(_))
            | Self::OtherLedger(Place::Branch(_))
            | Self::CheckedOut(_)
            | Self::BadBranch(_) => "name a branch that does not exist yet".to_owned(),
            Self::NoMirror(place) => format!("make it first: hm mirror {}", place.option()),
            Self::Ahead { .. } => {
                "this memory is an older copy: see hm verify, or name another place".to_owned()
            }
            Self::OffMain(place) => {
                format!("switch it back: git -C {} switch main", shell_words::quote(&place.to_string()))
            }
            Self::NoRepository => "name a directory: hm mirror --to DIR".to_owned(),
            Self::Edited { place, is_anew, .. } => {
                let (option, anew) = (place.option(), if *is_anew { " --rewrite" } else { "" });
                format!(
                    "see hm mirror diff {option}, propose with --propose, then hm mirror {option} --set-aside{anew} \
                     keeps the edits on a branch of their own"
                )
            }
            Self::Erased { place, is_edited } => format!(
                "hm mirror {}{} --rewrite writes its history anew; copies of it stay as they are",
                place.option(),
                if *is_edited { " --set-aside" } else { "" }
            ),
            Self::Busy | Self::Stopped => "run it again".to_owned(),
        }
    }

    /// Whether the place or the call is the problem, and trying again does not help.
    pub const fn needs_a_person(&self) -> bool {
        !matches!(self, Self::NoGit(_) | Self::Git(_) | Self::Io { .. } | Self::Busy | Self::Stopped)
    }
}

/// The error of the system for a path.
fn at(path: &Path) -> impl Fn(io::Error) -> MirrorError {
    let path = path.display().to_string();
    move |source| MirrorError::Io { path: path.clone(), source }
}

/// The mirrors of this memory that a run began, whether they still exist or not.
///
/// # Errors
/// [`MirrorError::Io`] if their list cannot be read.
pub fn known(workspace: &Workspace) -> Result<Vec<Place>, MirrorError> {
    let file = workspace.mirrors();
    match private::read(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(at(&file)(error)),
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::from).map_err(at(&file)),
    }
}

/// The mirrors that the configuration names.
pub fn named(config: &Config, workspace: &Workspace) -> Vec<Place> {
    let keys = &config.mirror;
    let dir = Some(&keys.to).filter(|to| !to.as_os_str().is_empty());
    let dir = dir.map(|to| Place::dir(&workspace.rules().join(to)));
    let branch = Some(&keys.branch).filter(|branch| !branch.is_empty());
    dir.into_iter().chain(branch.cloned().map(Place::Branch)).collect()
}

/// Records a mirror, before its first commit. An erasure names it from then on.
fn remember(workspace: &Workspace, place: &Place) -> Result<(), MirrorError> {
    let mut places = known(workspace)?;
    if !places.contains(place) {
        places.push(place.clone());
        let file = workspace.mirrors();
        let bytes = serde_json::to_vec(&places).map_err(io::Error::from).map_err(at(&file))?;
        private::replace(&file, &bytes).map_err(at(&file))?;
    }
    Ok(())
}

/// Keeps a second run out while the file is open.
fn lock(workspace: &Workspace) -> Result<LockFile, MirrorError> {
    let path = workspace.mirror_lock();
    let file = private::options().write(true).create(true).truncate(false).open(&path).map_err(at(&path))?;
    let deadline = system::instant() + LOCK_WITHIN;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(std::fs::TryLockError::Error(error)) => return Err(at(&path)(error)),
            Err(std::fs::TryLockError::WouldBlock) if system::instant() < deadline => {
                std::thread::sleep(LOCK_POLL);
            }
            Err(std::fs::TryLockError::WouldBlock) => return Err(MirrorError::Busy),
        }
    }
}

/// A mirror, opened.
#[derive(Debug)]
struct Mirror {
    place: Place,
    repository: Repository,
    branch: String,
    /// The newest commit of its branch.
    tip: Option<String>,
    /// The newest commit that hm made.
    last: Option<Ours>,
}

impl Mirror {
    /// Opens a mirror. None if the place is free.
    fn open(workspace: &Workspace, place: &Place, ledger: &str) -> Result<Option<Self>, MirrorError> {
        let (repository, branch) = match place {
            Place::Dir(dir) => match repository_in(workspace, dir, place)? {
                Some(repository) => (repository, MAIN.to_owned()),
                None => return Ok(None),
            },
            Place::Branch(name) => {
                let dir = workspace.repository().ok_or(MirrorError::NoRepository)?.to_owned();
                let (repository, branch) = (Repository { dir }, format!("{HEADS}{name}"));
                // Git itself refuses these two as names of branches, or reads them as other ones.
                let is_special = name == "HEAD" || name.starts_with("refs/") || name.starts_with('-');
                if is_special || !repository.holds(&["check-ref-format", &branch])? {
                    return Err(MirrorError::BadBranch(name.clone()));
                }
                let trees = repository.run(&["worktree", "list", "--porcelain"])?;
                if trees.lines().any(|line| line.strip_prefix("branch ") == Some(branch.as_str())) {
                    return Err(MirrorError::CheckedOut(place.clone()));
                }
                (repository, branch)
            }
        };
        let tip = repository.commit_of(&branch)?;
        let last = tip.as_deref().map(|tip| repository.last_ours(tip)).transpose()?.flatten();
        match (&tip, &last) {
            (Some(_), None) => return Err(MirrorError::NotEmpty(place.clone())),
            (_, Some(last)) if last.ledger != ledger => return Err(MirrorError::OtherLedger(place.clone())),
            _ => {}
        }
        if tip.is_some() && matches!(place, Place::Dir(_)) {
            let head = repository.run(&["symbolic-ref", "--quiet", "HEAD"]);
            if head.ok().as_deref().map(str::trim) != Some(MAIN) {
                return Err(MirrorError::OffMain(place.clone()));
            }
        }
        Ok(Some(Self { place: place.clone(), repository, branch, tip, last }))
    }

    /// Opens a mirror, or makes an empty one.
    fn make(workspace: &Workspace, place: &Place, ledger: &str) -> Result<Self, MirrorError> {
        let opened = Self::open(workspace, place, ledger)?;
        remember(workspace, place)?;
        match (opened, place) {
            (Some(opened), Place::Dir(dir)) if opened.tip.is_none() => {
                // A run that was killed may have left half a repository.
                Ok(Self { repository: Repository::init(dir)?, ..opened })
            }
            (Some(opened), _) => Ok(opened),
            (None, Place::Branch(_)) => Err(MirrorError::NoRepository),
            (None, Place::Dir(dir)) => {
                private::create_dir_all(dir).map_err(at(dir))?;
                let repository = Repository::init(dir)?;
                let (place, branch) = (place.clone(), MAIN.to_owned());
                Ok(Self { place, repository, branch, tip: None, last: None })
            }
        }
    }
}

/// The repository of a directory. None if the directory is missing or empty. A repository without commits and files is
/// one that a run began.
fn repository_in(
    workspace: &Workspace,
    dir: &Path,
    place: &Place,
) -> Result<Option<Repository>, MirrorError> {
    // A branch of the project with a mirror may be checked out there: its files are those that somebody works on.
    if workspace.root().canonicalize().is_ok_and(|root| dir.canonicalize().is_ok_and(|dir| dir == root)) {
        return Err(MirrorError::NotEmpty(place.clone()));
    }
    let entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries.map_err(at(dir))?,
    };
    let names: Result<BTreeSet<_>, io::Error> =
        entries.map(|entry| entry.map(|entry| entry.file_name())).collect();
    let names = names.map_err(at(dir))?;
    if names.is_empty() {
        return Ok(None);
    }
    let git_dir = dir.join(".git");
    if !std::fs::symlink_metadata(&git_dir).is_ok_and(|found| found.is_dir()) {
        return Err(MirrorError::NotEmpty(place.clone()));
    }
    let repository = Repository { dir: git_dir };
    // The git of a run that was killed may still make the branch, so that the branch is looked for last.
    let has_refs = repository.run(&["for-each-ref", "--count=1"]).is_ok_and(|refs| !refs.is_empty());
    let is_begun = repository.commit_of(MAIN)?.is_some();
    if !is_begun && (names.len() > 1 || has_refs) {
        return Err(MirrorError::NotEmpty(place.clone()));
    }
    Ok(Some(repository))
}

/// The ledger, blind for the spaces of people, and its name.
fn ledger_of(workspace: &Workspace) -> Result<(Reader, String), MirrorError> {
    let reader = Reader::open(&workspace.ledger())?.ok_or(MirrorError::Nothing)?.seen_by(None);
    let genesis = reader.hashes_after(0, 1)?;
    let origin = genesis.first().map(Origin::of).ok_or(MirrorError::Nothing)?;
    let name = origin.as_str().ok_or(MirrorError::Nothing)?.to_owned();
    Ok((reader, name))
}

/// Brings a mirror to the end of the ledger. A run that is stopped or killed leaves it as it was, or complete.
///
/// # Errors
/// [`MirrorError`].
pub fn run(
    workspace: &Workspace,
    place: &Place,
    wish: Wish,
    is_stopped: impl Fn() -> bool,
) -> Result<Ran, MirrorError> {
    let (ledger, name) = ledger_of(workspace)?;
    let _lock = lock(workspace)?;
    let mut mirror = Mirror::make(workspace, place, &name)?;
    let head = ledger.head()?.seq;
    if let Some(last) = mirror.last.as_ref().filter(|last| last.seq > head) {
        return Err(MirrorError::Ahead { place: place.clone(), shown: last.seq, head });
    }
    let mut work = Work::of(&mirror)?;
    let edited = work.edited(&mirror)?;
    let is_erased = shows_erased(&mirror, &ledger)?;
    if !edited.is_empty() && !wish.set_aside {
        let is_anew = is_erased || wish.rewrite;
        return Err(MirrorError::Edited { place: place.clone(), count: edited.len(), is_anew });
    }
    if is_erased && !wish.rewrite {
        return Err(MirrorError::Erased { place: place.clone(), is_edited: !edited.is_empty() });
    }
    let aside = if edited.is_empty() { None } else { set_aside(&mut mirror, &work)? };
    let commits = follow(&mirror, (&ledger, &name), head, wish.rewrite, &is_stopped)?;
    if commits > 0 {
        mirror.tip = mirror.repository.commit_of(&mirror.branch)?;
    }
    let tip = mirror.tip.clone().ok_or_else(|| MirrorError::Git("its branch is gone".to_owned()))?;
    work.show(&mirror, &tip)?;
    if wish.rewrite && matches!(place, Place::Dir(_)) {
        mirror.repository.prune()?;
    }
    Ok(Ran { commits, seq: head, head: tip, aside })
}

/// Whether the commits of a mirror show what was erased since. An erasure makes no commit, so that only the commits tell
/// whether they were written before it.
fn shows_erased(mirror: &Mirror, ledger: &Reader) -> Result<bool, MirrorError> {
    let Some(last) = &mirror.last else { return Ok(false) };
    let lost = |(seq, at): &&(u64, u64)| *seq <= last.seq && last.seq < *at;
    let lost: BTreeSet<u64> = ledger.erasures()?.iter().filter(lost).map(|(seq, _)| *seq).collect();
    Ok(!lost.is_empty() && mirror.repository.shows(&last.sha, &lost)?)
}

/// Adds the commits of what happened since the last one. Their number.
fn follow(
    mirror: &Mirror,
    (ledger, name): (&Reader, &str),
    head: u64,
    is_anew: bool,
    is_stopped: &impl Fn() -> bool,
) -> Result<u64, MirrorError> {
    let last = mirror.last.as_ref().filter(|_| !is_anew);
    let shown = last.map_or(0, |last| last.seq);
    // Until the writer has deleted them, erased words are still in the file.
    let erased: BTreeSet<u64> = ledger.erasures()?.iter().map(|(seq, _)| *seq).collect();
    if last.is_some() && !has_news(ledger, shown, head)? {
        return Ok(0);
    }
    let mut import = None;
    let mut pages = Pages::default();
    let mut write = || -> Result<(), MirrorError> {
        let mut after = 0;
        while after < head {
            let events =
                ledger.list(&Filter { after, until: Some(head), limit: CHUNK, ..Filter::default() })?;
            let Some(end) = events.last().map(|event| event.seq) else { break };
            if is_stopped() {
                return Err(MirrorError::Stopped);
            }
            for stored in events {
                let mut recorded = stored.recorded()?;
                if erased.contains(&stored.seq) {
                    (recorded.event, recorded.erased) = (None, Some(stored.kind));
                }
                if import.is_none() && recorded.seq > shown {
                    let from = last.map(|last| last.sha.clone());
                    let started = Import::start(&mirror.repository, (&mirror.branch, from), name, is_anew)?;
                    let started = import.insert(started);
                    if last.is_none() {
                        let readme = File { path: "README.md".to_owned(), text: README.to_owned() };
                        started.root(recorded.at.ms().div_euclid(1_000), &readme)?;
                    }
                }
                let Some(change) = pages.evolve(&recorded) else { continue };
                if let Some(import) = import.as_mut().filter(|_| recorded.seq > shown) {
                    import.change(&recorded, &change.sentence, &pages.files(&change))?;
                }
            }
            after = end;
        }
        Ok(())
    };
    let written = write();
    match (written, import) {
        (Ok(()), Some(import)) => import.finish(),
        (Ok(()), None) => Ok(0),
        (Err(error), import) => {
            import.into_iter().for_each(Import::abandon);
            Err(error)
        }
    }
}

/// Whether an event after a position may change a file.
fn has_news(ledger: &Reader, shown: u64, head: u64) -> Result<bool, MirrorError> {
    let mut after = shown;
    while after < head {
        let events = ledger.list(&Filter { after, until: Some(head), limit: CHUNK, ..Filter::default() })?;
        if events.iter().any(|event| KINDS.contains(&event.kind.as_str())) {
            return Ok(true);
        }
        let Some(end) = events.last().map(|event| event.seq) else { break };
        after = end;
    }
    Ok(false)
}
