//! The MCP handler of one client: lists, reads, and passes commands to the writer's front.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse, GetSkillRequestParams,
    GetSkillResult, Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListSkillsResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use serde::Serialize;
use tokio::sync::{Semaphore, watch};
use uuid::Uuid;

use super::contained::{contained, panicked};
use super::heads::Heads;
use super::subscriptions::{Legacy, MAX_SUBSCRIPTIONS};
use super::tools::{self, Toolset, Toolsets, read_memory};
use super::{call, prompts, resources, skills};
use crate::config::Config;
use crate::domain::agent::AgentId;
use crate::domain::ids::SessionId;
use crate::domain::names::Sort;
use crate::domain::rejection::Rejection;
use crate::domain::scope::Scope;
use crate::domain::text::UserName;
use crate::identity::Caller;
use crate::ledger::Cursor;
use crate::reads::Reads;
use crate::session_news::SessionNews;
use crate::views;
use crate::workspace::Workspace;
use crate::writer::Front;

/// Slow reads at a time: a read of the past folds the ledger. Others wait.
const LONG_READS: usize = 4;
/// Read handles kept open; each has a page cache of some MB.
const IDLE_READS: usize = 8;

const INSTRUCTIONS: &str = include_str!("../../prompts/instructions.md");

/// The MCP server of one client. Clones share everything; [`Server::for_client`] shares only the workspace.
#[derive(Debug, Clone)]
pub struct Server {
    shared: Arc<Shared>,
    caller: Arc<Caller>,
    client: Arc<Client>,
}

/// The state that all clients of a process share.
#[derive(Debug)]
struct Shared {
    config: Config,
    front: Front,
    heads: Heads,
    workspace: Workspace,
    state_home: Option<PathBuf>,
    /// The person whose space the clients read and write. None for clients over the network.
    user: Option<UserName>,
    /// Handles that are not in use. A read takes one, or opens one, and returns it here.
    idle_reads: Mutex<Vec<Reads>>,
    /// Permits for slow reads.
    long_reads: Semaphore,
    root: String,
    /// The tools for every client.
    tools: ToolRouter<Server>,
    /// The same tools, and those for clients that cannot read resources.
    all_tools: ToolRouter<Server>,
    /// The session of this process, set at its first write.
    word: OnceLock<SessionId>,
}

/// The state of one client; dropped when its session ends.
#[derive(Debug)]
pub(super) struct Client {
    legacy: Legacy,
    /// Permits for subscriptions of the client's listeners.
    listening: Semaphore,
    announced: Mutex<Vec<Cursor>>,
    left: watch::Sender<bool>,
}

impl Default for Client {
    fn default() -> Self {
        Self {
            legacy: Legacy::default(),
            listening: Semaphore::new(MAX_SUBSCRIPTIONS),
            announced: Mutex::default(),
            left: watch::Sender::default(),
        }
    }
}

impl Client {
    pub(super) const fn legacy(&self) -> &Legacy {
        &self.legacy
    }
}

impl Server {
    /// A server for one caller of a workspace, with these toolsets.
    pub fn new(caller: Caller, config: Config, front: Front, reads: Reads, toolsets: &Toolsets) -> Self {
        let workspace = reads.workspace().clone();
        let state_home = reads.state_home().map(Path::to_owned);
        let user = reads.user().cloned();
        let shared = Shared {
            config,
            heads: Heads::of(front.clone()),
            front,
            root: workspace.root().display().to_string(),
            workspace,
            state_home,
            user,
            idle_reads: Mutex::new(vec![reads.lasting()]),
            long_reads: Semaphore::new(LONG_READS),
            tools: toolsets.tools(),
            all_tools: toolsets.tools() + Toolset::Read.tools(),
            word: OnceLock::new(),
        };
        Self { shared: Arc::new(shared), caller: Arc::new(caller), client: Arc::default() }
    }

    /// A server of the same workspace for another client.
    pub(super) fn for_client(&self, caller: Arc<Caller>) -> Self {
        Self { shared: Arc::clone(&self.shared), caller, client: Arc::default() }
    }

    pub(super) const fn caller(&self) -> &Arc<Caller> {
        &self.caller
    }

    pub(super) const fn client(&self) -> &Arc<Client> {
        &self.client
    }

    pub(super) fn config(&self) -> &Config {
        &self.shared.config
    }

