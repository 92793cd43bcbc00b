//! `declare_intent`, `add_task`: what is wanted now, and what is to be done.

use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::command::{AddTask, Command, DeclareIntent};
use crate::domain::ids::{PlanId, TaskId};
use crate::domain::names::Sort;
use crate::domain::plan::Trajectory;
use crate::domain::text::{Description, Intent, Title};
use crate::mcp::call::Call;
use crate::mcp::schema;
use crate::mcp::server::Server;

#[derive(Deserialize, JsonSchema)]
struct IntentArguments {
    #[schemars(with = "String")]
    intent: Intent,
    plan_id: Option<String>,
    phase_id: Option<String>,
    #[serde(default)]
    task_ids: Vec<String>,
    #[serde(default)]
    team: bool,
}

#[derive(Deserialize, JsonSchema)]
struct AddTaskArguments {
    #[schemars(with = "String")]
    title: Title,
    #[schemars(with = "Option<String>")]
    description: Option<Description>,
    phase_id: Option<String>,
    parent_task_id: Option<String>,
    /// Done first.
    #[serde(default)]
    depends_on: Vec<String>,
    #[serde(default)]
    scopes: Vec<String>,
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
            let plan_id =
                plan_id.map(|plan| self.named(Sort::Plan, &plan)).transpose()?.map(PlanId::from_uuid);
            let phase_id = self.phase_named(phase_id.as_deref())?;
            let task_ids = self.tasks_named(&task_ids)?;
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
            let AddTaskArguments { title, description, phase_id, parent_task_id, depends_on, scopes } = given;
            Ok(Command::AddTask(AddTask {
                task_id: TaskId::from_uuid(id),
                title,
                description,
                phase_id: self.phase_named(phase_id.as_deref())?,
                parent_task_id: self.task_named(parent_task_id.as_deref())?,
                depends_on: self.tasks_named(&depends_on)?,
                scopes: self.scopes("scopes", &scopes)?,
            }))
        })
        .await
    }
}
