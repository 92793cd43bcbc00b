//! `accept_playbook`, `dismiss_playbook`: settle a proposal of the miners.

use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::command::{AcceptPlaybook, Command, DismissPlaybook};
use crate::domain::ids::PlaybookId;
use crate::domain::text::Reason;
use crate::mcp::call::Call;
use crate::mcp::schema;
use crate::mcp::server::Server;

#[derive(Deserialize, JsonSchema)]
struct AcceptPlaybookArguments {
    #[schemars(with = "String")]
    playbook_id: PlaybookId,
}

#[derive(Deserialize, JsonSchema)]
struct DismissPlaybookArguments {
    #[schemars(with = "String")]
    playbook_id: PlaybookId,
    /// Why, 1-2000 characters.
    #[schemars(with = "String")]
    reason: Reason,
}

#[tool_router(router = playbooks_route, vis = "pub(super)")]
impl Server {
    #[tool(
        description = "Accept a playbook that was mined from the team's work: like tasks are shown its steps.",
        input_schema = schema::of::<AcceptPlaybookArguments>(),
        annotations(destructive_hint = false, idempotent_hint = true)
    )]
    async fn accept_playbook(&self, call: Call) -> CallToolResult {
        self.run(call, |given: AcceptPlaybookArguments, _| {
            Ok(Command::AcceptPlaybook(AcceptPlaybook { playbook_id: given.playbook_id }))
        })
        .await
    }

    #[tool(
        description = "Dismiss a playbook, proposed or accepted: it is not proposed again.",
        input_schema = schema::of::<DismissPlaybookArguments>(),
        annotations(destructive_hint = false, idempotent_hint = true)
    )]
    async fn dismiss_playbook(&self, call: Call) -> CallToolResult {
        self.run(call, |given: DismissPlaybookArguments, _| {
            let DismissPlaybookArguments { playbook_id, reason } = given;
            Ok(Command::DismissPlaybook(DismissPlaybook { playbook_id, reason }))
        })
        .await
    }
}
