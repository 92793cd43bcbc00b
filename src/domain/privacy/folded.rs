//! Copies of a text in which disguised secrets have their normal spelling. A copy is made only if it differs from
//! the text. It maps each of its bytes to the original place.

use std::ops::Range;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use unicode_normalization::UnicodeNormalization;

use crate::domain::clean::is_hidden;

/// The fewest characters of joined lines; fewer are words and no token.
const MIN_JOINED_CHARS: usize = 20;
/// The fewest characters of a run of base64 or hex that can hold a secret.
const MIN_ENCODED_CHARS: usize = 24;

/// A text derived from another one.
#[derive(Debug, Default)]
pub(super) struct Copy {
    pub(super) text: String,
    /// The original place of each byte.
    from: Vec<Range<usize>>,
}

impl Copy {
    fn push(&mut self, c: char, from: Range<usize>) {
        self.text.push(c);
        self.from.resize(self.text.len(), from);
    }

    /// The original place of a part of the copy.
    pub(super) fn origin(&self, span: Range<usize>) -> Range<usize> {
        let parts = self.from.get(span).unwrap_or_default();
        let start = parts.iter().map(|part| part.start).min().unwrap_or_default();
        start..parts.iter().map(|part| part.end).max().unwrap_or_default()
    }
}

/// The text without invisible characters, with escapes such as `%41`, `\u0041`, `\x41`, `\n` and `&#65;` decoded,
/// and in NFKC; `None` if that changes nothing.
pub(super) fn decoded(text: &str) -> Option<Copy> {
    let is_plain =
        |byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~') && !matches!(byte, b'%' | b'&' | b'\\');
    if text.bytes().all(is_plain) {
        return None;
    }
    let spelled = |c: char| c != '\r' && is_hidden(c) || !c.is_ascii() && !c.nfkc().eq([c]);
    let escapes = text.match_indices(['%', '\\', '&']).any(|(at, _)| escaped(&text[at..]).is_some());
    if !escapes && !text.contains(spelled) {
        return None;
    }
    let mut copy = Copy::default();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let (c, len) = escaped(&text[at..]).unwrap_or((c, c.len_utf8()));
        let from = at..at + len;
        at = from.end;
        match c {
            '\n' | '\r' | '\t' | ' '..='~' => copy.push(c, from),
            '\u{85}' | '\u{2028}' | '\u{2029}' => copy.push('\n', from),
            _ if is_hidden(c) => {}
            _ => c.nfkc().for_each(|c| copy.push(c, from.clone())),
        }
    }
    Some(copy)
}

/// The character that an escape at the start of a text stands for, and the escape's length in bytes.
fn escaped(text: &str) -> Option<(char, usize)> {
    let hex = |digits: &str| {
        let is_hex = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        char::from_u32(u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)?)
    };
    // A percent escape encodes a byte. Bytes of multi-byte characters stay encoded.
    if let Some(rest) = text.strip_prefix('%') {
        return Some((hex(rest.get(..2)?).filter(char::is_ascii)?, 3));
    }
    for (spelled, c) in [("\\n", '\n'), ("\\r", '\r'), ("\\t", '\t')] {
        if text.starts_with(spelled) {
            return Some((c, spelled.len()));
        }
    }
    if let Some(rest) = text.strip_prefix("\\u{") {
        let len = rest.find('}').filter(|len| *len <= 6)?;
        return Some((hex(&rest[..len])?, 3 + len + 1));
    }
    if let Some(rest) = text.strip_prefix("\\u") {
        return Some((hex(rest.get(..4)?)?, 6));
    }
    if let Some(rest) = text.strip_prefix("\\x") {
        return Some((hex(rest.get(..2)?)?, 4));
    }
    let rest = text.strip_prefix('&')?;
    let len = rest.bytes().take(10).position(|byte| byte == b';')?;
    let c = match &rest[..len] {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "lowbar" => '_',
        "equals" => '=',
        "colon" => ':',
        name => match name.strip_prefix('#')? {
            digits if digits.starts_with(['x', 'X']) => hex(&digits[1..])?,
            digits => char::from_u32(digits.parse().ok()?)?,
        },
    };
    Some((c, len + 2))
}

