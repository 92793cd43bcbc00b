//! Claims whose evidence shows nothing: commands whose exit code is that of the end of a pipe, or was not seen.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::event::Event;
use crate::domain::ids::{ClaimId, EventId};
use crate::reads::Reads;
use crate::store::Supported;

/// The claims among these whose events all show nothing. None where the ledger cannot be read.
pub(super) fn unshown(reads: &mut Reads, supported: &[Supported]) -> BTreeSet<ClaimId> {
    let Some(ledger) = reads.readable_ledger().filter(|_| !supported.is_empty()) else {
        return BTreeSet::new();
    };
    let shows_nothing = |event: &str| {
        let stored = event.parse::<EventId>().ok().and_then(|id| ledger.event(id).ok()?);
        let event = stored.and_then(|stored| stored.recorded().ok()?.event);
        matches!(event, Some(Event::CommandRan(ran)) if ran.of_last || ran.unseen)
    };
    let mut all: BTreeMap<ClaimId, bool> = BTreeMap::new();
    for (claim, event) in supported {
        let is_nothing = all.entry(*claim).or_insert(true);
        *is_nothing = *is_nothing && shows_nothing(event);
    }
    all.into_iter().filter_map(|(claim, is_nothing)| is_nothing.then_some(claim)).collect()
}
