//! Protection of the operator's claims: a command of an agent against one becomes a proposal to the operator.

use std::collections::BTreeSet;

use serde_json::json;

use super::position::other_names;
use super::{Accepted, Policy, Speaker, known_claim};
use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, Override, Position, Status};
use crate::domain::command::{CreateClaim, KeepClaim};
use crate::domain::event::{ClaimSuperseded, Event, OverrideDismissed, OverrideProposed, StatusChanged};
use crate::domain::ids::ClaimId;
use crate::domain::receipt::{Warning, WarningCode};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::scope::Scope;
use crate::domain::state::{Claim, Proposal, State};
use crate::domain::text::Reason;
use crate::domain::way;

/// Whether the operator recorded or supports the claim, and so protects it from this agent.
pub(super) fn stands(agent: &AgentId, claim: &Claim, policy: &Policy) -> bool {
    *agent != AgentId::operator() && claims_word(claim, policy)
}

/// Whether the operator protects the claim from challenges of agents.
pub(super) fn claims_word(claim: &Claim, policy: &Policy) -> bool {
    !policy.agents_may_override_operator && claim.status != Status::Deprecated && claim.is_the_operators()
}

/// Whether a confirmed claim may supersede `old`. If the operator stands by `old`, the operator must support the new
/// claim too.
pub(super) fn gives_way(old: &Claim, new: &Claim, policy: &Policy) -> bool {
    let supported = new.positions.get(&AgentId::operator()) == Some(&Position::Support);
    supported || !claims_word(old, policy)
}

/// Turns the request of an agent into a proposal to the operator.
pub(super) fn propose(
    state: &State,
    (agent, session): Speaker<'_>,
    (claim_id, asks): (ClaimId, Override),
    reason: &Reason,
) -> Result<Accepted, Rejection> {
    let (reason, formerly) = (Some(reason.clone()), other_names(state, (agent, session)));
    let proposed =
        OverrideProposed { claim_id, asks, reason, successor: None, statement: None, target: None, formerly };
    once(state, agent, vec![proposed])
}

/// Turns requests into proposals, except those that wait for the operator already.
pub(super) fn once(
    state: &State,
    agent: &AgentId,
    mut proposed: Vec<OverrideProposed>,
) -> Result<Accepted, Rejection> {
    let waiting = proposed.first().map(|first| (first.asks, first.claim_id));
    proposed.retain(|new| {
        let new_proposal = Proposal::of(agent, new);
        state.proposals(new.claim_id).all(|open| *open != new_proposal)
    });
    if let Some((asks, claim_id)) = waiting.filter(|_| proposed.is_empty()) {
        return Err(Rejection::new(
            Code::Duplicate,
            format!("you asked the operator to {asks} claim {claim_id} already"),
            "wait for the operator, who sees it in `hivemind://attention`",
        ));
    }
    Ok(proposals(proposed.into_iter().map(Event::from).collect()))
}

/// A decision that consists of proposals to the operator only.
fn proposals(events: Vec<Event>) -> Accepted {
    let about = events.iter().filter_map(Event::claim_id);
    let warnings = about.map(warning).collect();
    let next = Some("the operator settles it: `hivemind://attention`".to_owned());
    Accepted { events, warnings, next, ..Accepted::default() }
}

/// Whether a new claim is a decision that only the operator may make, so that the agent proposes it.
pub(super) fn is_for_operator(agent: &AgentId, create: &CreateClaim, policy: &Policy) -> bool {
    policy.only_operator_confirms && *agent != AgentId::operator() && create.claim_type == ClaimType::Decision
}

/// A claim that proposes a decision to the operator. It is not about the target, which stays free for a decision: the
/// proposal names it.
pub(super) fn propose_decision(
    create: &CreateClaim,
    made: impl FnOnce(&CreateClaim) -> Result<Accepted, Rejection>,
) -> Result<Accepted, Rejection> {
    let mut create = create.clone();
    let target = create.scopes.iter().find(|scope| scope.is_target()).cloned();
    create.scopes.retain(|scope| !scope.is_target());
    if create.scopes.is_empty() {
        create.scopes.extend(".".parse::<Scope>());
    }
    let mut accepted = made(&create)?;
    let (claim_id, asks) = (create.claim_id, Override::Decide);
    let (reason, successor, statement, formerly) = (None, None, None, Vec::new());
    let on = target.as_ref().map_or_else(String::new, |target| format!(" on {target}"));
    accepted
        .events
        .push(OverrideProposed { claim_id, asks, reason, successor, statement, target, formerly }.into());
    accepted.next = Some(format!("proposed, and the operator decides{on}: `hivemind://attention`"));
    Ok(accepted)
}

