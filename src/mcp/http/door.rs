//! The middleware that checks every request before it is served: host, origin, rate limit, token.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rmcp::model::ErrorCode;
use serde_json::{Value, json};

use super::connections::Seat;
use super::entrances::{Entrance, Entrances};
use super::gate::{Browsers, Gate};
use super::hosts::Hosts;
use super::rate::{Limit, Rates};
use crate::domain::rejection::Rejection;
use crate::system;
use crate::tokens::{self, Token, TokenError, Tokens};

/// How often the server looks for removed tokens and for sessions that were silent for too long.
const LOOK_AT_TOKENS: Duration = Duration::from_secs(1);
/// Rate limit of one token, or of one connection without a token. Two clients that start together send about seven
/// requests each at once.
const ONE: Limit = Limit { per_second: 10.0, burst: 20.0 };
/// Rate limit of all new connections without a token together. Each connection has a full bucket of its own, so
/// without this limit a client escapes the other one by reconnecting. Three hundred panes that start at once stay
/// below it.
const NEW: Limit = Limit { per_second: 200.0, burst: 2_000.0 };
/// A connection is new for as many requests as its own bucket allows at once.
const NEW_REQUESTS: u32 = 20;

/// The checks for every request, and the entrances behind them.
pub(super) struct Door {
    pub(super) hosts: Hosts,
    pub(super) tokens: Tokens,
    /// Whether requests need no token. This is so on loopback addresses only, and until the first token exists.
    /// Removing the last token does not open the server again; a restart does.
    stands_open: AtomicBool,
    rates: Mutex<Rates<RateKey>>,
    paths: &'static [&'static str],
    pub(super) entrances: Entrances,
    pub(super) browsers: Browsers,
}

/// The key under which requests are counted.
#[derive(PartialEq, Eq, Hash)]
enum RateKey {
    Token(Token),
    /// Without tokens each connection counts alone: all panes of a machine share its address, and one faulty pane
    /// must not block the others.
    Connection(u64),
    /// The first requests of all connections without a token, counted together.
    NewConnections,
}

/// Why the server refuses a request.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("this host or origin is not allowed: see hm serve --allow-host")]
    Stranger,
    #[error("the tokens cannot be read: see the log of the server")]
    Tokens(#[from] TokenError),
    #[error("at most 10 requests a second")]
    TooOften,
    #[error(
        "too many new connections without a token ask at once: keep one open, or use a token (hm token add)"
    )]
    Crowd,
    #[error("a valid token is needed: see hm token add; a browser signs in at {}/", Gate::PATH)]
    NoToken,
    #[error("there is nothing but {}, and {}/ for browsers", .0.join(", "), Gate::PATH)]
    Nothing(&'static [&'static str]),
    #[error(transparent)]
    Unknown(#[from] Rejection),
    #[error("at most 8 streams are open for one token, and 40 in all: end one first")]
    TooManyStreams,
    #[error("at most 16 requests of one token are under way: wait for an answer first")]
    TooManyRequests,
    #[error("the body of a request has 30 seconds to come in")]
    LateBody,
    #[error("the body of a request has at most 1 MiB")]
    LongBody,
    #[error("the body of the request cannot be read: it ends early, or its chunks are malformed")]
    BrokenBody,
    #[error("the body is no JSON")]
    NoJson,
    #[error("the body is no JSON-RPC message of a client")]
    NoMessage(Value),
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let text = format!("{self}\n");
        match self {
            Self::Stranger | Self::Unknown(_) => (StatusCode::FORBIDDEN, text).into_response(),
            Self::Tokens(error) => {
                tracing::error!(%error, "the tokens cannot be read: every request is refused");
                (StatusCode::INTERNAL_SERVER_ERROR, text).into_response()
            }
            Self::TooOften | Self::Crowd | Self::TooManyRequests => {
                (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "1")], text).into_response()
            }
            Self::TooManyStreams => {
                (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "5")], text).into_response()
            }
            Self::LateBody => {
                (StatusCode::REQUEST_TIMEOUT, [(header::CONNECTION, "close")], text).into_response()
            }
            Self::LongBody => (StatusCode::PAYLOAD_TOO_LARGE, text).into_response(),
            Self::BrokenBody => (StatusCode::BAD_REQUEST, text).into_response(),
            Self::NoJson => json_rpc(ErrorCode::PARSE_ERROR, &text, &Value::Null),
            Self::NoMessage(ref id) => json_rpc(ErrorCode::INVALID_REQUEST, &text, id),
            Self::NoToken => {
                (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], text).into_response()
            }
            Self::Nothing(_) => (StatusCode::NOT_FOUND, text).into_response(),
        }
    }
}

