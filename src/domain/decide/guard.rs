//! Guards: who accepts and silences them, and what a write that meets one is told.

use super::claim::trigger_says_enough;
use super::{Accepted, Facts, GuardRuns, Policy, Speaker, experiment, fresh_id, known_claim, transition};
use crate::domain::action;
use crate::domain::action::Kind;
use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, Position, Status, Trigger};
use crate::domain::command::{AcceptGuard, Command, MuteGuard, RunExperiment, TakePosition};
use crate::domain::event::{Event, Guard, GuardAccepted, GuardFired, GuardMuted};
use crate::domain::experiment::Prediction;
use crate::domain::guard::{Effect, MAX_A_TURN, Moment, Rule, Subject};
use crate::domain::ids::{ClaimId, EventId, GuardId, IdempotencyKey, RunId, SessionId};
use crate::domain::names::Sort;
use crate::domain::receipt::{Warning, WarningCode};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::scope::Scope;
use crate::domain::state::{Claim, State};
use crate::domain::text::Reason;
use crate::domain::time::Timestamp;
use crate::domain::versions;
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
    let condition = &accept.condition;
    let trigger = Trigger {
        commands: condition.commands.clone(),
        error_signature: condition.error_signature.clone(),
        ..Trigger::default()
    };
    trigger_says_enough(&trigger, "condition")?;
    if accept.until.is_some_and(|until| until <= now) {
        return Err(Rejection::invalid("until", "the time has passed: name a later one, or leave it out"));
    }
    if let Some(claim) = accept.source_claim {
        known_claim(state, claim)?;
    }
    if accept.profile.is_some() && accept.action != Effect::Block {
        return Err(Rejection::invalid("profile", "only a guard with the action block asks for a run"));
    }
    let AcceptGuard { guard_id, condition, action, text, source_claim, source_pattern, until, profile } =
        accept.clone();
    let accepted =
        GuardAccepted { guard_id, condition, action, text, source_claim, source_pattern, until, profile };
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

/// Warns of the guards that a claim, a decision, a run or a challenge meets, and records their firings. A challenge meets
/// only guards that block: it has happened, so no advice about it helps. A guard that blocks holds for each contested
/// claim, and is recorded once a turn; advice is given once a turn.
pub(super) fn warn(
    state: &State,
    (agent, session): Speaker<'_>,
    (command, facts): (&Command, &Facts),
    (now, policy): (Timestamp, &Policy),
    decision: &mut Accepted,
) {
    let contested = contested_by(state, command, decision);
    let Some((mut subject, did)) = subject_of(state, command, contested) else { return };
    subject.patterns = state.patterns().open_in(agent, session);
    let mut room = MAX_A_TURN.saturating_sub(state.guards().spoken(session));
    let is_heard = |rule: &Rule| did.is_some() || rule.effect == Effect::Block;
    let met = state.guards().met(&subject, now).filter(|(rule, _)| is_heard(rule));
    for (rule, met) in met {
        let is_fresh = !state.guards().has_spoken(session, rule.id);
        let holds = rule.effect == Effect::Block && contested.is_some();
        if !holds && (!is_fresh || room == 0) {
            continue;
        }
        room = room.saturating_sub(usize::from(is_fresh));
        let says = action::quoted(rule.text.as_str(), 400);
        let met = action::quoted(&met, 120);
        let waits = contested
            .filter(|_| rule.effect == Effect::Block)
            .map(|claim| block(state, (rule, claim, session), (command, facts, policy), decision))
            .unwrap_or_default();
        decision.warnings.push(Warning {
            code: WarningCode::Guard,
            message: format!("guard {} ({}): {says} (it is about `{met}`){waits}", rule.id, rule.effect),
            claim_id: rule.claim_id,
        });
        let Ok(matched) = met.parse() else { continue };
        if session.is_some() && is_fresh {
            let did = did.map(|did| did.to_string().parse().expect("an id is a short text"));
            let kind = did.as_ref().map(|_| Kind::Write);
            decision.events.push(GuardFired { guard: Guard::Rule(rule.id), matched, kind, did }.into());
        }
    }
}

/// The claim that a command is about, and that may be contested afterwards.
pub(crate) fn contestable(command: &Command) -> Option<ClaimId> {
    if let Command::TakePosition(TakePosition { claim_id, position: Position::Challenge, .. }) = command {
        Some(*claim_id)
    } else if let Command::RecordDecision(record) = command {
        Some(record.claim_id)
    } else if let Command::RunExperiment(run) = command {
        run.claim_id
    } else {
        None
    }
}

/// The claim that a command is about, if it is contested afterwards.
fn contested_by(state: &State, command: &Command, decision: &Accepted) -> Option<ClaimId> {
    let id = contestable(command)?;
    // An override proposal takes no position, and contests nothing.
    let is_proposed = |event: &Event| matches!(event, Event::OverrideProposed(_));
    let moved = decision.events.iter().rev().find_map(|event| {
        let Event::StatusChanged(change) = event else { return None };
        (change.claim_id == id).then_some(change.to)
    });
    let status = moved.or_else(|| state.claim(id).map(|claim| claim.status));
    let is_contested = status == Some(Status::Contested) && !decision.events.iter().any(is_proposed);
    is_contested.then_some(id)
}

