//! Short names: `T7` for the seventh task of the workspace, `P1` for the first plan or phase. What has one is a line in
//! [`Named::of_kind`]; what an argument can name is a line in [`Sort`].

use std::collections::BTreeMap;
use std::fmt;

use uuid::Uuid;

use crate::domain::event::Recorded;
use crate::domain::rejection::{Code, Rejection};

/// The fewest characters of the end of an id that are taken for it.
pub const MIN_END_CHARS: usize = 6;

/// What is counted together and has one letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Named {
    /// Tasks.
    Task,
    /// Plans and phases.
    Plan,
}

impl Named {
    /// What an event of this type makes; none where that has no name.
    pub fn of_kind(kind: &str) -> Option<Self> {
        match kind {
            "task.added" => Some(Self::Task),
            "plan.added" | "phase.added" => Some(Self::Plan),
            _ => None,
        }
    }

    /// What an event makes, erased or not: it is counted, so that the names of others stay as they are.
    pub fn of(recorded: &Recorded) -> Option<Self> {
        match (&recorded.event, &recorded.erased) {
            (Some(event), _) => Self::of_kind(event.kind()),
            (None, Some(kind)) => Self::of_kind(kind),
            (None, None) => None,
        }
    }

    /// The letter its names begin with.
    pub const fn letter(self) -> &'static str {
        match self {
            Self::Task => "T",
            Self::Plan => "P",
        }
    }
}

/// What an argument names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// A task.
    Task,
    /// A plan.
    Plan,
    /// A phase of a plan.
    Phase,
}

impl Sort {
    /// What it is counted with.
    pub const fn named(self) -> Named {
        match self {
            Self::Task => Named::Task,
            Self::Plan | Self::Phase => Named::Plan,
        }
    }

    /// What it is called in a sentence.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Plan => "plan",
            Self::Phase => "phase",
        }
    }

    /// The code of a refusal of what names none, and where all are listed.
    pub const fn refusal(self) -> (Code, &'static str) {
        match self {
            Self::Task => (Code::UnknownTask, "`hivemind://tasks` shows all"),
            Self::Plan | Self::Phase => (Code::UnknownPlan, "`hivemind://plan` shows all"),
        }
    }

    /// The refusal of what names none.
    pub fn unknown(self, message: String, near: &[String]) -> Rejection {
        let (code, list) = self.refusal();
        let hint = if near.is_empty() {
            format!("there is none yet: {list}")
        } else {
            format!("did you mean {}? {list}", near.join(", "))
        };
        Rejection::new(code, message, hint)
    }
}

/// What a text stands for, before anything is looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// A whole id.
    Id(Uuid),
    /// The number of a name.
    Number(u64),
    /// The end of an id, in lower case.
    End(String),
    /// Something else.
    Other,
}

impl Reference {
    /// Reads a name, an id, the end of an id, or an address such as `hivemind://tasks/T7` that was pasted.
    pub fn read(sort: Sort, text: &str) -> Self {
        let text = text.trim();
        let pasted = text.strip_prefix("hivemind://").and_then(|path| path.split('?').next());
        let text = pasted.and_then(|path| path.trim_end_matches('/').rsplit('/').next()).unwrap_or(text);
        if let Ok(id) = Uuid::parse_str(text) {
            return Self::Id(id);
        }
        let letter = sort.named().letter();
        let number = text.get(..letter.len()).filter(|first| first.eq_ignore_ascii_case(letter));
        let number = number.and_then(|first| text[first.len()..].parse::<u64>().ok());
        let is_end =
            text.len() >= MIN_END_CHARS && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        match number {
            Some(number) => Self::Number(number),
            None if is_end => Self::End(text.to_ascii_lowercase()),
            None => Self::Other,
        }
    }
}

/// A short name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name {
    /// What it is a name of.
    pub of: Named,
    /// Its place among those, from 1.
    pub number: u64,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.of.letter(), self.number)
    }
}

/// Every name that was given out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    last: BTreeMap<Named, u64>,
    names: BTreeMap<Uuid, Name>,
}

impl Names {
    /// The name of what has this id.
    pub fn of(&self, id: Uuid) -> Option<Name> {
        self.names.get(&id).copied()
    }

    /// The name that the next one gets.
    pub fn next(&self, of: Named) -> Name {
        Name { of, number: self.last.get(&of).map_or(1, |last| last + 1) }
    }

    /// Counts what an event makes; its id is that of the event.
    pub fn evolve(&mut self, recorded: &Recorded) {
        let Some(of) = Named::of(recorded) else { return };
        let name = self.next(of);
        self.last.insert(of, name.number);
        self.names.insert(recorded.id.uuid(), name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_a_name_an_id_or_its_end() {
        let id = "0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d47";
        let whole = Reference::Id(id.parse().expect("an id"));
        let read = |text: &str| Reference::read(Sort::Task, text);
        assert_eq!(read("T7"), Reference::Number(7));
        assert_eq!(read(" t7 "), Reference::Number(7));
        assert_eq!(read("hivemind://tasks/T12?format=json"), Reference::Number(12));
        assert_eq!(read(id), whole);
        assert_eq!(read(&format!("hivemind://tasks/{id}")), whole);
        assert_eq!(read("2E8D47"), Reference::End("2e8d47".to_owned()));
        for other in ["e8d47", "P7", "T", "T-1", "mend the pool", ""] {
            assert_eq!(read(other), Reference::Other, "{other}");
        }
        assert_eq!(Reference::read(Sort::Phase, "p2"), Reference::Number(2));
    }
}
