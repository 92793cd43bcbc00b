//! The rules of a running writer: they follow config.toml, and the ledger records them.

use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use super::commit::Committer;
use super::error::WriterError;
use crate::config::Config;
use crate::domain::agent::AgentId;
use crate::domain::event::PolicyChanged;
use crate::workspace::Workspace;

/// The state of config.toml when it was last read.
#[derive(Debug)]
pub(super) struct Governing {
    path: PathBuf,
    seen: Option<(Duration, u64)>,
    /// Whether the ledger was empty then.
    was_empty: bool,
}

impl Governing {
    /// The first renewal reads the file once more, because it may have changed since the writer started.
    pub(super) fn of(workspace: &Workspace) -> Self {
        Self { path: workspace.config(), seen: None, was_empty: false }
    }

    /// Reads the policy again if the file changed. A file with a fault changes nothing: the policy before it stays.
    pub(super) fn renew(&mut self, committer: &mut Committer) -> Result<(), WriterError> {
        let (found, is_empty) = (stamp(&self.path), is_empty(committer));
        if found == self.seen && self.was_empty == is_empty {
            return Ok(());
        }
        (self.seen, self.was_empty) = (found, is_empty);
        match Config::load(&self.path) {
            Ok(config) => committer.memory_policy = config.memory,
            Err(fault) => {
                tracing::error!(fault = %fault.place(), "the policy stays as it was, `hm policy check` says more");
            }
        }
        record(committer)
    }
}

/// Whether no event is recorded yet.
fn is_empty(committer: &Committer) -> bool {
    committer.head().seq == 0
}

/// Records the rules of this writer if the ledger last recorded other ones. A ledger that lost events gets them once the
/// loss is accepted. The policy of the memory follows the first event, because only an empty ledger takes the events of
/// any other one.
pub(super) fn record(committer: &mut Committer) -> Result<(), WriterError> {
    if committer.is_stopped() {
        return Ok(());
    }
    let (now, was) = (committer.policy, committer.state.policy());
    let memory = match is_empty(committer) {
        true => None,
        false => committer.memory_policy.changed_from(committer.state.memory_rules()),
    };
    if now == was && memory.is_none() {
        return Ok(());
    }
    let changed = PolicyChanged {
        quorum: now.quorum,
        was: was.quorum,
        agents_may_override_operator: now.agents_may_override_operator,
        agents_might_override_operator: was.agents_may_override_operator,
        memory,
    };
    let batch = committer.own(AgentId::system(), vec![changed.into()]);
    committer.record(&[batch])?;
    Ok(())
}

/// The time of the last change since 1970, and the size in bytes.
fn stamp(path: &Path) -> Option<(Duration, u64)> {
    let metadata = std::fs::metadata(path).ok()?;
    let changed = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some((changed, metadata.len()))
}
