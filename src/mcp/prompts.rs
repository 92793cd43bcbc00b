//! Prompts: the texts of `prompts/`, compiled in, with their placeholders filled. The table is [`PROMPTS`].

use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use uuid::Uuid;

use super::server::Server;
use crate::domain::agent::AgentId;
use crate::domain::clean;
use crate::domain::ids::{ClaimId, EventId, SessionId, TaskId};
use crate::domain::names::Sort;
use crate::domain::rejection::Rejection;
use crate::domain::scope::Scope;
use crate::domain::seat::Unpinned;
use crate::identity::Speaker;
use crate::pack;
use crate::reads::Reads;
use crate::system;
use crate::views::{self, ContextOf, Format, UNSEATED, View, ViewError};

/// A prompt: description, arguments, text, and the function that fills it.
struct Known {
    name: &'static str,
    description: &'static str,
    arguments: &'static [Asked],
    text: &'static str,
    fill: fn(&Server, &Given<'_>) -> Result<Filling, ErrorData>,
}

/// An argument: name, description, and whether it is required.
type Asked = (&'static str, &'static str, bool);
/// The values for the placeholders `{name}`, by name.
type Filling = Vec<(&'static str, String)>;

const AGENT: Asked = ("agent", "For whom, another agent than you", false);
const CLAIM: Asked = ("claim", "The claim's id", true);

const PROMPTS: [Known; 7] = [
    Known {
        name: "session-start",
        description: "What you should know, and how to work with the team's memory",
        arguments: &[AGENT],
        text: include_str!("../../prompts/session-start.md"),
        fill: session_start,
    },
    Known {
        name: "pre-stop-gate",
        description: "What your session leaves open, and how to settle it before you stop",
        arguments: &[AGENT],
        text: include_str!("../../prompts/pre-stop-gate.md"),
        fill: pre_stop_gate,
    },
    Known {
        name: "hand-off",
        description: "What you hold, and how to leave it to another agent or to a new session of your own",
        arguments: &[("to", "Who goes on, an agent of the roster", true), AGENT],
        text: include_str!("../../prompts/hand-off.md"),
        fill: hand_off,
    },
    Known {
        name: "review-claim",
        description: "A claim with all that is known of it, and how to take a position that is worth something",
        arguments: &[CLAIM],
        text: include_str!("../../prompts/review-claim.md"),
        fill: review_claim,
    },
    Known {
        name: "resolve-contradiction",
        description: "Both sides of a contradiction, and what ends it",
        arguments: &[("id", "The contradiction's id, of hivemind://contradictions", true)],
        text: include_str!("../../prompts/resolve-contradiction.md"),
        fill: resolve_contradiction,
    },
    Known {
        name: "design-experiment",
        description: "A claim in doubt, the profiles that can speak to it, and how to settle it by a run",
        arguments: &[CLAIM],
        text: include_str!("../../prompts/design-experiment.md"),
        fill: design_experiment,
    },
    Known {
        name: "post-mortem",
        description: "A task that failed, and how to leave a warning where the next one would repeat it",
        arguments: &[("task", "The task: T7, or its id", true)],
        text: include_str!("../../prompts/post-mortem.md"),
        fill: post_mortem,
    },
];

pub(super) fn listed() -> Vec<Prompt> {
    let argument = |(name, description, required): &Asked| {
        PromptArgument::new(*name).with_description(*description).with_required(*required)
    };
    PROMPTS
        .iter()
        .map(|known| {
            let arguments = known.arguments.iter().map(argument).collect();
            Prompt::new(known.name, Some(known.description), Some(arguments))
        })
        .collect()
}

/// The arguments and the session of one request.
struct Given<'a>(Option<&'a JsonObject>, SessionId);

impl Given<'_> {
    fn word(&self, name: &str) -> Option<&str> {
        self.0?.get(name)?.as_str()
    }

    fn needed(&self, name: &str) -> Result<&str, ErrorData> {
        let word = self.word(name).filter(|word| !word.trim().is_empty());
        word.ok_or_else(|| {
            ErrorData::invalid_params(format!("{name} is missing: prompts/list says what it is"), None)
        })
    }
}

impl Server {
    /// Fills one prompt.
    pub(super) fn prompt(
        &self,
        name: &str,
        arguments: Option<&JsonObject>,
        session: SessionId,
    ) -> Result<GetPromptResult, ErrorData> {
        let known = PROMPTS.iter().find(|known| known.name == name).ok_or_else(|| {
            ErrorData::invalid_params(format!("no prompt is called `{name}`: see prompts/list"), None)
        })?;
        let filling = (known.fill)(self, &Given(arguments, session))?;
        let text = clean::cleaned(&self.shortened(&filled(known.text, &filling))).into_owned();
        Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
    }

    /// The id of the entity that an argument names.
    fn named_in(&self, given: &Given<'_>, name: &str, sort: Sort) -> Result<Uuid, ErrorData> {
        let wrong = |refused: Rejection| ErrorData::invalid_params(format!("{name}: {refused}"), None);
        self.named(sort, given.needed(name)?).map_err(wrong)
    }

