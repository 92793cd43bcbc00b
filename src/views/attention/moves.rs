//! Whose move it is: the agents that must act on an item, each with the commands that settle it.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::json;

use super::{Kind, Need, Settles};
use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, ContradictionKind, Override, Status};
use crate::domain::ids::ClaimId;
use crate::domain::way;
use crate::store::{ClaimSummary, Contradiction, OnTarget, ProposalView, Reader, SideView, StoreError};

/// The agents that must act, each with the commands that settle the entry when that agent runs them.
pub(in crate::views) type Moves = BTreeMap<String, Vec<String>>;

/// The agents that must act on a contradiction, each with the commands that settle it. None for a challenge that the
/// operator outvotes.
pub(in crate::views) fn moves_of(both: &Contradiction) -> Moves {
    let Contradiction { left, right, .. } = both;
    if both.is_outvoted {
        return Moves::new();
    }
    // A command against a decision of the operator only makes a proposal.
    let end = |side: &SideView| {
        let owner = side.owner.as_ref().unwrap_or(&side.agent);
        let claim = (side.claim_id, side.claim_type, side.scopes.as_slice());
        ended_by(claim, (owner, side.is_the_operators), &side.on_target)
    };
    match both.kind {
        // The challenger has acted. Often it doubts a part of a decision.
        ContradictionKind::Position => {
            let (mover, end) = end(left);
            let is_one = left.claim_type == Some(ClaimType::Decision) && left.on_target.decisions.len() <= 1;
            move_of(&mover, is_one.then(|| amended(left.claim_id)).into_iter().chain([end]))
        }
        ContradictionKind::Supersession => {
            let settle = ["support", "abstain"].map(|tool| position(tool, right.claim_id));
            move_of(&left.agent, settle)
        }
        ContradictionKind::Target => {
            // Neither owner may end the decision of the other.
            let sides = [left.claim_id, right.claim_id];
            let others = left.on_target.decisions.iter().copied().filter(|id| !sides.contains(id));
            let all: Vec<ClaimId> = sides.into_iter().chain(others).collect();
            let settle = decided_instead(&all, &left.scopes);
            let is_the_operators =
                left.is_the_operators || right.is_the_operators || left.on_target.is_the_operators;
            move_of(&self::mover(AgentId::architect().as_str(), is_the_operators), [settle])
        }
        ContradictionKind::Polarity | ContradictionKind::Value | ContradictionKind::Explicit => {
            let mut moves = Moves::new();
            for side in [left, right] {
                let (mover, end) = end(side);
                let of_mover = moves.entry(mover).or_default();
                if !of_mover.contains(&end) {
                    of_mover.push(end);
                }
            }
            moves
        }
    }
}

/// The commands by which a challenger ends its challenge of a claim.
pub(in crate::views) fn ends_challenge(id: ClaimId) -> [String; 2] {
    ["support", "abstain"].map(|tool| position(tool, id))
}

/// A contradiction for programs, with the agents that must act and their commands.
#[derive(Debug, Serialize)]
pub(in crate::views) struct WithMoves<'a> {
    #[serde(flatten)]
    both: &'a Contradiction,
    /// Empty after its end, and while no agent must act.
    #[serde(skip_serializing_if = "Moves::is_empty")]
    moves: Moves,
}

pub(in crate::views) fn with_moves(both: &Contradiction) -> WithMoves<'_> {
    let moves = if both.cause.is_none() { moves_of(both) } else { Moves::new() };
    WithMoves { both, moves }
}

pub(super) fn dispute(both: &Contradiction, settles: Settles<'_>) -> Need {
    let Contradiction { left, right, .. } = both;
    let said = |side: &SideView| {
        let owner = side.owner.as_deref().unwrap_or("an erased claim");
        let held = if side.owner.as_deref() == Some(side.agent.as_str()) {
            String::new()
        } else {
            format!(", held by {}", side.agent)
        };
        format!("{owner}{held}: {}", side.statement.as_deref().unwrap_or("(erased)"))
    };
    let (mut ids, mut what) = (vec![both.id.to_string(), left.claim_id.to_string()], vec![said(left)]);
    let mut hint = None;
    if both.kind == ContradictionKind::Position {
        let reason = right.challenge.iter().map(|reason| format!(": {reason}")).collect::<String>();
        what.push(format!("{} challenges it{reason}", right.agent));
        // Only a contested claim waits for a run.
        if left.status == Some(Status::Contested) && !left.is_the_operators {
            hint = settles(left.claim_id, left.claim_type, &left.scopes);
        }
    }
    if left.claim_id != right.claim_id {
        ids.push(right.claim_id.to_string());
        what.push(said(right));
    }
    Need {
        contradictions: 1,
        hint,
        ..Need::new(Kind::Contradiction, ids, both.detected_at, moves_of(both), what)
    }
}

