//! Subscriptions in both versions of the protocol. Each new event is matched against the subscribed resources; a
//! match sends `updated`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use rmcp::ErrorData;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RoleServer, SubscriptionContext, SubscriptionSink};

use super::server::{Client, Server};
use crate::domain::claim::ClaimType;
use crate::domain::event::{Event, Recorded, ScopesLocked, ScopesReleased};
use crate::domain::ids::{ClaimId, SessionId};
use crate::domain::scope::Scope;
use crate::ledger::Cursor;
use crate::reads::Reads;
use crate::store::ClaimFilter;
use crate::system;
use crate::views::{ContextOf, View, ViewError};

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
                    if !touched.contains(*uri) && touches(reads, view, &event).unwrap_or(true) {
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

/// Whether an event locks or frees a scope of a claim. The claim's page shows that.
fn is_locked(reads: &mut Reads, claim: ClaimId, event: &Event) -> Result<bool, ViewError> {
    let (Event::ScopesLocked(ScopesLocked { scopes, .. })
    | Event::ScopesReleased(ScopesReleased { scopes, .. })) = event
    else {
        return Ok(false);
    };
    let Some(store) = reads.store()? else { return Ok(true) };
    let about = store.claim(claim)?.map(|claim| claim.summary.scopes).unwrap_or_default();
    let about: Vec<Scope> = about.iter().filter_map(|scope| scope.parse().ok()).collect();
    Ok(scopes.iter().any(|scope| scope.is_at(&about)))
}

/// Whether an event changes the context of a session. An event of a new type changes it, because most types do.
fn changes_context(of: &ContextOf, recorded: &Recorded, event: &Event) -> bool {
    let is_in_none = matches!(
        event,
        Event::ToolUsed(_)
            | Event::CommandRan(_)
            | Event::GuardFired(_)
            | Event::SpoolFlushed(_)
            | Event::ResearcherSpawned(_)
            | Event::MessageSent(_)
            | Event::OperatorOverridden(_)
            | Event::PolicyChanged(_)
            | Event::AttentionSeen(_)
            | Event::MemoryDenied(_)
    );
    let is_in_its_own = matches!(
        event,
        Event::FileEdited(_)
            | Event::TurnRecorded(_)
            | Event::SessionStarted(_)
            | Event::AgentSeated(_)
            | Event::SessionEnded(_)
    );
    if is_in_its_own {
        recorded.session.as_ref().map(SessionId::as_str) == of.session.as_deref()
    } else if matches!(event, Event::CommandRejected(_)) {
        recorded.agent == of.agent
    } else {
        !is_in_none
    }
}

/// Whether an event changes what a view shows.
fn touches(reads: &mut Reads, view: &View, recorded: &Recorded) -> Result<bool, ViewError> {
    let Some(event) = &recorded.event else { return Ok(true) };
    if matches!(event, Event::EventRedacted(_)) {
        // The erased text is gone, so any view may have shown it.
        return Ok(true);
    }
    let claims = event.claims();
    let any_claim = |reads: &mut Reads, filter: &ClaimFilter| -> Result<bool, ViewError> {
        let Some(store) = reads.store()? else { return Ok(true) };
        for id in &claims {
            let wanted = ClaimFilter { id: Some(*id), limit: 1, ..filter.clone() };
            if !store.claims(&wanted)?.claims.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    };
    match view {
        View::Claim(id) => Ok(claims.contains(id) || is_locked(reads, *id, event)?),
        View::Claims(filter) => {
            // A claim that this event takes out of the filter was in the list before.
            let shown = ClaimFilter { status: Vec::new(), in_force: false, before: None, ..filter.clone() };
            any_claim(reads, &shown)
        }
        View::Search(search) => {
            let Some(store) = reads.store()? else { return Ok(true) };
            for id in &claims {
                if store.may_answer(search, *id)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        View::Decisions(_) => {
            let claim_type = Some(ClaimType::Decision);
            any_claim(reads, &ClaimFilter { claim_type, ..ClaimFilter::default() })
        }
        View::Contradictions(_) => {
            Ok(matches!(event, Event::ContradictionDetected(_) | Event::ContradictionResolved(_)))
        }
        View::Contradiction(id) => {
            let Some(store) = reads.store()? else { return Ok(true) };
            let sides = store.contradiction(*id)?.map(|both| [both.left.claim_id, both.right.claim_id]);
            let changed = event.claims();
            Ok(sides.iter().flatten().any(|side| changed.contains(side)))
        }
        View::Experiments(_) => Ok(event.run_id().is_some()),
        View::Experiment(id) | View::Output(id, _) => Ok(event.run_id() == Some(*id)),
        // Profiles are files of the project; no event reports their change.
        View::Profiles => Ok(false),
        View::Targets => {
            Ok(matches!(event, Event::TargetAliased(_) | Event::TargetParted(_) | Event::ClaimCreated(_)))
        }
        View::Negative(scope, _) => {
            let claim_type = Some(ClaimType::Negative);
            any_claim(reads, &ClaimFilter { claim_type, scope: scope.clone(), ..ClaimFilter::default() })
        }
        View::Context(of) | View::Explained(of, _) => Ok(changes_context(of, recorded, event)),
        // Changes by time alone, such as the end of a lease, are notified when the writer records them.
        View::Attention(_) => Ok(event.run_id().is_some()
            || matches!(
                event,
                Event::ContradictionDetected(_)
                    | Event::ContradictionResolved(_)
                    | Event::StatusChanged(_)
                    | Event::TaskClaimed(_)
                    | Event::TaskReleased(_)
                    | Event::TaskUpdated(_)
                    | Event::CommandRejected(_)
                    | Event::OverrideProposed(_)
                    | Event::OverrideDismissed(_)
                    | Event::SessionEnded(_)
                    | Event::PositionTaken(_)
                    | Event::PolicyChanged(_)
                    | Event::AttentionSeen(_)
            )
            || matches!(event, Event::ClaimCreated(made) if !made.asks.is_empty())
            || matches!(event, Event::ClaimSuperseded(link) if !link.asks.is_empty())),
        View::Events(filter) => Ok(filter.kind.as_deref().is_none_or(|kind| kind == event.kind())
            && filter.agent.as_ref().is_none_or(|agent| *agent == recorded.agent)),
        View::Task(id) => Ok(event.task_id() == Some(*id)),
        View::Plan(_) | View::ReadyTasks | View::Tasks(_) | View::Locks => Ok(event.task_id().is_some()
            || matches!(
                event,
                Event::ScopesLocked(_)
                    | Event::ScopesReleased(_)
                    | Event::PlanAdded(_)
                    | Event::PhaseAdded(_)
                    | Event::PlanAbandoned(_)
                    | Event::PlanRenamed(_)
                    | Event::IntentDeclared(_)
                    | Event::SessionEnded(_)
                    | Event::SessionSplit(_)
                    | Event::Turn0Continued(_)
            )),
        View::Sessions(..) => Ok(matches!(
            event,
            Event::SessionStarted(_)
                | Event::AgentSeated(_)
                | Event::SessionEnded(_)
                | Event::SessionSplit(_)
        )),
        View::Session(id) => {
            let of_it = |session: &SessionId| session.as_str() == id;
            Ok(recorded.session.as_ref().is_some_and(of_it)
                // The run may belong to a researcher that this agent sent out.
                || event.run_id().is_some()
                || event.task_id().is_some()
                || event.about().session.is_some_and(of_it))
        }
        View::Turn0(id) => Ok(matches!(event, Event::SessionSplit(split) if split.child.as_str() == id)),
        View::Anchors => Ok(matches!(event, Event::AnchorSaved(_) | Event::AnchorRetired(_))),
        View::Beliefs(agent, _) => {
            Ok(matches!(event, Event::BeliefsSnapshotted(snapshot) if snapshot.agent == *agent))
        }
        View::Agents | View::Status => Ok(true),
        View::Event(_) => Ok(false),
    }
}
