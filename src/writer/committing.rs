//! The committing thread: every change of the ledger happens here, one group after the other.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;

use super::background::Background;
use super::checkpoint::Sealer;
use super::commit::{Committer, MAX_GROUP};
use super::crash::CrashPoint;
use super::error::WriterError;
use super::experiments::Dispatcher;
use super::governing::{self, Governing};
use super::import::import;
use super::patterns;
use super::replay::replay;
use super::wire::{Hello, Reply};
use super::work::{Ended, WorkItem};
use crate::checkpoints::Checkpoints;
use crate::domain::command::{Command, Submission};
use crate::ledger::{Imported, Origin};
use crate::private::{self, FileName};
use crate::spool::Spool;
use crate::standing::Damage;
use crate::workspace::Workspace;

/// How often an idle writer looks for commands in the spool.
const SPOOL_TICK: Duration = Duration::from_millis(250);

/// The identity of the ledger, which the writer sends to fronts.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    file: Option<FileName>,
    /// Set after the first event.
    ledger: Arc<OnceLock<Origin>>,
}

impl Identity {
    pub(super) fn hello(&self) -> Hello {
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

/// The committer with everything that runs between its groups.
pub(super) struct Committing {
    committer: Committer,
    sealer: Sealer,
    background: Background,
    runs: Dispatcher,
    governing: Governing,
    spool: Spool,
    workspace: Workspace,
    identity: Identity,
    /// Announces the ledger's head.
    head_tx: watch::Sender<u64>,
    /// Whether something was committed since the logs were checkpointed.
    is_untidy: bool,
}

/// The queue as it is at one moment, by kind.
#[derive(Default)]
struct Queued {
    submissions: Vec<Submission>,
    /// Where the answer to each submission goes.
    answer_txs: Vec<(u64, UnboundedSender<Reply>)>,
    ended: Vec<Ended>,
    rebuilds: Vec<UnboundedSender<Reply>>,
    imports: Vec<(PathBuf, bool, UnboundedSender<Reply>)>,
    leaves: bool,
}

impl Queued {
    /// Takes at most one group from the queue.
    fn of(first: WorkItem, work_rx: &Receiver<WorkItem>) -> Self {
        let mut queued = Self::default();
        for work in std::iter::once(first).chain(work_rx.try_iter()) {
            match work {
                WorkItem::Submit { id, submission, reply_tx } => {
                    queued.submissions.push(*submission);
                    queued.answer_txs.push((id, reply_tx));
                }
                WorkItem::RunEnded(ended) => queued.ended.push(ended),
                WorkItem::Leave => queued.leaves = true,
                WorkItem::Rebuild { reply_tx } => queued.rebuilds.push(reply_tx),
                WorkItem::Import { file, as_is, reply_tx } => queued.imports.push((file, as_is, reply_tx)),
            }
            if queued.submissions.len() == MAX_GROUP {
                break;
            }
        }
        queued
    }

    fn holds(&self, is_it: impl Fn(&Command) -> bool) -> bool {
        self.submissions.iter().any(|submission| is_it(&submission.command))
    }
}

impl Committing {
    /// Takes over an open memory: records what comes before all commands, and commits the spool. Without
    /// `state_home` no checkpoints are written.
    pub(super) fn start(
        mut committer: Committer,
        runs: Dispatcher,
        workspace: &Workspace,
        file: Option<FileName>,
        state_home: Option<&Path>,
    ) -> Result<Self, WriterError> {
        let spool = Spool::of(workspace);
        if let Err(error) = spool.take_up() {
            tracing::error!(%error, "what was kept for a newer hm stays where it is");
        }
        record_start(&mut committer, &runs, workspace)?;
        committer.await_events()?;
        if !committer.is_stopped()
            && let Some(kept) = committer.kept_spool()?
        {
            replay_kept(&mut committer, &spool, &kept)?;
        }
        if !spool.is_empty() {
            replay_spool(&mut committer, &spool)?;
        }
        let identity = Identity { file, ledger: Arc::default() };
        // A front that knows the ledger rejects a writer that does not name it.
        identity.learn(&committer)?;
        let sealer = match state_home {
            Some(home) => Sealer::start(workspace, Checkpoints::of(workspace.memory(), Some(home)))?,
            None => {
                tracing::warn!("no home directory to keep a key in: no checkpoints");
                Sealer::none()
            }
        };
        let (head_tx, _) = watch::channel(committer.head().seq);
        let (background, governing) = (Background::start(workspace)?, Governing::of(workspace));
        let workspace = workspace.clone();
        Ok(Self {
            committer,
            sealer,
            background,
            runs,
            governing,
            spool,
            workspace,
            identity,
            head_tx,
            is_untidy: true,
        })
    }

    /// Announces the ledger's head to the clients.
    pub(super) fn heads(&self) -> watch::Receiver<u64> {
        self.head_tx.subscribe()
    }

    /// The identity of the ledger, for the greeting of a client.
    pub(super) fn identity(&self) -> Identity {
        self.identity.clone()
    }

    /// Works until the writer's last sender is gone or a newer version of hm asks it to exit.
    pub(super) fn run(mut self, work_rx: &Receiver<WorkItem>) -> Result<(), WriterError> {
        loop {
            self.identity.learn(&self.committer)?;
            let first = match work_rx.recv_timeout(SPOOL_TICK) {
                Ok(work) => Some(work),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            self.tick()?;
            let Some(first) = first else {
                self.tidy();
                continue;
            };
            let queued = Queued::of(first, work_rx);
            let leaves = queued.leaves;
            self.take(queued)?;
            if leaves {
                tracing::info!("a newer version of hm asks: leaving");
                break;
            }
        }
        self.sealer.seal(self.committer.head());
        self.background.finish();
        self.sealer.finish();
        Ok(())
    }

    /// Work that is due also without a request.
    fn tick(&mut self) -> Result<(), WriterError> {
        self.governing.renew(&mut self.committer)?;
        self.committer.await_events()?;
        // A writer whose files are gone would block the next writer, and the spool may be that of another memory.
        self.committer.check_ground()?;
        // Spooled commands were accepted before the new ones, so they come first.
        if !self.spool.is_empty() && !self.committer.is_stopped() {
            replay_spool(&mut self.committer, &self.spool)?;
            patterns::after_group(&mut self.committer)?;
            self.head_tx.send_replace(self.committer.head().seq);
        }
        if !self.committer.is_stopped() {
            self.background.tick(&mut self.committer)?;
        }
        self.runs.tick(&mut self.committer)?;
        self.announce();
        Ok(())
    }

    /// Checkpoints and seals in an idle moment. A replay of the spool may have moved the head without any request.
    fn tidy(&mut self) {
        // A writer that waits for a backup uses none of the files that the backup replaces.
        if self.committer.is_stopped() {
            return;
        }
        if std::mem::replace(&mut self.is_untidy, false) || self.sealer.is_behind(self.committer.head()) {
            self.committer.tidy();
            self.sealer.seal(self.committer.head());
        }
    }

    fn announce(&self) {
        let head = self.committer.head().seq;
        self.head_tx.send_if_modified(|seen| std::mem::replace(seen, head) != head);
    }

    fn take(&mut self, queued: Queued) -> Result<(), WriterError> {
        self.is_untidy = true;
        let was_stopped = self.committer.is_stopped();
        // The acceptance of the loss ends the record of the ledger that lay here.
        let accepts = queued.holds(|command| matches!(command, Command::AcceptLoss(_)));
        let kept = if was_stopped || accepts { self.committer.kept_spool()? } else { None };
        let outcomes = self.committer.commit(&queued.submissions)?;
        if !self.committer.is_stopped() {
            self.sealer.first(self.committer.head());
        }
        if accepts {
            // The checkpoint comes before the answer, because a `hm verify` after the answer expects it.
            self.sealer.seal_now(self.committer.head());
        }
        if queued.holds(|command| matches!(command, Command::StartSession(_))) {
            self.background.session_started();
        }
        for ((id, reply_tx), outcome) in queued.answer_txs.into_iter().zip(outcomes) {
            // A client that left gets no answer; it asks again with the same command id.
            let _ = reply_tx.send(Reply::Answer { id, outcome: outcome.into() });
        }
        for ended in queued.ended {
            self.runs.ended(&mut self.committer, ended)?;
        }
        self.runs.tick(&mut self.committer)?;
        patterns::after_group(&mut self.committer)?;
        self.announce();
        self.sealer.passed(self.committer.head());
        for (file, as_is, reply_tx) in queued.imports {
            self.import(&file, as_is, &reply_tx)?;
        }
        if was_stopped && !self.committer.is_stopped() {
            // Now the records are possible that the writer skipped at its start.
            record_start(&mut self.committer, &self.runs, &self.workspace)?;
        }
        if let Some(kept) = kept.filter(|_| !self.committer.is_stopped()) {
            replay_kept(&mut self.committer, &self.spool, &kept)?;
            self.announce();
        }
        for reply_tx in queued.rebuilds {
            self.rebuild(&reply_tx);
        }
        self.committer.crash(CrashPoint::Answered);
        Ok(())
    }

    fn import(
        &mut self,
        file: &Path,
        as_is: bool,
        reply_tx: &UnboundedSender<Reply>,
    ) -> Result<(), WriterError> {
        let done = import(&mut self.committer, file, as_is, |seq| {
            let _ = reply_tx.send(Reply::Importing { seq });
        })?;
        if let Ok(imported) = &done {
            // This user did not request the queued runs of a file from elsewhere.
            self.runs.disown(&mut self.committer)?;
            // The checkpoint comes before the answer, because a `hm verify` after the answer expects it where there
            // is a key.
            self.sealer.seal_now(imported.head);
            self.head_tx.send_replace(imported.head.seq);
        }
        let _ = reply_tx.send(match done {
            Ok(Imported { added, present, authors, .. }) => Reply::Imported { added, present, authors },
            Err(rejection) => Reply::Refused { rejection },
        });
        Ok(())
    }

    fn rebuild(&mut self, reply_tx: &UnboundedSender<Reply>) {
        if let Some(damage) = self.committer.damage().filter(|damage| damage.stops_writes()) {
            // The position of the read models is the evidence of the loss.
            let message = format!("{}: {}", damage.loss.fault, Damage::FIX);
            let _ = reply_tx.send(Reply::Failed { message });
            return;
        }
        let of = self.committer.head().seq;
        let done = self.committer.rebuild(|seq| {
            let _ = reply_tx.send(Reply::Rebuilding { seq, of });
        });
        self.background.rebuilt();
        let _ = reply_tx.send(match done {
            Ok(seq) => Reply::Rebuilt { seq },
            Err(error) => Reply::Failed { message: error.to_string() },
        });
    }
}

/// Records the facts that come before all commands: the rules of this writer, and the end of runs without a helper.
/// A ledger that lost events gets them once the loss is accepted.
fn record_start(
    committer: &mut Committer,
    runs: &Dispatcher,
    workspace: &Workspace,
) -> Result<(), WriterError> {
    if committer.is_stopped() {
        return Ok(());
    }
    governing::begin(committer, workspace)?;
    if workspace.is_just_adopted() {
        runs.disown(committer)?;
        workspace.settle_adoption()?;
    }
    runs.reconcile(committer)
}

/// Commits what was kept outside of the memory while events were missing, where the spool in the memory lacks it: a backup
/// was put into the place of that memory.
fn replay_kept(committer: &mut Committer, spool: &Spool, kept: &Path) -> Result<(), WriterError> {
    let Some(outside) = spool.kept_in(kept) else { return Ok(()) };
    replay_spool(committer, &outside)?;
    if outside.is_empty() {
        private::gone(std::fs::remove_file(kept))?;
    }
    Ok(())
}

/// Commits the spooled commands. If the spool cannot be read now, the writer tries again later.
fn replay_spool(committer: &mut Committer, spool: &Spool) -> Result<(), WriterError> {
    match replay(committer, spool) {
        Ok(replayed) => tracing::info!(?replayed, "replayed the spool"),
        Err(WriterError::Spool(error)) => tracing::error!(%error, "cannot replay the spool"),
        Err(error) => return Err(error),
    }
    Ok(())
}
