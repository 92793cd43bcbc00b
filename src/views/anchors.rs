//! What the anchors hold.

use serde_json::json;

use super::asking::Asking;
use super::markdown::{age, inline, name};
use super::{Answer, MAX_LIMIT, ViewError};
use crate::domain::event::Event;
use crate::domain::time::Timestamp;
use crate::domain::way;
use crate::store::AnchorView;

/// Every anchor.
pub(super) fn answer(asking: &mut Asking<'_>) -> Result<Answer, ViewError> {
    asking.of_store(|asked| {
        let found = asked.store.anchors(MAX_LIMIT)?;
        Ok(asked.answer(|| json!({ "anchors": found }), || text(&found, asked.now)))
    })
}

/// Whether an event changes an anchor.
pub(super) const fn touched_by(event: &Event) -> bool {
    matches!(event, Event::AnchorSaved(_) | Event::AnchorRetired(_))
}

fn text(found: &[AnchorView], now: Timestamp) -> String {
    let line = |anchor: &AnchorView| {
        let (key, value) = (inline(&anchor.key, 64), inline(&anchor.value, 2_000));
        let space = if anchor.user.is_some() { ", yours alone" } else { "" };
        format!("- {key} = {value} ({}, {} ago{space})\n", name(&anchor.agent), age(anchor.saved_at, now))
    };
    if found.is_empty() {
        let save = way::call("save_anchor", &json!({ "key": "KEY", "value": "VALUE" }));
        format!("No anchor holds anything: {save}\n")
    } else {
        found.iter().map(line).collect()
    }
}
