//! The thread that seals checkpoints. It reads the ledger like any front, so commits do not wait for it.

use std::io;
use std::sync::mpsc::{Receiver, Sender};
use std::thread::JoinHandle;

use crate::checkpoints::{Checkpoints, grow};
use crate::ledger::{Checkpoint, Cursor, LedgerError, Origin, Reader, Tree};
use crate::system::Sources;
use crate::workspace::Workspace;

/// Number of events after which a checkpoint is due even while the writer is busy.
pub(super) const EVERY_EVENTS: u64 = 1_000;

/// Why a checkpoint could not be written. The next checkpoint tries again.
#[derive(Debug, thiserror::Error)]
enum SealError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("cannot write the checkpoint: {0}")]
    Io(#[from] io::Error),
}

/// The sealing thread, owned by the committing thread.
#[derive(Debug)]
pub(super) struct Sealer {
    request_tx: Option<Sender<Request>>,
    thread: Option<JoinHandle<()>>,
    asked: u64,
    /// Whether the ledger has no checkpoint yet. Its first one also records that a ledger lies at this place.
    is_first: bool,
}

/// A request for a checkpoint. Its sender waits until `done_tx` is dropped.
struct Request {
    head: Cursor,
    done_tx: Option<Sender<()>>,
}

/// The state of the sealing thread between two checkpoints.
struct Sealing {
    checkpoints: Checkpoints,
    ledger: Reader,
    tree: Tree,
    sealed: u64,
}

impl Sealer {
    /// Starts the thread. It waits for the first request.
    pub(super) fn start(workspace: &Workspace, checkpoints: Checkpoints) -> io::Result<Self> {
        let (request_tx, request_rx) = std::sync::mpsc::channel();
        let workspace = workspace.clone();
        let is_first = checkpoints.last_size() == 0;
        let thread = std::thread::Builder::new()
            .name("checkpoint".to_owned())
            .spawn(move || seal_all(&workspace, checkpoints, &request_rx))?;
        Ok(Self { request_tx: Some(request_tx), thread: Some(thread), asked: 0, is_first })
    }

    /// The sealer of a writer without a directory for keys: it seals nothing.
    pub(super) fn none() -> Self {
        Self { request_tx: None, thread: None, asked: 0, is_first: false }
    }

    /// Requests a checkpoint if the writer passed a multiple of [`EVERY_EVENTS`].
    pub(super) fn passed(&mut self, head: Cursor) {
        if head.seq / EVERY_EVENTS > self.asked / EVERY_EVENTS {
            self.seal(head);
        }
    }

    /// Seals the first checkpoint of a ledger with its first commit, and waits for it: a ledger that is removed later is
    /// missed, even before the writer was ever idle.
    pub(super) fn first(&mut self, head: Cursor) {
        if head.seq > 0 && std::mem::take(&mut self.is_first) {
            self.seal_now(head);
        }
    }

    /// Whether there are events after the last requested checkpoint.
    pub(super) fn is_behind(&self, head: Cursor) -> bool {
        self.asked < head.seq
    }

    /// Requests a checkpoint of `head`.
    pub(super) fn seal(&mut self, head: Cursor) {
        self.asked = head.seq;
        if let Some(request_tx) = &self.request_tx {
            // The thread logs why it ended, so this error is ignored.
            let _ = request_tx.send(Request { head, done_tx: None });
        }
    }

    /// Requests a checkpoint of `head` and waits for it.
    pub(super) fn seal_now(&mut self, head: Cursor) {
        self.asked = head.seq;
        let (done_tx, done_rx) = std::sync::mpsc::channel();
        if let Some(request_tx) = &self.request_tx {
            let _ = request_tx.send(Request { head, done_tx: Some(done_tx) });
            // The thread never sends; `recv` returns when the other end is dropped.
            let _ = done_rx.recv();
        }
    }

    /// Waits until every requested checkpoint is on the disk.
    pub(super) fn finish(mut self) {
        self.request_tx = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the checkpoint thread panicked");
        }
    }
}

fn seal_all(workspace: &Workspace, checkpoints: Checkpoints, request_rx: &Receiver<Request>) {
    let (mut sealing, mut last_problem) = (None, String::new());
    while let Ok(first) = request_rx.recv() {
        // A thread that is behind needs only the newest head.
        let pending: Vec<Request> = std::iter::once(first).chain(request_rx.try_iter()).collect();
        let Some(Request { head, .. }) = pending.last().filter(|request| request.head.seq > 0) else {
            continue;
        };
        if let Err(error) = seal(&mut sealing, workspace, &checkpoints, *head) {
            // The same error repeats at each due checkpoint until the operator accepts it, so it is logged once.
            let problem = error.to_string();
            if problem != last_problem {
                tracing::warn!(%error, "no checkpoint");
                last_problem = problem;
            }
            sealing = None;
        }
        pending.into_iter().filter_map(|request| request.done_tx).for_each(drop);
    }
}

fn seal(
    sealing: &mut Option<Sealing>,
    workspace: &Workspace,
    checkpoints: &Checkpoints,
    head: Cursor,
) -> Result<(), SealError> {
    if sealing.is_none() {
        *sealing = Reader::open(&workspace.ledger())?.map(|ledger| Sealing {
            sealed: 0,
            checkpoints: checkpoints.clone(),
            ledger,
            tree: Tree::default(),
        });
    }
    sealing.as_mut().map_or(Ok(()), |sealing| sealing.seal(head))
}

impl Sealing {
    fn seal(&mut self, head: Cursor) -> Result<(), SealError> {
        if self.sealed == head.seq {
            return Ok(());
        }
        let Some(origin) = self.ledger.hashes_after(0, 1)?.first().map(Origin::of) else { return Ok(()) };
        grow(&mut self.tree, &self.ledger, head.seq)?;
        self.checkpoints.seal(Checkpoint::of(origin, head, &self.tree), Sources::system().entropy)?;
        self.sealed = head.seq;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_writer_seals_every_thousand_events() {
        let (request_tx, request_rx) = std::sync::mpsc::channel();
        let mut sealer = Sealer { request_tx: Some(request_tx), thread: None, asked: 0, is_first: false };
        for seq in (1..=700).chain([999, 1_000, 1_001, 1_999, 3_500, 3_999, 4_000]) {
            sealer.passed(Cursor { seq, hash: [0; 32] });
        }
        sealer.finish();
        let due: Vec<u64> = request_rx.iter().map(|request| request.head.seq).collect();
        assert_eq!(due, [1_000, 3_500, 4_000]);
    }
}
