//! Asking for positions, and what silence makes of a claim.

use std::collections::BTreeSet;

use super::{Policy, Speaker, contradiction, overrule, take_place, ttl};
use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, Override, Status};
use crate::domain::command::CreateClaim;
use crate::domain::event::{Event, StatusChanged};
use crate::domain::ids::ClaimId;
use crate::domain::rejection::Rejection;
use crate::domain::state::{Claim, State};
use crate::domain::time::Timestamp;

/// The most agents one claim may ask.
const MAX_ASKED: usize = 8;
/// The longest time for objections, in minutes: one week.
const MAX_OBJECTION_MINUTES: u32 = 10_080;

/// Whom a claim asks, each agent once.
pub(super) fn asked(create: &CreateClaim) -> Vec<AgentId> {
    create.asks.iter().collect::<BTreeSet<_>>().into_iter().cloned().collect()
}

/// Whether a claim may ask these agents, and be agreed by silence.
pub(super) fn check(
    state: &State,
    (agent, session): Speaker<'_>,
    create: &CreateClaim,
) -> Result<(), Rejection> {
    let asked = asked(create);
    if asked.len() > MAX_ASKED {
        let why = format!("a claim asks at most {MAX_ASKED} agents, this one {}", asked.len());
        return Err(Rejection::invalid("asks", why));
    }
    if asked.contains(agent) {
        let why = "a claim asks others, not its owner: leave yourself out";
        return Err(Rejection::invalid("asks", why));
    }
    if asked.contains(&AgentId::system()) {
        return Err(Rejection::invalid("asks", "`system` takes no positions: name an agent of the roster"));
    }
    let Some(minutes) = create.unless_objection_minutes else { return Ok(()) };
    if !(1..=MAX_OBJECTION_MINUTES).contains(&minutes) {
        let why =
            format!("the time for objections is 1 to {MAX_OBJECTION_MINUTES} minutes, this is {minutes}");
        return Err(Rejection::invalid("unless_objection_minutes", why));
    }
    let lives_for = ttl(create).map(|ttl| ttl.0.saturating_mul(60));
    if let Some(lives_for) = lives_for.filter(|lives_for| *lives_for <= minutes) {
        let why = format!(
            "its time ends after {lives_for} minutes: give less than that for objections, or more in ttl_hours"
        );
        return Err(Rejection::invalid("unless_objection_minutes", why));
    }
    let Some((old_id, old)) = create.supersedes.and_then(|id| Some((id, state.claim(id)?))) else {
        return Ok(());
    };
    let takes_from_another = old.status != Status::Deprecated && !state.owns(agent, session, old);
    if takes_from_another && !asked.contains(&old.owner) {
        let why = format!(
            "claim {old_id} belongs to {}, who was not asked: add {} to asks, or leave this out",
            old.owner, old.owner
        );
        return Err(Rejection::invalid("unless_objection_minutes", why));
    }
    Ok(())
}

/// What the receipt of a new claim says next. `waits_for` is a claim that the operator stands by and that the new one
/// would replace: silence agrees to nothing there.
pub(super) fn next(create: &CreateClaim, waits_for: Option<ClaimId>) -> String {
    if let (Some(old), Some(_)) = (waits_for, create.unless_objection_minutes) {
        return format!("not agreed by silence: it waits for the operator, who stands by claim {old}");
    }
    let asked: Vec<String> = asked(create).iter().map(ToString::to_string).collect();
    match (asked.as_slice(), create.unless_objection_minutes) {
        ([], None) => "confirmed once another agent supports it".to_owned(),
        (names, None) => {
            format!("{} is asked for a position; confirmed once another agent supports it", names.join(", "))
        }
        ([], Some(minutes)) => {
            format!(
                "agreed by silence in {minutes} min unless another agent challenges it; a support confirms it at once"
            )
        }
        (names, Some(minutes)) => format!(
            "agreed by silence in {minutes} min unless {} challenges it; a support confirms it at once",
            names.join(" or ")
        ),
    }
}

/// The events by which silence confirms a claim; none where something stands in the way.
pub fn agree(state: &State, id: ClaimId, now: Timestamp) -> Vec<Event> {
    let Some(claim) = state.claim(id).filter(|claim| may_agree(state, id, claim, now)) else {
        return Vec::new();
    };
    let asked: Vec<String> = claim.asks.iter().map(ToString::to_string).collect();
    let whom = if asked.is_empty() { "any agent".to_owned() } else { asked.join(", ") };
    let until = claim.silent_at.unwrap_or(now);
    let (replaced, stays) = take_place(state, (id, claim), true, &state.policy());
    let stays = stays.map_or_else(String::new, |warning| format!("; {}", warning.message));
    let reason = format!("agreed by silence: no objection of {whom} until {until}{stays}");
    let mut events = vec![
        StatusChanged {
            claim_id: id,
            from: claim.status,
            to: Status::Confirmed,
            reason: reason.parse().expect("our own reasons are short and never empty"),
            by_silence: true,
            keeps_proof: false,
        }
        .into(),
    ];
    events.extend(replaced);
    events.extend(contradiction::ended_by(state, &AgentId::system(), &events));
    events
}

fn may_agree(state: &State, id: ClaimId, claim: &Claim, now: Timestamp) -> bool {
    let is_due = claim.status == Status::Proposed && claim.silent_at.is_some_and(|until| until <= now);
    // A challenge that a run answered stands on record and is no silence either.
    is_due
        && !claim.is_over(now)
        && claim.challengers().next().is_none()
        && !is_objected_to(state, id)
        && !breaks_target_rule(state, id, claim)
        && !overrules_operator(state, claim, &state.policy())
}

/// Whether an objection waits for the operator, who stands by the claim.
fn is_objected_to(state: &State, id: ClaimId) -> bool {
    state.proposals(id).any(|open| matches!(open.asks, Override::Challenge | Override::Deprecate))
}

/// Whether another decision is in force on a target of this one. The claim that it is to replace does not count.
fn breaks_target_rule(state: &State, id: ClaimId, claim: &Claim) -> bool {
    let others =
        |id_of_other: &ClaimId| *id_of_other != id && claim.proposes_to_supersede != Some(*id_of_other);
    claim.claim_type == ClaimType::Decision
        && claim
            .scopes
            .iter()
            .filter(|scope| scope.is_target())
            .any(|target| state.decisions_on(state.canonical(target)).any(|other| others(&other)))
}

/// Whether the claim would replace a claim that the operator stands by.
fn overrules_operator(state: &State, claim: &Claim, policy: &Policy) -> bool {
    let old = claim.proposes_to_supersede.and_then(|old| state.claim(old));
    old.is_some_and(|old| old.superseded_by.is_none() && !overrule::gives_way(old, claim, policy))
}
