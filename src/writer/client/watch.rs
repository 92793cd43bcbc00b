//! The watch: a front follows the ledger's head.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::connect::Connector;
use crate::writer::wire::{self, Reply, Request};

/// How often a watcher looks for a new writer after the old one exited.
const WATCH_RETRY: Duration = Duration::from_millis(100);

/// The ledger's head, as announced by the writer.
#[derive(Debug)]
pub struct Watch {
    head_rx: mpsc::UnboundedReceiver<u64>,
    task: tokio::task::JoinHandle<()>,
}

impl Watch {
    /// Starts to follow the writer that the connector finds.
    pub(super) fn over(connector: Arc<Connector>) -> Self {
        let (head_tx, head_rx) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            while !head_tx.is_closed() {
                // The connection ends when the writer exits.
                let _ = follow(&connector, &head_tx).await;
                tokio::time::sleep(WATCH_RETRY).await;
            }
        });
        Self { head_rx, task }
    }

    /// Waits for the next announcement and returns the newest head; `None` when watching ended.
    pub async fn changed(&mut self) -> Option<u64> {
        let mut seq = self.head_rx.recv().await?;
        while let Ok(newer) = self.head_rx.try_recv() {
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

async fn follow(connector: &Connector, head_tx: &mpsc::UnboundedSender<u64>) -> std::io::Result<()> {
    let gone = || std::io::Error::from(std::io::ErrorKind::NotConnected);
    let mut stream = connector.open().await.map_err(|_| gone())?;
    wire::write(&mut stream, &Request::Watch).await?;
    while let Some(reply) = wire::read(&mut stream).await? {
        if let Reply::Head { seq } = reply {
            head_tx.send(seq).map_err(|_| gone())?;
        }
    }
    Ok(())
}
