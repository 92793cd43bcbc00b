//! Checks `Host` and `Origin`: a page in a browser must not reach the front under a host name of its own.

use std::net::SocketAddr;

use axum::http::uri::{Authority, Uri};
use axum::http::{HeaderMap, header};

/// The names under which a browser on this machine reaches a front.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The names and addresses of a front.
#[derive(Debug, Clone)]
pub(crate) struct Hosts {
    names: Vec<String>,
    /// The only port that is ours; `None` where a port may be forwarded.
    port: Option<u16>,
}

impl Hosts {
    /// The loopback names, the address of the listener, and the names that the operator adds. Any port is ours.
    pub(super) fn new(address: SocketAddr, added: &[String]) -> Self {
        let mut names: Vec<String> = LOOPBACK.map(str::to_owned).into();
        if !address.ip().is_unspecified() {
            names.push(address.ip().to_string());
        }
        names.extend(added.iter().map(|name| plain(name)));
        Self { names, port: None }
    }

    /// The loopback names with one port.
    pub(crate) fn of_this_machine(port: u16) -> Self {
        Self { names: LOOPBACK.map(str::to_owned).into(), port: Some(port) }
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether the one `Host` header is ours, and also `Origin` if a browser sends it.
    pub(crate) fn admit(&self, headers: &HeaderMap) -> bool {
        self.serves(headers)
            && headers.get_all(header::ORIGIN).iter().all(|origin| self.is_our_origin(origin.to_str().ok()))
    }

    /// Whether the one `Host` header is ours.
    pub(crate) fn serves(&self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
        let host = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
        host.is_some_and(|host| self.is_ours(&host))
    }

    /// Whether a page of this front sends a form. A browser that sends no referrer replaces the origin of a form by `null`
    /// and says in another header whether the form is of the same site. Without that header the origin must be the host of
    /// the request with its port, because a cookie goes to all ports of a host.
    pub(crate) fn sends(&self, headers: &HeaderMap) -> bool {
        let all = |name: &str| headers.get_all(name).iter().map(|value| value.to_str().unwrap_or_default());
        let sites: Vec<&str> = all("sec-fetch-site").collect();
        let origins: Vec<&str> = all("origin").collect();
        let is_own_origin = match origins.as_slice() {
            ["null"] => !sites.is_empty(),
            [origin] => {
                self.is_our_origin(Some(origin)) && (!sites.is_empty() || is_of_host(origin, headers))
            }
            _ => false,
        };
        is_own_origin && sites.iter().all(|site| *site == "same-origin")
    }

    fn is_our_origin(&self, origin: Option<&str>) -> bool {
        let Some(uri) = origin.and_then(|origin| origin.parse::<Uri>().ok()) else { return false };
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.authority().is_some_and(|authority| self.is_ours(authority))
    }

    fn is_ours(&self, authority: &Authority) -> bool {
        self.names.contains(&plain(authority.host()))
            && self.port.is_none_or(|port| authority.port_u16() == Some(port))
    }
}

/// Whether an origin is the host of a request, with its port.
fn is_of_host(origin: &str, headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()?.parse::<Authority>().ok());
    let Some((origin, host)) = origin.parse::<Uri>().ok().zip(host) else { return false };
    let default_port = if origin.scheme_str() == Some("https") { 443 } else { 80 };
    let at = |it: &Authority| (plain(it.host()), it.port_u16().unwrap_or(default_port));
    origin.authority().is_some_and(|origin| at(origin) == at(&host))
}

