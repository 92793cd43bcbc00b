//! Selects the claims that are worth comparing with a new claim: those that share its rarer words.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::domain::ids::ClaimId;
use crate::domain::pairs::Reading;
use crate::domain::scope::{Scope, ScopeMap};

/// The most claims that one new claim is compared with. Further ones are barely alike.
const MAX_CANDIDATES: usize = 16;
/// The least likeness of two texts, in thousandths. Below it no rule of `pairs` finds them opposite or similar, and
/// comparing them would be most of the cost of a new claim.
const MIN_LIKENESS: usize = 350;
/// The most claims in overlapping scopes that are compared because of one word, the newest ones. Claims that share
/// only very common words are not searched.
const MAX_PER_WORD: usize = 128;
/// The most claims whose scopes are checked for one text, starting with the rarest word. This takes some
/// microseconds.
const MAX_LOOKED_AT: usize = 8_192;
/// The most claims in overlapping scopes among which the shared words are looked for, in place of the holders of each word:
/// as many as a statement of eight words is compared with at most.
const MAX_BESIDE: usize = 8 * MAX_PER_WORD;
/// A comparison needs at least a third of the words in common. So each pair worth comparing shares one of the
/// rarest two thirds of the words.
const UNSHARED_PART: usize = 3;

/// The words of claims in force, by hash. A collision costs a comparison and never causes a finding.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Candidates {
    ids: Vec<ClaimId>,
    words: Vec<Box<[u32]>>,
    places: HashMap<ClaimId, u32>,
    holders: HashMap<u32, Vec<u32>>,
    /// The number of each scope; `scopes_of` holds the scope numbers of each claim.
    scopes: ScopeMap<u32>,
    number_of_scopes: u32,
    scopes_of: Vec<Box<[u32]>>,
    /// The claims of each scope, oldest first.
    claims_at: Vec<Vec<u32>>,
}

impl Candidates {
    /// Adds a claim.
    pub(super) fn add(&mut self, id: ClaimId, reading: &Reading, scopes: &[Scope]) {
        let place = u32::try_from(self.ids.len()).expect("fewer claims than fit in memory");
        let words = hashes(reading);
        for word in &words {
            self.holders.entry(*word).or_default().push(place);
        }
        self.ids.push(id);
        self.words.push(words);
        let scopes: BTreeSet<u32> = scopes.iter().map(|scope| self.number_of(scope)).collect();
        for scope in &scopes {
            self.claims_at[*scope as usize].push(place);
        }
        self.scopes_of.push(scopes.into_iter().collect());
        self.places.insert(id, place);
    }

    /// Removes a claim.
    pub(super) fn remove(&mut self, id: ClaimId) {
        let Some(place) = self.places.remove(&id) else { return };
        for scope in &self.scopes_of[place as usize] {
            take_out(&mut self.claims_at[*scope as usize], place);
        }
        for word in std::mem::take(&mut self.words[place as usize]) {
            let Some(holders) = self.holders.get_mut(&word) else { continue };
            take_out(holders, place);
            if holders.is_empty() {
                self.holders.remove(&word);
            }
        }
    }

    /// The number of these words that a claim holds.
    pub(super) fn shared_with(&self, words: &Words, id: ClaimId) -> usize {
        self.places.get(&id).map_or(0, |place| shared(&words.0, &self.words[*place as usize]))
    }

    fn number_of(&mut self, scope: &Scope) -> u32 {
        let next = self.number_of_scopes;
        let number = *self.scopes.get_or_insert_with(scope, || next);
        self.number_of_scopes = next.max(number + 1);
        self.claims_at.resize(self.number_of_scopes as usize, Vec::new());
        number
    }

