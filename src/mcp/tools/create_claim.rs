//! `create_claim`: state a fact, a decision, a hypothesis or a dead end.

use rmcp::{model::CallToolResult, tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use super::trigger::TriggerArguments;
use crate::domain::claim::{ClaimType, Share};
use crate::domain::command::{Command, CreateClaim};
use crate::domain::evidence::EvidenceName;
use crate::domain::ids::{ClaimId, TaskId};
use crate::domain::memory::MemoryEvent;
use crate::domain::text::Statement;
use crate::domain::time::Hours;
use crate::mcp::{call::Call, schema, server::Server};

#[derive(Deserialize, JsonSchema)]
struct CreateClaimArguments {
    /// Checkable, 1-2000 characters.
    #[schemars(with = "String")]
    statement: Statement,
    /// negative = a failed approach.
    #[schemars(schema_with = "schema::claim_type")]
    claim_type: ClaimType,
    // Without its words: the listing has room for no more, and a refusal says them.
    #[schemars(with = "Option<String>")]
    event_type: Option<MemoryEvent>,
    /// 1-16 of: path, symbol:NAME, target:NAME, tag:NAME.
    scopes: Vec<String>,
    /// 0-1, default 1.
    #[schemars(with = "f64")]
    #[serde(default)]
    confidence: Share,
    #[schemars(with = "Option<String>")]
    supersedes: Option<ClaimId>,
    /// The superseded claim was right until a fix.
    #[serde(default)]
    mends: bool,
    // 168 for hypotheses; without its words, like the event type.
    #[schemars(with = "Option<i32>")]
    ttl_hours: Option<Hours>,
    #[schemars(with = "Vec<String>")]
    #[serde(default)]
    evidence_refs: Vec<EvidenceName>,
    /// For negative: when to warn. Paths take globs.
    trigger: Option<TriggerArguments>,
    #[schemars(with = "Option<String>")]
    origin_task_id: Option<TaskId>,
    /// Agents to answer.
    #[serde(default)]
    asks: Vec<String>,
    /// No answer wanted.
    #[serde(default)]
    tells: Vec<String>,
    /// Agreed by silence if unchallenged.
    #[schemars(with = "Option<i32>")]
    unless_objection_minutes: Option<u32>,
}

#[tool_router(router = create_claim_route, vis = "pub(super)")]
impl Server {
    #[tool(
        description = "Record a fact, decision, hypothesis or dead end (negative) for the team. Read hivemind://negative first.",
        input_schema = schema::of::<CreateClaimArguments>(),
        annotations(destructive_hint = false)
    )]
    async fn create_claim(&self, call: Call) -> CallToolResult {
        self.run(call, |given: CreateClaimArguments, id| {
            Ok(Command::CreateClaim(CreateClaim {
                origin_task_id: given.origin_task_id.or_else(|| self.caller().task()),
                claim_id: ClaimId::from_uuid(id),
                statement: given.statement,
                claim_type: given.claim_type,
                event_type: given.event_type,
                scopes: self.scopes_and_links("scopes", &given.scopes)?,
                confidence: given.confidence,
                supersedes: given.supersedes,
                ttl_hours: given.ttl_hours,
                evidence_refs: given.evidence_refs,
                trigger: given.trigger.map(|trigger| self.trigger(trigger)).transpose()?,
                mends: given.mends,
                asks: self.agents("asks", &given.asks)?,
                tells: self.agents("tells", &given.tells)?,
                unless_objection_minutes: given.unless_objection_minutes,
            }))
        })
        .await
    }
}
