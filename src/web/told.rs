//! What an agent would be told: its context, and what was left out of it.

use maud::{Markup, html};

use super::page::{Page, Shown, block, said};
use crate::domain::agent::AgentId;
use crate::domain::rejection::Rejection;
use crate::facts::{Explained, Item};
use crate::system;
use crate::views::{self, ContextOf, View};

/// Characters that a page asks for at most.
const MAX_BUDGET: usize = 100_000;

/// The page.
pub(super) fn show(page: &mut Page<'_>) -> Result<Shown, Rejection> {
    let form = form(page);
    let Some(name) = page.value("agent").map(str::to_owned) else {
        let main = html! { (form) p.empty { "Name an agent to see what its next context holds." } };
        return Ok(Shown::new("What an agent is told", main));
    };
    let roster = page.site.config.roster.clone();
    let called = views::agent_called(&mut page.reads, &roster, &name, system::now());
    let (agent, _): (AgentId, _) = called.map_err(|unknown| Rejection::invalid("agent", unknown))?;
    let mut of = ContextOf::new(agent, None);
    of.intent = page.value("intent").map(str::to_owned);
    of.budget = page.parsed::<usize>("budget")?.unwrap_or(of.budget).min(MAX_BUDGET);
    let text = page.text(&View::Context(of.clone()))?;
    let text = page.named(&text);
    let (explained, _) = page.ask::<Explained>(&View::Explained(of.clone(), None))?;
    let names: Vec<Markup> = explained.items.iter().map(|item| page.claim(&item.id)).collect();
    let rows = |shown: bool| -> Vec<(&Item, &Markup)> {
        explained.items.iter().zip(&names).filter(|(item, _)| item.shown == shown).collect()
    };
    let main = html! {
        (form)
        section aria-labelledby="pack" {
            h2 #pack { "What it is told" }
            p { (text.chars().count()) " characters of " (of.budget) }
            (block(&text))
        }
        (items(&rows(false), "Left out: there was no room for it after what is more relevant"))
        (items(&rows(true), "Told, with its relevance"))
    };
    Ok(Shown::new("What an agent is told", main))
}

fn items(rows: &[(&Item, &Markup)], caption: &str) -> Markup {
    html! {
        table {
            caption { (caption) }
            thead { tr { th scope="col" { "Claim" } th scope="col" { "Part" } th scope="col" { "Relevance" } th scope="col" { "Characters" } th scope="col" { "Statement" } } }
            tbody {
                @if rows.is_empty() { tr { td colspan="5" { "Nothing." } } }
                @for (item, name) in rows {
                    tr { th scope="row" { (name) } td data-of="Part" { (item.section.replace('_', " ")) } td data-of="Relevance" { (format!("{:.2}", item.relevance)) }
                        td data-of="Characters" { (item.chars) } td.statement { (said(&item.statement)) } }
                }
            }
        }
    }
}

fn form(page: &Page<'_>) -> Markup {
    let given = |name: &str| page.value(name).unwrap_or_default().to_owned();
    html! {
        form.filters method="get" action=(page.at_present("/told")) {
            @if let Some(at) = page.value("at") { input type="hidden" name="at" value=(at); }
            label { "Agent " input type="text" name="agent" value=(given("agent")) size="14" required; }
            label { "Intent " input type="text" name="intent" value=(given("intent")) size="30"; }
            label { "Characters " input type="number" name="budget" value=(given("budget")) min="200" max=(MAX_BUDGET); }
            button { "Show" }
        }
    }
}
