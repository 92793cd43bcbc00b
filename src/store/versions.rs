//! The versions that claims are about: what a fold writes of them, and the questions asked of it.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};

use super::commits;
use super::files::MAIN;
use super::index::Limit;
use super::rows::{Json, bound, json, only};
use super::{Changed, ClaimSummary, Reader, StoreError};
use crate::domain::event::{PositionTaken, Recorded};
use crate::domain::ids::ClaimId;
use crate::domain::scope::Scope;
use crate::domain::text::Worktree;
use crate::domain::versions::{Versions, differ};

/// The last edits of claims' files by other sessions, after the claim was made, last supported or last said to be still
/// meant. Pairs of a claim and a scope are asked for.
const EDITED: &str = "SELECT c.id, e.path, e.agent, m.sha, m.author, m.subject FROM json_each(?1) \
     CROSS JOIN file_edits e ON e.worktree = ?2 AND e.path = json_extract(json_each.value, '$[1]') \
     CROSS JOIN claims c ON c.id = json_extract(json_each.value, '$[0]') \
     LEFT JOIN commits m ON m.seq = e.commit_seq \
     WHERE e.seq > coalesce(c.affirmed_seq, c.created_seq) \
     AND e.seq > coalesce((SELECT max(p.seq) FROM consensus p WHERE p.claim_id = c.id \
     AND p.position = 'support'), 0) \
     AND (e.session IS NOT c.session OR e.commit_seq IS NOT NULL)";

/// The versions of claims that have any.
const VERSIONS: &str = "SELECT c.id, c.versions, coalesce(c.affirmed_seq, c.created_seq) AS meant_seq \
     FROM json_each(?1) CROSS JOIN claims c ON c.id = json_each.value WHERE c.versions IS NOT NULL";

/// Claims at exactly a file, by their owner or their session, that were last meant before a ledger position.
const BEFORE_EDIT: &str = "SELECT c.id, c.statement \
     FROM claim_index CROSS JOIN claims c ON c.created_seq = claim_index.rowid \
     WHERE claim_index MATCH ?1 AND c.status <> 'deprecated' AND coalesce(c.affirmed_seq, c.created_seq) < ?2 \
     ORDER BY claim_index.rowid DESC LIMIT ?3";
/// The most claims of one reader about one file that are looked at.
const MAX_BEFORE_EDIT: i64 = 16;

/// Who reads: claims made under a pinned name, or in the one session of a pane that took a seat, are the reader's own.
#[derive(Debug, Clone, Copy)]
pub struct Myself<'a> {
    /// The agent.
    pub agent: &'a str,
    /// The session.
    pub session: &'a str,
    /// Whether the agent is a seat, which another pane may have had before.
    pub is_seated: bool,
}

impl Myself<'_> {
    /// Whether a claim is the reader's own.
    pub fn said(&self, owner: &str, session: Option<&str>) -> bool {
        if self.is_seated { session == Some(self.session) } else { owner == self.agent }
    }
}

