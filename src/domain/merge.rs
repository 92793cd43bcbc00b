//! Merges: pairs of claims in force that say the same, for a proposal. Pure; nothing merges itself.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::domain::candidates::Candidates;
use crate::domain::claim::ClaimType;
use crate::domain::ids::ClaimId;
use crate::domain::pairs::{Reading, is_paraphrase};
use crate::domain::scope::Scope;

/// Which claim stays in a merge, as [`Rank`] orders them.
pub const STAYS: &str =
    "a proven claim stays, then a confirmed one, then the one with more support, then the older";

/// What decides whether a claim stays in a merge: the one of a higher rank does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// Whether a run confirmed it.
    pub is_proven: bool,
    /// Whether it is confirmed.
    pub is_confirmed: bool,
    /// How many agents support it.
    pub supports: u32,
    /// The older id.
    pub id: Reverse<ClaimId>,
}

/// A claim in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stated {
    /// The claim.
    pub id: ClaimId,
    /// Its type.
    pub claim_type: ClaimType,
    /// Its statement.
    pub statement: String,
    /// Its scopes.
    pub scopes: Vec<Scope>,
    /// Whether an earlier search compared it with all the others.
    pub is_known: bool,
}

/// The pairs of claims of one type, in overlapping scopes, that say the same in other words; the older claim of a pair
/// first. Of two known claims nothing is looked for again. `None` if `is_stopped` says so meanwhile.
pub fn twins(claims: &[Stated], is_stopped: impl Fn() -> bool) -> Option<Vec<(ClaimId, ClaimId)>> {
    let mut candidates = Candidates::default();
    let mut readings: BTreeMap<ClaimId, (&Stated, Reading)> = BTreeMap::new();
    for claim in claims {
        let reading = Reading::of(&claim.statement);
        candidates.add(claim.id, &reading, &claim.scopes);
        readings.insert(claim.id, (claim, reading));
    }
    let mut found = BTreeSet::new();
    for claim in claims.iter().filter(|claim| !claim.is_known) {
        if is_stopped() {
            return None;
        }
        let Some((_, reading)) = readings.get(&claim.id) else { continue };
        for other in candidates.near(reading, &claim.scopes) {
            let Some((theirs, other_reading)) = readings.get(&other) else { continue };
            if other != claim.id
                && theirs.claim_type == claim.claim_type
                && is_paraphrase(reading, other_reading)
                && Marks::of(&claim.statement) == Marks::of(&theirs.statement)
            {
                found.insert((claim.id.min(other), claim.id.max(other)));
            }
        }
    }
    Some(found.into_iter().collect())
}

/// Small words that change what a statement says: what must be and what may, what was, where to and where from.
const WEIGHTY: [&str; 46] = [
    "after", "and", "any", "at", "before", "been", "below", "between", "by", "can", "could", "down", "each",
    "every", "for", "from", "had", "in", "into", "may", "might", "must", "nor", "off", "on", "onto", "or",
    "out", "over", "shall", "should", "since", "some", "than", "till", "to", "under", "until", "up", "via",
    "was", "were", "will", "within", "without", "would",
];

/// What two statements must have in common to say the same, besides their words of meaning: their signs, their names in code,
/// and their small words of weight.
#[derive(Debug, PartialEq, Eq)]
struct Marks {
    signs: Vec<char>,
    names: Vec<String>,
    small: Vec<String>,
}

impl Marks {
    fn of(statement: &str) -> Self {
        let chars: Vec<char> = statement.chars().collect();
        // The comma of a sentence is no sign, and that of a number is.
        let ends_phrase = |at: usize| {
            matches!(chars[at], '.' | ',' | ';' | ':')
                && chars.get(at + 1).is_none_or(|next| next.is_whitespace())
        };
        let is_sign = |at: usize| {
            let c = chars[at];
            !c.is_alphanumeric()
                && !c.is_whitespace()
                && !matches!(c, '_' | '\'' | '"' | '`' | '\u{2019}')
                && !ends_phrase(at)
        };
        let signs = (0..chars.len()).filter(|at| is_sign(*at)).map(|at| chars[at]).collect();
        let words =
            || statement.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
        // A unit, an identifier: `MiB`, `userID`, `user_id`, `m`.
        let is_name = |word: &&str| {
            word.chars().count() <= 2 || word.contains('_') || word.chars().skip(1).any(char::is_uppercase)
        };
        let mut names: Vec<String> =
            words().filter(is_name).filter(|word| !is_light(word)).map(ToOwned::to_owned).collect();
        let mut small: Vec<String> =
            words().map(str::to_lowercase).filter(|word| WEIGHTY.contains(&word.as_str())).collect();
        names.sort();
        small.sort();
        Self { signs, names, small }
    }
}

/// A short word without weight.
fn is_light(word: &str) -> bool {
    ["a", "an", "as", "be", "is", "it", "of"].contains(&word.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::Marks;

    /// Red before: each pair was proposed for a merge, which ends one of the two.
    #[test]
    fn statements_that_differ_in_a_sign_a_unit_or_a_word_of_weight_say_something_else() {
        for (one, other) in [
            ("the temperature is -5 degrees", "the temperature is 5 degrees"),
            ("the loop runs while n <= 10", "the loop runs while n >= 10"),
            ("the limit is 512 MiB", "the limit is 512 MB"),
            ("the fee is 5 \u{20ac}", "the fee is 5 \u{a3}"),
            ("the share is 1,5 percent", "the share is 15 percent"),
            ("the lock is !held", "the lock is held"),
            ("the caller must hold the lock", "the caller may hold the lock"),
            ("the job is run by cron", "is the job run by cron?"),
            ("the job was run by cron", "the job is run by cron"),
            ("rows go to the replica", "rows go from the replica"),
            ("it can read and write", "it can read or write"),
            ("the client is C++", "the client is C#"),
            ("the key is userID", "the key is user_id"),
            ("the window is [0, 1)", "the window is (0, 1]"),
            ("the rule matches src/**", "the rule matches src/*"),
        ] {
            assert_ne!(Marks::of(one), Marks::of(other), "{one} | {other}");
        }
        for (one, other) in [
            ("The pool holds 20 connections.", "the pool holds 20 connections"),
            ("the pool holds 20 of the connections", "the pool holds 20 connections"),
            ("it's the pool's limit", "it\u{2019}s the pool\u{2019}s limit"),
        ] {
            assert_eq!(Marks::of(one), Marks::of(other), "{one} | {other}");
        }
    }
}
