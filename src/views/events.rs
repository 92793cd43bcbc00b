//! Events of the ledger: a list, one event, and the log without noise. Noise is a call of `hm` that a hook saw, and a
//! tool call of which only the name is known.

use std::fmt::Write;

use serde::Serialize;
use serde_json::{Value, json};

use super::asking::Asking;
use super::markdown::{LIST_FIELD_CHARS, inline, name, untagged};
use super::{Answer, Format, MAX_LIMIT, ViewError, to_json};
use crate::domain::action::is_own_call;
use crate::domain::clean;
use crate::domain::event::{CommandRan, Event, Recorded, ToolUsed};
use crate::domain::ids::{CommandId, EventId};
use crate::domain::time::Timestamp;
use crate::ledger::{Filter, Stored};
use crate::reads::Reads;

/// Number of events per read. Noise is removed afterwards.
const CHUNK: usize = 200;

/// An event for readers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventView {
    /// Ledger position.
    pub seq: u64,
    /// Its id, citable as evidence.
    pub id: EventId,
    /// `concept.past_tense`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The agent whose command caused it.
    pub agent: String,
    /// The session of that command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The command that caused it.
    pub causation_id: CommandId,
    /// When it happened, epoch ms.
    pub at: i64,
    /// The event's hash, in hex.
    pub hash: String,
    /// The payload. `None` after an erasure, and in the space of another user.
    pub payload: Option<Value>,
    /// Whether the payload is in the space of another user.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub withheld: bool,
}

impl EventView {
    const fn without_payload(&self) -> &'static str {
        if self.withheld { "(in the space of another user)" } else { "(erased)" }
    }
}

impl From<&Stored> for EventView {
    fn from(stored: &Stored) -> Self {
        Self {
            seq: stored.seq,
            id: stored.id,
            kind: stored.kind.clone(),
            agent: stored.agent.to_string(),
            session: stored.session.as_ref().map(ToString::to_string),
            causation_id: stored.causation,
            at: stored.at.ms(),
            hash: hex::encode(stored.hash),
            payload: stored.payload.as_ref().and_then(|(payload, _)| readable(payload)),
            withheld: stored.is_withheld,
        }
    }
}

/// A payload without the hash that detects retries, which is of no use to a reader.
fn readable(payload: &str) -> Option<Value> {
    let mut payload: Value = serde_json::from_str(payload).ok()?;
    payload.as_object_mut()?.remove("command_hash");
    Some(payload)
}

/// A list.
pub(super) fn list(asking: &mut Asking<'_>, filter: &Filter) -> Result<Answer, ViewError> {
    // One more than is shown says whether there is a next page; after the latest there is none.
    let look_at = filter.limit + usize::from(!filter.newest);
    let until = [asking.reads.horizon(), filter.until].into_iter().flatten().min();
    let wanted = &Filter { until, limit: look_at, ..filter.clone() };
    let mut events = match asking.reads.ledger()? {
        Some(ledger) => ledger.list(wanted)?,
        None => Vec::new(),
    };
    let has_more = events.len() > filter.limit;
    events.truncate(filter.limit);
    let events: Vec<EventView> = events.iter().map(EventView::from).collect();
    let seq = events.last().map_or(filter.after, |event| event.seq);
    let next = has_more.then_some(seq);
    let answer = Answer::of(asking.format, seq, || listed(&events, next), || lines(&events));
    Ok(answer.followed_by("after", next))
}

/// The sentence about a moment in the middle of what one command wrote: no half of it is shown.
pub fn moved(asked: u64, shown: u64) -> String {
    format!("event #{asked} is in the middle of what one command wrote: this is #{shown}, the last of it")
}

/// Whether an event is in a list.
pub(super) fn touched_by(filter: &Filter, recorded: &Recorded, event: &Event) -> bool {
    filter.kind.as_deref().is_none_or(|kind| kind == event.kind())
        && filter.agent.as_ref().is_none_or(|agent| *agent == recorded.agent)
}

/// One event. No later event changes it, apart from its erasure.
pub(super) fn one(asking: &mut Asking<'_>, id: EventId) -> Result<Answer, ViewError> {
    let horizon = asking.reads.horizon();
    let found = asking.reads.ledger()?.map(|ledger| ledger.event(id)).transpose()?.flatten();
    let found = found.filter(|event| horizon.is_none_or(|last| event.seq <= last));
    let event = EventView::from(&found.ok_or_else(|| ViewError::no_event(id))?);
    Ok(Answer::of(asking.format, event.seq, || to_json(&event), || page(&event)))
}

fn listed(events: &[EventView], next: Option<u64>) -> Value {
    let mut json = json!({ "events": events });
    if let Some(next) = next {
        json["next"] = next.into();
    }
    json
}

fn lines(events: &[EventView]) -> String {
    if events.is_empty() {
        return "No events match.\n".to_owned();
    }
    events.iter().map(event_line).collect()
}

