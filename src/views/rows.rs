//! Claims as rows of a list: the statement first, as long as the list has room for, then a few short marks.

use std::collections::BTreeSet;

use super::markdown::{inline, untagged};
use super::versions::MARKED;
use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, Status};
use crate::domain::clean;
use crate::domain::time::Timestamp;
use crate::store::{ClaimSummary, LastChange};

/// Default number of rows of a list.
pub const ROWS: usize = 20;
/// Length of a row in a pipe, in characters: an agent pays for each, and twenty rows with their footer take 4,500.
const ROW_CHARS: usize = 212;
/// Minimum length of a shown statement, in characters, however long the others are.
const LEAST_CHARS: usize = 120;
/// Length up to which a row in a pipe shows every statement whole, in characters, whatever the others leave.
const WHOLE_CHARS: usize = 200;
/// Length up to which a row in a pipe shows a statement whole if there is room, in characters.
const MOST_CHARS: usize = 400;
/// Length of a statement at a terminal, in characters: two to three lines.
const SCREEN_CHARS: usize = 240;
/// Maximum length of an owner, in characters, so that marks stay short for any roster.
const OWNER_CHARS: usize = 12;
/// Maximum length of the mark about a run that tests the claim, in characters.
const RUN_CHARS: usize = 25;
/// Maximum length of the profile of a proof, in characters.
const PROOF_CHARS: usize = 40;
/// Maximum length of the mark of the last change, in characters.
const CHANGE_CHARS: usize = 30;
/// The least length of a word that a statement is cut around, in characters.
const LEAST_WORD_CHARS: usize = 4;
/// Maximum number of places in the footer.
const HELD: usize = 3;
/// Maximum length of each of them, in characters.
const HELD_CHARS: usize = 100;
/// Maximum number of claims in the command that shows what is cut.
const MAX_CUT: usize = 12;

/// Room for the statements of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// The length of rows for agents and programs.
    Pipe,
    /// The length that a human reads at a glance.
    Screen,
    /// Whole statements.
    Whole,
}

/// How far a claim has come, for a list that is grouped by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// It is contested, waits for a run, or no other agent took a position on it.
    Open,
    /// It is confirmed.
    Confirmed,
    /// It is out of force: mended, superseded, refuted or given up.
    Over,
}

impl Stage {
    /// The stage of a claim.
    pub fn of(claim: &ClaimSummary) -> Self {
        match claim.status {
            Status::Contested | Status::PendingProof | Status::Proposed => Self::Open,
            Status::Confirmed => Self::Confirmed,
            Status::Deprecated => Self::Over,
        }
    }

    /// The word in the line above the claims of this stage.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Confirmed => "confirmed",
            Self::Over => "over",
        }
    }

    /// The place of a claim in a list that is grouped: open claims first, the contested ones among them before the others.
    pub fn place(claim: &ClaimSummary) -> (Self, bool) {
        (Self::of(claim), claim.status == Status::Proposed)
    }
}

/// Which claims a list shows, and in which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Latest {
    /// At most so many that changed last, newest change first.
    ByChange(usize),
    /// At most so many that changed last: decisions in force first, then other claims in force, then contested ones.
    InForceFirst(usize),
}

/// The place of a claim in [`Latest::InForceFirst`].
pub(super) const fn place(claim: &ClaimSummary) -> u8 {
    match (claim.status, claim.claim_type) {
        (Status::Confirmed, ClaimType::Decision) => 0,
        (Status::Proposed, ClaimType::Decision) => 1,
        (Status::Confirmed, _) => 2,
        (Status::Proposed, ClaimType::Fact | ClaimType::Negative) => 3,
        (Status::Contested | Status::PendingProof, _) => 4,
        (Status::Proposed, ClaimType::Hypothesis) => 5,
        (Status::Deprecated, _) => 6,
    }
}

