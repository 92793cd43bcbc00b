//! Proposals to merge two claims.

use rusqlite::{Connection, params};

use super::rows::{bound, json, only};
use super::{ClaimSummary, Reader, StoreError};
use crate::domain::claim::Status;
use crate::domain::event::{MergeAccepted, MergeDeclined, MergeProposed, Recorded};
use crate::domain::ids::ClaimId;
use crate::domain::merge::Stated;

pub(super) fn proposed(db: &Connection, at: &Recorded, body: &MergeProposed) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT OR REPLACE INTO merges (left_claim, right_claim, status, proposed_at, seq) \
         VALUES (?1, ?2, 'proposed', ?3, ?4)",
    )?
    .execute(params![body.left, body.right, at.at, bound(at.seq)])?;
    Ok(())
}

pub(super) fn accepted(db: &Connection, body: &MergeAccepted) -> Result<(), StoreError> {
    settle(db, (body.kept.min(body.merged), body.kept.max(body.merged)), "accepted")
}

pub(super) fn declined(db: &Connection, body: &MergeDeclined) -> Result<(), StoreError> {
    settle(db, (body.left, body.right), "declined")
}

fn settle(db: &Connection, (left, right): (ClaimId, ClaimId), status: &str) -> Result<(), StoreError> {
    db.prepare_cached("UPDATE merges SET status = ?3 WHERE left_claim = ?1 AND right_claim = ?2")?
        .execute(params![left, right, status])?;
    Ok(())
}

/// The open proposals whose claims are both in force.
const OPEN: &str = "FROM merges m CROSS JOIN claims l ON l.id = m.left_claim CROSS JOIN claims r ON r.id = m.right_claim \
     WHERE m.status = 'proposed' AND l.status IN ('proposed', 'confirmed') AND r.status IN ('proposed', 'confirmed')";

/// A proposal to merge two claims.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeView {
    /// The older claim.
    pub left: ClaimSummary,
    /// The newer claim.
    pub right: ClaimSummary,
    /// When it was proposed, epoch ms.
    pub proposed_at: i64,
}

/// A page of [`Reader::stated`].
#[derive(Debug)]
pub struct StatedPage {
    /// The claims, newest first.
    pub claims: Vec<Stated>,
    /// Where the next page begins. None at the end.
    pub next: Option<u64>,
}

impl Reader {
    /// A page of the claims in force, with nothing but what a comparison needs. `cursor` is the ledger position up to
    /// which an earlier search compared all of them.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn stated(&self, before: Option<u64>, limit: usize, cursor: u64) -> Result<StatedPage, StoreError> {
        let mut found = self.db.prepare_cached(
            "SELECT id, claim_type, statement, scopes, status, created_seq, seq FROM claims WHERE created_seq < ?1 \
             ORDER BY created_seq DESC LIMIT ?2",
        )?;
        let before = before.map_or(i64::MAX, bound);
        let rows = self.kept_of(found.query(params![before, bound(limit as u64)])?, |row| {
            let id: ClaimId = row.get("id")?;
            let claim = Stated {
                id,
                claim_type: row.get("claim_type")?,
                statement: row.get("statement")?,
                scopes: json(row, "scopes")?,
                is_known: row.get::<_, u64>("seq")? <= cursor,
            };
            let is_over = self.status_of(id, row.get("status")?) == Status::Deprecated;
            Ok::<_, rusqlite::Error>((row.get("created_seq")?, (!is_over).then_some(claim)))
        })?;
        let next = rows.last().map(|(created_seq, _)| *created_seq);
        Ok(StatedPage { claims: rows.into_iter().filter_map(|(_, claim)| claim).collect(), next })
    }

    /// The open proposals whose claims are both in force, oldest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn merges(&self, limit: usize) -> Result<Vec<MergeView>, StoreError> {
        let sql = format!("SELECT m.left_claim, m.right_claim, m.proposed_at {OPEN} ORDER BY m.seq LIMIT ?1");
        let mut found = self.db.prepare_cached(&sql)?;
        let pairs = self.kept_of(found.query([bound(limit as u64)])?, |row| {
            let ids: [ClaimId; 2] = [row.get("left_claim")?, row.get("right_claim")?];
            Ok::<_, rusqlite::Error>((ids, row.get("proposed_at")?))
        })?;
        let mut open = Vec::new();
        for ([left, right], proposed_at) in pairs {
            if let (Some(left), Some(right)) = (self.claim_summary(left)?, self.claim_summary(right)?) {
                open.push(MergeView { left, right, proposed_at });
            }
        }
        Ok(open)
    }

    /// Whether an open proposal is newer than a ledger position.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn has_merge_since(&self, seq: u64) -> Result<bool, StoreError> {
        let sql = format!("SELECT EXISTS (SELECT 1 {OPEN} AND m.seq > ?1)");
        Ok(self.db.prepare_cached(&sql)?.query_row([bound(seq)], only)?)
    }
}
