//! The versions that claims are about: what a fold writes of them, and the questions asked of it.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;

use super::claims::malformed;
use super::files::MAIN;
use super::{ClaimSummary, Reader, StoreError, json};
use crate::domain::event::{PositionTaken, Recorded};
use crate::domain::text::Worktree;
use crate::domain::versions::Versions;

/// The last edits of claims' files by other sessions, after the claim was made or last said to be still meant. Pairs of
/// a claim and a scope are asked for.
const EDITED: &str = "SELECT c.id, e.path, e.agent FROM json_each(?1) \
     CROSS JOIN file_edits e ON e.worktree = ?2 AND e.path = json_extract(json_each.value, '$[1]') \
     CROSS JOIN claims c ON c.id = json_extract(json_each.value, '$[0]') \
     WHERE e.seq > coalesce(c.affirmed_seq, c.created_seq) AND e.session IS NOT c.session";

/// The versions of claims that have any.
const VERSIONS: &str = "SELECT c.id, c.versions, coalesce(c.affirmed_seq, c.created_seq), c.id AS claim_id \
     FROM json_each(?1) CROSS JOIN claims c ON c.id = json_each.value WHERE c.versions IS NOT NULL";

/// A file of a claim that does not hold what the claim is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// The file.
    pub path: String,
    /// The agent that last edited it, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl Reader {
    /// Marks the claims whose files another session edited since, in one work tree.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn mark_edited<'c>(
        &self,
        claims: impl Iterator<Item = &'c mut ClaimSummary>,
        worktree: Option<&Worktree>,
    ) -> Result<(), StoreError> {
        let mut claims: Vec<&mut ClaimSummary> = claims.collect();
        let pairs = claims.iter().flat_map(|claim| claim.scopes.iter().map(|scope| [&claim.id, scope]));
        let pairs: Vec<[&String; 2]> = pairs.collect();
        if pairs.is_empty() {
            return Ok(());
        }
        let pairs = serde_json::to_string(&pairs).map_err(malformed)?;
        let worktree = worktree.map_or(MAIN, Worktree::as_str);
        let mut statement = self.db.prepare_cached(EDITED)?;
        let rows = statement.query(params![pairs, worktree])?;
        let edited = self.kept_of(rows, |row| {
            let changed = Changed { path: row.get(1)?, by: Some(row.get(2)?) };
            Ok::<_, StoreError>((row.get::<_, String>(0)?, changed))
        })?;
        for (id, changed) in edited {
            if let Some(claim) = claims.iter_mut().find(|claim| claim.id == id) {
                claim.changed_since.push(changed);
            }
        }
        Ok(())
    }

    /// What the files of claims held when each was made or last said to be still meant, by the id of the claim, with the
    /// ledger position of that.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn versions_of<'c>(
        &self,
        claims: impl Iterator<Item = &'c str>,
    ) -> Result<BTreeMap<String, (Versions, u64)>, StoreError> {
        let ids = json(&claims.collect::<Vec<_>>())?;
        let mut statement = self.db.prepare_cached(VERSIONS)?;
        let found = self.kept_of(statement.query([ids])?, |row| {
            let versions: String = row.get(1)?;
            let versions: Versions = serde_json::from_str(&versions).map_err(malformed)?;
            Ok::<_, StoreError>((row.get(0)?, (versions, row.get::<_, i64>(2)? as u64)))
        })?;
        Ok(found.into_iter().collect())
    }

    /// The agent that last edited a file of a work tree after a position of the ledger.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn editor(
        &self,
        worktree: Option<&Worktree>,
        path: &str,
        after: u64,
    ) -> Result<Option<String>, StoreError> {
        let sql = "SELECT agent FROM file_edits WHERE worktree = ?1 AND path = ?2 AND seq > ?3";
        let worktree = worktree.map_or(MAIN, Worktree::as_str);
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let agent = self.db.prepare_cached(sql)?.query_row(params![worktree, path, after], |row| row.get(0));
        Ok(agent.optional()?)
    }
}

/// Versions as a row holds them; none where nothing has one.
pub(super) fn stored(versions: &Versions) -> Result<Option<String>, StoreError> {
    if versions.is_empty() { Ok(None) } else { json(versions).map(Some) }
}

/// A claim is still meant: about what its files hold then.
pub(super) fn affirmed(db: &Connection, at: &Recorded, body: &PositionTaken) -> Result<(), StoreError> {
    db.prepare_cached("UPDATE claims SET versions = ?2, affirmed_seq = ?3 WHERE id = ?1")?
        .execute(params![body.claim_id.to_string(), stored(&body.versions)?, at.seq as i64])?;
    Ok(())
}
