//! `promote_item`, `start_phase`: what is kept for more readers, and the parts of a space's time.

use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::command::{Command, PromoteItem, StartPhase};
use crate::domain::memory::{MemoryEvent, Space};
use crate::domain::text::{AnchorKey, Reason, Title};
use crate::mcp::call::Call;
use crate::mcp::schema;
use crate::mcp::server::Server;
use crate::views;

#[derive(Deserialize, JsonSchema)]
struct PromoteArguments {
    /// Its id in hivemind://memory, such as session:S9:short_term:3.
    item: String,
    /// user or project.
    #[schemars(with = "String")]
    to: Space,
    /// The key of the copy, 1-64 characters; an anchor keeps its own without one.
    #[schemars(with = "Option<String>")]
    key: Option<AnchorKey>,
    /// What it reports, such as decision; the operator's to say.
    #[schemars(with = "Option<String>")]
    event_type: Option<MemoryEvent>,
    /// Why, 1-2000 characters.
    #[schemars(with = "String")]
    reason: Reason,
}

#[derive(Deserialize, JsonSchema)]
struct PhaseArguments {
    /// project, session (yours) or user.
    #[schemars(with = "String")]
    space: Space,
    #[schemars(with = "String")]
    name: Title,
    /// Why, 1-2000 characters.
    #[schemars(with = "String")]
    reason: Reason,
}

#[tool_router(router = spaces_route, vis = "pub(super)")]
impl Server {
    #[tool(
        description = "Copy a message of your session or a fact of your user into a wider space, as an anchor; it is shown no more where it was.",
        input_schema = schema::of::<PromoteArguments>(),
        annotations(destructive_hint = false, idempotent_hint = true)
    )]
    async fn promote_item(&self, call: Call) -> CallToolResult {
        self.run(call, |given: PromoteArguments, _| {
            let PromoteArguments { item, to, key, event_type, reason } = given;
            let item = self.with_reads(|reads| views::memory_id(reads, &item))?;
            let user = self.user().cloned();
            Ok(Command::PromoteItem(PromoteItem { item, to, key, event_type, reason, user }))
        })
        .await
    }

    #[tool(
        description = "Begin a phase of a space: contexts show no older messages of the session; anchors and claims stay.",
        input_schema = schema::of::<PhaseArguments>(),
        annotations(destructive_hint = false)
    )]
    async fn start_phase(&self, call: Call) -> CallToolResult {
        self.run(call, |given: PhaseArguments, _| {
            let PhaseArguments { space, name, reason } = given;
            let user = self.user().cloned();
            Ok(Command::StartPhase(StartPhase { space, name, reason, user }))
        })
        .await
    }
}
