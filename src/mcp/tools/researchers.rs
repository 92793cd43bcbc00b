//! `spawn_researcher`: start a headless agent in a session of its own to find something out.

use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::command::{Command, SpawnResearcher};
use crate::domain::experiment::ProfileName;
use crate::domain::ids::{RunId, TaskId};
use crate::domain::text::Prompt;
use crate::mcp::call::{Asker, Call};
use crate::mcp::schema;
use crate::mcp::server::Server;
use crate::system;
use crate::views;

#[derive(Deserialize, JsonSchema)]
struct SpawnArguments {
    /// What to find out, 1-4000 characters.
    #[schemars(with = "String")]
    prompt: Prompt,
    /// An agent's, such as researcher-claude: see hivemind://profiles.
    #[schemars(with = "String")]
    profile: ProfileName,
    /// The task that this is a part of.
    #[schemars(with = "Option<String>")]
    parent_task_id: Option<TaskId>,
}

#[tool_router(router = researchers_route, vis = "pub(super)")]
impl Server {
    #[tool(
        description = "Send an agent out to find something, headless, in a session of its own; what it finds become claims of a new task.",
        input_schema = schema::of::<SpawnArguments>(),
        annotations(destructive_hint = false)
    )]
    async fn spawn_researcher(&self, call: Call) -> CallToolResult {
        self.run_as(call, |given: SpawnArguments, Asker { id, agent, session }| {
            let SpawnArguments { prompt, profile, parent_task_id } = given;
            let run_id = RunId::from_uuid(*id);
            let turn0 = self.with_reads(|reads| {
                views::briefing(
                    reads,
                    self.config(),
                    (agent, session),
                    run_id,
                    &profile,
                    prompt.as_str(),
                    system::now(),
                )
            })?;
            Ok(Command::SpawnResearcher(SpawnResearcher {
                run_id,
                task_id: TaskId::from_uuid(system::new_id()),
                prompt,
                profile,
                parent_task_id,
                turn0,
            }))
        })
        .await
    }
}
