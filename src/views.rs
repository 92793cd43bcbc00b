//! Every question a resource or a CLI verb can ask, answered from the read side, as text and as JSON.

mod about;
mod asked;
mod attention;
mod awaited;
mod briefing;
mod briefs;
mod context;
mod delta;
mod digest;
mod experiments;
mod explain;
mod last_change;
mod log;
mod markdown;
mod names;
mod ran;
mod receipt;
mod versions;
mod why;
mod work;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Value, json};

use crate::config::Config;
use crate::domain::agent::AgentId;
use crate::domain::claim::ClaimType;
use crate::domain::event::{CommandRan, MemoryDenied};
use crate::domain::ids::{ClaimId, CommandId, EventId, RunId, TaskId};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::scope::Scope;
use crate::domain::text::Worktree;
use crate::domain::time::{Moment, Timestamp};
use crate::domain::way;
use crate::ledger::{self, LedgerError, Stored};
use crate::reads::{Reads, TravelError};
use crate::schedule::{self, JobRun, Runs};
use crate::spool::Spool;
use crate::standing::{Damage, Standing};
use crate::store::{
    ClaimFilter, ClaimPage, ClaimSummary, ClaimView, ContradictionFilter, ContradictionPage, Counts,
    DecisionFilter, DecisionPage, ExperimentFilter, ExperimentPage, LeftOut, PhaseView, PlanGraph, Reader,
    RejectedCommand, Search, SearchPage, StoreError, Target, TaskFilter,
};
use crate::workspace::Workspace;

pub use asked::{agent_called, asked};
pub use attention::Kind as AttentionKind;
pub use briefing::briefing;
pub use briefs::{contradiction, held, task};
pub use context::{ContextOf, UNSEATED, turn0};
pub use delta::{Delta, Known, delta, delta_after, delta_with, gate, presence, unproven};
pub use experiments::{Stream, broken_artifacts, experiment_json, failure, outcome, profiles};
pub use log::{is_noise, log};
pub use markdown::{event_line, inline, listed};
pub use names::{event, evidence, notice, resolve, session, shortened};
pub use receipt::{cited_lines, mark_at_now, receipt_json, receipt_line, without_known};
pub use versions::MARKED;
pub use why::why;

/// Entries of a list page unless the reader asks for another number; some 4,000 tokens.
pub const DEFAULT_LIMIT: usize = 50;
/// The most entries of a list page.
pub const MAX_LIMIT: usize = 500;
/// Rejected commands that status shows.
const REJECTED_SHOWN: usize = 5;

/// A question.
#[derive(Debug, Clone, PartialEq)]
pub enum View {
    /// A page of claims.
    Claims(ClaimFilter),
    /// One claim with everything known about it.
    Claim(ClaimId),
    /// Claims that answer a question, best first.
    Search(Search),
    /// A page of decisions.
    Decisions(DecisionFilter),
    /// A page of contradictions.
    Contradictions(ContradictionFilter),
    /// One contradiction, open or over, with the claims of its sides.
    Contradiction(EventId),
    /// What decisions are about, with every name it goes by.
    Targets,
    /// A page of runs.
    Experiments(ExperimentFilter),
    /// One run.
    Experiment(RunId),
    /// What a run wrote.
    Output(RunId, Stream),
    /// The commands agents may run.
    Profiles,
    /// A page of dead ends in force, at a scope or everywhere; older than the page before.
    Negative(Option<Scope>, Option<u64>),
    /// Who there is and when they were last seen.
    Agents,
    /// Events of the ledger.
    Events(ledger::Filter),
    /// One event.
    Event(EventId),
    /// How the workspace is doing.
    Status,
    /// The plans, and where a session, or else the team, is looking.
    Plan(Option<String>),
    /// What is locked, by whom, what for and until when.
    Locks,
    /// Tasks that can be taken now.
    ReadyTasks,
    /// Tasks, in any status.
    Tasks(TaskFilter),
    /// One task, with the claims that came out of it.
    Task(TaskId),
    /// Sessions older than the page before, newest first; at most so many.
    Sessions(Option<u64>, usize),
    /// One session.
    Session(String),
    /// What a session was handed at its start.
    Turn0(String),
    /// What the anchors hold.
    Anchors,
    /// What an agent held to be right and wrong at the end of its last session, or of this one.
    Beliefs(AgentId, Option<String>),
    /// What an agent should know at its start.
    Context(ContextOf),
    /// Why that shows what it shows, or why this one claim is in it or not.
    Explained(ContextOf, Option<ClaimId>),
    /// What needs this agent, or anybody.
    Attention(Option<AgentId>),
}

