//! Dead ends by path, with the firings of their warnings and what came of them.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::page::{Page, Shown, empty, said, state};
use crate::domain::rejection::Rejection;
use crate::domain::scope::Scope;
use crate::facts::{Claim, Claims, Guard, Guards};
use crate::views::View;

/// A directory or a file with the dead ends there, and what is below it.
#[derive(Default)]
struct Tree<'a> {
    here: Vec<&'a Claim>,
    below: BTreeMap<String, Tree<'a>>,
}

impl<'a> Tree<'a> {
    fn add(&mut self, scope: &str, claim: &'a Claim) {
        // Only paths have parts: a tag is one word.
        let parts: Vec<&str> = if scope.contains(':') { vec![scope] } else { scope.split('/').collect() };
        let leaf = parts.into_iter().fold(self, |tree, part| tree.below.entry(part.to_owned()).or_default());
        leaf.here.push(claim);
    }

    /// The tree with lines of single directories as one entry.
    fn joined(mut self) -> Self {
        self.below = self
            .below
            .into_iter()
            .map(|(name, tree)| {
                let (mut name, mut tree) = (name, tree.joined());
                while tree.here.is_empty() && tree.below.len() == 1 {
                    let Some((part, only)) = tree.below.pop_first() else { break };
                    (name, tree) = (format!("{name}/{part}"), only);
                }
                (name, tree)
            })
            .collect();
        self
    }
}

/// The page.
pub(super) fn show(page: &mut Page<'_>) -> Result<Shown, Rejection> {
    let scope = page.parsed::<Scope>("scope")?;
    let before = page.parsed("cursor")?;
    let (found, next) = page.ask::<Claims>(&View::Negative(scope, before))?;
    let (guards, _) = page.ask::<Guards>(&View::Guards)?;
    let guards: BTreeMap<&str, &Guard> = guards.guards.iter().map(|guard| (&*guard.id, guard)).collect();
    let mut tree = Tree::default();
    for claim in &found.claims {
        for scope in &claim.scopes {
            tree.add(scope, claim);
        }
    }
    let given = page.value("scope").unwrap_or_default().to_owned();
    let main = html! {
        form.filters method="get" action=(page.at_present("/dead-ends")) {
            @if let Some(at) = page.value("at") { input type="hidden" name="at" value=(at); }
            label { "At " input type="text" name="scope" value=(given) size="24" placeholder="src/db/pool.rs"; }
            button { "Show" }
        }
        @if found.claims.is_empty() {
            (empty("No dead end is known here. A failed approach becomes one:", "hm claim create \"a retry deadlocks\" --type negative --scope src/db"))
        } @else { (branches(page, &tree.joined(), &guards)) }
        (page.more(next.as_ref()))
    };
    Ok(Shown::new("Dead ends", main))
}

fn branches(page: &Page<'_>, tree: &Tree<'_>, guards: &BTreeMap<&str, &Guard>) -> Markup {
    html! {
        ul.tree {
            @for (name, below) in &tree.below {
                li {
                    details open {
                        summary { code { (said(name)) } }
                        @if !below.here.is_empty() {
                            ul { @for claim in &below.here { li { (dead_end(page, claim, guards.get(&*claim.id).copied())) } } }
                        }
                        @if !below.below.is_empty() { (branches(page, below, guards)) }
                    }
                }
            }
        }
    }
}

fn dead_end(page: &Page<'_>, claim: &Claim, guard: Option<&Guard>) -> Markup {
    html! {
        p { (page.to(&format!("/claim/{}", claim.called()), claim.called())) " " (state(claim)) " by " (said(&claim.owner)) " " (page.ago(claim.created_at)) }
        p.statement { (said(&claim.statement)) }
        @match guard {
            Some(guard) => p { "Its warning: " (outcomes(guard)) },
            None => p { "It warns nobody: it has no trigger." },
        }
    }
}

/// The firings of a guard, and what came of them.
pub(super) fn outcomes(guard: &Guard) -> Markup {
    let counts = &guard.counts;
    html! {
        "fired " (counts.fired) ", followed " (counts.followed) ", ignored " (counts.ignored)
        ", proved right " (counts.proved_right) ", proved wrong " (counts.proved_wrong)
    }
}
