//! The hash chain: how an event is bound to the previous one, and a payload to its event.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use super::Hash;

/// One column of an event row, in the form that is hashed: type tag, length as u64 little-endian, bytes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Column<'a> {
    Null,
    Integer(i64),
    Text(&'a [u8]),
    Blob(&'a [u8]),
    /// No version of hm writes one. A forged one gets a tag of its own, so it cannot hash like another value.
    Real(f64),
}

/// SHA-256 over the previous hash and the columns in table order.
pub(super) fn event_hash<'a>(prev: &Hash, columns: impl IntoIterator<Item = Column<'a>>) -> Hash {
    let mut hasher = Sha256::new();
    let mut absorb = |tag: u8, bytes: &[u8]| {
        hasher.update([tag]);
        hasher.update((bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    absorb(3, prev);
    for column in columns {
        match column {
            Column::Null => absorb(0, &[]),
            Column::Integer(number) => absorb(1, &number.to_le_bytes()),
            Column::Text(bytes) => absorb(2, bytes),
            Column::Blob(bytes) => absorb(3, bytes),
            Column::Real(number) => absorb(4, &number.to_le_bytes()),
        }
    }
    hasher.finalize().into()
}

/// HMAC-SHA-256 of a payload under its salt. Without the salt the hash reveals nothing about the payload.
pub(super) fn payload_hash(salt: &[u8], payload: &[u8]) -> Hash {
    let mut mac = Hmac::<Sha256>::new_from_slice(salt).expect("HMAC takes keys of any length");
    mac.update(payload);
    mac.finalize().into_bytes().into()
}
