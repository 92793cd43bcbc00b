//! Finds random values assigned to a secret-looking name: `db_password: "…"`, `API_KEY=…`, `--token …`.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::folded::long_runs;
use super::random::{MIN_UNWORDLY_CHARS, bits_per_char, is_placeholder, unwordly_chars};
use super::{chosen, names};

/// Every secret name contains one of these.
pub(super) const WORDS: &[&str] =
    &["passw", "passphrase", "_pass", "-pass", "--pw", "pwd", "secret", "token", "key", "credential", "pat"];
/// A cheap pattern for possible assignments to a secret name.
pub(super) static HINT: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r#"(?i-u)(?:passw|passphrase|[_-]pass|pwd|secret|token|key|credential|pat)[a-z0-9_.-]*["'`\])]*[\t ]*[:=]|--[a-z-]*(?:passw|passphrase|pass\b|pw\b|pwd|secret|token|key)"#;
    Regex::new(pattern).expect("a pattern of our own, compiled in the tests")
});

/// The fewest characters of a random value: 64 bits in hex, the shortest that issuers use.
const MIN_CHARS: usize = 16;
/// The fewest characters of a random value that only words announce.
const MIN_CHARS_IN_WORDS: usize = 32;
/// The most words between `key` and its value: "API key for prod", "token of the deploy user".
const MAX_WORDS_BETWEEN: usize = 5;
/// The fewest characters of a password that a person chose.
const MIN_PASSWORD_CHARS: usize = 8;
/// The fewest characters of a password with only two classes of characters.
const MIN_PLAIN_PASSWORD_CHARS: usize = 10;
/// The longest value in characters; longer runs are data.
const MAX_CHARS: usize = 512;
/// Least Shannon entropy of a value over its own characters; 16 random hex digits have 3.2 bits on average.
const MIN_BITS_PER_CHAR: f64 = 2.9;

/// A name, an optional type, and the assignment operator.
static ASSIGNED: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r#"(?-u)([A-Za-z][A-Za-z0-9_.-]{1,63})["'`\])]{0,2}(?:[\t ]*:[\t ]*&?[A-Za-z][A-Za-z_<>]*[\t ]+=|[\t ]*(?::=|=>|={1,3}|:))[\t ]*"#;
    Regex::new(pattern).expect("a pattern of our own, compiled in the tests")
});
/// An option of a command line, then white space.
static OPTION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?-u)--([A-Za-z][A-Za-z0-9-]{1,63})[\t ]+")
        .expect("a pattern of our own, compiled in the tests")
});

/// A command that sets a name to the next word: `npm config set //registry/:_authToken …`, `aws configure set …`.
static SET: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r#"(?-u)\bset[\t ]+(?:--?[a-z-]{1,40}[\t ]+){0,3}["']?(?:[!-~]{0,200}?[!-,/:-@\[-^`{-~])??([A-Za-z_][A-Za-z0-9_.-]{1,63})["']?[\t ]+"#;
    Regex::new(pattern).expect("a pattern of our own, compiled in the tests")
});
/// A name of several words, then white space.
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?-u)\b([A-Za-z]*_[A-Za-z0-9_]{1,63})[\t ]+";
    Regex::new(pattern).expect("a pattern of our own, compiled in the tests")
});

/// Calls `found` with each value that stands behind the name of a secret: of any shape where a command sets it, and
/// elsewhere one that is too random for a word and no hash.
pub(super) fn find_set(text: &str, mut found: impl FnMut(Range<usize>)) {
    for (regex, is_set) in [(&*SET, true), (&*NAMED, false)] {
        let mut at = 0;
        while let Some(hit) = regex.captures_at(text, at) {
            let (Some(whole), Some(name)) = (hit.get(0), hit.get(1)) else { break };
            at = name.end().max(at + 1);
            let counts = |value: &str| {
                let is_hash = || value.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
                let is_long = value.len() >= MIN_PASSWORD_CHARS && value.len() <= MAX_CHARS;
                is_random(value) && (is_set || !is_hash())
                    || is_set
                        && is_long
                        && is_typed(value)
                        && !value.contains(['=', '/'])
                        && !is_placeholder(value)
            };
            if names::is_secret(name.as_str())
                && let Some(span) = value(text, whole.end(), counts)
            {
                at = span.end;
                found(span);
            }
        }
    }
}

/// Calls `found` with each assigned value.
pub(super) fn find(text: &str, mut found: impl FnMut(Range<usize>)) {
    for regex in [&*ASSIGNED, &*OPTION] {
        let mut at = 0;
        while let Some(hit) = regex.captures_at(text, at) {
            let (Some(whole), Some(name)) = (hit.get(0), hit.get(1)) else { break };
            // `a: b = c` may be two assignments if the first one does not count.
            at = name.end().max(at + 1);
            if !names::is_secret(name.as_str()) && !names::is_short(name.as_str()) {
                continue;
            }
            let shown = || {
                value(text, whole.end(), |value| {
                    is_random(value) || names::is_password(name.as_str()) && is_password(value)
                })
            };
            if let Some(span) = chosen::value(text, name.range(), whole.end()).or_else(shown) {
                at = span.end;
                found(span);
            }
        }
    }
}