impl View {
    /// The moments between which what is listed was made.
    fn bounds(&self) -> [Option<Moment>; 2] {
        if let Self::Claims(filter) | Self::Search(Search { filter, .. }) = self {
            [filter.since, filter.until]
        } else if let Self::Experiments(filter) = self {
            [filter.since, filter.until]
        } else {
            [None, None]
        }
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Ledger position it shows.
    pub seq: u64,
    /// For programs.
    pub json: Value,
    /// For people and models: Markdown, or XML for a context.
    pub text: String,
    /// What `text` is.
    pub mime_type: &'static str,
    /// Where the next page of a list starts; none on the last one.
    pub next: Option<Next>,
    /// Rows that could not be read and are not shown.
    pub left_out: u64,
}

/// The start of the next page: the same question with this parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Next {
    /// `cursor`, or `after` where a ledger position is counted from.
    pub parameter: &'static str,
    /// Its value.
    pub value: String,
}

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// No such claim or event.
    #[error("{0}")]
    NotFound(String),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The ledger cannot be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The past cannot be folded.
    #[error(transparent)]
    Travel(#[from] TravelError),
}

impl From<ViewError> for Rejection {
    fn from(error: ViewError) -> Self {
        match error {
            ViewError::NotFound(message) => {
                Self::new(Code::UnknownClaim, message, "list them first and take the id from there")
            }
            ViewError::Store(error @ StoreError::Unmade) => Self::new(
                Code::Unavailable,
                error.to_string(),
                "try again in a moment; `hm doctor` says what keeps the writer from starting",
            ),
            ViewError::Store(error) => Self::new(
                Code::Unavailable,
                error.to_string(),
                "nothing was changed; try again after the cure",
            ),
            ViewError::Travel(TravelError::Unknown(unknown)) => Self::new(
                Code::InvalidArgument,
                unknown.to_string(),
                "`hivemind://events` lists events with their times",
            ),
            ViewError::Travel(error) => Self::new(
                Code::Unavailable,
                error.to_string(),
                "nothing was changed; ask for the present instead",
            ),
            ViewError::Ledger(error) => {
                Self::new(Code::Unavailable, error.to_string(), "nothing was changed; `hm verify` tells more")
            }
        }
    }
}

/// An event as readers see it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventView {
    /// Place in the ledger.
    pub seq: u64,
    /// Its id, citable as evidence.
    pub id: EventId,
    /// `concept.past_tense`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whose command caused it.
    pub agent: String,
    /// In which session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The command that caused it.
    pub causation_id: CommandId,
    /// When, epoch ms.
    pub at: i64,
    /// The event's hash, in hex.
    pub hash: String,
    /// What happened; none where it was erased.
    pub payload: Option<Value>,
}

impl From<&Stored> for EventView {
    fn from(stored: &Stored) -> Self {
        Self {
            seq: stored.seq,
            id: stored.id,
            kind: stored.kind.clone(),
            agent: stored.agent.to_string(),
            session: stored.session.as_ref().map(ToString::to_string),
            causation_id: stored.causation,
            at: stored.at.ms(),
            hash: hex::encode(stored.hash),
            payload: stored.payload.as_ref().and_then(|(payload, _)| readable(payload)),
        }
    }
}

/// A payload without the hash that recognises a retry; it tells a reader nothing.
fn readable(payload: &str) -> Option<Value> {
    let mut payload: Value = serde_json::from_str(payload).ok()?;
    payload.as_object_mut()?.remove("command_hash");
    Some(payload)
}

/// An agent of the roster, or one that was on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentView {
    /// Canonical name.
    pub agent: String,
    /// Other names it goes by.
    pub aliases: Vec<String>,
    /// Whether it still is on the roster.
    pub on_roster: bool,
    /// Its last event, epoch ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seen_at: Option<i64>,
    /// Claims it owns that are not deprecated.
    pub claims: u64,
    /// Whether a session of it has not ended: so are the peers of a banner counted.
    pub live: bool,
}

/// How a workspace is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StatusView {
    /// Its root.
    pub workspace: String,
    /// The directory of its memory.
    pub memory: String,
    /// Events in the ledger.
    pub ledger_seq: u64,
    /// Events folded into the read models; less than `ledger_seq` means they are behind.
    pub folded_seq: u64,
    /// Claims by status, and dead ends.
    #[serde(flatten)]
    pub counts: Counts,
    /// Agents with an event.
    pub agents_seen: u64,
    /// Commands that wait in the spool.
    pub spooled: u64,
    /// Commands refused because they held what looked like a secret.
    pub denials: u64,
    /// Queued commands that did not pass, newest first.
    pub rejected: Vec<RejectedCommand>,
    /// What became of the last runs of the writer's background jobs.
    pub jobs: Runs,
    /// What is wrong with the ledger or its checkpoints, until the operator accepts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damage: Option<String>,
    /// Whether nothing is appended because of it: writes wait in the spool.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stops_writes: bool,
    /// Why nothing seals the ledger here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsealed: Option<String>,
}

