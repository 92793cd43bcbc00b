//! `report_event`: report an observation or an action, to cite it as evidence.

use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::claim::ReportKind;
use crate::domain::command::{Command, ReportEvent};
use crate::domain::ids::EventId;
use crate::domain::text::{CommandLine, ErrorSignature, Summary};
use crate::mcp::call::Call;
use crate::mcp::schema;
use crate::mcp::server::Server;

#[derive(Deserialize, JsonSchema)]
struct ReportEventArguments {
    #[schemars(schema_with = "schema::report_kind")]
    kind: ReportKind,
    #[schemars(with = "String")]
    summary: Summary,
    #[serde(default)]
    paths: Vec<String>,
    /// For command_ran.
    #[schemars(with = "Option<String>")]
    command: Option<CommandLine>,
    exit_code: Option<i32>,
    /// Its first line.
    #[schemars(with = "Option<String>")]
    error_signature: Option<ErrorSignature>,
}

#[tool_router(router = report_event_route, vis = "pub(super)")]
impl Server {
    #[tool(
        description = "Report what you saw or did. Returns an event_id to cite as evidence_ref.",
        input_schema = schema::of::<ReportEventArguments>(),
        annotations(destructive_hint = false)
    )]
    async fn report_event(&self, call: Call) -> CallToolResult {
        self.run(call, |given: ReportEventArguments, id| {
            Ok(Command::ReportEvent(ReportEvent {
                event_id: EventId::from_uuid(id),
                kind: given.kind,
                summary: given.summary,
                paths: self.scopes_and_links("paths", &given.paths)?,
                command: given.command,
                exit_code: given.exit_code,
                error_signature: given.error_signature,
            }))
        })
        .await
    }
}
