//! `add_plan`, `add_phase`, `save_anchor`: the structure around tasks, and facts that must not get lost.

use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::command::{AddPhase, AddPlan, Command, SaveAnchor};
use crate::domain::ids::{PhaseId, PlanId};
use crate::domain::memory::Space;
use crate::domain::spaces::spaced;
use crate::domain::text::{AnchorKey, AnchorValue, Description, Title};
use crate::mcp::call::Call;
use crate::mcp::schema;
use crate::mcp::server::Server;

#[derive(Deserialize, JsonSchema)]
struct AddPlanArguments {
    #[schemars(with = "String")]
    title: Title,
    #[schemars(with = "Option<String>")]
    description: Option<Description>,
    /// The file that holds the plan itself.
    sot_path: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct AddPhaseArguments {
    /// Left out: the only open one.
    #[schemars(with = "Option<String>")]
    plan_id: Option<PlanId>,
    #[schemars(with = "String")]
    title: Title,
    /// Its place in the plan, from 0; left out: the last.
    #[schemars(with = "Option<i32>")]
    order: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
struct SaveAnchorArguments {
    /// 1-64 characters, such as DB_SCHEMA.
    #[schemars(with = "String")]
    key: AnchorKey,
    /// 1-2000 characters; a context shows 200.
    #[schemars(with = "String")]
    value: AnchorValue,
    /// user: only your user's sessions read it.
    #[schemars(with = "Option<String>")]
    space: Option<Space>,
}

#[tool_router(router = plan_route, vis = "pub(super)")]
impl Server {
    #[tool(
        description = "Add a plan.",
        input_schema = schema::of::<AddPlanArguments>(),
        annotations(destructive_hint = false)
    )]
    async fn add_plan(&self, call: Call) -> CallToolResult {
        self.run(call, |given: AddPlanArguments, id| {
            let mut path = self.scopes("sot_path", given.sot_path.as_slice())?;
            let AddPlanArguments { title, description, .. } = given;
            let (plan_id, sot_path) = (PlanId::from_uuid(id), path.pop());
            Ok(Command::AddPlan(AddPlan { plan_id, title, description, sot_path }))
        })
        .await
    }

    #[tool(
        description = "Add a phase to a plan.",
        input_schema = schema::of::<AddPhaseArguments>(),
        annotations(destructive_hint = false)
    )]
    async fn add_phase(&self, call: Call) -> CallToolResult {
        self.run(call, |given: AddPhaseArguments, id| {
            let AddPhaseArguments { plan_id, title, order } = given;
            Ok(Command::AddPhase(AddPhase { phase_id: PhaseId::from_uuid(id), plan_id, title, order }))
        })
        .await
    }

    #[tool(
        description = "Keep a fact where no compaction loses it; the same key again replaces it.",
        input_schema = schema::of::<SaveAnchorArguments>(),
        annotations(destructive_hint = false, idempotent_hint = true)
    )]
    async fn save_anchor(&self, call: Call) -> CallToolResult {
        self.run(call, |given: SaveAnchorArguments, _| {
            let SaveAnchorArguments { key, value, space } = given;
            let user = spaced(space.unwrap_or(Space::Project), self.user().cloned())?;
            Ok(Command::SaveAnchor(SaveAnchor { key, value, user }))
        })
        .await
    }
}
