//! Affirmation: an agent confirms that a claim still holds for the current content of its files.

use serde_json::json;

use super::position::claim_in_force;
use super::quorum::{Policy, settled_status};
use super::{Accepted, Speaker, against, challenge, contradiction, standing, support, transition};
use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::claim::{Position, Status};
use crate::domain::command::AffirmClaim;
use crate::domain::event::{Event, PositionTaken, StatusChanged};
use crate::domain::ids::ClaimId;
use crate::domain::rejection::{Code, Rejection};
use crate::domain::state::{Claim, State};
use crate::domain::time::Timestamp;
use crate::domain::versions::{self, Versions, is_proof_of_meant};

pub(super) fn affirm_claim(
    state: &State,
    (agent, session): Speaker<'_>,
    affirm: &AffirmClaim,
    (checkout, versions): (&Checkout, &Versions),
    (now, policy): (Timestamp, &Policy),
) -> Result<Accepted, Rejection> {
    let AffirmClaim { claim_id, reason } = affirm.clone();
    let claim = claim_in_force(state, (claim_id, Position::Support))?;
    standing::refuse_anothers(state, (agent, session), (claim_id, claim), "still")?;
    let challenged_as = challenged_as(state, (agent, session), (claim_id, claim));
    let held = claim.positions.get(agent).copied();
    if !state.owns(agent, session, claim) && held != Some(Position::Challenge) && challenged_as.is_empty() {
        return Err(no_say(state, agent, (claim_id, claim)));
    }
    let challenge = (!challenged_as.is_empty()).then_some(Position::Challenge);
    let position = challenge.or(held).unwrap_or(Position::Support);
    let worktree = checkout.worktree.as_ref();
    let aside = position == Position::Challenge && claim.sights.is_meant_elsewhere(worktree);
    let mut taken = PositionTaken {
        claim_id,
        position,
        reason,
        evidence_ref: None,
        instead_of: Vec::new(),
        formerly: challenged_as,
        still: true,
        aside,
        asks: Vec::new(),
        versions: Versions::new(),
        seen_in: None,
    };
    let of_other = supported_other(claim, versions).filter(|_| !aside);
    let mut after = claim.clone();
    after.sights.took(u64::MAX, agent, &PositionTaken { versions: versions.clone(), ..taken.clone() });
    let lost = lost_proof(state, (claim_id, claim), &mut after, (now, policy));
    let aside = aside.then(|| standing::aside((claim_id, &after), agent));
    let run = if aside.is_none() && after.status == Status::Contested {
        let others = versions::challengers_of_other(state, &after, versions, worktree);
        taken.asks = others
            .filter(|challenger| !taken.speaks_for(agent).any(|own| own == *challenger))
            .cloned()
            .collect();
        let again = lost.as_ref().map(|lost| lost.again.as_str());
        Some(standing::settled_by((claim_id, &taken.asks), again))
    } else {
        lost.as_ref().map(|lost| format!("{} is evidence of it", lost.again))
    };
    let (lost, without_proof) = lost.map(|lost| (lost.events, lost.said)).unzip();
    // No run settles a claim about a file that is not there.
    let missing = versions::no_file_of(claim, versions);
    let run = missing.or(run);
    let next: Vec<String> = without_proof.into_iter().chain(aside).chain(of_other).chain(run).collect();
    let next = (!next.is_empty()).then(|| next.join("; "));
    let events = std::iter::once(taken.into()).chain(lost.unwrap_or_default()).collect();
    Ok(Accepted { events, next, ..Accepted::default() })
}

/// The sentence about agents that supported other content. `None` without any.
fn supported_other(claim: &Claim, versions: &Versions) -> Option<String> {
    let supporters = claim.positions.iter().filter(|(_, held)| **held == Position::Support);
    let of_other = supporters.map(|(agent, _)| agent).filter(|agent| claim.sights.saw_other(agent, versions));
    let of_other: Vec<String> = of_other.map(ToString::to_string).collect();
    (!of_other.is_empty()).then(|| {
        format!(
            "{} supported other content, which confirms nothing anew: ask for a support of the files as they are now",
            of_other.join(", ")
        )
    })
}

/// The refusal of an agent that neither owns nor challenges a claim.
fn no_say(state: &State, agent: &AgentId, (claim_id, claim): (ClaimId, &Claim)) -> Rejection {
    let left = standing::left(state, (claim_id, claim), "still");
    Rejection::new(
        Code::NotAllowed,
        format!("claim {claim_id} is neither owned nor challenged by {agent}"),
        format!(
            "ask {} or a challenger{}; or say what you hold of its files as they are now: {}, or {}",
            claim.owner,
            left.map(|way| format!(" ({way})")).unwrap_or_default(),
            support(claim_id),
            challenge(claim_id)
        ),
    )
}

/// The result for a claim that lost its proof.
struct LostProof {
    events: Vec<Event>,
    /// The reason, and the new status of the claim.
    said: String,
    /// The run that is queued again.
    again: String,
}

/// The former names under which the speaker's pane challenges a claim.
fn challenged_as(
    state: &State,
    (agent, session): Speaker<'_>,
    (id, claim): (ClaimId, &Claim),
) -> Vec<AgentId> {
    let is_own = |name: &&AgentId| *name != agent && state.is_own_position(session, (id, claim), name);
    claim.challengers().filter(is_own).cloned().collect()
}

/// The changes of an affirmed claim whose proof was about other content: its positions decide the status. `after` is
/// the affirmed claim, and at the end the claim after these changes.
fn lost_proof(
    state: &State,
    (claim_id, claim): (ClaimId, &Claim),
    after: &mut Claim,
    (now, policy): (Timestamp, &Policy),
) -> Option<LostProof> {
    let has_proof = claim.is_proven && matches!(claim.status, Status::Confirmed | Status::Contested);
    let run_id = claim.proof.filter(|_| has_proof && !is_proof_of_meant(state, after))?;
    let run = state.run(run_id)?;
    let shown = format!("its proof, run {run_id}, is of other content");
    let lost = StatusChanged {
        claim_id,
        from: claim.status,
        to: Status::Proposed,
        reason: shown.parse().expect("a run and a few words are short"),
        by_silence: false,
        keeps_proof: false,
        leaves_open: claim.answered_challengers().cloned().collect(),
    };
    after.go(&lost);
    let status = settled_status(state, (claim_id, after), now, policy);
    after.status = status;
    let mut events = vec![lost.into()];
    if status != Status::Proposed {
        events.push(transition(claim_id, Status::Proposed, status, "its positions stand without the proof"));
    }
    events.extend(contradiction::on_lost_proof(state, claim_id, claim));
    let blocking = [("blocking", json!(true))];
    let again = against::repeated(claim_id, run, if status == Status::Contested { &blocking } else { &[] });
    let now = if status == Status::Confirmed {
        "confirmed by positions alone".to_owned()
    } else {
        status.to_string()
    };
    Some(LostProof { events, said: format!("{shown}: the claim is {now} now"), again })
}
