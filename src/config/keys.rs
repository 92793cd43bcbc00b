//! `config.toml` as it is written: its sections and their keys, with their defaults.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::Deserialize;

use super::policy::PolicyKeys;
use super::search::Compared;
use crate::domain::decide::Quorum;
use crate::domain::pattern::PatternKind;
use crate::domain::patterns::PatternPolicy;
use crate::domain::relevance::StaleAfter;
use crate::hooks::Client;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct File {
    pub(super) agents: Agents,
    pub(super) clients: BTreeMap<Client, String>,
    pub(super) quorum: QuorumKeys,
    pub(super) trust: TrustKeys,
    pub(super) policy: PolicyKeys,
    pub(super) stale_after_hours: StaleAfter,
    pub(super) privacy: PrivacyKeys,
    pub(super) git: GitKeys,
    pub(super) guards: GuardKeys,
    pub(super) workspace: WorkspaceKeys,
    pub(super) writer: WriterKeys,
    pub(super) patterns: PatternKeys,
    pub(super) mining: MiningKeys,
    pub(super) mirror: MirrorKeys,
    pub(super) search: SearchKeys,
}

/// Where the writer keeps mirrors.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MirrorKeys {
    /// A directory, absolute or relative to the root of the project. Empty for none.
    pub to: PathBuf,
    /// A branch of the repository. Empty for none.
    pub branch: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SearchKeys {
    pub(super) vectors: Compared,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct GuardKeys {
    pub(super) allow_block: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct WorkspaceKeys {
    pub(super) memory: PathBuf,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Agents {
    pub(super) roster: Option<Vec<String>>,
    pub(super) aliases: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct QuorumKeys {
    pub(super) supports: u32,
    pub(super) owner_counts: bool,
    pub(super) all_active: bool,
}

impl Default for QuorumKeys {
    fn default() -> Self {
        let Quorum { supports, owner_counts, all_active } = Quorum::default();
        Self { supports, owner_counts, all_active }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct TrustKeys {
    pub(super) agents_may_override_operator: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PrivacyKeys {
    pub(super) patterns: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct GitKeys {
    pub(super) index: bool,
}

impl Default for GitKeys {
    fn default() -> Self {
        Self { index: true }
    }
}

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct MiningKeys {
    pub(super) playbooks: bool,
    pub(super) reflection: bool,
    pub(super) merges: bool,
}

impl Default for MiningKeys {
    fn default() -> Self {
        Self { playbooks: true, reflection: true, merges: true }
    }
}

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct WriterKeys {
    pub(super) idle_exit_minutes: u64,
}

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PatternKeys {
    pub(super) off: BTreeSet<PatternKind>,
    pub(super) polls: Vec<String>,
    pub(super) loop_repeats: u32,
    pub(super) stall_minutes: u32,
}

impl Default for PatternKeys {
    fn default() -> Self {
        let PatternPolicy { off, polls, loop_repeats, stall_minutes } = PatternPolicy::default();
        Self { off, polls, loop_repeats, stall_minutes }
    }
}

impl Default for WriterKeys {
    fn default() -> Self {
        Self { idle_exit_minutes: 15 }
    }
}
