//! Search: words and filters in, claims by their score out.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::str::FromStr;

use rusqlite::{OptionalExtension, params_from_iter};
use serde::Serialize;

use super::claims::{ClaimFilter, ClaimSummary};
use super::index::Around;
use super::model_vectors::ByModel;
use super::rows::{Columns, InOrder, Json, Select, bound, made_at, malformed, only};
use super::vectors::{Alike, in_order};
use super::why_found::{Grounds, Why};
use super::{Reader, StoreError};
use crate::domain::aliases::aliases;
use crate::domain::claim::{SearchMode, Status};
use crate::domain::confidence::Standing;
use crate::domain::ids::ClaimId;
use crate::domain::ranking::{self, Candidate, Corpus, Question, Vectors, Way, Weights};
use crate::domain::tokens::{identifiers, tokens};
use crate::domain::vectors::{Vector, cosine, product, vector};

/// What is read of a question; as long as a statement may be.
const MAX_QUERY_CHARS: usize = 2_000;
/// Words of a question that are looked for; a pasted page asks no more precisely than its first words.
const MAX_QUERY_TOKENS: usize = 32;
/// Claims that are scored, the best ones by BM25: this bounds the time of a search.
const CANDIDATES: usize = 400;
/// As many for a page of few hits. On LoCoMo recall and rank of the first ten are the same as with twice as many.
const CANDIDATES_OF_A_PAGE: usize = 200;
/// The hits up to which a page has few, with those of the pages before it.
const FEW: usize = 50;

/// Claims that are scored because of their meaning, the most alike ones.
const ALIKE: usize = 100;
/// The least product of a question and a claim that is found by its meaning alone, by the table and by a model: cosines
/// of 0.33 and 0.4. On the halves `dev` of the corpora, most questions about something else find nothing then, and hardly
/// an answer is lost.
const LEAST: i32 = product(0.33);
const LEAST_BY_MODEL: i32 = product(0.4);
/// The most tokens whose counts are kept.
const MOST_COUNTED: usize = 10_000;
/// The most alike claims that are looked at if a filter that is not in the index may leave out most of them.
const LOOKED_AT: usize = 4_000;

const CORPUS: &str = "SELECT claims, tokens FROM projection WHERE id = 1";
const NEWEST: &str = "SELECT max(created_seq) FROM claims";
const CLAIMS_WITH: &str = "SELECT doc FROM claim_vocabulary WHERE term = ?1 AND col = 't'";
const TEXT_OF_CLAIM: &str = "SELECT c.tokens, c.statement, EXISTS (SELECT 1 FROM claims o WHERE o.superseded_by = c.id) AS is_successor FROM claims c WHERE c.id = ?1";

const TEXTS: &str = "SELECT c.created_seq, c.previous, c.tokens FROM json_each(?1) \
     CROSS JOIN claims c ON c.created_seq = json_each.value";
const FOUND: &str = "SELECT id, status, superseded_by, confidence, evidence, supports, challenges, reproduced \
     FROM claims WHERE created_seq = ?1";

/// The meaning of a question by the static table and by a model, where they are compared. The table is for the claims
/// that the model has not read.
pub(super) type Meanings<'a> = (Option<&'a Vector>, Option<&'a ByModel>);

/// What to look for. Any text is a question; one without words has no answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// The question, in any words.
    pub query: String,
    /// How much of the past to look at.
    pub mode: SearchMode,
    /// Which claims may answer, and how many; `in_force` and `before` are not looked at.
    pub filter: ClaimFilter,
    /// What pages before this one showed; none on the first.
    pub seen: Seen,
    /// Whether to say why each claim was found.
    pub explain: bool,
}

/// The claims that earlier pages showed, by the ledger position of their creation. Scores move with every
/// write, so a place in the order would skip and repeat claims; what was seen stays seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen(BTreeSet<u64>);

/// Text that is no [`Seen`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is no cursor of a search: take it from the page before, as it is")]
pub struct BadCursor;

/// Steps between positions, in hex: the shortest text that an address takes as it is.
impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut last = 0;
        for (at, seq) in self.0.iter().enumerate() {
            write!(f, "{}{:x}", if at == 0 { "" } else { "." }, seq - last)?;
            last = *seq;
        }
        Ok(())
    }
}

