//! Questions to agents about claims, and confirmation by silence.

use std::collections::BTreeSet;

use super::claim::ttl;
use super::quorum::supports_needed;
use super::supersession::{ConfirmedBy, Supersession, take_place};
use super::{Policy, Speaker, contradiction, overrule, target};
use crate::domain::agent::AgentId;
use crate::domain::claim::{Outcome, Relation, Status, Tier};
use crate::domain::command::CreateClaim;
use crate::domain::event::{Event, StatusChanged};
use crate::domain::ids::ClaimId;
use crate::domain::rejection::Rejection;
use crate::domain::state::{Claim, Heard, State};
use crate::domain::time::Timestamp;

/// The most agents that a claim may ask, and that it may tell.
const MAX_ASKED: usize = 8;
/// The start of the reason for which silence does not confirm a claim.
pub const HELD: &str = "not agreed by silence: ";
/// The longest time for objections, in minutes: one week.
const MAX_OBJECTION_MINUTES: u32 = 10_080;

/// The agents that a claim asks, each once.
pub(super) fn asked(create: &CreateClaim) -> Vec<AgentId> {
    create.asks.iter().collect::<BTreeSet<_>>().into_iter().cloned().collect()
}

/// The agents that a claim tells of itself and does not ask, each once.
pub(super) fn told(create: &CreateClaim) -> Vec<AgentId> {
    let told: BTreeSet<_> = create.tells.iter().filter(|agent| !create.asks.contains(agent)).collect();
    told.into_iter().cloned().collect()
}

/// Leaves out the questions to supporters of what a claim supersedes that it tells of itself. Challengers are asked: their
/// challenge ends with the old claim.
pub(super) fn leave_out_told(state: &State, create: &CreateClaim, events: &mut [Event]) {
    for event in events {
        if let Event::ClaimSuperseded(link) = event {
            let challengers = contradiction::challengers_behind(state, link.claim_id);
            link.asks.retain(|agent| !create.tells.contains(agent) || challengers.contains_key(agent));
        }
    }
}

/// [`asked`], and the owner of a claim that the new one proposes to supersede.
pub(super) fn asked_with_owner(create: &CreateClaim, supersession: Option<&Supersession>) -> Vec<AgentId> {
    let mut asked: BTreeSet<AgentId> = asked(create).into_iter().collect();
    if let Some(Supersession::OnceConfirmed { owner, .. }) = supersession {
        asked.extend(Some(owner.clone()).filter(|owner| *owner != AgentId::system()));
    }
    asked.into_iter().collect()
}

/// Whether a claim by `owner` may ask or tell these agents. `of_system` says why not the system.
fn check_named(
    does: &'static str,
    agents: &[AgentId],
    owner: &AgentId,
    of_system: &str,
) -> Result<(), Rejection> {
    let why = if agents.len() > MAX_ASKED {
        format!("a claim {does} at most {MAX_ASKED} agents, this one {}", agents.len())
    } else if agents.contains(owner) {
        format!("a claim {does} others, not its owner: leave yourself out")
    } else if agents.contains(&AgentId::system()) {
        format!("{of_system}: name an agent of the roster")
    } else {
        return Ok(());
    };
    Err(Rejection::invalid(does, why))
}

