//! `hm serve`: MCP for one pane.

use clap::Args;

use super::Context;
use super::output::Failure;

/// Serve MCP over stdio.
#[derive(Debug, Args)]
pub(super) struct Serve {}

impl Serve {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        let _ = context;
        Err(Failure::internal("not yet"))
    }
}
