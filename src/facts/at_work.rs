//! Who is at work: the agents of open sessions of clients, and the agents that hold a task, a lock or a run. A client
//! without hooks opens no session, and in one session several agents may write.

use super::{Lock, Locks, Run, Runs, Session, Sessions, Task, Tasks, asked};
use crate::config::Config;
use crate::domain::experiment::RunState;
use crate::domain::plan::TaskStatus;
use crate::domain::rejection::Rejection;
use crate::domain::time::Timestamp;
use crate::reads::Reads;
use crate::store::{ExperimentFilter, TaskFilter};
use crate::views::{MAX_LIMIT, View};

/// Sessions that are looked at for those that are open.
const SESSIONS: usize = 100;

/// What is read about the present work.
pub(crate) struct AtWork {
    sessions: Vec<Session>,
    tasks: Vec<Task>,
    locks: Vec<Lock>,
    runs: Vec<Run>,
}

/// An agent at work in a session.
pub(crate) struct Worker<'a> {
    pub(crate) agent: &'a str,
    /// The id of the session. Empty for a run that no session requested.
    session: &'a str,
    /// The session, if a client opened it and it did not end.
    pub(crate) opened: Option<&'a Session>,
    pub(crate) tasks: Vec<&'a Task>,
    pub(crate) locks: Vec<&'a Lock>,
    pub(crate) runs: Vec<&'a Run>,
}

impl AtWork {
    pub(crate) fn read(reads: &mut Reads, config: &Config, now: Timestamp) -> Result<Self, Rejection> {
        let (mut sessions, _) = asked::<Sessions>(reads, config, &View::Sessions(None, SESSIONS), now)?;
        sessions.sessions.retain(|session| session.ended_at.is_none());
        let active =
            TaskFilter { status: vec![TaskStatus::Active], limit: MAX_LIMIT, ..TaskFilter::default() };
        let (mut tasks, _) = asked::<Tasks>(reads, config, &View::Tasks(active), now)?;
        // A lease that is over ends when the writer records it.
        tasks.tasks.retain(|task| task.lease_until.is_some_and(|until| until > now.ms()));
        let (locks, _) = asked::<Locks>(reads, config, &View::Locks, now)?;
        let mut runs = Vec::new();
        for status in [RunState::Running, RunState::Queued] {
            let filter =
                ExperimentFilter { status: Some(status), limit: MAX_LIMIT, ..ExperimentFilter::default() };
            runs.extend(asked::<Runs>(reads, config, &View::Experiments(filter), now)?.0.experiments);
        }
        Ok(Self { sessions: sessions.sessions, tasks: tasks.tasks, locks: locks.locks, runs })
    }

    /// The agents at work, those of the open sessions first.
    pub(crate) fn workers(&self) -> Vec<Worker<'_>> {
        let mut workers: Vec<Worker<'_>> =
            self.sessions.iter().map(|of| Worker::new(&of.agent, &of.session, Some(of))).collect();
        for task in &self.tasks {
            let holder = task.holder.as_deref().unwrap_or_default();
            self.of(&mut workers, holder, task.session.as_deref().unwrap_or_default()).tasks.push(task);
        }
        for lock in &self.locks {
            self.of(&mut workers, &lock.agent, &lock.session).locks.push(lock);
        }
        for run in &self.runs {
            let session = run.session.as_deref().unwrap_or_default();
            self.of(&mut workers, &run.requested_by, session).runs.push(run);
        }
        workers
    }

    /// The worker of an agent in a session, which is added if it is new.
    fn of<'w, 'a>(
        &'a self,
        workers: &'w mut Vec<Worker<'a>>,
        agent: &'a str,
        session: &'a str,
    ) -> &'w mut Worker<'a> {
        let is_it = |known: &Worker<'_>| known.session == session && known.agent == agent;
        let at = workers.iter().position(is_it).unwrap_or_else(|| {
            let opened = self.sessions.iter().find(|open| open.session == session);
            workers.push(Worker::new(agent, session, opened));
            workers.len() - 1
        });
        &mut workers[at]
    }
}

impl<'a> Worker<'a> {
    const fn new(agent: &'a str, session: &'a str, opened: Option<&'a Session>) -> Self {
        Self { agent, session, opened, tasks: Vec::new(), locks: Vec::new(), runs: Vec::new() }
    }
}
