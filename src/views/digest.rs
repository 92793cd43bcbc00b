//! The further parts of a session's first context: the section of each claim, the reason of each decision, the
//! positions of other agents, and mended defects.

use std::collections::{BTreeMap, BTreeSet};

use super::about::About;
use super::markdown::name;
use crate::domain::claim::{ClaimType, Position, Status};
use crate::domain::digest::{
    Part, asks_for_mend, demands, may_mend, reports_defect, says_amends_of, says_mended, says_mended_of,
    tells_why,
};
use crate::domain::ids::ClaimId;
use crate::domain::names::names_in;
use crate::domain::scope::Scope;
use crate::pack;
use crate::store::{ClaimSummary, Question, Reader, Replaced, Said, StoreError, TaskView};

/// Maximum number of later claims that are shown with the claim that they name.
const NAMED_BY: usize = 3;
/// Number of tasks whose results may tell a mend: those that were done last.
pub(super) const DONE_TASKS: usize = 40;
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
        (about, done): (&About, &[TaskView]),
    ) -> Result<Self, StoreError> {
        let ids: Vec<ClaimId> = claims.iter().map(|claim| claim.id).collect();
        let rationales = store.rationales(&ids)?;
        let said = store.said_of(&ids)?;
        let mut asks: BTreeMap<ClaimId, BTreeSet<&str>> = BTreeMap::new();
        for question in asked {
            asks.entry(question.claim.id).or_default().insert(&question.agent);
        }
        let later = later(store, claims)?;
        let met = met(store, claims, &later, &said)?;
        let places = about.decided_at();
        let mending = mends(claims.iter().copied());
        let digest = |claim: &&ClaimSummary| -> Result<(ClaimId, pack::Digest), StoreError> {
            let asked = asks.get(&claim.id).filter(|_| !met.contains(&claim.id));
            let asked: Vec<&str> = asked.into_iter().flatten().copied().collect();
            let replaced = replaced.get(&claim.id);
            let builds_on_it = match replaced {
                Some(old) => store.mentions(&claim.statement, claim.created_seq)?.contains(&old.id),
                None => false,
            };
            let part = Part::of(claim.claim_type, claim.status, &claim.statement, !asked.is_empty());
            let mends = part != Part::Decision && replaced.is_some_and(|old| old.mended);
            let part = if mends && part != Part::Figure { Part::Finding } else { part };
            let said = said.get(&claim.id).map_or(&[][..], Vec::as_slice);
            let later = later.get(&claim.id).map_or(&[][..], Vec::as_slice);
            let is_defect = part == Part::Finding
                && claim.claim_type != ClaimType::Negative
                && (reports_defect(&claim.statement) || asks_for_mend(&claim.statement));
            let (state, mended) = match part {
                // Its text names what it mends.
                Part::Finding if mends => (None, None),
                Part::Finding if is_defect => {
                    let (state, mended) = state(store, claim, (said, done), (later, &mending))?;
                    (Some(state), mended)
                }
                Part::Decision | Part::Finding | Part::Figure | Part::Open | Part::Other => (None, None),
            };
            Ok((
                claim.id,
                pack::Digest {
                    part,
                    why: rationales.get(&claim.id).cloned(),
                    state,
                    mended,
                    mends: Vec::new(),
                    follows: None,
                    named_by: later.iter().take(NAMED_BY).map(|later| later.id.to_string()).collect(),
                    instead_of: replaced.map(instead_of).unwrap_or_default(),
                    demanded: replaced.map(|old| demanded(old, &claim.statement)).unwrap_or_default(),
                    builds_on_it,
                    said: said_last(said),
                    asks: if part == Part::Open { asked.into_iter().map(name).collect() } else { Vec::new() },
                    elsewhere: elsewhere(&claim.scopes, &places),
                },
            ))
        };
        let mut digests: BTreeMap<ClaimId, pack::Digest> =
            claims.iter().map(digest).collect::<Result<_, _>>()?;
        let is_over = |claim: &&&ClaimSummary| claim.status == Status::Deprecated;
        let over: BTreeSet<ClaimId> = claims.iter().filter(is_over).map(|claim| claim.id).collect();
        let amends = amends(store, &later)?;
        move_beside(&mut digests, &later, &amends, &over);
        note_mends(&mut digests);
        Ok(Self(digests))
    }

    /// The digest of a claim.
    pub(super) fn get(&self, id: ClaimId) -> Option<&pack::Digest> {
        self.0.get(&id)
    }
}

/// The ids of superseded claims: first the one whose text is shown.
fn instead_of(replaced: &Replaced) -> Vec<String> {
    std::iter::once(&replaced.id).chain(&replaced.others).map(ToString::to_string).collect()
}

/// What a superseded decision demanded, and the new statement does not repeat.
fn demanded(old: &Replaced, new: &str) -> Vec<String> {
    if old.claim_type != ClaimType::Decision || old.mended {
        return Vec::new();
    }
    let is_kept = |sentence: &&str| new.contains(sentence.trim_end_matches(['.', ';']));
    demands(&old.statement).filter(|sentence| !is_kept(sentence)).map(str::to_owned).collect()
}

