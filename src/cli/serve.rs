//! `hm serve`: serves MCP to one pane over stdio, or to many over HTTP.

use std::net::SocketAddr;

use clap::Args;
use serde_json::json;

use super::output::{self, Failure};
use super::{Context, block_on};
use crate::client_session::ClientSession;
use crate::domain::agent::AgentId;
use crate::mcp::{self, HttpError, HttpFront, HttpOptions, Server, Toolsets};
use crate::system;
use crate::tokens::Tokens;
use crate::web::{self, Memory};

#[derive(Debug, Args)]
pub(super) struct Serve {
    /// Serve many clients over Streamable HTTP at /mcp, and the pages of hm web at /web/; off 127.0.0.1 only with tokens
    /// (hm token add)
    #[arg(long, value_name = "ADDRESS:PORT")]
    http: Option<SocketAddr>,
    /// Additional host name that clients may use, such as that of a proxy
    #[arg(long, value_name = "NAME", requires = "http")]
    allow_host: Vec<String>,
    /// Use the `agent` argument of each call as the speaker: for a host that runs many agents over one server
    #[arg(long)]
    any_agent: bool,
    /// Tools to offer: core, plan, session, guard, read or all, several with commas
    #[arg(long, value_name = "SETS", default_value = "core")]
    toolsets: Toolsets,
    /// Also serve HTTP+SSE at /sse, for older clients (`"type": "sse"`)
    #[arg(long, requires = "http")]
    legacy_sse: bool,
}

impl Serve {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        let mut caller = context
            .caller_in(context.own_session())?
            .seated_by(context.config.clients.clone(), context.workspace.worktree().as_ref());
        if self.any_agent {
            if let Some(pinned) = caller.pinned() {
                let told = format!(
                    "--any-agent speaks for many, and this pane is pinned to {pinned}: drop one of the two"
                );
                return Err(Failure::usage(told));
            }
            caller = caller.for_any_agent();
        }
        if self.any_agent || self.http.is_some() {
            context.refuse_server_for_many()?;
        }
        // A client that starts a server is not a human, even if its settings name the pane `operator`.
        if caller.pinned() == Some(&AgentId::operator()) {
            context.human("serve")?;
        }
        // `HM_SESSION` takes precedence over the session that the client names.
        let is_told = context.environment.own_session.is_some() || context.researcher_session().is_some();
        // A server of many clients has no session or task of its own.
        if self.http.is_none() {
            caller = caller.at_work_on(context.task()?);
            caller = match system::parent_process() {
                _ if is_told => caller.in_told_session(),
                Some(client) => {
                    caller.of_client(ClientSession::of(&context.workspace, context.pane_process(client)))
                }
                None => caller,
            };
        }
        if !self.any_agent && self.http.is_none() {
            let client = system::parent_process().map(|client| context.pane_process(client));
            caller = context.below_panes(caller, client).in_process(system::client_of_pane());
        }
        // The clients of one person's server may be other people's.
        let user = context.user().filter(|_| self.http.is_none());
        let reads = context.present().seen_by(user);
        let server = Server::new(caller, context.config.clone(), context.front()?, reads, &self.toolsets);
        match self.http {
            Some(address) => self.serve_http(context, address, server),
            None => block_on(async {
                let served = mcp::serve_stdio(server.clone()).await.map_err(Failure::internal);
                server.farewell().await;
                served
            }),
        }
    }

    fn serve_http(&self, context: &Context, address: SocketAddr, server: Server) -> Result<(), Failure> {
        let pages = Memory {
            workspace: context.workspace.clone(),
            config: context.config.clone(),
            state_home: context.environment.state_home.clone(),
            // A token belongs to an agent, so nobody sees the space of a person here.
            user: None,
            acts: Some(std::env::current_exe().map_err(Failure::internal)?),
        };
        // Several threads, so that a slow read of one pane does not delay the others.
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        runtime.map_err(Failure::internal)?.block_on(async {
            let tokens = Tokens::of(&context.workspace);
            let options = HttpOptions { allowed_hosts: self.allow_host.clone(), legacy_sse: self.legacy_sse };
            let front = HttpFront::bind(address, &options, server, tokens).await?;
            let pages = web::behind(front.gate(), pages);
            let front = front.with_pages(pages);
            let url = front.url();
            let mut text = format!("serving MCP at {url}\n");
            let mut json = json!({ "url": url });
            if let Some(pages_url) = front.pages_url() {
                text.push_str(&format!("and pages for people at {pages_url}\n"));
                json["pages_url"] = pages_url.into();
            }
            if let Some(sse_url) = front.sse_url() {
                text.push_str(&format!("and over HTTP+SSE at {sse_url}\n"));
                json["sse_url"] = sse_url.into();
            }
            output::print(context.global.json, &text, &json)?;
            front.serve().await.map_err(Failure::internal)
        })
    }
}

impl From<HttpError> for Failure {
    fn from(error: HttpError) -> Self {
        match error {
            HttpError::NoToken(_) | HttpError::Listen { .. } => Self::usage(error),
            HttpError::Tokens(error) => error.into(),
        }
    }
}
