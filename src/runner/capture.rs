//! Captures one stream of a run: hashes all of it, then cleans, redacts and stores its beginning and its end up
//! to a cap.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::clean::Cleaner;
use super::redact::{CONTEXT_BYTES, HOLD_BYTES, Piece, Redactor};
use crate::domain::experiment::RunStream;
use crate::domain::privacy::{Secrets, redacted};

/// Bytes read again before the stored end, so that reading does not begin within a secret or an escape sequence.
const LEAD_BYTES: usize = 2 * (HOLD_BYTES + CONTEXT_BYTES);
/// Number of bytes cleaned in one step.
const STEP_BYTES: usize = 64 << 10;
/// Bytes of the newest output that are kept to show its last line. A longer line is not shown.
const RECENT_BYTES: usize = HOLD_BYTES;
/// The longest last line that is shown; the rest is cut off.
const MAX_LINE_CHARS: usize = 200;

/// The facts about a stream that ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Captured {
    /// Number of bytes that the program wrote.
    pub total_bytes: u64,
    /// Number of bytes in the file.
    pub stored_bytes: u64,
    /// Whether the file holds only the beginning and the end.
    pub truncated: bool,
    /// Number of secrets that were replaced in the stored text.
    pub redacted: u64,
    /// Number of terminal sequences that were removed from the stored text.
    pub escapes: u64,
    /// Number of bytes that are not UTF-8 and are stored as `\xNN`.
    pub invalid_bytes: u64,
    /// Whether a process still held the stream open after the run: its last bytes may be missing.
    pub cut_off: bool,
    /// HMAC-SHA-256 of all bytes as they came, in hex, under the workspace's key. The same output has the same
    /// value in this workspace. Without the key, the value does not help to guess redacted text.
    pub raw_hmac_sha256: String,
    /// SHA-256 of the file, in hex.
    pub stored_sha256: String,
}

impl Captured {
    /// The facts that go into the ledger.
    pub fn facts(&self) -> RunStream {
        RunStream {
            total_bytes: self.total_bytes,
            stored_bytes: self.stored_bytes,
            truncated: self.truncated,
            redacted: self.redacted,
            sha256: self.stored_sha256.clone(),
        }
    }
}

/// A stream while it is stored.
#[derive(Debug)]
pub(super) struct Stream {
    mac: Hmac<Sha256>,
    total_bytes: u64,
    secrets: Secrets,
    cleaner: Cleaner,
    redactor: Redactor,
    file: Hashed,
    cap_bytes: u64,
    /// The output after the beginning was full: first as cleaned text, then as raw bytes in `newest`.
    surplus: Tail,
    full: bool,
    newest: VecDeque<u8>,
    newest_bytes: usize,
    lost: bool,
}

impl Stream {
    /// Stores into a new file. `cap` is in bytes; `None` stores everything.
    pub(super) fn create(
        path: &Path,
        cap: Option<u64>,
        key: &[u8; 32],
        secrets: Secrets,
    ) -> io::Result<Self> {
        let cap_bytes = cap.unwrap_or(u64::MAX);
        let half = usize::try_from(cap_bytes / 2).unwrap_or(usize::MAX);
        Ok(Self {
            mac: Hmac::new_from_slice(key).expect("HMAC takes a key of any length"),
            total_bytes: 0,
            redactor: Redactor::new(secrets.clone()),
            secrets,
            cleaner: Cleaner::default(),
            file: Hashed::create(path)?,
            cap_bytes,
            surplus: Tail::new(half),
            full: false,
            newest: VecDeque::new(),
            newest_bytes: half.saturating_add(LEAD_BYTES),
            lost: false,
        })
    }