fn plain(host: &str) -> String {
    host.trim().trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderName, HeaderValue};

    use super::Hosts;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).expect("a value"))
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn only_a_form_of_our_own_page_is_sent_by_us() {
        let hosts = Hosts::of_this_machine(7_000);
        let sends = |pairs: &[(&'static str, &str)]| hosts.sends(&headers(pairs));
        let (here, site) = (("origin", "http://127.0.0.1:7000"), ("sec-fetch-site", "same-origin"));
        let host = ("host", "127.0.0.1:7000");
        assert!(sends(&[here, site]) && sends(&[here, host]), "an older browser too");
        assert!(sends(&[("origin", "null"), site]), "what a browser without referrers sends");
        for foreign in [
            &[site][..],
            &[],
            &[("origin", "null")],
            &[("origin", "null"), ("sec-fetch-site", "cross-site")],
            &[here, ("sec-fetch-site", "same-site")],
            &[("origin", "http://127.0.0.1:7001"), site],
            &[("origin", "http://127.0.0.1:7000.evil.example"), site],
            &[("origin", "https://evil.example")],
            &[here, ("origin", "https://evil.example")],
        ] {
            assert!(!sends(foreign), "{foreign:?}");
        }
    }

    /// Red before: a page of another port of the same host sent forms with the cookie, which all ports share. Browsers name the
    /// site of a request only over TLS and on this machine.
    #[test]
    fn a_form_of_another_port_is_not_ours() {
        let address = "192.0.2.7:8787".parse().expect("an address");
        let hosts = Hosts::new(address, &["memory.example".to_owned()]);
        let sends = |host: &str, origin: &str, site: Option<&str>| {
            let mut sent = headers(&[("host", host), ("origin", origin)]);
            if let Some(site) = site {
                sent.insert("sec-fetch-site", HeaderValue::from_str(site).expect("a value"));
            }
            hosts.sends(&sent)
        };
        for (host, origin) in [
            ("192.0.2.7:8787", "http://192.0.2.7:8787"),
            ("memory.example", "https://memory.example"),
            ("memory.example", "http://Memory.Example:80"),
            ("memory.example:443", "https://memory.example"),
            ("[::1]:8787", "http://[::1]:8787"),
        ] {
            assert!(sends(host, origin, None), "{origin} to {host}");
        }
        for (host, origin) in [
            ("192.0.2.7:8787", "http://192.0.2.7:3000"),
            ("192.0.2.7:8787", "http://192.0.2.7"),
            ("memory.example", "https://memory.example:8443"),
            ("memory.example:443", "http://memory.example"),
            ("localhost:8787", "http://127.0.0.1:8787"),
        ] {
            assert!(!sends(host, origin, None), "{origin} to {host}");
        }
        // Behind a proxy that gives another host, the browser itself tells.
        assert!(sends("127.0.0.1:8787", "https://memory.example", Some("same-origin")));
        assert!(!sends("127.0.0.1:8787", "https://memory.example", Some("same-site")));
    }

    #[test]
    fn a_front_of_this_machine_has_one_port() {
        let hosts = Hosts::of_this_machine(7_000);
        for host in ["127.0.0.1:7000", "LOCALHOST:7000", "[::1]:7000"] {
            assert!(hosts.serves(&headers(&[("host", host)])), "{host}");
        }
        for host in ["evil.example:7000", "127.0.0.1", "127.0.0.1:7001", "localhost.evil.example:7000"] {
            assert!(!hosts.serves(&headers(&[("host", host)])), "{host}");
        }
        assert!(!hosts.serves(&HeaderMap::new()));
        assert!(!hosts.serves(&headers(&[("host", "127.0.0.1:7000"), ("host", "evil.example")])));
    }

    #[test]
    fn only_our_own_names_pass() {
        let address = "0.0.0.0:8787".parse().expect("an address");
        let hosts = Hosts::new(address, &["Memory.Example".to_owned()]);
        let admits = |host: &'static str, origin: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers.insert("host", HeaderValue::from_static(host));
            if let Some(origin) = origin {
                headers.insert("origin", HeaderValue::from_static(origin));
            }
            hosts.admit(&headers)
        };
        assert!(admits("127.0.0.1:8787", None) && admits("LOCALHOST", None) && admits("[::1]:1", None));
        assert!(admits("memory.example:443", Some("https://memory.example")));
        assert!(admits("localhost:8787", Some("http://127.0.0.1:3000")));
        assert!(!admits("evil.example", None) && !admits("localhost.evil.example", None));
        assert!(!admits("127.0.0.1@evil.example", None) && !admits("0.0.0.0:8787", None));
        for origin in
            ["https://evil.example", "null", "", "file://localhost", "http://localhost.evil.example"]
        {
            assert!(!admits("localhost", Some(origin)), "{origin}");
        }
        assert!(!hosts.admit(&HeaderMap::new()));
    }
}
