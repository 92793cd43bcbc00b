//! Text with limits: the texts of agents, checked once at input.

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::clean;

/// A text outside its limits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadText {
    /// Only white space.
    #[error("{field} is empty: say something in 1 to {max_chars} characters")]
    Empty {
        /// The name of the argument.
        field: &'static str,
        /// The limit in characters.
        max_chars: usize,
    },
    /// Longer than the limit.
    #[error(
        "{field} has {chars} characters, {} more than the {max_chars} that fit: nothing is recorded; shorten it, or put \
         the rest into a file or a second claim and name that{left_over}",
        chars - max_chars
    )]
    TooLong {
        /// The name of the argument.
        field: &'static str,
        /// The length in characters.
        chars: usize,
        /// The limit in characters.
        max_chars: usize,
        /// The last sentence that fits and the text after it, as the end of a sentence. Empty for short texts.
        left_over: String,
    },
    /// A control character in a text of one line.
    #[error("{field} holds a control character: use printable characters on one line")]
    Control {
        /// The name of the argument.
        field: &'static str,
    },
}

/// Whether a reader sees a character by itself. White space, invisible characters, the blank of Braille and a mark without
/// its letter are not seen.
pub fn is_visible(c: char) -> bool {
    !c.is_whitespace() && !clean::is_hidden(c) && c != '\u{2800}' && !is_combining_mark(c)
}

/// The number of characters that a reader sees, with the white space and the marks between them.
pub fn seen_chars(text: &str) -> usize {
    text.chars().filter(|c| !clean::is_hidden(*c) && *c != '\u{2800}').count()
}

/// Trims free text and checks its length. Inner line breaks and all scripts are kept.
///
/// # Errors
/// [`BadText::Empty`] or [`BadText::TooLong`].
pub fn bounded(field: &'static str, text: &str, max_chars: usize) -> Result<String, BadText> {
    let text = text.trim();
    if text.is_empty() {
        return Err(BadText::Empty { field, max_chars });
    }
    let chars = text.chars().count();
    if chars > max_chars {
        return Err(BadText::TooLong { field, chars, max_chars, left_over: left_over(text, max_chars) });
    }
    Ok(text.to_owned())
}

/// Minimum limit of a text whose refusal says where it could end, in characters. Shorter texts are names and titles. A text
/// that cannot be divided is given back up to this length.
const MIN_DIVIDED_CHARS: usize = 200;
/// Maximum length of the end of the sentence by which a refusal names a place, in characters.
const MAX_END_CHARS: usize = 60;
/// Maximum length of the text that a refusal gives back, in characters.
const MAX_GIVEN_BACK_CHARS: usize = 8_000;

/// The end of the last sentence of a text that fits, and the text after it.
fn left_over(text: &str, max_chars: usize) -> String {
    if max_chars < MIN_DIVIDED_CHARS {
        return String::new();
    }
    let (mut fitting, mut chars, mut last) = (0, 0, "");
    for sentence in sentences(text) {
        let with = chars + sentence.chars().count();
        if chars + sentence.trim_end().chars().count() > max_chars {
            break;
        }
        (fitting, chars, last) = (fitting + sentence.len(), with, sentence.trim());
    }
    let (what, rest, most) = if last.is_empty() {
        // Nothing can be divided, and its writer knows the text.
        let what = format!("no sentence ends within the first {max_chars} characters of");
        (what, text, MIN_DIVIDED_CHARS)
    } else {
        let ends: Vec<char> = last.chars().rev().take(MAX_END_CHARS).collect();
        let ends: String = ends.into_iter().rev().collect();
        let fits = text[..fitting].trim_end().chars().count();
        (
            format!("the first {fits} characters fit, up to \"{ends}\"; what follows there is"),
            &text[fitting..],
            MAX_GIVEN_BACK_CHARS,
        )
    };
    let shown: String = rest.chars().take(most).collect();
    let more = rest.chars().count().saturating_sub(most);
    let more = if more == 0 { String::new() } else { format!(" and {more} characters more") };
    format!("; {what} \"{shown}\"{more}")
}

/// [`bounded`] for names: one line without control characters.
///
/// # Errors
/// As for [`bounded`], and [`BadText::Control`].
pub fn one_line(field: &'static str, text: &str, max_chars: usize) -> Result<String, BadText> {
    let text = bounded(field, text, max_chars)?;
    if text.chars().any(char::is_control) {
        return Err(BadText::Control { field });
    }
    Ok(text)
}