/// Notes with each claim which defects it mends.
fn note_mends(digests: &mut BTreeMap<ClaimId, pack::Digest>) {
    let mended: Vec<(ClaimId, String)> = digests.iter().filter_map(mended_by).collect();
    for (defect, by) in mended {
        let by = digests.iter_mut().find(|(id, _)| id.to_string() == by);
        by.into_iter().for_each(|(_, digest)| digest.mends.push(defect.to_string()));
    }
}

/// A mended defect, with the id of the claim that says so.
fn mended_by((id, digest): (&ClaimId, &pack::Digest)) -> Option<(ClaimId, String)> {
    digest.mended.as_ref().and_then(|mend| Some((*id, mend.claim.clone()?)))
}

/// Puts later claims behind the claims that they name: they amend a decision, mend a defect, or say how something ended.
fn move_beside(
    digests: &mut BTreeMap<ClaimId, pack::Digest>,
    later: &BTreeMap<ClaimId, Vec<&ClaimSummary>>,
    amends: &BTreeSet<(ClaimId, ClaimId)>,
    over: &BTreeSet<ClaimId>,
) {
    // A figure in an amendment does not make it a measurement.
    let moved = [
        (Part::Decision, &[Part::Other, Part::Figure][..]),
        (Part::Figure, &[Part::Other]),
        (Part::Finding, &[Part::Other]),
    ];
    for (part, from) in moved {
        let of_part = digests.iter().filter(|(_, digest)| digest.part == part);
        // A fact that only names a decision is none.
        let is_beside =
            |by: &ClaimId, named: &ClaimId| part != Part::Decision || amends.contains(&(*by, *named));
        let mut beside: BTreeSet<ClaimId> = BTreeSet::new();
        for named in of_part.map(|(id, _)| id) {
            let by = later.get(named).into_iter().flatten().map(|later| later.id);
            beside.extend(by.filter(|by| is_beside(by, named)));
        }
        for (_, digest) in digests.iter_mut().filter(|(id, _)| beside.contains(id)) {
            if from.contains(&digest.part) {
                digest.part = part;
            }
        }
    }
    let parts: BTreeMap<ClaimId, Part> = digests.iter().map(|(id, digest)| (*id, digest.part)).collect();
    // What is out of force stands behind the claim that names it.
    let is_together = |later: &ClaimId, named: &ClaimId| {
        !over.contains(named) && parts.contains_key(later) && parts.get(later) == parts.get(named)
    };
    for (named, by) in later {
        for follower in by.iter().filter(|by| is_together(&by.id, named)) {
            if let Some(digest) = digests.get_mut(&follower.id) {
                digest.follows.get_or_insert_with(|| named.to_string());
            }
        }
        // Claims that stand behind it need no reference.
        if let Some(digest) = digests.get_mut(named) {
            let apart: Vec<String> =
                by.iter().filter(|by| !is_together(&by.id, named)).map(|by| by.id.to_string()).collect();
            digest.named_by.retain(|id| apart.contains(id));
        }
    }
}

/// The later claims that change a part of a claim in words, each with that claim.
fn amends(
    store: &Reader,
    later: &BTreeMap<ClaimId, Vec<&ClaimSummary>>,
) -> Result<BTreeSet<(ClaimId, ClaimId)>, StoreError> {
    let mut amends = BTreeSet::new();
    for (named, by) in later {
        let called = store.name_given(*named)?.unwrap_or_default();
        let by = by.iter().filter(|by| says_amends_of(&by.statement, &called));
        amends.extend(by.map(|by| (by.id, *named)));
    }
    Ok(amends)
}

