//! Scores claims for a question, without I/O and without a clock.
//!
//! The weights were measured on public data (LoCoMo): recall@10 0.736 and MRR 0.599 on claims in a shared store
//! with scope. Plain BM25 gives 0.69 and 0.58.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::Hash;

/// The BM25 parameters: `K1` saturates repeated words, `B` penalises long texts. FTS5 and the BM25 literature use
/// the same values.
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// Least weight of a word, even if nearly every claim contains it; as in FTS5.
const MIN_IDF: f64 = 1e-6;
/// Weight of the share of the question that a claim covers.
const COVERAGE: f64 = 0.6;
/// Weight of two words that are adjacent in question and claim.
const ADJACENT: f64 = 0.3;
/// Bonus for a claim of the nature that the question names, such as a bug. It is less than the best answer by
/// words.
const BESIDE: f64 = 0.5;
/// How often another name of what a word names counts: of two claims that are alike else, the one with the typed word comes
/// first. Own choice.
const OTHER_NAME: f64 = 0.8;
/// Bonus for a claim that holds all identifiers of the question: whoever writes `getUserById` means no other words for
/// it. The most that a claim with only its words gained over such a claim in tries by users was 0.45.
const NAMED: f64 = 0.6;
/// Weight of one link, the limit for all links of a claim, and their damping. On LoCoMo, the evidence boost at full
/// strength costs 14 points of recall.
const LINK: f64 = 0.2;
const MAX_LINKS: f64 = 1.0;
const LINK_DAMPING: f64 = 0.15;
/// The share of the score that depends on confidence. On LoCoMo, confidence as a plain factor costs 29 points of
/// recall.
const CONFIDENCE: f64 = 0.1;
/// Scores are rounded to 1/PARTS, so that ties are the same on every machine.
const PARTS: f64 = 1e6;
/// A word in more claims than this, and in more than this share of them, may be left out: it costs the most time
/// and distinguishes least.
const FREQUENT_CLAIMS: u64 = 5_000;
const FREQUENT_SHARE: f64 = 0.2;
/// The fewest words that must remain before a frequent word is left out.
const KEPT_WORDS: usize = 2;

/// The most claims that are found by single words before the most frequent words are looked for in narrower ways only: 1,000
/// claims take half a millisecond.
const MANY: u64 = 1_000;
/// The fewest claims that a narrower way must find: two of the longest pages.
pub const ENOUGH: usize = 100;
/// How many times [`ENOUGH`] claims are expected to hold a word of each half before they are looked for: words are seldom as
/// independent as the estimate takes them.
const EXPECTED: f64 = 2.0;

/// A way to look for claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    /// Claims that hold a word of each part of one of these alternatives are found.
    pub found: Vec<Vec<Vec<String>>>,
    /// The words that these claims are also ranked by: FTS5 ranks by all words of an expression that are in a claim, and a
    /// word of an alternative counts only where all of its parts are.
    pub ranked: Option<Vec<String>>,
}

impl Way {
    /// Claims that hold any of these words.
    pub fn any(words: &[String]) -> Self {
        Self { found: vec![vec![words.to_vec()]], ranked: None }
    }
}

/// What a search compares.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Vectors {
    /// Words, and the meaning of texts by the static table.
    Static,
    /// Words only.
    #[default]
    Off,
}

/// How the parts of a claim's nearness are weighed. Chosen on the halves `dev` of the corpora.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// The share of the meaning. The rest is for words.
    pub meaning: f64,
    /// The weight of the better one of a claim's neighbours.
    pub neighbour: f64,
}

impl Weights {
    /// For questions that are compared by words only.
    pub const WORDS: Self = Self { meaning: 0.0, neighbour: 0.5 };

    /// For questions that are also compared by meaning.
    pub const MEANING: Self = Self { meaning: 0.75, neighbour: 0.25 };

    /// Whether meanings are compared.
    pub fn compares_meanings(self) -> bool {
        self.meaning > 0.0
    }

    /// The nearness of texts from their words, as a share of the best, and from their meaning; the best one has 1.
    pub fn blended(self, texts: impl Iterator<Item = (f64, f64)>) -> Vec<f64> {
        let blend =
            |(words, cosine): (f64, f64)| self.meaning * cosine.max(0.0) + (1.0 - self.meaning) * words;
        shares(texts.map(blend).collect())
    }
}

