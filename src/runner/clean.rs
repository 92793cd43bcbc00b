//! Makes output safe for a terminal: removes escape sequences, and spells out control and invisible characters.

use std::fmt::Write as _;

use crate::domain::clean;

/// The longest control sequence that is recognised; real ones have a few parameters.
const MAX_SEQUENCE_CHARS: u16 = 64;
/// The longest string, such as a window title or a link, that is recognised in a sequence.
const MAX_STRING_CHARS: u16 = 4_096;

/// Cleans the bytes of a stream, chunk by chunk.
#[derive(Debug, Default)]
pub(super) struct Cleaner {
    state: State,
    /// The first bytes of a character whose last bytes have not come.
    partial: Vec<u8>,
    after_return: bool,
    /// Number of escape sequences removed.
    pub(super) escapes: u64,
    /// Number of bytes that are not UTF-8, stored as `\xNN`.
    pub(super) invalid_bytes: u64,
}

/// A text that is safe to show in a terminal.
pub fn cleaned(text: &str) -> String {
    let mut cleaner = Cleaner::default();
    let mut shown = String::with_capacity(text.len());
    cleaner.feed(text.as_bytes(), &mut shown);
    cleaner.finish(&mut shown);
    shown
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    Escape,
    /// After `ESC [`; the number of characters since.
    Sequence(u16),
    /// After `ESC ]` and the like; the number of characters since.
    String(u16),
    /// After an escape inside a string, which may end the string.
    StringEscape,
}

impl Cleaner {
    /// Appends the cleaned text of some bytes.
    pub(super) fn feed(&mut self, bytes: &[u8], out: &mut String) {
        if self.partial.is_empty() {
            return self.decode(bytes, out);
        }
        // Adds single bytes until the character is complete or invalid.
        let mut taken = 0;
        while taken < bytes.len() && !self.partial.is_empty() {
            let mut bytes_so_far = std::mem::take(&mut self.partial);
            bytes_so_far.push(bytes[taken]);
            taken += 1;
            self.decode(&bytes_so_far, out);
        }
        self.decode(&bytes[taken..], out);
    }

    /// Appends the rest when the stream ends.
    pub(super) fn finish(&mut self, out: &mut String) {
        let partial = std::mem::take(&mut self.partial);
        self.invalid(&partial, out);
    }

    fn decode(&mut self, mut bytes: &[u8], out: &mut String) {
        while !bytes.is_empty() {
            let error = match std::str::from_utf8(bytes) {
                Ok(text) => return self.text(text, out),
                Err(error) => error,
            };
            let (valid, rest) = bytes.split_at(error.valid_up_to());
            self.text(std::str::from_utf8(valid).unwrap_or_default(), out);
            let Some(invalid) = error.error_len() else {
                self.partial = rest.to_vec();
                return;
            };
            self.invalid(&rest[..invalid], out);
            bytes = &rest[invalid..];
        }
    }

    fn invalid(&mut self, bytes: &[u8], out: &mut String) {
        for byte in bytes {
            let _ = write!(out, "\\x{byte:02x}");
            self.invalid_bytes += 1;
        }
    }

    fn text(&mut self, mut text: &str, out: &mut String) {
        loop {
            if self.state == State::Text {
                if self.after_return && !text.is_empty() {
                    self.after_return = false;
                    text = text.strip_prefix('\n').unwrap_or(text);
                }
                let plain = text.bytes().position(needs_a_look).unwrap_or(text.len());
                out.push_str(&text[..plain]);
                text = &text[plain..];
            }
            let Some(c) = text.chars().next() else { return };
            let taken = if self.state == State::Text {
                self.show(c, out);
                true
            } else {
                self.skip(c)
            };
            if taken {
                text = &text[c.len_utf8()..];
            }
        }
    }

