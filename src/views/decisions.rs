//! Decisions and their outcomes.

use std::fmt::Write;

use serde_json::json;

use super::asking::Asking;
use super::markdown::{age, inline, listed, name};
use super::{Answer, Format, MAX_LIMIT, ViewError, claims, to_json};
use crate::domain::claim::{ClaimType, Status};
use crate::domain::event::Event;
use crate::domain::ids::ClaimId;
use crate::domain::time::Timestamp;
use crate::domain::way;
use crate::reads::Reads;
use crate::store::{
    ClaimFilter, ClaimSummary, DecisionFilter, DecisionRoom, DecisionSummary, Reader, StoreError, with_basis,
};

/// Maximum length of the statement of a decision in a list of all, in characters. Those in force are shown whole.
const DECISION_CHARS: usize = 700;
/// Maximum length of the statement of a decision that the reader has whole, in characters.
const KNOWN_CHARS: usize = 100;
/// Maximum length of the rationale of a decision in force, in characters: one line of its page.
const WHY_CHARS: usize = 160;
/// Maximum length of a target and of an agent's name on the line of a decision, in characters.
const TARGET_CHARS: usize = 20;
const OWNER_CHARS: usize = 12;
/// Minimum length of a statement on a line, in characters.
const LEAST_CHARS: usize = 20;
/// Maximum length of the change of an amendment, in characters: the statement above it holds the new words.
const CHANGE_CHARS: usize = 160;

/// A page of decisions. Its text also counts the ones that it leaves out.
pub(super) fn answer(asking: &mut Asking<'_>, filter: &DecisionFilter) -> Result<Answer, ViewError> {
    asking.of_store(|asked| {
        let page = asked.store.decisions(filter)?;
        let agreed = agreed(asked.store, filter)?;
        let in_json = || {
            let mut answer = to_json(&page);
            if !agreed.is_empty() {
                answer["agreed"] = to_json(&agreed);
            }
            answer
        };
        if asked.format != Format::Text {
            return Ok(asked.answer(in_json, String::new).followed_by("cursor", page.next));
        }
        let (mut text, mut is_any_known) = (String::new(), false);
        for decision in &page.decisions {
            if let DecisionRoom::Line(columns) = filter.room {
                text.push_str(&line(
                    decision,
                    columns,
                    &asked.store.shortened(&decision.claim_id.to_string()),
                ));
                continue;
            }
            let supporters = match is_in_force(decision) {
                true => asked.store.supporters(decision.claim_id, &decision.decided_by)?,
                false => Vec::new(),
            };
            let supporters: Vec<String> = supporters.into_iter().map(|held| held.agent).collect();
            let id = decision.claim_id.to_string();
            let is_known = filter.room == DecisionRoom::Page && filter.known.contains(&id);
            let most = match (is_in_force(decision), filter.room) {
                (true, _) if is_known => KNOWN_CHARS,
                (true, _) | (false, DecisionRoom::Whole) => usize::MAX,
                (false, _) => DECISION_CHARS,
            };
            text.push_str(&one(decision, most, &supporters, asked.now));
            if is_in_force(decision) {
                text.push_str(&reasons(asked.store, decision, asked.now)?);
            }
            is_any_known |= is_known && decision.statement.chars().count() > KNOWN_CHARS;
        }
        for claim in &agreed {
            text.push_str(&unrecorded(asked.store, claim, filter, asked.now)?);
        }
        let every = DecisionFilter { limit: MAX_LIMIT, ..filter.clone() };
        let counted = |filter: DecisionFilter| {
            let page = asked.store.decisions(&filter)?;
            let more = if page.next.is_some() { "+" } else { "" };
            Ok::<_, ViewError>((page.decisions.len(), more))
        };
        if let Some(before) = page.next {
            let (older, more) = counted(DecisionFilter { before: Some(before), ..every.clone() })?;
            let _ = writeln!(text, "{older}{more} older");
        }
        if filter.in_force && filter.before.is_none() {
            let (in_force, _) = counted(every.clone())?;
            let (all, more) = counted(DecisionFilter { in_force: false, ..every })?;
            if all > in_force {
                let _ =
                    writeln!(text, "{}{more} no longer in force: `hm decision list --all`", all - in_force);
            }
        }
        if is_any_known {
            text.push_str("cut: statements that you were told whole; with `--whole` they are not\n");
        }
        if text.is_empty() {
            text = "No decisions match.\n".to_owned();
        }
        Ok(asked.answer(in_json, || text).followed_by("cursor", page.next))
    })
}

/// The claims of type decision that the team agreed to and nobody recorded as decisions. They have no target, and stand on
/// the first page.
fn agreed(store: &Reader, filter: &DecisionFilter) -> Result<Vec<ClaimSummary>, StoreError> {
    if filter.before.is_some() || filter.target.is_some() {
        return Ok(Vec::new());
    }
    let wanted = ClaimFilter {
        claim_type: Some(ClaimType::Decision),
        status: vec![Status::Confirmed],
        scope: filter.scope.clone(),
        limit: MAX_LIMIT,
        ..ClaimFilter::default()
    };
    let mut claims = store.claims(&wanted)?.claims;
    let ids: Vec<ClaimId> = claims.iter().map(|claim| claim.id).collect();
    let recorded = store.recorded(&ids)?;
    claims.retain(|claim| !recorded.contains(&claim.id));
    Ok(claims)
}

