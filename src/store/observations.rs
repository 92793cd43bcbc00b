//! Observations: what hooks saw agents do, in a form that can be counted. Miners read them.

use rusqlite::{Connection, OptionalExtension, params};

use super::rows::{Columns, InOrder, Json, bound, only};
use super::{Reader, StoreError};
use crate::domain::event::{CommandRan, FileEdited, Recorded, ToolUsed};
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::scope::Scope;
use crate::domain::text::CommandLine;

/// How long an observation is kept, in milliseconds: 30 days, as the patterns of a month ago help no agent today.
const KEPT_MS: i64 = 30 * 24 * 3_600_000;
/// The most observations that are kept.
const MAX_KEPT: i64 = 200_000;
/// The most old rows that a new one removes. It is more than one, so that old rows end after a long pause.
const REMOVED: i64 = 16;

/// The kind of an observation, as stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObservedKind {
    /// A command line.
    Command,
    /// Changes of files.
    Edit,
    /// Another tool.
    Tool,
}

impl ObservedKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Edit => "edit",
            Self::Tool => "tool",
        }
    }

    fn of(word: &str) -> Result<Self, StoreError> {
        [Self::Command, Self::Edit, Self::Tool]
            .into_iter()
            .find(|kind| kind.as_str() == word)
            .ok_or_else(|| StoreError::Malformed(format!("`{word}` is no kind of observation")))
    }
}

/// An action that a hook saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// Its number. Later ones have higher numbers.
    pub n: u64,
    /// Ledger position of its event.
    pub seq: u64,
    /// Its time, epoch ms.
    pub at: i64,
    /// The agent.
    pub agent: String,
    /// Its session.
    pub session: Option<String>,
    /// The task that the session held then.
    pub task: Option<TaskId>,
    /// The linked work tree. None for the main one.
    pub worktree: Option<String>,
    /// The kind.
    pub kind: ObservedKind,
    /// The normalised commands, the changed files, or the tool.
    pub action: Vec<String>,
    /// The exit code, if the client reported it.
    pub exit_code: Option<i32>,
    /// Whether it failed.
    pub failed: bool,
    /// The error signature.
    pub error: Option<String>,
    /// SHA-256 of the masked output, hex.
    pub output_sha256: Option<String>,
}

/// The columns that differ between the kinds.
struct Content<'a> {
    kind: ObservedKind,
    action: Vec<&'a str>,
    worktree: Option<&'a str>,
    exit_code: Option<i32>,
    failed: bool,
    error: Option<&'a str>,
    output_sha256: Option<&'a str>,
}

pub(super) fn command_ran(db: &Connection, at: &Recorded, body: &CommandRan) -> Result<(), StoreError> {
    let action = match body.runs.as_slice() {
        // The line does not parse.
        [] => vec![body.command.as_str()],
        runs => runs.iter().map(CommandLine::as_str).collect(),
    };
    let content = Content {
        kind: ObservedKind::Command,
        action,
        worktree: body.checkout.worktree.as_ref().map(|tree| tree.as_str()),
        exit_code: body.exit_code,
        // A command whose end is hidden neither passed nor failed. It counts as failed, so that no playbook advises it.
        failed: !body.passed(),
        error: body.error_signature.as_ref().map(|error| error.as_str()),
        output_sha256: body.output_sha256.as_deref(),
    };
    add(db, at, &content)
}

pub(super) fn edited(db: &Connection, at: &Recorded, body: &FileEdited) -> Result<(), StoreError> {
    let action = body.paths.iter().map(Scope::as_str).collect();
    let worktree = body.checkout.worktree.as_ref().map(|tree| tree.as_str());
    let content = Content { worktree, ..Content::plain(ObservedKind::Edit, action) };
    add(db, at, &content)
}

pub(super) fn tool_used(db: &Connection, at: &Recorded, body: &ToolUsed) -> Result<(), StoreError> {
    let content =
        Content { failed: body.failed, ..Content::plain(ObservedKind::Tool, vec![body.tool.as_str()]) };
    add(db, at, &content)
}

impl<'a> Content<'a> {
    const fn plain(kind: ObservedKind, action: Vec<&'a str>) -> Self {
        Self {
            kind,
            action,
            worktree: None,
            exit_code: None,
            failed: false,
            error: None,
            output_sha256: None,
        }
    }
}

