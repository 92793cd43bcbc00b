//! Guards: who accepts and silences them, and what a write that meets one is told.

use super::{Accepted, PlannedRun, Speaker, fresh_id, known_claim, transition};
use crate::domain::action;
use crate::domain::action::Kind;
use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, Status};
use crate::domain::command::{AcceptGuard, Command, MuteGuard, RunExperiment};
use crate::domain::event::{Event, Guard, GuardAccepted, GuardFired, GuardMuted};
use crate::domain::experiment::Prediction;
use crate::domain::guard::{Effect, MAX_A_TURN, Moment, Subject};
use crate::domain::ids::{ClaimId, EventId, GuardId};
use crate::domain::names::Sort;
use crate::domain::receipt::{Warning, WarningCode};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::scope::Scope;
use crate::domain::state::{Claim, State};
use crate::domain::time::Timestamp;
use uuid::Uuid;

pub(super) fn accept(
    state: &State,
    agent: &AgentId,
    accept: &AcceptGuard,
    now: Timestamp,
) -> Result<Accepted, Rejection> {
    if ![AgentId::architect(), AgentId::operator()].contains(agent) {
        return Err(Rejection::new(
            Code::NotAllowed,
            format!("the architect and the operator accept guards, and you are {agent}"),
            "record a dead end with a trigger instead: `create_claim` with claim_type negative warns in the same places",
        ));
    }
    fresh_id(state, "guard_id", EventId::from_uuid(accept.guard_id.uuid()))?;
    if accept.condition.is_empty() {
        return Err(Rejection::invalid("condition", "name at least one field, such as commands or paths"));
    }
    if let Some((field, why)) = accept.condition.fault() {
        return Err(Rejection::invalid(field, why));
    }
    if accept.until.is_some_and(|until| until <= now) {
        return Err(Rejection::invalid("until", "the time has passed: name a later one, or leave it out"));
    }
    if let Some(claim) = accept.source_claim {
        known_claim(state, claim)?;
    }
    let AcceptGuard { guard_id, condition, action, text, source_claim, source_pattern, until } =
        accept.clone();
    let accepted = GuardAccepted { guard_id, condition, action, text, source_claim, source_pattern, until };
    Ok(one(accepted.into()))
}

pub(super) fn mute(
    state: &State,
    agent: &AgentId,
    mute: &MuteGuard,
    now: Timestamp,
) -> Result<Accepted, Rejection> {
    if *agent != AgentId::operator() {
        return Err(Rejection::new(
            Code::NotAllowed,
            format!("only the operator silences a guard, and you are {agent}"),
            "if it is wrong, `challenge` its claim with the reason; otherwise ask the human",
        ));
    }
    match mute.guard {
        Guard::Rule(id) => known_guard(state, id)?,
        Guard::Claim(id) => {
            let claim = known_claim(state, id)?;
            if claim.claim_type != ClaimType::Negative {
                return Err(Rejection::invalid(
                    "guard",
                    format!("claim {id} is no dead end and warns of nothing"),
                ));
            }
        }
        Guard::Task(_) | Guard::Lock(_) | Guard::Fix(_) => {
            return Err(Rejection::invalid("guard", "name a guard or a dead end"));
        }
    }
    if mute.until.is_some_and(|until| until <= now) {
        return Err(Rejection::invalid("until", "the time has passed: name a later one, or leave it out"));
    }
    let MuteGuard { guard, scope, until, reason } = mute.clone();
    Ok(one(GuardMuted { guard, scope, until, reason }.into()))
}

pub(super) fn known_guard(state: &State, id: GuardId) -> Result<(), Rejection> {
    match state.guards().rule(id) {
        Some(_) => Ok(()),
        None => Err(Sort::Guard.unknown(format!("no guard has the id {id}"), &[])),
    }
}

/// Whether an id is that of a guard, or of a dead end with a trigger.
pub(super) fn is_guard(state: &State, id: Uuid) -> bool {
    let is_dead_end = |claim: &Claim| claim.claim_type == ClaimType::Negative;
    state.guards().rule(GuardId::from_uuid(id)).is_some()
        || state.claim(ClaimId::from_uuid(id)).is_some_and(is_dead_end)
}

