//! Middleware that answers a request with an error when it panics. Other requests are not affected.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use rmcp::ErrorData;

/// Runs a request. A panic becomes an internal error of this request alone. The panic message may quote the
/// request, so it goes to the log of the process only.
pub(super) async fn contained<T>(work: impl Future<Output = Result<T, ErrorData>>) -> Result<T, ErrorData> {
    let mut work = pin!(work);
    std::future::poll_fn(|context| {
        // A future is not polled again after it panicked.
        let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context)));
        polled.unwrap_or_else(|_| Poll::Ready(Err(panicked())))
    })
    .await
}

/// The error that the client gets when its request panicked.
pub(super) fn panicked() -> ErrorData {
    let message =
        "the server failed at this request and serves the next: see its standard error, and report it";
    ErrorData::internal_error(message, None)
}

#[cfg(test)]
mod tests {
    use rmcp::handler::server::router::tool::{ToolRoute, ToolRouter};
    use rmcp::handler::server::tool::ToolCallContext;
    use rmcp::model::{CallToolRequestParams, JsonObject, ReadResourceRequestParams, Tool};
    use rmcp::service::RoleClient;
    use rmcp::{Peer, ServiceExt};

    use crate::config::Config;
    use crate::domain::agent::Roster;
    use crate::identity::Caller;
    use crate::mcp::server::Server;
    use crate::mcp::tools::Toolsets;
    use crate::reads::Reads;
    use crate::workspace::Workspace;
    use crate::writer::Front;

    /// Calls a tool without arguments; returns the answer, or the code of the error.
    async fn call(client: &Peer<RoleClient>, tool: &'static str) -> Result<bool, i32> {
        let answer = client.call_tool(CallToolRequestParams::new(tool)).await;
        answer.map(|result| result.is_error == Some(true)).map_err(|error| {
            let rmcp::ServiceError::McpError(error) = error else { panic!("{error}") };
            error.code.0
        })
    }

    #[tokio::test]
    async fn a_call_that_panics_is_answered_and_so_is_the_next() {
        let dir = tempfile::tempdir().expect("a directory");
        let workspace =
            Workspace::init(dir.path(), &crate::system::Environment::read()).expect("a workspace");
        let session = "s".parse().expect("a session");
        let caller = Caller::new(Roster::default(), Some("devops"), session).expect("a caller");
        let config = Config::load(&dir.path().join("none")).expect("the defaults");
        let front = Front::new(workspace.clone(), "no-writer".into());
        let route = |name: &'static str, fails: fn() -> bool| {
            ToolRoute::new_dyn(
                Tool::new(name, "", JsonObject::new()),
                move |_: ToolCallContext<'_, Server>| {
                    Box::pin(async move {
                        // The panic must also be caught after an await point.
                        tokio::task::yield_now().await;
                        assert!(!fails(), "a defect");
                        Ok(rmcp::model::CallToolResult::success(Vec::new()).into())
                    })
                },
            )
        };
        let tools =
            ToolRouter::new().with_route(route("panics", || true)).with_route(route("answers", || false));
        let server = Server::new(caller, config, front, Reads::of(workspace), &Toolsets::default());
        let server = server.offering(tools);
        let (near, far) = tokio::io::duplex(1 << 16);
        let serving =
            tokio::spawn(async move { server.serve(far).await.expect("a session").waiting().await });
        let client = ().serve(near).await.expect("a client");
        for _ in 0..2 {
            assert_eq!(call(client.peer(), "panics").await, Err(-32603));
            assert_eq!(call(client.peer(), "answers").await, Ok(false));
        }
        let status = client.peer().read_resource(ReadResourceRequestParams::new("hivemind://agents")).await;
        assert!(status.is_ok(), "{status:?}");
        client.cancel().await.expect("the client leaves");
        serving.await.expect("the server ends").expect("in order");
    }
}
