//! Bounded text: what agents write, checked once where it enters.

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

/// Text outside its bounds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadText {
    /// Nothing but white space.
    #[error("{field} is empty: say something in 1 to {max_chars} characters")]
    Empty {
        /// The argument's name.
        field: &'static str,
        /// The longest it may be.
        max_chars: usize,
    },
    /// Longer than its bound.
    #[error("{field} has {chars} characters: at most {max_chars}; put the rest in a file and name it")]
    TooLong {
        /// The argument's name.
        field: &'static str,
        /// How long it is.
        chars: usize,
        /// The longest it may be.
        max_chars: usize,
    },
    /// A control character where only one line of printable text fits.
    #[error("{field} holds a control character: use printable characters on one line")]
    Control {
        /// The argument's name.
        field: &'static str,
    },
}

/// Trims and bounds free text; inner line breaks and any script are kept as written.
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
        return Err(BadText::TooLong { field, chars, max_chars });
    }
    Ok(text.to_owned())
}

/// [`bounded`] for names: one line, no control characters.
///
/// # Errors
/// Those of [`bounded`], and [`BadText::Control`].
pub fn one_line(field: &'static str, text: &str, max_chars: usize) -> Result<String, BadText> {
    let text = bounded(field, text, max_chars)?;
    if text.chars().any(char::is_control) {
        return Err(BadText::Control { field });
    }
    Ok(text)
}

/// The form in which two statements are the same: NFKC, case folded, white space collapsed.
pub fn folded(text: &str) -> String {
    if text.is_ascii() {
        // The same, without the tables: most statements are ASCII.
        let mut folded = String::with_capacity(text.len());
        for word in text.split_ascii_whitespace() {
            if !folded.is_empty() {
                folded.push(' ');
            }
            folded.push_str(word);
        }
        folded.make_ascii_lowercase();
        return folded;
    }
    let normal: String = text.nfkc().flat_map(char::to_lowercase).collect();
    normal.split_whitespace().collect::<Vec<_>>().join(" ")
}

macro_rules! bounded_text {
    ($(#[$doc:meta])* $name:ident, $field:literal, $max:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The longest it may be, in characters.
            pub const MAX_CHARS: usize = $max;

            /// The text as written, trimmed.
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
    /// What a claim says, in 1 to 2,000 characters.
    Statement, "statement", 2_000
);
bounded_text!(
    /// Why a position was taken or a claim deprecated, in 1 to 2,000 characters.
    Reason, "reason", 2_000
);
bounded_text!(
    /// What the title of a task or plan does not say, in 1 to 2,000 characters.
    Description, "description", 2_000
);
bounded_text!(
    /// Why something was chosen, in 10 to 2,000 characters.
    Rationale, "rationale", 2_000
);
bounded_text!(
    /// What happened, in 1 to 2,000 characters.
    Summary, "summary", 2_000
);
bounded_text!(
    /// A command line as it was run, in 1 to 2,000 characters; stored, never executed.
    CommandLine, "command", 2_000
);
bounded_text!(
    /// The end of what a command put out, without secrets, in 1 to 400 characters.
    OutputTail, "tail", 400
);
bounded_text!(
    /// The first line of an error, masked or not, in 1 to 500 characters.
    ErrorSignature, "error_signature", 500
);

bounded_text!(
    /// What a plan, a phase or a task is called, in 1 to 200 characters.
    Title, "title", 200
);
bounded_text!(
    /// What is wanted now, in 1 to 500 characters.
    Intent, "intent", 500
);
bounded_text!(
    /// The name of an anchor, in 1 to 64 characters.
    AnchorKey, "key", 64
);
bounded_text!(
    /// What an anchor holds, in 1 to 2,000 characters; a pack shows 200 of them.
    AnchorValue, "value", 2_000
);
bounded_text!(
    /// What was said in one message, in 1 to 2,000 characters.
    Said, "text", 2_000
);
bounded_text!(
    /// To whom a message goes, as the mail says it, in 1 to 128 characters.
    Recipient, "to", 128
);
bounded_text!(
    /// A message, in 1 to 8,000 characters: whatever the script, it fits into an event.
    MessageText, "text", 8_000
);
bounded_text!(
    /// What an agent that is sent out is asked, in 1 to 4,000 characters: it stands twice in the event that queues
    /// it, which holds 32 KiB.
    Prompt, "prompt", 4_000
);
bounded_text!(
    /// The name of a client or of one of its tools, in 1 to 128 characters.
    ToolName, "tool", 128
);
bounded_text!(
    /// The name git has for a linked work tree, in 1 to 255 characters: the name of a directory.
    Worktree, "worktree", 255
);
bounded_text!(
    /// The name of a branch, in 1 to 255 characters.
    Branch, "branch", 255
);
bounded_text!(
    /// What a session hands to the one that goes on from it, in 1 to 90,000 characters: a pack, and six messages that
    /// may be nothing but characters XML says in six.
    Turn0, "turn0", 90_000
);

impl Turn0 {
    /// The text in parts of so many bytes as JSON at most, as far as elements are that short: each begins with an
    /// element, and a line break between two of them makes the whole again.
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
    /// What was said, cut to what is kept; `None` for white space.
    pub fn cut(text: &str) -> Option<Self> {
        let text = text.trim();
        let cut = match text.char_indices().nth(Self::MAX_CHARS) {
            None => text.to_owned(),
            Some(_) => text.chars().take(Self::MAX_CHARS - 1).chain(['…']).collect(),
        };
        Self::try_from(cut).ok()
    }
}

/// A name of our own, such as a rule, a field or a command: 1 to 64 of `a-z 0-9 _ . -`, never free text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Label(String);

/// Text that is no label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a label has 1 to {max} of a-z, 0-9, _, . and -", max = Label::MAX_CHARS)]
pub struct BadLabel;

impl Label {
    /// The longest it may be, in characters.
    pub const MAX_CHARS: usize = 64;

    /// A label of what is one already; what does not belong is left out.
    pub fn of(name: &str) -> Self {
        Self(name.chars().filter(|c| Self::has(*c)).take(Self::MAX_CHARS).collect())
    }

    /// The label.
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
