//! Events of the repository: the commits that the git job saw.

use serde::{Deserialize, Serialize};

use crate::domain::checkout::Checkout;
use crate::domain::commit::CommitSha;
use crate::domain::scope::Scope;
use crate::domain::text::{CommitAuthor, CommitSubject};
use crate::domain::time::Timestamp;
use crate::domain::versions::Versions;

/// The git job saw a commit in the history of a work tree. Its event id follows from the hash of the commit, so a commit
/// is recorded once, also after its words were erased.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitSeen {
    /// The hash of the commit.
    pub sha: CommitSha,
    /// The author's name, without the mail address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<CommitAuthor>,
    /// When it was committed, as git says.
    pub at: Timestamp,
    /// The first line of its message, without secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<CommitSubject>,
    /// The target that its subject names as `type(target):`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Scope>,
    /// The first of its files. The files of a merge are those that differ from its first parent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Scope>,
    /// The number of its other files.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_files: u32,
    /// The files that held something else in the work tree than the ledger knew. The commit counts as their edit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<Scope>,
    /// What these files held in the work tree, where they could be read.
    #[serde(default, skip_serializing_if = "Versions::is_empty")]
    pub versions: Versions,
    /// The number of its parents: none for the first commit, two or more for a merge.
    pub parents: u32,
    /// The work tree and branch in which it was seen.
    #[serde(flatten)]
    pub checkout: Checkout,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}
