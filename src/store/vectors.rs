//! The vectors of statements: written by the fold, scanned by searches.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::iter::Peekable;

use rusqlite::{Connection, Row, params};

use super::rows::{bound, malformed, only};
use super::{Reader, StoreError};
use crate::domain::vectors::{DIMENSIONS, Vector, cosine};

/// The vectors of a block. With so many, a block and its positions are one page of the file: a search within a scope reads
/// the pages of that scope only, and no page is copied before it is looked at.
const BLOCK: i64 = 15;
/// Bytes of a ledger position in a block.
pub(super) const SEQ_BYTES: usize = 8;

const LAST_PLACE: &str = "SELECT max(place) FROM vectors";
const NEWEST: &str = "SELECT created_seq, vector FROM vectors WHERE place >= ?1 ORDER BY place";
pub(super) const BLOCKS_AFTER: &str =
    "SELECT seqs, vectors FROM vector_blocks WHERE first_seq > ?1 ORDER BY first_seq";
const BLOCK_OF: &str =
    "SELECT seqs, vectors FROM vector_blocks WHERE first_seq <= ?1 ORDER BY first_seq DESC LIMIT 1";
const WITHIN: &str = "SELECT rowid FROM claim_index WHERE claim_index MATCH ?1";

/// Adds the vector of a new claim. Whether it completes a block depends on the claims before it alone.
pub(super) fn add(db: &Connection, seq: u64, vector: &Vector) -> Result<(), StoreError> {
    let last: Option<i64> = db.prepare_cached(LAST_PLACE)?.query_row([], only)?;
    let place = last.unwrap_or(0) + 1;
    db.prepare_cached("INSERT INTO vectors (place, created_seq, vector) VALUES (?1, ?2, ?3)")?
        .execute(params![place, seq, vector.bytes()])?;
    if place == BLOCK { close_block(db) } else { Ok(()) }
}

fn close_block(db: &Connection) -> Result<(), StoreError> {
    let (mut first, mut seqs, mut vectors) = (None, Vec::new(), Vec::new());
    let mut newest = db.prepare_cached(NEWEST)?;
    let mut rows = newest.query([0])?;
    while let Some(row) = rows.next()? {
        let seq: u64 = row.get("created_seq")?;
        first.get_or_insert(seq);
        seqs.extend_from_slice(&seq.to_le_bytes());
        vectors.extend_from_slice(row.get_ref("vector")?.as_blob().map_err(malformed)?);
    }
    db.prepare_cached("INSERT INTO vector_blocks (first_seq, seqs, vectors) VALUES (?1, ?2, ?3)")?
        .execute(params![first, seqs, vectors])?;
    db.prepare_cached("DELETE FROM vectors WHERE place >= ?1")?.execute([0])?;
    Ok(())
}

/// The ledger positions of a block, and its vectors in the same order.
type Chunks<'r> = (&'r [[u8; SEQ_BYTES]], &'r [[u8; DIMENSIONS]]);

/// Takes a row of a block apart.
pub(super) fn chunks_of<'r>(row: &'r Row<'_>) -> Result<Chunks<'r>, StoreError> {
    let seqs = row.get_ref("seqs")?.as_blob().map_err(malformed)?;
    let vectors = row.get_ref("vectors")?.as_blob().map_err(malformed)?;
    let (seqs, odd_seqs) = seqs.as_chunks::<SEQ_BYTES>();
    let (vectors, odd) = vectors.as_chunks::<DIMENSIONS>();
    if !odd_seqs.is_empty() || !odd.is_empty() || seqs.len() != vectors.len() {
        return Err(malformed("a block of vectors has another size"));
    }
    Ok((seqs, vectors))
}

/// How alike claims are to a question.
#[derive(Debug, Default)]
pub(super) struct Alike {
    /// The most alike claims, the best first.
    pub(super) best: Vec<u64>,
    /// The products of these claims and of the claims that were asked for.
    pub(super) dots: HashMap<u64, i32>,
}

/// Ledger positions in their order. A scan goes through them as it goes through the claims.
type InOrder<'s> = Peekable<std::slice::Iter<'s, u64>>;

/// Ledger positions in their order, each once.
pub(super) fn in_order(seqs: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut seqs: Vec<u64> = seqs.collect();
    seqs.sort_unstable();
    seqs.dedup();
    seqs
}

fn passes(wanted: &mut InOrder<'_>, seq: u64) -> bool {
    while wanted.next_if(|next| **next < seq).is_some() {}
    wanted.next_if_eq(&&seq).is_some()
}

/// A pass over the claims in the order of their creation, and what it keeps.
pub(super) struct Scan<'s> {
    /// The claims that may be among the best. `None` for all.
    among: Option<InOrder<'s>>,
    /// The claims whose products are kept.
    asked: InOrder<'s>,
    /// The claims up to here are not looked at.
    after: u64,
    least: i32,
    most: usize,
    best: BinaryHeap<Reverse<(i32, u64)>>,
    dots: HashMap<u64, i32>,
}

impl<'s> Scan<'s> {
    /// A pass that keeps the best of the claims `among`, at most `most` with a product of `least`.
    pub(super) fn of(asked: &'s [u64], among: Option<&'s [u64]>, (least, most): (i32, usize)) -> Self {
        let (best, dots) = Default::default();
        let (among, asked) = (among.map(|among| among.iter().peekable()), asked.iter().peekable());
        Self { among, asked, after: 0, least, most, best, dots }
    }

