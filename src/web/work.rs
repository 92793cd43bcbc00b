//! The work: plans as a board and a graph, sessions, and runs.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::claim;
use super::graph::{self, Node};
use super::page::{self, ENTRIES, Page, Shown, command, empty, said, time};
use crate::domain::ids::RunId;
use crate::domain::names::Sort;
use crate::domain::rejection::Rejection;
use crate::domain::time::Timestamp;
use crate::facts::{Phase, Plans, Run, Runs, Session, Sessions, Task};
use crate::store::ExperimentFilter;
use crate::views::View;

/// The columns of the board.
const COLUMNS: [&str; 5] = ["open", "active", "blocked", "done", "invalidated"];
/// Tasks in a column of a phase. A board of hundreds is no board.
const TASKS: usize = 50;
/// Tasks in the drawing of a plan, the first ones.
const DRAWN: usize = 60;
/// Characters at the end of an output on the page of a run.
const OUTPUT_CHARS: usize = 20_000;

/// The page of plans.
pub(super) fn plan(page: &mut Page<'_>) -> Result<Shown, Rejection> {
    let (plans, _) = page.ask::<Plans>(&View::Plan(None))?;
    let is_empty = plans.plans.is_empty() && plans.inbox.tasks.is_empty();
    let tasks: Vec<&Task> = plans
        .plans
        .iter()
        .flat_map(|plan| &plan.phases)
        .chain([&plans.inbox])
        .flat_map(|phase| &phase.tasks)
        .collect();
    let graph = dependencies(page, &tasks);
    let main = html! {
        @if let Some(focus) = &plans.trajectory {
            p { "Wanted now: " (said(&focus.intent)) " (" (said(&focus.agent)) ", " (page.ago(focus.shifted_at)) ")" }
        }
        @if is_empty { (empty("No tasks yet.", "hm task add \"mend the pool\" --scope src/db")) }
        @for plan in &plans.plans {
            section {
                h2 { (said(&plan.name)) " " (said(&plan.title)) " " (page::status(&plan.status)) }
                @for phase in &plan.phases { (board(page, phase)) }
            }
        }
        @if !plans.inbox.tasks.is_empty() { section { h2 { "Without a plan" } (board(page, &plans.inbox)) } }
        (graph)
    };
    Ok(Shown::new("Plan", main))
}

/// The tasks that wait for others or that others wait for: drawn, and as a table with the same rows.
fn dependencies(page: &mut Page<'_>, all: &[&Task]) -> Markup {
    let is_waited_for = |id: &str| all.iter().any(|task| task.depends_on.iter().any(|on| on == id));
    let linked: Vec<&Task> =
        all.iter().copied().filter(|task| !task.depends_on.is_empty() || is_waited_for(&task.id)).collect();
    if linked.is_empty() {
        return html! {};
    }
    let drawn: &[&Task] = &linked[..linked.len().min(DRAWN)];
    let node = |task: &&Task| Node {
        head: format!("{} {}", task.name, task.status),
        text: task.title.clone(),
        is_subject: task.status == "active",
    };
    let nodes: Vec<Node> = drawn.iter().map(node).collect();
    let place: BTreeMap<&str, usize> = drawn.iter().enumerate().map(|(at, task)| (&*task.id, at)).collect();
    let to = |(at, task): (usize, &&Task)| -> Vec<(usize, usize)> {
        task.depends_on.iter().filter_map(|on| Some((*place.get(&**on)?, at))).collect()
    };
    let arrows: Vec<(usize, usize)> = drawn.iter().enumerate().flat_map(to).collect();
    let before: Vec<Vec<String>> =
        linked.iter().map(|task| task.depends_on.iter().map(|on| page.named(on)).collect()).collect();
    html! {
        section aria-labelledby="order" {
            h2 #order { "What comes before what" }
            (graph::drawn(&nodes, &arrows, "The tasks of the table below, each with an arrow to those that wait for it"))
            @if linked.len() > DRAWN { p { "The drawing has the first " (DRAWN) " tasks." } }
            table {
                caption { "The same tasks, each with those that must be done first" }
                thead { tr { th scope="col" { "Task" } th scope="col" { "Title" } th scope="col" { "State" } th scope="col" { "After" } th scope="col" { "Waits for" } } }
                tbody {
                    @for (task, before) in linked.iter().zip(&before) {
                        tr { th scope="row" { (said(&task.name)) } td.statement { (said(&task.title)) } td data-of="State" { (page::status(&task.status)) }
                            td data-of="After" { (said(&before.join(", "))) } td data-of="Waits for" { (said(&task.waits_for.join(", "))) } }
                    }
                }
            }
        }
    }
}

fn board(page: &Page<'_>, phase: &Phase) -> Markup {
    html! {
        h3 { @if let Some(name) = &phase.name { (said(name)) " " } (said(&phase.title)) }
        div.board {
            @for column in COLUMNS {
                @let tasks: Vec<&Task> = phase.tasks.iter().filter(|task| task.status == column).collect();
                @if !tasks.is_empty() {
                    div {
                        h4 { (page::status(column)) " " (tasks.len()) }
                        ul { @for task in tasks.iter().take(TASKS) { li { (card(page, task)) } } }
                        @if tasks.len() > TASKS { p { (tasks.len() - TASKS) " more: " (command(&format!("hm task list --status {column}"))) } }
                    }
                }
            }
        }
    }
}

