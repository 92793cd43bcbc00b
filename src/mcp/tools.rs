//! The tools: each file has a schema and one submit. One tool reads memory, for clients that cannot read resources.

mod add_evidence;
mod alias_target;
mod amending;
mod attach_experiment;
mod cancel_experiment;
mod create_claim;
mod deprecate_claim;
mod guards;
mod intent;
mod lock;
mod plan;
mod playbooks;
mod positions;
pub(super) mod read_memory;
mod record_decision;
mod record_outcome;
mod report_event;
mod researchers;
mod retract_evidence;
mod run_experiment;
mod sessions;
mod spaces;
mod split_session;
mod still;
mod tasks;
mod trigger;
mod ways_back;

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::LazyLock;

use rmcp::handler::server::router::tool::ToolRouter;

use super::server::Server;
use crate::domain::ids::ClaimId;
use crate::domain::rejection::Rejection;
use crate::domain::text::Statement;
use crate::identity::Role;

/// A group of tools that a server offers together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toolset {
    /// The tools that every agent needs; the default.
    Core,
    /// The tools for plans, phases, anchors and the spaces of the memory.
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

    /// The routes of the toolset, each with the lowest role that may call its tools.
    fn routes(self) -> Vec<(Role, ToolRouter<Server>)> {
        let core = || {
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
        };
        let session =
            || Server::sessions_route() + Server::split_session_route() + Server::researchers_route();
        let guard = || {
            Server::cancel_experiment_route()
                + Server::still_route()
                + Server::retract_evidence_route()
                + Server::playbooks_route()
        };
        match self {
            Self::Core => vec![(Role::Agent, core())],
            Self::Plan => {
                let plan = Server::plan_route() + Server::ways_back_route() + Server::lock_route();
                vec![(Role::Agent, plan + Server::spaces_route())]
            }
            Self::Session => vec![(Role::Agent, session())],
            // The names of targets are the operator's. Guards are also the architect's, which its rule decides.
            Self::Guard => vec![
                (Role::Admin, Server::alias_target_route()),
                (Role::Agent, guard() + Server::guards_route()),
            ],
            // A viewer reads resources, and this tool returns the same.
            Self::Read => vec![(Role::Viewer, Server::read_memory_route())],
        }
    }

    pub(super) fn tools(self) -> ToolRouter<Server> {
        self.routes().into_iter().fold(ToolRouter::new(), |all, (_, tools)| all + tools)
    }
}

/// The lowest role that may call a tool, offered or not. A name without a tool needs the role of an agent.
pub(super) fn role_for(tool: &str) -> Role {
    static ROLES: LazyLock<HashMap<String, Role>> = LazyLock::new(|| {
        let routes = Toolset::ALL.into_iter().flat_map(|(_, set)| set.routes());
        let tools =
            routes.flat_map(|(role, tools)| tools.map.into_keys().map(move |tool| (tool.into(), role)));
        tools.collect()
    });
    ROLES.get(tool).copied().unwrap_or(Role::Agent)
}

/// The requests besides tool calls. Every role may make them: a viewer reads.
const READS: [&str; 4] = ["resources", "subscriptions", "prompts", "completions"];

/// Every request with the lowest role that may make it: reads first, then each tool.
pub fn requests() -> Vec<(&'static str, Role)> {
    static ALL: LazyLock<Vec<(String, Role)>> = LazyLock::new(|| {
        let sets = Toolset::ALL.into_iter().flat_map(|(_, set)| set.tools().list_all());
        sets.map(|tool| (tool.name.to_string(), role_for(&tool.name))).collect()
    });
    let tools = ALL.iter().map(|(tool, role)| (tool.as_str(), *role));
    READS.into_iter().map(|read| (read, Role::Viewer)).chain(tools).collect()
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

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{Toolset, role_for};
    use crate::identity::Role;

    #[test]
    fn a_role_calls_these_tools() {
        let roles = [Role::Viewer, Role::Agent, Role::Admin];
        let mut table = String::new();
        for (set, toolset) in Toolset::ALL {
            let tools = toolset.tools().list_all().into_iter().map(|tool| tool.name.into_owned());
            for tool in tools.chain((set == "read").then(|| "no_such_tool".to_owned())) {
                let callers = roles.iter().filter(|role| **role >= role_for(&tool)).map(|role| role.as_str());
                table.push_str(&format!("{set} {tool}: {}\n", callers.collect::<Vec<_>>().join(" ")));
            }
        }
        expect![[r#"
            core abstain: agent admin
            core add_evidence: agent admin
            core add_task: agent admin
            core attach_experiment: agent admin
            core challenge: agent admin
            core claim_task: agent admin
            core create_claim: agent admin
            core declare_intent: agent admin
            core deprecate_claim: agent admin
            core record_decision: agent admin
            core record_outcome: agent admin
            core report_event: agent admin
            core run_experiment: agent admin
            core support: agent admin
            core update_task: agent admin
            plan abandon_plan: agent admin
            plan add_phase: agent admin
            plan add_plan: agent admin
            plan lock: agent admin
            plan promote_item: agent admin
            plan rename_plan: agent admin
            plan retire_anchor: agent admin
            plan save_anchor: agent admin
            plan start_phase: agent admin
            session end_session: agent admin
            session record_turn: agent admin
            session snapshot_beliefs: agent admin
            session spawn_researcher: agent admin
            session split_session: agent admin
            session start_session: agent admin
            guard accept_guard: agent admin
            guard accept_playbook: agent admin
            guard alias_target: admin
            guard cancel_experiment: agent admin
            guard dismiss_playbook: agent admin
            guard part_target: admin
            guard retract_evidence: agent admin
            guard still: agent admin
            read read_memory: viewer agent admin
            read no_such_tool: agent admin
        "#]]
        .assert_eq(&table);
    }
}