impl FromStr for Seen {
    type Err = BadCursor;

    fn from_str(text: &str) -> Result<Self, BadCursor> {
        let mut last = 0_u64;
        let mut seen = BTreeSet::new();
        for step in text.split('.') {
            let step = u64::from_str_radix(step, 16).ok().filter(|step| *step > 0).ok_or(BadCursor)?;
            last = last.checked_add(step).ok_or(BadCursor)?;
            seen.insert(last);
        }
        Ok(Self(seen))
    }
}

impl Serialize for Seen {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A claim that answers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hit {
    /// The claim, as lists show it.
    #[serde(flatten)]
    pub claim: ClaimSummary,
    /// How well it answers; comparable within one answer only.
    pub score: f64,
    /// Superseded claims that were found and led here, best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub found_through: Vec<ClaimId>,
    /// The parts of its score, if the search asks for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
}

/// The answer to a search, best first.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SearchPage {
    /// The claims.
    pub hits: Vec<Hit>,
    /// The cursor of the next page; none on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Seen>,
    /// Why meanings were compared otherwise than the configuration says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The numbers of claims that hold a token. To count them, FTS5 goes through all of these claims, so they are kept until a
/// claim is added, or its text is taken off.
#[derive(Debug, Default)]
pub(super) struct Frequencies {
    corpus: Corpus,
    /// Ledger position of the newest claim.
    newest: u64,
    with: HashMap<String, u64>,
}

impl Frequencies {
    fn of(&mut self, corpus: Corpus, newest: u64) -> &mut HashMap<String, u64> {
        if (self.corpus, self.newest) != (corpus, newest) || self.with.len() > MOST_COUNTED {
            *self = Self { corpus, newest, with: HashMap::new() };
        }
        &mut self.with
    }
}

/// A candidate's claim: what its score and whether it is shown depend on.
struct Found {
    id: ClaimId,
    status: Status,
    superseded_by: Option<ClaimId>,
    score: f64,
}

/// The best score a claim got, and the old claims that led to it.
pub(super) struct Credit {
    pub(super) score: f64,
    pub(super) seq: u64,
    /// Ledger position of the claim whose text has this score.
    compared: u64,
    through: Vec<(f64, u64, ClaimId)>,
}

/// What claims that may be shown were credited with, by id.
#[derive(Default)]
pub(super) struct Credits(HashMap<ClaimId, Credit>);

impl Credits {
    fn add(&mut self, id: ClaimId, (score, compared): (f64, u64), seq: u64) -> &mut Credit {
        let credit = self.0.entry(id).or_insert(Credit { score, seq, compared, through: Vec::new() });
        if score > credit.score {
            (credit.score, credit.compared) = (score, compared);
        }
        credit
    }

    /// Whether so many claims have a better score than this one.
    fn has_better(&self, score: f64, claims: usize) -> bool {
        self.0.values().filter(|credit| credit.score > score).count() >= claims
    }

    pub(super) fn ranked(self) -> Vec<(ClaimId, Credit)> {
        let mut ranked: Vec<(ClaimId, Credit)> = self.0.into_iter().collect();
        ranked.sort_by(|(a, one), (b, other)| {
            ranking::better((one.score, one.seq, a), (other.score, other.seq, b))
        });
        ranked
    }
}

impl Search {
    /// How many claims are scored.
    fn candidates(&self) -> usize {
        if self.filter.limit + self.seen.0.len() <= FEW { CANDIDATES_OF_A_PAGE } else { CANDIDATES }
    }

    /// What is read of the question.
    pub fn text(&self) -> String {
        self.query.chars().take(MAX_QUERY_CHARS).collect()
    }

    /// The words of the question.
    pub(super) fn tokens(&self) -> Vec<String> {
        let mut known = HashSet::new();
        tokens(&self.text())
            .into_iter()
            .take_while(|token| {
                known.insert(token.clone());
                known.len() <= MAX_QUERY_TOKENS
            })
            .collect()
    }

