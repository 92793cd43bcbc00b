//! The identity of a caller: the agent pinned by the front, or the agent of the pane's session. A caller cannot
//! speak for another agent.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::client_session::ClientSession;
use crate::domain::agent::{AgentId, PANE, Roster};
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::seat::{SeatsOf, Unpinned};
use crate::domain::text::{ToolName, Worktree};
use crate::hooks::Client;

/// The signs by which a human at a terminal differs from a pane of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Whether one of the standard streams is a terminal.
    pub has_terminal: bool,
    /// The evidence that a client of agents started the process; `None` without any.
    pub client: Option<String>,
}

impl Surroundings {
    /// Accepts a human at a terminal. It is a fence and not a wall: a process of the same user can remove the signs.
    ///
    /// # Errors
    /// `not_allowed` when a client started the process, or no stream is a terminal.
    pub fn human(&self) -> Result<(), Rejection> {
        let (why, hint) = match self {
            Self { client: Some(sign), .. } => (
                sign.as_str(),
                "speak as the agent you are (leave out --agent operator), or ask the human to type it in a terminal \
                 of their own",
            ),
            Self { has_terminal: false, .. } => (
                "there is no terminal",
                "type it at a terminal; a script gives its reason with --operator-override REASON, which is recorded",
            ),
            Self { .. } => return Ok(()),
        };
        let message = format!("only a human at a terminal is the operator, and {why}");
        Err(Rejection::new(Code::NotAllowed, message, hint))
    }
}

/// The rights of a caller, from the lowest to the highest. Each tool needs one; resources are open to all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Reads. It cannot call a tool that writes.
    Viewer,
    /// Calls every tool except the operator's.
    Agent,
    /// Calls every tool.
    Admin,
}

/// The text names no role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no role: use viewer, agent or admin")]
pub struct BadRole(String);

impl Role {
    /// The name of the role on the command line and in files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Agent => "agent",
            Self::Admin => "admin",
        }
    }
}

impl FromStr for Role {
    type Err = BadRole;

    fn from_str(text: &str) -> Result<Self, BadRole> {
        [Self::Viewer, Self::Agent, Self::Admin]
            .into_iter()
            .find(|role| role.as_str() == text.trim())
            .ok_or_else(|| BadRole(text.chars().take(40).collect()))
    }
}

/// The caller of a front, with everything that decides for whom it speaks.
#[derive(Debug, Clone)]
pub struct Caller {
    roster: Roster,
    pinned: Option<AgentId>,
    first_seats: BTreeMap<Client, AgentId>,
    /// The agent after which the work tree is named.
    of_work_tree: Option<AgentId>,
    is_any_agent: bool,
    session: SessionId,
    client: Option<ClientSession>,
    is_told: bool,
    task: Option<TaskId>,
    role: Role,
    /// The sessions of the panes whose clients started this one's, and of the other servers of its client.
    above: Vec<SessionId>,
    /// The client process of the pane. Every server below it belongs to that pane.
    process: Option<u32>,
}

/// The agent that a call speaks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Speaker {
    /// The agent. For a pane without a pin, it is the first seat, provided that the writer finds it free.
    pub agent: AgentId,
    /// The facts by which the writer finds the agent of a pane without a pin; `None` when the front knows it.
    pub unpinned: Option<Unpinned>,
}

/// The seats for a client, by the name that the client reports. The first one is `of_work_tree`, else that of the client
/// in `first_seats`, which come from `[clients]` in config.toml.
fn seats_of(first_seats: &BTreeMap<Client, AgentId>, of_work_tree: Option<&AgentId>, name: &str) -> SeatsOf {
    let known = Client::named(name);
    let name = ToolName::try_from(name.chars().take(ToolName::MAX_CHARS).collect::<String>());
    SeatsOf {
        name: name.unwrap_or_else(|_| PANE.parse().expect("a short word")),
        word: known.map_or(PANE, Client::as_str).to_owned(),
        first: of_work_tree.or_else(|| first_seats.get(&known?)).cloned(),
    }
}

