//! The number of claims of each status, type and owner, for the filters of a list.

use rusqlite::{Row, params_from_iter};

use super::claims::ClaimFilter;
use super::rows::Select;
use super::{Reader, StoreError};
use crate::domain::claim::{ClaimType, Status};
use crate::domain::scope::Scope;

/// The claims that share a status, a type and an owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimCount {
    /// The status.
    pub status: Status,
    /// The type.
    pub claim_type: ClaimType,
    /// The owner.
    pub owner: String,
    /// Number of claims.
    pub claims: u64,
}

impl Reader {
    /// The counts of all claims, or of those around a scope.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    pub fn claim_counts(&self, scope: Option<&Scope>) -> Result<Vec<ClaimCount>, StoreError> {
        let filter = ClaimFilter { scope: scope.cloned(), ..ClaimFilter::default() };
        match filter.limits(&self.around_of(&filter)?) {
            Some(limits) => self.counted_around(&limits),
            None => self.counted_of_all(),
        }
    }

    /// The counts of all claims, which are kept. Those that time ended have their old status there.
    fn counted_of_all(&self) -> Result<Vec<ClaimCount>, StoreError> {
        let sql = "SELECT status, claim_type, owner, claims FROM claim_counts WHERE claims > 0";
        let mut counts = self.kept_of(self.db.prepare_cached(sql)?.query([])?, count_of)?;
        let mut over = Vec::new();
        for count in &mut counts {
            let claims = self.expired_of(|claim| {
                claim.status == count.status
                    && claim.claim_type == count.claim_type
                    && claim.owner == count.owner
            });
            count.claims = count.claims.saturating_sub(claims);
            if claims > 0 {
                over.push(ClaimCount { status: Status::Deprecated, claims, ..count.clone() });
            }
        }
        counts.extend(over);
        Ok(counts)
    }

    fn counted_around(&self, limits: &str) -> Result<Vec<ClaimCount>, StoreError> {
        let mut select = Select::from("claim_index CROSS JOIN claims c ON c.created_seq = claim_index.rowid");
        let status = match self.expired_ids() {
            Some(expired) => {
                let expired = select.bind(expired);
                format!("iif(c.id IN (SELECT value FROM json_each({expired})), 'deprecated', c.status)")
            }
            None => "c.status".to_owned(),
        };
        select.require_if("claim_index MATCH", Some(limits.to_owned()));
        let Select { from, conditions, values } = select;
        let sql = format!(
            "SELECT {status} AS status, c.claim_type AS claim_type, c.owner AS owner, count(*) AS claims \
             FROM {from} {conditions} GROUP BY 1, 2, 3"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        self.kept_of(statement.query(params_from_iter(values))?, count_of)
    }
}

fn count_of(row: &Row<'_>) -> Result<ClaimCount, rusqlite::Error> {
    Ok(ClaimCount {
        status: row.get("status")?,
        claim_type: row.get("claim_type")?,
        owner: row.get("owner")?,
        claims: row.get("claims")?,
    })
}