    /// The words of the question, then other names of what they name.
    fn names(&self) -> Vec<String> {
        let mut asked = self.tokens();
        let others: Vec<String> = asked.iter().flat_map(|token| aliases(token)).cloned().collect();
        for other in others {
            if !asked.contains(&other) {
                asked.push(other);
            }
        }
        asked
    }

    /// Whether a claim with this status may be shown.
    fn shows(&self, status: Status) -> bool {
        if self.filter.status.is_empty() {
            self.mode != SearchMode::Strict || status != Status::Deprecated
        } else {
            self.filter.status.contains(&status)
        }
    }

    /// Whether all claims in force are looked for, and no other ones.
    fn is_for_all_in_force(&self) -> bool {
        let ClaimFilter { id, status, since, until, .. } = &self.filter;
        self.mode == SearchMode::Strict
            && id.is_none()
            && status.is_empty()
            && since.is_none()
            && until.is_none()
    }

    /// Which claims may be shown, as a filter of lists.
    fn shown(&self) -> ClaimFilter {
        let in_force = self.mode == SearchMode::Strict;
        ClaimFilter { in_force, before: None, limit: 1, ..self.filter.clone() }
    }

    /// The question as FTS5 reads it: quoted words only, so that no text can be a syntax error.
    /// `around` is what the scope it is limited to is looked up by.
    fn expression(&self, way: &Way, around: &Around) -> String {
        let any = |words: &Vec<String>| {
            let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            format!("({})", words.join(" OR "))
        };
        let all = |parts: &Vec<Vec<String>>| {
            format!("({})", parts.iter().map(any).collect::<Vec<_>>().join(" AND "))
        };
        let ranked = way.ranked.iter().map(|words| format!("{} AND ", any(words))).collect::<String>();
        let found = way.found.iter().map(all).collect::<Vec<_>>().join(" OR ");
        let words = format!("t : ({ranked}({found}))");
        match self.filter.limits(around) {
            Some(limits) => format!("{words} AND {limits}"),
            None => words,
        }
    }
}

impl Reader {
    /// The claims that answer a question, best first.
    ///
    /// # Errors
    /// [`StoreError`]; never because of what the question says.
    pub fn search(&self, search: &Search) -> Result<SearchPage, StoreError> {
        self.search_with(search, None)
    }

    /// Like [`Reader::search`], but meanings are compared as a model has them, for claims that it has read.
    ///
    /// # Errors
    /// [`StoreError`]; never because of what the question says.
    pub fn search_with(&self, search: &Search, by_model: Option<&ByModel>) -> Result<SearchPage, StoreError> {
        self.found_by(search, (self.meaning(search).as_ref(), by_model))
    }

    /// Like [`Reader::search`], but claims are found by their words only.
    ///
    /// # Errors
    /// [`StoreError`]; never because of what the question says.
    pub fn search_by_words(&self, search: &Search) -> Result<SearchPage, StoreError> {
        self.found_by(search, (None, None))
    }

    fn found_by(&self, search: &Search, meanings: Meanings<'_>) -> Result<SearchPage, StoreError> {
        let question = self.question(&search.tokens())?.naming(identifiers(&search.text()));
        let (candidates, weights) = self.scored(search, &question, meanings)?;
        let is_answered = candidates.iter().any(|candidate| candidate.relevance > 0.0);
        let beside = self.beside(search, is_answered)?;
        let near = ranking::nearest(&candidates, weights);
        let nearest = ranking::nearest_with(near.clone(), &beside);
        let grounds = search.explain.then(|| {
            Grounds::of(search, &question, &candidates, weights, [near.as_slice(), nearest.as_slice()])
        });
        let mut ranked = self.credits(search, nearest)?.ranked();
        ranked.retain(|(_, credit)| !search.seen.0.contains(&credit.seq));
        let has_more = ranked.len() > search.filter.limit;
        ranked.truncate(search.filter.limit);
        let mut hits = Vec::with_capacity(ranked.len());
        let mut seen = search.seen.clone();
        let ids: Vec<ClaimId> = ranked.iter().map(|(id, _)| *id).collect();
        let mut claims: HashMap<ClaimId, ClaimSummary> =
            self.summaries(&ids)?.into_iter().map(|claim| (claim.id, claim)).collect();
        for (id, mut credit) in ranked {
            let Some(claim) = claims.remove(&id) else { continue };
            seen.0.insert(credit.seq);
            credit.through.sort_by(|a, b| ranking::better((a.0, a.1, &a.2), (b.0, b.1, &b.2)));
            let why =
                grounds.as_ref().map(|grounds| grounds.why(self, credit.compared)).transpose()?.flatten();
            let found_through = credit.through.into_iter().map(|(_, _, old)| old).collect();
            hits.push(Hit { claim, score: credit.score, found_through, why });
        }
        Ok(SearchPage { hits, next: has_more.then_some(seen), note: None })
    }

