//! Proposals of agents against claims of the operator: their projection and their query.

use rusqlite::{Connection, Row, params};
use serde::Serialize;

use super::rows::{bound, json};
use super::{Reader, StoreError};
use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, Override};
use crate::domain::event::{OverrideProposed, Recorded};
use crate::domain::ids::{ClaimId, EventId};

pub(super) const PROPOSAL: &str = "SELECT p.event_id, p.claim_id, c.statement AS claim, c.claim_type, c.owner, c.scopes, p.asks, \
     p.proposed_by, p.reason, p.successor, p.statement, p.target, p.proposed_at \
     FROM override_proposals p JOIN claims c ON c.id = p.claim_id";

pub(super) fn proposed(db: &Connection, at: &Recorded, body: &OverrideProposed) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO override_proposals (seq, event_id, claim_id, asks, proposed_by, reason, successor, statement, \
         target, proposed_at) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 \
         WHERE EXISTS (SELECT 1 FROM claims WHERE id = ?3)",
    )?
    .execute(params![
        at.seq,
        at.id,
        body.claim_id,
        body.asks,
        at.agent,
        body.reason,
        body.successor,
        body.statement,
        body.target,
        at.at
    ])?;
    Ok(())
}

/// Removes the proposals against a claim after the operator settled them.
pub(super) fn settled(db: &Connection, claim: ClaimId) -> Result<(), StoreError> {
    db.prepare_cached("DELETE FROM override_proposals WHERE claim_id = ?1")?.execute([claim])?;
    Ok(())
}

/// Removes the proposals to decide a claim after it was decided.
pub(super) fn decided(db: &Connection, claim: ClaimId) -> Result<(), StoreError> {
    db.prepare_cached("DELETE FROM override_proposals WHERE claim_id = ?1 AND asks = ?2")?
        .execute(params![claim, Override::Decide])?;
    Ok(())
}

/// Like [`settled`], if the position is the operator's.
pub(super) fn spoken(db: &Connection, at: &Recorded, claim: ClaimId) -> Result<(), StoreError> {
    if at.agent == AgentId::operator() { settled(db, claim) } else { Ok(()) }
}

/// A change that an agent requested and that only the operator may make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProposalView {
    /// Id of the event.
    pub event_id: EventId,
    /// The claim of the operator.
    pub claim_id: ClaimId,
    /// The statement of that claim.
    pub claim: String,
    /// The type of that claim.
    #[serde(skip)]
    pub claim_type: ClaimType,
    /// The owner of that claim.
    pub owner: String,
    /// The scopes of that claim.
    #[serde(skip)]
    pub scopes: Vec<String>,
    /// The decisions in force on the target of that claim or of the proposal.
    #[serde(skip)]
    pub in_force: Vec<ClaimId>,
    /// The requested change.
    pub asks: Override,
    /// The agent that requested it.
    pub proposed_by: String,
    /// The reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The proposed successor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub successor: Option<ClaimId>,
    /// The statement of the proposed decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statement: Option<String>,
    /// The target of the proposed decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// When it was proposed, epoch ms.
    pub proposed_at: i64,
}

impl Reader {
    /// Open proposals against claims of the operator, oldest first.
    pub fn proposals(&self, limit: usize) -> Result<Vec<ProposalView>, StoreError> {
        let mut found = self.db.prepare_cached(&format!("{PROPOSAL} ORDER BY p.seq LIMIT ?1"))?;
        let mut proposals = self.kept_of(found.query([bound(limit)])?, view)?;
        for asked in &mut proposals {
            let mut in_force = self.on_target_of(asked.claim_id, Some(asked.claim_type))?.decisions;
            if let Some(target) = &asked.target {
                in_force.extend(self.on_target(target)?.decisions);
            }
            in_force.retain(|id| *id != asked.claim_id);
            in_force.sort();
            in_force.dedup();
            asked.in_force = in_force;
        }
        Ok(proposals)
    }
}

impl ProposalView {
    /// Whether an agent proposes its own claim as a decision that only the operator makes. No decision is in force then.
    pub fn is_new_decision(&self) -> bool {
        let has_another = self.statement.is_some() || self.successor.is_some();
        self.asks == Override::Decide && self.owner == self.proposed_by && !has_another
    }
}

pub(super) fn view(row: &Row<'_>) -> rusqlite::Result<ProposalView> {
    Ok(ProposalView {
        event_id: row.get("event_id")?,
        claim_id: row.get("claim_id")?,
        claim: row.get("claim")?,
        claim_type: row.get("claim_type")?,
        in_force: Vec::new(),
        owner: row.get("owner")?,
        scopes: json(row, "scopes")?,
        asks: row.get("asks")?,
        proposed_by: row.get("proposed_by")?,
        reason: row.get("reason")?,
        successor: row.get("successor")?,
        statement: row.get("statement")?,
        target: row.get("target")?,
        proposed_at: row.get("proposed_at")?,
    })
}
