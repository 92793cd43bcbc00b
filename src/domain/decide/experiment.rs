//! Experiments: a run is queued, begins, ends, and says what it says about a claim.

use super::{Decision, contradiction, fresh_id, known_claim, researcher, transition};
use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::claim::{Grade, Relation, Share, Status};
use crate::domain::command::{AttachExperiment, CancelExperiment, RecordExperiment, RunExperiment};
use crate::domain::event::{
    Event, EvidenceAdded, ExperimentCancelRequested, ExperimentCompleted, ExperimentQueued, ExperimentStarted,
};
use crate::domain::experiment::{RunOutcome, RunState};
use crate::domain::ids::{ClaimId, EventId, RunId};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::state::{Claim, Run, State};
use crate::domain::versions::{self, Versions};

pub(super) fn run(state: &State, run: &RunExperiment) -> Result<Decision, Rejection> {
    fresh_id(state, "run_id", run.run_id.first_event())?;
    let Some(plan) = &run.plan else { return Err(no_profiles()) };
    let claim = run.claim_id.map(|id| known_claim(state, id)).transpose()?;
    let mut events: Vec<Event> = vec![
        ExperimentQueued {
            run_id: run.run_id,
            plan: plan.clone(),
            args: run.args.clone(),
            claim_id: run.claim_id,
            relation: run.relation,
            blocking: run.blocking,
            checkout: Checkout::default(),
            versions: Versions::new(),
        }
        .into(),
    ];
    if run.blocking {
        let (Some(claim_id), Some(claim)) = (run.claim_id, claim) else {
            return Err(Rejection::invalid("claim_id", "a blocking run is about a claim: name it"));
        };
        if plan.expect.is_none() {
            return Err(Rejection::new(
                Code::NoExpectation,
                format!("profile `{}` does not say what its exit code means", run.profile),
                "add [expect] exit = 0 to it, or leave out blocking",
            ));
        }
        if claim.status != Status::Contested {
            return Err(Rejection::new(
                Code::InvalidTransition,
                format!("claim {claim_id} is {}: only a contested claim waits for a proof", claim.status),
                "leave out blocking, or challenge the claim first",
            )
            .with("from", claim.status)
            .with("to", Status::PendingProof));
        }
        let reason = format!("waits for run {}", run.run_id);
        events.push(transition(claim_id, claim.status, Status::PendingProof, &reason));
    }
    let next = Some(format!("read hivemind://experiments/{} for how it goes", run.run_id));
    Ok(Decision { events, next, ..Decision::default() })
}

/// The refusal of a writer that was started without profiles.
pub(super) fn no_profiles() -> Rejection {
    Rejection::new(
        Code::Unavailable,
        "this writer has no profiles to run",
        "nothing was queued: restart the writer and call again",
    )
}

pub(super) fn attach(state: &State, attach: &AttachExperiment) -> Result<Decision, Rejection> {
    let run = known_run(state, attach.run_id)?;
    let claim = known_claim(state, attach.claim_id)?;
    let Some(evidence_ref) = run.completed.filter(|_| run.state.is_conclusive()) else {
        let hint = if run.state.is_over() {
            "run it again: what did not come to its end shows nothing"
        } else {
            "wait until it is over"
        };
        let message = format!("run {} is {}, which is no evidence", attach.run_id, run.state);
        return Err(Rejection::new(Code::NotAttachable, message, hint).with("run_state", run.state));
    };
    if claim.evidence.contains(&(evidence_ref, attach.relation)) {
        return Err(Rejection::new(
            Code::Duplicate,
            format!("run {} already {} claim {}", attach.run_id, attach.relation, attach.claim_id),
            "nothing to do: it is on record",
        )
        .with("evidence_ref", evidence_ref));
    }
    of_this_version(run, (attach.claim_id, claim))?;
    let grade = grade(state, run, attach.claim_id, attach.relation);
    let events = vec![
        EvidenceAdded {
            claim_id: attach.claim_id,
            evidence_ref,
            relation: attach.relation,
            weight: Share::FULL,
            note: attach.summary.clone(),
            grade: Some(grade),
        }
        .into(),
    ];
    Ok(Decision { events, ..Decision::default() })
}

