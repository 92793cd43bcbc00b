//! The parts of a summary for a new reader besides the statements: the reasons of decisions, and the positions of
//! other agents.

use std::collections::BTreeMap;

use super::rows::Json;
use super::{Reader, StoreError};
use crate::domain::ids::ClaimId;

const RATIONALES: &str = "SELECT d.claim_id, d.rationale FROM json_each(?1) \
     CROSS JOIN decisions d ON d.claim_id = json_each.value";
/// An ended challenge may also have corrected the claim.
const SAID: &str = "SELECT c.id, p.agent, p.position, p.reason, p.seq FROM json_each(?1) \
     CROSS JOIN claims c ON c.id = json_each.value CROSS JOIN consensus p ON p.claim_id = c.id \
     WHERE p.reason IS NOT NULL AND p.agent <> c.owner \
     UNION ALL SELECT c.id, p.agent, p.position, p.reason, p.seq FROM json_each(?1) \
     CROSS JOIN claims c ON c.id = json_each.value CROSS JOIN former_positions p ON p.claim_id = c.id \
     WHERE p.reason IS NOT NULL AND p.agent <> c.owner AND p.position = 'challenge' ORDER BY 5 DESC";

/// A position of an agent other than the owner, with its reason.
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
    /// The reasons of decisions, by their ids.
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

    /// The positions of agents other than the owners, by the ids of the claims, newest first.
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
