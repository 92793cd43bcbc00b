//! Ordinary text: sentences of a fixed word list, code, and the random-looking things that are no secrets.

use std::path::Path;

use crate::secrets::{ALNUM, DIGITS, HEX, Random};

const WORDS: &[&str] = &[
    "the",
    "a",
    "of",
    "to",
    "is",
    "was",
    "are",
    "in",
    "for",
    "with",
    "and",
    "or",
    "not",
    "when",
    "after",
    "before",
    "pool",
    "token",
    "tokenizer",
    "password",
    "policy",
    "secret",
    "secrets",
    "key",
    "keys",
    "cache",
    "connection",
    "request",
    "response",
    "header",
    "retry",
    "timeout",
    "deadlock",
    "migration",
    "schema",
    "index",
    "query",
    "writer",
    "reader",
    "ledger",
    "claim",
    "agent",
    "session",
    "branch",
    "commit",
    "merge",
    "build",
    "test",
    "tests",
    "flaky",
    "slow",
    "fails",
    "passes",
    "returns",
    "holds",
    "reads",
    "writes",
    "splits",
    "rotates",
    "expires",
    "authentication",
    "authorization",
    "bearer",
    "credentials",
    "certificate",
    "private",
    "public",
    "api",
    "client",
    "server",
    "database",
    "postgres",
    "redis",
    "queue",
    "worker",
    "thread",
    "lock",
    "buffer",
    "stream",
    "parser",
    "because",
    "although",
    "instead",
    "only",
    "never",
    "always",
    "again",
    "still",
    "already",
    "twenty",
    "fifty",
    "configuration",
    "environment",
    "variable",
    "production",
    "staging",
    "vault",
    "docker",
    "kubernetes",
    "terraform",
    "frontend",
    "backend",
    "reviewer",
    "release",
    "version",
    "feature",
    "flag",
    "metric",
    "log",
    "trace",
    "span",
    "unicode",
    "encoding",
    "decoder",
    "checksum",
    "digest",
    "signature",
    "hash",
    "salt",
    "nonce",
    "base64",
    "hex",
];

/// About so many bytes of ordinary note.
pub(crate) fn ordinary(bytes: usize, random: &mut Random) -> String {
    let mut note = String::new();
    while note.len() < bytes {
        match random.below(3) {
            0 => note.push_str(&thing(random)),
            _ => note.push_str(&sentence(random)),
        }
        note.push_str(random.one(&[" ", " ", "\n"]));
    }
    note
}

/// A text with a secret in it, in a sentence, in quotes, in code, in a log line.
pub(crate) fn around(secret: &str, random: &mut Random) -> String {
    let (before, after) = (sentence(random), sentence(random));
    match random.below(10) {
        0 => format!("{before} {secret} {after}"),
        1 => format!("{before} `{secret}`. {after}"),
        2 => format!("{before}: {secret}."),
        3 => format!("{before} ({secret}), {after}"),
        4 => format!("let value = call('{}');", secret.replace('\'', "")),
        5 => format!("{before}\n{secret}\n{after}"),
        6 => format!("[2026-11-21T02:32:18Z] INFO {before} {secret}"),
        7 => format!("**{secret}**, {after}"),
        8 => format!("{before}\\n{secret}\\n{after}"),
        _ => secret.to_owned(),
    }
}

fn sentence(random: &mut Random) -> String {
    let words: Vec<&str> =
        (0..4 + random.below(9)).map(|_| *random.one(&WORDS.iter().collect::<Vec<_>>())).collect();
    let mut text = words.join(" ");
    text.push_str(random.one(&[".", ",", ":", ";", "?"]));
    text
}

fn word(random: &mut Random) -> &'static str {
    WORDS[random.below(WORDS.len())]
}

fn identifier(random: &mut Random) -> String {
    let words: Vec<&str> = (0..2 + random.below(5)).map(|_| word(random)).collect();
    match random.below(3) {
        0 => words.join("_"),
        1 => words.join("-"),
        _ => words.iter().map(|word| word[..1].to_uppercase() + &word[1..]).collect(),
    }
}

/// What stands in notes of programmers and is no secret, however random it looks.
fn thing(random: &mut Random) -> String {
    let r = random;
    match r.below(24) {
        0 => format!("commit {}", r.run(HEX, 40)),
        1 => format!("{} fixed it", r.run(HEX, 7 + r.0 as usize % 6)),
        2 => format!("sha256:{}", r.run(HEX, 64)),
        3 => uuid(r),
        4 => format!("claim {} says so", uuid(r)),
        5 => format!("base64 of it is {}", base64(word(r))),
        6 => format!("src/{}/{}.rs:{}", word(r), identifier(r), r.run(DIGITS, 3)),
        7 => format!("{}@{}.{}.{}-rc.{}", identifier(r), r.below(20), r.below(90), r.below(90), r.below(9)),
        8 => identifier(r),
        9 => format!("{} = {}({});", identifier(r), identifier(r), word(r)),
        10 => format!("let {}: &str = \"{}\";", word(r), identifier(r)),
        11 => format!("{}={}", identifier(r).to_uppercase(), r.below(100_000)),
        12 => format!("\"{}\": \"{}\"", identifier(r), identifier(r)),
        13 => format!("https://docs.internal:8443/{}/{}?page={}", word(r), identifier(r), r.below(99)),
        14 => format!("git@github.com:{}/{}.git", word(r), identifier(r)),
        15 => format!("{}/{}:{}@sha256:{}", word(r), word(r), r.below(30), r.run(HEX, 64)),
        16 => format!("{}_token = {}_from_env(\"{}\")", word(r), word(r), identifier(r).to_uppercase()),
        17 => format!("password: ${{{}}}", identifier(r).to_uppercase()),
        18 => format!("--{} {}", identifier(r).replace('_', "-").to_lowercase(), identifier(r)),
        19 => format!(
            "2026-{:02}-{:02}T{:02}:00:00.{}Z",
            1 + r.below(12),
            1 + r.below(28),
            r.below(24),
            r.run(DIGITS, 6)
        ),
        20 => format!("integrity sha512-{}", r.run(ALNUM, 86)),
        21 => format!("etag: \"{}\"", r.run(HEX, 32)),
        22 => format!("0x{} in {}::{}", r.run(HEX, 12), identifier(r), word(r)),
        _ => format!("cargo test --package {} -- {}::{}", identifier(r), identifier(r), identifier(r)),
    }
}

fn uuid(random: &mut Random) -> String {
    let parts = [8, 4, 4, 4, 12].map(|chars| random.run(HEX, chars));
    parts.join("-")
}

fn base64(word: &str) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in word.as_bytes().chunks(3) {
        let bits = chunk.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte))
            << (8 * (3 - chunk.len()));
        for place in (0..4).rev() {
            let unused = place < 3 - chunk.len();
            text.push(if unused { '=' } else { char::from(DIGITS[bits >> (6 * place) & 63]) });
        }
    }
    text
}

/// The texts of every file below a directory.
pub(crate) fn files_below(dir: &Path) -> Vec<String> {
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            texts.extend(files_below(&path));
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            texts.push(text);
        }
    }
    texts
}
