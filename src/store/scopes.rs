//! What a scope is looked up by: its names, what lies above it, and the globs that can mean it.

use rusqlite::{Connection, params};

use super::index::Around;
use super::rows::{Json, only};
use super::{ClaimFilter, Reader, StoreError};
use crate::domain::scope::Scope;

/// Scopes a glob is spelled out as; one that matches more is looked up by its directory.
const MAX_SPELLED: usize = 500;

/// A scope of a new claim. A glob stands under the directory that it begins with, where a path finds it.
pub(super) fn add(db: &Connection, scope: &Scope, seq: u64) -> Result<(), StoreError> {
    db.prepare_cached("INSERT OR IGNORE INTO scopes (scope, seq) VALUES (?1, ?2)")?
        .execute(params![scope, seq])?;
    if scope.is_glob() {
        db.prepare_cached("INSERT OR IGNORE INTO scope_globs (dir, glob) VALUES (?1, ?2)")?
            .execute(params![scope.certain(), scope])?;
    }
    Ok(())
}

impl Reader {
    /// What the scope and the places of a filter are looked up by in the index.
    pub(super) fn around_of(&self, filter: &ClaimFilter) -> Result<Around, StoreError> {
        let mut around =
            filter.scope.as_ref().map(|scope| self.around(scope)).transpose()?.unwrap_or_default();
        for place in &filter.places {
            let Around { below, at } = self.around(place)?;
            around.below.extend(below);
            // The whole workspace lies around every place, and says nothing about any.
            around.at.extend(at.into_iter().filter(|scope| scope != "."));
        }
        Ok(around)
    }

    /// What a scope is looked up by in the index.
    pub(super) fn around(&self, scope: &Scope) -> Result<Around, StoreError> {
        let whole = scope.as_str().strip_suffix("/**").and_then(|directory| directory.parse::<Scope>().ok());
        // All below a directory is what the directory itself is looked up by.
        let scope = whole.as_ref().filter(|directory| !directory.is_glob()).unwrap_or(scope);
        if scope.is_whole() || scope.as_str() == "**" {
            return Ok(Around::default());
        }
        let directory = scope.certain();
        let mut around = Around { below: self.names_of(scope)?, at: self.globs_at(scope)? };
        if scope.is_glob() {
            match self.spelled_out(scope, &directory)? {
                Some(scopes) => around.at.extend(scopes),
                None if directory.is_whole() => return Ok(Around::default()),
                None => around.below.push(directory.to_string()),
            }
        }
        let itself = if scope.is_glob() { 0 } else { 1 };
        around.at.extend(directory.and_ancestors().skip(itself).map(str::to_owned));
        Ok(around)
    }

    /// Globs of claims that can mean a path or what lies below it.
    fn globs_at(&self, scope: &Scope) -> Result<Vec<String>, StoreError> {
        if !scope.is_path() {
            return Ok(Vec::new());
        }
        let directory = scope.certain();
        let above: Vec<&str> = directory.and_ancestors().collect();
        let sql = "SELECT glob FROM scope_globs WHERE dir IN (SELECT value FROM json_each(?1)) ORDER BY glob";
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement.query([Json(above)])?;
        let mut globs: Vec<String> = self.kept_of(rows, only)?;
        globs.retain(|glob| glob.parse::<Scope>().is_ok_and(|glob| glob.overlaps(scope)));
        Ok(globs)
    }

    /// Scopes of claims below the directory of a glob that it can mean; none where they are too many.
    fn spelled_out(&self, glob: &Scope, directory: &Scope) -> Result<Option<Vec<String>>, StoreError> {
        let (first, last) = if directory.is_whole() {
            (String::new(), char::MAX.to_string())
        } else {
            // '0' follows '/' in ASCII: the range holds exactly the paths below.
            (format!("{directory}/"), format!("{directory}0"))
        };
        let sql = "SELECT scope FROM scopes WHERE scope >= ?1 AND scope < ?2 ORDER BY scope";
        let mut statement = self.db.prepare_cached(sql)?;
        let mut scopes: Vec<String> = self.kept_of(statement.query([first, last])?, only)?;
        scopes.retain(|scope| scope.parse::<Scope>().is_ok_and(|scope| scope.overlaps(glob)));
        Ok((scopes.len() <= MAX_SPELLED).then_some(scopes))
    }
}
