//! Commits of the repository: their hashes and names, and which of their changes are news to the ledger.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Builder;

use crate::domain::event::CommitSeen;
use crate::domain::ids::EventId;
use crate::domain::scope::Scope;
use crate::domain::state::State;
use crate::domain::text::{CommitAuthor, CommitSubject};
use crate::domain::versions::Content;

/// The hex digits of a short hash, as git shows it.
const SHORT_DIGITS: usize = 10;

/// The hash of a commit: 40 hex digits for SHA-1, 64 for SHA-256.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CommitSha(String);

/// Text that is no hash of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the hash of a commit has 40 or 64 digits of 0-9 and a-f")]
pub struct BadSha;

impl TryFrom<String> for CommitSha {
    type Error = BadSha;

    fn try_from(text: String) -> Result<Self, BadSha> {
        let is_hex = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if is_hex && matches!(text.len(), 40 | 64) { Ok(Self(text)) } else { Err(BadSha) }
    }
}

impl From<CommitSha> for String {
    fn from(sha: CommitSha) -> Self {
        sha.0
    }
}

impl fmt::Display for CommitSha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl CommitSha {
    /// The whole hash.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id of the event that records the commit: the begin of its hash.
    pub fn event_id(&self) -> EventId {
        let mut bytes = [0; 16];
        hex::decode_to_slice(&self.0[..32], &mut bytes).expect("a hash has at least 40 hex digits");
        EventId::from_uuid(Builder::from_custom_bytes(bytes).into_uuid())
    }
}

/// The begin of a hash, for readers.
pub fn short(sha: &str) -> &str {
    sha.get(..SHORT_DIGITS).unwrap_or(sha)
}

/// A commit that changed a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommitName {
    /// The hash of the commit.
    pub sha: String,
    /// The author's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// The first line of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
}

impl CommitName {
    /// The name of a commit in an event.
    pub fn of(seen: &CommitSeen) -> Self {
        Self {
            sha: seen.sha.to_string(),
            author: seen.author.as_ref().map(CommitAuthor::to_string),
            subject: seen.subject.as_ref().map(CommitSubject::to_string),
        }
    }
}

impl fmt::Display for CommitName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "commit {}", short(&self.sha))?;
        if let Some(author) = &self.author {
            write!(f, " of {author}")?;
        }
        self.subject.as_ref().map_or(Ok(()), |subject| write!(f, " ({subject})"))
    }
}

/// A commit that the git job read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The commit. Its `changed` and `versions` are empty.
    pub seen: CommitSeen,
    /// Of the files that no later commit of the same work tree changed, what they hold now; none where it was not read.
    /// Empty for a commit from before the index began.
    pub holds: BTreeMap<Scope, Option<Content>>,
}

/// The event of a new commit; `None` where the ledger has it. Files that hold what an edit, a claim or another commit told
/// are no news.
pub fn seen(state: &State, found: Found) -> Option<(EventId, CommitSeen)> {
    let Found { mut seen, holds } = found;
    let id = seen.sha.event_id();
    if state.knows_event(id) {
        return None;
    }
    let worktree = seen.checkout.worktree.as_ref();
    for (path, content) in holds {
        if content.is_some() && state.edits().told(worktree, &path) == content {
            continue;
        }
        if let Some(content) = content {
            seen.versions.insert(path.clone(), content);
        }
        seen.changed.push(path);
    }
    Some((id, seen))
}

/// The target that a subject of the form `type(target): text` names.
pub fn target_of(subject: &str) -> Option<Scope> {
    let (kind, rest) = subject.split_once('(')?;
    let (target, rest) = rest.split_once(')')?;
    let is_word = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphabetic());
    (is_word(kind) && rest.trim_start_matches('!').starts_with(':'))
        .then(|| Scope::target(target.trim()).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::{CommitSha, target_of};

    #[test]
    fn a_subject_names_a_target_in_parentheses_after_its_type() {
        let target = |subject: &str| target_of(subject).map(|target| target.to_string());
        assert_eq!(target("feat(auth): log in").as_deref(), Some("target:auth"));
        assert_eq!(target("fix(job queue)!: no loss"), target("fix(job queue): no loss"));
        for none in ["feat: log in", "log in (again): twice", "call(x) it", "(auth): x", "feat(): x", ""] {
            assert_eq!(target(none), None, "{none}");
        }
    }

    #[test]
    fn the_event_of_a_commit_has_an_id_that_follows_from_its_hash() {
        let sha = |text: &str| CommitSha::try_from(text.to_owned());
        let one = sha("4b84ed04e687e41f76bea40da7e7094c011af5de").expect("a hash");
        assert_eq!(one.event_id(), one.clone().event_id());
        assert_ne!(one.event_id(), sha(&"a".repeat(64)).expect("a hash").event_id());
        for bad in ["", "4b84ed04", "4B84ED04E687E41F76BEA40DA7E7094C011AF5DE", &"g".repeat(40)] {
            assert!(sha(bad).is_err(), "{bad}");
        }
    }
}
