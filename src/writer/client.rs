//! The client of the writer: submits commands, starts the writer when needed, and uses the spool when the writer is
//! unavailable.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use interprocess::local_socket::tokio::Stream;
use interprocess::local_socket::tokio::prelude::*;
use tokio::sync::{mpsc, oneshot};

use super::commit::receipt_of;
use super::server::{is_ours, socket_name};
use super::spool::Spool;
use super::wire::{self, Hello, PROTOCOL, Reply, Request};
use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::command::{Command, DenyRecord, Submission};
use crate::domain::event::Event;
use crate::domain::ids::{ClaimId, CommandId, SessionId};
use crate::domain::privacy::{self, Denial, Secrets};
use crate::domain::receipt::{Receipt, Warning, WarningCode};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::scope::Scope;
use crate::domain::versions::{Looks, Versions};
use crate::identity::Speaker;
use crate::ledger::Origin;
use crate::private;
use crate::reads::Reads;
use crate::system;
use crate::versions::{seen, seen_at_once};
use crate::workspace::{Workspace, WorkspaceError};

/// How often a front tries to connect to a starting writer.
const START_POLL: Duration = Duration::from_millis(4);
/// After a failed start, or after a writer hung, writes go directly to the spool for this time.
const TRIED_AGAIN_AFTER: Duration = Duration::from_secs(3);
/// The same for a writer that is only slow to start, for instance over a long ledger.
const SLOW_START: Duration = Duration::from_millis(250);
/// How long a front waits before it starts a writer again while another process holds the writer's lock.
const LOCK_POLL: Duration = Duration::from_millis(25);
/// Factor on the writer's usual answer time. A call beside another one gives up after that time; a slow disk alone
/// does not reach it.
const USUAL_ANSWERS: u32 = 8;
/// Resends after a lost connection, before the command goes to the spool.
const ATTEMPTS: u32 = 3;
/// How long a hook tries to connect before it queues its command.
const HURRY: Duration = Duration::from_millis(5);
/// How long a hook waits for the answer after it sent its command. A commit takes two milliseconds, a spooled line
/// one.
const ANSWER_IN_A_HURRY: Duration = Duration::from_millis(50);
/// How often a watcher looks for a new writer after the old one exited.
const WATCH_RETRY: Duration = Duration::from_millis(100);

/// Time-outs of a front for its writer, each a share of [`system::patience`].
#[derive(Debug, Clone, Copy)]
struct Patience {
    /// For the start of a writer (1 s).
    start: Duration,
    /// For an answer (1 s), so that a stopped or hanging writer does not block its fronts. If the writer takes the
    /// command later, it recognises the spooled copy as a duplicate.
    answer: Duration,
    /// For the hello after a connection (250 ms). The hello needs no disk.
    hello: Duration,
    /// For a call that runs while another call of this process tests whether the writer hangs (50 ms).
    beside_another: Duration,
}

impl Patience {
    fn of_process() -> Self {
        let whole = system::patience();
        Self { start: whole, answer: whole, hello: whole / 4, beside_another: whole / 20 }
    }
}

/// A front's client for the writer of its workspace. Cheap to clone.
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
    patience: Patience,
    connection: tokio::sync::Mutex<Option<Connection>>,
    /// Whether the holder of `connection` waits for a starting writer.
    is_starting: AtomicBool,
    /// No writer is asked before this time. The value is shared by all panes of this process.
    given_up_until: Mutex<Option<Instant>>,
    seen: Mutex<Seen>,
    /// Read handle for the scopes of claims.
    reads: Mutex<Reads>,
}

/// The memory and ledger that this front has written to. It never writes to another one.
#[derive(Debug, Default)]
struct Seen {
    /// The id of the memory.
    memory: Option<String>,
    /// The id of the ledger, from its first event.
    ledger: Option<Origin>,
}

type Waiting = Arc<Mutex<HashMap<u64, oneshot::Sender<Result<Receipt, Rejection>>>>>;

/// The result of a request to the writer.
enum Asked {
    Answered(Result<Box<Receipt>, Rejection>),
    /// The connection was lost.
    Lost,
    /// The writer exceeded the full time-out: it hangs.
    Hung,
    /// The writer exceeded the short time-out of a call beside another one.
    Late,
}

