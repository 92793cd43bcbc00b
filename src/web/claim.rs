//! One claim: the positions side by side, its evidence, the run that proved it, its history, and what replaced what.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::acting;
use super::graph::{self, Node};
use super::page::{self, Page, Shown, block, command, said, state, time};
use crate::domain::agent::AgentId;
use crate::domain::clean;
use crate::domain::ids::{ClaimId, RunId};
use crate::domain::names::Sort;
use crate::domain::rejection::Rejection;
use crate::domain::time::Timestamp;
use crate::facts::{Claim, Claims, Contradiction, Output, Position, Run, Whole};
use crate::store::ClaimFilter;
use crate::views::{Stream, View};

/// Claims in the drawn chain, this one included.
const CHAIN: usize = 12;
/// Characters at the end of an output that the page of the claim shows.
const OUTPUT_CHARS: usize = 2_000;

/// The page.
pub(super) fn show(page: &mut Page<'_>, name: &str) -> Result<Shown, Rejection> {
    let id = ClaimId::from_uuid(page.id(Sort::Claim, name)?);
    let (whole, _) = page.ask::<Whole>(&View::Claim(id))?;
    let claim = &whole.claim;
    let chain = chain(page, id, &whole)?;
    let main = html! {
        p.statement { (said(&claim.statement)) }
        dl.facts {
            dt { "State" } dd { (state(claim)) }
            dt { "Type" } dd { (claim.kind) }
            dt { "Owner" } dd { (said(&claim.owner)) ", " (page.ago(claim.created_at)) }
            dt { "About" } dd { (page.places(&claim.scopes)) }
            dt { "Confidence" } dd { (format!("{:.2}", claim.effective_confidence)) ", best evidence: " (claim.grade) }
            @for changed in &claim.changed_since { dt { "Changed since" } dd { code { (clean::revealed(&changed.path)) } } }
            @if !whole.asks.is_empty() { dt { "Asks" } dd { (said(&whole.asks.join(", "))) } }
            @if let Some(trigger) = &whole.trigger { dt { "Warns at" } dd { code { (clean::revealed(&trigger.to_string())) } } }
        }
        (acts(page, &whole))
        (positions(page, &whole))
        (proof(page, &whole)?)
        (evidence(page, &whole))
        (decided(page, &whole))
        (against(page, &whole.contradictions))
        (chain)
        (history(page, &whole))
    };
    Ok(Shown::new(format!("Claim {}", claim.called()), main))
}

fn acts(page: &Page<'_>, whole: &Whole) -> Markup {
    let name = whole.claim.called();
    let is_over = whole.claim.status == "deprecated";
    let operator = AgentId::operator();
    let holds = |position: &str| {
        whole.positions.iter().any(|held| held.agent == operator.as_str() && held.position == position)
    };
    html! {
        section aria-labelledby="act" {
            h2 #act { "What you can do" }
            @if is_over { p { "It is deprecated, so nobody takes a position on it any more." } }
            @else {
                @if page.form.is_none() && page.moment.is_none() {
                    @if page.site.base.is_empty() {
                        p { "These pages only show. A human at a terminal who starts " (command("hm web")) " can act here." }
                    } @else {
                        p { "Your token only reads. One of the operator acts here: "
                            (command("hm token add --agent operator --role admin")) }
                    }
                }
                @if holds("support") { (acting::button(page, "abstain", name, &format!("hm claim abstain {name}"))) }
                @else { (acting::button(page, "support", name, &format!("hm claim support {name}"))) }
                (acting::button(page, "challenge", name, &format!("hm claim challenge {name} --reason REASON")))
                (acting::button(page, "deprecate", name, &format!("hm claim deprecate {name} --reason REASON")))
            }
        }
    }
}

fn positions(page: &mut Page<'_>, whole: &Whole) -> Markup {
    let of = |word: &'static str| whole.positions.iter().filter(move |held| held.position == word);
    let others: Vec<&Position> =
        whole.positions.iter().filter(|held| !["support", "challenge"].contains(&&*held.position)).collect();
    let before: Vec<Markup> =
        whole.challenged_before.iter().map(|before| page.claim(&before.claim_id)).collect();
    let sides = [("For", of("support").collect::<Vec<_>>()), ("Against", of("challenge").collect())];
    let sides = sides.map(|(title, held)| {
        let rows: Vec<Markup> = held.iter().map(|held| position(page, whole, held)).collect();
        (title, rows)
    });
    html! {
        section aria-labelledby="positions" {
            h2 #positions { "Positions" }
            div.sides {
                @for (title, rows) in &sides {
                    div { h3 { (title) }
                        @if *title == "For" { p { (said(&whole.claim.owner)) " states it" } }
                        @if rows.is_empty() { p.empty { "Nobody" @if *title == "For" { " else" } "." } }
                        @else { ul { @for row in rows { li { (row) } } } } }
                }
            }
            @if !others.is_empty() {
                p { "Abstained: " (said(&others.iter().map(|held| &*held.agent).collect::<Vec<_>>().join(", "))) }
            }
            @for (old, claim) in whole.challenged_before.iter().zip(&before) {
                p { "Not answered: " (said(&old.agent)) " challenged " (claim)
                    @if let Some(reason) = &old.reason { ": " (said(reason)) } }
            }
        }
    }
}

