//! Plans, tasks, sessions and beliefs as Markdown in short lines.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Value, json};

use super::markdown::{age, inline, name};
use super::to_json;
use crate::domain::ids::TaskId;
use crate::domain::plan::in_work_tree;
use crate::domain::session::Stance;
use crate::domain::time::{Span, Timestamp};
use crate::domain::way;
use crate::store::{
    AnchorView, BeliefSnapshot, ClaimPage, LockView, PhaseView, PlanGraph, ResearcherView, SessionView,
    SplitView, TaskView, TurnView,
};

/// A title or a note in a list is cut here.
const LIST_CHARS: usize = 160;

/// Names that a line shows.
const MAX_NAMES: usize = 5;

/// How long until a lease ends.
fn lease(task: &TaskView, now: Timestamp) -> String {
    let Some(until) = task.lease_until else { return String::new() };
    let holder = name(task.holder.as_deref().unwrap_or("?"));
    // A begun minute counts: a lease of 15 minutes has 15 left at first.
    let left = (until - now.ms() + 59_999) / 60_000;
    let there = task
        .worktree
        .as_deref()
        .map_or_else(String::new, |name| format!(" {}", in_work_tree(Some(&inline(name, LIST_CHARS)))));
    format!(", {holder}, lease: {left} min left{there}")
}

