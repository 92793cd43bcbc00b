//! `run_experiment`: run a profile, and record its outcome as evidence about a claim.

use std::collections::{BTreeMap, BTreeSet};

use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::command::{Command, RunExperiment};
use crate::domain::experiment::{Prediction, ProfileName};
use crate::domain::ids::{ClaimId, RunId};
use crate::mcp::call::Call;
use crate::mcp::schema;
use crate::mcp::server::Server;

#[derive(Deserialize, JsonSchema)]
struct RunExperimentArguments {
    /// See hivemind://profiles.
    #[schemars(with = "String")]
    profile: ProfileName,
    /// NAME=VALUE for each parameter.
    #[serde(default)]
    #[schemars(with = "Option<Vec<String>>")]
    args: Vec<Argument>,
    #[schemars(with = "Option<String>")]
    claim_id: Option<ClaimId>,
    /// The contested claim waits for it.
    #[schemars(with = "Option<bool>")]
    #[serde(default)]
    blocking: bool,
    /// Default passes.
    #[schemars(schema_with = "schema::prediction")]
    #[serde(default)]
    prediction: Option<Prediction>,
    /// 2-20.
    #[schemars(with = "Option<i64>")]
    repeat: Option<u32>,
    /// Below the root.
    cwd: Option<String>,
    env_pass: Option<BTreeSet<String>>,
    /// Shorter than the profile's.
    #[schemars(with = "Option<i64>")]
    timeout_ms: Option<u64>,
    #[schemars(with = "Option<i64>")]
    output_cap_bytes: Option<u64>,
    /// Answer after its end.
    #[schemars(with = "Option<bool>")]
    #[serde(default, rename = "wait")]
    #[expect(dead_code, reason = "looked at before the arguments are parsed")]
    wait: bool,
}

/// `NAME=VALUE`; the value is taken unchanged.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Argument(String, String);

impl TryFrom<String> for Argument {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (name, value) =
            text.split_once('=').ok_or_else(|| format!("`{text}` does not say NAME=VALUE"))?;
        Ok(Self(name.trim().to_owned(), value.to_owned()))
    }
}

#[tool_router(router = run_experiment_route, vis = "pub(super)")]
impl Server {
    #[tool(
        description = "Run a named profile; its outcome supports or contradicts the claim.",
        input_schema = schema::of::<RunExperimentArguments>(),
        annotations(destructive_hint = false)
    )]
    async fn run_experiment(&self, call: Call) -> CallToolResult {
        let wait = call.flag("wait");
        self.follow(call, wait, |given: RunExperimentArguments, id| {
            let args: BTreeMap<String, String> =
                given.args.into_iter().map(|Argument(name, value)| (name, value)).collect();
            Ok(Command::RunExperiment(RunExperiment {
                run_id: RunId::from_uuid(id),
                profile: given.profile,
                args,
                claim_id: given.claim_id,
                blocking: given.blocking,
                prediction: given.prediction,
                repeat: given.repeat,
                cwd: given.cwd,
                env_pass: given.env_pass,
                timeout_ms: given.timeout_ms,
                output_cap_bytes: given.output_cap_bytes,
            }))
        })
        .await
    }
}
