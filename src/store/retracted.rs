//! Retracted evidence: its projection and its query.

use rusqlite::{Connection, Row, params};
use serde::Serialize;

use super::{Reader, StoreError};
use crate::domain::claim::Grade;
use crate::domain::event::{EvidenceRetracted, Recorded};
use crate::domain::ids::ClaimId;

/// A retracted link of an event to a claim.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RetractedEvidence {
    /// The event.
    pub evidence_ref: String,
    /// The relation of the link.
    pub relation: String,
    /// The agent that had linked it.
    pub added_by: String,
    /// The grade.
    pub grade: Grade,
    /// The agent that retracted it.
    pub retracted_by: String,
    /// The reason.
    pub reason: String,
    /// When it was retracted, epoch ms.
    pub at: i64,
}

/// The columns of a [`RetractedEvidence`].
pub(super) const RETRACTED: &str = "SELECT evidence_ref, relation, added_by, grade, retracted_by, reason, \
     retracted_at, claim_id FROM retracted_evidence";

/// Moves a link out of the evidence in force. An erased link leaves no row.
pub(super) fn retracted(db: &Connection, at: &Recorded, body: &EvidenceRetracted) -> Result<(), StoreError> {
    let link = params![body.claim_id, body.evidence_ref, body.relation];
    db.prepare_cached(
        "INSERT INTO retracted_evidence (claim_id, evidence_ref, relation, added_by, weight, note, grade, added_at, \
         retracted_by, reason, retracted_at, seq) \
         SELECT claim_id, evidence_ref, relation, added_by, weight, note, grade, created_at, ?4, ?5, ?6, ?7 \
         FROM claim_evidence WHERE claim_id = ?1 AND evidence_ref = ?2 AND relation = ?3",
    )?
    .execute(params![
        body.claim_id,
        body.evidence_ref,
        body.relation,
        at.agent,
        body.reason,
        at.at,
        at.seq
    ])?;
    db.prepare_cached(
        "DELETE FROM claim_evidence WHERE claim_id = ?1 AND evidence_ref = ?2 AND relation = ?3",
    )?
    .execute(link)?;
    Ok(())
}

pub(super) fn view(row: &Row<'_>) -> Result<RetractedEvidence, StoreError> {
    Ok(RetractedEvidence {
        evidence_ref: row.get("evidence_ref")?,
        relation: row.get("relation")?,
        added_by: row.get("added_by")?,
        grade: row.get("grade")?,
        retracted_by: row.get("retracted_by")?,
        reason: row.get("reason")?,
        at: row.get("retracted_at")?,
    })
}

impl Reader {
    /// The retracted evidence of a claim, in ledger order.
    pub(super) fn retracted(&self, claim: ClaimId) -> Result<Vec<RetractedEvidence>, StoreError> {
        let mut statement =
            self.db.prepare_cached(&format!("{RETRACTED} WHERE claim_id = ?1 ORDER BY seq"))?;
        self.kept_of(statement.query([claim])?, view)
    }
}
