//! Short names: `C47` for the 47th claim of the workspace, `T7` for the seventh task. [`Named::of`] lists the
//! events that get a name, [`Sort`] the entities that an argument can name.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use uuid::Uuid;

use crate::domain::clean::one_line;
use crate::domain::event::{Event, Recorded};
use crate::domain::rejection::{Code, Rejection};

/// The fewest characters that are accepted as the end of an id.
pub const MIN_END_CHARS: usize = 6;
/// Characters of a whole id, hyphens included.
const ID_CHARS: usize = 36;
/// Characters of an id before its first hyphen.
const FIRST_GROUP_CHARS: usize = 8;
/// The event for the end of a run, and for the record of a run from elsewhere.
const RUN_ENDED: &str = "experiment.completed";

/// The series of short names. Each has its own letter and counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Named {
    /// Claims, including decisions and dead ends.
    Claim,
    /// Tasks.
    Task,
    /// Plans and phases.
    Plan,
    /// Runs of experiments.
    Run,
    /// Contradictions.
    Contradiction,
    /// Sessions, counted at their first event. Clients choose the ids of sessions.
    Session,
    /// Patterns in the work of the team. The letter stands for what comes back.
    Pattern,
    /// Guards.
    Guard,
    /// Playbooks.
    Playbook,
}

impl Named {
    /// Every series.
    pub const ALL: [Self; 9] = [
        Self::Claim,
        Self::Task,
        Self::Plan,
        Self::Run,
        Self::Contradiction,
        Self::Session,
        Self::Pattern,
        Self::Guard,
        Self::Playbook,
    ];

    /// The series of the entity that an event creates. An erased event counts too, so that later names stay the
    /// same.
    pub fn of(recorded: &Recorded) -> Option<Self> {
        let kind = match (&recorded.event, &recorded.erased) {
            // The end of a queued run creates nothing.
            (Some(Event::ExperimentCompleted(ended)), _) if ended.run_id.first_event() != recorded.id => {
                return None;
            }
            (Some(event), _) => event.kind(),
            // A recorded run has a session. The writer records the end of a queued run without one.
            (None, Some(kind)) if kind == RUN_ENDED && recorded.session.is_none() => return None,
            (None, Some(kind)) => kind,
            (None, None) => return None,
        };
        match kind {
            "claim.created" => Some(Self::Claim),
            "task.added" => Some(Self::Task),
            "plan.added" | "phase.added" => Some(Self::Plan),
            "experiment.queued" | RUN_ENDED => Some(Self::Run),
            "contradiction.detected" => Some(Self::Contradiction),
            "pattern.opened" => Some(Self::Pattern),
            "guard.accepted" => Some(Self::Guard),
            "playbook.proposed" => Some(Self::Playbook),
            _ => None,
        }
    }

    /// The word for them in a sentence.
    pub const fn nouns(self) -> &'static str {
        match self {
            Self::Claim => "claims",
            Self::Task => "tasks",
            Self::Plan => "plans and phases",
            Self::Run => "runs",
            Self::Contradiction => "contradictions",
            Self::Session => "sessions",
            Self::Pattern => "patterns",
            Self::Guard => "guards",
            Self::Playbook => "playbooks",
        }
    }

    /// The letter at the start of its names.
    pub const fn letter(self) -> &'static str {
        match self {
            Self::Claim => "C",
            Self::Task => "T",
            Self::Plan => "P",
            Self::Run => "R",
            Self::Contradiction => "X",
            Self::Session => "S",
            Self::Pattern => "L",
            Self::Guard => "G",
            Self::Playbook => "B",
        }
    }
}

/// The kind of entity that an argument names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// A claim.
    Claim,
    /// A task.
    Task,
    /// A plan.
    Plan,
    /// A phase of a plan.
    Phase,
    /// A run.
    Run,
    /// A contradiction.
    Contradiction,
    /// A pattern in the work of the team.
    Pattern,
    /// A guard.
    Guard,
    /// A playbook.
    Playbook,
}

