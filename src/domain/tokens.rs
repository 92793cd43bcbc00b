//! The one normaliser: turns text into the tokens that the index, queries and similarity rules compare.
//!
//! The tokens are stored. A change here, in the stop words or in the stemmer needs a new `store::FOLD_VERSION`, so
//! that every index is rebuilt.

use frostem::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::domain::stop_words::is_stop_word;

/// The length limit of a token; the longest that agents quote whole is a SHA-256 in hex.
const MAX_TOKEN_CHARS: usize = 64;
/// The most changes between letters and digits in a word; a word with more is a hash.
const MAX_SEAMS: usize = 2;
/// The fewest characters of a stemmed word. The rules of Porter2 are not made for shorter ones.
const MIN_STEMMED_CHARS: usize = 3;

/// The Porter2 stem of a folded ASCII word.
pub(super) fn stemmer() -> impl Fn(&str) -> String {
    let stemmer = Stemmer::new(Algorithm::English);
    move |word| stemmer.stem(word).into_owned()
}

/// The tokens of a text in text order: words are folded, identifiers give their parts and the joined form, stop
/// words are left out, the rest is stemmed. Scripts without spaces give pairs of characters.
pub fn tokens(text: &str) -> Vec<String> {
    read(text, Form::Stems)
}

/// The words of a text in text order: like [`tokens`], but whole instead of stemmed, without the joined forms of
/// identifiers, and with single characters of scripts without spaces.
pub(super) fn words(text: &str) -> Vec<String> {
    read(text, Form::Words)
}

/// The joined forms of the identifiers in a text, as [`tokens`] gives them. Words of prose with a hyphen are none.
pub fn identifiers(text: &str) -> Vec<String> {
    read(text, Form::Joined)
}

fn read(text: &str, form: Form) -> Vec<String> {
    // Fast path without Unicode tables: most statements are ASCII.
    let chars: Vec<char> = if text.is_ascii() { text.chars().collect() } else { unaccented(text).collect() };
    let stemmer = Stemmer::new(Algorithm::English);
    let mut found = Tokens { stemmer, form, tokens: Vec::new() };
    let mut at = 0;
    while at < chars.len() {
        let rest = &chars[at..];
        at += match chars[at] {
            c if is_unspaced(c) => found.unspaced(rest),
            c if is_word(c) => found.identifier(rest),
            _ => 1,
        };
    }
    found.tokens
}

/// The text in NFKC without accents, with its case unchanged.
fn unaccented(text: &str) -> impl Iterator<Item = char> {
    let is_kept = |c: &char| !matches!(*c, '\u{300}'..='\u{36f}' | '\u{fe00}'..='\u{fe0f}' | '\u{200c}' | '\u{200d}' | '\u{ad}');
    text.nfkd().filter(is_kept).nfc()
}

/// Appends a character in lower case; letters without a decomposition get one spelling.
fn case_folded(c: char, into: &mut String) {
    for c in c.to_lowercase() {
        match c {
            'ß' => into.push_str("ss"),
            'æ' => into.push_str("ae"),
            'œ' => into.push_str("oe"),
            'ς' => into.push('σ'),
            'ø' => into.push('o'),
            'ł' => into.push('l'),
            'đ' => into.push('d'),
            'ı' => into.push('i'),
            // The combining dot that lowercasing adds to a Turkish capital İ.
            '\u{307}' => {}
            c => into.push(c),
        }
    }
}

/// Scripts written without spaces: Han, Kana, and Thai with its neighbours.
const fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0e01}'..='\u{0e3a}' | '\u{0e40}'..='\u{0e59}'          // Thai
        | '\u{0e81}'..='\u{0edf}'                                  // Lao
        | '\u{1000}'..='\u{1049}' | '\u{1780}'..='\u{17d3}'        // Myanmar, Khmer
        | '\u{3005}'..='\u{3007}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' // Han
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}'
        | '\u{3041}'..='\u{3096}' | '\u{309d}'..='\u{309f}'        // Hiragana
        | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}') // Katakana
}

fn is_word(c: char) -> bool {
    (c.is_alphanumeric() || is_combining_mark(c)) && !is_unspaced(c)
}

/// Whether a character joins the parts of an identifier.
const fn is_connector(c: char) -> bool {
    matches!(c, '_' | '-' | '\u{2010}')
}

