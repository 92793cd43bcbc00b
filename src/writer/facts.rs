//! What only the writer knows about a command: the ledger's events behind an erasure, and the profiles that can settle
//! a claim.

use super::commit::Committer;
use super::profiles::Profiles;
use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::claim::{Position, Status};
use crate::domain::command::{
    AcceptGuard, Command, Forget, ForgetMany, RunExperiment, Submission, TakePosition,
};
use crate::domain::decide::{self, Accepted, Erasure, FoundItem, GuardRuns, PlannedRun, SpaceFacts, gate};
use crate::domain::event::{AnchorSaved, Event, TurnRecorded};
use crate::domain::experiment::{Prediction, ProfileName};
use crate::domain::forgetting::{Choice, Chosen, Wanted, Why};
use crate::domain::ids::{ClaimId, RunId};
use crate::domain::memory::{Authority, MemoryEvent, MemoryId, MemoryKind, Source, Space};
use crate::domain::policy::MemoryPolicy;
use crate::domain::rejection::{Code, Rejection};
use crate::domain::state::{Claim, State};
use crate::domain::text::{Statement, Worktree};
use crate::domain::versions;
use crate::ledger::{Ledger, LedgerError, Stored};
use crate::workspace::Workspace;

/// The statement of a claim in the ledger; `None` when it was erased.
pub(super) fn statement(ledger: &Ledger, id: ClaimId) -> Option<Statement> {
    let stored = ledger.event(id.creation_event()).ok()??;
    let Event::ClaimCreated(created) = stored.recorded().ok()?.event? else { return None };
    Some(created.statement)
}

/// The event that is to be erased, the events of the same command, run, claim or task, and the findings that rest
/// on it.
pub(super) fn erasure(ledger: &Ledger, asked: &Forget) -> Result<Erasure, Rejection> {
    let Forget { event_id, with_quotes, .. } = *asked;
    let recorded = |stored: &Stored| stored.recorded().ok();
    let Some(target) = ledger.event(event_id).map_err(unread)?.as_ref().and_then(recorded) else {
        return Ok(Erasure::default());
    };
    let body = target.event.as_ref();
    let run = body.and_then(Event::run_id).map(|run| run.to_string());
    let about = run.or_else(|| Some(body.and_then(Event::claim_id)?.to_string()));
    let task = body.and_then(Event::task_id).filter(|_| about.is_none());
    let mut stored = match about.or_else(|| task.map(|task| task.to_string())) {
        Some(id) => ledger.mentioning(&id).map_err(unread)?,
        None => Vec::new(),
    };
    // Some events name a task and are about another one: a task that waits for it, or a part of it.
    if task.is_some() {
        let of_it = |event: &Stored| recorded(event)?.event.as_ref().and_then(Event::task_id);
        stored.retain(|event| of_it(event) == task);
    }
    stored.extend(ledger.find_command(target.causation).map_err(unread)?);
    if let Some(Event::CommandRan(_) | Event::ToolUsed(_)) = body {
        stored.extend(findings_on(ledger, target.seq).map_err(unread)?);
    }
    stored.sort_by_key(|event| event.seq);
    stored.dedup_by_key(|event| event.seq);
    let related = stored.iter().filter_map(recorded).collect();
    let wanted = Wanted::One { id: event_id, with_quotes };
    let head = ledger.head().seq;
    let Choice { goes, stays } = ledger.to_forget(wanted, head).map_err(unread)?;
    let (mut copies, mut quotes) = (Vec::new(), Vec::new());
    for Chosen { event, why } in goes {
        match why {
            Why::Asked => {}
            Why::Related => copies.push(event),
            Why::Quotes => quotes.push(event),
        }
    }
    let quoted_by_others = stays.into_iter().map(|stays| stays.event).collect();
    Ok(Erasure { target: Some(target), related, copies, quotes, quoted_by_others, ..Erasure::default() })
}

/// The events of an erasure of many. The front showed this list.
pub(super) fn erasure_of_many(ledger: &Ledger, asked: &ForgetMany) -> Result<Erasure, Rejection> {
    let chosen = ledger.to_forget(Wanted::Many(&asked.which), asked.until).map_err(unread)?.goes;
    Ok(Erasure { chosen: chosen.into_iter().map(|chosen| chosen.event).collect(), ..Erasure::default() })
}

