//! A workspace: the directory tree that shares one memory, and the places of its files.
//!
//! In a git repository the memory lies in the common git directory: all work trees share it, no diff shows it,
//! and `git clean` does not reach it. Elsewhere it lies in `.hivemind/runtime/`.

mod cochange;
mod files;
mod git;
pub mod history;
mod moving;
mod ownership;
mod scopes;
mod settings;
mod socket;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use self::git::{Dangling, WorkTree};
use self::ownership::{Ownership, StateDir, Where};
pub use self::settings::WaitingRules;
use crate::checkpoints::{BELOW_IN_GIT, Checkpoints};
use crate::config::Config;
use crate::domain::checkout::Checkout;
pub use crate::domain::checkout::MARKER;
use crate::domain::memory::Owner;
use crate::domain::scope::Scope;
use crate::domain::text::Worktree;
use crate::private;
use crate::system::Environment;

/// The directory of the memory below the marker, outside git.
const RUNTIME: &str = "runtime";
/// The directory of the memory in the common git directory.
const IN_GIT: &str = "hivemind";
/// A file in a memory, such as a backup, that must not move into the git directory around it.
const STAYS: &str = "stays-here";
/// The ledger's database.
const LEDGER: &str = "ledger.sqlite";
/// The write-ahead log of the ledger: commits that are not yet copied into the database.
const LEDGER_LOG: &str = "ledger.sqlite-wal";
/// Part of the names of files that hm no longer uses and keeps for the operator.
const SET_ASIDE: &str = ".set-aside-";
/// The lock that the one writer holds.
const WRITER_LOCK: &str = "writer.lock";

/// A workspace and its memory. Its root is the directory that holds `.hivemind/`, or another work tree of the
/// same repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    root: PathBuf,
    rules: PathBuf,
    memory: PathBuf,
    /// Whether `config.toml` in the tree names the memory's directory.
    is_elsewhere: bool,
    /// The directory in git that the memory must move to; `None` when it stays.
    moves_to: Option<PathBuf>,
    git: Option<WorkTree>,
    place: Where,
    state: StateDir,
}

/// Why a workspace cannot be found or used.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// Neither the directory nor one above it holds `.hivemind`.
    #[error("no {MARKER} in {0} or above it: run `hm init` in the root of your project")]
    NotFound(String),
    /// The named directory holds no `.hivemind`.
    #[error("{0} holds no {MARKER}: run `hm init --dir {0}` first, or correct --dir / HM_DIR")]
    NotThere(String),
    /// A linked work tree whose repository is missing.
    #[error(
        "{file} names {names}, which is not there: mount or restore the repository too, or name another memory in \
         HM_DIR"
    )]
    NoRepository {
        /// Path of the `.git` file.
        file: String,
        /// The git directory that the file names.
        names: String,
    },
    /// A memory that this user's hm did not make.
    #[error("the memory {place} is not opened: {reason}. {way}")]
    Foreign {
        /// Path of the memory.
        place: String,
        /// Why it counts as foreign.
        reason: String,
        /// The way forward.
        way: &'static str,
    },
    /// The work tree does not exist, or has another memory.
    #[error("{0} is not there, or has another memory")]
    NoWorkTree(String),
    /// SQLite opens no file with a longer path.
    #[error(
        "the memory {place} cannot be opened: its path has {bytes} bytes, and a database opens with {MAX_MEMORY_BYTES} at \
         most. Move the project to a shorter path, or name a memory at a shorter one in HM_DIR"
    )]
    TooLong {
        /// Path of the memory.
        place: String,
        /// Its length.
        bytes: usize,
    },
    /// The memory existed and is now missing.
    #[error("the memory {0} is gone: start the client anew where the project lies now")]
    Gone(String),
    /// Without a state directory, hm cannot tell this user's memories from those of others.
    #[error("this user has no home directory: set XDG_STATE_HOME to a directory that hm may write")]
    NoStateHome,
    /// A file operation failed.
    #[error("cannot use {path}: {source}")]
    Io {
        /// Path of the file.
        path: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
}

