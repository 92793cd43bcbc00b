//! The conversion between rows and the types of the domain, and queries built from conditions.

use std::cell::{Cell, RefCell};

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};
use rusqlite::{Row, ToSql};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::StoreError;
use crate::domain::action;
use crate::domain::claim::{
    Basis, ClaimType, ContradictionKind, Grade, Outcome, Override, Position, Relation, Resolution, Status,
    Tier,
};
use crate::domain::commit::CommitSha;
use crate::domain::experiment::{Prediction, ProfileName, RunState};
use crate::domain::memory::{self, Authority, MemoryEvent, Space};
use crate::domain::pattern::{PatternEnd, PatternKind};
use crate::domain::phase::PhaseReason;
use crate::domain::plan::TaskStatus;
use crate::domain::scope::Scope;
use crate::domain::session::{EndCause, Role, Source};
use crate::domain::spaces::BorderReason;
use crate::domain::text::{
    AnchorKey, AnchorValue, Branch, CommandLine, CommitAuthor, CommitSubject, Description, Intent, Prompt,
    Rationale, Reason, Said, Statement, Title, ToolName, Turn0, UserName, Worktree,
};
use crate::domain::time::Moment;
pub(super) use crate::sqlite::bound;

macro_rules! words {
    ($($word:ty),* $(,)?) => {$(
        impl ToSql for $word {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(self.as_str().into())
            }
        }

        impl FromSql for $word {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                value.as_str()?.parse().map_err(FromSqlError::other)
            }
        }
    )*};
}

words!(
    action::Kind,
    Authority,
    Basis,
    BorderReason,
    ClaimType,
    ContradictionKind,
    EndCause,
    Grade,
    memory::Source,
    MemoryEvent,
    Outcome,
    Override,
    PatternEnd,
    PatternKind,
    PhaseReason,
    Position,
    Prediction,
    Relation,
    Resolution,
    Role,
    RunState,
    Source,
    Space,
    Status,
    TaskStatus,
    Tier,
);

macro_rules! texts {
    ($($text:ty),* $(,)?) => {$(
        impl ToSql for $text {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(self.as_str().into())
            }
        }
    )*};
}

texts!(
    AnchorKey,
    AnchorValue,
    Branch,
    CommandLine,
    CommitAuthor,
    CommitSha,
    CommitSubject,
    Description,
    Intent,
    ProfileName,
    Prompt,
    Rationale,
    Reason,
    Said,
    Scope,
    Statement,
    Title,
    ToolName,
    Turn0,
    UserName,
    Worktree,
);

/// A value stored as JSON. NULL is read as `null`.
pub(super) struct Json<T>(pub(super) T);

impl<T: Serialize> ToSql for Json<T> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let text = serde_json::to_string(&self.0);
        text.map(ToSqlOutput::from).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
    }
}

impl<T: DeserializeOwned> FromSql for Json<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let text = value.as_str_or_null()?.unwrap_or("null");
        serde_json::from_str(text).map(Self).map_err(FromSqlError::other)
    }
}

/// Reads a column with JSON.
pub(super) fn json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<T> {
    row.get(column).map(|Json(value)| value)
}

/// The columns that a query's rows are read by, each with its place, in the order of the reads. rusqlite finds a column by
/// comparing names, which takes a tenth of a context that reads some hundred rows of thirty columns. All rows of a query
/// are read alike, so only the first one needs the names.
#[derive(Default)]
pub(super) struct Columns(RefCell<Vec<(&'static str, usize)>>);

impl Columns {
    /// A row of the query, to be read from its first column on.
    pub(super) const fn of<'r, 's>(&'r self, row: &'r Row<'s>) -> InOrder<'r, 's> {
        InOrder { row, columns: self, next: Cell::new(0) }
    }
}

/// A row that is read like the rows before it.
pub(super) struct InOrder<'r, 's> {
    pub(super) row: &'r Row<'s>,
    columns: &'r Columns,
    /// The number of reads so far.
    next: Cell<usize>,
}

impl InOrder<'_, '_> {
    pub(super) fn get<T: FromSql>(&self, name: &'static str) -> rusqlite::Result<T> {
        self.row.get(self.place(name)?)
    }

    /// A text that is not copied.
    pub(super) fn text(&self, name: &'static str) -> Result<&str, StoreError> {
        self.row.get_ref(self.place(name)?)?.as_str().map_err(malformed)
    }

    fn place(&self, name: &'static str) -> rusqlite::Result<usize> {
        let nth = self.next.replace(self.next.get() + 1);
        let known = self.columns.0.borrow().get(nth).copied();
        // The same address is the same name.
        if let Some((_, place)) = known.filter(|(known, _)| std::ptr::eq(*known, name)) {
            return Ok(place);
        }
        let columns: &rusqlite::Statement<'_> = self.row.as_ref();
        let place = columns.column_index(name)?;
        let mut known = self.columns.0.borrow_mut();
        known.truncate(nth);
        if known.len() == nth {
            known.push((name, place));
        }
        Ok(place)
    }

    /// Reads a column with JSON.
    pub(super) fn json<T: DeserializeOwned>(&self, name: &'static str) -> rusqlite::Result<T> {
        self.get(name).map(|Json(value)| value)
    }
}

/// The value of a row with one column.
pub(super) fn only<T: FromSql>(row: &Row<'_>) -> rusqlite::Result<T> {
    row.get(0)
}

/// The error for a row that no version of hm writes.
pub(super) fn malformed(problem: impl ToString) -> StoreError {
    StoreError::Malformed(problem.to_string())
}

/// The column of the time of creation in the form of `moment`, and the value of `moment` in that form.
pub(super) fn made_at(moment: Moment) -> (&'static str, i64) {
    match moment {
        Moment::Seq(seq) => ("created_seq", bound(seq)),
        Moment::Time(at) => ("created_at", at.ms()),
    }
}

/// The conditions of a query, with their values.
#[derive(Default)]
pub(super) struct Select {
    pub(super) from: String,
    pub(super) conditions: String,
    pub(super) values: Vec<Box<dyn ToSql>>,
}

impl Select {
    pub(super) fn from(table: &str) -> Self {
        Self { from: table.to_owned(), conditions: String::new(), values: Vec::new() }
    }

    pub(super) fn bind(&mut self, value: impl ToSql + 'static) -> String {
        self.values.push(Box::new(value));
        format!("?{}", self.values.len())
    }

    pub(super) fn require(&mut self, condition: &str) {
        self.conditions.push_str(if self.conditions.is_empty() { "WHERE " } else { " AND " });
        self.conditions.push_str(condition);
    }

    pub(super) fn require_if(&mut self, comparison: &str, value: Option<impl ToSql + 'static>) {
        if let Some(value) = value {
            let bound = self.bind(value);
            self.require(&format!("{comparison} {bound}"));
        }
    }
}
