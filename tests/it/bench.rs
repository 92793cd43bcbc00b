//! A workspace under test: real files, real panes, and a writer that does not outlive it.

use std::fs::File;
use std::path::Path;

use hivemind::domain::decide::Policy;
use hivemind::mcp::{Era, Pane, ToolAnswer};
use hivemind::system::Sources;
use hivemind::workspace::Workspace;
use hivemind::writer::Committer;
use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A workspace in a temporary directory.
pub(crate) struct Bench {
    dir: TempDir,
    workspace: Workspace,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let workspace = Workspace::init(dir.path(), None).expect("a workspace");
        Self { dir, workspace }
    }

    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
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

    /// Calls a tool that must be accepted and committed.
    pub(crate) async fn accepted(&self, pane: &Pane, tool: &str, arguments: Value) -> ToolAnswer {
        let answer = pane.call(tool, arguments).await.expect("an answer");
        assert!(!answer.refused && answer.field("state") == "committed", "{tool}: {answer:?}");
        answer
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

/// Whether the long campaigns were asked for.
pub(crate) fn long() -> bool {
    std::env::var_os("HM_LONG").is_some_and(|value| value == "1")
}

/// Every row of every table of a projection and every token of its index, in a stable order. Tables an index
/// keeps for itself are left out: they hold the same tokens, arranged by history.
pub(crate) fn dump(path: &Path) -> String {
    let db = Connection::open(path).expect("the projection opens");
    let tables: Vec<String> = db
        .prepare(
            "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' \
             AND name NOT LIKE 'refinery%' AND name NOT LIKE 'sqlite%' ORDER BY 1",
        )
        .and_then(|mut names| names.query_map([], |row| row.get(0))?.collect())
        .expect("the tables");
    db.execute_batch("CREATE VIRTUAL TABLE temp.tokens USING fts5vocab('main', 'claim_index', 'instance')")
        .expect("the tokens of the index");
    let mut text = String::new();
    for table in tables.iter().map(String::as_str).chain(["claim_index"]) {
        let source = if table == "claim_index" { "temp.tokens" } else { table };
        let mut rows = db.prepare(&format!("SELECT * FROM {source}")).expect("a table");
        let columns = rows.column_count();
        let mut lines: Vec<String> = rows
            .query_map([], |row| {
                (0..columns)
                    .map(|column| Ok(format!("{:?}", row.get_ref(column)?)))
                    .collect::<Result<Vec<_>, _>>()
            })
            .expect("its rows")
            .map(|row| format!("{table}: {}", row.expect("a row").join(" | ")))
            .collect();
        lines.sort();
        text.push_str(&lines.join("\n"));
        text.push('\n');
    }
    text
}
