//! What a word looks like: a path, a flag, a name in code, a verb, a preposition.

use super::classes::class_of;
use super::raw::{Break, Raw};
use super::words::{Role, Roles, VERB_STEMS};
use crate::domain::stop_words::is_stop_word;

pub(super) fn is_negation(word: &str, roles: Roles) -> bool {
    roles.has(Role::Negation) || word.ends_with("n't") || word.ends_with("n\u{2019}t")
}

/// Whether the word at `at` is the verb of a statement: a known verb in a form that fits its place, or a word with
/// the ending of a verb before an object.
pub(super) fn is_verb(word: &str, stem: &str, (at, raws): (usize, &[Raw<'_>]), has_subject: bool) -> bool {
    let before = at.checked_sub(1).map(|at| &raws[at]);
    let is_plural = |word: &str| word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us");
    let after_determiner = before.is_some_and(|before| {
        is_determiner(&before.lower) || matches!(before.lower.as_ref(), "per" | "of" | "for")
    });
    if !VERB_STEMS.has(stem) {
        return is_plural(word)
            && has_subject
            && !after_determiner
            && raws.get(at + 1).is_some_and(|next| next.before == Break::None && is_determiner(&next.lower));
    }
    if is_plural(word) || word.ends_with("ed") || word.ends_with("en") {
        return has_subject && !after_determiner;
    }
    at == 0
        || before.is_some_and(|before| {
            before.roles.has(Role::Auxiliary)
                || (has_subject && is_plural(&before.lower) && !after_determiner)
        })
}

fn is_determiner(word: &str) -> bool {
    matches!(
        word,
        "the"
            | "a"
            | "an"
            | "our"
            | "its"
            | "their"
            | "your"
            | "each"
            | "every"
            | "all"
            | "any"
            | "no"
            | "this"
            | "that"
            | "these"
            | "those"
    )
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Plain,
    /// `MAX_CONNS`, `GET`.
    Screaming,
    /// Has `::`, `_` or `.` inside, is camelCase, or mixes letters with digits.
    Code,
}

pub(super) fn shape(word: &str) -> Shape {
    let bytes = word.as_bytes();
    let upper = bytes.iter().filter(|byte| byte.is_ascii_uppercase()).count();
    let lower = bytes.iter().filter(|byte| byte.is_ascii_lowercase()).count();
    let digits = bytes.iter().any(u8::is_ascii_digit);
    if upper >= 2 && lower == 0 {
        return Shape::Screaming;
    }
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic();
    let inside = |separator: &str| {
        word.split(separator).filter(|part| part.bytes().any(|byte| is_letter(&byte))).count() > 1
    };
    let camel = bytes.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    let dotted = word.contains('.') && !word.ends_with('.') && inside(".");
    let mixed = digits
        && bytes.first().is_some_and(is_letter)
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if word.contains("::") || word.trim_matches('_').contains('_') || camel || dotted || mixed {
        Shape::Code
    } else {
        Shape::Plain
    }
}

/// `NOT`, `ALL`, `MUST`: an emphasised word is no name.
pub(super) fn is_word_in_capitals(word: &str, roles: Roles) -> bool {
    is_stop_word(word)
        || (roles.has(Role::Filler) && word != "get")
        || [Role::Negation, Role::Light, Role::Exception, Role::Condition, Role::Copula]
            .iter()
            .any(|role| roles.has(*role))
        || matches!(word, "all" | "before" | "after" | "on" | "off" | "only" | "always")
}

/// The common text for all spellings of a name: `max_conns`, `maxConns` and `MAX_CONNS`.
pub(super) fn name_of(word: &str, stem: impl Fn(&str) -> String) -> String {
    if word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return stem(word);
    }
    word.chars().filter(|c| !matches!(c, '_' | '-')).collect()
}

pub(super) fn is_preposition(word: &str) -> bool {
    matches!(
        word,
        "for"
            | "in"
            | "on"
            | "at"
            | "to"
            | "with"
            | "from"
            | "by"
            | "via"
            | "during"
            | "under"
            | "into"
            | "as"
            | "after"
            | "before"
    )
}

/// Whether a word has letters only.
pub(super) fn is_name(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic())
}

pub(super) fn is_flag(word: &str) -> bool {
    word.starts_with('-') && word.bytes().any(|byte| byte.is_ascii_alphabetic())
}

pub(super) fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a word is a path: it has a slash, or ends like a file name.
pub(super) fn is_path(word: &str) -> bool {
    let ends_like_a_file = || {
        word.rsplit_once('.').is_some_and(|(stem, ending)| !stem.is_empty() && EXTENSIONS.contains(&ending))
    };
    let absolute = word.len() > 1 && word.starts_with('/')
        || word.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()));
    (absolute || word.trim_matches('/').contains('/') || ends_like_a_file())
        && class_of(word, false).is_none()
}

pub(super) const NUMBER_WORDS: &[&str] = &[
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
];
const EXTENSIONS: &[&str] = &[
    "c", "cc", "cfg", "conf", "cpp", "css", "csv", "db", "env", "go", "h", "hpp", "html", "ini", "java",
    "js", "json", "jsonl", "jsx", "kt", "lock", "log", "md", "mjs", "py", "rb", "rs", "sh", "sql", "sqlite",
    "svg", "swift", "toml", "ts", "tsx", "txt", "xml", "yaml", "yml",
];