/// The numbers as shares of the greatest one.
pub fn shares(numbers: Vec<f64>) -> Vec<f64> {
    let best = numbers.iter().copied().fold(0.0, f64::max);
    numbers.into_iter().map(|number| if best > 0.0 { number / best } else { 0.0 }).collect()
}

/// The size of the indexed text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Corpus {
    /// The number of claims.
    pub claims: u64,
    /// The number of tokens in all claims.
    pub tokens: u64,
}

/// A question with word weights for a corpus.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The searched words in alphabetical order, each with the place of its weight.
    words: Vec<(String, usize)>,
    /// The weight of each word that was typed. Other names of one thing share it.
    weights: Vec<f64>,
    /// What was typed, by the places of the weights.
    typed: Vec<String>,
    order: Vec<String>,
    /// Ways to find fewer claims than all that hold a word, but hardly fewer of the best ones.
    ways: Vec<Way>,
    /// The identifiers of the question that claims hold.
    identifiers: Vec<String>,
    /// Words that are adjacent in the question, by the places of their weights, and the weight of each pair.
    pairs: Vec<((usize, usize), f64)>,
    mean_length: f64,
}

/// A word of a question that claims hold, or other names of what it names.
#[derive(Debug, Clone)]
struct Asked {
    typed: String,
    names: Vec<String>,
    /// The number of claims that hold a name, or more where some hold several.
    claims: u64,
}

impl Question {
    /// Weighs the tokens of a question; `claims_with` maps a token to the number of claims that hold it. Tokens
    /// without claims are left out, and so are too frequent ones if enough others remain.
    pub fn new(tokens: &[String], claims_with: &HashMap<String, u64>, corpus: Corpus) -> Self {
        Self::with_names(tokens, |_| &[], claims_with, corpus)
    }