/// The agent whose name a work tree has, or else the only agent whose name is its first or last word, such as `wt.devops`.
/// What the architect may end is no pane's by such a guess.
fn named_in<'r>(roster: &'r Roster, worktree: &str) -> Option<&'r AgentId> {
    // An agent may have more than one word, such as `db-admin`.
    let words = |text: &str| {
        let words: Vec<&str> = text.split(|at: char| !at.is_alphanumeric()).collect();
        format!("-{}-", words.join("-").to_lowercase())
    };
    let tree = words(worktree);
    let is_exact = |agent: &&AgentId| words(agent.as_str()) == tree;
    let is_at_an_end = |agent: &&AgentId| {
        let name = words(agent.as_str());
        tree.starts_with(&name) || tree.ends_with(&name)
    };
    let mut within: Vec<&AgentId> = roster.panes().filter(is_at_an_end).collect();
    // `db-admin-tree` is that of `db-admin`, and not of `db`.
    let all = within.clone();
    let is_part =
        |of: &AgentId, agent: &AgentId| of != agent && words(of.as_str()).contains(&words(agent.as_str()));
    within.retain(|agent| !all.iter().any(|other| is_part(other, agent)));
    let only = within.pop().filter(|only| within.is_empty() && **only != AgentId::architect());
    roster.panes().find(is_exact).or(only)
}

impl Caller {
    /// The caller of a front. `agent` pins it (`--agent`, `HM_AGENT`); without it, the caller is the agent of
    /// its session.
    ///
    /// # Errors
    /// `unknown_agent` with the roster, `not_allowed` for `system`.
    pub fn new(roster: Roster, agent: Option<&str>, session: SessionId) -> Result<Self, Rejection> {
        let pinned = agent.map(|name| resolve(&roster, name)).transpose()?;
        if pinned.as_ref() == Some(&AgentId::system()) {
            return Err(Rejection::new(
                Code::NotAllowed,
                "`system` is the writer's own name",
                "pin the agent this pane is",
            ));
        }
        // The names of targets are the operator's. A process that can start a pane can also write the files, so a lower
        // role would not restrict it.
        let is_operator = pinned.as_ref() == Some(&AgentId::operator());
        let role = if is_operator { Role::Admin } else { Role::Agent };
        let (first_seats, of_work_tree, is_any_agent) = (BTreeMap::new(), None, false);
        let (client, is_told, task) = (None, false, None);
        Ok(Self {
            roster,
            pinned,
            first_seats,
            of_work_tree,
            is_any_agent,
            session,
            client,
            is_told,
            task,
            role,
            above: Vec::new(),
            process: None,
        })
    }

    /// Sets the first seat of each client, and the linked work tree of the pane. Where the name of that work tree holds one
    /// agent of the roster, such as `devops-tree`, that agent is the first seat.
    #[must_use]
    pub fn seated_by(self, first_seats: BTreeMap<Client, AgentId>, worktree: Option<&Worktree>) -> Self {
        let of_work_tree = worktree.and_then(|worktree| named_in(&self.roster, worktree.as_str())).cloned();
        Self { first_seats, of_work_tree, ..self }
    }

    /// Sets the sessions of the panes whose clients started the client of this one.
    #[must_use]
    pub fn below(self, above: Vec<SessionId>) -> Self {
        Self { above, ..self }
    }

    /// Sets the client process of the pane.
    #[must_use]
    pub fn in_process(self, process: Option<u32>) -> Self {
        Self { process, ..self }
    }

    /// The client process of the pane; `None` where it is unknown or runs many panes.
    pub const fn process(&self) -> Option<u32> {
        self.process
    }

    /// The caller beside other servers of its client, each with its session and agent. They are one pane, so a pin to
    /// another agent than theirs does not count.
    #[must_use]
    pub fn beside(&self, others: &[(SessionId, Option<AgentId>)]) -> Self {
        let is_other = |pinned: &AgentId| {
            let mut agents = others.iter().filter_map(|(_, agent)| agent.as_ref());
            !pinned.is_reserved() && agents.any(|agent| agent != pinned && !agent.is_reserved())
        };
        let mut caller = self.clone();
        if self.pinned.as_ref().is_some_and(is_other) {
            caller = caller.unpinned();
        }
        caller.above.extend(others.iter().map(|(session, _)| session.clone()));
        caller
    }

    /// Takes the pin away. Its agent is the first seat that the pane asks for.
    #[must_use]
    pub fn unpinned(self) -> Self {
        let of_work_tree = self.pinned.clone().or(self.of_work_tree);
        Self { pinned: None, of_work_tree, role: Role::Agent, ..self }
    }

    /// Takes the pin away, in a pane that is `agent` already.
    #[must_use]
    pub fn known_as(self, agent: AgentId) -> Self {
        Self { pinned: None, of_work_tree: Some(agent), role: Role::Agent, ..self }
    }

    /// Makes the caller a host that speaks for many agents and names one in each call.
    #[must_use]
    pub fn for_any_agent(self) -> Self {
        Self { is_any_agent: true, ..self }
    }

    /// Takes the session from the client, and follows its changes.
    #[must_use]
    pub fn of_client(self, client: ClientSession) -> Self {
        Self { client: Some(client), ..self }
    }

