//! The warning for an agent that is about to repeat a dead end: one short paragraph.

use serde::Serialize;

use super::Kind;
use crate::domain::claim::Status;
use crate::domain::clean;
use crate::domain::ids::ClaimId;
use crate::domain::time::Timestamp;

/// The longest statement that is quoted whole, in characters. Read the claim for the rest.
const MAX_STATEMENT_CHARS: usize = 400;
/// The longest first line of a statement that is quoted whole, in characters.
const MAX_FIRST_LINE_CHARS: usize = 160;
/// The longest trigger that is quoted whole, in characters.
const MAX_MET_CHARS: usize = 120;
/// The most dead ends in one warning. Agents stop reading longer ones.
pub const MAX_TOLD: usize = 3;

/// A dead end that an action meets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeadEnd {
    /// The claim that reports it.
    pub claim_id: ClaimId,
    /// The statement of the claim: what failed.
    pub statement: String,
    /// The agent that reported it.
    pub owner: String,
    /// The session in which it was reported.
    #[serde(skip)]
    pub session: Option<String>,
    /// The status of the claim; never deprecated.
    pub status: Status,
    /// The doubts about its proof or its agreement: `failed since (R2)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// When it was reported, epoch ms.
    pub created_at: Timestamp,
    /// The kind of trigger that meets the action.
    pub kind: Kind,
    /// The trigger as its author wrote it.
    pub met: String,
}

/// The paragraph: what failed, for which agent, when, why the warning comes now, and what to do if the dead end no
/// longer holds. Empty without dead ends.
pub fn advise(dead_ends: &[DeadEnd], now: Timestamp) -> String {
    let told: Vec<String> = dead_ends.iter().take(MAX_TOLD).map(|dead_end| sentence(dead_end, now)).collect();
    let Some(first) = dead_ends.first() else { return String::new() };
    let more = match dead_ends.len().saturating_sub(MAX_TOLD) {
        0 => String::new(),
        more => format!(" {more} more: `hivemind://negative`."),
    };
    format!(
        "hivemind: this was tried before. {}{more} If it no longer holds, `challenge` {} with the reason; otherwise take another way.",
        told.join(" "),
        if told.len() == 1 { first.claim_id.to_string() } else { "the claim".to_owned() },
    )
}

fn sentence(dead_end: &DeadEnd, now: Timestamp) -> String {
    let what = match dead_end.kind {
        Kind::Command => "the command",
        Kind::Error => "the error",
        Kind::Symbol => "the symbol",
        Kind::Path => "a change of",
        Kind::Write => "what you wrote:",
    };
    let doubt = dead_end.doubt.as_ref().map(|doubt| format!(", in doubt: {}", quoted(doubt, MAX_MET_CHARS)));
    format!(
        "{} {} reported: \"{}\" (claim {}{}{}; it is about {what} `{}`).",
        age(dead_end.created_at, now),
        quoted(&dead_end.owner, MAX_MET_CHARS),
        quoted(&dead_end.statement, MAX_STATEMENT_CHARS),
        dead_end.claim_id,
        if dead_end.status == Status::Contested { ", contested" } else { "" },
        doubt.unwrap_or_default(),
        quoted(&dead_end.met, MAX_MET_CHARS),
    )
}

/// Stored text on one line, cut to `max_chars` characters. Control characters and quotation marks are replaced, so
/// that the text cannot drive a terminal or end the quotation.
pub fn quoted(text: &str, max_chars: usize) -> String {
    let plain = clean::cut_line(text, max_chars).replace(['"', '`'], "'");
    clean::untagged(&plain).into_owned()
}

/// The first line of a statement, as a quotation.
pub fn first_line(statement: &str) -> String {
    let first = statement.lines().next().unwrap_or_default();
    format!("\"{}\"", quoted(first, MAX_FIRST_LINE_CHARS))
}

