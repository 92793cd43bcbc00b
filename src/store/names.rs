//! Short names in the read models. The only resolver of names, ids and ends of ids.

use std::cell::RefCell;
use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, ToSql, params};
use uuid::Uuid;

use super::rows::{bound, only};
use super::{Reader, StoreError};
use crate::domain::event::Recorded;
use crate::domain::ids::SessionId;
use crate::domain::names::{self, Name, Named, Reference, Sort};
use crate::domain::rejection::Rejection;

/// The most names that a refusal suggests.
const OFFERED: usize = 3;
/// How far below a number another one counts as near.
const NEARBY: i64 = 3;
/// The shortest text that is looked for in titles, in characters.
const LEAST_WORD_CHARS: usize = 3;
/// The most ids with the same end that a refusal lists.
const AMBIGUOUS: usize = 5;
/// Maximum length of a title beside a name, in characters.
const TITLE_CHARS: usize = 40;

/// Counts the entity that an event creates, erased or not, and its session if that is new.
pub(super) fn count(db: &Connection, recorded: &Recorded) -> Result<(), StoreError> {
    if let Some(session) = recorded.session.as_ref().map(SessionId::as_str) {
        let mut known = db.prepare_cached("SELECT 1 FROM names WHERE id = ?1")?;
        if !known.exists([session])? {
            give(db, Named::Session, session)?;
        }
    }
    Named::of(recorded).map_or(Ok(()), |of| give(db, of, &names::entity(recorded).to_string()))
}

/// Gives the next name of a series to an id. Two statements: before an `INSERT … SELECT`, FTS5 writes the entries that it
/// keeps in memory, so a transaction of many claims would write a part of the search index for each of them.
fn give(db: &Connection, of: Named, id: &str) -> Result<(), StoreError> {
    let number: i64 = db
        .prepare_cached("SELECT coalesce(max(number), 0) + 1 FROM names WHERE letter = ?1")?
        .query_row([of.letter()], only)?;
    db.prepare_cached("INSERT INTO names (letter, number, id, reversed) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![of.letter(), number, id, reversed(id)])?;
    Ok(())
}

/// An id in reverse. An index then finds the end of an id as a prefix.
fn reversed(id: &str) -> String {
    id.chars().rev().collect()
}

/// The range of reversed ids with this end. The second bound is exclusive.
fn end_of(end: &str) -> (String, String) {
    (reversed(end), format!("{}{}", reversed(end), char::MAX))
}

/// The table of each sort, and the condition that selects its rows.
pub(super) const fn table(sort: Sort) -> (&'static str, &'static str) {
    match sort {
        Sort::Claim => ("claims", "statement"),
        Sort::Task => ("tasks", "title"),
        Sort::Plan => ("plans", "title"),
        Sort::Phase => ("phases", "title"),
        Sort::Run => ("experiments", "command"),
        Sort::Contradiction => ("belief_contradictions", "kind"),
        Sort::Pattern => ("patterns", "about"),
        Sort::Guard => ("guards", "text"),
        Sort::Playbook => ("playbooks", "title"),
    }
}

/// Values with a typed prefix.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matches {
    /// The values, up to the requested number.
    pub values: Vec<String>,
    /// The number of all such values.
    pub total: u64,
}

impl Reader {
    /// The id that a text means.
    ///
    /// # Errors
    /// [`StoreError`]. The inner [`Rejection`] refuses a text that means no id or several.
    pub fn resolve(&self, sort: Sort, text: &str) -> Result<Result<Uuid, Rejection>, StoreError> {
        let mut found = match Reference::read(sort, text) {
            Reference::Id(id) => return Ok(Ok(id)),
            Reference::Number(number) => self.names_like(
                sort,
                "WHERE n.letter = ?1 AND n.number = ?2 LIMIT ?3",
                params![sort.named().letter(), bound(number), 1],
            )?,
            Reference::End(_) | Reference::Other => Vec::new(),
        };
        if found.is_empty()
            && let Some(end) = names::end(names::pasted(text))
        {
            let (first, after) = end_of(&end);
            found = self.names_like(
                sort,
                "WHERE n.reversed >= ?1 AND n.reversed < ?2 AND n.letter = ?4 LIMIT ?3",
                params![first, after, AMBIGUOUS, sort.named().letter()],
            )?;
        }
        let given: String = text.trim().chars().take(60).collect();
        let noun = sort.noun();
        Ok(match found.as_slice() {
            [(id, _)] => Ok(*id),
            [] => {
                if let Some(other) = self.other_sort(sort, text)? {
                    let problem = format!("`{given}` is no {noun} but a {}", other.noun());
                    return Ok(Err(sort.elsewhere(problem, other, &given)));
                }
                if let Some((noun_of_it, address)) = self.without_page(sort, text)? {
                    let problem = format!("`{given}` is no {noun} but a {noun_of_it}");
                    let hint = format!("`{address}` shows it");
                    return Ok(Err(Rejection::new(sort.refusal().0, problem, hint)));
                }
                let near = self.near(sort, text)?;
                Err(sort.nothing(&given, near.as_deref()))
            }
            several => {
                let names: Vec<String> = several.iter().map(|(_, name)| name.clone()).collect();
                Err(sort.unknown(format!("several {noun}s end in `{given}`"), &names))
            }
        })
    }

