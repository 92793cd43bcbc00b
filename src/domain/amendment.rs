//! Amendments: a text with one part changed, and the change between two texts.

use std::fmt;

use super::rejection::Rejection;
use super::text;

/// Maximum number of places that a refusal shows.
const PLACES: usize = 3;
/// Length of the text on each side of a shown place, in characters.
const BESIDE_CHARS: usize = 30;

/// A change of one part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Amendment {
    /// Other words in the place of these words, which occur once.
    Replace {
        /// The words of the text.
        old: String,
        /// The words in their place. Empty to take the old ones out.
        new: String,
    },
    /// A sentence at the end.
    Append(String),
}

impl Amendment {
    /// The change that three arguments describe.
    ///
    /// # Errors
    /// The arguments describe no change, or two.
    pub fn of(
        replace: Option<String>,
        with: Option<String>,
        append: Option<String>,
    ) -> Result<Self, Rejection> {
        let given = |text: &String| !text.trim().is_empty();
        match (replace.filter(given), with, append.filter(given)) {
            (Some(old), Some(new), None) => Ok(Self::Replace { old, new }),
            (None, None, Some(sentence)) => Ok(Self::Append(sentence)),
            (Some(_), None, None) => Err(Rejection::invalid("with", "the new words are missing")),
            (None, Some(_), None) => Err(Rejection::invalid("replace", "the old words are missing")),
            (None, None, None) => {
                Err(Rejection::invalid("replace", "an amendment gives `replace` and `with`, or `append`"))
            }
            (_, _, Some(_)) => {
                Err(Rejection::invalid("append", "one amendment changes one part: replace words, or append"))
            }
        }
    }

    /// The whole text with the change.
    ///
    /// # Errors
    /// The old words do not occur exactly once, or nothing would change.
    pub fn applied(&self, text: &str) -> Result<String, Rejection> {
        match self {
            Self::Append(sentence) => {
                let text = text.trim_end();
                let dot = if text.ends_with(['.', '!', '?', ';', ':']) { "" } else { "." };
                Ok(format!("{text}{dot} {}", sentence.trim()))
            }
            Self::Replace { old, new } => {
                let (old, new) = (old.trim(), new.trim());
                let found = places(text, old);
                let [at] = found.as_slice() else { return Err(not_once(text, old, &found)) };
                if old == new {
                    return Err(Rejection::invalid("with", "these are the old words: nothing would change"));
                }
                let (before, after) = (&text[..*at], &text[at + old.len()..]);
                // Words that are taken out leave one space behind.
                let before = if new.is_empty() { before.trim_end() } else { before };
                Ok(format!("{before}{new}{after}").trim().to_owned())
            }
        }
    }
}

/// Where words occur in a text, overlapping places included.
fn places(text: &str, words: &str) -> Vec<usize> {
    text.char_indices().map(|(at, _)| at).filter(|at| text[*at..].starts_with(words)).collect()
}

/// The refusal of words that do not occur exactly once.
fn not_once(text: &str, old: &str, found: &[usize]) -> Rejection {
    if found.is_empty() {
        let near = nearest(text, old);
        return Rejection::invalid("replace", format!("the old words do not occur; the nearest: \"{near}\""));
    }
    let shown: Vec<String> = found.iter().take(PLACES).map(|at| around(text, *at, old.len())).collect();
    let more = found.len().saturating_sub(PLACES);
    let more = if more == 0 { String::new() } else { format!(", and {more} more") };
    let problem = format!(
        "the old words occur {} times: {}{more}; give more of the words around one of them",
        found.len(),
        shown.join(", ")
    );
    Rejection::invalid("replace", problem)
}

/// A place with some of the text on both sides, in quotation marks.
fn around(text: &str, at: usize, len: usize) -> String {
    let start = text[..at].char_indices().rev().nth(BESIDE_CHARS - 1).map_or(0, |(start, _)| start);
    let after = &text[at + len..];
    let end = after.char_indices().nth(BESIDE_CHARS).map_or(after.len(), |(end, _)| end);
    let (cut, rest) = (if start == 0 { "" } else { "…" }, if end == after.len() { "" } else { "…" });
    format!("\"{cut}{}{rest}\"", text[start..at + len + end].trim())
}

