//! The queries of the integrity scan: the claims of each table, and the cited events.

use rusqlite::{Row, params};

use super::rows::{Columns, bound, only};
use super::{
    LeftOut, Reader, StoreError, claim, contradictions, decisions, experiments, former, proposals,
    researchers, retracted, sessions, tasks,
};
use crate::domain::time::Timestamp;

/// The tables whose rows belong to a claim, each with the column that names it. A decision has the id of its claim.
pub const TABLES_ABOUT_CLAIMS: [(&str, &str); 14] = [
    ("claims", "id"),
    ("claim_evidence", "claim_id"),
    ("retracted_evidence", "claim_id"),
    ("claim_moves", "claim_id"),
    ("consensus", "claim_id"),
    ("former_positions", "claim_id"),
    ("decisions", "claim_id"),
    ("decision_alternatives", "decision_id"),
    ("decision_outcomes", "decision_id"),
    ("override_proposals", "claim_id"),
    ("questions", "claim_id"),
    ("triggers", "claim_id"),
    ("merges", "left_claim"),
    ("merges", "right_claim"),
];

/// A claim that a table refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimNamed {
    /// The claim.
    pub claim_id: String,
    /// Whether the claim exists.
    pub is_known: bool,
}

/// Rows, read in the way of the views.
struct Shown {
    /// The statement up to its conditions.
    select: fn() -> String,
    /// The table and the text by which its rows are found.
    table: &'static str,
    key: &'static str,
    read: fn(&Row<'_>) -> Result<(), StoreError>,
}

/// All queries of the views, except those that [`Reader::claims_of`] covers.
const SHOWN: [Shown; 15] = [
    Shown { select: claim::whole_rows, table: "claims", key: "c.id", read: claim::is_legible },
    Shown {
        select: || claim::EVIDENCE.to_owned(),
        table: "claim_evidence",
        key: "claim_id",
        read: |row| Ok(claim::evidence(row).map(drop)?),
    },
    Shown {
        select: || retracted::RETRACTED.to_owned(),
        table: "retracted_evidence",
        key: "claim_id",
        read: |row| retracted::view(row).map(drop),
    },
    Shown {
        select: || claim::MOVE.to_owned(),
        table: "claim_moves",
        key: "claim_id",
        read: |row| Ok(claim::change(row).map(drop)?),
    },
    Shown {
        select: || claim::POSITION.to_owned(),
        table: "consensus",
        key: "claim_id",
        read: |row| Ok(claim::position(row).map(drop)?),
    },
    Shown {
        select: || former::FORMER.to_owned(),
        table: "former_positions",
        key: "claim_id",
        read: |row| Ok(claim::position(row).map(drop)?),
    },
    Shown {
        select: || format!("SELECT {}", decisions::SUMMARY),
        table: "decisions",
        key: "d.claim_id",
        read: |row| Ok(decisions::summary(row).map(drop)?),
    },
    Shown {
        select: || format!("SELECT {}", contradictions::COLUMNS),
        table: "belief_contradictions",
        key: "x.id",
        read: |row| contradictions::contradiction(&Columns::default().of(row)).map(drop),
    },
    Shown {
        select: || proposals::PROPOSAL.to_owned(),
        table: "override_proposals",
        key: "p.claim_id",
        read: |row| Ok(proposals::view(row).map(drop)?),
    },
    Shown {
        select: || experiments::COLUMNS.to_owned(),
        table: "experiments",
        key: "id",
        read: |row| experiments::view(row).map(drop),
    },
    Shown {
        select: || tasks::TASK.to_owned(),
        table: "tasks",
        key: "id",
        read: |row| Ok(tasks::task(row).map(drop)?),
    },
    Shown {
        select: || sessions::SESSION.to_owned(),
        table: "session_states",
        key: "session",
        read: |row| Ok(sessions::session(row).map(drop)?),
    },
    Shown {
        select: || sessions::TURN.to_owned(),
        table: "turns",
        key: "session",
        read: |row| Ok(sessions::turn_view(row).map(drop)?),
    },
    Shown {
        select: || sessions::ANCHOR.to_owned(),
        table: "anchors",
        key: "key",
        read: |row| Ok(sessions::anchor_view(row).map(drop)?),
    },
    Shown {
        select: || researchers::RESEARCHER.to_owned(),
        table: "researchers",
        key: "r.run_id",
        read: |row| Ok(researchers::researcher(row).map(drop)?),
    },
];

impl Reader {
    /// The rows that no view can read, by table. `pause` runs between two pages of `max` keys, and may end the scan.
    ///
    /// # Errors
    /// [`StoreError`], or what `pause` says.
    pub fn unreadable<E: From<StoreError>>(
        &self,
        now: Timestamp,
        max: usize,
        mut pause: impl FnMut() -> Result<(), E>,
    ) -> Result<Vec<(&'static str, LeftOut)>, E> {
        let mut found = Vec::new();
        for shown in &SHOWN {
            let mut after = Vec::new();
            loop {
                pause()?;
                let (last, left_out) = self.snapshot(now, |reader| reader.read_page(shown, &after, max))?;
                if left_out.count() > 0 {
                    found.push((shown.table, left_out));
                }
                let Some(last) = last else { break };
                after = last;
            }
        }
        Ok(found)
    }

