//! Which events came out of a file: kept beside the ledger and not in it, because an imported history keeps its hashes
//! and an export of it is the same file again.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::private;

/// The parts of the ledger that `hm import` appended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Imports(Vec<Part>);

/// The events of one import, the first and the last included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Part {
    from: u64,
    to: u64,
    /// The hash of the last one, in hex: a part that was never committed is told by it.
    head_hash: String,
}

impl Imports {
    /// Reads what the writer left; nothing where nothing was ever imported.
    pub fn load(path: &Path) -> Self {
        private::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// Puts a new file in the place of the old one, its owner's alone, and waits until it is on the disk.
    ///
    /// # Errors
    /// What the file system said.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        private::replace(path, &serde_json::to_vec(self)?)
    }

    /// Whether an event came out of a file.
    pub fn holds(&self, seq: u64) -> bool {
        self.0.iter().any(|part| (part.from..=part.to).contains(&seq))
    }

    /// Also the last so many events, up to this one.
    pub fn add(&mut self, added: u64, to: u64, hash: &[u8]) {
        self.0.push(Part { from: to + 1 - added, to, head_hash: hex::encode(hash) });
    }

    /// Drops the parts whose last event is another one in the ledger, or none; whether there were any.
    pub fn forget_unless(&mut self, mut is_there: impl FnMut(u64, &str) -> bool) -> bool {
        let before = self.0.len();
        self.0.retain(|part| is_there(part.to, &part.head_hash));
        self.0.len() < before
    }
}
