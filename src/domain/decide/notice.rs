//! Taking note of what needs no other answer: a refusal, or a change of the rules.

use super::Decision;
use crate::domain::agent::AgentId;
use crate::domain::command::SeeAttention;
use crate::domain::event::AttentionSeen;
use crate::domain::rejection::{Code, Rejection};
use crate::domain::state::State;

pub(super) fn see(state: &State, agent: &AgentId, see: &SeeAttention) -> Result<Decision, Rejection> {
    let Some(concerns) = state.notice(see.id) else {
        return Err(Rejection::invalid(
            "id",
            format!("{} is no open notice: take the id from `hm attention`", see.id),
        ));
    };
    if ![concerns, &AgentId::architect(), &AgentId::operator()].contains(&agent) {
        return Err(Rejection::new(
            Code::NotAllowed,
            format!("notice {} is for {concerns}", see.id),
            format!("ask {concerns}, the architect or the operator to take note of it"),
        ));
    }
    Ok(Decision { events: vec![AttentionSeen { id: see.id }.into()], ..Decision::default() })
}
