//! A front's way to the writer: submit, start it if need be, spool if it cannot be had.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use interprocess::local_socket::tokio::Stream;
use interprocess::local_socket::tokio::prelude::*;
use tokio::sync::{mpsc, oneshot};

use super::commit::{idempotency_conflict, receipt_of};
use super::server::socket_name;
use super::spool::{Spool, SpoolError};
use super::wire::{self, Hello, PROTOCOL, Reply, Request};
use crate::domain::agent::AgentId;
use crate::domain::command::{Command, DenyRecord, Submission};
use crate::domain::ids::{CommandId, SessionId};
use crate::domain::privacy::{self, Denial, Secrets};
use crate::domain::receipt::{Acceptance, Receipt};
use crate::domain::rejection::{Code, Rejection};
use crate::system;
use crate::workspace::Workspace;

/// How long a write waits for a writer that is being started (spec 01).
const START_WITHIN: Duration = Duration::from_secs(1);
/// How often a starting writer is tried.
const START_POLL: Duration = Duration::from_millis(4);
/// After a failed start, writes go to the spool at once for so long.
const RESTART_AFTER: Duration = Duration::from_secs(3);
/// How long an answer may take; a stopped or hanging writer must not hang its fronts.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// Resends after a lost connection, before the spool takes over.
const ATTEMPTS: u32 = 3;
/// How long a hook tries to reach the writer (spec 01).
const HURRY: Duration = Duration::from_millis(5);
/// How long a hook waits for a writer that has taken its command: a commit takes two milliseconds, a spooled line one.
const ANSWER_IN_A_HURRY: Duration = Duration::from_millis(50);
/// How often a watcher looks for a writer that went away.
const WATCH_RETRY: Duration = Duration::from_millis(100);

/// One front's handle on the writer of its workspace. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Front {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    workspace: Workspace,
    spool: Spool,
    binary: PathBuf,
    secrets: Secrets,
    connection: tokio::sync::Mutex<Option<Connection>>,
    start_failed: Mutex<Option<Instant>>,
}

type Waiting = Arc<Mutex<HashMap<u64, oneshot::Sender<Result<Receipt, Rejection>>>>>;

/// An open connection; answers find their askers by id.
#[derive(Debug, Clone)]
struct Connection {
    requests: mpsc::UnboundedSender<Request>,
    waiting: Waiting,
    next_id: Arc<std::sync::atomic::AtomicU64>,
}

/// Why the writer did not answer.
enum Unreachable {
    /// Nobody listens, or the connection broke.
    Gone,
    /// A writer of another version.
    Version(Rejection),
}

impl Front {
    /// A front of a workspace; nothing is opened yet. `binary` is started as `binary writer` on demand.
    /// It knows the built-in secret formats only.
    pub fn new(workspace: Workspace, binary: PathBuf) -> Self {
        Self::guarding(workspace, binary, Secrets::default())
    }

    /// [`Front::new`] that also keeps the team's own patterns and this process's values out.
    pub fn guarding(workspace: Workspace, binary: PathBuf, secrets: Secrets) -> Self {
        let spool = Spool::of(&workspace);
        Self {
            shared: Arc::new(Shared {
                workspace,
                spool,
                binary,
                secrets,
                connection: tokio::sync::Mutex::new(None),
                start_failed: Mutex::new(None),
            }),
        }
    }

    /// Submits a command. `committed` means durable in the ledger; `queued` means durable in the spool.
    ///
    /// # Errors
    /// `privacy_deny_sensitive` before any of it leaves this process; the writer's refusal; or
    /// `unavailable` when neither writer nor spool can take it.
    pub async fn submit(&self, submission: Submission) -> Result<Receipt, Rejection> {
        match privacy::deny(&submission, &self.shared.secrets) {
            Some(denial) => Err(self.refuse(denial, &submission.agent, submission.session).await),
            None => self.send(submission).await,
        }
    }

