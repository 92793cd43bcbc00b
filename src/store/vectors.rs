//! The vectors of statements: written by the fold, scanned by searches.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, HashSet};

use rusqlite::{Connection, Row, params};

use super::rows::{bound, malformed, only};
use super::{Reader, StoreError};
use crate::domain::vectors::{DIMENSIONS, Vector, cosine};

/// The vectors of a block. Fewer make a search read more rows; more make the fold write more bytes at once.
const BLOCK: i64 = 128;
/// Bytes of a ledger position in a block.
pub(super) const SEQ_BYTES: usize = 8;

const LAST_PLACE: &str = "SELECT max(place) FROM vectors";
const NEWEST: &str = "SELECT created_seq, vector FROM vectors WHERE place >= ?1 ORDER BY place";
const BLOCKS: &str = "SELECT seqs, vectors FROM vector_blocks WHERE first_seq >= ?1 ORDER BY first_seq";
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

/// How alike claims are to a question.
#[derive(Debug, Default)]
pub(super) struct Alike {
    /// The most alike claims, the best first.
    pub(super) best: Vec<u64>,
    /// The products of these claims and of the claims that were asked for.
    pub(super) dots: HashMap<u64, i32>,
}

/// The claims that a scan keeps.
pub(super) struct Scan<'s> {
    /// The claims that may be among the best.
    pub(super) among: Option<HashSet<u64>>,
    /// The claims up to here are not looked at.
    after: u64,
    asked: &'s HashSet<u64>,
    least: i32,
    most: usize,
    best: BinaryHeap<Reverse<(i32, u64)>>,
    dots: HashMap<u64, i32>,
}

impl<'s> Scan<'s> {
    pub(super) fn of(asked: &'s HashSet<u64>, (least, most): (i32, usize)) -> Self {
        let (best, dots) = Default::default();
        Self { among: None, after: 0, asked, least, most, best, dots }
    }

    pub(super) fn look(&mut self, seq: u64, dot: i32) {
        if seq <= self.after {
            return;
        }
        if self.asked.contains(&seq) {
            self.dots.insert(seq, dot);
        }
        let is_full = self.best.len() >= self.most;
        let bar = self.best.peek().filter(|_| is_full).map(|least| least.0);
        let is_good = dot >= self.least && bar.is_none_or(|bar| (dot, seq) > bar);
        if is_good && self.among.as_ref().is_none_or(|among| among.contains(&seq)) {
            if bar.is_some() {
                self.best.pop();
            }
            self.best.push(Reverse((dot, seq)));
        }
    }

    /// Returns the position of the last claim of the block.
    fn look_at_block(&mut self, row: &Row<'_>, meaning: &Vector) -> Result<u64, StoreError> {
        let seqs = row.get_ref("seqs")?.as_blob().map_err(malformed)?;
        let vectors = row.get_ref("vectors")?.as_blob().map_err(malformed)?;
        let (seqs, odd_seqs) = seqs.as_chunks::<SEQ_BYTES>();
        let (vectors, odd) = vectors.as_chunks::<DIMENSIONS>();
        if !odd_seqs.is_empty() || !odd.is_empty() || seqs.len() != vectors.len() {
            return Err(malformed("a block of vectors has another size"));
        }
        for (seq, vector) in seqs.iter().zip(vectors) {
            self.look(u64::from_le_bytes(*seq), meaning.dot(vector));
        }
        Ok(seqs.last().copied().map_or(0, u64::from_le_bytes))
    }

    fn look_at_row(&mut self, row: &Row<'_>, meaning: &Vector) -> Result<(), StoreError> {
        let vector = row.get_ref("vector")?.as_blob().map_err(malformed)?;
        let vector = vector.try_into().map_err(malformed)?;
        self.look(row.get("created_seq")?, meaning.dot(vector));
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
    pub(super) fn among(&self, limits: Option<&str>) -> Result<Option<HashSet<u64>>, StoreError> {
        let Some(limits) = limits else { return Ok(None) };
        let mut within = self.db.prepare_cached(WITHIN)?;
        let rows = within.query_map([limits], only)?;
        Ok(Some(rows.collect::<Result<_, _>>()?))
    }

    /// The most alike of the claims `among` that were created after `after`, and the products of the claims `asked`.
    /// `bounds` are the least product of the former, and their greatest number.
    pub(super) fn alike(
        &self,
        meaning: &Vector,
        (among, after): (Option<HashSet<u64>>, u64),
        asked: &HashSet<u64>,
        bounds: (i32, usize),
    ) -> Result<Alike, StoreError> {
        let mut scan = Scan { among, after, ..Scan::of(asked, bounds) };
        let mut blocks = self.db.prepare_cached(BLOCKS)?;
        let mut rows = blocks.query([bound(0)])?;
        while let Some(row) = rows.next()? {
            self.kept(row, |row| scan.look_at_block(row, meaning))?;
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
        let asked: HashSet<u64> = seqs.iter().copied().filter(|seq| !known.contains_key(seq)).collect();
        let mut scan = Scan::of(&asked, (i32::MAX, 0));
        let mut block = self.db.prepare_cached(BLOCK_OF)?;
        let mut read_to = 0;
        for seq in seqs.iter().filter(|seq| asked.contains(seq)) {
            let mut rows = if *seq > read_to { block.query([seq])? } else { continue };
            if let Some(row) = rows.next()? {
                read_to = self.kept(row, |row| scan.look_at_block(row, meaning))?.unwrap_or_default();
            }
        }
        self.look_at_newest(&mut scan, meaning)?;
        known.extend(scan.dots.into_iter().map(|(seq, dot)| (seq, cosine(dot))));
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