/// The sentence of a text with the most of these words.
fn nearest<'t>(text: &'t str, words: &str) -> &'t str {
    let folded = text::folded(words);
    let words: Vec<&str> = folded.split(' ').collect();
    let shared = |sentence: &&str| {
        let said = text::folded(sentence);
        said.split(' ').filter(|word| words.contains(word)).count()
    };
    // Of equally near sentences the first one.
    text::sentences(text).rev().max_by_key(shared).map_or(text, str::trim)
}

/// The parts by which a text differs from another one, in whole sentences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change(Vec<Part>);

/// The sentences of the old text that the new one leaves out here, and those that it says in their place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Part {
    old: String,
    new: String,
}

impl Change {
    /// The change between two texts in words, also where the new text says the same as the old one.
    pub fn said(old: &str, new: &str) -> Option<String> {
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let same = |text: &str| flat(text).trim_end_matches('.').to_owned();
        if same(old) == same(new) {
            return Some("its words hold again, without a change".to_owned());
        }
        Self::between(old, new).map(|change| change.to_string())
    }

    /// The sentences of the old text that the new one does not say. Empty where it says all of them, and `None` where
    /// neither text amends the other.
    pub fn old_words(old: &str, new: &str) -> Option<String> {
        let is_said = |sentence: &&str| text::sentences(new).any(|other| is_same(sentence, other.trim()));
        let gone = text::sentences(old).map(str::trim).filter(|sentence| !sentence.is_empty());
        let gone: Vec<&str> = gone.filter(|sentence| !is_said(sentence)).collect();
        (gone.is_empty() || Self::between(old, new).is_some()).then(|| gone.join(" "))
    }

    /// The change between two texts, if one amends the other: at least half of the old words stay.
    pub fn between(old: &str, new: &str) -> Option<Self> {
        let sentences = |text| -> Vec<&str> {
            text::sentences(text).map(str::trim).filter(|sentence| !sentence.is_empty()).collect()
        };
        let words = old.split_whitespace().count();
        let (old, new) = (sentences(old), sentences(new));
        let longest = longest(&old, &new);
        let (mut parts, mut kept, mut part) = (Vec::new(), 0, Part::default());
        let (mut at, mut to) = (0, 0);
        while at < old.len() || to < new.len() {
            if at < old.len() && to < new.len() && is_same(old[at], new[to]) {
                parts.extend(Some(std::mem::take(&mut part)).filter(|part| *part != Part::default()));
                kept += old[at].split_whitespace().count();
                (at, to) = (at + 1, to + 1);
            } else if to == new.len() || at < old.len() && longest[at + 1][to] >= longest[at][to + 1] {
                join(&mut part.old, old[at]);
                at += 1;
            } else {
                join(&mut part.new, new[to]);
                to += 1;
            }
        }
        parts.extend(Some(part).filter(|part| *part != Part::default()));
        kept += parts.iter().map(Part::kept).sum::<usize>();
        (!parts.is_empty() && kept * 2 >= words).then_some(Self(parts))
    }
}

/// The most sentences that two texts have in common from each pair of places on.
fn longest(old: &[&str], new: &[&str]) -> Vec<Vec<u16>> {
    let mut longest = vec![vec![0_u16; new.len() + 1]; old.len() + 1];
    for at in (0..old.len()).rev() {
        for to in (0..new.len()).rev() {
            longest[at][to] = match is_same(old[at], new[to]) {
                true => longest[at + 1][to + 1] + 1,
                false => longest[at + 1][to].max(longest[at][to + 1]),
            };
        }
    }
    longest
}

/// Whether two sentences are equal. The last one of a text may lack its full stop.
fn is_same(old: &str, new: &str) -> bool {
    old == new || old.trim_end_matches('.') == new.trim_end_matches('.')
}

