//! Distinguishes random values from placeholders.

/// Least bits per character of a secret: `xxxx` has 0, identifiers of English words about 3 over their own letters,
/// 16 random hex digits 3.2 on average.
const MIN_TOKEN_BITS: f64 = 2.5;

/// The fewest characters outside of words in a random value. A time with microseconds has 12, a UUID about 18.
pub(super) const MIN_UNWORDLY_CHARS: usize = 14;

/// Fragments that mark a value as an example. None has fewer than 4 characters, because chance would produce
/// shorter ones.
const EXAMPLES: &[&str] = &[
    "example",
    "xxxx",
    "your_",
    "your-",
    "yourtoken",
    "yourkey",
    "changeme",
    "change_me",
    "change-me",
    "placeholder",
    "redacted",
    "dummy",
    "sample",
    "replace",
    "goes_here",
    "goes-here",
    "....",
    "****",
    "0123456789",
    "1234567890",
    "abcdefgh",
];

/// Whether a value is a placeholder for a secret.
pub(super) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    lower.starts_with(['$', '<', '{', '%', '*', '['])
        || EXAMPLES.iter().any(|example| lower.contains(example))
        || bits_per_char(value) < MIN_TOKEN_BITS && value.len() >= 16
        || distinct(value) <= 3
}

/// Shannon entropy over the value's own characters.
pub(super) fn bits_per_char(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let total = value.len().max(1) as f64;
    let share = |count: u32| f64::from(count) / total;
    counts.iter().filter(|count| **count > 0).map(|count| -share(*count) * share(*count).log2()).sum()
}

fn distinct(value: &str) -> usize {
    let mut seen = [false; 256];
    value.bytes().for_each(|byte| seen[usize::from(byte)] = true);
    seen.iter().filter(|seen| **seen).count()
}

/// The number of characters in parts that are no words. Identifiers, paths, versions and dates have few, tokens
/// many.
pub(super) fn unwordly_chars(value: &str) -> usize {
    let parts = value.split(|c: char| !c.is_ascii_alphanumeric());
    parts.filter(|part| !is_wordly(part)).map(str::len).sum()
}

/// Whether a part is a number, or a usual word with up to three digits: `pool`, `getToken`, `sha256`.
fn is_wordly(part: &str) -> bool {
    let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
    if letters.is_empty() {
        return true;
    }
    if part.len() - letters.len() > 3 || letters.bytes().any(|byte| byte.is_ascii_digit()) {
        return false;
    }
    // Up to seven letters prove nothing. Longer random letters are half upper case, camel case a third at most.
    let upper = letters.bytes().filter(u8::is_ascii_uppercase).count();
    letters.len() < 8 || upper * 3 <= letters.len() || upper == letters.len()
}

/// Whether the last six characters are the CRC-32 of those before, in base 62 (0-9A-Za-z). GitHub's tokens since
/// 2021 and npm's use this public scheme.
pub(super) fn has_crc32_suffix(body: &str) -> bool {
    let Some((payload, suffix)) = body.split_at_checked(body.len().saturating_sub(6)) else { return false };
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(u64::from(byte - b'0')),
        b'A'..=b'Z' => Some(u64::from(byte - b'A') + 10),
        b'a'..=b'z' => Some(u64::from(byte - b'a') + 36),
        _ => None,
    };
    let number = suffix.bytes().try_fold(0, |number: u64, byte| Some(number * 62 + digit(byte)?));
    !payload.is_empty() && number == Some(u64::from(crc32(payload.as_bytes())))
}

/// CRC-32 of IEEE 802.3, bit by bit. Speed does not matter: it rarely runs, on one candidate of 30 characters.
fn crc32(bytes: &[u8]) -> u32 {
    let fold = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 * (crc & 1)))
    };
    !bytes.iter().fold(u32::MAX, fold)
}

#[cfg(test)]
mod tests {
    use super::{crc32, has_crc32_suffix, unwordly_chars};

    #[test]
    fn the_checksum_is_the_published_one() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926, "the check value of CRC-32/ISO-HDLC");
        // The body of the sample in public descriptions of the scheme; never a real token.
        assert!(has_crc32_suffix(&["zQWBuTSOoRi4A9spHcVY", "5ncnsDkxkJ", "0mLq17"].concat()));
        assert!(!has_crc32_suffix(&["zQWBuTSOoRi4A9spHcVY", "5ncnsDkxkJ", "0mLq18"].concat()));
        assert!(!has_crc32_suffix("0mLq17") && !has_crc32_suffix("é0mLq1"));
    }

    #[test]
    fn words_are_told_from_randomness() {
        let cases = [
            ("src/parser/token_stream_v2.rs", 0),
            ("arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db", 0),
            ("getTokenFromHeaderOrCookie", 0),
            ("2026-11-21T02:32:18Z", 8),
            ("550e8400-e29b-41d4-a716-446655440000", 16),
        ];
        assert_eq!(cases.map(|(value, _)| unwordly_chars(value)), cases.map(|(_, chars)| chars));
    }
}
