//! The names for an event that is cited as evidence: `last`, the id of a run or event, or the end of an id.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize, Serializer};
use uuid::Uuid;

use crate::domain::ids::EventId;
use crate::domain::place::Place;

/// The fewest characters of an end of an id. Shorter ends are rarely unique.
pub const SHORTEST_END: usize = 6;
/// The number of hex digits of a whole id.
const DIGITS: usize = 32;

/// A name of an event that is cited as evidence. Its meaning depends on the session and on the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum EvidenceName {
    /// The last command or run of the citing session.
    Last,
    /// The last command of the citing session whose line contains this text.
    LastWith(String),
    /// The id of an event or of a run. The id of a run stands for the event that ended the run.
    Id(EventId),
    /// The end of such an id.
    End(IdEnd),
    /// Lines of a file. A front records them as an event, which then has the place of this name.
    At(Place),
}

/// The last hex digits of an id, at least [`SHORTEST_END`] and fewer than all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdEnd {
    digits: u32,
    value: u128,
}

impl IdEnd {
    /// Whether an id ends with these digits.
    pub const fn ends(self, id: EventId) -> bool {
        let mask = (1_u128 << (self.digits * 4)) - 1;
        id.uuid().as_u128() & mask == self.value
    }
}

impl fmt::Display for IdEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:0width$x}", self.value, width = self.digits as usize)
    }
}

/// A text that names no event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{given}` names no event: use `last` (the last command or run of your session), `last:WORD` (its last command with \
     that word), the id of a run or an event, the last {SHORTEST_END} characters of an id or more, or lines of a file as \
     path:line or path:from-to"
)]
pub struct BadName {
    given: String,
}

impl EvidenceName {
    /// Whether its meaning is a command of the citing session, as of the call.
    pub const fn is_last(&self) -> bool {
        matches!(self, Self::Last | Self::LastWith(_))
    }
}

impl From<EventId> for EvidenceName {
    fn from(id: EventId) -> Self {
        Self::Id(id)
    }
}

impl FromStr for EvidenceName {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let text = text.trim();
        if text.eq_ignore_ascii_case("last") {
            return Ok(Self::Last);
        }
        if let Some((last, word)) = text.split_once(':')
            && last.eq_ignore_ascii_case("last")
            && !word.trim().is_empty()
        {
            return Ok(Self::LastWith(word.trim().to_owned()));
        }
        if let Ok(id) = Uuid::parse_str(text) {
            return Ok(Self::Id(EventId::from_uuid(id)));
        }
        if let Ok(place) = text.parse() {
            return Ok(Self::At(place));
        }
        let bad = || BadName { given: text.chars().take(80).collect() };
        let digits: String = text.chars().filter(|c| *c != '-').collect();
        let is_end = (SHORTEST_END..DIGITS).contains(&digits.len())
            && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_end {
            return Err(bad());
        }
        let value = u128::from_str_radix(&digits, 16).map_err(|_| bad())?;
        let digits = u32::try_from(digits.len()).map_err(|_| bad())?;
        Ok(Self::End(IdEnd { digits, value }))
    }
}

impl TryFrom<String> for EvidenceName {
    type Error = BadName;

    fn try_from(text: String) -> Result<Self, BadName> {
        text.parse()
    }
}

impl fmt::Display for EvidenceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Last => f.write_str("last"),
            Self::LastWith(word) => write!(f, "last:{word}"),
            Self::Id(id) => id.fmt(f),
            Self::End(end) => end.fmt(f),
            Self::At(place) => place.fmt(f),
        }
    }
}

impl Serialize for EvidenceName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Id(id) => id.serialize(serializer),
            Self::Last | Self::LastWith(_) | Self::End(_) | Self::At(_) => serializer.collect_str(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::EvidenceName;
    use crate::domain::ids::EventId;

    #[test]
    fn an_event_is_named_by_last_an_id_or_an_end_of_six_characters() {
        let id: EventId = "0190b2c4-7d1e-7c3a-9f00-3b1f5a0e8d47".parse().expect("an id");
        let parsed = |text: &str| text.parse::<EvidenceName>();
        assert_eq!(parsed(" LAST "), Ok(EvidenceName::Last));
        assert_eq!(parsed("last:a b"), Ok(EvidenceName::LastWith("a b".to_owned())));
        assert_eq!(parsed(&id.to_string()), Ok(EvidenceName::Id(id)));
        for end in ["0e8d47", "9f00-3b1f5a0e8d47", "190b2c4-7d1e-7c3a-9f00-3b1f5a0e8d47"] {
            let Ok(EvidenceName::End(name)) = parsed(end) else { panic!("{end}") };
            assert!(name.ends(id), "{end}");
            assert_eq!(
                parsed(&name.to_string()),
                Ok(EvidenceName::End(name)),
                "what is queued is read again"
            );
        }
        let Ok(EvidenceName::End(other)) = parsed("0e8d48") else { panic!("an end") };
        assert!(!other.ends(id));
        for bad in
            ["", "8d47", "0e8d4", "-0e8d4-", "zzzzzz", "lastly", "0190b2c4-7d1e-7c3a-9f00-3b1f5a0e8d47f"]
        {
            assert!(parsed(bad).is_err(), "{bad}");
        }
    }
}
