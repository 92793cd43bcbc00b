//! What an agent should know at its start: asks the read models and hands the answers to the packer.

use serde_json::json;

use super::{Answer, negative, shown, to_json};
use crate::domain::agent::AgentId;
use crate::domain::claim::Status;
use crate::domain::time::Timestamp;
use crate::pack::{self, Attention, Entries};
use crate::store::{
    ClaimFilter, ClaimSummary, Contradiction, ContradictionFilter, Reader, SideView, StoreError,
};

/// Entries of each kind considered for a context; the budget holds far fewer.
const CANDIDATES: usize = 100;

/// What is asked of the read models.
#[derive(Debug, Default)]
struct Found {
    contradictions: Vec<Contradiction>,
    contested: Vec<ClaimSummary>,
    pending_proof: Vec<ClaimSummary>,
    own: Vec<ClaimSummary>,
    negative: Vec<ClaimSummary>,
    governance: pack::Governance,
}

/// The context of an agent.
pub(super) fn context(
    seq: u64,
    store: &Reader,
    agent: &AgentId,
    budget: usize,
    now: Timestamp,
) -> Result<Answer, StoreError> {
    let limit = CANDIDATES;
    let open = ContradictionFilter { limit, ..ContradictionFilter::default() };
    let in_status = |status| ClaimFilter { status: vec![status], limit, ..ClaimFilter::default() };
    let counts = store.counts()?.by_status;
    let count = |status| counts.get(&status).copied().unwrap_or_default();
    let mut found = Found {
        contradictions: store.contradictions(&open)?.contradictions,
        contested: store.claims(&in_status(Status::Contested))?.claims,
        pending_proof: store.claims(&in_status(Status::PendingProof))?.claims,
        own: store
            .claims(&ClaimFilter {
                owner: Some(agent.to_string()),
                in_force: true,
                limit,
                ..ClaimFilter::default()
            })?
            .claims,
        negative: store.claims(&ClaimFilter { limit, ..negative() })?.claims,
        governance: pack::Governance {
            contested: count(Status::Contested),
            pending_proof: count(Status::PendingProof),
            ..pack::Governance::default()
        },
    };
    // A claim is shown once: where somebody is asked to act, else where it warns, else among the agent's own.
    let disputed: Vec<String> = found.contradictions.iter().flat_map(sides).map(str::to_owned).collect();
    found.contested.retain(|claim| !disputed.contains(&claim.id));
    let needs_somebody = |claim: &ClaimSummary| {
        matches!(claim.status, Status::Contested | Status::PendingProof) || disputed.contains(&claim.id)
    };
    found.negative.retain(|claim| !needs_somebody(claim));
    found.own.retain(|claim| !needs_somebody(claim) && !found.negative.iter().any(|it| it.id == claim.id));
    Ok(packed(seq, agent, &found, budget, now))
}

/// The context of an agent before anything was ever written.
pub(super) fn empty(agent: &AgentId, budget: usize, now: Timestamp) -> Answer {
    packed(0, agent, &Found::default(), budget, now)
}

fn sides(contradiction: &Contradiction) -> [&str; 2] {
    [&contradiction.left.claim_id, &contradiction.right.claim_id]
}

fn packed(seq: u64, agent: &AgentId, found: &Found, budget: usize, now: Timestamp) -> Answer {
    let claim = |summary| claim(summary, now);
    let entries = Entries {
        agent: agent.to_string(),
        seq,
        attention: found
            .contradictions
            .iter()
            .map(|both| Attention::Contradiction(contradiction(both)))
            .chain(found.contested.iter().map(|summary| Attention::Contested(claim(summary))))
            .chain(
                found
                    .pending_proof
                    .iter()
                    .map(|summary| Attention::PendingProof { claim: claim(summary), run: None }),
            )
            .collect(),
        claims: found.own.iter().map(claim).collect(),
        // Until tasks say where somebody works, every dead end may be on the way.
        anti_patterns: found
            .negative
            .iter()
            .map(|summary| pack::AntiPattern {
                claim: claim(summary),
                trigger: None,
                because: None,
                matches: true,
            })
            .collect(),
        governance: found.governance.clone(),
        ..Entries::default()
    };
    let text = pack::pack(&entries, budget, now);
    let json = json!({
        "agent": agent,
        "seq": seq,
        "contradictions": to_json(&found.contradictions),
        "contested": shown(&found.contested, now),
        "pending_proof": shown(&found.pending_proof, now),
        "own": shown(&found.own, now),
        "negative": shown(&found.negative, now),
    });
    Answer { seq, json, text, mime_type: "application/xml", next: None }
}

fn claim(summary: &ClaimSummary, now: Timestamp) -> pack::Claim {
    pack::Claim {
        id: summary.id.clone(),
        statement: summary.statement.clone(),
        claim_type: summary.claim_type,
        status: summary.status,
        grade: summary.grade,
        evidence_stale: summary.stale,
        confidence: summary.effective_confidence(now),
        scopes: summary.scopes.clone(),
        by: summary.owner.clone(),
        created_at: Timestamp::from_ms(summary.created_at),
        touched_at: Timestamp::from_ms(summary.touched_at),
        seq: summary.seq,
        superseded: summary.superseded_by.is_some(),
        linked_to_active_task: false,
        touches_session_files: false,
    }
}

fn contradiction(both: &Contradiction) -> pack::Contradiction {
    pack::Contradiction {
        id: both.id.clone(),
        kind: both.kind,
        detected_at: Timestamp::from_ms(both.detected_at),
        sides: [side(&both.left), side(&both.right)],
    }
}

fn side(side: &SideView) -> pack::Side {
    let said = side.status.zip(side.created_at).zip(side.statement.clone());
    pack::Side {
        claim: side.claim_id.clone(),
        by: side.agent.clone(),
        said: said.map(|((status, at), statement)| (status, Timestamp::from_ms(at), statement)),
    }
}
