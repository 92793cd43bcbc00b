//! Retention: claims whose term is over are out of force. Their events and their audits stay.

use super::{Policy, contradiction, target, transition};
use crate::domain::agent::AgentId;
use crate::domain::claim::Status;
use crate::domain::event::{Event, MemoryForgotten};
use crate::domain::memory::MemoryKind;
use crate::domain::policy::{MemoryPolicy, Tick};
use crate::domain::state::State;
use crate::domain::text::Label;
use crate::domain::time::Timestamp;

/// The events that follow when these events end claims: decisions that are alone on their target again become confirmed.
pub fn after_end(state: &State, ended: &[Event], (now, policy): (Timestamp, &Policy)) -> Vec<Event> {
    let (mut events, _) = target::freed(state, ended, now, policy);
    events.extend(contradiction::ended_by(state, &AgentId::system(), &events));
    events
}

/// The events that end each claim whose term is over at `now`, in the order of the claims' ids. A claim that waits for
/// its proof stays until the run has ended.
pub fn forgotten(state: &State, policy: &MemoryPolicy, now: Timestamp) -> Vec<Vec<Event>> {
    if policy.retention.is_empty() {
        return Vec::new();
    }
    let now = Tick { sessions: state.work().sessions_started(), at: now };
    let in_force = state
        .claims()
        .filter(|(_, claim)| !matches!(claim.status, Status::Deprecated | Status::PendingProof));
    let mut over: Vec<_> = in_force
        .filter_map(|(claim_id, claim)| {
            let event_type = claim.event_type;
            let term = policy.retention.term(event_type);
            term.is_over(claim.made, claim.touched, now).then_some((claim_id, claim.status, event_type, term))
        })
        .collect();
    over.sort_unstable_by_key(|(claim_id, ..)| *claim_id);
    let hash = policy.hash();
    over.into_iter()
        .map(|(claim_id, status, event_type, term)| {
            let forgotten = MemoryForgotten {
                claim_id,
                kind: MemoryKind::Semantic,
                event_type,
                reason: Label::of(term.reason()),
                term,
                policy: hash.clone(),
            };
            let mut events =
                vec![forgotten.into(), transition(claim_id, status, Status::Deprecated, term.reason())];
            events.extend(contradiction::ended_by_expiry(state, claim_id));
            events
        })
        .collect()
}
