//! Reads the whole body of a request within a time limit, before any handler sees it.

use std::time::Duration;

use axum::body::Body;
use axum::http::header;
use axum::http::request::Parts;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest};
use serde_json::Value;
use tokio_stream::StreamExt;

use super::door::Refusal;
use super::entrances::MAX_BODY_BYTES;

/// Time limit for the body of a request. A slower sender would keep a place from others.
const BODY_WITHIN: Duration = Duration::from_secs(30);

/// Reads a whole body.
///
/// # Errors
/// [`Refusal`] when the body is late, too long or broken.
pub(super) async fn read(body: Body) -> Result<Vec<u8>, Refusal> {
    let reading = async {
        let (mut bytes, mut frames) = (Vec::new(), body.into_data_stream());
        while let Some(frame) = frames.next().await {
            let frame = frame.map_err(|_| Refusal::BrokenBody)?;
            if frame.len() > MAX_BODY_BYTES - bytes.len() {
                return Err(Refusal::LongBody);
            }
            bytes.extend_from_slice(&frame);
        }
        Ok(bytes)
    };
    tokio::time::timeout(BODY_WITHIN, reading).await.unwrap_or(Err(Refusal::LateBody))
}

/// Whether the content type of a request is JSON.
pub(super) fn is_json(parts: &Parts) -> bool {
    let kind =
        parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// Parses a body as a JSON-RPC message.
///
/// # Errors
/// [`Refusal::NoJson`] and [`Refusal::NoMessage`].
pub(super) fn message(bytes: &[u8]) -> Result<ClientJsonRpcMessage, Refusal> {
    serde_json::from_slice(bytes).map_err(|_| match serde_json::from_slice::<Value>(bytes) {
        Ok(mut value) => {
            let id = value.get_mut("id").map(Value::take);
            Refusal::NoMessage(id.filter(|id| id.is_string() || id.is_number()).unwrap_or_default())
        }
        Err(_) => Refusal::NoJson,
    })
}

/// Whether a message opens a session of the legacy protocol.
pub(super) fn opens_session(message: &ClientJsonRpcMessage) -> bool {
    matches!(request(message), Some(ClientRequest::InitializeRequest(_)))
}

/// Whether the answer to a message is a stream that lasts until the client leaves.
pub(super) fn listens(message: &ClientJsonRpcMessage) -> bool {
    matches!(request(message), Some(ClientRequest::SubscriptionsListenRequest(_)))
}

fn request(message: &ClientJsonRpcMessage) -> Option<&ClientRequest> {
    let ClientJsonRpcMessage::Request(request) = message else { return None };
    Some(&request.request)
}
