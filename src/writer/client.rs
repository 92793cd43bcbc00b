//! The client of the writer: submits commands, starts the writer when needed, and uses the spool when the writer is
//! unavailable.

mod cited;
mod connect;
mod connection;
mod watch;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use interprocess::local_socket::tokio::Stream;

use self::connect::{Connector, Unreachable, lost, unavailable};
use self::connection::{Asked, Connection};
pub use self::watch::Watch;
use super::receipts::receipt_of;
use super::wire::{self, Reply, Request};
use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::claim::{ClaimType, Position};
use crate::domain::command::{Command, DenyRecord, Submission};
use crate::domain::event::Event;
use crate::domain::ids::{ClaimId, CommandId, RunId, SessionId};
use crate::domain::privacy::{self, Denial, Secrets};
use crate::domain::receipt::{Receipt, Warning, WarningCode};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::scope::Scope;
use crate::domain::versions::{Looks, Versions};
use crate::identity::Speaker;
use crate::reads::Reads;
use crate::spool::Spool;
use crate::system::{self, RUN_VARIABLE};
use crate::versions::{seen, seen_at_once};
use crate::workspace::Workspace;

/// Resends after a lost connection, before the command goes to the spool.
const ATTEMPTS: u32 = 3;
/// How long a hook tries to connect before it queues its command.
const HURRY: Duration = Duration::from_millis(5);
/// How long a hook waits for the answer after it sent its command. A commit takes two milliseconds, a spooled line
/// one.
const ANSWER_IN_A_HURRY: Duration = Duration::from_millis(50);
/// A front's client for the writer of its workspace. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Front {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    workspace: Workspace,
    connector: Arc<Connector>,
    spool: Spool,
    secrets: Secrets,
    /// Read handle for the scopes of claims, and for the runs that this process belongs to.
    reads: Mutex<Reads>,
    /// The runs of any memory that this process belongs to.
    runs: OnceLock<Vec<RunId>>,
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
        let reads = Mutex::new(Reads::of(workspace.clone()));
        let connector = Arc::new(Connector::new(workspace.clone(), binary));
        let runs = OnceLock::new();
        Self { shared: Arc::new(Shared { workspace, connector, spool, secrets, reads, runs }) }
    }

    /// Submits a command. `committed` means durable in the ledger; `queued` means durable in the spool.
    ///
    /// # Errors
    /// `privacy_deny_sensitive` before the command leaves this process; a refusal by the writer; `unavailable` when
    /// neither the writer nor the spool can take the command.
    pub async fn submit(&self, submission: Submission) -> Result<Receipt, Rejection> {
        self.refuse_inside_a_run()?;
        let submission = self.citing(submission).await?;
        self.pass(submission).await
    }

    /// Submits a command that cites no place.
    async fn pass(&self, submission: Submission) -> Result<Receipt, Rejection> {
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
        self.submit_over(
            tokio::time::timeout(HURRY, self.shared.connector.open()).await.ok(),
            ANSWER_IN_A_HURRY,
            submissions,
        )
        .await
    }

    /// Hands over a record of what happened, for a process that ends now: nobody waits for the answer. A record that the
    /// writer cannot be handed is queued.
    ///
    /// # Errors
    /// As for [`Front::submit_in_a_hurry`], except for refusals of the writer, which nobody hears.
    pub async fn leave(&self, submission: Submission) -> Result<(), Rejection> {
        self.refuse_inside_a_run()?;
        let opened = tokio::time::timeout(HURRY, self.shared.connector.open()).await;
        let submission = self.cleared(submission).await?;
        match opened {
            Ok(Ok(stream)) => {
                let request = Request::Submit { id: 0, submission: Box::new(submission.clone()) };
                // If the writer took the command all the same, it recognises the copy in the spool.
                match wire::write(&mut &stream, &request).await {
                    Ok(()) => Ok(()),
                    Err(_) => self.queue(submission).await.map(drop),
                }
            }
            Ok(Err(Unreachable::Refused(rejection))) => Err(rejection),
            Ok(Err(Unreachable::Gone | Unreachable::Silent)) | Err(_) => {
                self.queue(submission).await.map(drop)
            }
        }
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
        let opened = tokio::time::timeout(patience, self.shared.connector.open_or_start()).await.ok();
        let left = patience.saturating_sub(since.elapsed()).max(ANSWER_IN_A_HURRY);
        self.submit_over(opened, left, submissions).await
    }

    /// A placed submission without a secret. A refusal is not recorded.
    async fn cleared(&self, submission: Submission) -> Result<Submission, Rejection> {
        let (submission, _) = self.placed(submission).await;
        match privacy::deny(&submission, &self.shared.secrets) {
            Some(denial) => Err(denial.into()),
            None => Ok(submission),
        }
    }

    async fn submit_over(
        &self,
        opened: Option<Result<Stream, Unreachable>>,
        patience: Duration,
        submissions: Vec<Submission>,
    ) -> Result<Vec<Receipt>, Rejection> {
        if !submissions.is_empty() {
            self.refuse_inside_a_run()?;
        }
        let mut connection = match opened {
            Some(Ok(stream)) => Some(Connection::over(stream, self.shared.connector.patience)),
            Some(Err(Unreachable::Refused(rejection))) => return Err(rejection),
            Some(Err(Unreachable::Gone | Unreachable::Silent)) | None => None,
        };
        let mut receipts = Vec::with_capacity(submissions.len());
        for submission in submissions {
            let submission = self.cleared(submission).await?;
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
        if !matches!(tokio::time::timeout(HURRY, self.shared.connector.open()).await, Ok(Ok(_))) {
            // If the start fails, commands stay queued, and `hm doctor` reports the reason.
            let _ = self.shared.connector.start_writer();
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
        let mut warnings: Vec<Warning> =
            unversioned.into_iter().filter(|_| is_to_be_proved(&submission.command)).take(1).collect();
        if let Command::LockScopes(lock) = &submission.command {
            warnings.extend(lock.scopes.iter().filter_map(|scope| self.not_there(scope)));
        }
        (Submission { checkout, versions, ..submission }, warnings)
    }

    /// Warns of a locked word that is no file here: the caller may mean a machine or another thing without a file.
    fn not_there(&self, scope: &Scope) -> Option<Warning> {
        let is_word =
            scope.is_path() && !scope.is_whole() && !scope.as_str().contains(['/', '.', '*', '?', '[']);
        let is_there = self.shared.workspace.root().join(scope.as_str()).exists();
        let message = format!(
            "`{scope}` is locked as a path, and no file or directory here has that name; a thing that is no file is \
             locked as `tag:{scope}`"
        );
        (is_word && !is_there).then_some(Warning { code: WarningCode::ScopeMissing, message, claim_id: None })
    }

    /// Refuses a write from inside a run of this memory: a run is evidence, and its code takes no positions. A researcher
    /// is an agent and writes as itself.
    fn refuse_inside_a_run(&self) -> Result<(), Rejection> {
        let runs = self.shared.runs.get_or_init(|| {
            let marks = system::values_above(RUN_VARIABLE);
            marks.iter().filter_map(|mark| mark.parse().ok()).collect()
        });
        if runs.is_empty() {
            return Ok(());
        }
        let mut reads = self.shared.reads.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(Some(store)) = reads.store() else { return Ok(()) };
        let is_researcher = |run: RunId| {
            let session = SessionId::of_researcher(run);
            store.researchers_of(session.as_str()).is_ok_and(|found| !found.is_empty())
        };
        let of_memory = |run: &RunId| store.experiment(*run).ok().flatten();
        let inside = runs.iter().filter(|run| !is_researcher(**run)).find_map(of_memory);
        let Some(run) = inside else { return Ok(()) };
        let name = run.name.unwrap_or_else(|| run.run_id.to_string());
        Err(Rejection::new(
            Code::NotAllowed,
            format!(
                "this process is part of run {name}, and a run does not write into the memory that started it"
            ),
            format!(
                "print what it finds: the output of a run is its evidence, and {} says the rest outside of it",
                run.requested_by
            ),
        ))
    }

    /// The current content of the files that a command is about. Runs on a blocking thread, because it reads a
    /// database and possibly large files.
    async fn look(&self, looks: Looks) -> (Versions, Vec<Warning>) {
        let at_once = match &looks {
            Looks::Scopes(scopes) => seen_at_once(self.shared.workspace.root(), scopes),
            Looks::Claim(_) => None,
        };
        let (versions, mut unversioned) = match at_once {
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
        // The whole workspace is the scope of a claim about no file.
        unversioned.retain(|(scope, _)| !scope.is_whole());
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
            let connection = match self.shared.connector.connection().await {
                Ok(connection) => connection,
                Err(Unreachable::Refused(rejection)) => return Err(rejection),
                Err(Unreachable::Gone | Unreachable::Silent) => break,
            };
            // Every attempt uses the same command id, so a lost answer cannot cause a second event.
            match connection.ask(submission.clone()).await {
                Asked::Answered(answer) => return answer.map(|receipt| *receipt),
                Asked::Lost => self.shared.connector.hang_up(&connection).await,
                Asked::Hung => {
                    self.shared.connector.give_up_hung(&connection).await;
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
        Watch::over(Arc::clone(&self.shared.connector))
    }

    /// Submits a command that is never queued (an erasure, or the acceptance of a loss), without a time-out.
    ///
    /// # Errors
    /// The writer's refusal; `unavailable` when no writer could be started.
    pub async fn submit_unqueued(&self, submission: Submission) -> Result<Receipt, Rejection> {
        self.refuse_inside_a_run()?;
        if let Some(denial) = privacy::deny(&submission, &self.shared.secrets) {
            let Submission { agent, unpinned, session, .. } = submission;
            return Err(self.refuse(denial, Speaker { agent, unpinned }, session).await);
        }
        let request = Request::Submit { id: 0, submission: Box::new(submission) };
        let mut stream = self.ask_for(&request).await?;
        loop {
            if let Reply::Answer { outcome, .. } = read_reply(&mut stream).await? {
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
            match read_reply(&mut stream).await? {
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
            match read_reply(&mut stream).await? {
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
        let mut stream = match self.shared.connector.open_or_start().await {
            Ok(stream) => stream,
            Err(Unreachable::Refused(rejection)) => return Err(rejection),
            Err(Unreachable::Gone | Unreachable::Silent) => {
                return Err(unavailable("the writer does not answer, or cannot be started".to_owned()));
            }
        };
        wire::write(&mut stream, request).await.map_err(|error| lost(&error))?;
        Ok(stream)
    }

    /// Starts a detached writer, which makes itself leader of its own session.
    ///
    /// # Errors
    /// The error of the operating system when the process cannot start.
    pub fn start_writer(&self) -> std::io::Result<tokio::process::Child> {
        self.shared.connector.start_writer()
    }

    /// Whether a writer answers right now. Starts none.
    pub async fn writer_is_up(&self) -> bool {
        self.shared.connector.open().await.is_ok()
    }

    /// Puts a command into the spool without a writer. The receipt says `queued`.
    async fn queue(&self, submission: Submission) -> Result<Receipt, Rejection> {
        let front = self.clone();
        // Another process may hold the spool's lock, so this runs on a blocking thread.
        let queued = tokio::task::spawn_blocking(move || front.queue_now(submission)).await;
        queued.unwrap_or_else(|problem| Err(unavailable(format!("the spool cannot be used: {problem}"))))
    }

    fn queue_now(&self, submission: Submission) -> Result<Receipt, Rejection> {
        self.shared.connector.ground()?;
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

/// Reads the next reply of the writer.
async fn read_reply(stream: &mut Stream) -> Result<Reply, Rejection> {
    let reply = wire::read(stream).await.map_err(|error| lost(&error))?;
    reply.ok_or_else(|| unavailable("the writer went away".to_owned()))
}

/// Whether a command is about a claim that a run may have to prove, so that its caller must know which of its files have
/// no version. No run proves a decision or a request, and a support adds no proof.
fn is_to_be_proved(command: &Command) -> bool {
    if let Command::CreateClaim(create) = command {
        create.claim_type != ClaimType::Decision && create.asks.is_empty()
    } else if let Command::TakePosition(take) = command {
        take.position == Position::Challenge
    } else {
        !matches!(command, Command::RecordDecision(_) | Command::Observe(_) | Command::ReportEvent(_))
    }
}
