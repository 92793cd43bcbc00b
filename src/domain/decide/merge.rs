//! Merges of two claims that say the same: `system` proposes them, and only an agent or the operator accepts one.

use std::cmp::Reverse;

use super::claim::may_deprecate;
use super::evidence::{self, About};
use super::mined::refuse_system;
use super::{Accepted, Policy, Speaker, contradiction, decision, known_claim, overrule, transition};
use crate::domain::agent::AgentId;
use crate::domain::claim::{Position, Relation, Share, Status};
use crate::domain::command::{AcceptMerge, DeclineMerge};
use crate::domain::event::{
    ClaimSuperseded, Event, EvidenceAdded, MergeAccepted, MergeDeclined, MergeProposed,
};
use crate::domain::ids::{ClaimId, SessionId};
use crate::domain::merge::Rank;
use crate::domain::pairs::is_paraphrase;
use crate::domain::rejection::{Code, Rejection};
use crate::domain::state::{Claim, State};
use crate::domain::time::Timestamp;
use crate::domain::versions::Versions;

/// The proposal to merge two claims. None if it was made before, or if the claims may differ in more than words.
pub(super) fn proposed(state: &State, one: ClaimId, other: ClaimId) -> Option<Event> {
    let (left, right) = (one.min(other), one.max(other));
    let (older, newer) = (state.claim(left)?, state.claim(right)?);
    let is_new = left != right && state.mined().merge(left, right).is_none();
    let are_twins = is_new && can_merge(state, (left, older), (right, newer));
    let is_same = are_twins && is_paraphrase(&older.reading(), &newer.reading());
    is_same.then(|| MergeProposed { left, right }.into())
}

/// Whether two claims have one type and overlapping scopes, both are in force and undisputed, and neither is to take the
/// place of the other.
fn can_merge(state: &State, (left, older): (ClaimId, &Claim), (right, newer): (ClaimId, &Claim)) -> bool {
    let stands = |claim: &Claim| {
        matches!(claim.status, Status::Proposed | Status::Confirmed) && claim.superseded_by.is_none()
    };
    let is_of_team = |claim: &Claim| claim.owner != AgentId::system();
    let targets = [left, right].map(|id| state.named_target(id));
    let is_disputed = state
        .contradictions_of(left)
        .any(|(_, open)| open.left.claim_id == right || open.right.claim_id == right);
    older.claim_type == newer.claim_type
        && stands(older)
        && stands(newer)
        && is_of_team(older)
        && is_of_team(newer)
        && older.trigger() == newer.trigger()
        && targets[0] == targets[1]
        && older.proposes_to_supersede != Some(right)
        && newer.proposes_to_supersede != Some(left)
        && older.scopes.iter().any(|scope| newer.scopes.iter().any(|other| scope.overlaps(other)))
        && !is_disputed
}

/// The open proposal about two claims: the claim that stays, by its [`Rank`], and the claim that goes.
fn open(state: &State, one: ClaimId, other: ClaimId) -> Result<(ClaimId, ClaimId), Rejection> {
    let (left, right) = (one.min(other), one.max(other));
    let claims = [(left, known_claim(state, left)?), (right, known_claim(state, right)?)];
    let refused = |why: &str, hint: &str| {
        Err(Rejection::new(Code::InvalidTransition, format!("claims {left} and {right} {why}"), hint))
    };
    match state.mined().merge(left, right) {
        None => return refused("were not proposed for a merge", "supersede one by a new claim instead"),
        Some(false) => return refused("are settled already", "nothing to do"),
        Some(true) => {}
    }
    if !can_merge(state, claims[0], claims[1]) {
        let hint = "look at both: `hivemind://claims`; a proposal ends with either claim";
        return refused("have changed since, and are no longer the same", hint);
    }
    let rank = |(id, claim): &(ClaimId, &Claim)| {
        let supports = claim.positions.values().filter(|held| **held == Position::Support).count();
        let is_confirmed = claim.status == Status::Confirmed;
        let supports = u32::try_from(supports).unwrap_or(u32::MAX);
        Rank { is_proven: is_confirmed && claim.is_proven, is_confirmed, supports, id: Reverse(*id) }
    };
    Ok(if rank(&claims[0]) >= rank(&claims[1]) { (left, right) } else { (right, left) })
}

