//! `declare_intent`, `add_task`, `claim_task`, `update_task`: what is wanted, and who does it.

use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::command::{AddTask, ClaimTask, Command, DeclareIntent, UpdateTask};
use crate::domain::ids::{PhaseId, PlanId, TaskId};
use crate::domain::plan::{TaskStatus, Trajectory};
use crate::domain::text::{Intent, Reason, Title};
use crate::mcp::call::Call;
use crate::mcp::schema;
use crate::mcp::server::Server;

#[derive(Deserialize, JsonSchema)]
struct IntentArguments {
    #[schemars(with = "String")]
    intent: Intent,
    #[schemars(with = "Option<String>")]
    plan_id: Option<PlanId>,
    #[schemars(with = "Option<String>")]
    phase_id: Option<PhaseId>,
    #[schemars(with = "Vec<String>")]
    #[serde(default)]
    task_ids: Vec<TaskId>,
}

#[derive(Deserialize, JsonSchema)]
struct AddTaskArguments {
    #[schemars(with = "String")]
    title: Title,
    #[schemars(with = "Option<String>")]
    phase_id: Option<PhaseId>,
    #[schemars(with = "Option<String>")]
    parent_task_id: Option<TaskId>,
    /// Tasks to be done before.
    #[schemars(with = "Vec<String>")]
    #[serde(default)]
    depends_on: Vec<TaskId>,
    #[serde(default)]
    scopes: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
struct ClaimTaskArguments {
    #[schemars(with = "String")]
    task_id: TaskId,
    /// 1-1440, default 15; any write of yours renews it.
    #[schemars(with = "Option<i32>")]
    lease_minutes: Option<u32>,
    /// Paths or globs others should leave alone.
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
    /// From the receipt of claim_task.
    #[schemars(with = "Option<i64>")]
    fencing_token: Option<u64>,
}

#[tool_router(router = tasks_route, vis = "pub(super)")]
impl Server {
    #[tool(
        description = "Say what is wanted now; the next context follows.",
        input_schema = schema::of::<IntentArguments>(),
        annotations(destructive_hint = false, idempotent_hint = true)
    )]
    async fn declare_intent(&self, call: Call) -> CallToolResult {
        self.run(call, |given: IntentArguments, _| {
            let IntentArguments { intent, plan_id, phase_id, task_ids } = given;
            let trajectory = Trajectory { intent, plan_id, phase_id, task_ids };
            Ok(Command::DeclareIntent(DeclareIntent { trajectory }))
        })
        .await
    }

    #[tool(
        description = "Add a task for anyone to take.",
        input_schema = schema::of::<AddTaskArguments>(),
        annotations(destructive_hint = false)
    )]
    async fn add_task(&self, call: Call) -> CallToolResult {
        self.run(call, |given: AddTaskArguments, id| {
            let AddTaskArguments { title, phase_id, parent_task_id, depends_on, scopes } = given;
            let (task_id, scopes) = (TaskId::from_uuid(id), self.scopes("scopes", &scopes)?);
            Ok(Command::AddTask(AddTask { task_id, title, phase_id, parent_task_id, depends_on, scopes }))
        })
        .await
    }

    #[tool(
        description = "Take a task before you work on it; one session holds it.",
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
