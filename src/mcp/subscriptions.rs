//! Subscriptions in both versions of the protocol. Each new event is matched against the subscribed resources; a
//! match sends `updated`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use rmcp::ErrorData;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RoleServer, SubscriptionContext, SubscriptionSink};

use super::server::{Client, Server};
use crate::ledger::Cursor;
use crate::system;
use crate::views::{self, View};

/// The least time between two `updated` for one resource. A burst of writes becomes one notification.
const COALESCE: Duration = Duration::from_millis(250);
/// The most subscribed addresses of one session. At this limit a write still costs its front a few milliseconds.
pub(super) const MAX_SUBSCRIPTIONS: usize = 512;
/// Events read per round.
const CHUNK: usize = 500;

/// The subscriptions of one client of the legacy protocol.
#[derive(Debug, Default)]
pub(super) struct Legacy {
    uris: Mutex<Option<BTreeSet<String>>>,
}

impl Legacy {
    /// Adds an address; returns whether it is the client's first.
    fn add(&self, uri: &str) -> Result<bool, ErrorData> {
        let mut uris = self.uris.lock().unwrap_or_else(PoisonError::into_inner);
        let first = uris.is_none();
        let uris = uris.get_or_insert_default();
        if uris.len() >= MAX_SUBSCRIPTIONS && !uris.contains(uri) {
            return Err(too_many());
        }
        uris.insert(uri.to_owned());
        Ok(first)
    }

    /// Removes an address; an unknown address is no error.
    pub(super) fn remove(&self, uri: &str) {
        if let Some(uris) = self.uris.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            uris.remove(uri);
        }
    }

    fn current(&self) -> BTreeSet<String> {
        self.uris.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default()
    }
}

fn too_many() -> ErrorData {
    let message = format!(
        "a session has at most {MAX_SUBSCRIPTIONS} subscriptions: end one first, or subscribe to a list instead of \
         its entries"
    );
    ErrorData::invalid_request(message, None)
}

/// The receiver of notifications, by version of the protocol.
enum Subscriber {
    Legacy { client: Weak<Client>, peer: Peer<RoleServer> },
    Listener { sink: SubscriptionSink, uris: BTreeSet<String> },
}

impl Subscriber {
    /// The addresses that it is subscribed to; `None` when the client is gone.
    fn uris(&self) -> Option<BTreeSet<String>> {
        match self {
            Self::Legacy { client, .. } => client.upgrade().map(|client| client.legacy().current()),
            Self::Listener { uris, .. } => Some(uris.clone()),
        }
    }

    /// Sends `updated` for a resource; false when the client is gone.
    async fn send(&self, uri: String) -> bool {
        match self {
            Self::Legacy { peer, .. } => {
                peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await.is_ok()
            }
            Self::Listener { sink, .. } => sink.notify_resource_updated(uri).await.is_ok(),
        }
    }
}

impl Server {
    /// `resources/subscribe`: one task forwards changes of all the client's addresses.
    pub(super) fn subscribe_legacy(&self, uri: &str, peer: Peer<RoleServer>) -> Result<(), ErrorData> {
        self.address(uri)?;
        let since = self.head()?;
        if self.legacy().add(uri)? {
            // The task must not keep its client alive: over HTTP a session ends while the process goes on.
            let server = self.for_client(Arc::clone(self.caller()));
            let subscriber = Subscriber::Legacy { client: Arc::downgrade(self.client()), peer };
            let mut left = self.left().subscribe();
            tokio::spawn(async move {
                tokio::select! {
                    () = server.forward(since, &subscriber) => {}
                    _ = left.wait_for(|left| *left) => {}
                }
            });
        }
        Ok(())
    }

    /// Records the ledger's head before a `subscriptions/listen` is acknowledged. A change made right after the
    /// acknowledgment must not be missed.
    pub(super) fn announce_listener(&self) {
        if let Ok(head) = self.head() {
            self.announced().lock().unwrap_or_else(PoisonError::into_inner).push(head);
        }
    }

