//! The further parts of a session's first context: the section of each claim, the reason of each decision, the
//! positions of other agents, and mended defects.

use std::collections::{BTreeMap, BTreeSet};

use super::about::About;
use super::markdown::name;
use crate::domain::claim::{ClaimType, Position, Status};
use crate::domain::digest::{Part, says_mended, says_mended_of};
use crate::domain::ids::ClaimId;
use crate::domain::scope::Scope;
use crate::pack;
use crate::store::{ClaimSummary, Question, Reader, Replaced, Said, StoreError};

/// Maximum number of later claims that are shown with the claim that they name.
const NAMED_BY: usize = 3;
/// Minimum length of the reason of a shown support, in characters. A shorter one only agrees.
const TELLING_CHARS: usize = 40;

/// The results of the queries about the claims of a context.
#[derive(Debug, Default)]
pub(super) struct Digest(BTreeMap<ClaimId, pack::Digest>);

impl Digest {
    /// The digest of these claims. `asked` are the open questions to all agents, `replaced` the superseded claims.
    pub(super) fn of(
        store: &Reader,
        claims: &[&ClaimSummary],
        (asked, replaced): (&[Question], &BTreeMap<ClaimId, Replaced>),
        about: &About,
    ) -> Result<Self, StoreError> {
        let ids: Vec<ClaimId> = claims.iter().map(|claim| claim.id).collect();
        let rationales = store.rationales(&ids)?;
        let said = store.said_of(&ids)?;
        let mut asks: BTreeMap<ClaimId, BTreeSet<&str>> = BTreeMap::new();
        for question in asked {
            asks.entry(question.claim.id).or_default().insert(&question.agent);
        }
        let later = later(store, claims)?;
        let places = about.decided_at();
        let digest = |claim: &&ClaimSummary| -> Result<(ClaimId, pack::Digest), StoreError> {
            let answers = later.get(&claim.id).map_or(&[][..], Vec::as_slice);
            // An agent answers too when a later claim of it names the claim.
            let is_open = |agent: &&str| !answers.iter().any(|answer| answer.owner == *agent);
            let asked: Vec<&str> =
                asks.get(&claim.id).into_iter().flatten().copied().filter(is_open).collect();
            let replaced = replaced.get(&claim.id);
            let builds_on_it = match replaced {
                Some(old) => store.mentions(&claim.statement, claim.created_seq)?.contains(&old.id),
                None => false,
            };
            let part = Part::of(claim.claim_type, claim.status, &claim.statement, !asked.is_empty());
            let mends = part != Part::Decision && replaced.is_some_and(|old| old.mended);
            let part = if mends { Part::Finding } else { part };
            let said = said.get(&claim.id).map_or(&[][..], Vec::as_slice);
            let later = later.get(&claim.id).map_or(&[][..], Vec::as_slice);
            let state = match part {
                Part::Finding if mends => Some("mended".to_owned()),
                Part::Finding if claim.claim_type != ClaimType::Negative => {
                    Some(state(store, claim, said, later)?)
                }
                Part::Decision | Part::Finding | Part::Figure | Part::Open | Part::Other => None,
            };
            Ok((
                claim.id,
                pack::Digest {
                    part,
                    why: rationales.get(&claim.id).cloned(),
                    state,
                    named_by: later.iter().take(NAMED_BY).map(|later| later.id.to_string()).collect(),
                    instead_of: replaced.map(|replaced| replaced.id.to_string()),
                    builds_on_it,
                    said: said_last(said),
                    asks: if part == Part::Open { asked.into_iter().map(name).collect() } else { Vec::new() },
                    elsewhere: elsewhere(&claim.scopes, &places),
                },
            ))
        };
        let mut digests: BTreeMap<ClaimId, pack::Digest> =
            claims.iter().map(digest).collect::<Result<_, _>>()?;
        // A later claim about a finding or a figure stands beside it: it mends it, or says how it ended.
        for part in [Part::Figure, Part::Finding] {
            let of_part = digests.iter().filter(|(_, digest)| digest.part == part);
            let beside: BTreeSet<ClaimId> =
                of_part.filter_map(|(id, _)| later.get(id)).flatten().map(|later| later.id).collect();
            for (_, digest) in digests.iter_mut().filter(|(id, _)| beside.contains(id)) {
                if digest.part == Part::Other {
                    digest.part = part;
                }
            }
        }
        // Later claims of the same part follow the claim there, so that their names are no news.
        let parts: BTreeMap<String, Part> =
            digests.iter().map(|(id, digest)| (id.to_string(), digest.part)).collect();
        for digest in
            digests.values_mut().filter(|digest| matches!(digest.part, Part::Finding | Part::Figure))
        {
            digest.named_by.retain(|id| parts.get(id) != Some(&digest.part));
        }
        Ok(Self(digests))
    }

    /// The digest of a claim.
    pub(super) fn get(&self, id: ClaimId) -> Option<&pack::Digest> {
        self.0.get(&id)
    }
}

/// The later claims that name each claim, newest first.
fn later<'c>(
    store: &Reader,
    claims: &[&'c ClaimSummary],
) -> Result<BTreeMap<ClaimId, Vec<&'c ClaimSummary>>, StoreError> {
    let mut later: BTreeMap<ClaimId, Vec<&ClaimSummary>> = BTreeMap::new();
    let mut newest_first = claims.to_vec();
    newest_first.sort_by_key(|claim| std::cmp::Reverse(claim.created_seq));
    for claim in newest_first {
        for named in store.mentions(&claim.statement, claim.created_seq)? {
            later.entry(named).or_default().push(claim);
        }
    }
    Ok(later)
}

/// Whether a finding is mended, with the source: the first later claim, or else the position of another agent.
fn state(
    store: &Reader,
    claim: &ClaimSummary,
    said: &[Said],
    later: &[&ClaimSummary],
) -> Result<String, StoreError> {
    if says_mended(&claim.statement) {
        return Ok("mended".to_owned());
    }
    let called = store.name_given(claim.id)?.unwrap_or_default();
    let mends = later
        .iter()
        .rev()
        .find(|later| later.status != Status::Contested && says_mended_of(&later.statement, &called));
    if let Some(mends) = mends {
        return Ok(format!("mended: {}", mends.id));
    }
    let support = Position::Support.as_str();
    let mends = said.iter().find(|said| said.position == support && says_mended(&said.reason));
    Ok(mends.map_or_else(|| "no mend on record".to_owned(), |said| format!("mended: {}", name(&said.agent))))
}

/// The last challenge and the last support, each with its reason: either may add to the claim.
fn said_last(said: &[Said]) -> Vec<String> {
    let last = |position: Position| said.iter().find(|said| said.position == position.as_str());
    let told = |said: &Said| format!("{} {}: {}", name(&said.agent), said.position, said.reason);
    let support = last(Position::Support).filter(|said| said.reason.chars().count() >= TELLING_CHARS);
    last(Position::Challenge).into_iter().chain(support).map(told).collect()
}

/// The scopes of a claim that the reader did not name. The others are no news.
fn elsewhere(scopes: &[String], places: &[Scope]) -> String {
    // A reader names a file by the end of its path too: `db/pool.rs` for `src/db/pool.rs`.
    let is_it = |scope: &str, place: &str| {
        scope == place || scope.strip_suffix(place).is_some_and(|above| above.ends_with('/'))
    };
    let is_named = |scope: &&String| places.iter().any(|place| is_it(scope, place.as_str()));
    let others: Vec<&str> = scopes.iter().filter(|scope| !is_named(scope)).map(String::as_str).collect();
    others.join(" ")
}