    /// The agent for whom a prompt is filled, with the session of this server.
    fn asker(&self, given: &Given<'_>) -> Result<ContextOf, ErrorData> {
        let speaker = self.caller().speaks_for(given.word("agent"), None);
        let Speaker { agent, unpinned } =
            speaker.map_err(|refused| ErrorData::invalid_params(refused.to_string(), None))?;
        let agent = match unpinned {
            None => agent,
            // A pane that is not pinned may name any agent here: the name selects the text, and nothing is written.
            Some(Unpinned { named: Some(named), .. }) => named,
            Some(_) => self.agent_of(&given.1).unwrap_or_else(|| AgentId::recorded(UNSEATED)),
        };
        Ok(ContextOf::new(agent, Some(given.1.to_string())))
    }

    /// Asks a question. An entity that does not exist is reported as an invalid argument.
    fn ask<T>(&self, question: impl FnOnce(&mut Reads) -> Result<T, ViewError>) -> Result<T, ErrorData> {
        self.with_reads(question).map_err(|error| match error {
            ViewError::NotFound(refused) => ErrorData::invalid_params(refused.message, None),
            ViewError::Store(_) | ViewError::Ledger(_) | ViewError::Travel(_) => {
                ErrorData::internal_error(error.to_string(), None)
            }
        })
    }
}

impl Server {
    /// The answer to a question as text.
    fn text(&self, view: &View) -> Result<String, ErrorData> {
        let text = |reads: &mut Reads| views::answer(reads, self.config(), view, system::now(), Format::Text);
        Ok(self.ask(text)?.into_text())
    }
}

fn session_start(server: &Server, given: &Given<'_>) -> Result<Filling, ErrorData> {
    let of = server.asker(given)?;
    let agent = of.agent.to_string();
    let view = View::Context(of);
    Ok(vec![("agent", agent), ("context", server.text(&view)?)])
}

fn pre_stop_gate(server: &Server, given: &Given<'_>) -> Result<Filling, ErrorData> {
    let of = server.asker(given)?;
    let gate = server.ask(|reads| Ok(reads.ask(system::now(), |store| views::gate(store, &of))?.0))?;
    let gate = gate.unwrap_or_default();
    let nothing =
        || "Nothing of your session is open: no task, no lease, no claim without evidence.\n".to_owned();
    let gate = pack::stop_gate(&gate).unwrap_or_else(nothing);
    Ok(vec![("agent", of.agent.to_string()), ("gate", gate)])
}

fn hand_off(server: &Server, given: &Given<'_>) -> Result<Filling, ErrorData> {
    let of = server.asker(given)?;
    let to = server.caller().roster().resolve(given.needed("to")?);
    let to = to.map_err(|unknown| ErrorData::invalid_params(format!("to: {unknown}"), None))?;
    let tasks = server.ask(|reads| views::held(reads, &of, system::now()))?;
    Ok(vec![("agent", of.agent.to_string()), ("to", to.to_string()), ("tasks", quoted(&tasks))])
}

fn review_claim(server: &Server, given: &Given<'_>) -> Result<Filling, ErrorData> {
    let id = ClaimId::from_uuid(server.named_in(given, "claim", Sort::Claim)?);
    Ok(vec![("id", id.to_string()), ("claim", quoted(&server.text(&View::Claim(id))?))])
}

fn resolve_contradiction(server: &Server, given: &Given<'_>) -> Result<Filling, ErrorData> {
    let id = EventId::from_uuid(server.named_in(given, "id", Sort::Contradiction)?);
    let both = server.text(&View::Contradiction(id))?;
    Ok(vec![("id", id.to_string()), ("contradiction", quoted(&both))])
}

fn design_experiment(server: &Server, given: &Given<'_>) -> Result<Filling, ErrorData> {
    let id = ClaimId::from_uuid(server.named_in(given, "claim", Sort::Claim)?);
    let text = server.text(&View::Claim(id))?;
    let profiles = server.ask(|reads| {
        let (claim, _) = reads.ask(system::now(), |store| store.claim(id))?;
        let scopes = claim.flatten().map(|claim| claim.summary.scopes).unwrap_or_default();
        let scopes: Vec<Scope> = scopes.into_iter().filter_map(|scope| scope.try_into().ok()).collect();
        Ok(views::profiles_for(reads.workspace(), &scopes))
    })?;
    Ok(vec![("id", id.to_string()), ("claim", quoted(&text)), ("profiles", profiles)])
}

fn post_mortem(server: &Server, given: &Given<'_>) -> Result<Filling, ErrorData> {
    let id = TaskId::from_uuid(server.named_in(given, "task", Sort::Task)?);
    let task = server.text(&View::Task(id))?;
    Ok(vec![("id", id.to_string()), ("task", quoted(&task))])
}

/// Stored text as a quotation: each line is quoted.
fn quoted(text: &str) -> String {
    text.lines().map(|line| format!("> {line}\n")).collect()
}

/// The text with each `{name}` replaced. Replaced values are not searched again, so a `{name}` inside stored text
/// stays text.
fn filled(text: &str, filling: &[(&str, String)]) -> String {
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        whole.push_str(before);
        let named = after.split_once('}').and_then(|(name, after)| {
            let (_, value) = filling.iter().find(|(known, _)| *known == name)?;
            Some((value, after))
        });
        rest = match named {
            Some((value, after)) => {
                whole.push_str(value);
                after
            }
            None => {
                whole.push('{');
                after
            }
        };
    }
    whole + rest
}
