//! States of the past, folded into temporary files.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tempfile::TempDir;

use super::{Reads, TravelError};
use crate::ledger::{self, Cursor, LedgerError};
use crate::store;

/// Bytes of all states that are kept. The read models of 10,000 claims have 25 MB.
const MOST_BYTES: u64 = 256 << 20;
/// Bytes of those of them that are prepared.
const PREPARED_BYTES: u64 = 192 << 20;
/// States are prepared a multiple of so many events apart. Folding these costs less than a page.
const STEP: u64 = 512;

/// Read models up to a place in the past, in a directory that goes with them.
#[derive(Debug)]
pub(super) struct Folded {
    dir: TempDir,
    end: Cursor,
    bytes: u64,
    /// The last event of the ledger before it was folded: no erasure up to there concerns its texts any more, and no
    /// promotion into the space of another person. None while an erasure was not done yet.
    head: Option<u64>,
}

impl Folded {
    /// Folds the ledger up to an event, from an earlier state if there is one.
    pub(super) fn until(
        ledger: Option<&ledger::Reader>,
        seq: u64,
        from: Option<&Self>,
    ) -> Result<Self, TravelError> {
        let mut folded = Self { dir: tempfile::tempdir()?, end: Cursor::GENESIS, bytes: 0, head: None };
        if let Some(ledger) = ledger {
            let head = ledger.head()?.seq;
            folded.head = (!ledger.file().owes_erasure()?).then_some(head);
            if let Some(from) = from {
                // An erasure since may be in the ledger and not in that copy.
                folded.head = folded.head.and_then(|head| Some(head.min(from.head?)));
                std::fs::copy(from.store(), folded.store())?;
            }
            let mut projection = store::Projection::temporary(&folded.store())?;
            projection.fold_until(ledger, seq)?;
            folded.end = projection.folded();
            drop(projection);
            folded.bytes = folded.store().metadata()?.len();
        }
        Ok(folded)
    }

    /// The file of the read models.
    pub(super) fn store(&self) -> PathBuf {
        self.dir.path().join("team-memory.sqlite")
    }
}

/// States of the past that were folded once, for the reads of one person. Another moment is folded from the nearest of
/// them before it. They are a copy and nothing else: the same moment has the same rows without them.
#[derive(Debug, Default)]
pub struct Pasts {
    kept: Mutex<BTreeMap<u64, Arc<Folded>>>,
}

impl Pasts {
    /// The state at an event.
    pub(super) fn at(&self, reads: &mut Reads, seq: u64) -> Result<Arc<Folded>, TravelError> {
        let ledger = reads.ledger()?;
        let from = ledger.map(|ledger| self.nearest(ledger, seq)).transpose()?.flatten();
        if let Some(folded) = from.as_ref().filter(|from| from.end.seq == seq) {
            return Ok(Arc::clone(folded));
        }
        let folded = Arc::new(Folded::until(ledger, seq, from.as_deref())?);
        self.keep(&folded);
        Ok(folded)
    }

    /// Drops what was erased or withheld since, and folds one more state in advance: they lie the further apart the larger the memory
    /// is. False if none is missing.
    ///
    /// # Errors
    /// [`TravelError`].
    pub fn prepare(&self, reads: &mut Reads) -> Result<bool, TravelError> {
        let size = reads.workspace().team_memory().metadata().map_or(0, |metadata| metadata.len());
        let Some(ledger) = reads.ledger()? else { return Ok(false) };
        self.drop_erased(ledger)?;
        let head = ledger.head()?.seq;
        // Those up to the last event have half of its size on average.
        let most = (2 * PREPARED_BYTES).checked_div(size).unwrap_or(u64::MAX).saturating_sub(1);
        let Some(step) = head.checked_div(most).map(|step| step.max(1).next_multiple_of(STEP)) else {
            return Ok(false);
        };
        let missing = {
            let mut kept = self.kept();
            let bytes = |kept: &BTreeMap<u64, Arc<Folded>>| kept.values().map(|one| one.bytes).sum::<u64>();
            if bytes(&kept) + size > MOST_BYTES {
                // One in each step is enough.
                let ends: Vec<u64> = kept.keys().copied().collect();
                for pair in ends.windows(2) {
                    if pair[0].div_ceil(step) == pair[1].div_ceil(step) {
                        kept.remove(&pair[0]);
                    }
                }
            }
            let is_missing = |end: &u64| kept.range(end - step + 1..=*end).next().is_none();
            let has_room = bytes(&kept) + size <= MOST_BYTES;
            (1..=head / step).map(|at| at * step).find(is_missing).filter(|_| has_room)
        };
        let Some(seq) = missing else { return Ok(false) };
        Ok(self.at(reads, seq)?.head.is_some())
    }

    fn kept(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Folded>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last kept state up to an event, in this history of the ledger.
    fn nearest(&self, ledger: &ledger::Reader, seq: u64) -> Result<Option<Arc<Folded>>, LedgerError> {
        self.drop_erased(ledger)?;
        let last = self.kept().range(..=seq).next_back().map(|(_, folded)| Arc::clone(folded));
        let Some(last) = last else { return Ok(None) };
        Ok(ledger.holds(last.end)?.then_some(last))
    }

    fn drop_erased(&self, ledger: &ledger::Reader) -> Result<(), LedgerError> {
        let mut gone = ledger.erasures()?;
        gone.extend(ledger.withheld()?);
        self.kept().retain(|end, folded| {
            !gone.iter().any(|(erased, at)| erased <= end && folded.head.is_none_or(|head| *at > head))
        });
        Ok(())
    }

    /// Keeps a state. Those that save the fewest events make room for it, and the last one is kept at any size.
    fn keep(&self, folded: &Arc<Folded>) {
        if folded.head.is_none() {
            return;
        }
        let mut kept = self.kept();
        kept.insert(folded.end.seq, Arc::clone(folded));
        while kept.values().map(|folded| folded.bytes).sum::<u64>() > MOST_BYTES {
            let before = [0].into_iter().chain(kept.keys().copied());
            let others = kept.keys().zip(before).filter(|(end, _)| **end != folded.end.seq);
            let Some(least) = others.min_by_key(|(end, before)| *end - before).map(|(end, _)| *end) else {
                return;
            };
            kept.remove(&least);
        }
    }
}
