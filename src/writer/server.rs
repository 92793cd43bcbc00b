//! The writer process: a lock, a socket, its clients, and one thread that commits.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use interprocess::local_socket::ListenerOptions;
use interprocess::local_socket::tokio::prelude::*;
use interprocess::local_socket::tokio::{Listener, Stream};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;

use super::commit::Committer;
use super::committing::{Committing, Identity};
use super::crash::CrashPoint;
use super::error::WriterError;
use super::experiments::{Dispatcher, follow};
use super::ground::{self, Ground};
use super::wire::{self, Hello, PROTOCOL, Reply, Request, is_ours, socket_name};
use super::work::WorkItem;
use crate::config::Config;
use crate::domain::privacy::{self, Secrets};
use crate::private;
use crate::system::{self, Sources};
use crate::workspace::Workspace;

/// How long a client may take to read a reply; then its connection is dropped.
const STALLED_AFTER: Duration = Duration::from_secs(10);
/// The most unread replies of a client; with more, its connection is dropped.
const MAX_UNREAD: usize = 4_096;

/// Options of a writer process.
#[derive(Debug, Clone, Default)]
pub struct ServeOptions {
    /// Directory for the keys of checkpoints; without it no checkpoints are written.
    pub state_home: Option<PathBuf>,
    /// Where to abort, for tests.
    pub crash_at: Option<CrashPoint>,
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
    let running = Arc::new(AtomicBool::new(false));
    let (order_tx, order_rx) = unbounded_channel();
    let runs = Dispatcher::new(workspace, config.secret_patterns.clone(), order_tx, Arc::clone(&running));
    let committing = open(workspace, config, &options, runs)?;
    // If the lock path holds another file by now, another writer may be listening.
    let is_here = || ground::is_at(&lock, &workspace.writer_lock());
    if !is_here() {
        return Err(WriterError::Replaced(workspace.writer_lock().display().to_string()));
    }
    let socket = workspace.free_socket()?;
    let (work_tx, work_rx) = std::sync::mpsc::channel();
    let (head_rx, identity) = (committing.heads(), committing.identity());
    let binary = std::env::current_exe()?;
    let (result_tx, result_rx) = tokio::sync::oneshot::channel();
    let thread = std::thread::Builder::new().name("commit".to_owned()).spawn(move || {
        // The receiver is gone only while the process exits.
        let _ = result_tx.send(committing.run(&work_rx));
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(async {
        tokio::select! {
            ended = async {
                tokio::spawn(follow(binary, order_rx, work_tx.clone()));
                let listener = bind(socket.clone())?;
                tracing::info!(memory = %workspace.memory().display(), "the writer is ready");
                listen(&listener, config.idle_exit, work_tx, head_rx, &running, identity).await
            } => ended,
            committed = result_rx => committed.unwrap_or(Ok(())),
            () = system::stop_signal() => Ok(()),
        }
    });
    if is_here() || !socket.starts_with(workspace.memory()) {
        workspace.remove_socket(&socket);
    }
    // Dropping the runtime drops every sender; the committing thread finishes its group and ends.
    drop(runtime);
    if ended.is_ok() && thread.join().is_err() {
        tracing::error!("the committing thread panicked");
    }
    ended
}

/// Opens the memory, and makes up for what earlier writers left undone.
fn open(
    workspace: &Workspace,
    config: &Config,
    options: &ServeOptions,
    runs: Dispatcher,
) -> Result<Committing, WriterError> {
    ground::set_aside_log(workspace)?;
    let opened = private::name_of(&workspace.ledger());
    let secrets = Secrets { own: config.own_secrets.clone(), ..Secrets::default() };
    let state_home = options.state_home.as_deref();
    let mut committer = Committer::open_sealed(workspace, config.policy, Sources::system(), state_home)?
        .guarding(secrets)
        .planning(workspace, &config.roster)
        .watching(config.patterns.clone())
        .governed(config.memory.clone())
        .crashing_at(options.crash_at);
    committer.guards_block = workspace.blocks(config);
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
    Committing::start(committer, runs, workspace, file, state_home)
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

async fn listen(
    listener: &Listener,
    idle_exit: Duration,
    work_tx: Sender<WorkItem>,
    head_rx: watch::Receiver<u64>,
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
                let (work_tx, head_rx, clients) = (work_tx.clone(), head_rx.clone(), Arc::clone(&clients));
                let hello = identity.hello();
                tokio::spawn(async move {
                    if let Err(error) = serve_client(stream, work_tx, head_rx, hello).await {
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

/// Serves one client until it leaves, stalls or sends an invalid frame. Other clients are not affected.
async fn serve_client(
    mut stream: Stream,
    work_tx: Sender<WorkItem>,
    head_rx: watch::Receiver<u64>,
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
        let _ = work_tx.send(WorkItem::Leave);
        return Ok(());
    }
    if theirs.protocol != PROTOCOL {
        return Ok(());
    }
    let (reply_tx, reply_rx) = unbounded_channel();
    tokio::select! {
        ended = read_requests(&stream, work_tx, head_rx, reply_tx) => ended,
        ended = write_replies(&stream, reply_rx) => ended,
    }
}

async fn read_requests(
    stream: &Stream,
    work_tx: Sender<WorkItem>,
    head_rx: watch::Receiver<u64>,
    reply_tx: UnboundedSender<Reply>,
) -> std::io::Result<()> {
    let gone = |_| std::io::Error::from(std::io::ErrorKind::BrokenPipe);
    let mut receiving = tokio::io::BufReader::new(stream);
    while let Some(request) = wire::read(&mut receiving).await? {
        match request {
            Request::Submit { id, submission } => {
                let reply_tx = reply_tx.clone();
                work_tx.send(WorkItem::Submit { id, submission, reply_tx }).map_err(gone)?;
            }
            Request::Rebuild => {
                work_tx.send(WorkItem::Rebuild { reply_tx: reply_tx.clone() }).map_err(gone)?
            }
            Request::Import { file, as_is } => {
                work_tx.send(WorkItem::Import { file, as_is, reply_tx: reply_tx.clone() }).map_err(gone)?;
            }
            Request::Watch => {
                let (mut head_rx, reply_tx) = (head_rx.clone(), reply_tx.clone());
                tokio::spawn(async move {
                    loop {
                        let seq = *head_rx.borrow_and_update();
                        if reply_tx.send(Reply::Head { seq }).is_err() || head_rx.changed().await.is_err() {
                            break;
                        }
                    }
                });
            }
        }
    }
    Ok(())
}

async fn write_replies(mut sending: &Stream, mut reply_rx: UnboundedReceiver<Reply>) -> std::io::Result<()> {
    while let Some(reply) = reply_rx.recv().await {
        if reply_rx.len() > MAX_UNREAD {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        let mut frames = wire::encode(&reply)?;
        while let Ok(more) = reply_rx.try_recv() {
            frames.extend(wire::encode(&more)?);
        }
        tokio::time::timeout(STALLED_AFTER, sending.write_all(&frames)).await??;
    }
    Ok(())
}
