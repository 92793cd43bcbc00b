//! `read_memory`: the one tool that reads, for clients whose models call tools but cannot read resources.

use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::mcp::call::Call;
use crate::mcp::schema;
use crate::mcp::server::Server;

/// Names of clients without a resource tool, in lower case: Copilot CLI 1.0.102 (releases before 2026 use the
/// longer name) and Cline CLI 3.0.65, which sends the name of its core to servers.
const CLIENTS: [&str; 4] = ["copilot-cli", "github-copilot-developer", "cline", "@cline/core"];

/// Whether a client of this name needs the tool.
pub(in crate::mcp) fn is_needed(client: &str) -> bool {
    CLIENTS.contains(&client.trim().to_lowercase().as_str())
}

#[derive(Deserialize, JsonSchema)]
pub(in crate::mcp) struct ReadMemoryArguments {
    /// Such as hivemind://context, hivemind://negative?scope=src/db or hivemind://claims/ID.
    pub(in crate::mcp) uri: String,
}

#[tool_router(router = read_memory_route, vis = "pub(super)")]
impl Server {
    #[tool(
        description = "Read what a hivemind:// address shows. Call it wherever a text says to read one.",
        input_schema = schema::bare::<ReadMemoryArguments>(),
        annotations(read_only_hint = true, destructive_hint = false, idempotent_hint = true, open_world_hint = false)
    )]
    async fn read_memory(&self, call: Call) -> CallToolResult {
        self.read_for(call).await
    }
}