/// The requests that were met: a later claim of another agent names the request, or a position of its owner on another
/// claim does, or its owner says that it is done.
fn met(
    store: &Reader,
    claims: &[&ClaimSummary],
    later: &BTreeMap<ClaimId, Vec<&ClaimSummary>>,
    said: &BTreeMap<ClaimId, Vec<Said>>,
) -> Result<BTreeSet<ClaimId>, StoreError> {
    let support = Position::Support.as_str();
    let supports: Vec<&Said> = said.values().flatten().filter(|said| said.position == support).collect();
    let mut met = BTreeSet::new();
    for claim in claims {
        let called = store.name_given(claim.id)?.unwrap_or_default();
        let is_answered = later
            .get(&claim.id)
            .into_iter()
            .flatten()
            .any(|later| later.owner != claim.owner || says_mended_of(&later.statement, &called));
        let is_accepted = supports.iter().any(|said| {
            said.agent == claim.owner
                && names_in(&said.reason).any(|name| name.to_string().eq_ignore_ascii_case(&called))
        });
        if is_answered || is_accepted {
            met.insert(claim.id);
        }
    }
    Ok(met)
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

/// Whether a defect is mended, with the source: the first later claim, or else the position of another agent, or else the
/// result of a task. A later claim that only names it may tell a mend.
fn state(
    store: &Reader,
    claim: &ClaimSummary,
    (said, done): (&[Said], &[TaskView]),
    (later, mends): (&[&ClaimSummary], &[&ClaimSummary]),
) -> Result<(String, Option<pack::Mend>), StoreError> {
    // What a review calls fixed is not what it asks for.
    if says_mended(&claim.statement) && reports_defect(&claim.statement) {
        return Ok(("mended".to_owned(), None));
    }
    let called = store.name_given(claim.id)?.unwrap_or_default();
    if let Some(mends) = mended_later(claim, &called, mends) {
        let claim = Some(mends.id.to_string());
        let how = pack::Mend { claim, by: mends.owner.clone(), how: mends.statement.clone() };
        return Ok((format!("mended: {}", mends.id), Some(how)));
    }
    let support = Position::Support.as_str();
    if let Some(mends) = said.iter().find(|said| said.position == support && says_mended(&said.reason)) {
        let how = pack::Mend { claim: None, by: mends.agent.clone(), how: mends.reason.clone() };
        return Ok((format!("mended: {}", name(&mends.agent)), tells_why(&mends.reason).then_some(how)));
    }
    if let Some((task, note)) = mended_in(&called, done) {
        let by = task.ended_by.clone().unwrap_or_else(|| task.added_by.clone());
        let how = pack::Mend { claim: None, by, how: note.clone() };
        return Ok((format!("mended: {}", task.name), Some(how)));
    }
    let mut uncontested = later.iter().rev().filter(|later| later.status != Status::Contested);
    let perhaps = uncontested.find(|later| later.claim_type == ClaimType::Fact && may_mend(&later.statement));
    let state = perhaps.map(|later| format!("perhaps mended: {} names it", later.id));
    Ok((state.unwrap_or_else(|| "no mend on record".to_owned()), None))
}

/// The claims in force that say of anything that it is mended, the oldest first.
fn mends<'c>(claims: impl Iterator<Item = &'c ClaimSummary>) -> Vec<&'c ClaimSummary> {
    let is_in_force = |claim: &&ClaimSummary| !matches!(claim.status, Status::Contested | Status::Deprecated);
    let mut mends: Vec<&ClaimSummary> =
        claims.filter(is_in_force).filter(|claim| says_mended(&claim.statement)).collect();
    mends.sort_by_key(|claim| claim.created_seq);
    mends
}

/// The first later claim that says of a claim that it is mended.
fn mended_later<'c>(
    claim: &ClaimSummary,
    called: &str,
    mends: &[&'c ClaimSummary],
) -> Option<&'c ClaimSummary> {
    let mut later = mends.iter().copied().filter(|mends| mends.created_seq > claim.created_seq);
    later.find(|later| says_mended_of(&later.statement, called))
}

/// The task whose result says of the claim of this name that it is mended, with that result.
fn mended_in<'t>(called: &str, done: &'t [TaskView]) -> Option<(&'t TaskView, &'t String)> {
    let mut noted = done.iter().filter_map(|task| Some((task, task.note.as_ref()?)));
    noted.find(|(_, note)| says_mended_of(note, called))
}

/// The dead ends that are mended, each with the claim or the task that says so: a defect is often told as a dead end.
pub(super) fn mended_dead_ends(
    store: &Reader,
    dead_ends: &[ClaimSummary],
    others: &[ClaimSummary],
    done: &[TaskView],
) -> Result<BTreeMap<ClaimId, String>, StoreError> {
    let mut mended = BTreeMap::new();
    if dead_ends.is_empty() {
        return Ok(mended);
    }
    let mends = mends(others.iter().chain(dead_ends));
    for claim in dead_ends {
        let called = store.name_given(claim.id)?.unwrap_or_default();
        let by = mended_later(claim, &called, &mends).map(|claim| claim.id.to_string());
        let by = by.or_else(|| mended_in(&called, done).map(|(task, _)| task.name.clone()));
        mended.extend(by.map(|by| (claim.id, by)));
    }
    Ok(mended)
}

/// The last challenge and the last support, each with its reason: either may add to the claim.
fn said_last(said: &[Said]) -> Vec<(Position, String)> {
    let last = |position: Position| said.iter().find(|said| said.position == position.as_str());
    let told = |said: &Said| format!("{} {}: {}", name(&said.agent), said.position, said.reason);
    let support = last(Position::Support)
        .filter(|said| said.reason.chars().count() >= TELLING_CHARS && tells_why(&said.reason));
    let challenge = last(Position::Challenge).map(|said| (Position::Challenge, told(said)));
    challenge.into_iter().chain(support.map(|said| (Position::Support, told(said)))).collect()
}

/// The scopes of a claim that the reader did not name. The others are no news.
fn elsewhere(scopes: &[String], places: &[Scope]) -> Vec<String> {
    // A reader names a file by the end of its path too: `db/pool.rs` for `src/db/pool.rs`.
    let is_it = |scope: &str, place: &str| {
        scope == place || scope.strip_suffix(place).is_some_and(|above| above.ends_with('/'))
    };
    let is_named = |scope: &&String| places.iter().any(|place| is_it(scope, place.as_str()));
    scopes.iter().filter(|scope| !is_named(scope)).cloned().collect()
}
