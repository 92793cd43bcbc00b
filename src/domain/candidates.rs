//! Which claims are worth comparing with a new one: those that share its rarer words.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::domain::ids::ClaimId;
use crate::domain::pairs::Reading;
use crate::domain::scope::{Scope, ScopeMap};

/// The most claims one new claim is compared with; beyond these the likeness is faint.
const MAX_CANDIDATES: usize = 16;
/// Texts with less in common than this, in parts of a thousand, are neither opposites nor similar by any rule
/// of `pairs`: reading them anew would be most of what a new claim costs.
const MIN_LIKENESS: usize = 350;
/// The newest claims in overlapping scopes that are compared for one word: what shares only very common words is not
/// looked for.
const MAX_PER_WORD: usize = 128;
/// The claims whose scopes are looked at for one text, the rarest word first: some microseconds.
const MAX_LOOKED_AT: usize = 8_192;
/// Two texts with less in common than a third of their words have nothing to say to each other; so one of
/// the rarest two thirds of the words is shared by every pair that has.
const UNSHARED_PART: usize = 3;

/// Words of claims in force, by hash: a collision costs a comparison, never a finding.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Candidates {
    ids: Vec<ClaimId>,
    words: Vec<Box<[u32]>>,
    places: HashMap<ClaimId, u32>,
    holders: HashMap<u32, Vec<u32>>,
    /// Every scope has a number; for each claim the numbers of its own.
    scopes: ScopeMap<u32>,
    number_of_scopes: u32,
    scopes_of: Vec<Box<[u32]>>,
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
        let scopes = scopes.iter().map(|scope| self.number_of(scope)).collect();
        self.scopes_of.push(scopes);
        self.places.insert(id, place);
    }

    /// Takes a claim out.
    pub(super) fn remove(&mut self, id: ClaimId) {
        let Some(place) = self.places.remove(&id) else { return };
        for word in std::mem::take(&mut self.words[place as usize]) {
            let Some(holders) = self.holders.get_mut(&word) else { continue };
            if let Ok(at) = holders.binary_search(&place) {
                holders.remove(at);
            }
            if holders.is_empty() {
                self.holders.remove(&word);
            }
        }
    }

    /// How many of these words a claim holds.
    pub(super) fn shared_with(&self, words: &Words, id: ClaimId) -> usize {
        self.places.get(&id).map_or(0, |place| shared(&words.0, &self.words[*place as usize]))
    }

    fn number_of(&mut self, scope: &Scope) -> u32 {
        let next = self.number_of_scopes;
        let number = *self.scopes.get_or_insert_with(scope, || next);
        self.number_of_scopes = next.max(number + 1);
        number
    }

    /// The claims in overlapping scopes most like a text, the likest first, of equal ones the newest.
    pub(super) fn near(&self, reading: &Reading, scopes: &[Scope]) -> Vec<ClaimId> {
        let overlapping: HashSet<u32> =
            scopes.iter().flat_map(|scope| self.scopes.at(scope)).copied().collect();
        let overlaps =
            |place: u32| self.scopes_of[place as usize].iter().any(|theirs| overlapping.contains(theirs));
        let mut left_to_look_at = MAX_LOOKED_AT;

        let mut words = hashes(reading).into_vec();
        let number_of_holders = |word: &u32| self.holders.get(word).map_or(0, Vec::len);
        words.sort_by_key(|word| (number_of_holders(word), *word));
        let prefix = words.len() - words.len() / UNSHARED_PART;
        let mut found: Vec<u32> = Vec::new();
        for word in &words[..prefix] {
            let holders = self.holders.get(word).map_or(&[][..], Vec::as_slice);
            let looked_at = holders.len().min(left_to_look_at);
            left_to_look_at -= looked_at;
            let newest = holders.iter().rev().take(looked_at).copied();
            found.extend(newest.filter(|place| overlaps(*place)).take(MAX_PER_WORD));
        }
        found.sort_unstable();
        found.dedup();
        words.sort_unstable();
        // Least like first, so that the last ones are kept.
        let mut best: BTreeMap<(usize, u32), ClaimId> = BTreeMap::new();
        for place in found {
            let other = &self.words[place as usize];
            let shared = shared(&words, other);
            // Parts of a thousand: likeness as a whole number, so that it can be a key.
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

/// Words in the order of their hashes, each once.
pub(super) struct Words(Box<[u32]>);

impl Words {
    pub(super) fn of<'a>(words: impl Iterator<Item = &'a str>) -> Self {
        Self(hashes_of(words))
    }
}

/// How many words two sorted lists share.
fn shared(mut a: &[u32], mut b: &[u32]) -> usize {
    let mut shared = 0;
    while let ([first, rest @ ..], [other, others @ ..]) = (a, b) {
        shared += usize::from(first == other);
        (a, b) = (if first <= other { rest } else { a }, if other <= first { others } else { b });
    }
    shared
}

/// Each word once, in the order of its hash.
fn hashes(reading: &Reading) -> Box<[u32]> {
    hashes_of(reading.content())
}

fn hashes_of<'a>(words: impl Iterator<Item = &'a str>) -> Box<[u32]> {
    let mut hashes: Vec<u32> = words
        .map(|word| {
            let mut hasher = DefaultHasher::new();
            word.hash(&mut hasher);
            // The lower half is as good as the whole here.
            hasher.finish() as u32
        })
        .collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes.into_boxed_slice()
}
