//! Whether the ledger still is what this machine has seen of it.
//!
//! The evidence, each written only after the events it names were synced, so that no honest crash leaves it ahead:
//! the position of the read models, the last line of the file of checkpoints, and the last checkpoint beside the key
//! (the writer appends and syncs, then folds, then seals; an import and an erasure keep that order).
//!
//! - A ledger that ends before one of them, or holds another event there, has **lost** events: the writer appends
//!   nothing, folds nothing anew and seals nothing. Writes wait in the spool. An import that brings back exactly what
//!   is missing ends that; else the operator accepts the loss (`hm repair`), which stands in the ledger from then on.
//! - A ledger that holds all that was seen, and whose checkpoints are gone, cut or changed, is **broken**: it is
//!   appended to and no longer sealed, until the operator accepts that too.
//! - A copy that hm made on the same machine, was never sealed where it lies, and is behind the newest checkpoint sealed at
//!   another place, is an **older copy**. A backup is one as soon as its original goes on: `hm verify` warns and finds
//!   no fault. To write to it is to fork the ledger, so the writer treats it as lost until the operator accepts it.
//! - A ledger with lines and without a key on this machine is **unsealed here**.

use std::path::Path;

use crate::checkpoints::{Checkpoints, Seals};
use crate::domain::decide::Loss;
use crate::ledger::{Cursor, Filter, LedgerError, Origin, Reader};
use crate::store;
use crate::system;
use crate::workspace::Workspace;

/// When a ledger that no writer has sealed is worth a word: an idle writer seals after a quarter of a second.
const SEALED_WITHIN_MS: i64 = 60_000;

/// How a ledger stands against what was seen of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// What is wrong, until the operator accepts it.
    pub damage: Option<Damage>,
    /// Why nothing seals the ledger here.
    pub unsealed: Option<String>,
    /// What the operator can accept, so that the ledger is sealed anew: the damage, or lines without a key.
    pub acceptable: Option<Loss>,
}

/// Something that is wrong with a ledger or its checkpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// As it stands on record once it is accepted.
    pub loss: Loss,
    /// The places that were seen and are missing. None: only checkpoints are damaged.
    pub missing: Vec<Cursor>,
    /// Whether only another copy of this ledger has seen them.
    pub is_older_copy: bool,
}

impl Damage {
    /// What there is to do.
    pub const FIX: &'static str = "`hm verify` tells more; put back a backup, or accept it as the operator: \
                                   hm repair --accept-loss --reason TEXT";

    /// Whether events are missing, so that nothing is appended.
    pub fn stops_writes(&self) -> bool {
        !self.missing.is_empty()
    }
}

impl Standing {
    /// Looks at a workspace through read-only handles.
    ///
    /// # Errors
    /// [`LedgerError`] when the ledger cannot be read.
    pub fn of(workspace: &Workspace, state_home: Option<&Path>) -> Result<Self, LedgerError> {
        let store = store::Reader::open(&workspace.team_memory()).ok().flatten();
        let ledger = Reader::open(&workspace.ledger())?;
        Self::between(folded(store.as_ref()), ledger.as_ref(), workspace, state_home)
    }

    /// [`Standing::of`] through handles that are open already. `folded` is how far the read models were before the
    /// ledger is asked: it may grow meanwhile, and what was seen before is in it.
    ///
    /// # Errors
    /// [`LedgerError`] when the ledger cannot be read.
    pub fn between(
        folded: Cursor,
        ledger: Option<&Reader>,
        workspace: &Workspace,
        state_home: Option<&Path>,
    ) -> Result<Self, LedgerError> {
        let genesis = ledger.map(|ledger| ledger.hashes_after(0, 1)).transpose()?;
        let origin = genesis.and_then(|genesis| genesis.first().map(Origin::of));
        let seen = Checkpoints::of(workspace, state_home).seen(origin.as_ref());
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
        let mut is_older_copy = false;
        // Any other copy is a project of its own from then on.
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

/// Whether the last event is older than a writer leaves it unsealed.
fn is_overdue(ledger: Option<&Reader>) -> Result<bool, LedgerError> {
    let last = Filter { limit: 1, newest: true, ..Filter::default() };
    let last = ledger.map(|ledger| ledger.list(&last)).transpose()?.unwrap_or_default();
    Ok(last.first().is_some_and(|last| system::now().ms() - last.at.ms() > SEALED_WITHIN_MS))
}

/// How far the read models say they are folded, whichever version folded them; nothing where they cannot be read.
pub(crate) fn folded(store: Option<&store::Reader>) -> Cursor {
    store.and_then(|store| store.folded().ok()).unwrap_or(Cursor::GENESIS)
}
