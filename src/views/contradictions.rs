//! Contradictions: a list, and one with the claims of its sides.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::asking::Asking;
use super::markdown::{LIST_FIELD_CHARS, age, inline, name};
use super::{Answer, ViewError, attention, claim, to_json};
use crate::domain::claim::Tier;
use crate::domain::event::Event;
use crate::domain::ids::EventId;
use crate::domain::time::Timestamp;
use crate::reads::Reads;
use crate::store::{
    Contradiction, ContradictionFilter, ContradictionPage, Reader, SideView, StoreError, with_basis,
};

/// A page of contradictions.
pub(super) fn answer(asking: &mut Asking<'_>, filter: &ContradictionFilter) -> Result<Answer, ViewError> {
    asking.of_store(|asked| {
        let page = asked.store.contradictions(filter)?;
        let json = || {
            let shown: Vec<_> = page.contradictions.iter().map(attention::with_moves).collect();
            let mut json = to_json(&page);
            json["contradictions"] = to_json(&shown);
            json
        };
        Ok(asked.answer(json, || text(&page, asked.now)).followed_by("cursor", page.next))
    })
}

/// Whether an event changes the list.
pub(super) const fn touched_by(event: &Event) -> bool {
    matches!(event, Event::ContradictionDetected(_) | Event::ContradictionResolved(_))
}

/// One contradiction, open or ended, with the claims of its sides.
pub(super) fn one(asking: &mut Asking<'_>, id: EventId) -> Result<Answer, ViewError> {
    asking.of_store(|asked| {
        let both = asked.store.contradiction(id)?.ok_or_else(|| ViewError::no_contradiction(id))?;
        let json = to_json(&attention::with_moves(&both));
        let text = with_sides(asked.store, both, asked.now)?;
        Ok(asked.answer(|| json, || text).opening(vec![id.to_string()]))
    })
}

/// Whether an event changes one contradiction.
pub(super) fn one_touched_by(reads: &mut Reads, id: EventId, event: &Event) -> Result<bool, ViewError> {
    let Some(store) = reads.store()? else { return Ok(true) };
    let sides = store.contradiction(id)?.map(|both| [both.left.claim_id, both.right.claim_id]);
    let changed = event.claims();
    Ok(sides.iter().flatten().any(|side| changed.contains(side)))
}

/// A contradiction, with all facts about the claims of its sides.
fn with_sides(store: &Reader, both: Contradiction, now: Timestamp) -> Result<String, StoreError> {
    // Both sides may have the same claim: one for it, one against it.
    let sides = BTreeSet::from([both.left.claim_id, both.right.claim_id]);
    let page = ContradictionPage { contradictions: vec![both], next: None };
    // The page of a challenged claim has the reason of the challenge.
    let mut text = if sides.len() == 1 { head(&page.contradictions[0], now) } else { text(&page, now) };
    for side in sides {
        if let Some(claim) = store.claim(side)? {
            let _ = write!(text, "\n{}", claim::text(&claim, &BTreeMap::new(), now));
        }
    }
    Ok(text)
}

/// A contradiction without the texts of its sides: when it was found, and who settles it with what.
fn head(found: &Contradiction, now: Timestamp) -> String {
    let own = if found.is_own { ", both of one agent" } else { "" };
    let ended = found.cause.map(|cause| format!(", over: {cause}"));
    let challenger = [&found.left, &found.right].into_iter().find(|side| side.challenge.is_some());
    let what = match challenger {
        Some(side) => {
            let does = if found.cause.is_none() { "challenges" } else { "challenged" };
            format!("{} {does} `{}`,", name(&side.agent), side.claim_id)
        }
        None => format!("{} {}", found.tier, found.kind),
    };
    let found_at = age(found.detected_at, now);
    let mut text =
        format!("- {what} found {found_at} ago{own}{} `{}`\n", ended.unwrap_or_default(), found.id);
    if found.cause.is_none() && found.tier == Tier::Strong {
        let command = |command: &String| format!("`{}`", inline(command, attention::COMMAND_CHARS));
        for (agent, settle) in attention::moves_of(found) {
            let settle: Vec<String> = settle.iter().map(command).collect();
            let _ = writeln!(text, "  - {}'s move: {}", name(&agent), settle.join(" or "));
        }
        if found.is_outvoted {
            let _ = writeln!(
                text,
                "  - the operator stands by `{}`, so that no move is needed",
                found.left.claim_id
            );
        }
        if let Some(side) = challenger {
            let back: Vec<String> = attention::ends_challenge(side.claim_id).iter().map(command).collect();
            let _ = writeln!(text, "  - {} ends it by {}", name(&side.agent), back.join(" or "));
        }
    }
    text
}

fn text(page: &ContradictionPage, now: Timestamp) -> String {
    let mut text = String::new();
    for found in &page.contradictions {
        text.push_str(&head(found, now));
        for side in [&found.left, &found.right] {
            if let Some(reason) = &side.challenge {
                let reason = inline(reason, LIST_FIELD_CHARS);
                let _ = writeln!(text, "  - challenged by {}: {reason}", name(&side.agent));
                continue;
            }
            let status = side.status.map(|status| format!(" {}", with_basis(status.as_str(), side.basis)));
            let status = status.unwrap_or_default();
            let _ = writeln!(
                text,
                "  - `{}` {}{status}{} [{}] {}",
                side.claim_id,
                owner_of(side),
                held_by(side),
                inline(&side.scopes.join(", "), 80),
                inline(side.statement.as_deref().unwrap_or("(erased)"), LIST_FIELD_CHARS)
            );
        }
    }
    if page.contradictions.is_empty() {
        text.push_str("No contradictions match.\n");
    }
    // The rules compare words, so they miss some contradictions.
    text.push_str(
        "\nFound by the form of the words: a pair that is not listed may contradict all the same.\n",
    );
    text
}

/// The agent that made the claim of a side.
pub(super) fn owner_of(side: &SideView) -> String {
    name(side.owner.as_deref().unwrap_or(&side.agent))
}

/// The agent that holds a claim of another agent.
pub(super) fn held_by(side: &SideView) -> String {
    match &side.owner {
        Some(owner) if *owner != side.agent && side.challenge.is_none() => {
            format!(", held by {}", name(&side.agent))
        }
        _ => String::new(),
    }
}
