//! The meanings of statements as a model has them: stored by a job of the writer, scanned by searches.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::fold::Projection;
use super::rows::{Json, bound, malformed, only};
use super::vectors::{Alike, SEQ_BYTES, Scan};
use super::{Reader, StoreError};
use crate::domain::vectors::Meaning;

/// The vectors of a block. Fewer make a search read more rows; more make the job write more bytes at once.
const BLOCK: usize = 128;

const LAST: &str =
    "SELECT last_seq, dimensions FROM model_vectors WHERE model = ?1 ORDER BY first_seq DESC LIMIT 1";
const NEXT: &str =
    "SELECT created_seq, statement FROM claims WHERE created_seq > ?1 ORDER BY created_seq LIMIT ?2";
const WAITING: &str = "SELECT count(*) FROM claims WHERE created_seq > ?1";
const KNOWN: &str =
    "SELECT count(*) FROM json_each(?1) CROSS JOIN claims c ON c.created_seq = json_each.value";
const BLOCKS: &str =
    "SELECT model, dimensions, seqs, vectors FROM model_vectors WHERE first_seq >= ?1 ORDER BY first_seq";
const LAST_BLOCK: &str = "SELECT first_seq, seqs, vectors FROM model_vectors WHERE first_seq >= ?1 ORDER BY first_seq DESC LIMIT 1";

const DROP_OTHERS: &str =
    "DELETE FROM model_vectors WHERE first_seq >= 0 AND (model <> ?1 OR dimensions <> ?2)";

/// The meaning of a question as a model has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByModel {
    /// The name of the model and the hash of its files.
    pub model: String,
    /// The meaning.
    pub meaning: Meaning,
}

impl ByModel {
    /// The last claim whose meaning the model gave in as many numbers. 0 before the first.
    fn last_read(&self, db: &Connection) -> Result<u64, rusqlite::Error> {
        let (last, dimensions) = newest(db, &self.model)?;
        Ok(if dimensions == self.meaning.dimensions() { last } else { 0 })
    }
}

/// The last claim that a model has read, and the count of numbers of its meaning. 0 before the first.
fn newest(db: &Connection, model: &str) -> Result<(u64, usize), rusqlite::Error> {
    let newest = |row: &Row<'_>| Ok((row.get("last_seq")?, row.get("dimensions")?));
    Ok(db.prepare_cached(LAST)?.query_row([model], newest).optional()?.unwrap_or_default())
}

/// The last claim that a model has read. 0 before the first.
fn last_read(db: &Connection, model: &str) -> Result<u64, rusqlite::Error> {
    newest(db, model).map(|(last, _)| last)
}

impl Reader {
    /// The claims after the last one that a model has read, the oldest first, and the position of that last one.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn unread_by(&self, model: &str, most: usize) -> Result<(u64, Vec<(u64, String)>), StoreError> {
        let last = last_read(&self.db, model)?;
        let mut next = self.db.prepare_cached(NEXT)?;
        let rows = next.query_map(params![last, bound(most)], |row| {
            Ok((row.get("created_seq")?, row.get("statement")?))
        })?;
        Ok((last, rows.collect::<Result<_, _>>()?))
    }

    /// The count of claims that a model has not read yet.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn waiting_for(&self, asked: &ByModel) -> Result<u64, StoreError> {
        let last = asked.last_read(&self.db)?;
        Ok(self.db.prepare_cached(WAITING)?.query_row([last], only)?)
    }

    /// The most alike claims as a model has them, and the last claim that it has read. For the other arguments see
    /// [`Reader::alike`].
    pub(super) fn alike_by_model(
        &self,
        asked: &ByModel,
        among: Option<&[u64]>,
        candidates: &[u64],
        bounds: (i32, usize),
    ) -> Result<(Alike, u64), StoreError> {
        let mut scan = Scan::of(candidates, among, bounds);
        let mut blocks = self.db.prepare_cached(BLOCKS)?;
        let mut rows = blocks.query([bound(0)])?;
        while let Some(row) = rows.next()? {
            self.kept(row, |row| look_at(&mut scan, row, asked))?;
        }
        Ok((scan.alike(), asked.last_read(&self.db)?))
    }
}