    /// The earliest head recorded for a listener that has not started yet. With several listeners, one may get
    /// another's head; this costs at most a needless `updated`.
    fn announced_head(&self) -> Option<Cursor> {
        let mut announced = self.announced().lock().unwrap_or_else(PoisonError::into_inner);
        let earliest = (0..announced.len()).min_by_key(|at| announced[*at].seq)?;
        Some(announced.swap_remove(earliest))
    }

    /// `subscriptions/listen`: serves one stream until the client cancels it or leaves.
    pub(super) async fn serve_listener(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let since = self.announced_head().map_or_else(|| self.head(), Ok)?;
        let uris: BTreeSet<String> =
            context.accepted().resource_subscriptions.iter().flatten().cloned().collect();
        let count = u32::try_from(uris.len()).unwrap_or(u32::MAX);
        let _held = self.listening().try_acquire_many(count).map_err(|_| too_many())?;
        let subscriber = Subscriber::Listener { sink: context.sink().clone(), uris };
        let mut left = self.left().subscribe();
        tokio::select! {
            () = self.forward(since, &subscriber) => {}
            () = context.cancelled() => {}
            _ = left.wait_for(|left| *left) => {}
        }
        Ok(())
    }

    fn head(&self) -> Result<Cursor, ErrorData> {
        self.with_reads(|reads| {
            let ledger = reads.ledger()?;
            ledger.map(crate::ledger::Reader::head).transpose().map(|head| head.unwrap_or(Cursor::GENESIS))
        })
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    /// Notifies the client of every touched resource until the client is gone.
    async fn forward(&self, since: Cursor, subscriber: &Subscriber) {
        let mut heads = self.heads().follow();
        let mut seen = since;
        let mut due: BTreeMap<String, Instant> = BTreeMap::new();
        let mut sent: BTreeMap<String, Instant> = BTreeMap::new();
        loop {
            let wake = due.values().min().copied();
            tokio::select! {
                changed = heads.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    let head = *heads.borrow_and_update();
                    let Some(uris) = subscriber.uris() else { return };
                    while seen.seq < head {
                        let Some((touched, cursor)) = self.touched_since(seen, &uris) else { break };
                        seen = cursor;
                        for uri in touched {
                            let now = system::instant();
                            let soonest = sent.get(&uri).map_or(now, |last| *last + COALESCE);
                            due.entry(uri).or_insert(soonest.max(now));
                        }
                    }
                }
                () = sleep_until(wake) => {}
            }
            let now = system::instant();
            let ripe: Vec<String> =
                due.iter().filter(|(_, at)| **at <= now).map(|(uri, _)| uri.clone()).collect();
            for uri in ripe {
                due.remove(&uri);
                sent.insert(uri.clone(), now);
                // The client may have unsubscribed in the meantime.
                let Some(wanted) = subscriber.uris() else { return };
                if wanted.contains(&uri) && !subscriber.send(uri).await {
                    return;
                }
            }
        }
    }

    /// The current view of an address. An address of the past never changes and gives `None`.
    fn present(&self, uri: &str) -> Option<View> {
        let address = self.address(uri).ok()?;
        address.moment.is_none().then_some(address.view)
    }

    /// The addresses that the next events touch, and the position after those events; `None` when there are no new
    /// events.
    fn touched_since(&self, seen: Cursor, uris: &BTreeSet<String>) -> Option<(BTreeSet<String>, Cursor)> {
        let views: Vec<(&String, View)> =
            uris.iter().filter_map(|uri| Some((uri, self.present(uri)?))).collect();
        self.with_reads(|reads| {
            let stored = reads.ledger().ok()??.read_from(seen, CHUNK).ok()?;
            let last = stored.last()?.cursor();
            let mut touched = BTreeSet::new();
            for event in stored.iter().filter_map(|stored| stored.recorded().ok()) {
                for (uri, view) in &views {
                    // An error counts as a match: it costs a needless read, and a miss would hide a change.
                    if !touched.contains(*uri) && views::touched_by(reads, view, &event).unwrap_or(true) {
                        touched.insert((*uri).clone());
                    }
                }
            }
            Some((touched, last))
        })
    }
}

async fn sleep_until(wake: Option<Instant>) {
    match wake {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