    /// Whether a change of this claim can change the answer: it passes the filters and holds a word of the
    /// question, is alike, or took the place of another claim, which may be the one that is found.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn may_answer(&self, search: &Search, id: ClaimId) -> Result<bool, StoreError> {
        let filter = ClaimFilter { id: Some(id), status: Vec::new(), in_force: false, ..search.shown() };
        let Some(claim) = self.claims(&filter)?.claims.pop() else { return Ok(false) };
        let asked = search.names();
        let meaning = self.meaning(search);
        let text: Option<(String, String, bool)> = self
            .db
            .prepare_cached(TEXT_OF_CLAIM)?
            .query_row([&claim.id], |row| {
                Ok((row.get("tokens")?, row.get("statement")?, row.get("is_successor")?))
            })
            .optional()?;
        let is_alike = |statement: &str| match (&meaning, vector(statement)) {
            (Some(meaning), Some(other)) => meaning.dot(&other.bytes()) >= LEAST,
            (None, _) | (_, None) => false,
        };
        Ok(text.is_some_and(|(tokens, statement, successor)| {
            successor
                || !search.natures().is_empty()
                || is_alike(&statement)
                || tokens.split(' ').any(|token| asked.iter().any(|asked| asked == token))
        }))
    }

    /// The question, weighed against what is known, with other names of what its words name.
    pub(super) fn question(&self, tokens: &[String]) -> Result<Question, StoreError> {
        let corpus = self
            .db
            .prepare_cached(CORPUS)?
            .query_row([], |row| {
                // Counts that cannot be read weigh no word.
                let count = |column| row.get(column).unwrap_or_default();
                Ok(Corpus { claims: count("claims"), tokens: count("tokens") })
            })
            .optional()?
            .unwrap_or_default();
        let mut counts = self.frequencies.borrow_mut();
        let newest: Option<u64> = self.db.prepare_cached(NEWEST)?.query_row([], only)?;
        let counts = counts.of(corpus, newest.unwrap_or(0));
        let mut count = self.db.prepare_cached(CLAIMS_WITH)?;
        for token in tokens.iter().flat_map(|token| std::iter::once(token).chain(aliases(token))) {
            if !counts.contains_key(token) {
                let claims = count.query_row([token], only).optional()?;
                counts.insert(token.clone(), claims.unwrap_or(0));
            }
        }
        Ok(Question::with_names(tokens, aliases, counts, corpus))
    }

    /// The claims most like the question.
    fn candidates(&self, search: &Search, question: &Question) -> Result<Vec<Candidate>, StoreError> {
        let around = self.around_of(&search.filter)?;
        let any = search.expression(&Way::any(question.words()), &around);
        // With a filter few claims pass, so the best need not be chosen here. FTS5 would score every claim that
        // contains a word, whatever the filter.
        if search.filter.limits(&around).is_some()
            && let Some(all) = self.matches(search, question, &any, Wanted::All)?
        {
            return Ok(all);
        }
        for way in question.ways() {
            let expression = search.expression(way, &around);
            let found = self.best(search, question, &expression)?;
            // A filter may leave out most of them.
            if found.len() >= ranking::ENOUGH {
                return Ok(found);
            }
        }
        self.best(search, question, &any)
    }

