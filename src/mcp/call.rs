//! One tool call: parses the arguments into types, builds the command, submits it and returns the receipt.

use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::handler::server::common::FromContextPart;
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, RequestMetaObject, ResourceContents, Tool};
use rmcp::service::RequestContext;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::following::Waiting;
use super::http;
use super::server::Server;
use super::tools::read_memory::ReadMemoryArguments;
use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::clean;
use crate::domain::command::{Command, Submission};
use crate::domain::ids::{CommandId, IdempotencyKey, SessionId, TraceId};
use crate::domain::privacy::{self, Denial, Secrets};
use crate::domain::receipt::{Receipt, Warning, WarningCode};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::texts::each_text;
use crate::domain::versions::Versions;
use crate::hooks::Client;
use crate::identity::Speaker;
use crate::system;
use crate::views;
use crate::writer::Front;

/// A tool call as the client sent it.
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) arguments: JsonObject,
    trace_id: Option<TraceId>,
    session: Option<SessionId>,
    client: Option<String>,
    pub(super) request: Waiting,
}

impl Call {
    /// Whether an argument is `true`. A value of another type is reported by the parser.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.arguments.get(name).and_then(Value::as_bool).unwrap_or(false)
    }
}

impl FromContextPart<ToolCallContext<'_, Server>> for Call {
    fn from_context_part(context: &mut ToolCallContext<'_, Server>) -> Result<Self, ErrorData> {
        let traceparent = context.request_context.meta.0.get("traceparent").and_then(Value::as_str);
        Ok(Self {
            tool: context.name.to_string(),
            arguments: context.arguments.take().unwrap_or_default(),
            trace_id: traceparent.and_then(TraceId::of_traceparent),
            session: session_of(&context.request_context),
            client: client_of(&context.request_context),
            request: Waiting {
                peer: context.request_context.peer.clone(),
                cancelled: context.request_context.ct.clone(),
                progress: context.request_context.meta.get_progress_token(),
            },
        })
    }
}

/// The session of a request, if its client names one.
pub(super) fn session_of(request: &RequestContext<RoleServer>) -> Option<SessionId> {
    let is_codex = || client_of(request).is_some_and(|name| Client::named(&name) == Some(Client::Codex));
    let named = session_in(&request.meta).filter(|_| is_codex());
    named.or_else(|| http::session_of(&request.extensions))
}

/// The session that Codex names in each call. Codex tells its server the session in no other way. Its hooks name
/// the same session, also in a subagent. The field is ignored when another client sends it.
fn session_in(meta: &RequestMetaObject) -> Option<SessionId> {
    meta.0.get("x-codex-turn-metadata")?.get("session_id")?.as_str()?.parse().ok()
}

/// The name that the client gives itself: in each request (modern protocol), or in the handshake (legacy protocol).
pub(super) fn client_of(request: &RequestContext<RoleServer>) -> Option<String> {
    let from_handshake = || request.peer.peer_info().map(|info| info.client_info.name.clone());
    request.meta.client_info().map(|client| client.name).or_else(from_handshake)
}

/// The caller of a tool, and the id for the entity that the call creates.
pub(super) struct Asker {
    pub(super) id: Uuid,
    pub(super) agent: AgentId,
    pub(super) session: SessionId,
}

/// The arguments that every tool takes besides its own.
#[derive(Deserialize)]
struct Common {
    agent: Option<String>,
    session: Option<SessionId>,
    idempotency_key: Option<IdempotencyKey>,
}

impl Server {
    /// Runs a call: parses the arguments as `T`, and `build` makes the command from them and a fresh id for the
    /// entity that the command creates.
    pub(super) async fn run<T: DeserializeOwned>(
        &self,
        call: Call,
        build: impl FnOnce(T, Uuid) -> Result<Command, Rejection>,
    ) -> CallToolResult {
        self.run_as(call, |given, asker| build(given, asker.id)).await
    }

