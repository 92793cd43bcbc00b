//! Locks on scopes: the right to take one, the right to release one, and the warnings to others.

use serde_json::json;

use super::{Accepted, Speaker, check_list, target};
use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::claim::{ClaimType, ReportKind};
use crate::domain::command::{Command, LockScopes, ReleaseScopes};
use crate::domain::event::{Event, ScopesLocked, ScopesReleased};
use crate::domain::ids::SessionId;
use crate::domain::lock::{Lock, Locked, MACHINE, Notice, Purpose, because, for_task, is_same_thing};
use crate::domain::plan::{LEASE_MINUTES, MAX_LEASE_MINUTES, check_globs};
use crate::domain::receipt::{Warning, WarningCode};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::scope::{MAX_SCOPES, Scope};
use crate::domain::state::{Claim, State};
use crate::domain::text::Worktree;
use crate::domain::time::Timestamp;
use crate::domain::way;

/// The most locks of others that a receipt mentions. More would be noise.
const MAX_WARNINGS: usize = 5;

pub(super) fn lock(
    state: &State,
    (agent, session): Speaker<'_>,
    checkout: &Checkout,
    lock: &LockScopes,
    now: Timestamp,
) -> Result<Accepted, Rejection> {
    check_globs("scopes", &lock.scopes)?;
    let session = named(session)?;
    let scopes = target::canonical(state, &lock.scopes);
    if scopes.is_empty() || scopes.len() > MAX_SCOPES {
        let problem = format!("a lock is on 1 to {MAX_SCOPES} scopes, this one on {}", scopes.len());
        return Err(Rejection::invalid("scopes", problem));
    }
    let minutes = lock.minutes.unwrap_or(LEASE_MINUTES);
    if !(1..=MAX_LEASE_MINUTES).contains(&minutes) {
        let problem = format!("a lock lasts 1 to {MAX_LEASE_MINUTES} minutes, this one {minutes}");
        return Err(Rejection::invalid("minutes", problem));
    }
    let worktree = checkout.worktree.clone();
    let warnings = free(state, ((agent, Some(session)), worktree.as_ref()), &scopes, now)?;
    let held = state.work().locks_of(session).filter(|(_, lock)| lock.until >= now).map(|(scope, _)| scope);
    check_list("scopes", held.filter(|scope| !scopes.contains(scope)).count() + scopes.len())?;
    let back = way::call("lock", &json!({ "scopes": scopes, "release": true }));
    let until = now.plus_minutes(minutes);
    let locked = ScopesLocked { session: session.clone(), scopes, until, why: lock.why.clone(), worktree };
    let next = Some(format!("it is yours until {until}; give it back when you are done: {back}"));
    Ok(Accepted { events: vec![locked.into()], warnings, next, ..Accepted::default() })
}

