//! What is said to a session between its packs: what others did since, what it leaves open, who is around.

use std::collections::{BTreeMap, BTreeSet};

use super::context::{ContextOf, anchor, anti_pattern, claim_for, contradiction, places_of, question};
use super::{DEFAULT_LIMIT, ViewError};
use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, Status};
use crate::domain::event::Event;
use crate::domain::ids::{ClaimId, TaskId};
use crate::domain::text::AnchorKey;
use crate::domain::time::Timestamp;
use crate::ledger;
use crate::pack::{self, Attention, Changes, ClaimChange, Gate, Presence, TaskMove};
use crate::reads::Reads;
use crate::store::{ClaimFilter, ClaimSummary, ContradictionFilter, Reader, StoreError};

/// Events of each kind that are looked at, the latest: what is longer ago stands in the context of the next start.
const MAX_EVENTS: usize = 100;
/// The kinds of events that are news: what hooks see of tools would push them out.
const NEWS: [&str; 10] = [
    "anchor.saved",
    "claim.created",
    "claim.status_changed",
    "claim.superseded",
    "contradiction.detected",
    "intent.declared",
    "task.added",
    "task.claimed",
    "task.released",
    "task.updated",
];

/// What happened, by what it happened to.
#[derive(Debug, Default)]
struct Seen {
    /// Claims, with the status each had before; none for a new one.
    claims: BTreeMap<ClaimId, Option<Status>>,
    /// Claims about which the agent is asked.
    questions: BTreeSet<String>,
    /// Contradictions, by the events that found them.
    contradictions: BTreeSet<String>,
    tasks: BTreeSet<TaskId>,
    anchors: BTreeSet<AnchorKey>,
    /// Where others said what is wanted.
    intents: BTreeSet<u64>,
}

/// What others did since a ledger position, for a session that knows everything before it, and up to where that goes;
/// empty when nothing did.
///
/// # Errors
/// [`ViewError`].
pub fn delta(
    reads: &mut Reads,
    of: &ContextOf,
    since: u64,
    now: Timestamp,
) -> Result<(String, u64), ViewError> {
    // What is appended from here on is for the next time.
    let Some(store) = reads.store()? else { return Ok((String::new(), since)) };
    let until = store.folded()?.seq;
    let Some(ledger) = reads.ledger()? else { return Ok((String::new(), since)) };
    let mut seen = Seen::default();
    let mut events = Vec::new();
    for kind in NEWS {
        let kind = Some(kind.to_owned());
        let (limit, newest) = (MAX_EVENTS, true);
        let latest = ledger::Filter { after: since, kind, limit, newest, ..ledger::Filter::default() };
        events.extend(ledger.list(&latest)?);
    }
    events.sort_by_key(|event| event.seq);
    for stored in events.iter().filter(|event| event.seq > since && event.seq <= until) {
        let ours = stored.session.as_ref().map(|session| session.as_str()) == of.session.as_deref();
        if ours && of.session.is_some() {
            continue;
        }
        let Some(event) = stored.recorded().ok().and_then(|recorded| recorded.event) else { continue };
        note(&mut seen, &event, stored, &of.agent);
    }
    let (changes, _) = reads.ask(now, |store| changes(store, of, since, &seen, now))?;
    Ok((pack::delta(&changes.unwrap_or_default(), now), until))
}

fn note(seen: &mut Seen, event: &Event, stored: &ledger::Stored, agent: &AgentId) {
    if let Event::ClaimCreated(created) = event {
        if created.asks.contains(agent) {
            seen.questions.insert(created.claim_id.to_string());
        }
        seen.claims.insert(created.claim_id, None);
    } else if let Event::ClaimSuperseded(link) = event {
        if link.asks.contains(agent) {
            seen.questions.insert(link.superseded_by.to_string());
        }
    } else if let Event::StatusChanged(change) = event {
        seen.claims.entry(change.claim_id).or_insert(Some(change.from));
    } else if let Event::ContradictionDetected(_) = event {
        seen.contradictions.insert(stored.id.to_string());
    } else if let Event::IntentDeclared(_) = event {
        seen.intents.insert(stored.seq);
    } else if let Event::AnchorSaved(saved) = event {
        seen.anchors.insert(saved.key.clone());
    } else if let Event::TaskAdded(added) = event {
        seen.tasks.insert(added.task_id);
    } else if let Event::TaskClaimed(claimed) = event {
        seen.tasks.insert(claimed.task_id);
    } else if let Event::TaskReleased(released) = event {
        seen.tasks.insert(released.task_id);
    } else if let Event::TaskUpdated(updated) = event
        && updated.from != updated.to
    {
        seen.tasks.insert(updated.task_id);
    }
}

