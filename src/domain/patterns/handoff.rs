//! Hand-off loops: a task comes back to an agent that had it, without progress between.

use std::collections::{BTreeMap, BTreeSet};

use super::{Book, Found, Subject, overlap};
use crate::domain::agent::AgentId;
use crate::domain::claim::Status;
use crate::domain::event::{Event, Recorded};
use crate::domain::experiment::RunState;
use crate::domain::ids::TaskId;
use crate::domain::pattern::{PatternEnd, PatternKind, Repeats};
use crate::domain::plan::TaskStatus;
use crate::domain::scope::Scope;
use crate::domain::state::State;
use crate::domain::text::folded;
use crate::domain::time::{Hours, Timestamp};

/// The time over which returns are counted.
const WITHIN: Hours = Hours(2);
/// How many returns make a loop.
const RETURNS: usize = 2;
/// The most hand-overs and blockers of a task that are kept.
const MAX_KEPT: usize = 32;
/// Words of a command that checks something.
const CHECKS: [&str; 11] =
    ["test", "tests", "pytest", "check", "jest", "vitest", "clippy", "build", "tsc", "lint", "verify"];

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Handoff {
    tasks: BTreeMap<TaskId, Track>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Track {
    scopes: Vec<Scope>,
    /// The holders, each with the time and position of the hand-over. Two neighbours differ.
    holders: Vec<(AgentId, Timestamp, u64)>,
    /// What blocked the task.
    blockers: Vec<(String, Timestamp, u64)>,
    /// Whether the holder edited a file since it took the task.
    has_edited: bool,
}

impl Track {
    /// How often the task came back: holders that had it before the last one, and blockers that were named before.
    fn returns(&self) -> usize {
        let holders = self.holders.iter().map(|(agent, ..)| agent);
        let back = holders.enumerate().filter(|(at, agent)| {
            self.holders[..at.saturating_sub(1)].iter().any(|(before, ..)| before == *agent)
        });
        let blockers = self.blockers.iter().map(|(text, ..)| text).enumerate();
        let again =
            blockers.filter(|(at, text)| self.blockers[..*at].iter().any(|(before, ..)| before == *text));
        let back = back.count();
        // A blocker alone is no hand-over: the task has to come back to an agent at least once.
        if back == 0 { 0 } else { back + again.count() }
    }

    fn start_again(&mut self) {
        self.blockers.clear();
        self.holders = self.holders.pop().into_iter().collect();
        self.has_edited = false;
    }

    fn forget(&mut self, now: Timestamp) {
        let last = self.holders.last().cloned();
        self.holders.retain(|(_, at, _)| at.is_within(WITHIN, now));
        if self.holders.is_empty() {
            self.holders.extend(last);
        }
        self.blockers.retain(|(_, at, _)| at.is_within(WITHIN, now));
        let extra = self.holders.len().saturating_sub(MAX_KEPT);
        self.holders.drain(..extra);
        let extra = self.blockers.len().saturating_sub(MAX_KEPT);
        self.blockers.drain(..extra);
    }
}

fn subject(task: TaskId) -> Subject {
    Subject::new(PatternKind::HandoffLoop, None, &task.to_string())
}

impl Handoff {
    #[expect(clippy::wildcard_enum_match_arm, reason = "a detector reads a few kinds of events")]
    pub(super) fn evolve(&mut self, state: &State, recorded: &Recorded, event: &Event, book: &mut Book) {
        match event {
            Event::TaskAdded(added) => {
                let track = Track { scopes: added.scopes.clone(), ..Track::default() };
                self.tasks.insert(added.task_id, track);
            }
            Event::TaskClaimed(claimed) => self.handed(recorded, claimed.task_id, book),
            Event::TaskUpdated(updated) if updated.to.is_over() => {
                self.tasks.remove(&updated.task_id);
                let why =
                    if updated.to == TaskStatus::Done { PatternEnd::Progress } else { PatternEnd::Over };
                book.close(&subject(updated.task_id), why, recorded.at);
            }
            Event::TaskUpdated(updated) if updated.to == TaskStatus::Blocked => {
                if let Some(note) = &updated.note {
                    let text = folded(note.as_str());
                    self.blocked(recorded, updated.task_id, text, book);
                }
            }
            Event::StatusChanged(change) if change.to == Status::Confirmed => {
                if let Some(claim) = state.claim(change.claim_id) {
                    self.progress(recorded, &claim.scopes, &claim.owner, book);
                }
            }
            Event::ExperimentCompleted(ended) if ended.outcome.state == RunState::Succeeded => {
                if let Some(run) = state.run(ended.run_id) {
                    let claim = run.claim.and_then(|id| state.claim(id));
                    let scopes = claim.map(|claim| claim.scopes.clone()).unwrap_or_default();
                    self.progress(recorded, &scopes, &run.requested_by, book);
                }
            }
            Event::FileEdited(_) => self.by_holder(state, recorded, |track| track.has_edited = true),
            Event::CommandRan(ran) if ran.passed() && ran.exit_code.is_none_or(|exit| exit == 0) => {
                let mut words = ran.command.as_str().split(|c: char| !c.is_ascii_alphanumeric());
                if words.any(|word| CHECKS.contains(&word)) {
                    let mut moved = BTreeSet::new();
                    let Some(session) = &recorded.session else { return };
                    for (task, _) in state.work().held_by(session) {
                        if let Some(track) = self.tasks.get_mut(&task).filter(|track| track.has_edited) {
                            track.start_again();
                            moved.insert(task);
                        }
                    }
                    moved
                        .iter()
                        .for_each(|task| book.close(&subject(*task), PatternEnd::Progress, recorded.at));
                }
            }
            _ => {}
        }
    }

    fn by_holder(&mut self, state: &State, recorded: &Recorded, change: impl Fn(&mut Track)) {
        let Some(session) = &recorded.session else { return };
        for (task, _) in state.work().held_by(session) {
            self.tasks.get_mut(&task).into_iter().for_each(&change);
        }
    }

    fn handed(&mut self, recorded: &Recorded, task: TaskId, book: &mut Book) {
        let Some(track) = self.tasks.get_mut(&task) else { return };
        if track.holders.last().is_some_and(|(agent, ..)| *agent == recorded.agent) {
            return;
        }
        track.holders.push((recorded.agent.clone(), recorded.at, recorded.seq));
        track.has_edited = false;
        track.forget(recorded.at);
        Self::check(track, task, recorded, book);
    }

    fn blocked(&mut self, recorded: &Recorded, task: TaskId, text: String, book: &mut Book) {
        let Some(track) = self.tasks.get_mut(&task) else { return };
        track.blockers.push((text, recorded.at, recorded.seq));
        track.forget(recorded.at);
        Self::check(track, task, recorded, book);
    }

    fn check(track: &Track, task: TaskId, recorded: &Recorded, book: &mut Book) {
        let returns = track.returns();
        if returns < RETURNS {
            return;
        }
        let holders = track.holders.iter().map(|(_, at, seq)| (*at, *seq));
        let events: Vec<(Timestamp, u64)> =
            holders.chain(track.blockers.iter().map(|(_, at, seq)| (*at, *seq))).collect();
        let since = events.iter().map(|(at, _)| *at).min().unwrap_or(recorded.at);
        let agents: BTreeSet<AgentId> = track.holders.iter().map(|(agent, ..)| agent.clone()).collect();
        let period = u32::try_from(agents.len()).ok();
        book.open(Found {
            subject: subject(task),
            agents,
            task: Some(task),
            scopes: track.scopes.clone(),
            rests_on: events.iter().map(|(_, seq)| *seq).collect(),
            repeats: Repeats { period, ..Repeats::of(returns as u32, since) },
            at: recorded.at,
        });
    }

    /// Something was settled about these scopes. Tasks without scopes go by their holders.
    fn progress(&mut self, recorded: &Recorded, scopes: &[Scope], agent: &AgentId, book: &mut Book) {
        for (task, track) in &mut self.tasks {
            let is_its = if track.scopes.is_empty() || scopes.is_empty() {
                track.holders.iter().any(|(holder, ..)| holder == agent)
            } else {
                overlap(&track.scopes, scopes)
            };
            if is_its && !track.holders.is_empty() {
                track.start_again();
                book.close(&subject(*task), PatternEnd::Progress, recorded.at);
            }
        }
    }
}
