//! The key `[search] vectors`: what searches compare, and the model that they ask.

use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;

use crate::domain::ranking::Vectors;

/// Before the directory of a model.
const MINILM: &str = "minilm:";

/// A model whose meanings searches compare. A person must allow exactly this text, because the file may come with a clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A sentence model in this directory.
    Directory(PathBuf),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(dir) => write!(f, "{MINILM}{}", dir.display()),
        }
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
#[error("`{0}` is nothing to compare: write off, static or minilm:DIR with an absolute directory")]
pub(super) struct BadSource(String);

impl TryFrom<String> for Compared {
    type Error = BadSource;

    fn try_from(text: String) -> Result<Self, BadSource> {
        let by_model = |source| Self { vectors: Vectors::Static, model: Some(source) };
        match text.as_str() {
            "off" => Ok(Self::default()),
            "static" => Ok(Self { vectors: Vectors::Static, model: None }),
            _ => {
                let dir = text.strip_prefix(MINILM).map(PathBuf::from).filter(|dir| dir.is_absolute());
                dir.map(|dir| by_model(Source::Directory(dir))).ok_or(BadSource(text))
            }
        }
    }
}
