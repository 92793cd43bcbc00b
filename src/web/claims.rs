//! The claims: a search, filters with their counts, and pages to the end.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use maud::{Markup, html};

use super::page::{ENTRIES, Page, Shown, command, empty, said};
use crate::domain::claim::{ClaimType, SearchMode, Status};
use crate::domain::clean;
use crate::domain::rejection::Rejection;
use crate::domain::scope::Scope;
use crate::facts::{Claims, Hits};
use crate::standing::Damage;
use crate::store::{ClaimCount, ClaimFilter, Search, Seen};
use crate::views::{View, ViewError};

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
    let facets = facets(page)?;
    // A memory that cannot be read has no claims to show either.
    let standing = claims.is_empty().then(|| page.reads.standing()).transpose().map_err(ViewError::from)?;
    let damage = standing.and_then(|standing| standing.damage).filter(Damage::stops_writes);
    let main = html! {
        (filters(page))
        (facets)
        @if let Some(damage) = &damage {
            p.empty { "The memory cannot be read: " (said(&damage.loss.fault)) ". " (command("hm status")) " says more." }
        } @else if claims.is_empty() && is_filtered {
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

/// Agents in the list of owners, those with the most claims.
const OWNERS: usize = 8;

/// The number of claims behind each choice of a filter while the other filters stay. A search has no counts: it ranks
/// all claims.
fn facets(page: &mut Page<'_>) -> Result<Markup, Rejection> {
    if page.value("q").is_some() {
        return Ok(html! {});
    }
    let (scope, now) = (page.parsed::<Scope>("scope")?, page.now);
    let counts = page.reads.ask(now, |store| store.claim_counts(scope.as_ref())).map_err(ViewError::from)?.0;
    let counts = counts.unwrap_or_default();
    let given = |name: &str| page.value(name).unwrap_or_default();
    let (status, kind, owner) = (given("status"), given("type"), given("owner"));
    let has_status = |count: &ClaimCount, word: &str| match word {
        "" => count.status != Status::Deprecated,
        "all" => true,
        word => count.status.as_str() == word,
    };
    let has_type = |count: &ClaimCount, word: &str| word.is_empty() || count.claim_type.as_str() == word;
    let has_owner = |count: &ClaimCount, word: &str| word.is_empty() || count.owner == word;
    let sum = |status: &str, kind: &str, owner: &str| -> u64 {
        let fits = |count: &&ClaimCount| {
            has_status(count, status) && has_type(count, kind) && has_owner(count, owner)
        };
        counts.iter().filter(fits).map(|count| count.claims).sum()
    };
    let owners: BTreeSet<&str> = counts.iter().map(|count| &*count.owner).collect();
    let mut owners: Vec<(u64, &str)> =
        owners.into_iter().map(|owner| (sum(status, kind, owner), owner)).collect();
    owners.sort_by_key(|(claims, owner)| (Reverse(*claims), *owner));
    let statuses = STATUSES.iter().map(|(word, shown)| (sum(word, kind, owner), *word, *shown)).collect();
    let types = TYPES.iter().map(|(word, shown)| (sum(status, word, owner), *word, *shown)).collect();
    let any = (sum(status, kind, ""), "", "any");
    let owners =
        [any].into_iter().chain(owners.into_iter().take(OWNERS).map(|(claims, name)| (claims, name, name)));
    let all: [(&str, &str, &str, Vec<Choice<'_>>); 3] = [
        ("status", "Status", status, statuses),
        ("type", "Type", kind, types),
        ("owner", "Owner", owner, owners.collect()),
    ];
    Ok(html! {
        dl.facets {
            @for (name, label, chosen, choices) in &all {
                dt { (label) }
                dd { ul.choices { @for (claims, word, shown) in choices {
                    @if *claims > 0 || word == chosen {
                        li { a href=(facet(page, name, word)) aria-current=[(word == chosen).then_some("true")] { (clean::revealed(shown)) } " " span.count { (claims) } }
                    }
                } } }
            }
        }
    })
}

/// A choice of a filter: the number of claims that it would show, the word in the address, and the word that people read.
type Choice<'a> = (u64, &'a str, &'a str);

/// The address of the list with another choice of one filter.
fn facet(page: &Page<'_>, name: &str, word: &str) -> String {
    let kept = ["status", "type", "owner", "scope"].into_iter().filter(|kept| *kept != name);
    let kept = kept.map(|kept| (kept, page.value(kept).unwrap_or_default()));
    page.address("/claims", &kept.chain([(name, word)]).collect::<Vec<_>>())
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
        form.filters method="get" action=(page.at_present("/claims")) role="search" {
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
