//! The writer process: a lock, a socket, and one thread that commits.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use interprocess::local_socket::ListenerOptions;
use interprocess::local_socket::tokio::prelude::*;
use interprocess::local_socket::tokio::{Listener, Stream};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;

use super::background::Background;
use super::checkpoint::Sealer;
use super::commit::{Committer, CrashPoint, MAX_GROUP, WriterError};
use super::experiments::{Ended, Runs, follow};
use super::ground::{self, Ground};
use super::spool::Spool;
use super::wire::{self, Hello, PROTOCOL, Reply, Request};
use crate::checkpoints::Checkpoints;
use crate::config::Config;
use crate::domain::command::{Command, Submission};
use crate::domain::privacy::{self, Secrets};
use crate::ledger::{Imported, Origin};
use crate::private::{self, FileName};
use crate::standing::Damage;
use crate::system::{self, Sources};
use crate::workspace::Workspace;

/// How often an idle writer looks for commands in the spool.
const SPOOL_TICK: Duration = Duration::from_millis(250);
/// How long a client may take to read an answer; then its connection is dropped.
const STALLED_AFTER: Duration = Duration::from_secs(10);
/// The most unread answers of a client; with more, its connection is dropped.
const MAX_UNREAD: usize = 4_096;

/// Options of a writer process.
#[derive(Debug, Clone, Default)]
pub struct ServeOptions {
    /// Directory for the keys of checkpoints; without it no checkpoints are written.
    pub state_home: Option<PathBuf>,
    /// Where to abort, for tests.
    pub crash_at: Option<CrashPoint>,
}

/// A request to the committing thread.
pub(super) enum Work {
    Submit {
        id: u64,
        submission: Box<Submission>,
        reply: UnboundedSender<Reply>,
    },
    RunEnded(Ended),
    /// A newer version of hm asks the writer to exit, so that it can start its own.
    Leave,
    Rebuild {
        reply: UnboundedSender<Reply>,
    },
    Import {
        file: PathBuf,
        as_is: bool,
        reply: UnboundedSender<Reply>,
    },
}

