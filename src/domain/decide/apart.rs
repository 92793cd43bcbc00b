//! A check that passes for a claim and for its opposite tells nothing of either: the proof of the one prevents that of the
//! other on the same content.

use std::collections::BTreeSet;

use super::against::{Likeness, is_same_test, likeness};
use crate::domain::claim::{ContradictionKind, Position, Status, Tier};
use crate::domain::event::ContradictionDetected;
use crate::domain::experiment::{Kinship, Plan, Reach};
use crate::domain::ids::{ClaimId, RunId};
use crate::domain::pairs;
use crate::domain::scope::Scope;
use crate::domain::state::{Claim, Run, State};
use crate::domain::versions::differ;

/// How a reason tells that a check decides nothing between two claims.
pub(crate) const NOT_TOLD_APART: &str = "the check does not tell the two apart";

/// Why a run proves nothing: the same check, a part of it or one that includes it proved the opposite, and no file of that
/// claim is known to hold something else since.
pub(super) fn not_told_apart(
    state: &State,
    (claim_id, claim): (ClaimId, &Claim),
    run: &Run,
) -> Option<String> {
    let mut proofs = opposites(state, (claim_id, claim));
    let (other, proof, kinship) = proofs.find_map(|(other, proof)| {
        let by = state.run(proof).filter(|by| by.state == run.state)?;
        let kinship = if is_same_test(by, run) { Kinship::Same } else { kin(by.reach(), run.reach())? };
        let scopes = state.claim(other).map_or(&[][..], |other| &other.scopes);
        (!is_other_content(state, (claim, scopes), by, run)).then_some((other, proof, kinship))
    })?;
    let is_over = state.claim(other).is_none_or(|other| other.status == Status::Deprecated);
    let way = if is_over { "" } else { ", or ask its owner to end it" };
    Some(format!(
        "run {proof} of {} check proved {other}, {}, on content that may be the same: {NOT_TOLD_APART}; take one that comes \
         out otherwise for {other}{way}",
        kinship.as_str(),
        otherwise(state, (claim_id, claim), other)
    ))
}

/// Whether a file of the claim that a run proved, at these scopes, is known to hold something else now. Where both claims are
/// about the same places, the digest of all files there tells; where those of the other one have no version, the content of
/// all files that the check covers counts.
fn is_other_content(state: &State, (claim, other): (&Claim, &[Scope]), by: &Run, run: &Run) -> bool {
    let proved = &by.saw.versions;
    if let Some((then, now)) = by.key.as_ref().zip(run.key.as_ref()) {
        let are_both = |one: &Option<String>, other: &Option<String>| one.is_some() && one == other;
        let is_covered_alike = by.scopes == run.scopes && are_both(&then.covered, &now.covered);
        if !differ(proved, &run.saw.versions) && (are_both(&then.tree, &now.tree) || is_covered_alike) {
            return false;
        }
        let places = |scopes: &[Scope]| -> BTreeSet<Scope> {
            scopes.iter().filter(|scope| scope.is_path()).cloned().collect()
        };
        if let Some((then, now)) = then.own.as_ref().zip(now.own.as_ref())
            && places(&claim.scopes) == places(other)
        {
            return then != now;
        }
    }
    if proved.is_empty() && !matches!(likeness(claim, by, run), Likeness::Same | Likeness::Unknown) {
        return true;
    }
    let holds = |path: &Scope| {
        let told = || state.edits().told(run.worktree.as_ref(), path);
        run.saw.versions.get(path).copied().or_else(told)
    };
    proved.iter().any(|(path, content)| holds(path).is_some_and(|now| now != *content))
}

/// How another claim stands to a claim of which the same check proves nothing.
pub(super) fn otherwise(state: &State, (id, claim): (ClaimId, &Claim), other: ClaimId) -> &'static str {
    if claim.proposes_to_supersede == Some(other) {
        return "whose place this one is to take";
    }
    let is_replaced = state.claim(other).is_some_and(|other| other.superseded_by == Some(id));
    if is_replaced { "whose place this one took" } else { "which says otherwise" }
}

/// The run by which the check of a plan, or one that includes it or is a part of it, proved the opposite of a claim, and that
/// claim. The content of the new run is known once it is over.
pub(super) fn proved_opposite(
    state: &State,
    (claim_id, claim): (ClaimId, &Claim),
    plan: &Plan,
) -> Option<(ClaimId, RunId)> {
    let check = plan.check();
    opposites(state, (claim_id, claim)).find(|(_, proof)| {
        let is_akin = |by: &Run| {
            by.check.as_ref() == Some(&check)
                || kin(by.reach(), Reach::of(&plan.words(), by.dir.as_deref().unwrap_or_default())).is_some()
        };
        state.run(*proof).is_some_and(is_akin)
    })
}

fn kin(one: Option<Reach>, other: Option<Reach>) -> Option<Kinship> {
    one?.kinship(&other?).filter(|kinship| *kinship != Kinship::Alike)
}

/// The proved claims that say the opposite of a claim, with the runs that proved them: those in force, the one whose place it is
/// to take, and those whose place it took.
fn opposites(state: &State, (claim_id, claim): (ClaimId, &Claim)) -> impl Iterator<Item = (ClaimId, RunId)> {
    let is_opposite = |open: &&ContradictionDetected| {
        use ContradictionKind::{Explicit, Polarity, Position, Supersession, Target, Value};
        let is_of_words = match open.kind {
            Polarity | Value | Explicit => true,
            Position | Supersession | Target => false,
        };
        is_of_words && open.tier == Tier::Strong && open.left.claim_id != open.right.claim_id
    };
    let open = state.contradictions_of(claim_id).map(|(_, open)| open).filter(is_opposite);
    let open =
        open.map(
            move |open| if open.left.claim_id == claim_id { open.right.claim_id } else { open.left.claim_id },
        );
    let in_force = open.filter(|id| state.claim(*id).is_some_and(|other| other.status != Status::Deprecated));
    let replaced = state.replaced_by(claim_id).map(|(id, _)| id);
    let says_otherwise = move |id: &ClaimId| {
        let old = state.claim(*id).filter(|old| old.proof.is_some());
        // What another agent puts in its place stands against it, in whatever words, unless the owner of the old one agrees.
        let is_anothers = old.is_some_and(|old| {
            let is_agreed = claim.positions.get(&old.owner) == Some(&Position::Support);
            !is_agreed && !state.is_own(&claim.owner, claim.session.as_ref(), old)
        });
        let found = old.and_then(|old| pairs::likeness(&claim.reading(), &old.reading()));
        is_anothers || matches!(found, Some(pairs::Likeness::Strong(_)))
    };
    let before = claim.proposes_to_supersede.into_iter().chain(replaced).filter(says_otherwise);
    let mut all: Vec<ClaimId> = in_force.chain(before).collect();
    all.sort();
    all.dedup();
    all.into_iter().filter_map(|id| Some((id, state.claim(id)?.proof?)))
}
