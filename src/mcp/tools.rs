//! The tools: each file is a schema and one submit. One reads memory, for clients that read no resource.

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

/// A group of tools that a front offers together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toolset {
    /// What every agent needs; offered unless told otherwise.
    Core,
    /// The frame that tasks stand in.
    Plan,
    /// What hooks do where a client has them.
    Session,
    /// What keeps the team's memory in order.
    Guard,
    /// What clients without a resource tool read with; they are offered it unasked.
    Read,
}

impl Toolset {
    /// Every set, with the name it goes by.
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

/// No set has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no toolset: use core, plan, session, guard, read or all, several with commas")]
pub struct BadToolset(String);

/// The sets a front offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolsets(Vec<Toolset>);

impl Toolsets {
    /// The tools that every client is offered.
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

/// A known claim or the text of a new one, never both or neither.
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
