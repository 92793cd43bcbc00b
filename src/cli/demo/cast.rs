//! The four agents and their actions in the story: call a tool, read a resource, wait for a change. Each action becomes
//! a part of the current step.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

use super::stage::{OURS, Stage, Tree};
use crate::ledger::LedgerError;
use crate::mcp::{Era, Pane, PaneError, ToolAnswer};
use crate::system;

/// Time limit for an immediate answer. Only a broken build or a very busy machine takes longer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Pause before the repetition of a queued write.
pub(super) const ASK_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// The agents, by the seats that their panes take. Two have clients of the older protocol, two of the newer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Agent {
    Architect,
    Devops,
    Analyst,
    Claude2,
}

impl Agent {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Architect => "architect",
            Self::Devops => "devops",
            Self::Analyst => "analyst",
            Self::Claude2 => "claude-2",
        }
    }

    const fn era(self) -> Era {
        match self {
            Self::Architect | Self::Devops => Era::Legacy,
            Self::Analyst | Self::Claude2 => Era::Modern,
        }
    }

    /// The client name that the pane sends.
    const fn client(self) -> &'static str {
        match self {
            Self::Architect | Self::Claude2 => "claude-code",
            Self::Devops => "codex-mcp-client",
            Self::Analyst => "gemini-cli-mcp-client",
        }
    }

    const fn tree(self) -> Tree {
        match self {
            Self::Architect | Self::Devops => Tree::One,
            Self::Analyst | Self::Claude2 => Tree::Two,
        }
    }
}

/// One step of the story, as it happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Step {
    /// Stable name, for programs.
    pub(super) name: &'static str,
    /// The acting agent.
    pub(super) agent: &'static str,
    /// The event of the step, in a sentence.
    pub(super) what: String,
    /// The call, as typed at a prompt.
    pub(super) call: Option<String>,
    /// The answer: a receipt or a refusal.
    pub(super) receipt: Option<String>,
    pub(super) refused: bool,
    /// What an agent reads afterwards: a heading, and lines below it.
    pub(super) seen: Vec<String>,
}