/// Answers one question as it is at `now`.
///
/// # Errors
/// [`ViewError`]; nothing is ever written.
pub fn answer(reads: &mut Reads, config: &Config, view: &View, now: Timestamp) -> Result<Answer, ViewError> {
    let now = reads.clock(now);
    let view = &names::with_session(reads, view)?;
    for moment in view.bounds().into_iter().flatten() {
        reads.check(moment)?;
    }
    match view {
        View::Events(filter) => {
            // One more than is shown says whether there is a next page; after the latest there is none.
            let look_at = filter.limit + usize::from(!filter.newest);
            let wanted = &ledger::Filter { until: reads.horizon(), limit: look_at, ..filter.clone() };
            let mut events = match reads.ledger()? {
                Some(ledger) => ledger.list(wanted)?,
                None => Vec::new(),
            };
            let has_more = events.len() > filter.limit;
            events.truncate(filter.limit);
            let events: Vec<EventView> = events.iter().map(EventView::from).collect();
            let seq = events.last().map_or(filter.after, |event| event.seq);
            let text = markdown::events(&events);
            let mut json = json!({ "events": events });
            if has_more {
                json["next"] = seq.into();
            }
            Ok(page(seq, json, text).followed_by("after", has_more.then_some(seq)))
        }
        View::Event(id) => {
            let horizon = reads.horizon();
            let found = reads.ledger()?.map(|ledger| ledger.event(*id)).transpose()?.flatten();
            let found = found.filter(|event| horizon.is_none_or(|last| event.seq <= last));
            let stored = found.ok_or_else(|| ViewError::NotFound(format!("no event has the id {id}")))?;
            let event = EventView::from(&stored);
            let text = markdown::event(&event);
            Ok(page(event.seq, to_json(&event), text))
        }
        View::Status => {
            let (status, left_out) = status(reads, now)?;
            let text = markdown::status(&status);
            Ok(page(status.folded_seq, to_json(&status), text).without(left_out.count()))
        }
        View::Output(run, stream) => {
            let seq = reads.ledger()?.map(ledger::Reader::head).transpose()?.map_or(0, |head| head.seq);
            // What the program wrote stays as it is.
            let id = run.to_string();
            let called = names::shortened(reads, &id);
            let (json, text) = experiments::output(reads.workspace(), (*run, &called), *stream)
                .ok_or_else(|| ViewError::NotFound(format!("run {run} left no such file")))?;
            Ok(page(seq, json, text))
        }
        View::Profiles => {
            let seq = reads.ledger()?.map(ledger::Reader::head).transpose()?.map_or(0, |head| head.seq);
            let (json, text) = experiments::profiles(reads.workspace(), &[]);
            Ok(page(seq, json, text))
        }
        View::Experiments(_)
        | View::Experiment(_)
        | View::Claims(_)
        | View::Claim(_)
        | View::Search(_)
        | View::Decisions(_)
        | View::Contradictions(_)
        | View::Contradiction(_)
        | View::Targets
        | View::Negative(..)
        | View::Agents
        | View::Plan(_)
        | View::Locks
        | View::ReadyTasks
        | View::Tasks(_)
        | View::Task(_)
        | View::Sessions(..)
        | View::Session(_)
        | View::Turn0(_)
        | View::Anchors
        | View::Beliefs(..)
        | View::Context(_)
        | View::Explained(..)
        | View::Attention(_) => {
            let (workspace, runs) = (reads.workspace().clone(), troubles(reads, now)?);
            // What the claim's own rows say is shown without what the ledger says.
            let claim = if let View::Claim(id) = view {
                reads.ask(now, |store| store.claim(*id)).ok().and_then(|(claim, _)| claim.flatten())
            } else {
                None
            };
            let ran = claim.as_ref().and_then(|claim| ran::cited(reads, claim).ok()).unwrap_or_default();
            let before_change =
                claim.and_then(|claim| versions::before_change(reads, &claim).ok()).unwrap_or_default();
            let (is_past, before_change) = (reads.horizon().is_some(), &before_change);
            let from =
                Beside { workspace: &workspace, config, runs: &runs, ran: &ran, before_change, now, is_past };
            let asked = match reads.ask(now, |store| Ok(from_store(store, &from, view))) {
                // A writer that must not fold a damaged ledger makes none; what is wrong can be said without them.
                Err(StoreError::Unmade) if runs.0.contains_key(attention::LEDGER) => {
                    return empty(&from, view);
                }
                asked => asked?,
            };
            match asked {
                // It may be the row that cannot be read.
                (Some(Err(ViewError::NotFound(_))), left_out) if left_out.count() > 0 => {
                    let problem = left_out.problems().next().unwrap_or_default().to_owned();
                    Err(StoreError::Malformed(problem).into())
                }
                (Some(answer), left_out) => {
                    let mut answer = answer?.without(left_out.count());
                    if let (View::Attention(Some(agent)), false) = (view, is_past) {
                        awaited::add_to(&mut answer, reads, agent, now)?;
                    }
                    Ok(answer)
                }
                (None, _) => empty(&from, view),
            }
        }
    }
}

