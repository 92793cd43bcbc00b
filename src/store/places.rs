//! Places in files that are cited as evidence: what a fold writes of them, and the questions asked of them.

use std::collections::BTreeMap;

use rusqlite::{Connection, Row, params};

use super::files::MAIN;
use super::rows::Json;
use super::{Reader, StoreError};
use crate::domain::claim::Relation;
use crate::domain::event::{PlaceCited, Recorded};
use crate::domain::ids::{ClaimId, EventId};
use crate::domain::place::Span;
use crate::domain::text::Worktree;

/// The places that the evidence of claims cites.
const OF_CLAIMS: &str = "SELECT e.claim_id, e.relation, e.added_by, p.* FROM json_each(?1) \
     CROSS JOIN claim_evidence e ON e.claim_id = json_each.value \
     CROSS JOIN cited_places p ON p.event_id = e.evidence_ref";

/// The places in a work tree that the evidence of claims in force cites, the newest first.
const IN_TREE: &str = "SELECT e.claim_id, e.relation, e.added_by, p.* FROM cited_places p \
     CROSS JOIN claim_evidence e ON e.evidence_ref = p.event_id CROSS JOIN claims c ON c.id = e.claim_id \
     WHERE p.worktree = ?1 AND c.status <> 'deprecated' AND c.superseded_by IS NULL ORDER BY p.seq DESC LIMIT ?2";

/// A place that a claim's evidence cites.
#[derive(Debug, Clone, PartialEq)]
pub struct CitedPlace {
    /// The claim.
    pub claim_id: ClaimId,
    /// The event of the citation.
    pub event_id: EventId,
    /// Its relation to the claim.
    pub relation: Relation,
    /// The agent that tied it to the claim.
    pub added_by: String,
    /// The lines.
    pub span: Span,
    /// The linked work tree of the file; none for the main one.
    pub worktree: Option<String>,
}

/// An agent cited lines of a file.
pub(super) fn cited(db: &Connection, at: &Recorded, body: &PlaceCited) -> Result<(), StoreError> {
    let PlaceCited { span, checkout } = body;
    db.prepare_cached(
        "INSERT OR IGNORE INTO cited_places (event_id, worktree, path, from_line, to_line, sha256, seq) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![
        at.id,
        checkout.worktree.as_ref().map_or(MAIN, Worktree::as_str),
        span.path,
        span.from,
        span.to,
        String::from(span.sha256),
        at.seq
    ])?;
    Ok(())
}

fn place(row: &Row<'_>) -> Result<CitedPlace, StoreError> {
    let malformed = |what: &str| StoreError::Malformed(what.to_owned());
    let path: String = row.get("path")?;
    let hash: String = row.get("sha256")?;
    let worktree: String = row.get("worktree")?;
    Ok(CitedPlace {
        claim_id: row.get("claim_id")?,
        event_id: row.get("event_id")?,
        relation: row.get("relation")?,
        added_by: row.get("added_by")?,
        span: Span {
            path: path.try_into().map_err(|_| malformed("the path of cited lines"))?,
            from: row.get("from_line")?,
            to: row.get("to_line")?,
            sha256: hash.try_into().map_err(|_| malformed("the hash of cited lines"))?,
        },
        worktree: Some(worktree).filter(|worktree| worktree != MAIN),
    })
}

impl Reader {
    /// The places that claims' evidence cites, by claim.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn places_of(
        &self,
        claims: impl Iterator<Item = ClaimId>,
    ) -> Result<BTreeMap<ClaimId, Vec<CitedPlace>>, StoreError> {
        let ids = Json(claims.collect::<Vec<_>>());
        let mut statement = self.db.prepare_cached(OF_CLAIMS)?;
        let mut found: BTreeMap<ClaimId, Vec<CitedPlace>> = BTreeMap::new();
        for cited in self.kept_of(statement.query([ids])?, place)? {
            found.entry(cited.claim_id).or_default().push(cited);
        }
        Ok(found)
    }

    /// The last places in a work tree that evidence of claims in force cites.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn places_in(
        &self,
        worktree: Option<&Worktree>,
        limit: usize,
    ) -> Result<Vec<CitedPlace>, StoreError> {
        let worktree = worktree.map_or(MAIN, Worktree::as_str);
        let mut statement = self.db.prepare_cached(IN_TREE)?;
        self.kept_of(statement.query(params![worktree, super::rows::bound(limit as u64)])?, place)
    }
}
