//! Ids, names and times as SQLite holds them: an id is text, a time is epoch milliseconds.

use rusqlite::ToSql;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};

use super::Error;
use crate::domain::agent::AgentId;
use crate::domain::ids::{
    ClaimId, CommandId, EventId, IdempotencyKey, PatternId, PhaseId, PlanId, PlaybookId, RunId, SessionId,
    TaskId, TraceId,
};
use crate::domain::time::Timestamp;

macro_rules! uuids {
    ($($id:ty),*) => {$(
        impl ToSql for $id {
            fn to_sql(&self) -> Result<ToSqlOutput<'_>, Error> {
                Ok(self.to_string().into())
            }
        }

        impl FromSql for $id {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                value.as_str()?.parse().map_err(FromSqlError::other)
            }
        }
    )*};
}

uuids!(ClaimId, CommandId, EventId, PatternId, PhaseId, PlanId, PlaybookId, RunId, TaskId);

macro_rules! texts {
    ($($text:ty),*) => {$(
        impl ToSql for $text {
            fn to_sql(&self) -> Result<ToSqlOutput<'_>, Error> {
                Ok(self.as_str().into())
            }
        }

        impl FromSql for $text {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                value.as_str()?.to_owned().try_into().map_err(FromSqlError::other)
            }
        }
    )*};
}

texts!(IdempotencyKey, SessionId);

impl ToSql for AgentId {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>, Error> {
        Ok(self.as_str().into())
    }
}

impl FromSql for AgentId {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_str().map(Self::recorded)
    }
}

impl ToSql for TraceId {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>, Error> {
        Ok(self.as_str().into())
    }
}

impl FromSql for TraceId {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_str().map(Self::recorded)
    }
}

impl ToSql for Timestamp {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>, Error> {
        Ok(self.ms().into())
    }
}

impl FromSql for Timestamp {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_i64().map(Self::from_ms)
    }
}

/// A bound on a position or a number of rows. The highest integer of SQLite stands for every higher number: no
/// ledger reaches it.
pub(crate) fn bound(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}
