//! The claims: a search, filters, and pages to the end.

use maud::{Markup, html};

use super::page::{ENTRIES, Page, Shown, empty};
use crate::domain::claim::{ClaimType, SearchMode, Status};
use crate::domain::rejection::Rejection;
use crate::domain::scope::Scope;
use crate::facts::{Claims, Hits};
use crate::store::{ClaimFilter, Search, Seen};
use crate::views::View;

/// The words of the filter for a status, and what each means.
const STATUSES: [(&str, &str); 7] = [
    ("", "in force"),
    ("all", "all"),
    ("proposed", "proposed"),
    ("confirmed", "confirmed"),
    ("contested", "contested"),
    ("pending_proof", "pending proof"),
    ("deprecated", "deprecated"),
];
const TYPES: [(&str, &str); 5] = [
    ("", "any"),
    ("fact", "fact"),
    ("decision", "decision"),
    ("hypothesis", "hypothesis"),
    ("negative", "dead end"),
];

/// The page.
pub(super) fn show(page: &mut Page<'_>) -> Result<Shown, Rejection> {
    let status = page.value("status").filter(|status| *status != "all");
    let status = status.map(str::parse::<Status>).transpose()?;
    let filter = ClaimFilter {
        status: status.into_iter().collect(),
        in_force: page.value("status").is_none(),
        claim_type: page.value("type").map(str::parse::<ClaimType>).transpose()?,
        scope: page.parsed::<Scope>("scope")?,
        owner: page.value("owner").map(str::to_owned),
        // The cursor of a search is another one.
        before: if page.value("q").is_none() { page.parsed("cursor")? } else { None },
        limit: ENTRIES,
        ..ClaimFilter::default()
    };
    let (claims, next) = match page.value("q").map(str::to_owned) {
        Some(query) => {
            let seen = page.parsed::<Seen>("cursor")?.unwrap_or_default();
            let search = Search { query, mode: SearchMode::Balanced, filter, seen, explain: false };
            let (found, next) = page.ask::<Hits>(&View::Search(search))?;
            (found.hits, next)
        }
        None => {
            let (found, next) = page.ask::<Claims>(&View::Claims(filter))?;
            (found.claims, next)
        }
    };
    let is_filtered = ["q", "status", "type", "owner", "scope"].iter().any(|name| page.value(name).is_some());
    let main = html! {
        (filters(page))
        @if claims.is_empty() && is_filtered {
            p.empty { "No claim matches. " a href=(page.address("/claims", &[])) { "All claims in force" } }
        } @else if claims.is_empty() {
            (empty("No claims yet. Agents make them, and so do you:", "hm claim create \"the pool holds 20\" --scope src/db"))
        } @else {
            (page.claims(&claims, if page.value("q").is_some() { "The best hits first" } else { "The newest first" }))
        }
        (page.more(next.as_ref()))
    };
    Ok(Shown::new("Claims", main))
}

fn filters(page: &Page<'_>) -> Markup {
    let given = |name: &str| page.value(name).unwrap_or_default().to_owned();
    let choice = |name: &str, label: &str, words: &[(&str, &str)]| {
        let chosen = given(name);
        html! {
            label { (label) " "
                select name=(name) {
                    @for (word, shown) in words { option value=(word) selected[chosen == *word] { (shown) } }
                }
            }
        }
    };
    html! {
        form.filters method="get" action="/claims" role="search" {
            @if let Some(at) = page.value("at") { input type="hidden" name="at" value=(at); }
            label { "Search " input type="search" name="q" value=(given("q")) size="30"; }
            (choice("status", "Status", &STATUSES))
            (choice("type", "Type", &TYPES))
            label { "Owner " input type="text" name="owner" value=(given("owner")) size="12"; }
            label { "About " input type="text" name="scope" value=(given("scope")) size="20" placeholder="src/db"; }
            button { "Show" }
        }
    }
}