    /// The best claims that hold a word of the question.
    fn best(
        &self,
        search: &Search,
        question: &Question,
        expression: &str,
    ) -> Result<Vec<Candidate>, StoreError> {
        if search.is_for_all_in_force()
            && let Some(best) = self.matches(search, question, expression, Wanted::First)?
        {
            return Ok(best);
        }
        Ok(self.matches(search, question, expression, Wanted::Best)?.unwrap_or_default())
    }

    /// Claims that hold a word of the question. `None` if all are wanted and there are more than are scored, and if too
    /// few of the first ones pass.
    fn matches(
        &self,
        search: &Search,
        question: &Question,
        expression: &str,
        wanted: Wanted,
    ) -> Result<Option<Vec<Candidate>>, StoreError> {
        let most = search.candidates();
        let (sql, select) = candidates_sql(search, expression, wanted, self.expired_ids());
        let mut statement = self.db.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(select.values))?;
        let (mut candidates, columns, mut looked_at) = (Vec::new(), Columns::default(), 0);
        while let Some(row) = rows.next()? {
            if candidates.len() == most {
                return Ok((wanted != Wanted::All).then_some(candidates));
            }
            looked_at += 1;
            if row.get("passes")? {
                candidates.extend(self.kept(row, |row| candidate(&columns.of(row), question))?);
            }
        }
        Ok((wanted != Wanted::First || looked_at < 2 * most).then_some(candidates))
    }

    /// The meaning of a question. `None` if meanings are not compared.
    pub(super) fn meaning(&self, search: &Search) -> Option<Vector> {
        let asked = || vector(&search.text());
        (self.vectors.get() == Vectors::Static).then(asked).flatten()
    }

    /// The claims that may answer, by their words and by their meaning, and how the two are weighed.
    pub(super) fn scored(
        &self,
        search: &Search,
        question: &Question,
        meanings: Meanings<'_>,
    ) -> Result<(Vec<Candidate>, Weights), StoreError> {
        let mut candidates =
            if question.words().is_empty() { Vec::new() } else { self.candidates(search, question)? };
        if meanings == (None, None) {
            return Ok((candidates, Weights::WORDS));
        }
        self.add_meanings(search, question, meanings, &mut candidates)?;
        Ok((candidates, Weights::MEANING))
    }

    /// Compares the meaning of the candidates with that of the question, and adds the claims whose meaning is most
    /// alike.
    fn add_meanings(
        &self,
        search: &Search,
        question: &Question,
        (by_table, by_model): Meanings<'_>,
        candidates: &mut Vec<Candidate>,
    ) -> Result<(), StoreError> {
        let held = in_order(candidates.iter().map(|candidate| candidate.seq));
        let limits = search.filter.limits(&self.around_of(&search.filter)?);
        let among = self.among(limits.as_deref())?;
        let looked_at = if search.filter.is_within_index() { ALIKE } else { LOOKED_AT };
        let (mut alike, mut after) = (Alike::default(), 0);
        if let Some(asked) = by_model {
            (alike, after) =
                self.alike_by_model(asked, among.as_deref(), &held, (LEAST_BY_MODEL, looked_at))?;
        }
        if let Some(meaning) = by_table {
            let by_table = self.alike(meaning, (among.as_deref(), after), &held, (LEAST, looked_at))?;
            alike = alike.and(by_table, looked_at);
        }
        let mut more: Vec<u64> =
            alike.best.into_iter().filter(|seq| held.binary_search(seq).is_err()).collect();
        if search.mode == SearchMode::Strict || !search.filter.is_within_index() {
            more = self.passing(search, &more)?;
        }
        more.truncate(ALIKE);
        candidates.extend(self.texts_at(&more, question)?);
        for candidate in candidates {
            candidate.cosine = alike.dots.get(&candidate.seq).copied().map_or(0.0, cosine);
        }
        Ok(())
    }

    /// Those of some claims that pass the filters that are not in the index, in the same order.
    fn passing(&self, search: &Search, seqs: &[u64]) -> Result<Vec<u64>, StoreError> {
        let mut select = Select::default();
        let listed = select.bind(serde_json::json!(seqs).to_string());
        let conditions = conditions(search, &mut select, self.expired_ids());
        let sql = format!(
            "SELECT f.created_seq FROM json_each({listed}) CROSS JOIN claims f \
             ON f.created_seq = json_each.value{conditions}"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let passing: HashSet<u64> =
            self.kept_of(statement.query(params_from_iter(select.values))?, only)?.into_iter().collect();
        Ok(seqs.iter().copied().filter(|seq| passing.contains(seq)).collect())
    }

    /// Claims as candidates, by the ledger positions of their creation.
    fn texts_at(&self, seqs: &[u64], question: &Question) -> Result<Vec<Candidate>, StoreError> {
        let mut statement = self.db.prepare_cached(TEXTS)?;
        let rows = statement.query([Json(&seqs)])?;
        let columns = Columns::default();
        self.kept_of(rows, |row| candidate(&columns.of(row), question))
    }

    /// Credits the claims that may be shown, nearest first, until no other can be among the best. A
    /// superseded claim credits the one in force.
    pub(super) fn credits(&self, search: &Search, nearest: Vec<(f64, u64)>) -> Result<Credits, StoreError> {
        // One more than is shown says whether there is a next page.
        let wanted = search.filter.limit + search.seen.0.len() + 1;
        let mut credits = Credits::default();
        let (mut ends, columns) = (HashMap::new(), Columns::default());
        for (near, seq) in nearest {
            if credits.has_better(ranking::ceiling(near), wanted) {
                break;
            }
            let Some(hit) = self.found(seq, near, &columns)? else { continue };
            let current = match self.current(&hit, &mut ends)? {
                Some(id) => self.shown_seq(search, id)?.map(|seq| (id, seq)),
                None => None,
            };
            if search.shows(hit.status) && (current.is_none() || search.mode == SearchMode::Audit) {
                credits.add(hit.id, (hit.score, seq), seq);
            }
            if let Some((current, current_seq)) = current {
                credits.add(current, (hit.score, seq), current_seq).through.push((hit.score, seq, hit.id));
            }
        }
        Ok(credits)
    }

    /// The claim created at `seq`, scored. `columns` are those of all such reads.
    fn found(&self, seq: u64, near: f64, columns: &Columns) -> Result<Option<Found>, StoreError> {
        let mut statement = self.db.prepare_cached(FOUND)?;
        self.kept_one(statement.query([bound(seq)])?, |row| {
            let row = columns.of(row);
            let trust = Standing {
                base: row.get("confidence")?,
                supports: row.get("supports")?,
                challenges: row.get("challenges")?,
                reproduced: row.get("reproduced")?,
            }
            .undecayed();
            let id: ClaimId = row.get("id")?;
            let stands = row.text("status")?.parse().map_err(malformed)?;
            Ok::<_, StoreError>(Found {
                status: self.status_of(id, stands),
                id,
                superseded_by: row.get("superseded_by")?,
                score: ranking::score(near, row.get("evidence")?, trust),
            })
        })
    }

    /// The claim in force now, where `hit` was superseded. `ends` keeps where chains led: each link is read once a
    /// search.
    fn current(
        &self,
        hit: &Found,
        ends: &mut HashMap<ClaimId, ClaimId>,
    ) -> Result<Option<ClaimId>, StoreError> {
        if hit.superseded_by.is_none() {
            return Ok(None);
        }
        let mut chain = ranking::successors(hit.id, |id| match ends.get(&id) {
            Some(end) => Ok(Some(*end)),
            None if id == hit.id => Ok(hit.superseded_by),
            None => self.successor(id),
        })?;
        let Some(end) = chain.pop() else { return Ok(None) };
        chain.push(hit.id);
        ends.extend(chain.into_iter().map(|id| (id, end)));
        Ok(Some(end))
    }

    /// Where a claim was created, if it may be shown.
    fn shown_seq(&self, search: &Search, id: ClaimId) -> Result<Option<u64>, StoreError> {
        let page = self.claims(&ClaimFilter { id: Some(id), ..search.shown() })?;
        Ok(page.claims.first().map(|claim| claim.created_seq))
    }
}