    pub(super) fn front(&self) -> &Front {
        &self.shared.front
    }

    pub(super) fn tools(&self) -> &ToolRouter<Self> {
        &self.shared.tools
    }

    /// The tools for a client. A client whose model cannot read resources gets a tool for that.
    fn tools_for(&self, context: &RequestContext<RoleServer>) -> &ToolRouter<Self> {
        let needs_to_read = call::client_of(context).is_some_and(|client| read_memory::is_needed(&client));
        if needs_to_read { &self.shared.all_tools } else { &self.shared.tools }
    }

    pub(super) fn word(&self) -> &OnceLock<SessionId> {
        &self.shared.word
    }

    pub(super) fn workspace(&self) -> &Workspace {
        &self.shared.workspace
    }

    pub(super) fn root(&self) -> String {
        self.shared.root.clone()
    }

    pub(super) fn legacy(&self) -> &Legacy {
        &self.client.legacy
    }

    /// Permits for subscriptions of this client's listeners.
    pub(super) fn listening(&self) -> &Semaphore {
        &self.client.listening
    }

    pub(super) fn user(&self) -> Option<&UserName> {
        self.shared.user.as_ref()
    }

    pub(super) fn announced(&self) -> &Mutex<Vec<Cursor>> {
        &self.client.announced
    }

    /// Becomes true when the client has left.
    pub(super) fn left(&self) -> &watch::Sender<bool> {
        &self.client.left
    }

    pub(super) fn heads(&self) -> &Heads {
        &self.shared.heads
    }

    /// Asks a question with a read handle of its own, so that clients do not wait for each other.
    pub(super) fn with_reads<T>(&self, question: impl FnOnce(&mut Reads) -> T) -> T {
        let idle = || self.shared.idle_reads.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = idle().pop();
        let mut reads = taken.unwrap_or_else(|| {
            let reads = Reads::of(self.shared.workspace.clone()).knowing(self.shared.state_home.clone());
            reads.seen_by(self.shared.user.clone()).lasting()
        });
        let answer = question(&mut reads);
        let mut idle = idle();
        if idle.len() < IDLE_READS {
            idle.push(reads);
        }
        answer
    }

    /// Like [`Self::with_reads`], for slow reads; it runs off the threads that serve requests.
    ///
    /// # Errors
    /// [`panicked`] when the question panics.
    pub(super) async fn with_long_reads<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Self, &mut Reads) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let _place = self.shared.long_reads.acquire().await.expect("nobody closes this semaphore");
        let server = self.clone();
        let asking = tokio::task::spawn_blocking(move || server.with_reads(|reads| question(&server, reads)));
        asking.await.map_err(|_| panicked())
    }

    /// Marks entries as shown to the client's session, so that they are no news to it any more.
    pub(super) fn opened(&self, ids: &[String], as_of: u64, session: &SessionId) {
        if let Some(state_home) = self.shared.state_home.as_deref().filter(|_| !ids.is_empty()) {
            // If this fails, the session gets the entry a second time.
            let _ = SessionNews::of(state_home, &self.shared.workspace, session).open(ids, as_of);
        }
    }

    /// Answers a request whose error may quote the request. When the request holds a secret, the error names the
    /// rule that found it instead. A panic becomes an internal error of this request alone.
    async fn respond<T>(
        &self,
        method: &str,
        asked: impl Serialize,
        work: impl Future<Output = Result<T, ErrorData>>,
    ) -> Result<T, ErrorData> {
        let answer = contained(work).await;
        answer.map_err(|error| match call::denial(self.front(), method, asked) {
            Some(denial) => ErrorData::new(error.code, Rejection::from(denial).to_string(), None),
            None => ErrorData { message: self.shortened(&error.message).into(), ..error },
        })
    }

    /// Resolves a name, an id or the end of an id.
    pub(super) fn named(&self, sort: Sort, text: &str) -> Result<Uuid, Rejection> {
        self.with_reads(|reads| views::resolve(reads, sort, text))
    }

    /// The scopes of an argument, in normal form.
    pub(super) fn scopes(&self, argument: &str, given: &[String]) -> Result<Vec<Scope>, Rejection> {
        let scopes: Result<BTreeSet<Scope>, _> =
            given.iter().map(|scope| self.shared.workspace.scope(scope)).collect();
        scopes.map(Vec::from_iter).map_err(|problem| Rejection::invalid(argument, problem))
    }

    /// The scopes of an argument about files, each with the path through a link by which it was given.
    pub(super) fn scopes_and_links(&self, argument: &str, given: &[String]) -> Result<Vec<Scope>, Rejection> {
        let workspace = &self.shared.workspace;
        let scopes = workspace.scopes_and_links(workspace.root(), given);
        let scopes: BTreeSet<Scope> =
            scopes.map_err(|problem| Rejection::invalid(argument, problem))?.into_iter().collect();
        Ok(scopes.into_iter().collect())
    }

    /// The agents of an argument.
    pub(super) fn agents(&self, argument: &str, given: &[String]) -> Result<Vec<AgentId>, Rejection> {
        let resolved = given.iter().map(|name| self.caller().roster().resolve(name));
        resolved.collect::<Result<_, _>>().map_err(|unknown| Rejection::invalid(argument, unknown))
    }
}