    /// Submits for a process in a hurry: what the writer does not take at once is queued, and none is started.
    ///
    /// # Errors
    /// The first refusal; what came before it is taken, what comes after is not.
    pub async fn submit_in_a_hurry(&self, submissions: Vec<Submission>) -> Result<Vec<Receipt>, Rejection> {
        self.submit_over(tokio::time::timeout(HURRY, self.open()).await.ok(), ANSWER_IN_A_HURRY, submissions)
            .await
    }

    /// Submits for a process that can wait so long: a writer that is not there is started.
    ///
    /// # Errors
    /// Those of [`Front::submit_in_a_hurry`].
    pub async fn submit_within(
        &self,
        patience: Duration,
        submissions: Vec<Submission>,
    ) -> Result<Vec<Receipt>, Rejection> {
        let since = system::instant();
        let opened = tokio::time::timeout(patience, self.open_or_start()).await.ok();
        let left = patience.saturating_sub(since.elapsed()).max(ANSWER_IN_A_HURRY);
        self.submit_over(opened, left, submissions).await
    }

    async fn submit_over(
        &self,
        opened: Option<Result<Stream, Unreachable>>,
        patience: Duration,
        submissions: Vec<Submission>,
    ) -> Result<Vec<Receipt>, Rejection> {
        let mut connection = match opened {
            Some(Ok(stream)) => Some(Connection::over(stream)),
            Some(Err(Unreachable::Version(rejection))) => return Err(rejection),
            Some(Err(Unreachable::Gone)) | None => None,
        };
        let mut receipts = Vec::with_capacity(submissions.len());
        for submission in submissions {
            if let Some(denial) = privacy::deny(&submission, &self.shared.secrets) {
                return Err(denial.into());
            }
            let answer = match &connection {
                Some(writer) => tokio::time::timeout(patience, writer.ask(submission.clone())).await.ok(),
                None => None,
            };
            // Should the writer have taken it all the same, it recognises it when it reads the spool.
            receipts.push(match answer.flatten() {
                Some(answer) => answer?,
                None => {
                    // Who did not answer once is not waited for again.
                    connection = None;
                    self.queue(submission)?
                }
            });
        }
        Ok(receipts)
    }

    /// Has a writer started that is not there, and does not wait for it.
    pub async fn wake_writer(&self) {
        if !matches!(tokio::time::timeout(HURRY, self.open()).await, Ok(Ok(_))) {
            // A writer that cannot be started leaves everything queued, and `hm doctor` says why.
            let _ = self.start();
        }
    }

