//! The ledger's head for everybody in this process who follows it, over one connection to the writer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::writer::Front;

/// Follows the head while anybody listens.
#[derive(Debug, Clone)]
pub(super) struct Heads {
    front: Front,
    /// Where the task that follows announces it; none while no task does.
    announced: Arc<Mutex<Option<watch::Sender<u64>>>>,
}

impl Heads {
    pub(super) fn of(front: Front) -> Self {
        Self { front, announced: Arc::default() }
    }

    /// Changes at once to the head as it was last announced, then whenever that grows.
    pub(super) fn follow(&self) -> watch::Receiver<u64> {
        let mut announced = self.locked();
        let mut receiver = match &*announced {
            Some(sender) => sender.subscribe(),
            None => {
                let (sender, receiver) = watch::channel(0);
                tokio::spawn(self.clone().announce(sender.clone()));
                *announced = Some(sender);
                receiver
            }
        };
        receiver.mark_changed();
        receiver
    }

    async fn announce(self, sender: watch::Sender<u64>) {
        let mut heads = self.front.watch();
        loop {
            tokio::select! {
                head = heads.changed() => match head {
                    Some(head) => {
                        sender.send_replace(head);
                    }
                    None => break,
                },
                () = sender.closed() => {
                    let mut announced = self.locked();
                    // Somebody may have come while the last one left.
                    if sender.receiver_count() == 0 {
                        *announced = None;
                        return;
                    }
                }
            }
        }
        *self.locked() = None;
    }

    fn locked(&self) -> MutexGuard<'_, Option<watch::Sender<u64>>> {
        self.announced.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