/// Claims as rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    /// A line above the rows, if they have a mark that needs one.
    pub head: Option<String>,
    /// One line for each claim: its name, and the rest.
    pub lines: Vec<(String, String)>,
    /// The names of the claims whose statements are cut.
    pub cut: Vec<String>,
}

/// The reader of rows.
#[derive(Debug, Clone, Default)]
pub struct RowReader {
    /// The agent.
    pub agent: Option<AgentId>,
    /// The ids of the claims whose whole texts its session was shown: in a pipe their rows have the begin.
    pub has_whole: BTreeSet<String>,
    /// The words that it searches. A statement that is cut shows the passage with one of them.
    pub searched: Vec<String>,
}

/// The words of a question that a cut statement is cut around.
pub fn searched(question: &str) -> Vec<String> {
    let words = question.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| word.chars().count() >= LEAST_WORD_CHARS).map(str::to_lowercase).collect()
}

/// Claims as rows for a reader. `names` replaces ids by names.
pub fn rows<'c>(
    claims: impl Iterator<Item = &'c ClaimSummary>,
    reader: &RowReader,
    room: Room,
    now: Timestamp,
    names: &mut dyn FnMut(&str) -> String,
) -> Rows {
    let claims: Vec<&ClaimSummary> = claims.collect();
    let changed = claims.iter().filter(|claim| claim.is_changed()).count();
    let (head, mark) = if changed >= MARKED {
        let of_all =
            format!("{changed} of {} claims are about files that changed since; marked ~", claims.len());
        (Some(of_all), "~")
    } else {
        (None, "changed since")
    };
    let agent = reader.agent.as_ref().map(AgentId::as_str);
    let rows: Vec<(&ClaimSummary, String)> =
        claims.into_iter().map(|claim| (claim, marks(claim, mark, agent, (now, &mut *names)))).collect();
    // What was replaced holds no more, and its successor says the rest.
    let is_known = |claim: &ClaimSummary| {
        let is_replaced = claim.superseded_by.is_some() && !claim.mended;
        room == Room::Pipe && (is_replaced || reader.has_whole.contains(&claim.id.to_string()))
    };
    let most = match room {
        Room::Whole => usize::MAX,
        Room::Screen => SCREEN_CHARS,
        Room::Pipe => {
            let marked: usize =
                rows.iter().map(|(claim, marks)| label(claim).len() + marks.chars().count() + 5).sum();
            let told = rows.iter().filter(|(claim, _)| !is_known(claim)).count();
            let room = (ROW_CHARS * told.max(ROWS)).saturating_sub(marked);
            let length = |claim: &ClaimSummary| match claim.statement.chars().count() {
                length if is_known(claim) => length.min(LEAST_CHARS),
                length => length,
            };
            share(rows.iter().map(|(claim, _)| length(claim)), room).clamp(LEAST_CHARS, MOST_CHARS)
        }
    };
    let mut cut = Vec::new();
    let line = |(claim, marks): (&ClaimSummary, String)| {
        if is_known(claim) {
            let begin = around(&claim.statement, LEAST_CHARS, &reader.searched, clean::cut_words);
            return (label(claim), format!("{} ({marks})", untagged(&begin)));
        }
        let is_short = claim.statement.chars().count() <= WHOLE_CHARS;
        let most = if is_short { WHOLE_CHARS.max(most) } else { most };
        if claim.statement.chars().count() > most {
            cut.push(label(claim));
        }
        let statement = around(&claim.statement, most, &reader.searched, clean::cut_sentences);
        (label(claim), format!("{} ({marks})", untagged(&statement)))
    };
    let lines = rows.into_iter().map(line).collect();
    Rows { head, lines, cut }
}