impl Sort {
    /// The sorts whose entities have a page each.
    pub const SHOWN: [Self; 7] =
        [Self::Claim, Self::Task, Self::Run, Self::Contradiction, Self::Pattern, Self::Guard, Self::Playbook];

    /// The series that counts it.
    pub const fn named(self) -> Named {
        match self {
            Self::Claim => Named::Claim,
            Self::Task => Named::Task,
            Self::Plan | Self::Phase => Named::Plan,
            Self::Run => Named::Run,
            Self::Contradiction => Named::Contradiction,
            Self::Pattern => Named::Pattern,
            Self::Guard => Named::Guard,
            Self::Playbook => Named::Playbook,
        }
    }

    /// The word for it in a sentence.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Task => "task",
            Self::Plan => "plan",
            Self::Phase => "phase",
            Self::Run => "run",
            Self::Contradiction => "contradiction",
            Self::Pattern => "pattern",
            Self::Guard => "guard",
            Self::Playbook => "playbook",
        }
    }

    /// The code of the refusal for an unknown name, and the address of the list.
    pub const fn refusal(self) -> (Code, &'static str) {
        match self {
            Self::Claim => (Code::UnknownClaim, "`hivemind://claims` shows all"),
            Self::Task => (Code::UnknownTask, "`hivemind://tasks` shows all"),
            Self::Plan | Self::Phase => (Code::UnknownPlan, "`hivemind://plan` shows all"),
            Self::Run => (Code::UnknownRun, "`hivemind://experiments` shows all"),
            Self::Contradiction => (Code::UnknownClaim, "`hivemind://contradictions` shows all"),
            Self::Pattern => (Code::UnknownPattern, "`hivemind://patterns` shows all"),
            Self::Guard => (Code::UnknownGuard, "`hivemind://guards` shows all"),
            Self::Playbook => (Code::UnknownPlaybook, "`hivemind://playbooks` shows all"),
        }
    }

    /// The refusal for the short name of an entity of another sort.
    pub fn elsewhere(self, message: String, other: Self, name: &str) -> Rejection {
        let list = other.refusal().1.split('`').nth(1).unwrap_or_default();
        Rejection::new(self.refusal().0, message, format!("`{list}/{name}` shows it"))
    }

    /// What a text would name by its letter, if that is not the letter of this sort: part of a refusal.
    fn misnamed(self, text: &str) -> Option<String> {
        let (letter, number) = text.split_at_checked(1)?;
        let is_name = letter.bytes().all(|byte| byte.is_ascii_alphabetic())
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit());
        let is_of = |of: &Named| of.letter().eq_ignore_ascii_case(letter);
        let of = Named::ALL.into_iter().find(is_of);
        let own = self.named();
        if !is_name || of == Some(own) {
            return None;
        }
        let letter = letter.to_ascii_uppercase();
        Some(match of {
            Some(of) => format!("{letter} is for {}, and {} for {}", of.nouns(), own.letter(), own.nouns()),
            None => {
                let all = Named::ALL.map(|of| format!("{} for {}", of.letter(), of.nouns())).join(", ");
                format!("no name begins with {letter}; names begin with {all}")
            }
        })
    }

    /// The refusal for a text that names nothing. `near` is `None` where there is nothing that could be named.
    pub fn nothing(self, given: &str, near: Option<&[String]>) -> Rejection {
        let why = self.misnamed(given).map_or_else(String::new, |why| format!(" ({why})"));
        let message = format!("no {} is called `{given}`{why}", self.noun());
        match near {
            Some([]) => {
                let (code, list) = self.refusal();
                Rejection::new(code, message, list)
            }
            near => self.unknown(message, near.unwrap_or_default()),
        }
    }

    /// The refusal for an unknown name.
    pub fn unknown(self, message: String, near: &[String]) -> Rejection {
        let (code, list) = self.refusal();
        let hint = if near.is_empty() {
            format!("there is none yet: {list}")
        } else {
            format!("did you mean {}? {list}", one_line(&near.join(", ")))
        };
        Rejection::new(code, message, hint)
    }
}

