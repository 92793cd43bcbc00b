//! `hm writer`: the process that appends to the ledger.

use clap::Args;

use std::path::PathBuf;

use super::output::Failure;
use super::{Context, Global};
use crate::system::Environment;
use crate::workspace::Workspace;
use crate::writer::{self, CrashPoint, ServeOptions, WriterError};

#[derive(Debug, Args)]
pub(super) struct Writer {
    /// Memory to serve, as the front found it
    #[arg(long, hide = true, value_name = "DIR", requires = "dir")]
    memory: Option<PathBuf>,
    /// Leave the caller's session
    #[arg(long, hide = true)]
    detached: bool,
    /// Abort at this point of the write path, to test recovery
    #[arg(long, hide = true, value_name = "POINT")]
    crash_at: Option<CrashPoint>,
}

impl Writer {
    pub(super) fn run(&self, global: Global) -> Result<(), Failure> {
        let context = match (&global.dir, &self.memory) {
            (Some(root), Some(memory)) => {
                let environment = Environment::read();
                let workspace = Workspace::served(root, memory, &environment).map_err(Failure::usage)?;
                let here = root.clone();
                Context::of(workspace, environment, global, &here)?
            }
            _ => Context::find(global)?,
        };
        #[cfg(unix)]
        if self.detached {
            // Fails only for a group leader, and a child of a front is none. A failure does no harm.
            let _ = rustix::process::setsid();
        }
        let options =
            ServeOptions { state_home: context.environment.state_home.clone(), crash_at: self.crash_at };
        match writer::serve(&context.workspace, &context.config, options) {
            // Another writer serves the workspace. The front that started this one needs no more.
            Err(WriterError::Locked) if self.detached => Ok(()),
            other => other.map_err(Failure::internal),
        }
    }
}
