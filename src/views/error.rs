//! Why a question has no answer.

use serde_json::json;

use super::markdown::inline;
use crate::domain::agent::AgentId;
use crate::domain::experiment::RunState;
use crate::domain::ids::{ClaimId, EventId, PatternId, PlanId, RunId, TaskId};
use crate::domain::memory::{MemoryId, Owner, Space};
use crate::domain::names::{Name, Named, Sort};
use crate::domain::phase::PhaseNumber;
use crate::domain::rejection::{Code, Rejection};
use crate::domain::way;
use crate::ledger::LedgerError;
use crate::reads::TravelError;
use crate::store::{Reader, StoreError};

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// No entity has this id or name. The code names the kind of entity.
    #[error("{}", .0.message)]
    NotFound(Box<Rejection>),
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
            ViewError::NotFound(refused) => *refused,
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

impl ViewError {
    /// The refusal of a question about something that is not there. The list is that of what is.
    fn not_found(code: Code, message: String, list: &str) -> Self {
        Self::NotFound(Box::new(Rejection::new(code, message, format!("`hivemind://{list}` shows all"))))
    }

    pub(super) fn no_claim(id: ClaimId) -> Self {
        Self::not_found(Code::UnknownClaim, format!("no claim has the id {id}"), "claims")
    }

    pub(super) fn no_contradiction(id: EventId) -> Self {
        let message = format!("no contradiction has the id {id}");
        // Contradictions have no code of their own. Unknown names of contradictions also get this one.
        Self::not_found(Sort::Contradiction.refusal().0, message, "contradictions")
    }

    pub(super) fn no_run(id: RunId) -> Self {
        Self::not_found(Code::UnknownRun, format!("no run has the id {id}"), "experiments")
    }

    pub(super) fn no_output(id: RunId) -> Self {
        let message = format!("run {id} left no such file");
        let hint = format!("`hivemind://experiments/{id}` shows what it left");
        Self::NotFound(Box::new(Rejection::new(Code::UnknownRun, message, hint)))
    }

    pub(super) fn no_output_yet(id: RunId, status: RunState) -> Self {
        let message = format!("run {id} is {status} and has written no file yet");
        let hint = format!("wait for its end, or look later: `hivemind://experiments/{id}`");
        Self::NotFound(Box::new(Rejection::new(Code::UnknownRun, message, hint)))
    }

    pub(super) fn no_task(id: TaskId) -> Self {
        Self::not_found(Code::UnknownTask, format!("no task has the id {id}"), "tasks")
    }

    pub(super) fn no_plan(id: PlanId) -> Self {
        Self::not_found(Code::UnknownPlan, format!("no plan has the id {id}"), "plan")
    }

    pub(super) fn no_pattern(id: PatternId) -> Self {
        Self::not_found(Code::UnknownPattern, format!("no pattern has the id {id}"), "patterns")
    }

    pub(super) fn no_event(id: EventId) -> Self {
        Self::not_found(Code::UnknownEvidence, format!("no event has the id {id}"), "events")
    }

    pub(super) fn no_session(id: &str) -> Self {
        // A session may have any id, also one that looks like the name of something else.
        let name = id.parse::<Name>().ok().filter(|name| name.of != Named::Session);
        let why = name
            .map(|name| format!(" ({} is for {}, and S for sessions)", name.of.letter(), name.of.nouns()));
        let message = format!("no session is called {}{}", inline(id, 128), why.unwrap_or_default());
        Self::not_found(Code::UnknownSession, message, "sessions")
    }

    /// No text is kept of what a session got when it started.
    pub(super) fn no_turn0(id: &str, name: Option<&str>) -> Self {
        let called = inline(name.unwrap_or(id), 128);
        let message = format!(
            "session {called} started without a hand-over, and the context that a hook gives is not kept"
        );
        let of_it = name.map(|name| format!("&session={name}")).unwrap_or_default();
        let hint = format!("`hivemind://traces?type=memory_recall{of_it}` lists what was named in it");
        Self::NotFound(Box::new(Rejection::new(Code::UnknownSession, message, hint)))
    }

    pub(super) fn no_item(id: &MemoryId) -> Self {
        let id = inline(&id.to_string(), 200);
        let message = format!("the memory keeps no item {id}: it never did, or it was erased");
        Self::not_found(Code::UnknownMemory, message, "memory")
    }

    pub(super) fn no_named_owner(space: Space) -> Self {
        Self::not_found(Code::UnknownMemory, format!("the owner of the {space} space is missing"), "memory")
    }

    pub(super) fn no_phase(space: Space, phase: PhaseNumber, current: PhaseNumber) -> Self {
        let message = format!("the {space} has no {phase}: it is in {current}");
        Self::not_found(Code::UnknownMemory, message, "memory")
    }

    pub(super) fn no_trace(seq: u64) -> Self {
        Self::not_found(Code::UnknownMemory, format!("event #{seq} has no trace"), "traces")
    }

    pub(super) fn no_owner(space: Space, owner: &Owner, project: &Owner) -> Self {
        let whose = match space {
            Space::Project => format!("this project is {project}"),
            Space::System => format!("the system is `{}`", Owner::system()),
            Space::Session | Space::User => "`hivemind://sessions` shows all".to_owned(),
        };
        let message = format!("the memory knows no {space} called {}: {whose}", inline(owner.as_str(), 128));
        Self::not_found(Code::UnknownMemory, message, "memory")
    }

    /// No session of this agent recorded its beliefs.
    pub(super) fn no_beliefs(agent: &AgentId) -> Self {
        let snapshot = way::call("snapshot_beliefs", &json!({}));
        let message = format!("no beliefs of {agent} are written down");
        let hint = format!("the end of a session writes them down, and so does {snapshot}");
        Self::NotFound(Box::new(Rejection::new(Code::UnknownSession, message, hint)))
    }

    /// No claim has this id. The message names the entity that has it.
    pub(super) fn no_claim_but(store: &Reader, id: ClaimId) -> Result<Self, StoreError> {
        let found = if store.contradiction(id.creation_event())?.is_some() {
            format!("{id} is a contradiction: `hivemind://contradictions/{id}`")
        } else if store.task(TaskId::from_uuid(id.uuid()))?.is_some() {
            format!("{id} is a task: `hivemind://tasks/{id}`")
        } else if store.experiment(RunId::from_uuid(id.uuid()))?.is_some() {
            format!("{id} is a run: `hivemind://experiments/{id}`")
        } else {
            return Ok(Self::no_claim(id));
        };
        Ok(Self::not_found(Code::UnknownClaim, found, "claims"))
    }
}