pub(super) fn release(
    state: &State,
    (agent, session): Speaker<'_>,
    release: &ReleaseScopes,
    now: Timestamp,
) -> Result<Accepted, Rejection> {
    let wanted = target::canonical(state, &release.scopes);
    check_list("scopes", wanted.len())?;
    if wanted.is_empty() {
        named(session)?;
    }
    let may_end_any = [AgentId::architect(), AgentId::operator()].contains(agent);
    // Without scopes, all locks of this session; otherwise the named scopes, in any session of the agent.
    let is_meant = |there: &SessionId, scope: &Scope| {
        if wanted.is_empty() { session == Some(there) } else { wanted.iter().any(|one| one.covers(scope)) }
    };
    let mine = |there: &SessionId, lock: &Lock| {
        may_end_any || lock.agent == *agent || state.holds((agent, session), (&lock.agent, there))
    };
    let mut events: Vec<Event> = Vec::new();
    let mut of_another = None;
    for (there, locks) in state.work().locks() {
        let meant = locks.iter().filter(|(scope, lock)| lock.until >= now && is_meant(there, scope));
        let (own, others): (Vec<_>, Vec<_>) = meant.partition(|(_, lock)| mine(there, lock));
        of_another = of_another.or_else(|| others.first().map(|(scope, lock)| (there, *scope, *lock)));
        let scopes: Vec<Scope> = own.into_iter().map(|(scope, _)| scope.clone()).collect();
        if !scopes.is_empty() {
            events.push(ScopesReleased { session: there.clone(), scopes }.into());
        }
    }
    if !events.is_empty() {
        return Ok(Accepted { events, ..Accepted::default() });
    }
    let Some((there, scope, lock)) = of_another else {
        let hint =
            "nothing to do; `hivemind://plan` lists what is locked, and a task's locks end with its hold";
        return Err(Rejection::new(Code::Duplicate, "none of it is locked by you", hint));
    };
    let (holder, until) = (&lock.agent, lock.until);
    Err(Rejection::new(
        Code::NotAllowed,
        format!("{holder} holds {scope} {} until {until}", because(lock.why.as_str())),
        format!("ask {holder} to give it back, or the architect or the operator to end it; or wait"),
    )
    .with("holder", holder)
    .with("session", there)
    .with("until", until.ms()))
}

fn named(session: Option<&SessionId>) -> Result<&SessionId, Rejection> {
    session.ok_or_else(|| Rejection::invalid("session", "a lock is held by a session, and none is named"))
}

/// Moves the locks of a session to its child, as a release and a new lock for each.
pub(super) fn handed_over(
    state: &State,
    parent: &SessionId,
    child: &SessionId,
    now: Timestamp,
) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    for (scope, lock) in state.work().locks_of(parent).filter(|(_, lock)| lock.until >= now) {
        let scopes = vec![scope.clone()];
        let Lock { until, why, worktree, .. } = lock.clone();
        events.push(ScopesReleased { session: parent.clone(), scopes: scopes.clone() }.into());
        events.push(ScopesLocked { session: child.clone(), scopes, until, why, worktree }.into());
    }
    events
}

/// Refuses scopes locked by another session in this work tree. Warns of locks in other work trees: their files are
/// different files, and conflict at a merge only.
pub(super) fn free(
    state: &State,
    (speaker, worktree): (Speaker<'_>, Option<&Worktree>),
    scopes: &[Scope],
    now: Timestamp,
) -> Result<Vec<Warning>, Rejection> {
    let others = state.work().locked(now).filter(|locked| !is_own(state, speaker, locked));
    let mut warnings = Vec::new();
    for locked in others.filter(|locked| locked.scope.is_at(scopes)) {
        if is_here(&locked, worktree) {
            return Err(refused(state, speaker, &locked, now));
        }
        warnings.push(warning(state, &locked, worktree, now));
    }
    warnings.truncate(MAX_WARNINGS);
    Ok(warnings)
}

/// Warnings about locks of other agents on the scopes of a command.
pub(super) fn warnings(
    state: &State,
    speaker: Speaker<'_>,
    checkout: &Checkout,
    command: &Command,
    now: Timestamp,
) -> Vec<Warning> {
    let about = about(state, command);
    let worktree = checkout.worktree.as_ref();
    let is_others = |locked: &Locked<'_>| locked.agent != speaker.0 && !is_own(state, speaker, locked);
    // A lock in another work tree is a conflict at a merge. Only an edit can cause it, so only an edit is warned of it.
    let edits = matches!(command, Command::ReportEvent(_));
    let is_told = |locked: &Locked<'_>| {
        edits || is_here(locked, worktree) || decides(command) && !has_decided(state, speaker, locked.scope)
    };
    // Compares the scopes with the locks in one pass. Most writes meet no lock.
    let met = state.work().locked(now).filter(is_others).filter(|locked| locked.scope.is_at(&about));
    let met = met.filter(is_told);
    met.take(MAX_WARNINGS).map(|locked| warning(state, &locked, worktree, now)).collect()
}

