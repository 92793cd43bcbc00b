//! The attention list: the selection of entries, their order and their text.

use super::{ATTENTION, COMMAND_CHARS, Kind, Need};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::domain::agent::AgentId;
use crate::domain::time::{Span, Timestamp};
use crate::views::markdown::inline;

/// Maximum number of entries of each kind, so that one kind does not hide the others.
pub(super) const MAX_SHOWN: usize = 20;
/// Maximum length of a statement, in characters. Its id leads to the rest.
const GLANCE_CHARS: usize = 240;
/// Maximum length of an unseen text that the reader must act on, in characters: it includes the reason of a challenge.
const OWN_CHARS: usize = 400;
/// Maximum length of a text that an entry above already shows, in characters.
const AGAIN_CHARS: usize = 60;
/// Maximum length of a question, in characters: a whole statement with its introduction.
const QUESTION_CHARS: usize = 2_100;
/// Maximum number of claims whose open questions to one agent are named.
const MAX_OPEN: usize = 8;

/// The entries for a reader, in the order of the list, and the number of entries of each kind.
pub(super) fn chosen(mut needs: Vec<Need>, agent: Option<&AgentId>) -> (Vec<Need>, BTreeMap<Kind, usize>) {
    let sees_all = |agent: &AgentId| [AgentId::architect(), AgentId::operator()].contains(agent);
    if let Some(agent) = agent.filter(|agent| !sees_all(agent)) {
        needs.retain(|need| need.asked.contains(agent.as_str()));
    }
    for need in &mut needs {
        let own = agent.and_then(|agent| need.moves.get(agent.as_str()));
        need.settle = own.map_or_else(|| need.moves.values().flatten().cloned().collect(), Clone::clone);
    }
    // Unseen entries come first, then the oldest; leases in the order of their ends. Within a kind the reader's own
    // entries come before those of other agents, which are cut off first, seen or not.
    let age = |need: &Need| need.until.filter(|_| need.kind == Kind::Lease).unwrap_or(need.since);
    needs.sort_by_cached_key(|need| (need.is_anothers(agent), need.seen, age(need), need.ids.clone()));
    let mut counts: BTreeMap<Kind, usize> = BTreeMap::new();
    needs.retain(|need| {
        let count = counts.entry(need.kind).or_default();
        *count += 1;
        *count <= MAX_SHOWN
    });
    needs.sort_by_key(|need| (need.seen, need.kind, need.is_anothers(agent)));
    (needs, counts)
}

pub(super) fn text(
    needs: &[&Need],
    counts: &BTreeMap<Kind, usize>,
    agent: Option<&AgentId>,
    now: Timestamp,
) -> String {
    if needs.is_empty() {
        let whom = agent.map_or_else(|| "anybody".to_owned(), ToString::to_string);
        return format!("Nothing needs {whom} now.\n");
    }
    let is_architects = agent.is_some_and(|agent| *agent == AgentId::architect());
    let mut known = BTreeSet::new();
    let mut asked_of = BTreeSet::new();
    let entries = needs.iter().map(|need| {
        let entry = entry(need, agent, &mut known, now);
        // Only the agent that must act needs the commands, and those of one question answer each other one.
        let is_like_before = is_plain(need) && !asked_of.insert(&need.asked);
        let is_short = is_like_before || (is_architects && need.is_anothers(agent));
        let first = entry.lines().next().filter(|_| is_short);
        first.map(|line| format!("{line}\n")).unwrap_or(entry)
    });
    let mut text: String = entries.collect();
    for (kind, count) in counts.iter().filter(|(_, count)| **count > MAX_SHOWN) {
        let (name, list) = kind.words();
        let more = count - MAX_SHOWN;
        let _ = match list == ATTENTION {
            true => writeln!(text, "{more} more of {name}, once some of these are settled"),
            false => writeln!(text, "{more} more of {name}: `{list}`"),
        };
    }
    text
}

/// The questions to each agent, by the ids of their claims.
pub(super) fn open_questions(needs: &[Need]) -> BTreeMap<String, Vec<String>> {
    let mut open: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for need in needs.iter().filter(|need| need.kind == Kind::Question) {
        for agent in &need.asked {
            open.entry(agent.clone()).or_default().extend(need.ids.first().cloned());
        }
    }
    open
}

