//! Plans, tasks and locks.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::json;

use super::asking::Asking;
use super::markdown::{self, age, inline, name};
use super::{Answer, DEFAULT_LIMIT, MAX_LIMIT, ViewError, to_json};
use crate::domain::event::Event;
use crate::domain::ids::{PlanId, TaskId};
use crate::domain::plan::in_work_tree;
use crate::domain::time::{Span, Timestamp};
use crate::domain::way;
use crate::store::{ClaimFilter, ClaimPage, LockView, PhaseView, PlanGraph, PlanView, TaskFilter, TaskView};

/// Maximum length of a title or a note in a list, in characters.
pub(super) const LIST_CHARS: usize = 160;

/// The plans, and the focus of a session, or else of the team.
pub(super) fn plan(asking: &mut Asking<'_>, session: Option<&str>) -> Result<Answer, ViewError> {
    asking.of_store(|asked| {
        let graph = asked.store.plan_graph(session, MAX_LIMIT)?;
        Ok(asked.answer(|| to_json(&graph), || plan_text(&graph, asked.now)))
    })
}

/// One plan.
pub(super) fn one_plan(asking: &mut Asking<'_>, id: PlanId) -> Result<Answer, ViewError> {
    asking.of_store(|asked| {
        let plan = asked.store.plan(id, MAX_LIMIT)?.ok_or_else(|| ViewError::no_plan(id))?;
        let text = || {
            let tree = Tree::of(plan.phases.iter());
            one_plan_text(&plan, &tree, asked.now).trim_start().to_owned()
        };
        Ok(asked.answer(|| json!({ "plan": plan }), text))
    })
}

/// The locks.
pub(super) fn locks(asking: &mut Asking<'_>) -> Result<Answer, ViewError> {
    asking.of_store(|asked| {
        let locks = asked.store.locks()?;
        Ok(asked.answer(|| json!({ "locks": locks }), || locks_text(&locks, asked.now)))
    })
}

/// Tasks that an agent can take now.
pub(super) fn ready(asking: &mut Asking<'_>) -> Result<Answer, ViewError> {
    asking.of_store(|asked| {
        let (tasks, has_tasks) = (asked.store.ready_tasks(DEFAULT_LIMIT)?, asked.store.has_tasks()?);
        Ok(asked.answer(|| json!({ "tasks": tasks }), || ready_text(&tasks, has_tasks, asked.now)))
    })
}

/// Tasks in any status.
pub(super) fn tasks(asking: &mut Asking<'_>, filter: &TaskFilter) -> Result<Answer, ViewError> {
    asking.of_store(|asked| {
        let tasks = asked.store.tasks(filter)?;
        Ok(asked.answer(|| json!({ "tasks": tasks }), || tasks_text(&tasks, asked.now)))
    })
}

/// Whether an event changes the plans, the tasks or the locks.
pub(super) fn touched_by(event: &Event) -> bool {
    event.task_id().is_some()
        || matches!(
            event,
            Event::ScopesLocked(_)
                | Event::ScopesReleased(_)
                | Event::PlanAdded(_)
                | Event::PhaseAdded(_)
                | Event::PlanAbandoned(_)
                | Event::PlanRenamed(_)
                | Event::IntentDeclared(_)
                | Event::SessionEnded(_)
                | Event::SessionSplit(_)
                | Event::Turn0Continued(_)
        )
}

/// One task, with the claims made for it.
pub(super) fn task(asking: &mut Asking<'_>, id: TaskId) -> Result<Answer, ViewError> {
    asking.of_store(|asked| {
        let task = asked.store.task(id)?.ok_or_else(|| ViewError::no_task(id))?;
        let of_it = ClaimFilter { task: Some(id), limit: DEFAULT_LIMIT, ..ClaimFilter::default() };
        let claims = asked.store.claims(&of_it)?;
        let json = || json!({ "task": task, "claims": claims.claims });
        Ok(asked.answer(json, || task_text(&task, &claims, asked.now)))
    })
}

/// Whether an event changes one task.
pub(super) fn task_touched_by(id: TaskId, event: &Event) -> bool {
    event.task_id() == Some(id)
}

