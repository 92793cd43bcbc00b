//! Plans, phases, tasks and intents: the rights to take and end a task, and the team's focus.

use super::{Accepted, check_list, fresh_id, lock, mined};
use crate::domain::action::first_line;
use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::claim::ClaimType;
use crate::domain::command::{
    AbandonPlan, AddPhase, AddPlan, AddTask, ClaimTask, DeclareIntent, RenamePlan, UpdateTask,
};
use serde_json::json;
use uuid::Uuid;

use crate::domain::event::{
    Event, IntentDeclared, PhaseAdded, PlanAbandoned, PlanAdded, PlanRenamed, TaskAdded, TaskClaimed,
    TaskReleased, TaskUpdated,
};
use crate::domain::ids::{EventId, PhaseId, PlanId, SessionId, TaskId};
use crate::domain::names::{Named, Sort};
use crate::domain::pairs::{Likeness, Reading, likeness};
use crate::domain::plan::{
    Hold, LEASE_MINUTES, MAX_LEASE_MINUTES, ReleaseCause, Task, TaskStatus, Trajectory, check_globs,
};
use crate::domain::receipt::{Warning, WarningCode};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::scope::{MAX_SCOPES, Scope};
use crate::domain::state::State;
use crate::domain::text::Title;
use crate::domain::time::Timestamp;
use crate::domain::tokens::tokens;
use crate::domain::way;

/// The most open tasks with a similar title that the receipt of a new task names.
const MAX_SAME: usize = 2;

pub(super) fn add_plan(state: &State, add: &AddPlan) -> Result<Accepted, Rejection> {
    fresh_id(state, "plan_id", EventId::from_uuid(add.plan_id.uuid()))?;
    let AddPlan { plan_id, title, description, sot_path } = add.clone();
    let name = state.work().names().next(Named::Plan).to_string();
    let phase = way::call("add_phase", &json!({ "plan_id": name, "title": "TITLE" }));
    let look = way::call("declare_intent", &json!({ "intent": "INTENT", "plan_id": name }));
    let next = format!("{phase}, or look at it: {look}");
    Ok(decided(vec![PlanAdded { plan_id, title, description, sot_path }.into()], next))
}

pub(super) fn abandon(
    state: &State,
    agent: &AgentId,
    session: Option<&SessionId>,
    abandon: &AbandonPlan,
    now: Timestamp,
) -> Result<Accepted, Rejection> {
    let AbandonPlan { plan_id, reason } = abandon.clone();
    check_plan(state, plan_id)?;
    let mut events = vec![PlanAbandoned { plan_id, reason }.into()];
    let may_end_any = [AgentId::architect(), AgentId::operator()].contains(agent);
    for (task_id, task) in state.work().open_tasks_of(plan_id) {
        let others = |hold: &&Hold| hold.until >= now && !state.is_own_hold(agent, session, hold);
        if let Some(hold) = task.hold.as_ref().filter(others).filter(|_| !may_end_any) {
            return Err(taken(&name(state, task_id), hold, agent));
        }
        let note = Some("its plan was abandoned".parse().expect("a short reason"));
        let (from, to) = (task.status, TaskStatus::Invalidated);
        events.push(TaskUpdated { task_id, from, to, note }.into());
    }
    let next = match events.len() - 1 {
        0 => "none of its tasks was open".to_owned(),
        1 => "its open task is invalidated".to_owned(),
        tasks => format!("its {tasks} open tasks are invalidated"),
    };
    Ok(decided(events, next))
}

pub(super) fn rename(state: &State, rename: &RenamePlan) -> Result<Accepted, Rejection> {
    let RenamePlan { plan_id, title } = rename.clone();
    check_plan(state, plan_id)?;
    Ok(Accepted { events: vec![PlanRenamed { plan_id, title }.into()], ..Accepted::default() })
}

/// Refuses a plan that does not exist or is abandoned.
fn check_plan(state: &State, id: PlanId) -> Result<(), Rejection> {
    if !state.work().knows_plan(id) {
        return Err(unknown(Sort::Plan, id));
    }
    check_goes_on(state, id)
}