    pub(super) fn look(&mut self, seq: u64, dot: impl FnOnce() -> i32) {
        if seq <= self.after {
            return;
        }
        self.after = seq;
        let is_asked = passes(&mut self.asked, seq);
        let may_be_best = self.among.as_mut().is_none_or(|among| passes(among, seq));
        if !is_asked && !may_be_best {
            return;
        }
        let dot = dot();
        if is_asked {
            self.dots.insert(seq, dot);
        }
        let is_full = self.best.len() >= self.most;
        let bar = self.best.peek().filter(|_| is_full).map(|least| least.0);
        if may_be_best && dot >= self.least && bar.is_none_or(|bar| (dot, seq) > bar) {
            if bar.is_some() {
                self.best.pop();
            }
            self.best.push(Reverse((dot, seq)));
        }
    }

    fn look_at_block(&mut self, row: &Row<'_>, meaning: &Vector) -> Result<(), StoreError> {
        let (seqs, vectors) = chunks_of(row)?;
        for (seq, vector) in seqs.iter().zip(vectors) {
            self.look(u64::from_le_bytes(*seq), || meaning.dot(vector));
        }
        Ok(())
    }

    fn look_at_row(&mut self, row: &Row<'_>, meaning: &Vector) -> Result<(), StoreError> {
        let vector = row.get_ref("vector")?.as_blob().map_err(malformed)?;
        let vector = vector.try_into().map_err(malformed)?;
        self.look(row.get("created_seq")?, || meaning.dot(vector));
        Ok(())
    }

    pub(super) fn alike(self) -> Alike {
        let mut dots = self.dots;
        let best = self.best.into_sorted_vec();
        dots.extend(best.iter().map(|Reverse((dot, seq))| (*seq, *dot)));
        Alike { best: best.into_iter().map(|Reverse((_, seq))| seq).collect(), dots }
    }
}

impl Alike {
    /// The claims of two scans of different claims, at most `most` of the best.
    pub(super) fn and(mut self, other: Self, most: usize) -> Self {
        self.dots.extend(other.dots);
        self.best.extend(other.best);
        self.best.sort_by_key(|seq| Reverse((self.dots.get(seq).copied(), *seq)));
        self.best.truncate(most);
        self
    }
}

impl Reader {
    /// The claims within `limits` of the index. `None` for all.
    pub(super) fn among(&self, limits: Option<&str>) -> Result<Option<Vec<u64>>, StoreError> {
        let Some(limits) = limits else { return Ok(None) };
        let mut within = self.db.prepare_cached(WITHIN)?;
        let rows = within.query_map([limits], only)?;
        Ok(Some(in_order(rows.collect::<Result<Vec<_>, _>>()?.into_iter())))
    }

    /// The most alike of the claims `among` that were created after `after`, and the products of the claims `asked`.
    /// `bounds` are the least product of the former, and their greatest number.
    pub(super) fn alike(
        &self,
        meaning: &Vector,
        (among, after): (Option<&[u64]>, u64),
        asked: &[u64],
        bounds: (i32, usize),
    ) -> Result<Alike, StoreError> {
        let kept = self.vectors_in_memory()?;
        let mut scan = Scan { after, ..Scan::of(asked, among, bounds) };
        let wanted = among.map(|among| in_order(among.iter().chain(asked).copied()));
        match (wanted, kept) {
            (Some(wanted), Some(kept)) => {
                kept.of(&wanted).for_each(|(seq, vector)| scan.look(seq, || meaning.dot(vector)));
            }
            (None, Some(kept)) => {
                kept.iter().for_each(|(seq, vector)| scan.look(seq, || meaning.dot(vector)))
            }
            (Some(wanted), None) => self.look_at(&wanted, &mut scan, meaning)?,
            (None, None) => {
                let mut blocks = self.db.prepare_cached(BLOCKS_AFTER)?;
                let mut rows = blocks.query([bound(0)])?;
                while let Some(row) = rows.next()? {
                    self.kept(row, |row| scan.look_at_block(row, meaning))?;
                }
            }
        }
        self.look_at_newest(&mut scan, meaning)?;
        Ok(scan.alike())
    }

    /// Adds how alike some claims are to a meaning, where that is not known yet.
    pub(super) fn add_cosines(
        &self,
        meaning: &Vector,
        seqs: &BTreeSet<u64>,
        known: &mut HashMap<u64, f64>,
    ) -> Result<(), StoreError> {
        let asked: Vec<u64> = seqs.iter().copied().filter(|seq| !known.contains_key(seq)).collect();
        let found = self.alike(meaning, (Some(&[]), 0), &asked, (i32::MAX, 0))?;
        known.extend(found.dots.into_iter().map(|(seq, dot)| (seq, cosine(dot))));
        Ok(())
    }

    /// Looks at the blocks of these claims.
    fn look_at(&self, wanted: &[u64], scan: &mut Scan<'_>, meaning: &Vector) -> Result<(), StoreError> {
        let mut block = self.db.prepare_cached(BLOCK_OF)?;
        for seq in wanted {
            if *seq <= scan.after {
                continue;
            }
            let mut rows = block.query([seq])?;
            if let Some(row) = rows.next()? {
                self.kept(row, |row| scan.look_at_block(row, meaning))?;
            }
        }
        Ok(())
    }

    fn look_at_newest(&self, scan: &mut Scan<'_>, meaning: &Vector) -> Result<(), StoreError> {
        let mut newest = self.db.prepare_cached(NEWEST)?;
        let mut rows = newest.query([0])?;
        while let Some(row) = rows.next()? {
            self.kept(row, |row| scan.look_at_row(row, meaning))?;
        }
        Ok(())
    }
}
