//! Follows the ledger's head over one connection to the writer and shares it with all subscribers of this process.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::writer::Front;

/// Follows the head as long as there are receivers.
#[derive(Debug, Clone)]
pub(crate) struct Heads {
    front: Front,
    /// The sender for new heads; `None` while no task follows the writer.
    announced: Arc<Mutex<Option<watch::Sender<u64>>>>,
}

impl Heads {
    pub(crate) fn of(front: Front) -> Self {
        Self { front, announced: Arc::default() }
    }

    /// A receiver that gets the last announced head at once, and then each newer one.
    pub(crate) fn follow(&self) -> watch::Receiver<u64> {
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
                    // A new receiver may have been added after the last one was dropped.
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
