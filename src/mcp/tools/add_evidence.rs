//! `add_evidence`: link an event of the ledger to a claim.

use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::claim::{Relation, Share};
use crate::domain::command::{AddEvidence, Command};
use crate::domain::evidence::EvidenceName;
use crate::domain::ids::ClaimId;
use crate::domain::text::Reason;
use crate::mcp::call::Call;
use crate::mcp::schema;
use crate::mcp::server::Server;

#[derive(Deserialize, JsonSchema)]
struct AddEvidenceArguments {
    #[schemars(with = "String")]
    claim_id: ClaimId,
    /// `last`, R11, C47, #1234, a.rs:4-9, or end of id.
    #[schemars(with = "String")]
    evidence_ref: EvidenceName,
    #[schemars(schema_with = "schema::relation")]
    relation: Relation,
    /// 0-1, default 1.
    #[schemars(with = "f64")]
    #[serde(default)]
    weight: Share,
    #[schemars(with = "Option<String>")]
    note: Option<Reason>,
}

#[tool_router(router = add_evidence_route, vis = "pub(super)")]
impl Server {
    #[tool(
        description = "Tie a ledger event to a claim as evidence for or against it.",
        input_schema = schema::of::<AddEvidenceArguments>(),
        annotations(destructive_hint = false, idempotent_hint = true)
    )]
    async fn add_evidence(&self, call: Call) -> CallToolResult {
        self.run(call, |given: AddEvidenceArguments, _| {
            let AddEvidenceArguments { claim_id, evidence_ref, relation, weight, note } = given;
            Ok(Command::AddEvidence(AddEvidence { claim_id, evidence_ref, relation, weight, note }))
        })
        .await
    }
}