/// Whether a claim may ask these agents, and may be confirmed by silence. `replaced` are the claims whose place it takes.
pub(super) fn check(
    state: &State,
    (agent, session): Speaker<'_>,
    create: &CreateClaim,
    replaced: &[ClaimId],
) -> Result<(), Rejection> {
    let (asked, told) = (asked(create), told(create));
    check_named("asks", &asked, agent, "`system` takes no positions")?;
    check_named("tells", &told, agent, "`system` reads nothing")?;
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
    let mut replaced = create.supersedes.iter().chain(replaced);
    let challenged =
        |id: &ClaimId| contradiction::challengers_behind(state, *id).into_iter().find(|(by, _)| *by != agent);
    if let Some((challenger, old_id)) = replaced.find_map(challenged) {
        let ask = match asked.contains(challenger) {
            true => format!("; {challenger} is asked without it"),
            false => format!(", and add {challenger} to asks"),
        };
        let why = format!(
            "{challenger} challenges claim {old_id}, and silence does not end a challenge: leave this out{ask}"
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

/// The receipt's sentence on the next step of a new claim. `waits_for` is the claim of the operator that the new one
/// proposes to supersede: silence does not confirm such a claim. A session that `knows_how` claims are confirmed gets no
/// sentence.
pub(super) fn next(
    agent: &AgentId,
    create: &CreateClaim,
    waits_for: Option<ClaimId>,
    policy: &Policy,
    knows_how: bool,
) -> Option<String> {
    if let (Some(old), Some(_)) = (waits_for, create.unless_objection_minutes) {
        return Some(format!("not agreed by silence: it waits for the operator, who stands by claim {old}"));
    }
    let is_operators = *agent == AgentId::operator();
    let (confirmed, at_once) = match (supports_needed(policy), policy.only_operator_confirms) {
        (_, true) if is_operators => (
            "it is the word of the operator, and with trust = human_only no agent confirms it".to_owned(),
            String::new(),
        ),
        (_, true) => ("confirmed once the operator supports it".to_owned(), String::new()),
        (_, false) if policy.quorum.all_active => (
            "confirmed once each agent that was active within a working day supports it".to_owned(),
            "; the support of each active agent confirms it at once".to_owned(),
        ),
        (1, false) => (
            "confirmed once another agent supports it".to_owned(),
            "; a support confirms it at once".to_owned(),
        ),
        (needed, false) => (
            format!("confirmed once {needed} other agents support it"),
            format!("; {needed} supports confirm it at once"),
        ),
    };
    let names = |agents: Vec<AgentId>| agents.iter().map(ToString::to_string).collect::<Vec<_>>();
    let (asked, told) = (names(asked(create)), names(told(create)));
    let is_told = format!("{} {} told", told.join(", "), if told.len() == 1 { "is" } else { "are" });
    let next = match (asked.as_slice(), create.unless_objection_minutes) {
        ([], None) if !told.is_empty() => return Some(is_told),
        ([], None) if knows_how => return None,
        ([], None) => confirmed,
        (names, None) => {
            let are = if names.len() == 1 { "is" } else { "are" };
            let confirmed = if knows_how { String::new() } else { format!("; {confirmed}") };
            format!("{} {are} asked for a position{confirmed}", names.join(", "))
        }
        ([], Some(minutes)) => {
            format!("agreed by silence in {minutes} min unless another agent challenges it{at_once}")
        }
        (names, Some(minutes)) => {
            format!("agreed by silence in {minutes} min unless {} challenges it{at_once}", names.join(" or "))
        }
    };
    Some(if told.is_empty() { next } else { format!("{next}; {is_told}") })
}

/// The events at the end of the time for objections. Silence confirms the claim. If something prevents that, the claim
/// stays proposed, with the reason, and its silence ends.
pub fn agree(state: &State, id: ClaimId, now: Timestamp) -> Vec<Event> {
    let Some(claim) = state.claim(id).filter(|claim| is_due(claim, now)) else { return Vec::new() };
    let against = stands_against(state, id, claim).or_else(|| nobody_was_there(state, id, claim));
    let asked = || claim.asks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let (to, reason) = match &against {
        Some(why) => (Status::Proposed, format!("{HELD}{why}")),
        None => {
            let whom = if claim.asks.is_empty() { "any agent".to_owned() } else { asked() };
            let until = claim.silent_at.unwrap_or(now);
            (Status::Confirmed, format!("agreed by silence: no challenge by {whom} until {until}"))
        }
    };
    let (replaced, stays) = match &against {
        Some(_) => (Vec::new(), None),
        None => take_place(state, (id, claim), ConfirmedBy::Silence, &state.policy()),
    };
    let stays = stays.map_or_else(String::new, |warning| format!("; {}", warning.message));
    let reason = format!("{reason}{stays}");
    let mut events = vec![
        StatusChanged {
            claim_id: id,
            from: claim.status,
            to,
            reason: reason.parse().expect("our own reasons are short and never empty"),
            by_silence: against.is_none(),
            keeps_proof: false,
            leaves_open: Vec::new(),
        }
        .into(),
    ];
    if against.is_none() {
        events.extend(replaced);
        events.extend(contradiction::ended_by(state, &AgentId::system(), &events));
    }
    events
}

fn is_due(claim: &Claim, now: Timestamp) -> bool {
    let is_over = claim.silent_at.is_some_and(|until| until <= now);
    claim.status == Status::Proposed && is_over && !claim.is_over(now)
}

/// The reason why silence must not confirm a claim.
fn stands_against(state: &State, id: ClaimId, claim: &Claim) -> Option<String> {
    // A challenge that a run answered stays on record, so there was no silence.
    if let Some(challenger) = claim.challengers().next() {
        return Some(format!("{challenger} challenges it"));
    }
    let strong = state.contradictions_of(id).find(|(_, open)| open.tier == Tier::Strong);
    if let Some((_, open)) = strong {
        let other = if open.left.claim_id == id { &open.right } else { &open.left };
        return Some(format!("a contradiction with {} of {} is open", other.claim_id, other.agent));
    }
    let contradicting = claim.evidence.iter().find(|(_, relation)| *relation == Relation::Contradicts);
    if let Some((event, _)) = contradicting {
        return Some(format!("evidence contradicts it: {event}"));
    }
    if state.decision(id).is_some_and(|decision| decision.outcome == Some(Outcome::Failure)) {
        return Some("its outcome is failure".to_owned());
    }
    let waits = |other: &Claim| other.proposes_to_supersede == Some(id) && other.status != Status::Deprecated;
    if let Some((rival, _)) = state.claims().filter(|(_, other)| waits(other)).min_by_key(|(rival, _)| *rival)
    {
        return Some(format!("claim {rival} is to take its place"));
    }
    let mut replaced = state.replaced_by(id).map(|(old, _)| old).chain(claim.proposes_to_supersede);
    let challenged = replaced.find_map(|old| {
        contradiction::challengers_behind(state, old).into_iter().find(|(by, _)| **by != claim.owner)
    });
    if let Some((challenger, old)) = challenged {
        return Some(format!("{challenger} challenges claim {old}, whose place it takes"));
    }
    if let Some(proposal) = state.proposals(id).next() {
        return Some(format!("{} asked the operator to {} it", proposal.agent, proposal.asks));
    }
    let stands = |(answer, _): &&(ClaimId, AgentId)| {
        state.claim(*answer).is_some_and(|answer| answer.status != Status::Deprecated)
    };
    if let Some((answer, agent)) = state.heard_of(id).and_then(Heard::answered).filter(stands) {
        return Some(format!("{agent} answered with claim {answer}"));
    }
    if let Some((scope, agent)) = state.heard_of(id).and_then(Heard::changed) {
        return Some(format!("`{scope}` was changed by {agent}"));
    }
    if !target::rivals(state, (id, claim)).is_empty() {
        return Some("another decision on its target is in force".to_owned());
    }
    let old = claim.proposes_to_supersede.filter(|_| overrules_operator(state, claim, &state.policy()));
    old.map(|old| format!("the operator stands by claim {old}, which it would replace"))
}

/// Whether no agent with a valid objection was present in time. If the claim would supersede another one, the owner of
/// that claim must have been present.
fn nobody_was_there(state: &State, id: ClaimId, claim: &Claim) -> Option<String> {
    let heard = state.heard_of(id)?;
    let replaced = claim.proposes_to_supersede.and_then(|old| state.claim(old));
    let owner = replaced.filter(|old| old.status != Status::Deprecated).map(|old| &old.owner);
    if let Some(owner) = owner.filter(|owner| **owner != claim.owner && !heard.was_there(owner)) {
        return Some(format!("{owner}, whose claim it would replace, was not there to object"));
    }
    if claim.asks.is_empty() {
        return heard.was_alone().then(|| "no other agent was there to object".to_owned());
    }
    let asked: Vec<String> = claim.asks.iter().map(ToString::to_string).collect();
    let was = if asked.len() == 1 { "was" } else { "were" };
    let is_absent = claim.asks.iter().all(|agent| !heard.was_there(agent));
    is_absent.then(|| format!("{} {was} not there to object", asked.join(", ")))
}

/// Whether the claim would supersede a claim of the operator.
fn overrules_operator(state: &State, claim: &Claim, policy: &Policy) -> bool {
    let old = claim.proposes_to_supersede.and_then(|old| state.claim(old));
    old.is_some_and(|old| old.superseded_by.is_none() && !overrule::gives_way(old, claim, policy))
}