/// A decision that is agreed and not recorded, with the step that records it.
fn unrecorded(
    store: &Reader,
    claim: &ClaimSummary,
    filter: &DecisionFilter,
    now: Timestamp,
) -> Result<String, StoreError> {
    if let DecisionRoom::Line(columns) = filter.room {
        let first = format!("- `{}` ", store.shortened(&claim.id.to_string()));
        let marks = format!(" (agreed, not recorded, {})", inline(&claim.owner, OWNER_CHARS));
        let room = columns.saturating_sub(first.chars().count() + marks.chars().count());
        return Ok(format!("{first}{}{marks}\n", inline(&claim.statement, room.max(LEAST_CHARS))));
    }
    let supporters = store.supporters(claim.id, &claim.owner)?;
    let supporters: Vec<String> = supporters.into_iter().map(|held| name(&held.agent)).collect();
    let supported = match supporters.is_empty() {
        true => String::new(),
        false => format!(", supported by {}", supporters.join(", ")),
    };
    let status = with_basis(claim.status.as_str(), claim.basis);
    let record = way::call("record_decision", &json!({ "claim_id": claim.id, "rationale": way::REASON }));
    Ok(format!(
        "- `{}` {} ({status}, by {} {} ago{supported})\n  agreed, and not recorded: {record}\n",
        claim.id,
        listed(&claim.statement, usize::MAX),
        name(&claim.owner),
        age(claim.created_at, now),
    ))
}

/// Whether an event changes a decision.
pub(super) fn touched_by(reads: &mut Reads, event: &Event) -> Result<bool, ViewError> {
    let claim_type = Some(ClaimType::Decision);
    claims::any_of(reads, event, &ClaimFilter { claim_type, ..ClaimFilter::default() })
}

/// A decision on one line of at most `columns` columns: its name, its target, its statement and its status.
fn line(decision: &DecisionSummary, columns: usize, called: &str) -> String {
    let target = decision.target.as_deref().map(|target| format!("{}: ", inline(target, TARGET_CHARS)));
    let doubt = decision.doubt.as_ref().map(|doubt| format!(", {doubt}")).unwrap_or_default();
    let marks = format!(" ({}{doubt}, {})", decision.status, inline(&decision.decided_by, OWNER_CHARS));
    let first = format!("- `{called}` {}", target.unwrap_or_default());
    let taken = first.chars().count() + marks.chars().count();
    let statement = inline(&decision.statement, columns.saturating_sub(taken).max(LEAST_CHARS));
    format!("{first}{statement}{marks}\n")
}

/// Whether a decision is in force. A list shows why only those were taken.
fn is_in_force(decision: &DecisionSummary) -> bool {
    decision.status != Status::Deprecated.as_str()
}

/// A decision with at most `most` characters of its statement.
fn one(decision: &DecisionSummary, most: usize, supporters: &[String], now: Timestamp) -> String {
    let target = decision.target.as_deref().map(|target| format!(", {}", inline(target, 80)));
    let outcome = decision.outcome.as_deref().map(|outcome| format!(", outcome: {outcome}"));
    let supporters: Vec<String> = supporters.iter().map(|agent| name(agent)).collect();
    let supported = match supporters.is_empty() {
        true => String::new(),
        false => format!(", supported by {}", supporters.join(", ")),
    };
    let amends = decision.amends.as_ref().map(|amended| format!(" (amends `{}`)", amended.claim_id));
    format!(
        "- `{}`{} {} ({}, by {}{} {} ago{supported}{}{})\n",
        decision.claim_id,
        amends.unwrap_or_default(),
        listed(&decision.statement, most),
        with_basis(&decision.status, decision.basis)
            + &decision.doubt.as_ref().map(|doubt| format!(", {doubt}")).unwrap_or_default(),
        name(&decision.decided_by),
        if decision.imported { " (imported)" } else { "" },
        age(decision.created_at, now),
        target.unwrap_or_default(),
        outcome.unwrap_or_default()
    )
}

/// The lines below a decision in force: why it was taken, the decisions that it amends in order, each with its own reason,
/// and what was not chosen. The reason of an amendment may be that of a reversal.
fn reasons(store: &Reader, decision: &DecisionSummary, now: Timestamp) -> Result<String, StoreError> {
    let chain = store.amended(decision)?;
    let mut text = format!("  why: {}\n", listed(&decision.rationale, WHY_CHARS));
    for each in chain.iter().filter(|_| chain.len() > 1) {
        let (id, by, age) = (each.claim_id, name(&each.decided_by), age(each.created_at, now));
        // The reason of the decision itself is told above.
        let why = (id != decision.claim_id).then(|| listed(&each.rationale, WHY_CHARS));
        let change = each.amends.as_ref().map(|amended| listed(&amended.change, CHANGE_CHARS));
        let _ = match change {
            None => write!(text, "  first in `{id}` by {by} {age} ago"),
            Some(change) => write!(text, "  amended in `{id}` by {by} {age} ago: {change}"),
        };
        let _ = writeln!(text, "{}", why.map(|why| format!("; why: {why}")).unwrap_or_default());
    }
    for rejected in store.rejected_by(&[decision.claim_id])?.into_values().flatten() {
        let (what, why) = (listed(&rejected.statement, WHY_CHARS), listed(&rejected.because, WHY_CHARS));
        let _ = writeln!(text, "  not chosen: {what}: {why}");
    }
    Ok(text)
}
