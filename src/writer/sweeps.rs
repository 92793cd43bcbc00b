//! What the passage of time ends: claims, deadlines for objections, leases and silent sessions.

use super::commit::{Committer, MAX_GROUP, OwnBatch};
use super::error::WriterError;
use crate::domain::agent::AgentId;
use crate::domain::decide;
use crate::domain::event::Event;
use crate::domain::policy::TrustMode;

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

/// Joins the targets that earlier releases took for others than their names mean now, and returns their number. The
/// operation is idempotent.
pub(super) fn join_respelled(committer: &mut Committer) -> Result<usize, WriterError> {
    let mut joined = 0;
    loop {
        // Each is decided after the one before it was committed, because both may be other names of one target.
        let events = decide::respelled(committer.state());
        if events.is_empty() {
            return Ok(joined);
        }
        let batch = committer.own(AgentId::system(), events);
        let recorded = committer.record(&[batch])?;
        if recorded == 0 {
            return Ok(joined);
        }
        joined += recorded;
    }
}

/// Ends the claims whose term is over by the policy, and returns their number. The operation is idempotent.
pub fn forget(committer: &mut Committer) -> Result<usize, WriterError> {
    let now = committer.now();
    let over = decide::forgotten(committer.state(), &committer.memory_policy, now);
    let after = decide::after_end(committer.state(), &over.concat(), (now, &committer.rules()));
    let mut forgotten = 0;
    for chunk in over.chunks(MAX_GROUP) {
        let batches = chunk.iter().map(|events| committer.own(AgentId::system(), events.clone()));
        let batches: Vec<OwnBatch> = batches.collect();
        forgotten += committer.record(&batches)?;
    }
    if !after.is_empty() {
        let batch = committer.own(AgentId::system(), after);
        committer.record(&[batch])?;
    }
    Ok(forgotten)
}

/// Confirms the supported decisions that an erasure left alone on their targets, and ends their contradictions. The operation is idempotent.
pub(super) fn confirm_alone(committer: &mut Committer) -> Result<usize, WriterError> {
    let now = committer.now();
    let events = decide::alone(committer.state(), now, &committer.rules());
    if events.is_empty() {
        return Ok(0);
    }
    let batch = committer.own(AgentId::system(), events);
    committer.record(&[batch])
}

/// Confirms the claims whose deadline passed without an objection and without open disputes; returns their number. If
/// only the operator confirms, silence confirms the operator's own claims only. The operation is idempotent.
pub fn agree(committer: &mut Committer) -> Result<usize, WriterError> {
    let now = committer.now();
    let mut agreed = 0;
    let only_operators = committer.memory_policy.trust == TrustMode::HumanOnly;
    for id in committer.state().silent(now) {
        let owner = committer.state().claim(id).map(|claim| &claim.owner);
        if only_operators && owner != Some(&AgentId::operator()) {
            continue;
        }
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
