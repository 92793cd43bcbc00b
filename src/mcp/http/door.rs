//! What every request passes before it is served: host, origin, rate, token.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::entrances::{Entrance, Entrances};
use super::hosts::Hosts;
use super::rate::Rates;
use crate::domain::rejection::Rejection;
use crate::system;
use crate::tokens::{self, Token, TokenError, Tokens};

/// How often it is looked for tokens that were removed.
const LOOK_AT_TOKENS: Duration = Duration::from_secs(1);

/// The one way in.
pub(super) struct Door {
    hosts: Hosts,
    tokens: Tokens,
    /// Whether nobody needs a token: only on this machine, and only until the first token is seen. Taking the last
    /// token back does not open the door again; a restart does.
    stands_open: AtomicBool,
    rates: Mutex<Rates<Asker>>,
    paths: &'static [&'static str],
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

/// Why a request is not served.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error("this host or origin is not allowed: see hm serve --allow-host")]
    Stranger,
    #[error("the tokens cannot be read: see the log of the server")]
    Tokens(#[from] TokenError),
    #[error("at most 10 requests a second")]
    TooOften,
    #[error("a valid token is needed: see hm token add")]
    NoToken,
    #[error("there is nothing but {}", .0.join(", "))]
    Nothing(&'static [&'static str]),
    #[error(transparent)]
    Unknown(#[from] Rejection),
    #[error("too many sessions: end some, or restart the server")]
    TooMany,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let text = format!("{self}\n");
        match self {
            Self::Stranger | Self::Unknown(_) => (StatusCode::FORBIDDEN, text).into_response(),
            Self::Tokens(error) => {
                tracing::error!(%error, "nobody is let in");
                (StatusCode::INTERNAL_SERVER_ERROR, text).into_response()
            }
            Self::TooOften => {
                (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "1")], text).into_response()
            }
            Self::NoToken => {
                (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], text).into_response()
            }
            Self::Nothing(_) => (StatusCode::NOT_FOUND, text).into_response(),
            Self::TooMany => (StatusCode::SERVICE_UNAVAILABLE, text).into_response(),
        }
    }
}

impl Door {
    /// `stands_open` says that nobody needs a token as long as there is none.
    pub(super) fn new(
        hosts: Hosts,
        tokens: Tokens,
        stands_open: bool,
        paths: &'static [&'static str],
        entrances: Entrances,
    ) -> Self {
        let rates = Mutex::new(Rates::new());
        Self { hosts, tokens, stands_open: AtomicBool::new(stands_open), rates, paths, entrances }
    }

    /// Whether nobody needs a token, given those there are.
    fn stands_open(&self, tokens: &[Token]) -> bool {
        if !tokens.is_empty() {
            self.stands_open.store(false, Ordering::Relaxed);
        }
        self.stands_open.load(Ordering::Relaxed)
    }

    /// Ends the sessions of a token soon after it is gone.
    pub(super) async fn watch_tokens(self: Arc<Self>) {
        loop {
            tokio::time::sleep(LOOK_AT_TOKENS).await;
            if let Ok(tokens) = self.tokens.load() {
                self.entrances.close_all_but(&tokens, self.stands_open(&tokens));
            }
        }
    }

    /// Lets a request in, or says why not.
    pub(super) fn admit(&self, peer: SocketAddr, request: &Request) -> Result<Entrance, Refusal> {
        if !self.hosts.admit(request.headers()) {
            return Err(Refusal::Stranger);
        }
        let tokens = self.tokens.load()?;
        let token = bearer(request.headers()).and_then(|given| tokens::find(&tokens, given));
        let asker = token.cloned().map_or(Asker::Connection(peer), Asker::Token);
        let mut rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        if !rates.take(asker, system::instant()) {
            return Err(Refusal::TooOften);
        }
        drop(rates);
        // A token nobody gave out is wrong even where none is needed: who sends one counts on being somebody.
        let is_wrong = token.is_none() && request.headers().contains_key(header::AUTHORIZATION);
        if is_wrong || (token.is_none() && !self.stands_open(&tokens)) {
            return Err(Refusal::NoToken);
        }
        if !self.paths.contains(&request.uri().path()) {
            return Err(Refusal::Nothing(self.paths));
        }
        Ok(self.entrances.of(token)?)
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