    /// Like [`Self::run`], for a command that also depends on the caller.
    pub(super) async fn run_as<T: DeserializeOwned>(
        &self,
        call: Call,
        build: impl FnOnce(T, &Asker) -> Result<Command, Rejection>,
    ) -> CallToolResult {
        let tool = call.tool.clone();
        match self.submit(call, build).await {
            Ok(receipt) => accepted(&tool, &receipt),
            Err(rejection) => refused(&rejection),
        }
    }

    pub(super) async fn submit<T: DeserializeOwned>(
        &self,
        mut call: Call,
        build: impl FnOnce(T, &Asker) -> Result<Command, Rejection>,
    ) -> Result<Receipt, Rejection> {
        let unknown = unknown_arguments(self.tools().get(&call.tool), &call);
        let prepared = self.asking(&mut call).and_then(|told| Ok((self.submission(&call, build)?, told)));
        let (submission, told) = match prepared {
            Ok(prepared) => prepared,
            Err(rejection) => return Err(self.guarded(&call, rejection).await),
        };
        let (agent, session) = (submission.agent.clone(), submission.session.clone());
        let mut receipt = self.front().submit(submission).await?;
        receipt.warnings.extend(told);
        receipt.warnings.extend(unknown);
        self.with_reads(|reads| views::mark_at_now(reads, &mut receipt, Some(&agent), system::now()));
        if let Some((seq, session)) = receipt.seq.zip(session) {
            self.opened(&receipt.told_of().map(|id| id.to_string()).collect::<Vec<_>>(), seq, &session);
        }
        Ok(receipt)
    }

    /// Puts the agents that a call asks in place of the names it has for them, and says what its receipt tells of them.
    /// What is no list of texts is left to the parser.
    fn asking(&self, call: &mut Call) -> Result<Vec<Warning>, Rejection> {
        let Some(asks) = call.arguments.get("asks").cloned() else { return Ok(Vec::new()) };
        let Ok(names) = serde_json::from_value::<Vec<String>>(asks) else { return Ok(Vec::new()) };
        let named = call.arguments.get("agent").and_then(Value::as_str).map(str::to_owned);
        let (Speaker { agent, unpinned }, own) = self.speaker(call, named.as_deref())?;
        let me = unpinned.and_then(|_| self.agent_of(&own)).unwrap_or(agent);
        let roster = self.caller().roster();
        let asked = self.with_reads(|reads| views::asked(reads, roster, (Some(&me), &names), system::now()));
        let (agents, told) = asked.map_err(|unknown| Rejection::invalid("asks", unknown))?;
        let agents = agents.iter().map(ToString::to_string).collect::<Vec<_>>();
        call.arguments.insert("asks".to_owned(), agents.into());
        Ok(told)
    }

    fn submission<T: DeserializeOwned>(
        &self,
        call: &Call,
        build: impl FnOnce(T, &Asker) -> Result<Command, Rejection>,
    ) -> Result<Submission, Rejection> {
        let common: Common = parse(&call.arguments)?;
        let arguments: T = parse(&self.identified(&call.arguments)?)?;
        // Before it looks for the other servers: of two that write for the first time at once, one finds the other.
        self.leave_word(&self.caller().session_unless(call.session.clone()));
        let (Speaker { agent, mut unpinned }, own) = self.speaker(call, common.agent.as_deref())?;
        if let Some(named) = common.session.as_ref().filter(|_| unpinned.is_none()) {
            self.may_speak_in(named, &own)?;
        }
        let session = common.session.unwrap_or_else(|| own.clone());
        if unpinned.is_none() && session != own {
            self.check_session(&agent, &session)?;
        }
        let (pane, likely) = if unpinned.is_some() { self.pane(&own) } else { (own.clone(), None) };
        let asker = Asker { id: system::new_id(), agent: likely.unwrap_or(agent), session };
        let command = build(arguments, &asker)?;
        let Asker { agent, session, .. } = asker;
        if let Some(unpinned) = &mut unpinned {
            unpinned.pane = Some(pane).filter(|pane| *pane != session);
        }
        Ok(Submission {
            command_id: CommandId::from_uuid(system::new_id()),
            agent,
            unpinned,
            session: Some(session),
            trace_id: call.trace_id.clone(),
            idempotency_key: common.idempotency_key,
            checkout: Checkout::default(),
            versions: Versions::new(),
            command,
        })
    }

