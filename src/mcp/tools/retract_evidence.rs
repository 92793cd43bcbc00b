//! `retract_evidence`: remove the link of an event to a claim.

use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::claim::Relation;
use crate::domain::command::{Command, RetractEvidence};
use crate::domain::evidence::EvidenceName;
use crate::domain::ids::ClaimId;
use crate::domain::text::Reason;
use crate::mcp::call::Call;
use crate::mcp::schema;
use crate::mcp::server::Server;

#[derive(Deserialize, JsonSchema)]
struct RetractEvidenceArguments {
    #[schemars(with = "String")]
    claim_id: ClaimId,
    /// `last`, R11, C47, #1234, or the end of an id.
    #[schemars(with = "String")]
    evidence_ref: EvidenceName,
    /// Only where the event stands in several relations to the claim.
    #[schemars(schema_with = "schema::relation")]
    #[serde(default)]
    relation: Option<Relation>,
    /// Why, 1-2000 characters.
    #[schemars(with = "String")]
    reason: Reason,
}

#[tool_router(router = retract_evidence_route, vis = "pub(super)")]
impl Server {
    #[tool(
        description = "Take back evidence that you tied to a claim: it counts no more, and stays in the history with your reason.",
        input_schema = schema::of::<RetractEvidenceArguments>(),
        annotations(destructive_hint = false, idempotent_hint = false)
    )]
    async fn retract_evidence(&self, call: Call) -> CallToolResult {
        self.run(call, |given: RetractEvidenceArguments, _| {
            let RetractEvidenceArguments { claim_id, evidence_ref, relation, reason } = given;
            Ok(Command::RetractEvidence(RetractEvidence { claim_id, evidence_ref, relation, reason }))
        })
        .await
    }
}
