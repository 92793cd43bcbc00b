//! What a prompt is about, as Markdown: the tasks somebody holds, one task, one contradiction.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::context::ContextOf;
use super::{DEFAULT_LIMIT, ViewError, markdown, without, work};
use crate::domain::ids::{ClaimId, EventId, TaskId};
use crate::domain::time::Timestamp;
use crate::reads::Reads;
use crate::store::{ClaimFilter, ContradictionPage};

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
    let unknown = || ViewError::NotFound(format!("no task has the id {id}: see hivemind://plan"));
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
    let unknown =
        || ViewError::NotFound(format!("no contradiction has the id {id}: see hivemind://contradictions"));
    let (found, left_out) = reads.ask(now, |store| {
        let both = store.contradiction(id)?;
        let sides = both.iter().flat_map(|both| [&both.left.claim_id, &both.right.claim_id]);
        // Both sides may stand on one claim: for it, and against it.
        let sides: BTreeSet<ClaimId> = sides.filter_map(|side| side.parse().ok()).collect();
        let mut claims = Vec::new();
        for side in sides {
            claims.extend(store.claim(side)?);
        }
        Ok((both, claims))
    })?;
    let (both, claims) = found.ok_or_else(unknown)?;
    let page = ContradictionPage { contradictions: vec![both.ok_or_else(unknown)?], next: None };
    let mut text = markdown::contradictions(&page, now);
    for claim in &claims {
        let _ = write!(text, "\n{}", markdown::claim(claim, now));
    }
    Ok(text + &without(left_out.count()))
}