pub(super) fn accept(
    state: &State,
    (agent, session): Speaker<'_>,
    command: &AcceptMerge,
    (versions, now): (&Versions, Timestamp),
    policy: &Policy,
) -> Result<Accepted, Rejection> {
    refuse_system(agent)?;
    let (kept_id, merged_id) = open(state, command.claim_id, command.other)?;
    let (kept, merged) = (known_claim(state, kept_id)?, known_claim(state, merged_id)?);
    if overrule::stands(agent, merged, policy) || !may_deprecate(state, (agent, session), merged) {
        let owner = if merged.is_the_operators() { AgentId::operator() } else { merged.owner.clone() };
        return Err(Rejection::new(
            Code::NotAllowed,
            format!("claim {merged_id} would go out of force, and it is {owner}'s"),
            format!("ask {} to accept the merge: `hivemind://attention`", decision::with_architect(&owner)),
        ));
    }
    let holders = |position| {
        let held = merged.positions.iter().filter(move |(_, held)| **held == position);
        held.map(|(agent, _)| agent.clone()).collect::<Vec<_>>()
    };
    // Their support is about the other text, so they are asked about this one.
    let mut asks: Vec<AgentId> =
        contradiction::left_behind(state, merged, (kept_id, &kept.owner)).cloned().collect();
    let owner = Some(&merged.owner).filter(|owner| {
        **owner != kept.owner
            && *owner != agent
            && !kept.positions.contains_key(*owner)
            && !asks.contains(owner)
    });
    asks.extend(owner.cloned());
    let mut events: Vec<Event> = vec![
        MergeAccepted { kept: kept_id, merged: merged_id, supporters: holders(Position::Support) }.into(),
        ClaimSuperseded { claim_id: merged_id, superseded_by: kept_id, mends: false, asks }.into(),
        transition(merged_id, merged.status, Status::Deprecated, &format!("merged into {kept_id}")),
    ];
    events.extend(evidence_of(state, session, (kept_id, kept), (merged_id, merged), (versions, now))?);
    Ok(Accepted { events, ..Accepted::default() })
}

/// The link by which the reasons of the merged claim are found from the one that stays. It supports that one unless some
/// of them contradict.
fn evidence_of(
    state: &State,
    session: Option<&SessionId>,
    (claim_id, kept): (ClaimId, &Claim),
    (merged_id, merged): (ClaimId, &Claim),
    (versions, now): (&Versions, Timestamp),
) -> Result<Option<Event>, Rejection> {
    let evidence_ref = merged_id.creation_event();
    let is_doubted = merged.evidence.iter().any(|(_, relation)| *relation == Relation::Contradicts);
    let relation = if is_doubted { Relation::Mentions } else { Relation::Supports };
    if kept.evidence.contains(&(evidence_ref, relation)) {
        return Ok(None);
    }
    let about = About {
        claim_id,
        claim_type: kept.claim_type,
        scopes: &kept.scopes,
        trigger: kept.trigger(),
        session,
    };
    let said = evidence::cited(state, evidence_ref, &about, versions, now)?;
    let added = EvidenceAdded {
        claim_id,
        evidence_ref,
        relation,
        weight: Share::FULL,
        note: None,
        grade: said.grade,
        run: said.run,
    };
    Ok(Some(added.into()))
}

pub(super) fn decline(
    state: &State,
    speaker: Speaker<'_>,
    command: &DeclineMerge,
) -> Result<Accepted, Rejection> {
    refuse_system(speaker.0)?;
    let DeclineMerge { claim_id, other, reason } = command.clone();
    if state.mined().merge(claim_id, other) != Some(true) {
        open(state, claim_id, other)?;
    }
    // A pair that was declined is never proposed again, so that the owners decide.
    let (one, second) = (known_claim(state, claim_id)?, known_claim(state, other)?);
    if ![one, second].iter().any(|claim| may_deprecate(state, speaker, claim)) {
        return Err(Rejection::new(
            Code::NotAllowed,
            format!("claims {claim_id} and {other} are of {} and {}", one.owner, second.owner),
            format!(
                "ask {} or {}: `hivemind://attention`",
                one.owner,
                decision::with_architect(&second.owner)
            ),
        ));
    }
    let (left, right) = (claim_id.min(other), claim_id.max(other));
    Ok(Accepted { events: vec![MergeDeclined { left, right, reason }.into()], ..Accepted::default() })
}