    /// Looks for a secret in texts that are no submission yet; `None` when they may pass.
    pub fn deny<'t>(&self, command: &str, texts: impl Iterator<Item = (&'t str, &'t str)>) -> Option<Denial> {
        privacy::deny_texts(command, texts, &self.shared.secrets)
    }

    /// Puts a denial on record, durable like any command, and says what the caller is told.
    pub async fn refuse(&self, denial: Denial, agent: &AgentId, session: Option<SessionId>) -> Rejection {
        let clean = |text: &str| privacy::scan(text, &self.shared.secrets).is_empty();
        let Denial { rule, field, command } = denial.clone();
        let record = Submission {
            command_id: CommandId::from_uuid(system::new_id()),
            agent: agent.clone(),
            session: session.filter(|session| clean(session.as_str())),
            trace_id: None,
            idempotency_key: None,
            command: Command::DenyRecord(DenyRecord { rule, field, command }),
        };
        if let Err(unrecorded) = self.send(record).await {
            tracing::warn!(%unrecorded, "a denial could not be put on record");
        }
        denial.into()
    }

    async fn send(&self, submission: Submission) -> Result<Receipt, Rejection> {
        for _ in 0..ATTEMPTS {
            let connection = match self.connection().await {
                Ok(connection) => connection,
                Err(Unreachable::Version(rejection)) => return Err(rejection),
                Err(Unreachable::Gone) => break,
            };
            // The same command id every time: a lost answer cannot become a second event.
            match connection.ask(submission.clone()).await {
                Some(answer) => return answer,
                None => self.hang_up(&connection).await,
            }
        }
        self.queue(submission)
    }

    /// Follows the ledger's head: the current one at once, then whenever it grows. Reconnects by itself
    /// and never starts a writer: without one, nothing changes.
    pub fn watch(&self) -> Watch {
        let (heads, receiver) = mpsc::unbounded_channel();
        let front = self.clone();
        let task = tokio::spawn(async move {
            while !heads.is_closed() {
                // The connection ends when the writer does.
                let _ = front.follow(&heads).await;
                tokio::time::sleep(WATCH_RETRY).await;
            }
        });
        Watch { heads: receiver, task }
    }

    /// Has an event erased, however long it takes. An erasure is never queued: what waits is not erased.
    ///
    /// # Errors
    /// Why not, or that no writer could be started.
    pub async fn forget(&self, submission: Submission) -> Result<Receipt, Rejection> {
        if let Some(denial) = privacy::deny(&submission, &self.shared.secrets) {
            return Err(self.refuse(denial, &submission.agent, submission.session).await);
        }
        let request = Request::Submit { id: 0, submission: Box::new(submission) };
        let mut stream = self.ask_for(&request).await?;
        loop {
            if let Reply::Answer { outcome, .. } = said(&mut stream).await? {
                return outcome.into();
            }
        }
    }

    /// Asks the writer to drop every projection and fold the ledger again; `progress` hears (seq, of).
    ///
    /// # Errors
    /// What the writer said, or that none could be started.
    pub async fn rebuild(&self, mut progress: impl FnMut(u64, u64)) -> Result<u64, Rejection> {
        let mut stream = self.ask_for(&Request::Rebuild).await?;
        loop {
            match said(&mut stream).await? {
                Reply::Rebuilding { seq, of } => progress(seq, of),
                Reply::Rebuilt { seq } => return Ok(seq),
                Reply::Failed { message } => return Err(unavailable(message)),
                Reply::Answer { .. }
                | Reply::Head { .. }
                | Reply::Importing { .. }
                | Reply::Imported { .. }
                | Reply::Refused { .. } => {}
            }
        }
    }

    /// Asks the writer to append what an export holds; `progress` hears the seq. Returns how many events
    /// were added, how many were there already, and who speaks in those that were added.
    ///
    /// # Errors
    /// Why the file was refused, or that no writer could be started.
    pub async fn import(
        &self,
        file: PathBuf,
        as_is: bool,
        mut progress: impl FnMut(u64),
    ) -> Result<(u64, u64, Vec<AgentId>), Rejection> {
        let mut stream = self.ask_for(&Request::Import { file, as_is }).await?;
        loop {
            match said(&mut stream).await? {
                Reply::Importing { seq } => progress(seq),
                Reply::Imported { added, present, authors } => return Ok((added, present, authors)),
                Reply::Refused { rejection } => return Err(rejection),
                Reply::Failed { message } => return Err(unavailable(message)),
                Reply::Answer { .. }
                | Reply::Head { .. }
                | Reply::Rebuilding { .. }
                | Reply::Rebuilt { .. } => {}
            }
        }
    }

    /// A connection of its own for long work, with its request sent.
    async fn ask_for(&self, request: &Request) -> Result<Stream, Rejection> {
        let mut stream = match self.open_or_start().await {
            Ok(stream) => stream,
            Err(Unreachable::Version(rejection)) => return Err(rejection),
            Err(Unreachable::Gone) => return Err(unavailable("the writer cannot be started".to_owned())),
        };
        wire::write(&mut stream, request).await.map_err(|error| lost(&error))?;
        Ok(stream)
    }

    /// Whether a writer answers right now; starts none.
    pub async fn writer_is_up(&self) -> bool {
        self.open().await.is_ok()
    }

    async fn connection(&self) -> Result<Connection, Unreachable> {
        let mut current = self.shared.connection.lock().await;
        if let Some(connection) = current.as_ref().filter(|connection| !connection.requests.is_closed()) {
            return Ok(connection.clone());
        }
        let connection = Connection::over(self.open_or_start().await?);
        *current = Some(connection.clone());
        Ok(connection)
    }

    async fn hang_up(&self, lost: &Connection) {
        let mut current = self.shared.connection.lock().await;
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(&current.waiting, &lost.waiting)) {
            *current = None;
        }
    }

    async fn open(&self) -> Result<Stream, Unreachable> {
        let gone = |_| Unreachable::Gone;
        let name = socket_name(&self.shared.workspace).map_err(gone)?;
        let mut stream = Stream::connect(name).await.map_err(gone)?;
        let ours = Hello::ours();
        wire::write(&mut stream, &ours).await.map_err(gone)?;
        let theirs: Hello = tokio::time::timeout(START_WITHIN, wire::read(&mut stream))
            .await
            .map_err(|_| Unreachable::Gone)?
            .map_err(gone)?
            .ok_or(Unreachable::Gone)?;
        if theirs.protocol == PROTOCOL {
            return Ok(stream);
        }
        Err(Unreachable::Version(Rejection::new(
            Code::VersionMismatch,
            format!("the writer of this workspace is hm {}, this is hm {}", theirs.version, ours.version),
            "close the panes of the other version; their writer leaves soon after the last one",
        )))
    }

    async fn open_or_start(&self) -> Result<Stream, Unreachable> {
        match self.open().await {
            Err(Unreachable::Gone) => {}
            other => return other,
        }
        let failed = |at: Option<Instant>| {
            let mut failed = self.shared.start_failed.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *failed, at)
        };
        let last_failure = failed(None);
        if let Some(at) = last_failure.filter(|at| at.elapsed() < RESTART_AFTER) {
            failed(Some(at));
            return Err(Unreachable::Gone);
        }
        let deadline = system::instant() + START_WITHIN;
        let mut child = self.start().ok();
        while system::instant() < deadline {
            let Some(started) = &mut child else { break };
            tokio::time::sleep(START_POLL).await;
            match self.open().await {
                Err(Unreachable::Gone) => {}
                other => return other,
            }
            // One that was killed is started again; one that says it cannot run is believed.
            child = match started.try_wait() {
                Ok(Some(status)) if status.code().is_none() => self.start().ok(),
                Ok(Some(status)) if !status.success() => None,
                _ => child,
            };
        }
        failed(Some(system::instant()));
        Err(Unreachable::Gone)
    }

    /// Starts a detached writer; it makes itself leader of its own session.
    fn start(&self) -> std::io::Result<tokio::process::Child> {
        let workspace = &self.shared.workspace;
        workspace.create_runtime().map_err(std::io::Error::other)?;
        let mut log = std::fs::OpenOptions::new();
        log.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut log, 0o600);
        let log = log.open(workspace.writer_log())?;
        // A dropped child of tokio goes on, and is reaped when it ends.
        tokio::process::Command::new(&self.shared.binary)
            .args(["writer", "--detached", "--dir"])
            .arg(workspace.root())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
    }

    async fn follow(&self, heads: &mpsc::UnboundedSender<u64>) -> std::io::Result<()> {
        let gone = || std::io::Error::from(std::io::ErrorKind::NotConnected);
        let mut stream = self.open().await.map_err(|_| gone())?;
        wire::write(&mut stream, &Request::Watch).await?;
        while let Some(reply) = wire::read(&mut stream).await? {
            if let Reply::Head { seq } = reply {
                heads.send(seq).map_err(|_| gone())?;
            }
        }
        Ok(())
    }

    /// Accepts a command without a writer: durable in the spool, and said to be no more than that.
    fn queue(&self, submission: Submission) -> Result<Receipt, Rejection> {
        if let Some(answer) = self.committed_before(&submission) {
            return answer;
        }
        let queued = self.shared.spool.append(&submission).map_err(|error: SpoolError| {
            Rejection::new(
                Code::Unavailable,
                format!("no writer answers, and {error}"),
                "nothing was written: free disk space or mend the permissions, then retry with the same key",
            )
        })?;
        let duplicate = queued.is_some();
        let first = queued.unwrap_or_else(|| submission.clone());
        if duplicate && first.command.intent() != submission.command.intent() {
            return Err(idempotency_conflict(&submission));
        }
        Ok(Receipt {
            lease: None,
            command_id: first.command_id,
            state: Acceptance::Queued,
            entity_id: first.command.entity(),
            seq: None,
            duplicate,
            warnings: Vec::new(),
            similar: Vec::new(),
            next: Some(
                "no writer could be reached: it is committed, if it still passes, once one is".to_owned(),
            ),
        })
    }

    /// A retry whose first attempt is in the ledger is told so even without a writer.
    fn committed_before(&self, submission: &Submission) -> Option<Result<Receipt, Rejection>> {
        let key = submission.idempotency_key.as_ref()?;
        let ledger = crate::ledger::Reader::open(&self.shared.workspace.ledger()).ok().flatten()?;
        let stored = ledger.find_key(&submission.agent, key).ok()?;
        receipt_of(&stored, submission)
    }
}