/// A candidate from a row, not compared by meaning yet.
fn candidate(row: &InOrder<'_, '_>, question: &Question) -> Result<Candidate, StoreError> {
    let tokens = row.text("tokens")?.split_ascii_whitespace();
    let (named, relevance) = (question.named(tokens.clone()), question.relevance(tokens));
    Ok(Candidate {
        seq: row.get("created_seq")?,
        previous: row.get("previous")?,
        relevance,
        named,
        cosine: 0.0,
    })
}

/// Which of the claims that hold a word of the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// All of them, unless they are more than are scored.
    All,
    /// As many as are scored of the best of them, if nearly all may be shown. Only these are looked at, and not each claim
    /// with a word.
    First,
    /// As many as are scored, the best of them.
    Best,
}

/// The query for candidates, and what is bound in it.
fn candidates_sql(
    search: &Search,
    expression: &str,
    wanted: Wanted,
    expired: Option<String>,
) -> (String, Select) {
    let mut select = Select::default();
    let expression = select.bind(expression.to_owned());
    let conditions = conditions(search, &mut select, expired);
    let is_later = wanted == Wanted::First;
    // What is in the index already needs no look at the claim.
    let join = if conditions.is_empty() || is_later {
        String::new()
    } else {
        format!("CROSS JOIN claims f ON f.created_seq = claim_index.rowid{conditions}")
    };
    let passes = if is_later { format!("(TRUE{conditions})") } else { "TRUE".to_owned() };
    let (order, limit) = match wanted {
        Wanted::All => ("", search.candidates() + 1),
        // Twice as many, so that as many may be out of force.
        Wanted::First => ("ORDER BY claim_index.rank, claim_index.rowid", 2 * search.candidates()),
        Wanted::Best => ("ORDER BY claim_index.rank, claim_index.rowid", search.candidates()),
    };
    let sql = format!(
        "WITH top AS MATERIALIZED (SELECT claim_index.rowid AS created_seq FROM claim_index {join} \
         WHERE claim_index MATCH {expression} {order} LIMIT {limit}) \
         SELECT f.created_seq, f.previous, f.tokens, {passes} AS passes \
         FROM top CROSS JOIN claims f ON f.created_seq = top.created_seq"
    );
    (sql, select)
}

