//! Texts as word pieces, as the tokenizer of BERT makes them: lower case, no accents, punctuation by itself.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;
use unicode_normalization::UnicodeNormalization;

use super::BadModel;

/// What a piece inside of a word begins with.
const INSIDE: &str = "##";
/// The longest word in characters. A longer one is unknown.
const MAX_WORD_CHARS: usize = 100;

static CONTROL: LazyLock<Regex> = LazyLock::new(|| class(r"\A\p{C}"));
static ACCENT: LazyLock<Regex> = LazyLock::new(|| class(r"\A\p{Mn}"));
static PUNCTUATION: LazyLock<Regex> = LazyLock::new(|| class(r"\A\p{P}"));

fn class(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant")
}

/// The vocabulary of a model: each piece with its number.
#[derive(Debug)]
pub(super) struct Pieces {
    ids: HashMap<String, usize>,
    count: usize,
    first: usize,
    last: usize,
    unknown: usize,
}

impl Pieces {
    /// A vocabulary with one piece a line.
    pub(super) fn of(vocabulary: &str) -> Result<Self, BadModel> {
        let ids: HashMap<String, usize> =
            vocabulary.lines().enumerate().map(|(id, piece)| (piece.to_owned(), id)).collect();
        let mark = |mark: &'static str| ids.get(mark).copied().ok_or(BadModel::Vocabulary(mark));
        let (first, last, unknown) = (mark("[CLS]")?, mark("[SEP]")?, mark("[UNK]")?);
        Ok(Self { count: vocabulary.lines().count(), ids, first, last, unknown })
    }

    pub(super) const fn count(&self) -> usize {
        self.count
    }

    /// The numbers of the pieces of a text with a mark before and after them, at most `most`.
    pub(super) fn of_text(&self, text: &str, most: usize) -> Vec<usize> {
        let mut ids = vec![self.first];
        for word in words(text) {
            if ids.len() + 1 >= most {
                break;
            }
            self.add_word(&word, &mut ids);
        }
        ids.truncate(most - 1);
        ids.push(self.last);
        ids
    }

    /// Adds the pieces of a word, the longest known beginning first. A word with an unknown part is one unknown piece.
    fn add_word(&self, word: &str, ids: &mut Vec<usize>) {
        let known = ids.len();
        let mut start = 0;
        while start < word.len() && word.chars().count() <= MAX_WORD_CHARS {
            let inside = if start > 0 { INSIDE } else { "" };
            let ends = word[start..].char_indices().map(|(at, c)| start + at + c.len_utf8()).rev();
            let found = ends
                .map(|end| (self.ids.get(&format!("{inside}{}", &word[start..end])), end))
                .find_map(|(id, end)| id.map(|id| (*id, end)));
            let Some((id, end)) = found else { break };
            ids.push(id);
            start = end;
        }
        if start < word.len() {
            ids.truncate(known);
            ids.push(self.unknown);
        }
    }
}

fn words(text: &str) -> Vec<String> {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_whitespace() {
            clean.push(' ');
        } else if c == '\u{fffd}' || c.is_ascii_control() || !c.is_ascii() && is(&CONTROL, c) {
            // No part of any word.
        } else if is_ideograph(c) {
            clean.extend([' ', c, ' ']);
        } else {
            clean.push(c);
        }
    }
    let mut words = vec![String::new()];
    for c in clean.nfd().filter(|c| c.is_ascii() || !is(&ACCENT, *c)).flat_map(char::to_lowercase) {
        if c.is_whitespace() {
            words.push(String::new());
        } else if c.is_ascii_punctuation() || !c.is_ascii() && is(&PUNCTUATION, c) {
            words.extend([c.to_string(), String::new()]);
        } else if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a character is of a class of characters.
fn is(class: &Regex, c: char) -> bool {
    class.is_match(c.encode_utf8(&mut [0; 4]))
}

/// Whether the tokenizer takes a character as a word: the blocks of ideographs.
const fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{20000}'..='\u{2a6df}'
        | '\u{2a700}'..='\u{2b73f}' | '\u{2b740}'..='\u{2b81f}' | '\u{2b920}'..='\u{2ceaf}'
        | '\u{f900}'..='\u{faff}' | '\u{2f800}'..='\u{2fa1f}')
}