/// The scopes of a command. The whole workspace overlaps every lock, so it is left out.
fn about(state: &State, command: &Command) -> Vec<Scope> {
    let mut about = Vec::new();
    if let Command::CreateClaim(create) = command {
        // Only decisions count. A claim of another type about a file does not change the file.
        if create.claim_type == ClaimType::Decision {
            about.clone_from(&create.scopes);
        }
    } else if let Command::RecordDecision(record) = command {
        about.extend(record.target.iter().chain(&record.scopes).cloned());
        about.extend(state.claim(record.claim_id).into_iter().flat_map(|claim| claim.scopes.clone()));
    } else if let Command::ReportEvent(report) = command {
        if report.kind == ReportKind::FileEdited {
            about.clone_from(&report.paths);
        }
    } else if let Command::RunExperiment(run) = command {
        about.extend(
            run.claim_id.and_then(|id| state.claim(id)).into_iter().flat_map(|claim| claim.scopes.clone()),
        );
        about.push(MACHINE.parse().expect("a tag"));
    }
    about.retain(|scope| !scope.is_whole());
    target::canonical(state, &about)
}

const fn decides(command: &Command) -> bool {
    matches!(command, Command::CreateClaim(_) | Command::RecordDecision(_))
}

/// Whether the session recorded a decision about the scope before. The receipt of that decision named the lock.
fn has_decided(state: &State, (agent, session): Speaker<'_>, scope: &Scope) -> bool {
    let is_about = |claim: &Claim| {
        let is_sessions = claim.owner == *agent && claim.session.as_ref() == session;
        is_sessions && claim.claim_type == ClaimType::Decision && scope.is_at(&claim.scopes)
    };
    state.claims().any(|(_, claim)| is_about(claim))
}

fn is_own(state: &State, speaker: Speaker<'_>, locked: &Locked<'_>) -> bool {
    state.holds(speaker, (locked.agent, locked.session))
}

fn is_here(locked: &Locked<'_>, worktree: Option<&Worktree>) -> bool {
    is_same_thing(locked.scope, worktree.map(Worktree::as_str), locked.worktree.map(Worktree::as_str))
}

fn purpose(state: &State, locked: &Locked<'_>) -> String {
    match locked.purpose {
        Purpose::Task(id) => for_task(&state.work().called(id.uuid()), None),
        Purpose::Why(why) => because(why.as_str()),
    }
}

fn warning(state: &State, locked: &Locked<'_>, worktree: Option<&Worktree>, now: Timestamp) -> Warning {
    let elsewhere = (!is_here(locked, worktree)).then(|| locked.worktree.map(Worktree::as_str));
    let (holder, what) = (locked.agent.as_str(), locked.scope.as_str());
    let notice = Notice { holder, what, purpose: purpose(state, locked), until: locked.until, elsewhere };
    Warning { code: WarningCode::FileLeased, message: notice.sentence(now), claim_id: None }
}

fn refused(state: &State, (agent, _): Speaker<'_>, locked: &Locked<'_>, now: Timestamp) -> Rejection {
    let Locked { scope, agent: holder, session, until, .. } = *locked;
    let (purpose, left) = (purpose(state, locked), now.age(until));
    let (message, hint) = if holder == agent {
        (
            format!(
                "you, {agent}, hold {scope} in another session, {session}, {purpose} until {until} ({left} left)"
            ),
            format!("go on as that session (HM_SESSION={session}), or end that hold first"),
        )
    } else {
        (
            format!("{holder} holds {scope} {purpose} until {until} ({left} left)"),
            format!(
                "agree with {holder}, lock something narrower, or wait; `hivemind://plan` lists all locks"
            ),
        )
    };
    Rejection::new(Code::ScopeLocked, message, hint)
        .with("holder", holder)
        .with("session", session)
        .with("scope", scope)
        .with("why", purpose)
        .with("until", until.ms())
}
