//! Guards that ask for an agent, and guards that are suggested.

use super::moves::{challenge, end_of, move_of};
use super::{Kind, Need, noted};
use crate::domain::action::{for_people, printed_error, quoted};
use crate::domain::agent::AgentId;
use crate::domain::claim::ClaimType;
use crate::domain::event::Event;
use crate::domain::guard::ESCALATES_AFTER;
use crate::domain::privacy;
use crate::domain::scope::Scope;
use crate::ledger;
use crate::store::{AskingGuard, Suggestion};
use crate::workspace::Workspace;

/// A suggestion leaves the list this long after the last failure, in milliseconds: a week.
pub(super) const SUGGESTED_FOR_MS: i64 = 7 * 24 * 3_600_000;
/// Characters of a failed command or a decision in the text of a suggested guard.
const WHAT_CHARS: usize = 160;

/// A guard that sessions ignore, that is proved wrong, or that escalates each time.
pub(super) fn guard(asking: AskingGuard) -> Need {
    let AskingGuard { guard, owner, escalated, since } = asking;
    let counts = guard.counts;
    let mut what = vec![format!("{}: {}", guard.by, guard.text)];
    if counts.is_doubted() {
        what.push(format!("proved wrong {} times in a row", counts.wrong_in_row));
    }
    if counts.is_spent() {
        what.push(format!("ignored {} times in a row: retire it", counts.ignored_in_row));
    }
    if escalated {
        what.push(format!("it is to escalate, or a session ignored it {ESCALATES_AFTER} times"));
    }
    let architect = AgentId::architect();
    let doubt = guard.claim_id.zip(owner).filter(|_| counts.is_doubted()).map(|(claim, owner)| {
        // An owner cannot challenge its own claim.
        if owner == architect.as_str() {
            end_of(&[claim], ClaimType::Negative, &[])
        } else {
            challenge(claim)
        }
    });
    let mut moves = move_of(architect.as_str(), doubt.into_iter().chain([noted(&guard.id)]));
    moves.extend(move_of(AgentId::operator().as_str(), [format!("hm guard mute {}", guard.id)]));
    Need::new(Kind::Guard, vec![guard.id], since, moves, what)
}

/// The last error of a suggested guard, as it was printed. Only the ledger has it.
pub(super) fn last_of(workspace: &Workspace, ids: &[String]) -> Option<String> {
    let ledger = ledger::Reader::open(&workspace.ledger()).ok()??;
    let stored = ledger.event(ids.first()?.parse().ok()?).ok()??;
    let Event::CommandRan(ran) = stored.recorded().ok()?.event? else { return None };
    let printed = printed_error(ran.tail?.as_str(), ran.error_signature?.as_str())?;
    Some(format!("the last one: {}", quoted(&printed, WHAT_CHARS)))
}

/// A guard that repeated failures suggest, with the command that accepts it. Its trigger is filled in.
pub(super) fn suggestion(suggested: Suggestion) -> Need {
    let Suggestion { id, signature, what, failures, scopes, since } = suggested;
    let word = |text: &str| shell_words::quote(&text.replace('`', "'")).into_owned();
    // The text of a guard is told to every agent that meets it.
    let of_command = privacy::shown(&what);
    let short = quoted(if signature.is_some() { &of_command } else { &what }, WHAT_CHARS);
    let (accept, says) = match signature {
        Some(error) => {
            let text = format!(
                "this error came {failures} times: find its cause before the next run; last of: {short}"
            );
            let accept = format!("hm guard accept --error {} --text {}", word(&error), word(&text));
            (accept, format!("{failures} commands failed with: {}", for_people(&error)))
        }
        None => {
            let is_place =
                |scope: &&String| scope.parse::<Scope>().is_ok_and(|at| at.is_path() && !at.is_whole());
            let paths: String =
                scopes.iter().filter(is_place).map(|at| format!(" --path {}", word(at))).collect();
            let place = if paths.is_empty() {
                scopes.iter().take(1).map(|scope| format!(" --scope {}", word(scope))).collect()
            } else {
                paths
            };
            let text = word(&format!("this decision failed: {short}"));
            (
                format!("hm guard accept --claim {id}{place} --text {text}"),
                format!("a decision failed: {what}"),
            )
        }
    };
    let moves = move_of(AgentId::architect().as_str(), [accept]);
    Need::new(Kind::Suggestion, vec![id], since, moves, vec![says])
}
