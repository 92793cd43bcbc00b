//! The MCP front: tools that write, resources that read, prompts, and subscriptions, in both versions of the
//! protocol.

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
mod skills;
mod stdio;
mod subscriptions;
mod tools;
mod uri;

pub use client::{Era, Pane, PaneError, ToolAnswer};
pub(crate) use heads::Heads;
pub(crate) use http::{Browser, Gate, Hosts, HttpRefusal, Limited, Places, Seat, while_it_lasts};
pub use http::{HttpError, HttpFront, HttpOptions};
pub use server::Server;
pub use stdio::{ServerError, serve_stdio};
pub use tools::{BadToolset, Toolset, Toolsets, requests};

/// The log level of the protocol library. At `warn` it logs every request that gets an error as its answer, which
/// is normal operation. Below `warn` it quotes whole messages, including messages refused because they hold a
/// secret.
pub const QUIET_LOG: &str = "rmcp=error";
