//! Serves many clients over Streamable HTTP at `/mcp`, in both versions of the protocol, over the older HTTP+SSE, and
//! people at the pages below `/web`.

mod body;
mod connections;
mod door;
mod entrances;
mod gate;
mod hosts;
mod legacy_sse;
mod rate;
mod sessions;

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rmcp::model::Extensions;
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio_stream::StreamExt;
use tokio_util::sync::CancellationToken;

pub(crate) use self::connections::{Limited, Places, Seat};
use self::door::Door;
pub(crate) use self::door::Refusal as HttpRefusal;
use self::entrances::Entrances;
pub(crate) use self::gate::{Browser, Gate};
pub(crate) use self::hosts::Hosts;
use super::server::Server;
use crate::domain::ids::SessionId;
use crate::system;
use crate::tokens::{TokenError, Tokens};

/// The path of Streamable HTTP.
const PATH: &str = "/mcp";
/// The path where clients of HTTP+SSE open their stream.
const SSE_PATH: &str = "/sse";
/// The path where clients of HTTP+SSE post their messages.
const MESSAGES_PATH: &str = "/messages";
/// The session header of the legacy protocol.
const SESSION_HEADER: &str = "mcp-session-id";
/// Time for requests in progress to finish after the stop signal; then streams are cut.
const FINISH_WITHIN: Duration = Duration::from_millis(500);
/// Time for connections to close after that; then the process exits without them.
const LEAVE_WITHIN: Duration = Duration::from_secs(5);

/// Why the HTTP front cannot start.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Without a token, every machine on the network could write.
    #[error(
        "{0} can be reached from other machines and there is no token: run `hm token add --agent NAME` first, \
         or listen on 127.0.0.1"
    )]
    NoToken(SocketAddr),
    /// The token file cannot be read. The front refuses to start rather than to admit a client by mistake.
    #[error(transparent)]
    Tokens(#[from] TokenError),
    /// The front cannot listen on the address.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address from the command line or the configuration.
        address: SocketAddr,
        /// The error of the operating system.
        source: std::io::Error,
    },
}

/// Options of the HTTP front.
#[derive(Debug, Clone, Default)]
pub struct HttpOptions {
    /// Host names that the front accepts besides its address and the loopback names.
    pub allowed_hosts: Vec<String>,
    /// Whether the front also serves HTTP+SSE, the transport that Streamable HTTP replaced.
    pub legacy_sse: bool,
}

/// An HTTP front that listens and is ready to serve.
pub struct HttpFront {
    listener: TcpListener,
    address: SocketAddr,
    door: Arc<Door>,
    legacy_sse: bool,
    stop: CancellationToken,
    places: Places,
    pages: Option<Router>,
}

impl HttpFront {
    /// Binds the address. `server` answers clients without a token.
    ///
    /// # Errors
    /// [`HttpError`] when the address needs a token and there is none, when the tokens cannot be read, or when the
    /// address cannot be bound.
    pub async fn bind(
        address: SocketAddr,
        options: &HttpOptions,
        server: Server,
        tokens: Tokens,
    ) -> Result<Self, HttpError> {
        let (is_loopback, has_tokens) = (address.ip().is_loopback(), !tokens.load()?.is_empty());
        if !is_loopback && !has_tokens {
            return Err(HttpError::NoToken(address));
        }
        let failed = |source| HttpError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let hosts = Hosts::new(address, &options.allowed_hosts);
        let stop = CancellationToken::new();
        let entrances = Entrances::new(server, hosts.clone(), stop.clone());
        let legacy_sse = options.legacy_sse;
        let paths = if legacy_sse { &[PATH, SSE_PATH, MESSAGES_PATH][..] } else { &[PATH] };
        let door = Door::new(hosts, tokens, is_loopback && !has_tokens, paths, entrances);
        let (door, places) = (Arc::new(door), Places::new());
        Ok(Self { listener, address, door, legacy_sse, stop, places, pages: None })
    }

    /// The URL for clients of Streamable HTTP.
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    /// The URL for clients of HTTP+SSE; `None` unless `legacy_sse` is set.
    pub fn sse_url(&self) -> Option<String> {
        self.legacy_sse.then(|| format!("http://{}{SSE_PATH}", self.address))
    }

    /// The checks of this front, for the pages.
    pub(crate) fn gate(&self) -> Gate {
        Gate { door: Arc::clone(&self.door), places: self.places.clone(), port: self.address.port() }
    }

    /// Also serves the pages, which [`Gate`] guards.
    #[must_use]
    pub(crate) fn with_pages(self, pages: Router) -> Self {
        Self { pages: Some(pages), ..self }
    }

