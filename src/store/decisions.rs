//! Queries about decisions: their targets, rationales, alternatives and outcomes.

use std::collections::BTreeSet;

use rusqlite::{Row, params};
use serde::Serialize;

use super::claims::basis;
use super::rows::{Json, bound, json};
use super::silence::agreed_by_silence;
use super::{ClaimFilter, ClaimSummary, Reader, Replaced, StoreError};
use crate::domain::amendment::Change;
use crate::domain::claim::{Basis, ClaimType, Status};
use crate::domain::ids::ClaimId;
use crate::domain::notes;
use crate::domain::scope::Scope;

/// A rejected alternative.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AlternativeView {
    /// Its claim.
    pub claim_id: ClaimId,
    /// The statement.
    pub statement: String,
    /// The reason of the rejection.
    pub rejection_reason: String,
}

/// A decision that rejected a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotChosen {
    /// Id of the decision.
    pub decision: ClaimId,
    /// The reason of the rejection.
    pub because: String,
}

/// A recorded outcome of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutcomeView {
    /// The outcome.
    pub outcome: String,
    /// The agent's comment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// The agent that recorded it.
    pub by: String,
    /// When it was recorded, epoch ms.
    pub at: i64,
}

/// A decision in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DecisionSummary {
    /// Id of the decision and of its claim.
    pub claim_id: ClaimId,
    /// Short name, such as `C47`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The statement.
    pub statement: String,
    /// The status of its claim.
    pub status: String,
    /// The basis of its confirmation. None for other statuses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// The doubts about its proof and its files, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// The agent that decided.
    pub decided_by: String,
    /// The target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The rationale.
    pub rationale: String,
    /// The problem that it settles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The last recorded outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// When it was taken, epoch ms.
    pub created_at: i64,
    /// Ledger position of its record.
    pub created_seq: u64,
    /// Whether it was imported from a file.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
    /// Whether only silence confirmed it: no other agent supports it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub agreed_by_silence: bool,
    /// The decision that it amends, with the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amends: Option<Amends>,
}

/// A decision that another one amends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Amends {
    /// The amended decision.
    pub claim_id: ClaimId,
    /// What the new one says in place of what.
    pub change: String,
}

/// A decision with all its facts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DecisionView {
    /// The facts in lists.
    #[serde(flatten)]
    pub summary: DecisionSummary,
    /// The rejected alternatives.
    pub alternatives: Vec<AlternativeView>,
    /// The outcomes, oldest first.
    pub outcomes: Vec<OutcomeView>,
}

/// A page of decisions, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DecisionPage {
    /// The decisions.
    pub decisions: Vec<DecisionSummary>,
    /// The cursor of the next page. None on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// A filter for decisions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DecisionFilter {
    /// The target.
    pub target: Option<Scope>,
    /// This scope, any scope below it, or any scope above it.
    pub scope: Option<Scope>,
    /// Cursor: the `next` of the previous page.
    pub before: Option<u64>,
    /// Maximum count.
    pub limit: usize,
    /// Only decisions that are not deprecated.
    pub in_force: bool,
    /// How much of each decision a text shows.
    pub room: DecisionRoom,
    /// The ids of decisions in force that the reader has whole. A page cuts their statements.
    pub known: BTreeSet<String>,
}

/// How much of each decision a text shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DecisionRoom {
    /// One line of this many columns.
    Line(usize),
    /// Of a decision out of force, the beginning of the statement.
    #[default]
    Page,
    /// The whole statement.
    Whole,
}

/// The most decisions at one scope that a page is made of.
const MOST_AT_SCOPE: usize = 1_000;
/// The most amendments of a decision that a reader follows.
const MOST_AMENDED: usize = 50;

pub(super) const SUMMARY: &str = concat!(
    "d.claim_id, c.statement, c.status, d.decided_by, d.target, d.rationale, d.context, \
     d.outcome, d.created_at, d.created_seq, ",
    agreed_by_silence!("c"),
    " AS by_silence, c.proof, c.scopes, \
     (SELECT letter || number FROM names WHERE names.id = d.claim_id) AS name \
     FROM decisions d JOIN claims c ON c.id = d.claim_id"
);

/// The events of a decision are adjacent: its own, and at most three for each claim that it rejects or supersedes.
const NOT_CHOSEN: &str = "SELECT a.decision_id, a.rejection_reason FROM claim_moves m \
     CROSS JOIN decisions d ON d.created_seq BETWEEN m.seq - 400 AND m.seq \
     CROSS JOIN decision_alternatives a ON a.decision_id = d.claim_id AND a.alternative_id = m.claim_id \
     WHERE m.claim_id = ?1 AND m.reason = 'rejected alternative' ORDER BY d.created_seq";