/// A proposal to the operator, with the operator's commands.
pub(super) fn proposal(asked: ProposalView) -> Need {
    let is_new = asked.is_new_decision();
    let instead = instead_of(&asked);
    let ProposalView { claim_id, claim, owner, asks, proposed_by, reason, successor, statement, .. } = asked;
    let why = reason.map_or_else(String::new, |reason| format!(": {reason}"));
    let wish = match asks {
        Override::Deprecate => "deprecate it",
        Override::Supersede => "supersede it",
        Override::Decide => "decide otherwise",
        Override::Challenge => "challenge it",
    };
    let on = asked.target.as_ref().map_or_else(String::new, |target| format!("on {target}: "));
    let decided = statement.map(|statement| format!("{on}{statement}"));
    let what = match is_new {
        true => vec![format!("{proposed_by} would decide {on}{claim}")],
        false => vec![format!("{owner}: {claim}"), format!("{proposed_by} would {wish}{why}")],
    };
    let what = what.into_iter().chain(decided).collect();
    let hint = successor.as_ref().map(|rival| format!("keeping it puts {rival} out of force"));
    let ids = std::iter::once(claim_id).chain(successor).map(|id| id.to_string()).collect();
    let declined = match is_new {
        true => way::bare("deprecate_claim", &json!({ "claim_id": claim_id, "reason": "REASON" })),
        false => format!("hm claim keep {claim_id}"),
    };
    let moves = move_of(AgentId::operator().as_str(), [declined, instead]);
    Need { hint, ..Need::new(Kind::Proposal, ids, asked.proposed_at, moves, what) }
}

/// The operator's command that does what is proposed.
fn instead_of(asked: &ProposalView) -> String {
    let ProposalView { claim_id, owner, scopes, asks, successor, target, .. } = asked;
    let all: Vec<ClaimId> = std::iter::once(*claim_id).chain(asked.in_force.iter().copied()).collect();
    match (asks, successor) {
        (Override::Supersede, Some(successor)) => position("support", *successor),
        (Override::Decide, Some(successor)) => {
            let decided = json!({ "claim_id": successor, "supersedes": all, "rationale": way::REASON });
            way::bare("record_decision", &decided)
        }
        // Without a target, the claim itself is the decision.
        (Override::Decide, None) if asked.is_new_decision() && target.is_none() => {
            position("support", *claim_id)
        }
        (Override::Decide, None) => {
            decided_instead(&all, if target.is_some() { target.as_slice() } else { scopes })
        }
        // An owner cannot challenge their own claim.
        (Override::Challenge, _) if *owner != AgentId::operator().as_str() => challenge(*claim_id),
        (Override::Challenge | Override::Deprecate | Override::Supersede, _) => {
            end_of(&all, asked.claim_type, scopes)
        }
    }
}

/// The agent that ends a claim, with its command. Of several decisions on one target no owner ends all.
fn ended_by(
    (claim, claim_type, scopes): (ClaimId, Option<ClaimType>, &[String]),
    (owner, is_the_operators): (&str, bool),
    on_target: &OnTarget,
) -> (String, String) {
    let claim_type = claim_type.unwrap_or(ClaimType::Fact);
    if on_target.decisions.len() > 1 {
        let mover = mover(AgentId::architect().as_str(), on_target.is_the_operators);
        return (mover, end_of(&on_target.decisions, claim_type, scopes));
    }
    (mover(owner, is_the_operators), end_of(&[claim], claim_type, scopes))
}

/// The agent that can end a claim: its owner, or the operator if the operator stands by the claim.
pub(super) fn mover(owner: &str, is_the_operators: bool) -> String {
    if is_the_operators { AgentId::operator().to_string() } else { owner.to_owned() }
}

pub(super) fn move_of(agent: &str, settle: impl IntoIterator<Item = String>) -> Moves {
    Moves::from([(agent.to_owned(), settle.into_iter().collect())])
}

/// The command that ends a claim, with its agent.
pub(super) fn its_end(store: &Reader, claim: &ClaimSummary) -> Result<Moves, StoreError> {
    let on_target = store.on_target_of(claim.id, Some(claim.claim_type))?;
    let of = (claim.id, Some(claim.claim_type), claim.scopes.as_slice());
    let (mover, end) = ended_by(of, (&claim.owner, store.is_the_operators(claim.id)?), &on_target);
    Ok(move_of(&mover, [end]))
}

/// The command that ends a claim. Decisions on one target are ended by another decision.
pub(super) fn end_of(claims: &[ClaimId], claim_type: ClaimType, scopes: &[String]) -> String {
    if claim_type == ClaimType::Decision {
        return decided_instead(claims, scopes);
    }
    way::bare("deprecate_claim", &json!({ "claim_id": claims.first(), "reason": "REASON" }))
}

/// The command that changes a part of a decision.
fn amended(decision: ClaimId) -> String {
    let part = json!({
        "supersedes": [decision],
        "replace": "OLD WORDS",
        "statement": "NEW WORDS",
        "rationale": way::REASON,
    });
    way::bare("record_decision", &part)
}

/// The command that supersedes some decisions by one about the same target.
pub(super) fn decided_instead(decisions: &[ClaimId], scopes: &[String]) -> String {
    let mut instead =
        json!({ "statement": way::STATEMENT, "rationale": way::REASON, "supersedes": decisions });
    // Without a target, the decision has its scopes instead.
    match scopes.iter().find_map(|scope| scope.strip_prefix("target:")) {
        Some(name) => instead["target"] = name.into(),
        None if !scopes.is_empty() => instead["scopes"] = scopes.into(),
        None => {}
    }
    way::bare("record_decision", &instead)
}

pub(super) fn position(tool: &str, claim: ClaimId) -> String {
    way::bare(tool, &json!({ "claim_id": claim }))
}

pub(super) fn challenge(claim: ClaimId) -> String {
    way::bare("challenge", &json!({ "claim_id": claim, "reason": "REASON" }))
}
