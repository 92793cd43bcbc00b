//! Short names in the read models, and what a name, an id or its end means: the one resolver.

use rusqlite::{Connection, OptionalExtension, params};
use uuid::Uuid;

use super::{Reader, StoreError};
use crate::domain::event::Recorded;
use crate::domain::names::{Named, Reference, Sort};
use crate::domain::rejection::Rejection;

/// Names that a refusal offers.
const OFFERED: usize = 3;
/// Names that are looked at for those.
const LOOKED_AT: usize = 50;
/// Ids with the same end that are named.
const AMBIGUOUS: usize = 5;
/// Characters of a title beside a name.
const TITLE_CHARS: usize = 40;

/// Counts what an event makes, erased or not.
pub(super) fn count(db: &Connection, recorded: &Recorded) -> Result<(), StoreError> {
    let Some(of) = Named::of(recorded) else { return Ok(()) };
    let id = recorded.id.to_string();
    db.prepare_cached(
        "INSERT INTO names (letter, number, id, reversed) \
         SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3 FROM names WHERE letter = ?1",
    )?
    .execute(params![of.letter(), id, reversed(&id)])?;
    Ok(())
}

/// The end of an id as a beginning, which an index finds.
fn reversed(id: &str) -> String {
    id.chars().rev().collect()
}

/// Where each sort stands.
const fn table(sort: Sort) -> &'static str {
    match sort {
        Sort::Task => "tasks",
        Sort::Plan => "plans",
        Sort::Phase => "phases",
    }
}

impl Reader {
    /// The id that a text means.
    ///
    /// # Errors
    /// [`StoreError`]; a [`Rejection`] inside where it means none or several.
    pub fn resolve(&self, sort: Sort, text: &str) -> Result<Result<Uuid, Rejection>, StoreError> {
        let letter = sort.named().letter();
        let found = match Reference::read(sort, text) {
            Reference::Id(id) => return Ok(Ok(id)),
            Reference::Number(number) => self.names_like(
                sort,
                "WHERE n.letter = ?1 AND n.number = ?2 LIMIT ?3",
                params![letter, i64::try_from(number).unwrap_or(i64::MAX), 1],
            )?,
            Reference::End(end) => {
                let (first, after) = (reversed(&end), format!("{}{}", reversed(&end), char::MAX));
                self.names_like(
                    sort,
                    "WHERE n.reversed >= ?1 AND n.reversed < ?2 AND n.letter = ?4 LIMIT ?3",
                    params![first, after, AMBIGUOUS as i64, letter],
                )?
            }
            Reference::Other => Vec::new(),
        };
        let given: String = text.trim().chars().take(60).collect();
        let noun = sort.noun();
        Ok(match found.as_slice() {
            [(id, _)] => Ok(*id),
            [] => {
                let near = self.near(sort, text)?;
                Err(sort.unknown(format!("no {noun} is called `{given}`"), &near))
            }
            several => {
                let names: Vec<String> = several.iter().map(|(_, name)| name.clone()).collect();
                Err(sort.unknown(format!("several {noun}s end in `{given}`"), &names))
            }
        })
    }

    /// What is there under some names: its id, and its name with its title.
    fn names_like(
        &self,
        sort: Sort,
        condition: &str,
        values: impl rusqlite::Params,
    ) -> Result<Vec<(Uuid, String)>, StoreError> {
        let sql = format!(
            "SELECT n.id, n.letter || n.number, s.title FROM names n CROSS JOIN {} s ON s.id = n.id {condition}",
            table(sort)
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        self.kept_of(statement.query(values)?, |row| {
            let id: String = row.get(0)?;
            let (name, title): (String, String) = (row.get(1)?, row.get(2)?);
            let short: String = title.chars().take(TITLE_CHARS).collect();
            let id = Uuid::parse_str(&id).map_err(super::claims::malformed)?;
            Ok::<_, StoreError>((id, format!("{name} ({short})")))
        })
    }

    /// The names at or below the number that was given, else the latest.
    fn near(&self, sort: Sort, text: &str) -> Result<Vec<String>, StoreError> {
        let upto = match Reference::read(sort, text) {
            Reference::Number(number) => i64::try_from(number).unwrap_or(i64::MAX),
            Reference::Id(_) | Reference::End(_) | Reference::Other => i64::MAX,
        };
        let mut near = self.names_like(
            sort,
            "WHERE n.letter = ?1 AND n.number <= ?2 ORDER BY n.number DESC LIMIT ?3",
            params![sort.named().letter(), upto, LOOKED_AT as i64],
        )?;
        near.truncate(OFFERED);
        Ok(near.into_iter().map(|(_, name)| name).collect())
    }

    /// The name of what has this id; its id where it has none.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn name_of(&self, id: &str) -> Result<String, StoreError> {
        let sql = "SELECT letter || number FROM names WHERE id = ?1";
        let name: Option<String> =
            self.db.prepare_cached(sql)?.query_row([id], |row| row.get(0)).optional()?;
        Ok(name.unwrap_or_else(|| id.to_owned()))
    }

    /// Names of a letter that begin as they were typed, the newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn names(&self, sort: Sort, typed: &str) -> Result<Vec<String>, StoreError> {
        let all = self.names_like(
            sort,
            "WHERE n.letter = ?1 AND n.number >= 0 ORDER BY n.number DESC",
            params![sort.named().letter()],
        )?;
        let names = all.into_iter().filter_map(|(_, name)| Some(name.split(' ').next()?.to_owned()));
        Ok(names.filter(|name| name.starts_with(&typed.to_uppercase())).collect())
    }
}
