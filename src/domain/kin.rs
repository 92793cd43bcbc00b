//! Finds claims that belong to a piece of work although they share few words with it: claims with the words of the
//! best answers, and claims at the same scopes. Pure, without a clock.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::ranking::{Candidate, Corpus, Question, Weights, nearness, shares};
use super::tokens::tokens;

// The constants below were tuned on the `dev` half of the pack's corpus.

/// The number of best answers that contribute words.
const TAUGHT_BY: usize = 10;
/// The number of words taken from them.
const WORDS: usize = 15;
/// The weight of these words relative to those of the question.
const OF_WORDS: f64 = 0.6;
/// The number of best answers at a scope that determine the worth of the scope.
const BEST_AT_SCOPE: usize = 3;
/// The weight of the worth of a claim's scopes.
const BESIDE: f64 = 1.0;
/// The least worth of a scope at which its claims without a word of the question are considered.
const MIN_WORTH: f64 = 0.1;

/// A claim that may belong to the work.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Ledger position of its creation.
    pub seq: u64,
    /// The ledger position of the author's claim before it in the same session.
    pub previous: Option<u64>,
    /// The tokens of its statement, in text order.
    pub tokens: String,
    /// The scopes of the claim.
    pub scopes: Vec<String>,
    /// For a decision: its rationale, and the rejected alternatives with their reasons.
    pub reasons: Option<String>,
    /// How alike its meaning is to that of the question, from -1 to 1. 0 if they are not compared.
    pub cosine: f64,
}

/// The nearness of a claim to the question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Near {
    /// Ledger position of the claim.
    pub seq: u64,
    /// By the words of the question alone, as a share of the best value.
    pub words: f64,
    /// In total.
    pub all: f64,
}

/// Claims that may belong to the work, scored against a question. Each text is read once.
pub struct Kin<'q> {
    question: &'q Question,
    weights: Weights,
    members: Vec<Member>,
    /// The tokens of each claim, of its scopes, and of its reasons, with a space between two.
    texts: Vec<String>,
    /// The relevance of each text for the question.
    relevance: Vec<f64>,
    of_scopes: HashMap<String, String>,
}

impl<'q> Kin<'q> {
    /// Starts without claims.
    pub fn of(question: &'q Question, weights: Weights) -> Self {
        let (members, texts, relevance, of_scopes) = Default::default();
        Self { question, weights, members, texts, relevance, of_scopes }
    }

    /// Adds claims.
    pub fn add(&mut self, members: Vec<Member>) {
        for member in members {
            let text = self.text(&member);
            self.relevance.push(self.question.relevance(text.split_ascii_whitespace()));
            self.texts.push(text);
            self.members.push(member);
        }
    }

    /// The tokens of a claim, of its scopes (the words of a path tell what lies there), and of its reasons.
    fn text(&mut self, member: &Member) -> String {
        let mut text = member.tokens.clone();
        for scope in &member.scopes {
            let words = self.of_scopes.entry(scope.clone());
            push(&mut text, words.or_insert_with(|| scope_words(scope).join(" ")));
        }
        if let Some(reasons) = &member.reasons {
            push(&mut text, &tokens(reasons).join(" "));
        }
        text
    }

    /// The nearness of each claim: the nearest first, and of equal ones the newest.
    pub fn nearest(&self) -> Vec<Near> {
        let words = self.own();
        let taught = taught(self.question, &self.texts, &words);
        let relevance = words.iter().zip(taught).map(|(words, taught)| words + OF_WORDS * taught);
        let candidates: Vec<Candidate> = self
            .members
            .iter()
            .zip(relevance)
            .map(|(member, relevance)| Candidate {
                seq: member.seq,
                previous: member.previous,
                relevance,
                named: 0.0,
                cosine: 0.0,
            })
            .collect();
        // The meaning is in the relevance already.
        let near = nearness(&candidates, Weights { meaning: 0.0, ..self.weights });
        let worth = Worth::of(&self.members, &near);
        let mut nearest: Vec<Near> = self
            .members
            .iter()
            .zip(near.iter().zip(shares(self.relevance.clone())))
            .map(|(member, (near, words))| Near {
                seq: member.seq,
                words,
                all: near + worth.gain(&member.scopes),
            })
            .collect();
        nearest.sort_by(|one, other| other.all.total_cmp(&one.all).then(other.seq.cmp(&one.seq)));
        nearest
    }

