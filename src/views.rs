//! Every question that a resource or a CLI verb can ask, answered from the read side. Each question has a file with its answer
//! and the events that change it.

mod about;
mod agents;
mod anchors;
mod answer;
mod asked;
mod asking;
mod attention;
mod awaited;
mod beliefs;
mod briefing;
mod briefs;
mod claim;
mod claims;
mod context;
mod contradictions;
mod decisions;
mod delta;
mod digest;
mod error;
mod events;
mod experiments;
mod explain;
mod last_change;
mod markdown;
mod names;
mod patterns;
mod ran;
mod receipt;
mod rows;
mod search;
mod sessions;
mod status;
mod targets;
mod unfinished;
mod versions;
mod why;
mod work;

use serde::Serialize;
use serde_json::Value;

use crate::config::Config;
use crate::domain::agent::AgentId;
use crate::domain::event::{Event, Recorded};
use crate::domain::ids::{ClaimId, EventId, PatternId, RunId, TaskId};
use crate::domain::scope::Scope;
use crate::domain::time::{Moment, Timestamp};
use crate::ledger;
use crate::reads::Reads;
use crate::store::{
    ClaimFilter, ClaimPage, ContradictionFilter, DecisionFilter, ExperimentFilter, Search, SearchPage,
    TaskFilter,
};
use asking::Asking;

pub use answer::{Answer, Body, Format, Next, without};
pub use asked::{agent_called, asked};
pub use attention::Kind as AttentionKind;
pub use briefing::briefing;
pub use briefs::held;
pub use claims::Listed;
pub use context::{ContextOf, UNSEATED, turn0};
pub use delta::{Delta, Known, delta, delta_after, delta_with};
pub use error::ViewError;
pub use events::{EventView, event_line, is_noise, log};
pub use experiments::{Stream, broken_artifacts, experiment_json, failure, outcome, profiles_for};
pub use markdown::{inline, listed};
pub use names::{event, evidence, notice, resolve, session, shortened};
pub use patterns::untold as untold_patterns;
pub use receipt::{cited_lines, mark_at_now, receipt_json, receipt_line, without_known};
pub use rows::{ROWS, Room, Rows, held as held_row, rows};
pub use search::found_through;
pub use unfinished::{gate, presence, unproven};
pub use why::why;

/// Entries of a list page unless the reader asks for another number; some 4,000 tokens.
pub const DEFAULT_LIMIT: usize = 50;

/// The most entries of a list page.
pub const MAX_LIMIT: usize = 500;

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
    /// Open patterns; or all of them older than a position, newest first.
    Patterns(bool, Option<u64>),
    /// One pattern.
    Pattern(PatternId),
}

impl View {
    /// The moments between which what is listed was made.
    fn bounds(&self) -> [Option<Moment>; 3] {
        if let Self::Claims(filter) | Self::Search(Search { filter, .. }) = self {
            [filter.changed_since, filter.since, filter.until]
        } else if let Self::Experiments(filter) = self {
            [None, filter.since, filter.until]
        } else {
            [None; 3]
        }
    }
}

