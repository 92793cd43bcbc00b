//! Disagreements with both sides, and decisions by their targets.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::page::{self, ENTRIES, Page, Shown, empty, said};
use crate::domain::ids::ClaimId;
use crate::domain::rejection::Rejection;
use crate::domain::scope::Scope;
use crate::facts::{Contradiction, Contradictions, Decision, Decisions, Side};
use crate::store::{ContradictionFilter, DecisionFilter, Rejected};
use crate::views::{View, ViewError};

/// The page of contradictions.
pub(super) fn show(page: &mut Page<'_>) -> Result<Shown, Rejection> {
    let resolved = page.value("show") == Some("ended");
    let weak = page.value("show") == Some("weak");
    let before = page.parsed("cursor")?;
    let filter = ContradictionFilter { resolved, weak, before, limit: ENTRIES };
    let (found, next) = page.ask::<Contradictions>(&View::Contradictions(filter))?;
    let rows: Vec<Markup> = found.contradictions.iter().map(|found| row(page, found)).collect();
    let kinds = [("", "Open"), ("ended", "Ended"), ("weak", "Weak")];
    let main = html! {
        ul.choices {
            @for (kind, words) in kinds {
                li { a href=(page.address("/disagreements", &[("show", kind)]))
                    aria-current=[(page.value("show").unwrap_or_default() == kind).then_some("true")] { (words) } }
            }
        }
        @if rows.is_empty() {
            (empty("Nobody disagrees here. A challenge or an opposite claim does:", "hm claim challenge C1 --reason REASON"))
        } @else { (table(&rows, "The newest first")) }
        (page.more(next.as_ref()))
    };
    Ok(Shown::new("Disagreements", main))
}

/// A table of contradictions.
pub(super) fn table(rows: &[Markup], caption: &str) -> Markup {
    html! {
        table {
            caption { (caption) }
            thead { tr { th scope="col" { "Name" } th scope="col" { "One side" } th scope="col" { "The other" } th scope="col" { "State" } } }
            tbody { @for row in rows { (row) } }
        }
    }
}

/// A contradiction as a row.
pub(super) fn row(page: &mut Page<'_>, found: &Contradiction) -> Markup {
    let name = found.name.as_deref().unwrap_or(&found.id);
    let [left, right] = [&found.left, &found.right].map(|side| one_side(page, side));
    html! {
        tr {
            th scope="row" { (name) " " span.kind { (found.kind) @if found.tier == "weak" { ", weak" } } }
            td data-of="One side" { (left) }
            td data-of="The other" { (right) }
            td data-of="State" {
                @match &found.cause {
                    None if found.outvoted => { "settled: the operator stands by the claim" }
                    None => (page::status("contested")),
                    Some(cause) => { "over: " (cause.replace('_', " ")) }
                }
                @match (&found.cause, found.resolved_at) {
                    (None, _) if found.outvoted => {}
                    (None, _) => { " since " (page.ago(found.detected_at)) }
                    (Some(_), Some(at)) => { " " (page.ago(at)) }
                    (Some(_), None) => {}
                }
            }
        }
    }
}

fn one_side(page: &mut Page<'_>, side: &Side) -> Markup {
    let claim = page.claim(&side.claim_id);
    html! {
        strong { (said(&side.agent)) } " "
        @if let Some(challenge) = &side.challenge {
            "challenges " (claim) blockquote { (said(challenge)) }
        } @else {
            "holds " (claim)
            @if let Some(status) = &side.status { " " (page::status(status)) }
            blockquote { (said(side.statement.as_deref().unwrap_or("(erased)"))) }
        }
    }
}

/// The page of decisions.
pub(super) fn decisions(page: &mut Page<'_>) -> Result<Shown, Rejection> {
    let filter = DecisionFilter {
        target: page.parsed::<Scope>("target")?,
        before: page.parsed("cursor")?,
        limit: ENTRIES,
        in_force: page.value("all").is_none(),
        ..DecisionFilter::default()
    };
    let (found, next) = page.ask::<Decisions>(&View::Decisions(filter))?;
    let ids: Vec<ClaimId> = found.decisions.iter().filter_map(|each| each.claim_id.parse().ok()).collect();
    let now = page.now;
    let rejected = page.reads.ask(now, |store| store.rejected_by(&ids)).map_err(ViewError::from)?.0;
    let rejected: BTreeMap<String, Vec<Rejected>> =
        rejected.unwrap_or_default().into_iter().map(|(id, all)| (id.to_string(), all)).collect();
    let mut by_target: BTreeMap<&str, Vec<(&Decision, Markup)>> = BTreeMap::new();
    for decision in &found.decisions {
        let link = page.claim(&decision.claim_id);
        by_target.entry(decision.target.as_deref().unwrap_or_default()).or_default().push((decision, link));
    }
    let main = html! {
        ul.choices {
            li { a href=(page.address("/decisions", &[])) { "In force" } }
            li { a href=(page.address("/decisions", &[("all", "yes")])) { "All" } }
        }
        @if found.decisions.is_empty() {
            (empty("No decisions yet.", "hm decision record \"one file\" --target storage --rationale \"no server to run\""))
        }
        @for (target, decisions) in &by_target {
            section {
                h2 { @if target.is_empty() { "Without a target" } @else { (said(target)) } }
                ul.decisions {
                    @for (decision, link) in decisions {
                        li {
                            p { (link) " " (page::status(&decision.status)) " by " (said(&decision.decided_by)) " " (page.ago(decision.created_at)) }
                            p.statement { (said(&decision.statement)) }
                            p { "Because: " (said(&decision.rationale)) }
                            @for other in rejected.get(&decision.claim_id).into_iter().flatten() {
                                p { "Not chosen: " (said(&other.statement)) ": " (said(&other.because)) }
                            }
                            @if let Some(outcome) = &decision.outcome { p { "Outcome: " (said(outcome)) } }
                        }
                    }
                }
            }
        }
        (page.more(next.as_ref()))
    };
    Ok(Shown::new("Decisions", main))
}
