//! The place of the story: a temporary repository with two linked work trees, and a writer process that ends with it.

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::cast::Problem;
use crate::checkpoints::Checkpoints;
use crate::ledger::Reader;
use crate::system::{self, Environment};
use crate::workspace::Workspace;

/// Time limit for the end of a writer. It needs milliseconds; after the limit it gets SIGKILL.
const LEAVES_WITHIN: Duration = Duration::from_secs(3);
/// Time between two attempts to take its lock.
const LOCK_POLL: Duration = Duration::from_millis(2);

/// Variables of hm. The demo itself may run in the pane of an agent.
pub(super) const OURS: [&str; 4] = ["HM_AGENT", "HM_DIR", "HM_SESSION", "HM_TASK"];

/// The main work tree. The linked ones lie beside it.
const MAIN: &str = "shop";

/// The linked work trees, in which the panes run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tree {
    One,
    Two,
}

impl Tree {
    const fn name(self) -> &'static str {
        match self {
            Self::One => "shop-one",
            Self::Two => "shop-two",
        }
    }
}

/// A temporary workspace and its writer. `drop` always stops the writer and removes the workspace.
pub(super) struct Stage {
    workspace: Workspace,
    binary: PathBuf,
    /// None after the directory is removed or given away.
    dir: Option<TempDir>,
    keep: bool,
}

/// The signal that asks a process to end.
#[derive(Clone, Copy)]
enum End {
    Leave,
    Die,
}

impl Stage {
    /// Makes the repository and its memory. No process runs in it yet.
    pub(super) fn set(keep: bool) -> io::Result<Self> {
        let dir = tempfile::Builder::new().prefix("hivemind-demo-").tempdir()?;
        // Panes find their workspace by themselves, and use the canonical path.
        let main = dir.path().canonicalize()?.join(MAIN);
        std::fs::create_dir(&main)?;
        git(&main, &["init", "--quiet"])?;
        let workspace = Workspace::init(&main, &Environment::read()).map_err(io::Error::other)?;
        let stage = Self { workspace, binary: std::env::current_exe()?, dir: Some(dir), keep };
        stage.commit()?;
        for tree in [Tree::One, Tree::Two] {
            git(&main, &["worktree", "add", "--quiet", &format!("../{}", tree.name())])?;
        }
        Ok(stage)
    }

    /// Commits the files of the story: the pool, a script that checks it, and its profile.
    fn commit(&self) -> io::Result<()> {
        let root = self.workspace.root();
        let script = "echo \"2 workers, 2 connections: done, nobody waited\"\n";
        std::fs::write(root.join("check-pool.sh"), script)?;
        std::fs::create_dir_all(root.join("src/db"))?;
        std::fs::write(root.join("src/db/pool.rs"), "pub const CONNECTIONS: usize = 2;\n")?;
        let dir = self.workspace.marker_dir().join("profiles");
        std::fs::create_dir_all(&dir)?;
        let profile = "description = \"Does the pool hang?\"\nargv = [\"sh\", \"check-pool.sh\"]\nscopes = [\"src/db/**\"]\n\
                       timeout_ms = 10000\n[expect]\nexit = 0\n";
        std::fs::write(dir.join("pool-check.toml"), profile)?;
        git(root, &["add", "--all"])?;
        let author = ["-c", "user.name=hm demo", "-c", "user.email=demo@localhost"];
        git(root, &[&author[..], &["commit", "--quiet", "--message", "a pool"]].concat())
    }

    /// Trusts the profile in the name of the operator.
    pub(super) fn trust_check(&self) -> Result<(), Problem> {
        let trusted = std::process::Command::new(&self.binary)
            .args(["profile", "trust", "pool-check", "--yes", "--operator-override"])
            .arg("hm demo wrote it into its own temporary workspace")
            .arg("--dir")
            .arg(self.workspace.root())
            .env_remove("HM_AGENT")
            .output()?;
        if !trusted.status.success() {
            let said = String::from_utf8_lossy(&trusted.stderr).into_owned();
            return Err(io::Error::other(format!("hm profile trust: {said}")).into());
        }
        Ok(())
    }

    /// Runs a verb in the first work tree. Returns what it prints.
    pub(super) fn hm(&self, arguments: &[&str]) -> Result<String, Problem> {
        let mut command = std::process::Command::new(&self.binary);
        command.args(arguments).current_dir(self.tree(Tree::One));
        for variable in OURS.iter().chain(&system::SESSION_VARIABLES) {
            command.env_remove(variable);
        }
        let ran = command.output()?;
        let (said, failed) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        if !ran.status.success() {
            return Err(io::Error::other(format!("hm {}: {failed}", arguments.join(" "))).into());
        }
        Ok(said.into_owned())
    }

