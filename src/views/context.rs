//! The context of an agent: queries the read models, and passes the results to the packer.

mod entries;
mod found;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::asking::{Asked, Asking};
use super::claims::shown;
use super::unshown;
use super::{Answer, Recall, ViewError, explain, to_json};
use crate::domain::agent::AgentId;
use crate::domain::claim::Status;
use crate::domain::event::{Event, Recorded};
use crate::domain::ids::{ClaimId, SessionId};
use crate::domain::memory::{MAX_RECALLED, Recalled};
use crate::domain::relevance::StaleAfter;
use crate::domain::time::Timestamp;
use crate::pack::{self, Entries};
use crate::reads::Reads;
use crate::schedule::JobRuns;
use crate::session_news::{SessionNews, Shown};

pub(super) use entries::{
    anchor, claim_for, contradiction, entries, pack_dead_end, pack_lock, pack_peer, question, replaced_by,
};
pub(super) use found::{EXPIRES_SOON_MS, Found, about, found};

/// The name of a reader whose session has no seat yet. The first write takes a seat.
pub const UNSEATED: &str = "unseated";

/// The reader of a context, and its limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextOf {
    /// The agent.
    pub agent: AgentId,
    /// The session. Without one, the context follows the focus of the team.
    pub session: Option<String>,
    /// The subject, in place of the session's intent and last prompt.
    pub intent: Option<String>,
    /// The maximum length, in characters.
    pub budget: usize,
    /// The tokens that the session has used and the size of its window, as its client reports them.
    pub window: Option<pack::Window>,
}

impl ContextOf {
    /// The context of an agent in a session, with the default budget.
    pub const fn new(agent: AgentId, session: Option<String>) -> Self {
        Self { agent, session, intent: None, budget: pack::DEFAULT_BUDGET_CHARS, window: None }
    }
}

/// The context of an agent.
pub(super) fn answer(asking: &mut Asking<'_>, of: &ContextOf) -> Result<Answer, ViewError> {
    answer_without(asking, of, None)
}

/// The context of an agent without what its session was told. Everything, where it is not known what it was told.
pub(super) fn rest(asking: &mut Asking<'_>, of: &ContextOf) -> Result<Answer, ViewError> {
    let told = || {
        let home = asking.reads.state_home().filter(|_| asking.reads.horizon().is_none())?;
        let session = of.session.as_deref()?.parse().ok()?;
        SessionNews::of(home, asking.reads.workspace(), &session).shown()
    };
    let told = told();
    answer_without(asking, of, told.as_ref())
}

fn answer_without(
    asking: &mut Asking<'_>,
    of: &ContextOf,
    told: Option<&Shown>,
) -> Result<Answer, ViewError> {
    let ((mut found, supported), left_out) = asking.found(|asked| {
        let found = found_for(asked, of);
        let ids: Vec<ClaimId> = found.claims.iter().map(|claim| claim.id).collect();
        let supported = asked.store.asserted_evidence(&ids).unwrap_or_default();
        Ok((found, supported))
    })?;
    unshown::mark(asking.reads, &mut found.claims, &supported);
    let answer = asking.of_store(|asked| {
        let names = asked.store.shortener();
        let (mut entries, mut budget) = (entries(&found, of, asked.runs, None, asked.now), of.budget);
        if let Some(told) = told {
            let started = found.session.as_ref().map_or(u64::MAX, |session| session.seq);
            let left_out = leave_out(&mut entries, told, &of.agent, started);
            // What the session has already counts, but what is new for it gets a third of the room at least.
            budget = budget.saturating_sub(left_out).max(budget / 3);
        }
        let pack::Packed { text, whole, in_part, claims, anchors } =
            pack::pack_and_shown(&entries, budget, asked.now, &names);
        let whole = whole.iter().flat_map(|id| [id.clone(), SessionNews::whole(id)]);
        let opened = whole.chain(in_part.iter().map(|id| SessionNews::part(id))).collect();
        let claims = claims.into_iter().map(|(seq, parts)| Recalled::claim(seq, parts));
        let anchors = anchors.into_iter().filter_map(|at| Some(Recalled::anchor(found.anchors.get(at)?.seq)));
        let items = claims.chain(anchors).take(MAX_RECALLED).collect();
        let about = found.about.without_messages();
        let recall =
            Recall { about, messages: found.about.message.iter().map(|(seq, _)| *seq).collect(), items };
        let json = || for_programs(&found, of, asked.now);
        Ok(Answer { recall, ..Answer::of_xml(asked.format, found.seq, json, || text).opening(opened) })
    })?;
    Ok(answer.without(left_out))
}

/// Leaves out the claims that a session has already: those that it was told, in part too if they did not change since, and
/// those that its agent made after ledger position `started`. Claims that its task requires stay. Returns the number of
/// characters of the statements that are left out.
fn leave_out(entries: &mut Entries, told: &Shown, agent: &AgentId, started: u64) -> usize {
    let (mut already, mut left_out) = (pack::Already::default(), 0);
    let mut in_part = Vec::new();
    let mut stays = |claim: &pack::Claim| {
        let is_as_in =
            |shown: &BTreeMap<String, u64>| shown.get(&claim.id).is_some_and(|as_of| claim.seq <= *as_of);
        let is_unchanged = is_as_in(&told.whole);
        let doubt = claim.doubt.as_ref().map(|doubt| format!(", {doubt}")).unwrap_or_default();
        if claim.is_required {
            return true;
        } else if claim.by == agent.as_str() && claim.made_seq > started {
            let is_new = claim.status == Status::Proposed;
            let status = if is_new { String::new() } else { format!(" ({}{doubt})", claim.status) };
            already.own.push(format!("{}{status}", claim.id));
        } else if is_unchanged && claim.changed.is_some() {
            already.files_changed.push(claim.id.clone());
        } else if is_unchanged {
            already.unchanged.push(claim.id.clone());
        } else if told.whole.contains_key(&claim.id) {
            // The statement of a claim never changes.
            already.changed.push(format!("{} ({}{doubt})", claim.id, claim.status));
        } else if is_as_in(&told.in_part) {
            in_part.push(claim.clone());
        } else {
            return true;
        }
        left_out += claim.statement.chars().count();
        false
    };
    entries.claims.retain(&mut stays);
    entries.dead_ends.retain(|dead_end| stays(&dead_end.claim));
    (entries.told, entries.in_part) = (already, in_part);
    left_out
}

/// The reasons for the entries of a context, or for one claim in or out of it.
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
            | Event::MemoryForgotten(_)
            | Event::BorderChecked(_)
            | Event::PromotionDenied(_)
            | Event::MemoryRecalled(_)
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

/// The text of a hand-over from a parent session to its child: its context, with the dialogue and the origin.
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
    let of = ContextOf::new(agent.clone(), Some(parent.to_string()));
    let now = reads.clock(now);
    let workspace = reads.workspace().clone();
    let now_there = Some(&workspace).filter(|_| reads.horizon().is_none());
    let (found, _) = reads.ask(now, |store| Ok(found(store, (stale_after, now_there), &of)))?;
    let mut found = found.unwrap_or_default();
    // The text is recorded for everybody.
    found.anchors.retain(|anchor| anchor.user.is_none());
    let handed_over = entries(&found, &of, &JobRuns::default(), Some((parent.as_str(), reason)), now);
    // The reader is the child session, and its writes must carry its own name.
    let entries = Entries { session: Some(child.to_string()), ..handed_over };
    let store = reads.store()?;
    let shortener = store.map(crate::store::Reader::shortener);
    let names = |text: &str| shortener.as_ref().map_or_else(|| text.to_owned(), |shorten| shorten(text));
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