    /// Fixes the session to the one named by the process that started the server. The client cannot change it.
    #[must_use]
    pub fn in_told_session(self) -> Self {
        Self { is_told: true, ..self }
    }

    /// Sets the task of new claims.
    #[must_use]
    pub fn at_work_on(self, task: Option<TaskId>) -> Self {
        Self { task, ..self }
    }

    /// Restricts the caller to a role.
    #[must_use]
    pub fn with_role(self, role: Role) -> Self {
        Self { role, ..self }
    }

    /// Checks whether the caller has the role that a tool needs, or a higher one.
    ///
    /// # Errors
    /// `not_allowed` with the caller's role and the tool.
    pub fn may_call(&self, tool: &str, needed: Role) -> Result<(), Rejection> {
        if self.role >= needed {
            return Ok(());
        }
        if needed == Role::Admin {
            return Err(Rejection::new(
                Code::NotAllowed,
                format!("{tool} is for the operator only"),
                "ask the operator to do it in a terminal (hm target), or for a token of role admin (hm token add)",
            ));
        }
        Err(Rejection::new(
            Code::NotAllowed,
            format!("a token of role {} cannot call {tool}", self.role.as_str()),
            "read resources, or ask the operator for a token that may (hm token add)",
        ))
    }

    /// The pinned agent; `None` for a pane without a pin.
    pub const fn pinned(&self) -> Option<&AgentId> {
        self.pinned.as_ref()
    }

    /// The session of a call that names none.
    pub fn session(&self) -> SessionId {
        self.client.as_ref().and_then(ClientSession::current).unwrap_or_else(|| self.session.clone())
    }

    /// The session of a call that names none. `of_client`, the session that the client reports with the call,
    /// counts unless the process that started the server fixed one.
    pub fn session_unless(&self, of_client: Option<SessionId>) -> SessionId {
        of_client.filter(|_| !self.is_told).unwrap_or_else(|| self.session())
    }

    /// Whether another process named the session: the one that started this process, or a hook of the client.
    pub fn has_session(&self) -> bool {
        self.is_told || self.client.as_ref().is_some_and(|client| client.current().is_some())
    }

    /// The task of new claims, for a call that names none.
    pub const fn task(&self) -> Option<TaskId> {
        self.task
    }

    /// The agents of the team.
    pub const fn roster(&self) -> &Roster {
        &self.roster
    }

    /// Whether each call names its agent.
    pub const fn is_any_agent(&self) -> bool {
        self.is_any_agent
    }

    /// Whether the session is one that this server made for itself.
    pub fn is_itself(&self, session: &SessionId) -> bool {
        !self.is_told && *session == self.session && session.as_str().starts_with("hm-")
    }

    /// The agent that a call speaks for. `named` is the agent in the call, `client` the name that the client
    /// reports. For a caller without a pin, the writer decides whether `named` is its own.
    ///
    /// # Errors
    /// `agent_mismatch` when the call names another agent than the pinned one, `unknown_agent` with the roster,
    /// `not_allowed` for `operator` or `system` in a front that is not pinned to it.
    pub fn speaks_for(&self, named: Option<&str>, client: Option<&str>) -> Result<Speaker, Rejection> {
        let named = named.map(|name| resolve(&self.roster, name)).transpose()?;
        if let Some(pinned) = &self.pinned {
            return match named {
                Some(named) if *pinned != named => Err(Rejection::new(
                    Code::AgentMismatch,
                    format!("this pane is {pinned} and cannot speak for {named}"),
                    format!("leave out `agent`; what {named} thinks, {named} says in its own pane"),
                )),
                _ => Ok(Speaker { agent: pinned.clone(), unpinned: None }),
            };
        }
        if let Some(named) =
            named.as_ref().filter(|named| [AgentId::operator(), AgentId::system()].contains(named))
        {
            return Err(Rejection::new(
                Code::NotAllowed,
                format!("an agent cannot speak as {named}"),
                "leave out `agent`; a human uses the command line",
            ));
        }
        match named {
            Some(agent) if self.is_any_agent => Ok(Speaker { agent, unpinned: None }),
            named => {
                let client =
                    seats_of(&self.first_seats, self.of_work_tree.as_ref(), client.unwrap_or_default());
                let agent = client.first.clone().unwrap_or_else(|| AgentId::seat(&client.word, 1));
                let unpinned = Unpinned {
                    client: Some(client),
                    named,
                    above: self.above.clone(),
                    ..Unpinned::default()
                };
                Ok(Speaker { agent, unpinned: Some(unpinned) })
            }
        }
    }
}

