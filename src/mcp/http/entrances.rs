//! One entrance for each token: it has its own sessions and its own caller, and shares the workspace.
//!
//! A session id is valid at its own entrance only, so it cannot replace a token.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::response::Response;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::door::Refusal;
use super::hosts::Hosts;
use super::legacy_sse::Streams;
use super::sessions::{InUse, Sessions};
use crate::domain::ids::SessionId;
use crate::domain::rejection::Rejection;
use crate::identity::Caller;
use crate::mcp::heads::Heads;
use crate::mcp::server::Server;
use crate::system;
use crate::tokens::Token;

/// The largest request body in bytes: four times the longest command.
pub(super) const MAX_BODY_BYTES: usize = 1 << 20;
/// Time after which a silent session of the legacy protocol without an open stream is closed. A client whose
/// session is gone starts another one.
const SESSION_KEEP_ALIVE: Duration = Duration::from_secs(60 * 60);
/// Sessions of the legacy protocol at one entrance. A new one above the limit replaces the session that was silent
/// longest.
const MAX_SESSIONS: usize = 1_000;
/// Event streams of one token, which stands for the panes of one machine.
const STREAMS: usize = 8;
/// Requests of one token in progress. Together with its streams they take less than half of all places.
const REQUESTS: usize = 16;

/// Answers the requests of one token, or all requests without a token.
#[derive(Clone)]
pub(super) struct Entrance {
    service: StreamableHttpService<Server, LocalSessionManager>,
    manager: Arc<LocalSessionManager>,
    sessions: Sessions,
    /// The limits of one token. The entrance for requests without a token has none, because all panes share it.
    shares: Option<Shares>,
    server: Server,
    caller: Arc<Caller>,
    streams: Streams,
    stop: CancellationToken,
}

#[derive(Clone)]
struct Shares {
    streams: Arc<Semaphore>,
    requests: Arc<Semaphore>,
}

/// The permit that a request holds until it is answered; `None` where there is no token to count for.
pub(crate) type Share = Option<OwnedSemaphorePermit>;

impl Shares {
    fn new() -> Self {
        Self { streams: Arc::new(Semaphore::new(STREAMS)), requests: Arc::new(Semaphore::new(REQUESTS)) }
    }
}

impl Entrance {
    fn new(
        server: &Server,
        caller: Caller,
        hosts: &Hosts,
        shares: Option<Shares>,
        stop: CancellationToken,
    ) -> Self {
        let mut manager = LocalSessionManager::default();
        // The library would count messages inside a session. `Sessions` counts the silence of the client.
        manager.session_config.keep_alive = None;
        let manager = Arc::new(manager);
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(hosts.names())
            .with_max_request_body_bytes(MAX_BODY_BYTES)
            .with_cancellation_token(stop.clone());
        let (server, caller) = (server.clone(), Arc::new(caller));
        let client = {
            let (server, caller) = (server.clone(), Arc::clone(&caller));
            move || Ok(server.for_client(Arc::clone(&caller)))
        };
        let service = StreamableHttpService::new(client, Arc::clone(&manager), config);
        let (sessions, streams) = (Sessions::default(), Streams::default());
        Self { service, manager, sessions, shares, server, caller, streams, stop }
    }

    pub(super) const fn service(&self) -> &StreamableHttpService<Server, LocalSessionManager> {
        &self.service
    }

    /// A signal that fires when this entrance closes.
    pub(super) fn until_it_ends(&self) -> CancellationToken {
        self.stop.child_token()
    }

    /// Opens a stream of HTTP+SSE.
    pub(super) async fn open_stream(&self) -> Response {
        let client = self.server.for_client(Arc::clone(&self.caller));
        self.streams.open(client, self.stop.child_token()).await
    }

    /// The open HTTP+SSE streams of this entrance.
    pub(super) const fn streams(&self) -> &Streams {
        &self.streams
    }

    /// A permit for one more stream at this entrance.
    pub(super) fn stream(&self) -> Result<Share, Refusal> {
        share(self.shares.as_ref().map(|shares| &shares.streams)).ok_or(Refusal::TooManyStreams)
    }