/// The words around each single line break, joined; `None` if they are too short for a token.
pub(super) fn joined(text: &str, decoded: Option<&Copy>) -> Option<Copy> {
    let base = decoded.map_or(text, |copy| copy.text.as_str());
    if !base.contains('\n') {
        return None;
    }
    let mut copy = Copy::default();
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut flush = |words: &mut Vec<Range<usize>>| {
        if words.len() > 1 && words.iter().map(Range::len).sum::<usize>() >= MIN_JOINED_CHARS {
            for word in words.iter() {
                for (at, c) in base[word.clone()].char_indices() {
                    let span = word.start + at..word.start + at + c.len_utf8();
                    copy.push(c, decoded.map_or(span.clone(), |copy| copy.origin(span)));
                }
            }
            let end = copy.from.last().map_or(0, |last| last.end);
            copy.push(' ', end..end);
        }
        words.clear();
    };
    for word in base.split_ascii_whitespace() {
        let start = word.as_ptr() as usize - base.as_ptr() as usize;
        let gap = words.last().map_or("", |last| &base[last.end..start]);
        if gap.bytes().filter(|byte| *byte == b'\n').count() != 1 {
            flush(&mut words);
        }
        words.push(start..start + word.len());
    }
    flush(&mut words);
    Some(copy).filter(|copy| !copy.text.is_empty())
}

/// Each run of base64 or hex that encodes text: its place and the text.
pub(super) fn encoded(text: &str) -> impl Iterator<Item = (Range<usize>, String)> {
    let belongs = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
    let runs = long_runs(text.as_bytes(), MIN_ENCODED_CHARS, belongs);
    runs.filter_map(|run| Some((run.clone(), decoded_text(&text[run])?)))
}

/// The runs of at least this many bytes of a class. In other text it checks only some bytes: a run of n bytes
/// covers at least one of every n bytes.
pub(super) fn long_runs(
    bytes: &[u8],
    min: usize,
    belongs: impl Fn(u8) -> bool,
) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let probe = at + min - 1;
            if !belongs(*bytes.get(probe)?) {
                at = probe + 1;
                continue;
            }
            let before = bytes[at..probe].iter().rev().take_while(|byte| belongs(**byte)).count();
            let behind = bytes[probe..].iter().take_while(|byte| belongs(**byte)).count();
            at = probe + behind;
            if before + behind >= min {
                return Some(probe - before..at);
            }
        }
    })
}

/// The decoded text of a run, if it is printable. Random bytes are printable once in billions of runs.
fn decoded_text(run: &str) -> Option<String> {
    let hex = || hex::decode(run).ok().and_then(printable);
    let url = run.contains(['-', '_']);
    let alphabet = if url { alphabet::URL_SAFE } else { alphabet::STANDARD };
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    hex().or_else(|| GeneralPurpose::new(&alphabet, config).decode(run).ok().and_then(printable))
}

fn printable(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r')).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::{decoded, encoded, joined, long_runs};

    #[test]
    fn a_copy_spells_out_and_knows_where_each_part_stood() {
        let text = "é a%5Fb\\u0041\\x42\\u{43}&#95;&#x5f;&amp;\u{200b}\u{ff21}\u{e0041}!";
        let copy = decoded(text).expect("a text that changes");
        assert_eq!(copy.text, "é a_bABC__&A!");
        let at = copy.text.find("A!").expect("the last letter");
        assert_eq!(&text[copy.origin(at..at + 1)], "\u{ff21}");
        assert_eq!(&text[copy.origin(4..8)], "%5Fb\\u0041\\x42");
        for plain in ["é and 50% of C:\\users & co; \\x4 %zz &nope; \\u12", "“quotes” — 日本 👍"] {
            assert!(decoded(plain).is_none(), "{plain}");
        }
    }

    #[test]
    fn words_at_one_line_break_run_together() {
        let text = "see abcdefghijkl\nmnopqrstuvwx\r\n  yz01 there\n\nand then\nshort";
        let copy = joined(text, None).expect("a long word");
        assert_eq!(copy.text, "abcdefghijklmnopqrstuvwxyz01 ");
        assert_eq!(&text[copy.origin(10..14)], "kl\nmn");
        assert!(joined("the pool\nof connections", None).is_none());
    }

    #[test]
    fn every_long_run_is_found_whole() {
        let found = |text: &str| long_runs(text.as_bytes(), 4, |byte| byte == b'x').collect::<Vec<_>>();
        assert_eq!(found("xxxx.xxx.xxxxx.x.xxxx"), [0..4, 9..14, 17..21]);
        for start in 0..9 {
            let text = format!("{}xxxx{}", ".".repeat(start), ".".repeat(9 - start));
            assert_eq!(found(&text).pop(), Some(start..start + 4), "{text}");
        }
        assert_eq!(found("xxx"), [0..0; 0]);
    }

    #[test]
    fn only_runs_that_say_something_are_read() {
        let found = |text: &str| encoded(text).map(|(_, said)| said).collect::<Vec<_>>();
        assert_eq!(found("x=dGhlIHBvb2wgaXMgYWx3YXlzIG9wZW4= y"), ["the pool is always open"]);
        assert_eq!(found("746865206b657920697320756e64657220746865206d6174"), ["the key is under the mat"]);
        assert_eq!(found("8f14e45fceea167a5a36dedd4bea25438f14e45f src/domain/privacy/assignments"), [""; 0]);
    }
}