/// Serves a workspace until the writer is idle for long enough or gets a stop signal.
///
/// # Errors
/// [`WriterError::Locked`] when another writer runs. Every other error names a way forward.
pub fn serve(workspace: &Workspace, config: &Config, options: ServeOptions) -> Result<(), WriterError> {
    // Files of the writer must be private to the owner.
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    workspace.ensure()?;
    let lock = lock(workspace)?;
    ground::set_aside_log(workspace)?;
    let opened = private::name_of(&workspace.ledger());
    let spool = Spool::of(workspace);
    let secrets = Secrets { own: config.own_secrets.clone(), ..Secrets::default() };
    let mut committer =
        Committer::open_sealed(workspace, config.policy, Sources::system(), options.state_home.as_deref())?
            .guarding(secrets)
            .planning(workspace, &config.roster)
            .crashing_at(options.crash_at);
    if let Some(damage) = committer.damage() {
        tracing::error!(fault = %damage.loss.fault, "run `hm verify`");
    }
    let ground = Ground::of(workspace)?;
    let file = private::name_of(&workspace.ledger());
    if opened.is_some() && opened != file {
        return Err(WriterError::Replaced(workspace.ledger().display().to_string()));
    }
    ground.record_log(workspace)?;
    committer = committer.standing_on(ground);
    if let Err(error) = spool.take_up() {
        tracing::error!(%error, "what was kept for a newer hm stays where it is");
    }
    record_start(&mut committer, workspace)?;
    if !spool.is_empty() {
        replay(&mut committer, &spool)?;
    }
    let identity = Identity { file, ledger: Arc::default() };
    // A front that knows the ledger rejects a writer that does not name it.
    identity.learn(&committer)?;
    let sealer = match &options.state_home {
        Some(home) => Sealer::start(workspace, Checkpoints::of(workspace.memory(), Some(home)))?,
        None => {
            tracing::warn!("no home directory to keep a key in: no checkpoints");
            Sealer::none()
        }
    };
    // If the lock path holds another file by now, another writer may be listening.
    let is_here = || ground::is_at(&lock, &workspace.writer_lock());
    if !is_here() {
        return Err(WriterError::Replaced(workspace.writer_lock().display().to_string()));
    }
    let socket = workspace.free_socket()?;
    let background = Background::start(workspace)?;
    let (work, queue) = std::sync::mpsc::channel();
    let (head, heads) = watch::channel(committer.head().seq);
    let (orders, order_queue) = unbounded_channel();
    let running = Arc::new(AtomicBool::new(false));
    let runs = Runs::new(workspace, config.secret_patterns.clone(), orders, Arc::clone(&running));
    let binary = std::env::current_exe()?;
    let (failed, failure) = tokio::sync::oneshot::channel();
    let told = Told { head, identity: identity.clone(), workspace: workspace.clone() };
    let committing = std::thread::Builder::new().name("commit".to_owned()).spawn(move || {
        // The receiver is gone only while the process exits.
        let _ = failed.send(commit_loop(committer, sealer, background, runs, &spool, &queue, &told));
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(async {
        tokio::select! {
            ended = async {
                tokio::spawn(follow(binary, order_queue, work.clone()));
                let listener = bind(socket.clone())?;
                tracing::info!(memory = %workspace.memory().display(), "the writer is ready");
                listen(&listener, config.idle_exit, work, heads, &running, identity).await
            } => ended,
            committed = failure => committed.unwrap_or(Ok(())),
            () = system::stop_signal() => Ok(()),
        }
    });
    if is_here() || !socket.starts_with(workspace.memory()) {
        workspace.remove_socket(&socket);
    }
    // Dropping the runtime drops every sender; the committing thread finishes its group and ends.
    drop(runtime);
    if ended.is_ok() && committing.join().is_err() {
        tracing::error!("the committing thread panicked");
    }
    ended
}

fn lock(workspace: &Workspace) -> Result<File, WriterError> {
    let file = private::options().create(true).truncate(false).write(true).open(workspace.writer_lock())?;
    match file.try_lock() {
        Ok(()) => {
            // Tools that inspect or stop the writer read its process id here.
            file.set_len(0)?;
            writeln!(&file, "{}", std::process::id())?;
            Ok(file)
        }
        Err(std::fs::TryLockError::WouldBlock) => Err(WriterError::Locked),
        Err(std::fs::TryLockError::Error(error)) => Err(error.into()),
    }
}

/// What the committing thread sends to the serving one, and the workspace it serves.
struct Told {
    workspace: Workspace,
    head: watch::Sender<u64>,
    identity: Identity,
}

/// The identity of the ledger, which the writer sends to fronts.
#[derive(Debug, Clone)]
struct Identity {
    file: Option<FileName>,
    /// Set after the first event.
    ledger: Arc<OnceLock<Origin>>,
}

impl Identity {
    fn hello(&self) -> Hello {
        Hello { file: self.file, ledger: self.ledger.get().cloned(), ..Hello::ours() }
    }

    fn learn(&self, committer: &Committer) -> Result<(), WriterError> {
        if self.ledger.get().is_none()
            && let Some(origin) = committer.origin()?
        {
            // The first event never changes, so a second `set` has no effect.
            let _ = self.ledger.set(origin);
        }
        Ok(())
    }
}

/// Records the facts that come before all commands: the rules of this writer, and the end of runs without a helper.
/// A ledger that lost events gets them once the loss is accepted.
fn record_start(committer: &mut Committer, workspace: &Workspace) -> Result<(), WriterError> {
    if committer.is_stopped() {
        return Ok(());
    }
    committer.record_policy()?;
    if workspace.is_just_adopted() {
        Runs::disown(committer)?;
        workspace.settle_adoption()?;
    }
    Runs::reconcile(committer)
}

/// Commits the spooled commands. If the spool cannot be read now, the writer tries again later.
fn replay(committer: &mut Committer, spool: &Spool) -> Result<(), WriterError> {
    match committer.replay(spool) {
        Ok(replayed) => tracing::info!(?replayed, "replayed the spool"),
        Err(WriterError::Spool(error)) => tracing::error!(%error, "cannot replay the spool"),
        Err(error) => return Err(error),
    }
    Ok(())
}

fn commit_loop(
    mut committer: Committer,
    mut sealer: Sealer,
    mut background: Background,
    mut runs: Runs,
    spool: &Spool,
    queue: &Receiver<Work>,
    Told { head, identity, workspace }: &Told,
) -> Result<(), WriterError> {
    let mut untidy = true;
    loop {
        identity.learn(&committer)?;
        let first = match queue.recv_timeout(SPOOL_TICK) {
            Ok(work) => Some(work),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                sealer.seal(committer.head());
                background.finish();
                sealer.finish();
                return Ok(());
            }
        };
        // Spooled commands were accepted before the new ones, so they come first.
        if !spool.is_empty() && !committer.is_stopped() {
            replay(&mut committer, spool)?;
            head.send_replace(committer.head().seq);
        }
        // This also runs without writes: a writer whose files are gone blocks the next writer.
        committer.check_ground()?;
        background.tick(&mut committer)?;
        runs.tick(&mut committer)?;
        head.send_if_modified(|seen| std::mem::replace(seen, committer.head().seq) != committer.head().seq);
        let Some(first) = first else {
            // A replay of the spool may have moved the head without any request.
            if std::mem::replace(&mut untidy, false) || sealer.is_behind(committer.head()) {
                committer.tidy();
                sealer.seal(committer.head());
            }
            continue;
        };
        untidy = true;
        let mut submissions = Vec::new();
        let mut replies = Vec::new();
        let mut over = Vec::new();
        let mut rebuilds = Vec::new();
        let mut imports = Vec::new();
        let mut leaves = false;
        for work in std::iter::once(first).chain(queue.try_iter()) {
            match work {
                Work::Submit { id, submission, reply } => {
                    submissions.push(*submission);
                    replies.push((id, reply));
                }
                Work::RunEnded(ended) => over.push(ended),
                Work::Leave => leaves = true,
                Work::Rebuild { reply } => rebuilds.push(reply),
                Work::Import { file, as_is, reply } => imports.push((file, as_is, reply)),
            }
            if submissions.len() == MAX_GROUP {
                break;
            }
        }
        let was_stopped = committer.is_stopped();
        let outcomes = committer.commit(&submissions)?;
        if submissions.iter().any(|submission| matches!(submission.command, Command::AcceptLoss(_))) {
            // The checkpoint comes before the answer, because a `hm verify` after the answer expects it.
            sealer.seal_now(committer.head());
        }
        if submissions.iter().any(|submission| matches!(submission.command, Command::StartSession(_))) {
            background.session_started();
        }
        for ((id, reply), outcome) in replies.into_iter().zip(outcomes) {
            // A client that left gets no answer; it asks again with the same command id.
            let _ = reply.send(Reply::Answer { id, outcome: outcome.into() });
        }
        for ended in over {
            runs.ended(&mut committer, ended)?;
        }
        runs.tick(&mut committer)?;
        head.send_if_modified(|seen| std::mem::replace(seen, committer.head().seq) != committer.head().seq);
        sealer.passed(committer.head());
        for (file, as_is, reply) in imports {
            let done = committer.import(&file, as_is, |seq| {
                let _ = reply.send(Reply::Importing { seq });
            })?;
            if let Ok(imported) = &done {
                // This user did not request the queued runs of a file from elsewhere.
                Runs::disown(&mut committer)?;
                // The checkpoint comes before the answer, because a `hm verify` after the answer expects it where
                // there is a key.
                sealer.seal_now(imported.head);
                head.send_replace(imported.head.seq);
            }
            let _ = reply.send(match done {
                Ok(Imported { added, present, authors, .. }) => Reply::Imported { added, present, authors },
                Err(rejection) => Reply::Refused { rejection },
            });
        }
        if was_stopped && !committer.is_stopped() {
            // Now the records are possible that the writer skipped at its start.
            record_start(&mut committer, workspace)?;
        }
        for reply in rebuilds {
            if let Some(damage) = committer.damage().filter(|damage| damage.stops_writes()) {
                // The position of the read models is the evidence of the loss.
                let message = format!("{}: {}", damage.loss.fault, Damage::FIX);
                let _ = reply.send(Reply::Failed { message });
                continue;
            }
            let of = committer.head().seq;
            let done = committer.rebuild(|seq| {
                let _ = reply.send(Reply::Rebuilding { seq, of });
            });
            background.rebuilt();
            let _ = reply.send(match done {
                Ok(seq) => Reply::Rebuilt { seq },
                Err(error) => Reply::Failed { message: error.to_string() },
            });
        }
        committer.crash(CrashPoint::Answered);
        if leaves {
            tracing::info!("a newer version of hm asks: leaving");
            sealer.seal(committer.head());
            background.finish();
            sealer.finish();
            return Ok(());
        }
    }
}

async fn listen(
    listener: &Listener,
    idle_exit: Duration,
    work: Sender<Work>,
    heads: watch::Receiver<u64>,
    running: &AtomicBool,
    identity: Identity,
) -> Result<(), WriterError> {
    let clients = Arc::new(AtomicUsize::new(0));
    let mut idle_since = system::instant();
    loop {
        let accepted = tokio::time::timeout(idle_exit.min(Duration::from_secs(5)), listener.accept()).await;
        match accepted {
            Ok(Ok(stream)) => {
                clients.fetch_add(1, Ordering::Relaxed);
                let (work, heads, clients) = (work.clone(), heads.clone(), Arc::clone(&clients));
                let hello = identity.hello();
                tokio::spawn(async move {
                    if let Err(error) = serve_client(stream, work, heads, hello).await {
                        // The error quotes the frame, which may hold a secret.
                        let error = privacy::redacted(&error.to_string(), &Secrets::default());
                        tracing::debug!(%error, "dropped a client");
                    }
                    clients.fetch_sub(1, Ordering::Relaxed);
                });
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "cannot accept a client");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Err(_) => {}
        }
        if clients.load(Ordering::Relaxed) > 0 || running.load(Ordering::Relaxed) {
            idle_since = system::instant();
        } else if idle_since.elapsed() >= idle_exit {
            tracing::info!("idle: leaving");
            return Ok(());
        }
    }
}

fn bind(socket: PathBuf) -> Result<Listener, WriterError> {
    // The library would also remove a socket that replaced ours, so it must not reclaim the name.
    Ok(ListenerOptions::new().name(socket_name(socket)?).reclaim_name(false).create_tokio()?)
}

/// The name of a socket in the form of this platform.
pub(super) fn socket_name(path: PathBuf) -> std::io::Result<interprocess::local_socket::Name<'static>> {
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

/// Serves one client until it leaves, stalls or sends an invalid frame. Other clients are not affected.
async fn serve_client(
    mut stream: Stream,
    work: Sender<Work>,
    heads: watch::Receiver<u64>,
    ours: Hello,
) -> std::io::Result<()> {
    if !is_ours(&stream) {
        return Err(std::io::ErrorKind::PermissionDenied.into());
    }
    let hello: Option<Hello> = tokio::time::timeout(STALLED_AFTER, wire::read(&mut stream)).await??;
    wire::write(&mut stream, &ours).await?;
    let Some(theirs) = hello else { return Ok(()) };
    if theirs.is_newer() {
        // The committing thread is gone only while the process exits.
        let _ = work.send(Work::Leave);
        return Ok(());
    }
    if theirs.protocol != PROTOCOL {
        return Ok(());
    }
    let (reply, replies) = unbounded_channel();
    tokio::select! {
        ended = read_requests(&stream, work, heads, reply) => ended,
        ended = write_replies(&stream, replies) => ended,
    }
}

async fn read_requests(
    stream: &Stream,
    work: Sender<Work>,
    heads: watch::Receiver<u64>,
    reply: UnboundedSender<Reply>,
) -> std::io::Result<()> {
    let gone = |_| std::io::Error::from(std::io::ErrorKind::BrokenPipe);
    let mut receiving = tokio::io::BufReader::new(stream);
    while let Some(request) = wire::read(&mut receiving).await? {
        match request {
            Request::Submit { id, submission } => {
                let reply = reply.clone();
                work.send(Work::Submit { id, submission, reply }).map_err(gone)?;
            }
            Request::Rebuild => work.send(Work::Rebuild { reply: reply.clone() }).map_err(gone)?,
            Request::Import { file, as_is } => {
                work.send(Work::Import { file, as_is, reply: reply.clone() }).map_err(gone)?;
            }
            Request::Watch => {
                let (mut heads, reply) = (heads.clone(), reply.clone());
                tokio::spawn(async move {
                    loop {
                        let seq = *heads.borrow_and_update();
                        if reply.send(Reply::Head { seq }).is_err() || heads.changed().await.is_err() {
                            break;
                        }
                    }
                });
            }
        }
    }
    Ok(())
}

async fn write_replies(mut sending: &Stream, mut replies: UnboundedReceiver<Reply>) -> std::io::Result<()> {
    while let Some(reply) = replies.recv().await {
        if replies.len() > MAX_UNREAD {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        let mut frames = wire::encode(&reply)?;
        while let Ok(more) = replies.try_recv() {
            frames.extend(wire::encode(&more)?);
        }
        tokio::time::timeout(STALLED_AFTER, sending.write_all(&frames)).await??;
    }
    Ok(())
}
