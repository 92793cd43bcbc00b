//! The MCP face: write-only tools, resources to read, prompts, subscriptions in both protocol eras.

mod call;
mod client;
mod http;
mod prompts;
mod resources;
mod schema;
mod server;
mod stdio;
mod subscriptions;
mod tools;
mod uri;

pub use client::{Era, Pane, PaneError, ToolAnswer};
pub use http::{HttpError, HttpFront};
pub use server::Server;
pub use stdio::{ServerError, serve_stdio};

/// The protocol library warns of every request that is answered with an error; that is no news to us.
pub const QUIET_LOG: &str = "rmcp=error";