    /// Like [`Question::new`]; `others` are other names of what a token names. They count as that token, which weighs as
    /// much as all claims with one of them make it.
    pub fn with_names<'n>(
        tokens: &[String],
        others: impl Fn(&str) -> &'n [String],
        claims_with: &HashMap<String, u64>,
        corpus: Corpus,
    ) -> Self {
        let count = |token: &String| claims_with.get(token).copied().unwrap_or(0);
        let mut asked: Vec<Asked> = Vec::new();
        for token in tokens {
            if asked.iter().any(|word| word.typed == *token) {
                continue;
            }
            let is_new = |name: &&String| {
                !tokens.contains(name) && !asked.iter().any(|word| word.names.contains(name))
            };
            let names: Vec<String> = std::iter::once(token)
                .chain(others(token).iter().filter(is_new))
                .filter(|name| count(name) > 0)
                .cloned()
                .collect();
            let claims = names.iter().map(count).sum::<u64>().min(corpus.claims);
            if !names.is_empty() {
                asked.push(Asked { typed: token.clone(), names, claims });
            }
        }
        let limit = (FREQUENT_SHARE * corpus.claims as f64).max(FREQUENT_CLAIMS as f64);
        let mut by_frequency = asked.clone();
        by_frequency.sort_by(|a, b| b.claims.cmp(&a.claims).then_with(|| a.typed.cmp(&b.typed)));
        for frequent in by_frequency.iter().take_while(|word| word.claims as f64 > limit) {
            if asked.len() > KEPT_WORDS {
                asked.retain(|word| word.typed != frequent.typed);
            }
        }
        by_frequency.retain(|word| asked.iter().any(|kept| kept.typed == word.typed));
        let order = names(&asked);
        asked.sort_by(|one, other| one.typed.cmp(&other.typed));
        let weights: Vec<f64> = asked.iter().map(|word| idf(word.claims, corpus.claims)).collect();
        let mut words: Vec<(String, usize)> = Vec::new();
        for (place, word) in asked.iter().enumerate() {
            words.extend(word.names.iter().map(|name| (name.clone(), place)));
        }
        words.sort_by(|(one, _), (other, _)| one.cmp(other));
        let ways = ways(&by_frequency, corpus.claims);
        let place = |token: &String| asked.iter().position(|word| word.typed == *token);
        let mut pairs: Vec<((usize, usize), f64)> = Vec::new();
        for two in tokens.windows(2) {
            let (Some(first), Some(second)) = (place(&two[0]), place(&two[1])) else { continue };
            if pairs.iter().all(|(pair, _)| *pair != (first, second)) {
                pairs.push(((first, second), weights[first].max(weights[second])));
            }
        }
        let mean_length = corpus.tokens as f64 / corpus.claims.max(1) as f64;
        Self {
            words,
            weights,
            typed: asked.into_iter().map(|word| word.typed).collect(),
            order,
            ways,
            identifiers: Vec::new(),
            pairs,
            mean_length: mean_length.max(1.0),
        }
    }

    /// The question with its identifiers. Those that no claim holds are left out.
    pub fn naming(self, identifiers: Vec<String>) -> Self {
        let identifiers = identifiers.into_iter().filter(|name| self.asks(name)).collect();
        Self { identifiers, ..self }
    }

    /// The share of the question's identifiers that a text holds, from its tokens.
    pub fn named<'t>(&self, tokens: impl Iterator<Item = &'t str> + Clone) -> f64 {
        let held = self.identifiers.iter().filter(|name| tokens.clone().any(|token| token == *name));
        held.count() as f64 / self.identifiers.len().max(1) as f64
    }

    /// The searched words in the order of the question; empty when no claim can answer.
    pub fn words(&self) -> &[String] {
        &self.order
    }

    /// The ways to look for claims where all may answer, the narrowest first. One that finds fewer than [`ENOUGH`] is no
    /// answer. Without one, claims with any of the words are looked for.
    pub fn ways(&self) -> &[Way] {
        &self.ways
    }

    /// Whether this word is searched.
    pub fn asks(&self, word: &str) -> bool {
        self.words.iter().any(|(asked, _)| asked == word)
    }

    /// How well a text answers the question, from its tokens in text order.
    pub fn relevance<'t>(&self, tokens: impl IntoIterator<Item = &'t str>) -> f64 {
        let (mut times, mut is_adjacent) = (vec![0.0; self.weights.len()], vec![false; self.pairs.len()]);
        let (mut length, mut last) = (0_u32, None);
        for token in tokens {
            let found = self.words.iter().find(|(word, _)| word == token);
            let here = found.map(|(_, place)| *place);
            if let Some(here) = here {
                times[here] += if self.typed[here] == token { 1.0 } else { OTHER_NAME };
                let pair =
                    self.pairs.iter().position(|(pair, _)| last.is_some_and(|last| *pair == (last, here)));
                pair.into_iter().for_each(|pair| is_adjacent[pair] = true);
            }
            (length, last) = (length + 1, here);
        }
        let length = f64::from(length) / self.mean_length;
        let (mut bm25, mut covered, mut asked) = (0.0, 0.0, 0.0);
        for (idf, times) in self.weights.iter().zip(times) {
            asked += idf;
            if times > 0.0 {
                covered += idf;
                bm25 += idf * times * (K1 + 1.0) / (times + K1 * (1.0 - B + B * length));
            }
        }
        let adjacent = self.pairs.iter().zip(is_adjacent).filter(|(_, is_adjacent)| *is_adjacent);
        let adjacent: f64 = adjacent.map(|((_, weight), _)| weight).sum();
        if asked == 0.0 { 0.0 } else { bm25 * (1.0 + COVERAGE * covered / asked) + ADJACENT * adjacent }
    }
}

fn names(asked: &[Asked]) -> Vec<String> {
    asked.iter().flat_map(|word| word.names.iter().cloned()).collect()
}

/// The ways to look for claims. `words` are those that are weighed, the most frequent first.
fn ways(words: &[Asked], claims: u64) -> Vec<Way> {
    let light = light(words, claims);
    let halves = halves(&words[light..], claims);
    let halves = halves.map(|halves| Way { found: vec![halves], ranked: None });
    halves.into_iter().chain(rare_or_two(words, light)).collect()
}

/// The number of the most frequent words that weigh less in all than a single other one: a claim that holds no other word is
/// not among the best then.
fn light(words: &[Asked], claims: u64) -> usize {
    let (mut light, mut weight) = (0, 0.0);
    while let [frequent, next, ..] = &words[light..] {
        weight += idf(frequent.claims, claims);
        if !has_enough_without_first(&words[light..]) || weight >= idf(next.claims, claims) {
            break;
        }
        light += 1;
    }
    light
}

