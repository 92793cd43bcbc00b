//! Whose move it is: the agents that must act on an item, each with the commands that settle it.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::json;

use super::{Kind, Need, Settles};
use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, ContradictionKind, Override, Status};
use crate::domain::ids::ClaimId;
use crate::domain::way;
use crate::store::{ClaimSummary, Contradiction, ProposalView, Reader, SideView, StoreError};

/// The agents that must act, each with the commands that settle the entry when that agent runs them.
pub(in crate::views) type Moves = BTreeMap<String, Vec<String>>;

/// The agents that must act on a contradiction, each with the commands that settle it.
pub(in crate::views) fn moves_of(both: &Contradiction) -> Moves {
    let Contradiction { left, right, .. } = both;
    // A command against a decision of the operator only makes a proposal.
    let mover = |side: &SideView| {
        let owner = side.owner.as_ref().unwrap_or(&side.agent);
        mover(owner, side.is_the_operators)
    };
    match both.kind {
        // The challenger has acted.
        ContradictionKind::Position => {
            move_of(&mover(left), [end_of(left.claim_id, left.claim_type, &left.scopes)])
        }
        ContradictionKind::Supersession => {
            let settle = ["support", "abstain"].map(|tool| position(tool, right.claim_id));
            move_of(&left.agent, settle)
        }
        ContradictionKind::Target => {
            // Neither owner may end the decision of the other.
            let sides = [left.claim_id, right.claim_id];
            let others = both.in_force.iter().copied().filter(|id| !sides.contains(id));
            let all: Vec<ClaimId> = sides.into_iter().chain(others).collect();
            let settle = decided_instead(&all, &left.scopes);
            let is_the_operators = left.is_the_operators || right.is_the_operators;
            move_of(&self::mover(AgentId::architect().as_str(), is_the_operators), [settle])
        }
        ContradictionKind::Polarity | ContradictionKind::Value | ContradictionKind::Explicit => {
            let mut moves = Moves::new();
            for side in [left, right] {
                moves.entry(mover(side)).or_default().push(end_of(
                    side.claim_id,
                    side.claim_type,
                    &side.scopes,
                ));
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
    /// `None` after its end.
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
    Need { hint, ..Need::new(Kind::Contradiction, ids, both.detected_at, moves_of(both), what) }
}

/// A proposal against a decision of the operator, with the operator's commands.
pub(super) fn proposal(asked: ProposalView) -> Need {
    let ProposalView {
        claim_id,
        claim,
        owner,
        scopes,
        asks,
        proposed_by,
        reason,
        successor,
        statement,
        target,
        ..
    } = asked;
    let why = reason.map_or_else(String::new, |reason| format!(": {reason}"));
    let wish = match asks {
        Override::Deprecate => "deprecate it",
        Override::Supersede => "supersede it",
        Override::Decide => "decide otherwise",
        Override::Challenge => "challenge it",
    };
    let on = target.as_ref().map_or_else(String::new, |target| format!("on {target}: "));
    let decided = statement.map(|statement| format!("{on}{statement}"));
    let what = vec![format!("{owner}: {claim}"), format!("{proposed_by} would {wish}{why}")];
    let what = what.into_iter().chain(decided).collect();
    let instead = match (asks, &successor) {
        (Override::Supersede, Some(successor)) => position("support", *successor),
        (Override::Decide, Some(successor)) => {
            let decided =
                json!({ "claim_id": successor, "supersedes": [claim_id], "rationale": way::REASON });
            way::bare("record_decision", &decided)
        }
        (Override::Decide, None) => {
            decided_instead(&[claim_id], if target.is_some() { target.as_slice() } else { &scopes })
        }
        // An owner cannot challenge their own claim.
        (Override::Challenge, _) if owner != AgentId::operator().as_str() => challenge(claim_id),
        (Override::Challenge | Override::Deprecate | Override::Supersede, _) => end_of(claim_id, None, &[]),
    };
    let hint = successor.as_ref().map(|rival| format!("keeping it puts {rival} out of force"));
    let ids = std::iter::once(claim_id).chain(successor).map(|id| id.to_string()).collect();
    let moves = move_of(AgentId::operator().as_str(), [format!("hm claim keep {claim_id}"), instead]);
    Need { hint, ..Need::new(Kind::Proposal, ids, asked.proposed_at, moves, what) }
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
    let agent = mover(&claim.owner, store.is_the_operators(claim.id)?);
    Ok(move_of(&agent, [end_of(claim.id, Some(claim.claim_type), &claim.scopes)]))
}

/// The command that ends a claim. A decision is ended by another decision.
pub(super) fn end_of(claim: ClaimId, claim_type: Option<ClaimType>, scopes: &[String]) -> String {
    if claim_type == Some(ClaimType::Decision) {
        return decided_instead(&[claim], scopes);
    }
    way::bare("deprecate_claim", &json!({ "claim_id": claim, "reason": "REASON" }))
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
