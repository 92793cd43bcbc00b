//! Commits as news: the agent of each, found by the command that made it.

use std::collections::BTreeMap;

use super::happened::Happened;
use crate::domain::action::makes_commits;
use crate::domain::commit::CommitName;
use crate::domain::event::{CommandRan, Event};
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
/// without a command on record nothing is told to a session that made commits itself. Nor is one told that the session
/// merged into its own work tree.
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
    let kind = Some(CommandRan::KIND.to_owned());
    let ran = ledger.list(&Filter { kind, limit: MAX_COMMANDS, newest: true, ..Filter::default() })?;
    let ran: Vec<(Stored, CommandRan)> = ran.into_iter().filter_map(command).collect();
    let is_own = |stored: &Stored| match &of.session {
        Some(own) => stored.session.as_ref().is_some_and(|session| session.as_str() == own),
        None => stored.agent == of.agent,
    };
    let own_tree =
        ran.iter().find(|(stored, _)| is_own(stored)).map(|(_, ran)| ran.checkout.worktree.clone());
    let makers: Vec<&(Stored, CommandRan)> =
        ran.iter().filter(|(_, ran)| makes_commits(ran.command.as_str())).collect();
    for id in ids {
        let Some(seen) = ledger.event(id)? else { continue };
        let seq = seen.seq;
        let Some(Event::CommitSeen(commit)) = seen.recorded().ok().and_then(|seen| seen.event) else {
            continue;
        };
        let subject = commit.subject.as_ref().map(ToString::to_string).unwrap_or_default();
        let made = makers
            .iter()
            .filter(|(stored, ran)| stored.seq < seq && made(ran.command.as_str(), &subject))
            .max_by_key(|(stored, _)| stored.seq);
        let may_be_own =
            made.is_none_or(|(stored, _)| is_own(stored)) && makers.iter().any(|(stored, _)| is_own(stored));
        let found_in = &commit.checkout.worktree;
        // Made in another work tree and found in the reader's: it merged the commit itself.
        let is_merged = made.is_some_and(|(_, ran)| ran.checkout.worktree != *found_in)
            && own_tree.as_ref() == Some(found_in);
        if commit.parents <= 1 && !may_be_own && !is_merged {
            let by = made.map(|(stored, _)| stored.agent.to_string());
            found.insert(id, Committed { by, commit: CommitName::of(&commit) });
        }
    }
    Ok(found)
}

/// An event of a command, with the command.
fn command(stored: Stored) -> Option<(Stored, CommandRan)> {
    let Some(Event::CommandRan(ran)) = stored.recorded().ok()?.event else { return None };
    Some((stored, ran))
}

/// Whether a command made a commit: a word of it is the subject, or begins with the first line or the begin of a long one.
fn made(line: &str, subject: &str) -> bool {
    let begin: String = subject.chars().take(SUBJECT_CHARS).collect();
    let is_cut = begin != subject;
    !begin.is_empty()
        && line.match_indices(&begin).any(|(at, _)| {
            let (before, after) = (line[..at].chars().next_back(), line[at + begin.len()..].chars().next());
            let is_quoted = before.is_some_and(|c| matches!(c, '"' | '\'' | '\n'));
            let ends = |c: char| matches!(c, '"' | '\'' | '\n' | '\\') || !is_quoted && c.is_whitespace();
            let begins = is_quoted || before.is_some_and(|c| c.is_whitespace() || c == '=');
            begins && (is_cut || after.is_none_or(ends))
        })
}

#[cfg(test)]
mod tests {
    use super::made;

    /// Red before: a commit called `fix` was that of whoever had committed `fix the pool`.
    #[test]
    fn a_commit_is_known_by_its_whole_subject() {
        for (line, subject) in [
            ("git commit -m 'fix the pool'", "fix the pool"),
            ("git commit -qam fix", "fix"),
            ("git commit --message=fix", "fix"),
            ("git commit -m 'fix\n\nIt leaked.'", "fix"),
            (
                "git commit -m 'a subject that is longer than what is compa",
                "a subject that is longer than what is compared",
            ),
        ] {
            assert!(made(line, subject), "{line}");
        }
        for (line, subject) in [
            ("git commit -m 'fix the pool'", "fix"),
            ("git commit -m 'prefix'", "fix"),
            ("git commit -m 'mend'", "fix"),
            ("git commit -m 'fix'", ""),
        ] {
            assert!(!made(line, subject), "{line}");
        }
    }
}