/// Maximum number of names in a line.
const MAX_NAMES: usize = 5;

/// The rest of a lease.
fn lease(task: &TaskView, now: Timestamp) -> String {
    let Some(until) = task.lease_until else { return String::new() };
    let holder = name(task.holder.as_deref().unwrap_or("?"));
    // A started minute counts, so a lease of 15 minutes has 15 left at first.
    let left = (until - now.ms() + 59_999) / 60_000;
    let there = task
        .worktree
        .as_deref()
        .map_or_else(String::new, |name| format!(" {}", in_work_tree(Some(&inline(name, LIST_CHARS)))));
    format!(", {holder}, lease: {left} min left{there}")
}

pub(super) fn task_line(task: &TaskView, now: Timestamp) -> String {
    let ended = task.ended_by.as_ref().map(|by| format!(" by {}", name(by))).unwrap_or_default();
    let (title, lease) = (inline(&task.title, LIST_CHARS), lease(task, now));
    let meant_for = task.meant_for.as_ref().filter(|_| task.holder.is_none() && !task.status.is_over());
    let meant_for = meant_for.map(|agent| format!(", for {}", name(agent))).unwrap_or_default();
    let mut line = format!("- `{}` {}{ended}{lease}{meant_for}: {title}", task.name, task.status);
    let waits = (!task.waits_for.is_empty() && !task.status.is_over())
        .then(|| format!("waits for {}", several(&task.waits_for)));
    let dropped = (!task.dropped.is_empty()).then(|| format!("invalidated: {}", several(&task.dropped)));
    let before: Vec<String> = waits.into_iter().chain(dropped).collect();
    if !before.is_empty() {
        let _ = write!(line, " ({})", before.join("; "));
    }
    if let Some(note) = &task.note {
        let _ = write!(line, "\n  {}", inline(note, LIST_CHARS));
    }
    line.push('\n');
    line
}

/// Names, cut after the first ones.
fn several(names: &[String]) -> String {
    let shown = names.iter().take(MAX_NAMES).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MAX_NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The tasks of all plans and of the inbox, with their parents.
struct Tree<'g> {
    tasks: BTreeMap<TaskId, &'g TaskView>,
    parts: BTreeMap<TaskId, Vec<&'g TaskView>>,
}

impl<'g> Tree<'g> {
    fn of(phases: impl Iterator<Item = &'g PhaseView>) -> Self {
        let all: Vec<&TaskView> = phases.flat_map(|phase| &phase.tasks).collect();
        let mut tree =
            Self { tasks: all.iter().map(|task| (task.id, *task)).collect(), parts: BTreeMap::new() };
        for task in all {
            if let Some(whole) = tree.whole(task) {
                tree.parts.entry(whole.id).or_default().push(task);
            }
        }
        tree
    }

    /// The task below which this one is shown: its parent, unless that has another phase.
    fn whole(&self, task: &TaskView) -> Option<&'g TaskView> {
        let whole = self.tasks.get(&task.parent_task_id?)?;
        (task.phase_id.is_none() || task.phase_id == whole.phase_id).then_some(whole)
    }

    /// A task with its parts below it, indented.
    fn branch(&self, text: &mut String, task: &TaskView, depth: usize, now: Timestamp) {
        for line in task_line(task, now).lines() {
            let _ = writeln!(text, "{:1$}{line}", "", 2 * depth);
        }
        for part in self.parts.get(&task.id).into_iter().flatten() {
            self.branch(text, part, depth + 1, now);
        }
    }

    fn phase(&self, phase: &PhaseView, now: Timestamp) -> String {
        let mut text = String::new();
        for task in phase.tasks.iter().filter(|task| self.whole(task).is_none()) {
            self.branch(&mut text, task, 0, now);
        }
        text
    }
}

