//! The ranges of events that imports appended. The list lies beside the ledger: an imported history keeps its
//! hashes, and its export equals the imported file.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::private;

/// The parts of the ledger that `hm import` appended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Imports(Vec<Part>);

/// The events of one import, from the first to the last inclusive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Part {
    from: u64,
    to: u64,
    /// The hash of the last event, in hex. It shows a range that was never committed.
    head_hash: String,
}

impl Imports {
    /// Reads the list that the writer saved; empty when there is none.
    pub fn load(path: &Path) -> Self {
        private::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// Replaces the file durably. Only its owner can read it.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        private::replace(path, &serde_json::to_vec(self)?)
    }

    /// Whether an import appended this event.
    pub fn holds(&self, seq: u64) -> bool {
        self.0.iter().any(|part| (part.from..=part.to).contains(&seq))
    }

    /// Adds the `added` events that end with event `to`, whose hash is `hash`.
    pub fn add(&mut self, added: u64, to: u64, hash: &[u8]) {
        self.0.push(Part { from: to + 1 - added, to, head_hash: hex::encode(hash) });
    }

    /// Removes the ranges whose last event is missing or different in the ledger. True when there were any.
    pub fn forget_unless(&mut self, mut is_there: impl FnMut(u64, &str) -> bool) -> bool {
        let before = self.0.len();
        self.0.retain(|part| is_there(part.to, &part.head_hash));
        self.0.len() < before
    }
}