fn look_at(scan: &mut Scan<'_>, row: &Row<'_>, asked: &ByModel) -> Result<(), StoreError> {
    if row.get_ref("model")?.as_str().map_err(malformed)? != asked.model {
        return Ok(());
    }
    let dimensions: usize = row.get("dimensions")?;
    let (seqs, odd) = row.get_ref("seqs")?.as_blob().map_err(malformed)?.as_chunks::<SEQ_BYTES>();
    let vectors = row.get_ref("vectors")?.as_blob().map_err(malformed)?;
    let is_whole = odd.is_empty() && vectors.len() == seqs.len() * dimensions;
    if !is_whole {
        return Err(malformed("a block of vectors of a model has another size"));
    }
    if dimensions != asked.meaning.dimensions() {
        return Ok(());
    }
    for (seq, vector) in seqs.iter().zip(vectors.chunks_exact(dimensions.max(1))) {
        scan.look(u64::from_le_bytes(*seq), || asked.meaning.dot(vector));
    }
    Ok(())
}

impl Projection {
    /// Stores what a model read: the claims after `last`, without gaps. Meanings of another model are dropped. False
    /// if the read models changed since and no longer have these claims there.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is stored then.
    pub fn keep_meanings(
        &mut self,
        model: &str,
        last: u64,
        read: &[(u64, Meaning)],
    ) -> Result<bool, StoreError> {
        let transaction = self.db.transaction()?;
        let seqs: Vec<u64> = read.iter().map(|(seq, _)| *seq).collect();
        let known: usize = transaction.prepare_cached(KNOWN)?.query_row([Json(&seqs)], only)?;
        let Some(dimensions) = read.first().map(|(_, meaning)| bound(meaning.dimensions())) else {
            return Ok(true);
        };
        if last_read(&transaction, model)? != last || known != seqs.len() {
            return Ok(false);
        }
        transaction.prepare_cached(DROP_OTHERS)?.execute(params![model, dimensions])?;
        // The model answered with another count of numbers before: it has to read all claims again.
        let is_next = last_read(&transaction, model)? == last;
        if is_next {
            append(&transaction, model, read)?;
        }
        transaction.commit()?;
        Ok(is_next)
    }
}

/// Adds vectors after those of the last block, and closes blocks that are full.
fn append(db: &Connection, model: &str, read: &[(u64, Meaning)]) -> Result<(), StoreError> {
    let Some(dimensions) = read.first().map(|(_, meaning)| meaning.dimensions()) else { return Ok(()) };
    let last: Option<(u64, Vec<u8>, Vec<u8>)> = db
        .prepare_cached(LAST_BLOCK)?
        .query_row([bound(0)], |row| Ok((row.get("first_seq")?, row.get("seqs")?, row.get("vectors")?)))
        .optional()?;
    let last = last.filter(|(_, seqs, _)| seqs.len() < BLOCK * SEQ_BYTES);
    let (mut seqs, mut vectors) = (Vec::new(), Vec::new());
    if let Some((first, held, of_held)) = last {
        db.prepare_cached("DELETE FROM model_vectors WHERE first_seq = ?1")?.execute([first])?;
        (seqs, vectors) = (held, of_held);
    }
    for (seq, meaning) in read {
        seqs.extend_from_slice(&seq.to_le_bytes());
        vectors.extend(meaning.bytes());
    }
    let mut insert = db.prepare_cached(
        "INSERT INTO model_vectors (first_seq, last_seq, model, dimensions, seqs, vectors) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for (seqs, vectors) in seqs.chunks(BLOCK * SEQ_BYTES).zip(vectors.chunks(BLOCK * dimensions)) {
        let (all, _) = seqs.as_chunks::<SEQ_BYTES>();
        let ends = [all.first(), all.last()].map(|seq| seq.copied().map_or(0, u64::from_le_bytes));
        insert.execute(params![ends[0], ends[1], model, bound(dimensions), seqs, vectors])?;
    }
    Ok(())
}
