//! Claims that name each other in their statements: `refutes C12`.

use std::collections::BTreeMap;

use rusqlite::params;

use super::rows::bound;
use super::{ClaimSummary, Reader, StoreError};
use crate::domain::digest::says_withdrawn_of;
use crate::domain::ids::ClaimId;
use crate::domain::names::{Name, Named, names_in};

/// The most naming or named claims of a claim. A longer list is not read.
const MOST: usize = 20;

impl Reader {
    /// The claims that a statement names. Names that were given later are left out, because the statement meant
    /// something else.
    pub(crate) fn mentions(&self, statement: &str, created_seq: u64) -> Result<Vec<ClaimId>, StoreError> {
        let mut mentions = Vec::new();
        let mut one = self.db.prepare_cached("SELECT 1 FROM claims WHERE id = ?1 AND created_seq < ?2")?;
        for name in names_in(statement).filter(|name| name.of == Named::Claim).take(MOST) {
            if let Some(id) = self.id_called(name)?.and_then(|id| id.parse().ok())
                && !mentions.contains(&id)
                && one.exists(params![id, bound(created_seq)])?
            {
                mentions.push(id);
            }
        }
        Ok(mentions)
    }

    /// Claims that later claims name, each with the newest of these claims.
    pub fn named_by<'c>(
        &self,
        claims: impl Iterator<Item = &'c ClaimSummary>,
    ) -> Result<BTreeMap<ClaimId, ClaimId>, StoreError> {
        let mut newest: BTreeMap<ClaimId, &ClaimSummary> = BTreeMap::new();
        for claim in claims {
            for named in self.mentions(&claim.statement, claim.created_seq)? {
                let by = newest.entry(named).or_insert(claim);
                if by.created_seq < claim.created_seq {
                    *by = claim;
                }
            }
        }
        Ok(newest.into_iter().map(|(named, by)| (named, by.id)).collect())
    }

    /// The claims whose statements name this one, newest first.
    pub(super) fn mentioned_by(&self, id: ClaimId, created_seq: u64) -> Result<Vec<ClaimId>, StoreError> {
        Ok(self.naming(id, created_seq)?.into_iter().map(|naming| naming.id).collect())
    }

    /// The later claim of a claim's owner that withdraws the claim in words.
    pub(crate) fn withdrawn_by(&self, id: ClaimId) -> Result<Option<ClaimId>, StoreError> {
        let mut one = self.db.prepare_cached("SELECT owner, created_seq FROM claims WHERE id = ?1")?;
        let of = self.kept_one(one.query([id])?, |row| {
            Ok::<(String, u64), rusqlite::Error>((row.get("owner")?, row.get("created_seq")?))
        })?;
        let Some((owner, created_seq)) = of else { return Ok(None) };
        let Some(name) = self.name_given(id)? else { return Ok(None) };
        let naming = self.naming(id, created_seq)?.into_iter();
        let withdraws =
            |naming: &Naming| naming.owner == owner && says_withdrawn_of(&naming.statement, &name);
        Ok(naming.filter(withdraws).map(|naming| naming.id).next())
    }

    fn naming(&self, id: ClaimId, created_seq: u64) -> Result<Vec<Naming>, StoreError> {
        let Some(name) = self.name_given(id)?.and_then(|name| name.parse::<Name>().ok()) else {
            return Ok(Vec::new());
        };
        let mut found = self.db.prepare_cached(
            "SELECT c.id, c.owner, c.statement FROM claim_index CROSS JOIN claims c ON c.created_seq = claim_index.rowid \
             WHERE claim_index MATCH ?1 AND claim_index.rowid > ?2 ORDER BY claim_index.rowid DESC LIMIT ?3",
        )?;
        let word = format!("\"{}\"", name.to_string().to_lowercase());
        let found = self.kept_of(found.query(params![word, bound(created_seq), MOST])?, |row| {
            let (id, owner, statement) = (row.get("id")?, row.get("owner")?, row.get("statement")?);
            Ok::<_, rusqlite::Error>(Naming { id, owner, statement })
        })?;
        // The index ignores case.
        let names = |naming: &Naming| names_in(&naming.statement).any(|named| named == name);
        Ok(found.into_iter().filter(names).collect())
    }
}

/// A claim whose statement names another one.
struct Naming {
    id: ClaimId,
    owner: String,
    statement: String,
}
