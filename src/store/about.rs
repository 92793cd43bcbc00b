//! What a pack asks about the work at hand: the claims that answer it, what was settled, and what claims took the place of.

use std::collections::{BTreeMap, BTreeSet};

use super::claims::{ClaimFilter, malformed};
use super::search::{Search, Seen};
use super::{ClaimSummary, Reader, StoreError};
use crate::domain::claim::{ClaimType, SearchMode, Status};
use crate::domain::ranking;
use crate::domain::relevance::reach;
use crate::domain::scope::Scope;

/// Claims among which the most trusted are looked for, newest first: more would take longer than a pack may.
const STANDING: usize = 1_000;

const SETTLED: &str = "SELECT c.id, c.confidence, c.scopes, c.created_seq FROM claims c WHERE c.status = ?1 \
     ORDER BY c.created_seq DESC LIMIT ?2";
const DECIDED: &str = "SELECT c.id, c.confidence, c.scopes, c.created_seq FROM decisions d CROSS JOIN claims c \
     ON c.id = d.claim_id WHERE d.created_seq > 0 AND c.status <> ?1 ORDER BY d.created_seq DESC LIMIT ?2";
const ALTERNATIVES: &str = "SELECT a.decision_id, c.statement, a.rejection_reason FROM json_each(?1) \
     CROSS JOIN decision_alternatives a ON a.decision_id = json_each.value \
     CROSS JOIN claims c ON c.id = a.alternative_id ORDER BY a.decision_id, a.seq, a.alternative_id";
const PREDECESSORS: &str = "SELECT c.superseded_by, c.statement, c.claim_type, c.mended FROM json_each(?1) \
     CROSS JOIN claims c ON c.superseded_by = json_each.value ORDER BY c.superseded_by, c.created_seq";

/// An option that a decision rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// What it says.
    pub statement: String,
    /// Why it was not chosen.
    pub because: String,
}

/// A claim that another one took the place of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// What it said.
    pub statement: String,
    /// What kind of statement it was.
    pub claim_type: ClaimType,
    /// Whether it was right, and the other one mends what it was about.
    pub mended: bool,
}

impl Reader {
    /// Claims in force that answer `text`, best first, at most `limit` of all and as many of those at `places`: each with
    /// its score as a share of the best one. Without words there is no answer.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn about(
        &self,
        text: &str,
        places: &[Scope],
        limit: usize,
    ) -> Result<Vec<(ClaimSummary, f64)>, StoreError> {
        let filter = ClaimFilter { limit, ..ClaimFilter::default() };
        let everywhere =
            Search { query: text.to_owned(), mode: SearchMode::Strict, filter, seen: Seen::default() };
        let question = self.question(&everywhere.tokens())?;
        if question.words().is_empty() {
            return Ok(Vec::new());
        }
        let mut candidates = self.candidates(&everywhere, &question)?;
        let mut here = BTreeSet::new();
        if !places.is_empty() {
            let filter = ClaimFilter { places: places.to_vec(), ..everywhere.filter.clone() };
            let known: BTreeSet<u64> = candidates.iter().map(|candidate| candidate.seq).collect();
            for candidate in self.candidates(&Search { filter, ..everywhere.clone() }, &question)? {
                here.insert(candidate.seq);
                if !known.contains(&candidate.seq) {
                    candidates.push(candidate);
                }
            }
        }
        // One scale for both, so that a claim has one score.
        let nearest = ranking::nearest(&candidates);
        let near: Vec<(f64, u64)> = nearest.iter().copied().filter(|(_, seq)| here.contains(seq)).collect();
        let mut best: BTreeMap<String, (f64, u64)> = BTreeMap::new();
        for nearest in [nearest, near] {
            for (id, credit) in self.credits(&everywhere, nearest)?.ranked().into_iter().take(limit) {
                best.insert(id, (credit.score, credit.seq));
            }
        }
        let mut ranked: Vec<(String, (f64, u64))> = best.into_iter().collect();
        ranked.sort_by(|(a, one), (b, other)| ranking::better((one.0, one.1, a), (other.0, other.1, b)));
        let first = ranked.first().map_or(0.0, |(_, (score, _))| *score);
        let mut found = Vec::with_capacity(ranked.len());
        for (id, (score, _)) in ranked {
            let Some(claim) = self.claim_summary(&id)? else { continue };
            found.push((claim, if first > 0.0 { score / first } else { 0.0 }));
        }
        Ok(found)
    }

    /// Decisions in force and confirmed claims, the most trusted first, and of equals those with the widest scope.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn standing(&self, limit: usize) -> Result<Vec<ClaimSummary>, StoreError> {
        let mut rows: BTreeMap<String, (i64, i64, i64)> = BTreeMap::new();
        for (sql, status) in [(SETTLED, Status::Confirmed), (DECIDED, Status::Deprecated)] {
            let mut statement = self.db.prepare_cached(sql)?;
            let found =
                self.kept_of(statement.query(rusqlite::params![status.as_str(), STANDING as i64])?, |row| {
                    let scopes: Vec<String> =
                        serde_json::from_str(&row.get::<_, String>(2)?).map_err(malformed)?;
                    let trust = (row.get::<_, f64>(1)? * 100.0).round() as i64;
                    Ok::<_, StoreError>((row.get::<_, String>(0)?, (trust, reach(&scopes), row.get(3)?)))
                })?;
            rows.extend(found.into_iter().filter(|(id, _)| !self.is_expired(id)));
        }
        let mut ranked: Vec<(String, (i64, i64, i64))> = rows.into_iter().collect();
        ranked.sort_by(|(_, one), (_, other)| other.cmp(one));
        let mut found = Vec::new();
        for (id, _) in ranked.into_iter().take(limit) {
            found.extend(self.claim_summary(&id)?);
        }
        Ok(found)
    }

    /// What decisions were chosen over, by their ids.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn rejected_by(&self, decisions: &[&str]) -> Result<BTreeMap<String, Vec<Rejected>>, StoreError> {
        let mut statement = self.db.prepare_cached(ALTERNATIVES)?;
        let rows = statement.query([serde_json::to_string(decisions).map_err(malformed)?])?;
        let found = self.kept_of(rows, |row| {
            let rejected = Rejected { statement: row.get(1)?, because: row.get(2)? };
            Ok::<_, rusqlite::Error>((row.get::<_, String>(0)?, rejected))
        })?;
        let mut all: BTreeMap<String, Vec<Rejected>> = BTreeMap::new();
        for (id, rejected) in found {
            all.entry(id).or_default().push(rejected);
        }
        Ok(all)
    }

    /// What claims took the place of, by their ids: of several the last.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn replaced_by(&self, claims: &[&str]) -> Result<BTreeMap<String, Replaced>, StoreError> {
        let mut statement = self.db.prepare_cached(PREDECESSORS)?;
        let rows = statement.query([serde_json::to_string(claims).map_err(malformed)?])?;
        let found = self.kept_of(rows, |row| {
            let claim_type = row.get::<_, String>(2)?.parse().map_err(malformed)?;
            let replaced = Replaced { statement: row.get(1)?, claim_type, mended: row.get(3)? };
            Ok::<_, StoreError>((row.get::<_, String>(0)?, replaced))
        })?;
        Ok(found.into_iter().collect())
    }
}
