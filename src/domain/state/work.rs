//! The current work: plans, tasks and their holders, sessions, locks and intents.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use crate::domain::event::{Event, Recorded, ScopesLocked, ScopesReleased, TaskClaimed, TaskUpdated};
use crate::domain::ids::{PhaseId, PlanId, SessionId, TaskId};
use crate::domain::lock::{Lock, Locked, Purpose};
use crate::domain::memory::Authority;
use crate::domain::names::Names;
use crate::domain::plan::{Hold, ReleaseCause, Task, TaskStatus, Trajectory, current_phase};
use crate::domain::scope::Scope;
use crate::domain::session::{EndCause, Session};
use crate::domain::text::{AnchorKey, AnchorValue, UserName};
use crate::domain::time::Timestamp;

/// The current work of the team.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Work {
    /// Each plan, with the highest position of its phases.
    plans: BTreeMap<PlanId, Option<u32>>,
    /// The abandoned plans.
    abandoned: BTreeSet<PlanId>,
    /// Each phase with its plan, its position there, and its number among all phases.
    phases: BTreeMap<PhaseId, (PlanId, u32, usize)>,
    tasks: BTreeMap<TaskId, Task>,
    /// The tasks that each session holds.
    held: BTreeMap<SessionId, BTreeSet<TaskId>>,
    /// The locks of each session without a task. An expired lock is removed at the next lock.
    locks: BTreeMap<SessionId, BTreeMap<Scope, Lock>>,
    /// Running sessions: started or split off, and not ended.
    sessions: BTreeMap<SessionId, Session>,
    /// Every session that ever started or was split off.
    started: BTreeSet<SessionId>,
    trajectory: Option<Trajectory>,
    of_session: BTreeMap<SessionId, Trajectory>,
    /// The values of anchors, by the person in whose space they are, if it is not the project's.
    anchors: BTreeMap<(Option<UserName>, AnchorKey), (AnchorValue, Authority)>,
    /// The authority of the anchor that the next event makes, after a promotion.
    promoted: Option<Authority>,
    names: Names,
}

impl Work {
    /// Whether the plan exists.
    pub fn knows_plan(&self, id: PlanId) -> bool {
        self.plans.contains_key(&id)
    }

    /// Whether the plan was abandoned.
    pub fn is_abandoned(&self, plan: PlanId) -> bool {
        self.abandoned.contains(&plan)
    }

    /// The plans that were not abandoned.
    pub fn open_plans(&self) -> impl Iterator<Item = PlanId> {
        self.plans.keys().copied().filter(|plan| !self.is_abandoned(*plan))
    }

    /// The phases of plans that were not abandoned, except those whose tasks are all over.
    pub fn open_phases(&self) -> Vec<PhaseId> {
        let open = self.phases_with_tasks();
        let goes_on = |phase: &PhaseId| open.get(phase) != Some(&false);
        let of_open = self.phases.iter().filter(|(_, (plan, ..))| !self.is_abandoned(*plan));
        of_open.map(|(phase, _)| *phase).filter(goes_on).collect()
    }

    /// Tasks that are neither done nor invalidated.
    pub fn open_tasks(&self) -> impl Iterator<Item = (TaskId, &Task)> {
        self.tasks.iter().filter(|(_, task)| !task.status.is_over()).map(|(id, task)| (*id, task))
    }

    /// The phases with tasks, and whether one of their tasks is open.
    fn phases_with_tasks(&self) -> BTreeMap<PhaseId, bool> {
        let mut open: BTreeMap<PhaseId, bool> = BTreeMap::new();
        for task in self.tasks.values() {
            let Some(phase) = task.phase_id else { continue };
            *open.entry(phase).or_default() |= !task.status.is_over();
        }
        open
    }

    /// The tasks of a plan that are neither done nor invalidated.
    pub fn open_tasks_of(&self, plan: PlanId) -> impl Iterator<Item = (TaskId, &Task)> {
        let is_in = move |task: &Task| task.phase_id.and_then(|phase| self.plan_of(phase)) == Some(plan);
        self.open_tasks().filter(move |(_, task)| is_in(task))
    }

    /// The position after the last phase of a plan.
    pub fn next_place(&self, plan: PlanId) -> u32 {
        self.plans.get(&plan).copied().flatten().map_or(0, |last| last.saturating_add(1))
    }

