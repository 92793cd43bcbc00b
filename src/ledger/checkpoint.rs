//! Checkpoints: what the ledger was at a size, sealed under a key that does not lie beside it.
//!
//! A chain alone does not notice that its end is missing, nor that all of it was made anew.

use ct_merkle::mem_backed_tree::MemoryBackedTree;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::{Cursor, Hash};

/// Characters of a workspace id: 128 bits of the genesis event's hash, beyond any accidental collision.
const ORIGIN_CHARS: usize = 32;

/// What seals checkpoints: 32 unguessable bytes.
#[derive(Clone)]
pub struct Key([u8; 32]);

/// The name of a ledger, from the hash of its first event: it stays when the directory moves, needs no
/// file that could be lost or forged, and no two ledgers share it, for every event is salted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Origin(String);

/// What the ledger was when it held `size` events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Which ledger.
    pub origin: Origin,
    /// Events in it.
    pub size: u64,
    /// Hash of the last of them, in hex.
    pub head_hash: String,
    /// Root of the RFC 6962 tree over their hashes, in hex.
    pub merkle_root: String,
}

/// A checkpoint as it is written: one JSON line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sealed {
    /// What is sealed.
    #[serde(flatten)]
    pub checkpoint: Checkpoint,
    /// HMAC-SHA-256 over the canonical JSON of the rest, in hex.
    pub hmac: String,
}

/// The RFC 6962 tree over event hashes, kept as it grows: 96 bytes of memory and some twenty hashes for
/// each event, and none for a root.
#[derive(Debug, Default)]
pub struct Tree(MemoryBackedTree<Sha256, Hash>);

impl Key {
    /// A key of these bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key in its file's form.
    pub fn to_text(&self) -> String {
        hex::encode(self.0) + "\n"
    }

    /// Reads [`Key::to_text`]; `None` when that is no key.
    pub fn from_text(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text.trim_end(), &mut bytes).ok()?;
        Some(Self(bytes))
    }

    fn mac(&self, checkpoint: &Checkpoint) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        let canonical =
            serde_json_canonicalizer::to_vec(checkpoint).expect("a checkpoint is text and a number");
        mac.update(&canonical);
        mac
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

impl Origin {
    /// The name of the ledger that starts with this event hash.
    pub fn of(genesis: &Hash) -> Self {
        let mut name = hex::encode(genesis);
        name.truncate(ORIGIN_CHARS);
        Self(name)
    }

    /// The name as it stands in files and paths; `None` when it is none of ours, such as a path upwards.
    pub fn as_str(&self) -> Option<&str> {
        let ours = self.0.len() == ORIGIN_CHARS && self.0.bytes().all(|byte| byte.is_ascii_hexdigit());
        ours.then_some(&*self.0)
    }
}

impl Checkpoint {
    /// The checkpoint of a ledger that stands at `head`, with the tree over its hashes.
    pub fn of(origin: Origin, head: Cursor, tree: &Tree) -> Self {
        Self {
            origin,
            size: head.seq,
            head_hash: hex::encode(head.hash),
            merkle_root: hex::encode(tree.root()),
        }
    }

    /// The place it has seen; `None` when its hash is none.
    pub fn cursor(&self) -> Option<Cursor> {
        let mut hash = [0; 32];
        hex::decode_to_slice(&self.head_hash, &mut hash).ok()?;
        Some(Cursor { seq: self.size, hash })
    }

    /// Seals it.
    pub fn seal(self, key: &Key) -> Sealed {
        let hmac = hex::encode(key.mac(&self).finalize().into_bytes());
        Sealed { checkpoint: self, hmac }
    }
}

impl Sealed {
    /// Whether it was sealed with this key, compared in constant time.
    pub fn holds(&self, key: &Key) -> bool {
        hex::decode(&self.hmac).is_ok_and(|told| key.mac(&self.checkpoint).verify_slice(&told).is_ok())
    }
}

impl Tree {
    /// Adds the next event's hash.
    pub fn push(&mut self, hash: Hash) {
        self.0.push(hash);
    }

    /// Event hashes in it.
    pub fn size(&self) -> u64 {
        self.0.len()
    }

    /// Its root.
    pub fn root(&self) -> Hash {
        let root = self.0.root();
        let mut hash = [0; 32];
        hash.copy_from_slice(root.as_bytes());
        hash
    }
}