/// An open connection. The id of an answer finds its waiting call.
#[derive(Debug, Clone)]
struct Connection {
    requests: mpsc::UnboundedSender<Request>,
    waiting: Waiting,
    next_id: Arc<AtomicU64>,
    /// Moving average of the answer time in microseconds; 0 before the first answer.
    usual_us: Arc<AtomicU64>,
    patience: Patience,
}

/// Why the writer cannot be used.
enum Unreachable {
    /// There is no listener, the connection was lost, or the writer serves other files.
    Gone,
    /// It accepted the connection and sends nothing.
    Silent,
    /// Writing is not allowed: the writer has another version, or the memory was replaced.
    Refused(Rejection),
}

impl Front {
    /// A front of a workspace. It opens nothing yet; `binary` is started as `binary writer` on demand. It knows
    /// only the built-in secret formats.
    pub fn new(workspace: Workspace, binary: PathBuf) -> Self {
        Self::guarding(workspace, binary, Secrets::default())
    }

    /// Like [`Front::new`], and also detects the team's own patterns and the values of this process's environment.
    pub fn guarding(workspace: Workspace, binary: PathBuf, secrets: Secrets) -> Self {
        let spool = Spool::of(&workspace);
        let seen = Mutex::new(Seen { memory: workspace.id(), ledger: None });
        let reads = Mutex::new(Reads::of(workspace.clone()));
        Self {
            shared: Arc::new(Shared {
                workspace,
                spool,
                binary,
                secrets,
                patience: Patience::of_process(),
                connection: tokio::sync::Mutex::new(None),
                is_starting: AtomicBool::new(false),
                given_up_until: Mutex::new(None),
                seen,
                reads,
            }),
        }
    }

    /// Submits a command. `committed` means durable in the ledger; `queued` means durable in the spool.
    ///
    /// # Errors
    /// `privacy_deny_sensitive` before the command leaves this process; a refusal by the writer; `unavailable` when
    /// neither the writer nor the spool can take the command.
    pub async fn submit(&self, submission: Submission) -> Result<Receipt, Rejection> {
        let (submission, unversioned) = self.placed(submission).await;
        match privacy::deny(&submission, &self.shared.secrets) {
            Some(denial) => {
                let Submission { agent, unpinned, session, .. } = submission;
                Err(self.refuse(denial, Speaker { agent, unpinned }, session).await)
            }
            None => {
                let mut receipt = self.send(submission).await?;
                receipt.warnings.extend(unversioned);
                Ok(receipt)
            }
        }
    }

    /// Submits for a process with little time: it starts no writer, and commands that the writer does not take at
    /// once are queued.
    ///
    /// # Errors
    /// The first refusal. The commands before it are accepted, those after it are not sent.
    pub async fn submit_in_a_hurry(&self, submissions: Vec<Submission>) -> Result<Vec<Receipt>, Rejection> {
        self.submit_over(tokio::time::timeout(HURRY, self.open()).await.ok(), ANSWER_IN_A_HURRY, submissions)
            .await
    }

