//! The other agents that are there: each with where it works and what it said it wants.

use std::collections::BTreeSet;

use serde::Serialize;

use super::sessions::MAX_LIVE;
use super::{Reader, StoreError};
use crate::domain::session::Role;

/// Agents of which more than the name is looked up.
const MAX_PEERS: usize = 20;

/// Another agent that is there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Peer {
    /// The agent.
    pub agent: String,
    /// The client that it runs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The linked work tree that it started in; none in the main one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
    /// The branch that it started on; none outside git.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Its own intent, else the title of a task it holds, else what it was asked first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wants: Option<String>,
}

impl Reader {
    /// The agents besides one with a session that has not ended, the latest session first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn peers(&self, agent: &str) -> Result<Vec<Peer>, StoreError> {
        let mut alive = self.alive_sessions(MAX_LIVE)?;
        let mut known = BTreeSet::from([agent.to_owned()]);
        alive.retain(|session| known.insert(session.agent.clone()));
        let team = self.trajectory(None)?;
        let mut peers = Vec::new();
        for (at, session) in alive.into_iter().enumerate() {
            let mut wants = None;
            if at < MAX_PEERS {
                let id = Some(session.session.as_str());
                let own = self.trajectory(id)?.filter(|own| team.as_ref().is_none_or(|it| it.seq != own.seq));
                wants = own.map(|own| own.intent);
                if wants.is_none() {
                    wants = self.held_by(&session.session)?.into_iter().next().map(|task| task.title);
                }
                if wants.is_none() {
                    let said = self.dialogue(&session.session)?;
                    wants = said.into_iter().find(|turn| turn.role == Role::User).map(|turn| turn.text);
                }
            }
            let (client, worktree, branch) = (session.client, session.worktree, session.branch);
            peers.push(Peer { agent: session.agent, client, worktree, branch, wants });
        }
        Ok(peers)
    }
}
