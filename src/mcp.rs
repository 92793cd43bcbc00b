//! The MCP face: write-only tools, resources to read, prompts, subscriptions in both protocol eras.

mod call;
mod client;
mod completions;
mod contained;
mod following;
mod heads;
mod http;
mod names;
mod prompts;
mod resources;
mod schema;
mod seat;
mod server;
mod stdio;
mod subscriptions;
mod tools;
mod uri;

pub use client::{Era, Pane, PaneError, ToolAnswer};
pub use http::{HttpError, HttpFront, HttpOptions};
pub use server::Server;
pub use stdio::{ServerError, serve_stdio};
pub use tools::{BadToolset, Toolset, Toolsets};

/// How much of its own the protocol library may log: it warns of every request that is answered with an
/// error, which is no news, and below a warning it quotes whole messages, also those that are refused for
/// holding a secret.
pub const QUIET_LOG: &str = "rmcp=error";