/// The longest path of a memory: SQLite takes 511 bytes for the path of a file, and names up to 40 bytes follow.
const MAX_MEMORY_BYTES: usize = 470;
/// The way forward for a memory of another user.
const NAME_IT: &str = "To use it all the same, name the project in HM_DIR";
/// The way forward for a memory that another one hides.
const MOVE_IT: &str = "End all panes and move the one in the git directory away, then run `hm trust` again";
/// The way forward for a memory that git tracks.
const UNTRACK_IT: &str = "Take it out first: git rm -r --cached .hivemind/runtime";
/// The way forward for a memory behind a link.
const NAME_IT_ELSEWHERE: &str =
    "To keep the memory in another place, name that under [workspace] in config.toml";
/// The way forward for a memory that came with a tree.
const TRUST_IT: &str = "If it is yours, run `hm trust` in a terminal, or name the project in HM_DIR";

/// The directory of a project; `named` is that directory or its `.hivemind`.
pub fn project_of(named: &Path) -> &Path {
    if named.ends_with(MARKER) { named.parent().unwrap_or(named) } else { named }
}

impl Workspace {
    /// Finds a workspace: the one that `dir` (`--dir`) or `HM_DIR` names, else the nearest one at or above
    /// `start`. The name is the project's directory, its `.hivemind`, or the directory of a memory. hm trusts a
    /// memory for its name only when the environment names it.
    ///
    /// # Errors
    /// [`WorkspaceError`] with the way forward.
    pub fn find(dir: Option<&Path>, start: &Path, environment: &Environment) -> Result<Self, WorkspaceError> {
        let state = StateDir::of_user(environment)?;
        let from_environment = environment.dir.as_deref().map(Path::new);
        let Some(named) = dir.or(from_environment) else {
            let root = root_above(start)?;
            return Self::at(root, None, &state, false);
        };
        let is_told = dir.is_none_or(|dir| from_environment == Some(dir));
        let root = project_of(named);
        if is_root(root)? {
            let root = root.canonicalize().map_err(|source| io_error(root, source))?;
            return Self::at(root, None, &state, is_told);
        }
        if is_told && [ownership::ID, LEDGER].iter().any(|file| named.join(file).is_file()) {
            let memory = named.canonicalize().map_err(|source| io_error(named, source))?;
            let root = root_above(start).or_else(|_| start.canonicalize());
            let root = root.map_err(|source| io_error(start, source))?;
            return Self::at(root, Some(memory), &state, true);
        }
        Err(WorkspaceError::NotThere(named.display().to_string()))
    }

    /// Makes `.hivemind/` in `root` with a commented configuration, and the memory. Existing files stay, and so does the
    /// record of a memory that was removed from here.
    pub fn init(root: &Path, environment: &Environment) -> Result<Self, WorkspaceError> {
        let state = StateDir::of_user(environment)?;
        let root = mark(root)?;
        let workspace = Self::at(root, None, &state, false)?;
        workspace.ensure()?;
        Ok(workspace)
    }

    /// Gives up the memory that was removed from here, so that the new one takes writes. False if another work tree has
    /// settings of the project: then it was not removed as a whole.
    pub fn begin_anew(&self) -> Result<bool, WorkspaceError> {
        if self.roots().iter().any(|root| *root != self.root && root.join(MARKER).is_dir()) {
            return Ok(false);
        }
        let checkpoints = Checkpoints::of(&self.memory, Some(self.state.home()));
        checkpoints.forget_place().map_err(|source| io_error(&self.memory, source))
    }

    /// Like [`Workspace::init`], for a copy: the memory stays in `.hivemind/runtime/` even inside a repository.
    pub fn init_apart(root: &Path, environment: &Environment) -> Result<Self, WorkspaceError> {
        let state = StateDir::of_user(environment)?;
        let root = mark(root)?;
        let memory = root.join(MARKER).join(RUNTIME);
        state.create(&memory).map_err(|source| io_error(&memory, source))?;
        let stays = memory.join(STAYS);
        private::replace(&stays, b"").map_err(|source| io_error(&stays, source))?;
        Self::at(root, None, &state, false)
    }

