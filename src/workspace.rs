//! The directory tree that shares one memory, and where its files lie.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::domain::ids::RunId;
use crate::domain::scope::{BadScope, Scope};

/// The longest socket path; `sun_path` holds 108 bytes on Linux and 104 on macOS.
const MAX_SOCKET_PATH_BYTES: usize = 100;
/// The directory that marks a workspace.
pub const MARKER: &str = ".hivemind";

/// A workspace: the directory that holds `.hivemind/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    root: PathBuf,
    socket_fallback: PathBuf,
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
    /// The file system refuses.
    #[error("cannot use {path}: {source}")]
    Io {
        /// Which file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
}

impl Workspace {
    /// The workspace named by `--dir` or `HM_DIR` (the directory or its `.hivemind`), else the nearest
    /// one at or above `start`.
    ///
    /// # Errors
    /// [`WorkspaceError`] with what to do.
    pub fn find(
        named: Option<&Path>,
        start: &Path,
        runtime_dir: Option<&str>,
    ) -> Result<Self, WorkspaceError> {
        let root = match named {
            Some(dir) => {
                let dir = if dir.ends_with(MARKER) { dir.parent().unwrap_or(dir) } else { dir };
                if !dir.join(MARKER).is_dir() {
                    return Err(WorkspaceError::NotThere(dir.display().to_string()));
                }
                dir
            }
            None => start
                .ancestors()
                .find(|dir| dir.join(MARKER).is_dir())
                .ok_or_else(|| WorkspaceError::NotFound(start.display().to_string()))?,
        };
        let root = root.canonicalize().map_err(|source| io_error(root, source))?;
        Ok(Self::at(root, runtime_dir))
    }

    /// Makes `.hivemind/` in `root` with a commented configuration; what is there already stays.
    ///
    /// # Errors
    /// [`WorkspaceError::Io`].
    pub fn init(root: &Path, runtime_dir: Option<&str>) -> Result<Self, WorkspaceError> {
        std::fs::create_dir_all(root).map_err(|source| io_error(root, source))?;
        let root = root.canonicalize().map_err(|source| io_error(root, source))?;
        let workspace = Self::at(root, runtime_dir);
        workspace.create_runtime()?;
        for (name, content) in [("config.toml", crate::config::TEMPLATE), (".gitignore", "runtime/\n")] {
            let path = workspace.root.join(MARKER).join(name);
            if !path.exists() {
                std::fs::write(&path, content).map_err(|source| io_error(&path, source))?;
            }
        }
        Ok(workspace)
    }

    fn at(root: PathBuf, runtime_dir: Option<&str>) -> Self {
        let name = hex::encode(&Sha256::digest(root.as_os_str().as_encoded_bytes())[..8]);
        let fallback = runtime_dir.map_or_else(|| std::env::temp_dir().join("hivemind"), PathBuf::from);
        Self { root, socket_fallback: fallback.join(format!("hm-{name}.sock")) }
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

    /// A scope as somebody wrote it: a path is taken from the root, and an absolute one leads there, by links too.
    ///
    /// # Errors
    /// [`BadScope`].
    pub fn scope(&self, text: &str) -> Result<Scope, BadScope> {
        Scope::parse(&self.spelled(text.trim()), &self.root.to_string_lossy())
    }

    /// `.hivemind/` itself.
    pub fn marker_dir(&self) -> PathBuf {
        self.root.join(MARKER)
    }

    /// `config.toml`.
    pub fn config(&self) -> PathBuf {
        self.marker_dir().join("config.toml")
    }

    /// The git-ignored directory of everything that is not configuration.
    pub fn runtime(&self) -> PathBuf {
        self.marker_dir().join("runtime")
    }

    /// The events.
    pub fn ledger(&self) -> PathBuf {
        self.runtime().join("ledger.sqlite")
    }

    /// The read models.
    pub fn team_memory(&self) -> PathBuf {
        self.runtime().join("team-memory.sqlite")
    }

    /// What the ledger was at some sizes, sealed.
    pub fn checkpoints(&self) -> PathBuf {
        self.runtime().join("checkpoints")
    }

    /// Commands accepted while the writer was away.
    pub fn spool(&self) -> PathBuf {
        self.runtime().join("spool.jsonl")
    }

    /// Spool lines that did not pass.
    pub fn rejected_spool(&self) -> PathBuf {
        self.runtime().join("spool.rejected.jsonl")
    }

    /// Which sessions the clients of the panes are in, a file for each client process.
    pub fn client_sessions(&self) -> PathBuf {
        self.runtime().join("clients")
    }

    /// Who may come in over HTTP; hashes only.
    pub fn tokens(&self) -> PathBuf {
        self.runtime().join("tokens.json")
    }

    /// Which events of the ledger came out of files.
    pub fn imports(&self) -> PathBuf {
        self.runtime().join("imports.json")
    }

    /// What became of the last runs of the writer's background jobs.
    pub fn schedule(&self) -> PathBuf {
        self.runtime().join("schedule.json")
    }

    /// What the integrity scans found, one JSON line each.
    pub fn integrity_log(&self) -> PathBuf {
        self.runtime().join("integrity.log")
    }

    /// When hooks last ran: `<client>.<event>`, empty files.
    pub fn hook_marks(&self) -> PathBuf {
        self.runtime().join("hooks")
    }

    /// What runs of experiments left.
    pub fn experiments(&self) -> PathBuf {
        self.runtime().join("experiments")
    }

    /// What one run left.
    pub fn artifacts(&self, run: RunId) -> PathBuf {
        self.experiments().join(run.to_string())
    }

    /// The key of hashes over raw output, which nobody else may guess from.
    pub fn stream_key(&self) -> PathBuf {
        self.runtime().join("experiments.key")
    }

    /// Held by the one writer.
    pub fn writer_lock(&self) -> PathBuf {
        self.runtime().join("writer.lock")
    }

    /// What a detached writer logs.
    pub fn writer_log(&self) -> PathBuf {
        self.runtime().join("writer.log")
    }

    /// Where the writer listens.
    pub fn socket(&self) -> PathBuf {
        let path = self.runtime().join("writer.sock");
        if path.as_os_str().len() <= MAX_SOCKET_PATH_BYTES { path } else { self.socket_fallback.clone() }
    }

    /// Makes `runtime/`, readable by its owner only, and the socket's directory.
    ///
    /// # Errors
    /// [`WorkspaceError::Io`].
    pub fn create_runtime(&self) -> Result<(), WorkspaceError> {
        create_private_dir(&self.runtime())?;
        match self.socket().parent() {
            Some(dir) if !dir.exists() => create_private_dir(dir),
            _ => Ok(()),
        }
    }
}

fn create_private_dir(path: &Path) -> Result<(), WorkspaceError> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(|source| io_error(path, source))
}

fn io_error(path: &Path, source: std::io::Error) -> WorkspaceError {
    WorkspaceError::Io { path: path.display().to_string(), source }
}
