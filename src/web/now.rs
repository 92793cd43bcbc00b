//! What happens now: who is at work on what, and what needs somebody.

use maud::{Markup, html};

use super::acting;
use super::page::{Page, Shown, command, empty, path, said, time};
use crate::domain::rejection::Rejection;
use crate::domain::time::Timestamp;
use crate::facts::at_work::{AtWork, Worker};
use crate::facts::{Attention, Need, PROPOSED};
use crate::steps::in_shell;
use crate::views::{self, View, ViewError};

/// Entries of attention on the page.
const NEEDS: usize = 100;

/// The page.
pub(super) fn show(page: &mut Page<'_>) -> Result<Shown, Rejection> {
    let at_work = AtWork::read(&mut page.reads, &page.site.config, page.now)?;
    let workers = at_work.workers();
    let clients: Vec<String> = workers.iter().map(|worker| by(page, worker)).collect();
    let main = html! {
        section aria-labelledby="work" {
            h2 #work { "At work" }
            @if workers.is_empty() {
                (empty("No session is open. A client that has hivemind in its settings opens one:", "hm init"))
            } @else {
                (table(page, &workers, &clients))
            }
        }
        (approvals(page)?)
        (needs(page)?)
    };
    Ok(Shown::new("Now", main))
}

/// What opened the session of a worker. Empty without a session of a client.
fn by(page: &mut Page<'_>, worker: &Worker<'_>) -> String {
    worker.opened.map(|session| page.named(&session.opened_by())).unwrap_or_default()
}

fn table(page: &Page<'_>, workers: &[Worker<'_>], clients: &[String]) -> Markup {
    html! {
        table {
            caption { "Agents with an open session, or that hold something" }
            thead { tr { th scope="col" { "Agent" } th scope="col" { "Session" } th scope="col" { "Client" }
                th scope="col" { "Task" } th scope="col" { "Files held" } th scope="col" { "Last seen" } } }
            tbody {
                @for (worker, by) in workers.iter().zip(clients) {
                    tr {
                        th scope="row" { (said(worker.agent)) }
                        td data-of="Session" { @if let Some(session) = worker.opened { (said(session.called())) } }
                        td data-of="Client" { (said(by)) }
                        td data-of="Task" {
                            @for task in &worker.tasks { p { (said(&task.name)) " " (said(&task.title)) } }
                            @for run in &worker.runs {
                                p { (said(run.called())) " " (said(run.profile.as_deref().unwrap_or("a command")))
                                    ", " (run.status) }
                            }
                        }
                        td data-of="Files held" {
                            @for task in &worker.tasks { (page.places(&task.file_locks)) }
                            @for lock in &worker.locks {
                                p { (path(&lock.scope)) " until " (time(Timestamp::from_ms(lock.until)))
                                    @if let Some(why) = &lock.why { ": " (said(why)) } }
                            }
                        }
                        td data-of="Last seen" { @if let Some(session) = worker.opened { (page.ago(session.last_seen_at)) } }
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
                @if let Some(hint) = &entry.hint { p { (said(&in_shell(hint))) } }
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
    let rest = attention.more.iter().filter_map(|(heading, more)| {
        Some((*more, heading.replace('_', " "), views::attention_list(heading)?.1))
    });
    // What has no list of its own has no command either.
    let rest: Vec<(usize, String, Option<String>)> = rest
        .map(|(more, of, list)| (more, of, (list != views::ATTENTION).then(|| page.line(list))))
        .collect();
    let count = attention.needs.len() + rest.iter().map(|(more, ..)| more).sum::<usize>();
    let mut entries = Vec::new();
    // What waits for approval is above.
    let needs: Vec<&Need> = attention.needs.iter().filter(|need| !PROPOSED.contains(&&*need.kind)).collect();
    for need in needs.iter().take(NEEDS) {
        let ids: Vec<String> = need.ids.iter().map(|id| page.named(id)).collect();
        let what: Vec<String> = need.what.iter().map(|text| page.named(text)).collect();
        let (contradictions, about) = need.subjects(&ids);
        let settle: Vec<String> = need.settle.iter().map(|step| page.line(step)).collect();
        entries.push(html! {
            li {
                p { strong { (need.kind.replace('_', " ")) } " "
                    @if !contradictions.is_empty() { (said(&contradictions.join(", "))) " of " }
                    @for (at, id) in about.iter().enumerate() {
                        @if at > 0 && !contradictions.is_empty() { "and " }
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
            @if needs.len() > NEEDS {
                p { (needs.len() - NEEDS) " more: " (command("hm attention")) }
            }
            @for (more, of, list) in &rest {
                @if let Some(list) = list { p { (more) " more of " (of) ": " (command(list)) } }
                @else { p { (more) " more of " (of) ", once some of these are settled" } }
            }
        }
    })
}