pub(super) fn cancel(
    state: &State,
    agent: &AgentId,
    cancel: &CancelExperiment,
) -> Result<Decision, Rejection> {
    let run = known_run(state, cancel.run_id)?;
    if run.state.is_over() {
        return Err(Rejection::new(
            Code::InvalidTransition,
            format!("run {} is {} already", cancel.run_id, run.state),
            "nothing to do: it is over",
        )
        .with("from", run.state)
        .with("to", RunState::Canceled));
    }
    if run.requested_by != *agent && ![AgentId::architect(), AgentId::operator()].contains(agent) {
        return Err(Rejection::new(
            Code::NotAllowed,
            format!("run {} was asked for by {}", cancel.run_id, run.requested_by),
            format!("ask {} or the architect to cancel it", run.requested_by),
        ));
    }
    let mut events: Vec<Event> = vec![ExperimentCancelRequested { run_id: cancel.run_id }.into()];
    // One that waits is over with that; one under way is ended by who runs it.
    if run.state == RunState::Queued {
        let outcome = RunOutcome::without_files(RunState::Canceled, None);
        events.extend(ended(state, cancel.run_id, None, &outcome, &Versions::new()));
    }
    Ok(Decision { events, ..Decision::default() })
}

pub(super) fn record(
    state: &State,
    agent: &AgentId,
    record: &RecordExperiment,
) -> Result<Decision, Rejection> {
    fresh_id(state, "run_id", record.run_id.first_event())?;
    if *agent != AgentId::operator() {
        return Err(Rejection::new(
            Code::NotAllowed,
            "only the operator runs what no profile names",
            "run a profile with run_experiment",
        ));
    }
    let completed = ExperimentCompleted {
        run_id: record.run_id,
        profile: None,
        command: record.command.clone(),
        outcome: record.outcome.clone(),
        asserted: record.asserted,
        undecided: None,
    };
    let next =
        Some(format!("tie it to a claim: hm experiment attach {} CLAIM --relation supports", record.run_id));
    Ok(Decision { events: vec![completed.into()], next, ..Decision::default() })
}

/// The beginning of a run.
pub(crate) fn started(run_id: RunId) -> Event {
    ExperimentStarted { run_id }.into()
}

/// The end of a run, what it says about its claim, and what that does to the claim. `event_id` will be that of
/// the first event; without one the run left nothing that could be evidence.
pub(crate) fn ended(
    state: &State,
    run_id: RunId,
    event_id: Option<EventId>,
    outcome: &RunOutcome,
    files: &Versions,
) -> Vec<Event> {
    let Some(run) = state.run(run_id).filter(|run| !run.state.is_over()) else { return Vec::new() };
    let about = run.claim.and_then(|id| Some((id, state.claim(id)?)));
    let relation = outcome.state.is_conclusive().then(|| said(run, outcome)).flatten();
    let change = about.filter(|_| outcome.state.is_conclusive());
    let change = change.and_then(|(_, claim)| versions::changed_for(state, run_id, run, claim, files));
    let relation = relation.filter(|_| change.is_none());
    let undecided =
        change.as_ref().map(|change| change.to_string().parse().expect("a scope and a name are short"));
    let command = run.command.clone();
    let profile = run.profile.clone();
    let outcome_told = outcome.clone();
    let mut events: Vec<Event> = vec![
        ExperimentCompleted { run_id, profile, command, outcome: outcome_told, asserted: false, undecided }
            .into(),
    ];
    events.extend(researcher::over(state, run_id, run, outcome));
    let Some((claim_id, claim)) = about else { return events };
    if let (Some(relation), Some(evidence_ref)) = (relation, event_id) {
        let over = Run { state: outcome.state, reproducible_at: at(outcome), ..run.clone() };
        let grade = Some(grade(state, &over, claim_id, relation));
        let weight = Share::FULL;
        events.push(EvidenceAdded { claim_id, evidence_ref, relation, weight, note: None, grade }.into());
    }
    if claim.status == Status::PendingProof && claim.pending_run == Some(run_id) {
        if relation == Some(Relation::Supports) {
            let reason = format!("proof:{run_id}");
            events.push(transition(claim_id, claim.status, Status::Confirmed, &reason));
            events.extend(contradiction::ended_by_proof(state, claim_id));
        } else {
            let reason = match (relation, &change) {
                (Some(_), _) => format!("run {run_id} contradicts it"),
                (None, Some(change)) => format!("run {run_id} neither confirms nor contradicts it: {change}"),
                (None, None) => format!("run {run_id} was inconclusive: {}", outcome.state),
            };
            events.push(transition(claim_id, claim.status, Status::Contested, &reason));
        }
    }
    events
}