/// Warns of the guards that a claim, a decision or a run meets, and records their firings.
pub(super) fn warn(
    state: &State,
    (agent, session): Speaker<'_>,
    (command, planned): (&Command, Option<&PlannedRun>),
    now: Timestamp,
    decision: &mut Accepted,
) {
    let Some((mut subject, did)) = subject_of(state, command) else { return };
    subject.patterns = state.patterns().open_in(agent, session);
    let room = MAX_A_TURN.saturating_sub(state.guards().spoken(session));
    let did = did.to_string().parse().expect("an id is a short text");
    for (rule, met) in state.guards().met(&subject, session, now).take(room) {
        let says = action::quoted(rule.text.as_str(), 400);
        let met = action::quoted(&met, 120);
        let waits = rule.effect == Effect::Block && wait_for_run(state, command, planned, decision);
        let waits = if waits { "; the claim waits for this run" } else { "" };
        decision.warnings.push(Warning {
            code: WarningCode::Guard,
            message: format!("guard {} ({}): {says} (it is about `{met}`){waits}", rule.id, rule.effect),
            claim_id: rule.claim_id,
        });
        let Ok(matched) = met.parse() else { continue };
        if session.is_some() {
            let (kind, did) = (Some(Kind::Write), Some(Clone::clone(&did)));
            decision.events.push(GuardFired { guard: Guard::Rule(rule.id), matched, kind, did }.into());
        }
    }
}

/// Makes a contested claim wait for the run that was just asked for, if that run can settle it. Whether it waits.
fn wait_for_run(
    state: &State,
    command: &Command,
    planned: Option<&PlannedRun>,
    decision: &mut Accepted,
) -> bool {
    let Command::RunExperiment(RunExperiment {
        claim_id: Some(id), blocking: false, run_id, prediction, ..
    }) = command
    else {
        return false;
    };
    let (Some(claim), Some(PlannedRun { plan, further_runs, .. })) = (state.claim(*id), planned) else {
        return false;
    };
    // Only the owner says that its claim predicts a failure.
    let prediction = prediction.unwrap_or(Prediction::Passes);
    let settles = prediction == Prediction::Passes && plan.cannot_settle(&claim.scopes, prediction).is_none();
    if claim.status != Status::Contested || !settles {
        return false;
    }
    for event in &mut decision.events {
        if let Event::ExperimentQueued(queued) = event {
            queued.blocking = true;
        }
    }
    let last = further_runs.last().unwrap_or(run_id);
    decision.events.push(transition(
        *id,
        claim.status,
        Status::PendingProof,
        &format!("waits for run {last}"),
    ));
    true
}

/// What a write is about, and the id of the claim or run that it makes.
fn subject_of(state: &State, command: &Command) -> Option<(Subject, Uuid)> {
    let of = |moment, claim: Option<(ClaimType, &str, &[Scope])>, status| {
        let (claim_type, text, scopes) =
            claim.map_or((None, "", &[][..]), |(of, text, scopes)| (Some(of), text, scopes));
        let action = action::proposed(text, scopes);
        let (moments, text, scopes) = (vec![moment], text.to_owned(), scopes.to_vec());
        Subject { action, moments, scopes, claim_type, status, text, ..Subject::default() }
    };
    let known = |id: ClaimId| state.claim(id);
    if let Command::CreateClaim(create) = command {
        let claim = (create.claim_type, create.statement.as_str(), create.scopes.as_slice());
        return Some((of(Moment::ClaimCreated, Some(claim), None), create.claim_id.uuid()));
    }
    if let Command::RecordDecision(record) = command {
        let claim = known(record.claim_id);
        let text = record
            .statement
            .as_ref()
            .map_or_else(|| claim.map_or("", |claim| claim.statement()), |text| text.as_str());
        let target: Vec<Scope> = record.scopes.iter().chain(&record.target).cloned().collect();
        let status = claim.map(|claim| claim.status);
        let subject = of(Moment::DecisionRecorded, Some((ClaimType::Decision, text, &target)), status);
        return Some((subject, record.claim_id.uuid()));
    }
    if let Command::RunExperiment(RunExperiment { run_id, claim_id, profile, args, .. }) = command {
        let claim = claim_id.and_then(known);
        let about = claim.map(|claim| (claim.claim_type, claim.statement(), claim.scopes.as_slice()));
        let mut subject = of(Moment::ExperimentQueued, about, claim.map(|claim| claim.status));
        let args = args.iter().map(|(name, value)| format!(" {name}={value}"));
        subject.text = format!("{profile}{} {}", args.collect::<String>(), subject.text);
        return Some((subject, run_id.uuid()));
    }
    None
}

fn one(event: Event) -> Accepted {
    Accepted { events: vec![event], ..Accepted::default() }
}