    /// The workspace of a writer, from the root and memory that its front found. Either directory may be gone by now.
    pub fn served(root: &Path, memory: &Path, environment: &Environment) -> Result<Self, WorkspaceError> {
        let state = StateDir::of_user(environment)?;
        Ok(Self {
            root: root.to_owned(),
            rules: root.to_owned(),
            memory: memory.to_owned(),
            is_elsewhere: false,
            moves_to: None,
            git: work_tree_of(root).ok().flatten(),
            place: Where::Named,
            state,
        })
    }

    /// The workspace of a root. Its memory is `memory`, or the place that the configuration or the repository
    /// determines.
    fn at(
        root: PathBuf,
        memory: Option<PathBuf>,
        state: &StateDir,
        is_told: bool,
    ) -> Result<Self, WorkspaceError> {
        let git = work_tree_of(&root)?;
        let rules = git.as_ref().and_then(|git| main_counterpart(git, &root)).unwrap_or_else(|| root.clone());
        let own = memory.or_else(|| Config::memory_of(&rules.join(MARKER).join("config.toml"), &rules));
        let old = rules.join(MARKER).join(RUNTIME);
        let mut workspace = Self {
            root,
            rules,
            memory: old,
            is_elsewhere: false,
            moves_to: None,
            git,
            place: Where::Tree,
            state: state.clone(),
        };
        if let Some(own) = own {
            workspace.memory = own.canonicalize().unwrap_or(own);
            workspace.is_elsewhere = true;
        } else if let Some(git) = workspace.git.as_ref().filter(|_| !workspace.memory.join(STAYS).exists()) {
            let in_git = memory_in(git, &workspace.root);
            match workspace.in_tree(&in_git)? {
                InTree::No => (workspace.memory, workspace.place) = (in_git, Where::Git),
                InTree::Moves => workspace.moves_to = Some(in_git),
                InTree::Stays => {}
            }
        }
        if is_told {
            workspace.place = Where::Named;
        }
        workspace.checked()
    }

    /// Refuses a memory that this user may not or should not open.
    fn checked(self) -> Result<Self, WorkspaceError> {
        let bytes = self.memory.as_os_str().len();
        if bytes > MAX_MEMORY_BYTES {
            return Err(WorkspaceError::TooLong { place: self.memory.display().to_string(), bytes });
        }
        let is_allowed = !self.is_elsewhere
            || self.place == Where::Named
            || self.state.is_allowed(&self.memory, &self.rules);
        match self.ownership()? {
            Ownership::Absent | Ownership::Known | Ownership::Sealed | Ownership::Unseen if !is_allowed => {
                let (place, reason) =
                    (self.memory.display().to_string(), "only config.toml names it".to_owned());
                Err(WorkspaceError::Foreign { place, reason, way: TRUST_IT })
            }
            Ownership::Foreign(reason) => {
                let way = if self.place == Where::Git { NAME_IT } else { TRUST_IT };
                Err(WorkspaceError::Foreign { place: self.memory.display().to_string(), reason, way })
            }
            Ownership::Absent | Ownership::Known | Ownership::Sealed | Ownership::Unseen => Ok(self),
        }
    }

    fn ownership(&self) -> Result<Ownership, WorkspaceError> {
        self.state.ownership(&self.memory, self.place).map_err(|source| io_error(&self.memory, source))
    }

    /// Decides about a memory in the tree of a repository, where older versions of hm put it.
    fn in_tree(&self, in_git: &Path) -> Result<InTree, WorkspaceError> {
        // A link leads out of the tree, maybe to the memory of another project.
        let is_linked = self.memory.canonicalize().is_ok_and(|real| real != self.memory);
        if is_memory(in_git) || is_linked {
            return Ok(InTree::No);
        }
        Ok(match self.ownership()? {
            Ownership::Absent | Ownership::Unseen | Ownership::Foreign(_) => InTree::No,
            Ownership::Known | Ownership::Sealed => {
                match git::tracks(&self.rules, &self.memory) {
                    // A tracked file may come from any author of the repository.
                    Some(true) => InTree::No,
                    Some(false) => InTree::Moves,
                    // The memory stays: an empty one in the git directory would hide it.
                    None => InTree::Stays,
                }
            }
        })
    }

