//! The ledger: append, read, verify. Nothing above this module knows that SQLite is below it.

mod backup;
mod chain;
mod checkpoint;
mod erase;
mod export;
mod import;
mod migrate;
mod sqlite;
mod verify;

pub(crate) use backup::copy;
pub use checkpoint::{Checkpoint, Key, Origin, Sealed, Tree};
pub(crate) use erase::rewrite;
pub use export::{ExportTrailer, export_line};
pub use import::{ImportError, Imported};
#[cfg(test)]
pub(crate) use migrate::known;
pub(crate) use migrate::{Unmigrated, migrate, migrated, written_by};
pub(crate) use sqlite::{
    AUTOCHECKPOINT_PAGES, Unopened, checkpoint, harden, has_log, is_damage, leave_moved, open_readonly,
    refuse_links, truncate_log,
};
pub use sqlite::{Ledger, Reader};
pub use verify::{Fault, Report};

use crate::domain::agent::AgentId;
use crate::domain::event::{Event, Recorded, Undecodable};
use crate::domain::ids::{CommandId, EventId, IdempotencyKey, SessionId};
use crate::domain::time::Timestamp;

/// The most one command may append, in bytes of payload: it bounds the time one command holds the others up.
pub const MAX_BATCH_BYTES: usize = 256 * 1024;
/// The most one event may carry, in bytes of payload: sixteen statements of the longest kind. Larger ones are refused.
pub const MAX_PAYLOAD_BYTES: usize = 32 * 1024;

/// What helps where a file of the memory cannot be read.
pub(crate) const CURE: &str = "mend its permissions, or run hm as the user it belongs to";

/// A SHA-256 or HMAC-SHA-256 value.
pub type Hash = [u8; 32];

/// A place in the ledger. With the hash, a reader notices that it stands on another branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// The last event seen; 0 before the first.
    pub seq: u64,
    /// That event's hash; 32 zero bytes before the first.
    pub hash: Hash,
}

impl Cursor {
    /// Before the first event.
    pub const GENESIS: Self = Self { seq: 0, hash: [0; 32] };
}

/// An event about to be appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// Fresh.
    pub id: EventId,
    /// `concept.past_tense`.
    pub kind: &'static str,
    /// Vocabulary needed to read it.
    pub min_reader: u32,
    /// RFC 8785 JSON.
    pub payload: String,
    /// From the entropy source; erased together with the payload.
    pub salt: [u8; 32],
}

/// The events of one command: all of them or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The command.
    pub command_id: CommandId,
    /// Who asked.
    pub agent: AgentId,
    /// In which session.
    pub session: Option<SessionId>,
    /// Trace of the call.
    pub trace_id: Option<String>,
    /// Stored on the first event.
    pub idempotency_key: Option<IdempotencyKey>,
    /// When the writer took the command.
    pub at: Timestamp,
    /// At least one.
    pub events: Vec<NewEvent>,
}

/// An event as the ledger holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Place in the total order.
    pub seq: u64,
    /// Its id.
    pub id: EventId,
    /// `concept.past_tense`.
    pub kind: String,
    /// Whose command caused it.
    pub agent: AgentId,
    /// In which session.
    pub session: Option<SessionId>,
    /// Trace of the call.
    pub trace_id: Option<String>,
    /// The command that caused it.
    pub causation: CommandId,
    /// When the writer took the command.
    pub at: Timestamp,
    /// On the first event of a batch.
    pub idempotency_key: Option<IdempotencyKey>,
    /// Vocabulary needed to read it.
    pub min_reader: u32,
    /// HMAC of the payload under the salt.
    pub payload_hash: Hash,
    /// The hash of the event before.
    pub prev_hash: Hash,
    /// This event's hash.
    pub hash: Hash,
    /// Payload and salt; `None` once erased.
    pub payload: Option<(String, Vec<u8>)>,
}

impl Stored {
    /// This event's place.
    pub const fn cursor(&self) -> Cursor {
        Cursor { seq: self.seq, hash: self.hash }
    }

