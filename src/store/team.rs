//! Questions about the team as a whole: counts, who was seen, what was refused.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Reader, StoreError};
use crate::domain::claim::{ClaimType, Status};

/// How many claims there are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Claims in each status; every status is listed.
    pub by_status: BTreeMap<Status, u64>,
    /// Dead ends in force.
    pub negative: u64,
}

/// What an agent has done here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentActivity {
    /// The agent.
    pub agent: String,
    /// Its last event, epoch ms.
    pub last_seen_at: i64,
    /// Claims it owns that are not deprecated.
    pub claims: u64,
}

/// A queued command that did not pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RejectedCommand {
    /// The command, as its receipt named it.
    pub command_id: String,
    /// Whose.
    pub agent: String,
    /// What it was.
    pub kind: String,
    /// Why it did not pass.
    pub code: String,
    /// Why, as a sentence.
    pub message: String,
    /// When, epoch ms.
    pub rejected_at: i64,
}

impl Reader {
    /// How many claims there are.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn counts(&self) -> Result<Counts, StoreError> {
        let mut counts = Counts::default();
        for status in Status::ALL {
            let number: i64 = self
                .db
                .prepare_cached("SELECT count(*) FROM claims WHERE status = ?1")?
                .query_row([status.as_str()], |row| row.get(0))?;
            counts.by_status.insert(*status, number as u64);
        }
        let negative: i64 = self
            .db
            .prepare_cached("SELECT count(*) FROM claims WHERE claim_type = ?1 AND status <> ?2")?
            .query_row([ClaimType::Negative.as_str(), Status::Deprecated.as_str()], |row| row.get(0))?;
        counts.negative = negative as u64;
        Ok(counts)
    }

    /// Every agent with an event, by name.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn agents(&self) -> Result<Vec<AgentActivity>, StoreError> {
        let sql = "SELECT agent, last_seen_at, \
                   (SELECT count(*) FROM claims WHERE owner = agents.agent AND status <> 'deprecated') \
                   FROM agents ORDER BY agent";
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement.query_map([], |row| {
            Ok(AgentActivity {
                agent: row.get(0)?,
                last_seen_at: row.get(1)?,
                claims: row.get::<_, i64>(2)? as u64,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Queued commands that did not pass, newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn rejected_commands(&self, limit: usize) -> Result<Vec<RejectedCommand>, StoreError> {
        let sql = format!(
            "SELECT command_id, agent, kind, code, message, rejected_at FROM rejected_commands \
             ORDER BY seq DESC LIMIT {limit}"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map([], |row| {
            Ok(RejectedCommand {
                command_id: row.get(0)?,
                agent: row.get(1)?,
                kind: row.get(2)?,
                code: row.get(3)?,
                message: row.get(4)?,
                rejected_at: row.get(5)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
