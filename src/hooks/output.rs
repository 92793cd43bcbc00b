//! Masks the end of a command's output: removes terminal escapes and secrets before the output is kept.

use sha2::{Digest, Sha256};

use crate::domain::action::{from_root, steady};
use crate::domain::privacy::{self, Finding, Secrets};
use crate::domain::text::OutputTail;
use crate::runner;

/// Bytes read from the end of an output. The limit is generous because escape sequences can fill most of it.
pub(super) const MAX_END_BYTES: usize = 64 * 1024;
/// Bytes of that end which are searched for secrets. The longest secret with a known form is a private key; a key
/// of 16,384 bits takes 12 KiB.
const SEARCHED_BYTES: usize = 32 * 1024;
/// Bytes kept when the search does not cover the beginning of the output. The text before them may be the end of a
/// secret whose beginning was not searched.
const CERTAIN_BYTES: usize = 8 * 1024;

/// The end of an output, with its secrets masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskedOutput {
    /// The last 400 characters. Paths below the root start there, so that a file has one name in all work trees.
    pub tail: OutputTail,
    /// SHA-256 of the whole masked text, in hex.
    pub sha256: String,
    /// SHA-256 of the steady part of the masked text, in hex.
    pub answer_sha256: String,
}

/// Masks the end of an output. The secrets are replaced before the tail is cut, so a cut never leaves half a
/// secret.
pub fn masked_end(output: &str, secrets: &Secrets, root: &str) -> Option<MaskedOutput> {
    // An escape sequence inside a secret would hide the secret from the search.
    let clean = runner::cleaned(output);
    let searched = &clean[clean.ceil_char_boundary(clean.len().saturating_sub(SEARCHED_BYTES))..];
    let is_whole = output.len() < MAX_END_BYTES - char::MAX.len_utf8() && searched.len() == clean.len();
    let kept = if is_whole { searched.len() } else { CERTAIN_BYTES };
    let certain = searched.ceil_char_boundary(searched.len().saturating_sub(kept));
    let findings = privacy::scan(searched, secrets);
    let masked = masked_from(searched, certain, &findings);
    let masked = from_root(masked.trim_end(), root);
    let from = masked.char_indices().rev().nth(OutputTail::MAX_CHARS - 1).map_or(0, |(at, _)| at);
    let tail = masked[from..].parse().ok()?;
    let all = masked_from(searched, 0, &findings);
    let sha256 = |text: &str| hex::encode(Sha256::digest(text.as_bytes()));
    Some(MaskedOutput { tail, sha256: sha256(&all), answer_sha256: sha256(&steady(&all)) })
}

/// The [`MaskedOutput::answer_sha256`] of no output at all.
pub(super) fn empty_answer() -> String {
    hex::encode(Sha256::digest(b""))
}

/// The text from byte `at` on, with each secret replaced that ends after `at`.
fn masked_from(text: &str, mut at: usize, findings: &[Finding]) -> String {
    let mut masked = String::with_capacity(text.len() - at);
    for Finding { rule, span } in findings {
        if span.end > at {
            masked.push_str(&text[at..span.start.max(at)]);
            masked.push_str(&format!("[redacted:{rule}]"));
            at = span.end;
        }
    }
    masked.push_str(&text[at..]);
    masked
}

#[cfg(test)]
mod tests {
    use super::masked_end;
    use crate::domain::privacy::Secrets;

    const KEY: &str = "AKIAQ3EGT4PLKXYWZB7M";

    fn tail(output: &str) -> String {
        masked_end(output, &Secrets::default(), "").expect("an output").tail.to_string()
    }

    #[test]
    fn no_cut_leaves_half_a_secret() {
        // Moves the key, one offset at a time, across the start of the tail and across the start of the searched
        // part.
        for after in (380..=421).chain(32 * 1024 - 25..32 * 1024 + 5) {
            let output = format!("{}{KEY} {}", "x ".repeat(40_000), "y".repeat(after));
            let tail = tail(&output);
            for part in [&KEY[..8], &KEY[12..]] {
                assert!(!tail.contains(part), "{after}: {tail}");
            }
        }
    }

    #[test]
    fn escapes_hide_no_secret_and_reach_no_tail() {
        let output = format!("\u{1b}[32mkey {}\u{1b}[0m{} done\u{1b}[0m\r\n", &KEY[..7], &KEY[7..]);
        assert_eq!(tail(&output), "key [redacted:aws-key] done");
    }

    #[test]
    fn a_key_that_is_almost_all_of_the_end_leaves_nothing_of_itself() {
        let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n".repeat(190);
        let key = format!("-----BEGIN PRIVATE KEY-----\n{body}-----END PRIVATE KEY-----\n");
        let tail = tail(&format!("{key}{key}{key}ok\n"));
        assert!(!tail.contains("MIIEvQ") && tail.ends_with("ok"), "{tail}");
    }

    #[test]
    fn the_hash_is_that_of_the_masked_text() {
        let masked = |output: &str| masked_end(output, &Secrets::default(), "").expect("an output");
        let other = KEY.replace("Q3", "Z4");
        let (one, two) = (masked(&format!("key {KEY}")), masked(&format!("key {other}")));
        assert_eq!(one, two, "a guess of the key cannot be checked against the hash");
        assert_ne!(one.sha256, masked("key").sha256);
        assert_eq!(masked_end(" \n", &Secrets::default(), ""), None);
    }
}