/// Whether a character inside a word is dropped.
const fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}')
}

/// Whether letters and digits meet here.
fn is_seam(before: char, here: char) -> bool {
    before.is_ascii_digit() != here.is_ascii_digit() && !is_combining_mark(here)
}

/// Whether letters and digits of this run are separate parts: yes for `http3` and `k8s`, no for a commit hash.
fn has_parted_digits(chars: &[char]) -> bool {
    let run = chars.iter().take_while(|c| is_word(**c)).count();
    (1..=MAX_SEAMS).contains(&chars[..run].windows(2).filter(|pair| is_seam(pair[0], pair[1])).count())
}

/// Whether a new part starts at `chars[at]`, inside a run of word characters.
fn starts_part(chars: &[char], at: usize) -> bool {
    let (before, here) = (chars[at - 1], chars[at]);
    if !here.is_uppercase() {
        return false;
    }
    if !before.is_uppercase() {
        return true;
    }
    // The last capital of a run belongs to the next word, as in HTTPServer. The s of IDs is an exception.
    match (chars.get(at + 1), chars.get(at + 2)) {
        (Some('s'), after) => after.is_some_and(|c| c.is_lowercase()),
        (next, _) => next.is_some_and(|c| c.is_lowercase()),
    }
}

/// What becomes of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Its stem.
    Stems,
    /// The word itself.
    Words,
    /// The joined form of an identifier, and nothing else.
    Joined,
}

struct Tokens {
    stemmer: Stemmer,
    form: Form,
    tokens: Vec<String>,
}

impl Tokens {
    /// Reads a run of a script without spaces as pairs of characters; returns its length.
    fn unspaced(&mut self, chars: &[char]) -> usize {
        let length = chars.iter().take_while(|c| is_unspaced(**c)).count();
        if self.form == Form::Joined {
            return length;
        }
        if length == 1 || self.form == Form::Words {
            self.tokens.extend(chars[..length].iter().map(char::to_string));
        }
        if self.form == Form::Words {
            return length;
        }
        self.tokens.extend(chars[..length].windows(2).map(String::from_iter));
        length
    }

    /// Reads a word or an identifier; returns its length.
    fn identifier(&mut self, chars: &[char]) -> usize {
        let mut parts = vec![String::new()];
        let (mut at, mut parts_digits) = (0, false);
        while at < chars.len() {
            let joins = chars.get(at + 1).is_some_and(|next| is_word(*next));
            match chars[at] {
                c if is_word(c) => {
                    if at == 0 || !is_word(chars[at - 1]) {
                        parts_digits = has_parted_digits(&chars[at..]);
                    } else if starts_part(chars, at) || (parts_digits && is_seam(chars[at - 1], c)) {
                        parts.push(String::new());
                    }
                    if let Some(part) = parts.last_mut() {
                        case_folded(c, part);
                    }
                }
                c if is_apostrophe(c) && joins => {}
                c if is_connector(c) && joins => parts.push(String::new()),
                _ => break,
            }
            at += 1;
        }
        let is_prose = || chars[..at].iter().all(|c| c.is_lowercase() || *c == '-');
        let has_joined = parts.len() > 1
            && match self.form {
                Form::Stems => true,
                Form::Words => false,
                Form::Joined => !is_prose(),
            };
        if self.form != Form::Joined {
            parts.iter().for_each(|part| self.word(part));
        }
        if has_joined {
            self.word(&parts.concat());
        }
        at
    }

