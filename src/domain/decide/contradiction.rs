//! Contradictions: detected with a new claim, position or link, and ended when one side gives way.

use std::collections::{BTreeMap, BTreeSet};

use super::{Accepted, Speaker};
use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, ContradictionKind, Position, Relation, Resolution, Status, Tier};
use crate::domain::command::CreateClaim;
use crate::domain::event::{ContradictionDetected, ContradictionResolved, Event, Side};
use crate::domain::ids::{ClaimId, EventId};
use crate::domain::pairs::{Likeness, Opposition, Reading, likeness, revives};
use crate::domain::receipt::{Warning, WarningCode};
use crate::domain::scope::Scope;
use crate::domain::state::{Claim, State};

/// The most contradictions per tier that a new claim opens. A higher number is a fault of the rules, not of the team.
const MAX_OPENED: usize = 5;
/// The most similar claims that a receipt names.
const MAX_SIMILAR: usize = 5;

/// Compares a new claim with the claims in force in overlapping scopes. Detects contradictions first, then similar
/// claims. The new claim may contradict the claims in `replaced`, because it supersedes them.
pub(super) fn on_creation(
    state: &State,
    agent: &AgentId,
    create: &CreateClaim,
    (reading, scopes): (&Reading, &[Scope]),
    replaced: &[ClaimId],
    decision: &mut Accepted,
) {
    let right = Side { claim_id: create.claim_id, agent: agent.clone() };
    let (mut strong, mut weak) = (0, 0);
    for (id, other) in state.like(reading, scopes) {
        if replaced.contains(&id) {
            continue;
        }
        let Some((found, kind)) = compare(create, reading, other) else { continue };
        let (tier, opened) = match found {
            Likeness::Similar => {
                decision.similar.push(id);
                continue;
            }
            Likeness::Alike => {
                decision.alike.push(id);
                continue;
            }
            Likeness::Strong(_) => (Tier::Strong, &mut strong),
            Likeness::Weak(_) => (Tier::Weak, &mut weak),
        };
        *opened += 1;
        if *opened > MAX_OPENED {
            continue;
        }
        let left = Side { claim_id: id, agent: other.owner.clone() };
        if tier == Tier::Strong {
            decision.warnings.push(Warning {
                code: WarningCode::Contradiction,
                message: format!("{} says otherwise: {}", other.owner, super::claim::quotation(state, id)),
                claim_id: Some(id),
            });
        }
        let right = right.clone();
        decision.events.push(ContradictionDetected { kind, tier, left, right }.into());
    }
    decision.similar.truncate(MAX_SIMILAR);
    decision.alike.truncate(MAX_SIMILAR);
}

fn compare(create: &CreateClaim, new: &Reading, other: &Claim) -> Option<(Likeness, ContradictionKind)> {
    let theirs = other.reading();
    let negative = |claim_type: ClaimType| claim_type == ClaimType::Negative;
    let found = match (negative(create.claim_type), negative(other.claim_type)) {
        (true, false) => revives(new, &theirs),
        (false, true) => revives(&theirs, new),
        // Two failed approaches do not contradict each other.
        (true, true) => likeness(new, &theirs).filter(|found| *found == Likeness::Similar),
        (false, false) => likeness(new, &theirs),
    }?;
    let kind = match found {
        Likeness::Strong(Opposition::Negation) | Likeness::Weak(Opposition::Negation) => {
            ContradictionKind::Polarity
        }
        Likeness::Strong(_) | Likeness::Weak(_) | Likeness::Alike | Likeness::Similar => {
            ContradictionKind::Value
        }
    };
    Some((found, kind))
}

/// A challenge contradicts the owner. After the end of a contradiction, a further challenge opens a new one.
pub(super) fn on_challenge(state: &State, challenger: &AgentId, id: ClaimId, claim: &Claim) -> Option<Event> {
    let side = |agent: &AgentId| Side { claim_id: id, agent: agent.clone() };
    fresh(state, ContradictionKind::Position, side(&claim.owner), side(challenger))
}

/// Opens the answered challenges again, because the claim lost the proof that answered them.
pub(super) fn on_lost_proof(state: &State, id: ClaimId, claim: &Claim) -> Vec<Event> {
    claim.answered_challengers().filter_map(|agent| on_challenge(state, agent, id, claim)).collect()
}

