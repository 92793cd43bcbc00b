//! `start_session`, `end_session`, `record_turn`, `snapshot_beliefs`: the work of hooks, for clients without hooks.

use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::command::{Command, EndSession, RecordTurn, SnapshotBeliefs, StartSession};
use crate::domain::ids::SessionId;
use crate::domain::session::{Role, Source};
use crate::domain::text::{Said, ToolName};
use crate::mcp::call::Call;
use crate::mcp::schema;
use crate::mcp::server::Server;

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
            Ok(Command::RecordTurn(RecordTurn { role, text, told: None }))
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
}