    /// The nearness of each text by itself; the best one has 1.
    fn own(&self) -> Vec<f64> {
        let words = shares(self.relevance.clone());
        self.weights.blended(words.into_iter().zip(self.members.iter().map(|member| member.cosine)))
    }

    /// The scopes of the best answers, the best first, at most `limit`.
    pub fn best_scopes(&self, limit: usize) -> Vec<String> {
        let worth = Worth::of(&self.members, &self.own());
        let mut best: Vec<(&str, f64)> =
            worth.0.into_iter().filter(|(_, worth)| *worth >= MIN_WORTH).collect();
        best.sort_by(|(one, left), (other, right)| right.total_cmp(left).then_with(|| one.cmp(other)));
        best.into_iter().take(limit).map(|(scope, _)| scope.to_owned()).collect()
    }
}

/// Adds tokens to others.
fn push(text: &mut String, tokens: &str) {
    if !tokens.is_empty() {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(tokens);
    }
}

/// The words of a scope, without a file extension.
fn scope_words(scope: &str) -> Vec<String> {
    let name = scope.rsplit('/').next().unwrap_or(scope);
    let extension = name.rfind('.').filter(|at| *at > 0).map_or(0, |at| name.len() - at);
    tokens(&scope[..scope.len() - extension].replace(['/', ':'], " "))
}

/// For each text, the number of words that it shares with the best answers, as a share of the greatest number.
fn taught(question: &Question, texts: &[String], words: &[f64]) -> Vec<f64> {
    let mut best: Vec<usize> = (0..texts.len()).filter(|at| words[*at] > 0.0).collect();
    best.sort_by(|one, other| words[*other].total_cmp(&words[*one]).then(one.cmp(other)));
    best.truncate(TAUGHT_BY);
    let candidates =
        best.iter().flat_map(|at| texts[*at].split_ascii_whitespace()).filter(|word| !question.asks(word));
    let mut held: HashMap<&str, Held> = candidates.map(|word| (word, Held::default())).collect();
    let mut count = 0;
    for (at, text) in texts.iter().enumerate() {
        for word in text.split_ascii_whitespace() {
            count += 1;
            if let Some(held) = held.get_mut(word).filter(|held| held.last != Some(at)) {
                held.texts += 1;
                held.last = Some(at);
            }
        }
    }
    held.retain(|_, held| held.texts > 1);
    let rarity = |held: &Held| (texts.len() as f64 / held.texts as f64).ln();
    let mut weights: BTreeMap<&str, f64> = BTreeMap::new();
    for at in best {
        let of_text: BTreeSet<&str> = texts[at].split_ascii_whitespace().collect();
        for (word, held) in of_text.into_iter().filter_map(|word| Some((word, held.get(word)?))) {
            *weights.entry(word).or_default() += words[at] * rarity(held);
        }
    }
    let mut weighed: Vec<(&str, f64)> = weights.into_iter().collect();
    weighed.sort_by(|(one, left), (other, right)| right.total_cmp(left).then_with(|| one.cmp(other)));
    weighed.truncate(WORDS);
    let taught: Vec<String> = weighed.into_iter().map(|(word, _)| word.to_owned()).collect();
    let counts = taught.iter().map(|word| (word.clone(), held[word.as_str()].texts)).collect();
    let corpus = Corpus { claims: texts.len() as u64, tokens: count };
    let question = Question::new(&taught, &counts, corpus);
    shares(texts.iter().map(|text| question.relevance(text.split_ascii_whitespace())).collect())
}

/// The texts that hold a word: their number, and the last one that was counted.
#[derive(Debug, Default)]
struct Held {
    texts: u64,
    last: Option<usize>,
}

/// The worth of each scope for a question: the mean of the best answers at that scope.
struct Worth<'a>(BTreeMap<&'a str, f64>);