    fn word(&mut self, word: &str) {
        if is_stop_word(word) || !word.chars().any(char::is_alphanumeric) {
            return;
        }
        let word: String = word.chars().take(MAX_TOKEN_CHARS).collect();
        let has_stem = self.form != Form::Words
            && word.len() >= MIN_STEMMED_CHARS
            && word.bytes().all(|byte| byte.is_ascii_lowercase());
        self.tokens.push(if has_stem { self.stemmer.stem(&word).into_owned() } else { word });
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::{identifiers, tokens};

    #[test]
    fn identifiers_are_what_prose_does_not_write() {
        let text = "a read-only getUserById of kafka-consumer-2 in x86_64 or v2, MAX_SIZE and 接続 well-known ERR-42";
        assert_eq!(identifiers(text), ["getuserbyid", "kafkaconsumer2", "x8664", "v2", "maxsiz", "err42"]);
    }

    fn check(texts: &[&str], expected: Expect) {
        let lines: Vec<String> =
            texts.iter().map(|text| format!("{text} -> {}", tokens(text).join(" "))).collect();
        expected.assert_eq(&lines.join("\n"));
    }

    /// A change of this transcript changes the content of indexes: raise `store::FOLD_VERSION` with it.
    #[test]
    fn text_has_one_normal_form() {
        check(
            &[
                "The pool holds 20 connections",
                "OrderedExecution ordered_execution ordered-execution orderedExecution",
                "HTTPServer parses IDs, URLs and x86_64; sha-256 is SHA256",
                "src/db/pool.rs Pool::get_or_insert --no-verify",
                "don't can’t cannot not",
                "Über café naïve Straße ΣΊΣΥΦΟΣ İstanbul ﬁle ＦＵＬＬ",
                "接続プールの上限",
                "ที่เก็บข้อมูล",
                "हिन्दी में लिखा",
                "пул соединений, ёлка",
                "how do we do it? … 🙂 -- _ '",
                "HTTP/3 http3 k8s i64 v2 utf8 5baaab6f9d1 deploy deployments generation generously",
            ],
            expect![[r#"
                The pool holds 20 connections -> pool hold 20 connect
                OrderedExecution ordered_execution ordered-execution orderedExecution -> order execut orderedexecut order execut orderedexecut order execut orderedexecut order execut orderedexecut
                HTTPServer parses IDs, URLs and x86_64; sha-256 is SHA256 -> http server httpserver pars id url x 86 64 x8664 sha 256 sha256 sha 256 sha256
                src/db/pool.rs Pool::get_or_insert --no-verify -> src db pool rs pool get insert getorinsert no verifi noverifi
                don't can’t cannot not -> dont cant cannot not
                Über café naïve Straße ΣΊΣΥΦΟΣ İstanbul ﬁle ＦＵＬＬ -> uber cafe naiv strass σισυφοσ istanbul file full
                接続プールの上限 -> 接続 続プ プー ール ルの の上 上限
                ที่เก็บข้อมูล -> ที ี่ ่เ เก ก็ ็บ บข ข้ ้อ อม มู ูล
                हिन्दी में लिखा -> हिन्दी में लिखा
                пул соединений, ёлка -> пул соединении елка
                how do we do it? … 🙂 -- _ ' -> 
                HTTP/3 http3 k8s i64 v2 utf8 5baaab6f9d1 deploy deployments generation generously -> http 3 http 3 http3 k 8 s k8s 64 i64 v 2 v2 utf 8 utf8 5baaab6f9d1 deploy deploy generat generous"#]],
        );
    }

    fn words() -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec("[a-z]{2,8}", 1..5)
    }

    fn capitalised(word: &str) -> String {
        word[..1].to_uppercase() + &word[1..]
    }

    proptest! {
        // Failing cases are printed; no file is written beside the sources.
        #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

        #[test]
        fn any_text_has_tokens_or_none(text in ".{0,200}") {
            for token in tokens(&text) {
                prop_assert!(!token.is_empty() && !token.contains([' ', '"', '\0']), "{token:?}");
                prop_assert!(!token.is_ascii() || token.chars().all(char::is_alphanumeric), "{token:?}");
            }
        }

        #[test]
        fn a_token_without_stem_and_parts_is_its_own_token(text in "[^a-zA-Z0-9]{0,100}") {
            let once = tokens(&text);
            for token in &once {
                let again = tokens(token);
                prop_assert_eq!(&again, &vec![token.clone()]);
            }
        }

        #[test]
        fn an_identifier_is_the_same_in_every_convention(words in words()) {
            let snake = words.join("_");
            let camel: String = words.iter().map(|word| capitalised(word)).collect();
            prop_assert_eq!(tokens(&snake), tokens(&words.join("-")));
            prop_assert_eq!(tokens(&snake), tokens(&camel));
            prop_assert_eq!(tokens(&snake), tokens(&snake.to_uppercase()));
        }

        #[test]
        fn the_words_of_an_identifier_find_its_parts(words in words()) {
            let identifier = tokens(&words.join("_"));
            for token in tokens(&words.join(" ")) {
                prop_assert!(identifier.contains(&token), "{token} is not in {identifier:?}");
            }
        }
    }
}