/// The rare words, or two of the frequent ones: a claim with a single frequent word is not as good as one with a rare one.
/// The first `light` words are looked for only if others beside them are frequent too. `None` if no word is frequent.
fn rare_or_two(words: &[Asked], light: usize) -> Option<Way> {
    let mut frequent = light;
    while words.len() - frequent > 1 && has_enough_without_first(&words[frequent..]) {
        frequent += 1;
    }
    let (those, rare) = words.split_at(frequent);
    let mut found = vec![vec![names(rare)]];
    if frequent == light {
        return (light > 0).then_some(Way { found, ranked: None });
    }
    let pairs = (1..those.len()).map(|at| vec![names(&those[at - 1..at]), names(&those[at..])]);
    found.extend(pairs);
    Some(Way { found, ranked: Some(names(words)) })
}

/// Whether so many claims are found that the most frequent word can be left out, and the others find enough.
fn has_enough_without_first(words: &[Asked]) -> bool {
    let others: u64 = words[1..].iter().map(|word| word.claims).sum();
    others + words[0].claims > MANY && others >= ENOUGH as u64
}

/// The words to look for in two halves, if single words find many claims and enough hold a word of each. Nearly all claims
/// that hold most of the words do.
fn halves(words: &[Asked], claims: u64) -> Option<Vec<Vec<String>>> {
    if words.iter().map(|word| word.claims).sum::<u64>() <= MANY {
        return None;
    }
    let half = |first| -> Vec<Asked> { words.iter().skip(first).step_by(2).cloned().collect() };
    let halves = [half(0), half(1)];
    // The share of claims that hold a word of a half, as if words did not depend on each other.
    let share = |half: &Vec<Asked>| {
        1.0 - half.iter().map(|word| 1.0 - word.claims as f64 / claims as f64).product::<f64>()
    };
    let expected = halves.iter().map(share).product::<f64>() * claims as f64;
    (expected >= EXPECTED * ENOUGH as f64).then(|| halves.map(|half| names(&half)).into())
}

fn idf(with: u64, claims: u64) -> f64 {
    let (with, claims) = (with as f64, claims as f64);
    ((claims - with + 0.5) / (with + 0.5)).ln().max(MIN_IDF)
}

/// A claim that holds words of the question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// Ledger position of its creation.
    pub seq: u64,
    /// The ledger position of the author's claim before it in the same session.
    pub previous: Option<u64>,
    /// [`Question::relevance`] of its text.
    pub relevance: f64,
    /// [`Question::named`] of its text.
    pub named: f64,
    /// How alike its meaning is to that of the question, from -1 to 1. 0 if they are not compared.
    pub cosine: f64,
}

impl Candidate {
    /// What its identifiers add to its nearness.
    pub fn gain_by_name(&self) -> f64 {
        NAMED * self.named
    }
}

/// The nearness of each candidate, in the same order: from its own text and the better one of its neighbours.
pub fn nearness(candidates: &[Candidate], weights: Weights) -> Vec<f64> {
    let own = own_nearness(candidates, weights);
    let beside = beside(candidates, &own);
    own.iter().zip(beside).map(|(own, beside)| own + weights.neighbour * beside).collect()
}

/// The nearness of each candidate from its own text; the best one has 1 without its identifiers.
pub fn own_nearness(candidates: &[Candidate], weights: Weights) -> Vec<f64> {
    let words = shares(candidates.iter().map(|candidate| candidate.relevance).collect());
    let own = weights.blended(words.into_iter().zip(candidates.iter().map(|candidate| candidate.cosine)));
    own.into_iter().zip(candidates).map(|(own, candidate)| own + candidate.gain_by_name()).collect()
}

/// The nearness of the better one of each candidate's neighbours.
fn beside(candidates: &[Candidate], own: &[f64]) -> Vec<f64> {
    let each = || candidates.iter().zip(own.iter().copied());
    let by_seq: HashMap<u64, f64> = each().map(|(candidate, own)| (candidate.seq, own)).collect();
    let after: HashMap<u64, f64> =
        each().filter_map(|(candidate, own)| Some((candidate.previous?, own))).collect();
    let near =
        |seq: Option<u64>, all: &HashMap<u64, f64>| seq.and_then(|seq| all.get(&seq)).copied().unwrap_or(0.0);
    candidates
        .iter()
        .map(|candidate| near(candidate.previous, &by_seq).max(near(Some(candidate.seq), &after)))
        .collect()
}

