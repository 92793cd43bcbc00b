//! `attach_experiment`: link a finished run to a claim.

use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::command::{AttachExperiment, Command};
use crate::domain::ids::{ClaimId, RunId};
use crate::domain::text::Reason;
use crate::mcp::call::Call;
use crate::mcp::schema;
use crate::mcp::server::Server;

#[derive(Deserialize, JsonSchema)]
struct AttachExperimentArguments {
    #[schemars(with = "String")]
    run_id: RunId,
    #[schemars(with = "String")]
    claim_id: ClaimId,
    #[schemars(with = "Option<String>")]
    summary: Option<Reason>,
}

#[tool_router(router = attach_experiment_route, vis = "pub(super)")]
impl Server {
    #[tool(
        description = "Tie a finished run to a claim.",
        input_schema = schema::of::<AttachExperimentArguments>(),
        annotations(destructive_hint = false, idempotent_hint = true)
    )]
    async fn attach_experiment(&self, call: Call) -> CallToolResult {
        self.run(call, |given: AttachExperimentArguments, _| {
            let AttachExperimentArguments { run_id, claim_id, summary } = given;
            Ok(Command::AttachExperiment(AttachExperiment { run_id, claim_id, summary }))
        })
        .await
    }
}
