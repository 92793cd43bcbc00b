//! `still`: confirm that a claim still holds for its files as they are now.

use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::command::{AffirmClaim, Command};
use crate::domain::ids::ClaimId;
use crate::domain::text::Reason;
use crate::mcp::call::Call;
use crate::mcp::schema;
use crate::mcp::server::Server;

#[derive(Deserialize, JsonSchema)]
struct StillArguments {
    #[schemars(with = "String")]
    claim_id: ClaimId,
    /// Why, 1-2000 characters.
    #[schemars(with = "Option<String>")]
    reason: Option<Reason>,
}

#[tool_router(router = still_route, vis = "pub(super)")]
impl Server {
    #[tool(
        description = "Say that a claim you own or challenge is still meant, about its files as they are now.",
        input_schema = schema::of::<StillArguments>(),
        annotations(destructive_hint = false, idempotent_hint = true)
    )]
    async fn still(&self, call: Call) -> CallToolResult {
        self.run(call, |given: StillArguments, _| {
            let StillArguments { claim_id, reason } = given;
            Ok(Command::AffirmClaim(AffirmClaim { claim_id, reason }))
        })
        .await
    }
}
