//! Stalls: a session holds work, and nothing comes from it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Book, Found, PatternPolicy, Subject};
use crate::domain::agent::AgentId;
use crate::domain::claim::Status;
use crate::domain::event::{Event, Guard, Recorded};
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::pattern::{PatternEnd, PatternKind, Repeats};
use crate::domain::plan::ReleaseCause;
use crate::domain::session::{EndCause, Role};
use crate::domain::state::State;
use crate::domain::time::{Hours, Timestamp};

/// After this silence a session is gone, and a stall is no news.
pub const MAX_SILENCE: Hours = Hours(24);

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Stall {
    sessions: BTreeMap<SessionId, Alive>,
}

#[derive(Debug, Clone, PartialEq)]
struct Alive {
    agent: AgentId,
    last: Timestamp,
    seq: u64,
    /// Whether its turn ended, so that it waits for its human.
    waits: bool,
    /// The tasks that it took and neither finished nor gave back. An expired lease does not change that.
    tasks: BTreeSet<TaskId>,
    parent: Option<SessionId>,
}

impl Stall {
    pub(super) fn evolve(&mut self, _state: &State, recorded: &Recorded, book: &mut Book) {
        if let Some(id) = &recorded.session {
            self.heard(id, recorded, book);
        }
        match &recorded.event {
            Some(Event::TaskClaimed(claimed)) => {
                self.lose(claimed.task_id, recorded.at, Some(&claimed.session), book);
                if let Some(alive) = self.sessions.get_mut(&claimed.session) {
                    alive.tasks.insert(claimed.task_id);
                }
            }
            Some(Event::TaskReleased(released)) if released.cause == ReleaseCause::GivenBack => {
                self.lose(released.task_id, recorded.at, None, book);
            }
            Some(Event::TaskUpdated(updated)) if updated.to.is_over() => {
                self.lose(updated.task_id, recorded.at, None, book);
            }
            Some(Event::SessionStarted(started)) => {
                if let Some(alive) = self.sessions.get_mut(&started.session) {
                    alive.parent.clone_from(&started.parent_session);
                }
            }
            Some(Event::SessionSplit(split)) => {
                let child = Alive { parent: Some(split.parent.clone()), ..Alive::of(recorded) };
                self.sessions.entry(split.child.clone()).or_insert(child);
            }
            // A session that only vanished still has its work.
            Some(Event::SessionEnded(ended)) if ended.cause == EndCause::Ended => {
                self.sessions.remove(&ended.session);
                book.close(&subject(&ended.session), PatternEnd::Over, recorded.at);
            }
            _ => {}
        }
        if recorded.seq.is_multiple_of(1_024) {
            // An open stall ends with the tasks of its session.
            self.sessions.retain(|id, alive| {
                alive.last.is_within(MAX_SILENCE, recorded.at) || book.is_open(&subject(id))
            });
        }
    }

    fn heard(&mut self, id: &SessionId, recorded: &Recorded, book: &mut Book) {
        let waits = match &recorded.event {
            Some(Event::TurnRecorded(turn)) => turn.role == Role::Assistant,
            // A hook reminds the session at the end of its turn.
            Some(Event::GuardFired(fired)) => {
                matches!(fired.guard, Guard::Task(_)) && fired.matched.as_str() == "end of turn"
            }
            _ => false,
        };
        match self.sessions.get_mut(id) {
            Some(alive) => {
                (alive.last, alive.seq, alive.waits) = (recorded.at, recorded.seq, waits);
                alive.agent.clone_from(&recorded.agent);
            }
            None => drop(self.sessions.insert(id.clone(), Alive { waits, ..Alive::of(recorded) })),
        }
        if book.open_of(PatternKind::Stall).next().is_some() {
            book.close(&subject(id), PatternEnd::Heard, recorded.at);
        }
    }

    /// A task is over, given back, or another session's.
    fn lose(&mut self, task: TaskId, at: Timestamp, except: Option<&SessionId>, book: &mut Book) {
        for (id, alive) in &mut self.sessions {
            if Some(id) != except && alive.tasks.remove(&task) && alive.tasks.is_empty() {
                book.close(&subject(id), PatternEnd::Over, at);
            }
        }
    }

    pub(super) fn due(
        &self,
        state: &State,
        now: Timestamp,
        policy: &PatternPolicy,
        is_busy: &dyn Fn(&SessionId) -> bool,
        book: &mut Book,
    ) {
        let silent_ms = i64::from(policy.stall_minutes) * 60_000;
        let is_silent = |alive: &Alive| now.ms() - alive.last.ms() >= silent_ms;
        for (id, alive) in &self.sessions {
            if !is_silent(alive) || alive.waits || !alive.last.is_within(MAX_SILENCE, now) {
                continue;
            }
            let waits_for_proof = || {
                let mut pending = state.claims().filter(|(_, claim)| claim.session.as_ref() == Some(id));
                pending.any(|(_, claim)| claim.status == Status::PendingProof)
            };
            if alive.tasks.is_empty() && !waits_for_proof() {
                continue;
            }
            let has_run = || state.unfinished_runs().any(|(_, run)| run.session.as_ref() == Some(id));
            let has_child =
                || self.sessions.values().any(|child| child.parent.as_ref() == Some(id) && !is_silent(child));
            if has_run() || has_child() || is_busy(id) {
                continue;
            }
            book.open(Found {
                subject: subject(id),
                agents: BTreeSet::from([alive.agent.clone()]),
                task: alive.tasks.first().copied(),
                scopes: Vec::new(),
                rests_on: vec![alive.seq],
                repeats: Repeats::of(1, alive.last),
                at: now,
            });
        }
    }
}

impl Alive {
    fn of(recorded: &Recorded) -> Self {
        Self {
            agent: recorded.agent.clone(),
            last: recorded.at,
            seq: recorded.seq,
            waits: false,
            tasks: BTreeSet::new(),
            parent: None,
        }
    }
}

fn subject(id: &SessionId) -> Subject {
    Subject::new(PatternKind::Stall, Some(id), id.as_str())
}
