//! Commits as news: the agent of each, found by the command that made it.

use std::collections::BTreeMap;

use super::happened::Happened;
use crate::domain::commit::CommitName;
use crate::domain::event::{self, CommitSeen, Event};
use crate::domain::ids::EventId;
use crate::ledger::{Filter, LedgerError, Reader, Stored};
use crate::pack::About;
use crate::views::context::ContextOf;

/// The most commands, newest first, among which the one that made a commit is looked for.
const MAX_COMMANDS: usize = 300;
/// Length of the begin of a subject by which a command is known, in characters. The ledger cuts long commands.
const SUBJECT_CHARS: usize = 40;

/// A commit of another agent.
pub(super) struct Committed {
    /// The agent. `None` for a commit without a command on record.
    pub(super) by: Option<String>,
    pub(super) commit: CommitName,
}

/// The new commits of others, by the ids of their events. Merges are told by the files that they bring, and of a commit
/// without a command on record nothing is told to a session that made commits itself.
pub(super) fn commits(
    ledger: &Reader,
    seen: &Happened,
    of: &ContextOf,
) -> Result<BTreeMap<EventId, Committed>, LedgerError> {
    let mut found = BTreeMap::new();
    let ids =
        seen.waiting.keys().filter_map(|about| if let About::Commit(id) = about { Some(*id) } else { None });
    let ids: Vec<EventId> = ids.collect();
    if ids.is_empty() {
        return Ok(found);
    }
    let kind = Some(event::CommandRan::KIND.to_owned());
    let ran = ledger.list(&Filter { kind, limit: MAX_COMMANDS, newest: true, ..Filter::default() })?;
    let ran: Vec<(Stored, String)> = ran.into_iter().rev().filter_map(commits_with).collect();
    let is_own = |stored: &Stored| match &of.session {
        Some(own) => stored.session.as_ref().is_some_and(|session| session.as_str() == own),
        None => stored.agent == of.agent,
    };
    for id in ids {
        let Some(Event::CommitSeen(commit)) =
            ledger.event(id)?.and_then(|stored| stored.recorded().ok()?.event)
        else {
            continue;
        };
        let made = ran.iter().find(|(_, line)| made(line, &commit)).map(|(stored, _)| stored);
        let may_be_own = made.is_none_or(is_own) && ran.iter().any(|(stored, _)| is_own(stored));
        if commit.parents <= 1 && !may_be_own {
            let by = made.map(|stored| stored.agent.to_string());
            found.insert(id, Committed { by, commit: CommitName::of(&commit) });
        }
    }
    Ok(found)
}

/// A command that made commits, with its line.
fn commits_with(stored: Stored) -> Option<(Stored, String)> {
    let Some(Event::CommandRan(ran)) = stored.recorded().ok()?.event else { return None };
    let line = ran.command.to_string();
    (line.contains("git") && line.contains("commit")).then_some((stored, line))
}

/// Whether a command made a commit: it names the begin of its subject.
fn made(line: &str, commit: &CommitSeen) -> bool {
    let subject = commit.subject.as_ref().map(ToString::to_string).unwrap_or_default();
    let begin: String = subject.chars().take(SUBJECT_CHARS).collect();
    !begin.is_empty() && line.contains(&begin)
}
