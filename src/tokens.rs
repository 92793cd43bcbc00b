//! Bearer tokens of the HTTP front: each admits one agent with one role.
//!
//! Tokens configure a front and are no memory of the team. They lie beside the ledger and never in it, so that
//! history does not reveal the earlier owners of tokens.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::domain::agent::AgentId;
use crate::domain::time::Timestamp;
use crate::identity::Role;
use crate::private;
use crate::workspace::Workspace;

/// Prefix of every token, by which scanners for leaked secrets recognise it.
const PREFIX: &str = "hm_";
/// The longest name of a token.
const MAX_NAME_CHARS: usize = 40;

/// The record of one token, without the token itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Token {
    /// The name that the operator chose; unique in the workspace.
    pub name: String,
    /// The agent that the token speaks for.
    pub agent: AgentId,
    /// The calls that the token permits.
    pub role: Role,
    /// Time of its creation.
    pub created: Timestamp,
    /// SHA-256 of the token, in hex. A token of 32 random bytes needs no salt.
    sha256: String,
}

/// Why tokens cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// A file operation failed.
    #[error("cannot use {path}: {source}")]
    Io {
        /// Path of the file.
        path: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// Another program or a person wrote invalid text into the file.
    #[error("{path} does not parse ({source}): mend it, or remove it and add the tokens anew")]
    Syntax {
        /// Path of the file.
        path: String,
        /// The error of the parser, with its place.
        source: serde_json::Error,
    },
    /// The memory had tokens, and hm set them aside when it was opened from another home.
    #[error(
        "the tokens of this memory were set aside when it was opened from another home: put {0} back as tokens.json if \
         they are yours, or remove it"
    )]
    SetAside(String),
    /// The name has characters that are not safe to type, or too many.
    #[error("`{0}` cannot name a token: use 1 to 40 of a-z, 0-9, `_` and `-`")]
    BadName(String),
    /// Another token has this name.
    #[error("a token called `{0}` is there already: remove it first, or choose another --name")]
    Taken(String),
    /// No token has this name.
    #[error("no token is called `{0}`: see hm token list")]
    Unknown(String),
}

#[derive(Default, Serialize, Deserialize)]
struct Kept {
    tokens: Vec<Token>,
}

/// The tokens of a workspace: a handle of the file.
#[derive(Debug, Clone)]
pub struct Tokens {
    path: PathBuf,
}

impl Tokens {
    /// The handle of a workspace. It opens no file.
    pub fn of(workspace: &Workspace) -> Self {
        Self { path: workspace.tokens() }
    }

    /// All tokens, in the order of their creation; empty when there is no file.
    ///
    /// # Errors
    /// [`TokenError::Io`], [`TokenError::Syntax`] and [`TokenError::SetAside`].
    pub fn load(&self) -> Result<Vec<Token>, TokenError> {
        let text = match private::read(&self.path) {
            Ok(text) => text,
            // Without tokens every process of this machine may connect, so a person must decide.
            Err(error) if error.kind() == ErrorKind::NotFound => match self.set_aside() {
                Some(path) => return Err(TokenError::SetAside(path.display().to_string())),
                None => return Ok(Vec::new()),
            },
            Err(source) => return Err(self.io(source)),
        };
        let kept: Kept = serde_json::from_slice(&text)
            .map_err(|source| TokenError::Syntax { path: self.path.display().to_string(), source })?;
        Ok(kept.tokens)
    }

    /// The file of tokens that hm set aside when another home opened the memory.
    fn set_aside(&self) -> Option<PathBuf> {
        let prefix = format!("{}.set-aside-", self.path.file_name()?.to_string_lossy());
        let mut entries = std::fs::read_dir(self.path.parent()?).ok()?.flatten();
        entries
            .find(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
            .map(|entry| entry.path())
    }

    /// Makes a token from 32 random bytes. It is returned once and stored nowhere. The default name is that of
    /// the agent.
    ///
    /// # Errors
    /// [`TokenError`]; the tokens are then unchanged.
    pub fn add(
        &self,
        name: Option<&str>,
        agent: AgentId,
        role: Role,
        created: Timestamp,
        entropy: [u8; 32],
    ) -> Result<(Token, String), TokenError> {
        let _held = self.lock()?;
        let mut tokens = self.load()?;
        let taken = |name: &str| tokens.iter().any(|token| token.name == name);
        let name = match name {
            Some(name) if taken(name) => return Err(TokenError::Taken(name.to_owned())),
            Some(name) => name.to_owned(),
            None => std::iter::once(agent.to_string())
                .chain((2..).map(|number: u32| format!("{agent}-{number}")))
                .find(|name| !taken(name))
                .expect("numbers do not run out"),
        };
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
        if name.is_empty() || name.len() > MAX_NAME_CHARS || !name.chars().all(plain) {
            return Err(TokenError::BadName(name));
        }
        let secret = format!("{PREFIX}{}", hex::encode(entropy));
        let token = Token { name, agent, role, created, sha256: fingerprint(&secret) };
        tokens.push(token.clone());
        self.keep(tokens)?;
        Ok((token, secret))
    }

    /// Removes a token. A running front ends its sessions within a second.
    ///
    /// # Errors
    /// [`TokenError::Unknown`], or those of [`Tokens::load`].
    pub fn remove(&self, name: &str) -> Result<Token, TokenError> {
        let _held = self.lock()?;
        let mut tokens = self.load()?;
        let at = tokens.iter().position(|token| token.name == name);
        let removed = tokens.remove(at.ok_or_else(|| TokenError::Unknown(name.to_owned()))?);
        self.keep(tokens)?;
        Ok(removed)
    }

    /// The lock keeps two processes from losing each other's change.
    fn lock(&self) -> Result<File, TokenError> {
        let path = self.path.with_extension("lock");
        let file = private::options().create(true).truncate(false).write(true).open(path);
        let file = file.map_err(|source| self.io(source))?;
        file.lock().map_err(|source| self.io(source))?;
        Ok(file)
    }

    fn keep(&self, tokens: Vec<Token>) -> Result<(), TokenError> {
        let text = serde_json::to_vec_pretty(&Kept { tokens }).expect("tokens are plain data");
        let dir = self.path.parent().unwrap_or(Path::new("."));
        // Only its owner can read a named temporary file.
        let mut file = tempfile::NamedTempFile::new_in(dir).map_err(|source| self.io(source))?;
        file.write_all(&text).and_then(|()| file.as_file().sync_all()).map_err(|source| self.io(source))?;
        file.persist(&self.path).map_err(|error| self.io(error.error))?;
        Ok(())
    }

    fn io(&self, source: std::io::Error) -> TokenError {
        TokenError::Io { path: self.path.display().to_string(), source }
    }
}

/// The record of the presented token. The time does not reveal which one matches: every record is compared,
/// each in constant time.
pub fn find<'a>(tokens: &'a [Token], presented: &str) -> Option<&'a Token> {
    let presented = fingerprint(presented);
    tokens.iter().fold(None, |found, token| {
        let same = bool::from(token.sha256.as_bytes().ct_eq(presented.as_bytes()));
        if same { Some(token) } else { found }
    })
}

/// A hash of a secret. The time of a comparison of hashes tells nothing of the secret.
pub(crate) fn fingerprint(secret: &str) -> String {
    hex::encode(Sha256::digest(secret.as_bytes()))
}