    /// The sort of the entity that has this short name, if it is another one.
    fn other_sort(&self, sort: Sort, text: &str) -> Result<Option<Sort>, StoreError> {
        for other in Sort::SHOWN.into_iter().filter(|other| other.named() != sort.named()) {
            let Reference::Number(number) = Reference::read(other, text) else { continue };
            if self.id_called(Name { of: other.named(), number })?.is_some() {
                return Ok(Some(other));
            }
        }
        Ok(None)
    }

    /// The noun and the address of a session, a plan or a phase that has this short name, if such a one is not meant.
    fn without_page(&self, sort: Sort, text: &str) -> Result<Option<(&'static str, String)>, StoreError> {
        let Ok(name) = names::pasted(text).parse::<Name>() else { return Ok(None) };
        let found = if name.of == Named::Session {
            ("session", format!("hivemind://sessions/{name}"))
        } else if name.of == Named::Plan && sort.named() != Named::Plan {
            ("plan or a phase", "hivemind://plan".to_owned())
        } else {
            return Ok(None);
        };
        Ok(self.id_called(name)?.map(|_| found))
    }

    /// The id with this short name, of any sort.
    pub fn id_called(&self, name: Name) -> Result<Option<String>, StoreError> {
        let Ok(number) = i64::try_from(name.number) else { return Ok(None) };
        let mut one = self.db.prepare_cached("SELECT id FROM names WHERE letter = ?1 AND number = ?2")?;
        Ok(one.query_row(params![name.of.letter(), number], only).optional()?)
    }

    /// The only session whose id has this end.
    pub fn session_ending(&self, end: &str) -> Result<Option<String>, StoreError> {
        let (first, after) = end_of(end);
        let mut ending = self.db.prepare_cached(
            "SELECT id FROM names WHERE reversed >= ?1 AND reversed < ?2 AND letter = ?3 LIMIT 2",
        )?;
        let mut rows = ending.query([&first, &after, Named::Session.letter()])?;
        let found: Option<String> = rows.next()?.map(only).transpose()?;
        Ok(found.filter(|_| matches!(rows.next(), Ok(None))))
    }