fn check_goes_on(state: &State, id: PlanId) -> Result<(), Rejection> {
    if state.work().is_abandoned(id) {
        return Err(Rejection::new(
            Code::InvalidTransition,
            format!("plan {id} was abandoned, and that is final"),
            "add a new plan for what is left",
        ));
    }
    Ok(())
}

pub(super) fn add_phase(state: &State, add: &AddPhase) -> Result<Accepted, Rejection> {
    fresh_id(state, "phase_id", EventId::from_uuid(add.phase_id.uuid()))?;
    let AddPhase { phase_id, plan_id, title, order } = add.clone();
    let plan_id = match plan_id {
        Some(plan_id) => plan_id,
        None => only_plan(state)?,
    };
    check_plan(state, plan_id)?;
    let order = order.unwrap_or_else(|| state.work().next_place(plan_id));
    let phase = state.work().names().next(Named::Plan).to_string();
    let next = way::call("add_task", &json!({ "phase_id": phase, "title": "TITLE" }));
    Ok(decided(vec![PhaseAdded { phase_id, plan_id, title, order }.into()], next))
}

/// The only plan that is not abandoned.
fn only_plan(state: &State) -> Result<PlanId, Rejection> {
    let open: Vec<PlanId> = state.work().open_plans().collect();
    match open.as_slice() {
        [only] => Ok(*only),
        [] => {
            let plan = way::call("add_plan", &json!({ "title": "TITLE" }));
            Err(Rejection::new(Code::UnknownPlan, "there is no open plan to add a phase to", plan))
        }
        several => {
            let named = several.iter().map(|plan| state.work().called(plan.uuid()));
            let named = named.collect::<Vec<_>>().join(", ");
            let problem = format!("{} plans are open ({named}): say which one", several.len());
            Err(Rejection::invalid("plan_id", problem))
        }
    }
}

/// Warns of open tasks with a similar title, and of those of other agents with a scope of the new one.
fn same_tasks(state: &State, agent: &AgentId, add: &AddTask, now: Timestamp) -> Vec<Warning> {
    let title = &add.title;
    let words = |title: &Title| tokens(title.as_str());
    let (new, reading) = (words(title), Reading::of(title.as_str()));
    let likeness = |task: &Task| {
        let is_same = if new.is_empty() { task.title == *title } else { words(&task.title) == new };
        if is_same {
            return Some("the same");
        }
        (likeness(&Reading::of(task.title.as_str()), &reading) == Some(Likeness::Similar))
            .then_some("nearly the same")
    };
    let warning = |(id, task): (TaskId, &Task)| {
        let is_anothers =
            task.added_by != *agent || task.hold.as_ref().is_some_and(|hold| hold.agent != *agent);
        let shared = || task.scopes.iter().find(|scope| !scope.is_whole() && add.scopes.contains(scope));
        let says = match likeness(task) {
            Some(likeness) => format!("says {likeness}"),
            None => format!("is about {} too", shared().filter(|_| is_anothers)?),
        };
        let (called, title) = (name(state, id), first_line(task.title.as_str()));
        let hold = task.hold.as_ref().filter(|hold| hold.until >= now);
        let by = hold.map_or_else(
            || format!("no session holds it: {}", claim(&called)),
            |hold| format!("{} holds it", hold.agent),
        );
        let message = format!("{called} ({title}) {says}; {by}");
        Some(Warning { code: WarningCode::SimilarTask, message, claim_id: None })
    };
    state.work().open_tasks().filter_map(warning).take(MAX_SAME).collect()
}

pub(super) fn add_task(
    state: &State,
    (agent, session): (&AgentId, Option<&SessionId>),
    add: &AddTask,
    now: Timestamp,
) -> Result<Accepted, Rejection> {
    let mut decision = task_added(state, session, add)?;
    decision.warnings.extend(same_tasks(state, agent, add, now));
    Ok(decision)
}

