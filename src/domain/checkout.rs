//! The place in a git repository where something happens: work tree and branch.

use serde::{Deserialize, Serialize};

use crate::domain::text::{Branch, Worktree};

/// The directory that marks a workspace.
pub const MARKER: &str = ".hivemind";
/// The name shown for a linked work tree whose real name looks like a secret.
const WITHHELD: &str = "(withheld)";

/// A work tree and its branch, as git names them; empty outside git.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkout {
    /// The linked work tree; `None` for the main one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Worktree>,
    /// The branch; `None` on a detached head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<Branch>,
}

impl Checkout {
    /// Whether neither is known.
    pub const fn is_empty(&self) -> bool {
        self.worktree.is_none() && self.branch.is_none()
    }

    /// Removes names that must not be stored. The caller did not write these names, so they are removed and the
    /// command is not refused. A linked work tree stays distinct from the main one.
    #[must_use]
    pub fn without(self, may_not_be_kept: impl Fn(&str) -> bool) -> Self {
        let worktree = self.worktree.map(|worktree| {
            if may_not_be_kept(worktree.as_str()) {
                WITHHELD.parse().expect("a short name")
            } else {
                worktree
            }
        });
        Self { worktree, branch: self.branch.filter(|branch| !may_not_be_kept(branch.as_str())) }
    }
}
