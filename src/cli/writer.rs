//! `hm writer`: the process that appends.

use clap::Args;

use std::path::PathBuf;

use super::output::Failure;
use super::{Context, Global};
use crate::system::Environment;
use crate::workspace::Workspace;
use crate::writer::{self, CrashPoint, ServeOptions, WriterError};

/// Be the one process that writes.
#[derive(Debug, Args)]
pub(super) struct Writer {
    /// The memory to serve, as a front found it
    #[arg(long, hide = true, value_name = "DIR", requires = "dir")]
    memory: Option<PathBuf>,
    /// Leave the caller's session, as a front starts it
    #[arg(long, hide = true)]
    detached: bool,
    /// Abort at a named place of the write path, to test recovery
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
            // Fails only for a group leader, which a child of a front is not; then nothing is lost.
            let _ = rustix::process::setsid();
        }
        let options =
            ServeOptions { state_home: context.environment.state_home.clone(), crash_at: self.crash_at };
        match writer::serve(&context.workspace, &context.config, options) {
            // The other one serves; for the front that started this one, that is as good.
            Err(WriterError::Locked) if self.detached => Ok(()),
            other => other.map_err(Failure::internal),
        }
    }
}