/// Creates a task, also if similar tasks exist.
pub(super) fn task_added(
    state: &State,
    session: Option<&SessionId>,
    add: &AddTask,
) -> Result<Accepted, Rejection> {
    fresh_id(state, "task_id", EventId::from_uuid(add.task_id.uuid()))?;
    check_list("depends_on", add.depends_on.len())?;
    if add.scopes.len() > MAX_SCOPES {
        return Err(Rejection::invalid("scopes", format!("a task has at most {MAX_SCOPES} scopes")));
    }
    let AddTask { task_id, title, description, phase_id, parent_task_id, mut depends_on, scopes, meant_for } =
        add.clone();
    if let Some(phase) = phase_id {
        check_goes_on(state, state.work().plan_of(phase).ok_or_else(|| unknown(Sort::Phase, phase))?)?;
    }
    // An existing task cannot depend on a new one, so a cycle can only start here.
    if depends_on.contains(&task_id) || parent_task_id == Some(task_id) {
        return Err(Rejection::invalid("depends_on", "a task cannot wait for itself"));
    }
    for id in depends_on.iter().chain(&parent_task_id) {
        known_task(state, *id)?;
    }
    depends_on.sort();
    depends_on.dedup();
    // A subtask belongs to the phase of its parent, not to the phase of the team's focus.
    let phase_id = phase_id.or_else(|| parent_task_id.and_then(|parent| state.work().task(parent)?.phase_id));
    let looking_at = state.work().trajectory(session).and_then(|trajectory| trajectory.phase_id);
    let goes_on =
        |phase: &PhaseId| state.work().plan_of(*phase).is_some_and(|plan| !state.work().is_abandoned(plan));
    let looking_at = looking_at.map(|phase| state.work().current_phase(phase));
    let phase_id = phase_id.or(looking_at).filter(goes_on);
    let mut inbox = String::new();
    let phase_id = phase_id.or_else(|| {
        let open = state.work().open_phases();
        if let [_, _, ..] = open.as_slice() {
            let named = open.iter().map(|phase| state.work().called(phase.uuid()));
            let named = named.collect::<Vec<_>>().join(", ");
            inbox = format!(
                "it is in the inbox, as {} phases are open ({named}) and none was named; ",
                open.len()
            );
        }
        open.first().copied().filter(|_| open.len() == 1)
    });
    let warnings = invalidated(state, &depends_on);
    let claim = claim(&state.work().names().next(Named::Task).to_string());
    let next = match &meant_for {
        Some(agent) if state.work().sessions().all(|(_, open)| open.agent != *agent) => {
            format!(
                "{inbox}meant for {agent}, who has no session now and reads of it at the start of one: {claim}"
            )
        }
        Some(agent) => format!("{inbox}meant for {agent}: {claim}"),
        None => format!("{inbox}before working on it: {claim}"),
    };
    let added =
        TaskAdded { task_id, title, description, phase_id, parent_task_id, depends_on, scopes, meant_for };
    Ok(Accepted { warnings, ..decided(vec![added.into()], next) })
}

