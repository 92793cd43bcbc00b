//! Supersession: one claim replaces another.

use std::collections::{BTreeMap, BTreeSet};

use super::claim::may_deprecate;
use super::quorum::Policy;
use super::{Speaker, contradiction, known_claim, overrule, transition};
use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, ContradictionKind, Position, Status};
use crate::domain::event::{ClaimSuperseded, Event};
use crate::domain::ids::ClaimId;
use crate::domain::receipt::{Warning, WarningCode};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::state::{Claim, State};
use crate::domain::text::Worktree;
use crate::domain::versions::{Versions, differ};

/// The result of a request to supersede a claim by a new one.
pub(super) enum Supersession {
    /// It is superseded, by these events.
    Now(Vec<Event>),
    /// It is superseded once the new claim is confirmed, or proved if this one is.
    OnceConfirmed { old: ClaimId, owner: AgentId, is_proven: bool },
    /// The operator stands by this claim, and must decide.
    Proposed(ClaimId),
}

impl Supersession {
    /// The warning in the receipt of the new claim, and the further events.
    pub(super) fn on_creation(self, new: ClaimId) -> (Vec<Event>, Option<Warning>) {
        match self {
            Self::Now(events) => (events, None),
            Self::Proposed(old) => (vec![overrule::succession(old, new)], Some(overrule::warning(old))),
            Self::OnceConfirmed { old, owner, is_proven } => {
                let (was, once) =
                    if is_proven { (" and was shown by a run", "proved") } else { ("", "confirmed") };
                let message = format!(
                    "claim {old} belongs to {owner}{was}; {owner} is asked: it stays in force until this claim is {once}"
                );
                let code = WarningCode::SupersessionProposed;
                (Vec::new(), Some(Warning { code, message, claim_id: Some(old) }))
            }
        }
    }
}

/// A claim that supersedes another one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Successor {
    pub(super) id: ClaimId,
    /// Whether it mends the problem that the other claim reports.
    pub(super) mends: bool,
}

pub(super) fn supersede(
    state: &State,
    (agent, session): Speaker<'_>,
    old_id: ClaimId,
    new: Successor,
    policy: &Policy,
) -> Result<Supersession, Rejection> {
    let old = known_claim(state, old_id)?;
    if let Some(successor) = old.superseded_by {
        let last = last_successor(state, old_id).unwrap_or(successor);
        return Err(Rejection::new(
            Code::AlreadySuperseded,
            format!("claim {old_id} was already superseded by {successor}"),
            format!("supersede {last} instead"),
        )
        .with("superseded_by", successor));
    }
    if overrule::stands(agent, old, policy) {
        return Ok(Supersession::Proposed(old_id));
    }
    // A deprecated claim is out of force already, so naming its successor takes nothing from its owner.
    // Nobody but its owner and the operator ends by word alone what a run proved.
    let is_word = old.is_proven
        && old.claim_type != ClaimType::Decision
        && *agent != AgentId::operator()
        && !state.owns(agent, session, old);
    if old.status == Status::Deprecated || may_deprecate(state, (agent, session), old) && !is_word {
        Ok(Supersession::Now(replace(state, old_id, old, new, agent)))
    } else {
        Ok(Supersession::OnceConfirmed { old: old_id, owner: old.owner.clone(), is_proven: old.is_proven })
    }
}

/// The end of the chain of claims that superseded this one. It may be out of force too. None without a successor.
pub(super) fn last_successor(state: &State, id: ClaimId) -> Option<ClaimId> {
    let next = |id: &ClaimId| state.claim(*id)?.superseded_by;
    std::iter::successors(Some(id), next).skip(1).last()
}

/// What confirmed a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConfirmedBy<'v> {
    Run,
    /// Positions, the last one in this work tree, on this content of the claim's files.
    Positions(Option<&'v Worktree>, &'v Versions),
    Silence,
}

/// The events by which `owner`'s `new_id` supersedes `old_id`: the link, the end of the old claim, and the
/// contradictions or questions for its supporters.
pub(super) fn replace(
    state: &State,
    old_id: ClaimId,
    old: &Claim,
    new: Successor,
    owner: &AgentId,
) -> Vec<Event> {
    let Successor { id: new_id, mends } = new;
    // A successor by the owner contradicts no agent: the supporters of the old claim are asked about the new one. The
    // supporters of a mended claim were right and are not asked.
    let is_own = old.owner == *owner;
    let left = contradiction::left_behind(state, old, (new_id, owner));
    let mut asks: Vec<AgentId> = if is_own && !mends { left.cloned().collect() } else { Vec::new() };
    if is_own && !mends && old.claim_type == ClaimType::Decision {
        asks.extend(asked_before(state, old_id, old, (new_id, owner)));
    }
    // Their challenge ends with the old claim, so the challengers are asked about the new one. Those of a claim before that
    // who have not answered are asked about this one.
    let has_spoken =
        |agent: &AgentId| state.claim(new_id).is_some_and(|new| new.positions.contains_key(agent));
    let challengers = contradiction::challengers_behind(state, old_id).into_keys();
    asks.extend(challengers.filter(|agent| *agent != owner && !has_spoken(agent)).cloned());
    let mut events = vec![ClaimSuperseded { claim_id: old_id, superseded_by: new_id, mends, asks }.into()];
    if old.status != Status::Deprecated {
        let how = if mends { "mended" } else { "superseded" };
        events.push(transition(old_id, old.status, Status::Deprecated, &format!("{how} by {new_id}")));
    }
    // The supporters of a mended claim were right.
    if !mends && !is_own {
        events.extend(contradiction::on_supersession(state, (old_id, old), (new_id, owner)));
    }
    events
}

