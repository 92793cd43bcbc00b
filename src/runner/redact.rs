//! Replaces secrets in a stream of text by `[redacted:RULE]`, independent of where chunks end.

use crate::domain::privacy::{Secrets, scan};

/// Number of bytes scanned in one step.
const CHUNK_BYTES: usize = 128 << 10;
/// Bytes held back until more text comes. Only the rule for key blocks matches longer secrets.
pub(super) const HOLD_BYTES: usize = 16 << 10;
/// Bytes scanned again for the context of a secret, such as the name it is assigned to.
pub(super) const CONTEXT_BYTES: usize = 1 << 10;
/// The longest block, such as a private key, whose end is awaited; an RSA key of 16,384 bits has 13 KB.
const MAX_BLOCK_BYTES: usize = 96 << 10;

/// A piece of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'t> {
    /// Text without a secret.
    Text(&'t str),
    /// The replacement of a secret.
    Mark(&'t str),
}

/// Redacts text chunk by chunk.
#[derive(Debug)]
pub(super) struct Redactor {
    secrets: Secrets,
    /// Context that was emitted before, then text that was not.
    buffer: String,
    emitted: usize,
    /// Position of the buffer in the stream, in bytes of text.
    base: u64,
    chunk_bytes: usize,
    /// Number of secrets found.
    pub(super) found: u64,
}

impl Redactor {
    /// A redactor with the built-in rules and `secrets`.
    pub(super) fn new(secrets: Secrets) -> Self {
        Self { secrets, buffer: String::new(), emitted: 0, base: 0, chunk_bytes: CHUNK_BYTES, found: 0 }
    }

    /// The end of the text fed so far, in bytes.
    pub(super) fn position(&self) -> u64 {
        self.base + self.buffer.len() as u64
    }

    /// Takes text. `emit` gets each finished piece with the position of its end in the stream.
    pub(super) fn feed(&mut self, text: &str, mut emit: impl FnMut(u64, Piece<'_>)) {
        self.buffer.push_str(text);
        while self.buffer.len() - self.emitted >= self.chunk_bytes + HOLD_BYTES {
            if !self.advance(self.buffer.len() - HOLD_BYTES, &mut emit) {
                break;
            }
        }
    }

    /// Emits the rest.
    pub(super) fn finish(&mut self, mut emit: impl FnMut(u64, Piece<'_>)) {
        self.advance(self.buffer.len(), &mut emit);
    }

    /// Emits the text before a position, or before the secret that spans it. True when any text was emitted.
    fn advance(&mut self, to: usize, emit: &mut impl FnMut(u64, Piece<'_>)) -> bool {
        let found = scan(&self.buffer, &self.secrets);
        let mut to = self.buffer.floor_char_boundary(to);
        if let Some(spanning) = found.iter().find(|one| one.span.start < to && to < one.span.end) {
            // Waits for the end of a block that still grows. A block that is too long is redacted as what it began as.
            let waits = self.buffer.len() - spanning.span.start <= MAX_BLOCK_BYTES;
            to = if waits && spanning.span.start >= self.emitted {
                spanning.span.start
            } else {
                spanning.span.end
            };
        }
        let mut at = self.emitted;
        for one in found.iter().filter(|one| one.span.end > self.emitted && one.span.start < to) {
            if one.span.start > at {
                emit(self.base + one.span.start as u64, Piece::Text(&self.buffer[at..one.span.start]));
            }
            emit(self.base + one.span.end as u64, Piece::Mark(&format!("[redacted:{}]", one.rule)));
            self.found += 1;
            at = one.span.end;
        }
        if to > at {
            emit(self.base + to as u64, Piece::Text(&self.buffer[at..to]));
        }
        let moved = to > self.emitted;
        let keep = self.buffer.floor_char_boundary(to.saturating_sub(CONTEXT_BYTES));
        self.buffer.drain(..keep);
        self.base += keep as u64;
        self.emitted = to - keep;
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::{CONTEXT_BYTES, HOLD_BYTES, MAX_BLOCK_BYTES, Piece, Redactor};
    use crate::domain::privacy::{Secrets, redacted};

    /// A token of no real issuer, in the format of one.
    fn token() -> String {
        ["gh", "p_", "Zk3vQ9xT7mB2wL5nR8cF1hJ4dS6gA0pY3uEo"].concat()
    }

    fn block(lines: usize) -> String {
        let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n".repeat(lines);
        ["-----BEGIN PRIVATE", " KEY-----\n", &body, "-----END PRIVATE", " KEY-----"].concat()
    }

    fn streamed(text: &str, step: usize, chunk_bytes: usize) -> String {
        let mut redactor = Redactor { chunk_bytes, ..Redactor::new(Secrets::default()) };
        let mut out = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (head, tail) = rest.split_at(rest.ceil_char_boundary(step.min(rest.len())));
            redactor.feed(head, |_, piece| push(piece, &mut out));
            rest = tail;
        }
        redactor.finish(|_, piece| push(piece, &mut out));
        out
    }

    fn push(piece: Piece<'_>, out: &mut String) {
        match piece {
            Piece::Text(text) | Piece::Mark(text) => out.push_str(text),
        }
    }

    #[test]
    fn a_secret_at_any_distance_from_a_cut_is_found() {
        let secret = token();
        // The first cut is at `chunk` bytes. The secret ends before it, on it, or after it.
        let chunk = 3_000;
        for before in (chunk - secret.len() - 3)..(chunk + 3) {
            let text = format!("{} {secret} {}", "x".repeat(before), "y".repeat(HOLD_BYTES + CONTEXT_BYTES));
            let out = streamed(&text, 1_000, chunk);
            assert_eq!(out, redacted(&text, &Secrets::default()), "{before} bytes before it");
            assert!(out.contains("[redacted:github-token]"));
        }
    }

    #[test]
    fn a_key_block_is_waited_for() {
        for lines in [3, 200, 900] {
            let text = format!("{}\n{}\nafter {}", "é".repeat(2_500), block(lines), "z".repeat(40_000));
            for step in [1_111, 70_000] {
                let out = streamed(&text, step, 3_000);
                assert_eq!(out, redacted(&text, &Secrets::default()), "{lines} lines in steps of {step}");
            }
        }
        let endless = block(4 * MAX_BLOCK_BYTES / 65);
        let out = streamed(&endless, 4_096, 3_000);
        assert!(out.starts_with("[redacted:private-key]"), "{}", &out[..100]);
    }
}
