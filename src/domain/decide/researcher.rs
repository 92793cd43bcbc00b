//! Researchers: the start of an agent with a task and a session of its own, and the effects of the end of its run.

use std::collections::BTreeMap;

use super::{Accepted, Mission, experiment, fresh_id, plan, session};
use crate::domain::checkout::Checkout;
use crate::domain::command::{AddTask, SpawnResearcher, SplitSession};
use crate::domain::event::{Event, ExperimentQueued, ResearcherSpawned, TaskClaimed, TaskUpdated};
use crate::domain::experiment::{RunOutcome, RunState};
use crate::domain::ids::{RunId, SessionId};
use crate::domain::plan::{MAX_LEASE_MINUTES, TaskStatus};
use crate::domain::rejection::Rejection;
use crate::domain::session::EndCause;
use crate::domain::state::{Researcher, Run, State};
use crate::domain::text::{Prompt, Reason, Title};
use crate::domain::versions::Versions;

pub(super) fn spawn(
    state: &State,
    (parent, checkout): (Option<&SessionId>, &Checkout),
    spawn: &SpawnResearcher,
    mission: Option<&Mission>,
) -> Result<Accepted, Rejection> {
    let SpawnResearcher { run_id, task_id, prompt, profile, parent_task_id, turn0 } = spawn.clone();
    fresh_id(state, "run_id", run_id.first_event())?;
    if task_id.uuid() == run_id.uuid() {
        return Err(Rejection::invalid("task_id", "a run and its task are two things with an id each"));
    }
    let Some(Mission { agent, plan }) = mission.cloned() else { return Err(experiment::no_profiles()) };
    let title = title(&prompt);
    let child = SessionId::of_researcher(run_id);
    let reason = title.as_str().parse().expect("a title is shorter than a reason");
    let split = SplitSession { child: child.clone(), reason, used_tokens: None, window_tokens: None, turn0 };
    let split = session::handed_over(state, parent, &split)?;
    let add = AddTask {
        meant_for: None,
        task_id,
        title,
        description: None,
        phase_id: None,
        parent_task_id,
        depends_on: vec![],
        scopes: vec![],
    };
    let task = plan::task_added(state, parent, &add)?;
    // The researcher holds the task, so that no other agent takes it, until its session or its run ends.
    let claimed = TaskClaimed {
        task_id,
        session: child.clone(),
        token: 1,
        lease_minutes: MAX_LEASE_MINUTES,
        file_locks: vec![],
        worktree: checkout.worktree.clone(),
    };
    let args = BTreeMap::from([("prompt".to_owned(), prompt.as_str().to_owned())]);
    let checkout = checkout.clone();
    let (claim_id, relation, prediction, series, blocking) = (None, None, None, None, false);
    let versions = Versions::new();
    let queued = ExperimentQueued {
        run_id,
        plan,
        args,
        claim_id,
        relation,
        prediction,
        series,
        blocking,
        checkout,
        versions,
        unfit: None,
        unsaid: None,
        guard_key: None,
    };
    let parent = parent.expect("a split without a session is refused").clone();
    let spawned = ResearcherSpawned { run_id, child: child.clone(), parent, task_id, prompt, profile, agent };
    let mut events: Vec<Event> = vec![queued.into()];
    events.extend(task.events);
    events.extend([claimed.into(), spawned.into()]);
    events.extend(split.events);
    let next = format!("its task is {task_id}; `hivemind://sessions/{child}` shows how it goes");
    Ok(Accepted { events, next: Some(next), ..Accepted::default() })
}

/// The title of its task: the beginning of the prompt, on one line.
fn title(prompt: &Prompt) -> Title {
    let line = prompt.as_str().split_whitespace().collect::<Vec<_>>().join(" ");
    let title = format!("research: {line}");
    let cut = match title.char_indices().nth(Title::MAX_CHARS) {
        None => title,
        Some(_) => title.chars().take(Title::MAX_CHARS - 1).chain(['…']).collect(),
    };
    cut.parse().expect("cut to its bounds, and it begins with a word")
}

/// The events at the end of a researcher's run: the end of its task, and of its session if that is running.
pub(super) fn over(state: &State, run_id: RunId, run: &Run, outcome: &RunOutcome) -> Vec<Event> {
    let Some(Researcher { agent, session, task_id }) = &run.researcher else { return Vec::new() };
    let mut events = Vec::new();
    if let Some(task) = state.work().task(*task_id).filter(|task| !task.status.is_over()) {
        let to = match outcome.state {
            RunState::Succeeded => TaskStatus::Done,
            RunState::Failed
            | RunState::TimedOut
            | RunState::Canceled
            | RunState::Aborted
            | RunState::Queued
            | RunState::Running => TaskStatus::Invalidated,
        };
        let note = Some(how_it_ended(run_id, outcome));
        events.push(TaskUpdated { task_id: *task_id, from: task.status, to, note }.into());
    }
    let has_more = state.work().held_by(session).any(|(held, _)| held != *task_id);
    if state.work().session(session).is_some() || has_more {
        // The event above ends its own task, which then has no holder.
        let of_another =
            |event: &Event| !matches!(event, Event::TaskReleased(freed) if freed.task_id == *task_id);
        let ending = session::ending(state, agent, session, EndCause::Ended);
        events.extend(ending.into_iter().filter(of_another));
    }
    events
}

fn how_it_ended(run_id: RunId, outcome: &RunOutcome) -> Reason {
    let mut text = format!("run {run_id} {}", outcome.state);
    if let Some(problem) = &outcome.problem {
        text.push_str(&format!(": {problem}"));
    } else if let (RunState::Failed, Some(code)) = (outcome.state, outcome.exit_code) {
        text.push_str(&format!(": exit code {code}"));
    } else if let (RunState::Failed, Some(signal)) = (outcome.state, outcome.signal) {
        text.push_str(&format!(": signal {signal}"));
    }
    let cut: String = text.chars().take(Reason::MAX_CHARS).collect();
    cut.parse().expect("cut to its bounds, and it begins with a word")
}
