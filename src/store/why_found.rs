//! Why a search found a claim: the parts of its score.

use std::collections::HashMap;

use rusqlite::OptionalExtension;
use serde::Serialize;

use super::search::Search;
use super::{Reader, StoreError};
use crate::domain::confidence::Standing;
use crate::domain::ids::ClaimId;
use crate::domain::ranking::{Candidate, Question, Weights, own_nearness, shares};
use crate::domain::scope::Scope;

const COMPARED: &str = "SELECT id, tokens, scopes, confidence, supports, challenges, reproduced, evidence \
     FROM claims WHERE created_seq = ?1";

/// The parts of a score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Why {
    /// The claim whose text was compared: the claim itself, or one that it superseded.
    pub compared: ClaimId,
    /// The words of the question in its text, as the index has them.
    pub words: Vec<String>,
    /// How well it answers by these words, as a share of the best answer.
    pub by_words: f64,
    /// How alike its meaning is to that of the question, from -1 to 1. `None` if meanings were not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cosine: Option<f64>,
    /// What the identifiers of the question in its text add.
    pub identifiers: f64,
    /// What the better one of its neighbours adds: the claims that its author made before and after it in that session.
    pub neighbours: f64,
    /// What its fate adds, if the question names one, such as `bug`.
    pub fate: f64,
    /// Its scopes that match the scope of the search.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// Number of linked events.
    pub evidence: u32,
    /// Its confidence without decay, 0 to 1.
    pub confidence: f64,
}

/// The parts of a candidate's nearness.
#[derive(Debug, Clone, Copy, Default)]
struct Parts {
    words: f64,
    cosine: f64,
    named: f64,
    own: f64,
}

/// What is needed to say why claims were found.
pub(super) struct Grounds<'a> {
    search: &'a Search,
    question: &'a Question,
    weights: Weights,
    parts: HashMap<u64, Parts>,
    /// The nearness with neighbours.
    near: HashMap<u64, f64>,
    /// The nearness with all parts.
    all: HashMap<u64, f64>,
}

impl<'a> Grounds<'a> {
    /// The grounds of the candidates of a search. `near` and `all` are their nearness without and with their fates.
    pub(super) fn of(
        search: &'a Search,
        question: &'a Question,
        candidates: &[Candidate],
        weights: Weights,
        [near, all]: [&[(f64, u64)]; 2],
    ) -> Self {
        let words = shares(candidates.iter().map(|candidate| candidate.relevance).collect());
        let own = own_nearness(candidates, weights);
        let parts = candidates.iter().zip(words.into_iter().zip(own));
        let parts = parts.map(|(candidate, (words, own))| {
            let (named, cosine) = (candidate.gain_by_name(), candidate.cosine);
            (candidate.seq, Parts { words, cosine, named, own })
        });
        let by_seq = |near: &[(f64, u64)]| near.iter().map(|(near, seq)| (*seq, *near)).collect();
        Self { search, question, weights, parts: parts.collect(), near: by_seq(near), all: by_seq(all) }
    }

    /// Why the claim created at `seq` was found.
    pub(super) fn why(&self, reader: &Reader, seq: u64) -> Result<Option<Why>, StoreError> {
        let parts = self.parts.get(&seq).copied().unwrap_or_default();
        let near = self.near.get(&seq).copied().unwrap_or_default();
        let all = self.all.get(&seq).copied().unwrap_or_default();
        let mut statement = reader.db.prepare_cached(COMPARED)?;
        let row = statement
            .query_row([super::rows::bound(seq)], |row| {
                let trust = Standing {
                    base: row.get("confidence")?,
                    supports: row.get("supports")?,
                    challenges: row.get("challenges")?,
                    reproduced: row.get("reproduced")?,
                };
                let (tokens, scopes): (String, String) = (row.get("tokens")?, row.get("scopes")?);
                Ok((row.get("id")?, tokens, scopes, trust.undecayed(), row.get("evidence")?))
            })
            .optional()?;
        let Some((compared, tokens, scopes, confidence, evidence)) = row else { return Ok(None) };
        let words = self.question.words().iter().filter(|word| tokens.split(' ').any(|token| token == *word));
        Ok(Some(Why {
            compared,
            words: words.cloned().collect(),
            by_words: thousandths(parts.words),
            cosine: self.weights.compares_meanings().then(|| thousandths(parts.cosine)),
            identifiers: thousandths(parts.named),
            neighbours: thousandths(near - parts.own),
            fate: thousandths(all - near),
            scopes: self.matching(&scopes),
            evidence,
            confidence: thousandths(confidence),
        }))
    }

    /// The scopes of a claim that the scope of the search includes, or that include it.
    fn matching(&self, scopes: &str) -> Vec<String> {
        let Some(asked) = &self.search.filter.scope else { return Vec::new() };
        let scopes: Vec<Scope> = serde_json::from_str(scopes).unwrap_or_default();
        let matches = |scope: &Scope| asked.is_at(std::slice::from_ref(scope));
        scopes.iter().filter(|scope| matches(scope)).map(|scope| scope.as_str().to_owned()).collect()
    }
}

fn thousandths(number: f64) -> f64 {
    (number * 1_000.0).round() / 1_000.0
}