fn changes(
    store: &Reader,
    of: &ContextOf,
    since: u64,
    seen: &Seen,
    now: Timestamp,
) -> Result<Changes, StoreError> {
    let session = of.session.as_deref();
    let (mine, places) = places_of(store, of)?;
    let mut changes = Changes {
        agent: of.agent.to_string(),
        session: of.session.clone(),
        since,
        seq: store.folded()?.seq,
        ..Changes::default()
    };
    // A session that said for itself where it looks follows no other session.
    let looking = store.trajectory(session)?.filter(|at| seen.intents.contains(&at.seq));
    changes.intent = looking.map(|at| at.intent);
    if !seen.questions.is_empty() {
        let open = store.questions(Some(of.agent.as_str()), super::MAX_LIMIT)?;
        let new = open.iter().filter(|asked| seen.questions.contains(&asked.claim.id));
        changes.questions = new.map(|asked| question(asked, now)).collect();
    }
    if !seen.contradictions.is_empty() {
        let open = ContradictionFilter { limit: DEFAULT_LIMIT, ..ContradictionFilter::default() };
        let open = store.contradictions(&open)?.contradictions.into_iter();
        let new = open.filter(|found| seen.contradictions.contains(&found.id));
        changes.attention = new.map(|both| Attention::Contradiction(contradiction(&both))).collect();
    }
    for (id, was) in seen.claims.iter().rev() {
        let wanted = ClaimFilter { id: Some(*id), limit: 1, ..ClaimFilter::default() };
        let Some(summary) = store.claims(&wanted)?.claims.pop() else { continue };
        if changes.questions.iter().any(|asked| asked.claim == summary.id) {
            continue;
        }
        let is_over = summary.status == Status::Deprecated;
        // What came and went while nobody looked is no news.
        if (is_over && was.is_none()) || *was == Some(summary.status) {
            continue;
        }
        let claim = claim_for(&summary, &mine, &places, now);
        if summary.claim_type == ClaimType::Negative && !is_over {
            // Elsewhere it warns right before the action.
            let warning = store.warnings([&summary])?;
            changes.anti_patterns.push(anti_pattern(claim, warning.get(&summary.id), &places));
        } else {
            changes.claims.push(ClaimChange { claim, was: *was });
        }
    }
    // What happened to the agent's own claims first, then what is new where it works.
    let far = |change: &ClaimChange| {
        (change.claim.by != of.agent.as_str() || change.was.is_none(), !change.claim.touches_session_files)
    };
    changes.claims.sort_by_key(far);
    for id in &seen.tasks {
        let Some(task) = store.task(*id)? else { continue };
        if task.session.is_some() && task.session.as_deref() == session {
            continue;
        }
        let (status, to) = (task.status.to_string(), task.holder);
        changes.tasks.push(TaskMove { id: task.name, title: task.title, status, from: None, to });
    }
    for key in &seen.anchors {
        changes.anchors.extend(store.anchor_history(key.as_str())?.first().map(anchor));
    }
    Ok(changes)
}

/// Claims in force that the agent made in its session and that have no evidence, the newest first. A hypothesis needs
/// none.
fn without_evidence(store: &Reader, of: &ContextOf) -> Result<Vec<ClaimSummary>, StoreError> {
    let own = ClaimFilter {
        session: of.session.clone(),
        owner: Some(of.agent.to_string()),
        in_force: true,
        limit: DEFAULT_LIMIT,
        ..ClaimFilter::default()
    };
    let mut own = store.claims(&own)?.claims;
    own.retain(|claim| claim.evidence == 0 && claim.claim_type != ClaimType::Hypothesis);
    Ok(own)
}

/// Names of the claims without evidence that the agent made in its session after ledger position `since` and up to
/// `until`, the oldest first.
///
/// # Errors
/// [`StoreError`].
pub fn unproven(store: &Reader, of: &ContextOf, since: u64, until: u64) -> Result<Vec<String>, StoreError> {
    let made = |claim: &&ClaimSummary| (since + 1..=until).contains(&claim.created_seq);
    without_evidence(store, of)?.iter().rev().filter(made).map(|claim| store.name_of(&claim.id)).collect()
}

/// What a session leaves open.
///
/// # Errors
/// [`StoreError`].
pub fn gate(store: &Reader, of: &ContextOf) -> Result<Gate, StoreError> {
    let Some(session) = of.session.as_deref() else { return Ok(Gate::default()) };
    let held = store.held_by(session)?.into_iter();
    let (active, leased): (Vec<_>, Vec<_>) =
        held.partition(|task| task.status == crate::domain::plan::TaskStatus::Active);
    let limit = DEFAULT_LIMIT;
    let pending = ClaimFilter { status: vec![Status::PendingProof], limit, ..ClaimFilter::default() };
    let pending = store.claims(&pending)?.claims.into_iter();
    Ok(Gate {
        active_tasks: active.into_iter().map(|task| task.name).collect(),
        leases: leased.into_iter().map(|task| task.name).collect(),
        without_evidence: without_evidence(store, of)?.into_iter().map(|claim| claim.id).collect(),
        pending_proofs: pending
            .filter(|claim| claim.owner == of.agent.as_str())
            .map(|claim| claim.id)
            .collect(),
    })
}

/// Who is around, and what there is to do.
///
/// # Errors
/// [`StoreError`].
pub fn presence(store: &Reader, agent: &str) -> Result<Presence, StoreError> {
    let alive = store.alive_sessions(super::MAX_LIMIT)?;
    let peers: BTreeSet<&str> =
        alive.iter().map(|session| session.agent.as_str()).filter(|peer| *peer != agent).collect();
    let open = ContradictionFilter { limit: super::MAX_LIMIT, ..ContradictionFilter::default() };
    Ok(Presence {
        agent: agent.to_owned(),
        peers: peers.len() as u64,
        contradictions: store.contradictions(&open)?.contradictions.len() as u64,
        ready: store.ready_tasks(super::MAX_LIMIT)?.len() as u64,
        ..Presence::default()
    })
}
