//! At most so many connections, few of which have shown nothing yet, and none of them slow or idle for long.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::system;

/// Connections at once: each costs a task and its buffers.
const CONNECTIONS: usize = 64;
/// Newcomers at once: connections that have shown no valid token or, where no token is needed, have not
/// completed a request.
const NEWCOMERS: usize = 16;
/// How long a newcomer keeps its place while other connections wait for one. A client sends its request as soon as
/// it is connected, so a crowd of clients loses no connection. A flood waits in the backlog of the socket.
const SETTLE: Duration = Duration::from_millis(250);
/// Event streams at once. Streams and newcomers together leave eight places for requests.
const STREAMS: usize = 40;
/// How long the head of a request may take; a slower sender would hold a place for others.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// How long nothing may pass. An open event stream sends a comment every 15 s, so only the idle are hit.
const IDLE: Duration = Duration::from_secs(60);
/// From so many free places on down, a connection is closed once its request is answered. So at most the
/// rest of the places is taken by clients that neither ask nor listen.
const SCARCE: usize = CONNECTIONS / 2;
/// What one connection too many is told.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\ncontent-type: text/plain\r\n\
    content-length: 60\r\nconnection: close\r\n\r\n\
    64 connections are open: try again, or end a listening pane\n";
/// How long somebody who is turned away has to hear it.
const HEAR_WITHIN: Duration = Duration::from_secs(1);

/// The places there are, and the connections that have them.
#[derive(Clone)]
pub(super) struct Places(Arc<Shared>);

struct Shared {
    seats: Mutex<Seats>,
    /// A place is free, or a newcomer has shown a token.
    changed: Notify,
    streams: Arc<Semaphore>,
}

#[derive(Default)]
struct Seats {
    next: u64,
    /// In the order in which they came.
    taken: BTreeMap<u64, Taken>,
}

struct Taken {
    state: State,
    since: Instant,
    close: CancellationToken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It has shown nothing yet.
    Newcomer,
    /// A request is under way.
    Busy,
    /// Its last request is answered.
    Waiting,
}

/// What a connection that asks for a place gets.
enum Offer {
    Place(Seat),
    /// Nothing before so long, unless something changes.
    Later(Duration),
    /// Every place is taken by a request that is under way.
    Nothing,
}

impl Places {
    pub(super) fn new() -> Self {
        Self(Arc::new(Shared {
            seats: Mutex::default(),
            changed: Notify::new(),
            streams: Arc::new(Semaphore::new(STREAMS)),
        }))
    }

    /// Whether a client that waits should give its place back.
    pub(super) fn are_scarce(&self) -> bool {
        CONNECTIONS.saturating_sub(self.seats().taken.len()) <= SCARCE
    }

    /// The right to keep an event stream open; none when there are as many as there may be.
    pub(super) fn stream(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0.streams).try_acquire_owned().ok()
    }

    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.0.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a new connection, which another may lose for it.
    async fn seat(&self) -> Option<Seat> {
        loop {
            match self.offer(system::instant()) {
                Offer::Place(seat) => return Some(seat),
                Offer::Nothing => return None,
                Offer::Later(wait) => tokio::select! {
                    () = self.0.changed.notified() => {}
                    () = tokio::time::sleep(wait) => {}
                },
            }
        }
    }

    fn offer(&self, now: Instant) -> Offer {
        let mut seats = self.seats();
        let newcomers = || seats.taken.iter().filter(|(_, taken)| taken.state == State::Newcomer);
        let are_many = newcomers().count() >= NEWCOMERS;
        if are_many || seats.taken.len() >= CONNECTIONS {
            let waiting = seats.taken.iter().filter(|(_, taken)| !are_many && taken.state == State::Waiting);
            let longest = waiting.min_by_key(|(_, taken)| taken.since).map(|(number, _)| *number);
            let oldest = newcomers().next().map(|(number, taken)| (*number, taken.since + SETTLE));
            let leaves = match (longest, oldest) {
                (Some(number), _) => number,
                (None, Some((number, settled))) if settled <= now => number,
                (None, Some((_, settled))) => return Offer::Later(settled - now),
                (None, None) => return Offer::Nothing,
            };
            if let Some(taken) = seats.taken.remove(&leaves) {
                taken.close.cancel();
            }
        }
        let number = seats.next;
        seats.next += 1;
        let close = CancellationToken::new();
        seats.taken.insert(number, Taken { state: State::Newcomer, since: now, close: close.clone() });
        Offer::Place(Seat(Arc::new(Taking {
            number,
            places: self.clone(),
            close,
            requests: AtomicU32::new(0),
            is_answering: AtomicBool::new(false),
        })))
    }
}

/// The place of one connection.
#[derive(Clone)]
pub(super) struct Seat(Arc<Taking>);

struct Taking {
    number: u64,
    places: Places,
    close: CancellationToken,
    requests: AtomicU32,
    is_answering: AtomicBool,
}

