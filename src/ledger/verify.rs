//! Verifies the chain: every byte of every event is covered by a hash, or the report names the event.

use std::collections::BTreeMap;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension};

use super::chain::{self, Column};
use super::{Cursor, Hash, LedgerError, erase};

/// Number of events between two progress reports.
const PROGRESS_EVERY: u64 = 4_096;

/// The result of a verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Number of sound events.
    pub events: u64,
    /// Number of sound events whose payload an operator erased.
    pub erased: u64,
    /// The last sound event.
    pub head: Cursor,
    /// The first fault; `None` when all of it is sound.
    pub fault: Option<Fault>,
}

/// The first broken place. hm never repairs it: a repair would destroy the evidence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A sequence number is missing or out of place.
    #[error("event {expected} is missing: the next one is {found}")]
    Gap {
        /// The sequence number that should follow.
        expected: u64,
        /// The sequence number that follows.
        found: i64,
    },
    /// The event does not name the hash of the previous one.
    #[error("event {0} does not follow the one before it: prev_hash differs")]
    Unlinked(u64),
    /// A column differs from the event's hash.
    #[error("event {0} was changed: its hash differs")]
    Changed(u64),
    /// The payload or its salt differs from the payload hash.
    #[error("the payload of event {0} was changed: its hash differs")]
    PayloadChanged(u64),
    /// The payload is missing, and no event records its erasure.
    #[error("the payload of event {0} is missing and no event explains it")]
    PayloadMissing(u64),
    /// A payload belongs to no event.
    #[error("payload {0} belongs to no event")]
    PayloadOrphaned(i64),
}

/// Verifies the chain from the first event to the last.
pub(super) fn verify_chain(db: &Connection, progress: impl FnMut(u64)) -> Result<Report, LedgerError> {
    walk_after(db, 0, progress)
}

/// Verifies the chain after an event that is taken as sound.
pub(super) fn walk_after(
    db: &Connection,
    from: u64,
    mut progress: impl FnMut(u64),
) -> Result<Report, LedgerError> {
    // One transaction reads one state of the file: an event whose erasure happens meanwhile is seen with its
    // payload, or together with the event that records the erasure.
    let transaction = db.unchecked_transaction()?;
    let explained: BTreeMap<u64, (Option<String>, u64)> = erase::redactions(&transaction)?
        .into_iter()
        .map(|redaction| {
            (redaction.seq, (redaction.event_id.map(|id| id.to_string()), redaction.redacted_at))
        })
        .collect();
    let mut erased = 0;
    let mut statement = transaction.prepare(
        "SELECT e.seq, e.id, e.type, e.agent, e.session, e.trace_id, e.causation_id, e.at_ms, \
             e.idempotency_key, e.min_reader, e.payload_hash, e.prev_hash, e.hash, p.salt, p.payload \
             FROM events e LEFT JOIN payloads p ON p.seq = e.seq WHERE e.seq > ?1 ORDER BY e.seq",
    )?;
    // A walk from the start includes numbers below 1, so that it finds a forged event 0.
    let first = if from == 0 { i64::MIN } else { i64::try_from(from).unwrap_or(i64::MAX) };
    let mut head = Cursor::GENESIS;
    if from > 0 {
        let hash: Option<Hash> = transaction
            .query_row("SELECT hash FROM events WHERE seq = ?1", [first], |row| row.get(0))
            .optional()?;
        let Some(hash) = hash else {
            let fault = Some(Fault::Gap { expected: from, found: first.saturating_add(1) });
            return Ok(Report { events: from - 1, erased, head, fault });
        };
        head = Cursor { seq: from, hash };
    }
    let mut rows = statement.query([first])?;
    while let Some(row) = rows.next()? {
        let column = |index: usize| row.get_ref(index);
        let expected = head.seq + 1;
        let stop = |fault: Fault| Ok(Report { events: expected - 1, erased, head, fault: Some(fault) });
        let found: i64 = row.get(0)?;
        if u64::try_from(found) != Ok(expected) {
            return stop(Fault::Gap { expected, found });
        }
        if blob(column(11)?) != Some(&head.hash[..]) {
            return stop(Fault::Unlinked(expected));
        }
        let mut columns = Vec::with_capacity(11);
        for index in 0..11 {
            columns.push(hashed(column(index)?));
        }
        let hash = chain::event_hash(&head.hash, columns);
        if blob(column(12)?) != Some(&hash[..]) {
            return stop(Fault::Changed(expected));
        }
        match (column(13)?, column(14)?) {
            (ValueRef::Null, ValueRef::Null) => {
                let redaction = explained.get(&expected).filter(|(_, redacted_at)| *redacted_at > expected);
                let is_other = |id: &String| column(1).is_ok_and(|own| text(own) != Some(id.as_bytes()));
                if redaction.is_none_or(|(id, _)| id.as_ref().is_some_and(is_other)) {
                    return stop(Fault::PayloadMissing(expected));
                }
                erased += 1;
            }
            (ValueRef::Null, _) | (_, ValueRef::Null) => return stop(Fault::PayloadMissing(expected)),
            (ValueRef::Blob(salt), ValueRef::Text(payload)) => {
                let sealed: Hash = chain::payload_hash(salt, payload);
                if blob(column(10)?) != Some(&sealed[..]) {
                    return stop(Fault::PayloadChanged(expected));
                }
            }
            // hm writes a salt as a blob and a payload as text, nothing else.
            _ => return stop(Fault::PayloadChanged(expected)),
        }
        head = Cursor { seq: expected, hash };
        if head.seq.is_multiple_of(PROGRESS_EVERY) {
            progress(head.seq);
        }
    }
    let orphan: Option<i64> = transaction.query_row(
        "SELECT min(seq) FROM payloads WHERE seq > ?1 OR seq < 1",
        [i64::try_from(head.seq).unwrap_or(i64::MAX)],
        |row| row.get(0),
    )?;
    Ok(Report { events: head.seq, erased, head, fault: orphan.map(Fault::PayloadOrphaned) })
}

fn text(value: ValueRef<'_>) -> Option<&[u8]> {
    match value {
        ValueRef::Text(bytes) => Some(bytes),
        ValueRef::Blob(_) | ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => None,
    }
}

fn blob(value: ValueRef<'_>) -> Option<&[u8]> {
    match value {
        ValueRef::Blob(bytes) => Some(bytes),
        ValueRef::Text(_) | ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => None,
    }
}

fn hashed(value: ValueRef<'_>) -> Column<'_> {
    match value {
        ValueRef::Integer(number) => Column::Integer(number),
        ValueRef::Text(bytes) => Column::Text(bytes),
        ValueRef::Blob(bytes) => Column::Blob(bytes),
        ValueRef::Real(number) => Column::Real(number),
        ValueRef::Null => Column::Null,
    }
}
