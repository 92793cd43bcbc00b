//! Who may ask for a page: the right host, the one browser with the cookie, and forms of our own pages.

use std::sync::{Mutex, PoisonError};

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use crate::mcp::Hosts;

/// What a browser shows before it gets in, and what it shows then.
pub(super) struct Door {
    hosts: Hosts,
    port: u16,
    /// The hash of the token in the printed address; none once a browser used it.
    token: Mutex<Option<String>>,
    /// The value of the cookie.
    secret: String,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
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
    #[error("a page is read with GET, and an action is sent with POST from its button")]
    WrongMethod,
    #[error("a form has at most 64 KiB, and 10 seconds to come in")]
    LongForm,
    #[error("40 windows follow the memory already: close one first")]
    TooManyStreams,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = match self {
            Self::Stranger | Self::ForeignForm => StatusCode::FORBIDDEN,
            Self::NoCookie => StatusCode::UNAUTHORIZED,
            Self::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
            Self::LongForm => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooManyStreams => StatusCode::TOO_MANY_REQUESTS,
        };
        (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], format!("{self}\n")).into_response()
    }
}

impl Door {
    /// A door with the token of the printed address and the value of the cookie.
    pub(super) fn new(port: u16, token: &str, secret: String) -> Self {
        let hosts = Hosts::of_this_machine(port);
        Self { hosts, port, token: Mutex::new(Some(fingerprint(token))), secret }
    }

    /// Refuses host names other than those of this machine: a page of another site may have a name that points here.
    pub(super) fn host(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        if self.hosts.serves(headers) { Ok(()) } else { Err(Refusal::Stranger) }
    }

    /// Takes the token of the address, which works once, and returns the cookie for it.
    pub(super) fn enter(&self, presented: &str) -> Option<HeaderValue> {
        let mut token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        token.take_if(|token| *token == fingerprint(presented))?;
        let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie(), self.secret);
        HeaderValue::from_str(&cookie).ok()
    }

    /// The name of the cookie. A browser keeps the cookies of all ports of a host together.
    fn cookie(&self) -> String {
        format!("hm_web_{}", self.port)
    }

    /// Refuses a browser without the cookie.
    pub(super) fn known(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
        let mut pairs =
            cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.split_once('='));
        let (name, expected) = (self.cookie(), fingerprint(&self.secret));
        let is_known =
            pairs.any(|(given, value)| given.trim() == name && fingerprint(value.trim()) == expected);
        if is_known { Ok(()) } else { Err(Refusal::NoCookie) }
    }

    /// The hidden field of our own forms.
    pub(super) fn form_token(&self) -> String {
        fingerprint(&format!("form of {}", self.secret))
    }

    /// Refuses a form that another page sends.
    pub(super) fn form(&self, headers: &HeaderMap, token: &str) -> Result<(), Refusal> {
        let is_own_form = fingerprint(token) == fingerprint(&self.form_token());
        if self.hosts.sends(headers) && is_own_form { Ok(()) } else { Err(Refusal::ForeignForm) }
    }
}

/// A hash of a secret. The time of a comparison of hashes tells nothing of the secret.
fn fingerprint(secret: &str) -> String {
    hex::encode(Sha256::digest(secret))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderName, HeaderValue};

    use super::{Door, Refusal};

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).expect("a value"))
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn only_a_form_of_this_page_is_taken() {
        let door = Door::new(7_000, "token", "secret".to_owned());
        let own = door.form_token();
        let form = |pairs: &[(&'static str, &str)], token: &str| door.form(&headers(pairs), token);
        let (here, site) = (("origin", "http://127.0.0.1:7000"), ("sec-fetch-site", "same-origin"));
        assert_eq!(form(&[here, site], &own), Ok(()));
        for refused in [form(&[here, site], "guessed"), form(&[here, ("sec-fetch-site", "same-site")], &own)] {
            assert_eq!(refused, Err(Refusal::ForeignForm));
        }
    }

    #[test]
    fn the_token_works_once_and_the_cookie_from_then_on() {
        let door = Door::new(7_000, "token", "secret".to_owned());
        assert!(door.enter("other").is_none());
        let cookie = door.enter("token").expect("a cookie");
        let cookie = cookie.to_str().expect("a text").to_owned();
        assert_eq!(cookie, "hm_web_7000=secret; HttpOnly; SameSite=Strict; Path=/");
        assert!(door.enter("token").is_none(), "once");
        assert_eq!(door.known(&headers(&[("cookie", "a=b; hm_web_7000=secret")])), Ok(()));
        for other in ["hm_web_7000=", "hm_web_7001=secret", "hm_web_7000=secret2"] {
            assert_eq!(door.known(&headers(&[("cookie", other)])), Err(Refusal::NoCookie), "{other}");
        }
    }
}
