//! What a receipt tells of other agents' claims and edits, each once a session.

use std::collections::BTreeSet;

use super::{Decision, Speaker};
use crate::domain::action;
use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::claim::{ClaimType, Status};
use crate::domain::command::{Command, RunExperiment};
use crate::domain::event::{Event, Guard, GuardFired};
use crate::domain::evidence::EvidenceName;
use crate::domain::ids::{ClaimId, SessionId};
use crate::domain::receipt::{Warning, WarningCode};
use crate::domain::scope::Scope;
use crate::domain::state::{Claim, State};
use crate::domain::time::Timestamp;
use crate::domain::versions::Edit;

/// What matched, where a receipt warns.
const RECEIPT: &str = "receipt";
/// The most recent claims that a receipt names.
const MAX_RECENT: usize = 2;

/// Whether a claim of another agent was not told to the caller's session.
pub(super) fn is_news(state: &State, (agent, session): Speaker<'_>, id: ClaimId, claim: &Claim) -> bool {
    !state.said(agent, session, claim) && !state.was_told(agent, session, id)
}

/// Names what other agents said minutes ago about the place of a new claim or decision, and what its author does not
/// know of by this receipt or by its own words.
pub(super) fn recent(
    state: &State,
    (agent, session): Speaker<'_>,
    command: &Command,
    now: Timestamp,
    decision: &mut Decision,
) {
    let Some((made, known)) = made(command) else { return };
    let scopes = places(scopes_of(state, made, &decision.events));
    let mut known: BTreeSet<ClaimId> = known;
    known.extend(decision.warnings.iter().filter_map(|warning| warning.claim_id));
    known.extend(decision.similar.iter().chain(&decision.alike));
    let is_told = |id: ClaimId, claim: &Claim| {
        claim.status != Status::Deprecated
            && !claim.is_over(now)
            && !known.contains(&id)
            && !claim.positions.contains_key(agent)
            && is_news(state, (agent, session), id, claim)
            && are_beside(&scopes, claim)
    };
    let mut told = Vec::new();
    // What came before a claim that the session made about the same place was named in the receipt of that claim.
    let mut own_since: Vec<&Claim> = Vec::new();
    for (at, id, claim) in state.recent(now) {
        if claim.owner == *agent && claim.session.as_ref() == session {
            own_since.push(claim);
            continue;
        }
        if !is_told(id, claim) || own_since.iter().any(|own| are_beside(&places(&own.scopes), claim)) {
            continue;
        }
        let did = match claim.claim_type {
            ClaimType::Decision => "decided",
            ClaimType::Fact | ClaimType::Hypothesis | ClaimType::Negative => "claimed",
        };
        let (owner, age, said) = (&claim.owner, action::age(at, now), action::first_line(claim.statement()));
        told.push(Warning {
            code: WarningCode::RecentClaim,
            message: format!("{owner} {did} this {age}: {said} ({id})"),
            claim_id: Some(id),
        });
        if told.len() == MAX_RECENT {
            break;
        }
    }
    decision.warnings.extend(told);
}

/// Scopes that say where: the whole workspace lies around everything.
fn places(scopes: &[Scope]) -> Vec<&Scope> {
    scopes.iter().filter(|scope| !scope.is_whole() && scope.as_str() != "**").collect()
}

/// Whether a claim is about one of these places, or about one that overlaps with it.
fn are_beside(at: &[&Scope], claim: &Claim) -> bool {
    places(&claim.scopes).iter().any(|place| at.iter().any(|scope| scope.overlaps(place)))
}

/// The claim that a command makes or records as a decision, and the claims that it names itself.
fn made(command: &Command) -> Option<(ClaimId, BTreeSet<ClaimId>)> {
    if let Command::CreateClaim(create) = command {
        let cited = create.evidence_refs.iter().filter_map(|name| match name {
            EvidenceName::Id(id) => Some(id.as_claim()),
            EvidenceName::Last | EvidenceName::End(_) => None,
        });
        Some((create.claim_id, cited.chain(create.supersedes).collect()))
    } else if let Command::RecordDecision(record) = command {
        let cited = record.evidence_refs.iter().map(|id| id.as_claim());
        let alternatives = record.alternatives.iter().map(|alternative| alternative.claim_id);
        Some((record.claim_id, cited.chain(alternatives).chain(record.supersedes.iter().copied()).collect()))
    } else {
        None
    }
}

/// What the claim is about; nothing where only a proposal to the operator came of the command.
fn scopes_of<'a>(state: &'a State, made: ClaimId, events: &'a [Event]) -> &'a [Scope] {
    for event in events {
        if let Event::ClaimCreated(created) = event
            && created.claim_id == made
        {
            return &created.scopes;
        }
    }
    let is_decided = events.iter().any(|event| matches!(event, Event::DecisionRecorded(_)));
    state.claim(made).filter(|_| is_decided).map_or(&[], |claim| &claim.scopes)
}

/// Puts on record which dead ends a receipt tells the caller's session of: neither a hook nor another receipt tells of
/// them again.
pub(super) fn remember(state: &State, speaker: Speaker<'_>, decision: &mut Decision) {
    if speaker.1.is_none() {
        return;
    }
    let told = |warning: &Warning| {
        let id = warning.claim_id.filter(|_| warning.code.quotes_a_claim())?;
        let claim = state.claim(id).filter(|claim| claim.claim_type == ClaimType::Negative)?;
        is_news(state, speaker, id, claim).then_some(Guard::Claim(id))
    };
    let matched = RECEIPT.parse().expect("a short text without control characters");
    let fired = |guard| GuardFired { guard, matched: Clone::clone(&matched) }.into();
    decision.events.extend(decision.warnings.iter().filter_map(told).map(fired));
}

/// Names the files of the caller's claim that another agent edited since the claim was made, before a run about it.
pub(super) fn edited(
    state: &State,
    (agent, session, checkout): (&AgentId, Option<&SessionId>, &Checkout),
    command: &Command,
    now: Timestamp,
    decision: &mut Decision,
) {
    let Command::RunExperiment(RunExperiment { claim_id: Some(id), .. }) = command else { return };
    let Some(claim) = state.claim(*id).filter(|claim| state.said(agent, session, claim)) else { return };
    let is_others = |edit: &Edit| {
        let same_session = session.is_some() && edit.session.as_ref() == session;
        let is_panes = state.seats().are_one_pane(session, edit.session.as_ref());
        edit.agent != *agent && !same_session && !is_panes
    };
    let since = claim.sights.last_meant();
    for path in claim.scopes.iter().filter(|scope| scope.is_path()) {
        let edit = state.edits().after(since, checkout.worktree.as_ref(), path);
        let Some(edit) = edit.filter(|edit| is_others(edit)) else { continue };
        // It would be told again and again.
        let Ok(matched) = path.as_str().parse() else { continue };
        if state.was_told_of_edit(agent, session, *id, (path, edit)) {
            continue;
        }
        let edited = (edit.agent.as_str(), edit.at);
        decision.warnings.push(Warning {
            code: WarningCode::EditedSince,
            message: action::edited_since(path.as_str(), edited, (*id, claim.statement()), now),
            claim_id: Some(*id),
        });
        if session.is_some() {
            decision.events.push(GuardFired { guard: Guard::Claim(*id), matched }.into());
        }
    }
}
