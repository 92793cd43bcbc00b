//! HTTP+SSE, the transport before Streamable HTTP, for clients that know no newer one. A session is one open stream
//! at `/sse`; its client posts messages to `/messages`.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::{Error, ErrorKind};
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{RoleServer, ServiceExt};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;

use super::{MESSAGES_PATH, ledger_session};
use crate::mcp::server::Server;
use crate::system;

/// The query parameter of `/messages` that names the stream for the answer.
const SESSION: &str = "session_id";
/// Messages buffered in each direction. A full buffer stops the sender.
const UNDER_WAY: usize = 64;

type Said = Result<Event, Infallible>;

/// The open streams of one entrance. A stream id is valid at its own entrance only, so it cannot replace a token.
#[derive(Clone, Default)]
pub(super) struct Streams {
    open: Arc<Mutex<HashMap<String, mpsc::Sender<ClientJsonRpcMessage>>>>,
}

impl Streams {
    /// `GET /sse`: opens a stream for one client. The first event names the address for its messages. The session
    /// ends with the stream, and the stream with `stop`.
    pub(super) async fn open(&self, server: Server, stop: CancellationToken) -> Response {
        let id = system::new_id().simple().to_string();
        let (requests, incoming) = mpsc::channel(UNDER_WAY);
        let (outgoing, events) = mpsc::channel::<Said>(UNDER_WAY);
        let endpoint = Event::default().event("endpoint").data(format!("{MESSAGES_PATH}?{SESSION}={id}"));
        outgoing.send(Ok(endpoint)).await.expect("the other end is in this function");
        self.locked().insert(id.clone(), requests);
        let streams = self.clone();
        tokio::spawn(async move {
            let left = server.left().clone();
            let pipe = Pipe { incoming, outgoing: outgoing.clone() };
            let serving = async {
                // A client that does not complete the handshake has no session to end.
                if let Ok(running) = server.serve(pipe).await {
                    let _ = running.waiting().await;
                }
            };
            tokio::select! {
                () = serving => {}
                () = outgoing.closed() => {}
                () = stop.cancelled() => {}
            }
            left.send_replace(true);
            streams.locked().remove(&id);
        });
        Sse::new(ReceiverStream::new(events)).keep_alive(KeepAlive::default()).into_response()
    }

    /// `POST /messages`: accepts a message; the answer comes on the stream.
    pub(super) async fn hear(&self, parts: &Parts, mut message: ClientJsonRpcMessage) -> Response {
        let id = session_id(parts).unwrap_or_default();
        let Some(requests) = self.locked().get(&id).cloned() else {
            return (StatusCode::NOT_FOUND, "no stream is open under this session_id: open /sse\n")
                .into_response();
        };
        if let Some(session) = ledger_session(&id) {
            message.insert_extension(session);
        }
        match requests.send(message).await {
            Ok(()) => StatusCode::ACCEPTED.into_response(),
            Err(_) => (StatusCode::NOT_FOUND, "the stream has ended: open /sse\n").into_response(),
        }
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, HashMap<String, mpsc::Sender<ClientJsonRpcMessage>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a path allows a method.
pub(super) fn allows(path: &str, method: &Method) -> bool {
    if path == MESSAGES_PATH { method == Method::POST } else { method == Method::GET }
}

fn session_id(parts: &Parts) -> Option<String> {
    let query = parts.uri.query()?;
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs.find(|(name, _)| name == SESSION).map(|(_, id)| id.into_owned())
}

/// The two ends of a stream, as a transport for the protocol library.
struct Pipe {
    incoming: mpsc::Receiver<ClientJsonRpcMessage>,
    outgoing: mpsc::Sender<Said>,
}

impl Transport<RoleServer> for Pipe {
    type Error = Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Error>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        async move {
            let event = Event::default().event("message").data(serde_json::to_string(&message)?);
            outgoing.send(Ok(event)).await.map_err(|_| Error::from(ErrorKind::NotConnected))
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> Result<(), Error> {
        self.incoming.close();
        Ok(())
    }
}