    /// Reads a resource for a tool call.
    pub(super) async fn read_for(&self, call: Call) -> CallToolResult {
        let ReadMemoryArguments { uri } = match parse(&call.arguments) {
            Ok(given) => given,
            Err(rejection) => return refused(&self.guarded(&call, rejection).await),
        };
        let session = self.caller().session_unless(call.session.clone());
        match self.read(&uri, &session).await {
            Ok(read) => {
                let mut texts = Vec::new();
                for contents in read.contents {
                    if let ResourceContents::TextResourceContents { text, .. } = contents {
                        texts.push(ContentBlock::text(text));
                    }
                }
                CallToolResult::success(texts)
            }
            Err(error) => refused(&match denial(self.front(), "tools/call", &uri) {
                Some(denial) => denial.into(),
                None => Rejection::invalid("uri", error.message),
            }),
        }
    }

    /// Refuses a call of a pinned pane that names another agent's session. For an unpinned pane the writer checks
    /// the owner of the session. A host of many agents keeps track of its sessions itself.
    fn check_session(&self, agent: &AgentId, session: &SessionId) -> Result<(), Rejection> {
        let is_free = self.caller().is_any_agent() || *agent == AgentId::operator();
        match self.agent_of(session).filter(|other| !is_free && other != agent) {
            None => Ok(()),
            Some(other) => Err(Rejection::new(
                Code::AgentMismatch,
                format!("session {session} is {other}'s, and this pane is {agent}"),
                "leave out `session`; name a session of your own, or a new one",
            )),
        }
    }

    /// The agent that a call speaks for, and the session of the call.
    pub(super) fn speaker(
        &self,
        call: &Call,
        named: Option<&str>,
    ) -> Result<(Speaker, SessionId), Rejection> {
        let own = self.caller().session_unless(call.session.clone());
        let others = self.other_servers(&own);
        let speaker = self.caller().beside(&others).speaks_for(named, call.client.as_deref())?;
        Ok((speaker, own))
    }

    /// A refusal that is safe to show. It quotes arguments, and an argument may hold a secret.
    async fn guarded(&self, call: &Call, rejection: Rejection) -> Rejection {
        let mut texts = Vec::new();
        for (name, value) in &call.arguments {
            // A name that is a secret itself is found first.
            texts.push(("arguments", name.clone()));
            each_text(value, |_, text| texts.push((name, text.to_owned())));
        }
        let texts = texts.iter().map(|(field, text)| (*field, text.as_str()));
        let Some(denial) = self.front().deny(&call.tool, texts) else { return rejection };
        let named = call.arguments.get("agent").and_then(Value::as_str);
        match self.speaker(call, named) {
            Ok((speaker, session)) => self.front().refuse(denial, speaker, Some(session)).await,
            Err(_) => denial.into(),
        }
    }
}

/// Reports a secret in a request, as plain text or percent-encoded, so that no answer quotes it. Reads leave no
/// record of the denial.
pub(super) fn denial(front: &Front, method: &str, request: impl Serialize) -> Option<Denial> {
    let request = serde_json::to_value(request).expect("a request is plain data");
    let mut texts = Vec::new();
    each_text(&request, |_, text| texts.push(text.to_owned()));
    texts.iter().find_map(|text| {
        let decoded = percent_encoding::percent_decode_str(text).decode_utf8_lossy();
        front.deny(method, [text, &*decoded].into_iter().map(|text| ("arguments", text)))
    })
}

