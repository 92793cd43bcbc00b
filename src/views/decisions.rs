//! Decisions and their outcomes.

use std::fmt::Write;

use super::asking::Asking;
use super::markdown::{age, inline, listed, name};
use super::{Answer, Format, MAX_LIMIT, ViewError, claims, to_json};
use crate::domain::claim::ClaimType;
use crate::domain::event::Event;
use crate::domain::time::Timestamp;
use crate::reads::Reads;
use crate::store::{ClaimFilter, DecisionFilter, DecisionPage, with_basis};

/// Maximum length of the statement of a decision in a list, in characters: agents need its whole text, and there are
/// few decisions.
const DECISION_CHARS: usize = 700;

/// A page of decisions. Its text also counts the older ones.
pub(super) fn answer(asking: &mut Asking<'_>, filter: &DecisionFilter) -> Result<Answer, ViewError> {
    asking.of_store(|asked| {
        let page = asked.store.decisions(filter)?;
        let rest = page.next.filter(|_| asked.format == Format::Text).map(|before| DecisionFilter {
            before: Some(before),
            limit: MAX_LIMIT,
            ..filter.clone()
        });
        let rest = rest.map(|rest| asked.store.decisions(&rest)).transpose()?;
        let text = || {
            let mut text = text(&page, filter.whole, asked.now);
            if let Some(rest) = rest {
                let more = if rest.next.is_some() { "+" } else { "" };
                let _ = writeln!(text, "{}{more} older", rest.decisions.len());
            }
            text
        };
        Ok(asked.answer(|| to_json(&page), text).followed_by("cursor", page.next))
    })
}

/// Whether an event changes a decision.
pub(super) fn touched_by(reads: &mut Reads, event: &Event) -> Result<bool, ViewError> {
    let claim_type = Some(ClaimType::Decision);
    claims::any_of(reads, event, &ClaimFilter { claim_type, ..ClaimFilter::default() })
}

fn text(page: &DecisionPage, whole: bool, now: Timestamp) -> String {
    if page.decisions.is_empty() {
        return "No decisions match.\n".to_owned();
    }
    let mut text = String::new();
    for decision in &page.decisions {
        let target = decision.target.as_deref().map(|target| format!(", {}", inline(target, 80)));
        let outcome = decision.outcome.as_deref().map(|outcome| format!(", outcome: {outcome}"));
        let _ = writeln!(
            text,
            "- `{}` {} ({}, by {}{} {} ago{}{})",
            decision.claim_id,
            listed(&decision.statement, if whole { usize::MAX } else { DECISION_CHARS }),
            with_basis(&decision.status, decision.basis),
            name(&decision.decided_by),
            if decision.imported { " (imported)" } else { "" },
            age(decision.created_at, now),
            target.unwrap_or_default(),
            outcome.unwrap_or_default()
        );
    }
    text
}