/// A refusal as a JSON-RPC error.
fn json_rpc(code: ErrorCode, text: &str, id: &Value) -> Response {
    let error = json!({ "code": code.0, "message": text.trim_end() });
    let body = json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string();
    (StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

impl Door {
    /// `stands_open`: clients need no token as long as none exists.
    pub(super) fn new(
        hosts: Hosts,
        tokens: Tokens,
        stands_open: bool,
        paths: &'static [&'static str],
        entrances: Entrances,
    ) -> Self {
        let rates = Mutex::new(Rates::new());
        let stands_open = AtomicBool::new(stands_open);
        Self { hosts, tokens, stands_open, rates, paths, entrances, browsers: Browsers::default() }
    }

    /// Whether requests need no token, given the tokens that exist now.
    fn stands_open(&self, tokens: &[Token]) -> bool {
        if !tokens.is_empty() {
            self.stands_open.store(false, Ordering::Relaxed);
        }
        self.stands_open.load(Ordering::Relaxed)
    }

    /// Ends the sessions of a token soon after the token is removed, and sessions that were silent for too long.
    pub(super) async fn watch(self: Arc<Self>) {
        loop {
            tokio::time::sleep(LOOK_AT_TOKENS).await;
            if let Ok(tokens) = self.tokens.load() {
                self.browsers.end_all_but(&tokens, system::instant());
                self.entrances.close_all_but(&tokens, self.stands_open(&tokens));
            }
            self.entrances.close_silent(system::instant()).await;
        }
    }

    /// Admits a request and returns its entrance, or refuses it.
    pub(super) fn admit(&self, seat: &Seat, request: &Request) -> Result<Entrance, Refusal> {
        if !self.hosts.admit(request.headers()) {
            return Err(Refusal::Stranger);
        }
        let tokens = self.tokens.load()?;
        let token = bearer(request.headers()).and_then(|given| tokens::find(&tokens, given));
        self.count(seat, token)?;
        // An unknown token is wrong even where no token is needed: its sender expects to act as the token's agent.
        let is_wrong = token.is_none() && request.headers().contains_key(header::AUTHORIZATION);
        if is_wrong || (token.is_none() && !self.stands_open(&tokens)) {
            return Err(Refusal::NoToken);
        }
        if !self.paths.contains(&request.uri().path()) {
            return Err(Refusal::Nothing(self.paths));
        }
        let entrance = self.entrances.of(token)?;
        if token.is_some() {
            seat.prove();
        }
        Ok(entrance)
    }

    /// Counts a request; refuses it when the limit is reached.
    pub(super) fn count(&self, seat: &Seat, token: Option<&Token>) -> Result<(), Refusal> {
        let now = system::instant();
        let key = token.cloned().map_or(RateKey::Connection(seat.number()), RateKey::Token);
        let mut rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        if !rates.take(key, ONE, now) {
            return Err(Refusal::TooOften);
        }
        let is_new = token.is_none() && seat.requests() < NEW_REQUESTS;
        if is_new && !rates.take(RateKey::NewConnections, NEW, now) {
            return Err(Refusal::Crowd);
        }
        Ok(())
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
