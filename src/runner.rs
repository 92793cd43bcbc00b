//! Experiments: a named command, run as a child process of its own, and what it leaves as proof.
//!
//! Nothing here knows ledger, writer or MCP; they use it in three steps.
//!
//! 1. [`profile::Catalog`] holds the profiles; [`profile::Profile::plan`] turns a request into a [`Plan`],
//!    or refuses it. The plan stands in the event that queues the run.
//! 2. [`helper::Helper`] starts `hm runner`, hands it an [`Order`], and answers with [`helper::Message`]s:
//!    progress, then a [`report::Report`]. Dropping the helper, or losing it, cancels the run.
//! 3. The report says what stands in the artifacts, with the hash of `meta.json` for the event that ends the
//!    run. [`artifacts::verify`] holds the files against it later, [`tree::end_marked`] ends what a crash left.

pub mod artifacts;
pub mod capture;
mod clean;
#[cfg(unix)]
pub mod helper;
pub mod profile;
pub mod provenance;
mod redact;
pub mod report;
pub mod result;
#[cfg(unix)]
pub mod run;
#[cfg(unix)]
mod spawn;
#[cfg(unix)]
pub mod tree;

pub use clean::cleaned;
pub use profile::Plan;
#[cfg(unix)]
pub use run::Order;
