//! The directory tree that shares one memory, and where its files lie.
//!
//! In a git repository the memory lies in the common git directory: one for all work trees, out of every diff, and out
//! of reach of `git clean`. Elsewhere it lies in `.hivemind/runtime/`.

mod git;
mod moving;
mod ownership;

use std::io;
use std::path::{Path, PathBuf};

use self::git::{Dangling, WorkTree};
use self::ownership::{Ownership, StateDir, Where};
use crate::checkpoints::Checkpoints;
use crate::config::Config;
use crate::domain::checkout::Checkout;
use crate::domain::ids::RunId;
use crate::domain::scope::{self, BadScope, Scope};
use crate::domain::text::Worktree;
use crate::private;
use crate::system::Environment;

/// The longest socket path; `sun_path` holds 108 bytes on Linux and 104 on macOS.
const MAX_SOCKET_PATH_BYTES: usize = 100;
/// The directory that marks a workspace.
pub const MARKER: &str = ".hivemind";
/// The memory's directory below the marker, outside git.
const RUNTIME: &str = "runtime";
/// The memory's directory in the common git directory.
const IN_GIT: &str = "hivemind";
/// Beside it: the memories of workspaces below the top of a work tree, by their percent-encoded paths.
const BELOW_IN_GIT: &str = "hivemind-below";
/// Stands in a memory that does not move into a git directory around it, such as a backup.
const STAYS: &str = "stays-here";
/// The events.
const LEDGER: &str = "ledger.sqlite";
/// What was committed and not yet copied into that file.
const LEDGER_LOG: &str = "ledger.sqlite-wal";
/// Stands in the names of files that are used for nothing any more.
const SET_ASIDE: &str = ".set-aside-";
/// What the ledger was at some sizes, sealed.
const CHECKPOINTS: &str = "checkpoints";
/// Held by the one writer.
const WRITER_LOCK: &str = "writer.lock";

/// A workspace: the directory that holds `.hivemind/`, or another work tree of its repository, and its memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    root: PathBuf,
    rules: PathBuf,
    memory: PathBuf,
    /// Whether a file of the tree names the memory.
    is_elsewhere: bool,
    /// Where the memory is to move, out of the tree.
    moves_to: Option<PathBuf>,
    git: Option<WorkTree>,
    place: Where,
    state: StateDir,
}

/// Why there is no workspace.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// No `.hivemind` here or above.
    #[error("no {MARKER} in {0} or above it: run `hm init` in the root of your project")]
    NotFound(String),
    /// The named directory has none.
    #[error("{0} holds no {MARKER}: run `hm init --dir {0}` first, or correct --dir / HM_DIR")]
    NotThere(String),
    /// A work tree whose repository is not there.
    #[error(
        "{file} names {names}, which is not there: mount or restore the repository too, or name another memory in \
         HM_DIR"
    )]
    NoRepository {
        /// The `.git` file.
        file: String,
        /// The git directory it names.
        names: String,
    },
    /// A memory that this user did not make.
    #[error("the memory {place} is not opened: {reason}. {way}")]
    Foreign {
        /// Where it lies.
        place: String,
        /// Why it is taken to be somebody else's.
        reason: String,
        /// What can be done about it.
        way: &'static str,
    },
    /// A work tree that is not there, or has another memory.
    #[error("{0} is not there, or has another memory")]
    NoWorkTree(String),
    /// A memory that was there and is there no more.
    #[error("the memory {0} is gone: start the client anew where the project lies now")]
    Gone(String),
    /// There is nowhere to keep what tells this user's memories from others'.
    #[error("this user has no home directory: set XDG_STATE_HOME to a directory that hm may write")]
    NoStateHome,
    /// The file system refuses.
    #[error("cannot use {path}: {source}")]
    Io {
        /// Which file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
}

/// What to do about a memory of another user.
const NAME_IT: &str = "To use it all the same, name the project in HM_DIR";
/// What to do about a memory that another one hides.
const MOVE_IT: &str = "End all panes and move the one in the git directory away, then run `hm trust` again";
/// What to do about a memory that is tracked.
const UNTRACK_IT: &str = "Take it out first: git rm -r --cached .hivemind/runtime";
/// What to do about a memory behind a link.
const NAME_IT_ELSEWHERE: &str =
    "To keep the memory in another place, name that under [workspace] in config.toml";
