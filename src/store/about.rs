//! The queries of a pack about the current work: the claims that belong to it, settled claims, and superseded claims.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::claims::ClaimFilter;
use super::rows::{Columns, Json, json, only};
use super::search::{Search, Seen};
use super::{ClaimSummary, Reader, StoreError};
use crate::domain::amendment::Change;
use crate::domain::claim::{ClaimType, SearchMode};
use crate::domain::ids::ClaimId;
use crate::domain::kin::{Kin, Member};
use crate::domain::ranking::{self, Candidate, Weights};
use crate::domain::relevance::reach;
use crate::domain::scope::Scope;

/// Maximum number of claims to choose the most trusted from, newest first. More would take too long for a pack.
const STANDING: usize = 500;

/// Maximum number of candidates by words: among all claims, and among those at the places of the work.
const POOL: usize = 150;
/// Maximum number of scopes of the best hits at which to find further claims, and of such claims.
const MAX_BESIDE: usize = 6;
const BESIDE: usize = 100;

const MEMBERS: &str = "SELECT c.created_seq, c.previous, c.tokens, c.scopes, d.rationale || ' ' || coalesce(( \
       SELECT group_concat(o.statement || ' ' || a.rejection_reason, ' ' ORDER BY a.seq, a.alternative_id) \
       FROM decision_alternatives a CROSS JOIN claims o ON o.id = a.alternative_id WHERE a.decision_id = d.claim_id), '') AS reasons \
     FROM json_each(?1) CROSS JOIN claims c ON c.created_seq = json_each.value \
     LEFT JOIN decisions d ON c.claim_type = 'decision' AND d.claim_id = c.id";
const NEWEST_AT: &str =
    "SELECT rowid FROM claim_index WHERE claim_index MATCH ?1 ORDER BY rowid DESC LIMIT ?2";
const SETTLED: &str = "SELECT c.id, c.confidence, c.scopes, c.created_seq FROM claims c INDEXED BY claims_standing \
     WHERE c.status = 'confirmed' AND c.created_seq > 0 ORDER BY c.created_seq DESC LIMIT ?1";
const DECIDED: &str = "SELECT c.id, c.confidence, c.scopes, c.created_seq FROM decisions d CROSS JOIN claims c \
     ON c.id = d.claim_id WHERE d.created_seq > 0 AND c.status <> 'deprecated' ORDER BY d.created_seq DESC LIMIT ?1";
const ALTERNATIVES: &str = "SELECT a.decision_id, c.statement, a.rejection_reason FROM json_each(?1) \
     CROSS JOIN decision_alternatives a ON a.decision_id = json_each.value \
     CROSS JOIN claims c ON c.id = a.alternative_id ORDER BY a.decision_id, a.seq, a.alternative_id";
const PREDECESSORS: &str = "SELECT c.superseded_by, c.statement, c.claim_type, c.mended, c.id FROM json_each(?1) \
     CROSS JOIN claims c ON c.superseded_by = json_each.value ORDER BY c.superseded_by, c.created_seq";

/// A claim that belongs to the subject of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Belonging {
    /// The claim.
    pub claim: ClaimSummary,
    /// Its score by words alone, as a share of the best.
    pub words: f64,
    /// Its whole score, which includes related claims, as a share of the best.
    pub all: f64,
}

/// How alike each candidate is to the question.
fn compared(candidates: &[Candidate]) -> impl Iterator<Item = (u64, f64)> {
    candidates.iter().map(|candidate| (candidate.seq, candidate.cosine))
}

/// The best candidates. Others add nothing to the subject of the work.
fn best_of(candidates: Vec<Candidate>, weights: Weights) -> impl Iterator<Item = u64> {
    let own = ranking::own_nearness(&candidates, weights);
    let mut best: Vec<(f64, u64)> =
        own.into_iter().zip(candidates).map(|(own, candidate)| (own, candidate.seq)).collect();
    best.sort_by(|one, other| other.0.total_cmp(&one.0).then(other.1.cmp(&one.1)));
    best.into_iter().take(POOL).map(|(_, seq)| seq)
}

/// An option that a decision rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// Its statement.
    pub statement: String,
    /// The reason of the rejection.
    pub because: String,
}