fn resolve(roster: &Roster, name: &str) -> Result<AgentId, Rejection> {
    roster.resolve(name).map_err(|unknown| {
        Rejection::new(
            Code::UnknownAgent,
            unknown.to_string(),
            "use a name of the roster, or add one under [agents] in .hivemind/config.toml",
        )
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{Caller, Role, Speaker, Surroundings};
    use crate::domain::agent::{AgentId, Roster};
    use crate::domain::seat::Unpinned;

    #[test]
    fn a_human_has_a_terminal_and_no_client() {
        let told = [
            (true, None),
            (false, None),
            (true, Some("CLAUDECODE is set")),
            (false, Some("HM_SESSION is set")),
        ]
        .map(|(has_terminal, client)| {
            let here = Surroundings { has_terminal, client: client.map(str::to_owned) };
            here.human().map_or_else(|no| no.message, |()| "a human".to_owned())
        });
        expect![[r#"
            a human
            only a human at a terminal is the operator, and there is no terminal
            only a human at a terminal is the operator, and CLAUDECODE is set
            only a human at a terminal is the operator, and HM_SESSION is set"#]]
        .assert_eq(&told.join("\n"));
    }

    /// Red before: only the whole name of a work tree was that of an agent.
    #[test]
    fn a_work_tree_is_named_after_the_one_agent_that_its_name_holds() {
        let of =
            |tree: &str| super::named_in(&Roster::default(), tree).map_or("-", AgentId::as_str).to_owned();
        let trees = [
            "devops",
            "devops-tree",
            "repo-devops",
            "wt.devops",
            "DevOps_2",
            "devopstree",
            "architect-devops",
            "wt.architect",
            "the-devops-menu",
            "wt",
        ];
        let of = trees.map(|tree| format!("{tree}: {}", of(tree)));
        expect![[r#"
            devops: devops
            devops-tree: devops
            repo-devops: devops
            wt.devops: devops
            DevOps_2: devops
            devopstree: -
            architect-devops: -
            wt.architect: -
            the-devops-menu: -
            wt: -"#]]
        .assert_eq(&of.join("\n"));
    }

    #[test]
    fn a_role_has_a_name() {
        assert_eq!("agent".parse(), Ok(Role::Agent));
        assert!("root".parse::<Role>().is_err());
    }

    #[test]
    fn a_higher_role_has_the_rights_of_a_lower_one() {
        let roles = [Role::Viewer, Role::Agent, Role::Admin];
        let caller = Caller::new(Roster::default(), None, "s-1".parse().expect("a session id"));
        let caller = caller.expect("a caller");
        let may_call = |own, needed| caller.clone().with_role(own).may_call("a_tool", needed).is_ok();
        let table = roles.map(|own| roles.map(|needed| may_call(own, needed)));
        assert_eq!(table, [[true, false, false], [true, true, false], [true, true, true]]);
    }

    #[test]
    fn a_pane_speaks_for_its_own_agent_only() {
        let caller =
            |pin: Option<&str>| Caller::new(Roster::default(), pin, "s-1".parse().expect("a session id"));
        let cases = [
            (Some("infra"), None),
            (Some("devops"), Some("Ops")),
            (Some("devops"), Some("analyst")),
            (None, Some("ana")),
            (None, Some("me")),
            (None, Some("grok")),
            (None, None),
            (Some("system"), None),
        ];
        let lines: Vec<String> = cases
            .iter()
            .map(|(pin, named)| {
                let answer = caller(*pin).and_then(|caller| caller.speaks_for(*named, Some("goose")));
                let answer = answer.map_or_else(
                    |no| format!("{}: {}", no.code.as_str(), no.message),
                    |Speaker { agent, unpinned }| match unpinned {
                        None => agent.to_string(),
                        Some(Unpinned { named: None, .. }) => format!("likely {agent}"),
                        Some(Unpinned { named: Some(named), .. }) => {
                            format!("likely {agent}, if it is {named}")
                        }
                    },
                );
                format!("{pin:?} {named:?} -> {answer}")
            })
            .collect();
        expect![[r#"
            Some("infra") None -> devops
            Some("devops") Some("Ops") -> devops
            Some("devops") Some("analyst") -> agent_mismatch: this pane is devops and cannot speak for analyst
            None Some("ana") -> likely pane-1, if it is analyst
            None Some("me") -> not_allowed: an agent cannot speak as operator
            None Some("grok") -> unknown_agent: no agent is called `grok`; the roster is: architect, devops, analyst, frontend, reviewer, operator
            None None -> likely pane-1
            Some("system") None -> not_allowed: `system` is the writer's own name"#]]
        .assert_eq(&lines.join("\n"));
    }
}
