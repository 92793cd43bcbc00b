//! `hm serve`: MCP for one pane.

use clap::Args;

use super::output::Failure;
use super::{Context, block_on};
use crate::mcp::{self, Server};
use crate::reads::Reads;

/// Serve MCP over stdio.
#[derive(Debug, Args)]
pub(super) struct Serve {}

impl Serve {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        let server = Server::new(
            context.caller()?,
            context.config.clone(),
            context.front()?,
            Reads::of(context.workspace.clone()),
        );
        block_on(async { mcp::serve_stdio(server).await.map_err(Failure::internal) })
    }
}
