//! `declare_intent`, `add_task`: state the current goal, and add a task.

use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::command::{AddTask, Command, DeclareIntent};
use crate::domain::ids::{PhaseId, PlanId, TaskId};
use crate::domain::plan::Trajectory;
use crate::domain::text::{Description, Intent, Title};
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
    #[serde(default)]
    team: bool,
}

#[derive(Deserialize, JsonSchema)]
struct AddTaskArguments {
    #[schemars(with = "String")]
    title: Title,
    #[schemars(with = "Option<String>")]
    description: Option<Description>,
    #[schemars(with = "Option<String>")]
    phase_id: Option<PhaseId>,
    #[schemars(with = "Option<String>")]
    parent_task_id: Option<TaskId>,
    /// Done first.
    #[schemars(with = "Vec<String>")]
    #[serde(default)]
    depends_on: Vec<TaskId>,
    #[serde(default)]
    scopes: Vec<String>,
    #[serde(rename = "for")]
    meant_for: Option<String>,
}

#[tool_router(router = intent_route, vis = "pub(super)")]
impl Server {
    #[tool(
        description = "Say what your session wants now; team for all.",
        input_schema = schema::of::<IntentArguments>(),
        annotations(destructive_hint = false, idempotent_hint = true)
    )]
    async fn declare_intent(&self, call: Call) -> CallToolResult {
        self.run(call, |given: IntentArguments, _| {
            let IntentArguments { intent, plan_id, phase_id, task_ids, team } = given;
            let trajectory = Trajectory { intent, plan_id, phase_id, task_ids };
            Ok(Command::DeclareIntent(DeclareIntent { trajectory, team }))
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
            let AddTaskArguments { title, description, phase_id, parent_task_id, depends_on, .. } = given;
            Ok(Command::AddTask(AddTask {
                meant_for: self.agents("for", given.meant_for.as_slice())?.pop(),
                task_id: TaskId::from_uuid(id),
                title,
                description,
                phase_id,
                parent_task_id,
                depends_on,
                scopes: self.scopes("scopes", &given.scopes)?,
            }))
        })
        .await
    }
}
