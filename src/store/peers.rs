//! The other agents with a running session: their work trees and their goals.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::sessions::{MAX_LIVE, SessionView};
use super::{Reader, StoreError};
use crate::domain::session::Role;

/// The most agents whose goals are looked up. For the others, only name and place are known.
const MAX_PEERS: usize = 20;

/// Another agent with a running session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Peer {
    /// The agent.
    pub agent: String,
    /// The client in which the agent runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The linked work tree in which the session started. None for the main one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
    /// The branch on which the session started. None outside git.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The time of its last event, epoch ms.
    pub last_seen_at: i64,
    /// The file that its session edited last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_edit: Option<String>,
    /// Ledger position of that edit.
    #[serde(skip)]
    pub last_edit_seq: Option<u64>,
    /// Number of files that its session edited, at most 200.
    #[serde(skip)]
    pub files: usize,
    /// When its session started, epoch ms.
    #[serde(skip)]
    pub started_at: i64,
    /// The intent of the session, or else the title of a task that it holds, or else its first prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wants: Option<String>,
}

/// Agents without a running session, and names that no agent has any more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gone {
    /// Agents whose sessions ended, each with the time of its last event, epoch ms. The latest comes first.
    pub left: Vec<(String, i64)>,
    /// The same for agents that never had a session, such as those of a shell alone.
    pub without_session: Vec<(String, i64)>,
    /// Former names of panes, each with the present one.
    pub renamed: BTreeMap<String, String>,
}

impl Reader {
    /// The agents without a running session, and the former names of panes.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn gone(&self) -> Result<Gone, StoreError> {
        let live = self.live_agents()?;
        // A running pane that speaks under another name, and the names that it had before the present one.
        let mut named = self.db.prepare_cached(
            "SELECT speaks_as AS agent, agent AS formerly, started_seq \
             FROM session_states WHERE ended_at IS NULL AND seat IS NOT NULL UNION ALL \
             SELECT agent, formerly, started_seq FROM session_states WHERE ended_at IS NULL AND formerly IS NOT NULL \
             ORDER BY 3",
        )?;
        let named = self.kept_of(named.query([])?, |row| {
            Ok::<_, rusqlite::Error>((
                row.get::<_, Option<String>>("agent")?,
                row.get::<_, String>("formerly")?,
            ))
        })?;
        let mut renamed = BTreeMap::new();
        for (agent, formerly) in &named {
            let Some(agent) = agent else { continue };
            let former = formerly.split(',').filter(|name| name != agent && !live.contains(*name));
            renamed.extend(former.map(|name| (name.to_owned(), agent.clone())));
        }
        let mut last = self.db.prepare_cached(
            "SELECT agents.agent, agents.last_seen_at, \
             EXISTS (SELECT 1 FROM session_states WHERE session_states.agent = agents.agent) AS sat \
             FROM agents ORDER BY agents.seq DESC",
        )?;
        let last = self.kept_of(last.query([])?, |row| {
            let sat: bool = row.get("sat")?;
            Ok::<_, rusqlite::Error>((
                row.get::<_, String>("agent")?,
                row.get::<_, i64>("last_seen_at")?,
                sat,
            ))
        })?;
        let mut gone = Gone { renamed, ..Gone::default() };
        for (agent, at, sat) in last {
            if !live.contains(&agent) && !gone.renamed.contains_key(&agent) {
                let of = if sat { &mut gone.left } else { &mut gone.without_session };
                of.push((agent, at));
            }
        }
        Ok(gone)
    }

    /// The agents with a running session, except `agent`. The latest session comes first.
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
            let (mut wants, mut edited) = (None, Vec::new());
            if at < MAX_PEERS {
                edited = self.edits_of(&session.session)?;
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
            let SessionView { agent, client, worktree, branch, last_seen_at, started_at, .. } = session;
            let files = edited.len();
            let (last_edit, last_edit_seq) = edited.into_iter().next().unzip();
            peers.push(Peer {
                agent,
                client,
                worktree,
                branch,
                last_seen_at,
                last_edit,
                last_edit_seq,
                files,
                started_at,
                wants,
            });
        }
        Ok(peers)
    }
}
