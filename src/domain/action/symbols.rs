//! Finds symbols in a piece of code by their spelling: names, and paths of names.

use std::collections::BTreeSet;

/// Bytes of a text that are searched. Edits are rarely longer.
const MAX_BYTES: usize = 32 * 1024;
/// The most parts of a path in one symbol.
const MAX_PARTS: usize = 4;
/// The most symbols of one text. Texts with more are generated files.
const MAX_SYMBOLS: usize = 2_000;

/// Every symbol in a text that [`says_enough`]. `std::sync::Pool::get` also gives `sync::Pool::get` and
/// `Pool::get`.
pub(super) fn of(text: &str) -> Vec<String> {
    let text = &text[..text.floor_char_boundary(MAX_BYTES)];
    let mut found = BTreeSet::new();
    for path in text.split(|c: char| !is_part(c) && !matches!(c, ':' | '.')) {
        let parts: Vec<(usize, &str)> = path
            .split([':', '.'])
            .filter(|part| !part.is_empty())
            .map(|part| (part.as_ptr() as usize - path.as_ptr() as usize, part))
            .collect();
        for (first, (from, _)) in parts.iter().enumerate() {
            for (start, part) in parts.iter().skip(first).take(MAX_PARTS) {
                let symbol = &path[*from..start + part.len()];
                if says_enough(symbol) && found.len() < MAX_SYMBOLS {
                    found.insert(symbol.to_owned());
                }
            }
        }
    }
    found.into_iter().collect()
}

/// A symbol without its parentheses.
pub(super) fn bare(symbol: &str) -> &str {
    symbol.trim().trim_end_matches("()").trim_end_matches('!')
}

/// Whether a symbol is more specific than a common word: a path of two names, or a name of several words.
pub(super) fn says_enough(symbol: &str) -> bool {
    let starts = symbol.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let is_path =
        symbol.contains([':', '.']) && symbol.split([':', '.']).all(|part| part.is_empty() || part.len() > 1);
    let name = symbol.trim_matches('_');
    let is_compound = name.contains('_')
        || name
            .chars()
            .zip(name.chars().skip(1))
            .any(|(one, next)| one.is_lowercase() && next.is_uppercase());
    starts && (is_path || is_compound) && symbol.chars().all(|c| is_part(c) || matches!(c, ':' | '.'))
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    #[test]
    fn names_of_several_words_and_paths_are_symbols() {
        let code = "let a = std::sync::Pool::get(x).await; self.conn_pool.retry(maxRetries); // see README.md, e.g. this";
        expect![[r#"
            Pool::get
            README.md
            conn_pool
            conn_pool.retry
            maxRetries
            self.conn_pool
            self.conn_pool.retry
            std::sync
            std::sync::Pool
            std::sync::Pool::get
            sync::Pool
            sync::Pool::get"#]]
        .assert_eq(&super::of(code).join("\n"));
    }
}
