//! Sessions: their start and end, their dialogue, their hand-over, and the beliefs of their agents.

use std::collections::BTreeSet;

use serde_json::json;

use super::{Accepted, fresh_id, known_claim, lock};
use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::claim::{Position, Status};
use crate::domain::command::{
    Observe, RecordFiring, RecordRecall, RecordTurn, RetireAnchor, SaveAnchor, Seen, SplitSession,
    StartSession,
};
use crate::domain::event::{
    AnchorRetired, AnchorSaved, BeliefsSnapshotted, Event, Guard, GuardFired, MemoryRecalled, SessionEnded,
    SessionSplit, SessionStarted, TaskClaimed, TaskUpdated, Turn0Continued, TurnRecorded,
};
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::memory::MAX_RECALLED;
use crate::domain::plan::{Hold, ReleaseCause, TaskStatus};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::session::{Belief, EndCause, MAX_BELIEFS, Stance, VANISHED_AFTER_MINUTES};
use crate::domain::state::State;
use crate::domain::time::Timestamp;
use crate::domain::way;

/// Maximum size of a hand-over in one event, in bytes. Together with one more message of 2,000 characters, escaped in
/// any way, the event stays below the 32 KiB of a payload.
const MAX_TURN0_BYTES: usize = 16 * 1024;

/// The most tasks that the receipt of a split names. `hivemind://sessions/CHILD` lists all of them.
const MAX_NAMED: usize = 10;

pub(super) fn start(
    state: &State,
    session: Option<&SessionId>,
    start: &StartSession,
) -> Result<Accepted, Rejection> {
    let session = named(session)?.clone();
    let StartSession { source, client, parent_session } = start.clone();
    if parent_session.as_ref() == Some(&session) {
        return Err(Rejection::invalid("parent_session", "a session is not its own parent"));
    }
    if let Some(parent) = parent_session.as_ref().filter(|parent| !state.work().has_started(parent)) {
        return Err(Rejection::new(
            Code::UnknownSession,
            format!("no session {parent} has ever started"),
            "take the parent's id from `hivemind://sessions`, or leave parent_session out",
        ));
    }
    let checkout = Checkout::default();
    Ok(one(SessionStarted { session, source, client, parent_session, checkout }.into()))
}

pub(super) fn end(
    state: &State,
    agent: &AgentId,
    session: Option<&SessionId>,
) -> Result<Accepted, Rejection> {
    let session = named(session)?;
    let holds = state.work().held_by(session).next().is_some() || state.work().locks().contains_key(session);
    if state.work().session(session).is_none() && !holds {
        return Err(Rejection::new(
            Code::UnknownSession,
            format!("session {session} is not under way"),
            "nothing to do: it has ended, or never started",
        ));
    }
    Ok(Accepted { events: ending(state, agent, session, EndCause::Ended), ..Accepted::default() })
}

/// The events at the end of a session: the agent's beliefs, the release of its tasks, and the end itself.
pub(super) fn ending(state: &State, agent: &AgentId, session: &SessionId, cause: EndCause) -> Vec<Event> {
    let mut events = Vec::new();
    let beliefs = beliefs(state, agent);
    if !beliefs.is_empty() {
        let session = Some(session.clone());
        events.push(BeliefsSnapshotted { agent: agent.clone(), session, beliefs }.into());
    }
    let held = state.work().held_by(session);
    events.extend(held.filter_map(|(task, _)| state.work().freed(task, ReleaseCause::SessionEnded)));
    events.push(SessionEnded { session: session.clone(), cause }.into());
    events
}

/// Ends each session that was silent for too long, and releases each task with an expired lease.
pub fn overdue(state: &State, now: Timestamp) -> Vec<Vec<Event>> {
    let expired = state.work().held().filter(|(_, hold)| hold.until < now);
    let freed = expired.filter_map(|(task, _)| state.work().freed(task, ReleaseCause::Expired));
    let mut ends: Vec<Vec<Event>> = freed.map(|event| vec![event]).collect();
    let limit_ms = VANISHED_AFTER_MINUTES * 60_000;
    // A researcher with an unfinished run is not vanished, even if it is silent. The end of its run ends its session.
    let at_work: BTreeSet<&SessionId> = state
        .unfinished_runs()
        .filter_map(|(_, run)| run.researcher.as_ref())
        .map(|researcher| &researcher.session)
        .collect();
    // A lock lasts until a time that its session chose. Its work may take that long without a write.
    let locks = |id: &SessionId| state.work().locks_of(id).any(|(_, lock)| lock.until >= now);
    let vanished = state.work().sessions().filter(|(id, session)| {
        now.ms() - session.last_seen.ms() > limit_ms && !at_work.contains(id) && !locks(id)
    });
    ends.extend(vanished.map(|(id, session)| {
        let mut events = ending(state, &session.agent, id, EndCause::Vanished);
        // Expired tasks are released above already.
        events.retain(|event| {
            let Event::TaskReleased(released) = event else { return true };
            let hold = state.work().task(released.task_id).and_then(|task| task.hold.as_ref());
            hold.is_some_and(|hold| hold.until >= now)
        });
        events
    }));
    ends
}

