//! `cancel_experiment`: stop a run, or remove it from the queue.

use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::command::{CancelExperiment, Command};
use crate::domain::ids::RunId;
use crate::mcp::call::Call;
use crate::mcp::schema;
use crate::mcp::server::Server;

#[derive(Deserialize, JsonSchema)]
struct CancelExperimentArguments {
    #[schemars(with = "String")]
    run_id: RunId,
}

#[tool_router(router = cancel_experiment_route, vis = "pub(super)")]
impl Server {
    #[tool(
        description = "Stop your run, or take it out of the queue.",
        input_schema = schema::of::<CancelExperimentArguments>(),
        annotations(destructive_hint = true, idempotent_hint = true)
    )]
    async fn cancel_experiment(&self, call: Call) -> CallToolResult {
        self.run(call, |given: CancelExperimentArguments, _| {
            Ok(Command::CancelExperiment(CancelExperiment { run_id: given.run_id }))
        })
        .await
    }
}
