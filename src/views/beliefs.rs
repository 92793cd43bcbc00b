//! What an agent held to be right and wrong at the end of a session.

use std::fmt::Write;

use serde_json::{Value, json};

use super::asking::Asking;
use super::markdown::{age, inline, name};
use super::work::LIST_CHARS;
use super::{Answer, ViewError, to_json};
use crate::domain::agent::AgentId;
use crate::domain::event::Event;
use crate::domain::session::Stance;
use crate::domain::time::Timestamp;
use crate::store::BeliefSnapshot;

/// The beliefs of an agent at the end of its last session, or of this one.
pub(super) fn answer(
    asking: &mut Asking<'_>,
    agent: &AgentId,
    session: Option<&str>,
) -> Result<Answer, ViewError> {
    asking.of_store(|asked| {
        let found = asked.store.last_beliefs(agent.as_str(), session)?;
        let snapshot = found.ok_or_else(|| ViewError::no_beliefs(agent))?;
        let mut statements = Vec::new();
        for belief in &snapshot.beliefs {
            statements.push(asked.store.claim(belief.0)?.map(|claim| claim.summary.statement));
        }
        Ok(asked.answer(|| json(&snapshot, &statements), || text(&snapshot, &statements, asked.now)))
    })
}

/// Whether an event is a snapshot of an agent's beliefs.
pub(super) fn touched_by(agent: &AgentId, event: &Event) -> bool {
    matches!(event, Event::BeliefsSnapshotted(snapshot) if snapshot.agent == *agent)
}

/// A snapshot for programs.
fn json(snapshot: &BeliefSnapshot, statements: &[Option<String>]) -> Value {
    let beliefs = snapshot.beliefs.iter().zip(statements).map(|(belief, says)| {
        json!({ "claim_id": belief.0, "confidence": belief.1, "stance": belief.2, "statement": says })
    });
    let mut json = to_json(snapshot);
    json["beliefs"] = beliefs.collect();
    json
}

/// A snapshot, each belief with what its claim says.
fn text(snapshot: &BeliefSnapshot, statements: &[Option<String>], now: Timestamp) -> String {
    let of = snapshot
        .session
        .as_deref()
        .map_or_else(String::new, |session| format!(" in `{}`", inline(session, LIST_CHARS)));
    let mut text = format!("{}{of}, {} ago:\n", name(&snapshot.agent), age(snapshot.taken_at, now));
    for (belief, statement) in snapshot.beliefs.iter().zip(statements) {
        let stance = if belief.2 == Stance::Believes { "believes" } else { "disbelieves" };
        let says = statement.as_deref().unwrap_or("(its claim is gone)");
        let _ =
            writeln!(text, "- {stance} `{}` ({:.2}) {}", belief.0, belief.1.get(), inline(says, LIST_CHARS));
    }
    text
}