    fn show(&mut self, c: char, out: &mut String) {
        match c {
            '\x1b' => {
                self.state = State::Escape;
                self.escapes += 1;
            }
            // A progress bar overwrites its line: a line break keeps the earlier text visible.
            '\r' => {
                self.after_return = true;
                out.push('\n');
            }
            '\0'..='\x1f' | '\x7f' => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            // Scripts and emoji need joiners and selectors. They stay in the file; each reader cleans what it shows.
            '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' => out.push(c),
            _ if clean::is_hidden(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            _ => out.push(c),
        }
    }

    /// Continues an escape sequence. True when the character belongs to it. A sequence that is too long or
    /// breaks off ends here, so that a program that forgets its end does not hide the rest of the text.
    fn skip(&mut self, c: char) -> bool {
        let (state, taken) = match (self.state, c) {
            (State::Escape, '[') => (State::Sequence(0), true),
            (State::Escape, ']' | 'P' | 'X' | '^' | '_') => (State::String(0), true),
            (State::Escape, ' '..='/') => (State::Escape, true),
            (State::Escape, '0'..='~') => (State::Text, true),
            (State::Sequence(_), '@'..='~') => (State::Text, true),
            (State::Sequence(len), ' '..='?') if len < MAX_SEQUENCE_CHARS => (State::Sequence(len + 1), true),
            (State::String(_), '\x07' | '\u{9c}') => (State::Text, true),
            (State::String(_), '\x1b') => (State::StringEscape, true),
            (State::String(len), c) if c != '\n' && len < MAX_STRING_CHARS => (State::String(len + 1), true),
            (State::StringEscape, '\\') => (State::Text, true),
            (State::StringEscape, _) => (State::Escape, false),
            (State::Text | State::Escape | State::Sequence(_) | State::String(_), _) => (State::Text, false),
        };
        self.state = state;
        taken
    }
}

/// Whether a byte is anything but printable ASCII, tab or line feed.
const fn needs_a_look(byte: u8) -> bool {
    !matches!(byte, b' '..=b'~' | b'\t' | b'\n')
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::Cleaner;

    fn cleaned<'b>(chunks: impl IntoIterator<Item = &'b [u8]>) -> (String, u64, u64) {
        let mut cleaner = Cleaner::default();
        let mut out = String::new();
        for chunk in chunks {
            cleaner.feed(chunk, &mut out);
        }
        cleaner.finish(&mut out);
        (out, cleaner.escapes, cleaner.invalid_bytes)
    }

    const SAMPLES: &[&[u8]] = &[
        b"plain\ttext\nsecond line",
        b"\x1b[1;32mgreen\x1b[0m and \x1b]0;title\x07shown",
        b"\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\ \x1b(B\x1b7\x1bc",
        b"10%\r20%\r\ndone\r\n",
        b"unended \x1b]0;title\nis shown",
        b"broken \x1b[12\nis shown, \x1b",
        b"bell\x07 back\x08 nul\x00 del\x7f",
        "héllo 日本 \u{202e}txt.exe\u{202c} \u{e0041}\u{200b}x 👩\u{200d}💻".as_bytes(),
        b"bad \xff\xfe and \xe6\x97 cut \xf0\x9f",
        "\u{9b}31mC1".as_bytes(),
    ];

    #[test]
    fn nothing_is_left_for_a_terminal_to_obey() {
        let shown: Vec<String> = SAMPLES.iter().map(|sample| format!("{:?}\n", cleaned([*sample]))).collect();
        expect![[r#"
            ("plain\ttext\nsecond line", 0, 0)
            ("green and shown", 3, 0)
            ("link ", 5, 0)
            ("10%\n20%\ndone\n", 0, 0)
            ("unended \nis shown", 1, 0)
            ("broken \nis shown, ", 2, 0)
            ("bell\\x07 back\\x08 nul\\x00 del\\x7f", 0, 0)
            ("héllo 日本 \\u{202e}txt.exe\\u{202c} \\u{e0041}\\u{200b}x 👩\u{200d}💻", 0, 0)
            ("bad \\xff\\xfe and \\xe6\\x97 cut \\xf0\\x9f", 0, 6)
            ("\\u{9b}31mC1", 0, 0)
        "#]]
        .assert_eq(&shown.concat());
    }

    #[test]
    fn where_a_chunk_ends_makes_no_difference() {
        for sample in SAMPLES {
            let whole = cleaned([*sample]);
            assert_eq!(cleaned(sample.chunks(1)), whole);
            for at in 0..sample.len() {
                let (one, two) = sample.split_at(at);
                assert_eq!(cleaned([one, two]), whole, "cut at {at}");
            }
        }
    }
}