    /// Submits for a process that can wait for `patience`: a missing writer is started.
    ///
    /// # Errors
    /// As for [`Front::submit_in_a_hurry`].
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
            Some(Ok(stream)) => Some(Connection::over(stream, self.shared.patience)),
            Some(Err(Unreachable::Refused(rejection))) => return Err(rejection),
            Some(Err(Unreachable::Gone | Unreachable::Silent)) | None => None,
        };
        let mut receipts = Vec::with_capacity(submissions.len());
        for submission in submissions {
            let (submission, _) = self.placed(submission).await;
            if let Some(denial) = privacy::deny(&submission, &self.shared.secrets) {
                return Err(denial.into());
            }
            let answer = match &connection {
                Some(writer) => tokio::time::timeout(patience, writer.ask(submission.clone())).await.ok(),
                None => None,
            };
            // If the writer took the command all the same, it recognises the copy in the spool.
            receipts.push(match answer {
                Some(Asked::Answered(answer)) => *answer?,
                Some(Asked::Lost | Asked::Hung | Asked::Late) | None => {
                    // A writer that was late once gets no further wait.
                    connection = None;
                    self.queue(submission).await?
                }
            });
        }
        Ok(receipts)
    }

    /// Starts the writer if it is missing, without waiting for it.
    pub async fn wake_writer(&self) {
        if !matches!(tokio::time::timeout(HURRY, self.open()).await, Ok(Ok(_))) {
            // If the start fails, commands stay queued, and `hm doctor` reports the reason.
            let _ = self.start_writer();
        }
    }

    /// Looks for a secret in texts before they become a submission; `None` when they hold none.
    pub fn deny<'t>(&self, command: &str, texts: impl Iterator<Item = (&'t str, &'t str)>) -> Option<Denial> {
        privacy::deny_texts(command, texts, &self.shared.secrets)
    }

    /// Records a denial, durable like any command, and returns the refusal for the caller.
    pub async fn refuse(
        &self,
        denial: Denial,
        Speaker { agent, unpinned }: Speaker,
        session: Option<SessionId>,
    ) -> Rejection {
        let clean = |text: &str| privacy::scan(text, &self.shared.secrets).is_empty();
        let Denial { rule, field, command } = denial.clone();
        let record = Submission {
            command_id: CommandId::from_uuid(system::new_id()),
            agent,
            unpinned,
            session: session.filter(|session| clean(session.as_str())),
            trace_id: None,
            idempotency_key: None,
            checkout: Checkout::default(),
            versions: Versions::new(),
            command: Command::DenyRecord(DenyRecord { rule, field, command }),
        };
        if let Err(unrecorded) = self.send(record).await {
            tracing::warn!(%unrecorded, "a denial could not be put on record");
        }
        denial.into()
    }

    /// Adds to a submission the work tree and branch of this front, and the current content of the files that the
    /// submission is about. Also returns a warning for each file whose content is unknown.
    async fn placed(&self, submission: Submission) -> (Submission, Vec<Warning>) {
        let is_secret = |text: &str| !privacy::scan(text, &self.shared.secrets).is_empty();
        let checkout = self.shared.workspace.checkout().without(is_secret);
        let (versions, unversioned) = match Looks::at(&submission.command) {
            None => Default::default(),
            Some(looks) => self.look(looks).await,
        };
        (Submission { checkout, versions, ..submission }, unversioned)
    }

    /// The current content of the files that a command is about. Runs on a blocking thread, because it reads a
    /// database and possibly large files.
    async fn look(&self, looks: Looks) -> (Versions, Vec<Warning>) {
        let at_once = match &looks {
            Looks::Scopes(scopes) => seen_at_once(self.shared.workspace.root(), scopes),
            Looks::Claim(_) => None,
        };
        let (versions, unversioned) = match at_once {
            Some(seen) => seen,
            None => {
                let front = self.clone();
                let look = move || {
                    let scopes = match looks {
                        Looks::Scopes(scopes) => scopes,
                        Looks::Claim(claim) => front.scopes_of(claim),
                    };
                    seen(front.shared.workspace.root(), &scopes)
                };
                tokio::task::spawn_blocking(look).await.unwrap_or_default()
            }
        };
        let warnings = unversioned.into_iter().filter_map(|(scope, why)| {
            let message = format!("`{scope}` has no version, because it {why}: {}", why.is_told()?);
            Some(Warning { code: WarningCode::Unversioned, message, claim_id: None })
        });
        (versions, warnings.collect())
    }

    /// The scopes of a claim in the ledger or in the spool; empty for an unknown claim.
    fn scopes_of(&self, claim: ClaimId) -> Vec<Scope> {
        let stored = {
            let mut reads = self.shared.reads.lock().unwrap_or_else(PoisonError::into_inner);
            let ledger = reads.readable_ledger();
            ledger.and_then(|ledger| ledger.event(claim.creation_event()).ok().flatten())
        };
        if let Some(Event::ClaimCreated(created)) = stored.and_then(|stored| stored.recorded().ok()?.event) {
            return created.scopes;
        }
        if self.shared.spool.is_empty() {
            return Vec::new();
        }
        let waiting = self.shared.spool.submissions().unwrap_or_default();
        let made = waiting.into_iter().find(|waiting| waiting.command.minted() == Some(claim.uuid()));
        match made.and_then(|made| Looks::at(&made.command)) {
            Some(Looks::Scopes(scopes)) => scopes,
            Some(Looks::Claim(_)) | None => Vec::new(),
        }
    }

    async fn send(&self, submission: Submission) -> Result<Receipt, Rejection> {
        for _ in 0..ATTEMPTS {
            let connection = match self.connection().await {
                Ok(connection) => connection,
                Err(Unreachable::Refused(rejection)) => return Err(rejection),
                Err(Unreachable::Gone | Unreachable::Silent) => break,
            };
            // Every attempt uses the same command id, so a lost answer cannot cause a second event.
            match connection.ask(submission.clone()).await {
                Asked::Answered(answer) => return answer.map(|receipt| *receipt),
                Asked::Lost => self.hang_up(&connection).await,
                Asked::Hung => {
                    self.give_up(TRIED_AGAIN_AFTER);
                    // Wakes every call that waits for this writer.
                    locked(&connection.waiting).clear();
                    self.hang_up(&connection).await;
                    break;
                }
                Asked::Late => break,
            }
        }
        self.queue(submission).await
    }

    /// Follows the ledger's head: reports the current one at once, then each newer one. Reconnects by itself and
    /// never starts a writer; while there is no writer the ledger does not change.
    pub fn watch(&self) -> Watch {
        let (heads, receiver) = mpsc::unbounded_channel();
        let front = self.clone();
        let task = tokio::spawn(async move {
            while !heads.is_closed() {
                // The connection ends when the writer exits.
                let _ = front.follow(&heads).await;
                tokio::time::sleep(WATCH_RETRY).await;
            }
        });
        Watch { heads: receiver, task }
    }

    /// Submits a command that is never queued (an erasure, or the acceptance of a loss), without a time-out.
    ///
    /// # Errors
    /// The writer's refusal; `unavailable` when no writer could be started.
    pub async fn submit_unqueued(&self, submission: Submission) -> Result<Receipt, Rejection> {
        if let Some(denial) = privacy::deny(&submission, &self.shared.secrets) {
            let Submission { agent, unpinned, session, .. } = submission;
            return Err(self.refuse(denial, Speaker { agent, unpinned }, session).await);
        }
        let request = Request::Submit { id: 0, submission: Box::new(submission) };
        let mut stream = self.ask_for(&request).await?;
        loop {
            if let Reply::Answer { outcome, .. } = said(&mut stream).await? {
                return outcome.into();
            }
        }
    }

    /// Makes the writer drop every projection and fold the ledger again. `progress` gets the position and the head.
    ///
    /// # Errors
    /// The writer's refusal; `unavailable` when no writer could be started.
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

    /// Makes the writer append the events of an export; `progress` gets the position. Returns the number of added
    /// events, the number of known ones, and the agents of the added ones.
    ///
    /// # Errors
    /// Why the file was refused; `unavailable` when no writer could be started.
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

    /// Opens a separate connection for a long operation and sends the request.
    async fn ask_for(&self, request: &Request) -> Result<Stream, Rejection> {
        let mut stream = match self.open_or_start().await {
            Ok(stream) => stream,
            Err(Unreachable::Refused(rejection)) => return Err(rejection),
            Err(Unreachable::Gone | Unreachable::Silent) => {
                return Err(unavailable("the writer does not answer, or cannot be started".to_owned()));
            }
        };
        wire::write(&mut stream, request).await.map_err(|error| lost(&error))?;
        Ok(stream)
    }

    /// Whether a writer answers right now. Starts none.
    pub async fn writer_is_up(&self) -> bool {
        self.open().await.is_ok()
    }

    /// An open connection, or the result of the call that is connecting now.
    async fn connection(&self) -> Result<Connection, Unreachable> {
        if self.has_given_up() {
            return Err(Unreachable::Gone);
        }
        let patience = self.shared.patience;
        let since = system::instant();
        let mut current = loop {
            if let Ok(current) =
                tokio::time::timeout(patience.beside_another, self.shared.connection.lock()).await
            {
                break current;
            }
            // Calls wait only briefly while another call waits for a hello. They wait longer for a writer that is
            // starting.
            let is_starting = self.shared.is_starting.load(Ordering::Relaxed);
            if !is_starting || since.elapsed() > patience.start {
                return Err(Unreachable::Gone);
            }
        };
        if let Some(connection) = current.as_ref().filter(|connection| !connection.requests.is_closed()) {
            return Ok(connection.clone());
        }
        if self.has_given_up() {
            return Err(Unreachable::Gone);
        }
        let opened = self.open_or_start().await;
        self.shared.is_starting.store(false, Ordering::Relaxed);
        if matches!(opened, Err(Unreachable::Silent)) {
            self.give_up(TRIED_AGAIN_AFTER);
        }
        let connection = Connection::over(opened?, patience);
        *current = Some(connection.clone());
        Ok(connection)
    }

    fn has_given_up(&self) -> bool {
        let until = *self.shared.given_up_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| system::instant() < until)
    }

    fn give_up(&self, duration: Duration) {
        let mut until = self.shared.given_up_until.lock().unwrap_or_else(PoisonError::into_inner);
        *until = Some(system::instant() + duration);
    }

    async fn hang_up(&self, lost: &Connection) {
        let mut current = self.shared.connection.lock().await;
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(&current.waiting, &lost.waiting)) {
            *current = None;
        }
    }

    async fn open(&self) -> Result<Stream, Unreachable> {
        let gone = |_| Unreachable::Gone;
        let workspace = &self.shared.workspace;
        let name = workspace.socket().and_then(socket_name).map_err(gone)?;
        let mut stream = Stream::connect(name).await.map_err(gone)?;
        if !is_ours(&stream) {
            return Err(Unreachable::Refused(unavailable(
                "the process that listens for this memory belongs to another user".to_owned(),
            )));
        }
        let ours = Hello::ours();
        wire::write(&mut stream, &ours).await.map_err(gone)?;
        let theirs: Hello = tokio::time::timeout(self.shared.patience.hello, wire::read(&mut stream))
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

    /// Fails when the ledger is another one than the front wrote to before.
    fn recognise(&self, ledger: Option<Origin>) -> Result<(), Rejection> {
        let mut seen = self.shared.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.ledger.is_none() {
            seen.ledger = ledger;
        } else if seen.ledger != ledger {
            return Err(self.replaced());
        }
        Ok(())
    }

    /// Makes sure that the memory exists and is the one that was here before. A memory that disappeared is not
    /// created again, and a memory in its place gets no writes.
    fn ground(&self) -> Result<(), Rejection> {
        let workspace = &self.shared.workspace;
        let mut seen = self.shared.seen.lock().unwrap_or_else(PoisonError::into_inner);
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
                self.shared.workspace.memory().display()
            ),
            "start the client anew to use the memory that is there now",
        )
    }

    async fn open_or_start(&self) -> Result<Stream, Unreachable> {
        match self.open().await {
            Err(Unreachable::Gone) => {}
            other => return other,
        }
        self.ground().map_err(Unreachable::Refused)?;
        self.shared.is_starting.store(true, Ordering::Relaxed);
        let deadline = system::instant() + self.shared.patience.start;
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
    pub fn start_writer(&self) -> std::io::Result<tokio::process::Child> {
        let workspace = &self.shared.workspace;
        let log = private::options().create(true).append(true).open(workspace.writer_log())?;
        // Tokio keeps a dropped child running and reaps it later.
        tokio::process::Command::new(&self.shared.binary)
            .args(["writer", "--detached", "--dir"])
            .arg(workspace.rules())
            .arg("--memory")
            .arg(workspace.memory())
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

    /// Puts a command into the spool without a writer. The receipt says `queued`.
    async fn queue(&self, submission: Submission) -> Result<Receipt, Rejection> {
        let front = self.clone();
        // Another process may hold the spool's lock, so this runs on a blocking thread.
        let queued = tokio::task::spawn_blocking(move || front.queue_now(submission)).await;
        queued.unwrap_or_else(|problem| Err(unavailable(format!("the spool cannot be used: {problem}"))))
    }

    fn queue_now(&self, submission: Submission) -> Result<Receipt, Rejection> {
        self.ground()?;
        if let Some(answer) = self.committed_before(&submission) {
            return answer;
        }
        let next = "no writer could be reached: it is committed, if it still passes, once one is";
        self.shared.spool.accept(&submission, "no writer answers", next)
    }

    /// The receipt of a retry whose first attempt is in the ledger. This needs no writer.
    fn committed_before(&self, submission: &Submission) -> Option<Result<Receipt, Rejection>> {
        let key = submission.idempotency_key.as_ref()?;
        let ledger = crate::ledger::Reader::open(&self.shared.workspace.ledger()).ok().flatten()?;
        let stored = ledger.find_key(&submission.agent, key).ok()?;
        receipt_of(&stored, submission)
    }
}

impl Connection {
    fn over(stream: Stream, patience: Patience) -> Self {
        let (requests, mut outgoing) = mpsc::unbounded_channel::<Request>();
        let waiting = Waiting::default();
        let answered = Arc::clone(&waiting);
        tokio::spawn(async move {
            let mut receiving = tokio::io::BufReader::new(&stream);
            let reading = async {
                while let Ok(Some(message)) = wire::read::<Reply>(&mut receiving).await {
                    if let Reply::Answer { id, outcome } = message
                        && let Some(reply) = locked(&answered).remove(&id)
                    {
                        // The waiting call may have timed out; then the receiver is gone.
                        let _ = reply.send(outcome.into());
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
            // Dropping the senders tells every waiting call that the connection is lost.
            locked(&answered).clear();
        });
        Self { requests, waiting, next_id: Arc::default(), usual_us: Arc::default(), patience }
    }

    /// Sends a request and waits for the answer up to the time-out.
    async fn ask(&self, submission: Submission) -> Asked {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (reply, answer) = oneshot::channel();
        let is_alone = {
            let mut waiting = locked(&self.waiting);
            let is_alone = waiting.is_empty();
            waiting.insert(id, reply);
            is_alone
        };
        if self.requests.send(Request::Submit { id, submission: Box::new(submission) }).is_err() {
            locked(&self.waiting).remove(&id);
            return Asked::Lost;
        }
        let usual_us = self.usual_us.load(Ordering::Relaxed);
        let Patience { answer: longest, beside_another, .. } = self.patience;
        let patience = if is_alone || usual_us == 0 {
            longest
        } else {
            (Duration::from_micros(usual_us) * USUAL_ANSWERS).clamp(beside_another, longest)
        };
        let since = system::instant();
        match tokio::time::timeout(patience, answer).await {
            Ok(Ok(answer)) => {
                let took_us = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX).max(1);
                let average = if usual_us == 0 { took_us } else { (7 * usual_us + took_us) / 8 };
                self.usual_us.store(average.max(1), Ordering::Relaxed);
                Asked::Answered(answer.map(Box::new))
            }
            Ok(Err(_)) => Asked::Lost,
            Err(_) => {
                locked(&self.waiting).remove(&id);
                if patience == longest { Asked::Hung } else { Asked::Late }
            }
        }
    }
}

fn unavailable(message: String) -> Rejection {
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

fn lost(error: &std::io::Error) -> Rejection {
    unavailable(format!("the writer went away: {error}"))
}

/// Reads the next reply of the writer.
async fn said(stream: &mut Stream) -> Result<Reply, Rejection> {
    let reply = wire::read(stream).await.map_err(|error| lost(&error))?;
    reply.ok_or_else(|| unavailable("the writer went away".to_owned()))
}

fn locked(
    waiting: &Waiting,
) -> std::sync::MutexGuard<'_, HashMap<u64, oneshot::Sender<Result<Receipt, Rejection>>>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The ledger's head, as announced by the writer.
#[derive(Debug)]
pub struct Watch {
    heads: mpsc::UnboundedReceiver<u64>,
    task: tokio::task::JoinHandle<()>,
}

impl Watch {
    /// Waits for the next announcement and returns the newest head; `None` when watching ended.
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
