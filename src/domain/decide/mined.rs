//! The rules of mined proposals: `system` proposes, and only others accept. It never confirms anything.

use super::{Accepted, contradiction, merge, transition};
use crate::domain::action::quoted;
use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, Share, Status};
use crate::domain::command::{AcceptPlaybook, DismissPlaybook};
use crate::domain::event::{
    ClaimCreated, ErrorCounted, ErrorReflected, Event, PlaybookAccepted, PlaybookDismissed, PlaybookFollowed,
    PlaybookProposed,
};
use crate::domain::ids::{ClaimId, PlaybookId};
use crate::domain::names::Sort;
use crate::domain::playbook::{Found, Tried, are_alike, changes, followed};
use crate::domain::reflection::{Cause, Cluster};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::scope::Scope;
use crate::domain::state::{Playbook, PlaybookStatus, State};
use crate::domain::text::{ErrorSignature, Statement};
use crate::domain::time::Timestamp;

/// The causes, each with the end of the statement that names it.
const CAUSES: [(Cause, &str); 2] = [
    (Cause::Structural, "the code causes it, and it comes back until the code changes"),
    (Cause::Environmental, "the environment causes it, and the same code also passes"),
];

/// What a miner found.
#[derive(Debug, Clone, PartialEq)]
pub enum Mined {
    /// A sequence of steps that ended well.
    Playbook(Found),
    /// A task that ended.
    Ended(Tried),
    /// What was seen of an error.
    Error(Cluster),
    /// Two claims that say the same.
    Twins(ClaimId, ClaimId),
}

/// The events that a finding gives. Empty if the ledger has them already. `ids` mints ids of new entities.
pub fn mined(state: &State, mined: &Mined, ids: &mut dyn FnMut() -> uuid::Uuid) -> Vec<Event> {
    match mined {
        Mined::Playbook(found) => proposed(state, found, ids).into_iter().collect(),
        Mined::Ended(tried) => counted(state, tried),
        Mined::Error(cluster) => match state.mined().reflection(&cluster.error) {
            Some(_) => recounted(state, cluster),
            None => hypotheses(state, cluster, ids),
        },
        Mined::Twins(one, other) => merge::proposed(state, *one, *other).into_iter().collect(),
    }
}

fn proposed(state: &State, found: &Found, ids: &mut dyn FnMut() -> uuid::Uuid) -> Option<Event> {
    let is_known = state.mined().playbooks().any(|(_, known)| are_alike(&known.steps, &found.steps));
    (!is_known).then(|| {
        PlaybookProposed {
            playbook_id: PlaybookId::from_uuid(ids()),
            steps: found.steps.clone(),
            evidence: found.evidence.clone(),
            tasks: found.tasks.clone(),
            of: found.of,
            sessions: found.sessions,
            days: found.days,
        }
        .into()
    })
}

/// The accepted playbooks that a task followed and that did not count it yet. A task that ended before the acceptance
/// is evidence of the proposal.
fn counted(state: &State, tried: &Tried) -> Vec<Event> {
    let accepted = state.mined().playbooks().filter(|(id, playbook)| {
        matches!(playbook.status, PlaybookStatus::Accepted(at) if at < tried.ended_seq)
            && !state.mined().has_counted(*id, tried.task)
    });
    accepted
        .filter_map(|(playbook_id, playbook)| {
            let evidence = followed(&playbook.steps, &tried.steps)?;
            Some(
                PlaybookFollowed { playbook_id, task_id: tried.task, helpful: tried.is_done, evidence }
                    .into(),
            )
        })
        .collect()
}

/// Two competing hypotheses about an error that no claim covers.
fn hypotheses(state: &State, cluster: &Cluster, ids: &mut dyn FnMut() -> uuid::Uuid) -> Vec<Event> {
    let Ok(error) = cluster.error.parse::<ErrorSignature>() else { return Vec::new() };
    if !cluster.is_enough() || is_covered(state, &cluster.error) {
        return Vec::new();
    }
    let counts = cluster.first_counts();
    let mut causes = CAUSES;
    // The one with more for it comes first.
    causes.sort_by(|(one, _), (other, _)| counts.confidence(*other).total_cmp(&counts.confidence(*one)));
    let (mut events, mut of) = (Vec::new(), std::collections::BTreeMap::new());
    for (cause, why) in &causes {
        let claim_id = ClaimId::from_uuid(ids());
        of.insert(*cause, claim_id);
        let command = quoted(&cluster.command, 200);
        let printed = quoted(cluster.said.as_deref().unwrap_or(error.as_str()), 200);
        let said = format!("`{command}` fails with \"{printed}\": {why}");
        let Ok(statement) = said.parse::<Statement>() else { return Vec::new() };
        let confidence = counts.confidence(*cause);
        events.push(
            ClaimCreated {
                claim_id,
                statement,
                claim_type: ClaimType::Hypothesis,
                event_type: None,
                scopes: ".".parse().into_iter().collect(),
                confidence: Share::try_from(confidence).unwrap_or_default(),
                supersedes: None,
                ttl_hours: None,
                trigger: None,
                origin_task_id: None,
                mends: false,
                versions: Default::default(),
                seen_in: None,
                asks: Vec::new(),
                tells: Vec::new(),
                objection_until: None,
            }
            .into(),
        );
    }
    let (Some(&structural), Some(&environmental)) =
        (of.get(&Cause::Structural), of.get(&Cause::Environmental))
    else {
        return Vec::new();
    };
    let reflected = ErrorReflected {
        error: error.clone(),
        structural,
        environmental,
        evidence: cluster.evidence(),
        upto: cluster.last(),
    };
    events.push(reflected.into());
    if !counts.is_empty() {
        events.push(ErrorCounted { error, counts, upto: cluster.last() }.into());
    }
    events
}