/// What a claim `f` must fulfil besides what the index knows: nothing, or conditions that begin with AND.
fn conditions(search: &Search, select: &mut Select, expired: Option<String>) -> String {
    let mut join = String::new();
    let ClaimFilter { id, status, since, until, .. } = &search.filter;
    // Claims that were superseded stay: they lead to one that may be shown.
    if !status.is_empty() {
        let wanted: Vec<&str> = status.iter().map(|status| status.as_str()).collect();
        let wanted = select.bind(serde_json::json!(wanted).to_string());
        // One whose time is over stands as what it was, and is deprecated.
        let expired = expired.map(|expired| select.bind(expired));
        let expired = expired.map(|expired| format!(" OR f.id IN (SELECT value FROM json_each({expired}))"));
        join.push_str(&format!(
            " AND (f.status IN (SELECT value FROM json_each({wanted})) OR f.superseded_by IS NOT NULL{})",
            expired.unwrap_or_default()
        ));
    } else if search.mode == SearchMode::Strict {
        let gone = select.bind(Status::Deprecated.as_str());
        join.push_str(&format!(" AND (f.status <> {gone} OR f.superseded_by IS NOT NULL)"));
    }
    for (moment, comparison) in [(since, ">="), (until, "<=")] {
        let Some((column, value)) = moment.map(made_at) else { continue };
        join.push_str(&format!(" AND f.{column} {comparison} {}", select.bind(value)));
    }
    if let Some(id) = id {
        join.push_str(&format!(" AND f.id = {}", select.bind(id.to_string())));
    }
    join
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written_and_nothing_else_is_one() {
        for seqs in [vec![1], vec![3, 4, 1_000], vec![u64::MAX]] {
            let seen = Seen(seqs.into_iter().collect());
            assert_eq!(seen.to_string().parse(), Ok(seen));
        }
        for text in ["", "0", "x", "1.", "1.0", "-1", "ffffffffffffffff.1", "1 2"] {
            assert_eq!(text.parse::<Seen>(), Err(BadCursor), "{text:?}");
        }
    }
}