/// The meaning of a text by its form, before any lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// A whole id.
    Id(Uuid),
    /// The number of a short name.
    Number(u64),
    /// The end of an id, in lower case.
    End(String),
    /// Any other text.
    Other,
}

impl Reference {
    /// Parses a short name, an id, the end of an id, or a pasted address such as `hivemind://tasks/T7`. `C12345`
    /// counts as a short name, although it could also be the end of an id.
    pub fn read(sort: Sort, text: &str) -> Self {
        let text = pasted(text);
        if let Ok(id) = Uuid::parse_str(text) {
            return Self::Id(id);
        }
        match (number(text, sort.named()), end(text)) {
            (Some(number), _) => Self::Number(number),
            (None, Some(end)) => Self::End(end),
            (None, None) => Self::Other,
        }
    }
}

/// The name in a pasted address. Any other text is returned unchanged.
pub fn pasted(text: &str) -> &str {
    let text = text.trim();
    let path = text.strip_prefix("hivemind://").and_then(|path| path.split('?').next());
    path.and_then(|path| path.trim_end_matches('/').rsplit('/').next()).unwrap_or(text)
}

/// The words of a text that end in a whole id and that a short name may replace. The id is `None` if the word has
/// more before it: such a word, `research-…` for instance, may name a session. Words in paths (except our own
/// addresses) and values of shell variables are left alone.
pub fn quoted_ids(text: &str) -> impl Iterator<Item = (Range<usize>, Option<Uuid>)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        while let Some(hyphen) = text[from..].find('-').map(|at| from + at) {
            from = hyphen + 1;
            let Some(start) = hyphen.checked_sub(FIRST_GROUP_CHARS) else { continue };
            let end = start + ID_CHARS;
            let Some(id) = text.get(start..end).and_then(|id| Uuid::try_parse(id).ok()) else { continue };
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if text[end..].starts_with(is_word) {
                continue;
            }
            from = end;
            let before = text[..start].trim_end_matches(is_word);
            let place =
                before.rfind(|c: char| c.is_whitespace() || "\"'`<>()[],".contains(c)).map_or(0, |at| at + 1);
            if before.ends_with(['/', '\\', '.', '=']) && !before[place..].starts_with("hivemind://") {
                continue;
            }
            return Some((before.len()..end, (before.len() == start).then_some(id)));
        }
        None
    })
}

/// The text with each whole id replaced by its name from `called`, if there is one.
pub fn shortened(text: &str, mut called: impl FnMut(&str, Option<Uuid>) -> Option<String>) -> Cow<'_, str> {
    let (mut short, mut shown) = (String::new(), 0);
    let mut known: BTreeMap<&str, Option<String>> = BTreeMap::new();
    for (range, id) in quoted_ids(text) {
        let word = &text[range.clone()];
        if let Some(called) = known.entry(word).or_insert_with(|| called(word, id)) {
            short.push_str(&text[shown..range.start]);
            short.push_str(called);
            shown = range.end;
        }
    }
    if shown == 0 {
        return Cow::Borrowed(text);
    }
    short.push_str(&text[shown..]);
    Cow::Owned(short)
}

/// The short names that a text quotes, such as `C12`, but not inside longer words.
pub fn names_in(text: &str) -> impl Iterator<Item = Name> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'));
    words
        .filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase()))
        .filter_map(|word| word.parse().ok())
}

/// Whether a text quotes this short name, alone or within a range such as `C21-C27`.
pub fn names_it(text: &str, name: Name) -> bool {
    let is_within = |(first, last): (Name, Name)| {
        first.of == name.of && last.of == name.of && (first.number..=last.number).contains(&name.number)
    };
    let words = text.split(|c: char| !(c.is_alphanumeric() || "-_.–".contains(c)));
    let ends = words.filter_map(|word| ["-", "–", ".."].iter().find_map(|to| word.split_once(to)));
    names_in(text).any(|named| named == name)
        || ends
            .filter_map(|(first, last)| first.parse().ok().zip(last.trim_end_matches('.').parse().ok()))
            .any(is_within)
}

