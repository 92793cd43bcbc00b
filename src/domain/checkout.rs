//! Where in a git repository something happens: the work tree and the branch.

use serde::{Deserialize, Serialize};

use crate::domain::text::{Branch, Worktree};

/// What a linked work tree is called whose name looks like a secret.
const WITHHELD: &str = "(withheld)";

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

    /// The same without names that may not be kept: the caller did not write them, so nothing is refused for them.
    /// A linked work tree stays another one than the main one.
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
