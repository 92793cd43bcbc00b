//! A command that a hook saw, as evidence: its end, the meaning of that end, and its last lines.

use std::collections::BTreeMap;

use super::markdown::inline;
use super::{Reads, ViewError};
use crate::domain::action::piped;
use crate::domain::event::{CommandRan, Event};
use crate::domain::ids::EventId;
use crate::store::ClaimView;

/// Number of shown lines of an output. The last ones show how it ended.
const LINES: usize = 3;
/// Maximum length of a command or of a line of its output, in characters.
const GLANCE_CHARS: usize = 160;

/// The last lines of a command's output, below a note about an exit code that is hidden. Empty for an event of an
/// older release.
pub(super) fn below(ran: &CommandRan) -> Vec<String> {
    let mut lines = Vec::new();
    if ran.of_last || ran.unseen {
        lines.push(ended(ran));
    }
    if let Some(tail) = &ran.tail {
        let shown: Vec<&str> = tail.as_str().lines().filter(|line| !line.trim().is_empty()).collect();
        let last = shown.iter().skip(shown.len().saturating_sub(LINES));
        lines.extend(last.map(|line| format!("| {}", inline(line, GLANCE_CHARS))));
    }
    lines
}

/// The command and how it ended.
pub(super) fn one_line(ran: &CommandRan) -> String {
    format!("`{}` {}", inline(ran.command.as_str(), GLANCE_CHARS), ended(ran))
}

fn ended(ran: &CommandRan) -> String {
    if ran.unseen {
        return "no outcome: it ran on in the background, or was interrupted".to_owned();
    }
    let ended = match ran.exit_code {
        Some(code) => format!("exit {code}"),
        None if ran.failed => "failure".to_owned(),
        None => "success".to_owned(),
    };
    if !ran.of_last {
        return ended;
    }
    match piped(ran.command.as_str()) {
        Some(piped) => format!("{ended} {}", inline(&piped.to_string(), 2 * GLANCE_CHARS)),
        None if ran.exit_code.is_none() && !ran.failed => {
            "no exit code: nothing says whether it succeeded".to_owned()
        }
        // The stored line was cut.
        None => format!("{ended} of the last command of a pipe: says nothing about the first"),
    }
}

/// The commands among the evidence of a claim, by event.
pub(super) fn cited(reads: &mut Reads, claim: &ClaimView) -> Result<BTreeMap<String, CommandRan>, ViewError> {
    let mut found = BTreeMap::new();
    for evidence in &claim.evidence_items {
        let Ok(id) = evidence.evidence_ref.parse::<EventId>() else { continue };
        let stored = reads.ledger()?.map(|ledger| ledger.event(id)).transpose()?.flatten();
        if let Some(Event::CommandRan(ran)) = stored.and_then(|stored| stored.recorded().ok()?.event) {
            found.insert(evidence.evidence_ref.clone(), ran);
        }
    }
    Ok(found)
}
