//! The writer: the one process per workspace that appends to the ledger, and the fronts' client for it.

mod background;
mod checkpoint;
mod client;
mod commit;
mod experiments;
mod ground;
mod server;
mod spool;
mod wire;

pub use client::{Front, Watch};
pub use commit::{Committer, CrashPoint, WriterError};
pub use experiments::{outcome_of, stream_facts};
pub use server::{ServeOptions, serve};
pub use spool::{Spool, SpoolError};