fn add(db: &Connection, at: &Recorded, content: &Content<'_>) -> Result<(), StoreError> {
    let session = at.session.as_ref().map(SessionId::as_str);
    let task: Option<String> = db
        .prepare_cached(
            "SELECT id FROM tasks WHERE session = ?1 AND lease_until >= ?2 ORDER BY seq DESC LIMIT 1",
        )?
        .query_row(params![session, at.at], only)
        .optional()?;
    db.prepare_cached(
        "INSERT INTO observations (seq, at, agent, session, task, worktree, kind, action, exit_code, failed, error, \
         output_sha256) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?
    .execute(params![
        bound(at.seq),
        at.at,
        at.agent,
        session,
        task,
        content.worktree,
        content.kind.as_str(),
        Json(&content.action),
        content.exit_code,
        content.failed,
        content.error,
        content.output_sha256
    ])?;
    keep_bounded(db, db.last_insert_rowid(), at.at.ms(), MAX_KEPT)
}

/// Removes the oldest rows if they are too old or too many.
fn keep_bounded(db: &Connection, newest: i64, now_ms: i64, max_kept: i64) -> Result<(), StoreError> {
    let oldest: i64 = db.prepare_cached("SELECT min(n) FROM observations")?.query_row([], only)?;
    db.prepare_cached("DELETE FROM observations WHERE n >= ?1 AND n < ?2 AND (at < ?3 OR n <= ?4)")?
        .execute(params![oldest, oldest + REMOVED, now_ms - KEPT_MS, newest - max_kept])?;
    Ok(())
}

const OBSERVATION: &str = "SELECT n, seq, at, agent, session, task, worktree, kind, action, exit_code, failed, error, \
     output_sha256 FROM observations";

fn observation(row: &InOrder<'_, '_>) -> Result<Observation, StoreError> {
    let task: Option<String> = row.get("task")?;
    Ok(Observation {
        n: row.get("n")?,
        seq: row.get("seq")?,
        at: row.get("at")?,
        agent: row.get("agent")?,
        session: row.get("session")?,
        task: task.map(|id| id.parse()).transpose().map_err(super::rows::malformed)?,
        worktree: row.get("worktree")?,
        kind: ObservedKind::of(&row.get::<String>("kind")?)?,
        action: row.json("action")?,
        exit_code: row.get("exit_code")?,
        failed: row.get("failed")?,
        error: row.get("error")?,
        output_sha256: row.get("output_sha256")?,
    })
}

impl Reader {
    /// The ledger position of the last observation. 0 without any.
    pub fn last_observed(&self) -> Result<u64, StoreError> {
        let sql = "SELECT seq FROM observations ORDER BY n DESC LIMIT 1";
        Ok(self.db.prepare_cached(sql)?.query_row([], only).optional()?.unwrap_or(0))
    }

    /// Observations with higher numbers than `after`, oldest first, at most `limit`.
    pub fn observations(&self, after: u64, limit: usize) -> Result<Vec<Observation>, StoreError> {
        let mut found = self.db.prepare_cached(&format!("{OBSERVATION} WHERE n > ?1 ORDER BY n LIMIT ?2"))?;
        let columns = Columns::default();
        self.kept_of(found.query(params![bound(after), bound(limit)])?, |row| observation(&columns.of(row)))
    }

    /// The observations of a task in their order, at most `limit`.
    pub fn observations_of(&self, task: TaskId, limit: usize) -> Result<Vec<Observation>, StoreError> {
        let sql = format!("{OBSERVATION} WHERE task = ?1 ORDER BY n LIMIT ?2");
        let mut found = self.db.prepare_cached(&sql)?;
        let columns = Columns::default();
        self.kept_of(found.query(params![task, bound(limit)])?, |row| observation(&columns.of(row)))
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::{Columns, KEPT_MS, OBSERVATION, command_ran, keep_bounded, observation};
    use crate::domain::agent::AgentId;
    use crate::domain::event::{Event, Recorded};
    use crate::domain::ids::{CommandId, EventId};
    use crate::domain::time::Timestamp;
    use crate::store::fold;

    fn table() -> Connection {
        let db = Connection::open_in_memory().expect("a database");
        db.execute_batch("CREATE TABLE observations (n INTEGER PRIMARY KEY, at INTEGER NOT NULL)")
            .expect("a table");
        db
    }

    fn add(db: &Connection, at_ms: i64, max_kept: i64) {
        db.execute("INSERT INTO observations (at) VALUES (?1)", [at_ms]).expect("a row");
        keep_bounded(db, db.last_insert_rowid(), at_ms, max_kept).expect("bounded");
    }

    fn rows(db: &Connection) -> (i64, i64) {
        let sql = "SELECT count(*), min(n) FROM observations";
        db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).expect("counted")
    }

    #[test]
    fn a_command_of_several_lines_is_one_command() {
        let message = "git commit -m 'mend it\n\nrm -rf build'";
        for runs in [vec!["cargo test", message], vec![]] {
            let body = serde_json::json!({ "command": message, "runs": runs, "failed": false });
            let event = Event::decode("command.ran", &body.to_string()).expect("an event");
            let Event::CommandRan(ran) = &event else { panic!("{event:?}") };
            let at = Recorded {
                seq: 1,
                id: EventId::from_uuid(uuid::Uuid::from_u128(1)),
                agent: AgentId::recorded("devops"),
                session: None,
                causation: CommandId::from_uuid(uuid::Uuid::from_u128(1)),
                at: Timestamp::from_ms(1),
                event: Some(event.clone()),
                erased: None,
            };
            let db = fold::empty().expect("read models");
            command_ran(&db, &at, ran).expect("a row");
            let seen = db
                .query_row(OBSERVATION, [], |row| Ok(observation(&Columns::default().of(row))))
                .expect("a row");
            let expected = if runs.is_empty() { vec![message] } else { runs };
            assert_eq!(seen.expect("an observation").action, expected);
        }
    }

    #[test]
    fn the_oldest_rows_go_when_there_are_too_many_or_they_are_too_old() {
        let db = table();
        (0..25).for_each(|at| add(&db, at, 10));
        assert_eq!(rows(&db), (10, 16), "the last ten");
        let db = table();
        (0..40).for_each(|at| add(&db, at, 1_000));
        add(&db, KEPT_MS + 39, 1_000);
        assert_eq!(rows(&db), (25, 17), "sixteen at once");
        (0..3).for_each(|_| add(&db, KEPT_MS + 40, 1_000));
        assert_eq!(rows(&db).1, 41, "then the rest: row 40 is older than 30 days by then");
    }
}