impl Connection {
    fn over(stream: Stream) -> Self {
        let (requests, mut outgoing) = mpsc::unbounded_channel::<Request>();
        let waiting = Waiting::default();
        let answered = Arc::clone(&waiting);
        tokio::spawn(async move {
            let mut receiving = tokio::io::BufReader::new(&stream);
            let reading = async {
                while let Ok(Some(reply)) = wire::read::<Reply>(&mut receiving).await {
                    if let Reply::Answer { id, outcome } = reply
                        && let Some(asker) = locked(&answered).remove(&id)
                    {
                        // An asker that gave up does not hear it.
                        let _ = asker.send(outcome.into());
                    }
                }
            };
            let writing = async {
                while let Some(request) = outgoing.recv().await {
                    if wire::write(&mut &stream, &request).await.is_err() {
                        break;
                    }
                }
            };
            tokio::select! {
                () = reading => {}
                () = writing => {}
            }
            outgoing.close();
            // Their senders drop: everybody still waiting hears that the connection is gone.
            locked(&answered).clear();
        });
        Self { requests, waiting, next_id: Arc::default() }
    }

    /// Asks and waits; `None` when the connection was lost or the writer hangs.
    async fn ask(&self, submission: Submission) -> Option<Result<Receipt, Rejection>> {
        let id = self.next_id.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let (asker, answer) = oneshot::channel();
        locked(&self.waiting).insert(id, asker);
        if self.requests.send(Request::Submit { id, submission: Box::new(submission) }).is_err() {
            locked(&self.waiting).remove(&id);
            return None;
        }
        let answered = tokio::time::timeout(ANSWER_WITHIN, answer).await;
        if answered.is_err() {
            locked(&self.waiting).remove(&id);
        }
        answered.ok()?.ok()
    }
}

fn unavailable(message: String) -> Rejection {
    Rejection::new(Code::Unavailable, message, "see .hivemind/runtime/writer.log, then try again")
}

fn lost(error: &std::io::Error) -> Rejection {
    unavailable(format!("the writer went away: {error}"))
}

/// The next thing the writer says.
async fn said(stream: &mut Stream) -> Result<Reply, Rejection> {
    let reply = wire::read(stream).await.map_err(|error| lost(&error))?;
    reply.ok_or_else(|| unavailable("the writer went away".to_owned()))
}

fn locked(
    waiting: &Waiting,
) -> std::sync::MutexGuard<'_, HashMap<u64, oneshot::Sender<Result<Receipt, Rejection>>>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The ledger's head, as the writer announces it.
#[derive(Debug)]
pub struct Watch {
    heads: mpsc::UnboundedReceiver<u64>,
    task: tokio::task::JoinHandle<()>,
}

impl Watch {
    /// Waits for the next announcement and returns the newest one; `None` when watching ended.
    pub async fn changed(&mut self) -> Option<u64> {
        let mut seq = self.heads.recv().await?;
        while let Ok(newer) = self.heads.try_recv() {
            seq = newer;
        }
        Some(seq)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}
