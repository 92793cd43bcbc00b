//! `start_session`, `end_session`, `record_turn`, `snapshot_beliefs`, `split_session`: what hooks do where a client has them.

use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::command::{Command, EndSession, RecordTurn, SnapshotBeliefs, SplitSession, StartSession};
use crate::domain::ids::SessionId;
use crate::domain::rejection::Rejection;
use crate::domain::session::{Role, Source};
use crate::domain::text::{Reason, Said, ToolName};
use crate::mcp::call::{Asker, Call};
use crate::mcp::schema;
use crate::mcp::server::Server;
use crate::system;
use crate::views;

#[derive(Deserialize, JsonSchema)]
struct StartArguments {
    #[schemars(schema_with = "schema::source")]
    source: Source,
    /// Such as claude.
    #[schemars(with = "Option<String>")]
    client: Option<ToolName>,
    /// The session it goes on from.
    #[schemars(with = "Option<String>")]
    parent_session: Option<SessionId>,
}

#[derive(Deserialize, JsonSchema)]
struct NoArguments {}

#[derive(Deserialize, JsonSchema)]
struct TurnArguments {
    #[schemars(schema_with = "schema::role")]
    role: Role,
    /// 1-2000 characters.
    #[schemars(with = "String")]
    text: Said,
}

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

#[tool_router(router = sessions_route, vis = "pub(super)")]
impl Server {
    #[tool(
        description = "Say that a session starts; hooks do it where the client has them.",
        input_schema = schema::of::<StartArguments>(),
        annotations(destructive_hint = false, idempotent_hint = true)
    )]
    async fn start_session(&self, call: Call) -> CallToolResult {
        self.run(call, |given: StartArguments, _| {
            let StartArguments { source, client, parent_session } = given;
            Ok(Command::StartSession(StartSession { source, client, parent_session }))
        })
        .await
    }

    #[tool(
        description = "Say that the session is over: its leases end, its beliefs are kept.",
        input_schema = schema::of::<NoArguments>(),
        annotations(destructive_hint = false, idempotent_hint = true)
    )]
    async fn end_session(&self, call: Call) -> CallToolResult {
        self.run(call, |_: NoArguments, _| Ok(Command::EndSession(EndSession {}))).await
    }

    #[tool(
        description = "Keep a message of the dialogue; the last six are handed over whole.",
        input_schema = schema::of::<TurnArguments>(),
        annotations(destructive_hint = false)
    )]
    async fn record_turn(&self, call: Call) -> CallToolResult {
        self.run(call, |given: TurnArguments, _| {
            let TurnArguments { role, text } = given;
            Ok(Command::RecordTurn(RecordTurn { role, text }))
        })
        .await
    }

    #[tool(
        description = "Write down what you hold to be right and wrong now.",
        input_schema = schema::of::<NoArguments>(),
        annotations(destructive_hint = false)
    )]
    async fn snapshot_beliefs(&self, call: Call) -> CallToolResult {
        self.run(call, |_: NoArguments, _| Ok(Command::SnapshotBeliefs(SnapshotBeliefs {}))).await
    }

    #[tool(
        description = "Hand over to a new session before the window is full; its turn0 has all it needs.",
        input_schema = schema::of::<SplitArguments>(),
        annotations(destructive_hint = false)
    )]
    async fn split_session(&self, call: Call) -> CallToolResult {
        self.run_as(call, |given: SplitArguments, Asker { id, agent, session }| {
            let SplitArguments { reason, used_tokens, window_tokens } = given;
            let turn0 = self.with_reads(|reads| {
                views::turn0(reads, agent, session.as_str(), reason.as_str(), system::now())
            })?;
            let turn0 = turn0.parse().map_err(|problem| Rejection::invalid("reason", problem))?;
            let child = id.to_string().parse().map_err(|problem| Rejection::invalid("session", problem))?;
            Ok(Command::SplitSession(SplitSession { child, reason, used_tokens, window_tokens, turn0 }))
        })
        .await
    }
}
