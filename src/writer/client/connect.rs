//! How a front finds its writer, starts it when needed, and makes sure that it serves the same memory.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use interprocess::local_socket::tokio::Stream;
use interprocess::local_socket::tokio::prelude::*;

use super::connection::{Connection, Patience};
use crate::domain::rejection::{Code, Rejection};
use crate::ledger::Origin;
use crate::private;
use crate::system;
use crate::workspace::{Workspace, WorkspaceError};
use crate::writer::wire::{self, Hello, PROTOCOL, is_ours, socket_name};

/// How often a front tries to connect to a starting writer.
const START_POLL: Duration = Duration::from_millis(4);
/// After a failed start, or after a writer hung, writes go directly to the spool for this time.
const TRIED_AGAIN_AFTER: Duration = Duration::from_secs(3);
/// The same for a writer that is only slow to start, for instance over a long ledger.
const SLOW_START: Duration = Duration::from_millis(250);
/// How long a front waits before it starts a writer again while another process holds the writer's lock.
const LOCK_POLL: Duration = Duration::from_millis(25);

/// Finds or starts the writer of a workspace.
#[derive(Debug)]
pub(super) struct Connector {
    workspace: Workspace,
    binary: PathBuf,
    pub(super) patience: Patience,
    connection: tokio::sync::Mutex<Option<Connection>>,
    /// Whether the holder of `connection` waits for a starting writer.
    is_starting: AtomicBool,
    /// No writer is asked before this time. The value is shared by all panes of this process.
    given_up_until: Mutex<Option<Instant>>,
    seen: Mutex<Seen>,
}

/// The memory and ledger that this front has written to. It never writes to another one.
#[derive(Debug, Default)]
struct Seen {
    /// The id of the memory.
    memory: Option<String>,
    /// The id of the ledger, from its first event.
    ledger: Option<Origin>,
}

/// Why the writer cannot be used.
pub(super) enum Unreachable {
    /// There is no listener, the connection was lost, or the writer serves other files.
    Gone,
    /// It accepted the connection and sends nothing.
    Silent,
    /// Writing is not allowed: the writer has another version, or the memory was replaced.
    Refused(Rejection),
}

impl Connector {
    pub(super) fn new(workspace: Workspace, binary: PathBuf) -> Self {
        let seen = Mutex::new(Seen { memory: workspace.id(), ledger: None });
        Self {
            workspace,
            binary,
            patience: Patience::of_process(),
            connection: tokio::sync::Mutex::new(None),
            is_starting: AtomicBool::new(false),
            given_up_until: Mutex::new(None),
            seen,
        }
    }

