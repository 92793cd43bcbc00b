//! Who may ask for a page: the right host, a browser with the cookie of a session, and forms of our own pages.

use std::sync::{Mutex, PoisonError};

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio_util::sync::CancellationToken;

use crate::domain::agent::AgentId;
use crate::identity::Role;
use crate::mcp::{Browser, Gate, Hosts, HttpRefusal, Seat};
use crate::tokens::{Token, fingerprint};

/// Why a request is refused.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error("this host name is not served: open the address that `hm web` printed")]
    Stranger,
    #[error(
        "this browser has no access: open the address that `hm web` printed; it works once, so start `hm web` again for \
         another browser"
    )]
    NoCookie,
    #[error("this form is not of this page: go back, reload the page and send it again")]
    ForeignForm,
    #[error(
        "the token `{0}` reads, and only a token of the operator acts: sign in with one (hm token add --agent operator \
         --role admin), or type the command beside the page at a terminal"
    )]
    Reads(String),
    #[error("a page is read with GET, and an action is sent with POST from its button")]
    WrongMethod,
    #[error("a form has at most 64 KiB, and 10 seconds to come in")]
    LongForm,
    #[error("40 windows follow the memory already: close one first")]
    TooManyStreams,
    #[error(transparent)]
    Front(#[from] HttpRefusal),
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = match self {
            Self::Front(refusal) => return refusal.into_response(),
            Self::Stranger | Self::ForeignForm | Self::Reads(_) => StatusCode::FORBIDDEN,
            Self::NoCookie => StatusCode::UNAUTHORIZED,
            Self::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
            Self::LongForm => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooManyStreams => StatusCode::TOO_MANY_REQUESTS,
        };
        (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], format!("{self}\n")).into_response()
    }
}

/// The door of the pages. Behind it a browser shows a cookie.
pub(super) struct Door {
    entry: Entry,
    cookie: Cookie,
}

/// How a browser gets its cookie.
pub(super) enum Entry {
    /// `hm web`: one browser of this machine, by the address that was printed.
    Printed(Printed),
    /// `hm serve --http`: a browser for each person who signs in with a token.
    Tokens(Gate),
}

/// The address that `hm web` prints.
pub(super) struct Printed {
    hosts: Hosts,
    /// The hash of the token in the printed address; none once a browser used it.
    token: Mutex<Option<String>>,
    /// The value of the cookie.
    secret: String,
}

impl Printed {
    /// Takes the token of the address, which works once.
    fn takes(&self, presented: &str) -> bool {
        let mut token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        token.take_if(|token| *token == fingerprint(presented)).is_some()
    }

    fn knows(&self, secret: &str) -> bool {
        fingerprint(secret) == fingerprint(&self.secret)
    }
}

/// The name of a cookie and the path of the pages that it is for. A browser keeps the cookies of all ports of a host
/// together.
struct Cookie {
    name: String,
    path: &'static str,
}

impl Cookie {
    fn new(port: u16, path: &'static str) -> Self {
        Self { name: format!("hm_web_{port}"), path }
    }

    fn set(&self, secret: &str, more: &str) -> HeaderValue {
        let Self { name, path } = self;
        let cookie = format!("{name}={secret}; HttpOnly; SameSite=Strict; Path={path}{more}");
        HeaderValue::from_str(&cookie).expect("hexadecimal digits and our own words")
    }

    /// The values of this cookie that a browser shows.
    fn values<'h>(&self, headers: &'h HeaderMap) -> impl Iterator<Item = &'h str> {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
        let pairs = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.split_once('='));
        pairs.filter(|(name, _)| name.trim() == self.name).map(|(_, value)| value.trim())
    }
}

impl Door {
    /// The door of `hm web`, with the token of the printed address and the value of the cookie.
    pub(super) fn printed(port: u16, token: &str, secret: String) -> Self {
        let (hosts, token) = (Hosts::of_this_machine(port), Mutex::new(Some(fingerprint(token))));
        Self { entry: Entry::Printed(Printed { hosts, token, secret }), cookie: Cookie::new(port, "/") }
    }

    /// The door behind the checks of an HTTP front.
    pub(super) fn of_tokens(gate: Gate) -> Self {
        let cookie = Cookie::new(gate.port(), Gate::PATH);
        Self { entry: Entry::Tokens(gate), cookie }
    }

