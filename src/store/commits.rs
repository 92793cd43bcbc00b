//! Commits of the repository: what a fold writes of them, and the questions asked of them.

use rusqlite::{Connection, Row, params};

use super::files;
use super::{Reader, StoreError};
use crate::domain::commit::CommitName;
use crate::domain::event::{CommitSeen, Recorded};

/// A commit, and the files that it changed.
pub(super) fn seen(db: &Connection, at: &Recorded, body: &CommitSeen) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT OR IGNORE INTO commits (seq, sha, author, subject, target, committed_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![at.seq, body.sha, body.author, body.subject, body.target, body.at])?;
    files::committed(db, at, body)
}

/// The commit of a row with its columns; none where the edit was no commit.
pub(super) fn named(row: &Row<'_>) -> Result<Option<CommitName>, rusqlite::Error> {
    let Some(sha) = row.get("sha")? else { return Ok(None) };
    Ok(Some(CommitName { sha, author: row.get("author")?, subject: row.get("subject")? }))
}

impl Reader {
    /// The hashes of the commits that were seen last, the last one first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn last_commits(&self, limit: u32) -> Result<Vec<String>, StoreError> {
        let mut statement = self.db.prepare_cached("SELECT sha FROM commits ORDER BY seq DESC LIMIT ?1")?;
        self.kept_of(statement.query([limit])?, |row| Ok::<_, StoreError>(row.get("sha")?))
    }
}
