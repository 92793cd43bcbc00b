//! Acknowledgement of a notice that needs no other answer: a refusal, or a change of the rules.

use uuid::Uuid;

use super::Accepted;
use crate::domain::agent::AgentId;
use crate::domain::claim::Outcome;
use crate::domain::command::SeeAttention;
use crate::domain::event::AttentionSeen;
use crate::domain::ids::{ClaimId, EventId};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::state::{DecisionInForce, State};

pub(super) fn see(state: &State, agent: &AgentId, see: &SeeAttention) -> Result<Accepted, Rejection> {
    let SeeAttention { id, reason } = see.clone();
    let seen = || Accepted { events: vec![AttentionSeen { id, reason }.into()], ..Accepted::default() };
    let may_note = [AgentId::architect(), AgentId::operator()].contains(agent);
    if may_note && (super::guard::is_guard(state, see.id) || is_suggestion(state, see.id)) {
        return Ok(seen());
    }
    let Some(concerns) = state.notice(see.id) else {
        return Err(Rejection::invalid(
            "id",
            format!("{} is no open notice: take the id from `hivemind://attention`", see.id),
        ));
    };
    // The architect cannot acknowledge a notice of the operator.
    let is_architects = *agent == AgentId::architect() && *concerns != AgentId::operator();
    if agent != concerns && *agent != AgentId::operator() && !is_architects {
        return Err(Rejection::new(
            Code::NotAllowed,
            format!("notice {} is for {concerns}", see.id),
            format!("leave it to {concerns}"),
        ));
    }
    Ok(seen())
}

/// Whether attention may suggest a guard for this: a failed command, or a decision with a bad outcome.
fn is_suggestion(state: &State, id: Uuid) -> bool {
    let has_failed = |decision: &DecisionInForce| decision.outcome == Some(Outcome::Failure);
    state.deed(EventId::from_uuid(id)).is_some_and(|deed| deed.failure().is_some())
        || state.decision(ClaimId::from_uuid(id)).is_some_and(has_failed)
}
