//! What single files held when a check failed: enough to tell later whether the files of a claim changed since.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::domain::scope::Scope;

/// The most files of one run; a file takes some 24 bytes of its event.
const MAX_FILES: usize = 1_000;

/// A number for each of some files, made of its path and its content, as older releases wrote it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Held(BTreeSet<u32>);

/// Two numbers for each of some files, under the workspace's key: that of its path, and that of its path and its content.
/// Two files have the same number by chance once in 4 billion. Empty if nothing is known, or the files are too many.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Files(BTreeSet<(u32, u32)>);

impl Files {
    /// Adds a file by the digest of its path, and that of its path and content.
    pub fn add(&mut self, path: [u8; 32], content: [u8; 32]) {
        let number =
            |[first, second, third, fourth, ..]: [u8; 32]| u32::from_be_bytes([first, second, third, fourth]);
        self.0.insert((number(path), number(content)));
    }

    /// Empty if the files are too many for an event.
    #[must_use]
    pub fn up_to_most(self) -> Self {
        if self.0.len() > MAX_FILES { Self::default() } else { self }
    }
}

/// The files that a profile covers and that were written while a run was under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disturbed {
    /// The first of them.
    pub file: Scope,
    /// The number of the others.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub others: usize,
    /// Whether nothing shows that the first one was written: its time stamps of content are as they were, and something else
    /// of it changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub touched: bool,
}

impl Disturbed {
    /// With the name of its file as `name` gives it, where that is a path.
    #[must_use]
    pub fn named(self, name: impl Fn(&str) -> String) -> Self {
        let file =
            name(self.file.as_str()).parse().unwrap_or_else(|_| ".".parse().expect("the whole workspace"));
        Self { file, ..self }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// What the files held when a check failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeldThen {
    /// An older release recorded no paths.
    WithoutPaths(Held),
    /// With their paths.
    Files(Files),
}

impl HeldThen {
    /// Whether a file of both holds something else now. A file that has another name, or was not there, is no change.
    /// False if either is not known. Without paths, another file counts as a change.
    pub fn differs_now(&self, now: &Files) -> bool {
        match self {
            Self::WithoutPaths(then) => {
                !then.0.is_empty() && now.0.iter().any(|(_, content)| !then.0.contains(content))
            }
            Self::Files(then) => {
                let then: BTreeMap<u32, u32> = then.0.iter().copied().collect();
                now.0.iter().any(|(path, content)| then.get(path).is_some_and(|then| then != content))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Files, Held, HeldThen, MAX_FILES};

    fn digest(number: u32) -> [u8; 32] {
        let mut digest = [0; 32];
        digest[..4].copy_from_slice(&number.to_be_bytes());
        digest
    }

    fn files(of: &[(u32, u32)]) -> Files {
        let mut files = Files::default();
        of.iter().for_each(|(path, content)| files.add(digest(*path), digest(*content)));
        files.up_to_most()
    }

    #[test]
    fn only_a_file_of_both_can_differ() {
        let then = HeldThen::Files(files(&[(1, 10), (2, 20)]));
        for now in [&[(1, 10)][..], &[(1, 10), (3, 30)], &[(3, 10)], &[]] {
            assert!(!then.differs_now(&files(now)), "{now:?}");
        }
        assert!(then.differs_now(&files(&[(1, 10), (2, 21)])));
        let many: Vec<(u32, u32)> = (0..=u32::try_from(MAX_FILES).expect("small")).map(|n| (n, n)).collect();
        assert!(!HeldThen::Files(files(&many)).differs_now(&files(&[(1, 2)])), "too many are not known");
    }

    #[test]
    fn without_paths_another_file_differs() {
        let then = HeldThen::WithoutPaths(Held([10, 20].into()));
        assert!(!then.differs_now(&files(&[(1, 10)])));
        assert!(then.differs_now(&files(&[(1, 10), (3, 30)])));
        assert!(!HeldThen::WithoutPaths(Held::default()).differs_now(&files(&[(1, 10)])));
    }
}