/// What to do about a memory that came with a tree.
const TRUST_IT: &str = "If it is yours, run `hm trust` in a terminal, or name the project in HM_DIR";

/// The directory of a project that is named by itself or by its marker.
pub fn project_of(named: &Path) -> &Path {
    if named.ends_with(MARKER) { named.parent().unwrap_or(named) } else { named }
}

impl Workspace {
    /// The workspace named by `dir` (`--dir`) or `HM_DIR` (the directory, its `.hivemind`, or a memory), else the one at
    /// or above `start`. Only what the environment names is trusted for being named.
    ///
    /// # Errors
    /// [`WorkspaceError`] with what to do.
    pub fn find(dir: Option<&Path>, start: &Path, environment: &Environment) -> Result<Self, WorkspaceError> {
        let state = StateDir::of_user(environment)?;
        let told = environment.dir.as_deref().map(Path::new);
        let Some(named) = dir.or(told) else {
            let root = root_above(start)?;
            return Self::at(root, None, &state, false);
        };
        let is_told = dir.is_none_or(|dir| told == Some(dir));
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

    /// Makes `.hivemind/` in `root` with a commented configuration, and the memory; what is there already stays.
    ///
    /// # Errors
    /// [`WorkspaceError`].
    pub fn init(root: &Path, environment: &Environment) -> Result<Self, WorkspaceError> {
        let state = StateDir::of_user(environment)?;
        let root = mark(root)?;
        let workspace = Self::at(root, None, &state, false)?;
        workspace.ensure()?;
        Ok(workspace)
    }

    /// [`Workspace::init`] of a memory that stays in `.hivemind/runtime/` even inside a repository: a copy.
    ///
    /// # Errors
    /// [`WorkspaceError`].
    pub fn init_apart(root: &Path, environment: &Environment) -> Result<Self, WorkspaceError> {
        let state = StateDir::of_user(environment)?;
        let root = mark(root)?;
        let memory = root.join(MARKER).join(RUNTIME);
        state.create(&memory).map_err(|source| io_error(&memory, source))?;
        let stays = memory.join(STAYS);
        private::replace(&stays, b"").map_err(|source| io_error(&stays, source))?;
        Self::at(root, None, &state, false)
    }

    /// The workspace that a writer serves: its front found root and memory, and either may be gone since.
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

    /// The workspace of a root, with its memory at a given place or where the rules put it.
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

    /// What becomes of a memory that lies in the tree of a repository, as all did once.
    fn in_tree(&self, in_git: &Path) -> Result<InTree, WorkspaceError> {
        // What a link of the tree leads to lies elsewhere, and may be another project's.
        let is_linked = self.memory.canonicalize().is_ok_and(|real| real != self.memory);
        if is_memory(in_git) || is_linked {
            return Ok(InTree::No);
        }
        Ok(match self.ownership()? {
            Ownership::Absent | Ownership::Unseen | Ownership::Foreign(_) => InTree::No,
            Ownership::Known | Ownership::Sealed => {
                match git::tracks(&self.rules, &self.memory) {
                    // What is in the repository may be anybody's.
                    Some(true) => InTree::No,
                    Some(false) => InTree::Moves,
                    // Starting an empty memory beside it would lose it from sight.
                    None => InTree::Stays,
                }
            }
        })
    }

    /// The workspace with its memory moved out of the tree, where that is to be done and can be.
    #[must_use]
    pub fn settled(self) -> Self {
        let Some(to) = &self.moves_to else { return self };
        let moved = moving::move_memory(&self.memory, to);
        match &moved {
            Ok(()) => {
                tracing::warn!(from = %self.memory.display(), to = %to.display(), "the memory moved out of the tree");
            }
            // Another process was faster.
            Err(_) if is_memory(to) => {}
            Err(error) => {
                tracing::debug!(%error, "the memory stays where it is");
                return self;
            }
        }
        Self { memory: to.clone(), place: Where::Git, moves_to: None, ..self }
    }

    /// Makes a memory that lies in the tree this user's, as `hm trust` does.
    ///
    /// # Errors
    /// [`WorkspaceError`], with the reason why it cannot be trusted.
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
                    return Err(foreign(&memory, "git tracks files in it, or cannot say", UNTRACK_IT));
                }
            }
            say_set_aside(&adopt(&memory)?);
        }
        let told = Environment { dir: None, ..environment.clone() };
        Self::find(Some(&root), start, &told)
    }

    /// The directory that holds `.hivemind/`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// An absolute path as this workspace spells it: one that leads into it through a link elsewhere begins with the
    /// root. Any other is as it was, links inside the workspace and what is no path included.
    pub fn spelled(&self, path: &str) -> String {
        let given = Path::new(path);
        if !given.is_absolute() || given.starts_with(&self.root) {
            return path.to_owned();
        }
        let ancestors: Vec<&Path> = given.ancestors().collect();
        // The first that leads in: what stands below it may be a link of the project's own.
        let parts = ancestors.into_iter().rev();
        let mut real = parts.map_while(|part| Some((part, part.canonicalize().ok()?)));
        let Some((part, inside)) = real.find(|(_, real)| real.starts_with(&self.root)) else {
            return path.to_owned();
        };
        let below = given.strip_prefix(part).expect("a path begins with each of its ancestors");
        inside.join(below).to_string_lossy().into_owned()
    }

    /// A scope as a client wrote it: a path is relative to the root.
    ///
    /// # Errors
    /// [`BadScope`].
    pub fn scope(&self, text: &str) -> Result<Scope, BadScope> {
        self.scope_in(&self.root, text)
    }

    /// A scope as it was typed in a directory: a path is relative to it, or to the root where the directory lies outside
    /// the workspace. A path as receipts show it, from the root, is taken as that when only the root has such a
    /// directory. An absolute path and a symbolic link lead to the same scope.
    ///
    /// # Errors
    /// [`BadScope`].
    pub fn scope_in(&self, here: &Path, text: &str) -> Result<Scope, BadScope> {
        let root = self.root.to_string_lossy();
        let Some(path) = scope::typed_path(text)? else { return Scope::parse(text, &root) };
        let path = path.replace('\\', "/");
        let is_of_root = path.split_once('/').is_some_and(|(first, _)| {
            !first.starts_with('.') && !here.join(first).exists() && self.root.join(first).exists()
        });
        let from = if here.starts_with(&self.root) && !is_of_root { here } else { &self.root };
        let real = self.real(&from.join(path));
        let inside =
            Path::new(&real).strip_prefix(root.as_ref()).map_err(|_| BadScope::Outside(text.to_owned()))?;
        let inside = format!("./{}", inside.to_string_lossy());
        let scope = Scope::as_written(&inside, "").map_err(|problem| {
            // The caller knows what was typed.
            if matches!(problem, BadScope::Outside(_)) { BadScope::Outside(text.to_owned()) } else { problem }
        })?;
        scope.check_glob().map(|()| scope)
    }

    /// Where a path of this workspace leads, by links too: the deepest part of it that exists names one file in one way.
    /// A link that leads out of the workspace stays as it is.
    fn real(&self, path: &Path) -> String {
        let found = path.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)));
        match found {
            Some((part, real)) if real.starts_with(&self.root) => {
                let below = path.strip_prefix(part).expect("a path begins with each of its ancestors");
                real.join(below).to_string_lossy().into_owned()
            }
            _ => self.spelled(&path.to_string_lossy()),
        }
    }

    /// `.hivemind/` itself: of this work tree or, where its branch has none, of the main one.
    pub fn marker_dir(&self) -> PathBuf {
        let own = self.root.join(MARKER);
        if own.is_dir() { own } else { self.rules.join(MARKER) }
    }

    /// `config.toml`.
    pub fn config(&self) -> PathBuf {
        self.marker_dir().join("config.toml")
    }

    /// The directory of everything that is not configuration.
    pub fn memory(&self) -> &Path {
        &self.memory
    }

    /// The directory whose `.hivemind/` holds the rules of the ledger: the main work tree, or this one.
    pub fn rules(&self) -> &Path {
        &self.rules
    }

    /// The work tree and branch; empty outside git.
    pub fn checkout(&self) -> Checkout {
        let Some(git) = &self.git else { return Checkout::default() };
        let worktree = git.name().and_then(|name| name.parse().ok());
        // A longer name than the ledger takes is left out.
        Checkout { worktree, branch: git.branch().and_then(|branch| branch.parse().ok()) }
    }

    /// The workspace of the same memory in another work tree of the repository: in the linked one that git calls so,
    /// or in the main one.
    ///
    /// # Errors
    /// [`WorkspaceError`], where there is none, or one with another memory.
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

    /// What this user's own state holds about the memory: trust that no repository can carry. None while the memory
    /// has no id.
    pub fn own_state(&self) -> Option<PathBuf> {
        Some(self.state.of_memory(&self.state.known(&self.memory).ok().flatten()?))
    }

    /// Forgets that this user has the memory, which goes away itself, as that of a demo does.
    pub fn forget(&self) {
        let Some(dir) = self.own_state() else { return };
        if let Err(error) = std::fs::remove_dir_all(&dir) {
            tracing::warn!(%error, dir = %dir.display(), "cannot forget the memory");
        }
        // Others may be known.
        let _ = dir.parent().map(std::fs::remove_dir);
    }

    /// What somebody should know of the memory's place, a line each.
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

    /// The events.
    pub fn ledger(&self) -> PathBuf {
        self.memory.join(LEDGER)
    }

    /// Its log: what was committed and not yet copied into it.
    pub(crate) fn ledger_log(&self) -> PathBuf {
        self.memory.join(LEDGER_LOG)
    }

    /// The index over the log.
    pub(crate) fn ledger_index(&self) -> PathBuf {
        self.memory.join("ledger.sqlite-shm")
    }

    /// Which log belongs to which ledger.
    pub(crate) fn ledger_pair(&self) -> PathBuf {
        self.memory.join("ledger.pair")
    }

    /// A free name beside a file of the memory, for one that is used for nothing any more.
    pub(crate) fn aside(&self, file: &Path) -> PathBuf {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        self.memory.join(format!("{name}{SET_ASIDE}{}", ownership::short_id()))
    }

    /// The read models.
    pub fn team_memory(&self) -> PathBuf {
        self.memory.join("team-memory.sqlite")
    }

    /// What the ledger was at some sizes, sealed.
    pub fn checkpoints(&self) -> PathBuf {
        self.memory.join(CHECKPOINTS)
    }

    /// Commands accepted while the writer was away.
    pub fn spool(&self) -> PathBuf {
        self.memory.join("spool.jsonl")
    }

    /// Spool lines that did not pass.
    pub fn rejected_spool(&self) -> PathBuf {
        self.memory.join("spool.rejected.jsonl")
    }

    /// Spool lines of commands that only a newer version of hm knows.
    pub fn later_spool(&self) -> PathBuf {
        self.memory.join("spool.later.jsonl")
    }

    /// Which sessions the clients of the panes are in, a file for each client process.
    pub fn client_sessions(&self) -> PathBuf {
        self.memory.join("clients")
    }

    /// Who may come in over HTTP; hashes only.
    pub fn tokens(&self) -> PathBuf {
        self.memory.join("tokens.json")
    }

    /// Which events of the ledger came out of files.
    pub fn imports(&self) -> PathBuf {
        self.memory.join("imports.json")
    }

    /// What became of the last runs of the writer's background jobs.
    pub fn schedule(&self) -> PathBuf {
        self.memory.join("schedule.json")
    }

    /// What the integrity scans found, one JSON line each.
    pub fn integrity_log(&self) -> PathBuf {
        self.memory.join("integrity.log")
    }

    /// When hooks last ran: `<client>.<event>`, empty files.
    pub fn hook_marks(&self) -> PathBuf {
        self.memory.join("hooks")
    }

    /// What runs of experiments left.
    pub fn experiments(&self) -> PathBuf {
        self.memory.join("experiments")
    }

    /// What one run left.
    pub fn artifacts(&self, run: RunId) -> PathBuf {
        self.experiments().join(run.to_string())
    }

    /// The key of hashes over raw output, which nobody else may guess from.
    pub fn stream_key(&self) -> PathBuf {
        self.memory.join("experiments.key")
    }

    /// Held by the one writer.
    pub fn writer_lock(&self) -> PathBuf {
        self.memory.join(WRITER_LOCK)
    }

    /// What a detached writer logs.
    pub fn writer_log(&self) -> PathBuf {
        self.memory.join("writer.log")
    }

    /// Where the writer listens: beside the ledger or, where that address is too long for a socket, where the writer
    /// says. No environment variable has a part in it: processes of different environments find one writer.
    ///
    /// # Errors
    /// `NotFound` while no writer has said where, `PermissionDenied` when its directory is open to others.
    pub fn socket(&self) -> io::Result<PathBuf> {
        if let Some(usual) = self.usual_socket() {
            return Ok(usual);
        }
        let note = private::read_to_string(&self.socket_note())?;
        let mut lines = note.lines();
        let path = PathBuf::from(lines.next().unwrap_or_default());
        if lines.next() != Some(&self.name_of_memory()) {
            // It came with a copy, and says where the writer of the original listens.
            return Err(io::ErrorKind::NotFound.into());
        }
        private::check_dir(path.parent().ok_or(io::ErrorKind::NotFound)?)?;
        Ok(path)
    }

    fn usual_socket(&self) -> Option<PathBuf> {
        let path = self.memory.join("writer.sock");
        (path.as_os_str().len() <= MAX_SOCKET_PATH_BYTES).then_some(path)
    }

    fn socket_note(&self) -> PathBuf {
        self.memory.join("writer.addr")
    }

    /// Device and inode of the memory's directory, which a copy does not share.
    fn name_of_memory(&self) -> String {
        private::name_of(&self.memory).map(|(device, inode)| format!("{device} {inode}")).unwrap_or_default()
    }

    /// A free address for the writer to listen at, for [`Workspace::socket`] to find. Only the holder of the writer's
    /// lock may ask: what a killed writer left is removed.
    ///
    /// # Errors
    /// What the system said.
    pub fn free_socket(&self) -> io::Result<PathBuf> {
        if let Ok(left) = self.socket() {
            self.remove_socket(&left);
        }
        if let Some(usual) = self.usual_socket() {
            return Ok(usual);
        }
        let fits = |dir: &Path| dir.join("writer.sock").as_os_str().len() <= MAX_SOCKET_PATH_BYTES;
        for above in [std::env::temp_dir(), PathBuf::from("/tmp")] {
            let dir = tempfile::Builder::new().prefix("hivemind-").tempdir_in(above)?;
            if fits(dir.path()) {
                let path = dir.keep().join("writer.sock");
                private::close_dir(path.parent().ok_or(io::ErrorKind::NotFound)?)?;
                let mut note = path.as_os_str().as_encoded_bytes().to_vec();
                note.extend_from_slice(format!("\n{}\n", self.name_of_memory()).as_bytes());
                private::replace(&self.socket_note(), &note)?;
                return Ok(path);
            }
        }
        Err(io::Error::other("no directory for temporary files has a path short enough for a socket"))
    }

    /// Removes the socket of a writer, and the directory made for it: it outlives a killed writer. Only that writer may
    /// do so, or the holder of the writer's lock.
    pub fn remove_socket(&self, socket: &Path) {
        let is_noted = self.socket().is_ok_and(|noted| noted == socket);
        if let Err(error) = std::fs::remove_file(socket)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "cannot remove the socket");
        }
        if !socket.starts_with(&self.memory)
            && let Some(dir) = socket.parent()
        {
            // A directory that holds something else is not ours to remove.
            let _ = std::fs::remove_dir(dir);
            if is_noted {
                let _ = std::fs::remove_file(self.socket_note());
            }
        }
    }

    /// Whether the memory is a copy that hm made, such as a backup.
    pub(crate) fn is_copy(&self) -> bool {
        self.memory.join(STAYS).exists()
    }

    /// The random name of the memory at this path, now; none where there is no memory.
    pub(crate) fn id(&self) -> Option<String> {
        // The oldest: state directories that come to know the memory put theirs before it.
        ownership::ids(&self.memory).ok()?.pop()
    }

    /// Makes the memory where there is none, and this user's where it is not yet known. Its directory is closed to
    /// everybody else.
    ///
    /// # Errors
    /// [`WorkspaceError`].
    pub fn ensure(&self) -> Result<(), WorkspaceError> {
        let failed = |source| io_error(&self.memory, source);
        let mut ownership = self.ownership()?;
        if ownership == Ownership::Absent {
            if let Some(parent) = self.memory.parent().filter(|parent| parent.ends_with(BELOW_IN_GIT)) {
                private::create_dir_all(parent).map_err(failed)?;
            }
            // Only the last directory is made: a project that is gone does not come back.
            if self.state.create(&self.memory).map_err(failed)? {
                // What was sealed of a ledger that lay here once says nothing of a memory that begins.
                let checkpoints = Checkpoints::of(self, Some(self.state.home()));
                if checkpoints.forget_place().map_err(failed)? {
                    tracing::warn!(memory = %self.memory.display(), "the memory that lay here is gone: a new one begins");
                }
            }
            ownership = self.ownership()?;
        }
        self.adopted(ownership)?;
        private::close_dir(&self.memory).map_err(failed)
    }

    /// Makes a memory that is there this user's.
    fn adopted(&self, ownership: Ownership) -> Result<(), WorkspaceError> {
        let failed = |source| io_error(&self.memory, source);
        match ownership {
            // A directory that cannot be written, as in a sandbox, is known all the same.
            Ownership::Known => {
                if let Ok(Some(before)) = self.state.keep_place(&self.memory) {
                    let checkpoints = Checkpoints::of(self, Some(self.state.home()));
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

    /// Whether runs wait in the memory that came with it: its writer ends them.
    pub(crate) fn is_just_adopted(&self) -> bool {
        ownership::is_just_adopted(&self.memory)
    }

    /// Says that no such run waits any more.
    pub(crate) fn settle_adoption(&self) -> io::Result<()> {
        ownership::settle_adoption(&self.memory)
    }
}

fn say_set_aside(aside: &[PathBuf]) {
    for file in aside {
        tracing::warn!(file = %file.display(), "the memory was made elsewhere: this file of it is set aside");
    }
}

/// The directory with a configuration in it, as it is written at the first time.
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

/// The root of the workspace that a directory lies in: the nearest that holds `.hivemind/`, or the top of a work tree
/// whose repository has a memory.
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
    // A branch may lack the directory that others have.
    let has_memory = memory_in(&git, dir).join(ownership::ID).exists();
    Ok(has_memory || git.main_top().is_some_and(|main| main != dir && main.join(MARKER).is_dir()))
}

/// The work tree that a directory lies in.
fn work_tree_of(root: &Path) -> Result<Option<WorkTree>, WorkspaceError> {
    for dir in root.ancestors() {
        if let Some(git) = WorkTree::at(dir)? {
            return Ok(Some(git));
        }
    }
    Ok(None)
}

/// The same directory in the main work tree, where that is a workspace.
fn main_counterpart(git: &WorkTree, root: &Path) -> Option<PathBuf> {
    let main = git.main_top()?.join(root.strip_prefix(&git.top).ok()?);
    // Without a trailing slash, which an empty rest leaves.
    let main: PathBuf = main.components().collect();
    main.join(MARKER).is_dir().then_some(main)
}

/// What becomes of a memory in the tree of a repository.
enum InTree {
    /// There is none that would be opened.
    No,
    /// It moves into the git directory.
    Moves,
    /// It stays, because git cannot be asked whether it tracks it.
    Stays,
}

/// Whether a memory of hm lies in a directory.
fn is_memory(dir: &Path) -> bool {
    dir.join(ownership::ID).exists() || dir.join(LEDGER).exists()
}

/// Where the memory of a workspace lies in its repository.
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
