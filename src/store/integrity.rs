//! Questions of the integrity scan: which claims a table is about, and which events are cited.

use rusqlite::params;

use super::{Reader, StoreError};

/// The tables whose rows belong to a claim.
pub const TABLES_ABOUT_CLAIMS: [&str; 8] = [
    "claims",
    "claim_evidence",
    "claim_moves",
    "consensus",
    "decisions",
    "decision_alternatives",
    "decision_outcomes",
    "triggers",
];

/// A claim that a table has rows about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimNamed {
    /// The claim.
    pub claim_id: String,
    /// Whether there is such a claim.
    pub is_known: bool,
}

impl Reader {
    /// Up to `max` claims that a table of [`TABLES_ABOUT_CLAIMS`] has rows about, in order, after one of them.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn claims_of(
        &self,
        table: &'static str,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<ClaimNamed>, StoreError> {
        let column = claim_column(table);
        let sql = format!(
            "SELECT t.id, EXISTS (SELECT 1 FROM claims c WHERE c.id = t.id) FROM \
             (SELECT DISTINCT {column} AS id FROM {table} WHERE {column} > ?1 ORDER BY {column} LIMIT ?2) t"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map(params![after.unwrap_or(""), max as i64], |row| {
            Ok(ClaimNamed { claim_id: row.get(0)?, is_known: row.get(1)? })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The events that a table cites for the claims after one and up to another; none for a table that cites
    /// nothing. A claim cites the event that created it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn events_cited(
        &self,
        table: &'static str,
        after: Option<&str>,
        until: &str,
    ) -> Result<Vec<String>, StoreError> {
        let cited = match table {
            "claims" => "id",
            "claim_evidence" | "consensus" => "evidence_ref",
            _ => return Ok(Vec::new()),
        };
        let column = claim_column(table);
        let sql = format!(
            "SELECT {cited} FROM {table} WHERE {column} > ?1 AND {column} <= ?2 AND {cited} IS NOT NULL"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map(params![after.unwrap_or(""), until], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// Where a table names the claim; a decision goes by the id of its claim.
fn claim_column(table: &str) -> &'static str {
    match table {
        "claims" => "id",
        _ if table.starts_with("decision_") => "decision_id",
        _ => "claim_id",
    }
}