    /// The workspace after the move of its memory out of the tree, where a move is due and possible.
    #[must_use]
    pub fn settled(self) -> Self {
        let Some(to) = &self.moves_to else { return self };
        let moved = moving::move_memory(&self.memory, to);
        match &moved {
            Ok(()) => {
                tracing::warn!(from = %self.memory.display(), to = %to.display(), "the memory moved out of the tree");
            }
            // Another process moved it first.
            Err(_) if is_memory(to) => {}
            Err(error) => {
                tracing::debug!(%error, "the memory stays where it is");
                return self;
            }
        }
        Self { memory: to.clone(), place: Where::Git, moves_to: None, ..self }
    }

    /// Makes a memory in the tree this user's. `hm trust` calls it.
    ///
    /// # Errors
    /// [`WorkspaceError`] with the reason why the memory cannot be trusted.
    pub fn trust(
        dir: Option<&Path>,
        start: &Path,
        environment: &Environment,
    ) -> Result<Self, WorkspaceError> {
        let state = StateDir::of_user(environment)?;
        let root = match dir {
            Some(dir) => dir.canonicalize().map_err(|source| io_error(dir, source))?,
            None => root_above(start)?,
        };
        let git = work_tree_of(&root)?;
        let rules = git.as_ref().and_then(|git| main_counterpart(git, &root)).unwrap_or(root.clone());
        let foreign = |memory: &Path, reason: &str, way| {
            let (place, reason) = (memory.display().to_string(), reason.to_owned());
            WorkspaceError::Foreign { place, reason, way }
        };
        let adopt = |memory: &Path| {
            let is_dir = std::fs::symlink_metadata(memory).is_ok_and(|metadata| metadata.is_dir());
            if !is_dir {
                return Err(foreign(memory, "it is a link or a file, and no directory", NAME_IT_ELSEWHERE));
            }
            state.adopt(memory, false).map_err(|source| io_error(memory, source))
        };
        if let Some(memory) = Config::memory_of(&rules.join(MARKER).join("config.toml"), &rules) {
            let failed = |source| io_error(&memory, source);
            if !memory.exists() {
                state.create(&memory).map_err(failed)?;
            } else if !is_memory(&memory) {
                return Err(foreign(
                    &memory,
                    "it holds no memory of hm",
                    "Correct config.toml: name a new directory",
                ));
            }
            say_set_aside(&adopt(&memory)?);
            state.allow(&memory, &rules).map_err(failed)?;
            return Self::find(Some(&root), start, &Environment { dir: None, ..environment.clone() });
        }
        let memory = root.join(MARKER).join(RUNTIME);
        if matches!(state.ownership(&memory, Where::Tree), Ok(Ownership::Foreign(_))) {
            if let Some(git) = &git {
                let in_git = memory_in(git, &root);
                if is_memory(&in_git) {
                    return Err(foreign(
                        &memory,
                        "the repository has another memory in its git directory",
                        MOVE_IT,
                    ));
                }
                if git::tracks(&git.top, &memory) != Some(false) {
                    return Err(foreign(
                        &memory,
                        "git tracks files in it, or git cannot be asked",
                        UNTRACK_IT,
                    ));
                }
            }
            say_set_aside(&adopt(&memory)?);
        }
        let without_dir = Environment { dir: None, ..environment.clone() };
        Self::find(Some(&root), start, &without_dir)
    }

    /// The directory that holds `.hivemind/`, or the same directory of another work tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `.hivemind/` of this work tree, or of the main one when the branch of this one has none.
    pub fn marker_dir(&self) -> PathBuf {
        let own = self.root.join(MARKER);
        if own.is_dir() { own } else { self.rules.join(MARKER) }
    }

    /// The path of `config.toml`.
    pub fn config(&self) -> PathBuf {
        self.marker_dir().join("config.toml")
    }

    /// The directory of the memory: the ledger and all other files except the configuration.
    pub fn memory(&self) -> &Path {
        &self.memory
    }

    /// The directory whose `.hivemind/` has the settings of the ledger: the main work tree, or this one.
    pub fn rules(&self) -> &Path {
        &self.rules
    }

    /// Those of these files whose content here is not that of a commit, by their paths. None if git does not know the
    /// commit.
    pub fn differing(&self, commit: &str, files: &[Scope]) -> Option<BTreeSet<String>> {
        git::differing(self.root(), commit, files.iter().map(Scope::as_str))
    }

