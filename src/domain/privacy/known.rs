//! Values of environment variables whose names look secret: known to the front that has them, never shown.

use std::fmt;
use std::ops::Range;

use super::names;
use super::random::is_placeholder;

/// A shorter value would be found in ordinary words (spec 06 leaves the number to us).
const MIN_CHARS: usize = 8;
/// Letters alone up to this length are taken for a word such as `production`, which notes are full of.
const MAX_WORD_CHARS: usize = 12;

/// The secrets of one process.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Known {
    values: Vec<String>,
}

impl Known {
    /// Keeps the values whose names look secret, but no short ones, words, paths, flags or placeholders.
    pub fn from_variables(variables: impl Iterator<Item = (String, String)>) -> Self {
        let mut values: Vec<String> = variables
            .filter(|(name, _)| names::is_secret(name))
            .map(|(_, value)| value.trim().to_owned())
            .filter(|value| is_telling(value))
            .collect();
        // The longest first, so that one that holds another is redacted whole.
        values.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        values.dedup();
        Self { values }
    }

    pub(super) fn find(&self, text: &str, mut found: impl FnMut(Range<usize>)) {
        for value in &self.values {
            for (at, _) in text.match_indices(value.as_str()) {
                found(at..at + value.len());
            }
        }
    }
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
}
