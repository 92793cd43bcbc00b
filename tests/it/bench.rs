//! A workspace under test: real files, real panes, and a writer that does not outlive it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use hivemind::domain::decide::Policy;
use hivemind::ledger::{Cursor, Reader, Stored};
use hivemind::mcp::{Era, Pane, ToolAnswer};
use hivemind::reads::Reads;
use hivemind::system::Sources;
use hivemind::workspace::Workspace;
use hivemind::writer::Committer;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::dump;
use crate::terminal::{by_a_human, trust};

/// A workspace in a temporary directory.
pub(crate) struct Bench {
    /// Holds the root, or a directory above it.
    _dir: TempDir,
    root: PathBuf,
    workspace: Workspace,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path().to_owned();
        Self::at(&root, dir)
    }

    /// A workspace at a place in a temporary directory.
    pub(crate) fn at(root: &Path, dir: TempDir) -> Self {
        crate::harness::assert_keys_stay_here();
        let workspace = Workspace::init(root, &hivemind::system::Environment::read()).expect("a workspace");
        Self { _dir: dir, root: root.to_owned(), workspace }
    }

    /// A workspace in a git repository without a commit.
    pub(crate) fn in_git() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let made = Command::new("git").args(["init", "-q", "-b", "main"]).current_dir(dir.path()).status();
        assert!(made.expect("git runs").success());
        let root = dir.path().to_owned();
        Self::at(&root, dir)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    pub(crate) fn binary(&self) -> &'static Path {
        Path::new(env!("CARGO_BIN_EXE_hm"))
    }

    pub(crate) async fn pane(&self, agent: Option<&str>, era: Era) -> Pane {
        Pane::start(self.binary(), self.root(), agent, era).await.expect("a pane")
    }

    /// A pane that waits for its writer as long as a user's does, not as long as these tests do.
    pub(crate) async fn pane_of_a_user(&self, agent: &str) -> Pane {
        let mut command = tokio::process::Command::new(self.binary());
        command.args(["serve", "--agent", agent, "--dir"]).arg(self.root()).current_dir(self.root());
        command.env_remove("HM_PATIENCE_MS");
        Pane::run(command, Era::Modern).await.expect("a pane")
    }

    /// A host of many agents: each call names who speaks.
    pub(crate) async fn host(&self, era: Era) -> Pane {
        let mut command = tokio::process::Command::new(self.binary());
        command.args(["serve", "--any-agent", "--dir"]).arg(self.root()).current_dir(self.root());
        Pane::run(command, era).await.expect("a pane")
    }

    /// Writes a file of the project.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().expect("below the root")).expect("a directory");
        std::fs::write(path, text).expect("a file");
    }

    /// Writes a profile of the project that a human trusts.
    pub(crate) fn profile(&self, name: &str, text: &str) {
        let dir = self.workspace().marker_dir().join("profiles");
        std::fs::create_dir_all(&dir).expect("a directory");
        std::fs::write(dir.join(format!("{name}.toml")), text).expect("a profile");
        trust(self.root(), name);
    }

    /// Calls a tool that must be accepted and committed.
    pub(crate) async fn accepted(&self, pane: &Pane, tool: &str, arguments: Value) -> ToolAnswer {
        let answer = pane.call(tool, arguments).await.expect("an answer");
        assert!(!answer.refused && answer.field("state") == "committed", "{tool}: {answer:?}");
        answer
    }

    /// What people and models see in place of an id.
    pub(crate) fn name(&self, id: &str) -> String {
        hivemind::views::shortened(&mut Reads::of(self.workspace.clone()), id).into_owned()
    }

    /// Makes a fact and returns its id.
    pub(crate) async fn claim(&self, pane: &Pane, statement: &str, scope: &str) -> String {
        let arguments = json!({ "statement": statement, "claim_type": "fact", "scopes": [scope] });
        self.accepted(pane, "create_claim", arguments).await.field("claim_id").to_owned()
    }

    /// `kill -9` of the writer, if one runs; waits until its lock is free.
    pub(crate) fn kill_writer(&self) {
        if self.signal_writer() {
            let lock = self.open_lock();
            lock.lock().expect("the lock of a dead writer is free");
        }
    }

    /// Keeps any writer from starting while the file is held.
    pub(crate) fn hold_writer_lock(&self) -> File {
        let lock = self.open_lock();
        lock.lock().expect("nobody holds the lock");
        lock
    }

    /// Sends SIGKILL to the process named in the lock file, if it still holds the lock.
    pub(crate) fn signal_writer(&self) -> bool {
        let path = self.workspace.writer_lock();
        let Ok(text) = std::fs::read_to_string(&path) else { return false };
        let Some(pid) = text.trim().parse().ok().and_then(rustix::process::Pid::from_raw) else {
            return false;
        };
        if self.open_lock().try_lock().is_ok() {
            return false;
        }
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).is_ok()
    }

    /// Every event of the ledger.
    pub(crate) fn events(&self) -> Vec<Stored> {
        let reader = Reader::open(&self.workspace.ledger()).expect("a ledger").expect("a file");
        reader.read_from(Cursor::GENESIS, usize::MAX >> 1).expect("events")
    }

    /// Runs a verb here; a human at a terminal types what the operator says.
    pub(crate) fn hm(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(self.binary());
        command.args(arguments).current_dir(self.root());
        if arguments.contains(&"operator") {
            return by_a_human(&command);
        }
        command.output().expect("hm runs")
    }

    /// The configuration lets guards stop tools, and a human allows that.
    pub(crate) fn allow_block(&self) {
        std::fs::write(self.workspace().config(), "[guards]\nallow_block = true\n").expect("a configuration");
        let mut command = Command::new(self.binary());
        let done = by_a_human(command.args(["trust", "--rules"]).current_dir(self.root()));
        assert!(done.status.success(), "{done:?}");
    }

    /// A pane of each of these agents, with all tools.
    pub(crate) async fn panes<const N: usize>(&self, agents: [&str; N]) -> [Pane; N] {
        let mut panes = Vec::new();
        for agent in agents {
            let pane = Pane::offered(self.binary(), self.root(), Some(agent), Era::Modern, "all").await;
            panes.push(pane.expect("a pane"));
        }
        panes.try_into().expect("a pane for each agent")
    }

    /// The chain verifies and the read models are what a rebuild makes; no writer may run.
    pub(crate) fn assert_sound(&self) {
        let verified = self.hm(&["verify"]);
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
        let live = dump(&self.workspace.team_memory());
        self.rebuild();
        assert_eq!(dump(&self.workspace.team_memory()), live, "rebuild equals live");
    }

    /// Drops every projection and folds the ledger again, in this process; no writer may run.
    pub(crate) fn rebuild(&self) {
        let mut committer = Committer::open(&self.workspace, Policy::default(), Sources::system())
            .expect("a workspace that opens");
        committer.rebuild(|_| ()).expect("a rebuild");
    }

    fn open_lock(&self) -> File {
        File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.workspace.writer_lock())
            .expect("the lock file opens")
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.signal_writer();
    }
}
