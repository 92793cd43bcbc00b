//! Serving many clients over Streamable HTTP at `/mcp`, in both protocol eras.

mod connections;
mod entrances;
mod hosts;
mod rate;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rmcp::model::Extensions;
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::connections::{Limited, Peer};
use self::entrances::{Entrance, Entrances};
use self::hosts::Hosts;
use self::rate::Rates;
use super::server::Server;
use crate::domain::ids::SessionId;
use crate::system;
use crate::tokens::{self, Token, TokenError, Tokens};

/// Where MCP is.
const PATH: &str = "/mcp";
/// The header of a session of the older era.
const SESSION_HEADER: &str = "mcp-session-id";
/// From this revision on there are no sessions.
const SESSIONLESS: &str = "2026-07-28";
/// How often it is looked for tokens that were removed.
const LOOK_AT_TOKENS: Duration = Duration::from_secs(1);
/// What is being answered when the end comes may be finished; then streams are cut.
const FINISH_WITHIN: Duration = Duration::from_millis(500);
/// Who has not gone after that is left.
const LEAVE_WITHIN: Duration = Duration::from_secs(5);

/// Why the front does not serve.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Everybody on the network could write.
    #[error(
        "{0} can be reached from other machines and there is no token: run `hm token add --agent NAME` first, \
         or listen on 127.0.0.1"
    )]
    NoToken(SocketAddr),
    /// The tokens cannot be read: nobody is let in by mistake.
    #[error(transparent)]
    Tokens(#[from] TokenError),
    /// The address cannot be had.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Which address.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
}

/// A front that listens.
pub struct HttpFront {
    listener: TcpListener,
    address: SocketAddr,
    door: Arc<Door>,
    stop: CancellationToken,
}

/// What every request passes.
struct Door {
    hosts: Hosts,
    tokens: Tokens,
    is_loopback: bool,
    rates: Mutex<Rates<Asker>>,
    entrances: Entrances,
}

/// Whose requests are counted together.
#[derive(PartialEq, Eq, Hash)]
enum Asker {
    Token(Token),
    /// Without tokens each connection counts alone: all panes of a machine share its address, and one that runs
    /// wild must not silence the others.
    Connection(SocketAddr),
}

impl HttpFront {
    /// Listens. `server` is what clients without a token talk to, `allowed` the host names it goes by besides
    /// its address and the loopback names.
    ///
    /// # Errors
    /// [`HttpError`].
    pub async fn bind(
        address: SocketAddr,
        allowed: &[String],
        server: Server,
        tokens: Tokens,
    ) -> Result<Self, HttpError> {
        let is_loopback = address.ip().is_loopback();
        if tokens.load()?.is_empty() && !is_loopback {
            return Err(HttpError::NoToken(address));
        }
        let failed = |source| HttpError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let hosts = Hosts::new(address, allowed);
        let stop = CancellationToken::new();
        let entrances = Entrances::new(server, hosts.clone(), stop.clone());
        let door = Door { hosts, tokens, is_loopback, rates: Mutex::new(Rates::new()), entrances };
        Ok(Self { listener, address, door: Arc::new(door), stop })
    }

    /// Where clients find it.
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    /// Serves until the process is told to stop; what is being answered then is finished.
    ///
    /// # Errors
    /// When serving fails as a whole.
    pub async fn serve(self) -> std::io::Result<()> {
        let Self { listener, door, stop, .. } = self;
        tokio::spawn(Arc::clone(&door).watch_tokens());
        let routes = Router::new().fallback(answer).with_state(door);
        let asked = CancellationToken::new();
        let serving =
            axum::serve(Limited::new(listener), routes.into_make_service_with_connect_info::<Peer>())
                .with_graceful_shutdown(asked.clone().cancelled_owned());
        let leaving = async {
            system::stop_signal().await;
            asked.cancel();
            tokio::time::sleep(FINISH_WITHIN).await;
            stop.cancel();
            tokio::time::sleep(LEAVE_WITHIN).await;
        };
        tokio::select! {
            served = async { serving.await } => served,
            () = leaving => Ok(()),
        }
    }
}

impl Door {
    /// Whether nobody needs a token: on this machine only, as long as there is none.
    const fn stands_open(&self, tokens: &[Token]) -> bool {
        self.is_loopback && tokens.is_empty()
    }

    /// Ends the sessions of a token soon after it is gone.
    async fn watch_tokens(self: Arc<Self>) {
        loop {
            tokio::time::sleep(LOOK_AT_TOKENS).await;
            if let Ok(tokens) = self.tokens.load() {
                self.entrances.close_all_but(&tokens, self.stands_open(&tokens));
            }
        }
    }

    /// Lets a request in, or says why not.
    fn admit(&self, peer: SocketAddr, request: &Request) -> Result<Entrance, Response> {
        if !self.hosts.admit(request.headers()) {
            return Err(refuse(StatusCode::FORBIDDEN, "this host or origin is not allowed"));
        }
        let tokens = self.tokens.load().map_err(|error| {
            tracing::error!(%error, "cannot read the tokens");
            refuse(StatusCode::INTERNAL_SERVER_ERROR, "the tokens cannot be read")
        })?;
        let token = bearer(request.headers()).and_then(|given| tokens::find(&tokens, given));
        let asker = token.cloned().map_or(Asker::Connection(peer), Asker::Token);
        let mut rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        if !rates.take(asker, system::instant()) {
            let answer = refuse(StatusCode::TOO_MANY_REQUESTS, "at most 10 requests a second");
            return Err(([(header::RETRY_AFTER, "1")], answer).into_response());
        }
        drop(rates);
        if token.is_none() && !self.stands_open(&tokens) {
            let answer = refuse(StatusCode::UNAUTHORIZED, "a token is needed: hm token add");
            return Err(([(header::WWW_AUTHENTICATE, "Bearer")], answer).into_response());
        }
        if request.uri().path() != PATH {
            return Err(refuse(StatusCode::NOT_FOUND, "there is nothing but /mcp"));
        }
        self.entrances.of(token).map_err(|rejection| refuse(StatusCode::FORBIDDEN, rejection.to_string()))
    }
}

async fn answer(
    State(door): State<Arc<Door>>,
    ConnectInfo(Peer(peer)): ConnectInfo<Peer>,
    mut request: Request,
) -> Response {
    let entrance = match door.admit(peer, &request) {
        Ok(entrance) => entrance,
        Err(refusal) => return refusal,
    };
    // Nothing behind the door needs the token, so nothing behind it can log or leak it.
    request.headers_mut().remove(header::AUTHORIZATION);
    if opens_session(&request) && entrance.is_full().await {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "too many sessions: end some, or restart the server");
    }
    entrance.service().handle(request).await.map(Body::new)
}

/// Whether a request may start a session of the older era.
fn opens_session(request: &Request) -> bool {
    let is_sessionless = request
        .headers()
        .get("mcp-protocol-version")
        .and_then(|version| version.to_str().ok())
        .is_some_and(|version| version >= SESSIONLESS);
    request.method() == Method::POST && !request.headers().contains_key(SESSION_HEADER) && !is_sessionless
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn refuse(status: StatusCode, why: impl Into<String>) -> Response {
    (status, why.into() + "\n").into_response()
}

/// What a call of a session is filed under in the ledger: the same for all its calls, and of no use to anybody
/// who reads it there.
pub(super) fn session_of(extensions: &Extensions) -> Option<SessionId> {
    let id = extensions.get::<Parts>()?.headers.get(SESSION_HEADER)?;
    format!("http-{}", hex::encode(&Sha256::digest(id.as_bytes())[..8])).parse().ok()
}
