//! Where in a git repository something happens: the work tree and the branch.

use serde::{Deserialize, Serialize};

use crate::domain::text::{Branch, Worktree};

/// A work tree and its branch, as git names them; empty outside git.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkout {
    /// The linked work tree; none in the main one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Worktree>,
    /// The branch; none on a detached head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<Branch>,
}

impl Checkout {
    /// Whether nothing is known of it.
    pub const fn is_empty(&self) -> bool {
        self.worktree.is_none() && self.branch.is_none()
    }

    /// Its texts, with the names of their fields.
    pub fn texts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let worktree = self.worktree.iter().map(|worktree| ("worktree", worktree.as_str()));
        worktree.chain(self.branch.iter().map(|branch| ("branch", branch.as_str())))
    }
}
