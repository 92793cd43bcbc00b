//! Erasure: what an operator may have forgotten, and what else there is to forget.

use super::Accepted;
use crate::domain::agent::AgentId;
use crate::domain::claim::Status;
use crate::domain::command::Forget;
use crate::domain::event::{
    Event, EventRedacted, EvidenceRetracted, ExperimentCompleted, Place, PlanAbandoned, Recorded,
    StatusChanged, TaskUpdated,
};
use crate::domain::experiment::{ERASED_COMMAND, RunOutcome};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::state::State;
use crate::domain::text::Reason;

/// The most other events that a receipt names. `hm claim show` lists all of them.
const MAX_NAMED: usize = 20;

/// The events of the ledger behind an erasure. The state does not keep event payloads.
#[derive(Debug, Clone, Default)]
pub struct Erasure {
    /// The event to erase, if the ledger has it.
    pub target: Option<Recorded>,
    /// Events of the same claim or command, and the patterns that rest on it.
    pub related: Vec<Recorded>,
}

/// Decides an erasure. The effects of an event on a claim are erased with it, except a move of its status: a claim
/// that was deprecated stays deprecated, without the reason.
///
/// # Errors
/// `not_allowed`, `unknown_evidence`, `redacted`, or `invalid_argument` where there is nothing to erase.
pub(super) fn forget(
    state: &State,
    agent: &AgentId,
    command: &Forget,
    erasure: &Erasure,
) -> Result<Accepted, Rejection> {
    let Forget { event_id, reason } = command;
    if *agent != AgentId::operator() {
        return Err(Rejection::new(
            Code::NotAllowed,
            format!("only the operator erases, and you are {agent}"),
            "ask the human, or deprecate the claim: it stays readable and is out of force",
        ));
    }
    if state.is_redacted(*event_id) {
        return Err(Rejection::new(
            Code::Redacted,
            format!("event {event_id} was erased already"),
            "nothing to do: its payload is gone",
        ));
    }
    let Some(target) = &erasure.target else {
        let nearest: Vec<String> = state.nearest_events(*event_id).iter().map(ToString::to_string).collect();
        let hint = format!("take the id from `hivemind://events`; the nearest are {}", nearest.join(", "));
        return Err(Rejection::new(
            Code::UnknownEvidence,
            format!("no event in the ledger has the id {event_id}"),
            if nearest.is_empty() { "nothing was ever written here".to_owned() } else { hint },
        ));
    };
    let Some(body) = target.event.as_ref().filter(|body| body.holds_words()) else {
        return Err(Rejection::invalid(
            "event_id",
            format!("event {event_id} holds nobody's words: there is nothing to erase"),
        ));
    };
    let redaction = EventRedacted { event_id: *event_id, seq: target.seq, reason: reason.clone() };
    let mut decision = Accepted { events: vec![redaction.into()], ..Accepted::default() };
    decision.events.extend(restated(state, target, body));
    decision.next = also(state, target, &erasure.related);
    Ok(decision)
}

/// The event without its words, if its effect must stay: a move of a status that still holds, or the end of a run,
/// which would otherwise count as running.
fn restated(state: &State, target: &Recorded, body: &Event) -> Option<Event> {
    if let Event::ExperimentCompleted(ended) = body {
        let command = ERASED_COMMAND.parse().expect("a short text");
        let interrupted = ended.outcome.interrupted;
        let outcome = RunOutcome { interrupted, ..RunOutcome::without_files(ended.outcome.state, None) };
        let undecided = ended.undecided.as_ref().map(|_| erased_reason(target));
        let restates = ended.restates.or(Some(Place { seq: target.seq, at: target.at }));
        let (key, ended) = (ended.full_key(), ended.clone());
        return Some(
            ExperimentCompleted { command, outcome, undecided, key, restates, erased: true, ..ended }.into(),
        );
    }
    if let Event::TaskUpdated(updated) = body {
        // A task that ended stays ended, without the note.
        let stands = state.work().task(updated.task_id)?.status == updated.to;
        return stands.then(|| TaskUpdated { note: None, ..updated.clone() }.into());
    }
    if let Event::EvidenceRetracted(retracted) = body {
        // Evidence that was retracted stays so. Evidence that was added again since stays.
        let link = (retracted.evidence_ref, retracted.relation);
        let is_back = state.claim(retracted.claim_id)?.evidence.contains(&link);
        let reason = erased_reason(target);
        return (!is_back).then(|| EvidenceRetracted { reason, ..retracted.clone() }.into());
    }
    if let Event::PlanAbandoned(abandoned) = body {
        let reason = erased_reason(target);
        return Some(PlanAbandoned { plan_id: abandoned.plan_id, reason }.into());
    }
    let Event::StatusChanged(moved) = body else { return None };
    let StatusChanged { claim_id, from, to, .. } = moved;
    let claim = state.claim(*claim_id)?;
    let status: Status = claim.status;
    // The proof of a claim is not an agent's text. Without it the confirmation would count as an agreement.
    let proof = claim.proof.filter(|_| *from == Status::PendingProof);
    let reason = match proof {
        Some(run) => format!("proof:{run}").parse().expect("an id is short"),
        None => erased_reason(target),
    };
    (status == *to).then(|| StatusChanged { reason, by_silence: false, ..moved.clone() }.into())
}

/// The reason of a repeated event whose own reason was erased.
fn erased_reason(target: &Recorded) -> Reason {
    let reason = format!("as event {} said, which was erased", target.seq);
    reason.parse().expect("our own reasons are short and never empty")
}

/// Other events that may repeat the erased words.
fn also(state: &State, target: &Recorded, related: &[Recorded]) -> Option<String> {
    let speaking: Vec<&Recorded> = related
        .iter()
        .filter(|event| event.id != target.id && !state.is_redacted(event.id))
        .filter(|event| event.event.as_ref().is_some_and(Event::holds_words))
        .collect();
    if speaking.is_empty() {
        return None;
    }
    let mut named: Vec<String> = speaking
        .iter()
        .take(MAX_NAMED)
        .map(|event| {
            format!("{} ({} by {})", event.id, event.event.as_ref().map_or("", Event::kind), event.agent)
        })
        .collect();
    if speaking.len() > MAX_NAMED {
        named.push(format!("and {} more", speaking.len() - MAX_NAMED));
    }
    Some(format!("forget these too if they repeat it: {}", named.join(", ")))
}
