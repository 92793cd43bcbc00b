//! Acknowledgement of a notice that needs no other answer: a refusal, or a change of the rules.

use super::Accepted;
use crate::domain::agent::AgentId;
use crate::domain::command::SeeAttention;
use crate::domain::event::AttentionSeen;
use crate::domain::rejection::{Code, Rejection};
use crate::domain::state::State;

pub(super) fn see(state: &State, agent: &AgentId, see: &SeeAttention) -> Result<Accepted, Rejection> {
    let may_note = [AgentId::architect(), AgentId::operator()].contains(agent);
    if may_note && super::guard::is_guard(state, see.id) {
        return Ok(Accepted { events: vec![AttentionSeen { id: see.id }.into()], ..Accepted::default() });
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
    Ok(Accepted { events: vec![AttentionSeen { id: see.id }.into()], ..Accepted::default() })
}
