//! Calibration: how the judged claims of each agent ended.

use std::collections::BTreeMap;

use rusqlite::Row;

use super::{Reader, StoreError};

/// The judged claims of an agent, and the runs about its claims.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Judged {
    /// Confirmed claims that no later run and no challenge doubts.
    pub held: u64,
    /// Claims that were confirmed once and are in doubt now.
    pub mixed: u64,
    /// Claims that ended while they were contested or waited for a proof.
    pub failed: u64,
    /// Runs that agree with the claim that they were about.
    pub runs_agreed: u64,
    /// All such runs.
    pub runs: u64,
}

impl Reader {
    /// The judged claims of each agent, by name.
    pub fn judged(&self) -> Result<BTreeMap<String, Judged>, StoreError> {
        let mut all: BTreeMap<String, Judged> = BTreeMap::new();
        // A claim that its owner withdraws or replaces without a dispute is not judged, though one may be over.
        let was = "EXISTS (SELECT 1 FROM claim_moves m WHERE m.claim_id = claims.id AND m.new_status";
        let counts = [
            (
                "status = 'confirmed' AND unstable_at IS NULL".to_owned(),
                Judged { held: 1, ..Judged::default() },
            ),
            (
                "status = 'confirmed' AND unstable_at IS NOT NULL".to_owned(),
                Judged { mixed: 1, ..Judged::default() },
            ),
            (
                format!("status IN ('contested', 'pending_proof') AND {was} = 'confirmed')"),
                Judged { mixed: 1, ..Judged::default() },
            ),
            (
                "status = 'deprecated' AND (SELECT m.old_status FROM claim_moves m WHERE m.claim_id = claims.id \
                 AND m.new_status = 'deprecated' ORDER BY m.seq DESC LIMIT 1) IN ('contested', 'pending_proof')"
                    .to_owned(),
                Judged { failed: 1, ..Judged::default() },
            ),
        ];
        for (condition, one) in counts {
            let sql =
                format!("SELECT owner, count(*) AS claims FROM claims WHERE {condition} GROUP BY owner");
            let mut found = self.db.prepare_cached(&sql)?;
            for (owner, claims) in self.kept_of(found.query([])?, counted)? {
                let judged = all.entry(owner).or_default();
                judged.held += one.held * claims;
                judged.mixed += one.mixed * claims;
                judged.failed += one.failed * claims;
            }
        }
        for (relation, agrees) in [("supports", true), ("contradicts", false)] {
            let mut found = self.db.prepare_cached(
                "SELECT c.owner, count(*) AS claims FROM claim_evidence e JOIN claims c ON c.id = e.claim_id \
                 WHERE e.claim_id > '' AND e.run_id IS NOT NULL AND e.relation = ?1 GROUP BY c.owner",
            )?;
            for (owner, runs) in self.kept_of(found.query([relation])?, counted)? {
                let judged = all.entry(owner).or_default();
                judged.runs += runs;
                judged.runs_agreed += if agrees { runs } else { 0 };
            }
        }
        Ok(all)
    }
}

fn counted(row: &Row<'_>) -> rusqlite::Result<(String, u64)> {
    Ok((row.get("owner")?, row.get("claims")?))
}