/// Answers one question as it is at `now`.
///
/// # Errors
/// [`ViewError`]; nothing is ever written.
pub fn answer(
    reads: &mut Reads,
    config: &Config,
    view: &View,
    now: Timestamp,
    format: Format,
) -> Result<Answer, ViewError> {
    let now = reads.clock(now);
    let view = &names::with_session(reads, view)?;
    for moment in view.bounds().into_iter().flatten() {
        reads.check(moment)?;
    }
    let asking = &mut Asking { reads, config, now, format };
    match view {
        View::Claims(filter) => claims::answer(asking, filter),
        View::Claim(id) => claim::answer(asking, *id),
        View::Search(search) => search::answer(asking, search),
        View::Decisions(filter) => decisions::answer(asking, filter),
        View::Contradictions(filter) => contradictions::answer(asking, filter),
        View::Contradiction(id) => contradictions::one(asking, *id),
        View::Targets => targets::answer(asking),
        View::Experiments(filter) => experiments::answer(asking, filter),
        View::Experiment(id) => experiments::one(asking, *id),
        View::Output(id, stream) => experiments::output(asking, *id, *stream),
        View::Profiles => experiments::profiles(asking),
        View::Negative(scope, before) => claims::dead_ends(asking, scope.as_ref(), *before),
        View::Agents => agents::answer(asking),
        View::Events(filter) => events::list(asking, filter),
        View::Event(id) => events::one(asking, *id),
        View::Status => status::answer(asking),
        View::Plan(session) => work::plan(asking, session.as_deref()),
        View::Locks => work::locks(asking),
        View::ReadyTasks => work::ready(asking),
        View::Tasks(filter) => work::tasks(asking, filter),
        View::Task(id) => work::task(asking, *id),
        View::Sessions(before, limit) => sessions::answer(asking, *before, *limit),
        View::Session(id) => sessions::one(asking, id),
        View::Turn0(id) => sessions::turn0(asking, id),
        View::Anchors => anchors::answer(asking),
        View::Beliefs(agent, session) => beliefs::answer(asking, agent, session.as_deref()),
        View::Context(of) => context::answer(asking, of),
        View::Explained(of, why) => context::explained(asking, of, *why),
        View::Attention(agent) => attention::answer(asking, agent.as_ref()),
        View::Patterns(all, before) => patterns::answer(asking, *all, *before),
        View::Pattern(id) => patterns::one(asking, *id),
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
    (now, moment): (Timestamp, Option<Moment>),
    format: Format,
) -> Result<Answer, ViewError> {
    match moment {
        None => answer(reads, config, view, now, format),
        Some(moment) => answer(&mut reads.at(moment, now)?, config, view, now, format),
    }
}

/// Whether an event changes the answer to a question.
///
/// # Errors
/// [`ViewError`].
pub fn touched_by(reads: &mut Reads, view: &View, recorded: &Recorded) -> Result<bool, ViewError> {
    // An event of a later version may change anything, and any answer may have shown the text that is erased now.
    let Some(event) = recorded.event.as_ref().filter(|event| !matches!(event, Event::EventRedacted(_)))
    else {
        return Ok(true);
    };
    Ok(match view {
        View::Claims(filter) => claims::touched_by(reads, filter, event)?,
        View::Claim(id) => claim::touched_by(reads, *id, event)?,
        View::Search(search) => search::touched_by(reads, search, event)?,
        View::Decisions(_) => decisions::touched_by(reads, event)?,
        View::Contradictions(_) => contradictions::touched_by(event),
        View::Contradiction(id) => contradictions::one_touched_by(reads, *id, event)?,
        View::Targets => targets::touched_by(event),
        View::Experiments(_) => experiments::touched_by(event),
        View::Experiment(id) | View::Output(id, _) => experiments::one_touched_by(*id, event),
        View::Negative(scope, _) => claims::dead_ends_touched_by(reads, scope.as_ref(), event)?,
        View::Events(filter) => events::touched_by(filter, recorded, event),
        View::Task(id) => work::task_touched_by(*id, event),
        View::Plan(_) | View::ReadyTasks | View::Tasks(_) | View::Locks => work::touched_by(event),
        View::Sessions(..) => sessions::touched_by(event),
        View::Session(id) => sessions::one_touched_by(id, recorded, event),
        View::Turn0(id) => sessions::turn0_touched_by(id, event),
        View::Anchors => anchors::touched_by(event),
        View::Beliefs(agent, _) => beliefs::touched_by(agent, event),
        View::Context(of) | View::Explained(of, _) => context::touched_by(of, recorded, event),
        View::Attention(_) => attention::touched_by(event),
        View::Patterns(..) | View::Pattern(_) => patterns::touched_by(event),
        // Every event counts.
        View::Agents | View::Status => true,
        // An event stays as it is, and profiles are files of the project.
        View::Event(_) | View::Profiles => false,
    })
}

/// Claims that match, for a caller that adds lines of its own. With `latest` these are at most so many of the first page,
/// those that changed last first.
///
/// # Errors
/// [`ViewError`].
pub fn claims(
    (reads, config): (&mut Reads, &Config),
    filter: &ClaimFilter,
    latest: Option<usize>,
    reader: Option<&AgentId>,
    now: Timestamp,
) -> Result<Listed<ClaimPage>, ViewError> {
    for moment in [filter.changed_since, filter.since, filter.until].into_iter().flatten() {
        reads.check(moment)?;
    }
    let now = reads.clock(now);
    claims::list(&mut Asking { reads, config, now, format: Format::Text }, filter, latest, reader)
}

/// Claims that answer a question, for a caller that adds lines of its own.
///
/// # Errors
/// [`ViewError`].
pub fn search(
    (reads, config): (&mut Reads, &Config),
    search: &Search,
    reader: Option<&AgentId>,
    now: Timestamp,
) -> Result<Listed<SearchPage>, ViewError> {
    for moment in [search.filter.since, search.filter.until].into_iter().flatten() {
        reads.check(moment)?;
    }
    let now = reads.clock(now);
    search::list(&mut Asking { reads, config, now, format: Format::Text }, search, reader)
}

fn to_json(view: &impl Serialize) -> Value {
    serde_json::to_value(view).expect("views are plain data with string keys")
}
