//! Patterns in the work, guards, playbooks, and the policy of the memory.

use maud::{Markup, html};

use super::acting;
use super::dead_ends::outcomes;
use super::page::{self, Page, Shown, command, empty, path, said};
use crate::domain::policy::MemoryPolicy;
use crate::domain::rejection::Rejection;
use crate::facts::{Guards, Pattern, Patterns, Playbooks};
use crate::steps::in_shell;
use crate::views::View;

/// The page of patterns, guards and playbooks.
pub(super) fn show(page: &mut Page<'_>) -> Result<Shown, Rejection> {
    let before = page.parsed("cursor")?;
    let (patterns, next) = page.ask::<Patterns>(&View::Patterns(true, before))?;
    let rows: Vec<Markup> = patterns.patterns.iter().map(|pattern| pattern_row(page, pattern)).collect();
    let guards = guards(page)?;
    let playbooks = playbooks(page)?;
    let main = html! {
        section aria-labelledby="patterns" {
            h2 #patterns { "Patterns" }
            @if rows.is_empty() { p.empty { "No loop, stall or other pattern was found in the work. The writer looks after each event." } }
            @else {
                table {
                    caption { "Found in the work of the team, the newest first" }
                    thead { tr { th scope="col" { "Pattern" } th scope="col" { "About" } th scope="col" { "Agents" } th scope="col" { "Found" } th scope="col" { "To settle it" } } }
                    tbody { @for row in &rows { (row) } }
                }
            }
            (page.more(next.as_ref()))
        }
        (guards)
        (playbooks)
    };
    Ok(Shown::new("Patterns, guards, playbooks", main))
}

fn pattern_row(page: &mut Page<'_>, pattern: &Pattern) -> Markup {
    let about = page.named(&pattern.about);
    let settle: Vec<String> = pattern.settle.iter().map(|step| page.line(step)).collect();
    html! {
        tr {
            th scope="row" { (said(pattern.name.as_deref().unwrap_or(&pattern.id))) " " (pattern.kind.replace('_', " ")) }
            td data-of="About" { (said(&about)) @if let Some(title) = &pattern.task_title { ": " (said(title)) } }
            td data-of="Agents" { (said(&pattern.agents.join(", "))) }
            td data-of="Found" { (page.ago(pattern.opened_at)) @if pattern.closed_at.is_some() { ", over" } }
            td data-of="To settle it" { @for line in &settle { (command(line)) " " } }
        }
    }
}

fn guards(page: &mut Page<'_>) -> Result<Markup, Rejection> {
    let (found, _) = page.ask::<Guards>(&View::Guards)?;
    let names: Vec<Markup> = found
        .guards
        .iter()
        .map(|guard| {
            let name = page.named(&guard.id);
            match &guard.claim_id {
                Some(claim) if *claim == guard.id => page.to(&format!("/claim/{name}"), &name),
                _ => said(&name),
            }
        })
        .collect();
    Ok(html! {
        section aria-labelledby="guards" {
            h2 #guards { "Guards and dead ends that warn" }
            @if names.is_empty() { (empty("No guard yet.", "hm guard accept --error TEXT --text WARNING")) }
            @else {
                table {
                    caption { "Each with what came of its warnings" }
                    thead { tr { th scope="col" { "Guard" } th scope="col" { "Says" } th scope="col" { "When" } th scope="col" { "Outcomes" } th scope="col" { "By" } } }
                    tbody {
                        @for (guard, name) in found.guards.iter().zip(&names) {
                            tr {
                                th scope="row" { (name) " " (guard.action) @if !guard.muted.is_empty() { ", muted" } }
                                td.statement { (said(&guard.text)) }
                                td data-of="When" { (path(&guard.condition.to_string())) }
                                td data-of="Outcomes" { (outcomes(guard)) }
                                td data-of="By" { (said(&guard.by)) " " (page.ago(guard.at)) }
                            }
                        }
                    }
                }
            }
        }
    })
}

fn playbooks(page: &mut Page<'_>) -> Result<Markup, Rejection> {
    let (found, _) = page.ask::<Playbooks>(&View::Playbooks)?;
    Ok(html! {
        section aria-labelledby="playbooks" {
            h2 #playbooks { "Playbooks" }
            @if found.playbooks.is_empty() { p.empty { "No playbook yet. Three tasks that end well with the same steps give the first." } }
            @else {
                ul.needs {
                    @for one in &found.playbooks {
                        li {
                            p { strong { (said(&one.name)) } " " (said(&one.title)) " " (page::status(&one.status))
                                ", done in " (one.tasks.len()) " of " (one.of) " tasks; later tasks with it: " (one.helpful) " done, " (one.harmful) " given up" }
                            @if one.status == "proposed" {
                                (acting::button(page, "accept-playbook", &one.name, &format!("hm playbook accept {}", one.name)))
                                (acting::button(page, "dismiss-playbook", &one.name, &format!("hm playbook dismiss {} --reason REASON", one.name)))
                            }
                        }
                    }
                }
            }
        }
    })
}

/// The page of the policy.
pub(super) fn policy(page: &mut Page<'_>) -> Result<Shown, Rejection> {
    let policy = &page.site.config.memory;
    let status = page.text(&View::Status)?;
    let main = html! {
        section aria-labelledby="rules" {
            h2 #rules { "The policy of the memory" }
            p { "As it was when " (command(page.site.verb())) " started. What may cross from one space into another is also on the page " (page.to("/spaces", "Spaces")) "." }
            table {
                caption { "Every rule with its value: " (command("hm policy show")) " names the line of each" }
                thead { tr { th scope="col" { "Rule" } th scope="col" { "Value" } } }
                tbody { @for (key, value) in policy.rules() { tr { th scope="row" { (key) } td { (said(&MemoryPolicy::in_words(&value))) } } } }
            }
        }
        section aria-labelledby="status" {
            h2 #status { "The state of the workspace" }
            (page::block(&in_shell(&status)))
        }
    };
    Ok(Shown::new("Policy", main))
}
