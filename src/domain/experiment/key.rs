//! What a run executes, and the key by which runs are compared.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{CheckKey, Plan, ProfileName, RunGit};
use crate::domain::text::CommandLine;

/// What a run executes. Equal values are runs of the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A profile with its content and arguments.
    Profile {
        /// The profile.
        name: Option<ProfileName>,
        /// SHA-256 of the profile's file, in hex.
        sha256: Option<String>,
        /// The values of its parameters.
        args: BTreeMap<String, String>,
        /// The directory, if it is another one than the profile's own.
        elsewhere: Option<PathBuf>,
        /// The variables of the profile that the run does without.
        without: Vec<String>,
    },
    /// A command line that a human typed or recorded.
    Typed(CommandLine),
}

impl What {
    /// What a plan executes with these arguments.
    pub fn of(plan: &Plan, args: &BTreeMap<String, String>) -> Self {
        Self::Profile {
            name: plan.profile.clone(),
            sha256: plan.profile_sha256.clone(),
            args: args.clone(),
            elsewhere: plan.elsewhere.then(|| plan.cwd.clone()),
            without: plan.without.clone(),
        }
    }

    /// The text that is hashed in a [`RunKey`]. Keys in the ledger were made of it, so its form never changes.
    pub(super) fn text(&self) -> String {
        let (name, sha256, args, elsewhere, without) = match self {
            Self::Typed(command) => return command.to_string(),
            Self::Profile { name, sha256, args, elsewhere, without } => {
                (name, sha256, args, elsewhere, without)
            }
        };
        let name =
            name.as_ref().map_or_else(|| "None".to_owned(), |name| format!("Some(ProfileName(\"{name}\"))"));
        let sha256 = sha256.as_deref().unwrap_or_default();
        let place = elsewhere.as_ref().map_or_else(String::new, |cwd| format!(" in {}", cwd.display()));
        let without = if without.is_empty() { String::new() } else { format!(" without {without:?}") };
        format!("{name} {sha256} {args:?}{place}{without}")
    }
}

/// SHA-256 of texts in this order, in hex.
pub(super) fn hash(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    hex::encode(hash.finalize())
}

/// The key by which runs are compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunKey {
    /// SHA-256 in hex; equal for runs of the same profile with the same arguments in the same directory.
    pub test: String,
    /// SHA-256 in hex; equal if also the covered files and the tool's version are the same. If the covered files
    /// are unknown, the tree and the uncommitted changes replace them.
    pub content: String,
    /// SHA-256 in hex of the tree and the uncommitted changes, independent of the test. `None` where they are not
    /// known, and in events of older releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// The digest of the files that the profile covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covered: Option<String>,
    /// The digest of the files of the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<String>,
    /// The check without the name of its profile. `None` in events of older releases, and for a run without a profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckKey>,
}

impl RunKey {
    /// Whether both are keys of runs of the same check.
    pub fn is_same_test(&self, other: &Self) -> bool {
        let both = self.check.as_ref().zip(other.check.as_ref());
        self.test == other.test || both.is_some_and(|(one, other)| one.test == other.test)
    }

    /// Whether both are keys of runs of the same check on the same content.
    pub fn is_same_content(&self, other: &Self) -> bool {
        let both = self.check.as_ref().zip(other.check.as_ref());
        self.content == other.content || both.is_some_and(|(one, other)| one.is_like(other))
    }

    /// Adds the hash of the tree, which events of older releases do not have.
    #[must_use]
    pub fn with_tree(mut self, git: Option<&RunGit>) -> Self {
        let known = git.and_then(RunGit::content).map(|(tree, diff)| hash(&[tree, diff]));
        self.tree = self.tree.or(known);
        self
    }
}
