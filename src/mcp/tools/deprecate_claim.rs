//! `deprecate_claim`: put a claim permanently out of force.

use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::command::{Command, DeprecateClaim};
use crate::domain::ids::ClaimId;
use crate::domain::text::Reason;
use crate::mcp::call::Call;
use crate::mcp::schema;
use crate::mcp::server::Server;

#[derive(Deserialize, JsonSchema)]
struct DeprecateClaimArguments {
    #[schemars(with = "String")]
    claim_id: ClaimId,
    #[schemars(with = "String")]
    reason: Reason,
}

#[tool_router(router = deprecate_claim_route, vis = "pub(super)")]
impl Server {
    #[tool(
        description = "Put your own claim out of force for good (the architect any); not a decision.",
        input_schema = schema::of::<DeprecateClaimArguments>(),
        annotations(destructive_hint = true, idempotent_hint = false)
    )]
    async fn deprecate_claim(&self, call: Call) -> CallToolResult {
        self.run(call, |given: DeprecateClaimArguments, _| {
            let DeprecateClaimArguments { claim_id, reason } = given;
            Ok(Command::DeprecateClaim(DeprecateClaim { claim_id, reason }))
        })
        .await
    }
}
