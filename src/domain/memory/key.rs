//! Keys by which two items are about the same thing.

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use super::MemoryEvent;
use crate::domain::clean::is_hidden;
use crate::domain::scope::Scope;
use crate::domain::text::AnchorKey;

/// The key of an item. Items with one key exclude each other. A key is never empty, so an item without one matches
/// nothing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DedupKey(String);

impl DedupKey {
    /// The key of a statement: its event type and its normal form.
    pub fn of_text(event: MemoryEvent, text: &str) -> Option<Self> {
        Self::joined(event.as_str(), ' ', text)
    }

    /// The key of a fact under a key.
    pub fn of_anchor(key: &AnchorKey) -> Option<Self> {
        Self::joined("fact", ':', key.as_str())
    }

    /// The key of a decision about a target.
    pub fn of_target(target: &Scope) -> Option<Self> {
        Self::joined("target", ':', target.as_str())
    }

    /// The key that a caller gave.
    pub fn given(key: &str) -> Option<Self> {
        Self::joined("key", ':', key)
    }

    /// The key as stored and shown.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn joined(of: &str, by: char, text: &str) -> Option<Self> {
        let normal = normal(text);
        (!normal.is_empty()).then(|| Self(format!("{of}{by}{normal}")))
    }
}

/// The form in which keys are compared, in any script: NFKC, without case and without characters that no reader sees,
/// with single spaces. This is close to `NFKC_Casefold` of Unicode.
fn normal(text: &str) -> String {
    // By way of the capitals of small letters, so that `ß` and `ẞ` meet `SS`, and both forms of sigma meet.
    let small = text.nfkc().flat_map(char::to_lowercase);
    let folded = small.flat_map(char::to_uppercase).flat_map(char::to_lowercase).nfkc();
    let seen: String = folded.filter(|c| c.is_whitespace() || !is_hidden(*c)).collect();
    seen.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::DedupKey;
    use crate::domain::memory::MemoryEvent;

    fn key(text: &str) -> Option<DedupKey> {
        DedupKey::of_text(MemoryEvent::Fact, text)
    }

    #[test]
    fn spellings_of_one_text_share_a_key_in_every_script() {
        let alike = [
            ("The Pool  holds\n10", "the pool holds 10"),
            ("STRASSE", "straße"),
            ("ΟΔΟΣ", "οδος"),
            ("ﬁle ｌｉｍｉｔ", "FILE LIMIT"),
            ("po\u{200b}ol\u{ad}", "pool"),
            ("cafe\u{301}", "CAFÉ"),
            ("ПУЛ соединений", "пул СОЕДИНЕНИЙ"),
            ("\u{1e9e}", "ss"),
        ];
        for (one, other) in alike {
            assert!(key(one).is_some(), "{one:?} has a key");
            assert_eq!(key(one), key(other), "{one:?} and {other:?}");
        }
        let keys: Vec<_> = ["池は十本", "池は二本", "بركة", "пул", "a < b", "a > b"].map(key).into();
        for (at, one) in keys.iter().enumerate() {
            assert!(one.is_some());
            assert!(!keys[..at].contains(one), "{one:?} is a key of another text");
        }
    }

    #[test]
    fn a_text_of_nothing_to_read_has_no_key() {
        for text in ["", " \t\n", "\u{200b}\u{feff}", "\u{3164} \u{ad}\u{2060}"] {
            assert_eq!(key(text), None, "{text:?}");
            assert_eq!(DedupKey::given(text), None, "{text:?}");
        }
    }

    #[test]
    fn keys_of_different_kinds_never_meet() {
        let anchor = "pool size".parse().expect("a key");
        let keys = [
            DedupKey::of_anchor(&anchor),
            key("pool size"),
            DedupKey::of_text(MemoryEvent::Decision, "pool size"),
            DedupKey::given("pool size"),
        ]
        .map(|key| key.expect("a key").as_str().to_owned());
        assert_eq!(keys, ["fact:pool size", "fact pool size", "decision pool size", "key:pool size"]);
    }
}
