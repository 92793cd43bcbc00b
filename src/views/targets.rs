//! The targets of decisions, each with all its names.

use std::fmt::Write;

use serde_json::json;

use super::asking::Asking;
use super::markdown::inline;
use super::{Answer, ViewError};
use crate::domain::event::Event;
use crate::store::Target;

/// Every target.
pub(super) fn answer(asking: &mut Asking<'_>) -> Result<Answer, ViewError> {
    asking.of_store(|asked| {
        let targets = asked.store.targets()?;
        Ok(asked.answer(|| json!({ "targets": targets }), || text(&targets)))
    })
}

/// Whether an event changes the list.
pub(super) fn touched_by(event: &Event) -> bool {
    matches!(event, Event::TargetAliased(_) | Event::TargetParted(_) | Event::ClaimCreated(_))
}

fn text(targets: &[Target]) -> String {
    if targets.is_empty() {
        return "No targets yet: a decision with a target names the first.\n".to_owned();
    }
    targets.iter().fold(String::new(), |mut text, target| {
        let aliases: Vec<String> = target.aliases.iter().map(|alias| inline(alias, 80)).collect();
        let also = if aliases.is_empty() { String::new() } else { format!(" (also {})", aliases.join(", ")) };
        let _ = writeln!(text, "- {}{also}", inline(&target.target, 80));
        text
    })
}