/// The warning for the author of a claim after another agent edited one of the claim's files.
pub fn edited_since(
    path: &str,
    (by, at): (&str, Timestamp),
    (id, says): (ClaimId, &str),
    now: Timestamp,
) -> String {
    let (path, by) = (quoted(path, MAX_MET_CHARS), quoted(by, MAX_MET_CHARS));
    format!("{path} was edited by {by} {}, after your {id} ({})", age(at, now), first_line(says))
}

/// The age of a moment, in the largest whole unit.
pub fn age(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.ms().saturating_sub(then.ms()) / 1_000;
    let minutes = seconds / 60;
    match minutes {
        ..1 if seconds < 1 => "just now".to_owned(),
        ..1 => format!("{seconds} s ago"),
        1..60 => ago(minutes, "minute"),
        60..1_440 => ago(minutes / 60, "hour"),
        _ => ago(minutes / 1_440, "day"),
    }
}

fn ago(count: i64, unit: &str) -> String {
    format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{DeadEnd, advise};
    use crate::domain::action::Kind;
    use crate::domain::claim::Status;
    use crate::domain::time::Timestamp;

    #[test]
    fn it_says_what_happened_when_and_to_whom() {
        let now = Timestamp::from_ms(1_800_000_000_000);
        let ago = |minutes: i64| Timestamp::from_ms(now.ms() - minutes * 60_000);
        let vendor = DeadEnd {
            claim_id: "0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d48".parse().expect("an id"),
            statement: "vendoring openssl breaks the musl build".to_owned(),
            owner: "devops".to_owned(),
            session: None,
            status: Status::Confirmed,
            doubt: None,
            created_at: ago(3 * 1_440 + 5),
            kind: Kind::Command,
            met: "cargo vendor".to_owned(),
        };
        let path = DeadEnd {
            claim_id: "0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d49".parse().expect("an id"),
            statement: "a \"pool\" of\n20\u{1b}[31m `waits`".to_owned(),
            owner: "ana".to_owned(),
            session: None,
            status: Status::Contested,
            doubt: None,
            created_at: ago(61),
            kind: Kind::Path,
            met: "src/db".to_owned(),
        };
        let statement = "x".repeat(500);
        let error = DeadEnd {
            kind: Kind::Error,
            met: "pool timed out after {n}".to_owned(),
            statement,
            created_at: ago(0),
            ..vendor.clone()
        };
        let symbol =
            DeadEnd { kind: Kind::Symbol, met: "Pool::get".to_owned(), created_at: ago(1), ..vendor.clone() };
        let several = [symbol, path.clone(), path.clone(), path.clone(), path.clone()];
        let told = [
            advise(std::slice::from_ref(&vendor), now),
            advise(&[vendor, path], now),
            advise(&several, now),
            advise(&[error], now),
            advise(&[], now),
        ];
        expect![[r#"
            hivemind: this was tried before. 3 days ago devops reported: "vendoring openssl breaks the musl build" (claim 0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d48; it is about the command `cargo vendor`). If it no longer holds, `challenge` 0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d48 with the reason; otherwise take another way.

            hivemind: this was tried before. 3 days ago devops reported: "vendoring openssl breaks the musl build" (claim 0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d48; it is about the command `cargo vendor`). 1 hour ago ana reported: "a 'pool' of 20�[31m 'waits'" (claim 0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d49, contested; it is about a change of `src/db`). If it no longer holds, `challenge` the claim with the reason; otherwise take another way.

            hivemind: this was tried before. 1 minute ago devops reported: "vendoring openssl breaks the musl build" (claim 0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d48; it is about the symbol `Pool::get`). 1 hour ago ana reported: "a 'pool' of 20�[31m 'waits'" (claim 0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d49, contested; it is about a change of `src/db`). 1 hour ago ana reported: "a 'pool' of 20�[31m 'waits'" (claim 0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d49, contested; it is about a change of `src/db`). 2 more: `hivemind://negative`. If it no longer holds, `challenge` the claim with the reason; otherwise take another way.

            hivemind: this was tried before. just now devops reported: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…" (claim 0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d48; it is about the error `pool timed out after {n}`). If it no longer holds, `challenge` 0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d48 with the reason; otherwise take another way.

        "#]].assert_eq(&told.join("\n\n"));
    }
}