/// The reason why the story stops.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    /// A pane does not answer.
    #[error(transparent)]
    Pane(#[from] PaneError),
    /// The ledger is unreadable.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The workspace or the writer cannot be started or stopped.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// An answer in JSON does not parse.
    #[error("an answer is not the JSON it should be: {0}")]
    Json(#[from] serde_json::Error),
    /// A step does not see its expected result.
    #[error("{0}")]
    Unexpected(String),
}

/// Fails the step with `otherwise` unless `holds` is true.
pub(super) fn check(holds: bool, otherwise: impl Into<String>) -> Result<(), Problem> {
    if holds { Ok(()) } else { Err(Problem::Unexpected(otherwise.into())) }
}

/// Arguments of a tool call, in the order of the output.
pub(super) type Arguments<'a> = &'a [(&'a str, Value)];

pub(super) struct Cast {
    panes: [Pane; 4],
}

impl Cast {
    /// Starts all panes at once, as their clients do. No argument names the agent.
    pub(super) async fn enter(stage: &Stage) -> Result<Self, Problem> {
        let pane = |agent: Agent| {
            let mut command = tokio::process::Command::new(stage.binary());
            command.arg("serve").current_dir(stage.tree(agent.tree()));
            for variable in OURS.iter().chain(&system::SESSION_VARIABLES) {
                command.env_remove(variable);
            }
            Pane::called(agent.client(), command, agent.era())
        };
        let (architect, devops, analyst, claude_2) = tokio::try_join!(
            pane(Agent::Architect),
            pane(Agent::Devops),
            pane(Agent::Analyst),
            pane(Agent::Claude2),
        )?;
        Ok(Self { panes: [architect, devops, analyst, claude_2] })
    }

    /// Closes every pane and waits for the end of its process.
    pub(super) async fn leave(self) {
        let [architect, devops, analyst, claude_2] = self.panes;
        tokio::join!(architect.close(), devops.close(), analyst.close(), claude_2.close());
    }

    fn pane(&self, agent: Agent) -> &Pane {
        &self.panes[agent as usize]
    }

    /// Calls a tool and expects a committed receipt. A slow machine may need longer to start the writer, so a queued
    /// call with an idempotency key is repeated, as a client does.
    pub(super) async fn writes(
        &self,
        step: &mut Step,
        agent: Agent,
        tool: &str,
        arguments: Arguments<'_>,
    ) -> Result<ToolAnswer, Problem> {
        let has_key = arguments.iter().any(|(name, _)| *name == "idempotency_key");
        let deadline = system::instant() + PATIENCE;
        let mut answer = self.call(step, agent, tool, arguments).await?;
        while has_key && answer.field("state") == "queued" && system::instant() < deadline {
            tokio::time::sleep(ASK_AGAIN_AFTER).await;
            answer = self.call(step, agent, tool, arguments).await?;
        }
        let committed = !answer.refused && answer.field("state") == "committed";
        check(committed, format!("{tool} is not committed: {}", answer.text))?;
        Ok(answer)
    }

    /// Calls a tool and expects a refusal with this code and an unchanged ledger.
    pub(super) async fn is_refused(
        &self,
        step: &mut Step,
        agent: Agent,
        (tool, arguments): (&str, Arguments<'_>),
        code: &str,
    ) -> Result<ToolAnswer, Problem> {
        let status = "hivemind://status";
        let before = self.reads_json(agent, status).await?["ledger_seq"].clone();
        let answer = self.call(step, agent, tool, arguments).await?;
        let refused = answer.refused && answer.field("code") == code;
        check(refused, format!("{tool} is not refused with {code}: {}", answer.text))?;
        let after = self.reads_json(agent, status).await?["ledger_seq"].clone();
        check(before == after, format!("the refused {tool} moved the ledger from {before} to {after}"))?;
        step.seen.push(format!("nothing: the ledger has {after} events, as before"));
        Ok(answer)
    }

    async fn call(
        &self,
        step: &mut Step,
        agent: Agent,
        tool: &str,
        arguments: Arguments<'_>,
    ) -> Result<ToolAnswer, Problem> {
        let object: Map<String, Value> =
            arguments.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let answer = self.pane(agent).call(tool, Value::Object(object)).await?;
        step.call = Some(short(tool, arguments));
        step.receipt = Some(answer.text.clone());
        step.refused = answer.refused;
        Ok(answer)
    }

    pub(super) async fn reads(&self, agent: Agent, uri: &str) -> Result<String, Problem> {
        Ok(self.pane(agent).read(uri).await?)
    }

    /// Reads a resource as JSON.
    pub(super) async fn reads_json(&self, agent: Agent, uri: &str) -> Result<Value, Problem> {
        let separator = if uri.contains('?') { '&' } else { '?' };
        let text = self.reads(agent, &format!("{uri}{separator}format=json")).await?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Subscribes to the changes of a resource.
    pub(super) async fn subscribes(&mut self, agent: Agent, uri: &str) -> Result<(), Problem> {
        Ok(self.panes[agent as usize].subscribe(&[uri]).await?)
    }

    /// Waits for a notification of a change, and returns the changed resource.
    pub(super) async fn hears(&mut self, agent: Agent) -> Result<String, Problem> {
        let heard = self.panes[agent as usize].updated(PATIENCE).await;
        heard.ok_or_else(|| Problem::Unexpected(format!("{} hears of nothing", agent.name())))
    }
}

/// A call in one line.
fn short(tool: &str, arguments: Arguments<'_>) -> String {
    let words = arguments.iter().map(|(name, value)| format!(" {name}={}", word(value)));
    std::iter::once(tool.to_owned()).chain(words).collect()
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) if text.contains(char::is_whitespace) => format!("\"{text}\""),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(word).collect::<Vec<_>>().join(","),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{name}:{}", word(value)));
            fields.collect::<Vec<_>>().join(",")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}