fn plan_text(graph: &PlanGraph, now: Timestamp) -> String {
    let tree = Tree::of(graph.plans.iter().flat_map(|plan| &plan.phases).chain([&graph.inbox]));
    let mut text = String::new();
    if let Some(looking) = &graph.trajectory {
        let ago = age(looking.shifted_at, now);
        let _ = writeln!(text, "Now: {} ({}, {ago} ago)", inline(&looking.intent, 500), name(&looking.agent));
    }
    for plan in &graph.plans {
        text.push_str(&one_plan_text(plan, &tree, now));
    }
    let inbox = tree.phase(&graph.inbox, now);
    if !inbox.is_empty() {
        let _ = write!(text, "\n## Without a phase: inbox ({})\n\n{inbox}", graph.inbox.status);
    }
    if text.is_empty() {
        text.push_str(&format!("No plan and no task yet: {}\n", add_task()));
    }
    if !graph.locks.is_empty() {
        let _ = write!(text, "\n## Locked\n\n{}", locks_text(&graph.locks, now));
    }
    text
}

/// A plan with its phases, and the tasks of each.
fn one_plan_text(plan: &PlanView, tree: &Tree<'_>, now: Timestamp) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "\n## `{}` {} ({})", plan.name, inline(&plan.title, LIST_CHARS), plan.status);
    if let Some(reason) = &plan.abandoned_for {
        let _ = writeln!(text, "\nGiven up: {}", inline(reason, LIST_CHARS));
    }
    if let Some(more) = &plan.description {
        let _ = writeln!(text, "\n{}", inline(more, 2_000));
    }
    if let Some(path) = &plan.sot_path {
        let _ = writeln!(text, "\nThe plan itself: {}", inline(path, LIST_CHARS));
    }
    for phase in &plan.phases {
        let name = phase.name.as_ref().map_or_else(String::new, |name| format!("`{name}` "));
        let title = inline(&phase.title, LIST_CHARS);
        let tasks = tree.phase(phase, now);
        let gap = if tasks.is_empty() { "" } else { "\n" };
        let _ = write!(text, "\n### {name}{title} ({})\n{gap}{tasks}", phase.status);
    }
    text
}

fn add_task() -> String {
    way::call("add_task", &json!({ "title": "TITLE" }))
}

/// The locks, one scope a line.
fn locks_text(locks: &[LockView], now: Timestamp) -> String {
    let line = |lock: &LockView| {
        let (scope, holder) = (inline(&lock.scope, LIST_CHARS), name(&lock.agent));
        let there = lock.worktree.as_deref().map(|tree| in_work_tree(Some(&inline(tree, LIST_CHARS))));
        let there = there.map_or_else(String::new, |there| format!(" {there}"));
        let (until, left) = (Timestamp::from_ms(lock.until), Span(lock.until - now.ms()));
        let purpose = inline(&lock.purpose(), 2 * LIST_CHARS);
        format!("- {scope} by {holder}{there} until {until} ({left} left) {purpose}\n")
    };
    if locks.is_empty() { "Nothing is locked.\n".to_owned() } else { locks.iter().map(line).collect() }
}

/// Tasks in any status.
fn tasks_text(tasks: &[TaskView], now: Timestamp) -> String {
    if tasks.is_empty() {
        format!("No task matches: {}\n", add_task())
    } else {
        tasks.iter().map(|task| task_line(task, now)).collect()
    }
}

/// One task with the facts that its list line omits, and the claims made for it.
fn task_text(task: &TaskView, claims: &ClaimPage, now: Timestamp) -> String {
    let mut text = task_line(task, now);
    if let Some(more) = &task.description {
        let _ = writeln!(text, "\n{}\n", inline(more, 2_000));
    }
    if let Some(phase) = &task.phase {
        let _ = writeln!(text, "- in phase {phase}");
    }
    for scope in task.scopes.iter().chain(&task.file_locks) {
        let _ = writeln!(text, "- at {}", inline(scope, 200));
    }
    if claims.claims.is_empty() {
        text.push_str("- no claim came out of it\n");
    } else {
        let shown = markdown::claims(claims, "claims", now);
        let _ = write!(text, "\nClaims that came out of it:\n\n{shown}");
    }
    text
}

fn ready_text(tasks: &[TaskView], has_tasks: bool, now: Timestamp) -> String {
    if !has_tasks {
        format!("No task yet: {}\n", add_task())
    } else if tasks.is_empty() {
        "No task is ready: all are held, blocked, done, or wait for others.\n".to_owned()
    } else {
        tasks.iter().map(|task| task_line(task, now)).collect()
    }
}