/// Makes a contested claim wait for a run: the one that was just asked for, or the one of the guard's profile. The answer
/// ends the warning of the guard.
fn block(
    state: &State,
    (rule, claim, session): (&Rule, ClaimId, Option<&SessionId>),
    (command, facts, policy): (&Command, &Facts, &Policy),
    decision: &mut Accepted,
) -> String {
    if contested_by(state, command, decision).is_none() {
        return String::new();
    }
    if wait_for_run(state, command, facts, decision) {
        return "; the claim waits for this run".to_owned();
    }
    match queue(state, (rule, claim, session), (facts, policy), decision) {
        Ok(run) => format!("; the claim waits for run {run}"),
        Err(why) => format!("; the claim stays contested: {why}"),
    }
}

/// Queues the run of a guard's profile, and makes the claim wait for it.
///
/// # Errors
/// Why no run is queued.
fn queue(
    state: &State,
    (rule, id, session): (&Rule, ClaimId, Option<&SessionId>),
    (facts, policy): (&Facts, &Policy),
    decision: &mut Accepted,
) -> Result<RunId, String> {
    let Some(profile) = &rule.profile else { return Err("the guard names no profile to run".to_owned()) };
    let GuardRuns { are_allowed, run_id, planned } = &facts.guard_runs;
    if !are_allowed {
        return Err(format!(
            "profile `{profile}` runs only with `[guards] allow_block = true` in config.toml, allowed by a human with `hm trust --rules`"
        ));
    }
    let key = key_of(rule.id, id, session);
    if let Some(run) = state.guards().run_of(&key) {
        return Err(format!("run {run} of this guard was about it in this session already"));
    }
    let (Some(run_id), Some(planned), Some(claim)) = (run_id, planned.get(profile), state.claim(id)) else {
        return Err(experiment::no_profiles().message);
    };
    let planned = planned.as_ref().map_err(|refused| refused.message.clone())?;
    let seen = (&facts.checkout, &facts.versions);
    let (events, meaning) = experiment::by_guard(state, (id, claim), (*run_id, planned), seen, key, policy)?;
    decision.events.extend(events);
    decision.meaning = Some(match decision.meaning.take() {
        Some(other) => format!("{other}; of run {run_id}: {meaning}"),
        None => meaning,
    });
    decision.next = Some(format!("how it goes: `hivemind://experiments/{run_id}`"));
    Ok(*run_id)
}

/// The key under which a guard asks for one run.
fn key_of(guard: GuardId, claim: ClaimId, session: Option<&SessionId>) -> IdempotencyKey {
    let session = session.map_or("-", SessionId::as_str);
    let key = format!("guard-block:{guard}:{claim}:{session}");
    // The longest name of a session has room only in part.
    let key: String = key.chars().take(IdempotencyKey::MAX_CHARS).collect();
    key.trim_end().parse().expect("ids and the name of a session are one line")
}

/// Makes a contested claim wait for the run that was just asked for, if that run can settle it. Whether it waits.
fn wait_for_run(state: &State, command: &Command, facts: &Facts, decision: &mut Accepted) -> bool {
    let Command::RunExperiment(RunExperiment {
        claim_id: Some(id), blocking: false, run_id, prediction, ..
    }) = command
    else {
        return false;
    };
    let (Some(claim), Some(planned)) = (state.claim(*id), &facts.run) else { return false };
    // Only the owner says that its claim predicts a failure.
    let prediction = prediction.unwrap_or(Prediction::Passes);
    let settles = prediction == Prediction::Passes
        && planned.cannot_settle(&claim.scopes, prediction).is_none()
        && versions::no_file_of(claim, &facts.versions).is_none();
    let only_mentions = |event: &Event| matches!(event, Event::ExperimentQueued(queued) if queued.unfit.is_some() || queued.unsaid.is_some());
    if claim.status != Status::Contested || !settles || decision.events.iter().any(only_mentions) {
        return false;
    }
    for event in &mut decision.events {
        if let Event::ExperimentQueued(queued) = event {
            queued.blocking = true;
        }
    }
    let last = planned.further_runs.last().unwrap_or(run_id);
    decision.events.push(transition(
        *id,
        claim.status,
        Status::PendingProof,
        &format!("waits for run {last}"),
    ));
    true
}

/// What a write is about, and the id of the claim or run that it makes. A challenge makes none. `contested` is the claim
/// that is contested after the write.
fn subject_of(
    state: &State,
    command: &Command,
    contested: Option<ClaimId>,
) -> Option<(Subject, Option<Uuid>)> {
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
        return Some((of(Moment::ClaimCreated, Some(claim), None), Some(create.claim_id.uuid())));
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
        return Some((subject, Some(record.claim_id.uuid())));
    }
    if let Command::RunExperiment(RunExperiment { run_id, claim_id, profile, args, .. }) = command {
        let claim = claim_id.and_then(known);
        let about = claim.map(|claim| (claim.claim_type, claim.statement(), claim.scopes.as_slice()));
        let mut subject = of(Moment::ExperimentQueued, about, claim.map(|claim| claim.status));
        let args = args.iter().map(|(name, value)| format!(" {name}={value}"));
        subject.text = format!("{profile}{} {}", args.collect::<String>(), subject.text);
        return Some((subject, Some(run_id.uuid())));
    }
    if let Command::TakePosition(TakePosition { reason, .. }) = command {
        let claim = known(contested?)?;
        let about = (claim.claim_type, claim.statement(), claim.scopes.as_slice());
        let mut subject = of(Moment::PositionTaken, Some(about), Some(Status::Contested));
        subject.text = format!("{} {}", subject.text, reason.as_ref().map_or("", Reason::as_str));
        return Some((subject, None));
    }
    None
}

fn one(event: Event) -> Accepted {
    Accepted { events: vec![event], ..Accepted::default() }
}

#[cfg(test)]
mod tests;
