//! The dismissal of a pattern.

use super::Accepted;
use crate::domain::agent::AgentId;
use crate::domain::command::DismissPattern;
use crate::domain::event::PatternDismissed;
use crate::domain::rejection::{Code, Rejection};
use crate::domain::state::State;

pub(super) fn dismiss(
    state: &State,
    agent: &AgentId,
    dismiss: &DismissPattern,
) -> Result<Accepted, Rejection> {
    let id = dismiss.pattern_id;
    let Some(open) = state.patterns().open(id) else {
        return Err(Rejection::new(
            Code::UnknownPattern,
            format!("no open pattern has the id {id}"),
            "take the id from `hivemind://patterns`; a pattern that closed needs no dismissal",
        ));
    };
    let may = [AgentId::operator(), AgentId::architect()].contains(agent) || open.agents.contains(agent);
    if !may {
        let agents: Vec<&str> = open.agents.iter().map(AgentId::as_str).collect();
        return Err(Rejection::new(
            Code::NotAllowed,
            format!("{agent} is no part of this pattern"),
            format!("leave it to {}, the architect or the operator", agents.join(", ")),
        ));
    }
    let reason = dismiss.reason.clone();
    Ok(Accepted { events: vec![PatternDismissed { pattern_id: id, reason }.into()], ..Accepted::default() })
}
