//! The time until which silence may still confirm a claim, by the rules in `domain/state/silence.rs`.

use rusqlite::{Connection, params};
use serde::Serialize;

use super::rows::bound;
use super::{ClaimSummary, Reader, StoreError};
use crate::domain::agent::AgentId;
use crate::domain::claim::{Override, Position, Status};
use crate::domain::event::{OverrideProposed, PositionTaken, Recorded, StatusChanged};
use crate::domain::ids::ClaimId;

/// Whether silence alone agreed to the claim of this alias: fewer agents support it than the recorded rules need. They say
/// whether its owner counts.
macro_rules! agreed_by_silence {
    ($claim:literal) => {
        concat!(
            "CASE WHEN ",
            $claim,
            ".by_silence THEN (SELECT count(*) FROM consensus p WHERE p.claim_id = ",
            $claim,
            ".id AND p.position = 'support' AND (p.agent <> ",
            $claim,
            ".owner OR (SELECT instr(q.policy, 'owner_counts = true') FROM loosened_policies q \
             WHERE q.seq = (SELECT max(seq) FROM loosened_policies)))) < coalesce((SELECT max(1, CAST(substr(q.policy, length('supports = ') + 1) AS INTEGER)) \
             FROM loosened_policies q WHERE q.seq = (SELECT max(seq) FROM loosened_policies)), 1) ELSE 0 END"
        )
    };
}
pub(super) use agreed_by_silence;

/// A claim that names no agent to ask, and that silence will confirm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Silence {
    /// The claim.
    pub claim: ClaimSummary,
    /// When silence confirms it, epoch ms.
    pub until: i64,
    /// The agents with a position on it.
    pub heard: Vec<String>,
}

impl Silence {
    /// Whether the agent may still take a position on the claim.
    pub fn concerns(&self, agent: &AgentId) -> bool {
        self.claim.owner != agent.as_str() && !self.heard.iter().any(|heard| heard == agent.as_str())
    }
}

impl Reader {
    /// Proposed claims that wait for objections and ask no agent by name. The earliest deadline comes first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn silences(&self, limit: usize) -> Result<Vec<Silence>, StoreError> {
        let sql = "SELECT id, objection_until, \
                   (SELECT json_group_array(agent) FROM consensus WHERE claim_id = c.id) AS heard FROM claims c \
                   WHERE objection_until IS NOT NULL AND asks IS NULL AND status = ?1 \
                   ORDER BY objection_until, id LIMIT ?2";
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement.query(params![Status::Proposed, bound(limit)])?;
        let waiting = self.kept_of(rows, |row| -> rusqlite::Result<(ClaimId, i64, String)> {
            Ok((row.get("id")?, row.get("objection_until")?, row.get("heard")?))
        })?;
        let mut silences = Vec::new();
        for (id, until, heard) in waiting {
            let heard = serde_json::from_str(&heard).unwrap_or_default();
            // The claim may have expired.
            let claim = self.claim_summary(id)?.filter(|claim| claim.status == Status::Proposed);
            silences.extend(claim.map(|claim| Silence { claim, until, heard }));
        }
        Ok(silences)
    }
}

/// An objection ends the silence, even if it is withdrawn.
pub(super) fn heard(db: &Connection, at: &Recorded, body: &PositionTaken) -> Result<(), StoreError> {
    if body.position != Position::Challenge {
        return Ok(());
    }
    body.speaks_for(&at.agent).try_for_each(|agent| object(db, body.claim_id, agent))
}

/// An objection to a claim of the operator is a proposal.
pub(super) fn proposed(db: &Connection, at: &Recorded, body: &OverrideProposed) -> Result<(), StoreError> {
    if body.asks != Override::Challenge {
        return Ok(());
    }
    body.formerly.iter().chain([&at.agent]).try_for_each(|agent| object(db, body.claim_id, agent))
}

/// A run or a deprecation decides instead of silence. So does every change of status after the time for objections.
pub(super) fn moved(db: &Connection, at: &Recorded, body: &StatusChanged) -> Result<(), StoreError> {
    let decides = body.to == Status::Deprecated || body.from == Status::PendingProof;
    db.prepare_cached(
        "UPDATE claims SET objection_until = NULL WHERE id = ?1 AND (?2 OR objection_until <= ?3)",
    )?
    .execute(params![body.claim_id, decides, at.at])?;
    Ok(())
}

/// Ends the silence. If the claim asked named agents, only their objections count.
fn object(db: &Connection, claim: ClaimId, agent: &AgentId) -> Result<(), StoreError> {
    db.prepare_cached(
        "UPDATE claims SET objection_until = NULL WHERE id = ?1 \
         AND (asks IS NULL OR ?2 IN (SELECT value FROM json_each(asks)))",
    )?
    .execute(params![claim, agent])?;
    Ok(())
}
