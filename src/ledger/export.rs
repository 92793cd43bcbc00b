//! The ledger as text to read, compare and take elsewhere: one line for each event.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Cursor, Stored};
use crate::domain::ids::{CommandId, EventId, TraceId};

#[derive(Serialize)]
struct Line<'a> {
    seq: u64,
    id: EventId,
    #[serde(rename = "type")]
    kind: &'a str,
    agent: &'a str,
    session: Option<&'a str>,
    trace_id: Option<&'a str>,
    causation_id: CommandId,
    at_ms: i64,
    idempotency_key: Option<&'a str>,
    min_reader: u32,
    payload_hash: String,
    prev_hash: String,
    hash: String,
    salt: Option<String>,
    payload: Option<&'a RawValue>,
}

/// The last line of an export. It shows that the export is complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportTrailer {
    /// Number of events above this line.
    pub count: u64,
    /// Hash of the last event, in hex; zeros for an empty ledger.
    pub head_hash: String,
}

impl ExportTrailer {
    /// The trailer of a ledger that ends at `head`.
    pub fn at(head: Cursor) -> Self {
        Self { count: head.seq, head_hash: hex::encode(head.hash) }
    }
}

/// One event as a JSON line without its line break. The same event always gives the same bytes.
///
/// # Errors
/// When the stored payload is not JSON. `hm verify` names such an event.
pub fn export_line(event: &Stored) -> Result<String, serde_json::Error> {
    let payload = event.payload.as_ref().map(|(payload, _)| serde_json::from_str(payload)).transpose()?;
    serde_json::to_string(&Line {
        seq: event.seq,
        id: event.id,
        kind: &event.kind,
        agent: event.agent.as_str(),
        session: event.session.as_ref().map(crate::domain::ids::SessionId::as_str),
        trace_id: event.trace_id.as_ref().map(TraceId::as_str),
        causation_id: event.causation,
        at_ms: event.at.ms(),
        idempotency_key: event.idempotency_key.as_ref().map(crate::domain::ids::IdempotencyKey::as_str),
        min_reader: event.min_reader,
        payload_hash: hex::encode(event.payload_hash),
        prev_hash: hex::encode(event.prev_hash),
        hash: hex::encode(event.hash),
        salt: event.payload.as_ref().map(|(_, salt)| hex::encode(salt)),
        payload,
    })
}
