//! Closed lists of names of which a thing has one: another name from the same list is a different value.

use std::sync::LazyLock;

use super::words::Words;

/// The lists that a name is on, one bit each. `redis` is a database and a broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Classes(u32);

impl Classes {
    /// Whether two names share a list.
    pub(super) const fn share(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether the name says where something runs: an operating system or an architecture.
    pub(super) const fn is_platform(self) -> bool {
        self.0 & PLATFORMS != 0
    }
}

struct Name {
    classes: u32,
    canonical: &'static str,
    /// The name is also a common English word: it counts only if written with a capital inside a sentence, or as
    /// code.
    is_word: bool,
}

/// The lists of a name and its main spelling. `is_marked` tells that the text writes it as a name.
pub(super) fn class_of(word: &str, is_marked: bool) -> Option<(Classes, &'static str)> {
    static NAMES: LazyLock<Words<&str, Name>> = LazyLock::new(read);
    if word.len() > LONGEST_NAME {
        return None;
    }
    let name = if word.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        NAMES.get(word)
    } else {
        let bare: String = word.chars().filter(char::is_ascii_alphanumeric).collect();
        NAMES.get(bare.as_str())
    }?;
    (is_marked || !name.is_word).then_some((Classes(name.classes), name.canonical))
}

fn read() -> Words<&'static str, Name> {
    let mut names: Words<&str, Name> = Words::default();
    for (bit, line) in LISTS.lines().enumerate() {
        let list = line.split_once(": ").map_or(line, |(_, list)| list);
        for entry in list.split(',') {
            let mut spellings = entry.split_whitespace();
            let canonical = spellings.clone().next().unwrap_or_default().trim_start_matches('^');
            for spelling in spellings.by_ref() {
                let word = spelling.trim_start_matches('^');
                let is_word = word != spelling;
                names.entry(word).or_insert(Name { classes: 0, canonical, is_word }).classes |= 1 << bit;
            }
        }
    }
    names
}

/// The length of `fortnightly`, with room for punctuation.
const LONGEST_NAME: usize = 16;
/// The bits of the lists `systems` and `architectures`.
const PLATFORMS: u32 = 0b11;

/// One list a line: its title, then the names. Other spellings of a name follow it, without punctuation. `^` marks
/// a common English word.
const LISTS: &str = include_str!("classes.txt");

#[cfg(test)]
mod tests {
    use super::{LISTS, PLATFORMS, class_of};

    #[test]
    fn every_list_has_a_bit_and_platforms_come_first() {
        let names: Vec<&str> = LISTS.lines().filter_map(|line| Some(line.split_once(": ")?.0)).collect();
        assert!(names.len() == LISTS.lines().count() && names.len() <= 32, "{names:?}");
        assert_eq!((names[0], names[1], PLATFORMS), ("systems", "architectures", 3));
    }

    #[test]
    fn spellings_of_a_name_are_one_and_words_need_a_mark() {
        let of = |word| class_of(word, false).map(|(_, name)| name);
        assert_eq!(
            [of("postgresql"), of("sha-256"), of("x86_64")],
            [Some("postgres"), Some("sha256"), Some("x8664")]
        );
        assert_eq!((of("express"), class_of("express", true).is_some()), (None, true));
        let share = |a, b| match (class_of(a, true), class_of(b, true)) {
            (Some((a, _)), Some((b, _))) => a.share(b),
            _ => false,
        };
        assert!(share("redis", "kafka") && share("redis", "postgres") && !share("kafka", "postgres"));
    }
}
