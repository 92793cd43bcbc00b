//! `accept_guard`: put a guard in force.

use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::claim::{ClaimType, Status};
use crate::domain::command::{AcceptGuard, Command};
use crate::domain::experiment::ProfileName;
use crate::domain::guard::{Condition, Effect, Moment};
use crate::domain::ids::{ClaimId, GuardId};
use crate::domain::text::{Advice, CommandLine, ErrorSignature, Phrase};
use crate::domain::{pattern::PatternKind, time::Timestamp};
use crate::mcp::{call::Call, schema, server::Server};
use crate::system;

#[derive(Deserialize, JsonSchema)]
struct AcceptGuardArguments {
    /// All given fields must be met.
    condition: ConditionArguments,
    /// warn, suggest, escalate or block.
    #[schemars(with = "String")]
    action: Effect,
    /// What it says, 1-400 characters.
    #[schemars(with = "String")]
    text: Advice,
    /// The claim or decision behind it.
    #[schemars(with = "Option<String>")]
    source_claim: Option<ClaimId>,
    /// Hours until it ends.
    expires_hours: Option<u32>,
    /// For block: its run settles a contested claim.
    #[schemars(with = "Option<String>")]
    profile: Option<ProfileName>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ConditionArguments {
    /// A place that the action changes or names, or a scope of the claim.
    scope: Option<String>,
    /// Changed paths; globs.
    paths: Vec<String>,
    /// Commands that are run.
    #[schemars(with = "Vec<String>")]
    commands: Vec<CommandLine>,
    /// command.ran, file.edited, claim.created, decision.recorded, experiment.queued, position.taken.
    #[schemars(with = "Vec<String>")]
    event_types: Vec<Moment>,
    #[schemars(with = "Option<String>")]
    claim_type: Option<ClaimType>,
    #[schemars(with = "Option<String>")]
    status: Option<Status>,
    /// loop, handoff_loop, escalation_spiral, stall, contradiction_cluster, unstable_proof.
    #[schemars(with = "Option<String>")]
    pattern_type: Option<PatternKind>,
    #[schemars(with = "Option<String>")]
    error_signature: Option<ErrorSignature>,
    #[schemars(with = "Option<String>")]
    text_includes: Option<Phrase>,
}

#[tool_router(router = guards_route, vis = "pub(super)")]
impl Server {
    #[tool(
        description = "Put a guard in force: it warns of an action before it happens. For the architect.",
        input_schema = schema::of::<AcceptGuardArguments>(),
        annotations(destructive_hint = false)
    )]
    async fn accept_guard(&self, call: Call) -> CallToolResult {
        self.run(call, |given: AcceptGuardArguments, id| {
            let wanted = given.condition;
            let scope = wanted.scope.map(|scope| self.scopes("condition.scope", &[scope])).transpose()?;
            let condition = Condition {
                scope: scope.and_then(|scopes| scopes.into_iter().next()),
                paths: self.scopes("condition.paths", &wanted.paths)?,
                commands: wanted.commands,
                event_types: wanted.event_types,
                claim_type: wanted.claim_type,
                status: wanted.status,
                pattern_type: wanted.pattern_type,
                error_signature: wanted.error_signature,
                text_includes: wanted.text_includes,
            };
            let hours = |hours: u32| Timestamp::from_ms(system::now().ms() + i64::from(hours) * 3_600_000);
            Ok(Command::AcceptGuard(AcceptGuard {
                guard_id: GuardId::from_uuid(id),
                condition,
                action: given.action,
                text: given.text,
                source_claim: given.source_claim,
                source_pattern: None,
                until: given.expires_hours.map(hours),
                profile: given.profile,
            }))
        })
        .await
    }
}
