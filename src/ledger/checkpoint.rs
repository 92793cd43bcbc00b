//! Checkpoints: the state of the ledger at a given size, sealed with a key that is stored elsewhere.
//!
//! The chain alone cannot show that its last events are missing, or that all of it was written anew.

use ct_merkle::mem_backed_tree::MemoryBackedTree;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::{Cursor, Hash};

/// Characters of a workspace id: 128 bits of the first event's hash, enough to exclude an accidental collision.
const ORIGIN_CHARS: usize = 32;

/// The secret that seals checkpoints: 32 random bytes.
#[derive(Clone)]
pub struct Key([u8; 32]);

/// The name of a ledger, from the hash of its first event. It stays the same when the directory moves and needs
/// no file that could be lost or forged. No two ledgers share it, because every event has its own salt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Origin(String);

/// The state of the ledger when it held `size` events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The ledger that the checkpoint describes.
    pub origin: Origin,
    /// Number of events.
    pub size: u64,
    /// Hash of the last event, in hex.
    pub head_hash: String,
    /// Root of the RFC 6962 tree over the event hashes, in hex.
    pub merkle_root: String,
}

/// A checkpoint in the form of its file: one JSON line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sealed {
    /// The fields that the HMAC covers.
    #[serde(flatten)]
    pub checkpoint: Checkpoint,
    /// HMAC-SHA-256 over the canonical JSON of `checkpoint`, in hex.
    pub hmac: String,
}

/// The RFC 6962 tree over event hashes. It grows with the ledger: 96 bytes of memory and some twenty hashes for
/// each event. Reading its root costs no hash.
#[derive(Debug, Default)]
pub struct Tree(MemoryBackedTree<Sha256, Hash>);

impl Key {
    /// A key from random bytes of the entropy source.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The text of the key file: hex and a line break.
    pub fn to_text(&self) -> String {
        hex::encode(self.0) + "\n"
    }

    /// Reads [`Key::to_text`]; `None` when the text is not a key.
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
    /// The name of the ledger whose first event has this hash.
    pub fn of(genesis: &Hash) -> Self {
        let mut name = hex::encode(genesis);
        name.truncate(ORIGIN_CHARS);
        Self(name)
    }

    /// The name as it is used in files and paths. `None` when it does not have the form of a name, such as a
    /// path upwards.
    pub fn as_str(&self) -> Option<&str> {
        let ours = self.0.len() == ORIGIN_CHARS && self.0.bytes().all(|byte| byte.is_ascii_hexdigit());
        ours.then_some(&*self.0)
    }
}

impl Checkpoint {
    /// The checkpoint of a ledger that ends at `head`; `tree` holds the hashes of all its events.
    pub fn of(origin: Origin, head: Cursor, tree: &Tree) -> Self {
        Self {
            origin,
            size: head.seq,
            head_hash: hex::encode(head.hash),
            merkle_root: hex::encode(tree.root()),
        }
    }

    /// The position that the checkpoint describes; `None` when `head_hash` is not a hash.
    pub fn cursor(&self) -> Option<Cursor> {
        let mut hash = [0; 32];
        hex::decode_to_slice(&self.head_hash, &mut hash).ok()?;
        Some(Cursor { seq: self.size, hash })
    }

    /// Signs the checkpoint with the key.
    pub fn seal(self, key: &Key) -> Sealed {
        let hmac = hex::encode(key.mac(&self).finalize().into_bytes());
        Sealed { checkpoint: self, hmac }
    }
}

impl Sealed {
    /// Whether this key signed the checkpoint. The comparison takes constant time.
    pub fn holds(&self, key: &Key) -> bool {
        hex::decode(&self.hmac).is_ok_and(|hmac| key.mac(&self.checkpoint).verify_slice(&hmac).is_ok())
    }
}

impl Tree {
    /// Adds the hash of the next event.
    pub fn push(&mut self, hash: Hash) {
        self.0.push(hash);
    }

    /// Number of event hashes.
    pub fn size(&self) -> u64 {
        self.0.len()
    }

    /// The root over all hashes so far.
    pub fn root(&self) -> Hash {
        let root = self.0.root();
        let mut hash = [0; 32];
        hash.copy_from_slice(root.as_bytes());
        hash
    }
}
