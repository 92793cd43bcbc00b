//! What an agent should know: asks the read models, and hands the answers to the packer.

mod entries;
mod found;

use serde_json::{Value, json};

use super::asking::{Asked, Asking};
use super::claims::shown;
use super::{Answer, ViewError, explain, to_json};
use crate::domain::agent::AgentId;
use crate::domain::event::{Event, Recorded};
use crate::domain::ids::{ClaimId, SessionId};
use crate::domain::relevance::StaleAfter;
use crate::domain::time::Timestamp;
use crate::pack::{self, Entries};
use crate::reads::Reads;
use crate::schedule::Runs;

pub(super) use entries::{
    anchor, anti_pattern, claim_for, contradiction, entries, pack_lock, pack_peer, question, replaced_by,
};
pub(super) use found::{EXPIRES_SOON_MS, Found, about, found};

/// What a context calls a reader whose session took no seat yet: its first write takes one.
pub const UNSEATED: &str = "unseated";

/// For whom a context is, and how much of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextOf {
    /// For whom.
    pub agent: AgentId,
    /// In which session; none looks where the team looks.
    pub session: Option<String>,
    /// What it is to be about, in place of the session's intent and last prompt.
    pub intent: Option<String>,
    /// Its characters at most.
    pub budget: usize,
    /// Tokens the session has used of its window, and how many that holds, as its client reports them.
    pub window: Option<pack::Window>,
}

/// The context of an agent.
pub(super) fn answer(asking: &mut Asking<'_>, of: &ContextOf) -> Result<Answer, ViewError> {
    asking.of_store(|asked| {
        let found = found_for(asked, of);
        let text = || {
            let names = |text: &str| asked.store.shortened(text);
            let entries = entries(&found, of, asked.runs, None, asked.now);
            pack::named_pack(&entries, of.budget, asked.now, &names)
        };
        Ok(Answer::of_xml(asked.format, found.seq, || for_programs(&found, of, asked.now), text))
    })
}

/// Why the context of an agent shows what it shows, or one claim of all.
///
/// # Errors
/// [`ViewError::NotFound`] when there is no such claim.
pub(super) fn explained(
    asking: &mut Asking<'_>,
    of: &ContextOf,
    why: Option<ClaimId>,
) -> Result<Answer, ViewError> {
    asking.of_store(|asked| {
        let found = found_for(asked, of);
        let entries = entries(&found, of, asked.runs, None, asked.now);
        match why {
            None => Ok(explain::all(asked, &found, &entries, of)),
            Some(id) => explain::one(asked, &found, &entries, of, id),
        }
    })
}

/// Whether a session has anything to ask about: an intent, tasks, files, or a prompt.
///
/// # Errors
/// [`ViewError`] when the read models cannot be opened.
pub fn is_asked(reads: &mut Reads, of: &ContextOf) -> Result<bool, ViewError> {
    Ok(reads.store()?.map(|store| found::is_asked(store, of)).transpose()?.unwrap_or_default())
}

fn found_for(asked: &Asked<'_>, of: &ContextOf) -> Found {
    found(asked.store, (asked.config.stale_after, asked.files()), of)
}

/// Whether an event changes the context of a session. An event of a new type changes it, because most types do.
pub(super) fn touched_by(of: &ContextOf, recorded: &Recorded, event: &Event) -> bool {
    let is_in_none = matches!(
        event,
        Event::ToolUsed(_)
            | Event::CommandRan(_)
            | Event::GuardFired(_)
            | Event::SpoolFlushed(_)
            | Event::ResearcherSpawned(_)
            | Event::MessageSent(_)
            | Event::OperatorOverridden(_)
            | Event::PolicyChanged(_)
            | Event::AttentionSeen(_)
            | Event::MemoryDenied(_)
    );
    let is_in_its_own = matches!(
        event,
        Event::FileEdited(_)
            | Event::TurnRecorded(_)
            | Event::SessionStarted(_)
            | Event::AgentSeated(_)
            | Event::SessionEnded(_)
    );
    if is_in_its_own {
        recorded.session.as_ref().map(SessionId::as_str) == of.session.as_deref()
    } else if matches!(event, Event::CommandRejected(_)) {
        recorded.agent == of.agent
    } else {
        !is_in_none
    }
}

/// What a session hands to the one that goes on from it, the parent to the child: its context, with the dialogue and
/// where it comes from.
///
/// # Errors
/// [`ViewError`] when the read models cannot be opened.
pub fn turn0(
    reads: &mut Reads,
    stale_after: StaleAfter,
    agent: &AgentId,
    (parent, child): (&SessionId, &SessionId),
    reason: &str,
    now: Timestamp,
) -> Result<String, ViewError> {
    let budget = pack::DEFAULT_BUDGET_CHARS;
    let of = ContextOf {
        agent: agent.clone(),
        session: Some(parent.to_string()),
        intent: None,
        budget,
        window: None,
    };
    let now = reads.clock(now);
    let workspace = reads.workspace().clone();
    let now_there = Some(&workspace).filter(|_| reads.horizon().is_none());
    let (found, _) = reads.ask(now, |store| Ok(found(store, (stale_after, now_there), &of)))?;
    let found = found.unwrap_or_default();
    let handed_over = entries(&found, &of, &Runs::default(), Some((parent.as_str(), reason)), now);
    // Who reads it is the child: what it writes is to be filed under its own name.
    let entries = Entries { session: Some(child.to_string()), ..handed_over };
    let store = reads.store()?;
    let names = |text: &str| store.map_or_else(|| text.to_owned(), |store| store.shortened(text));
    Ok(pack::hand_over(&entries, now, &names))
}

fn for_programs(found: &Found, of: &ContextOf, now: Timestamp) -> Value {
    json!({
        "agent": of.agent,
        "session": of.session,
        "seq": found.seq,
        "trajectory": to_json(&found.trajectory),
        "about": to_json(&found.about),
        "tasks": to_json(&found.tasks),
        "locks": to_json(&found.locks),
        "peers": to_json(&found.peers),
        "anchors": to_json(&found.anchors),
        "questions": to_json(&found.questions),
        "silences": to_json(&found.silences),
        "contradictions": to_json(&found.contradictions),
        "contested": shown(&found.contested, now),
        "pending_proof": shown(&found.pending_proof, now),
        "claims": shown(&found.claims, now),
        "negative": shown(&found.negative, now),
        "ready": found.ready.len(),
        "quarantined": found.quarantined,
    })
}