    /// The claims in these scopes that hold one of some words, by the claims that hold each word, the rarest first.
    fn with_words<'h>(&self, holders: impl Iterator<Item = &'h [u32]>, scopes: &BTreeSet<u32>) -> Vec<u32> {
        // Thousands of claims are looked up: to ask for the scopes of each would be most of the time.
        let mut is_here = vec![false; self.ids.len()];
        for place in scopes.iter().flat_map(|scope| &self.claims_at[*scope as usize]) {
            is_here[*place as usize] = true;
        }
        let mut left_to_look_at = MAX_LOOKED_AT;
        let mut found = Vec::new();
        for holders in holders {
            let looked_at = holders.len().min(left_to_look_at);
            left_to_look_at -= looked_at;
            let newest = holders.iter().rev().take(looked_at).copied();
            found.extend(newest.filter(|place| is_here[*place as usize]).take(MAX_PER_WORD));
        }
        found
    }

    /// The claims in overlapping scopes that are most like a text. The most alike come first; of equal ones the
    /// newest.
    pub(super) fn near(&self, reading: &Reading, scopes: &[Scope]) -> Vec<ClaimId> {
        let overlapping: BTreeSet<u32> =
            scopes.iter().flat_map(|scope| self.scopes.at(scope)).copied().collect();
        let mut words = hashes(reading).into_vec();
        let holders_of = |word: &u32| self.holders.get(word).map_or(&[][..], Vec::as_slice);
        words.sort_by_key(|word| (holders_of(word).len(), *word));
        let rarest = &words[..words.len() - words.len() / UNSHARED_PART];
        let in_scopes: usize = overlapping.iter().map(|scope| self.claims_at[*scope as usize].len()).sum();
        let with_words: usize = rarest.iter().map(|word| holders_of(word).len()).sum();
        let mut found: Vec<u32> = if in_scopes <= with_words.min(MAX_BESIDE) {
            let has_one = |place: &u32| {
                rarest.iter().any(|word| self.words[*place as usize].binary_search(word).is_ok())
            };
            let beside = overlapping.iter().flat_map(|scope| &self.claims_at[*scope as usize]);
            beside.copied().filter(has_one).collect()
        } else {
            self.with_words(rarest.iter().map(holders_of), &overlapping)
        };
        found.sort_unstable();
        found.dedup();
        words.sort_unstable();
        // The least alike come first, so that the last ones are kept.
        let mut best: BTreeMap<(usize, u32), ClaimId> = BTreeMap::new();
        for place in found {
            let other = &self.words[place as usize];
            let shared = shared(&words, other);
            // Likeness in thousandths: a whole number can be a key.
            let likeness = 2_000 * shared / (words.len() + other.len()).max(1);
            if likeness >= MIN_LIKENESS {
                best.insert((likeness, place), self.ids[place as usize]);
            }
            if best.len() > MAX_CANDIDATES {
                best.pop_first();
            }
        }
        best.into_values().rev().collect()
    }
}

/// Takes a claim out of a list that is sorted by age.
fn take_out(claims: &mut Vec<u32>, place: u32) {
    if let Ok(at) = claims.binary_search(&place) {
        claims.remove(at);
    }
}

/// Words sorted by hash, without duplicates.
pub(super) struct Words(Box<[u32]>);

impl Words {
    pub(super) fn of<'a>(words: impl Iterator<Item = &'a str>) -> Self {
        Self(hashes_of(words))
    }
}

/// The number of words that two sorted lists share.
fn shared(mut a: &[u32], mut b: &[u32]) -> usize {
    let mut shared = 0;
    while let ([first, rest @ ..], [other, others @ ..]) = (a, b) {
        shared += usize::from(first == other);
        (a, b) = (if first <= other { rest } else { a }, if other <= first { others } else { b });
    }
    shared
}

/// The words of a reading, without duplicates, sorted by hash.
fn hashes(reading: &Reading) -> Box<[u32]> {
    hashes_of(reading.content())
}

fn hashes_of<'a>(words: impl Iterator<Item = &'a str>) -> Box<[u32]> {
    let mut hashes: Vec<u32> = words
        .map(|word| {
            let mut hasher = DefaultHasher::new();
            word.hash(&mut hasher);
            // Half of the hash is enough here.
            hasher.finish() as u32
        })
        .collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes.into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(of: &str) -> Vec<Scope> {
        vec![of.parse().expect("a scope")]
    }

    #[test]
    fn a_claim_at_the_same_file_is_found_among_any_number_of_claims_with_its_words_elsewhere() {
        let mut candidates = Candidates::default();
        let reading = Reading::of("the pool of the billing service holds 20 connections");
        let ids: Vec<ClaimId> = (0..=MAX_LOOKED_AT as u128)
            .map(|number| ClaimId::from_uuid(uuid::Uuid::from_u128(number)))
            .collect();
        for (number, id) in ids.iter().enumerate() {
            let place = if number == 0 { "src/pool.rs".to_owned() } else { format!("src/other{number}.rs") };
            candidates.add(*id, &reading, &scopes(&place));
        }
        assert_eq!(candidates.near(&reading, &scopes("src/pool.rs")), [ids[0]]);
        candidates.remove(ids[0]);
        assert_eq!(candidates.near(&reading, &scopes("src/pool.rs")), []);
    }
}
