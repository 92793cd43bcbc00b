//! `hm repair`: the operator accepts missing or changed events, and the ledger takes writes again.

use clap::Args;

use super::output::{self, Failure};
use super::{Context, block_on, parse};
use crate::domain::agent::AgentId;
use crate::domain::command::{AcceptLoss, Command};
use crate::domain::rejection::{Code, Rejection};
use crate::views;

/// Help text below the arguments.
pub(super) const HELP: &str = "\
For a ledger that `hm verify` calls broken because events or checkpoints of it are gone. Put back a backup first, if
there is one; `hm import` of an export that holds what is missing mends it too. Nothing invents a missing event.

What was wrong and why you accepted it stands in the ledger as ledger.loss_accepted, and `hm verify` lists it from then
on. The writer then goes on after the last event that is left, commits what waits in the spool, and seals anew; the
old file of checkpoints is kept beside the new one.

Example: hm repair --accept-loss --reason \"the disk broke, the last backup is of Friday\"";

#[derive(Debug, Args)]
pub(super) struct Repair {
    /// Confirm that the events stay missing
    #[arg(long, required = true)]
    accept_loss: bool,
    /// Reason, kept on record
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

impl Repair {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        let (speaker, _) = context.speaker("repair")?;
        if speaker != AgentId::operator() {
            return Err(Rejection::new(
                Code::NotAllowed,
                format!("only the operator accepts a loss, and you are {speaker}"),
                "ask the human to read `hm verify`; writes wait in the spool meanwhile",
            )
            .into());
        }
        let command = Command::AcceptLoss(AcceptLoss { reason: parse("reason", &self.reason)? });
        let name = command.name();
        let submission = context.submission(command, None)?;
        let front = context.front()?;
        let receipt = block_on(async { Ok(front.submit_unqueued(submission).await?) })?;
        let json = views::receipt_json(&receipt, name);
        output::print(context.global.json, &output::receipt("accepted the loss", &receipt), &json)
    }
}
