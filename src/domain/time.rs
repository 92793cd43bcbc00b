//! Time as the rules see it: a number that comes in as an argument.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// A point in time, in epoch milliseconds.
    pub const fn from_ms(ms: i64) -> Self {
        Self(ms)
    }

    /// Epoch milliseconds.
    pub const fn ms(self) -> i64 {
        self.0
    }

    /// The point in time so many hours later.
    pub const fn plus(self, hours: Hours) -> Self {
        Self(self.0.saturating_add(hours.ms()))
    }

    /// The point in time so many minutes later.
    pub const fn plus_minutes(self, minutes: u32) -> Self {
        Self(self.0.saturating_add(minutes as i64 * 60_000))
    }

    /// How long before `now`; nothing for what is yet to come.
    pub const fn age(self, now: Self) -> Span {
        Span(now.0.saturating_sub(self.0))
    }

    /// Whether `self` lies within `hours` before `now`.
    pub const fn is_within(self, hours: Hours, now: Self) -> bool {
        now.0.saturating_sub(self.0) <= hours.ms()
    }
}

/// A place in the past: a ledger position, or a point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// After this event.
    Seq(u64),
    /// After everything up to this time.
    Time(Timestamp),
}

/// Text that is no place in the past.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither a ledger position (1200) nor a time (2026-11-20T22:10:00Z)")]
pub struct BadMoment(String);

impl std::str::FromStr for Moment {
    type Err = BadMoment;

    fn from_str(text: &str) -> Result<Self, BadMoment> {
        let text = text.trim();
        if let Ok(seq) = text.parse() {
            return Ok(Self::Seq(seq));
        }
        let time: Result<jiff::Timestamp, _> = text.parse();
        time.map(|time| Self::Time(Timestamp(time.as_millisecond())))
            .map_err(|_| BadMoment(text.chars().take(60).collect()))
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC, to the second: `2026-11-20T22:10:00Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(at) => write!(f, "{}", at.strftime("%Y-%m-%dT%H:%M:%SZ")),
            Err(_) => write!(f, "{} ms", self.0),
        }
    }
}

/// A length of time in milliseconds, shown in its largest unit: `12m`; a negative one is none.
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
    /// The same span in milliseconds.
    pub const fn ms(self) -> i64 {
        self.0 as i64 * 3_600_000
    }
}
