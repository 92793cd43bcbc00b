//! Escalations: events about one place get sharper, by several agents, and nothing resolves the dispute.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use uuid::Uuid;

use super::{Book, Found, Subject, overlap};
use crate::domain::agent::AgentId;
use crate::domain::claim::{Position, ReportKind, Status};
use crate::domain::event::{Event, Guard, Recorded};
use crate::domain::experiment::RunState;
use crate::domain::guard::{self, ESCALATES_AFTER, Firing};
use crate::domain::ids::{ClaimId, SessionId, TaskId};
use crate::domain::pattern::{HALF_LIFE, PatternEnd, PatternKind, Repeats};
use crate::domain::plan::TaskStatus;
use crate::domain::scope::Scope;
use crate::domain::state::State;
use crate::domain::time::Timestamp;

/// The most events that are kept.
const MAX_KEPT: usize = 128;
/// How many levels an escalation has at least.
const LEVELS: usize = 3;
/// How many agents it has at least.
const AGENTS: usize = 2;

/// How sharp an event is. The order is that of the levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Challenge,
    FailedRun,
    Guard,
    Blocker,
}

/// The place of a sharp event, and the claim or the task that it is about.
type About = (Vec<Scope>, Option<ClaimId>, Option<TaskId>);

#[derive(Debug, Clone, PartialEq)]
struct Sharp {
    level: Level,
    agent: AgentId,
    scopes: Vec<Scope>,
    claim: Option<ClaimId>,
    task: Option<TaskId>,
    at: Timestamp,
    seq: u64,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Spiral {
    events: VecDeque<Sharp>,
    scopes_of: BTreeMap<TaskId, Vec<Scope>>,
    /// The firings without an outcome yet.
    fired: BTreeMap<SessionId, Vec<(Guard, Firing)>>,
    /// How often a session ignored a guard.
    ignored: BTreeMap<(SessionId, Uuid), u64>,
    /// The open escalations, with their scopes.
    open: BTreeMap<Subject, Vec<Scope>>,
}

impl Spiral {
    #[expect(clippy::wildcard_enum_match_arm, reason = "a detector reads a few kinds of events")]
    pub(super) fn evolve(&mut self, state: &State, recorded: &Recorded, event: &Event, book: &mut Book) {
        for guard in self.escalated(recorded, event) {
            if let Some(about) = about(state, guard) {
                self.sharpen((Level::Guard, recorded.agent.clone()), about, recorded, book);
            }
        }
        let claim = |id: ClaimId| state.claim(id).map(|claim| (claim.scopes.clone(), Some(id), None));
        let sharp = match event {
            Event::TaskAdded(added) => {
                self.scopes_of.insert(added.task_id, added.scopes.clone());
                return;
            }
            Event::SessionEnded(ended) => {
                self.fired.remove(&ended.session);
                self.ignored.retain(|(session, _), _| *session != ended.session);
                return;
            }
            Event::PositionTaken(taken) if taken.position == Position::Challenge && !taken.still => {
                claim(taken.claim_id).map(|about| (Level::Challenge, recorded.agent.clone(), about))
            }
            Event::ExperimentCompleted(ended) => {
                let Some(run) = state.run(ended.run_id) else { return };
                let Some(about) = run.claim.and_then(claim) else { return };
                match ended.outcome.state {
                    RunState::Failed => Some((Level::FailedRun, run.requested_by.clone(), about)),
                    RunState::Succeeded => return self.resolve(recorded, &about.0, about.1, book),
                    RunState::Queued
                    | RunState::Running
                    | RunState::TimedOut
                    | RunState::Canceled
                    | RunState::Aborted => None,
                }
            }
            Event::GuardFired(fired) => {
                let (Guard::Claim(_) | Guard::Rule(_), Some(session)) = (fired.guard, &recorded.session)
                else {
                    return;
                };
                // What a receipt or a notice told has no outcome.
                let (Some(kind), Some(did)) = (fired.kind, fired.did.clone()) else { return };
                self.fired.entry(session.clone()).or_default().push((fired.guard, Firing::of(kind, did)));
                return;
            }
            Event::EventReported(report) if report.kind == ReportKind::Blocker => {
                Some((Level::Blocker, recorded.agent.clone(), (report.paths.clone(), None, None)))
            }
            Event::TaskUpdated(updated) if updated.to == TaskStatus::Blocked => {
                let scopes = self.scopes_of.get(&updated.task_id).cloned().unwrap_or_default();
                Some((Level::Blocker, recorded.agent.clone(), (scopes, None, Some(updated.task_id))))
            }
            Event::TaskUpdated(updated) => {
                if updated.to == TaskStatus::Done {
                    let scopes = self.scopes_of.remove(&updated.task_id).unwrap_or_default();
                    return self.resolve(recorded, &scopes, None, book);
                }
                if updated.to.is_over() {
                    self.scopes_of.remove(&updated.task_id);
                }
                // The blocker is gone.
                self.events.retain(|event| event.task != Some(updated.task_id));
                return;
            }
            Event::StatusChanged(change) if matches!(change.to, Status::Confirmed | Status::Deprecated) => {
                let scopes =
                    state.claim(change.claim_id).map(|claim| claim.scopes.clone()).unwrap_or_default();
                return self.resolve(recorded, &scopes, Some(change.claim_id), book);
            }
            Event::ContradictionResolved(resolved) => {
                let scopes =
                    state.claim(resolved.left.claim_id).map(|claim| claim.scopes.clone()).unwrap_or_default();
                return self.resolve(recorded, &scopes, Some(resolved.left.claim_id), book);
            }
            _ => None,
        };
        let Some((level, agent, about)) = sharp else { return };
        self.sharpen((level, agent), about, recorded, book);
    }

