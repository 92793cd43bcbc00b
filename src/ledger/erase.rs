//! Erasure removes the payloads that a redaction names from the file, its log and its free pages.

use rusqlite::{Connection, params};

use super::LedgerError;
use crate::domain::event::{Event, EventRedacted};
use crate::domain::ids::EventId;
use crate::sqlite::{self, Error, bound};

/// The type of the event that records an erasure.
pub(super) const REDACTED: &str = EventRedacted::KIND;

/// An event whose payload an operator erased.
pub(super) struct Redaction {
    pub seq: u64,
    pub event_id: EventId,
    /// Sequence number of the event that records the erasure.
    pub redacted_at: u64,
}

/// All redactions in the ledger.
pub(super) fn redactions(db: &Connection) -> Result<Vec<Redaction>, LedgerError> {
    let sql = "SELECT e.seq, p.payload FROM events e JOIN payloads p ON p.seq = e.seq WHERE e.type = ?1";
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query([REDACTED])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let redacted_at = row.get(0)?;
        // A redaction whose own payload was tampered with explains nothing.
        let Ok(payload) = row.get::<_, String>(1) else { continue };
        if let Ok(Event::EventRedacted(redacted)) = Event::decode(REDACTED, &payload) {
            found.push(Redaction { seq: redacted.seq, event_id: redacted.event_id, redacted_at });
        }
    }
    Ok(found)
}

/// Whether the file may still hold payloads that a redaction names. The flag is in the file's header; the
/// transaction that appends the redaction sets it.
pub(super) fn is_owed(db: &Connection) -> Result<bool, Error> {
    db.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)).map(|flag| flag != 0)
}

pub(super) fn owe(db: &Connection, owed: bool) -> Result<(), Error> {
    db.pragma_update(None, "user_version", i64::from(owed))
}

/// See [`super::File::erase`].
pub(super) fn erase(db: &Connection) -> Result<bool, LedgerError> {
    let redactions = redactions(db)?;
    let transaction = db.unchecked_transaction()?;
    for redaction in &redactions {
        let delete = "DELETE FROM payloads WHERE seq = ?1 AND seq = (SELECT seq FROM events WHERE id = ?2)";
        transaction.prepare_cached(delete)?.execute(params![bound(redaction.seq), redaction.event_id])?;
    }
    transaction.commit()?;
    Ok(sqlite::rewrite(db)?)
}
