//! `alias_target`: say that two names mean one target.

use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::command::{AliasTarget, Command};
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

#[tool_router(router = alias_target_route, vis = "pub(super)")]
impl Server {
    #[tool(
        description = "Say that two names mean one target of decisions.",
        input_schema = schema::of::<AliasTargetArguments>(),
        annotations(destructive_hint = false, idempotent_hint = true)
    )]
    async fn alias_target(&self, call: Call) -> CallToolResult {
        self.run(call, |given: AliasTargetArguments, _| {
            let name = |argument: &str, name: &str| {
                Scope::target(name).map_err(|problem| Rejection::invalid(argument, problem))
            };
            Ok(Command::AliasTarget(AliasTarget {
                target: name("target", &given.target)?,
                alias: name("alias", &given.alias)?,
            }))
        })
        .await
    }
}
