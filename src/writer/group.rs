//! A group of commands on its way through the pipeline, and the answer to each item.

use std::collections::HashMap;

use crate::domain::agent::AgentId;
use crate::domain::command::Submission;
use crate::domain::decide::Accepted;
use crate::domain::event::Recorded;
use crate::domain::ids::{CommandId, IdempotencyKey};
use crate::domain::receipt::Receipt;
use crate::domain::rejection::{Code, Rejection};
use crate::ledger::{Batch, Failure};

/// A group while it is decided.
#[derive(Default)]
pub(super) struct Group {
    pub(super) batches: Vec<Batch>,
    pub(super) recorded: Vec<Recorded>,
    /// The batch of each command, by index.
    pub(super) by_command: HashMap<CommandId, usize>,
    pub(super) by_key: HashMap<(AgentId, IdempotencyKey), usize>,
}

impl Group {
    /// The next batch is the one of this command.
    pub(super) fn remember(&mut self, submission: &Submission) {
        self.by_command.insert(submission.command_id, self.batches.len());
        self.by_key.extend(key_of(submission).map(|key| (key, self.batches.len())));
    }
}

pub(super) fn key_of(submission: &Submission) -> Option<(AgentId, IdempotencyKey)> {
    Some((submission.agent.clone(), submission.idempotency_key.clone()?))
}

/// The progress of one item while its group is committed.
pub(super) enum Progress {
    Refused(Rejection),
    /// The ledger already held the command.
    Known(Receipt),
    /// A batch of this group, by index.
    New {
        batch: usize,
        decision: Accepted,
    },
    /// The same request as an earlier item of this group.
    Twin {
        batch: usize,
    },
}

/// The answer to an item of a group that could not be written.
pub(super) fn unwritten(done: Progress, failure: &Failure) -> Result<Receipt, Rejection> {
    match done {
        Progress::New { .. } | Progress::Twin { .. } => Err(Rejection::new(
            Code::Unavailable,
            format!("the ledger cannot be written: {failure}"),
            "free disk space or mend the permissions of its directory, then retry with the same key; \
             `hm verify` tells whether the file is damaged",
        )),
        Progress::Refused(_) | Progress::Known(_) => answer(done, &[]),
    }
}

pub(super) fn answer(done: Progress, appended: &[Receipt]) -> Result<Receipt, Rejection> {
    match done {
        Progress::Refused(rejection) => Err(rejection),
        Progress::Known(known) => Ok(known),
        Progress::New {
            batch,
            decision: Accepted { warnings, cited, similar, alike, meaning, next, .. },
        } => Ok(Receipt { warnings, cited, similar, alike, meaning, next, ..appended[batch].clone() }),
        Progress::Twin { batch } => Ok(Receipt { duplicate: true, ..appended[batch].clone() }),
    }
}