/// The claims, contradictions and runs that an answer shows with their texts, by id: its reader knows them from then on.
pub fn opened(view: &View, answer: &Answer) -> Vec<String> {
    if let View::Claim(id) = view {
        vec![id.to_string()]
    } else if let View::Contradiction(id) = view {
        vec![id.to_string()]
    } else if let View::Experiment(id) = view {
        vec![id.to_string()]
    } else if let View::Search(_) = view {
        let hits = answer.json["hits"].as_array().into_iter().flatten();
        hits.filter_map(|hit| Some(hit["id"].as_str()?.to_owned())).collect()
    } else {
        Vec::new()
    }
}

/// Claims for a caller that shows them in another way.
#[derive(Debug)]
pub struct Listed<P> {
    /// The claims.
    pub page: P,
    /// What other agents hold of the places of these claims, in a few words each.
    pub held: Vec<String>,
    /// Claims that changed before those of the page.
    pub older: usize,
    /// Rows that cannot be read.
    pub left_out: u64,
}

/// Claims that match, for a caller that shows them in another way. With `latest` these are at most so many of the first page,
/// those that changed last first.
///
/// # Errors
/// [`ViewError`].
pub fn claims(
    reads: &mut Reads,
    filter: &ClaimFilter,
    latest: Option<usize>,
    reader: Option<&AgentId>,
    now: Timestamp,
) -> Result<Listed<ClaimPage>, ViewError> {
    for moment in [filter.changed_since, filter.since, filter.until].into_iter().flatten() {
        reads.check(moment)?;
    }
    let (workspace, is_past) = (reads.workspace().clone(), reads.horizon().is_some());
    let (found, left_out) = reads.ask(now, |store| {
        let mut page = store.claims(filter)?;
        let mut older = 0;
        if let Some(latest) = latest {
            page.claims.sort_by_key(|claim| std::cmp::Reverse(claim.seq));
            older = page.claims.len().saturating_sub(latest);
            page.claims.truncate(latest);
        }
        let now_there = Some(&workspace).filter(|_| !is_past);
        versions::mark_changed(store, page.claims.iter_mut(), worktree(&workspace).as_ref(), now_there)?;
        let (at_now, reader) = (store.at_now()?, reader.map(AgentId::as_str));
        at_now.mark_news(page.claims.iter_mut(), reader);
        let held = at_now.held(page.claims.iter(), reader);
        Ok((page, held, older))
    })?;
    let (mut page, held, older) =
        found.unwrap_or((ClaimPage { claims: Vec::new(), next: None }, Vec::new(), 0));
    last_change::mark(reads, &mut page);
    Ok(Listed { page, held, older, left_out: left_out.count() })
}

/// Claims that answer a question, for a caller that shows them in another way.
///
/// # Errors
/// [`ViewError`].
pub fn search(
    reads: &mut Reads,
    search: &Search,
    reader: Option<&AgentId>,
    now: Timestamp,
) -> Result<Listed<SearchPage>, ViewError> {
    for moment in [search.filter.since, search.filter.until].into_iter().flatten() {
        reads.check(moment)?;
    }
    let (workspace, is_past) = (reads.workspace().clone(), reads.horizon().is_some());
    let (found, left_out) = reads.ask(now, |store| {
        let mut found = store.search(search)?;
        let (now_there, hits) = (Some(&workspace).filter(|_| !is_past), found.hits.iter_mut());
        let claims = hits.map(|hit| &mut hit.claim);
        versions::mark_changed(store, claims, worktree(&workspace).as_ref(), now_there)?;
        let (at_now, reader) = (store.at_now()?, reader.map(AgentId::as_str));
        at_now.mark_news(found.hits.iter_mut().map(|hit| &mut hit.claim), reader);
        let held = at_now.held(found.hits.iter().map(|hit| &hit.claim), reader);
        Ok((found, held))
    })?;
    let (page, held) = found.unwrap_or_default();
    Ok(Listed { page, held, older: 0, left_out: left_out.count() })
}

/// What is said of rows that cannot be read; nothing where there are none.
pub fn without(rows: u64) -> String {
    match rows {
        0 => String::new(),
        1 => "1 row cannot be read and is left out: `hm rebuild`\n".to_owned(),
        rows => format!("{rows} rows cannot be read and are left out: `hm rebuild`\n"),
    }
}

/// Answers one question as of then, or of now.
///
/// # Errors
/// [`ViewError`]; nothing is ever written, but to a temporary database.
pub fn answer_at(
    reads: &mut Reads,
    config: &Config,
    view: &View,
    now: Timestamp,
    moment: Option<Moment>,
) -> Result<Answer, ViewError> {
    match moment {
        None => answer(reads, config, view, now),
        Some(moment) => answer(&mut reads.at(moment, now)?, config, view, now),
    }
}

/// What an answer from the read models needs besides them.
struct Beside<'a> {
    workspace: &'a Workspace,
    config: &'a Config,
    runs: &'a Runs,
    /// The commands among the evidence of the claim that is asked for, by event.
    ran: &'a BTreeMap<String, CommandRan>,
    /// The positions on that claim that are about other content, by their places in the ledger.
    before_change: &'a BTreeSet<u64>,
    now: Timestamp,
    /// Whether the past is shown: what files held then is not known.
    is_past: bool,
}