/// Warnings if the agent supports or owns another claim that contradicts the supported one.
pub(super) fn on_support(state: &State, (agent, session): Speaker<'_>, id: ClaimId) -> Vec<Warning> {
    let open = state.contradictions_of(id).map(|(_, open)| open);
    let strong = open.filter(|open| open.tier == Tier::Strong && open.left.claim_id != open.right.claim_id);
    let others: BTreeSet<ClaimId> = strong
        .map(|open| if open.left.claim_id == id { open.right.claim_id } else { open.left.claim_id })
        .collect();
    let held = |other: &ClaimId| {
        let claim = state.claim(*other).filter(|claim| claim.status != Status::Deprecated)?;
        let holds = if state.is_own(agent, session, claim) {
            "own"
        } else if claim.positions.get(agent) == Some(&Position::Support) {
            "support"
        } else {
            return None;
        };
        let message =
            format!("you {holds} {}, which contradicts this", super::claim::quotation(state, *other));
        Some(Warning { code: WarningCode::Contradiction, message, claim_id: Some(*other) })
    };
    others.iter().filter_map(held).collect()
}

/// The contradiction that an agent records by a link between two claims.
pub(super) fn on_link(
    state: &State,
    (claim_id, claim): (ClaimId, &Claim),
    evidence_ref: EventId,
) -> Option<Event> {
    let other_id = evidence_ref.as_claim();
    let other = state.claim(other_id)?;
    if [claim.status, other.status].contains(&Status::Deprecated) {
        return None;
    }
    let left = Side { claim_id, agent: claim.owner.clone() };
    let right = Side { claim_id: other_id, agent: other.owner.clone() };
    fresh(state, ContradictionKind::Explicit, left, right)
}

/// Agents that support the old claim and have no position on the new one.
pub(super) fn left_behind<'a>(
    state: &'a State,
    old: &'a Claim,
    (new_id, owner): (ClaimId, &'a AgentId),
) -> impl Iterator<Item = &'a AgentId> {
    let has_spoken =
        move |agent: &AgentId| state.claim(new_id).is_some_and(|new| new.positions.contains_key(agent));
    let holders = old.positions.iter().filter(|(_, held)| **held == Position::Support);
    holders.map(|(agent, _)| agent).filter(move |agent| *agent != owner && !has_spoken(agent))
}

/// Agents that challenge a claim, or challenged one of those whose place it took and have had no position since, each with
/// the claim that it challenges.
pub(super) fn challengers_behind(state: &State, id: ClaimId) -> BTreeMap<&AgentId, ClaimId> {
    let mut found = BTreeMap::new();
    let mut at = vec![(id, BTreeSet::<&AgentId>::new())];
    while let Some((id, mut spoken)) = at.pop() {
        let Some(claim) = state.claim(id) else { continue };
        for agent in claim.challengers().filter(|agent| !spoken.contains(*agent)) {
            found.entry(agent).or_insert(id);
        }
        spoken.extend(claim.positions.keys());
        at.extend(state.replaced_by(id).map(|(old, _)| (old, spoken.clone())));
    }
    found
}

/// Contradictions between each supporter of the old claim and the agent that superseded it.
pub(super) fn on_supersession(
    state: &State,
    (old_id, old): (ClaimId, &Claim),
    (new_id, owner): (ClaimId, &AgentId),
) -> Vec<Event> {
    left_behind(state, old, (new_id, owner))
        .filter_map(|agent| {
            let left = Side { claim_id: old_id, agent: agent.clone() };
            let right = Side { claim_id: new_id, agent: owner.clone() };
            fresh(state, ContradictionKind::Supersession, left, right)
        })
        .collect()
}

/// Contradictions between decisions that an alias brings to one target.
pub(super) fn on_alias(state: &State, target: &Scope, alias: &Scope) -> Vec<Event> {
    let side = |id: ClaimId| state.claim(id).map(|claim| Side { claim_id: id, agent: claim.owner.clone() });
    let mut found = Vec::new();
    for left in state.decisions_on(target).filter_map(side) {
        for right in state.decisions_on(alias).filter_map(side) {
            found.extend(fresh(state, ContradictionKind::Target, left.clone(), right));
        }
    }
    found
}

/// Ends the contradictions between decisions that had one target only through an alias.
pub(super) fn on_parting(state: &State, alias: &Scope) -> Vec<Event> {
    let parted = state.aliases_below(alias);
    let goes = |claim: ClaimId| state.named_target(claim).is_some_and(|named| parted.contains(named));
    let of_parted = state.decisions_on(state.canonical(alias)).filter(|decision| goes(*decision));
    let open = of_parted.flat_map(|decision| state.contradictions_of(decision));
    let ended = open.filter(|(_, open)| {
        open.kind == ContradictionKind::Target && goes(open.left.claim_id) != goes(open.right.claim_id)
    });
    let ended: BTreeMap<u64, &ContradictionDetected> = ended.collect();
    ended.into_values().map(|open| resolved(open, Resolution::Parted)).collect()
}