/// The proposal to supersede one claim by another.
pub(super) fn succession(claim_id: ClaimId, successor: ClaimId) -> Event {
    let (asks, successor) = (Override::Supersede, Some(successor));
    let (reason, statement, target, formerly) = (None, None, None, Vec::new());
    OverrideProposed { claim_id, asks, reason, successor, statement, target, formerly }.into()
}

pub(super) fn warning(claim: ClaimId) -> Warning {
    Warning {
        code: WarningCode::ProposedToOperator,
        message: format!(
            "proposed to the operator, who stands by claim {claim}: it stays as it is until then"
        ),
        claim_id: Some(claim),
    }
}

pub(super) fn keep(state: &State, agent: &AgentId, keep: &KeepClaim) -> Result<Accepted, Rejection> {
    let KeepClaim { claim_id, reason } = keep.clone();
    let kept = known_claim(state, claim_id)?;
    if *agent != AgentId::operator() {
        return Err(Rejection::new(
            Code::NotAllowed,
            format!("only the operator dismisses what was proposed, and you are {agent}"),
            format!("if you hold it to be right: {}", way::call("support", &json!({ "claim_id": claim_id }))),
        ));
    }
    if state.proposals(claim_id).next().is_none() {
        return Err(Rejection::new(
            Code::Duplicate,
            format!("nothing is proposed against claim {claim_id}"),
            "nothing to do: it stands",
        ));
    }
    let turned_down = turned_down(state, (claim_id, kept), reason.as_ref());
    let next = out_of_force(&turned_down);
    let events = std::iter::once(OverrideDismissed { claim_id, reason }.into()).chain(turned_down).collect();
    Ok(Accepted { events, next, ..Accepted::default() })
}

/// Deprecates each claim that was proposed as the successor of a claim that the operator keeps. A repeated proposal
/// needs a new claim.
pub(super) fn turned_down(
    state: &State,
    (kept_id, kept): (ClaimId, &Claim),
    reason: Option<&Reason>,
) -> Vec<Event> {
    let rivals: BTreeSet<ClaimId> =
        state.proposals(kept_id).filter_map(|proposal| proposal.successor).collect();
    let why = reason.map_or_else(String::new, |reason| format!(": {reason}"));
    let said = format!("turned down: the operator keeps {kept_id}{why}");
    let said: String = said.chars().take(Reason::MAX_CHARS).collect();
    let reason: Reason = said.parse().expect("it was cut, and is not empty");
    let in_force = rivals.into_iter().filter_map(|id| {
        // A decision recorded meanwhile is in force on another target. Only its proposal ends.
        let rival = state.claim(id).filter(|rival| rival.status != Status::Deprecated)?;
        if state.decision(id).is_some() {
            return None;
        }
        Some((id, rival.status))
    });
    let ends = in_force.flat_map(|(claim_id, from)| {
        let link =
            ClaimSuperseded { claim_id, superseded_by: kept_id, mends: false, asks: Vec::new() }.into();
        // A claim that supersedes another one can no longer propose to. If the kept claim has such a proposal, it gets
        // no link.
        let link = Some(link).filter(|_| kept.proposes_to_supersede.is_none());
        let (to, reason) = (Status::Deprecated, reason.clone());
        let (by_silence, keeps_proof, leaves_open) = (false, false, Vec::new());
        let end = StatusChanged { claim_id, from, to, reason, by_silence, keeps_proof, leaves_open }.into();
        link.into_iter().chain([end])
    });
    ends.collect()
}

/// The receipt's sentence about the claims that [`turned_down`] deprecated. None if there are none.
pub(super) fn out_of_force(turned_down: &[Event]) -> Option<String> {
    let ids: BTreeSet<String> =
        turned_down.iter().filter_map(Event::claim_id).map(|id| id.to_string()).collect();
    let ids: Vec<String> = ids.into_iter().collect();
    (!ids.is_empty()).then(|| format!("turned down and out of force: {}", ids.join(", ")))
}
