//! The questions of an agent that wait for an answer: which of the asked agents read them, and when.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};

use super::MAX_LIMIT;
use super::asking::Asked;
use super::attention::is_settled;
use super::markdown::name;
use crate::domain::agent::AgentId;
use crate::domain::ids::ClaimId;
use crate::domain::time::Timestamp;
use crate::session_news::SessionNews;
use crate::store::{ClaimSummary, Question, StoreError};

/// A question of an agent, and one of the agents it asked.
pub(super) struct Awaited {
    claim: ClaimId,
    agent: String,
    read_at: Option<Timestamp>,
    /// The present name of the pane that had the asked one.
    now: Option<String>,
}

/// An agent's own questions without an answer. Only this machine knows which session was shown a question; no event
/// records it.
pub(super) fn of(asked: &Asked<'_>, state_home: &Path, agent: &AgentId) -> Result<Vec<Awaited>, StoreError> {
    let questions = asked.store.questions(None, MAX_LIMIT)?.into_iter();
    let is_own = |asked: &Question| asked.claim.owner == agent.as_str() && !is_settled(asked);
    let own: Vec<_> = questions.filter(is_own).collect();
    let alive = if own.is_empty() { Vec::new() } else { asked.store.alive_sessions(MAX_LIMIT)? };
    let of_asked = alive.iter().filter(|session| own.iter().any(|question| question.agent == session.agent));
    let opened: Vec<_> = of_asked
        .filter_map(|session| {
            let news = SessionNews::of(state_home, asked.workspace, &session.session.parse().ok()?);
            Some((&session.agent, news.first_opened()))
        })
        .collect();
    let renamed = if own.is_empty() { BTreeMap::new() } else { asked.store.gone()?.renamed };
    let awaited = own.into_iter().map(|question| {
        let now = renamed.get(&question.agent).cloned();
        let id = question.claim.id.to_string();
        let by_asked = opened.iter().filter(|(agent, _)| **agent == question.agent);
        let read_at = by_asked.filter_map(|(_, opened)| opened.get(&id).copied().flatten()).min();
        Awaited { read_at, now, claim: question.claim.id, agent: question.agent }
    });
    Ok(awaited.collect())
}

/// Which of the other agents with a running session were shown a claim, and when. None without other agents. Only this
/// machine knows it; no event records it.
pub(super) fn told(
    asked: &Asked<'_>,
    state_home: &Path,
    claim: &ClaimSummary,
) -> Result<Option<String>, StoreError> {
    let mut peers: BTreeMap<String, (Option<Timestamp>, i64)> = BTreeMap::new();
    for session in asked.store.alive_sessions(MAX_LIMIT)? {
        let Ok(id) = session.session.parse() else { continue };
        if session.agent == claim.owner || session.agent == AgentId::operator().as_str() {
            continue;
        }
        let opened = SessionNews::of(state_home, asked.workspace, &id).first_opened();
        let at = opened.get(&claim.id.to_string()).copied().flatten();
        let (first, seen) = peers.entry(session.agent).or_insert((at, session.last_seen_at));
        *first = first.iter().chain(&at).min().copied();
        *seen = session.last_seen_at.max(*seen);
    }
    let said = peers.into_iter().map(|(agent, (at, seen))| match at {
        Some(at) => format!("{} {} ago", name(&agent), at.age(asked.now)),
        None => {
            let seen = Timestamp::from_ms(seen).age(asked.now);
            format!("{} not yet (last seen {seen} ago)", name(&agent))
        }
    });
    let said: Vec<String> = said.collect();
    Ok((!said.is_empty()).then(|| said.join(", ")))
}

impl Awaited {
    /// Whether it is the question about a claim to the only agent that is asked.
    pub(super) fn is_of(&self, ids: &[String], asked: &BTreeSet<String>) -> bool {
        ids.len() == 1 && ids[0] == self.claim.to_string() && asked.iter().eq([&self.agent])
    }

    /// As a line of a list.
    pub(super) fn line(&self, now: Timestamp) -> String {
        let Self { claim, agent, read_at, now: renamed } = self;
        let read = match (read_at, renamed) {
            (_, Some(renamed)) => format!("{agent} is {renamed} now"),
            (Some(at), None) => format!("{agent} has read it {} ago, no answer yet", at.age(now)),
            // It may have read it where no record is kept of that.
            (None, None) => format!("{agent} has not answered yet"),
        };
        format!("- your question `{claim}`: {read}\n")
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        json!({ "claim": self.claim, "agent": self.agent, "read_at": self.read_at.map(Timestamp::ms) })
    }
}