/// A superseded claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// Its id.
    pub id: ClaimId,
    /// Its statement.
    pub statement: String,
    /// Its type.
    pub claim_type: ClaimType,
    /// Whether it was right, and its successor mended its problem.
    pub mended: bool,
    /// The ids of the other claims that its successor superseded.
    pub others: Vec<ClaimId>,
}

impl Reader {
    /// Claims in force that belong to `text`, best first: at most `limit` among all, and as many among those at
    /// `places`. Empty for a text without words.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn about(&self, text: &str, places: &[Scope], limit: usize) -> Result<Vec<Belonging>, StoreError> {
        let filter = ClaimFilter { limit, ..ClaimFilter::default() };
        let everywhere = Search {
            query: text.to_owned(),
            mode: SearchMode::Strict,
            filter,
            seen: Seen::default(),
            explain: false,
        };
        let question = self.question(&everywhere.tokens())?;
        let meaning = self.meaning(&everywhere);
        let (found, weights) = self.scored(&everywhere, &question, (meaning.as_ref(), None))?;
        let mut cosines: HashMap<u64, f64> = compared(&found).collect();
        let mut pool: BTreeSet<u64> = best_of(found, weights).collect();
        let mut here = BTreeSet::new();
        if !places.is_empty() {
            let filter = ClaimFilter { places: places.to_vec(), ..everywhere.filter.clone() };
            let narrow = Search { filter, ..everywhere.clone() };
            let (found, weights) = self.scored(&narrow, &question, (meaning.as_ref(), None))?;
            cosines.extend(compared(&found));
            here.extend(best_of(found, weights));
            pool.extend(&here);
        }
        if pool.is_empty() {
            return Ok(Vec::new());
        }
        let mut kin = Kin::of(&question, weights);
        kin.add(self.members(&pool, &cosines)?);
        let beside: Vec<Scope> =
            kin.best_scopes(MAX_BESIDE).into_iter().filter_map(|scope| scope.parse().ok()).collect();
        let beside: BTreeSet<u64> = self.newest_at(beside)?.difference(&pool).copied().collect();
        if let Some(meaning) = &meaning {
            self.add_cosines(meaning, &beside, &mut cosines)?;
        }
        kin.add(self.members(&beside, &cosines)?);
        let nearest = kin.nearest();
        let words: BTreeMap<u64, f64> = nearest.iter().map(|near| (near.seq, near.words)).collect();
        let all: Vec<(f64, u64)> = nearest.iter().map(|near| (near.all, near.seq)).collect();
        let near: Vec<(f64, u64)> = all.iter().copied().filter(|(_, seq)| here.contains(seq)).collect();
        let mut best: BTreeMap<ClaimId, (f64, u64)> = BTreeMap::new();
        for nearest in [all, near] {
            for (id, credit) in self.credits(&everywhere, nearest)?.ranked().into_iter().take(limit) {
                best.insert(id, (credit.score, credit.seq));
            }
        }
        let mut ranked: Vec<(ClaimId, (f64, u64))> = best.into_iter().collect();
        ranked.sort_by(|(a, one), (b, other)| ranking::better((one.0, one.1, a), (other.0, other.1, b)));
        let first = ranked.first().map_or(0.0, |(_, (score, _))| *score);
        let ids: Vec<ClaimId> = ranked.iter().map(|(id, _)| *id).collect();
        let scores: BTreeMap<ClaimId, (f64, u64)> = ranked.into_iter().collect();
        let belonging = self.summaries(&ids)?.into_iter().map(|claim| {
            let (score, seq) = scores[&claim.id];
            let all = if first > 0.0 { score / first } else { 0.0 };
            Belonging { claim, words: words.get(&seq).copied().unwrap_or_default(), all }
        });
        Ok(belonging.collect())
    }

    /// The texts and the scopes of claims, by the ledger positions of their creation.
    fn members(&self, seqs: &BTreeSet<u64>, cosines: &HashMap<u64, f64>) -> Result<Vec<Member>, StoreError> {
        let mut statement = self.db.prepare_cached(MEMBERS)?;
        let rows = statement.query([Json(seqs)])?;
        self.kept_of(rows, |row| {
            let seq = row.get("created_seq")?;
            Ok::<_, StoreError>(Member {
                seq,
                cosine: cosines.get(&seq).copied().unwrap_or_default(),
                previous: row.get("previous")?,
                tokens: row.get("tokens")?,
                scopes: json(row, "scopes")?,
                reasons: row.get("reasons")?,
            })
        })
    }

    /// The newest claims at some places.
    fn newest_at(&self, places: Vec<Scope>) -> Result<BTreeSet<u64>, StoreError> {
        let filter = ClaimFilter { places, ..ClaimFilter::default() };
        let Some(limits) = filter.limits(&self.around_of(&filter)?) else { return Ok(BTreeSet::new()) };
        let mut statement = self.db.prepare_cached(NEWEST_AT)?;
        let rows = statement.query(rusqlite::params![limits, BESIDE])?;
        Ok(self.kept_of(rows, only)?.into_iter().collect())
    }

    /// Decisions in force and confirmed claims, the most trusted first. Among equals, the widest scope comes first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn standing(&self, limit: usize) -> Result<Vec<ClaimSummary>, StoreError> {
        let mut rows: BTreeMap<ClaimId, (i64, i64, i64)> = BTreeMap::new();
        for sql in [SETTLED, DECIDED] {
            let mut statement = self.db.prepare_cached(sql)?;
            let columns = Columns::default();
            let found = self.kept_of(statement.query([STANDING])?, |row| {
                let row = columns.of(row);
                let (id, trust) = (row.get("id")?, (row.get::<f64>("confidence")? * 100.0).round() as i64);
                let scopes: Vec<String> = row.json("scopes")?;
                Ok::<_, StoreError>((id, (trust, reach(&scopes), row.get("created_seq")?)))
            })?;
            rows.extend(found.into_iter().filter(|(id, _)| !self.is_expired(*id)));
        }
        let mut ranked: Vec<(ClaimId, (i64, i64, i64))> = rows.into_iter().collect();
        ranked.sort_by(|(_, one), (_, other)| other.cmp(one));
        let ranked: Vec<ClaimId> = ranked.into_iter().take(limit).map(|(id, _)| id).collect();
        self.summaries(&ranked)
    }

    /// The options that decisions rejected, by the ids of the decisions.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn rejected_by(&self, decisions: &[ClaimId]) -> Result<BTreeMap<ClaimId, Vec<Rejected>>, StoreError> {
        let mut statement = self.db.prepare_cached(ALTERNATIVES)?;
        let rows = statement.query([Json(decisions)])?;
        let found = self.kept_of(rows, |row| {
            let rejected =
                Rejected { statement: row.get("statement")?, because: row.get("rejection_reason")? };
            Ok::<_, rusqlite::Error>((row.get("decision_id")?, rejected))
        })?;
        let mut all: BTreeMap<ClaimId, Vec<Rejected>> = BTreeMap::new();
        for (id, rejected) in found {
            all.entry(id).or_default().push(rejected);
        }
        Ok(all)
    }

    /// The claims that others superseded, by the ids of their successors. A successor of several has the one
    /// that it names, else the last one whose text it amends, else the last one, with the ids of the others.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn replaced_by(&self, claims: &[ClaimId]) -> Result<BTreeMap<ClaimId, Replaced>, StoreError> {
        let mut statement = self.db.prepare_cached(PREDECESSORS)?;
        let rows = statement.query([Json(claims)])?;
        let found = self.kept_of(rows, |row| {
            let replaced = Replaced {
                id: row.get("id")?,
                statement: row.get("statement")?,
                claim_type: row.get("claim_type")?,
                mended: row.get("mended")?,
                others: Vec::new(),
            };
            Ok::<_, rusqlite::Error>((row.get::<_, ClaimId>("superseded_by")?, replaced))
        })?;
        let mut several: BTreeMap<ClaimId, Vec<Replaced>> = BTreeMap::new();
        for (by, replaced) in found {
            several.entry(by).or_default().push(replaced);
        }
        let mut chosen = BTreeMap::new();
        for (by, mut old) in several {
            if old.len() > 1
                && let Some(new) = self.claim_summary(by)?
            {
                let named = self.mentions(&new.statement, new.created_seq)?;
                let amends = |old: &Replaced| Change::between(&old.statement, &new.statement).is_some();
                old.sort_by_cached_key(|old| (named.contains(&old.id), amends(old)));
            }
            let Some(best) = old.pop() else { continue };
            chosen.insert(by, Replaced { others: old.into_iter().map(|old| old.id).collect(), ..best });
        }
        Ok(chosen)
    }
}