fn from_store(store: &Reader, from: &Beside<'_>, view: &View) -> Result<Answer, ViewError> {
    let &Beside { workspace, config, runs, ran, now, is_past, .. } = from;
    let now_there = Some(workspace).filter(|_| !is_past);
    let seq = store.folded()?.seq;
    match view {
        View::Experiments(filter) => {
            let found = store.experiments(filter)?;
            let answer = shown_as(seq, experiments::page(workspace, &found, now));
            Ok(answer.followed_by("cursor", found.next))
        }
        View::Experiment(id) => {
            let run = store.experiment(*id)?.ok_or_else(|| unknown_run(*id))?;
            let mut text = experiments::one(&run, now);
            text.extend(experiments::failure(workspace, &run).map(|end| format!("\n{end}")));
            Ok(page(seq, experiment_json(workspace, &run), text))
        }
        View::Context(of) => Ok(context::context(store, (config.stale_after, now_there), of, runs, now)),
        View::Explained(of, why) => {
            context::explained(store, (config.stale_after, now_there), of, runs, *why, now)
        }
        View::Attention(agent) => Ok(attention::attention(store, agent.as_ref(), runs, now)?),
        View::Claims(filter) => {
            let mut page = store.claims(filter)?;
            versions::mark_changed(store, page.claims.iter_mut(), worktree(workspace).as_ref(), now_there)?;
            store.mark_news(page.claims.iter_mut(), None)?;
            Ok(claims_page(seq, &page, "claims", now))
        }
        View::Claim(id) => {
            let Some(mut claim) = store.claim(*id)? else { return Err(no_claim(store, *id)?) };
            if !from.is_past {
                versions::compare(workspace, store, &mut claim)?;
            }
            versions::mark_before_change(&mut claim, from.before_change);
            store.mark_at_now(std::iter::once(&mut claim.summary))?;
            Ok(claim_page(seq, &claim, ran, now))
        }
        View::Search(search) => {
            let mut found = store.search(search)?;
            let claims = found.hits.iter_mut().map(|hit| &mut hit.claim);
            versions::mark_changed(store, claims, worktree(workspace).as_ref(), now_there)?;
            store.mark_news(found.hits.iter_mut().map(|hit| &mut hit.claim), None)?;
            Ok(search_page(seq, &found, now))
        }
        View::Decisions(filter) => {
            let page = store.decisions(filter)?;
            let rest = DecisionFilter { before: page.next, limit: MAX_LIMIT, ..filter.clone() };
            let rest = page.next.map(|_| store.decisions(&rest)).transpose()?;
            let mut answer = decisions_page(seq, &page, filter.whole, now);
            if let Some(rest) = rest {
                let more = if rest.next.is_some() { "+" } else { "" };
                answer.text.push_str(&format!("{}{more} older\n", rest.decisions.len()));
            }
            Ok(answer)
        }
        View::Contradictions(filter) => Ok(contradictions_page(seq, &store.contradictions(filter)?, now)),
        View::Contradiction(id) => {
            let unknown = || ViewError::NotFound(unknown_contradiction(*id));
            let both = store.contradiction(*id)?.ok_or_else(unknown)?;
            let json = to_json(&attention::with_moves(&both));
            Ok(page(seq, json, briefs::contradiction_of(store, both, now)?))
        }
        View::Targets => Ok(targets_page(seq, &store.targets()?)),
        View::Negative(scope, before) => {
            let filter = ClaimFilter { scope: scope.clone(), before: *before, ..negative() };
            let mut page = store.claims(&filter)?;
            versions::mark_changed(store, page.claims.iter_mut(), worktree(workspace).as_ref(), now_there)?;
            store.mark_news(page.claims.iter_mut(), None)?;
            Ok(claims_page(seq, &page, "dead ends", now))
        }
        View::Agents => Ok(agents_page(seq, &agents(config, &store.agents()?, &store.live_agents()?), now)),
        View::Plan(session) => {
            Ok(shown_as(seq, work::plan(&store.plan_graph(session.as_deref(), MAX_LIMIT)?, now)))
        }
        View::Locks => Ok(shown_as(seq, work::locks(&store.locks()?, now))),
        View::ReadyTasks => {
            let (ready, has_tasks) = (store.ready_tasks(DEFAULT_LIMIT)?, store.has_tasks()?);
            Ok(shown_as(seq, work::ready(&ready, has_tasks, now)))
        }
        View::Tasks(filter) => Ok(shown_as(seq, work::tasks(&store.tasks(filter)?, now))),
        View::Task(id) => {
            let unknown = || ViewError::NotFound(unknown_task(*id));
            let task = store.task(*id)?.ok_or_else(unknown)?;
            let of_it = ClaimFilter { task: Some(*id), limit: DEFAULT_LIMIT, ..ClaimFilter::default() };
            Ok(shown_as(seq, work::one_task(&task, &store.claims(&of_it)?, now)))
        }
        View::Sessions(before, limit) => {
            let (found, next) = store.sessions_before(*before, *limit)?;
            Ok(shown_as(seq, work::sessions(&found, now)).followed_by("cursor", next))
        }
        View::Session(id) => {
            let page = work::SessionPage {
                id: id.clone(),
                session: store.session(id)?,
                researchers: store.researchers_of(id)?,
                dialogue: store.dialogue(id)?,
                held: store.held_by(id)?,
                files: store.files_of(id)?,
                came_from: store.split_into(id)?,
                split_into: store.splits_of(id)?,
            };
            if page.session.is_none() && page.researchers.is_empty() {
                return Err(unknown_session(id));
            }
            Ok(shown_as(seq, work::session(&page, now)))
        }
        View::Turn0(id) => {
            let split = store.split_into(id)?.ok_or_else(|| unknown_session(id))?;
            let mut json = to_json(&split);
            json["turn0"] = split.turn0.clone().into();
            Ok(Answer { mime_type: "application/xml", ..page(seq, json, split.turn0) })
        }
        View::Anchors => Ok(shown_as(seq, work::anchors(&store.anchors(MAX_LIMIT)?, now))),
        View::Beliefs(agent, session) => {
            let found = store.last_beliefs(agent.as_str(), session.as_deref())?;
            let snapshot = found.ok_or_else(|| no_beliefs(agent))?;
            let mut statements = Vec::new();
            for belief in &snapshot.beliefs {
                statements.push(store.claim(belief.0)?.map(|claim| claim.summary.statement));
            }
            Ok(shown_as(seq, work::beliefs(&snapshot, &statements, now)))
        }
        View::Events(_) | View::Event(_) | View::Status | View::Output(..) | View::Profiles => {
            Err(ViewError::NotFound("events are not in the read models".to_owned()))
        }
    }
}

