//! `rename_plan`, `abandon_plan`, `retire_anchor`: undo the other tools of the plan set.

use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::command::{AbandonPlan, Command, RenamePlan, RetireAnchor};
use crate::domain::ids::PlanId;
use crate::domain::memory::Space;
use crate::domain::spaces::spaced;
use crate::domain::text::{AnchorKey, Reason, Title};
use crate::mcp::call::Call;
use crate::mcp::schema;
use crate::mcp::server::Server;

#[derive(Deserialize, JsonSchema)]
struct RenamePlanArguments {
    #[schemars(with = "String")]
    plan_id: PlanId,
    #[schemars(with = "String")]
    title: Title,
}

#[derive(Deserialize, JsonSchema)]
struct AbandonPlanArguments {
    #[schemars(with = "String")]
    plan_id: PlanId,
    /// Why, 1-2000 characters.
    #[schemars(with = "String")]
    reason: Reason,
}

#[derive(Deserialize, JsonSchema)]
struct RetireAnchorArguments {
    #[schemars(with = "String")]
    key: AnchorKey,
    /// user, or left out: project.
    #[schemars(with = "Option<String>")]
    space: Option<Space>,
}

#[tool_router(router = ways_back_route, vis = "pub(super)")]
impl Server {
    #[tool(
        description = "Give a plan another title.",
        input_schema = schema::of::<RenamePlanArguments>(),
        annotations(destructive_hint = false, idempotent_hint = true)
    )]
    async fn rename_plan(&self, call: Call) -> CallToolResult {
        self.run(call, |given: RenamePlanArguments, _| {
            let RenamePlanArguments { plan_id, title } = given;
            Ok(Command::RenamePlan(RenamePlan { plan_id, title }))
        })
        .await
    }

    #[tool(
        description = "Give a plan up, for good: its open tasks are invalidated and their leases end.",
        input_schema = schema::of::<AbandonPlanArguments>(),
        annotations(destructive_hint = true, idempotent_hint = false)
    )]
    async fn abandon_plan(&self, call: Call) -> CallToolResult {
        self.run(call, |given: AbandonPlanArguments, _| {
            let AbandonPlanArguments { plan_id, reason } = given;
            Ok(Command::AbandonPlan(AbandonPlan { plan_id, reason }))
        })
        .await
    }

    #[tool(
        description = "Let an anchor hold nothing any more; its history stays.",
        input_schema = schema::of::<RetireAnchorArguments>(),
        annotations(destructive_hint = false, idempotent_hint = true)
    )]
    async fn retire_anchor(&self, call: Call) -> CallToolResult {
        self.run(call, |given: RetireAnchorArguments, _| {
            let user = spaced(given.space.unwrap_or(Space::Project), self.user().cloned())?;
            Ok(Command::RetireAnchor(RetireAnchor { key: given.key, user }))
        })
        .await
    }
}
