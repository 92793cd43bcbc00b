//! The vectors that a reader of many searches keeps in memory: each block is read once.

use std::cell::Ref;

use rusqlite::Row;

use super::rows::{malformed, only};
use super::vectors::{BLOCKS_AFTER, chunks_of};
use super::{Reader, StoreError};
use crate::domain::vectors::DIMENSIONS;

/// The most vectors that are kept: 35 MB. With more claims, every search reads the file.
const MOST: usize = 1 << 17;

/// Changes whenever the read models are made anew in their file, which drops indexes and makes them again.
const SCHEMA: &str = "PRAGMA schema_version";

/// The vectors of complete blocks, in the order of the claims. Blocks never change: a fold only adds some.
#[derive(Debug, Default)]
pub(super) struct KeptVectors {
    /// The schema of the file that they are from.
    schema: i64,
    /// Whether none of this file are kept, because there are too many or a block cannot be read.
    is_given_up: bool,
    seqs: Vec<u64>,
    vectors: Vec<[u8; DIMENSIONS]>,
}

impl KeptVectors {
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &[u8; DIMENSIONS])> {
        self.seqs.iter().copied().zip(&self.vectors)
    }

    /// Those of some claims. `wanted` is in the order of the claims.
    pub(super) fn of(&self, wanted: &[u64]) -> impl Iterator<Item = (u64, &[u8; DIMENSIONS])> {
        let mut from = 0;
        wanted.iter().filter_map(move |seq| {
            let found = self.seqs.get(from..)?.binary_search(seq);
            from += found.unwrap_or_else(|next| next);
            found.is_ok().then(|| (*seq, &self.vectors[from]))
        })
    }

    fn add(&mut self, row: &Row<'_>) -> Result<(), StoreError> {
        let (seqs, vectors) = chunks_of(row)?;
        let seqs = seqs.iter().map(|seq| u64::from_le_bytes(*seq));
        if seqs.clone().next().is_some_and(|first| self.seqs.last().is_some_and(|last| first <= *last)) {
            return Err(malformed("a block of vectors is out of order"));
        }
        self.seqs.extend(seqs);
        self.vectors.extend_from_slice(vectors);
        Ok(())
    }
}

impl Reader {
    /// The vectors of all complete blocks in memory, up to date. `None` if this reader keeps none, if there are too many, or
    /// if a block cannot be read, which the search then reports by itself.
    pub(super) fn vectors_in_memory(&self) -> Result<Option<Ref<'_, KeptVectors>>, StoreError> {
        let Some(in_memory) = &self.kept_vectors else { return Ok(None) };
        let mut kept = in_memory.borrow_mut();
        let schema = self.db.prepare_cached(SCHEMA)?.query_row([], only)?;
        if kept.schema != schema {
            *kept = KeptVectors { schema, ..KeptVectors::default() };
        }
        if kept.is_given_up {
            return Ok(None);
        }
        let mut blocks = self.db.prepare_cached(BLOCKS_AFTER)?;
        let mut rows = blocks.query([kept.seqs.last().copied().unwrap_or(0)])?;
        while let Some(row) = rows.next()? {
            if kept.add(row).is_err() || kept.seqs.len() > MOST {
                *kept = KeptVectors { schema, is_given_up: true, ..KeptVectors::default() };
                return Ok(None);
            }
        }
        drop(kept);
        Ok(Some(in_memory.borrow()))
    }
}
