//! Resources: their list, their templates, and the read of one.

use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{MetaObject, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

use super::server::Server;
use super::uri;
use crate::domain::clean;
use crate::domain::ids::SessionId;
use crate::domain::names::Sort;
use crate::reads::TravelError;
use crate::store::StoreError;
use crate::system;
use crate::views::{self, Body, View, ViewError};

/// How long a read waits for read models that the writer is rebuilding. A large ledger takes longer.
const MADE_WITHIN: Duration = Duration::from_secs(2);
/// How often the read checks for them.
const MADE_POLL: Duration = Duration::from_millis(10);
/// The `_meta` key for the ledger position of an answer.
const SEQ_KEY: &str = "hivemind/seq";
/// The `_meta` key for the number of rows that could not be read.
const LEFT_OUT_KEY: &str = "hivemind/left_out";
/// The member of a JSON answer that holds the address of the next page.
const NEXT_KEY: &str = "next_page";

/// Address, name and description of each resource without parameters.
const CONCRETE: [(&str, &str, &str); 23] = [
    ("hivemind://context", "context", "What you should know now: contested claims, your own, dead ends"),
    (
        "hivemind://attention",
        "attention",
        "What needs you, who else is asked, and the command that settles it",
    ),
    ("hivemind://claims", "claims", "Claims of the team, newest first"),
    ("hivemind://negative", "negative", "Dead ends: approaches that failed"),
    ("hivemind://guards", "guards", "What warns before an action, and what came of the warnings"),
    ("hivemind://decisions", "decisions", "What the team decided, newest first"),
    ("hivemind://contradictions", "contradictions", "Claims that contradict each other, both sides named"),
    ("hivemind://patterns", "patterns", "Loops, stalls and other patterns that no single agent sees"),
    ("hivemind://targets", "targets", "What decisions are about, with every name it goes by"),
    ("hivemind://experiments", "experiments", "Runs that show whether a claim holds, newest first"),
    ("hivemind://profiles", "profiles", "Commands that run_experiment may run, with their parameters"),
    ("hivemind://plan", "plan", "The current goal, the plans, their phases and tasks, who holds which"),
    ("hivemind://tasks", "tasks", "Tasks in any status, oldest first"),
    ("hivemind://tasks/ready", "tasks-ready", "Tasks that can be taken now, oldest first"),
    ("hivemind://sessions", "sessions", "Sessions of the team's clients, newest first"),
    ("hivemind://anchors", "anchors", "Facts that no compaction loses"),
    (
        "hivemind://playbooks",
        "playbooks",
        "Steps that ended well in several tasks: proposed, accepted, dismissed",
    ),
    (
        "hivemind://calibration",
        "calibration",
        "How often the judged claims of each agent held; shown, never weighed",
    ),
    (
        "hivemind://memory",
        "memory",
        "All that is kept: messages, claims, anchors, each with who sees it, newest first",
    ),
    (
        "hivemind://traces",
        "traces",
        "What was recalled, written, refused, replaced and forgotten, newest first",
    ),
    ("hivemind://agents", "agents", "Who is on the team and when they were last seen"),
    ("hivemind://events", "events", "The latest events of the ledger; their ids are citable as evidence"),
    ("hivemind://status", "status", "How the workspace is doing"),
];

/// Address, name and description of each template (RFC 6570).
const TEMPLATES: [(&str, &str, &str); 31] = [
    (
        "hivemind://context/{agent}{?session,intent,budget,context_window,used_tokens,all,explain,why}",
        "context-of",
        "What an agent should know, as a session sees it; budget in characters, or the window of the model in tokens",
    ),
    (
        "hivemind://attention{?agent}",
        "attention-of",
        "Open actions of an agent; for the architect, those of all agents",
    ),
    (
        "hivemind://claims{?status,type,scope,owner,session,task,since,until,limit,cursor}",
        "claims-filtered",
        "Claims that match; status takes several with commas; since and until are times, such as 3d (ago) or 2026-11-20",
    ),
    ("hivemind://claims/{id}", "claim", "One claim: statement, positions, evidence, history, successors"),
    (
        "hivemind://search{?q,scope,type,status,mode,since,until,limit,cursor}",
        "search",
        "Claims that answer q, best first; mode strict leaves out deprecated ones, audit shows superseded ones too",
    ),
    (
        "hivemind://decisions{?target,scope,limit,cursor}",
        "decisions-on",
        "Decisions on one target, or at one scope",
    ),
    (
        "hivemind://contradictions{?status,tier,limit,cursor}",
        "contradictions-filtered",
        "Contradictions by status (open, resolved) and tier (strong, weak)",
    ),
    (
        "hivemind://contradictions/{id}",
        "contradiction",
        "One contradiction: its sides, whose move it is, both claims",
    ),
    ("hivemind://patterns{?status,cursor}", "patterns-filtered", "Patterns: open, or all, newest first"),
    ("hivemind://patterns/{id}", "pattern", "One pattern: what repeats, who is asked, what it rests on"),
    ("hivemind://negative{?scope,cursor}", "negative-at", "Dead ends at a path, below or above it"),
    ("hivemind://guards/{id}", "guard", "One guard or dead end: its condition and its last firings"),
    (
        "hivemind://experiments{?status,profile,claim,since,until,limit,cursor}",
        "experiments-filtered",
        "Runs by status, profile, claim and time: 3d (ago) or 2026-11-20",
    ),
    ("hivemind://experiments/{run}", "experiment", "One run: how it ended, on which commit, and its hashes"),
    ("hivemind://experiments/{run}/stdout", "experiment-stdout", "What a run wrote to standard output"),
    ("hivemind://experiments/{run}/stderr", "experiment-stderr", "What a run wrote to standard error"),
    ("hivemind://plan{?session}", "plan-of", "The plan as a session looks at it"),
    (
        "hivemind://tasks{?status,plan,phase,holder,limit}",
        "tasks-filtered",
        "Tasks by status, plan, phase and holder; status takes several with commas",
    ),
    (
        "hivemind://tasks/{task}",
        "task",
        "One task, such as T7: its description and the claims that came out of it",
    ),
    (
        "hivemind://sessions/{session}",
        "session",
        "One session: its dialogue, what it holds, the files it touched, its splits and researchers",
    ),
    (
        "hivemind://sessions/{session}/turn0",
        "turn0",
        "What a session was handed at its start; it never changes",
    ),
    (
        "hivemind://beliefs/{agent}{?session}",
        "beliefs",
        "What an agent held to be right and wrong when last asked",
    ),
    (
        "hivemind://playbooks/{id}",
        "playbook",
        "One playbook, such as B1: its steps, its tasks and its evidence",
    ),
    (
        "hivemind://memory{?kind,space,owner,agent,session,scope,older_than,never_used,limit,cursor}",
        "memory-filtered",
        "What is kept, by kind (short_term, semantic, profile), space, author, place and age: 30d",
    ),
    (
        "hivemind://memory/{space}/{owner}{?kind,agent,session,scope,older_than,never_used,limit,cursor}",
        "memory-of",
        "Memory items of one session, user or project, or of the system",
    ),
    ("hivemind://memory/{space}/{owner}/{kind}/{n}", "memory-item", "One memory item with every field"),
    (
        "hivemind://phases/{space}/{owner}/diff{?from,to}",
        "phase-diff",
        "What changed in a space from one phase to another: replaced, deleted and added items",
    ),
    (
        "hivemind://traces{?session,type,since,limit,cursor}",
        "traces-filtered",
        "Traces of the memory contract by session, type (memory_recall) and time: 3d (ago)",
    ),
    ("hivemind://traces/{seq}", "trace", "The traces of the event at this ledger position"),
    ("hivemind://events{?after,type,agent,limit}", "events-filtered", "Events after a ledger position"),
    ("hivemind://events/{id}", "event", "One event with its payload and hash"),
];

pub(super) fn listed() -> Vec<Resource> {
    CONCRETE
        .iter()
        .map(|(uri, name, description)| {
            Resource::new(*uri, *name).with_description(*description).with_mime_type(mime_type(uri))
        })
        .collect()
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    TEMPLATES
        .iter()
        .map(|(uri, name, description)| {
            ResourceTemplate::new(*uri, *name).with_description(*description).with_mime_type(mime_type(uri))
        })
        .collect()
}

/// The variables of a listed template, such as `{id}` and `{?scope,type}`. An unlisted address has none.
pub(super) fn variables(template: &str) -> impl Iterator<Item = &str> {
    let listed = TEMPLATES.iter().any(|(uri, _, _)| *uri == template);
    let expressions = template.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    expressions.filter(move |_| listed).flat_map(|names| names.trim_start_matches('?').split(','))
}

fn mime_type(uri: &str) -> &'static str {
    if uri.starts_with("hivemind://context") { "application/xml" } else { "text/markdown" }
}