    /// An open connection, or the result of the call that is connecting now.
    pub(super) async fn connection(&self) -> Result<Connection, Unreachable> {
        if self.has_given_up() {
            return Err(Unreachable::Gone);
        }
        let patience = self.patience;
        let since = system::instant();
        let mut current = loop {
            if let Ok(current) = tokio::time::timeout(patience.beside_another, self.connection.lock()).await {
                break current;
            }
            // Calls wait only briefly while another call waits for a hello. They wait longer for a writer that is
            // starting.
            let is_starting = self.is_starting.load(Ordering::Relaxed);
            if !is_starting || since.elapsed() > patience.start {
                return Err(Unreachable::Gone);
            }
        };
        if let Some(connection) = current.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok(connection.clone());
        }
        if self.has_given_up() {
            return Err(Unreachable::Gone);
        }
        let opened = self.open_or_start().await;
        self.is_starting.store(false, Ordering::Relaxed);
        if matches!(opened, Err(Unreachable::Silent)) {
            self.give_up(TRIED_AGAIN_AFTER);
        }
        let connection = Connection::over(opened?, patience);
        *current = Some(connection.clone());
        Ok(connection)
    }

    fn has_given_up(&self) -> bool {
        let until = *self.given_up_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| system::instant() < until)
    }

    fn give_up(&self, duration: Duration) {
        let mut until = self.given_up_until.lock().unwrap_or_else(PoisonError::into_inner);
        *until = Some(system::instant() + duration);
    }

    /// Gives up a writer that hangs, also for every call that waits for it.
    pub(super) async fn give_up_hung(&self, hung: &Connection) {
        self.give_up(TRIED_AGAIN_AFTER);
        hung.wake_all();
        self.hang_up(hung).await;
    }

    /// Forgets a lost connection.
    pub(super) async fn hang_up(&self, lost: &Connection) {
        let mut current = self.connection.lock().await;
        if current.as_ref().is_some_and(|current| current.is(lost)) {
            *current = None;
        }
    }

    pub(super) async fn open(&self) -> Result<Stream, Unreachable> {
        let gone = |_| Unreachable::Gone;
        let workspace = &self.workspace;
        let name = workspace.socket().and_then(socket_name).map_err(gone)?;
        let mut stream = Stream::connect(name).await.map_err(gone)?;
        if !is_ours(&stream) {
            return Err(Unreachable::Refused(unavailable(
                "the process that listens for this memory belongs to another user".to_owned(),
            )));
        }
        let ours = Hello::ours();
        wire::write(&mut stream, &ours).await.map_err(gone)?;
        let theirs: Hello = tokio::time::timeout(self.patience.hello, wire::read(&mut stream))
            .await
            .map_err(|_| Unreachable::Silent)?
            .map_err(gone)?
            .ok_or(Unreachable::Gone)?;
        if theirs.is_older() {
            // The writer learned this front's version and exits.
            return Err(Unreachable::Gone);
        }
        if theirs.protocol != PROTOCOL {
            return Err(Unreachable::Refused(Rejection::new(
                Code::VersionMismatch,
                format!("the writer of this workspace is hm {}, this is hm {}", theirs.version, ours.version),
                "close the panes of the other version; their writer leaves soon after the last one",
            )));
        }
        if theirs.file.is_some() && theirs.file != private::name_of(&workspace.ledger()) {
            // The writer serves files that were here before, or files that this directory was copied from.
            return Err(Unreachable::Gone);
        }
        self.recognise(theirs.ledger).map_err(Unreachable::Refused)?;
        Ok(stream)
    }

    /// Fails when the memory or the ledger is another one than the front wrote to before. A ledger without events has no
    /// id, so the id of its memory tells.
    fn recognise(&self, ledger: Option<Origin>) -> Result<(), Rejection> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let here = self.workspace.id();
        match (&seen.memory, &here) {
            // The operator imported the events of the ledger into a new memory.
            (Some(before), Some(now)) if before != now && (ledger.is_none() || seen.ledger != ledger) => {
                return Err(self.replaced());
            }
            (_, Some(_)) => seen.memory = here,
            (Some(_) | None, _) => {}
        }
        if seen.ledger.is_none() {
            seen.ledger = ledger;
        } else if seen.ledger != ledger {
            return Err(self.replaced());
        }
        Ok(())
    }

    /// Makes sure that the memory exists and is the one that was here before. A memory that disappeared is not
    /// created again, and a memory in its place gets no writes.
    pub(super) fn ground(&self) -> Result<(), Rejection> {
        let workspace = &self.workspace;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(before) = &seen.memory else {
            workspace.ensure().map_err(unusable)?;
            seen.memory = workspace.id();
            return Ok(());
        };
        match workspace.id() {
            Some(id) if id == *before => workspace.ensure().map_err(unusable),
            Some(_) => Err(self.replaced()),
            None => Err(unusable(WorkspaceError::Gone(workspace.memory().display().to_string()))),
        }
    }

    fn replaced(&self) -> Rejection {
        Rejection::new(
            Code::Unavailable,
            format!(
                "the memory {} is another one than this pane wrote to before: nothing was written",
                self.workspace.memory().display()
            ),
            "start the client anew to use the memory that is there now",
        )
    }

    pub(super) async fn open_or_start(&self) -> Result<Stream, Unreachable> {
        match self.open().await {
            Err(Unreachable::Gone) => {}
            other => return other,
        }
        self.ground().map_err(Unreachable::Refused)?;
        self.is_starting.store(true, Ordering::Relaxed);
        let deadline = system::instant() + self.patience.start;
        let mut child = self.start_writer();
        let mut given_up_for = SLOW_START;
        while system::instant() < deadline {
            let Ok(started) = &mut child else {
                given_up_for = TRIED_AGAIN_AFTER;
                break;
            };
            tokio::time::sleep(START_POLL).await;
            match self.open().await {
                Err(Unreachable::Gone) => {}
                other => return other,
            }
            // A writer that was killed, or exited because another one held the lock, is started again: the other
            // one may be gone by now. Other exit codes mean that it cannot run.
            match started.try_wait() {
                Ok(Some(status)) if status.success() => {
                    tokio::time::sleep(LOCK_POLL).await;
                    child = self.start_writer();
                }
                Ok(Some(status)) if status.code().is_none() => child = self.start_writer(),
                Ok(Some(_)) => {
                    given_up_for = TRIED_AGAIN_AFTER;
                    break;
                }
                Ok(None) | Err(_) => {}
            }
        }
        self.give_up(given_up_for);
        Err(Unreachable::Gone)
    }

    /// Starts a detached writer, which makes itself leader of its own session.
    ///
    /// # Errors
    /// The error of the operating system when the process cannot start.
    pub(super) fn start_writer(&self) -> std::io::Result<tokio::process::Child> {
        let workspace = &self.workspace;
        let log = private::options().create(true).append(true).open(workspace.writer_log())?;
        // Tokio keeps a dropped child running and reaps it later.
        tokio::process::Command::new(&self.binary)
            .args(["writer", "--detached", "--dir"])
            .arg(workspace.rules())
            .arg("--memory")
            .arg(workspace.memory())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
    }
}

pub(super) fn unavailable(message: String) -> Rejection {
    Rejection::new(Code::Unavailable, message, "`hm doctor` says what is wrong; then try again")
}

fn unusable(error: WorkspaceError) -> Rejection {
    let is_read_only = matches!(&error, WorkspaceError::Io { source, .. } if is_read_only(source));
    let way = if is_read_only {
        "this place may only be read: write where the client itself runs, outside of its sandbox"
    } else {
        "nothing was written; `hm doctor` says more"
    };
    Rejection::new(Code::Unavailable, error.to_string(), way)
}

fn is_read_only(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::ReadOnlyFilesystem | std::io::ErrorKind::PermissionDenied)
}

pub(super) fn lost(error: &std::io::Error) -> Rejection {
    unavailable(format!("the writer went away: {error}"))
}
