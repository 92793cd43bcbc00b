//! The questions of resources and CLI verbs. The read side answers them. Each question has a file with its answer and
//! the events that change the answer.

mod about;
mod agents;
mod amendment;
mod anchors;
mod answer;
mod asked;
mod asking;
mod attention;
mod awaited;
mod beliefs;
mod briefing;
mod briefs;
mod calibration;
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
mod exported;
mod glance;
mod guards;
mod last_change;
mod markdown;
mod memory;
mod names;
mod patterns;
mod phases;
mod plain;
mod playbooks;
mod ran;
mod receipt;
mod rows;
mod search;
mod sessions;
mod status;
mod targets;
mod traces;
mod unfinished;
mod unshown;
mod versions;
mod why;
mod work;

use serde::Serialize;
use serde_json::Value;

use crate::config::Config;
use crate::domain::agent::AgentId;
use crate::domain::event::{Event, Recorded};
use crate::domain::ids::{ClaimId, EventId, PatternId, PlanId, PlaybookId, RunId, TaskId};
use crate::domain::memory::MemoryId;
use crate::domain::scope::Scope;
use crate::domain::time::{Moment, Timestamp};
use crate::ledger;
use crate::reads::Reads;
use crate::store::{
    ClaimFilter, ClaimPage, ContradictionFilter, DecisionFilter, ExperimentFilter, Search, SearchPage,
    TaskFilter,
};
use asking::Asking;

pub use amendment::amendment;
pub use answer::{Answer, Body, Format, Next, Recall, without};
pub use asked::{agent_called, asked};
pub use attention::review::{Waiting, waiting};
pub use attention::{ATTENTION, Kind as AttentionKind, attention_list, proposals_due};
pub use briefing::briefing;
pub use briefs::held;
pub use claims::Listed;
pub use context::{ContextOf, UNSEATED, turn0};
pub use delta::{Delta, Known, delta, delta_after, delta_with};
pub use error::ViewError;
pub use events::{EventView, before as events_before, event_line, is_noise, log, moved};
pub use experiments::{Stream, broken_artifacts, experiment_json, failure, outcome, profiles_for};
pub use exported::exported;
pub use glance::{Glance, glance};
pub use guards::{Looked, is_guard, last_action, silences, silences_text};
pub use markdown::{inline, keep_tags_if, listed};
pub use memory::{MemoryFilter, memory_id};
pub use names::{event, evidence, notice, resolve, session, shortened};
pub use patterns::untold as untold_patterns;
pub use phases::PhaseDiff;
pub use playbooks::{Skill, skills};
pub use receipt::{
    cited_lines, mark_at_now, receipt_json, receipt_line, told_by, without_known, without_known_hint,
};
pub use rows::{Latest, ROWS, Room, RowReader, Rows, Stage, held as held_row, rows, searched, shows_cut};
pub use search::{found_because, found_through};
pub use traces::{TraceFilter, plain_traces, policy_on_record};
pub use unfinished::{alone, gate, peers, presence, unproven};
pub use why::why;

/// Default number of entries on a list page: some 4,000 tokens.
pub const DEFAULT_LIMIT: usize = 50;

/// The maximum number of entries on a list page.
pub const MAX_LIMIT: usize = 500;

/// A question.
#[derive(Debug, Clone, PartialEq)]
pub enum View {
    /// A page of claims.
    Claims(ClaimFilter),
    /// One claim with all its facts.
    Claim(ClaimId),
    /// The hits of a search, best first.
    Search(Search),
    /// A page of decisions.
    Decisions(DecisionFilter),
    /// A page of contradictions.
    Contradictions(ContradictionFilter),
    /// One contradiction, open or ended, with the claims of its sides.
    Contradiction(EventId),
    /// The targets of decisions, each with all its names.
    Targets,
    /// A page of runs.
    Experiments(ExperimentFilter),
    /// One run.
    Experiment(RunId),
    /// The output of a run.
    Output(RunId, Stream),
    /// The profiles that agents may run.
    Profiles,
    /// The guards, and the dead ends that warn.
    Guards,
    /// One guard, or one dead end that warns.
    Guard(uuid::Uuid),
    /// A page of dead ends in force, at a scope or everywhere, older than the page before.
    Negative(Option<Scope>, Option<u64>),
    /// The agents, each with the time of its last event.
    Agents,
    /// Events of the ledger.
    Events(ledger::Filter),
    /// One event.
    Event(EventId),
    /// The state of the workspace.
    Status,
    /// The plans, and the focus of a session. A session without a focus has the team's.
    Plan(Option<String>),
    /// One plan, with its phases and tasks.
    OnePlan(PlanId),
    /// The locks, each with its holder, its reason and its end.
    Locks,
    /// Tasks that an agent can take now.
    ReadyTasks,
    /// Tasks, in any status.
    Tasks(TaskFilter),
    /// One task, with the claims made for it.
    Task(TaskId),
    /// At most this many sessions older than the page before, newest first.
    Sessions(Option<u64>, usize),
    /// One session.
    Session(String),
    /// The text that a session got from its parent.
    Turn0(String),
    /// The anchors with their values.
    Anchors,
    /// The beliefs of an agent at the end of its last session, or of this session.
    Beliefs(AgentId, Option<String>),
    /// The context of an agent at its start.
    Context(ContextOf),
    /// The same without the claims that its session was told and that did not change since.
    Rest(ContextOf),
    /// The reasons for the content of a context, or for one claim in or out of it.
    Explained(ContextOf, Option<ClaimId>),
    /// The entries that need this agent, or any agent.
    Attention(Option<AgentId>),
    /// Open patterns; or all of them older than a position, newest first.
    Patterns(bool, Option<u64>),
    /// One pattern.
    Pattern(PatternId),
    /// The playbooks, proposed, accepted and dismissed.
    Playbooks,
    /// One playbook.
    Playbook(PlaybookId),
    /// How often the judged claims of each agent held.
    Calibration,
    /// A page of what the memory keeps, as items of the contract.
    Memory(MemoryFilter),
    /// One item.
    MemoryItem(MemoryId),
    /// What changed in a space between two of its phases.
    PhaseDiff(PhaseDiff),
    /// A page of traces of the memory contract.
    Traces(TraceFilter),
    /// The traces of the event at this position.
    Trace(u64),
}