/// The protocol's error for an address that shows nothing.
fn not_found(message: String, address: &str) -> ErrorData {
    ErrorData::resource_not_found(message, Some(json!({ "uri": address })))
}

impl Server {
    /// Reads one resource.
    pub(super) async fn read(
        &self,
        address: &str,
        session: &SessionId,
    ) -> Result<ReadResourceResult, ErrorData> {
        let uri::Address { view, format, moment } = self.address_in(address, session)?;
        let is_output = matches!(view, View::Output(..));
        let deadline = system::instant() + MADE_WITHIN;
        let answer = loop {
            let view = view.clone();
            let answer = self
                .with_long_reads(move |server, reads| {
                    views::answer_at(reads, server.config(), &view, (system::now(), moment), format)
                })
                .await?;
            let is_unmade = matches!(answer, Err(ViewError::Store(StoreError::Unmade)));
            if !is_unmade || system::instant() >= deadline {
                break answer;
            }
            // If the writer cannot start, the read returns its own error below.
            let _ = self.front().submit_within(MADE_WITHIN, Vec::new()).await;
            tokio::time::sleep(MADE_POLL).await;
        };
        let answer = answer.map_err(|error| match error {
            ViewError::NotFound(refused) => not_found(refused.message, address),
            ViewError::Travel(TravelError::Unknown(unknown)) => {
                ErrorData::invalid_params(unknown.to_string(), None)
            }
            ViewError::Store(_) | ViewError::Ledger(_) | ViewError::Travel(_) => {
                ErrorData::internal_error(error.to_string(), None)
            }
        })?;
        if moment.is_none() {
            self.opened(&answer.opened, answer.seq, session);
        }
        let next = answer.next.as_ref().map(|next| uri::next_page(address, next));
        let mime_type = answer.body.mime_type();
        let text = match answer.body {
            Body::Json(mut json) => {
                if let Some(next) = next {
                    json[NEXT_KEY] = next.into();
                }
                clean::escaped_json(&json.to_string()).into_owned()
            }
            Body::Markdown(text) | Body::Xml(text) => {
                let next = next.map(|next| format!("\nNext page: {next}\n"));
                let text = text + &next.unwrap_or_default();
                // The output of a program is returned unchanged.
                let text = if is_output { text } else { self.shortened(&text) };
                clean::cleaned(&text).into_owned()
            }
        };
        let mut meta = MetaObject::new();
        meta.0.insert(SEQ_KEY.to_owned(), json!(answer.seq));
        if answer.left_out > 0 {
            meta.0.insert(LEFT_OUT_KEY.to_owned(), json!(answer.left_out));
        }
        let contents = ResourceContents::TextResourceContents {
            uri: address.to_owned(),
            mime_type: Some(mime_type.to_owned()),
            text,
            meta: Some(meta.clone()),
        };
        let mut result = ReadResourceResult::new(vec![contents]);
        result.meta = Some(meta);
        Ok(result)
    }

    /// Parses an address for this caller.
    pub(super) fn address(&self, address: &str) -> Result<uri::Address, ErrorData> {
        self.address_in(address, &self.caller().session())
    }

    fn address_in(&self, address: &str, session: &SessionId) -> Result<uri::Address, ErrorData> {
        let me = || self.reader(session);
        let event = |text: &str| self.with_reads(|reads| views::event(reads, text));
        let reader = uri::Reader { roster: self.caller().roster(), session, me: &me, event: &event };
        let names = |sort: Sort, text: &str| self.named(sort, text);
        uri::parse(address, &reader, &self.root(), system::now(), &names).map_err(|problem| match problem {
            uri::BadAddress::Unknown(_) => not_found(problem.to_string(), address),
            uri::BadAddress::NotPlain | uri::BadAddress::Parameter { .. } => {
                ErrorData::invalid_params(problem.to_string(), None)
            }
        })
    }
}
