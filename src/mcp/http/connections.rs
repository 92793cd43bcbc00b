//! At most so many connections, none of them idle for long.

use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep};

/// Connections at once (spec 10).
const CONNECTIONS: usize = 64;
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

/// The places there are.
#[derive(Clone)]
pub(super) struct Places(Arc<Semaphore>);

impl Places {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(CONNECTIONS)))
    }

    /// Whether nobody should keep one without need.
    pub(super) fn are_scarce(&self) -> bool {
        self.0.available_permits() <= SCARCE
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
            match Arc::clone(&self.places.0).try_acquire_owned() {
                Ok(permit) => return (Connection::new(stream, permit), peer),
                Err(_) => drop(tokio::spawn(turn_away(stream))),
            }
        }
    }

    fn local_addr(&self) -> Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// Where a request came from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub(super) SocketAddr);

impl Connected<IncomingStream<'_, Limited>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Limited>) -> Self {
        Self(*stream.remote_addr())
    }
}

/// A connection that ends when nothing passes for too long, and then frees its place.
pub(super) struct Connection {
    stream: TcpStream,
    idle: Pin<Box<Sleep>>,
    _permit: OwnedSemaphorePermit,
}

impl Connection {
    fn new(stream: TcpStream, permit: OwnedSemaphorePermit) -> Self {
        // Answers are small and waited for.
        let _ = stream.set_nodelay(true);
        Self { stream, idle: Box::pin(tokio::time::sleep(IDLE)), _permit: permit }
    }

    /// Counts what passed, and ends the connection when that was long ago.
    fn watched<T>(&mut self, context: &mut Context<'_>, passed: Poll<Result<T>>) -> Poll<Result<T>> {
        if passed.is_ready() {
            let until = Instant::from_std(crate::system::instant()) + IDLE;
            self.idle.as_mut().reset(until);
            return passed;
        }
        self.idle.as_mut().poll(context).map(|()| Err(Error::from(ErrorKind::TimedOut)))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
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
