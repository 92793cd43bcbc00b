//! The writer process: a lock, a socket, and one thread that commits.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
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
use super::spool::Spool;
use super::wire::{self, Hello, PROTOCOL, Reply, Request};
use crate::checkpoints::Checkpoints;
use crate::config::Config;
use crate::domain::command::{Command, Submission};
use crate::domain::privacy::{self, Secrets};
use crate::ledger::Imported;
use crate::system::{self, Sources};
use crate::workspace::Workspace;

/// How often an idle writer looks whether somebody spooled in spite of it.
const SPOOL_TICK: Duration = Duration::from_millis(250);
/// How long a client may take to read an answer before it is dropped.
const STALLED_AFTER: Duration = Duration::from_secs(10);
/// Answers a client may leave unread before it is dropped.
const MAX_UNREAD: usize = 4_096;

/// How a writer runs.
#[derive(Debug, Clone, Default)]
pub struct ServeOptions {
    /// Where the keys of checkpoints lie; without it none are written.
    pub state_home: Option<PathBuf>,
    /// Abort there, for tests.
    pub crash_at: Option<CrashPoint>,
}

/// What the committing thread is asked to do.
pub(super) enum Work {
    Submit { id: u64, submission: Box<Submission>, reply: UnboundedSender<Reply> },
    RunEnded(Ended),
    Rebuild { reply: UnboundedSender<Reply> },
    Import { file: PathBuf, as_is: bool, reply: UnboundedSender<Reply> },
}

/// Serves a workspace until it is idle or told to stop.
///
/// # Errors
/// [`WriterError::Locked`] when there is another writer; every other one with what to do.
pub fn serve(workspace: &Workspace, config: &Config, options: ServeOptions) -> Result<(), WriterError> {
    // Everything the writer makes is the owner's alone.
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    workspace.create_runtime()?;
    let _lock = lock(workspace)?;
    let spool = Spool::of(workspace);
    let secrets = Secrets { own: config.own_secrets.clone(), ..Secrets::default() };
    let mut committer = Committer::open(workspace, config.policy, Sources::system())?
        .guarding(secrets)
        .planning(workspace, &config.roster)
        .crashing_at(options.crash_at);
    if !spool.is_empty() {
        committer.replay(&spool)?;
    }
    Runs::reconcile(&mut committer)?;
    let sealer = match &options.state_home {
        Some(home) => Sealer::start(workspace, Checkpoints::of(workspace, home))?,
        None => {
            tracing::warn!("no home directory to keep a key in: no checkpoints");
            Sealer::none()
        }
    };
    let background = Background::start(workspace)?;
    let (work, queue) = std::sync::mpsc::channel();
    let (head, heads) = watch::channel(committer.head().seq);
    let (orders, ordered) = unbounded_channel();
    let running = Arc::new(AtomicBool::new(false));
    let runs = Runs::new(workspace, config.secret_patterns.clone(), orders, Arc::clone(&running));
    let binary = std::env::current_exe()?;
    let (failed, failure) = tokio::sync::oneshot::channel();
    let committing = std::thread::Builder::new().name("commit".to_owned()).spawn(move || {
        // The receiver is gone when the process is leaving anyway.
        let _ = failed.send(commit_loop(committer, sealer, background, runs, &spool, &queue, &head));
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(async {
        tokio::select! {
            ended = async {
                tokio::spawn(follow(binary, ordered, work.clone()));
                listen(workspace, config.idle_exit, work, heads, &running).await
            } => ended,
            committed = failure => committed.unwrap_or(Ok(())),
            () = system::stop_signal() => Ok(()),
        }
    });
    remove_socket(workspace);
    // Dropping the runtime drops every sender; the thread finishes its group and ends.
    drop(runtime);
    if ended.is_ok() && committing.join().is_err() {
        tracing::error!("the committing thread panicked");
    }
    ended
}

fn lock(workspace: &Workspace) -> Result<File, WriterError> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(workspace.writer_lock())?;
    match file.try_lock() {
        Ok(()) => {
            // Whoever wants to know, or to end, the writer finds its process id here.
            file.set_len(0)?;
            writeln!(&file, "{}", std::process::id())?;
            Ok(file)
        }
        Err(std::fs::TryLockError::WouldBlock) => Err(WriterError::Locked),
        Err(std::fs::TryLockError::Error(error)) => Err(error.into()),
    }
}

/// A socket file outlives a killed writer; only the holder of the lock may remove it.
fn remove_socket(workspace: &Workspace) {
    if let Err(error) = std::fs::remove_file(workspace.socket())
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "cannot remove the socket");
    }
}