fn position(page: &mut Page<'_>, whole: &Whole, held: &Position) -> Markup {
    let settled = whole.settled(held).map(|end| page.named(&end));
    let cited = held.evidence_ref.as_deref().map(|id| event(page, id));
    html! {
        strong { (said(&held.agent)) } " " (page.ago(held.at))
        @if held.before_change { ", before the last change" }
        @if let Some(end) = &settled { ", " (end) }
        @if let Some(reason) = &held.reason { blockquote { (said(reason)) } }
        @if let Some(cited) = &cited { p { "cites " (cited) } }
    }
}

/// A link to the page of an event.
fn event(page: &mut Page<'_>, id: &str) -> Markup {
    let name = page.named(id);
    page.to(&format!("/event/{}", name.trim_start_matches('#')), &name)
}

/// The run that proved it, with its command and the end of its output.
fn proof(page: &mut Page<'_>, whole: &Whole) -> Result<Markup, Rejection> {
    let Some(proof) = &whole.claim.proof else { return Ok(html! {}) };
    let Ok(id) = proof.run_id.parse::<RunId>() else { return Ok(html! {}) };
    let (run, _) = page.ask::<Run>(&View::Experiment(id))?;
    let tail = tail(page, id, OUTPUT_CHARS);
    let place = whole.proof_ran.as_deref().map(|place| page.named(place));
    Ok(html! {
        section aria-labelledby="proof" {
            h2 #proof { "What proved it" }
            dl.facts {
                dt { "Run" } dd { (page.to(&format!("/run/{}", run.called()), run.called())) " " (page::status(&run.status)) }
                @if let Some(ran) = &proof.ran { dt { "Profile" } dd { (said(ran)) } }
                @if let Some(line) = &run.command { dt { "Command" } dd { (command(line)) } }
                @if let Some(predicted) = &run.prediction { dt { "Predicted" } dd { (predicted) } }
                @if let Some(code) = run.outcome.as_ref().and_then(|outcome| outcome.exit_code) { dt { "Exit code" } dd { (code) } }
                dt { "Asked for by" } dd { (said(&run.requested_by)) ", " (page.ago(run.created_at)) }
                @if let Some(place) = &place { dt { "Where" } dd { (said(place)) } }
            }
            (tail)
        }
    })
}

/// The ends of both outputs of a run, as far as there are any.
pub(super) fn tail(page: &mut Page<'_>, run: RunId, most: usize) -> Markup {
    let ends = [("Output", Stream::Stdout), ("Error output", Stream::Stderr)].map(|(title, stream)| {
        // A run that has not ended, or whose files are gone, has none.
        let end =
            page.ask::<Output>(&View::Output(run, stream)).map(|(output, _)| output.end).unwrap_or_default();
        let skipped = end.chars().count().saturating_sub(most);
        (title, end.chars().skip(skipped).collect::<String>())
    });
    html! {
        @for (title, end) in &ends {
            @if !end.trim().is_empty() { h3 { (title) ", its end" } (block(end)) }
        }
    }
}

