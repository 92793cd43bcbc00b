//! Ids of memory items: `<space>:<owner>:<kind>:<n>`. The same ledger always gives the same ids.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{MemoryKind, Space};

/// The owner of a space: a session, a user, a project, or `system`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Owner(String);

impl Owner {
    /// Hex digits in the name of a project.
    const PROJECT_CHARS: usize = 12;

    /// The owner with this name: the id of a session, the name of a user, or the digits of a project.
    pub fn called(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The project with this root commit, or with this path where there is no commit: the first 12 hex digits of the
    /// SHA-256 of the text.
    pub fn project(root: &str) -> Self {
        let mut digits = hex::encode(Sha256::digest(root.as_bytes()));
        digits.truncate(Self::PROJECT_CHARS);
        Self(digits)
    }

    /// The owner of the system's space.
    pub fn system() -> Self {
        Self("system".to_owned())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The id of an item.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MemoryId {
    /// The space.
    pub space: Space,
    /// The owner.
    pub owner: Owner,
    /// The kind.
    pub kind: MemoryKind,
    /// The number of the item among those of its owner and kind, in the order of the ledger; anchors of all owners are one
    /// series. Erased items keep their numbers. The summary of a dialogue has number 0.
    pub n: u64,
}

impl MemoryId {
    /// The SHA-256 over `kind:id` of items in their order, joined by `|`.
    pub fn hash_of(ids: &[Self]) -> String {
        let texts: Vec<String> = ids.iter().map(|id| format!("{}:{id}", id.kind)).collect();
        hex::encode(Sha256::digest(texts.join("|")))
    }
}

/// A text that is no id of an item.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no id of a memory item: expected SPACE:OWNER:KIND:NUMBER, such as project:3f1c90ab12de:semantic:7"
)]
pub struct BadMemoryId(String);

impl fmt::Display for MemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}:{}", self.space, self.owner, self.kind, self.n)
    }
}

impl FromStr for MemoryId {
    type Err = BadMemoryId;

    fn from_str(text: &str) -> Result<Self, BadMemoryId> {
        let bad = || BadMemoryId(text.chars().take(80).collect());
        // Only the owner can hold a colon: clients choose the ids of sessions.
        let (space, rest) = text.trim().split_once(':').ok_or_else(bad)?;
        let (rest, n) = rest.rsplit_once(':').ok_or_else(bad)?;
        let (owner, kind) = rest.rsplit_once(':').filter(|(owner, _)| !owner.is_empty()).ok_or_else(bad)?;
        let n = n.parse().ok().filter(|read: &u64| read.to_string() == n).ok_or_else(bad)?;
        let (space, kind) = (space.parse().map_err(|_| bad())?, kind.parse().map_err(|_| bad())?);
        Ok(Self { space, owner: Owner::called(owner), kind, n })
    }
}

impl TryFrom<String> for MemoryId {
    type Error = BadMemoryId;

    fn try_from(text: String) -> Result<Self, BadMemoryId> {
        text.parse()
    }
}

impl From<MemoryId> for String {
    fn from(id: MemoryId) -> Self {
        id.to_string()
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{MemoryId, Owner};

    #[test]
    fn an_id_is_read_back_and_other_texts_are_refused() {
        let ids = [
            "project:3f1c90ab12de:semantic:7",
            "session:a:b:short_term:0",
            "user:Ann Ã:profile:12",
            "system:system:semantic:007",
            "team:x:semantic:1",
            "project::semantic:1",
            "project:x:claims:1",
            "project:x:semantic:-1",
            "C7",
        ];
        let read = ids.map(|id| match id.parse::<MemoryId>() {
            Ok(read) => format!("{read} = {:?} {} {:?} {}", read.space, read.owner, read.kind, read.n),
            Err(error) => error.to_string(),
        });
        expect![[r#"
            project:3f1c90ab12de:semantic:7 = Project 3f1c90ab12de Semantic 7
            session:a:b:short_term:0 = Session a:b ShortTerm 0
            user:Ann Ã:profile:12 = User Ann Ã Profile 12
            `system:system:semantic:007` is no id of a memory item: expected SPACE:OWNER:KIND:NUMBER, such as project:3f1c90ab12de:semantic:7
            `team:x:semantic:1` is no id of a memory item: expected SPACE:OWNER:KIND:NUMBER, such as project:3f1c90ab12de:semantic:7
            `project::semantic:1` is no id of a memory item: expected SPACE:OWNER:KIND:NUMBER, such as project:3f1c90ab12de:semantic:7
            `project:x:claims:1` is no id of a memory item: expected SPACE:OWNER:KIND:NUMBER, such as project:3f1c90ab12de:semantic:7
            `project:x:semantic:-1` is no id of a memory item: expected SPACE:OWNER:KIND:NUMBER, such as project:3f1c90ab12de:semantic:7
            `C7` is no id of a memory item: expected SPACE:OWNER:KIND:NUMBER, such as project:3f1c90ab12de:semantic:7"#]]
        .assert_eq(&read.join("\n"));
    }

    #[test]
    fn a_project_is_named_by_the_digest_of_its_root() {
        // The first digits of the SHA-256 of the three letters `abc`, from FIPS 180-4.
        assert_eq!(Owner::project("abc").as_str(), "ba7816bf8f01");
    }
}
