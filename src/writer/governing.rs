//! The rules of a running writer: they follow config.toml, and the ledger records them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::commit::Committer;
use super::error::WriterError;
use super::ground::{Stamp, stamp};
use crate::config::{Config, ConfigError};
use crate::domain::agent::AgentId;
use crate::domain::event::PolicyChanged;
use crate::domain::policy::MemoryPolicy;
use crate::system;
use crate::workspace::Workspace;

/// A file that did not change for so long is written completely, in ms.
const SETTLED_AFTER_MS: i64 = 100;
/// How many times a renewal looks at a file that changes all the time.
const LOOKS: usize = 3;

/// The state of config.toml when it was last read.
#[derive(Debug)]
pub(super) struct Governing {
    path: PathBuf,
    /// The file with the looser rules that a person allowed.
    allowed: Option<PathBuf>,
    seen: Stamp,
    allowed_seen: Stamp,
    /// Whether the ledger was empty then.
    was_empty: bool,
}

impl Governing {
    /// The first renewal reads the file once more, because it may have changed since the writer started.
    pub(super) fn of(workspace: &Workspace) -> Self {
        let (path, allowed) = (workspace.config(), workspace.allowed_rules_file());
        Self { path, allowed, seen: None, allowed_seen: None, was_empty: false }
    }

    /// Reads the rules, the policy and the own secret patterns again if the file changed, or what a person allowed. A file that is empty or missing, has a
    /// fault, or is being written changes nothing: what was read last stays.
    pub(super) fn renew(&mut self, committer: &mut Committer) -> Result<(), WriterError> {
        let (found, is_empty) = (stamp(&self.path), is_empty(committer));
        let allowed = self.allowed.as_deref().and_then(stamp);
        if found == self.seen && allowed == self.allowed_seen && self.was_empty == is_empty {
            return Ok(());
        }
        let Some((found, read)) = read_settled(&self.path, found) else { return Ok(()) };
        (self.seen, self.allowed_seen, self.was_empty) = (found, allowed, is_empty);
        match read {
            Ok(Config { silence: Some(silence), .. }) => {
                tracing::warn!(
                    "config.toml is {silence}: the policy stays as it was, `hm policy show` says what it is"
                );
            }
            Ok(config) => {
                if let Err(error) = committer.workspace.keep_patterns(&config.secret_patterns) {
                    tracing::warn!(%error, "the own secret patterns end with config.toml");
                }
                committer.guards_block = committer.workspace.blocks(&config);
                committer.secrets.own = config.own_secrets;
                committer.watching = config.patterns;
                committer.policy =
                    committer.workspace.rules_in_force(config.policy, &committer.state.policy());
                committer.memory_policy = config.memory;
            }
            Err(fault) => {
                tracing::error!(fault = %fault.place(), "the policy stays as it was, `hm policy check` says more");
            }
        }
        record(committer)
    }
}

/// The rules with which a writer starts: those of config.toml, or those on record while the file is empty or missing. What
/// is looser waits for a person.
pub(super) fn begin(committer: &mut Committer, workspace: &Workspace) -> Result<(), WriterError> {
    if Config::load(&workspace.config()).is_ok_and(|config| config.silence.is_some()) {
        committer.policy = committer.state.policy();
        if let Some(rules) = committer.state.memory_rules() {
            committer.memory_policy = MemoryPolicy::recorded(&rules.policy);
        }
    }
    committer.policy = workspace.rules_in_force(committer.policy, &committer.state.policy());
    record(committer)
}

/// The content of a file that no program writes any more, with its stamp. None if one still does; the next renewal looks
/// again.
fn read_settled(path: &Path, mut found: Stamp) -> Option<(Stamp, Result<Config, ConfigError>)> {
    for _ in 0..LOOKS {
        let now = system::now().ms();
        let age = found.map_or(SETTLED_AFTER_MS, |(changed, _)| {
            now.saturating_sub(i64::try_from(changed.as_millis()).unwrap_or(i64::MAX))
        });
        // A time in the future is that of another clock, and tells no age.
        if (0..SETTLED_AFTER_MS).contains(&age) {
            std::thread::sleep(Duration::from_millis((SETTLED_AFTER_MS - age).unsigned_abs()));
        }
        let read = Config::load(path);
        let again = stamp(path);
        if again == found {
            return Some((found, read));
        }
        found = again;
    }
    None
}

/// Whether no event is recorded yet.
fn is_empty(committer: &Committer) -> bool {
    committer.head().seq == 0
}

/// Records the rules of this writer if the ledger last recorded other ones. A ledger that lost events gets them once the
/// loss is accepted. The policy of the memory follows the first event, because only an empty ledger takes the events of
/// any other one.
fn record(committer: &mut Committer) -> Result<(), WriterError> {
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
