//! The policy of a running writer follows config.toml.

use std::path::PathBuf;
use std::time::SystemTime;

use super::commit::Committer;
use crate::config::Config;
use crate::workspace::Workspace;

/// The state of config.toml when it was last read.
#[derive(Debug)]
pub(super) struct Governing {
    path: PathBuf,
    seen: Option<(SystemTime, u64)>,
}

impl Governing {
    /// The first renewal reads the file once more, because it may have changed since the writer started.
    pub(super) fn of(workspace: &Workspace) -> Self {
        Self { path: workspace.config(), seen: None }
    }

    /// Reads the policy again if the file changed. A file with a fault changes nothing: the policy before it stays.
    pub(super) fn renew(&mut self, committer: &mut Committer) {
        let found = stamp(&self.path);
        if found == self.seen {
            return;
        }
        self.seen = found;
        match Config::load(&self.path) {
            Ok(config) => committer.memory_policy = config.memory,
            Err(fault) => {
                tracing::error!(fault = %fault.place(), "the policy stays as it was, `hm policy check` says more");
            }
        }
    }
}

fn stamp(path: &std::path::Path) -> Option<(SystemTime, u64)> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}
