//! `lock`: ask the other agents to leave scopes alone for a time.

use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::command::{Command, LockScopes, ReleaseScopes};
use crate::domain::rejection::Rejection;
use crate::domain::text::Reason;
use crate::mcp::call::Call;
use crate::mcp::schema;
use crate::mcp::server::Server;

#[derive(Deserialize, JsonSchema)]
struct LockArguments {
    /// Paths, globs, tag:NAME, target:NAME; tag:cpu asks for a quiet machine.
    #[serde(default)]
    scopes: Vec<String>,
    /// 1-1440, default 15.
    #[schemars(with = "Option<i32>")]
    minutes: Option<u32>,
    /// The purpose, shown to others; required to lock.
    #[schemars(with = "Option<String>")]
    why: Option<Reason>,
    /// Unlock; without scopes, all locks of this session.
    #[serde(default)]
    release: bool,
}

#[tool_router(router = lock_route, vis = "pub(super)")]
impl Server {
    #[tool(
        description = "Ask the others to leave files or things alone for a time; it ends by itself.",
        input_schema = schema::of::<LockArguments>(),
        annotations(destructive_hint = false, idempotent_hint = true)
    )]
    async fn lock(&self, call: Call) -> CallToolResult {
        self.run(call, |given: LockArguments, _| {
            let LockArguments { scopes, minutes, why, release } = given;
            let scopes = self.scopes("scopes", &scopes)?;
            if release {
                return Ok(Command::ReleaseScopes(ReleaseScopes { scopes }));
            }
            let why = why.ok_or_else(|| Rejection::invalid("why", "a lock says what it is for"))?;
            Ok(Command::LockScopes(LockScopes { scopes, minutes, why }))
        })
        .await
    }
}
