//! The ledger: append, read, verify. Its callers do not know that the storage is SQLite.

mod append;
mod chain;
mod checkpoint;
mod erase;
mod export;
mod file;
mod import;
mod reader;
mod verify;

pub use append::Ledger;
pub(crate) use append::leave_moved;
pub use checkpoint::{Checkpoint, Key, Origin, Sealed, Tree};
pub use export::{ExportTrailer, export_line};
pub use file::File;
pub use import::{Against, ImportError, Imported};
pub use reader::Reader;
pub use verify::{Fault, Report};

use crate::domain::agent::AgentId;
use crate::domain::event::{Event, Recorded, Undecodable};
use crate::domain::ids::{CommandId, EventId, IdempotencyKey, SessionId, TraceId};
use crate::domain::time::Timestamp;
use crate::sqlite::{self, CURE};
pub use crate::sqlite::{Failure, Uncopied};

/// Maximum total of the payloads of one command, in bytes. It bounds how long one command delays the others.
pub const MAX_BATCH_BYTES: usize = 256 * 1024;
/// Maximum payload of one event, in bytes: sixteen statements of the longest kind. The ledger refuses a larger one.
pub const MAX_PAYLOAD_BYTES: usize = 32 * 1024;

/// A SHA-256 or HMAC-SHA-256 value.
pub type Hash = [u8; 32];

/// A position in the ledger. The hash lets a reader notice that the ledger now has another history there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// Sequence number of the last event seen; 0 before the first.
    pub seq: u64,
    /// Hash of that event; 32 zero bytes before the first.
    pub hash: Hash,
}

impl Cursor {
    /// The position before the first event.
    pub const GENESIS: Self = Self { seq: 0, hash: [0; 32] };
}

/// An event about to be appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// A new time-ordered UUID.
    pub id: EventId,
    /// Type of the event, written `concept.past_tense`.
    pub kind: &'static str,
    /// Lowest version of the vocabulary that can read the event.
    pub min_reader: u32,
    /// Canonical JSON (RFC 8785).
    pub payload: String,
    /// Random bytes. An erasure deletes them together with the payload.
    pub salt: [u8; 32],
}

/// The events of one command. The ledger appends all of them or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The command that causes the events.
    pub command_id: CommandId,
    /// The agent that sent the command.
    pub agent: AgentId,
    /// The session that sent the command; `None` outside a session.
    pub session: Option<SessionId>,
    /// Id of the trace that the call belongs to; `None` without tracing.
    pub trace_id: Option<TraceId>,
    /// The ledger stores it on the first event only.
    pub idempotency_key: Option<IdempotencyKey>,
    /// Time at which the writer took the command.
    pub at: Timestamp,
    /// In the order of their sequence numbers; at least one.
    pub events: Vec<NewEvent>,
}

/// An event as the ledger stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Sequence number: the place in the total order, from 1.
    pub seq: u64,
    /// A time-ordered UUID, unique in the ledger.
    pub id: EventId,
    /// Type of the event, written `concept.past_tense`.
    pub kind: String,
    /// The agent whose command caused the event.
    pub agent: AgentId,
    /// The session that sent the command; `None` outside a session.
    pub session: Option<SessionId>,
    /// Id of the trace that the call belongs to; `None` without tracing.
    pub trace_id: Option<TraceId>,
    /// The command that caused the event.
    pub causation: CommandId,
    /// Time at which the writer took the command.
    pub at: Timestamp,
    /// Present on the first event of a batch only.
    pub idempotency_key: Option<IdempotencyKey>,
    /// Lowest version of the vocabulary that can read the event.
    pub min_reader: u32,
    /// HMAC of the payload under the salt.
    pub payload_hash: Hash,
    /// The hash of the previous event.
    pub prev_hash: Hash,
    /// The hash of this event: it covers the previous hash and every column.
    pub hash: Hash,
    /// Payload and salt; `None` after an erasure, and for a reader who may not see them.
    pub payload: Option<(String, Vec<u8>)>,
    /// Whether the payload is there, and only another person reads it.
    pub is_withheld: bool,
}

impl Stored {
    /// The position of this event.
    pub const fn cursor(&self) -> Cursor {
        Cursor { seq: self.seq, hash: self.hash }
    }

    /// The event in the form that the rules take.
    ///
    /// # Errors
    /// [`Undecodable`] when this binary is too old for the event.
    pub fn recorded(&self) -> Result<Recorded, Undecodable> {
        if self.min_reader > crate::domain::event::READER {
            return Err(Undecodable::UnknownKind(self.kind.clone()));
        }
        let body =
            self.payload.as_ref().map(|(payload, _)| Event::decode(&self.kind, payload)).transpose()?;
        Ok(Recorded {
            seq: self.seq,
            id: self.id,
            agent: self.agent.clone(),
            session: self.session.clone(),
            causation: self.causation,
            at: self.at,
            erased: body.is_none().then(|| self.kind.clone()),
            event: body,
        })
    }
}