impl<'a> Worth<'a> {
    fn of(members: &'a [Member], scores: &[f64]) -> Self {
        let mut at: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for (member, score) in members.iter().zip(scores) {
            // The whole workspace says nothing about any part of it.
            for scope in member.scopes.iter().filter(|scope| *scope != ".") {
                at.entry(scope).or_default().push(*score);
            }
        }
        let mean = |mut scores: Vec<f64>| {
            scores.sort_by(|left, right| right.total_cmp(left));
            scores.iter().take(BEST_AT_SCOPE).sum::<f64>() / BEST_AT_SCOPE as f64
        };
        Self(at.into_iter().map(|(scope, scores)| (scope, mean(scores))).collect())
    }

    fn gain(&self, scopes: &[String]) -> f64 {
        let worth = scopes.iter().filter_map(|scope| self.0.get(scope.as_str())).copied();
        BESIDE * worth.fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::{Kin, Member, scope_words};
    use crate::domain::ranking::{Corpus, Question, Weights};
    use crate::domain::tokens::tokens;

    fn member(seq: u64, text: &str, scope: &str) -> Member {
        let tokens = tokens(text).join(" ");
        Member { seq, previous: None, tokens, scopes: vec![scope.to_owned()], reasons: None, cosine: 0.0 }
    }

    fn question(text: &str, members: &[Member]) -> Question {
        let mut counts: HashMap<String, u64> = HashMap::new();
        for member in members {
            for token in member.tokens.split(' ') {
                *counts.entry(token.to_owned()).or_default() += 1;
            }
        }
        Question::new(&tokens(text), &counts, Corpus { claims: 100, tokens: 600 })
    }

    fn order(text: &str, members: &[Member]) -> Vec<u64> {
        let question = question(text, members);
        let mut kin = Kin::of(&question, Weights::WORDS);
        kin.add(members.to_vec());
        kin.nearest().into_iter().map(|near| near.seq).collect()
    }

    fn best_scopes(text: &str, members: &[Member]) -> Vec<String> {
        let question = question(text, members);
        let mut kin = Kin::of(&question, Weights::WORDS);
        kin.add(members.to_vec());
        kin.best_scopes(9)
    }

    #[test]
    fn what_lies_where_the_best_answers_lie_comes_before_what_lies_elsewhere() {
        let members = [
            member(1, "payouts are booked in minor units", "src/ledger"),
            member(2, "an entry is never updated", "src/ledger"),
            member(3, "the menu opens at once", "src/ui"),
            member(4, "the licence is MIT", "."),
        ];
        assert_eq!(order("payouts in another currency", &members)[..2], [1, 2]);
        assert_eq!(best_scopes("payouts", &members), ["src/ledger"]);
        assert_eq!(best_scopes("licence", &members), Vec::<String>::new());
    }

    #[test]
    fn words_of_the_best_answers_and_of_paths_are_looked_for_too() {
        let members = [
            member(1, "a refund posts a reversing entry", "src/a"),
            member(2, "a reversing entry names the posting it reverses", "src/b"),
            member(3, "the menu opens at once", "src/c"),
            member(4, "nothing is deleted", "src/refund.rs"),
        ];
        assert_eq!(order("refund", &members), [1, 4, 2, 3]);
        assert_eq!(scope_words("worker/jobs/fx_rates.py"), ["worker", "job", "fx", "rate", "fxrate"]);
        assert_eq!(scope_words("tag:money"), ["tag", "money"]);
        assert_eq!(scope_words(".github/ci.yml"), ["github", "ci"]);
    }

    #[test]
    fn the_reasons_of_a_decision_are_looked_at_too() {
        let menu = member(4, "the menu deadlocks", "src/c");
        let chosen = member(1, "one connection for each worker", "src/d");
        let other = member(2, "one thread for each request", "src/b");
        assert_eq!(order("deadlocks", &[menu.clone(), chosen.clone(), other.clone()]).last(), Some(&1));
        let chosen = Member { reasons: Some("a shared connection deadlocks".to_owned()), ..chosen };
        assert_eq!(order("deadlocks", &[menu, chosen, other]).last(), Some(&2));
    }

    #[test]
    fn a_question_without_answers_has_no_order_but_the_newest_first() {
        assert_eq!(order("zebra", &[member(1, "a menu", "src"), member(2, "a pool", "src")]), [2, 1]);
        assert!(order("zebra", &[]).is_empty());
    }
}
