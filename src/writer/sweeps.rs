//! What the passage of time ends: claims, deadlines for objections, leases and silent sessions.

use super::commit::{Committer, MAX_GROUP, OwnBatch};
use super::error::WriterError;
use crate::domain::agent::AgentId;
use crate::domain::decide;
use crate::domain::event::Event;

/// Deprecates expired claims and returns their number. The operation is idempotent.
pub fn sweep(committer: &mut Committer) -> Result<usize, WriterError> {
    let now = committer.now();
    let mut swept = 0;
    for chunk in committer.state().expired(now).chunks(MAX_GROUP) {
        let mut batches: Vec<OwnBatch> = Vec::new();
        for id in chunk {
            let Some(claim) = committer.state().claim(*id) else { continue };
            let events = decide::expiry(committer.state(), *id, claim.status);
            batches.push(committer.own(AgentId::system(), events));
        }
        swept += committer.record(&batches)?;
    }
    Ok(swept)
}

/// Confirms the claims whose deadline passed without an objection and without open disputes; returns their number.
/// The operation is idempotent.
pub fn agree(committer: &mut Committer) -> Result<usize, WriterError> {
    let now = committer.now();
    let mut agreed = 0;
    for id in committer.state().silent(now) {
        // Each claim is decided after the one before it was committed, because both may replace the same claim.
        let events = decide::agree(committer.state(), id, now);
        if events.is_empty() {
            continue;
        }
        let is_agreed =
            events.iter().any(|event| matches!(event, Event::StatusChanged(change) if change.by_silence));
        let batch = committer.own(AgentId::system(), events);
        let recorded = committer.record(&[batch])?;
        agreed += if is_agreed { recorded } else { 0 };
    }
    Ok(agreed)
}

/// Releases tasks with expired leases and closes sessions that were silent for too long; returns the number of both.
pub fn close_overdue(committer: &mut Committer) -> Result<usize, WriterError> {
    let now = committer.now();
    let mut closed = 0;
    for chunk in decide::overdue(committer.state(), now).chunks(MAX_GROUP) {
        let batches = chunk.iter().map(|events| committer.own(AgentId::system(), events.clone()));
        let batches: Vec<OwnBatch> = batches.collect();
        closed += committer.record(&batches)?;
    }
    Ok(closed)
}