    /// Reads the rows of the next keys, and returns the last of those keys. A key may be no text.
    fn read_page(&self, shown: &Shown, after: &[u8], max: usize) -> Result<Option<Vec<u8>>, StoreError> {
        let Shown { select, table, key, read } = shown;
        let column = key.rsplit('.').next().unwrap_or(key);
        let sql = format!(
            "SELECT CAST(max(k.key) AS BLOB) FROM (SELECT DISTINCT {column} AS key FROM {table} \
             WHERE {column} > CAST(?1 AS TEXT) ORDER BY {column} LIMIT ?2) k"
        );
        let last: Option<Vec<u8>> =
            self.db.prepare_cached(&sql)?.query_row(params![after, bound(max)], only)?;
        let Some(last) = last else { return Ok(None) };
        let between = format!("{} WHERE {key} > CAST(?1 AS TEXT) AND {key} <= CAST(?2 AS TEXT)", select());
        self.kept_of(self.db.prepare_cached(&between)?.query(params![after, last])?, read)?;
        Ok(Some(last))
    }

    /// At most `max` claims that a table of [`TABLES_ABOUT_CLAIMS`] refers to, in order, after a given one.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn claims_of(
        &self,
        (table, column): (&'static str, &'static str),
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<ClaimNamed>, StoreError> {
        let sql = format!(
            "SELECT t.id, EXISTS (SELECT 1 FROM claims c WHERE c.id = t.id) AS is_known FROM \
             (SELECT DISTINCT {column} AS id FROM {table} WHERE {column} > ?1 ORDER BY {column} LIMIT ?2) t"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map(params![after.unwrap_or(""), bound(max)], |row| {
            // The scan reports a row that cannot be read by itself.
            let Ok(claim_id) = row.get("id") else { return Ok(None) };
            Ok(Some(ClaimNamed { claim_id, is_known: row.get("is_known")? }))
        })?;
        rows.filter_map(|row| row.map_err(StoreError::from).transpose()).collect()
    }

    /// The events that a table cites for the claims after one and up to another. Empty for a table that cites no
    /// events. A claim cites the event that created it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn events_cited(
        &self,
        (table, column): (&'static str, &'static str),
        after: Option<&str>,
        until: &str,
    ) -> Result<Vec<String>, StoreError> {
        let cited = match table {
            "claims" => "id",
            "claim_evidence" | "retracted_evidence" | "consensus" | "former_positions" => "evidence_ref",
            _ => return Ok(Vec::new()),
        };
        let sql = format!(
            "SELECT {cited} FROM {table} WHERE {column} > ?1 AND {column} <= ?2 AND {cited} IS NOT NULL"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        // The scan reports a row that cannot be read by itself.
        let rows = statement.query_map(params![after.unwrap_or(""), until], |row| Ok(only(row).ok()))?;
        rows.filter_map(|row| row.map_err(StoreError::from).transpose()).collect()
    }
}