pub(super) fn claim_task(
    state: &State,
    agent: &AgentId,
    (session, checkout): (Option<&SessionId>, &Checkout),
    claim: &ClaimTask,
    now: Timestamp,
) -> Result<Accepted, Rejection> {
    check_globs("file_locks", &claim.file_locks)?;
    let session = session
        .ok_or_else(|| Rejection::invalid("session", "a task is held by a session, and none is named"))?;
    let mut lease_minutes = claim.lease_minutes.unwrap_or(LEASE_MINUTES);
    if !(1..=MAX_LEASE_MINUTES).contains(&lease_minutes) {
        let problem = format!("a lease is 1 to {MAX_LEASE_MINUTES} minutes, this one {lease_minutes}");
        return Err(Rejection::invalid("lease_minutes", problem));
    }
    let asked: Vec<Scope> = claim.file_locks.iter().map(|lock| state.canonical(lock).clone()).collect();
    let mut file_locks = asked.clone();
    let task_id = claim.task_id;
    let task = known_task(state, task_id)?;
    let called = name(state, task_id);
    if task.status.is_over() {
        return Err(over(&called, task.status, TaskStatus::Active));
    }
    let mut decision = Accepted::default();
    let mut token = task.last_token + 1;
    match &task.hold {
        Some(hold) if hold.until < now => {
            let released = TaskReleased { task_id, token: hold.token, cause: ReleaseCause::Expired };
            decision.events.push(released.into());
        }
        Some(hold) if !state.is_own_hold(agent, Some(session), hold) => {
            return Err(taken(&called, hold, agent));
        }
        // A repeated claim by the holder keeps its token and its locks.
        Some(hold) => {
            token = hold.token;
            lease_minutes = claim.lease_minutes.unwrap_or(hold.lease_minutes);
            let kept = hold.file_locks.iter().filter(|lock| !asked.contains(lock)).cloned();
            file_locks = kept.chain(file_locks).collect();
        }
        None => {}
    }
    check_list("file_locks", file_locks.len())?;
    let waits_for: Vec<String> = task
        .depends_on
        .iter()
        // An erased or invalidated task can never be done, so it blocks nothing.
        .filter(|id| state.work().task(**id).is_some_and(|task| !task.status.is_over()))
        .map(|id| name(state, *id))
        .collect();
    if !waits_for.is_empty() {
        return Err(Rejection::new(
            Code::TaskNotReady,
            format!("task {called} waits for {}", waits_for.join(", ")),
            "take one of those, or one of `hivemind://tasks/ready`",
        ));
    }
    decision.warnings = invalidated(state, &task.depends_on);
    let worktree = checkout.worktree.clone();
    let speaker = ((agent, Some(session)), worktree.as_ref());
    decision.warnings.extend(lock::free(state, speaker, &file_locks, now)?);
    let session = session.clone();
    let claimed = TaskClaimed { task_id, session, token, lease_minutes, file_locks, worktree };
    decision.events.push(claimed.into());
    // The same pane under another name.
    let before = task.hold.as_ref().filter(|hold| hold.token == token && hold.agent != *agent);
    let before = before.map(|hold| format!("you held it as {}; ", hold.agent)).unwrap_or_default();
    // The session that holds it needs no token.
    let end = json!({ "task_id": called, "status": "done" });
    let playbook = mined::fitting(state, &task.scopes, now);
    let playbook = playbook.map(|id| format!("; the steps of like tasks: `hivemind://playbooks/{id}`"));
    decision.next = Some(format!(
        "{before}it is yours while you write something every {lease_minutes} min; at its end: {}{}",
        way::call("update_task", &end),
        playbook.unwrap_or_default()
    ));
    Ok(decision)
}

/// Warns of invalidated dependencies. They block nothing, and the new holder decides about their consequences.
fn invalidated(state: &State, depends_on: &[TaskId]) -> Vec<Warning> {
    let is_invalidated =
        |id: &&TaskId| state.work().task(**id).is_some_and(|task| task.status == TaskStatus::Invalidated);
    let warning = |id: &TaskId| Warning {
        code: WarningCode::DependencyInvalidated,
        message: format!(
            "task {}, which is to be done before, was invalidated: look whether this one still makes sense",
            name(state, *id)
        ),
        claim_id: None,
    };
    depends_on.iter().filter(is_invalidated).map(warning).collect()
}

