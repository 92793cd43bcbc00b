//! The speaker of a verb: its agent, its session, and whether it is the operator.

use std::collections::BTreeMap;
use std::io::IsTerminal;

use super::{Context, Failure, block_on, nobody_speaks, output, parse, surroundings};
use crate::client_session::ClientSession;
use crate::domain::agent::AgentId;
use crate::domain::command::{Command, RecordOverride};
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::privacy::{Secrets, scan};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::scope::Scope;
use crate::domain::seat::{self, Unpinned};
use crate::domain::text::{Label, Reason};
use crate::identity::{Caller, Speaker};
use crate::system::{self, Environment};
use crate::views;

impl Context {
    /// The caller named by `--agent`, else by `HM_AGENT`. Without either the caller has no name yet.
    pub(super) fn caller(&self) -> Result<Caller, Failure> {
        self.caller_in(self.session())
    }

    pub(super) fn caller_in(&self, session: SessionId) -> Result<Caller, Failure> {
        self.caller_named(self.global.agent.as_deref(), session)
    }

    /// The caller with the name `named`. If `HM_AGENT` pins the pane, another name is refused.
    pub(super) fn caller_named(&self, named: Option<&str>, session: SessionId) -> Result<Caller, Failure> {
        let caller = |name: Option<&str>| Caller::new(self.config.roster.clone(), name, session.clone());
        let Some(told) = self.environment.agent.as_deref() else { return Ok(caller(named)?) };
        let pane = caller(Some(told))?;
        match (named.map(|name| caller(Some(name))).transpose()?, pane.pinned()) {
            (Some(other), Some(pane)) if other.pinned() != Some(pane) => {
                let other = other.pinned().unwrap_or(pane);
                Err(Rejection::new(
                    Code::AgentMismatch,
                    format!("HM_AGENT says that this is the pane of {pane}, and --agent names {other}"),
                    format!(
                        "drop --agent: you are {pane} here; in a shell of your own, unset HM_AGENT instead"
                    ),
                )
                .into())
            }
            _ => Ok(pane),
        }
    }

    /// The session of the researcher that this process is part of. No variable of its shell changes it.
    pub(super) fn researcher_session(&self) -> Option<SessionId> {
        let told: SessionId = system::given_to_run()?.remove("HM_SESSION")?.parse().ok()?;
        Some(told).filter(SessionId::is_of_researcher)
    }

    /// The client's session, if the environment or a variable names one.
    pub(super) fn given_session(&self) -> Option<SessionId> {
        if let Some(own) = self.researcher_session() {
            return Some(own);
        }
        let Environment { own_session, session, .. } = &self.environment;
        let session = session.iter().filter(|session| !self.is_inherited(session));
        own_session.iter().chain(session).find_map(|session| session.parse().ok())
    }

    /// Whether the client above this process was itself started with this session in the client's variable. Then it is the
    /// session of the client in whose shell that one was started.
    fn is_inherited(&self, session: &str) -> bool {
        let Some(client) = system::clients_above().next() else { return false };
        let given = || system::given_to_client(|_| false)?.remove(system::session_variable()?);
        // Most clients were started without one, which is read faster than their notes.
        given().is_some_and(|given| given == session) && self.noted_of(client).next().is_some()
    }

    /// The session of the client that owns this shell. The shell's variables name it. If they do not, a client above this
    /// process may have left a note of it, or, if no agent is named, any other process, or a server of such a client.
    pub(super) fn client_session(&self) -> Option<SessionId> {
        self.given_session().or_else(|| {
            if self.is_named() {
                return self.noted_sessions().into_iter().next();
            }
            let word = |process| ClientSession::of(&self.workspace, process).current();
            system::processes_above().find_map(word).or_else(|| self.noted_sessions().into_iter().next())
        })
    }

    /// The process with the note of the pane's session: `process`, or else the nearest process above it that has a
    /// note. A process started by the shell of a pane belongs to that pane. A client started there is a pane of its
    /// own.
    pub(super) fn pane_process(&self, process: u32) -> u32 {
        let has_word = |process| ClientSession::of(&self.workspace, process).last().is_some();
        let mut above = system::processes_above().skip_while(|above| *above != process);
        let mut next = above.next();
        while let Some(at) = next {
            if has_word(at) {
                return at;
            }
            next = if system::client_program(at).is_some() { None } else { above.next() };
        }
        process
    }