/// A statement of at most `most` characters: its beginning, or the sentence with a searched word that its beginning lacks.
fn around(statement: &str, most: usize, searched: &[String], cut: fn(&str, usize) -> String) -> String {
    let begin = cut(statement, most);
    if searched.is_empty() || statement.chars().count() <= most {
        return begin;
    }
    let lower = statement.to_lowercase();
    // Few letters have another length in small letters. With one of them places differ.
    if lower.len() != statement.len() {
        return begin;
    }
    // A word begins there: `thing` is no word of `nothing`.
    let begins = |text: &str, at: usize| !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let found = |text: &str| {
        let places = searched.iter().filter_map(|word| {
            text.match_indices(word.as_str()).map(|(at, _)| at).find(|at| begins(text, *at))
        });
        places.min()
    };
    if found(&begin.to_lowercase()).is_some() {
        return begin;
    }
    let Some(at) = found(&lower) else { return begin };
    let starts = [". ", "; ", ": "].iter().filter_map(|end| Some(lower[..at].rfind(end)? + end.len()));
    let sentence = starts.max().filter(|start| lower[*start..at].chars().count() * 2 <= most);
    let start = sentence.or_else(|| lower[..at].rfind(' ').map(|space| space + 1)).unwrap_or(at);
    if !statement.is_char_boundary(start) {
        return begin;
    }
    format!("… {}", cut(&statement[start..], most.saturating_sub(2)))
}

/// Rows with their footer, as Markdown.
pub(super) fn in_markdown(rows: Rows, places: &[String]) -> String {
    let head = rows.head.map(|head| format!("{head}\n\n"));
    let lines: String = rows.lines.iter().map(|(name, rest)| format!("- `{name}` {rest}\n")).collect();
    let held = held(places).map(|held| format!("\n{held}\n"));
    head.unwrap_or_default() + &lines + &held.unwrap_or_default()
}

/// The places of a list that other agents hold, on one line. Empty without any.
pub fn held(held: &[String]) -> Option<String> {
    if held.is_empty() {
        return None;
    }
    let named: Vec<String> = held.iter().take(HELD).map(|held| inline(held, HELD_CHARS)).collect();
    let more = match held.len().saturating_sub(HELD) {
        0 => String::new(),
        more => format!("; {more} more: `hm lock list`"),
    };
    Some(format!("held: {}{more}", named.join("; ")))
}

/// The one command that shows the statements that a list cuts. Empty if it cuts none.
pub fn shows_cut(cut: &[String]) -> Option<String> {
    let more = cut.len().saturating_sub(MAX_CUT);
    let more = if more == 0 { String::new() } else { format!(" ({more} more are cut)") };
    let named = cut.get(..MAX_CUT).unwrap_or(cut).join(" ");
    (!cut.is_empty()).then(|| format!("whole: `hm claim show {named}`{more}"))
}

fn label(claim: &ClaimSummary) -> String {
    claim.name.clone().unwrap_or_else(|| claim.id.to_string())
}

/// The maximum length of each text, so that all fit together: short texts leave their room to long ones.
fn share(lengths: impl Iterator<Item = usize>, room: usize) -> usize {
    let mut lengths: Vec<usize> = lengths.collect();
    lengths.sort_unstable();
    let (mut left, mut rest) = (room, lengths.len());
    for length in lengths {
        if length > left / rest {
            return left / rest;
        }
        left -= length;
        rest -= 1;
    }
    usize::MAX
}

