//! `completion/complete`: proposes values for an argument of a template or a prompt.

use rmcp::ErrorData;
use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference};

use super::server::Server;
use super::{prompts, resources};
use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, SearchMode, Status};
use crate::domain::event::Event;
use crate::domain::experiment::RunState;
use crate::domain::memory::{MemoryKind, Space};
use crate::domain::names::Sort;
use crate::domain::plan::TaskStatus;
use crate::runner::profile::Catalog;
use crate::store::{ContradictionFilter, Matches, Reader, StoreError};

/// The most values of one answer; the protocol sets the limit.
const MOST: usize = CompletionInfo::MAX_VALUES;

impl Server {
    /// Completes one argument. An argument that takes free text has no completions.
    pub(super) fn completion(&self, request: &CompleteRequestParams) -> Result<CompleteResult, ErrorData> {
        let (argument, typed) = (request.argument.name.as_str(), request.argument.value.trim());
        let matches = match &request.r#ref {
            Reference::Resource(template) => {
                if !resources::variables(&template.uri).any(|variable| variable == argument) {
                    return Err(unknown("resource template", &template.uri, argument));
                }
                self.of_template(&template.uri, argument, typed)?
            }
            Reference::Prompt(prompt) => {
                let prompts = prompts::listed();
                let mut arguments = prompts.iter().filter(|known| known.name == prompt.name);
                if !arguments
                    .any(|known| known.arguments.iter().flatten().any(|known| known.name == argument))
                {
                    return Err(unknown("prompt", &prompt.name, argument));
                }
                self.of_prompt(argument, typed)?
            }
            _ => {
                return Err(ErrorData::invalid_params(
                    "only ref/resource and ref/prompt have completions",
                    None,
                ));
            }
        };
        let has_more = matches.total > matches.values.len() as u64;
        let total = u32::try_from(matches.total).ok();
        let completion = CompletionInfo::with_pagination(matches.values, total, has_more)
            .map_err(|problem| ErrorData::internal_error(problem, None))?;
        Ok(CompleteResult::new(completion))
    }

    fn of_template(&self, template: &str, argument: &str, typed: &str) -> Result<Matches, ErrorData> {
        let is_of_events = template.starts_with("hivemind://events");
        match argument {
            "id" if is_of_events => self.with_reads(|reads| match reads.ledger() {
                Ok(Some(ledger)) => ledger
                    .ids(&typed.to_lowercase(), MOST)
                    .map(|(values, total)| Matches { values, total })
                    .map_err(|error| ErrorData::internal_error(error.to_string(), None)),
                Ok(None) => Ok(Matches::default()),
                Err(error) => Err(ErrorData::internal_error(error.to_string(), None)),
            }),
            "id" if template.starts_with("hivemind://contradictions") => {
                self.of_store(|store| store.names_beginning(Sort::Contradiction, typed, MOST))
            }
            "id" if template.starts_with("hivemind://patterns") => {
                self.of_store(|store| store.names_beginning(Sort::Pattern, typed, MOST))
            }
            "id" if template.starts_with("hivemind://guards") => {
                self.of_store(|store| store.names_beginning(Sort::Guard, typed, MOST))
            }
            "id" if template.starts_with("hivemind://playbooks") => {
                self.of_store(|store| store.names_beginning(Sort::Playbook, typed, MOST))
            }
            "id" | "why" => self.of_store(|store| store.names_beginning(Sort::Claim, typed, MOST)),
            "run" => self.of_store(|store| store.names_beginning(Sort::Run, typed, MOST)),
            "all" | "explain" | "never_used" => Ok(starting(["true"].into_iter(), typed)),
            "profile" => Ok(self.profiles(typed)),
            "scope" => self.of_store(|store| store.scopes(typed, MOST)),
            "target" => self.of_store(|store| {
                let prefixed = typed.to_lowercase().starts_with("target:");
                let typed =
                    if prefixed { typed.to_lowercase() } else { format!("target:{}", typed.to_lowercase()) };
                store.targets_like(&typed, MOST)
            }),
            "task" => self.of_store(|store| store.names_beginning(Sort::Task, typed, MOST)),
            "plan" => self.of_store(|store| store.names_beginning(Sort::Plan, typed, MOST)),
            "phase" => self.of_store(|store| store.names_beginning(Sort::Phase, typed, MOST)),
            "session" => self.of_store(|store| store.sessions(typed, MOST)),
            "space" => Ok(starting(Space::ALL.iter().map(|space| space.as_str()), typed)),
            "kind" => Ok(starting(MemoryKind::ALL.iter().map(|kind| kind.as_str()), typed)),
            "owner" if template.starts_with("hivemind://memory") => {
                self.of_store(|store| store.sessions(typed, MOST))
            }
            "agent" | "owner" | "holder" => Ok(self.names(self.caller().roster().agents().iter(), typed)),
            "status" if template.starts_with("hivemind://experiments") => {
                Ok(starting(RunState::ALL.iter().map(|state| state.as_str()), typed))
            }
            "status" if template.starts_with("hivemind://tasks") => {
                Ok(one_more_of(TaskStatus::ALL.iter().map(|status| status.as_str()), typed))
            }
            "status" => Ok(one_more_of(Status::ALL.iter().map(|status| status.as_str()), typed)),
            "type" if is_of_events => Ok(starting(Event::KINDS.iter().copied(), typed)),
            "type" => Ok(starting(ClaimType::ALL.iter().map(|kind| kind.as_str()), typed)),
            "mode" => Ok(starting(SearchMode::ALL.iter().map(|mode| mode.as_str()), typed)),
            _ => Ok(Matches::default()),
        }
    }

    fn of_prompt(&self, argument: &str, typed: &str) -> Result<Matches, ErrorData> {
        match (argument, self.caller().pinned()) {
            // A pinned server speaks for this agent only.
            ("agent", Some(pinned)) => Ok(starting([pinned.as_str()].into_iter(), typed)),
            ("agent" | "to", _) => Ok(self.names(self.caller().roster().panes(), typed)),
            ("claim", _) => self.of_store(|store| store.names_beginning(Sort::Claim, typed, MOST)),
            ("task", _) => self.of_store(|store| store.names_beginning(Sort::Task, typed, MOST)),
            // Only open contradictions need an arbiter, so finished ones are left out.
            ("id", _) => self.of_store(|store| {
                let open = ContradictionFilter { limit: MOST, ..ContradictionFilter::default() };
                let open = store.contradictions(&open)?.contradictions;
                let mut values =
                    open.iter().map(|both| store.name_of(both.id)).collect::<Result<Vec<_>, _>>()?;
                values.retain(|name| name.starts_with(&typed.to_uppercase()));
                Ok(Matches { total: values.len() as u64, values })
            }),
            _ => Ok(Matches::default()),
        }
    }

    /// Profiles, by name.
    fn profiles(&self, typed: &str) -> Matches {
        let workspace = self.with_reads(|reads| reads.workspace().clone());
        let catalog = Catalog::load(&workspace.marker_dir(), &workspace.trusted_profiles());
        starting(catalog.profiles().map(|known| known.profile.name.as_str()), typed)
    }

    /// Agents by name. An alias is proposed once its first letter is typed.
    fn names<'a>(&'a self, agents: impl Iterator<Item = &'a AgentId>, typed: &str) -> Matches {
        let agents: Vec<&AgentId> = agents.collect();
        let roster = self.caller().roster();
        let aliases = agents.iter().flat_map(|agent| roster.aliases_of(agent)).filter(|_| !typed.is_empty());
        starting(agents.iter().map(|agent| agent.as_str()).chain(aliases), typed)
    }

    fn of_store(
        &self,
        question: impl FnOnce(&Reader) -> Result<Matches, StoreError>,
    ) -> Result<Matches, ErrorData> {
        self.with_reads(|reads| match reads.store()? {
            Some(store) => question(store),
            None => Ok(Matches::default()),
        })
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }
}

/// The words that start with the typed text, in their given order.
fn starting<'a>(words: impl Iterator<Item = &'a str>, typed: &str) -> Matches {
    let typed = typed.to_lowercase();
    let values: Vec<String> = words.filter(|word| word.starts_with(&typed)).map(str::to_owned).collect();
    Matches { total: values.len() as u64, values }
}

/// Completes the last word of a comma-separated list with words that the list does not hold yet.
fn one_more_of<'a>(words: impl Iterator<Item = &'a str>, typed: &str) -> Matches {
    let Some((before, last)) = typed.rsplit_once(',') else { return starting(words, typed) };
    let mut matches = starting(words.filter(|word| !before.split(',').any(|known| known == *word)), last);
    matches.values.iter_mut().for_each(|word| *word = format!("{before},{word}"));
    matches
}

fn unknown(what: &str, name: &str, argument: &str) -> ErrorData {
    let name: String = name.chars().take(200).collect();
    let argument: String = argument.chars().take(60).collect();
    ErrorData::invalid_params(format!("no {what} `{name}` with an argument `{argument}` is listed"), None)
}