/// Parses the arguments. An error describes the problem in the words of the target type.
fn parse<T: DeserializeOwned>(arguments: &JsonObject) -> Result<T, Rejection> {
    // A null counts as a missing argument: some clients send every key.
    let given: JsonObject =
        arguments.iter().filter(|(_, value)| !value.is_null()).map(|(k, v)| (k.clone(), v.clone())).collect();
    serde_json::from_value(Value::Object(given.clone())).map_err(|problem| {
        let problem = problem.to_string();
        if let Some(name) = missing::<T>(&given, &problem) {
            let hint = format!("give `{name}` and call again");
            return Rejection::new(Code::InvalidArgument, problem.clone(), hint).with("argument", name);
        }
        match culprit::<T>(&given, &problem) {
            Some(name) => Rejection::invalid(name, format!("`{name}`: {problem}")),
            None => Rejection::new(Code::InvalidArgument, problem, "correct the argument and call again"),
        }
    })
}

/// The argument that is missing: with it the problem would be another one. A field of an argument may be missing too.
fn missing<'p, T: DeserializeOwned>(given: &JsonObject, problem: &'p str) -> Option<&'p str> {
    let name = problem.strip_prefix("missing field `")?.strip_suffix('`')?;
    let mut more = given.clone();
    more.insert(name.to_owned(), Value::Null);
    let error = serde_json::from_value::<T>(Value::Object(more)).err();
    error.is_none_or(|other| other.to_string() != problem).then_some(name)
}

/// The argument that causes a problem: without it the problem is another one, or gone.
fn culprit<'a, T: DeserializeOwned>(given: &'a JsonObject, problem: &str) -> Option<&'a str> {
    given.keys().map(String::as_str).find(|name| {
        let mut others = given.clone();
        others.remove(*name);
        serde_json::from_value::<T>(Value::Object(others))
            .err()
            .is_none_or(|other| other.to_string() != problem)
    })
}

/// A warning about unknown arguments. Some clients add arguments of their own; the server ignores them and says so.
fn unknown_arguments(tool: Option<&Tool>, call: &Call) -> Option<Warning> {
    let known = tool?.input_schema.get("properties").and_then(Value::as_object)?;
    let unknown: Vec<&str> =
        call.arguments.keys().filter(|name| !known.contains_key(*name)).map(String::as_str).collect();
    (!unknown.is_empty()).then(|| Warning {
        code: WarningCode::UnknownArgument,
        message: privacy::redacted(
            &format!("ignored, this tool does not take it: {}", unknown.join(", ")),
            &Secrets::default(),
        ),
        claim_id: None,
    })
}

pub(super) fn accepted(tool: &str, receipt: &Receipt) -> CallToolResult {
    let mut line = views::receipt_line(receipt, tool);
    for cited in views::cited_lines(receipt) {
        line.push_str(&format!("; {cited}"));
    }
    for warning in &receipt.warnings {
        let at_it = receipt.by_now(warning.claim_id);
        line.push_str(&format!("; {}: {}{at_it}", warning.code.label(), warning.message));
    }
    for (said, claims) in [("similar", &receipt.similar), ("alike, compare the values", &receipt.alike)] {
        if !claims.is_empty() {
            let claims = claims.iter().map(|id| format!("{id}{}", receipt.by_now(Some(*id))));
            let claims: Vec<String> = claims.collect();
            line.push_str(&format!("; {said}: {}", claims.join(", ")));
        }
    }
    if let Some(meaning) = &receipt.meaning {
        line.push_str(&format!("; {meaning}"));
    }
    if let Some(next) = &receipt.next {
        line.push_str(&format!("; next: {next}"));
    }
    let mut result = CallToolResult::success(vec![ContentBlock::text(clean::cleaned(&line))]);
    result.structured_content = Some(shown(views::receipt_json(receipt, tool)));
    result
}

pub(super) fn refused(rejection: &Rejection) -> CallToolResult {
    let line = format!("{}: {rejection}", rejection.code.as_str());
    let mut result = CallToolResult::error(vec![ContentBlock::text(clean::cleaned(&line))]);
    result.structured_content =
        Some(shown(serde_json::to_value(rejection).expect("a rejection is plain data")));
    result
}

/// An answer whose sentences may quote stored text, cleaned for the transport. The transport escapes only what JSON
/// requires.
fn shown(value: Value) -> Value {
    match value {
        Value::String(text) => clean::cleaned(&text).into(),
        Value::Array(values) => values.into_iter().map(shown).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, shown(value))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}