/// The marks of a claim in a list. Most claims are facts, so that type has no mark.
fn marks(
    claim: &ClaimSummary,
    changed: &str,
    reader: Option<&str>,
    (now, names): (Timestamp, &mut dyn FnMut(&str) -> String),
) -> String {
    let kind = Some(claim.claim_type).filter(|kind| *kind != ClaimType::Fact).map(|kind| kind.to_string());
    let imported = if claim.imported { " (imported)" } else { "" };
    let owner = format!("by {}{imported}", inline(&claim.owner, OWNER_CHARS));
    let changed = claim.is_changed().then(|| changed.to_owned());
    let proof = claim.proof.as_ref().map(|proof| format!("{}: {}", proof.run_id, proof.ran));
    let proof = proof.map(|proof| inline(&names(&proof), PROOF_CHARS));
    let tested = claim.tested_by().map(|by| inline(&by, RUN_CHARS));
    let last = claim.last_change.as_ref();
    let ended = last.filter(|last| last.what == "superseded");
    let successor = claim.superseded_by.filter(|_| claim.status == Status::Deprecated);
    let successor = successor.map(|successor| {
        let ago = ended.map(|end| format!(" {} ago", Timestamp::from_ms(end.at).age(now)));
        names(&format!("superseded by {successor}")) + &ago.unwrap_or_default()
    });
    let last = last.filter(|last| Some(last.by.as_str()) != reader);
    let last = last.filter(|_| successor.is_none() || ended.is_none());
    let last = successor.or_else(|| last.map(|last| changed_last(last, now)));
    let amends = claim.amends.map(|old| names(&format!("amends {old}")));
    let changed_by = claim.changed_by.map(|by| names(&format!("changed by {by}")));
    let over = claim.names_over.map(|over| names(&format!("names {over}")));
    let shown = claim.shows_nothing.then(|| "evidence shows nothing".to_owned());
    let kind = kind.into_iter().chain(amends);
    let standing =
        [claim.short_standing()].into_iter().chain(changed_by).chain(over).chain(proof).chain(shown);
    let marks = kind.chain(standing).chain([owner]).chain(changed);
    marks.chain(tested).chain(last).collect::<Vec<_>>().join(", ")
}

fn changed_last(last: &LastChange, now: Timestamp) -> String {
    let what = match last.what.as_str() {
        "abstained from" => "abstention",
        "said to be still meant" => "still meant, said",
        "its challenge said to be still meant" => "challenge still meant, said",
        "given evidence" => "evidence",
        "had evidence retracted" => "evidence retracted",
        "put to the proof" => "to be proved, asked",
        "given a run without a result" => "run without a result",
        what => what,
    };
    let ago = format!("{} ago", Timestamp::from_ms(last.at).age(now));
    let taken = what.len() + " by  ".len() + ago.len();
    format!("{what} by {} {ago}", inline(&last.by, CHANGE_CHARS.saturating_sub(taken).max(4)))
}

#[cfg(test)]
mod tests {
    use super::{around, searched, share};
    use crate::domain::clean::cut_words;

    #[test]
    fn short_texts_leave_room_to_long_ones() {
        let share = |lengths: &[usize], room| share(lengths.iter().copied(), room);
        assert_eq!(share(&[300; 20], 4_000), 200);
        assert_eq!(share(&[100, 300, 500], 900), usize::MAX);
        assert_eq!(share(&[100, 300, 500], 700), 300);
        assert_eq!(share(&[10, 300, 500], 610), 300);
        assert_eq!(share(&[], 10), usize::MAX);
    }

    /// Red before: a search for `set_rate` showed 14 beginnings without that word.
    #[test]
    fn a_cut_statement_shows_the_passage_that_was_searched() {
        let statement = "Clock: a jump forward gives at most burst; a jump back gives nothing, takes nothing. \
                         set_rate(rate): refill at the old rate up to now, then the new one. Order is kept.";
        let shown = |question: &str| around(statement, 60, &searched(question), cut_words);
        assert_eq!(shown("set_rate"), "… set_rate(rate): refill at the old rate up to now, then…");
        assert_eq!(shown("what is kept"), "… Order is kept.");
        // The beginning has a word of it.
        assert_eq!(shown("clock set_rate"), cut_words(statement, 60));
        assert_eq!(shown("no such thing"), cut_words(statement, 60));
        // No letter may be cut.
        let turkish = format!("İİ {statement}");
        assert_eq!(around(&turkish, 60, &searched("set_rate"), cut_words), cut_words(&turkish, 60));
        assert_eq!(around(statement, 2_000, &searched("set_rate"), cut_words), statement);
    }
}