pub(super) fn update_task(
    state: &State,
    agent: &AgentId,
    session: Option<&SessionId>,
    update: &UpdateTask,
    now: Timestamp,
) -> Result<Accepted, Rejection> {
    let UpdateTask { task_id, status: to, note, fencing_token } = update.clone();
    let task = known_task(state, task_id)?;
    let (from, called) = (task.status, name(state, task_id));
    if from.is_over() {
        return Err(over(&called, from, to));
    }
    if let Some(token) = fencing_token {
        check_token(&called, task, token, now)?;
    }
    let mine = |hold: &&Hold| state.is_own_hold(agent, session, hold) || fencing_token == Some(hold.token);
    let hold = task.hold.as_ref().filter(|hold| hold.until >= now);
    if let Some(hold) = hold
        && !mine(&hold)
        && ![AgentId::architect(), AgentId::operator()].contains(agent)
    {
        return Err(taken(&called, hold, agent));
    }
    if note.is_none() && matches!(to, TaskStatus::Blocked | TaskStatus::Invalidated) {
        return Err(Rejection::invalid("note", format!("a task that is {to} needs a note: why")));
    }
    let is_privileged = [AgentId::architect(), AgentId::operator()].contains(agent);
    if to == TaskStatus::Done && hold.is_none() && task.last_token > 0 && !is_privileged {
        // The last holder may have lost the task without notice, and another agent may have worked on it since.
        return Err(stale(&called, task.last_token, "no session holds it now"));
    }
    let mut decision = Accepted::default();
    if to == TaskStatus::Active && hold.is_none() {
        let hint = format!("first {}: then no other session takes it meanwhile", self::claim(&called));
        return Err(Rejection::new(Code::InvalidTransition, format!("no session holds task {called}"), hint)
            .with("from", from)
            .with("to", to));
    }
    if from == to && note.is_none() {
        let message = format!("task {called} is {to} already");
        return Err(Rejection::new(Code::Duplicate, message, "nothing to do; add a note to say more"));
    }
    decision.events.push(TaskUpdated { task_id, from, to, note }.into());
    if to == TaskStatus::Open {
        decision.events.extend(state.work().freed(task_id, ReleaseCause::GivenBack));
    }
    decision.next = match to {
        TaskStatus::Done => {
            Some(format!("if it taught something others need: {}", lesson(&called, ClaimType::Fact)))
        }
        TaskStatus::Invalidated => {
            Some(format!("if an approach failed: {}", lesson(&called, ClaimType::Negative)))
        }
        TaskStatus::Open | TaskStatus::Active | TaskStatus::Blocked => None,
    };
    Ok(decision)
}

/// Refuses a caller whose hold is over.
fn check_token(called: &str, task: &Task, token: u64, now: Timestamp) -> Result<(), Rejection> {
    match &task.hold {
        Some(hold) if hold.token == token && hold.until >= now => return Ok(()),
        Some(hold) if hold.token == token => {}
        Some(hold) if token < hold.token => {
            return Err(stale(called, token, &format!("{} holds it now", hold.agent))
                .with("holder", &hold.agent)
                .with("session", &hold.session));
        }
        _ => {}
    }
    Err(stale(called, token, "its lease ran out or it was given back"))
}

fn stale(called: &str, token: u64, why: &str) -> Rejection {
    Rejection::new(
        Code::StaleToken,
        format!("hold {token} of task {called} is over: {why}"),
        format!("look at what was done meanwhile, then take it again: {}", claim(called)),
    )
}

/// Sets the intent of the session. The operator, or an agent that says so, sets the intent of the team.
pub(super) fn declare_intent(
    state: &State,
    agent: &AgentId,
    session: Option<&SessionId>,
    declare: &DeclareIntent,
) -> Result<Accepted, Rejection> {
    let Trajectory { intent, plan_id, phase_id, task_ids } = declare.trajectory.clone();
    check_list("task_ids", task_ids.len())?;
    for id in &task_ids {
        known_task(state, *id)?;
    }
    let plan_of_phase = phase_id
        .map(|phase| state.work().plan_of(phase).ok_or_else(|| unknown(Sort::Phase, phase)))
        .transpose()?;
    for plan in [plan_id, plan_of_phase].into_iter().flatten() {
        check_goes_on(state, plan)?;
    }
    if let Some(plan) = plan_id {
        if !state.work().knows_plan(plan) {
            return Err(unknown(Sort::Plan, plan));
        }
        if let (Some(of_phase), Some(phase)) = (plan_of_phase, phase_id)
            && of_phase != plan
        {
            let called = |id: Uuid| state.work().called(id);
            let problem =
                format!("phase {} belongs to plan {}", called(phase.uuid()), called(of_phase.uuid()));
            return Err(Rejection::invalid("phase_id", problem));
        }
    }
    let trajectory = Trajectory { intent, plan_id: plan_id.or(plan_of_phase), phase_id, task_ids };
    let own = session.is_some() && !declare.team && *agent != AgentId::operator();
    let next = if own {
        let team = json!({ "intent": trajectory.intent, "team": true });
        let team = way::call("declare_intent", &team);
        format!("your next context follows, the team's stays; to move the team: {team}")
    } else {
        "the team's next context follows".to_owned()
    };
    Ok(decided(vec![IntentDeclared { trajectory, own }.into()], next))
}

