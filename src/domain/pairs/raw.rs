//! Cuts a statement into words, each with its punctuation, quotes and back-ticks told apart.

use std::borrow::Cow;

use super::words::Roles;

/// A word and its context.
pub(super) struct Raw<'a> {
    /// The word in lower case, without surrounding punctuation.
    pub(super) lower: Cow<'a, str>,
    pub(super) word: &'a str,
    pub(super) roles: Roles,
    /// In back-ticks.
    pub(super) is_code: bool,
    /// In double quotes.
    pub(super) is_quoted: bool,
    /// In parentheses.
    pub(super) is_aside: bool,
    pub(super) before: Break,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Break {
    None,
    Comma,
    Stop,
}

/// How often a byte occurs in a text.
fn count(text: &str, wanted: u8) -> usize {
    text.bytes().filter(|byte| *byte == wanted).count()
}

/// The words of a statement.
pub(super) fn raws(statement: &str) -> Vec<Raw<'_>> {
    let mut raws: Vec<Raw<'_>> = Vec::with_capacity(statement.len() / 5 + 1);
    let (has_code, has_quotes) =
        (count(statement, b'`').is_multiple_of(2), count(statement, b'"').is_multiple_of(2));
    let (mut in_code, mut in_quotes, mut depth, mut before) = (false, false, 0_usize, Break::None);
    for chunk in statement.split([' ', '\n', '\t', '\r', '=', '\u{2014}']) {
        let bare = chunk
            .trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '/' | '.' | '#' | '%'));
        let head = &chunk[..chunk.len() - bare.len()];
        let word = trimmed(bare);
        depth += count(head, b'(');
        if !word.is_empty() {
            let lower = if word.bytes().any(|byte| byte.is_ascii_uppercase() || !byte.is_ascii()) {
                Cow::Owned(word.to_lowercase())
            } else {
                Cow::Borrowed(word)
            };
            let is_code = has_code && (in_code || chunk.contains('`'));
            raws.push(Raw {
                roles: if is_code { Roles::default() } else { Roles::of(&lower) },
                lower,
                word,
                is_code,
                is_quoted: has_quotes && (in_quotes || head.contains('"')),
                is_aside: depth > 0,
                before,
            });
            before = Break::None;
        }
        if word.len() < chunk.len() {
            in_code ^= count(chunk, b'`') % 2 == 1;
            in_quotes ^= count(chunk, b'"') % 2 == 1;
            depth = depth.saturating_sub(count(bare, b')').saturating_sub(count(bare, b'(')));
        }
        let end = chunk.trim_end_matches(['`', '"', '\'', ')', ']', '*', '\u{201d}']);
        let abbreviates = matches!(word, "e.g" | "i.e" | "etc" | "vs" | "approx" | "ca");
        before = match end.bytes().next_back() {
            Some(b',') => Break::Comma,
            Some(b';' | b':' | b'!' | b'?' | b'.') if !abbreviates && !word.is_empty() => Break::Stop,
            // A dash between two spaces.
            None => Break::Stop,
            Some(_) if word.is_empty() && matches!(chunk, "-" | "--" | "\u{2013}") => Break::Stop,
            Some(_) => before,
        };
        if raws.is_empty() {
            before = Break::None;
        }
    }
    raws
}

/// A word without surrounding punctuation.
fn trimmed(word: &str) -> &str {
    word.trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '%' | '/' | '+'))
}