fn commit_loop(
    mut committer: Committer,
    mut sealer: Sealer,
    mut background: Background,
    mut runs: Runs,
    spool: &Spool,
    queue: &Receiver<Work>,
    head: &watch::Sender<u64>,
) -> Result<(), WriterError> {
    let mut untidy = true;
    loop {
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
        // What was spooled was accepted before what comes in now: it goes first.
        if !spool.is_empty() {
            match committer.replay(spool) {
                Ok(replayed) => tracing::info!(?replayed, "replayed the spool"),
                Err(WriterError::Spool(error)) => tracing::error!(%error, "cannot replay the spool"),
                Err(error) => return Err(error),
            }
            head.send_replace(committer.head().seq);
        }
        background.tick(&mut committer)?;
        runs.tick(&mut committer)?;
        head.send_if_modified(|seen| std::mem::replace(seen, committer.head().seq) != committer.head().seq);
        let Some(first) = first else {
            // The spool may have moved the head while nobody called.
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
        for work in std::iter::once(first).chain(queue.try_iter()) {
            match work {
                Work::Submit { id, submission, reply } => {
                    submissions.push(*submission);
                    replies.push((id, reply));
                }
                Work::RunEnded(ended) => over.push(ended),
                Work::Rebuild { reply } => rebuilds.push(reply),
                Work::Import { file, as_is, reply } => imports.push((file, as_is, reply)),
            }
            if submissions.len() == MAX_GROUP {
                break;
            }
        }
        let outcomes = committer.commit(&submissions)?;
        if submissions.iter().any(|submission| matches!(submission.command, Command::StartSession(_))) {
            background.session_started();
        }
        for ((id, reply), outcome) in replies.into_iter().zip(outcomes) {
            // A client that left does not hear its answer; it will ask again with the same id.
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
                // Before the answer: whoever verifies next expects a checkpoint where there is a key.
                sealer.seal_now(imported.head);
                head.send_replace(imported.head.seq);
            }
            let _ = reply.send(match done {
                Ok(Imported { added, present, authors, .. }) => Reply::Imported { added, present, authors },
                Err(rejection) => Reply::Refused { rejection },
            });
        }
        for reply in rebuilds {
            let of = committer.head().seq;
            let done = committer.rebuild(|seq| {
                let _ = reply.send(Reply::Rebuilding { seq, of });
            });
            let _ = reply.send(match done {
                Ok(seq) => Reply::Rebuilt { seq },
                Err(error) => Reply::Failed { message: error.to_string() },
            });
        }
        committer.crash(CrashPoint::Answered);
    }
}

async fn listen(
    workspace: &Workspace,
    idle_exit: Duration,
    work: Sender<Work>,
    heads: watch::Receiver<u64>,
    running: &AtomicBool,
) -> Result<(), WriterError> {
    remove_socket(workspace);
    let listener = bind(workspace)?;
    tracing::info!(workspace = %workspace.root().display(), "the writer is ready");
    let clients = Arc::new(AtomicUsize::new(0));
    let mut idle_since = system::instant();
    loop {
        let accepted = tokio::time::timeout(idle_exit.min(Duration::from_secs(5)), listener.accept()).await;
        match accepted {
            Ok(Ok(stream)) => {
                clients.fetch_add(1, Ordering::Relaxed);
                let (work, heads, clients) = (work.clone(), heads.clone(), Arc::clone(&clients));
                tokio::spawn(async move {
                    if let Err(error) = serve_client(stream, work, heads).await {
                        // What does not parse is quoted in the error, and may be anything.
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

fn bind(workspace: &Workspace) -> Result<Listener, WriterError> {
    let name = socket_name(workspace)?;
    Ok(ListenerOptions::new().name(name).create_tokio()?)
}

/// The socket's name on this platform.
pub(super) fn socket_name(
    workspace: &Workspace,
) -> std::io::Result<interprocess::local_socket::Name<'static>> {
    #[cfg(unix)]
    return workspace.socket().to_fs_name::<interprocess::local_socket::GenericFilePath>();
    #[cfg(windows)]
    return workspace
        .socket()
        .to_string_lossy()
        .replace(['\\', ':'], "-")
        .to_ns_name::<interprocess::local_socket::GenericNamespaced>();
}

/// Talks to one client until it leaves, stalls or sends garbage; no other client notices.
async fn serve_client(
    mut stream: Stream,
    work: Sender<Work>,
    heads: watch::Receiver<u64>,
) -> std::io::Result<()> {
    let hello: Option<Hello> = tokio::time::timeout(STALLED_AFTER, wire::read(&mut stream)).await??;
    wire::write(&mut stream, &Hello::ours()).await?;
    if hello.is_none_or(|hello| hello.protocol != PROTOCOL) {
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