    fn hosts(&self) -> &Hosts {
        match &self.entry {
            Entry::Printed(printed) => &printed.hosts,
            Entry::Tokens(gate) => gate.hosts(),
        }
    }

    /// Refuses the name of another host, which a page of another site may have. The origin of a form is checked by
    /// [`Door::form`].
    pub(super) fn check(&self, method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
        let hosts = self.hosts();
        let is_ours = if *method == Method::POST { hosts.serves(headers) } else { hosts.admit(headers) };
        match &self.entry {
            _ if is_ours => Ok(()),
            Entry::Printed(_) => Err(Refusal::Stranger),
            Entry::Tokens(_) => Err(HttpRefusal::Stranger.into()),
        }
    }

    /// Refuses a form that a page of another site sends.
    pub(super) fn form(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        if self.hosts().sends(headers) { Ok(()) } else { Err(Refusal::ForeignForm) }
    }

    /// The cookie for the token of the printed address, which works once.
    pub(super) fn enter(&self, presented: &str) -> Option<HeaderValue> {
        let Entry::Printed(printed) = &self.entry else { return None };
        printed.takes(presented).then(|| self.cookie.set(&printed.secret, ""))
    }

    /// The visitor who shows a cookie. None where the browser may sign in.
    ///
    /// # Errors
    /// [`Refusal::NoCookie`] where there is no other way in, and those of [`Gate::browser`].
    pub(super) fn visitor(&self, seat: &Seat, headers: &HeaderMap) -> Result<Option<Visitor>, Refusal> {
        let mut secrets = self.cookie.values(headers);
        match &self.entry {
            Entry::Printed(printed) => match secrets.find(|secret| printed.knows(secret)) {
                Some(secret) => Ok(Some(Visitor { secret: secret.to_owned(), browser: None })),
                None => Err(Refusal::NoCookie),
            },
            Entry::Tokens(gate) => {
                let found = gate.browser(seat, secrets)?;
                Ok(found
                    .map(|(secret, browser)| Visitor { secret: secret.to_owned(), browser: Some(browser) }))
            }
        }
    }

    /// Whether a person may sign in.
    pub(super) const fn signs_in(&self) -> bool {
        matches!(self.entry, Entry::Tokens(_))
    }

    /// The cookie of a new session for a token; `None` for an unknown one.
    ///
    /// # Errors
    /// [`Refusal::WrongMethod`] where nobody signs in, and those of [`Gate::sign_in`].
    pub(super) fn sign_in(
        &self,
        seat: &Seat,
        headers: &HeaderMap,
        presented: &str,
    ) -> Result<Option<HeaderValue>, Refusal> {
        let Entry::Tokens(gate) = &self.entry else { return Err(Refusal::WrongMethod) };
        let secure = if is_over_tls(headers) { "; Secure" } else { "" };
        let more = format!("; Max-Age={}{secure}", gate.signed_in_for_secs());
        Ok(gate.sign_in(seat, presented)?.map(|secret| self.cookie.set(&secret, &more)))
    }

    /// Ends the session of a visitor. Returns what removes the cookie.
    ///
    /// # Errors
    /// [`Refusal::WrongMethod`] where nobody signs in.
    pub(super) fn sign_out(&self, visitor: &Visitor) -> Result<HeaderValue, Refusal> {
        let Entry::Tokens(gate) = &self.entry else { return Err(Refusal::WrongMethod) };
        gate.sign_out(&visitor.secret);
        Ok(self.cookie.set("", "; Max-Age=0"))
    }
}

/// Whether a proxy says that the browser speaks TLS to it. A browser that lies loses its own cookie, and nothing else.
fn is_over_tls(headers: &HeaderMap) -> bool {
    let is = |name: &str, start: &str| {
        let given = headers.get(name).and_then(|given| given.to_str().ok());
        given.is_some_and(|given| given.to_ascii_lowercase().starts_with(start))
    };
    is("x-forwarded-proto", "https") || is("origin", "https://")
}

/// A person who may see the pages.
pub(super) struct Visitor {
    /// The value of the cookie.
    secret: String,
    /// None in `hm web`, whose only browser is that of the person at the terminal.
    browser: Option<Browser>,
}