/// The facts for a command about spaces. Git says who the project is, so other commands get none.
pub(super) fn of_spaces(
    (ledger, workspace): (&Ledger, &Workspace),
    policy: &MemoryPolicy,
    command: &Command,
) -> Option<SpaceFacts> {
    let item = if let Command::PromoteItem(promote) = command {
        item(ledger, &promote.item)
    } else if let Command::DeclareIntent(declare) = command {
        let to = &declare.trajectory;
        to.plan_id.map(|_| ()).or(to.phase_id.map(|_| ()))?;
        None
    } else if let Command::StartPhase(_) = command {
        None
    } else {
        return None;
    };
    Some(SpaceFacts { policy: policy.clone(), project: workspace.project(), item })
}

/// A message or an anchor in the ledger, as it can be promoted. `None` when the ledger has no such text.
fn item(ledger: &Ledger, id: &MemoryId) -> Option<FoundItem> {
    let sessions = [id.owner.as_str().to_owned()];
    let (kind, sessions) = match (id.space, id.kind) {
        (Space::Session, MemoryKind::ShortTerm) => (TurnRecorded::KIND, Some(&sessions[..])),
        (Space::User, MemoryKind::Profile) => (AnchorSaved::KIND, None),
        (Space::Session, MemoryKind::Semantic | MemoryKind::Profile)
        | (Space::User, MemoryKind::ShortTerm | MemoryKind::Semantic)
        | (Space::Project | Space::System, _) => return None,
    };
    let places = ledger.places(kind, sessions).ok()?;
    let seq = places.get(usize::try_from(id.n).ok()?.checked_sub(1)?)?.seq;
    let recorded = ledger.event_at(seq).ok()??.recorded().ok()?;
    let said_by = |source: Source| match source {
        Source::User => Authority::UserAsserted,
        Source::Ai | Source::Tool | Source::System => Authority::AiInferred,
    };
    let event = recorded.event?;
    if let Event::TurnRecorded(turn) = event {
        let source = Source::of_role(turn.role);
        return Some(FoundItem {
            text: turn.text.as_str().parse().ok()?,
            key: None,
            source,
            event_type: MemoryEvent::of_kind(MemoryKind::ShortTerm),
            authority: said_by(source),
            copied_from: None,
            seq,
        });
    }
    let Event::AnchorSaved(AnchorSaved { key, value, user: Some(user) }) = event else { return None };
    let source = Source::of(&recorded.agent);
    // A promoted item keeps the authority with which it crossed.
    let before = ledger.event_at(seq - 1).ok()?.and_then(|stored| stored.recorded().ok()?.event);
    let promoted = match before {
        Some(Event::MemoryPromoted(promoted)) if promoted.to_id == *id => Some(promoted),
        _ => None,
    };
    let (source, event_type, authority) = match &promoted {
        Some(of) => (of.source, of.event_type, of.authority_used),
        None => (source, MemoryEvent::of_kind(MemoryKind::Profile), said_by(source)),
    };
    (user.as_str() == id.owner.as_str()).then_some(FoundItem {
        text: value,
        key: Some(key),
        source,
        event_type,
        authority,
        copied_from: promoted.map(|of| of.from_space),
        seq,
    })
}