    /// The git directory that all work trees of the repository share. None outside git.
    pub fn repository(&self) -> Option<&Path> {
        self.git.as_ref().map(|git| git.common_dir.as_path())
    }

    /// The owner of the project's space: the root commit, or the path of the workspace where no commit is known. A
    /// shallow clone does not know its root.
    pub fn project(&self) -> Owner {
        let git = self.git.as_ref().filter(|git| !git.is_shallow());
        let root = git.and_then(|_| history::root_commit(&self.root));
        Owner::project(&root.unwrap_or_else(|| self.rules.display().to_string()))
    }

    /// Name of the work tree and branch; empty outside git.
    pub fn checkout(&self) -> Checkout {
        // A name that is longer than the ledger accepts is left out.
        let branch = self.git.as_ref().and_then(WorkTree::branch).and_then(|branch| branch.parse().ok());
        Checkout { worktree: self.worktree(), branch }
    }

    /// Name of the linked work tree. `None` in the main one and outside git.
    pub fn worktree(&self) -> Option<Worktree> {
        self.git.as_ref()?.name()?.parse().ok()
    }

    /// The same workspace in each work tree of the repository that can be used, the main one first. Empty outside git.
    pub fn work_trees(&self) -> Vec<Self> {
        let Some(git) = &self.git else { return Vec::new() };
        let linked = git.linked().into_iter().filter_map(|name| name.parse().ok()).map(Some);
        [None].into_iter().chain(linked).filter_map(|name| self.in_work_tree(name.as_ref()).ok()).collect()
    }

    /// The roots of the workspace: one in each work tree of the repository, or the only one outside git.
    pub fn roots(&self) -> Vec<PathBuf> {
        let mut roots: Vec<PathBuf> = self.work_trees().into_iter().map(|tree| tree.root).collect();
        if !roots.contains(&self.root) {
            roots.push(self.root.clone());
        }
        roots
    }

    /// The same workspace in another work tree of the repository: the linked one that git calls `name`, or the
    /// main one for `None`.
    ///
    /// # Errors
    /// [`WorkspaceError::NoWorkTree`] when the work tree does not exist or has another memory.
    pub fn in_work_tree(&self, name: Option<&Worktree>) -> Result<Self, WorkspaceError> {
        let name = name.map(Worktree::as_str);
        if self.git.as_ref().and_then(WorkTree::name) == name {
            return Ok(self.clone());
        }
        let missing = || {
            let what =
                name.map_or_else(|| "the main work tree".to_owned(), |name| format!("work tree `{name}`"));
            WorkspaceError::NoWorkTree(what)
        };
        let git = self.git.as_ref().ok_or_else(missing)?;
        let below = self.root.strip_prefix(&git.top).map_err(|_| missing())?;
        let root = git.sibling(name).ok_or_else(missing)?.join(below);
        let root = root.canonicalize().map_err(|_| missing())?;
        let found = Self::at(root, None, &self.state, false)?;
        let is_it = found.memory == self.memory && found.git.as_ref().and_then(WorkTree::name) == name;
        is_it.then_some(found).ok_or_else(missing)
    }

    /// The directory of this user's own state about the memory. It holds the user's trust, so it lies outside
    /// every repository. `None` while the memory has no id.
    pub fn own_state(&self) -> Option<PathBuf> {
        Some(self.state.of_memory(&self.state.known(&self.memory).ok().flatten()?))
    }

    /// Removes this user's state about a memory that is deleted, such as that of a demo.
    pub fn forget(&self) {
        let Some(dir) = self.own_state() else { return };
        if let Err(error) = std::fs::remove_dir_all(&dir) {
            tracing::warn!(%error, dir = %dir.display(), "cannot forget the memory");
        }
        // Removes the parent too, unless it holds state about other memories.
        let _ = dir.parent().map(std::fs::remove_dir);
    }

