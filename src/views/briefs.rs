//! The tasks that an agent holds, for a prompt.

use super::ViewError;
use super::answer::without;
use super::context::ContextOf;
use super::work::task_line;
use crate::domain::time::Timestamp;
use crate::reads::Reads;

/// The tasks a session holds, and those its agent holds in other sessions.
///
/// # Errors
/// [`ViewError`].
pub fn held(reads: &mut Reads, of: &ContextOf, now: Timestamp) -> Result<String, ViewError> {
    let (held, left_out) = reads.ask(now, |store| store.held_tasks())?;
    let mut held = held.unwrap_or_default();
    held.retain(|task| task.session == of.session || task.holder.as_deref() == Some(of.agent.as_str()));
    let mut text: String = held.iter().map(|task| task_line(task, now)).collect();
    if held.is_empty() {
        text.push_str("(no task)\n");
    }
    Ok(text + &without(left_out.count()))
}