impl Seat {
    /// A number that no other connection has or had.
    pub(super) fn number(&self) -> u64 {
        self.0.number
    }

    /// How many requests came over this connection before.
    pub(super) fn requests(&self) -> u32 {
        self.0.requests.load(Ordering::Relaxed).saturating_sub(1)
    }

    /// The head of a request has come; its answer ends with the guard.
    pub(super) fn answering(&self) -> Answering {
        self.0.is_answering.store(true, Ordering::Relaxed);
        self.0.requests.fetch_add(1, Ordering::Relaxed);
        self.turn(State::Waiting, State::Busy);
        Answering(self.clone())
    }

    /// The client has shown a valid token, or asked something where none is needed.
    pub(super) fn prove(&self) {
        self.turn(State::Newcomer, State::Busy);
        self.0.places.0.changed.notify_one();
    }

    fn turn(&self, from: State, to: State) {
        let mut seats = self.0.places.seats();
        if let Some(taken) = seats.taken.get_mut(&self.0.number).filter(|taken| taken.state == from) {
            (taken.state, taken.since) = (to, system::instant());
        }
    }

    fn leave(&self) {
        self.0.places.seats().taken.remove(&self.0.number);
        self.0.places.0.changed.notify_one();
    }
}

/// A request that is being answered.
pub(super) struct Answering(Seat);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.0.is_answering.store(false, Ordering::Relaxed);
        self.0.turn(State::Busy, State::Waiting);
    }
}

/// A listener that turns away who comes when there is no place.
pub(super) struct Limited {
    listener: TcpListener,
    places: Places,
}

impl Limited {
    pub(super) fn new(listener: TcpListener, places: Places) -> Self {
        Self { listener, places }
    }
}

/// Says that there is no place. What was asked is read, not answered: a connection that is closed over unread
/// bytes is reset, and its client hears nothing.
async fn turn_away(mut stream: TcpStream) {
    let saying = async {
        stream.write_all(FULL).await?;
        stream.shutdown().await?;
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await
    };
    // Who does not take the answer does not get it.
    let _ = tokio::time::timeout(HEAR_WITHIN, saying).await;
}

impl Listener for Limited {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            let (stream, peer) = Listener::accept(&mut self.listener).await;
            match self.places.seat().await {
                Some(seat) => return (Connection::new(stream, seat), peer),
                None => drop(tokio::spawn(turn_away(stream))),
            }
        }
    }

    fn local_addr(&self) -> Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl Connected<IncomingStream<'_, Limited>> for Seat {
    fn connect_info(stream: IncomingStream<'_, Limited>) -> Self {
        stream.io().seat.clone()
    }
}

/// A connection that ends when nothing passes for too long, when the head of a request takes too long, or when
/// another one needs its place.
pub(super) struct Connection {
    stream: TcpStream,
    idle: Pin<Box<Sleep>>,
    /// The end of the time for the head that is coming in, and which request of the connection it is of.
    head: Option<(Pin<Box<Sleep>>, u32)>,
    closed: Pin<Box<WaitForCancellationFutureOwned>>,
    seat: Seat,
}

impl Connection {
    fn new(stream: TcpStream, seat: Seat) -> Self {
        // Answers are small and waited for.
        let _ = stream.set_nodelay(true);
        Self {
            stream,
            idle: Box::pin(tokio::time::sleep(IDLE)),
            // A client that connects has something to ask.
            head: Some((Box::pin(tokio::time::sleep(HEAD_WITHIN)), 0)),
            closed: Box::pin(seat.0.close.clone().cancelled_owned()),
            seat,
        }
    }

    /// Counts what passed, and ends the connection when that was long ago.
    fn watched<T>(&mut self, context: &mut Context<'_>, passed: Poll<Result<T>>) -> Poll<Result<T>> {
        if passed.is_ready() {
            self.idle.as_mut().reset((system::instant() + IDLE).into());
            return passed;
        }
        self.idle.as_mut().poll(context).map(|()| Err(Error::from(ErrorKind::TimedOut)))
    }

    /// Whether the connection must end whatever its client sends.
    fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        let requests = self.seat.0.requests.load(Ordering::Relaxed);
        // The head that was waited for has come.
        self.head = self.head.take().filter(|(_, before)| *before == requests);
        let is_late = self.head.as_mut().is_some_and(|(end, _)| end.as_mut().poll(context).is_ready());
        is_late || self.closed.as_mut().poll(context).is_ready()
    }

    /// The first bytes after an answer begin the head of the next request.
    fn heard(&mut self) {
        if self.head.is_none() && !self.seat.0.is_answering.load(Ordering::Relaxed) {
            let requests = self.seat.0.requests.load(Ordering::Relaxed);
            self.head = Some((Box::pin(tokio::time::sleep(HEAD_WITHIN)), requests));
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.seat.leave();
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        if self.is_over(context) {
            return Poll::Ready(Err(Error::from(ErrorKind::TimedOut)));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.heard();
        }
        self.watched(context, read)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watched(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
