//! Markdown in short lines, shared by the texts of several questions. Stored text is data: it stays on its line, and
//! terminals get no raw control characters.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::OnceLock;

use crate::domain::clean;
use crate::domain::ids::ClaimId;
use crate::domain::time::Timestamp;
use crate::store::{ClaimPage, ClaimSummary, by_now};

/// Maximum length of a name, in characters. Agents and clients have shorter ones.
const MAX_NAME_CHARS: usize = 40;
/// Maximum length of a profile with its arguments, in characters.
pub(super) const MAX_RAN_CHARS: usize = 120;
/// Maximum length of a statement in a list, in characters. The claim's own page has all of it.
const LIST_STATEMENT_CHARS: usize = 240;
/// Maximum length of an event's fields and of a claim's scopes in a list, in characters.
pub(super) const LIST_FIELD_CHARS: usize = 160;

/// Tells whether the reader of this process takes no tag for an instruction. None where models read.
static IS_READ_BY_A_HUMAN: OnceLock<fn() -> bool> = OnceLock::new();

/// Keeps the tags in stored text for a human, who reads them as they were typed. The answer of `is_human` is asked for where
/// a text has a tag.
pub fn keep_tags_if(is_human: fn() -> bool) {
    let _ = IS_READ_BY_A_HUMAN.set(is_human);
}

/// Stored text in which no tag opens, because an agent could take one for an instruction. Nothing undoes that: a text may
/// have been typed with `&lt;`. So a human gets the text itself.
pub(super) fn untagged(text: &str) -> Cow<'_, str> {
    let escaped = clean::untagged(text);
    match (&escaped, IS_READ_BY_A_HUMAN.get()) {
        (Cow::Owned(_), Some(is_human)) if is_human() => Cow::Borrowed(text),
        _ => escaped,
    }
}

/// Stored text on one line of at most `max_chars`, without hidden characters, line breaks or opening tags.
pub fn inline(text: &str, max_chars: usize) -> String {
    untagged(&clean::cut_line(text, max_chars)).into_owned()
}

/// A statement for a list: on one line, and cut between words.
pub fn listed(statement: &str, max_chars: usize) -> String {
    untagged(&clean::cut_words(statement, max_chars)).into_owned()
}

/// A recorded name: short, and escaped like any stored text.
pub(super) fn name(name: &str) -> String {
    inline(name, MAX_NAME_CHARS)
}

/// Stored text as a quoted block, line by line.
pub(super) fn quoted(text: &str) -> String {
    clean::cleaned(text).lines().fold(String::new(), |mut block, line| {
        let _ = writeln!(block, "> {}", inline(line, 2_000));
        block
    })
}

/// Ids in a row.
pub(super) fn joined(ids: &[ClaimId], between: &str) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}

/// A number with its noun, for nouns with a regular plural.
pub(super) fn counted(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// The age of something, in its largest unit.
pub(super) fn age(at_ms: i64, now: Timestamp) -> String {
    Timestamp::from_ms(at_ms).age(now).to_string()
}

/// The origin of a claim's evidence, and whether it is stale.
pub(super) fn graded(claim: &ClaimSummary) -> String {
    let stale = if claim.stale { ", stale" } else { "" };
    let changed = if claim.is_changed() { ", changed since" } else { "" };
    format!("{}{stale}{changed}", claim.grade)
}

/// How its successor superseded it.
pub(super) const fn replaced(claim: &ClaimSummary) -> &'static str {
    if claim.mended { "mended" } else { "superseded" }
}

/// The agents that work on a claim now.
pub(super) fn at_now(claim: &ClaimSummary) -> Option<String> {
    by_now(&claim.by_now).map(|at_it| inline(&at_it, 2 * LIST_FIELD_CHARS))
}

/// [`ClaimSummary::standing`] with the run that proved it.
pub(super) fn standing(claim: &ClaimSummary) -> String {
    let Some(proof) = &claim.proof else { return claim.standing() };
    let by = format!("proved by {}: {})", proof.run_id, inline(&proof.ran, MAX_RAN_CHARS));
    claim.standing().replacen("proved)", &by, 1)
}

fn one_line(claim: &ClaimSummary, now: Timestamp) -> String {
    let by_now = at_now(claim).map_or_else(String::new, |at_it| format!(" (now: {at_it})"));
    format!(
        "- `{}` {} {} by {}{} (+{} -{}, {:.2} {}, {} ago) [{}] {}{by_now}\n",
        claim.id,
        standing(claim),
        claim.claim_type,
        name(&claim.owner),
        if claim.imported { ", imported" } else { "" },
        claim.supports,
        claim.challenges,
        claim.effective_confidence(now),
        graded(claim),
        age(claim.touched_at, now),
        inline(&claim.scopes.join(", "), LIST_FIELD_CHARS),
        listed(&claim.statement, LIST_STATEMENT_CHARS)
    )
}

pub(super) fn claims(page: &ClaimPage, what: &str, now: Timestamp) -> String {
    if page.claims.is_empty() {
        return format!("No {what} match.\n");
    }
    page.claims.iter().map(|claim| one_line(claim, now)).collect()
}

pub(super) fn section(text: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let mut lines = lines.peekable();
    if lines.peek().is_none() {
        return;
    }
    let _ = writeln!(text, "\n## {title}\n");
    for line in lines {
        let _ = writeln!(text, "- {line}");
    }
}
