//! One entrance for each token: its own sessions and its own caller, over the one workspace.
//!
//! A session id means nothing at another entrance, so it never stands for a token.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::response::Response;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::hosts::Hosts;
use super::legacy_sse::Streams;
use crate::domain::ids::SessionId;
use crate::domain::rejection::Rejection;
use crate::identity::Caller;
use crate::mcp::server::Server;
use crate::system;
use crate::tokens::Token;

/// The largest request body (spec 10).
pub(super) const MAX_BODY_BYTES: usize = 1 << 20;
/// How long a session of the older era may say nothing: a pane left open overnight finds it again.
const SESSION_KEEP_ALIVE: Duration = Duration::from_secs(24 * 60 * 60);
/// Sessions of the older era at one entrance; who starts more does not end them.
const MAX_SESSIONS: usize = 1_000;

/// What answers the requests of one token, or of all when there is none.
#[derive(Clone)]
pub(super) struct Entrance {
    service: StreamableHttpService<Server, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    server: Server,
    caller: Arc<Caller>,
    streams: Streams,
    stop: CancellationToken,
}

impl Entrance {
    fn new(server: &Server, caller: Caller, hosts: &Hosts, stop: CancellationToken) -> Self {
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(SESSION_KEEP_ALIVE);
        let sessions = Arc::new(sessions);
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(hosts.names())
            .with_max_request_body_bytes(MAX_BODY_BYTES)
            .with_cancellation_token(stop.clone());
        let (server, caller) = (server.clone(), Arc::new(caller));
        let client = {
            let (server, caller) = (server.clone(), Arc::clone(&caller));
            move || Ok(server.for_client(Arc::clone(&caller)))
        };
        let service = StreamableHttpService::new(client, Arc::clone(&sessions), config);
        Self { service, sessions, server, caller, streams: Streams::default(), stop }
    }

    pub(super) const fn service(&self) -> &StreamableHttpService<Server, LocalSessionManager> {
        &self.service
    }

    /// Opens a stream of HTTP+SSE.
    pub(super) async fn open_stream(&self) -> Response {
        let client = self.server.for_client(Arc::clone(&self.caller));
        self.streams.open(client, self.stop.child_token()).await
    }

    /// The open streams of HTTP+SSE.
    pub(super) const fn streams(&self) -> &Streams {
        &self.streams
    }

    /// Whether no further session can be opened.
    pub(super) async fn is_full(&self) -> bool {
        self.sessions.sessions.read().await.len() >= MAX_SESSIONS
    }
}

/// Every entrance somebody has used.
pub(super) struct Entrances {
    server: Server,
    hosts: Hosts,
    stop: CancellationToken,
    used: Mutex<HashMap<Option<Token>, Entrance>>,
}

impl Entrances {
    /// `server` says what an entrance without a token is pinned to.
    pub(super) fn new(server: Server, hosts: Hosts, stop: CancellationToken) -> Self {
        Self { server, hosts, stop, used: Mutex::default() }
    }

    /// The entrance of a token, or the one of everybody.
    ///
    /// # Errors
    /// When the roster does not know the token's agent any more.
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
        let entrance = Entrance::new(&self.server, caller, &self.hosts, self.stop.child_token());
        used.insert(key, entrance.clone());
        Ok(entrance)
    }

    /// Closes the entrances of tokens that were removed or changed, with every session in them.
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

/// What calls without a session are filed under: the newer era has none.
fn fresh_session() -> SessionId {
    format!("hm-{}", system::new_id()).parse().expect("a UUID is a short printable line")
}