/// Answers before anything was ever written.
fn empty(from: &Beside<'_>, view: &View) -> Result<Answer, ViewError> {
    let &Beside { workspace, config, runs, now, .. } = from;
    let nothing = ClaimPage { claims: Vec::new(), next: None };
    match view {
        View::Claim(id) => Err(ViewError::NotFound(unknown_claim(*id))),
        View::Contradiction(id) => Err(ViewError::NotFound(unknown_contradiction(*id))),
        View::Agents => Ok(agents_page(0, &agents(config, &[], &BTreeSet::new()), now)),
        View::Search(_) => Ok(search_page(0, &SearchPage::default(), now)),
        View::Decisions(_) => {
            Ok(decisions_page(0, &DecisionPage { decisions: Vec::new(), next: None }, false, now))
        }
        View::Contradictions(_) | View::Targets | View::Negative(..) => {
            Ok(claims_page(0, &nothing, "dead ends", now))
        }
        View::Plan(_) => {
            let inbox = PhaseView {
                id: None,
                name: None,
                title: "inbox".to_owned(),
                status: "open",
                tasks: Vec::new(),
            };
            let graph = PlanGraph { trajectory: None, plans: Vec::new(), inbox, locks: Vec::new() };
            Ok(shown_as(0, work::plan(&graph, now)))
        }
        View::Locks => Ok(shown_as(0, work::locks(&[], now))),
        View::ReadyTasks => Ok(shown_as(0, work::ready(&[], false, now))),
        View::Tasks(_) => Ok(shown_as(0, work::tasks(&[], now))),
        View::Task(id) => Err(ViewError::NotFound(unknown_task(*id))),
        View::Sessions(..) => Ok(shown_as(0, work::sessions(&[], now))),
        View::Session(id) | View::Turn0(id) => Err(unknown_session(id)),
        View::Anchors => Ok(shown_as(0, work::anchors(&[], now))),
        View::Beliefs(agent, _) => Err(no_beliefs(agent)),
        View::Experiments(_) => {
            Ok(shown_as(0, experiments::page(workspace, &ExperimentPage::default(), now)))
        }
        View::Experiment(id) => Err(unknown_run(*id)),
        View::Context(of) => Ok(context::empty(of, now)),
        View::Explained(_, Some(id)) => Err(ViewError::NotFound(unknown_claim(*id))),
        View::Explained(..) => Ok(page(0, json!({ "items": [] }), "Nothing was ever written.\n".to_owned())),
        View::Attention(agent) => Ok(attention::empty(agent.as_ref(), runs, now)),
        View::Claims(_)
        | View::Events(_)
        | View::Event(_)
        | View::Status
        | View::Output(..)
        | View::Profiles => Ok(claims_page(0, &nothing, "claims", now)),
    }
}

/// The linked work tree that the reader is in; none in the main one.
fn worktree(workspace: &Workspace) -> Option<Worktree> {
    workspace.checkout().worktree
}

fn unknown_run(id: RunId) -> ViewError {
    ViewError::NotFound(format!("no run has the id {id}"))
}

