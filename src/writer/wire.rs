//! The socket between fronts and the writer, and its frames: a length, then JSON.

use std::io;
use std::path::PathBuf;

use interprocess::local_socket::tokio::Stream;
use interprocess::local_socket::tokio::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::domain::agent::AgentId;
use crate::domain::command::Submission;
use crate::domain::receipt::Receipt;
use crate::domain::rejection::Rejection;
use crate::ledger::Origin;
use crate::private::FileName;

/// Version of the protocol, raised when a frame changes its meaning. Both sides must have the same.
pub(super) const PROTOCOL: u32 = 3;
/// Larger frames are refused. The limit is four times the longest command.
pub(super) const MAX_FRAME_BYTES: u32 = 1024 * 1024;

/// The first frame in either direction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hello {
    pub protocol: u32,
    pub version: String,
    /// The id of the writer's ledger; `None` from a front, and before the first event.
    #[serde(default)]
    pub ledger: Option<Origin>,
    /// The file of the writer's ledger; `None` from a front.
    #[serde(default)]
    pub file: Option<FileName>,
}

impl Hello {
    pub(super) fn ours() -> Self {
        Self { protocol: PROTOCOL, version: env!("CARGO_PKG_VERSION").to_owned(), ledger: None, file: None }
    }

    /// Whether the other side is of a later version of hm.
    pub(super) fn is_newer(&self) -> bool {
        numbers(&self.version) > numbers(env!("CARGO_PKG_VERSION"))
    }

    /// Whether the other side is of an earlier version of hm.
    pub(super) fn is_older(&self) -> bool {
        numbers(&self.version) < numbers(env!("CARGO_PKG_VERSION"))
    }
}

/// The numbers of a version, without a suffix as in `1.2.3-beta`.
fn numbers(version: &str) -> Vec<u64> {
    let plain = version.split(['-', '+']).next().unwrap_or_default();
    plain.split('.').map(|number| number.parse().unwrap_or_default()).collect()
}

/// A request of a front.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub(super) enum Request {
    /// Decide and append a command; answered by `Answer` with the same `id`.
    Submit { id: u64, submission: Box<Submission> },
    /// Send `Head` now and each time the ledger grows.
    Watch,
    /// Drop every projection and fold the ledger again; answered by `Rebuilding` and `Rebuilt`.
    Rebuild,
    /// Append the events of an export. The writer reads the file itself, because it may be larger than any frame.
    /// Answered by `Importing`, and then `Imported` or `Refused`.
    Import {
        file: PathBuf,
        /// Whether the texts are accepted without a scan for secrets.
        #[serde(default)]
        as_is: bool,
    },
}

/// A reply of the writer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub(super) enum Reply {
    Answer {
        id: u64,
        outcome: Decided,
    },
    Head {
        seq: u64,
    },
    Rebuilding {
        seq: u64,
        of: u64,
    },
    Rebuilt {
        seq: u64,
    },
    Importing {
        seq: u64,
    },
    Imported {
        added: u64,
        present: u64,
        #[serde(default)]
        authors: Vec<AgentId>,
    },
    Refused {
        rejection: Rejection,
    },
    Failed {
        message: String,
    },
}

/// A receipt or a refusal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Decided {
    Receipt(Receipt),
    Rejection(Rejection),
}

impl From<Result<Receipt, Rejection>> for Decided {
    fn from(result: Result<Receipt, Rejection>) -> Self {
        result.map_or_else(Self::Rejection, Self::Receipt)
    }
}

impl From<Decided> for Result<Receipt, Rejection> {
    fn from(outcome: Decided) -> Self {
        match outcome {
            Decided::Receipt(receipt) => Ok(receipt),
            Decided::Rejection(rejection) => Err(rejection),
        }
    }
}

/// Encodes one frame.
pub(super) fn encode(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message)?;
    let len = u32::try_from(frame.len() - 4).unwrap_or(u32::MAX);
    if len > MAX_FRAME_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the frame is larger than 1 MiB"));
    }
    frame[..4].copy_from_slice(&len.to_le_bytes());
    Ok(frame)
}

/// Reads one frame; `None` when the other side closed between two frames.
pub(super) async fn read<T: DeserializeOwned>(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<T>> {
    let mut len = [0; 4];
    match from.read_exact(&mut len).await {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    };
    let len = u32::from_le_bytes(len);
    if len > MAX_FRAME_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the frame is larger than 1 MiB"));
    }
    let mut body = vec![0; len as usize];
    from.read_exact(&mut body).await?;
    Ok(Some(serde_json::from_slice(&body)?))
}

/// Writes one frame.
pub(super) async fn write(to: &mut (impl AsyncWrite + Unpin), message: &impl Serialize) -> io::Result<()> {
    to.write_all(&encode(message)?).await?;
    to.flush().await
}

/// The name of a socket in the form of this platform.
pub(super) fn socket_name(path: PathBuf) -> io::Result<interprocess::local_socket::Name<'static>> {
    #[cfg(unix)]
    return path.to_fs_name::<interprocess::local_socket::GenericFilePath>();
    #[cfg(windows)]
    return path
        .to_string_lossy()
        .replace(['\\', ':'], "-")
        .to_ns_name::<interprocess::local_socket::GenericNamespaced>();
}

/// Whether the process at the other end of a connection belongs to this user. Where the system cannot tell, the
/// modes of the directories protect the socket.
pub(super) fn is_ours(stream: &Stream) -> bool {
    #[cfg(unix)]
    return stream
        .peer_creds()
        .is_ok_and(|peer| peer.euid().is_none_or(|user| user == rustix::process::geteuid().as_raw()));
    #[cfg(not(unix))]
    return true;
}