pub(super) fn task_line(task: &TaskView, now: Timestamp) -> String {
    let mut line =
        format!("- `{}` {}{}: {}", task.name, task.status, lease(task, now), inline(&task.title, LIST_CHARS));
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

/// Names, the first of many.
fn several(names: &[String]) -> String {
    let shown = names.iter().take(MAX_NAMES).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MAX_NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The tasks of all plans and the inbox, and which are parts of which.
struct Tree<'g> {
    tasks: BTreeMap<TaskId, &'g TaskView>,
    parts: BTreeMap<TaskId, Vec<&'g TaskView>>,
}

impl<'g> Tree<'g> {
    fn of(graph: &'g PlanGraph) -> Self {
        let phases = graph.plans.iter().flat_map(|plan| &plan.phases).chain([&graph.inbox]);
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

    /// The task below which this one is shown: the one it is a part of, unless it has another phase.
    fn whole(&self, task: &TaskView) -> Option<&'g TaskView> {
        let whole = self.tasks.get(&task.parent_task_id?)?;
        (task.phase_id.is_none() || task.phase_id == whole.phase_id).then_some(whole)
    }

    /// A task and below it its parts, each indented under what it is a part of.
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

pub(super) fn plan(graph: &PlanGraph, now: Timestamp) -> (Value, String) {
    let tree = Tree::of(graph);
    let mut text = String::new();
    if let Some(looking) = &graph.trajectory {
        let ago = age(looking.shifted_at, now);
        let _ = writeln!(text, "Now: {} ({}, {ago} ago)", inline(&looking.intent, 500), name(&looking.agent));
    }
    for plan in &graph.plans {
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
    }
    let inbox = tree.phase(&graph.inbox, now);
    if !inbox.is_empty() {
        let _ = write!(text, "\n## Without a phase: inbox ({})\n\n{inbox}", graph.inbox.status);
    }
    if text.is_empty() {
        text.push_str(&format!("No plan and no task yet: {}\n", add_task()));
    }
    if !graph.locks.is_empty() {
        let _ = write!(text, "\n## Locked\n\n{}", locks(&graph.locks, now).1);
    }
    (to_json(graph), text)
}

fn add_task() -> String {
    way::call("add_task", &json!({ "title": "TITLE" }))
}

/// What is locked, one scope a line.
pub(super) fn locks(locks: &[LockView], now: Timestamp) -> (Value, String) {
    let line = |lock: &LockView| {
        let (scope, holder) = (inline(&lock.scope, LIST_CHARS), name(&lock.agent));
        let there = lock.worktree.as_deref().map(|tree| in_work_tree(Some(&inline(tree, LIST_CHARS))));
        let there = there.map_or_else(String::new, |there| format!(" {there}"));
        let (until, left) = (Timestamp::from_ms(lock.until), Span(lock.until - now.ms()));
        let purpose = inline(&lock.purpose(), 2 * LIST_CHARS);
        format!("- {scope} by {holder}{there} until {until} ({left} left) {purpose}\n")
    };
    let text =
        if locks.is_empty() { "Nothing is locked.\n".to_owned() } else { locks.iter().map(line).collect() };
    (json!({ "locks": locks }), text)
}

/// Tasks in any status.
pub(super) fn tasks(tasks: &[TaskView], now: Timestamp) -> (Value, String) {
    let text = if tasks.is_empty() {
        format!("No task matches: {}\n", add_task())
    } else {
        tasks.iter().map(|task| task_line(task, now)).collect()
    };
    (json!({ "tasks": tasks }), text)
}

/// One task with what its list line leaves out, and the claims that came out of it.
pub(super) fn one_task(task: &TaskView, claims: &ClaimPage, now: Timestamp) -> (Value, String) {
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
        let shown = super::markdown::claims(claims, "claims", now);
        let _ = write!(text, "\nClaims that came out of it:\n\n{shown}");
    }
    (json!({ "task": task, "claims": claims.claims }), text)
}

pub(super) fn ready(tasks: &[TaskView], has_tasks: bool, now: Timestamp) -> (Value, String) {
    let text = if !has_tasks {
        format!("No task yet: {}\n", add_task())
    } else if tasks.is_empty() {
        "No task is ready: all are held, blocked, done, or wait for others.\n".to_owned()
    } else {
        tasks.iter().map(|task| task_line(task, now)).collect()
    };
    (json!({ "tasks": tasks }), text)
}

fn session_line(session: &SessionView, now: Timestamp) -> String {
    let client = session.client.as_deref().unwrap_or("client unknown");
    let state = match (session.ended_at, session.end_cause) {
        (Some(at), Some(cause)) => format!("{cause} {} ago", age(at, now)),
        _ => format!("seen {} ago", age(session.last_seen_at, now)),
    };
    format!(
        "- `{}` {} in {}, {}{}, {state}\n",
        inline(&session.session, LIST_CHARS),
        name(&session.agent),
        inline(client, 40),
        session.source,
        place(session)
    )
}

/// The linked work tree and the branch that a session started in; nothing of the main one.
fn place(session: &SessionView) -> String {
    let Some(worktree) = &session.worktree else { return String::new() };
    let there = in_work_tree(Some(&inline(worktree, LIST_CHARS)));
    let branch = session.branch.as_deref();
    let branch =
        branch.map_or_else(String::new, |branch| format!(" on branch `{}`", inline(branch, LIST_CHARS)));
    format!(", {there}{branch}")
}

/// The line that says where a session comes from; none of one that comes from nowhere.
fn goes_on_from(session: &SessionView) -> String {
    let Some(parent) = &session.parent_session else { return String::new() };
    let why =
        session.reason.as_deref().map_or_else(String::new, |why| format!(": {}", inline(why, LIST_CHARS)));
    format!("  goes on from `{}`{why}\n", inline(parent, LIST_CHARS))
}

pub(super) fn sessions(found: &[SessionView], now: Timestamp) -> (Value, String) {
    let text = if found.is_empty() {
        "No session has started: `hm init` sets the hooks up that say so.\n".to_owned()
    } else {
        found.iter().map(|session| session_line(session, now) + &goes_on_from(session)).collect()
    };
    (json!({ "sessions": found }), text)
}

/// Everything known of one session.
#[derive(Debug)]
pub(super) struct SessionPage {
    pub(super) id: String,
    /// None of one that nobody said had started.
    pub(super) session: Option<SessionView>,
    /// The researcher it is, and those it sent out.
    pub(super) researchers: Vec<ResearcherView>,
    pub(super) dialogue: Vec<TurnView>,
    pub(super) held: Vec<TaskView>,
    pub(super) files: Vec<String>,
    pub(super) came_from: Option<SplitView>,
    pub(super) split_into: Vec<SplitView>,
}

pub(super) fn session(page: &SessionPage, now: Timestamp) -> (Value, String) {
    let SessionPage { id, session, researchers, dialogue, held, files, came_from, split_into } = page;
    let mut text = match session {
        Some(session) => session_line(session, now),
        None => format!("- `{}` nobody said that it started\n", inline(id, LIST_CHARS)),
    };
    // Of a split it is said below, with what was handed over.
    if came_from.is_none() {
        text.extend(session.as_ref().map(goes_on_from));
    }
    text.extend(researchers.iter().map(|of_it| researcher(of_it, now)));
    for split in came_from.iter().chain(split_into) {
        let (parent, child) = (inline(&split.parent, LIST_CHARS), inline(&split.child, LIST_CHARS));
        let _ = writeln!(text, "  split: `{parent}` -> `{child}`: {}", inline(&split.reason, LIST_CHARS));
    }
    text.extend(held.iter().map(|task| task_line(task, now)));
    if !files.is_empty() {
        let _ = writeln!(text, "Files touched: {}", inline(&files.join(", "), 2_000));
    }
    for segment in session.iter().flat_map(|session| &session.summary) {
        let _ = writeln!(text, "> {} …", inline(segment, LIST_CHARS));
    }
    for turn in dialogue {
        let _ = writeln!(text, "> {} ({} ago): {}", turn.role, age(turn.at, now), inline(&turn.text, 2_000));
    }
    let json = json!({
        "session": session, "dialogue": dialogue, "held": held, "files": files,
        "came_from": came_from, "split_into": split_into, "researchers": researchers,
    });
    (json, text)
}

/// A researcher: what it is asked, how it is doing, and what it found.
fn researcher(of: &ResearcherView, now: Timestamp) -> String {
    let status = of.status.map_or_else(|| "its run was erased".to_owned(), |status| status.to_string());
    let (session, parent) = (inline(&of.session, LIST_CHARS), inline(&of.parent, LIST_CHARS));
    let (agent, profile) = (name(&of.agent), &of.profile);
    let mut text = format!(
        "\n## Researcher `{session}`\n\n> {}\n\n- {agent} by profile {profile}, sent out by {} from `{parent}` {} ago\n\
         - run `{}` {status}; task `{}`\n",
        inline(&of.prompt, 2_000),
        name(&of.spawned_by),
        age(of.spawned_at, now),
        of.run_id,
        of.task_id
    );
    if let Some(note) = &of.note {
        let _ = writeln!(text, "- {}", inline(note, 500));
    }
    let more = if of.has_more { "more than " } else { "" };
    let _ = writeln!(text, "- findings: {more}{}", of.findings.len());
    for finding in &of.findings {
        let says = inline(&finding.statement, LIST_CHARS);
        let _ =
            writeln!(text, "  - `{}` {} {}: {says}", finding.claim_id, finding.status, finding.claim_type);
    }
    text
}

pub(super) fn anchors(found: &[AnchorView], now: Timestamp) -> (Value, String) {
    let line = |anchor: &AnchorView| {
        let (key, value) = (inline(&anchor.key, 64), inline(&anchor.value, 2_000));
        format!("- {key} = {value} ({}, {} ago)\n", name(&anchor.agent), age(anchor.saved_at, now))
    };
    let text = if found.is_empty() {
        let save = way::call("save_anchor", &json!({ "key": "KEY", "value": "VALUE" }));
        format!("No anchor holds anything: {save}\n")
    } else {
        found.iter().map(line).collect()
    };
    (json!({ "anchors": found }), text)
}

/// A snapshot, each belief with what its claim says.
pub(super) fn beliefs(
    snapshot: &BeliefSnapshot,
    statements: &[Option<String>],
    now: Timestamp,
) -> (Value, String) {
    let of = snapshot
        .session
        .as_deref()
        .map_or_else(String::new, |session| format!(" in `{}`", inline(session, LIST_CHARS)));
    let mut text = format!("{}{of}, {} ago:\n", name(&snapshot.agent), age(snapshot.taken_at, now));
    for (belief, statement) in snapshot.beliefs.iter().zip(statements) {
        let stance = if belief.2 == Stance::Believes { "believes" } else { "disbelieves" };
        let says = statement.as_deref().unwrap_or("(its claim is gone)");
        let _ =
            writeln!(text, "- {stance} `{}` ({:.2}) {}", belief.0, belief.1.get(), inline(says, LIST_CHARS));
    }
    let beliefs: Vec<Value> = snapshot
        .beliefs
        .iter()
        .zip(statements)
        .map(|(belief, says)| {
            json!({ "claim_id": belief.0, "confidence": belief.1, "stance": belief.2, "statement": says })
        })
        .collect();
    let mut json = to_json(snapshot);
    json["beliefs"] = beliefs.into();
    (json, text)
}
