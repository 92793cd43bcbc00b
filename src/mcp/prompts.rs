//! Prompts: text of `prompts/`, compiled in, with the pack put where the text says.

use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};

use super::server::Server;
use crate::domain::rejection::Rejection;
use crate::pack;
use crate::system;
use crate::views::{self, View};

const SESSION_START: &str = include_str!("../../prompts/session-start.md");

pub(super) fn listed() -> Vec<Prompt> {
    let agent = PromptArgument::new("agent")
        .with_description("Who you are; leave out in a pinned pane")
        .with_required(false);
    let description = "What you should know, and how to work with the team's memory";
    vec![Prompt::new("session-start", Some(description), Some(vec![agent]))]
}

impl Server {
    /// Fills one prompt.
    pub(super) fn prompt(
        &self,
        name: &str,
        arguments: Option<&JsonObject>,
    ) -> Result<GetPromptResult, ErrorData> {
        if name != "session-start" {
            return Err(ErrorData::invalid_params(
                format!("no prompt is called `{name}`: see prompts/list"),
                None,
            ));
        }
        let refused = |rejection: Rejection| ErrorData::invalid_params(rejection.to_string(), None);
        let named = arguments.and_then(|given| given.get("agent")).and_then(serde_json::Value::as_str);
        let agent = self.caller().speaks_for(named).map_err(refused)?;
        let view = View::Context(agent.clone(), pack::DEFAULT_BUDGET_CHARS);
        let answer = self
            .with_reads(|reads| views::answer(reads, self.config(), &view, system::now()))
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let text = SESSION_START.replace("{agent}", agent.as_str()).replace("{context}", &answer.text);
        Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
    }
}
