//! What happens now: who is at work on what, and what needs somebody.

use maud::{Markup, html};

use super::acting;
use super::page::{Page, Shown, command, empty, said, time};
use crate::domain::clean;
use crate::domain::plan::TaskStatus;
use crate::domain::rejection::Rejection;
use crate::domain::time::Timestamp;
use crate::facts::{Attention, Lock, Locks, Session, Sessions, Task, Tasks};
use crate::store::TaskFilter;
use crate::views::{self, MAX_LIMIT, View, ViewError};

/// Sessions that are looked at for those that are open.
const SESSIONS: usize = 100;
/// Entries of attention on the page.
const NEEDS: usize = 100;

/// The page.
pub(super) fn show(page: &mut Page<'_>) -> Result<Shown, Rejection> {
    let (sessions, _) = page.ask::<Sessions>(&View::Sessions(None, SESSIONS))?;
    let active = TaskFilter { status: vec![TaskStatus::Active], limit: MAX_LIMIT, ..TaskFilter::default() };
    let (tasks, _) = page.ask::<Tasks>(&View::Tasks(active))?;
    let (locks, _) = page.ask::<Locks>(&View::Locks)?;
    let open: Vec<&Session> = sessions.sessions.iter().filter(|session| session.ended_at.is_none()).collect();
    let main = html! {
        section aria-labelledby="work" {
            h2 #work { "At work" }
            @if open.is_empty() {
                (empty("No session is open. A client that has hivemind in its settings opens one:", "hm init"))
            } @else {
                (table(page, &open, &tasks.tasks, &locks.locks))
            }
        }
        (approvals(page)?)
        (needs(page)?)
    };
    Ok(Shown::new("Now", main))
}

fn table(page: &Page<'_>, open: &[&Session], tasks: &[Task], locks: &[Lock]) -> Markup {
    html! {
        table {
            caption { "Open sessions" }
            thead { tr { th scope="col" { "Agent" } th scope="col" { "Session" } th scope="col" { "Client" }
                th scope="col" { "Task" } th scope="col" { "Files held" } th scope="col" { "Last seen" } } }
            tbody {
                @for session in open {
                    @let mine = |of: &str| of == session.session;
                    tr {
                        th scope="row" { (said(&session.agent)) }
                        td { (said(session.called())) }
                        td { @if let Some(client) = &session.client { (said(client)) }
                            @if let Some(tree) = &session.worktree { " in " (said(tree)) } }
                        td {
                            @for task in tasks.iter().filter(|task| task.session.as_deref().is_some_and(mine)) {
                                p { (said(&task.name)) " " (said(&task.title)) }
                            }
                        }
                        td {
                            @for task in tasks.iter().filter(|task| task.session.as_deref().is_some_and(mine)) {
                                (page.places(&task.file_locks))
                            }
                            @for lock in locks.iter().filter(|lock| mine(&lock.session)) {
                                p { code { (clean::revealed(&lock.scope)) } " until " (time(Timestamp::from_ms(lock.until)))
                                    @if let Some(why) = &lock.why { ": " (said(why)) } }
                            }
                        }
                        td { (page.ago(session.last_seen_at)) }
                    }
                }
            }
        }
    }
}

/// What waits for the approval of the operator, with buttons.
fn approvals(page: &mut Page<'_>) -> Result<Markup, Rejection> {
    let now = page.now;
    let waiting = page.reads.ask(now, |store| views::waiting(store, now)).map_err(ViewError::from)?.0;
    let waiting = waiting.unwrap_or_default();
    let mut entries = Vec::new();
    for entry in waiting.iter().take(NEEDS) {
        let answers = acting::answers(page, entry);
        entries.push(html! {
            li {
                p { strong { (entry.kind) } " since " (page.ago(entry.since)) }
                @for text in &entry.said { blockquote { (said(text)) } }
                @if let Some(hint) = &entry.hint { p { (said(hint)) } }
                (answers)
            }
        });
    }
    Ok(html! {
        section aria-labelledby="approve" {
            h2 #approve { "For your approval" }
            @if entries.is_empty() { p.empty { "Nothing waits for approval." } }
            @else { ul.needs { @for entry in &entries { (entry) } } }
            @if waiting.len() > NEEDS { p { (waiting.len() - NEEDS) " more: " (command("hm review")) } }
        }
    })
}

/// What needs an agent or the operator, with the command that settles each.
fn needs(page: &mut Page<'_>) -> Result<Markup, Rejection> {
    let (attention, _) = page.ask::<Attention>(&View::Attention(None))?;
    let count = attention.needs.len();
    let mut entries = Vec::new();
    for need in attention.needs.iter().take(NEEDS) {
        let ids: Vec<String> = need.ids.iter().map(|id| page.named(id)).collect();
        let what: Vec<String> = need.what.iter().map(|text| page.named(text)).collect();
        let settle: Vec<String> = need.settle.iter().map(|step| page.line(step)).collect();
        entries.push(html! {
            li {
                p { strong { (need.kind.replace('_', " ")) } " "
                    @for id in &ids {
                        @if id.starts_with('C') { (page.to(&format!("/claim/{id}"), id)) } @else { (said(id)) }
                        " "
                    }
                    "since " (page.ago(need.since))
                    @if !need.asked.is_empty() { ", move of " (said(&need.asked.join(", "))) } }
                @for text in &what { blockquote { (said(text)) } }
                @if !settle.is_empty() { ul.settle { @for line in &settle { li { (command(line)) } } } }
            }
        });
    }
    Ok(html! {
        section aria-labelledby="needs" data-attention=(count) {
            h2 #needs { "What needs somebody" }
            @if entries.is_empty() { p.empty { "Nothing needs anybody." } }
            @else { ul.needs { @for entry in &entries { (entry) } } }
            @if count > NEEDS { p { (count - NEEDS) " more: " (command("hm attention")) } }
        }
    })
}
