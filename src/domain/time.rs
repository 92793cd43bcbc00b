//! Time for the rules: a number that comes in as an argument.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From epoch milliseconds.
    pub const fn from_ms(ms: i64) -> Self {
        Self(ms)
    }

    /// Epoch milliseconds.
    pub const fn ms(self) -> i64 {
        self.0
    }

    /// The moment this many hours later.
    pub const fn plus(self, hours: Hours) -> Self {
        Self(self.0.saturating_add(hours.ms()))
    }

    /// The moment this many minutes later.
    pub const fn plus_minutes(self, minutes: u32) -> Self {
        Self(self.0.saturating_add(minutes as i64 * 60_000))
    }

    /// The time from `self` to `now`; zero for a future moment.
    pub const fn age(self, now: Self) -> Span {
        Span(now.0.saturating_sub(self.0))
    }

    /// Whether `self` lies in the last `hours` before `now`.
    pub const fn is_within(self, hours: Hours, now: Self) -> bool {
        now.0.saturating_sub(self.0) <= hours.ms()
    }
}

/// A moment in the ledger: a position or a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Directly after this event.
    Seq(u64),
    /// After every event up to this time.
    Time(Timestamp),
}

/// Numbers from here on are epoch milliseconds (1973-03-03), smaller ones ledger positions. No ledger holds a
/// hundred billion events.
const FIRST_MS: u64 = 100_000_000_000;

/// A text that is no moment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no moment: give a time (2026-11-20T22:10:00Z), a date (2026-11-20, its beginning in UTC), epoch \
     milliseconds, how long ago (45s, 90m, 2h, 3d, 1w), or a ledger position (#1200)"
)]
pub struct BadMoment(String);

impl Moment {
    /// Parses a moment relative to `now`. Every argument for a moment accepts these forms.
    ///
    /// # Errors
    /// [`BadMoment`], which lists the forms.
    pub fn parse(text: &str, now: Timestamp) -> Result<Self, BadMoment> {
        let text = text.trim();
        Self::number(text)
            .or_else(|| ago(text, now).map(Self::Time))
            .or_else(|| date(text).map(Self::Time))
            .or_else(|| {
                let time: jiff::Timestamp = text.parse().ok()?;
                Some(Self::Time(Timestamp(time.as_millisecond())))
            })
            .ok_or_else(|| BadMoment(text.chars().take(60).collect()))
    }

    fn number(text: &str) -> Option<Self> {
        if let Some(seq) = text.strip_prefix('#') {
            return digits(seq).map(Self::Seq);
        }
        let number = digits(text)?;
        if number < FIRST_MS {
            return Some(Self::Seq(number));
        }
        i64::try_from(number).ok().map(Timestamp).map(Self::Time)
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seq(seq) => write!(f, "#{seq}"),
            Self::Time(at) => at.fmt(f),
        }
    }
}

/// Parses a number without a sign; `parse` alone would accept `+5`.
fn digits(text: &str) -> Option<u64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Parses `90m`: 90 minutes before `now`.
fn ago(text: &str, now: Timestamp) -> Option<Timestamp> {
    let unit_ms = match text.chars().last()? {
        's' => 1_000,
        'm' => 60_000,
        'h' => 3_600_000,
        'd' => 86_400_000,
        'w' => 7 * 86_400_000,
        _ => return None,
    };
    let ms = i64::try_from(digits(&text[..text.len() - 1])?).ok()?.checked_mul(unit_ms)?;
    now.0.checked_sub(ms).map(Timestamp)
}

/// Parses `2026-11-20`: its beginning in UTC.
fn date(text: &str) -> Option<Timestamp> {
    let date: jiff::civil::Date = text.parse().ok().filter(|_| text.len() == "2026-11-20".len())?;
    let start = date.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(Timestamp(start.timestamp().as_millisecond()))
}

