//! `hm forget`: an event's words erased from every file of the workspace, with the fact that they were.

use clap::Args;

use super::output::{self, Failure};
use super::{Context, block_on, parse};
use crate::domain::command::{self, Command};
use crate::views;

/// What the help says besides the arguments.
pub(super) const HELP: &str = "\
The event keeps its place, its author and its hash; what it said is deleted from the ledger, the read models,
their logs and the spools, and an event.redacted says who had it erased and why. `hm verify` still holds.
It takes as long as `hm rebuild`; whoever writes meanwhile waits, or is queued.
What it did to a claim goes with it: an erased creation takes the claim away, an erased position no longer counts;
a claim that was put out of force stays out of force.

Not touched: backups and exports made before still hold it, and so do names that are no part of what an event
says: session, trace and idempotency key. The reason stays on record: do not repeat there what you erase.

Example: hm forget C47 --reason \"a customer's name\"";

/// What to erase.
#[derive(Debug, Args)]
pub(super) struct Forget {
    /// The event: 1234, C47 for the one that made a claim, or an id
    event: String,
    /// Why; it stays on record
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

impl Forget {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        let (event_id, reason) = (context.event_named(&self.event)?, parse("reason", &self.reason)?);
        let command = Command::Forget(command::Forget { event_id, reason });
        let name = command.name();
        let submission = context.submission(command, None)?;
        let front = context.front()?;
        let receipt = block_on(async { Ok(front.submit_unqueued(submission).await?) })?;
        let json = views::receipt_json(&receipt, name);
        output::print(context.global.json, &output::receipt("erased", &receipt), &json)
    }
}