    /// A permit for one more request at this entrance.
    pub(super) fn request(&self) -> Result<Share, Refusal> {
        share(self.shares.as_ref().map(|shares| &shares.requests)).ok_or(Refusal::TooManyRequests)
    }

    /// Marks a session as used until the guard is dropped.
    pub(super) fn in_session(&self, id: &str) -> Option<InUse> {
        self.sessions.used(id)
    }

    /// Registers a new session.
    pub(super) fn opened(&self, id: &str) {
        self.sessions.add(id, system::instant());
    }

    /// Closes the longest silent session if the entrance is full.
    pub(super) async fn make_room(&self) {
        while self.manager.sessions.read().await.len() >= MAX_SESSIONS {
            let Some(id) = self.sessions.take_silent_longest() else { return };
            self.close(&id).await;
        }
    }

    /// Closes the sessions that were silent for too long.
    async fn close_silent(&self, now: Instant) {
        for id in now
            .checked_sub(SESSION_KEEP_ALIVE)
            .map_or_else(Vec::new, |since| self.sessions.take_silent_since(since))
        {
            self.close(&id).await;
        }
        let open = self.manager.sessions.read().await;
        self.sessions.retain(|id| open.contains_key(id));
    }

    async fn close(&self, id: &str) {
        let handle = self.manager.sessions.write().await.remove(id);
        if let Some(handle) = handle {
            // A session that is sending handles the close only after the client read the data, so nothing waits for
            // it here.
            tokio::spawn(async move { handle.close().await });
        }
    }
}

/// A permit, where permits are counted; `None` at the limit.
fn share(of: Option<&Arc<Semaphore>>) -> Option<Share> {
    match of {
        Some(permits) => Arc::clone(permits).try_acquire_owned().ok().map(Some),
        None => Some(None),
    }
}

/// All entrances that were used so far.
pub(super) struct Entrances {
    server: Server,
    hosts: Hosts,
    stop: CancellationToken,
    used: Mutex<HashMap<Option<Token>, Entrance>>,
}

impl Entrances {
    /// `server` holds the pinning of the entrance without a token.
    pub(super) fn new(server: Server, hosts: Hosts, stop: CancellationToken) -> Self {
        Self { server, hosts, stop, used: Mutex::default() }
    }

    /// The head of the ledger, which all clients follow.
    pub(super) fn heads(&self) -> &Heads {
        self.server.heads()
    }

    /// The entrance of a token, or the one for requests without a token.
    ///
    /// # Errors
    /// [`Rejection`] when the token's agent is not on the roster any more.
    pub(super) fn of(&self, token: Option<&Token>) -> Result<Entrance, Rejection> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let key = token.cloned();
        if let Some(entrance) = used.get(&key) {
            return Ok(entrance.clone());
        }
        let caller = match token {
            Some(token) => {
                let roster = self.server.caller().roster().clone();
                Caller::new(roster, Some(token.agent.as_str()), fresh_session())?.with_role(token.role)
            }
            None => Caller::clone(self.server.caller()),
        };
        let shares = token.map(|_| Shares::new());
        let entrance = Entrance::new(&self.server, caller, &self.hosts, shares, self.stop.child_token());
        used.insert(key, entrance.clone());
        Ok(entrance)
    }

    /// Closes the sessions of all entrances that were silent for too long.
    pub(super) async fn close_silent(&self, now: Instant) {
        let used: Vec<Entrance> =
            self.used.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        for entrance in used {
            entrance.close_silent(now).await;
        }
    }

    /// Closes the entrances of removed or changed tokens, with all their sessions.
    pub(super) fn close_all_but(&self, tokens: &[Token], without_token: bool) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|token, entrance| {
            let stays = token.as_ref().map_or(without_token, |token| tokens.contains(token));
            if !stays {
                entrance.stop.cancel();
            }
            stays
        });
    }
}

/// A session id for a call without a session. The modern protocol has no sessions.
fn fresh_session() -> SessionId {
    format!("hm-{}", system::new_id()).parse().expect("a UUID is a short printable line")
}
