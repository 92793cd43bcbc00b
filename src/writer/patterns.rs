//! Records the patterns that open and close, as `system`.

use super::commit::{Committer, MAX_GROUP, OwnBatch};
use super::error::WriterError;
use crate::domain::agent::AgentId;
use crate::domain::event::Event;
use crate::domain::ids::{EventId, SessionId};
use crate::session_news::SessionNews;

/// Records what is due and returns the number of changes. The operation is idempotent.
///
/// # Errors
/// [`WriterError`] when the state of the disk is unknown.
pub fn mine(committer: &mut Committer) -> Result<usize, WriterError> {
    if committer.is_stopped() || committer.memory_policy.closed().is_some() {
        return Ok(0);
    }
    let now = committer.now();
    let (workspace, state_home) = (committer.workspace.clone(), committer.state_home.clone());
    let is_busy = |session: &SessionId| {
        let home = state_home.as_deref();
        home.is_some_and(|home| SessionNews::of(home, &workspace, session).is_busy(now))
    };
    let Committer { state, sources, watching, .. } = &mut *committer;
    let events = state.patterns().due(state, now, watching, &is_busy, &mut sources.ids);
    let mut recorded = 0;
    for chunk in events.chunks(MAX_GROUP) {
        let batches: Vec<OwnBatch> = chunk.iter().map(|event| own(committer, event)).collect();
        recorded += committer.record(&batches)?;
    }
    Ok(recorded)
}

/// Records what the last group brought. Without news it only looks at a list.
pub(super) fn after_group(committer: &mut Committer) -> Result<(), WriterError> {
    if committer.state().patterns().has_news(&committer.watching) {
        mine(committer)?;
    }
    Ok(())
}

fn own(committer: &mut Committer, event: &Event) -> OwnBatch {
    let first_id = event.about().own_id(None).map(EventId::from_uuid);
    OwnBatch { first_id, ..committer.own(AgentId::system(), vec![event.clone()]) }
}