/// Calls `found` with each random run a few words after a word for a secret: `API key for prod q7Zx…`.
pub(super) fn find_in_words(text: &str, mut found: impl FnMut(Range<usize>)) {
    let belongs = |byte: u8| byte.is_ascii_alphanumeric() || b"_+/=-".contains(&byte);
    for run in long_runs(text.as_bytes(), MIN_CHARS_IN_WORDS, belongs) {
        // Excludes git hashes and UUIDs, which are hex, and names, which contain words.
        let value = &text[run.clone()];
        let is_hex = || value.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        if !is_hex() && is_random(value) && is_said_secret(&text[..run.start]) {
            found(run);
        }
    }
}

/// Whether the last words of a text announce a secret.
fn is_said_secret(before: &str) -> bool {
    let before = before.trim_end_matches(['"', '\'', '`']);
    if !before.ends_with([' ', '\t']) {
        return false;
    }
    let words = before.rsplit(|c: char| c.is_ascii_whitespace()).filter(|word| !word.is_empty());
    let words = words.take(MAX_WORDS_BETWEEN + 1);
    let mut after = "";
    for word in words {
        let word = word.trim_matches([':', ',', '(', '"', '\'', '`']);
        let with_next = format!("{word}_{after}");
        if names::is_secret(word) || names::is_secret(&with_next) {
            return true;
        }
        if !word.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            return false;
        }
        after = word;
    }
    false
}

/// The value that starts at a byte, if it counts as a secret.
fn value(text: &str, start: usize, counts: impl Fn(&str) -> bool) -> Option<Range<usize>> {
    let rest = &text[start..];
    // Quotes, possibly escaped as for JSON inside a string, and prefixes such as Rust's `b"` or Python's `f"`.
    let bare = rest.trim_start_matches(['b', 'r', 'f', 'u', '#', '\\']);
    let quote = bare.chars().next().filter(|c| "\"'`".contains(*c));
    let (opened, ends): (usize, fn(char) -> bool) = match quote {
        Some(_) => (rest.len() - bare.len() + 1, |c| "\"'`".contains(c) || c.is_whitespace()),
        None => (0, |c| "\"'`,;()[]{}<>|\\".contains(c) || c.is_whitespace()),
    };
    let body = &rest[opened..];
    let len = body.find(ends).unwrap_or(body.len());
    let after = body[len..].chars().next();
    let value = body[..len].trim_end_matches(['.', '\\', ':', '!', '?']);
    // A call or an index is code that fetches the secret.
    let code = quote.is_none() && matches!(after, Some('(' | '[' | '{' | '<'));
    (!code && counts(value)).then(|| start + opened..start + opened + value.len())
}

/// Whether a value is too random to be chosen by a person.
pub(super) fn is_random(value: &str) -> bool {
    (MIN_CHARS..=MAX_CHARS).contains(&value.len())
        && value.is_ascii()
        && !["://", "sha1:", "sha256:", "sha512:", "sha256-", "sha512-"]
            .iter()
            .any(|mark| value.contains(mark))
        && !value.starts_with(['/', '.', '~', '@', '&'])
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && unwordly_chars(value) >= MIN_UNWORDLY_CHARS
        && bits_per_char(value) >= MIN_BITS_PER_CHAR
        && !is_placeholder(value)
}

/// Whether a value is unbroken text of letters, digits and punctuation, as password rules require it. A value of
/// only letters and digits needs three classes or ten characters, so that `sha256` and `argon2id` are no passwords.
fn is_password(value: &str) -> bool {
    (MIN_PASSWORD_CHARS..=64).contains(&value.len())
        && value.is_ascii()
        && !value.contains("://")
        && !value.contains(['(', '[', '{', '<', '\\', '/', '$', '='])
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && (value.contains(['!', '@', '#', '%', '^', '&', '*', '?', '~', '+'])
            || value.bytes().all(|byte| byte.is_ascii_alphanumeric())
                && (value.len() >= MIN_PLAIN_PASSWORD_CHARS || has_three_classes(value)))
        && !is_placeholder(value)
}

/// Whether the value has upper case, lower case and digits.
pub(super) fn has_three_classes(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_uppercase())
        && value.bytes().any(|byte| byte.is_ascii_lowercase())
        && value.bytes().any(|byte| byte.is_ascii_digit())
}

/// Whether a value in the place of a password is no ordinary word.
pub(super) fn is_typed(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && value.bytes().any(|byte| byte.is_ascii_digit() || b"!@#%^&*?~+$".contains(&byte))
}