impl Reader {
    /// The decisions that rejected a claim, oldest first.
    pub(super) fn not_chosen(&self, claim_id: ClaimId) -> Result<Vec<NotChosen>, StoreError> {
        let mut found = self.db.prepare_cached(NOT_CHOSEN)?;
        self.kept_of(found.query([claim_id])?, |row| {
            Ok::<_, rusqlite::Error>(NotChosen {
                decision: row.get("decision_id")?,
                because: row.get("rejection_reason")?,
            })
        })
    }

    /// A page of decisions, newest first.
    pub fn decisions(&self, filter: &DecisionFilter) -> Result<DecisionPage, StoreError> {
        let before = bound(filter.before.unwrap_or(u64::MAX));
        let limit = bound(filter.limit.saturating_add(1));
        let names = filter.target.as_ref().map(|target| self.names_of(target)).transpose()?;
        let on_target = match &names {
            Some(_) => "d.target IN (SELECT value FROM json_each(?3)) AND",
            None => "?3 IS NULL AND",
        };
        let at_scope = match &filter.scope {
            Some(scope) => Some(Json(self.decisions_at(scope)?)),
            None => None,
        };
        let sql = format!(
            "SELECT {SUMMARY} WHERE {on_target} (?5 IS NULL OR d.claim_id IN (SELECT value FROM json_each(?5))) AND (NOT ?4 OR c.status <> 'deprecated') AND d.created_seq < ?1 ORDER BY d.created_seq DESC LIMIT ?2"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let names = names.map(|names| serde_json::json!(names).to_string());
        let rows = statement.query(params![before, limit, names, filter.in_force, at_scope])?;
        let (mut decisions, next) =
            self.page_of(rows, filter.limit, "created_seq", |row| self.decision_summary(row))?;
        let ids: Vec<ClaimId> = decisions.iter().map(|decision| decision.claim_id).collect();
        let mut replaced = self.replaced_by(&ids)?;
        for decision in &mut decisions {
            let old = replaced.remove(&decision.claim_id);
            decision.amends = old.and_then(|old| amends(&old, &decision.statement));
        }
        // An expired decision is deprecated before its row says so.
        decisions.retain(|decision| !filter.in_force || decision.status != Status::Deprecated.as_str());
        Ok(DecisionPage { decisions, next })
    }

    /// The claims of type decision at a scope, the newest [`MOST_AT_SCOPE`].
    fn decisions_at(&self, scope: &Scope) -> Result<Vec<ClaimId>, StoreError> {
        let wanted = ClaimFilter {
            claim_type: Some(ClaimType::Decision),
            scope: Some(scope.clone()),
            limit: MOST_AT_SCOPE,
            ..ClaimFilter::default()
        };
        Ok(self.claims(&wanted)?.claims.into_iter().map(|claim| claim.id).collect())
    }

    /// Those of some claims that are on record as decisions.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn recorded(&self, claims: &[ClaimId]) -> Result<BTreeSet<ClaimId>, StoreError> {
        let sql =
            "SELECT d.claim_id FROM json_each(?1) CROSS JOIN decisions d ON d.claim_id = json_each.value";
        let mut found = self.db.prepare_cached(sql)?;
        let found = self.kept_of(found.query([Json(claims)])?, |row| row.get::<_, ClaimId>("claim_id"))?;
        Ok(found.into_iter().collect())
    }

