//! The agents of a workspace, each with the time of its last event.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::json;

use super::asking::Asking;
use super::markdown::{age, counted, name};
use super::{Answer, ViewError};
use crate::config::Config;
use crate::domain::agent::AgentId;
use crate::domain::time::Timestamp;
use crate::store::AgentActivity;

/// A current or former agent of the roster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct AgentView {
    /// Canonical name.
    pub agent: String,
    /// Its other names.
    pub aliases: Vec<String>,
    /// Whether the roster has it.
    pub on_roster: bool,
    /// Its last event, epoch ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seen_at: Option<i64>,
    /// Number of its claims that are not deprecated.
    pub claims: u64,
    /// Whether it has a session that has not ended. A banner counts peers by this.
    pub live: bool,
}

/// The roster, and each other agent with an event. Any event may change it.
pub(super) fn answer(asking: &mut Asking<'_>) -> Result<Answer, ViewError> {
    asking.of_store(|asked| {
        let agents = agents(asked.config, &asked.store.agents()?, &asked.store.live_agents()?);
        Ok(asked.answer(|| json!({ "agents": agents }), || text(&agents, asked.now)))
    })
}

fn agents(config: &Config, seen: &[AgentActivity], live: &BTreeSet<String>) -> Vec<AgentView> {
    let activity = |name: &str| seen.iter().find(|activity| activity.agent == name);
    let on_roster = config.roster.agents().iter().map(|agent| AgentView {
        agent: agent.to_string(),
        aliases: config.roster.aliases_of(agent).map(str::to_owned).collect(),
        on_roster: true,
        last_seen_at: activity(agent.as_str()).map(|activity| activity.last_seen_at),
        claims: activity(agent.as_str()).map_or(0, |activity| activity.claims),
        live: live.contains(agent.as_str()),
    });
    let gone = seen
        .iter()
        .filter(|activity| !config.roster.agents().iter().any(|agent| agent.as_str() == activity.agent))
        .map(|activity| AgentView {
            agent: activity.agent.clone(),
            aliases: Vec::new(),
            on_roster: false,
            last_seen_at: Some(activity.last_seen_at),
            claims: activity.claims,
            live: live.contains(&activity.agent),
        });
    on_roster.chain(gone).collect()
}

fn text(agents: &[AgentView], now: Timestamp) -> String {
    agents
        .iter()
        .map(|agent| {
            let seen = agent
                .last_seen_at
                .map_or_else(|| "not seen yet".to_owned(), |at| format!("seen {} ago", age(at, now)));
            let seen = if agent.live { format!("in a session, {seen}") } else { seen };
            let aliases = match agent.aliases.as_slice() {
                [] => String::new(),
                aliases => format!(" (also {})", aliases.join(", ")),
            };
            let left = match AgentId::recorded(&*agent.agent).is_seat() {
                _ if agent.on_roster => "",
                true => ", a seat",
                false => ", no longer on the roster",
            };
            format!(
                "- {}{aliases}: {seen}, {} in force{left}\n",
                name(&agent.agent),
                counted(agent.claims, "claim")
            )
        })
        .collect()
}
