//! What a prompt is about, as Markdown: the tasks somebody holds, one task, one contradiction.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt::Write;

use super::context::ContextOf;
use super::{DEFAULT_LIMIT, ViewError, markdown, unknown_contradiction, without, work};
use crate::domain::ids::{EventId, TaskId};
use crate::domain::time::Timestamp;
use crate::reads::Reads;
use crate::store::{ClaimFilter, Contradiction, ContradictionPage, Reader, StoreError};

/// The tasks a session holds, and those its agent holds in other sessions.
///
/// # Errors
/// [`ViewError`].
pub fn held(reads: &mut Reads, of: &ContextOf, now: Timestamp) -> Result<String, ViewError> {
    let (held, left_out) = reads.ask(now, |store| store.held_tasks())?;
    let mut held = held.unwrap_or_default();
    held.retain(|task| task.session == of.session || task.holder.as_deref() == Some(of.agent.as_str()));
    let mut text: String = held.iter().map(|task| work::task_line(task, now)).collect();
    if held.is_empty() {
        text.push_str("(no task)\n");
    }
    Ok(text + &without(left_out.count()))
}

/// One task, and the claims that came out of it.
///
/// # Errors
/// [`ViewError::NotFound`] when there is no such task.
pub fn task(reads: &mut Reads, id: TaskId, now: Timestamp) -> Result<String, ViewError> {
    let unknown = || ViewError::NotFound(format!("no task has the id {id}: see `hivemind://plan`"));
    let wanted = ClaimFilter { task: Some(id), limit: DEFAULT_LIMIT, ..ClaimFilter::default() };
    let (found, left_out) = reads.ask(now, |store| Ok((store.task(id)?, store.claims(&wanted)?)))?;
    let (task, claims) = found.ok_or_else(unknown)?;
    let task = task.ok_or_else(unknown)?;
    Ok(work::one_task(&task, &claims, now).1 + &without(left_out.count()))
}

/// One contradiction, and all that is known of the claims on its sides.
///
/// # Errors
/// [`ViewError::NotFound`] when there is no such contradiction.
pub fn contradiction(reads: &mut Reads, id: EventId, now: Timestamp) -> Result<String, ViewError> {
    let unknown = || ViewError::NotFound(unknown_contradiction(id));
    let (text, left_out) = reads.ask(now, |store| {
        let both = store.contradiction(id)?;
        both.map(|both| contradiction_of(store, both, now)).transpose()
    })?;
    Ok(text.flatten().ok_or_else(unknown)? + &without(left_out.count()))
}

/// A contradiction, and all that is known of the claims on its sides.
pub(super) fn contradiction_of(
    store: &Reader,
    both: Contradiction,
    now: Timestamp,
) -> Result<String, StoreError> {
    // Both sides may stand on one claim: for it, and against it.
    let sides = BTreeSet::from([both.left.claim_id, both.right.claim_id]);
    let page = ContradictionPage { contradictions: vec![both], next: None };
    let mut text = markdown::contradictions(&page, now);
    for side in sides {
        if let Some(claim) = store.claim(side)? {
            let _ = write!(text, "\n{}", markdown::claim(&claim, &BTreeMap::new(), now));
        }
    }
    Ok(text)
}