    /// The decision that was first, and those that amended it one after the other up to this one, oldest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn amended(&self, last: &DecisionSummary) -> Result<Vec<DecisionSummary>, StoreError> {
        let mut found = self.db.prepare_cached(&format!("SELECT {SUMMARY} WHERE d.claim_id = ?1"))?;
        let mut chain = vec![last.clone()];
        while let Some(amended) = chain.last().and_then(|later| later.amends.as_ref())
            && chain.len() < MOST_AMENDED
        {
            let row = found.query([amended.claim_id])?;
            let Some(mut before) = self.kept_one(row, |row| self.decision_summary(row))? else { break };
            let old = self.replaced_by(&[before.claim_id])?.remove(&before.claim_id);
            before.amends = old.and_then(|old| amends(&old, &before.statement));
            chain.push(before);
        }
        chain.reverse();
        Ok(chain)
    }

    /// Marks the decisions of a list that amend another one.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn mark_amended(&self, claims: &mut [ClaimSummary]) -> Result<(), StoreError> {
        let decisions = claims.iter().filter(|claim| claim.claim_type == ClaimType::Decision);
        let ids: Vec<ClaimId> = decisions.map(|claim| claim.id).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let mut replaced = self.replaced_by(&ids)?;
        for claim in claims {
            let old = replaced.remove(&claim.id);
            claim.amends = old.and_then(|old| amends(&old, &claim.statement)).map(|amended| amended.claim_id);
        }
        Ok(())
    }

    /// The decision recorded for a claim.
    pub(super) fn decision(&self, claim_id: ClaimId) -> Result<Option<DecisionView>, StoreError> {
        let mut found = self.db.prepare_cached(&format!("SELECT {SUMMARY} WHERE d.claim_id = ?1"))?;
        let found = self.kept_one(found.query([claim_id])?, |row| self.decision_summary(row))?;
        let Some(mut summary) = found else { return Ok(None) };
        let old = self.replaced_by(&[claim_id])?.remove(&claim_id);
        summary.amends = old.and_then(|old| amends(&old, &summary.statement));
        let mut alternatives = self.db.prepare_cached(
            "SELECT a.alternative_id, c.statement, a.rejection_reason FROM decision_alternatives a \
             JOIN claims c ON c.id = a.alternative_id WHERE a.decision_id = ?1 ORDER BY a.alternative_id",
        )?;
        let alternatives = self.kept_of(alternatives.query([claim_id])?, |row| {
            Ok::<_, rusqlite::Error>(AlternativeView {
                claim_id: row.get("alternative_id")?,
                statement: row.get("statement")?,
                rejection_reason: row.get("rejection_reason")?,
            })
        })?;
        let mut outcomes = self.db.prepare_cached(
            "SELECT outcome, notes, recorded_by, recorded_at FROM decision_outcomes \
             WHERE decision_id = ?1 ORDER BY seq",
        )?;
        let outcomes = self.kept_of(outcomes.query([claim_id])?, |row| {
            Ok::<_, rusqlite::Error>(OutcomeView {
                outcome: row.get("outcome")?,
                notes: row.get("notes")?,
                by: row.get("recorded_by")?,
                at: row.get("recorded_at")?,
            })
        })?;
        Ok(Some(DecisionView { summary, alternatives, outcomes }))
    }

    fn decision_summary(&self, row: &Row<'_>) -> Result<DecisionSummary, StoreError> {
        let mut decision = summary(row)?;
        decision.imported |= self.is_imported(decision.created_seq);
        if self.is_expired(decision.claim_id) {
            decision.status = Status::Deprecated.to_string();
            decision.basis = None;
        }
        if decision.basis == Some(Basis::Proved) {
            decision.doubt = self.claim_summary(decision.claim_id)?.and_then(|claim| claim.doubt());
        } else if decision.status != Status::Deprecated.as_str() {
            decision.doubt = self.rivals_of(decision.claim_id)?.map(|others| format!("contradicts {others}"));
        }
        Ok(decision)
    }
}

/// The superseded claim, if a decision amends it.
fn amends(old: &Replaced, statement: &str) -> Option<Amends> {
    let change = old.change(statement)?;
    Some(Amends { claim_id: old.id, change: change.to_string() })
}

impl Replaced {
    /// The change of a decision by the one with this statement, if that amends it. A decision that supersedes several puts
    /// each out of force as a whole.
    pub(crate) fn change(&self, statement: &str) -> Option<Change> {
        let is_amended = self.claim_type == ClaimType::Decision && !self.mended && self.others.is_empty();
        Change::between(&self.statement, statement).filter(|_| is_amended)
    }
}

pub(super) fn summary(row: &Row<'_>) -> rusqlite::Result<DecisionSummary> {
    let status: String = row.get("status")?;
    let scopes: Vec<String> = json(row, "scopes")?;
    let (by_silence, proof) = (row.get("by_silence")?, row.get("proof")?);
    // An unknown status is shown as it is.
    let stands = status.parse().unwrap_or(Status::Proposed);
    Ok(DecisionSummary {
        basis: basis(stands, proof, by_silence),
        status,
        doubt: None,
        claim_id: row.get("claim_id")?,
        name: row.get("name")?,
        statement: row.get("statement")?,
        decided_by: row.get("decided_by")?,
        target: row.get("target")?,
        rationale: row.get("rationale")?,
        context: row.get("context")?,
        outcome: row.get("outcome")?,
        created_at: row.get("created_at")?,
        created_seq: row.get("created_seq")?,
        imported: scopes.iter().any(|scope| notes::is_tag(scope)),
        agreed_by_silence: by_silence,
        amends: None,
    })
}
