//! What a process and the helper of its run send to each other.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::artifacts;
use super::profile::Plan;
use super::report::Report;
use super::result::Subject;
use crate::domain::scope::Scope;
use crate::private;
use crate::system;

/// The key of hashes over text that is not stored: 32 bytes, kept in the memory's directory, never in the ledger.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StreamKey([u8; 32]);

/// A text that is not a key.
#[derive(Debug, thiserror::Error)]
#[error("a stream key is 64 hex digits")]
pub struct BadKey;

impl StreamKey {
    /// A key from 32 random bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes of the key.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads the key from a file, or makes it. When several processes make it at once, all get the key of the first.
    ///
    /// # Errors
    /// The error of the file system. `InvalidData` for a file that holds no key; the file stays unchanged.
    pub fn of(file: &Path) -> io::Result<Self> {
        let dir = file.parent().unwrap_or(file);
        let read = || -> io::Result<Self> {
            let text = private::read_to_string(file)?;
            Self::try_from(text.trim().to_owned())
                .map_err(|bad| io::Error::new(io::ErrorKind::InvalidData, bad))
        };
        match read() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            done => return done,
        }
        // The file is readable by its owner only, and complete before it gets its name.
        let mut fresh = tempfile::NamedTempFile::new_in(dir)?;
        writeln!(fresh, "{}", hex::encode(system::entropy()))?;
        fresh.as_file().sync_all()?;
        match fresh.persist_noclobber(file) {
            Ok(_) => artifacts::sync_dir(dir)?,
            Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(failed) => return Err(failed.error),
        }
        read()
    }
}

impl TryFrom<String> for StreamKey {
    type Error = BadKey;

    fn try_from(text: String) -> Result<Self, BadKey> {
        let mut key = [0; 32];
        hex::decode_to_slice(text, &mut key).map_err(|_| BadKey)?;
        Ok(Self(key))
    }
}

impl From<StreamKey> for String {
    fn from(key: StreamKey) -> Self {
        hex::encode(key.0)
    }
}

impl std::fmt::Debug for StreamKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StreamKey(…)")
    }
}

/// Everything that the helper needs for a run. It goes through a pipe and is stored nowhere.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    /// The id of the run.
    pub run_id: Uuid,
    /// The command and its limits.
    pub plan: Plan,
    /// The directory for its files, which does not exist yet.
    pub artifacts: PathBuf,
    /// The key of hashes over text that is not stored.
    pub key: StreamKey,
    /// The team's own secret patterns, from `[privacy]` of config.toml.
    pub secret_patterns: Vec<String>,
    /// The experiment that the operator names; `None` for a run of a claim.
    pub subject: Option<Subject>,
    /// The part of the work tree that the run tests; `None` for a command that a person typed.
    #[serde(default)]
    pub about: Option<About>,
}

/// The files that decide whether two runs ran on the same content.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct About {
    /// The root of the work tree.
    pub root: PathBuf,
    /// The scopes of the claim.
    pub claim: Vec<Scope>,
}

/// The progress of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Time since its start, in milliseconds.
    pub elapsed_ms: u64,
    /// Number of bytes of standard output so far.
    pub stdout_bytes: u64,
    /// Number of bytes of standard error so far.
    pub stderr_bytes: u64,
    /// The last complete line of standard output, or else of standard error, cleaned and redacted.
    pub last_line: Option<String>,
    /// Whether every process of the run has ended. The helper then still writes its files.
    #[serde(default)]
    pub over: bool,
}

/// A message from the helper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// The progress of the run, four times a second.
    Progress(Progress),
    /// The run is over and its files are written. It is the last message.
    Finished(Box<Report>),
    /// There is no report; the text is the reason. The run counts as aborted. It is the last message.
    Lost(String),
}