fn decided(events: Vec<Event>, next: String) -> Accepted {
    Accepted { events, next: Some(next), ..Accepted::default() }
}

pub(super) fn known_task(state: &State, id: TaskId) -> Result<&Task, Rejection> {
    state.work().task(id).ok_or_else(|| unknown(Sort::Task, id))
}

/// The task that a claim at these scopes comes out of: the one that the session holds. Of several held tasks it is the one
/// that locks a place of the claim; if none or more than one does, the claim belongs to no task.
pub(super) fn held_at(
    state: &State,
    session: Option<&SessionId>,
    scopes: &[Scope],
    now: Timestamp,
) -> Option<TaskId> {
    let held: Vec<(TaskId, &Hold)> =
        state.work().held_by(session?).filter(|(_, hold)| hold.until >= now).collect();
    let only = |held: &[(TaskId, &Hold)]| match held {
        [(task, _)] => Some(*task),
        _ => None,
    };
    let is_here = |hold: &Hold| scopes.iter().any(|scope| scope.is_at(&hold.file_locks));
    only(&held).or_else(|| only(&held.iter().copied().filter(|(_, hold)| is_here(hold)).collect::<Vec<_>>()))
}

/// The call that takes a task.
fn claim(called: &str) -> String {
    way::call("claim_task", &json!({ "task_id": called }))
}

/// The call that records the lesson of a task.
fn lesson(called: &str, claim_type: ClaimType) -> String {
    let claim = json!({
        "statement": way::STATEMENT, "claim_type": claim_type, "scopes": ["SCOPE"], "origin_task_id": called,
    });
    way::call("create_claim", &claim)
}

/// The short name of a task.
fn name(state: &State, id: TaskId) -> String {
    state.work().called(id.uuid())
}

fn unknown(sort: Sort, id: impl std::fmt::Display) -> Rejection {
    let (code, list) = sort.refusal();
    Rejection::new(code, format!("no {} has the id {id}", sort.noun()), list)
}

/// The refusal for an agent that does not hold the task. If its other session does, the refusal names the ways forward.
fn taken(called: &str, hold: &Hold, asking: &AgentId) -> Rejection {
    let Hold { agent, session, token, until, .. } = hold;
    let (message, hint) = if agent == asking {
        (
            format!("you, {agent}, hold task {called} in another session, {session}, until {until}"),
            format!(
                "go on as that session (HM_SESSION={session}), or name the hold when you update the task: {}",
                way::call(
                    "update_task",
                    &json!({ "task_id": called, "status": "done", "fencing_token": token })
                )
            ),
        )
    } else {
        (
            format!("{agent} holds task {called} until {until}"),
            "take another one of `hivemind://tasks/ready`, or wait until the lease is over".to_owned(),
        )
    };
    Rejection::new(Code::TaskTaken, message, hint)
        .with("holder", &hold.agent)
        .with("session", &hold.session)
        .with("until", hold.until.ms())
}

fn over(called: &str, from: TaskStatus, to: TaskStatus) -> Rejection {
    Rejection::new(
        Code::InvalidTransition,
        format!("task {called} is {from}, and that is final"),
        "add a new task for what is left",
    )
    .with("from", from)
    .with("to", to)
}
