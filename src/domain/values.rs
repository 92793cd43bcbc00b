//! The values that statements give to names: `compact_ratio=0.5`.

use std::collections::BTreeMap;

/// The fewest characters of a name. Shorter ones are variables of formulas.
const NAME_CHARS: usize = 3;

/// The names of a text that get values, each with its value. A name that gets several values has none here.
pub fn values(text: &str) -> BTreeMap<&str, Option<&str>> {
    let mut values: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    for (at, _) in text.match_indices('=') {
        let (before, after) = (&text[..at], &text[at + 1..]);
        let Some((name, value)) = name_before(before).zip(value_after(after)) else { continue };
        values
            .entry(name)
            .and_modify(|known| *known = known.filter(|known| *known == value))
            .or_insert(Some(value));
    }
    values
}

/// The name at the end of a text.
fn name_before(text: &str) -> Option<&str> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let before = text.trim_end_matches(is_of_name);
    let name = text[before.len()..].trim_start_matches('-');
    // What follows in an address is a question to a server.
    if before.ends_with(['?', '&']) {
        return None;
    }
    (name.len() >= NAME_CHARS && name.starts_with(|c: char| c.is_ascii_alphabetic())).then_some(name)
}

/// The value at the beginning of a text.
fn value_after(text: &str) -> Option<&str> {
    let ends = |c: char| c.is_whitespace() || ",;()[]{}<>=`'\"".contains(c);
    let value = text[..text.find(ends).unwrap_or(text.len())].trim_end_matches(['.', ':', '!', '?']);
    value.contains(char::is_alphanumeric).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::values;

    #[test]
    fn a_name_has_the_one_value_that_a_text_gives_to_it() {
        let of = |text: &'static str| values(text).into_iter().collect::<Vec<_>>();
        assert_eq!(of("errors: compact_ratio=0.5."), [("compact_ratio", Some("0.5"))]);
        assert_eq!(of("(max=20, `fsync=off`)"), [("fsync", Some("off")), ("max", Some("20"))]);
        assert_eq!(of("ratio=0.5, later ratio=0.25"), [("ratio", None)]);
        assert_eq!(of("ratio=0.5, and ratio=0.5"), [("ratio", Some("0.5"))]);
        assert_eq!(of("run it with --jobs=4"), [("jobs", Some("4"))]);
        for none in [
            "http://a.b/c?limit=5&page=2",
            "if ratio == 1",
            "ratio >= 2",
            "f(x=1)",
            "key = value",
            "a != b",
            "name=\"x\"",
            "=5",
        ] {
            assert_eq!(of(none), [], "{none}");
        }
    }
}