    /// Takes the next bytes.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.mac.update(bytes);
        self.total_bytes += bytes.len() as u64;
        for step in bytes.chunks(STEP_BYTES) {
            if self.full {
                self.keep(step);
            } else {
                self.begin(step)?;
            }
        }
        Ok(())
    }

    /// Stores the beginning: writes finished text into the file until half of the cap is used.
    fn begin(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut text = String::with_capacity(bytes.len());
        self.cleaner.feed(bytes, &mut text);
        let (file, surplus, full) = (&mut self.file, &mut self.surplus, &mut self.full);
        let limit = self.cap_bytes / 2;
        let mut written = Ok(());
        self.redactor.feed(&text, |_, piece| {
            let (Piece::Text(shown) | Piece::Mark(shown)) = piece;
            let left = usize::try_from(limit - file.bytes).unwrap_or(usize::MAX);
            let fits = match piece {
                _ if *full => 0,
                Piece::Text(_) if shown.len() > left => shown.floor_char_boundary(left),
                Piece::Mark(_) if shown.len() > left => 0,
                Piece::Text(_) | Piece::Mark(_) => shown.len(),
            };
            let (now, later) = shown.split_at(fits);
            if written.is_ok() {
                written = file.write(now.as_bytes());
            }
            if !later.is_empty() {
                *full = true;
                surplus.push(later);
            }
        });
        written
    }

    /// Keeps the newest bytes of the rest, uncleaned.
    fn keep(&mut self, bytes: &[u8]) {
        let over = (self.newest.len() + bytes.len()).saturating_sub(self.newest_bytes);
        if over > 0 {
            self.lost = true;
            self.newest.drain(..over.min(self.newest.len()));
        }
        self.newest.extend(&bytes[bytes.len().saturating_sub(self.newest_bytes)..]);
    }

    /// Stores the end and completes the file. `cut_off` means that the stream itself has not ended.
    pub(super) fn finish(mut self, cut_off: bool) -> io::Result<Captured> {
        let newest = std::mem::take(&mut self.newest);
        let room = usize::try_from(self.cap_bytes - self.file.bytes).unwrap_or(usize::MAX);
        let mut tail = Tail::new(room);
        let mut counted = (0, 0, 0);
        if self.lost {
            // The middle is missing, so the end is cleaned on its own. Its first bytes are cleaned too, but not
            // stored: they only show where a secret or a sequence begins.
            let earlier = (self.cleaner.escapes, self.cleaner.invalid_bytes, self.redactor.found);
            counted = earlier;
            self.cleaner = Cleaner::default();
            self.redactor = Redactor::new(self.secrets.clone());
            let lead: Vec<u8> = newest.iter().take(LEAD_BYTES).copied().collect();
            let mut text = String::new();
            self.cleaner.feed(&lead, &mut text);
            let fence = text.len() as u64;
            self.redactor.feed(&text, |_, _| {});
            debug_assert_eq!(self.redactor.position(), fence);
            self.end(newest.iter().skip(LEAD_BYTES).copied(), fence, &mut tail);
            tail.lost = true;
        } else {
            tail.push(&std::mem::take(&mut self.surplus.text));
            tail.lost |= self.surplus.lost;
            self.end(newest.into_iter(), 0, &mut tail);
        }
        let truncated = tail.lost;
        if truncated {
            let notice = format!(
                "\n[... {} bytes in all, only the beginning and the end are stored ...]\n",
                self.total_bytes
            );
            let end = tail.last(room.saturating_sub(notice.len()));
            self.file.write(notice.as_bytes())?;
            self.file.write(end.as_bytes())?;
        } else {
            self.file.write(tail.text.as_bytes())?;
        }
        let (stored_bytes, stored_sha256) = self.file.seal()?;
        Ok(Captured {
            total_bytes: self.total_bytes,
            stored_bytes,
            truncated,
            escapes: counted.0 + self.cleaner.escapes,
            invalid_bytes: counted.1 + self.cleaner.invalid_bytes,
            redacted: counted.2 + self.redactor.found,
            cut_off,
            raw_hmac_sha256: hex::encode(self.mac.finalize().into_bytes()),
            stored_sha256,
        })
    }

    /// Cleans and redacts the last bytes. Text that ends before the fence is dropped.
    fn end(&mut self, bytes: impl Iterator<Item = u8>, fence: u64, tail: &mut Tail) {
        let mut emit = |end: u64, piece: Piece<'_>| match piece {
            _ if end <= fence => {}
            Piece::Mark(mark) => tail.push(mark),
            Piece::Text(text) => {
                let begin = end - text.len() as u64;
                let skipped = usize::try_from(fence.saturating_sub(begin)).unwrap_or(0);
                tail.push(&text[text.ceil_char_boundary(skipped)..]);
            }
        };
        let mut bytes = bytes.peekable();
        let mut text = String::new();
        while bytes.peek().is_some() {
            let step: Vec<u8> = bytes.by_ref().take(STEP_BYTES).collect();
            text.clear();
            self.cleaner.feed(&step, &mut text);
            self.redactor.feed(&text, &mut emit);
        }
        text.clear();
        self.cleaner.finish(&mut text);
        self.redactor.feed(&text, &mut emit);
        self.redactor.finish(&mut emit);
    }
}

/// Text that keeps only its end.
#[derive(Debug)]
struct Tail {
    text: String,
    most: usize,
    lost: bool,
}

impl Tail {
    const fn new(most: usize) -> Self {
        Self { text: String::new(), most, lost: false }
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        if self.text.len() > self.most {
            self.lost = true;
        }
        // Waits for twice the size, so that text is moved rarely.
        if self.text.len() / 2 > self.most {
            self.text.drain(..self.text.ceil_char_boundary(self.text.len() - self.most));
        }
    }

    /// The last `bytes` bytes, from the beginning of a line if one begins near.
    fn last(&self, bytes: usize) -> &str {
        let end = &self.text[self.text.ceil_char_boundary(self.text.len().saturating_sub(bytes))..];
        let near = end.floor_char_boundary(1_024);
        end[..near].find('\n').map_or(end, |line| &end[line + 1..])
    }
}

