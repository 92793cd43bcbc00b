//! Erasure: removes redacted data from every file of the workspace.

use super::commit::Committer;
use super::crash::CrashPoint;
use super::error::WriterError;
use crate::domain::command::Submission;
use crate::domain::receipt::{Warning, WarningCode};
use crate::ledger::Stored;

/// Removes redacted data from every file of the workspace: payloads, read models, both logs, the spools. The
/// operation is idempotent, and the next open completes it after a crash. Returns false when it is incomplete:
/// the payloads are deleted, but their bytes may remain in a file.
pub(super) fn erase(committer: &mut Committer) -> Result<bool, WriterError> {
    if committer.is_stopped() {
        // The erasure would rebuild the read models, and their position is the evidence of the loss.
        return Ok(false);
    }
    let erased = committer.ledger.file().erase();
    committer.crash(CrashPoint::Erased);
    committer.refold()?;
    let redacted = committer.ledger.redacted()?;
    let renewed = committer.renew_projection();
    let scrubbed = committer.spool.scrub(|line| redacted.iter().any(|event| holds(line, event)));
    let mut done = true;
    for outcome in [
        erased.map_err(WriterError::from),
        renewed.map_err(WriterError::from),
        scrubbed.map(|()| true).map_err(WriterError::from),
        scrub_artifacts(committer).map(|()| true).map_err(WriterError::from),
    ] {
        match outcome {
            Ok(all) => done &= all,
            Err(error) => {
                tracing::error!(%error, "the erasure is not finished: it is tried again");
                done = false;
            }
        }
    }
    if done {
        committer.ledger.file().settle_erasure()?;
    }
    Ok(done)
}

/// Removes the files of runs whose end was erased.
fn scrub_artifacts(committer: &Committer) -> std::io::Result<()> {
    let Some(profiles) = &committer.profiles else { return Ok(()) };
    for run in committer.state.erased_runs() {
        match std::fs::remove_dir_all(profiles.artifacts_of(run)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// The warning for an erasure that is recorded but not complete.
pub(super) fn unfinished() -> Warning {
    let message = "its bytes may still lie in a file that a reader holds, or that cannot be written: the writer \
                   tries again by itself, see writer.log in the memory";
    Warning { code: WarningCode::ErasureUnfinished, message: message.to_owned(), claim_id: None }
}

/// Whether a spool line holds the command of an event: queued, set aside, or torn.
fn holds(line: &str, event: &Stored) -> bool {
    #[derive(serde::Deserialize)]
    struct SetAside {
        line: String,
    }
    let inner = serde_json::from_str::<SetAside>(line).map(|aside| aside.line);
    let command = inner.as_deref().unwrap_or(line);
    match serde_json::from_str::<Submission>(command) {
        Ok(queued) => {
            queued.command_id == event.causation
                || (queued.idempotency_key.is_some()
                    && queued.idempotency_key == event.idempotency_key
                    && queued.agent == event.agent)
        }
        Err(_) => command.contains(&event.causation.to_string()),
    }
}
