//! What is known of variables and exit codes while a line is run in thought.

use std::cmp::Ordering;

use super::super::shell::VALUE;
use super::Path;

/// What is known of the value of a variable.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Text(String),
    /// An exit code that is not 0.
    Fails,
    /// A text that is not empty.
    Filled,
}

/// What a test says whose values are known: `[ $? -ne 0 ]`, `test $rc -eq 0`, `[ "$ok" = 1 ]`, `[ -z "$failed" ]`.
pub(super) fn of_test(arguments: &[String], path: &Path, is_quoted: bool) -> Option<bool> {
    let words = match arguments {
        [words @ .., close] if close == "]" || close == "]]" => words,
        words => words,
    };
    let value = |word: &String| {
        of_word(word, path).filter(|value| match value {
            Value::Text(text) => is_quoted || !text.is_empty() && !text.contains(' '),
            Value::Fails => true,
            Value::Filled => is_quoted,
        })
    };
    let is_empty = |word: &String| match value(word)? {
        Value::Text(text) => Some(text.is_empty()),
        Value::Fails | Value::Filled => Some(false),
    };
    match words {
        [not, rest @ ..]
            if not == "!"
                && (rest.len() == 3 || rest.first().is_some_and(|word| word.starts_with(['-', '$']))) =>
        {
            of_test(rest, path, is_quoted).map(|is| !is)
        }
        [value] if value.starts_with('$') => is_empty(value).map(|is_empty| !is_empty),
        [option, value] if option == "-n" => is_empty(value).map(|is_empty| !is_empty),
        [option, value] if option == "-z" => is_empty(value),
        [one, operator, other] => {
            let is = |order: Ordering| match operator.as_str() {
                "-eq" | "=" | "==" => Some(order.is_eq()),
                "-ne" | "!=" => Some(order.is_ne()),
                "-gt" => Some(order.is_gt()),
                "-ge" => Some(order.is_ge()),
                "-lt" => Some(order.is_lt()),
                "-le" => Some(order.is_le()),
                _ => None,
            };
            match (value(one)?, value(other)?) {
                (Value::Fails, Value::Text(zero)) if zero == "0" => is(Ordering::Greater),
                (Value::Fails | Value::Filled, Value::Text(empty)) if empty.is_empty() => {
                    match operator.as_str() {
                        "=" | "==" => Some(false),
                        "!=" => Some(true),
                        _ => None,
                    }
                }
                (Value::Text(one), Value::Text(other)) => {
                    let numbers = one.parse::<i64>().ok().zip(other.parse::<i64>().ok());
                    let is_text = operator.contains('=') || numbers.is_none();
                    // Texts have no order in a test.
                    if is_text && operator.starts_with('-') {
                        return None;
                    }
                    is(if is_text { one.cmp(&other) } else { numbers.map(|(one, other)| one.cmp(&other))? })
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// What is known of a word, whose quotes are gone.
pub(super) fn of_word(word: &str, path: &Path) -> Option<Value> {
    if word == "$?" || word == "${?}" {
        return Some(if path.succeeded { Value::Text("0".to_owned()) } else { Value::Fails });
    }
    if let Some(variable) = word.strip_prefix('$') {
        let variable = variable.strip_prefix('{').and_then(|it| it.strip_suffix('}')).unwrap_or(variable);
        if let Some(value) = path.kept.get(variable) {
            return Some(value.clone());
        }
    }
    if word.contains(VALUE) {
        return None;
    }
    // With a text of its own it is never empty: `$failed a`, `$errors,a`.
    if word.contains('$') {
        return has_own_text(word).then_some(Value::Filled);
    }
    let is_plain = |c: char| c.is_alphanumeric() || "._-/:, ".contains(c);
    word.chars().all(is_plain).then(|| Value::Text(word.to_owned()))
}

/// Whether a written exit code is 0; `None` where it is not known.
pub(super) fn of_code(code: &str, path: &Path) -> Option<bool> {
    match of_word(code, path)? {
        Value::Fails => Some(false),
        // A shell takes the last eight bits.
        Value::Text(code) => code.parse::<i64>().ok().map(|code| code.rem_euclid(256) == 0),
        Value::Filled => None,
    }
}

/// Whether anything but variables is in a word.
fn has_own_text(word: &str) -> bool {
    let mut parts = word.split('$');
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !parts.next().unwrap_or_default().trim().is_empty()
        || parts.any(|part| {
            let rest = match part.strip_prefix('{') {
                Some(braced) => braced.split_once('}').map_or("", |(_, rest)| rest),
                None => part.trim_start_matches(is_name),
            };
            !rest.trim().is_empty()
        })
}

/// Whether a dollar in a command stands for itself: behind a backslash, or in single quotes.
pub(super) fn has_plain_dollar(text: &str) -> bool {
    let (mut quote, mut is_escaped) = (None, false);
    text.chars().any(|c| {
        if std::mem::take(&mut is_escaped) {
            return c == '$';
        }
        match (c, quote) {
            ('\\', None | Some('"')) => is_escaped = true,
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            ('$', Some('\'')) => return true,
            _ => {}
        }
        false
    })
}
