//! Which claims are worth comparing with a new one: those that share its rarer words.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::domain::ids::ClaimId;
use crate::domain::pairs::Reading;

/// The most claims one new claim is compared with; beyond these the likeness is faint.
const MAX_CANDIDATES: usize = 16;
/// Texts with less in common than this, in parts of a thousand, are neither opposites nor similar by any rule
/// of `pairs`: reading them anew would be most of what a new claim costs.
const MIN_LIKENESS: usize = 350;
/// The newest claims that are looked at for one word: what shares only very common words is not looked for.
const MAX_PER_WORD: usize = 128;
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
}

impl Candidates {
    /// Adds a claim.
    pub(super) fn add(&mut self, id: ClaimId, reading: &Reading) {
        let place = u32::try_from(self.ids.len()).expect("fewer claims than fit in memory");
        let words = hashes(reading);
        for word in &words {
            self.holders.entry(*word).or_default().push(place);
        }
        self.ids.push(id);
        self.words.push(words);
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

    /// The claims most like a text, the likest first, of equal ones the newest.
    pub(super) fn near(&self, reading: &Reading) -> Vec<ClaimId> {
        let mut words = hashes(reading).into_vec();
        let number_of_holders = |word: &u32| self.holders.get(word).map_or(0, Vec::len);
        words.sort_by_key(|word| (number_of_holders(word), *word));
        let prefix = words.len() - words.len() / UNSHARED_PART;
        let mut found: Vec<u32> = Vec::new();
        for word in &words[..prefix] {
            let holders = self.holders.get(word).map_or(&[][..], Vec::as_slice);
            found.extend(holders.iter().rev().take(MAX_PER_WORD));
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
    let mut hashes: Vec<u32> = reading
        .content()
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
