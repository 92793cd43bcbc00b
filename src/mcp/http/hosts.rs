//! Checks `Host` and `Origin`: a page in a browser must not reach the front under a host name of its own.

use std::net::SocketAddr;

use axum::http::uri::{Authority, Uri};
use axum::http::{HeaderMap, header};

/// The names and addresses of this front. Ports are ignored, because a port may be forwarded.
#[derive(Debug, Clone)]
pub(super) struct Hosts(Vec<String>);

impl Hosts {
    /// The loopback names, the address of the listener, and the names that the operator adds.
    pub(super) fn new(address: SocketAddr, added: &[String]) -> Self {
        let mut names: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
        if !address.ip().is_unspecified() {
            names.push(address.ip().to_string());
        }
        names.extend(added.iter().map(|name| plain(name)));
        Self(names)
    }

    pub(super) fn names(&self) -> &[String] {
        &self.0
    }

    /// Whether the one `Host` header is ours, and also `Origin` if a browser sends it.
    pub(super) fn admit(&self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
        let host_is_ours = host
            .to_str()
            .ok()
            .and_then(|host| host.parse::<Authority>().ok())
            .is_some_and(|authority| self.is_ours(authority.host()));
        host_is_ours
            && headers.get_all(header::ORIGIN).iter().all(|origin| self.is_our_origin(origin.to_str().ok()))
    }

    fn is_our_origin(&self, origin: Option<&str>) -> bool {
        let Some(uri) = origin.and_then(|origin| origin.parse::<Uri>().ok()) else { return false };
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.host().is_some_and(|host| self.is_ours(host))
    }

    fn is_ours(&self, host: &str) -> bool {
        self.0.contains(&plain(host))
    }
}

fn plain(host: &str) -> String {
    host.trim().trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue};

    use super::Hosts;

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