    /// The address of the pages; `None` without them.
    pub fn pages_url(&self) -> Option<String> {
        self.pages.as_ref().map(|_| format!("http://{}{}/", self.address, Gate::PATH))
    }

    /// Serves until the process gets a stop signal. Requests in progress are finished first.
    pub async fn serve(self) -> std::io::Result<()> {
        let Self { listener, door, stop, places, pages, .. } = self;
        tokio::spawn(Arc::clone(&door).watch());
        let mut routes = Router::new().fallback(answer).with_state((door, places.clone()));
        if let Some(pages) = pages {
            routes = routes.merge(pages);
        }
        let finish = CancellationToken::new();
        let serving =
            axum::serve(Limited::new(listener, places), routes.into_make_service_with_connect_info::<Seat>())
                .with_graceful_shutdown(finish.clone().cancelled_owned());
        let leaving = async {
            tokio::select! {
                () = system::stop_signal() => {}
                // The pages keep states of the past in temporary files, which go with the process only if it ends by itself.
                () = system::hang_up(), if std::io::stdin().is_terminal() => {}
            }
            finish.cancel();
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

async fn answer(
    State((door, places)): State<(Arc<Door>, Places)>,
    ConnectInfo(seat): ConnectInfo<Seat>,
    request: Request,
) -> Response {
    let answering = seat.answering();
    let mut response = match served(&door, &places, &seat, request).await {
        Ok(response) => while_it_lasts(response, answering),
        Err(refusal) => refusal.into_response(),
    };
    if places.are_scarce() {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

async fn served(
    door: &Door,
    places: &Places,
    seat: &Seat,
    request: Request,
) -> Result<Response, HttpRefusal> {
    let entrance = door.admit(seat, &request)?;
    let (mut parts, body) = request.into_parts();
    // The handlers do not need the token. Without the header they cannot log it or leak it.
    parts.headers.remove(header::AUTHORIZATION);
    let is_legacy_sse = parts.uri.path() != PATH;
    if is_legacy_sse && !legacy_sse::allows(parts.uri.path(), &parts.method) {
        return Ok(StatusCode::METHOD_NOT_ALLOWED.into_response());
    }
    let mut share = entrance.request()?;
    let (mut bytes, mut message) = (Vec::new(), None);
    if parts.method == Method::POST {
        bytes = body::read(body).await?;
        message = body::is_json(&parts).then(|| body::message(&bytes)).transpose()?;
    }
    // Without tokens, one complete request is all that a client can prove.
    seat.prove();
    let mut stream = None;
    if parts.method == Method::GET || message.as_ref().is_some_and(body::listens) {
        share = entrance.stream()?;
        stream = Some(places.stream().ok_or(HttpRefusal::TooManyStreams)?);
    }
    let session = parts.headers.get(SESSION_HEADER).and_then(|id| id.to_str().ok());
    let session = session.and_then(|id| entrance.in_session(id));
    let response = match message {
        Some(message) if is_legacy_sse => entrance.streams().hear(&parts, message).await,
        None if is_legacy_sse && parts.method == Method::POST => {
            StatusCode::UNSUPPORTED_MEDIA_TYPE.into_response()
        }
        _ if is_legacy_sse => entrance.open_stream().await,
        message => {
            let opens_session = message.as_ref().is_some_and(body::opens_session);
            if opens_session {
                entrance.make_room().await;
            }
            let request = Request::from_parts(parts, Body::from(bytes));
            let response = entrance.service().handle(request).await.map(Body::new);
            let opened = response.headers().get(SESSION_HEADER).and_then(|id| id.to_str().ok());
            if let Some(id) = opened.filter(|_| opens_session) {
                entrance.opened(id);
            }
            response
        }
    };
    Ok(while_it_lasts(response, (share, stream, session)))
}

/// Keeps a value alive until the response is sent. A response with a complete body does not need it.
pub(crate) fn while_it_lasts(response: Response, kept: impl Send + 'static) -> Response {
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    response.map(|body| {
        Body::from_stream(body.into_data_stream().map(move |frame| {
            let _ = &kept;
            frame
        }))
    })
}

/// The session id under which the ledger records the calls of a session.
pub(super) fn session_of(extensions: &Extensions) -> Option<SessionId> {
    if let Some(session) = extensions.get::<SessionId>() {
        return Some(session.clone());
    }
    ledger_session(extensions.get::<Parts>()?.headers.get(SESSION_HEADER)?)
}

/// The ledger's id of a session: the same for all its calls. It is a hash, so a reader of the ledger cannot use the
/// session.
fn ledger_session(id: impl AsRef<[u8]>) -> Option<SessionId> {
    format!("http-{}", hex::encode(&Sha256::digest(id.as_ref())[..8])).parse().ok()
}