fn at(outcome: &RunOutcome) -> Option<String> {
    outcome.reproducible_at().map(str::to_owned)
}

/// What a run says about its claim: what its profile expects, unless who asked for it said otherwise.
fn said(run: &Run, outcome: &RunOutcome) -> Option<Relation> {
    run.relation.or_else(|| {
        run.expects?;
        Some(if outcome.state == RunState::Succeeded { Relation::Supports } else { Relation::Contradicts })
    })
}

/// A run is observed, unless only the word of its recorder stands for it; it reproduces when another agent's run of the same on the same commit, tied to the same
/// claim in the same way, came out alike.
fn grade(state: &State, run: &Run, claim_id: ClaimId, relation: Relation) -> Grade {
    if run.asserted {
        return Grade::Asserted;
    }
    let alike = |other: &Run| {
        other.requested_by != run.requested_by
            && other.what == run.what
            && other.state == run.state
            && other.reproducible_at == run.reproducible_at
    };
    let evidence = state.claim(claim_id).into_iter().flat_map(|claim| &claim.evidence);
    let mut others = evidence
        .filter(|(_, said)| *said == relation)
        .filter_map(|(event, _)| state.run_that_ended_with(*event));
    if run.reproducible_at.is_some() && others.any(alike) { Grade::Reproduced } else { Grade::Observed }
}

/// The grade of an event as evidence; none where it ended no run.
pub(super) fn grade_of(
    state: &State,
    event: EventId,
    claim_id: ClaimId,
    relation: Relation,
) -> Result<Option<Grade>, Rejection> {
    let Some(run) = state.run_that_ended_with(event) else {
        return Ok(None);
    };
    if !run.state.is_conclusive() && relation != Relation::CausedBy {
        return Err(Rejection::new(
            Code::NotAttachable,
            format!("event {event} ended a run that is {}, which is no evidence", run.state),
            "run it again: what did not come to its end shows nothing",
        ));
    }
    if let Some(claim) = state.claim(claim_id).filter(|_| relation != Relation::CausedBy) {
        of_this_version(run, (claim_id, claim))?;
    }
    Ok(Some(grade(state, run, claim_id, relation)))
}

/// Fails for a run that saw other content than the claim is about.
fn of_this_version(run: &Run, (id, claim): (ClaimId, &Claim)) -> Result<(), Rejection> {
    let Some(why) = versions::changed_for_evidence(run, id, claim) else { return Ok(()) };
    Err(Rejection::new(
        Code::NotAttachable,
        format!("the run `{}` is about another version of claim {id}: {why}", run.command),
        versions::way_forward(id),
    ))
}

fn known_run(state: &State, id: RunId) -> Result<&Run, Rejection> {
    state.run(id).ok_or_else(|| {
        Rejection::new(
            Code::UnknownRun,
            format!("no run has the id {id}"),
            "take the id from a receipt or from hivemind://experiments",
        )
    })
}
