//! `split_session`: hand over to a new session before the context window is full.

use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::command::{Command, SplitSession};
use crate::domain::rejection::Rejection;
use crate::domain::text::Reason;
use crate::mcp::call::{Asker, Call};
use crate::mcp::schema;
use crate::mcp::server::Server;
use crate::system;
use crate::views;

#[derive(Deserialize, JsonSchema)]
struct SplitArguments {
    /// Why, 1-2000 characters.
    #[schemars(with = "String")]
    reason: Reason,
    /// Of the model's window, as your client shows it.
    #[schemars(with = "Option<i64>")]
    used_tokens: Option<u64>,
    #[schemars(with = "Option<i64>")]
    window_tokens: Option<u64>,
}

#[tool_router(router = split_session_route, vis = "pub(super)")]
impl Server {
    #[tool(
        description = "Hand over to a new session before the window is full; its turn0 has all it needs, and it holds your tasks at once.",
        input_schema = schema::of::<SplitArguments>(),
        annotations(destructive_hint = false)
    )]
    async fn split_session(&self, call: Call) -> CallToolResult {
        self.run_as(call, |given: SplitArguments, Asker { id, agent, session }| {
            let SplitArguments { reason, used_tokens, window_tokens } = given;
            let child = id.to_string().parse().map_err(|problem| Rejection::invalid("session", problem))?;
            let turn0 = self.with_reads(|reads| {
                views::turn0(
                    reads,
                    self.config().stale_after,
                    agent,
                    (session, &child),
                    reason.as_str(),
                    system::now(),
                )
            })?;
            let turn0 = turn0.parse().map_err(|problem| Rejection::invalid("reason", problem))?;
            Ok(Command::SplitSession(SplitSession { child, reason, used_tokens, window_tokens, turn0 }))
        })
        .await
    }
}
