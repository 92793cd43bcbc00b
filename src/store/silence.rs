//! Until when silence may still confirm a claim, by the rules of the state (`domain/state/silence.rs`).

use rusqlite::{Connection, params};

use super::StoreError;
use crate::domain::agent::AgentId;
use crate::domain::claim::{Override, Position, Status};
use crate::domain::event::{OverrideProposed, PositionTaken, Recorded, StatusChanged};
use crate::domain::ids::ClaimId;

/// An objection ends the silence, withdrawn or not.
pub(super) fn heard(db: &Connection, at: &Recorded, body: &PositionTaken) -> Result<(), StoreError> {
    if body.position != Position::Challenge {
        return Ok(());
    }
    body.speaks_for(&at.agent).try_for_each(|agent| object(db, body.claim_id, agent))
}

/// Where the operator stands by a claim, an objection is a proposal.
pub(super) fn proposed(db: &Connection, at: &Recorded, body: &OverrideProposed) -> Result<(), StoreError> {
    if body.asks != Override::Challenge {
        return Ok(());
    }
    body.formerly.iter().chain([&at.agent]).try_for_each(|agent| object(db, body.claim_id, agent))
}

/// A run or a deprecation decides in the place of silence. So does every move after the time for objections.
pub(super) fn moved(db: &Connection, at: &Recorded, body: &StatusChanged) -> Result<(), StoreError> {
    let decides = body.to == Status::Deprecated || body.from == Status::PendingProof;
    db.prepare_cached(
        "UPDATE claims SET objection_until = NULL WHERE id = ?1 AND (?2 OR objection_until <= ?3)",
    )?
    .execute(params![body.claim_id.to_string(), decides, at.at.ms()])?;
    Ok(())
}

/// An objection counts of an agent that was asked, or of any agent where none was named.
fn object(db: &Connection, claim: ClaimId, agent: &AgentId) -> Result<(), StoreError> {
    db.prepare_cached(
        "UPDATE claims SET objection_until = NULL WHERE id = ?1 \
         AND (asks IS NULL OR ?2 IN (SELECT value FROM json_each(asks)))",
    )?
    .execute(params![claim.to_string(), agent.as_str()])?;
    Ok(())
}