    /// The client's session, or else a session named after this shell. A task taken in a shell can so be ended there.
    pub(super) fn session(&self) -> SessionId {
        self.client_session().unwrap_or_else(|| {
            let shell = system::name_of_parent().unwrap_or_else(|| system::new_id().to_string());
            format!("hm-{shell}").parse().expect("numbers and a hyphen are a short printable line")
        })
    }

    /// The client's session, or else a new one for this process. A server does not share the session of its parent.
    pub(super) fn own_session(&self) -> SessionId {
        self.given_session().unwrap_or_else(|| {
            let fresh = format!("hm-{}", system::new_id());
            fresh.parse().expect("a UUID is a short printable line")
        })
    }

    /// The task of new claims, from `HM_TASK`.
    pub(super) fn task(&self) -> Result<Option<TaskId>, Failure> {
        self.task_named(self.environment.task.as_deref())
    }

    /// The speaker: the pinned agent, the human at a terminal, or in an agent's shell the agent of its session.
    pub(super) fn who(&self) -> Result<(AgentId, SessionId), Failure> {
        let caller = self.caller()?;
        let sits_there = || {
            let has_both_ends = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
            has_both_ends && system::client_above().is_none()
        };
        let agent = match caller.pinned() {
            Some(agent) => agent.clone(),
            None if self.global.operator_override.is_some() || sits_there() => AgentId::operator(),
            None => self.agent_of_session().ok_or_else(nobody_speaks)?,
        };
        Ok((agent, caller.session()))
    }

    /// Refuses the name of another agent in the shell of a pane. `HM_AGENT` is the word of a human if the client was
    /// started with it, and so is the override of the operator. A shell without a pane above it is free.
    fn refuse_name_of_another(&self, named: &AgentId) -> Result<(), Rejection> {
        let typed = match (&self.environment.agent, &self.global.agent) {
            (Some(_), _) => "HM_AGENT",
            (None, Some(_)) => "--agent",
            (None, None) => return Ok(()),
        };
        if self.global.operator_override.is_some() || *named == AgentId::operator() {
            return Ok(());
        }
        let given = self.given_to_pane();
        // Where the environment of the client is unknown, the variable counts as given.
        let pinned = match &given {
            None if self.environment.agent.is_some() => return Ok(()),
            None => None,
            Some(given) => given.get("HM_AGENT").and_then(|name| self.config.roster.resolve(name).ok()),
        };
        let seated = || self.pane_sessions().into_iter().find_map(|session| self.agent_of(&session));
        match pinned.or_else(seated).filter(|pane| pane != named && !pane.is_reserved()) {
            None => Ok(()),
            Some(pane) => Err(Rejection::new(
                Code::AgentMismatch,
                format!("this shell belongs to the pane of {pane}, and {typed} names {named}"),
                format!(
                    "drop {typed}: you are {pane} here; what {named} thinks, {named} says in its own pane, and a human \
                     types it in a terminal of their own"
                ),
            )),
        }
    }

    /// Refuses a variable with a session of another agent in the shell of a pane. A client that was started with
    /// `HM_SESSION` is that session, such as a researcher.
    fn refuse_session_of_another(&self) -> Result<(), Rejection> {
        let Some(told) = self.given_session().filter(|_| self.global.operator_override.is_none()) else {
            return Ok(());
        };
        let given = self.given_to_pane().and_then(|mut given| given.remove("HM_SESSION")?.parse().ok());
        let of_client = given.map_or_else(|| self.noted_sessions(), |given| vec![given]);
        let own = if of_client.is_empty() { self.pane_sessions() } else { of_client };
        let variable = self.session_variable();
        // One process of Codex runs many panes, and its variable tells them apart.
        let is_of_codex = || {
            let nearest = system::clients_above().next().and_then(system::client_program);
            nearest == Some("codex") && variable.starts_with("CODEX")
        };
        if own.contains(&told) || is_of_codex() {
            return Ok(());
        }
        let pane = own.iter().find_map(|session| Some((session, self.agent_of(session)?)));
        match (pane, self.agent_of(&told)) {
            (Some((own, pane)), Some(other)) if pane != other && !pane.is_reserved() => Err(Rejection::new(
                Code::AgentMismatch,
                format!(
                    "session {told} is {other}'s, and this shell belongs to the pane of {pane} (session {own})"
                ),
                format!("unset {variable}; name a session that you split off, or a new one"),
            )),
            _ => Ok(()),
        }
    }