/// The line of the open questions for a reader that nothing needs. Empty without any.
pub(super) fn open(questions: &BTreeMap<String, Vec<String>>) -> String {
    let to = questions.iter().map(|(agent, ids)| {
        let names: Vec<String> = ids.iter().take(MAX_OPEN).map(|id| format!("`{id}`")).collect();
        let more = if ids.len() > MAX_OPEN { " …" } else { "" };
        let what = if ids.len() == 1 { "1 question".to_owned() } else { format!("{} questions", ids.len()) };
        format!("{what} to {} ({}{more})", inline(agent, 40), names.join(" "))
    });
    let to: Vec<String> = to.collect();
    if to.is_empty() { String::new() } else { format!("Open: {}.\n", to.join(", ")) }
}

/// Whether an entry is a question about one claim that a position on that claim answers.
fn is_plain(need: &Need) -> bool {
    need.kind == Kind::Question && need.hint.is_none() && need.ids.len() == 1 && need.what.len() == 1
}

/// An entry of the list. Only its first line contains stored text.
fn entry(need: &Need, agent: Option<&AgentId>, known: &mut BTreeSet<String>, now: Timestamp) -> String {
    let Need { kind, ids, contradictions, since, seen, until, asked, what, settle, moves, hint, .. } = need;
    let since = Timestamp::from_ms(*since).age(now);
    let until = until.map(|until| Span(until - now.ms()));
    let when = match (kind, until) {
        (Kind::Question | Kind::Silence, Some(Span(left))) if left <= 0 => {
            format!(" since {since}, the time for objections is over")
        }
        (Kind::Question | Kind::Silence, Some(left)) => {
            format!(" since {since}, agreed by silence in {left}")
        }
        (_, Some(left)) => format!(", ends in {left} unless its session writes"),
        (_, None) => format!(" since {since}"),
    };
    let asked: Vec<String> = asked.iter().map(|agent| inline(agent, 40)).collect();
    let ids: Vec<String> = ids.iter().map(|id| format!("`{}`", inline(id, 60))).collect();
    let (contradictions, about) = ids.split_at(*contradictions);
    let subject = match contradictions {
        [] => about.join(" "),
        some => format!("{} of {}", some.join(", "), about.join(" and ")),
    };
    // The asked agent needs the whole question. A bar occurs only between two texts.
    let own = moves.values().any(|own| own == settle);
    let is_mine = agent.is_some_and(|agent| moves.contains_key(agent.as_str()));
    let glance = match (is_mine, seen) {
        (true, _) if matches!(kind, Kind::Question | Kind::Silence) => QUESTION_CHARS,
        (true, false) => OWN_CHARS,
        (true, true) | (false, _) => GLANCE_CHARS,
    };
    let what: Vec<String> = what
        .iter()
        .map(|text| {
            // The name of the agent comes before its text.
            let said = text.split_once(": ").map_or(text.as_str(), |(_, said)| said);
            // The reader knows what it asks itself.
            let asks = |agent: &AgentId| {
                text.strip_prefix(agent.as_str()).is_some_and(|it| it.starts_with(" asks: "))
            };
            let is_known = !known.insert(said.to_owned()) || agent.is_some_and(asks);
            let glance = if is_known { AGAIN_CHARS } else { glance };
            inline(&text.replace('|', "¦"), glance)
        })
        .collect();
    let commands = |settle: &[String]| {
        settle
            .iter()
            .map(|command| format!("`{}`", inline(command, COMMAND_CHARS)))
            .collect::<Vec<_>>()
            .join(" or ")
    };
    let settle = if own {
        commands(settle)
    } else {
        let by = moves.iter().map(|(agent, settle)| format!("{}: {}", inline(agent, 40), commands(settle)));
        by.collect::<Vec<_>>().join(", or ")
    };
    let hint = hint.as_ref().map(|hint| format!("; {}", inline(hint, COMMAND_CHARS))).unwrap_or_default();
    format!(
        "- {}{}, {}'s move{when}: {} {}\n  to settle it: {settle}{hint}\n",
        if *seen { "(seen) " } else { "" },
        kind.words().0,
        asked.join("'s or "),
        subject,
        what.join(" | "),
    )
}