    /// The event as the rules see it.
    ///
    /// # Errors
    /// [`Undecodable`] when this binary is too old for it.
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

/// Which events to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only events after this seq.
    pub after: u64,
    /// Only events up to this seq.
    pub until: Option<u64>,
    /// Only this type.
    pub kind: Option<String>,
    /// Only of this agent.
    pub agent: Option<AgentId>,
    /// At most so many.
    pub limit: usize,
    /// The newest of them instead of the oldest; the answer is in ledger order all the same.
    pub newest: bool,
}

/// Why an append failed. Callers must act differently on each.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// Somebody else appended: fold forward and decide again. Nothing was written.
    #[error("the ledger stands at {actual}, not at {expected}")]
    Conflict {
        /// Where the caller thought it stands.
        expected: u64,
        /// Where it stands.
        actual: u64,
    },
    /// The ledger is not the one the caller folded. Stop.
    #[error("the ledger has another history at {seq}: stop and run `hm verify`")]
    Diverged {
        /// Where the histories part.
        seq: u64,
    },
    /// It may or may not be written: retry with the same command ids, never with new ones.
    #[error("the disk did not confirm the write: {0}")]
    Unknown(#[source] Failure),
    /// Nothing was written.
    #[error("the ledger cannot be written: {0}")]
    Unavailable(#[source] Failure),
    /// Over [`MAX_PAYLOAD_BYTES`] or [`MAX_BATCH_BYTES`]. Nothing was written.
    #[error("the command carries {bytes} bytes, more than one may hold")]
    TooLarge {
        /// What it carries.
        bytes: usize,
    },
}

/// What the storage below said.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Failure(#[from] pub(crate) sqlite::Error);

/// Why the ledger could not be opened or read.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The file cannot be opened.
    #[error("cannot open the ledger {path}: {source}")]
    Open {
        /// Which file.
        path: String,
        /// What the storage said.
        source: Failure,
    },
    /// Its write-ahead log cannot be made durable.
    #[error("cannot write {path}: {source}")]
    Log {
        /// Which file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// Made by a newer version.
    #[error(
        "the ledger {path} was written by a newer version of hm: update hm to go on, nothing is lost ({by})"
    )]
    Newer {
        /// Which file.
        path: String,
        /// Which version that was.
        by: String,
    },
    /// The memory that was read is not at its path any more.
    #[error(
        "the memory {path} is gone, or another one lies there: start the client anew where the project lies now"
    )]
    Gone {
        /// Where it lay.
        path: String,
    },
    /// It may be there, and the system does not let this process look.
    #[error("cannot read {path}: {source}: what it holds is not known; {CURE}")]
    Unreadable {
        /// Which file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// SQLite is older than the fix for a bug that could lose data.
    #[error("this build carries SQLite {found}, older than {needed}: rebuild hm with its bundled SQLite")]
    OldEngine {
        /// What is linked.
        found: String,
        /// What is needed.
        needed: &'static str,
    },
    /// Pages of the file are not what SQLite wrote.
    #[error(
        "the file ledger.sqlite is damaged ({0}): keep the file, and restore a copy made by \
         `hm backup` or `hm export`; nothing repairs a ledger"
    )]
    Corrupt(#[source] Failure),
    /// A read failed.
    #[error("cannot read the ledger: {0}")]
    Read(#[source] Failure),
    /// The copy cannot be written.
    #[error("cannot copy to {path}: {source}")]
    Copy {
        /// The copy.
        path: String,
        /// What the storage said.
        source: Failure,
    },
    /// The copy's file cannot be made.
    #[error("cannot make {path}: {source}")]
    Create {
        /// The copy.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The copy is no sound database.
    #[error("the copy {path} is damaged: {problem}")]
    Damaged {
        /// The copy.
        path: String,
        /// The first thing found.
        problem: String,
    },
    /// A row that no version of hm wrote.
    #[error("ledger event {seq} is malformed ({problem}): run `hm verify`")]
    Malformed {
        /// Which event.
        seq: u64,
        /// What is wrong.
        problem: String,
    },
    /// The reader stands on a branch this ledger does not have.
    #[error("the ledger has another history at {seq}: run `hm verify`, then `hm rebuild`")]
    Diverged {
        /// Where the histories part.
        seq: u64,
    },
}