/// The beliefs of an agent about claims in force, the most confident first.
fn beliefs(state: &State, agent: &AgentId) -> Vec<Belief> {
    let in_force = state.claims().filter(|(_, claim)| claim.status != Status::Deprecated);
    let mut beliefs: Vec<Belief> = in_force
        .filter_map(|(id, claim)| {
            let stance = match claim.positions.get(agent) {
                Some(Position::Challenge) => Stance::Disbelieves,
                Some(Position::Support) => Stance::Believes,
                Some(Position::Abstain) | None if claim.owner == *agent => Stance::Believes,
                Some(Position::Abstain) | None => return None,
            };
            Some(Belief(id, claim.confidence, stance))
        })
        .collect();
    beliefs.sort_by(|one, other| other.1.get().total_cmp(&one.1.get()).then(other.0.cmp(&one.0)));
    beliefs.truncate(MAX_BELIEFS);
    beliefs
}

pub(super) fn snapshot(
    state: &State,
    agent: &AgentId,
    session: Option<&SessionId>,
) -> Result<Accepted, Rejection> {
    let beliefs = beliefs(state, agent);
    if beliefs.is_empty() {
        return Err(Rejection::new(
            Code::Duplicate,
            format!("{agent} owns, supports and challenges no claim in force"),
            "nothing to write down yet: create or support a claim first",
        ));
    }
    Ok(one(BeliefsSnapshotted { agent: agent.clone(), session: session.cloned(), beliefs }.into()))
}

pub(super) fn record_turn(session: Option<&SessionId>, turn: &RecordTurn) -> Result<Accepted, Rejection> {
    named(session)?;
    Ok(one(TurnRecorded { role: turn.role, text: turn.text.clone(), told: turn.told }.into()))
}

pub(super) fn save_anchor(state: &State, anchor: &SaveAnchor) -> Result<Accepted, Rejection> {
    let SaveAnchor { key, value, user } = anchor.clone();
    if state.work().anchor(user.as_ref(), &key) == Some(&value) {
        return Err(Rejection::new(
            Code::Duplicate,
            format!("anchor {key} holds exactly that already"),
            "nothing to do: it is on record",
        ));
    }
    Ok(one(AnchorSaved { key, value, user }.into()))
}

pub(super) fn retire_anchor(state: &State, retire: &RetireAnchor) -> Result<Accepted, Rejection> {
    let RetireAnchor { key, user } = retire.clone();
    if state.work().anchor(user.as_ref(), &key).is_none() {
        return Err(Rejection::new(
            Code::UnknownNode,
            match &user {
                Some(user) => format!("no anchor {key} holds anything in the space of {user}"),
                None => format!("no anchor {key} holds anything in the space of the project"),
            },
            match user {
                Some(_) => "take the key and its space from `hivemind://anchors`".to_owned(),
                None => format!(
                    "take the key and its space from `hivemind://anchors`; one in the space of a user: {}",
                    way::call("retire_anchor", &json!({ "key": key, "space": "user" }))
                ),
            },
        ));
    }
    Ok(one(AnchorRetired { key, user }.into()))
}

/// Splits a session. Its tasks and locks go to the child, which continues the work.
pub(super) fn split(
    state: &State,
    session: Option<&SessionId>,
    split: &SplitSession,
    now: Timestamp,
) -> Result<Accepted, Rejection> {
    let parent = named(session)?;
    if !state.seats().knows(parent) {
        return Err(Rejection::new(
            Code::UnknownSession,
            format!("nothing was ever heard of session {parent}, so it has nothing to hand over"),
            "name the session that is to be split (HM_SESSION): `hivemind://sessions` lists them",
        ));
    }
    let mut decision = handed_over(state, session, split)?;
    let mut over: Vec<TaskId> = Vec::new();
    let held = state.work().held_by(named(session)?).filter(|(_, hold)| hold.until >= now);
    for (task_id, Hold { token, lease_minutes, file_locks, worktree, .. }) in held {
        decision.events.extend(state.work().freed(task_id, ReleaseCause::GivenBack));
        let child = split.child.clone();
        let (token, lease_minutes) = (token + 1, *lease_minutes);
        let (file_locks, worktree) = (file_locks.clone(), worktree.clone());
        let claimed = TaskClaimed { task_id, session: child, token, lease_minutes, file_locks, worktree };
        decision.events.push(claimed.into());
        // A claimed task becomes active, so a blocked task is blocked again. Its obstacle is still there.
        if state.work().task(task_id).is_some_and(|task| task.status == TaskStatus::Blocked) {
            let (from, to) = (TaskStatus::Active, TaskStatus::Blocked);
            decision.events.push(TaskUpdated { task_id, from, to, note: None }.into());
        }
        over.push(task_id);
    }
    decision.events.extend(lock::handed_over(state, parent, &split.child, now));
    if !over.is_empty() {
        let mut tasks: Vec<String> =
            over.iter().take(MAX_NAMED).map(|task| state.work().called(task.uuid())).collect();
        if over.len() > MAX_NAMED {
            tasks.push(format!("{} more", over.len() - MAX_NAMED));
        }
        let told =
            format!("; from now on it holds your tasks and their locks, not you: {}", tasks.join(", "));
        decision.next = decision.next.map(|next| next + &told);
    }
    Ok(decision)
}

