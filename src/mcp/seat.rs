//! Finds the agent of an unpinned server through the read models of its session. Records the session of a server
//! whose client names none.

use super::server::Server;
use crate::client_session::ClientSession;
use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::command::{Command, EndSession, Submission};
use crate::domain::ids::{CommandId, SessionId};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::seat::Unpinned;
use crate::domain::versions::Versions;
use crate::system;

/// The longest chain of parent sessions that is followed; each link is one full context window.
const MAX_PARENTS: usize = 64;

impl Server {
    /// The agent for whom a resource or prompt is shown: the pinned one, else the agent of the session.
    pub(super) fn reader(&self, session: &SessionId) -> Option<AgentId> {
        self.caller().pinned().cloned().or_else(|| self.agent_of(session))
    }

    /// The sentence of the instructions that tells the client which agent it is.
    pub(super) fn who_reads(&self) -> String {
        let caller = self.caller();
        match (caller.pinned(), self.agent_of(&caller.session())) {
            (Some(pinned), _) => format!("You are {pinned}."),
            (None, _) if caller.is_any_agent() => {
                "Many agents speak here: name yours as `agent` in each call.".to_owned()
            }
            (None, Some(seated)) => format!("You are {seated} (seat of this session)."),
            (None, None) => "Your first write names you, at the latest.".to_owned(),
        }
    }

    /// The agent of a session, if the session has a seat or a front named its agent.
    pub(super) fn agent_of(&self, session: &SessionId) -> Option<AgentId> {
        self.with_reads(|reads| {
            let known = reads.store().ok()??.session(session.as_str()).ok()??;
            Some(AgentId::recorded(known.agent))
        })
    }

    /// The pane of an unpinned call, by its own session or that of another server of its client, and its likely agent.
    pub(super) fn pane(&self, own: &SessionId) -> (SessionId, Option<AgentId>) {
        if let Some(agent) = self.agent_of(own) {
            return (own.clone(), Some(agent));
        }
        // A pinned server that lost its pin asks for the seat of that name.
        let is_free = self.caller().pinned().is_none();
        let mut others = self.other_servers(own).into_iter().filter(|_| is_free);
        let seated = others.find_map(|(other, _)| Some((self.agent_of(&other)?, other)));
        seated.map_or_else(|| (own.clone(), None), |(agent, other)| (other, Some(agent)))
    }

    /// Checks the session that a call names. A server with a session of its own speaks in that session and in the
    /// sessions that continue it. A host of many agents may speak in any session.
    pub(super) fn may_speak_in(&self, named: &SessionId, own: &SessionId) -> Result<(), Rejection> {
        if self.caller().is_any_agent() || !self.caller().has_session() {
            return Ok(());
        }
        let parent = |session: &SessionId| {
            self.with_reads(|reads| {
                reads.store().ok()??.session(session.as_str()).ok()??.parent_session?.parse().ok()
            })
        };
        let mut line = std::iter::successors(Some(named.clone()), parent).take(MAX_PARENTS);
        if line.any(|session| session == *own) {
            return Ok(());
        }
        Err(Rejection::new(
            Code::AgentMismatch,
            format!("this pane is in session {own} and cannot speak in session {named}"),
            "leave out `session`, or name a session that you split off",
        ))
    }

    /// Records once that this process is the session, where no client names one. The seat becomes free when the
    /// process ends. A pinned server leaves its agent too, for the other servers and the shell of its client.
    pub(super) fn leave_word(&self, session: &SessionId) {
        let caller = self.caller();
        let is_of_client = |pinned: &AgentId| caller.process().is_some() && !pinned.is_reserved();
        let is_one_pane = !caller.is_any_agent() && caller.pinned().is_none_or(is_of_client);
        if is_one_pane && caller.is_itself(session) && self.word().set(session.clone()).is_ok() {
            let record = ClientSession::of(self.workspace(), std::process::id());
            // If this fails, the seat becomes free after a day of silence.
            let _ = match (caller.process(), caller.pinned()) {
                (Some(client), pinned) => record.enter_below(session, pinned, client),
                (None, Some(pinned)) => record.enter_as(session, pinned),
                (None, None) => record.enter(session),
            };
        }
    }

    /// The sessions of the other servers of this client, each with its agent, and that of its shell if the first write of
    /// that named the agent. A session that the client itself is in, as its hooks tell, is that of all its servers.
    pub(super) fn other_servers(&self, own: &SessionId) -> Vec<(SessionId, Option<AgentId>)> {
        let Some(process) = self.caller().process() else { return Vec::new() };
        let others = ClientSession::of_other_servers(self.workspace(), process);
        let of_shell = ClientSession::of(self.workspace(), process).named();
        let others = others.filter(|(session, _)| session != own).chain(of_shell);
        others.map(|(session, pinned)| (session.clone(), self.agent_of(&session).or(pinned))).collect()
    }

    /// Ends the session of this server, which frees its seat.
    pub async fn farewell(&self) {
        let Some(session) = self.word().get() else { return };
        let _ = ClientSession::of(self.workspace(), std::process::id()).leave(session);
        // A pinned server has no seat to leave.
        if self.caller().pinned().is_some() && self.agent_of(session).is_none() {
            return;
        }
        let end = Submission {
            command_id: CommandId::from_uuid(system::new_id()),
            agent: self.agent_of(session).unwrap_or_else(AgentId::system),
            unpinned: Some(Unpinned::default()),
            session: Some(session.clone()),
            trace_id: None,
            idempotency_key: None,
            checkout: Checkout::default(),
            versions: Versions::new(),
            command: Command::EndSession(EndSession {}),
        };
        if let Err(rejection) = self.front().submit_in_a_hurry(vec![end]).await {
            tracing::debug!(%rejection, "the session of this server is not ended");
        }
    }
}
