//! The questions of an agent that wait for an answer: which of the asked agents read them, and when.

use std::path::Path;

use serde_json::{Value, json};

use super::MAX_LIMIT;
use super::asking::Asked;
use crate::domain::agent::AgentId;
use crate::domain::ids::ClaimId;
use crate::domain::time::Timestamp;
use crate::session_news::SessionNews;
use crate::store::StoreError;

/// A question of an agent, and one of the agents it asked.
pub(super) struct Awaited {
    claim: ClaimId,
    agent: String,
    read_at: Option<Timestamp>,
}

/// An agent's own questions without an answer. That a session was shown a question is known on this machine only, and is no
/// event.
pub(super) fn of(asked: &Asked<'_>, state_home: &Path, agent: &AgentId) -> Result<Vec<Awaited>, StoreError> {
    let questions = asked.store.questions(None, MAX_LIMIT)?.into_iter();
    let own: Vec<_> = questions.filter(|asked| asked.claim.owner == agent.as_str()).collect();
    let alive = if own.is_empty() { Vec::new() } else { asked.store.alive_sessions(MAX_LIMIT)? };
    let awaited = own.into_iter().map(|question| {
        let sessions = alive.iter().filter(|session| session.agent == question.agent);
        let read_at = sessions.filter_map(|session| {
            let session = session.session.parse().ok()?;
            SessionNews::of(state_home, asked.workspace, &session)
                .first_opened(&question.claim.id.to_string())
        });
        Awaited { read_at: read_at.min(), claim: question.claim.id, agent: question.agent }
    });
    Ok(awaited.collect())
}

impl Awaited {
    /// As a line of a list.
    pub(super) fn line(&self, now: Timestamp) -> String {
        let Self { claim, agent, read_at } = self;
        let read = match read_at {
            Some(at) => format!("{agent} has read it {} ago, no answer yet", at.age(now)),
            None => format!("{agent} has not read it yet"),
        };
        format!("- your question `{claim}`: {read}\n")
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        json!({ "claim": self.claim, "agent": self.agent, "read_at": self.read_at.map(Timestamp::ms) })
    }
}