    /// Runs the hook of Claude Code in a work tree, for the session of an agent. Returns what the agent is told.
    pub(super) fn hook(&self, tree: Tree, agent: &str, event: &str, more: &Value) -> Result<String, Problem> {
        let cwd = self.tree(tree);
        let mut payload = json!({ "hook_event_name": event, "session_id": "story", "cwd": cwd });
        if let (Some(payload), Some(more)) = (payload.as_object_mut(), more.as_object()) {
            payload.extend(more.clone());
        }
        let mut command = std::process::Command::new(&self.binary);
        command.args(["hook", "claude", "--agent", agent]).current_dir(&cwd);
        for variable in OURS.iter().chain(&system::SESSION_VARIABLES) {
            command.env_remove(variable);
        }
        let mut hook = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        if let Some(mut stdin) = hook.stdin.take() {
            stdin.write_all(payload.to_string().as_bytes())?;
        }
        let said = hook.wait_with_output()?.stdout;
        if said.is_empty() {
            return Ok(String::new());
        }
        let answer: Value = serde_json::from_slice(&said)?;
        Ok(answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned())
    }

    /// The directory of a linked work tree.
    pub(super) fn tree(&self, tree: Tree) -> PathBuf {
        self.workspace.root().with_file_name(tree.name())
    }

    pub(super) fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// The program of the panes.
    pub(super) fn binary(&self) -> &Path {
        &self.binary
    }

    /// The process id of the writer, if there is a writer.
    pub(super) fn writer(&self) -> io::Result<Option<u32>> {
        if self.lock_is_free()? {
            return Ok(None);
        }
        let text = std::fs::read_to_string(self.workspace.writer_lock())?;
        // A writer takes the lock before it writes its process id. In between, the file is empty.
        Ok(text.trim().parse().ok())
    }

    /// Kills the writer with SIGKILL, so that it finishes nothing. Returns its process id.
    pub(super) fn kill_writer(&self) -> io::Result<u32> {
        let writer = self.writer()?.ok_or_else(|| io::Error::other("no writer runs"))?;
        signal(writer, End::Die)?;
        self.wait_for_the_lock()?;
        Ok(writer)
    }

    /// Stops the writer and removes the workspace. Returns the directory if it is kept.
    pub(super) fn strike(mut self) -> io::Result<Option<PathBuf>> {
        self.stop_writer()?;
        let Some(dir) = self.dir.take() else { return Ok(None) };
        if self.keep {
            return Ok(Some(dir.keep().join(MAIN)));
        }
        self.drop_state();
        dir.close()?;
        Ok(None)
    }

    /// Removes the keys and the trust of a removed workspace.
    fn drop_state(&self) {
        let Some(state_home) = Environment::read().state_home else { return };
        let ledger = Reader::open(&self.workspace.ledger());
        if let Ok(Some(ledger)) = ledger {
            Checkpoints::of(self.workspace.memory(), Some(&state_home)).drop_key(&ledger);
        }
        self.workspace.forget();
        // The hooks of the story left it empty. Other sessions of the user may have files there.
        let _ = std::fs::remove_dir(state_home.join("hivemind").join("sessions"));
    }

    fn stop_writer(&self) -> io::Result<()> {
        let Some(writer) = self.writer()? else { return Ok(()) };
        signal(writer, End::Leave)?;
        if self.wait_for_the_lock().is_ok() {
            return Ok(());
        }
        signal(writer, End::Die)?;
        self.wait_for_the_lock()
    }

    /// Waits for the lock: it ends with its process, also after SIGKILL.
    fn wait_for_the_lock(&self) -> io::Result<()> {
        let deadline: Instant = system::instant() + LEAVES_WITHIN;
        while !self.lock_is_free()? {
            if system::instant() > deadline {
                return Err(io::Error::other("the writer does not leave"));
            }
            std::thread::sleep(LOCK_POLL);
        }
        Ok(())
    }

    fn lock_is_free(&self) -> io::Result<bool> {
        let file = match File::options().write(true).open(self.workspace.writer_lock()) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            Err(error) => return Err(error),
        };
        match file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(dir) = self.dir.take() {
            // The story failed already and its error is reported, so an error here is ignored.
            let _ = self.stop_writer();
            if self.keep {
                let _ = dir.keep();
            } else {
                self.drop_state();
            }
        }
    }
}

/// Runs git in a directory, without the settings of the user or of another repository.
fn git(dir: &Path, arguments: &[&str]) -> io::Result<()> {
    let mut command = std::process::Command::new("git");
    command
        .args(arguments)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"] {
        command.env_remove(variable);
    }
    let done = command.output().map_err(|error| io::Error::other(format!("the demo needs git: {error}")))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(io::Error::other(format!("git {} in {}: {}", arguments.join(" "), dir.display(), said.trim())))
}

#[cfg(unix)]
fn signal(process: u32, end: End) -> io::Result<()> {
    use rustix::process::{Pid, Signal, kill_process};
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::other(format!("{process} is no process")))?;
    let signal = match end {
        End::Leave => Signal::TERM,
        End::Die => Signal::KILL,
    };
    match kill_process(pid, signal) {
        // The process has just ended by itself.
        Err(rustix::io::Errno::SRCH) => Ok(()),
        other => Ok(other?),
    }
}

#[cfg(not(unix))]
fn signal(process: u32, _: End) -> io::Result<()> {
    // A process without a window accepts no request to end.
    std::process::Command::new("taskkill").args(["/F", "/PID", &process.to_string()]).output().map(drop)
}