/// A file that is hashed as it is written.
#[derive(Debug)]
struct Hashed {
    file: BufWriter<File>,
    hash: Sha256,
    bytes: u64,
}

impl Hashed {
    fn create(path: &Path) -> io::Result<Self> {
        let file = super::artifacts::create_private(path)?;
        Ok(Self { file: BufWriter::with_capacity(STEP_BYTES, file), hash: Sha256::new(), bytes: 0 })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        self.file.write_all(bytes)
    }

    fn seal(self) -> io::Result<(u64, String)> {
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        Ok((self.bytes, hex::encode(self.hash.finalize())))
    }
}

/// The live view of a stream while it runs.
#[derive(Debug, Default)]
pub(super) struct Seen {
    bytes: AtomicU64,
    recent: Mutex<VecDeque<u8>>,
}

impl Seen {
    /// Takes the next bytes.
    pub(super) fn note(&self, bytes: &[u8]) {
        self.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = &bytes[bytes.len().saturating_sub(RECENT_BYTES)..];
        let over = (recent.len() + newest.len()).saturating_sub(RECENT_BYTES);
        recent.drain(..over);
        recent.extend(newest);
    }

    /// Number of bytes so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The last complete line, cleaned and redacted together with the text before it.
    pub(super) fn last_line(&self, secrets: &Secrets) -> Option<String> {
        let recent: Vec<u8> =
            self.recent.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        let mut text = String::new();
        let mut cleaner = Cleaner::default();
        cleaner.feed(&recent, &mut text);
        let text = redacted(&text, secrets);
        let (above, _) = text.rsplit_once('\n')?;
        let line = match above.trim_end().rsplit_once('\n') {
            Some((_, line)) => line,
            // The first line of the stream counts only if its beginning is still kept.
            None if recent.len() < RECENT_BYTES => above.trim_end(),
            None => return None,
        };
        let line: String = line.trim().chars().take(MAX_LINE_CHARS).collect();
        Some(line).filter(|line| !line.is_empty())
    }
}

/// All output of a recorded run, cleaned and redacted, and the facts about it.
pub fn recorded(bytes: &[u8], secrets: &Secrets, key: &[u8; 32]) -> (String, Captured) {
    let mut text = String::new();
    let mut cleaner = Cleaner::default();
    let mut redactor = Redactor::new(secrets.clone());
    let mut shown = String::new();
    let mut emit = |_, piece: Piece<'_>| {
        let (Piece::Text(part) | Piece::Mark(part)) = piece;
        text.push_str(part);
    };
    for step in bytes.chunks(STEP_BYTES) {
        shown.clear();
        cleaner.feed(step, &mut shown);
        redactor.feed(&shown, &mut emit);
    }
    shown.clear();
    cleaner.finish(&mut shown);
    redactor.feed(&shown, &mut emit);
    redactor.finish(&mut emit);
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(bytes);
    let captured = Captured {
        total_bytes: bytes.len() as u64,
        stored_bytes: text.len() as u64,
        truncated: false,
        redacted: redactor.found,
        escapes: cleaner.escapes,
        invalid_bytes: cleaner.invalid_bytes,
        cut_off: false,
        raw_hmac_sha256: hex::encode(mac.finalize().into_bytes()),
        stored_sha256: hex::encode(Sha256::digest(&text)),
    };
    (text, captured)
}

#[cfg(test)]
mod tests {
    use super::Stream;
    use crate::domain::privacy::Secrets;

    #[test]
    fn no_piece_of_a_secret_is_left_at_either_seam() {
        // A token of no real issuer, in the format of one. No line ends near it.
        let secret = ["gh", "p_", "Zk3vQ9xT7mB2wL5nR8cF1hJ4dS6gA0pY3uEo"].concat();
        let unit = format!("{secret} x ");
        let dir = tempfile::tempdir().expect("a temporary directory");
        for shift in (0..unit.len()).step_by(3) {
            // Long enough to fill the beginning and lose the middle.
            let text = format!("{}{}{}", "a ".repeat(shift), unit.repeat(6_000), "y".repeat(shift));
            let path = dir.path().join(shift.to_string());
            let mut stream =
                Stream::create(&path, Some(4_096), &[7; 32], Secrets::default()).expect("a new file");
            stream.write(text.as_bytes()).expect("a disk with room");
            let captured = stream.finish(false).expect("a disk with room");
            let stored = std::fs::read_to_string(&path).expect("text");
            assert!(
                captured.truncated && stored.len() as u64 == captured.stored_bytes && stored.len() <= 4_096
            );
            for piece in [&secret[..12], &secret[secret.len() - 12..]] {
                assert!(!stored.contains(piece), "{piece} at a seam, shifted by {shift}");
            }
        }
    }
}