    /// The id, the name and the title of each entity with one of these names.
    fn names_like(
        &self,
        sort: Sort,
        condition: &str,
        values: impl rusqlite::Params,
    ) -> Result<Vec<(Uuid, String)>, StoreError> {
        let (table, title) = table(sort);
        let sql = format!(
            "SELECT n.id, n.letter || n.number AS name, s.{title} AS title FROM names n CROSS JOIN {table} s ON s.id = n.id {condition}"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        self.kept_of(statement.query(values)?, |row| {
            let id: String = row.get("id")?;
            let (name, title): (String, String) = (row.get("name")?, row.get("title")?);
            let short: String = title.chars().take(TITLE_CHARS).collect();
            let id = Uuid::parse_str(&id).map_err(super::rows::malformed)?;
            Ok::<_, StoreError>((id, format!("{name} ({short})")))
        })
    }

    /// What a text that names nothing may mean: the number without its letter, the numbers just below, or the newest entities
    /// whose title has the text. `None` if there is no entity of this sort.
    fn near(&self, sort: Sort, text: &str) -> Result<Option<Vec<String>>, StoreError> {
        let letter = sort.named().letter();
        if self.names_like(sort, "WHERE n.letter = ?1 LIMIT 1", params![letter])?.is_empty() {
            return Ok(None);
        }
        let given = names::pasted(text);
        let among = |first: i64, last: i64| {
            let condition = "WHERE n.letter = ?1 AND n.number BETWEEN ?2 AND ?3 ORDER BY n.number DESC";
            self.names_like(sort, condition, params![letter, first, last])
        };
        let near = match (Reference::read(sort, text), given.parse::<i64>()) {
            (Reference::Number(number), _) => among(bound(number).saturating_sub(NEARBY), bound(number))?,
            (_, Ok(number)) => among(number, number)?,
            _ if given.chars().count() < LEAST_WORD_CHARS => Vec::new(),
            _ => {
                let (_, title) = table(sort);
                let condition = format!(
                    "WHERE n.letter = ?1 AND instr(lower(s.{title}), lower(?2)) > 0 ORDER BY n.number DESC LIMIT ?3"
                );
                self.names_like(sort, &condition, params![letter, given, OFFERED])?
            }
        };
        Ok(Some(near.into_iter().take(OFFERED).map(|(_, name)| name).collect()))
    }

    /// The short name of an id, or the id if it has none.
    pub fn name_of(&self, id: impl ToSql + ToString) -> Result<String, StoreError> {
        Ok(self.name_given(&id)?.unwrap_or_else(|| id.to_string()))
    }

    /// The short name of an id, if it has one.
    pub fn name_given(&self, id: impl ToSql) -> Result<Option<String>, StoreError> {
        let sql = "SELECT letter || number FROM names WHERE id = ?1";
        Ok(self.db.prepare_cached(sql)?.query_row([id], only).optional()?)
    }

    /// The short name of a session. None for the id of anything else.
    pub fn session_name(&self, id: &str) -> Result<Option<String>, StoreError> {
        Ok(self.name_given(id)?.filter(|name| name.starts_with(Named::Session.letter())))
    }

    /// Replaces whole ids in a text by their short names.
    pub fn shortened(&self, text: &str) -> String {
        // An id stays unchanged if the look-up fails.
        names::shortened(text, |word, _| self.name_given(word).ok().flatten()).into_owned()
    }

    /// [`Self::shortened`] for many texts: each id is looked up once.
    pub fn shortener(&self) -> impl Fn(&str) -> String + '_ {
        let seen: RefCell<HashMap<String, Option<String>>> = RefCell::default();
        let called = move |word: &str| {
            let mut seen = seen.borrow_mut();
            let name = seen.entry(word.to_owned()).or_insert_with(|| self.name_given(word).ok().flatten());
            name.clone()
        };
        move |text| names::shortened(text, |word, _| called(word)).into_owned()
    }

    /// Names with the typed prefix, the newest first, and their number.
    pub(super) fn names(&self, sort: Sort, typed: &str, limit: usize) -> Result<Matches, StoreError> {
        let letter = sort.named().letter();
        let digits = if typed.is_empty() {
            ""
        } else {
            match typed.split_at_checked(letter.len()) {
                Some((first, digits)) if first.eq_ignore_ascii_case(letter) => digits,
                _ => return Ok(Matches::default()),
            }
        };
        let last: i64 = self
            .db
            .prepare_cached("SELECT coalesce(max(number), 0) FROM names WHERE letter = ?1")?
            .query_row([letter], only)?;
        let (among, mut matches) = ("n.letter = ?1 AND n.number BETWEEN ?2 AND ?3", Matches::default());
        for (first, after) in beginning(digits, last) {
            let (table, _) = table(sort);
            let sql =
                format!("SELECT count(*) FROM names n CROSS JOIN {table} s ON s.id = n.id WHERE {among}");
            let count: u64 = self.db.prepare_cached(&sql)?.query_row(params![letter, first, after], only)?;
            matches.total += count;
            let found = self.names_like(
                sort,
                &format!("WHERE {among} ORDER BY n.number DESC LIMIT ?4"),
                params![letter, first, after, bound(limit - matches.values.len())],
            )?;
            let names = found.into_iter().filter_map(|(_, name)| Some(name.split(' ').next()?.to_owned()));
            matches.values.extend(names);
        }
        Ok(matches)
    }
}

/// The ranges of numbers up to `last` that start with these digits, the highest first. For 4: 400 to 499, 40 to 49, and
/// 4.
fn beginning(digits: &str, last: i64) -> Vec<(i64, i64)> {
    if digits.is_empty() {
        return vec![(1, last)];
    }
    let Some(first) = digits.parse::<i64>().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()))
    else {
        return Vec::new();
    };
    let tens = (0..).map_while(|power| 10_i64.checked_pow(power));
    let ranges = tens.map_while(|tens| Some((first.checked_mul(tens)?, (first + 1).checked_mul(tens)? - 1)));
    let mut ranges: Vec<_> = ranges.take_while(|(first, _)| (1..=last).contains(first)).collect();
    ranges.reverse();
    ranges
}