/// [`nearness`] with ledger positions: the nearest first, and of equal ones the newest.
pub fn nearest(candidates: &[Candidate], weights: Weights) -> Vec<(f64, u64)> {
    let mut nearest: Vec<(f64, u64)> = nearness(candidates, weights)
        .into_iter()
        .zip(candidates)
        .map(|(near, candidate)| (near, candidate.seq))
        .collect();
    nearest.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    nearest
}

/// Adds claims to [`nearest`] that match by nature and not by words. If other claims match by words, those come
/// first that match by both.
pub fn nearest_with(mut nearest: Vec<(f64, u64)>, beside: &BTreeSet<u64>) -> Vec<(f64, u64)> {
    let gained = if nearest.is_empty() { 1.0 } else { BESIDE };
    let held: BTreeSet<u64> = nearest.iter().map(|(_, seq)| *seq).collect();
    for (near, _) in nearest.iter_mut().filter(|(_, seq)| beside.contains(seq)) {
        *near += gained;
    }
    nearest.extend(beside.difference(&held).map(|seq| (gained, *seq)));
    nearest.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    nearest
}

/// The score of a claim: its nearness, changed a little by linked events and by its confidence
/// ([`super::confidence::Standing::undecayed`]).
pub fn score(nearness: f64, links: u32, confidence: f64) -> f64 {
    boosted(nearness, (LINK * f64::from(links)).min(MAX_LINKS), confidence)
}

/// The highest possible score of a claim with this nearness. A search stops when it is too low.
pub fn ceiling(nearness: f64) -> f64 {
    boosted(nearness, MAX_LINKS, 1.0)
}

fn boosted(nearness: f64, links: f64, confidence: f64) -> f64 {
    let trust = 1.0 - CONFIDENCE + CONFIDENCE * confidence;
    rounded(nearness * (1.0 + links).powf(LINK_DAMPING) * trust)
}

fn rounded(score: f64) -> f64 {
    (score * PARTS).round() / PARTS
}

/// Compares two claims: the higher score first, then the newer claim, then by id.
pub fn better<I: Ord>(a: (f64, u64, I), b: (f64, u64, I)) -> Ordering {
    b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)).then(a.2.cmp(&b.2))
}

