//! `claim_task`, `update_task`: take a task and report its progress.

use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::command::{ClaimTask, Command, UpdateTask};
use crate::domain::ids::TaskId;
use crate::domain::plan::TaskStatus;
use crate::domain::text::Reason;
use crate::mcp::call::Call;
use crate::mcp::schema;
use crate::mcp::server::Server;

#[derive(Deserialize, JsonSchema)]
struct ClaimTaskArguments {
    #[schemars(with = "String")]
    task_id: TaskId,
    /// 1-1440, default 15; writing renews it.
    #[schemars(with = "Option<i32>")]
    lease_minutes: Option<u32>,
    /// Scopes others leave alone.
    #[serde(default)]
    file_locks: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
struct UpdateTaskArguments {
    #[schemars(with = "String")]
    task_id: TaskId,
    /// open gives it back.
    #[schemars(schema_with = "schema::task_status")]
    status: TaskStatus,
    /// Required for blocked and invalidated.
    #[schemars(with = "Option<String>")]
    note: Option<Reason>,
    /// From claim_task's receipt.
    #[schemars(with = "Option<i64>")]
    fencing_token: Option<u64>,
}

#[tool_router(router = tasks_route, vis = "pub(super)")]
impl Server {
    #[tool(
        description = "Take a task before you work on it.",
        input_schema = schema::of::<ClaimTaskArguments>(),
        annotations(destructive_hint = false, idempotent_hint = true)
    )]
    async fn claim_task(&self, call: Call) -> CallToolResult {
        self.run(call, |given: ClaimTaskArguments, _| {
            let ClaimTaskArguments { task_id, lease_minutes, file_locks } = given;
            let file_locks = self.scopes("file_locks", &file_locks)?;
            Ok(Command::ClaimTask(ClaimTask { task_id, lease_minutes, file_locks }))
        })
        .await
    }

    #[tool(
        description = "Say how a task goes, or end it.",
        input_schema = schema::of::<UpdateTaskArguments>(),
        annotations(destructive_hint = false, idempotent_hint = true)
    )]
    async fn update_task(&self, call: Call) -> CallToolResult {
        self.run(call, |given: UpdateTaskArguments, _| {
            let UpdateTaskArguments { task_id, status, note, fencing_token } = given;
            Ok(Command::UpdateTask(UpdateTask { task_id, status, note, fencing_token }))
        })
        .await
    }
}