impl fmt::Display for Timestamp {
    /// Prints RFC 3339 in UTC, to the second: `2026-11-20T22:10:00Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(at) => write!(f, "{}", at.strftime("%Y-%m-%dT%H:%M:%SZ")),
            Err(_) => write!(f, "{} ms", self.0),
        }
    }
}

/// A duration in milliseconds, shown in its largest unit: `12m`. A negative one is shown as zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub i64);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.max(0) / 1_000;
        match seconds {
            0..60 => write!(f, "{seconds}s"),
            60..3_600 => write!(f, "{}m", seconds / 60),
            3_600..172_800 => write!(f, "{}h", seconds / 3_600),
            _ => write!(f, "{}d", seconds / 86_400),
        }
    }
}

/// A whole number of hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Hours(pub u32);

impl Hours {
    /// The duration in milliseconds.
    pub const fn ms(self) -> i64 {
        self.0 as i64 * 3_600_000
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::{Moment, Timestamp};

    fn check(texts: &[&str], expected: Expect) {
        let now = Timestamp::from_ms(1_795_309_837_834);
        let lines: Vec<String> = texts
            .iter()
            .map(|text| match Moment::parse(text, now) {
                Ok(Moment::Time(at)) => format!("{text} -> {at} ({} ms)", at.ms()),
                Ok(at) => format!("{text} -> {at}"),
                Err(_) => format!("{text} -> no moment"),
            })
            .collect();
        expected.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn every_form_of_a_moment_is_read() {
        check(
            &[
                "57",
                "#57",
                "0",
                "99999999999",
                "100000000000",
                "1795309837834",
                "#1795309837834",
                " 2026-11-22 ",
                "2026-11-20T22:10:00Z",
                "2026-11-20T22:10:00.5+01:00",
                "45s",
                "90m",
                "2h",
                "3d",
                "1w",
                "0s",
            ],
            expect![[r#"
                57 -> #57
                #57 -> #57
                0 -> #0
                99999999999 -> #99999999999
                100000000000 -> 1973-03-03T09:46:40Z (100000000000 ms)
                1795309837834 -> 2026-11-22T01:10:37Z (1795309837834 ms)
                #1795309837834 -> #1795309837834
                 2026-11-22  -> 2026-11-22T00:00:00Z (1795305600000 ms)
                2026-11-20T22:10:00Z -> 2026-11-20T22:10:00Z (1795212600000 ms)
                2026-11-20T22:10:00.5+01:00 -> 2026-11-20T21:10:00Z (1795209000500 ms)
                45s -> 2026-11-22T01:09:52Z (1795309792834 ms)
                90m -> 2026-11-21T23:40:37Z (1795304437834 ms)
                2h -> 2026-11-21T23:10:37Z (1795302637834 ms)
                3d -> 2026-11-19T01:10:37Z (1795050637834 ms)
                1w -> 2026-11-15T01:10:37Z (1794705037834 ms)
                0s -> 2026-11-22T01:10:37Z (1795309837834 ms)"#]],
        );
    }

    #[test]
    fn nothing_else_is_a_moment() {
        check(
            &[
                "",
                "#",
                "#-1",
                "+5",
                "-5",
                "1.5",
                "yesterday",
                "m",
                "-3d",
                "3 d",
                "3y",
                "90M",
                "é",
                "2026-13-01",
                "2026-11",
                "20261122T10",
                "2026-11-20T22:10:00",
                "18446744073709551616",
                "9223372036854775807w",
                "18446744073709551615",
            ],
            expect![[r#"
                 -> no moment
                # -> no moment
                #-1 -> no moment
                +5 -> no moment
                -5 -> no moment
                1.5 -> no moment
                yesterday -> no moment
                m -> no moment
                -3d -> no moment
                3 d -> no moment
                3y -> no moment
                90M -> no moment
                é -> no moment
                2026-13-01 -> no moment
                2026-11 -> no moment
                20261122T10 -> no moment
                2026-11-20T22:10:00 -> no moment
                18446744073709551616 -> no moment
                9223372036854775807w -> no moment
                18446744073709551615 -> no moment"#]],
        );
    }
}
