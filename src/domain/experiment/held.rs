//! What single files held when a check failed: enough to tell later whether the files of a claim changed since.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The most files of one run; a number takes some 11 bytes of its event.
const MAX_FILES: usize = 1_000;

/// A number for each of some files, made of its path and its content under the workspace's key. Two files have the same
/// number by chance once in 4 billion. Empty if nothing is known, or the files are too many.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Held(BTreeSet<u32>);

impl Held {
    /// Adds a file by the digest of its path and content.
    pub fn add(&mut self, digest: [u8; 32]) {
        let [first, second, third, fourth, ..] = digest;
        self.0.insert(u32::from_be_bytes([first, second, third, fourth]));
    }

    /// Empty if the files are too many for an event.
    #[must_use]
    pub fn up_to_most(self) -> Self {
        if self.0.len() > MAX_FILES { Self::default() } else { self }
    }

    /// Whether one of these files was not among the others, or held something else there. False if either is not known.
    pub fn differs_from(&self, others: &Self) -> bool {
        !self.0.is_empty() && !others.0.is_empty() && !self.0.is_subset(&others.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Held, MAX_FILES};

    fn held(files: std::ops::Range<usize>) -> Held {
        let mut held = Held::default();
        for file in files {
            let mut digest = [0; 32];
            digest[..4].copy_from_slice(&u32::try_from(file).expect("small").to_be_bytes());
            held.add(digest);
        }
        held.up_to_most()
    }

    #[test]
    fn what_is_not_known_does_not_differ() {
        assert!(!held(1..3).differs_from(&held(0..9)));
        assert!(held(1..3).differs_from(&held(2..9)));
        for (own, others) in [(0..0, 2..9), (1..3, 0..0), (1..3, 4..MAX_FILES + 5)] {
            assert!(!held(own).differs_from(&held(others)));
        }
    }
}