    /// The plan of a phase.
    pub fn plan_of(&self, phase: PhaseId) -> Option<PlanId> {
        self.phases.get(&phase).map(|(plan, _, _)| *plan)
    }

    /// The phase in which work continues: this one, or the next of its plan if all of its tasks are over.
    pub fn current_phase(&self, named: PhaseId) -> PhaseId {
        let Some(plan) = self.plan_of(named) else { return named };
        let mut phases: Vec<(u32, usize, PhaseId)> = Vec::new();
        phases.extend(
            self.phases
                .iter()
                .filter(|(_, (of, _, _))| *of == plan)
                .map(|(id, (_, place, number))| (*place, *number, *id)),
        );
        phases.sort_unstable();
        let open = self.phases_with_tasks();
        current_phase(named, phases.into_iter().map(|(_, _, id)| (id, open.get(&id) == Some(&false))))
    }

    /// The task with this id.
    pub fn task(&self, id: TaskId) -> Option<&Task> {
        self.tasks.get(&id)
    }

    /// Held tasks, in the order of their ids. Expired leases are included.
    pub fn held(&self) -> impl Iterator<Item = (TaskId, &Hold)> {
        let held = self.held.values().flatten();
        held.filter_map(|id| Some((*id, self.tasks.get(id)?.hold.as_ref()?)))
    }

    /// Tasks that a session holds. Expired leases are included.
    pub fn held_by(&self, session: &SessionId) -> impl Iterator<Item = (TaskId, &Hold)> {
        let held = self.held.get(session).into_iter().flatten();
        held.filter_map(|id| Some((*id, self.tasks.get(id)?.hold.as_ref()?)))
    }

    /// The locks of all sessions without a task. Expired locks are included.
    pub const fn locks(&self) -> &BTreeMap<SessionId, BTreeMap<Scope, Lock>> {
        &self.locks
    }

    /// The locks of a session without a task. Expired locks are included.
    pub fn locks_of(&self, session: &SessionId) -> impl Iterator<Item = (&Scope, &Lock)> {
        self.locks.get(session).into_iter().flatten()
    }