/// The contradiction of a claim with a proved one whose place it does not take, if their words oppose each other.
pub(super) fn of_words(
    state: &State,
    (old_id, old): (ClaimId, &Claim),
    (new_id, new): (ClaimId, &Claim),
) -> Option<Event> {
    let kind = match likeness(&new.reading(), &old.reading())? {
        Likeness::Strong(Opposition::Negation) => ContradictionKind::Polarity,
        Likeness::Strong(_) => ContradictionKind::Value,
        Likeness::Weak(_) | Likeness::Alike | Likeness::Similar => return None,
    };
    let side = |claim_id, claim: &Claim| Side { claim_id, agent: claim.owner.clone() };
    fresh(state, kind, side(old_id, old), side(new_id, new))
}

/// A strong contradiction, unless the same pair was reported with the same kind before.
fn fresh(state: &State, kind: ContradictionKind, left: Side, right: Side) -> Option<Event> {
    let detected = ContradictionDetected { kind, tier: Tier::Strong, left, right };
    (!state.was_reported(&detected)).then(|| detected.into())
}

/// The contradictions that end with these events of a command.
pub(super) fn ended_by(state: &State, agent: &AgentId, events: &[Event]) -> Vec<Event> {
    let mut ended = BTreeMap::new();
    for event in events {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "a contradiction ends with a claim, a position or a link; a run and a parted target end theirs where \
                      they are decided"
        )]
        match event {
            Event::ClaimSuperseded(link) => {
                for (seq, open) in state.contradictions_of(link.claim_id) {
                    ended.entry(seq).or_insert((open, Resolution::Superseded));
                }
            }
            Event::StatusChanged(change) if change.to == Status::Deprecated => {
                for (seq, open) in state.contradictions_of(change.claim_id) {
                    ended.entry(seq).or_insert((open, Resolution::Deprecated));
                }
            }
            Event::PositionTaken(taken) if !taken.still => {
                // The positions that the pane took under its other names end too.
                let speaks = |side: &AgentId| side == agent || taken.instead_of.contains(side);
                for (seq, open) in state.contradictions_of(taken.claim_id) {
                    let gives_way = match open.kind {
                        ContradictionKind::Position => {
                            speaks(&open.right.agent) && taken.position != Position::Challenge
                        }
                        ContradictionKind::Supersession => {
                            speaks(&open.left.agent) && open.right.claim_id == taken.claim_id
                        }
                        ContradictionKind::Polarity
                        | ContradictionKind::Value
                        | ContradictionKind::Target
                        | ContradictionKind::Explicit => false,
                    };
                    if gives_way {
                        ended.entry(seq).or_insert((open, Resolution::PositionChanged));
                    }
                }
            }
            // This contradiction came from the link alone.
            Event::EvidenceRetracted(retracted) if retracted.relation == Relation::Contradicts => {
                for (seq, open) in state.contradictions_of(retracted.claim_id) {
                    let is_of_link = open.kind == ContradictionKind::Explicit
                        && open.left.claim_id == retracted.claim_id
                        && open.right.claim_id == retracted.evidence_ref.as_claim();
                    if is_of_link {
                        ended.entry(seq).or_insert((open, Resolution::Retracted));
                    }
                }
            }
            _ => {}
        }
    }
    ended.into_values().map(|(open, cause)| resolved(open, cause)).collect()
}

/// Ends the challenges that a supporting run answers.
pub(super) fn ended_by_proof(state: &State, claim: ClaimId, late: &[AgentId]) -> Vec<Event> {
    let is_late = |open: &ContradictionDetected| {
        [&open.left, &open.right].iter().any(|side| late.contains(&side.agent))
    };
    state
        .contradictions_of(claim)
        .filter(|(_, open)| open.kind == ContradictionKind::Position && !is_late(open))
        .map(|(_, open)| resolved(open, Resolution::Proven))
        .collect()
}

/// Ends the contradictions of an expired claim.
pub(super) fn ended_by_expiry(state: &State, claim: ClaimId) -> Vec<Event> {
    state.contradictions_of(claim).map(|(_, open)| resolved(open, Resolution::Expired)).collect()
}

/// Ends the contradictions between decisions of which one is no decision on a target any more, because an erasure took its
/// record.
pub(super) fn ended_by_erasure(state: &State) -> Vec<Event> {
    let is_on_target = |id: ClaimId| state.decision(id).is_some_and(|decision| decision.target.is_some());
    let of_targets = state.contradictions().filter(|open| open.kind == ContradictionKind::Target);
    let ended =
        of_targets.filter(|open| ![&open.left, &open.right].iter().all(|side| is_on_target(side.claim_id)));
    ended.map(|open| resolved(open, Resolution::Deprecated)).collect()
}

fn resolved(open: &ContradictionDetected, cause: Resolution) -> Event {
    let ContradictionDetected { kind, left, right, .. } = open.clone();
    ContradictionResolved { kind, left, right, cause }.into()
}