    /// Remarks for the operator about the place of the memory, one line each.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let old = self.root.join(MARKER).join(RUNTIME);
        if old != self.memory && old.join(LEDGER).exists() && !old.join(moving::MOVED).exists() {
            remarks.push(format!(
                "{} holds another memory, which is not opened: the one of this repository is {}",
                old.display(),
                self.memory.display()
            ));
        }
        if let Some(to) = &self.moves_to {
            remarks.push(format!(
                "the memory still lies in the tree: it moves to {} when no writer serves it and both are on one disk",
                to.display()
            ));
        } else if self.git.is_some()
            && self.place == Where::Tree
            && !self.memory.join(STAYS).exists()
            && !self.is_elsewhere
        {
            remarks.push(
                "the memory lies in the tree, and git cannot be asked whether it tracks it: mend git"
                    .to_owned(),
            );
        }
        let aside = std::fs::read_dir(&self.memory).into_iter().flatten().filter_map(Result::ok);
        let aside = aside.filter(|entry| entry.file_name().to_string_lossy().contains(SET_ASIDE));
        remarks.extend(aside.map(|entry| {
            let is_log = entry.file_name().to_string_lossy().starts_with(LEDGER_LOG);
            let came =
                if is_log { "is the log of a ledger that was replaced" } else { "came with the memory" };
            format!("{} {came} and was set aside: it is used for nothing", entry.path().display())
        }));
        remarks
    }

    /// Whether the memory is a copy that hm made, such as a backup.
    pub(crate) fn is_copy(&self) -> bool {
        self.memory.join(STAYS).exists()
    }

    /// The random name of the memory that is now at this path; `None` when there is none.
    pub(crate) fn id(&self) -> Option<String> {
        // The last line is the oldest id: each state directory that adopts the memory adds its own at the front.
        ownership::ids(&self.memory).ok()?.pop()
    }

    /// Makes the memory when it is missing, and makes it this user's when it is unknown. Only its owner can
    /// enter its directory.
    pub fn ensure(&self) -> Result<(), WorkspaceError> {
        let failed = |source| io_error(&self.memory, source);
        let mut ownership = self.ownership()?;
        if ownership == Ownership::Absent {
            if let Some(parent) = self.memory.parent().filter(|parent| parent.ends_with(BELOW_IN_GIT)) {
                private::create_dir_all(parent).map_err(failed)?;
            }
            // It makes only the last directory: the directories of a deleted project do not come back.
            let checkpoints = Checkpoints::of(&self.memory, Some(self.state.home()));
            // A memory that was removed from its ground is a loss: the writer goes on once the operator accepted it.
            let was_removed = checkpoints.is_same_ground();
            if self.state.create(&self.memory).map_err(failed)? && !was_removed {
                // Checkpoints of an earlier ledger at this place do not apply to a new memory.
                if checkpoints.forget_place().map_err(failed)? {
                    tracing::warn!(memory = %self.memory.display(), "the memory that lay here is gone: a new one begins");
                }
            }
            ownership = self.ownership()?;
        }
        self.adopted(ownership)?;
        private::close_dir(&self.memory).map_err(failed)
    }

    /// Makes an existing memory this user's.
    fn adopted(&self, ownership: Ownership) -> Result<(), WorkspaceError> {
        let failed = |source| io_error(&self.memory, source);
        match ownership {
            // A memory is known even when its directory is read-only, as in a sandbox.
            Ownership::Known => {
                if let Ok(Some(before)) = self.state.keep_place(&self.memory) {
                    let checkpoints = Checkpoints::of(&self.memory, Some(self.state.home()));
                    checkpoints.move_from(&before).map_err(failed)?;
                }
                Ok(())
            }
            Ownership::Sealed => self.state.adopt(&self.memory, true).map_err(failed).map(drop),
            Ownership::Unseen | Ownership::Absent => {
                tracing::warn!(memory = %self.memory.display(), "the memory was made elsewhere, and is opened here for the first time");
                say_set_aside(&self.state.adopt(&self.memory, false).map_err(failed)?);
                Ok(())
            }
            Ownership::Foreign(_) => self.clone().checked().map(drop),
        }
    }
}

fn say_set_aside(aside: &[PathBuf]) {
    for file in aside {
        tracing::warn!(file = %file.display(), "the memory was made elsewhere: this file of it is set aside");
    }
}