fn unknown_task(id: TaskId) -> String {
    format!("no task has the id {id}: see `hivemind://tasks`")
}

fn unknown_claim(id: ClaimId) -> String {
    format!("no claim has the id {id}")
}

/// Says what has the id instead, where it is something else.
fn no_claim(store: &Reader, id: ClaimId) -> Result<ViewError, StoreError> {
    let event = id.creation_event();
    let found = if store.contradiction(event)?.is_some() {
        format!("{id} is a contradiction: `hivemind://contradictions/{id}`")
    } else if store.task(TaskId::from_uuid(id.uuid()))?.is_some() {
        format!("{id} is a task: `hivemind://tasks/{id}`")
    } else if store.experiment(RunId::from_uuid(id.uuid()))?.is_some() {
        format!("{id} is a run: `hivemind://experiments/{id}`")
    } else {
        unknown_claim(id)
    };
    Ok(ViewError::NotFound(found))
}

fn unknown_contradiction(id: EventId) -> String {
    format!("no contradiction has the id {id}: see `hivemind://contradictions`")
}

fn unknown_session(id: &str) -> ViewError {
    ViewError::NotFound(format!("no session is called {}, or nothing was handed to it", inline(id, 128)))
}

fn no_beliefs(agent: &AgentId) -> ViewError {
    let snapshot = way::call("snapshot_beliefs", &json!({}));
    ViewError::NotFound(format!(
        "no beliefs of {agent} are written down; the end of a session does, and {snapshot}"
    ))
}

/// A page of what programs and people get.
fn shown_as(seq: u64, (json, text): (Value, String)) -> Answer {
    page(seq, json, text)
}

fn negative() -> ClaimFilter {
    ClaimFilter {
        claim_type: Some(ClaimType::Negative),
        in_force: true,
        limit: DEFAULT_LIMIT,
        ..ClaimFilter::default()
    }
}

/// What became of the writer's jobs; nothing is known of what did then.
fn jobs(reads: &Reads) -> Runs {
    if reads.horizon().is_none() { Runs::load(&reads.workspace().schedule()) } else { Runs::default() }
}

/// How the ledger stands, and why it cannot be read where that is so: the read models answer without it.
fn standing(reads: &mut Reads) -> Result<(Standing, Option<String>), ViewError> {
    match reads.standing() {
        Ok(standing) => Ok((standing, None)),
        Err(error @ (LedgerError::Newer { .. } | LedgerError::Gone { .. })) => Err(error.into()),
        Err(error) => Ok((Standing::default(), Some(error.to_string()))),
    }
}

/// What became of the writer's jobs, and a damaged ledger as one of them.
fn troubles(reads: &mut Reads, now: Timestamp) -> Result<Runs, ViewError> {
    let mut runs = jobs(reads);
    let (standing, unreadable) = standing(reads)?;
    let damaged = standing.damage.map(|damage| {
        let waiting = if damage.stops_writes() { "; writes wait in the spool" } else { "" };
        format!("{}{waiting}", damage.loss.fault)
    });
    if let Some(detail) = damaged.or(unreadable) {
        let run = JobRun { last_run_at: now, took_ms: 0, outcome: schedule::Outcome::Attention, detail };
        runs.0.insert(attention::LEDGER.to_owned(), run);
    }
    Ok(runs)
}

fn status(reads: &mut Reads, now: Timestamp) -> Result<(StatusView, LeftOut), ViewError> {
    let horizon = reads.horizon();
    // What waits now did not wait then.
    let spooled = if horizon.is_none() { Spool::of(reads.workspace()).waiting() } else { 0 };
    let jobs = jobs(reads);
    let (Standing { damage, unsealed, .. }, unreadable) = standing(reads)?;
    let workspace = reads.workspace().root().display().to_string();
    let ledger = reads.readable_ledger().filter(|_| unreadable.is_none());
    let head = ledger.map(ledger::Reader::head).transpose()?.map_or(0, |head| head.seq);
    let ledger_seq = horizon.unwrap_or(head);
    let denials = ledger.map(|ledger| ledger.count(MemoryDenied::KIND, horizon)).transpose()?.unwrap_or(0);
    let memory = reads.workspace().memory().display().to_string();
    let mut status = StatusView {
        workspace,
        memory,
        ledger_seq,
        folded_seq: 0,
        counts: Counts::default(),
        agents_seen: 0,
        spooled,
        denials,
        rejected: Vec::new(),
        jobs,
        stops_writes: unreadable.is_some() || damage.as_ref().is_some_and(Damage::stops_writes),
        damage: damage.map(|damage| damage.loss.fault).or(unreadable),
        unsealed,
    };
    let asked = reads.ask(now, |store| {
        status.folded_seq = store.folded()?.seq;
        status.counts = store.counts()?;
        status.agents_seen = store.agents()?.len() as u64;
        status.rejected = store.rejected_commands(REJECTED_SHOWN)?;
        Ok(())
    });
    let left_out = match asked {
        // As for attention: no writer folds a damaged ledger.
        Err(StoreError::Unmade) if status.damage.is_some() => LeftOut::default(),
        asked => asked?.1,
    };
    // The writer may have appended between the two reads; that is not being behind.
    status.ledger_seq = status.ledger_seq.max(status.folded_seq);
    Ok((status, left_out))
}

