//! `record_outcome`: record the result of a decision.

use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::claim::Outcome;
use crate::domain::command::{Command, RecordOutcome};
use crate::domain::ids::ClaimId;
use crate::domain::text::Reason;
use crate::mcp::call::Call;
use crate::mcp::schema;
use crate::mcp::server::Server;

#[derive(Deserialize, JsonSchema)]
struct RecordOutcomeArguments {
    #[schemars(with = "String")]
    decision_id: ClaimId,
    #[schemars(schema_with = "schema::outcome")]
    outcome: Outcome,
    #[schemars(with = "Option<String>")]
    notes: Option<Reason>,
}

#[tool_router(router = record_outcome_route, vis = "pub(super)")]
impl Server {
    #[tool(
        description = "Record what became of a decision.",
        input_schema = schema::of::<RecordOutcomeArguments>(),
        annotations(destructive_hint = false)
    )]
    async fn record_outcome(&self, call: Call) -> CallToolResult {
        self.run(call, |given: RecordOutcomeArguments, _| {
            let RecordOutcomeArguments { decision_id, outcome, notes } = given;
            Ok(Command::RecordOutcome(RecordOutcome { decision_id, outcome, notes }))
        })
        .await
    }
}
