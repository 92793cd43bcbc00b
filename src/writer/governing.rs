//! The policy of a running writer follows config.toml.

use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use super::commit::Committer;
use crate::config::Config;
use crate::workspace::Workspace;

/// The state of config.toml when it was last read.
#[derive(Debug)]
pub(super) struct Governing {
    path: PathBuf,
    seen: Option<(Duration, u64)>,
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

/// The time of the last change since 1970, and the size in bytes.
fn stamp(path: &Path) -> Option<(Duration, u64)> {
    let metadata = std::fs::metadata(path).ok()?;
    let changed = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some((changed, metadata.len()))
}