/// Which events [`Reader::list`] returns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only events after this sequence number.
    pub after: u64,
    /// Only events up to and including this sequence number.
    pub until: Option<u64>,
    /// Only events of this type.
    pub kind: Option<String>,
    /// Only events that this agent caused.
    pub agent: Option<AgentId>,
    /// Only events of this session.
    pub session: Option<String>,
    /// Maximum number of events.
    pub limit: usize,
    /// Takes the newest events instead of the oldest. The answer is in ledger order in both cases.
    pub newest: bool,
}

/// The place of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The session that sent the command; `None` outside a session.
    pub session: Option<String>,
    /// Sequence number.
    pub seq: u64,
    /// Whether it still has its payload.
    pub is_kept: bool,
}

/// Why an append failed. The caller reacts differently to each.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// Another process appended first. Nothing was written: fold the new events and decide again.
    #[error("the ledger stands at {actual}, not at {expected}")]
    Conflict {
        /// Last sequence number that the caller expected.
        expected: u64,
        /// Last sequence number of the ledger.
        actual: u64,
    },
    /// The ledger is not the one the caller folded. The caller must stop.
    #[error("the ledger has another history at {seq}: stop and run `hm verify`")]
    Diverged {
        /// Sequence number where the histories differ.
        seq: u64,
    },
    /// The disk may or may not hold the events: retry with the same command ids, never with new ones.
    #[error("the disk did not confirm the write: {0}")]
    Unknown(#[source] Failure),
    /// Nothing was written.
    #[error("the ledger cannot be written: {0}")]
    Unavailable(#[source] Failure),
    /// The command exceeds [`MAX_PAYLOAD_BYTES`] or [`MAX_BATCH_BYTES`]. Nothing was written.
    #[error("the command carries {bytes} bytes, more than one may hold")]
    TooLarge {
        /// Total of the command's payloads.
        bytes: usize,
    },
}

/// Why the ledger could not be opened or read.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// SQLite cannot open the file.
    #[error("cannot open the ledger {path}: {source}")]
    Open {
        /// Path of the ledger.
        path: String,
        /// The error of the storage.
        source: Failure,
    },
    /// The write-ahead log cannot be made durable.
    #[error("cannot write {path}: {source}")]
    Log {
        /// Path of the log.
        path: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A newer version of hm wrote the file.
    #[error(
        "the ledger {path} was written by a newer version of hm: update hm to go on, nothing is lost ({by})"
    )]
    Newer {
        /// Path of the file.
        path: String,
        /// The newer version and this one, as a clause for people.
        by: String,
    },
    /// The memory that this process read is no longer at its path.
    #[error(
        "the memory {path} is gone, or another one lies there: start the client anew where the project lies now"
    )]
    Gone {
        /// The path where it was.
        path: String,
    },
    /// The operating system does not let this process look: the file may or may not be there.
    #[error("cannot read {path}: {source}: what it holds is not known; {CURE}")]
    Unreadable {
        /// Path of the file.
        path: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// SQLite is older than the fix for a bug that can lose data.
    #[error("this build carries SQLite {found}, older than {needed}: rebuild hm with its bundled SQLite")]
    OldEngine {
        /// Version of SQLite in this binary.
        found: String,
        /// Lowest version that has the fix.
        needed: &'static str,
    },
    /// The file holds pages that SQLite did not write.
    #[error(
        "the file ledger.sqlite is damaged ({0}): keep the file, and restore a copy made by \
         `hm backup` or `hm export`; nothing repairs a ledger"
    )]
    Corrupt(#[source] Failure),
    /// Reading a sound file failed.
    #[error("cannot read the ledger: {0}")]
    Read(#[source] Failure),
    /// The copy cannot be made.
    #[error(transparent)]
    Copy(#[from] Uncopied),
    /// A row is there that no version of hm writes.
    #[error("ledger event {seq} is malformed ({problem}): run `hm verify`")]
    Malformed {
        /// Sequence number of the row.
        seq: u64,
        /// The column that does not parse, and why.
        problem: String,
    },
    /// The reader's position belongs to a history that this ledger does not have.
    #[error("the ledger has another history at {seq}: run `hm verify`, then `hm rebuild`")]
    Diverged {
        /// Sequence number where the histories differ.
        seq: u64,
    },
}

impl LedgerError {
    /// An error of SQLite while it opens a ledger.
    fn opening(path: &std::path::Path, source: sqlite::Error) -> Self {
        if sqlite::is_damage(&source) {
            return Self::Corrupt(Failure(source));
        }
        Self::Open { path: path.display().to_string(), source: Failure(source) }
    }
}

impl From<sqlite::Error> for LedgerError {
    /// An error of SQLite while it reads an open ledger.
    fn from(source: sqlite::Error) -> Self {
        if sqlite::is_damage(&source) { Self::Corrupt(Failure(source)) } else { Self::Read(Failure(source)) }
    }
}