/// The successors of the claim `first`, the current one last; `next` returns the successor of a claim. A cycle ends
/// before it repeats.
pub fn successors<I: Copy + Eq + Hash, E>(
    first: I,
    mut next: impl FnMut(I) -> Result<Option<I>, E>,
) -> Result<Vec<I>, E> {
    let mut chain = Vec::new();
    let mut seen = HashSet::from([first]);
    while let Some(id) = next(chain.last().copied().unwrap_or(first))? {
        if !seen.insert(id) {
            break;
        }
        chain.push(id);
    }
    Ok(chain)
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;
    use std::collections::HashMap;
    use std::convert::Infallible;

    use super::{Candidate, Corpus, Question, Way, Weights, better, ceiling, nearness, score, successors};

    fn question(tokens: &str, counts: &[(&str, u64)], claims: u64) -> Question {
        let tokens: Vec<String> = tokens.split(' ').map(str::to_owned).collect();
        let counts: HashMap<String, u64> =
            counts.iter().map(|(token, n)| ((*token).to_owned(), *n)).collect();
        Question::new(&tokens, &counts, Corpus { claims, tokens: claims * 4 })
    }

    #[test]
    fn a_frequent_word_is_left_out_only_while_two_others_remain() {
        let counts = [("common", 30_000), ("usual", 25_000), ("pool", 10), ("limit", 20)];
        assert_eq!(question("common pool usual limit", &counts, 100_000).words(), ["pool", "limit"]);
        assert_eq!(question("common usual limit", &counts, 100_000).words(), ["usual", "limit"]);
        assert_eq!(question("common usual", &counts, 100_000).words(), ["common", "usual"]);
        let everywhere = [("common", 4_000), ("pool", 1), ("limit", 1)];
        assert_eq!(question("common pool limit", &everywhere, 4_000).words(), ["common", "pool", "limit"]);
    }

    #[test]
    fn another_name_counts_as_the_word_that_was_typed_and_no_more() {
        let others = [("cfg", vec!["config".to_owned()]), ("config", vec!["cfg".to_owned()])];
        let others = |typed: &str| {
            others.iter().find(|(name, _)| *name == typed).map_or(&[][..], |(_, names)| names.as_slice())
        };
        let counts = |counts: &[(&str, u64)]| -> HashMap<String, u64> {
            counts.iter().map(|(token, n)| ((*token).to_owned(), *n)).collect()
        };
        let corpus = |claims| Corpus { claims, tokens: claims * 4 };
        let few = counts(&[("config", 280), ("cfg", 2), ("lantern", 20)]);
        let asked = ["config".to_owned(), "lantern".to_owned()];
        let question = Question::with_names(&asked, others, &few, corpus(300));
        // Red before: a rare name weighed more than the word that was typed.
        let typed = question.relevance(["config", "lantern", "etc"]);
        let other = question.relevance(["cfg", "lantern", "etc"]);
        assert!(typed > other && other > question.relevance(["lantern", "etc", "a"]), "{typed} {other}");
        assert!(question.relevance(["lantern"]) > question.relevance(["cfg"]));
        // Its neighbours are those of the word that was typed.
        let apart = question.relevance(["cfg", "etc", "lantern"]);
        assert!(other > apart);
        assert_eq!(apart, question.relevance(["lantern", "etc", "cfg"]));
        // Of a frequent word the other names alone are not looked for.
        let many = counts(&[("config", 90_000), ("cfg", 2)]);
        let question = Question::with_names(&asked, others, &many, corpus(100_000));
        assert!(question.ways().is_empty());
        assert_eq!(question.words(), ["config", "cfg"]);
        // What is typed twice is one word, and what is typed beside its other name is not that name.
        let both = ["cfg".to_owned(), "config".to_owned(), "cfg".to_owned()];
        let both = Question::with_names(&both, others, &few, corpus(300));
        assert_eq!(both.words(), ["cfg", "config"]);
        assert!(both.relevance(["cfg"]) > both.relevance(["config"]));
    }

    #[test]
    fn words_nobody_wrote_are_not_looked_for() {
        assert_eq!(question("pool zebra pool", &[("pool", 1)], 10).words(), ["pool"]);
        assert_eq!(question("zebra", &[], 10).relevance(["pool"]), 0.0);
    }

    #[test]
    fn rare_words_more_of_the_question_and_words_together_count() {
        let asked = question("pool limit", &[("pool", 30), ("limit", 5)], 100);
        let pool = asked.relevance(["pool", "size"]);
        let limit = asked.relevance(["limit", "size"]);
        let apart = asked.relevance(["limit", "size", "pool"]);
        let together = asked.relevance(["size", "pool", "limit"]);
        assert!(0.0 < pool && pool < limit && limit < apart && apart < together);
    }

    #[test]
    fn the_score_is_that_of_the_formula() {
        let candidate =
            |seq, previous, relevance| Candidate { seq, previous, relevance, named: 0.0, cosine: 0.0 };
        let three = [candidate(1, None, 4.0), candidate(2, Some(1), 2.0), candidate(5, None, 1.0)];
        assert_eq!(nearness(&three, Weights::WORDS), [1.25, 1.0, 0.25]);
        assert_eq!(nearness(&[candidate(1, None, 0.0)], Weights::WORDS), [0.0]);
        let named = Candidate { named: 0.5, ..candidate(7, None, 4.0) };
        assert_eq!(nearness(&[named, candidate(9, None, 4.0)], Weights::WORDS), [1.3, 1.0]);
        // 2^0.15 * 0.95
        assert_eq!(
            [score(1.0, 0, 1.0), score(1.0, 9, 0.5), score(1.0, 5, 1.0)],
            [1.0, 1.054091, ceiling(1.0)]
        );
    }

    #[test]
    fn ties_go_to_the_newer_claim() {
        assert_eq!(better((0.5, 9, "b"), (0.5, 3, "a")), Ordering::Less);
        assert_eq!(better((0.5, 3, "b"), (0.5, 3, "a")), Ordering::Greater);
        assert_eq!(better((0.4, 9, "a"), (0.5, 3, "a")), Ordering::Greater);
    }

    /// The ways of a question about these words: `any of`, `|`, `& all of`, and `by` what it ranks.
    fn ways(counts: &[(&str, u64)], claims: u64) -> Vec<String> {
        let counts: HashMap<String, u64> =
            counts.iter().map(|(word, count)| ((*word).to_owned(), *count)).collect();
        let mut tokens: Vec<String> = counts.keys().cloned().collect();
        tokens.sort();
        let question = Question::new(&tokens, &counts, Corpus { claims, tokens: 10 * claims });
        let part = |words: &Vec<String>| {
            let mut words = words.clone();
            words.sort();
            words.join(" ")
        };
        let alternative = |parts: &Vec<Vec<String>>| parts.iter().map(part).collect::<Vec<_>>().join(" & ");
        let way = |way: &Way| {
            let found = way.found.iter().map(alternative).collect::<Vec<_>>().join(" | ");
            found + &way.ranked.iter().map(|words| format!(" by {}", part(words))).collect::<String>()
        };
        question.ways().iter().map(way).collect()
    }

    #[test]
    fn a_frequent_word_is_not_looked_for_if_the_others_find_enough_and_each_weighs_more() {
        assert_eq!(ways(&[("pool", 4_000), ("size", 80), ("worker", 40)], 10_000), ["size worker"]);
        // Too few claims hold the others.
        assert!(ways(&[("pool", 4_000), ("size", 50), ("worker", 40)], 10_000).is_empty());
        // Few claims are found by all of them.
        assert!(ways(&[("pool", 700), ("size", 150), ("worker", 60)], 10_000).is_empty());
        assert!(ways(&[("pool", 4_000)], 10_000).is_empty());
    }

    #[test]
    fn of_words_that_weigh_more_together_than_a_rare_one_two_are_looked_for() {
        let words = [("pool", 5_000), ("size", 4_800), ("worker", 900)];
        assert_eq!(ways(&words, 100_000), ["worker | pool & size by pool size worker"]);
        // Any two of them, whatever their number.
        let words =
            [("a1", 900), ("a2", 800), ("a3", 700), ("a4", 600), ("a5", 500), ("b1", 150), ("b2", 50)];
        assert_eq!(
            ways(&words, 10_000),
            ["a5 b1 b2 | a1 & a2 a3 a4 | a2 & a3 a4 | a3 & a4 by a1 a2 a3 a4 a5 b1 b2"]
        );
    }

    #[test]
    fn words_are_looked_for_in_halves_if_enough_claims_hold_a_word_of_each() {
        let first = |counts, claims| ways(counts, claims).into_iter().next().unwrap_or_default();
        let words = [("pool", 4_000), ("size", 2_500), ("worker", 2_000)];
        assert_eq!(first(&words, 10_000), "size & worker");
        let five = [("a1", 9_000), ("a2", 8_800), ("a3", 8_600), ("a4", 8_400), ("a5", 8_200)];
        assert_eq!(first(&five, 100_000), "a2 a4 & a3 a5");
        // Few claims hold single words, and hardly enough hold both.
        assert!(ways(&[("pool", 490), ("size", 490)], 10_000).is_empty());
        assert_eq!(first(&[("pool", 4_000), ("size", 4_000)], 100_000), "size by pool size");
    }

    #[test]
    fn a_chain_ends_at_the_current_claim_whatever_its_shape() {
        let chain = |links: &[(&'static str, &'static str)], first: &'static str| {
            let next = |id: &str| {
                let link = links.iter().find(|(old, _)| *old == id);
                Ok::<_, Infallible>(link.map(|(_, new)| *new))
            };
            successors(first, next).expect("this cannot fail").join(" ")
        };
        assert_eq!(chain(&[("a", "b"), ("b", "c")], "a"), "b c");
        assert_eq!(chain(&[("a", "b"), ("b", "a")], "a"), "b");
        assert_eq!(chain(&[("a", "a")], "a"), "");
        let long = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f"), ("f", "g")];
        assert_eq!(chain(&long, "a"), "b c d e f g");
        assert_eq!(chain(&[("a", "b"), ("b", "c"), ("c", "b")], "a"), "b c");
    }
}
