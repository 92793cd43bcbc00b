//! What a summary for a new reader says beside the statements of claims: why decisions were taken, and what other agents
//! said about claims.

use std::collections::BTreeMap;

use super::rows::Json;
use super::{Reader, StoreError};
use crate::domain::ids::ClaimId;

const RATIONALES: &str = "SELECT d.claim_id, d.rationale FROM json_each(?1) \
     CROSS JOIN decisions d ON d.claim_id = json_each.value";
/// A challenge that ended may have corrected the claim too.
const SAID: &str = "SELECT c.id, p.agent, p.position, p.reason, p.seq FROM json_each(?1) \
     CROSS JOIN claims c ON c.id = json_each.value CROSS JOIN consensus p ON p.claim_id = c.id \
     WHERE p.reason IS NOT NULL AND p.agent <> c.owner \
     UNION ALL SELECT c.id, p.agent, p.position, p.reason, p.seq FROM json_each(?1) \
     CROSS JOIN claims c ON c.id = json_each.value CROSS JOIN former_positions p ON p.claim_id = c.id \
     WHERE p.reason IS NOT NULL AND p.agent <> c.owner AND p.position = 'challenge' ORDER BY 5 DESC";

/// A position of another agent than the owner of a claim, with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The agent.
    pub agent: String,
    /// Its position.
    pub position: String,
    /// Its reason.
    pub reason: String,
}

impl Reader {
    /// Why decisions were taken, by their ids.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn rationales(&self, decisions: &[ClaimId]) -> Result<BTreeMap<ClaimId, String>, StoreError> {
        let mut statement = self.db.prepare_cached(RATIONALES)?;
        let rows = statement.query([Json(decisions)])?;
        let found = self.kept_of(rows, |row| -> rusqlite::Result<(ClaimId, String)> {
            Ok((row.get("claim_id")?, row.get("rationale")?))
        })?;
        Ok(found.into_iter().collect())
    }

    /// What other agents than their owners said about claims, by their ids, newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn said_of(&self, claims: &[ClaimId]) -> Result<BTreeMap<ClaimId, Vec<Said>>, StoreError> {
        let mut statement = self.db.prepare_cached(SAID)?;
        let rows = statement.query([Json(claims)])?;
        let found = self.kept_of(rows, |row| {
            let said =
                Said { agent: row.get("agent")?, position: row.get("position")?, reason: row.get("reason")? };
            Ok::<_, rusqlite::Error>((row.get("id")?, said))
        })?;
        let mut all: BTreeMap<ClaimId, Vec<Said>> = BTreeMap::new();
        for (id, said) in found {
            all.entry(id).or_default().push(said);
        }
        Ok(all)
    }
}