/// An edit by another agent of a file that a claim of the reader is about, after the claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditBehind {
    /// The file.
    pub path: String,
    /// The agent that edited it.
    pub by: String,
    /// Ledger position of the edit.
    pub seq: u64,
    /// The claim.
    pub claim_id: ClaimId,
    /// What it says.
    pub statement: String,
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
        let pairs = claims.iter().flat_map(|claim| claim.scopes.iter().map(|scope| (claim.id, scope)));
        let pairs: Vec<_> = pairs.collect();
        if pairs.is_empty() {
            return Ok(());
        }
        let pairs = Json(pairs);
        let worktree = worktree.map_or(MAIN, Worktree::as_str);
        let mut statement = self.db.prepare_cached(EDITED)?;
        let rows = statement.query(params![pairs, worktree])?;
        let edited = self.kept_of(rows, |row| {
            let commit = commits::named(row)?;
            let by = if commit.is_none() { Some(row.get("agent")?) } else { None };
            let changed = Changed { path: row.get("path")?, by, commit, cited: None };
            Ok::<_, StoreError>((row.get("id")?, changed))
        })?;
        for (id, changed) in edited {
            if let Some(claim) = claims.iter_mut().find(|claim| claim.id == id) {
                claim.changed_since.push(changed);
            }
        }
        Ok(())
    }

    /// The last edit of a file by another agent, once for each claim of the reader about that file that it came after;
    /// the newest claim first. Nothing where the reader edited the file since.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn edits_behind(
        &self,
        me: Myself<'_>,
        worktree: Option<&Worktree>,
        path: &Scope,
    ) -> Result<Vec<EditBehind>, StoreError> {
        let sql = "SELECT e.agent, e.seq, m.sha, m.author, m.subject FROM file_edits e \
                   LEFT JOIN commits m ON m.seq = e.commit_seq \
                   WHERE e.worktree = ?1 AND e.path = ?2 AND e.agent <> ?3 AND e.session IS NOT ?4";
        let last = params![worktree.map_or(MAIN, Worktree::as_str), path, me.agent, me.session];
        let last = self.db.prepare_cached(sql)?.query_row(last, |row| {
            let commit = commits::named(row)?;
            let by = commit.map_or_else(|| row.get("agent"), |commit| Ok(commit.to_string()))?;
            Ok((by, row.get("seq")?))
        });
        let Some((by, seq)): Option<(String, u64)> = last.optional()? else { return Ok(Vec::new()) };
        let own = if me.is_seated { Limit::Session(me.session) } else { Limit::Owner(me.agent) };
        let wanted = format!("s : ({} AND {})", Limit::At(path.as_str()).token(), own.token());
        let mut statement = self.db.prepare_cached(BEFORE_EDIT)?;
        let mut found = self.kept_of(statement.query(params![wanted, seq, MAX_BEFORE_EDIT])?, |row| {
            Ok::<_, StoreError>(EditBehind {
                path: path.to_string(),
                by: by.clone(),
                seq,
                claim_id: row.get("id")?,
                statement: row.get("statement")?,
            })
        })?;
        found.retain(|edit| !self.is_expired(edit.claim_id));
        Ok(found)
    }

    /// Whether the reader was told of it, by a receipt or by a hook. `matched` is its path as it was recorded.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn was_told_of_edit(
        &self,
        me: Myself<'_>,
        edit: &EditBehind,
        matched: &str,
    ) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM firings \
                   WHERE session = ?1 AND guard = ?2 AND seq > ?3 AND agent = ?4 AND matched = ?5)";
        let told = params![me.session, edit.claim_id, bound(edit.seq), me.agent, matched];
        Ok(self.db.prepare_cached(sql)?.query_row(told, only)?)
    }

    /// What the files of claims held when each was made or last said to be still meant, by the id of the claim, with the
    /// ledger position of that.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn versions_of(
        &self,
        claims: impl Iterator<Item = ClaimId>,
    ) -> Result<BTreeMap<ClaimId, (Versions, u64)>, StoreError> {
        let ids = Json(claims.collect::<Vec<_>>());
        let mut statement = self.db.prepare_cached(VERSIONS)?;
        let found = self.kept_of(statement.query([ids])?, |row| {
            let versions: Versions = json(row, "versions")?;
            Ok::<_, StoreError>((row.get("id")?, (versions, row.get("meant_seq")?)))
        })?;
        Ok(found.into_iter().collect())
    }

    /// The ledger position of the last support that a claim has now.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn supported_seq(&self, id: ClaimId) -> Result<Option<u64>, StoreError> {
        let sql = "SELECT max(seq) FROM consensus WHERE claim_id = ?1 AND position = 'support'";
        Ok(self.db.prepare_cached(sql)?.query_row([id], |row| row.get(0))?)
    }

    /// The change of a file of a work tree after a position of the ledger, with the agent or the commit that last edited
    /// the file, where that is known.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn change(&self, worktree: Option<&Worktree>, path: &str, after: u64) -> Result<Changed, StoreError> {
        let sql = "SELECT e.agent, m.sha, m.author, m.subject FROM file_edits e \
                   LEFT JOIN commits m ON m.seq = e.commit_seq \
                   WHERE e.worktree = ?1 AND e.path = ?2 AND e.seq > ?3";
        let last = params![worktree.map_or(MAIN, Worktree::as_str), path, bound(after)];
        let edit =
            self.db.prepare_cached(sql)?.query_row(last, |row| Ok((row.get("agent")?, commits::named(row)?)));
        let (agent, commit): (Option<String>, _) = edit.optional()?.unwrap_or_default();
        let by = agent.filter(|_| commit.is_none());
        Ok(Changed { path: path.to_owned(), by, commit, cited: None })
    }
}

/// Versions as a row holds them; none where nothing has one.
pub(super) fn stored(versions: &Versions) -> Option<Json<&Versions>> {
    (!versions.is_empty()).then_some(Json(versions))
}

/// A claim is still meant: about what its files hold then.
pub(super) fn affirmed(db: &Connection, at: &Recorded, body: &PositionTaken) -> Result<(), StoreError> {
    if body.aside {
        return Ok(());
    }
    let now = &body.versions;
    let before: Option<Option<Json<Versions>>> = db
        .prepare_cached("SELECT versions FROM claims WHERE id = ?1")?
        .query_row([body.claim_id], only)
        .optional()?;
    let is_other = before.flatten().is_some_and(|Json(before)| differ(&before, now));
    let supports = "SELECT agent, saw FROM consensus WHERE claim_id = ?1 AND position = 'support'";
    let mut supports = db.prepare_cached(supports)?;
    let supports = supports.query_map([body.claim_id], |row| Ok((row.get("agent")?, row.get("saw")?)))?;
    let supports: Vec<(String, Option<Json<Versions>>)> = supports.collect::<Result<_, _>>()?;
    for (agent, saw) in supports {
        let saw_other = saw.is_some_and(|Json(saw)| differ(&saw, now));
        db.prepare_cached("UPDATE consensus SET before_change = ?3 WHERE claim_id = ?1 AND agent = ?2")?
            .execute(params![body.claim_id, agent, saw_other])?;
    }
    db.prepare_cached(
        "UPDATE claims SET versions = ?2, affirmed_seq = ?3, content_seq = CASE WHEN ?4 THEN ?3 ELSE content_seq END \
         WHERE id = ?1",
    )?
    .execute(params![body.claim_id, stored(&body.versions), at.seq, is_other])?;
    weigh_agreement(db, body.claim_id, is_other)
}

/// Whether the agreement to a claim is of older content alone: that of each supporter, or else the silence.
pub(super) fn weigh_agreement(db: &Connection, claim: ClaimId, is_other: bool) -> Result<(), StoreError> {
    db.prepare_cached(
        "UPDATE claims SET agreed_before = CASE WHEN EXISTS (SELECT 1 FROM consensus p WHERE p.claim_id = ?1 \
         AND p.position = 'support' AND p.agent <> claims.owner) THEN NOT EXISTS (SELECT 1 FROM consensus p \
         WHERE p.claim_id = ?1 AND p.position = 'support' AND p.agent <> claims.owner AND p.before_change = 0) \
         ELSE by_silence AND (agreed_before OR ?2) END WHERE id = ?1",
    )?
    .execute(params![claim, is_other])?;
    Ok(())
}
