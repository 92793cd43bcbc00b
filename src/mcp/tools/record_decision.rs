//! `record_decision`: record the choice, its reason, and the alternatives.

use rmcp::{model::CallToolResult, tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::command::{Alternative, Command, RecordDecision};
use crate::domain::ids::ClaimId;
use crate::domain::rejection::Rejection;
use crate::domain::scope::Scope;
use crate::domain::text::{Rationale, Reason, Statement};
use crate::mcp::call::Call;
use crate::mcp::schema;
use crate::mcp::server::Server;
use crate::mcp::tools::one_of;
use crate::system;

#[derive(Deserialize, JsonSchema)]
struct RecordDecisionArguments {
    /// What was chosen; or give claim_id.
    #[schemars(with = "Option<String>")]
    statement: Option<Statement>,
    #[schemars(with = "Option<String>")]
    claim_id: Option<ClaimId>,
    /// Why, 10-2000 characters.
    #[schemars(with = "String")]
    rationale: Rationale,
    #[schemars(with = "Option<String>")]
    context: Option<Reason>,
    /// One decision in force for each.
    target: Option<String>,
    #[serde(default)]
    scopes: Vec<String>,
    #[serde(default)]
    alternatives: Vec<AlternativeArguments>,
    #[schemars(with = "Vec<String>")]
    #[serde(default)]
    supersedes: Vec<ClaimId>,
    #[serde(default)]
    mends: bool,
    #[serde(default)]
    asks: Vec<String>,
    #[schemars(with = "Option<i32>")]
    unless_objection_minutes: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
struct AlternativeArguments {
    #[schemars(with = "Option<String>")]
    statement: Option<Statement>,
    #[schemars(with = "Option<String>")]
    claim_id: Option<ClaimId>,
    #[schemars(with = "String")]
    rejection_reason: Reason,
}

#[tool_router(router = record_decision_route, vis = "pub(super)")]
impl Server {
    #[tool(
        description = "Record what was decided, why, and what was not chosen.",
        input_schema = schema::of::<RecordDecisionArguments>(),
        annotations(destructive_hint = false)
    )]
    async fn record_decision(&self, call: Call) -> CallToolResult {
        self.run(call, |given: RecordDecisionArguments, id| {
            let target = given.target.as_deref().map(Scope::target).transpose();
            let target = target.map_err(|problem| Rejection::invalid("target", problem))?;
            let alternatives = given.alternatives.into_iter().map(|given| {
                let (claim_id, statement) =
                    one_of("alternatives", given.claim_id, given.statement, system::new_id())?;
                Ok(Alternative { claim_id, statement, rejection_reason: given.rejection_reason })
            });
            let (claim_id, statement) = one_of("statement", given.claim_id, given.statement, id)?;
            Ok(Command::RecordDecision(RecordDecision {
                claim_id,
                statement,
                rationale: given.rationale,
                context: given.context,
                target,
                scopes: self.scopes_and_links("scopes", &given.scopes)?,
                alternatives: alternatives.collect::<Result<_, Rejection>>()?,
                supersedes: given.supersedes,
                mends: given.mends,
                evidence_refs: Vec::new(),
                decided_at: None,
                asks: self.agents("asks", &given.asks)?,
                unless_objection_minutes: given.unless_objection_minutes,
            }))
        })
        .await
    }
}
