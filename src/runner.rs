//! Experiments: a run executes a named command as a child process of its own and stores proof of what it did.
//!
//! This module does not know ledger, writer or MCP. They use it in three steps.
//!
//! 1. [`profile::Catalog`] holds the profiles. [`profile::Profile::plan`] turns a request into a [`Plan`], or
//!    refuses it. The event that queues the run holds the plan.
//! 2. [`helper::Helper`] starts `hm runner`, sends it an [`Order`], and receives [`order::Message`]s: progress,
//!    then a [`report::Report`]. Dropping or losing the helper cancels the run.
//! 3. The report describes the artifacts. The event that ends the run holds the hash of `meta.json`.
//!    [`artifacts::verify`] compares the files with it later; [`tree::end_marked`] ends processes that a
//!    crash left.

pub mod artifacts;
pub mod capture;
mod clean;
#[cfg(unix)]
mod disturbed;
#[cfg(unix)]
mod failed_in;
#[cfg(unix)]
pub mod helper;
#[cfg(not(unix))]
#[path = "runner/absent.rs"]
pub mod helper;
pub mod order;
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
#[cfg(not(unix))]
use helper as spawn;
#[cfg(not(unix))]
pub use helper as tree;
pub use order::Order;
pub use profile::Plan;