    /// The variable with the session of [`Context::given_session`].
    fn session_variable(&self) -> &'static str {
        let of_client = || system::session_variable().unwrap_or("the variable of the session");
        if self.environment.own_session.is_some() { "HM_SESSION" } else { of_client() }
    }

    /// The variables with which the outermost client above this process was started that has a session here. A client that
    /// a pane starts gets its variables from that pane.
    fn given_to_pane(&self) -> Option<BTreeMap<String, String>> {
        system::given_to_client(|client| self.noted_of(client).next().is_some())
    }

    /// The sessions that the pane of this shell may be in: that of the client's variable, and those of
    /// [`Context::noted_sessions`].
    fn pane_sessions(&self) -> Vec<SessionId> {
        let given = self.environment.session.iter().filter(|session| !self.is_inherited(session));
        given.filter_map(|session| session.parse().ok()).chain(self.noted_sessions()).collect()
    }

    /// The sessions of each client above this process.
    fn noted_sessions(&self) -> Vec<SessionId> {
        // Other programs that run hooks, such as a script, may speak for several agents.
        system::clients_above().flat_map(|client| self.noted_of(client)).collect()
    }

    /// The session that the hooks of a client recorded last, and those of its servers.
    fn noted_of(&self, client: u32) -> impl Iterator<Item = SessionId> {
        let noted = ClientSession::of(&self.workspace, client).last();
        noted.into_iter().chain(ClientSession::of_servers_below(&self.workspace, client))
    }

    /// Leaves a record of the speaker for the nearest client above this shell, if no client above has one. So the first
    /// accepted write of a client without hooks names its agent. A name that the client was started with needs no record.
    pub(super) fn bind_client(&self, agent: &AgentId) {
        let Some(client) = system::clients_above().next() else { return };
        // One process of Codex runs many panes.
        if agent.is_reserved() || system::client_program(client) == Some("codex") {
            return;
        }
        let given = || self.given_to_pane()?.remove("HM_AGENT");
        if !self.noted_sessions().is_empty()
            || given().is_some_and(|name| self.config.roster.resolve(&name).is_ok())
        {
            return;
        }
        let (record, session) = (ClientSession::of(&self.workspace, client), self.session());
        if !record.is_elsewhere(&session) {
            // If this fails, the next write leaves it.
            let _ = record.enter_as(&session, agent);
        }
    }

    /// The caller of a hook. The environment of a running client does not change, so a pin with which the client was not
    /// started is a line of its shell where its pane is known already: the pane stays the agent that it is.
    pub(super) fn in_known_pane(&self, caller: Caller) -> Caller {
        let Some(pin) = caller.pinned().filter(|pin| !pin.is_reserved()).cloned() else { return caller };
        let resolved = |name: &String| self.config.roster.resolve(name).ok();
        let is_given = self
            .given_to_pane()
            .is_none_or(|given| given.get("HM_AGENT").and_then(resolved).as_ref() == Some(&pin));
        let sessions = if is_given { Vec::new() } else { self.sessions_above(None) };
        for session in sessions {
            let known = self.known_agent_of(&session);
            let known = known.or_else(|| Some((ClientSession::agent_in(&self.workspace, &session)?, false)));
            let Some((agent, is_seated)) = known else { return caller.known_as(pin) };
            if !seat::may_pin(&pin, (&agent, is_seated)) {
                return caller.known_as(agent);
            }
        }
        caller
    }

    /// Adds the panes above it to the caller of a hook or server: the sessions of the clients above this process, except
    /// its own client. A client that a pane starts speaks for that pane, and so does a program with the name of a client.
    /// A pin to another agent than theirs is no word of a human.
    pub(super) fn below_panes(&self, caller: Caller, own: Option<u32>) -> Caller {
        // A session that a variable names may not be that of the client.
        let above = self.sessions_above(own.filter(|_| self.environment.own_session.is_none()));
        let is_of_other = |pinned: &AgentId| {
            let mut agents = above.iter().filter_map(|session| self.agent_of(session));
            agents.any(|agent| agent != *pinned && !agent.is_reserved())
        };
        let is_given = caller.pinned().is_none_or(|pinned| pinned.is_reserved() || !is_of_other(pinned));
        if is_given { caller.below(above) } else { caller.unpinned().below(above) }
    }

    /// Refuses a server for many agents that a pane starts: what the pane says there would count as the word of others. A
    /// shell with one command becomes that command, so the client itself as the parent proves nothing.
    pub(super) fn refuse_server_for_many(&self) -> Result<(), Failure> {
        if self.global.operator_override.is_some() {
            return self.human("serve");
        }
        let session = self.noted_sessions().into_iter().next().or_else(|| self.researcher_session());
        let Some(session) = session else { return Ok(()) };
        Err(Rejection::new(
            Code::NotAllowed,
            format!("this shell belongs to a pane (session {session}), and a server for many speaks for other agents"),
            "ask the human to start it in a terminal of their own, or to give the client's settings --operator-override",
        )
        .into())
    }

    /// The sessions of the clients above this process, except the client `own`.
    fn sessions_above(&self, own: Option<u32>) -> Vec<SessionId> {
        // One process of Codex runs many panes, so it does not tell whose process this is.
        let nearest = system::clients_above().next();
        let is_codex =
            |client: u32| Some(client) == nearest && system::client_program(client) == Some("codex");
        let others = system::clients_above().filter(|client| Some(*client) != own && !is_codex(*client));
        others.flat_map(|client| self.noted_of(client)).collect()
    }

    /// The agent of the client's session.
    pub(super) fn agent_of_session(&self) -> Option<AgentId> {
        self.agent_of(&self.client_session()?)
    }

    /// The agent of a session, from the read models, else from the record of its client.
    fn agent_of(&self, session: &SessionId) -> Option<AgentId> {
        let known = self.known_agent_of(session).map(|(agent, _)| agent);
        known.or_else(|| ClientSession::agent_in(&self.workspace, session))
    }

    /// The agent of a session in the read models, and whether it is a seat.
    fn known_agent_of(&self, session: &SessionId) -> Option<(AgentId, bool)> {
        let mut reads = self.present();
        let known = reads.store().ok()??.session(session.as_str()).ok()??;
        Some((AgentId::recorded(known.agent), known.is_seated))
    }

    /// The reader of a personal view: the pinned agent, or in an agent's shell the agent of its session.
    pub(super) fn reader(&self) -> Result<Option<AgentId>, Failure> {
        let pinned = self.caller()?.pinned().cloned();
        Ok(pinned.or_else(|| system::client_above().and_then(|_| self.agent_of_session())))
    }

    /// Whether `--agent` or `HM_AGENT` names the speaker.
    pub(super) fn is_named(&self) -> bool {
        self.environment.agent.is_some() || self.global.agent.is_some()
    }

    /// A speaker in the form that the writer takes. The writer itself finds the agent of an unpinned session, except where
    /// only the record of a client names it.
    pub(super) fn speaks(&self, agent: AgentId) -> Speaker {
        let is_known =
            || self.client_session().is_some_and(|session| self.known_agent_of(&session).is_some());
        let is_unpinned = !self.is_named() && agent != AgentId::operator() && is_known();
        let unpinned = is_unpinned.then(Unpinned::default);
        Speaker { agent, unpinned }
    }

    /// The agent of a write: that of [`Context::who`]. The operator must be a human. An override is recorded for
    /// `verb`.
    pub(super) fn speaker(&self, verb: &str) -> Result<(AgentId, SessionId), Failure> {
        let (agent, session) = self.who()?;
        self.refuse_name_of_another(&agent)?;
        self.refuse_session_of_another()?;
        if agent == AgentId::operator() {
            self.human(verb)?;
        } else if self.global.operator_override.is_some() {
            return Err(Failure::usage(format!(
                "--operator-override is for the operator, and you are {agent}: drop one of the two"
            )));
        }
        Ok((agent, session))
    }

    /// Refuses every caller except the operator, for verbs without a use for agents.
    pub(super) fn operator(&self, verb: &str) -> Result<(), Failure> {
        self.operator_named(self.global.agent.as_deref(), verb)
    }

    /// Like [`Context::operator`], for a verb whose `--agent` does not name its caller.
    pub(super) fn operator_named(&self, named: Option<&str>, verb: &str) -> Result<(), Failure> {
        self.no_agent(named)?;
        self.human(verb)
    }

    /// Refuses a caller that is an agent by its own name.
    pub(super) fn no_agent(&self, named: Option<&str>) -> Result<(), Failure> {
        let caller = self.caller_named(named, self.session())?;
        if let Some(agent) = caller.pinned().filter(|agent| **agent != AgentId::operator()) {
            return Err(Rejection::new(
                Code::NotAllowed,
                format!("only the operator may do this, and you are {agent}"),
                "ask the human to type it at a terminal",
            )
            .into());
        }
        Ok(())
    }

    /// Refuses an override whose record would be refused: for a verb that is recorded after it is done.
    pub(super) fn check_override(&self) -> Result<(), Failure> {
        let Some(reason) = &self.global.operator_override else { return Ok(()) };
        override_reason(reason)?;
        match scan(reason, &Secrets::default()).into_iter().next() {
            Some(found) => {
                let problem = format!("it looks like a secret (rule {})", found.rule);
                Err(Rejection::invalid("operator-override", problem).into())
            }
            None => Ok(()),
        }
    }

    /// Accepts a human at a terminal. Records an override first, once for each process.
    pub(super) fn human(&self, verb: &str) -> Result<(), Failure> {
        let Some(reason) = &self.global.operator_override else {
            return Ok(surroundings().human()?);
        };
        if self.overrode.replace(true) {
            return Ok(());
        }
        let reason = override_reason(reason)?;
        let command = Command::RecordOverride(RecordOverride { verb: Label::of(verb), reason });
        let submission = self.submission_of(AgentId::operator(), Some(self.session()), command, None);
        let front = self.front()?;
        block_on(async { Ok(front.submit(submission).await?) }).map(drop)
    }

    /// Resolves the name of an agent in an argument. The name of a work tree may mean its agent; the caller gets a
    /// note.
    pub(super) fn agent(&self, argument: &str, name: &str) -> Result<AgentId, Rejection> {
        let called = views::agent_called(&mut self.present(), &self.config.roster, name, system::now());
        let (agent, said) = called.map_err(|unknown| Rejection::invalid(argument, unknown))?;
        said.iter().for_each(|said| output::note(said));
        Ok(agent)
    }

    /// The agents that a claim asks. Warnings about them go into the receipt.
    pub(super) fn asked(&self, argument: &str, names: &[String]) -> Result<Vec<AgentId>, Rejection> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let me = self.who().ok().map(|(agent, _)| agent);
        let asked = (me.as_ref(), names);
        let asked = views::asked(&mut self.present(), &self.config.roster, asked, system::now());
        let (agents, told) = asked.map_err(|unknown| Rejection::invalid(argument, unknown))?;
        self.told.borrow_mut().extend(told);
        Ok(agents)
    }

    /// Parses the scopes of an argument about files, each with the path through a link by which it was typed.
    pub(super) fn scopes_and_links(&self, argument: &str, texts: &[String]) -> Result<Vec<Scope>, Rejection> {
        let scopes = self.workspace.scopes_and_links(&self.here, texts);
        scopes.map_err(|problem| Rejection::invalid(argument, problem))
    }

    /// Parses a scope in an argument. A path is relative to the directory in which the verb is typed.
    pub(super) fn scope(&self, argument: &str, text: &str) -> Result<Scope, Rejection> {
        self.workspace.scope_in(&self.here, text).map_err(|problem| Rejection::invalid(argument, problem))
    }
}

/// The reason on record. It names the client above this process, if there is one.
fn override_reason(reason: &str) -> Result<Reason, Rejection> {
    let above = system::client_above().map(|client| format!(" ({client})")).unwrap_or_default();
    parse("operator-override", &format!("{reason}{above}"))
}
