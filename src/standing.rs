//! Compares the ledger with the evidence that this machine has about it.
//!
//! The evidence is the position of the read models, the last line of the file of checkpoints, and the last
//! checkpoint beside the key. Each is written only after the events it names are synced, so a crash alone never
//! leaves it ahead of the ledger. The writer appends and syncs, then folds, then seals; an import and an
//! erasure keep that order.
//!
//! - A ledger has **lost** events when it ends before the evidence, or holds another event there. The writer
//!   then appends, folds and seals nothing, and writes wait in the spool. An import that brings back exactly
//!   the missing events ends this state. Otherwise the operator accepts the loss (`hm repair`), and the ledger
//!   records that. A ledger that is gone with its whole memory has lost all: the record of its place, beside the keys,
//!   tells that one was there (`Checkpoints::is_same_ground`).
//! - A ledger is **broken** when it holds all events and its checkpoints are missing, cut or changed. The
//!   writer appends to it and no longer seals it, until the operator accepts that too.
//! - An **older copy** is a copy that hm made on the same machine, that was never sealed at its place, and that
//!   is behind the newest checkpoint of another place. A backup becomes one as soon as its original goes on:
//!   `hm verify` warns and finds no fault. Writing to it forks the ledger, so the writer treats it as lost
//!   until the operator accepts it.
//! - A ledger is **unsealed here** when it has lines and this machine has no key.

use std::path::Path;

use crate::checkpoints::{Checkpoints, Seals};
use crate::domain::decide::Loss;
use crate::ledger::{Cursor, Filter, LedgerError, Origin, Reader};
use crate::store;
use crate::system;
use crate::workspace::Workspace;

/// Age of the last event after which a ledger without a seal is reported. An idle writer seals after a quarter
/// of a second.
const SEALED_WITHIN_MS: i64 = 60_000;

/// The result of comparing a ledger with the evidence about it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// The damage that the operator has not accepted yet.
    pub damage: Option<Damage>,
    /// Why this machine does not seal the ledger.
    pub unsealed: Option<String>,
    /// What the operator can accept so that sealing begins anew: the damage, or lines without a key.
    pub acceptable: Option<Loss>,
}

/// Damage of a ledger or its checkpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The loss that the ledger records when the operator accepts it.
    pub loss: Loss,
    /// The positions that the evidence names and the ledger lacks. Empty when only checkpoints are damaged.
    pub missing: Vec<Cursor>,
    /// Whether the evidence comes from another copy of this ledger only.
    pub is_older_copy: bool,
}

impl Damage {
    /// The way forward.
    pub const FIX: &'static str = "`hm verify` tells more; put back a backup, or accept it as the operator: \
                                   hm repair --accept-loss --reason TEXT";

    /// Whether events are missing, so that the writer must append nothing.
    pub fn stops_writes(&self) -> bool {
        !self.missing.is_empty()
    }
}

impl Standing {
    /// Examines a workspace through read-only handles.
    pub fn of(workspace: &Workspace, state_home: Option<&Path>) -> Result<Self, LedgerError> {
        let store = store::Reader::open(&workspace.team_memory()).ok().flatten();
        let ledger = Reader::open(&workspace.ledger())?;
        Self::between(folded(store.as_ref()), ledger.as_ref(), workspace, state_home)
    }

    /// Like [`Standing::of`], through handles that are open already. The caller reads `folded`, the position of
    /// the read models, before the ledger: the ledger may grow meanwhile, but it still holds everything that
    /// was folded before.
    pub fn between(
        folded: Cursor,
        ledger: Option<&Reader>,
        workspace: &Workspace,
        state_home: Option<&Path>,
    ) -> Result<Self, LedgerError> {
        let genesis = ledger.map(|ledger| ledger.hashes_after(0, 1)).transpose()?;
        let origin = genesis.and_then(|genesis| genesis.first().map(Origin::of));
        let seen = Checkpoints::of(workspace.memory(), state_home).seen(origin.as_ref());
        let head = ledger.map_or(Ok(Cursor::GENESIS), Reader::head)?;
        let is_missing = |at: &Cursor| -> Result<bool, LedgerError> {
            ledger.map_or(Ok(at.seq > 0), |ledger| Ok(!ledger.holds(*at)?))
        };
        let marks = std::iter::once(("the read models have seen", folded)).chain(seen.marks());
        let (mut missing, mut fault) = (Vec::new(), None);
        for (who, at) in marks {
            if is_missing(&at)? {
                missing.push(at);
                fault.get_or_insert_with(|| match at.seq > head.seq {
                    true => format!("the ledger ends at event {}, and {who} event {}", head.seq, at.seq),
                    false => format!("{who} another event {}: the ledger was rewritten or replaced", at.seq),
                });
            }
        }
        // Nothing is left of the ledger that lay here. One that took its place is named below, and takes writes.
        if missing.is_empty()
            && head == Cursor::GENESIS
            && let Some(at) = seen.replaced()
        {
            missing.push(at);
            fault = Some(format!(
                "the ledger that lay here is gone, and {} of its events were sealed: it was removed or emptied",
                at.seq
            ));
        }
        let mut is_older_copy = false;
        // Only a copy that hm made counts: any other copy is a project of its own.
        if missing.is_empty()
            && workspace.is_copy()
            && let Some(at) = seen.elsewhere()
            && is_missing(&at)?
        {
            (is_older_copy, missing) = (true, vec![at]);
            fault = Some(format!(
                "this ledger is behind the newest sealed checkpoint of this machine (size {}): an older copy?",
                at.seq
            ));
        }
        let seals = seen.seals();
        if let (None, Seals::Broken(broken)) = (&fault, &seals) {
            fault = Some(broken.clone());
        }
        let to = missing.iter().map(|at| at.seq).max().unwrap_or(head.seq);
        let loss = fault.map(|fault| Loss { from: head.seq, to, fault });
        let damage = loss.map(|loss| Damage { loss, missing, is_older_copy });
        let mut acceptable = damage.as_ref().map(|damage| damage.loss.clone());
        if let (None, Seals::Not(why)) = (&acceptable, &seals) {
            acceptable = Some(Loss { from: head.seq, to: head.seq, fault: why.clone() });
        }
        let unsealed = match seals {
            Seals::Not(why) => Some(why),
            _ if state_home.is_none() => Some("unsealed here: no home directory to keep a key in".to_owned()),
            Seals::New if is_overdue(ledger)? => {
                Some("unsealed here: no checkpoint of this ledger was sealed".to_owned())
            }
            Seals::New | Seals::Hold | Seals::Broken(_) => None,
        };
        Ok(Self { damage, unsealed, acceptable })
    }
}

/// Whether the last event has been unsealed for longer than a writer takes.
fn is_overdue(ledger: Option<&Reader>) -> Result<bool, LedgerError> {
    let last = Filter { limit: 1, newest: true, ..Filter::default() };
    let last = ledger.map(|ledger| ledger.list(&last)).transpose()?.unwrap_or_default();
    Ok(last.first().is_some_and(|last| system::now().ms() - last.at.ms() > SEALED_WITHIN_MS))
}

/// The position of the read models, whichever version folded them; the start when they cannot be read.
pub(crate) fn folded(store: Option<&store::Reader>) -> Cursor {
    store.and_then(|store| store.folded().ok()).unwrap_or(Cursor::GENESIS)
}
