//! The key `[search] vectors`: what searches compare, and the model that they ask.

use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use url::{Host, Url};

use crate::domain::ranking::Vectors;

/// Before the directory of a model.
const MINILM: &str = "minilm:";
/// Before the address of an endpoint.
const OPENAI: &str = "openai:";
/// The last part of an endpoint's path.
const EMBEDDINGS: &str = "embeddings";

/// A model whose meanings searches compare. A person must allow exactly this text, because the file may come with a clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A sentence model in this directory.
    Directory(PathBuf),
    /// A model behind a network address.
    Endpoint(Endpoint),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(dir) => write!(f, "{MINILM}{}", dir.display()),
            Self::Endpoint(endpoint) => write!(f, "{OPENAI}{}", endpoint.text),
        }
    }
}

/// An OpenAI-compatible endpoint for embeddings, written `URL#MODEL`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The text in the file.
    text: String,
    /// Where requests go. It is `https`, or `http` on this machine.
    pub url: Url,
    /// The name of the model in requests.
    pub model: String,
}

impl Endpoint {
    /// `None` for an address that is no base address, sends in clear to another machine, holds a password or a query (it
    /// may hold a key, and the text is shown to agents), or names no model. The text is shown to a human who decides about it, so it has visible characters only.
    fn of(text: &str) -> Option<Self> {
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        let mut url = Url::parse(text).ok()?;
        let model = url.fragment().filter(|model| !model.is_empty())?.to_owned();
        url.set_fragment(None);
        let is_safe = url.scheme() == "https" || url.scheme() == "http" && is_here(&url);
        if !is_safe || !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
            return None;
        }
        if url.path_segments()?.next_back() != Some(EMBEDDINGS) {
            url.path_segments_mut().ok()?.pop_if_empty().push(EMBEDDINGS);
        }
        Some(Self { text: text.to_owned(), url, model })
    }

    /// Whether requests stay on this machine.
    pub fn is_here(&self) -> bool {
        is_here(&self.url)
    }
}

fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// The value of the key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Compared {
    pub(super) vectors: Vectors,
    pub(super) model: Option<Source>,
}

/// A value that means nothing.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is nothing to compare: write off, static, minilm:DIR with an absolute directory, or openai:URL#MODEL with the \
     base address of an endpoint: https, or http on this machine, without a password or query"
)]
pub(super) struct BadSource(String);

impl TryFrom<String> for Compared {
    type Error = BadSource;

    fn try_from(text: String) -> Result<Self, BadSource> {
        let by_model = |source| Self { vectors: Vectors::Static, model: Some(source) };
        match text.as_str() {
            "off" => return Ok(Self::default()),
            "static" => return Ok(Self { vectors: Vectors::Static, model: None }),
            _ => {}
        }
        let dir = text.strip_prefix(MINILM).map(PathBuf::from).filter(|dir| dir.is_absolute());
        let endpoint = || text.strip_prefix(OPENAI).and_then(Endpoint::of).map(Source::Endpoint);
        dir.map(Source::Directory).or_else(endpoint).map(by_model).ok_or(BadSource(text))
    }
}

#[cfg(test)]
mod tests {
    use super::Endpoint;

    #[test]
    fn an_endpoint_is_a_base_address_and_a_model() {
        let read = |text: &str| Endpoint::of(text).map(|endpoint| (endpoint.url.to_string(), endpoint.model));
        let is = |url: &str, model: &str| Some((url.to_owned(), model.to_owned()));
        let asked = "http://127.0.0.1:11434/v1/embeddings";
        assert_eq!(read("http://127.0.0.1:11434/v1#m"), is(asked, "m"));
        assert_eq!(read("http://127.0.0.1:11434/v1/#m:latest"), is(asked, "m:latest"));
        assert_eq!(read("http://127.0.0.1:11434/v1/embeddings#m"), is(asked, "m"));
        assert_eq!(read("http://[::1]/v1#m"), is("http://[::1]/v1/embeddings", "m"));
        for text in [
            "http://a.example/v1#m",
            "http://localhost.a.example/v1#m",
            "http://127.0.0.1@a.example/v1#m",
            "https://user:word@a.example/v1#m",
            "https://a.example/v1",
            "https://a.example/v1#",
            "file:///v1#m",
            "https://a.example/v1#m\u{1b}[2K",
            "v1#m",
            "",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