    fn sharpen(
        &mut self,
        (level, agent): (Level, AgentId),
        (scopes, claim, task): About,
        recorded: &Recorded,
        book: &mut Book,
    ) {
        if scopes.is_empty() {
            return;
        }
        self.events.push_back(Sharp {
            level,
            agent,
            scopes,
            claim,
            task,
            at: recorded.at,
            seq: recorded.seq,
        });
        self.events.retain(|event| event.at.is_within(HALF_LIFE, recorded.at));
        while self.events.len() > MAX_KEPT {
            self.events.pop_front();
        }
        self.check(recorded, book);
    }

    /// The guards that a session has ignored so often now that they escalate.
    fn escalated(&mut self, recorded: &Recorded, event: &Event) -> Vec<Guard> {
        let mut ignored = Vec::new();
        let Some(session) = recorded.session.as_ref().filter(|_| guard::decides(event)) else {
            return ignored;
        };
        let Some(open) = self.fired.get_mut(session) else { return ignored };
        open.retain(|(guard, firing)| {
            let outcome = guard::outcome(firing, event);
            ignored.extend(outcome.filter(|outcome| outcome.escalates()).map(|_| *guard));
            outcome.is_none_or(|outcome| outcome == guard::Outcome::Unclear)
        });
        ignored.retain(|guard| {
            let times = self.ignored.entry((session.clone(), guard.uuid())).or_default();
            *times += 1;
            *times == ESCALATES_AFTER
        });
        ignored
    }

    /// The dispute about these scopes is settled.
    fn resolve(&mut self, recorded: &Recorded, scopes: &[Scope], claim: Option<ClaimId>, book: &mut Book) {
        self.events.retain(|event| {
            let is_it = claim.is_some() && event.claim == claim;
            !is_it && !overlap(&event.scopes, scopes)
        });
        self.open.retain(|subject, at| {
            let is_settled = overlap(at, scopes);
            if is_settled {
                book.close(subject, PatternEnd::Resolved, recorded.at);
            }
            !is_settled
        });
    }

    fn check(&mut self, recorded: &Recorded, book: &mut Book) {
        let Some(last) = self.events.back() else { return };
        let about: Vec<&Sharp> =
            self.events.iter().filter(|event| overlap(&event.scopes, &last.scopes)).collect();
        let mut chain: Vec<&Sharp> = Vec::new();
        for event in about.iter().rev() {
            if chain.last().is_some_and(|later| event.level > later.level) {
                break;
            }
            chain.push(event);
        }
        let agents: BTreeSet<AgentId> = chain.iter().map(|event| event.agent.clone()).collect();
        let mut levels: Vec<Level> = chain.iter().map(|event| event.level).collect();
        levels.dedup();
        if levels.len() < LEVELS
            || agents.len() < AGENTS
            || self.open.values().any(|at| overlap(at, &last.scopes))
        {
            return;
        }
        let mut scopes: Vec<Scope> = chain.iter().flat_map(|event| event.scopes.iter().cloned()).collect();
        scopes.sort();
        scopes.dedup();
        scopes.retain(|scope| !scope.is_whole());
        let Some(first) = scopes.first() else { return };
        let subject = Subject::new(PatternKind::EscalationSpiral, None, first.as_str());
        let found = Found {
            subject: subject.clone(),
            agents,
            task: chain.iter().find_map(|event| event.task),
            scopes: scopes.clone(),
            rests_on: chain.iter().map(|event| event.seq).collect(),
            repeats: Repeats::of(chain.len() as u32, chain.last().map_or(recorded.at, |first| first.at)),
            at: recorded.at,
        };
        self.open.insert(subject, scopes);
        book.open(found);
    }
}

/// The place of a guard, and its claim.
fn about(state: &State, guard: Guard) -> Option<About> {
    match guard {
        Guard::Claim(id) => Some((state.claim(id)?.scopes.clone(), Some(id), None)),
        Guard::Rule(id) => {
            let rule = state.guards().rule(id)?;
            let of_claim = rule.claim_id.and_then(|id| state.claim(id)).map(|claim| claim.scopes.as_slice());
            let condition = rule.condition.scope.iter().chain(&rule.condition.paths);
            let scopes = condition.chain(of_claim.unwrap_or_default()).cloned().collect();
            Some((scopes, rule.claim_id, None))
        }
        Guard::Task(_) | Guard::Lock(_) | Guard::Fix(_) => None,
    }
}
