//! Erasure removes the payloads that a redaction names from the file, its log and its free pages.

use rusqlite::{Connection, params};

use super::LedgerError;
use crate::domain::event::{Event, EventRedacted, EventsRedacted};
use crate::domain::ids::EventId;
use crate::sqlite::{self, Error, bound};

/// The types of the events that record an erasure.
pub(super) const REDACTED: [&str; 2] = [EventRedacted::KIND, EventsRedacted::KIND];

/// An event whose payload an operator erased.
pub(super) struct Redaction {
    pub seq: u64,
    /// Its id, as the event that records the erasure of one event repeats it.
    pub event_id: Option<EventId>,
    /// Sequence number of the event that records the erasure.
    pub redacted_at: u64,
}

/// All redactions in the ledger.
pub(super) fn redactions(db: &Connection) -> Result<Vec<Redaction>, LedgerError> {
    let sql = "SELECT e.seq, p.payload, e.type FROM events e JOIN payloads p ON p.seq = e.seq WHERE e.type IN (?1, ?2)";
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(REDACTED)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let redacted_at: u64 = row.get(0)?;
        // A redaction whose own payload was tampered with explains nothing.
        let (Ok(payload), kind) = (row.get::<_, String>(1), row.get::<_, String>(2)?) else { continue };
        match Event::decode(&kind, &payload) {
            Ok(Event::EventRedacted(EventRedacted { seq, event_id, .. })) => {
                found.push(Redaction { seq, event_id: Some(event_id), redacted_at });
            }
            Ok(Event::EventsRedacted(many)) => {
                let erased = many.seqs().take_while(|seq| *seq < redacted_at);
                found.extend(erased.map(|seq| Redaction { seq, event_id: None, redacted_at }));
            }
            _ => {}
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
        let delete = "DELETE FROM payloads WHERE seq = ?1 AND (?2 IS NULL OR seq = (SELECT seq FROM events WHERE id = ?2))";
        transaction.prepare_cached(delete)?.execute(params![bound(redaction.seq), redaction.event_id])?;
    }
    transaction.commit()?;
    Ok(sqlite::rewrite(db)?)
}
