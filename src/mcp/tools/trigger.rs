//! The trigger of a dead end, as an argument.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::claim::Trigger;
use crate::domain::rejection::Rejection;
use crate::domain::text::{CommandLine, ErrorSignature};
use crate::mcp::server::Server;

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct TriggerArguments {
    paths: Vec<String>,
    #[schemars(with = "Vec<String>")]
    commands: Vec<CommandLine>,
    #[schemars(with = "Vec<String>")]
    symbols: Vec<CommandLine>,
    #[schemars(with = "Option<String>")]
    error_signature: Option<ErrorSignature>,
}

impl Server {
    /// The trigger that a caller gave, with its paths in normal form.
    pub(super) fn trigger(&self, given: TriggerArguments) -> Result<Trigger, Rejection> {
        let TriggerArguments { paths, commands, symbols, error_signature } = given;
        Ok(Trigger { paths: self.scopes("trigger.paths", &paths)?, commands, symbols, error_signature })
    }
}