fn join(text: &mut String, sentence: &str) {
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(sentence);
}

impl Part {
    /// The number of old words that stay at both ends.
    fn kept(&self) -> usize {
        let (old, new): (Vec<&str>, Vec<&str>) =
            (self.old.split_whitespace().collect(), self.new.split_whitespace().collect());
        let before = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
        let most = old.len().min(new.len()) - before;
        let ends = old.iter().rev().zip(new.iter().rev()).take(most);
        before + ends.take_while(|(old, new)| old == new).count()
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Part { old, new }) in self.0.iter().enumerate() {
            f.write_str(if at == 0 { "" } else { "; " })?;
            match (old.is_empty(), new.is_empty()) {
                (true, _) => write!(f, "added '{new}'"),
                (false, true) => write!(f, "taken out '{old}'"),
                (false, false) => write!(f, "'{old}' -> '{new}'"),
            }?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Amendment, Change};

    fn replaced(text: &str, old: &str, new: &str) -> Result<String, String> {
        let change = Amendment::Replace { old: old.to_owned(), new: new.to_owned() };
        change.applied(text).map_err(|refused| refused.message)
    }

    const DESIGN: &str =
        "The pool holds 20. A caller waits 5 s; then it gets an error. No retry in the pool.";

    #[test]
    fn words_that_occur_once_are_replaced() {
        let new = replaced(DESIGN, "waits 5 s", "waits 2 s").expect("once");
        assert_eq!(new, DESIGN.replace("5 s", "2 s"));
        assert_eq!(replaced(DESIGN, "No retry in the pool.", ""), Ok(DESIGN[..62].trim().to_owned()));
        let twice = replaced(DESIGN, "pool", "ring").expect_err("twice");
        assert!(twice.contains("occur 2 times: \"The pool holds 20."), "{twice}");
        let none = replaced(DESIGN, "a caller waits 9 s", "x").expect_err("never");
        assert!(none.contains("do not occur; the nearest: \"A caller waits 5 s;\""), "{none}");
        assert!(replaced("éa é", "é", "e").expect_err("twice").contains("2 times"));
        assert!(replaced(DESIGN, "20", "20").is_err());
    }

    #[test]
    fn a_change_is_the_sentences_that_differ() {
        let of = |old: &str, new: &str| Change::between(old, new).map(|change| change.to_string());
        let said = |text: &str| Some(text.to_owned());
        assert_eq!(
            of(DESIGN, &DESIGN.replace("5 s", "2 s")),
            said("'A caller waits 5 s;' -> 'A caller waits 2 s;'")
        );
        assert_eq!(of(DESIGN, &format!("{DESIGN} One more.")), said("added 'One more.'"));
        let plain = "we keep one file";
        let appended = Amendment::Append("It is small".to_owned()).applied(plain).expect("a text");
        assert_eq!(appended, "we keep one file. It is small");
        assert_eq!(of(plain, &appended), said("added 'It is small'"));
        assert_eq!(
            of(DESIGN, &DESIGN.replace(" No retry in the pool.", "")),
            said("taken out 'No retry in the pool.'")
        );
        assert_eq!(of(plain, "we keep two files"), said("'we keep one file' -> 'we keep two files'"));
        // Another text is no amendment, and neither is the same text.
        assert_eq!(of("we keep SQLite", "we move to Postgres"), None);
        assert_eq!(of(DESIGN, DESIGN), None);
        assert_eq!(of("a a", "a a a"), said("'a a' -> 'a a a'"));
        assert_eq!(of("a b", "a"), said("'a b' -> 'a'"));
        // Two parts are told one after the other.
        let both = format!("{} And more.", DESIGN.replace("5 s", "2 s"));
        assert_eq!(
            of(DESIGN, &both),
            said("'A caller waits 5 s;' -> 'A caller waits 2 s;'; added 'And more.'")
        );
    }
}
