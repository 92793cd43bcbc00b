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
            {
                found.insert((claim.id.min(other), claim.id.max(other)));
            }
        }
    }
    Some(found.into_iter().collect())
}