impl Visitor {
    /// The hidden field of forms for this session.
    pub(super) fn form_token(&self) -> String {
        fingerprint(&format!("form of {}", self.secret))
    }

    /// Refuses a form that was not made for this session.
    pub(super) fn sent(&self, form_token: &str) -> Result<(), Refusal> {
        let is_own = fingerprint(form_token) == fingerprint(&self.form_token());
        if is_own { Ok(()) } else { Err(Refusal::ForeignForm) }
    }

    /// What is the same in all requests of this session and differs from those of another one.
    pub(super) fn session(&self) -> String {
        fingerprint(&self.secret)
    }

    /// The token by which this person signed in.
    pub(super) fn token(&self) -> Option<&Token> {
        self.browser.as_ref().map(Browser::token)
    }

    /// By which right this person acts, for the ledger. All actions are the operator's, so no token of an agent acts.
    ///
    /// # Errors
    /// [`Refusal::Reads`].
    pub(super) fn right(&self) -> Result<String, Refusal> {
        match self.token() {
            None => Ok("a button in the pages of hm web, which the operator opened".to_owned()),
            Some(token) if token.agent == AgentId::operator() && token.role == Role::Admin => {
                Ok(format!("a button in the pages of hm serve, signed in as {}", token.name))
            }
            Some(token) => Err(Refusal::Reads(token.name.clone())),
        }
    }

    /// A permit for a request, or for a stream.
    ///
    /// # Errors
    /// At the limits of the token.
    pub(super) fn permit(&self, is_stream: bool) -> Result<impl Send + 'static, Refusal> {
        let Some(browser) = &self.browser else { return Ok(None) };
        Ok(if is_stream { browser.stream()? } else { browser.request()? })
    }

    /// Fires when the access of this person ends.
    pub(super) fn stop(&self) -> CancellationToken {
        self.browser.as_ref().map(|browser| browser.stop().clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderName, HeaderValue};

    use super::{Cookie, Door, Entry, Refusal, Visitor, is_over_tls};

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).expect("a value"))
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn a_form_is_of_one_session() {
        let visitor = |secret: &str| Visitor { secret: secret.to_owned(), browser: None };
        assert!(visitor("a").sent(&visitor("a").form_token()).is_ok());
        for other in [visitor("b").form_token(), "a".to_owned(), String::new()] {
            assert!(matches!(visitor("a").sent(&other), Err(Refusal::ForeignForm)), "{other}");
        }
    }

    #[test]
    fn the_token_works_once_and_the_cookie_from_then_on() {
        let door = Door::printed(7_000, "token", "secret".to_owned());
        assert!(door.enter("other").is_none());
        let cookie = door.enter("token").expect("a cookie");
        let cookie = cookie.to_str().expect("a text").to_owned();
        assert_eq!(cookie, "hm_web_7000=secret; HttpOnly; SameSite=Strict; Path=/");
        assert!(door.enter("token").is_none(), "once");
        let Entry::Printed(printed) = &door.entry else { panic!("a printed address") };
        let knows = |shown: &str| {
            door.cookie.values(&headers(&[("cookie", shown)])).any(|value| printed.knows(value))
        };
        assert!(knows("a=b; hm_web_7000=secret"));
        for other in ["hm_web_7000=", "hm_web_7001=secret", "hm_web_7000=secret2"] {
            assert!(!knows(other), "{other}");
        }
    }

    #[test]
    fn a_cookie_is_for_the_pages_and_secure_behind_tls() {
        let cookie = Cookie::new(8_787, "/web").set("00", "; Max-Age=60");
        assert_eq!(cookie, "hm_web_8787=00; HttpOnly; SameSite=Strict; Path=/web; Max-Age=60");
        assert!(is_over_tls(&headers(&[("x-forwarded-proto", "HTTPS")])));
        assert!(is_over_tls(&headers(&[("origin", "https://memory.example")])));
        for plain in [("x-forwarded-proto", "http"), ("origin", "http://127.0.0.1"), ("origin", "null")] {
            assert!(!is_over_tls(&headers(&[plain])), "{plain:?}");
        }
    }
}
