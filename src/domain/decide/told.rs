//! Claims and edits of other agents in a receipt. Each is named once per session.

use std::collections::BTreeSet;

use super::{Accepted, Speaker};
use crate::domain::action::{self, Kind};
use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::claim::{ClaimType, Status};
use crate::domain::command::{Command, RunExperiment};
use crate::domain::event::{Event, Guard, GuardFired};
use crate::domain::evidence::EvidenceName;
use crate::domain::ids::{ClaimId, SessionId};
use crate::domain::names::names_it;
use crate::domain::receipt::{Warning, WarningCode};
use crate::domain::scope::Scope;
use crate::domain::state::{Claim, State};
use crate::domain::time::Timestamp;
use crate::domain::versions::Edit;

/// The `matched` text of an event that records a warning on a receipt.
const RECEIPT: &str = "receipt";
/// The most recent claims that a receipt names.
const MAX_RECENT: usize = 2;
/// The most recent claims that are looked at. A team makes some tens in ten minutes; a program may make as many in a second,
/// and each claim would pay for all of them.
const MAX_LOOKED_AT: usize = 200;

/// Whether the claim is another agent's and the caller's session does not know it yet.
pub(super) fn is_news(state: &State, (agent, session): Speaker<'_>, id: ClaimId, claim: &Claim) -> bool {
    !state.said(agent, session, claim) && !state.was_told(agent, session, id)
}

/// Whether a text names the claim, by its short name, within a range of them, or by its id.
pub(super) fn is_named(state: &State, text: &str, id: ClaimId) -> bool {
    let name = state.work().names().of(id.uuid());
    name.is_some_and(|name| names_it(text, name)) || text.contains(&id.to_string())
}

/// Names recent claims of other agents about the place of a new claim or decision. Claims that the author already knows
/// are left out: those in this receipt, and those that the author names itself.
pub(super) fn recent(
    state: &State,
    (agent, session): Speaker<'_>,
    command: &Command,
    now: Timestamp,
    decision: &mut Accepted,
) {
    let Some((made, known)) = made(command) else { return };
    let scopes = places(scopes_of(state, made, &decision.events));
    let mut known: BTreeSet<ClaimId> = known;
    known.extend(decision.warnings.iter().filter_map(|warning| warning.claim_id));
    known.extend(decision.similar.iter().chain(&decision.alike));
    let said = said(command);
    // Most recent claims are elsewhere, and what is dear comes last.
    let is_told = |id: ClaimId, claim: &Claim| {
        are_beside(&scopes, claim)
            && claim.status != Status::Deprecated
            && !claim.is_over(now)
            && !known.contains(&id)
            && !claim.positions.contains_key(agent)
            && is_news(state, (agent, session), id, claim)
            && !said.is_some_and(|said| is_named(state, said, id))
    };
    let mut told = Vec::new();
    // If the session made a claim about the same place, the receipt of that claim named the older ones.
    let mut own_since: Vec<&Claim> = Vec::new();
    for (at, id, claim) in state.recent(now).take(MAX_LOOKED_AT) {
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
            message: format!("{owner} {did} here {age}: {said} ({id})"),
            claim_id: Some(id),
        });
        if told.len() == MAX_RECENT {
            break;
        }
    }
    decision.warnings.extend(told);
}

/// Scopes that name a place. The whole workspace does not.
fn places(scopes: &[Scope]) -> Vec<&Scope> {
    scopes.iter().filter(|scope| is_place(scope)).collect()
}

fn is_place(scope: &Scope) -> bool {
    !scope.is_whole() && scope.as_str() != "**"
}

/// Whether the claim has a place that overlaps one of these places.
fn are_beside(at: &[&Scope], claim: &Claim) -> bool {
    let mut places = claim.scopes.iter().filter(|scope| is_place(scope));
    places.any(|place| at.iter().any(|scope| scope.overlaps(place)))
}

/// The statement of a new claim or decision.
fn said(command: &Command) -> Option<&str> {
    let statement = if let Command::CreateClaim(create) = command {
        Some(&create.statement)
    } else if let Command::RecordDecision(record) = command {
        record.statement.as_ref()
    } else {
        None
    };
    statement.map(|statement| statement.as_str())
}

/// The claim that a command creates or records as a decision, and the claims that the command names.
fn made(command: &Command) -> Option<(ClaimId, BTreeSet<ClaimId>)> {
    if let Command::CreateClaim(create) = command {
        let cited = create.evidence_refs.iter().filter_map(|name| match name {
            EvidenceName::Id(id) => Some(id.as_claim()),
            EvidenceName::Last | EvidenceName::LastWith(_) | EvidenceName::End(_) | EvidenceName::At(_) => {
                None
            }
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

/// The scopes of that claim. Empty if the command only led to a proposal to the operator.
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

/// Records the dead ends that a receipt shows to the caller's session. Later hooks and receipts omit them.
pub(super) fn remember(state: &State, speaker: Speaker<'_>, command: &Command, decision: &mut Accepted) {
    if speaker.1.is_none() {
        return;
    }
    let told = |warning: &Warning| {
        let id = warning.claim_id.filter(|_| warning.code.quotes_a_claim())?;
        let claim = state.claim(id).filter(|claim| claim.claim_type == ClaimType::Negative)?;
        is_news(state, speaker, id, claim).then_some(Guard::Claim(id))
    };
    let matched = RECEIPT.parse().expect("a short text without control characters");
    // The outcome of the warning is that of the written claim.
    let did = made(command).and_then(|(id, _)| id.to_string().parse().ok());
    let kind = did.as_ref().map(|_| Kind::Write);
    let fired =
        |guard| GuardFired { guard, matched: Clone::clone(&matched), kind, did: Clone::clone(&did) }.into();
    decision.events.extend(decision.warnings.iter().filter_map(told).map(fired));
}

/// Before a run about the caller's own claim, names the claim's files that another agent has edited since.
pub(super) fn edited(
    state: &State,
    (agent, session, checkout): (&AgentId, Option<&SessionId>, &Checkout),
    command: &Command,
    now: Timestamp,
    decision: &mut Accepted,
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
        // Without `matched` the warning could not be recorded, and would appear again and again.
        let Ok(matched) = path.as_str().parse() else { continue };
        if state.was_told_of_edit(agent, session, *id, (path, edit)) {
            continue;
        }
        let by = edit.by();
        let edited = (by.as_str(), edit.at);
        decision.warnings.push(Warning {
            code: WarningCode::EditedSince,
            message: action::edited_since(path.as_str(), edited, (*id, claim.statement()), now),
            claim_id: Some(*id),
        });
        if session.is_some() {
            decision.events.push(GuardFired::told(Guard::Claim(*id), matched).into());
        }
    }
}
