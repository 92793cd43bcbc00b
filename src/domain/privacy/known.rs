//! Values of environment variables with secret-looking names. Only the front of that environment knows them, and
//! they are never shown.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::names;
use super::random::is_placeholder;

/// The fewest characters of a value; shorter ones occur in ordinary words.
const MIN_CHARS: usize = 8;
/// The fewest characters of a word that a command gave as a secret.
const MIN_CHARS_OF_WORD: usize = 4;
/// Values of only letters up to this length count as words such as `production`, which notes often contain.
const MAX_WORD_CHARS: usize = 12;

/// The secrets of one process.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Known {
    values: Vec<String>,
    /// Each value and its encoded forms, in lower case.
    forms: Vec<String>,
    /// Values that stand in ordinary words too, in lower case: only whole words are they.
    words: Vec<String>,
}

impl Known {
    /// Keeps the values with secret-looking names, except short ones, words, paths, flags and placeholders.
    pub fn from_variables(variables: impl Iterator<Item = (String, String)>) -> Self {
        let values = variables.filter(|(name, _)| names::is_secret(name));
        Self::of(values.map(|(_, value)| value.trim().to_owned()).collect())
    }

    /// Keeps values, except short ones, words, paths, flags and placeholders.
    pub(super) fn of(mut values: Vec<String>) -> Self {
        values.retain(|value| is_telling(value));
        // The longest value comes first, so that a value that contains another is masked whole.
        values.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        values.dedup();
        let mut forms: Vec<String> =
            values.iter().flat_map(|value| forms(value)).map(|form| form.to_ascii_lowercase()).collect();
        forms.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        forms.dedup();
        Self { values, forms, words: Vec::new() }
    }

    /// Keeps the secrets of a command, for its output: also those that look like ordinary words.
    pub(super) fn of_command(values: Vec<String>) -> Self {
        let is_word = |value: &&String| value.chars().count() >= MIN_CHARS_OF_WORD && !is_telling(value);
        let words: BTreeSet<String> =
            values.iter().filter(is_word).map(|value| value.to_ascii_lowercase()).collect();
        Self { words: words.into_iter().collect(), ..Self::of(values) }
    }

    pub(super) fn find(&self, text: &str, mut found: impl FnMut(Range<usize>)) {
        if self.forms.is_empty() && self.words.is_empty() {
            return;
        }
        let lower = text.to_ascii_lowercase();
        for form in &self.forms {
            for (at, _) in lower.match_indices(form.as_str()) {
                found(at..at + form.len());
            }
        }
        for word in &self.words {
            for (at, _) in lower.match_indices(word.as_str()) {
                let end = at + word.len();
                let is_whole = !lower[..at].ends_with(char::is_alphanumeric)
                    && !lower[end..].starts_with(char::is_alphanumeric);
                if is_whole {
                    found(at..end);
                }
            }
        }
    }
}

/// The forms of a value: plain, base64 in both alphabets without the characters that depend on the following text,
/// and as a part of an address. The plain form is also found in the folded copy of a text.
fn forms(value: &str) -> [String; 4] {
    let whole = value.len() * 8 / 6;
    let cut = |mut text: String| {
        text.truncate(whole);
        text
    };
    [
        value.to_owned(),
        cut(STANDARD_NO_PAD.encode(value)),
        cut(URL_SAFE_NO_PAD.encode(value)),
        utf8_percent_encode(value, NON_ALPHANUMERIC).to_string(),
    ]
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Known({} values)", self.values.len())
    }
}

fn is_telling(value: &str) -> bool {
    let chars = value.chars().count();
    let all = |belongs: fn(&u8) -> bool| value.bytes().all(|byte| belongs(&byte));
    let word = chars <= MAX_WORD_CHARS && (all(u8::is_ascii_alphabetic) || all(u8::is_ascii_digit));
    let path = value.starts_with(['/', '~', '.']) || value.get(1..3) == Some(":\\");
    chars >= MIN_CHARS && !word && !path && !is_placeholder(value)
}

#[cfg(test)]
mod tests {
    use super::Known;

    #[test]
    fn only_telling_values_of_secret_names_are_kept() {
        let variables = [
            ("DB_PASSWORD", "correct-horse-7"),
            ("API_TOKEN", "short-7"),
            ("APP_SECRET", "production"),
            ("SECRET_KEY", "/run/secrets/key"),
            ("AUTH_TOKEN", "${FROM_VAULT}"),
            ("BUILD_TOKEN", "1234567"),
            ("EDITOR", "correct-horse-8"),
        ];
        let known = Known::from_variables(variables.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())));
        assert_eq!(known.values, ["correct-horse-7"]);
        assert_eq!(format!("{known:?}"), "Known(1 values)");
    }

    /// Red before: a password of one word stood in the output of its command.
    #[test]
    fn a_word_that_a_command_gave_as_a_secret_is_found_as_a_whole_word() {
        let values = ["hunter", "tulip-5", "abc", "correct-horse-7"].map(str::to_owned).to_vec();
        let known = Known::of_command(values);
        let text = "bob may not log in with Hunter: hunters, abc and tulip-5x, tulip-5 (correct-horse-7)";
        let mut found = Vec::new();
        known.find(text, |span| found.push(&text[span]));
        assert_eq!(found, ["correct-horse-7", "Hunter", "tulip-5"]);
        let mut found = 0;
        Known::of_command(vec!["hunter".to_owned()]).find(text, |_| found += 1);
        assert_eq!(found, 1);
    }
}
