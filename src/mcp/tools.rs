//! The tools: each file has a schema and one submit. One tool reads memory, for clients that cannot read resources.

mod add_evidence;
mod alias_target;
mod attach_experiment;
mod cancel_experiment;
mod create_claim;
mod deprecate_claim;
mod intent;
mod lock;
mod plan;
mod positions;
pub(super) mod read_memory;
mod record_decision;
mod record_outcome;
mod report_event;
mod researchers;
mod retract_evidence;
mod run_experiment;
mod sessions;
mod split_session;
mod still;
mod tasks;
mod ways_back;

use std::str::FromStr;

use rmcp::handler::server::router::tool::ToolRouter;

use super::server::Server;
use crate::domain::ids::ClaimId;
use crate::domain::rejection::Rejection;
use crate::domain::text::Statement;

/// A group of tools that a server offers together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toolset {
    /// The tools that every agent needs; the default.
    Core,
    /// The tools for plans, phases and anchors.
    Plan,
    /// The tools for moments that hooks cover, for clients without hooks.
    Session,
    /// The tools that keep the team's memory in order.
    Guard,
    /// The read tool for clients without resources; those clients get it without asking.
    Read,
}

impl Toolset {
    /// Every toolset with its name.
    pub const ALL: [(&'static str, Self); 5] = [
        ("core", Self::Core),
        ("plan", Self::Plan),
        ("session", Self::Session),
        ("guard", Self::Guard),
        ("read", Self::Read),
    ];

    pub(super) fn tools(self) -> ToolRouter<Server> {
        match self {
            Self::Core => {
                Server::create_claim_route()
                    + Server::positions_route()
                    + Server::add_evidence_route()
                    + Server::deprecate_claim_route()
                    + Server::report_event_route()
                    + Server::record_decision_route()
                    + Server::record_outcome_route()
                    + Server::run_experiment_route()
                    + Server::attach_experiment_route()
                    + Server::intent_route()
                    + Server::tasks_route()
            }
            Self::Plan => Server::plan_route() + Server::ways_back_route() + Server::lock_route(),
            Self::Session => {
                Server::sessions_route() + Server::split_session_route() + Server::researchers_route()
            }
            Self::Guard => {
                Server::alias_target_route()
                    + Server::cancel_experiment_route()
                    + Server::still_route()
                    + Server::retract_evidence_route()
            }
            Self::Read => Server::read_memory_route(),
        }
    }
}

/// The name of a toolset that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no toolset: use core, plan, session, guard, read or all, several with commas")]
pub struct BadToolset(String);

/// The toolsets that a server offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolsets(Vec<Toolset>);

impl Toolsets {
    /// The tools for every client.
    pub(super) fn tools(&self) -> ToolRouter<Server> {
        self.0.iter().map(|set| set.tools()).fold(ToolRouter::new(), |all, tools| all + tools)
    }
}

impl Default for Toolsets {
    fn default() -> Self {
        Self(vec![Toolset::Core])
    }
}

impl FromStr for Toolsets {
    type Err = BadToolset;

    fn from_str(text: &str) -> Result<Self, BadToolset> {
        let mut sets = Vec::new();
        for word in text.split(',').map(str::trim) {
            for (name, set) in Toolset::ALL {
                if (word == "all" || word == name) && !sets.contains(&set) {
                    sets.push(set);
                }
            }
            if word != "all" && !Toolset::ALL.iter().any(|(name, _)| *name == word) {
                return Err(BadToolset(word.chars().take(40).collect()));
            }
        }
        Ok(Self(sets))
    }
}

/// A known claim or the text of a new one: exactly one of the two.
fn one_of(
    argument: &str,
    known: Option<ClaimId>,
    text: Option<Statement>,
    fresh: uuid::Uuid,
) -> Result<(ClaimId, Option<Statement>), Rejection> {
    match (known, text) {
        (Some(id), None) => Ok((id, None)),
        (None, Some(text)) => Ok((ClaimId::from_uuid(fresh), Some(text))),
        _ => Err(Rejection::invalid(argument, "give either a statement or a claim_id")),
    }
}