fn card(page: &Page<'_>, task: &Task) -> Markup {
    html! {
        p { strong { (said(&task.name)) } " " (said(&task.title)) }
        @if let Some(holder) = &task.holder { p { "held by " (said(holder))
            @if let Some(until) = task.lease_until { " until " (time(Timestamp::from_ms(until))) } } }
        @if !task.waits_for.is_empty() { p { "waits for " (said(&task.waits_for.join(", "))) } }
        @if let Some(note) = &task.note { p { (said(note)) } }
        (page.places(&task.scopes))
        p { (page.ago(task.touched_at)) }
    }
}

/// The page of sessions.
pub(super) fn sessions(page: &mut Page<'_>) -> Result<Shown, Rejection> {
    let before = page.parsed("before")?.or(page.parsed("cursor")?);
    let (found, next) = page.ask::<Sessions>(&View::Sessions(before, ENTRIES))?;
    let by: Vec<String> = found.sessions.iter().map(|session| page.named(&session.opened_by())).collect();
    let main = html! {
        @if found.sessions.is_empty() { (empty("No session yet. A client that has hivemind in its settings opens one:", "hm init")) }
        @else {
            table {
                caption { "The newest first" }
                thead { tr { th scope="col" { "Session" } th scope="col" { "Agent" } th scope="col" { "Client" } th scope="col" { "Began" }
                    th scope="col" { "Last seen" } th scope="col" { "End" } th scope="col" { "What it did" } } }
                tbody { @for (session, by) in found.sessions.iter().zip(&by) { (session_row(page, session, by)) } }
            }
        }
        (page.more(next.as_ref()))
    };
    Ok(Shown::new("Sessions", main))
}

fn session_row(page: &Page<'_>, session: &Session, by: &str) -> Markup {
    html! {
        tr {
            th scope="row" { (said(session.called())) @if session.parent_session.is_some() && session.researcher.is_none() { " (split off)" } }
            td data-of="Agent" { (said(&session.agent)) }
            td data-of="Client" { (said(by)) }
            td data-of="Began" { (page.ago(session.started_at)) }
            td data-of="Last seen" { (page.ago(session.last_seen_at)) }
            td data-of="End" { @match (session.ended_at, &session.end_cause) {
                (Some(at), cause) => { (cause.as_deref().unwrap_or("ended").replace('_', " ")) " " (page.ago(at)) }
                (None, _) => (page::status("active")),
            } }
            td data-of="What it did" { @for line in &session.summary { p { (said(line)) } } }
        }
    }
}

/// The page of runs.
pub(super) fn runs(page: &mut Page<'_>) -> Result<Shown, Rejection> {
    let filter =
        ExperimentFilter { before: page.parsed("cursor")?, limit: ENTRIES, ..ExperimentFilter::default() };
    let (found, next) = page.ask::<Runs>(&View::Experiments(filter))?;
    let claims: Vec<Option<Markup>> =
        found.experiments.iter().map(|run| run.claim_id.as_deref().map(|id| page.claim(id))).collect();
    let main = html! {
        @if found.experiments.is_empty() { (empty("No run yet.", "hm experiment run PROFILE --claim C1")) }
        @else {
            table {
                caption { "The newest first" }
                thead { tr { th scope="col" { "Run" } th scope="col" { "Profile" } th scope="col" { "State" } th scope="col" { "Claim" }
                    th scope="col" { "Asked for" } } }
                tbody {
                    @for (run, claim) in found.experiments.iter().zip(&claims) {
                        tr {
                            th scope="row" { (page.to(&format!("/run/{}", run.called()), run.called())) }
                            td data-of="Profile" { @if let Some(profile) = &run.profile { (said(profile)) } }
                            td data-of="State" { (page::status(&run.status)) }
                            td data-of="Claim" { @if let Some(claim) = claim { (claim) } }
                            td data-of="Asked for" { (said(&run.requested_by)) " " (page.ago(run.created_at)) }
                        }
                    }
                }
            }
        }
        (page.more(next.as_ref()))
    };
    Ok(Shown::new("Runs", main))
}

/// The page of one run.
pub(super) fn run(page: &mut Page<'_>, name: &str) -> Result<Shown, Rejection> {
    let id = RunId::from_uuid(page.id(Sort::Run, name)?);
    let (run, _) = page.ask::<Run>(&View::Experiment(id))?;
    let tail = claim::tail(page, id, OUTPUT_CHARS);
    let about = run.claim_id.as_deref().map(|id| page.claim(id));
    let main = html! {
        dl.facts {
            dt { "State" } dd { (page::status(&run.status)) }
            @if let Some(profile) = &run.profile { dt { "Profile" } dd { (said(profile)) } }
            @if let Some(line) = &run.command { dt { "Command" } dd { (command(line)) } }
            @if let Some(cwd) = &run.cwd { dt { "In" } dd { code { (said(cwd)) } } }
            @if let Some(about) = &about { dt { "About" } dd { (about) @if let Some(predicted) = &run.prediction { ", which predicts: " (predicted) } } }
            @if let Some(outcome) = &run.outcome {
                @if let Some(code) = outcome.exit_code { dt { "Exit code" } dd { (code) } }
                @if let Some(took) = outcome.duration_ms { dt { "Took" } dd { (took) " ms" } }
            }
            dt { "Asked for by" } dd { (said(&run.requested_by)) ", " (page.ago(run.created_at)) }
        }
        (tail)
    };
    Ok(Shown::new(format!("Run {}", run.called()), main))
}
