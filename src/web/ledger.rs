//! The ledger: its events, whether its chain stands, and one event.

use maud::{Markup, html};

use super::page::{ENTRIES, Page, Shown, block, command, empty, said, time};
use crate::domain::agent::AgentId;
use crate::domain::rejection::Rejection;
use crate::domain::time::Timestamp;
use crate::facts::{Event, Events};
use crate::ledger;
use crate::views::{self, View, ViewError};

/// Characters of a payload in the list.
const PAYLOAD_CHARS: usize = 300;

/// The page of events.
pub(super) fn show(page: &mut Page<'_>) -> Result<Shown, Rejection> {
    let after = page.parsed::<u64>("after")?;
    let before = page.parsed::<u64>("before")?.filter(|_| after.is_none());
    let filter = ledger::Filter {
        after: after.unwrap_or_default(),
        until: before.map(|before| before.saturating_sub(1)),
        kind: page.value("type").map(str::to_owned),
        agent: page.value("agent").map(|name| AgentId::recorded(name.to_owned())),
        limit: ENTRIES,
        newest: after.is_none(),
        ..ledger::Filter::default()
    };
    let (found, next) = page.ask::<Events>(&View::Events(filter))?;
    // What is before and after this page, whichever way the reader came to it.
    let is_full = found.events.len() == ENTRIES;
    let first = found.events.first().map(|event| event.seq);
    let earlier = first.filter(|_| if after.is_none() { is_full } else { after > Some(0) });
    let later = found.events.last().map(|event| event.seq).filter(|_| before.is_some() || next.is_some());
    let standing = standing(page)?;
    let main = html! {
        (standing)
        (filters(page))
        @if found.events.is_empty() { (empty("No event matches. Every write is one:", "hm intent \"mend the pool\"")) }
        @else {
            table {
                caption { @if after.is_none() && before.is_none() { "The newest events, in their order" } @else { "In their order" } }
                thead { tr { th scope="col" { "Event" } th scope="col" { "Type" } th scope="col" { "By" } th scope="col" { "When" } th scope="col" { "Content" } } }
                tbody { @for event in &found.events { (row(page, event)) } }
            }
        }
        ul.choices {
            @if earlier.is_some() { li { (page.turned("The first events", "first", "after", 0)) } }
            @if let Some(seq) = earlier { li { (page.turned("Earlier", "prev", "before", seq)) } }
            @if let Some(seq) = later {
                li { (page.turned("Later", "next", "after", seq)) }
                li { a href=(page.address("/ledger", &[])) { "The newest events" } }
            }
        }
    };
    Ok(Shown::new("Ledger", main))
}

fn row(page: &mut Page<'_>, event: &Event) -> Markup {
    let payload = event
        .payload
        .as_ref()
        .map_or_else(|| "(erased, or in the space of another user)".to_owned(), ToString::to_string);
    let cut: String = payload.chars().take(PAYLOAD_CHARS).collect();
    let cut = page.named(&cut);
    html! {
        tr {
            th scope="row" { (page.to(&format!("/event/{}", event.seq), &format!("#{}", event.seq))) }
            td data-of="Type" { (said(&event.kind)) }
            td data-of="By" { (said(&event.agent)) }
            td data-of="When" { (page.ago(event.at)) }
            td.payload { code { (said(&cut)) } }
        }
    }
}

/// Whether the ledger is the one that this machine saw, and on request whether its whole chain stands.
fn standing(page: &mut Page<'_>) -> Result<Markup, Rejection> {
    let damage = page.reads.standing().map_err(ViewError::from)?.damage;
    let walked = match page.value("verify") {
        Some(_) => {
            page.reads.ledger().map_err(ViewError::from)?.map(|ledger| ledger.verify(|_| ())).transpose()
        }
        None => Ok(None),
    };
    let walked = walked.map_err(ViewError::from)?;
    Ok(html! {
        section aria-labelledby="standing" {
            h2 #standing { "Is it whole?" }
            @match &damage {
                Some(damage) => p.receipt { (said(&damage.loss.fault.to_string())) " " (command("hm doctor")) },
                None => p { (page.head) " events, and none is missing that this machine saw." },
            }
            @match &walked {
                Some(report) => {
                    p { @match &report.fault {
                        Some(fault) => { "The chain is broken: " (said(&fault.to_string())) },
                        None => { "The chain of " (report.events) " events stands; its head is " code { (hex::encode(report.head.hash)) } },
                    } }
                }
                None => p { a href=(page.address("/ledger", &[("verify", "yes")])) { "Walk the whole chain" } " " (command("hm verify")) },
            }
        }
    })
}

fn filters(page: &Page<'_>) -> Markup {
    let given = |name: &str| page.value(name).unwrap_or_default().to_owned();
    html! {
        form.filters method="get" action=(page.at_present("/ledger")) {
            @if let Some(at) = page.value("at") { input type="hidden" name="at" value=(at); }
            label { "Type " input type="text" name="type" value=(given("type")) size="20" placeholder="claim.created"; }
            label { "By " input type="text" name="agent" value=(given("agent")) size="12"; }
            label { "After event " input type="number" name="after" value=(given("after")) min="0"; }
            button { "Show" }
        }
    }
}

/// The page of one event.
pub(super) fn event(page: &mut Page<'_>, name: &str) -> Result<Shown, Rejection> {
    let id = views::event(&mut page.reads, name)?;
    let (event, _) = page.ask::<Event>(&View::Event(id))?;
    let payload = event.payload.as_ref().and_then(|payload| serde_json::to_string_pretty(payload).ok());
    let payload = payload.map(|payload| page.named(&payload));
    let seq = event.seq;
    let main = html! {
        dl.facts {
            dt { "Type" } dd { (said(&event.kind)) }
            dt { "By" } dd { (said(&event.agent)) @if let Some(session) = &event.session { ", session " (said(session)) } }
            dt { "When" } dd { (time(Timestamp::from_ms(event.at))) }
            dt { "Id" } dd { code { (event.id) } }
            dt { "Hash" } dd { code { (event.hash) } }
        }
        @match &payload {
            Some(payload) => (block(payload)),
            None => p.empty { "Its content is erased, or in the space of another user." },
        }
        ul.choices {
            @if seq > 1 { li { (page.to(&format!("/event/{}", seq - 1), &format!("Event #{}", seq - 1))) } }
            @if seq < page.head { li { (page.to(&format!("/event/{}", seq + 1), &format!("Event #{}", seq + 1))) } }
            li { a href=(page.at_present(&format!("/?at={seq}"))) { "The memory right after it" } }
        }
    };
    Ok(Shown::new(format!("Event #{seq}"), main))
}
