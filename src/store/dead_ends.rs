//! Dead ends: what is known of them besides their statements.

use std::collections::BTreeMap;

use rusqlite::Row;

use super::rows::{Json, json};
use super::{ClaimSummary, Reader, StoreError};
use crate::domain::claim::Trigger;
use crate::domain::ids::ClaimId;
use crate::domain::text::Worktree;

/// The facts about a dead end besides its statement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeadEndDetail {
    /// The actions that it warns about.
    pub trigger: Option<Trigger>,
    /// The reason of the failure: the last comment on its supporting evidence, or else the last reason of a supporter.
    pub because: Option<String>,
    /// The task or the claim that says that it is mended. Looked for in a first context only.
    pub mended: Option<String>,
}

impl Reader {
    /// What is doubted about a dead end, edits in a work tree included.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn doubt_of_dead_end(
        &self,
        id: ClaimId,
        worktree: Option<&Worktree>,
    ) -> Result<Option<String>, StoreError> {
        let mut claim = self.claim_summary(id)?;
        self.mark_edited(claim.iter_mut(), worktree)?;
        Ok(claim.and_then(|claim| claim.doubt_of_dead_end()))
    }

    /// The facts about dead ends besides their statements, by their ids.
    pub fn dead_end_details<'c>(
        &self,
        claims: impl IntoIterator<Item = &'c ClaimSummary>,
    ) -> Result<BTreeMap<ClaimId, DeadEndDetail>, StoreError> {
        let ids: Vec<ClaimId> = claims.into_iter().map(|claim| claim.id).collect();
        let sql = "SELECT c.id, c.trigger_when, coalesce( \
                     (SELECT note FROM claim_evidence WHERE claim_id = c.id AND relation = 'supports' \
                      AND note IS NOT NULL ORDER BY seq DESC LIMIT 1), \
                     (SELECT reason FROM consensus WHERE claim_id = c.id AND position = 'support' \
                      AND reason IS NOT NULL ORDER BY seq DESC LIMIT 1)) AS because \
                   FROM json_each(?1) CROSS JOIN claims c ON c.id = json_each.value";
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement.query([Json(ids)])?;
        Ok(self.kept_of(rows, dead_end_detail)?.into_iter().collect())
    }
}

fn dead_end_detail(row: &Row<'_>) -> rusqlite::Result<(ClaimId, DeadEndDetail)> {
    let (trigger, because) = (json(row, "trigger_when")?, row.get("because")?);
    Ok((row.get("id")?, DeadEndDetail { trigger, because, mended: None }))
}
