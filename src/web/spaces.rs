//! The spaces of the memory: who sees each, what may cross into another one, and the facts kept under keys.

use maud::{Markup, html};

use super::page::{Page, Shown, command, empty, said};
use crate::domain::memory::Space;
use crate::domain::rejection::Rejection;
use crate::domain::spaces::Border;
use crate::facts::Anchors;
use crate::views::View;

/// The page.
pub(super) fn show(page: &mut Page<'_>) -> Result<Shown, Rejection> {
    let (found, _) = page.ask::<Anchors>(&View::Anchors)?;
    let promotion = &page.site.config.memory.promotion;
    let main = html! {
        table {
            caption { "The spaces, from the narrowest to the widest" }
            thead { tr { th scope="col" { "Space" } th scope="col" { "Belongs to" } th scope="col" { "Holds" } th scope="col" { "To list it" } } }
            tbody {
                @for space in Space::ALL {
                    @let (owner, holds) = about(*space);
                    tr { th scope="row" { @match listed(*space) { Some(path) => (page.to(path, &space.to_string())), None => (space) } } td data-of="Belongs to" { (owner) } td data-of="Holds" { (holds) }
                        td data-of="To list it" { (command(&format!("hm memory list --space {space}"))) } }
                }
            }
        }
        section aria-labelledby="borders" {
            h2 #borders { "What may cross" }
            table {
                caption { "The least authority that an item needs, by the policy that held when " (command(page.site.verb())) " started" }
                thead { tr { th scope="col" { "Border" } th scope="col" { "Needs" } } }
                tbody { @for border in Border::ALL { tr { th scope="row" { (border.as_str().replace('_', " ")) } td data-of="Needs" { (promotion.bar(*border).to_string().replace('_', " ")) } } } }
            }
        }
        (anchors(page, &found))
    };
    Ok(Shown::new("Spaces", main))
}

/// The page that lists the content of a space. Without a link, the keyboard could not scroll a wide table of this page.
const fn listed(space: Space) -> Option<&'static str> {
    match space {
        Space::Session => Some("/sessions"),
        Space::Project => Some("/claims"),
        Space::User | Space::System => None,
    }
}

/// The owner of a space, and its content.
const fn about(space: Space) -> (&'static str, &'static str) {
    match space {
        Space::Session => ("one session", "its dialogue, until it is promoted"),
        Space::User => {
            ("one person, in all sessions here", "anchors that only the agents of this person are told")
        }
        Space::Project => ("the team of this repository", "claims, decisions, dead ends and anchors"),
        Space::System => ("every project of this machine", "nothing yet: no item crosses into it"),
    }
}

fn anchors(page: &Page<'_>, found: &Anchors) -> Markup {
    html! {
        section aria-labelledby="anchors" {
            h2 #anchors { "Facts under keys" }
            @if found.anchors.is_empty() { (empty("No anchor yet. One is told to each agent at its start:", "hm anchor save BUILD \"make all\"")) }
            @else {
                table {
                    caption { "The anchors of the project, and yours" }
                    thead { tr { th scope="col" { "Key" } th scope="col" { "Value" } th scope="col" { "Space" } th scope="col" { "Saved" } } }
                    tbody {
                        @for anchor in &found.anchors {
                            tr { th scope="row" { (said(&anchor.key)) } td.statement { (said(&anchor.value)) }
                                td data-of="Space" { @match &anchor.user { Some(user) => { "user " (said(user)) }, None => "project" } }
                                td data-of="Saved" { (said(&anchor.agent)) " " (page.ago(anchor.saved_at)) } }
                        }
                    }
                }
            }
        }
    }
}
