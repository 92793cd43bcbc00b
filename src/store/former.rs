//! Former positions of a pane that it replaced. Their reasons stay in the history.

use rusqlite::{Connection, params};

use super::claim::position;
use super::rows::only;
use super::{PositionHeld, Reader, StoreError};
use crate::domain::event::{PositionTaken, Recorded};
use crate::domain::ids::ClaimId;

/// The most former positions of a claim that are shown. The last ones are chosen.
const SHOWN: usize = 8;

/// The columns of a [`PositionHeld`].
pub(super) const FORMER: &str = "SELECT agent, position, reason, evidence_ref, created_at, claim_id, seq, 0 AS before_change FROM former_positions";

/// Stores the positions that a new one replaces. Mostly there is none, and an `INSERT … SELECT` of nothing costs as much as
/// in [`super::names::count`].
pub(super) fn replaced(db: &Connection, at: &Recorded, body: &PositionTaken) -> Result<(), StoreError> {
    let mut held = db.prepare_cached("SELECT 1 FROM consensus WHERE claim_id = ?1 AND agent = ?2")?;
    let mut keep = db.prepare_cached(
        "INSERT INTO former_positions (claim_id, agent, position, reason, evidence_ref, created_at, seq, ended_seq) \
         SELECT claim_id, agent, position, reason, evidence_ref, created_at, seq, ?3 FROM consensus \
         WHERE claim_id = ?1 AND agent = ?2",
    )?;
    for name in body.instead_of.iter().chain([&at.agent]) {
        if held.exists(params![body.claim_id, name])? {
            keep.execute(params![body.claim_id, name, at.seq])?;
        }
    }
    Ok(())
}

impl Reader {
    /// The last former positions on a claim, in ledger order, and the number of earlier ones.
    pub(super) fn former(&self, claim: ClaimId) -> Result<(Vec<PositionHeld>, u64), StoreError> {
        let mut statement =
            self.db.prepare_cached(&format!("{FORMER} WHERE claim_id = ?1 ORDER BY seq DESC LIMIT ?2"))?;
        let mut last = self.kept_of(statement.query(params![claim, SHOWN])?, position)?;
        last.reverse();
        let all: u64 = self
            .db
            .prepare_cached("SELECT count(*) FROM former_positions WHERE claim_id = ?1")?
            .query_row([claim], only)?;
        Ok((last, all.saturating_sub(SHOWN as u64)))
    }
}