/// The line about the events before the newest ones, which a list leaves out. `first` is the position of its first event.
pub fn before(filter: &Filter, first: u64) -> String {
    let is_of_all = filter.kind.is_none() && filter.agent.is_none() && filter.session.is_none();
    // How many of the others a filter accepts is not counted.
    let earlier = match first - 1 {
        1 if is_of_all => format!("1 event before #{first}"),
        earlier if is_of_all => format!("{earlier} events before #{first}"),
        _ => format!("events before #{first}"),
    };
    let more = match filter.limit.saturating_mul(2) {
        doubled if doubled <= MAX_LIMIT => format!("the same with --limit {doubled}, or "),
        _ => String::new(),
    };
    format!("more: {earlier}: {more}with --after 0 from the first one on\n")
}

/// An event as an entry of a list, with its line break.
pub fn event_line(event: &EventView) -> String {
    let mut payload = event.payload.clone();
    if let Some(fields) = payload.as_mut().and_then(serde_json::Value::as_object_mut) {
        // Hashes detect retries and versions. They are of no use to a reader and would fill the line.
        fields.remove("command_hash");
        fields.remove("versions");
    }
    let what = payload.map_or_else(|| event.without_payload().to_owned(), |payload| payload.to_string());
    format!(
        "- `#{}` {} by {} at {}: {}\n",
        event.seq,
        event.kind,
        name(&event.agent),
        Timestamp::from_ms(event.at),
        inline(&what, LIST_FIELD_CHARS)
    )
}

fn page(event: &EventView) -> String {
    let payload = event.payload.as_ref().map_or_else(
        || event.without_payload().to_owned(),
        |payload| serde_json::to_string_pretty(payload).unwrap_or_default(),
    );
    format!(
        "# event #{} {}\n\n- id: `{}`\n- by: {}\n- at: {}\n- caused by command: {}\n- hash: {}\n\n{}\n",
        event.seq,
        event.kind,
        event.id,
        name(&event.agent),
        Timestamp::from_ms(event.at),
        event.causation_id,
        event.hash,
        payload.lines().fold(String::new(), |mut block, line| {
            let _ = writeln!(block, "    {}", untagged(&clean::escaped_json(line)));
            block
        })
    )
}

/// Whether other events of the ledger already have the content of an event.
pub fn is_noise(stored: &Stored) -> bool {
    if !matches!(stored.kind.as_str(), CommandRan::KIND | ToolUsed::KIND) {
        return false;
    }
    match stored.recorded().ok().and_then(|recorded| recorded.event) {
        Some(Event::CommandRan(ran)) => is_own_call(ran.command.as_str()),
        Some(Event::ToolUsed(used)) => !used.failed,
        _ => false,
    }
}

/// The events that pass a filter and are no noise, and the number of removed ones.
///
/// # Errors
/// [`ViewError`], where the ledger cannot be read.
pub fn log(reads: &mut Reads, filter: &Filter, format: Format) -> Result<Answer, ViewError> {
    let horizon = reads.horizon();
    // One more than is shown says whether there are others.
    let wanted = filter.limit + 1;
    let mut chunk = Filter { until: horizon, limit: wanted.max(CHUNK), ..filter.clone() };
    let (mut kept, mut left_out): (Vec<Stored>, usize) = (Vec::new(), 0);
    if let Some(ledger) = reads.ledger()? {
        while kept.len() < wanted {
            let mut read = ledger.list(&chunk)?;
            if filter.newest {
                read.reverse();
            }
            let Some(last) = read.last().map(|event| event.seq) else { break };
            let is_end = read.len() < chunk.limit;
            for event in read {
                if kept.len() == wanted {
                    break;
                } else if is_noise(&event) {
                    // What is beyond the page is no part of its count.
                    left_out += usize::from(!filter.newest || kept.len() < filter.limit);
                } else {
                    kept.push(event);
                }
            }
            if is_end || last <= 1 {
                break;
            } else if filter.newest {
                chunk.until = Some(last - 1);
            } else {
                chunk.after = last;
            }
        }
    }
    let has_more = kept.len() > filter.limit;
    kept.truncate(filter.limit);
    if filter.newest {
        kept.reverse();
    }
    let events: Vec<EventView> = kept.iter().map(EventView::from).collect();
    let seq = events.last().map_or(filter.after, |event| event.seq);
    let next = (has_more && !filter.newest).then_some(seq);
    let first = events.first().filter(|_| has_more && filter.newest).map(|event| event.seq);
    let json = || {
        let mut json = listed(&events, next);
        if first.is_some() {
            json["earlier"] = true.into();
        }
        if left_out > 0 {
            json["left_out"] = left_out.into();
        }
        json
    };
    let text = || {
        let mut text = lines(&events);
        if left_out > 0 {
            text.push_str(&format!(
                "left out: {left_out} calls of hm or tools; with them: the same with --all\n"
            ));
        }
        text.extend(first.map(|first| before(filter, first)));
        text
    };
    Ok(Answer::of(format, seq, json, text).followed_by("after", next))
}