#[cfg(test)]
impl Server {
    /// The same server with other tools. Must be called before the server is cloned.
    pub(super) fn offering(self, tools: ToolRouter<Self>) -> Self {
        let shared = Arc::into_inner(self.shared).expect("one owner");
        Self { shared: Arc::new(Shared { all_tools: tools.clone(), tools, ..shared }), ..self }
    }
}

/// Checks that a list request has no cursor: every list fits one page, because some clients never read a second
/// one.
fn only_page(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    // An empty cursor counts as left out, as in all arguments.
    match request.and_then(|request| request.cursor).filter(|cursor| !cursor.is_empty()) {
        None => Ok(()),
        Some(_) => {
            Err(ErrorData::invalid_params("no cursor was given out: the first page is the whole list", None))
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_prompts()
            .enable_completions()
            .enable_skills()
            .build();
        let implementation = Implementation::new("hivemind", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities)
            .with_server_info(implementation)
            .with_instructions(format!("{INSTRUCTIONS}\n{}\n", self.who_reads()))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        only_page(request)?;
        Ok(ListToolsResult::with_all_items(self.tools_for(&context).list_all()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.shared.all_tools.get(name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Err(rejection) = self.caller.may_call(&request.name, tools::role_for(&request.name)) {
            let denial = call::denial(self.front(), "tools/call", &request.name);
            return Ok(call::refused(&denial.map_or(rejection, Rejection::from)).into());
        }
        let tools = self.tools_for(&context);
        let called = contained(tools.call(ToolCallContext::new(self, request, context))).await;
        called.map(|answer| self.named_answer(answer, &|tool| tools.get(tool).is_some()))
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        only_page(request)?;
        Ok(ListResourcesResult::with_all_items(resources::listed()))
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        only_page(request)?;
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.as_str();
        if uri.starts_with(skills::SCHEME) {
            let file = async { self.skill_file(uri).await.map(Into::into) };
            return self.respond("resources/read", uri, file).await;
        }
        let session = self.caller.session_unless(call::session_of(&context));
        self.respond("resources/read", uri, async { self.read(uri, &session).await.map(Into::into) }).await
    }

    async fn list_skills(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        only_page(request)?;
        Ok(ListSkillsResult::with_all_items(self.skills().await?))
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        let uri = request.uri.as_str();
        self.respond("skills/get", uri, async { self.skill(uri).await.map(GetSkillResult::new) }).await
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        only_page(request)?;
        Ok(ListPromptsResult::with_all_items(prompts::listed()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let session = self.caller.session_unless(call::session_of(&context));
        let work = async { self.prompt(&request.name, request.arguments.as_ref(), session).map(Into::into) };
        self.respond("prompts/get", &request, work).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.respond("completion/complete", &request, async { self.completion(&request) }).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let uri = request.uri.as_str();
        let work = async { self.subscribe_legacy(uri, context.peer) };
        self.respond("resources/subscribe", uri, work).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.legacy().remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut accepted = requested.clone();
        if let Some(uris) = &mut accepted.resource_subscriptions {
            uris.retain(|uri| self.address(uri).is_ok());
            // The acknowledgment names the addresses that remain.
            uris.truncate(MAX_SUBSCRIPTIONS);
        }
        self.announce_listener();
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        contained(self.serve_listener(context)).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method.as_str();
        let unknown = async { Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method.to_owned(), None)) };
        self.respond("request", method, unknown).await
    }
}