/// The number in a short name of this series.
fn number(text: &str, of: Named) -> Option<u64> {
    let (letter, number) = text.split_at_checked(of.letter().len())?;
    let is_number = letter.eq_ignore_ascii_case(of.letter()) && number.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| number.parse().ok())?
}

/// The end of an id, in lower case; `None` if the text is none.
pub fn end(text: &str) -> Option<String> {
    let is_end =
        text.len() >= MIN_END_CHARS && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_end.then(|| text.to_ascii_lowercase())
}

/// A short name, such as `C47`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name {
    /// The series.
    pub of: Named,
    /// The number in the series, from 1.
    pub number: u64,
}

impl FromStr for Name {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut named = Named::ALL.into_iter();
        named.find_map(|of| Some(Self { of, number: number(text, of)? })).ok_or(())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.of.letter(), self.number)
    }
}

/// All names given out so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    last: BTreeMap<Named, u64>,
    names: BTreeMap<Uuid, Name>,
}

/// The id of the entity that an event creates: that of the event. Of two hypotheses of older releases, the second claim has
/// an id of its own.
pub fn entity(recorded: &Recorded) -> Uuid {
    if let Some(Event::ClaimCreated(claim)) = &recorded.event {
        claim.claim_id.uuid()
    } else {
        recorded.id.uuid()
    }
}

impl Names {
    /// The short name of the entity with this id.
    pub fn of(&self, id: Uuid) -> Option<Name> {
        self.names.get(&id).copied()
    }

    /// The next free name of a series.
    pub fn next(&self, of: Named) -> Name {
        Name { of, number: self.last.get(&of).map_or(1, |last| last + 1) }
    }

    /// Counts the entity that an event creates.
    pub fn evolve(&mut self, recorded: &Recorded) {
        let Some(of) = Named::of(recorded) else { return };
        let name = self.next(of);
        self.last.insert(of, name.number);
        self.names.insert(entity(recorded), name);
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
        assert_eq!(Reference::read(Sort::Claim, "c123456"), Reference::Number(123_456), "a name first");
    }

    #[test]
    fn names_are_found_in_texts() {
        let found = |text: &str| names_in(text).map(|name| name.to_string()).collect::<Vec<_>>();
        assert_eq!(found("refutes C12, (T7) and hivemind://claims/C3."), ["C12", "T7", "C3"]);
        assert_eq!(found("c12 C-12 C12a xC12 C012_ UTF8 C C99999999999999999999"), [""; 0]);
    }

    #[test]
    fn ids_are_found_in_texts_but_not_in_paths_and_longer_words() {
        let id = "0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d47";
        let found = |text: &str| -> Vec<String> {
            let text = text.replace("ID", id);
            let word = |(range, id): (Range<usize>, Option<Uuid>)| {
                format!(
                    "{}{}",
                    text[range].replace(&id.unwrap_or_default().to_string(), "ID"),
                    if id.is_some() { "" } else { "?" }
                )
            };
            quoted_ids(&text).map(word).collect()
        };
        assert_eq!(found("claim ID, (ID) and \"ID\": ID."), ["ID", "ID", "ID", "ID"]);
        assert_eq!(
            found("read hivemind://claims/ID?format=json, or hivemind://experiments/ID/stderr"),
            ["ID", "ID"]
        );
        assert_eq!(found("research-ID"), [format!("research-{id}?")]);
        for none in [
            "artifacts/ID/stdout.txt",
            "/tmp/ID.json",
            "ID-7",
            "IDa",
            "x-y-z",
            "-",
            "é-ID0",
            ".ID",
            "HM_SESSION=ID",
        ] {
            assert_eq!(found(none), [""; 0], "{none}");
        }
    }
}
