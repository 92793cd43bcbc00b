//! The questions of an agent that wait for an answer: which of the asked agents read them, and when.

use std::fmt::Write;

use serde_json::{Value, json};

use super::{Answer, MAX_LIMIT};
use crate::domain::agent::AgentId;
use crate::domain::time::Timestamp;
use crate::reads::Reads;
use crate::session_news::SessionNews;
use crate::store::StoreError;

/// Adds to an agent's attention its own questions without an answer. That a session was shown a question is known on
/// this machine only, and is no event.
pub(super) fn add_to(
    answer: &mut Answer,
    reads: &mut Reads,
    agent: &AgentId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let Some(state_home) = reads.state_home().map(ToOwned::to_owned) else { return Ok(()) };
    let workspace = reads.workspace().clone();
    let (awaited, _) = reads.ask(now, |store| {
        let questions = store.questions(None, MAX_LIMIT)?.into_iter();
        let own: Vec<_> = questions.filter(|asked| asked.claim.owner == agent.as_str()).collect();
        let alive = if own.is_empty() { Vec::new() } else { store.alive_sessions(MAX_LIMIT)? };
        let awaited = own.into_iter().map(|asked| {
            let sessions = alive.iter().filter(|session| session.agent == asked.agent);
            let read_at = sessions.filter_map(|session| {
                let session = session.session.parse().ok()?;
                SessionNews::of(&state_home, &workspace, &session).first_opened(&asked.claim.id.to_string())
            });
            let read_at = read_at.min();
            (asked, read_at)
        });
        Ok(awaited.collect::<Vec<_>>())
    })?;
    let mut listed: Vec<Value> = Vec::new();
    for (asked, read_at) in awaited.unwrap_or_default() {
        let (id, who) = (&asked.claim.id, &asked.agent);
        let read = match read_at {
            Some(at) => format!("{who} has read it {} ago, no answer yet", at.age(now)),
            None => format!("{who} has not read it yet"),
        };
        let _ = writeln!(answer.text, "- your question `{id}`: {read}");
        listed.push(json!({ "claim": id, "agent": who, "read_at": read_at.map(Timestamp::ms) }));
    }
    if !listed.is_empty() {
        answer.json["awaited"] = listed.into();
    }
    Ok(())
}
