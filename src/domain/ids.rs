//! Typed ids: the compiler rejects a claim id where an event id is expected.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A text that is no valid id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not {expected}: expected a UUID such as 0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d47")]
pub struct BadId {
    given: String,
    expected: &'static str,
}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident, $noun:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "Uuid")]
        pub struct $name(Uuid);

        impl $name {
            /// Wraps a UUID from an id source.
            pub const fn from_uuid(id: Uuid) -> Self {
                Self(id)
            }

            /// The UUID, to use the same identity in a second role.
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                Uuid::parse_str(text.trim()).map(Self).map_err(|_| BadId {
                    given: text.chars().take(80).collect(),
                    expected: $noun,
                })
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadId;

            fn try_from(text: String) -> Result<Self, BadId> {
                text.parse()
            }
        }

        impl From<$name> for Uuid {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }
    };
}

uuid_id!(
    /// A claim. Equal to the id of the event that created it, so a claim can be cited as evidence.
    ClaimId,
    "a claim id"
);
uuid_id!(
    /// An event in the ledger.
    EventId,
    "an event id"
);
uuid_id!(
    /// One request for a change. All its events carry it as their causation.
    CommandId,
    "a command id"
);

uuid_id!(
    /// One run of an experiment. Equal to the id of the event that queued or recorded it.
    RunId,
    "a run id"
);

uuid_id!(
    /// A plan. Equal to the id of the event that added it; the same holds for phases and tasks.
    PlanId,
    "a plan id"
);
uuid_id!(
    /// A phase of a plan. Equal to the id of the event that added it.
    PhaseId,
    "a phase id"
);
uuid_id!(
    /// A task. Equal to the id of the event that added it.
    TaskId,
    "a task id"
);
uuid_id!(
    /// A guard. Equal to the id of the event that accepted it.
    GuardId,
    "a guard id"
);

uuid_id!(
    /// A pattern in the work of the team. Equal to the id of the event that opened it.
    PatternId,
    "a pattern id"
);

uuid_id!(
    /// A playbook. Equal to the id of the event that proposed it.
    PlaybookId,
    "a playbook id"
);

impl ClaimId {
    /// The event that created this claim: both carry the same UUID.
    pub const fn creation_event(self) -> EventId {
        EventId(self.0)
    }
}

impl RunId {
    /// The event that queued or recorded this run: both carry the same UUID.
    pub const fn first_event(self) -> EventId {
        EventId(self.0)
    }
}

impl EventId {
    /// The claim that this event created, if it created one.
    pub const fn as_claim(self) -> ClaimId {
        ClaimId(self.0)
    }
}

/// A client's session id: 1 to 128 printable characters, chosen by the client.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(String);

impl SessionId {
    /// The session of a researcher, from the id of its run.
    pub fn of_researcher(run: RunId) -> Self {
        Self(format!("research-{run}"))
    }

    /// Whether a session has the form of a researcher's.
    pub fn is_of_researcher(&self) -> bool {
        self.0.strip_prefix("research-").is_some_and(|run| run.parse::<RunId>().is_ok())
    }

    /// The id as the client wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for SessionId {
    type Error = crate::domain::text::BadText;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        crate::domain::text::one_line("session", &text, 128).map(Self)
    }
}

impl FromStr for SessionId {
    type Err = crate::domain::text::BadText;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::try_from(text.to_owned())
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> Self {
        id.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The trace that a call belongs to, as its client names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TraceId(String);

impl TraceId {
    /// The trace of a W3C `traceparent`, which is `VERSION-TRACE-PARENT-FLAGS`. `None` for another text.
    pub fn of_traceparent(text: &str) -> Option<Self> {
        let id = text.split('-').nth(1)?;
        (id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| Self(id.to_owned()))
    }

    /// A trace as it is recorded.
    pub fn recorded(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The id as it is recorded.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A caller's name for a request, by which a retry is recognised: 1 to 200 printable characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The most characters of a key.
    pub const MAX_CHARS: usize = 200;

    /// The key as the caller wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for IdempotencyKey {
    type Error = crate::domain::text::BadText;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        crate::domain::text::one_line("idempotency_key", &text, Self::MAX_CHARS).map(Self)
    }
}

impl FromStr for IdempotencyKey {
    type Err = crate::domain::text::BadText;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::try_from(text.to_owned())
    }
}

impl From<IdempotencyKey> for String {
    fn from(key: IdempotencyKey) -> Self {
        key.0
    }
}