/// Whether a claim in force is about the error.
fn is_covered(state: &State, error: &str) -> bool {
    state.claims().any(|(_, claim)| {
        let trigger = claim.trigger().and_then(|trigger| trigger.error_signature.as_ref());
        let is_about =
            trigger.is_some_and(|known| known.as_str() == error) || claim.statement().contains(error);
        is_about && claim.status != Status::Deprecated
    })
}

/// Counts the later events of an error once, and ends the hypotheses that they contradict.
fn recounted(state: &State, cluster: &Cluster) -> Vec<Event> {
    let Some(known) = state.mined().reflection(&cluster.error) else { return Vec::new() };
    let (later, Ok(error)) = (cluster.after(known.upto), cluster.error.parse::<ErrorSignature>()) else {
        return Vec::new();
    };
    if later.is_empty() {
        return Vec::new();
    }
    let counts = known.counts.plus(later);
    let mut events = vec![ErrorCounted { error, counts, upto: cluster.last() }.into()];
    for (cause, _) in CAUSES {
        let id = known.of(cause);
        // What the quorum confirmed, only agents end.
        let is_proposal = state.claim(id).is_some_and(|claim| claim.status == Status::Proposed);
        if counts.falsifies(cause) && is_proposal {
            events.push(transition(id, Status::Proposed, Status::Deprecated, "a later event contradicts it"));
            events.extend(contradiction::ended_by_expiry(state, id));
        }
    }
    events
}

/// The playbook in use whose steps change files at these places. Of several, the one that helped most.
pub(super) fn fitting(state: &State, places: &[Scope], now: Timestamp) -> Option<PlaybookId> {
    let fits = |playbook: &Playbook| playbook.is_in_use(now) && changes(&playbook.steps, places);
    let all = state.mined().playbooks().filter(|(_, playbook)| fits(playbook));
    all.max_by_key(|(id, playbook)| (playbook.gain(), std::cmp::Reverse(*id))).map(|(id, _)| id)
}

fn playbook(state: &State, id: PlaybookId) -> Result<&Playbook, Rejection> {
    state
        .mined()
        .playbook(id)
        .ok_or_else(|| Sort::Playbook.unknown(format!("no playbook has the id {id}"), &[]))
}

pub(super) fn refuse_system(agent: &AgentId) -> Result<(), Rejection> {
    if *agent == AgentId::system() {
        let why = "system proposes, and others accept or dismiss";
        return Err(Rejection::new(Code::NotAllowed, why, "leave it to an agent or the operator"));
    }
    Ok(())
}

pub(super) fn accept(
    state: &State,
    agent: &AgentId,
    command: &AcceptPlaybook,
) -> Result<Accepted, Rejection> {
    refuse_system(agent)?;
    let playbook_id = command.playbook_id;
    match playbook(state, playbook_id)?.status {
        PlaybookStatus::Proposed | PlaybookStatus::Dismissed => {
            let next = "agents with a like task see it from now on; `hm playbook export --to DIR` writes it as a skill";
            let events = vec![PlaybookAccepted { playbook_id }.into()];
            Ok(Accepted { events, next: Some(next.to_owned()), ..Accepted::default() })
        }
        PlaybookStatus::Accepted(_) => Err(Rejection::new(
            Code::Duplicate,
            format!("playbook {playbook_id} is accepted already"),
            "nothing to do: contexts show it",
        )),
    }
}

pub(super) fn dismiss(
    state: &State,
    agent: &AgentId,
    command: &DismissPlaybook,
) -> Result<Accepted, Rejection> {
    refuse_system(agent)?;
    let DismissPlaybook { playbook_id, reason } = command.clone();
    match playbook(state, playbook_id)?.status {
        PlaybookStatus::Proposed | PlaybookStatus::Accepted(_) => {
            let events = vec![PlaybookDismissed { playbook_id, reason }.into()];
            Ok(Accepted { events, ..Accepted::default() })
        }
        PlaybookStatus::Dismissed => Err(Rejection::new(
            Code::Duplicate,
            format!("playbook {playbook_id} is dismissed already"),
            "nothing to do: it is shown to no agent",
        )),
    }
}

#[cfg(test)]
mod tests;