/// Hands a session's text over to a child. The session keeps its tasks and locks.
pub(super) fn handed_over(
    state: &State,
    session: Option<&SessionId>,
    split: &SplitSession,
) -> Result<Accepted, Rejection> {
    let parent = named(session)?.clone();
    let SplitSession { child, reason, used_tokens, window_tokens, turn0 } = split.clone();
    if child == parent {
        return Err(Rejection::invalid("child", "the session that goes on is another one"));
    }
    if state.work().has_started(&child) {
        // The text at the start of a session never changes. A running session cannot get one any more.
        let message = format!("session {child} has begun: nothing can be handed to it any more");
        let hint = "split into a session that nobody has started yet; what one under way should know is a claim, a \
                    task or an anchor";
        return Err(Rejection::new(Code::InvalidArgument, message, hint).with("argument", "child"));
    }
    let next = format!(
        "start the next session with HM_SESSION={child} and give it `hivemind://sessions/{child}/turn0`"
    );
    let mut parts = turn0.parts(MAX_TURN0_BYTES).into_iter();
    let turn0 = parts.next().unwrap_or(turn0);
    let more = child.clone();
    let split = SessionSplit { parent, child, reason, used_tokens, window_tokens, turn0 };
    let mut events = vec![split.into()];
    events.extend(parts.map(|turn0| Turn0Continued { child: more.clone(), turn0 }.into()));
    Ok(Accepted { events, next: Some(next), ..Accepted::default() })
}

pub(super) fn record_firing(state: &State, firing: &RecordFiring) -> Result<Accepted, Rejection> {
    match firing.guard {
        Guard::Claim(id) => {
            known_claim(state, id)?;
        }
        Guard::Task(id) => {
            super::plan::known_task(state, id)?;
        }
        Guard::Lock(id) | Guard::Fix(id) => super::known_event(state, id)?,
        Guard::Rule(id) => super::guard::known_guard(state, id)?,
    }
    let RecordFiring { guard, matched, kind, did } = firing.clone();
    Ok(one(GuardFired { guard, matched, kind, did }.into()))
}

/// Records what a context brought to a session. The front names the items; a position without an item shows nothing.
pub(super) fn record_recall(recall: &RecordRecall) -> Result<Accepted, Rejection> {
    let RecordRecall { query, messages, recalled } = recall.clone();
    if messages.len() > MAX_RECALLED {
        let problem = format!("at most {MAX_RECALLED} messages, this has {}", messages.len());
        return Err(Rejection::invalid("messages", problem));
    }
    if recalled.len() > MAX_RECALLED {
        let problem = format!("at most {MAX_RECALLED} items, this has {}", recalled.len());
        return Err(Rejection::invalid("recalled", problem));
    }
    Ok(one(MemoryRecalled { query, messages, recalled }.into()))
}

pub(super) fn observe(state: &State, observe: &Observe) -> Result<Accepted, Rejection> {
    fresh_id(state, "event_id", observe.event_id)?;
    Ok(one(match observe.seen.clone() {
        Seen::Tool(used) => used.into(),
        Seen::Command(ran) => ran.into(),
        Seen::Files(edited) if edited.paths.is_empty() => {
            return Err(Rejection::invalid("paths", "an edit names the files"));
        }
        Seen::Files(edited) => {
            super::check_list("paths", edited.paths.len())?;
            edited.into()
        }
    }))
}

fn one(event: Event) -> Accepted {
    Accepted { events: vec![event], ..Accepted::default() }
}

fn named(session: Option<&SessionId>) -> Result<&SessionId, Rejection> {
    session.ok_or_else(|| {
        Rejection::invalid("session", "no session is named: pass it, or set HM_SESSION for this pane")
    })
}