    /// Every scope locked at `now`, through tasks and by locks.
    pub fn locked(&self, now: Timestamp) -> impl Iterator<Item = Locked<'_>> {
        let through_tasks =
            self.held().filter(move |(_, hold)| hold.until >= now).flat_map(|(task, hold)| {
                let Hold { agent, session, until, worktree, file_locks, .. } = hold;
                let (until, worktree, purpose) = (*until, worktree.as_ref(), Purpose::Task(task));
                file_locks.iter().map(move |scope| Locked { scope, agent, session, until, worktree, purpose })
            });
        let locks =
            self.locks.iter().flat_map(|(session, locks)| locks.iter().map(move |lock| (session, lock)));
        let by_locks =
            locks.filter(move |(_, (_, lock))| lock.until >= now).map(|(session, (scope, lock))| {
                let Lock { agent, why, until, worktree } = lock;
                let (until, worktree, purpose) = (*until, worktree.as_ref(), Purpose::Why(why));
                Locked { scope, agent, session, until, worktree, purpose }
            });
        through_tasks.chain(by_locks)
    }

    /// The running sessions.
    pub fn sessions(&self) -> impl Iterator<Item = (&SessionId, &Session)> {
        self.sessions.iter()
    }

    /// A running session.
    pub fn session(&self, id: &SessionId) -> Option<&Session> {
        self.sessions.get(id)
    }

    /// The number of sessions that ever started or were split off.
    pub fn sessions_started(&self) -> u64 {
        self.started.len() as u64
    }

    /// Whether a session ever started or was split off.
    pub fn has_started(&self, id: &SessionId) -> bool {
        self.started.contains(id)
    }

    /// The focus of a session: the last one set by the session or for the whole team.
    pub fn trajectory(&self, session: Option<&SessionId>) -> Option<&Trajectory> {
        session.and_then(|session| self.of_session.get(session)).or(self.trajectory.as_ref())
    }

    /// The value of an anchor: in the space of a person, or in that of the project.
    pub fn anchor(&self, user: Option<&UserName>, key: &AnchorKey) -> Option<&AnchorValue> {
        self.anchors.get(&(user.cloned(), key.clone())).map(|(value, _)| value)
    }

    /// The authority of an anchor that holds something.
    pub fn authority_of_anchor(&self, user: Option<&UserName>, key: &AnchorKey) -> Option<Authority> {
        self.anchors.get(&(user.cloned(), key.clone())).map(|(_, authority)| *authority)
    }

    /// The short names of all entities.
    pub const fn names(&self) -> &Names {
        &self.names
    }

    /// The short name of a task, a plan or a phase. If it has none, its id.
    pub fn called(&self, id: Uuid) -> String {
        self.names.of(id).map_or_else(|| id.to_string(), |name| name.to_string())
    }

    /// Folds one event. The event first shows that its session is alive.
    pub(super) fn evolve(&mut self, recorded: &Recorded) {
        self.names.evolve(recorded);
        if let Some(session) = &recorded.session {
            self.saw(session, recorded.at);
        }
        let promoted = self.promoted.take();
        let Some(event) = &recorded.event else { return };
        self.follow_anchors(event, recorded, promoted);
        self.follow_plan(event, recorded);
        self.follow_locks(event, recorded);
        self.follow_session(event, recorded);
    }

    /// Extends the leases of a session at each of its events. An expired lease stays expired.
    fn saw(&mut self, session: &SessionId, at: Timestamp) {
        if let Some(alive) = self.sessions.get_mut(session) {
            alive.last_seen = at;
        }
        for task in self.held.get(session).into_iter().flatten() {
            if let Some(hold) = self.tasks.get_mut(task).and_then(|task| task.hold.as_mut())
                && hold.until >= at
            {
                hold.until = at.plus_minutes(hold.lease_minutes);
            }
        }
    }

    fn follow_plan(&mut self, event: &Event, recorded: &Recorded) {
        if let Event::PlanAdded(added) = event {
            self.plans.insert(added.plan_id, None);
        } else if let Event::PlanAbandoned(abandoned) = event {
            self.abandoned.insert(abandoned.plan_id);
        } else if let Event::PhaseAdded(added) = event {
            self.phases.insert(added.phase_id, (added.plan_id, added.order, self.phases.len()));
            // The plan is absent if its event was erased.
            if let Some(last) = self.plans.get_mut(&added.plan_id) {
                *last = (*last).max(Some(added.order));
            }
        } else if let Event::TaskAdded(added) = event {
            let depends_on = added.depends_on.clone();
            let (title, phase_id) = (added.title.clone(), added.phase_id);
            let status = TaskStatus::Open;
            let (scopes, added_by) = (added.scopes.clone(), recorded.agent.clone());
            let (last_token, hold) = (0, None);
            let task = Task { title, status, phase_id, depends_on, scopes, added_by, last_token, hold };
            self.tasks.insert(added.task_id, task);
        } else if let Event::TaskClaimed(claimed) = event {
            self.claim(claimed, recorded);
        } else if let Event::TaskReleased(released) = event {
            self.release(released.task_id);
            if let Some(task) = self.tasks.get_mut(&released.task_id) {
                // If the event of the lease is erased, its token is still not used again.
                task.last_token = task.last_token.max(released.token);
                if task.status == TaskStatus::Active {
                    task.status = TaskStatus::Open;
                }
            }
        } else if let Event::TaskUpdated(TaskUpdated { task_id, to, .. }) = event {
            if let Some(task) = self.tasks.get_mut(task_id) {
                task.status = *to;
            }
            if to.is_over() {
                self.release(*task_id);
            }
        } else if let Event::IntentDeclared(declared) = event {
            match &recorded.session {
                Some(session) => {
                    self.of_session.insert(session.clone(), declared.trajectory.clone());
                }
                // An intent without a session replaces the intent of every session.
                None => self.of_session.values_mut().for_each(|own| own.clone_from(&declared.trajectory)),
            }
            if !declared.own {
                self.trajectory = Some(declared.trajectory.clone());
            }
        }
    }

    fn claim(&mut self, claimed: &TaskClaimed, recorded: &Recorded) {
        self.release(claimed.task_id);
        // A task without its event cannot be held, because no rule could end the hold.
        let Some(task) = self.tasks.get_mut(&claimed.task_id) else { return };
        task.status = TaskStatus::Active;
        task.last_token = claimed.token;
        task.hold = Some(Hold {
            agent: recorded.agent.clone(),
            session: claimed.session.clone(),
            token: claimed.token,
            lease_minutes: claimed.lease_minutes,
            until: recorded.at.plus_minutes(claimed.lease_minutes),
            file_locks: claimed.file_locks.clone(),
            worktree: claimed.worktree.clone(),
        });
        self.held.entry(claimed.session.clone()).or_default().insert(claimed.task_id);
    }

    fn release(&mut self, id: TaskId) {
        let Some(hold) = self.tasks.get_mut(&id).and_then(|task| task.hold.take()) else { return };
        if let Some(held) = self.held.get_mut(&hold.session) {
            held.remove(&id);
            if held.is_empty() {
                self.held.remove(&hold.session);
            }
        }
    }

    fn follow_locks(&mut self, event: &Event, recorded: &Recorded) {
        if let Event::ScopesLocked(ScopesLocked { session, scopes, until, why, worktree }) = event {
            self.keep_locks(|_, _, lock| lock.until >= recorded.at);
            let held = self.locks.entry(session.clone()).or_default();
            for scope in scopes {
                let (agent, worktree) = (recorded.agent.clone(), worktree.clone());
                held.insert(scope.clone(), Lock { agent, why: why.clone(), until: *until, worktree });
            }
        } else if let Event::ScopesReleased(ScopesReleased { session, scopes }) = event {
            self.keep_locks(|of, scope, _| of != session || !scopes.contains(scope));
        } else if let Event::SessionEnded(ended) = event {
            self.locks.remove(&ended.session);
        }
    }

    fn keep_locks(&mut self, is_kept: impl Fn(&SessionId, &Scope, &Lock) -> bool) {
        self.locks.retain(|session, locks| {
            locks.retain(|scope, lock| is_kept(session, scope, lock));
            !locks.is_empty()
        });
    }

    fn follow_session(&mut self, event: &Event, recorded: &Recorded) {
        if let Event::SessionStarted(started) = event {
            let session = Session { agent: recorded.agent.clone(), last_seen: recorded.at };
            self.sessions.insert(started.session.clone(), session);
            self.started.insert(started.session.clone());
        } else if let Event::AgentSeated(seated) = event {
            let session = Session { agent: seated.agent.clone(), last_seen: recorded.at };
            self.sessions.insert(seated.session.clone(), session);
            self.started.insert(seated.session.clone());
        } else if let Event::SessionEnded(ended) = event {
            self.sessions.remove(&ended.session);
            // A session that only fell silent keeps its intent.
            if ended.cause == EndCause::Ended {
                self.of_session.remove(&ended.session);
            }
        } else if let Event::ResearcherSpawned(spawned) = event {
            let session = Session { agent: spawned.agent.clone(), last_seen: recorded.at };
            self.sessions.entry(spawned.child.clone()).or_insert(session);
            self.started.insert(spawned.child.clone());
        } else if let Event::SessionSplit(split) = event {
            // The agent of a researcher differs from the agent that started it. Its entry exists already.
            let session = Session { agent: recorded.agent.clone(), last_seen: recorded.at };
            self.sessions.entry(split.child.clone()).or_insert(session);
            self.started.insert(split.child.clone());
            // The child starts with the parent's focus.
            if let Some(trajectory) = self.of_session.get(&split.parent).cloned() {
                self.of_session.insert(split.child.clone(), trajectory);
            }
        }
    }

    /// An anchor has the authority of its author, or that with which it was promoted.
    fn follow_anchors(&mut self, event: &Event, recorded: &Recorded, promoted: Option<Authority>) {
        if let Event::MemoryPromoted(of) = event {
            self.promoted = Some(of.authority_used);
        } else if let Event::AnchorSaved(saved) = event {
            let authority = promoted.unwrap_or_else(|| Authority::of_speaker(&recorded.agent));
            let key = (saved.user.clone(), saved.key.clone());
            self.anchors.insert(key, (saved.value.clone(), authority));
        } else if let Event::AnchorRetired(retired) = event {
            self.anchors.remove(&(retired.user.clone(), retired.key.clone()));
        }
    }

    /// The event that frees a task, if a session holds it.
    pub fn freed(&self, id: TaskId, cause: ReleaseCause) -> Option<Event> {
        let token = self.tasks.get(&id)?.hold.as_ref()?.token;
        Some(crate::domain::event::TaskReleased { task_id: id, token, cause }.into())
    }
}
