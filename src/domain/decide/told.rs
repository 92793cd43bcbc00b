//! What a receipt tells of other agents' claims, each once a session.

use super::{Decision, Speaker};
use crate::domain::claim::ClaimType;
use crate::domain::event::{Guard, GuardFired};
use crate::domain::ids::ClaimId;
use crate::domain::receipt::{Warning, WarningCode};
use crate::domain::state::{Claim, State};

/// What matched, where a receipt warns.
const RECEIPT: &str = "receipt";

/// Whether a claim of another agent was not told to the caller's session.
pub(super) fn is_news(state: &State, (agent, session): Speaker<'_>, id: ClaimId, claim: &Claim) -> bool {
    !state.said(agent, session, claim) && !state.was_told(agent, session, id)
}

/// Puts on record which claims a receipt tells the caller's session of: a hook will not tell of them again.
pub(super) fn remember(state: &State, speaker: Speaker<'_>, decision: &mut Decision) {
    if speaker.1.is_none() {
        return;
    }
    let told = |warning: &Warning| {
        let id = warning.claim_id?;
        let claim = state.claim(id)?;
        let quotes = matches!(warning.code, WarningCode::NegativeClaim | WarningCode::Contradiction);
        let is_dead_end = quotes && claim.claim_type == ClaimType::Negative;
        (is_dead_end && is_news(state, speaker, id, claim)).then_some(Guard::Claim(id))
    };
    let matched = RECEIPT.parse().expect("a short text without control characters");
    let fired = |guard| GuardFired { guard, matched: Clone::clone(&matched) }.into();
    decision.events.extend(decision.warnings.iter().filter_map(told).map(fired));
}
