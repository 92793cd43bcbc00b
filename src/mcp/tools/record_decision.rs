//! `record_decision`: record the choice, its reason, and the alternatives.

use rmcp::{model::CallToolResult, tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::command::{Alternative, Command, RecordDecision};
use crate::domain::ids::ClaimId;
use crate::domain::rejection::Rejection;
use crate::domain::scope::Scope;
use crate::domain::text::{Rationale, Reason, Statement};
use crate::mcp::tools::{amending::amended, one_of};
use crate::mcp::{call::Call, schema, server::Server};
use crate::system;

#[derive(Deserialize, JsonSchema)]
struct RecordDecisionArguments {
    /// The choice, or claim_id.
    #[schemars(with = "Option<String>")]
    statement: Option<Statement>,
    #[schemars(with = "Option<String>")]
    claim_id: Option<ClaimId>,
    /// Why, 10+ characters.
    #[schemars(with = "String")]
    rationale: Rationale,
    #[schemars(with = "Option<String>")]
    context: Option<Reason>,
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
    /// Old words of supersedes.
    replace: Option<String>,
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
        description = "Record a decision, why, and what was not chosen.",
        input_schema = schema::of::<RecordDecisionArguments>(),
        annotations(destructive_hint = false)
    )]
    async fn record_decision(&self, call: Call) -> CallToolResult {
        self.run(call, |given: RecordDecisionArguments, id| {
            let asks = self.agents("asks", &given.asks)?;
            let unless_objection_minutes = given.unless_objection_minutes;
            if let Some(old) = given.replace {
                let is_new = given.claim_id.is_some() || given.target.is_some() || !given.scopes.is_empty();
                let of = (&*given.supersedes, is_new || !given.alternatives.is_empty());
                let amended = amended(self, (old, given.statement), of, &given.rationale, id)?;
                let amended = RecordDecision { asks, unless_objection_minutes, ..amended };
                return Ok(Command::RecordDecision(amended));
            }
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
                asks,
                unless_objection_minutes,
            }))
        })
        .await
    }
}
