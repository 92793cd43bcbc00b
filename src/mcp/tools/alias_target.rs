//! `alias_target`, `part_target`: join two names of one target, and separate them again.

use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::command::{AliasTarget, Command, PartTarget};
use crate::domain::rejection::Rejection;
use crate::domain::scope::Scope;
use crate::mcp::call::Call;
use crate::mcp::schema;
use crate::mcp::server::Server;

#[derive(Deserialize, JsonSchema)]
struct AliasTargetArguments {
    /// The name that stays, such as database.
    target: String,
    /// The other name, such as db.
    alias: String,
}

#[derive(Deserialize, JsonSchema)]
struct PartTargetArguments {
    /// The name that was joined to another, such as db.
    alias: String,
}

/// Parses the name of a target; a refusal names `argument`.
fn target(argument: &str, name: &str) -> Result<Scope, Rejection> {
    Scope::target(name).map_err(|problem| Rejection::invalid(argument, problem))
}

#[tool_router(router = alias_target_route, vis = "pub(super)")]
impl Server {
    #[tool(
        description = "Say that two names mean one target of decisions; for the operator only.",
        input_schema = schema::of::<AliasTargetArguments>(),
        annotations(destructive_hint = false, idempotent_hint = true)
    )]
    async fn alias_target(&self, call: Call) -> CallToolResult {
        self.run(call, |given: AliasTargetArguments, _| {
            Ok(Command::AliasTarget(AliasTarget {
                target: target("target", &given.target)?,
                alias: target("alias", &given.alias)?,
            }))
        })
        .await
    }

    #[tool(
        description = "Separate a joined name: what was recorded under it belongs to it again; for the operator only.",
        input_schema = schema::of::<PartTargetArguments>(),
        annotations(destructive_hint = false, idempotent_hint = true)
    )]
    async fn part_target(&self, call: Call) -> CallToolResult {
        self.run(call, |given: PartTargetArguments, _| {
            Ok(Command::PartTarget(PartTarget { alias: target("alias", &given.alias)? }))
        })
        .await
    }
}
