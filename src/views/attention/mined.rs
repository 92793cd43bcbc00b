//! The proposals of the miners, as entries that need an agent.

use std::cmp::Reverse;

use serde_json::json;

use super::moves::{Moves, mover, position};
use super::{Kind, MAX_LIMIT, Need};
use crate::domain::agent::AgentId;
use crate::domain::claim::{Basis, Status};
use crate::domain::merge::{Rank, STAYS};
use crate::domain::playbook;
use crate::domain::reflection::Cause;
use crate::domain::time::Timestamp;
use crate::domain::way;
use crate::store::{ClaimSummary, PlaybookView, Reader, ReflectionView, StoreError};

/// The playbooks and hypotheses that wait. The architect or the operator settles them.
pub(super) fn needs(store: &Reader) -> Result<Vec<Need>, StoreError> {
    // The time matters only for accepted ones.
    let playbooks =
        store.playbooks(Timestamp::from_ms(0))?.into_iter().filter(|one| one.status == "proposed");
    let mut needs: Vec<Need> = playbooks.map(|one| of_playbook(&one)).collect();
    for one in store.reflections(MAX_LIMIT)? {
        needs.extend(of_hypotheses(store, &one)?);
    }
    Ok(needs)
}

/// The commands of the agents that may settle a proposal.
fn moves(settle: &[String]) -> Moves {
    [AgentId::architect(), AgentId::operator()]
        .into_iter()
        .map(|agent| (agent.to_string(), settle.to_vec()))
        .collect()
}

fn of_playbook(one: &PlaybookView) -> Need {
    let settle = [
        way::bare("accept_playbook", &json!({ "playbook_id": one.id })),
        way::bare("dismiss_playbook", &json!({ "playbook_id": one.id, "reason": "REASON" })),
    ];
    let steps = playbook::text(&one.steps).lines().collect::<Vec<_>>().join("; ");
    let what = format!("done in {} of {} tasks: {steps}", one.tasks.len(), one.of);
    Need::new(Kind::Playbook, vec![one.id.to_string()], one.proposed_at, moves(&settle), vec![what])
}

/// The entry ends when the architect or the operator takes a position on one of the claims, or both claims end.
fn of_hypotheses(store: &Reader, one: &ReflectionView) -> Result<Option<Need>, StoreError> {
    let mut both = [(Cause::Structural, one.structural), (Cause::Environmental, one.environmental)];
    both.sort_by(|(one_cause, _), (other, _)| {
        one.counts.confidence(*other).total_cmp(&one.counts.confidence(*one_cause))
    });
    let (mut open, mut what) = (Vec::new(), Vec::new());
    for (cause, id) in both {
        let Some(claim) = store.claim(id)? else { continue };
        let settles =
            |agent: &str| [AgentId::architect(), AgentId::operator()].iter().any(|it| it.as_str() == agent);
        if claim.positions.iter().any(|held| settles(&held.agent)) {
            return Ok(None);
        }
        if claim.summary.status == Status::Proposed {
            what.push(format!(
                "{} (confidence {:.2})",
                claim.summary.statement,
                one.counts.confidence(cause)
            ));
            open.push(id);
        }
    }
    if open.is_empty() {
        return Ok(None);
    }
    let settle: Vec<String> = open.iter().map(|id| position("support", *id)).collect();
    let ids = both.iter().map(|(_, id)| id.to_string()).collect();
    let failures = one.evidence.iter().map(|seq| format!("#{seq}")).collect::<Vec<_>>().join(" ");
    Ok(Some(Need {
        changed_at: one.changed_at,
        hint: Some(format!("the failures: {failures}")),
        ..Need::new(Kind::Hypothesis, ids, one.changed_at, moves(&settle), what)
    }))
}

/// The proposals to merge two claims, with both texts. Both owners, the architect and the operator may decline one; only
/// those that may end the claim that goes may accept it.
pub(super) fn merges(store: &Reader) -> Result<Vec<Need>, StoreError> {
    let mut needs = Vec::new();
    for one in store.merges(MAX_LIMIT)? {
        let ids = [one.left.id, one.right.id].map(|id| id.to_string());
        let [left, right] = &ids;
        let apart = format!("hm claim apart {left} {right} --reason REASON");
        let merge = format!("hm claim merge {left} {right}");
        let said = [&one.left, &one.right].map(|claim| {
            let (by, supports) = (&claim.owner, claim.supports);
            format!("{} (by {by}, {}, {supports} supports)", claim.statement, claim.status)
        });
        let mut moves = moves(std::slice::from_ref(&apart));
        moves.extend([&one.left, &one.right].map(|claim| (claim.owner.clone(), vec![apart.clone()])));
        let merged = if rank(&one.left) >= rank(&one.right) { &one.right } else { &one.left };
        let is_the_operators = store.is_the_operators(merged.id)?;
        let ends_it = mover(&merged.owner, is_the_operators);
        for (agent, settle) in &mut moves {
            let may_end_any = *agent == AgentId::operator().as_str()
                || (*agent == AgentId::architect().as_str() && !is_the_operators);
            if may_end_any || *agent == ends_it {
                settle.push(merge.clone());
            }
        }
        needs.push(Need {
            hint: Some(format!("accepted, {STAYS}")),
            ..Need::new(Kind::Merge, ids.to_vec(), one.proposed_at, moves, said.to_vec())
        });
    }
    Ok(needs)
}

fn rank(claim: &ClaimSummary) -> Rank {
    Rank {
        is_proven: matches!(claim.basis, Some(Basis::Proved | Basis::Unchecked)),
        is_confirmed: claim.status == Status::Confirmed,
        supports: claim.supports,
        id: Reverse(claim.id),
    }
}

/// The number of proposals that wait for this agent.
pub(in crate::views) fn waiting(store: &Reader, agent: &str) -> Result<u64, StoreError> {
    let mut needs = needs(store)?;
    needs.extend(merges(store)?);
    Ok(needs.iter().filter(|need| need.moves.contains_key(agent)).count() as u64)
}

/// A line for a prompt: how many proposals wait for this agent, if one of them is newer than ledger position `since`.
/// Empty otherwise, so that the line does not repeat.
///
/// # Errors
/// [`StoreError`].
pub fn proposals_due(store: &Reader, agent: &str, since: u64) -> Result<String, StoreError> {
    let playbooks = store.playbooks(Timestamp::from_ms(0))?;
    let is_new = playbooks.iter().any(|one| one.status == "proposed" && one.created_seq > since)
        || store.reflections(MAX_LIMIT)?.iter().any(|one| one.seq > since)
        || store.has_merge_since(since)?;
    Ok(match if is_new { waiting(store, agent)? } else { 0 } {
        0 => String::new(),
        1 => "hivemind: 1 proposal waits for you: hm attention\n".to_owned(),
        count => format!("hivemind: {count} proposals wait for you: hm attention\n"),
    })
}
