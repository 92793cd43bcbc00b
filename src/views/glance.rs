//! The workspace at a glance: one line for status lines, prompts and terminals.

use serde::Serialize;

use super::ViewError;
use super::attention::review;
use crate::domain::agent::AgentId;
use crate::domain::claim::Status;
use crate::domain::clean;
use crate::domain::plan::TaskStatus;
use crate::domain::time::{Span, Timestamp};
use crate::reads::Reads;
use crate::store::{Reader, StoreError, TaskView};

/// The longest line, in characters.
const LINE_CHARS: usize = 200;

/// What an agent, or a human beside the agents, sees at a glance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Glance {
    /// The agent of the session, if one is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The number of other agents with a running session.
    pub peers: usize,
    /// The number of contested claims.
    pub contested: u64,
    /// A task that the session or the agent holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The time until the lease of that task ends, in ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_left_ms: Option<i64>,
    /// The number of proposals that wait for a human.
    pub proposals: u64,
}

impl Glance {
    /// The parts that are not zero, on one line; empty without any.
    pub fn line(&self) -> String {
        let noun = |count: u64, noun: &str| match count {
            0 => None,
            1 => Some(format!("1 {noun}")),
            count => Some(format!("{count} {noun}s")),
        };
        let task = self.task.as_ref().map(|task| match self.task_left_ms {
            Some(left) => format!("task {task} {}", Span(left)),
            None => format!("task {task}"),
        });
        let peers = if self.agent.is_some() { "peer" } else { "agent" };
        let parts = [
            self.agent.clone(),
            noun(self.peers as u64, peers),
            (self.contested > 0).then(|| format!("{} contested", self.contested)),
            task,
            noun(self.proposals, "proposal"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        clean::cut_line(&parts.join(" · "), LINE_CHARS)
    }
}

/// The workspace at a glance, for this agent or the agent of this session. None while nothing was ever written.
///
/// # Errors
/// [`ViewError`].
pub fn glance(
    reads: &mut Reads,
    (agent, session): (Option<&AgentId>, Option<&str>),
    now: Timestamp,
) -> Result<Option<Glance>, ViewError> {
    let now = reads.clock(now);
    Ok(reads.ask(now, |store| at(store, (agent, session), now))?.0)
}

fn at(
    store: &Reader,
    (agent, session): (Option<&AgentId>, Option<&str>),
    now: Timestamp,
) -> Result<Glance, StoreError> {
    let known = session.map(|session| store.session(session)).transpose()?.flatten();
    let agent = agent.map(ToString::to_string).or(known.map(|known| known.agent));
    let mut live = store.live_agents()?;
    if let Some(agent) = &agent {
        live.remove(agent);
    }
    let held = match (session, &agent) {
        (Some(session), _) => store.held_by(session)?,
        (None, Some(_)) => store.held_tasks()?,
        (None, None) => Vec::new(),
    };
    let is_own = |task: &TaskView| session.is_some() || task.holder == agent;
    let task = held.into_iter().find(|task| task.status == TaskStatus::Active && is_own(task));
    Ok(Glance {
        peers: live.len(),
        contested: store.counts()?.by_status.get(&Status::Contested).copied().unwrap_or(0),
        task_left_ms: task.as_ref().and_then(|task| task.lease_until).map(|until| until - now.ms()),
        task: task.map(|task| task.name),
        proposals: review::count(store, AgentId::operator().as_str(), now)?,
        agent,
    })
}

#[cfg(test)]
mod tests {
    use super::Glance;

    #[test]
    fn a_line_has_no_part_that_is_zero() {
        let line = |glance: Glance| glance.line();
        assert_eq!(line(Glance::default()), "");
        let whole = Glance {
            agent: Some("architect".to_owned()),
            peers: 3,
            contested: 1,
            task: Some("T4".to_owned()),
            task_left_ms: Some(12 * 60_000),
            proposals: 2,
        };
        assert_eq!(line(whole.clone()), "architect · 3 peers · 1 contested · task T4 12m · 2 proposals");
        assert_eq!(line(Glance { peers: 1, proposals: 1, ..Glance::default() }), "1 agent · 1 proposal");
        assert_eq!(line(Glance { peers: 0, contested: 0, ..whole }), "architect · task T4 12m · 2 proposals");
    }
}