impl View {
    /// The times between which the listed entries were made.
    fn bounds(&self) -> [Option<Moment>; 3] {
        if let Self::Claims(filter) | Self::Search(Search { filter, .. }) = self {
            [filter.changed_since, filter.since, filter.until]
        } else if let Self::Experiments(filter) = self {
            [None, filter.since, filter.until]
        } else if let Self::Memory(filter) = self {
            [None, None, filter.older_than]
        } else if let Self::Traces(filter) = self {
            [None, filter.since, None]
        } else {
            [None; 3]
        }
    }
}

/// Answers one question with the state at `now`.
///
/// # Errors
/// [`ViewError`]. An answer writes nothing.
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
        View::Guards => guards::answer(asking),
        View::Guard(id) => guards::one(asking, &id.to_string()),
        View::Agents => agents::answer(asking),
        View::Events(filter) => events::list(asking, filter),
        View::Event(id) => events::one(asking, *id),
        View::Status => status::answer(asking),
        View::Plan(session) => work::plan(asking, session.as_deref()),
        View::OnePlan(id) => work::one_plan(asking, *id),
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
        View::Rest(of) => context::rest(asking, of),
        View::Explained(of, why) => context::explained(asking, of, *why),
        View::Attention(agent) => attention::answer(asking, agent.as_ref()),
        View::Patterns(all, before) => patterns::answer(asking, *all, *before),
        View::Pattern(id) => patterns::one(asking, *id),
        View::Playbooks => playbooks::answer(asking),
        View::Playbook(id) => playbooks::one(asking, *id),
        View::Calibration => calibration::answer(asking),
        View::Memory(filter) => memory::answer(asking, filter),
        View::MemoryItem(id) => memory::one(asking, id),
        View::PhaseDiff(of) => phases::diff(asking, of),
        View::Traces(filter) => traces::list(asking, filter),
        View::Trace(seq) => traces::one(asking, *seq),
    }
}

/// Answers one question with the state at `then`, or with the current one.
///
/// # Errors
/// [`ViewError`]. An answer writes only to a temporary database.
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
    // An event of a later version may change any answer. An erased text may be in any answer.
    let is_erasure = |event: &&Event| matches!(event, Event::EventRedacted(_) | Event::EventsRedacted(_));
    let Some(event) = recorded.event.as_ref().filter(|event| !is_erasure(event)) else {
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
        View::Guards | View::Guard(_) => guards::touched_by(event),
        View::Events(filter) => events::touched_by(filter, recorded, event),
        View::Task(id) => work::task_touched_by(*id, event),
        View::Plan(_) | View::OnePlan(_) | View::ReadyTasks | View::Tasks(_) | View::Locks => {
            work::touched_by(event)
        }
        View::Sessions(..) => sessions::touched_by(event),
        View::Session(id) => sessions::one_touched_by(id, recorded, event),
        View::Turn0(id) => sessions::turn0_touched_by(id, event),
        View::Anchors => anchors::touched_by(event),
        View::Beliefs(agent, _) => beliefs::touched_by(agent, event),
        View::Context(of) | View::Rest(of) | View::Explained(of, _) => {
            context::touched_by(of, recorded, event)
        }
        View::Attention(_) => attention::touched_by(event),
        View::Patterns(..) | View::Pattern(_) => patterns::touched_by(event),
        View::Playbooks | View::Playbook(_) => playbooks::touched_by(event),
        View::Calibration => calibration::touched_by(event),
        View::Memory(_) | View::MemoryItem(_) | View::PhaseDiff(_) => memory::touched_by(event),
        View::Traces(_) => traces::touched_by(event),
        // Every event counts.
        View::Agents | View::Status => true,
        // An event does not change, and profiles are files of the project.
        View::Event(_) | View::Trace(_) | View::Profiles => false,
    })
}

/// Claims that match a filter, for a caller that adds lines of its own. With `latest` these are the last changed
/// claims of the first page, at most this many, newest change first.
///
/// # Errors
/// [`ViewError`].
pub fn claims(
    (reads, config): (&mut Reads, &Config),
    filter: &ClaimFilter,
    latest: Option<Latest>,
    reader: Option<&AgentId>,
    now: Timestamp,
) -> Result<Listed<ClaimPage>, ViewError> {
    for moment in [filter.changed_since, filter.since, filter.until].into_iter().flatten() {
        reads.check(moment)?;
    }
    let now = reads.clock(now);
    claims::list(&mut Asking { reads, config, now, format: Format::Text }, filter, latest, reader)
}

/// The hits of a search, for a caller that adds lines of its own.
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