fn agents(config: &Config, seen: &[crate::store::AgentActivity], live: &BTreeSet<String>) -> Vec<AgentView> {
    let activity = |name: &str| seen.iter().find(|activity| activity.agent == name);
    let on_roster = config.roster.agents().iter().map(|agent| AgentView {
        agent: agent.to_string(),
        aliases: config.roster.aliases_of(agent).map(str::to_owned).collect(),
        on_roster: true,
        last_seen_at: activity(agent.as_str()).map(|activity| activity.last_seen_at),
        claims: activity(agent.as_str()).map_or(0, |activity| activity.claims),
        live: live.contains(agent.as_str()),
    });
    let gone = seen
        .iter()
        .filter(|activity| !config.roster.agents().iter().any(|agent| agent.as_str() == activity.agent))
        .map(|activity| AgentView {
            agent: activity.agent.clone(),
            aliases: Vec::new(),
            on_roster: false,
            last_seen_at: Some(activity.last_seen_at),
            claims: activity.claims,
            live: live.contains(&activity.agent),
        });
    on_roster.chain(gone).collect()
}

fn page(seq: u64, json: Value, text: String) -> Answer {
    Answer { seq, json, text, mime_type: "text/markdown", next: None, left_out: 0 }
}

impl Answer {
    fn followed_by(self, parameter: &'static str, value: Option<impl ToString>) -> Self {
        let next = value.map(|value| Next { parameter, value: value.to_string() });
        Self { next, ..self }
    }

    /// Says how many rows were left out; a context says so in its own words.
    fn without(mut self, rows: u64) -> Self {
        if rows > 0 {
            self.json["left_out"] = rows.into();
            if self.mime_type == "text/markdown" {
                self.text.push_str(&without(rows));
            }
        }
        Self { left_out: rows, ..self }
    }
}

fn to_json(view: &impl Serialize) -> Value {
    serde_json::to_value(view).expect("views are plain data with string keys")
}

/// A claim for programs: what is stored, and how far it can be trusted now.
fn with_trust(mut json: Value, claim: &ClaimSummary, now: Timestamp) -> Value {
    // Two places, as everywhere: more would be noise of the clock.
    json["effective_confidence"] = json!((claim.effective_confidence(now) * 100.0).round() / 100.0);
    json
}

fn shown(claims: &[ClaimSummary], now: Timestamp) -> Vec<Value> {
    claims.iter().map(|claim| with_trust(to_json(claim), claim, now)).collect()
}

fn claims_page(seq: u64, claims: &ClaimPage, what: &str, now: Timestamp) -> Answer {
    let mut json = to_json(claims);
    json["claims"] = shown(&claims.claims, now).into();
    page(seq, json, markdown::claims(claims, what, now)).followed_by("cursor", claims.next)
}

fn search_page(seq: u64, found: &SearchPage, now: Timestamp) -> Answer {
    let hits: Vec<Value> = found.hits.iter().map(|hit| with_trust(to_json(hit), &hit.claim, now)).collect();
    let mut json = to_json(found);
    json["hits"] = hits.into();
    page(seq, json, markdown::search(found, now)).followed_by("cursor", found.next.as_ref())
}

fn decisions_page(seq: u64, decisions: &DecisionPage, whole: bool, now: Timestamp) -> Answer {
    page(seq, to_json(decisions), markdown::decisions(decisions, whole, now))
        .followed_by("cursor", decisions.next)
}

fn contradictions_page(seq: u64, contradictions: &ContradictionPage, now: Timestamp) -> Answer {
    let shown: Vec<_> = contradictions.contradictions.iter().map(attention::with_moves).collect();
    let mut json = to_json(contradictions);
    json["contradictions"] = to_json(&shown);
    page(seq, json, markdown::contradictions(contradictions, now)).followed_by("cursor", contradictions.next)
}

fn targets_page(seq: u64, targets: &[Target]) -> Answer {
    page(seq, json!({ "targets": targets }), markdown::targets(targets))
}

fn claim_page(seq: u64, claim: &ClaimView, ran: &BTreeMap<String, CommandRan>, now: Timestamp) -> Answer {
    let mut json = with_trust(to_json(claim), &claim.summary, now);
    if !ran.is_empty() {
        json["commands"] = ran.iter().map(|(event, ran)| (event.clone(), to_json(ran))).collect();
    }
    page(seq, json, markdown::claim(claim, ran, now))
}

fn agents_page(seq: u64, agents: &[AgentView], now: Timestamp) -> Answer {
    page(seq, json!({ "agents": agents }), markdown::agents(agents, now))
}