/// Whether a word may be a unit: `Mb/s`, `GB`, `m`.
fn is_unit(word: &str) -> bool {
    let unit = word.trim_end_matches(['.', ',', ';', ':']);
    let unit = unit.strip_suffix("/s").unwrap_or(unit);
    (1..=3).contains(&unit.len()) && unit.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Whether a unit is written onto a number: `10Mb/s`.
fn has_unit(word: &str) -> bool {
    let unit = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ',');
    unit.len() < word.len() && is_unit(unit)
}

/// The form in which statements are compared: NFKC, case folded, white space collapsed. In ASCII a unit behind a number keeps
/// its case.
pub fn folded(text: &str) -> String {
    if text.is_ascii() {
        // Fast path without Unicode tables: most statements are ASCII.
        let mut folded = String::with_capacity(text.len());
        let mut is_after_number = false;
        for word in text.split_ascii_whitespace() {
            if !folded.is_empty() {
                folded.push(' ');
            }
            let start = folded.len();
            folded.push_str(word);
            // Mb and MB are two units, as m and M are.
            let is_number = word.starts_with(|c: char| c.is_ascii_digit());
            let keeps_case = is_after_number && is_unit(word) || is_number && has_unit(word);
            if !keeps_case {
                folded[start..].make_ascii_lowercase();
            }
            is_after_number = is_number;
        }
        return folded;
    }
    let normal: String = text.nfkc().flat_map(char::to_lowercase).collect();
    normal.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The sentences of a text, each with its end and the white space after it.
pub fn sentences(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    let mut parts = Vec::new();
    let (mut start, mut is_over) = (0, false);
    for (at, c) in text.char_indices() {
        if is_over && !c.is_whitespace() {
            parts.push(&text[start..at]);
            (start, is_over) = (at, false);
        }
        let next = text[at + c.len_utf8()..].chars().next();
        is_over |= c == '\n' || matches!(c, '.' | '!' | '?' | ';') && next.is_none_or(char::is_whitespace);
    }
    parts.push(&text[start..]);
    parts.into_iter()
}

macro_rules! bounded_text {
    ($(#[$doc:meta])* $name:ident, $field:literal, $max:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The limit in characters.
            pub const MAX_CHARS: usize = $max;

            /// The trimmed text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadText;

            fn try_from(text: String) -> Result<Self, BadText> {
                bounded($field, &text, $max).map(Self)
            }
        }

        impl std::str::FromStr for $name {
            type Err = BadText;

            fn from_str(text: &str) -> Result<Self, BadText> {
                bounded($field, text, $max).map(Self)
            }
        }

        impl From<$name> for String {
            fn from(text: $name) -> Self {
                text.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

bounded_text!(
    /// The statement of a claim, 1 to 2,000 characters.
    Statement, "statement", 2_000
);
bounded_text!(
    /// The reason for a position or a deprecation, 1 to 2,000 characters.
    Reason, "reason", 2_000
);

impl Reason {
    /// A text cut to the length limit; `None` when it is empty.
    pub fn cut(text: &str) -> Option<Self> {
        text.chars().take(Self::MAX_CHARS).collect::<String>().parse().ok()
    }
}

bounded_text!(
    /// Details of a task or plan beyond its title, 1 to 2,000 characters.
    Description, "description", 2_000
);
bounded_text!(
    /// The reason for a decision, 10 to 2,000 characters.
    Rationale, "rationale", 2_000
);
bounded_text!(
    /// The text of a report, 1 to 2,000 characters.
    Summary, "summary", 2_000
);
bounded_text!(
    /// A command line as it ran, 1 to 2,000 characters; stored, never executed.
    CommandLine, "command", 2_000
);
bounded_text!(
    /// The end of a command's output without secrets, 1 to 400 characters.
    OutputTail, "tail", 400
);
bounded_text!(
    /// The first line of an error, masked or not, 1 to 500 characters.
    ErrorSignature, "error_signature", 500
);

bounded_text!(
    /// What a guard says, 1 to 400 characters.
    Advice, "text", 400
);
bounded_text!(
    /// A few words that a guard looks for, 1 to 200 characters.
    Phrase, "phrase", 200
);

bounded_text!(
    /// What a session is about, cut for the record of a recall, 1 to 300 characters.
    RecallQuery, "query", 300
);

impl RecallQuery {
    /// The most texts of a query.
    const TEXTS: usize = 3;
    /// The length of the beginning of a text, in characters. An erasure of the text finds such a beginning.
    const START_CHARS: usize = 80;

    /// The beginnings of the first texts.
    pub fn of(texts: &[String]) -> Option<Self> {
        let starts = texts.iter().take(Self::TEXTS).map(|text| Self::start(text));
        starts.collect::<Vec<_>>().join("; ").parse().ok()
    }

    /// The beginning of a text, on one line.
    pub fn start(text: &str) -> String {
        clean::one_line(text).chars().take(Self::START_CHARS).collect()
    }
}

bounded_text!(
    /// The title of a plan, a phase or a task, 1 to 200 characters.
    Title, "title", 200
);
bounded_text!(
    /// The current goal, 1 to 500 characters.
    Intent, "intent", 500
);
bounded_text!(
    /// The name of an anchor, 1 to 64 characters.
    AnchorKey, "key", 64
);
bounded_text!(
    /// The value of an anchor, 1 to 2,000 characters; a pack shows 200 of them.
    AnchorValue, "value", 2_000
);
bounded_text!(
    /// The name of a person, as the operating system has it, 1 to 64 characters.
    UserName, "user", 64
);
bounded_text!(
    /// The text of one message, 1 to 2,000 characters.
    Said, "text", 2_000
);
bounded_text!(
    /// The recipient of an imported mail message, 1 to 128 characters.
    Recipient, "to", 128
);
bounded_text!(
    /// The text of an imported mail message, 1 to 8,000 characters; in any script it fits into an event.
    MessageText, "text", 8_000
);
bounded_text!(
    /// The prompt of a researcher, 1 to 4,000 characters. The queueing event, limited to 32 KiB, holds it twice.
    Prompt, "prompt", 4_000
);
bounded_text!(
    /// The name of a client or of one of its tools, in 1 to 128 characters.
    ToolName, "tool", 128
);
bounded_text!(
    /// The name that a client gives to a subagent of a session, in 1 to 128 characters.
    Subagent, "subagent", 128
);
bounded_text!(
    /// Git's name for a linked work tree, 1 to 255 characters: a directory name.
    Worktree, "worktree", 255
);
bounded_text!(
    /// The name of a branch, 1 to 255 characters.
    Branch, "branch", 255
);
bounded_text!(
    /// The name of a commit's author, 1 to 80 characters.
    CommitAuthor, "author", 80
);
bounded_text!(
    /// The first line of a commit's message, 1 to 200 characters.
    CommitSubject, "subject", 200
);
bounded_text!(
    /// The hand-over text of a session to its successor, 1 to 90,000 characters: a pack, and six messages whose
    /// characters may all need six bytes in XML.
    Turn0, "turn0", 90_000
);

impl Turn0 {
    /// The text in parts of at most `max_bytes` bytes as JSON, if its elements are that short. Each part begins
    /// with an element; the parts joined by line breaks are the whole text.
    pub fn parts(&self, max_bytes: usize) -> Vec<Self> {
        let mut parts: Vec<String> = Vec::new();
        let mut room = 0;
        for line in self.0.split('\n') {
            let bytes = serde_json::Value::from(line).to_string().len();
            let opens = line.starts_with('<') && !line.starts_with("</");
            match parts.last_mut() {
                Some(part) if bytes <= room || !opens => {
                    part.push('\n');
                    part.push_str(line);
                    room = room.saturating_sub(bytes);
                }
                _ => {
                    parts.push(line.to_owned());
                    room = max_bytes.saturating_sub(bytes);
                }
            }
        }
        parts.into_iter().map(Self).collect()
    }
}

impl Said {
    /// A message, cut to the limit; `None` for white space.
    pub fn cut(text: &str) -> Option<Self> {
        let text = text.trim();
        let cut = match text.char_indices().nth(Self::MAX_CHARS) {
            None => text.to_owned(),
            Some(_) => text.chars().take(Self::MAX_CHARS - 1).chain(['…']).collect(),
        };
        Self::try_from(cut).ok()
    }
}

/// An internal name such as a rule, a field or a command: 1 to 64 of `a-z 0-9 _ . -`, never free text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Label(String);

/// A text that is no label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a label has 1 to {max} of a-z, 0-9, _, . and -", max = Label::MAX_CHARS)]
pub struct BadLabel;

impl Label {
    /// The limit in characters.
    pub const MAX_CHARS: usize = 64;

    /// A label from a known name; invalid characters are left out.
    pub fn of(name: &str) -> Self {
        Self(name.chars().filter(|c| Self::has(*c)).take(Self::MAX_CHARS).collect())
    }

    /// The label as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    const fn has(c: char) -> bool {
        matches!(c, 'a'..='z' | '0'..='9' | '_' | '.' | '-')
    }
}

impl TryFrom<String> for Label {
    type Error = BadLabel;

    fn try_from(text: String) -> Result<Self, BadLabel> {
        let fits = !text.is_empty() && text.len() <= Self::MAX_CHARS && text.chars().all(Self::has);
        if fits { Ok(Self(text)) } else { Err(BadLabel) }
    }
}

impl From<Label> for String {
    fn from(label: Label) -> Self {
        label.0
    }
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
