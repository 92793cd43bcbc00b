//! Serves over stdin and stdout, and notices at once when the client leaves.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;

use super::server::Server;

/// Why serving ended.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The client did not complete the handshake.
    #[error("the client did not start a session: {0}")]
    Handshake(#[from] Box<ServerInitializeError>),
    /// The serving task failed.
    #[error("serving failed: {0}")]
    Task(#[from] tokio::task::JoinError),
}

/// Serves one client over stdin and stdout until it leaves.
pub async fn serve_stdio(server: Server) -> Result<(), ServerError> {
    let (stdin, stdout) = rmcp::transport::stdio_pipes();
    let input = Input { stdin, left: server.left().clone() };
    match server.serve((input, stdout)).await {
        Ok(running) => {
            running.waiting().await?;
            Ok(())
        }
        // The client closed the connection before the handshake.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(Box::new(error).into()),
    }
}

/// Standard input that reports its end. The protocol library waits five seconds for open answers, and a
/// subscription stays open for its whole life. Without this type, a server with a subscription outlives its client
/// by five seconds.
struct Input<R> {
    stdin: R,
    left: watch::Sender<bool>,
}

impl<R: AsyncRead + Unpin> AsyncRead for Input<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.stdin).poll_read(context, buffer));
        if read.is_err() || (buffer.filled().len() == before && buffer.remaining() > 0) {
            self.left.send_replace(true);
        }
        Poll::Ready(read)
    }
}