/// Makes `.hivemind/` in a directory, with the configuration when it is missing.
fn mark(root: &Path) -> Result<PathBuf, WorkspaceError> {
    std::fs::create_dir_all(root).map_err(|source| io_error(root, source))?;
    let root = root.canonicalize().map_err(|source| io_error(root, source))?;
    let marker = root.join(MARKER);
    private::create_dir_all(&marker).map_err(|source| io_error(&marker, source))?;
    for (name, content) in [("config.toml", crate::config::TEMPLATE), (".gitignore", "runtime/\n")] {
        let path = marker.join(name);
        if !path.exists() {
            std::fs::write(&path, content).map_err(|source| io_error(&path, source))?;
        }
    }
    Ok(root)
}

/// The root of the workspace that contains a directory: the nearest directory that holds `.hivemind/`, or the
/// top of a work tree whose repository has a memory.
fn root_above(start: &Path) -> Result<PathBuf, WorkspaceError> {
    let start = start.canonicalize().unwrap_or_else(|_| start.to_owned());
    for dir in start.ancestors() {
        if is_root(dir)? {
            return Ok(dir.to_owned());
        }
    }
    Err(WorkspaceError::NotFound(start.display().to_string()))
}

fn is_root(dir: &Path) -> Result<bool, WorkspaceError> {
    if dir.join(MARKER).is_dir() {
        return Ok(true);
    }
    let Some(git) = WorkTree::at(dir)? else { return Ok(false) };
    // The checked-out branch may lack `.hivemind/` while other branches have it.
    let has_memory = memory_in(&git, dir).join(ownership::ID).exists();
    Ok(has_memory || git.main_top().is_some_and(|main| main != dir && main.join(MARKER).is_dir()))
}

/// The work tree that contains a directory.
fn work_tree_of(root: &Path) -> Result<Option<WorkTree>, WorkspaceError> {
    for dir in root.ancestors() {
        if let Some(git) = WorkTree::at(dir)? {
            return Ok(Some(git));
        }
    }
    Ok(None)
}

/// The same directory in the main work tree, if that is a workspace. A bare repository has no main work tree: there it is
/// that of the first linked one by name, so that all of them have one policy.
fn main_counterpart(git: &WorkTree, root: &Path) -> Option<PathBuf> {
    let below = root.strip_prefix(&git.top).ok()?;
    // Removes the trailing slash that joining an empty path adds.
    let counterpart = |top: PathBuf| -> PathBuf { top.join(below).components().collect() };
    let is_workspace = |root: &PathBuf| root.join(MARKER).is_dir();
    match git.main_top() {
        Some(top) => Some(counterpart(top)).filter(is_workspace),
        None => {
            let tops = git.linked().into_iter().filter_map(|name| git.sibling(Some(&name)));
            tops.map(counterpart).find(is_workspace)
        }
    }
}

/// The decision about a memory in the tree of a repository.
enum InTree {
    /// hm does not use it: it is missing, linked, foreign, tracked, or replaced by the one in git.
    No,
    /// It moves into the git directory.
    Moves,
    /// It stays, because git cannot be asked whether it tracks the memory.
    Stays,
}

/// Whether a directory holds a memory of hm.
fn is_memory(dir: &Path) -> bool {
    dir.join(ownership::ID).exists() || dir.join(LEDGER).exists()
}

/// The directory in the repository for the memory of a workspace.
fn memory_in(git: &WorkTree, root: &Path) -> PathBuf {
    let below = root.strip_prefix(&git.top).unwrap_or(Path::new(""));
    if below.as_os_str().is_empty() {
        return git.common_dir.join(IN_GIT);
    }
    let below = below.as_os_str().as_encoded_bytes();
    let name = percent_encoding::percent_encode(below, percent_encoding::NON_ALPHANUMERIC);
    git.common_dir.join(BELOW_IN_GIT).join(name.to_string())
}

impl From<Dangling> for WorkspaceError {
    fn from(Dangling { file, names }: Dangling) -> Self {
        Self::NoRepository { file: file.display().to_string(), names: names.display().to_string() }
    }
}

fn io_error(path: &Path, source: std::io::Error) -> WorkspaceError {
    WorkspaceError::Io { path: path.display().to_string(), source }
}
