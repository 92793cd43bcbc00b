//! Prompts: text of `prompts/`, compiled in, with the pack put where the text says.

use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};

use super::server::Server;
use crate::domain::ids::ClaimId;
use crate::domain::rejection::Rejection;
use crate::domain::scope::Scope;
use crate::pack;
use crate::system;
use crate::views::{self, ContextOf, View, ViewError};

const DESIGN_EXPERIMENT: &str = include_str!("../../prompts/design-experiment.md");
const SESSION_START: &str = include_str!("../../prompts/session-start.md");

pub(super) fn listed() -> Vec<Prompt> {
    let agent = PromptArgument::new("agent")
        .with_description("Who you are; leave out in a pinned pane")
        .with_required(false);
    let description = "What you should know, and how to work with the team's memory";
    let claim = PromptArgument::new("claim").with_description("The claim's id").with_required(true);
    let design = "A claim in doubt, the profiles that can speak to it, and how to settle it by a run";
    vec![
        Prompt::new("session-start", Some(description), Some(vec![agent])),
        Prompt::new("design-experiment", Some(design), Some(vec![claim])),
    ]
}

impl Server {
    /// Fills one prompt.
    pub(super) fn prompt(
        &self,
        name: &str,
        arguments: Option<&JsonObject>,
    ) -> Result<GetPromptResult, ErrorData> {
        if name == "design-experiment" {
            return self.design_experiment(arguments);
        }
        if name != "session-start" {
            return Err(ErrorData::invalid_params(
                format!("no prompt is called `{name}`: see prompts/list"),
                None,
            ));
        }
        let refused = |rejection: Rejection| ErrorData::invalid_params(rejection.to_string(), None);
        let named = arguments.and_then(|given| given.get("agent")).and_then(serde_json::Value::as_str);
        let agent = self.caller().speaks_for(named).map_err(refused)?;
        let session = Some(self.caller().session().to_string());
        let budget = pack::DEFAULT_BUDGET_CHARS;
        let view = View::Context(ContextOf { agent: agent.clone(), session, budget, window: None });
        let answer = self
            .with_reads(|reads| views::answer(reads, self.config(), &view, system::now()))
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let text = SESSION_START.replace("{agent}", agent.as_str()).replace("{context}", &answer.text);
        Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
    }

    fn design_experiment(&self, arguments: Option<&JsonObject>) -> Result<GetPromptResult, ErrorData> {
        let given = arguments.and_then(|given| given.get("claim")).and_then(serde_json::Value::as_str);
        let id: ClaimId = given
            .unwrap_or_default()
            .parse()
            .map_err(|problem| ErrorData::invalid_params(format!("claim: {problem}"), None))?;
        let (answer, profiles) = self
            .with_reads(|reads| {
                let answer = views::answer(reads, self.config(), &View::Claim(id), system::now())?;
                let scopes = answer.json["scopes"].as_array().into_iter().flatten();
                let scopes: Vec<Scope> =
                    scopes.filter_map(|scope| scope.as_str()?.to_owned().try_into().ok()).collect();
                let (_, profiles) = views::profiles(reads.workspace(), &scopes);
                Ok((answer, profiles))
            })
            .map_err(|error: ViewError| ErrorData::invalid_params(error.to_string(), None))?;
        let quoted: String = answer.text.lines().map(|line| format!("> {line}\n")).collect();
        let text = DESIGN_EXPERIMENT
            .replace("{id}", &id.to_string())
            .replace("{profiles}", &profiles)
            .replace("{claim}", &quoted);
        Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
    }
}
