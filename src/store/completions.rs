//! Values with a typed prefix: ids, scopes, targets, sessions.

use rusqlite::{Connection, params};

use super::rows::{bound, only};
use super::{Matches, Reader, StoreError};
use crate::domain::event::{ClaimCreated, Recorded};
use crate::domain::ids::SessionId;
use crate::domain::names::Sort;

/// Stores the scopes and the session of a new claim for later completions.
pub(super) fn add(db: &Connection, at: &Recorded, body: &ClaimCreated) -> Result<(), StoreError> {
    for scope in body.scopes.iter() {
        super::scopes::add(db, scope, at.seq)?;
    }
    if let Some(session) = at.session.as_ref().map(SessionId::as_str) {
        db.prepare_cached("INSERT OR IGNORE INTO sessions (session, seq) VALUES (?1, ?2)")?
            .execute(params![session, at.seq])?;
    }
    Ok(())
}

impl Reader {
    /// Scopes of claims, sorted.
    pub fn scopes(&self, typed: &str, limit: usize) -> Result<Matches, StoreError> {
        self.beginning_with("scopes", "scope", typed, limit)
    }

    /// Names with this prefix, newest first, or else ids with this prefix.
    pub fn names_beginning(&self, sort: Sort, typed: &str, limit: usize) -> Result<Matches, StoreError> {
        let named = self.names(sort, typed, limit)?;
        if named.total > 0 { Ok(named) } else { self.newest_ids(super::names::table(sort).0, typed, limit) }
    }

    /// Names of targets as scopes, sorted.
    pub fn targets_like(&self, typed: &str, limit: usize) -> Result<Matches, StoreError> {
        self.beginning_with("targets", "name", typed, limit)
    }

    /// Sessions in which claims were made, sorted.
    pub fn sessions(&self, typed: &str, limit: usize) -> Result<Matches, StoreError> {
        self.beginning_with("sessions", "session", typed, limit)
    }

    /// The ids of a table with this prefix, newest first.
    fn newest_ids(&self, table: &str, typed: &str, limit: usize) -> Result<Matches, StoreError> {
        let typed = typed.to_lowercase();
        let end = end_of(&typed);
        let among = format!("FROM {table} WHERE id >= ?1 AND id < ?2");
        let total =
            self.db.prepare_cached(&format!("SELECT count(*) {among}"))?.query_row([&typed, &end], only)?;
        let mut newest = self.db.prepare_cached(&format!("SELECT id {among} ORDER BY id DESC LIMIT ?3"))?;
        let values = newest.query_map(params![typed, end, bound(limit)], only)?;
        Ok(Matches { values: values.collect::<Result<_, _>>()?, total })
    }

    /// The keys of a table with this prefix.
    fn beginning_with(
        &self,
        table: &str,
        key: &str,
        typed: &str,
        limit: usize,
    ) -> Result<Matches, StoreError> {
        let sql = format!("SELECT {key} FROM {table} WHERE {key} >= ?1 AND {key} < ?2 ORDER BY {key}");
        let mut statement = self.db.prepare_cached(&sql)?;
        let mut rows = statement.query([typed, &end_of(typed)])?;
        let mut matches = Matches::default();
        while let Some(row) = rows.next()? {
            if matches.values.len() < limit {
                matches.values.push(only(row)?);
            }
            matches.total += 1;
        }
        Ok(matches)
    }
}

/// The end of the range of all texts with this prefix. No text has a higher character.
fn end_of(typed: &str) -> String {
    format!("{typed}{}", char::MAX)
}