/// Supporters of the decisions before this one that took no position on it. They are asked about its successor instead.
fn asked_before(state: &State, old_id: ClaimId, old: &Claim, new: (ClaimId, &AgentId)) -> BTreeSet<AgentId> {
    let decisions = state.claims().filter(|(_, claim)| claim.claim_type == ClaimType::Decision);
    let replaced: BTreeMap<ClaimId, (ClaimId, &Claim)> =
        decisions.filter_map(|(id, claim)| Some((claim.superseded_by?, (id, claim)))).collect();
    let (mut asked, mut at) = (BTreeSet::new(), old_id);
    while let Some((id, claim)) = replaced.get(&at).filter(|(_, claim)| claim.owner == old.owner) {
        let left = contradiction::left_behind(state, claim, new);
        asked.extend(left.filter(|agent| !old.positions.contains_key(*agent)).cloned());
        at = *id;
    }
    asked
}

/// The events of a supersession without questions and contradictions of agents whose position on the new claim is not in
/// the state yet, because it is what confirms the claim.
fn of_the_silent(mut events: Vec<Event>, new: &Claim) -> Vec<Event> {
    let has_spoken = |agent: &AgentId| new.positions.contains_key(agent);
    for event in &mut events {
        if let Event::ClaimSuperseded(link) = event {
            link.asks.retain(|agent| !has_spoken(agent));
        }
    }
    let is_over = |event: &Event| {
        matches!(event, Event::ContradictionDetected(found)
            if found.kind == ContradictionKind::Supersession && has_spoken(&found.left.agent))
    };
    events.retain(|event| !is_over(event));
    events
}

/// Whether the files hold something else by now than when a run showed the old claim, or the owner of that claim or the operator
/// agrees to the new one. A mend of files without a version is taken at its word.
fn is_about_other_content(
    state: &State,
    old: &Claim,
    new: &Claim,
    (tree, now): (Option<&Worktree>, &Versions),
) -> bool {
    let run = old.proof.and_then(|run| state.run(run));
    // What another work tree holds says nothing about that of the proof.
    let is_there = run.is_none_or(|run| run.worktree.as_ref() == tree);
    let shown = run.map(|run| &run.saw.versions);
    let made = new.sights.last_versions();
    let is_unknown = made.is_empty() || shown.is_none_or(BTreeMap::is_empty);
    let is_its_owners = new.positions.get(&old.owner) == Some(&Position::Support);
    is_its_owners
        || new.is_the_operators()
        || is_there && shown.is_some_and(|shown| differ(shown, now))
        || new.mends && is_unknown
}

/// A confirmed claim supersedes the claim that it proposed to supersede, if it may. Positions and silence do not outvote a
/// run.
pub(super) fn take_place(
    state: &State,
    (new_id, new): (ClaimId, &Claim),
    by: ConfirmedBy<'_>,
    policy: &Policy,
) -> (Vec<Event>, Option<Warning>) {
    let Some((old_id, old)) = new.proposes_to_supersede.and_then(|old| Some((old, state.claim(old)?))) else {
        return (Vec::new(), None);
    };
    let lapsed = |message, by| {
        let claim_id = Some(by);
        (Vec::new(), Some(Warning { code: WarningCode::SupersessionLapsed, message, claim_id }))
    };
    if let Some(other) = old.superseded_by {
        return lapsed(format!("claim {old_id} was superseded by {other} in the meantime"), other);
    }
    if old.claim_type == ClaimType::Decision {
        let message = format!("claim {old_id} is a decision: only another decision supersedes it");
        return lapsed(message, old_id);
    }
    let is_shown = old.is_proven && !new.is_proven && old.status != Status::Deprecated;
    // The two stand beside each other then, and no reader may take both for true.
    let beside = |(_, warning): (Vec<Event>, Option<Warning>)| {
        (contradiction::of_words(state, (old_id, old), (new_id, new)).into_iter().collect(), warning)
    };
    match by {
        ConfirmedBy::Silence if is_shown => {
            return beside(lapsed(
                format!("claim {old_id} was shown by a run, which silence does not outvote"),
                old_id,
            ));
        }
        ConfirmedBy::Positions(tree, now)
            if is_shown && !is_about_other_content(state, old, new, (tree, now)) =>
        {
            let owner = &old.owner;
            let challenge = super::challenge(old_id);
            return beside(lapsed(
                format!(
                    "claim {old_id} was shown by a run, which positions do not outvote: it stays in force until {owner} ends \
                     it, or until a run contradicts it and this claim is supported again; to have it run: {challenge}"
                ),
                old_id,
            ));
        }
        ConfirmedBy::Run | ConfirmedBy::Positions(..) | ConfirmedBy::Silence => {}
    }
    if overrule::gives_way(old, new, policy) {
        let successor = Successor { id: new_id, mends: new.mends };
        return (of_the_silent(replace(state, old_id, old, successor, &new.owner), new), None);
    }
    let is_proposed = state.proposals(old_id).any(|open| open.successor == Some(new_id));
    let (mut events, _) = beside((Vec::new(), None));
    if !is_proposed {
        events.push(overrule::succession(old_id, new_id));
    }
    (events, Some(overrule::warning(old_id)))
}
