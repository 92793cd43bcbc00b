//! Who the pane of a server is that nothing pins: what the read models say of its session, and the word that a server
//! leaves of itself where no client tells it a session.

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

/// The most sessions of one line that are followed: each is a context that was full.
const MAX_PARENTS: usize = 64;

impl Server {
    /// The agent whose eyes a resource or a prompt is for: the pinned one, else that of the session.
    pub(super) fn reader(&self, session: &SessionId) -> Option<AgentId> {
        self.caller().pinned().cloned().or_else(|| self.agent_of(session))
    }

    /// Who the client of this server is, as its instructions say it.
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

    /// The agent of a session, if it took a seat or was named by a front.
    pub(super) fn agent_of(&self, session: &SessionId) -> Option<AgentId> {
        self.with_reads(|reads| {
            let known = reads.store().ok()??.session(session.as_str()).ok()??;
            Some(AgentId::recorded(known.agent))
        })
    }

    /// A server that was started in a session, or whose client is in one, speaks in that session and in those that go on
    /// from it. A host of many agents speaks where it likes.
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

    /// Says, once, that this process is the session, where no client names one: the seat is free when it is gone.
    pub(super) fn leave_word(&self, session: &SessionId) {
        if self.caller().is_itself(session) && self.word().set(session.clone()).is_ok() {
            // Without it the seat is free after a day of silence.
            let _ = ClientSession::of(self.workspace(), std::process::id()).enter(session);
        }
    }

    /// Ends the session that this server was itself: its seat is free.
    pub async fn farewell(&self) {
        let Some(session) = self.word().get() else { return };
        let _ = ClientSession::of(self.workspace(), std::process::id()).leave(session);
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
