//! The place of helper, tree and spawn on a system where no run can be started: their callers need no `cfg`.
//!
//! [`Profile::plan`](super::profile::Profile::plan) refuses before any of this is called.

use std::io;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::order::{Message, Order};

/// A helper that never starts.
#[derive(Debug)]
pub struct Helper(std::convert::Infallible);

impl Helper {
    /// No helper, and why.
    ///
    /// # Errors
    /// Always.
    pub async fn start(_: &Path, _: &Order) -> io::Result<Self> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "experiments run on Linux and macOS only"))
    }

    /// Never called.
    pub async fn next(&mut self) -> Option<Message> {
        match self.0 {}
    }

    /// Never called.
    pub const fn cancel(&mut self) {
        match self.0 {}
    }
}

/// Nothing: there are no orphans of runs.
///
/// # Errors
/// None.
pub const fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

/// Nothing: no run left a process.
pub const fn end_marked(_: Uuid) -> u32 {
    0
}

/// The file of a program, as this system finds it.
pub(super) fn find(program: &str, cwd: &Path, path: Option<&str>) -> Result<PathBuf, which::Error> {
    which::which_in(program, path, cwd)
}
