//! Bearer tokens of the HTTP front: who may come in, as which agent, with which role.
//!
//! They are the configuration of a front, not memory of the team: they live beside the ledger and never in it,
//! since nobody should find out from history who once held a key.

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

/// Marks a token, so that scanners for leaked secrets know one.
const PREFIX: &str = "hm_";
/// The longest name of a token.
const MAX_NAME_CHARS: usize = 40;

/// One token as kept: everything but the token.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Token {
    /// What the operator calls it.
    pub name: String,
    /// Who speaks with it.
    pub agent: AgentId,
    /// What it may do.
    pub role: Role,
    /// When it was made, in ms since the epoch.
    pub created: Timestamp,
    /// The SHA-256 of the token; 32 random bytes need no salt.
    sha256: String,
}

/// Why the tokens cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file system refuses.
    #[error("cannot use {path}: {source}")]
    Io {
        /// Which file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// Somebody else wrote into the file.
    #[error("{path} does not parse ({source}): mend it, or remove it and add the tokens anew")]
    Syntax {
        /// Which file.
        path: String,
        /// What is wrong, and where.
        source: serde_json::Error,
    },
    /// There were tokens, and another home's hm set them aside.
    #[error(
        "the tokens of this memory were set aside when it was opened from another home: put {0} back as tokens.json if \
         they are yours, or remove it"
    )]
    SetAside(String),
    /// A name that cannot be typed safely.
    #[error("`{0}` cannot name a token: use 1 to 40 of a-z, 0-9, `_` and `-`")]
    BadName(String),
    /// Two tokens of one name.
    #[error("a token called `{0}` is there already: remove it first, or choose another --name")]
    Taken(String),
    /// No token of that name.
    #[error("no token is called `{0}`: see hm token list")]
    Unknown(String),
}

#[derive(Default, Serialize, Deserialize)]
struct Kept {
    tokens: Vec<Token>,
}

/// The tokens of a workspace.
#[derive(Debug, Clone)]
pub struct Tokens {
    path: PathBuf,
}

impl Tokens {
    /// Nothing is opened yet.
    pub fn of(workspace: &Workspace) -> Self {
        Self { path: workspace.tokens() }
    }

    /// All of them, in the order they were made.
    ///
    /// # Errors
    /// [`TokenError::Io`] and [`TokenError::Syntax`]; no file means no token.
    pub fn load(&self) -> Result<Vec<Token>, TokenError> {
        let text = match private::read(&self.path) {
            Ok(text) => text,
            // Without them everybody on this machine may come in: a human has to say so.
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

    /// Tokens that were set aside when another home opened the memory.
    fn set_aside(&self) -> Option<PathBuf> {
        let prefix = format!("{}.set-aside-", self.path.file_name()?.to_string_lossy());
        let mut entries = std::fs::read_dir(self.path.parent()?).ok()?.flatten();
        entries
            .find(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
            .map(|entry| entry.path())
    }

    /// Makes a token of 32 unguessable bytes. It is returned once and kept nowhere. Without a name it is called
    /// after its agent.
    ///
    /// # Errors
    /// [`TokenError`].
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

    /// Removes a token; a front that serves drops its sessions within a second.
    ///
    /// # Errors
    /// [`TokenError`].
    pub fn remove(&self, name: &str) -> Result<Token, TokenError> {
        let _held = self.lock()?;
        let mut tokens = self.load()?;
        let at = tokens.iter().position(|token| token.name == name);
        let removed = tokens.remove(at.ok_or_else(|| TokenError::Unknown(name.to_owned()))?);
        self.keep(tokens)?;
        Ok(removed)
    }

    /// Two who change the file at once must not lose each other's change.
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
        // A named temporary file is readable by its owner only.
        let mut file = tempfile::NamedTempFile::new_in(dir).map_err(|source| self.io(source))?;
        file.write_all(&text).and_then(|()| file.as_file().sync_all()).map_err(|source| self.io(source))?;
        file.persist(&self.path).map_err(|error| self.io(error.error))?;
        Ok(())
    }

    fn io(&self, source: std::io::Error) -> TokenError {
        TokenError::Io { path: self.path.display().to_string(), source }
    }
}

/// The token that was presented. Every one is compared, each in constant time: how long it takes says nothing.
pub fn find<'a>(tokens: &'a [Token], presented: &str) -> Option<&'a Token> {
    let presented = fingerprint(presented);
    tokens.iter().fold(None, |found, token| {
        let same = bool::from(token.sha256.as_bytes().ct_eq(presented.as_bytes()));
        if same { Some(token) } else { found }
    })
}

fn fingerprint(secret: &str) -> String {
    hex::encode(Sha256::digest(secret.as_bytes()))
}
