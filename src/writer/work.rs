//! The queue of the committing thread.

use std::path::PathBuf;

use tokio::sync::mpsc::UnboundedSender;
use uuid::Uuid;

use super::wire::Reply;
use crate::domain::command::Submission;
use crate::runner::report::Report;

/// A request to the committing thread.
pub(super) enum WorkItem {
    /// Decide and append a command.
    Submit { id: u64, submission: Box<Submission>, reply_tx: UnboundedSender<Reply> },
    /// Record the end of a run.
    RunEnded(Ended),
    /// Exit: a newer version of hm starts its own writer.
    Leave,
    /// Drop every projection and fold the ledger again.
    Rebuild { reply_tx: UnboundedSender<Reply> },
    /// Append the events of an export.
    Import { file: PathBuf, as_is: bool, reply_tx: UnboundedSender<Reply> },
}

/// A finished run and its outcome.
pub(super) struct Ended {
    pub(super) run: Uuid,
    /// The report of the helper, or why there is none.
    pub(super) report: Result<Box<Report>, String>,
}
