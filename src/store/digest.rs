//! The parts of a summary for a new reader besides the statements: the reasons of decisions, and the positions of
//! other agents.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::rows::Json;
use super::{ClaimFilter, ClaimSummary, Reader, StoreError};
use crate::domain::claim::{ClaimType, Status};
use crate::domain::ids::ClaimId;
use crate::domain::ranking;
use crate::domain::values::values;

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

const ASSERTED: &str = "SELECT e.claim_id, e.evidence_ref FROM json_each(?1) \
     CROSS JOIN claims c ON c.id = json_each.value AND c.grade = 'asserted' \
     CROSS JOIN claim_evidence e ON e.claim_id = c.id WHERE e.relation = 'supports'";
/// Number of decisions that may change a value: the newest ones.
const DECISIONS: usize = 200;

/// A claim with an event that supports it.
pub type Supported = (ClaimId, String);

/// A claim that another claim names, and that ended since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct NamedOver {
    /// The named claim.
    pub named: ClaimId,
    /// The claim in its place. `None` if that is over, too.
    pub now: Option<ClaimId>,
}

impl fmt::Display for NamedOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.now {
            Some(now) => write!(f, "{}, which is {now} now", self.named),
            None => write!(f, "{}, which is over", self.named),
        }
    }
}

impl Reader {
    /// The events that support these claims, if none of the events has a better grade than asserted.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn asserted_evidence(&self, claims: &[ClaimId]) -> Result<Vec<Supported>, StoreError> {
        let mut statement = self.db.prepare_cached(ASSERTED)?;
        let rows = statement.query([Json(claims)])?;
        self.kept_of(rows, |row| Ok::<_, rusqlite::Error>((row.get("claim_id")?, row.get("evidence_ref")?)))
    }

    /// Marks the claims in force with a value that a later decision with a scope of theirs changes: a confirmed one, or a
    /// proposal of the same owner. Of several such decisions the newest one with the name decides, and one that gives it
    /// several values tells nothing.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn mark_changed_values<'c>(
        &self,
        claims: impl Iterator<Item = &'c mut ClaimSummary>,
    ) -> Result<(), StoreError> {
        let has_value = |claim: &&mut ClaimSummary| {
            claim.status != Status::Deprecated && values(&claim.statement).values().any(Option::is_some)
        };
        let mut claims = claims.filter(has_value).peekable();
        if claims.peek().is_none() {
            return Ok(());
        }
        let decisions = self.claims(&ClaimFilter {
            claim_type: Some(ClaimType::Decision),
            status: vec![Status::Confirmed, Status::Proposed],
            limit: DECISIONS,
            ..ClaimFilter::default()
        })?;
        for claim in claims {
            // A proposal changes only what its own author stated.
            let holds =
                |later: &&ClaimSummary| later.status == Status::Confirmed || later.owner == claim.owner;
            let later = decisions.claims.iter().filter(|later| is_at_same_place(later, claim)).filter(holds);
            let mut later: Vec<&ClaimSummary> = later.collect();
            later.sort_by_key(|later| std::cmp::Reverse(later.created_seq));
            let changes = |(name, value): (&str, Option<&str>)| {
                let (by, new) =
                    later.iter().find_map(|later| Some((later.id, *values(&later.statement).get(name)?)))?;
                (new? != value?).then_some(by)
            };
            claim.changed_by = values(&claim.statement).into_iter().find_map(changes);
        }
        Ok(())
    }

    /// The claim that holds in the place of a replaced one. `None` if no claim replaced it, or that one is over, too.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn holds_now(&self, id: ClaimId) -> Result<Option<ClaimSummary>, StoreError> {
        match ranking::successors(id, |id| self.successor(id))?.last() {
            Some(now) => Ok(self.claim_summary(*now)?.filter(|now| now.status != Status::Deprecated)),
            None => Ok(None),
        }
    }

    /// Marks the claims in force that name a claim which another one replaced since. A claim that replaces the named one
    /// itself, or was made after all of them, knows it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn mark_names_over<'c>(
        &self,
        claims: impl Iterator<Item = &'c mut ClaimSummary>,
    ) -> Result<(), StoreError> {
        for claim in claims.filter(|claim| claim.status != Status::Deprecated) {
            for named in self.mentions(&claim.statement, claim.created_seq)? {
                let successors = ranking::successors(named, |id| self.successor(id))?;
                let Some(now) = successors.last().filter(|_| !successors.contains(&claim.id)) else {
                    continue;
                };
                let Some(now) = self.claim_summary(*now)?.filter(|now| now.created_seq > claim.created_seq)
                else {
                    continue;
                };
                let now = (now.status != Status::Deprecated).then_some(now.id);
                claim.names_over = Some(NamedOver { named, now });
                break;
            }
        }
        Ok(())
    }

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

/// Whether a decision is later than a claim and shares a scope with it. The whole workspace is no place.
fn is_at_same_place(decision: &ClaimSummary, claim: &ClaimSummary) -> bool {
    let shares = |scope: &String| scope != "." && claim.scopes.contains(scope);
    decision.created_seq > claim.created_seq && decision.scopes.iter().any(shares)
}