fn evidence(page: &mut Page<'_>, whole: &Whole) -> Markup {
    let items: Vec<(Markup, Option<Markup>)> = whole
        .evidence_items
        .iter()
        .map(|item| {
            let run = item.run_id.as_deref().map(|run| {
                let name = page.named(run);
                page.to(&format!("/run/{name}"), &name)
            });
            (event(page, &item.evidence_ref), run)
        })
        .collect();
    html! {
        section aria-labelledby="evidence" {
            h2 #evidence { "Evidence" }
            @if items.is_empty() { p.empty { "None: it is asserted. " (command(&format!("hm claim evidence {} --ref last --relation supports", whole.claim.called()))) } }
            @else {
                table {
                    caption { "Events that are linked to the claim" }
                    thead { tr { th scope="col" { "Event" } th scope="col" { "Says" } th scope="col" { "Grade" } th scope="col" { "Run" }
                        th scope="col" { "Added" } th scope="col" { "Note" } } }
                    tbody {
                        @for (item, (event, run)) in whole.evidence_items.iter().zip(&items) {
                            tr {
                                th scope="row" { (event) }
                                td data-of="Says" { (item.relation) }
                                td data-of="Grade" { (item.grade) @if item.stale_since.is_some() { ", stale: its files were edited since" } ", weight " (format!("{:.2}", item.weight)) }
                                td data-of="Run" { @if let Some(run) = run { (run) } @if let Some(ran) = &item.ran { " " (said(ran)) }
                                    @if let Some(outcome) = &item.outcome { " " (outcome) } @if let Some(predicted) = &item.prediction { ", predicted: " (predicted) } }
                                td data-of="Added" { (said(&item.added_by)) " " (page.ago(item.at)) }
                                td data-of="Note" { @if let Some(note) = &item.note { (said(note)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn decided(page: &mut Page<'_>, whole: &Whole) -> Markup {
    let Some(decision) = &whole.decision else { return html! {} };
    let rejected: Vec<Markup> =
        decision.alternatives.iter().map(|other| page.claim(&other.claim_id)).collect();
    html! {
        section aria-labelledby="decision" {
            h2 #decision { "Decision" }
            dl.facts {
                @if let Some(target) = &decision.summary.target { dt { "Target" } dd { (said(target)) } }
                dt { "Because" } dd { (said(&decision.summary.rationale)) }
                @if let Some(outcome) = &decision.summary.outcome { dt { "Outcome" } dd { (said(outcome)) } }
            }
            @if !rejected.is_empty() {
                h3 { "Not chosen" }
                ul { @for (other, link) in decision.alternatives.iter().zip(&rejected) {
                    li { (link) " " (said(&other.statement)) blockquote { (said(&other.rejection_reason)) } } } }
            }
        }
    }
}

fn against(page: &mut Page<'_>, all: &[Contradiction]) -> Markup {
    if all.is_empty() {
        return html! {};
    }
    let rows: Vec<Markup> = all.iter().map(|found| super::disputes::row(page, found)).collect();
    html! {
        section aria-labelledby="contradictions" {
            h2 #contradictions { "Contradictions" }
            (super::disputes::table(&rows, "What contradicts it"))
        }
    }
}

/// The claims that it replaced and that replaced it, oldest first: drawn, and as a table with the same rows.
fn chain(page: &mut Page<'_>, id: ClaimId, whole: &Whole) -> Result<Markup, Rejection> {
    let mut ids = before(page, id, whole)?;
    ids.push(id);
    ids.extend(whole.successors.iter().filter_map(|id| id.parse::<ClaimId>().ok()));
    if ids.len() == 1 {
        return Ok(html! {});
    }
    let is_cut = ids.len() > CHAIN;
    // The current claim is the last.
    let ids = ids.split_off(ids.len().saturating_sub(CHAIN));
    let mut claims = Vec::new();
    for one in &ids {
        let filter = ClaimFilter { id: Some(*one), limit: 1, ..ClaimFilter::default() };
        claims.extend(page.ask::<Claims>(&View::Claims(filter))?.0.claims);
    }
    let subject = id.to_string();
    let node = |claim: &Claim| Node {
        head: format!("{} {}", claim.called(), claim.status.replace('_', " ")),
        text: claim.statement.clone(),
        is_subject: claim.id == subject,
    };
    let nodes: Vec<Node> = claims.iter().map(node).collect();
    let arrows: Vec<(usize, usize)> = (1..nodes.len()).map(|at| (at - 1, at)).collect();
    Ok(html! {
        section aria-labelledby="chain" {
            h2 #chain { "What replaced what" }
            (graph::drawn(&nodes, &arrows, "The claims of the table below, each with an arrow to the one that replaced it"))
            (page.claims(&claims, "The same claims, the oldest first"))
            @if is_cut { p { "Older ones are left out: open the first." } }
        }
    })
}

/// The claims before it, oldest first.
fn before(page: &mut Page<'_>, id: ClaimId, whole: &Whole) -> Result<Vec<ClaimId>, Rejection> {
    let mut seen = BTreeSet::from([id]);
    let mut all: Vec<ClaimId> = Vec::new();
    let mut next: Vec<ClaimId> = whole.supersedes.iter().filter_map(|id| id.parse().ok()).collect();
    while let Some(old) = next.pop() {
        if all.len() == CHAIN || !seen.insert(old) {
            continue;
        }
        all.push(old);
        let (older, _) = page.ask::<Whole>(&View::Claim(old))?;
        next.extend(older.supersedes.iter().filter_map(|id| id.parse::<ClaimId>().ok()));
    }
    all.reverse();
    Ok(all)
}

fn history(page: &mut Page<'_>, whole: &Whole) -> Markup {
    let reasons: Vec<Option<String>> = whole
        .history
        .iter()
        .map(|change| change.reason.as_deref().map(|reason| page.named(reason)))
        .collect();
    html! {
        section aria-labelledby="history" {
            h2 #history { "History" }
            ol.timeline {
                @for (change, reason) in whole.history.iter().zip(&reasons) {
                    li {
                        (page.to(&format!("/event/{}", change.seq), &format!("#{}", change.seq))) " "
                        (time(Timestamp::from_ms(change.at))) " "
                        @if change.from.is_none() { "stated as " }
                        (page::status(&change.to)) " by " (said(change.by()))
                        @if let Some(reason) = reason { ": " (said(reason)) }
                    }
                }
            }
        }
    }
}
