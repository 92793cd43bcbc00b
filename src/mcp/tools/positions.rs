//! `support`, `challenge`, `abstain`: an agent's position on a claim; the latest one counts.

use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::claim::Position;
use crate::domain::command::{Command, TakePosition};
use crate::domain::evidence::EvidenceName;
use crate::domain::ids::ClaimId;
use crate::domain::text::Reason;
use crate::mcp::call::Call;
use crate::mcp::schema;
use crate::mcp::server::Server;

#[derive(Deserialize, JsonSchema)]
struct PositionArguments {
    #[schemars(with = "String")]
    claim_id: ClaimId,
    #[schemars(with = "Option<String>")]
    reason: Option<Reason>,
    #[schemars(with = "Option<String>")]
    evidence_ref: Option<EvidenceName>,
}

#[derive(Deserialize, JsonSchema)]
struct ChallengeArguments {
    #[schemars(with = "String")]
    claim_id: ClaimId,
    #[schemars(with = "String")]
    reason: Reason,
    #[schemars(with = "Option<String>")]
    evidence_ref: Option<EvidenceName>,
}

fn take(given: PositionArguments, position: Position) -> Command {
    let PositionArguments { claim_id, reason, evidence_ref } = given;
    Command::TakePosition(TakePosition { claim_id, position, reason, evidence_ref })
}

#[tool_router(router = positions_route, vis = "pub(super)")]
impl Server {
    #[tool(
        description = "Say that another agent's claim is right; one such support confirms it.",
        input_schema = schema::of::<PositionArguments>(),
        annotations(destructive_hint = false, idempotent_hint = true)
    )]
    async fn support(&self, call: Call) -> CallToolResult {
        self.run(call, |given, _| Ok(take(given, Position::Support))).await
    }

    #[tool(
        description = "Say that another agent's claim is wrong, and why. It is contested until settled.",
        input_schema = schema::of::<ChallengeArguments>(),
        annotations(destructive_hint = false, idempotent_hint = true)
    )]
    async fn challenge(&self, call: Call) -> CallToolResult {
        self.run(call, |given: ChallengeArguments, _| {
            let ChallengeArguments { claim_id, reason, evidence_ref } = given;
            let given = PositionArguments { claim_id, reason: Some(reason), evidence_ref };
            Ok(take(given, Position::Challenge))
        })
        .await
    }

    #[tool(
        description = "Withdraw your earlier support or challenge of a claim.",
        input_schema = schema::of::<PositionArguments>(),
        annotations(destructive_hint = false, idempotent_hint = true)
    )]
    async fn abstain(&self, call: Call) -> CallToolResult {
        self.run(call, |given, _| Ok(take(given, Position::Abstain))).await
    }
}
