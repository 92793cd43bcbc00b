//! `hm forget`: erases the words of an event from every file of the workspace. The ledger records the erasure.

use std::path::PathBuf;

use clap::Args;

use super::output::{self, Failure};
use super::{Context, block_on, parse};
use crate::domain::command::{self, Command};
use crate::domain::ids::{EventId, RunId};
use crate::views;

/// Help text below the arguments.
pub(super) const HELP: &str = "\
The event keeps its place, its author and its hash; what it said is deleted from the ledger, the read models,
their logs and the spools, and an event.redacted says who had it erased and why. `hm verify` still holds.
It takes as long as `hm rebuild`; writers meanwhile wait, or their commands are queued.
What it did to a claim goes with it: an erased creation takes the claim away, an erased position no longer counts;
a claim that was put out of force stays out of force.

Not touched: backups and exports made before still hold it, so do files below artifacts/ (the receipt names them)
and --out-file of a run, and so do names that are no part of what an event
says: session, trace and idempotency key. The reason stays on record: do not repeat there what you erase.

Example: hm forget C47 --reason \"a customer's name\"";

#[derive(Debug, Args)]
pub(super) struct Forget {
    /// Event to erase: 1234, C47 for the event that made the claim, or an id
    event: String,
    /// Reason, kept on record
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

impl Forget {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        let (event_id, reason) = (context.event_named(&self.event)?, parse("reason", &self.reason)?);
        let left = results_of(context, event_id)?;
        let command = Command::Forget(command::Forget { event_id, reason });
        let name = command.name();
        let submission = context.submission(command, None)?;
        let front = context.front()?;
        let receipt = block_on(async { Ok(front.submit_unqueued(submission).await?) })?;
        let mut json = views::receipt_json(&receipt, name);
        let mut text = output::receipt("erased", &receipt);
        if !left.is_empty() {
            text.push_str(&output::fitted(&format!(
                "warning: {} still holds it: delete it yourself, and any --out-file of that run\n",
                left.join(" and ")
            )));
            json["left"] = left.into();
        }
        output::print(context.global.json, &text, &json)
    }
}

/// Result files of the run that the event ended, relative to the workspace. `hm experiment run` writes them outside the
/// memory. Call this before the erasure, because the event's payload is gone afterwards.
fn results_of(context: &Context, event: EventId) -> Result<Vec<String>, Failure> {
    let root = context.workspace.root();
    let below = |dir: PathBuf| {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    // artifacts/THREAD/experiments/TEST/TIME_RUN.json
    let tests =
        below(root.join("artifacts")).into_iter().flat_map(|thread| below(thread.join("experiments")));
    let mut results = Vec::new();
    let mut reads = context.models()?;
    let Some(store) = reads.store()? else { return Ok(results) };
    for path in tests.flat_map(below) {
        let run: Option<RunId> = path
            .file_stem()
            .and_then(|name| name.to_str()?.rsplit_once('_'))
            .and_then(|(_, run)| run.parse().ok());
        let Some(run) = run else { continue };
        let ended = store.experiment(run)?.and_then(|run| run.evidence_event_id);
        if ended.is_some_and(|ended| ended == event) {
            results.push(path.strip_prefix(root).unwrap_or(&path).display().to_string());
        }
    }
    Ok(results)
}
