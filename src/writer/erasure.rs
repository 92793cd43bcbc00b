//! Erasure: removes redacted data from every file of the workspace.

use std::collections::{BTreeSet, HashSet};

use super::commit::Committer;
use super::crash::CrashPoint;
use super::error::WriterError;
use crate::checkpoints::Checkpoints;
use crate::domain::agent::AgentId;
use crate::domain::command::Submission;
use crate::domain::ids::{CommandId, IdempotencyKey, RunId};
use crate::domain::receipt::{Warning, WarningCode};
use crate::ledger::Stored;
use crate::runner::result::{RESULT_DIRS, results_of};

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
    let gone = Gone::of(&committer.ledger.redacted()?);
    let renewed = committer.renew_projection();
    let scrubbed = scrub_spools(committer, &gone);
    let mut done = true;
    for outcome in [
        erased.map_err(WriterError::from),
        renewed.map_err(WriterError::from),
        scrubbed.map(|()| true),
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

/// Blanks the lines of the spools, in the memory and outside of it.
fn scrub_spools(committer: &Committer, gone: &Gone) -> Result<(), WriterError> {
    committer.spool.scrub(|line| gone.holds(line))?;
    let checkpoints = Checkpoints::of(committer.workspace.memory(), committer.state_home.as_deref());
    // Also those of a memory that was given up here: its backup may come back.
    for kept in checkpoints.spools() {
        if let Some(outside) = committer.spool.kept_in(&kept) {
            outside.scrub(|line| gone.holds(line))?;
        }
    }
    Ok(())
}

/// Removes the files of runs whose end was erased: those of the memory, and the results below `artifacts/` of each work
/// tree.
fn scrub_artifacts(committer: &Committer) -> std::io::Result<()> {
    let erased: BTreeSet<RunId> = committer.state.erased_runs().collect();
    if erased.is_empty() {
        return Ok(());
    }
    let unless_gone = |done: std::io::Result<()>| match done {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    };
    for run in &erased {
        unless_gone(std::fs::remove_dir_all(committer.workspace.artifacts(*run)))?;
    }
    for file in committer.workspace.roots().iter().flat_map(|root| results_of(root, &erased)) {
        unless_gone(std::fs::remove_file(&file))?;
        // The names of the directories come from the run. A directory with other files stays.
        for dir in file.ancestors().skip(1).take(RESULT_DIRS) {
            let _ = std::fs::remove_dir(dir);
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

/// The commands whose events were erased.
struct Gone {
    commands: HashSet<CommandId>,
    keys: HashSet<(AgentId, IdempotencyKey)>,
}

impl Gone {
    fn of(redacted: &[Stored]) -> Self {
        let keys =
            redacted.iter().filter_map(|event| Some((event.agent.clone(), event.idempotency_key.clone()?)));
        Self { commands: redacted.iter().map(|event| event.causation).collect(), keys: keys.collect() }
    }

    /// Whether a spool line holds such a command: queued, set aside, or torn.
    fn holds(&self, line: &str) -> bool {
        #[derive(serde::Deserialize)]
        struct SetAside {
            line: String,
        }
        let inner = serde_json::from_str::<SetAside>(line).map(|aside| aside.line);
        let command = inner.as_deref().unwrap_or(line);
        match serde_json::from_str::<Submission>(command) {
            Ok(Submission { command_id, agent, idempotency_key, .. }) => {
                self.commands.contains(&command_id)
                    || idempotency_key.is_some_and(|key| self.keys.contains(&(agent, key)))
            }
            Err(_) => self.commands.iter().any(|id| command.contains(&id.to_string())),
        }
    }
}