/// The runs by which guards may settle the claim of a command. A profile that cannot run then refuses nothing.
///
/// # Errors
/// The refusal of a new guard whose profile cannot run, or needs arguments.
pub(super) fn guard_runs(
    committer: &mut Committer,
    asked: &Submission,
    checkout: &Checkout,
) -> Result<GuardRuns, Rejection> {
    let are_allowed = committer.guards_block;
    let mut runs = GuardRuns { are_allowed, ..GuardRuns::default() };
    let Some(profiles) = &committer.profiles else { return Ok(runs) };
    if let Command::AcceptGuard(AcceptGuard { profile: Some(profile), .. }) = &asked.command {
        profiles.plan(&RunExperiment::of(profile.clone()))?;
    }
    let Some(id) = decide::contestable(&asked.command).filter(|_| are_allowed) else { return Ok(runs) };
    let Some(claim) = committer.state.claim(id) else { return Ok(runs) };
    let speaker = (&asked.agent, asked.session.as_ref());
    let planned = |profile: &ProfileName| {
        let run = RunExperiment::of(profile.clone());
        let there = profiles.in_work_tree(checkout.worktree.as_ref())?;
        let plan = there.plan(&run)?;
        let unfit = there.unfit(&run, &plan, &claim.scopes);
        // The agent of the command asks for the run, so what refuses its runs refuses this one.
        let asked = (&Command::RunExperiment(run), None);
        if let Some(denied) = gate::denied(&committer.state, speaker, asked, &committer.memory_policy) {
            return Err(denied.rejection);
        }
        let (dirs, statement) = (there.dirs(&claim.scopes), statement(&committer.ledger, id));
        Ok(PlannedRun { plan, statement, further_runs: Vec::new(), dirs, unfit })
    };
    let named = committer.state.guards().profiles();
    runs.planned = named.into_iter().map(|profile| (profile.clone(), planned(profile))).collect();
    if !runs.planned.is_empty() {
        runs.run_id = Some(RunId::from_uuid((committer.sources.ids)()));
    }
    Ok(runs)
}

/// The refusal of an erasure whose events cannot be read.
fn unread(error: LedgerError) -> Rejection {
    Rejection::new(Code::Unavailable, error.to_string(), "nothing was erased; `hm verify` tells more")
}

/// The patterns, playbooks and reflections that rest on an event. They name the commands that repeat.
fn findings_on(ledger: &Ledger, seq: u64) -> Result<Vec<Stored>, LedgerError> {
    let mut found = ledger.mentioning("\"rests_on\"")?;
    found.extend(ledger.mentioning("\"evidence\"")?);
    found.retain(|stored| {
        let event = stored.recorded().ok().and_then(|recorded| recorded.event);
        event.is_some_and(|event| event.rests_on().contains(&seq))
    });
    Ok(found)
}

/// Adds to the answer to a challenge the run that would settle the dispute, or what settles it instead if the run would see
/// other content.
pub(super) fn naming_the_run(
    mut decision: Accepted,
    state: &State,
    agent: &AgentId,
    (command, worktree): (&Command, Option<&Worktree>),
    profiles: &Profiles,
) -> Accepted {
    if let Command::TakePosition(TakePosition { claim_id, position: Position::Challenge, .. }) = command
        && let Some(claim) = state.claim(*claim_id)
        // Only a contested claim waits for a run. An override proposal does not contest a claim, and a guard may have
        // queued a run.
        && decision.events.iter().any(|event| contests(event, claim))
        && !decision.events.iter().any(|event| matches!(event, Event::ExperimentQueued(_)))
        && let said = decide::predicted(state, (*claim_id, claim), None)
        // A pass shows nothing to the owner that holds that a failure does.
        && said != Some(Prediction::Fails)
        && let Some(settling) = profiles.settling((*claim_id, claim), said)
    {
        let instead = decision.events.iter().find_map(|event| {
            let Event::PositionTaken(taken) = event else { return None };
            versions::instead_of_a_run(state, agent, taken, worktree)
        });
        let settled_by = instead.unwrap_or(settling);
        decision.next = decision.next.map(|next| format!("{next}; {settled_by}"));
    }
    decision
}

/// Adds to the refusal of a run that cannot settle its claim the profiles that can.
pub(super) fn naming_who_settles(
    refused: Rejection,
    state: &State,
    (command, worktree): (&Command, Option<&Worktree>),
    profiles: &Profiles,
) -> Rejection {
    let Command::RunExperiment(run) = command else { return refused };
    let claim = run.claim_id.and_then(|id| state.claim(id));
    match (claim, profiles.in_work_tree(worktree)) {
        // No profile settles a claim whose files are not there: the refusal says what to do.
        (Some(claim), Ok(here))
            if refused.code == Code::ProfileCannotSettle
                && !refused.details.contains_key(versions::NO_FILE) =>
        {
            here.naming_who_settles(refused, run, &claim.scopes)
        }
        _ => refused,
    }
}

/// Whether a claim is contested after an event of a challenge.
fn contests(event: &Event, claim: &Claim) -> bool {
    matches!(event, Event::StatusChanged(change) if change.to == Status::Contested)
        || (claim.status == Status::Contested && matches!(event, Event::PositionTaken(_)))
}
