//! The events of the ledger without noise: calls of `hm` that hooks saw, and tools of which only the name is known.

use serde_json::json;

use super::{Answer, EventView, Reads, ViewError, markdown, page};
use crate::domain::action::is_own_call;
use crate::domain::event::{CommandRan, Event, ToolUsed};
use crate::ledger::{Filter, Stored};

/// Events that are read at once; noise among them is left out afterwards.
const CHUNK: usize = 200;

/// Whether an event says nothing that the ledger does not hold otherwise.
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

/// The events that a filter lets through and that are no noise, and how many among them were left out.
///
/// # Errors
/// [`ViewError`], where the ledger cannot be read.
pub fn log(reads: &mut Reads, filter: &Filter) -> Result<Answer, ViewError> {
    let horizon = reads.horizon();
    // One more than is shown says whether there is a next page; after the latest there is none.
    let wanted = filter.limit + usize::from(!filter.newest);
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
                    left_out += 1;
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
    let (mut text, mut json) = (markdown::events(&events), json!({ "events": events }));
    if left_out > 0 {
        text.push_str(&format!(
            "left out: {left_out} calls of hm or tools; with them: the same with --all\n"
        ));
        json["left_out"] = left_out.into();
    }
    if has_more {
        json["next"] = seq.into();
    }
    Ok(page(seq, json, text).followed_by("after", has_more.then_some(seq)))
}
